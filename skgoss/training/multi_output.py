"""Several outputs: a fit for each of them, side by side on the same bins.

The loss, start scores, samples of rows and trees of an output do not depend on the
others, so its trees are those of a fit of this output alone. Readers see one fit whose
rounds have the trees of all outputs. Trees that several classes share
(``multi_strategy``) are not grown here, but by the engine: `TreeGrower.grow`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.model.ensemble import Ensemble, side_by_side
from skgoss.parameters.settings import Settings
from skgoss.training.boosting import Boosting
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.rounds import MAX_PREFETCHED, Change, GrownRounds, Rounds
from skgoss.training.schedule import Schedule


@dataclass(eq=False)
class _Grown:
    """Rounds of all outputs: see `GrownRounds`."""

    outputs: list[GrownRounds]
    # Whether the trees of each output can no longer be split.
    has_ended: list[bool]
    # Whether a tree of the last round could be split.
    has_split: bool = True
    prefetched: _Grown | None = None
    ensemble: Ensemble | None = None

    @property
    def n(self) -> int:
        return max(rounds.n for rounds in self.outputs)


class MultiOutput(Rounds):
    """Fits of several outputs that advance together.

    An output whose trees can no longer be split is finished, as in a fit of it alone.
    The others continue. ``outputs`` are the fits of the outputs, without evaluation
    sets. ``n_at_once`` of them grow their trees at the same time; if it is 1, in the
    calling thread.
    """

    keeps_scores = False

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
        begun = [output.finished for output in self.outputs]
        # See `Rounds`. While the outputs change, ``grown`` is None.
        self.finished = _Grown(begun, [False] * len(outputs))
        self.grown: _Grown | None = self.finished

    def current_iteration(self) -> int:
        return self.first_round + self.finished.n

    @property
    def n_leaves(self) -> int:
        return sum(output.n_leaves for output in self.outputs)

    def ensemble(self) -> Ensemble:
        finished = self.finished
        if finished.ensemble is None:
            pairs = zip(self.outputs, finished.outputs, strict=True)
            finished.ensemble = side_by_side(
                [output.ensemble_of(rounds) for output, rounds in pairs]
            )
        return finished.ensemble

    def changes(self, params: Mapping[str, Any]) -> list[Change]:
        changes: list[Change] = [(self, "settings", self.settings.changed(params))]
        for output in self.outputs:
            changes += output.changes(params)
        return changes

    def _grow(self) -> _Grown:
        """Grow the next round of all outputs, and later ones that may be prefetched.

        Outputs that can no longer be split keep their rounds. The result is the next
        round, its `prefetched` the one after it, and so on.
        """
        outputs, has_ended = self.finished.outputs, self.finished.has_ended
        if all(has_ended):  # all are tried again, as a single fit is
            has_ended = [False] * len(outputs)
        running = [k for k, is_ended in enumerate(has_ended) if not is_ended]
        rounds: dict[int, list[GrownRounds]] = {k: [] for k in running}

        def grow(k: int) -> bool:
            has_split = self.outputs[k].boost()
            rounds[k].append(self.outputs[k].finished)
            return has_split

        n_prefetched = 0 if self._is_evaluated else self._n_expected
        self.grown = None
        with Schedule([partial(grow, k) for k in running], self.n_at_once) as schedule:
            schedule.reach(min(n_prefetched + 1, MAX_PREFETCHED))
        grown: list[_Grown] = []
        for index in range(max(map(len, rounds.values()))):
            current = {
                k: grown_k[index]
                for k, grown_k in rounds.items()
                if index < len(grown_k)
            }
            outputs, has_ended = list(outputs), list(has_ended)
            for k, outputs[k] in current.items():
                has_ended[k] = not outputs[k].has_split
            has_split = any(output.has_split for output in current.values())
            grown.append(_Grown(outputs, has_ended, has_split))
        for previous, prefetched in pairwise(grown):
            previous.prefetched = prefetched
        self.grown = grown[-1]
        return grown[0]

    def release_buffers(self) -> None:
        for output in self.outputs:
            output.release_buffers()

    def rollback(self) -> None:
        """Drop the last round of the outputs that have it.

        Outputs that had ended in an earlier round keep theirs.
        """
        with self._lock:
            self._settle()
            n_rounds = max(self.finished.n - 1, 0)
            outputs, has_ended = [], []
            for k, output in enumerate(self.outputs):
                rounds, is_shorter = output.finished, output.finished.n <= n_rounds
                outputs.append(rounds if is_shorter else output.first(n_rounds))
                # An output that had ended before has still ended.
                has_ended.append(self.finished.has_ended[k] and is_shorter)
            self._continue_from(_Grown(outputs, has_ended))

    def end(self, n_rounds: int) -> None:
        """End the fits of all outputs: keep their first ``n_rounds`` rounds."""
        with self._lock:
            self.grown = None
            for output in self.outputs:
                output.end(min(n_rounds, self.finished.n))
            self._finish(replace(self.finished, ensemble=None))

    def set_leaf(self, tree: int, leaf: int, value: float) -> None:
        """Change the value of a leaf in the fit of its output.

        ``tree`` is its number among those of all outputs, round by round. ValueError if
        its output had ended before this round.
        """
        with self._lock:
            self._settle()
            index, score = divmod(tree, self.spans[-1][-1])
            k = next(k for k, (_, stop) in enumerate(self.spans) if score < stop)
            output, (first, stop) = self.outputs[k], self.spans[k]
            if index >= output.current_iteration():
                raise ValueError(
                    f"The leaves of tree {tree} cannot be changed in training: no tree"
                    " of this output can be split any more."
                )
            self.grown = None
            output.set_leaf(index * (stop - first) + score - first, leaf, value)
            self._finish(replace(self.finished, ensemble=None))

    def resume(
        self, other: MultiOutput, with_metrics: Callable[[EvaluationSet], EvaluationSet]
    ) -> None:
        """Continue from a fit on other rows in the same bins, output by output.

        ``with_metrics`` makes evaluation sets of this fit from those of the other fit.
        """
        self._lock = other._lock
        with self._lock:
            other._settle()
            for output, earlier in zip(self.outputs, other.outputs, strict=True):
                output.resume(earlier, lambda evaluation_set: evaluation_set)
            self.sets = [self._adopted(e, with_metrics, other) for e in other.sets]
            self.on_demand_sets = [
                self._adopted(e, with_metrics, other) for e in other.on_demand_sets
            ]
            self._finish(self.finished)

    def _adopted(
        self,
        evaluation_set: EvaluationSet,
        with_metrics: Callable[[EvaluationSet], EvaluationSet],
        other: MultiOutput,
    ) -> EvaluationSet:
        """An evaluation set of another fit, for this fit."""
        adopted = with_metrics(evaluation_set)
        is_training = evaluation_set.binned is None
        self._sets_of[adopted] = (
            self._sets_of_outputs(adopted)
            if is_training
            else other._sets_of[evaluation_set]
        )
        return adopted

    def raw_scores(self, evaluation_set: EvaluationSet) -> NDArray[np.float64]:
        """The raw scores of a set, (n_scores, n_rows): those of the outputs."""
        sets = self._sets_of[evaluation_set]
        return np.concatenate(
            [
                output.raw_scores(rows)
                for output, rows in zip(self.outputs, sets, strict=True)
            ]
        )

    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        sets = self._sets_of[evaluation_set] = self._sets_of_outputs(evaluation_set)
        self.grown = None
        for output, rows in zip(self.outputs, sets, strict=True):
            output.add(rows)

    def _sets_of_outputs(self, evaluation_set: EvaluationSet) -> list[EvaluationSet]:
        """The rows of an evaluation set with the start scores of each output."""
        rows, binned = evaluation_set.rows, evaluation_set.binned
        make = partial(EvaluationSet, evaluation_set.name, metrics=[], binned=binned)
        return [
            make(rows=rows.select_output(k, *span)) for k, span in enumerate(self.spans)
        ]

    def _continue_from(self, rounds: _Grown) -> None:
        """Replace the finished rounds by others, and their scores."""
        self.grown = None
        sets = [self._sets_of[e] for e in (*self.sets, *self.on_demand_sets)]
        for k, output in enumerate(self.outputs):
            output.sets = [output_sets[k] for output_sets in sets]
            output.restore(rounds.outputs[k])
        self._finish(rounds)

    def _finish(self, rounds: _Grown) -> None:
        """Finish some rounds, with what the outputs have finished."""
        outputs = [output.finished for output in self.outputs]
        self.grown = replace(rounds, outputs=outputs, prefetched=None)
        self.finished = self.grown
