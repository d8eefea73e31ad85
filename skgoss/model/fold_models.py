"""The models of folds, taken out of the ensemble that is their mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skgoss.data.columns import Columns
from skgoss.model.ensemble import Ensemble
from skgoss.model.out_of_fold import CalibrationRows
from skgoss.model.trees import LEAF_TYPES, NODE_TYPES, Tree


@dataclass(frozen=True, eq=False)
class FoldModels:
    """What the models of folds predict, each on its own.

    Attributes
    ----------
    shared : Ensemble
        The rounds of ``init_model``.
    own : Ensemble
        The rounds of all folds side by side: the scores of fold 0, then those of fold
        1, and so on. A fold with fewer rounds than others has trees of one leaf.
    factor : float
        Of the scores of ``own``: the leaf values of the mean are shares.
    mean : ndarray of shape (n_tests, n_folds), float64
        The weights of the folds in the mean over those that test the same rows.
    """

    shared: Ensemble
    own: Ensemble
    factor: float
    mean: NDArray[np.float64]

    @classmethod
    def of(cls, trees: Ensemble, rows: CalibrationRows) -> Self:
        """Take the models of folds out of the trees of their mean."""
        mean = rows.tests / rows.tests.sum(axis=1, keepdims=True)
        n_folds, fold = mean.shape[1], rows.fold_of_round
        rounds = [np.flatnonzero(fold == k) for k in range(n_folds)]
        # The last round is the one that fills the gaps.
        order = np.full((max(map(len, rounds)), n_folds), trees.n_rounds)
        for k, own in enumerate(rounds):
            order[: len(own), k] = own
        with_gap = trees.joined(_nothing(trees))
        own = replace(
            with_gap.chosen(order.ravel()),
            n_scores=n_folds * trees.n_scores,
            average=False,
        )
        factor = n_folds / (trees.n_rounds if trees.average else 1)
        return cls(trees.truncated(int((fold < 0).sum())), own, factor, mean)

    def raw_scores(self, columns: Columns, n_threads: int) -> NDArray[np.float64]:
        """The raw scores of rows by the mean model of each set of folds.

        Returns
        -------
        (n_rows, n_tests, n_scores) float64
        """
        own = self.own.raw_scores(columns, n_threads=n_threads)
        by_fold = own.reshape(len(own), self.mean.shape[1], -1)
        shared = self.shared.raw_scores(columns, n_threads=n_threads)
        scores = self.factor * by_fold + shared[:, None]
        return np.einsum("tf,nfs->nts", self.mean, scores)


def _nothing(trees: Ensemble) -> Ensemble:
    """A round whose trees have one leaf of value 0."""
    arrays = {name: np.zeros(0, dtype) for name, dtype in NODE_TYPES.items()}
    arrays |= {name: np.zeros(1, dtype) for name, dtype in LEAF_TYPES.items()}
    n_scores = trees.n_scores
    return Ensemble.of_trees([Tree(**arrays)] * n_scores, n_scores, trees.n_features)
