"""A search of scikit-learn whose fits share their work."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import chain
from typing import Any, Literal, Self, get_args

import numpy as np
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils import indexable

from skgoss import parameters
from skgoss.binning.find_bins import BinningOptions
from skgoss.estimators.base import LGBMModel
from skgoss.fit.fit_metrics import warn_of_maximized_loss
from skgoss.fit.time_limit import TimeLimit
from skgoss.model_selection import scoring
from skgoss.model_selection.candidates import comparable, is_rounds
from skgoss.model_selection.shared_fits import SharedFits, last_steps, with_params
from skgoss.model_selection.splitters import FoldsByTime
from skgoss.training.schedule import at_once
from skgoss.utils import thread_counts
from skgoss.utils.cancellation import CancelScope
from skgoss.utils.joblib_private import ScopedThreads
from skgoss.utils.sklearn_private import SearchHooks

Candidate = Mapping[str, Any]
Strategy = Literal["all", "race"]

# Candidates that differ in other options of an estimator have the same bins.
_BIN_OPTIONS = {field.name for field in fields(BinningOptions)}

# Options of estimators whose fits choose something on rows that they hold out.
_CHOOSING = {"early_stopping_round", "folds", "preset"}

# The bins and the fitted steps of pipelines that are kept for each fold.
_KEPT_PER_FOLD = 8


class SharedSearch(SearchHooks):
    """What our searches add to scikit-learn's: fits side by side that share their work.

    A search is fitted by a copy of it, whose estimator shares its fits.
    """

    # Attributes of the copy that is fitted.
    _shared: SharedFits  # what the fits share
    _scope: CancelScope  # ends all fits at once
    _limit: TimeLimit  # the time limit, and whether Ctrl-C was pressed
    _order: Sequence[int]  # the number of the candidate that is evaluated first, ...
    _given: Sequence[Any]  # X and y

    strategy: Strategy
    time_limit: float | None

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
            in scikit-learn: for example ``sample_weight`` and ``groups``. If ``cv`` is
            a number, folds keep ``groups`` whole, and with ``time`` they test later
            rows than they train on. Fits that choose something on a part of their rows
            get ``time``, too.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        TypeError
            If the estimator is not one of skgoss.
        ValueError
            If a parameter of a candidate does not exist, ``strategy`` or ``time_limit``
            is wrong, a race gets callbacks, or scikit-learn's search raises it.
        KeyboardInterrupt
            After Ctrl-C. In `keep_on_interrupt`, a race raises it only before the first
            candidate has scores of all folds, or a screening of one.
        """
        scoring.check_names(self.scoring)
        self._check_arguments()
        self._check_strategy(params)
        if is_classifier(self.estimator):
            scoring.check_labels(self.scoring, y)
        given = self.scoring
        for scorer in given.values() if isinstance(given, Mapping) else [given]:
            warn_of_maximized_loss(scorer)
        search = copy.copy(self)
        search.estimator = clone(self.estimator)
        search.cv = self._splitter(y, params)
        model = self._model_of(search.estimator)
        if not self._chooses_inside(model):
            params.pop("time", None)
        search.n_jobs = thread_counts.n_threads(
            model.n_jobs if self.n_jobs is None else self.n_jobs
        )
        search._given = indexable(X, y)
        search._limit = TimeLimit.from_now(self.time_limit)
        search._scope = CancelScope(search._limit.interrupted.is_set)
        search._shared = SharedFits()
        search._shared.attach(search.estimator)
        try:
            # Threads change the filters of warnings, for all, until they have ended.
            backend = ScopedThreads(search._scope)
            with parallel_config(backend), warnings.catch_warnings():
                super(SharedSearch, search).fit(X, y, **params)
        finally:
            search._shared.close(search.estimator)
        own = (getattr(base, "__annotations__", ()) for base in type(self).__mro__)
        kept = {*self.get_params(deep=False), *chain(*own)}
        self.__dict__.update({k: v for k, v in vars(search).items() if k not in kept})
        return self

    def _check_strategy(self, fit_params: Iterable[str]) -> None:
        """Raise ValueError if ``strategy`` and ``time_limit`` do not fit together.

        ``fit_params`` are the names of the arguments of fit, which may be those of a
        step of a pipeline: ``step__callbacks``.
        """
        if self.strategy not in get_args(Strategy):
            raise ValueError(
                f"strategy must be 'all' or 'race', got {self.strategy!r}."
            )
        has_callbacks = any(
            name.rpartition("__")[2] == "callbacks" for name in fit_params
        )
        if self.strategy == "race" and has_callbacks:
            raise ValueError(
                "callbacks need strategy='all': fits of a race stop after each stage."
            )
        limit = self.time_limit
        if limit is None:
            return
        if self.strategy == "all":
            raise ValueError(
                f"time_limit={limit!r} needs strategy='race': all candidates are"
                " evaluated otherwise."
            )
        if not isinstance(limit, numbers.Real) or not limit > 0:
            raise ValueError(
                f"time_limit must be a positive number of seconds, got {limit!r}."
            )

    def _splitter(self, y: Any, params: Mapping[str, Any]) -> Any:
        """The splitter of the folds: see ``cv`` and ``fit``.

        A user's splitter stays as it is. A number, or None, means folds that keep
        ``groups`` whole, and test later rows if ``time`` is passed.
        """
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        if not (self.cv is None or isinstance(self.cv, numbers.Integral)):
            return cv
        if params.get("time") is not None:
            return FoldsByTime(cv.n_splits, params["time"])
        return cv if params.get("groups") is None else GroupKFold(cv.n_splits)

    def _chooses_inside(self, model: LGBMModel) -> bool:
        """Whether a candidate's fit may hold out rows itself, to choose something.

        That is by early stopping, folds or a preset, whether the estimator has them or
        the grid varies them. Such fits get ``time``, too.
        """
        params = self.get_params(deep=False)
        grids = params.get("param_grid", params.get("param_distributions"))
        grids = [grids] if isinstance(grids, Mapping) else grids
        if not (
            isinstance(grids, Iterable) and all(isinstance(g, Mapping) for g in grids)
        ):
            raise TypeError(
                "The grid must be a dict from parameters to lists of values, as in"
                f" {{'num_leaves': [7, 31]}}, or a list of such dicts, got {grids!r}."
            )
        if "param_grid" in params:
            _check_no_distributions(grids)
        names = {path.rpartition("__")[2] for grid in grids for path in grid}
        varied = {parameters.CANONICAL_NAME.get(name, name) for name in names}
        return any(name in varied or getattr(model, name) for name in _CHOOSING)

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

    def _search(
        self, run: Callable[..., None], evaluate_candidates: Callable[..., Any]
    ) -> None:
        """Evaluate all candidates that scikit-learn's ``run`` lists.

        ``run`` calls a function with candidates, once or several times, and reads the
        results. This function is `_evaluate` with scikit-learn's own one for the fits.
        """
        with self._scope.entered():
            run(partial(self._evaluate, evaluate_candidates))
        # The best candidate is fitted like any other estimator.
        self._shared.close(self.estimator)

    def _evaluate(
        self,
        evaluate_candidates: Callable[..., Any],
        candidates: Iterable[Candidate],
        **context: Any,
    ) -> Any:
        """Evaluate candidates in the order that shares most."""
        candidates = self._to_share(candidates)
        self._order, self._shared.keeps_models = self._planned(candidates)
        ordered = [candidates[i] for i in self._order]
        return evaluate_candidates(ordered, **context)

    def _to_share(self, candidates: Iterable[Candidate]) -> Sequence[Candidate]:
        """The candidates as a list.

        Sets the number of threads of each fit, and how many results are kept.
        """
        candidates = list(candidates)
        n_folds = getattr(self.cv, "n_splits", 2)
        shared, n_fits = self._shared, max(1, len(candidates) * n_folds)
        shared.n_threads = at_once(n_fits, self.n_jobs)[1]
        shared.max_recent = _KEPT_PER_FOLD * n_folds
        return candidates

    def _planned(self, candidates: Sequence[Candidate]) -> tuple[list[int], bool]:
        """The order of the fits, and whether some differ in their rounds only.

        Candidates with the same bins and steps follow each other. Among them, one with
        the most rounds comes before those that differ from it in their rounds only, and
        fits that take long come first, so that no thread is left with one at the end.
        ValueError if there is no such parameter.
        """
        models = self._models(candidates)
        first_of_data: dict[Hashable, int] = {}
        max_rounds: dict[Hashable, int] = {}
        keys = []
        for i, candidate in enumerate(candidates):
            data = comparable({k: v for k, v in candidate.items() if _changes_data(k)})
            rest = comparable({k: v for k, v in candidate.items() if not is_rounds(k)})
            n_rounds, cost = _cost(models[i])
            first_of_data.setdefault(data, i)
            max_rounds[rest] = max(n_rounds, max_rounds.get(rest, 0))
            keys.append((data, rest, n_rounds, cost))
        order = sorted(
            range(len(candidates)),
            key=lambda i: (
                first_of_data[keys[i][0]],
                keys[i][2] < max_rounds[keys[i][1]],
                -keys[i][3],
            ),
        )
        return order, len(max_rounds) < len(candidates)

    def _models(self, candidates: Iterable[Candidate]) -> list[Any]:
        """The estimator of each candidate; ValueError if a parameter does not exist."""
        models = []
        for candidate in candidates:
            changed = with_params(self.estimator, clone(candidate, safe=False))
            *_, model = last_steps(changed)
            models.append(model)
            least = getattr(model, "min_child_samples", None)
            if isinstance(least, int):
                self._shared.max_child_samples = max(
                    least, self._shared.max_child_samples
                )
        return models

    def _results(
        self,
        candidate_params: Sequence[Candidate],
        n_splits: int,
        out: Sequence[Any],
        more_results: Any = None,
    ) -> Any:
        """The results of scikit-learn, with candidates back in the user's order.

        ``out`` has the results of all candidates, fold by fold, in the order `_order`.
        """
        back = np.argsort(self._order)
        return super()._results(
            [candidate_params[i] for i in back],
            n_splits,
            [out[i * n_splits + fold] for i in back for fold in range(n_splits)],
            more_results,
        )


def _check_no_distributions(grids: Iterable[Mapping[str, Any]]) -> None:
    """Raise TypeError if a grid has a distribution in place of a list of values."""
    for grid in grids:
        for name, values in grid.items():
            if hasattr(values, "rvs"):
                raise TypeError(
                    f"param_grid must hold lists of values, but {name!r} has a"
                    " distribution. Use RandomizedSearchCV(estimator,"
                    " param_distributions, n_iter=20), or list the values."
                )


def _changes_data(path: str) -> bool:
    """Whether a parameter changes the rows that reach the estimator, or their bins.

    Options of bins do, and all parameters of other steps of a pipeline.
    """
    name = path.rpartition("__")[2]
    name = parameters.CANONICAL_NAME.get(name, name)
    return name not in parameters.DEFAULTS or name in _BIN_OPTIONS


def _cost(model: Any) -> tuple[int, float]:
    """The number of rounds, and an estimate of the time of a fit in any unit.

    A value that is not an int counts as 0: the fit itself reports it.
    """
    n_rounds, n_leaves = (
        value if isinstance(value := getattr(model, name, None), int) else 0
        for name in ("n_estimators", "num_leaves")
    )
    return n_rounds, n_rounds * n_leaves
