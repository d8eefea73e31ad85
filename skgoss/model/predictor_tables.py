"""The tables of the kernel that predicts many rows: thresholds become ranks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.predict import Predictor
from skgoss.model.category_sets import CategorySets
from skgoss.model.trees import CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT

Floats = NDArray[np.float64]


def make_predictor(
    arrays: dict[str, NDArray[Any]],
    leaf_start: NDArray[np.int64],
    n_scores: int,
    sets: CategorySets,
) -> Predictor:
    """Sort the thresholds of each column and fill the tables of the kernel.

    A slot is a column with one meaning of "missing", so a model may mix the meanings.
    A column with one set of categories is a slot, too: its values are 0 in the set and
    1 outside. A slot has up to two sides: in one missing values go left, in the other
    right.
    """
    decision = arrays["decision_type"]
    categorical = decision & CATEGORICAL != 0
    missing = np.where(categorical, 0, decision >> MISSING_SHIFT)
    set_of = np.zeros(len(decision), dtype=np.int64)
    if categorical.any():
        sets_of_nodes = arrays["threshold"][categorical].astype(np.int64)
        set_of[categorical] = _distinct_sets(sets)[sets_of_nodes]
    # By feature first, so that the values of a column are loaded once for all slots.
    n_kinds = 3 + int(set_of.max(initial=-1)) + 1
    kind = np.where(categorical, 3 + set_of, missing)
    slot_key, slot = np.unique(
        arrays["split_feature"] * np.int64(n_kinds) + kind, return_inverse=True
    )
    slot_feature, slot_kind = np.divmod(slot_key, n_kinds)
    slot_set = np.maximum(slot_kind - 3, -1)
    goes_right = ((missing > 0) & (decision & DEFAULT_LEFT == 0)).astype(int)
    is_used = np.zeros((len(slot_key), 2), dtype=bool)
    is_used[slot, goes_right] = True
    sides = np.flatnonzero(is_used)
    slot_column = np.zeros((len(slot_key), 2), dtype=np.int32)
    slot_column[is_used] = 1 + np.arange(len(sides))
    column = slot_column[slot, goes_right] - 1
    threshold = np.where(categorical, 0.0, arrays["threshold"])
    rank, slot_start, slot_thresholds = _ranks(threshold, slot, len(slot_key))
    slot_bytes, slot_bit, outside_start, n_bytes = _byte_columns(
        slot_feature, slot_set, np.diff(slot_start), sides, sets
    )
    first_byte = slot_bytes.flat[sides][column]
    set_bit = 1 << slot_bit[slot] % 8
    return Predictor(
        arrays["left_child"],
        arrays["right_child"],
        threshold,
        (1 + column).astype(np.int32),
        np.where(categorical, first_byte, first_byte + rank // 255).astype(np.int32),
        np.where(categorical, set_bit, 255).astype(np.uint8),
        np.where(categorical, 0, rank % 255).astype(np.uint8),
        leaf_start,
        arrays["leaf_value"],
        slot_feature.astype(np.int32),
        np.where(slot_kind < 3, slot_kind, 0).astype(np.uint8),
        slot_column,
        slot_bytes,
        slot_start.astype(np.int64),
        slot_thresholds,
        slot_set,
        sets.start,
        sets.words,
        slot_bit,
        outside_start,
        n_bytes,
        n_scores,
    )


def _ranks(
    threshold: Floats, slot: NDArray[np.int64], n_slots: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Rank the threshold of each node among the distinct thresholds of its slot.

    Also returns where the thresholds of each slot begin, and the distinct thresholds of
    all slots, ascending in each.
    """
    order = np.argsort(threshold)
    # NumPy sorts short integers by their digits.
    short = slot[order].astype(np.min_scalar_type(n_slots))
    order = order[np.argsort(short, kind="stable")]
    sorted_slot, sorted_threshold = slot[order], threshold[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (sorted_slot[1:] != sorted_slot[:-1]) | (
        sorted_threshold[1:] != sorted_threshold[:-1]
    )
    slot_start = np.searchsorted(sorted_slot[is_new], np.arange(n_slots + 1))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(is_new) - 1 - slot_start[sorted_slot]
    return rank, slot_start, sorted_threshold[is_new]


def _byte_columns(
    feature: NDArray[np.int64],
    set_of: NDArray[np.int64],
    n_thresholds: NDArray[np.int64],
    sides: NDArray[np.int64],
    sets: CategorySets,
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], int]:
    """Number the columns of bytes: one for 255 thresholds, eight for 64 sets.

    Returns ``slot_bytes``, ``slot_bit``, ``outside_start`` and ``n_bytes`` of
    `Predictor`.

    Sets of similar sizes share a table, which is as long as the largest needs.
    """
    slot_bytes = np.full((len(feature), 2), -1, dtype=np.int32)
    n_columns = np.where(set_of < 0, -(-n_thresholds // 255), 0)[sides // 2]
    n_numeric = int(n_columns.sum())
    slot_bytes.flat[sides] = np.cumsum(n_columns) - n_columns
    size = np.diff(sets.start)[set_of] if len(sets.start) > 1 else np.zeros(0, int)
    with_set = np.flatnonzero(set_of >= 0)
    with_set = with_set[np.lexsort((size[with_set], feature[with_set]))]
    sorted_feature = feature[with_set]
    nth_set = np.arange(len(with_set)) - np.searchsorted(sorted_feature, sorted_feature)
    slot_bit = np.zeros(len(feature), dtype=np.uint8)
    slot_bit[with_set] = nth_set % 64
    is_first = nth_set % 64 == 0
    table = np.cumsum(is_first) - 1
    slot_bytes[with_set, 0] = n_numeric + 8 * table + nth_set % 64 // 8
    is_last = np.ones(len(with_set), dtype=bool)
    is_last[:-1] = is_first[1:]
    lengths = 32 * size[with_set[is_last]] + 1
    outside_start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return slot_bytes, slot_bit, outside_start, n_numeric + 8 * len(lengths)


def _distinct_sets(sets: CategorySets) -> NDArray[np.int64]:
    """The number of the first set that is equal to each set."""
    first: dict[bytes, int] = {}
    return np.array(
        [
            first.setdefault(sets.words[start:stop].tobytes(), j)
            for j, (start, stop) in enumerate(pairwise(sets.start.tolist()))
        ]
    )
