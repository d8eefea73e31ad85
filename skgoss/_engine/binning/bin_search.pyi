# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

class BinSearch:
    def __init__(
        self, bounds: NDArray[np.float64], bounds_start: NDArray[np.int64],
        n_bounds: NDArray[np.int64], first_start: NDArray[np.int64],
        nan_bin: NDArray[np.int32], zero_bin: NDArray[np.int32],
    ) -> None: ...

def bin_columns(
    columns: object, rows: NDArray[np.int64] | None, search: BinSearch, n_threads: int,
    columns_out: NDArray[Any],
) -> None: ...
