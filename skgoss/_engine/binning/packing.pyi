# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

PIECE: np.dtype[np.void]

def pack_rows(
    columns: NDArray[Any], lane: NDArray[np.int32], radix: NDArray[np.int32],
    n_threads: int, rows_out: NDArray[Any],
) -> None: ...

def pack_entries(
    sparse_start: NDArray[np.int64], sparse_rows: NDArray[np.uint32],
    bin_start: NDArray[np.int64], bins: NDArray[np.uint16], chosen: NDArray[np.int64],
    sparse_hist_bin: NDArray[np.int64], entry_start_out: NDArray[np.int64],
    entries_out: NDArray[np.uint32],
) -> None: ...
