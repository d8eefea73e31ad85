"""Bounds of bins that the user chooses: the option ``forcedbins_filename``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning import bin_bounds
from skgoss.columns.floats import as_floats
from skgoss.columns.names import ColumnFinder
from skgoss.utils import disk
from skgoss.utils.plain_values import INT32_MAX

OPTION = "forcedbins_filename"

ForcedBounds = Mapping[int, tuple[float, ...]]


def by_column(value: Any, finder: ColumnFinder) -> ForcedBounds | None:
    """The upper bounds of bins by the number of the column; None if there are none.

    ``value`` is the option's value: the name or the contents of a JSON file, which is a
    list of objects with the keys 'feature' and 'bin_upper_bound'. Or it is a dict from
    names or numbers of columns to bounds. ``finder`` knows the names of the columns.
    """
    contents = disk.json_contents(value, OPTION)
    by_number: dict[int, tuple[float, ...]] = {}
    for column, bounds in _pairs(contents or ()):
        values = as_floats(bounds, f"bin_upper_bound of {column!r} in {OPTION}")
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(
                f"{OPTION} must hold lists of finite numbers, got {bounds!r} for the"
                f" column {column!r}."
            )
        j = finder.number(column, OPTION)
        # As in LightGBM, the bounds of a column that comes twice are joined.
        joined = by_number.get(j, ()) + tuple(values.tolist())
        by_number[j] = tuple(dict.fromkeys(joined))
    return {j: bounds for j, bounds in by_number.items() if bounds} or None


def _pairs(contents: Any) -> Iterable[tuple[Any, Any]]:
    """The columns and their bounds in a dict, or in the contents of a JSON file."""
    if isinstance(contents, Mapping):
        return contents.items()
    try:
        return [(item["feature"], item["bin_upper_bound"]) for item in contents]
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{OPTION} must hold a list of objects with the keys 'feature' (name or"
            " number of a column) and 'bin_upper_bound' (list of numbers), or a dict"
            f" from columns to such lists. Got {contents!r}."
        ) from error


def as_array(by_number: ForcedBounds, n_features: int) -> NDArray[Any]:
    """The bounds of each column, (n_features,), as tuples; () if it has none."""
    bounds = np.empty(n_features, dtype=object)
    bounds.fill(())
    for j, values in by_number.items():
        bounds[j] = values
    return bounds


def packed(
    bounds: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
    """The bounds of columns as arrays for the kernel.

    Returns where the bounds of each column begin, (n_features + 1,), the bounds,
    ascending within a column, and their positions in the user's order: if there are
    too many, the kernel uses the first ones. It adds the bounds around zero itself, so
    one that the user passes gets the last position, and is never used.
    """
    start = np.cumsum([0, *map(len, bounds)], dtype=np.int64)
    tables = [np.empty((0, 2))]
    for values in filter(None, bounds):
        value = np.array(values)
        is_zero = np.abs(value) <= bin_bounds.ZERO_BOUND
        rank = np.where(is_zero, INT32_MAX, np.cumsum(~is_zero) - 1)
        tables.append(np.column_stack([value, rank])[np.argsort(value, kind="stable")])
    bound, rank = np.ascontiguousarray(np.concatenate(tables).T)
    return start, bound, rank.astype(np.int32)
