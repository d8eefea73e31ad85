"""States of binned data are checked before they are used."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import mutations
from helpers.binned import build
from helpers.changed_states import changed, replaced
from helpers.mutations import MIXED, SPARSE, WORDS
from skgoss.binning import binned_state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.clear(), "has no 'n_rows'"),
        (lambda state: state.pop("bytes"), "has no 'bytes'"),
        (
            replaced("n_rows", str),
            "'n_rows' of the binned data must not be of type str",
        ),
        (replaced("n_rows", lambda n: 0), "n_rows must be from 1"),
        (replaced("n_rows", lambda n: 2**31), "n_rows must be from 1"),
        (replaced("n_rows", lambda n: n - 1), "bytes must have the length"),
        (replaced("bytes", lambda v: v.astype(np.int8)), "array of uint8, got"),
        (replaced("minimum", lambda v: v[:-1]), "minimum must have the length"),
        (replaced("missing_type", lambda v: v[:0]), "at least one column"),
        (changed("bound_start", 1, -1), "bound_start must rise from 0"),
        (changed("bound_start", -1, 2**40), "bound_start must rise from 0"),
        (changed("category_start", 1, 1), "category_start must rise from 0"),
        (changed("missing_type", 0, 4), "missing_type must be 0, 1, 2 or 3"),
        (changed("is_trivial", 0, 2), "is_trivial must be 0 or 1"),
        (changed("is_trivial", 2, 0), "bytes must have the length"),
        (changed("is_trivial", 0, 1), "must have the length"),
        (changed("zero_share", 0, np.nan), "zero_share must be from 0 to 1"),
        (changed("minimum", 0, np.nan), "minimum must not be over maximum"),
        (changed("bounds", -1, 1e300), "the last bound of a column must be infinite"),
        (changed("bounds", 0, -np.inf), "all others finite"),
        (changed("bounds", 0, np.nan), "all others finite"),
        (changed("bounds", 1, -1e300), "bounds must be ascending"),
        (changed("bytes", 0, 255), "bytes must be below the numbers of bins"),
        (changed("shorts", 3, 65535), "shorts must be below the numbers of bins"),
    ],
)
def test_a_changed_state_is_refused(change, message):
    data = build(mutations.tables()[MIXED], max_bin=1000, min_data_in_bin=1)
    state = binned_state.state(data)
    change(state)
    with pytest.raises(ValueError, match=message):
        binned_state.restored(state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("list_member", 0, -1), "list_member must be ascending"),
        (changed("list_member", -1, 400), "list_member must be ascending"),
        (changed("list_member", 1, 3), "list_member must be ascending"),
        (changed("list_start", 1, 10**6), "list_start must rise"),
        (replaced("list_start", lambda v: v[1:]), "list_start must have the length"),
        (replaced("list_bins", lambda v: v[1:]), "list_bins must have the length"),
        (changed("list_rows", 0, 10**6), "list_rows must be ascending"),
        (changed("list_rows", -1, 150), "list_rows must be ascending .* below 150"),
        (changed("list_bins", 0, 100), "list_bins must be below"),
    ],
)
def test_changed_lists_are_refused(change, message):
    state = dict(mutations.binary_sections()[SPARSE]["data"])
    change(state)
    with pytest.raises(ValueError, match=message):
        binned_state.restored(state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("missing_type", 1, 1), "missing_type of categories must be 0 or 2"),
        (changed("categories", 0, 50), "the first of a column -1"),
        (changed("categories", 1, -1), "the first of a column -1"),
        (changed("categories", 1, -2), "must be numbers from 0 on"),
        (replaced("categories", lambda v: v[[0, 1, 1, *range(3, len(v))]]), "differ"),
        (replaced("list_member", lambda v: np.int32([1])), "without categories"),
    ],
)
def test_changed_categories_are_refused(change, message):
    state = dict(mutations.binary_sections()[WORDS]["data"])
    change(state)
    with pytest.raises(ValueError, match=message):
        binned_state.restored(state)
