"""CSR matrices become columns some at a time."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from helpers.reading import columns
from skgoss import LGBMClassifier
from skgoss.binning.bin_values import bin_sparse_columns
from skgoss.binning.find_bins import BinningOptions, find_bin_mappers
from skgoss.columns import sparse as ours
from skgoss.columns.columns import Columns

N_ROWS, N_COLUMNS = 3000, 90


@pytest.fixture(params=[1, 10**9])
def span_entries(request, monkeypatch):
    """Blocks of about as many entries as there are rows, or one of all."""
    monkeypatch.setattr(ours, "SPAN_BYTES", request.param)
    monkeypatch.setattr(ours, "MAX_SPANS", 10**9)
    monkeypatch.setattr(ours, "ENTRIES_PER_THREAD", 100)
    return request.param


def matrix(dtype=np.float64, index=np.int32, seed=0):
    rng = np.random.default_rng(seed)
    share = rng.random(N_COLUMNS) ** 4
    # A column without entries, and one without zeros.
    share[[3, 7]] = 0.0, 1.0
    X = rng.integers(1, 100, (N_ROWS, N_COLUMNS)) * (
        rng.random((N_ROWS, N_COLUMNS)) < share
    )
    X = sparse.csr_array(X.astype(dtype))
    return sparse.csr_array(
        (X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape
    )


def assert_columns(found, X, features):
    assert found.n_features == len(features)
    for at, j in enumerate(features):
        column = X[:, [j]].tocsc()
        np.testing.assert_array_equal(found.stored_rows(at), column.indices)
        stored = found.stored(at)
        np.testing.assert_array_equal(stored, column.data)
        assert column.dtype in (stored.dtype, bool)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("chosen", [[], [3], [3, 7, 50, 51, 89], range(N_COLUMNS)])
def test_only_some_columns_are_made(chosen, n_threads, span_entries):
    X, chosen = matrix(), np.array(chosen, dtype=np.int32)
    data = columns(BaseEstimator(), X, reset=True)
    made = data.only(chosen, n_threads)
    assert (made.n_rows, made.n_features) == X.shape
    assert_columns(made.take(chosen), X, chosen)


@pytest.mark.parametrize("kind", ["unsorted", "twice"])
def test_rows_out_of_order_are_made_all_at_once(kind):
    X = matrix()
    if kind == "unsorted":
        X.indices, X.data = X.indices[::-1].copy(), X.data[::-1].copy()
        X.indptr = X.indptr[-1] - X.indptr[::-1]
        expected = X.toarray()
    else:
        X.indices[1] = X.indices[0]
        expected = X.toarray()
    data = columns(BaseEstimator(), X, reset=True)
    made = data.only(np.arange(N_COLUMNS), 2)
    assert_columns(made, sparse.csr_array(expected), range(N_COLUMNS))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, bool])
def test_spans_are_the_columns(dtype, index, n_threads, span_entries):
    X = matrix(dtype, index)
    data = columns(BaseEstimator(), X, reset=True)
    for features in (np.arange(N_COLUMNS), np.array([3, 7, 50, 51, 89])):
        taken = data.take(features)
        assert taken.n_stored(n_threads) == X[:, features].nnz
        spans = []
        for span, made in taken.by_span(n_threads):
            spans.append(span)
            assert_columns(made, X, features[span])
        assert [span.start for span in spans] == [0, *(s.stop for s in spans[:-1])]
        assert spans[-1].stop == len(features)
        assert (len(spans) == 1) == (span_entries == 10**9)
        assert_columns(taken.whole, X, features)


def test_columns_in_any_order_are_found_at_once():
    X = matrix()
    taken = columns(BaseEstimator(), X, reset=True).take(np.array([5, 2, 80]))
    assert isinstance(taken, Columns)
    assert_columns(taken, X, [5, 2, 80])


@pytest.mark.parametrize("broken", ["order", "duplicates"])
def test_rows_that_do_not_ascend_are_sorted_and_summed(broken):
    X = matrix()
    if broken == "order":
        X.indices, X.data = X.indices.copy(), X.data.copy()
        first = X.indptr[np.flatnonzero(np.diff(X.indptr) > 1)]
        for values in (X.indices, X.data):
            values[first], values[first + 1] = values[first + 1], values[first]
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
        expected = matrix()
    else:
        expected = 2 * X
        X = sparse.csr_array(
            (np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape
        )
    data = columns(BaseEstimator(), X, reset=True)
    [(span, made)] = data.by_span(2)
    assert (span, data.n_stored(2)) == (slice(0, N_COLUMNS), 0)
    assert_columns(made, expected, range(N_COLUMNS))


@pytest.mark.parametrize("name", ["data", "indices", "indptr"])
@pytest.mark.parametrize("change", ["strided", "big-endian", "wide"])
def test_arrays_that_kernels_do_not_read_are_converted(name, change):
    X = matrix(np.float32)
    array = getattr(X, name)
    changed = {
        "strided": np.repeat(array, 2)[::2],
        "big-endian": array.astype(array.dtype.newbyteorder(">")),
        "wide": array.astype(np.longdouble if name == "data" else np.uint64),
    }
    setattr(X, name, changed[change])
    found = columns(BaseEstimator(), X, reset=True)
    assert isinstance(found, Columns)
    expected = columns(BaseEstimator(), matrix(np.float32), reset=True).whole
    for j in range(N_COLUMNS):
        np.testing.assert_array_equal(found.stored(j), expected.stored(j))
        np.testing.assert_array_equal(found.stored_rows(j), expected.stored_rows(j))


def test_a_matrix_without_entries():
    X = sparse.csr_array((5, 3))
    [(span, made)] = columns(BaseEstimator(), X, reset=True).by_span(2)
    assert_columns(made, X, range(3)[span])


@pytest.mark.parametrize("subsample", [900, 10**6])
@pytest.mark.parametrize("rows", [None, np.arange(0, N_ROWS, 3)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("value", [None, 1, -2, np.inf])
def test_bins_and_lists_do_not_depend_on_spans(
    value, weighted, rows, subsample, span_entries
):
    X = matrix()
    weight = np.random.default_rng(1).integers(1, 4, N_ROWS) * 1.0 if weighted else None
    if value is not None:
        X.data[:] = value
    settings = BinningOptions(
        **{"max_bin": 20, "max_bin_by_feature": [None, 5] * (N_COLUMNS // 2)},
        **{"min_data_in_bin": 3, "min_child_samples": 20},
        **{"subsample_for_bin": subsample, "use_missing": True},
        **{"zero_as_missing": False, "data_random_seed": 1, "enable_bundle": True},
        **{
            "is_enable_sparse": True,
            "max_conflict_rate": 0.0,
            "forcedbins_filename": None,
        },
    )
    found, lists = [], []
    for data in (X, X.tocsc()):
        read = columns(BaseEstimator(), data, reset=True)
        mappers = find_bin_mappers(
            read, settings, weight=weight, rows=rows, n_threads=2
        )
        used = np.flatnonzero([not m.is_trivial for m in mappers])
        found.append(mappers)
        lists.append(bin_sparse_columns(read, mappers, used, rows=rows, n_threads=2))
    for one, other in zip(*found, strict=True):
        np.testing.assert_equal(one, other)
    for one, other in zip(*lists, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["values", "ones"])
def test_a_fit_reads_no_more_than_spans(kind, monkeypatch):
    X = matrix()
    if kind == "ones":
        X.data[:] = 1
    y = (X @ np.sin(np.arange(N_COLUMNS)) > 0).astype(int)
    expected = LGBMClassifier(n_estimators=5)
    expected.fit(X.tocsc(), y, eval_set=[(X[:900].tocsc(), y[:900])])
    monkeypatch.setattr(ours, "whole_columns", None)
    given = LGBMClassifier(n_estimators=5).fit(X, y, eval_set=[(X[:900], y[:900])])
    assert given.booster_.model_to_string() == expected.booster_.model_to_string()
