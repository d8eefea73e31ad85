# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

PAIR_OPERATIONS: dict[str, int]
DATE_PARTS: dict[str, int]

def computed_values(
    columns: object, used: NDArray[np.int32], left: NDArray[np.int32],
    right: NDArray[np.int32], operation: NDArray[np.uint8], factor: NDArray[np.float64],
    chosen: NDArray[np.int32], n_threads: int, values_out: NDArray[np.float64],
) -> None: ...
