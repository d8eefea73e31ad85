"""Distributions: kernels and start scores against SciPy, and models that learn them."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRegressor,
    cv,
    parameters,
    train,
)
from skgoss._engine.objectives import exact_sum, loss_kernels
from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives.distributions import (
    DISTRIBUTIONS,
    derivatives,
    kernel_target,
    learning_scores,
    with_errors,
)
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.gradients import Likelihood
from skgoss.objectives.likelihoods import calibrated, most_likely
from skgoss.objectives.link import transform
from skgoss.objectives.metrics import Metric
from skgoss.objectives.objectives import OBJECTIVES, TrainingRows, make_link

RNG = np.random.default_rng(3)
N = 501
# The centers of the scores of each distribution.
CENTERS = {
    "normal": (1.0, 0.5),
    "lognormal": (0.3, -0.5),
    "student": (1.0, 0.5, 1.8),
    "gamma_distribution": (1.0, 0.7),
    "negative_binomial": (2.0, -1.0),
    "beta": (0.3, 1.7),
}
SCORES = {
    name: np.array(center)[:, None] + 0.4 * RNG.normal(size=(len(center), N))
    for name, center in CENTERS.items()
}
TARGETS = {
    name: DISTRIBUTIONS[name].frozen(scores).rvs(random_state=1).astype(float)
    for name, scores in SCORES.items()
}
# The scores whose Fisher information is an estimate from above.
APPROXIMATE = {("student", 2), ("negative_binomial", 1)}
names = pytest.mark.parametrize("name", CENTERS)


def scipy_nll(name, scores, y):
    """The negative log-likelihood by SciPy."""
    predicted = DISTRIBUTIONS[name].frozen(scores)
    log = predicted.logpmf if hasattr(predicted, "pmf") else predicted.logpdf
    return -log(y)


def slopes(name, scores, y, n_threads=1):
    gradient, hessian = np.full((2, *scores.shape), np.nan, dtype=np.float32)
    kind = loss_kernels.DISTRIBUTIONS[name]
    loss_kernels.distribution(kind, scores, y, n_threads, gradient, hessian)
    return gradient, hessian


def derivative(name, scores, y, k, step=1e-5):
    """The numerical derivative of `scipy_nll` by score ``k``."""
    change = step * (np.arange(len(scores)) == k)[:, None]
    difference = scipy_nll(name, scores + change, y) - scipy_nll(
        name, scores - change, y
    )
    return difference / (2 * step)


def rows_of(y, weight=None):
    return TrainingRows(y, weight, RowPartition(len(y)))


def test_every_distribution_has_a_kernel_and_an_objective():
    of_objectives = {n for n, spec in OBJECTIVES.items() if spec.distribution}
    assert set(DISTRIBUTIONS) == of_objectives == set(loss_kernels.DISTRIBUTIONS)
    # Those of interval-censored times are in test_survival.py.
    of_times = {name for name in DISTRIBUTIONS if name.startswith("aft")}
    assert set(DISTRIBUTIONS) - of_times == set(CENTERS)


@names
def test_the_loss_is_that_of_scipy(name):
    scores, y = SCORES[name], TARGETS[name]
    for weight in (None, RNG.gamma(1.0, size=N)):
        kind = loss_kernels.DISTRIBUTIONS[name]
        total = loss_kernels.sum_by_distribution(kind, y, scores, weight, 1)
        expected = scipy_nll(name, scores, y) @ (
            np.ones(N) if weight is None else weight
        )
        np.testing.assert_allclose(exact_sum.rounded(total), expected, rtol=1e-12)


@names
def test_steps_are_the_derivative_over_the_fisher_information(name):
    scores, y = np.ascontiguousarray(SCORES[name][:, :6]), TARGETS[name][:6].copy()
    gradient, hessian = slopes(name, scores, y)
    assert (hessian > 0).all()
    # The information is the mean of the squared derivative over all targets.
    level = (np.arange(1001) + 0.5) / 1001
    for k in range(len(scores)):
        information = []
        for row in scores.T:
            every = DISTRIBUTIONS[name].frozen(row[:, None]).ppf(level)
            of_row = np.repeat(row[:, None], len(level), axis=1)
            information.append((derivative(name, of_row, every, k) ** 2).mean())
        step = derivative(name, scores, y, k) / information
        if (name, k) == ("student", 0):
            # As reweighted least squares: to the target.
            step = scores[0] - y
        exact = (name, k) not in APPROXIMATE
        ratio = gradient[k] / hessian[k] / step
        assert ratio.max() < 1.03
        assert ratio.min() > (0.97 if exact else 0.6)


@names
@pytest.mark.parametrize("optimism", [0.0, 0.4])
def test_the_spread_learns_in_half_steps(name, optimism):
    """The first score learns by other errors than the spread, in whole steps."""
    scores, y = SCORES[name], TARGETS[name]
    likelihood = Likelihood(name, y, len(scores))
    likelihood.optimism = optimism
    gradient, hessian = np.full((2, *scores.shape), np.nan, dtype=np.float32)
    likelihood(scores, gradient, hessian, 1)
    first = slopes(name, learning_scores(name, scores, optimism), y)
    spread = slopes(name, with_errors(name, y, scores, optimism, 1), y)
    begin, mean = DISTRIBUTIONS[name].far
    spread[0][1][spread[0][1] < begin] = mean
    np.testing.assert_array_equal(gradient[0], first[0][0])
    np.testing.assert_array_equal(gradient[1:], 0.5 * spread[0][1:])
    np.testing.assert_array_equal(hessian[0], first[1][0])
    np.testing.assert_array_equal(hessian[1:], spread[1][1:])


@names
def test_nothing_moves_scores_beyond_their_limits(name):
    y = TARGETS[name]
    limits = np.array(DISTRIBUTIONS[name].limits)
    for side in (-1.0, 1.0):
        scores = SCORES[name].copy()
        scores[1:] = side * (limits[:, None] + 1.0)
        slope = Likelihood(name, y, len(scores)).spread_derivatives(scores, 1)[0]
        assert (slope * side >= 0).all()
        # They come back.
        free = slopes(name, scores, y)[0][1:]
        if name not in ("normal", "lognormal", "student"):
            returns = free * side > 0
            np.testing.assert_array_equal(slope[returns], free[returns])


def test_limited_slopes_are_those_of_numpy():
    score, slope = np.random.default_rng(0).normal(size=(2, 5000))
    found, expected = slope.astype(np.float32), slope.astype(np.float32)
    loss_kernels.limit_slopes(score, 0.5, -1.0, -2.5, found)
    expected[expected < -1.0] = -2.5
    expected[(np.abs(score) > 0.5) & (expected * score < 0)] = 0.0
    np.testing.assert_array_equal(found, expected)


def test_the_errors_of_counts_grow_as_the_ratio_says():
    """As a count of 0 has the mean as its error, the mean grows as errors do."""
    scores = np.array([[-3.0], [-1.0]])
    y = np.zeros(1)
    small = [with_errors("negative_binomial", y, scores, r, 1)[0, 0] for r in (0, 1e-6)]
    assert (small[1] - small[0]) / 1e-6 == pytest.approx(1 / 1.5, rel=0.05)
    for ratio in (2.0, 5.0, 20.0):
        moved = with_errors("negative_binomial", y, scores, ratio, 1)[0, 0]
        assert scores[0, 0] + ratio - 1.0 < moved < scores[0, 0] + ratio


def test_beta_learns_its_mean_from_the_spread_of_learned_rows():
    scores = np.array([[0.3], [4.0]])
    moved = learning_scores("beta", scores, 1.5)
    np.testing.assert_array_equal(moved, [[0.3], [7.0]])
    np.testing.assert_array_equal(learning_scores("normal", scores, 1.5), scores)


@pytest.mark.parametrize("name", ["normal", "lognormal", "aft_normal"])
def test_far_errors_widen_a_scale_no_more_than_those_of_the_distribution(name):
    z = np.linspace(-9.0, 9.0, 3601)
    y = z if name == "normal" else np.exp(z)
    bounds = np.column_stack([y, y, np.zeros_like(y)]) if name == "aft_normal" else y
    likelihood = Likelihood(name, kernel_target(bounds), 2)
    slope = likelihood.spread_derivatives(np.zeros((2, len(z))), 1)[0][0]
    near = np.abs(z) < 2.5 - 1e-6
    np.testing.assert_allclose(slope[near], (1.0 - z**2)[near], atol=1e-5)
    far = np.abs(z) > 2.5 + 1e-6
    tail = stats.norm.expect(lambda e: 1.0 - e * e, lb=2.5) / stats.norm.sf(2.5)
    np.testing.assert_allclose(slope[far], tail, rtol=1e-6)
    # Of targets of the distribution, the scale is unbiased.
    assert abs(np.average(slope, weights=stats.norm.pdf(z))) < 1e-3


@names
@pytest.mark.parametrize("weighted", [False, True])
def test_the_start_is_most_likely_and_weights_are_copies(name, weighted):
    y, copies = TARGETS[name], RNG.integers(0, 4, size=N)
    rows = rows_of(y, copies * 1.0) if weighted else rows_of(y)
    start = most_likely(name, rows)
    y = np.repeat(y, copies) if weighted else y
    best = scipy_nll(name, start[:, None], y).mean()
    for k in range(len(start)):
        for step in (-1e-3, 1e-3):
            changed = start + step * (np.arange(len(start)) == k)
            assert best < scipy_nll(name, changed[:, None], y).mean()
    if weighted:
        np.testing.assert_array_equal(start, most_likely(name, rows_of(y)))


def test_starts_of_scipy():
    y = TARGETS["normal"]
    mean, log_scale = most_likely("normal", rows_of(y))
    np.testing.assert_allclose((mean, np.exp(log_scale)), stats.norm.fit(y), rtol=1e-12)
    y = TARGETS["lognormal"]
    shape, _, scale = stats.lognorm.fit(y, floc=0)
    mu, log_sigma = most_likely("lognormal", rows_of(y))
    np.testing.assert_allclose(
        (np.exp(log_sigma), np.exp(mu)), (shape, scale), rtol=1e-5
    )


@names
@pytest.mark.parametrize("weighted", [False, True])
def test_calibrated_scores_are_most_likely(name, weighted):
    """But for what four rows say, for which factors are 1 and constants 0."""
    scores, y = SCORES[name].copy(), TARGETS[name]
    # Spreads that are too far apart, and wrong by a constant.
    scores[1:] = 1.5 * scores[1:] - 0.3
    copies = RNG.integers(0, 4, size=N) if weighted else np.ones(N, dtype=int)
    rows = rows_of(y, copies * 1.0) if weighted else rows_of(y)
    factors, added = calibrated(rows, scores, name, 1)
    assert (factors[0], added[0]) == (1.0, 0.0)
    center = np.average(scores[1:], axis=1, weights=copies)
    found = np.append(factors[1:] - 1.0, added[1:] - center * (1.0 - factors[1:]))

    def loss(change):
        by = 1.0 + change[: len(center), None]
        moved = center[:, None] + by * (scores[1:] - center[:, None])
        moved += change[len(center) :, None]
        nll = scipy_nll(name, np.vstack([scores[:1], moved]), y) @ copies
        return nll + 2.0 * change @ change

    for direction in np.eye(len(found)):
        low, best, high = (loss(found + d * direction) for d in (-1e-3, 0.0, 1e-3))
        step = -(high - low) / 2e-3 / ((high + low - 2 * best) / 1e-6)
        assert step == pytest.approx(0.0, abs=1e-3)
    if weighted:
        copied = rows_of(np.repeat(y, copies))
        again = calibrated(copied, np.repeat(scores, copies, axis=1), name, 1)
        np.testing.assert_allclose(again, [factors, added], rtol=1e-6, atol=1e-8)


@names
def test_equal_targets_have_finite_starts(name):
    y = np.full(9, 0.5 if name == "beta" else 1.0)
    assert np.isfinite(most_likely(name, rows_of(y))).all()


def test_spreads_are_no_smaller_than_the_digits_of_the_mean():
    for spread in (0.0, 1e-12):
        y = 3.0 + spread * RNG.normal(size=N)
        mean, log_scale = most_likely("normal", rows_of(y))
        assert mean == pytest.approx(3.0)
        assert np.exp(log_scale) == pytest.approx(3e-8)
    y = 3.0 + 1e-6 * RNG.normal(size=N)
    assert np.exp(most_likely("normal", rows_of(y))[1]) == pytest.approx(np.std(y))


@names
def test_means_are_those_of_scipy_and_finite(name):
    distribution, scores = DISTRIBUTIONS[name], SCORES[name]
    mean = transform(make_link(name), scores)
    np.testing.assert_allclose(
        mean, distribution.frozen(scores).mean()[None], rtol=1e-12
    )
    np.testing.assert_array_equal(make_link(name)(scores.T)[:, 0], mean[0])
    for far in (-1e4, -800.0, 0.0, 800.0, 1e4):
        wide = np.full((len(scores), 3), far)
        assert np.isfinite(transform(make_link(name), wide)).all()


@names
def test_derivatives_are_finite_at_any_score(name):
    far = np.array([-1e6, -700.0, -50.0, -9.0, 0.0, 9.0, 50.0, 700.0, 1e6])
    scores = np.array(np.meshgrid(*[far] * len(CENTERS[name]))).reshape(
        len(CENTERS[name]), -1
    )
    for y in np.quantile(TARGETS[name], [0, 0.5, 1]):
        for values in slopes(name, scores, np.full(scores.shape[1], y)):
            assert np.isfinite(values).all()


@names
def test_crps_is_the_area_between_distributions(name):
    scores, y = SCORES[name][:, :2], TARGETS[name][:2]
    ours = DISTRIBUTIONS[name].crps(y, scores)
    for i in range(2):
        predicted = DISTRIBUTIONS[name].frozen(scores[:, i : i + 1])
        low, high = predicted.ppf([1e-6, 1 - 1e-6])
        grid = np.linspace(min(low, y[i]) - 1, max(high, y[i]) + 1, 20_001)
        square = (predicted.cdf(grid) - (grid >= y[i])) ** 2
        area = np.trapezoid(square, grid)
        assert ours[i] == pytest.approx(area, rel=0.03)


@names
def test_crps_is_twice_the_mean_of_pinball_losses(name):
    """At 99 levels, in the middle of each hundredth; of the normal one, at all."""
    scores, y = SCORES[name][:, :3], TARGETS[name][:3]
    n, close = (100_000, 1e-6) if name == "normal" else (99, 1e-10)
    ours = DISTRIBUTIONS[name].crps(y, scores)
    level = (np.arange(n)[:, None] + 0.5) / n
    error = y - DISTRIBUTIONS[name].frozen(scores).ppf(level)
    losses = np.where(error > 0, level * error, (level - 1) * error)
    np.testing.assert_allclose(ours, 2 * losses.mean(axis=0), rtol=close)


@names
def test_tails_hold_the_target_itself(name):
    scores, y = SCORES[name], TARGETS[name]
    predicted = DISTRIBUTIONS[name].frozen(scores)
    above = predicted.sf(y) + (predicted.pmf(y) if hasattr(predicted, "pmf") else 0.0)
    expected = np.log(np.minimum(predicted.cdf(y), above))
    ours = DISTRIBUTIONS[name].log_tail(y, scores)
    np.testing.assert_allclose(ours, expected, rtol=1e-6)


def digest_of_all():
    digest = hashlib.sha256()
    for name in CENTERS:
        for values in slopes(name, SCORES[name], TARGETS[name]):
            digest.update(values.tobytes())
    # Lifetimes that are seen, between bounds, or seen before or after them.
    lower, upper = np.tile(TARGETS["lognormal"], (2, 1))
    upper[1::4] *= 1.3
    lower[2::4], upper[3::4] = 0.0, np.inf
    for name in ("aft_normal", "aft_logistic", "aft_extreme"):
        target = np.concatenate([lower, upper])
        for values in derivatives(name, target, SCORES["lognormal"]):
            digest.update(values.tobytes())
    return digest.hexdigest()


# --- Models ---------------------------------------------------------------------------

X = RNG.normal(size=(600, 4))
Y = {
    name: DISTRIBUTIONS[name]
    .frozen(np.array(center)[:, None] + 0.3 * X.T[: len(center)])
    .rvs(random_state=2)
    .astype(float)
    for name, center in CENTERS.items()
}
SMALL = {"n_estimators": 6, "num_leaves": 8, "n_jobs": 1}


@names
def test_a_model_predicts_what_it_has_learned(name):
    y = Y[name]
    model = LGBMRegressor(objective=name, **SMALL).fit(X, y, eval_X=X.copy(), eval_y=y)
    predicted = model.predict_distribution(X)
    np.testing.assert_allclose(model.predict(X), predicted.mean(), rtol=1e-12)
    raw = model.predict(X, raw_score=True)
    losses = model.evals_result_["valid_0"]["nll"]
    assert losses[-1] == pytest.approx(scipy_nll(name, raw.T, y).mean())
    assert losses[-1] < losses[0]
    threads = LGBMRegressor(objective=name, **SMALL | {"n_jobs": 3}).fit(X, y)
    np.testing.assert_array_equal(threads.predict(X, raw_score=True), raw)
    assert model._model.score_names == list(DISTRIBUTIONS[name].parameters)


def test_train_and_cv_learn_distributions():
    options = {"objective": "normal", "num_leaves": 8, "verbosity": -1}
    y = Y["normal"]
    booster = train(options, Dataset(X, y), 6)
    model = LGBMRegressor(objective="gaussian", **SMALL).fit(X, y)
    np.testing.assert_array_equal(booster.predict(X), model.predict(X))
    more = train(options, Dataset(X, y), 5, init_model=booster)
    assert more.predict(X, raw_score=True).shape == (len(X), 2)
    metrics = {"metric": ["nll", "crps"]}
    scores = cv(options | metrics, Dataset(X, y), 5, nfold=3, stratified=False)
    assert [len(scores[f"valid {name}-mean"]) for name in ("nll", "crps")] == [5, 5]


@names
def test_a_refit_starts_from_the_most_likely_distribution(name):
    """Its steps have the bounds, and the spread moves to its most likely level."""
    y = Y[name]
    booster = train({"objective": name, "num_leaves": 8}, Dataset(X, y), 6)
    again = booster.refit(X, y, decay_rate=0.0)
    score = np.ascontiguousarray(again.predict(X, raw_score=True).T)
    gradient, information = slopes(name, score, y)
    level = gradient[1:].sum(axis=1) / information[1:].sum(axis=1)
    assert np.abs(level).max() < 0.02
    if name in ("normal", "lognormal"):
        # Whose mean does not depend on the spread.
        target = np.log(y) if name == "lognormal" else y
        mean = np.full(len(y), target.mean())
        for leaf in booster.predict(X, pred_leaf=True)[:, ::2].T.astype(int):
            error = np.bincount(leaf, target - mean) / np.bincount(leaf)
            mean += 0.1 * error[leaf]
        np.testing.assert_allclose(score[0], mean, rtol=1e-4, atol=1e-5)


def test_the_first_mean_of_a_normal_distribution_is_that_of_the_squared_error():
    """But for the limit of hessians, which counts rows if all hessians are 1."""
    y, options = Y["normal"], SMALL | {"n_estimators": 1, "min_child_samples": 1}
    point, model = (
        LGBMRegressor(objective=name, **options).fit(X, y)
        for name in ("regression", "normal")
    )
    np.testing.assert_array_equal(point.predict(X), model.predict(X))


@names
def test_folds_calibrate_intervals(name):
    y = Y[name]
    plain = LGBMRegressor(objective=name, **SMALL).fit(X, y)
    predicted = plain.predict_distribution(X)
    np.testing.assert_allclose(
        plain.predict_interval(X, 0.8), np.transpose(predicted.interval(0.8))
    )
    model = LGBMRegressor(objective=name, folds=5, **SMALL).fit(X, y)
    tested = model._model.out_of_fold.scores.T
    tail = np.exp(DISTRIBUTIONS[name].log_tail(y, tested))
    largest = np.sort(tail)[::-1][int(np.ceil(0.8 * 601)) - 1]
    expected = model.predict_distribution(X)
    np.testing.assert_allclose(
        model.predict_interval(X, [0.8])[..., 0],
        np.transpose([expected.ppf(largest), expected.isf(largest)]),
        rtol=1e-9,
    )
    with pytest.raises(
        ValueError, match=r"'cv\+' cannot be used for the distributions"
    ):
        model.predict_interval(X, method="cv+")


@pytest.mark.parametrize("folds", [None, 3])
@pytest.mark.parametrize("name", CENTERS)
def test_presets_do_not_depend_on_the_number_of_threads(name, folds):
    options = {"objective": name, "preset": "accurate", "folds": folds}
    one, three = (
        LGBMRegressor(learning_rate=0.5, n_jobs=n, **options).fit(
            X[:200], Y[name][:200]
        )
        for n in (1, 3)
    )
    raw = one.predict(X, raw_score=True)
    np.testing.assert_array_equal(three.predict(X, raw_score=True), raw)
    # What they have learned is more likely than one distribution of all rows.
    start = most_likely(name, rows_of(Y[name][200:]))[:, None]
    ours, theirs = (
        scipy_nll(name, raw[200:].T, Y[name][200:]),
        scipy_nll(name, start, Y[name]),
    )
    assert ours.mean() < theirs.mean()


@pytest.mark.parametrize("folds", [None, 3])
@pytest.mark.parametrize(
    "of_rows",
    [
        {"time": np.arange(200)},
        {"groups": np.arange(200) // 4},
        {"sample_weight": np.arange(200) % 2},
        {"eval_set": [(X[200:], Y["student"][200:])]},
    ],
)
def test_presets_take_what_belongs_to_rows(of_rows, folds):
    model = LGBMRegressor(
        objective="student", preset="accurate", learning_rate=0.3, folds=folds
    )
    if folds and "eval_set" in of_rows:
        with pytest.raises(ValueError, match="eval_set cannot be used with folds"):
            model.fit(X[:200], Y["student"][:200], **of_rows)
        return
    model.fit(X[:200], Y["student"][:200], **of_rows)
    assert np.isfinite(model.predict(X, raw_score=True)).all()
    if folds:
        # The first half of the times has no rows before it.
        first = 100 if "time" in of_rows else 0
        tested = np.isfinite(model.oof_prediction_)
        np.testing.assert_array_equal(tested, np.arange(200) >= first)


# --- Mistakes -------------------------------------------------------------------------


OUTSIDE = {
    "lognormal": 0.0,
    "gamma_distribution": -2.0,
    "negative_binomial": 0.5,
    "beta": 1.0,
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_targets_outside_are_named_with_their_row(name):
    y = Y[name].copy()
    y[[7, 9]] = OUTSIDE[name]
    words = rf"objective='{name}' needs targets .*row 7 of {{}} is {OUTSIDE[name]:g}"
    model = LGBMRegressor(objective=name, **SMALL)
    with pytest.raises(ValueError, match=words.format("y")):
        model.fit(X, y)
    with pytest.raises(ValueError, match=words.format("eval_y")):
        model.fit(X, Y[name], eval_X=X, eval_y=y)
    weight = np.ones(len(y))
    weight[[7, 9]] = 0.0
    model.fit(X, y, sample_weight=weight)
    preset = LGBMRegressor(objective=name, preset="accurate", n_jobs=1)
    with pytest.raises(ValueError, match=words.format("y")):
        preset.fit(X, y)


def test_mistakes_are_named():
    y = Y["normal"]
    with pytest.raises(ValueError, match="NaN"):
        LGBMRegressor(objective="normal").fit(X, np.where(X[:, 0] > 0, np.nan, y))
    with pytest.raises(ValueError, match="distribution of one target"):
        LGBMRegressor(objective="normal").fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="must be a number for objective='normal'"):
        LGBMRegressor(objective="normal", alpha=[0.1, 0.9]).fit(X, y)
    with pytest.raises(ValueError, match="use LGBMRegressor"):
        LGBMClassifier(objective="normal").fit(X, y > 1)
    with pytest.raises(ValueError, match=r"'nll' cannot be computed for this task"):
        LGBMRegressor().fit(X, y, eval_set=[(X, y)], eval_metric="nll")
    with pytest.raises(ValueError, match=r"cannot predict distributions.*'regression'"):
        LGBMRegressor(n_estimators=2).fit(X, y).predict_distribution(X)


@names
@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_are_means_over_rows_by_their_weights(name, weighted):
    scores, y = np.ascontiguousarray(SCORES[name][:, :40]), TARGETS[name][:40].copy()
    weight = RNG.gamma(1.0, size=40) * (np.arange(40) % 5 > 0) if weighted else None
    link = make_link(name)
    settings = parameters.make_settings({"objective": name}, "LGBMRegressor")
    data = EvalData(y, scores, weight, None, 1)
    (nll,), (crps,) = (Metric(m, settings, link)(data) for m in ("nll", "crps"))
    expected = np.average(scipy_nll(name, scores, y), weights=weight)
    assert nll.value == pytest.approx(expected, rel=1e-10)
    expected = np.average(DISTRIBUTIONS[name].crps(y, scores), weights=weight)
    assert crps.value == pytest.approx(expected, rel=1e-10)
    assert [nll.maximize, crps.maximize] == [False, False]
