"""Several outputs: a fit for each of them, side by side on the same bins.

The loss, start scores, samples of rows and trees of an output depend on no other, so
its trees are those of a fit of this output alone. Readers see one fit whose rounds have
the trees of all outputs. A tree that several classes share (``multi_strategy``) is not
grown here, but by the engine: `TreeGrower.grow`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.model.ensemble import Ensemble, side_by_side
from skgoss.parameters.settings import Settings
from skgoss.training.boosting import Boosting, FinishedRounds, LockedRounds
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.rounds import AHEAD
from skgoss.training.schedule import Schedule

# Whether a round has grown, and the finished rounds after it.
_Round = tuple[bool, FinishedRounds]


@dataclass(eq=False)
class _Finished:
    """The finished rounds of all outputs; only ``ensemble`` is set later."""

    n: int
    outputs: list[FinishedRounds]
    ensemble: Ensemble | None = None


class MultiOutput(LockedRounds):
    """Fits of several outputs that advance together.

    An output whose trees can no longer be split is finished, as in a fit of it alone.
    The others go on. ``outputs`` are the fits of the outputs, without evaluation sets.
    ``n_at_once`` of them grow their trees at the same time; if it is 1, in the thread
    that calls.
    """

    def __init__(
        self,
        dataset: BinnedDataset,
        outputs: Sequence[Boosting],
        settings: Settings,
        n_threads: int,
        n_at_once: int = 1,
        make_training_set: Callable[[], EvaluationSet] | None = None,
    ) -> None:
        super().__init__(n_threads, make_training_set)
        self.dataset = dataset
        self.outputs = list(outputs)
        self.partition, self.first_round = outputs[0].partition, outputs[0].first_round
        self.settings = settings
        self.n_at_once = n_at_once
        n_scores = np.cumsum([0, *(output.objective.n_scores for output in outputs)])
        # The first and the last score, plus 1, of each output.
        self.spans = list(pairwise(n_scores.tolist()))
        # The rows of each evaluation set, as evaluation sets of the outputs.
        self._sets_of: dict[EvaluationSet, list[EvaluationSet]] = {}
        # The rounds that have grown before they were asked for, and how many may.
        self._grown: deque[dict[int, _Round]] = deque()
        self._n_expected = 0
        # What readers may see of each output.
        self._seen = [output.finished for output in self.outputs]
        # Whether the trees of each output can no longer be split.
        self._has_ended = [False] * len(outputs)
        self._publish()

    def current_iteration(self) -> int:
        return self.first_round + self.finished.n

    @property
    def n_leaves(self) -> int:
        return sum(output.n_leaves for output in self.outputs)

    def ensemble(self) -> Ensemble:
        while (finished := self.finished).ensemble is None:
            pairs = zip(self.outputs, finished.outputs, strict=True)
            ensembles = [output.ensemble_of(rounds) for output, rounds in pairs]
            complete = [ensemble for ensemble in ensembles if ensemble is not None]
            # Else some rounds were taken back while their trees were read.
            if len(complete) == len(ensembles):
                finished.ensemble = side_by_side(complete)
        return finished.ensemble

    def _publish(self) -> None:
        """Let readers see the rounds that are finished now, in one assignment."""
        seen = list(self._seen)
        self.finished = _Finished(max(rounds.n for rounds in seen), seen)

    def _publish_all(self) -> None:
        """Let readers see all rounds of the outputs."""
        self._grown.clear()
        self._seen = [output.finished for output in self.outputs]
        self._publish()

    def reset_parameter(self, params: Mapping[str, Any]) -> Self:
        self.settings = self.settings.changed(params)
        for output in self.outputs:
            output.reset_parameter(params)
        return self

    def _expect(self, n_rounds: int, is_watched: bool, may_end: bool) -> None:
        self._n_expected = 0 if is_watched else n_rounds
        if n_rounds == 0 and self._grown:
            # Nobody has asked for these rounds.
            self._has_failed = True

    def boost(self, begin: Callable[[], None] | None = None) -> bool:
        with self._lock:
            self._undo_failed_round()
            if begin is not None:
                begin()
            if all(self._has_ended):  # each tries again, as a single fit does
                self._has_ended = [False] * len(self.outputs)
            if not self._grown:
                try:
                    self._grow(max(1, min(self._n_expected, AHEAD)))
                except BaseException:
                    self._has_failed = True
                    raise
            self._n_expected = max(0, self._n_expected - 1)
            grown = self._grown.popleft()
            for k, (has_grown, finished) in grown.items():
                self._has_ended[k] = not has_grown
                self._seen[k] = finished
            self._publish()
            return any(has_grown for has_grown, _ in grown.values())

    def _grow(self, n_rounds: int) -> None:
        """Grow some rounds of all outputs that have not ended."""
        running = [k for k, has_ended in enumerate(self._has_ended) if not has_ended]
        rounds: dict[int, list[_Round]] = {k: [] for k in running}

        def grow(k: int) -> bool:
            output = self.outputs[k]
            rounds[k].append((output.boost(), output.finished))
            return rounds[k][-1][0]

        with Schedule([partial(grow, k) for k in running], self.n_at_once) as schedule:
            schedule.reach(n_rounds)
        for index in range(max(map(len, rounds.values()))):
            self._grown.append(
                {k: of_k[index] for k, of_k in rounds.items() if index < len(of_k)}
            )

    def rest(self) -> None:
        for output in self.outputs:
            output.rest()

    def rollback(self) -> None:
        with self._lock:
            self._undo_failed_round()
            self._rewind(max(self.finished.n - 1, 0))

    def end(self, n_rounds: int) -> None:
        with self._lock:
            for output in self.outputs:
                output.end(min(n_rounds, output.finished.n))
            self._publish_all()

    def set_leaf(self, tree: int, leaf: int, value: float) -> None:
        with self._lock:
            self._undo_failed_round()
            index, score = divmod(tree, self.spans[-1][-1])
            k = next(k for k, (_, stop) in enumerate(self.spans) if score < stop)
            output, (first, stop) = self.outputs[k], self.spans[k]
            if index >= output.current_iteration():
                raise ValueError(
                    f"The leaves of tree {tree} cannot be changed in training: no tree"
                    " of this output can be split any more."
                )
            output.set_leaf(index * (stop - first) + score - first, leaf, value)
            self._publish_all()

    def resume(
        self, other: MultiOutput, with_metrics: Callable[[EvaluationSet], EvaluationSet]
    ) -> None:
        self._lock = other._lock
        with self._lock:
            other._undo_failed_round()
            for output, earlier in zip(self.outputs, other.outputs, strict=True):
                output.resume(earlier, lambda evaluation_set: evaluation_set)
            self.sets = [self._taken(e, with_metrics, other) for e in other.sets]
            self.unlisted_sets = [
                self._taken(e, with_metrics, other) for e in other.unlisted_sets
            ]
            self._publish_all()

    def _taken(
        self,
        evaluation_set: EvaluationSet,
        with_metrics: Callable[[EvaluationSet], EvaluationSet],
        other: MultiOutput,
    ) -> EvaluationSet:
        taken = with_metrics(evaluation_set)
        is_training = evaluation_set.binned is None
        self._sets_of[taken] = (
            self._sets_of_outputs(taken)
            if is_training
            else other._sets_of[evaluation_set]
        )
        return taken

    def raw_scores(self, evaluation_set: EvaluationSet) -> NDArray[np.float64]:
        sets = self._sets_of[evaluation_set]
        return np.concatenate(
            [
                output.raw_scores(rows)
                for output, rows in zip(self.outputs, sets, strict=True)
            ]
        )

    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        sets = self._sets_of[evaluation_set] = self._sets_of_outputs(evaluation_set)
        for output, rows in zip(self.outputs, sets, strict=True):
            output.add(rows)

    def _sets_of_outputs(self, evaluation_set: EvaluationSet) -> list[EvaluationSet]:
        """The rows of an evaluation set with the start scores of each output."""
        rows, binned = evaluation_set.rows, evaluation_set.binned
        make = partial(EvaluationSet, evaluation_set.name, metrics=[], binned=binned)
        return [
            make(rows=rows.of_output(k, *span)) for k, span in enumerate(self.spans)
        ]

    def _undo_failed_round(self) -> None:
        if self._has_failed:
            self._n_expected = 0
            self._rewind(self.finished.n)

    def _rewind(self, n_rounds: int) -> None:
        """Forget later rounds of all outputs."""
        self._has_failed = True
        for k, output in enumerate(self.outputs):
            # If it has ended after these rounds, it ends there again.
            self._has_ended[k] &= output.finished.n <= n_rounds
            output.rewind(n_rounds)
        self._publish_all()
        self._has_failed = False
