"""Intervals and prediction sets: a reference, their coverage, what they refuse."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgoss
from skgoss import Booster, Dataset, LGBMClassifier, LGBMRegressor
from skgoss.model import intervals
from skgoss.model.fitted import FittedModel

SMALL = {"n_estimators": 20, "num_leaves": 7, "min_child_samples": 5, "n_jobs": 1}
COVERAGES = [0.5, 0.8, 0.95]
FOLDS = KFold(4)
N_TRAIN = 200


def numbers(n=400):
    """Positive numbers whose spread grows with the first column."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 5))
    y = 4 * X[:, 0] * X[:, 1] + (0.2 + X[:, 0]) * rng.gamma(2.0, size=n)
    return X, y


def classes(n_classes=4, n=400):
    return make_classification(
        n, 8, n_informative=5, n_classes=n_classes, flip_y=0.2, random_state=1
    )


def split(X, y):
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:]


@pytest.fixture(scope="module")
def regressor():
    X, y, _, _ = split(*numbers())
    return LGBMRegressor(**SMALL, folds=FOLDS).fit(X, y)


@pytest.fixture(scope="module", params=[2, 4])
def classifier(request):
    X, y, _, _ = split(*classes(request.param))
    return LGBMClassifier(**SMALL, folds=FOLDS).fit(X, y)


# --- The reference implementation -----------------------------------------------------


def needed(weight, coverage):
    """The weight that is enough, with that of the new row."""
    new = min(1.0, (weight @ weight) / weight.sum())
    return coverage * (weight.sum() + new) * (1 - 1e-12)


def quantile(values, weight, coverage):
    """The smallest value up to which there is enough weight, for each row of values."""
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weight[order], axis=1)
    place = (reached < needed(weight, coverage)).sum(axis=1)
    return np.take_along_axis(values, order, 1)[np.arange(len(values)), place]


def cv_plus(low, high, spread, weight, coverage):
    """Barber et al. 2021, equation (11): arrays of new row by calibration row.

    ``low`` and ``high`` are the same, or two quantiles.
    """
    lower = -quantile(spread - low, weight, coverage)
    return np.stack([lower, quantile(high + spread, weight, coverage)], axis=1)


def as_wide(predicted, center):
    """The prediction of each row instead of those of several models."""
    return np.repeat(predicted[:, None], center.shape[1], axis=1)


def mass_before(probabilities):
    """The probability of the classes that are more probable, class by class."""
    return [
        sum(p for d, p in enumerate(probabilities) if (-p, d) < (-own, c))
        for c, own in enumerate(probabilities)
    ]


def prediction_sets(masses, of_rows, coverage):
    """Romano, Sesia and Candes 2020, equation (12), where U is 0 for all rows.

    Arrays of new row by calibration row by class, and of calibration row.
    """
    smaller = (of_rows[:, None] < masses).sum(axis=1)
    return smaller < needed(np.ones(len(of_rows)), coverage)


def unseen(model, X, y, splitter, X_new, predict, weight=None, **fit):
    """The predictions for new rows by the models that have not seen each old row.

    Each fold has a fit of its own here. Returns an array of shape (n_new, n_tested,
    ...), the means over these models, and the rows that are tested.
    """
    total, count = 0.0, np.zeros(len(y))
    for train, test in splitter.split(X):
        alone = clone(model).set_params(folds=[(train, test)])
        found = predict(alone.fit(X, y, sample_weight=weight, **fit), X_new)
        spread = np.zeros((len(X_new), len(y), *found.shape[1:]))
        spread[:, test] = found[:, None]
        total = total + spread
        count[test] += 1
    tested = np.flatnonzero(count)
    return total[:, tested] / count[tested].reshape(1, -1, *[1] * (total.ndim - 2)), (
        tested
    )


def raw(model, X):
    return model.predict(X, raw_score=True)


def check_intervals(
    model, splitter=FOLDS, weight=None, scale=np.ones_like, least=-np.inf, **fit
):
    X, y, X_new, _ = split(*numbers())
    X_new = X_new[:40]
    model = clone(model).set_params(folds=splitter)
    model.fit(X, y, sample_weight=weight, **fit)
    center, tested = unseen(model, X, y, splitter, X_new, raw, weight, **fit)
    center = model._model.link(center)
    centers = {"cv+": center, "cv": as_wide(model.predict(X_new), center)}
    own = model.oof_prediction_[tested]
    weight = (np.ones(len(y)) if weight is None else weight)[tested]
    for method, center in centers.items():
        spread = np.abs(y[tested] - own) / scale(own) * scale(center)
        found = model.predict_interval(X_new, COVERAGES, method=method)
        assert found.shape == (len(X_new), 2, len(COVERAGES))
        for j, coverage in enumerate(COVERAGES):
            expected = cv_plus(center, center, spread, weight, coverage)
            assert_allclose(found[:, :, j], np.maximum(expected, least), rtol=1e-9)
    return found


KINDS = {
    "all rounds": {"early_stopping_round": 0},
    "linear": {"linear_tree": True},
    "forest": {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1},
    "absolute": {"objective": "regression_l1"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_agree_with_the_reference(kind):
    check_intervals(LGBMRegressor(**SMALL, **KINDS[kind]))


@pytest.mark.parametrize(
    "splitter",
    [
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(6, test_size=0.4, random_state=0),
        ShuffleSplit(1, test_size=0.4, random_state=0),
    ],
)
def test_each_row_belongs_to_the_mean_of_the_models_that_have_not_seen_it(splitter):
    check_intervals(LGBMRegressor(**SMALL), splitter)


def test_weights_count():
    weight = np.random.default_rng(1).integers(0, 4, N_TRAIN) / 2
    check_intervals(LGBMRegressor(**SMALL), weight=weight)


def test_earlier_rounds_belong_to_all_folds():
    X, y, _, _ = split(*numbers())
    first = LGBMRegressor(**SMALL).fit(X[:50], y[:50])
    check_intervals(LGBMRegressor(**SMALL), init_model=first)


@pytest.mark.parametrize(("objective", "power"), [("poisson", 0.5), ("gamma", 1.0)])
def test_residuals_are_in_standard_deviations(objective, power):
    found = check_intervals(
        LGBMRegressor(**SMALL, objective=objective),
        scale=lambda mean: np.power(mean, power),
        least=0.0,
    )
    assert (np.ptp(found[:, 1] - found[:, 0], axis=0) > 0.1).all()


def test_roots_have_residuals_of_roots():
    X, y, X_new, _ = split(*numbers())
    options = {**SMALL, "folds": FOLDS}
    model = LGBMRegressor(**options, reg_sqrt=True).fit(X, y - 1)
    of_roots = LGBMRegressor(**options).fit(X, np.sign(y - 1) * np.sqrt(abs(y - 1)))
    expected = of_roots.predict_interval(X_new)
    assert_allclose(
        model.predict_interval(X_new), np.sign(expected) * expected**2, rtol=1e-6
    )


@pytest.fixture(scope="module", params=[False, True])
def quantiles(request):
    X, y, _, _ = split(*numbers())
    options = {"alpha": [0.1, 0.4, 0.5, 0.9], "reg_sqrt": request.param}
    model = LGBMRegressor(**SMALL, **options, objective="quantile", folds=FOLDS)
    return model.fit(X, y)


@pytest.mark.parametrize(
    ("coverage", "pair"), [(0.8, (0, 3)), (0.95, (0, 3)), (0.3, (1, 3))]
)
def test_conformalized_quantiles_agree_with_the_reference(quantiles, coverage, pair):
    """Romano, Patterson and Candes 2019, equation (6): with one model, and with all."""
    X, y, X_new, _ = split(*numbers())
    X_new = X_new[:40]

    def of_pair(predicted):
        """Residuals are those of roots if the model has learned roots."""
        roots = np.sqrt(predicted) if quantiles.reg_sqrt else predicted
        return roots[..., pair[0]], roots[..., pair[1]]

    found, _ = unseen(quantiles, X, y, FOLDS, X_new, LGBMRegressor.predict)
    own_low, own_high = of_pair(quantiles.oof_prediction_)
    target = np.sqrt(y) if quantiles.reg_sqrt else y
    spread = np.maximum(own_low - target, target - own_high)
    mean = as_wide(quantiles.predict(X_new), found)
    for method, center in {"cv+": found, "cv": mean}.items():
        low, high = of_pair(center)
        expected = cv_plus(low, high, spread, np.ones(len(y)), coverage)
        expected = expected**2 if quantiles.reg_sqrt else expected
        own = quantiles.predict_interval(X_new, coverage, method=method)
        assert_allclose(own, expected, rtol=1e-7)


def test_small_coverages_leave_the_ends_in_order(regressor, quantiles):
    _, _, X, _ = split(*numbers())
    coverages = [0.01, 0.05, 0.1, 0.2]
    for model in (regressor, quantiles):
        for method in intervals.METHODS:
            found = model.predict_interval(X, coverages, method=method)
            assert (found[:, 0] <= found[:, 1]).all()


def test_quantiles_without_folds_are_not_calibrated():
    X, y, X_new, _ = split(*numbers())
    options = {**SMALL, "objective": "quantile"}
    model = LGBMRegressor(**options, alpha=[0.1, 0.25, 0.5, 0.75, 0.9]).fit(X, y)
    predicted = model.predict(X_new)
    found = model.predict_interval(X_new, [0.8, 0.5])
    assert_array_equal(found, predicted[:, [[0, 1], [4, 3]]])
    assert_array_equal(model.predict_interval(X_new, 0.8), predicted[:, [0, 4]])
    with pytest.raises(ValueError, match=r"coverage=0\.9 .* alpha=\[0\.05, 0\.95\]"):
        model.predict_interval(X_new)
    model = LGBMRegressor(**options, alpha=[0.5, 0.9], folds=3).fit(X, y)
    with pytest.raises(ValueError, match=r"the model has alpha=\[0\.5, 0\.9\]"):
        model.predict_interval(X_new)


@pytest.mark.parametrize("splitter", [FOLDS, TimeSeriesSplit(4)])
def test_one_model_of_all_rows_has_one_width(splitter):
    X, y, X_new, _ = split(*numbers())
    model = LGBMRegressor(**SMALL, folds=splitter, refit=True).fit(X, y)
    residuals = np.abs(y - model.oof_prediction_)
    residuals = residuals[np.isfinite(residuals)]
    predicted = model.predict(X_new)
    assert_array_equal(
        model.predict_interval(X_new, method="cv+"), model.predict_interval(X_new)
    )
    for coverage in COVERAGES:
        width = quantile(residuals[None], np.ones(len(residuals)), coverage)
        found = model.predict_interval(X_new, coverage)
        assert_allclose(found, predicted[:, None] + [-width[0], width[0]], rtol=1e-9)


def test_models_of_folds_are_found_in_their_mean():
    """Even if a preset has joined two kinds of trees with weights and a factor."""
    X, y, _, _ = split(*classes(3))
    options = {"preset": "accurate", "folds": 5, "n_estimators": 40}
    model = LGBMClassifier(**options, random_state=3).fit(X, y)
    known = model._model.conformal
    assert np.count_nonzero(model.search_results_["weight"]) > 1
    columns = model._reader(model._model, 1).columns(X)
    scores = known._models.raw_scores(columns, 1)
    own = scores[np.arange(len(y)), known.rows.test_of_row]
    assert_allclose(own, known.scores, rtol=1e-9)
    added = known.rows.added
    assert abs(added).min() > 0
    mean = scores.mean(axis=1) + added
    assert_allclose(mean, model.predict(X, raw_score=True), rtol=1e-9)


def test_sets_agree_with_the_reference(classifier):
    n_classes = classifier.n_classes_
    X, y, X_new, _ = split(*classes(n_classes))
    X_new = X_new[:40]
    found = classifier.predict_set(X_new, COVERAGES)
    assert found.shape == (len(X_new), n_classes, len(COVERAGES))
    probabilities, _ = unseen(
        classifier, X, y, FOLDS, X_new, LGBMClassifier.predict_proba
    )
    masses = np.apply_along_axis(mass_before, 2, probabilities)
    out_of_fold = np.apply_along_axis(mass_before, 1, classifier.oof_prediction_)
    of_rows = out_of_fold[np.arange(len(y)), y]
    sizes = []
    for j, coverage in enumerate(COVERAGES):
        expected = prediction_sets(masses, of_rows, coverage)
        expected[np.arange(len(expected)), classifier.predict(X_new)] = True
        assert_array_equal(found[:, :, j], expected)
        sizes.append(expected.sum(axis=1).mean())
    assert 1 < sizes[0] + 0.01 < sizes[1] + 0.005 < sizes[2]


# --- The kernel -----------------------------------------------------------------------


def test_of_equal_classes_the_first_comes_first():
    found = intervals.mass_before(np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]]))
    assert_array_equal(found, [[0.5, 0.0, 0.75], [0.0, 1.0, 0.5]])


@pytest.mark.parametrize("has_ties", [False, True])
def test_quantiles_of_groups(has_ties):
    rng = np.random.default_rng(0)
    n, n_groups = 60, 5
    score, group = rng.exponential(size=n), rng.integers(0, n_groups - 1, n)
    center = rng.normal(size=(30, n_groups))
    scale = rng.uniform(size=center.shape)
    if has_ties:
        score, center = np.round(score, 0), np.round(center, 0)
        scale = np.round(scale, 0)
    weight = rng.integers(1, 5, n).astype(float)
    scores = intervals.ConformityScores.from_groups(score, group, n_groups, weight)
    coverages = np.array([0.01, 0.3, 0.55, 0.9, 0.99])
    found = scores.quantiles(center, scale, scores.needed(coverages), 1)
    values = center[:, group] + score * scale[:, group]
    for j, coverage in enumerate(coverages):
        assert_array_equal(found[:, j], quantile(values, weight, coverage))


def test_weights_below_are_those_of_smaller_scores():
    rng = np.random.default_rng(1)
    score, group = rng.integers(0, 6, 50) * 1.0, rng.integers(0, 3, 50)
    weight, values = rng.uniform(size=50), rng.integers(-1, 7, (20, 3, 4)) * 1.0
    scores = intervals.ConformityScores.from_groups(score, group, 3, weight)
    smaller = score[:, None] < values[:, group]
    expected = (smaller * weight[:, None]).sum(axis=1)
    assert_allclose(scores.weight_below(values), expected, rtol=1e-12)


def test_threads_and_numbers_of_rows_do_not_change_a_bit():
    X, y = numbers(5000)
    model = LGBMRegressor(**SMALL, folds=3).fit(X, y)
    for method in intervals.METHODS:
        options = {"coverage": COVERAGES, "method": method}
        expected = model.predict_interval(X, **options)
        found = model.predict_interval(X, **options, n_jobs=3)
        assert_array_equal(found, expected)
        assert_array_equal(model.predict_interval(X[7:9], **options), expected[7:9])


# --- Promises -------------------------------------------------------------------------


def test_coverage_of_new_rows():
    """On average over many fits, of numbers and of classes."""
    X, y = numbers(6000)
    X_c, y_c = classes(4, 6000)
    inside, in_set = {method: [] for method in intervals.METHODS}, []
    for start in range(0, 6000, 400):
        train, test = slice(start, start + 150), slice(start + 150, start + 400)
        model = LGBMRegressor(**SMALL, folds=5).fit(X[train], y[train])
        target = y[test][:, None]
        for method in intervals.METHODS:
            found = model.predict_interval(X[test], COVERAGES, method=method)
            lower, upper = np.moveaxis(found, 1, 0)
            inside[method].append(((lower <= target) & (target <= upper)).mean(axis=0))
        model = LGBMClassifier(**SMALL, folds=5).fit(X_c[train], y_c[train])
        sets = model.predict_set(X_c[test], COVERAGES)
        in_set.append(sets[np.arange(250), y_c[test]].mean(axis=0))
    for shares in inside.values():
        surplus = np.mean(shares, axis=0) - COVERAGES
        assert (surplus > -0.01).all()
        assert (surplus < 0.05).all()
    assert (np.mean(inside["cv"], axis=0) < np.mean(inside["cv+"], axis=0)).all()
    assert (np.mean(in_set, axis=0) > np.array(COVERAGES) - 0.02).all()
    assert np.mean(in_set, axis=0)[2] < 0.98


def test_larger_coverages_contain_smaller_ones(regressor, classifier):
    _, _, X, _ = split(*numbers())
    lower, upper = np.moveaxis(
        regressor.predict_interval(X, [0.01, 0.2, 0.5, 0.9]), 1, 0
    )
    assert (lower <= upper).all()
    assert (np.diff(lower) <= 0).all()
    assert (np.diff(upper) >= 0).all()
    _, _, X, _ = split(*classes(classifier.n_classes_))
    sets = classifier.predict_set(X, [0.01, 0.2, 0.5, 0.9])
    assert sets.any(axis=1).all()
    assert (sets[..., :-1] <= sets[..., 1:]).all()


def test_weights_count_as_copies():
    X, y, X_new, _ = split(*numbers())
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    at = np.repeat(np.arange(len(y)), weight)
    pairs = list(FOLDS.split(X))
    copies = [tuple(np.flatnonzero(np.isin(at, rows)) for rows in p) for p in pairs]
    options = {**SMALL, "min_child_samples": 1, "min_data_in_bin": 1}
    weighted = LGBMRegressor(**options, folds=pairs)
    weighted.fit(X, y, sample_weight=weight)
    copied = LGBMRegressor(**options, folds=copies).fit(X[at], y[at])
    assert_array_equal(
        weighted.predict_interval(X_new, COVERAGES),
        copied.predict_interval(X_new, COVERAGES),
    )


def test_small_weights_do_not_make_infinite_intervals():
    X, y, X_new, _ = split(*numbers())
    weight = np.random.default_rng(0).uniform(0.5, 1.0, len(y))
    options = {**SMALL, "min_child_weight": 0.0, "folds": FOLDS}
    model = LGBMRegressor(**options).fit(X, y, sample_weight=weight)
    small = LGBMRegressor(**options).fit(X, y, sample_weight=2.0**-20 * weight)
    found = model.predict_interval(X_new), small.predict_interval(X_new)
    assert_allclose(*found, rtol=1e-6)


def test_one_class_and_single_coverages(regressor):
    X, y, X_new, _ = split(*numbers())
    several = regressor.predict_interval(X_new, [0.9])
    assert_array_equal(several[:, :, 0], regressor.predict_interval(X_new))
    model = LGBMClassifier(**SMALL, folds=2).fit(X, np.ones(len(y)))
    assert_array_equal(model.predict_set(X_new), np.ones((len(X_new), 1), dtype=bool))


def test_later_changes_of_the_data_change_nothing(regressor):
    X, y, X_new, _ = split(*numbers())
    model = LGBMRegressor(**SMALL, folds=FOLDS).fit(X, y)
    y[:] = 0
    assert_array_equal(model.predict_interval(X_new), regressor.predict_interval(X_new))


# --- Ways in, and files ---------------------------------------------------------------


def test_pipelines_and_train(regressor):
    X, y, X_new, _ = split(*numbers())
    pipe = make_pipeline(StandardScaler(), clone(regressor)).fit(X, y)
    rows = pipe[:-1].transform(X_new)
    lower, upper = pipe[-1].predict_interval(rows).T
    assert (lower < pipe.predict(X_new)).all()
    assert (upper > pipe.predict(X_new)).all()
    params = {**SMALL, "folds": FOLDS, "verbosity": -1}
    booster = skgoss.train(params, Dataset(X, y))
    with pytest.raises(AttributeError, match=r"use LGBMRegressor\.from_booster"):
        booster.predict_interval  # noqa: B018
    again = LGBMRegressor.from_booster(booster)
    assert_array_equal(again.predict_interval(X_new), regressor.predict_interval(X_new))


def test_dask_arrays(regressor, classifier):
    array = pytest.importorskip("dask.array")
    skgoss_dask = pytest.importorskip("skgoss.dask")
    for model, X, predict in (
        (regressor, numbers()[0], "predict_interval"),
        (classifier, classes()[0], "predict_set"),
    ):
        kind = getattr(skgoss_dask, f"Dask{type(model).__name__}")
        lazy = kind.from_booster(model.booster_)
        found = getattr(lazy, predict)(array.from_array(X, (150, -1)), COVERAGES)
        expected = getattr(model, predict)(X, COVERAGES)
        assert found.chunks[0] == (150, 150, 100)
        assert found.dtype == expected.dtype
        assert_array_equal(found.compute(scheduler="sync"), expected)


# --- What is refused ------------------------------------------------------------------


def test_models_that_cannot_know(regressor, classifier, tmp_path):
    X, y, X_new, _ = split(*numbers())
    booster = LGBMRegressor(**SMALL, folds=4, random_state=0).fit(X, y).booster_
    refitted = LGBMRegressor.from_booster(booster.refit(X, y))
    booster.save_model(tmp_path / "part.txt", num_iteration=8)
    part = LGBMRegressor.from_file(tmp_path / "part.txt")
    scored = clone(regressor).fit(X, y, init_score=y)
    changed = Booster(model_str=booster.model_to_string())
    changed.set_leaf_output(0, 0, 1.0)
    others = [
        LGBMRegressor(**SMALL).fit(X, y),
        *(refitted, part, scored, LGBMRegressor.from_booster(changed)),
    ]
    for model in others:
        with pytest.raises(ValueError, match=r"LGBMRegressor .* intervals: .* folds=5"):
            model.predict_interval(X_new)
    X, y, X_new, _ = split(*classes())
    model = LGBMClassifier(**SMALL).fit(X, y)
    with pytest.raises(
        ValueError, match=r"LGBMClassifier cannot predict sets: fit .* folds=5"
    ):
        model.predict_set(X_new)
    with pytest.raises(AttributeError, match=r"predict_set"):
        classifier.predict_interval  # noqa: B018
    with pytest.raises(AttributeError, match=r"predict_interval"):
        regressor.predict_set  # noqa: B018


def test_a_file_of_lightgbm(lightgbm):
    X, y, X_new, _ = split(*numbers())
    theirs = lightgbm.LGBMRegressor(n_estimators=3, verbosity=-1).fit(X, y)
    text = theirs.booster_.model_to_string()
    model = LGBMRegressor.from_booster(Booster(model_str=text))
    with pytest.raises(ValueError, match=r"it is from another library"):
        model.predict_interval(X_new)


def test_objectives_without_a_middle():
    X, y, X_new, _ = split(*numbers())

    def squared(y, predictions):
        return predictions - y, np.ones_like(y)

    model = LGBMRegressor(**SMALL, folds=3, objective=squared).fit(X, y)
    with pytest.raises(ValueError, match=r"the objective is a function"):
        model.predict_interval(X_new)
    model = LGBMRegressor(**SMALL, folds=3, objective="binary").fit(X, y > 1)
    with pytest.raises(ValueError, match=r"the objective is 'binary'"):
        model.predict_interval(X_new)
    options = {**SMALL, "folds": 3, "objective": "quantile"}
    with pytest.raises(ValueError, match=r"its only quantile, alpha=0\.9"):
        LGBMRegressor(**options).fit(X, y).predict_interval(X_new)
    median = LGBMRegressor(**options, alpha=0.5).fit(X, y)
    assert np.isfinite(median.predict_interval(X_new)).all()
    model = LGBMClassifier(**SMALL, folds=3, objective=squared).fit(X, y > 1)
    with pytest.raises(ValueError, match=r"objective has no probabilities"):
        model.predict_set(X_new)


@pytest.mark.parametrize(
    ("coverage", "error", "message"),
    [
        (0.0, ValueError, r"between 0 and 1, got 0\.0"),
        (1, ValueError, r"between 0 and 1, got 1"),
        (90, ValueError, r"got 90\. For 90%, pass 0\.9"),
        ([0.5, np.nan], ValueError, r"between 0 and 1, got nan"),
        ([], ValueError, r"at least one number, got an empty list"),
        ("0.9", TypeError, r"must be a number between 0 and 1 .* got '0\.9'"),
        (None, TypeError, r"must be a number between 0 and 1 .* got None"),
        (True, TypeError, r"must be a number between 0 and 1 .* got True"),
        ([[0.9]], TypeError, r"must be a number between 0 and 1"),
        (0.999, ValueError, r"coverage=0\.999 needs at least 999 rows .* 200:"),
    ],
)
def test_wrong_coverages(regressor, classifier, coverage, error, message):
    with pytest.raises(error, match=message):
        regressor.predict_interval(numbers()[0], coverage)
    with pytest.raises(error, match=message):
        classifier.predict_set(classes()[0], coverage)


def test_unknown_methods(regressor):
    with pytest.raises(ValueError, match=r"method must be 'cv' .* got 'minmax'\."):
        regressor.predict_interval(numbers()[0], method="minmax")


NUMBERED = "must be numbered from 0 to 3, or -1"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("target", np.zeros(3), f"the calibration rows .* must be {N_TRAIN}"),
        ("target", np.full(N_TRAIN, np.nan), "the targets of .* must be finite"),
        ("target", np.zeros(N_TRAIN, dtype=int), "array of float64, got one of int64"),
        ("weight", np.ones(3), f"the calibration rows .* must be {N_TRAIN}"),
        ("weight", np.full(N_TRAIN, -1.0), "the weights of .* must be .* at least 0"),
        ("tests", np.eye(4), "must have sets of folds"),
        ("tests", np.ones((2, 2, 2), dtype=bool), "must have sets of folds"),
        ("tests", np.zeros((1, 4), dtype=bool), "must have sets of folds"),
        ("test_of_row", np.full(N_TRAIN, 4, np.int32), f"the sets of .* {NUMBERED}"),
        ("test_of_row", np.full(N_TRAIN, -2, np.int32), f"the sets of .* {NUMBERED}"),
        ("fold_of_round", np.array([0, 7], np.int32), f"the folds of .* {NUMBERED}"),
        ("fold_of_round", np.array([0, -1], np.int32), "must be the first ones"),
        ("fold_of_round", None, "'fold_of_round' of .* not be of type NoneType"),
        ("added", np.array([np.nan]), "the constants of .* must be finite"),
        ("added", np.zeros(2), "must have 1 constants"),
        ("added", [0.0], "'added' of .* not be of type list"),
    ],
)
def test_damaged_states_are_refused(regressor, name, value, message):
    damaged = copy.deepcopy(regressor._model.state())
    damaged["out_of_fold"]["calibration"][name] = value
    with pytest.raises(ValueError, match=message):
        FittedModel.from_state(damaged)


def test_scores_and_classes_of_states_are_checked(classifier):
    state = classifier._model.state()
    damaged = copy.deepcopy(state)
    damaged["out_of_fold"]["calibration"]["target"][0] = 17
    with pytest.raises(ValueError, match=r"numbers of classes"):
        FittedModel.from_state(damaged)
    for scores in (np.full((N_TRAIN, 1), np.nan), np.zeros((N_TRAIN, 9))):
        damaged = copy.deepcopy(state)
        damaged["out_of_fold"]["scores"] = scores
        with pytest.raises(ValueError, match=r"out-of-fold predictions must"):
            FittedModel.from_state(damaged)
