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

    ``arrays`` are the nodes and leaves of all trees by name: see `Ensemble`. The leaves
    of tree t begin at ``leaf_start[t]``. ``sets`` are those of categorical nodes.

    A slot is a column with one meaning of "missing", so a model may mix the meanings. A
    column with one set of categories is a slot, too: its values are 0 in the set and 1
    outside. A slot has up to two sides: in one missing values go left, in the other
    right. Each side that a node asks for has a column of ranks.

    Arrays whose names begin with ``slot`` have an entry for each slot, ``sides`` one
    for each side in use, 2 * slot + (1 if missing values go right), and the others one
    for each node.
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
    slot_byte_column, slot_bit, outside_start, n_byte_columns = _byte_columns(
        slot_feature, slot_set, np.diff(slot_start), sides, sets
    )
    first_byte = slot_byte_column.flat[sides][column]
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
        slot_byte_column,
        slot_start.astype(np.int64),
        slot_thresholds,
        slot_set,
        sets.start,
        sets.words,
        slot_bit,
        outside_start,
        n_byte_columns,
        n_scores,
    )


def _ranks(
    threshold: Floats, slot: NDArray[np.int64], n_slots: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Rank the threshold of each node among the distinct thresholds of its slot.

    A slot is a column that nodes test in the same way: see `make_predictor`; ``slot``
    has that of each node. Returns the rank of each node, from 0; where the thresholds
    of each slot begin, (n_slots + 1,); and the distinct thresholds of all slots,
    ascending in each.
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
    slot_feature: NDArray[np.int64],
    slot_set: NDArray[np.int64],
    n_thresholds: NDArray[np.int64],
    sides: NDArray[np.int64],
    sets: CategorySets,
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], int]:
    """Lay out the bytes of a row: ranks of its numbers, and bits of sets of categories.

    A byte has the rank of a value among 255 thresholds, so each side of a slot has a
    column for every 255 of its thresholds. Or it has a bit for each of eight sets: up
    to 64 sets of one feature share a table of eight columns. These are the columns if
    the first two slots have 300 and 10 thresholds, and 67 more are sets of one feature:

        column      0        1         2        3 to 10           11 to 18
        slot        0        0         1        2 to 65           66 to 68
        has         ranks    ranks     ranks    set j of these:   sets 64 to 66:
                    0-254    255-299   0-9      bit j % 8 of      bits 0 to 2 of
                                                column 3 + j // 8 column 11

    Sets of similar sizes share a table, which is as long as the largest needs. The
    result, for `Predictor`:

    ====================  ==============  ============================================
    ``slot_byte_column``  slot and side   its first column, or a set's; -1: no side
    ``slot_bit``          slot            of a set, its number in the table; else 0
    ``outside_start``     table, and end  where its entries begin: one for each
                                          category that a set of the table may have,
                                          one for others
    ``n_byte_columns``                    the number of columns
    ====================  ==============  ============================================
    """
    is_set = slot_set >= 0
    n_columns = np.where(is_set, 0, -(-n_thresholds // 255))[sides // 2]
    n_rank_columns = int(n_columns.sum())
    slot_byte_column = np.full((len(slot_feature), 2), -1, dtype=np.int32)
    slot_byte_column.flat[sides] = np.cumsum(n_columns) - n_columns
    # The slots of sets, by feature and size, and what each has.
    slots = np.flatnonzero(is_set)
    n_words = np.diff(sets.start)[slot_set[slots]]
    order = np.lexsort((n_words, slot_feature[slots]))
    slots, n_words = slots[order], n_words[order]
    feature = slot_feature[slots]
    number = np.arange(len(slots)) - np.searchsorted(feature, feature)
    bit = number % 64
    table = np.cumsum(bit == 0) - 1
    slot_bit = np.zeros(len(slot_feature), dtype=np.uint8)
    slot_bit[slots] = bit
    slot_byte_column[slots, 0] = n_rank_columns + 8 * table + bit // 8
    # The last set of a table is the largest.
    is_last = np.append(bit == 0, True)[1:]
    n_entries = 32 * n_words[is_last] + 1
    outside_start = np.concatenate([[0], np.cumsum(n_entries)]).astype(np.int64)
    n_byte_columns = n_rank_columns + 8 * len(n_entries)
    return slot_byte_column, slot_bit, outside_start, n_byte_columns


def _distinct_sets(sets: CategorySets) -> NDArray[np.int64]:
    """The number of the first set that is equal to each set."""
    first: dict[bytes, int] = {}
    return np.array(
        [
            first.setdefault(sets.words[start:stop].tobytes(), j)
            for j, (start, stop) in enumerate(pairwise(sets.start.tolist()))
        ]
    )
