"""Boundaries of bins: LightGBM's, where all rows are read and weights are equal."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skgoss.binning import BinMapper, find_bin_mappers
from skgoss.frames import columns

ZERO = float(np.float32(1e-35))
GREATEST = np.finfo(np.float64).max


def settings(**changes) -> SimpleNamespace:
    defaults = {
        "max_bin": 255,
        "min_data_in_bin": 3,
        "subsample_for_bin": 200_000,
        "use_missing": True,
        "zero_as_missing": False,
        "data_random_seed": 1,
    }
    return SimpleNamespace(**(defaults | changes))


def mapper(values, *, weight=None, rows=None, **changes) -> BinMapper:
    data = columns(BaseEstimator(), np.asarray(values)[:, None], reset=True)
    return find_bin_mappers(data, settings(**changes), weight=weight, rows=rows)[0]


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
        "neighbours": 1.0 + rng.integers(0, 9, n) * np.finfo(float).eps,
        "float32": normal.astype(np.float32).astype(float),
        "constant and NaN": np.where(rng.random(n) < 0.5, 4.0, np.nan),
        "small": normal[:20],
        "huge": normal * 1e307,
    }


def lightgbm_bounds(values: np.ndarray, **changes) -> tuple[list[float], int, str]:
    """Every threshold LightGBM can use, the number of bins, and its feature info."""
    lightgbm = pytest.importorskip("lightgbm")
    options = vars(settings(**changes))
    options["bin_construct_sample_cnt"] = options.pop("subsample_for_bin")
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
    # Labels that differ between any two neighbouring bins, so that all are parted.
    target = np.argsort(np.argsort(values, kind="stable"), kind="stable") ** 1.1
    target = np.where(np.isnan(values), -1e4, target)
    data = lightgbm.Dataset(values[:, None], target, params=parameters).construct()
    model = lightgbm.train(parameters, data, num_boost_round=1).dump_model()
    found: set[float] = set()
    pending = [model["tree_info"][0]["tree_structure"]]
    while pending:
        node = pending.pop()
        if "threshold" in node:
            found.add(float(node["threshold"]))
            pending += [node["left_child"], node["right_child"]]
    info = json.dumps(model["feature_infos"].get("Column_0"))
    return sorted(found), data.feature_num_bin(0), info


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_bin": 63},
        {"max_bin": 15, "min_data_in_bin": 20},
        {"max_bin": 2},
        {"max_bin": 3},
        {"max_bin": 1000, "min_data_in_bin": 1},
        {"use_missing": False},
        {"zero_as_missing": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", distributions())
def test_boundaries_are_lightgbms(name, changes):
    values = distributions()[name]
    ours = mapper(values, **changes)
    theirs, n_bins, _ = lightgbm_bounds(values, **changes)
    assert ours.n_bins == n_bins
    assert set(theirs) - {GREATEST, -GREATEST, 1e300, -1e300} <= set(ours.upper_bounds), (
        theirs, ours.upper_bounds)
