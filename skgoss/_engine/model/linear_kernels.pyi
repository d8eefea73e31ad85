# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def fit(
    address: NDArray[np.uint64], stride: NDArray[np.int64],
    start_inout: NDArray[np.int64], feature_inout: NDArray[np.int32],
    row_start: NDArray[np.int64], rows: NDArray[np.uint32],
    gradient: NDArray[np.float32], hessian: NDArray[np.float32] | None,
    weight: NDArray[np.float64] | None, leaf_value: NDArray[np.float64], penalty: float,
    rate: float, self_concordance: float, min_rows: int, n_threads: int,
    score_inout: NDArray[np.float64] | None, constant_out: NDArray[np.float64],
    coefficient_out: NDArray[np.float64], mean_out: NDArray[np.float64],
    lower_out: NDArray[np.float64], upper_out: NDArray[np.float64],
) -> int: ...

def add(
    address: NDArray[np.uint64], stride: NDArray[np.int64], leaf: NDArray[np.int32],
    leaf_start: NDArray[np.int64], start: NDArray[np.int64], feature: NDArray[np.int32],
    coefficient: NDArray[np.float64], constant: NDArray[np.float64],
    lower: NDArray[np.float64], upper: NDArray[np.float64],
    leaf_value: NDArray[np.float64], first_score: int, n_threads: int,
    score_inout: NDArray[np.float64],
) -> None: ...
