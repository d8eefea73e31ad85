# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

def gather_columns(
    columns: NDArray[Any], rows: NDArray[np.int64], n_threads: int,
    taken_out: NDArray[Any],
) -> None: ...

def gather_sparse_columns(
    start: NDArray[np.int64], sparse_rows: NDArray[np.uint32],
    bin_start: NDArray[np.int64], bins: NDArray[np.uint16], position: NDArray[np.int32],
    n_threads: int,
) -> tuple[
    NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint16]
]: ...
