"""Bins of rows that several processes hold are those of all rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.parts_of_rows import assert_same_parts, dense, frame, with_nan
from helpers.ranks import deal
from skgoss import LGBMRegressor


def sparse(random, n_rows):
    X = dense(random, n_rows)
    X[random.random(X.shape) < 0.7] = 0.0
    return sp.csr_array(X)


CONTAINERS = {
    "dense": dense,
    "float32": lambda *args: dense(*args).astype(np.float32),
    "whole": lambda *args: dense(*args)[:, [1, 3]].astype(np.int8),
    "NaN": with_nan,
    "CSR": sparse,
    "CSC": lambda *args: sparse(*args).tocsc(),
    "frame": frame,
}


@pytest.mark.parametrize("is_stacked", [False, True])
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
@pytest.mark.parametrize("container", CONTAINERS)
def test_bins_of_parts_are_those_of_all_rows(n_ranks, container, is_stacked):
    random = np.random.default_rng(7)
    n_rows = 700
    X = CONTAINERS[container](random, n_rows)
    y = random.normal(size=n_rows)
    weight = random.choice([0, 0.3, 1.5, 2], n_rows)
    dealt = deal(n_rows, n_ranks, seed=n_ranks)
    for options, given in (
        ({}, {}),
        ({"subsample_for_bin": 200, "max_bin": 15}, {"sample_weight": weight}),
        ({"use_missing": False}, {"sample_weight": np.ones(n_rows)}),
        ({"zero_as_missing": True, "min_child_samples": 1}, {}),
    ):
        assert_same_parts(
            lambda o=options: LGBMRegressor(**o),
            *(X, y, dealt),
            is_stacked=is_stacked,
            **given,
        )


@pytest.mark.parametrize("container", ["frame", "CSR", "dense"])
@pytest.mark.parametrize("n_rows", [3, 40])
def test_few_rows(n_rows, container):
    random = np.random.default_rng(n_rows)
    X, y = CONTAINERS[container](random, n_rows), random.normal(size=n_rows)
    dealt = [{0: np.arange(1)}, {1: np.arange(1, 2)}, {2: np.arange(2, n_rows)}]
    # The first two processes have no row that exists, in turn.
    for weight in (np.ones(n_rows), np.arange(n_rows), np.arange(n_rows) != 1):
        weight = weight.astype(float)
        assert_same_parts(
            lambda: LGBMRegressor(min_child_samples=1, min_data_in_bin=1),
            *(X, y, dealt),
            sample_weight=weight,
        )


@pytest.mark.parametrize("is_stacked", [False, True])
@pytest.mark.parametrize("sparse_columns", [False, True])
def test_many_rows_and_columns_share_places(sparse_columns, is_stacked):
    random = np.random.default_rng(0)
    # As many rows as columns in lists need, but on no process alone.
    X = random.normal(size=(5000, 6)) * (random.random((5000, 6)) < 0.2)
    X = sp.csr_array(X) if sparse_columns else X
    y = random.normal(size=5000)
    _, dataset, _ = assert_same_parts(
        LGBMRegressor, X, y, deal(5000, 3, seed=1), is_stacked=is_stacked
    )
    assert (dataset.storage.default_bin >= 0).all()
