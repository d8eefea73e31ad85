"""Boosted trees against the reference implementation, LightGBM, and their contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from helpers.fits import Fit, fit, smooth_target, table
from helpers.reference import ReferenceGrower, grower_of, rounds_of
from helpers.same_trees import assert_same_tree, assert_values, replay
from skgoss import LGBMRegressor
from skgoss._engine.training.sampling_kernels import bagging_mask
from skgoss.model.ensemble import Tree

# --- The trees of the reference implementation ----------------------------------------
# Gradients that are small whole numbers fit the engine's integers as they are, so the
# trees must agree in every split, ties included, and the values but for the 1e-15 that
# is added to hessians in different places.
WHOLE_RTOL = 1e-9
ROUNDS = 3


def whole_slopes(n: int, kind: str, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Gradients and hessians of some rounds: small whole numbers with a signal."""
    rng = np.random.default_rng(seed)
    trend = np.sin(np.linspace(0, 20, n)) * 4
    rounds = []
    for _ in range(ROUNDS):
        gradient = np.rint(rng.integers(-6, 7, n) + trend)
        hessian = {
            "ones": np.ones(n),
            "whole": rng.integers(1, 6, n),
            "sparse": rng.integers(0, 3, n) * (rng.random(n) < 0.5),
            "negative": rng.integers(-1, 4, n),
        }[kind]
        rounds.append((gradient, np.asarray(hessian, dtype=float)))
    return rounds


def scripted(rounds: list[tuple[np.ndarray, np.ndarray]]) -> Callable[..., Any]:
    """An objective that gives what was written down for each round."""
    left = iter(rounds)

    def objective(y_true, y_pred):
        return next(left)

    return objective


def check_scripted(n, n_features, hessian, weighted=False, seed=0, **options) -> Fit:
    X = table(n, n_features, seed)
    X = X[np.argsort(np.nan_to_num(X[:, 0]), kind="stable")]
    rounds = whole_slopes(n, hessian, seed)
    weight = np.ones(n)
    if weighted:
        weight = np.random.default_rng(seed).choice([0.25, 1.0, 3.0], n)
    fitted = fit(
        X,
        np.zeros(n),
        weight if weighted else None,
        objective=scripted(rounds),
        n_estimators=ROUNDS,
        **options,
    )
    trees = fitted.ensemble.trees
    for i, derivatives in enumerate(rounds[: len(trees)]):
        of_rows = (values * weight for values in derivatives)
        expected = ReferenceGrower(fitted.data, fitted.settings, *of_rows).grow()
        assert_same_tree(trees[i], expected, WHOLE_RTOL)
    return fitted


OPTIONS = [
    {},
    {"reg_alpha": 3.0},
    {"reg_lambda": 5.0},
    {"reg_alpha": 8.0, "reg_lambda": 2.0, "min_split_gain": 3.0},
    {"max_delta_step": 0.3},
    {"max_delta_step": 0.05, "reg_lambda": 1.0},
    {"path_smooth": 5.0},
    {"path_smooth": 100.0, "max_delta_step": 0.5, "reg_alpha": 1.0},
    {"min_split_gain": 30.0},
    {"min_child_weight": 120.0},
    {"min_child_samples": 150},
    {"max_depth": 1},
    {"max_depth": 4, "num_leaves": 100},
    {"num_leaves": 2},
    {"num_leaves": 80, "min_child_samples": 5},
    {"max_bin": 2},
    {"max_bin": 12, "min_data_in_bin": 40},
    {"max_bin": 1000, "min_data_in_bin": 1},
    {"use_missing": False},
    {"zero_as_missing": True},
    {"learning_rate": 0.7},
]


@pytest.mark.parametrize("hessian", ["ones", "whole", "sparse"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_trees_are_those_of_the_reference(options, hessian):
    fitted = check_scripted(1000, 8, hessian, **options)
    assert fitted.ensemble.tree(0).n_leaves > 1


@pytest.mark.parametrize("options", OPTIONS[::3], ids=str)
def test_weighted_trees_are_those_of_the_reference(options):
    check_scripted(700, 5, "whole", weighted=True, **options)


@pytest.mark.parametrize("max_bin", [15, 255, 63, 1000])
@pytest.mark.parametrize("n_features", [1, 4, 5, 8, 9, 16, 17, 41])
def test_any_number_of_columns(n_features, max_bin):
    """Rows are read eight bins at a time, and accumulators have three strides."""
    fitted = check_scripted(
        400, n_features, "whole", max_bin=max_bin, min_data_in_bin=1, num_leaves=8
    )
    wide = fitted.data.n_bins.max() > 256
    assert (fitted.data.storage.shorts.size > 0) == wide


@pytest.mark.parametrize("n", [41, 200, 3000])
@pytest.mark.parametrize("hessian", ["ones", "negative"])
def test_any_number_of_rows(n, hessian):
    check_scripted(n, 6, hessian, min_child_weight=1.0)


@pytest.mark.parametrize("max_bin", [255, 1000])
def test_more_rows_than_packed_sums_can_hold(max_bin):
    """Sums of a leaf of more than 4095 rows are spilled in between."""
    check_scripted(10_000, 9, "whole", max_bin=max_bin)


@pytest.mark.parametrize(("n_giants", "max_bin"), [(1, 255), (500, 3)])
@pytest.mark.parametrize("which", ["gradients", "hessians", "both"])
def test_huge_ranges_need_wide_sums(which, n_giants, max_bin):
    """Giants of 2**30 leave no bits for the others in packed sums.

    Counts share words with what has giants. Many giants in a bin would overflow these
    words if they were not spilled.
    """
    n = 20_000
    X = table(n, 5)
    [(gradient, hessian), *_] = whole_slopes(n, "whole", 1)
    if which != "hessians":
        gradient[7 : 7 + n_giants] = 2.0**30
    if which != "gradients":
        hessian[11 : 11 + n_giants] = 2.0**30
    fitted = fit(
        X,
        np.zeros(n),
        objective=scripted([(gradient, hessian)]),
        n_estimators=1,
        min_child_samples=5,
        max_bin=max_bin,
    )
    expected = ReferenceGrower(fitted.data, fitted.settings, gradient, hessian).grow()
    assert_same_tree(fitted.ensemble.tree(0), expected, WHOLE_RTOL)


@pytest.mark.parametrize("max_depth", [1, 6, 9])
def test_the_deepest_leaves_have_max_depth(max_depth):
    """The target grows so fast that each split leaves one row on the right."""
    X, y = np.arange(12.0)[:, None], 4.0 ** np.arange(12)
    options = {"min_child_samples": 1, "min_data_in_bin": 1, "max_depth": max_depth}
    fitted = fit(X, y, n_estimators=1, **options)
    assert fitted.ensemble.tree(0).n_leaves == max_depth + 1


def test_leaf_of_one_row():
    X = np.arange(6.0)[:, None]
    y = np.array([0.0, 0, 0, 8, 0, 0])
    fitted = fit(
        X, y, min_child_samples=1, min_data_in_bin=1, n_estimators=1, learning_rate=1.0
    )
    tree = fitted.ensemble.tree(0)
    assert sorted(tree.leaf_count) == [1, 2, 3]
    np.testing.assert_allclose(fitted.raw()[:, 0], y, atol=1e-6)  # float32 gradients


def test_gradients_are_whole_for_constant_hessians_too():
    """L2 without a start score: the engine packs no hessian."""
    n = 1000
    X = table(n, 9)
    y = np.rint(4 * smooth_target(X))
    fitted = fit(X, y, boost_from_average=False, n_estimators=1)
    assert fitted.objective.constant_hessian
    expected = ReferenceGrower(fitted.data, fitted.settings, -y, np.ones(n)).grow()
    assert_same_tree(fitted.ensemble.tree(0), expected, WHOLE_RTOL)


# --- Missing values alone on one side -------------------------------------------------


def alone(X: np.ndarray, missing: np.ndarray, **options: Any) -> Tree:
    y = missing.astype(float)
    fitted = fit(
        X,
        y,
        n_estimators=1,
        learning_rate=1.0,
        min_child_samples=1,
        min_data_in_bin=1,
        **options,
    )
    np.testing.assert_allclose(fitted.raw()[:, 0], y, atol=1e-6)  # float32 gradients
    return fitted.ensemble.tree(0)


def test_nan_alone():
    X = np.repeat([1.0, np.nan, -2.0, np.nan], 5)[:, None]
    tree = alone(X, np.isnan(X[:, 0]))
    assert tree.n_leaves == 2
    assert tree.threshold == [np.inf]


@pytest.mark.parametrize("numbers", [[0, 1], [0, -1], [0, 1, 2, 3], [0, -1, -2]])
def test_zero_alone(numbers):
    X = np.repeat(np.array(numbers, dtype=float), 5)[:, None]
    tree = alone(X, X[:, 0] == 0, zero_as_missing=True)
    assert tree.n_leaves == 2


# --- Real losses ----------------------------------------------------------------------

# Here gradients are rounded to the engine's integers (14 bits at least where rows are
# many and hessians vary, some 40 bits in small data), once a round and to nearest. A
# chosen split may then be worse than the best one by this part of its gain.
SLACK = 2e-3


def check_rounds(fitted: Fit, weight: np.ndarray | None) -> None:
    for tree, gradient, hessian in rounds_of(fitted, weight):
        grower = grower_of(fitted, gradient, hessian, weight=weight)
        leaves = replay(grower, tree, SLACK)
        if tree.n_leaves > 1:
            assert_values(tree, leaves, grower)


LOSSES = {
    "regression": None,
    "huber": None,
    "poisson": None,
    "gamma": None,
    "tweedie": None,
    "cross_entropy": None,
    "binary": 2,
    "multiclass": 4,
    "multiclassova": 3,
}


def target_for(name: str, signal: np.ndarray, n_classes: int | None) -> np.ndarray:
    if n_classes:
        cuts = np.quantile(signal, np.arange(1, n_classes) / n_classes)
        return np.digitize(signal, cuts).astype(float)
    if name in ("poisson", "gamma", "tweedie"):
        return np.exp(signal)
    return 1 / (1 + np.exp(-signal)) if name == "cross_entropy" else signal


@pytest.mark.parametrize("weights", ["none", "any", "whole"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_boosted_like_the_reference(name, weights):
    n, n_classes = 900, LOSSES[name]
    X = table(n, 6, seed=3)
    y = target_for(name, smooth_target(X), n_classes)
    rng = np.random.default_rng(0)
    weight = {
        "none": None,
        "any": rng.gamma(1.0, size=n),
        "whole": rng.integers(1, 9, n).astype(float),
    }[weights]
    fitted = fit(
        X, y, weight, objective=name, n_classes=n_classes, n_estimators=4, num_leaves=12
    )
    check_rounds(fitted, weight)


@pytest.mark.parametrize(
    "options",
    [{"reg_lambda": 3.0, "reg_alpha": 0.5}, {"max_delta_step": 0.4}, {"max_bin": 500}],
    ids=str,
)
def test_options_are_boosted_like_the_reference(options):
    X = table(2500, 9, seed=4)
    y = target_for("binary", smooth_target(X), 2)
    fitted = fit(X, y, objective="binary", n_classes=2, n_estimators=3, **options)
    check_rounds(fitted, None)


@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_many_rows_are_boosted_like_the_reference(objective):
    X = table(10_000, 7, seed=5)
    n_classes = LOSSES[objective]
    y = target_for(objective, smooth_target(X), n_classes)
    fitted = fit(X, y, objective=objective, n_classes=n_classes, n_estimators=3)
    check_rounds(fitted, None)


@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_weights_of_twelve_orders_of_magnitude(objective):
    rng = np.random.default_rng(6)
    X = table(1200, 6, seed=6)
    n_classes = LOSSES[objective]
    y = target_for(objective, smooth_target(X), n_classes)
    weight = 10.0 ** rng.uniform(-6, 6, len(X))
    fitted = fit(X, y, weight, objective=objective, n_classes=n_classes, n_estimators=4)
    check_rounds(fitted, weight)


def test_heavy_tails():
    rng = np.random.default_rng(7)
    X = table(1500, 6, seed=7)
    y = rng.standard_cauchy(len(X)) ** 5 + smooth_target(X)
    check_rounds(fit(X, y, n_estimators=5), None)


# --- LightGBM -------------------------------------------------------------------------


@pytest.mark.usefixtures("interpolates")
@pytest.mark.parametrize(
    "objective", ["regression", "regression_l1", "quantile", "huber"]
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_bin": 20},
        {"max_bin": 700},
        {"min_child_samples": 100},
        {"max_depth": 3},
        {"num_leaves": 7, "learning_rate": 0.5},
        {"use_missing": False},
        {"min_data_in_bin": 50},
        {"boost_from_average": False},
    ],
    ids=str,
)
def test_predicts_like_lightgbm(objective, options):
    lgb = pytest.importorskip("lightgbm")
    X = table(3000, 9, seed=8)
    y = (3 * smooth_target(X)).astype(np.float32).astype(np.float64)
    # Gradients of a quantile are then 0.25 and -0.75: sums are exact, ties are ties.
    options = {"objective": objective, "alpha": 0.75, "n_estimators": 20, **options}
    fitted = fit(X, y, **options)
    model = lgb.LGBMRegressor(verbosity=-1, n_jobs=1, **options).fit(X, y)
    np.testing.assert_allclose(
        fitted.raw()[:, 0], model.predict(X, raw_score=True), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("path_smooth", [10.0, 3000.0])
def test_first_smoothed_tree_is_lightgbms(path_smooth, average):
    """The root is not smoothed: its children are drawn toward it, not toward 0."""
    lgb = pytest.importorskip("lightgbm")
    X = table(3000, 5, seed=11)
    y = (3 * smooth_target(X) + 5).astype(np.float32).astype(np.float64)
    options = {"path_smooth": path_smooth, "boost_from_average": average}
    options |= {"n_estimators": 1, "num_leaves": 4, "learning_rate": 1.0}
    model = lgb.LGBMRegressor(verbosity=-1, n_jobs=1, **options).fit(X, y)
    np.testing.assert_allclose(
        fit(X, y, **options).raw()[:, 0], model.predict(X), rtol=1e-6
    )


# --- The round loop -------------------------------------------------------------------


def small(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    X = table(n, 4, seed=9)
    return X, smooth_target(X)


@pytest.mark.parametrize(("y", "weight"), [(1e300, 1.0), (1.0, 1e300)])
def test_infinite_gradients_name_the_objective(y, weight):
    X, target = small()
    with pytest.raises(ValueError, match=r"objective 'regression'.*infinite"):
        fit(X, target * y * 1e5, np.full(len(X), weight) * 1e5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_gradients_of_a_function_name_it(bad):
    X, y = small()

    def mine(y_true, y_pred):
        return np.full(len(y_true), bad), np.ones(len(y_true))

    with pytest.raises(ValueError, match="'mine'"):
        fit(X, y, objective=mine)


# --- Renewed leaves -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "level"), [("regression_l1", 0.5), ("quantile", 0.8)]
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bags", [{}, {"subsample": 0.5, "subsample_freq": 1}])
def test_renewed_leaves_are_percentiles(objective, level, weighted, bags):
    """Of the rows of the bag; all rows are scored."""
    X = table(800, 5, seed=10)
    y = smooth_target(X)
    copies = np.random.default_rng(0).integers(1, 4, len(X))
    weight = copies.astype(float) if weighted else None
    repeats = copies if weighted else np.ones(len(X), dtype=int)
    rate = 0.3
    fitted = fit(
        X,
        y,
        weight,
        objective=objective,
        alpha=level,
        n_estimators=4,
        num_leaves=8,
        learning_rate=rate,
        **bags,
    )
    by_rank = partial(np.quantile, q=level, method="averaged_inverted_cdf")
    start = by_rank(np.repeat(y, repeats))
    np.testing.assert_allclose(fitted.objective.start, start, rtol=1e-12)
    score = np.full(len(X), start)
    for i, leaf_of in enumerate(fitted.leaves().T):
        values = fitted.ensemble.tree(i).leaf_value - (start if i == 0 else 0.0)
        bag = np.ones(len(X), dtype=bool)
        if bags:
            bag = bagging_mask(len(X), 0.5, fitted.settings.bagging_seed, i)
        for leaf in range(len(values)):
            rows = np.flatnonzero(bag & (leaf_of == leaf))
            assert fitted.ensemble.tree(i).leaf_count[leaf] == len(rows)
            residuals = np.repeat((y - score)[rows], repeats[rows])
            expected = rate * by_rank(residuals)
            np.testing.assert_allclose(values[leaf], expected, rtol=1e-9, atol=1e-12)
        score += values[leaf_of]
    np.testing.assert_allclose(score, fitted.raw()[:, 0], rtol=1e-12)


# --- Rounds whose drawn columns have no split -----------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"colsample_bytree": 0.25},
        {"feature_fraction_bynode": 0.25},
        {"extra_trees": True, "colsample_bytree": 0.5},
    ],
)
def test_other_columns_are_drawn_for_a_round_without_a_split(options):
    """One column in four has splits, so that most first draws have none."""
    X = np.random.default_rng(0).random((400, 4))
    y = np.where(X[:, 2] > 0.5, 100.0, -100.0)
    common = {"num_leaves": 2, "min_split_gain": 5e5, "learning_rate": 0.02}
    models = [
        LGBMRegressor(n_estimators=20, n_jobs=n, **common, **options).fit(X, y)
        for n in (1, 2)
    ]
    trees = [model.booster_.dump_model()["tree_info"] for model in models]
    assert trees[0] == trees[1]
    assert [t["tree_structure"]["split_feature"] for t in trees[0]] == [2] * 20
    # Where no column has a split, boosting ends.
    noise = LGBMRegressor(n_estimators=20, **common, **options)
    assert noise.fit(X, np.sign(y) * 1e-3).n_estimators_ == 1
