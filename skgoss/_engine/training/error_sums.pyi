# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def error_sums(
    slope: NDArray[np.float64], curve: NDArray[np.float64],
    visible: NDArray[np.float64], change: NDArray[np.float64],
    weight: NDArray[np.float64] | None = ...,
) -> NDArray[np.int64]: ...
