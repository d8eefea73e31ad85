"""The arguments of fit, and the evaluation sets among them."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

# The name of an evaluation set that is the training set.
TRAINING = "training"


@dataclass(frozen=True)
class FitArguments:
    """The arguments of fit beside ``X`` and ``y``: see `LGBMModel.fit`."""

    sample_weight: Any = None
    init_score: Any = None
    group: Any = None
    qid: Any = None
    eval_set: Any = None
    eval_names: Any = None
    eval_sample_weight: Any = None
    eval_class_weight: Any = None
    eval_init_score: Any = None
    eval_group: Any = None
    eval_qid: Any = None
    eval_metric: Any = None
    eval_at: Any = None
    feature_name: Any = "auto"
    categorical_feature: Any = "auto"
    callbacks: Any = None
    init_model: Any = None
    eval_X: Any = None
    eval_y: Any = None
    early_stopping_rounds: Any = None
    verbose: Any = False

    def __post_init__(self) -> None:
        if not isinstance(self.verbose, bool | int | np.integer):
            raise TypeError(
                f"verbose must be a bool or an int, got {type(self.verbose).__name__}."
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> FitArguments:
        """Pick the arguments out of the local names of a fit."""
        return cls(**{f.name: given[f.name] for f in fields(cls) if f.name in given})

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What scikit-learn's callbacks hand on to scorers."""
        given = {name: getattr(self, name) for name in ("sample_weight", "qid")}
        return {name: v for name, v in given.items() if v is not None} or None


class GivenSet(NamedTuple):
    """One evaluation set in the user's words."""

    name: str
    X: Any
    y: Any
    sample_weight: Any
    class_weight: Any
    init_score: Any
    group: Any
    qid: Any
    is_training: bool = False

    @property
    def prefix(self) -> str:
        """Before the names of its arguments in messages."""
        return "" if self.is_training else "eval_"


def training_set(X: Any, y: Any, given: FitArguments, class_weight: Any) -> GivenSet:
    """The training set as one of the sets."""
    return GivenSet(
        TRAINING,
        X,
        y,
        given.sample_weight,
        class_weight,
        given.init_score,
        given.group,
        given.qid,
        is_training=True,
    )


def given_sets(given: FitArguments, X: Any, y: Any) -> list[GivenSet]:
    """Sort the user's arguments by evaluation set.

    Parameters
    ----------
    given : FitArguments
    X, y : object
        Those of fit: a set of the same two objects is the training set.

    Raises
    ------
    ValueError
        If arguments contradict each other or are of different lengths.
    """
    pairs = _pairs(given)
    names = _names(given.eval_names, len(pairs))
    by_set = {
        argument: _by_set(argument, getattr(given, f"eval_{argument}"), len(pairs))
        for argument in ("sample_weight", "class_weight", "init_score", "group", "qid")
    }
    sets = []
    for i, (its_X, its_y) in enumerate(pairs):
        is_training = its_X is X and its_y is y
        usual = TRAINING if is_training else f"valid_{i}"
        sets.append(
            GivenSet(
                names[i] or usual,
                its_X,
                its_y,
                **{argument: values[i] for argument, values in by_set.items()},
                is_training=is_training,
            )
        )
    taken = [one.name for one in sets]
    if len(set(taken)) < len(taken):
        raise ValueError(f"eval_names must differ from each other, got {taken}.")
    return sets


def _pairs(given: FitArguments) -> list[tuple[Any, Any]]:
    if given.eval_set is not None:
        if given.eval_X is not None or given.eval_y is not None:
            raise ValueError("Pass eval_X and eval_y, or eval_set, not both.")
        pairs = given.eval_set
        if isinstance(pairs, tuple) and len(pairs) == 2 and not _is_pair(pairs[0]):
            pairs = [pairs]
        if not isinstance(pairs, Sequence) or not all(map(_is_pair, pairs)):
            raise TypeError(
                "eval_set must be a list of pairs (X, y), got"
                f" {type(given.eval_set).__name__}."
            )
        return [tuple(pair) for pair in pairs]
    if (given.eval_X is None) != (given.eval_y is None):
        raise ValueError("eval_X and eval_y belong together: pass both of them.")
    if given.eval_X is None:
        return []
    several = [isinstance(one, tuple) for one in (given.eval_X, given.eval_y)]
    if not any(several):
        return [(given.eval_X, given.eval_y)]
    if not all(several) or len(given.eval_X) != len(given.eval_y):
        raise ValueError(
            "eval_X and eval_y must be tuples of the same length, or one set each."
        )
    return list(zip(given.eval_X, given.eval_y, strict=True))


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def names_of_columns(given: Any) -> list[str] | None:
    """The names that the user gives to the columns; None: those of ``X``.

    Raises
    ------
    TypeError
        If they are no list of str.
    """
    if isinstance(given, str) and given == "auto":
        return None
    names = None if isinstance(given, str) else list(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise TypeError(f"feature_name must be 'auto' or a list of str, got {given!r}.")
    return list(map(str, names))


def _names(given: Any, n_sets: int) -> list[str | None]:
    if given is None:
        return [None] * n_sets
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"eval_names must be a list of str, got {given!r}.")
    if len(names) != n_sets:
        raise ValueError(
            f"eval_names has {len(names)} names for {n_sets} evaluation sets; pass one"
            " for each."
        )
    return names


def _by_set(argument: str, given: Any, n_sets: int) -> list[Any]:
    """One value a set: from a list, a dictionary by number, or for the only set."""
    if given is None:
        return [None] * n_sets
    if argument == "class_weight" and (isinstance(given, str) or _is_weights(given)):
        return [given] * n_sets
    if isinstance(given, Mapping):
        return [given.get(i) for i in range(n_sets)]
    if n_sets == 1 and argument != "class_weight" and _is_one(given):
        return [given]
    if not isinstance(given, list | tuple) or len(given) != n_sets:
        raise ValueError(
            f"eval_{argument} must be a list with one item for each of the {n_sets}"
            " evaluation sets, or a dictionary by their numbers."
        )
    return list(given)


def _is_weights(given: Any) -> bool:
    """Whether a dictionary goes from labels to weights, not from sets to these."""
    return isinstance(given, Mapping) and not any(
        value is None or isinstance(value, Mapping | str) for value in given.values()
    )


def _is_one(given: Any) -> bool:
    """Whether the argument of a single set was passed without a list around it."""
    if not isinstance(given, list | tuple):
        return True
    return len(given) > 0 and isinstance(given[0], numbers.Real | str)
