"""Data that change while they are read: an error or some model, but never a crash."""

import contextlib
import threading
import time

import numpy as np
import pytest
from scipy import sparse

import skgoss
from skgoss.binning import bin_values, find_bins
from skgoss.columns import sparse as compressed
from skgoss.columns import targets
from skgoss.utils.plain_values import INT32_MAX

N_ROWS, N_COLUMNS = 5000, 8
OPTIONS = {"n_estimators": 2, "num_leaves": 4, "min_child_samples": 5}
MESSAGE = "X changed while it was read"


def mostly_zero(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, (N_ROWS, N_COLUMNS)) * (
        rng.random((N_ROWS, N_COLUMNS)) < 0.2
    )
    X = X.astype(float)
    return X if kind == "dense" else sparse.csr_array(X).asformat(kind)


def stored(X):
    return X.data if sparse.issparse(X) else X


def fit(X, sample_weight=None, **options):
    y = np.arange(N_ROWS) % 7
    model = skgoss.LGBMRegressor(**OPTIONS, **options)
    return model.fit(X, y, sample_weight=sample_weight)


def text(model):
    return model.booster_.model_to_string()


def try_fit(X, **options):
    """Fit; how many rows differ decides whether the change is noticed."""
    with contextlib.suppress(ValueError):
        fit(X, **options)


def before_call(monkeypatch, module, name, number, change):
    """Call ``change`` before a function of a module is called for the n-th time."""
    function = getattr(module, name)
    calls = []

    def changed(*args):
        calls.append(args)
        if len(calls) == number:
            change()
        return function(*args)

    monkeypatch.setattr(module, name, changed)


def fill(values, value):
    return lambda: np.copyto(values, value)


def turn(values):
    return lambda: np.copyto(values, values[::-1].copy())


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["dense", "csc"])
@pytest.mark.parametrize("value", [0.0, 5.0])
def test_lists_hold_what_was_counted(kind, value, n_jobs, monkeypatch):
    X = mostly_zero(kind)
    # The first call counts the rows that are not zero, the second lists them.
    if kind == "csc" and value:
        stored(X)[::2] = 0.0
    before_call(
        monkeypatch, bin_values.listed_rows, "list_columns", 2, fill(stored(X), value)
    )
    with pytest.raises(ValueError, match=MESSAGE):
        fit(X, n_jobs=n_jobs)


@pytest.mark.parametrize("value", [0, -7, INT32_MAX])
def test_numbers_of_rows_change(value, monkeypatch):
    X = mostly_zero("csc")
    before_call(
        monkeypatch, bin_values.listed_rows, "list_columns", 2, fill(X.indices, value)
    )
    with pytest.raises(ValueError, match=MESSAGE):
        fit(X)


def test_lists_ascend(monkeypatch):
    X = mostly_zero("csc")
    before_call(monkeypatch, bin_values.listed_rows, "list_columns", 2, turn(X.indices))
    with pytest.raises(ValueError, match=MESSAGE):
        fit(X)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [0, N_COLUMNS - 1, -1, INT32_MAX])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_columns_of_entries_change(value, index, n_jobs, monkeypatch):
    monkeypatch.setattr(compressed, "ENTRIES_PER_THREAD", 100)
    X = mostly_zero("csr")
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    before_call(monkeypatch, compressed, "move_columns", 1, fill(X.indices, value))
    with pytest.raises(ValueError, match=MESSAGE):
        fit(X, n_jobs=n_jobs)


@pytest.mark.parametrize("value", [-(2**31), 0, INT32_MAX])
def test_starts_of_rows_are_copied(value, monkeypatch):
    X = mostly_zero("csr")
    expected = fit(X).predict(X)
    for name in ("count_columns", "move_columns"):
        changed = X.copy()
        with monkeypatch.context() as patch:
            before_call(patch, compressed, name, 1, fill(changed.indptr, value))
            np.testing.assert_array_equal(fit(changed).predict(X), expected)


@pytest.mark.parametrize("value", [-1, N_COLUMNS, INT32_MAX])
def test_columns_are_counted_in_bounds(value, monkeypatch):
    X = mostly_zero("csr")
    before_call(monkeypatch, compressed, "count_columns", 1, fill(X.indices, value))
    with pytest.raises(ValueError, match="indices holds values outside"):
        fit(X)


@pytest.mark.parametrize("value", [-1, N_COLUMNS, INT32_MAX])
@pytest.mark.parametrize("call", [1, 2])
def test_columns_of_equal_entries_change(call, value, monkeypatch):
    X = mostly_zero("csr")
    X.data[:] = 1.0
    before_call(monkeypatch, compressed, "move_columns", call, fill(X.indices, value))
    with pytest.raises(ValueError, match=MESSAGE):
        fit(X, subsample_for_bin=1000)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("value", [0, -7, INT32_MAX])
@pytest.mark.parametrize("subsample", [1000, N_ROWS])
@pytest.mark.parametrize(
    ("module", "name"),
    [("bin_bounds", "find_bounds"), ("listed_rows", "count_nonzero")],
)
def test_samples_are_read_in_bounds(
    module, name, value, subsample, weighted, monkeypatch
):
    X = mostly_zero("csc")
    changed = X.copy()
    with monkeypatch.context() as patch:
        change = fill(changed.indices, value)
        before_call(patch, getattr(find_bins, module), name, 1, change)
        weight = np.arange(1.0, N_ROWS + 1) if weighted else None
        try_fit(changed, subsample_for_bin=subsample, sample_weight=weight)


def test_numbers_of_rows_are_read_in_bounds():
    X = mostly_zero("csc")
    whole = compressed.whole_columns(X)
    X.indices[:] = N_ROWS
    with pytest.raises(ValueError, match=MESSAGE):
        whole.stored_rows(0)


def test_targets_are_copied():
    y = np.arange(3.0)
    assert not np.shares_memory(targets.numbers(y, "LGBMRanker"), y)


def places(X):
    """The arrays that say where the values of a matrix are."""
    names = {"coo": ("row", "col"), "bsr": ("indices",), "dia": ("offsets",)}
    return [getattr(X, name) for name in names[X.format]]


OTHER_FORMATS = ["bsr", "coo", "dia", "lil", "dok"]


def of_format(kind):
    if kind != "dia":
        return mostly_zero("csr").asformat(kind)
    values = np.random.default_rng(0).integers(1, 9, (3, N_COLUMNS)).astype(float)
    return sparse.dia_array((values, [0, -1, -40]), shape=(N_ROWS, N_COLUMNS))


def change_places(X, value):
    if X.format == "dok":
        X[0, 0] = X[1, 0] = 3.0
        del X[0, 0]
        X._dict[value, 0] = 2.0
    elif X.format == "lil":
        X.rows[0] = [value, *X.rows[0]]
        X.data[0] = [1.0, *X.data[0]]
    else:
        for array in places(X):
            array[:] = value


@pytest.mark.parametrize("kind", OTHER_FORMATS)
def test_other_formats_are_copied_before_scipy_converts_them(kind, monkeypatch):
    X = of_format(kind)
    expected = text(fit(X.copy()))
    copies, check = [], compressed.check
    monkeypatch.setattr(
        compressed, "check", lambda own, *n: check(own, *n) or copies.append(own)
    )
    # The second check is that of the copy, which SciPy converts then.
    monkeypatch.setattr(
        compressed,
        "_copied",
        lambda X, own=compressed._copied: [own(X), change_places(X, -7)][0],
    )
    assert text(fit(X)) == expected
    assert len(copies) == 2


@pytest.mark.parametrize("kind", OTHER_FORMATS)
@pytest.mark.parametrize("value", [-7, N_ROWS, INT32_MAX - 1])
def test_other_formats_that_change_before_the_copy(kind, value, monkeypatch):
    X = of_format(kind)
    monkeypatch.setitem(
        compressed._COPIES,
        kind,
        lambda X, copy=compressed._COPIES[kind]: [change_places(X, value), copy(X)][1],
    )
    with pytest.raises(ValueError, match=MESSAGE):
        fit(X)


@pytest.mark.parametrize("kind", ["coo", "dok", "lil"])
def test_other_formats_that_another_thread_changes(kind):
    X, ended = mostly_zero("csr")[:500].asformat(kind), threading.Event()
    y = np.arange(500) % 7
    held = [array.copy() for array in places(X)] if kind == "coo" else None

    def change():
        while not ended.is_set():
            if kind == "coo":
                for array, values in zip(places(X), held, strict=True):
                    array[:] = INT32_MAX
                    array[:] = values
            elif kind == "dok":
                X[499, 7] = 1.0
                X[499, 7] = 0.0
            else:
                X.rows[3].append(7)
                X.data[3].append(1.0)
                del X.rows[3][-1], X.data[3][-1]

    thread = threading.Thread(target=change)
    thread.start()
    stop = time.monotonic() + 0.2
    try:
        while time.monotonic() < stop:
            with contextlib.suppress(ValueError):
                skgoss.LGBMRegressor(**OPTIONS).fit(X, y)
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_fits_of_data_that_another_thread_changes(kind):
    X = mostly_zero(kind)
    values, held = stored(X), stored(X).copy()
    model, ended = fit(X), threading.Event()

    def flip():
        while not ended.is_set():
            values[...] = 0.0
            values[...] = held

    thread = threading.Thread(target=flip)
    thread.start()
    stop = time.monotonic() + 0.4
    try:
        while time.monotonic() < stop:
            try_fit(X)
            model.predict(X)
    finally:
        ended.set()
        thread.join()
