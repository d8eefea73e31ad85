"""The models of folds as one."""

import threading

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import RepeatedKFold

import skgoss
from helpers.folds import (
    DATA,
    FOLDS,
    fit,
    joined_scores,
    models_of_folds,
    numbers,
)
from skgoss import Dataset
from skgoss.binning.rows import Rows
from skgoss.columns.columns import RELEASED
from skgoss.objectives.distributions import DISTRIBUTIONS
from skgoss.objectives.metrics import Metric
from skgoss.objectives.objectives import make_link
from skgoss.parameters import make_settings
from skgoss.several_fits import blending
from skgoss.training.evaluation import EvaluationSet


@pytest.mark.parametrize("task", DATA)
def test_first_rounds_are_those_of_all_folds(task):
    model, (X, _) = fit(task), DATA[task][1]()
    first, scores = (
        [
            other.predict(X, raw_score=True, num_iteration=n)
            for other, _ in models_of_folds(task)
        ]
        for n in (1, None)
    )
    mean = np.mean(first, axis=0)
    # The constants of the means of all rounds are in the first ones.
    added = joined_scores(scores, model._model.link.kind) - joined_scores(scores, None)
    np.testing.assert_allclose(
        model.predict(X, raw_score=True, num_iteration=FOLDS),
        mean + added.reshape(mean.shape),
        rtol=1e-7,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 3},
        {"folds": 3, "refit": True},
        {"early_stopping_round": 3},
        {"early_stopping_round": 3, "refit": True},
    ],
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_objectives_of_train_get_the_rows_that_are_learned(options, is_weighted):
    X, y = numbers()
    weight = np.ones(len(y))
    weight[::5] = 0

    def squared(predictions, rows):
        assert len(predictions) == len(rows.get_label()) == rows.num_data()
        assert rows.get_weight() is None or rows.get_weight().all()
        return predictions - rows.get_label(), np.ones(len(predictions))

    models = []
    for objective in ("regression", squared):
        params = {"objective": objective, "metric": "l2", "boost_from_average": False}
        rows = Dataset(X, y, weight=weight if is_weighted else None)
        models.append(skgoss.train({**params, **options, "verbosity": -1}, rows, 8))
    expected, found = (model.predict(X) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_functions_of_users_are_never_called_by_two_threads():
    inside, seen = threading.Lock(), set()

    def squared(y, predictions):
        assert inside.acquire(blocking=False)
        seen.add(threading.get_ident())
        inside.release()
        return predictions - y, np.ones_like(y)

    fit(objective=squared, metric="l2", n_jobs=4)
    assert seen == {threading.get_ident()}


# --- Several configurations ----------------------------------------------------------


def folds_of(scores, target, weight=None):
    """Models of three folds with these scores of all rows, (n_rows,)."""
    models = []
    for number in range(3):
        test = np.arange(number, len(target), 3)
        rows = Rows(RELEASED, target[test], None if weight is None else weight[test])
        tested = EvaluationSet(f"fold_{number}", rows)
        models.append(
            blending.FoldModel(None, 0, test, tested, scores[None, test], None, {})
        )
    return models


def metrics_of(name, objective="regression"):
    settings = make_settings({"objective": objective}, "LGBMRegressor")
    return [Metric(name, settings, make_link(objective))]


def naive_loss(scores, target, weight=None):
    """The mean over the folds of the mean squared error."""
    square = (scores - target) ** 2
    weight = np.ones(len(target)) if weight is None else weight
    return np.mean([np.average(square[i::3], weights=weight[i::3]) for i in range(3)])


def naive_weights(kinds, target, weight=None):
    """Caruana's: which kind to add, again and again, to a mean of at most six."""
    added, best, weights = [], np.inf, None
    for _ in range(25):
        losses = []
        for number in range(len(kinds)):
            members = [*added, number]
            mean = np.mean([kinds[k] for k in members], axis=0)
            is_open = len(set(members)) <= 6
            loss = naive_loss(mean, target, weight) if is_open else np.inf
            losses.append(loss)
        added.append(int(np.argmin(losses)))
        if min(losses) < best:
            best = min(losses)
            weights = np.bincount(added, minlength=len(kinds)) / len(added)
    return weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_kinds", [1, 2, 9])
def test_weights_are_those_of_the_loop_that_adds_the_best_kind(n_kinds, weighted):
    rng = np.random.default_rng(n_kinds)
    target = rng.normal(size=60)
    weight = rng.uniform(0.1, 4.0, 60) if weighted else None
    # Each errs in its own way, so that a mean of all would be best.
    kinds = [target + rng.normal(0.1 * k, 1.0, 60) for k in range(n_kinds)]
    found = blending.hill_climbing(
        [folds_of(kind, target, weight) for kind in kinds], metrics_of("l2")
    )
    expected = naive_weights(kinds, target, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.count_nonzero(found) == min(n_kinds, 6)


def test_the_first_of_equal_kinds_is_the_model():
    target = np.random.default_rng(0).normal(size=30)
    kinds = [folds_of(target + shift, target) for shift in (2.0, 1.0, 1.0)]
    assert blending.hill_climbing(kinds, metrics_of("l2")) == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(("n", "share"), [(25, 1 / 25), (26, 1 / 25), (24, 1 / 24)])
def test_no_more_than_25_kinds_are_added(n, share):
    one, other = np.random.default_rng(0).normal(size=(2, 30))
    target = ((n - 1) * one + other) / n
    kinds = [folds_of(scores, target) for scores in (one, other)]
    found = blending.hill_climbing(kinds, metrics_of("l2"))
    assert found == pytest.approx([1 - share, share])


@pytest.mark.filterwarnings("ignore:The metric 'l2' of")
def test_weights_sum_to_1_where_no_loss_is_a_number():
    target = np.random.default_rng(0).normal(size=30)
    kinds = [folds_of(np.full(30, np.nan), target) for _ in range(2)]
    assert blending.hill_climbing(kinds, metrics_of("l2")) == [1.0, 0.0]


@pytest.mark.parametrize("n_rows", [1, 300, 10**9])
@pytest.mark.parametrize("scale", [0.7, 1.0, 3.0])
def test_factors_of_probabilities_have_the_lowest_loss(scale, n_rows):
    """Less than it: half of the way if there are a thousand rows."""
    rng = np.random.default_rng(4)
    margin = rng.normal(size=900)
    target = (rng.random(900) < expit(margin)) * 1.0
    metrics = metrics_of("binary_logloss", "binary")
    kinds = [folds_of(part * scale * margin, target) for part in (0.5, 1.5)]
    found = blending.calibration(kinds, [0.5, 0.5], metrics, n_rows)
    grid, sign = np.linspace(0.5, 2.0, 1501), 2 * target - 1
    losses = [np.logaddexp(0, -sign * f * scale * margin).mean() for f in grid]
    best = grid[int(np.argmin(losses))]
    assert found == pytest.approx(1 + (best - 1) * n_rows / (n_rows + 1000), abs=2e-3)


@pytest.mark.filterwarnings("ignore:The metric 'auc'")
def test_losses_are_means_over_folds_and_less_is_better():
    target = np.array([0, 0, 0, 1, 1, 1] * 5) * 1.0
    # The order is right in the first two folds, and wrong in the last one.
    scores = target * np.array([1, 1, -1] * 10)
    metrics = metrics_of("auc", "binary")
    models = folds_of(scores, target)
    assert blending.loss(models, metrics) == pytest.approx(-2 / 3)
    assert blending.loss(models[:2], metrics) == -1.0
    # One class alone has no rank.
    assert blending.loss(folds_of(scores, 0 * target), metrics) == np.inf
    squared = blending.loss(models, metrics_of("l2"))
    assert squared == pytest.approx(naive_loss(scores, target))


@pytest.mark.parametrize(
    ("rounds", "mean"), [([8], 8), ([1, 100], 10), ([0, 4], 2), ([2, 4, 8], 4)]
)
def test_the_mean_of_numbers_of_rounds_is_geometric(rounds, mean):
    assert blending.mean_rounds(rounds) == pytest.approx(mean)


# --- Distributions --------------------------------------------------------------------


def calibration(name, scores, y, weight):
    """What makes raw scores, (n, n_scores), more likely, by SciPy."""
    n_spreads = scores.shape[1] - 1
    center = np.average(scores[:, 1:], axis=0, weights=weight)

    def moved(scores, change):
        factors, constants = 1 + change[:n_spreads], change[n_spreads:]
        spreads = center + factors * (scores[:, 1:] - center) + constants
        return np.column_stack([scores[:, 0], spreads])

    def loss(change):
        predicted = DISTRIBUTIONS[name].frozen(moved(scores, change).T)
        return 2.0 * change @ change - weight @ predicted.logpdf(y)

    best = minimize(loss, np.zeros(2 * n_spreads), method="L-BFGS-B")
    return lambda scores: moved(scores, best.x)


def newton(name, scores, y):
    """The steps of the location, and the weights of rows in least squares."""
    first = np.eye(scores.shape[1])[0] * 1e-4
    low, high = (
        -DISTRIBUTIONS[name].frozen((scores + change).T).logpdf(y)
        for change in (-first, first)
    )
    degrees = np.exp(scores[:, 2]) if name == "student" else np.full(len(scores), 1e9)
    square = (scores[:, 0] - y) ** 2 * np.exp(-2 * scores[:, 1])
    information = (degrees + 1) / (degrees + square)
    slope = (high - low) / 2e-4 * np.exp(2 * scores[:, 1])
    return -slope / information, information


def errors_of_the_mean(name, y, models, weight, n_tests):
    """Those of the mean of all models, relative to a mean of ``n_tests`` of them."""
    X, _ = numbers()
    scores = np.array([model.predict(X, raw_score=True) for model, _ in models])
    knows = np.array([~np.isin(np.arange(len(y)), test) for _, test in models])
    n = knows.sum(axis=0)
    # One model alone cannot differ from others.
    weight, n = weight * (n > 1), np.maximum(n, 2)
    mean = (knows * scores[..., 0]).sum(axis=0) / n
    noise = error = 0.0
    for row, known in zip(scores, weight * knows, strict=True):
        step, information = newton(name, row, y)
        noise += known * information @ ((row[:, 0] - mean) ** 2 * n / (n - 1))
        error += known * information @ step**2
    return np.sqrt(1.0 - noise / error * (1.0 / n_tests - 1.0 / len(models)))


# All models learn the last rows, which none is tested on; each other row has one.
THIRDS = [
    (np.append(np.arange(k, 180, 3), np.arange(180, 240)), np.flatnonzero(at != k))
    for at in [np.arange(180) % 3]
    for k in range(3)
]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("normal", {}),
        ("student", {"early_stopping_round": 3}),
        ("normal", {"linear_tree": True}),
        ("normal", {"weight": np.linspace(0.1, 4.0, len(numbers()[1]))}),
        ("student", {"folds": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)}),
        ("normal", {"folds": THIRDS}),
    ],
)
def test_spreads_are_calibrated_by_rows_of_no_fold(name, options):
    X, y = numbers()
    weight = options.get("weight", np.ones(len(y)))
    tested, scores = np.zeros((len(y), len(DISTRIBUTIONS[name].parameters))), 0.0
    models, n_tests = list(models_of_folds(objective=name, **options)), np.zeros(len(y))
    for other, test in models:
        tested[test] += other.predict(X[test], raw_score=True)
        n_tests[test] += 1
        scores += other.predict(X, raw_score=True) / len(models)
    at = n_tests > 0
    tested = tested[at] / n_tests[at, None]
    share = errors_of_the_mean(name, y, models, weight, n_tests[at].mean())
    assert share < 0.99
    closer = tested.copy()
    closer[:, 0] += (1.0 - share) * newton(name, tested, y[at])[0]
    moved = calibration(name, closer, y[at], weight[at])
    model = fit(objective=name, **options)
    close = {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose(model.predict(X, raw_score=True), moved(scores), **close)
    found = model._model.out_of_fold.scores
    np.testing.assert_allclose(found[at], moved(tested), **close)
    assert np.isnan(found[~at]).all()
    if (n_tests == 1).all():
        losses = -DISTRIBUTIONS[name].frozen(found.T).logpdf(y).reshape(FOLDS, -1)
        losses = np.average(losses, axis=1, weights=weight.reshape(FOLDS, -1))
        assert model.oof_score_["nll"] == pytest.approx(losses.mean())


def test_rows_of_weight_zero_calibrate_no_spread():
    X, y = numbers()
    weighted, without = np.split(np.arange(len(y)), [len(y) - 30])
    pairs = [(weighted[weighted % 3 != i], weighted[i::3]) for i in range(3)]
    options = {"objective": "normal", "n_estimators": 20}
    # All folds are tested on them.
    tested = [(train, np.append(test, without)) for train, test in pairs]
    found = skgoss.LGBMRegressor(folds=tested, **options).fit(
        X, y, sample_weight=np.arange(len(y)) < len(weighted)
    )
    expected = skgoss.LGBMRegressor(folds=pairs, **options)
    expected.fit(X[weighted], y[weighted])
    ours, theirs = (m.predict(X, raw_score=True) for m in (found, expected))
    np.testing.assert_array_equal(ours, theirs)


def test_a_refit_has_the_calibration_of_its_folds():
    X, y = numbers()
    model = fit(objective="normal", refit=True)
    n_rounds = model.booster_.current_iteration()
    again = skgoss.LGBMRegressor(
        objective="normal", n_estimators=n_rounds, num_leaves=7, min_child_samples=5
    ).fit(X, y)
    ours, plain = (m.predict(X, raw_score=True).T for m in (model, again))
    np.testing.assert_array_equal(ours[0], plain[0])
    factor, added = np.polyfit(plain[1], ours[1], 1)
    np.testing.assert_allclose(ours[1], factor * plain[1] + added, rtol=1e-9)
    assert factor != pytest.approx(1.0)


def test_a_refit_is_not_calibrated_as_a_mean():
    """A mean of models has smaller errors than one model, which a refit is."""
    X, y = numbers()
    tested, ones = np.zeros((len(y), 2)), np.ones(len(y))
    for other, test in models_of_folds(objective="normal"):
        tested[test] = other.predict(X[test], raw_score=True)
    moved = calibration("normal", tested, y, ones)
    model = fit(objective="normal", refit=True)
    again = skgoss.LGBMRegressor(
        objective="normal",
        n_estimators=model.booster_.current_iteration(),
        num_leaves=7,
        min_child_samples=5,
    ).fit(X, y)
    found, expected = (m.predict(X, raw_score=True) for m in (model, again))
    np.testing.assert_allclose(found, moved(expected), rtol=1e-3, atol=1e-3)


def test_scores_of_other_models_are_not_calibrated(monkeypatch):
    X, y = numbers()
    first = skgoss.LGBMRegressor(objective="normal", n_estimators=3).fit(X, y)
    model = skgoss.LGBMRegressor(objective="normal", folds=FOLDS, n_estimators=3)
    monkeypatch.delattr(blending, "calibrated")
    model.fit(X, y, init_model=first)
    model.fit(X, y, init_score=np.zeros((len(y), 2)))
    with pytest.raises(NameError):
        model.fit(X, y)
