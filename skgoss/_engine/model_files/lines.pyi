# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

def find(
    text: bytes, keys: list[Any], start_out: NDArray[np.int64],
    stop_out: NDArray[np.int64], key_out: NDArray[np.int64],
    value_out: NDArray[np.int64], n_items_out: NDArray[np.int64],
) -> int: ...
