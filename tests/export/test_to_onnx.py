"""Models in ONNX: onnxruntime's predictions are ours."""

from __future__ import annotations

import importlib
import sys
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import skgoss
from skgoss import LGBMClassifier, LGBMModel, LGBMRegressor

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
import skgoss.onnx  # noqa: E402
from helpers.onnx_sessions import assert_same, run, session  # noqa: E402

# --- Trees ----------------------------------------------------------------------------


def test_threads_do_not_change_a_bit(data):
    X, y = data
    proto = skgoss.to_onnx(LGBMRegressor(n_estimators=90, n_jobs=1).fit(X, y))
    one, two = (session(proto, n).run(None, {"X": X})[0] for n in (1, 2))
    np.testing.assert_array_equal(one, two)


# --- Models ---------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["binary", "multiclass", "multiclassova"])
def test_labels_and_probabilities(objective, data):
    X, y = data
    codes = np.digitize(y, [0.5] if objective == "binary" else [0.5, 1.0, 2.0])
    options = {"objective": objective, "n_estimators": 6, "n_jobs": 1}
    model = LGBMClassifier(sigmoid=1.7, **options).fit(X, codes)
    label, probabilities = run(model, X)
    np.testing.assert_array_equal(label, model.predict(X))
    assert_same(probabilities, model.predict_proba(X))


BOOSTING = {
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "forest": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "goss": {"data_sample_strategy": "goss"},
    "square roots": {"reg_sqrt": True},
    "linear forest": {
        **{"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
        "linear_tree": True,
    },
    "constant trees": {"min_child_samples": 10_000},
}


@pytest.mark.filterwarnings("ignore:start_iteration leaves out all")
@pytest.mark.parametrize("options", BOOSTING.values(), ids=BOOSTING)
def test_every_kind_of_boosting(data, options):
    X, y = data
    model = LGBMRegressor(n_estimators=12, n_jobs=1, **options).fit(X, y)
    assert_same(run(model, X)[0], model.predict(X))
    far = 50 * X  # where the lines of linear leaves have ended
    assert_same(run(model, far)[0], model.predict(far))
    span = {"start_iteration": 3, "num_iteration": 4}
    assert_same(run(model, X, **span)[0], model.predict(X, **span))


def test_linear_leaves_of_several_classes(data):
    X, y = data
    model = LGBMClassifier(n_estimators=5, linear_tree=True, n_jobs=1)
    model.fit(X, np.digitize(y, [0.0, 1.0]))
    for rows in (X, 50 * X, X[:1]):
        (scores,) = run(model, rows, raw_score=True)
        assert_same(scores, model.predict(rows, raw_score=True))
    assert_same(run(model, X)[1], model.predict_proba(X))


@pytest.mark.filterwarnings("ignore:start_iteration leaves out all")
def test_span_of_rounds(data):
    X, y = data
    model = LGBMRegressor(n_estimators=5, n_jobs=1).fit(X, y)
    for start, length in product((-1, 0, 2, 5, 9), (None, -1, 1, 100)):
        span = {"start_iteration": start, "num_iteration": length}
        assert_same(run(model, X, **span)[0], model.predict(X, **span))


def test_a_booster_uses_its_best_round(data):
    X, y = data
    model = LGBMRegressor(n_estimators=5, n_jobs=1).fit(X, y)
    booster = model.booster_
    booster.best_iteration = 2
    assert_same(run(booster, X)[0], model.predict(X, num_iteration=2))
    assert_same(run(booster, X, num_iteration=0)[0], model.predict(X))
    assert_same(run(model, X)[0], model.predict(X))


LABELS = {
    "numbers": [3, 5, 9],
    "floats": [1.0, 2.0, 7.0],
    "negative": [-1, 1],
    "words": ["b", "a", "ä"],
    "objects": np.array(["x", "yy"], dtype=object),
    "booleans": [False, True],
    "one": [4],
    "one word": ["only"],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels(data, labels):
    X, y = data
    target = np.asarray(labels)[np.digitize(y, [0.3, 1.5]) % len(labels)]
    model = LGBMClassifier(n_estimators=4, n_jobs=1).fit(X, target)
    label, proba = run(model, X)
    assert label.dtype == (object if isinstance(labels[0], str) else np.int64)
    np.testing.assert_array_equal(label, model.predict(X))
    assert_same(proba, model.predict_proba(X))


def test_labels_that_onnx_does_not_have(data):
    X, y = data
    labels = np.array([1, 2**63], dtype=np.uint64)
    model = LGBMClassifier(n_estimators=2, n_jobs=1).fit(X, labels[(y > 0).astype(int)])
    with pytest.raises(ValueError, match="labels are too large"):
        skgoss.to_onnx(model)
    assert_same(run(model, X, raw_score=True)[0], model.decision_function(X))


def squared_error(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_pred)


def test_an_objective_that_is_a_function(data):
    X, y = data
    options = {"objective": squared_error, "n_estimators": 3, "n_jobs": 1}
    model = LGBMRegressor(**options).fit(X, y)
    assert_same(run(model, X)[0], model.predict(X))
    classifier = LGBMClassifier(**options).fit(X, y > 0)
    with pytest.warns(UserWarning, match="raw scores are exported"):
        proto = skgoss.to_onnx(classifier)
    assert [output.name for output in proto.graph.output] == ["scores"]
    scores = session(proto).run(None, {"X": X})[0]
    assert_same(scores, classifier.predict(X, raw_score=True))
    with pytest.raises(ValueError, match="no probabilities or labels"):
        skl2onnx.to_onnx(classifier, X[:1])


def test_about_the_model(data):
    model = LGBMModel(objective="regression", n_estimators=3, n_jobs=1).fit(*data)
    proto = skgoss.to_onnx(model)
    assert proto.producer_name == "skgoss"
    assert proto.producer_version == getattr(skgoss, "__version__", "")
    assert proto.doc_string == "LGBMModel, rounds 0 to 2"
    assert proto.graph.name == "LGBMModel"


def test_errors(data, monkeypatch):
    X, y = data
    model = LGBMRegressor(n_estimators=2, n_jobs=1)
    with pytest.raises(NotFittedError):
        skgoss.to_onnx(model)
    with pytest.raises(TypeError, match=r"\S*Pipeline.*skl2onnx.*\(model\[-1\]"):
        skgoss.to_onnx(make_pipeline(model))
    with pytest.raises(TypeError, match=r"got onnx\.\S*ModelProto"):
        skgoss.to_onnx(skgoss.to_onnx(model.fit(X, y)))
    with pytest.raises(ValueError, match="features"):
        skgoss.to_onnx(model, X[:, :3])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        skgoss.to_onnx(model)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    for name in ("skgoss.onnx", "skgoss.export.skl2onnx"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        importlib.import_module("skgoss.onnx")


# --- Inputs ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
def test_dtypes_of_arrays(data, dtype):
    X, y = data
    model = LGBMRegressor(n_estimators=4, n_jobs=1).fit(X, y)
    rows = np.nan_to_num(2 * X).astype(dtype)
    (actual,) = run(model, rows)
    assert actual.dtype == ("float32" if dtype == "float32" else "float64")
    assert_same(actual, model.predict(rows))


@pytest.mark.parametrize("dtype", [">f8", "longdouble", object])
def test_arrays_whose_dtypes_onnx_does_not_have(data, dtype):
    X, y = data
    model = LGBMRegressor(n_estimators=2, n_jobs=1).fit(X, y)
    proto = skgoss.to_onnx(model, X.astype(dtype))
    assert_same(session(proto).run(None, {"X": X})[0], model.predict(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_as_categories(dtype):
    rng = np.random.default_rng(9)
    X = rng.integers(0, 40, size=(500, 3)).astype(float)
    X[:, 0] = 7 * X[:, 0] + 3
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) % 5 + np.nan_to_num(X[:, 1]) % 3
    options = {"categorical_feature": [0, 1], "min_data_per_group": 5, "n_jobs": 1}
    model = LGBMRegressor(n_estimators=10, **options).fit(X, y)
    strange = [np.inf, -np.inf, np.nan, 2.5, -1, 1e18, 4, 0, -0.0, 31, 32]
    X[:200, :2] = rng.choice(strange, size=(200, 2))
    X = X.astype(dtype)
    assert_same(run(model, X)[0], model.predict(X))


def frame_of_all_kinds(pandas):
    rng = np.random.default_rng(10)
    n = 600
    words = rng.choice([*"abcé", "two words", *(f"k{i}" for i in range(40))], size=n)
    marks = pandas.Categorical(rng.choice([5, 2, 9], n), [5, 9, 2], ordered=True)
    levels = ["low", "mid", "high"]
    data = pandas.DataFrame(
        {
            "number": rng.normal(size=n),
            "whole": rng.integers(0, 50, n),
            "word": words.astype(object),
            "code": pandas.Categorical(rng.integers(3, 30, n) * 2),
            "level": pandas.Categorical(rng.choice(levels, n), levels, ordered=True),
            "mark": marks,
            "flag": rng.random(n) < 0.3,
            "single": rng.normal(size=n).astype(np.float32),
            "yes": pandas.Categorical(rng.random(n) < 0.5),
        }
    )
    y = data["number"] + 2 * (data["word"] < "c") + data["level"].cat.codes
    y += 0.5 * data["mark"].cat.codes + 0.7 * (data["code"].cat.codes % 5)
    for name in ("word", "mark", "code", "number"):
        data.loc[rng.random(n) < 0.1, name] = None
    return data, (y + data["flag"] + data["yes"].cat.codes).to_numpy()


def feed(data, proto):
    """A data frame as inputs: missing words are empty."""
    columns = {}
    for given in proto.graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
        values = data[given.name]
        if dtype.kind == "O":
            values = values.astype(object).where(values.notna(), "")
        columns[given.name] = values.to_numpy(dtype=dtype)[:, None]
    return columns


def test_data_frames(pandas):
    data, y = frame_of_all_kinds(pandas)
    options = {"min_data_per_group": 3, "n_estimators": 20, "n_jobs": 1}
    model = LGBMRegressor(**options).fit(data, y)
    new = data.astype({"word": object, "code": float, "mark": float})
    new.loc[:100, "word"] = "unknown"
    new.loc[50:150, ["code", "mark"]] = 7.5
    types = {}
    for X in (data[:1], data, None):
        proto = skgoss.to_onnx(model, X)
        types[X is None] = [i.type.tensor_type.elem_type for i in proto.graph.input]
        for rows in (data, new):
            outputs = session(proto).run(None, feed(rows, proto))
            assert_same(outputs[0], model.predict(rows))
    kind = onnx.TensorProto
    string, double = kind.STRING, kind.DOUBLE
    middle = [string, double, string, double]
    assert types[False] == [double, kind.INT64, *middle, kind.BOOL, kind.FLOAT, double]
    assert types[True] == [double, double, *middle, double, double, double]


def test_polars(polars):
    rng = np.random.default_rng(11)
    words = rng.choice([*"abc", None], size=200)
    data = polars.DataFrame({"w": words, "n": [None, *range(199)], "i": range(200)})
    y = np.arange(200) + 50 * (words == "a")
    model = LGBMRegressor(n_estimators=5, min_data_per_group=3, n_jobs=1).fit(data, y)
    proto = skgoss.to_onnx(model, data)
    kinds = [i.type.tensor_type.elem_type for i in proto.graph.input]
    kind = onnx.TensorProto
    assert kinds == [kind.STRING, kind.DOUBLE, kind.INT64]
    inputs = {
        "w": data["w"].fill_null("").to_numpy().astype(object)[:, None],
        "n": data["n"].cast(polars.Float64).to_numpy()[:, None],
        "i": data["i"].to_numpy()[:, None],
    }
    assert_same(session(proto).run(None, inputs)[0], model.predict(data))


def test_names_of_columns_and_outputs(pandas):
    """Outputs get a number where a column has their name."""
    X, y = load_iris(return_X_y=True)
    names = ["label", "Gather", "a b:c", "constant"]
    model = LGBMClassifier(n_estimators=3, n_jobs=1)
    data = pandas.DataFrame(X, columns=names)
    proto = skgoss.to_onnx(model.fit(data, y), data)
    inputs = [given.name for given in proto.graph.input]
    assert inputs == names
    outputs = [output.name for output in proto.graph.output]
    assert outputs == ["label_1", "probabilities"]
    proba = session(proto).run(None, feed(data, proto))[1]
    assert_same(proba, model.predict_proba(data))


@pytest.mark.parametrize("values", [[(1, 2), (3,)], ["a", 1], [2**53 + 1, 3]])
def test_categories_that_onnx_does_not_have(values, pandas):
    column = pandas.Series(np.zeros(100), dtype=object)
    column[:] = values * 50
    data = pandas.DataFrame({"c": column.astype("category"), "n": np.arange(100.0)})
    model = LGBMRegressor(n_estimators=2, n_jobs=1).fit(data, np.arange(100.0))
    with pytest.raises(ValueError, match="'c' holds categories that ONNX cannot"):
        skgoss.to_onnx(model)


def test_words_that_come_as_numbers(pandas):
    data = pandas.DataFrame({"w": ["a", "b"] * 50, "n": np.arange(100.0)})
    model = LGBMRegressor(n_estimators=2, n_jobs=1).fit(data, np.arange(100.0))
    types = skl2onnx.common.data_types
    for width in (1, 3):
        inputs = [("X", types.StringTensorType([None, width]))]
        with pytest.raises(
            ValueError, match=f"have {width} columns, but the model has 2"
        ):
            skl2onnx.convert_sklearn(model, initial_types=inputs)
    inputs = [("X", types.DoubleTensorType([None, 2]))]
    with pytest.raises(ValueError, match="'w' held strings in fit"):
        skl2onnx.convert_sklearn(model, initial_types=inputs)
    inputs = [(name, types.StringTensorType([None, 1])) for name in ("w", "n")]
    with pytest.raises(ValueError, match="'n' held numbers in fit"):
        skl2onnx.convert_sklearn(model, initial_types=inputs)
