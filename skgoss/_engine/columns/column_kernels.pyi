# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS: dict[str, int]

def locate_all(
    matrix: NDArray[Any], number: int, address_out: NDArray[np.uint64],
    stride_out: NDArray[np.int64], kind_out: NDArray[np.uint8],
) -> None: ...

def locate_appended(
    columns: object, values: NDArray[np.float64], address_out: NDArray[np.uint64],
    stride_out: NDArray[np.int64], kind_out: NDArray[np.uint8],
) -> None: ...

def to_float64(
    columns: object, values_out: NDArray[np.float64],
    numbers: NDArray[np.int64] | None = ...,
) -> None: ...

def locate(
    blocks: list[Any], address_out: NDArray[np.uint64], stride_out: NDArray[np.int64],
    kind_out: NDArray[np.uint8],
) -> None: ...
