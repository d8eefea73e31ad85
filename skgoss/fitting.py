"""What fit does: read the data, boost round by round, keep the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from skgoss import _compat, callbacks, parameters, persistence
from skgoss.booster import Booster
from skgoss.data import categories, frames, targets
from skgoss.data.columns import Columns
from skgoss.data.rows import Rows, held_out, start_scores
from skgoss.fit_arguments import (
    FitArguments,
    GivenSet,
    evaluation_sets,
    names_of_columns,
    training_set,
)
from skgoss.model.header import Header, default_names
from skgoss.origin import Origin
from skgoss.training import boosting, constraints, metrics, objectives
from skgoss.training.evaluation import NamedRows

if TYPE_CHECKING:
    from skgoss.estimators import LGBMModel

# The estimators that are being fitted, by their ids.
_FITS: dict[int, object] = {}


def fit(estimator: LGBMModel, X: Any, y: Any, given: FitArguments) -> None:
    """Fit an estimator.

    Parameters
    ----------
    estimator : LGBMModel
        It gets the attributes of a fitted one. If anything fails, it is not changed.
    X, y : object
        The training set, as the user passed it.
    given : FitArguments
    """
    with _only_fit(estimator):
        chosen = settings(estimator, given)
        hooks = _compat.round_hooks(
            estimator, chosen.n_estimators, X=X, y=y, metadata=given.metadata
        )
        with _unchanged_on_failure(estimator):
            _Fit(estimator, X, y, given, chosen).run(hooks)


@contextmanager
def _only_fit(estimator: BaseEstimator) -> Iterator[None]:
    """Refuse to fit an estimator that is being fitted."""
    this_fit = object()
    if _FITS.setdefault(id(estimator), this_fit) is not this_fit:
        raise RuntimeError(
            f"This {type(estimator).__name__} is being fitted: objectives, metrics,"
            " callbacks and other threads must not fit it meanwhile. Fit a clone of it."
        )
    try:
        yield
    finally:
        del _FITS[id(estimator)]


@contextmanager
def _unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Put all attributes back when the block fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def settings(estimator: LGBMModel, given: FitArguments) -> parameters.Settings:
    """The checked options; arguments of fit replace those of the constructor."""
    chosen = {
        name: value
        for name, value, absent in (
            ("categorical_feature", given.categorical_feature, "auto"),
            ("early_stopping_round", given.early_stopping_rounds, None),
            ("eval_at", given.eval_at, None),
        )
        if not (isinstance(value, str) and value == absent) and value is not absent
    }
    return parameters.settings(estimator, **chosen)


class _Fit:
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
    """

    def __init__(
        self,
        estimator: LGBMModel,
        X: Any,
        y: Any,
        given: FitArguments,
        settings: parameters.Settings,
    ) -> None:
        self.estimator = estimator
        self.given = given
        self.settings = settings
        self.training = training_set(X, y, given, estimator.class_weight)

    def run(self, hooks: _compat.RoundHooks | _compat.NoHooks) -> None:
        """Read the data, boost round by round, and keep the result."""
        given_sets = evaluation_sets(self.given, self.training)
        self.earlier = self.estimator._earlier_model(self.given.init_model)
        # A copy that a callback makes while rounds run does not hold the former model.
        vars(self.estimator).pop("_booster", None)
        vars(self.estimator).pop("_is_foreign", None)
        columns = self._training_columns()
        learns = self.earlier is None or self.earlier._origin is None
        rows = self._rows(columns, self.training, learns=learns).existing()
        self._set_objective()
        sets = [self._evaluated(given_set, rows) for given_set in given_sets]
        fitted, sets = self._with_held_out(rows, sets)
        calls = self._callbacks(evaluates=bool(sets))
        plan = self._plan(rows, evaluates=bool(sets))
        state = plan.start(fitted, sets)
        hooks.begin()
        trained = boosting.train(
            state,
            given=calls,
            after_round=lambda index, ensemble: hooks.after_round(
                index, lambda: {"_booster": self._booster(state.trained(ensemble()))}
            ),
        )
        if self.settings.refit and fitted is not rows:
            trained = plan.refitted(rows, trained, calls)
        self.estimator._booster = self._booster(trained)
        self.estimator._history = trained.history
        hooks.end()

    def _training_columns(self) -> Columns:
        """Read the training columns, and set their names and categories."""
        estimator, X = self.estimator, self.training.X
        names = self.names = names_of_columns(self.given.feature_name)
        categorical = self.settings.categorical_feature
        if names is not None and isinstance(categorical, list):
            number = {name: j for j, name in enumerate(names)}
            categorical = [number.get(name, name) for name in categorical]
        if self.earlier is None:
            columns = frames.columns(
                estimator, X, reset=True, categorical_feature=categorical
            )
        else:
            self._inherit()
            columns = frames.columns(estimator, X, reset=False)
            names = self.names = names or self.earlier.feature_name()
            categories.check_same(
                categorical,
                estimator._categories,
                self._names,
                columns.n_features,
                "init_model",
            )
        if names is not None:
            _check_names(names, columns.n_features)
        self.settings = constraints.resolved(self.settings, columns, self._names)
        return columns

    def _inherit(self) -> None:
        """Replace names and categories of columns, and classes, by those of a model."""
        estimator, X = self.estimator, self.training.X
        is_foreign = self.earlier._is_foreign
        if is_foreign:
            from skgoss import foreign

            self.earlier = foreign.numbered(self.earlier, X)
        persistence.inherit(estimator, self.earlier)
        if is_foreign:
            _compat.take_feature_names(estimator, X)

    @property
    def _names(self) -> Sequence[str] | None:
        """The names of the columns: ``feature_name`` of fit, else those in ``X``."""
        return self.names or getattr(self.estimator, "feature_names_in_", None)

    def _rows(self, columns: Columns, given: GivenSet, *, learns: bool = False) -> Rows:
        """Columns with the target, weight, query and start scores of each row.

        If ``learns``, the classes are set from ``y``.
        """
        estimator, prefix = self.estimator, given.prefix
        owner = type(estimator).__name__
        y = targets.one_column(given.y, columns.n_rows, owner, f"{prefix}y")
        if learns:
            estimator._learn_target(y)
        target = estimator._encoded(y, given)
        weight = estimator._weights(
            given.sample_weight, target, given.class_weight, prefix
        )
        targets.check_sum(target, weight, f"{prefix}y")
        init_score = given.init_score
        if init_score is not None:
            n_classes = estimator._n_classes or 0
            n_scores = n_classes if n_classes > 2 else 1
            init_score = start_scores(
                init_score, len(y), n_scores, f"{prefix}init_score"
            )
        row_queries = estimator._queries(len(y), given.group, given.qid, prefix)
        return Rows(columns, target, weight, row_queries, init_score)

    def _set_objective(self) -> None:
        """Set the objective and the link, and the objective's canonical name."""
        estimator, options = self.estimator, self.settings
        objective = options.objective or estimator._default_objective()
        if objective is None:
            raise ValueError(
                f"The 'objective' parameter of {type(estimator).__name__} must be"
                " given. LGBMClassifier and LGBMRegressor choose one."
            )
        if not callable(objective):
            objective = objectives.canonical_name(objective)
            estimator._check_objective(objective)
        self.link = objectives.make_link(objective, options.sigmoid, options.reg_sqrt)
        self.settings = dataclasses.replace(options, objective=objective)

    def _evaluated(self, given: GivenSet, rows: Rows) -> NamedRows:
        """The rows of an evaluation set, which may be those of the training set."""
        if not given.holds_same_rows(self.training):
            columns = frames.columns(self.estimator, given.X, reset=False)
            rows = self._rows(columns, given).existing()
        return NamedRows(given.name, rows, given.is_training)

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

    def _plan(self, rows: Rows, *, evaluates: bool) -> boosting.Plan:
        return boosting.Plan(
            self.settings,
            self.estimator._n_classes,
            self._metrics(rows, evaluates=evaluates),
            _compat.n_threads(self.settings.n_jobs),
            self.earlier and self.earlier._ensemble,
            self._booster,
        )

    def _metrics(
        self, rows: Rows, *, evaluates: bool
    ) -> list[metrics.Metric | metrics.Custom]:
        """The metrics in LightGBM's order.

        First those of fit, then the option's or else the objective's, then functions.
        """
        estimator, options = self.estimator, self.settings
        option, objective = options.metric, estimator.objective or options.objective
        usual = estimator._default_objective()
        words, functions = metrics.sorted_words([self.given.eval_metric, option])
        is_open = option in (None, "") or not words
        if evaluates and is_open and not metrics.any_means_none(words):
            default = usual if callable(objective) else objective
            words += [] if default is None else [metrics.default_name(default)]
        # Named metrics treat raw scores of a function as those of the usual objective.
        is_function = callable(objective) and usual is not None
        link = objectives.make_link(usual) if is_function else self.link
        by_name = metrics.make(
            words,
            options,
            estimator._n_classes,
            ranks=rows.queries is not None,
            link=link,
        )
        return [*by_name, *(metrics.Custom(f, self.link) for f in functions)]

    def _booster(self, trained: boosting.Trained) -> Booster:
        """The trained trees, with what is known of the columns."""
        header = partial(
            _header,
            self.settings,
            self._names,
            trained.feature_infos,
            self.estimator._n_classes,
        )
        return Booster._of(
            trained.ensemble,
            header,
            self.estimator._categories,
            self.settings.objective,
            self.link,
            trained.best_iteration,
            trained.best_score,
            Origin.of(self.estimator, trained.history),
        )


def _header(
    settings: parameters.Settings,
    names: Sequence[str] | None,
    feature_infos: list[str],
    n_classes: int | None,
) -> Header:
    """What a model file tells beside the trees."""
    objective, signs = settings.objective, settings.monotone_constraints
    if names is None:
        names = default_names(len(feature_infos))
    words = ""
    if not callable(objective):
        words = objectives.text(
            objective, settings.sigmoid, settings.reg_sqrt, n_classes
        )
    return Header(
        feature_names=(
            default_names(len(feature_infos))
            if names is None
            else list(map(str, names))
        ),
        feature_infos=feature_infos,
        objective=words,
        monotone_constraints=[] if signs is None else [int(sign) for sign in signs],
        parameters=parameters.lightgbm_parameters(settings),
    )


def _check_names(names: Sequence[str], n_features: int) -> None:
    if len(names) != n_features or len(set(names)) < len(names):
        raise ValueError(
            f"feature_name must have a name for each of the {n_features} columns, all"
            f" different. Got {len(names)} names, {len(set(names))} of them different."
        )
