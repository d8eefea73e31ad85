"""Arguments with one value for each row: of any type, or weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.dtypes import is_missing
from skgoss.columns.floats import as_floats, check_unmasked

Floats = NDArray[np.float64]


def values(given: Any, n_rows: int | None, name: str, advice: str = "") -> NDArray[Any]:
    """The values of an array, list or column of a data frame, of any type.

    ValueError unless there is one for each of ``n_rows`` (None: for any number of
    rows), or if one is masked or missing. ``advice`` ends the message of a wrong shape.
    """
    check_unmasked(given, name)
    array = _column(given, n_rows, name, advice)
    # Without Python objects, missing values are NaN and NaT, which differ from
    # themselves.
    if array.dtype.kind == "O":
        is_hole = np.array([is_missing(value) for value in array], dtype=bool)
    else:
        is_hole = array != array
    if is_hole.any():
        row = int(is_hole.argmax())
        raise ValueError(f"{name} must not be missing, got {array[row]} in row {row}.")
    return array


def sortable(
    given: Any, n_rows: int | None, name: str, advice: str = ""
) -> NDArray[Any]:
    """The `values` of an argument, which must have an order; else ValueError."""
    array = values(given, n_rows, name, advice)
    if array.dtype.kind == "O":
        distinct(array, name)
    return array


def distinct(array: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct values, in order, and the index of each row's value among them.

    ValueError if they have no order.
    """
    try:
        found, number = np.unique(array, return_inverse=True)
    except TypeError as error:
        message = f"{name} must hold values that can be sorted: {error}."
        raise ValueError(message) from error
    return found, number


def weights(given: Any, n_rows: int | None, name: str) -> Floats:
    """The weights of rows; ValueError unless they are finite numbers >= 0."""
    found = np.ascontiguousarray(_column(as_floats(given, name), n_rows, name))
    is_wrong = ~(np.isfinite(found) & (found >= 0))
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise ValueError(
            f"{name} must hold finite numbers >= 0, got {found[row]:g} in row {row}."
        )
    return found


def _column(
    given: Any, n_rows: int | None, name: str, advice: str = ""
) -> NDArray[Any]:
    """An array of one dimension; ValueError if its length is not ``n_rows``."""
    got = f"the str {given!r}: pass the column itself, X[{given!r}]"
    if not isinstance(given, str):
        array = np.asarray(given)
        if array.shape[1:] == (1,):
            array = array[:, 0]
        if array.ndim == 1 and n_rows in (None, len(array)):
            return array
        got = f"an array of shape {array.shape}"
    there = "each row" if n_rows is None else f"each of the {n_rows} rows"
    raise ValueError(f"{name} must have one value for {there}, got {got}.{advice}")
