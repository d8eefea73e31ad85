"""scikit-learn's searches, whose fits share their work."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import parallel_config
from sklearn import model_selection
from sklearn.base import clone

from skgoss import parameters
from skgoss.binning.find_bins import BinningOptions
from skgoss.estimators.base import LGBMModel
from skgoss.model_selection.shared_fits import SharedFits, last_steps
from skgoss.training.concurrent_fits import at_once
from skgoss.utils import threads

if TYPE_CHECKING:
    from sklearn.model_selection import BaseSearchCV
else:
    BaseSearchCV = object

Candidate = Mapping[str, Any]

# Candidates that differ in other options of an estimator have the same bins.
_OF_BINS = {field.name for field in fields(BinningOptions)}

# For each fold, so many bins and fitted steps of pipelines are kept.
_KEPT_BY_FOLD = 8


class SharedSearch(BaseSearchCV):
    """What our searches add to scikit-learn's: fits side by side that share their work.

    A search is fitted by a copy of it, whose estimator shares its fits.
    """

    # Of the copy: what the fits share, and which candidate is evaluated when.
    _shared: SharedFits
    _order: Sequence[int]

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit all candidates on all folds, and the best one on all rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets.
        **params : dict
            Arguments of ``fit`` of the estimator, of the scorer and of the splitter, as
            in scikit-learn: for example ``sample_weight`` and ``groups``.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        TypeError
            If the estimator is not one of skgoss.
        ValueError
            If a parameter of a candidate does not exist, or scikit-learn's search
            raises it.
        """
        self._validate_params()
        search = copy.copy(self)
        search.estimator = clone(self.estimator)
        model = self._model_of(search.estimator)
        search.n_jobs = threads.n_threads(
            model.n_jobs if self.n_jobs is None else self.n_jobs
        )
        search._shared = SharedFits()
        search._shared.attach(search.estimator)
        try:
            with parallel_config("threading"):
                super(SharedSearch, search).fit(X, y, **params)
        finally:
            search._shared.close(search.estimator)
        kept = {*self.get_params(deep=False), "_shared", "_order"}
        vars(self).update({k: v for k, v in vars(search).items() if k not in kept})
        return self

    def _model_of(self, estimator: Any) -> LGBMModel:
        """The estimator of skgoss that an estimator is, or ends with."""
        *_, last = last_steps(estimator)
        if isinstance(last, LGBMModel):
            return last
        name = type(self).__name__
        raise TypeError(
            f"{name} of skgoss shares the fits of estimators of skgoss, alone or as the"
            " last step of a Pipeline or a TransformedTargetRegressor, but got"
            f" {type(last).__name__}. Use sklearn.model_selection.{name}."
        )

    def _run_search(
        self, evaluate_candidates: Callable[..., Any], callback_ctx: Any = None
    ) -> None:
        # scikit-learn < 1.9 has no callbacks.
        context = {} if callback_ctx is None else {"callback_ctx": callback_ctx}
        super()._run_search(partial(self._evaluate, evaluate_candidates), **context)
        # The best candidate is fitted like any other estimator.
        self._shared.close(self.estimator)

    def _evaluate(
        self,
        evaluate_candidates: Callable[..., Any],
        candidates: Iterable[Candidate],
        **context: Any,
    ) -> Any:
        """Evaluate candidates in the order that shares most."""
        candidates = list(candidates)
        n_folds = 5 if self.cv is None else getattr(self.cv, "n_splits", self.cv)
        n_folds = n_folds if isinstance(n_folds, int) else 2
        shared, n_fits = self._shared, max(1, len(candidates) * n_folds)
        shared.n_threads = at_once(n_fits, self.n_jobs)[1]
        shared.most_recent = _KEPT_BY_FOLD * n_folds
        self._order, shared.keeps_models = self._planned(candidates)
        ordered = [candidates[i] for i in self._order]
        return evaluate_candidates(ordered, **context)

    def _planned(self, candidates: Sequence[Candidate]) -> tuple[list[int], bool]:
        """The order of the fits, and whether some differ in their rounds only.

        Candidates with the same bins and steps follow each other. Among them, one with
        the most rounds comes before those that differ from it in their rounds only, and
        fits that take long come first, so that no thread is left with one at the end.
        ValueError if there is no such parameter.
        """
        models = []
        for candidate in candidates:
            changed = clone(self.estimator).set_params(**clone(candidate, safe=False))
            *_, model = last_steps(changed)
            models.append(model)
        first_of_data: dict[Hashable, int] = {}
        most_rounds: dict[Hashable, int] = {}
        keys = []
        for i, candidate in enumerate(candidates):
            of_data, others = [], []
            for path, value in candidate.items():
                name = path.rpartition("__")[2]
                name = parameters.CANONICAL_NAME.get(name, name)
                item = path, value if isinstance(value, Hashable) else id(value)
                if name != "n_estimators":
                    others.append(item)
                if name not in parameters.DEFAULTS or name in _OF_BINS:
                    of_data.append(item)
            data, rest = frozenset(of_data), frozenset(others)
            first_of_data.setdefault(data, i)
            n_rounds, cost = _cost(models[i])
            most_rounds[rest] = max(n_rounds, most_rounds.get(rest, 0))
            keys.append((data, rest, n_rounds, cost))
        order = sorted(
            range(len(candidates)),
            key=lambda i: (
                first_of_data[keys[i][0]],
                keys[i][2] < most_rounds[keys[i][1]],
                -keys[i][3],
            ),
        )
        return order, len(most_rounds) < len(candidates)

    def _format_results(
        self,
        candidate_params: Sequence[Candidate],
        n_splits: int,
        out: Sequence[Any],
        more_results: Any = None,
    ) -> Any:
        """The results in the order of the candidates."""
        back = np.argsort(self._order)
        return super()._format_results(
            [candidate_params[i] for i in back],
            n_splits,
            [out[i * n_splits + fold] for i in back for fold in range(n_splits)],
            more_results,
        )


def _cost(model: Any) -> tuple[int, float]:
    """The number of rounds, and an estimate of the time of a fit."""
    n_rounds, n_leaves = (
        value if isinstance(value := getattr(model, name, None), int) else 0
        for name in ("n_estimators", "num_leaves")
    )
    return n_rounds, n_rounds * n_leaves


class GridSearchCV(SharedSearch, model_selection.GridSearchCV):
    """Search over a grid: scikit-learn's GridSearchCV, whose fits share their work.

    The scores are those of scikit-learn's search of the same estimator, bit for bit. It
    takes less time because bins are found once for each fold, candidates that differ
    only in ``n_estimators`` are one fit, the steps of a pipeline before the estimator
    are fitted once for each fold and each of their parameters, and fits run side by
    side in threads, which share the data.

    Parameters
    ----------
    estimator : estimator
        One of skgoss, alone or as the last step of a Pipeline or a
        TransformedTargetRegressor.
    param_grid : dict or list of dict
        Lists of values by the names of parameters, as in scikit-learn.
    scoring : str, callable, list, tuple or dict, default=None
        The metrics of the test rows, as in scikit-learn; None: ``score`` of the
        estimator.
    n_jobs : int, default=None
        The threads of all fits together. None: ``n_jobs`` of the estimator. Functions
        that are objectives, metrics or callbacks are called by one thread at a time;
        scorers are not.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate on all rows. With several metrics, the name of
        the one that counts, or a function of ``cv_results_`` that returns an index.
    cv : int, splitter or iterable of (train, test), default=None
        The folds, as in scikit-learn; None: 5.
    verbose : int, default=0
        The higher, the more messages.
    pre_dispatch : int or str, default='2*n_jobs'
        Has little effect: threads share the data.
    error_score : 'raise' or float, default=nan
        The score of fits that fail.
    return_train_score : bool, default=False
        Whether to score the training rows, too.

    Attributes
    ----------
    cv_results_ : dict
        The results with scikit-learn's keys. The time of a fit that had its work done
        by another is that of waiting for it.
    best_estimator_, best_params_, best_score_, best_index_, scorer_, n_splits_
        As in scikit-learn, like ``refit_time_``, ``multimetric_`` and ``classes_``.

    See Also
    --------
    RandomizedSearchCV : Search over random candidates.
    sklearn.model_selection.GridSearchCV : For other estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor
    >>> from skgoss.model_selection import GridSearchCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"n_estimators": [25, 50, 100], "num_leaves": [4, 8]}
    >>> GridSearchCV(LGBMRegressor(), grid).fit(X, y).best_params_
    {'n_estimators': 50, 'num_leaves': 4}
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )


class RandomizedSearchCV(SharedSearch, model_selection.RandomizedSearchCV):
    """Search over random candidates: scikit-learn's, with fits that share their work.

    The scores are those of scikit-learn's search, bit for bit: see `GridSearchCV`.

    Parameters
    ----------
    estimator : estimator
        As in `GridSearchCV`.
    param_distributions : dict or list of dict
        Lists of values, or distributions with a method ``rvs``, by the names of
        parameters.
    n_iter : int, default=10
        The number of candidates.
    scoring : str, callable, list, tuple or dict, default=None
        The metrics of the test rows, as in scikit-learn; None: ``score`` of the
        estimator.
    n_jobs : int, default=None
        The threads of all fits together. None: ``n_jobs`` of the estimator. Functions
        that are objectives, metrics or callbacks are called by one thread at a time;
        scorers are not.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate on all rows. With several metrics, the name of
        the one that counts, or a function of ``cv_results_`` that returns an index.
    cv : int, splitter or iterable of (train, test), default=None
        The folds, as in scikit-learn; None: 5.
    verbose : int, default=0
        The higher, the more messages.
    pre_dispatch : int or str, default='2*n_jobs'
        Has little effect: threads share the data.
    random_state : int, RandomState instance or None, default=None
        The seed of the candidates.
    error_score : 'raise' or float, default=nan
        The score of fits that fail.
    return_train_score : bool, default=False
        Whether to score the training rows, too.

    Attributes
    ----------
    cv_results_, best_estimator_, best_params_, best_score_, best_index_
        As in `GridSearchCV`, and all other attributes.

    See Also
    --------
    GridSearchCV : Search over a grid.

    Examples
    --------
    >>> from scipy.stats import uniform
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor
    >>> from skgoss.model_selection import RandomizedSearchCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ranges = {"colsample_bytree": uniform(0.3, 0.7), "num_leaves": [4, 8, 16]}
    >>> search = RandomizedSearchCV(LGBMRegressor(), ranges, n_iter=3, random_state=0)
    >>> len(search.fit(X, y).cv_results_["params"])
    3
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
        )
