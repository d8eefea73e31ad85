# `python tools/stubs.py` writes this file.

from typing import Any

import numpy as np
from numpy.typing import NDArray

def first_fit(
    start: NDArray[np.int64], rows: NDArray[np.uint32], n_rows: int,
    order: NDArray[np.intp], max_conflicts: int, n_codes: NDArray[np.int32],
    max_codes: int, max_passes: int = ...,
) -> NDArray[np.int32]: ...

def recent_fit(
    start: NDArray[np.int64], rows: NDArray[np.uint32], n_rows: int, max_conflicts: int,
    n_codes: NDArray[np.int32], max_codes: int, n_threads: int = ...,
) -> NDArray[np.int32]: ...

def conflict_degrees(
    start: NDArray[np.int64], rows: NDArray[np.uint32], n_rows: int, budget: int = ...,
) -> NDArray[np.int64] | None: ...

def max_row_columns(
    start: NDArray[np.int64], rows: NDArray[np.uint32], n_rows: int,
) -> int: ...

def find_bundles(
    start: NDArray[np.int64], rows: NDArray[np.uint32], n_rows: int,
    n_codes: NDArray[np.int32], max_conflict_rate: float, max_codes: int,
    max_passes: int = ..., n_threads: int = ...,
) -> NDArray[np.int32]: ...

def have_bins(
    start: NDArray[np.int64], bin_start: NDArray[np.int64], n_bins: NDArray[np.int32],
) -> NDArray[np.bool_]: ...

def merge_bundles(
    start: NDArray[np.int64], rows: NDArray[np.uint32], bin_start: NDArray[np.int64],
    bins: NDArray[np.uint16], member_start: NDArray[np.int64],
    members: NDArray[np.int32], first_code: NDArray[np.int32], codes_out: NDArray[Any],
    n_threads: int = ...,
) -> None: ...
