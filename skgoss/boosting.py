"""The round loop: gradients, row sample, trees, scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.grower import TreeGrower
from skgoss._engine.predict import add_tree_binned
from skgoss._engine.sampling import bagging_mask
from skgoss.dataset import Dataset
from skgoss.ensemble import Ensemble, Tree
from skgoss.objectives import Objective

AfterRound = Callable[[int, Callable[[], Ensemble]], bool]

# Bits of LightGBM's decision_type.
DEFAULT_LEFT = 2
MISSING_SHIFT = 2


def train(
    dataset: Dataset,
    objective: Objective,
    settings: Any,
    n_threads: int,
    *,
    after_round: AfterRound | None = None,
) -> Ensemble:
    """Boost trees on a binned training set.

    Parameters
    ----------
    dataset : Dataset
    objective : Objective
        Made for the rows of ``dataset``.
    settings : Settings
        Resolved options.
    n_threads : int
        Threads at most; the trees do not depend on it.
    after_round : callable, default=None
        Called after each round as ``after_round(round_index, ensemble)``, where
        ``ensemble()`` makes an ensemble of the trees so far. True stops.

    Returns
    -------
    Ensemble

    Raises
    ------
    ValueError
        If a gradient or hessian is NaN or infinite.
    """
    booster = Booster(dataset, objective, settings, n_threads)
    for round_index in range(settings.n_estimators):
        grew = booster.boost(round_index)
        if not grew:
            break
        if after_round is not None and after_round(round_index, booster.ensemble):
            break
    return booster.ensemble()


class Booster:
    """The state of boosting: the scores of the training rows and the trees so far.

    Parameters
    ----------
    dataset, objective, settings, n_threads
        See `train`.
    """

    def __init__(
        self, dataset: Dataset, objective: Objective, settings: Any, n_threads: int
    ) -> None:
        shape = (objective.n_scores, dataset.n_rows)
        self.dataset = dataset
        self.objective = objective
        self.settings = settings
        self.n_threads = n_threads
        self.trees: list[Tree] = []
        self.scores = np.repeat(objective.start_scores()[:, None], shape[1], axis=1)
        self.gradient = np.empty(shape, dtype=np.float32)
        self.hessian = (
            None if objective.constant_hessian else np.empty(shape, dtype=np.float32)
        )
        self.weight = (
            None if objective.weight is None else np.atleast_2d(objective.weight)
        )
        self.rows: NDArray[np.uint32] | None = None
        self.left_out: NDArray[np.uint32] | None = None
        self.grower = (
            TreeGrower(dataset, settings, shape[0], n_threads)
            if len(dataset.feature)
            else None
        )
        self._read_bounds(dataset)

    def _read_bounds(self, dataset: Dataset) -> None:
        """Thresholds of all columns in one array, for trees to look up at once."""
        self.bounds = np.concatenate([*dataset.upper_bounds, np.empty(0)])
        self.bound_start = np.cumsum([0] + [len(b) for b in dataset.upper_bounds])

    def ensemble(self) -> Ensemble:
        """The trees so far."""
        return Ensemble(self.trees, self.objective.n_scores, self.dataset.n_features)

    def boost(self, round_index: int) -> bool:
        """Grow one round's trees; False, and no trees, when none could be split.

        The first round always leaves trees, constant ones if need be.
        """
        grown = self._grow(round_index)
        if round_index == 0:
            self.trees.extend(
                self._with_start(k, tree)
                for k, tree in enumerate(map(self._tree, grown))
            )
        elif any(len(tree[-1]) > 1 for tree in grown):
            self.trees.extend(map(self._tree, grown))
        return any(len(tree[-1]) > 1 for tree in grown)

    def _grow(self, round_index: int) -> list[tuple]:
        if self.grower is None:
            return [_stump(self.dataset.n_rows) for _ in self.scores]
        self._sample_rows(round_index)
        self.objective.gradients(
            self.scores, self.gradient, self.hessian, self.n_threads
        )
        renews = self.objective.renews_leaves
        try:
            grown = self.grower.grow(
                self.gradient,
                self.hessian,
                self.weight,
                self.rows,
                None if renews else self.scores,
                round_index,
            )
        except FloatingPointError as error:
            raise ValueError(
                f"objective {self.objective.name!r} gave NaN or infinite gradients in "
                f"round {round_index}; look for huge values in y or sample_weight."
            ) from error
        if renews:
            self._renew(grown)
        if self.left_out is not None:
            self._score_left_out(grown)
        return grown

    def _sample_rows(self, round_index: int) -> None:
        """Draw a new bag every ``subsample_freq`` rounds."""
        settings = self.settings
        if (
            settings.subsample >= 1.0
            or settings.subsample_freq <= 0
            or round_index % settings.subsample_freq
        ):
            return
        kept = bagging_mask(
            self.dataset.n_rows,
            settings.subsample,
            settings.bagging_seed,
            round_index,
            self.n_threads,
        )
        if not kept.any():
            kept[0] = True
        self.rows = np.flatnonzero(kept).astype(np.uint32)
        self.left_out = np.flatnonzero(~kept).astype(np.uint32)

    def _renew(self, grown: list[tuple]) -> None:
        """Replace the values of the leaves and only then add them to the scores."""
        leaf_value = grown[0][-3]
        if len(leaf_value) == 1:
            return
        score = self.scores[0]
        rows_of = [self.grower.leaf_rows(leaf) for leaf in range(len(leaf_value))]
        for leaf, rows in enumerate(rows_of):
            leaf_value[leaf] = self.settings.learning_rate * (
                self.objective.renewed_leaf(score, rows)
            )
            score[rows] += leaf_value[leaf]

    def _score_left_out(self, grown: list[tuple]) -> None:
        """Rows outside the bag reach their leaves by their bins."""
        for score, tree in zip(self.scores, grown, strict=True):
            feature, threshold_bin, missing_left, left, right = tree[:5]
            if len(feature) == 0:
                continue
            add_tree_binned(
                self.dataset.rows,
                feature,
                threshold_bin,
                missing_left.astype(np.uint8),
                self.dataset.missing_bin[feature],
                left,
                right,
                tree[-3],
                self.left_out,
                self.n_threads,
                score,
            )

    def _tree(self, grown: tuple) -> Tree:
        """A grown tree in terms of the input: columns and thresholds."""
        feature, threshold_bin, missing_left, left, right, *values = grown
        dataset = self.dataset
        return Tree(
            dataset.feature[feature],
            self.bounds[self.bound_start[feature] + threshold_bin],
            (
                missing_left * DEFAULT_LEFT
                | dataset.missing_type[feature] << MISSING_SHIFT
            ).astype(np.uint8),
            left,
            right,
            *values,
        )

    def _with_start(self, k: int, tree: Tree) -> Tree:
        """A tree of the first round carries the start score of its class.

        As in LightGBM a class whose first tree could not be split predicts its average.
        """
        if tree.n_leaves == 1:
            start = float(self.objective.average[k])
            self.scores[k] = start
        else:
            start = float(self.objective.start_scores()[k])
        for values in (tree.leaf_value, tree.internal_value):
            values += start
        return tree


def _stump(n_rows: int) -> tuple:
    """What `TreeGrower.grow` gives for a tree without a split."""
    indices = [np.empty(0, dtype=np.int32) for _ in range(5)]
    values = [np.empty(0) for _ in range(3)]
    counts = np.empty(0, dtype=np.int64)
    return (
        *indices,
        *values,
        counts,
        np.zeros(1),
        np.array([float(n_rows)]),
        np.array([n_rows]),
    )
