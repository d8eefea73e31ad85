"""Pipelines in ONNX, by skl2onnx."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skgoss
from skgoss import LGBMClassifier, LGBMRegressor

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
from skl2onnx.common.shape_calculator import (  # noqa: E402
    calculate_linear_regressor_output_shapes,
)

import skgoss.onnx  # noqa: E402
from helpers.onnx_sessions import assert_same, session  # noqa: E402

CLASSIFIER = LGBMClassifier(n_estimators=5, num_leaves=7, n_jobs=1)
REGRESSOR = LGBMRegressor(n_estimators=5, num_leaves=7, n_jobs=1)
PIPELINES = {
    "classifier": CLASSIFIER,
    "regressor": REGRESSOR,
    "scaled classifier": make_pipeline(StandardScaler(), CLASSIFIER),
    "scaled regressor": make_pipeline(StandardScaler(), REGRESSOR),
    "linear leaves": make_pipeline(StandardScaler(), LGBMRegressor(linear_tree=True)),
    "calibrated": CalibratedClassifierCV(CLASSIFIER, cv=2),
    "stacked": StackingRegressor([("a", REGRESSOR), ("b", Ridge())], cv=2),
    "searched": GridSearchCV(CLASSIFIER, {"num_leaves": [3, 7]}, cv=2),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines(name, dtype):
    model = clone(PIPELINES[name])
    classifies = hasattr(model, "predict_proba")
    load = {"calibrated": load_breast_cancer}.get(name, load_iris)
    X, y = load(return_X_y=True) if classifies else load_diabetes(return_X_y=True)
    X = X.astype(dtype)
    model.fit(X, y)
    options = {"zipmap": False} if classifies else None
    outputs = session(skl2onnx.to_onnx(model, X[:1], options=options)).run(
        None, {"X": X}
    )
    assert outputs[-1].dtype == dtype
    # Of double, only our part has all digits: scikit-learn's are converted by others.
    assert_same(outputs[-1], (model.predict_proba if classifies else model.predict)(X))
    if classifies:
        np.testing.assert_array_equal(outputs[0], model.predict(X))


class Small(LGBMClassifier):
    """A classifier with a parameter of its own."""

    def __init__(self, size=2, **options):
        super().__init__(**options)
        self.size = size


def test_converters_of_users_are_called(data):
    class Own(LGBMRegressor):
        pass

    def convert(scope, operator, container):
        first, last = operator.inputs[0].full_name, operator.outputs[0].full_name
        container.add_node("ReduceSum", first, last, op_version=11, axes=[1])

    X = np.nan_to_num(data[0]).astype(np.float32)
    model = make_pipeline(StandardScaler(), Own(n_estimators=1, n_jobs=1))
    model.fit(X, data[1])
    shapes = calculate_linear_regressor_output_shapes
    skl2onnx.update_registered_converter(Own, "OwnConverter", shapes, convert)
    converted = skl2onnx.to_onnx(model, X[:1], target_opset=11)
    [found] = session(converted).run(None, {"X": X})
    assert np.allclose(found[:, 0], model[0].transform(X).sum(axis=1), atol=1e-4)


def test_subclasses_are_registered():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), Small(n_estimators=2)).fit(X, y)
    for options in (None, {"zipmap": False}):
        with pytest.raises(RuntimeError, match=r"skgoss\.onnx\.register\(Small\)"):
            skl2onnx.to_onnx(model, X[:1], options=options)
    skgoss.onnx.register(Small)
    proto = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    assert_same(session(proto).run(None, {"X": X})[1], model.predict_proba(X))


def test_probabilities_as_dictionaries():
    """What skl2onnx does by default, for words as well."""
    X, y = load_iris(return_X_y=True)
    y = np.array(["x", "y", "z"])[y]
    model = make_pipeline(StandardScaler(), clone(CLASSIFIER)).fit(X, y)
    label, rows = session(skl2onnx.to_onnx(model, X[:1])).run(None, {"X": X})
    np.testing.assert_array_equal(label, model.predict(X))
    proba = np.array([[row[c] for c in "xyz"] for row in rows], dtype=np.float32)
    assert_same(proba, model.predict_proba(X))


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_raw_scores_of_a_step(load):
    X, y = load(return_X_y=True)
    model = clone(CLASSIFIER).fit(X, y)
    options = {"zipmap": False, "raw_scores": True}
    label, scores = session(skl2onnx.to_onnx(model, X[:1], options=options)).run(
        None, {"X": X}
    )
    expected = model.decision_function(X)
    if expected.ndim == 1:
        expected = np.stack([-expected, expected], axis=1)
    assert_same(scores, expected)
    np.testing.assert_array_equal(label, model.predict(X))


def test_data_frames_in_pipelines(pandas):
    rng = np.random.default_rng(12)
    words = rng.choice(["u", "v", "w"], 300).astype(object)
    data = pandas.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    data["w"] = words
    y = (data["a"] + (words == "u") > 0).to_numpy()
    inputs = {name: data[[name]].to_numpy() for name in data}
    encoded = ColumnTransformer(
        [("n", StandardScaler(), ["a", "b"]), ("w", OneHotEncoder(), ["w"])]
    )
    plain = LGBMClassifier(n_estimators=5, min_data_per_group=3, n_jobs=1)
    for model in (make_pipeline(encoded, clone(CLASSIFIER)), plain):
        proto = skl2onnx.to_onnx(
            model.fit(data, y), data[:1], options={"zipmap": False}
        )
        label, proba = session(proto).run(None, inputs)
        np.testing.assert_array_equal(label, model.predict(data))
        assert_same(proba, model.predict_proba(data))
