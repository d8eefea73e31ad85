"""A fit: boosting on the data, from the first round to the model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from skgoss import parameters
from skgoss.binning.binned_dataset import BinnedDataset, Range, feature_infos
from skgoss.binning.rows import Rows
from skgoss.columns import names
from skgoss.columns.schema import ColumnSchema
from skgoss.dataset.dataset import Dataset
from skgoss.fit import callbacks
from skgoss.fit.arguments import FitArguments, InputSet, evaluation_set
from skgoss.fit.fit_data import FitData
from skgoss.fit.several_outputs import Output, joint_link
from skgoss.fit.splits import Pair, Splits
from skgoss.fit.task import Task
from skgoss.fit.time_limit import NO_LIMIT, TimeLimit
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.fitted import EstimatorRecord, FittedModel
from skgoss.objectives import metric_names, metrics, objectives, output_metrics
from skgoss.objectives.link import Link
from skgoss.objectives.survival import COX
from skgoss.parameters.settings import Settings
from skgoss.training import loop
from skgoss.training.callback_api import Callback
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.loop import CallbackList, Trained
from skgoss.utils import threads
from skgoss.utils.messages import type_name, warn

if TYPE_CHECKING:
    from skgoss.training.boosting import Boosting
    from skgoss.training.fit_setup import FitSetup
    from skgoss.training.rounds import Change, Rounds

# Of the number of a round and the model so far: whether the fit ends after it.
AfterRound = Callable[[int, Callable[[], FittedModel]], bool]

# Of a fit: what callbacks get as the model in training.
MakeModel = Callable[["Fit"], Any]


# What stands for `BinnedDataset.build`.
BuildBins = Callable[..., BinnedDataset]

# Options that limit splits, and the values with which they do not.
_NO_LIMITS = {
    "min_child_samples": 1,
    "min_child_weight": 0.0,
    "min_split_gain": 0.0,
    "reg_alpha": 0.0,
    "reg_lambda": 0.0,
    "interaction_constraints": None,
    "feature_contri": None,
    "monotone_constraints": None,
}


def checked_settings(
    options: Mapping[str, Any],
    owner: str,
    X: Any,
    arguments: FitArguments,
    passed: Mapping[str, Any],
    written: Collection[str] | None = None,
) -> Settings:
    """The checked options of a fit to the training set ``X``.

    Arguments of fit replace ``options``. Of these, the ones that the user has
    ``passed`` replace the options of a `Dataset`, and those replace the defaults of the
    others. If one that is ``written`` has no effect, the fit warns; None: these are all
    that are passed. Messages name the ``owner`` of the options.
    """
    categorical = arguments.categorical_feature
    replaced: dict[str, Any] = {}
    for name in ("early_stopping_round", "eval_at"):
        value = getattr(arguments, name)
        if value is not None:
            is_off = isinstance(value, bool | np.bool_) and not value
            replaced[name] = 0 if is_off else value
    if not (isinstance(categorical, str) and categorical == "auto"):
        replaced["categorical_feature"] = categorical
    if isinstance(X, Dataset):
        verbosity = parameters.checked_options(options, ["verbosity"], owner)
        with callbacks.shown_reads(**verbosity):
            replaced = X._options_besides(passed) | replaced
    written = passed.keys() if written is None else written
    options = {**options, **replaced}
    settings = parameters.make_settings(options, owner, passed, written)
    if isinstance(settings.objective, str):
        objectives.canonical_name(settings.objective)
    return settings


class Fit:
    """A fit: `begin` bins the rows, `train` boosts and returns the model.

    ``record`` is what the model keeps of the estimator. ``n_threads`` are the threads
    of the rounds, without it those of the option ``n_jobs``.
    """

    state: Rounds  # the rounds so far

    # Of a fit with the option ``folds`` or ``preset``: its rows, the folds of the first
    # option, its evaluation sets, and the first of other rows than those it learns.
    splits: Splits
    pairs: list[Pair] | None = None
    sets: Sequence[EvaluationSet] = ()
    others: EvaluationSet | None = None

    def __init__(
        self,
        data: FitData,
        record: EstimatorRecord | None = None,
        n_threads: int | None = None,
        build_bins: BuildBins | None = None,
        limit: TimeLimit = NO_LIMIT,
    ) -> None:
        self.data = data
        self.limit = limit
        # What a preset has compared: lists by name.
        self.search_results: dict[str, Any] = {}
        self.build_bins = build_bins or BinnedDataset.build
        self.record = record
        self.n_threads = n_threads or threads.n_threads(data.settings.n_jobs)
        # Metrics of all rounds by evaluation set and name.
        self.history: dict[str, dict[str, list[float]]] = {}
        # The model that was made last, and the trees and settings that it is of.
        self._last_model: tuple[Any, Any, Any] = (None, None, None)
        self.plan = self._plan()
        self.calls = self.new_callbacks()

    def begin(self, sets: Sequence[EvaluationSet]) -> None:
        """Put the rows into bins, and make the state of the rounds."""
        self.state = self.plan.begin(self.data.fitted, sets)
        if self.data.rows.partition is not None:
            self.data = self.data.without_values()

    def variant(self, data: FitData, plan: FitSetup | None = None) -> Self:
        """A fit of other rows or with other options, which has not begun."""
        other = copy.copy(self)
        other.data, other.history = data, {}
        other.plan = plan or other._plan()
        return other

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """A fit with other values of some options, which has not begun."""
        if not options:
            return self
        settings = self.settings.checked(options, self.data.task.owner)
        return self.variant(self.data.replaced(settings=settings))

    def choose(self, options: Mapping[str, Any]) -> None:
        """Use options that a preset has chosen, before the fit begins."""
        self.data = self.data.replaced(
            preset_params={**self.data.preset_params, **options},
            settings=self.settings.checked(options, self.data.task.owner),
        )
        self.plan = self._plan()
        self.calls = self.new_callbacks()

    @property
    def settings(self) -> Settings:
        """The options."""
        return self.data.settings

    @property
    def training(self) -> InputSet:
        """The training set."""
        return self.data.training

    @property
    def schema(self) -> ColumnSchema:
        """The columns of the training set."""
        return self.data.schema

    @property
    def n_scores(self) -> int:
        """The number of trees of a round."""
        return self.data.n_scores

    # --- Rounds -----------------------------------------------------------------------

    def new_callbacks(self) -> list[Callback]:
        """The user's callbacks, and those that options ask for."""
        arguments, options = self.data.arguments, self.data.settings
        calls: list[Callback] = []
        if arguments.callbacks is not None:
            calls = callbacks.for_one_fit(arguments.callbacks)
        patience = options.early_stopping_round or 0
        is_told = options.verbosity >= 1 or arguments.early_stopping_messages
        if patience > 0:
            calls.append(
                callbacks.EarlyStopping(
                    patience,
                    options.first_metric_only,
                    # Folds are fitted side by side; they tell their rounds at the end.
                    is_told and options.folds is None,
                    options.early_stopping_min_delta,
                )
            )
        if options.verbosity >= 1:
            calls.append(callbacks.ProgressBar())
        return calls

    def _stopping(self) -> tuple[bool, bool]:
        """Whether metrics end the rounds early, and whether only the first one counts.

        Callbacks may be those of the first process alone.
        """

        def stopping() -> tuple[bool, bool]:
            calls = [
                call
                for call in self.new_callbacks()
                if isinstance(call, callbacks.EarlyStopping) and call.enabled
            ]
            are_first_only = [call.first_metric_only for call in calls]
            return bool(calls), any([self.settings.first_metric_only, *are_first_only])

        return self.data.rows.collectives.broadcast(stopping)

    def _plan(self) -> FitSetup:
        # A program that only predicts does not load what grows trees.
        from skgoss.training.fit_setup import FitSetup, MultiOutputSetup

        data, settings = self.data, self.data.settings
        trees = None if data.init_model is None else data.init_model.trees
        has_metrics = not (
            data.arguments.eval_metric is None and settings.metric is None
        )
        stopping = self._stopping() if has_metrics else (False, False)
        make_metrics = cache(partial(_metrics, *_OF_METRICS(data), *stopping))
        if has_metrics:
            make_metrics()  # errors come early
        plan = (
            *(settings, data.n_scores, make_metrics, self.n_threads, trees),
            self.build_bins,
        )
        if not data.outputs:
            return FitSetup(*plan)
        of_outputs = [
            FitSetup(
                output.settings(settings), output.task.n_scores, list, self.n_threads
            )
            for output in data.outputs
        ]
        return MultiOutputSetup(
            *plan, of_outputs, [output.name for output in data.outputs]
        )

    def train(
        self,
        make_model: MakeModel,
        after_round: AfterRound | None = None,
        *,
        keeps_rounds: bool = False,
    ) -> FittedModel:
        """Boost round by round; ``keeps_rounds``: those after the best one, too.

        ``make_model`` makes what callbacks get as the model in training. It may hold
        the fit, so the fit does not hold it: unused rows are freed at once.
        ``after_round`` is called by rank 0 after each round with its index and a
        function that returns the model so far. The fit ends if it returns True.
        """
        model = make_model(self) if self.calls else None
        n_planned = self.data.settings.n_estimators

        def model_after(trees: Ensemble) -> FittedModel:
            return self.with_baseline(self.model(Trained(trees)))

        def ends(index: int, trees: Callable[[], Ensemble]) -> bool:
            is_over = index + 1 < n_planned and self.limit.is_over()
            if after_round is None:
                return is_over
            return after_round(index, lambda: model_after(trees())) or is_over

        trained = loop.train(
            self.state,
            model,
            history=self.history,
            callbacks=self.calls,
            after_round=ends if after_round or self.limit.has_end else None,
        )
        if self.limit.has_end:
            self.warn_of_limit(n_planned, has_best=trained.best_iteration > 0)
        if self.data.settings.refit and self.data.fitted is not self.data.rows:
            self.limit.interrupted.clear()
            n_rounds = max(1, trained.ensemble.n_rounds - self._n_earlier)
            trained = replace(trained, ensemble=self.refitted(n_rounds, model))
        self.warn_if_nothing_learned(trained.ensemble)
        fitted = self.model(trained)
        return fitted if keeps_rounds else self.with_baseline(fitted)

    def is_over(self, limit: TimeLimit) -> bool:
        """Whether a limit is reached, as the first process sees it."""
        collectives = self.data.rows.collectives
        return limit.has_end and collectives.broadcast(limit.is_over)

    def tell_of_interrupt(self, what: str) -> None:
        """Warn if Ctrl-C has ended something; the last fit goes on until the next."""
        if not self.limit.interrupted.is_set():
            return
        self.limit.is_reached = True
        warn(f"Ctrl-C ended {what}.")
        if self.pairs is None or self.settings.refit:
            self.limit.interrupted.clear()

    def warn_of_limit(self, n_planned: int, *, has_best: bool) -> None:
        """Warn if the limit has ended the rounds, of which none was the best."""
        n_grown = self.n_rounds - self._n_earlier
        is_cut = self.limit.interrupted.is_set()
        is_over = is_cut or (self.limit.left <= 0 and not has_best)
        if is_over and n_grown < n_planned:
            what = "Ctrl-C" if is_cut else f"time_limit={self.limit.seconds:g}"
            warn(
                f"{what} ended the fit after {n_grown} of {n_planned} rounds: other"
                " runs may end after a different number of rounds."
            )

    def warn_if_nothing_learned(self, ensemble: Ensemble) -> None:
        """Warn if no tree of the fit, or of one of its outputs, has a split.

        All ranks ask at the same time.
        """
        n_leaves = np.diff(ensemble.leaf_start).reshape(-1, ensemble.n_scores)
        has_split = np.asarray((n_leaves[self._n_earlier :] > 1).any(axis=0))
        if has_split.all():
            return
        rows = self.data.fitted
        if not has_split.any():
            self._warn_that_nothing_is_learned(rows, "the fit")
            return
        first = 0
        for k, output in enumerate(self.data.outputs):
            stop = first + output.task.n_scores
            if not has_split[first:stop].any():
                learned = rows.of_output(k, first, stop).without_missing_targets()
                self._warn_that_nothing_is_learned(learned, output.name, first, stop)
            first = stop

    def _warn_that_nothing_is_learned(
        self, rows: Rows, what: str, first: int = 0, stop: int | None = None
    ) -> None:
        """Warn that no tree of ``what`` has a split, and why; all processes call this.

        ``first`` and ``stop`` are the bounds of its scores.
        """
        n_rows, target = len(rows), rows.target
        ends = target.min(initial=np.inf), target.max(initial=-np.inf)
        of_ranks = rows.collectives.all_gather((n_rows, *ends))
        if rows.collectives.rank > 0:
            return
        sizes, lowest, highest = zip(*of_ranks, strict=True)
        n_rows, is_constant = sum(sizes), min(lowest) == max(highest)
        reason = _reason(n_rows, is_constant, self._dataset, self.settings)
        reason = reason or self._limits(n_rows, slice(first, stop))
        warn(f"No tree of {what} has a split, so it has learned nothing: {reason}")

    def _limits(self, n_rows: int, scores: slice) -> str:
        """Which options keep the root from being split."""
        settings, data = self.settings, self.data
        limits = {
            name: f"{name}={getattr(settings, name)!r}"
            for name, loose in _NO_LIMITS.items()
            if getattr(settings, name) != loose
        }
        is_tried = data.rows.partition is None and data.init_model is None
        binding = [
            limits[name]
            for name in limits
            if is_tried and self._splits_with({name: _NO_LIMITS[name]}, scores)
        ]
        if binding:
            return f"the root is not split because of {' and '.join(binding)}."
        return (
            f"no split of the {n_rows} rows reduces the loss."
            f" Options that limit splits: {', '.join(limits.values())}."
        )

    def _splits_with(self, options: Mapping[str, Any], scores: slice) -> bool:
        """Whether a first tree of some scores has a split with other options."""
        fit = self.with_options({**options, "linear_tree": False})
        state = fit.plan.begin(self.data.fitted, [])
        state.boost()
        n_leaves = np.diff(state.ensemble().leaf_start)
        return bool((n_leaves[scores] > 1).any())

    @property
    def _dataset(self) -> BinnedDataset:
        """The bins of all rows of the training set."""
        return self.data.rows.binned or self.state.dataset

    @property
    def _n_earlier(self) -> int:
        """The number of rounds of ``init_model``."""
        model = self.data.init_model
        return 0 if model is None else model.trees.n_rounds

    def refitted(self, n_rounds: int, model: Any) -> Ensemble:
        """Boost a number of rounds on all rows.

        Of the callbacks, only those that are called before rounds are called again.
        """
        self.state = self.plan.begin(self.data.rows.without_zero_weights(), [])
        ensemble = loop.train(
            self.state,
            model,
            callbacks=CallbackList(self.calls).before,
            after_round=self.limit.after_round(n_rounds),
            n_rounds=n_rounds,
        ).ensemble
        self.warn_of_limit(n_rounds, has_best=False)
        return ensemble

    # --- Models -----------------------------------------------------------------------

    def model(self, trained: Trained) -> FittedModel:
        """The trained trees, with the rest of the model."""
        data, objective = self.data, self.data.settings.objective
        if callable(objective) and data.task.functions_take_dataset:
            objective = None
        if isinstance(objective, tuple):
            objective = list(objective)
        best_score = {name: dict(v) for name, v in trained.best_score.items()}
        return FittedModel(
            trained.ensemble,
            data.schema,
            objective,
            data.link,
            self._header_maker(),
            trained.best_iteration,
            best_score,
            self.history,
            data.task.classes,
            self.record,
            preset_params=data.preset_params,
            search=self.search_results
            if self.limit is NO_LIMIT
            else self.search_results | self.limit.results(),
            out_of_fold=trained.out_of_fold,
            largest_query=0 if data.rows.queries is None else data.largest_query,
        )

    @property
    def has_baseline(self) -> bool:
        """Whether models have a baseline hazard: those of Cox's objectives do.

        With ``init_score``, the risks are not those of the model alone.
        """
        return self.settings.objective in COX and self.data.rows.init_score is None

    def with_baseline(self, model: FittedModel) -> FittedModel:
        """A model of the first rounds of this fit, which is over, and its baseline."""
        if self.data.settings.objective not in COX or not self.has_baseline:
            return model
        boosting = cast("Boosting", self.state)
        rounds = boosting.finished.first(model.n_rounds - self._n_earlier)
        return replace(model, baseline=boosting.baseline(rounds))

    def _header_maker(self) -> Callable[[], Header]:
        """Makes the header. It does not hold the fit: models can outlive the rows."""
        data = self.data
        return partial(
            _header,
            data.settings,
            data.column_names,
            self._dataset.ranges(),
            data.n_scores,
            data.link,
            is_joint=bool(data.outputs),
        )

    @property
    def header(self) -> Header:
        """The content of a model file besides the trees."""
        return self._header_maker()()

    @property
    def objective(self) -> Any:
        """The name of the objective, or a function; several in a tuple."""
        return self.settings.objective

    @property
    def n_rounds(self) -> int:
        """The number of finished rounds, including those of ``init_model``."""
        return self.state.current_iteration()

    def model_so_far(self) -> FittedModel:
        """The model after the last finished round, whatever another thread trains.

        It lacks the baseline hazard, which takes longer than a prediction.
        """
        trees, settings = self.state.ensemble(), self.settings
        last_trees, last_settings, model = self._last_model
        if last_trees is not trees or last_settings is not settings:
            model = self.model(Trained(trees))
            self._last_model = trees, settings, model
        return model

    def whole_model_so_far(self) -> FittedModel:
        """The same with the baseline hazard."""
        if not self.has_baseline:
            return self.model_so_far()
        boosting = cast("Boosting", self.state)
        finished = boosting.finished
        model = self.model(Trained(boosting.ensemble_of(finished)))
        return replace(model, baseline=boosting.baseline(finished))

    # --- Changes of a model in training -----------------------------------------------

    def add_set(self, name: str, X: Dataset, *, is_listed: bool) -> EvaluationSet:
        """Add an evaluation set: see `Rounds.add`."""
        data = self.data
        named = data.evaluation_set(evaluation_set(data.training, name, X))
        added = self.plan.evaluation_set(self.state.dataset, data.fitted, named)
        self.state.add(added, is_listed=is_listed)
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
        other = self.variant(data)
        other.history = self.history
        other.state = other.plan.resume(self.state, data.fitted)
        return other

    def boost(self, function: Callable[..., Any] | None = None) -> bool:
        """Grow the trees of one round, whose objective may be a function."""

        def begin() -> None:
            if function is not None:
                self.settings.objective.function = function

        return self.state.boost(begin)

    def changes(self, params: Mapping[str, Any]) -> list[Change]:
        """What changes options of single trees, by any of their names.

        Options that keep their values may be among them.
        """
        if not isinstance(params, Mapping):
            raise TypeError(
                f"params of reset_parameter must be a dict, got {type_name(params)}."
            )
        settings = self.settings
        kept = {**vars(settings), **settings.passed, "num_class": self.n_scores}
        changes = parameters.changes(params, kept, "reset_parameter")
        data = self.data.replaced(settings=settings.changed(changes))
        return [*self.state.changes(changes), (self, "data", data)]

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
        return _custom_metrics(self.data.task, self.data.link, functions)


class FunctionOfRound:
    """The objective of a model in training, which changes from round to round."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self.function = function
        self.__name__ = "fobj"

    def __call__(self, *args: Any) -> Any:
        assert self.function is not None
        return self.function(*args)


def _custom_metrics(
    task: Task, link: Link, functions: Sequence[Callable[..., Any]]
) -> list[metrics.CustomMetric]:
    takes_dataset = task.functions_take_dataset
    kind = metrics.CustomMetricOfDataset if takes_dataset else metrics.CustomMetric
    return [kind(function, link) for function in functions]


# What metrics depend on. They do not hold the data, which may be freed before them.
_OF_METRICS = attrgetter(
    *("task", "settings", "arguments.eval_metric", "objective", "link"),
    *("outputs", "levels", "n_scores", "ranks"),
)


def _metrics(
    task: Task,
    settings: Settings,
    metric: Any,
    objective: str | Callable[..., Any],
    link: Link,
    outputs: Sequence[Output],
    levels: tuple[float, ...],
    n_scores: int,
    ranks: bool,
    stops: bool,
    is_first_decisive: bool,
) -> list[output_metrics.AnyMetric]:
    """The metrics in LightGBM's order.

    First those of fit, then the option's or else the objective's, then functions. If
    early stopping uses the first one only, it is the first that the user has passed:
    the objective's metric does not precede functions. Where metrics ``stop`` a fit,
    unknown names raise ValueError.
    """
    usual = task.default_objective
    words, functions = metric_names.chosen(
        metric, settings.metric, usual if callable(objective) else objective
    )
    by_name: Sequence[output_metrics.AnyMetric]
    if outputs:
        by_name = output_metrics.make(
            words,
            settings,
            [
                partial(output.metrics, settings, refuses_unknown=stops)
                for output in outputs
            ],
            [output.task.n_scores for output in outputs],
            joint_link([output.metric_link for output in outputs], task, levels),
        )
    else:
        # Named metrics treat raw scores of a function as those of the usual objective.
        is_usual = callable(objective) and usual is not None
        by_name = metric_names.make(
            words,
            settings,
            n_scores,
            classifies=task.n_classes is not None,
            ranks=ranks,
            link=objectives.make_link(cast(str, usual)) if is_usual else link,
            refuses_unknown=stops,
        )
    custom = _custom_metrics(task, link, functions)
    if is_first_decisive and metric_names.begins_with_function(metric, settings.metric):
        return [*custom, *by_name]
    return [*by_name, *custom]


def _header(
    settings: Settings,
    columns: Sequence[str] | None,
    ranges: Sequence[Range],
    n_scores: int,
    link: Link,
    *,
    is_joint: bool,
) -> Header:
    """The content of a model file besides the trees."""
    objective, signs = settings.objective, settings.monotone_constraints
    if columns is None:
        columns = names.default(len(ranges))
    words = ""
    if is_joint:
        objective = objectives.readable_for_lightgbm(objective, link)
    if isinstance(objective, str):
        words = objectives.text(
            objective, settings.sigmoid, settings.reg_sqrt, n_scores
        )
    return Header(
        feature_names=list(map(str, columns)),
        feature_infos=feature_infos(ranges),
        objective=words,
        monotone_constraints=[] if signs is None else [int(sign) for sign in signs],
        parameters=parameters.to_lightgbm(settings) | {"num_class": str(n_scores)},
    )


def _reason(
    n_rows: int, is_constant: bool, dataset: BinnedDataset, settings: Settings
) -> str:
    """Why there is nothing to learn from the rows; "" if there is no such reason."""
    least = settings.min_child_samples
    if n_rows < 2 * least:
        return (
            f"both sides of a split need min_child_samples={least} rows, and there are"
            f" {n_rows} rows. Set min_child_samples to a lower number."
        )
    if is_constant:
        return "all targets are equal."
    if len(dataset.feature) == 0:
        return (
            "every column is constant, or fewer than"
            f" min_child_samples={least} of its values are not 0."
        )
    return ""
