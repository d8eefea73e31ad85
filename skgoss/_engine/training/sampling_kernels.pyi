# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def bagging_mask(
    n_rows: int, fraction: float, seed: int, round: int, n_threads: int = ...,
    first: int = ...,
) -> NDArray[np.bool_]: ...

def kept_rows(mask: NDArray[np.bool_], n_threads: int = ...) -> NDArray[np.uint32]: ...

def one_side_keys(
    gradient: NDArray[np.float32], weight: NDArray[np.float64] | None,
) -> NDArray[np.uint32]: ...

def one_side_draws(
    numbers: NDArray[np.uint32], is_top: NDArray[np.bool_], seed: int, round: int,
) -> NDArray[np.uint32]: ...

def one_side_sample(
    gradient: NDArray[np.float32], hessian: NDArray[np.float32],
    weight: NDArray[np.float64] | None, n_top: int, n_other: int, seed: int, round: int,
    n_threads: int, constant_hessian: bool = ...,
    scratch: NDArray[np.uint32] | None = ...,
) -> NDArray[np.uint32]: ...

def count_digits(
    keys: NDArray[np.uint64], start: NDArray[np.int64], low: NDArray[np.uint64],
    shift: int, n_bits: int, weight: NDArray[np.float64] | None = ...,
) -> NDArray[np.int64]: ...

def rows_with_digit(
    keys: NDArray[np.uint64], start: NDArray[np.int64], low: NDArray[np.uint64],
    shift: int, digit: NDArray[np.int64],
) -> NDArray[np.uint32]: ...
