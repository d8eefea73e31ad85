"""Large arrays in memory or in mapped files, and the state of files that are mapped."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skgoss.utils.messages import warn

# The bytes written at a time where the system cannot reserve a file.
_CHUNK = 1 << 24
# Where Linux shows the limits of control groups, of the second version and the first.
_LIMITS = {
    "": ("/sys/fs/cgroup", "memory.max"),
    "memory": ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
}


class Memory:
    """Makes arrays in memory, or in files of a folder.

    The files have no names, and are deleted with the arrays.
    """

    def __init__(self, folder: str | PathLike[str] | None = None) -> None:
        self.folder = folder
        self._n_bytes = 0

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array whose values are not set.

        OSError if there is no such folder, or the disk is full. The space of the whole
        array is reserved: if the disk were full later, writing to the mapped file would
        end the process.
        """
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if self.folder is None or n_bytes == 0:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            _reserve(file, n_bytes)
            array = np.memmap(file, dtype, "r+", shape=shape)
        self._warn_if_large(n_bytes)
        return array

    def _warn_if_large(self, n_bytes: int) -> None:
        """Warn if this array makes the sum of all exceed the memory of the machine."""
        before, self._n_bytes = self._n_bytes, self._n_bytes + n_bytes
        limit = memory_limit()
        if limit is not None and before <= limit < self._n_bytes:
            warn(
                f"The bins take {self._n_bytes / 1e9:.1f} GB in {self.folder}, but"
                f" there are {limit / 1e9:.1f} GB of memory: training is limited by the"
                " speed of the disk."
            )


def memory_limit() -> int | None:
    """The most bytes of memory that this process may use; None: no limit was read."""
    limits = []
    for path in _limit_files():
        # "max" stands for no limit.
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            limits.append(int(file.read()))
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(limits, default=None)


def _limit_files() -> Iterator[str]:
    """The files of Linux's control groups that may hold a limit."""
    with suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, controllers, group = line.rstrip("\n").split(":", 2)
            if controllers in _LIMITS:
                root, name = _LIMITS[controllers]
                yield from (f"{root}{group}/{name}", f"{root}/{name}")


class FileState(NamedTuple):
    """The facts that show whether a file has changed."""

    path: str
    # The inode, the size in bytes, and the time of the last write in nanoseconds.
    number: int
    size: int
    time: int

    @classmethod
    def from_path(cls, path: str | PathLike[str]) -> FileState:
        """The present state of a file."""
        stat = os.stat(path)
        return cls(os.fspath(path), stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def check_unchanged(self) -> None:
        """Check that the path has the same file, in the same state."""
        self._check(FileState.from_path(self.path) == self)

    def check_mapped(self, *, by_time: bool) -> None:
        """Check that the file has not become shorter, nor ``by_time`` been written to.

        A mapped file stays readable if another file takes its place. But reading behind
        the end of a file ends the process.
        """
        try:
            now = FileState.from_path(self.path)
        except FileNotFoundError:
            return
        is_changed = now.size < self.size or (by_time and now.time != self.time)
        self._check(now.number != self.number or not is_changed)

    def _check(self, is_same: bool) -> None:
        """Raise ValueError unless the file is the same."""
        if not is_same:
            raise ValueError(
                f"{self.path}: the file has changed since it was first read."
            )


def _reserve(file: Any, n_bytes: int) -> None:
    """Reserve the space of a file; OSError if the disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for start in range(0, n_bytes, _CHUNK):
        file.write(bytes(min(_CHUNK, n_bytes - start)))
    file.flush()


IN_MEMORY = Memory()
