"""Sparse matrices are read as they are, and broken ones are refused, never followed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from helpers.reading import Estimator, columns
from skgoss import LGBMRegressor
from skgoss._engine.columns import column_kernels as kernels
from skgoss.columns.columns import Columns

TESTS = Path(__file__).parents[1]
FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]
NUMBERS = ["float16", "float32", "float64", "longdouble", "bool", ">f4", ">f8", object]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def fit_columns(X) -> Columns:
    return columns(Estimator(), X, reset=True)


def read(X) -> np.ndarray:
    data = fit_columns(X)
    values = np.empty((data.n_features, data.n_rows))
    kernels.to_float64(data, values)
    return values.T


def dense(n_rows: int = 40, n_columns: int = 12, seed: int = 0) -> np.ndarray:
    """Small integers, three quarters of them zero, and an empty row and column."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 9, (n_rows, n_columns)) * (
        rng.random((n_rows, n_columns)) < 0.3
    )
    X[n_rows // 2] = 0
    X[:, n_columns // 2] = 0
    return X.astype(float)


def parts(X) -> list[np.ndarray]:
    names = ("data", "indices", "indptr", "row", "col", "offsets")
    return [getattr(X, name).copy() for name in names if hasattr(X, name)]


@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("format_", FORMATS)
def test_all_formats_hold_the_same(format_, container):
    X = getattr(sparse, f"{format_}_{container}")(dense())
    before = X.copy()
    np.testing.assert_array_equal(read(X), dense())
    assert X.format == format_
    assert (before != X).nnz == 0


@pytest.mark.parametrize("dtype", NUMBERS + INTEGERS, ids=str)
@pytest.mark.parametrize("format_", ["csr", "csc"])
def test_all_numbers_hold_the_same(format_, dtype):
    X = getattr(sparse, f"{format_}_array")(dense())
    X.data = X.data.astype(dtype)
    np.testing.assert_array_equal(read(X), dense().astype(dtype).astype(float))


@pytest.mark.parametrize(
    "dtype", ["int32", "int64", "uint32", "uint64", ">i4", "int16"]
)
@pytest.mark.parametrize("format_", ["csr", "csc"])
def test_all_indices_name_the_same(format_, dtype):
    X = getattr(sparse, f"{format_}_array")(dense())
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    np.testing.assert_array_equal(read(X), dense())
    assert X.indices.dtype == dtype


def test_columns_are_read_in_place():
    X = sparse.csc_array(dense().astype(np.float32))
    data = fit_columns(X)
    assert int(data.address[0]) == X.data.__array_interface__["data"][0]
    assert int(data.index[0]) == X.indices.__array_interface__["data"][0]
    assert data.length.tolist() == np.diff(X.indptr).tolist()
    assert set(data.kind.tolist()) == {kernels.KINDS["float32"]}
    assert set(data.stride.tolist()) == {4}


def test_stored_zeros_nan_and_infinities_are_kept():
    values = np.array([0.0, np.nan, np.inf, -np.inf, -0.0, 1.0])
    X = sparse.csr_array((values, ([0, 1, 2, 0, 1, 2], [0, 0, 0, 2, 2, 2])), (4, 3))
    expected = [[0, 0, -np.inf], [np.nan, 0, 0], [np.inf, 0, 1], [0, 0, 0]]
    np.testing.assert_array_equal(read(X), expected)
    assert fit_columns(X).length.tolist() == [3, 0, 3]


@pytest.mark.parametrize("format_", ["csr", "csc", "coo"])
def test_duplicates_are_summed(format_):
    values, rows, columns_ = (
        [1.0, 2, 4, 8, 16, 32],
        [1, 1, 0, 1, 2, 0],
        [1, 1, 0, 0, 1, 0],
    )
    if format_ == "coo":
        X = sparse.coo_array((values, (rows, columns_)), shape=(3, 2))
    else:
        major, minor = (rows, columns_) if format_ == "csr" else (columns_, rows)
        order = np.argsort(major, kind="stable")
        ends = np.cumsum(np.bincount(major, minlength=3 if format_ == "csr" else 2))
        X = getattr(sparse, f"{format_}_array")(
            (np.take(values, order), np.take(minor, order), np.r_[0, ends]),
            shape=(3, 2),
        )
    # A matrix may claim what is not so.
    X.has_canonical_format = True
    before = parts(X)
    np.testing.assert_array_equal(read(X), [[36, 0], [8, 3], [0, 16]])
    for old, new in zip(before, parts(X), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("format_", ["csr", "csc"])
def test_indices_in_any_order(format_):
    X = getattr(sparse, f"{format_}_array")(dense())
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:stop] = X.indices[start:stop][::-1]
        X.data[start:stop] = X.data[start:stop][::-1]
    X.has_sorted_indices = True
    before = parts(X)
    np.testing.assert_array_equal(read(X), dense())
    for old, new in zip(before, parts(X), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("format_", ["csr", "csc"])
def test_more_room_than_values_is_fine(format_):
    X = getattr(sparse, f"{format_}_array")(dense())
    X.data, X.indices = np.r_[X.data, 7.0, 7.0], np.r_[X.indices, 0, 1]
    np.testing.assert_array_equal(read(X), dense())
    assert len(X.data) == X.nnz + 2


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_stored(format_):
    X = getattr(sparse, f"{format_}_array")((5, 3))
    np.testing.assert_array_equal(read(X), np.zeros((5, 3)))


@pytest.mark.parametrize("format_", ["csr", "csc"])
def test_read_only_and_strided_parts(format_):
    X = getattr(sparse, f"{format_}_array")(dense())
    X.data, X.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2]
    for values in (X.data, X.indices, X.indptr):
        values.flags.writeable = False
    np.testing.assert_array_equal(read(X), dense())


def test_nothing_is_made_dense():
    """Half a terabyte, were it dense."""
    n_rows, n_columns = 500_000, 1_000_000
    X = sparse.coo_array(
        ([1.0, 2.0], ([0, n_rows - 1], [7, n_columns - 1])), (n_rows, n_columns)
    )
    data = fit_columns(X.tocsr())
    assert data.length.sum() == 2
    assert data.length[[7, n_columns - 1]].tolist() == [1, 1]


def test_counts_are_set_and_checked():
    estimator = Estimator()
    columns(estimator, sparse.csr_array(dense()), reset=True)
    assert estimator.n_features_in_ == 12
    with pytest.raises(
        ValueError, match="X has 11 features, but Estimator is expecting"
    ):
        columns(estimator, sparse.csr_array(dense()[:, :11]), reset=False)
    with pytest.raises(ValueError, match="0 sample"):
        fit_columns(sparse.csr_array((0, 3)))
    with pytest.raises(ValueError, match="0 feature"):
        fit_columns(sparse.csr_array((3, 0)))


def test_sparse_data_frames():
    X = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(dense()))
    X.columns = [f"c{j}" for j in range(12)]
    np.testing.assert_array_equal(read(X), dense())
    X[X.columns[0]] = pd.arrays.SparseArray(dense()[:, 0].astype(int), fill_value=1)
    np.testing.assert_array_equal(read(X), dense())


def test_columns_of_categories():
    X = dense().clip(0)
    data = [
        columns(Estimator(), matrix, reset=True, categorical_feature=[0, 3, 6])
        for matrix in (X, sparse.csr_array(X), sparse.csc_array(X))
    ]
    values = [np.empty((12, 40)) for _ in data]
    for one, out in zip(data, values, strict=True):
        kernels.to_float64(one, out)
        np.testing.assert_array_equal(one.n_categories, data[0].n_categories)
        np.testing.assert_array_equal(out, values[0])


def broken(format_: str, **changes) -> sparse.sparray:
    X = getattr(sparse, f"{format_}_array")(dense())
    for name, change in changes.items():
        setattr(X, name, change(getattr(X, name)))
    return X


def put(place: int, value: int):
    def change(values: np.ndarray) -> np.ndarray:
        values = values.copy()
        values[place] = value
        return values

    return change


@pytest.mark.parametrize("format_", ["csr", "csc"])
@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("indptr", put(0, 1), "indptr begins with 1 instead of 0"),
        ("indptr", put(3, 0), "indptr decreases"),
        ("indptr", put(1, -1), r"indptr holds values outside 0\.\."),
        ("indptr", put(-1, 10**9), r"indptr holds values outside 0\.\."),
        ("indptr", lambda v: v[:-1], r"indptr has \d+ entries instead of \d+"),
        ("indptr", lambda v: np.r_[v, v[-1]], r"indptr has \d+ entries instead of \d+"),
        ("indptr", lambda v: v[:0], r"indptr has 0 entries"),
        ("indptr", lambda v: v.astype(float), "indptr holds float64 values"),
        ("indptr", lambda v: v[None], "indptr is not an array of 1 dim"),
        ("indptr", lambda v: v.tolist(), "indptr is not an array"),
        ("indices", put(2, -1), r"indices holds values outside 0\.\."),
        ("indices", put(2, 40), r"indices holds values outside 0\.\."),
        ("indices", lambda v: v[:-1], "indices has"),
        ("indices", lambda v: v.astype(float), "indices holds float64 values"),
        ("indices", lambda v: None, "indices is not an array"),
        ("data", lambda v: v[:-3], "indices has .* but data has"),
        ("data", lambda v: v[:, None], "data is not an array of 1 dim"),
        ("data", lambda v: None, "data is not an array"),
        ("data", lambda v: v.astype(str), "X holds <U32 values, and only numbers"),
        ("data", lambda v: v.astype(complex), "Complex data not supported"),
        ("data", lambda v: np.full(len(v), "a", object), "could not convert string"),
        ("data", lambda v: v.astype("M8[s]"), "only numbers and booleans"),
    ],
)
def test_broken_matrices_are_refused(format_, name, change, words):
    with pytest.raises(ValueError, match=words):
        fit_columns(broken(format_, **{name: change}))


@pytest.mark.parametrize(
    ("format_", "changes", "words"),
    [
        ("coo", {"row": put(0, 40)}, "row holds values outside 0..39"),
        ("coo", {"col": put(0, -1)}, "col holds values outside 0..11"),
        ("coo", {"data": lambda v: v[:-1]}, "row has .* but data has"),
        ("dia", {"offsets": lambda v: v[:-1]}, "offsets has .* but data has"),
        ("dia", {"offsets": put(0, 2**31 - 1)}, "offsets holds values outside"),
        ("dia", {"offsets": lambda v: 0 * v}, "offsets name a diagonal twice"),
        ("dia", {"data": lambda v: v[0]}, "data is not an array of 2 dim"),
        ("bsr", {"data": lambda v: v.reshape(-1)}, "data is not an array of 3 dim"),
        ("bsr", {"data": lambda v: np.ones((len(v), 7, 1))}, "do not fit"),
        ("bsr", {"data": lambda v: np.ones((len(v), 0, 1))}, "do not fit"),
        ("bsr", {"indices": put(0, 12)}, "indices holds values outside"),
        ("lil", {"rows": lambda v: v[:-1]}, "rows has 39 entries, but X has 40"),
        ("lil", {"rows": put(1, [0] * 13)}, "different lengths"),
        ("lil", {"rows": put(1, None)}, "rows holds more than lists"),
    ],
)
def test_broken_matrices_of_other_formats_are_refused(format_, changes, words):
    with pytest.raises(ValueError, match=words):
        fit_columns(broken(format_, **changes))


def test_columns_that_are_not_there_in_lists():
    X = sparse.lil_array(dense())
    X.rows[0][0] = 12
    with pytest.raises(ValueError, match=r"rows holds values outside 0\.\.11"):
        fit_columns(X)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ((40, 0), r"rows holds values outside 0\.\.39"),
        ((-1, 0), r"rows holds values outside 0\.\.39"),
        ((0, 12), r"columns holds values outside 0\.\.11"),
        ((0, 2**70), "columns holds object values"),
        (("a", 0), "rows holds .* values instead of integers"),
        ((0,), "keys are not all pairs"),
        (7, "keys are not all pairs"),
    ],
)
def test_keys_that_name_nothing_are_refused(key, words):
    X = sparse.dok_array(dense())
    X._dict[key] = 1.0
    with pytest.raises(ValueError, match=f"broken sparse matrix: its {words}"):
        fit_columns(X)


@pytest.mark.parametrize("value", [10**400, "a"])
def test_values_that_are_not_numbers_are_refused(value):
    keys, lists = sparse.dok_array(dense()), sparse.lil_array(dense())
    keys._dict[0, 0] = value
    lists.data[0][0] = value
    for X in (keys, lists):
        with pytest.raises(ValueError, match="X must hold numbers"):
            fit_columns(X)


@pytest.mark.parametrize("zero", [0.0, np.nan])
def test_categories_that_float64_does_not_tell_apart(zero):
    values = (1 << 60) + np.array([[2], [0], [1]])
    if zero == 0:
        values = np.append(values, [[0]], axis=0)
    estimator = Estimator()
    X = sparse.csc_array(values)
    columns(estimator, X, reset=True, categorical_feature=[0])
    X = sparse.csr_array(np.append(values[:3], [[0], [(1 << 60) + 3]], axis=0))
    data = columns(estimator, X, reset=False)
    codes = np.empty((1, 5))
    kernels.to_float64(data, codes)
    first = int(zero == 0)
    expected = [2 + first, first, 1 + first, zero, np.nan]
    np.testing.assert_array_equal(codes[0], expected)


@pytest.mark.parametrize(
    "X", [sparse.coo_array(np.arange(3.0)), sparse.coo_array(np.ones((2, 2, 2)))]
)
def test_more_or_fewer_dimensions_are_refused(X):
    with pytest.raises(ValueError, match="reshape it to two dimensions"):
        fit_columns(X)


def mutations(seed: int, n: int):
    """Matrices with some of their parts changed at random."""
    rng = np.random.default_rng(seed)
    extremes = [-(2**31), -7, -1, 0, 1, 5, 11, 12, 39, 40, 41, 10**6, 2**31 - 1]
    for _ in range(n):
        format_ = rng.choice(["csr", "csc", "coo", "dia", "bsr"])
        X = getattr(sparse, f"{format_}_{rng.choice(['array', 'matrix'])}")(dense())
        names = [
            k for k in ("indptr", "indices", "row", "col", "offsets") if hasattr(X, k)
        ]
        for _ in range(rng.integers(1, 4)):
            name = rng.choice(names)
            values = getattr(X, name)
            kind = rng.integers(5)
            if kind == 0 and len(values):
                values = put(rng.integers(len(values)), rng.choice(extremes))(values)
            elif kind == 1:
                values = values[: rng.integers(len(values) + 1)]
            elif kind == 2:
                values = rng.permutation(values)
            elif kind == 3:
                values = np.r_[values, rng.choice(extremes)]
            else:
                X.data = X.data[: rng.integers(len(X.data) + 1)]
            setattr(X, name, values.astype(rng.choice(["int32", "int64"])))
        yield X


def read_mutations(seed: int, n: int) -> int:
    """How many mutations were refused; the others must hold what they say."""
    n_refused = 0
    for X in mutations(seed, n):
        try:
            values = read(X)
        except ValueError:
            n_refused += 1
        else:
            np.testing.assert_array_equal(values, X.toarray())
    return n_refused


MUTATIONS = f"""
import sys, warnings
warnings.simplefilter("error")
sys.path.insert(0, {str(TESTS)!r})
from columns import test_sparse
print(test_sparse.read_mutations(0, 200))
"""
SCRIPTS = {"test_mutations_are_refused_or_read": lambda: (MUTATIONS,)}


def test_mutations_are_refused_or_read(done):
    """In a process of its own, as a crash would end it; then in this one."""
    assert done.returncode == 0, done.stderr
    assert 100 < int(done.stdout) < 200
    assert read_mutations(1, 40) > 15


def test_fit_and_predict_refuse_broken_matrices():
    y = np.arange(40.0)
    X = broken("csr", indices=put(0, 10**6))
    with pytest.raises(ValueError, match="broken sparse matrix"):
        LGBMRegressor().fit(X, y)
    model = LGBMRegressor(n_estimators=2).fit(sparse.csr_array(dense()), y)
    with pytest.raises(ValueError, match="broken sparse matrix"):
        model.predict(X)
