"""All that a trained model is, as a value; which of its rounds predict."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from numbers import Integral
from types import NoneType
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.columns import computed_columns, containers, dates
from skgoss.columns.categories import Categories
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.columns.schema import ColumnSchema, check_names
from skgoss.model import dump
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.intervals import Conformal, OfDistributions, Quantiles
from skgoss.model.out_of_fold import OutOfFold
from skgoss.model.trees import CATEGORICAL
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.objectives.survival import COX, Baseline
from skgoss.utils import optional
from skgoss.utils.locks import cached_property
from skgoss.utils.messages import one_line, warn
from skgoss.utils.plain_values import (
    INT32_MAX,
    Types,
    are_numbers,
    check_scores,
    entries,
    is_number,
)

_OWNER = "the Booster"

History = dict[str, dict[str, list[float]]]

Restored = TypeVar("Restored", Ensemble, Header, Link, Categories)

# Other ways to quantiles than those of times to an event.
_QUANTILES = (
    " For quantiles of numbers, fit with objective='quantile' and alpha=q, or with"
    " 'normal' and use predict_distribution(X).ppf(q)."
)

# The entries of a state other than the trees and the header, with their types.
_STATE: Types = {
    "categories": object,
    "objective": (str, list, cast("type", Callable), NoneType),
    "link": object,
    "best_iteration": Integral,
    "best_score": dict,
    "origin": (dict, NoneType),
    "preset_params": dict,
    "out_of_fold": (dict, NoneType),
}
# Those of the entry "origin".
_ORIGIN: Types = {
    "estimator": str,
    "task": str,
    "parameters": dict,
    "unused": dict,
    "classes": (np.ndarray, list, NoneType),
    "feature_names": (np.ndarray, NoneType),
    "history": dict,
    "is_foreign": bool,
}


@dataclass(frozen=True, eq=False)
class EstimatorRecord:
    """The estimator, or the function, that trained a model."""

    estimator: str  # the name of its class
    task: str  # 'classification', 'regression', 'ranking', or 'any' for a `LGBMModel`
    # The parameters that differ from the defaults of the class.
    parameters: dict[str, Any]
    # Unknown names that were passed to the constructor, with their values.
    unused: dict[str, Any]


@lru_cache(maxsize=64)
def constructor_defaults(estimator_class: type) -> Mapping[str, Any]:
    """The parameters of an estimator's constructor, with their defaults."""
    return {
        parameter.name: parameter.default
        for parameter in inspect.signature(estimator_class).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained model: its trees and all that belongs to them.

    A fit returns it, model files hold it, estimators and `Booster` predict by it. It
    never changes: a changed model is another one.
    """

    trees: Ensemble
    schema: ColumnSchema  # the columns of the training set
    # The canonical name of the objective, or a function. A list if several targets have
    # different objectives. None if it is unknown.
    objective: str | list[str] | Callable[..., Any] | None
    link: Link  # from raw scores to predictions
    # Returns the content of a model file without the trees. Most models never need it,
    # so it is called once, when it is first needed.
    make_header: Callable[[], Header]
    # The number of rounds that early stopping kept; 0 without it.
    best_iteration: int = 0
    # Metrics by evaluation set and name: those of the best round after early stopping,
    # else of the last round.
    best_score: dict[str, dict[str, float]] = field(default_factory=dict)
    # Metrics of all rounds: a list for each evaluation set and name.
    history: History = field(default_factory=dict)
    # (n_classes,): the labels; a list if there are several targets; None without
    # classes.
    classes: Any = None
    # The estimator that was fitted; None for files of another library.
    record: EstimatorRecord | None = None
    # Whether the trees are of another library: the names of its columns may not be
    # those in ``X``, and its categories have other numbers than in training.
    is_foreign: bool = False
    # The options that a preset has chosen, by name.
    preset_params: Mapping[str, Any] = field(default_factory=dict)
    # What a preset has compared: lists by name. Of a fit with a time limit, also
    # ``is_limit_reached``.
    search: Mapping[str, Any] = field(default_factory=dict)
    # The predictions for the test rows of folds; None without folds.
    out_of_fold: OutOfFold | None = None
    baseline: Baseline | None = None  # the baseline hazard of Cox's model
    # The number of rows of the largest of several queries in training; 0 if there were
    # none, and in models that were read from files.
    largest_query: int = 0
    # Whether boosting began from scores of the user that are not all zero, which
    # predictions do not include. False in models that were read from files.
    has_start_scores: bool = False

    @property
    def header(self) -> Header:
        """The content of a model file without the trees."""
        # Threads that ask at the same time get equal headers.
        if "_header" not in vars(self):
            object.__setattr__(self, "_header", self.make_header())
        return vars(self)["_header"]

    @property
    def categories(self) -> Categories:
        """The categories of the columns."""
        return self.schema.categories

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns; 'Column_0' and so on if they have none."""
        return self.header.feature_names[: self.schema.n_features]

    @property
    def all_feature_names(self) -> list[str]:
        """The same, followed by those of the columns that the model computes itself."""
        return list(self.header.feature_names)

    def importances(self, kind: str, n_rounds: int | None = None) -> NDArray[Any]:
        """The importance of each column, (n_features,), in the first ``n_rounds``.

        See `Ensemble.importances`. A split on a pair of columns counts for both of
        them, and each has half of its gain. One on a part of a date is one on the date.
        """
        trees = self.trees if n_rounds is None else self.trees.truncated(n_rounds)
        fraction = 0.5 if kind == "gain" else 1
        return self.schema.shared_out(trees.importances(kind), fraction=fraction)

    @property
    def n_scores(self) -> int:
        """The number of trees in a round."""
        return self.trees.n_scores

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return self.trees.n_rounds

    @property
    def has_several_targets(self) -> bool:
        """Whether the model predicts several targets.

        A regression with several scores does, unless they are quantiles (levels) or the
        parameters of a distribution. A classifier has a list of classes then.
        """
        is_wide = self.trees.n_scores > 1 and not (
            self.link.levels or self.link.distribution
        )
        return isinstance(self.classes, list) or (is_wide and self.task == "regression")

    @property
    def score_names(self) -> list[str] | None:
        """The names of the scores, where there may be several.

        These are classes, quantiles or the parameters of a distribution.
        """
        if self.link.distribution is not None:
            return list(self.link.distribution.parameters)
        if self.link.levels:
            return [f"{level:g}" for level in self.link.levels]
        if isinstance(self.classes, list):
            return _score_names(self.classes)
        return None if self.classes is None else list(map(str, self.classes))

    @property
    def task(self) -> str | None:
        """What the model was trained for; None if that is unknown."""
        return None if self.record is None else self.record.task

    def rounds(self, start: int, length: int | None) -> tuple[int, int]:
        """The first round to use, and the last plus 1; TypeError if one is not an int.

        ``length`` is the number of rounds. None, 0 or less: all. ValueError if some
        models of a weighted sum would lack their start scores.
        """
        start = whole("start_iteration", start)
        length = None if length is None else whole("num_iteration", length)
        n_rounds = self.trees.n_rounds
        start = min(max(start, 0), n_rounds)
        if length is None or length <= 0:
            return start, n_rounds
        n_starts = 1 if self.out_of_fold is None else self.out_of_fold.n_starts
        if start == 0 and length < n_starts <= n_rounds:
            raise ValueError(
                f"num_iteration={length} is too small: the model is the mean of"
                f" {n_starts} models, whose first rounds come first. Use a multiple of"
                f" {n_starts}."
            )
        return start, min(start + length, n_rounds)

    @cached_property
    def conformal(self) -> Conformal | None:
        """What intervals and prediction sets need; None if the model lacks it.

        That is the out-of-fold predictions of the present trees: see `OutOfFold`.
        """
        tested = self.out_of_fold
        if tested is None or tested.calibration is None:
            return None
        # Other programs may have left rounds out.
        if len(tested.calibration.fold_of_round) != self.trees.n_rounds:
            return None
        return Conformal(
            self.trees,
            self.link,
            self.objective if isinstance(self.objective, str) else None,
            None if self.classes is None else len(self.classes),
            tested.calibration,
            tested.scores,
        )

    def for_intervals(
        self, owner: str, method: str
    ) -> Conformal | OfDistributions | Quantiles:
        """What predicts intervals: an object with the method ``intervals``.

        Predicted distributions and quantiles are intervals already; they are calibrated
        by out-of-fold predictions if there are any, and all other models need these.
        ``method`` is one of `intervals.METHODS`, and ``owner`` the name of the
        estimator in messages. ValueError if the model cannot predict intervals.
        """
        objective, levels = self.objective, self.link.levels
        self._check_has_one_target(owner, "intervals")
        if self.link.distribution is not None:
            if method != "cv":
                raise ValueError(
                    f"method={method!r} cannot be used for the distributions that"
                    f" {owner} predicts: use 'cv'."
                )
            tested = self.conformal and self.conformal.around_prediction
            return OfDistributions(self.trees, self.link.distribution, tested)
        if not isinstance(objective, str) or OBJECTIVES[objective].task != "regression":
            what = "a function" if callable(objective) else repr(objective)
            raise ValueError(
                f"{owner} cannot predict intervals: the objective is {what}, so"
                " predictions are not in the units of the target. Fit with a named"
                " regression objective, such as 'regression'."
            )
        if OBJECTIVES[objective].has_level and not levels:
            alpha = float(self.options().get("alpha", 0.5))
            if alpha != 0.5:
                raise ValueError(
                    f"{owner} cannot predict intervals: its only {objective},"
                    f" alpha={alpha}, is not the middle of the target. Fit with two"
                    " quantiles, such as alpha=[0.05, 0.95]."
                )
        if levels and self.conformal is None:
            return Quantiles(self.trees, self.link)
        conformal = self._conformal(owner, "intervals")
        return conformal.around_prediction if method == "cv" else conformal

    def for_sets(self, owner: str) -> Conformal:
        """What prediction sets need; ValueError if the model cannot predict them."""
        self._check_has_one_target(owner, "sets")
        if self.link.kind not in ("logistic", "softmax"):
            raise ValueError(
                f"{owner} cannot predict sets: its objective has no"
                " probabilities. Fit with the default objective."
            )
        return self._conformal(owner, "sets")

    def _check_has_one_target(self, owner: str, what: str) -> None:
        """Raise ValueError for several targets; ``owner`` cannot predict ``what``."""
        if self.has_several_targets:
            raise ValueError(
                f"{owner} cannot predict {what} for several targets: fit a model for"
                " each."
            )

    def _conformal(self, owner: str, what: str) -> Conformal:
        """What intervals and prediction sets need: models of folds, and their tests.

        ValueError if there are none: then ``owner`` cannot predict ``what``.
        """
        if self.conformal is None:
            raise ValueError(
                f"{owner} cannot predict {what}: fit with folds first, such as folds=5."
                " The model has no out-of-fold predictions of its trees: it was fitted"
                " without folds, with init_score or with soft labels, it is from"
                " another library, or its trees were changed or left out after the fit."
            )
        return self.conformal

    def takes_by_name(self, X: Any) -> bool:
        """Whether an estimator finds the columns of rows by their names.

        Else it takes them by position: if the model is of another library, or if the
        training rows had no names and ``X`` has those that the user gave their columns
        by `feature_name`.
        """
        if self.is_foreign:
            return False
        if self.schema.feature_names is not None or isinstance(X, np.ndarray):
            return True
        names = containers.names(X)
        return names is None or list(names) != self.feature_names

    def checks_names_of(self, X: Any) -> bool:
        """Whether a Booster finds the columns of ``X`` by their names.

        It does if the training rows and ``X`` are data frames with names; else it takes
        them by position. ValueError if ``X`` has the names that users gave the columns
        of an array, but in another order.
        """
        if self.is_foreign or isinstance(X, np.ndarray):
            return False
        names = containers.given_names(X)
        if names is None:
            return False
        are_words = all(isinstance(name, str) for name in names)
        if self.schema.feature_names is not None and are_words:
            return True
        if sorted(map(str, names)) == sorted(self.feature_names):
            self.check_names(X)
        return False

    def check_names(self, X: Any) -> None:
        """Check the names of a data frame's columns; ValueError if they differ."""
        pairs = zip(self.feature_names, containers.names(X) or (), strict=False)
        for j, (expected, name) in enumerate(pairs):
            if name != expected:
                raise ValueError(
                    f"Column {j} of data has the name {name!r}, but {expected!r} in the"
                    " model. Pass the columns of feature_name() in this order."
                )

    def with_trees(self, trees: Ensemble) -> Self:
        """The same model with other trees.

        It lacks what is computed from the scores of these trees.
        """
        out_of_fold = self.out_of_fold and self.out_of_fold.without_folds()
        return replace(self, trees=trees, out_of_fold=out_of_fold, baseline=None)

    def of_fewer_rounds(self, n_rounds: int) -> Self:
        """The model of the same fit if it had ended after ``n_rounds`` rounds.

        It is the model itself if it has no more rounds. It lacks what is computed from
        the scores of all rounds: out-of-fold predictions and the baseline hazard.
        """
        if n_rounds >= self.n_rounds:
            return self
        history = {
            name: {metric: values[:n_rounds] for metric, values in by_metric.items()}
            for name, by_metric in self.history.items()
        }
        last = {
            name: {metric: values[-1] for metric, values in by_metric.items()}
            for name, by_metric in history.items()
        }

        def make_header() -> Header:
            parameters = self.header.parameters | {"num_iterations": str(n_rounds)}
            return replace(self.header, parameters=parameters)

        model = self.with_trees(self.trees.truncated(n_rounds))
        return replace(model, make_header=make_header, best_score=last, history=history)

    def baseline_of(
        self, owner: str, what: str, start: int, length: int | None
    ) -> Baseline:
        """The baseline hazard of some rounds; ValueError if the model has none.

        ``owner`` and ``what`` is predicted are for messages. For the rounds see
        `rounds`.
        """
        if self.objective not in COX:
            raise ValueError(
                f"{owner} cannot predict {what}: its objective is"
                f" {self.objective!r}. Fit with objective='cox' or 'aft_normal'."
                f"{_QUANTILES if what == 'quantiles' else ''}"
            )
        if self.baseline is None:
            raise ValueError(
                f"{owner} cannot predict {what}: the model has no baseline"
                " hazard, because it was fitted with init_score, or because trees were"
                " changed or left out after the fit."
            )
        first, stop = self.rounds(start, length)
        if (first, stop) != (0, self.n_rounds):
            raise ValueError(
                f"start_iteration and num_iteration cannot be used for {what} of"
                f" objective={self.objective!r}: the baseline hazard belongs to all"
                f" {self.n_rounds} rounds. Fit with n_estimators={stop - first}."
            )
        return self.baseline

    def with_record(self, record: EstimatorRecord) -> Self:
        """The same model of another estimator."""
        return replace(self, record=record)

    def check(self) -> Self:
        """Return the model if its entries fit each other; ValueError if they do not."""
        n_features, n_scores = self.trees.n_features, self.trees.n_scores
        objective = self.objective
        has_name = objective is not None and not callable(objective)
        names = objective if isinstance(objective, list) else [objective]
        if has_name and not all(isinstance(n, str) and n in OBJECTIVES for n in names):
            raise ValueError(f"the objective {objective!r} is not known")
        if self.link.n_scores not in (None, n_scores):
            raise ValueError(
                f"the link is made for {self.link.n_scores} scores, but there are"
                f" {n_scores} trees a round"
            )
        if self.best_iteration < 0:
            raise ValueError("best_iteration must be at least 0")
        vocabularies = self.categories.vocabularies
        last = max(vocabularies, default=0)
        n_read = self.schema.n_features
        if last >= n_read:
            raise ValueError(
                f"column {last} has categories, but there are only {n_read} columns"
            )
        self.header.check(n_features)
        _check_categories(
            self.trees,
            self.header.feature_infos,
            {column: len(words.values) for column, words in vocabularies.items()},
        )
        if self.record is not None:
            if self.schema.feature_names is not None:
                check_names(self.schema.feature_names, self.schema.n_features)
            check_classes(self.classes, n_scores, self.record.task)
            check_scores(self.history, "the history", are_numbers)
            if (self.classes is None) == (self.task == "classification"):
                raise ValueError(
                    "models for classification must have classes, others none"
                )
        if self.out_of_fold is not None:
            n_classes = None if self.classes is None else len(self.classes)
            self.out_of_fold.check(n_scores, n_classes)
        # What tables of the trees need is checked before one is made.
        self.shrinkage(self.options())
        return self

    def options(self) -> dict[str, Any]:
        """The options of the fit by LightGBM's names, as model files hold them."""
        return parameters.from_lightgbm(self.header.parameters)

    def shrinkage(self, options: Mapping[str, Any]) -> NDArray[np.float64]:
        """The factor of each tree, (n_trees,): see `dump.shrinkage`.

        ``options`` are those of the fit, by any of their names.
        """
        chosen = parameters.checked_options(options, dump.SHRINKAGE, "Booster")
        return dump.shrinkage(self.trees, self.header, **chosen)

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[Any, ...]]:
        return type(self).from_state, (self.state(),)

    # --- States -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The model as dicts, lists, numbers, strings and arrays."""
        return {
            "ensemble": self.trees.__getstate__(),
            "header": {k: copy.copy(v) for k, v in vars(self.header).items()},
            **self.state_without_trees(),
        }

    def state_without_trees(self) -> dict[str, Any]:
        """The state without the trees and the header, which text files hold."""
        return {
            "categories": self.categories.__getstate__(),
            "objective": self.objective,
            "link": self.link.__getstate__(),
            "best_iteration": self.best_iteration,
            "best_score": self.best_score,
            "origin": None if self.record is None else self._origin(self.record),
            "preset_params": dict(self.preset_params),
            "out_of_fold": self.out_of_fold and self.out_of_fold.state(),
            "skgoss_version": optional.cached_version(),
            # Files of earlier versions do not have it. Those of equal models are equal,
            # so they do not have times.
            **({"search": self._search_without_times()} if self.search else {}),
            **({} if self.baseline is None else {"baseline": self.baseline.state()}),
            **({} if self.trees.spread is None else {"spread": self.trees.spread}),
            **({"dates": dict(self.schema.dates)} if self.schema.dates else {}),
            # The name is that of the first version, which had pairs only.
            **({"pairs": self.schema.computed.state()} if self.schema.computed else {}),
        }

    def _search_without_times(self) -> dict[str, Any]:
        return {k: v for k, v in self.search.items() if k != "fit_time"}

    def _origin(self, record: EstimatorRecord) -> dict[str, Any]:
        """The entry "origin" of a state: what an estimator restores from a file."""
        return {
            **{f.name: getattr(record, f.name) for f in fields(record)},
            "classes": self.classes,
            "feature_names": self.schema.feature_names,
            "history": self.history,
            "is_foreign": self.is_foreign,
        }

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """The model of what `state` returned.

        ValueError if an entry is missing, has another type or contradicts another.
        """
        trees, header = entries(state, {"ensemble": object, "header": object}, _OWNER)
        return cls.assembled(
            _restored(Ensemble, trees), _restored(Header, header), state
        )

    @classmethod
    def assembled(cls, trees: Ensemble, header: Header, state: Any) -> Self:
        """The model of trees, a header, and what `state_without_trees` returned.

        ValueError if an entry is missing, has another type or contradicts another.
        """
        fields = dict(zip(_STATE, entries(state, _STATE, _OWNER), strict=True))
        _warn_of_later(state)
        check_scores(fields["best_score"], "best_score", is_number)
        link = _restored(Link, fields["link"])
        categories = _restored(Categories, fields["categories"])
        origin = fields["origin"]
        origin = {"is_foreign": True} if origin is None else _restored_origin(origin)
        names = origin.pop("feature_names", None)
        if state.get("spread") is not None:
            trees = trees.with_spread(state["spread"])
        return cls(
            trees,
            _schema(trees.n_features, names, categories, state),
            fields["objective"],
            link,
            lambda: header,
            fields["best_iteration"],
            {name: dict(scores) for name, scores in fields["best_score"].items()},
            **origin,
            preset_params=fields["preset_params"],
            search=entries({"search": {}, **state}, {"search": dict}, _OWNER)[0],
            out_of_fold=None
            if fields["out_of_fold"] is None
            else OutOfFold.from_state(fields["out_of_fold"]),
            baseline=None
            if state.get("baseline") is None
            else Baseline.from_state(state["baseline"]),
        ).check()


def _warn_of_later(state: Mapping[str, Any]) -> None:
    """Warn if a later version of skgoss has written a state.

    It may hold entries that this version does not read.
    """
    types: Types = {"skgoss_version": str}
    (version,) = entries({"skgoss_version": "", **state}, types, _OWNER)
    if optional.is_later(version):
        warn(
            f"The model was saved by skgoss {one_line(version, 30)}, which is later"
            f" than this version, {optional.cached_version()}. What is new there is not"
            " read, so predictions may differ. Update skgoss."
        )


def whole(name: str, value: Any) -> int:
    """The value of an argument, ``name``, that must be an int; else TypeError."""
    if type(value) is int:  # the check of an abstract class takes longer
        return value
    if not isinstance(value, Integral):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    return int(value)


def _restored(kind: type[Restored], state: Any) -> Restored:
    """A value that a model consists of, from its state.

    ``__setstate__`` checks the state; ``__init__`` is not called.
    """
    value = object.__new__(kind)
    value.__setstate__(state)
    return value


def _restored_origin(state: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `FittedModel`, and ``feature_names``, from the entry "origin"."""
    owner = "the state of the estimator"
    origin = dict(zip(_ORIGIN, entries(state, _ORIGIN, owner), strict=True))
    for name in ("parameters", "unused"):
        if not all(isinstance(word, str) for word in origin[name]):
            raise ValueError(f"the names of {name} must be strings")
    record = {f.name: origin.pop(f.name) for f in fields(EstimatorRecord)}
    return {**origin, "record": EstimatorRecord(**record)}


def _schema(
    n_all_features: int, names: Any, categories: Categories, state: Mapping[str, Any]
) -> ColumnSchema:
    """The columns of a restored model.

    Computed columns come last among the ``n_all_features`` columns of the trees.
    ``state`` has what `ComputedColumns.state` returned as "pairs", and the time zones
    of "dates" by column. ValueError if it has anything else there.
    """
    types: Types = {"pairs": list, "dates": dict}
    pairs, zones = entries({"pairs": [], "dates": {}, **state}, types, _OWNER)
    n_features = n_all_features - len(pairs)
    if not computed_columns.is_state(pairs, n_features):
        raise ValueError(f"the pairs of {_OWNER} must be columns and an operation each")
    dates.check_zones(zones, n_features, _OWNER)
    computed = ComputedColumns.from_state(pairs)
    return ColumnSchema(n_features, names, categories, dates=zones, computed=computed)


def _score_names(classes: Sequence[NDArray[Any]]) -> list[str]:
    """The names of the scores of several targets: their numbers and classes."""
    names = []
    for number, labels in enumerate(classes):
        several = [f"{number}: {label}" for label in labels]
        names += several if len(labels) > 2 else [str(number)]
    return names


def _check_categories(
    trees: Ensemble, infos: Sequence[str], n_categories: Mapping[int, int]
) -> None:
    """Check that trees and ``feature_infos`` hold categories that their columns have.

    ``infos`` are the entries of ``feature_infos``, one for each column.
    ``n_categories`` has the number of categories of each categorical column.
    """
    if not n_categories:
        return
    stop = np.full(trees.n_features, INT32_MAX + 1)
    stop[list(n_categories)] = list(n_categories.values())
    node = np.flatnonzero(trees.arrays["decision_type"] & CATEGORICAL)
    number, category = trees.sets.take(
        trees.arrays["threshold"][node].astype(np.int64)
    ).members()
    column = trees.arrays["split_feature"][node[number]]
    for j, info in enumerate(infos):
        if j in n_categories and info != "none" and not info.startswith("["):
            numbers = np.array(info.split(":"), dtype=np.int64)
            column = np.append(column, np.full(len(numbers), j))
            category = np.append(category, numbers)
    wrong = category >= stop[column]
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"column {column[first]} has {stop[column[first]]} categories, but a tree"
            f" or feature_infos holds the number {category[first]}"
        )


def check_classes(classes: Any, n_scores: int, task: str) -> None:
    """Check labels; ValueError if they do not fit the number of trees of a round.

    ``classes`` and ``task`` are as in `FittedModel` and `EstimatorRecord`: None for
    numbers, a list of arrays for several targets.
    """
    if classes is None:
        possible = {1 if task == "ranking" else n_scores}
    elif isinstance(classes, list):
        possible = {scores_of_targets(classes)[-1][-1]} if len(classes) > 1 else {0}
    else:
        _check_labels(classes)
        n_classes = len(classes)
        # Models of `train` may have a tree for each of two classes.
        possible = {n_classes, 1} if n_classes <= 2 else {n_classes}
    if n_scores not in possible:
        words = " or ".join(map(str, sorted(possible)))
        raise ValueError(f"n_scores must be {words}, got {n_scores}")


def scores_of_targets(classes: Sequence[NDArray[Any]]) -> list[tuple[int, int]]:
    """The first score of each of several targets, and the last plus 1.

    ``classes`` has the labels of each target: two classes share one score, more have
    one each.
    """
    n_scores = []
    for labels in classes:
        _check_labels(labels)
        n_scores.append(len(labels) if len(labels) > 2 else 1)
    return list(pairwise(accumulate(n_scores, initial=0)))


def _check_labels(classes: Any) -> None:
    """Raise ValueError unless these are the labels of the classes of one target."""
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) == 0:
        raise ValueError("the classes must be a one-dimensional array of labels")
    try:
        distinct = set(classes.tolist())
    except TypeError as error:
        raise ValueError(f"the classes must be hashable: {error}") from error
    if len(distinct) < len(classes):
        raise ValueError("the classes must differ")
