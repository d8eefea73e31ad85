# `python tools/stubs.py` writes this file.

import numpy as np
from numpy.typing import NDArray

NO_MISSING: int
ZERO_IS_MISSING: int
NAN_IS_MISSING: int
NAN_IS_UNSEEN: int
ZERO_BOUND: float

def scratch_size(
    n_features: int, n_threads: int, n_values: int, weighted: bool,
) -> int: ...

def find_bounds(
    columns: object, rows: NDArray[np.int64] | None, position: NDArray[np.int32] | None,
    weight: NDArray[np.float64] | None, has_nan: NDArray[np.uint8] | None, n_rows: int,
    max_bin: int, min_data_in_bin: int, use_missing: bool, zero_as_missing: bool,
    forced_start: NDArray[np.int64], forced_bound: NDArray[np.float64],
    forced_rank: NDArray[np.int32], n_threads: int, bounds_start: NDArray[np.int64],
    room: int, scratch_out: NDArray[np.uint64], bounds_out: NDArray[np.float64],
    n_bounds_out: NDArray[np.int32], missing_type_out: NDArray[np.uint8],
    n_occupied_out: NDArray[np.int32], range_out: NDArray[np.float64],
    zero_share_out: NDArray[np.float64],
) -> None: ...

def find_nan(
    columns: object, rows: NDArray[np.int64] | None, position: NDArray[np.int32] | None,
    n_rows: int, n_threads: int, found_out: NDArray[np.uint8],
) -> None: ...
