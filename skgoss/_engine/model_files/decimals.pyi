# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS: dict[str, int]

def read_floats(
    text: bytes, start: NDArray[np.int64], stop: NDArray[np.int64], kind: int,
    values_out: NDArray[np.float64],
) -> int: ...

def read_ints(
    text: bytes, start: NDArray[np.int64], stop: NDArray[np.int64],
    values_out: NDArray[np.int64],
) -> int: ...

def joined(values: NDArray[Any], start: NDArray[np.int64]) -> list[str]: ...
