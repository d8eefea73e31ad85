"""The split of a categorical feature: the reference, LightGBM, and the theory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.reference import ReferenceGrower
from skgoss import LGBMRegressor
from skgoss._engine.training.split import best_categories


@dataclass
class Options:
    """The options of the engine that the search reads, with LightGBM's defaults."""

    reg_alpha: float = 0.0
    reg_lambda: float = 0.0
    max_delta_step: float = 0.0
    path_smooth: float = 0.0
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    min_child_samples: int = 20
    cat_smooth: float = 10.0
    cat_l2: float = 10.0
    max_cat_threshold: int = 32
    max_cat_to_onehot: int = 4
    min_data_per_group: int = 100


FREE = Options(
    min_child_weight=0.0,
    min_child_samples=1,
    cat_smooth=0.0,
    cat_l2=0.0,
    max_cat_threshold=1000,
    min_data_per_group=1,
)


def histogram(n_bins: int, n_rows: int, seed: int, spread: int = 1000) -> np.ndarray:
    """Gradients, hessians and counts by bin, integers; few rows in most bins."""
    rng = np.random.default_rng(seed)
    share = rng.random(n_bins) ** 3 + 1e-9
    count = rng.multinomial(n_rows, share / share.sum())
    slope = rng.normal(size=n_bins)
    gradient = np.rint(spread * (slope * count + rng.normal(size=n_bins) * count**0.5))
    hessian = rng.integers(1, 3, n_bins) * count
    return np.array([gradient, hessian, count]).astype(np.int64)


def search(sums: np.ndarray, options: Options, unit: float = 1.0):
    gradient, hessian, count = sums
    return best_categories(gradient, hessian, count.astype(np.int32), options, unit)


def reference_search(sums: np.ndarray, options: Options, unit: float = 1.0):
    grower = ReferenceGrower(SimpleNamespace(n_rows=0), options, [], [])
    scaled = sums * np.array([[unit], [unit], [1]])
    gradient, hessian, count = scaled.sum(axis=1)
    output = grower.output(gradient, hessian, count, 0.0)
    node = SimpleNamespace(
        gradient=gradient, hessian=hessian, count=count, output=output
    )
    gain, bins = grower.search_categories(node, scaled)
    goes_left = np.zeros(sums.shape[1], dtype=bool)
    if bins is not None:
        goes_left[bins] = True
    return gain, goes_left


def assert_as_reference(sums: np.ndarray, options: Options, unit: float = 1.0) -> float:
    gain, goes_left = search(sums, options, unit)
    expected_gain, expected = reference_search(sums, options, unit)
    np.testing.assert_array_equal(goes_left, expected)
    assert gain == pytest.approx(expected_gain, rel=1e-12)
    return gain


OPTIONS = {
    "defaults": Options(),
    "free": FREE,
    "l1": Options(reg_alpha=500.0, reg_lambda=3.0),
    "step": Options(max_delta_step=0.1),
    "smooth": Options(path_smooth=20.0, cat_l2=0.0),
    "gain": Options(min_split_gain=50.0),
    "groups": Options(min_data_per_group=5, max_cat_threshold=4),
    "weight": Options(min_child_weight=0.1, min_data_per_group=1),
    "all one-hot": Options(max_cat_to_onehot=1000),
    "none one-hot": Options(max_cat_to_onehot=1, cat_smooth=0.0, cat_l2=0.5),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("n_bins", [1, 2, 3, 4, 5, 8, 33, 300])
def test_searches_agree_with_the_reference(n_bins, options):
    gains = [
        assert_as_reference(histogram(n_bins, n_rows, seed), options, unit=2.0**-10)
        for n_rows, seed in itertools.product([30, 400, 5000], range(5))
    ]
    assert n_bins < 3 or any(gains)


def test_equal_categories_keep_their_order():
    """Ties of rank are common among categories of few rows."""
    for seed in range(30):
        sums = histogram(60, 300, seed, spread=1)
        sums[0] = np.clip(sums[0], -2, 2)
        assert_as_reference(sums, replace(FREE, cat_smooth=1.0, max_cat_threshold=7))
        assert_as_reference(sums, FREE)


@pytest.mark.parametrize("n_bins", [5000, 65535])
def test_many_categories(n_bins):
    sums = histogram(n_bins, 40 * n_bins, seed=1)
    assert assert_as_reference(sums, Options()) > 0
    assert assert_as_reference(sums, replace(FREE, max_cat_threshold=1500)) > 0


@pytest.mark.parametrize("sampled", ["lowest", "highest", "both", "equal"])
@pytest.mark.parametrize("n_categories", [1000, 1003])
def test_a_sample_of_ranks_may_mislead(n_categories, sampled):
    """The ends of a long list are looked for by the ranks of 32 of its categories."""
    sums = histogram(n_categories + 1, 40 * n_categories, seed=3)
    sums[1:, 1:] = np.maximum(sums[1:, 1:], 50)
    at = 1 + np.arange(32) * n_categories // 32
    far = {"lowest": -1, "highest": 1, "both": (-1) ** np.arange(32), "equal": 0}
    sums[0, at] = 10**6 * far[sampled] * sums[2, at]
    for options in (Options(), replace(FREE, max_cat_threshold=60)):
        assert assert_as_reference(sums, options) > 0


@pytest.mark.parametrize("seed", range(10))
def test_no_other_set_gains_more(seed):
    """Fisher's theorem, by trying all sets."""
    sums = histogram(9, 500, seed)
    sums[1] = sums[2]
    sums[:, 0] = 0
    gain, goes_left = search(sums, FREE)
    grower = ReferenceGrower(SimpleNamespace(n_rows=0), FREE, [], [])
    total = sums.sum(axis=1)
    own = grower.gain(*total[:2], grower.output(*total, 0.0))
    # A set of more than half of the categories is the rest of a smaller one.
    sets = itertools.chain.from_iterable(
        itertools.combinations(range(1, 9), n) for n in range(1, 5)
    )
    gains = []
    for bins in sets:
        left = sums[:, list(bins)].sum(axis=1)
        if 0 < left[2] < total[2]:
            gains.append(grower.gain_of_two(left, total - left, 0.0) - own)
    assert gain == pytest.approx(max(gains), rel=1e-12)
    assert not goes_left[0]


def test_nothing_to_gain():
    flat = np.array([[0] * 10, [50] * 10, [50] * 10])
    for options in (FREE, Options(), Options(max_cat_to_onehot=10)):
        gain, goes_left = search(flat, options)
        assert gain == 0
        assert not goes_left.any()
    only_rare = np.array([[100, 0, 0, 0, 0, 0], [9] + [0] * 5, [9] + [0] * 5])
    assert search(only_rare, FREE)[0] == 0


def test_sums_must_be_of_equal_length():
    sums = histogram(5, 100, seed=0)
    with pytest.raises(ValueError, match="one entry for each bin"):
        best_categories(sums[0], sums[1], np.ones(4, np.int32), FREE)


def lightgbm_set(category, y, n_categories: int, options: Options) -> set[int]:
    """The categories that LightGBM's first split sends left."""
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.train(
        {
            "objective": "regression",
            "num_leaves": 2,
            "verbose": -1,
            "num_threads": 1,
            "boost_from_average": True,
            "max_bin": n_categories + 2,
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            **vars(options),
        },
        lightgbm.Dataset(category[:, None].astype(float), y, categorical_feature=[0]),
        num_boost_round=1,
    )
    tree = model.dump_model()["tree_info"][0]["tree_structure"]
    if "threshold" not in tree:
        return set()
    assert tree["decision_type"] == "=="
    return {int(code) for code in tree["threshold"].split("||")}


LIGHTGBM_OPTIONS = {
    "defaults": Options(),
    "group": Options(min_data_per_group=20, cat_smooth=25.0),
    "threshold": Options(max_cat_threshold=3, cat_l2=100.0),
    "rows": Options(min_child_samples=400, min_data_per_group=500),
    "alpha": Options(reg_alpha=20.0, reg_lambda=5.0),
    "one-hot": Options(max_cat_to_onehot=100),
}


@pytest.mark.parametrize("options", LIGHTGBM_OPTIONS.values(), ids=LIGHTGBM_OPTIONS)
@pytest.mark.parametrize("n_categories", [3, 10, 60])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_split_is_lightgbms(n_categories, options, seed):
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(2, n_categories + 2)
    category = rng.choice(n_categories, 4000, p=share / share.sum())
    y = rng.normal(size=n_categories)[category] + rng.normal(size=4000)
    y -= y.mean()
    # LightGBM numbers the bins by falling counts, of equal ones the smaller code first.
    # The last category shares bin 0 if it has less than a hundredth of the rows.
    count = np.bincount(category, minlength=n_categories)
    order = np.argsort(-count, kind="stable")
    bin_of = np.empty(n_categories, dtype=int)
    bin_of[order] = np.arange(1, n_categories + 1)
    if count.min() <= 40:
        bin_of[order[-1]] = 0
        order = order[:-1]
    bins, size = bin_of[category], len(order) + 1
    count = np.bincount(bins, minlength=size)
    gradient = np.rint(np.bincount(bins, -y, size) * 2.0**30)
    sums = np.array([gradient, count * 2.0**30, count]).astype(np.int64)
    gain, goes_left = search(sums, options, unit=2.0**-30)
    expected = lightgbm_set(category, y, n_categories, options)
    assert bool(gain) == bool(expected)
    assert set(order[goes_left[1:]].tolist()) == expected


@pytest.mark.parametrize(("least", "counts"), [(60, [60, 800]), (61, [400, 460])])
def test_both_sides_have_the_least_number_of_rows(least, counts):
    """The best set leaves 60 rows on the right."""
    sizes = [400, 400, 20, 20, 20]
    word = np.repeat(np.arange(5), sizes)
    y = np.repeat([0.0, 0.1, 9.0, 10.0, 11.0], sizes) + word % 7
    model = LGBMRegressor(n_estimators=1, num_leaves=2, min_data_per_group=least)
    model.set_params(categorical_feature=[0]).fit(word[:, None], y)
    assert model._model.trees.tree(0).leaf_count.tolist() == counts
