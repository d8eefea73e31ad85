"""The kinds of boosting besides gradient boosting: DART and random forests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.training.binned import BinnedTrees
from skgoss.training.boosting import Boosting, FinishedRounds, Floats, Followed
from skgoss.training.evaluation import EvaluationSet

if TYPE_CHECKING:
    from skgoss.parameters.settings import Settings


class Drop(NamedTuple):
    """What is dropped while the trees of a round are grown.

    Attributes
    ----------
    rounds : ndarray of intp
    share : float
        The weight of the new trees; that of each dropped round is 1.
    """

    rounds: NDArray[np.intp]
    share: float

    @property
    def factor(self) -> float:
        """The factor of the new trees."""
        n = len(self.rounds)
        return 1.0 / (self.share + n) if n else 1.0

    def changed(self, factor: Floats) -> Floats:
        """The factors of all rounds, given those of the rounds before."""
        n, new = len(self.rounds), np.append(factor, self.factor)
        new[self.rounds] *= n / (n + self.share)
        return new


class Dart(Boosting):
    """Boosting in which trees are dropped at random while new trees are grown.

    References
    ----------
    K. V. Rashmi and R. Gilad-Bachrach, "DART: Dropouts meet Multiple Additive
    Regression Trees", AISTATS 2015.
    """

    adds_early = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.trees: list[BinnedTrees] = []
        self.drops: list[Drop] = []
        self.factor = np.empty(0)
        super().__init__(*args, **kwargs)

    def _factors(self) -> Floats:
        return self.factor

    def _round(self, round_index: int) -> bool:
        """Grow the trees of one round on scores without the dropped trees."""
        before = len(self.trees)
        self.drop = self._draw(round_index)
        self._leave_out(self._followed(), self.drop, self.factor)
        grew = super()._round(round_index)
        if len(self.trees) == before and len(self.drop.rounds):
            self._rewind(before)
        return grew

    def _draw(self, round_index: int) -> Drop:
        """The rounds to drop, with probabilities proportional to their weights."""
        settings, n = self.settings, len(self.factor)
        share = settings.learning_rate if settings.xgboost_dart_mode else 1.0
        random = np.random.default_rng([settings.drop_seed, round_index])
        if n == 0 or random.random() < settings.skip_drop:
            return Drop(np.empty(0, dtype=np.intp), share)
        limit = settings.max_drop if settings.max_drop > 0 else n
        weight = (
            np.ones(n) if settings.uniform_drop else self.factor / self.factor.mean()
        )
        chance = min(settings.drop_rate, limit / n) * weight
        return Drop(np.flatnonzero(random.random(n) < chance)[:limit], share)

    def _add_round(self, added: bool) -> None:
        self.trees.append(self._last_trees())
        self.drops.append(self.drop)
        self.factor = self._put_in(self._followed(), len(self.trees) - 1, self.factor)

    def _add_again(self, followed: Sequence[Followed]) -> None:
        factor = np.empty(0)
        for index, drop in enumerate(self.drops):
            self._leave_out(followed, drop, factor)
            factor = self._put_in(followed, index, factor)

    def _leave_out(
        self, followed: Sequence[Followed], drop: Drop, factor: Floats
    ) -> None:
        """Subtract dropped trees from scores."""
        for i in drop.rounds:
            self._add(followed, self.trees[i], -factor[i])

    def _put_in(
        self, followed: Sequence[Followed], index: int, factor: Floats
    ) -> Floats:
        """Add the trees of a round, and those that it dropped, to scores.

        Takes the factors of the rounds before and returns those of all rounds.
        """
        drop = self.drops[index]
        factor = drop.changed(factor)
        self._add(followed, self.trees[index], drop.factor)
        for i in drop.rounds:
            self._add(followed, self.trees[i], factor[i])
        return factor

    def _forget(self, n_rounds: int) -> None:
        super()._forget(n_rounds)
        del self.trees[n_rounds:], self.drops[n_rounds:]
        self.factor = np.empty(0)
        for drop in self.drops:
            self.factor = drop.changed(self.factor)

    def _take_trees(self, other: Dart) -> None:
        super()._take_trees(other)
        self.trees, self.drops = list(other.trees), list(other.drops)
        self.factor = other.factor


class Forest(Boosting):
    """A random forest: all trees are grown on the start scores and averaged."""

    adds_early = False
    averages = True
    bounds_steps = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The sums of the trees, besides the start scores, of sets that were measured.
        self.sums: dict[EvaluationSet, Floats] = {}
        super().__init__(*args, **kwargs)

    def _own(self, settings: Settings) -> Settings:
        return replace(settings, learning_rate=1.0)

    def _starts(self, finished: FinishedRounds) -> Floats:
        return np.tile(finished.start, (finished.n, 1))

    def _begin(self) -> None:
        super()._begin()
        self.sums = {e: np.zeros_like(total) for e, total in self.sums.items()}

    def _catch_up(self, evaluated: EvaluationSet) -> None:
        if evaluated.binned is not None:
            evaluated.scores = self._at_start(evaluated.rows)

    def _followed(self) -> list[Followed]:
        return [
            Followed(e.binned or self.rows, total) for e, total in self.sums.items()
        ]

    def _evaluated(self, evaluated: EvaluationSet) -> Floats:
        start = super()._evaluated(evaluated)
        if evaluated not in self.sums:
            total = np.zeros_like(start)
            self._add_again([Followed(evaluated.binned or self.rows, total)])
            self.sums[evaluated] = total
        return start + self.sums[evaluated] / max(1, self._n_grown)


KINDS: dict[str, type[Boosting]] = {"gbdt": Boosting, "dart": Dart, "rf": Forest}
