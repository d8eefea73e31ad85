# `python tools/stubs.py` writes this file.

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LOSSES: dict[str, int]
VALUES: dict[str, int]
DISTRIBUTIONS: dict[str, int]

class Loss:
    def __call__(
        self, scores: NDArray[np.float64], gradient_out: NDArray[np.float32],
        hessian_out: NDArray[np.float32] | None, n_threads: int,
    ) -> None: ...

class Pointwise(Loss):
    def __init__(
        self, name: str, y: NDArray[np.float64],
        parameters: Sequence[tuple[float, float]],
    ) -> None: ...

class Intensity(Loss):
    def __init__(self, y: NDArray[np.float64], weight: NDArray[np.float64]) -> None: ...

class Softmax(Loss):
    def __init__(self, y: NDArray[np.float64]) -> None: ...

def distribution(
    kind: int, scores: NDArray[np.float64], y: NDArray[np.float64], n_threads: int,
    gradient_out: NDArray[np.float32], hessian_out: NDArray[np.float32],
) -> None: ...

def limit_slopes(
    score: NDArray[np.float64], limit: float, threshold: float, replacement: float,
    slope_inout: NDArray[np.float32],
) -> None: ...

def likelihoods(
    kind: int, y: NDArray[np.float64], scores: NDArray[np.float64],
    losses_out: NDArray[np.float64],
) -> None: ...

def sum_values(
    kind: int, y: NDArray[np.float64], prediction: NDArray[np.float64],
    weight: NDArray[np.float64] | None, parameter: float, n_threads: int,
) -> NDArray[np.int64]: ...

def sum_by_class(
    y: NDArray[np.float64], prediction: NDArray[np.float64],
    weight: NDArray[np.float64] | None, top_k: int, n_threads: int,
) -> NDArray[np.int64]: ...

def sum_by_distribution(
    kind: int, y: NDArray[np.float64], scores: NDArray[np.float64],
    weight: NDArray[np.float64] | None, n_threads: int,
) -> NDArray[np.int64]: ...
