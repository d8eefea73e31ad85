"""Metrics of survival against loops, SciPy and scikit-survival."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from helpers.naive_survival import naive_sums
from helpers.survival_rows import EVENT, STRUCTURED, TIME, WEIGHT, N, X, Y
from skgoss import LGBMRegressor
from skgoss.columns import lifetimes
from skgoss.objectives.distributions import DISTRIBUTIONS
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.metrics import Metric
from skgoss.objectives.survival_metrics import _survival, concordance
from skgoss.parameters import DEFAULTS
from skgoss.parameters.settings import Settings

RNG = np.random.default_rng(12)
SMALL = {"n_estimators": 8, "num_leaves": 5}


def metric(name, risk, y=Y, weight=None, objective="cox"):
    settings = Settings(DEFAULTS | {"objective": objective})
    scores = np.atleast_2d(risk)
    data = EvalData(lifetimes.bounds(y, len(y)), scores, weight, None, 1)
    (result,) = Metric(name, settings)(data)
    return result.value


@pytest.mark.parametrize("objective", ["cox", "cox_efron"])
def test_rows_of_weight_0_are_not_ties(objective):
    weight = WEIGHT + 0.5
    weight[::3] = 0.0
    kept = weight > 0
    found = metric("cox_nll", X[:, 0], weight=weight, objective=objective)
    expected = metric("cox_nll", X[kept, 0], Y[kept], weight[kept], objective)
    assert found == pytest.approx(expected, rel=1e-12)


def test_metrics_are_those_of_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    for _ in range(3):
        risk = np.round(RNG.normal(size=N), 1)
        bounds = lifetimes.bounds(Y, N)
        ours = concordance(EvalData(bounds, risk[None], None, None, 1))
        theirs = metrics.concordance_index_censored(EVENT, TIME, risk, tied_tol=0)[0]
        assert ours == pytest.approx(theirs, rel=1e-12)
    model = LGBMRegressor(objective="cox", **SMALL).fit(X, Y)
    score = metric("brier", model.predict(X))
    levels = np.quantile(TIME[EVENT], np.linspace(0.1, 0.9, 17), method="inverted_cdf")
    times = np.unique(levels)
    survival = model.predict_survival_function(X, times)
    theirs = metrics.integrated_brier_score(STRUCTURED, STRUCTURED, survival, times)
    assert score == pytest.approx(theirs, rel=1e-10)


def naive_concordance(bounds, risk, weight):
    right = total = 0.0
    for i in range(len(risk)):
        for j in range(len(risk)):
            (_, upper), (lower, other) = bounds[i, :2], bounds[j, :2]
            is_pair = (bounds[i, 2:] == bounds[j, 2:]).all()
            if is_pair and (upper < lower or (upper == lower and other > lower)):
                pair = weight[i] * weight[j]
                total += pair
                right += pair * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
    return right / total


def test_concordance_counts_pairs():
    lower = np.round(RNG.uniform(0.1, 3.0, 90), 1)
    upper = lower + np.round(RNG.choice([0.0, 0.2, 0.5, np.inf], 90), 1)
    bounds = np.column_stack([lower, upper])
    risk, weight = np.round(RNG.normal(size=90), 1), RNG.uniform(0.5, 2.0, 90)
    # Strata of many rows, pairs, and a row alone.
    strata = np.minimum(np.arange(90) // 2, 20) % 17 + 0.5
    for w, y in itertools.product(
        (None, weight), (bounds, np.column_stack([bounds, RNG.permutation(strata)]))
    ):
        ours = concordance(EvalData(y, risk[None], w, None, 1))
        expected = naive_concordance(y, risk, np.ones(90) if w is None else w)
        assert ours == pytest.approx(expected, rel=1e-12)
    alone = EvalData(np.array([[1.0, np.inf]] * 2), risk[None, :2], None, None, 1)
    assert np.isnan(concordance(alone))


def test_brier_with_weights_and_without_events():
    risk = X[:, 0]
    copies = np.repeat(np.arange(N), WEIGHT.astype(int))
    assert metric("brier", risk, weight=WEIGHT) == pytest.approx(
        metric("brier", risk[copies], Y[copies]), rel=1e-10
    )
    at_one_time = np.array([[1, 2.0]] * 20 + [[0, 3.0]] * 10)
    assert 0 < metric("brier", risk[:30], at_one_time) < 1
    with pytest.raises(ValueError, match="metric 'brier' needs an evaluation set with"):
        metric("brier", risk, Y * [0, 1])
    assert metric("cox_nll", risk, objective="cox_efron") < metric("cox_nll", risk)
    assert np.isnan(metric("cox_nll", risk, Y * [0, 1]))


def naive_brier(y, survival_at, weight):
    """Graf's score by loops: ``survival_at`` has the probabilities at a time."""
    event, time = y[:, 0] == 1, y[:, 1]

    def stays(moment):
        """The chance not to be censored up to a moment, at which events come first."""
        chance = 1.0
        for t in sorted({t for t in time if t <= moment}):
            leaving = weight[(time == t) & ~event].sum()
            staying = weight[(time > t) | ((time == t) & ~event)].sum()
            chance *= 1 - leaving / staying if leaving else 1.0
        return chance or np.inf

    def score(moment):
        total = 0.0
        for row, survival in enumerate(survival_at(moment)):
            if time[row] > moment:
                total += weight[row] * (1 - survival) ** 2 / stays(moment)
            elif event[row]:
                total += weight[row] * survival**2 / stays(time[row])
        return total / weight.sum()

    moments = []
    for level in np.linspace(0.1, 0.9, 17):
        needed = level * weight[event].sum()
        enough = [t for t in time if weight[event & (time <= t)].sum() >= needed]
        moments.append(min(enough))
    moments = sorted(set(moments))
    scores = [score(t) for t in moments]
    if len(moments) == 1:
        return scores[0]
    return np.trapezoid(scores, moments) / (moments[-1] - moments[0])


@pytest.mark.parametrize("weights", [[1.0], [1, 3, 2], [0.5, 1.3]])
@pytest.mark.parametrize("strata", [1, 2])
@pytest.mark.parametrize("n_times", [1, 4, 9])
def test_brier_scores_are_those_of_loops(n_times, strata, weights):
    n = 30
    time, event = RNG.integers(1, n_times + 1, n), np.arange(n) % 3 > 0
    labels = np.arange(n) % strata
    y = np.column_stack([event, time, labels])
    score, weight = RNG.normal(size=n), np.resize(weights, n) * 1.0
    stratum, moment, hazard = naive_sums(y, score, weight, efron=False)[2]

    def of_cox(time):
        known = [hazard[(stratum == s) & (moment <= time)] for s in labels]
        return np.exp(-np.exp(score) * [max(h, default=0.0) for h in known])

    passed = None if set(weights) == {1.0} else weight
    y = y if strata > 1 else y[:, :2].copy()
    expected = naive_brier(y, of_cox, weight)
    assert metric("brier", score, y, passed) == pytest.approx(expected, rel=1e-9)
    scores = np.vstack([score, 0.3 * RNG.normal(size=n)])

    def of_aft(time):
        return DISTRIBUTIONS["aft_logistic"].frozen(scores).sf(time)

    found = metric("brier", scores, y[:, :2].copy(), passed, "aft_logistic")
    assert found == pytest.approx(naive_brier(y, of_aft, weight), rel=1e-9)


@pytest.mark.parametrize("base", ["normal", "logistic", "extreme"])
def test_survival_of_the_brier_score_is_that_of_scipy(base):
    rng, name = np.random.default_rng(1), f"aft_{base}"
    times = np.array([1e-10, 0.01, 1.0, 30.0, 1e5])
    # The last ones live far shorter, or longer, than all times.
    scores = np.stack([rng.normal(0, 3, 60), rng.normal(-1, 1, 60)])
    scores = np.append(scores, [[-40.0, 40.0], [-20.0, -20.0]], axis=1)
    with np.errstate(over="ignore", divide="ignore"):
        expected = DISTRIBUTIONS[name].frozen(scores).sf(times[:, None]).T
    found = _survival(name, scores, times)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_location_of_failure_times_is_not_a_risk():
    risk, spread = X[:, 0], np.zeros(N)
    assert metric(
        "concordance", np.vstack([-risk, spread]), objective="aft_normal"
    ) == metric("concordance", risk)
