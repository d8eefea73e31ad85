"""Columns that lie in the user's memory, of any number and stride."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.reading import Estimator, columns, read, shares
from skgoss import LGBMClassifier
from skgoss._engine.columns import column_kernels as kernels
from skgoss.columns.columns import Columns

KINDS = kernels.KINDS


def fit_columns(X) -> Columns:
    return columns(Estimator(), X, reset=True)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", KINDS)
def test_arrays_of_any_kind_are_read_in_place(dtype, order):
    X = np.array([[0, 1, 2], [1, 0, 100]]).astype(dtype, order=order)
    data = fit_columns(X)
    assert (data.n_rows, data.n_features) == (2, 3)
    np.testing.assert_array_equal(read(data), X.astype(float))
    assert data.kind.tolist() == [KINDS[dtype]] * 3
    assert shares(data, 0, X)
    assert shares(data, 2, X[:, 2])


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
def test_extreme_integers_keep_their_sign(dtype):
    limits = np.iinfo(dtype)
    X = np.array([[limits.min, limits.max]], dtype=dtype)
    np.testing.assert_array_equal(read(fit_columns(X)), X.astype(float))


@pytest.mark.parametrize("start", [2**40, 2**51 - 99, -(2**51)])
def test_large_integers_are_distinguished(start):
    X, y = start + np.arange(100)[:, None], np.arange(100) % 2
    options = {"min_child_samples": 1, "min_data_in_bin": 1, "num_leaves": 100}
    model = LGBMClassifier(n_estimators=50, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: a[::2, 1::3],
        lambda a: a.T,
        lambda a: np.broadcast_to(a[0], (5, 12)),
    ],
)
def test_strides_may_be_anything(view):
    X = view(np.arange(120.0).reshape(10, 12))
    data = fit_columns(X)
    np.testing.assert_array_equal(read(data), X)
    assert shares(data, 0, X)


@pytest.mark.parametrize("dtype", ["float16", "longdouble", ">f8", ">i4", object])
def test_other_numbers_are_converted(dtype):
    X = np.array([[1, 2], [3, 4]]).astype(dtype)
    np.testing.assert_array_equal(read(fit_columns(X)), [[1, 2], [3, 4]])


def test_unaligned_values_are_copied():
    X = np.frombuffer(b"\0" + np.arange(6.0).tobytes(), np.uint8)[1:].view(float)
    np.testing.assert_array_equal(read(fit_columns(X.reshape(3, 2)))[:, 1], [1, 3, 5])


def test_the_owner_keeps_the_memory(polars):
    data = fit_columns(
        polars.DataFrame({"a": [1, None] * 5000, "b": [1.5, 2.5] * 5000})
    )
    expected = np.tile([[1, 1.5], [np.nan, 2.5]], (5000, 1))
    np.testing.assert_array_equal(read(data), expected)
