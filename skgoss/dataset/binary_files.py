"""Files of binned data: zip archives of arrays, as `numpy.savez` writes them.

The members ``data/*.npy`` hold the binned data, and ``fields/*.npy`` the fields of its
rows. ``skgoss.json`` holds the version of the format, and all values that are not
arrays, as `plain_values.encode` writes them. Nothing is compressed. The member
``padding`` makes a file as large as the memory that it needs: see `binned_state.claim`.
"""

from __future__ import annotations

import json
import math
import re
import struct
import zipfile
from io import BufferedReader
from os import PathLike
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from skgoss.binning import binned_state
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.sources.memory import IN_MEMORY, Memory
from skgoss.utils import disk, plain_values
from skgoss.utils.plain_values import entries

_VERSION = 1
_JSON, _PADDING = "skgoss.json", "padding"
_OWNER = f"the member {_JSON}"
_SECTIONS = {"data": dict, "fields": dict}

_ZIP, _ZIP_END, _END_SIZE = b"PK\3\4", b"PK\5\6", 22
_LIGHTGBM = b"______LightGBM_Binary_File_Token______"

# Errors of `zipfile` and `struct`, in addition to ValueError.
_DAMAGE = (zipfile.BadZipFile, struct.error, EOFError, RuntimeError, OverflowError)

_DTYPE = re.compile(r"\|b1|[<|](?:[iu][1248]|f[248])")
_NPY_HEADER = re.compile(
    rb"\{'descr': '([^']*)', 'fortran_order': False, 'shape': \(([\d, ]*)\), \} *\n"
)

# Dicts of arrays and of other values, by name.
Sections = dict[str, dict[str, Any]]


def write(
    path: str | PathLike[str], binned: BinnedDataset, fields: dict[str, Any]
) -> None:
    """Write binned data to a file. If that fails, an earlier file is unchanged.

    ``fields`` are arrays of numbers, and values that `plain_values.encode` writes.
    TypeError if there is another one.
    """
    state = binned_state.state(binned)
    with disk.atomic_write(path) as file:
        write_sections(
            file, {"data": state, "fields": fields}, binned_state.claim(state)
        )


def write_sections(file: BinaryIO, sections: Sections, min_size: int) -> None:
    """Write an archive of at least ``min_size`` bytes, filled up with zeros.

    Readers refuse files that are smaller than the memory that their numbers ask for.
    Values that are not arrays of plain numbers are written as JSON.
    """
    plain: dict[str, Any] = {
        "version": _VERSION,
        **{section: {} for section in sections},
    }
    arrays = {}
    for section in sections:
        for name, value in sections[section].items():
            dtype = value.dtype.newbyteorder("<") if type(value) is np.ndarray else None
            if dtype is None or not _DTYPE.fullmatch(dtype.str):
                plain[section][name] = _encoded(name, value)
            else:
                arrays[f"{section}/{name}.npy"] = np.asarray(value, dtype, order="C")
    header = json.dumps(plain).encode()
    missing = min_size - len(header) - sum(array.nbytes for array in arrays.values())
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open(_JSON, "w") as member:
            member.write(header)
        for name, array in arrays.items():
            with archive.open(name, "w", force_zip64=True) as member:
                described = npy.header_data_from_array_1_0(array)
                npy.write_array_header_1_0(member, described)
                member.write(array.data)
        with archive.open(_PADDING, "w", force_zip64=True) as member:
            member.write(bytes(max(0, missing)))


def _encoded(name: str, value: Any) -> Any:
    """`plain_values.encode`, with an error that names the value."""
    try:
        return plain_values.encode(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be written: {error}.") from error


def is_binary(path: str | PathLike[str]) -> bool:
    """Whether the first bytes of a file are those of `write`, or of LightGBM."""
    with open(path, "rb") as file:
        return file.read(len(_LIGHTGBM)).startswith((_ZIP, _LIGHTGBM))


def read(
    path: str | PathLike[str], n_threads: int = 1, memory: Memory = IN_MEMORY
) -> tuple[BinnedDataset, dict[str, Any]]:
    """Read a file of `write`; the values of fields are not checked.

    If the ``memory`` of arrays is in files, the bins are mapped from this file.
    ValueError if the file is not one of `write`, or is damaged. ImportError if fields
    hold values of pandas, and it is not installed.
    """
    with disk.errors_name_file(path), open(path, "rb") as file:
        size = file.seek(0, 2)
        _check_ends(file, size)
        try:
            sections = _sections(file, size, memory.folder is not None)
        except _DAMAGE as error:
            raise ValueError(f"the file is damaged: {error}") from error
        binned = binned_state.restored(
            sections["data"], max_claim=size, n_threads=n_threads, memory=memory
        )
        return binned, sections["fields"]


def _check_ends(file: BinaryIO, size: int) -> None:
    """Check the first and last bytes of a file of ``size`` bytes.

    They say whether `write` has made it, and whether it is complete.
    """
    file.seek(0)
    first = file.read(len(_LIGHTGBM))
    if not first:
        raise ValueError("the file is empty")
    if first == _LIGHTGBM:
        raise ValueError(
            "the file holds binned data of LightGBM, which only LightGBM reads. Make"
            " the data set from the original data."
        )
    file.seek(max(0, size - _END_SIZE))
    if not first.startswith(_ZIP) or file.read(4) != _ZIP_END:
        raise ValueError("the file holds no binned data of skgoss, or is cut off")


def _sections(file: BufferedReader, size: int, is_mapped: bool) -> Sections:
    """Read all members of a file of ``size`` bytes, with their arrays.

    ``is_mapped``: arrays of bytes stay in the file.
    """
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        _check_members(members, size)
        sections = _read_json(archive.read(_JSON))
    for member in members:
        section, _, name = member.filename.removesuffix(".npy").partition("/")
        if member.filename in (_JSON, _PADDING):
            continue
        if section not in sections or name in sections[section]:
            raise ValueError(f"the file must have no member {member.filename!r}")
        sections[section][name] = _array(file, member, is_mapped)
    return sections


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Check that members differ, are not compressed, and do not overlap.

    Then they take no more memory than the file has bytes.
    """
    names = [member.filename for member in members]
    if _JSON not in names:
        raise ValueError("the file holds no binned data of skgoss")
    if len(set(names)) != len(names):
        raise ValueError("the members of the file must have different names")
    for member in members:
        if member.compress_type or member.compress_size != member.file_size:
            raise ValueError(f"{member.filename} must not be compressed")
        size -= member.file_size
    if size < 0 or min(member.header_offset for member in members) < 0:
        raise ValueError("the members of the file overlap")


def _read_json(content: bytes) -> Sections:
    """The dicts of the sections, which still lack their arrays."""
    try:
        header = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_OWNER} cannot be read: {error}") from error
    if entries(header, {"version": int}, _OWNER) != [_VERSION]:
        raise ValueError(
            "the file was written by another version of skgoss, which this one cannot"
            " read. Update skgoss, or make the file again."
        )
    sections = entries(plain_values.decode(header, _OWNER), _SECTIONS, _OWNER)
    if not all(isinstance(name, str) for section in sections for name in section):
        raise ValueError(f"{_OWNER} must hold names that are strings")
    return dict(zip(_SECTIONS, sections, strict=True))


def _array(
    file: BufferedReader, member: zipfile.ZipInfo, is_mapped: bool
) -> NDArray[Any]:
    """The array of a member, whose header is checked before memory is allocated.

    It is read by the layout of zip archives (a local header of 30 bytes, a name, an
    extra field) and of NumPy's files (10 bytes, a header, the values). `ZipFile.open`
    and `numpy.lib.format` would make a copy and a checksum, which take as long as all
    other work. ``is_mapped``: arrays of bytes are mapped, not read.
    """
    name = member.filename
    file.seek(member.header_offset)
    signature, *lengths = struct.unpack("<4s22xHH", file.read(30))
    file.seek(sum(lengths), 1)
    magic, length = struct.unpack("<8sH", file.read(10))
    described = _NPY_HEADER.fullmatch(file.read(length))
    if (signature, magic) != (_ZIP, npy.magic(1, 0)) or described is None:
        raise ValueError(f"{name} does not begin like an array of NumPy")
    dtype, shape = described[1].decode(), [*map(int, re.findall(rb"\d+", described[2]))]
    if not _DTYPE.fullmatch(dtype):
        raise ValueError(f"{name} has the dtype {dtype!r}, which is not known")
    kind = np.dtype(dtype)
    if math.prod(shape) * kind.itemsize != member.file_size - 10 - length:
        raise ValueError(f"{name} has the shape {shape!r}, which is impossible")
    if is_mapped and kind == np.uint8 and math.prod(shape) > 0:
        # Bytes need no alignment.
        return np.memmap(file, kind, "r", file.tell(), tuple(shape))
    array = np.empty(shape, kind)
    content = array.reshape(-1).view(np.uint8)
    if file.readinto(content.data) != len(content):
        raise ValueError(f"the file is cut off in {name}")
    if kind.kind == "b" and content.max(initial=0) > 1:
        raise ValueError(f"{name} holds bytes that are neither True nor False")
    return array.astype(kind.newbyteorder("="), copy=False)
