"""Bin mappers: the bins of a column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning import bin_kernels as kernels


class BinMapper(NamedTuple):
    """The bins of one column."""

    # Upper bounds of the bins of numbers: a value belongs to the first bin whose bound
    # is not below it. The last one is infinite, all others are finite. Empty for
    # categories.
    upper_bounds: NDArray[np.float64]
    n_bins: int  # the number of bins, that of missing values included
    # 0: nothing is missing and NaN counts as zero; 1: zero and NaN are missing; 2: NaN
    # is missing. For categories, 0 means that all of them have bins and none was
    # missing; otherwise it is 2.
    missing_type: int
    # The bin of missing values, -1 where nothing is missing. Always -1 for categories,
    # whose bin 0 also holds rare ones.
    missing_bin: int
    nan_bin: int
    # The range of the sampled numbers or numbers of categories; 0 if there were none.
    minimum: float
    maximum: float
    # Whether no split can separate the rows: all sampled values were in one bin, or too
    # few rows for a leaf are not zero. In the latter case there is one bin.
    is_trivial: bool
    zero_bin: int = 0  # the bin of 0.0, in a column of numbers
    zero_share: float = 0.0  # the share of rows that are zero, or count as zero
    # (n_bins,): the category of each bin. The first is -1: its bin holds missing,
    # unknown and rare ones. None for a column of numbers.
    categories: NDArray[np.int32] | None = None
    # The number of rows that are not zero, if they are too few for a leaf; else 0.
    filtered_rows: int = 0

    @property
    def codes(self) -> NDArray[np.int32]:
        """The category of each bin; empty for a column of numbers."""
        return _NO_CODES if self.categories is None else self.categories


_NO_CODES = np.empty(0, dtype=np.int32)

# A column in which no row is not zero, or too few for a leaf.
ALL_ZERO = BinMapper(
    upper_bounds=np.array([np.inf]),
    n_bins=1,
    missing_type=kernels.NO_MISSING,
    missing_bin=-1,
    nan_bin=0,
    minimum=0.0,
    maximum=0.0,
    is_trivial=True,
    zero_share=1.0,
)


def numeric_mappers(
    bounds: NDArray[np.float64],
    start: NDArray[np.int64],
    missing_type: NDArray[np.uint8],
    is_trivial: NDArray[np.bool_],
    value_range: NDArray[np.float64],
    zero_share: NDArray[np.float64],
) -> list[BinMapper]:
    """Mappers of columns of numbers.

    ``bounds`` are the upper bounds of all columns, the last one of each infinite; those
    of a column begin at its ``start``, (n + 1,). ``value_range``, (n, 2), has the
    minimum and maximum of each column. For the rest see `BinMapper`.
    """
    n_bounds = np.diff(start)
    zero_bin = np.add.reduceat(bounds < 0.0, start[:-1], dtype=np.int64)
    nan_is_missing = missing_type == kernels.NAN_IS_MISSING
    nan_bin = np.where(nan_is_missing, n_bounds, zero_bin)
    fields = (
        n_bounds + nan_is_missing,
        missing_type,
        np.where(missing_type == kernels.NO_MISSING, -1, nan_bin),
        nan_bin,
        value_range[:, 0],
        value_range[:, 1],
        is_trivial,
        zero_bin,
        zero_share,
    )
    spans = map(slice, start[:-1].tolist(), start[1:].tolist())
    lists = [field.tolist() for field in fields]
    return list(map(BinMapper, map(bounds.__getitem__, spans), *lists))


def category_mapper(
    categories: NDArray[np.int32],
    missing_type: int,
    is_trivial: bool,
    value_range: tuple[float, float],
) -> BinMapper:
    """The mapper of a column of categories."""
    return BinMapper(
        upper_bounds=np.empty(0),
        n_bins=len(categories),
        missing_type=missing_type,
        missing_bin=-1,
        nan_bin=0,
        minimum=value_range[0],
        maximum=value_range[1],
        is_trivial=is_trivial,
        categories=categories,
    )
