"""One fit: boosting on the data, from the first round to the model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skgoss import parameters
from skgoss.binning.rows import Rows
from skgoss.columns import names
from skgoss.dataset.dataset import Dataset
from skgoss.fit import callbacks, nothing_learned
from skgoss.fit.arguments import FitArguments, InputSet, evaluation_set, training_set
from skgoss.fit.fit_data import FitData
from skgoss.fit.outputs import Output, joint_link
from skgoss.fit.task import Task
from skgoss.model.ensemble import Ensemble
from skgoss.model.estimator_record import EstimatorRecord
from skgoss.model.file_header import Header
from skgoss.model.fitted import FittedModel
from skgoss.objectives import metrics, objective_names, output_metrics
from skgoss.objectives.link import Link
from skgoss.parameters.settings import Settings
from skgoss.training import loop
from skgoss.training.callback_api import CallbackList
from skgoss.training.evaluation import EvaluationSet, NamedRows
from skgoss.training.loop import Trained
from skgoss.utils import threads
from skgoss.utils.messages import type_name

if TYPE_CHECKING:
    from skgoss.training.fit_setup import FitSetup

# Of the number of a round and the model so far: whether the fit ends after it.
AfterRound = Callable[[int, Callable[[], FittedModel]], bool]

# Of a fit: what callbacks get as the model in training.
MakeModel = Callable[["Fit"], Any]


def checked_settings(
    options: Mapping[str, Any],
    task: Task,
    X: Any,
    arguments: FitArguments,
    passed: Collection[str] = (),
) -> Settings:
    """The checked options of a fit.

    Arguments of fit replace ``options``, and these replace the options of a `Dataset`.

    Parameters
    ----------
    options : mapping
        Values of options by name.
    task : Task
    X : object
        The training set, as the user passed it.
    arguments : FitArguments
    passed : collection of str
        The names of the options that the user has passed, for a `Dataset`: its own
        options replace the defaults of the others.
    """
    replaced = {
        name: value
        for name, value, absent in (
            ("categorical_feature", arguments.categorical_feature, "auto"),
            ("early_stopping_round", arguments.early_stopping_round, None),
            ("eval_at", arguments.eval_at, None),
        )
        if not (isinstance(value, str) and value == absent) and value is not absent
    }
    if isinstance(X, Dataset):
        verbosity = parameters.checked_options(options, ["verbosity"], task.owner)
        with callbacks.shown_reads(**verbosity):
            replaced = X._options_besides(passed) | replaced
    checked = parameters.make_settings({**options, **replaced}, task.owner)
    if isinstance(checked.objective, str):
        objective_names.canonical_name(checked.objective)
    return checked


def check_can_be_distributed(settings: Settings) -> None:
    """Check that options allow rows in several processes; ValueError otherwise."""
    refused = (
        ("linear_tree", settings.linear_tree, False),
        ("max_conflict_rate", settings.max_conflict_rate > 0, 0.0),
        ("alpha", isinstance(settings.alpha, tuple), "one level"),
    )
    for option, is_wrong, value in refused:
        if is_wrong:
            raise ValueError(
                f"{option}={getattr(settings, option)!r} cannot be used with rows that"
                f" are spread over several processes: set {option}={value}."
            )


class Fit(FitData):
    """One fit. It reads the data when it is made; `run` boosts and returns the model.

    Parameters
    ----------
    sets : list of InputSet
        The training set, then the evaluation sets. If their rows are spread over
        processes, all ranks make their fits at the same time, each with its rows, and
        all get the same model. A rank without rows passes any row as ``X``, to know the
        columns.
    arguments : FitArguments
        The arguments of ``fit``. Those that belong to rows are not used.
    settings : Settings
        The checked options.
    task : Task
    passed : mapping, default={}
        The options that the user has passed, by name: see `Dataset`.
    init_model : FittedModel, default=None
        The model that training continues from.
    record : EstimatorRecord, default=None
        What the model keeps of the estimator.
    n_threads : int, default=None
        Threads of the rounds; None: those of the option ``n_jobs``.
    searches : bool, default=True
        Whether a preset may find the number of rounds by further fits. If not, early
        stopping ends the rounds.

    Attributes
    ----------
    calls : list of callable
        The callbacks.
    plan : FitSetup
    state : Rounds
        The rounds so far.
    history : dict
        Metrics of all rounds by evaluation set and name.
    """

    def __init__(
        self,
        sets: Sequence[InputSet],
        arguments: FitArguments,
        settings: Settings,
        task: Task,
        *,
        passed: Mapping[str, Any] | None = None,
        init_model: FittedModel | None = None,
        record: EstimatorRecord | None = None,
        n_threads: int | None = None,
        searches: bool = True,
    ) -> None:
        training, *others = sets
        if training.collectives.n_ranks > 1:
            check_can_be_distributed(settings)
        super().__init__(
            training, arguments, settings, task, passed or {}, init_model, searches
        )
        self.record = record
        self.n_threads = n_threads
        self.history: dict[str, dict[str, list[float]]] = {}
        # The model that was made last, and the trees and settings that it is of.
        self._last_model: tuple[Any, Any, Any] = (None, None, None)
        with callbacks.shown_reads(settings.verbosity):
            named = self.read(others)
        self.plan = self._plan(self.rows)
        self.calls = self._callbacks()
        self._start(named, arguments)

    def _start(self, sets: list[NamedRows], arguments: FitArguments) -> None:
        """Be ready to run."""
        if arguments.groups is not None:
            raise ValueError(
                "groups needs the option folds or preset: groups of rows are in the"
                " same fold."
            )
        self._begin(sets)

    def _begin(self, sets: list[NamedRows]) -> None:
        """Put the rows into bins, and make the state of the rounds."""
        self.state = self.plan.begin(self.fitted, sets)
        if self.rows.partition is not None:
            self._forget_values()

    # --- Rounds -----------------------------------------------------------------------

    def _callbacks(self) -> list[callbacks.Callback]:
        """The user's callbacks, and those that options ask for."""
        arguments, options = self.arguments, self.settings
        calls = callbacks.of_one_fit(arguments.callbacks)
        if self._patience() > 0:
            calls.append(
                callbacks.early_stopping(
                    self._patience(),
                    options.first_metric_only,
                    verbose=options.verbosity >= 1 or arguments.early_stopping_messages,
                    min_delta=options.early_stopping_min_delta,
                )
            )
        if options.verbosity >= 1:
            calls.append(callbacks.ProgressBar())
        return calls

    def _patience(self) -> int:
        """The rounds without improvement that end the fit; 0: none do."""
        return self.settings.early_stopping_round or 0

    def _plan(self, rows: Rows) -> FitSetup:
        # A program that only predicts does not load what grows trees.
        from skgoss.training.fit_setup import FitSetup, MultiOutputSetup

        settings = self.settings
        n_threads = self.n_threads or threads.n_threads(settings.n_jobs)
        make_metrics = partial(
            _metrics,
            self.task,
            self.settings,
            self.given_objective,
            self.arguments.eval_metric,
            self.link,
            self.outputs,
            ranks=rows.queries is not None,
        )
        trees = self.init_model and self.init_model.trees
        if not self.outputs:
            return FitSetup(settings, self.n_scores, make_metrics, n_threads, trees)
        parts = [
            FitSetup(
                output.settings(settings), output.task.n_scores, list, n_threads, None
            )
            for output in self.outputs
        ]
        return MultiOutputSetup(
            settings,
            self.n_scores,
            make_metrics,
            n_threads,
            trees,
            parts,
            [output.name for output in self.outputs],
        )

    def run(
        self, make_model: MakeModel, after_round: AfterRound | None = None
    ) -> FittedModel:
        """Boost round by round.

        Parameters
        ----------
        make_model : callable
            Makes what callbacks get as the model in training, of a fit. It may hold the
            fit, so the fit does not hold it: rows are freed as soon as nobody uses
            them.
        after_round : callable, default=None
            Called by rank 0 after each round with its index and a function that returns
            the model so far. The fit ends if it returns True.
        """
        model = make_model(self)
        trained = loop.train(
            self.state,
            model,
            history=self.history,
            callbacks=self.calls,
            after_round=after_round
            and (lambda i, trees: after_round(i, lambda: self.model(Trained(trees())))),
        )
        if self.settings.refit and self.fitted is not self.rows:
            n_rounds = max(1, trained.ensemble.n_rounds - self.n_earlier)
            trained = replace(trained, ensemble=self._refitted(n_rounds, model))
        self.warn_if_nothing_learned(trained.ensemble)
        return self.model(trained)

    def warn_if_nothing_learned(self, ensemble: Ensemble) -> None:
        """Warn if no tree of the fit, or of one of its outputs, has a split.

        All ranks ask at the same time.
        """
        dataset = self.rows.binned or self.state.dataset
        n_leaves = np.diff(ensemble.leaf_start).reshape(-1, ensemble.n_scores)
        has_split = (n_leaves[self.n_earlier :] > 1).any(axis=0)
        if not has_split.any():
            nothing_learned.warn_of(self.fitted, dataset, self.settings)
            return
        first = 0
        for k, output in enumerate(self.outputs):
            stop = first + output.task.n_scores
            if not has_split[first:stop].any():
                rows = self.fitted.of_output(k, first, stop).without_missing_targets()
                nothing_learned.warn_of(rows, dataset, self.settings, output.name)
            first = stop

    @property
    def n_earlier(self) -> int:
        """The number of rounds of ``init_model``."""
        return 0 if self.init_model is None else self.init_model.trees.n_rounds

    def _refitted(self, n_rounds: int, model: Any) -> Ensemble:
        """Boost a number of rounds on all rows.

        Of the callbacks, only those that are called before rounds are called again.
        """
        self.state = self.plan.begin(self.rows.without_zero_weights(), [])
        return loop.train(
            self.state,
            model,
            callbacks=CallbackList(self.calls).before,
            n_rounds=n_rounds,
        ).ensemble

    # --- Models -----------------------------------------------------------------------

    def model(self, trained: Trained) -> FittedModel:
        """The trained trees, with all that is known beside them."""
        objective = self.settings.objective
        forgets = self.task.functions_take_dataset and callable(objective)
        if isinstance(objective, tuple):
            objective = list(objective)
        return FittedModel(
            trained.ensemble,
            self.schema,
            None if forgets else objective,
            self.link,
            self._header_maker(),
            trained.best_iteration,
            {name: dict(scores) for name, scores in trained.best_score.items()},
            self.history,
            self.task.classes,
            self.record,
            preset_params=self.preset_params,
            out_of_fold=trained.out_of_fold,
        )

    def _header_maker(self) -> Callable[[], Header]:
        """Makes the header. It does not hold the fit: models can outlive the rows."""
        return partial(
            _header,
            self.settings,
            self.column_names,
            (self.rows.binned or self.state.dataset).feature_infos(),
            self.n_scores,
            self.link,
            is_joint=bool(self.outputs),
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
        """The model after the last finished round, whatever another thread trains."""
        trees, settings = self.state.ensemble(), self.settings
        known_trees, known_settings, model = self._last_model
        if known_trees is not trees or known_settings is not settings:
            model = self.model(Trained(trees))
            self._last_model = trees, settings, model
        return model

    # --- Changes of a model in training -----------------------------------------------

    def add_set(self, name: str, X: Dataset, *, is_listed: bool) -> EvaluationSet:
        """Add an evaluation set: see `Rounds.add`."""
        named = self._evaluated(evaluation_set(self.training, name, X), self.rows)
        added = self.plan.evaluation_set(self.state.dataset, self.fitted, named)
        self.state.add(added, is_listed=is_listed)
        return added

    def on_rows(self, X: Dataset) -> Self:
        """The fit that goes on from the trees so far on other rows, in these bins."""
        if not isinstance(X, Dataset):
            raise TypeError(f"train_set must be a Dataset, got {type(X).__name__}.")
        self._check_dataset("train_set")
        other = copy.copy(self)
        class_weight = self.settings.class_weight
        other.training = training_set(X, None, self.arguments, class_weight)
        rows = other._rows(self._in_same_bins(X), other.training).without_zero_weights()
        other.rows = other.fitted = rows
        return other._going_on_from(self)

    def with_objective(self, function: Callable[..., Any]) -> Self:
        """The fit whose rounds use functions ``f(predictions, dataset)``."""
        if not callable(function):
            raise TypeError(f"fobj must be callable, got {function!r}.")
        self._check_dataset("fobj")
        if self.needs_function:
            return self
        other = copy.copy(self)
        objective = FunctionOfRound(function)
        other.link = objective_names.make_link(objective)
        other.settings = self.settings.replaced(objective=objective)
        return other._going_on_from(self)

    def boost(self, function: Callable[..., Any] | None = None) -> bool:
        """Grow the trees of one round, whose objective may be a function."""

        def begin() -> None:
            if function is not None:
                self.settings.objective.function = function

        return self.state.boost(begin)

    def _going_on_from(self, other: Fit) -> Self:
        self.plan = self._plan(self.rows)
        self.state = self.plan.resume(other.state, self.fitted)
        return self

    def reset_parameter(self, params: Mapping[str, Any]) -> None:
        """Change options of single trees, by any of their names.

        Options that keep their values may be among them.
        """
        if not isinstance(params, Mapping):
            raise TypeError(
                f"params of reset_parameter must be a dict, got {type_name(params)}."
            )
        kept = {**vars(self.settings), **self.passed, "num_class": self.n_scores}
        changes = parameters.changes(params, kept, "reset_parameter")
        self.state.reset_parameter(changes)
        self.settings = self.settings.changed(changes)

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
        words, functions = metrics.names_and_functions([feval])
        if words:
            raise TypeError(
                f"feval must be a function or a list of functions, got {feval!r}."
            )
        return _custom_metrics(self.task, functions, self.link)


class FunctionOfRound:
    """The objective of a model in training, which changes from round to round."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self.function = function
        self.__name__ = "fobj"

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def _custom_metrics(
    task: Task, functions: Sequence[Callable[..., Any]], link: Link | None
) -> list[metrics.CustomMetric]:
    takes_dataset = task.functions_take_dataset
    kind = metrics.CustomMetricOfDataset if takes_dataset else metrics.CustomMetric
    return [kind(function, link) for function in functions]


def _metrics(
    task: Task,
    settings: Settings,
    objective: str | Callable[..., Any],
    eval_metric: Any,
    link: Link | None,
    outputs: Sequence[Output],
    *,
    ranks: bool,
) -> list[metrics.Metric | metrics.CustomMetric]:
    """The metrics in LightGBM's order.

    First those of fit, then the option's or else the objective's, then functions.
    """
    option, usual = settings.metric, task.default_objective
    words, functions = metrics.names_and_functions([eval_metric, option])
    is_open = option in (None, "") or not words
    if is_open and not metrics.any_means_none(words):
        default = usual if callable(objective) else objective
        words += [] if default is None else [metrics.default_name(default)]
    if outputs:
        levels = () if link is None else link.levels
        by_name = output_metrics.make(
            words,
            settings,
            [output.of_metrics(settings) for output in outputs],
            joint_link([output.metric_link for output in outputs], task, levels),
        )
        return [*by_name, *_custom_metrics(task, functions, link)]
    # Named metrics treat raw scores of a function as those of the usual objective.
    is_function = callable(objective) and usual is not None
    by_name = metrics.make(
        words,
        settings,
        task.n_scores,
        classifies=task.n_classes is not None,
        ranks=ranks,
        link=objective_names.make_link(usual) if is_function else link,
    )
    return [*by_name, *_custom_metrics(task, functions, link)]


def _header(
    settings: Settings,
    columns: Sequence[str] | None,
    feature_infos: list[str],
    n_scores: int,
    link: Link,
    *,
    is_joint: bool,
) -> Header:
    """The content of a model file besides the trees."""
    objective, signs = settings.objective, settings.monotone_constraints
    if columns is None:
        columns = names.default(len(feature_infos))
    words = ""
    if is_joint:
        objective = objective_names.readable_for_lightgbm(objective, link)
    if isinstance(objective, str):
        words = objective_names.text(
            objective, settings.sigmoid, settings.reg_sqrt, n_scores
        )
    return Header(
        feature_names=list(map(str, columns)),
        feature_infos=feature_infos,
        objective=words,
        monotone_constraints=[] if signs is None else [int(sign) for sign in signs],
        parameters=parameters.to_lightgbm(settings) | {"num_class": str(n_scores)},
    )
