"""Missing values where the fit had none: they go with the larger child."""

from __future__ import annotations

import json

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp

import skgoss
from skgoss import Booster, Dataset, LGBMClassifier, LGBMRegressor, train
from skgoss.model.trees import DEFAULT_LEFT, MISSING_SHIFT

SMALL = {"n_estimators": 12, "num_leaves": 9, "min_child_samples": 5, "n_jobs": 1}
# Weights of rows are weights of bins, too.
COPIES = SMALL | {"min_child_samples": 1, "min_data_in_bin": 1}


def table(n=500, share=0.0, seed=0):
    """Columns far from zero, and a target; some values of all columns are missing."""
    draw = np.random.default_rng(seed)
    X = np.abs(draw.normal(size=(n, 4))) + 5
    y = X[:, 0] + X[:, 1] * (X[:, 2] > 5.6) + 0.1 * draw.normal(size=n)
    X[draw.random(X.shape) < share] = np.nan
    return X, y


def missing(n=400, seed=1):
    return table(n, 0.3, seed)


def trees(model):
    return model.booster_._model.trees.trees


def walk(tree, X, node, rows, leaf_out, check):
    """Send rows down a tree of numbers, whose NaN are missing."""
    if node < 0:
        leaf_out[rows] = tree.leaf_value[~node]
        return
    value = X[rows, tree.split_feature[node]]
    is_missing = np.isnan(value)
    goes_left = bool(tree.decision_type[node] & DEFAULT_LEFT)
    assert tree.decision_type[node] >> MISSING_SHIFT == 2
    left = np.where(is_missing, goes_left, value <= tree.threshold[node])
    if check and not is_missing.any() and 2 * left.sum() != len(left):
        assert goes_left == (2 * left.sum() > len(left))
    sides = zip((tree.left_child, tree.right_child), (left, ~left), strict=True)
    for children, is_here in sides:
        walk(tree, X, children[node], rows[is_here], leaf_out, check)


def scores(model, X, *, check=False):
    total = np.zeros(len(X))
    for tree in trees(model):
        values = np.zeros(len(X))
        walk(tree, X, 0, np.arange(len(X)), values, check)
        total += values
    return total


@pytest.mark.parametrize("share", [0.0, 0.02])
@pytest.mark.parametrize("n", [7, 400])
def test_predictions_are_those_of_a_walk_to_larger_children(share, n):
    X, y = table(share=share)
    model = LGBMRegressor(**SMALL).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), scores(model, X, check=True))
    holes, _ = missing(n)
    np.testing.assert_array_equal(model.predict(holes), scores(model, holes))


def test_a_column_that_is_missing_is_not_zero():
    X, _ = table(600)
    model = LGBMRegressor(n_estimators=50).fit(X, X[:, 0])
    rows = X[:3].copy()
    rows[:, 0] = np.nan
    low, high = np.quantile(X[:, 0], [0.2, 0.8])
    assert ((low < model.predict(rows)) & (model.predict(rows) < high)).all()
    holes, y = X.copy(), X[:, 0]
    holes[::4, 0] = np.nan
    assert np.var(y - model.predict(holes)) < 0.5 * np.var(y)


@pytest.mark.parametrize("estimator", [LGBMRegressor, LGBMClassifier])
def test_weights_are_copies(estimator):
    X, y = table()
    y = y if estimator is LGBMRegressor else (y > np.median(y)).astype(int)
    weight = np.random.default_rng(2).integers(1, 5, len(y))
    weighted = estimator(**COPIES).fit(X, y, sample_weight=weight)
    copied = estimator(**COPIES).fit(X.repeat(weight, axis=0), y.repeat(weight))
    holes, _ = missing()
    np.testing.assert_array_equal(
        weighted.predict(holes, raw_score=True), copied.predict(holes, raw_score=True)
    )


def test_missing_values_go_to_the_same_child_in_mirrored_columns():
    X, y = table()
    options = SMALL | {"max_bin": 1000, "min_data_in_bin": 1}
    both = [trees(LGBMRegressor(**options).fit(sign * X, y)) for sign in (1, -1)]
    n_even = 0
    for tree, mirrored in zip(*both, strict=True):
        np.testing.assert_array_equal(tree.split_feature, mirrored.split_feature)
        change = tree.decision_type ^ mirrored.decision_type
        assert (change == DEFAULT_LEFT).all()
        counts = np.append(tree.internal_count, tree.leaf_count[::-1])
        n_even += (counts[tree.left_child] == counts[tree.right_child]).sum()
    assert n_even > 0


# --- Evaluation sets ------------------------------------------------------------------

OPTIONS = {
    "plain": {},
    "bagging": {"subsample": 0.5, "subsample_freq": 1},
    "one side": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "rf": {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    "linear": {"linear_tree": True},
    "256 bins": {"max_bin": 256, "min_data_in_bin": 1},
    "wide": {"max_bin": 400, "min_data_in_bin": 1},
    "two bins": {"max_bin": 2},
    "percentiles": {"objective": "l1"},
}


def loss(model, X, y):
    return np.mean((y - model.predict(X)) ** 2)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_evaluation_sets_go_where_predictions_go(options):
    X, y = table(1000)
    sets = [missing(), table(300, seed=2), (X, y)]
    model = LGBMRegressor(**SMALL | options, metric="l2")
    model.fit(X, y, eval_set=sets)
    for name, data in zip(("valid_0", "valid_1", "training"), sets, strict=True):
        found = model.evals_result_[name]["l2"][-1]
        np.testing.assert_allclose(found, loss(model, *data), rtol=1e-12)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_missing_values_in_few_rows(options):
    X, y = table(1000, 0.01)
    data = missing()
    model = LGBMRegressor(**SMALL | options, metric="l2")
    model.fit(X, y, eval_set=[data, (X, y)])
    for name, rows in (("valid_0", data), ("training", (X, y))):
        found = model.evals_result_[name]["l2"][-1]
        np.testing.assert_allclose(found, loss(model, *rows), rtol=1e-12)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_sparse_evaluation_sets(form):
    """Bundles, entries, and columns of two bins."""
    draw = np.random.default_rng(3)
    X = draw.random((5000, 30)) * (draw.random((5000, 30)) < 0.1)
    X[:, 10:] = X[:, 10:] > 0
    y = X @ draw.normal(size=30)
    holes = X[:1000].copy()
    holes[draw.random(holes.shape) < 0.05] = np.nan
    model = LGBMRegressor(**SMALL).fit(X, y)
    expected = loss(model, holes, y[:1000])
    model.fit(form(X), y, eval_set=[(form(holes), y[:1000])])
    assert loss(model, holes, y[:1000]) == expected
    assert loss(model, form(holes), y[:1000]) == expected
    found = model.evals_result_["valid_0"]["l2"][-1]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("batched", [False, True])
def test_data_sets_in_the_bins_of_others(batched):
    X, y = table()
    (holes, target), params = missing(), {"num_leaves": 7, "metric": "l2"}
    rows = [holes[:150], holes[150:]] if batched else holes
    rows = Batches(rows) if batched else rows
    first = Dataset(X, y)
    valid = first.create_valid(rows, target)
    history = {}
    record = skgoss.record_evaluation(history)
    model = train(params, first, 10, valid_sets=[valid], callbacks=[record])
    np.testing.assert_allclose(history["valid_0"]["l2"][-1], loss(model, holes, target))
    # What is missing in its rows is learned.
    model = train(params, valid, 10, valid_sets=[valid, first], callbacks=[record])
    found = history["training"]["l2"][-1]
    np.testing.assert_allclose(found, loss(model, holes, target))
    np.testing.assert_allclose(history["valid_1"]["l2"][-1], loss(model, X, y))
    again = train(params, Dataset(holes, target), 10)
    assert loss(model, holes, target) < 1.1 * loss(again, holes, target)


def test_the_most_bins_there_can_be_and_one_for_nan(tmp_path):
    values = np.arange(70_000.0)[:, None]
    params = {"max_bin": 65535, "min_data_in_bin": 1, "verbosity": -1}
    first = Dataset(values, values[:, 0], params=params)
    holes = np.append(values[::70], [[np.nan]], axis=0)
    later = first.create_valid(holes, np.arange(len(holes)))
    later.save_binary(tmp_path / "later.bin")
    assert later._binned.n_bins.tolist() == [65536]
    again = Dataset(tmp_path / "later.bin").construct()
    np.testing.assert_array_equal(again._binned.bins(0), later._binned.bins(0))
    assert again._binned.bins(0)[-1] == 65535


class Batches(skgoss.Sequence):
    """Rows in batches."""

    batch_size = 40

    def __init__(self, pieces):
        self.rows = np.concatenate(pieces)

    def __getitem__(self, index):
        return self.rows[index]

    def __len__(self):
        return len(self.rows)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, Batches])
def test_missing_values_outside_the_sample_are_learned(form):
    X, y = table(1000)
    X[X < 5.3] = 0.0  # so that sparse columns have values that are not stored
    X[::50, 0] = np.nan
    y[::50] += 50
    # Most samples of 10 rows have none of these 20.
    params = {"subsample_for_bin": 10, "min_data_in_bin": 1, "metric": "l2"}
    params |= {"verbosity": -1, "min_child_samples": 5}
    for seed in range(5):
        data = Dataset(
            form([X]) if form is Batches else form(X),
            y,
            params=params | {"data_random_seed": seed},
        )
        history = {}
        record = skgoss.record_evaluation(history)
        model = train(params, data, 20, valid_sets=[data], callbacks=[record])
        assert loss(model, X, y) < 0.2 * np.var(y)
        np.testing.assert_allclose(history["training"]["l2"][-1], loss(model, X, y))


# --- Files and other forms of a model -------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.02])
@pytest.mark.parametrize("options", [{}, {"linear_tree": True, "linear_lambda": 1.0}])
def test_text_files(share, options):
    X, y = table(share=share)
    model = LGBMRegressor(**SMALL | options).fit(X, y)
    text, (holes, _) = model.booster_.model_to_string(), missing()
    expected = model.predict(holes)
    np.testing.assert_array_equal(Booster(model_str=text).predict(holes), expected)
    if not options:  # LightGBM ignores the bounds of linear leaves
        theirs = lightgbm.Booster(model_str=text).predict(holes)
        np.testing.assert_allclose(theirs, expected, rtol=1e-12)


def test_models_of_lightgbm_keep_its_rule():
    X, y = table()
    theirs = lightgbm.LGBMRegressor(**SMALL, verbosity=-1).fit(X, y)
    holes, _ = missing()
    ours = Booster(model_str=theirs.booster_.model_to_string())
    np.testing.assert_allclose(ours.predict(holes), theirs.predict(holes), rtol=1e-12)
    np.testing.assert_array_equal(
        ours.predict(holes), ours.predict(np.nan_to_num(holes))
    )


@pytest.mark.parametrize("options", [{}, {"linear_tree": True, "linear_lambda": 1.0}])
def test_explanations_sum_to_the_score(options):
    X, y = table()
    model = LGBMRegressor(**SMALL | options).fit(X, y)
    holes, _ = missing()
    values = model.predict(holes, pred_contrib=True)
    np.testing.assert_allclose(values.sum(axis=1), model.predict(holes), rtol=1e-12)


def test_onnx(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = table(share=0.01)
    model = LGBMRegressor(**SMALL).fit(X, y)
    proto = skgoss.to_onnx(model)
    holes, _ = missing()
    session = runtime.InferenceSession(proto.SerializeToString())
    (found,) = session.run(None, {session.get_inputs()[0].name: holes})
    np.testing.assert_allclose(found.ravel(), model.predict(holes), rtol=1e-12)


# --- Options that say what is missing -------------------------------------------------


def test_nan_is_zero_without_missing_values():
    X, y = table()
    holes, _ = missing()
    model = LGBMRegressor(**SMALL, use_missing=False).fit(X, y)
    zeros = np.nan_to_num(holes)
    np.testing.assert_array_equal(model.predict(holes), model.predict(zeros))
    kinds = {node >> MISSING_SHIFT for t in trees(model) for node in t.decision_type}
    assert kinds == {0}


def test_zeros_that_are_missing_go_with_the_larger_child():
    X, y = table()
    model = LGBMRegressor(**SMALL, zero_as_missing=True).fit(X, y)
    usual = LGBMRegressor(**SMALL).fit(X, y)
    holes, _ = missing()
    zeros = np.nan_to_num(holes)
    np.testing.assert_array_equal(model.predict(holes), usual.predict(holes))
    np.testing.assert_array_equal(model.predict(zeros), usual.predict(holes))


def test_dumps_tell_where_missing_values_go():
    X, y = table()
    model = LGBMRegressor(**SMALL | {"n_estimators": 1, "num_leaves": 2}).fit(X, y)
    root = json.loads(json.dumps(model.booster_.dump_model()))["tree_info"][0]
    root = root["tree_structure"]
    sizes = [root[side]["leaf_count"] for side in ("left_child", "right_child")]
    assert root["missing_type"] == "NaN"
    assert root["default_left"] == (sizes[0] > sizes[1])


# --- As in LightGBM -------------------------------------------------------------------


def test_unseen_categories_go_right_as_in_lightgbm():
    draw = np.random.default_rng(4)
    X = draw.integers(0, 12, size=(600, 1)).astype(float)
    y = draw.permutation(12)[X[:, 0].astype(int)] + draw.normal(size=600)
    options = SMALL | {"min_data_per_group": 1, "verbosity": -1}
    columns = {"categorical_feature": [0]}
    model = LGBMRegressor(**options).fit(X, y, **columns)
    later = np.array([[np.nan], [-1.0], [12.0], [500.0], [3.0]])
    found = model.predict(later)
    assert len(set(found[:4])) == 1
    right = 0.0
    for tree in trees(model):
        node = 0
        while node >= 0:
            node = tree.right_child[node]
        right += tree.leaf_value[~node]
    np.testing.assert_allclose(found[0], right)
    theirs = lightgbm.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_allclose(theirs.predict(later), found)


def test_tiny_numbers_and_weights_are_those_of_lightgbm():
    X, y = table()
    (tiny, weight), both = (1e-36 * X, np.full(len(y), 1e-12)), []
    for module in (skgoss, lightgbm):
        options = SMALL | {"verbosity": -1, "min_child_weight": 0}
        model = module.LGBMRegressor(**options)
        assert len(set(model.fit(tiny, y).predict(tiny))) == 1
        both.append(model.fit(X, y, sample_weight=weight).predict(X))
    np.testing.assert_allclose(both[0], both[1], rtol=1e-6)
    assert not np.allclose(both[0], model.fit(X, y).predict(X), rtol=1e-6)
