"""Models in files: they come back whole, LightGBM's are read, damaged ones refused."""

from __future__ import annotations

import copy
import os
import pathlib
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import skgoss
from helpers import lightgbm_models as peers
from helpers import mutations
from helpers.model_files_alike import (
    SMALL,
    assert_identical,
    assert_same,
    boosters,
    lightgbm_frames,
)
from helpers.saving import WAYS, skops_io
from skgoss import Booster, LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor


def by_file(model, path):
    """The estimator that a file restores."""
    assert model.to_file(path) is model
    return type(model).from_file(path)


# --- Estimators -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", range(len(mutations.models())))
def test_models_of_all_kinds_come_back(kind, tmp_path):
    model, X = mutations.models()[kind]
    again = by_file(model, tmp_path / "m.txt")
    assert_same(again, model, X)
    assert_same(pickle.loads(pickle.dumps(again)), model, X)
    assert_same(by_file(again, tmp_path / "again.txt"), model, X)
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "m.txt").read_bytes()
    assert clone(again).get_params() == model.get_params()
    assert sorted(os.listdir(tmp_path)) == ["again.txt", "m.txt"]


def columns():
    """A data frame with columns of all kinds."""
    pandas = pytest.importorskip("pandas")
    rng, n = np.random.default_rng(0), 300
    pick = rng.integers(0, 5, n)
    days = pandas.to_datetime(["2020-01-01", "2020-01-02", "2021-05-05", "2022-01-01"])
    mixed = np.array(["a", 1, 2.5, True, b"x", (1, "y")], dtype=object)
    frame = pandas.DataFrame(
        {
            "number": rng.normal(size=n),
            "word": np.array(["red", "green", "ünï", 'q"\n=', "🦊"])[pick],
            "whole": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "mixed": mixed[rng.integers(0, 6, n)],
        }
    )
    frame["kind"] = pandas.Categorical.from_codes(pick, list("abcde"))
    frame["size"] = pandas.Categorical.from_codes(pick % 3, list("SML"), ordered=True)
    frame["code"] = pandas.Categorical.from_codes(pick, [5, 1, 3, 2, 9])
    frame["share"] = pandas.Categorical.from_codes(pick, [0.1, 1e300, -0.5, 2.0, 3.0])
    frame["day"] = pandas.Categorical.from_codes(pick % 4, days)
    frame["zone"] = pandas.Categorical.from_codes(
        pick % 4, days.tz_localize("Europe/Berlin")
    )
    frame["part"] = pandas.cut(rng.normal(size=n), 4)
    y = frame["number"] + (pick % 2) + 2 * (rng.random(n) < 0.5) + frame["whole"] % 3
    frame.loc[rng.random(n) < 0.1, ["word", "mixed", "kind", "size", "day"]] = None
    return frame, y.to_numpy()


@pytest.mark.parametrize("options", [{}, {"linear_tree": True}], ids=str)
def test_columns_of_all_kinds_come_back(options, tmp_path):
    X, y = columns()
    given = ["whole", "flag", "word", "mixed", "kind", "code", "share", "day", "zone"]
    model = LGBMRegressor(categorical_feature=given, **SMALL | options).fit(X, y)
    again = by_file(model, tmp_path / "m.txt")
    assert_same(again, model, X)
    new = X.sample(50, random_state=0)
    new["kind"] = new["kind"].cat.rename_categories({"a": "new"})
    assert_identical(again, model, new)
    refitted = clone(again).fit(X, y)
    assert_identical(refitted, model, X)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(X.rename(columns={"word": "wort"}))


def test_columns_of_polars_come_back(tmp_path, polars):
    words = np.array(["a", "b", None, "ä"], dtype=object)[np.arange(200) % 4]
    X = polars.DataFrame({"x": np.arange(200.0), "word": words})
    X = X.with_columns(polars.col("word").cast(polars.Categorical).alias("kind"))
    y = (np.arange(200) % 4 == 3).astype(float)
    model = LGBMRegressor(**SMALL).fit(X, y)
    assert_same(by_file(model, tmp_path / "m.txt"), model, X)


NAMES = ["a b", '{"a": [1, 2]}', "a=b", "line\nbreak\r\t", "🦊 ü", "", "x,y:z", "a_b"]


@pytest.mark.parametrize("way", ["frame", "argument"])
def test_odd_names_come_back(way, tmp_path, pandas):
    X = np.random.default_rng(0).normal(size=(200, len(NAMES)))
    y = X.sum(axis=1)
    model = LGBMRegressor(**SMALL)
    if way == "frame":
        X = pandas.DataFrame(X, columns=NAMES)
        model.fit(X, y)
    else:
        model.fit(X, y, feature_name=NAMES)
    again = by_file(model, tmp_path / "m.txt")
    assert again.feature_name_ == NAMES
    assert_same(again, model, X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, -7], dtype=np.int8),
        np.array([2**63, 5, 2**64 - 1], dtype=np.uint64),
        np.array([1.0, 2.0, 5.0]),
        np.array(["a", "longer", "ü\n="]),
        np.array(["a", "longer", "ü"], dtype=object),
        np.array([False, True]),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[ns]"),
        np.array(["only"]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_of_all_dtypes_come_back(labels, tmp_path):
    X, y = mutations.data()
    y = labels[np.digitize(y, [0, 1, 2][: len(labels) - 1])]
    model = LGBMClassifier(**SMALL).fit(X, y)
    again = by_file(model, tmp_path / "m.txt")
    assert_same(again, model, X)
    assert again.score(X, y) == model.score(X, y)
    n_rounds = model.n_estimators_
    again.fit(X, y, init_model=again)
    assert again.n_estimators_ == 2 * n_rounds


# --- Parameters -----------------------------------------------------------------------


def test_parameters_come_back(tmp_path, monkeypatch):
    X, y = mutations.data()
    given = {
        "class_weight": {0: 1.0, 1: np.float32(0.1)},
        "monotone_constraints": {"a": 1, 3: -1},
        "interaction_constraints": [["a", "b"], [2, 3, 4]],
        "eval_at": range(1, 4),
        "metric": ("auc", "binary_logloss"),
        "max_bin_by_feature": np.array([20, 30, 40, 50, 60]),
        "early_stopping_min_delta": [0.5],
        "random_state": np.int64(3),
        "num_leaves": 5,
        "forcedsplits_filename": pathlib.Path("splits.json"),
    }
    (tmp_path / "splits.json").write_text('{"feature": 0, "threshold": 0.5}')
    monkeypatch.chdir(tmp_path)
    model = LGBMClassifier(n_estimators=3, **given)
    model.fit(X, (y > 1) * 1, feature_name=list("abcde"))
    again = by_file(model, "m.txt")
    bins = again.get_params().pop("max_bin_by_feature")
    np.testing.assert_array_equal(bins, given.pop("max_bin_by_feature"), strict=True)
    params = again.get_params()
    assert {name: params[name] for name in given} == given
    for name, value in given.items():
        assert type(params[name]) is type(value)
    assert again.max_depth == -1
    assert_identical(
        clone(again).fit(X, (y > 1) * 1, feature_name=list("abcde")), model, X
    )


def test_classifiers_of_functions_return_raw_scores(tmp_path):
    X, y = mutations.data()

    def loss(y, score):
        return score - y, np.ones_like(y)

    model = LGBMClassifier(objective=loss, **SMALL).fit(X, y > 1)
    with pytest.warns(UserWarning, match="objective"):
        again = by_file(model, tmp_path / "m.txt")
    with pytest.warns(UserWarning, match="Returning raw scores"):
        assert_identical(again, model, X)


def test_unknown_parameters_come_back_without_a_warning(tmp_path):
    X, y = mutations.data()
    with pytest.warns(skgoss.UnusedParameterWarning):
        model = LGBMRegressor(color="red", **SMALL)
    model.fit(X, y)
    again = by_file(model, tmp_path / "m.txt")
    assert again.get_params() == model.get_params()
    assert again.get_params()["color"] == "red"


def test_the_estimator_writes_its_parameters_of_now(tmp_path):
    X, y = mutations.data()
    model = LGBMRegressor(**SMALL).fit(X, y).set_params(importance_type="gain")
    again = by_file(model, tmp_path / "m.txt")
    assert again.importance_type == "gain"
    np.testing.assert_array_equal(
        again.feature_importances_, model.feature_importances_
    )
    model.booster_.save_model(tmp_path / "m.txt")
    again = LGBMRegressor.from_file(tmp_path / "m.txt")
    assert again.importance_type == "split"


class Mine(LGBMClassifier):
    """A subclass with another default, and another parameter."""

    def __init__(self, *, threshold=0.5, num_leaves=9, **kwargs):
        super().__init__(num_leaves=num_leaves, **kwargs)
        self.threshold = threshold

    def predict_large(self, X):
        return self.predict_proba(X)[:, 1] > self.threshold


def test_subclasses_come_back(tmp_path):
    X, y = mutations.data()
    model = Mine(threshold=0.2, n_estimators=3).fit(X, y > 1)
    again = by_file(model, tmp_path / "m.txt")
    assert_same(again, model, X)
    assert (again.threshold, again.num_leaves) == (0.2, 9)
    np.testing.assert_array_equal(again.predict_large(X), model.predict_large(X))
    with pytest.raises(ValueError, match="LGBMClassifier has no parameter 'threshold'"):
        LGBMClassifier.from_file(tmp_path / "m.txt")
    assert Mine.from_booster(model.booster_).threshold == 0.2


def test_an_estimator_of_a_booster_is_its_own():
    model, X = copy.deepcopy(mutations.models()[2])
    again = LGBMRegressor.from_booster(model.booster_)
    again.best_score_["training"]["l2"] = 9.0
    again.evals_result_["training"]["l2"].clear()
    again.categorical_feature.append(0)
    assert model.best_score_["training"]["l2"] != 9.0
    assert len(model.evals_result_["training"]["l2"]) == 3
    assert (
        model.categorical_feature
        == model.booster_._model.record.parameters["categorical_feature"]
        == [3]
    )
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_models_of_other_packages():
    lgb = peers.lightgbm()
    peer = lgb.train(peers.SMALL, lgb.Dataset(*peers.data()), 2)
    with pytest.raises(TypeError, match=r"of skgoss, got lightgbm\.basic\.Booster"):
        LGBMRegressor.from_booster(peer)
    with pytest.raises(TypeError, match=r"model file, got lightgbm\.basic\.Booster"):
        LGBMRegressor(**SMALL).fit(*peers.data(), init_model=peer)
    for wrong in ("m.txt", LGBMRegressor()):
        with pytest.raises(TypeError, match=r"of skgoss, got (str|skgoss\.LGBM)"):
            LGBMRegressor.from_booster(wrong)


TASKS = {LGBMRegressor: 0, LGBMClassifier: 5, LGBMRanker: 7}


@pytest.mark.parametrize("reader", TASKS)
@pytest.mark.parametrize("writer", TASKS)
def test_classes_of_estimators_must_fit(writer, reader, tmp_path):
    model, _ = mutations.models()[TASKS[writer]]
    model.to_file(tmp_path / "m.txt")
    if reader is writer:
        reader.from_file(tmp_path / "m.txt")
        return
    made = f"{reader.__name__} cannot be created from an {writer.__name__}"
    with pytest.raises(ValueError, match=rf"{made}\. Use the class"):
        reader.from_file(tmp_path / "m.txt")


def test_models_of_the_base_class(tmp_path):
    for kind in (0, 7):
        model, X = mutations.models()[kind]
        base = LGBMModel.from_booster(model.booster_)
        np.testing.assert_array_equal(base.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="LGBMModel cannot be created from"):
        LGBMModel.from_booster(mutations.models()[5][0].booster_)
    with pytest.raises(ValueError, match="classes must be None: the model has them"):
        LGBMClassifier.from_booster(mutations.models()[5][0].booster_, classes="abcd")
    with pytest.raises(NotFittedError):
        LGBMRegressor().to_file(tmp_path / "m.txt")


# --- Boosters -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", range(len(mutations.models())))
def test_strings_and_files(kind, tmp_path):
    model, X = mutations.models()[kind]
    booster = model.booster_
    text = booster.model_to_string()
    assert booster.save_model(str(tmp_path / "m.txt")) is booster
    assert (tmp_path / "m.txt").read_text(encoding="utf-8") == text
    other = Booster(
        model_str=mutations.models()[kind - 1][0].booster_.model_to_string()
    )
    assert other.model_from_string(text) is other
    for again in (Booster(model_file=tmp_path / "m.txt"), other):
        np.testing.assert_array_equal(again.predict(X), booster.predict(X))
        assert again.model_to_string() == text
        assert again.best_iteration == booster.best_iteration
        assert again.best_score == booster.best_score


def test_parts_of_the_rounds(tmp_path):
    X, y = mutations.data()
    model = LGBMRegressor(n_estimators=12, num_leaves=5, learning_rate=0.5)
    model.fit(X, y, eval_set=[(X[:50], -y[:50])], early_stopping_rounds=20)
    booster = model.booster_
    best = booster.best_iteration
    assert best == booster.current_iteration()
    for options, n_rounds, start in (
        ({}, best, 0),
        ({"num_iteration": -1}, best, 0),
        ({"num_iteration": 0}, best, 0),
        ({"num_iteration": 99}, best, 0),
    ):
        again = Booster(model_str=booster.model_to_string(**options))
        assert again.best_iteration == best
        assert again.current_iteration() == n_rounds - start
    plain = LGBMRegressor(n_estimators=12, num_leaves=5).fit(X, y).booster_
    part = Booster(model_str=plain.model_to_string(5, 3))
    assert (part.current_iteration(), part.best_iteration) == (5, 0)
    np.testing.assert_array_equal(
        part.predict(X), plain.predict(X, num_iteration=5, start_iteration=3)
    )
    plain.best_iteration = 7
    assert Booster(model_str=plain.model_to_string()).best_iteration == 7
    assert Booster(model_str=plain.model_to_string()).num_trees() == 7
    assert Booster(model_str=plain.model_to_string(-1)).best_iteration == 7
    assert Booster(model_str=plain.model_to_string(-1)).num_trees() == 12
    assert Booster(model_str=plain.model_to_string(6)).best_iteration == 0
    assert "importances:\n" in plain.model_to_string(importance_type="gain")
    with pytest.raises(ValueError, match="'split' or 'gain'"):
        plain.model_to_string(importance_type="none")
    with pytest.raises(TypeError, match="start_iteration must be an int"):
        plain.save_model(tmp_path / "m.txt", start_iteration="1")


def test_parts_of_the_rounds_have_no_scores():
    X, y = mutations.data()
    model = LGBMRegressor(n_estimators=4, num_leaves=5).fit(X, y, eval_set=[(X, y)])
    for span in ((3, 0), (-1, 1)):
        part = Booster(model_str=model.booster_.model_to_string(*span))
        assert part.best_score == LGBMRegressor.from_booster(part).evals_result_ == {}
    for n_rounds in (None, -1, 4, 9):
        whole = Booster(model_str=model.booster_.model_to_string(n_rounds))
        assert whole.best_score == model.best_score_
        assert LGBMRegressor.from_booster(whole).evals_result_ == model.evals_result_
    assert len(model.evals_result_["training"]["l2"]) == 4


def test_other_readers_see_the_best_rounds():
    lightgbm = peers.lightgbm()
    X, y = mutations.data()
    booster = LGBMRegressor(n_estimators=9, num_leaves=5).fit(X, y).booster_
    booster.best_iteration = 4
    peer = lightgbm.Booster(model_str=booster.model_to_string())
    np.testing.assert_array_equal(peer.predict(X), booster.predict(X))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", range(len(mutations.models())))
def test_boosters_are_saved(way, kind):
    model, X = mutations.models()[kind]
    booster = model.booster_
    again = WAYS[way](booster)
    np.testing.assert_array_equal(again.predict(X), booster.predict(X))
    assert again.model_to_string() == booster.model_to_string()
    assert again.best_score == booster.best_score
    for part in again.best_score.values():
        part.clear()
    again.best_iteration = 99
    again._model.header.feature_names[0] = "other"
    assert booster.model_to_string() == model.booster_.model_to_string()
    assert booster.best_score == model.best_score_
    assert all(part for part in booster.best_score.values())
    assert booster.best_iteration != 99


@pytest.mark.parametrize("kind", range(len(mutations.models())))
def test_skops_files_of_boosters_name_the_booster_alone(kind):
    booster = mutations.models()[kind][0].booster_
    skops = skops_io()
    trusted = skops.get_untrusted_types(data=skops.dumps(booster))
    assert trusted == ["skgoss.Booster"]


def test_arguments_of_the_constructor(tmp_path):
    text = boosters()[0].model_to_string()
    (tmp_path / "m.txt").write_text(text)
    for arguments in ({}, {"model_str": text, "model_file": tmp_path / "m.txt"}):
        with pytest.raises(TypeError, match="one of train_set, model_file and"):
            Booster(**arguments)
    with pytest.warns(UserWarning, match="params has no effect"):
        booster = Booster({"num_leaves": 3}, model_str=text)
    assert Booster({}, model_file=str(tmp_path / "m.txt")).model_to_string() == text
    assert booster.model_to_string() == text
    with pytest.raises(TypeError, match="model_str must be a str, got bytes"):
        Booster(model_str=text.encode())


def test_callbacks_may_save_the_model(tmp_path):
    X, y = mutations.data()

    def save(env):
        env.model.save_model(tmp_path / f"{env.iteration}.txt")

    labels = np.array(["no", "yes"])[(y > 1) * 1]
    model = LGBMClassifier(**SMALL)
    model.fit(X, labels, eval_set=[(X, labels)], callbacks=[save])
    part = LGBMClassifier.from_file(tmp_path / "1.txt")
    first = {"binary_logloss": model.evals_result_["training"]["binary_logloss"][:1]}
    assert (part.n_estimators_, part.evals_result_) == (2, {"training": first})
    np.testing.assert_array_equal(
        part.predict_proba(X), model.predict_proba(X, num_iteration=2)
    )
    assert_identical(LGBMClassifier.from_file(tmp_path / "3.txt"), model, X)
    assert_same(part.fit(X, labels, eval_set=[(X, labels)]), model, X)


# --- Files ----------------------------------------------------------------------------


def test_files_that_are_not_models(tmp_path):
    text = boosters()[0].model_to_string()
    for content, message in (
        (b"", "line 1: a model file of LightGBM must begin"),
        (bytes(range(256)) * 9, "line 1: a model file of LightGBM must begin"),
        (pickle.dumps(boosters()[0]), "line 1: a model file of LightGBM must begin"),
        (text[: len(text) // 2].encode(), r"line \d+: "),
        (text.replace("max_feature_idx=4", "max_feature_idx=3").encode(), r"line \d+"),
    ):
        (tmp_path / "bad.txt").write_bytes(content)
        where = re.escape(str(tmp_path / "bad.txt"))
        with pytest.raises(ValueError, match=f"^{where}: {message}"):
            Booster(model_file=tmp_path / "bad.txt")
        with pytest.raises(ValueError, match=f"^{where}: {message}"):
            LGBMRegressor.from_file(tmp_path / "bad.txt")
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        Booster(model_file=tmp_path / "none.txt")
    with pytest.raises(IsADirectoryError):
        Booster(model_file=tmp_path)
    with pytest.raises(TypeError, match="int"):
        Booster(model_file=3)


# --- Files of LightGBM ----------------------------------------------------------------


def close(actual, expected):
    """Equal but for the last bits of the link."""
    np.testing.assert_allclose(actual, expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("objective", peers.OBJECTIVES)
def test_predictions_of_every_objective(objective):
    X, y = peers.data()
    peer = peers.booster(X, y, objective=objective, sigmoid=0.7)
    booster = Booster(model_str=peer.model_to_string())
    close(booster.predict(X), peer.predict(X))
    for options in ({"raw_score": True}, {"pred_leaf": True}, {"num_iteration": 2}):
        close(booster.predict(X, **options), peer.predict(X, **options))
    assert booster.feature_name() == peer.feature_name()
    again = peers.lightgbm().Booster(model_str=booster.model_to_string())
    close(again.predict(X), peer.predict(X))


@pytest.mark.parametrize("kind", peers.KINDS)
def test_predictions_of_every_kind(kind):
    X, y = peers.data()
    peer = peers.booster(X, y, **peers.KINDS[kind])
    booster = Booster(model_str=peer.model_to_string())
    close(booster.predict(X), peer.predict(X))
    for way in WAYS.values():
        np.testing.assert_array_equal(way(booster).predict(X), booster.predict(X))


def test_functions_and_unknown_objectives():
    X, y = peers.data()
    text = peers.booster(X, y).model_to_string()
    plain = Booster(model_str=text.replace("objective=regression\n", "", 1))
    with pytest.warns(UserWarning, match="objective 'new a:1' is not known"):
        new = Booster(
            model_str=text.replace("objective=regression", "objective=new a:1", 1)
        )
    for booster in (plain, new):
        np.testing.assert_array_equal(
            booster.predict(X), booster.predict(X, raw_score=True)
        )
        assert LGBMRegressor.from_booster(booster).objective_ is None
        labels = LGBMClassifier.from_booster(booster, classes=["a", "b"])
        with pytest.warns(UserWarning, match="Returning raw scores"):
            labels.predict_proba(X)
    assert "objective=new a:1\n" in new.model_to_string()
    assert "objective" not in plain.model_to_string().split("Tree=0")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("binary sigmoid:0", "sigmoid must be above 0"),
        ("binary sigmoid:-1", "sigmoid must be above 0"),
        ("binary sigmoid:nan", "sigmoid must be above 0"),
        ("binary sigmoid:x", "must consist of a name and numbers"),
        ("multiclass num_class:3", "but there are 1 trees a round"),
    ],
)
def test_objectives_that_contradict(words, message):
    text = peers.booster(*peers.data()).model_to_string()
    text = text.replace("objective=regression", f"objective={words}", 1)
    with pytest.raises(ValueError, match=message):
        Booster(model_str=text)


def test_columns_of_data_frames():
    peer, X, new, _ = lightgbm_frames()
    booster = Booster(model_str=peer.model_to_string())
    model = LGBMRegressor.from_booster(booster)
    for frame in (X, new):
        expected = peer.predict(frame)
        np.testing.assert_array_equal(booster.predict(frame), expected)
        np.testing.assert_array_equal(model.predict(frame), expected)
        for way in WAYS.values():
            np.testing.assert_array_equal(way(model).predict(frame), expected)
    codes = X.assign(**{c: X[c].cat.codes for c in ("word", "size", "code", "share")})
    codes = codes.where(codes != -1).to_numpy()
    np.testing.assert_array_equal(booster.predict(codes), peer.predict(X))
    with pytest.raises(ValueError, match=r"X has 3 columns of strings .* trained on 4"):
        booster.predict(X.assign(code=1))
    with pytest.raises(ValueError, match="X has 0 columns of strings"):
        booster.predict(X.assign(word=1, size=2, code=3, share=4))
    again = peers.lightgbm().Booster(model_str=booster.model_to_string())
    np.testing.assert_array_equal(again.predict(new), peer.predict(new))
    again = Booster(model_str=booster.model_to_string())
    np.testing.assert_array_equal(again.predict(new), peer.predict(new))


def test_other_containers_of_the_same_words(polars):
    peer, X, _, _ = lightgbm_frames()
    booster = Booster(model_str=peer.model_to_string())
    words = {c: X[c].astype(object).where(X[c].notna(), None) for c in ("word", "size")}
    lgb, pandas = peers.lightgbm(), pytest.importorskip("pandas")
    X = X[["x 1", "word", "size"]]
    peer = lgb.train(peers.SMALL, lgb.Dataset(X, X["x 1"] ** 2), 5)
    booster = Booster(model_str=peer.model_to_string())
    frame = polars.DataFrame(
        {"x": X["x 1"].to_numpy()} | {c: words[c].tolist() for c in words}
    )
    np.testing.assert_array_equal(booster.predict(frame), peer.predict(X))
    strings = pandas.DataFrame({"x": X["x 1"]} | words)
    np.testing.assert_array_equal(booster.predict(strings), peer.predict(X))


# --- Estimators of LightGBM's files ---------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "kind"),
    [
        ("regression", LGBMRegressor),
        ("poisson", LGBMRegressor),
        ("cross_entropy", LGBMRegressor),
        ("lambdarank", LGBMRanker),
        ("rank_xendcg", LGBMRanker),
        ("huber", LGBMModel),
    ],
)
def test_estimators_of_foreign_files(objective, kind, tmp_path):
    X, y = peers.data()
    peer = peers.booster(X, y, objective=objective)
    peer.save_model(tmp_path / "m.txt")
    model = kind.from_file(tmp_path / "m.txt")
    close(model.predict(X), peer.predict(X))
    assert model.objective_ == objective
    assert clone(model).objective in (objective, None)
    assert (model.n_features_in_, model.evals_result_) == (5, {})
    assert not hasattr(model, "feature_names_in_")
    for other in {LGBMClassifier, LGBMRegressor, LGBMRanker} - {kind}:
        if kind is LGBMModel or (other, objective) == (LGBMClassifier, "cross_entropy"):
            continue
        words = f"objective='{objective}'\\. Use the class"
        with pytest.raises(ValueError, match=words):
            other.from_file(tmp_path / "m.txt")
    with pytest.raises(ValueError, match="has no classes"):
        kind.from_file(tmp_path / "m.txt", classes=[0, 1])


@pytest.mark.parametrize("objective", ["binary", "multiclass", "multiclassova"])
def test_classifiers_of_foreign_files(objective, tmp_path):
    X, y = peers.data()
    peer = peers.booster(X, y, objective=objective, sigmoid=0.7)
    peer.save_model(tmp_path / "m.txt")
    n_classes = 2 if objective == "binary" else 3
    expected = peer.predict(X)
    if objective == "binary":
        expected = np.column_stack([1 - expected, expected])
    for labels in (None, ["c", "a", "b"][:n_classes], np.arange(n_classes) / 2):
        model = LGBMClassifier.from_file(tmp_path / "m.txt", classes=labels)
        given = np.arange(n_classes) if labels is None else np.asarray(labels)
        np.testing.assert_array_equal(model.classes_, given, strict=True)
        np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-14)
        np.testing.assert_array_equal(
            model.predict(X), given[model.predict_proba(X).argmax(axis=1)]
        )
        assert_same(by_file(model, tmp_path / "again.txt"), model, X)
    for labels, message in (
        (["a"], "labels, got an array of shape"),
        (list("abcd"), "labels, got an array of shape"),
        ([1] * n_classes, "classes must differ"),
    ):
        with pytest.raises(ValueError, match=message):
            LGBMClassifier.from_file(tmp_path / "m.txt", classes=labels)
    for other in (LGBMModel, LGBMRegressor, LGBMRanker):
        with pytest.raises(
            ValueError, match="cannot be created from a model with objective"
        ):
            other.from_file(tmp_path / "m.txt")


def test_old_files_make_estimators():
    path = peers.FILES / "lightgbm-2.0.12.txt"
    booster = Booster(model_file=path)
    kind = LGBMRegressor if booster.num_model_per_iteration() == 1 else LGBMClassifier
    X = np.zeros((3, booster.num_feature()))
    model = kind.from_file(path)
    assert len(model.predict(X)) == 3


# --- Training that continues ----------------------------------------------------------


def test_earlier_models_of_all_kinds(tmp_path):
    X, y = mutations.data()
    options = SMALL | {"categorical_feature": [3]}
    first = LGBMRegressor(**options).fit(X, y, feature_name=list("abcde"))
    first.to_file(tmp_path / "m.txt")
    expected = LGBMRegressor(**options).fit(X, y, init_model=first)
    for earlier in (
        first.booster_,
        str(tmp_path / "m.txt"),
        tmp_path / "m.txt",
        Booster(model_file=tmp_path / "m.txt"),
        LGBMRegressor.from_file(tmp_path / "m.txt"),
    ):
        model = LGBMRegressor(**options).fit(X, y, init_model=earlier)
        assert model.feature_name_ == list("abcde")
        assert_same(model, expected, X)


def test_earlier_classes(tmp_path):
    X, y = mutations.data()
    labels = np.array(["no", "yes"])[(y > 1) * 1]
    first = LGBMClassifier(**SMALL).fit(X, labels)
    first.to_file(tmp_path / "m.txt")
    expected = LGBMClassifier(**SMALL).fit(X, labels, init_model=first)
    model = LGBMClassifier(**SMALL).fit(X, labels, init_model=tmp_path / "m.txt")
    assert_same(model, expected, X)
    only = labels == "yes"
    model.fit(X[only], labels[only], init_model=tmp_path / "m.txt")
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="y holds labels that init_model does not"):
        model.fit(X, y > 1, init_model=tmp_path / "m.txt")
    with pytest.raises(TypeError, match="a classification model for LGBMClassifier"):
        model.fit(X, labels, init_model=boosters()[0])
    with pytest.raises(TypeError, match="or the path of a model file, got int"):
        model.fit(X, labels, init_model=3)
    with pytest.raises(FileNotFoundError):
        model.fit(X, labels, init_model=tmp_path / "none.txt")
    assert model.classes_.tolist() == ["no", "yes"]


# --- The line of skgoss is not trusted ------------------------------------------------


def test_rounds_that_others_leave_out():
    lightgbm = peers.lightgbm()
    X, y = mutations.data()
    model = LGBMClassifier(**SMALL).fit(X, y > 1, eval_set=[(X, y > 1)])
    model.fit(X, y > 1, eval_set=[(X, y > 1)], early_stopping_rounds=9)
    assert model.best_iteration_ == 4
    peer = lightgbm.Booster(model_str=model.booster_.model_to_string())
    text = peer.model_to_string(num_iteration=1)
    again = LGBMClassifier.from_booster(Booster(model_str=text))
    assert (again.n_estimators_, again.best_iteration_) == (1, 1)
    np.testing.assert_array_equal(
        again.predict_proba(X), model.predict_proba(X, num_iteration=1)
    )


SCRIPTS = {
    "test_mutations_are_refused_or_serve": lambda: mutations.script("booster", 0, 60)
}


def test_mutations_are_refused_or_serve(done):
    """Of files that were changed at random: none ends the process."""
    assert 10 < mutations.n_refused(done) < 50


def test_names_of_foreign_models_are_checked_when_asked(tmp_path):
    lightgbm, pd = pytest.importorskip("lightgbm"), pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    y = X["a"] > 0
    path = tmp_path / "m.txt"
    lightgbm.LGBMClassifier(n_estimators=3, verbosity=-1).fit(X, y).booster_.save_model(
        path
    )
    model = LGBMClassifier.from_file(path)
    turned = X[["c", "b", "a"]]
    assert len(model.predict(turned)) == 100
    model.predict(X, validate_features=True)
    for predict in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match="Column 0 of data has the name 'c'"):
            predict(turned, validate_features=True)


@pytest.mark.parametrize("reg_sqrt", [False, True])
def test_roots_of_targets_are_known_without_a_record(reg_sqrt):
    X, y = mutations.data()
    model = LGBMRegressor(n_estimators=2, reg_sqrt=reg_sqrt).fit(X, y)
    lines = model.booster_.model_to_string().splitlines(keepends=True)
    # Only the trees and the header, as in a file of LightGBM.
    text = "".join(
        line for line in lines if not line.startswith(("skgoss=", "[skgoss"))
    )
    again = LGBMRegressor.from_booster(Booster(model_str=text))
    assert again.reg_sqrt == reg_sqrt
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
