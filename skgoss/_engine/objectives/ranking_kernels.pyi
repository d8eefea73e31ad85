# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def discounts(boundaries: NDArray[np.int64]) -> NDArray[np.float64]: ...

def lambdarank(
    scores: NDArray[np.float64], gain: NDArray[np.float64],
    boundaries: NDArray[np.int64], max_dcg: NDArray[np.float64],
    discount: NDArray[np.float64], sigmoid: float, truncation: int, norm: bool,
    n_threads: int, gradient_out: NDArray[np.float32], hessian_out: NDArray[np.float32],
) -> None: ...

def rank_xendcg(
    scores: NDArray[np.float64], gain: NDArray[np.float64],
    boundaries: NDArray[np.int64], first: NDArray[np.int64], seed: int, round: int,
    n_threads: int, gradient_out: NDArray[np.float32], hessian_out: NDArray[np.float32],
) -> None: ...

def dcg(
    scores: NDArray[np.float64], gain: NDArray[np.float64],
    boundaries: NDArray[np.int64], discount: NDArray[np.float64], at: NDArray[np.int64],
    averages: bool, n_threads: int, dcg_out: NDArray[np.float64],
) -> None: ...

def average_precision(
    scores: NDArray[np.float64], relevant: NDArray[np.uint8],
    boundaries: NDArray[np.int64], at: NDArray[np.int64], averages: bool,
    n_threads: int, precision_out: NDArray[np.float64],
) -> None: ...
