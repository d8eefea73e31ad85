"""The state of a `BinnedDataset`: plain in files, checked when it is restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data.binning import NAN_IS_MISSING, ZERO_IS_MISSING
from skgoss.data import storage
from skgoss.data.bin_mapper import BinMapper, category_mapper, numeric_mappers
from skgoss.data.binning import MAX_CATEGORY_BINS
from skgoss.data.categories import Categories
from skgoss.data.columns import INT32_MAX
from skgoss.data.dataset import BinnedDataset, used_features
from skgoss.data.feature_groups import LANE_CODES
from skgoss.data.sparse_columns import LosslessSettings, SparseColumns
from skgoss.data.state import check_lengths, check_start, entries, vectors
from skgoss.data.storage import Bins

_OWNER = "the binned data"

# One a column.
_NUMBERS = {
    "missing_type": np.uint8,
    "is_trivial": np.uint8,
    "minimum": np.float64,
    "maximum": np.float64,
    "zero_share": np.float64,
    "filtered_rows": np.int64,
}
# Of all columns, one after the other.
_RUNS = {
    "bound_start": np.int64,
    "bounds": np.float64,
    "category_start": np.int64,
    "categories": np.int32,
}
# Of the used columns: those of `Bins`.
_BINS = {
    "list_member": np.int32,
    "list_start": np.int64,
    "list_rows": np.uint32,
    "list_bins": np.uint16,
    "bytes": np.uint8,
    "shorts": np.uint16,
}


def state(data: BinnedDataset) -> dict[str, Any]:
    """The state of binned data: arrays of one dimension, and the number of rows.

    How the bins lie in memory is no part of it. Arrays of the size of the data are not
    copied.
    """
    bins = Bins.of(data.storage.store)
    numbers = {
        name: np.array([getattr(mapper, name) for mapper in data.mappers], dtype)
        for name, dtype in _NUMBERS.items()
    }
    bounds = [mapper.upper_bounds for mapper in data.mappers]
    categories = [_categories(mapper) for mapper in data.mappers]
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


def _categories(mapper: BinMapper) -> NDArray[np.int32]:
    is_numeric = mapper.categories is None
    return np.empty(0, dtype=np.int32) if is_numeric else mapper.categories


def _starts(parts: list[NDArray[Any]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])])


def claim(state: Mapping[str, Any]) -> int:
    """How much memory a state asks for beside that of its arrays: rows and categories.

    A file whose state claims more than its size was changed.
    """
    top = np.maximum.reduceat(
        np.append(state["categories"], -1), state["category_start"][:-1]
    )
    return state["n_rows"] + int((top.astype(np.int64) + 1).sum())


def restored(
    state: Any, *, most: int | None = None, n_threads: int = 1
) -> BinnedDataset:
    """The binned data of a state.

    Parameters
    ----------
    state : object
        What `state` returned, or anything else.
    most : int, default=None
        The most that the state may `claim`; None: any number.
    n_threads : int, default=1

    Returns
    -------
    BinnedDataset
        With the same bins, laid out anew.

    Raises
    ------
    ValueError
        If an entry is missing, has another type or contradicts another.
    """
    (n_rows,) = entries(state, {"n_rows": int}, _OWNER)
    parts = vectors(state, _NUMBERS | _RUNS | _BINS, _OWNER)
    _check(1 <= n_rows <= INT32_MAX, f"n_rows must be from 1 to {INT32_MAX}")
    _check_mappers(parts)
    if most is not None:
        _check(
            claim({"n_rows": n_rows, **parts}) <= most,
            "there are fewer values than rows and categories",
        )
    mappers = _mappers(parts)
    used = [mappers[j] for j in used_features(mappers)]
    bins = _bins(parts, n_rows, used)
    return BinnedDataset.of(
        mappers, storage.lay_out(bins, used, LosslessSettings(), n_threads)
    )


def check_categories(data: BinnedDataset, known: Categories) -> None:
    """Check the categories that have bins against those that are known by value.

    Raises
    ------
    ValueError
        If a column has categories in one of them only, or unknown ones.
    """
    number = {j: words.n_categories for j, words in known.vocabularies.items()}
    _check(max(number, default=0) < data.n_features, "categories need their columns")
    for j, mapper in enumerate(data.mappers):
        n_categories = number.get(j, 0)
        agree = (mapper.categories is not None) == (n_categories > 0)
        if not agree or _categories(mapper).max(initial=-1) >= n_categories > 0:
            raise ValueError(
                f"{_OWNER}: the bins of column {j} are not those of its"
                f" {n_categories} categories"
            )


def _check(is_right: Any, message: str) -> None:
    if not is_right:
        raise ValueError(f"{_OWNER}: {message}")


# --- Mappers --------------------------------------------------------------------------


def _check_mappers(parts: Mapping[str, NDArray[Any]]) -> None:
    n_features = len(parts["missing_type"])
    _check(1 <= n_features <= INT32_MAX, "there must be at least one column")
    of_starts = ("bound_start", "category_start")
    check_lengths(parts, dict.fromkeys(_NUMBERS, n_features))
    check_lengths(parts, dict.fromkeys(of_starts, n_features + 1))
    check_start(parts["bound_start"], len(parts["bounds"]), "bound_start")
    check_start(parts["category_start"], len(parts["categories"]), "category_start")
    n_bounds, n_categories = (np.diff(parts[name]) for name in of_starts)
    is_numeric = n_bounds > 0
    _check(
        (is_numeric != (n_categories > 0)).all(),
        "each column must have bounds or categories",
    )
    missing_type = parts["missing_type"]
    _check((missing_type <= NAN_IS_MISSING).all(), "missing_type must be 0, 1 or 2")
    _check(
        (is_numeric | (missing_type != ZERO_IS_MISSING)).all(),
        "missing_type of categories must not be 1",
    )
    n_bins = n_categories + n_bounds + (is_numeric & (missing_type == NAN_IS_MISSING))
    is_trivial = parts["is_trivial"]
    _check((is_trivial <= 1).all(), "is_trivial must be 0 or 1")
    _check(
        (n_bins <= MAX_CATEGORY_BINS).all() and (is_trivial | (n_bins > 1)).all(),
        f"columns must have from 2 to {MAX_CATEGORY_BINS} bins",
    )
    share = parts["zero_share"]
    _check(((share >= 0) & (share <= 1)).all(), "zero_share must be from 0 to 1")
    _check(
        (parts["minimum"] <= parts["maximum"]).all(), "minimum must not be over maximum"
    )
    filtered = parts["filtered_rows"]
    _check(
        ((filtered == 0) | (is_trivial & is_numeric & (filtered > 0))).all(),
        "filtered_rows must be 0 but for columns that were left out",
    )
    _check_bounds(parts["bounds"], parts["bound_start"])
    _check_category_numbers(parts["categories"], parts["category_start"])


def _is_first(start: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each value is the first of a run, if runs begin at ``start``."""
    is_first = np.zeros(start[-1] + 1, dtype=bool)
    is_first[start] = True
    return is_first[:-1]


def _check_bounds(bounds: NDArray[np.float64], start: NDArray[np.int64]) -> None:
    is_last = np.append(_is_first(start)[1:], True)[: len(bounds)]
    _check(
        np.isfinite(bounds[~is_last]).all() and (bounds[is_last] == np.inf).all(),
        "the last bound of a column must be infinite, and all others finite",
    )
    _check(
        (is_last[:-1] | (bounds[1:] > bounds[:-1])).all(), "bounds must be ascending"
    )


def _check_category_numbers(
    categories: NDArray[np.int32], start: NDArray[np.int64]
) -> None:
    is_first = _is_first(start)
    _check(
        (is_first == (categories == -1)).all() and categories.min(initial=-1) == -1,
        "categories must be numbers from 0 on, and the first of a column -1",
    )
    column = np.cumsum(is_first)
    order = np.lexsort((categories, column))
    is_same = (np.diff(categories[order]) == 0) & (np.diff(column[order]) == 0)
    _check(not is_same.any(), "the categories of a column must differ")


def _mappers(parts: Mapping[str, NDArray[Any]]) -> list[BinMapper]:
    is_trivial = parts["is_trivial"] > 0
    value_range = np.stack([parts["minimum"], parts["maximum"]], axis=1)
    is_numeric = np.diff(parts["bound_start"]) > 0
    of_numbers = (
        values[is_numeric]
        for values in (
            *(parts["missing_type"], is_trivial),
            *(value_range, parts["zero_share"]),
        )
    )
    start = parts["bound_start"][np.append(np.flatnonzero(is_numeric), -1)]
    numeric = iter(numeric_mappers(parts["bounds"], start, *of_numbers))
    categories = np.split(parts["categories"], parts["category_start"][1:-1])
    filtered = parts["filtered_rows"].tolist()
    return [
        next(numeric)._replace(filtered_rows=filtered[j])
        if is_number
        else category_mapper(
            categories[j],
            int(parts["missing_type"][j]),
            bool(is_trivial[j]),
            tuple(value_range[j].tolist()),
        )
        for j, is_number in enumerate(is_numeric.tolist())
    ]


# --- Bins -----------------------------------------------------------------------------


def _bins(
    parts: Mapping[str, NDArray[Any]], n_rows: int, used: list[BinMapper]
) -> Bins:
    """The bins of the used columns, which are checked."""
    n_bins = np.array([mapper.n_bins for mapper in used], dtype=np.int64)
    is_categorical = np.array([m.categories is not None for m in used], dtype=bool)
    sparse = _sparse_columns(parts, n_rows, n_bins, is_categorical)
    is_dense = np.ones(len(used), dtype=bool)
    is_dense[sparse.number] = False
    is_wide = n_bins > LANE_CODES
    return Bins(
        sparse,
        _matrix(parts, "bytes", n_rows, n_bins[is_dense & ~is_wide]),
        _matrix(parts, "shorts", n_rows, n_bins[is_dense & is_wide]),
    )


def _sparse_columns(
    parts: Mapping[str, NDArray[Any]],
    n_rows: int,
    n_bins: NDArray[np.int64],
    is_categorical: NDArray[np.bool_],
) -> SparseColumns:
    member, start = parts["list_member"], parts["list_start"]
    rows, bins = parts["list_rows"], parts["list_bins"]
    _check(
        (member[1:] > member[:-1]).all()
        and member.min(initial=0) >= 0
        and member.max(initial=-1) < len(n_bins)
        and not is_categorical[member].any(),
        "list_member must be ascending numbers of used columns without categories",
    )
    check_lengths(parts, {"list_start": len(member) + 1, "list_bins": len(rows)})
    check_start(start, len(rows), "list_start")
    _check(
        (_is_first(start)[1:] | (rows[1:] > rows[:-1])).all()
        and rows.max(initial=0) < n_rows,
        f"list_rows must be ascending in each list, and below {n_rows}",
    )
    _check(
        (bins < np.repeat(n_bins[member] - 1, np.diff(start))).all(),
        "list_bins must be below the numbers of bins",
    )
    return SparseColumns.from_stored_bins(member, start, rows, bins, n_bins[member])


def _matrix(
    parts: Mapping[str, NDArray[Any]],
    name: str,
    n_rows: int,
    n_bins: NDArray[np.int64],
) -> NDArray[Any]:
    check_lengths(parts, {name: n_rows * len(n_bins)})
    matrix = parts[name].reshape(len(n_bins), n_rows)
    _check(
        (matrix.max(axis=1, initial=0) < n_bins).all(),
        f"{name} must be below the numbers of bins",
    )
    return matrix
