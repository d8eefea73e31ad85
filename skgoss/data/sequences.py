"""Rows that are read in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Sequence(ABC):
    """Base class of data that is read in batches, for example from a file.

    Write a subclass whose ``__len__`` returns the number of rows, and whose
    ``__getitem__`` returns one row or a slice of rows. Pass an object of it, or a list
    of such objects, to `Dataset` instead of an array. The batches are read into one
    array with the dtype of the first row, which is freed after binning.

    Attributes
    ----------
    batch_size : int or None, default=4096
        The number of rows of a batch. None: 4096.

    See Also
    --------
    Dataset : What takes rows of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from skgoss import Dataset, Sequence
    >>> class Rows(Sequence):
    ...     def __init__(self, path):
    ...         self.rows = np.load(path, mmap_mode="r")
    ...
    ...     def __len__(self):
    ...         return len(self.rows)
    ...
    ...     def __getitem__(self, index):
    ...         return np.asarray(self.rows[index])
    """

    batch_size: int | None = 4096

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def __getitem__(self, index: int | slice) -> NDArray[Any]:
        """Read a row, of shape (n_features,), or rows, of shape (n_rows, n_features).

        Parameters
        ----------
        index : int or slice
            The number of a row, or which rows.
        """


def are_chunks(X: Any) -> bool:
    """Whether data are a `Sequence`, or a list of those or of 2-D arrays."""
    chunks = _listed(X)
    return len(chunks) > 0 and all(map(_is_chunk, chunks))


def shape(X: Any) -> tuple[int, int | None]:
    """The number of rows of chunks, and that of columns where it is known."""
    chunks = _listed(X)
    n_features = None
    if isinstance(chunks[0], np.ndarray):
        n_features = chunks[0].shape[1]
    return sum(map(len, chunks)), n_features


def joined(X: Any) -> NDArray[Any]:
    """Read chunks of rows into one array, one below the other.

    Raises
    ------
    ValueError
        If a batch has other columns than the first row, a dtype that does not fit into
        its dtype, or another number of rows than was asked for.
    """
    chunks = [chunk for chunk in _listed(X) if len(chunk) > 0]
    if not chunks:
        raise ValueError("data must have a row, but all of its chunks are empty.")
    firsts = [_first_row(chunk) for chunk in chunks]
    n_features = len(firsts[0])
    dtype = reduce(np.promote_types, [row.dtype for row in firsts])
    rows = np.empty((sum(map(len, chunks)), n_features), dtype)
    start = 0
    for number, chunk in enumerate(chunks):
        for n_rows, batch in _batches(chunk):
            if batch.shape != (n_rows, n_features):
                raise ValueError(
                    f"Chunk {number} of data must give an array of shape"
                    f" {(n_rows, n_features)}, got {batch.shape}."
                )
            if not np.can_cast(batch.dtype, rows.dtype):
                raise ValueError(
                    f"Chunk {number} of data gives values of dtype {batch.dtype} after"
                    f" a row of dtype {rows.dtype}: all must have one dtype."
                )
            rows[start : start + n_rows] = batch
            start += n_rows
    return rows


def _is_chunk(X: Any) -> bool:
    return isinstance(X, Sequence) or (isinstance(X, np.ndarray) and X.ndim == 2)


def _listed(X: Any) -> list[Any] | tuple[Any, ...]:
    if isinstance(X, Sequence):
        return [X]
    return X if isinstance(X, list | tuple) else []


def _first_row(chunk: Any) -> NDArray[Any]:
    row = np.asarray(chunk[0])
    if row.ndim != 1:
        raise ValueError(
            "A Sequence must give a row of shape (n_features,) for an int, got an array"
            f" of shape {row.shape}."
        )
    return row


def _batches(chunk: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """The number of rows of each batch, and its rows."""
    size = chunk.batch_size if isinstance(chunk, Sequence) else len(chunk)
    size = Sequence.batch_size if size is None else size
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"batch_size of a Sequence must be an int >= 1, got {size!r}.")
    for start in range(0, len(chunk), size):
        end = min(start + size, len(chunk))
        yield end - start, np.asarray(chunk[start:end])
