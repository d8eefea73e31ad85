# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def exact_sum(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None = ...,
) -> NDArray[np.int64]: ...

def rounded(total: NDArray[np.int64]) -> float: ...

def weighted_sum(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None = ...,
    collectives: object = ...,
) -> float: ...
