"""Rounds of boosting: those that have grown, their scores, and a lock for changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.locks import CertainEnd, NonBlockingLock
from skgoss._engine.training.score import add_trees
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows
from skgoss.distributed.row_partition import RowPartition
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves
from skgoss.objectives.metrics import CustomMetric
from skgoss.parameters.settings import Settings
from skgoss.training.binned import BinnedRows, BinnedTrees
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.utils.cancellation import CURRENT_SCOPE

if TYPE_CHECKING:  # programs that only predict do not load what grows trees
    from skgoss._engine.training.forest import Forest as GrownTrees
    from skgoss._engine.training.grower import TreeGrower
    from skgoss.training.spread import SpreadRound

Floats = NDArray[np.float64]

# Rows and the scores, (n_scores, n_rows), that trees are added to.
Scored = tuple[BinnedRows, Floats]

# The maximum number of rounds that grow at once, before the callbacks of the first one.
# With several, no thread waits for a slow round of another, and the time of Python
# counts for little: between rounds, Python runs with cold caches. If a callback ends
# the fit, the other rounds are lost.
MAX_PREFETCHED = 8
# The same if nothing ends the fit early, so that none can be lost.
MAX_PREFETCHED_IF_NONE_ENDS = 32

# Of an attribute: the object, its name, and its new value.
Change = tuple[object, str, object]


@dataclass(eq=False)
class GrownRounds:
    """Some rounds of a fit: all that readers and later rounds need of them.

    Once they are finished, they do not change, except for `ensemble`, which is computed
    on demand. The forest and the lists may also contain later rounds. Only these are
    dropped or changed: a fit that takes finished rounds back continues with copies.
    """

    n: int
    start: Floats
    forest: GrownTrees | None  # None: no column can be split
    # (n,): the factors of each round's trees; None: 1.
    factors: Floats | None = None
    # The linear models of the leaves of each round.
    linear: list[LinearLeaves] = field(default_factory=list)
    # The state of the spread of a distribution after each round.
    spread: list[SpreadRound] = field(default_factory=list)
    # The `Dropout` of each round of DART.
    dropouts: list[Any] = field(default_factory=list)
    # The raw scores of evaluation sets, (n_scores, n_rows). Those of the training rows
    # are among them only if rounds have been prefetched.
    scores: dict[EvaluationSet, Floats] = field(default_factory=dict)
    # Whether a tree of the last round could be split.
    has_split: bool = True
    # The same rounds and the next one, if that is prefetched.
    prefetched: GrownRounds | None = None
    ensemble: Ensemble | None = None

    def first(self, n: int) -> GrownRounds:
        """A copy of the first ``n`` rounds, or of all if there are fewer."""
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
            has_split=True,
            prefetched=None,
            ensemble=None,
        )


class Rounds(ABC):
    """The state of boosting, and evaluation sets: `Boosting` or `MultiOutput`.

    Readers see the rounds that are ``finished``. One assignment publishes the next one:
    a new round, or one that is ``prefetched``. One thread at a time trains.
    """

    settings: Settings
    dataset: BinnedDataset  # the training rows
    # The training rows among those of all processes.
    partition: RowPartition
    first_round: int  # the number of the first new round

    # `GrownRounds`, or those of several outputs. The scores are those of ``grown``. It
    # is the same object as ``finished``, unless a change is in progress or has been
    # interrupted, or rounds are prefetched.
    finished: Any
    grown: Any
    # Whether finished rounds keep their scores while others are prefetched.
    keeps_scores = True

    def __init__(
        self,
        n_threads: int,
        make_training_set: Callable[[], EvaluationSet] | None,
        sets: Sequence[EvaluationSet] = (),
    ) -> None:
        self.n_threads = n_threads
        # Makes an evaluation set of the training rows, for `eval_train`.
        self.make_training_set = make_training_set
        self.sets = list(sets)
        self.on_demand_sets: list[EvaluationSet] = []
        # See `expecting`.
        self._n_expected = 0
        self._is_evaluated = self._may_end = True
        self._lock = NonBlockingLock(
            "This Booster is already training a round: objectives, metrics and"
            " other threads must not train it at the same time."
        )

    # --- The rounds that are finished -------------------------------------------------

    @abstractmethod
    def current_iteration(self) -> int:
        """The number of finished rounds, including those of an earlier model."""

    @property
    @abstractmethod
    def n_leaves(self) -> int:
        """The number of leaves of all trees but those of an earlier model."""

    @abstractmethod
    def ensemble(self) -> Ensemble:
        """The trees of the finished rounds, in terms of columns and thresholds.

        Any thread may call this, even while a round grows.
        """

    # --- Growing ----------------------------------------------------------------------

    def boost(self, begin: Callable[[], None] | None = None) -> bool:
        """Grow the trees of one round; returns whether a tree could be split.

        If none could, no trees are added, except constant trees in the first round. If
        the round fails, nothing changes. RuntimeError if a round is in progress; if
        none is, ``begin`` is called before the round grows.
        """
        if (scope := CURRENT_SCOPE.get()) is not None:
            scope.check()
        self._n_expected = max(0, self._n_expected - 1)
        rounds = self.finished.prefetched
        if rounds is not None:
            self.finished = rounds
        else:
            with self._lock:
                self._settle()
                if begin is not None:
                    begin()
                self.finished = rounds = self._grow()
        return rounds.has_split

    def expecting(
        self, n_rounds: int, *, is_evaluated: bool, may_end: bool
    ) -> Expected:
        """Allow `boost` to prefetch rounds in a `with` body, which needs ``n_rounds``.

        Each call of `boost` finishes one of them. The body must not change the fit
        otherwise. ``is_evaluated``: it evaluates the sets after each round.
        ``may_end``: it may end before it has needed all rounds.
        """
        return Expected(self, n_rounds, is_evaluated, may_end)

    def expect(self, n_rounds: int, is_evaluated: bool, may_end: bool) -> None:
        """As `expecting`, until the next call; 0: prefetched rounds are dropped."""
        self._drop_prefetched()
        self._n_expected = n_rounds
        self._is_evaluated, self._may_end = is_evaluated, may_end

    @abstractmethod
    def _grow(self) -> Any:
        """Grow a round, and perhaps prefetch more; returns the rounds with the new one.

        If no tree could be split, these are the finished rounds.
        """

    @abstractmethod
    def release_buffers(self) -> None:
        """Free the memory for growing trees; the next round allocates it again."""

    def _settle(self) -> None:
        """Undo a change that has not been finished, and drop prefetched rounds.

        So the next change depends only on the finished rounds. A change that failed is
        not undone before, because this takes time, and many fits are not used again.
        """
        self._drop_prefetched()
        if self.grown is not self.finished:
            self._continue_from(self.finished)

    def _drop_prefetched(self) -> None:
        """Drop prefetched rounds; `_settle` drops their trees."""
        if self.finished.prefetched is not None:
            self.finished = replace(self.finished, prefetched=None)

    @abstractmethod
    def _continue_from(self, rounds: Any) -> None:
        """Replace the finished rounds by others, and their scores."""

    # --- Changes ----------------------------------------------------------------------

    @abstractmethod
    def changes(self, params: Mapping[str, Any]) -> list[Change]:
        """The assignments that change options of single trees.

        ``params`` has new values by any name of an option. The caller does them, all at
        once. ValueError if an option cannot change.
        """

    @abstractmethod
    def rollback(self) -> None:
        """Drop the last round; trees of an earlier model stay."""

    @abstractmethod
    def set_leaf(self, tree: int, leaf: int, value: float) -> None:
        """Change the value of a leaf, and add all trees to the scores again."""

    @abstractmethod
    def end(self, n_rounds: int) -> None:
        """End the fit: keep the first ``n_rounds`` rounds.

        Evaluation sets get the scores of these rounds. The training rows do so only for
        a distribution, so no other round can grow.
        """

    @abstractmethod
    def resume(
        self, other: Any, with_metrics: Callable[[EvaluationSet], EvaluationSet]
    ) -> None:
        """Continue from a fit on other rows in the same bins: its trees and its sets.

        ``with_metrics`` makes evaluation sets of this fit from those of the other fit.
        """

    # --- Evaluation sets --------------------------------------------------------------

    def add(self, evaluation_set: EvaluationSet, *, on_demand: bool = False) -> None:
        """Add an evaluation set, with the scores of the trees so far.

        It is evaluated after each round, or only ``on_demand``.
        """
        with self._lock:
            self._settle()
            self._start_scoring(evaluation_set)
            (self.on_demand_sets if on_demand else self.sets).append(evaluation_set)

    @abstractmethod
    def _start_scoring(self, evaluation_set: EvaluationSet) -> None:
        """Set the scores of a new evaluation set."""

    @abstractmethod
    def raw_scores(self, evaluation_set: EvaluationSet) -> Floats:
        """The raw scores of an evaluation set: the sum of the trees so far."""

    def learned_scores(self) -> Floats | None:
        """The raw scores of the training rows of all processes, for distributions."""
        return None

    def evaluate(self) -> list[EvalResult]:
        """The metrics of the evaluation sets after the last round."""
        return self.evaluate_sets(self.sets) if self.sets else []

    def evaluate_sets(
        self, sets: Sequence[EvaluationSet], custom_metrics: Sequence[CustomMetric] = ()
    ) -> list[EvalResult]:
        """The metrics of some evaluation sets after the last round.

        ``custom_metrics`` are computed in addition to those of the sets.
        """
        with self._lock:
            if self.finished.prefetched is None or not self.keeps_scores:
                self._settle()
            results: list[EvalResult] = []
            for evaluation_set in sets:
                scores = self.raw_scores(evaluation_set)
                results += evaluation_set.measure(
                    scores, self.n_threads, custom_metrics
                )
            return results

    @property
    def training_names(self) -> set[str]:
        """The names of the evaluation sets that are the training set."""
        return {e.name for e in self.sets if e.is_training}

    def training_sets(self) -> list[EvaluationSet]:
        """The evaluation sets that are the training set, at least one."""
        added = [e for e in (*self.sets, *self.on_demand_sets) if e.is_training]
        if not added:
            assert self.make_training_set is not None
            self.add(self.make_training_set(), on_demand=True)
        return added or self.on_demand_sets[-1:]

    def eval_train(
        self, custom_metrics: Sequence[CustomMetric] = ()
    ) -> list[EvalResult]:
        """The metrics of the training set after the last round.

        The training set need not be among the evaluation sets.
        """
        return self.evaluate_sets(self.training_sets(), custom_metrics)

    def eval_valid(
        self, custom_metrics: Sequence[CustomMetric] = ()
    ) -> list[EvalResult]:
        """The metrics of the evaluation sets that are not the training set."""
        return self.evaluate_sets(
            [e for e in self.sets if not e.is_training], custom_metrics
        )


class Expected(CertainEnd):
    """A `with` body whose rounds may be prefetched: see `Rounds.expecting`."""

    def __init__(
        self, rounds: Rounds, n_rounds: int, is_evaluated: bool, may_end: bool
    ) -> None:
        self._rounds, self._n_rounds = rounds, n_rounds
        self._conditions = is_evaluated, may_end

    def _begin(self) -> None:
        self._rounds.expect(self._n_rounds, *self._conditions)

    def _end(self, *error: Any) -> None:
        self._rounds.expect(0, *self._conditions)


class ScoredRounds(Rounds):
    """The scores of the ``grown`` rounds.

    Trees are added in the order of the rounds, so the scores are identical to those of
    a fit of these rounds; subtracting trees would leave rounding errors.
    """

    finished: GrownRounds
    grown: GrownRounds
    rows: BinnedRows  # the training rows
    scores: Floats  # of the training rows, (n_scores, n_rows)
    n_scores: int
    init_score: Floats | None  # the start scores of the training rows
    grower: TreeGrower  # made only if a column can be split
    can_split: bool
    shares_trees: bool  # whether the trees of a round have the same splits
    # Whether predictions are means of the trees, and not sums.
    average_output = False

    def _reset_scores(self) -> None:
        """Set all scores to those before the first round."""
        start, n_rows = self.grown.start, self.dataset.n_rows
        self.scores = initial_scores(start, self.init_score, n_rows)
        self.grown.scores = {}
        for evaluation_set in (*self.sets, *self.on_demand_sets):
            if evaluation_set.binned is not None:
                start_scores = self._start_scores(evaluation_set.rows)
                self.grown.scores[evaluation_set] = start_scores

    def _start_scores(self, rows: Rows) -> Floats:
        """The scores of rows before the first round."""
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
        # All rows find their leaves by their bins, even those outside the sample.
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
        """Add the trees of all rounds from ``first`` on.

        If leaves are linear, this must be the last round.
        """
        forest, linear = self.grower.forest, self.grown.linear
        for rows, scores in scored_rows:
            leaf_models = rows.leaf_model_table(linear[-1]) if linear else None
            add_trees(
                forest,
                first * self.n_scores,
                rows.store,
                rows.missing_bin,
                self.n_threads,
                scores,
                rows.numbers,
                leaf_models,
                are_shared=self.shares_trees,
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
        if not (self.sets or self.on_demand_sets):
            return []
        return [
            (evaluation_set.binned, self.grown.scores[evaluation_set])
            for evaluation_set in (*self.sets, *self.on_demand_sets)
            if evaluation_set.binned is not None
        ]

    def _add_trees(
        self, scored_rows: Sequence[Scored], trees: BinnedTrees, factor: float = 1.0
    ) -> None:
        """Add ``factor`` times the trees of a round to scores."""
        for rows, scores in scored_rows:
            trees.add(rows, factor, self.n_threads, scores)

    def _new_trees(self) -> BinnedTrees:
        """The trees of the last round."""
        forest = self.grower.forest
        first = forest.n_trees - self.n_scores
        trees = BinnedTrees(*forest.copy(first).arrays())
        linear = self.grown.linear
        return trees._replace(linear=linear[-1] if linear else None)

    def _add_level(self, scored_rows: Sequence[Scored], level: Floats) -> None:
        """Add the level of a round, (n_scores,), to the scores of all rows.

        Only distributions have levels: see `Spread`.
        """
        for _, scores in scored_rows:
            scores += level[:, None]

    def _scores_after(self, finished: GrownRounds) -> Floats:
        """The raw scores of the training rows after some rounds.

        Trees are added in the order of the rounds, so the scores are identical to those
        of a fit that ends with them.
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
        """The scores of a set after the finished rounds, (n_scores, n_rows).

        Before the first round, they are the user's start scores, or 0. The scores of
        the training rows may be those after prefetched rounds: then copies are read.
        """
        finished, is_training = self.finished, evaluation_set.binned is None
        if finished.n == 0:
            rows = evaluation_set.rows
            init_score = self.init_score if is_training else rows.init_score
            return initial_scores(np.zeros_like(finished.start), init_score, len(rows))
        if is_training and finished.prefetched is None:
            return self.scores
        return finished.scores[evaluation_set]


def initial_scores(start: Floats, init_score: Floats | None, n_rows: int) -> Floats:
    """The scores before the first round, (n_scores, n_rows).

    ``start``, (n_scores,), is a constant for all rows, to which the user's
    ``init_score``, (n_scores, n_rows), is added; None: there is none.
    """
    scores = np.repeat(start[:, None], n_rows, axis=1)
    return scores if init_score is None else scores + init_score
