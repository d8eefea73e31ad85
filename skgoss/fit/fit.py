"""One fit: from data, settings and a task to a fitted model."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from skgoss import parameters
from skgoss.data import categories, frames, merged_schema, names, targets
from skgoss.data.columns import Columns
from skgoss.data.dataset import BinnedDataset
from skgoss.data.row_partition import Parts
from skgoss.data.rows import Rows, check_init_score, held_out
from skgoss.data.schema import ColumnSchema
from skgoss.dataset import binning
from skgoss.dataset.binning import Prepared
from skgoss.dataset.dataset import Dataset
from skgoss.fit import callbacks
from skgoss.fit.arguments import (
    FitArguments,
    GivenSet,
    evaluation_set,
    evaluation_sets,
    training_set,
)
from skgoss.fit.task import Task
from skgoss.model import lightgbm_file, objective_names
from skgoss.model.estimator_record import EstimatorRecord
from skgoss.model.file_header import Header
from skgoss.model.fitted import FittedModel
from skgoss.model.link import Link
from skgoss.parameters.settings import Settings
from skgoss.training import constraints, loop, metrics
from skgoss.training.callback_api import CallbackList
from skgoss.training.evaluation import EvaluationSet, NamedRows
from skgoss.training.fit_setup import FitSetup
from skgoss.training.loop import Trained
from skgoss.training.user_functions import OfDataset
from skgoss.utils import compat

# Of the number of a round and the model so far: whether the fit ends after it.
AfterRound = Callable[[int, Callable[[], FittedModel]], bool]


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
    chosen = {
        name: value
        for name, value, absent in (
            ("categorical_feature", arguments.categorical_feature, "auto"),
            ("early_stopping_round", arguments.early_stopping_rounds, None),
            ("eval_at", arguments.eval_at, None),
        )
        if not (isinstance(value, str) and value == absent) and value is not absent
    }
    if isinstance(X, Dataset):
        chosen = X._options_besides(passed) | chosen
    checked = parameters.make_settings({**options, **chosen}, task.owner)
    if isinstance(checked.objective, str):
        objective_names.canonical_name(checked.objective)
    return checked


def check_can_be_distributed(settings: Settings) -> None:
    """Check that options allow rows in several processes; ValueError otherwise."""
    refused = (
        ("linear_tree", settings.linear_tree, False),
        ("max_conflict_rate", settings.max_conflict_rate > 0, 0.0),
    )
    for option, is_wrong, value in refused:
        if is_wrong:
            raise ValueError(
                f"{option}={getattr(settings, option)!r} cannot be used with rows that"
                f" are spread over several processes: set {option}={value}."
            )


class Fit:
    """One fit. It reads the data when it is made; `run` boosts and returns the model.

    Parameters
    ----------
    X, y : object
        The training set, as the user passed it.
    arguments : FitArguments
        The other arguments of ``fit``.
    settings : Settings
        The checked options. When the data have been read, columns are given by number
        and the objective by its canonical name.
    task : Task
    passed : mapping, default={}
        The options that the user has passed, by name: see `Dataset`.
    init_model : FittedModel, default=None
        The model that training continues from.
    record : EstimatorRecord, default=None
        What the model keeps of the estimator.
    n_threads : int, default=None
        Threads of the rounds; None: those of the option ``n_jobs``.
    parts : Parts, default=None
        The parts of the data that ``X`` and ``y`` are; None: all. Then all ranks make
        their fits at the same time, each with its rows, and all get the same model. A
        rank without rows passes any row as ``X``, to know the columns. The parts of
        evaluation sets are in ``arguments``.

    Attributes
    ----------
    schema : ColumnSchema
        The columns of the training set.
    rows : Rows
        The rows of the training set whose weight is not 0.
    fitted : Rows
        Those to learn from: without the rows that are held out for early stopping.
    plan : FitSetup
    state : Boosting
        The rounds so far.
    history : dict
        Metrics of all rounds by evaluation set and name.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        arguments: FitArguments,
        settings: Settings,
        task: Task,
        *,
        passed: Mapping[str, Any] | None = None,
        init_model: FittedModel | None = None,
        record: EstimatorRecord | None = None,
        n_threads: int | None = None,
        parts: Parts | None = None,
    ) -> None:
        if parts is not None and parts.collectives.n_ranks > 1:
            check_can_be_distributed(settings)
        self.arguments = arguments
        self.settings = settings
        self.task = task.going_on(init_model)
        self.passed = passed or {}
        self.init_model = init_model
        self.record = record
        self.n_threads = n_threads
        self.training = training_set(X, y, arguments, settings.class_weight, parts)
        self.history: dict[str, dict[str, list[float]]] = {}
        self._last_model: FittedModel | None = None
        self._start(self._read())

    def _start(self, sets: list[NamedRows]) -> None:
        """Put the rows into bins, and make the state of the rounds."""
        self.calls = self._callbacks(evaluates=bool(sets))
        self.plan = self._plan(self.rows)
        self.state = self.plan.begin(self.fitted, sets)
        if self.rows.partition is not None:
            self._forget_values()

    # --- Data -------------------------------------------------------------------------

    def _read(self) -> list[NamedRows]:
        """Read the training set, and return the evaluation sets."""
        given_sets = evaluation_sets(self.arguments, self.training)
        prepared = self._training_columns()
        self._number_columns()
        rows = self._rows(prepared, self.training).without_zero_weights()
        self._set_objective()
        sets = [self._evaluated(given_set, rows) for given_set in given_sets]
        self.rows = rows
        self.fitted, sets = self._with_held_out(rows, sets)
        return sets

    def _training_columns(self) -> Prepared:
        """Read the training columns, their names and categories."""
        X, schema = self.training.X, self._init_schema()
        self.names = names.given(self.arguments.feature_name)
        if isinstance(X, Dataset):
            prepared = self._prepared(X, schema)
            if self.names is None:
                self.names = X._names
        else:
            prepared = self._columns(X, schema)
        self.schema, self.root = schema or prepared.schema, prepared.root
        if self.init_model is not None:
            self.names = self.names or self.init_model.feature_names
            categories.check_same(
                names.numbered(self.settings.categorical_feature, self.names),
                self.schema.categories,
                self.column_names,
                self.schema.n_features,
                "init_model",
            )
        return prepared

    def _init_schema(self) -> ColumnSchema | None:
        """The columns of the model that training continues from; None without one."""
        if self.init_model is None:
            return None
        if self.init_model.is_foreign:
            X = self.training.X
            self.init_model = lightgbm_file.encoded(
                self.init_model,
                X.get_data() if isinstance(X, Dataset) else X,
                self.task.owner,
                self.training.collectives,
            )
        return self.init_model.schema

    def _columns(self, X: Any, schema: ColumnSchema | None) -> Prepared:
        """Read the training columns of data that are not a `Dataset`."""
        columns, read = binning.read(
            X, self.names, self.settings.categorical_feature, schema, self.task.owner
        )
        if self.training.is_empty:
            columns = Columns.of_no_rows(columns.n_features)
        if self.training.parts is not None:
            columns, read = merged_schema.merged(
                columns, read, self.training.parts, learned=schema is None
            )
        return Prepared(columns, schema=read)

    def _prepared(
        self, X: Dataset, schema: ColumnSchema | None, root: BinnedDataset | None = None
    ) -> Prepared:
        """The rows of a `Dataset` in bins: new ones, or those of the training set."""
        needs = {
            "linear_tree": self.settings.linear_tree,
            "init_model": self.init_model is not None,
        }
        return X._prepare(
            self.settings,
            self.passed,
            compat.n_threads(self.settings.n_jobs),
            schema,
            " and ".join(name for name in needs if needs[name]),
            root,
        )

    @property
    def column_names(self) -> Sequence[str] | None:
        """The names of the columns: ``feature_name`` of fit, else those in ``X``."""
        return self.schema.feature_names if self.names is None else self.names

    def _rows(self, prepared: Prepared, given: GivenSet) -> Rows:
        """Columns with the target, weight, query and start scores of each row."""
        given = given.agreed()
        prefix, parts, owner = given.prefix, given.parts, self.task.owner
        partition = parts and parts.partition()
        y = targets.one_column(given.y, prepared.n_rows, owner, given.target_name)
        if given is self.training or given.is_training:
            self.task = self.task.of(y, parts)
        task = self.task
        target = task.encode(y, given)
        weight = task.weights(
            given.sample_weight, target, given.class_weight, prefix, partition
        )
        targets.check_sum(target, weight, given.target_name, given.collectives)
        init_score = given.init_score
        if init_score is not None:
            init_score = check_init_score(
                init_score, len(y), task.n_scores, f"{prefix}init_score"
            )
        return Rows(
            prepared.columns,
            target,
            weight,
            task.queries(len(y), given.group, given.qid, prefix, parts),
            init_score,
            prepared.numbers,
            prepared.binned,
            given.X if task.functions_take_dataset else None,
            partition,
        )

    def _number_columns(self) -> None:
        """Replace names of columns in the options by their numbers."""
        self.settings = constraints.resolve_columns(
            self.settings,
            self.schema.n_features,
            self.schema.categories.vocabularies,
            self.column_names,
        )

    def _set_objective(self) -> None:
        """Set the objective and the link, and the objective's canonical name."""
        task, options = self.task, self.settings
        # An alias may have a metric of its own.
        self.given_objective = options.objective or task.default_objective
        objective = self.given_objective
        if objective is None:
            raise ValueError(
                f"The 'objective' parameter of {task.owner} must be"
                " given. LGBMClassifier and LGBMRegressor choose one."
            )
        if not callable(objective):
            objective = objective_names.canonical_name(objective)
            task.check_objective(objective)
        self.link: Link = objective_names.make_link(
            objective, options.sigmoid, options.reg_sqrt
        )
        self.settings = dataclasses.replace(options, objective=objective)

    def _evaluated(self, given: GivenSet, rows: Rows) -> NamedRows:
        """The rows of an evaluation set, which may be those of the training set."""
        if not given.holds_same_rows(self.training):
            prepared = (
                Prepared(Columns.of_no_rows(self.schema.n_features))
                if given.is_empty
                else self._evaluated_columns(given.X, given.name)
            )
            rows = self._rows(prepared, given).without_zero_weights()
        data = given.X if rows.partition is None else None
        return NamedRows(given.name, rows, given.is_training, data)

    def _evaluated_columns(self, X: Any, name: str) -> Prepared:
        """The columns of an evaluation set, and their bins if they are known."""
        if not isinstance(X, Dataset):
            return Prepared(frames.columns(X, self.schema, owner=self.task.owner))
        if not isinstance(self.training.X, Dataset):
            return self._evaluated_columns(X.get_data(), name)
        try:
            return self._in_same_bins(X)
        except ValueError as error:
            raise ValueError(f"The evaluation set {name!r}: {error}") from error

    def _in_same_bins(self, X: Dataset) -> Prepared:
        """The columns of a data set in the bins of the training set.

        If it does not fit, it keeps the reference that it had.
        """
        before = dict(vars(X))
        try:
            if X._root is not self.training.X._root:
                X.set_reference(self.training.X)
            return self._prepared(X, self.schema, self.root)
        except BaseException:
            vars(X).update(before)
            raise

    def _with_held_out(
        self, rows: Rows, sets: list[NamedRows]
    ) -> tuple[Rows, list[NamedRows]]:
        """Hold rows out if early stopping needs an evaluation set and there is none.

        Returns the rows to learn from and the evaluation sets.
        """
        options = self.settings
        if sets or (options.early_stopping_round or 0) <= 0:
            return rows, sets
        if options.boosting_type == "dart":
            return rows, sets
        chosen = held_out(
            rows,
            options.validation_fraction,
            options.random_state,
            stratify=self.task.n_classes is not None,
        )
        validation = rows.take(np.flatnonzero(chosen))
        fitted = rows.take(np.flatnonzero(~chosen))
        return fitted, [NamedRows("validation", validation)]

    def _forget_values(self) -> None:
        """Free the values of the rows: a rank keeps only the bins of its rows."""
        self.training = self.training.without_values()
        self.arguments = self.arguments.without_values()
        if self.fitted is self.rows or not self.settings.refit:
            self.rows = self.rows.without_values()
        self.fitted = self.fitted.without_values()

    # --- Rounds -----------------------------------------------------------------------

    def _callbacks(self, *, evaluates: bool) -> list[callbacks.Callback]:
        """The user's callbacks, and those that options ask for."""
        given, options = self.arguments, self.settings
        calls = [] if given.callbacks is None else callbacks.checked(given.callbacks)
        patience = options.early_stopping_round or 0
        if patience > 0:
            calls.append(
                callbacks.early_stopping(
                    patience,
                    options.first_metric_only,
                    verbose=options.verbosity >= 1 or given.verbose > 0,
                    min_delta=options.early_stopping_min_delta,
                )
            )
        if options.verbosity >= 1:
            calls.append(callbacks.ProgressBar())
        if given.verbose > 0 and evaluates:
            calls.append(callbacks.log_evaluation(int(given.verbose)))
        return calls

    def _plan(self, rows: Rows) -> FitSetup:
        settings = self.settings
        if callable(settings.objective) and rows.source is not None:
            bound = OfDataset(settings.objective, rows.source)
            settings = dataclasses.replace(settings, objective=bound)
        return FitSetup(
            settings,
            self.task.n_scores,
            partial(
                _metrics,
                self.task,
                self.settings,
                self.given_objective,
                self.arguments.eval_metric,
                self.link,
                ranks=rows.queries is not None,
            ),
            self.n_threads or compat.n_threads(settings.n_jobs),
            self.init_model and self.init_model.trees,
        )

    def run(self, model: Any, after_round: AfterRound | None = None) -> FittedModel:
        """Boost round by round.

        Parameters
        ----------
        model : object
            What callbacks get as the model in training. It may hold this fit, so the
            fit does not hold it: rows are freed as soon as nobody uses them.
        after_round : callable, default=None
            Called by rank 0 after each round with its index and a function that returns
            the model so far. The fit ends if it returns True.

        Returns
        -------
        FittedModel
        """
        trained = loop.train(
            self.state,
            model,
            history=self.history,
            callbacks=self.calls,
            after_round=after_round
            and (lambda i, trees: after_round(i, lambda: self.model(Trained(trees())))),
        )
        if self.settings.refit and self.fitted is not self.rows:
            trained = self._refitted(trained, model)
        return self.model(trained)

    def _refitted(self, trained: Trained, model: Any) -> Trained:
        """Boost the best number of rounds on all rows.

        Of the callbacks, only those that are called before rounds are called again.
        """
        n_earlier = 0 if self.init_model is None else self.init_model.trees.n_rounds
        self.state = self.plan.begin(self.rows, [])
        again = loop.train(
            self.state,
            model,
            callbacks=CallbackList(self.calls).before,
            n_rounds=max(1, trained.ensemble.n_rounds - n_earlier),
        )
        return dataclasses.replace(trained, ensemble=again.ensemble)

    def model(self, trained: Trained) -> FittedModel:
        """The trained trees, with all that is known beside them."""
        objective = self.settings.objective
        forgets = self.task.functions_take_dataset and callable(objective)
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
        )

    def _header_maker(self) -> Callable[[], Header]:
        """Makes the header. It does not hold the fit: models can outlive the rows."""
        return partial(
            _header,
            self.settings,
            self.column_names,
            self.state.dataset.feature_infos(),
            self.task.n_scores,
        )

    def header(self) -> Header:
        """The content of a model file besides the trees."""
        return self._header_maker()()

    @property
    def n_rounds(self) -> int:
        """The number of finished rounds, including those of ``init_model``."""
        return self.state.current_iteration()

    def model_so_far(self) -> FittedModel:
        """The model after the last finished round, whatever another thread trains."""
        trees, model = self.state.ensemble(), self._last_model
        if model is None or model.trees is not trees:
            self._last_model = model = self.model(Trained(trees))
        return model

    # --- Changes of a model in training -----------------------------------------------

    def add_set(self, name: str, X: Dataset, *, is_listed: bool) -> EvaluationSet:
        """Add an evaluation set: see `Boosting.add`."""
        given = evaluation_set(self.training, name, X)
        named = self._evaluated(given, self.rows)
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
        """The fit whose next round uses a function ``f(predictions, dataset)``."""
        if not callable(function):
            raise TypeError(f"fobj must be callable, got {function!r}.")
        self._check_dataset("fobj")
        if self.needs_function:
            self.settings.objective.function = function
            return self
        other = copy.copy(self)
        objective = FunctionOfRound(function)
        other.link = objective_names.make_link(objective)
        other.settings = dataclasses.replace(self.settings, objective=objective)
        return other._going_on_from(self)

    def _going_on_from(self, other: Fit) -> Self:
        self.plan = self._plan(self.rows)
        self.state = self.plan.resume(other.state, self.fitted)
        self._last_model = None
        return self

    def reset_parameter(self, params: Mapping[str, Any]) -> None:
        """Change options of single trees, by any of their names."""
        self.state.reset_parameter(params)
        self.settings, self._last_model = self.settings.changed(params), None

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
        """The metrics that functions compute.

        Parameters
        ----------
        feval : callable, list of callable, or None
        """
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
) -> Header:
    """The content of a model file besides the trees."""
    objective, signs = settings.objective, settings.monotone_constraints
    if columns is None:
        columns = names.default(len(feature_infos))
    words = ""
    if not callable(objective):
        words = objective_names.text(
            objective, settings.sigmoid, settings.reg_sqrt, n_scores
        )
    return Header(
        feature_names=list(map(str, columns)),
        feature_infos=feature_infos,
        objective=words,
        monotone_constraints=[] if signs is None else [int(sign) for sign in signs],
        parameters=parameters.to_lightgbm(settings),
    )
