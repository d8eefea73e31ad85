"""Searches that race: candidates are trained in stages, and the worst are dropped."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline

from skgoss import parameters
from skgoss.model_selection.candidates import METRICS, OwnFold, racers
from skgoss.model_selection.shared_fits import are_rounds_alike, last_steps
from skgoss.model_selection.shared_search import Candidate, SharedSearch
from skgoss.parameters.settings import CHANGEABLE
from skgoss.several_fits import race
from skgoss.several_fits.race import Racer
from skgoss.training.schedule import run_all
from skgoss.utils.cancellation import Cancelled
from skgoss.utils.messages import warn
from skgoss.utils.sklearn_private import (
    fit_and_score,
    insert_error_scores,
    warn_of_failures,
)


class RacingSearch(SharedSearch):
    """A search with the strategy 'race', or with that of `SharedSearch`."""

    # Of a race: all candidates, and those that it kept.
    _racers: list[Racer]
    _running: list[Racer]
    _pairs: Sequence[Any]  # the training and the test rows of each fold
    # The folds that evaluate stages without scikit-learn; None: it evaluates them.
    _own_folds: list[OwnFold] | None
    _screened: dict[Racer, Any]  # the results of screened candidates on the first fold

    def _check_scoring(self) -> None:
        """Check that one score counts, before anything is fitted."""
        is_one = self.scoring is None or isinstance(self.scoring, str)
        if self.strategy == "race" and not (is_one or callable(self.scoring)):
            self._value(dict.fromkeys(self.scoring))

    def _evaluate(
        self,
        evaluate_candidates: Callable[..., Any],
        candidates: Iterable[Candidate],
        **context: Any,
    ) -> Any:
        """Evaluate candidates in a race, or all of them, as ``strategy`` says.

        ``evaluate_candidates`` is the function that scikit-learn passes to searches.
        """
        if self.strategy != "race":
            return super()._evaluate(evaluate_candidates, candidates, **context)
        return self._race(evaluate_candidates, self._to_share(candidates))

    def _race(
        self, evaluate_candidates: Callable[..., Any], candidates: Sequence[Candidate]
    ) -> Any:
        """Evaluate candidates stage by stage: see `race`.

        Many candidates are screened on the first fold; those that survive race on all
        folds. At the end, ``evaluate_candidates``, scikit-learn's function, evaluates
        what the race kept: it finds the fits, and makes the results. After Ctrl-C, the
        candidates that have scores are kept.
        """
        shared, self._pairs = self._shared, self._rows_of_folds(*self._given)
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
        """The results of scikit-learn for the kept candidates, the slowest ones first.

        Each has the number of rounds that was best in the race.
        """
        self._running = sorted(compared, key=lambda racer: -racer.cost)
        best = [racer.candidate(racer.best_rounds) for racer in self._running]
        return evaluate_candidates(best, cv=check_cv(self._pairs))

    def _compared_so_far(self, compared: list[Racer]) -> list[Racer]:
        """The candidates to keep after Ctrl-C: those that have scores.

        In a screening, whose scores are of one fold and few rounds, only the best one.
        """
        scored = [racer for racer in compared if racer.rounds]
        if scored and not self._shared.grows:
            return race.survivors(scored, 1)
        return scored or (compared[:1] if self._screened else [])

    def _make_own_folds(self) -> list[OwnFold] | None:
        """The folds of stages that do not call scikit-learn; None: they need it.

        Options change more than trees, say, or scores are not those of a metric.
        """
        model, scoring = self.estimator, self.scoring
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
            and not self._routes_arguments
            and not self.return_train_score
        ):
            return None
        of_fold = partial(OwnFold, self._shared, model, self._given, name=scoring)
        try:
            return [of_fold(pair) for pair in self._pairs]
        except Exception:  # scikit-learn says of each candidate what is wrong
            return None

    def _grow(self, running: Sequence[Racer], n_folds: int) -> dict[Racer, Any]:
        """Train candidates to their next stage on the first ``n_folds`` folds.

        Returns what ``_fit_and_score`` of scikit-learn returns, for each candidate a
        list over the folds, and notes the scores in the candidates. If the search is
        cancelled, candidates that have not reached the stage are left out.
        """
        options, config = self._evaluation(), get_config()

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
        """The ``n_left`` best candidates after one more ``stage``, on one fold."""
        for racer in candidates:
            racer.stage = stage
        grown = self._grow(candidates, 1)
        warn_of_failures([result for (result,) in grown.values()], self.error_score)
        self._screened |= grown
        self._scope.check()
        return race.survivors(candidates, n_left)

    def _values(self, results: Iterable[Any]) -> NDArray[np.float64]:
        """The scores that count, (n_folds,), from scikit-learn's results of folds."""
        scores = [self._value(result["test_scores"]) for result in results]
        return np.array(scores, np.float64)

    def _value(self, scores: Any) -> float:
        """The score that candidates are compared by: that of ``refit`` among several.

        ``scores`` is a number, or a dict by the names of scorers.
        """
        if not isinstance(scores, Mapping):
            return scores
        if not (isinstance(self.refit, str) and self.refit in scores):
            raise ValueError(
                "strategy='race' needs one metric: set refit to one of"
                f" {sorted(scores)}, got {self.refit!r}."
            )
        return scores[self.refit]

    def _results(
        self,
        candidate_params: Sequence[Candidate],
        n_splits: int,
        out: Sequence[Any],
        more_results: Any = None,
    ) -> Any:
        """The results of a race, with more keys than scikit-learn's.

        ``out`` ends with the results of candidates that the race kept, fold by fold;
        before, there may be results that Ctrl-C came too late for. All candidates get a
        row: those that were dropped have NaN where they were not evaluated. The private
        method of scikit-learn makes ``cv_results_`` of them.
        """
        if self.strategy != "race":
            return super()._results(candidate_params, n_splits, out, more_results)
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
            racer.candidate(racer.best_rounds if racer.rounds else racer.max_rounds)
            for racer in racers
        ]
        for racer in self._running:
            # Stages of our own score but for rounding errors.
            racer.means[racer.best] = race.mean(self._values(kept[racer]))
        self._order = range(len(racers))
        with warnings.catch_warnings():
            if len(self._running) < len(racers):
                warnings.filterwarnings("ignore", "One or more of the .* scores")
            return super()._results(
                params,
                n_splits,
                [result for racer in racers for result in kept[racer]],
                {
                    "n_rounds": [max(racer.rounds, default=0) for racer in racers],
                    "scores_by_rounds": [racer.scores_by_rounds for racer in racers],
                },
            )


def prefix(estimator: Any) -> str:
    """The prefix of the parameters of the last step of nested estimators.

    For example 'model__' for the step 'model' of a pipeline; "" without one.
    """
    outer = list(last_steps(estimator))[:-1]
    names = [p.steps[-1][0] if isinstance(p, Pipeline) else "regressor" for p in outer]
    return "".join(f"{name}__" for name in names)


def _batched(values: Sequence[Any], n: int) -> Iterator[Sequence[Any]]:
    """The values, ``n`` at a time."""
    return (values[i : i + n] for i in range(0, len(values), n))


def _left_out(value: Any) -> Any:
    """NaN in place of each number in the results of a fold.

    It stands for a fold that a candidate was not evaluated on. ``value`` are the
    results of any other, which may be nested dicts.
    """
    if isinstance(value, Mapping):
        return {name: _left_out(entry) for name, entry in value.items()}
    return np.nan


class _RaceOnFolds(race.Race):
    """The race of a search; candidates without rounds are reference candidates."""

    def __init__(self, search: RacingSearch, compared: Sequence[Racer]) -> None:
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
