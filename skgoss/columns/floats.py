"""Numbers as float64, with errors that name the argument."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# NumPy silently converts these types: dates to counts of days, b"1" to 1.
NOT_NUMBERS = (bytes, np.datetime64, np.timedelta64)


def as_floats(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Convert numbers to float64; an array of this dtype is returned as it is.

    None becomes NaN. ValueError, with the ``name`` of the values, if one is masked, not
    a real number, or an integer too large for float64.
    """
    check_no_name(values, name)
    check_unmasked(values, name)
    try:
        array = np.asarray(values)
        wrong = _wrong_type(array)
        if wrong is None:
            with np.errstate(over="ignore"):
                return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        what = re.sub(r"np\.str_\((.*)\)$", r"\1", str(error).rstrip("."))
        raise ValueError(f"{name} must hold numbers: {what}.") from error
    raise ValueError(f"{name} must hold numbers, but holds {wrong} values.")


def check_no_name(values: Any, name: str) -> None:
    """Raise ValueError if values are a string, such as the name of a column."""
    if isinstance(values, str):
        raise ValueError(
            f"{name} must be an array, got the str {values!r}: pass the column itself,"
            f" X[{values!r}]."
        )


def check_unmasked(values: Any, name: str) -> None:
    """Raise ValueError if a value of a masked array is masked."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked values, which are not allowed: fill them in, or drop"
            " their rows."
        )


def check_real(values: Any, name: str) -> None:
    """Raise ValueError if an array or a data frame holds complex numbers."""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") == "c":
        raise ValueError(
            f"Complex data not supported: {name} has the dtype {dtype}. Pass"
            f" {name}.real, or numpy.column_stack([{name}.real, {name}.imag])."
        )


def _wrong_type(array: NDArray[Any]) -> str | None:
    """The name of a type among the values that is not a number; None if there is none.

    NumPy may convert such values.
    """
    if array.dtype.kind == "O":
        types = set(map(type, array.ravel().tolist()))
        wrong = [t.__name__ for t in types if issubclass(t, NOT_NUMBERS)]
        return wrong[0] if wrong else None
    return None if array.dtype.kind in "biufU" else str(array.dtype)
