"""Boundaries of bins: LightGBM's, where all rows are read and weights are equal."""

from __future__ import annotations

import json
import tempfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from helpers.binned import settings
from helpers.one_column import ZERO, mapper
from helpers.reading import columns
from skgoss.binning.find_bins import find_bin_mappers


def distributions() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 3000
    normal = rng.standard_normal(n)
    with_nan = normal.copy()
    with_nan[::7] = np.nan
    infinite = normal.copy()
    infinite[::50], infinite[1::50] = np.inf, -np.inf
    return {
        "normal": normal,
        "all positive": rng.exponential(size=n),
        "all negative": -rng.exponential(size=n),
        "heavy tail": rng.standard_cauchy(n) ** 3,
        "integers": rng.integers(-300, 900, n).astype(float),
        "few distinct": rng.choice([-1.5, 0.0, 2.0, 7.0], n),
        "rare values": np.r_[np.zeros(n - 2), 5.0, 6.0],
        "heavy ties": np.round(rng.standard_normal(n), 1) ** 3,
        "one heavy value": np.where(rng.random(n) < 0.6, 3.25, normal),
        "many zeros": np.where(rng.random(n) < 0.8, 0.0, normal),
        "many zeros, positive": np.where(rng.random(n) < 0.8, 0.0, abs(normal)),
        "geometric": rng.geometric(0.01, n).astype(float),
        "NaN": with_nan,
        "NaN and zeros": np.where(rng.random(n) < 0.5, 0.0, with_nan),
        "infinities": infinite,
        "infinities and NaN": np.where(rng.random(n) < 0.1, np.nan, infinite),
        "only infinities": rng.choice([-np.inf, np.inf], n),
        "tiny": normal * 1e-34,
        "neighbors": 1.0 + rng.integers(0, 9, n) * np.finfo(float).eps,
        "float32": normal.astype(np.float32).astype(float),
        "constant and NaN": np.where(rng.random(n) < 0.5, 4.0, np.nan),
        "small": normal[:20],
        "huge": normal * 1e307,
    }


def lightgbm_tree(values: np.ndarray, **changes) -> tuple[list[float], int, dict]:
    """LightGBM's thresholds in a tree that parts all bins, its bins, its range."""
    lightgbm = pytest.importorskip("lightgbm")
    options = vars(settings(**changes))
    options["bin_construct_sample_cnt"] = options.pop("subsample_for_bin")
    forced = options.pop("forcedbins_filename")
    if forced:
        contents = [{"feature": 0, "bin_upper_bound": list(forced[0])}]
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(contents, file)
        options["forcedbins_filename"] = file.name
    parameters = {
        **options,
        "verbose": -1,
        "num_threads": 1,
        "feature_pre_filter": False,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "num_leaves": 2000,
        "learning_rate": 1.0,
        "boost_from_average": False,
        "objective": "regression",
    }
    # No two bins have the same mean target, so that each can be parted from the next.
    target = np.argsort(np.argsort(values, kind="stable"), kind="stable") ** 1.1
    target = np.where(np.isnan(values), -1e4, target)
    data = lightgbm.Dataset(values[:, None], target, params=parameters).construct()
    parameters.pop("forcedbins_filename", None)
    model = lightgbm.train(parameters, data, num_boost_round=1).dump_model()
    thresholds: set[float] = set()
    pending = [model["tree_info"][0]["tree_structure"]]
    while pending:
        node = pending.pop()
        if "threshold" in node:
            thresholds.add(node["threshold"])
            pending += [node["left_child"], node["right_child"]]
    value_range = model["feature_infos"].get("Column_0", {})
    return sorted(thresholds), data.feature_num_bin(0), value_range


CHANGES = [
    {},
    {"max_bin": 63},
    {"max_bin": 15, "min_data_in_bin": 20},
    {"max_bin": 2},
    {"max_bin": 3},
    {"max_bin": 1000, "min_data_in_bin": 1},
    {"use_missing": False},
    {"zero_as_missing": True},
    {"forcedbins_filename": {0: (0.3, 0.35, 0.4)}},
    {"forcedbins_filename": {0: (-0.501, 1.003, 3.2504)}, "max_bin": 15},
    {"forcedbins_filename": {0: (2.004, -3.001, 0.502, 1.503)}, "max_bin": 6},
    {"forcedbins_filename": {0: (1.001, -1.002)}, "max_bin": 2},
    {"forcedbins_filename": {0: (1.001, -1.002)}, "max_bin": 3},
    {"forcedbins_filename": {0: (0.0, 1e6)}, "min_data_in_bin": 40},
    {"forcedbins_filename": {0: (-1e6, 0.1)}, "use_missing": False},
    {"forcedbins_filename": {0: (0.1,)}, "zero_as_missing": True},
]


def boundary_cases():
    """All distributions with all options; some of each are for every day.

    No forced bound is a value, as infinity is: LightGBM joins it with the value below.
    """
    cases = []
    for i, name in enumerate(distributions()):
        for j, changes in enumerate(CHANGES):
            if "infinities" in name and "forcedbins_filename" in changes:
                continue
            is_quick = j == 0 or (i + j) % 8 == 0
            marks = () if is_quick else pytest.mark.nightly
            case = pytest.param(name, changes, marks=marks, id=f"{name}-{changes}")
            cases.append(case)
    return cases


@pytest.mark.parametrize(("name", "changes"), boundary_cases())
def test_boundaries_are_lightgbms(name, changes):
    values = distributions()[name]
    ours = mapper(values, **changes)
    thresholds, n_bins, value_range = lightgbm_tree(values, **changes)
    assert ours.n_bins == n_bins
    # LightGBM writes 1e300 for anything beyond.
    thresholds = [t for t in thresholds if abs(t) < 1e300]
    assert set(thresholds) <= set(ours.upper_bounds)
    if value_range:
        low, high = np.clip([ours.minimum, ours.maximum], -1e300, 1e300)
        np.testing.assert_allclose(low, value_range["min_value"], rtol=1e-15)
        np.testing.assert_allclose(high, value_range["max_value"], rtol=1e-15)
    if name != "huge":
        # Zero, where it is missing, goes with either side.
        finite = np.unique(values[np.isfinite(values) & (values != 0)])
        parted = np.diff(np.searchsorted(ours.upper_bounds, finite)) > 0
        theirs = np.diff(np.searchsorted(thresholds, finite)) > 0
        np.testing.assert_array_equal(parted, theirs)


def test_weight_moves_the_boundaries():
    values = np.arange(1.0, 10_001.0)
    weight = np.where(values < 5000, 9.0, 1.0)
    bounds = mapper(values, weight=weight, max_bin=11).upper_bounds
    masses = np.bincount(np.searchsorted(bounds, values), weight)[1:]
    assert masses.max() / masses.min() < 1.02
    assert (bounds < 5000).sum() >= 9


def test_equal_weights_are_not_weights():
    values = distributions()["normal"]
    weighted = mapper(values, weight=np.full(len(values), 0.1))
    np.testing.assert_array_equal(weighted.upper_bounds, mapper(values).upper_bounds)


def test_rows_and_their_weights_go_together():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(4000)
    weight = rng.exponential(size=4000)
    rows = np.flatnonzero(rng.random(4000) < 0.5)
    some = mapper(values, weight=weight, rows=rows, max_bin=20)
    alone = mapper(values[rows], weight=weight[rows], max_bin=20)
    np.testing.assert_array_equal(some.upper_bounds, alone.upper_bounds)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n_rows", [50, 4095, 4096, 20_000])
def test_sorting_any_number_of_values(n_rows, clustered):
    rng = np.random.default_rng(n_rows)
    values = rng.standard_cauchy(n_rows)
    if clustered:  # half of the values differ in their last digits only
        values = np.where(values > 0, 1e6 + rng.random(n_rows), values)
    bounds = mapper(values, max_bin=60_000, min_data_in_bin=1).upper_bounds
    ordered = np.sort(values)
    middle = np.nextafter((ordered[1:] + ordered[:-1]) / 2, np.inf)
    negative = np.searchsorted(ordered, 0.0)
    middle[negative - 1] = -ZERO
    expected = np.insert(middle, negative, ZERO)
    np.testing.assert_array_equal(bounds[:-1], expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_of_columns_have_the_bins_of_each_column(weighted):
    # With this number of values, 8 columns are read at a time, or 24 on 12 threads.
    rng = np.random.default_rng(0)
    X = rng.integers(-99, 99, (140_000, 50)).astype(np.float32)
    X[:, ::9] *= rng.random(140_000, dtype=np.float32)[:, None]
    X[:, 20] = np.nan
    weight = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    data = columns(BaseEstimator(), X, reset=True)
    found = [
        find_bin_mappers(data, settings(), weight=weight, n_threads=n_threads)
        for n_threads in (1, 12)
    ]
    for j in (0, 7, 8, 20, 23, 24, 45, 49):
        expected = mapper(X[:, j], weight=weight)
        for mappers in found:
            np.testing.assert_array_equal(
                mappers[j].upper_bounds, expected.upper_bounds
            )
            assert mappers[j][1:] == expected[1:]


def test_weights_of_another_length_are_refused():
    with pytest.raises(ValueError, match="weight has 3 values, but there are 9 rows"):
        mapper(np.arange(9.0), weight=np.ones(3))
