"""The interface of all states of boosting: evaluation sets, one thread that trains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.distributed.row_partition import RowPartition
from skgoss.model.ensemble import Ensemble
from skgoss.objectives.metrics import CustomMetric
from skgoss.parameters.settings import Settings
from skgoss.training.evaluation import EvalResult, EvaluationSet

# Rounds that may grow at once, before the callbacks of the first: enough that no thread
# waits for a slow round of another, and that Python's part of a round, whose caches are
# cold after the kernels, counts for little. They are lost if a callback stops.
MAX_FOLLOWING = 8
# The same where nothing ends the rounds early, so that none can be lost.
MAX_FOLLOWING_IF_NONE_ENDS = 32

# Of an attribute: the object, its name, and its new value.
Change = tuple[object, str, object]


class Rounds(ABC):
    """What boosts: the interface of `Boosting` and `MultiOutput`."""

    settings: Settings
    n_threads: int
    dataset: BinnedDataset  # the training rows
    # Which of the rows of all processes are those of the training set.
    partition: RowPartition
    first_round: int  # the number of the first new round
    sets: list[EvaluationSet]
    unlisted_sets: list[EvaluationSet]  # those that are evaluated only when asked for
    # Makes an evaluation set of the training rows, for `eval_train`.
    make_training_set: Callable[[], EvaluationSet] | None

    @abstractmethod
    def current_iteration(self) -> int:
        """The number of finished rounds, including those of an earlier model."""

    @property
    @abstractmethod
    def n_leaves(self) -> int:
        """The number of leaves of all new trees."""

    @abstractmethod
    def ensemble(self) -> Ensemble:
        """The trees of the finished rounds, in terms of columns and thresholds.

        Any thread may ask for them, also while a round grows.
        """

    @abstractmethod
    def changes(self, params: Mapping[str, Any]) -> list[Change]:
        """What changes options of single trees, by any of their names."""

    @abstractmethod
    def boost(self, begin: Callable[[], None] | None = None) -> bool:
        """Grow the trees of one round; returns whether a tree could be split.

        If none could, no trees are added, except constant trees in the first round. If
        the round fails, it has not happened. RuntimeError if a round is going on;
        ``begin`` is called as soon as none is.
        """

    @abstractmethod
    def expecting(
        self, n_rounds: int, *, is_watched: bool, may_end: bool
    ) -> AbstractContextManager[Any]:
        """Let ``n_rounds`` rounds grow at once in the `with` body, if they can.

        They are finished one by one, by `boost`, and nobody changes the fit meanwhile.
        If they are watched, sets are evaluated after each. If they ``may_end``, the
        body may do so before all are asked for.
        """

    @abstractmethod
    def expect(self, n_rounds: int, is_watched: bool, may_end: bool) -> None:
        """The same without a `with` body; 0: rounds not asked for are forgotten."""

    @abstractmethod
    def rest(self) -> None:
        """Free the memory that only growing needs; the next round takes it again."""

    @abstractmethod
    def rollback(self) -> None:
        """Forget the last round, as if it had not happened.

        Trees of an earlier model stay.
        """

    @abstractmethod
    def set_leaf(self, tree: int, leaf: int, value: float) -> None:
        """Change the value of a leaf, and add all trees to the scores again."""

    @abstractmethod
    def end(self, n_rounds: int) -> None:
        """Forget later rounds, for good.

        Evaluation sets get the scores of the rounds that are kept. The training rows do
        so for a distribution only, so no round can follow.
        """

    def learned_scores(self) -> NDArray[np.float64] | None:
        """The raw scores of the training rows of all processes, of a distribution."""
        return None

    @abstractmethod
    def resume(
        self, other: Any, with_metrics: Callable[[EvaluationSet], EvaluationSet]
    ) -> None:
        """Take over the trees and evaluation sets of a fit on other rows in these bins.

        ``with_metrics`` makes evaluation sets of this fit from those of the other fit.
        """

    @property
    def training_names(self) -> set[str]:
        """The names of the evaluation sets that are the training set."""
        return {e.name for e in self.sets if e.is_training}

    def training_sets(self) -> list[EvaluationSet]:
        """The evaluation sets that are the training set, at least one."""
        added = [e for e in (*self.sets, *self.unlisted_sets) if e.is_training]
        if not added:
            assert self.make_training_set is not None
            self.add(self.make_training_set(), is_listed=False)
        return added or self.unlisted_sets[-1:]

    def eval_train(self, more: Sequence[CustomMetric] = ()) -> list[EvalResult]:
        """The metrics of the training set after the last round.

        The training set need not be among the evaluation sets.
        """
        return self.evaluate_sets(self.training_sets(), more)

    def eval_valid(self, more: Sequence[CustomMetric] = ()) -> list[EvalResult]:
        """The metrics of the evaluation sets that are not the training set."""
        return self.evaluate_sets([e for e in self.sets if not e.is_training], more)

    @abstractmethod
    def evaluate_sets(
        self, sets: Sequence[EvaluationSet], more: Sequence[CustomMetric] = ()
    ) -> list[EvalResult]:
        """The metrics of some evaluation sets, and ``more`` metrics."""

    @abstractmethod
    def evaluate(self) -> list[EvalResult]:
        """The metrics of the evaluation sets after the last round."""

    @abstractmethod
    def add(self, evaluation_set: EvaluationSet, *, is_listed: bool = True) -> None:
        """Add an evaluation set, with the scores of the trees so far.

        It is evaluated after each round only if ``is_listed``.
        """

    @abstractmethod
    def raw_scores(self, evaluation_set: EvaluationSet) -> NDArray[np.float64]:
        """The raw scores of an evaluation set: the sum of the trees so far."""
