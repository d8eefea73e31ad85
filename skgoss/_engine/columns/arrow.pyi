# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

class Export:
    names: list[Any]
    def __init__(self) -> None: ...
    def locate(
        self, categorical: object, address_out: NDArray[np.uint64],
        stride_out: NDArray[np.int64], kind_out: NDArray[np.uint8],
    ) -> None: ...

def export(frame: object) -> Export | None: ...
