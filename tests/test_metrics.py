"""Metrics: the values of LightGBM on its own predictions, and those of scikit-learn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn import metrics as sk

from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor, metrics, parameters
from skgoss.metrics import METRICS, Sample

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 5))
SIZES = np.array([30, 1, 69, 100, 100, 200, 60, 40])
BOUNDARIES = np.concatenate([[0], np.cumsum(SIZES)])


def settings(**options):
    return parameters.settings(LGBMRegressor(**options))


def sample(y, scores, weight=None, n_threads=1, boundaries=None):
    scores = np.ascontiguousarray(np.atleast_2d(scores), dtype=np.float64)
    return Sample(np.asarray(y, np.float64), scores, weight, boundaries, n_threads)


def value(name, *args, **options):
    given = {k: options.pop(k) for k in ("n_threads", "boundaries") if k in options}
    (result,) = metrics.Metric(name, settings(**options))(sample(*args, **given))
    return result.value


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
    ("lambdarank", "ndcg", {"eval_at": [1, 3, 10]}),
    ("lambdarank", "ndcg", {"label_gain": [0.0, 1, 5, 6, 20]}),
    ("lambdarank", "map", {"eval_at": [2, 5]}),
]


def lightgbm_s(objective, name, options, weight):
    """Raw scores of a small LightGBM model, its link and its own metrics."""
    lightgbm = pytest.importorskip("lightgbm")
    y = TARGETS.get(objective, TARGETS["cross_entropy"])
    given = {"objective": objective, "metric": name, "verbosity": -1, "num_threads": 1}
    given |= options | {"num_class": 4 if objective == "multiclass" else 1}
    group = SIZES if objective == "lambdarank" else None
    data = lightgbm.Dataset(X, y, weight=weight, group=group)
    found: dict = {}
    model = lightgbm.train(
        given,
        data,
        7,
        valid_sets=[data],
        valid_names=["training"],
        callbacks=[lightgbm.record_evaluation(found)],
    )
    last = {name: values[-1] for name, values in found["training"].items()}
    on_raw = METRICS[name].on_raw
    return y, model.predict(X, raw_score=on_raw).T, last


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
        result.name: result.value
        for result in metric(sample(y, scores, weight, boundaries=boundaries))
    }
    assert list(ours) == list(theirs)
    if objective == "lambdarank" and weighted:
        # LightGBM counts queries without gains once, whatever they weigh.
        mass = np.add.reduceat(weight, BOUNDARIES[:-1]) / SIZES
        for key in ours:
            ours[key] += (1 - mass[1]) / mass.sum() if name == "ndcg" else 0
    np.testing.assert_allclose(
        list(ours.values()), list(theirs.values()), rtol=2e-6, atol=1e-7
    )


def test_values_are_scikit_learn_s():
    y = TARGETS["binary"]
    scores = np.round(X[:, 0], 1)
    weight = RNG.uniform(0, 3, size=N)
    p = 1 / (1 + np.exp(-scores))
    for ours, theirs in (
        (
            value("auc", y, scores, weight),
            sk.roc_auc_score(y, scores, sample_weight=weight),
        ),
        (
            value("average_precision", y, scores, weight),
            sk.average_precision_score(y, scores, sample_weight=weight),
        ),
        (
            value("binary_logloss", y, p, weight),
            sk.log_loss(y, p, sample_weight=weight),
        ),
        (value("l1", y, p, weight), sk.mean_absolute_error(y, p, sample_weight=weight)),
        (value("r2", y, p, weight), sk.r2_score(y, p, sample_weight=weight)),
        (
            value("quantile", y, p, alpha=0.3),
            sk.mean_pinball_loss(y, p, alpha=0.3),
        ),
        (value("poisson", y, p), np.mean(p - y * np.log(p))),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_ndcg_is_scikit_learn_s():
    y, scores = TARGETS["lambdarank"], X[:, 0]
    metric = metrics.Metric("ndcg", settings(eval_at=[4]))
    (ours,) = metric(sample(y, scores, boundaries=BOUNDARIES))
    theirs = [
        sk.ndcg_score([2 ** y[a:b] - 1], [scores[a:b]], k=4) if b - a > 1 else 1.0
        for a, b in pairwise(BOUNDARIES)
    ]
    np.testing.assert_allclose(ours.value, np.mean(theirs), rtol=1e-12)


@pytest.mark.parametrize("name", [n for n, k in METRICS.items() if k.task != "rank"])
def test_threads_do_not_change_a_bit(name):
    n = 100_000
    many = METRICS[name].task == "many"
    y = RNG.integers(0, 3 if many else 2, size=n).astype(float)
    if name in ("gamma", "gamma_deviance"):
        y += 1.0
    scores = RNG.dirichlet(np.ones(3), size=n).T if many else RNG.random(n)
    weight = RNG.random(n)
    first, *others = (value(name, y, scores, weight, n_threads=k) for k in (1, 2, 3))
    assert np.isfinite(first)
    assert others == [first, first]


def test_one_class_alone_is_ranked_perfectly():
    for name in ("auc", "average_precision"):
        for y in (np.zeros(4), np.ones(4)):
            assert value(name, y, [0.1, 0.4, 0.2, 0.1]) == 1.0


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


# --- Names ----------------------------------------------------------------------------


def made(words, n_classes=None, ranks=False, **options):
    words, functions = metrics.sorted_words(words)
    found = metrics.make(words, settings(**options), n_classes, ranks=ranks)
    return [metric.name for metric in found], functions


def test_every_alias_of_lightgbm():
    for word, name in (
        *(("mse", "l2"), ("regression", "l2"), ("mean_squared_error", "l2")),
        *(("l2_root", "rmse"), ("mae", "l1"), ("xentropy", "cross_entropy")),
        *(("kldiv", "kullback_leibler"), ("xentlambda", "cross_entropy_lambda")),
        ("mean_absolute_percentage_error", "mape"),
    ):
        assert made([word])[0] == [name]
    assert made(["ovr"], 3)[0] == ["multi_logloss"]
    assert made(["mean_average_precision"], ranks=True)[0] == ["map"]


def test_words_come_once_in_their_order_and_the_list_is_kept():
    given = ["auc", "binary_logloss,l2", None, len, "auc"]
    before = list(given)
    assert made([given, "l2"]) == (["auc", "binary_logloss", "l2"], [len])
    assert given == before
    assert made(["None"])[0] == made([""])[0] == made([None])[0] == []


def test_levels():
    (metric,) = metrics.make(["ndcg@3,1"], settings(), None, ranks=True)
    assert metric.settings.eval_at == (3, 1)
    assert made(["ndcg@3,1,map@2"], ranks=True)[0] == ["ndcg", "map"]
    for bad in ("ndcg@x", "auc@3", "ndcg@0"):
        with pytest.raises(ValueError, match="ndcg"):
            made([bad], ranks=True)


def test_words_of_classifiers():
    assert made(["logloss", "error"], 2)[0] == ["binary_logloss", "binary_error"]
    assert made(["logloss", "error"], 3)[0] == ["multi_logloss", "multi_error"]
    assert made(["binary_logloss"], 3)[0] == ["multi_logloss"]
    assert made(["multi_logloss"], 2)[0] == ["binary_logloss"]


@pytest.mark.parametrize(
    ("words", "n_classes", "message"),
    [
        (["rsme"], None, "metric 'rsme' is not known. Did you mean 'rmse'"),
        (["multi_logloss"], None, "metric 'multi_logloss' does not fit"),
        (["auc"], 3, "metric 'auc' does not fit here; use one of multi_logloss"),
        (["ndcg"], None, "metric 'ndcg' does not fit"),
    ],
)
def test_bad_names(words, n_classes, message):
    with pytest.raises(ValueError, match=message):
        made(words, n_classes)
    with pytest.raises(TypeError, match="eval_metric must be a str"):
        metrics.sorted_words([3])


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
    assert metrics.Custom(two)(given) == [("two", 1.0, False)]
    assert [r.name for r in metrics.Custom(four)(given)] == ["a", "b"]
    assert seen[0] == ((3,), (3,))
    np.testing.assert_array_equal(seen[1][1], [3])
    assert (given.scores == [1.0, 2, 3]).all()
    many = sample([0.0, 1], np.ones((3, 2)))
    metrics.Custom(two)(many)
    assert seen[-1] == ((2,), (2, 3))


def test_bad_functions():
    with pytest.raises(TypeError, match="eval function should have 2, 3 or 4"):
        metrics.Custom(lambda y: 0)
    with pytest.raises(ValueError, match=r"must return \(name, value"):
        metrics.Custom(lambda y, p: 3.0)(sample([0.0], [0.0]))


# --- In a fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y", "metric"),
    [
        (LGBMRegressor(objective="rmse"), TARGETS["regression"], "rmse"),
        (LGBMRegressor(objective="mae"), TARGETS["regression"], "l1"),
        (LGBMRegressor(), TARGETS["regression"], "l2"),
        (LGBMRegressor(metric="mape"), TARGETS["regression"], "mape"),
        (LGBMClassifier(), TARGETS["binary"], "binary_logloss"),
        (LGBMClassifier(), TARGETS["multiclass"], "multi_logloss"),
        (LGBMRanker(eval_at=[2]), TARGETS["lambdarank"], "ndcg@2"),
    ],
)
def test_usual_metric_of_an_objective(model, y, metric):
    model.set_params(n_estimators=2).fit(X, y, eval_set=[(X, y)])
    assert list(model.evals_result_) == ["training"]
    assert list(model.evals_result_["training"]) == [metric]
