"""Data as users pass them: their kind, their shape, some of their rows or columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence, Sized
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
    """Whether `source` reads data in batches; opens no files."""
    return any(is_kind(X) for is_kind, _ in _SOURCES) or _is_list_of_sources(X)


def is_file(X: Any) -> bool:
    """Whether data are the path of a file of text or bins."""
    return isinstance(X, str | PathLike) and not is_source(X)


def are_files(X: Any) -> bool:
    """Whether data are the path of a file of text or bins, or a list of paths."""
    return all(map(is_file, X)) if isinstance(X, list) and X else is_file(X)


def is_streamed(X: Any) -> bool:
    """Whether data that are passed as ``X`` are read in batches.

    Arrays are used as if they were in memory, even those in lists and memory maps.
    """
    return is_source(X) and not all(isinstance(p, np.ndarray) for p in _listed(X))


def are_in_memory(X: Any) -> bool:
    """Whether data are rows in memory, and neither read in batches nor a file."""
    return not (is_file(X) or is_streamed(X))


def source(X: Any) -> Source | None:
    """Data as a source of batches; None: they are in memory, or a file of text.

    OSError or ValueError if files do not exist, or do not have the same columns.
    """
    for is_kind, make in _SOURCES:
        if is_kind(X):
            return make(X)
    if _is_list_of_sources(X):
        sources = [source(own) for own in X]
        return JoinedSource([own for own in sources if own is not None])
    return None


def _listed(X: Any) -> list[Any] | tuple[Any, ...]:
    """The items of a list or tuple; other data as a list of one."""
    return X if isinstance(X, list | tuple) else [X]


def _is_list_of_sources(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(map(is_source, X))


def _are_paths(X: Any) -> bool:
    """Whether data are paths of files that pyarrow reads, at least one."""
    paths = _listed(X)
    return len(paths) > 0 and all(map(arrow_sources.format_of, paths))


def _is_pyarrow_dataset(X: Any) -> bool:
    pyarrow_dataset = getattr(sys.modules.get("pyarrow.dataset"), "Dataset", None)
    return pyarrow_dataset is not None and isinstance(X, pyarrow_dataset)


def _is_function(X: Any) -> bool:
    """Whether data are a function that makes readers, not a class or a container."""
    return callable(X) and not isinstance(X, type) and not hasattr(X, "__array__")


# The kinds of data that are read in batches, and what reads them.
_SOURCES: list[tuple[Callable[[Any], bool], Callable[[Any], Source]]] = [
    (lambda X: isinstance(X, Source), lambda X: X),
    (_are_paths, lambda X: arrow_sources.from_paths(_listed(X))),
    (_is_pyarrow_dataset, arrow_sources.FilesSource),
    (arrow_sources.is_lazy, arrow_sources.LazySource),
    (sequences.are_chunks, sequences.ChunkSource),
    (_is_function, arrow_sources.ReaderSource),
    (arrow_sources.is_read_once, arrow_sources.refuse_read_once),
]


def shape(X: Any) -> tuple[int | None, int | None]:
    """The numbers of rows and columns; None: they are not known without reading."""
    if sequences.are_chunks(X):
        return sequences.shape(X)
    own = getattr(X, "shape", None)
    if isinstance(own, tuple) and len(own) == 2:
        return int(own[0]), int(own[1])
    # An array without dimensions has no length.
    is_sized = isinstance(X, Sized) and not isinstance(X, str | Mapping) and own != ()
    return (len(X) if is_sized and not is_source(X) else None), None


def loaded(X: Any) -> Any:
    """Data in memory.

    Sources are read where they allow it, else ValueError; lazy frames and Arrow streams
    become data frames. Other data are returned as they are.
    """
    batches = source(X)
    if batches is not None:
        return batches.loaded()
    if X is None or issparse(X) or isinstance(X, np.ndarray | list | tuple):
        return X
    frame = dataframes.as_dataframe(X)
    return X if frame is None else frame.native


def with_uniform_names(X: Any) -> Any:
    """Data whose column names are all strings, or all something else.

    If a pandas frame has names of both kinds, all of them become strings.
    """
    if not hasattr(X, "iloc") or len({isinstance(name, str) for name in X.columns}) < 2:
        return X
    renamed = X.copy(deep=False)
    renamed.columns = [str(name) for name in X.columns]
    return renamed


def take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of data, in a container of the same kind.

    Lists become arrays, sparse matrices CSR, and Arrow streams tables.
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
    """A container like the first with the columns of both; None if that is impossible.

    It is impossible for data that are None or read in batches, and for values of
    ``second`` that the container cannot hold. ``names`` are those of all columns, which
    a data frame gets.
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
    """A data frame with the columns of other data added.

    ``names`` are those of all columns. None if these are None, or if ``second`` is
    neither numbers nor a data frame of the same library.
    """
    left = nw.from_native(native, eager_only=True)
    frame = None if issparse(second) else dataframes.as_dataframe(second)
    if frame is None:
        added = _numbers(second)
        if added is None:
            return None
        right = nw.from_numpy(added, backend=left.implementation)
    else:
        right = nw.from_native(frame.native, eager_only=True)
    if left.implementation is not right.implementation or names is None:
        return None
    new = zip(right.iter_columns(), names[len(left.columns) :], strict=True)
    left = left.rename(dict(zip(left.columns, names, strict=False)))
    return left.with_columns(column.alias(name) for column, name in new).to_native()
