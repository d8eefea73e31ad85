"""Lines of text files that hold more than trees: parameters, classes, categories."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

from helpers import mutations
from helpers.model_files_alike import SMALL, assert_identical, boosters, lightgbm_frames
from helpers.mutations import drop, put
from skgoss import Booster, LGBMClassifier, LGBMRegressor
from skgoss.model_files.text_lines import SKGOSS_LINE


def with_own(text, change):
    """A model's text, with another line of skgoss."""
    line = next(line for line in text.splitlines() if line.startswith(SKGOSS_LINE))
    own = json.loads(line[len(SKGOSS_LINE) :])
    change(own["model"])
    return text.replace(line, SKGOSS_LINE + json.dumps(own))


def test_classes_that_text_cannot_hold(tmp_path):
    X, y = mutations.data()
    model = LGBMClassifier(**SMALL).fit(X, y > 1)
    classes = np.array([object(), object()])
    model.booster_._become(replace(model._model, classes=classes))
    with pytest.raises(TypeError, match=r"The classes .* type object cannot .* pickle"):
        model.to_file(tmp_path / "m.txt")
    assert os.listdir(tmp_path) == []


def test_categories_that_text_cannot_hold(tmp_path, pandas):
    kinds = np.array([1 + 2j, 3j], dtype=object)[np.arange(100) % 2]
    X = pandas.DataFrame({"x": np.arange(100.0), "kind": pandas.Categorical(kinds)})
    model = LGBMRegressor(**SMALL).fit(X, np.arange(100) % 2)
    with pytest.raises(TypeError, match=r"column 1 cannot be written: .* complex"):
        model.to_file(tmp_path / "m.txt")


def test_parameters_that_text_cannot_hold_are_named(tmp_path):
    X, y = mutations.data()

    def loss(y, score):
        return score - y, np.ones_like(y)

    model = LGBMRegressor(
        objective=loss, metric=["l2", lambda y, p: ("m", 0.0, False)], **SMALL
    )
    model.fit(X, y, eval_set=[(X, y)])
    with pytest.warns(
        UserWarning, match="as text: objective, metric. The file"
    ) as seen:
        model.to_file(tmp_path / "m.txt")
    assert seen[0].filename == __file__
    again = LGBMRegressor.from_file(tmp_path / "m.txt")
    assert_identical(again, model, X)
    assert (again.objective, again.objective_, again.metric) == (None, None, None)
    assert again.evals_result_ == model.evals_result_
    assert again.booster_.model_to_string() == again.booster_.model_to_string()
    pickle.loads(pickle.dumps(again)).predict(X)
    with pytest.warns(UserWarning, match="random_state"):
        LGBMRegressor(random_state=np.random.RandomState(0), **SMALL).fit(X, y).to_file(
            tmp_path / "m.txt"
        )


def test_lists_of_categories_are_checked():
    peer, X, _, _ = lightgbm_frames()
    head, _, _ = peer.model_to_string().partition("\npandas_categorical:")
    for lists, message in (
        ('[["a", "a"]]', "the categories of list 0 must differ"),
        ("[[[1]], []]", "the categories of list 0 must be hashable"),
        ('{"a": 1}', "must be followed by null or a list"),
        ("[[1, 2]", "the JSON cannot be read"),
    ):
        with pytest.raises(ValueError, match=message):
            Booster(model_str=f"{head}\npandas_categorical:{lists}\n")
    plain = Booster(model_str=f"{head}\npandas_categorical:[]\n")
    with pytest.raises(ValueError, match=r"X has 4 columns .* trained on 0"):
        plain.predict(X)


WORDS = ("categories", "vocabularies", "values", 0)


@pytest.mark.parametrize(
    ("kind", "change", "value", "message"),
    [
        (0, put("version"), 2, "another version of skgoss"),
        (0, drop("version"), None, "another version of skgoss"),
        (0, drop("link"), None, "the Booster has no 'link'"),
        (0, put("link", "kind"), "none", "the link must be one of"),
        (0, put("link", "slope"), [], "'slope' of the link must not be of type list"),
        (0, put("objective"), "none", "the objective 'none' is not known"),
        (0, put("best_iteration"), -1, "best_iteration must be at least 0"),
        (0, put("best_iteration"), "1", "'best_iteration' of the Booster must not"),
        (0, put("best_score"), {"a": 1}, "best_score must hold metrics"),
        (0, put("origin"), 3, "'origin' of the Booster must not be of type int"),
        (0, put("best_score"), {"a": {"l2": [1]}}, "best_score must hold metrics"),
        (0, put("origin", "history"), {"a": {"l2": 1}}, "the history must hold metr"),
        (2, put(*WORDS, "values"), [0.5], "of column 3 must be ascending whole"),
        (2, put(*WORDS, "values"), [3, 1], "of column 3 must be ascending whole"),
        (2, put(*WORDS, "values"), ["a"], "of column 3 must be ascending whole"),
        (2, put(*WORDS, "is_ordered"), True, "of column 3 must be ascending whole"),
        (2, put(*WORDS, "values"), [5], "column 3 has 1 categories, but a tree or"),
        (0, put("origin", "task"), "classification", "for classification must have"),
        (0, put("origin", "estimator"), None, "'estimator' of the state"),
        (0, put("origin", "history"), [], "'history' of the state"),
        (0, put("origin", "parameters"), [], "'parameters' of the state"),
        (5, put("origin", "classes"), None, "for classification must have"),
        (5, put("origin", "classes", "shape"), [2, 2], "one-dimensional array of"),
        (5, put("origin", "classes", "shape"), [3], "cannot be read"),
        (5, put("origin", "classes", "dtype"), "V9", "the dtype 'V9' is not known"),
        (5, put("origin", "classes", "dtype"), "U9999999", "are too many"),
        (5, put("origin", "classes", "value"), ["a"] * 4, "cannot be read"),
        (5, put("origin", "classes", "value"), [1, 1, 2, 3], "the classes must differ"),
        (5, put("origin", "classes"), {"type": "os.system"}, "'os.system' is not kn"),
        (5, put("origin", "classes"), {"type": []}, "is not known"),
        (5, put(*WORDS, "values"), ["a", "a"], "of column 3 must differ"),
        (5, put(*WORDS, "values"), [["a"]], "of column 3 must be hashable"),
        (5, put(*WORDS, "values"), {}, "'values' of the categories of column 3"),
        (5, put("categories", "vocabularies", "keys"), [7], "there are only 5 columns"),
        (5, put("categories", "vocabularies", "keys"), [-1], "must be numbers from 0"),
        (5, put("categories", "vocabularies", "keys"), [], "cannot be read"),
        (5, put("categories", "unplaced"), 3, "'unplaced' of the state of cat"),
        (0, put("origin", "feature_names"), np.arange(3), "array of 5 names"),
    ],
)
def test_lines_that_contradict(kind, change, value, message):
    if isinstance(value, np.ndarray):
        value = {"type": "numpy.ndarray", "dtype": "<i8", "shape": [3]}
        value |= {"value": [0] * 3}
    text = boosters()[kind].model_to_string()
    text = with_own(text, lambda own: change(own, value))
    with pytest.raises(ValueError, match=message):
        Booster(model_str=text)


def test_parameters_that_tables_need():
    text = boosters()[0].model_to_string()
    text = text.replace("[learning_rate: 0.1]", "[learning_rate: nan]")
    with pytest.raises(ValueError, match="'learning_rate' parameter of Booster"):
        Booster(model_str=text)
