import numpy as np
from numpy.typing import NDArray

class Ranking:
    def __init__(
        self, y: object, score: object, weight: object, n_threads: int,
    ) -> None: ...
def scores_by_range(
    y: NDArray[np.float64], score: NDArray[np.float64], splitters: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
def ordered_pairs(
    y: NDArray[np.float64], score: NDArray[np.float64], n_threads: int,
) -> tuple[int, int, int]: ...
def share_of_pairs(pairs: int, n_positive: int, n_negative: int) -> float: ...
def auc(
    y: NDArray[np.float64], score: NDArray[np.float64],
    weight: NDArray[np.float64] | None, n_threads: int,
) -> float: ...
def average_precision(
    y: NDArray[np.float64], score: NDArray[np.float64],
    weight: NDArray[np.float64] | None, n_threads: int,
) -> float: ...
