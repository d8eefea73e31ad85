# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

OPERATIONS: dict[str, int]

def pair_values(
    columns: object, used: NDArray[np.int32], left: NDArray[np.int32],
    right: NDArray[np.int32], operation: NDArray[np.uint8], factor: NDArray[np.float64],
    chosen: NDArray[np.int32], n_threads: int, values_out: NDArray[np.float64],
) -> None: ...
