"""Data as users pass them: how many rows there are, chunks of rows, some rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence, Sized
from os import PathLike
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgoss.columns import dataframes
from skgoss.sources import arrow_sources, sequences
from skgoss.sources.source import JoinedSource, Source

issparse: Callable[[Any], bool] = sparse.issparse


def is_source(X: Any) -> bool:
    """Whether `source` reads data in batches; files are not opened for it."""
    return any(belongs(X) for belongs, _ in _SOURCES) or _is_list_of_sources(X)


def is_file(X: Any) -> bool:
    """Whether data are the path of a file of text or bins."""
    return isinstance(X, str | PathLike) and not is_source(X)


def are_files(X: Any) -> bool:
    """Whether data are the path of a file of text or bins, or a list of those."""
    return all(map(is_file, X)) if isinstance(X, list) and X else is_file(X)


def is_streamed(X: Any) -> bool:
    """Whether data that are passed as ``X`` are read in batches.

    Arrays, also in lists and in files, are used as if they were in memory.
    """
    arrays = X if isinstance(X, list | tuple) else [X]
    return not all(isinstance(part, np.ndarray) for part in arrays) and is_source(X)


def source(X: Any) -> Source | None:
    """Data as a source of batches; None: they are in memory, or a file of text.

    Raises
    ------
    OSError, ValueError
        If files do not exist, or do not have the same columns.
    """
    for belongs, make in _SOURCES:
        if belongs(X):
            return make(X)
    if _is_list_of_sources(X):
        parts = [source(part) for part in X]
        return JoinedSource([part for part in parts if part is not None])
    return None


def _is_list_of_sources(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(map(is_source, X))


def _are_paths(X: Any) -> bool:
    paths = X if isinstance(X, list | tuple) else [X]
    return len(paths) > 0 and all(arrow_sources.format_of(path) for path in paths)


def _is_pyarrow_dataset(X: Any) -> bool:
    pyarrow_dataset = getattr(sys.modules.get("pyarrow.dataset"), "Dataset", None)
    return pyarrow_dataset is not None and isinstance(X, pyarrow_dataset)


def _is_function(X: Any) -> bool:
    return callable(X) and not isinstance(X, type) and not hasattr(X, "__array__")


# Which data are read in batches, and by what.
_SOURCES: list[tuple[Callable[[Any], bool], Callable[[Any], Source]]] = [
    (lambda X: isinstance(X, Source), lambda X: X),
    (
        _are_paths,
        lambda X: arrow_sources.from_paths(X if isinstance(X, list | tuple) else [X]),
    ),
    (_is_pyarrow_dataset, arrow_sources.FilesSource),
    (arrow_sources.is_lazy, arrow_sources.LazySource),
    (sequences.are_chunks, sequences.ChunkSource),
    (_is_function, arrow_sources.ReaderSource),
    (arrow_sources.is_read_once, arrow_sources.refuse_read_once),
]


def shape(X: Any) -> tuple[int | None, int | None]:
    """The numbers of rows and columns, where they are known without reading."""
    if sequences.are_chunks(X):
        return sequences.shape(X)
    known = getattr(X, "shape", None)
    if isinstance(known, tuple) and len(known) == 2:
        return int(known[0]), int(known[1])
    is_sized = isinstance(X, Sized) and not isinstance(X, str)
    return (len(X) if is_sized and not is_source(X) else None), None


def loaded(X: Any) -> Any:
    """Data in memory.

    Sources of batches are read where they allow it, lazy frames and streams are
    collected. Other data are returned as they are.
    """
    found = source(X)
    if found is not None:
        return found.loaded()
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
    """
    X = loaded(X)
    if issparse(X):
        return X.tocsr()[rows]
    frame = dataframes.as_dataframe(X)
    if frame is None:
        return np.asarray(X)[rows]
    if hasattr(frame.native, "iloc"):
        return frame.native.iloc[rows]
    return nw.from_native(frame.native, eager_only=True)[rows].to_native()


def side_by_side(first: Any, second: Any, names: Sequence[str] | None) -> Any:
    """The columns of two data, in a container of the first kind; None if impossible.

    Parameters
    ----------
    first, second : array, sparse matrix or data frame
    names : sequence of str, or None
        The names of all columns, if ``first`` is a data frame.
    """
    if any(X is None or is_source(X) for X in (first, second)):
        return None
    frame = None if issparse(first) else dataframes.as_dataframe(first)
    if frame is not None:
        return _with_columns(frame.native, second, names)
    if not issparse(first):
        added = _numbers(second)
        is_array = isinstance(first, np.ndarray)
        return np.hstack((first, added)) if is_array and added is not None else None
    added = second if issparse(second) else _numbers(second)
    if added is None:
        return None
    return sparse.hstack((first, sparse.csr_matrix(added)), format=first.format)


def _numbers(X: Any) -> NDArray[Any] | None:
    """An array of the numbers in any container; None if not all are numbers."""
    array = X.toarray() if issparse(X) else np.asarray(X)
    return array if array.ndim == 2 and array.dtype.kind in "biuf" else None


def _with_columns(native: Any, second: Any, names: Sequence[str] | None) -> Any:
    """A data frame with the columns of other data."""
    left = nw.from_native(native, eager_only=True)
    frame = None if issparse(second) else dataframes.as_dataframe(second)
    if frame is None:
        added = _numbers(second)
        if added is None:
            return None
        right = nw.from_numpy(added, backend=left.implementation)
    else:
        right = nw.from_native(frame.native, eager_only=True)
    n_own = len(left.columns)
    if left.implementation is not right.implementation or names is None:
        return None
    left = left.rename(dict(zip(left.columns, names, strict=False)))
    new = zip(right.columns, names[n_own:], strict=True)
    return left.with_columns(right[old].alias(name) for old, name in new).to_native()
