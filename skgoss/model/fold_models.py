"""The models of folds, taken out of the ensemble that is their mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.columns import Columns
from skgoss.model.ensemble import Ensemble
from skgoss.model.out_of_fold import CalibrationRows
from skgoss.model.trees import zero_tree


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
        # The round after the last one adds nothing.
        order = np.full((max(map(len, rounds)), n_folds), trees.n_rounds)
        for k, own_rounds in enumerate(rounds):
            order[: len(own_rounds), k] = own_rounds
        nothing = [zero_tree()] * trees.n_scores
        padded = trees.joined(
            Ensemble.of_trees(nothing, trees.n_scores, trees.n_features)
        )
        own = replace(
            padded.chosen(order.ravel()),
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
