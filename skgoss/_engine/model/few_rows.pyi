# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives.link_kernels import RowLink

class FewRowsPredictor:
    def __init__(
        self, left: NDArray[np.int32], right: NDArray[np.int32],
        feature: NDArray[np.int32], threshold: NDArray[np.float64],
        decision: NDArray[np.uint8], leaf_start: NDArray[np.int64],
        leaf_value: NDArray[np.float64], set_start: NDArray[np.int64],
        set_words: NDArray[np.uint32], n_scores: int,
    ) -> None: ...
    def predict(
        self, columns: object, first_tree: int, stop_tree: int, link: RowLink,
        divisor: float, out: NDArray[np.float64],
    ) -> None: ...
    def leaves(
        self, columns: object, first_tree: int, stop_tree: int,
        leaves_out: NDArray[np.int32],
    ) -> None: ...
