from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", np.float32, np.float64)

def occurring(
    codes: NDArray[np.signedinteger[Any]], low: int, n_codes: int, n_threads: int = ...
) -> NDArray[np.bool_]: ...
def translated(
    codes: NDArray[np.signedinteger[Any]], low: int, table: NDArray[_Number],
    n_threads: int = ...,
) -> NDArray[_Number]: ...
def ends(
    codes: NDArray[np.signedinteger[Any]], n_threads: int = ...
) -> tuple[int, int]: ...
