"""The arguments of fit, and the evaluation sets among them."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.columns import containers
from skgoss.columns.queries import Queries
from skgoss.columns.queries import make as make_queries
from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.dataset import Dataset
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.distributed.row_partition import Parts
from skgoss.fit.callbacks import read_progress, with_shown_metrics
from skgoss.objectives.objectives import canonical_name
from skgoss.parameters.settings import Settings
from skgoss.sources import input_rows, text_files
from skgoss.utils.messages import type_name, warn, warn_unused

# The default name of an evaluation set that is the training set.
TRAINING = "training"

# The arguments of the training set and of each evaluation set, other than X and y:
# those that belong to rows, and all.
_QUERIES = ("group", "qid")
OF_ROWS = ("sample_weight", "init_score", *_QUERIES)
OF_A_SET = (*OF_ROWS, "class_weight")
# What takes those that belong to rows out of `FitArguments`.
NO_ROWS: dict[str, Any] = dict.fromkeys(
    [*OF_ROWS, "groups", "time", "eval_set", "eval_X", "eval_y"]
    + [f"eval_{name}" for name in OF_A_SET]
)
# The arguments of evaluation sets.
_OF_SETS = attrgetter(
    *("eval_set", "eval_X", "eval_y", "eval_names"),
    *(f"eval_{name}" for name in OF_A_SET),
)


@dataclass(frozen=True)
class FitArguments:
    """The arguments of ``fit`` other than ``X`` and ``y``: see `LGBMModel.fit`."""

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
    # Whether ``init_model`` is the model of the last fit, which this one continues.
    continues: bool = False
    # Replaces the option of this name.
    early_stopping_round: Any = None
    # Whether early stopping prints messages, as it does with verbosity=1.
    early_stopping_messages: bool = False
    # Rows of a group are in the same fold.
    groups: Any = None
    # What is chosen in a fit is chosen on later rows.
    time: Any = None

    # LightGBM 2 and 3 print the metrics every ``verbose`` rounds; True: of each round.
    verbose: bool | int = False

    def with_messages(self) -> FitArguments:
        """The arguments with the callback that ``verbose`` stands for."""
        told = with_shown_metrics("verbose", self.verbose, self.callbacks)
        return replace(self, **told, verbose=False)

    def checked_settings(
        self,
        options: Mapping[str, Any],
        owner: str,
        X: Any,
        explicit: Mapping[str, Any],
        set_by_call: Collection[str] | None = None,
    ) -> Settings:
        """The checked options of a fit with these arguments to the training set ``X``.

        The arguments replace ``options``. Of these, the ``explicit`` ones replace the
        options of a `Dataset`, and those replace the defaults of the remaining options.
        ``set_by_call`` are the names that `Settings` has; None: all that are explicit.
        Messages name the ``owner`` of the options.
        """
        replaced: dict[str, Any] = {}
        for name in ("early_stopping_round", "eval_at"):
            value = getattr(self, name)
            if value is not None:
                is_off = isinstance(value, bool | np.bool_) and not value
                replaced[name] = 0 if is_off else value
        categorical = self.categorical_feature
        if not (isinstance(categorical, str) and categorical == "auto"):
            replaced["categorical_feature"] = categorical
        if isinstance(X, Dataset):
            verbosity = parameters.checked_options(options, ["verbosity"], owner)
            with read_progress(**verbosity):
                replaced = X._inherited_options(explicit) | replaced
        set_by_call = explicit.keys() if set_by_call is None else set_by_call
        options = {**options, **replaced}
        settings = parameters.make_settings(options, owner, explicit, set_by_call)
        if isinstance(settings.objective, str):
            canonical_name(settings.objective)  # errors come early
        return settings

    def warn_if_nothing_is_evaluated(
        self, settings: Settings, argument: str = "eval_metric", sets: str = "eval_set"
    ) -> None:
        """Warn of metrics that a fit without evaluation sets does not compute.

        ``argument`` is the name of `eval_metric` for the user, and ``sets`` that of the
        evaluation sets. Only what a user calls does so: searches evaluate themselves.
        """
        splits = settings.folds is not None or settings.preset is not None
        if not (splits or (settings.early_stopping_round or 0) > 0):
            rows = "(X_valid, y_valid)" if sets == "eval_set" else "Dataset(...)"
            warn_unused(
                f"{argument} has no effect, because nothing is evaluated: pass an"
                f" evaluation set, {sets}=[{rows}], or set early_stopping_round or"
                " folds, which hold out rows."
            )

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The metadata that scikit-learn's callbacks pass to scorers."""
        metadata = {"sample_weight": self.sample_weight, "qid": self.qid}
        return {k: value for k, value in metadata.items() if value is not None} or None


class InputSet(NamedTuple):
    """A training or evaluation set as the user passed it."""

    name: str
    X: Any
    y: Any
    sample_weight: Any
    class_weight: Any
    init_score: Any
    group: Any
    qid: Any
    # The prefix of the names of its arguments: 'eval_', or '' for the training set.
    prefix: str = "eval_"
    # The name of the argument that the target comes from: 'y', 'eval_y' or 'label'.
    target_name: str = "eval_y"
    is_training: bool = False  # whether ``X`` and ``y`` are the data to learn from
    # The parts of the data that the rows are; None: all rows are here.
    parts: Parts | None = None

    @property
    def has_queries(self) -> bool:
        """Whether the user passed queries."""
        return self.group is not None or self.qid is not None

    def queries(self, n_rows: int) -> Queries:
        """The queries of the rows; without any, all rows are one query."""
        return make_queries(
            n_rows, group=self.group, qid=self.qid, prefix=self.prefix, parts=self.parts
        )

    @property
    def position(self) -> NDArray[np.int64] | None:
        """The position of each row, as a number from 0; only a `Dataset` has them."""
        held = self.X.position if isinstance(self.X, Dataset) else None
        return None if held is None else np.unique(held, return_inverse=True)[1]

    @property
    def collectives(self) -> Collectives:
        """The collective operations of the processes that hold the rows."""
        return ALONE if self.parts is None else self.parts.collectives

    @property
    def is_empty(self) -> bool:
        """Whether other processes hold all rows."""
        return self.parts is not None and self.parts.n_rows == 0

    def agreed(self, parts: Parts) -> InputSet:
        """Check that all processes, which call this together, have the same arguments.

        Returns the set; for a process without rows, its arguments have the length 0.
        """
        passed = [name for name in ("y", *OF_ROWS) if getattr(self, name) is not None]
        names = parts.common_value("The arguments other than X", passed)
        if self.collectives.total(parts.n_rows) == 0:
            raise ValueError(f"The set {self.name!r} has no rows.")
        if not self.is_empty:
            return self
        none = dict.fromkeys(("y", *OF_ROWS)) | dict.fromkeys(names, np.empty(0))
        return self._replace(**none)

    def without_values(self) -> InputSet:
        """The set without what belongs to rows."""
        none: dict[str, Any] = dict.fromkeys(("X", "y", *OF_ROWS))
        return self._replace(**none)

    @property
    def are_bounds(self) -> bool | None:
        """Whether the label of a `Dataset` has bounds of event times; None: unknown."""
        return self.X._fields.are_bounds if self.target_name == "label" else None

    def with_fields(self, verbosity: int = -1) -> InputSet:
        """The set of a `Dataset`, with what it holds where nothing else is passed."""
        with read_progress(verbosity):
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
                " set_label(y). For a file, pass y, the name of its column."
            )
        missing = {k: v for k, v in held.items() if getattr(self, k) is None}
        if missing.get("y", self.y) is held["y"]:
            missing["target_name"] = "label"
        return self._replace(**missing)

    def raise_named(self, error: TypeError | ValueError) -> None:
        """Say in an error which evaluation set it is about, and what may be wrong.

        The error is not raised if there is nothing to say.
        """
        shapes = [getattr(value, "shape", ()) for value in (self.X, self.y)]
        swapped = [len(shape) for shape in shapes] == [1, 2]
        location = "" if self.is_training else f"The evaluation set {self.name!r}: "
        hint = "Are X and y swapped? X comes first. " if swapped else ""
        # Errors of other types are not made from a message.
        if location + hint and type(error) in (TypeError, ValueError):
            raise type(error)(f"{location}{hint}{error}") from error

    def holds_same_rows(self, other: InputSet) -> bool:
        """Whether the data, weights and other arguments are the same objects."""
        names = ("X", "y", *OF_A_SET)
        return all(getattr(self, name) is getattr(other, name) for name in names)


# Arguments that may name a column of data that are read in batches, and the field of a
# `Dataset` that the column becomes.
_FIELDS = {
    "y": "label",
    "sample_weight": "weight",
    "init_score": "init_score",
    "group": "group",
    "qid": "group",
}


def _with_datasets(
    X: Any, y: Any, arguments: FitArguments
) -> tuple[Any, Any, FitArguments]:
    """The arguments of a fit, where data that are read in batches are a `Dataset`."""
    if not isinstance(X, _HELD) and _is_read(X):
        values = {name: getattr(arguments, name) for name in OF_ROWS}
        X, values = _as_dataset(X, {"y": y, **values})
        y = values.pop("y")
        arguments = replace(arguments, **values)
    elif isinstance(y, str) and not isinstance(X, str):
        library = type_name(X).partition(".")[0]
        is_frame = containers.given_names(X) is not None
        name = f"columns={y!r}" if library == "pandas" else repr(y)
        raise ValueError(
            f"y must be an array of targets, got the str {y!r}, which can only be a"
            " column of a file."
            + (f" Else pass X.drop({name}) and X[{y!r}]." if is_frame else "")
        )
    _warn_of_target_among_columns(X, y)
    _warn_of_order(X, y)
    _warn_of_index_as_target(X, y)
    if arguments.eval_set is None and arguments.eval_X is None:
        return X, y, arguments
    pairs = _pairs(arguments)
    are_read = [not isinstance(rows, _HELD) and _is_read(rows) for rows, _ in pairs]
    if not any(are_read):
        return X, y, arguments
    if not isinstance(X, Dataset):
        raise ValueError(
            "Evaluation sets are read in batches only if the training set is a Dataset:"
            " pass Dataset(X, label=y) as X."
        )
    by_set = {
        name: _by_set(name, getattr(arguments, f"eval_{name}"), len(pairs))
        for name in OF_ROWS
    }
    sets = []
    for number, (rows, target) in enumerate(pairs):
        values = {"y": target, **{name: by_set[name][number] for name in OF_ROWS}}
        if are_read[number]:
            rows, values = _as_dataset(rows, values)
        sets.append((rows, values.pop("y")))
        for name, value in values.items():
            by_set[name][number] = value
    of_rows: dict[str, Any] = {
        f"eval_{name}": values if any(v is not None for v in values) else None
        for name, values in by_set.items()
    }
    return X, y, replace(arguments, eval_set=sets, eval_X=None, eval_y=None, **of_rows)


def _warn_of_target_among_columns(X: Any, y: Any) -> None:
    """Warn if a data frame has the target, a column of it, as a feature."""
    name = getattr(y, "name", None)
    if not isinstance(name, str) or name not in getattr(X, "columns", ()):
        return
    column = X[name]
    if type(column) is type(y) and len(column) == len(y) and column.equals(y):
        argument = f"columns={name!r}" if type_name(X)[:6] == "pandas" else repr(name)
        warn(
            f"X has the target among its columns, because its column {name!r} equals"
            f" y: the model will only copy it. Pass X.drop({argument})."
        )


def _warn_of_order(X: Any, y: Any) -> None:
    """Warn if X and y of pandas have the same index labels in different orders."""
    index: Any = getattr(X, "index", None)
    of_target: Any = getattr(y, "index", None)
    if index is of_target or not (hasattr(index, "equals") and hasattr(y, "reindex")):
        return
    if len(index) != len(of_target) or index.equals(of_target) or not index.is_unique:
        return
    if index.isin(of_target).all() and of_target.is_unique:
        warn(
            "X and y have the same index in different orders, but rows are matched by"
            " their position. Pass y.reindex(X.index), or X.reset_index(drop=True) if"
            " the positions are right."
        )


# The columns that pandas makes of an index, and those of files with an index.
_INDEX_NAMES = ("index", "level_0", "Unnamed: 0")


def _warn_of_index_as_target(X: Any, y: Any) -> None:
    """Warn if one of several columns of y of pandas is an index."""
    if not (hasattr(y, "reset_index") and np.ndim(y) == 2 and y.shape[1] > 1):
        return
    of_rows: Any = getattr(X, "index", None)
    for number, name in enumerate(y.columns):
        column = y.iloc[:, number]
        is_index = name in _INDEX_NAMES and column.dtype.kind in "iu"
        if is_index and column.is_unique:
            what = "numbers the rows"
        elif name is None or name != getattr(of_rows, "name", None):
            continue
        elif len(column) == len(of_rows) and (column.array == of_rows.array).all():
            what = "is the index of X"
        else:
            continue
        warn(
            f"The column {name!r} of y {what}, but is learned as a target: pass"
            f" y.drop(columns={name!r})."
        )


def _refuse_tables(X: Any, y: Any, sample_weight: Any) -> None:
    """Raise ValueError if targets or weights are other rows of the columns of X."""
    shapes: list[Any] = [
        getattr(values, "shape", ()) for values in (X, y, sample_weight)
    ]
    shape, of_target, of_weight = shapes
    if len(shape) != 2 or shape[1] == 1:
        return
    if of_target[1:] == shape[1:] and of_target[0] != shape[0]:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples:"
            f" {[shape[0], of_target[0]]} (y is the last). y has as many columns as X:"
            " it seems to be another part of X. train_test_split returns X_train,"
            " X_test, y_train, y_test in this order."
        )
    if of_weight[1:] == shape[1:]:
        raise ValueError(
            f"sample_weight must have one value for each row, got {shape[1]} columns,"
            " as X has. Pass evaluation sets by name: fit(X, y, eval_X=X_valid,"
            " eval_y=y_valid)."
        )


# What is never read in batches, or is a `Dataset` already.
_HELD = np.ndarray, Dataset


def _is_read(X: Any) -> bool:
    """Whether rows are read in batches, among them those of a text file."""
    return input_rows.is_streamed(X) or input_rows.is_file(X)


def _as_dataset(X: Any, values: dict[str, Any]) -> tuple[Dataset, dict[str, Any]]:
    """Data as a `Dataset`, and the arguments that are not among its fields."""
    named = {name: v for name, v in values.items() if dataset_fields.names_columns(v)}
    if input_rows.is_file(X) and "y" not in named:
        raise TypeError(
            f"The target of the rows in the file {X} must be the name of a column, got"
            f" {type_name(values['y'])}. If its first line holds no names, pass a"
            " Dataset, for example Dataset(path, params={'label_column': 0})."
        )
    rows = Dataset(X, **{_FIELDS[name]: v for name, v in named.items()})
    if "sample_weight" not in named:
        rows.weight = values["sample_weight"]
    return rows, values | dict.fromkeys(named)


def scored_column(X: Any, y: Any, name: str = "y") -> Any:
    """The target of rows to score; a column of ``X`` if ``y`` is its name.

    A list of names is one of labels, unless all are columns of data read in batches.
    ValueError if ``y`` is a name, and ``X`` is not read from files or in batches.
    """
    if not dataset_fields.names_columns(y):
        return y
    source = input_rows.source(X) if input_rows.is_streamed(X) else None
    if isinstance(y, list) and not {*y}.issubset((source and source.names) or ()):
        return y
    if source is not None:
        return dataset_fields.read_columns(source, {"label": y})[0]["label"]
    if not input_rows.is_file(X):
        raise ValueError(
            f"{name} must be an array, got the str {y!r}, which can only be a column of"
            " a file."
        )
    options = text_files.FileOptions(header=True, label_column=(y,))
    return text_files.read(X, options).label


def input_sets(
    X: Any,
    y: Any,
    arguments: FitArguments,
    settings: Settings,
    *,
    is_lazy: bool = False,
) -> list[InputSet]:
    """Collect the arguments of the training set, the first, and of evaluation sets.

    Data that are read in batches become a `Dataset`, unless data are collections of
    Dask, which are ``is_lazy``.
    """
    has_sets = {*map(type, _OF_SETS(arguments))} != {type(None)}
    weight = arguments.sample_weight
    are_tables = getattr(y, "ndim", 1) == 2 or getattr(weight, "ndim", 1) == 2
    if are_tables and not is_lazy:
        _refuse_tables(X, y, weight)
    if not is_lazy and (has_sets or type(X) is not np.ndarray or isinstance(y, str)):
        X, y, arguments = _with_datasets(X, y, arguments)
    training = InputSet(
        TRAINING,
        X,
        y,
        arguments.sample_weight,
        settings.class_weight,
        arguments.init_score,
        arguments.group,
        arguments.qid,
        prefix="",
        target_name="y",
        is_training=True,
    )
    if isinstance(X, Dataset):
        training = training.with_fields(settings.verbosity)
    if not has_sets:
        return [training]
    return [training, *_evaluation_sets(arguments, training, settings.verbosity)]


def _evaluation_sets(
    arguments: FitArguments, training: InputSet, verbosity: int
) -> list[InputSet]:
    """Collect the arguments of each evaluation set.

    An evaluation set that holds the same two objects as the training set is the
    training set. Its weights, start scores and queries are those of the training set,
    unless others are passed for it. TypeError or ValueError if arguments contradict
    each other, or have a wrong type or length.
    """
    X, y = arguments.eval_X, arguments.eval_y
    has_none = arguments.eval_set is None and X is None and y is None
    pairs = [] if has_none else _pairs(arguments)
    names: list[str | None] = []
    if arguments.eval_names is not None or pairs:
        names = names_of_sets(arguments.eval_names, len(pairs), "eval_names")
    if not pairs:
        for argument in OF_A_SET:
            values = getattr(arguments, f"eval_{argument}")
            if values is not None:
                _warn_if_unused(argument, values)
        return []
    by_set = [
        _by_set(argument, getattr(arguments, f"eval_{argument}"), len(pairs))
        for argument in OF_A_SET
    ]
    sets: list[InputSet] = []
    taken: list[str] = []
    for i, ((rows, target), *values) in enumerate(zip(pairs, *by_set, strict=True)):
        # Only one can be called 'training'.
        default = f"valid_{i}" if TRAINING in taken else TRAINING
        input_set = _evaluation_set(
            training,
            names[i] or f"valid_{i}",
            names[i] or default,
            verbosity,
            rows,
            target,
            **dict(zip(OF_A_SET, values, strict=True)),
        )
        sets.append(input_set)
        taken.append(input_set.name)
    if len(set(taken)) < len(taken):
        raise ValueError(f"eval_names must differ from each other, got {taken}.")
    for input_set in sets:
        _check_queries(input_set, training)
    # As in LightGBM, results of the training set come first.
    return sorted(sets, key=lambda input_set: not input_set.is_training)


def evaluation_set(training: InputSet, name: str, X: Dataset) -> InputSet:
    """Make an evaluation set of a `Dataset`: see `input_sets`."""
    if not isinstance(X, Dataset):
        raise TypeError(f"data must be a Dataset, got {type(X).__name__}.")
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, got {name!r}.")
    none = dict.fromkeys(OF_A_SET)
    input_set = _evaluation_set(training, name, name, -1, X, None, **none)
    _check_queries(input_set, training)
    return input_set


def _evaluation_set(
    training: InputSet,
    name: str,
    training_name: str,
    verbosity: int,
    X: Any,
    y: Any,
    **values: Any,
) -> InputSet:
    """One evaluation set: see `_evaluation_sets`."""
    input_set = InputSet(name, X, y, **values)
    if isinstance(X, Dataset):
        input_set = input_set.with_fields(verbosity)
    if X is not training.X or input_set.y is not training.y:
        return input_set
    passed = {argument for argument, value in values.items() if value is not None}
    # Both group and qid describe the queries, so one of them replaces both.
    if passed.intersection(_QUERIES):
        passed.update(_QUERIES)
    replaced = {argument: values[argument] for argument in passed}
    return training._replace(
        name=training_name,
        prefix="eval_",
        target_name=input_set.target_name,
        **replaced,
    )


def _check_queries(input_set: InputSet, training: InputSet) -> None:
    """Check that both sets have queries, or neither; else ValueError."""
    if training.has_queries and not input_set.has_queries:
        raise ValueError(
            "eval_group cannot be None if any of eval_set, eval_X, or eval_y are"
            " provided: pass eval_group or eval_qid with the queries of the evaluation"
            f" set {input_set.name!r}."
        )
    if input_set.has_queries and not training.has_queries:
        raise ValueError(
            f"The evaluation set {input_set.name!r} has queries, but the training set"
            " has none: pass group or qid."
        )


def _pairs(arguments: FitArguments) -> list[tuple[Any, Any]]:
    """The features and the target of each evaluation set."""
    X, y = arguments.eval_X, arguments.eval_y
    if arguments.eval_set is not None:
        if X is not None or y is not None:
            raise ValueError(
                "Specify either 'eval_set' or 'eval_X' and 'eval_y', but not both."
            )
        return _listed_pairs(arguments.eval_set)
    all_X = X if isinstance(X, tuple) else (X,)
    if y is None and all(isinstance(rows, Dataset) for rows in all_X):
        return _listed_pairs(X)
    if X is None or y is None:
        raise ValueError("You must specify eval_X and eval_y, not just one of them.")
    are_tuples = [isinstance(value, tuple) for value in (X, y)]
    if not any(are_tuples):
        return [(X, y)]
    if not all(are_tuples) or len(X) != len(y):
        raise ValueError(
            "If eval_X is a tuple, eval_y must be a tuple of same length, and vice"
            " versa."
        )
    return list(zip(X, y, strict=True))


def _listed_pairs(eval_set: Any) -> list[tuple[Any, Any]]:
    """The pairs of ``eval_set``, which may be a single one; else TypeError."""
    pairs = [eval_set] if isinstance(eval_set, Dataset) else eval_set
    if isinstance(pairs, tuple) and len(pairs) == 2 and not _is_set(pairs[0]):
        pairs = [pairs]
    if not isinstance(pairs, Sequence):
        raise TypeError(
            f"eval_set must be a list of pairs, [(X, y)], got {type_name(eval_set)}."
        )
    for i, pair in enumerate(pairs):
        if not _is_set(pair):
            raise TypeError(
                "eval_set must be a list of pairs, [(X, y)], but its item"
                f" {i} is {_described(pair)}."
            )
    return [
        (pair, None) if isinstance(pair, Dataset) else tuple(pair) for pair in pairs
    ]


def _described(value: Any) -> str:
    is_list = isinstance(value, tuple | list)
    kind = type_name(value)
    return f"a {kind} of length {len(value)}" if is_list else f"a {kind}"


def _is_set(value: Any) -> bool:
    """Whether a value is an evaluation set: a pair (X, y), or a `Dataset`."""
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    return is_pair or isinstance(value, Dataset)


def names_of_sets(names: Any, n_sets: int, argument: str) -> list[str | None]:
    """The name of each evaluation set; None for those that the user did not name.

    The ``argument`` is a str or a list of str, else TypeError. More names than sets
    raise a warning.
    """
    if names is None:
        return [None] * n_sets
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be a list of str, got {names!r}.")
    listed = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{argument} must be a list of str, got {names!r}.")
    if n_sets and len(listed) > n_sets:
        warn(
            f"{argument} has {len(listed)} names for {n_sets} evaluation sets: the last"
            f" {len(listed) - n_sets} are not used."
        )
    return [*listed, *[None] * n_sets][:n_sets]


def _by_set(argument: str, values: Any, n_sets: int) -> list[Any]:
    """The value of an argument for each evaluation set; None where there is none.

    The argument is a list, or a dictionary by the numbers of the sets. For a single
    evaluation set it may also be the value itself.
    """
    if values is None:
        return [None] * n_sets
    if argument == "class_weight" and (isinstance(values, str) or _is_weights(values)):
        return [values] * n_sets
    if isinstance(values, Mapping):
        unknown = [key for key in values if key not in range(n_sets)]
        if unknown:
            raise ValueError(
                f"eval_{argument} has the key {unknown[0]!r}; the keys of a dictionary"
                f" are the numbers of the evaluation sets, 0 to {n_sets - 1}."
            )
        return [values.get(i) for i in range(n_sets)]
    if n_sets == 1 and argument != "class_weight" and _is_bare(values):
        return [values]
    if not isinstance(values, list | tuple):
        raise TypeError(
            f"eval_{argument} should be dict or list: a list with one item for each of"
            f" the {n_sets} evaluation sets, or a dictionary by their numbers."
        )
    if len(values) > n_sets or (argument in _QUERIES and len(values) < n_sets):
        raise ValueError(
            f"Length of eval_{argument} ({len(values)}) not equal to length of eval_set"
            f" ({n_sets})"
        )
    return [*values, *[None] * n_sets][:n_sets]


def _warn_if_unused(argument: str, values: Any) -> None:
    listed = values.values() if isinstance(values, Mapping) else values
    is_list = isinstance(values, Mapping | list | tuple)
    if not is_list or any(value is not None for value in listed):
        warn(f"eval_{argument} is not used: there is no evaluation set.")


def _is_weights(values: Any) -> bool:
    """Whether a dictionary has weights of labels, and not dictionaries of these."""
    return isinstance(values, Mapping) and not any(
        value is None or isinstance(value, Mapping | str) for value in values.values()
    )


def _is_bare(values: Any) -> bool:
    """Whether the value for a single evaluation set is passed without a list."""
    if not isinstance(values, list | tuple):
        return True
    return len(values) > 0 and isinstance(values[0], numbers.Real | str)
