"""The arguments that `train` and `cv` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from skgoss import parameters
from skgoss.dataset.dataset import Dataset
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.fit.callbacks import read_progress
from skgoss.fit.task import TrainTask
from skgoss.model.fitted import EstimatorRecord, FittedModel
from skgoss.parameters.domains import integer
from skgoss.parameters.settings import Settings
from skgoss.several_fits import entry
from skgoss.several_fits.entry import AnyFit
from skgoss.utils.messages import refuse, type_name, warn_unused

# What models of `train` have been trained by, in their records.
TRAIN = "train"

# The name of the argument ``num_boost_round`` among the parameters of a model.
NAME_OF_ROUNDS = "num_iterations"

# Names of the number of classes, LightGBM's main name first.
_NUM_CLASS = ("num_class", "num_classes")


# Options of estimators that `train` and `cv` do not have, and what to do instead.
_OF_ESTIMATORS = {
    "class_weight": "Pass the weights of the rows to the Dataset.",
    "warm_start": "Pass the model as init_model.",
}


class _Default(int):
    """A default value that differs from an argument of the same value.

    ``num_boost_round=100`` is then distinguished from no argument, by identity: only an
    explicit number counts as an option that the user has set.
    """


# The rounds of `train` and `cv` if the user does not pass them.
DEFAULT_ROUNDS = _Default(100)


@dataclass(frozen=True, eq=False)
class TrainOptions:
    """The parameters that a user passes to `train` or `cv`."""

    task: TrainTask
    # The options that are passed, or have another default than those of estimators.
    options: dict[str, Any]
    passed: frozenset[str]  # the names of those that the user has passed
    # The names that the user has used for them, by canonical names.
    names: Mapping[str, str]
    unused: dict[str, Any]  # values of unknown names
    of_files: Mapping[str, Any]  # options of data files

    @classmethod
    def from_params(
        cls,
        params: Mapping[str, Any] | None,
        *,
        owner: str = "train",
        fobj: Callable[..., Any] | None = None,
        early_stopping_rounds: int | None = None,
        **defaults: Any,
    ) -> Self:
        """Take the options, the task and the rest from ``params``.

        ``owner`` is the name of the function in messages. ``fobj`` replaces the
        objective in ``params``; ``early_stopping_rounds`` and ``defaults``, options by
        canonical names, are for what ``params`` do not have. The options are checked by
        `FitArguments.checked_settings`. Here, unknown names raise an
        UnusedParameterWarning, as do several names of one option with different
        values.
        """
        if params is not None and not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict, got {type_name(params)}.")
        values = {n: v for n, v in (params or {}).items() if v is not None}
        n_classes = _n_classes(
            [values.pop(word) for word in _NUM_CLASS if word in values], owner
        )
        of_files, values = parameters.file_options(values, owner)
        options, unused = parameters.resolve(values, owner)
        for name, advice in _OF_ESTIMATORS.items():
            if options.pop(name, None):
                warn_unused(
                    f"{owner} has no parameter {name!r}: it has no effect. {advice}"
                )
        parameters.warn_of_unknown(unused, owner)
        if fobj is not None:
            if not callable(fobj):
                raise TypeError(f"fobj must be a function, got {fobj!r}.")
            options["objective"] = fobj
        defaults["early_stopping_round"] = early_stopping_rounds or None
        task = TrainTask(owner, n_classes, options.get("objective"))
        passed = {
            n for n, v in defaults.items() if v is not None and v is not DEFAULT_ROUNDS
        }
        # Files and pickles keep an ordinary number.
        defaults["n_estimators"] = int(defaults["n_estimators"])
        return cls(
            task,
            defaults | options,
            frozenset(passed | options.keys()),
            parameters.names_used(values),
            unused,
            of_files,
        )

    def with_objective(self, objective: Callable[..., Any]) -> Self:
        """The same options and task with a function as the objective."""
        return replace(
            self,
            task=replace(self.task, objective=objective),
            options=self.options | {"objective": objective},
        )

    @property
    def passed_options(self) -> dict[str, Any]:
        """The options that the user has passed, for a `Dataset`."""
        return {n: value for n, value in self.options.items() if n in self.passed}

    def settings(self, train_set: Dataset, arguments: FitArguments) -> Settings:
        """The checked options of a fit."""
        return arguments.checked_settings(
            self.options, self.task.owner, train_set, self.passed_options
        )

    def prepare(
        self,
        train_set: Dataset,
        arguments: FitArguments,
        init_model: FittedModel | None = None,
        *,
        records_rounds: bool = True,
        **options: Any,
    ) -> AnyFit:
        """A fit, or several, with the data read and binned, before the first round.

        ``init_model`` is the model that training continues from. ``options`` are other
        arguments of `entry.prepare`. The model keeps the number of rounds among its
        options if it ``records_rounds``: a Booster that is trained round by round has
        no such number.
        """
        settings = self.settings(train_set, arguments)
        return entry.prepare(
            input_sets(train_set, None, arguments, settings),
            arguments,
            settings,
            self.task,
            init_model=init_model,
            record=self._record(train_set, records_rounds=records_rounds),
            **options,
        )

    def _record(self, train_set: Dataset, *, records_rounds: bool) -> EstimatorRecord:
        """What models and their files keep of the options: see ``Booster.params``.

        The options of the data set count, by the names that the user wrote. Functions
        are left out, because they cannot be written as text.
        """
        options = {
            "categorical_feature": train_set._root.categorical_feature,
            **train_set.get_params(),
            **self.passed_options,
            **{n: v for n, v in self.options.items() if v is not None},
        }
        names = {"n_estimators": NAME_OF_ROUNDS, **self.names}
        kept = {
            names.get(name, name): value
            for name, value in options.items()
            if not (_holds_function(value) or _is_auto(name, value))
        }
        if self.task.num_class > 1:
            kept["num_class"] = self.task.num_class
        if not records_rounds:
            del kept[NAME_OF_ROUNDS]
        return EstimatorRecord(TRAIN, self.task.name, kept, dict(self.unused))


def _is_auto(name: str, value: Any) -> bool:
    return name == "categorical_feature" and value in ("auto", None)


def _holds_function(value: Any) -> bool:
    values = value if isinstance(value, list | tuple | set) else [value]
    return any(map(callable, values))


def _n_classes(passed: Sequence[Any], owner: str) -> int:
    """The number of classes; 1 if none is passed.

    ``passed`` are the values of its names in ``params``, of which the first counts.
    """
    if not passed:
        return 1
    domain = integer(1)
    value = domain.convert(domain.parse(passed[0]))
    if value is NotImplemented:
        raise ValueError(
            f"The 'num_class' parameter of {owner} must be an int >= 1. Got"
            f" {passed[0]!r} instead."
        )
    return value


# --- Arguments that `train` and `cv` share --------------------------------------------


def check_training_set(train_set: Any, owner: str) -> None:
    """Check that there is a `Dataset`; else TypeError."""
    if not isinstance(train_set, Dataset):
        raise TypeError(
            f"train_set of {owner} must be a Dataset, got {type_name(train_set)}:"
            " pass Dataset(X, label=y)."
        )


def check_label(rows: Dataset, options: TrainOptions, name: str) -> None:
    """Check that a `Dataset` has a label, for which a file may have to be read.

    ``name`` is that of the argument. ValueError if there is no label; where skgoss
    replaces LightGBM, all labels become 0 instead: see `refuse`.
    """
    rows._read_by(options.of_files)
    owner = options.task.owner
    verbosity = parameters.checked_options(options.options, ["verbosity"], owner)
    with read_progress(**verbosity):
        label = rows.get_label()
    if label is None:
        error = ValueError(
            f"The label of {name} is None: pass Dataset(X, label=y), or call"
            " set_label(y)."
        )
        refuse(error, "All labels are 0, as in LightGBM.")
        rows.set_label(np.zeros(rows.num_data()))


def check_rounds(num_boost_round: Any) -> None:
    """Check ``num_boost_round``; ValueError unless it is an int above 0."""
    if integer(1).convert(num_boost_round) is NotImplemented:
        raise ValueError(
            f"num_boost_round must be an int >= 1, got {num_boost_round!r}."
        )


def check_flags(**flags: Any) -> None:
    """Check arguments that are True or False; TypeError if one is a word."""
    for name, value in flags.items():
        if isinstance(value, str):
            raise TypeError(f"{name} must be True or False, got {value!r}.")


def functions_of(feval: Any) -> list[Callable[..., Any]]:
    """The user's metrics; TypeError if one of them is not callable."""
    if feval is None:
        return []
    functions = list(feval) if isinstance(feval, list | tuple) else [feval]
    if not all(map(callable, functions)):
        raise TypeError(
            f"feval must be a function or a list of functions, got {feval!r}."
        )
    return functions
