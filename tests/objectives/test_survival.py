"""Survival: derivatives, baseline hazards and metrics, against naive sums and peers."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from helpers.grids import nightly_if
from helpers.naive_survival import n_ties, naive_sums
from helpers.survival_rows import (
    EVENT,
    STRATA,
    STRATIFIED,
    STRUCTURED,
    TIME,
    WEIGHT,
    N,
    X,
    Y,
)
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    cv,
    train,
)
from skgoss._engine.objectives import exact_sum, loss_kernels
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns import lifetimes
from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives.distributions import DISTRIBUTIONS, kernel_target
from skgoss.objectives.likelihoods import most_likely
from skgoss.objectives.objectives import TrainingRows
from skgoss.objectives.survival import Baseline, PartialLikelihood

RNG = np.random.default_rng(12)
SMALL = {"n_estimators": 8, "num_leaves": 5}


def naive_nll(y, scores, weight, efron):
    """The negative log partial likelihood, moment by moment."""
    event, time = y[:, 0] == 1, y[:, 1]
    stratum = y[:, 2] if y.shape[1] > 2 else np.zeros(len(y))
    risk, total = weight * np.exp(scores), 0.0
    for s, t in set(zip(stratum[event], time[event], strict=True)):
        dies = event & (time == t) & (stratum == s)
        lives = risk[(time >= t) & (stratum == s)].sum()
        d = weight[dies].sum()
        total -= (weight * scores)[dies].sum()
        n = n_ties(weight, dies)
        for k in range(n) if efron else ():
            total += d / n * np.log(lives - k / n * risk[dies].sum())
        total += 0.0 if efron else d * np.log(lives)
    return total


def likelihood(y, weight, efron):
    return PartialLikelihood(lifetimes.bounds(y, len(y)), weight, efron=efron)


def derivatives(function, scores):
    out = np.empty((2, 1, len(scores)), dtype=np.float32)
    function(scores[None], *out, 1)
    return out[:, 0]


@pytest.mark.parametrize("efron", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("y", [Y, STRATIFIED])
def test_derivatives_agree_with_naive_sums(y, weight, efron):
    y = y[:60]
    weight = None if weight is None else weight[:60]
    w = np.ones(60) if weight is None else weight
    function, scores = likelihood(y, weight, efron), RNG.normal(size=60)
    gradient, hessian = derivatives(function, scores)
    events = (w * y[:, 0]).sum()
    value = naive_nll(y, scores, w, efron)
    assert function.value(scores[None]) * events == pytest.approx(value, rel=1e-12)
    step = 1e-3
    for i in range(0, 60, 3):
        at = step * (np.arange(60) == i)
        below, above = (naive_nll(y, scores + s * at, w, efron) for s in (-1, 1))
        # Of one copy of the row.
        slope, curvature = (above - below) / 2 / step, (above + below - 2 * value)
        assert gradient[i] * w[i] == pytest.approx(slope, abs=2e-5)
        if w[i] == 1:
            assert hessian[i] == pytest.approx(curvature / step**2, abs=2e-5)


# Few rows, whose strata share times: those of one may begin where others end.
STRATA_THAT_TOUCH = {
    "last and first": ([1, 1, 1], [1, 2, 2], [0, 0, 1]),
    "all at one time": ([1, 1, 0, 1], [3, 3, 3, 3], [0, 1, 1, 1]),
    "censored last": ([1, 0, 1, 1], [1, 2, 2, 4], [0, 0, 1, 1]),
    "none": ([1, 1, 0, 1, 1], [2, 1, 2, 2, 3], [0, 0, 0, 0, 0]),
    "not sorted": ([1, 0, 1, 1, 1, 1], [2, 5, 2, 1, 1, 2], [2, 1, 1, 2, 1, 2]),
}


@pytest.mark.parametrize(
    ("efron", "weights"),
    [
        (efron, weights)
        for efron in (False, True)
        for weights in ([1, 1], [3, 1, 2], [0, 1, 2], [0.3, 2.5], [1e-4, 3e-4])
    ],
)
@pytest.mark.parametrize("kind", STRATA_THAT_TOUCH)
def test_few_rows_have_the_sums_of_loops(kind, weights, efron):
    y = np.array(STRATA_THAT_TOUCH[kind], dtype=float).T
    scores, weights = RNG.normal(size=len(y)), np.resize(weights, len(y)) * 1.0
    gradient, hessian, (stratum, time, hazard) = naive_sums(y, scores, weights, efron)
    function = likelihood(y, weights, efron)
    known = weights > 0
    expected = np.array([gradient, hessian])[:, known]
    found = derivatives(function, scores)[:, known]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    value = naive_nll(y[known], scores[known], weights[known], efron)
    mean = value / (weights @ y[:, 0])
    assert function.value(scores[None]) == pytest.approx(mean, rel=1e-12)
    baseline = function.baseline(scores[None])
    np.testing.assert_array_equal(baseline.stratum, stratum)
    np.testing.assert_array_equal(baseline.time, time)
    np.testing.assert_allclose(baseline.hazard, hazard, rtol=1e-12)


@pytest.mark.parametrize("kind", STRATA_THAT_TOUCH)
def test_probabilities_and_quantiles_at_each_moment_are_those_of_loops(kind):
    """The hazard of a moment is that up to and including it."""
    y = np.array(STRATA_THAT_TOUCH[kind], dtype=float).T
    baseline = likelihood(y, None, False).baseline(np.zeros((1, len(y))))
    of_all = list(zip(baseline.stratum, baseline.time, baseline.hazard, strict=True))
    labels = [s for s, *_ in of_all]
    strata = np.array(labels[::-1] + labels[:1])
    score = np.array([0.0, np.log(2), -0.5, 300.0])[np.arange(len(strata)) % 4]
    moments = np.unique(baseline.time)
    times = np.concatenate([[0.0], moments, moments - 0.25, [99.0]])
    survival = baseline.survival(score, times, strata)
    levels = np.array([0.0, 0.3, 0.999, *-np.expm1(-baseline.hazard)])
    quantiles = baseline.quantiles(np.zeros(len(strata)), levels, strata)
    for row, stratum in enumerate(strata):
        own = [(t, h) for s, t, h in of_all if s == stratum]
        for k, time in enumerate(times):
            hazard = max([h for t, h in own if t <= time], default=0.0)
            expected = np.exp(-np.exp(score[row]) * hazard)
            assert survival[row, k] == pytest.approx(expected, rel=1e-12, abs=1e-300)
        for k, level in enumerate(levels):
            needed = -np.log1p(-level)
            first = min([t for t, h in own if h >= needed], default=np.inf)
            assert quantiles[row, k] == first
    alone = baseline.survival(score, times) if len(set(labels)) == 1 else None
    assert alone is None or (alone == survival).all()


@pytest.mark.parametrize("efron", [False, True])
def test_weights_are_copies_and_the_order_of_rows_does_not_matter(efron):
    scores, copies = RNG.normal(size=N), WEIGHT.astype(int)
    once = derivatives(likelihood(STRATIFIED, WEIGHT, efron), scores)
    again = derivatives(
        likelihood(np.repeat(STRATIFIED, copies, axis=0), None, efron),
        np.repeat(scores, copies),
    )
    np.testing.assert_array_equal(np.repeat(once, copies, axis=1), again)
    order = RNG.permutation(N)
    moved = derivatives(
        likelihood(STRATIFIED[order], WEIGHT[order], efron), scores[order]
    )
    np.testing.assert_array_equal(once[:, order], moved)


@pytest.mark.parametrize("efron", [False, True])
def test_rows_of_weight_0_are_not_part_of_the_baseline(efron):
    """Not even the last ones of a stratum, whom nobody outlives."""
    scores, weight = RNG.normal(size=N), np.ones(N)
    weight[(STRATA == 1) & (TIME > 0.5)] = 0.0
    known = weight > 0
    found = likelihood(STRATIFIED, weight, efron).baseline(scores[None])
    alone = likelihood(STRATIFIED[known], None, efron).baseline(scores[None, known])
    np.testing.assert_array_equal(found.time, alone.time)
    np.testing.assert_allclose(found.hazard, alone.hazard, rtol=1e-12)


def test_weights_that_are_not_whole():
    scores, weight = RNG.normal(size=N), RNG.uniform(0.1, 3.0, N)
    value = likelihood(Y, weight, False).value(scores[None])
    assert value * (weight @ EVENT) == pytest.approx(
        naive_nll(Y, scores, weight, False)
    )
    scaled = likelihood(Y, 8 * WEIGHT, True).value(scores[None])
    assert np.isfinite(scaled)
    uneven = derivatives(likelihood(Y, WEIGHT / 7, True), scores)
    assert np.isfinite(uneven).all()


@pytest.mark.parametrize("name", ["cox", "cox_efron"])
def test_the_unit_of_small_weights_does_not_matter(name):
    """Weights that sum to 1 are usual, and no row of them is a copy."""
    weight = RNG.uniform(0.2, 1.0, N)
    one, other = (
        LGBMRegressor(objective=name, min_child_weight=0.0, **SMALL)
        .fit(X, Y, sample_weight=w)
        .predict(X, raw_score=True)
        for w in (weight, weight / weight.sum())
    )
    assert np.ptp(one) > 1
    np.testing.assert_allclose(other, one, rtol=1e-6)


@pytest.mark.parametrize("efron", [False, True])
def test_scores_far_apart_have_finite_derivatives(efron):
    scores = np.linspace(-400.0, 400.0, N)
    gradient, hessian = derivatives(likelihood(Y, None, efron), scores)
    assert np.isfinite(gradient).all()
    assert (hessian >= 0).all()


# --- Against other packages -----------------------------------------------------------


@pytest.mark.parametrize(("name", "efron"), [("cox", False), ("cox_efron", True)])
def test_a_binary_column_has_the_coefficient_and_the_hazard_of_cox(name, efron):
    """Stumps of one binary column converge to the model with one coefficient."""
    column = (X[:, :1] > 0) * 1.0
    model = LGBMRegressor(
        objective=name, n_estimators=300, num_leaves=2, min_child_samples=1
    ).fit(column, Y)
    low, high = model.predict([[0.0], [1.0]])
    beta = np.linspace(high - low - 1e-3, high - low + 1e-3, 5)
    losses = [naive_nll(Y, b * column[:, 0], np.ones(N), efron) for b in beta]
    assert np.argmin(losses) == 2
    times = [0.1, 0.5, 1.0, 2.0]
    survival = model.predict_survival_function([[0.0]], times)
    moments = np.unique(TIME[EVENT])
    if not efron:
        risk = np.exp((high - low) * column[:, 0])
        hazard = [(EVENT & (t == TIME)).sum() / risk[t <= TIME].sum() for t in moments]
        total = np.array([np.sum(np.array(hazard)[moments <= t]) for t in times])
        np.testing.assert_allclose(survival[0], np.exp(-total), rtol=1e-6)


def test_lifelines_finds_the_same():
    lifelines = pytest.importorskip("lifelines")
    column = (X[:, 0] > 0) * 1.0
    frame = pd.DataFrame({"x": column, "event": EVENT, "time": TIME})
    fitter = lifelines.CoxPHFitter(baseline_estimation_method="breslow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitter.fit(frame, "time", "event")
    model = LGBMRegressor(
        objective="cox_efron", n_estimators=300, num_leaves=2, min_child_samples=1
    ).fit(column[:, None], Y)
    low, high = model.predict([[0.0], [1.0]])
    assert high - low == pytest.approx(fitter.params_["x"], abs=1e-4)
    index = lifelines.utils.concordance_index(TIME, -column, EVENT)
    assert model.score(column[:, None], Y) == pytest.approx(index)


def test_estimators_go_into_scorers_of_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    model = LGBMRegressor(objective="cox", **SMALL)
    scored = metrics.as_concordance_index_ipcw_scorer(model, tau=1.0)
    assert (cross_val_score(scored, X, STRUCTURED, cv=3) > 0.6).all()


# --- Models ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return LGBMRegressor(objective="cox", **SMALL).fit(X, Y)


def test_all_forms_of_the_target_give_one_model(model):
    expected = model.predict(X)
    frame = pd.DataFrame({"dead": EVENT, "days": TIME})
    bounds = lifetimes.bounds(Y, N)
    for y in (STRUCTURED, frame, bounds):
        again = clone(model).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), expected)
        data = Dataset(X, label=y)
        booster = train({"objective": "cox", "num_leaves": 5}, data, num_boost_round=8)
        np.testing.assert_array_equal(booster.predict(X), expected)
    assert model.score(X, Y) == model.score(X, STRUCTURED) > 0.7
    assert model.score(X, Y, sample_weight=np.full(N, 2.0)) == model.score(X, Y)


def test_survival_functions_fall_from_1_and_their_quantiles_lie_on_them(model):
    times = np.sort(RNG.uniform(0.0, 5.0, 40))
    survival = model.predict_survival_function(X, times)
    assert survival.shape == (N, 40)
    assert (np.diff(survival, axis=1) <= 0).all()
    assert (model.predict_survival_function(X, [0.0]) == 1.0).all()
    levels = [0.2, 0.5]
    quantiles = model.predict_quantile(X, levels)
    np.testing.assert_array_equal(model.predict_quantile(X), quantiles[:, 1])
    for k, level in enumerate(levels):
        for row in np.flatnonzero(np.isfinite(quantiles[:, k]))[:20]:
            at = quantiles[row, k]
            before, after = model.predict_survival_function(
                X[row : row + 1], [np.nextafter(at, 0), at]
            )[0]
            assert before > 1 - level >= after
    order = np.argsort(model.predict(X))
    assert (np.diff(survival[order], axis=0) <= 0).all()


def test_scores_of_any_size_have_probabilities():
    baseline = Baseline(np.zeros(3), np.array([1.0, 2.0, 3.0]), np.array([0.1, 1, 7]))
    score = np.array([-2000.0, 0.0, 2000.0])
    survival = baseline.survival(score, np.array([0.5, 1.0, 9.0]))
    expected = [[1, 1, 1], [1, np.exp(-0.1), np.exp(-7)], [1, 0, 0]]
    np.testing.assert_allclose(survival, expected)
    quantiles = baseline.quantiles(score, np.array([0.01, 0.5]))
    np.testing.assert_array_equal(quantiles, [[np.inf, np.inf], [1, 2], [1, 1]])


def test_a_baseline_without_a_time_is_refused(model):
    state = model._model.baseline.state()
    with pytest.raises(ValueError, match="baseline hazard must have arrays of one"):
        Baseline.from_state({**state, "time": state["time"][1:]})


def test_strata_have_baselines_of_their_own():
    model = LGBMRegressor(objective="cox", **SMALL).fit(X, STRATIFIED)
    survival = model.predict_survival_function(X, [0.3, 1.0], strata=STRATA)
    for stratum in (1, 2, 3):
        at = stratum == STRATA
        score = model.predict(X[at])
        bounds = lifetimes.bounds(Y[at], at.sum())
        alone = PartialLikelihood(bounds, None, efron=False).baseline(score[None])
        expected = alone.survival(score, np.array([0.3, 1.0]))
        np.testing.assert_allclose(survival[at], expected, rtol=1e-9)
    for strata in (None, STRATA[1:], STRATA + 1):
        with pytest.raises(ValueError, match=r"strata must .* \[1.0, 2.0, 3.0\]"):
            model.predict_survival_function(X, [1.0], strata=strata)
    quantile = model.predict_quantile(X[:2], [0.1, 0.9], strata=STRATA[:2])
    assert quantile.shape == (2, 2)


def test_early_stopping_keeps_the_baseline_of_the_best_round():
    fit = {"eval_set": [(X[:80], STRUCTURED[:80])], "early_stopping_rounds": 5}
    options = {"objective": "cox", "num_leaves": 15, "min_child_samples": 5}
    for name in ("cox_nll", "concordance", "brier"):
        model = LGBMRegressor(**options, n_estimators=200, metric=name)
        model.fit(X[80:], STRUCTURED[80:], **fit)
        assert 0 < model.best_iteration_ < 195
        assert list(model.best_score_["valid_0"]) == [name]
    again = LGBMRegressor(**options, n_estimators=model.best_iteration_)
    again.fit(X[80:], Y[80:])
    times = [0.1, 1.0]
    np.testing.assert_array_equal(
        again.predict_survival_function(X, times),
        model.predict_survival_function(X, times),
    )


def test_the_best_round_after_an_earlier_model_has_its_baseline():
    options = {"objective": "cox", "num_leaves": 15, "min_child_samples": 5}
    first = LGBMRegressor(**options, n_estimators=3).fit(X[80:], Y[80:])
    model = LGBMRegressor(**options, n_estimators=200, early_stopping_round=5)
    model.fit(X[80:], Y[80:], eval_set=[(X[:80], Y[:80])], init_model=first)
    n_rounds = model.best_iteration_ - 3
    assert 0 < n_rounds < 195
    again = LGBMRegressor(**options, n_estimators=n_rounds)
    again.fit(X[80:], Y[80:], init_model=first)
    np.testing.assert_array_equal(
        again._model.baseline.hazard, model._model.baseline.hazard
    )


@pytest.mark.parametrize("kind", ["dart", "rf"])
def test_baselines_of_other_boosting_types(kind):
    options = {"subsample": 0.7, "subsample_freq": 1} if kind == "rf" else {}
    model = LGBMRegressor(objective="cox", boosting_type=kind, **SMALL, **options)
    model.fit(X, Y)
    bounds = lifetimes.bounds(Y, N)
    likelihood = PartialLikelihood(bounds, None, efron=False)
    expected = likelihood.baseline(model.predict(X)[None]).hazard
    np.testing.assert_allclose(model._model.baseline.hazard, expected, rtol=1e-9)


def test_train_and_cv():
    data = Dataset(X, label=STRUCTURED)
    np.testing.assert_array_equal(data.get_label(), Y)
    params = {"objective": "cox", "num_leaves": 5, "metric": ["concordance", "cox_nll"]}
    result = cv(params, data, num_boost_round=5, nfold=3)
    assert len(result["valid concordance-mean"]) == 5
    valid = data.create_valid(X[:50], label=Y[:50])
    booster = train(params, data, num_boost_round=5, valid_sets=[valid])
    assert set(booster.best_score["valid_0"]) == {"concordance", "cox_nll"}
    model = LGBMRegressor.from_booster(booster)
    assert model.predict_survival_function(X[:2], [1.0]).shape == (2, 1)
    with pytest.raises(ValueError, match=r"refit cannot be used for .* of survival"):
        booster.refit(X, TIME)
    booster.shuffle_models()
    shuffled = LGBMRegressor.from_booster(booster)
    with pytest.raises(ValueError, match="cannot predict survival"):
        shuffled.predict_survival_function(X, [1.0])


def test_data_sets_in_files_keep_lifetimes(tmp_path):
    path = tmp_path / "data.bin"
    Dataset(X, label=STRUCTURED).save_binary(path)
    again = Dataset(path).construct()
    np.testing.assert_array_equal(again.get_label(), Y)


def test_times_of_0_are_the_first_for_cox(model):
    """Only the order of times matters to it."""
    first = TIME.min()
    earlier = np.column_stack([EVENT, np.where(first == TIME, 0.0, TIME)])
    again = clone(model).fit(X, earlier)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.score(X, earlier) == model.score(X, Y)
    found = again.predict_survival_function(X, [0.0, first])
    expected = model.predict_survival_function(X, [first, first])
    np.testing.assert_array_equal(found, expected)


def test_early_stopping_holds_rows_out_and_training_goes_on(model):
    stopped = LGBMRegressor(objective="cox", early_stopping_round=5, **SMALL)
    stopped.fit(X, STRATIFIED)
    assert stopped.best_iteration_ > 0
    longer = LGBMRegressor(objective="cox", **SMALL).fit(X, Y, init_model=model)
    assert longer.booster_.num_trees() == 16
    expected = PartialLikelihood(lifetimes.bounds(Y, N), None, efron=False)
    np.testing.assert_allclose(
        longer._model.baseline.hazard,
        expected.baseline(longer.predict(X)[None]).hazard,
        rtol=1e-9,
    )


# --- Accelerated failure times --------------------------------------------------------

AFT = ("aft_normal", "aft_logistic", "aft_extreme")
# Seen, seen before, seen later, and between.
LOWER = np.where(RNG.random(N) < 0.25, 0.0, TIME)
UPPER = np.where(RNG.random(N) < 0.5, TIME, TIME + RNG.choice([0.2, 1.0, np.inf], N))
BOUNDS = np.column_stack([LOWER, UPPER])
BOUNDS[(BOUNDS[:, 0] == 0) & np.isinf(BOUNDS[:, 1]), 0] = 0.3
AFT_SCORES = np.vstack([RNG.normal(size=N), 0.4 * RNG.normal(size=N) - 0.3])


def aft_nll(name, scores, bounds):
    """By SciPy, in the tail where the probability is smaller."""
    predicted = DISTRIBUTIONS[name].frozen(scores)
    lower, upper = bounds.T
    below = predicted.cdf(upper) - predicted.cdf(lower)
    above = predicted.sf(lower) - predicted.sf(upper)
    between = np.where(predicted.cdf(lower) < 0.5, below, above)
    with np.errstate(divide="ignore"):
        return -np.where(lower == upper, predicted.logpdf(lower), np.log(between))


@pytest.mark.parametrize("name", AFT)
def test_failure_times_are_those_of_scipy(name):
    scores, target = AFT_SCORES, kernel_target(BOUNDS)
    kind = loss_kernels.DISTRIBUTIONS[name]
    total = loss_kernels.sum_by_distribution(kind, target, scores, None, 2)
    expected = aft_nll(name, scores, BOUNDS).sum()
    np.testing.assert_allclose(exact_sum.rounded(total), expected, rtol=1e-8)
    gradient, hessian = np.empty((2, 2, N), dtype=np.float32)
    loss_kernels.distribution(kind, scores, target, 1, gradient, hessian)
    seen, unit = BOUNDS[:, 0] == BOUNDS[:, 1], np.exp(2 * scores[1])
    for k, factor in enumerate((unit, 1.0)):
        change = 1e-4 * (np.arange(2) == k)[:, None]
        low, value, high = (
            aft_nll(name, scores + s * change, BOUNDS) for s in (-1, 0, 1)
        )
        slope = factor * (high - low) / 2e-4
        np.testing.assert_allclose(gradient[k], slope, rtol=1e-4, atol=1e-5)
        curve = factor * (high + low - 2 * value) / 1e-8
        if k == 1:
            curve = np.maximum(curve, 0.05)
        np.testing.assert_allclose(
            hessian[k][~seen], curve[~seen], rtol=1e-2, atol=1e-3
        )
    # The Fisher information, by the quantiles of each row's distribution.
    levels = (np.arange(2001) + 0.5) / 2001
    row = np.repeat(np.array([[0.4], [-0.2]]), 2001, axis=1)
    times = DISTRIBUTIONS[name].frozen(row).ppf(levels)
    target = kernel_target(np.column_stack([times, times]))
    gradient, hessian = np.empty((2, 2, 2001), dtype=np.float32)
    loss_kernels.distribution(kind, row, target, 1, gradient, hessian)
    factor = np.array([np.exp(0.4), 1.0])
    information = (gradient**2).mean(axis=1) * factor
    np.testing.assert_allclose(information, hessian[:, 0], rtol=0.03)


@pytest.mark.parametrize("name", AFT)
def test_the_tails_of_failure_times_are_finite(name):
    scores = np.array([[-300.0, -20.0, 0.0, 20.0, 300.0] * 4, [-3.0] * 20])
    bounds = np.repeat([[1.0, 1.0], [0.0, 1.0], [1.0, np.inf], [1.0, 1.1]], 5, axis=0)
    gradient, hessian = np.empty((2, 2, 20), dtype=np.float32)
    kind = loss_kernels.DISTRIBUTIONS[name]
    loss_kernels.distribution(kind, scores, kernel_target(bounds), 1, gradient, hessian)
    assert np.isfinite(gradient).all()
    assert (hessian >= 0).all()


@pytest.mark.parametrize("name", AFT)
def test_starts_of_failure_times_are_most_likely(name):
    rows = TrainingRows(BOUNDS, WEIGHT, RowPartition(N))
    start = most_likely(name, rows)
    best = WEIGHT @ aft_nll(name, start[:, None], BOUNDS)
    for k in range(2):
        for step in (-1e-2, 1e-2):
            changed = start + step * (np.arange(2) == k)
            assert best < WEIGHT @ aft_nll(name, changed[:, None], BOUNDS)
    copies = np.repeat(BOUNDS, WEIGHT.astype(int), axis=0)
    alone = TrainingRows(copies, None, RowPartition(len(copies)))
    np.testing.assert_array_equal(start, most_likely(name, alone))


def test_normal_failure_times_that_are_all_seen_are_lognormal():
    times = np.column_stack([TIME, TIME])
    ours = LGBMRegressor(objective="aft", **SMALL).fit(X, times)
    known = LGBMRegressor(objective="lognormal", **SMALL).fit(X, TIME)
    np.testing.assert_allclose(
        ours.predict(X, raw_score=True), known.predict(X, raw_score=True), atol=1e-6
    )
    np.testing.assert_array_equal(
        ours.predict(X), -ours.predict(X, raw_score=True)[:, 0]
    )
    # The first tree of the location is that of the squared error of logarithms.
    one = SMALL | {"n_estimators": 1}
    first = LGBMRegressor(objective="aft", **one).fit(X, times).predict(X)
    squared = LGBMRegressor(**one).fit(X, np.log(TIME)).predict(X)
    np.testing.assert_allclose(-first, squared, atol=1e-6)


@pytest.mark.parametrize("name", AFT)
def test_models_of_failure_times(name, tmp_path):
    metrics = ["nll", "concordance", "brier"]
    model = LGBMRegressor(objective=name, metric=metrics, **SMALL)
    model.fit(X, STRUCTURED, eval_set=[(X, Y)])
    history = model.evals_result_["valid_0"]
    assert list(history) == metrics
    assert history["nll"][-1] < history["nll"][0]
    assert history["brier"][-1] < history["brier"][0]
    assert history["concordance"][-1] == model.score(X, Y) > 0.7
    mean = aft_nll(name, model.predict(X, raw_score=True).T, lifetimes.bounds(Y, N))
    assert history["nll"][-1] == pytest.approx(mean.mean(), rel=1e-8)
    predicted = model.predict_distribution(X)
    survival = model.predict_survival_function(X, [0.5, 1.0])
    np.testing.assert_allclose(survival[:, 1], predicted.sf(1.0))
    np.testing.assert_allclose(
        model.predict_quantile(X, [0.1])[:, 0], predicted.ppf(0.1)
    )
    assert model.predict_interval(X, 0.8).shape == (N, 2)
    model.booster_.save_model(tmp_path / "model.txt")
    again = LGBMRegressor.from_booster(Booster(model_file=tmp_path / "model.txt"))
    np.testing.assert_array_equal(
        again.predict_survival_function(X, [0.5, 1.0]), survival
    )
    bounded = clone(model).set_params(folds=3, metric=None).fit(X, BOUNDS)
    assert bounded.score(X, BOUNDS) > 0.6
    one, many = (clone(bounded).set_params(n_jobs=k).fit(X, BOUNDS) for k in (1, 3))
    np.testing.assert_array_equal(one.predict(X), many.predict(X))


def test_data_sets_keep_bounds_of_0_and_1():
    y = pd.DataFrame({"lower": np.arange(N) % 2 * 1.0, "upper": 1.0 + TIME})
    booster = train({"objective": "aft"}, Dataset(X, label=y), 5)
    model = LGBMRegressor(objective="aft", n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(
        -booster.predict(X, raw_score=True)[:, 0], model.predict(X)
    )
    events = LGBMRegressor(objective="aft", n_estimators=5).fit(X, y.to_numpy())
    assert not np.array_equal(events.predict(X), model.predict(X))


def test_bounds_are_those_of_xgboost(xgboost):
    data = xgboost.DMatrix(X)
    data.set_float_info("label_lower_bound", BOUNDS[:, 0])
    data.set_float_info("label_upper_bound", BOUNDS[:, 1])
    params = {"objective": "survival:aft", "verbosity": 0, "max_depth": 2}
    theirs = xgboost.train(params, data, num_boost_round=30)
    ours = LGBMRegressor(objective="aft_normal", **SMALL).fit(X, BOUNDS)
    margin = theirs.predict(data, output_margin=True)
    assert np.corrcoef(-ours.predict(X), margin)[0, 1] > 0.7


# --- Presets and folds ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    nightly_if(
        ["cox", "cox_efron", "aft", "aft_extreme"], {"cox_efron", "aft_extreme"}
    ),
)
def test_presets_grow_small_trees_and_find_the_rounds(name):
    model = LGBMRegressor(objective=name, preset="accurate").fit(X, STRUCTURED)
    chosen = model.preset_params_
    assert chosen["extra_trees"]
    assert (chosen["num_leaves"], chosen["reg_lambda"]) == (7, 3.0)
    assert model.search_results_["params"] == [{}]
    # Steps are small. Leaves of distributions are shrunken, so they take more rounds.
    assert 5 < model.n_estimators_ < (850 if name.startswith("cox") else 1200)
    assert model.score(X, Y) > 0.7
    passed = LGBMRegressor(objective=name, preset="accurate", num_leaves=31)
    assert passed.fit(X, Y).preset_params_.keys() == chosen.keys() - {"num_leaves"}


def test_presets_take_strata_groups_folds_and_evaluation_sets():
    groups = np.arange(N) // 4
    for y in (STRATIFIED, STRUCTURED):
        options = {"preset": "accurate", "folds": 3, "n_estimators": 20}
        model = LGBMRegressor(objective="cox", **options)
        model.fit(X, y, groups=groups)
        assert (model.oof_prediction_ != 0).all()
        assert model.preset_params_["num_leaves"] == 7
    model = LGBMRegressor(objective="aft", preset="accurate", learning_rate=0.5)
    model.fit(X[:160], BOUNDS[:160], eval_set=[(X[160:], BOUNDS[160:])])
    assert 0 < model.best_iteration_ < 500


@pytest.mark.parametrize("name", ["cox", "aft"])
def test_folds_share_out_events(name):
    few = np.column_stack([np.arange(N) % 60 == 7, TIME])  # four of them
    options = {"objective": name, "n_estimators": 3}
    model = LGBMRegressor(**options, folds=4).fit(X, few)
    losses = [*model.evals_result_.values()]
    assert len(losses) == 4
    assert np.isfinite([*itertools.chain(*(h.values() for h in losses))]).all()
    with pytest.raises(ValueError, match=r"test rows of fold 4: no event.* smaller"):
        LGBMRegressor(**options, folds=5).fit(X, few)
    with pytest.raises(ValueError, match=r"rows of fold 0: no event.* smaller"):
        LGBMRegressor(**options, folds=2).fit(X, few, groups=np.arange(N) % 60 == 7)
    two, one = (few * [[1, 1]] for _ in range(2))
    two[100:, 0] = one[60:, 0] = 0
    for y in (two, one):
        model = LGBMRegressor(objective=name, preset="accurate").fit(X, y)
        assert ("n_rounds" in (model.search_results_ or {})) == (y is two)
    # Half of the rows are held out, and so is one of two events.
    stopping = {"early_stopping_round": 2, "validation_fraction": 0.5}
    assert LGBMRegressor(**options, **stopping).fit(X, two).best_iteration_ > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y.assign(days=-y.days), "column 'days' of y must hold times >= 0"),
        (lambda y: y.assign(days=np.nan), "column 'days' .* no missing values"),
        (lambda y: y.assign(dead=0), "y has no event"),
        (lambda y: y.assign(dead=y.days == y.days.max()), "known to outlive one with"),
        (lambda y: y.assign(dead="yes"), "'dead' .* holds 'yes'. Compare it with"),
        (lambda y: y.assign(stratum=np.arange(N) == 3), "stratum 1 of y has row 3"),
    ],
)
def test_presets_refuse_bad_targets_before_any_work(change, message, monkeypatch):
    monkeypatch.setattr(BinnedDataset, "build", None)
    y = change(pd.DataFrame({"dead": EVENT, "days": TIME}))
    for options in ({}, {"folds": 4}):
        model = LGBMRegressor(objective="cox", preset="accurate", **options)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)


# --- Errors ---------------------------------------------------------------------------


def with_time(time):
    y = Y.copy()
    y[7, 1] = time
    return y


def cox(**options):
    return LGBMRegressor(objective="cox", **options)


LATE = {"eval_set": [(X, with_time(-1.0))], "eval_names": ["late"]}
ERRORS = {
    r"column 1 of y must hold times above 0.*row 7": lambda model: LGBMRegressor(
        objective="aft"
    ).fit(X, with_time(0.0)),
    r"'late'.*column 1 of eval_y must.*row 7": lambda model: cox().fit(X, Y, **LATE),
    "y must have two columns and 240 rows": lambda model: cox().fit(X, TIME),
    r"y must have two columns and 240 rows.*": lambda model: LGBMRegressor(
        objective="aft_normal"
    ).fit(X, np.hstack([Y, Y])),
    r"objective='cox'.* use LGBMRegressor": lambda model: LGBMClassifier(
        objective="cox"
    ).fit(X, Y),
    r"'alpha' .* must be a number for .*'cox'": lambda model: cox(alpha=[0.1, 0.9]).fit(
        X, Y
    ),
    "'cox' is not for ranking": lambda model: LGBMRanker(objective="cox").fit(
        X, Y, group=[N]
    ),
    "metric 'l2' cannot be computed for this task": lambda model: cox(metric="l2").fit(
        X, Y
    ),
    "metric 'concordance' cannot be computed": lambda model: LGBMRegressor(
        metric="concordance"
    ).fit(X, TIME),
    r"'survival:cox' is not known.*Did you mean": lambda model: LGBMRegressor(
        objective="survival:cox"
    ).fit(X, Y),
    "times must have one dimension": lambda model: model.predict_survival_function(
        X, 1.0
    ),
    "strata must hold numbers: could not convert": lambda model: (
        model.predict_survival_function(X, [1.0], strata=["a"] * N)
    ),
    "q must be between 0 and 1, got 1": lambda model: model.predict_quantile(X, 1),
    "cannot predict quantiles: its objective is": lambda model: (
        LGBMRegressor(n_estimators=2).fit(X, TIME).predict_quantile(X)
    ),
    "cannot predict intervals": lambda model: model.predict_interval(X),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message, model):
    with pytest.raises(ValueError, match=message):
        ERRORS[message](model)


def test_distributions_have_survival_functions_and_quantiles():
    model = LGBMRegressor(objective="gamma_distribution", **SMALL).fit(X, TIME)
    predicted = model.predict_distribution(X)
    survival = model.predict_survival_function(X, [0.1, 1.0])
    np.testing.assert_allclose(survival[:, 1], predicted.sf(1.0))
    np.testing.assert_allclose(model.predict_quantile(X), predicted.median())
    for predict in (model.predict_survival_function, model.predict_quantile):
        with pytest.raises(ValueError, match=r"strata must be None: .*distribution"):
            predict(X, [0.5], strata=STRATA)
