"""Binned data in files.

A file is a line that names its kind and version, a line of JSON, and arrays, one after
the other: little-endian, in C order. The JSON tells the arrays' names, types and
shapes, and holds all that is no array (see `values`). A file may end with zeros, so
that it is as long as it claims memory: see `binned_state.claim`.
"""

from __future__ import annotations

import json
import math
import re
from os import PathLike
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from skgoss.data import binned_state, disk, values
from skgoss.data.dataset import BinnedDataset
from skgoss.data.state import entries

_MAGIC = b"skgoss binned data, version "
_VERSION = 1
_FOREIGN = b"______LightGBM_Binary_File_Token______"

_OWNER = "the header"
_DTYPE = re.compile(r"\|b1|[<|](?:[iu][1248]|f[248])")
_ARRAY = {"part": str, "name": str, "dtype": str, "shape": list}

# Dicts of arrays and of other values, by name.
Parts = dict[str, dict[str, Any]]


def write(
    path: str | PathLike[str], binned: BinnedDataset, fields: dict[str, Any]
) -> None:
    """Write binned data to a file, at once: an earlier file stays if that fails.

    Parameters
    ----------
    path : str or path-like
    binned : BinnedDataset
    fields : dict from str to object
        What belongs to the data: arrays of numbers, and anything that `values.encode`
        writes.

    Raises
    ------
    TypeError
        If a field cannot be written.
    OSError
        If the file cannot be written.
    """
    state = binned_state.state(binned)
    parts = content({"data": state, "fields": fields})
    missing = binned_state.claim(state) - sum(memoryview(part).nbytes for part in parts)
    with disk.written(path) as file:
        for part in parts:
            file.write(part)
        file.write(bytes(max(0, missing)))


def content(parts: Parts) -> list[bytes | NDArray[Any]]:
    """What a file holds: the first line, the header and the arrays."""
    header: dict[str, Any] = {part: {} for part in parts}
    header["arrays"], arrays = [], []
    for part in parts:
        for name, value in parts[part].items():
            dtype = value.dtype.newbyteorder("<") if type(value) is np.ndarray else None
            if dtype is None or not _DTYPE.fullmatch(dtype.str):
                header[part][name] = _encoded(name, value)
                continue
            arrays.append(np.ascontiguousarray(value, dtype))
            described = (part, name, dtype.str, list(value.shape))
            header["arrays"].append(dict(zip(_ARRAY, described, strict=True)))
    first = _MAGIC + b"%d\n" % _VERSION
    return [first, json.dumps(header).encode() + b"\n", *arrays]


def _encoded(name: str, value: Any) -> Any:
    try:
        return values.encode(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be written: {error}.") from error


def is_binary(path: str | PathLike[str]) -> bool:
    """Whether a file begins as those of `write` do, of whatever version, or LightGBM's.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with open(path, "rb") as file:
        return file.read(len(_FOREIGN)).startswith((_MAGIC, _FOREIGN))


def read(
    path: str | PathLike[str], n_threads: int = 1
) -> tuple[BinnedDataset, dict[str, Any]]:
    """Read a file that `write` wrote.

    Parameters
    ----------
    path : str or path-like
    n_threads : int, default=1

    Returns
    -------
    binned : BinnedDataset
    fields : dict from str to object
        As they were written; what they hold is not checked.

    Raises
    ------
    ValueError
        If the file is another one, damaged or changed.
    ImportError
        If fields hold values of pandas, and it is not installed.
    OSError
        If the file cannot be read.
    """
    with disk.named(path), open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        _check_first_line(file)
        parts = _parts(file, size)
        data = binned_state.restored(parts["data"], most=size, n_threads=n_threads)
        end, least = file.tell(), binned_state.claim(parts["data"])
        if size != max(end, least):
            raise ValueError(f"the file must end after {max(end, least)} bytes")
        return data, parts["fields"]


def _check_first_line(file: BinaryIO) -> None:
    line = file.readline(len(_MAGIC) + 20)
    if line == _MAGIC + b"%d\n" % _VERSION:
        return
    if not line:
        raise ValueError("the file is empty")
    if line.startswith(_FOREIGN):
        raise ValueError(
            "the file holds binned data of LightGBM, which only LightGBM reads. Make"
            " the data set from the original data."
        )
    if line.startswith(_MAGIC) and line.endswith(b"\n"):
        raise ValueError(
            "the file was written by another version of skgoss, which this one does not"
            " know. Update skgoss, or make the file again."
        )
    raise ValueError("the file holds no binned data of skgoss, or is cut off")


def _parts(file: BinaryIO, size: int) -> Parts:
    line = file.readline()
    if not line.endswith(b"\n"):
        raise ValueError("the file is cut off in the header")
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_OWNER} cannot be read: {error}") from error
    header = values.decode(header, _OWNER)
    parts = dict.fromkeys(("data", "fields"), dict)
    *found, arrays = entries(header, parts | {"arrays": list}, _OWNER)
    parts = dict(zip(parts, found, strict=True))
    if not all(isinstance(name, str) for part in found for name in part):
        raise ValueError(f"{_OWNER} must hold names that are strings")
    for described in arrays:
        part, name, dtype, shape = entries(described, _ARRAY, f"an array of {_OWNER}")
        if part not in parts or name in parts[part]:
            raise ValueError(f"{_OWNER} tells of another array {name!r} in {part!r}")
        parts[part][name] = _array(file, size, name, dtype, shape)
    return parts


def _array(
    file: BinaryIO, size: int, name: str, dtype: str, shape: list[Any]
) -> NDArray[Any]:
    """The next array of the file."""
    if not _DTYPE.fullmatch(dtype):
        raise ValueError(f"{name} has the dtype {dtype!r}, which is not known")
    if not all(type(length) is int and 0 <= length <= size for length in shape):
        raise ValueError(f"{name} has the shape {shape!r}, which is impossible")
    kind = np.dtype(dtype)
    missing = math.prod(shape) * kind.itemsize - (size - file.tell())
    if missing > 0:
        raise ValueError(f"the file is cut off: {name} needs {missing} more bytes")
    found = np.empty(math.prod(shape) * kind.itemsize, dtype=np.uint8)
    if file.readinto(found) != len(found):
        raise ValueError(f"the file has become shorter than {name}")
    if kind.kind == "b" and found.max(initial=0) > 1:
        raise ValueError(f"{name} holds bytes that are neither True nor False")
    array = found.view(kind).reshape(shape)
    return array.astype(kind.newbyteorder("="), copy=False)
