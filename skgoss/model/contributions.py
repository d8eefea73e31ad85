"""Exact SHAP values of an ensemble's rows, and their interactions.

The values are the path-dependent ones of S. Lundberg, G. Erion and S.-I. Lee,
"Consistent Individualized Feature Attribution for Tree Ensembles", 2018: where the
value of a feature is unknown, the children of a node are weighted by their rows in the
fit. The values are integrals of polynomials, and Gauss-Legendre points make them exact.

Counts are those of the leaves; numbers below zero count as zero. Where a node has no
rows at all, its children count by halves. So the values are finite for any counts, and
their sum is the raw score. LightGBM has the same values where it has any: of rows that
do not reach a leaf without rows it has NaN.

Where a column of a linear leaf is unknown, it has its mean in the leaf's rows. If the
linear model is clipped to its bounds, all columns count for less, by one factor.
Columns with missing values share the constant value of the leaf.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.contribution_kernels import Explainer
from skgoss.columns.columns import Columns
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WITHOUT_PAIRS = np.empty((0, 2), dtype=np.int64)


def contributions(
    ensemble: Ensemble,
    columns: Columns,
    start_round: int = 0,
    stop_round: int | None = None,
    n_threads: int = 1,
) -> Floats:
    """SHAP values: what each feature adds to the raw scores.

    The rounds are those from ``start_round`` to ``stop_round - 1``; None: to the last.
    The values do not depend on the number of threads. The shape is (n_rows, n_scores,
    n_features + 1), with the expected value in the last column. The sums over the last
    axis are the raw scores. ValueError if the ensemble has linear leaves of LightGBM,
    whose columns have no means.
    """
    tables = _tables(ensemble)
    span = ensemble._span(columns, start_round, stop_round)
    n_scores, width = ensemble.n_scores, ensemble.n_features + 1
    out = np.empty((columns.n_rows, n_scores, width))
    target = tables.score * width + tables.feature
    rest = width * np.arange(n_scores) + width - 1
    tables.run(ensemble, columns, span, target, rest, n_threads, out)
    return out


def sparse_contributions(
    ensemble: Ensemble,
    columns: Columns,
    start_round: int = 0,
    stop_round: int | None = None,
    n_threads: int = 1,
) -> list[csr_matrix]:
    """SHAP values of the features that the trees use: a sparse matrix for each score.

    Arguments and errors are those of `contributions`. Each matrix is (n_rows,
    n_features + 1), with the expected value as the last column. Memory is proportional
    to the number of rows times that of the used features.
    """
    from scipy.sparse import csr_matrix

    tables = _tables(ensemble)
    span = ensemble._span(columns, start_round, stop_round)
    n, n_scores = columns.n_rows, ensemble.n_scores
    # The slots of a score are consecutive; its expected value follows them.
    stop = np.searchsorted(tables.score, np.arange(n_scores + 1))
    stop += np.arange(n_scores + 1)
    out = np.empty((n, stop[-1]))
    target = np.arange(len(tables.score)) + tables.score
    tables.run(ensemble, columns, span, target, stop[1:] - 1, n_threads, out)
    matrices = []
    for score in range(n_scores):
        used = np.append(tables.feature[tables.score == score], ensemble.n_features)
        data = out[:, stop[score] : stop[score + 1]].ravel()
        start = np.arange(n + 1) * len(used)
        shape = n, ensemble.n_features + 1
        matrices.append(csr_matrix((data, np.tile(used, n), start), shape=shape))
    return matrices


def interactions(
    ensemble: Ensemble,
    columns: Columns,
    start_round: int = 0,
    stop_round: int | None = None,
    n_threads: int = 1,
) -> Floats:
    """SHAP interaction values: what pairs of features add to the raw scores.

    The interaction of two different features is half of the difference that one makes
    to the SHAP value of the other. The diagonal has what remains of the SHAP values.
    Arguments and errors are those of `contributions`. The last two axes are those of
    the features; sums over the last one are the SHAP values. The last row and column
    are 0 except for the expected value in the corner.
    """
    tables = _tables(ensemble, with_pairs=True)
    span = ensemble._span(columns, start_round, stop_round)
    width = ensemble.n_features + 1
    out = np.empty((columns.n_rows, ensemble.n_scores, width, width))
    row, feature = tables.score * width + tables.feature, tables.feature
    first, second = tables.explainer.pairs.T
    pair_target = np.stack(
        [row[first] * width + feature[second], row[second] * width + feature[first]],
        axis=1,
    )
    target, rest = row * width + feature, width**2 * np.arange(ensemble.n_scores)
    rest += width**2 - 1
    tables.run(ensemble, columns, span, target, rest, n_threads, out, pair_target)
    return out


class _Tables:
    """What values are computed from: made once for an ensemble.

    A slot is a column that the trees of a score use: ``score`` and ``feature`` are
    those of each slot, ascending.
    """

    def __init__(self, ensemble: Ensemble, with_pairs: bool) -> None:
        n_leaves = np.diff(ensemble.leaf_start)
        tree_score = np.arange(ensemble.n_trees) % ensemble.n_scores
        node_score = np.repeat(tree_score, n_leaves - 1)
        key = node_score * ensemble.n_features + ensemble.arrays["split_feature"]
        slots, slot = np.unique(key, return_inverse=True)
        self.score, self.feature = np.divmod(slots, ensemble.n_features)
        value, linear = ensemble.arrays["leaf_value"], None
        if ensemble.linear is not None:
            of_leaf = np.repeat(tree_score, n_leaves) * ensemble.n_features
            value, linear = _linear_models(ensemble.linear, value, of_leaf, slots)
        self.explainer = Explainer(
            ensemble._predictor,
            ensemble.leaf_start,
            ensemble.arrays["leaf_count"],
            value,
            slot.astype(np.int32),
            len(slots),
            with_pairs,
            linear,
        )

    def run(
        self,
        ensemble: Ensemble,
        columns: Columns,
        span: tuple[int, int],
        target: NDArray[np.int64],
        expected_target: NDArray[np.int64],
        n_threads: int,
        out: Floats,
        pair_target: NDArray[np.int64] = WITHOUT_PAIRS,
    ) -> None:
        """Write the values of all rows into ``out``, whose first axis is the rows.

        ``span`` is the first tree to use and the last plus 1. The targets are positions
        in the flat values of a row: of the value of each slot, of the expected value of
        each score, and, (n_pairs, 2), of both interactions of each pair of slots.
        """
        first, stop = span
        divisor = ensemble._divisor(stop - first)
        by_round = self.explainer.expected[first:stop].reshape(-1, ensemble.n_scores)
        self.explainer.run(
            ensemble._readable(columns, n_threads),
            first,
            stop,
            divisor,
            target,
            pair_target,
            by_round.sum(axis=0) / divisor,
            expected_target,
            n_threads,
            out.reshape(len(out), prod(out.shape[1:])),
        )


def _linear_models(
    linear: LinearLeaves, leaf_value: Floats, first_key: Ints, slots: Ints
) -> tuple[Floats, dict[str, NDArray[Any]] | None]:
    """The values of leaves at the means of their columns, and their linear models.

    ``leaf_value``, (n_leaves,), is what rows with a missing value get. A slot is a
    column that the trees of a score use. ``slots`` are the keys of all slots,
    ascending; the key of a column in a leaf is the leaf's ``first_key`` plus the
    column. The models are None if all leaves are constant.
    """
    if np.isnan(linear.mean).any():
        raise ValueError(
            "The linear leaves of this model have no SHAP values, because it does not"
            " hold the means of their columns: models of LightGBM and of skgoss 0.1 do"
            " not. Fit it again with skgoss, or explain `predict` by"
            " shap.PermutationExplainer(model.predict, X)."
        )
    n_leaves, n_terms = len(linear.constant), np.diff(linear.start)
    leaf = np.repeat(np.arange(n_leaves), n_terms)
    constant = linear.constant + np.bincount(
        leaf, linear.coefficient * linear.mean, n_leaves
    )
    is_constant = n_terms == 0
    constant[is_constant] = linear.constant[is_constant]
    base = np.where(constant < linear.lower, linear.lower, constant)
    base = np.where(base > linear.upper, linear.upper, base)
    if len(leaf) == 0:
        return base, None
    feature, column = np.unique(linear.feature, return_inverse=True)
    key = first_key[leaf] + linear.feature
    slot = np.searchsorted(slots, key)
    slot[np.append(slots, -1)[slot] != key] = len(slots)  # no node tests the column
    return base, {
        "start": linear.start,
        "constant": constant,
        "lower": linear.lower,
        "upper": linear.upper,
        "fallback": leaf_value,
        "coefficient": linear.coefficient,
        "mean": linear.mean,
        "slot": slot.astype(np.int32),
        "column": column.astype(np.int32),
        "feature": feature.astype(np.int64),
    }


# The tables of ensembles, without and with pairs of features.
_TABLES: WeakKeyDictionary[Ensemble, dict[bool, _Tables]] = WeakKeyDictionary()


def _tables(ensemble: Ensemble, with_pairs: bool = False) -> _Tables:
    """The tables of an ensemble, made in the first call and kept as long as it is."""
    tables = _TABLES.setdefault(ensemble, {})
    if with_pairs not in tables:
        tables[with_pairs] = _Tables(ensemble, with_pairs)
    return tables[with_pairs]
