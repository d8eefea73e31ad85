"""Some rows of a binned data set, and other rows in its bins."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from helpers.binned import bins, expected_places, places_of_rows, table
from helpers.reading import columns as read_columns
from skgoss import Dataset, LGBMRegressor, parameters, train
from skgoss.binning import find_bins, storage
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns.columns import Columns
from skgoss.objectives.training_objective import make_objective
from skgoss.training import boosting, loop

N_ROWS = 5000

LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {
        "enable_bundle": False,
        "is_enable_sparse": False,
        "columns": slice(0, 380, 5),
    },
    "bundles and shared lanes": {},
    "bundles that are lanes": {"is_enable_sparse": False},
    "lists and entries": {"enable_bundle": False},
    "wide columns": {"max_bin": 1000, "min_data_in_bin": 1},
    "conflicts": {"max_conflict_rate": 0.05},
    "categories": {"categorical_feature": [1, 4, 6]},
    "few rows": {"n_rows": 300},
    "a sparse matrix": {"convert": sparse.csr_array, "enable_bundle": False},
    "one column": {"columns": slice(1, 2)},
}


class Case(NamedTuple):
    """A data set with what it was built from."""

    columns: Columns
    settings: Any
    data: BinnedDataset

    @property
    def is_exact(self) -> bool:
        return self.settings.max_conflict_rate == 0

    def rebinned(self, rows: np.ndarray) -> BinnedDataset:
        """The rows, put into the bins of the data set."""
        return self.data.with_rows(self.columns, self.settings, rows=rows)


def case(
    *,
    n_rows: int = N_ROWS,
    convert: Any = np.asarray,
    columns: slice = slice(None),
    **options: Any,
) -> Case:
    X = convert(table(n_rows)[:, columns])
    estimator = LGBMRegressor(**{"min_child_samples": 5} | options)
    settings = parameters.make_settings(estimator.get_params(), "LGBMRegressor")
    read = read_columns(
        estimator,
        X,
        reset=True,
        categorical_feature=options.get("categorical_feature", "auto"),
    )
    return Case(read, settings, BinnedDataset.build(read, settings))


@cache
def case_of(layout: str) -> Case:
    return case(**LAYOUTS[layout])


@pytest.fixture(params=LAYOUTS)
def made(request) -> Case:
    return case_of(request.param)


def row_sets(n_rows: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        np.flatnonzero(rng.random(n_rows) < 0.8),
        np.flatnonzero(rng.random(n_rows) < 0.01),
        np.arange(7, n_rows),
        np.array([0]),
        np.array([n_rows - 1]),
        np.arange(n_rows),
    ]


def assert_same_storage(found: BinnedDataset, expected: BinnedDataset) -> None:
    assert found.n_rows == expected.n_rows
    np.testing.assert_array_equal(bins(found), bins(expected))
    for name in ("rows", "shorts", "entry_start", "entries"):
        one, other = (getattr(data.storage, name) for data in (found, expected))
        np.testing.assert_array_equal(one, other)


def trees(
    data: BinnedDataset,
    case: Case,
    rows: np.ndarray,
    n_threads: int = 1,
    *,
    weights: tuple[float, ...] = (0.5, 1.0, 2.0),
    **options: Any,
) -> dict[str, np.ndarray]:
    """The trees of a fit on the rows, which the data set has."""
    defaults = {"objective": "regression", "n_estimators": 4}
    settings = parameters.make_settings(defaults | options, "LGBMRegressor")
    rng = np.random.default_rng(1)
    factors = np.arange(1.0, 1 + min(5, len(case.data.feature)))
    y = sum(factor * case.data.bins(j) for j, factor in enumerate(factors))
    y = (y / y.std() + rng.standard_normal(len(y)))[rows]
    weight = rng.choice(weights, case.data.n_rows)[rows]
    objective = make_objective(settings, y, weight, None)
    state = boosting.Boosting(data, objective, settings, n_threads)
    return loop.train(state).ensemble.arrays


def assert_same_trees(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert np.asarray(values).tobytes() == np.asarray(other[name]).tobytes(), name


# --- Some rows ------------------------------------------------------------------------


def test_rows_keep_their_bins(made):
    for rows in row_sets(made.data.n_rows):
        taken = made.data.take(rows)
        assert taken.n_rows == len(rows)
        np.testing.assert_array_equal(bins(taken), bins(made.data)[:, rows])
        if made.is_exact:
            np.testing.assert_array_equal(bins(taken), bins(made.rebinned(rows)))


def test_rows_reach_the_places_of_their_bins(made):
    rows = row_sets(made.data.n_rows)[0]
    taken = made.data.take(rows)
    assert places_of_rows(taken) == expected_places(taken)


def test_layouts_are_those_that_the_cases_are_named_after():
    held = {name: case_of(name).data.storage for name in LAYOUTS}
    has_sparse = {name for name, one in held.items() if one.store.has_sparse}
    assert has_sparse == {*LAYOUTS} - {"plain", "few rows", "one column"}
    assert len(held["lists and entries"].entries) > N_ROWS
    assert len(held["a sparse matrix"].entries) > N_ROWS
    assert held["bundles that are lanes"].entry_start is None
    assert len(np.unique(held["bundles and shared lanes"].lane)) < len(
        held["bundles and shared lanes"].lane
    )
    assert len(held["wide columns"].store.arrays.shorts) > 0
    given = case_of("conflicts")
    lossless = given.rebinned(np.arange(N_ROWS))
    assert (bins(given.data) != bins(lossless)).any()
    assert case_of("categories").data.categorical.sum() == 3


def test_rows_of_rows(made):
    first = np.flatnonzero(np.random.default_rng(2).random(made.data.n_rows) < 0.7)
    second = np.flatnonzero(np.random.default_rng(3).random(len(first)) < 0.5)
    taken = made.data.take(first[second])
    assert_same_storage(made.data.take(first).take(second), taken)
    view = made.data.view(first).view(second)
    assert view.storage is made.data.storage
    np.testing.assert_array_equal(bins(view), bins(taken))
    assert_same_storage(view.alone(), taken)


def test_any_number_of_threads_gives_the_same(made, monkeypatch):
    monkeypatch.setattr(storage, "GATHERED_PER_VALUE", 1)
    monkeypatch.setattr(find_bins, "VALUES_PER_THREAD", 1)
    for rows in row_sets(made.data.n_rows):
        assert_same_storage(made.data.take(rows), made.data.take(rows, n_threads=3))


def test_what_does_not_depend_on_rows_is_shared():
    data = case(enable_bundle=False).data
    taken = data.take(np.arange(0, N_ROWS, 2))
    assert taken.mappers is data.mappers
    assert taken.upper_bounds is data.upper_bounds
    assert taken.storage.hist_bin_of_code is data.storage.hist_bin_of_code
    assert data.take(np.arange(N_ROWS)) is data


def test_lists_may_become_empty():
    X = table(N_ROWS)
    X[np.arange(N_ROWS) % 2 == 0, 20:] = 0.0
    settings = parameters.make_settings({"enable_bundle": False}, "LGBMRegressor")
    columns = read_columns(LGBMRegressor(), X, reset=True)
    data = BinnedDataset.build(columns, settings)
    rows = np.arange(0, N_ROWS, 2)
    taken = data.take(rows)
    assert data.storage.store.has_sparse
    assert len(taken.storage.entries) < len(data.storage.entries) / 10
    np.testing.assert_array_equal(bins(taken), bins(data)[:, rows])
    assert places_of_rows(taken) == expected_places(taken)


def test_columns_that_are_all_left_out():
    estimator = LGBMRegressor()
    columns = read_columns(estimator, np.ones((50, 3)), reset=True)
    data = BinnedDataset.build(
        columns, parameters.make_settings(estimator.get_params(), "LGBMRegressor")
    )
    taken = data.take(np.arange(10))
    assert (taken.n_rows, bins(taken).shape) == (10, (0, 10))
    assert taken.storage.rows.shape == (10, 0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "at least one"),
        ([-1, 3], "from 0 to 299"),
        ([3, 300], "from 0 to 299"),
        ([3, 3], "ascending"),
        ([5, 400, 7], "ascending"),
    ],
)
def test_rows_that_do_not_exist_are_refused(rows, message):
    data = case(n_rows=300).data
    with pytest.raises(ValueError, match=message):
        data.take(np.array(rows, dtype=np.int64))


# --- Fits -----------------------------------------------------------------------------

FITS = {
    "all rows": {},
    "bagging": {"subsample": 0.6, "subsample_freq": 1},
    "GOSS": {"data_sample_strategy": "goss", "learning_rate": 1.5},
    "columns": {"colsample_bytree": 0.5, "feature_fraction_bynode": 0.5},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "forest": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "random bounds": {"extra_trees": True},
    "another loss": {"objective": "huber", "min_child_weight": 3.0},
    "copies": {"weights": (1.0, 2.0, 3.0)},
}


def test_trees_of_some_rows_do_not_depend_on_the_way_to_their_bins(made):
    rows = row_sets(made.data.n_rows)[0]
    taken = made.data.take(rows)
    again = made.rebinned(rows)
    if not made.is_exact:
        again = made.rebinned(np.arange(N_ROWS)).take(rows)
        taken = made.rebinned(rows)
    one = trees(taken, made, rows)
    assert len(one["split_feature"]) > 20
    assert_same_trees(one, trees(again, made, rows))
    if made.is_exact:
        assert_same_trees(one, trees(made.data.view(rows), made, rows))


@cache
def some_rows(layout: str) -> tuple[Case, np.ndarray, BinnedDataset, BinnedDataset]:
    """A case, some of its rows, and these as a view and as data of their own."""
    given, rows = case_of(layout), row_sets(N_ROWS)[0]
    return given, rows, given.data.take(rows), given.rebinned(rows)


@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
@pytest.mark.parametrize("layout", ["plain", "bundles and shared lanes", "categories"])
def test_all_fits_are_the_same(layout, options):
    given, rows, taken, again = some_rows(layout)
    one = trees(taken, given, rows, **options)
    assert len(one["split_feature"]) > 20
    for n_threads in (1, 2):
        assert_same_trees(one, trees(again, given, rows, n_threads, **options))
        assert_same_trees(one, trees(taken, given, rows, n_threads, **options))
        view = given.data.view(rows)
        assert_same_trees(one, trees(view, given, rows, n_threads, **options))


def test_few_of_many_rows():
    """Put into bins again, they have other bundles and lists: they are fewer."""
    given = case(columns=slice(60))
    rows = row_sets(N_ROWS)[1]
    taken, again = given.data.take(rows), given.rebinned(rows)
    assert (again.storage.default_bin != taken.storage.default_bin).any()
    for options in ({}, {"min_child_samples": 2}):
        one, other = (trees(data, given, rows, **options) for data in (taken, again))
        assert_same_trees(one, other)


# --- Other rows -----------------------------------------------------------------------


def test_other_rows_have_the_bins_of_their_values(made):
    """Rows of another table that are the same values."""
    all_rows = made.data.with_rows(made.columns, made.settings)
    assert all_rows.mappers is made.data.mappers
    if made.is_exact:
        assert_same_storage(all_rows, made.data)
    assert places_of_rows(all_rows) == expected_places(all_rows)
    rows = row_sets(made.data.n_rows)[1]
    some = made.rebinned(rows)
    np.testing.assert_array_equal(bins(some), bins(all_rows)[:, rows])


def test_values_that_the_bins_have_not_seen():
    estimator = LGBMRegressor()
    settings = parameters.make_settings(estimator.get_params(), "LGBMRegressor")
    X = np.arange(200.0)[:, None] % 50
    data = BinnedDataset.build(read_columns(estimator, X, reset=True), settings)
    new = np.array([[-9.0], [99.0], [np.nan], [30.2]])
    other = data.with_rows(read_columns(estimator, new, reset=False), settings)
    bounds = data.upper_bounds[0]
    expected = np.searchsorted(bounds, [-9.0, 99.0, np.inf, 30.2])
    expected[2] += 1  # NaN has a bin of its own
    np.testing.assert_array_equal(bins(other)[0], expected)
    assert (other.missing_bin[0], other.n_bins[0]) == (len(bounds), len(bounds) + 1)
    assert (data.missing_bin[0], data.n_bins[0]) == (-1, len(bounds))
    assert other.has_bins_of(data)
    assert data.has_bins_of(other)


def test_rows_that_are_only_scored_are_not_laid_out():
    X = table(N_ROWS)
    y = np.arange(N_ROWS) % 7
    training = Dataset(X, y)
    held_out = training.create_valid(X[:50], y[:50])
    subset = training.subset(range(100))
    train({"verbosity": -1}, training, 2, valid_sets=[held_out, subset])
    laid_out = {"_packed"}
    for data in (held_out, subset):
        assert not laid_out & vars(data._binned.storage).keys()
    assert laid_out <= vars(training._binned.storage).keys()
