"""scikit-learn's searches, whose fits share their work."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn import model_selection

from skgoss.model_selection.search_race import RacingSearch
from skgoss.model_selection.shared_search import Strategy
from skgoss.utils.public import set_module


@set_module("skgoss.model_selection")
class GridSearchCV(RacingSearch, model_selection.GridSearchCV):
    """Search over a grid: scikit-learn's GridSearchCV, whose fits share work.

    The scores are those of scikit-learn's search. It is faster, because each fold is
    binned once, candidates that differ only in ``n_estimators`` are one fit, the other
    steps of a pipeline are fitted once for each fold and each of their parameters, and
    fits run in parallel threads, which share the data.

    Parameters
    ----------
    estimator : estimator
        One of skgoss, alone or as the last step of a Pipeline or a
        TransformedTargetRegressor.
    param_grid : dict or list of dict
        Lists of values by the names of parameters, as in scikit-learn.
    strategy : str, default='all'
        'all' evaluates all candidates. 'race' trains them in stages on all folds, up to
        their ``n_estimators``, drops those that fall behind, and finds the best number
        of rounds; more than 20 are screened on one fold first. See
        https://skgoss.github.io/skgoss/tuning.html.
        Candidates that differ only in ``n_estimators`` are one candidate with the
        largest limit. Candidates with dropout, early stopping, folds, a preset or a
        time limit are evaluated once. With several metrics, ``refit`` must be the name
        of one.
    time_limit : float, default=None
        Time limit of a race in seconds. No stage begins that would probably end later;
        then the best candidate is fitted.
    scoring : str, callable, list, tuple or dict, default=None
        The metrics of the test rows, as in scikit-learn; None: ``score`` of the
        estimator.
    n_jobs : int, default=None
        The number of threads of all fits together. None: ``n_jobs`` of the estimator.
        Custom objectives, metrics and callbacks are called by one thread at a time;
        scorers are not.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate on all rows. With several metrics, the name of
        the metric to choose by, or a function of ``cv_results_`` that returns an index.
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
        The results with scikit-learn's keys. Those of a race have a row for each
        candidate without ``n_estimators``, with the best ``n_estimators`` among its
        parameters, and two more keys: ``n_rounds``, how far it went, and
        ``scores_by_rounds``, a dict of its mean scores so far. The time of a fit whose
        work another has done is that of waiting for it.
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
        strategy: Strategy = "all",
        time_limit: float | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            param_grid=param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.strategy, self.time_limit = strategy, time_limit


@set_module("skgoss.model_selection")
class RandomizedSearchCV(RacingSearch, model_selection.RandomizedSearchCV):
    """Search over random candidates: RandomizedSearchCV, whose fits share work.

    The scores are those of scikit-learn's search: see `GridSearchCV`.

    Parameters
    ----------
    estimator : estimator
        As in `GridSearchCV`.
    param_distributions : dict or list of dict
        Lists of values, or distributions with a method ``rvs``, by the names of
        parameters.
    n_iter : int, default=10
        The number of candidates.
    strategy : str, default='all'
        'all' evaluates all candidates. 'race' trains them in stages on all folds, up to
        their ``n_estimators``, drops those that fall behind, and finds the best number
        of rounds; more than 20 are screened on one fold first. See
        https://skgoss.github.io/skgoss/tuning.html.
        Candidates that differ only in ``n_estimators`` are one candidate with the
        largest limit. Candidates with dropout, early stopping, folds, a preset or a
        time limit are evaluated once. With several metrics, ``refit`` must be the name
        of one.
    time_limit : float, default=None
        Time limit of a race in seconds. No stage begins that would probably end later;
        then the best candidate is fitted.
    scoring : str, callable, list, tuple or dict, default=None
        The metrics of the test rows, as in scikit-learn; None: ``score`` of the
        estimator.
    n_jobs : int, default=None
        The number of threads of all fits together. None: ``n_jobs`` of the estimator.
        Custom objectives, metrics and callbacks are called by one thread at a time;
        scorers are not.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate on all rows. With several metrics, the name of
        the metric to choose by, or a function of ``cv_results_`` that returns an index.
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
        strategy: Strategy = "all",
        time_limit: float | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            param_distributions=param_distributions,
            n_iter=n_iter,
            random_state=random_state,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.strategy, self.time_limit = strategy, time_limit
