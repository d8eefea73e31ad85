"""Packages that may be absent, and how versions of pandas differ."""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from importlib import metadata
from types import ModuleType
from typing import Any

import numpy as np


def optional(module: str, user: str, otherwise: str = "") -> ModuleType:
    """Import a module of a package that skgoss does not depend on.

    ImportError if it is not installed. The message says what needs it (``user``), and
    what to do without it (``otherwise``).
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(user, module.partition(".")[0], otherwise=otherwise) from error


def version() -> str:
    """The version of skgoss; '' if the package is not installed."""
    try:
        return metadata.version("skgoss")
    except metadata.PackageNotFoundError:
        return ""


@lru_cache
def cached_version() -> str:
    """The version of skgoss, which takes longer to look up than a small state."""
    return version()


def is_later(other: str) -> bool:
    """Whether another version of skgoss is later than this one.

    What follows the release, as in 1.2.dev3, does not count.
    """
    this = _release(cached_version())
    return bool(this) and _release(other) > this


def _release(text: str) -> list[int]:
    """The numbers at the beginning of a version: [1, 2] of "1.2.dev3"."""
    numbers = re.match(r"\d{1,9}(?:\.\d{1,9})*|", text)
    assert numbers is not None  # it may be empty
    return [int(number) for number in re.findall(r"\d+", numbers[0])]


def missing(user: str, *packages: str, otherwise: str = "") -> ImportError:
    """The error that says what to install. See `optional` for the arguments."""
    return ImportError(
        f"{user} needs {' and '.join(packages)}:"
        f" python -m pip install {' '.join(packages)}{otherwise}"
    )


def pandas_blocks(frame: Any) -> list[tuple[np.ndarray, Any]]:
    """The blocks in which pandas keeps the columns of a frame, which are not copied.

    Of each block, the numbers of its columns, int64; and their values, an ndarray of
    shape (n_columns, n_rows) or the extension array of a single column. Empty if this
    version of pandas has no blocks. `_mgr` is a private attribute of pandas.
    """
    blocks = getattr(frame._mgr, "blocks", ())
    return [(block.mgr_locs.as_array, block.values) for block in blocks]


def pandas_exact_floats(pandas: ModuleType) -> dict[str, Any]:
    """The arguments by which ``read_csv`` reads floats exactly.

    pandas always does since 3.1, where the argument is deprecated.
    """
    major, minor = (int(word) for word in pandas.__version__.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}
