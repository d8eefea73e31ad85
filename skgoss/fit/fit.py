"""One fit: prepared data, their rounds, and the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.binning.binned_dataset import BinnedDataset, Range, feature_infos
from skgoss.columns import names
from skgoss.columns.schema import ColumnSchema
from skgoss.dataset.dataset import Dataset
from skgoss.fit import (
    callbacks,
    class_rates,
    fit_metrics,
    nothing_learned,
    other_ranges,
    warm_start,
)
from skgoss.fit.arguments import InputSet, evaluation_set
from skgoss.fit.fit_data import FitData
from skgoss.fit.other_ranges import OtherRanges
from skgoss.fit.time_limit import NO_LIMIT, TimeLimit
from skgoss.model import monotone
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.fitted import EstimatorRecord, FittedModel
from skgoss.objectives import metric_names, metrics, objectives
from skgoss.objectives.link import Link
from skgoss.objectives.survival import COX, Baseline
from skgoss.parameters.settings import Settings
from skgoss.training import loop
from skgoss.training.callback_api import Callback, History
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.loop import CallbackList, Trained
from skgoss.utils import thread_counts
from skgoss.utils.messages import type_name, warn

if TYPE_CHECKING:
    from skgoss.training.boosting import Boosting
    from skgoss.training.fit_setup import FitSetup
    from skgoss.training.rounds import Change, Rounds

# Of the number of a round and the model so far: whether the fit ends after it.
AfterRound = Callable[[int, Callable[[], FittedModel]], bool]

# Of a fit: what callbacks get as the model in training.
MakeModel = Callable[["Fit"], Any]


# A column matters if splits on it have more than this proportion of a tree's gain.
_LEAST_GAIN = 0.05

# What stands for `BinnedDataset.build`.
BuildBins = Callable[..., BinnedDataset]


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """A fit before its first round: its data, and what follows from its options.

    ``record`` is what the model keeps of the estimator, and ``search_results`` what a
    preset has compared: lists by name.
    """

    data: FitData
    setup: FitSetup
    record: EstimatorRecord | None = None
    limit: TimeLimit = NO_LIMIT
    search_results: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_data(
        cls,
        data: FitData,
        record: EstimatorRecord | None = None,
        n_threads: int | None = None,
        build_bins: BuildBins | None = None,
        limit: TimeLimit = NO_LIMIT,
    ) -> Self:
        """A fit with ``n_threads``, by default those of the option ``n_jobs``."""
        n_threads = n_threads or thread_counts.n_threads(data.settings.n_jobs)
        if data.arguments.callbacks is not None:
            callbacks.checked(data.arguments.callbacks)  # errors come early
        setup = _setup(data, n_threads, build_bins or BinnedDataset.build)
        return cls(data, setup, record, limit)

    def with_data(self, data: FitData) -> Self:
        """The same with other rows or options."""
        setup = _setup(data, self.setup.n_threads, self.setup.build_bins)
        return replace(self, data=data, setup=setup)

    def with_columns(self, data: FitData) -> Self:
        """The same with other columns, whose bins no other fit has."""
        setup = _setup(data, self.setup.n_threads, BinnedDataset.build)
        return replace(self, data=data, setup=setup)

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The same with other values of some options."""
        if not options:
            return self
        settings = self.data.settings.checked(options, self.data.task.owner)
        return self.with_data(self.data.replaced(settings=settings))

    def with_chosen(self, options: Mapping[str, Any]) -> Self:
        """The same with options that a preset has chosen."""
        data = self.data
        chosen = {**data.preset_params, **options}
        settings = data.settings.checked(options, data.task.owner)
        return self.with_data(data.replaced(preset_params=chosen, settings=settings))

    def rounds_on_all_rows(self) -> Rounds:
        """Rounds that also learn from the rows that are held out."""
        return self.setup.begin(self.data.rows.without_zero_weights(), [])

    def report_choice(self) -> None:
        """Print what a preset has chosen."""
        chosen = self.data.preset_params
        if chosen and self.data.settings.verbosity >= 1:
            words = ", ".join(f"{k}={v}" for k, v in chosen.items())
            callbacks.say(f"Chosen by preset: {words}")

    def is_over(self, limit: TimeLimit) -> bool:
        """Whether a limit is reached, as the first process sees it."""
        collectives = self.data.rows.collectives
        return limit.has_end and collectives.broadcast(limit.is_over)

    def warn_of_trees(self, ensemble: Ensemble, dataset: BinnedDataset) -> None:
        """Warn if no tree of the fit, or of one of its outputs, has a split.

        Also warn of columns that no tree splits because of a monotone constraint; with
        ``verbosity`` >= 0, whatever the reason. All ranks ask at the same time.
        ``dataset`` has the bins of the rows.
        """
        n_leaves = np.diff(ensemble.leaf_start).reshape(-1, ensemble.n_scores)
        first = 0 if self.data.arguments.continues else self.n_earlier
        has_split = np.asarray((n_leaves[first:] > 1).any(axis=0))
        if not has_split.all():
            nothing_learned.warn_of(self.data, dataset, has_split, self._splits_with)
        elif self.data.settings.monotone_constraints is not None:
            self._warn_of_unused_constraints(ensemble)

    def _warn_of_unused_constraints(self, ensemble: Ensemble) -> None:
        """Warn of columns with a monotone constraint that no tree splits.

        If ``verbosity`` < 0, only of those that matter in a first tree with the
        opposite constraint.
        """
        data, used = self.data, ensemble.importances("split")
        signs = data.settings.monotone_constraints or []
        unused = [sign if n == 0 else 0 for sign, n in zip(signs, used, strict=False)]
        if any(unused) and data.settings.verbosity < 0:
            if data.rows.partition is not None or data.init_model is not None:
                return
            opposite = [b - 2 * a for a, b in zip(unused, signs, strict=True)]
            tree = self._first_tree({"monotone_constraints": opposite})
            gain = tree.importances("gain")
            matters = gain > _LEAST_GAIN * gain.sum()
            unused = [s if m else 0 for s, m in zip(unused, matters, strict=False)]
        if any(unused) and data.rows.collectives.rank == 0:
            columns = data.column_names
            if columns is None:
                columns = names.default(len(used))
            objective, classes = data.settings.objective, data.task.classes
            limited = monotone.constrained(objective, data.link, classes)
            words = monotone.in_words(unused, list(columns), limited, used)
            warn(
                f"monotone_constraints: {'; '.join(words)}. If the opposite is meant,"
                " change the sign."
            )

    def _splits_with(self, options: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Which scores have a split in a first tree that is grown with some options."""
        return np.diff(self._first_tree(options).leaf_start) > 1

    def _first_tree(self, options: Mapping[str, Any]) -> Ensemble:
        """The first tree, or the first one of each score, with some options."""
        changed = self.with_options({**options, "linear_tree": False})
        rounds = changed.setup.begin(self.data.fitted, [])
        rounds.boost()
        return rounds.ensemble()

    @property
    def n_earlier(self) -> int:
        """The number of rounds of ``init_model``."""
        model = self.data.init_model
        return 0 if model is None else model.trees.n_rounds

    @property
    def has_baseline(self) -> bool:
        """Whether models have a baseline hazard: those of Cox's objectives do.

        With ``init_score``, the risks are not those of the model alone.
        """
        data = self.data
        return data.settings.objective in COX and data.rows.init_score is None

    def fitted_model(
        self,
        trained: Trained,
        dataset: BinnedDataset,
        baseline: Baseline | None = None,
    ) -> FittedModel:
        """The trained trees, with the rest of the model.

        ``dataset`` has the bins of all rows of the training set.
        """
        data, objective = self.data, self.data.settings.objective
        if callable(objective) and data.task.functions_take_dataset:
            objective = None
        if isinstance(objective, tuple):
            objective = list(objective)
        search, start = self.search_results, data.rows.init_score
        if self.limit is not NO_LIMIT:
            search = {**search, **self.limit.results()}
        return FittedModel(
            trained.ensemble,
            data.schema,
            objective,
            data.link,
            self.header_maker(dataset),
            trained.best_iteration,
            trained.best_score,
            trained.history,
            data.task.classes,
            self.record,
            preset_params=data.preset_params,
            search=search,
            out_of_fold=trained.out_of_fold,
            largest_query=0 if data.rows.queries is None else data.largest_query,
            has_start_scores=start is not None and bool(start.any()),
            baseline=baseline,
        )

    def header_maker(self, dataset: BinnedDataset) -> Callable[[], Header]:
        """Makes the header. It does not hold the fit: models can outlive the rows."""
        data = self.data
        return partial(
            _header,
            data.settings,
            data.schema,
            data.column_names,
            dataset.ranges(),
            data.n_scores,
            data.link,
            is_joint=bool(data.outputs),
        )


def _setup(data: FitData, n_threads: int, build_bins: BuildBins) -> FitSetup:
    """What starts the rounds of a fit; errors of metrics come early."""
    # A program that only predicts does not load what grows trees.
    from skgoss.training.fit_setup import (
        FitSetup,
        MultiOutputSetup,
        join_objectives,
    )

    settings = data.settings
    if data.arguments.continues:
        settings = warm_start.of_new_rounds(settings, data.arguments)
    has_metrics = not (data.arguments.eval_metric is None and settings.metric is None)
    stopping = _stopping(data) if has_metrics else (False, False)
    of_metrics = *fit_metrics.READ(data), *stopping
    make_metrics = cache(partial(fit_metrics.make, *of_metrics))
    if has_metrics:
        make_metrics()  # errors come early
    trees = None if data.init_model is None else data.init_model.trees
    setup = settings, data.n_scores, make_metrics, n_threads, trees, build_bins
    if not data.outputs:
        return FitSetup(*setup, data.arguments.continues)
    of_outputs = [
        FitSetup(output.settings(settings), output.task.n_scores, list, n_threads)
        for output in data.outputs
    ]
    names = [output.name for output in data.outputs]
    if settings.multi_strategy == "multi_output_tree":
        return FitSetup(*setup, join=partial(join_objectives, of_outputs, names))
    return MultiOutputSetup(*setup, outputs=of_outputs, names=names)


def _stopping(data: FitData) -> tuple[bool, bool]:
    """Whether metrics end the rounds early, and whether only the first one counts.

    Callbacks may be those of the first process alone.
    """

    def stopping() -> tuple[bool, bool]:
        enabled = [
            callback
            for callback in _new_callbacks(data)
            if isinstance(callback, callbacks.EarlyStopping) and callback.enabled
        ]
        are_first_only = [callback.first_metric_only for callback in enabled]
        return bool(enabled), any([data.settings.first_metric_only, *are_first_only])

    return data.rows.collectives.broadcast(stopping)


def _new_callbacks(data: FitData) -> list[Callback]:
    """The user's callbacks, and those that options ask for, for one fit."""
    arguments, options = data.arguments, data.settings
    found: list[Callback] = []
    if arguments.callbacks is not None:
        found = callbacks.own_copies(arguments.callbacks)
    patience = options.early_stopping_round or 0
    is_verbose = options.verbosity >= 1 or arguments.early_stopping_messages
    if patience > 0:
        found.append(
            callbacks.EarlyStopping(
                patience,
                options.first_metric_only,
                # Folds are fitted side by side, and print their rounds at the end.
                is_verbose and options.folds is None,
                options.early_stopping_min_delta,
            )
        )
    if options.verbosity >= 1:
        found.append(callbacks.ProgressBar())
    return found


@dataclass(eq=False)
class Fit:
    """A fit whose rows are in bins, and its rounds, which are all that changes.

    `model` boosts and returns the model. ``history`` gets the metrics of all rounds, by
    evaluation set and name.
    """

    prepared: PreparedFit
    rounds: Rounds  # those so far
    callbacks: list[Callback]
    history: History = field(default_factory=dict)
    # By evaluation set: that its columns have other ranges than in the training set.
    other_ranges: Mapping[str, OtherRanges] = field(default_factory=dict)
    # The model that was made last, and the trees and settings that it is of.
    _last_model: tuple[Any, Any, Any] = (None, None, None)

    has_folds: ClassVar[bool] = False  # whether models of folds become one

    @classmethod
    def begin(cls, prepared: PreparedFit, sets: Sequence[EvaluationSet]) -> Self:
        """Put the rows into bins, and make the state of the rounds."""
        data, own_callbacks = prepared.data, _new_callbacks(prepared.data)
        rounds = prepared.setup.begin(data.fitted, sets)
        names, others = data.column_names, {}
        for tested in sets:
            if tested.rows.columns is data.fitted.columns:
                continue
            found = other_ranges.find(data.fitted, rounds.dataset, tested, names)
            if found is not None:
                others[tested.name] = found
                if found.is_certain:
                    warn(f"The evaluation set {tested.name!r}: {found.sentences}")
        if data.rows.partition is not None:
            prepared = replace(prepared, data=data.without_values())
        return cls(prepared, rounds, own_callbacks, other_ranges=others)

    @classmethod
    def begin_on_all_rows(cls, prepared: PreparedFit) -> Self:
        """The same on the rows that are held out, too, without evaluation sets."""
        rounds = prepared.rounds_on_all_rows()
        return cls(prepared, rounds, _new_callbacks(prepared.data))

    @property
    def data(self) -> FitData:
        """The data."""
        return self.prepared.data

    @property
    def settings(self) -> Settings:
        """The options."""
        return self.prepared.data.settings

    @property
    def training(self) -> InputSet:
        """The training set."""
        return self.prepared.data.training

    # What a `FittedModel` has, too.

    @property
    def schema(self) -> ColumnSchema:
        """The columns of the training set."""
        return self.prepared.data.schema

    @property
    def n_scores(self) -> int:
        """The number of trees of a round."""
        return self.prepared.data.n_scores

    @property
    def objective(self) -> Any:
        """The name of the objective, or a function; several in a tuple."""
        return self.prepared.data.settings.objective

    @property
    def record(self) -> EstimatorRecord | None:
        """What the model keeps of the estimator."""
        return self.prepared.record

    @property
    def header(self) -> Header:
        """The content of a model file without the trees."""
        return self.prepared.header_maker(self._dataset)()

    @property
    def n_rounds(self) -> int:
        """The number of finished rounds, including those of ``init_model``."""
        return self.rounds.current_iteration()

    # --- Rounds -----------------------------------------------------------------------

    def model(
        self,
        make_model: MakeModel,
        after_round: AfterRound | None = None,
        *,
        keeps_rounds: bool = False,
    ) -> FittedModel:
        """Boost round by round; ``keeps_rounds``: those after the best one, too.

        ``make_model`` makes what callbacks, or those who keep the rounds, get as the
        model in training. It may hold the fit, so the fit does not hold it: unused rows
        are freed at once. ``after_round`` is called by rank 0 after each round with its
        index and a function that returns the model so far. The fit ends if it returns
        True.
        """
        prepared, data = self.prepared, self.prepared.data
        limit, n_planned = prepared.limit, self.rounds.settings.n_estimators
        if data.preset_params:
            prepared.report_choice()
        model = make_model(self) if self.callbacks or keeps_rounds else None

        def model_after(trees: Ensemble) -> FittedModel:
            return self.with_baseline(self.model_of(trees))

        def ends(index: int, trees: Callable[[], Ensemble]) -> bool:
            is_over = index + 1 < n_planned and limit.is_over()
            if after_round is None:
                return is_over
            return after_round(index, lambda: model_after(trees())) or is_over

        trained = loop.train(
            self.rounds,
            model,
            history=self.history,
            earlier=self._earlier_metrics() if data.arguments.continues else None,
            callbacks=self.callbacks,
            after_round=ends if after_round or limit.has_end else None,
        )
        if self.rounds.sets and str(self.objective) in class_rates.LOG_LOSS:
            class_rates.warn_if_worse(
                data,
                (
                    (repr(tested.name), tested.rows, trained.best_score[tested.name])
                    for tested in self.rounds.sets
                    if not tested.is_training and tested.name in trained.best_score
                ),
                {repr(name): found for name, found in self.other_ranges.items()},
            )
        if trained.best_iteration:
            class_rates.warn_if_weights_stopped(data, trained.best_iteration)
        if limit.has_end:
            self.warn_of_limit(n_planned, has_best=trained.best_iteration > 0)
        if data.settings.refit and data.fitted is not data.rows:
            limit.interrupted.clear()
            n_rounds = max(1, trained.ensemble.n_rounds - prepared.n_earlier)
            self.rounds = prepared.rounds_on_all_rows()
            trained = replace(trained, ensemble=self.grow(n_rounds, model))
        dataset, prepared = self._dataset, self.prepared  # callbacks may change options
        prepared.warn_of_trees(trained.ensemble, dataset)
        baseline = None if keeps_rounds else self._baseline(trained.ensemble)
        return prepared.fitted_model(trained, dataset, baseline)

    def _earlier_metrics(self) -> History:
        """The metrics of the rounds of the last fit, which this one continues.

        Empty if the metrics of the evaluation sets after the last one differ, because
        the sets are others.
        """
        model: FittedModel = self.data.arguments.init_model
        found: History = {}
        for name, metric, value, *_ in self.rounds.evaluate():
            values = model.history.get(name, {}).get(metric, [])[: model.n_rounds]
            is_long = len(values) == model.n_rounds
            # Levels of distributions are added to scores in another order.
            if not is_long or not np.isclose(values[-1], value, 1e-9, 0, True):
                return {}
            found.setdefault(name, {})[metric] = values
        return found

    def grow(self, n_rounds: int, model: Any) -> Ensemble:
        """Boost a number of rounds, which nothing but a limit ends.

        Of the callbacks, only those that are called before rounds are called.
        """
        limit = self.prepared.limit
        ensemble = loop.train(
            self.rounds,
            model,
            callbacks=CallbackList(self.callbacks).callbacks_before,
            after_round=limit.after_round(n_rounds),
            n_rounds=n_rounds,
        ).ensemble
        self.warn_of_limit(n_rounds, has_best=False)
        return ensemble

    def warn_of_limit(self, n_planned: int, *, has_best: bool) -> None:
        """Warn if the limit has ended the rounds, of which none was the best."""
        limit, n_grown = self.prepared.limit, self.n_rounds - self.prepared.n_earlier
        is_cut = limit.interrupted.is_set()
        is_over = is_cut or (limit.left <= 0 and not has_best)
        if is_over and n_grown < n_planned:
            what = "Ctrl-C" if is_cut else f"time_limit={limit.option:g}"
            warn(
                f"{what} ended the fit after {n_grown} of {n_planned} rounds: other"
                " runs may end after a different number of rounds."
            )

    def warn_of_trees(self, ensemble: Ensemble) -> None:
        """Warn of the trees of the fit: see `PreparedFit.warn_of_trees`."""
        self.prepared.warn_of_trees(ensemble, self._dataset)

    @property
    def _dataset(self) -> BinnedDataset:
        """The bins of all rows of the training set."""
        return self.prepared.data.rows.binned or self.rounds.dataset

    # --- Models -----------------------------------------------------------------------

    def fitted_model(self, trained: Trained) -> FittedModel:
        """The model of some of the rounds, which are over, and its baseline."""
        baseline = self._baseline(trained.ensemble)
        return self.prepared.fitted_model(trained, self._dataset, baseline)

    def with_baseline(self, model: FittedModel) -> FittedModel:
        """A model of the first rounds of this fit, which is over, and its baseline."""
        baseline = self._baseline(model.trees)
        return model if baseline is None else replace(model, baseline=baseline)

    def _baseline(self, trees: Ensemble) -> Baseline | None:
        """The baseline hazard of the first rounds of this fit, whose trees these are.

        None for other objectives than Cox's.
        """
        prepared = self.prepared
        if prepared.data.settings.objective not in COX or not prepared.has_baseline:
            return None
        boosting, n_new = cast("Boosting", self.rounds), trees.n_rounds
        n_new -= prepared.n_earlier
        return None if n_new < 0 else boosting.baseline(boosting.finished.first(n_new))

    def model_of(self, trees: Ensemble) -> FittedModel:
        """A model of trees of this fit, without the baseline hazard."""
        return self.prepared.fitted_model(
            Trained(trees, history=self.history), self._dataset
        )

    def model_of_first(self, n_rounds: int) -> FittedModel:
        """The model of the first rounds, and its baseline hazard."""
        model = self.model_of(self.rounds.ensemble())
        return self.with_baseline(model.of_fewer_rounds(n_rounds))

    def model_so_far(self) -> FittedModel:
        """The model after the last finished round, whatever another thread trains.

        It lacks the baseline hazard, which takes longer than a prediction.
        """
        trees, settings = self.rounds.ensemble(), self.settings
        last_trees, last_settings, model = self._last_model
        if last_trees is not trees or last_settings is not settings:
            model = self.model_of(trees)
            self._last_model = trees, settings, model
        return model

    def whole_model_so_far(self) -> FittedModel:
        """The same with the baseline hazard."""
        if not self.prepared.has_baseline:
            return self.model_so_far()
        boosting = cast("Boosting", self.rounds)
        finished = boosting.finished
        model = self.model_of(boosting.ensemble_of(finished))
        return replace(model, baseline=boosting.baseline(finished))

    # --- Changes of a model in training -----------------------------------------------

    def add_set(self, name: str, X: Dataset, *, on_demand: bool) -> EvaluationSet:
        """Add an evaluation set: see `Rounds.add`."""
        data = self.data
        named = data.evaluation_set(evaluation_set(data.training, name, X))
        dataset, setup = self.rounds.dataset, self.prepared.setup
        added = setup.evaluation_set(dataset, data.fitted, named)
        self.rounds.add(added, on_demand=on_demand)
        return added

    def on_rows(self, X: Dataset) -> Self:
        """The fit that continues from the trees so far on other rows, in these bins."""
        if not isinstance(X, Dataset):
            raise TypeError(f"train_set must be a Dataset, got {type(X).__name__}.")
        self._check_dataset("train_set")
        return self._resumed(self.data.with_dataset(X))

    def with_objective(self, function: Callable[..., Any]) -> Self:
        """The fit whose rounds use functions ``f(predictions, dataset)``."""
        if not callable(function):
            raise TypeError(f"fobj must be callable, got {function!r}.")
        self._check_dataset("fobj")
        if self.needs_function:
            return self
        objective = FunctionOfRound(function)
        return self._resumed(
            self.data.replaced(
                settings=self.settings.replaced(objective=objective),
                link=objectives.make_link(objective),
            )
        )

    def _resumed(self, data: FitData) -> Self:
        """A fit that continues from the trees so far."""
        prepared = self.prepared.with_data(data)
        rounds = prepared.setup.resume(self.rounds, data.fitted)
        return replace(self, prepared=prepared, rounds=rounds)

    def boost(self, function: Callable[..., Any] | None = None) -> bool:
        """Grow the trees of one round, whose objective may be a function."""

        def begin() -> None:
            if function is not None:
                self.settings.objective.function = function

        return self.rounds.boost(begin)

    def changes(self, params: Mapping[str, Any]) -> list[Change]:
        """What changes options of single trees, by any of their names.

        Options that keep their values may be among them.
        """
        if not isinstance(params, Mapping):
            raise TypeError(
                f"params of reset_parameter must be a dict, got {type_name(params)}."
            )
        settings = self.settings
        kept = {**vars(settings), **settings.explicit, "num_class": self.n_scores}
        changes = parameters.changes(params, kept, "reset_parameter")
        data = self.data.replaced(settings=settings.changed(changes))
        prepared = replace(self.prepared, data=data)
        return [*self.rounds.changes(changes), (self, "prepared", prepared)]

    @property
    def needs_function(self) -> bool:
        """Whether each round needs a function as its objective."""
        return isinstance(self.settings.objective, FunctionOfRound)

    def _check_dataset(self, argument: str) -> None:
        if not isinstance(self.training.X, Dataset):
            raise ValueError(
                f"{argument} needs a Booster that is trained on a Dataset, but this one"
                " belongs to an estimator."
            )

    def metrics_of(self, feval: Any) -> list[metrics.CustomMetric]:
        """The metrics that one or several functions of the user compute."""
        words, functions = metric_names.names_and_functions([feval])
        if words:
            raise TypeError(
                f"feval must be a function or a list of functions, got {feval!r}."
            )
        return fit_metrics.by_functions(self.data.task, self.data.link, functions)


class FunctionOfRound:
    """The objective of a model in training, which changes from round to round."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self.function = function
        self.__name__ = "fobj"

    def __call__(self, *args: Any) -> Any:
        assert self.function is not None
        return self.function(*args)


def _header(
    settings: Settings,
    schema: ColumnSchema,
    columns: Sequence[str] | None,
    ranges: Sequence[Range],
    n_scores: int,
    link: Link,
    *,
    is_joint: bool,
) -> Header:
    """The content of a model file without the trees."""
    objective, signs = settings.objective, settings.monotone_constraints
    if columns is None:
        columns = names.default(schema.n_features)
    words = ""
    if is_joint:
        objective = objectives.readable_for_lightgbm(objective, link)
    if isinstance(objective, str):
        words = objectives.lightgbm_text(
            objective, settings.sigmoid, settings.reg_sqrt, n_scores
        )
    return Header(
        feature_names=schema.all_names(list(map(str, columns))),
        feature_infos=feature_infos(ranges),
        objective=words,
        monotone_constraints=[] if signs is None else [int(sign) for sign in signs],
        parameters=parameters.to_lightgbm(settings) | {"num_class": str(n_scores)},
    )
