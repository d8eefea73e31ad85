"""Rounds that have grown, what publishes them, and the lock of who trains."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.locks import CertainEnd, NonBlockingLock
from skgoss._engine.training.forest import Forest as GrownTrees
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves
from skgoss.objectives.metrics import CustomMetric
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.training.rounds import Rounds
from skgoss.training.spread import RoundOfSpread
from skgoss.utils.cancellation import CURRENT_SCOPE

Floats = NDArray[np.float64]


@dataclass(eq=False)
class GrownRounds:
    """Some rounds of a fit: all that readers and later rounds see of them.

    Once they are finished, they do not change, but for `ensemble`, which is set when it
    is first needed. The forest and the lists may also have later rounds. Only these are
    dropped or changed: a fit that takes finished rounds back continues with copies.
    """

    n: int
    start: Floats
    forest: GrownTrees | None  # None: no column can be split
    # (n,): the factors of each round's trees; None: 1.
    factors: Floats | None = None
    # The linear models of the leaves of each round.
    linear: list[LinearLeaves] = field(default_factory=list)
    # What each round of a distribution leaves behind.
    spread: list[RoundOfSpread] = field(default_factory=list)
    # What each round of DART has dropped.
    dropouts: list[Any] = field(default_factory=list)
    # Of evaluation sets of other rows than those of training, and of all sets if a
    # round has been grown ahead: the raw scores, (n_scores, n_rows).
    scores: dict[EvaluationSet, Floats] = field(default_factory=dict)
    # Whether a tree of the last round could be split.
    has_split: bool = True
    # The same with the next round, if it has grown before it is asked for.
    following: GrownRounds | None = None
    ensemble: Ensemble | None = None

    def first(self, n: int) -> GrownRounds:
        """A copy of the first rounds."""
        n = min(n, self.n)
        forest = self.forest
        return replace(
            self,
            n=n,
            forest=None if forest is None else forest.copy(0, n * len(self.start)),
            factors=None if self.factors is None else self.factors[:n],
            linear=self.linear[:n],
            spread=self.spread[:n],
            dropouts=self.dropouts[:n],
            scores={},
            has_split=True,
            following=None,
            ensemble=None,
        )


class LockedRounds(Rounds):
    """What all states of boosting share: evaluation sets, one thread that trains.

    Readers see the rounds that are ``finished``. One assignment publishes the next one:
    a new round, or one that has grown before and is ``following``.
    ``make_training_set`` returns an evaluation set of the training rows, for
    `eval_train`.
    """

    # `GrownRounds`, or those of several outputs. The scores are those of the rounds
    # that have ``grown``: the same object, unless a change goes on or has been
    # interrupted, or rounds are following.
    finished: Any
    grown: Any
    # Whether finished rounds keep their scores while others are following.
    keeps_scores = True

    def __init__(
        self,
        n_threads: int,
        make_training_set: Callable[[], EvaluationSet] | None,
        sets: Sequence[EvaluationSet] = (),
    ) -> None:
        self.n_threads = n_threads
        self.make_training_set = make_training_set
        self.sets = list(sets)
        self.unlisted_sets = []
        self._n_expected = 0  # the rounds that will be asked for
        self._lock = NonBlockingLock(
            "This Booster is already training a round: objectives, metrics and"
            " other threads must not train it at the same time."
        )

    def boost(self, begin: Callable[[], None] | None = None) -> bool:
        if (scope := CURRENT_SCOPE.get()) is not None:
            scope.check()
        self._n_expected = max(0, self._n_expected - 1)
        following = self.finished.following
        if following is not None:
            self.finished = following
        else:
            with self._lock:
                self._settle()
                if begin is not None:
                    begin()
                self.finished = following = self._grow()
        return following.has_split

    def evaluate(self) -> list[EvalResult]:
        return self.evaluate_sets(self.sets) if self.sets else []

    def evaluate_sets(
        self, sets: Sequence[EvaluationSet], more: Sequence[CustomMetric] = ()
    ) -> list[EvalResult]:
        with self._lock:
            if self.finished.following is None or not self.keeps_scores:
                self._settle()
            results: list[EvalResult] = []
            for evaluation_set in sets:
                scores = self.raw_scores(evaluation_set)
                results += evaluation_set.measure(scores, self.n_threads, more)
            return results

    def add(self, evaluation_set: EvaluationSet, *, is_listed: bool = True) -> None:
        with self._lock:
            self._settle()
            self._start_scoring(evaluation_set)
            (self.sets if is_listed else self.unlisted_sets).append(evaluation_set)

    def expecting(self, n_rounds: int, *, is_watched: bool, may_end: bool) -> Expected:
        return Expected(self, n_rounds, is_watched, may_end)

    @abstractmethod
    def _grow(self) -> Any:
        """Grow a round, and perhaps more that are ``following``; returns the first.

        If no tree could be split, these are the finished rounds.
        """

    @abstractmethod
    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        """Set the scores of a new evaluation set."""

    def _settle(self) -> None:
        """Undo a change that has not been finished, and forget rounds that follow.

        Then the next change follows from the finished rounds alone. A change that
        failed is not undone before: this takes time, and many are not used again.
        """
        self._forget_following()
        if self.grown is not self.finished:
            self._follow(self.finished)

    def _forget_following(self) -> None:
        """Forget rounds that are not needed: `_settle` drops their trees."""
        if self.finished.following is not None:
            self.finished = replace(self.finished, following=None)

    @abstractmethod
    def _follow(self, rounds: Any) -> None:
        """Finish some rounds instead of those that are finished now."""


class Expected(CertainEnd):
    """A `with` body whose rounds may grow before they are asked for."""

    def __init__(
        self, rounds: LockedRounds, n_rounds: int, is_watched: bool, may_end: bool
    ) -> None:
        self._rounds, self._n_rounds = rounds, n_rounds
        self._kind = is_watched, may_end

    def _begin(self) -> None:
        self._rounds.expect(self._n_rounds, *self._kind)

    def _end(self, *error: Any) -> None:
        self._rounds.expect(0, *self._kind)
