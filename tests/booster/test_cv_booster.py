"""The models of a cross-validation, and their files."""

import json
import pickle

import numpy as np
import pytest

import skgoss
from skgoss import CVBooster, Dataset

BINARY = {"objective": "binary", "num_leaves": 7, "verbosity": -1}


def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    return X, (X[:, 0] * X[:, 1] + random.normal(size=300) > 0).astype(float)


@pytest.fixture(scope="module")
def models():
    return skgoss.cv(BINARY, Dataset(*rows()), 4, return_cvbooster=True)["cvbooster"]


def test_methods_are_those_of_all_boosters(models):
    X, _ = rows()
    assert np.shape(models.predict(X)) == (5, 300)
    assert np.shape(models.feature_importance("gain")) == (5, 4)
    assert models.num_trees() == [4] * 5
    assert [list(score) for score in models.best_score] == [["valid"]] * 5
    with pytest.raises(AttributeError, match="no attribute 'fly'"):
        models.fly()


def test_files_and_pickles(models, tmp_path):
    X, _ = rows()
    path = tmp_path / "models.json"
    models.save_model(path)
    copies = [
        CVBooster(path),
        CVBooster().model_from_string(models.model_to_string()),
        pickle.loads(pickle.dumps(models)),
    ]
    for copied in copies:
        assert copied.best_iteration == models.best_iteration == -1
        np.testing.assert_array_equal(copied.predict(X), models.predict(X))
    assert models.num_trees() == [4] * 5


def test_files_of_lightgbm(models, tmp_path, lightgbm):
    X, y = rows()
    theirs = lightgbm.cv(
        {**BINARY, "n_jobs": 1}, lightgbm.Dataset(X, y), 3, return_cvbooster=True
    )["cvbooster"]
    path = tmp_path / "models.json"
    theirs.save_model(path)
    np.testing.assert_allclose(CVBooster(path).predict(X), theirs.predict(X), 1e-12)
    models.save_model(path)
    read = lightgbm.CVBooster(model_file=path)
    np.testing.assert_allclose(read.predict(X), models.predict(X), 1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"boosters": 1, "best_iteration": 1}',
        '{"boosters": []}',
        "[" * 9999,
    ],
)
def test_texts_that_are_not_models(text):
    with pytest.raises(ValueError, match="The text is not a CVBooster"):
        CVBooster().model_from_string(text)


def test_texts_of_damaged_models(models):
    held = json.loads(models.model_to_string())
    held["boosters"][1] = held["boosters"][1][:500]
    with pytest.raises(ValueError):
        CVBooster().model_from_string(json.dumps(held))
