"""The bins of training rows, column by column."""

import numpy as np

from skgoss._engine.binning.store import BinStore


def test_a_feature_lies_alone_shares_a_column_or_is_a_list():
    store = BinStore(
        n_bins=np.array([3, 2, 3, 300, 4], np.int32),
        default_bin=np.array([-1, 0, 1, -1, 2], np.int32),
        column=np.array([0, 1, 1, 2, -1], np.int32),
        first_code=np.array([0, 1, 2, 0, 0], np.int32),
        bytes=np.array([[0, 1, 2, 1], [0, 1, 2, 3]], np.uint8),
        shorts=np.array([[299, 0, 5, 7]], np.uint16),
        sparse_start=np.array([0, 0, 0, 0, 0, 2], np.int64),
        sparse_rows=np.array([1, 3], np.uint32),
        bin_start=np.array([0, 0, 0, 0, 0, 2], np.int64),
        sparse_bins=np.array([2, 0], np.uint16),
    )
    assert [store.bins(j).tolist() for j in range(5)] == [
        [0, 1, 2, 1],
        [0, 1, 0, 0],
        [1, 1, 0, 2],
        [299, 0, 5, 7],
        [2, 3, 2, 0],
    ]
