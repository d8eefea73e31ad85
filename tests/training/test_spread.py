"""The spread of distributions is that of the errors that the mean makes on new rows."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

from skgoss import Booster, Dataset, LGBMRegressor, train
from skgoss.objectives.distributions import DISTRIBUTIONS
from skgoss.training.spread import unexplained_after

N = 1000
NAMES = list(DISTRIBUTIONS)
names = pytest.mark.parametrize("name", NAMES)


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


def targets(name, y, rng):
    """Targets of a distribution, from numbers of about 1."""
    if name in ("normal", "student"):
        return y
    if name == "beta":
        return 1.0 / (1.0 + np.exp(-y))
    if name == "negative_binomial":
        return rng.poisson(np.exp(y)) * 1.0
    return np.column_stack([np.exp(y)] * 2) if name.startswith("aft") else np.exp(y)


def small(name, n=300, seed=0, noise=1.0):
    """Columns and targets whose spread differs from row to row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + noise * np.abs(X[:, 1]) * rng.normal(size=n)
    return X, targets(name, y, rng)


def fitted(name, X, y, n_rounds=12, weight=None, earlier=None, **options):
    options = {"n_estimators": n_rounds, "n_jobs": 1, "verbosity": -1} | options
    return LGBMRegressor(objective=name, **options).fit(
        X, y, weight, init_model=earlier
    )


def raw(model, X):
    return model.predict(X, raw_score=True)


# --- What must not change a model -----------------------------------------------------


@pytest.mark.parametrize("name", ["normal", "student"])
@pytest.mark.parametrize("factor", [1024.0, 2.0**40, -1.0, -0.25])
def test_units_and_signs_do_not_matter(name, factor):
    X, y = small(name)
    one, other = raw(fitted(name, X, y), X), raw(fitted(name, X, factor * y), X)
    np.testing.assert_array_equal(other[:, 0], factor * one[:, 0])
    scale = one[:, 1] + np.log(abs(factor))
    np.testing.assert_allclose(other[:, 1], scale, rtol=1e-12)
    np.testing.assert_allclose(other[:, 2:], one[:, 2:], rtol=1e-9)


@pytest.mark.parametrize("name", ["normal", "student"])
def test_offsets_do_not_matter(name):
    X, y = small(name)
    one, other = raw(fitted(name, X, y), X), raw(fitted(name, X, y + 64.0), X)
    np.testing.assert_allclose(other[:, 0] - 64.0, one[:, 0], atol=1e-10)
    np.testing.assert_allclose(other[:, 1:], one[:, 1:], atol=1e-9)


@pytest.mark.parametrize("name", ["gamma_distribution", "lognormal", "aft_normal"])
def test_units_of_positive_targets_do_not_matter(name):
    X, y = small(name)
    one, other = raw(fitted(name, X, y), X), raw(fitted(name, X, 1024.0 * y), X)
    one[:, 0] += np.log(1024.0)
    np.testing.assert_allclose(other, one, atol=1e-9)


def test_proportions_and_their_complements_have_the_same_model():
    # Both are exact.
    X, y = small("beta")
    y = np.clip(np.round(y * 1024), 1, 1023) / 1024
    one, other = raw(fitted("beta", X, y), X), raw(fitted("beta", X, 1.0 - y), X)
    np.testing.assert_allclose(other[:, 0], -one[:, 0], atol=1e-9)
    np.testing.assert_allclose(other[:, 1], one[:, 1], atol=1e-9)


@names
def test_the_order_of_rows_does_not_matter(name):
    X, y = small(name)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = fitted(name, X, y), fitted(name, X[order], y[order])
    np.testing.assert_array_equal(raw(one, X), raw(other, X))


@names
def test_weights_count_as_copies(name):
    X, y = small(name)
    X = np.round(X, 1)
    copies = np.random.default_rng(1).integers(0, 4, len(X))
    loose = {"min_child_samples": 1, "min_data_in_bin": 1, "max_bin": 500}
    at = np.repeat(np.arange(len(X)), copies)
    one = fitted(name, X, y, weight=copies * 1.0, **loose)
    other = fitted(name, X[at], y[at], **loose)
    np.testing.assert_array_equal(raw(one, X), raw(other, X))


@pytest.mark.parametrize("name", ["normal", "student"])
def test_a_billionth_of_noise_changes_little(name):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(N, 2)) * 1.0
    y = np.round(X[:, 0] - 2.0 * X[:, 1] + 0.5 * rng.normal(size=N))
    one = fitted(name, X, y, 40)
    other = fitted(name, X, y + 1e-9 * rng.normal(size=N), 40)
    np.testing.assert_allclose(raw(one, X), raw(other, X), atol=1e-4)


# --- Rows that repeat -----------------------------------------------------------------


def cells(n=2 * N):
    """Columns of few values, and the mean of each combination."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(n, 2)) * 1.0
    return X, X[:, 0] - 2.0 * X[:, 1] + 7.0, rng


@pytest.mark.parametrize("name", ["normal", "student"])
def test_the_noise_of_rows_that_repeat_is_not_learned(name):
    X, mean, rng = cells()
    y = np.round(mean + 0.5 * rng.normal(size=len(X)))
    model = fitted(name, X, y, 100)
    point = LGBMRegressor(n_jobs=1).fit(X, y)
    error, of_point = (
        np.sqrt(np.mean((m.predict(X) - mean) ** 2)) for m in (model, point)
    )
    assert error < 1.1 * of_point
    assert model.predict_distribution(X).std().mean() == pytest.approx(
        (y - mean).std(), rel=0.1
    )


@pytest.mark.parametrize("name", ["normal", "student"])
def test_targets_without_noise_are_certain_where_rows_repeat(name):
    X, mean, _ = cells()
    model = fitted(name, X, mean, 100)
    assert np.abs(model.predict(X) - mean).max() < 1e-3
    assert model.predict_distribution(X).std().max() < 1e-3


def test_counts_of_rows_that_repeat():
    X, mean, rng = cells()
    mean = np.exp(0.2 * mean)
    y = rng.poisson(mean)
    model = fitted("negative_binomial", X, y, 100)
    predicted = model.predict_distribution(X)
    point = LGBMRegressor(objective="poisson", n_jobs=1).fit(X, y)
    error, of_point = (
        np.sqrt(np.mean((m.predict(X) - mean) ** 2)) for m in (model, point)
    )
    assert error < 1.3 * of_point
    assert predicted.std().mean() == pytest.approx(np.sqrt(mean).mean(), rel=0.1)


# --- Nothing explodes -----------------------------------------------------------------


def test_counts_of_very_different_means_have_their_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 1))
    y = rng.poisson(np.exp(3.0 * X[:, 0]))
    model = fitted("negative_binomial", X, y, 100)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.15)


def test_targets_that_are_noise_are_fitted_where_rows_are_sampled():
    """By chance, trees may explain less than nothing of the noise of other rows."""
    for seed in range(10, 16):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((150, 4)), rng.standard_normal(150)
        sampled = {"subsample": 0.3, "subsample_freq": 1, "extra_trees": True}
        model = fitted("normal", X, y, 100, **sampled)
        assert 0.8 < np.median(model.predict_distribution(X).std()) < 1.6


@names
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_nothing_explodes_in_many_long_steps(name, noise):
    X, y = small(name, 120, noise=noise)
    model = fitted(name, X, y, 800, learning_rate=0.8, num_leaves=8)
    Z, z = small(name, 400, seed=1, noise=noise)
    score, target = raw(model, Z), z if z.ndim == 1 else z[:, 0]
    distribution = DISTRIBUTIONS[name]
    at = np.ascontiguousarray(score.T)
    predicted = distribution.frozen(at)
    tail = np.exp(distribution.log_tail(target, at))
    assert np.isfinite(score).all()
    # Few of the new rows are where the distribution has next to nothing.
    assert np.mean(tail < 1e-4) < 0.35
    width = np.median(predicted.ppf(0.9) - predicted.ppf(0.1))
    assert width < 5.0 * np.ptp(np.quantile(target, [0.1, 0.9]))


# --- Models that continue from others -------------------------------------------------


@names
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsample": 0.6, "subsample_freq": 1, "extra_trees": True},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"linear_tree": True},
    ],
)
def test_a_model_that_goes_on_is_one_fit(name, options):
    X, y = small(name)
    whole = fitted(name, X, y, 12, **options)
    first, longer = (fitted(name, X, y, n, **options) for n in (6, 9))
    text = longer.booster_.model_to_string(num_iteration=6)
    for earlier in (
        first,
        pickle.loads(pickle.dumps(first)),
        Booster(model_str=first.booster_.model_to_string()),
        Booster(model_str=text),
    ):
        later = fitted(name, X, y, 6, earlier=earlier, **options)
        np.testing.assert_array_equal(raw(later, X), raw(whole, X))


@pytest.mark.parametrize("name", ["normal", "gamma_distribution", "negative_binomial"])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_model_that_goes_on_is_as_certain_as_one_fit(name, is_known):
    """Even if the earlier model does not tell what its spread has learned."""
    X, rng = rows(4)
    y = rng.poisson(np.exp(1.0 + 2.0 * X[:, 0])) + (name != "negative_binomial")
    first = fitted(name, X[:N], y[:N], 40).booster_
    if not is_known:
        text, n = re.subn(r'"spread": \{.*?\}, ', "", first.model_to_string())
        assert n == 1
        first = Booster(model_str=text)
    model = fitted(name, X[:N], y[:N], 40, earlier=first)
    whole = fitted(name, X[:N], y[:N], 80)
    near = 1e-12 if is_known else 0.12
    assert errors(model, X, y)[1] == pytest.approx(errors(whole, X, y)[1], rel=near)


def test_a_model_that_goes_on_with_other_rows_is_as_certain_as_with_them():
    X, y = small("normal", 2 * N, noise=0.5)
    first = fitted("normal", X[:N], y[:N], 60)
    model = fitted("normal", X[N:], y[N:], 20, earlier=first)
    Z, z = small("normal", N, seed=1, noise=0.5)
    predicted = model.predict_distribution(Z)
    error = (z - predicted.mean()) / predicted.std()
    assert 0.8 < np.sqrt(np.mean(error**2)) < 1.25


def test_forests_learn_no_distribution():
    X, _ = rows()
    forest = LGBMRegressor(boosting_type="rf", colsample_bytree=0.5)
    y = X[:, 0] + 1.0
    for name, target in (("normal", y), ("aft_normal", np.column_stack([y, y]))):
        with pytest.raises(ValueError, match=f"{name}.*Use boosting_type='gbdt'"):
            forest.set_params(objective=name).fit(X, target)


def test_noise_is_measured_again_if_no_round_is_left():
    X, rng = rows(5)
    y = X[:, 0] + rng.normal(size=2 * N)
    options = {"objective": "normal", "learning_rate": 0.3, "num_leaves": 63}
    again = Booster({"objective": "normal", "num_leaves": 4}, Dataset(X, y))
    again.update()
    again.rollback_one_iter()
    again.reset_parameter(options)
    expected = Booster(options, Dataset(X, y))
    for booster in (again, expected):
        for _ in range(3):
            booster.update()
    np.testing.assert_array_equal(raw(again, X), raw(expected, X))


def test_samples_that_measure_noise_do_not_change_the_first_round():
    X, rng = rows(6)
    y = X[:, 0] + rng.normal(size=2 * N)
    # With large steps, the first round draws rows, too.
    options = {"objective": "normal", "learning_rate": 1.5, "num_leaves": 7}
    weights = []
    for more in ({}, {"data_sample_strategy": "goss"}):
        model = train(options | more, Dataset(X, y), 1)
        leaves = model.trees_to_dataframe().dropna(subset="weight")
        leaves = leaves[leaves["left_child"].isna()]
        weights.append(leaves.groupby("tree_index")["weight"].sum().tolist())
    np.testing.assert_allclose(*weights, rtol=0.2)


def test_a_model_that_is_too_certain_of_other_rows_learns_their_spread():
    X, rng = rows(7)
    noise = rng.normal(size=2 * N)
    certain = fitted("normal", X, X[:, 0] + 0.3 * noise)
    y = X[:, 0] - 3.0 * noise
    for earlier in (certain, Booster(model_str=certain.booster_.model_to_string())):
        mean, spread = raw(fitted("normal", X, y, earlier=earlier), X).T
        assert np.mean(((y - mean) / np.exp(spread)) ** 2) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("linear", [False, True])
def test_errors_are_not_shrunken_as_steps_are(linear):
    X, rng = rows(8)
    y = X[:, 0] + rng.normal(size=2 * N)
    model = Booster({"objective": "normal", "linear_tree": linear}, Dataset(X, y))
    for _ in range(3):
        before = model.predict(X, raw_score=True)
        model.update()
    spread = model._fit.rounds.spread
    assert (spread.rounds[1].shrinkage > 0.01).any()
    errors = spread.errors[0]
    step = errors.slope / errors.curve
    np.testing.assert_allclose(step, before[:, 0] - y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("before", "learned", "after"),
    [(1.0, 0.5, 1 / 3), (0.5, 0.0, 0.5), (0.5, -0.5, 1.0), (0.5, -1.0, 1.0), (1, 1, 0)],
)
def test_what_a_tree_leaves_unexplained(before, learned, after):
    """A tree of a few rows of a sample may make all errors much larger."""
    assert unexplained_after(before, learned, 0.0) == pytest.approx(after)
    found = unexplained_after(before, learned + 0.25, 0.25)
    assert found == pytest.approx(after, abs=1e-15)
