# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.store import BinStore
from skgoss._engine.training.forest import Forest

class LeafModelTable:
    def __init__(self, raw: object, leaves: object) -> None: ...

def add_tree(
    store: BinStore, nodes: NDArray[np.void], missing_bin: NDArray[np.int32],
    words: NDArray[np.uint32], leaf_value: NDArray[np.float64], n_threads: int,
    score_inout: NDArray[np.float64], numbers: NDArray[np.uint32] | None = ...,
    leaf_models: LeafModelTable | None = ..., first_leaf: int = ...,
) -> None: ...

def add_trees(
    forest: Forest, first_tree: int, store: BinStore, missing_bin: NDArray[np.int32],
    n_threads: int, scores_inout: NDArray[np.float64],
    numbers: NDArray[np.uint32] | None = ..., leaf_models: LeafModelTable | None = ...,
    base_scores: NDArray[np.float64] | None = ..., are_shared: bool = ...,
) -> None: ...
