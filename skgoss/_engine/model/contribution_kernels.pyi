# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.predict import Predictor

class Explainer:
    def __init__(
        self, predictor: Predictor, leaf_start: NDArray[np.int64],
        leaf_count: NDArray[np.int64], leaf_value: NDArray[np.float64],
        slot: NDArray[np.int32], n_slots: int, with_pairs: bool,
        leaf_models: dict[str, NDArray[Any]] | None = ...,
    ) -> None: ...
    @property
    def expected(self) -> NDArray[np.float64]: ...
    @property
    def pairs(self) -> NDArray[np.int32]: ...
    def run(
        self, columns: object, first_tree: int, stop_tree: int, divisor: float,
        target: NDArray[np.int64], pair_target: NDArray[np.int64],
        constant: NDArray[np.float64], constant_target: NDArray[np.int64],
        n_threads: int, values_out: NDArray[np.float64],
    ) -> None: ...
