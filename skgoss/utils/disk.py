"""Files that are read as a whole, or replaced as a whole."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import Any, BinaryIO


def name_of(path: Any) -> str:
    """The name of a file; TypeError if the value is not a path."""
    if not isinstance(path, str | bytes | PathLike):
        kind = type(path).__name__
        raise TypeError(f"The file must be a path, a str or pathlib.Path, got {kind}.")
    return os.fspath(path)  # type: ignore[return-value]


def content(path: str | PathLike[str]) -> bytes:
    """The content of a file."""
    with open(name_of(path), "rb") as file:
        return file.read()


def json_contents(value: Any, option: str) -> Any:
    """The contents of a JSON file, or the object that is passed instead of a file.

    ``value`` is that of an option: a path, or any other object, which is returned as it
    is, as are None and "". ValueError if the file cannot be read as JSON. The message
    names the option.
    """
    if not value or not isinstance(value, str | PathLike):
        return value
    try:
        return json.loads(content(value))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{option}: {value!r} cannot be read as JSON. {error}"
        ) from error


@contextmanager
def errors_name_file(path: str | PathLike[str]) -> Iterator[None]:
    """Begin the errors of the `with` body with the name of the file."""
    name = f"{name_of(path)}"
    try:
        yield
    except ValueError as error:
        if str(error).startswith(name):
            raise  # it names this file, or one whose name begins with it
        raise ValueError(f"{name}: {error}") from error


class NoFolderError(FileNotFoundError, ValueError):
    """There is no folder of this name. LightGBM's error is a ValueError here."""


@contextmanager
def atomic_write(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing, which replaces an earlier one only if all succeeds."""
    target = os.path.realpath(name_of(path))
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise NoFolderError(errno.ENOENT, "There is no such folder", folder)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "This is a folder", target)
    if os.path.exists(target) and not os.path.isfile(target):
        # Nothing can take the place of a device or a pipe.
        with open(target, "wb") as file:
            yield file
        return
    draft = os.path.join(folder, f".{name[:100]}.{uuid.uuid4().hex}")
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(draft)
        raise
