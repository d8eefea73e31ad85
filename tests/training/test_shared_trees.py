"""One tree a round for all classes (`multi_strategy="multi_output_tree"`)."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

import skgoss
from helpers.reference import log1p_from_below
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMRegressor,
    UnusedParameterWarning,
)

X, Y = load_digits(return_X_y=True)
X, Y = X[::2], Y[::2]
N_CLASSES = 10
SHARED = {"multi_strategy": "multi_output_tree", "n_estimators": 4, "num_leaves": 9}
PLAIN = "one_output_per_tree"
WEIGHT = 0.5 + np.random.default_rng(4).random(len(Y))


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def mixed(x):
    """The finalizer of splitmix64, on Python's integers."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def signs_of(seed, round_index):
    """Half of the classes, drawn one after the other, get the sign 1."""
    step, signs, n_left = 0x9E3779B97F4A7C15, [], N_CLASSES // 2
    key = mixed((mixed((seed + step) % 2**64) + 7) % 2**64)
    key = mixed((key + round_index) % 2**64)
    for k in range(N_CLASSES):
        draw = mixed((key + k * step) % 2**64) >> 32
        is_up = draw * (N_CLASSES - k) >> 32 < n_left
        n_left -= is_up
        signs.append(1.0 if is_up else -1.0)
    return np.array(signs)


@pytest.mark.parametrize(("rate", "l2"), [(0.1, 1.0), (1.0, 0.0)])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_trees_agree_with_a_naive_reference(weight, rate, l2):
    seed, n_limited = 11, 0
    options = {"learning_rate": rate, "reg_lambda": l2, "boost_from_average": False}
    model = LGBMClassifier(**SHARED, **options, extra_seed=seed)
    model.fit(X, Y, sample_weight=weight)
    leaf = model.predict(X, pred_leaf=True).reshape(len(X), -1, N_CLASSES)
    w = np.ones(len(Y)) if weight is None else weight
    scores = np.zeros((len(Y), N_CLASSES))
    for index in range(SHARED["n_estimators"]):
        shares = softmax(scores)
        gradient = shares - np.eye(N_CLASSES)[Y]
        hessian = shares * (1 - shares) * N_CLASSES / (N_CLASSES - 1)

        # All classes have the tree that a user's loss of the direction would get.
        def loss(_predictions, _data, g=gradient, h=hessian, index=index, w=w):
            return w * (g @ signs_of(seed, index)), w * h.sum(axis=1)

        alone = skgoss.train(
            {**options, "objective": loss, "num_leaves": 9},
            Dataset(X, Y),
            num_boost_round=1,
        )
        expected = alone.predict(X, pred_leaf=True)
        for k in range(N_CLASSES):
            np.testing.assert_array_equal(leaf[:, index, k], expected[:, 0])
        # Each class has the values of its own gradients.
        member = np.eye(9)[expected[:, 0].astype(int)].T * w
        outputs = -(member @ gradient) / (member @ hessian + l2)
        # Steps end where the loss of a class might climb.
        limits = np.array(
            [[log1p_from_below(2 * v) / 2 for v in r] for r in abs(outputs)]
        )
        n_limited += (abs(rate * outputs) > limits).sum()
        values = np.copysign(np.minimum(abs(rate * outputs), limits), outputs)
        scores += values[expected[:, 0].astype(int)]
        found = model.predict(X, raw_score=True, num_iteration=index + 1)
        np.testing.assert_allclose(found, scores, rtol=1e-5, atol=1e-7)
    assert (n_limited > 0) == (rate == 1.0)


def test_gradients_of_many_rows_are_summed_in_blocks():
    """Ten copies of each row are as good as weights of ten, and fill two blocks."""
    options = {"min_child_samples": 1, "min_data_in_bin": 1, "num_leaves": 15}
    weighted, copied = (
        LGBMClassifier(**SHARED | options, n_jobs=2).fit(*data)
        for data in (
            (X, Y, np.full(len(Y), 10.0)),
            (np.tile(X, (10, 1)), np.tile(Y, 10)),
        )
    )
    expected = weighted.predict_proba(X, raw_score=True)
    np.testing.assert_array_equal(copied.predict_proba(X, raw_score=True), expected)


def test_columns_of_a_round_are_those_of_its_first_tree():
    """Each column is as good as any other, so a tree uses all that are drawn for it."""
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(900, 12))
    y = np.digitize(columns.sum(axis=1), [-2.0, 2.0])
    options = {"colsample_bytree": 0.25, "n_estimators": 6, "min_child_samples": 5}
    used = []
    for strategy in ("multi_output_tree", PLAIN):
        model = LGBMClassifier(**options, multi_strategy=strategy).fit(columns, y)
        trees = model.booster_.trees_to_dataframe().groupby("tree_index")
        used.append([frozenset(t.split_feature.dropna()) for _, t in trees])
    shared, alone = used
    assert {len(names) for names in alone} == {3}
    assert shared == [alone[3 * (tree // 3)] for tree in range(18)]
    assert len(set(shared)) > 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"data_sample_strategy": "goss", "learning_rate": 0.5, "n_estimators": 5},
        {"subsample": 0.6, "subsample_freq": 1, "colsample_bytree": 0.4},
        {"boosting_type": "dart", "drop_rate": 0.5},
        {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
        {"objective": "multiclassova", "extra_trees": True, "linear_tree": True},
        {"objective": "multiclassova", "is_unbalance": True},
        {"categorical_feature": [10, 20, 30], "min_data_per_group": 10},
    ],
    ids=str,
)
def test_all_ways_to_fit(options, tmp_path):
    alone = LGBMClassifier(**{**SHARED, **options}, n_jobs=1).fit(X, Y)
    beside = LGBMClassifier(**{**SHARED, **options}, n_jobs=3).fit(X, Y)
    expected = alone.predict_proba(X)
    assert expected.tobytes() == beside.predict_proba(X).tobytes()
    assert alone.score(X, Y) > 0.5
    trees = alone.booster_.trees_to_dataframe()
    splits = trees[["split_feature", "threshold", "count"]].groupby(trees.tree_index)
    tables = [table.reset_index(drop=True) for _, table in splits]
    for k in range(1, N_CLASSES):
        assert tables[k].equals(tables[0])
    again = Booster(model_str=alone.booster_.model_to_string())
    assert again.predict(X).tobytes() == expected.tobytes()


def test_nodes_have_the_sums_of_their_class():
    model = LGBMClassifier(**SHARED, reg_lambda=1.0).fit(X, Y)
    trees = model.booster_.trees_to_dataframe()
    assert trees.tree_index.nunique() == 4 * N_CLASSES
    root = trees[trees.parent_index.isna()]
    for _, tree in trees.groupby("tree_index"):
        leaves = tree[tree.split_feature.isna()]
        (top,) = tree.index[tree.parent_index.isna()]
        assert root.loc[top, "weight"] == pytest.approx(leaves.weight.sum(), rel=1e-9)
    values = model.predict(X[:20], pred_contrib=True).reshape(20, N_CLASSES, -1)
    raw = model.predict(X[:20], raw_score=True)
    np.testing.assert_allclose(values.sum(axis=2), raw, atol=1e-10)


def test_it_goes_on_and_ends():
    model = LGBMClassifier(**SHARED).fit(X, Y)
    longer = LGBMClassifier(**SHARED).fit(X, Y, init_model=model)
    assert longer.booster_.num_trees() == 8 * N_CLASSES
    constant = LGBMClassifier(**SHARED).fit(0 * X, Y)
    np.testing.assert_allclose(
        constant.predict_proba(X[:1])[0], np.bincount(Y) / len(Y)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone_constraints": [1] + [0] * 63}, "monotone_constraints.*outputs"),
        ({"path_smooth": 1.0}, "path_smooth.*one_output_per_tree"),
        ({"multi_strategy": "vector"}, "multi_strategy"),
    ],
    ids=str,
)
def test_what_it_cannot_be_used_with(options, message):
    with pytest.raises(ValueError, match=message):
        LGBMClassifier(**{**SHARED, **options}).fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (LGBMRegressor(), Y),
        (LGBMClassifier(), Y > 4),
        (LGBMClassifier(folds=2), Y > 4),
    ],
    ids=str,
)
def test_with_one_output_it_warns_once_and_has_no_effect(estimator, y):
    plain = clone(estimator).set_params(**SHARED | {"multi_strategy": PLAIN})
    shared = clone(estimator).set_params(**SHARED)
    with pytest.warns(UnusedParameterWarning, match="three or more classes") as caught:
        shared.fit(X, y)
    assert len(caught) == 1
    expected = plain.fit(X, y).predict(X, raw_score=True)
    np.testing.assert_array_equal(shared.predict(X, raw_score=True), expected)
