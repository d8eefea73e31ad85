# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def residual_percentiles(
    y: NDArray[np.float64], score: NDArray[np.float64], start: NDArray[np.int64],
    rows: NDArray[np.int64], level: float, n_threads: int,
) -> NDArray[np.float64]: ...
