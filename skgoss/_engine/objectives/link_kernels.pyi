# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

LINKS: dict[str, int]

def apply(
    kind: int, scores: NDArray[np.float64], slope: float, n_threads: int,
    predictions_out: NDArray[np.float64],
) -> None: ...

def largest(
    values: NDArray[np.float64], n_threads: int, number_out: NDArray[np.int64],
) -> None: ...

class RowLink:
    width: int
    def __init__(self, parts: list[Any], both: bool) -> None: ...
    def apply(
        self, scores: NDArray[np.float64], divisor: float, n_threads: int,
        out: NDArray[np.float64],
    ) -> None: ...
