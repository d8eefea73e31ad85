"""Linear leaves: a linear model of the columns on its path in each leaf.

Y. Shi, J. Li and Z. Li, "Gradient Boosting With Piece-Wise Linear Regression Trees",
IJCAI 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine import linear
from skgoss._engine.columns import to_float64
from skgoss.frames import Columns

Floats = NDArray[np.float64]

# Directions in which columns vary less than this, against the others, have no slope.
TINY_VARIATION = 1e-10
# Coefficients that are not larger are none.
TINY_COEFFICIENT = 1e-35


class LinearLeaves(NamedTuple):
    """The linear models of some leaves.

    Attributes
    ----------
    constant : ndarray of shape (n_leaves,), float64
        Without coefficients the value of the leaf.
    start : ndarray of shape (n_leaves + 1,), int64
        Where the coefficients of each leaf begin.
    feature : ndarray of shape (n_coefficients,), int32
        Columns of the input.
    coefficient : ndarray of shape (n_coefficients,), float64
    """

    constant: Floats
    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    coefficient: Floats

    @classmethod
    def constants(cls, values: Floats) -> LinearLeaves:
        """Leaves without coefficients."""
        start = np.zeros(len(values) + 1, dtype=np.int64)
        return cls(values.copy(), start, np.empty(0, np.int32), np.empty(0))

    @classmethod
    def joined(cls, parts: Sequence[LinearLeaves]) -> LinearLeaves:
        """The leaves of all parts, one after the other."""
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        return cls(
            np.concatenate([part.constant for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([part.feature for part in parts]),
            np.concatenate([part.coefficient for part in parts]),
        )

    def leaves(self, first: int, stop: int) -> LinearLeaves:
        """Some neighbouring leaves."""
        at = self.start[first : stop + 1]
        span = slice(at[0], at[-1])
        return LinearLeaves(
            self.constant[first:stop],
            at - at[0],
            self.feature[span],
            self.coefficient[span],
        )

    def scaled(self, factor: float, added: float) -> LinearLeaves:
        """All values times a factor, plus a constant."""
        return self._replace(
            constant=factor * self.constant + added,
            coefficient=factor * self.coefficient,
        )


class RawColumns:
    """Columns as arrays of float64, each read when it is first asked for.

    Parameters
    ----------
    columns : Columns
    numbers : ndarray of int64, default=None
        The rows; None: all.
    """

    def __init__(
        self, columns: Columns, numbers: NDArray[np.int64] | None = None
    ) -> None:
        self.columns = columns
        self.numbers = numbers
        self.read: dict[int, Floats] = {}
        self.address = np.zeros(columns.n_features, dtype=np.uint64)

    def addresses(self, features: NDArray[np.int32]) -> NDArray[np.uint64]:
        """The addresses of some columns, by the numbers of all."""
        for j in np.unique(features).tolist():
            if j not in self.read:
                self.read[j] = self._values(j)
                self.address[j] = self.read[j].__array_interface__["data"][0]
        return self.address

    def _values(self, feature: int) -> Floats:
        values = np.empty((1, self.columns.n_rows))
        to_float64(self.columns.take(np.array([feature])), values)
        return values[0] if self.numbers is None else values[0][self.numbers]

    def add(
        self,
        leaf: NDArray[np.int32],
        leaf_value: Floats,
        leaves: LinearLeaves,
        factor: float,
        n_threads: int,
        score_inout: Floats,
    ) -> None:
        """Add a multiple of a tree's values: see `skgoss._engine.linear.add`."""
        linear.add(
            self.addresses(leaves.feature),
            leaf,
            leaves.start,
            leaves.feature,
            leaves.coefficient,
            leaves.constant,
            leaf_value,
            factor,
            n_threads,
            score_inout,
        )


def fit(
    raw: RawColumns,
    paths: Sequence[Sequence[int]],
    leaf: NDArray[np.int32],
    rows: NDArray[np.int64],
    gradient: Floats,
    hessian: Floats,
    leaf_value: Floats,
    settings: Any,
    n_threads: int,
) -> LinearLeaves:
    """Fit a linear model in each leaf.

    The coefficients minimise the second-order approximation of the loss in the leaf's
    rows, ridge-penalised by ``linear_lambda`` but for the constant. Rows with a missing
    value in one of the columns do not count; where fewer rows are left than there are
    coefficients, the leaf stays constant.

    Parameters
    ----------
    raw : RawColumns
    paths : sequence of sequences of int
        The numeric input columns on the path to each leaf.
    leaf : ndarray of shape (n,), int32
        The leaf of each row.
    rows : ndarray of shape (m,), int64
        The rows that were drawn.
    gradient, hessian : ndarray of shape (n,), float64
        Weighted.
    leaf_value : ndarray of shape (n_leaves,), float64
        The values of constant leaves, shrunk.
    settings : Settings
        With ``linear_lambda`` and ``learning_rate``.
    n_threads : int

    Returns
    -------
    LinearLeaves
    """
    size = np.array([len(path) for path in paths], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(size)])
    moment_start = np.concatenate([[0], np.cumsum(size**2)])
    feature = np.array([j for path in paths for j in path], dtype=np.int32)
    if len(feature) == 0:
        return LinearLeaves.constants(leaf_value)
    order = rows[np.argsort(leaf[rows], kind="stable")]
    row_start = np.searchsorted(leaf[order], np.arange(len(paths) + 1)).astype(np.int64)
    mean, slope = np.zeros((2, start[-1]))
    moment = np.zeros(moment_start[-1])
    total = np.empty((len(paths), 3))
    linear.sums(
        raw.addresses(feature),
        start,
        feature,
        row_start,
        order,
        gradient,
        hessian,
        moment_start,
        n_threads,
        mean,
        moment,
        slope,
        total,
    )
    fitted = []
    for k, p in enumerate(size.tolist()):
        its = slice(start[k], start[k + 1])
        lower = moment[moment_start[k] : moment_start[k + 1]].reshape(p, p)
        beta = _solved(lower, slope[its], total[k], settings.linear_lambda)
        fitted.append(
            _leaf(beta, mean[its], feature[its], total[k], settings, leaf_value[k])
        )
    return LinearLeaves.joined(fitted)


def _solved(
    lower: Floats, slope: Floats, total: Floats, penalty: float
) -> Floats | None:
    """The slopes of a leaf; None: it stays constant."""
    _, hessian, n_rows = total
    if len(slope) == 0 or n_rows < len(slope) + 1 or not hessian > 0:
        return None
    moment = lower + np.tril(lower, -1).T + penalty * np.eye(len(slope))
    scale = np.sqrt(np.diag(moment))
    # Columns that do not vary in the leaf, and sums of others, get the least slopes.
    scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    found, *_ = np.linalg.lstsq(
        moment * scale * scale[:, None], slope * scale, rcond=TINY_VARIATION
    )
    beta = -scale * found
    return beta if np.isfinite(beta).all() else None


def _leaf(
    beta: Floats | None,
    mean: Floats,
    feature: NDArray[np.int32],
    total: Floats,
    settings: Any,
    leaf_value: float,
) -> LinearLeaves:
    if beta is None:
        return LinearLeaves.constants(np.array([leaf_value]))
    kept = np.abs(beta) > TINY_COEFFICIENT
    beta, mean, feature = beta[kept], mean[kept], feature[kept]
    constant = settings.learning_rate * (-total[0] / total[1] - beta @ mean)
    return LinearLeaves(
        np.array([constant]),
        np.array([0, len(beta)]),
        feature,
        settings.learning_rate * beta,
    )


def paths(
    nodes: NDArray[Any], column: NDArray[np.int32], is_numeric: NDArray[np.bool_]
) -> list[list[int]]:
    """The numeric columns on the path to each leaf of a tree, ascending.

    Parameters
    ----------
    nodes : structured ndarray
        As from ``Forest.arrays``.
    column : ndarray of shape (n_used,), int32
        The input column of each used one.
    is_numeric : ndarray of shape (n_used,), bool
    """
    found: list[list[int]] = [[] for _ in range(len(nodes) + 1)]
    open_nodes = [(0, frozenset[int]())] if len(nodes) else []
    while open_nodes:
        at, above = open_nodes.pop()
        node = nodes[at]
        feature = int(node["feature"])
        here = above | {int(column[feature])} if is_numeric[feature] else above
        for child in (int(node["left"]), int(node["right"])):
            if child >= 0:
                open_nodes.append((child, here))
            else:
                found[~child] = sorted(here)
    return found
