"""Constraints on trees, looked up in the trees that were fitted."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skgoss import LGBMClassifier, LGBMRegressor, UnusedParameterWarning
from skgoss.objectives.percentiles import percentile
from skgoss.training import constraints

SIGNS = [1, -1, 1, 0, 0, 1]
METHODS = ["basic", "intermediate", "advanced"]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def table(n=1500, seed=0, missing=0.0):
    """Six columns whose effects break all SIGNS in places, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    X[:, 2] = rng.integers(-3, 4, n)
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 0] - X[:, 1] ** 2 * np.sign(X[:, 1])
    y += X[:, 2] * 0.3 * np.cos(X[:, 3]) + X[:, 0] * X[:, 1] + X[:, 4]
    y += 0.5 * rng.standard_normal(n)
    X[rng.random(X.shape) < missing] = np.nan
    X[rng.random(n) < 0.7, 5] = 0.0
    return X, y


def steps(predict, X, signs, n=300, seed=1):
    """How much predictions change in the right direction along each signed column.

    Other values of the rows come from anywhere in their columns.
    """
    rng = np.random.default_rng(seed)
    found = []
    for j in np.flatnonzero(signs):
        low = np.array([rng.permutation(column)[:n] for column in X.T]).T
        high = low.copy()
        values = np.sort(2 * rng.standard_normal((2, n)), axis=0)
        low[:, j], high[:, j] = values
        found.append(signs[j] * (predict(high) - predict(low)))
    return np.concatenate(found)


def trees(model):
    return model._model.trees.trees


def paths(tree):
    """The columns above each leaf."""
    above = {0: ()}
    for i, feature in enumerate(tree.split_feature):
        for child in (tree.left_child[i], tree.right_child[i]):
            above[int(child)] = (*above[i], int(feature))
    return [path for node, path in above.items() if node < 0]


def assert_identical(first, second):
    for a, b in zip(trees(first), trees(second), strict=True):
        for name in ("split_feature", "threshold", "leaf_value", "split_gain"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# --- Monotone columns -----------------------------------------------------------------

SETTINGS = [
    {},
    {"num_leaves": 63, "min_child_samples": 2, "max_bin": 20},
    {"reg_alpha": 0.5, "reg_lambda": 2.0, "max_delta_step": 0.3},
    {"path_smooth": 5.0, "min_split_gain": 0.1},
    {"data_sample_strategy": "goss", "learning_rate": 0.5},
    {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.7},
    {"extra_trees": True, "feature_fraction_bynode": 0.6},
    {"boosting_type": "dart"},
    {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    {"objective": "quantile", "alpha": 0.7, "num_leaves": 12},
    {"objective": "l1", "num_leaves": 12},
    {"objective": "huber"},
    {"monotone_penalty": 1.5, "max_depth": 5},
    {"interaction_constraints": [[0, 1, 2], [1, 3, 4], [5]]},
]


@pytest.mark.parametrize("method", METHODS)
def test_all_constraints_together(method):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(300, 3))
    model = LGBMRegressor(
        monotone_constraints=[1, -1, 0],
        monotone_constraints_method=method,
        interaction_constraints=[[0, 1], [2]],
        feature_contri=[1, 1, 0.5],
        forcedsplits_filename={"feature": 2, "threshold": 0.0},
        n_estimators=5,
        num_leaves=7,
    ).fit(X, X.sum(axis=1))
    assert steps(model.predict, X, [1, -1, 0]).min() >= 0
    assert all(tree.split_feature[0] == 2 for tree in trees(model))


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", SETTINGS, ids=lambda o: "-".join(o) or "plain")
def test_predictions_are_monotone(options, method, missing):
    X, y = table(missing=missing)
    model = LGBMRegressor(
        n_estimators=15,
        monotone_constraints=SIGNS,
        monotone_constraints_method=method,
        n_jobs=1,
        **options,
    ).fit(X, y)
    change = steps(model.predict, X, SIGNS)
    assert change.min() >= 0
    assert change.max() > 0
    holes, _ = table(missing=0.3)
    assert steps(model.predict, holes, SIGNS).min() >= 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("objective", ["cox", "aft_normal", "aft_extreme"])
def test_risks_are_monotone(objective, method):
    draw = np.random.default_rng(3)
    X = draw.normal(size=(200, 2))
    time = draw.exponential(np.exp(X[:, 0] ** 2 + X[:, 1]))
    y = np.column_stack([draw.random(200) < 0.7, time])
    for sign in 1, -1:
        options = {"monotone_constraints": [sign, 0], "num_leaves": 6}
        model = LGBMRegressor(
            objective=objective,
            n_estimators=8,
            monotone_constraints_method=method,
            **options,
        ).fit(X, y)
        changes = steps(model.predict, X, [sign, 0], n=200)
        assert changes.min() >= 0
        assert changes.max() > 0


def test_the_data_are_not_monotone_by_themselves():
    X, y = table()
    assert steps(LGBMRegressor(n_estimators=15).fit(X, y).predict, X, SIGNS).min() < -1


@pytest.mark.parametrize("method", METHODS)
def test_wide_sums_and_weights(method):
    X, y = table()
    weight = 10.0 ** np.random.default_rng(0).uniform(-4, 4, len(y))
    model = LGBMRegressor(
        n_estimators=10,
        monotone_constraints=SIGNS,
        monotone_constraints_method=method,
        min_child_weight=0,
    ).fit(X, np.sinh(3 * y), weight)
    assert steps(model.predict, X, SIGNS).min() >= 0


@pytest.mark.parametrize("method", METHODS)
def test_raw_scores_of_classes_are_monotone(method):
    X, y = table()
    labels = np.digitize(y, [-1.0, 1.0])
    options = {
        "monotone_constraints": {0: 1, 1: -1},
        "monotone_constraints_method": method,
    }
    for objective in ("multiclass", "multiclassova"):
        model = LGBMClassifier(n_estimators=8, objective=objective, **options)
        model.fit(X, labels)
        for k in range(3):
            change = steps(
                lambda Z, k=k, model=model: model.decision_function(Z)[:, k],
                X,
                [1, -1, 0, 0, 0, 0],
            )
            assert change.min() >= 0
    model = LGBMClassifier(n_estimators=8, **options).fit(X, labels > 0)
    assert steps(lambda Z: model.predict_proba(Z)[:, 1], X, [1, -1]).min() >= 0


# Some random signs are wrong.
@pytest.mark.filterwarnings("ignore:monotone_constraints. the prediction never")
@pytest.mark.parametrize("method", METHODS)
def test_sparse_columns(method):
    """Lists, bundles and entries; leaves without a histogram of their own."""
    rng = np.random.default_rng(0)
    X = sparse.random(600, 80, 0.03, "csr", random_state=0)
    words = np.eye(40)[rng.integers(0, 40, 600)]
    X = sparse.hstack([X, words, table(600)[0]]).tocsr()
    y = X @ rng.standard_normal(126) + table(600)[1]
    signs = rng.integers(-1, 2, 126)
    model = LGBMRegressor(
        n_estimators=10,
        monotone_constraints=signs,
        monotone_constraints_method=method,
        min_child_samples=3,
    ).fit(X, y)
    dense = X.toarray()
    assert steps(model.predict, dense, signs, n=60).min() >= 0
    assert_identical(model, clone(model).fit(dense, y))


def test_beside_categories():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["g"] = pd.Categorical(np.random.default_rng(0).integers(0, 30, len(y)))
    y = y + frame["g"].astype(int).to_numpy() % 7

    def predict(Z, model):
        Z = pd.DataFrame(Z, columns=list("abcdef"))
        return model.predict(Z.assign(g=frame["g"][: len(Z)].to_numpy()))

    for method in METHODS:
        model = LGBMRegressor(
            n_estimators=15,
            monotone_constraints={"a": 1, "b": -1},
            monotone_constraints_method=method,
            min_data_per_group=10,
        ).fit(frame, y)
        assert steps(lambda Z, m=model: predict(Z, m), X, [1, -1]).min() >= 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "options", [{}, {"monotone_penalty": 2.0}, {"path_smooth": 3.0}]
)
def test_as_accurate_as_lightgbm(method, options, lightgbm):
    options = {
        "n_estimators": 40,
        "monotone_constraints": SIGNS,
        "monotone_constraints_method": method,
        "verbose": -1,
        "n_jobs": 1,
        **options,
    }
    error = np.zeros(2)
    for seed in range(3):
        X, y = table(2000, seed)
        X_test, y_test = table(2000, 50 + seed)
        for i, cls in enumerate((LGBMRegressor, lightgbm.LGBMRegressor)):
            predicted = cls(**options).fit(X, y).predict(X_test)
            error[i] += np.mean((predicted - y_test) ** 2)
    assert error[0] < 1.03 * error[1]


def test_the_first_splits_are_lightgbm_s(lightgbm):
    """Basic bounds leave no choice at the first two levels."""
    X, y = table()
    options = {"n_estimators": 1, "num_leaves": 3, "monotone_constraints": SIGNS}
    ours = trees(LGBMRegressor(**options).fit(X, y))[0]
    theirs = lightgbm.LGBMRegressor(**options, verbose=-1).fit(X, y)
    theirs = theirs.booster_.trees_to_dataframe()
    names = theirs["split_feature"].dropna()
    assert [f"Column_{j}" for j in ours.split_feature] == names.tolist()
    np.testing.assert_allclose(
        np.sort(ours.leaf_value),
        np.sort(theirs.loc[theirs["split_feature"].isna(), "value"]),
        rtol=1e-5,
    )


def test_free_columns_cost_no_bit():
    X, y = table()
    plain = LGBMRegressor(n_estimators=5).fit(X, y)
    free = LGBMRegressor(
        n_estimators=5,
        monotone_constraints=[0] * 6,
        feature_contri=[1.0] * 6,
        monotone_penalty=2.0,
        monotone_constraints_method="advanced",
    ).fit(X, y)
    assert_identical(plain, free)
    bounded = clone(free).set_params(monotone_constraints=None, feature_contri="")
    unused = "monotone_constraints_method needs monotone_constraints; monotone_penalty"
    with pytest.warns(UnusedParameterWarning, match=unused):
        assert_identical(plain, bounded.fit(X, y))


@pytest.mark.parametrize(
    ("limits", "penalty", "name"),
    [
        ({"max_depth": 3}, 3, "max_depth=3"),
        ({"max_depth": 3}, 2.9, None),
        ({"num_leaves": 4}, 3, "num_leaves=4"),
        ({"num_leaves": 4}, 2.5, None),
        ({"max_depth": 3, "num_leaves": 3}, 2, "num_leaves=3"),
    ],
    ids=str,
)
def test_a_penalty_of_every_depth_gives_a_warning(limits, penalty, name):
    X, y = np.random.default_rng(0).normal(size=(500, 3)), np.arange(500) % 2
    options = {"monotone_constraints": [1, 0, 0], "monotone_penalty": penalty}
    model = LGBMRegressor(n_estimators=5, **options, **limits)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, 3 * X[:, 0] + X[:, 1] + y)
    said = [str(warning.message) for warning in caught]
    assert len(said) == (name is not None)
    assert all(f"and {name}, columns with a constraint" in text for text in said)
    assert (model.feature_importances_[0] == 0) == (name is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(monotone_constraints=[0, 0, 0], monotone_penalty=0.0)
        model.fit(X, y)


def test_a_penalty_keeps_columns_from_the_top():
    X, y = table(4000)
    model = LGBMRegressor(n_estimators=10, mc=[1, 0, 0, 0, 0, 0], mc_penalty=2)
    for tree in trees(model.fit(X, y)):
        top = [0, tree.left_child[0], tree.right_child[0]]
        assert all(tree.split_feature[i] != 0 for i in top if i >= 0)
    assert any(0 in tree.split_feature for tree in trees(model))


# --- Interactions ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sets"),
    [
        ([[0, 1], [1, 2, 3]], [{0, 1}, {1, 2, 3}]),
        ("[0,1],[2,3,4]", [{0, 1}, {2, 3, 4}]),
        ("no_interactions", [{j} for j in range(6)]),
        ("pairwise", [{i, j} for i in range(6) for j in range(i)]),
        ([(0, 1), {2, 4}, [0, 4]], [{0, 1}, {2, 4}, {0, 4}]),
    ],
)
@pytest.mark.parametrize("options", [{}, {"feature_fraction_bynode": 0.6}])
def test_every_path_stays_in_a_set(given, sets, options):
    X, y = table()
    model = LGBMRegressor(n_estimators=15, interaction_constraints=given, **options)
    found = {frozenset(path) for tree in trees(model.fit(X, y)) for path in paths(tree)}
    assert all(any(path <= one for one in sets) for path in found)
    assert len(found) > 1
    assert given == "no_interactions" or any(len(path) > 1 for path in found)


def test_interactions_by_name_are_lightgbm_s(lightgbm):
    X, y = table(2000)
    X_test, y_test = table(2000, 1)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    by_name = LGBMRegressor(
        interaction_constraints=[["a", "b"], ["c", "d"], ["e", "f"]]
    )
    sets = [[0, 1], [2, 3], [4, 5]]
    ours = LGBMRegressor(interaction_constraints=sets).fit(X, y)
    assert_identical(by_name.fit(frame, y), ours)
    theirs = lightgbm.LGBMRegressor(interaction_constraints=sets, verbose=-1).fit(X, y)
    errors = [np.mean((m.predict(X_test) - y_test) ** 2) for m in (ours, theirs)]
    assert errors[0] < 1.02 * errors[1]


def test_columns_in_no_set_are_not_used():
    X, y = table()
    model = LGBMRegressor(interaction_constraints=[[3], [5]], n_estimators=10)
    with pytest.warns(UserWarning, match=r"in no group: 0, 1, 2, 4\. .* as \[0\]\."):
        model.fit(X, y)
    assert set(np.flatnonzero(model.feature_importances_)) <= {3, 5}


def test_columns_in_no_set_are_named():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = LGBMRegressor(n_estimators=2, interaction_constraints=[["a", "b"], ["d"]])
    with pytest.warns(UserWarning, match="no group: 'c', 'e', 'f'. For") as caught:
        model.set_params(folds=2).fit(frame, y)
    assert len(caught) == 1  # not once for each fold
    alone = [["a", "b"], ["c"], ["d"], ["e"], ["f"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(interaction_constraints=alone).fit(frame, y)
        model.set_params(interaction_constraints="no_interactions").fit(frame, y)


def test_sets_of_useless_columns_leave_constants():
    X, y = table()
    X[:, 3] = 1.0
    model = LGBMRegressor(interaction_constraints=[[3]]).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())


# --- Factors of gains -----------------------------------------------------------------


def test_factors_of_gains():
    X, y = table()
    plain = trees(LGBMRegressor(n_estimators=1).fit(X, y))[0]
    first = plain.split_feature[0]
    factor = [1.0] * 6
    factor[first] = 0.0
    model = LGBMRegressor(n_estimators=10, feature_contri=factor).fit(X, y)
    assert model.feature_importances_[first] == 0
    doubled = LGBMRegressor(n_estimators=1, fc={int(first): 2.0}).fit(X, y)
    np.testing.assert_allclose(trees(doubled)[0].split_gain[0], 2 * plain.split_gain[0])


def test_factors_are_lightgbm_s(lightgbm):
    X, y = table()
    options = {"n_estimators": 1, "feature_contri": [0.1, 0.2, 3, 1, 1, 1]}
    ours = trees(LGBMRegressor(**options).fit(X, y))[0]
    theirs = lightgbm.LGBMRegressor(**options, verbose=-1).fit(X, y)
    gains = theirs.booster_.trees_to_dataframe()["split_gain"].dropna()
    np.testing.assert_allclose(
        np.sort(ours.split_gain)[-5:], np.sort(gains)[-5:], rtol=1e-3
    )


# --- Forced splits --------------------------------------------------------------------

FORCED = {
    "feature": 4,
    "threshold": 0.3,
    "left": {"feature": 3, "threshold": -0.5, "right": {"feature": 4, "threshold": -1}},
    "right": {"feature": 0, "threshold": 0.0},
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"extra_trees": True},
        {"colsample_bytree": 0.3},
        {"monotone_constraints": [0, 0, 0, 0, 1, 0], "mc_method": "advanced"},
    ],
)
def test_trees_begin_with_the_forced_splits(options):
    X, y = table(missing=0.05)
    model = LGBMRegressor(n_estimators=5, forced_splits=FORCED, **options).fit(X, y)
    # Later trees need not gain by them.
    tree = trees(model)[0]
    assert tree.split_feature[:4].tolist() == [4, 3, 0, 4]
    np.testing.assert_allclose(tree.threshold[:4], [0.3, -0.5, 0.0, -1], atol=0.03)
    assert (tree.left_child[0], tree.right_child[0]) == (1, 2)
    assert tree.right_child[1] == 3
    assert len(tree.leaf_value) == 31


def test_forced_splits_of_a_file_are_lightgbm_s(tmp_path, lightgbm):
    X, y = table()
    file = tmp_path / "forced.json"
    file.write_text(json.dumps(FORCED))
    for path in (file, str(file)):
        ours = LGBMRegressor(forcedsplits_filename=path).fit(X, y)
        assert_identical(ours, LGBMRegressor(fs=FORCED).fit(X, y))
    theirs = lightgbm.LGBMRegressor(forcedsplits_filename=str(file), verbose=-1)
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1.0)
    frame = theirs.booster_.trees_to_dataframe()
    root = frame[frame["node_index"] == "0-S0"].iloc[0]
    assert trees(ours)[0].split_feature[0] == 4
    assert trees(ours)[0].threshold[0] == root["threshold"]


def test_forced_splits_that_cannot_be_are_left_out():
    X, y = table()
    X[:, 3] = 1.0
    plain = LGBMRegressor(n_estimators=3).fit(X, y)
    for feature, threshold in (
        (0, 99.0),
        (0, -99.0),
        (3, 1.0),
        (0, np.sort(X[:, 0])[3]),
    ):
        wanted = {"feature": feature, "threshold": threshold, "left": FORCED}
        model = LGBMRegressor(n_estimators=3, forced_splits=wanted).fit(X, y)
        assert_identical(plain, model)


@pytest.mark.parametrize("column", [0, 4])
def test_thresholds_of_a_model_can_be_forced(column):
    """A threshold is the largest value of its bin, or just above it."""
    X, y = table()
    X[:, 0] = np.floor(4 * X[:, 0])
    stumps = {"n_estimators": 1, "num_leaves": 2}
    factors = np.eye(6)[column].tolist()
    model = LGBMRegressor(feature_contri=factors, **stumps).fit(X, y)
    threshold = trees(model)[0].threshold[0]
    wanted = {"feature": column, "threshold": threshold}
    forced = LGBMRegressor(forced_splits=wanted, **stumps).fit(X, y)
    assert trees(forced)[0].split_feature.tolist() == [column]
    assert trees(forced)[0].threshold[0] == threshold


def test_interactions_come_before_forced_splits():
    X, y = table()
    sets = [{4, 0}, {3, 1}]
    model = LGBMRegressor(
        n_estimators=3, forced_splits=FORCED, interaction_constraints=sets
    ).fit(X, y)
    for tree in trees(model):
        assert all(any(set(p) <= one for one in sets) for p in paths(tree))
    assert trees(model)[0].split_feature[:2].tolist() == [4, 0]


# --- Bins by column -------------------------------------------------------------------


def test_bins_by_column_are_lightgbm_s(lightgbm):
    X, y = table()
    options = {"n_estimators": 20, "max_bin_by_feature": [5, 255, 4, 9, 2, 50]}
    ours = LGBMRegressor(**options).fit(X, y)
    theirs = lightgbm.LGBMRegressor(**options, verbose=-1).fit(X, y)
    frame = theirs.booster_.trees_to_dataframe()
    for j in range(6):
        used = np.concatenate(
            [tree.threshold[tree.split_feature == j] for tree in trees(ours)]
        )
        bounds = frame.loc[frame["split_feature"] == f"Column_{j}", "threshold"]
        assert len(set(used)) < options["max_bin_by_feature"][j]
        if j != 1:
            assert set(bounds) == set(used)


def test_bins_by_name():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = LGBMRegressor(n_estimators=5, max_bin=63, max_bin_by_feature={"c": 3})
    listed = clone(model).set_params(max_bin_by_feature="63,63,3,63,63,63")
    assert_identical(model.fit(frame, y), listed.fit(X, y))


# --- Words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "signs", [(1, 0, 0, 0, 0, -1), "1,0,0,0,0,-1", np.array([1, 0, 0, 0, 0, -1]), None]
)
def test_words_for_signs(signs):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    by_name = LGBMRegressor(n_estimators=3, monotonic_cst={"a": 1, "f": -1})
    by_name.fit(frame, y)
    given = {0: 1, 5: -1} if signs is None else signs
    assert_identical(by_name, LGBMRegressor(n_estimators=3, mc=given).fit(X, y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mc": [1, 0]}, "monotone_constraints must have one entry"),
        ({"mc": [1, 0, 2, 0, 0, 0]}, "monotone_constraints"),
        ({"mc": {"z": 1}}, "'z'"),
        ({"mc": {9: 1}}, "column 9"),
        ({"mc": SIGNS, "zero_as_missing": True}, "zero_as_missing=False"),
        ({"mc": SIGNS, "mc_method": "best"}, "monotone_constraints_method"),
        ({"mc": SIGNS, "mc_penalty": -1}, "monotone_penalty"),
        ({"feature_contri": [1.0]}, "feature_contri must have one entry"),
        ({"feature_contri": [-1.0] * 6}, "feature_contri"),
        ({"interaction_constraints": [[0, 8]]}, "column 8"),
        ({"interaction_constraints": [[]]}, "interaction_constraints"),
        ({"interaction_constraints": "0,1"}, "interaction_constraints"),
        ({"interaction_constraints": [["x"]]}, "'x'"),
        ({"forced_splits": {"feature": 0}}, "'threshold'"),
        ({"forced_splits": {"feature": 7, "threshold": 1}}, "column 7"),
        ({"forced_splits": "no_such_file.json"}, "no_such_file"),
        ({"max_bin_by_feature": [3]}, "max_bin_by_feature must have one entry"),
        ({"max_bin_by_feature": [1] * 6}, "max_bin_by_feature"),
    ],
)
def test_errors_name_the_option(options, message):
    X, y = table(100)
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(**options).fit(X, y)


def test_categories_have_no_order():
    X, y = table(200)
    model = LGBMRegressor(categorical_feature=[2], mc=SIGNS)
    with pytest.raises(ValueError, match="column 2 holds categories"):
        model.fit(np.abs(X), y)
    forced = LGBMRegressor(
        categorical_feature=[2], forced_splits={"feature": 2, "threshold": 1}
    )
    with pytest.raises(ValueError, match="forcedsplits_filename"):
        forced.fit(np.abs(X), y)


def test_nodes_that_constraints_compare_are_valued_by_level():
    """As one by one, in a tree of two chains."""
    nodes = np.zeros(6, [("feature", int), ("left", int), ("right", int)])
    nodes["left"], nodes["right"] = [1, 2, ~0, 4, 5, ~1], [3, ~2, ~3, ~4, ~5, ~6]
    nodes["feature"] = [0, 1, 0, 0, 0, 1]
    values = np.array([3.0, -1.0, 2.0, 0.5, 4.0, -2.0, 1.0])
    asked = []

    def values_of(sets):
        asked.append(sets)
        together = [leaf for leaves in sets for leaf in leaves]
        assert len(set(together)) == len(together)
        return np.array([values[leaves].mean() for leaves in sets])

    new = constraints.clip_to_monotone(
        values, nodes, np.array([1, 0], np.int8), values_of
    )
    # Then two nodes whose sides are in the wrong order. One is the root: its value is
    # between them.
    assert sorted(map(len, asked[:3])) == [1, 1, 2]
    assert list(map(len, asked[3:])) == [1, 1]
    assert (new[[0, 2, 3]] <= values.mean()).all()
    assert (new[[1, 4, 5, 6]] >= values.mean()).all()
    free = constraints.clip_to_monotone(
        values, nodes, np.array([0, 0], np.int8), values_of
    )
    assert free.tobytes() == values.tobytes()


@pytest.mark.parametrize("level", [0.2, 0.5])
def test_constrained_percentiles_have_no_larger_loss_than_one_leaf(level):
    """However few rows a leaf has that is in the wrong order."""
    rng = np.random.default_rng(4)

    def loss(rows, value):
        return (np.where(rows > value, level, level - 1.0) * (rows - value)).sum()

    def values_of(sets):
        joined = [np.concatenate([rows_of[leaf] for leaf in leaves]) for leaves in sets]
        return np.array([percentile(rows, level) for rows in joined])

    nodes = np.zeros(4, [("feature", int), ("left", int), ("right", int)])
    nodes["left"], nodes["right"] = [1, ~0, ~1, ~3], [2, 3, ~2, ~4]
    for seed in range(200):
        nodes["feature"] = rng.integers(0, 2, 4)
        rows_of = [
            10 * rng.standard_normal() + rng.standard_normal(rng.choice([1, 40]))
            for _ in range(5)
        ]
        values = values_of([[leaf] for leaf in range(5)])
        sign = np.array([1 if seed % 2 else -1, 0], np.int8)
        new = constraints.clip_to_monotone(values, nodes, sign, values_of)
        everything = np.concatenate(rows_of)
        found = sum(map(loss, rows_of, new))
        assert found <= loss(everything, percentile(everything, level)) + 1e-9
