# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def best_categories(
    gradient: NDArray[np.int64], hessian: NDArray[np.int64], count: NDArray[np.int32],
    settings: object, unit: float = ...,
) -> tuple[float, NDArray[np.bool_]]: ...
