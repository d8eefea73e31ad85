"""Where large arrays lie: in memory, or in files."""

from __future__ import annotations

import math
import os
import tempfile
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

# So many bytes are written at a time where the system cannot reserve a file.
_CHUNK = 1 << 24


class Memory:
    """Makes arrays in memory, or in files of a folder.

    The files have no names, and vanish with the arrays.

    Parameters
    ----------
    folder : str or path, default=None
        None: in memory.
    """

    def __init__(self, folder: str | PathLike[str] | None = None) -> None:
        self.folder = folder

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array whose values are not set.

        Raises
        ------
        OSError
            If there is no such folder, or the disk is full. The space of the whole
            array is reserved, because writing to a mapped file would end the process.
        """
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if self.folder is None or n_bytes == 0:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            _reserve(file, n_bytes)
            return np.memmap(file, dtype, "r+", shape=shape)


class FileState(NamedTuple):
    """What tells whether a file has changed.

    Attributes
    ----------
    path : str
    number, size, time : int
        The inode, the bytes, and when it was written, in nanoseconds.
    """

    path: str
    number: int
    size: int
    time: int

    @classmethod
    def of(cls, path: str | PathLike[str]) -> FileState:
        """The state that a file has now."""
        found = os.stat(path)
        return cls(os.fspath(path), found.st_ino, found.st_size, found.st_mtime_ns)

    def check_unchanged(self) -> None:
        """Raise ValueError unless the same file is there, as it was."""
        self._check(FileState.of(self.path) == self)

    def check_mapped(self, *, by_time: bool) -> None:
        """Raise ValueError if the file is there, but is shorter, or written later.

        What is mapped into memory remains if another file takes its place; but reading
        behind the end of a file ends the process.

        Parameters
        ----------
        by_time : bool
            Whether to check when it was written.
        """
        try:
            now = FileState.of(self.path)
        except FileNotFoundError:
            return
        is_cut = now.size < self.size or (by_time and now.time != self.time)
        self._check(now.number != self.number or not is_cut)

    def _check(self, is_same: bool) -> None:
        if not is_same:
            raise ValueError(
                f"{self.path}: the file has changed since it was first read."
            )


def _reserve(file: Any, n_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for start in range(0, n_bytes, _CHUNK):
        file.write(bytes(min(_CHUNK, n_bytes - start)))
    file.flush()


IN_MEMORY = Memory()
