# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

def count_categories(
    columns: object, rows: NDArray[np.int64] | None, weight: NDArray[np.float64] | None,
    n_rows: int, first: NDArray[np.int64], n_threads: int, count_out: NDArray[np.int64],
    mass_out: NDArray[np.float64],
) -> None: ...

def bin_categories(
    columns: object, rows: NDArray[np.int64] | None, bin_of: NDArray[np.uint16],
    first: NDArray[np.int64], n_threads: int, bins_out: NDArray[Any],
) -> None: ...
