"""The spread of distributions is that of the errors that the mean makes on new rows."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import Booster, Dataset, LGBMRegressor, train

N = 1000


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(2 * N, 4))
    return X, rng


def errors(model, X, y):
    """The errors, in standard deviations, of the first rows and of the others."""
    predicted = model.predict_distribution(X)
    z = (y - predicted.mean()) / predicted.std()
    return np.sqrt(np.mean(z[:N] ** 2)), np.sqrt(np.mean(z[N:] ** 2))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("normal", {}),
        ("normal", {"reg_alpha": 1.0}),
        ("normal", {"min_split_gain": 0.5, "learning_rate": 0.3}),
        ("normal", {"boosting_type": "dart"}),
        ("student", {"min_split_gain": 0.1}),
        ("normal", {"subsample": 0.6, "subsample_freq": 1}),
        ("normal", {"data_sample_strategy": "goss"}),
        ("gamma_distribution", {"min_split_gain": 0.1}),
        ("aft_normal", {"min_split_gain": 0.1}),
        ("lognormal", {"min_split_gain": 0.1}),
    ],
)
def test_the_spread_of_nearly_certain_targets_is_small(name, options):
    X, rng = rows()
    signal = 3.0 * X[:, 0] + np.sin(6.0 * X[:, 1])
    y = signal + 0.05 * rng.normal(size=2 * N)
    is_positive = name in ("gamma_distribution", "lognormal", "aft_normal")
    model = LGBMRegressor(objective=name, **options, n_jobs=1)
    target = np.exp(y[:N]) if is_positive else y[:N]
    if name == "aft_normal":
        target = np.column_stack([target, target])
    model.fit(X[:N], target)
    score = model.predict(X, raw_score=True)
    error = np.sqrt(np.mean((score[N:, 0] - y[N:]) ** 2))
    spread = model.predict_distribution(X[N:])
    if is_positive:
        deviation = np.median(spread.std() / spread.mean())
    else:
        deviation = np.median(spread.std())
    assert 1 / 1.5 < deviation / error < 1.5
    assert error < 0.3


def test_counts_are_no_more_certain_than_new_rows():
    X, rng = rows()
    y = rng.negative_binomial(3, 3.0 / (3.0 + np.exp(1.0 + X[:, 0])))
    model = LGBMRegressor(objective="negative_binomial", n_jobs=1)
    learned, new = errors(model.fit(X[:N], y[:N]), X, y)
    assert learned < 0.9
    assert 0.85 < new < 1.1


@pytest.mark.parametrize("name", ["normal", "student"])
@pytest.mark.parametrize("weighted", [False, True])
def test_noise_that_is_learned_does_not_make_a_model_certain(name, weighted):
    X, rng = rows(1)
    y = 5.0 * rng.normal(size=2 * N) + X[:, 0]
    weight = np.full(N, 0.01) if weighted else None
    options = {"min_sum_hessian_in_leaf": 0.0, "n_jobs": 1}
    model = LGBMRegressor(objective=name, **options).fit(X[:N], y[:N], weight)
    learned, new = errors(model, X, y)
    assert learned < 0.95
    assert 0.9 < new < 1.2
    # Little noise is learned.
    point = LGBMRegressor(n_jobs=1).fit(X[:N], y[:N])
    assert model.predict(X).std() < 0.6 * point.predict(X).std()
    assert model.predict(X, raw_score=True)[:, 1].std() < 0.15


def test_much_noise_that_is_learned_does_not_make_a_model_certain():
    X, rng = rows(1)
    y = 5.0 * rng.normal(size=2 * N) + X[:, 0]
    model = LGBMRegressor(objective="normal", n_estimators=400, n_jobs=1)
    learned, new = errors(model.fit(X[:N], y[:N]), X, y)
    assert learned < 0.8
    assert 0.9 < new < 1.35


def test_an_outlier_does_not_widen_the_spread():
    X, rng = rows(6)
    y = X[:, 0] + rng.normal(size=2 * N)
    fit = LGBMRegressor(objective="normal", n_jobs=1).fit
    spread = fit(X[:N], y[:N]).predict_distribution(X[N:]).std()
    # Their squares are as large as those of 9,000 others.
    y[:N:100] += 30.0
    wider = fit(X[:N], y[:N]).predict_distribution(X[N:]).std()
    assert np.median(wider) < 1.2 * np.median(spread)


def test_the_spread_has_trees_where_it_differs():
    X, rng = rows(2)
    deviation = np.where(X[:, 2] > 0.5, 3.0, 0.5)
    y = X[:, 0] + deviation * rng.normal(size=2 * N)
    model = LGBMRegressor(objective="normal", n_jobs=1).fit(X[:N], y[:N])
    predicted = model.predict_distribution(X[N:]).std()
    wide = deviation[N:] > 1.0
    assert np.median(predicted[wide]) > 2.0 * np.median(predicted[~wide])


def shrinkage_of_means(y, weight):
    """What is added to the weights of leaves in each round of a normal mean."""
    X, _ = rows(5)
    booster = train(
        {"objective": "normal", "num_leaves": 6, "num_threads": 1, "verbosity": -1},
        Dataset(X[:N], y, weight=weight),
        6,
    )
    mean, added = np.full(N, np.average(y, weights=weight)), []
    for number, leaf in enumerate(booster.predict(X[:N], pred_leaf=True)[:, ::2].T):
        part = {"start_iteration": number, "num_iteration": 1}
        raw = booster.predict(X[:N], raw_score=True, **part)[:, 0]
        step = raw - (mean[0] if number == 0 else 0.0)
        places = leaf.astype(int), weight * (y - mean)
        total, size = np.bincount(*places), np.bincount(places[0], weight)
        of_leaf = np.bincount(places[0], weight * step) / size
        of_leaves = 0.1 * total / of_leaf - size
        np.testing.assert_allclose(of_leaves, of_leaves.mean(), atol=1e-3 * N)
        added.append(of_leaves.mean() * len(size) / weight.sum())
        mean = mean + step
    return np.array(added)


@pytest.mark.parametrize("weight", [1.0, 0.125])
def test_leaves_are_shrunken_by_the_noise_in_them(weight):
    X, rng = rows(5)
    noise, weight = rng.normal(size=N), np.full(N, weight)
    of_noise = shrinkage_of_means(noise, weight)
    # In relation to an average leaf: r / (1 - r) of a share r.
    assert abs(of_noise[0]) < 1e-3
    assert (of_noise[1:] > 0.7).all()
    assert (of_noise < 9.001).all()
    of_signal = shrinkage_of_means(5.0 * X[:N, 0] + 0.1 * noise, weight)
    assert (of_signal[1:] > 0.0).all()
    assert (of_signal < 0.1).all()


@pytest.mark.parametrize("boosting", ["gbdt", "dart"])
def test_levels_are_a_part_of_the_trees(boosting):
    X, rng = rows(3)
    y = 3.0 * X[:, 0] + 0.1 * rng.normal(size=2 * N)
    params = {"objective": "normal", "boosting": boosting, "num_leaves": 8}
    params |= {"min_gain_to_split": 0.1, "num_threads": 1}
    model = train(params, Dataset(X, y), 12, keep_training_booster=True)
    by_hand = Booster(params, Dataset(X, y))
    for _ in range(15):
        by_hand.update()
    for _ in range(3):
        by_hand.rollback_one_iter()
    for other in (by_hand, Booster(model_str=model.model_to_string())):
        raw = {"raw_score": True}
        for part in (raw, raw | {"num_iteration": 5}, {"pred_contrib": True}):
            np.testing.assert_array_equal(
                other.predict(X, **part), model.predict(X, **part)
            )
    for booster in (by_hand, model):
        booster.update()
    score = by_hand.predict(X, raw_score=True)
    np.testing.assert_array_equal(score, model.predict(X, raw_score=True))
    told = dict(name_and_value[1:3] for name_and_value in by_hand.eval_train())
    nll = score[:, 1] + 0.5 * ((y - score[:, 0]) / np.exp(score[:, 1])) ** 2
    assert told["nll"] == pytest.approx(nll.mean() + 0.5 * np.log(2 * np.pi), rel=1e-9)


@pytest.mark.parametrize("name", ["normal", "gamma_distribution", "negative_binomial"])
def test_a_model_that_goes_on_is_as_certain_as_one_fit(name):
    X, rng = rows(4)
    y = rng.poisson(np.exp(1.0 + 2.0 * X[:, 0])) + (name != "negative_binomial")
    model = LGBMRegressor(objective=name, n_estimators=40, n_jobs=1)
    first = LGBMRegressor(**model.get_params()).fit(X[:N], y[:N])
    model.fit(X[:N], y[:N], init_model=first)
    whole = LGBMRegressor(objective=name, n_estimators=80, n_jobs=1).fit(X[:N], y[:N])
    assert errors(model, X, y)[1] == pytest.approx(errors(whole, X, y)[1], rel=0.12)


def test_forests_learn_no_distribution():
    X, _ = rows()
    forest = LGBMRegressor(boosting_type="rf", colsample_bytree=0.5)
    y = X[:, 0] + 1.0
    for name, target in (("normal", y), ("aft_normal", np.column_stack([y, y]))):
        with pytest.raises(ValueError, match=f"{name}.*Use boosting_type='gbdt'"):
            forest.set_params(objective=name).fit(X, target)
