"""The estimator for regression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import mean_pinball_loss, r2_score
from sklearn.utils import Tags

from skgoss.columns.floats import as_floats
from skgoss.columns.lifetimes import bounds
from skgoss.estimators.base import EarlierModel, LGBMModel, Metrics
from skgoss.fit.arguments import FitArguments
from skgoss.fit.task import Regression
from skgoss.model import intervals
from skgoss.objectives.metric_functions import EvalData, concordance
from skgoss.objectives.objectives import is_survival
from skgoss.objectives.survival import COX
from skgoss.parameters import docstrings, signatures
from skgoss.utils import sklearn_private
from skgoss.utils.public import set_module


@set_module("skgoss")
@docstrings.of_estimator
class LGBMRegressor(RegressorMixin, LGBMModel):
    """Gradient boosted trees for regression, by the LightGBM algorithm.

    ``y`` may have several columns. Each is a target, which is learned by trees of its
    own. NaN in one of several columns is a missing target: the row is left out for this
    column alone.

    With the objectives of survival, ``y`` tells which events were seen, and when: see
    docs/survival.md.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

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

    @sklearn_private.with_callbacks
    @docstrings.of_fit
    @signatures.of_fit
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
        return self._fit(X, y, FitArguments.from_locals(locals()))

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R², for several quantiles the negative mean pinball loss.

        For the objectives of survival, return Harrell's concordance index.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Higher is better. R² of several targets is the mean over them, each of the
            rows where it is not missing.
        """
        levels, objective = self._model.link.levels, self._model.objective
        if is_survival(objective):
            risk = np.asarray(self.predict(X), dtype=np.float64)
            if sample_weight is not None:
                sample_weight = as_floats(sample_weight, "sample_weight")
            data = bounds(y, len(risk)), risk[None], sample_weight, None, 1
            return concordance(EvalData(*data))
        if not levels:
            return self._r2(X, y, sample_weight)
        losses = [
            mean_pinball_loss(y, predicted, alpha=level, sample_weight=sample_weight)
            for level, predicted in zip(levels, self.predict(X).T, strict=True)
        ]
        return -float(np.mean(losses))

    def _r2(self, X: Any, y: Any, sample_weight: Any) -> float:
        predicted = self.predict(X)
        targets = np.asarray(y, dtype=np.float64)
        known = ~np.isnan(targets)
        # Only one of several targets may be missing.
        if targets.shape != predicted.shape or targets.ndim == 1 or known.all():
            return float(r2_score(y, predicted, sample_weight=sample_weight))
        weight = np.ones(len(targets)) if sample_weight is None else sample_weight
        scores = [
            r2_score(target[rows], values[rows], sample_weight=np.asarray(weight)[rows])
            for target, values, rows in zip(
                targets.T, predicted.T, known.T, strict=True
            )
            if rows.any()
        ]
        return float(np.mean(scores))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @docstrings.of_prediction
    def predict_distribution(self, X: ArrayLike, **kwargs: Any) -> Any:
        """Predict the distribution of the target, as an object of SciPy.

        For objectives that learn one: 'normal', 'lognormal' and others, which
        docs/distributions.md lists.

        Parameters
        ----------
        {parameters}

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
        [270. 141.]
        """
        distribution = self._model.link.distribution
        if distribution is None:
            raise ValueError(
                f"{self._owner} cannot predict distributions: its objective is"
                f" {self._model.objective!r}. Fit with objective='normal' or another"
                " that learns a distribution."
            )
        # Predictions of Dask collections are lazy.
        scores = np.asarray(self.predict(X, raw_score=True, **kwargs))
        return distribution.frozen(scores.T)

    @docstrings.of_prediction
    def predict_survival_function(
        self,
        X: ArrayLike,
        times: ArrayLike,
        *,
        strata: ArrayLike | None = None,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Predict the probability that the event comes later than each time.

        'cox' uses Breslow's baseline hazard, which the model keeps. After a fit with
        ``folds``, it is that of the out-of-fold scores. For objectives that learn a
        distribution, this is its survival function.

        Parameters
        ----------
        {parameters}
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
            If the model knows no such probabilities, or ``times`` are not numbers, or
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
        times = as_floats(times, "times")
        if times.ndim != 1 or np.isnan(times).any():
            raise ValueError("times must have one dimension and no missing values.")
        return self._of_lifetimes(X, times, strata, kwargs, "survival")

    @docstrings.of_prediction
    def predict_quantile(
        self,
        X: ArrayLike,
        q: float | Sequence[float] = 0.5,
        *,
        strata: ArrayLike | None = None,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Predict quantiles of the target, or of the time of the event.

        For 'cox' and objectives that learn a distribution.

        Parameters
        ----------
        {parameters}
        q : float or sequence of float, default=0.5
            The probabilities that the target is at most the quantile.
        strata : array-like of shape (n_samples,), default=None
            The numbers of the strata of the rows, if the model was fitted with strata.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_quantiles) for a sequence
            For 'cox', these are times of events in ``y``, or infinity where the
            probability of the event stays smaller.

        Raises
        ------
        ValueError
            If the model knows no quantiles, or ``q`` is not between 0 and 1.
        """
        levels = as_floats(q, "q")
        if levels.ndim > 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q must be between 0 and 1, got {q!r}.")
        each = np.atleast_1d(levels)
        values = self._of_lifetimes(X, each, strata, kwargs, "quantiles")
        return values if levels.ndim else values[:, 0]

    def _of_lifetimes(
        self, X: Any, at: Any, strata: Any, kwargs: Mapping[str, Any], what: str
    ) -> NDArray[np.float64]:
        """Probabilities at some times, or times of some probabilities."""
        baseline, distribution = self._model.baseline, self._model.link.distribution
        scores = np.asarray(self.predict(X, raw_score=True, **kwargs))
        if baseline is not None:
            return getattr(baseline, what)(scores, at, strata)
        if distribution is None:
            objective = self._model.objective
            reason = (
                f"a model with objective={objective!r} has a baseline hazard when its"
                " fit ends, but not in training, in cv, or after a change of its trees."
                " Use the fitted estimator or the Booster that train returns"
                if objective in COX
                else f"its objective is {objective!r}. Fit with objective='cox' or"
                " 'aft_normal'"
            )
            raise ValueError(f"{self._owner} cannot predict {what}: {reason}.")
        frozen, at = distribution.frozen(scores.T), at[:, None]
        return (frozen.sf(at) if what == "survival" else frozen.ppf(at)).T

    @docstrings.of_prediction
    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float | Sequence[float] = 0.9,
        *,
        method: str = "cv",
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Predict intervals that cover the target with a chosen probability.

        The estimator must have been fitted with ``folds``. The interval of a row lies
        around its prediction, and is as wide as the residuals of the rows that the
        folds' models were tested on. With ``objective="quantile"`` and several
        ``alpha``, it consists of two quantiles and of how far targets were outside of
        them (conformalized quantile regression): such intervals are wide only where
        targets spread.

        Of many new rows of the same distribution, the share ``coverage`` lies in their
        intervals. This need not hold in each group of rows, nor if the distribution
        changes. With weights, the share is that of the weight.

        The prediction is the mean of the folds' models, and more accurate than each of
        them. So ``method="cv"`` covers at least ``coverage`` on most data, but nothing
        is proven for few rows. ``method="cv+"`` adds the residuals of each fold to the
        prediction of its own model. Its intervals are wider and cover about a point
        more. For any data and any model, they cover 1 - 2 (1 - ``coverage``), minus a
        little.

        Several quantiles without ``folds`` are intervals, too, if the two quantiles of
        the coverage are among them, such as 0.05 and 0.95 for 0.9. Without calibration
        they cover less. For the objectives 'poisson', 'gamma' and 'tweedie', residuals
        are divided by the standard deviation that the objective assumes, so intervals
        grow with the prediction. With ``reg_sqrt``, they are residuals of roots.

        In a pipeline, other steps must transform the rows:
        ``pipe[-1].predict_interval(pipe[:-1].transform(X))``.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        ndarray of shape (n_samples, 2), or (n_samples, 2, n_coverages) for a list
            The lower and the upper end of each interval.

        Raises
        ------
        ValueError
            If the model cannot know intervals, because it was fitted without ``folds``,
            with ``init_score``, or with an objective that does not predict the middle
            of the target; or if there are too few rows for the coverage.

        See Also
        --------
        LGBMClassifier.predict_set : Sets of classes.

        References
        ----------
        R. F. Barber, E. J. Candes, A. Ramdas and R. J. Tibshirani, "Predictive
        inference with the jackknife+", Annals of Statistics 49(1), 2021.

        Y. Romano, E. Patterson and E. J. Candes, "Conformalized Quantile Regression",
        NeurIPS 2019.

        L. Steinberger and H. Leeb, "Conditional predictive inference for stable
        algorithms", Annals of Statistics 51(1), 2023: ``method="cv"``.

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
        intervals.check_arguments(kwargs)
        intervals.check_method(method)
        compute = model.for_intervals(self._owner, method).intervals
        return self._covering(model, X, coverage, kwargs, compute)
