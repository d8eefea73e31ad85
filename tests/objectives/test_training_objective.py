"""Objectives against LightGBM on the same data, naive formulas and their contract."""

from __future__ import annotations

import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import skgoss
from skgoss.objectives import objectives
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.objectives.percentiles import LeafRows, percentile
from skgoss.objectives.training_objective import make_objective

RNG = np.random.default_rng(3)
N = 600
X = RNG.normal(size=(N, 3))
SIGNAL = X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.3 * RNG.normal(size=N)
WEIGHT = RNG.gamma(2.0, size=N)
CLASSES = np.digitize(SIGNAL, [-0.8, 0.7]).astype(float)
# As LightGBM keeps targets in float32.
TARGETS = {
    "poisson": RNG.poisson(np.exp(SIGNAL)),
    "gamma": np.exp(SIGNAL),
    "tweedie": RNG.poisson(np.exp(SIGNAL)) * RNG.gamma(2.0, size=N),
    "mape": 2 * SIGNAL,
    "cross_entropy": 1 / (1 + np.exp(-SIGNAL)),
    "cross_entropy_lambda": 1 / (1 + np.exp(-SIGNAL)),
    "binary": SIGNAL > 0.5,
    "multiclass": CLASSES,
    "multiclassova": CLASSES,
}
TARGETS |= dict.fromkeys(["lognormal", "gamma_distribution"], TARGETS["gamma"])
TARGETS |= {"negative_binomial": TARGETS["poisson"], "beta": TARGETS["cross_entropy"]}


def target(name):
    y = TARGETS.get(name, SIGNAL)
    return np.asarray(y, dtype=np.float32).astype(np.float64)


def settings(objective, **changed):
    return SimpleNamespace(
        **{
            "objective": objective,
            "boost_from_average": True,
            "is_unbalance": False,
            "scale_pos_weight": 1.0,
            "sigmoid": 1.0,
            "alpha": 0.9,
            "fair_c": 1.0,
            "reg_sqrt": False,
            "poisson_max_delta_step": 0.7,
            "tweedie_variance_power": 1.5,
            "learning_rate": 0.1,
            "boosting_type": "gbdt",
            **changed,
        }
    )


def n_classes_of(name):
    return {"binary": 2, "multiclass": 3, "multiclassova": 3}.get(name)


def n_scores_of(name):
    return {"multiclass": 3, "multiclassova": 3}.get(name, 1)


def make(name, y=None, weight=None, **changed):
    y = target(name) if y is None else y
    return make_objective(settings(name, **changed), y, weight, n_scores_of(name))


def gradients(objective, scores, n_threads=1):
    gradient, hessian = np.full((2, *scores.shape), np.nan, dtype=np.float32)
    if objective.constant_hessian:
        objective.gradients(scores, gradient, None, n_threads)
        hessian[:] = 1.0
    else:
        objective.gradients(scores, gradient, hessian, n_threads)
    return gradient, hessian


# --- LightGBM's words -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "aliases"),
    [
        (
            "regression",
            "regression_l2 l2 mean_squared_error mse l2_root "
            "root_mean_squared_error rmse",
        ),
        ("regression_l1", "l1 mean_absolute_error mae"),
        ("huber", ""),
        ("fair", ""),
        ("quantile", ""),
        ("mape", "mean_absolute_percentage_error"),
        ("poisson", ""),
        ("gamma", ""),
        ("tweedie", ""),
        ("cross_entropy", "xentropy"),
        ("cross_entropy_lambda", "xentlambda"),
        ("binary", ""),
        ("multiclass", "softmax"),
        ("multiclassova", "multiclass_ova ova ovr"),
    ],
)
def test_aliases(name, aliases):
    for alias in [name, *aliases.split()]:
        assert objectives.canonical_name(alias) == name
        assert objectives.canonical_name(alias.upper()) == name
    assert make(name).name == name


def test_unknown_objective():
    with pytest.raises(ValueError, match=r"objective='mse2' is not known.*poisson"):
        objectives.canonical_name("mse2")
    with pytest.raises(ValueError, match="is not known"):
        objectives.canonical_name(["l2"])
    for name in ("none", "None", "null", "custom", "na"):
        with pytest.raises(ValueError, match=f"'{name}'.*pass a function"):
            objectives.canonical_name(name)


# Survival has other targets: see test_survival.py.
WITHOUT_QUERIES = [
    name
    for name, known in OBJECTIVES.items()
    if known.task not in ("ranking", "survival")
]


# --- The same models as LightGBM ------------------------------------------------------
OF_LIGHTGBM = [name for name in WITHOUT_QUERIES if OBJECTIVES[name].exists_in_lightgbm]
CASES = [
    *((name, {}) for name in OF_LIGHTGBM),
    ("huber", {"alpha": 0.3}),
    ("quantile", {"alpha": 0.25}),
    ("fair", {"fair_c": 0.4}),
    *((name, {"reg_sqrt": True}) for name in OF_LIGHTGBM if n_classes_of(name) is None),
    ("tweedie", {"tweedie_variance_power": 1.1}),
    ("poisson", {"poisson_max_delta_step": 0.1}),
    ("binary", {"sigmoid": 2.5}),
    ("binary", {"is_unbalance": True}),
    ("binary", {"scale_pos_weight": 3.0, "sigmoid": 0.5}),
    ("multiclassova", {"sigmoid": 1.5}),
    ("multiclassova", {"is_unbalance": True}),
    ("multiclassova", {"scale_pos_weight": 2.0}),
]
ROUNDS = 3


def boosted_like(objective, leaves):
    """The raw scores after adding trees whose rows' leaves are (rounds, K, n)."""
    k = objective.n_scores
    scores = np.repeat(objective.start[:, None], N, axis=1)
    weight = np.ones(N) if objective.weight is None else objective.weight
    weight = np.broadcast_to(weight, (k, N))
    for trees in leaves:
        gradient, hessian = gradients(objective, scores)
        before = scores.copy()
        for c, leaf_of in enumerate(trees):
            for leaf in np.unique(leaf_of):
                rows = np.flatnonzero(leaf_of == leaf)
                w = weight[c, rows]
                if objective.renews_leaves:
                    leaves = LeafRows(np.array([0, len(rows)]), rows)
                    (step,) = objective.renewed_leaves(before[c], leaves, weight[c])
                else:
                    step = -(gradient[c, rows] @ w) / (hessian[c, rows] @ w)
                scores[c, rows] += step
    return scores


def has_fractions(objective):
    """Whether errors have weights that are not whole.

    Their percentiles have the lowest loss here; LightGBM takes the value before.
    """
    weights = objective.weight, objective.renewal_weight
    are_whole = all(w is None or not (w % 1).any() for w in weights)
    return objective.renews_leaves and not are_whole


def renewal_loss(objective, score):
    weight = np.ones(N) if objective.weight is None else objective.weight
    unit = 1.0 if objective.renewal_weight is None else objective.renewal_weight
    return pinball_loss(objective.y, objective.renewal_level, weight * unit, score)


@pytest.mark.usefixtures("interpolates")
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_leaf_values_are_those_of_lightgbm(case, weighted, average):
    name, changed = case
    lgb = pytest.importorskip("lightgbm")
    y = target(name)
    weight = WEIGHT.astype(np.float32).astype(np.float64) if weighted else None
    if weighted and changed.get("is_unbalance"):
        pytest.skip("LightGBM counts rows where we sum weights")
    changed = {**changed, "boost_from_average": average}
    objective = make(name, weight=weight, **changed)
    model = lgb.train(
        {
            "objective": name,
            "num_class": objective.n_scores,
            "learning_rate": 1.0,
            "num_leaves": 5,
            "num_threads": 1,
            "verbosity": -1,
            **changed,
        },
        lgb.Dataset(X, y, weight=weight),
        ROUNDS,
    )
    k = objective.n_scores
    leaves = model.predict(X, pred_leaf=True).reshape(N, ROUNDS, k).transpose(1, 2, 0)
    raw = model.predict(X, raw_score=True).reshape(N, k)
    scores = boosted_like(objective, leaves).T
    if has_fractions(objective):
        ours = boosted_like(objective, leaves[:1])[0]
        theirs = model.predict(X, raw_score=True, num_iteration=1)
        assert renewal_loss(objective, ours) < renewal_loss(objective, theirs)
    else:
        np.testing.assert_allclose(scores, raw, rtol=2e-5, atol=2e-5)

    predicted = model.predict(X).reshape(N, k)
    np.testing.assert_allclose(objective.link(raw), predicted, rtol=1e-12)
    link = objectives.make_link(
        name, changed.get("sigmoid", 1.0), changed.get("reg_sqrt", False)
    )
    assert pickle.loads(pickle.dumps(link)) == objective.link


TRAINING_LOSS = {
    "regression": lambda p, y: (p - y) ** 2,
    "regression_l1": lambda p, y: np.abs(p - y),
    "huber": lambda p, y: np.where(
        np.abs(p - y) <= 0.9, (p - y) ** 2 / 2, 0.9 * (np.abs(p - y) - 0.45)
    ),
    "fair": lambda p, y: np.abs(p - y) - np.log1p(np.abs(p - y)),
    "quantile": lambda p, y: np.maximum(0.1 * (p - y), 0.9 * (y - p)),
    "mape": lambda p, y: np.abs(p - y) / np.maximum(1, np.abs(y)),
    "poisson": lambda p, y: p - y * np.log(p),
    "gamma": lambda p, y: y / p + np.log(p),
    "tweedie": lambda p, y: 2 * np.sqrt(p) + 2 * y / np.sqrt(p),
    "cross_entropy": lambda p, y: -y * np.log(p) - (1 - y) * np.log(1 - p),
    "cross_entropy_lambda": lambda p, y: (1 - y) * p - y * np.log(-np.expm1(-p)),
    "binary": lambda p, y: -np.log(np.where(y > 0, p[:, 1], p[:, 0])),
    "multiclass": lambda p, y: -np.log(p[np.arange(N), y.astype(int)]),
    "multiclassova": lambda p, y: (
        -np.log(np.where(y[:, None] == np.arange(3), p, 1 - p)).sum(axis=1)
    ),
}


def models(name, **options):
    """Ours and LightGBM's, as the functions that predict."""
    lgb = pytest.importorskip("lightgbm")
    kind = "LGBMRegressor" if n_classes_of(name) is None else "LGBMClassifier"
    for package in (skgoss, lgb):
        options = {"objective": name, "n_jobs": 1, "verbosity": -1, **options}
        model = getattr(package, kind)(**options)
        yield model, getattr(model, "predict_proba", model.predict)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", OF_LIGHTGBM)
def test_models_are_as_good_as_lightgbm_s(name, weighted):
    y, weight = target(name), WEIGHT if weighted else None
    reached = []
    # LightGBM estimates the rows of a leaf from hessians: the limit must not bind.
    for model, predict in models(name, n_estimators=20, min_child_samples=1):
        model.fit(X, y, sample_weight=weight)
        loss = TRAINING_LOSS[name](predict(X), y)
        reached.append(np.average(loss, weights=weight))
    start = make(name, weight=weight)
    constant = np.repeat(start.link(start.average[None]), N, axis=0)
    if name == "binary":
        constant = np.hstack([1 - constant, constant])
    before = np.average(TRAINING_LOSS[name](constant.squeeze(), y), weights=weight)
    assert before - reached[0] >= 0.97 * (before - reached[1]) > 0


@pytest.mark.usefixtures("interpolates")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", OF_LIGHTGBM)
def test_a_model_without_splits_predicts_what_lightgbm_s_does(name, weighted):
    y, weight = target(name), WEIGHT if weighted else None
    predictions = []
    for model, predict in models(name, n_estimators=1, min_child_samples=N):
        predictions.append(predict(model.fit(X, y, sample_weight=weight) and X))
    ours, theirs = predictions
    objective = make(name, y, weight)
    if has_fractions(objective):
        assert renewal_loss(objective, ours) < renewal_loss(objective, theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)


def test_weights_mean_copies_in_a_model():
    name = "mape"
    y, copies = target(name), RNG.integers(0, 4, size=N)
    few = np.round(2 * X)
    options = {"objective": name, "min_child_samples": 1, "min_data_in_bin": 1}
    weighted, copied = (skgoss.LGBMRegressor(**options) for _ in range(2))
    weighted.fit(few, y, sample_weight=copies)
    copied.fit(np.repeat(few, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(
        weighted.predict(few), copied.predict(few), rtol=1e-8, atol=1e-8
    )


# --- Numbers for a classifier, classes for a regressor --------------------------------


def test_a_regressor_learns_the_probability_of_1():
    y = target("binary")
    probability = skgoss.LGBMClassifier().fit(X, y).predict_proba(X)[:, 1]
    for cls in (skgoss.LGBMRegressor, skgoss.LGBMModel):
        model = cls(objective="binary")
        for numbers in (y, 2 * y - 1):
            np.testing.assert_array_equal(model.fit(X, numbers).predict(X), probability)
    with pytest.raises(ValueError, match="0 and 1"):
        model.fit(X, y + 1)


@pytest.mark.parametrize("name", ["regression", "l1", "poisson", "xentlambda"])
def test_a_classifier_of_two_classes_learns_numbers_with_a_warning(name):
    labels = np.array(["no", "yes"])[target("binary").astype(int)]
    numbers = skgoss.LGBMRegressor(objective=name).fit(X, target("binary")).predict(X)
    model = skgoss.LGBMClassifier(objective=name)
    with pytest.warns(UserWarning, match="not return probabilities.*'binary'"):
        model.fit(X, labels)
    np.testing.assert_array_equal(
        model.predict_proba(X), np.column_stack([1 - numbers, numbers])
    )
    np.testing.assert_array_equal(
        model.predict(X), np.where(numbers > 0.5, "yes", "no")
    )


# --- Percentiles ----------------------------------------------------------------------


def pinball_loss(values, level, weight, predicted):
    error = values - predicted
    return weight @ (error * np.where(error >= 0, level, level - 1.0))


def assert_lowest_loss(found, values, level, weight):
    """No value has a smaller loss."""
    least = min(pinball_loss(values, level, weight, v) for v in values)
    loss = pinball_loss(values, level, weight, found)
    assert loss <= least + 1e-12 * np.abs(values) @ weight
    assert values.min() <= found <= values.max()


@pytest.mark.parametrize("level", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_percentile(level, n):
    values = RNG.normal(5.0, size=n).round(1)
    assert_lowest_loss(percentile(values, level), values, level, np.ones(n))
    expected = np.quantile(values, level, method="averaged_inverted_cdf")
    np.testing.assert_allclose(percentile(values, level), expected, rtol=1e-12)
    for scale in (0.3, 3.0):
        weight = scale * RNG.random(n)
        result = percentile(values, level, weight)
        assert_lowest_loss(result, values, level, weight)
        order = RNG.permutation(n)
        assert percentile(values[order], level, weight[order]) == result
        padded = percentile(
            np.append(values, [-9.0, 0.0, 9.0]), level, np.append(weight, [0, 0, 0])
        )
        assert padded == result


@pytest.mark.usefixtures("interpolates")
@pytest.mark.parametrize("level", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_where_skgoss_stands_for_lightgbm_percentiles_of_copies_interpolate(level):
    for n in (1, 2, 3, 10, 101):
        values, copies = RNG.normal(5.0, size=n).round(1), RNG.integers(1, 4, n)
        expected = np.quantile(np.repeat(values, copies), level)
        found = percentile(values, level, copies.astype(float))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        weight = RNG.random(n)
        assert_lowest_loss(percentile(values, level, weight), values, level, weight)


@pytest.mark.parametrize("level", [0.0, 0.1, 0.25, 0.5, 0.87, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_whole_weights_of_a_percentile_are_copies(level, n):
    values = RNG.normal(size=n).round(1)
    copies = RNG.integers(0, 4, size=n)
    copies[0] = 1
    result = percentile(values, level, copies.astype(float))
    assert result == percentile(np.repeat(values, copies), level)
    assert percentile(values, level, np.ones(n)) == percentile(values, level)


@pytest.mark.parametrize("level", [0.0, 0.25, 0.5, 0.87, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_whole_weights_are_copies_whatever_a_copy_weighs(level, n):
    values = np.sort(RNG.normal(size=n))
    unit = RNG.choice([0.1, 1 / 3, 0.7, 1.0], size=n)
    copies = RNG.integers(0, 4, size=n)
    copies[0] = 1
    many, its_unit = np.repeat(values, copies), np.repeat(unit, copies)
    result = percentile(values, level, copies.astype(float), unit)
    assert result == percentile(many, level, None, its_unit)
    assert_lowest_loss(result, many, level, its_unit)
    product = percentile(values, level, 0.3 * unit)
    halves = np.full(n, 0.3)
    assert percentile(values, level, halves, unit) == product


def test_a_percentile_between_equal_weights_is_their_middle():
    values, weight = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.5, 0.25, 0.5, 0.25])
    assert percentile(values, 0.5, weight) == 3.0
    assert percentile(values, 0.25, weight) == 1.0
    assert percentile(-values, 0.5, weight) == -3.0
    assert percentile(np.array([1.0, 2.0]), 0.5, np.array([0.1, 0.9])) == 2.0


def test_percentile_of_huge_whole_weights():
    values = np.array([3.0, 1.0, 2.0])
    weight = np.array([1e300, 1e18, 1e300])
    assert percentile(values, 0.25, weight) == 2.0
    assert percentile(values, 0.75, weight) == 3.0


def test_percentile_of_nothing():
    assert percentile(np.empty(0), 0.5) == 0.0
    assert percentile(np.ones(2), 0.5, np.zeros(2)) == 0.0
    assert percentile(np.ones(2), 0.5, np.zeros(2), np.ones(2)) == 0.0


# --- Weights --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "changed"), CASES)
def test_weights_mean_copies_in_the_start_score(name, changed):
    y = target(name)
    copies = RNG.integers(0, 4, size=N)
    weighted = make(name, weight=copies.astype(float), **changed)
    copied = make(name, np.repeat(y, copies), **changed)
    np.testing.assert_array_equal(weighted.start, copied.start)
    if changed.get("is_unbalance"):
        products = np.repeat(weighted.weight, copies, axis=-1)
        expected = copied.weight * np.repeat(copies, copies)
        np.testing.assert_array_equal(products, expected)


@pytest.mark.parametrize(
    "name", [name for name in WITHOUT_QUERIES if not OBJECTIVES[name].weighs_rows]
)
def test_weights_mean_copies_beside_start_scores(name):
    y, scores = target(name), 0.3 * X[:, :1].T
    copies = RNG.integers(0, 4, size=N)
    weighted = make(name, weight=copies.astype(float))
    copied = make(name, np.repeat(y, copies))
    n_scores = weighted.n_scores
    found = weighted.added_start(np.tile(scores, (n_scores, 1)), 1)
    repeated = np.tile(np.repeat(scores, copies, axis=1), (n_scores, 1))
    np.testing.assert_allclose(found, copied.added_start(repeated, 1), rtol=1e-5)
    unweighted = make(name).added_start(np.tile(scores, (n_scores, 1)), 1)
    assert not np.allclose(found, unweighted, rtol=1e-4)


def test_label_weights():
    y = np.array([1.0, 0, 0, 0])
    weight = np.array([1.0, 2, 1, 3])
    objective = make("binary", y, weight, scale_pos_weight=5.0)
    np.testing.assert_array_equal(objective.weight, [5, 2, 1, 3])
    np.testing.assert_allclose(objective.average, np.log(1 / 6))
    objective = make("binary", y, is_unbalance=True)
    np.testing.assert_array_equal(objective.weight, [3, 1, 1, 1])
    objective = make("binary", 1 - y, is_unbalance=True)
    np.testing.assert_array_equal(objective.weight, [3, 1, 1, 1])

    y = np.array([0.0, 1, 1, 2])
    objective = make("multiclassova", y, scale_pos_weight=2.0)
    np.testing.assert_array_equal(
        objective.weight, [[2, 1, 1, 1], [1, 2, 2, 1], [1, 1, 1, 2]]
    )
    assert make("multiclassova", y).weight is None
    for name in ("binary", "multiclassova"):
        with pytest.raises(ValueError, match=r"is_unbalance.*scale_pos_weight"):
            make(name, is_unbalance=True, scale_pos_weight=2.0)


# --- Classes that are not there -------------------------------------------------------


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_binary_with_one_class_is_constant(y, average):
    objective = make("binary", np.full(9, y), boost_from_average=average)
    start = objective.start
    np.testing.assert_allclose(objective.link(start), y, atol=1e-14)
    gradient, hessian = gradients(objective, np.full((1, 9), start[0]))
    assert not gradient.any()
    assert (hessian == 1).all()


@pytest.mark.parametrize("name", ["multiclass", "multiclassova"])
def test_class_without_rows_is_not_trained(name):
    y = np.array([0.0, 0, 1, 1, 2])
    objective = make(name, y, np.array([1.0, 1, 1, 1, 0]))
    np.testing.assert_array_equal(objective.trained, [True, True, False])
    start = objective.start
    np.testing.assert_allclose(start[2], np.log(1e-15))
    assert start[0] == start[1]
    gradient, _ = gradients(objective, np.repeat(start[:, None], 5, axis=1))
    np.testing.assert_allclose(np.abs(gradient[:2, :4]), 0.5)
    assert not gradient[2].any()


@pytest.mark.parametrize("name", WITHOUT_QUERIES)
def test_start_scores_without_boost_from_average(name):
    objective = make(name, boost_from_average=False)
    assert not objective.start.any()
    assert objective.average.shape == (objective.n_scores,)


# --- Domains --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("poisson", [1.0, -1.0], "objective='poisson' needs targets >= 0.*-1"),
        ("poisson", [0.0, 0.0], "objective='poisson' needs a positive target"),
        ("tweedie", [1.0, -0.5], "objective='tweedie' needs targets >= 0"),
        ("tweedie", [0.0, 0.0], "objective='tweedie' needs a positive target"),
        ("gamma", [1.0, 0.0], "objective='gamma' needs targets > 0"),
        ("cross_entropy", [0.5, 1.5], r"='cross_entropy' needs targets in \[0, 1\]"),
    ],
)
def test_targets_out_of_the_domain(name, y, message):
    with pytest.raises(ValueError, match=message):
        make(name, np.array(y))


def test_objectives_that_do_not_fit_the_task():
    y = np.array([0.0, 1, 2])
    with pytest.raises(ValueError, match="objective='binary' is for two classes"):
        make_objective(settings("binary"), y, None, 3)
    for name in ("binary", "multiclass", "multiclassova"):
        words = r"is for classification\. Use LGBMClassifier"
        with pytest.raises(ValueError, match=words):
            make_objective(settings(name), y, None)
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        make("quantile", alpha=1.0)


def test_binary_of_numbers():
    y = np.array([0.0, 1, 1, 0, 1])
    codes = make("binary", y)
    for numbers in (y, 2 * y - 1):
        objective = make_objective(settings("binary"), numbers, None)
        assert objective.n_scores == 1
        np.testing.assert_array_equal(objective.y, y)
        np.testing.assert_array_equal(objective.average, codes.average)


# --- Functions of the user ------------------------------------------------------------


def logistic(y_true, y_pred):
    p = 1 / (1 + np.exp(-y_pred))
    return p - y_true, p * (1 - p)


def custom(function, n_scores=1, weight=None, y=None):
    y = np.array([0.0, 1, 1, 0]) if y is None else y
    return make_objective(settings(function), y, weight, n_scores)


def test_custom_objective_is_that_of_the_built_in_one():
    y, scores = target("binary"), RNG.normal(size=(1, N))
    objective = custom(logistic, 1, WEIGHT, y)
    assert objective.name == "logistic"
    assert objective.n_scores == 1
    assert objective.weight is not None
    assert not objective.constant_hessian
    assert not objective.renews_leaves
    np.testing.assert_array_equal(objective.start, [0.0])
    for ours, built_in in zip(
        gradients(objective, scores), gradients(make("binary"), scores), strict=True
    ):
        np.testing.assert_allclose(ours, built_in, rtol=1e-6)
    raw = scores.T
    np.testing.assert_array_equal(objective.link(raw), raw)


def test_custom_objective_may_take_weights():
    seen = []

    def three(y_true, y_pred, weight):
        seen.append(weight)
        return logistic(y_true, y_pred)

    def four(y_true, y_pred, weight, group=None):
        seen.append(group)
        return three(y_true, y_pred, weight)

    weight = np.array([1.0, 2, 3, 4])
    for function in (three, four, partial(four, group=7)):
        objective = custom(function, weight=weight)
        assert objective.weight is None
        gradients(objective, np.zeros((1, 4)))
    gradients(custom(three), np.zeros((1, 4)))
    assert seen[1] is None
    np.testing.assert_array_equal(seen[0], weight)
    np.testing.assert_array_equal(seen[2], weight)
    assert seen[-1] is None


def test_custom_objective_with_queries_gets_sorted_rows():
    """Only one that takes their sizes; what it returns belongs to the same rows."""
    qid, position = RNG.permutation(np.arange(200) % 7), np.arange(200.0)
    X, y = RNG.normal(size=(200, 3)), RNG.integers(0, 3, 200)
    weight = position + 1.0

    def four(y_true, y_pred, row_weight, sizes):
        assert sizes.tolist() == np.bincount(qid).tolist()
        order = np.argsort(qid, kind="stable")
        np.testing.assert_array_equal(row_weight, weight[order])
        np.testing.assert_array_equal(y_true, y[order])
        return row_weight * (y_pred - y_true), row_weight

    def three(y_true, y_pred, row_weight):
        np.testing.assert_array_equal(row_weight, weight)
        return row_weight * (y_pred - y_true), row_weight

    options = {"n_estimators": 3, "num_leaves": 5}
    known, plain = (
        skgoss.LGBMRanker(objective=function, **options)
        .fit(X, y, qid=qid, sample_weight=weight)
        .predict(X)
        for function in (four, three)
    )
    np.testing.assert_array_equal(known, plain)
    assert np.ptp(plain) > 0


def test_keywords_bound_by_partial_are_not_counted():
    def steep(y_true, y_pred, steepness):
        return logistic(y_true, steepness * y_pred)

    objective = custom(partial(steep, steepness=2.0), weight=np.arange(4.0))
    assert objective.weight is not None
    assert objective.name == "partial"
    gradients(objective, np.zeros((1, 4)))


@pytest.mark.parametrize(
    ("function", "n"),
    [(lambda a: a, 1), (lambda a, b, c, d, e: a, 5), (lambda *args: args, 1)],
)
def test_custom_objective_with_a_wrong_number_of_arguments(function, n):
    message = f"should have 2, 3 or 4 arguments, got {n}"
    with pytest.raises(TypeError, match=message):
        custom(function)


@pytest.mark.parametrize("shape", ["(n, K)", "F order", "list"])
def test_custom_objective_with_classes(shape):
    def function(y_true, y_pred):
        assert y_pred.shape == (4, 3)
        e = np.exp(y_pred)
        p = e / e.sum(axis=1, keepdims=True)
        result = p - (y_true[:, None] == np.arange(3)), p * (1 - p) * 1.5
        if shape == "F order":
            return tuple(r.ravel(order="F") for r in result)
        return [r.tolist() for r in result] if shape == "list" else result

    y = np.array([0.0, 1, 2, 1])
    scores = RNG.normal(size=(3, 4))
    for ours, built_in in zip(
        gradients(custom(function, 3, y=y), scores),
        gradients(make("multiclass", y), scores),
        strict=True,
    ):
        np.testing.assert_allclose(ours, built_in, rtol=1e-6)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.zeros(4), "must return two arrays"),
        ((np.zeros(3), np.zeros(4)), r"gradient of shape \(4,\), got \(3,\)"),
        ((np.zeros(4), np.zeros((4, 2))), r"hessian of shape \(4,\), got \(4, 2\)"),
        ((np.zeros(4), 1.0), r"hessian of shape \(4,\), got \(\)"),
        ((np.array(list("abcd")), np.zeros(4)), "gradient has dtype <U1"),
        ((np.zeros(4), None), "hessian has dtype object"),
        ((np.full(4, np.nan), np.zeros(4)), "NaN, infinity.*gradient"),
        ((np.zeros(4), np.full(4, np.inf)), "NaN, infinity.*hessian"),
        ((np.full(4, 1e39), np.zeros(4)), "beyond float32 in the gradient"),
    ],
)
def test_custom_objective_with_a_wrong_result(result, message):
    def bad(y_true, y_pred):
        return result

    with pytest.raises(ValueError, match=message) as error:
        gradients(custom(bad), np.zeros((1, 4)))
    assert "'bad'" in str(error.value)


# --- Masks ---------------------------------------------------------------------------


@pytest.mark.parametrize("masked", ["gradient", "hessian"])
def test_masked_derivatives(masked):
    def objective(y_true, y_pred):
        results = {"gradient": y_pred - y_true, "hessian": np.ones_like(y_true)}
        results[masked] = np.ma.masked_less(results[masked], np.inf)
        return results["gradient"], results["hessian"]

    X = np.arange(100.0)[:, None]
    model = skgoss.LGBMRegressor(objective=objective)
    with pytest.raises(ValueError, match=f"The {masked} of .*'objective' has masked"):
        model.fit(X, X[:, 0])
