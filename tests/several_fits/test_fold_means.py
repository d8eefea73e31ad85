"""The model of folds has the mean prediction of the folds' models."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from helpers.folds import LINKS, SMALL, classes, constants
from skgoss import Booster, LGBMClassifier, LGBMRegressor
from skgoss.binning.rows import Rows
from skgoss.columns.columns import RELEASED
from skgoss.fit import splits
from skgoss.objectives.link import Link
from skgoss.several_fits import fold_means

DRAW = np.random.default_rng(0)
N_ROWS = 300
ROW = np.arange(N_ROWS)
X = DRAW.standard_normal((N_ROWS, 5))
RATE = np.exp(X[:, 0] - 1.5)
COUNT = DRAW.poisson(RATE) * 1.0
RARE = DRAW.random(N_ROWS) < 0.3 * RATE
KIND = np.digitize(X[:, 0] + DRAW.standard_normal(N_ROWS), [-2.0, 0.0, 1.0])
WEIGHT = DRAW.integers(0, 4, N_ROWS) * 1.0

FITS = {
    "binary": (LGBMClassifier, RARE),
    "multiclass": (LGBMClassifier, KIND),
    "multiclassova": (LGBMClassifier, KIND),
    "cross_entropy": (LGBMRegressor, np.minimum(COUNT, 1.0)),
    "cross_entropy_lambda": (LGBMRegressor, np.minimum(COUNT, 1.0)),
    "poisson": (LGBMRegressor, COUNT),
    "gamma": (LGBMRegressor, COUNT + 1.0),
    "tweedie": (LGBMRegressor, COUNT),
    "gamma_distribution": (LGBMRegressor, COUNT + 1.0),
    "negative_binomial": (LGBMRegressor, COUNT),
    "beta": (LGBMRegressor, (COUNT + 1.0) / 12.0),
}


def fit(objective, *, weight=None, **options):
    estimator, y = FITS[objective]
    options = {"folds": 4, "random_state": 0, **options}
    model = estimator(objective=objective, **SMALL, **options)
    return model.fit(X, y, sample_weight=weight)


def predicted(model, rows=X):
    """The predictions that belong to the raw scores, (n, n_scores) or (n, 1)."""
    return model._model.link(model.predict(rows, raw_score=True).reshape(len(rows), -1))


def of_members(model, rows=X):
    """The predictions of the models of folds, (n, n_folds, n_scores)."""
    fitted = model._model
    columns = model._reader(fitted, 1).columns(rows)
    scores = fitted.conformal._models.raw_scores(columns, 1).swapaxes(0, 1)
    predictions = [fitted.link(np.ascontiguousarray(each)) for each in scores]
    return np.stack(predictions, axis=1)


def members_of(model, n_folds):
    """The raw scores of the models of folds, with constants, (n_folds, n, n_scores)."""
    trees, columns = model._model.trees, model._reader(model._model, 1).columns(X)
    rounds = [np.arange(k, trees.n_rounds, n_folds) for k in range(n_folds)]
    return n_folds * np.array([trees.chosen(at).raw_scores(columns) for at in rounds])


def thirds(numbers):
    """Three folds: a number decides which fold tests its rows."""
    every = range(3)
    folds = [np.flatnonzero(numbers % 3 == k) for k in every]
    return [(np.flatnonzero(numbers % 3 != k), folds[k]) for k in every]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("objective", FITS)
def test_the_mean_prediction_is_that_of_the_folds(objective, is_weighted):
    weight = WEIGHT if is_weighted else None
    model = fit(objective, weight=weight)
    added = model._model.conformal.rows.added
    scores = model.predict(X, raw_score=True).reshape(N_ROWS, -1)
    found, without, expected = (
        np.average(predictions, axis=0, weights=weight)
        for predictions in (
            predicted(model),
            model._model.link(scores - added),
            of_members(model).mean(axis=1),
        )
    )
    (link, _), *_ = model._model.link.to_means(scores.shape[1])
    if link.kind != "exp":
        # Confident predictions change less than the rates of classes.
        assert np.abs(found - expected).max() < 0.4 * np.abs(without - expected).max()
    else:
        assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(added).max() > 1e-4


@pytest.mark.parametrize(
    "options", [{"preset": "accurate", "n_estimators": 60}, {"boosting_type": "rf"}]
)
def test_presets_and_forests(options):
    if "preset" not in options:
        options |= {"subsample": 0.7, "subsample_freq": 1}
    y = RARE.astype(int)
    model = LGBMClassifier(**SMALL | options, folds=4, random_state=0).fit(X, y)
    scores = model.predict(X, raw_score=True)
    added = model._model.conformal.rows.added[0]
    without = expit(scores - added).mean()
    expected = of_members(model).mean()
    error = abs(predicted(model).mean() - expected)
    assert error < 0.4 * abs(without - expected)
    assert added > 1e-4


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_each_target_has_its_constant(strategy):
    y = np.column_stack([COUNT, COUNT[::-1]])
    y[::9, 1] = np.nan
    options = {**SMALL, "objective": "poisson", "early_stopping_round": 0}
    model = LGBMRegressor(**options, multi_strategy=strategy, folds=thirds(ROW))
    scores = members_of(model.fit(X, y), 3)
    added = constants(scores, "exp")
    assert_allclose(model.predict(X, raw_score=True), scores.mean(axis=0), rtol=1e-9)
    expected = np.exp(scores - added).mean(axis=(0, 1))
    assert_allclose(model.predict(X).mean(axis=0), expected, rtol=1e-9)
    assert added.min() > 1e-4


@pytest.mark.parametrize("objective", ["regression", "quantile", "normal", "lognormal"])
def test_scores_that_are_predictions_have_no_constants(objective):
    model = LGBMRegressor(objective=objective, **SMALL, folds=3).fit(X, COUNT + 1.0)
    assert model._model.conformal.rows.added is None


def test_a_fit_of_all_rows_has_no_constants():
    model = fit("poisson", refit=True)
    assert model._model.conformal.rows.added is None
    plain = LGBMRegressor(
        objective="poisson", **SMALL | {"n_estimators": model.n_iter_}
    )
    assert_array_equal(model.predict(X), plain.fit(X, COUNT).predict(X))


# --- Copies of the model, and other fits that are the same ---------------------------


@pytest.mark.parametrize("objective", ["binary", "multiclass", "poisson"])
def test_files_and_threads(objective, tmp_path):
    model, path = fit(objective), str(tmp_path / "model.txt")
    model.booster_.save_model(path)
    loaded = Booster(model_file=path)
    raw = model.predict(X, raw_score=True)
    assert_array_equal(loaded.predict(X, raw_score=True), raw)
    assert_array_equal(fit(objective, n_jobs=2).predict(X, raw_score=True), raw)
    restored = pickle.loads(pickle.dumps(model))
    for copy in (restored._model, loaded._model):
        added = copy.out_of_fold.calibration.added
        assert_array_equal(added, model._model.out_of_fold.calibration.added)
    if objective != "poisson":
        sets = model.predict_set(X, 0.8)
        assert_array_equal(restored.predict_set(X, 0.8), sets)


def test_sets_are_those_of_the_models_of_folds():
    """Without the constants, as the out-of-fold predictions that calibrate them."""
    model = fit("binary")
    number = model._model.conformal.rows.test_of_row
    own = of_members(model)[np.arange(N_ROWS), number, 0]
    assert_allclose(own, model.oof_prediction_[:, 1], rtol=1e-9)


def test_sets_and_intervals_hold_the_prediction():
    """That of the model, with the constants, even if little is covered."""
    model, classifier = fit("poisson"), fit("multiclass")
    for method in ("cv", "cv+"):
        low, high = model.predict_interval(X, 0.02, method=method).T
        predictions = model.predict(X)
        assert (low <= predictions * (1 + 1e-9)).all()
        assert (predictions <= high * (1 + 1e-9)).all()
    sets = classifier.predict_set(X, 0.05)
    moved = classifier.predict_proba(X).argmax(axis=1)
    assert sets[ROW, moved].all()
    members = of_members(classifier).mean(axis=1)
    assert (members.argmax(axis=1) != moved).any()


@pytest.mark.parametrize("objective", ["multiclass", "poisson"])
def test_weights_are_copies(objective):
    rows = np.repeat(ROW, WEIGHT.astype(int))
    estimator, y = FITS[objective]
    models = []
    for numbers, weight in ((ROW, WEIGHT), (rows, None)):
        options = {**SMALL, "min_child_samples": 1, "min_data_in_bin": 1}
        model = estimator(objective=objective, **options, folds=thirds(numbers))
        models.append(model.fit(X[numbers], y[numbers], sample_weight=weight))
    first, second = models
    assert_array_equal(predicted(first), predicted(second))


def test_start_scores_and_earlier_models():
    """Both are in the scores of all members, and in those of their mean."""
    offset = np.log(1.0 + ROW % 4)
    options = {**SMALL, "objective": "poisson", "early_stopping_round": 0}
    model = LGBMRegressor(**options, folds=thirds(ROW))
    scores = members_of(model.fit(X, COUNT, init_score=offset), 3)[..., 0] + offset
    expected = np.exp(scores - constants(scores[..., None], "exp")).mean()
    found = np.exp(model.predict(X, raw_score=True) + offset).mean()
    assert_allclose(found, expected, rtol=1e-9)
    first = LGBMRegressor(objective="poisson", **SMALL).fit(X, COUNT)
    later = LGBMRegressor(objective="poisson", **SMALL, folds=4, random_state=0)
    later.fit(X, COUNT, init_model=first)
    assert_allclose(later.predict(X).mean(), of_members(later).mean(), rtol=1e-9)
    assert later._model.conformal.rows.added[0] > 1e-5


def test_many_rows_are_compared_on_some_of_them(monkeypatch):
    monkeypatch.setattr(splits, "MAX_COMPARED", 101)
    model, rows = fit("poisson"), X[fold_means.compared_rows(N_ROWS)]
    assert len(rows) == 101
    expected = of_members(model, rows).mean()
    assert_allclose(predicted(model, rows).mean(), expected, rtol=1e-9)
    assert abs(predicted(model).mean() / of_members(model).mean() - 1) > 1e-6


# --- The constants of a list of scores -----------------------------------------------


def scores_around(centers, n_members):
    """Raw scores, (n_members, N_ROWS, n_scores)."""
    draw = np.random.default_rng(3)
    return draw.normal(centers, 1.5, (n_members, N_ROWS, len(centers)))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("link", LINKS)
def test_constants_agree_with_the_reference(link, is_weighted):
    members = scores_around([-1.0, -4.0, 0.0, -2.0], 3)
    weight = WEIGHT if is_weighted else None
    rows = Rows(RELEASED, COUNT, weight)
    by_score = [np.ascontiguousarray(scores.T) for scores in members]
    found = fold_means.constants(by_score, Link(link), rows)
    assert_allclose(found, constants(members, link, weight), rtol=1e-8, atol=1e-10)


def test_constants_of_joint_links_and_distributions():
    members = scores_around([-1.0] * 5, 3)
    by_score = [np.ascontiguousarray(scores.T) for scores in members]
    each = np.column_stack([WEIGHT, WEIGHT[::-1], np.ones(N_ROWS)])
    rows = Rows(RELEASED, COUNT, WEIGHT, output_weight=each)
    link = Link("joint", links=((Link("exp"), 1), (Link(), 1), (Link("softmax"), 3)))
    found = fold_means.constants(by_score, link, rows)
    assert_allclose(found[0], constants(members[..., :1], "exp", WEIGHT)[0])
    assert found[1] == 0.0
    assert_allclose(found[2:], constants(members[..., 2:], "softmax"), rtol=1e-8)
    pair = [scores[:2] for scores in by_score]
    found = fold_means.constants(pair, Link("negative_binomial"), Rows(RELEASED, COUNT))
    assert_allclose(found, [constants(members[..., :1], "exp")[0], 0.0])
    assert not any(Link(kind).is_curved for kind in ("normal", "signed_square"))


def test_predictions_that_overflow_have_no_constants():
    members = [np.full((1, N_ROWS), 800.0), np.zeros((1, N_ROWS))]
    found = fold_means.constants(members, Link("exp"), Rows(RELEASED, COUNT))
    assert_array_equal(found, [0.0])


def test_classes_without_rows_keep_the_others():
    members = scores_around([0.0, -900.0, 0.0], 2)
    by_score = [np.ascontiguousarray(scores.T) for scores in members]
    found = fold_means.constants(by_score, Link("softmax"), Rows(RELEASED, COUNT))
    expected = constants(members[..., [0, 2]], "softmax")
    assert_allclose(np.diff(found[[0, 2]]), np.diff(expected), rtol=1e-8)


def test_constants_of_confident_models_are_small():
    """They would be large if means had to be equal: few rows would change."""
    members = np.repeat([[40.0, -40.0], [-40.0, 40.0]], N_ROWS // 2, axis=0)
    members = np.stack([members, members])
    members[0, :5] *= -1.0
    by_score = [np.ascontiguousarray(scores.T) for scores in members]
    found = fold_means.constants(by_score, Link("logistic"), Rows(RELEASED, COUNT))
    assert 0.0 < np.abs(found).max() < 0.05


def test_classifiers_with_three_classes_and_a_sum_of_one():
    features, y = classes(3)
    model = LGBMClassifier(**SMALL, folds=4).fit(features, y)
    assert_allclose(model.predict_proba(features).sum(axis=1), 1.0)
    assert abs(model._model.conformal.rows.added.sum()) < 1e-12
