"""Linear leaves: each leaf has a linear model of the columns on its path.

Y. Shi, J. Li and Z. Li, "Gradient Boosting With Piece-Wise Linear Regression Trees",
IJCAI 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.columns.column_kernels import KINDS, to_float64
from skgoss._engine.model import linear_kernels
from skgoss.columns.columns import Columns
from skgoss.parameters.settings import Settings

Floats = NDArray[np.float64]

LINEAR_TYPES = {
    "constant": np.float64,
    "start": np.int64,
    "feature": np.int32,
    "coefficient": np.float64,
}
# What files of LightGBM and states of skgoss 0.1 do not have.
BOUND_TYPES = {"lower": np.float64, "upper": np.float64}
MEAN_TYPES = {"mean": np.float64}


class LinearLeaves(NamedTuple):
    """The linear models of some leaves."""

    # (n_leaves,): the intercept; in a leaf without coefficients, its value.
    constant: Floats
    # (n_leaves + 1,): where the coefficients of each leaf begin.
    start: NDArray[np.int64]
    # (n_coefficients,): the input column of each coefficient.
    feature: NDArray[np.int32]
    coefficient: Floats  # (n_coefficients,)
    # (n_leaves,): what the model is clipped to. NaN: to nothing, as in LightGBM.
    lower: Floats
    upper: Floats
    # (n_coefficients,): the mean of each column in the leaf's rows, for SHAP values.
    # NaN: not known.
    mean: Floats

    @classmethod
    def constants(cls, values: Floats) -> LinearLeaves:
        """Leaves without coefficients."""
        start, none = np.zeros(len(values) + 1, dtype=np.int64), np.empty(0)
        feature, values = np.empty(0, np.int32), values.copy()
        return cls(values, start, feature, none, values, values, none)

    @classmethod
    def unbounded(
        cls, constant: Floats, coefficient: Floats, **terms: NDArray[Any]
    ) -> LinearLeaves:
        """Leaves without bounds and means, which are NaN.

        ``terms`` are ``start`` and ``feature``: for all arguments see the attributes.
        """
        none, unknown = (
            np.full(len(constant), np.nan),
            np.full(len(coefficient), np.nan),
        )
        ends = {"lower": none, "upper": none, "mean": unknown}
        return cls(constant, coefficient=coefficient, **terms, **ends)

    @classmethod
    def joined(cls, several: Sequence[LinearLeaves]) -> LinearLeaves:
        """The leaves of several ensembles, one after the other."""
        starts = [leaves.start for leaves in several]
        sizes = np.concatenate([start[1:] - start[:-1] for start in starts])
        return cls(
            np.concatenate([leaves.constant for leaves in several]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([leaves.feature for leaves in several]),
            np.concatenate([leaves.coefficient for leaves in several]),
            np.concatenate([leaves.lower for leaves in several]),
            np.concatenate([leaves.upper for leaves in several]),
            np.concatenate([leaves.mean for leaves in several]),
        )

    def leaves(self, first: int, stop: int) -> LinearLeaves:
        """The leaves ``first`` to ``stop - 1``."""
        start = self.start[first : stop + 1]
        span = slice(start[0], start[-1])
        return LinearLeaves(
            self.constant[first:stop],
            start - start[0],
            self.feature[span],
            self.coefficient[span],
            self.lower[first:stop],
            self.upper[first:stop],
            self.mean[span],
        )

    def chosen(self, leaves: NDArray[np.integer[Any]]) -> LinearLeaves:
        """The leaves with these numbers, in this order."""
        sizes = np.diff(self.start)[leaves]
        terms = spans(self.start[leaves], sizes)
        return LinearLeaves(
            self.constant[leaves],
            np.concatenate([[0], np.cumsum(sizes)]),
            self.feature[terms],
            self.coefficient[terms],
            self.lower[leaves],
            self.upper[leaves],
            self.mean[terms],
        )

    def scaled(self, factor: float, added: float | Floats) -> LinearLeaves:
        """All values times a factor, plus a constant: one, or one for each leaf.

        A negative factor makes upper bounds of lower ones.
        """
        ends = (self.lower, self.upper)[:: 1 if factor >= 0 else -1]
        return self._replace(
            constant=factor * self.constant + added,
            coefficient=factor * self.coefficient,
            lower=factor * ends[0] + added,
            upper=factor * ends[1] + added,
        )


def spans(first: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The integers of several spans, one after the other.

    Span i has ``sizes[i]`` integers, from ``first[i]`` on.
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(first - before, sizes) + np.arange(sizes.sum())


class Gradients(NamedTuple):
    """Gradients and hessians of rows, which the models of leaves are fitted to."""

    gradient: NDArray[np.float32]  # (n_rows,)
    hessian: NDArray[np.float32] | None  # (n_rows,): None: ones
    weight: Floats | None  # (n_rows,): multiplies both; None: ones


class RawColumns:
    """Columns as float64, or the rows with the ``numbers`` in them.

    Columns of float64 are read in place; others are copied when they are first needed:
    ``address`` and ``stride`` of a column, as in `Columns`, are valid after
    ``prepare``.
    """

    def __init__(
        self, columns: Columns, numbers: NDArray[np.int64] | None = None
    ) -> None:
        self.columns = columns
        self.numbers = numbers
        self.address = columns.address.copy()
        self.stride = columns.stride.copy()
        self.is_ready = columns.kind == KINDS["float64"]
        if columns.index is not None:
            self.is_ready &= columns.index == 0
        if numbers is not None:
            self.is_ready[:] = False
        self.are_all_ready = bool(self.is_ready.all())
        self._copies: list[Floats] = []

    def prepare(self, features: NDArray[np.int32]) -> None:
        """Make columns readable by their ``address`` and ``stride``."""
        if self.are_all_ready:
            return
        is_needed = np.zeros(len(self.is_ready), dtype=bool)
        is_needed[features] = True
        needed = np.flatnonzero(is_needed & ~self.is_ready)
        if not len(needed):
            return
        numbers = self.numbers
        n_rows = self.columns.n_rows if numbers is None else len(numbers)
        copies = np.empty((len(needed), n_rows))
        to_float64(self.columns.take(needed), copies, numbers)
        self._copies.append(copies)
        step, size = copies.strides
        first = copies.__array_interface__["data"][0]
        self.address[needed] = first + step * np.arange(len(needed))
        self.stride[needed] = size
        self.is_ready[needed] = True
        self.are_all_ready = bool(self.is_ready.all())

    def add(
        self,
        leaf: NDArray[np.int32],
        leaf_value: Floats,
        leaves: LinearLeaves,
        factor: float,
        n_threads: int,
        score_inout: Floats,
    ) -> None:
        """Add ``factor`` times one tree's values to one score, (n_rows,).

        ``leaf``, (n_rows,), is the leaf of each row, and ``leaves`` has the tree's
        linear models. Rows that miss a value in a column of the leaf's model get the
        ``leaf_value``, (n_leaves,).
        """
        self.add_trees(
            leaf[:, None],
            np.array([0, len(leaf_value)], dtype=np.int64),
            factor * leaf_value,
            leaves if factor == 1.0 else leaves.scaled(factor, 0.0),
            0,
            n_threads,
            score_inout[:, None],
        )

    def add_trees(
        self,
        leaf: NDArray[np.int32],
        leaf_start: NDArray[np.int64],
        leaf_value: Floats,
        leaves: LinearLeaves,
        first_score: int,
        n_threads: int,
        score_inout: Floats,
    ) -> None:
        """Add the values of consecutive trees to scores, (n_rows, n_scores).

        ``leaf``, (n_rows, n_trees), is the leaf of each row in each tree. The leaves of
        tree t are those from ``leaf_start[t]`` on among ``leaf_value`` and ``leaves``.
        The first tree adds to ``first_score``, the next to the next, and so on round.
        """
        used = leaves.start[leaf_start[[0, -1]]]
        self.prepare(leaves.feature[slice(*used)])
        linear_kernels.add(
            self.address,
            self.stride,
            leaf,
            leaf_start,
            leaves.start,
            leaves.feature,
            leaves.coefficient,
            leaves.constant,
            leaves.lower,
            leaves.upper,
            leaf_value,
            first_score,
            n_threads,
            score_inout,
        )


def fit(
    raw: RawColumns,
    paths: tuple[NDArray[np.int64], NDArray[np.int32]],
    grouped: tuple[NDArray[np.int64], NDArray[np.int64]],
    gradients: Gradients,
    leaf_value: Floats,
    settings: Settings,
    n_threads: int,
    score: Floats | None = None,
    self_concordance: float = 0.0,
) -> LinearLeaves:
    """Fit a linear model in each leaf.

    The coefficients minimize the second-order approximation of the loss over the rows
    of the leaf, with a ridge penalty ``linear_lambda`` on all but the intercept. Rows
    with a NaN or infinite value in one of the model's columns are left out, and get the
    ``leaf_value``. The coefficient of a column is 0 if the column is constant in the
    leaf, or a linear function of the columns before it; if some rows miss only such
    columns, the model is fitted again without them. So the rows that get values of a
    model are those that it was fitted on. A model needs ``min_child_samples`` rows, as
    a leaf does, and more rows than coefficients: else the columns that most rows miss
    are left out. Steps that could increase the loss, by its ``self_concordance`` (see
    `Objective`), are shortened. A leaf stays constant if its model, and its value for
    the rows that miss a column, could together increase the loss, or if rounding errors
    of nearly dependent columns do. The bounds are the least and the greatest value of
    the model in rows of the leaf, widened by half of their difference.

    ``paths`` are the numeric input columns on the path to each leaf: where those of
    each leaf begin, (n_leaves + 1,), and the columns. They become those of the models.
    ``grouped`` are the sampled rows, leaf by leaf, likewise. ``leaf_value`` has the
    values of constant leaves, times the learning rate. The values of the leaves are
    added to the ``score`` of the sampled rows, (n_rows,); None: to none.
    """
    start, feature = paths
    row_start, rows = grouped
    raw.prepare(feature)
    constant, lower, upper = np.empty((3, len(leaf_value)))
    coefficient, mean = np.empty((2, len(feature)))
    n = linear_kernels.fit(
        raw.address,
        raw.stride,
        start,
        feature,
        row_start,
        rows.astype(np.uint32),
        gradients.gradient,
        gradients.hessian,
        gradients.weight,
        leaf_value,
        settings.linear_lambda,
        settings.learning_rate,
        self_concordance,
        settings.min_child_samples,
        n_threads,
        score,
        constant,
        coefficient,
        mean,
        lower,
        upper,
    )
    return LinearLeaves(
        constant, start, feature[:n], coefficient[:n], lower, upper, mean[:n]
    )
