# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives.link_kernels import RowLink

class Predictor:
    def __init__(
        self, left: NDArray[np.int32], right: NDArray[np.int32],
        threshold: NDArray[np.float64], column: NDArray[np.int32],
        byte_column: NDArray[np.int32], bits: NDArray[np.uint8],
        limit: NDArray[np.uint8], leaf_start: NDArray[np.int64],
        leaf_value: NDArray[np.float64], slot_feature: NDArray[np.int32],
        slot_missing: NDArray[np.uint8], slot_column: NDArray[np.int32],
        slot_byte_column: NDArray[np.int32], slot_start: NDArray[np.int64],
        slot_threshold: NDArray[np.float64], slot_set: NDArray[np.int64],
        set_start: NDArray[np.int64], set_words: NDArray[np.uint32],
        slot_bit: NDArray[np.uint8], outside_start: NDArray[np.int64],
        n_byte_columns: int, n_scores: int,
    ) -> None: ...
    def predict(
        self, columns: object, first_tree: int, stop_tree: int, link: RowLink,
        divisor: float, n_threads: int, out: NDArray[np.float64],
    ) -> None: ...
    def ranked(
        self, columns: object, n_rows: int, n_threads: int,
    ) -> NDArray[np.uint8]: ...
    def add_ranked(
        self, bytes: NDArray[np.uint8], first_tree: int, stop_tree: int, n_threads: int,
        scores_inout: NDArray[np.float64],
    ) -> None: ...
    def leaves(
        self, columns: object, first_tree: int, stop_tree: int, n_threads: int,
        leaves_out: NDArray[np.int32],
    ) -> None: ...
