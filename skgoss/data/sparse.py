"""Sparse matrices: checks of their structure, and their stored values by column."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

INT32_MAX = 2**31 - 1


def check(X: Any) -> None:
    """Check the structure of a sparse matrix; SciPy does not check it.

    Parameters
    ----------
    X : sparse matrix or array
        Of any format.

    Raises
    ------
    ValueError
        If the arrays of the matrix are inconsistent, refer to rows or columns that do
        not exist, or do not hold numbers.
    """
    if X.ndim != 2:
        raise ValueError(
            f"X is a sparse array of shape {X.shape}; reshape it to two dimensions, a"
            " row for each sample."
        )
    if max(X.shape) > INT32_MAX:
        raise ValueError(f"X has shape {X.shape}; at most {INT32_MAX} can be used.")
    look = _CHECKS.get(X.format)
    if look is not None:
        look(X)
    # Complex numbers and objects are left to scikit-learn.
    if X.dtype.kind not in "biufcO":
        raise ValueError(
            f"X holds {X.dtype} values, and only numbers and booleans can be used in"
            " sparse matrices. Encode them first."
        )


def _check_csr(X: Any) -> None:
    _check_compressed(X, *X.shape)


def _check_csc(X: Any) -> None:
    _check_compressed(X, *X.shape[::-1])


def _check_bsr(X: Any) -> None:
    _check_array("data", X.data, 3)
    if 0 in X.blocksize or any(np.mod(X.shape, X.blocksize)):
        raise _broken(f"data has blocks of {X.blocksize}, which do not fit {X.shape}")
    _check_compressed(X, *np.floor_divide(X.shape, X.blocksize), n_dimensions=3)


def _check_compressed(X: Any, major: int, minor: int, n_dimensions: int = 1) -> None:
    indptr, indices = X.indptr, X.indices
    _check_array("data", X.data, n_dimensions)
    _check_integers("indices", indices, 0, minor)
    _check_length("indices", indices, len(X.data), "data")
    _check_integers("indptr", indptr, 0, len(indices) + 1)
    if len(indptr) != major + 1:
        raise _broken(f"indptr has {len(indptr)} entries instead of {major + 1}")
    if indptr[0] != 0:
        raise _broken(f"indptr begins with {indptr[0]} instead of 0")
    if (indptr[1:] < indptr[:-1]).any():
        raise _broken("indptr decreases")


def _check_coo(X: Any) -> None:
    _check_array("data", X.data, 1)
    for name, size in zip(("row", "col"), X.shape, strict=True):
        _check_integers(name, getattr(X, name), 0, size)
        _check_length(name, getattr(X, name), len(X.data), "data")


def _check_dia(X: Any) -> None:
    _check_array("data", X.data, 2)
    _check_integers("offsets", X.offsets, -INT32_MAX, INT32_MAX)
    _check_length("offsets", X.offsets, len(X.data), "data")
    if len(np.unique(X.offsets)) < len(X.offsets):
        raise _broken("offsets name a diagonal twice")


def _check_lil(X: Any) -> None:
    for name in ("rows", "data"):
        _check_array(name, getattr(X, name), 1)
        _check_length(name, getattr(X, name), X.shape[0], "X")
        if not all(isinstance(values, list) for values in getattr(X, name)):
            raise _broken(f"{name} holds more than lists")
    if [*map(len, X.rows)] != [*map(len, X.data)]:
        raise _broken("rows and data have lists of different lengths")
    columns = [*chain.from_iterable(X.rows)]
    if columns:
        _check_integers("rows", np.array(columns), 0, X.shape[1])


def _check_dok(X: Any) -> None:
    keys = list(X.keys())
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise _broken("keys are not all pairs of a row and a column")
    places = zip(*keys, strict=True)
    for name, values, size in zip(("rows", "columns"), places, X.shape, strict=False):
        _check_integers(name, np.array(values), 0, size)


_CHECKS: dict[str, Callable[[Any], None]] = {
    "csr": _check_csr,
    "csc": _check_csc,
    "bsr": _check_bsr,
    "coo": _check_coo,
    "dia": _check_dia,
    "lil": _check_lil,
    "dok": _check_dok,
}


def _check_array(name: str, values: Any, n_dimensions: int) -> None:
    if not isinstance(values, np.ndarray) or values.ndim != n_dimensions:
        raise _broken(f"{name} is no array of {n_dimensions} dimension(s)")


def _check_integers(name: str, values: Any, least: int, stop: int) -> None:
    _check_array(name, values, 1)
    if values.dtype.kind not in "iu":
        raise _broken(f"{name} holds {values.dtype} values instead of integers")
    if len(values) and not least <= values.min() <= values.max() < stop:
        raise _broken(f"{name} holds values outside {least}..{stop - 1}")


def _check_length(name: str, values: Any, length: int, other: str) -> None:
    if len(values) != length:
        raise _broken(f"{name} has {len(values)} entries, but {other} has {length}")


def _broken(what: str) -> ValueError:
    return ValueError(
        f"X is a broken sparse matrix: its {what}. Build it again from valid rows and"
        " columns, for example with scipy.sparse.coo_array((values, (rows, columns)))."
    )


def by_columns(
    X: Any,
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
    """The stored values of a checked matrix, column by column.

    Duplicates are summed; the matrix itself is not changed.

    Parameters
    ----------
    X : sparse matrix or array

    Returns
    -------
    values : ndarray
    rows : ndarray of int32
        Ascending and distinct within a column.
    start : ndarray of shape (n_columns + 1,), int64
        The index of the first value of each column, and the end.
    """
    # The flags of X may be wrong about its order, so a new matrix finds its own.
    if X.format == "csc":
        columns = sp.csc_array((X.data, X.indices, X.indptr), shape=X.shape)
    elif X.format == "csr":
        columns = sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape).tocsc()
    else:
        columns = _as_csc(X)
    if not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    return (
        np.ascontiguousarray(columns.data[: columns.indptr[-1]]),
        np.ascontiguousarray(columns.indices[: columns.indptr[-1]], dtype=np.int32),
        columns.indptr.astype(np.int64),
    )


def _as_csc(X: Any) -> Any:
    try:
        return X.tocsc()
    # The formats DOK and LIL may hold any objects.
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"X must hold numbers: {error}.") from error
