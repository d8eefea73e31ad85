"""The arguments of fit, and the evaluation sets among them."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skgoss.data.collectives import ALONE, Collectives
from skgoss.data.row_partition import Parts
from skgoss.dataset.dataset import Dataset
from skgoss.fit import lightgbm3
from skgoss.utils.messages import warn

# The default name of an evaluation set that is the training set.
TRAINING = "training"

# The arguments, besides X and y, of the training set and of each evaluation set: those
# that belong to rows, and all.
_QUERIES = ("group", "qid")
OF_ROWS = ("sample_weight", "init_score", *_QUERIES)
OF_A_SET = (*OF_ROWS, "class_weight")


@dataclass(frozen=True)
class FitArguments:
    """The arguments of ``fit`` besides ``X`` and ``y``: see `LGBMModel.fit`."""

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
    # Replaces the option of this name.
    early_stopping_round: Any = None
    # Whether early stopping prints messages, as it does with verbosity=1.
    early_stopping_messages: bool = False
    # Of each evaluation set, if rows are spread over processes: the parts of this
    # process.
    eval_parts: Sequence[Parts] | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> FitArguments:
        """Take the arguments from ``locals()`` at the start of a ``fit``.

        All names except ``self``, ``X`` and ``y`` must be fields, or arguments of
        `lightgbm3`. Other names raise TypeError, so that no argument of ``fit`` can be
        lost.
        """
        others = parameters.keys() - {"self", "X", "y"}
        return cls(**lightgbm3.fit_arguments(**{k: parameters[k] for k in others}))

    def without_values(self) -> FitArguments:
        """The arguments without what belongs to rows."""
        of_sets = ("set", "X", "y", *OF_A_SET, "parts")
        names = (*OF_ROWS, *(f"eval_{name}" for name in of_sets))
        return replace(self, **dict.fromkeys(names))

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The metadata that scikit-learn's callbacks pass to scorers."""
        metadata = {"sample_weight": self.sample_weight, "qid": self.qid}
        return {k: value for k, value in metadata.items() if value is not None} or None


class GivenSet(NamedTuple):
    """A training or evaluation set as the user passed it.

    Attributes
    ----------
    name : str
    X, y : object
    sample_weight, class_weight, init_score, group, qid : object or None
    prefix : str
        The prefix of the names of its arguments: 'eval_', or '' for the training set.
    is_training : bool
        Whether ``X`` and ``y`` are the data to learn from.
    parts : Parts or None
        The parts of the data that the rows are; None: all rows are here.
    """

    name: str
    X: Any
    y: Any
    sample_weight: Any
    class_weight: Any
    init_score: Any
    group: Any
    qid: Any
    prefix: str = "eval_"
    is_training: bool = False
    parts: Parts | None = None

    @property
    def has_queries(self) -> bool:
        """Whether the user passed queries."""
        return self.group is not None or self.qid is not None

    @property
    def collectives(self) -> Collectives:
        """The collective operations of the processes that hold the rows."""
        return ALONE if self.parts is None else self.parts.collectives

    @property
    def is_empty(self) -> bool:
        """Whether other processes hold all rows."""
        return self.parts is not None and self.parts.n_rows == 0

    def agreed(self) -> GivenSet:
        """Check that all processes were given the same arguments.

        All processes call this at the same time.

        Returns
        -------
        GivenSet
            The set itself; for a process without rows, with arguments of length 0.
        """
        if self.parts is None:
            return self
        given = [name for name in ("y", *OF_ROWS) if getattr(self, name) is not None]
        names = self.parts.check_same("What is passed besides X", given)
        if self.collectives.total(self.parts.n_rows) == 0:
            raise ValueError(f"The set {self.name!r} has no rows.")
        if not self.is_empty:
            return self
        none = dict.fromkeys(("y", *OF_ROWS)) | dict.fromkeys(names, np.empty(0))
        return self._replace(**none)

    def without_values(self) -> GivenSet:
        """The set without what belongs to rows."""
        return self._replace(X=None, y=None, **dict.fromkeys(OF_ROWS))

    @property
    def target_name(self) -> str:
        """The name of the argument that the target comes from, for messages."""
        is_label = isinstance(self.X, Dataset) and self.y is self.X.label
        return "label" if is_label else f"{self.prefix}y"

    def of_dataset(self) -> GivenSet:
        """The set, with what a `Dataset` holds where nothing else is passed."""
        if not isinstance(self.X, Dataset):
            return self
        if self.parts is not None:
            raise ValueError(
                "The rows of a Dataset cannot be spread over several processes: pass"
                " its data."
            )
        self.X._load()
        held = {
            "y": self.X.label,
            "sample_weight": self.X.weight,
            "init_score": self.X.init_score,
            "group": None if self.has_queries else self.X.group,
        }
        if self.y is None and held["y"] is None:
            raise ValueError(
                "The label of the Dataset is None: pass Dataset(X, label=y), or call"
                " set_label(y)."
            )
        return self._replace(
            **{
                k: v
                for k, v in held.items()
                if v is not None and getattr(self, k) is None
            }
        )

    def holds_same_rows(self, other: GivenSet) -> bool:
        """Whether the data, weights and other arguments are the same objects."""
        names = ("X", "y", *OF_A_SET)
        return all(getattr(self, name) is getattr(other, name) for name in names)


def training_set(
    X: Any,
    y: Any,
    given: FitArguments,
    class_weight: Any,
    parts: Parts | None = None,
) -> GivenSet:
    """Collect the arguments of the training set."""
    return GivenSet(
        TRAINING,
        X,
        y,
        given.sample_weight,
        class_weight,
        given.init_score,
        given.group,
        given.qid,
        prefix="",
        is_training=True,
        parts=parts,
    ).of_dataset()


def evaluation_sets(given: FitArguments, training: GivenSet) -> list[GivenSet]:
    """Collect the arguments of each evaluation set.

    Parameters
    ----------
    given : FitArguments
    training : GivenSet
        If an evaluation set holds the same two objects, it is the training set. Then
        its weights, start scores and queries are those of the training set, unless
        others are passed for it.

    Raises
    ------
    TypeError, ValueError
        If arguments contradict each other, or have a wrong type or length.
    """
    pairs = _pairs(given)
    names = names_of_sets(given.eval_names, len(pairs), "eval_names")
    by_set = {
        argument: _by_set(argument, getattr(given, f"eval_{argument}"), len(pairs))
        for argument in OF_A_SET
    }
    sets = [
        _evaluation_set(
            training,
            names[i] or f"valid_{i}",
            names[i] or TRAINING,
            *pair,
            parts=given.eval_parts and given.eval_parts[i],
            **{argument: values[i] for argument, values in by_set.items()},
        )
        for i, pair in enumerate(pairs)
    ]
    taken = [given_set.name for given_set in sets]
    if len(set(taken)) < len(taken):
        raise ValueError(f"eval_names must differ from each other, got {taken}.")
    for given_set in sets:
        _check_queries(given_set, training)
    # As in LightGBM, results of the training set come first.
    return sorted(sets, key=lambda given_set: not given_set.is_training)


def evaluation_set(training: GivenSet, name: str, X: Dataset) -> GivenSet:
    """Make an evaluation set of a `Dataset`: see `evaluation_sets`."""
    if not isinstance(X, Dataset):
        raise TypeError(f"data must be a Dataset, got {type(X).__name__}.")
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, got {name!r}.")
    none = dict.fromkeys(OF_A_SET)
    given_set = _evaluation_set(training, name, name, X, None, **none)
    _check_queries(given_set, training)
    return given_set


def _evaluation_set(
    training: GivenSet,
    name: str,
    training_name: str,
    X: Any,
    y: Any,
    parts: Parts | None = None,
    **values: Any,
) -> GivenSet:
    given_set = GivenSet(name, X, y, **values, parts=parts).of_dataset()
    if X is not training.X or given_set.y is not training.y:
        return given_set
    passed = {argument for argument, value in values.items() if value is not None}
    # Both group and qid describe the queries, so one of them replaces both.
    if passed.intersection(_QUERIES):
        passed.update(_QUERIES)
    replaced = {argument: values[argument] for argument in passed}
    return training._replace(name=training_name, prefix="eval_", **replaced)


def _check_queries(given_set: GivenSet, training: GivenSet) -> None:
    if given_set.is_empty:
        return
    if training.has_queries and not given_set.has_queries:
        raise ValueError(
            "eval_group cannot be None if any of eval_set, eval_X, or eval_y are"
            " provided: pass eval_group or eval_qid with the queries of the evaluation"
            f" set {given_set.name!r}."
        )
    if given_set.has_queries and not training.has_queries:
        raise ValueError(
            f"The evaluation set {given_set.name!r} has queries, but the training set"
            " has none: pass group or qid."
        )


def _pairs(given: FitArguments) -> list[tuple[Any, Any]]:
    """The features and the target of each evaluation set."""
    if given.eval_set is not None:
        if given.eval_X is not None or given.eval_y is not None:
            raise ValueError(
                "Specify either 'eval_set' or 'eval_X' and 'eval_y', but not both."
            )
        return _listed_pairs(given.eval_set)
    if given.eval_y is None and _are_datasets(given.eval_X):
        return _listed_pairs(given.eval_X)
    if (given.eval_X is None) != (given.eval_y is None):
        raise ValueError("You must specify eval_X and eval_y, not just one of them.")
    if given.eval_X is None:
        return []
    are_tuples = [isinstance(value, tuple) for value in (given.eval_X, given.eval_y)]
    if not any(are_tuples):
        return [(given.eval_X, given.eval_y)]
    if not all(are_tuples) or len(given.eval_X) != len(given.eval_y):
        raise ValueError(
            "If eval_X is a tuple, eval_y must be a tuple of same length, and vice"
            " versa."
        )
    return list(zip(given.eval_X, given.eval_y, strict=True))


def _listed_pairs(eval_set: Any) -> list[tuple[Any, Any]]:
    pairs = [eval_set] if isinstance(eval_set, Dataset) else eval_set
    if isinstance(pairs, tuple) and len(pairs) == 2 and not _is_set(pairs[0]):
        pairs = [pairs]
    if not isinstance(pairs, Sequence) or not all(map(_is_set, pairs)):
        raise TypeError(
            f"eval_set must be a list of pairs (X, y), got {type(eval_set).__name__}."
        )
    return [
        (pair, None) if isinstance(pair, Dataset) else tuple(pair) for pair in pairs
    ]


def _are_datasets(value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return all(isinstance(rows, Dataset) for rows in values)


def _is_set(value: Any) -> bool:
    """Whether a value is an evaluation set: a pair (X, y), or a `Dataset`."""
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    return is_pair or isinstance(value, Dataset)


def names_of_sets(given: Any, n_sets: int, argument: str) -> list[str | None]:
    """The name of each evaluation set; None if the user gives no name.

    Parameters
    ----------
    given : str, list of str or None
    n_sets : int
    argument : str
        The argument's name, for messages.

    Raises
    ------
    TypeError
        If a name is not a str.

    Warns
    -----
    UserWarning
        If there are more names than sets.
    """
    if given is None:
        return [None] * n_sets
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be a list of str, got {given!r}.")
    if n_sets and len(names) > n_sets:
        warn(
            f"{argument} has {len(names)} names for {n_sets} evaluation sets: the last"
            f" {len(names) - n_sets} are not used."
        )
    return [*names, *[None] * n_sets][:n_sets]


def _by_set(argument: str, given: Any, n_sets: int) -> list[Any]:
    """The value of an argument for each evaluation set; None where none is given.

    The argument is a list, or a dictionary by the numbers of the sets. For a single
    evaluation set it may also be the value itself.
    """
    if given is None:
        return [None] * n_sets
    if n_sets == 0:
        _warn_if_unused(argument, given)
        return []
    if argument == "class_weight" and (isinstance(given, str) or _is_weights(given)):
        return [given] * n_sets
    if isinstance(given, Mapping):
        return _by_number(argument, given, n_sets)
    if n_sets == 1 and argument != "class_weight" and _is_bare(given):
        return [given]
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"eval_{argument} should be dict or list: a list with one item for each of"
            f" the {n_sets} evaluation sets, or a dictionary by their numbers."
        )
    if len(given) > n_sets or (argument in _QUERIES and len(given) < n_sets):
        raise ValueError(
            f"Length of eval_{argument} ({len(given)}) not equal to length of eval_set"
            f" ({n_sets})"
        )
    return [*given, *[None] * n_sets][:n_sets]


def _by_number(argument: str, given: Mapping[Any, Any], n_sets: int) -> list[Any]:
    unknown = [key for key in given if key not in range(n_sets)]
    if unknown:
        raise ValueError(
            f"eval_{argument} has the key {unknown[0]!r}; the keys of a dictionary are"
            f" the numbers of the evaluation sets, 0 to {n_sets - 1}."
        )
    return [given.get(i) for i in range(n_sets)]


def _warn_if_unused(argument: str, given: Any) -> None:
    values = given.values() if isinstance(given, Mapping) else given
    is_list = isinstance(given, Mapping | list | tuple)
    if not is_list or any(value is not None for value in values):
        warn(f"eval_{argument} is not used: there is no evaluation set.")


def _is_weights(given: Any) -> bool:
    """Whether a dictionary has weights of labels, and not dictionaries of these."""
    return isinstance(given, Mapping) and not any(
        value is None or isinstance(value, Mapping | str) for value in given.values()
    )


def _is_bare(given: Any) -> bool:
    """Whether the value for a single evaluation set is passed without a list."""
    if not isinstance(given, list | tuple):
        return True
    return len(given) > 0 and isinstance(given[0], numbers.Real | str)
