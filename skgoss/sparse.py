"""Sparse matrices: checked before anybody trusts them, and then read by columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

INT32_MAX = 2**31 - 1


def check(X: Any) -> None:
    """Check a sparse matrix's structure, which SciPy's own code takes on trust.

    Parameters
    ----------
    X : sparse matrix or array
        Of any format.

    Raises
    ------
    ValueError
        If its arrays do not fit each other, or name rows or columns that are not there.
    """
    if X.ndim != 2:
        raise ValueError(f"Expected a 2-dimensional sparse array, got {X.ndim}.")
    n_rows, n_columns = X.shape
    if max(n_rows, n_columns) > INT32_MAX:
        raise ValueError(f"X has shape {X.shape}; at most {INT32_MAX} can be used.")
    if X.format in ("csr", "csc"):
        sizes = X.shape if X.format == "csr" else X.shape[::-1]
        _check_compressed(X, *sizes, one_value=True)
    elif X.format == "bsr":
        height, width = X.blocksize
        _check_compressed(X, n_rows // height, n_columns // width, one_value=False)
    elif X.format == "coo":
        for name, size in (("row", n_rows), ("col", n_columns)):
            _check_integers(name, getattr(X, name), 0, size)
            _check_length(name, getattr(X, name), len(X.data), "data")


def _check_compressed(X: Any, major: int, minor: int, *, one_value: bool) -> None:
    indptr, indices, data = X.indptr, X.indices, X.data
    _check_integers("indptr", indptr, 0, len(indices) + 1)
    if len(indptr) != major + 1:
        raise _broken(f"indptr has {len(indptr)} entries instead of {major + 1}")
    if indptr[0] != 0:
        raise _broken(f"indptr begins with {indptr[0]} instead of 0")
    if (indptr[1:] < indptr[:-1]).any():
        raise _broken("indptr decreases")
    _check_integers("indices", indices, 0, minor)
    _check_length("indices", indices, len(data), "data")
    if one_value and getattr(data, "ndim", 1) != 1:
        raise _broken(f"data has {data.ndim} dimensions instead of 1")


def _check_integers(name: str, values: Any, least: int, stop: int) -> None:
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        raise _broken(f"{name} is no array of one dimension")
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

    Duplicates are summed; the matrix itself stays as it is.

    Parameters
    ----------
    X : sparse matrix or array

    Returns
    -------
    values : ndarray
    rows : ndarray of int32
        Ascending and distinct within a column.
    start : ndarray of shape (n_columns + 1,), int64
        Where each column begins.
    """
    # What a matrix says of its own order is not trusted either: a new one looks.
    if X.format == "csc":
        columns = sp.csc_array((X.data, X.indices, X.indptr), shape=X.shape)
    elif X.format == "csr":
        columns = sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape).tocsc()
    else:
        columns = X.tocsc()
    if not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    return (
        np.ascontiguousarray(columns.data[: columns.indptr[-1]]),
        np.ascontiguousarray(columns.indices[: columns.indptr[-1]], dtype=np.int32),
        columns.indptr.astype(np.int64),
    )
