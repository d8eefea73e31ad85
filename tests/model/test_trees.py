"""Importances, leaves and bounds of trees, and their order."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from skgoss import Booster, LGBMClassifier, LGBMRegressor

lightgbm = pytest.importorskip("lightgbm")
from helpers import lightgbm_boosters  # noqa: E402
from helpers.lightgbm_boosters import data, from_lightgbm, linear_pair, trained  # noqa: E402

pair, many = lightgbm_boosters.pair, lightgbm_boosters.many


@pytest.mark.parametrize("kind", ["split", "gain"])
@pytest.mark.parametrize("iteration", [None, -1, 0, 1, 2, 99])
def test_importances_are_those_of_lightgbm(many, kind, iteration):
    theirs, ours = (booster.feature_importance(kind, iteration) for booster in many)
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    assert ours.dtype == theirs.dtype


def test_cover_is_the_sum_of_the_counts_of_splits(many):
    _, ours = many
    table = ours.trees_to_dataframe().dropna(subset="split_feature")
    expected = table.groupby("split_feature")["count"].sum()
    cover = ours.feature_importance("cover")
    assert cover.dtype == np.float64
    names = ours.feature_name()
    np.testing.assert_array_equal(cover, expected.reindex(names, fill_value=0))


def test_importances_up_to_the_best_round(many):
    ours = from_lightgbm(many[0])
    ours.best_iteration = 2
    np.testing.assert_array_equal(
        ours.feature_importance(), many[0].feature_importance(iteration=2)
    )


def test_unknown_importances(many):
    with pytest.raises(ValueError, match="'importance_type' parameter of Booster"):
        many[1].feature_importance("gini")
    with pytest.raises(ValueError, match="'split', 'gain', 'cover'"):
        many[1].dump_model(importance_type="gini")


def test_leaf_outputs_are_those_of_lightgbm(many):
    theirs, ours = many
    for tree, leaf in itertools.product(range(12), range(5)):
        assert ours.get_leaf_output(tree, leaf) == theirs.get_leaf_output(tree, leaf)


def test_changed_leaves_change_predictions_of_the_estimator():
    X, y = data()
    model = LGBMRegressor(n_estimators=3, num_leaves=4).fit(X, y)
    booster = model.booster_
    assert booster is model.booster_
    before, leaf = model.predict(X), booster.predict(X, pred_leaf=True)[:, 1]
    old = booster.get_leaf_output(1, 2)
    assert booster.set_leaf_output(1, 2, 7) is booster
    assert booster.get_leaf_output(1, 2) == 7.0
    np.testing.assert_allclose(model.predict(X), before + (leaf == 2) * (7 - old))
    np.testing.assert_array_equal(booster.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((4, 0), ValueError, "tree_id must be a number of the 4 trees, got 4"),
        ((-1, 0), ValueError, "tree_id must be"),
        ((0, 7), ValueError, "leaf_id must be a number of the 7 leaves of the tree"),
        ((0, -1), ValueError, "leaf_id must be"),
        ((0.0, 0), TypeError, "tree_id must be an int"),
    ],
)
def test_unknown_leaves(arguments, error, match):
    ours = from_lightgbm(trained())
    with pytest.raises(error, match=match):
        ours.get_leaf_output(*arguments)
    with pytest.raises(error, match=match):
        ours.set_leaf_output(*arguments, 1.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, "1", None])
def test_leaf_values_are_finite_numbers(value):
    ours = from_lightgbm(trained())
    with pytest.raises(ValueError, match="value must be a finite number"):
        ours.set_leaf_output(0, 0, value)


def test_bounds_are_those_of_lightgbm(pair, many):
    for theirs, ours in (pair, many, linear_pair()):
        assert ours.lower_bound() == pytest.approx(theirs.lower_bound(), rel=1e-14)
        assert ours.upper_bound() == pytest.approx(theirs.upper_bound(), rel=1e-14)


def test_raw_scores_lie_between_the_bounds():
    X, y = data()
    booster = LGBMClassifier(n_estimators=5).fit(X, y > 1).booster_
    raw = booster.predict(X, raw_score=True)
    assert booster.lower_bound() <= raw.min() < raw.max() <= booster.upper_bound()


@pytest.mark.parametrize(
    "span", [(), (1,), (2, 7), (0, 1), (5, 2), (-3, 99), (0, 0), (3, 0)]
)
def test_shuffled_rounds_have_the_order_of_lightgbm(span):
    X, y = data()
    many = {"objective": "multiclass", "num_class": 3}
    theirs = trained(9, X=X, y=np.digitize(y, [1, 3]), **many)
    ours = from_lightgbm(theirs)
    assert theirs.shuffle_models(*span) is theirs
    assert ours.shuffle_models(*span) is ours
    values = [[b.get_leaf_output(i, 0) for i in range(27)] for b in (theirs, ours)]
    assert values[0] == values[1]


@pytest.mark.parametrize("options", [{}, {"linear_tree": True}])
def test_shuffled_rounds_keep_sums(options):
    X, y = data()
    X = X[["a", "b", "d"]]
    model = LGBMRegressor(n_estimators=9, num_leaves=5, **options).fit(X, y)
    before, first = model.predict(X), model.predict(X, num_iteration=3)
    model.booster_.shuffle_models()
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-12)
    assert np.abs(model.predict(X, num_iteration=3) - first).max() > 0.1


@pytest.mark.parametrize("kind", ["split", "gain"])
@pytest.mark.parametrize("gain", [0.0, -1.0])
def test_splits_without_gain_count_in_no_importance(kind, gain):
    X, y = data()
    text = trained(3, X=X, y=y).model_to_string()
    lines = re.sub(
        "(?<=split_gain=).*", lambda m: re.sub(r"\S+", str(gain), m[0]), text
    )
    booster = Booster(model_str=lines)
    assert not booster.feature_importance(kind).any()
    theirs = lightgbm.Booster(model_str=re.sub(r"tree_sizes=.*\n", "", lines))
    np.testing.assert_array_equal(
        booster.feature_importance(kind), theirs.feature_importance(kind)
    )
