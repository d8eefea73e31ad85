# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.bin_search import BinSearch

def count_nonzero(
    columns: object, rows: NDArray[np.int64] | None, position: NDArray[np.int32] | None,
    n_rows: int, limit: int, nan_is_zero: bool, n_threads: int,
    count_out: NDArray[np.int64],
) -> None: ...

def list_columns(
    columns: object, rows: NDArray[np.int64] | None, position: NDArray[np.int32] | None,
    n_rows: int, search: BinSearch, n_threads: int, start_inout: NDArray[np.int64],
    bin_start: NDArray[np.int64] | None, rows_out: NDArray[np.uint32] | None,
    bins_out: NDArray[np.uint16] | None,
) -> bool: ...
