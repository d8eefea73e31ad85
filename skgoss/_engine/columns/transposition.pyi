# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

def count_columns(
    start: NDArray[Any], columns: NDArray[Any], chunk_start: NDArray[np.int64],
    count_out: NDArray[np.int32],
) -> bool: ...

def move_columns(
    start: NDArray[Any], columns: NDArray[Any], values: NDArray[Any],
    chunk_start: NDArray[np.int64], first_column: int, read_inout: NDArray[np.int32],
    next_entry_inout: NDArray[np.int64], entry_stop: NDArray[np.int64],
    rows_out: NDArray[np.int32], values_out: NDArray[Any],
) -> None: ...
