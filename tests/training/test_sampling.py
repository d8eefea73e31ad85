"""Samples of rows, columns and cuts: the right size, repeatable, and new each time."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.fits import Fit, fit, smooth_target, table
from helpers.reference import grower_of, rounds_of
from helpers.same_trees import assert_same_tree, assert_values, replay
from skgoss import Booster, Dataset, LGBMClassifier, LGBMRegressor
from skgoss._engine.training.sampling_kernels import bagging_mask, kept_rows

N = 1200


def data(n_features: int = 6, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    X = table(n, n_features, seed=20)
    return X, smooth_target(X)


def noise(n_features: int, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Columns that are all as good as each other, so that each drawn one is used."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((n, n_features))
    return X, X.sum(axis=1) + 0.1 * rng.standard_normal(n)


def assert_same_models(one: Fit, other: Fit) -> None:
    assert one.ensemble.n_trees == other.ensemble.n_trees
    for a, b in zip(one.ensemble.trees, other.ensemble.trees, strict=True):
        assert_same_tree(a, b, rtol=0)


def assert_other_models(one: Fit, other: Fit) -> None:
    assert (one.raw() != other.raw()).mean() > 0.5


# --- Columns --------------------------------------------------------------------------


def columns_of(fitted: Fit) -> list[tuple[int, ...]]:
    return [tuple(np.unique(t.split_feature)) for t in fitted.ensemble.trees]


@pytest.mark.parametrize(
    ("n_features", "fraction", "n_drawn"),
    [(10, 0.3, 3), (10, 0.01, 1), (7, 0.5, 4), (1, 0.5, 1)],
)
def test_columns_of_a_tree(n_features, fraction, n_drawn):
    X, y = noise(n_features)
    fitted = fit(X, y, colsample_bytree=fraction, n_estimators=40)
    used = columns_of(fitted)
    assert {len(u) for u in used} == {n_drawn}
    assert set().union(*used) == set(range(n_features))
    if n_drawn < n_features:
        assert len(set(used)) >= min(10, n_features)


def test_columns_are_drawn_from_those_with_bins():
    X, y = noise(6)
    X[:, ::2] = 0.0
    used = columns_of(fit(X, y, colsample_bytree=0.67, n_estimators=20))
    assert {len(u) for u in used} == {2}
    assert set().union(*used) == {1, 3, 5}


def test_every_column_is_drawn_as_often_as_others():
    X, y = noise(8, n=200)
    fitted = fit(X, y, colsample_bytree=0.25, n_estimators=800, num_leaves=31)
    times = np.bincount(np.concatenate(columns_of(fitted)), minlength=8)
    np.testing.assert_allclose(times, 200, atol=5 * np.sqrt(200 * 0.75))


def test_columns_of_a_node():
    X, y = noise(10)
    options = {"n_estimators": 30, "num_leaves": 2, "feature_fraction_bynode": 0.3}
    roots = np.concatenate(columns_of(fit(X, y, **options)))
    assert len(set(roots)) > 5

    # One column a node, and still several in a tree.
    fitted = fit(X, y, n_estimators=5, feature_fraction_bynode=0.1)
    assert all(len(u) > 5 for u in columns_of(fitted))


def test_columns_of_a_node_are_among_the_trees():
    X, y = noise(10)
    fitted = fit(
        X, y, colsample_bytree=0.4, feature_fraction_bynode=0.5, n_estimators=20
    )
    assert {len(u) for u in columns_of(fitted)} == {4}


# --- One random cut -------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_child_samples": 250},
        {"min_child_samples": 1, "num_leaves": 60},
        {"zero_as_missing": True},
        {"max_bin": 3},
        {"max_bin": 800, "min_data_in_bin": 1},
        {"use_missing": False, "min_child_samples": 100},
        {"path_smooth": 3.0, "min_split_gain": 1.0},
    ],
    ids=str,
)
def test_random_cuts_are_allowed_ones(options):
    """And the gains, sums and values written down are those of the cuts."""
    X, y = data()
    fitted = fit(X, y, extra_trees=True, n_estimators=3, **options)
    for tree, gradient, hessian in rounds_of(fitted, None):
        grower = grower_of(fitted, gradient, hessian)
        leaves = replay(grower, tree, slack=1.0)
        if tree.n_leaves > 1 and "path_smooth" not in options:
            assert_values(tree, leaves, grower)
        assert min(leaf.count for leaf in leaves) >= fitted.settings.min_child_samples


def test_one_cut_a_node_and_column():
    """Roots of one column: their cuts are as often in each tenth of the column."""
    rng = np.random.default_rng(22)
    X = rng.permutation(2000)[:, None].astype(float)
    fitted = fit(
        X,
        X[:, 0],
        extra_trees=True,
        num_leaves=2,
        n_estimators=400,
        learning_rate=1e-4,
        min_child_samples=1,
    )
    cuts = np.concatenate([tree.threshold for tree in fitted.ensemble.trees])
    tenths = np.bincount((cuts / 200).astype(int), minlength=10)
    assert len(cuts) == 400
    np.testing.assert_allclose(tenths, 40, atol=5 * np.sqrt(40))


# --- Rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.9])
def test_a_bag_has_about_its_share(fraction):
    n = 200_000
    kept = bagging_mask(n, fraction, 3, 0)
    assert abs(kept.mean() - fraction) < 5 * np.sqrt(fraction * (1 - fraction) / n)
    np.testing.assert_array_equal(kept, bagging_mask(n, fraction, 3, 0, 2))
    for other in (bagging_mask(n, fraction, 4, 0), bagging_mask(n, fraction, 3, 1)):
        both = fraction**2
        assert abs((kept & other).mean() - both) < 5 * np.sqrt(both / n)


@pytest.mark.parametrize("n", [0, 1, 999, 1000])
def test_a_bag_is_that_of_fewer_rows_and_that_of_the_others(n):
    whole = bagging_mask(1000, 0.5, 3, 0)
    np.testing.assert_array_equal(bagging_mask(n, 0.5, 3, 0), whole[:n])
    rest = bagging_mask(1000 - n, 0.5, 3, 0, first=n)
    np.testing.assert_array_equal(rest, whole[n:])


@pytest.mark.parametrize("n", [0, 1, 15, 1025, 32_768, 100_003])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_rows_of_masks(n, share):
    mask = np.random.default_rng(n).random(n) < share
    for n_threads in (1, 2):
        rows = kept_rows(mask, n_threads)
        assert rows.dtype == np.uint32
        np.testing.assert_array_equal(rows, np.flatnonzero(mask))


def bag_sizes(fitted: Fit) -> list[int]:
    return [int(tree.leaf_count.sum()) for tree in fitted.ensemble.trees]


def test_bags_are_drawn_every_subsample_freq_rounds():
    X, y = data()
    sizes = bag_sizes(fit(X, y, subsample=0.6, subsample_freq=3, n_estimators=9))
    assert sizes[0:3] == sizes[0:1] * 3
    assert sizes[3:6] == sizes[3:4] * 3
    assert len(set(sizes)) == 3
    assert all(abs(size - 0.6 * N) < 5 * np.sqrt(0.24 * N) for size in sizes)


@pytest.mark.parametrize("freq", [0, -1])
def test_no_bags_without_a_frequency(freq):
    X, y = data()
    options = {"n_estimators": 3, "subsample_freq": freq}
    assert_same_models(fit(X, y, subsample=0.5, **options), fit(X, y, **options))


@pytest.mark.parametrize("classes", [0, 3])
def test_sides_are_drawn_by_their_shares_for_two_classes_only(classes):
    X, y = data()
    y = np.digitize(y, np.quantile(y, [0.3, 0.6])) * 1.0 if classes else y
    options = {"n_estimators": 3, "pos_bagging_fraction": 0.3, "subsample_freq": 1}
    options |= {"objective": "multiclass" if classes else "regression"}
    both = [
        fit(X, y, **options | change, n_classes=classes or None)
        for change in ({}, {"subsample_freq": 0})
    ]
    assert_same_models(*both)


@pytest.mark.parametrize("objective", ["regression", "poisson"])
@pytest.mark.parametrize("freq", [1, 2])
def test_rows_outside_the_bag_are_scored(objective, freq):
    """Trees are grown on the bag alone, by gradients at the predictions so far."""
    X, y = data()
    y = np.exp(y) if objective == "poisson" else y
    fitted = fit(
        X,
        y,
        objective=objective,
        subsample=0.4,
        subsample_freq=freq,
        n_estimators=6,
        num_leaves=12,
    )
    seed = fitted.settings.bagging_seed
    for i, (tree, gradient, hessian) in enumerate(rounds_of(fitted, None)):
        bag = np.flatnonzero(bagging_mask(N, 0.4, seed, i - i % freq))
        grower = grower_of(fitted, gradient, hessian, bag)
        leaves = replay(grower, tree, slack=2e-3)
        assert_values(tree, leaves, grower)


def test_an_empty_bag_holds_a_row():
    X = np.arange(5.0)[:, None]
    fitted = fit(
        X,
        X[:, 0],
        subsample=1e-9,
        subsample_freq=1,
        min_child_samples=1,
        min_data_in_bin=1,
        n_estimators=3,
    )
    assert fitted.ensemble.n_rounds == 1
    np.testing.assert_allclose(fitted.raw(), 2.0)


# --- Seeds ----------------------------------------------------------------------------

SAMPLERS = {
    "bagging_seed": {"subsample": 0.6, "subsample_freq": 1},
    "feature_fraction_seed": {"colsample_bytree": 0.5, "feature_fraction_bynode": 0.5},
    "extra_seed": {"extra_trees": True},
}


@pytest.mark.parametrize("seed", SAMPLERS)
def test_a_seed_draws_its_samples(seed):
    X, y = data()
    options = {"n_estimators": 4, **SAMPLERS[seed]}
    first = fit(X, y, **options)
    assert_same_models(first, fit(X, y, **options, n_threads=2))
    assert_other_models(first, fit(X, y, n_estimators=4))
    assert_other_models(first, fit(X, y, **options, **{seed: 77}))
    for other in {"bagging_seed", "feature_fraction_seed", "extra_seed"} - {seed}:
        assert_same_models(first, fit(X, y, **options, **{other: 77}))


def test_max_drop_0_means_no_limit():
    options = {"boosting_type": "dart", "drop_rate": 1.0, "uniform_drop": True}
    options |= {"skip_drop": 0.0, "n_estimators": 8}
    X, y = data()
    none, many, one = (
        LGBMRegressor(max_drop=k, **options).fit(X, y).predict(X) for k in (0, 1000, 1)
    )
    np.testing.assert_array_equal(none, many)
    assert (none != one).any()


@pytest.mark.parametrize("uniform", [False, True])
def test_no_round_drops_more_than_max_drop(uniform):
    options = {"boosting": "dart", "drop_rate": 1.0, "skip_drop": 0.0, "max_drop": 3}
    booster = Booster({**options, "uniform_drop": uniform}, Dataset(*data(n=200)))
    for _ in range(30):
        booster.update()
    dropouts = booster._fit.rounds.finished.dropouts
    assert max(len(dropout.rounds) for dropout in dropouts) == 3


@pytest.mark.parametrize("seed", SAMPLERS)
def test_random_state_draws_all_samples(seed):
    X, y = data()
    models = [
        LGBMRegressor(n_estimators=4, random_state=state, n_jobs=1, **SAMPLERS[seed])
        .fit(X, y)
        .predict(X)
        for state in (1, 1, 2)
    ]
    np.testing.assert_array_equal(models[0], models[1])
    assert (models[0] != models[2]).mean() > 0.5


@pytest.mark.parametrize("seed", SAMPLERS)
def test_classes_draw_their_own_columns_from_one_bag(seed):
    X, y = data()
    y = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])).astype(float)
    fitted = fit(
        X, y, objective="multiclass", n_classes=3, n_estimators=4, **SAMPLERS[seed]
    )
    sizes = np.reshape(bag_sizes(fitted), (4, 3))
    assert (sizes == sizes[:, :1]).all()
    if seed == "feature_fraction_seed":
        assert len(set(columns_of(fitted))) > 4


@pytest.mark.parametrize("name", ["pos_bagging_fraction", "neg_bagging_fraction"])
def test_fractions_of_classes_are_those_of_their_names(name):
    X = np.arange(4000.0)[:, None] % 7
    y = np.arange(4000) % 4 == 0
    model = LGBMClassifier(n_estimators=1, subsample_freq=1, **{name: 0.2})
    count = model.fit(X, y).booster_.trees_to_dataframe()["count"][0]
    n_positive = int(y.sum())
    n_sampled, others = n_positive, len(y) - n_positive
    if name.startswith("neg"):
        n_sampled, others = others, n_sampled
    assert abs(count - others - 0.2 * n_sampled) < 100
