"""Data as users pass them: how many rows there are, chunks of rows, some rows."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import issparse

from skgoss.data import dataframes, sequences


def shape(X: Any) -> tuple[int | None, int | None]:
    """The numbers of rows and columns, where they are known without reading."""
    if sequences.are_chunks(X):
        return sequences.shape(X)
    known = getattr(X, "shape", None)
    if isinstance(known, tuple) and len(known) == 2:
        return int(known[0]), int(known[1])
    is_sized = isinstance(X, Sized) and not isinstance(X, str)
    return (len(X) if is_sized else None), None


def loaded(X: Any) -> Any:
    """Data in memory.

    Lazy frames and streams are read, and chunks of rows become one array. Other data
    are returned as they are.
    """
    if sequences.are_chunks(X):
        return sequences.joined(X)
    if X is None or issparse(X) or isinstance(X, np.ndarray | list | tuple):
        return X
    frame = dataframes.as_dataframe(X)
    return X if frame is None else frame.native


def named(X: Any) -> Any:
    """Data of which no column has a name unless all names are strings.

    Frames of pandas may have both strings and numbers as names: all become strings.
    """
    if not hasattr(X, "iloc") or len({isinstance(name, str) for name in X.columns}) < 2:
        return X
    renamed = X.copy(deep=False)
    renamed.columns = [str(name) for name in X.columns]
    return renamed


def take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of data, in a container of the same kind.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        Lists become arrays, sparse matrices CSR, and streams of Arrow tables.
    rows : ndarray of int64

    Returns
    -------
    ndarray, data frame or CSR matrix
    """
    if issparse(X):
        return X.tocsr()[rows]
    frame = dataframes.as_dataframe(X)
    if frame is None:
        return np.asarray(X)[rows]
    if hasattr(frame.native, "iloc"):
        return frame.native.iloc[rows]
    return nw.from_native(frame.native, eager_only=True)[rows].to_native()


def side_by_side(first: Any, second: Any, names: Sequence[str] | None) -> Any:
    """The columns of two data in one container; None if they are of different kinds.

    Parameters
    ----------
    first, second : array, sparse matrix or data frame, or None
    names : sequence of str, or None
        The names of all columns, if both are data frames.
    """
    both = (first, second)
    if all(isinstance(X, np.ndarray) for X in both):
        return np.hstack(both)
    if all(map(issparse, both)):
        return sparse.hstack(both, format=first.format)
    if names is None or type(first) is not type(second) or sequences.are_chunks(first):
        return None
    frames = [dataframes.as_dataframe(X) for X in both]
    if None in frames:
        return None
    left, right = (nw.from_native(X.native, eager_only=True) for X in frames)
    n_own = len(left.columns)
    left = left.rename(dict(zip(left.columns, names, strict=False)))
    added = zip(right.columns, names[n_own:], strict=True)
    return left.with_columns(right[old].alias(new) for old, new in added).to_native()
