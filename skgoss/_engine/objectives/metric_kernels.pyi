# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

class Ranking:
    def __init__(
        self, y: object, score: object, weight: object, n_threads: int,
    ) -> None: ...

def auc(
    y: NDArray[np.float64], score: NDArray[np.float64],
    weight: NDArray[np.float64] | None, n_threads: int,
) -> float: ...

def average_precision(
    y: NDArray[np.float64], score: NDArray[np.float64],
    weight: NDArray[np.float64] | None, n_threads: int,
) -> float: ...

def concordant_weights(
    rows: NDArray[np.int64], is_query: NDArray[np.uint8], begins: NDArray[np.uint8],
    rank: NDArray[np.int64], weight: NDArray[np.float64],
) -> tuple[float, float, float]: ...
