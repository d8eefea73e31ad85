# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def quantiles(
    score: NDArray[np.float64], weight: NDArray[np.float64], start: NDArray[np.int64],
    center: NDArray[np.float64], scale: NDArray[np.float64],
    needed: NDArray[np.float64], n_threads: int, quantiles_out: NDArray[np.float64],
) -> None: ...
