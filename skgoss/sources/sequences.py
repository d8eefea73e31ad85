"""Rows in chunks: a `Sequence` that users write, a memory map, or a list of arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.sources.memory import FileState
from skgoss.sources.source import Batch, Source, batch_rows, check_needed
from skgoss.utils.messages import errors_at
from skgoss.utils.public import set_module


@set_module("skgoss")
class Sequence(ABC):
    """Base class of data that is read in batches, for example from a file.

    Write a subclass whose ``__len__`` returns the number of rows, and whose
    ``__getitem__`` returns one row or a slice of rows. Pass an object of it, or a list
    of such objects, to `Dataset` instead of an array. All rows are read twice, to find
    the bins and to fill them, and need not fit into memory. All batches must have the
    dtype of the first row.

    Attributes
    ----------
    batch_size : int or None, default=4096
        The number of rows of a batch. None: 4096.

    See Also
    --------
    Dataset : Accepts sequences as data.

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
            The number of a row, or a slice of rows.
        """


def are_chunks(X: Any) -> bool:
    """Whether data are a `Sequence`, a memory map, or a list of those or of arrays."""
    chunks = _listed(X)
    return len(chunks) > 0 and all(
        isinstance(chunk, Sequence)
        or (isinstance(chunk, np.ndarray) and chunk.ndim == 2)
        for chunk in chunks
    )


def shape(X: Any) -> tuple[int, int | None]:
    """The numbers of rows and columns of chunks; None: a `Sequence` is not read yet."""
    chunks = _listed(X)
    is_array = isinstance(chunks[0], np.ndarray)
    return sum(map(len, chunks)), chunks[0].shape[1] if is_array else None


class ChunkSource(Source):
    """Chunks of rows: `Sequence` objects and two-dimensional arrays.

    Raises
    ------
    ValueError
        If there are no rows. When they are read: if a batch has other columns than the
        first row, a dtype that does not fit into that of the first rows, or another
        number of rows than its slice.
    """

    def __init__(self, X: Any) -> None:
        self.chunks = [chunk for chunk in _listed(X) if len(chunk) > 0]
        if not self.chunks:
            raise ValueError("data must have a row, but all of its chunks are empty.")
        maps = [chunk for chunk in self.chunks if _is_memory_map(chunk)]
        self._mapped = [FileState.from_path(X.filename) for X in maps if X.filename]
        firsts = [_first_row(chunk) for chunk in self.chunks]
        self.dtype = reduce(np.promote_types, [row.dtype for row in firsts])
        self._shape = sum(map(len, self.chunks)), len(firsts[0])

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    def select(self, names: list[str]) -> ChunkSource:
        self.check_names(names)
        return self

    def check_unchanged(self) -> None:
        for state in self._mapped:
            state.check_mapped(by_time=False)

    def batches(self) -> Iterator[Batch]:
        for number, chunk in enumerate(self.chunks):
            size, stop = self._batch_size(chunk), 0
            n_joined = max(1, batch_rows(self._shape[1]) // size) * size
            for start in range(0, len(chunk), n_joined):
                stop = min(start + n_joined, len(chunk))
                self.check_unchanged()  # reading a map of a cut file ends the process
                rows = np.empty((stop - start, self._shape[1]), self.dtype)
                for begin in range(start, stop, size):
                    check_needed()
                    end = min(begin + size, stop)
                    location = f"Chunk {number} of data, rows {begin} to {end - 1}"
                    with errors_at(location):
                        batch = np.asarray(chunk[begin:end])
                    self._check(batch, number, end - begin)
                    rows[begin - start : end - start] = batch
                yield Batch(rows, f"Chunk {number} of data")

    def loaded(self) -> NDArray[Any]:
        return np.concatenate([batch.rows for batch in self.batches()])

    def _batch_size(self, chunk: Any) -> int:
        """The number of rows to ask a chunk for at a time; an array has no wish."""
        size = getattr(chunk, "batch_size", batch_rows(self._shape[1]))
        size = Sequence.batch_size if size is None else size
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(
                f"batch_size of a Sequence must be an int >= 1, got {size!r}."
            )
        return int(size)

    def _check(self, batch: NDArray[Any], number: int, n_rows: int) -> None:
        """Check the shape and the dtype of what a chunk with this number returned."""
        if batch.shape != (n_rows, self._shape[1]):
            raise ValueError(
                f"Chunk {number} of data must give an array of shape"
                f" {(n_rows, self._shape[1])}, got {batch.shape}."
            )
        if not np.can_cast(batch.dtype, self.dtype):
            raise ValueError(
                f"Chunk {number} of data gives values of dtype {batch.dtype} after"
                f" a row of dtype {self.dtype}: all must have one dtype."
            )


def _is_memory_map(X: Any) -> bool:
    return isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "biuf"


def _listed(X: Any) -> list[Any] | tuple[Any, ...]:
    """The chunks that data consist of; empty if they are neither one nor a list."""
    if isinstance(X, Sequence) or _is_memory_map(X):
        return [X]
    return X if isinstance(X, list | tuple) else []


def _first_row(chunk: Any) -> NDArray[Any]:
    """The first row of a chunk, (n_features,), which shows its dtype."""
    row = np.asarray(chunk[0])
    if row.ndim != 1:
        raise ValueError(
            "A Sequence must give a row of shape (n_features,) for an int, got an array"
            f" of shape {row.shape}."
        )
    return row
