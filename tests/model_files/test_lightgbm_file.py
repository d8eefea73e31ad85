"""Text files of LightGBM's objectives, options and versions."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

import skgoss
from helpers.lightgbm_models import (
    FILES,
    KINDS,
    OBJECTIVES,
    SMALL,
    booster,
    data,
    lightgbm,
)
from helpers.trees import frame
from skgoss.model_files import lightgbm_file, text_reader, text_writer
from skgoss.parameters import make_settings, to_lightgbm
from skgoss.parameters.table import OPTIONS

pd = pytest.importorskip("pandas")
from helpers import text_models  # noqa: E402
from helpers.text_models import assert_equal, header_of  # noqa: E402

fitted = text_models.fitted


def odd_rows():
    """Rows of a test set, and all pairs of odd values in all columns."""
    odd = [np.nan, 0.0, -0.0, -0.5, -1.0, 5.7, 31.0, 32.0, 63.99, 1e5, 1e300, -1e300]
    odd += [np.inf, -np.inf, 2.0**31, 2.0**31 - 1, 2.0**32 + 5, -(2.0**31), 1e-36]
    rows = np.array([np.resize(np.roll(odd, -k), 5) for k in range(len(odd))])
    return np.concatenate([data(1)[0], rows])


def assert_same(ensemble, peer, X):
    """The scores and leaves are identical to LightGBM's."""
    scores = ensemble.raw_scores(frame(X))
    expected = np.reshape(peer.predict(X, raw_score=True), scores.shape)
    # LightGBM's raw scores of forests are sums.
    n_rounds = ensemble.n_rounds if ensemble.average else 1
    np.testing.assert_array_equal(scores, expected / n_rounds)
    leaves = np.reshape(peer.predict(X, pred_leaf=True), (len(X), -1))
    np.testing.assert_array_equal(ensemble.leaves(frame(X)), leaves)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_lightgbm_files_of_every_objective(objective):
    X, y = data()
    peer = booster(X, y, objective=objective)
    ensemble, header = text_reader.read(peer.model_to_string())
    assert_same(ensemble, peer, odd_rows())
    name, constants = lightgbm_file.split_objective(header.objective)
    assert name == objective
    assert constants.get("num_class", 1) == ensemble.n_scores
    assert header.parameters["objective"] == objective
    assert header.own == {}


@pytest.mark.filterwarnings("ignore:categorical_feature keyword:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_lightgbm_files_of_every_kind(kind):
    X, y = data()
    peer = booster(X, y, **KINDS[kind])
    file = peer.model_to_string()
    ensemble, header = text_reader.read(file)
    X = odd_rows()
    if "linear" in kind:  # infinities are missing values in our linear leaves
        X[np.isinf(X)] = 0
    assert_same(ensemble, peer, X)
    assert ensemble.average == ("rf" in kind)
    assert (ensemble.linear is not None) == ("linear" in kind)
    assert header.monotone_constraints == (
        [1, -1, 0, 0, 0] if kind == "monotone" else []
    )
    assert header.feature_names == peer.feature_name()
    assert ensemble.importances("split").tolist() == peer.feature_importance().tolist()
    # Windows' line ends, blank lines around, and what we write of it.
    for other in (
        file.replace("\n", "\r\n").encode(),
        f"\n\n{file}\n\n",
        text_writer.write(ensemble, header),
    ):
        assert_equal(text_reader.read(other), (ensemble, header))


def test_pandas_categories_of_lightgbm():
    lgb = lightgbm()
    X, y = data()
    towns = pd.Categorical.from_codes(
        np.nan_to_num(X[:, 3]).astype(int), list(range(40))
    )
    words = pd.Categorical(np.where(X[:, 0] > 0, "é", 'a "b"'))
    table = pd.DataFrame({"x": X[:, 1], "towns": towns, "größe": X[:, 2], "w": words})
    peer = lgb.train(SMALL, lgb.Dataset(table, y), 4)
    ensemble, header = text_reader.read(peer.model_to_string())
    assert header.pandas_categorical == [list(range(40)), ['a "b"', "é"]]
    assert header.feature_names == ["x", "towns", "größe", "w"]
    codes = np.column_stack([X[:, 1], towns.codes, X[:, 2], words.codes])
    scores = ensemble.raw_scores(frame(np.asfortranarray(codes)))
    np.testing.assert_array_equal(scores[:, 0], peer.predict(table))


@pytest.mark.parametrize(
    ("name", "n_scores", "objective", "average"),
    [
        ("lightgbm-2.0.12.txt", 3, "multiclass num_class:3", False),
        ("lightgbm-2.1.2.txt", 1, "regression", False),
        ("lightgbm-2.2.3.txt", 1, "binary sigmoid:1", True),
    ],
)
def test_files_that_old_versions_wrote(name, n_scores, objective, average):
    file = (FILES / name).read_bytes()
    ensemble, header = text_reader.read(file)
    assert (ensemble.n_scores, ensemble.average) == (n_scores, average)
    assert header.objective == objective
    # LightGBM warns of parameters that it does not have any more.
    with redirect_stdout(io.StringIO()):
        peer = lightgbm().Booster(model_str=file.decode())
    assert_same(ensemble, peer, np.ascontiguousarray(odd_rows()[:, :4]))


def test_lines_that_old_versions_lack():
    X, y = data()
    peer = booster(X, y)
    new = ("num_tree_per_iteration", "tree_sizes", "leaf_weight", "internal_weight")
    new += ("leaf_count", "is_linear", "shrinkage", "objective=", "end of trees")
    lines = peer.model_to_string().replace("version=v4", "version=v2").split("\n")
    file = "\n".join(line for line in lines if not line.startswith(new))
    ensemble, header = text_reader.read(file)
    assert_same(ensemble, peer, odd_rows())
    assert header.objective == ""
    assert not ensemble.arrays["leaf_count"].any()
    assert not ensemble.arrays["internal_weight"].any()


@pytest.mark.parametrize(
    ("words", "name", "constants"),
    [
        ("", "", {}),
        ("regression", "regression", {}),
        ("regression sqrt", "regression", {"sqrt": 1.0}),
        ("binary sigmoid:1.5", "binary", {"sigmoid": 1.5}),
        (
            "multiclassova num_class:3 sigmoid:1",
            "multiclassova",
            {"num_class": 3.0, "sigmoid": 1.0},
        ),
    ],
)
def test_words_of_objectives(words, name, constants):
    assert lightgbm_file.split_objective(words) == (name, constants)


def test_constants_of_objectives_are_numbers():
    with pytest.raises(ValueError, match="got 'sigmoid:x'"):
        lightgbm_file.split_objective("binary sigmoid:x")


def test_lightgbm_takes_our_parameters(fitted):
    odd = skgoss.LGBMRegressor(
        categorical_feature=[1, 3],
        monotone_constraints=[1, 0, -1, 0, 0],
        max_bin_by_feature=[10, 20, 30, 40, 50],
        feature_contri=[1, 0.5, 1, 1, 1],
        interaction_constraints=[[0, 1], [2, 3, 4]],
        forcedsplits_filename={"feature": 0, "threshold": 0.5},
        early_stopping_min_delta=[0.1, 0.2],
        metric=["l2", "mae"],
        label_gain=[0, 1, 3.5],
        objective="binary",
    )
    words = to_lightgbm(make_settings(odd.get_params(), "LGBMRegressor"))
    assert words["bagging_fraction"] == "1"
    assert words["num_iterations"] == "100"
    assert words["learning_rate"] == "0.1"
    assert words["use_missing"] == "1"
    assert words["interaction_constraints"] == "[0,1],[2,3,4]"
    assert words["early_stopping_min_delta"] == words["forcedsplits_filename"] == ""
    ensemble = fitted["gbdt"]._model.trees
    n = ensemble.n_features
    header = header_of(ensemble, feature_infos=["none"] * n, parameters=words)
    file = text_writer.write(ensemble, header)
    assert text_reader.read(file)[1].parameters == words
    params = lightgbm().Booster(model_str=file).params
    assert params["monotone_constraints"] == [1, 0, -1, 0, 0]
    assert params["interaction_constraints"] == [[0, 1], [2, 3, 4]]
    assert params["metric"] == ["l2", "mae"]
    assert params["bagging_freq"] == 0


def test_options_that_only_we_have():
    X, y = data()
    theirs = text_reader.read(booster(X, y).model_to_string())[1].parameters
    assert [o.name for o in OPTIONS if o.is_added != (o.lightgbm not in theirs)] == []
