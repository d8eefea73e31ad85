# `python tools/stubs.py` writes this file.

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.forest import Forest

MAX_ROWS: int
MAX_DRAWS: int

class TreeGrower:
    forest: Forest
    score_unit: NDArray[np.float64]
    def __init__(
        self, dataset: object, settings: object, n_scores: int, n_threads: int,
        forest: Forest | None = ..., constraints: object = ...,
        frequency: NDArray[np.uint32] | None = ...,
        self_concordance: float | NDArray[np.float64] = ..., partition: object = ...,
        min_shared_hist_bins: int = ..., reweighted: bool | NDArray[np.bool_] = ...,
        raw: object = ..., row_weight: NDArray[np.float64] | None = ...,
        missing_left_if_none: bool = ..., score_unit: NDArray[np.float64] | None = ...,
    ) -> None: ...
    def grow(
        self, gradient: NDArray[np.float32], hessian: NDArray[np.float32] | None,
        weight: NDArray[np.float64] | None, rows: NDArray[np.uint32] | None,
        scores: NDArray[np.float64] | None, round_index: int,
        extra_l2: NDArray[np.float64] | None = ..., leaf_models: list[Any] | None = ...,
    ) -> bool: ...
    def grow_rounds(
        self, derive: Callable[..., None], sample: Callable[..., Any] | None,
        gradient: NDArray[np.float32], hessian: NDArray[np.float32] | None,
        weight: NDArray[np.float64] | None, scores: NDArray[np.float64],
        round_index: int, n_rounds: int, evaluation_rows: Sequence[Any] = ...,
        evaluation_scores: Sequence[Sequence[NDArray[np.float64]]] = ...,
        check: Callable[[], None] | None = ..., leaf_models: list[Any] | None = ...,
    ) -> tuple[int, bool]: ...
    def add_by_leaf(self, scores_inout: NDArray[np.float64]) -> None: ...
    def rows_by_leaf(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
