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
from skgoss.objectives.gradients import Likelihood
from skgoss.objectives.percentiles import LeafRows
from skgoss.objectives.survival import Baseline, PartialLikelihood
from skgoss.objectives.training_objective import Objective
from skgoss.parameters.settings import DIVERGES, Settings
from skgoss.training import constraints, ensemble_builder, sampling
from skgoss.training.binned import BinnedRows, BinnedTrees
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.noise import row_keys
from skgoss.training.rounds import (
    MAX_PREFETCHED,
    MAX_PREFETCHED_IF_NONE_ENDS,
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

# If rounds are evaluated one by one, several are prefetched only if each reads at most
# this number of values: if they are not needed, some milliseconds are lost.
_MAX_VALUES = 1 << 22


class Boosting(ScoredRounds):
    """The state of a fit: the scores of the training rows and the trees so far.

    Readers see the rounds that are ``finished``. One assignment publishes a change; a
    change that was interrupted is undone when the fit is next used (`_settle`).

    Boosting starts from the best constant, in addition to ``init_score``, of shape
    (n_scores, n_rows). The trees include the constant, but not these scores. If they
    are those of ``init_ensemble``, an earlier model, the trees include that model's
    trees, and there is no constant. If the fit ``continues`` that of the earlier model,
    objectives draw the random numbers of its later rounds. Linear leaves need ``raw``,
    the values of the rows. In ``settings``, columns are numbers, not names.
    """

    # Whether the grower may add the values of new trees to the training scores itself.
    adds_while_growing = True
    # Whether the steps of trees are limited, so that none increases the loss.
    limits_steps = True
    # The factors of no rounds; None: the factors of all rounds are 1.
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
        continues: bool = False,
        raw: RawColumns | None = None,
        make_training_set: Callable[[], EvaluationSet] | None = None,
    ) -> None:
        self.n_scores = len(objective.start)
        shape = self.n_scores, dataset.n_rows
        weight = objective.weight
        # The weight of each of the equal rows that a frequency weight stands for.
        unit_weight = weight if objective.frequency is None else objective.label_weight
        self.dataset = dataset
        self.objective = objective
        self.settings = self._effective_settings(settings)
        strategy = settings.multi_strategy
        self.shares_trees = self.n_scores > 1 and strategy == "multi_output_tree"
        super().__init__(n_threads, make_training_set, sets)
        self.partition = objective.partition
        self.init_ensemble, self.continues = init_ensemble, continues
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
            states = init_ensemble.spread
            state = None if states is None else states[-1]
            self.spread.continue_from(self.scores, state, n_threads)
        self.gradient = np.empty(shape, dtype=np.float32)
        self.hessian = (
            None if objective.constant_hessian else np.empty(shape, dtype=np.float32)
        )
        # Of shape (1, n_rows) or (n_scores, n_rows).
        self.weight = None if weight is None else np.atleast_2d(weight)
        self.frequency = objective.frequency
        self.unit_weight = None if unit_weight is None else np.atleast_2d(unit_weight)
        self.score_unit = self._score_unit() if self.shares_trees else None
        self.sampler = self._sampler()
        self.rows = BinnedRows(
            dataset.storage.store,
            dataset.missing_bin,
            raw,
            dataset.n_rows,
            dataset.numbers,
        )
        limit = objective.self_concordance if self.limits_steps else 0.0
        self.self_concordance = np.broadcast_to(limit, self.n_scores).tolist()
        self.reweighted = np.broadcast_to(objective.reweighted, self.n_scores)
        # The size of constant trees. It is needed at any time, but all processes must
        # communicate at the same time.
        self._size = (0, 0.0) if self.can_split else objective.size()
        # Whether the engine grows rounds without Python.
        self.grows_in_engine = (
            self.can_split
            and self.adds_while_growing
            and self.spread is None
            and not objective.calls_functions
            and objective.renewal_level is None
            and self.partition.collectives.n_ranks == 1
        )
        self.constraints = None
        if not settings.active.isdisjoint(constraints.OPTIONS):
            self.constraints = constraints.tree_constraints(self.settings, dataset)
        if self.can_split:
            self.grower = self._grower(self.grown.forest)
        # The settings of the sampler and the grower.
        self._used_settings = self.settings

    def _start_beside(self, init_score: Floats) -> Floats:
        """The constants that are added to start scores of the rows, (n_scores,).

        0 if these are the scores of an earlier model; else the best ones for the user's
        ``init_score``.
        """
        if self.init_ensemble is not None:
            return np.zeros(self.n_scores)
        return self.objective.added_start(init_score, self.n_threads)

    def _grower(self, forest: Any = None, n_scores: int | None = None) -> TreeGrower:
        """A grower of trees.

        ``forest`` has the trees so far, to which it adds; None: it begins a new one.
        ``n_scores`` is the number of trees of a round; None: one for each score.
        """
        partition = self.objective.partition
        n_scores = n_scores or self.n_scores
        return TreeGrower(
            self.dataset,
            self.settings,
            n_scores,
            self.n_threads,
            forest,
            self.constraints,
            self.frequency,
            self.self_concordance[:n_scores],
            None if partition.collectives.n_ranks == 1 else partition,
            reweighted=self.reweighted[:n_scores],
            raw=self.rows.values,
            row_weight=self.weight,
            missing_left_if_none=STANDS_FOR_LIGHTGBM.is_set(),
            score_unit=self.score_unit,
        )

    def _score_unit(self) -> Floats | None:
        """The typical derivatives of several outputs whose trees are shared.

        None for classes.
        """
        if not self.objective.has_units:
            return None
        return self.objective.typical_derivatives(self.n_threads)

    def _sampler(self) -> sampling.Sampler | None:
        """The sampler of rows; None: all rows are used."""
        if self.settings.active.isdisjoint(sampling.OPTIONS):
            return None
        objective, weight = self.objective, self.weight
        if self.score_unit is not None and self.settings.data_sample_strategy == "goss":
            # Rows are ranked by the sum of their gradients in units of each output.
            each = np.ones(self.gradient.shape) if weight is None else weight
            weight = each / self.score_unit[0, :, None]
        return sampling.make(
            self.settings, weight, objective.y, objective.queries, self.partition
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
        """The trees of some finished rounds, in terms of columns and thresholds.

        Those of an earlier model come first. The result is kept in ``finished``. If no
        column can be split, there is one round of constant trees.
        """
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
                states = np.array([spread_round.state for spread_round in spread])
                grown = replace(grown, spread=states)
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
            starts += [spread_round.level for spread_round in spread]
        starts[:1] += finished.start
        return starts

    def _effective_settings(self, settings: Settings) -> Settings:
        """The settings with the changes that the boosting type needs; here, none."""
        return settings

    def changes(self, params: Mapping[str, Any]) -> list[Change]:
        settings = self._effective_settings(self.settings.changed(params))
        return [(self, "settings", settings)]

    def _apply_changed_settings(self) -> None:
        """Update what depends on settings that have changed since the last round."""
        self.sampler = self._sampler()
        self.release_buffers()
        self._used_settings = self.settings

    def _grow(self) -> GrownRounds:
        """Grow a round, and perhaps prefetch more; returns the rounds with the new one.

        If no tree could be split, these are the finished rounds.
        """
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

    def release_buffers(self) -> None:
        if self.can_split:
            self.grower = self._grower(self.grown.forest)

    def rollback(self) -> None:
        with self._lock:
            self._settle()
            self._continue_from(self.first(max(self.finished.n - 1, 0)))

    def restore(self, rounds: GrownRounds) -> None:
        """Continue from rounds that were finished, or copies of their first ones."""
        with self._lock:
            if self.grown is not self.finished or self.finished is not rounds:
                self._continue_from(rounds)

    def set_leaf(self, tree: int, leaf: int, value: float) -> None:
        """Change the value of a leaf, and add all trees to the scores again.

        ``tree`` is its number among all trees, also those of an earlier model, which
        cannot be changed. ``value`` is that in the model: it includes the constant of
        its round and the factor of DART, which the forest keeps apart.
        """
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
            self._continue_from(changed)

    def end(self, n_rounds: int) -> None:
        with self._lock:
            if n_rounds < self.finished.n or self.grown is not self.finished:
                self._continue_from(self.first(n_rounds), is_last=True)

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
        """Continue from a fit on other rows in the same bins: its trees and its sets.

        ``with_metrics`` makes evaluation sets of this fit from those of the other fit.
        """
        # Both are of one Booster: only one of them may change at a time.
        self._lock = other._lock
        with self._lock:
            other._settle()
            self.sets = list(map(with_metrics, other.sets))
            self.on_demand_sets = list(map(with_metrics, other.on_demand_sets))
            rounds = self.finished
            if other.finished.n > 0:
                rounds = other.finished.first(other.finished.n)
                self.initial_start = other.initial_start
                if self.spread is not None and other.spread is not None:
                    self.spread.inherit(other.spread)
            self._continue_from(rounds)

    def first(self, n_rounds: int) -> GrownRounds:
        """A copy of the first ``n_rounds`` finished rounds, to continue from.

        Without rounds, the start scores are those before the first round changed them.
        """
        first = self.finished.first(n_rounds)
        return first if n_rounds else replace(first, start=self.initial_start)

    def _continue_from(self, rounds: GrownRounds, *, is_last: bool = False) -> None:
        """Replace the finished rounds by others, and their scores.

        Trees are added to the start scores in the order of the rounds, so the scores
        are identical to those before; subtracting trees would leave rounding errors. If
        it ``is_last``, no other round grows, so the scores of the training rows are not
        updated unless a distribution needs them.
        """
        self.grown = grown = replace(rounds, prefetched=None)
        if grown.forest is not None:
            grown.forest.drop(grown.n * self.n_scores)
            self.grower.forest = grown.forest
        for by_round in (grown.linear, grown.spread, grown.dropouts):
            del by_round[grown.n :]
        if self.spread is not None:
            self.spread.restore(grown.spread)
        self._reset_scores()
        scored_rows = self._scored_rows()
        if is_last and self.spread is None:
            scored_rows = [s for s in scored_rows if s[0] is not self.rows]
        self._add_all_trees(scored_rows)
        self.finished = grown

    def _grow_in_engine(self) -> GrownRounds:
        """Grow a round, and prefetch more as long as they have splits: see `_grow`.

        After the first round of the fit none is prefetched, because it may change the
        start scores. The value is the first of the new rounds; each has the next one as
        ``prefetched``, and `grown` becomes the last.
        """
        finished, grown = self.finished, self.grown
        n_rounds = self._n_at_once() if finished.n and self._n_expected else 1
        sets = (*self.sets, *self.on_demand_sets)
        scores: list[list[Floats]] = [[]] * (n_rounds + 1)
        if sets:
            sets, scores = self._scores_of_sets(n_rounds)
        derivatives, objective = self.objective.derivatives, self.objective
        is_kernel = isinstance(derivatives, Loss) and objective.trains_all
        scope, models = CURRENT_SCOPE.get(), self._leaf_models()
        n_split, has_failed = self._call_grower(
            self.grower.grow_rounds,
            derivatives if is_kernel else self._gradients,
            None if self.sampler is None else self.sampler.draw,
            self.gradient,
            self.hessian,
            self.unit_weight,
            self.scores,
            self.first_round + finished.n,
            n_rounds,
            [e.binned for e in sets] if sets else sets,
            scores,
            None if scope is None else scope.check,
            models,
        )
        self._update_grown(models)  # so grown.n is now that of the last new round
        first = grown
        for n in range(grown.n, finished.n, -1):
            set_scores = dict(zip(sets, scores[n - finished.n], strict=True))
            has_split = n - finished.n <= n_split
            prefetched = None if n == grown.n else first
            first = replace(
                grown,
                n=n,
                scores=set_scores,
                has_split=has_split,
                prefetched=prefetched,
            )
            # After a failure, the scores belong to no round.
            if prefetched is None and not has_failed:
                self.grown = first
        if finished.n == 0:
            self._keep_average_of_stumps()
        return first

    def _n_at_once(self) -> int:
        """The number of rounds that grow at once, in one call of the engine.

        At most as many as the loop still expects; fewer if a callback may end the fit,
        or if rounds are large and evaluated one by one, because rounds that turn out to
        be unused cost time.
        """
        n_values = self.scores.size * len(self.dataset.feature)
        n_values += sum(scores.size for scores in self.finished.scores.values())
        n_small = 1 + _MAX_VALUES // (1 + n_values)
        return min(
            self._n_expected + 1,
            MAX_PREFETCHED if self._may_end else MAX_PREFETCHED_IF_NONE_ENDS,
            n_small if self._is_evaluated else max(MAX_PREFETCHED, n_small),
        )

    def _scores_of_sets(
        self, n_rounds: int
    ) -> tuple[tuple[EvaluationSet, ...], list[list[Floats]]]:
        """Evaluation sets, and n_rounds + 1 lists of their scores, one for each set.

        The first list has the scores now, the others are arrays in which the engine
        writes those after each round. The training set, whose ``binned`` is None, needs
        copies only if rounds are prefetched.
        """
        sets = tuple(
            evaluation_set
            for evaluation_set in (*self.sets, *self.on_demand_sets)
            if n_rounds > 1 or evaluation_set.binned is not None
        )
        current = [
            self.scores if e.binned is None else self.finished.scores[e] for e in sets
        ]
        arrays = [[*map(np.empty_like, current)] for _ in range(n_rounds)]
        return sets, [current, *arrays]

    def _grow_in_python(self) -> GrownRounds:
        """Grow a round whose gradients, leaf values or scores need Python."""
        n_finished, grown = self.finished.n, self.grown
        if grown.forest is None:
            grown.n, grown.has_split = 1, False
            self._keep_average(np.ones(self.n_scores, dtype=bool))
            return grown
        renews = self.objective.renews_leaves
        self._gradients(
            self.scores, self.gradient, self.hessian, self.n_threads, n_finished
        )
        if self.spread is not None:
            self._begin_spread(self.spread)
        round_index = self.first_round + n_finished
        sample = self._drawn(round_index, self.gradient, self.hessian)
        is_added, models = self.adds_while_growing and not renews, self._leaf_models()
        grown.has_split = self._call_grower(
            self.grower.grow,
            self.gradient,
            sample.hessian,
            self.unit_weight,
            sample.rows,
            self.scores if is_added else None,
            round_index,
            None if self.spread is None else self.spread.last.l2,
            models,
        )
        if n_finished == 0:
            self._keep_average_of_stumps()
        if grown.has_split and renews:
            self._renew_leaves(None if sample.rows is None else sample.hessian)
            if self.adds_while_growing and sample.rows is None:
                self.grower.add_by_leaf(self.scores)
                is_added = True
        self._update_grown(models)
        if grown.n > n_finished:
            self._add_new_trees(is_added)
            if self.spread is not None:
                self._end_spread(self.spread)
        return grown

    def _gradients(
        self,
        scores: Floats,
        gradient: NDArray[np.float32],
        hessian: NDArray[np.float32] | None,
        n_threads: int,
        index: int,
    ) -> None:
        """Write the derivatives of a round; ``index`` does not count earlier ones."""
        if self.continues:
            index += self.first_round
        self.objective.gradients(scores, gradient, hessian, n_threads, index)

    def _leaf_models(self) -> LeafModels | None:
        """A list for the linear leaf models of the next trees.

        None: leaves are constant, as those of the first round are.
        """
        is_first = self.finished.n == 0 and self.init_ensemble is None
        return [] if self.settings.linear_tree and not is_first else None

    def _update_grown(self, models: LeafModels | None) -> None:
        """Update the number of grown rounds, and keep the models of their leaves."""
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
        """The sampled rows of a round, and hessians that are adjusted to the sample.

        Derivatives are (n_scores, n_rows); one-side sampling changes the gradients.
        """
        if self.sampler is None:
            return sampling.Sample(None, hessian)
        return self.sampler.draw(round_index, gradient, hessian, self.n_threads)

    def _begin_spread(self, spread: Spread) -> None:
        """Begin a round of a distribution, with the gradients of its scores."""
        assert self.hessian is not None
        if spread.noise is None:
            self._measure_noise(spread)
        spread.begin(self.gradient, self.hessian)
        if self.score_unit is not None:
            self.grower.score_unit = spread.score_unit(self.score_unit)

    def _measure_noise(self, spread: Spread) -> None:
        """Measure how much of noise the trees of a first round explain.

        Noise are errors with random signs: see `Spread`. If there is an earlier model,
        its own first round is imitated, with the derivatives at its start scores.
        """
        assert self.hessian is not None
        gradient, hessian = self.gradient, self.hessian
        if self.init_ensemble is not None:
            gradient, hessian = np.empty_like(gradient), np.empty_like(hessian)
            start = initial_scores(self.objective.start, None, self.dataset.n_rows)
            spread.fresh_gradients(start, gradient, hessian, self.n_threads)
        grow, rate = partial(self._grow_trees, hessian), self.settings.learning_rate
        spread.measure_noise(gradient, hessian, grow, row_keys(self.dataset), rate)

    def _grow_trees(
        self, hessian: NDArray[np.float32], k: int, gradients: NDArray[np.float32]
    ) -> tuple[Floats, float]:
        """Grow a tree of score ``k`` for each of some gradients, for `measure_noise`.

        ``hessian`` is (n_scores, n_rows), ``gradients`` (n_trees, n_rows). Returns the
        values of the trees for all rows, (n_trees, n_rows), and their mean number of
        leaves. The trees do not become part of the model.
        """
        grower, n_leaves = self._grower(n_scores=1), 0
        changes = np.zeros((len(gradients), self.dataset.n_rows))
        for index in range(len(gradients)):
            gradient, row_hessian = (
                gradients[index : index + 1],
                hessian[k : k + 1].copy(),
            )
            sample = self._drawn(0, gradient, row_hessian)
            grower.forest.drop(0)
            grower.grow(
                gradient,
                sample.hessian,
                self.unit_weight if self.unit_weight is None else self.unit_weight[:1],
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
        self._add_rounds([(self.rows, changes)], self.grown.n - 1)
        n_leaves = np.diff(self._new_trees().leaf_start).tolist()
        rate = self.settings.learning_rate
        level = spread.end(changes, n_leaves, rate, self.scores, self.n_threads)
        self._add_level(self._scored_rows(), level)

    def _call_grower(self, grow: Callable[..., Grown], *arguments: Any) -> Grown:
        """Call a method of the grower; an error names the objective and the round."""
        try:
            return grow(*arguments)
        except FloatingPointError as error:
            rate = self.settings.learning_rate
            advice = "Scale huge targets or weights down."
            if rate > DIVERGES:
                advice = (
                    f"learning_rate={rate:g} is above {DIVERGES:g}, so the loss"
                    " increases. Use a smaller number, such as 0.1."
                )
            raise ValueError(
                f"objective {self.objective.name!r} gave NaN or infinite gradients in"
                f" round {self.first_round + self.finished.n}. {advice}"
            ) from error

    def _keep_average_of_stumps(self) -> None:
        """Call `_keep_average` for the scores whose tree has no split."""
        assert self.grown.forest is not None
        self._keep_average(np.diff(self.grown.forest.arrays()[2]) == 1)

    def _keep_average(self, is_stump: NDArray[np.bool_]) -> None:
        """Set the start of classes whose first tree has no split to their average.

        ``is_stump``, (n_scores,), says which these are. LightGBM does the same: without
        `boost_from_average`, such a class would else keep the score 0.
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
        """Replace the values of the new leaves, before they are added to the scores.

        Losses such as the absolute error are minimized by percentiles of residuals, not
        by Newton steps. Objectives with renewed leaves have constant hessians. So the
        hessians of a sample, ``counts``, (n_scores, n_rows), are the weights of the
        sampled rows; None: all are 1. Several scores share the splits of their trees.
        """
        forest = self.grower.forest
        nodes = forest.copy(forest.n_trees - 1).arrays()[0]
        leaf_rows = LeafRows(*self.grower.rows_by_leaf())
        for k in filter(self.objective.renews, range(self.n_scores)):
            values = self._renewed_values(k, nodes, leaf_rows, counts)
            tree = forest.n_trees - self.n_scores + k
            forest.set_leaf_values(tree, self.settings.learning_rate * values)

    def _renewed_values(
        self,
        k: int,
        nodes: NDArray[Any],
        leaf_rows: LeafRows,
        counts: NDArray[np.float32] | None,
    ) -> Floats:
        """The new values of the leaves of a score's tree: see `_renew_leaves`."""
        weight = None if self.weight is None else self.weight[k % len(self.weight)]
        if counts is not None:
            each = counts[k].astype(np.float64)
            weight = each if weight is None else each * weight
        compute_values = partial(
            self.objective.renewed_leaves,
            self.scores[k],
            weight=weight,
            number=k,
            n_threads=self.n_threads,
        )
        values = compute_values(leaf_rows)
        if self.constraints is None or self.constraints.sign is None:
            return values
        rows = leaf_rows.leaves()

        def values_of(sets: list[list[int]]) -> Floats:
            """The values of leaves that have the rows of some leaves."""
            groups = [[rows[leaf] for leaf in chosen] for chosen in sets]
            return compute_values(LeafRows.joined(groups))

        return constraints.clip_to_monotone(
            values, nodes, self.constraints.sign, values_of
        )
