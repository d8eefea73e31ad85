"""Steps of leaves that are too long for their loss are shortened: it never climbs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softplus

from helpers.fits import fit, smooth_target, table
from helpers.reference import grower_of, log1p_from_below, rounds_of
from helpers.same_trees import assert_values, replay
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.objectives.objectives import OBJECTIVES

POWER = 1.5
LINKS = {name: objective.link for name, objective in OBJECTIVES.items()}


def exp_losses(y, raw, power):
    """Tweedie's deviance without constants; poisson at 1, gamma at 2."""
    own = raw if power == 1 else np.exp((1 - power) * raw) / (1 - power)
    other = raw if power == 2 else np.exp((2 - power) * raw) / (2 - power)
    return other - y * own


LOSSES = {
    "binary": lambda y, raw: softplus(raw) - y * raw,
    "cross_entropy": lambda y, raw: softplus(raw) - y * raw,
    "poisson": lambda y, raw: exp_losses(y, raw, 1.0),
    "gamma": lambda y, raw: exp_losses(y, raw, 2.0),
    "tweedie": lambda y, raw: exp_losses(y, raw, POWER),
    "fair": lambda y, raw: np.abs(raw - y) - np.log1p(np.abs(raw - y)),
}


def target(name, n, rng):
    if name == "binary":
        return rng.integers(0, 2, n).astype(float)
    if name == "cross_entropy":
        return rng.random(n)
    return rng.gamma(0.3, size=n) * 5 + (name == "gamma") * 1e-3


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", LOSSES)
def test_no_round_makes_the_loss_climb(name, rate, linear):
    """Wherever the scores start, even if hessians are tiny relative to gradients."""
    rng = np.random.default_rng(3)
    n = 2000
    X, y = rng.standard_normal((n, 4)), target(name, n, rng)
    start = (5 if LINKS[name] == "logistic" else 2) * rng.standard_normal(n)
    estimator = LGBMClassifier if name == "binary" else LGBMRegressor
    model = estimator(
        objective=name,
        tweedie_variance_power=POWER,
        learning_rate=rate,
        n_estimators=25,
        num_leaves=8,
        linear_tree=linear,
    ).fit(X, y, init_score=start)
    losses = []
    for n_rounds in range(26):
        grown = 0.0
        if n_rounds:
            grown = model.predict(X, raw_score=True, num_iteration=n_rounds)
        losses.append(LOSSES[name](y, start + grown).sum())
    # The engine rounds the sums of a leaf, not so the losses here.
    assert np.diff(losses).max() <= 1e-9 * abs(losses[0])
    assert losses[-1] < losses[0]


# Of errors that are above 0, by a level; below 0, by 1 - level.
OF_LEVELS = {"quantile": np.abs, "l1": np.abs, "expectile": np.square}


def largest_rise(name, level, rate, seed, **options):
    """By how much a round raises the loss, as a share of the loss before the first.

    There are few rows, with errors of very different sizes on both sides.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    X = rng.standard_normal((n, 3)).round(1)
    y = X[:, 0] + rng.choice([-1.0, 1.0], n) * rng.lognormal(0.0, 2.0, n)
    options |= {"num_leaves": 5, "min_child_samples": 3, "n_estimators": 10}
    model = LGBMRegressor(
        objective=name, alpha=level, learning_rate=rate, boost_from_average=False
    )
    model.set_params(**options).fit(X, y)
    raw = [model.predict(X, num_iteration=k) for k in range(1, model.n_iter_ + 1)]
    errors = y - np.array([0.0 * y, *raw])
    weight = np.where(errors > 0, level, 1.0 - level)
    losses = (weight * OF_LEVELS[name](errors)).sum(axis=1)
    return np.diff(losses).max() / losses[0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("quantile", {}),
        ("quantile", {"monotone_constraints": [1, -1, 0]}),
        ("l1", {"monotone_constraints": [1, -1, 0]}),
        ("expectile", {}),
        ("expectile", {"monotone_constraints": [1, -1, 0]}),
        ("expectile", {"linear_tree": True}),
    ],
)
@pytest.mark.filterwarnings("ignore:monotone_constraints. the prediction")
def test_no_round_raises_a_loss_with_kinks(name, options):
    levels = [0.5] if name == "l1" else [0.05, 0.3, 0.9]
    for level in levels:
        for rate in (0.1, 0.5, 1.0):
            for seed in range(20 // len(levels)):
                assert largest_rise(name, level, rate, seed, **options) <= 1e-12


def rare_classes(n, seed):
    """Eight classes, some rare and most nearly separable, and labels that are wrong."""
    rng = np.random.default_rng(seed)
    share = np.array([0.37, 0.2, 0.18, 0.17, 0.037, 0.034, 0.008, 0.001])
    y = rng.choice(8, n, p=share / share.sum())
    y[:16] = np.repeat(np.arange(8), 2)
    height = np.where(np.isin(y, [1, 3, 6, 7]), 0, rng.exponential(300 + 800 * y))
    speed = np.where(y == 7, 0, rng.integers(5, 40, n) + 40 * y)
    words = [rng.integers(0, k, n) for k in (280, 280, 58, 205)]
    X = np.c_[height.round(-1), speed, *words, rng.standard_normal((n, 2))]
    wrong = rng.random(n) < 0.01
    y[wrong] = rng.integers(0, 8, wrong.sum())
    return X, y


def largest_climb(X, y, **options):
    """By how much the training loss rises in a round, as a share of its first value."""
    model = LGBMClassifier(n_estimators=60, **options)
    model.fit(
        X,
        y,
        categorical_feature=[2, 3, 4, 5],
        eval_set=[(X, y)],
        eval_metric="multi_logloss",
    )
    losses = np.array(model.evals_result_["training"]["multi_logloss"])
    return np.diff(losses).max() / losses[0]


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "multiclass"},
        {"objective": "multiclassova"},
        {"objective": "multiclass", "linear_tree": True},
    ],
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_rare_classes_do_not_run_away(options, seed):
    X, y = rare_classes(6000, seed)
    assert largest_climb(X, y, **options) <= 0


def test_without_the_limit_they_would(monkeypatch):
    """The data above are what the limit is for."""
    loss = OBJECTIVES["multiclass"]
    unlimited = replace(loss, self_concordance=lambda settings: 0.0)
    monkeypatch.setitem(OBJECTIVES, "multiclass", unlimited)
    assert max(largest_climb(*rare_classes(6000, seed)) for seed in range(2)) > 0.01


def test_steps_of_a_forest_are_not_limited():
    """Gradients near 1 and hessians near exp(-9): a Newton step is 8,000 long."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((500, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(500) > 0

    def largest(**options):
        options |= {"n_estimators": 1, "learning_rate": 1.0, "min_child_weight": 0.0}
        options |= {"boost_from_average": False}
        model = LGBMClassifier(min_child_samples=1, objective="binary", **options)
        model.fit(X, y, init_score=np.full(len(X), -9.0))
        return np.abs(next(iter(model._model.trees.trees)).leaf_value).max()

    assert 5 < largest() < 10
    assert largest(boosting_type="rf", colsample_bytree=0.5) > 1000


@pytest.mark.parametrize(
    "name", ["binary", "cross_entropy", "poisson", "tweedie", "fair", "multiclass"]
)
def test_long_steps_are_those_of_the_reference(name):
    """A learning rate of 2 lets many steps reach their limit."""
    X = table(900, 6, seed=3)
    signal = 3 * smooth_target(X)
    y = {
        "binary": (signal > 0) * 1.0,
        "cross_entropy": expit(signal),
        "fair": 5 * signal,
        "multiclass": np.digitize(signal, [-2.0, 2.0]) * 1.0,
    }.get(name, np.exp(signal))
    n_classes = {"binary": 2, "multiclass": 3}.get(name)
    fitted = fit(
        X,
        y,
        objective=name,
        n_classes=n_classes,
        n_estimators=4,
        num_leaves=12,
        learning_rate=2.0,
    )
    limited = 0
    for tree, gradient, hessian in rounds_of(fitted, None):
        grower = grower_of(fitted, gradient, hessian)
        leaves = replay(grower, tree, slack=2e-3)
        assert_values(tree, leaves, grower)
        limited += sum(abs(grower.step(x.output)) < 2 * abs(x.output) for x in leaves)
    assert limited > 0


@pytest.mark.parametrize("name", ["fair", "poisson", "gamma", "tweedie", "binary"])
def test_third_derivatives_are_bounded_by_second_ones(name):
    """The constant of an objective is that of its loss, from the loss itself."""
    settings = fit(np.arange(9.0)[:, None], np.arange(9.0)).settings
    constant = OBJECTIVES[name].self_concordance(settings)
    raw = np.linspace(-8, 8, 4001)
    for y in (0.0, 1.0) if name == "binary" else (0.5, 3.0):
        loss = LOSSES[name](y, raw)
        second = np.gradient(np.gradient(loss, raw), raw)
        third = np.gradient(second, raw)
        inside = slice(10, -10)
        kink = np.abs(raw - y) < 0.02 if name == "fair" else np.zeros(len(raw), bool)
        ratio = np.where(kink, 0, np.abs(third) / second)[inside]
        assert 0.5 * constant < ratio.max() < 1.01 * constant


def test_log_softmax_moves_by_at_most_the_range_of_a_step():
    """The constant 2 of multiclass: |L'''| <= range * L'' along any direction."""
    rng = np.random.default_rng(0)
    t = np.linspace(-1, 1, 2001)
    for _ in range(50):
        scores, step = 3 * rng.standard_normal((2, 5))
        loss = -log_softmax(scores + t[:, None] * step, axis=1)[:, 0]
        second = np.gradient(np.gradient(loss, t), t)
        third = np.gradient(second, t)
        inside = slice(10, -10)
        limit = 2 * np.abs(step).max() * second
        assert np.all(np.abs(third)[inside] <= 1.001 * limit[inside] + 1e-6)


def test_the_limit_is_a_bound_of_the_logarithm_that_never_falls():
    x = np.sort(np.r_[0.0, 10.0 ** np.random.default_rng(0).uniform(-12, 12, 20000)])
    x = np.sort(np.r_[x, np.nextafter(x, np.inf), 2.0 ** np.arange(-11, 30) - 1])
    x = x[x >= 0]
    limit = np.array([log1p_from_below(value) for value in x])
    assert np.all(np.diff(limit) >= 0)
    assert np.all((limit <= np.log1p(x)) & (limit >= 0.96 * np.log1p(x)))
    # It does not jump.
    is_near = np.diff(x) < 1e-9 * x[1:]
    assert np.all((np.diff(limit) < 1e-8 * limit[1:])[is_near])


def test_steps_of_leaves_without_events_are_not_rounding():
    """Their Newton step is -1, where the logarithm passes a power of two."""
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.r_[np.zeros(20), np.arange(20) % 5]
    options = {"learning_rate": 1.0, "n_estimators": 1, "min_child_weight": 0.0}
    model = LGBMRegressor(objective="negative_binomial", **options)
    predictions = [
        model.fit(X, y, sample_weight=np.full(40, weight)).predict(X[:1])
        for weight in 0.3 * 10.0 ** np.arange(4.0, -8.0, -1.0)
    ]
    np.testing.assert_allclose(predictions, [predictions[0]] * 12, rtol=1e-3)


def test_a_users_squared_error_is_the_built_in_one_with_weights():
    """Hessians of 1 do not vary, whoever says so."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 4))
    y = X[:, 0] * X[:, 1]
    weight = np.exp(2 * rng.standard_normal(len(X)))
    predictions = [
        LGBMRegressor(objective=objective, n_estimators=20, boost_from_average=False)
        .fit(X, y, sample_weight=weight)
        .predict(X)
        for objective in ("regression", lambda y, raw: (raw - y, np.ones_like(y)))
    ]
    np.testing.assert_array_equal(*predictions)
