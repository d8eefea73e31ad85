# `python tools/stubs.py` writes this file.

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

class StoreArrays(NamedTuple):
    n_bins: NDArray[np.int32]
    default_bin: NDArray[np.int32]
    column: NDArray[np.int32]
    first_code: NDArray[np.int32]
    bytes: NDArray[np.uint8]
    shorts: NDArray[np.uint16]
    sparse_start: NDArray[np.int64]
    sparse_rows: NDArray[np.uint32]
    bin_start: NDArray[np.int64]
    sparse_bins: NDArray[np.uint16]

class BinStore:
    n_rows: int
    n_features: int
    has_sparse: bool
    def __init__(
        self, n_bins: NDArray[np.int32], default_bin: NDArray[np.int32],
        column: NDArray[np.int32], first_code: NDArray[np.int32],
        bytes: NDArray[np.uint8], shorts: NDArray[np.uint16],
        sparse_start: NDArray[np.int64], sparse_rows: NDArray[np.uint32],
        bin_start: NDArray[np.int64], sparse_bins: NDArray[np.uint16],
    ) -> None: ...
    @property
    def arrays(self) -> StoreArrays: ...
    def take(
        self, rows: NDArray[np.int64], n_threads: int, empty: object,
    ) -> BinStore: ...
    def bins(self, feature: int) -> NDArray[np.uint8] | NDArray[np.uint16]: ...
