"""Metrics: the values of LightGBM on its own predictions, and those of scikit-learn."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from sklearn.base import clone

import skgoss
from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor, parameters
from skgoss._engine.objectives import exact_sum, metric_kernels
from skgoss._engine.objectives import loss_kernels as kernels
from skgoss.objectives import metrics
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.metrics import METRICS
from skgoss.objectives.objectives import OBJECTIVES

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 5))
SIZES = np.array([30, 1, 69, 100, 100, 200, 60, 40])
BOUNDARIES = np.concatenate([[0], np.cumsum(SIZES)])


def settings(**options):
    return parameters.make_settings(options, "LGBMRegressor")


def sample(y, scores, weight=None, n_threads=1, boundaries=None):
    scores = np.ascontiguousarray(np.atleast_2d(scores), dtype=np.float64)
    return EvalData(np.asarray(y, np.float64), scores, weight, boundaries, n_threads)


def value(name, *args, **options):
    given = {k: options.pop(k) for k in ("n_threads", "boundaries") if k in options}
    (result,) = metrics.Metric(name, settings(**options))(sample(*args, **given))
    return result.value


AT_FIVE = {"boundaries": BOUNDARIES, "eval_at": [5]}


def summed(*args):
    return exact_sum.rounded(kernels.sum_values(*args))


POSITIVE = np.exp(X[:, 0] + 0.3 * RNG.normal(size=N))
TARGETS = {
    "regression": X[:, 0] * 3 + RNG.normal(size=N),
    "poisson": RNG.poisson(POSITIVE).astype(float),
    "gamma": POSITIVE,
    "tweedie": POSITIVE * (RNG.random(N) > 0.3),
    "binary": (X[:, 0] + RNG.normal(size=N) > 0.4).astype(float),
    "cross_entropy": 1 / (1 + np.exp(-X[:, 0] - RNG.normal(size=N))),
    "multiclass": np.digitize(X[:, 0] + 0.5 * RNG.normal(size=N), [-0.7, 0, 0.8]) * 1.0,
    "lambdarank": RNG.integers(0, 5, size=N).astype(float),
}
TARGETS["lambdarank"][30] = 0
CASES = [
    ("regression", "l2", {}),
    ("regression", "rmse", {}),
    ("regression", "l1", {}),
    ("regression", "quantile", {"alpha": 0.3}),
    ("regression", "mape", {}),
    ("regression", "huber", {"alpha": 0.6}),
    ("regression", "fair", {"fair_c": 1.7}),
    ("regression", "r2", {}),
    ("poisson", "poisson", {}),
    ("gamma", "gamma", {}),
    ("gamma", "gamma_deviance", {}),
    ("tweedie", "tweedie", {"tweedie_variance_power": 1.3}),
    ("binary", "binary_logloss", {}),
    ("binary", "binary_error", {}),
    ("binary", "auc", {}),
    ("binary", "average_precision", {}),
    ("cross_entropy", "cross_entropy", {}),
    ("cross_entropy", "kullback_leibler", {}),
    ("cross_entropy_lambda", "cross_entropy_lambda", {}),
    ("multiclass", "multi_logloss", {}),
    ("multiclass", "multi_error", {}),
    ("multiclass", "multi_error", {"multi_error_top_k": 2}),
    ("multiclass", "auc_mu", {}),
    ("multiclass", "auc_mu", {"auc_mu_weights": [*range(4), *range(1, 13)]}),
    ("lambdarank", "ndcg_lightgbm", {"eval_at": [1, 3, 10]}),
    ("lambdarank", "ndcg_lightgbm", {"label_gain": [0.0, 1, 5, 6, 20]}),
    ("lambdarank", "map_lightgbm", {"eval_at": [2, 5]}),
]


def lightgbm_s(objective, name, options, weight):
    """Raw scores of a small LightGBM model, its link and its own metrics."""
    lightgbm = pytest.importorskip("lightgbm")
    y = TARGETS.get(objective, TARGETS["cross_entropy"])
    given = {"objective": objective, "verbosity": -1, "num_threads": 1}
    given["metric"] = name.removesuffix("_lightgbm")
    given |= options | {"num_class": 4 if objective == "multiclass" else 1}
    group = SIZES if objective == "lambdarank" else None
    data = lightgbm.Dataset(X, y, weight=weight, group=group)
    found: dict = {}
    model = lightgbm.train(
        given,
        data,
        1 if objective == "lambdarank" else 7,  # with ties
        valid_sets=[data],
        valid_names=["training"],
        callbacks=[lightgbm.record_evaluation(found)],
    )
    last = {name: values[-1] for name, values in found["training"].items()}
    on_raw = METRICS[name].uses_raw_scores
    return y, model.predict(X, raw_score=on_raw).T, last


# Metrics of survival and distributions have other targets: see test_survival.py.
SURVIVAL = ("survival", "cox", "likelihood")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("objective", "name", "options"), CASES)
def test_values_are_lightgbm_s(objective, name, options, weighted):
    weight = np.round(RNG.uniform(0.5, 3, size=N), 2) if weighted else None
    if name == "cross_entropy_lambda" and weighted:
        pytest.skip("LightGBM's link has no weights, its metric has")
    if objective == "lambdarank" and weighted:
        weight = np.repeat(RNG.uniform(0.5, 3, size=len(SIZES)), SIZES)
    y, scores, theirs = lightgbm_s(objective, name, options, weight)
    boundaries = BOUNDARIES if objective == "lambdarank" else None
    metric = metrics.Metric(name, settings(**options))
    ours = {
        result.name.replace("_lightgbm", ""): result.value
        for result in metric(sample(y, scores, weight, boundaries=boundaries))
    }
    assert list(ours) == list(theirs)
    if objective == "lambdarank" and weighted:
        # LightGBM counts queries without gains once, whatever they weigh.
        mass = np.add.reduceat(weight, BOUNDARIES[:-1]) / SIZES
        for key in ours:
            ours[key] += (1 - mass[1]) / mass.sum() if "ndcg" in name else 0
    np.testing.assert_allclose(
        list(ours.values()), list(theirs.values()), rtol=2e-6, atol=1e-7
    )


@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_rows_that_are_sorted_by_grade_do_not_raise_a_metric(name):
    y, equal = TARGETS["lambdarank"], np.zeros(N)
    by_grade = np.lexsort((-y, np.repeat(np.arange(len(SIZES)), SIZES)))
    found = {
        (kind, which): value(f"{name}{kind}", grades, equal, **AT_FIVE)
        for kind in ("", "_lightgbm")
        for which, grades in (("mixed", y), ("sorted", y[by_grade]))
    }
    assert found["", "sorted"] == found["", "mixed"] < 0.8
    assert found["_lightgbm", "sorted"] == 1


def share_loss(y, p):
    least = 1e-12
    p, rest = np.maximum(p, least), np.maximum(1 - p, least)
    return -(y * np.log(p) + (1 - y) * np.log(rest))


def reference_fair(y, p, a):
    x = np.abs(y - p)
    return a * x - a * a * np.log1p(x / a)


def reference_huber(y, p, a):
    x = np.abs(y - p)
    return np.where(x <= a, x**2 / 2, a * (x - a / 2))


def reference_tweedie(y, p, a):
    p = np.maximum(p, 1e-10)
    return p ** (2 - a) / (2 - a) - y * p ** (1 - a) / (1 - a)


def reference_deviance(y, p, a):
    ratio = y / (p + 1e-9)
    return 2 * (ratio - np.log(ratio) - 1)


REFERENCE = {
    "l2": lambda y, p, a: (y - p) ** 2,
    "l1": lambda y, p, a: np.abs(y - p),
    "quantile": lambda y, p, a: np.where(y >= p, a * (y - p), (1 - a) * (p - y)),
    "mape": lambda y, p, a: np.abs(y - p) / np.maximum(1, np.abs(y)),
    "huber": reference_huber,
    "fair": reference_fair,
    "poisson": lambda y, p, a: np.maximum(p, 1e-10) - y * np.log(np.maximum(p, 1e-10)),
    "tweedie": reference_tweedie,
    "gamma": lambda y, p, a: y / p + np.log(p),
    "gamma_deviance": reference_deviance,
    "binary_logloss": lambda y, p, a: (
        -np.log(np.maximum(np.where(y > 0, p, 1 - p), 1e-15))
    ),
    "binary_error": lambda y, p, a: (p > 0.5) != (y > 0),
    "cross_entropy": lambda y, p, a: share_loss(y, p),
    "cross_entropy_lambda": lambda y, p, a: share_loss(y, 1 - np.exp(-p)),
    "entropy": lambda y, p, a: share_loss(y, y),
}


def test_every_loss_has_a_reference():
    # The loss of an objective is tested with it: see test_objectives.py.
    of_objectives = {name for name, spec in OBJECTIVES.items() if spec.metric is None}
    assert set(REFERENCE) | of_objectives == set(kernels.VALUES)


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("n", [1, 7, 8, 1023, 1024, 3001])
def test_losses_agree_with_the_reference(name, n):
    rng = np.random.default_rng(n)
    y, p, weight = rng.random((3, n))
    if name not in ("binary_logloss", "binary_error") and "entropy" not in name:
        y, p = y * 5 + 1e-3, p * 20 + 1e-3
    loss = REFERENCE[name](y, p, 1.3)
    for weights in (None, weight):
        found = summed(kernels.VALUES[name], y, p, weights, 1.3, 1)
        expected = np.sum(loss if weights is None else loss * weights)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_logarithms():
    p = np.concatenate(
        [10.0 ** np.arange(-300, 300), np.linspace(0.6, 1.5, 2001), [1.0, 2.3e-308]]
    )
    found = [
        summed(kernels.VALUES["gamma"], np.zeros(1), one, None, 0.0, 1)
        for one in p[:, None]
    ]
    np.testing.assert_allclose(found, np.log(p), rtol=6e-16)
    for one in (np.inf, np.nan):
        value = summed(
            kernels.VALUES["gamma"], np.ones(1), np.array([one]), None, 0.0, 1
        )
        np.testing.assert_equal(value, one)


def scores_of(kind, n=3000):
    rng = np.random.default_rng(3)
    usual = rng.normal(size=n)
    far = usual.copy()
    far[[5, 70]] = 1e300, -1.7e308
    return {
        "usual": usual,
        "rounded": np.round(usual, 1),
        "few": rng.integers(0, 4, n) / 3.0,
        "equal": np.zeros(n),
        "two zeros": np.where(rng.random(n) < 0.5, 0.0, -0.0),
        "far": far,
        "endless range": np.where(usual > 0, 1.7e308, -1.7e308) * rng.random(n),
        "exponents": usual * 10.0 ** rng.integers(-300, 300, n),
        "one cluster": np.where(np.arange(n) == 9, 1.0, 1e-9 * rng.normal(size=n)),
        "tied clusters": np.round(usual, 1) + 1e-9 * rng.integers(0, 3, n),
        "tiny": 5e-324 * rng.integers(-9, 9, n),
        "sorted": np.sort(usual),
        "falling": -np.sort(usual),
        "short": usual[:50],
        "pair": usual[:2],
    }[kind]


def reference_area(name, y, scores, weight):
    """From sums of equal scores, best first."""
    _, place = np.unique(-(scores + 0.0), return_inverse=True)
    positive = np.bincount(place, weight * (y > 0))
    negative = np.bincount(place, weight * (y <= 0))
    found = np.cumsum(positive)
    if name == "auc":
        area = np.sum(negative * (found - positive / 2))
        return area / (positive.sum() * negative.sum())
    return np.sum(positive * found / (found + np.cumsum(negative))) / found[-1]


KINDS = [
    *("usual", "rounded", "few", "equal", "two zeros", "far", "endless range"),
    *("exponents", "one cluster", "tied clusters", "tiny", "sorted", "falling"),
    *("short", "pair"),
]


@pytest.mark.parametrize("name", ["auc", "average_precision"])
@pytest.mark.parametrize("kind", KINDS)
def test_areas_agree_with_the_reference(name, kind):
    scores = scores_of(kind)
    rng = np.random.default_rng(4)
    y = (rng.random(len(scores)) < 0.4) * 1.0
    y[:2] = 0, 1
    weight = rng.random(len(scores)) + 0.1
    for given in (None, weight):
        found = value(name, y, scores, given)
        expected = reference_area(
            name, y, scores, np.ones(len(y)) if given is None else given
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["auc", "average_precision"])
def test_weights_of_areas_are_copies(name):
    y, scores = TARGETS["binary"], np.round(X[:, 0], 1)
    times = RNG.integers(0, 4, size=N)
    copies = value(name, np.repeat(y, times), np.repeat(scores, times))
    np.testing.assert_allclose(
        value(name, y, scores, times * 1.0), copies, rtol=1e-13, atol=0
    )


@pytest.fixture(scope="module")
def many_rows():
    """Enough for a team of threads in every metric."""
    rng = np.random.default_rng(8)
    n = 501_000
    y = rng.integers(0, 3, size=n).astype(float)
    shares = rng.random((3, n)) + 0.01
    return y, shares / shares.sum(axis=0), rng.random(n)


@pytest.mark.parametrize(
    "name",
    [
        n
        for n, k in METRICS.items()
        if k.task not in ("ranking", "quantiles", "distribution", *SURVIVAL)
    ],
)
def test_threads_do_not_change_a_bit(name, many_rows):
    y, scores, weight = many_rows
    if METRICS[name].task != "multiclass":
        y, scores = y / 2, scores[0]
    if METRICS[name].targets.is_open:
        y = y + 1
    first, *others = (value(name, y, scores, weight, n_threads=k) for k in (1, 2, 3))
    assert np.isfinite(first)
    assert others == [first, first]


def digest() -> str:
    """Of the values of all losses and areas."""
    rng = np.random.default_rng(1)
    y, p, weight = np.round(rng.random((3, 5003)), 3)
    found = [
        summed(code, y + 0.5, p + 0.25, weight, 1.3, 1)
        for code in kernels.VALUES.values()
    ]
    for area in (metric_kernels.auc, metric_kernels.average_precision):
        found.append(area(np.round(y), p, weight, 1))
    for top_k in (0, 1):
        shares = np.round(rng.random((3, 5003)), 2)
        code = np.minimum(np.floor(3 * p), 2.0)
        total = kernels.sum_by_class(code, shares, weight, top_k, 1)
        found.append(exact_sum.rounded(total))
    return hashlib.sha256(np.array(found).tobytes()).hexdigest()


@pytest.mark.parametrize("name", ["auc", "average_precision"])
@pytest.mark.parametrize("weight", [None, np.array([0.0, 1, 1, 2])])
def test_one_class_alone_has_no_rank(name, weight):
    for y in (np.zeros(4), np.ones(4), [1.0, 0, 0, 0], [0.0, 1, 1, 1]):
        if weight is not None or len(set(y)) == 1:
            assert np.isnan(value(name, y, [0.1, 0.4, 0.2, 0.1], weight))


def test_auc_mu_is_the_mean_of_the_pairs_of_classes_that_there_are():
    y, scores = RNG.permutation(np.arange(60) % 3), RNG.normal(size=(4, 60))
    pairs = [value("auc_mu", y[y != k], scores[:, y != k]) for k in range(3)]
    assert value("auc_mu", y, scores) == pytest.approx(np.mean(pairs))
    assert 0 < min(pairs) < max(pairs) < 1
    assert np.isnan(value("auc_mu", np.zeros(5), scores[:, :5]))


def test_ties_are_errors_of_many_classes():
    assert value("multi_error", [0, 1], [[0.5, 0.5], [0.5, 0.5]]) == 1.0
    top = value("multi_error", [0, 1], [[0.5, 0.5], [0.5, 0.5]], multi_error_top_k=2)
    assert top == 0.0


def test_extremes_are_finite():
    p = np.array([0.0, 1.0, 1.0, 0.0])
    y = np.array([1.0, 0.0, 1.0, 0.0])
    for name in ("binary_logloss", "cross_entropy", "kullback_leibler", "poisson"):
        assert np.isfinite(value(name, y, p))
    assert value("r2", np.ones(4), p) == 0.0
    assert value("r2", np.ones(4), np.ones(4)) == 1.0


def test_power_one_of_tweedie_is_poisson():
    y, p = TARGETS["poisson"], POSITIVE
    assert value("tweedie", y, p, tweedie_variance_power=1.0) == value("poisson", y, p)


def test_weights_of_lambda_entropy_are_trials():
    y, p = TARGETS["cross_entropy"], POSITIVE
    weight = RNG.uniform(0.5, 3, size=N)
    expected = share_loss(y, 1 - np.exp(-weight * p)).mean()
    found = value("cross_entropy_lambda", y, p, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["gamma", "gamma_deviance", "kullback_leibler"])
def test_targets_out_of_the_domain(name):
    words = "y > 0" if "gamma" in name else r"y in \[0, 1\]"
    with pytest.raises(ValueError, match=f"metric {name!r} needs {words}, but y"):
        value(name, [-1.0, 2.0], [0.5, 0.5])


def test_bad_costs():
    with pytest.raises(ValueError, match="auc_mu_weights must have 9 numbers"):
        value("auc_mu", [0, 1, 2], np.eye(3), auc_mu_weights=[0.0, 1.0])


# --- Functions of the user ------------------------------------------------------------


def test_functions_of_any_arity():
    seen = []

    def two(y_true, y_pred):
        seen.append((y_true.shape, y_pred.shape))
        y_pred[:] = 0
        return "two", 1, False

    def four(y_true, y_pred, weight, group):
        seen.append((weight, group))
        return [("a", 1.0, True), ("b", 2.0, False)]

    given = sample([0.0, 1, 2], [[1.0, 2, 3]], np.ones(3), boundaries=np.array([0, 3]))
    assert metrics.CustomMetric(two)(given) == [("two", 1.0, False)]
    assert [r.name for r in metrics.CustomMetric(four)(given)] == ["a", "b"]
    assert seen[0] == ((3,), (3,))
    np.testing.assert_array_equal(seen[1][1], [3])
    assert (given.scores == [1.0, 2, 3]).all()
    many = sample([0.0, 1], np.ones((3, 2)))
    metrics.CustomMetric(two)(many)
    assert seen[-1] == ((2,), (2, 3))


def test_bad_functions():
    with pytest.raises(TypeError, match="eval function should have 2, 3 or 4"):
        metrics.CustomMetric(lambda y: 0)
    bad: tuple = (3.0, None, "ab", ("a", 1.0), ("a", "b", True), ("a", None, True))
    for found in (*bad, ("a", [1.0], True), ("a", 1.0, "yes"), [("a", 1.0)], [3.0]):
        with pytest.raises(ValueError, match=r"must return \(name, value"):
            metrics.CustomMetric(lambda y, p, found=found: found)(sample([0.0], [0.0]))


# --- In a fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y", "metric"),
    [
        (LGBMRegressor(objective="rmse"), TARGETS["regression"], "rmse"),
        (LGBMRegressor(objective="mae"), TARGETS["regression"], "l1"),
        (LGBMRegressor(), TARGETS["regression"], "l2"),
        (LGBMRegressor(metric=""), TARGETS["regression"], "l2"),
        (LGBMRegressor(metric="mape"), TARGETS["regression"], "mape"),
        (LGBMClassifier(), TARGETS["binary"], "binary_logloss"),
        (LGBMClassifier(), TARGETS["multiclass"], "multi_logloss"),
        (LGBMRanker(eval_at=[2]), TARGETS["lambdarank"], "ndcg@2"),
    ],
)
def test_usual_metric_of_an_objective(model, y, metric):
    queries = {"group": [len(y)]} if isinstance(model, LGBMRanker) else {}
    model = clone(model).set_params(n_estimators=2)
    model.fit(X, y, eval_set=[(X, y)], **queries)
    assert list(model.evals_result_) == ["training"]
    assert list(model.evals_result_["training"]) == [metric]


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, spec in METRICS.items()
        if name != "r2" and spec.task not in ("quantiles", "distribution", *SURVIVAL)
        # LightGBM knows it.
        if name not in OBJECTIVES or OBJECTIVES[name].lightgbm is None
        if not name.endswith("_lightgbm")
    ),
)
def test_direction_is_lightgbms(name, lightgbm):
    groups = np.full(20, 30)
    y = (
        np.arange(N) % 2
        if name not in {"multi_logloss", "multi_error", "auc_mu"}
        else (np.arange(N) % 3)
    )
    classes = {"objective": "multiclass", "num_class": 3} if y.max() == 2 else {}
    if METRICS[name].task == "ranking":
        classes = {"objective": "lambdarank"}
    params = {"metric": name, "verbosity": -1, "num_leaves": 3, **classes}
    found = []
    for package in (lightgbm, skgoss):
        data = package.Dataset(X, y + (not classes) * 0.5 * name.startswith("gamma"))
        if METRICS[name].task == "ranking":
            data.set_group(groups)
        booster = package.Booster(params, data)
        booster.update()
        found.append({tuple(result[1:4:2]) for result in booster.eval_train()})
    assert found[0] == found[1]
