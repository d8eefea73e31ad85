"""The state of a `Booster`: plain in files, checked when it is restored."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral
from types import NoneType
from typing import TYPE_CHECKING, Any

from skgoss.data.categories import Categories
from skgoss.data.state import check_scores, entries, is_number
from skgoss.model import category_sets
from skgoss.model import file_header as headers
from skgoss.model.ensemble import Ensemble
from skgoss.model.estimator_record import Origin
from skgoss.model.file_header import Header
from skgoss.model.link import Link
from skgoss.model.objective_names import OBJECTIVES

if TYPE_CHECKING:
    from skgoss.booster.booster import Booster

_OWNER = "the Booster"

# What a model knows beside trees and header.
_KNOWLEDGE = {
    "categories": object,
    "objective": (str, Callable, NoneType),
    "link": object,
    "best_iteration": Integral,
    "best_score": dict,
    "origin": (dict, NoneType),
}


def state(booster: Booster) -> dict[str, Any]:
    """The state of a model: dicts, lists, numbers, strings and arrays."""
    return {
        "ensemble": booster._ensemble.__getstate__(),
        "header": {k: copy.copy(v) for k, v in vars(booster._header).items()},
        **knowledge(booster),
    }


def knowledge(booster: Booster) -> dict[str, Any]:
    """The state without trees and header."""
    return {
        "categories": booster._categories.__getstate__(),
        "objective": booster._objective,
        "link": booster._link.__getstate__(),
        "best_iteration": booster.best_iteration,
        "best_score": booster.best_score,
        "origin": booster._origin and booster._origin.__getstate__(),
    }


def restored_trees(state: Any) -> tuple[Ensemble, Header]:
    """The trees and the header of what `state` returned.

    Raises
    ------
    ValueError
        If they are missing or contradict themselves.
    """
    ensemble, header = entries(state, {"ensemble": object, "header": object}, _OWNER)
    return _restored(Ensemble, ensemble), _restored(Header, header)


def restored_knowledge(state: Any) -> dict[str, Any]:
    """The arguments of `Booster._of` in what `knowledge` returned.

    Raises
    ------
    ValueError
        If one is missing, has another type or contradicts itself.
    """
    values = dict(zip(_KNOWLEDGE, entries(state, _KNOWLEDGE, _OWNER), strict=True))
    check_scores(values["best_score"], "best_score", is_number)
    values["categories"] = _restored(Categories, values["categories"])
    values["link"] = _restored(Link, values["link"])
    if values["origin"] is not None:
        values["origin"] = _restored(Origin, values["origin"])
    return values


def check(booster: Booster) -> None:
    """Check the parts of a model against each other.

    Raises
    ------
    ValueError
        If they contradict each other.
    """
    n_features, objective = booster.num_feature(), booster._objective
    if isinstance(objective, str) and objective not in OBJECTIVES:
        raise ValueError(f"the objective {objective!r} is not known")
    if booster.best_iteration < 0:
        raise ValueError("best_iteration must be at least 0")
    last = max(booster._categories.vocabularies, default=0)
    if last >= n_features:
        raise ValueError(
            f"column {last} has categories, but there are only {n_features} columns"
        )
    # A header that is made later is right.
    if isinstance(booster._known_header, Header):
        headers.check(booster._header, n_features)
        category_sets.check(
            booster._ensemble,
            booster._header.feature_infos,
            {
                column: len(known.values)
                for column, known in booster._categories.vocabularies.items()
            },
        )
    if booster._origin is not None:
        booster._origin.check(n_features, booster.num_model_per_iteration())


def _restored(kind: type, state: Any) -> Any:
    """A part of a model, from its state."""
    part = kind.__new__(kind)
    part.__setstate__(state)
    return part
