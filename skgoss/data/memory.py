"""Where large arrays lie: in memory, or in files."""

from __future__ import annotations

import math
import os
import tempfile
from os import PathLike
from typing import Any

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


def _reserve(file: Any, n_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for start in range(0, n_bytes, _CHUNK):
        file.write(bytes(min(_CHUNK, n_bytes - start)))
    file.flush()


IN_MEMORY = Memory()
