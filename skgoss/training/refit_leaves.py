"""New leaf values for trees whose splits stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.linear_kernels import group_rows
from skgoss.binning.rows import Rows
from skgoss.model import linear
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import Gradients, LinearLeaves, RawColumns
from skgoss.objectives.training_objective import Objective
from skgoss.utils.locks import cached_property

Floats = NDArray[np.float64]

# LightGBM's addition to sums of hessians: a leaf without rows has the optimal value 0.
EPSILON = 1e-15

# The options that a refit reads, besides those of the objective.
OPTIONS = ("reg_alpha", "reg_lambda", "max_delta_step", "linear_lambda")


@dataclass(frozen=True, eq=False)
class Refit:
    """Moves the values of leaves toward those that are optimal for some rows.

    A leaf's new value is ``decay_rate * old + (1 - decay_rate) * shrinkage * optimal``,
    where the optimal value minimizes the second-order approximation of the loss over
    the rows that reach the leaf; it is 0 in a leaf without rows. The trees come in
    order, and the loss is approximated at the scores of the new trees before them. The
    trees of a forest stand alone: each starts from the best constant. The coefficients
    of linear leaves move in the same way.

    Attributes
    ----------
    ensemble : Ensemble
    rows : Rows
    objective : Objective
        The objective on the rows.
    options : object
        It has the attributes ``OPTIONS``.
    shrinkage : ndarray of shape (n_trees,), float64
        The factor of each tree.
    decay_rate : float
        From 0 to 1.
    n_threads : int
    """

    ensemble: Ensemble
    rows: Rows
    objective: Objective
    options: Any
    shrinkage: Floats
    decay_rate: float
    n_threads: int

    def run(self) -> Ensemble:
        """The ensemble with other leaves; their counts and weights are the old ones."""
        ensemble, is_additive = self.ensemble, not self.ensemble.average
        scores = np.repeat(self._start[:, None], len(self.rows), axis=1)
        if self.rows.init_score is not None:
            scores += self.rows.init_score
        values, models = [], []
        for index in range(ensemble.n_rounds):
            if index == 0 or is_additive:
                gradients = self._gradients(scores)
            for k, leaf in enumerate(self._leaves(index)):
                tree = index * len(scores) + k
                value, model = self._tree(tree, k, leaf, gradients[k])
                values.append(value)
                models.append(model)
                if is_additive:
                    self._add(leaf, value, model, scores[k])
        linear_leaves = None if ensemble.linear is None else LinearLeaves.joined(models)
        return ensemble.with_leaves(np.concatenate(values), linear_leaves)

    @cached_property
    def _start(self) -> Floats:
        """What each tree's values are added to, if it stands alone; else 0."""
        if self.ensemble.average:
            return self.objective.start_scores()
        return np.zeros(self.ensemble.n_scores)

    @cached_property
    def _raw(self) -> RawColumns:
        return RawColumns(self.rows.columns, self.rows.numbers)

    def _gradients(self, scores: Floats) -> list[Gradients]:
        """The gradients, hessians and weights of each score."""
        objective = self.objective
        gradient = np.empty(scores.shape, dtype=np.float32)
        hessian = np.ones(scores.shape, dtype=np.float32)
        objective.gradients(
            scores,
            gradient,
            None if objective.constant_hessian else hessian,
            self.n_threads,
        )
        weight = np.float64(1.0) if objective.weight is None else objective.weight
        weights = np.ascontiguousarray(np.broadcast_to(weight, scores.shape))
        return [
            Gradients(*of_score)
            for of_score in zip(gradient, hessian, weights, strict=True)
        ]

    def _leaves(self, index: int) -> NDArray[np.int32]:
        """The leaf of each row in the trees of a round, (n_scores, n_rows)."""
        rows = self.rows
        leaves = self.ensemble.leaves(rows.columns, index, index + 1, self.n_threads)
        chosen = leaves if rows.numbers is None else leaves[rows.numbers]
        return np.ascontiguousarray(chosen.T)

    def _tree(
        self,
        tree: int,
        k: int,
        leaf: NDArray[np.int32],
        gradients: Gradients,
    ) -> tuple[Floats, LinearLeaves | None]:
        """The new values, and linear models, of a tree's leaves."""
        first, stop = self.ensemble.leaf_start[tree : tree + 2].tolist()
        old = self.ensemble.arrays["leaf_value"][first:stop]
        optimal = self._optimal(
            np.bincount(leaf, gradients.gradient * gradients.weight, stop - first),
            np.bincount(leaf, gradients.hessian * gradients.weight, stop - first),
        )
        optimal *= self.shrinkage[tree]
        values = self._moved(old, self._start[k] + optimal)
        if self.ensemble.linear is None:
            return values, None
        models = self.ensemble.linear.leaves(first, stop)
        fitted = linear.fit(
            self._raw,
            np.split(models.feature, models.start[1:-1]),
            group_rows(leaf, np.arange(len(leaf)), stop - first),
            gradients,
            optimal,
            SimpleNamespace(
                linear_lambda=self.options.linear_lambda,
                learning_rate=self.shrinkage[tree],
            ),
            self.n_threads,
        )
        return values, self._moved_models(models, fitted, self._start[k])

    def _optimal(self, gradient: Floats, hessian: Floats) -> Floats:
        """The optimal values of leaves with these sums."""
        options, limit = self.options, self.options.max_delta_step
        shrunk = np.maximum(np.abs(gradient) - options.reg_alpha, 0.0)
        step = shrunk / (hessian + EPSILON + options.reg_lambda)
        return -np.sign(gradient) * (np.minimum(step, limit) if limit > 0 else step)

    def _moved(self, old: Floats, new: Floats) -> Floats:
        return self.decay_rate * old + (1.0 - self.decay_rate) * new

    def _moved_models(
        self, old: LinearLeaves, new: LinearLeaves, start: float
    ) -> LinearLeaves:
        """Linear models of the old columns; those that are not fitted have 0."""
        coefficient = np.zeros(len(old.coefficient))
        is_fitted = np.isin(_coefficient_keys(old), _coefficient_keys(new))
        coefficient[is_fitted] = new.coefficient
        return old._replace(
            constant=self._moved(old.constant, start + new.constant),
            coefficient=self._moved(old.coefficient, coefficient),
        )

    def _add(
        self,
        leaf: NDArray[np.int32],
        values: Floats,
        model: LinearLeaves | None,
        score_inout: Floats,
    ) -> None:
        if model is None:
            score_inout += values[leaf]
        else:
            self._raw.add(leaf, values, model, 1.0, self.n_threads, score_inout)


def _coefficient_keys(leaves: LinearLeaves) -> NDArray[np.int64]:
    """A number for the leaf and the column of each coefficient."""
    owner = np.repeat(np.arange(len(leaves.constant)), np.diff(leaves.start))
    return owner << 32 | leaves.feature
