"""scikit-learn's searches, whose fits share their work."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from itertools import chain, product
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from numpy.typing import NDArray
from sklearn import config_context, get_config, model_selection
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from skgoss import parameters
from skgoss.binning.find_bins import BinningOptions
from skgoss.estimators.base import LGBMModel
from skgoss.fit import splits
from skgoss.fit.time_limit import TimeLimit
from skgoss.model_selection.candidates import (
    METRICS,
    OwnFold,
    comparable,
    is_rounds,
    racers,
)
from skgoss.model_selection.shared_fits import (
    SharedFits,
    are_rounds_alike,
    last_steps,
    with_params,
)
from skgoss.parameters import docstrings
from skgoss.parameters.settings import CHANGEABLE
from skgoss.several_fits import race
from skgoss.several_fits.race import Racer
from skgoss.training.schedule import at_once, run_all
from skgoss.utils import threads
from skgoss.utils.cancellation import Cancelled, CancelScope
from skgoss.utils.messages import SAID, said_in_call, warn
from skgoss.utils.public import set_module
from skgoss.utils.sklearn_private import (
    DocumentedMixin,
    fit_and_score,
    insert_error_scores,
    warn_of_failures,
)

if TYPE_CHECKING:
    from sklearn.model_selection import BaseSearchCV
else:
    BaseSearchCV = object

Candidate = Mapping[str, Any]
Search = TypeVar("Search", bound=type)

# Candidates that differ in other options of an estimator have the same bins.
_OF_BINS = {field.name for field in fields(BinningOptions)}

# Options of estimators whose fits choose something on rows that they hold out.
_CHOOSING = {"early_stopping_round", "folds", "preset"}

# For each fold, so many bins and fitted steps of pipelines are kept.
_KEPT_BY_FOLD = 8


class SharedSearch(DocumentedMixin, BaseSearchCV):
    """What our searches add to scikit-learn's: fits side by side that share their work.

    A search is fitted by a copy of it, whose estimator shares its fits.
    """

    # Of the copy: what the fits share, what ends them, the limit and Ctrl-C that do so,
    # and which candidate is evaluated when.
    _shared: SharedFits
    _scope: CancelScope
    _limit: TimeLimit
    _order: Sequence[int]
    # Of a race: the data and arguments, all candidates, and those that it kept.
    _given: Sequence[Any]
    _routed: Any
    _racers: list[Racer]
    _running: list[Racer]
    _pairs: Sequence[Any]  # the rows of folds
    _own_folds: list[OwnFold] | None
    _screened: dict[Racer, Any]  # what a screening has made of candidates

    strategy: str
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
        self._validate_params()
        self._check_strategy(params)
        search = copy.copy(self)
        search.estimator = clone(self.estimator)
        search.cv = self._splitter(y, params)
        model = self._model_of(search.estimator)
        if not self._chooses_inside(model):
            params.pop("time", None)
        search.n_jobs = threads.n_threads(
            model.n_jobs if self.n_jobs is None else self.n_jobs
        )
        search._given = indexable(X, y)
        search._limit = TimeLimit.from_now(self.time_limit)
        search._scope = CancelScope(search._limit.interrupted.is_set)
        search._shared = SharedFits()
        search._shared.attach(search.estimator)
        try:
            # Threads change the filters of warnings, for all, until they have ended.
            backend = _ThreadsOfScope(search._scope)
            with parallel_config(backend), warnings.catch_warnings():
                super(SharedSearch, search).fit(X, y, **params)
        finally:
            search._shared.close(search.estimator)
        kept = {*self.get_params(deep=False), *SharedSearch.__annotations__}
        self.__dict__.update({k: v for k, v in vars(search).items() if k not in kept})
        return self

    def _get_routed_params_for_fit(self, params: Any) -> Any:
        self._routed = super()._get_routed_params_for_fit(params)
        is_one = self.scoring is None or isinstance(self.scoring, str)
        if self.strategy == "race" and not (is_one or callable(self.scoring)):
            self._value(dict.fromkeys(self.scoring))
        return self._routed

    def _check_strategy(self, fit_params: Iterable[str]) -> None:
        if self.strategy not in ("all", "race"):
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
        """The folds: a number means those that respect ``groups`` and ``time``."""
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        if not (self.cv is None or isinstance(self.cv, numbers.Integral)):
            return cv
        if params.get("time") is not None:
            return FoldsByTime(cv.n_splits, params["time"])
        return cv if params.get("groups") is None else GroupKFold(cv.n_splits)

    def _chooses_inside(self, model: LGBMModel) -> bool:
        """Whether the fit of a candidate may choose something on a part of the rows."""
        params = self.get_params(deep=False)
        grids = params.get("param_grid", params.get("param_distributions"))
        grids = [grids] if isinstance(grids, Mapping) else grids
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

    def _run_search(
        self, evaluate_candidates: Callable[..., Any], callback_ctx: Any = None
    ) -> None:
        # scikit-learn < 1.9 has no callbacks.
        context = {} if callback_ctx is None else {"callback_ctx": callback_ctx}
        with self._scope.entered():
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
        n_folds = getattr(self.cv, "n_splits", 2)
        shared, n_fits = self._shared, max(1, len(candidates) * n_folds)
        shared.n_threads = at_once(n_fits, self.n_jobs)[1]
        shared.most_recent = _KEPT_BY_FOLD * n_folds
        if self.strategy == "race":
            return self._race(evaluate_candidates, candidates)
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
        models = self._models(candidates)
        first_of_data: dict[Hashable, int] = {}
        most_rounds: dict[Hashable, int] = {}
        keys = []
        for i, candidate in enumerate(candidates):
            data = comparable({k: v for k, v in candidate.items() if _is_of_data(k)})
            rest = comparable({k: v for k, v in candidate.items() if not is_rounds(k)})
            n_rounds, cost = _cost(models[i])
            first_of_data.setdefault(data, i)
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

    def _models(self, candidates: Iterable[Candidate]) -> list[Any]:
        """The estimator of each candidate; ValueError if a parameter does not exist."""
        models = []
        for candidate in candidates:
            changed = with_params(self.estimator, clone(candidate, safe=False))
            *_, model = last_steps(changed)
            models.append(model)
            least = getattr(model, "min_child_samples", None)
            if isinstance(least, int):
                self._shared.most_in_leaf = max(least, self._shared.most_in_leaf)
        return models

    def _race(
        self, evaluate_candidates: Callable[..., Any], candidates: Sequence[Candidate]
    ) -> Any:
        """Evaluate candidates stage by stage: see `race`."""
        (X, y), shared = self._given, self._shared
        self._pairs = list(self.cv.split(X, y, **self._routed.splitter.split))
        if not self._pairs:  # scikit-learn says it
            return evaluate_candidates(candidates)
        path = f"{prefix(self.estimator)}n_estimators"
        compared = self._racers = racers(candidates, self._models(candidates), path)
        self._own_folds, self._screened = self._make_own_folds(), {}

        results = None
        try:
            for stage, n_left in race.screenings(len(compared)):
                compared = self._survivors(compared, stage, n_left)
            # Of the many that are screened, few survive: their short fits are not kept.
            shared.grows = True
            _RaceOnFolds(self, compared).run()
            results = self._evaluated(evaluate_candidates, compared)
        except Cancelled:
            compared = self._compared_so_far(compared)
            if not (compared and self._limit.interrupted.is_set()):
                raise
        if self._limit.interrupted.is_set():
            warn(
                "Ctrl-C ended the race. Candidates with scores of all folds:"
                f" {len(compared)} of {len(self._racers)}."
            )
            self._limit.interrupted.clear()
        return results or self._evaluated(evaluate_candidates, compared)

    def _evaluated(
        self, evaluate_candidates: Callable[..., Any], compared: Iterable[Racer]
    ) -> Any:
        """The results, which are what scikit-learn makes of the fits of candidates."""
        self._running = sorted(compared, key=lambda racer: -racer.cost)
        best = [racer.candidate(racer.best_rounds) for racer in self._running]
        return evaluate_candidates(best, cv=check_cv(self._pairs))

    def _compared_so_far(self, compared: list[Racer]) -> list[Racer]:
        """The candidates that have scores; of a screening, the best one."""
        scored = [racer for racer in compared if racer.rounds]
        if scored and not self._shared.grows:
            return race.survivors(scored, 1)
        return scored or (compared[:1] if self._screened else [])

    def _make_own_folds(self) -> list[OwnFold] | None:
        """The folds of stages that do without scikit-learn; None: they need it.

        Options change more than trees, say, or scores are not those of a metric.
        """
        model, routed, scoring = self.estimator, self._routed, self.scoring
        names = {name for racer in self._racers for name in racer.params}
        varied = {parameters.CANONICAL_NAME.get(name, name) for name in names}
        metrics = METRICS.get(type(model), {})
        scoring = next(iter(metrics), "") if scoring is None else scoring
        if not (
            isinstance(scoring, str)
            and scoring in metrics
            and CHANGEABLE.issuperset(varied)
            and are_rounds_alike(model)
            and not callable(model.objective)
            # A generator draws another seed each time that it is asked.
            and isinstance(model.random_state, int | None)
            and not (routed.estimator.fit or routed.scorer.score)
            and not self.return_train_score
        ):
            return None
        of_fold = partial(OwnFold, self._shared, model, self._given, name=scoring)
        try:
            return [of_fold(pair) for pair in self._pairs]
        except Exception:  # scikit-learn says of each candidate what is wrong
            return None

    def _grow(self, running: Sequence[Racer], n_folds: int) -> dict[Racer, Any]:
        """Let candidates grow to their next stage on the first folds.

        Returns what ``_fit_and_score`` of scikit-learn returns, of each fold. If the
        search is cancelled, candidates that have not got there are left out.
        """
        options = {
            "scorer": self._get_scorers()[0],
            "fit_params": self._routed.estimator.fit,
            "score_params": self._routed.scorer.score,
            "return_train_score": self.return_train_score,
            "error_score": self.error_score,
        }

        config = get_config()

        def evaluated(racer: Racer, number: int) -> Any:
            if self._own_folds is not None:
                with suppress(Exception):  # scikit-learn says what is wrong
                    return self._own_folds[number].evaluated(racer)
            train, test = self._pairs[number]
            params = racer.candidate(racer.next_rounds)
            job = partial(fit_and_score, clone(self.estimator), *self._given, **options)
            with config_context(**config):  # each thread has one
                return job(train=train, test=test, parameters=params)

        def result(racer: Racer, number: int) -> Any:
            with suppress(Cancelled):
                self._scope.check()
                return evaluated(racer, number)

        ordered = sorted(running, key=lambda racer: -racer.cost)
        jobs = [partial(result, *job) for job in product(ordered, range(n_folds))]
        out = run_all(jobs, self.n_jobs)
        by_racer = zip(ordered, _batched(out, n_folds), strict=True)
        grown = {racer: results for racer, results in by_racer if all(results)}
        insert_error_scores(list(chain(*grown.values())), self.error_score)
        for racer, results in grown.items():
            racer.note(self._values(results))
        return grown

    def _survivors(
        self, candidates: Sequence[Racer], stage: int, n_left: int
    ) -> list[Racer]:
        """The best candidates after few rounds on the first fold."""
        for racer in candidates:
            racer.stage = stage
        grown = self._grow(candidates, 1)
        warn_of_failures([result for (result,) in grown.values()], self.error_score)
        self._screened |= grown
        self._scope.check()
        return race.survivors(candidates, n_left)

    def _values(self, results: Iterable[Any]) -> NDArray[np.float64]:
        """The scores that count."""
        scores = [self._value(result["test_scores"]) for result in results]
        return np.array(scores, np.float64)

    def _value(self, scores: Any) -> float:
        """The score that counts."""
        if not isinstance(scores, Mapping):
            return scores
        if not (isinstance(self.refit, str) and self.refit in scores):
            raise ValueError(
                "strategy='race' needs one metric: set refit to one of"
                f" {sorted(scores)}, got {self.refit!r}."
            )
        return scores[self.refit]

    def _format_results(
        self,
        candidate_params: Sequence[Candidate],
        n_splits: int,
        out: Sequence[Any],
        more_results: Any = None,
    ) -> Any:
        """The results in the order of the candidates; those of races have more keys."""
        if self.strategy == "race":
            return self._race_results(n_splits, out)
        back = np.argsort(self._order)
        return super()._format_results(
            [candidate_params[i] for i in back],
            n_splits,
            [out[i * n_splits + fold] for i in back for fold in range(n_splits)],
            more_results,
        )

    def _race_results(self, n_splits: int, out: Sequence[Any]) -> Any:
        """The results of a race: ``out`` ends with those of candidates that it kept.

        Before, there may be results that Ctrl-C came too late for.
        """
        racers, left_out = self._racers, _left_out(out[0])
        out = out[len(out) - n_splits * len(self._running) :]
        kept = {racer: [left_out] * n_splits for racer in racers}
        for racer, (result,) in self._screened.items():
            if racer.rounds:  # else Ctrl-C has ended the stage for which it survived
                kept[racer] = [result, *[left_out] * (n_splits - 1)]
        for racer, results in zip(self._running, _batched(out, n_splits), strict=True):
            kept[racer] = [*results]
            if not racer.rounds:
                racer.note(self._values(results))
        # Rounding errors could make another number of rounds the best one below.
        params = [
            racer.candidate(racer.best_rounds if racer.rounds else racer.most_rounds)
            for racer in racers
        ]
        for racer in self._running:
            # Stages of our own score but for rounding errors.
            racer.means[racer.best] = race.mean(self._values(kept[racer]))
        with warnings.catch_warnings():
            if len(self._running) < len(racers):
                warnings.filterwarnings("ignore", "One or more of the .* scores")
            return super()._format_results(
                params,
                n_splits,
                [result for racer in racers for result in kept[racer]],
                {
                    "n_rounds": [max(racer.rounds, default=0) for racer in racers],
                    "scores_by_rounds": [racer.scores_by_rounds for racer in racers],
                },
            )


class _RaceOnFolds(race.Race):
    """The race of a search; candidates without rounds are only compared with."""

    def __init__(self, search: SharedSearch, compared: Sequence[Racer]) -> None:
        super().__init__(
            [racer for racer in compared if racer.path is not None],
            [racer for racer in compared if racer.path is None],
        )
        self.search = search

    def grow(self, running: Sequence[Racer]) -> None:
        """Grow candidates to their next stage on all folds."""
        self.search._grow(running, len(self.search._pairs))
        self.search._scope.check()

    def is_over(self, seconds: float) -> bool:
        """Whether there is no time for a stage of this many seconds."""
        return self.search._limit.is_over(seconds)


class _ThreadsOfScope(ThreadingBackend):
    """The threads of joblib, whose jobs are in a scope.

    It is cancelled if one fails or Ctrl-C comes, and joblib waits for the others. What
    the call of the user has warned of, no thread warns of again.
    """

    def __init__(self, scope: CancelScope) -> None:
        super().__init__()
        self._scope = scope
        self._said = said_in_call()

    def _get_pool(self) -> ThreadPool:
        if self._pool is None:
            self._pool: ThreadPool = ThreadPool(self._n_jobs, self._begin_thread)
        return self._pool

    def _begin_thread(self) -> None:
        SAID.set(self._said)
        self._scope.adopt_thread()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        if not self._scope.is_cancelled:
            self._scope.cancel()
        super().abort_everything(ensure_ready)

    def terminate(self) -> None:
        # If threads cannot be started, those of half a pool wait forever.
        is_whole = self._pool is not None
        super().terminate()
        if is_whole:
            self._scope.join()


class FoldsByTime(GroupKFold):
    """A splitter that tests later rows than it trains on, of other groups.

    It is a ``GroupKFold`` because scikit-learn passes ``groups`` to these.
    """

    def __init__(self, n_splits: int, time: Any) -> None:
        super().__init__(n_splits)
        self.time = time

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        """The training and the test rows, of each fold."""
        time = splits.check_times(self.time, len(y))
        groups = splits.check_groups(groups, len(y))
        pairs = splits.by_time(self.n_splits, time, groups, f"cv={self.n_splits}")
        return iter(pairs)


def prefix(estimator: Any) -> str:
    """What the names of the parameters of the last of `last_steps` begin with."""
    outer = list(last_steps(estimator))[:-1]
    names = [p.steps[-1][0] if isinstance(p, Pipeline) else "regressor" for p in outer]
    return "".join(f"{name}__" for name in names)


def _batched(values: Sequence[Any], n: int) -> Iterator[Sequence[Any]]:
    return (values[i : i + n] for i in range(0, len(values), n))


def _left_out(value: Any) -> Any:
    """What stands for the results of a fold that a candidate was not evaluated on."""
    if isinstance(value, Mapping):
        return {name: _left_out(entry) for name, entry in value.items()}
    return np.nan


def _is_of_data(path: str) -> bool:
    """Whether a parameter changes the rows of the estimator, or their bins."""
    name = path.rpartition("__")[2]
    name = parameters.CANONICAL_NAME.get(name, name)
    return name not in parameters.DEFAULTS or name in _OF_BINS


def _cost(model: Any) -> tuple[int, float]:
    """The number of rounds, and an estimate of the time of a fit."""
    n_rounds, n_leaves = (
        value if isinstance(value := getattr(model, name, None), int) else 0
        for name in ("n_estimators", "num_leaves")
    )
    return n_rounds, n_rounds * n_leaves


# The arguments of both searches, for the marks in their docstrings.
_ARGUMENTS = {
    "race": """\
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
    then the best candidate is fitted.""",
    "options": """\
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
    Has little effect: threads share the data.""",
    "scores": """\
error_score : 'raise' or float, default=nan
    The score of fits that fail.
return_train_score : bool, default=False
    Whether to score the training rows, too.""",
}


def _described(cls: Search) -> Search:
    """Describe the arguments of both searches in the docstring of one."""
    cls.__doc__ = docstrings.filled(cls.__doc__, **_ARGUMENTS)
    return cls


@set_module("skgoss.model_selection")
@_described
class GridSearchCV(SharedSearch, model_selection.GridSearchCV):
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
    {race}
    {options}
    {scores}

    Attributes
    ----------
    cv_results_ : dict
        The results with scikit-learn's keys. Those of a race have a row for each
        candidate besides ``n_estimators``, with the best ``n_estimators`` among its
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
        strategy: str = "all",
        time_limit: float | None = None,
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
@_described
class RandomizedSearchCV(SharedSearch, model_selection.RandomizedSearchCV):
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
    {race}
    {options}
    random_state : int, RandomState instance or None, default=None
        The seed of the candidates.
    {scores}

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
        strategy: str = "all",
        time_limit: float | None = None,
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
