"""The raw scores of training rows and evaluation sets, to which trees are added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.grower import TreeGrower
from skgoss._engine.training.score import add_trees
from skgoss.binning.rows import Rows
from skgoss.training.binned import BinnedRows, BinnedTrees
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.grown_rounds import GrownRounds, LockedRounds

Floats = NDArray[np.float64]

# Rows and the scores, (n_scores, n_rows), that trees are added to.
Scored = tuple[BinnedRows, Floats]


class ScoredRounds(LockedRounds):
    """The scores of the rounds that have ``grown``.

    Trees are added in the order of the rounds, so the scores are identical to those of
    a fit that ends with them; subtracting trees would leave rounding errors.
    """

    finished: GrownRounds
    grown: GrownRounds
    rows: BinnedRows  # the training rows
    scores: Floats  # of the training rows, (n_scores, n_rows)
    n_scores: int
    init_score: Floats | None  # the start scores of the training rows
    grower: TreeGrower  # made only if a column can be split
    can_split: bool
    # Whether predictions are means of the trees and not sums.
    average_output = False

    def _reset_scores(self) -> None:
        """Set all scores to those before the first round."""
        start, n_rows = self.grown.start, self.dataset.n_rows
        self.scores = initial_scores(start, self.init_score, n_rows)
        self.grown.scores = {}
        for evaluation_set in (*self.sets, *self.unlisted_sets):
            if evaluation_set.binned is not None:
                start_scores = self._start_scores(evaluation_set.rows)
                self.grown.scores[evaluation_set] = start_scores

    def _start_scores(self, rows: Rows) -> Floats:
        return initial_scores(self.grown.start, rows.init_score, len(rows.target))

    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        if evaluation_set.binned is not None:
            scores = self._start_scores(evaluation_set.rows)
            self._add_all_trees([(evaluation_set.binned, scores)])
            self.finished.scores[evaluation_set] = scores

    def _add_new_trees(self, added: bool) -> None:
        """Add the new trees to all scores.

        If ``added``, the grower has added them to the training scores.
        """
        scored_rows = self._scored_sets() if added else self._scored_rows()
        # All rows find their leaves by their bins, also those outside the sample.
        if scored_rows:
            self._add_rounds(scored_rows, self.grown.n - 1)

    def _add_all_trees(self, scored_rows: Sequence[Scored]) -> None:
        """Add the trees of all rounds to scores, in the order of the rounds."""
        spread = self.grown.spread
        if self.can_split and not (spread or self.grown.linear):
            self._add_rounds(scored_rows, 0)
            return
        for index, trees in enumerate(self._trees_by_round() if scored_rows else ()):
            self._add_trees(scored_rows, trees)
            if spread:
                self._add_level(scored_rows, spread[index].level)

    def _add_rounds(self, scored_rows: Sequence[Scored], first: int) -> None:
        """Add the trees of all rounds from one on; of the last one, with its lines."""
        forest, linear = self.grower.forest, self.grown.linear
        for rows, scores in scored_rows:
            table = rows.line_table(linear[-1]) if linear else None
            add_trees(
                forest,
                first * self.n_scores,
                rows.store,
                rows.missing_bin,
                self.n_threads,
                scores,
                rows.numbers,
                table,
            )

    def _trees_by_round(self) -> list[BinnedTrees]:
        """The trees of each round."""
        if self.grown.forest is None:
            return []
        trees = BinnedTrees(*self.grown.forest.arrays())
        return trees.by_round(self.n_scores, self.grown.linear)

    def _scored_rows(self) -> list[Scored]:
        """The rows and scores that trees are added to, the training rows first."""
        return [(self.rows, self.scores), *self._scored_sets()]

    def _scored_sets(self) -> list[Scored]:
        """The rows and scores of the evaluation sets."""
        if not (self.sets or self.unlisted_sets):
            return []
        return [
            (evaluation_set.binned, self.grown.scores[evaluation_set])
            for evaluation_set in (*self.sets, *self.unlisted_sets)
            if evaluation_set.binned is not None
        ]

    def _add_trees(
        self, scored_rows: Sequence[Scored], trees: BinnedTrees, factor: float = 1.0
    ) -> None:
        """Add a multiple of the trees of a round to scores."""
        for rows, scores in scored_rows:
            trees.add(rows, factor, self.n_threads, scores)

    def _new_trees(self) -> BinnedTrees:
        forest = self.grower.forest
        first = forest.n_trees - self.n_scores
        trees = BinnedTrees(*forest.copy(first).arrays())
        linear = self.grown.linear
        return trees._replace(linear=linear[-1] if linear else None)

    def _add_level(self, scored_rows: Sequence[Scored], level: Floats) -> None:
        for _, scores in scored_rows:
            scores += level[:, None]

    def _scores_after(self, finished: GrownRounds) -> Floats:
        """The raw scores of the training rows after some rounds.

        Trees are added in the order of the rounds, which gives the bits of a fit that
        ends with them.
        """
        scores = initial_scores(finished.start, self.init_score, self.dataset.n_rows)
        if finished.forest is None:
            return scores
        forest = finished.forest.copy(0, finished.n * self.n_scores)
        total = np.zeros_like(scores) if self.average_output else scores
        trees = BinnedTrees(*forest.arrays())
        rounds = trees.by_round(self.n_scores, finished.linear)
        factors = np.ones(len(rounds)) if finished.factors is None else finished.factors
        for of_round, factor in zip(rounds, factors, strict=True):
            of_round.add(self.rows, factor, self.n_threads, total)
        return scores + total / max(1, finished.n) if self.average_output else total

    def raw_scores(self, evaluation_set: EvaluationSet) -> Floats:
        finished, is_training = self.finished, evaluation_set.binned is None
        if finished.n == 0:
            rows = evaluation_set.rows
            init_score = self.init_score if is_training else rows.init_score
            return initial_scores(np.zeros_like(finished.start), init_score, len(rows))
        if is_training and finished.following is None:
            return self.scores
        return finished.scores[evaluation_set]


def initial_scores(start: Floats, init_score: Floats | None, n_rows: int) -> Floats:
    scores = np.repeat(start[:, None], n_rows, axis=1)
    return scores if init_score is None else scores + init_score
