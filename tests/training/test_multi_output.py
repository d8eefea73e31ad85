"""Several targets in one fit: the bits of scikit-learn's MultiOutput estimators."""

import copy
import importlib
import pickle

import numpy as np
import outputs
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import skgoss
from skgoss import Booster, Dataset, LGBMClassifier, LGBMModel, LGBMRegressor

SMALL = {"n_estimators": 8, "num_leaves": 7, "min_child_samples": 5, "random_state": 3}
KINDS = {
    **outputs.KINDS,
    "linear": {"linear_tree": True},
    "extra": {"extra_trees": True},
    "ends early": {"min_split_gain": 9.0, "n_estimators": 60},
    "one thread": {"n_jobs": 1},
}


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(2)
    X[::7, 1] = np.nan
    X[:, 4] = rng.integers(0, 6, n)
    noise = rng.normal(size=(n, 3))
    Y = np.column_stack([X[:, 0], np.exp(X[:, 2]), 2 * (X[:, 4] == 1) + X[:, 3]])
    return X, Y + 0.3 * np.abs(noise), rng.integers(0, 4, n)


X, Y, WEIGHT = make_data()
X_VALID, Y_VALID, WEIGHT_VALID = make_data(150, 1)


def classes(Y):
    """Two, four and two classes."""
    return np.column_stack(
        [Y[:, 0] > 0.3, np.digitize(Y[:, 1], [0.8, 1.3, 2.0]), 2 * (Y[:, 2] > 0.5)]
    )


C, C_VALID = classes(Y), classes(Y_VALID)
LABELS = {
    "mixed": C,
    "multilabel": (C[:, [0, 2]] > 0) * 1,
    "many classes": C[:, [1, 1]],
    "words": np.array(["a", "b", "c", "d"])[C],
    "one class": np.column_stack([C, np.zeros(len(C), dtype=int)]),
}
quiet = pytest.mark.filterwarnings("ignore:No tree of")


def assert_lists_equal(actual, expected):
    assert isinstance(actual, list)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


# --- The bits of separate fits --------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_regressors_are_those_of_each_target(kind):
    model = LGBMRegressor(**{**SMALL, **KINDS[kind]}).fit(X, Y, sample_weight=WEIGHT)
    alone = MultiOutputRegressor(clone(model)).fit(X, Y, sample_weight=WEIGHT)
    rounds = {estimator.n_iter_ for estimator in alone.estimators_}
    assert model.n_iter_ == max(rounds)
    if kind == "ends early":
        assert len(rounds) > 1
    for rows in (X_VALID, X_VALID[:3]):
        np.testing.assert_array_equal(model.predict(rows), alone.predict(rows))
    assert model.score(X_VALID, Y_VALID) == alone.score(X_VALID, Y_VALID)


@pytest.mark.parametrize(
    "objective",
    ["poisson", "regression_l1", "huber", "quantile", "gamma", "cross_entropy"],
)
def test_objectives(objective):
    targets = Y - Y.min() + 0.1
    targets = targets / targets.max() if objective == "cross_entropy" else targets
    model = LGBMRegressor(**SMALL, objective=objective).fit(X, targets)
    alone = MultiOutputRegressor(clone(model)).fit(X, targets)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    roots = clone(model).set_params(reg_sqrt=True).fit(X, targets)
    expected = MultiOutputRegressor(clone(roots)).fit(X, targets).predict(X)
    np.testing.assert_array_equal(roots.predict(X), expected)


def squares(y_true, y_pred):
    assert y_true.shape == y_pred.shape == (len(y_true),)
    return y_pred - y_true, np.ones_like(y_true)


def test_a_function_as_objective():
    model = LGBMRegressor(**SMALL, objective=squares).fit(X, Y)
    alone = MultiOutputRegressor(clone(model)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


@quiet
@pytest.mark.parametrize("labels", LABELS)
def test_classifiers_are_those_of_each_target(labels):
    targets = LABELS[labels]
    model = LGBMClassifier(**SMALL).fit(X, targets, sample_weight=WEIGHT)
    alone = MultiOutputClassifier(clone(model)).fit(X, targets, sample_weight=WEIGHT)
    predicted = model.predict(X_VALID)
    np.testing.assert_array_equal(predicted, alone.predict(X_VALID))
    assert predicted.dtype == targets.dtype
    assert_lists_equal(model.predict_proba(X_VALID), alone.predict_proba(X_VALID))
    assert_lists_equal(model.classes_, alone.classes_)
    assert model.n_classes_ == [len(known) for known in model.classes_]
    last = list(model.staged_predict_proba(X_VALID))[-1]
    assert_lists_equal(last, alone.predict_proba(X_VALID))
    raw = [e.predict_proba(X_VALID, raw_score=True) for e in alone.estimators_]
    np.testing.assert_array_equal(
        model.predict_proba(X_VALID, raw_score=True), np.column_stack(raw)
    )
    assert list(model.staged_predict(X_VALID))[-1].shape == predicted.shape
    if labels == "multilabel":
        assert model.score(X, targets) == alone.score(X, targets)


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_objectives_of_many_classes(objective):
    targets = LABELS["many classes"]
    model = LGBMClassifier(**SMALL, objective=objective).fit(X, targets)
    alone = MultiOutputClassifier(clone(model)).fit(X, targets)
    assert model.objective_ == objective
    assert_lists_equal(model.predict_proba(X), alone.predict_proba(X))


@quiet
@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0}, "list"])
def test_class_weights(class_weight):
    each = ["balanced", None, {2: 0.0}] if class_weight == "list" else None
    # With so few bins, the weights of rows do not change them.
    options = {**SMALL, "class_weight": each or class_weight, "max_bin": 500}
    model = LGBMClassifier(**options).fit(X, C, sample_weight=WEIGHT)
    found = model.predict_proba(X)
    for k, own in enumerate(each or [class_weight] * 3):
        alone = LGBMClassifier(**{**options, "class_weight": own})
        alone.fit(X, C[:, k], sample_weight=WEIGHT)
        np.testing.assert_array_equal(found[k], alone.predict_proba(X))


def test_missing_targets():
    rng = np.random.default_rng(5)
    with_gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    with_gaps[:5] = np.nan
    model = LGBMRegressor(**SMALL).fit(X, with_gaps, sample_weight=WEIGHT)
    weighted = np.flatnonzero(WEIGHT)
    for k, predicted in enumerate(model.predict(X).T):
        rows = np.flatnonzero(~np.isnan(with_gaps[:, k]) & (WEIGHT > 0))
        # These bins are those of the rows of positive weight.
        own = Dataset(
            X[weighted], weight=WEIGHT[weighted], label=np.zeros(len(weighted))
        )
        part = own.subset(np.searchsorted(weighted, rows))
        part.set_label(with_gaps[rows, k])
        alone = LGBMRegressor(**SMALL).fit(part)
        np.testing.assert_array_equal(predicted, alone.predict(X))


def test_columns_of_data_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame({"price": Y[:, 0], "count": (Y[:, 1] * 9).astype(int)})
    expected = LGBMRegressor(**SMALL).fit(X, frame.to_numpy()).predict(X)
    integers = frame.astype({"count": "Int64"})
    for targets in (frame, pl.DataFrame(frame), integers, frame.to_numpy().tolist()):
        found = LGBMRegressor(**SMALL).fit(X, targets).predict(X)
        np.testing.assert_array_equal(found, expected)
    integers.loc[3, "count"] = pd.NA
    expected = frame.to_numpy()
    expected[3, 1] = np.nan
    np.testing.assert_array_equal(
        LGBMRegressor(**SMALL).fit(X, integers).predict(X),
        LGBMRegressor(**SMALL).fit(X, expected).predict(X),
    )
    # Columns keep their types.
    kinds = pd.DataFrame({"word": LABELS["words"][:, 0], "number": C[:, 1]})
    model = LGBMClassifier(**SMALL).fit(X, kinds)
    assert [known.dtype.kind for known in model.classes_] in (["O", "i"], ["U", "i"])
    predicted = model.predict(X)
    assert {type(label) for label in predicted[:, 1]} == {int}
    assert set(predicted[:, 0]) == {"a", "b"}


# --- Evaluation -----------------------------------------------------------------------


def test_metrics_are_means_over_targets():
    with_gaps = Y_VALID.copy()
    with_gaps[::3, 1] = np.nan
    start = {"init_score": Y * 0.5, "eval_init_score": [Y_VALID * 0.5]}
    model = LGBMRegressor(**SMALL).fit(
        X,
        Y,
        **start,
        eval_set=[(X_VALID, with_gaps)],
        eval_sample_weight=[WEIGHT_VALID],
        eval_metric=["mae", total],
    )
    last = {k: v[-1] for k, v in model.evals_result_["valid_0"].items()}
    error = model.predict(X_VALID) + Y_VALID * 0.5 - with_gaps
    weight = np.where(np.isnan(with_gaps), 0.0, WEIGHT_VALID[:, None])
    error = np.nan_to_num(error)
    expected = {
        "l1": np.mean(np.average(np.abs(error), axis=0, weights=weight)),
        "l2": np.mean(np.average(error**2, axis=0, weights=weight)),
        "total": 3.0,
    }
    assert last == pytest.approx(expected, rel=1e-12)


def total(y_true, y_pred):
    """A metric of the user gets all targets."""
    n_rows = np.count_nonzero(WEIGHT_VALID)
    assert y_true.shape == y_pred.shape == (n_rows, 3)
    assert 0 < np.isnan(y_true[:, 1]).sum() < n_rows
    return "total", 3.0, False


@pytest.mark.parametrize(
    "targets", [Y, np.where(np.arange(300)[:, None] % 7 == 0, [[1, np.nan, 1]], Y)]
)
def test_the_training_set_as_evaluation_set(targets):
    model = LGBMRegressor(**SMALL).fit(X, targets, eval_set=[(X, targets)])
    squared = (model.predict(X) - targets) ** 2
    assert model.evals_result_["training"]["l2"][-1] == pytest.approx(
        np.mean(np.nanmean(squared, axis=0)), rel=1e-12
    )


def test_metrics_of_classes():
    model = LGBMClassifier(**SMALL, class_weight={0: 2.0}).fit(
        X,
        C,
        eval_set=[(X_VALID, C_VALID)],
        eval_class_weight=["balanced"],
        eval_metric="error",
    )
    found = {k: v[-1] for k, v in model.evals_result_["valid_0"].items()}
    losses, errors = [], []
    for k, probability in enumerate(model.predict_proba(X_VALID)):
        truth = C_VALID[:, k]
        labels, counts = np.unique(truth, return_counts=True)
        weight = (len(truth) / len(labels) / counts)[np.searchsorted(labels, truth)]
        losses.append(log_loss(truth, probability, sample_weight=weight))
        predicted = model.classes_[k][probability.argmax(axis=1)]
        errors.append(np.average(predicted != truth, weights=weight))
    assert found == pytest.approx(
        {"error": np.mean(errors), "logloss": np.mean(losses)}, rel=1e-10
    )
    labels = LABELS["multilabel"]
    model = LGBMClassifier(**SMALL).fit(X, labels, eval_set=[(X, labels)])
    assert list(model.evals_result_["training"]) == ["binary_logloss"]


def test_early_stopping_by_the_mean():
    options = {**SMALL, "n_estimators": 150, "learning_rate": 0.3}
    sets = {"eval_set": [(X_VALID, Y_VALID)]}
    full = LGBMRegressor(**options).fit(X, Y, **sets)
    losses = full.evals_result_["valid_0"]["l2"]
    model = LGBMRegressor(**options, early_stopping_round=20).fit(X, Y, **sets)
    assert model.best_iteration_ == model.n_iter_ == np.argmin(losses) + 1 < 130
    np.testing.assert_array_equal(
        model.predict(X), full.predict(X, num_iteration=model.n_iter_)
    )
    held_out = LGBMClassifier(**options, early_stopping_round=3).fit(X, C)
    assert list(held_out.best_score_["validation"]) == ["logloss"]


def test_callbacks_and_schedules():
    rates = [0.3 * 0.9**i for i in range(8)]
    schedule = skgoss.callback.reset_parameter(learning_rate=rates)
    seen = []
    model = LGBMRegressor(**SMALL).fit(
        X, Y, callbacks=[schedule, lambda env: seen.append(env.model.num_trees())]
    )
    assert seen == [3 * (i + 1) for i in range(8)]
    for k in range(3):
        schedule = skgoss.callback.reset_parameter(learning_rate=rates)
        alone = LGBMRegressor(**SMALL).fit(X, Y[:, k], callbacks=[schedule])
        np.testing.assert_array_equal(model.predict(X)[:, k], alone.predict(X))


# --- Models ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def regressor():
    return LGBMRegressor(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    return LGBMClassifier(**SMALL).fit(X, C)


def test_files_and_pickles(regressor, classifier, tmp_path):
    path = tmp_path / "model.txt"
    for model in (regressor, classifier):
        model.to_file(path)
        expected, raw = model.predict(X), model.booster_.predict(X, raw_score=True)
        for same in (
            pickle.loads(pickle.dumps(model)),
            copy.deepcopy(model),
            type(model).from_file(path),
            type(model).from_booster(Booster(model_str=path.read_text("utf-8"))),
        ):
            np.testing.assert_array_equal(same.predict(X), expected)
            assert same.objective_ == model.objective_
        booster = Booster(model_file=path)
        np.testing.assert_array_equal(booster.predict(X), model.booster_.predict(X))
        np.testing.assert_array_equal(booster.predict(X, raw_score=True), raw)
    assert_lists_equal(same.predict_proba(X), classifier.predict_proba(X))
    assert repr(booster).endswith("objective binary, multiclass>")


def test_lightgbm_reads_the_files(regressor, classifier, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    path = tmp_path / "model.txt"
    regressor.to_file(path)
    theirs = lightgbm.Booster(model_file=path).predict(X)
    np.testing.assert_allclose(theirs, regressor.predict(X), rtol=1e-13)
    LGBMClassifier(**SMALL).fit(X, LABELS["multilabel"]).to_file(path)
    ours = Booster(model_file=path).predict(X)
    theirs = lightgbm.Booster(model_file=path).predict(X)
    np.testing.assert_allclose(theirs, ours, rtol=1e-12)
    # It cannot apply several links: it predicts raw scores.
    counts = LGBMRegressor(**SMALL, objective="poisson").fit(X, np.abs(Y))
    for model in (classifier, counts):
        model.to_file(path)
        theirs = lightgbm.Booster(model_file=path).predict(X)
        raw = model.booster_.predict(X, raw_score=True)
        np.testing.assert_allclose(theirs, raw, rtol=1e-12)


def test_shap_values(regressor, classifier):
    for model in (regressor, classifier):
        raw = model.booster_.predict(X, raw_score=True)
        values = model.predict(X, pred_contrib=True).reshape(len(X), raw.shape[1], -1)
        np.testing.assert_allclose(values.sum(axis=2), raw, rtol=1e-10, atol=1e-10)
    pytest.importorskip("shap")
    names = ["0", "1: 0", "1: 1", "1: 2", "1: 3", "2"]
    assert classifier.explain(X).output_names == names


def test_onnx(regressor, classifier):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    proto = skgoss.to_onnx(regressor, X)
    found = runtime.InferenceSession(proto.SerializeToString()).run(None, {"X": X})
    np.testing.assert_allclose(found[0], regressor.predict(X), rtol=1e-12)
    proto = skgoss.to_onnx(classifier, X, raw_score=True)
    found = runtime.InferenceSession(proto.SerializeToString()).run(None, {"X": X})
    raw = classifier.predict_proba(X, raw_score=True)
    np.testing.assert_allclose(found[0], raw, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:No tree")
@pytest.mark.parametrize("kind", ["several", "two", "one", "strings"])
def test_onnx_of_labels(kind):
    """Labels in one output, probabilities in one for each target."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    labels = {
        "several": C,
        "two": np.column_stack([Y[:, 0] > 0, Y[:, 1] > 1]).astype(int) * 7,
        "one": np.column_stack([np.full(len(X), 5), C[:, 0]]),
        "strings": np.array(["p", "q", "r", "s", "t"])[C],
    }[kind]
    model = LGBMClassifier(**SMALL).fit(X, labels)
    session = runtime.InferenceSession(skgoss.to_onnx(model, X).SerializeToString())
    found = session.run(None, {"X": X})
    n_targets = labels.shape[1]
    numbers = [f"probabilities_{number}" for number in range(n_targets)]
    assert [output.name for output in session.get_outputs()] == ["label", *numbers]
    np.testing.assert_array_equal(found[0], model.predict(X))
    for own, expected in zip(found[1:], model.predict_proba(X), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12)
    proto = skgoss.to_onnx(model.booster_, X)
    found = runtime.InferenceSession(proto.SerializeToString()).run(None, {"X": X})
    np.testing.assert_allclose(found[0], model.booster_.predict(X), rtol=1e-12)


def test_onnx_of_labels_that_it_cannot_hold():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("onnx")
    mixed = pandas.DataFrame({"a": C[:, 0], "b": np.where(Y[:, 0] > 0, "p", "q")})
    model = LGBMClassifier(**SMALL).fit(X, mixed)
    with pytest.raises(ValueError, match=r"an output of ONNX has one type"):
        skgoss.to_onnx(model, X)
    skl2onnx = pytest.importorskip("skl2onnx")
    importlib.import_module("skgoss.onnx")
    pipe = make_pipeline(StandardScaler(), LGBMClassifier(**SMALL)).fit(X, C)
    with pytest.raises(ValueError, match=r"Convert it with skgoss\.to_onnx"):
        skl2onnx.to_onnx(pipe, X)


def test_training_goes_on(regressor, classifier):
    more = LGBMRegressor(**SMALL).fit(X, Y, init_model=regressor)
    for k in range(3):
        first = LGBMRegressor(**SMALL).fit(X, Y[:, k])
        alone = LGBMRegressor(**SMALL).fit(X, Y[:, k], init_model=first)
        np.testing.assert_array_equal(more.predict(X)[:, k], alone.predict(X))
    again = LGBMClassifier(**SMALL).fit(X, C, init_model=classifier)
    assert again.n_iter_ == 16
    first = LGBMClassifier(**SMALL).fit(X, C[:, 1])
    alone = LGBMClassifier(**SMALL).fit(X, C[:, 1], init_model=first)
    np.testing.assert_array_equal(again.predict_proba(X)[1], alone.predict_proba(X))
    for y, message in (
        (C[:, 0], "y has one column, but init_model has learned 3 targets"),
        (C[:, :2], "y has 2 columns, but init_model has learned 3 targets"),
        (C + 1, "column 0 of y holds labels that init_model does not hold"),
    ):
        with pytest.raises(ValueError, match=message):
            LGBMClassifier(**SMALL).fit(X, y, init_model=classifier)
    with pytest.raises(ValueError, match="3 trees per round, but 2 are needed"):
        LGBMRegressor(**SMALL).fit(X, Y[:, :2], init_model=regressor)
    quantiles = LGBMRegressor(**SMALL, objective="quantile", alpha=[0.1, 0.5, 0.9])
    with pytest.raises(ValueError, match="init_model has learned the quantiles"):
        LGBMRegressor(**SMALL).fit(X, Y, init_model=quantiles.fit(X, Y[:, 0]))


def test_folds_and_searches():
    for model, targets in ((LGBMRegressor, Y), (LGBMClassifier, C)):
        fitted = model(**SMALL, folds=3).fit(X, targets)
        assert list(fitted.oof_score_) == ["l2" if targets is Y else "logloss"]
        out_of_fold = fitted.oof_prediction_
        if targets is Y:
            assert out_of_fold.shape == Y.shape
        else:
            assert [part.shape[1] for part in out_of_fold] == [2, 4, 2]
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        predict = fitted.predict_interval if targets is Y else fitted.predict_set
        with pytest.raises(ValueError, match="for several targets"):
            predict(X)
    scores = cross_val_score(LGBMRegressor(**SMALL), X, Y, cv=3)
    alone = cross_val_score(MultiOutputRegressor(LGBMRegressor(**SMALL)), X, Y, cv=3)
    np.testing.assert_array_equal(scores, alone)
    labels = LABELS["multilabel"]
    search = GridSearchCV(
        LGBMClassifier(**SMALL), {"num_leaves": [3, 7]}, cv=2, scoring="roc_auc_ovr"
    )
    assert np.isfinite(search.fit(X, labels).best_score_)


def test_any_number_of_threads():
    texts = {
        LGBMClassifier(**SMALL, n_jobs=n, subsample=0.5, subsample_freq=1)
        .fit(X, C)
        .booster_.model_to_string()
        .partition("parameters:")[0]
        for n in (1, 2, 3, 8)
    }
    assert len(texts) == 1


def test_tags():
    for model, is_multi in ((LGBMRegressor, 1), (LGBMClassifier, 1), (LGBMModel, 0)):
        assert get_tags(model()).target_tags.multi_output == is_multi
    assert get_tags(LGBMClassifier()).classifier_tags.multi_label


# --- Bad input ------------------------------------------------------------------------


def test_one_column_is_one_target():
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model = LGBMRegressor(**SMALL).fit(X, Y[:, :1])
    assert model.predict(X).shape == (300,)


def test_rows_in_batches(tmp_path):
    pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table(list(X.T), names=[f"x{j}" for j in range(5)])
    classifier = LGBMClassifier(**SMALL).fit(table.to_pandas(), C)
    for part in range(2):
        parquet.write_table(table.slice(150 * part, 150), tmp_path / f"{part}.parquet")
    rows = dataset.dataset(tmp_path)
    expected = classifier.predict_proba(table.to_pandas())
    assert_lists_equal(classifier.predict_proba(rows), expected)
    classifier.predict_proba(rows, to_parquet=tmp_path / "out")
    found = parquet.read_table(tmp_path / "out")
    written = np.column_stack([column.to_numpy() for column in found.columns])
    np.testing.assert_array_equal(written, np.hstack(expected))


STATES = {
    "objective": (
        [["binary"], "multiclass", "binary"],
        "the objective .* is not known",
    ),
    "link": ({"kind": "joint", "slope": 1.0}, "the link must be one of"),
    "parts": ([["logistic", 1.0, 2]], "the link is made for 2 scores"),
    "no scores": ([["logistic", 1.0, 0]], "must have at least one score"),
    "no part": (["logistic"], "must have three entries"),
    "parts of parts": ([["joint", 1.0, 6]], "the link must be one of"),
    "classes": ([np.arange(2), np.arange(4)], "n_scores must be 5, got 6"),
    "no labels": ([1, 2, 3], "one-dimensional array of labels"),
}


@pytest.mark.parametrize("case", STATES)
def test_states_that_were_changed(classifier, case):
    value, message = STATES[case]
    state = copy.deepcopy(classifier.__getstate__())
    model = state["_booster"]
    if case in ("objective", "link"):
        model[case] = value
    elif isinstance(value[0], list | str):
        model["link"]["parts"] = value
    else:
        model["origin"]["classes"] = value
    with pytest.raises(ValueError, match=message):
        LGBMClassifier().__setstate__(state)


def refused(message, model, y, **arguments):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **arguments)
    assert not model.__sklearn_is_fitted__()


def put(values, at, value):
    changed = values.astype(type(value) if isinstance(value, float) else object)
    changed[at] = value
    return changed


def test_columns_that_are_refused():
    sp = pytest.importorskip("scipy.sparse")
    numbers, labels = LGBMRegressor(**SMALL), LGBMClassifier(**SMALL)
    refused("column 1 of y contains infinity", numbers, put(Y, (3, 1), np.inf))
    refused("column 2 of y must hold numbers", numbers, put(Y, (3, 2), "word"))
    gone = Y.copy()
    gone[:, 1] = np.nan
    refused("All values of column 1 of y are missing, or have", numbers, gone)
    refused("(?i)column 1 of y contains NaN", labels, put(C, (3, 1), np.nan))
    refused("Column 0 of y: Unknown label type: continuous", labels, Y)
    refused("y must not be a sparse matrix", labels, sp.csr_matrix(C))
    refused(
        "(?i)column 0 of y.*'multiclass' cannot be used for 2 classes",
        LGBMClassifier(**SMALL, objective="multiclass"),
        C,
    )
    refused(
        "(?i)column 1 of y.*needs targets >= 0",
        LGBMRegressor(**SMALL, objective="poisson"),
        np.column_stack([np.abs(Y[:, 0]), -np.abs(Y[:, 1])]),
    )
    masked = np.ma.masked_array(Y, Y > 1)
    refused("y has masked values", numbers, masked)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    frame.loc[2, "b"] = np.inf
    refused("column 'b' of y contains infinity", numbers, frame)
    frame = pd.DataFrame({"a": C[:, 0], "b": put(C[:, 1], 3, "word")})
    refused("Column 'b' of y: y must be labels that can be sorted", labels, frame)


def test_arguments_that_are_refused():
    alpha = LGBMRegressor(**SMALL, objective="quantile", alpha=[0.1, 0.9])
    refused("'alpha' parameter .* must be a number for several targets", alpha, Y)
    refused("y should be a 1d array", LGBMModel(**SMALL, objective="regression"), Y)
    labels = LGBMClassifier(**SMALL)
    for pair, message in (
        ((X_VALID, C_VALID[:, 0]), "eval_y must have 3 columns, one for each target"),
        ((X_VALID, C_VALID[:, :2]), "eval_y must have 3 columns, .* got 2"),
        ((X_VALID, C_VALID + 9), "column 0 of eval_y holds labels that y does not"),
    ):
        refused(message, labels, C, eval_set=[pair])
    refused("eval_y.*1d array|1d array", labels, C[:, 0], eval_set=[(X_VALID, C_VALID)])
    refused(
        "class_weight must have one item for each of the 3 targets, got 2",
        LGBMClassifier(**SMALL, class_weight=["balanced", None]),
        C,
    )
    refused("must be None: there are no classes", LGBMRegressor(class_weight={1: 2}), Y)
    with pytest.raises(AttributeError, match="no attribute") as caught:
        LGBMClassifier(**SMALL).fit(X, C).decision_function(X)
    assert "Use predict_proba(X, raw_score=True)" in str(caught.value.__cause__)


def test_refit_is_refused(regressor, classifier):
    for model in (regressor, classifier):
        with pytest.raises(ValueError, match="several quantiles or targets"):
            model.booster_.refit(X, Y[:, 0])


def test_a_target_that_is_not_learned_gives_a_warning():
    constant = np.column_stack([Y[:, 0], np.ones(300)])
    with pytest.warns(UserWarning, match="No tree of column 1 of y has a split.*equal"):
        model = LGBMRegressor(**SMALL).fit(X, constant)
    assert (model.predict(X)[:, 1] == 1).all()
