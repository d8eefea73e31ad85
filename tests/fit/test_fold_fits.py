"""Fits of the folds side by side."""

import threading

import numpy as np
import pytest
from folds import DATA, FOLDS, fit, numbers, twins
from scipy.optimize import minimize

import skgoss
from skgoss import Dataset
from skgoss.fit import fold_fits
from skgoss.objectives.distributions import DISTRIBUTIONS
from skgoss.training.callback_api import EvalResult


@pytest.mark.parametrize("task", DATA)
def test_first_rounds_are_those_of_all_folds(task):
    model, (X, _) = fit(task), DATA[task][1]()
    first = [
        twin.predict(X, raw_score=True, num_iteration=1) for twin, _ in twins(task)
    ]
    np.testing.assert_allclose(
        model.predict(X, raw_score=True, num_iteration=FOLDS), np.mean(first, axis=0)
    )


@pytest.mark.parametrize("task", DATA)
def test_threads_do_not_change_a_bit(task):
    X = DATA[task][1]()[0]
    one, two, three = (fit(task, folds=FOLDS, n_jobs=n) for n in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(one.oof_prediction_, other.oof_prediction_)
        np.testing.assert_array_equal(
            one.predict(X, raw_score=True), other.predict(X, raw_score=True)
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


# --- Distributions --------------------------------------------------------------------


def calibration(name, scores, y, weight):
    """A twin: what makes raw scores, (n, n_scores), more likely, by SciPy."""
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
    """A twin: steps of the location, whose information is that of a unit scale."""
    first = np.eye(scores.shape[1])[0] * 1e-4
    low, high = (
        -DISTRIBUTIONS[name].frozen((scores + change).T).logpdf(y)
        for change in (-first, first)
    )
    degrees = np.exp(scores[:, 2]) if name == "student" else np.full(len(scores), 1e9)
    information = (degrees + 1) / (degrees + 3)
    slope = (high - low) / 2e-4 * np.exp(2 * scores[:, 1])
    return -slope / information, information


def errors_of_the_mean(name, y, models):
    """A twin: how large they are, as a share of those of a model."""
    X, _ = numbers()
    everything = [model.predict(X, raw_score=True) for model, _ in models]
    noise = error = 0.0
    for i in range(len(y)):
        scores = np.array(
            [
                s[i]
                for s, (_, test) in zip(everything, models, strict=True)
                if i not in test
            ]
        )
        step, weight = newton(name, scores, y[i])
        distance = scores[:, 0] - scores[:, 0].mean()
        noise += weight @ distance**2 * len(scores) / (len(scores) - 1)
        error += weight @ step**2
    return np.sqrt(1.0 - noise / error * (1.0 - 1.0 / len(models)))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("normal", {}),
        ("student", {"early_stopping_round": 3}),
        ("normal", {"linear_tree": True}),
        ("normal", {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}),
    ],
)
def test_spreads_are_calibrated_by_rows_of_no_fold(name, options):
    X, y = numbers()
    tested, scores = np.empty((len(y), len(DISTRIBUTIONS[name].parameters))), 0.0
    models = list(twins(objective=name, **options))
    for twin, test in models:
        tested[test] = twin.predict(X[test], raw_score=True)
        scores += twin.predict(X, raw_score=True) / FOLDS
    share = errors_of_the_mean(name, y, models)
    assert share < 0.99
    closer = tested.copy()
    closer[:, 0] += (1.0 - share) * newton(name, tested, y)[0]
    moved = calibration(name, closer, y, np.ones(len(y)))
    model = fit(objective=name, **options)
    close = {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose(model.predict(X, raw_score=True), moved(scores), **close)
    found = model._model.out_of_fold.scores
    np.testing.assert_allclose(found, moved(tested), **close)
    losses = -DISTRIBUTIONS[name].frozen(found.T).logpdf(y).reshape(FOLDS, -1)
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


def test_scores_of_other_models_are_not_calibrated(monkeypatch):
    X, y = numbers()
    first = skgoss.LGBMRegressor(objective="normal", n_estimators=3).fit(X, y)
    model = skgoss.LGBMRegressor(objective="normal", folds=FOLDS, n_estimators=3)
    monkeypatch.delattr(fold_fits, "calibrated")
    model.fit(X, y, init_model=first)
    model.fit(X, y, init_score=np.zeros((len(y), 2)))
    with pytest.raises(NameError):
        model.fit(X, y)


class Counted:
    """Rounds whose loss is the distance to the 9th one; the 12th has no split."""

    first_round, n_rounds = 3, 0

    def boost(self):
        before, self.n_rounds = self.n_rounds, min(self.n_rounds + 1, 11)
        return self.n_rounds > before

    def current_iteration(self):
        return self.first_round + self.n_rounds

    def evaluate(self):
        return [EvalResult("fold", "l1", abs(9 - self.n_rounds), False)]


def test_few_losses_of_a_fold_are_computed_unless_it_is_kept():
    few = fold_fits.GrowingFold(Counted(), is_kept=False)
    all_of_them = fold_fits.GrowingFold(Counted(), is_kept=True)
    for fold in (few, all_of_them):
        for stage in (5, 5, 7, 10, 20, 30):
            fold.grow(stage, lambda: False)
        assert fold.has_ended
        assert fold.n_rounds == 11
        assert list(fold.losses.values()) == fold.history["fold"]["l1"]
    assert list(few.losses) == [1, 2, 4, 5, 7, 8, 10, 11]
    assert list(all_of_them.losses) == list(range(1, 12))
    assert (few.best_round, all_of_them.best_round) == (8, 9)


def test_a_fold_that_is_ended_has_the_loss_of_its_last_round():
    fold = fold_fits.GrowingFold(Counted(), is_kept=False)
    fold.grow(10, lambda: fold.n_rounds == 7)
    assert fold.has_ended
    assert list(fold.losses) == [1, 2, 4, 7]
