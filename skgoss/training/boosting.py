"""Gradient boosting: gradients, samples of rows, trees, scores, metrics."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.locks import NonBlockingLock
from skgoss._engine.objectives.loss_kernels import Loss
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
from skgoss.training.rounds import AHEAD, FAR_AHEAD, Rounds
from skgoss.training.spread import Spread, row_hashes
from skgoss.utils.cancellation import CURRENT_SCOPE

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

    # Whether a round has failed and is not undone yet.
    _has_failed = False

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
            if self._has_failed:
                self._undo_failed_round()
            results: list[EvalResult] = []
            for evaluation_set in sets:
                scores = self.raw_scores(evaluation_set)
                results += evaluation_set.measure(scores, self.n_threads, more)
            return results

    def add(self, evaluation_set: EvaluationSet, *, is_listed: bool = True) -> None:
        with self._lock:
            self._undo_failed_round()
            self._start_scoring(evaluation_set)
            (self.sets if is_listed else self.unlisted_sets).append(evaluation_set)

    @contextmanager
    def expecting(
        self, n_rounds: int, *, is_watched: bool, may_end: bool
    ) -> Iterator[None]:
        self._expect(n_rounds, is_watched, may_end)
        try:
            yield
        finally:
            self._expect(0, is_watched, may_end)

    @abstractmethod
    def _expect(self, n_rounds: int, is_watched: bool, may_end: bool) -> None:
        """The next rounds may grow at once; 0: those not asked for are forgotten."""

    @abstractmethod
    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        """Set the scores of a new evaluation set."""

    @abstractmethod
    def _undo_failed_round(self) -> None:
        """Undo a round that failed.

        This takes time, so a fit that failed and is not used again does not do it.
        """


@dataclass(eq=False)
class FinishedRounds:
    """The rounds that are finished: what readers see of a fit that goes on.

    It never changes but for `ensemble`, which is set when it is first needed. If trees
    have been dropped from the forest more than ``n_drops`` times, the forest may hold
    others.
    """

    n: int
    start: Floats
    factors: Floats | None
    linear: list[LinearLeaves]
    # Of each round of a distribution: what is added to all scores, (n_scores,).
    levels: list[Floats]
    n_drops: int
    ensemble: Ensemble | None = None

    def first(self, n: int) -> FinishedRounds:
        """The first of these rounds, whose factors do not depend on later ones."""
        if n >= self.n:
            return self
        factors = None if self.factors is None else self.factors[:n]
        return replace(
            self, n=n, factors=factors, linear=self.linear[:n], ensemble=None
        )


class Boosting(LockedRounds):
    """The state of a fit: the scores of the training rows and the trees so far.

    Boosting starts from the best constant, in addition to ``init_score``, of shape
    (n_scores, n_rows). The trees include the constant, but not these scores. If they
    are those of ``init_ensemble``, an earlier model, the trees include that model's
    trees, and there is no constant. Linear leaves need ``raw``, the values of the rows.
    In ``settings``, columns have numbers.
    """

    # Made only if a column can be split.
    grower: TreeGrower

    # (n_rounds,): the factors of each round's trees; None: 1.
    factor: Floats | None = None
    # Whether the grower may add the values of new trees to the training scores itself.
    adds_while_growing = True
    # Whether predictions are means of the trees and not sums.
    average_output = False
    # Whether the steps of trees are limited, so that none increases the loss.
    limits_steps = True

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
        self.initial_start = objective.start
        if init_score is not None:
            self.initial_start = self._start_beside(init_score)
        self.start = self.initial_start
        self.spread = None
        if isinstance(objective.derivatives, Likelihood):
            self.spread = Spread(
                objective, shrinks_leaves=not self.settings.linear_tree
            )
        self._reset_scores()
        if self.spread is not None and init_ensemble is not None:
            self.spread.trust(self.scores, n_threads)
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
        # The linear models of the leaves of each round.
        self.linear: list[LinearLeaves] = []
        # The number of constant rounds, where no column can be split.
        self.n_constant = 0
        # 0: steps are not limited.
        limit = objective.self_concordance if self.limits_steps else 0.0
        self.self_concordance = np.broadcast_to(limit, self.n_scores).tolist()
        self.reweighted = np.broadcast_to(objective.reweighted, self.n_scores)
        self.can_split = len(dataset.feature) > 0
        # The size of constant trees. These are asked for at any time, but all processes
        # must communicate at the same time.
        self._size = (0, 0.0) if self.can_split else objective.size()
        self._n_before_failure = 0  # the number of rounds before one that has failed
        # The rounds that will be asked for, and how many may be grown before they are.
        self._n_expected, self._most_ahead = 0, 1
        # Of those grown before, the scores of all evaluation sets after each of them.
        self._ahead: deque[list[tuple[EvaluationSet, Floats]]] = deque()
        self.constraints = None
        if not settings.given.isdisjoint(constraints.OPTIONS):
            self.constraints = constraints.tree_constraints(self.settings, dataset)
        if self.can_split:
            self.grower = self._grower()
        # The settings that the sampler and the grower were made of.
        self._used_settings = self.settings
        self._publish()

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
        if not self.can_split:
            return self.n_constant * self.n_scores
        return self.grower.forest.n_leaves

    def _publish(self) -> None:
        """Let readers see the rounds that are finished now, in one assignment."""
        n = self._n_grown - len(self._ahead)
        self.finished = FinishedRounds(
            n,
            self.start,
            self.factor,
            self.linear[:n],
            [] if self.spread is None else self.spread.levels,
            self.grower.forest.n_drops if self.can_split else 0,
        )

    def ensemble(self) -> Ensemble:
        ensemble = None
        while ensemble is None:
            ensemble = self.ensemble_of(self.finished)
        return ensemble

    def ensemble_of(self, finished: FinishedRounds) -> Ensemble | None:
        """The trees of some finished rounds, by columns and thresholds.

        None if these rounds were taken back while their trees were read.
        """
        if finished.ensemble is not None:
            return finished.ensemble
        if self.can_split:
            forest = self.grower.forest.copy(0, finished.n * self.n_scores)
            if forest.n_drops != finished.n_drops:
                return None
            grown = ensemble_builder.ensemble(
                forest,
                self.dataset,
                self._start_by_round(finished),
                finished.factors,
                finished.linear,
                average=self.average_output,
                n_threads=self.n_threads,
            )
        else:
            start = self.objective.average if self.has_default_start else finished.start
            tree = ensemble_builder.constant(
                start, self.dataset.n_features, *self._size
            )
            grown = tree.truncated(finished.n)
        earlier = self.init_ensemble
        finished.ensemble = grown if earlier is None else earlier.joined(grown)
        return finished.ensemble

    def _start_by_round(self, finished: FinishedRounds) -> Floats:
        """The constants added to the leaves of each round, (n_rounds, n_scores)."""
        starts = np.zeros((finished.n, self.n_scores))
        if finished.levels:
            starts += finished.levels
        starts[:1] += finished.start
        return starts

    @property
    def _n_grown(self) -> int:
        """The number of rounds whose trees were grown in this fit."""
        if not self.can_split:
            return self.n_constant
        return self.grower.forest.n_trees // self.n_scores

    def _effective_settings(self, settings: Settings) -> Settings:
        """The settings, changed where the boosting type requires it."""
        return settings

    def reset_parameter(self, params: Mapping[str, Any]) -> Self:
        self.settings = self._effective_settings(self.settings.changed(params))
        return self

    def _apply_changed_settings(self) -> None:
        """Update what depends on settings that have changed since the last round."""
        self._used_settings = self.settings
        self.sampler = self._sampler()
        if self.can_split:
            self.grower = self._grower(self.grower.forest)

    def _expect(self, n_rounds: int, is_watched: bool, may_end: bool) -> None:
        if self._ahead:
            # Nobody has asked for these rounds.
            self._n_before_failure, self._has_failed = self.finished.n, True
        self._ahead.clear()
        self._n_expected = n_rounds if self._grows_ahead else 0
        n_values = self.scores.size * len(self.dataset.feature)
        n_values += sum(scores.size for _, scores in self._scored_sets())
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
        if self._ahead:
            self._show_next()
            return True
        with self._lock:
            if self._has_failed:
                self._undo_failed_round()
            before = self._n_grown
            if begin is not None:
                begin()
            try:
                if self.settings is not self._used_settings:
                    self._apply_changed_settings()
                n_rounds = min(self._n_expected, self._most_ahead)
                if n_rounds > 1 and before > 0:
                    self._grow_ahead(n_rounds, scope.check if scope else None)
                if self._ahead:
                    self._show_next()
                    return True
                grew = self._boost_round(self.first_round + before)
            except BaseException:
                self._n_before_failure, self._has_failed = before, True
                raise
            self._n_expected = max(0, self._n_expected - 1)
            self._publish()
            return grew

    def rest(self) -> None:
        if self.can_split:
            self.grower = self._grower(self.grower.forest)

    def rollback(self) -> None:
        with self._lock:
            self._undo_failed_round()
            self._rewind(max(self._n_grown - 1, 0))

    def rewind(self, n_rounds: int) -> None:
        """Forget later rounds, as if they had not happened."""
        with self._lock:
            self._undo_failed_round()
            if n_rounds < self._n_grown:
                self._rewind(n_rounds)

    def set_leaf(self, tree: int, leaf: int, value: float) -> None:
        with self._lock:
            self._undo_failed_round()
            n_scores = self.n_scores
            number = tree - self.first_round * n_scores
            if number < 0 or not self.can_split:
                raise ValueError(
                    f"The leaves of tree {tree} cannot be changed in training: it was"
                    " not grown in this training. Call free_dataset() first, which"
                    " ends the training."
                )
            index, k = divmod(number, n_scores)
            factors = self.factor
            value -= self._start_by_round(self.finished)[index, k]
            value /= 1.0 if factors is None else factors[index]
            self.grower.forest.set_leaf_value(number, leaf, value)
            self._read_trees_again()
            self._rewind(self._n_grown)

    def _read_trees_again(self) -> None:
        """Replace copies of trees whose values have changed."""

    def end(self, n_rounds: int) -> None:
        with self._lock:
            if n_rounds >= self._n_grown and not self._has_failed:
                return
            self._drop_trees(n_rounds)
            self._publish()
            self._reset_scores()
            scored_rows = self._scored_rows()
            if self.spread is None:
                scored_rows = [s for s in scored_rows if s[0] is not self.rows]
            self._add_all_trees(scored_rows)

    def learned_scores(self) -> Floats | None:
        if self.spread is None:
            return None
        return self.partition.all_gather(self.raw_scores(self.training_sets()[0]))

    def baseline(self, finished: FinishedRounds) -> Baseline | None:
        """Cox's baseline hazard of some rounds; None if they were taken back.

        Another thread may train meanwhile.
        """
        likelihood = self.objective.derivatives
        assert isinstance(likelihood, PartialLikelihood)
        scores = self._scores_after(finished)
        return None if scores is None else likelihood.baseline(scores, self.n_threads)

    def _scores_after(self, finished: FinishedRounds) -> Floats | None:
        """The raw scores of the training rows after some rounds.

        Trees are added in the order of the rounds, which gives the bits of a fit that
        ends with them. None if these rounds were taken back.
        """
        scores = _initial_scores(finished.start, self.init_score, self.dataset.n_rows)
        if not self.can_split:
            return scores
        forest = self.grower.forest.copy(0, finished.n * self.n_scores)
        if forest.n_drops != finished.n_drops:
            return None
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
            other._undo_failed_round()
            self.sets = list(map(with_metrics, other.sets))
            self.unlisted_sets = list(map(with_metrics, other.unlisted_sets))
            self._take_trees(other)
            self._publish()
            self._reset_scores()
            self._add_all_trees(self._scored_rows())

    def _take_trees(self, other: Boosting) -> None:
        if other._n_grown == 0:
            return
        self.initial_start, self.start = other.initial_start, other.start
        self.linear, self.n_constant = list(other.linear), other.n_constant
        if self.spread is not None and other.spread is not None:
            self.spread.take(other.spread)
        if self.can_split:
            self.grower = self._grower(other.grower.forest.copy())

    def _undo_failed_round(self) -> None:
        if self._has_failed:
            self._rewind(self._n_before_failure)

    def _rewind(self, n_rounds: int) -> None:
        """Forget later rounds, and add the trees of the others to the scores again.

        Added in the same order, they give the same scores to the last bit; subtracting
        trees would not.
        """
        self._n_before_failure, self._has_failed = n_rounds, True
        self._drop_trees(n_rounds)
        self._publish()
        self._reset_scores()
        self._add_all_trees(self._scored_rows())
        self._has_failed = False

    def _drop_trees(self, n_rounds: int) -> None:
        """Forget the trees of later rounds."""
        if self.can_split:
            self.grower.forest.drop(n_rounds * self.n_scores)
        else:
            self.n_constant = n_rounds
        self.linear = self.linear[:n_rounds]
        if self.spread is not None:
            self.spread.rewind(n_rounds)
        if n_rounds == 0:
            self.start = self.initial_start

    def _reset_scores(self) -> None:
        """Set all scores to those before the first round."""
        self.scores = _initial_scores(self.start, self.init_score, self.dataset.n_rows)
        for evaluation_set in (*self.sets, *self.unlisted_sets):
            if evaluation_set.binned is not None:
                evaluation_set.scores = self._start_scores(evaluation_set.rows)

    def _start_scores(self, rows: Rows) -> Floats:
        return _initial_scores(self.start, rows.init_score, len(rows.target))

    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        if evaluation_set.binned is not None:
            evaluation_set.scores = self._start_scores(evaluation_set.rows)
            scored_rows = (evaluation_set.binned, evaluation_set.scores)
            self._add_all_trees([scored_rows])

    def _boost_round(self, round_index: int) -> bool:
        """Grow the trees of one round; returns whether a tree could be split."""
        before = round_index - self.first_round
        if not self.can_split:
            self._keep_average(np.ones(self.n_scores, dtype=bool))
            self.n_constant = 1
            return False
        renews = self.objective.renews_leaves
        self.objective.gradients(
            self.scores, self.gradient, self.hessian, self.n_threads, before
        )
        if self.spread is not None:
            self._begin_spread(self.spread, round_index)
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
            self._keep_average(np.diff(self.grower.forest.arrays()[2]) == 1)
        if grew and renews:
            self._renew_leaves(sample.hessian)
        if self._n_grown > before:
            if self.settings.linear_tree and not is_linear:
                leaves = self.grower.forest.arrays()[1]
                self.linear.append(LinearLeaves.constants(leaves["value"]))
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

    def _begin_spread(self, spread: Spread, round_index: int) -> None:
        assert self.hessian is not None
        spread.begin(self.gradient, self.hessian)
        if spread.noise is None:
            # Of failure times, the lower bounds: they are the targets if all are seen.
            y = self.objective.y
            hashes = row_hashes(self.dataset, y if y.ndim == 1 else y[:, 0])
            rate = self.settings.learning_rate
            changes_by = partial(self._changes_by, round_index)
            spread.measure_noise(changes_by, hashes, rate)

    def _changes_by(
        self, round_index: int, k: int, gradients: NDArray[np.float32]
    ) -> Floats:
        """The values for all rows of a tree of score ``k`` for each gradient."""
        assert self.hessian is not None
        grower, hessian_of = self._grower(n_scores=1), self.hessian[k : k + 1]
        changes = np.zeros((len(gradients), self.dataset.n_rows))
        for index in range(len(gradients)):
            gradient, hessian = gradients[index : index + 1], hessian_of.copy()
            sample = self._drawn(round_index, gradient, hessian)
            grower.forest.drop(0)
            grower.grow(
                gradient,
                sample.hessian,
                self.copy_weight if self.copy_weight is None else self.copy_weight[:1],
                sample.rows,
                None,
                round_index + ((_DRAWS + index) << 32),
            )
            trees = BinnedTrees(*grower.forest.arrays())
            trees.add(self.rows, 1.0, self.n_threads, changes[index : index + 1])
        return changes

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
        self.linear += starmap(LinearLeaves, lines or ())
        return grew

    def _grow_ahead(self, n_rounds: int, check: Callable[[], None] | None) -> None:
        """Grow some rounds before they are asked for, as long as they have splits.

        What is cold between rounds is Python's part of them.
        """
        derivatives, objective = self.objective.derivatives, self.objective
        is_kernel = isinstance(derivatives, Loss) and objective.trains_all
        sets = (*self.sets, *self.unlisted_sets)
        scores = [self.scores if e.binned is None else e.scores for e in sets]
        after = [[np.empty_like(of_set) for of_set in scores] for _ in range(n_rounds)]
        before = self._n_grown
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
                self.first_round + before,
                n_rounds,
                [e.binned for e in sets],
                [scores, *after],
                check,
                lines,
            )
        except ValueError:
            # One of these rounds fails. Perhaps nobody asks for it.
            self._most_ahead = 1
            self._rewind(before)
            return
        self.linear += starmap(LinearLeaves, lines or ())
        self._n_expected -= n_grown
        for of_round in after[:n_grown]:
            self._ahead.append([*zip(sets, of_round, strict=True)])

    def _show_next(self) -> None:
        """Let readers see the next of the rounds that were grown ahead."""
        for evaluation_set, scores in self._ahead.popleft():
            evaluation_set.scores = scores
        self._publish()

    def _call_grower(self, grow: Callable[..., Grown], *arguments: Any) -> Grown:
        try:
            return grow(*arguments)
        except FloatingPointError as error:
            raise ValueError(
                f"objective {self.objective.name!r} gave NaN or infinite gradients in"
                f" round {self.first_round + self._n_grown}. Scale huge targets or"
                " weights down."
            ) from error

    def _keep_average(self, is_stump: NDArray[np.bool_]) -> None:
        """Let classes whose first tree has no split predict their average.

        LightGBM does the same.
        """
        if not self.has_default_start or not is_stump.any():
            return
        self.start = self.start + np.where(
            is_stump, self.objective.average - self.start, 0.0
        )
        self.scores[is_stump] = self.start[is_stump, None]
        for evaluation_set in (*self.sets, *self.unlisted_sets):
            if evaluation_set.binned is not None:
                start_scores = self._start_scores(evaluation_set.rows)
                evaluation_set.scores[is_stump] = start_scores[is_stump]

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
            self._add_rounds(scored_rows, self._n_grown - 1)

    def _add_all_trees(self, scored_rows: Sequence[Scored]) -> None:
        """Add the trees of all rounds to scores, in the order of the rounds."""
        levels = self.finished.levels
        if self.can_split and not (levels or self.linear):
            self._add_rounds(scored_rows, 0)
            return
        for index, trees in enumerate(self._trees_by_round() if scored_rows else ()):
            self._add_trees(scored_rows, trees)
            if levels:
                self._add_level(scored_rows, levels[index])

    def _add_rounds(self, scored_rows: Sequence[Scored], first: int) -> None:
        """Add the trees of all rounds from one on; of the last one, with its lines."""
        forest = self.grower.forest
        for rows, scores in scored_rows:
            table = None
            if self.linear:
                table = rows.line_table(self.linear[-1])
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
        if not self.can_split:
            return []
        trees = BinnedTrees(*self.grower.forest.arrays())
        return trees.by_round(self.n_scores, self.linear)

    def _scored_rows(self) -> list[Scored]:
        """The rows and scores that trees are added to, the training rows first."""
        return [(self.rows, self.scores), *self._scored_sets()]

    def _scored_sets(self) -> list[Scored]:
        """The rows and scores of the evaluation sets."""
        if not (self.sets or self.unlisted_sets):
            return []
        return [
            (evaluation_set.binned, evaluation_set.scores)
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
        linear_leaves = self.linear[-1] if len(self.linear) == self._n_grown else None
        trees = BinnedTrees(*forest.copy(first).arrays())
        return trees._replace(linear=linear_leaves)

    def raw_scores(self, evaluation_set: EvaluationSet) -> Floats:
        is_training = evaluation_set.binned is None
        if self._n_grown == 0:
            rows = evaluation_set.rows
            init_score = self.init_score if is_training else rows.init_score
            return _initial_scores(np.zeros_like(self.start), init_score, len(rows))
        return evaluation_set.scores if self._ahead or not is_training else self.scores


def _initial_scores(start: Floats, init_score: Floats | None, n_rows: int) -> Floats:
    scores = np.repeat(start[:, None], n_rows, axis=1)
    return scores if init_score is None else scores + init_score
