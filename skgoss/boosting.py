"""The round loop: gradients, row sample, trees, scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss import sampling
from skgoss._engine.grower import TreeGrower
from skgoss._engine.score import add_tree
from skgoss.dataset import Dataset
from skgoss.ensemble import NO_SETS, NODE_TYPES, Ensemble, Sets, Tree
from skgoss.objectives import Objective

AfterRound = Callable[[int, Callable[[], Ensemble]], bool]

# Bits of LightGBM's decision_type.
CATEGORICAL = 1
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
        if not booster.boost(round_index):
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
        self.start = objective.start_scores()
        self.scores = np.repeat(self.start[:, None], shape[1], axis=1)
        self.gradient = np.empty(shape, dtype=np.float32)
        self.hessian = (
            None if objective.constant_hessian else np.empty(shape, dtype=np.float32)
        )
        self.weight = (
            None if objective.weight is None else np.atleast_2d(objective.weight)
        )
        self.sampler = sampling.make(settings, self.weight, dataset.n_rows)
        self.grower = (
            TreeGrower(dataset, settings, shape[0], n_threads)
            if len(dataset.feature)
            else None
        )

    def ensemble(self) -> Ensemble:
        """The trees so far, in terms of the input: columns and thresholds."""
        dataset, objective = self.dataset, self.objective
        if self.grower is None:
            return _constant(objective, dataset)
        nodes, leaves, leaf_start = self.grower.forest.arrays()
        feature = nodes["feature"]
        sets, set_of = self._sets(nodes)
        # Categorical columns have no bounds; one stands for each of them.
        bounds = np.concatenate([b if len(b) else [0.0] for b in dataset.upper_bounds])
        bound_start = np.cumsum([0, *(max(1, len(b)) for b in dataset.upper_bounds)])
        categorical = dataset.categorical[feature]
        cut = bounds[bound_start[feature] + np.where(categorical, 0, nodes["bin"])]
        arrays = {
            "split_feature": dataset.feature[feature],
            "threshold": np.where(categorical, set_of, cut),
            "decision_type": (
                np.where(categorical, CATEGORICAL, nodes["missing_left"] * DEFAULT_LEFT)
                | dataset.missing_type[feature] << MISSING_SHIFT
            ).astype(np.uint8),
            "left_child": nodes["left"].copy(),
            "right_child": nodes["right"].copy(),
            "split_gain": nodes["gain"].copy(),
            "internal_value": nodes["value"].copy(),
            "internal_weight": nodes["weight"].copy(),
            "internal_count": nodes["count"].copy(),
            "leaf_value": leaves["value"].copy(),
            "leaf_weight": leaves["weight"].copy(),
            "leaf_count": leaves["count"].copy(),
        }
        for k in range(objective.n_scores):
            first, last = leaf_start[k], leaf_start[k + 1]
            arrays["leaf_value"][first:last] += self.start[k]
            arrays["internal_value"][first - k : last - k - 1] += self.start[k]
        return Ensemble.from_arrays(
            arrays, leaf_start, objective.n_scores, dataset.n_features, sets
        )

    def _sets(self, nodes: NDArray[Any]) -> tuple[Sets, NDArray[np.int64]]:
        """The categories that go left at categorical nodes, and each node's set."""
        dataset = self.dataset
        set_of = np.cumsum(nodes["last_word"] > nodes["first_word"]) - 1
        chosen = nodes[nodes["last_word"] > nodes["first_word"]]
        if len(chosen) == 0:
            return NO_SETS, set_of
        categories = [mapper.categories for mapper in dataset.used_mappers]
        n_words = np.array([0 if c is None else c.max() // 32 + 1 for c in categories])
        start = np.concatenate([[0], np.cumsum(n_words[chosen["feature"]])])
        bits = np.unpackbits(
            self.grower.forest.words().view(np.uint8), bitorder="little"
        )
        into = np.zeros(32 * start[-1], dtype=np.uint8)
        for node, first in zip(chosen, start.tolist(), strict=False):
            its = categories[node["feature"]]
            at = 32 * node["first_word"]
            into[32 * first + its[bits[at : at + len(its)] > 0]] = 1
        return Sets(start, np.packbits(into, bitorder="little").view(np.uint32)), set_of

    def boost(self, round_index: int) -> bool:
        """Grow one round's trees; False when none could be split.

        Then there are no trees but, in the first round, constant ones.
        """
        if self.grower is None:
            return False
        self.objective.gradients(
            self.scores, self.gradient, self.hessian, self.n_threads
        )
        sample = self.sampler.draw(
            round_index, self.gradient, self.hessian, self.n_threads
        )
        renews = self.objective.renews_leaves
        adds_itself = sample.rows is None and not renews
        try:
            grew = self.grower.grow(
                self.gradient,
                sample.hessian,
                self.weight,
                sample.rows,
                self.scores if adds_itself else None,
                round_index,
            )
        except FloatingPointError as error:
            raise ValueError(
                f"objective {self.objective.name!r} gave NaN or infinite gradients in "
                f"round {round_index}; look for huge values in y or sample_weight."
            ) from error
        if round_index == 0:
            self._start_stumps()
        if grew and renews:
            self._renew(sample.hessian)
        if grew and not adds_itself:
            self._score_rows()
        return grew

    def _start_stumps(self) -> None:
        """A class whose first tree has no split predicts its average (as LightGBM)."""
        stump = np.diff(self.grower.forest.arrays()[2]) == 1
        self.start = np.where(stump, self.objective.average, self.start)
        self.scores[stump] = self.start[stump, None]

    def _renew(self, counts: NDArray[np.float32] | None) -> None:
        """Replace the values of the leaves, before they are added to the scores.

        The objectives that ask for it have constant hessians: ``counts`` tells for how
        many rows each one counts.
        """
        forest = self.grower.forest
        n_leaves = len(forest.arrays(forest.n_trees - 1)[1])
        weight = None if self.weight is None else self.weight[0]
        if counts is not None:
            weight = counts[0].astype(np.float64) * (1.0 if weight is None else weight)
        values = [
            self.objective.renewed_leaf(
                self.scores[0], self.grower.leaf_rows(leaf), weight
            )
            for leaf in range(n_leaves)
        ]
        forest.set_leaf_values(self.settings.learning_rate * np.array(values))

    def _score_rows(self) -> None:
        """All rows, drawn or not, reach their leaves by their bins."""
        n_scores = self.objective.n_scores
        forest = self.grower.forest
        nodes, leaves, start = forest.arrays(forest.n_trees - n_scores)
        words = forest.words(forest.n_trees - n_scores)
        for k, score in enumerate(self.scores):
            add_tree(
                self.dataset.storage.store,
                nodes[start[k] - k : start[k + 1] - k - 1],
                self.dataset.missing_bin,
                words,
                leaves["value"][start[k] : start[k + 1]].copy(),
                self.n_threads,
                score,
            )


def _constant(objective: Objective, dataset: Dataset) -> Ensemble:
    """An ensemble of the averages, where no column can part the rows."""
    weight = 1.0 if objective.weight is None else objective.weight
    tree = {
        field.name: np.empty(0, NODE_TYPES.get(field.name)) for field in fields(Tree)
    }
    trees = [
        Tree(
            **tree
            | {
                "leaf_value": np.array([average]),
                "leaf_weight": np.array([float(np.sum(weight))]),
                "leaf_count": np.array([dataset.n_rows]),
            }
        )
        for average in objective.average
    ]
    return Ensemble(trees, objective.n_scores, dataset.n_features)
