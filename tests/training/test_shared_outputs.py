"""One tree a round for targets, quantiles or a distribution (`multi_strategy`)."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import skgoss
from helpers import outputs
from helpers.several_targets import C_VALID, LABELS, WEIGHT, X_VALID, Y_VALID, X, Y
from skgoss import Booster, Dataset, LGBMClassifier, LGBMRegressor, train

SHARED = {
    "multi_strategy": "multi_output_tree",
    "n_estimators": 6,
    "num_leaves": 7,
    "min_child_samples": 5,
}
SEED = 11
LEVELS = [0.1, 0.5, 0.8]
QUANTILES = {"objective": "quantile", "alpha": LEVELS}

# Two thirds of the rows have the second target.
WITH_MISSING = Y.copy()
WITH_MISSING[1::3, 1] = np.nan


def mixed(x):
    """The finalizer of splitmix64, on Python's integers."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def direction_of(seed, round_index, n_outputs):
    """Sums of four random numbers for each output, as a unit vector."""
    step = 0x9E3779B97F4A7C15
    key = mixed((mixed((seed + step) % 2**64) + 7) % 2**64)
    key = mixed((key + round_index) % 2**64)
    draws = [mixed((key + i * step) % 2**64) >> 32 for i in range(4 * n_outputs)]
    total = np.array(draws).reshape(-1, 4).sum(axis=1) - 2.0**33
    return total / np.linalg.norm(total)


def leaves_of_reference(gradient, weight, index, unit):
    """The leaves of the tree that a user's loss of the direction would get."""
    direction = direction_of(SEED, index, len(unit))

    def loss(_predictions, _data):
        return (weight * gradient / unit) @ direction, weight @ direction**2

    alone = skgoss.train(
        {"objective": loss, "num_leaves": 7, "min_child_samples": 5},
        Dataset(X, np.zeros(len(X))),
        num_boost_round=1,
    )
    return alone.predict(X, pred_leaf=True)[:, 0].astype(int)


def rms(values, weight):
    return np.sqrt((weight * values**2).sum(axis=0) / weight.sum(axis=0))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("targets", [Y, WITH_MISSING], ids=["complete", "missing"])
def test_targets_agree_with_a_naive_reference(targets, is_weighted):
    model = LGBMRegressor(**SHARED, extra_seed=SEED, learning_rate=0.3)
    each = 0.5 + np.random.default_rng(4).random(len(X))
    model.fit(X, targets, sample_weight=each if is_weighted else None)
    leaf = model.predict(X, pred_leaf=True).reshape(len(X), -1, 3)
    weight = each[:, None] * np.ones(3) if is_weighted else np.ones(Y.shape)
    weight = np.where(np.isnan(targets), 0.0, weight)
    y = np.nan_to_num(targets)
    start = (weight * y).sum(axis=0) / weight.sum(axis=0)
    scores, unit = np.tile(start, (len(X), 1)), rms(start - y, weight)
    for index in range(SHARED["n_estimators"]):
        gradient = scores - y
        expected = leaves_of_reference(gradient, weight, index, unit)
        for k in range(3):
            np.testing.assert_array_equal(leaf[:, index, k], expected)
        member = np.eye(7)[expected].T
        sums = member @ (weight * gradient), member @ weight
        scores -= 0.3 * (sums[0] / np.maximum(sums[1], 1e-15))[expected]
        found = model.predict(X, num_iteration=index + 1)
        np.testing.assert_allclose(found, scores, rtol=1e-5, atol=1e-6)


def test_quantiles_agree_with_a_naive_reference():
    y = Y[:, 0]
    model = LGBMRegressor(**SHARED, **QUANTILES, extra_seed=SEED).fit(X, y)
    leaf = model.predict(X, pred_leaf=True).reshape(len(X), -1, 3)

    def percentile(values, level):
        return np.quantile(values, level, method="averaged_inverted_cdf")

    scores = np.tile([percentile(y, level) for level in LEVELS], (len(X), 1))
    below = np.where(y[:, None] < scores, 1.0 - np.array(LEVELS), -np.array(LEVELS))
    unit = rms(below, np.ones(below.shape))
    for index in range(SHARED["n_estimators"]):
        gradient = np.where(y[:, None] < scores, 1.0, 0.0) - LEVELS
        ones = np.ones(Y.shape)
        expected = leaves_of_reference(gradient, ones, index, unit)
        for k, level in enumerate(LEVELS):
            np.testing.assert_array_equal(leaf[:, index, k], expected)
            residuals = y - scores[:, k]
            for number in range(7):
                rows = expected == number
                scores[rows, k] += 0.1 * percentile(residuals[rows], level)
        found = model.predict(X, raw_score=True, num_iteration=index + 1)
        np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-12)
    predicted = model.predict(X_VALID)
    assert (np.diff(predicted, axis=1) >= 0).all()


# --- Invariants -----------------------------------------------------------------------

EVENTS = np.column_stack([np.arange(len(Y)) % 4 > 0, 0.1 + np.abs(Y[:, 0])])
FITS = {
    "targets": (LGBMRegressor(), Y),
    "missing": (LGBMRegressor(), WITH_MISSING),
    "absolute errors": (LGBMRegressor(objective="regression_l1"), WITH_MISSING),
    "counts": (LGBMRegressor(objective="poisson"), np.abs(WITH_MISSING)),
    "quantiles": (LGBMRegressor(**QUANTILES), Y[:, 0]),
    "normal": (LGBMRegressor(objective="normal"), Y[:, 0]),
    "student": (LGBMRegressor(objective="student"), Y[:, 0]),
    "event times": (LGBMRegressor(objective="aft"), EVENTS),
    "classes": (LGBMClassifier(), LABELS["mixed"]),
    "labels": (LGBMClassifier(is_unbalance=True), LABELS["multilabel"]),
}
all_fits = pytest.mark.parametrize(("estimator", "y"), FITS.values(), ids=FITS)


def raw_of(model):
    return model.booster_.predict(X_VALID, raw_score=True)


@all_fits
@pytest.mark.parametrize("kind", outputs.KINDS)
def test_all_ways_to_fit(estimator, y, kind, tmp_path):
    if kind == "forest" and estimator.objective in ("normal", "student", "aft"):
        pytest.skip("forests do not learn distributions")
    options = {**SHARED, **outputs.KINDS[kind]}
    alone = clone(estimator).set_params(**options, n_jobs=1).fit(X, y)
    beside = clone(estimator).set_params(**options, n_jobs=3).fit(X, y)
    expected = raw_of(alone)
    np.testing.assert_array_equal(raw_of(beside), expected)
    n_scores = expected.shape[1]
    trees = alone.booster_.trees_to_dataframe()
    splits = trees[["split_feature", "threshold", "count"]].groupby(trees.tree_index)
    tables = [table.reset_index(drop=True) for _, table in splits]
    for number, table in enumerate(tables):
        assert table.equals(tables[number - number % n_scores])
    assert tables[0].split_feature.notna().any()
    text = Booster(model_str=alone.booster_.model_to_string())
    np.testing.assert_array_equal(text.predict(X_VALID, raw_score=True), expected)
    again = pickle.loads(pickle.dumps(alone))
    np.testing.assert_array_equal(raw_of(again), expected)
    values = alone.booster_.predict(X_VALID[:9], pred_contrib=True)
    sums = np.reshape(values, (9, n_scores, -1)).sum(axis=2)
    np.testing.assert_allclose(sums, expected[:9], atol=1e-10)


@all_fits
def test_whole_weights_are_copies(estimator, y):
    options = {**SHARED, "min_child_samples": 1, "min_data_in_bin": 1}
    model = clone(estimator).set_params(**options)
    rows = np.repeat(np.arange(len(X)), WEIGHT)
    weighted = clone(model).fit(X, y, sample_weight=WEIGHT)
    copied = clone(model).fit(X[rows], y[rows])
    np.testing.assert_array_equal(raw_of(weighted), raw_of(copied))


@pytest.mark.parametrize("sampling", [{}, outputs.KINDS["goss"]], ids=["all", "goss"])
def test_the_units_of_targets_do_not_matter(sampling):
    unit = np.array([1.0, 2.0**9, 2.0**-7])
    model = LGBMRegressor(**{**SHARED, **sampling, "reg_lambda": 0.0})
    expected = clone(model).fit(X, WITH_MISSING).predict(X_VALID)
    scaled = clone(model).fit(X, WITH_MISSING * unit).predict(X_VALID)
    np.testing.assert_allclose(scaled / unit, expected, rtol=1e-6)


def test_rows_without_a_target_count_for_the_others():
    """Rows without any target only fill leaves."""
    few = np.where(np.arange(len(X))[:, None] % 2 == 0, Y, np.nan)
    model = LGBMRegressor(**SHARED, min_child_weight=1.0).fit(X, few)
    alone = LGBMRegressor(**SHARED, min_child_weight=1.0).fit(X[::2], Y[::2])
    np.testing.assert_allclose(
        model.booster_.trees_to_dataframe().weight[0],
        alone.booster_.trees_to_dataframe().weight[0],
    )


def test_a_constant_target_does_not_choose_splits():
    both = np.column_stack([Y[:, 0], np.full(len(Y), 3.0)])
    model = LGBMRegressor(**SHARED).fit(X, both)
    alone = LGBMRegressor(**{**SHARED, "multi_strategy": "one_output_per_tree"})
    alone.fit(X, Y[:, 0])
    np.testing.assert_allclose(model.predict(X)[:, 0], alone.predict(X), rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X)[:, 1], 3.0)


# --- Distributions --------------------------------------------------------------------


def test_the_mean_of_a_distribution_has_the_tree_of_its_direction():
    """Of the first round, whose mean counts twice as much as its spread."""
    y = Y[:, 0]
    options = {**SHARED, "n_estimators": 1, "extra_seed": SEED}
    model = LGBMRegressor(**options, objective="normal").fit(X, y)
    z = (y - y.mean()) / y.std()
    # Hessians are the information; the spread makes half steps.
    gradient, curves = (
        np.column_stack([-z, 0.5 * (1.0 - z * z)]),
        np.ones(Y[:, :2].shape),
    )
    unit = rms(gradient, curves) * [1.0, 2.0 * 2.0]
    expected = leaves_of_reference(gradient, curves, 0, unit)
    found = model.predict(X, pred_leaf=True).reshape(len(X), -1)
    for k in range(2):
        np.testing.assert_array_equal(found[:, k], expected)


@pytest.mark.parametrize("name", ["normal", "student", "event times"])
def test_rounds_of_a_distribution_continue(name):
    estimator, y = FITS[name]
    model = clone(estimator).set_params(**SHARED)
    whole = clone(model).set_params(n_estimators=12).fit(X, y)
    half = clone(model).fit(X, y)
    joined = clone(model).fit(X, y, init_model=half)
    np.testing.assert_allclose(raw_of(joined), raw_of(whole), rtol=1e-9, atol=1e-12)


def test_the_spread_follows_the_errors():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(4000, 4))
    y = columns[:, 0] + np.exp(columns[:, 1]) * rng.normal(size=4000)
    options = {"multi_strategy": "multi_output_tree", "n_estimators": 300}
    model = LGBMRegressor(**options, objective="normal").fit(columns, y)
    scale = model.predict_distribution(columns).std()
    ratio = np.log(scale) - columns[:, 1]
    assert abs(np.median(ratio)) < 0.2
    assert ratio.std() < 0.6 < columns[:, 1].std()


# --- With other parts -----------------------------------------------------------------


def test_evaluation_and_early_stopping():
    model = LGBMRegressor(**{**SHARED, "n_estimators": 300, "learning_rate": 0.5})
    sets = [(X_VALID, Y_VALID), (X, WITH_MISSING)]
    stopping = skgoss.early_stopping(5, verbose=False)
    model.fit(X, WITH_MISSING, eval_set=sets, callbacks=[stopping])
    assert 0 < model.best_iteration_ < 300
    results = model.evals_result_
    valid, training = (results[name]["l2"] for name in ("valid_0", "training"))
    first = model.predict(X_VALID, num_iteration=3)
    assert valid[2] == pytest.approx(np.mean((first - Y_VALID) ** 2))
    errors = (model.predict(X, num_iteration=3) - WITH_MISSING) ** 2
    assert training[2] == pytest.approx(np.mean(np.nanmean(errors, axis=0)))


def test_rounds_by_hand():
    params = {**QUANTILES, "num_leaves": 7, "multi_strategy": "multi_output_tree"}
    data = Dataset(X, label=Y[:, 0])
    booster = Booster({**params, "verbosity": -1}, data)
    for _ in range(5):
        booster.update()
    scores = booster.predict(X, raw_score=True)
    booster.update()
    booster.rollback_one_iter()
    np.testing.assert_array_equal(booster.predict(X, raw_score=True), scores)
    trained = skgoss.train({**params, "verbosity": -1}, Dataset(X, label=Y[:, 0]), 5)
    np.testing.assert_array_equal(trained.predict(X, raw_score=True), scores)


@all_fits
def test_training_continues(estimator, y):
    model = clone(estimator).set_params(**SHARED).fit(X, y)
    longer = clone(estimator).set_params(**SHARED).fit(X, y, init_model=model)
    assert longer.booster_.num_trees() == 2 * model.booster_.num_trees()


@pytest.mark.parametrize("name", ["targets", "quantiles", "classes"])
def test_folds_and_presets(name):
    estimator, y = FITS[name]
    folds = clone(estimator).set_params(**SHARED, folds=3).fit(X, y)
    assert np.isfinite(np.hstack([*folds.oof_prediction_])).all()
    for preset in ("fast", "accurate"):
        options = {"preset": preset, "n_estimators": 20, "random_state": 0}
        model = clone(estimator).set_params(**SHARED | options).fit(X, y)
        assert np.isfinite(raw_of(model)).all()


def test_linear_leaves_of_targets():
    for targets in (Y, WITH_MISSING):
        options = {**SHARED, "linear_tree": True}
        model = LGBMRegressor(**options).fit(X, targets)
        again = Booster(model_str=model.booster_.model_to_string())
        np.testing.assert_array_equal(again.predict(X_VALID), model.predict(X_VALID))
        errors = model.predict(X_VALID) - Y_VALID
        assert np.mean(errors**2) < Y_VALID.var(axis=0).mean()


def test_class_weights_by_target():
    y = LABELS["mixed"]
    weights = [{0: 1, 1: 3}, "balanced", None]
    model = LGBMClassifier(**SHARED, class_weight=weights)
    expected = raw_of(clone(model).fit(X, y))
    plain = raw_of(clone(model).set_params(class_weight=None).fit(X, y))
    assert not np.array_equal(expected, plain)
    doubled = clone(model).fit(X, y, sample_weight=np.full(len(X), 2.0))
    assert doubled.predict(X_VALID).shape == C_VALID.shape


def squares(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_true)


def test_a_function_as_objective():
    options = {**SHARED, "boost_from_average": False}
    own = LGBMRegressor(**options, objective=squares).fit(X, WITH_MISSING)
    named = LGBMRegressor(**options).fit(X, WITH_MISSING)
    assert own.predict(X).shape == named.predict(X).shape


@pytest.mark.parametrize("sampled", [{}, {"data_sample_strategy": "goss"}])
def test_a_function_of_several_scores_in_any_unit(sampled):
    """The splits serve both columns, and are those of the columns in other units."""
    shared = {"multi_strategy": "multi_output_tree", "n_jobs": 1, **sampled}

    def trained(unit):
        y = Y[:, :2] * unit
        params = {**shared, "objective": lambda p, _: (p - y, np.ones_like(p))}
        train_set = Dataset(X, Y[:, 0])
        return train({**params, "num_class": 2}, train_set, 30)

    plain, scaled = trained(np.ones(2)), trained(np.array([1.0, 1024.0]))
    leaves = [model.predict(X, pred_leaf=True) for model in (plain, scaled)]
    np.testing.assert_array_equal(*leaves)
    np.testing.assert_array_equal(leaves[0][:, ::2], leaves[0][:, 1::2])
    found = plain.predict(X)
    np.testing.assert_array_equal(scaled.predict(X), found * [1.0, 1024.0])
    error = np.mean((found - Y[:, :2]) ** 2, axis=0)
    assert (error < 0.7 * Y[:, :2].var(axis=0)).all()


def test_a_function_of_several_scores_needs_train():
    def both(y_true, y_pred):
        return np.zeros((len(y_true), 2)), np.ones((len(y_true), 2))

    model = LGBMRegressor(**SHARED, objective=both)
    with pytest.raises(ValueError, match=r"call skgoss.train with num_class=2"):
        model.fit(X, Y[:, 0])


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"monotone_constraints": [1, 0, 0, 0, 0]}, Y, "monotone_constraints.*outputs"),
        ({"path_smooth": 1.0}, Y, "path_smooth.*one_output_per_tree"),
        ({"linear_tree": True, **QUANTILES}, Y[:, 0], "linear_tree must be False"),
    ],
    ids=str,
)
def test_what_it_cannot_be_used_with(options, y, message):
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(**{**SHARED, **options}).fit(X, y)


def test_rows_are_not_sampled_by_the_labels_of_several_targets():
    options = {"pos_bagging_fraction": 0.5, "subsample_freq": 1}
    model = LGBMClassifier(**SHARED, **options)
    with pytest.raises(ValueError, match=r"pos_bagging_fraction.*negative for another"):
        model.fit(X, LABELS["multilabel"])
