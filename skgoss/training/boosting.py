"""Gradient boosting: gradients, samples of rows, trees, scores, metrics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.locks import CertainEnd, NonBlockingLock
from skgoss._engine.objectives.loss_kernels import Loss
from skgoss._engine.training.forest import Forest as GrownTrees
from skgoss._engine.training.grower import TreeGrower
from skgoss._engine.training.score import add_trees
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves, RawColumns
from skgoss.objectives.gradients import Custom, Likelihood
from skgoss.objectives.metrics import CustomMetric
from skgoss.objectives.survival import Baseline, PartialLikelihood
from skgoss.objectives.training_objective import Objective
from skgoss.parameters.settings import Settings
from skgoss.training import constraints, ensemble_builder, sampling
from skgoss.training.binned import BinnedRows, BinnedTrees
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.training.noise import row_keys
from skgoss.training.rounds import AHEAD, FAR_AHEAD, Change, Rounds
from skgoss.training.spread import RoundOfSpread, Spread
from skgoss.utils.cancellation import CURRENT_SCOPE
from skgoss.utils.messages import STANDS_FOR_LIGHTGBM

Floats = NDArray[np.float64]
Grown = TypeVar("Grown")

# The arrays of the linear models of rounds, as the grower makes them.
Lines = list[tuple[NDArray[Any], ...]]

# So many times columns and thresholds are drawn for a round without a split.
_DRAWS = 30

# If somebody watches the rounds, those that read so many values may grow ahead: perhaps
# in vain, which takes some milliseconds, and their scores are kept. In larger fits
# Python's part of a round counts for little. Not tuned.
_MOST_VALUES = 1 << 22


# Rows and the scores, (n_scores, n_rows), that trees are added to.
Scored = tuple[BinnedRows, Floats]


class LockedRounds(Rounds):
    """What all states of boosting share: evaluation sets, one thread that trains.

    ``make_training_set`` returns an evaluation set of the training rows, for
    `eval_train`.
    """

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
        self._lock = NonBlockingLock(
            "This Booster is already training a round: objectives, metrics and"
            " other threads must not train it at the same time."
        )

    def evaluate(self) -> list[EvalResult]:
        return self.evaluate_sets(self.sets) if self.sets else []

    def evaluate_sets(
        self, sets: Sequence[EvaluationSet], more: Sequence[CustomMetric] = ()
    ) -> list[EvalResult]:
        with self._lock:
            self._settle(for_scores=True)
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
    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        """Set the scores of a new evaluation set."""

    @abstractmethod
    def _settle(self, *, for_scores: bool = False) -> None:
        """Undo a change that has not been finished, and forget rounds grown ahead.

        Without these, the next change follows from the finished rounds alone. If it is
        only ``for_scores``, those that the rounds ahead have kept do. A change that
        failed is not undone before: this takes time, and many are not used again.
        """


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
            following=None,
            ensemble=None,
        )


class Boosting(LockedRounds):
    """The state of a fit: the scores of the training rows and the trees so far.

    Readers see the rounds that are ``finished``. The scores are those of the rounds
    that have ``grown``: the same object, unless a change goes on or has been
    interrupted, or rounds have grown ahead. So one assignment to ``finished`` publishes
    a change, and one that never came is undone when the fit is next used: `_settle`.

    Boosting starts from the best constant, in addition to ``init_score``, of shape
    (n_scores, n_rows). The trees include the constant, but not these scores. If they
    are those of ``init_ensemble``, an earlier model, the trees include that model's
    trees, and there is no constant. Linear leaves need ``raw``, the values of the rows.
    In ``settings``, columns have numbers.
    """

    # Made only if a column can be split.
    grower: TreeGrower

    # Whether the grower may add the values of new trees to the training scores itself.
    adds_while_growing = True
    # Whether predictions are means of the trees and not sums.
    average_output = False
    # Whether the steps of trees are limited, so that none increases the loss.
    limits_steps = True
    # Those of no rounds; None: all are 1.
    _no_factors: Floats | None = None

    def __init__(
        self,
        dataset: BinnedDataset,
        objective: Objective,
        settings: Settings,
        n_threads: int,
        *,
        init_score: Floats | None = None,
        sets: Sequence[EvaluationSet] = (),
        init_ensemble: Ensemble | None = None,
        raw: RawColumns | None = None,
        make_training_set: Callable[[], EvaluationSet] | None = None,
    ) -> None:
        self.n_scores = len(objective.start)
        shape = self.n_scores, dataset.n_rows
        weight = objective.weight
        # That of each copy.
        copy_weight = weight if objective.copies is None else objective.label_weight
        self.dataset = dataset
        self.objective = objective
        self.settings = self._effective_settings(settings)
        super().__init__(n_threads, make_training_set, sets)
        self.partition = objective.partition
        self.init_ensemble = init_ensemble
        self.first_round = 0 if init_ensemble is None else init_ensemble.n_rounds
        self.init_score = init_score
        self.has_default_start = init_score is None
        start = objective.start
        if init_score is not None:
            start = self._start_beside(init_score)
        self.initial_start = start
        self.spread = None
        if isinstance(objective.derivatives, Likelihood):
            self.spread = Spread(
                objective, shrinks_leaves=not self.settings.linear_tree
            )
        self.can_split = len(dataset.feature) > 0
        self.grown = self.finished = GrownRounds(
            0,
            start,
            GrownTrees() if self.can_split else None,
            self._no_factors,
            spread=[] if self.spread is None else self.spread.rounds,
        )
        self._reset_scores()
        if self.spread is not None and init_ensemble is not None:
            of_rounds = init_ensemble.spread
            kept = None if of_rounds is None else of_rounds[-1]
            self.spread.go_on(self.scores, kept, n_threads)
        self.gradient = np.empty(shape, dtype=np.float32)
        self.hessian = (
            None if objective.constant_hessian else np.empty(shape, dtype=np.float32)
        )
        # Of shape (1, n_rows) or (n_scores, n_rows).
        self.weight = None if weight is None else np.atleast_2d(weight)
        self.copies = objective.copies
        self.copy_weight = None if copy_weight is None else np.atleast_2d(copy_weight)
        self.sampler = self._sampler()
        self.rows = BinnedRows(
            dataset.storage.store,
            dataset.missing_bin,
            raw,
            dataset.n_rows,
            dataset.numbers,
        )
        # 0: steps are not limited.
        limit = objective.self_concordance if self.limits_steps else 0.0
        self.self_concordance = np.broadcast_to(limit, self.n_scores).tolist()
        self.reweighted = np.broadcast_to(objective.reweighted, self.n_scores)
        # The size of constant trees. These are asked for at any time, but all processes
        # must communicate at the same time.
        self._size = (0, 0.0) if self.can_split else objective.size()
        # The rounds that will be asked for, and how many may be grown before they are.
        self._n_expected, self._most_ahead = 0, 1
        self.constraints = None
        if not settings.given.isdisjoint(constraints.OPTIONS):
            self.constraints = constraints.tree_constraints(self.settings, dataset)
        if self.can_split:
            self.grower = self._grower(self.grown.forest)
        # The settings that the sampler and the grower were made of.
        self._used_settings = self.settings

    def _start_beside(self, init_score: Floats) -> Floats:
        """The constants that are added to start scores, (n_scores,)."""
        if self.init_ensemble is not None:
            return np.zeros(self.n_scores)
        return self.objective.added_start(init_score, self.n_threads)

    def _grower(self, forest: Any = None, n_scores: int | None = None) -> TreeGrower:
        """A grower of the trees of all scores, or of the first ones."""
        partition = self.objective.partition
        n_scores = n_scores or self.n_scores
        return TreeGrower(
            self.dataset,
            self.settings,
            n_scores,
            self.n_threads,
            forest,
            self.constraints,
            self.copies,
            self.self_concordance[:n_scores],
            None if partition.collectives.n_ranks == 1 else partition,
            reweighted=self.reweighted[:n_scores],
            raw=self.rows.values,
            row_weight=self.weight,
            missing_left_if_none=STANDS_FOR_LIGHTGBM.is_set(),
        )

    def _sampler(self) -> sampling.Sampler | None:
        """What draws rows; None: all rows are used."""
        if self.settings.given.isdisjoint(sampling.OPTIONS):
            return None
        objective = self.objective
        return sampling.make(
            self.settings, self.weight, objective.y, objective.queries, self.partition
        )

    def current_iteration(self) -> int:
        return self.first_round + self.finished.n

    @property
    def n_leaves(self) -> int:
        forest = self.grown.forest
        return self.grown.n * self.n_scores if forest is None else forest.n_leaves

    def ensemble(self) -> Ensemble:
        return self.ensemble_of(self.finished)

    def ensemble_of(self, finished: GrownRounds) -> Ensemble:
        """The trees of some finished rounds, by columns and thresholds."""
        if finished.ensemble is not None:
            return finished.ensemble
        if finished.forest is not None:
            grown = ensemble_builder.ensemble(
                finished.forest.copy(0, finished.n * self.n_scores),
                self.dataset,
                self._start_by_round(finished),
                finished.factors,
                finished.linear[: finished.n],
                average=self.average_output,
                n_threads=self.n_threads,
            )
            if spread := finished.spread[: finished.n]:
                kept = np.array([of_round.kept for of_round in spread])
                grown = replace(grown, spread=kept)
        else:
            start = self.objective.average if self.has_default_start else finished.start
            tree = ensemble_builder.constant(
                start, self.dataset.n_features, *self._size
            )
            grown = tree.truncated(finished.n)
        earlier = self.init_ensemble
        finished.ensemble = grown if earlier is None else earlier.joined(grown)
        return finished.ensemble

    def _start_by_round(self, finished: GrownRounds) -> Floats:
        """The constants added to the leaves of each round, (n_rounds, n_scores)."""
        starts = np.zeros((finished.n, self.n_scores))
        if spread := finished.spread[: finished.n]:
            starts += [of_round.level for of_round in spread]
        starts[:1] += finished.start
        return starts

    def _effective_settings(self, settings: Settings) -> Settings:
        """The settings, changed where the boosting type requires it."""
        return settings

    def changes(self, params: Mapping[str, Any]) -> list[Change]:
        settings = self._effective_settings(self.settings.changed(params))
        return [(self, "settings", settings)]

    def _apply_changed_settings(self) -> None:
        """Update what depends on settings that have changed since the last round."""
        self.sampler = self._sampler()
        self.rest()
        self._used_settings = self.settings

    def expect(self, n_rounds: int, is_watched: bool, may_end: bool) -> None:
        self._forget_following()
        self._n_expected = n_rounds if self._grows_ahead else 0
        n_values = self.scores.size * len(self.dataset.feature)
        n_values += sum(scores.size for scores in self.finished.scores.values())
        n_small = 1 + _MOST_VALUES // (1 + n_values)
        self._most_ahead = min(
            AHEAD if may_end else FAR_AHEAD,
            n_small if is_watched else max(AHEAD, n_small),
        )

    @property
    def _grows_ahead(self) -> bool:
        """Whether the engine can grow several rounds."""
        objective = self.objective
        return (
            self.can_split
            and self.adds_while_growing
            and self.spread is None
            and not isinstance(objective.derivatives, Custom)
            and objective.renewal_level is None
            and self.partition.collectives.n_ranks == 1
        )

    def boost(self, begin: Callable[[], None] | None = None) -> bool:
        if (scope := CURRENT_SCOPE.get()) is not None:
            scope.check()
        following = self.finished.following
        if following is not None:
            self.finished = following
            return True
        with self._lock:
            self._settle()
            if begin is not None:
                begin()
            if self.settings is not self._used_settings:
                self._apply_changed_settings()
            before = self.finished.n
            n_rounds = min(self._n_expected, self._most_ahead)
            if n_rounds > 1 and before > 0:
                first = self._grow_ahead(n_rounds, scope.check if scope else None)
                if first is not None:
                    self.finished = first
                    return True
            self.grown = replace(self.finished, ensemble=None)
            grew = self._boost_round(self.first_round + before)
            self._n_expected = max(0, self._n_expected - 1)
            if self.grown.n > before:
                self.finished = self.grown
            else:
                self.grown = self.finished
            return grew

    def rest(self) -> None:
        if self.can_split:
            self.grower = self._grower(self.grown.forest)

    def rollback(self) -> None:
        with self._lock:
            self._settle()
            self._follow(self.first(max(self.finished.n - 1, 0)))

    def restore(self, rounds: GrownRounds) -> None:
        """Continue from rounds that were finished, or copies of their first ones."""
        with self._lock:
            if self.grown is not self.finished or self.finished is not rounds:
                self._follow(rounds)

    def set_leaf(self, tree: int, leaf: int, value: float) -> None:
        with self._lock:
            self._settle()
            n_scores = self.n_scores
            number = tree - self.first_round * n_scores
            changed = self.first(self.finished.n)
            if number < 0 or changed.forest is None:
                raise ValueError(
                    f"The leaves of tree {tree} cannot be changed in training: it was"
                    " not grown in this training. Call free_dataset() first, which"
                    " ends the training."
                )
            index, k = divmod(number, n_scores)
            factors = changed.factors
            value -= self._start_by_round(changed)[index, k]
            value /= 1.0 if factors is None else factors[index]
            changed.forest.set_leaf_value(number, leaf, value)
            self._follow(changed)

    def end(self, n_rounds: int) -> None:
        with self._lock:
            if n_rounds < self.finished.n or self.grown is not self.finished:
                self._follow(self.first(n_rounds), is_last=True)

    def learned_scores(self) -> Floats | None:
        if self.spread is None:
            return None
        return self.partition.all_gather(self.raw_scores(self.training_sets()[0]))

    def baseline(self, finished: GrownRounds) -> Baseline:
        """Cox's baseline hazard of some rounds; another thread may train meanwhile."""
        likelihood = self.objective.derivatives
        assert isinstance(likelihood, PartialLikelihood)
        return likelihood.baseline(self._scores_after(finished), self.n_threads)

    def _scores_after(self, finished: GrownRounds) -> Floats:
        """The raw scores of the training rows after some rounds.

        Trees are added in the order of the rounds, which gives the bits of a fit that
        ends with them.
        """
        scores = _initial_scores(finished.start, self.init_score, self.dataset.n_rows)
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

    def resume(
        self, other: Boosting, with_metrics: Callable[[EvaluationSet], EvaluationSet]
    ) -> None:
        # Both are of one Booster: only one of them may change at a time.
        self._lock = other._lock
        with self._lock:
            other._settle()
            self.sets = list(map(with_metrics, other.sets))
            self.unlisted_sets = list(map(with_metrics, other.unlisted_sets))
            rounds = self.finished
            if other.finished.n > 0:
                rounds = other.finished.first(other.finished.n)
                self.initial_start = other.initial_start
                if self.spread is not None and other.spread is not None:
                    self.spread.take(other.spread)
            self._follow(rounds)

    def _settle(self, *, for_scores: bool = False) -> None:
        if for_scores and self.finished.following is not None:
            return
        self._forget_following()
        if self.grown is not self.finished:
            self._follow(self.finished)

    def _forget_following(self) -> None:
        """Forget rounds that nobody has asked for: `_settle` drops their trees."""
        if self.finished.following is not None:
            self.finished = replace(self.finished, following=None)

    def first(self, n_rounds: int) -> GrownRounds:
        """A copy of the first finished rounds, for others to follow."""
        first = self.finished.first(n_rounds)
        return first if n_rounds else replace(first, start=self.initial_start)

    def _follow(self, rounds: GrownRounds, *, is_last: bool = False) -> None:
        """Finish some rounds instead of those that are finished now.

        Their trees are added to the scores in the same order, which gives the same
        scores to the last bit; subtracting the trees of others would not. If it
        ``is_last``, no round follows, so few need the scores of the training rows.
        """
        self.grown = grown = replace(rounds, following=None)
        if grown.forest is not None:
            grown.forest.drop(grown.n * self.n_scores)
            self.grower.forest = grown.forest
        for by_round in (grown.linear, grown.spread, grown.dropouts):
            del by_round[grown.n :]
        if self.spread is not None:
            self.spread.follow(grown.spread)
        self._reset_scores()
        scored_rows = self._scored_rows()
        if is_last and self.spread is None:
            scored_rows = [s for s in scored_rows if s[0] is not self.rows]
        self._add_all_trees(scored_rows)
        self.finished = grown

    def _reset_scores(self) -> None:
        """Set all scores to those before the first round."""
        start, n_rows = self.grown.start, self.dataset.n_rows
        self.scores = _initial_scores(start, self.init_score, n_rows)
        self.grown.scores = {
            evaluation_set: self._start_scores(evaluation_set.rows)
            for evaluation_set in (*self.sets, *self.unlisted_sets)
            if evaluation_set.binned is not None
        }

    def _start_scores(self, rows: Rows) -> Floats:
        return _initial_scores(self.grown.start, rows.init_score, len(rows.target))

    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        if evaluation_set.binned is not None:
            scores = self._start_scores(evaluation_set.rows)
            self._add_all_trees([(evaluation_set.binned, scores)])
            self.finished.scores[evaluation_set] = scores

    def _boost_round(self, round_index: int) -> bool:
        """Grow the trees of one round; returns whether a tree could be split."""
        before, grown = round_index - self.first_round, self.grown
        if grown.forest is None:
            self._keep_average(np.ones(self.n_scores, dtype=bool))
            grown.n = 1
            return False
        renews = self.objective.renews_leaves
        self.objective.gradients(
            self.scores, self.gradient, self.hessian, self.n_threads, before
        )
        if self.spread is not None:
            self._begin_spread(self.spread)
        sample = self._drawn(round_index, self.gradient, self.hessian)
        # The first trees have constant leaves.
        is_first = before == 0 and self.init_ensemble is None
        is_linear = self.settings.linear_tree and not is_first
        # Lines are added to all rows.
        is_whole = sample.rows is None or is_linear
        added = self.adds_while_growing and is_whole and not renews
        grew = self._grow(
            sample, self.scores if added else None, round_index, is_linear=is_linear
        )
        if before == 0:
            self._keep_average(np.diff(grown.forest.arrays()[2]) == 1)
        if grew and renews:
            self._renew_leaves(sample.hessian)
        grown.n = grown.forest.n_trees // self.n_scores
        if grown.n > before:
            if self.settings.linear_tree and not is_linear:
                leaves = grown.forest.arrays()[1]
                grown.linear.append(LinearLeaves.constants(leaves["value"]))
            self._add_new_trees(added)
            if self.spread is not None:
                self._end_spread(self.spread)
        return grew

    def _drawn(
        self,
        round_index: int,
        gradient: NDArray[np.float32],
        hessian: NDArray[np.float32] | None,
    ) -> sampling.Sample:
        """The rows of a round."""
        if self.sampler is None:
            return sampling.Sample(None, hessian)
        return self.sampler.draw(round_index, gradient, hessian, self.n_threads)

    def _begin_spread(self, spread: Spread) -> None:
        assert self.hessian is not None
        if spread.noise is None:
            self._measure_noise(spread)
        spread.begin(self.gradient, self.hessian)

    def _measure_noise(self, spread: Spread) -> None:
        """Measure what the trees of a first round explain of noise.

        That of an earlier model, if there is one, which began from the same scores.
        """
        gradient, hessian = np.empty((2, *self.scores.shape), dtype=np.float32)
        objective, init_score = self.objective, self.init_score
        start = self.initial_start
        if self.init_ensemble is not None:
            start, init_score = objective.start, None
        scores = _initial_scores(start, init_score, self.dataset.n_rows)
        spread.fresh_gradients(scores, gradient, hessian, self.n_threads)
        grown, rate = partial(self._grown_on, hessian), self.settings.learning_rate
        spread.measure_noise(gradient, hessian, grown, row_keys(self.dataset), rate)

    def _grown_on(
        self, hessian: NDArray[np.float32], k: int, gradients: NDArray[np.float32]
    ) -> tuple[Floats, float]:
        """The values for all rows of a tree of score ``k`` for each gradient.

        And the mean number of leaves of the trees.
        """
        grower, n_leaves = self._grower(n_scores=1), 0
        changes = np.zeros((len(gradients), self.dataset.n_rows))
        for index in range(len(gradients)):
            gradient, of_rows = gradients[index : index + 1], hessian[k : k + 1].copy()
            sample = self._drawn(0, gradient, of_rows)
            grower.forest.drop(0)
            grower.grow(
                gradient,
                sample.hessian,
                self.copy_weight if self.copy_weight is None else self.copy_weight[:1],
                sample.rows,
                None,
                (_DRAWS + index) << 32,
            )
            trees = BinnedTrees(*grower.forest.arrays())
            trees.add(self.rows, 1.0, self.n_threads, changes[index : index + 1])
            n_leaves += len(trees.leaves)
        return changes, n_leaves / len(gradients)

    def _end_spread(self, spread: Spread) -> None:
        """Move all scores to the level of the round whose trees have been added."""
        changes = np.zeros((self.n_scores, self.dataset.n_rows))
        trees, rate = self._new_trees(), self.settings.learning_rate
        trees.add(self.rows, 1.0, self.n_threads, changes)
        n_leaves = np.diff(trees.leaf_start).tolist()
        level = spread.end(changes, n_leaves, rate, self.scores, self.n_threads)
        self._add_level(self._scored_rows(), level)

    def _add_level(self, scored_rows: Sequence[Scored], level: Floats) -> None:
        for _, scores in scored_rows:
            scores += level[:, None]

    def _grow(
        self,
        sample: sampling.Sample,
        scores: Floats | None,
        round_index: int,
        *,
        is_linear: bool,
    ) -> bool:
        """Grow the trees of a round; returns whether one of them has a split.

        If none has, other columns and thresholds are drawn, where these are random.
        """
        n_trees, options = self.grower.forest.n_trees, self.settings
        shares = options.colsample_bytree, options.feature_fraction_bynode
        draws = _DRAWS if options.extra_trees or min(shares) < 1 else 1
        lines: Lines | None = None
        grew = False
        for draw in range(draws):
            if draw:
                self.grower.forest.drop(n_trees)
            lines = [] if is_linear else None
            grew = self._call_grower(
                self.grower.grow,
                self.gradient,
                sample.hessian,
                self.copy_weight,
                sample.rows,
                scores,
                round_index + (draw << 32),
                None if self.spread is None else self.spread.last.l2,
                lines,
            )
            if grew:
                break
        self.grown.linear += starmap(LinearLeaves, lines or ())
        return grew

    def _grow_ahead(
        self, n_rounds: int, check: Callable[[], None] | None
    ) -> GrownRounds | None:
        """Grow some rounds before they are asked for, as long as they have splits.

        What is cold between rounds is Python's part of them. Returns the finished
        rounds and the first of these, which the others are following; None if it has no
        split, or one of them failed.
        """
        derivatives, objective = self.objective.derivatives, self.objective
        is_kernel = isinstance(derivatives, Loss) and objective.trains_all
        before = self.finished
        self.grown = grown = replace(before, ensemble=None)
        sets = (*self.sets, *self.unlisted_sets)
        scores = [self.scores if e.binned is None else before.scores[e] for e in sets]
        after = [[np.empty_like(of_set) for of_set in scores] for _ in range(n_rounds)]
        lines: Lines | None = [] if self.settings.linear_tree else None
        try:
            n_grown = self._call_grower(
                self.grower.grow_rounds,
                derivatives if is_kernel else objective.gradients,
                None if self.sampler is None else self.sampler.draw,
                self.gradient,
                self.hessian,
                self.copy_weight,
                self.scores,
                self.first_round + before.n,
                n_rounds,
                [e.binned for e in sets],
                [scores, *after],
                check,
                lines,
            )
        except ValueError:
            # One of these rounds fails. Perhaps nobody asks for it.
            self._most_ahead = 1
            self._follow(before)
            return None
        grown.linear += starmap(LinearLeaves, lines or ())
        self._n_expected -= n_grown
        first = None
        for n in range(n_grown, 0, -1):
            of_sets = dict(zip(sets, after[n - 1], strict=True))
            first = replace(grown, n=before.n + n, scores=of_sets, following=first)
            if n == n_grown:
                self.grown = first
        return first

    def _call_grower(self, grow: Callable[..., Grown], *arguments: Any) -> Grown:
        try:
            return grow(*arguments)
        except FloatingPointError as error:
            raise ValueError(
                f"objective {self.objective.name!r} gave NaN or infinite gradients in"
                f" round {self.first_round + self.finished.n}. Scale huge targets or"
                " weights down."
            ) from error

    def _keep_average(self, is_stump: NDArray[np.bool_]) -> None:
        """Let classes whose first tree has no split predict their average.

        LightGBM does the same.
        """
        if not self.has_default_start or not is_stump.any():
            return
        grown = self.grown
        grown.start = grown.start + np.where(
            is_stump, self.objective.average - grown.start, 0.0
        )
        self.scores[is_stump] = grown.start[is_stump, None]
        for evaluation_set, scores in grown.scores.items():
            start_scores = self._start_scores(evaluation_set.rows)
            scores[is_stump] = start_scores[is_stump]

    def _renew_leaves(self, counts: NDArray[np.float32] | None) -> None:
        """Replace the values of the leaves, before they are added to the scores.

        Objectives with renewed leaves have constant hessians, so the hessians of a
        sample, ``counts``, are the numbers of rows that each sampled row stands for.
        """
        forest = self.grower.forest
        nodes, leaves, *_ = forest.copy(forest.n_trees - 1).arrays()
        weight = None if self.weight is None else self.weight[0]
        if counts is not None:
            weight = counts[0].astype(np.float64) * (1.0 if weight is None else weight)

        start, order = self.grower.rows_by_leaf()
        rows_of = np.split(order, start[1:-1])

        def values_of(sets: list[list[int]]) -> Floats:
            """The values of leaves that have the rows of some leaves."""
            groups = [[rows_of[leaf] for leaf in chosen] for chosen in sets]
            return self.objective.renewed_leaves(self.scores[0], groups, weight)

        values = values_of([[leaf] for leaf in range(len(leaves))])
        if self.constraints is not None and self.constraints.sign is not None:
            sign = self.constraints.sign
            values = constraints.clip_to_monotone(values, nodes, sign, values_of)
        forest.set_leaf_values(self.settings.learning_rate * values)

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

    def raw_scores(self, evaluation_set: EvaluationSet) -> Floats:
        finished, is_training = self.finished, evaluation_set.binned is None
        if finished.n == 0:
            rows = evaluation_set.rows
            init_score = self.init_score if is_training else rows.init_score
            return _initial_scores(np.zeros_like(finished.start), init_score, len(rows))
        if is_training and finished.following is None:
            return self.scores
        return finished.scores[evaluation_set]


def _initial_scores(start: Floats, init_score: Floats | None, n_rows: int) -> Floats:
    scores = np.repeat(start[:, None], n_rows, axis=1)
    return scores if init_score is None else scores + init_score
