# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

def occurring(
    codes: NDArray[Any], low: int, n_codes: int, n_threads: int = ...,
) -> NDArray[np.bool_]: ...

def translated(
    codes: NDArray[Any], low: int, table: NDArray[Any], n_threads: int = ...,
) -> NDArray[Any]: ...

def code_range(codes: NDArray[Any], n_threads: int = ...) -> tuple[int, int]: ...
