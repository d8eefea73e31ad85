"""Soft labels: several columns of probabilities as the target of a classifier."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import softmax, xlogy
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import skgoss.model_selection
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, cv, train
from skgoss._engine.objectives.loss_kernels import Softmax

N_ROWS = 500
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N_ROWS, 5))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * RANDOM.normal(size=N_ROWS)
WEIGHT = RANDOM.integers(0, 4, N_ROWS)
CODES = {2: (SIGNAL > 0).astype(int), 3: np.digitize(SIGNAL, [-0.8, 0.8])}
HARD = {k: np.eye(k)[codes] for k, codes in CODES.items()}
SOFT = {
    k: 0.7 * hard + 0.3 * RANDOM.dirichlet(np.ones(k), N_ROWS)
    for k, hard in HARD.items()
}
SOFT[3][::50] = [0.0, 0.4, 0.6]
CLASSES = pytest.mark.parametrize("k", [2, 3])


def classifier(**options):
    return LGBMClassifier(
        **{"objective": "cross_entropy", "n_estimators": 12, "num_leaves": 7} | options
    )


def cross_entropy(q, p, weight=None):
    """The loss by its definition."""
    return np.average(-xlogy(q, p).sum(axis=1), weights=weight)


@pytest.mark.parametrize("n_classes", [2, 3, 70])
def test_gradients_are_those_of_the_definition(n_classes):
    scores = RANDOM.normal(size=(n_classes, 1100))
    q = RANDOM.dirichlet(np.ones(n_classes), 1100).T.copy()
    gradient, hessian = np.empty((2, *q.shape), dtype=np.float32)
    loss = pickle.loads(pickle.dumps(Softmax(q)))
    loss(scores, gradient, hessian, 2)
    p = softmax(scores, axis=0)
    np.testing.assert_allclose(gradient, p - q, atol=1e-7)
    factor = n_classes / (n_classes - 1)
    np.testing.assert_allclose(hessian, factor * p * (1 - p), atol=1e-7)
    # Those of labels are those of their probabilities, 0 and 1.
    codes = q.argmax(axis=0).astype(float)
    both = np.empty((2, 2, *q.shape), dtype=np.float32)
    Softmax(codes)(scores, *both[0], 1)
    Softmax(np.eye(n_classes)[:, codes.astype(int)].copy())(scores, *both[1], 1)
    np.testing.assert_array_equal(*both)


def test_trees_are_those_of_the_gradients():
    """A function of the user with the same gradients grows the same trees."""
    q, k = SOFT[3], 3

    def objective(y, scores):
        p = softmax(scores, axis=1)
        return p - q, k / (k - 1) * p * (1 - p)

    options = {"boost_from_average": False, "min_child_weight": 0.0}
    soft = classifier(**options).fit(X, q)
    custom = classifier(**options | {"objective": objective}).fit(X, CODES[3])
    np.testing.assert_allclose(
        soft.predict(X, raw_score=True),
        custom.predict(X, raw_score=True),
        rtol=1e-4,
        atol=1e-5,
    )


@CLASSES
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_labels_are_probabilities_of_0_and_1(k, weight):
    labels = classifier(objective=None)
    labels.fit(X, CODES[k], sample_weight=weight, eval_set=[(X, CODES[k])])
    soft = classifier().fit(X, HARD[k], sample_weight=weight, eval_set=[(X, HARD[k])])
    np.testing.assert_array_equal(soft.predict_proba(X), labels.predict_proba(X))
    names = ("binary_logloss", "cross_entropy") if k == 2 else ("multi_logloss",) * 2
    for model, name in zip((labels, soft), names, strict=True):
        history = model.evals_result_["training"][name]
        np.testing.assert_allclose(
            history, labels.evals_result_["training"][names[0]], rtol=1e-12
        )


@CLASSES
def test_it_learns_the_probabilities_not_the_labels(k):
    q = np.tile(np.arange(1, k + 1) / (k * (k + 1) / 2), (N_ROWS, 1))
    q[X[:, 0] > 0] = q[X[:, 0] > 0][:, ::-1]
    model = classifier(n_estimators=200, learning_rate=0.2).fit(X, q)
    np.testing.assert_allclose(model.predict_proba(X), q, atol=1e-4)
    np.testing.assert_array_equal(model.classes_, np.arange(k))
    assert model.objective_ == ("cross_entropy" if k == 2 else "multiclass")


@CLASSES
def test_weights_count_as_copies(k):
    copied = np.repeat(np.arange(N_ROWS), WEIGHT)
    options = {"min_child_samples": 1, "min_data_in_bin": 1}
    weighted = classifier(**options).fit(X, SOFT[k], sample_weight=WEIGHT)
    copies = classifier(**options).fit(X[copied], SOFT[k][copied])
    np.testing.assert_array_equal(weighted.predict_proba(X), copies.predict_proba(X))


@CLASSES
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_metrics_count_copies_with_each_class(k, weight):
    names = ["cross_entropy", "auc" if k == 2 else "auc_mu"]
    names += ["error", "average_precision" if k == 2 else "multi_error"]
    model = classifier().fit(
        X,
        SOFT[k],
        eval_set=[(X, SOFT[k])],
        eval_names=["a"],
        eval_metric=names,
        eval_sample_weight=None if weight is None else [weight],
    )
    found = {n: v[-1] for n, v in model.evals_result_["a"].items()}
    p = model.predict_proba(X)
    w = np.ones(N_ROWS) if weight is None else weight
    loss = found["cross_entropy" if k == 2 else "multi_logloss"]
    assert loss == pytest.approx(cross_entropy(SOFT[k], p, w))
    # A row for each class, weighted by its probability.
    labels = np.repeat(np.arange(k), N_ROWS)
    of_copies = (SOFT[k] * w[:, None]).T.ravel()
    error = 1 - accuracy_score(
        labels, np.tile(p.argmax(axis=1), k), sample_weight=of_copies
    )
    assert found["binary_error" if k == 2 else "multi_error"] == pytest.approx(error)
    assert model.score(X, SOFT[k], weight) == pytest.approx(1 - error)
    if k > 2:
        # With labels instead of probabilities, it is larger.
        assert 0.5 < found["auc_mu"] < 0.95
    else:
        area = roc_auc_score(labels, np.tile(p[:, 1], 2), sample_weight=of_copies)
        assert found["auc"] == pytest.approx(area)


@CLASSES
def test_evaluation_sets_may_hold_labels(k):
    names = ["auc_mu" if k > 2 else "auc"]
    model = classifier().fit(
        X, SOFT[k], eval_set=[(X, CODES[k]), (X, SOFT[k])], eval_metric=names
    )
    name = "cross_entropy" if k == 2 else "multi_logloss"
    loss = log_loss(CODES[k], model.predict_proba(X))
    assert model.evals_result_["valid_0"][name][-1] == pytest.approx(loss)
    assert model.score(X, CODES[k]) > 0.8
    with pytest.raises(ValueError, match="holds labels that y does not hold"):
        classifier().fit(X, SOFT[k], eval_set=[(X, CODES[k] + 1)])


@CLASSES
def test_functions_get_the_probabilities(k):
    seen = []

    def metric(y_true, y_pred):
        seen.append(y_true)
        return "mean", float(np.mean(y_true)), False

    classifier(n_estimators=1).fit(
        X, SOFT[k], eval_set=[(X, SOFT[k]), (X, CODES[k])], eval_metric=metric
    )
    np.testing.assert_allclose(seen[0], SOFT[k])
    np.testing.assert_array_equal(seen[1], CODES[k])


@CLASSES
def test_early_stopping_folds_and_searches(k):
    stopped = classifier(n_estimators=300, early_stopping_round=5, learning_rate=0.3)
    stopped.fit(X, SOFT[k])
    assert 0 < stopped.n_iter_ < 300
    assert list(stopped.best_score_) == ["validation"]
    for folds in (3, StratifiedKFold(3)):
        model = classifier(folds=folds).fit(X, SOFT[k], sample_weight=WEIGHT)
        loss = cross_entropy(SOFT[k], model.oof_prediction_, WEIGHT)
        (mean,) = model.oof_score_.values()
        assert mean == pytest.approx(loss, rel=0.02)
    with pytest.raises(ValueError, match="or with soft labels"):
        model.predict_set(X)
    grid = {"num_leaves": [3, 7], "n_estimators": [4, 8]}
    ours = skgoss.model_selection.GridSearchCV(classifier(), grid, cv=3)
    theirs = GridSearchCV(classifier(), grid, cv=3)
    scores = [
        search.fit(X, SOFT[k]).cv_results_["mean_test_score"]
        for search in (ours, theirs)
    ]
    np.testing.assert_array_equal(*scores)


@CLASSES
def test_presets(k):
    model = LGBMClassifier(preset="fast", objective="cross_entropy")
    model.fit(X[:200], SOFT[k][:200])
    assert len(model.search_results_["params"]) > 1
    assert model.oof_prediction_.shape == (200, k)


@CLASSES
@pytest.mark.parametrize(
    "options",
    [
        {"linear_tree": True},
        {"pair_features": True},
        {"boosting_type": "dart"},
        {"boosting_type": "rf", "colsample_bytree": 0.6},
        {"data_sample_strategy": "goss"},
        {"subsample": 0.6, "subsample_freq": 1},
        {"monotone_constraints": [1, 0, 0, 0, 0]},
        {"extra_trees": True, "boost_from_average": False},
    ],
)
def test_options_do_the_same_as_with_labels(k, options):
    soft = classifier(**options).fit(X, HARD[k])
    labels = classifier(**options, objective=None).fit(X, CODES[k])
    np.testing.assert_array_equal(soft.predict_proba(X), labels.predict_proba(X))
    one, two = (classifier(**options, n_jobs=n).fit(X, SOFT[k]) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_shared_trees():
    options = {"multi_strategy": "multi_output_tree"}
    soft = classifier(**options).fit(X, HARD[3])
    labels = classifier(**options, objective=None).fit(X, CODES[3])
    np.testing.assert_array_equal(soft.predict_proba(X), labels.predict_proba(X))


@CLASSES
def test_models_are_saved_and_continued(k, tmp_path, lightgbm):
    once = classifier().fit(X, SOFT[k])
    path = tmp_path / "model.txt"
    once.to_file(path)
    read = LGBMClassifier.from_file(path)
    for model in (read, pickle.loads(pickle.dumps(once))):
        np.testing.assert_array_equal(model.predict_proba(X), once.predict_proba(X))
        np.testing.assert_array_equal(model.classes_, once.classes_)
        assert model.get_params() == once.get_params()
    theirs = lightgbm.Booster(model_file=path).predict(X)
    ours = once.predict_proba(X)
    np.testing.assert_allclose(theirs, ours if k > 2 else ours[:, 1], rtol=1e-12)
    # Labels after soft labels, and soft labels after labels.
    labels = classifier(objective=None).fit(X, CODES[k])
    assert labels.fit(X, CODES[k], init_model=once).n_iter_ == 24
    assert classifier().fit(X, SOFT[k], init_model=labels).n_iter_ == 36
    first = classifier(n_estimators=5, warm_start=True).fit(X, SOFT[k])
    first.set_params(n_estimators=12).fit(X, SOFT[k])
    np.testing.assert_array_equal(first.predict_proba(X), ours)


@CLASSES
def test_onnx(k):
    sessions = pytest.importorskip("helpers.onnx_sessions")
    model = classifier(folds=3).fit(X, SOFT[k])
    labels, probabilities = sessions.run(model, X)
    sessions.assert_same(probabilities, model.predict_proba(X))
    np.testing.assert_array_equal(labels, model.predict(X))


@CLASSES
def test_shap_values_sum_to_raw_scores(k):
    model = classifier().fit(X, SOFT[k])
    contributions = model.predict(X, pred_contrib=True).reshape(N_ROWS, -1, 6)
    raw = model.predict(X, raw_score=True).reshape(N_ROWS, -1)
    np.testing.assert_allclose(contributions.sum(axis=2), raw, atol=1e-10)


@pytest.mark.parametrize(
    "make",
    [
        lambda q: pd.DataFrame(q, columns=["low", "middle", "high"]),
        lambda q: pl.DataFrame(q, schema=["low", "middle", "high"]),
    ],
)
def test_columns_name_the_classes(make):
    model = classifier().fit(X, make(SOFT[3]), eval_set=[(X, make(SOFT[3]))])
    assert model.classes_.tolist() == ["low", "middle", "high"]
    array = classifier().fit(X, SOFT[3])
    np.testing.assert_array_equal(model.predict_proba(X), array.predict_proba(X))
    assert set(model.predict(X)) == {"low", "middle", "high"}
    labels = np.array(["low", "middle", "high"])[CODES[3]]
    assert model.score(X, labels) > 0.8
    turned = make(SOFT[3])[["high", "middle", "low"]]
    with pytest.raises(ValueError, match="columns of eval_y must be the classes"):
        classifier().fit(X, make(SOFT[3]), eval_set=[(X, turned)])


def test_other_containers_and_rounded_numbers():
    expected = classifier().fit(X, SOFT[3]).predict_proba(X)
    for q in (SOFT[3].tolist(), np.asfortranarray(SOFT[3])):
        np.testing.assert_array_equal(classifier().fit(X, q).predict_proba(X), expected)
    for q in (SOFT[3].astype(np.float32), SOFT[3].round(4)):
        found = classifier().fit(X, q).predict_proba(X)
        np.testing.assert_allclose(found, expected, atol=0.02)
    rows = Dataset(X)
    np.testing.assert_array_equal(
        classifier().fit(rows, SOFT[3]).predict_proba(X), expected
    )


def test_whole_numbers_are_several_targets():
    with pytest.warns(UserWarning, match="learned as 3 targets"):
        model = classifier().fit(X, HARD[3].astype(int))
    assert len(model.classes_) == 3


def changed(row, values):
    q = SOFT[3].copy()
    q[row] = values
    return q


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (SOFT[3] * 1.1, "must sum to 1, but those of row 0 of y sum to 1.1"),
        (changed(7, [0.5, 0.3, 0.3]), "those of row 7 of y sum to 1.1. Divide"),
        (changed(9, [1.5, -0.5, 0.0]), r"row 9 of y is \[1.5, -0.5, 0.0\]"),
        (changed(3, np.nan), "column 0 of y contains NaN: row 3"),
        (changed(3, np.inf), "column 0 of y contains infinity"),
        (SOFT[3][:, 0], "set objective='cross_entropy' and pass a column for each"),
        (SOFT[3][:-1], "inconsistent numbers of samples"),
    ],
)
def test_wrong_soft_labels_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        classifier().fit(X, y)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"objective": None}, {}, r"\(soft labels\), set objective='cross_entropy'"),
        ({"objective": "multiclass"}, {}, "set objective='cross_entropy'"),
        ({"class_weight": "balanced"}, {}, "class_weight cannot be used with soft"),
        (
            {},
            {"eval_set": [(X, SOFT[2])]},
            "eval_y must have a column for each of the 3 classes, got 2",
        ),
        (
            {},
            {"eval_set": [(X, SOFT[3] / 2)]},
            "those of row 0 of eval_y sum to 0.5",
        ),
        (
            {},
            {"eval_set": [(X, SOFT[3])], "eval_class_weight": ["balanced"]},
            "eval_class_weight cannot be used with soft labels",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(options, arguments, message):
    with pytest.raises(ValueError, match=message):
        classifier(**options).fit(X, SOFT[3], **arguments)


@pytest.mark.filterwarnings("ignore:Each row of y has a single 1")
def test_an_earlier_model_has_the_same_number_of_classes():
    first = classifier(objective=None).fit(X, CODES[2])
    with pytest.raises(ValueError, match="column for each of the 2 classes, got 3"):
        classifier().fit(X, SOFT[3], init_model=first)
    several = LGBMClassifier(n_estimators=2).fit(X, HARD[3].astype(int))
    with pytest.raises(ValueError, match="init_model has learned 3 targets"):
        classifier().fit(X, SOFT[3], init_model=several)


@pytest.mark.parametrize("function", [train, cv])
def test_functions_and_rankers_refuse_them(function):
    params = {"objective": "multiclass", "num_class": 3}
    with pytest.raises(ValueError, match=r"1d array.* an LGBMClassifier"):
        function(params, Dataset(X, label=SOFT[3]), 3)
    with pytest.raises(ValueError, match=r"1d array.* an LGBMClassifier"):
        LGBMRanker().fit(X, SOFT[3], group=[N_ROWS])


def test_regressors_learn_several_targets():
    model = LGBMRegressor(objective="cross_entropy", n_estimators=3).fit(X, SOFT[3])
    assert model.predict(X).shape == (N_ROWS, 3)
