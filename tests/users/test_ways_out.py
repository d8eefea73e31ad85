"""Each kind of fitted model, by each way out: files, LightGBM, ONNX and explanations.

What belongs to one kind or one way alone has tests where that is tested.
"""

import pickle
from functools import cache

import numpy as np
import pytest

from helpers.families import FAMILIES, N_ROWS, X, fitted
from helpers.model_files_alike import assert_same
from skgoss import Booster
from skgoss.objectives.objectives import OBJECTIVES

FOREST = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
# Options of objectives whose models differ from others in more than their trees.
KINDS = {
    "dart": ("regression", {"boosting_type": "dart"}),
    "forest": ("regression", FOREST),
    "forest of classes": ("multiclass", FOREST),
    "goss": ("regression", {"data_sample_strategy": "goss", "learning_rate": 0.5}),
    "no missing values": ("regression", {"use_missing": False}),
    "zeros are missing": ("regression", {"zero_as_missing": True}),
    "linear": ("regression", {"linear_tree": True}),
    "monotone": ("regression", {"monotone_constraints": [1, -1, 0, 0, 0, 0]}),
    "roots": ("regression", {"reg_sqrt": True}),
    "one split": ("regression", {"max_depth": 1}),
    "steep": ("binary", {"sigmoid": 0.123456789}),
    "stopped": ("regression", {"early_stopping_round": 1, "learning_rate": 0.9}),
    **{
        f"folds of {name}": (name, {"folds": 3})
        for name in ("regression", "binary", "multiclass", "cox", "normal")
    },
    "folds of quantiles": ("several quantiles", {"folds": 3}),
}
CASES = {name: (name, {}) for name in FAMILIES if not name.startswith("a function")}
CASES |= KINDS


@cache
def model_of(case):
    family, options = CASES[case]
    small = {"n_estimators": 4, "num_leaves": 5, "min_child_samples": 5}
    return fitted(FAMILIES[family], **small | options)


@pytest.mark.parametrize("case", CASES)
def test_pickles_and_files_know_all(case, tmp_path):
    model, path = model_of(case), tmp_path / "model.txt"
    assert_same(pickle.loads(pickle.dumps(model)), model, X)
    assert_same(type(model.to_file(path)).from_file(path), model, X)
    text = model.booster_.model_to_string()
    assert_same(type(model).from_booster(Booster(model_str=text)), model, X)


@pytest.mark.parametrize("case", [case for case in CASES if case != "linear"])
def test_lightgbm_reads_the_raw_scores(case, lightgbm):
    model = model_of(case)
    peer = lightgbm.Booster(model_str=model.booster_.model_to_string())
    raw = model.booster_.predict(X, raw_score=True)
    n_added = model.n_iter_ if case.startswith("forest") else 1
    found = peer.predict(X, raw_score=True) / n_added
    np.testing.assert_allclose(found, raw, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_onnx_has_the_same_predictions(case):
    pytest.importorskip("onnxruntime")
    from helpers.onnx_sessions import assert_same, run

    booster, spec = model_of(case).booster_, OBJECTIVES.get(CASES[case][0])
    expected, raw = (booster.predict(X, raw_score=kind) for kind in (False, True))
    if spec is not None and spec.distribution is not None:
        expected = spec.distribution.parameters_of(raw.reshape(N_ROWS, -1).T)
        expected = np.transpose(expected)
    assert_same(*run(booster, X), expected)
    assert_same(*run(booster, X, raw_score=True), raw)


@pytest.mark.parametrize("case", CASES)
def test_explanations_and_stages_end_at_the_prediction(case):
    model = model_of(case)
    raw = model.booster_.predict(X, raw_score=True)
    values = model.predict(X, pred_contrib=True).reshape(*(N_ROWS, -1), X.shape[1] + 1)
    total, scale = values.sum(axis=2), np.abs(raw).max()
    np.testing.assert_allclose(total, raw.reshape(total.shape), atol=1e-10 * scale)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))
