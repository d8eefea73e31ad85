"""The table of objectives, and the kernels of losses and links, against NumPy."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from scipy import special

from skgoss import LGBMRegressor, parameters
from skgoss._engine.objectives import link_kernels, loss_kernels
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.metric_names import chosen
from skgoss.objectives.metrics import Metric
from skgoss.objectives.objectives import (
    ANY,
    NOT_NEGATIVE,
    OBJECTIVES,
    POSITIVE,
    PROBABILITIES,
    make_link,
)
from skgoss.objectives.training_objective import make_objective

RNG = np.random.default_rng(7)
N = 1003
SCORES = RNG.normal(scale=2.0, size=N)
A, RHO, SIGMOID = 0.7, 1.3, 0.8
SETTINGS = parameters.make_settings(
    {
        "alpha": A,
        "fair_c": A,
        "poisson_max_delta_step": 1e-300,
        "tweedie_variance_power": RHO,
        "sigmoid": SIGMOID,
    },
    "LGBMModel",
)


def huber(y, p):
    x = np.abs(y - p)
    return np.where(x <= A, x * x / 2, A * (x - A / 2))


# The loss of a prediction.
LOSS = {
    "regression": lambda y, p: (y - p) ** 2 / 2,
    "regression_l1": lambda y, p: np.abs(y - p),
    "huber": huber,
    "fair": lambda y, p: A * np.abs(y - p) - A * A * np.log1p(np.abs(y - p) / A),
    "quantile": lambda y, p: np.maximum((1 - A) * (p - y), A * (y - p)),
    "expectile": lambda y, p: np.where(y >= p, A, 1 - A) * (y - p) ** 2,
    "mape": lambda y, p: np.abs(y - p) / np.maximum(1, np.abs(y)),
    "poisson": lambda y, p: p - y * np.log(p),
    "gamma": lambda y, p: y / p + np.log(p),
    "tweedie": lambda y, p: p ** (2 - RHO) / (2 - RHO) - y * p ** (1 - RHO) / (1 - RHO),
    "binary": lambda y, p: -np.log(np.where(y > 0, p, 1 - p)),
    "cross_entropy": lambda y, p: -y * np.log(p) - (1 - y) * np.log(1 - p),
    "cross_entropy_lambda": lambda y, p: (1 - y) * p - y * np.log(-np.expm1(-p)),
}
# Those whose start scores are estimates of the best constants, as in LightGBM.
ESTIMATED = ("huber", "fair", "cross_entropy_lambda")
# Distributions have tests of their own.
REGRESSION = [
    name
    for name, spec in OBJECTIVES.items()
    if spec.task == "regression" and spec.distribution is None
]


def target(name):
    """Targets that an objective is defined for."""
    spec = OBJECTIVES[name]
    if spec.task == "classification":
        return RNG.integers(0, 2, size=N).astype(float)
    return {
        ANY: RNG.normal(scale=3.0, size=N),
        NOT_NEGATIVE: RNG.poisson(1.0, size=N) * RNG.gamma(2.0, size=N),
        POSITIVE: RNG.gamma(2.0, size=N) + 1e-3,
        PROBABILITIES: RNG.random(N),
    }[spec.targets]


TARGETS = {name: target(name) for name in LOSS}


def predicted(name, scores):
    return make_link(name, SIGMOID)(scores)


def parameters_of(name):
    return (SIGMOID, 1.0) if name == "binary" else OBJECTIVES[name].constants(SETTINGS)


def derivatives(loss, scores, n_threads):
    gradient, hessian = np.full((2, *scores.shape), np.nan, dtype=np.float32)
    loss(scores, gradient, hessian, n_threads)
    return gradient, hessian


def slopes(name, scores, y, n_threads=1, parameters=None):
    loss = loss_kernels.Pointwise(name, y, [parameters or parameters_of(name)])
    gradient, hessian = derivatives(loss, scores[None], n_threads)
    return gradient[0], hessian[0]


def softmax_slopes(scores, y, n_threads=1):
    return derivatives(loss_kernels.Softmax(y), scores, n_threads)


def test_every_objective_and_loss_is_tested():
    assert set(LOSS) == {*REGRESSION, "binary"}
    # The kernel of this loss is another, because it depends on the weights.
    assert set(loss_kernels.LOSSES) == set(LOSS) - {"cross_entropy_lambda"}


@pytest.mark.parametrize("name", loss_kernels.LOSSES)
def test_slopes_are_differences_of_the_loss(name):
    y, step = TARGETS[name], 1e-4
    smooth = np.abs(np.abs(SCORES - y) - (A if name == "huber" else 0.0)) > step
    gradient, hessian = slopes(name, SCORES, y)
    below, here, above = (
        LOSS[name](y, predicted(name, SCORES + d)) for d in (-step, 0, step)
    )
    first = (above - below) / (2 * step)
    np.testing.assert_allclose(gradient[smooth], first[smooth], rtol=1e-5, atol=1e-5)
    if OBJECTIVES[name].constant_hessian:
        assert np.isnan(hessian).all()
        return
    second = (above - 2 * here + below) / step**2
    np.testing.assert_allclose(hessian[smooth], second[smooth], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", REGRESSION)
def test_the_metric_is_the_mean_loss(name, weighted):
    weight = RNG.gamma(1.0, size=N) if weighted else None
    if name == "cross_entropy_lambda" and weighted:
        pytest.skip("weights are part of the loss")
    p = predicted(name, SCORES)
    metric = Metric(OBJECTIVES[name].metric or name, SETTINGS)
    (result,) = metric(EvalData(TARGETS[name], p[None], weight, None, 1))
    expected = np.average(LOSS[name](TARGETS[name], p), weights=weight)
    factor = 2 if name == "regression" else 1
    np.testing.assert_allclose(result.value, factor * expected, rtol=1e-9)
    assert not result.maximize
    assert chosen(None, None, name) == ([metric.name], [])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [n for n in REGRESSION if n not in ESTIMATED])
def test_the_start_is_the_best_constant(name, weighted):
    weight = RNG.gamma(1.0, size=N) if weighted else None
    y, settings = TARGETS[name], SETTINGS.replaced(objective=name)
    (start,) = make_objective(settings, y, weight).average
    losses = [
        np.average(LOSS[name](y, predicted(name, start + step)), weights=weight)
        for step in (-0.1, -0.03, 0.0, 0.03, 0.1)
    ]
    # The quantile of LightGBM may differ from the best one.
    assert min(losses) >= losses[2] - 1e-3 * abs(losses[2])
    assert losses[0] > losses[2] < losses[4]


@pytest.mark.parametrize("reg_sqrt", [False, True])
@pytest.mark.parametrize("name", REGRESSION)
def test_lightgbm_predicts_the_same_by_the_text(name, reg_sqrt, lightgbm):
    X = RNG.normal(size=(N, 3))
    options = {"objective": name, "n_estimators": 3, "reg_sqrt": reg_sqrt}
    model = LGBMRegressor(**options).fit(X, TARGETS[name])
    peer = lightgbm.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_allclose(peer.predict(X), model.predict(X), rtol=1e-12)
    assert model.objective_ == name


@pytest.mark.parametrize("alpha", [0.001, 0.3, 0.5, 0.99])
def test_expectiles_are_exact_and_weights_are_copies(alpha):
    y, copies = RNG.lognormal(size=N), RNG.integers(1, 5, size=N)
    settings = SETTINGS.replaced(objective="expectile", alpha=alpha)
    (start,) = make_objective(settings, y, copies * 1.0).average
    above, below = np.maximum(y - start, 0), np.maximum(start - y, 0)
    np.testing.assert_allclose(
        alpha * (copies @ above), (1 - alpha) * (copies @ below), rtol=1e-11
    )
    assert make_objective(settings, np.repeat(y, copies), None).average[0] == start


def test_the_expectile_of_one_half_is_the_mean():
    y = TARGETS["expectile"]
    gradient, hessian = slopes("expectile", SCORES, y, parameters=(0.5, 0.0))
    np.testing.assert_array_equal(gradient, slopes("regression", SCORES, y)[0])
    np.testing.assert_array_equal(hessian, 1.0)


def test_constant_hessian_may_be_none():
    gradient = np.empty((1, N), dtype=np.float32)
    loss = loss_kernels.Pointwise("regression", TARGETS["regression"], [(0.0, 0.0)])
    loss(SCORES[None], gradient, None, 1)
    np.testing.assert_array_equal(
        gradient[0], (SCORES - TARGETS["regression"]).astype("f4")
    )


def test_the_kinks():
    y = np.zeros(3)
    f = np.array([-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(slopes("regression_l1", f, y)[0], [-1, 0, 1])
    np.testing.assert_allclose(slopes("quantile", f, y)[0], [-0.7, 0.3, 0.3])


def test_poisson_hessian_is_lifted_by_the_delta_step():
    y = TARGETS["poisson"]
    factor = math.exp(0.7)
    _, hessian = slopes("poisson", SCORES, y, parameters=(factor, 0.0))
    np.testing.assert_allclose(hessian, np.exp(SCORES) * factor, rtol=1e-7)


@pytest.mark.parametrize("y", [0.0, 1.0])
def test_sigmoid_losses_are_right_in_the_tails(y):
    f = np.array([-1e3, -720.0, -60.0, -30.0, 30.0, 60.0, 720.0, 1e3])
    y = np.full(8, y)
    margin = np.where(y > 0, f, -f)
    with np.errstate(over="ignore"):
        small = np.exp(-np.abs(f)) / (1 + np.exp(-np.abs(f)))
    wrong = np.where(margin > 0, small, 1.0 - small)
    for name, constants in (("binary", (1.0, 1.0)), ("cross_entropy", (0.0, 0.0))):
        gradient, hessian = slopes(name, f, y, parameters=constants)
        expected = np.where(y > 0, -wrong, wrong)
        np.testing.assert_allclose(gradient, expected.astype("f4"), rtol=2e-7)
        np.testing.assert_allclose(hessian, small.astype("f4"), rtol=2e-7)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("y", [1e-3, 1.0, 1e30])
def test_exponential_losses_stay_finite(y, name):
    f = np.array([-1e4, -700.0, -100.0, 100.0, 700.0, 1e4])
    for values in slopes(name, f, np.full(6, y)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("n_classes", [2, 3, 7, 2500])
def test_softmax_is_the_textbook_one(n_classes):
    n = 150
    scores = RNG.normal(scale=3.0, size=(n_classes, n))
    scores[:, 0] = 0.0
    scores[0, 1] = 1e3
    scores[1, 2] = -1e3
    y = RNG.integers(0, n_classes, size=n).astype(float)
    e = np.exp(scores - scores.max(axis=0))
    p = e / e.sum(axis=0)
    gradient, hessian = softmax_slopes(scores, y)
    expected = p - (np.arange(n_classes)[:, None] == y)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-14)
    np.testing.assert_allclose(
        hessian, n_classes / (n_classes - 1) * p * (1 - p), rtol=1e-6, atol=1e-14
    )
    assert (hessian >= 0).all()


# --- Cross entropy with weights inside ------------------------------------------------


def intensity_slopes(scores, y, weight, n_threads=1):
    loss = loss_kernels.Intensity(y, weight)
    gradient, hessian = derivatives(loss, scores[None], n_threads)
    return gradient[0], hessian[0]


def test_weighted_cross_entropy_has_the_slopes_of_its_loss():
    y, weight, step = TARGETS["cross_entropy"].copy(), RNG.gamma(1.0, size=N), 1e-4
    y[:50], y[50:100] = 0.0, 1.0

    def value(f):
        product = weight * np.log1p(np.exp(f))
        return (1 - y) * product - y * np.log(-np.expm1(-product))

    gradient, hessian = intensity_slopes(SCORES, y, weight)
    assert hessian.min() > 0
    below, here, above = (value(SCORES + d) for d in (-step, 0, step))
    first, second = (above - below) / (2 * step), (above - 2 * here + below) / step**2
    np.testing.assert_allclose(gradient, first, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hessian, second, rtol=1e-4, atol=1e-5)


def test_weight_1_is_the_plain_cross_entropy():
    f = np.concatenate([SCORES, [-700.0, -100, -37, -18.5, -1e-9, 0, 40, 700]])
    y = RNG.random(len(f))
    y[::3] = RNG.integers(0, 2, size=len(y[::3]))
    for ours, plain in zip(
        intensity_slopes(f, y, np.ones(len(f))),
        slopes("cross_entropy", f, y),
        strict=True,
    ):
        np.testing.assert_allclose(ours, plain, rtol=3e-7, atol=1e-16)


@pytest.mark.parametrize("w", [1e-300, 1e-9, 1e-3, 0.5, 2.0, 1e3, 1e9, 1e300])
@pytest.mark.parametrize("y", [0.0, 0.3, 1.0])
def test_weighted_cross_entropy_stays_finite_and_convex(y, w):
    f = np.concatenate([np.linspace(-1e3, 1e3, 2001), np.linspace(-30, 30, 2001)])
    gradient, hessian = intensity_slopes(f, np.full(len(f), y), np.full(len(f), w))
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert hessian.min() >= 0.0


# --- Links ----------------------------------------------------------------------------


def linked(kind, scores, slope=1.0, n_threads=1):
    out = np.full_like(scores, np.nan)
    link_kernels.apply(link_kernels.LINKS[kind], scores, slope, n_threads, out)
    in_place = scores.copy()
    link_kernels.apply(link_kernels.LINKS[kind], in_place, slope, n_threads, in_place)
    np.testing.assert_array_equal(out, in_place)
    return out


EXACT_LINKS = {
    "identity": lambda f: f,
    "exp": np.exp,
    "logistic": special.expit,
    "log1p_exp": lambda f: np.logaddexp(0.0, f),
    "signed_square": lambda f: np.sign(f) * f * f,
}
DENSE = np.concatenate(
    [
        np.linspace(-708, 708, 200_001),
        np.linspace(-3, 3, 200_001),
        -np.logspace(-300, 2, 1001),
        # Where the reduction of exp's argument changes, step by step.
        *(
            c + np.arange(-50, 50) * np.spacing(abs(c))
            for c in (np.arange(-60, 60) + 0.5) * np.log(2)
        ),
    ]
)[None]


@pytest.mark.parametrize("kind", EXACT_LINKS)
def test_links_are_accurate_and_monotone(kind):
    out = linked(kind, DENSE)
    exact = EXACT_LINKS[kind](DENSE.astype(np.longdouble))
    assert (np.abs(out - exact) <= 3 * np.spacing(np.abs(out))).all()
    doubles = EXACT_LINKS[kind](DENSE)
    assert (np.abs(out - doubles) <= 5 * np.spacing(np.abs(out))).all()
    steps = np.diff(out[:, np.argsort(DENSE[0])])
    # The sum that log(1 + exp) ends with may fall by its own rounding.
    slack = 2 * np.spacing(out.max()) if kind == "log1p_exp" else 0.0
    assert steps.min() >= -slack


def test_every_link_is_tested():
    assert set(link_kernels.LINKS) == {*EXACT_LINKS, "softmax"}


def test_links_at_the_ends():
    ends = np.array([[-np.inf, -1e300, -709.0, -0.0, 0.0, 709.0, 1e300, np.inf]])
    low, high = math.exp(-708), math.exp(708)
    for kind, expected in (
        ("exp", [low, low, low, 1, 1, high, high, high]),
        ("logistic", [low, low, low, 0.5, 0.5, 1, 1, 1]),
        ("log1p_exp", [low, low, low, *[math.log(2)] * 2, 709, 1e300, np.inf]),
    ):
        np.testing.assert_allclose(linked(kind, ends)[0], expected, rtol=1e-15)


def test_slope_of_the_logistic_link():
    np.testing.assert_array_equal(
        linked("logistic", SCORES[None], 2.0), linked("logistic", 2 * SCORES[None])
    )


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 2500])
def test_softmax_link_is_scipy_s(n_classes):
    scores = RNG.normal(scale=3.0, size=(n_classes, 150))
    scores[:, 0] = 0.0
    scores[0, 1] = 1e3
    scores[-1, 2] = -600.0
    out = linked("softmax", scores)
    exact = special.softmax(scores, axis=0)
    np.testing.assert_allclose(out, exact, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(out.sum(axis=0), 1.0, rtol=1e-13)


def test_links_of_no_rows():
    for kind in link_kernels.LINKS:
        assert linked(kind, np.empty((3, 0))).shape == (3, 0)


# --- Threads and instruction sets -----------------------------------------------------


def fingerprint(n_threads=1):
    """A hash of all results on rows enough for several blocks and a ragged end."""
    rng = np.random.default_rng(0)
    n = 30_011
    digest = hashlib.sha256()
    f = rng.normal(scale=5.0, size=n)
    f[::100] *= 100
    for name in loss_kernels.LOSSES:
        y = rng.integers(0, 2, size=n) + (name == "gamma") * 1.0
        for values in slopes(name, f, y, n_threads):
            digest.update(values)
    for n_classes in (3, 1200):
        rows = n // n_classes
        scores = f[: n_classes * rows].reshape(n_classes, rows)
        y = rng.integers(0, n_classes, size=rows).astype(float)
        for values in softmax_slopes(scores, y, n_threads):
            digest.update(values)
    for values in intensity_slopes(f, rng.random(n), rng.gamma(1.0, size=n), n_threads):
        digest.update(values)
    for kind in link_kernels.LINKS:
        for shape in ((1, n), (n // 7, 7), (7, n // 7)):
            scores = f[: shape[0] * shape[1]].reshape(shape)
            digest.update(linked(kind, scores, 1.3, n_threads))
    return digest.hexdigest()


def test_any_number_of_threads_gives_identical_results():
    assert fingerprint(1) == fingerprint(2) == fingerprint(5)
