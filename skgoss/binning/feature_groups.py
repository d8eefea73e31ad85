"""Feature groups: which columns share a column of codes, and a byte of each row.

Sparse columns that are rarely stored in the same rows share the codes of one column:
exclusive feature bundling (EFB), G. Ke et al., "LightGBM: A Highly Efficient Gradient
Boosting Decision Tree", NeurIPS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.bundling import find_bundles
from skgoss.binning.sparse_columns import SparseColumns, StorageSettings

# The number of codes of a lane, which is a byte. Groups of few codes share a lane if
# the product of their numbers of codes is not larger. Then the sums of each group must
# be separated from those of the lane, which pays off for at least so many rows.
LANE_CODES = 256
MIN_ROWS_TO_SHARE = 4096

# Measured: a short or an entry costs as much as so many lanes, and a row as much as so
# many more if rows have entries at all.
LANES_PER_SHORT = 2.0
LANES_PER_ENTRY = 6.0
LANES_OF_ENTRIES = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class FeatureGroups:
    """The group of each used column, and its codes in the group."""

    # (n_used,): -1: the column is sparse and in no dense bundle, or has too many bins
    # for a byte.
    group: NDArray[np.int32]
    first_code: NDArray[np.int32]  # (n_used,): the code of a column's stored bin 0
    n_codes: NDArray[np.int32]  # (n_groups,)


def make_groups(
    sparse: SparseColumns,
    is_sparse: NDArray[np.bool_],
    n_bins: NDArray[np.int32],
    settings: StorageSettings,
    n_rows: int,
) -> FeatureGroups:
    """Give a group to every dense column, and to every bundle that is dense enough."""
    group = np.full(len(n_bins), -1, dtype=np.int32)
    first_code = np.zeros(len(n_bins), dtype=np.int32)
    dense = np.flatnonzero(~is_sparse & (n_bins <= LANE_CODES))
    group[dense] = np.arange(len(dense))
    if len(sparse.number) == 0:
        return FeatureGroups(group, first_code, n_bins[dense].astype(np.int32))
    n_stored = n_bins[sparse.number] - 1
    bundle = (
        find_bundles(
            sparse.start,
            sparse.rows,
            n_rows,
            n_stored,
            settings.max_conflict_rate,
            LANE_CODES,
        )
        if settings.enable_bundle
        else np.arange(len(sparse.number), dtype=np.int32)
    )
    is_dense, n_codes = _dense_bundles(bundle, n_stored, sparse, settings, n_rows)
    number = len(dense) - 1 + np.cumsum(is_dense)
    in_lane = is_dense[bundle] if len(bundle) else np.zeros(0, dtype=bool)
    group[sparse.number[in_lane]] = number[bundle[in_lane]]
    first_code[sparse.number] = _first_codes(bundle, n_stored)
    first_code[sparse.number[~in_lane]] = 0
    return FeatureGroups(
        group,
        first_code,
        np.concatenate([n_bins[dense], n_codes[is_dense]]).astype(np.int32),
    )


def _dense_bundles(
    bundle: NDArray[np.int32],
    n_stored: NDArray[np.int32],
    sparse: SparseColumns,
    settings: StorageSettings,
    n_rows: int,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which bundles are cheaper as a lane, or a part of it, than as entries."""
    n_bundles = int(bundle.max(initial=-1)) + 1
    n_codes = 1 + np.bincount(bundle, n_stored, n_bundles).astype(np.int64)
    n_entries = np.bincount(bundle, np.diff(sparse.start), n_bundles)
    lanes = np.log(n_codes) / np.log(LANE_CODES) if settings.enable_bundle else 1.0
    saved = lanes * n_rows - LANES_PER_ENTRY * n_entries
    cheaper = saved <= 0
    fits = n_codes <= LANE_CODES
    if fits.all():
        cheaper |= saved[~cheaper].sum() <= LANES_OF_ENTRIES * n_rows
    return fits & (cheaper | (not settings.is_enable_sparse)), n_codes


def _first_codes(
    bundle: NDArray[np.int32], n_stored: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The code of stored bin 0 of each column of a bundle; code 0 is none of them."""
    order = np.argsort(bundle, kind="stable")
    end = np.cumsum(n_stored[order])
    start = end - n_stored[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = bundle[order][1:] != bundle[order][:-1]
    base = start[is_first][np.cumsum(is_first) - 1] if len(order) else start
    first_code = np.empty(len(order), dtype=np.int32)
    first_code[order] = 1 + start - base
    return first_code


def share_lanes(
    n_codes: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Put groups of few codes together into lanes of one byte.

    Returns ``lane`` and ``radix``: see `Storage`. Within a lane the radix rises with
    the group's number, from 1. If no lane is shared, each group has the lane of its own
    number.
    """
    radix = np.ones(len(n_codes), dtype=np.int32)
    alone = np.arange(len(n_codes), dtype=np.int32)
    if n_rows < MIN_ROWS_TO_SHARE:
        return alone, radix
    lane = np.empty_like(alone)
    size, current = LANE_CODES, -1
    for j in np.argsort(n_codes, kind="stable"):
        if size * n_codes[j] > LANE_CODES:
            size, current = 1, current + 1
        lane[j] = current
        size *= n_codes[j]
    if current + 1 == len(n_codes):
        return alone, radix
    for members in np.split(
        np.argsort(lane, kind="stable"), np.cumsum(np.bincount(lane))[:-1]
    ):
        radix[members[1:]] = np.cumprod(n_codes[members[:-1]])
    return lane, radix


def without_conflicts(
    sparse: SparseColumns,
    groups: FeatureGroups,
    bytes_: NDArray[np.uint8],
    n_bins: NDArray[np.int32],
) -> SparseColumns:
    """The columns without the rows whose code in a bundle is that of another column."""
    length = np.diff(sparse.start)
    group, first_code = (
        np.repeat(values[sparse.number], length)
        for values in (groups.group, groups.first_code)
    )
    kept, bundled = np.ones(len(group), dtype=bool), group >= 0
    code = bytes_[group[bundled], sparse.rows[bundled]]
    bins = sparse.stored_bins()
    kept[bundled] = code == first_code[bundled] + bins[bundled]
    start = np.concatenate([[0], np.cumsum(kept)])[sparse.start]
    return SparseColumns.from_stored_bins(
        sparse.number, start, sparse.rows[kept], bins[kept], n_bins[sparse.number]
    )
