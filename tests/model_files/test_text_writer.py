"""LightGBM's text format: files of LightGBM read, our files read by others."""

from __future__ import annotations

import copy
import io
import json
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pytest

from helpers.lightgbm_models import CATEGORY, data, lightgbm
from helpers.trees import frame, stump
from skgoss.columns.categories import Categories, Vocabulary
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model_files import text_reader, text_writer
from skgoss.parameters import make_settings, to_lightgbm

pd = pytest.importorskip("pandas")
from helpers import text_models  # noqa: E402
from helpers.text_models import OURS, assert_equal, header_of, members, one_split  # noqa: E402

fitted = text_models.fitted

# --- Files of LightGBM ----------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"boost_from_average": False},
        {"objective": "binary"},
        {"objective": "lambdarank"},
        {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
    ],
    ids=str,
)
def test_the_shrinkage_of_trees_is_that_of_lightgbm(options):
    lgb, (X, y) = lightgbm(), data()
    y = (y > np.quantile(y, 0.7)).astype(int)
    group = [len(y) // 4] * 4 if options.get("objective") == "lambdarank" else None
    params = {"num_leaves": 5, "verbosity": -1, "num_threads": 1, **options}
    peer = lgb.train(params, lgb.Dataset(X, y, group=group), 2)
    theirs = peer.model_to_string()
    ensemble, header = text_reader.read(theirs)

    def shrinkage(file):
        return [line for line in file.split("\n") if line.startswith("shrinkage=")]

    assert shrinkage(text_writer.write(ensemble, header)) == shrinkage(theirs)
    second = text_writer.write(ensemble, header, start_round=1)
    assert shrinkage(second) == shrinkage(theirs)[1:]


# --- Our files ------------------------------------------------------------------------


def words_for(model):
    """A header for an estimator."""
    return replace(
        model._model.header,
        parameters=to_lightgbm(make_settings(model.get_params(), "LGBMModel")),
        own={"classes": ["a", None, 1.5], "deep": {"er": [[]]}},
    )


ALL_OURS = (*OURS, "multiclass", "binary", "binary rf", "ranking")


def written(model, **options):
    ensemble = model._model.trees
    return text_writer.write(
        ensemble, words_for(model), categories=model._model.categories, **options
    )


def new_rows():
    X = data(1)[0]
    X[:, CATEGORY] = 7 * X[:, CATEGORY] + 3
    X[::9, CATEGORY] = [4, 1e6, -1, 2**31, 0] * 9
    return X


def without_bounds(model):
    """A model as LightGBM reads it: its linear leaves have no bounds."""
    fitted = model._model
    linear = fitted.trees.linear
    none = np.full(len(linear.constant), np.nan)
    trees = replace(fitted.trees, linear=linear._replace(lower=none, upper=none))
    model = copy.copy(model)
    vars(model).pop("_booster", None)
    model._fitted = replace(fitted, trees=trees)
    return model


@pytest.mark.parametrize("kind", ALL_OURS)
def test_lightgbm_reads_our_files(kind, fitted):
    lgb, model, X = lightgbm(), fitted[kind], new_rows()
    file = written(model)
    printed = io.StringIO()
    with redirect_stdout(printed):
        peer = lgb.Booster(model_str=file)
    assert printed.getvalue() == ""
    raw = peer.predict(X, raw_score=True)
    if kind == "linear":
        assert (raw != model.predict(X, raw_score=True)).any()
        model = without_bounds(model)
    scores = model.predict(X, raw_score=True)
    forest = model._model.trees.n_rounds if "rf" in kind else 1
    np.testing.assert_array_equal(raw / forest, scores)
    np.testing.assert_array_equal(
        np.reshape(peer.predict(X, pred_leaf=True), (len(X), -1)),
        model.predict(X, pred_leaf=True),
    )
    expected = (
        model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    )
    expected = expected[:, 1] if "binary" in kind else expected
    np.testing.assert_allclose(peer.predict(X), expected, rtol=1e-12)
    importance = peer.feature_importance("gain", iteration=-1)
    np.testing.assert_allclose(importance, model._model.trees.importances("gain"), 1e-6)
    assert peer.params["num_leaves"] == model.num_leaves
    # LightGBM keeps our line when it saves the file.
    again, header = text_reader.read(peer.model_to_string())
    assert vars(header)["own"] == words_for(model).own
    np.testing.assert_array_equal(
        again.raw_scores(frame(model_codes(model, X))),
        model._model.trees.raw_scores(frame(model_codes(model, X))),
    )


def model_codes(model, X):
    """The columns with the numbers of categories."""
    X = X.copy()
    values = model._model.categories.vocabularies[CATEGORY]
    X[:, CATEGORY] = values.look_up(X[:, CATEGORY].tolist())
    return X


@pytest.mark.parametrize("kind", ALL_OURS)
def test_our_files_give_the_same_model(kind, fitted):
    model = fitted[kind]
    ensemble, header = text_reader.read(written(model))
    assert_equal((ensemble, header), (model._model.trees, words_for(model)))


def exported(kind, fitted, tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(written(fitted[kind]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", [k for k in ALL_OURS if k != "linear"])
def test_treelite_reads_our_files(kind, fitted, tmp_path):
    treelite = pytest.importorskip("treelite")
    model, X = fitted[kind], new_rows()
    if kind == "zero missing":  # treelite sends them elsewhere in LightGBM's files, too
        X[(X == 0) | np.isnan(X)] = 0.5
    peer = treelite.frontend.load_lightgbm_model(exported(kind, fitted, tmp_path))
    scores = treelite.gtil.predict(peer, X, pred_margin=True, nthread=1)
    expected = model.predict(X, raw_score=True)
    np.testing.assert_allclose(scores.reshape(expected.shape), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["gbdt", "zero missing", "multiclass", "binary rf"])
def test_lleaves_reads_our_files(kind, fitted, tmp_path):
    lleaves = pytest.importorskip("lleaves")
    if not hasattr(pytest.importorskip("llvmlite.binding"), "PassManagerBuilder"):
        pytest.skip("lleaves compiles with llvmlite before 0.44 only")
    model, X = fitted[kind], np.ascontiguousarray(new_rows())
    peer = lleaves.Model(model_file=exported(kind, fitted, tmp_path))
    peer.compile()
    scores = peer.predict(X, n_jobs=1)
    expected = (
        model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    )
    expected = expected[:, 1] if "binary" in kind else expected
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["gbdt", "binary"])
def test_shap_reads_our_files(kind, fitted, shap):
    lgb, model, X = lightgbm(), fitted[kind], new_rows()[:20]
    explainer = shap.TreeExplainer(lgb.Booster(model_str=written(model)))
    values = explainer.shap_values(X)
    total = np.sum(values, axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict(X, raw_score=True), rtol=1e-9)


def test_sizes_of_trees_are_bytes(fitted):
    file = written(fitted["gbdt"]).encode()
    sizes = file.split(b"tree_sizes=")[1].split(b"\n")[0].split()
    at = file.index(b"Tree=0")
    for number, size in enumerate(sizes):
        assert file[at:].startswith(b"Tree=%d\n" % number)
        at += int(size)
    assert file[at:].startswith(b"end of trees\n\nfeature_importances:\n")


def test_rounds_and_importances(fitted):
    model = fitted["multiclass"]
    ensemble, _ = text_reader.read(written(model, start_round=1, stop_round=3))
    codes = frame(model_codes(model, new_rows()))
    np.testing.assert_array_equal(
        ensemble.raw_scores(codes), model._model.trees.raw_scores(codes, 1, 3)
    )
    for start, stop, n_rounds in ((0, 0, 0), (2, 99, 2), (9, None, 0), (3, 2, 0)):
        part, _ = text_reader.read(written(model, start_round=start, stop_round=stop))
        assert (part.n_rounds, part.n_scores) == (n_rounds, 3)
    with pytest.raises(ValueError, match="start_round and stop_round must be at least"):
        written(model, stop_round=-1)
    gains = written(model, importance="gain").split("feature_importances:\n")[1]
    first, value = gains.split("\n")[0].split("=")
    importances = ensemble.importances("gain"), model._model.trees.importances("gain")
    assert first == f"Column_{importances[1].argmax()}"
    assert int(value) == int(importances[1].max())


def test_models_without_trees(fitted):
    file = written(fitted["gbdt"], stop_round=0)
    assert "\ntree_sizes=\n\nend of trees\n" in file
    peer = lightgbm().Booster(model_str=file)
    assert peer.num_trees() == 0
    assert peer.predict(new_rows()).tolist() == [0.0] * 400


# --- Categories and names -------------------------------------------------------------


def sets_of(file):
    """The first line of sets in a file."""
    return file.split("cat_threshold=")[1].split("\n")[0]


def categories_of(*vocabularies):
    categories = Categories(None)
    categories.vocabularies.update(enumerate(vocabularies))
    return categories


def test_whole_numbers_are_written_by_value():
    ensemble = one_split([0, 2])
    header = header_of(ensemble, feature_infos=["-1:0:2:1"])
    known = categories_of(Vocabulary([3, 7, 100]))
    file = text_writer.write(ensemble, header, categories=known)
    assert sets_of(file) == "8 0 0 16"
    assert "\nfeature_infos=-1:3:100:7\n" in file
    assert file.endswith("\npandas_categorical:null\n")
    assert_equal(text_reader.read(file), (ensemble, header))
    peer = lightgbm().Booster(model_str=file)
    assert peer.predict([[3], [7], [100], [np.nan]]).tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("n_rows", [1, 10])
def test_values_that_are_not_categories(n_rows):
    """As in LightGBM: fractions are cut off, and what no int32 holds is in no set."""
    ensemble = one_split([0, 5, 63])
    peer = lightgbm().Booster(
        model_str=text_writer.write(ensemble, header_of(ensemble))
    )
    inside = [0.0, -0.0, -0.5, -0.999, 0.999, 5.0, 5.7, 63.0, 63.99]
    outside = [-1.0, -5.0, 4.99, 6.0, 31.0, 64.0, 96.0, 1e300, -1e300, 2.0**31, 2.0**32]
    outside += [
        2.0**32 + 5,
        -(2.0**31),
        -(2.0**32) + 5,
        2.0**63,
        np.inf,
        -np.inf,
        np.nan,
    ]
    X = np.array([inside + outside] * n_rows).reshape(-1, 1)
    scores = ensemble.raw_scores(frame(X))[:, 0]
    assert scores.tolist() == n_rows * ([1.0] * len(inside) + [2.0] * len(outside))
    np.testing.assert_array_equal(peer.predict(X), scores)


def test_sets_without_words_hold_nothing():
    tree = stump(0, 0.0, 1, 2)
    tree.decision_type[:] = 1
    empty = CategorySets(np.zeros(2, dtype=np.int64), np.empty(0, dtype=np.uint32))
    ensemble = Ensemble.from_trees([tree], 1, 1, sets=empty)
    X = np.array([[-0.5], [0.0], [0.5], [1.0], [np.nan]])
    assert ensemble.raw_scores(frame(X)).ravel().tolist() == [2.0] * 5
    again, _ = text_reader.read(text_writer.write(ensemble, header_of(ensemble)))
    assert members(again.sets) == [[]]
    assert again.raw_scores(frame(X)).ravel().tolist() == [2.0] * 5


def test_words_are_written_by_number():
    ensemble = one_split([0, 2], 3)
    header = header_of(ensemble, feature_infos=["-1:0:2:1", "none", "[0:2]"])
    known = categories_of(
        Vocabulary(["é", 'b"', "c"], needs_encoding=True),
        Vocabulary([1, 5, 9]),
        Vocabulary([True, 2.5, ("a", 1)], is_ordered=True, needs_encoding=True),
    )
    file = text_writer.write(ensemble, header, categories=known)
    assert sets_of(file) == "5"
    assert "\nfeature_infos=-1:0:2:1 none [0:2]\n" in file
    _, last = file.rsplit("pandas_categorical:", 1)
    assert json.loads(last) == [["é", 'b"', "c"], [True, 2.5, "('a', 1)"]]
    ensemble_, header_ = text_reader.read(file)
    assert members(ensemble_.sets) == [[0, 2]]
    assert header_.pandas_categorical == json.loads(last)
    table = pd.DataFrame({"x0": pd.Categorical(["c", 'b"', "é", None, "d"])})
    table["x1"], table["x2"] = 1.0, pd.Categorical([True] * 5)
    peer = lightgbm().Booster(model_str=file)
    assert peer.predict(table).tolist() == [1, 2, 1, 2, 2]


def test_large_values_are_written_by_number():
    ensemble = one_split([0, 2])
    header = header_of(ensemble)
    known = categories_of(Vocabulary([3, 7, 1_000_001]))
    with pytest.warns(
        UserWarning, match=r"Columns \[0\] hold categories above 1000000"
    ):
        file = text_writer.write(ensemble, header, categories=known)
    assert sets_of(file) == "5"
    assert_equal(text_reader.read(file), (ensemble, header))


def test_numbers_without_a_value_are_refused():
    ensemble = one_split([0, 2])
    known = categories_of(Vocabulary([3, 7]))
    with pytest.raises(ValueError, match="number 2, but its column has only 2"):
        text_writer.write(ensemble, header_of(ensemble), categories=known)
    header = header_of(ensemble, feature_infos=["-1:0:5"])
    with pytest.raises(ValueError, match="category number 5"):
        text_writer.write(one_split([0]), header, categories=known)
