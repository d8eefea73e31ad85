"""The estimator for regression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import RegressorMixin
from sklearn.metrics import mean_pinball_loss, r2_score
from sklearn.utils import Tags

from skgoss.columns import lifetimes, row_weights, targets
from skgoss.columns.floats import as_floats
from skgoss.estimators.base import MYPY, EarlierModel, LGBMModel, Metrics
from skgoss.fit.arguments import FitArguments, scored_column
from skgoss.fit.task import Regression
from skgoss.model import intervals
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.objectives import is_survival
from skgoss.objectives.survival import Baseline
from skgoss.objectives.survival_metrics import concordance
from skgoss.parameters import docstrings, signatures
from skgoss.utils import sklearn_private
from skgoss.utils.messages import warn
from skgoss.utils.public import set_module

Floats = NDArray[np.float64]


class _Curve(NamedTuple):
    """A curve that is predicted for a row, by a baseline hazard or a distribution."""

    words: str
    of_baseline: Callable[..., NDArray[np.float64]]
    of_distribution: Callable[[Any, NDArray[np.float64]], NDArray[np.float64]]


_SURVIVAL = _Curve(
    "survival functions", Baseline.survival, lambda frozen, times: frozen.sf(times)
)
_QUANTILES = _Curve(
    "quantiles", Baseline.quantiles, lambda frozen, levels: frozen.ppf(levels)
)


@set_module("skgoss")
@docstrings.describe_estimator
class LGBMRegressor(RegressorMixin, LGBMModel):
    """Gradient boosted trees for regression, by the LightGBM algorithm.

    ``y`` may have several columns. Each is a target, which is learned by trees of its
    own. NaN in one of several columns is a missing target: the row is left out for this
    column alone.

    With survival objectives, ``y`` tells which events were seen, and when: see
    https://skgoss.github.io/skgoss/survival.html.

    Parameters
    ----------
    ... : options, which ``help`` and docs/parameters.md describe

    Attributes
    ----------
    ... : attributes of the fitted model, which ``help`` describes

    See Also
    --------
    LGBMClassifier : Classification.
    LGBMRanker : Ranking.
    train : Training by a function, with LightGBM's arguments.

    References
    ----------
    G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree",
    NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LGBMRegressor(n_estimators=30).fit(X, y).predict(X).shape
    (442,)
    """

    _task = Regression

    # jedi would find that of object first, which the mixin inherits.
    if TYPE_CHECKING and not MYPY:
        __init__ = LGBMModel.__init__

    @sklearn_private.with_callbacks
    @docstrings.describe_fit
    @signatures.hint_fit_arguments
    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        eval_set: Sequence[Any] | None = None,
        eval_names: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_metric: Metrics | None = None,
        feature_name: str | Sequence[str] = "auto",
        categorical_feature: str | Iterable[str | int] | None = "auto",
        callbacks: Sequence[Callable[..., Any]] | None = None,
        init_model: EarlierModel | None = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
        early_stopping_rounds: int | None = None,
        verbose: bool | int = False,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The training rows. Numbers are not copied.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets: numbers, or event times for survival objectives.
        ... : arguments, which ``help`` describes: weights of rows, evaluation sets
            (``eval_X`` and ``eval_y``, or ``eval_set``) and early stopping on them,
            names and categories of columns, callbacks, an ``init_model`` to continue
            from, and ``groups`` or ``time`` of rows for choices inside the fit.

        Returns
        -------
        self
            The fitted estimator.
        """
        arguments = FitArguments(
            sample_weight=sample_weight,
            init_score=init_score,
            eval_set=eval_set,
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            eval_init_score=eval_init_score,
            eval_metric=eval_metric,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            callbacks=callbacks,
            init_model=init_model,
            eval_X=eval_X,
            eval_y=eval_y,
            early_stopping_round=early_stopping_rounds,
            verbose=verbose,
            groups=groups,
            time=time,
        )
        return self._fit(X, y, arguments)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R², for several quantiles the negative mean pinball loss.

        For survival objectives, return Harrell's concordance index.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets. If ``X`` is a file or read in batches, it may be the name of
            a column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Higher is better. R² of several targets is the mean over them, each of the
            rows where it is not missing. If the objective is a function, R² is that of
            raw scores.
        """
        self._warn_of_start_scores()
        levels, objective = self._model.link.levels, self._model.objective
        y = scored_column(X, y)
        predicted = np.asarray(self.predict(X), dtype=np.float64)
        n_rows, owner = len(predicted), self._owner
        weight = row_weights.checked(sample_weight, None, predicted, None)
        if is_survival(objective):
            from_0 = lifetimes.uses_order_only(str(objective))
            y = lifetimes.bounds(y, n_rows, from_0=from_0)
            return concordance(EvalData(y, predicted[None], weight, None, 1))
        y = targets.scored(y, n_rows, owner)
        if not levels:
            score = _r2(y, predicted, weight)
            if callable(objective):
                _warn_of_link(score, y, predicted, weight)
            return score
        losses = [
            mean_pinball_loss(y, values, alpha=level, sample_weight=weight)
            for level, values in zip(levels, predicted.T, strict=True)
        ]
        return -float(np.mean(losses))

    def _instead_of(self, name: str) -> str:
        fitted = vars(self).get("_fitted")
        objective = fitted.objective if fitted else vars(self).get("objective")
        is_of_times = False
        with suppress(ValueError):  # of an unknown objective
            is_of_times = is_survival(objective)
        if name == "predict_proba" and is_of_times:
            return (
                "predict_survival_function(X, times), the probability that the event"
                " comes later than each time"
            )
        return super()._instead_of(name)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @docstrings.describe_prediction
    def predict_distribution(
        self,
        X: ArrayLike,
        *,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Predict the distribution of the target, as an object of SciPy.

        For objectives that learn one, such as 'normal' and 'lognormal': see
        https://skgoss.github.io/skgoss/distributions.html.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        scipy.stats.rv_frozen
            Its parameters are arrays of shape (n_samples,). So are the results of
            ``mean()``, ``std()``, ``ppf(q)``, ``cdf(y)``, ``logpdf(y)`` (of counts
            ``logpmf(y)``) and ``rvs()``.

        Raises
        ------
        ValueError
            If the objective learns no distribution.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skgoss import LGBMRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = LGBMRegressor(objective="normal", folds=5).fit(X, y)
        >>> print(model.predict_distribution(X[:2]).ppf(0.9).round())
        [293. 141.]
        """
        distribution = self._model.link.distribution
        if distribution is None:
            raise ValueError(
                f"{self._owner} cannot predict distributions: its objective is"
                f" {self._model.objective!r}. Fit with objective='normal' or another"
                " that learns a distribution."
            )
        scores = self._raw_scores(
            X,
            (start_iteration, num_iteration),
            validate_features,
            kwargs,
            LGBMRegressor.predict_distribution,
        )
        return distribution.frozen(scores.T)

    def _raw_scores(
        self,
        X: Any,
        span: tuple[int, int | None],
        validate_features: bool,
        kwargs: Mapping[str, Any],
        method: Callable[..., Any],
    ) -> NDArray[np.float64]:
        """Raw scores for a method; also of Dask collections, whose scores are lazy.

        ``span`` is the first round and the number of rounds.
        """
        options: dict[str, Any] = {"validate_features": validate_features}
        options["start_iteration"], options["num_iteration"] = span
        if kwargs:
            options["n_jobs"] = self._n_threads(kwargs, method)
        return np.asarray(self.predict(X, raw_score=True, **options))

    @docstrings.describe_prediction
    def predict_survival_function(
        self,
        X: ArrayLike,
        times: ArrayLike,
        *,
        strata: ArrayLike | None = None,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Predict the probability that the event comes later than each time.

        'cox' uses Breslow's baseline hazard, which the model keeps. After a fit with
        ``folds``, it is that of the out-of-fold scores. For objectives that learn a
        distribution, this is its survival function.

        Parameters
        ----------
        ... : arguments, which ``help`` describes
        times : array-like of shape (n_times,)
            Times, in the unit of the times in ``y``.
        strata : array-like of shape (n_samples,), default=None
            The numbers of the strata of the rows, if the model was fitted with strata.

        Returns
        -------
        ndarray of shape (n_samples, n_times)
            Probabilities. From the last event in ``y`` on, those of 'cox' stay equal.

        Raises
        ------
        ValueError
            If the model has no such probabilities, or ``times`` are not numbers, or
            ``strata`` are missing or unknown.

        Examples
        --------
        >>> import numpy as np
        >>> from skgoss import LGBMRegressor
        >>> X, time = np.arange(100.0)[:, None], np.arange(100.0, 0.0, -1.0)
        >>> model = LGBMRegressor(objective="cox")
        >>> model = model.fit(X, np.column_stack([time > 0, time]))
        >>> print(model.predict_survival_function([[10.0], [90.0]], [50.0]).round(2))
        [[0.99]
         [0.  ]]
        """
        if isinstance(times, str):
            raise ValueError(f"times must be a list of numbers, got the str {times!r}.")
        times = as_floats(times, "times")
        if times.ndim != 1 or np.isnan(times).any():
            raise ValueError("times must have one dimension and no missing values.")
        span = start_iteration, num_iteration
        method = LGBMRegressor.predict_survival_function
        rows = X, span, validate_features, kwargs, method
        return self._at_times_or_levels(_SURVIVAL, times, strata, *rows)

    @docstrings.describe_prediction
    def predict_quantile(
        self,
        X: ArrayLike,
        q: float | Sequence[float] = 0.5,
        *,
        strata: ArrayLike | None = None,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Predict quantiles of the target, or of the time of the event.

        For 'cox' and objectives that learn a distribution.

        Parameters
        ----------
        ... : arguments, which ``help`` describes
        q : float or sequence of float, default=0.5
            The probabilities that the target is at most the quantile.
        strata : array-like of shape (n_samples,), default=None
            The numbers of the strata of the rows, if the model was fitted with strata.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_quantiles) for a sequence
            For 'cox', these are event times in ``y``, or infinity where the
            probability of the event stays smaller.

        Raises
        ------
        ValueError
            If the model has no quantiles, or ``q`` is not between 0 and 1.
        """
        levels = as_floats(q, "q")
        if levels.ndim > 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q must be between 0 and 1, got {q!r}.")
        each = np.atleast_1d(levels)
        span = start_iteration, num_iteration
        rows = X, span, validate_features, kwargs, LGBMRegressor.predict_quantile
        values = self._at_times_or_levels(_QUANTILES, each, strata, *rows)
        return values if levels.ndim else values[:, 0]

    def _at_times_or_levels(
        self,
        what: _Curve,
        at: Any,
        strata: Any,
        X: Any,
        span: tuple[int, int | None],
        *how: Any,
    ) -> NDArray[np.float64]:
        """Probabilities at some times, or times of some probabilities.

        The arguments from ``X`` on are those of `_raw_scores`.
        """
        model = self._model
        distribution = model.link.distribution
        if distribution is None:
            baseline = model.baseline_of(self._owner, what.words, *span)
            risk = self._raw_scores(X, span, *how)
            return what.of_baseline(baseline, risk, at, strata)
        if strata is not None:
            raise ValueError(
                f"strata must be None: {self._owner} has learned a distribution"
                f" (objective={model.objective!r}), which has no strata."
            )
        frozen = distribution.frozen(self._raw_scores(X, span, *how).T)
        # SciPy's formulas have infinite powers where a probability is 0.
        with np.errstate(over="ignore"):
            return what.of_distribution(frozen, at[:, None]).T

    @docstrings.describe_prediction
    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float | Sequence[float] = 0.9,
        *,
        method: str = "cv",
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Predict intervals that cover the target with a chosen probability.

        The estimator must have been fitted with ``folds``, or with a ``preset`` and
        without an evaluation set. The interval of a row lies around its prediction, and
        is as wide as the residuals of the rows that the folds' models were tested on.
        With ``objective="quantile"`` and several ``alpha``, it consists of two
        quantiles and of how far targets were outside of them: such intervals are wide
        only where targets spread. Without ``folds``, the quantiles are not calibrated,
        and cover less.

        The proportion ``coverage`` of new rows of the same distribution, weighted if
        the fit was, lies in their intervals. This need not hold for each group of rows,
        nor if the distribution changes. What is proven, other
        objectives, pipelines and references: https://skgoss.github.io/skgoss/intervals.html.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        ndarray of shape (n_samples, 2), or (n_samples, 2, n_coverages) for a list
            The lower and the upper end of each interval.

        Raises
        ------
        ValueError
            If the model has no intervals, because it was fitted without ``folds``,
            with ``init_score``, or with an objective that does not predict the middle
            of the target; or if there are too few rows for the coverage.

        See Also
        --------
        LGBMClassifier.predict_set : Prediction sets.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skgoss import LGBMRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = LGBMRegressor(folds=5, random_state=0).fit(X[:342], y[:342])
        >>> lower, upper = model.predict_interval(X[342:], coverage=0.8).T
        >>> print(((lower <= y[342:]) & (y[342:] <= upper)).mean())
        0.82
        """
        model = self._model
        n_threads = self._n_threads(kwargs, LGBMRegressor.predict_interval)
        intervals.check_method(method)
        compute = model.for_intervals(self._owner, method).intervals
        return self._covering(model, X, coverage, n_threads, compute)


def _warn_of_link(
    score: float, y: Floats, predicted: Floats, weight: Floats | None
) -> None:
    """Warn if R² of raw scores is below that of a common function of them.

    An objective that is a function does not tell what its predictions are.
    """
    links = {"numpy.exp": np.exp, "scipy.special.expit": expit}
    for name, link in links.items():
        with np.errstate(over="ignore"):
            values = link(predicted)
        if np.isfinite(values).all() and _r2(y, values, weight) > max(score, 0.0):
            warn(
                f"The score {score:.3g} is that of raw scores, which predict returns"
                f" because the objective is a function. They seem to be transformed by"
                f" {name}, so compute"
                f" sklearn.metrics.r2_score(y, {name}(model.predict(X)))."
            )
            return


def _r2(y: Floats, predicted: Floats, weight: Floats | None) -> float:
    """R², for several targets the mean over them, of the rows that have them."""
    known = ~np.isnan(y)
    if known.all() or y.shape != predicted.shape:
        return float(r2_score(y, predicted, sample_weight=weight))
    weight = np.ones(len(y)) if weight is None else weight
    scores = [
        r2_score(target[rows], values[rows], sample_weight=weight[rows])
        for target, values, rows in zip(y.T, predicted.T, known.T, strict=True)
        if rows.any()
    ]
    return float(np.mean(scores))
