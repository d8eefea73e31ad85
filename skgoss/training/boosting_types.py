"""The other boosting types: DART and random forests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.parameters.settings import Settings
from skgoss.training.binned import BinnedTrees
from skgoss.training.boosting import Boosting, Floats
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.rounds import GrownRounds, Scored


class Dropout(NamedTuple):
    """The rounds whose trees are dropped while a new round grows."""

    rounds: NDArray[np.intp]
    new_weight: float  # the weight of the new trees; that of each dropped round is 1

    @property
    def factor(self) -> float:
        """The factor of the new trees."""
        n = len(self.rounds)
        return 1.0 / (self.new_weight + n) if n else 1.0

    def normalized(self, factor: Floats) -> Floats:
        """The factors of all rounds after a round of DART, (n + 1,).

        ``factor``, (n,), are those of the earlier rounds. The k dropped rounds are
        multiplied by k / (k + new_weight), and the new one gets `factor`.
        """
        n, new = len(self.rounds), np.append(factor, self.factor)
        new[self.rounds] *= n / (n + self.new_weight)
        return new


class Dart(Boosting):
    """DART: trees are dropped at random while new trees are grown.

    Then the new trees and the dropped ones are scaled down, so that their sum keeps its
    size (K. V. Rashmi and R. Gilad-Bachrach, "DART: Dropouts meet Multiple Additive
    Regression Trees", AISTATS 2015).
    """

    adds_while_growing = False
    _no_factors = np.empty(0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.trees: list[BinnedTrees] = []  # of each round
        super().__init__(*args, **kwargs)

    def _grow_in_python(self) -> GrownRounds:
        """Grow a round on scores without the dropped trees."""
        before, factors = self.finished.n, self._factors
        self.dropout = self._draw(self.first_round + before, factors)
        self._subtract(self._scored_rows(), self.dropout, factors)
        grown = super()._grow_in_python()
        if grown.n == before and len(self.dropout.rounds):
            self._continue_from(self.finished)
        return grown

    @property
    def _factors(self) -> Floats:
        """The factors of the grown rounds."""
        assert self.grown.factors is not None
        return self.grown.factors

    def _draw(self, round_index: int, factors: Floats) -> Dropout:
        """The rounds to drop, with probabilities proportional to their weights.

        ``factors`` are those of the rounds so far, (n,). A round is the same for the
        same seed and number.
        """
        settings, n = self.settings, len(factors)
        new_weight = settings.learning_rate if settings.xgboost_dart_mode else 1.0
        random = np.random.default_rng([settings.drop_seed, round_index])
        if n == 0 or random.random() < settings.skip_drop:
            return Dropout(np.empty(0, dtype=np.intp), new_weight)
        limit = settings.max_drop if settings.max_drop > 0 else n
        weight = np.ones(n) if settings.uniform_drop else factors / factors.mean()
        chance = min(settings.drop_rate, limit / n) * weight
        return Dropout(np.flatnonzero(random.random(n) < chance)[:limit], new_weight)

    def first(self, n_rounds: int) -> GrownRounds:
        """A copy of the first rounds, with the factors that they had then."""
        first = super().first(n_rounds)
        factors = self._no_factors
        for dropout in first.dropouts:
            factors = dropout.normalized(factors)
        return replace(first, factors=factors)

    def _reset_scores(self) -> None:
        super()._reset_scores()
        self.trees = self._trees_by_round()

    def _add_new_trees(self, added: bool) -> None:
        """Add the trees of the round to all scores, and scale the dropped ones down.

        ``added`` does not matter here: the engine has not added trees of DART.
        """
        self.trees.append(self._new_trees())
        self.grown.dropouts.append(self.dropout)
        self.grown.factors = self._add_normalized(
            self._scored_rows(), len(self.trees) - 1, self._factors
        )

    def _add_all_trees(self, scored_rows: Sequence[Scored]) -> None:
        """Add all trees to scores, in the order and the way of the rounds."""
        factor, spread = self._no_factors, self.grown.spread
        for index, dropout in enumerate(self.grown.dropouts):
            self._subtract(scored_rows, dropout, factor)
            factor = self._add_normalized(scored_rows, index, factor)
            if spread:
                self._add_level(scored_rows, spread[index].level)

    def _subtract(
        self, scored_rows: Sequence[Scored], dropout: Dropout, factor: Floats
    ) -> None:
        """Subtract the trees of the dropped rounds, times their factors, from scores.

        ``factor``, (n_rounds,), are the factors that they have in the scores.
        """
        for i in dropout.rounds:
            self._add_trees(scored_rows, self.trees[i], -factor[i])

    def _add_normalized(
        self, scored_rows: Sequence[Scored], index: int, factor: Floats
    ) -> Floats:
        """Add the trees of a round, and those that it dropped, to scores.

        ``index`` is the number of the round. ``factor``, (index,), are the factors of
        the earlier rounds before it; returns those of all rounds, scaled down, with
        which the trees are added.
        """
        dropout = self.grown.dropouts[index]
        factor = dropout.normalized(factor)
        self._add_trees(scored_rows, self.trees[index], dropout.factor)
        for i in dropout.rounds:
            self._add_trees(scored_rows, self.trees[i], factor[i])
        return factor


class Forest(Boosting):
    """A random forest: all trees are grown on the start scores and averaged."""

    adds_while_growing = False
    average_output = True
    limits_steps = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The sums of the trees, without start scores, of evaluated sets.
        self.sums: dict[EvaluationSet, Floats] = {}
        super().__init__(*args, **kwargs)

    def _effective_settings(self, settings: Settings) -> Settings:
        return settings.replaced(learning_rate=1.0)

    def _start_by_round(self, finished: GrownRounds) -> Floats:
        return np.tile(finished.start, (finished.n, 1))

    def _reset_scores(self) -> None:
        super()._reset_scores()
        self.sums = {e: np.zeros_like(total) for e, total in self.sums.items()}

    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        if evaluation_set.binned is not None:
            scores = self._start_scores(evaluation_set.rows)
            self.finished.scores[evaluation_set] = scores

    def _scored_rows(self) -> list[Scored]:
        return [(e.binned or self.rows, total) for e, total in self.sums.items()]

    def raw_scores(self, evaluation_set: EvaluationSet) -> Floats:
        """The start scores of a set plus the mean of all trees, (n_scores, n_rows).

        The sums of the trees are kept, and computed when they are first needed.
        """
        start = super().raw_scores(evaluation_set)
        if evaluation_set not in self.sums:
            total = np.zeros_like(start)
            rows = evaluation_set.binned or self.rows
            self._add_all_trees([(rows, total)])
            self.sums[evaluation_set] = total
        return start + self.sums[evaluation_set] / max(1, self.finished.n)


BOOSTING_TYPES: dict[str, type[Boosting]] = {
    "gbdt": Boosting,
    "dart": Dart,
    "rf": Forest,
}
