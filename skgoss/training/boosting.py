"""Gradient boosting: gradients, samples of rows, trees, scores, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives.loss_kernels import Loss
from skgoss._engine.training.forest import Forest as GrownTrees
from skgoss._engine.training.grower import MAX_DRAWS, TreeGrower
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves, RawColumns
from skgoss.objectives.gradients import Custom, Likelihood
from skgoss.objectives.survival import Baseline, PartialLikelihood
from skgoss.objectives.training_objective import Objective
from skgoss.parameters.settings import Settings
from skgoss.training import constraints, ensemble_builder, sampling
from skgoss.training.binned import BinnedRows, BinnedTrees
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.noise import row_keys
from skgoss.training.rounds import (
    MAX_FOLLOWING,
    MAX_FOLLOWING_IF_NONE_ENDS,
    Change,
    GrownRounds,
    ScoredRounds,
    initial_scores,
)
from skgoss.training.spread import Spread
from skgoss.utils.cancellation import CURRENT_SCOPE
from skgoss.utils.messages import STANDS_FOR_LIGHTGBM

Floats = NDArray[np.float64]
Grown = TypeVar("Grown")

# The arrays of the linear models of the leaves of rounds, as the grower makes them.
LeafModels = list[tuple[NDArray[Any], ...]]

# If rounds are evaluated one by one, several grow at once only if each reads at most
# this number of values: perhaps in vain, which then takes some milliseconds.
_MAX_VALUES = 1 << 22


class Boosting(ScoredRounds):
    """The state of a fit: the scores of the training rows and the trees so far.

    Readers see the rounds that are ``finished``: one assignment publishes a change, and
    one that never came is undone when the fit is next used (`_settle`).

    Boosting starts from the best constant, in addition to ``init_score``, of shape
    (n_scores, n_rows). The trees include the constant, but not these scores. If they
    are those of ``init_ensemble``, an earlier model, the trees include that model's
    trees, and there is no constant. Linear leaves need ``raw``, the values of the rows.
    In ``settings``, columns have numbers.
    """

    # Whether the grower may add the values of new trees to the training scores itself.
    adds_while_growing = True
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
            self.spread.continue_from(self.scores, kept, n_threads)
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
        # Whether the engine grows rounds, or each needs Python.
        self.grows_in_engine = (
            self.can_split
            and self.adds_while_growing
            and self.spread is None
            and not isinstance(objective.derivatives, Custom)
            and objective.renewal_level is None
            and self.partition.collectives.n_ranks == 1
        )
        self.constraints = None
        if not settings.active.isdisjoint(constraints.OPTIONS):
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
        if self.settings.active.isdisjoint(sampling.OPTIONS):
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

    def _grow(self) -> GrownRounds:
        if self.settings is not self._used_settings:
            self._apply_changed_settings()
        n = self.finished.n
        self.grown = replace(self.finished, has_split=True, ensemble=None)
        if self.grows_in_engine:
            first = self._grow_in_engine()
        else:
            first = self._grow_in_python()
        if first.n == n:
            self.grown = first = replace(self.finished, has_split=False)
        return first

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

    def _grow_in_engine(self) -> GrownRounds:
        """Grow rounds as long as they have splits; returns the first.

        The first round of the fit grows alone, because it may change the start scores.
        """
        before, grown = self.finished, self.grown
        n_rounds = self._n_at_once() if before.n and self._n_expected else 1
        sets = (*self.sets, *self.unlisted_sets)
        scores: list[list[Floats]] = [[]] * (n_rounds + 1)
        if sets:
            sets, scores = self._scores_of_sets(n_rounds)
        derivatives, objective = self.objective.derivatives, self.objective
        is_kernel = isinstance(derivatives, Loss) and objective.trains_all
        scope, models = CURRENT_SCOPE.get(), self._leaf_models()
        n_split, has_failed = self._call_grower(
            self.grower.grow_rounds,
            derivatives if is_kernel else objective.gradients,
            None if self.sampler is None else self.sampler.draw,
            self.gradient,
            self.hessian,
            self.copy_weight,
            self.scores,
            self.first_round + before.n,
            n_rounds,
            [e.binned for e in sets] if sets else sets,
            scores,
            None if scope is None else scope.check,
            models,
        )
        self._keep_leaf_models(models)
        first = grown
        for n in range(grown.n, before.n, -1):
            of_sets = dict(zip(sets, scores[n - before.n], strict=True))
            has_split = n - before.n <= n_split
            following = None if n == grown.n else first
            first = replace(
                grown, n=n, scores=of_sets, has_split=has_split, following=following
            )
            # After a failure, the scores are those of no round.
            if following is None and not has_failed:
                self.grown = first
        if before.n == 0:
            self._keep_average_of_stumps()
        return first

    def _n_at_once(self) -> int:
        """How many of the expected rounds grow at once."""
        n_values = self.scores.size * len(self.dataset.feature)
        n_values += sum(scores.size for scores in self.finished.scores.values())
        n_small = 1 + _MAX_VALUES // (1 + n_values)
        return min(
            self._n_expected + 1,
            MAX_FOLLOWING if self._may_end else MAX_FOLLOWING_IF_NONE_ENDS,
            n_small if self._is_watched else max(MAX_FOLLOWING, n_small),
        )

    def _scores_of_sets(
        self, n_rounds: int
    ) -> tuple[tuple[EvaluationSet, ...], list[list[Floats]]]:
        """Evaluation sets, and their scores: now, and room for those after each round.

        The scores of the training rows are copied only if other rounds follow.
        """
        sets = tuple(
            evaluation_set
            for evaluation_set in (*self.sets, *self.unlisted_sets)
            if n_rounds > 1 or evaluation_set.binned is not None
        )
        now = [
            self.scores if e.binned is None else self.finished.scores[e] for e in sets
        ]
        room = [[*map(np.empty_like, now)] for _ in range(n_rounds)]
        return sets, [now, *room]

    def _grow_in_python(self) -> GrownRounds:
        """Grow a round whose gradients, leaf values or scores need Python."""
        before, grown = self.finished.n, self.grown
        if grown.forest is None:
            grown.n, grown.has_split = 1, False
            self._keep_average(np.ones(self.n_scores, dtype=bool))
            return grown
        renews = self.objective.renews_leaves
        self.objective.gradients(
            self.scores, self.gradient, self.hessian, self.n_threads, before
        )
        if self.spread is not None:
            self._begin_spread(self.spread)
        round_index = self.first_round + before
        sample = self._drawn(round_index, self.gradient, self.hessian)
        is_added, models = self.adds_while_growing and not renews, self._leaf_models()
        grown.has_split = self._call_grower(
            self.grower.grow,
            self.gradient,
            sample.hessian,
            self.copy_weight,
            sample.rows,
            self.scores if is_added else None,
            round_index,
            None if self.spread is None else self.spread.last.l2,
            models,
        )
        if before == 0:
            self._keep_average_of_stumps()
        if grown.has_split and renews:
            self._renew_leaves(sample.hessian)
        self._keep_leaf_models(models)
        if grown.n > before:
            self._add_new_trees(is_added)
            if self.spread is not None:
                self._end_spread(self.spread)
        return grown

    def _leaf_models(self) -> LeafModels | None:
        """What gets the linear models of the next trees; None: they are constant.

        Those of the first round are.
        """
        is_first = self.finished.n == 0 and self.init_ensemble is None
        return [] if self.settings.linear_tree and not is_first else None

    def _keep_leaf_models(self, models: LeafModels | None) -> None:
        """Count the rounds that have grown, and keep the models of their leaves."""
        grown = self.grown
        assert grown.forest is not None
        grown.n = grown.forest.n_trees // self.n_scores
        grown.linear += starmap(LinearLeaves, models or ())
        if self.settings.linear_tree and len(grown.linear) < grown.n:
            leaves = grown.forest.arrays()[1]
            grown.linear.append(LinearLeaves.constants(leaves["value"]))

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
        assert self.hessian is not None
        gradient, hessian = self.gradient, self.hessian
        if self.init_ensemble is not None:
            gradient, hessian = np.empty_like(gradient), np.empty_like(hessian)
            start = initial_scores(self.objective.start, None, self.dataset.n_rows)
            spread.fresh_gradients(start, gradient, hessian, self.n_threads)
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
                (MAX_DRAWS + index) << 32,
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

    def _call_grower(self, grow: Callable[..., Grown], *arguments: Any) -> Grown:
        try:
            return grow(*arguments)
        except FloatingPointError as error:
            raise ValueError(
                f"objective {self.objective.name!r} gave NaN or infinite gradients in"
                f" round {self.first_round + self.finished.n}. Scale huge targets or"
                " weights down."
            ) from error

    def _keep_average_of_stumps(self) -> None:
        assert self.grown.forest is not None
        self._keep_average(np.diff(self.grown.forest.arrays()[2]) == 1)

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
