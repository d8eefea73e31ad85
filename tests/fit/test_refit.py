"""Leaf values that are fitted again to other rows."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import Booster, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.objectives.objectives import OBJECTIVES

lightgbm = pytest.importorskip("lightgbm")
from helpers.lightgbm_boosters import (  # noqa: E402
    data,
    from_lightgbm,
    linear_pair,
    nodes_and_leaves,
    trained,
)


def codes(X):
    """A frame as numbers, as LightGBM's trees know it."""
    return X.assign(f=X["f"].cat.codes.astype(float)).to_numpy(dtype=float)


def targets_of(objective, y):
    return {
        "binary": y > 1,
        "cross_entropy": 1 / (1 + np.exp(-y)),
        "multiclass": np.digitize(y, [1, 3]),
        "multiclassova": np.digitize(y, [1, 3]),
        "lambdarank": np.digitize(y, [0, 1, 3]),
    }.get(objective, y - y.min() + 0.5) * 1.0


REFITS = {
    "regression": {},
    "sqrt": {"reg_sqrt": True},
    "penalties": {"lambda_l1": 3.0, "lambda_l2": 7.0, "max_delta_step": 0.5},
    "no average": {"boost_from_average": False, "learning_rate": 0.3},
    # From the mean, LightGBM's refit goes back to 0.
    "poisson": {"poisson_max_delta_step": 0.4, "boost_from_average": False},
    "gamma": {"boost_from_average": False},
    "tweedie": {"tweedie_variance_power": 1.2, "boost_from_average": False},
    "cross_entropy": {},
    "binary": {"scale_pos_weight": 2.0, "sigmoid": 0.7},
    "multiclass": {"num_class": 3},
    "multiclassova": {"num_class": 3, "sigmoid": 1.5},
    "lambdarank": {"learning_rate": 0.2, "lambdarank_truncation_level": 7},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", REFITS)
def test_refitted_leaves_are_those_of_lightgbm(kind, weighted):
    objective = kind if kind in OBJECTIVES else "regression"
    groups = {"group": [40] * 10} if kind == "lambdarank" else {}
    others = {"group": [20] * 10} if kind == "lambdarank" else {}
    X, y = data()
    theirs = trained(
        X=X, y=targets_of(objective, y), objective=objective, **REFITS[kind], **groups
    )
    if kind == "mape" and weighted:
        others["decay_rate"] = 0.0
    ours = from_lightgbm(theirs)
    X, y = data(200, seed=1)
    label = targets_of(objective, y)
    if weighted:
        others["weight"] = np.random.default_rng(2).uniform(0.5, 2, len(y))
    expected = theirs.refit(X, label, **others)
    found = ours.refit(codes(X), label, **others)
    np.testing.assert_allclose(
        leaf_values(found), leaf_values(expected), rtol=1e-5, atol=1e-6
    )
    assert np.abs(leaf_values(found) - leaf_values(ours)).max() > 1e-3


def leaf_values(booster):
    return np.array(
        [
            leaf["leaf_value"]
            for tree in booster.dump_model()["tree_info"]
            for leaf in nodes_and_leaves(tree["tree_structure"])[1]
        ]
    )


def test_refit_changes_nothing_but_leaf_values():
    theirs = trained()
    ours = from_lightgbm(theirs)
    before = ours.dump_model()
    X, y = data(200, seed=1)
    found = ours.refit(codes(X), y, 0.4)
    assert ours.dump_model() == before
    old, new = ours._model.trees.arrays, found._model.trees.arrays
    for name in old:
        assert np.array_equal(old[name], new[name]) == (name != "leaf_value")
    assert found.params == {**ours.params, "refit_decay_rate": 0.4}
    assert "refit_decay_rate" not in ours.params
    assert type(found) is Booster


def test_leaves_without_rows_lose_their_share_as_in_lightgbm():
    theirs = trained()
    ours = from_lightgbm(theirs)
    X, y = data(200, seed=1)
    X, y = X[X["f"] == "x"], y[X["f"] == "x"]
    reached = np.unique(ours.predict(codes(X), pred_leaf=True)[:, 0])
    found, expected = ours.refit(codes(X), y), theirs.refit(X, y)
    np.testing.assert_allclose(leaf_values(found), leaf_values(expected), rtol=1e-6)
    empty = np.setdiff1d(np.arange(7), reached)
    assert len(empty)
    for leaf in empty.tolist():
        old = ours.get_leaf_output(0, leaf)
        assert found.get_leaf_output(0, leaf) == pytest.approx(0.9 * old)


def test_refit_starts_from_init_score():
    theirs = trained()
    ours = from_lightgbm(theirs)
    X, y = data(200, seed=1)
    start = np.random.default_rng(3).normal(size=len(y))
    found = ours.refit(codes(X), y, init_score=start)
    expected = theirs.refit(X, y, init_score=start)
    np.testing.assert_allclose(leaf_values(found), leaf_values(expected), rtol=1e-6)


def test_refitted_linear_leaves_are_those_of_lightgbm():
    theirs, ours = linear_pair()
    X, y = data(1000, seed=1)
    X = X[["a", "d", "b"]].dropna()
    y = y[X.index]
    found, expected = ours.refit(X.to_numpy(), y), theirs.refit(X, y)
    np.testing.assert_allclose(
        found.predict(X), expected.predict(X), rtol=1e-6, atol=1e-6
    )
    assert np.abs(found.predict(X) - ours.predict(X)).max() > 1e-3


def test_refitted_forests_keep_their_mean():
    X, y = data()
    options = {"subsample": 0.5, "subsample_freq": 1, "num_leaves": 5}
    model = LGBMRegressor(boosting_type="rf", **options).fit(X, y)
    found = model.booster_.refit(X, y + 100, decay_rate=0.0).predict(X)
    assert found.mean() == pytest.approx((y + 100).mean(), rel=0.01)
    assert ((found - y - 100) ** 2).mean() < 1.1 * ((model.predict(X) - y) ** 2).mean()


# LightGBM's refit gives these other leaves than its fit.
OTHER_LEAVES = {
    "regression_l1": {},
    "huber": {"alpha": 0.5},
    "fair": {"fair_c": 20.0},
    "quantile": {"alpha": 0.3},
    "mape": {},
}


LOGARITHMS = ["poisson", "gamma", "tweedie"]


@pytest.mark.parametrize("objective", ["regression", *OTHER_LEAVES, *LOGARITHMS])
@pytest.mark.parametrize("weighted", [False, True])
def test_refit_on_the_same_rows_keeps_the_model(objective, weighted):
    X, y = data()
    options = {"n_estimators": 5, "learning_rate": 0.7, "boost_from_average": False}
    if objective in LOGARITHMS:
        y, options["learning_rate"] = targets_of(objective, y), 0.2  # no long steps
    options |= OTHER_LEAVES.get(objective, {})
    weight = np.random.default_rng(0).integers(1, 4, len(y)) * 1.0
    weight = weight if weighted else None
    model = LGBMRegressor(objective=objective, **options)
    model.fit(X, y, sample_weight=weight)
    found = model.booster_.refit(X, y, decay_rate=0.0, weight=weight)
    np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("objective", ["regression", *OTHER_LEAVES])
def test_refit_of_large_targets(objective):
    X, y = data()
    options = OTHER_LEAVES.get(objective, {})
    booster = LGBMRegressor(objective=objective, **options).fit(X, y).booster_
    near = booster.refit(X, y, decay_rate=0.0).predict(X)
    far = booster.refit(X, y + 5e4, decay_rate=0.0).predict(X) - 5e4
    if objective == "mape":  # weights are relative to the targets
        near = booster.refit(X, y, decay_rate=0.0, weight=np.maximum(1, abs(y)))
        near = near.predict(X)
    np.testing.assert_allclose(far, near, atol=0.5)
    level = np.mean(y <= far)
    assert level == pytest.approx(options.get("alpha", 0.5), abs=0.15)


@pytest.mark.parametrize("scale", [1e-4, 5e4])
@pytest.mark.parametrize("objective", LOGARITHMS)
def test_refit_of_logarithms_has_no_scale(objective, scale):
    X, y = data()
    y = targets_of(objective, y)
    booster = LGBMRegressor(objective=objective).fit(X, y).booster_
    near = booster.refit(X, y, decay_rate=0.0).predict(X)
    far = booster.refit(X, y * scale, decay_rate=0.0).predict(X)
    np.testing.assert_allclose(far, near * scale, rtol=1e-3)
    assert far.mean() == pytest.approx(y.mean() * scale, rel=0.05)
    assert ((near - y) ** 2).mean() < 0.05 * y.var()
    # Start scores of the user are not added to: steps from there have an end, too.
    start = np.zeros(len(y))
    assert np.isfinite(booster.refit(X, y * scale, init_score=start).predict(X)).all()


def test_refitted_steps_are_not_longer_than_those_of_a_fit():
    X, y = data()
    booster = LGBMRegressor(objective="fair", n_estimators=50).fit(X, y).booster_
    found = booster.refit(X, y * 1e4, decay_rate=0.0).predict(X)
    assert np.ptp(found) < np.ptp(y * 1e4)
    assert np.corrcoef(found, y)[0, 1] > 0.5


def test_refit_leaves_out_rows_of_weight_zero():
    X, y = data()
    booster = LGBMRegressor(n_estimators=5).fit(X, y).booster_
    X, y = data(200, seed=1)
    kept = np.arange(200) % 3 > 0
    found = booster.refit(X, y, weight=kept * 1.0)
    expected = booster.refit(X[kept], y[kept])
    np.testing.assert_array_equal(leaf_values(found), leaf_values(expected))


def test_refit_with_an_objective_of_the_user():
    def squared(y, p):
        return p - y, np.ones(len(y))

    X, y = data()
    options = {"n_estimators": 5, "boost_from_average": False}
    own = LGBMRegressor(objective=squared, **options).fit(X, y).booster_
    usual = LGBMRegressor(**options).fit(X, y).booster_
    X, y = data(200, seed=1)
    np.testing.assert_allclose(
        own.refit(X, y).predict(X), usual.refit(X, y).predict(X), rtol=1e-5
    )


def test_refit_of_a_ranker():
    X, y = data()
    grades = np.digitize(y, [0, 1, 3])
    model = LGBMRanker(n_estimators=3).fit(X, grades, group=[40] * 10)
    found = model.booster_.refit(X, grades.max() - grades, 0.0, group=[40] * 10)
    assert model.score(X, grades, group=[40] * 10) > 0.9
    order = np.corrcoef(found.predict(X), model.predict(X))[0, 1]
    assert order < -0.5


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"decay_rate": 1.5}, r"decay_rate must lie in \[0, 1\]"),
        ({"decay_rate": "x"}, r"decay_rate must lie in \[0, 1\]"),
        ({"label": [1.0, 2.0]}, "inconsistent numbers of samples"),
        ({"label": np.full(400, 7)}, "label must hold the numbers 0 to 2"),
        ({"weight": np.full(400, -1.0)}, "weight must hold finite numbers >= 0"),
        ({"init_score": np.zeros(400)}, r"init_score must have the shape \(400, 3\)"),
        ({"categorical_feature": ["a"]}, "hold categories in the model"),
        ({"data": np.zeros((400, 2))}, "2 features, but Booster is expecting 6"),
    ],
)
def test_bad_arguments_of_refit(arguments, match):
    X, y = data()
    label = np.digitize(y, [1, 3])
    booster = LGBMClassifier(n_estimators=2).fit(X, label).booster_
    with pytest.raises(ValueError, match=match):
        booster.refit(**{"data": X, "label": label, **arguments})


def test_refit_checks_its_options():
    X, y = data()
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    booster.params["lambda_l2"] = -1
    with pytest.raises(ValueError, match="'reg_lambda' parameter of refit"):
        booster.refit(X, y)


def test_refit_accepts_the_categorical_columns_of_the_model():
    X, y = data()
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    found = booster.refit(X, y, categorical_feature=["f"], reference=object())
    np.testing.assert_array_equal(found.predict(X), booster.refit(X, y).predict(X))


@pytest.mark.parametrize("objective", LOGARITHMS)
def test_refit_of_logarithms_starts_from_init_score_alone(objective):
    X, y = data()
    X, y = codes(X), 1000.0 * np.exp(0.3 * y)
    model = LGBMRegressor(objective=objective, n_estimators=5).fit(X, y)
    start = np.full(len(y), np.log(y.mean()))
    found = model.booster_.refit(X, y, decay_rate=0.0, init_score=start)
    scores = start + found.predict(X, raw_score=True)
    assert np.exp(scores).mean() == pytest.approx(y.mean(), rel=0.1)
