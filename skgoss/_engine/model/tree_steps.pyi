# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.predict import Predictor

class TreeSteps:
    def __init__(
        self, predictor: Predictor, leaf_start: NDArray[np.int64],
        leaf_count: NDArray[np.int64], leaf_value: NDArray[np.float64],
        slot: NDArray[np.int32], n_slots: int, with_pairs: bool, leaf_models: object,
    ) -> None: ...
