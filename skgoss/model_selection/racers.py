"""The candidates of a race, as they stand in a search."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from skgoss import parameters
from skgoss.estimators.base import LGBMModel
from skgoss.fit.race import USUAL_RATE, Racer
from skgoss.model_selection.shared_fits import are_rounds_alike
from skgoss.parameters.aliases import OPTION

# A fit whose rounds take steps of this sum has learned most of what it can. One that
# cannot, with its rate and its limit, is compared after as many rounds as others.
_USUAL_STEPS = 10


def racers(
    candidates: Iterable[Mapping[str, Any]], models: Iterable[Any], path: str
) -> list[Racer]:
    """The candidates without numbers of rounds, the most of which is the limit.

    ``models`` are their estimators, and ``path`` the name of the number of rounds.
    Those whose rounds depend on how many follow are evaluated once.
    """
    found: dict[Hashable, Racer] = {}
    for number, (candidate, model) in enumerate(zip(candidates, models, strict=True)):
        names: list[Any] = [n for n in candidate if is_rounds(n)] or [path]
        params = {k: v for k, v in candidate.items() if k not in names}
        key: Hashable = comparable(params)
        can_go_on = isinstance(model, LGBMModel) and _can_go_on(model)
        if not can_go_on:
            names, params, key = [None], dict(candidate), number
        new = Racer(params, names[0], 1, USUAL_RATE, 1)
        racer = found.setdefault(key, new)
        if can_go_on:
            racer.most_rounds = max(racer.most_rounds, model.n_estimators)
            usual = min(USUAL_RATE, _USUAL_STEPS / racer.most_rounds)
            racer.rate = max(model.learning_rate, usual)
            racer.n_leaves = model.num_leaves
    return list(found.values())


def is_rounds(name: str) -> bool:
    """Whether a parameter is the number of rounds of an estimator."""
    last = name.rpartition("__")[2]
    return parameters.CANONICAL_NAME.get(last, last) == "n_estimators"


def comparable(params: Mapping[str, Any]) -> Hashable:
    """What is equal for equal parameters of candidates."""
    return frozenset(
        (name, value if isinstance(value, Hashable) else id(value))
        for name, value in params.items()
    )


def _can_go_on(model: LGBMModel) -> bool:
    try:
        for name in ("n_estimators", "num_leaves", "learning_rate"):
            OPTION[name].checked(getattr(model, name), "")
    except (TypeError, ValueError):  # its fits say it
        return False
    return are_rounds_alike(model)
