# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

NODE: np.dtype[np.void]
LEAF: np.dtype[np.void]

def categories_of_bins(
    words: NDArray[np.uint32], first_word: NDArray[np.int64],
    last_word: NDArray[np.int64], categories: NDArray[np.int32],
    first_bin: NDArray[np.int64], n_bins: NDArray[np.int64], start: NDArray[np.int64],
    n_threads: int, words_out: NDArray[np.uint32],
) -> None: ...

class Forest:
    n_leaves: int
    n_trees: int
    def __init__(self) -> None: ...
    def copy(self, first_tree: int = ..., stop_tree: int | None = ...) -> Forest: ...
    def drop(self, n_trees: int) -> None: ...
    def arrays(
        self,
    ) -> tuple[
        NDArray[np.void], NDArray[np.void], NDArray[np.int64], NDArray[np.uint32]
    ]: ...
    def set_leaf_value(self, tree: int, leaf: int, value: float) -> None: ...
    def set_leaf_values(self, tree: int, value: NDArray[np.float64]) -> None: ...
