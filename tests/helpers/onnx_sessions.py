"""Models in ONNX against ours."""

from __future__ import annotations

import numpy as np
import pytest

import skgoss

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
import skgoss.onnx  # noqa: E402


def session(proto, n_threads=1):
    onnx.checker.check_model(proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(proto.SerializeToString(), options)


def run(model, X, **options):
    """The outputs of a model in ONNX for an array."""
    return session(skgoss.to_onnx(model, X, **options)).run(None, {"X": X})


def assert_same(actual, expected):
    """To 1e-12 where outputs are double, to 1e-6 where they are float32."""
    tolerance = {"float64": 1e-12, "float32": 1e-6}[actual.dtype.name]
    expected = np.asarray(expected).reshape(len(actual), -1)
    assert actual.shape == expected.shape
    scale = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
