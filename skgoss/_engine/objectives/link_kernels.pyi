import numpy as np
from numpy.typing import NDArray

LINKS: dict[str, int]
def apply(
    kind: int, scores: NDArray[np.float64], slope: float, n_threads: int,
    predictions_out: NDArray[np.float64],
) -> None: ...
def both_classes(
    positive: NDArray[np.float64], n_threads: int, both_out: NDArray[np.float64],
) -> None: ...
