"""The state of a `BinnedDataset`: arrays in files, which are checked when restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skgoss._engine.binning.bin_bounds import (
    NAN_IS_MISSING,
    NAN_IS_UNSEEN,
    NO_MISSING,
)
from skgoss.binning import storage
from skgoss.binning.bin_values import LANE_CODES, Bins, LosslessSettings, SparseColumns
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import (
    MAX_CATEGORY_BINS,
    BinMapper,
    category_mapper,
    numeric_mappers,
    used_features,
)
from skgoss.columns.categories import Categories
from skgoss.sources.memory import IN_MEMORY, Memory
from skgoss.utils.plain_values import (
    INT32_MAX,
    check_lengths,
    check_start,
    entries,
    vectors,
)

_OWNER = "the binned data"

# Arrays with an attribute of the `BinMapper` of each column.
_NUMBERS: dict[str, DTypeLike] = {
    "missing_type": np.uint8,
    "is_trivial": np.uint8,
    "minimum": np.float64,
    "maximum": np.float64,
    "zero_share": np.float64,
    "filtered_rows": np.int64,
}
# The bounds and the categories of all columns, one column after the other, and where
# those of each column begin.
_RUNS: dict[str, DTypeLike] = {
    "bound_start": np.int64,
    "bounds": np.float64,
    "category_start": np.int64,
    "categories": np.int32,
}
_STARTS = {"bound_start": "bounds", "category_start": "categories"}
# The arrays of `Bins`, of the used columns.
_BINS: dict[str, DTypeLike] = {
    "list_member": np.int32,
    "list_start": np.int64,
    "list_rows": np.uint32,
    "list_bins": np.uint16,
    "bytes": np.uint8,
    "shorts": np.uint16,
}

Arrays = Mapping[str, NDArray[Any]]


def state(data: BinnedDataset) -> dict[str, Any]:
    """The state of binned data: arrays of one dimension, and the number of rows.

    It does not depend on how the bins lie in memory. Arrays of the size of the data are
    not copied.
    """
    bins = Bins.from_store(data.storage.store)
    numbers = {
        name: np.array([getattr(mapper, name) for mapper in data.mappers], dtype)
        for name, dtype in _NUMBERS.items()
    }
    bounds = [mapper.upper_bounds for mapper in data.mappers]
    categories = [mapper.codes for mapper in data.mappers]
    return {
        "n_rows": data.n_rows,
        **numbers,
        "bound_start": _starts(bounds),
        "bounds": np.concatenate(bounds),
        "category_start": _starts(categories),
        "categories": np.concatenate(categories),
        "list_member": bins.sparse.number,
        "list_start": bins.sparse.start,
        "list_rows": bins.sparse.rows,
        "list_bins": bins.sparse.stored_bins(),
        "bytes": bins.bytes.ravel(),
        "shorts": bins.shorts.ravel(),
    }


def _starts(arrays: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Where each array begins if they are concatenated, and the end of the last."""
    return np.concatenate([[0], np.cumsum([len(array) for array in arrays])])


def claim(state: Mapping[str, Any]) -> int:
    """The number of rows plus the number of categories that a state says it has.

    A few bytes can claim many rows, for which memory is then allocated. So readers
    compare this number with the number of values in the file: a file that claims more
    than it holds has been tampered with. The categories of a column are counted up to
    the highest one, because tables have a place for each.
    """
    # A column of numbers has no categories, for which reduceat gives the first one of
    # the next column. This is always -1, and so is what follows the last column.
    highest = np.maximum.reduceat(
        np.append(state["categories"], -1), state["category_start"][:-1]
    )
    return state["n_rows"] + int((highest.astype(np.int64) + 1).sum())


def restored(
    state: Any,
    *,
    max_claim: int | None = None,
    n_threads: int = 1,
    memory: Memory | None = None,
) -> BinnedDataset:
    """The binned data of a state, with the same bins, laid out again.

    ``state`` is the result of `state`, or anything else: ValueError if an entry is
    missing, has another type or contradicts another. ``max_claim`` is the largest
    `claim` that is allowed; None: any. With a ``memory``, where new arrays are made,
    the arrays of the state are taken over where possible: nothing else may use them.
    None: all are copied.
    """
    (n_rows,) = entries(state, {"n_rows": int}, _OWNER)
    arrays = vectors(state, _NUMBERS | _RUNS | _BINS, _OWNER)
    _check(1 <= n_rows <= INT32_MAX, f"n_rows must be from 1 to {INT32_MAX}")
    _check_mappers(arrays)
    if max_claim is not None:
        fits = claim({"n_rows": n_rows, **arrays}) <= max_claim
        _check(fits, "there are fewer values than rows and categories")
    mappers = _mappers(arrays)
    feature = used_features(mappers)
    used = [mappers[j] for j in feature]
    bins = replace(_checked_bins(arrays, n_rows, used), memory=memory)
    stored = storage.lay_out(bins, used, LosslessSettings(), n_threads)
    return BinnedDataset.from_storage(
        mappers, feature, replace(stored, memory=memory or IN_MEMORY)
    )


def check_categories(data: BinnedDataset, categories: Categories) -> None:
    """Check that the categories that have bins are those of the vocabularies.

    ``categories`` has the vocabulary of each categorical column: its categories, in
    the order of their numbers. ValueError if a column has bins for other numbers.
    """
    number = {j: v.n_categories for j, v in categories.vocabularies.items()}
    _check(max(number, default=0) < data.n_features, "categories need their columns")
    for j, mapper in enumerate(data.mappers):
        n_categories = number.get(j, 0)
        agree = (mapper.categories is not None) == (n_categories > 0)
        if not agree or mapper.codes.max(initial=-1) >= n_categories > 0:
            raise ValueError(
                f"{_OWNER}: the bins of column {j} are not those of its"
                f" {n_categories} categories"
            )


def _check(is_valid: Any, message: str) -> None:
    """Raise ValueError unless a value, or all values of an array, are true."""
    if not np.all(is_valid):
        raise ValueError(f"{_OWNER}: {message}")


# --- Mappers --------------------------------------------------------------------------


def _check_mappers(arrays: Arrays) -> None:
    """Check the arrays of which the mappers are made."""
    missing_type, is_trivial = arrays["missing_type"], arrays["is_trivial"] > 0
    n_features = len(missing_type)
    _check(1 <= n_features <= INT32_MAX, "there must be at least one column")
    check_lengths(arrays, dict.fromkeys(_NUMBERS, n_features))
    check_lengths(arrays, dict.fromkeys(_STARTS, n_features + 1))
    for start, values in _STARTS.items():
        check_start(arrays[start], len(arrays[values]), start)
    n_bounds, n_categories = (np.diff(arrays[start]) for start in _STARTS)
    is_numeric, has_nan_bin = n_bounds > 0, missing_type == NAN_IS_MISSING
    _check(
        is_numeric != (n_categories > 0), "each column must have bounds or categories"
    )
    _check(missing_type <= NAN_IS_UNSEEN, "missing_type must be 0, 1, 2 or 3")
    _check(
        is_numeric | np.isin(missing_type, (NO_MISSING, NAN_IS_MISSING)),
        "missing_type of categories must be 0 or 2",
    )
    _check(arrays["is_trivial"] <= 1, "is_trivial must be 0 or 1")
    n_bins = n_categories + n_bounds + (is_numeric & has_nan_bin)
    # The bin of NaN may have been added to those of rows without NaN.
    max_bins = MAX_CATEGORY_BINS + (is_numeric & has_nan_bin)
    _check(
        (n_bins <= max_bins) & (is_trivial | (n_bins > 1)),
        f"columns must have from 2 to {MAX_CATEGORY_BINS} bins",
    )
    share, filtered = arrays["zero_share"], arrays["filtered_rows"]
    _check((share >= 0) & (share <= 1), "zero_share must be from 0 to 1")
    _check(arrays["minimum"] <= arrays["maximum"], "minimum must not be over maximum")
    _check(
        (filtered == 0) | (is_trivial & is_numeric & (filtered > 0)),
        "filtered_rows must be 0 but for columns that were left out",
    )
    _check_bounds(arrays["bounds"], arrays["bound_start"][1:][is_numeric] - 1)
    _check_codes(arrays["categories"], n_categories)


def _check_bounds(bounds: NDArray[np.float64], last: NDArray[np.int64]) -> None:
    """Check the upper bounds of the bins of numbers, one column after the other.

    ``last`` has the position of the last bound of each column.
    """
    _check(
        (bounds[last] == np.inf).all()
        and np.isfinite(bounds).sum() == len(bounds) - len(last),
        "the last bound of a column must be infinite, and all others finite",
    )
    rises = (bounds[1:] > bounds[:-1]) | (bounds[:-1] == np.inf)
    _check(rises, "bounds must be ascending")


def _check_codes(codes: NDArray[np.int32], n_codes: NDArray[np.int64]) -> None:
    """Check the categories of the bins, one column after the other.

    ``n_codes``, (n_features,), is their number in each column; 0 for numbers.
    """
    first = (np.cumsum(n_codes) - n_codes)[n_codes > 0]
    _check(
        (codes[first] == -1).all() and (codes >= 0).sum() == len(codes) - len(first),
        "categories must be numbers from 0 on, and the first of a column -1",
    )
    column = np.repeat(np.arange(len(n_codes)), n_codes)
    n_different = len(np.unique((column << 32) + codes))
    _check(n_different == len(codes), "the categories of a column must differ")


def _mappers(arrays: Arrays) -> list[BinMapper]:
    """The mappers of all columns, from arrays that were checked."""
    is_trivial = arrays["is_trivial"] > 0
    value_range = np.stack([arrays["minimum"], arrays["maximum"]], axis=1)
    is_numeric = np.diff(arrays["bound_start"]) > 0
    start = arrays["bound_start"][np.append(np.flatnonzero(is_numeric), -1)]
    numeric = iter(
        numeric_mappers(
            arrays["bounds"],
            start,
            arrays["missing_type"][is_numeric],
            is_trivial[is_numeric],
            value_range[is_numeric],
            arrays["zero_share"][is_numeric],
        )
    )
    categories = np.split(arrays["categories"], arrays["category_start"][1:-1])
    filtered = arrays["filtered_rows"].tolist()
    return [
        next(numeric)._replace(filtered_rows=filtered[j])
        if is_number
        else category_mapper(
            categories[j],
            int(arrays["missing_type"][j]),
            bool(is_trivial[j]),
            tuple(value_range[j].tolist()),
        )
        for j, is_number in enumerate(is_numeric.tolist())
    ]


# --- Bins -----------------------------------------------------------------------------


def _checked_bins(arrays: Arrays, n_rows: int, used: list[BinMapper]) -> Bins:
    """The bins of the used columns in a state; ValueError if they do not fit these.

    ``arrays`` are those of the state by name, and ``used`` are the mappers of the
    columns.
    """
    n_bins = np.array([mapper.n_bins for mapper in used], dtype=np.int64)
    is_categorical = np.array([m.categories is not None for m in used], dtype=bool)
    sparse = _sparse_columns(arrays, n_rows, n_bins, is_categorical)
    is_dense = np.ones(len(used), dtype=bool)
    is_dense[sparse.number] = False
    is_wide = n_bins > LANE_CODES
    return Bins(
        sparse,
        _matrix(arrays, "bytes", n_rows, n_bins[is_dense & ~is_wide]),
        _matrix(arrays, "shorts", n_rows, n_bins[is_dense & is_wide]),
    )


def _sparse_columns(
    arrays: Arrays,
    n_rows: int,
    n_bins: NDArray[np.int64],
    is_categorical: NDArray[np.bool_],
) -> SparseColumns:
    """The sparse columns in a state; ValueError if they do not fit the used columns.

    ``n_bins`` and ``is_categorical``, (n_used,), are those of the used columns.
    """
    member, start = arrays["list_member"], arrays["list_start"]
    rows, bins = arrays["list_rows"], arrays["list_bins"]
    _check(
        (member[1:] > member[:-1]).all()
        and member.min(initial=0) >= 0
        and member.max(initial=-1) < len(n_bins)
        and not is_categorical[member].any(),
        "list_member must be ascending numbers of used columns without categories",
    )
    check_lengths(arrays, {"list_start": len(member) + 1, "list_bins": len(rows)})
    check_start(start, len(rows), "list_start")
    falls = np.flatnonzero(rows[1:] <= rows[:-1]) + 1
    _check(
        np.isin(falls, start).all() and rows.max(initial=0) < n_rows,
        f"list_rows must be ascending in each list, and below {n_rows}",
    )
    _check(
        bins < np.repeat(n_bins[member] - 1, np.diff(start)),
        "list_bins must be below the numbers of bins",
    )
    return SparseColumns.from_stored_bins(member, start, rows, bins, n_bins[member])


def _matrix(
    arrays: Arrays, name: str, n_rows: int, n_bins: NDArray[np.int64]
) -> NDArray[Any]:
    """The bins of dense columns in a state, (len(n_bins), n_rows), checked.

    ``n_bins`` is the number of bins of each of these columns, and ``name`` the entry
    of the state.
    """
    check_lengths(arrays, {name: n_rows * len(n_bins)})
    matrix = arrays[name].reshape(len(n_bins), n_rows)
    highest = matrix.max(axis=1, initial=0)
    _check(highest < n_bins, f"{name} must be below the numbers of bins")
    return matrix
