"""The boosting types besides gradient boosting: DART and random forests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.parameters.settings import Settings
from skgoss.training.binned import BinnedTrees
from skgoss.training.boosting import Boosting, FinishedRounds, Floats, Scored
from skgoss.training.evaluation import EvaluationSet


class Dropout(NamedTuple):
    """The rounds whose trees are dropped while those of a new round are grown."""

    rounds: NDArray[np.intp]
    new_weight: float  # the weight of the new trees; that of each dropped round is 1

    @property
    def factor(self) -> float:
        """The factor of the new trees."""
        n = len(self.rounds)
        return 1.0 / (self.new_weight + n) if n else 1.0

    def normalized(self, factor: Floats) -> Floats:
        """The factors of all rounds, from those of the rounds before."""
        n, new = len(self.rounds), np.append(factor, self.factor)
        new[self.rounds] *= n / (n + self.new_weight)
        return new


class Dart(Boosting):
    """DART: trees are dropped at random while new trees are grown.

    Then the new trees and the dropped ones are scaled down, so that their sum keeps its
    size (K. V. Rashmi and R. Gilad-Bachrach, "DART: Dropouts meet Multiple Additive
    Regression Trees", AISTATS 2015).
    """

    factor: Floats
    adds_while_growing = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.trees: list[BinnedTrees] = []
        self.dropouts: list[Dropout] = []
        self.factor = np.empty(0)
        super().__init__(*args, **kwargs)

    def _boost_round(self, round_index: int) -> bool:
        """Grow the trees of one round on scores without the dropped trees."""
        before = len(self.trees)
        self.dropout = self._draw(round_index)
        self._subtract(self._scored_rows(), self.dropout, self.factor)
        grew = super()._boost_round(round_index)
        if len(self.trees) == before and len(self.dropout.rounds):
            self._rewind(before)
        return grew

    def _draw(self, round_index: int) -> Dropout:
        """The rounds to drop, with probabilities proportional to their weights."""
        settings, n = self.settings, len(self.factor)
        new_weight = settings.learning_rate if settings.xgboost_dart_mode else 1.0
        random = np.random.default_rng([settings.drop_seed, round_index])
        if n == 0 or random.random() < settings.skip_drop:
            return Dropout(np.empty(0, dtype=np.intp), new_weight)
        limit = settings.max_drop if settings.max_drop > 0 else n
        weight = (
            np.ones(n) if settings.uniform_drop else self.factor / self.factor.mean()
        )
        chance = min(settings.drop_rate, limit / n) * weight
        return Dropout(np.flatnonzero(random.random(n) < chance)[:limit], new_weight)

    def _read_trees_again(self) -> None:
        self.trees = self._trees_by_round()

    def _add_new_trees(self, added: bool) -> None:
        self.trees.append(self._new_trees())
        self.dropouts.append(self.dropout)
        index = len(self.trees) - 1
        self.factor = self._add_normalized(self._scored_rows(), index, self.factor)

    def _add_all_trees(self, scored_rows: Sequence[Scored]) -> None:
        factor, levels = np.empty(0), self.finished.levels
        for index, dropout in enumerate(self.dropouts):
            self._subtract(scored_rows, dropout, factor)
            factor = self._add_normalized(scored_rows, index, factor)
            if levels:
                self._add_level(scored_rows, levels[index])

    def _subtract(
        self, scored_rows: Sequence[Scored], dropout: Dropout, factor: Floats
    ) -> None:
        """Subtract dropped trees from scores."""
        for i in dropout.rounds:
            self._add_trees(scored_rows, self.trees[i], -factor[i])

    def _add_normalized(
        self, scored_rows: Sequence[Scored], index: int, factor: Floats
    ) -> Floats:
        """Add the trees of a round, and those that it dropped, to scores.

        Takes the factors of the rounds before and returns those of all rounds.
        """
        dropout = self.dropouts[index]
        factor = dropout.normalized(factor)
        self._add_trees(scored_rows, self.trees[index], dropout.factor)
        for i in dropout.rounds:
            self._add_trees(scored_rows, self.trees[i], factor[i])
        return factor

    def _drop_trees(self, n_rounds: int) -> None:
        super()._drop_trees(n_rounds)
        del self.trees[n_rounds:], self.dropouts[n_rounds:]
        self.factor = np.empty(0)
        for dropout in self.dropouts:
            self.factor = dropout.normalized(self.factor)

    def _take_trees(self, other: Boosting) -> None:
        super()._take_trees(other)
        if isinstance(other, Dart):
            self.trees, self.dropouts = list(other.trees), list(other.dropouts)
            self.factor = other.factor


class Forest(Boosting):
    """A random forest: all trees are grown on the start scores and averaged."""

    adds_while_growing = False
    average_output = True
    limits_steps = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The sums of the trees, without the start scores, of sets that were evaluated.
        self.sums: dict[EvaluationSet, Floats] = {}
        super().__init__(*args, **kwargs)

    def _effective_settings(self, settings: Settings) -> Settings:
        return settings.replaced(learning_rate=1.0)

    def _start_by_round(self, finished: FinishedRounds) -> Floats:
        return np.tile(finished.start, (finished.n, 1))

    def _reset_scores(self) -> None:
        super()._reset_scores()
        self.sums = {e: np.zeros_like(total) for e, total in self.sums.items()}

    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        if evaluation_set.binned is not None:
            evaluation_set.scores = self._start_scores(evaluation_set.rows)

    def _scored_rows(self) -> list[Scored]:
        return [(e.binned or self.rows, total) for e, total in self.sums.items()]

    def raw_scores(self, evaluation_set: EvaluationSet) -> Floats:
        start = super().raw_scores(evaluation_set)
        if evaluation_set not in self.sums:
            total = np.zeros_like(start)
            rows = evaluation_set.binned or self.rows
            self._add_all_trees([(rows, total)])
            self.sums[evaluation_set] = total
        return start + self.sums[evaluation_set] / max(1, self._n_grown)


BOOSTING_TYPES: dict[str, type[Boosting]] = {
    "gbdt": Boosting,
    "dart": Dart,
    "rf": Forest,
}
