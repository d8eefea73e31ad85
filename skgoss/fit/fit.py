"""What fit does: read the data, boost round by round, keep the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from skgoss.booster.booster import Booster
from skgoss.data import categories, frames, merged_schema, names, targets
from skgoss.data.columns import Columns
from skgoss.data.row_partition import Parts
from skgoss.data.rows import Rows, held_out, start_scores
from skgoss.dataset import binning as dataset_bins
from skgoss.dataset.binning import Prepared
from skgoss.dataset.dataset import Dataset
from skgoss.estimators import state as persistence
from skgoss.fit import callbacks
from skgoss.fit.arguments import (
    FitArguments,
    GivenSet,
    evaluation_set,
    evaluation_sets,
    training_set,
)
from skgoss.model import objective_names
from skgoss.model.estimator_record import Origin
from skgoss.model.file_header import Header
from skgoss.model.link import Link
from skgoss.parameters import settings as parameters
from skgoss.training import constraints, loop, metrics
from skgoss.training.callback_api import CallbackList
from skgoss.training.distributed_callbacks import AfterRound
from skgoss.training.evaluation import EvaluationSet, NamedRows
from skgoss.training.fit_setup import FitSetup
from skgoss.training.loop import Trained
from skgoss.training.user_functions import OfDataset
from skgoss.utils import compat

if TYPE_CHECKING:
    from skgoss.estimators.base import LGBMModel

# The estimators that are being fitted, by their ids.
_FITS: dict[int, object] = {}


def fit(
    estimator: LGBMModel,
    X: Any,
    y: Any,
    given: FitArguments,
    parts: Parts | None = None,
) -> Booster:
    """Fit an estimator.

    Parameters
    ----------
    estimator : LGBMModel
        It gets the attributes of a fitted one. If anything fails, it is not changed.
    X, y : object
        The training set, as the user passed it.
    given : FitArguments
    parts : Parts, default=None
        The parts of the data that ``X`` and ``y`` are; None: all. Then all processes
        call this at the same time, each with its rows, and all get the same model. A
        process without rows passes any row as ``X``, to know the columns. The parts of
        evaluation sets are in ``given``.

    Returns
    -------
    Booster
        The model in training, which can go on.
    """
    with _only_fit(estimator):
        chosen = settings(estimator, X, given)
        hooks = compat.round_hooks(
            estimator, chosen.n_estimators, X=X, y=y, metadata=given.metadata
        )
        with _unchanged_on_failure(estimator):
            started = Fit(estimator, X, y, given, chosen, parts=parts)
            started.start()
            # Values that only this fit holds are freed: the bins are enough.
            del X, y, given
            booster = Booster._in_training(started)
            started.run(booster, hooks)
    return booster


def start(
    estimator: LGBMModel,
    X: Any,
    y: Any,
    given: FitArguments,
    *,
    n_threads: int | None = None,
    parts: Parts | None = None,
) -> Fit:
    """Start a fit, without a round: see `fit` and `Fit`."""
    with _only_fit(estimator):
        chosen = settings(estimator, X, given)
        with _unchanged_on_failure(estimator):
            started = Fit(estimator, X, y, given, chosen, n_threads, parts)
            started.start()
    return started


@contextmanager
def _only_fit(estimator: BaseEstimator) -> Iterator[None]:
    """Refuse to fit an estimator that is being fitted."""
    this_fit = object()
    if _FITS.setdefault(id(estimator), this_fit) is not this_fit:
        raise RuntimeError(
            f"This {type(estimator).__name__} is already being fitted: objectives,"
            " metrics, callbacks and other threads must not fit it at the same time."
            " Fit a clone of it instead."
        )
    try:
        yield
    finally:
        del _FITS[id(estimator)]


@contextmanager
def _unchanged_on_failure(changed: object) -> Iterator[None]:
    """Put all attributes back when the block fails."""
    before = dict(vars(changed))
    try:
        yield
    except BaseException:
        vars(changed).clear()
        vars(changed).update(before)
        raise


def settings(estimator: LGBMModel, X: Any, given: FitArguments) -> parameters.Settings:
    """The checked options.

    Arguments of fit replace those of the constructor, and these replace the options of
    a `Dataset`.
    """
    chosen = {
        name: value
        for name, value, absent in (
            ("categorical_feature", given.categorical_feature, "auto"),
            ("early_stopping_round", given.early_stopping_rounds, None),
            ("eval_at", given.eval_at, None),
        )
        if not (isinstance(value, str) and value == absent) and value is not absent
    }
    if isinstance(X, Dataset):
        chosen = X._options_besides(estimator._given_parameters()) | chosen
    of_estimator = {
        option.name: getattr(estimator, option.name) for option in parameters.OPTIONS
    }
    checked = parameters.settings(of_estimator | chosen, estimator._owner)
    if isinstance(checked.objective, str):
        objective_names.canonical_name(checked.objective)
    return checked


class Fit:
    """One fit of an estimator.

    Parameters
    ----------
    estimator : LGBMModel
    X, y : object
        The training set, as the user passed it.
    given : FitArguments
    settings : Settings
        The checked options. When the data have been read, columns are given by number
        and the objective by its canonical name.
    n_threads : int, default=None
        Threads of the rounds; None: those of the option ``n_jobs``.
    parts : Parts, default=None
        The parts of the data that ``X`` and ``y`` are; None: all.

    Attributes
    ----------
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
        estimator: LGBMModel,
        X: Any,
        y: Any,
        given: FitArguments,
        settings: parameters.Settings,
        n_threads: int | None = None,
        parts: Parts | None = None,
    ) -> None:
        if parts is not None and parts.collectives.n_ranks > 1:
            check_can_be_spread(settings)
        self.estimator = estimator
        self.n_threads = n_threads
        self.given = given
        self.settings = settings
        self.training = training_set(X, y, given, estimator.class_weight, parts)
        self.history: dict[str, dict[str, list[float]]] = {}

    def start(self) -> None:
        """Read the data, and make the model in training."""
        sets = self.read()
        self.calls = self._callbacks(evaluates=bool(sets))
        self.plan = self._plan(self.rows)
        self.state = self.plan.begin(self.fitted, sets)
        if self.rows.partition is not None:
            self._forget_values()

    def read(self) -> list[NamedRows]:
        """Read the training set, and return the evaluation sets."""
        given_sets = evaluation_sets(self.given, self.training)
        self.earlier = self.estimator._earlier_model(self.given.init_model)
        # A copy that a callback makes while rounds run does not hold the former model.
        vars(self.estimator).pop("_booster", None)
        vars(self.estimator).pop("_is_foreign", None)
        prepared = self._training_columns()
        self._number_columns()
        known = self.earlier and self.earlier._origin
        learns = known is None or known.classes is None
        rows = self._rows(prepared, self.training, learns=learns).existing()
        self._set_objective()
        sets = [self._evaluated(given_set, rows) for given_set in given_sets]
        self.rows = rows
        self.fitted, sets = self._with_held_out(rows, sets)
        return sets

    def _forget_values(self) -> None:
        """Free the values of the rows: of these, processes keep the bins only."""
        self.training = self.training.without_values()
        self.given = self.given.without_values()
        if self.fitted is self.rows or not self.settings.refit:
            self.rows = self.rows.without_values()
        self.fitted = self.fitted.without_values()

    def add_set(self, name: str, X: Dataset, *, is_listed: bool) -> EvaluationSet:
        """Add an evaluation set: see `Boosting.add`."""
        given = evaluation_set(self.training, name, X)
        named = self._evaluated(given, self.rows)
        added = self.plan.evaluation_set(self.state.dataset, self.fitted, named)
        self.state.add(added, is_listed=is_listed)
        return added

    def replace_rows(self, X: Dataset) -> None:
        """Go on from the trees so far on other rows, in the same bins."""
        if not isinstance(X, Dataset):
            raise TypeError(f"train_set must be a Dataset, got {type(X).__name__}.")
        self._check_dataset("train_set")
        given = training_set(X, None, self.given, self.estimator.class_weight)
        rows = self._rows(self._in_same_bins(X), given).existing()
        self._go_on(self._plan(rows), rows)
        self.training, self.rows, self.fitted = given, rows, rows

    def replace_objective(self, function: Callable[..., Any]) -> None:
        """Use a function ``f(predictions, dataset)`` in the next round."""
        if not callable(function):
            raise TypeError(f"fobj must be callable, got {function!r}.")
        self._check_dataset("fobj")
        if self.needs_function:
            self.settings.objective.function = function
            return
        objective = FunctionOfRound(function)
        with _unchanged_on_failure(self):
            self.link = objective_names.make_link(objective)
            self.settings = dataclasses.replace(self.settings, objective=objective)
            self._go_on(self._plan(self.rows), self.fitted)

    def reset_parameter(self, params: Mapping[str, Any]) -> None:
        """Change options of single trees, by any of their names."""
        self.state.reset_parameter(params)
        self.settings = self.settings.changed(params)

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

    def _go_on(self, plan: FitSetup, rows: Rows) -> None:
        self.state = plan.resume(self.state, rows)
        self.plan = plan

    def run(self, booster: Booster, hooks: compat.RoundHooks | compat.NoHooks) -> None:
        """Boost round by round, and keep the result.

        Callbacks get ``booster``, the model in training. It holds this fit, so the fit
        does not hold it: rows are freed as soon as nobody uses them.
        """
        if self.state.partition.collectives.rank > 0:
            hooks = compat.NoHooks()
        hooks.begin()
        listens = isinstance(hooks, compat.RoundHooks)
        trained = loop.train(
            self.state,
            booster,
            history=self.history,
            callbacks=self.calls,
            after_round=self._after_round(hooks) if listens else None,
        )
        if self.settings.refit and self.fitted is not self.rows:
            trained = self._refitted(trained, booster)
        self.estimator._booster = self.model(trained)
        self.estimator._history = self.history
        hooks.end()

    def _after_round(self, hooks: compat.RoundHooks) -> AfterRound:
        return lambda index, ensemble: hooks.after_round(
            index, lambda: {"_booster": self.model(Trained(ensemble()))}
        )

    def _refitted(self, trained: Trained, booster: Booster) -> Trained:
        """Boost the best number of rounds on all rows.

        Of the callbacks, only those that are called before rounds are called again.
        """
        n_earlier = 0 if self.earlier is None else self.earlier.current_iteration()
        self.state = self.plan.begin(self.rows, [])
        again = loop.train(
            self.state,
            booster,
            callbacks=CallbackList(self.calls).before,
            n_rounds=max(1, trained.ensemble.n_rounds - n_earlier),
        )
        return dataclasses.replace(trained, ensemble=again.ensemble)

    def _training_columns(self) -> Prepared:
        """Read the training columns, and set their names and categories."""
        estimator, X = self.estimator, self.training.X
        if self.earlier is not None:
            self._inherit()
        self.names = names.given(self.given.feature_name)
        if isinstance(X, Dataset):
            prepared = self._binned_columns(X)
        else:
            columns = dataset_bins.read(
                estimator,
                X,
                self.names,
                self.settings.categorical_feature,
                learn=self.earlier is None,
            )
            if self.training.is_empty:
                columns = Columns.of_no_rows(columns.n_features)
            if self.training.parts is not None:
                columns = merged_schema.agreed(
                    estimator,
                    columns,
                    self.training.parts,
                    learn=self.earlier is None,
                )
            prepared = Prepared(columns)
        if self.earlier is not None:
            self.names = self.names or self.earlier.feature_name()
            categories.check_same(
                names.numbered(self.settings.categorical_feature, self.names),
                estimator._categories,
                self._names,
                estimator.n_features_in_,
                "init_model",
            )
        return prepared

    def _binned_columns(self, X: Dataset) -> Prepared:
        """The columns of a `Dataset`, and their bins."""
        prepared = self._prepared(X)
        if self.earlier is None:
            dataset_bins.take_columns(self.estimator, prepared.memory)
        if self.names is None:
            self.names = X._names
        return prepared

    def _prepared(self, X: Dataset) -> Prepared:
        """The rows of a `Dataset` in the bins of the training set."""
        needs = {
            "linear_tree": self.settings.linear_tree,
            "init_model": self.earlier is not None,
        }
        return X._prepare(
            self.settings,
            self.estimator._given_parameters(),
            compat.n_threads(self.settings.n_jobs),
            None if self.earlier is None else self.estimator,
            needs_values_for=" and ".join(name for name in needs if needs[name]),
        )

    def _inherit(self) -> None:
        """Replace names and categories of columns, and classes, by those of a model."""
        estimator, X = self.estimator, self.training.X
        if not self.earlier._is_foreign:
            persistence.inherit(estimator, self.earlier)
            return
        from skgoss.model import lightgbm_file

        X = X.get_data() if isinstance(X, Dataset) else X
        self.earlier = lightgbm_file.numbered(
            self.earlier, X, self.training.collectives
        )
        persistence.inherit(estimator, self.earlier)
        compat.take_feature_names(estimator, X)

    @property
    def _names(self) -> Sequence[str] | None:
        """The names of the columns: ``feature_name`` of fit, else those in ``X``."""
        if self.names is not None:
            return self.names
        return getattr(self.estimator, "feature_names_in_", None)

    def _rows(
        self, prepared: Prepared, given: GivenSet, *, learns: bool = False
    ) -> Rows:
        """Columns with the target, weight, query and start scores of each row.

        If ``learns``, the classes are set from ``y``.
        """
        given = given.agreed()
        estimator, prefix, parts = self.estimator, given.prefix, given.parts
        partition = parts and parts.partition()
        owner = estimator._owner
        y = targets.one_column(given.y, prepared.n_rows, owner, given.target_name)
        if learns:
            estimator._learn_target(y, parts)
        target = estimator._encoded(y, given)
        weight = estimator._weights(
            given.sample_weight, target, given.class_weight, prefix, partition
        )
        targets.check_sum(target, weight, given.target_name, given.collectives)
        init_score = given.init_score
        if init_score is not None:
            init_score = start_scores(
                init_score, len(y), estimator._n_scores, f"{prefix}init_score"
            )
        row_queries = estimator._queries(len(y), given.group, given.qid, prefix, parts)
        return Rows(
            prepared.columns,
            target,
            weight,
            row_queries,
            init_score,
            prepared.numbers,
            prepared.binned,
            given.X if estimator._functions_take_dataset else None,
            partition,
        )

    def _number_columns(self) -> None:
        """Replace names of columns in the options by their numbers."""
        self.settings = constraints.resolve_columns(
            self.settings,
            self.estimator.n_features_in_,
            self.estimator._categories.vocabularies,
            self._names,
        )

    def _set_objective(self) -> None:
        """Set the objective and the link, and the objective's canonical name."""
        estimator, options = self.estimator, self.settings
        objective = options.objective or estimator._default_objective()
        if objective is None:
            raise ValueError(
                f"The 'objective' parameter of {estimator._owner} must be"
                " given. LGBMClassifier and LGBMRegressor choose one."
            )
        if not callable(objective):
            objective = objective_names.canonical_name(objective)
            estimator._check_objective(objective)
        self.link = objective_names.make_link(
            objective, options.sigmoid, options.reg_sqrt
        )
        self.settings = dataclasses.replace(options, objective=objective)

    def _evaluated(self, given: GivenSet, rows: Rows) -> NamedRows:
        """The rows of an evaluation set, which may be those of the training set."""
        if not given.holds_same_rows(self.training):
            prepared = (
                Prepared(Columns.of_no_rows(self.estimator.n_features_in_))
                if given.is_empty
                else self._evaluated_columns(given.X, given.name)
            )
            rows = self._rows(prepared, given).existing()
        data = given.X if rows.partition is None else None
        return NamedRows(given.name, rows, given.is_training, data)

    def _evaluated_columns(self, X: Any, name: str) -> Prepared:
        """The columns of an evaluation set, and their bins if they are known."""
        if not isinstance(X, Dataset):
            columns = frames.columns(self.estimator, X, reset=False)
            return Prepared(columns)
        if not isinstance(self.training.X, Dataset):
            return self._evaluated_columns(X.get_data(), name)
        try:
            return self._in_same_bins(X)
        except ValueError as error:
            raise ValueError(f"The evaluation set {name!r}: {error}") from error

    def _in_same_bins(self, X: Dataset) -> Prepared:
        """The columns of a data set in the bins of the training set."""
        if X._root is not self.training.X._root:
            X.set_reference(self.training.X)
        return self._prepared(X)

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
            stratify=self.estimator._n_classes is not None,
        )
        validation = rows.take(np.flatnonzero(chosen))
        fitted = rows.take(np.flatnonzero(~chosen))
        return fitted, [NamedRows("validation", validation)]

    def _callbacks(self, *, evaluates: bool) -> list[callbacks.Callback]:
        """The user's callbacks, and those that options ask for."""
        given, options = self.given, self.settings
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
            self.estimator._n_scores,
            partial(
                _metrics,
                self.estimator,
                self.settings,
                self.given.eval_metric,
                self.link,
                rows.queries is not None,
            ),
            self.n_threads or compat.n_threads(settings.n_jobs),
            self.earlier and self.earlier._ensemble,
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
        return _custom_metrics(self.estimator, functions, self.link)

    def model(self, trained: Trained) -> Booster:
        """The trained trees, with what is known of the columns."""
        return Booster._of(
            trained.ensemble,
            self.header_maker(),
            self.estimator._categories,
            self.objective,
            self.link,
            trained.best_iteration,
            trained.best_score,
            Origin.of(self.estimator, self.history),
        )

    @property
    def objective(self) -> str | Callable[..., Any] | None:
        """The objective that models keep."""
        objective = self.settings.objective
        forgets = self.estimator._functions_take_dataset and callable(objective)
        return None if forgets else objective

    def header(self) -> Header:
        """The content of a model file besides the trees."""
        return self.header_maker()()

    def header_maker(self) -> Callable[[], Header]:
        """Makes the content of a model file besides the trees, when it is needed.

        It does not hold the fit, so a model can outlive the rows.
        """
        return partial(
            _header,
            self.settings,
            self._names,
            self.state.dataset.feature_infos(),
            self.estimator._n_scores,
        )


def check_can_be_spread(settings: parameters.Settings) -> None:
    """Check that options allow rows on several processes; ValueError otherwise."""
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


class FunctionOfRound:
    """The objective of a model in training, which changes from round to round."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self.function = function
        self.__name__ = "fobj"

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def _custom_metrics(
    estimator: LGBMModel,
    functions: Sequence[Callable[..., Any]],
    link: Link | None,
) -> list[metrics.CustomMetric]:
    takes_dataset = estimator._functions_take_dataset
    kind = metrics.CustomMetricOfDataset if takes_dataset else metrics.CustomMetric
    return [kind(function, link) for function in functions]


def _metrics(
    estimator: LGBMModel,
    options: parameters.Settings,
    eval_metric: Any,
    link: Link | None,
    ranks: bool,
) -> list[metrics.Metric | metrics.CustomMetric]:
    """The metrics in LightGBM's order.

    First those of fit, then the option's or else the objective's, then functions.
    """
    option, objective = options.metric, estimator.objective or options.objective
    usual = estimator._default_objective()
    words, functions = metrics.names_and_functions([eval_metric, option])
    is_open = option in (None, "") or not words
    if is_open and not metrics.any_means_none(words):
        default = usual if callable(objective) else objective
        words += [] if default is None else [metrics.default_name(default)]
    # Named metrics treat raw scores of a function as those of the usual objective.
    is_function = callable(objective) and usual is not None
    by_name = metrics.make(
        words,
        options,
        estimator._n_scores,
        classifies=estimator._n_classes is not None,
        ranks=ranks,
        link=objective_names.make_link(usual) if is_function else link,
    )
    return [*by_name, *_custom_metrics(estimator, functions, link)]


def _header(
    settings: parameters.Settings,
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
        parameters=parameters.lightgbm_parameters(settings),
    )
