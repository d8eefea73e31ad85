import numpy as np
from numpy.typing import NDArray

LOSSES: dict[str, int]
VALUES: dict[str, int]
DISTRIBUTIONS: dict[str, int]
def pointwise(
    loss: int, scores: NDArray[np.float64], y: NDArray[np.float64], a: float, b: float,
    n_threads: int, gradient_out: NDArray[np.float32],
    hessian_out: NDArray[np.float32] | None,
) -> None: ...
def cross_entropy_lambda(
    scores: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64],
    n_threads: int, gradient_out: NDArray[np.float32], hessian_out: NDArray[np.float32],
) -> None: ...
def softmax_rows_per_block(n_classes: int) -> int: ...
def softmax(
    scores: NDArray[np.float64], y: NDArray[np.float64], factor: float,
    work: NDArray[np.float64], n_threads: int, gradient_out: NDArray[np.float32],
    hessian_out: NDArray[np.float32],
) -> None: ...
def distribution(
    kind: int, scores: NDArray[np.float64], y: NDArray[np.float64],
    n_threads: int, gradient_out: NDArray[np.float32], hessian_out: NDArray[np.float32],
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
