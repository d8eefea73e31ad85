# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

def drawn_rows(
    bit_generator: np.random.BitGenerator, n: int, size: int,
) -> NDArray[np.int64]: ...
