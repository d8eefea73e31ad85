"""Linear leaves: their models, their scores, and what they are good for."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import skgoss
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss._engine.training.sampling_kernels import bagging_mask
from skgoss.columns import containers
from skgoss.model import linear
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.parameters import make_settings

lightgbm = pytest.importorskip("lightgbm")
pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(11)
X, Y = load_diabetes(return_X_y=True)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


def regressor(**options):
    defaults = {"n_estimators": 6, "num_leaves": 6, "linear_tree": True}
    return LGBMRegressor(**defaults | options)


def paths_of(tree):
    """The columns on the path to each leaf."""
    found = {}

    def walk(node, above):
        if node < 0:
            found[~node] = sorted(above)
            return
        below = above | {int(tree.split_feature[node])}
        walk(tree.left_child[node], below)
        walk(tree.right_child[node], below)

    walk(0, set())
    return [found[k] for k in range(len(found))]


def newton_steps(features, gradient, h, w, penalty):
    """Steps of rows by the normal equations; the constant is not penalized."""
    design = np.column_stack([features, np.ones(len(features))])
    moments = (design.T * h) @ design + np.diag([penalty] * features.shape[1] + [0.0])
    return -design @ np.linalg.solve(moments, design.T @ (w * gradient))


def longest_part(steps, rate, bound):
    """Which part of all steps surely does not raise the loss; at most 1."""
    longest = bound * np.abs(steps).max()
    return min(1.0, np.log1p(longest) / (rate * longest)) if longest > 0 else 1.0


def reference_leaf(features, derivatives, otherwise, penalty, rate, bound, min_rows):
    """The values of a leaf's rows, and the columns of its line; none: constant.

    The line is fitted on the rows that get its values: a column that leaves too few of
    them, or that has no slope though it leaves some of them out, is not part of it.
    """
    gradient, h, w = derivatives
    used = np.arange(features.shape[1])
    constant = np.full(len(features), otherwise), used[:0]
    while len(used):
        x = features[:, used]
        whole = np.isfinite(x).all(axis=1)
        if whole.sum() < max(min(min_rows, len(x)), len(used) + 1):
            n_missing = (~np.isfinite(x)).sum(axis=0)
            if whole.all():
                return constant
            used = used[n_missing < n_missing.max()]
            continue
        varies = np.ptp(x[whole], axis=0) > 0
        if np.isfinite(x[:, varies]).all(axis=1).sum() == whole.sum():
            break
        used = used[varies]
    else:
        return constant
    x, g, h_whole, w_whole = (v[whole] for v in (x[:, varies], gradient, h, w))
    steps = newton_steps(x, g, h_whole, w_whole, penalty)
    part = longest_part(steps[w_whole > 0], rate, bound)
    values = np.full(len(features), otherwise)
    values[whole] = rate * part * steps
    u = bound * np.abs(values).max()
    growth = (np.expm1(u) - u) / u**2 if u > 0 else 0.5
    if (w * gradient) @ values + h @ values**2 * growth > 0:
        return constant
    return values, used[varies]


BAG = {"subsample": 0.5, "subsample_freq": 2, "bagging_seed": 5}


@pytest.mark.parametrize("options", [{}, BAG], ids=["all rows", "bags"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_of_classes_agree_with_the_reference(options, weighted):
    """Hessians differ from row to row, and lines are fitted to the rows of the bag."""
    y = np.digitize(Y, [100, 180])
    weight = RNG.uniform(0.2, 3.0, size=len(Y)) if weighted else np.ones(len(Y))
    model = LGBMClassifier(
        n_estimators=4, num_leaves=4, linear_tree=True, linear_lambda=0.2, **options
    ).fit(HOLES, y, sample_weight=weight if weighted else None)
    bound = OBJECTIVES["multiclass"].self_concordance(
        make_settings({}, "LGBMClassifier")
    )
    leaves = model.predict(HOLES, pred_leaf=True)
    for i in range(1, 4):
        before, after = (
            model.predict(HOLES, num_iteration=n, raw_score=True) for n in (i, i + 1)
        )
        shares = softmax(before, axis=1)
        bag = np.ones(len(Y), dtype=bool)
        if options:
            bag = bagging_mask(len(Y), 0.5, 5, i - i % 2)
        for k in range(3):
            tree = model._model.trees.tree(3 * i + k)
            gradient = weight * (shares[:, k] - (y == k))
            hessian = weight * shares[:, k] * (1 - shares[:, k]) * 1.5
            for leaf, path in enumerate(paths_of(tree)):
                rows = bag & (leaves[:, 3 * i + k] == leaf)
                assert tree.leaf_count[leaf] == rows.sum()
                features = HOLES[rows][:, path]
                derivatives = gradient[rows] / weight[rows], hessian[rows], weight[rows]
                expected, _ = reference_leaf(
                    *(features, derivatives, tree.leaf_value[leaf]),
                    *(0.2, 0.1, bound, 20),
                )
                np.testing.assert_allclose(
                    (after - before)[rows, k], expected, rtol=1e-4, atol=1e-5
                )


# The rows of leaves, of which some miss a value: the first ones, or the last ones.
ROWS_OF_LEAVES = {
    "as many as coefficients": (2, 0),
    "one more": (3, 0),
    "one more, and broken ones": (9, 6),
    "enough that miss one column": (40, 31),
    "too few that are whole": (40, 33),
    "none that is whole": (61, 61),
    "a block": (256, 0),
    "a block and a row": (257, 0),
    "a broken block first": (700, 300),
    "broken at the end": (700, -450),
    "none at all": (0, 0),
}


@pytest.mark.parametrize("kinds", ["", "hessian", "weight", "hessian weight"])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("bound", [0.0, 20.0])
@pytest.mark.parametrize("min_rows", [1, 8])
def test_leaves_of_any_size(kinds, adds, bound, min_rows):
    """Leaf by leaf: a ridge on two columns, counted from their means.

    Steps are shortened where the loss could else climb. The values of leaves that stay
    constant are random, so they may raise the loss; lines then do, too, where many
    rows get such a value.
    """
    random = np.random.default_rng(3)
    sizes = [n for n, _ in ROWS_OF_LEAVES.values()]
    n_used = sum(sizes)
    number = random.permutation(n_used + 20)  # twenty rows are in no leaf
    ends = np.cumsum([0, *sizes])
    columns = random.normal(3.0, 2.0, size=(n_used + 20, 3))
    for begin, (_, n_broken) in zip(ends, ROWS_OF_LEAVES.values(), strict=False):
        stop = begin + abs(n_broken)
        if n_broken < 0:
            begin, stop = ends[-2] + n_broken, ends[-2]
        columns[number[begin:stop], 2 * (np.arange(begin, stop) % 2)] = np.nan
    columns[number[0], 1] = np.inf  # no leaf has this column
    gradient, hessian = random.normal(size=(2, len(columns))).astype(np.float32)
    hessian = abs(hessian) + np.float32(0.1) if "hessian" in kinds else None
    weight = None
    if "weight" in kinds:
        weight = random.integers(0, 3, len(columns)) * 1.0
        weight[number[: ends[2]]] = 1.0
    values = random.normal(size=len(sizes)) * np.resize([1.0, 0.01], len(sizes))
    score = random.normal(size=len(columns)) if adds else None
    before = None if score is None else score.copy()
    options = {"linear_lambda": 0.7, "learning_rate": 0.3}
    settings = make_settings(options | {"min_child_samples": min_rows}, "LGBMRegressor")
    found = linear.fit(
        linear.RawColumns(containers.learned(columns, owner="it")[0]),
        (2 * np.arange(len(sizes) + 1), np.tile([0, 2], len(sizes)).astype(np.int32)),
        (ends, number[:n_used].copy()),
        linear.Gradients(gradient, hessian, weight),
        values,
        settings,
        2,
        score,
        bound,
    )
    n_columns = []
    w = np.ones(len(columns)) if weight is None else weight
    h = w * (1.0 if hessian is None else hessian)
    for leaf, begin in enumerate(ends[:-1]):
        rows = number[begin : ends[leaf + 1]]
        features = columns[rows][:, [0, 2]]
        expected, used = reference_leaf(
            *(features, (gradient[rows], h[rows], w[rows]), values[leaf]),
            *(0.7, 0.3, bound, min_rows),
        )
        n_columns.append(len(used))
        terms = slice(*found.start[leaf : leaf + 2])
        np.testing.assert_array_equal(found.feature[terms], 2 * used)
        whole = np.isfinite(features[:, used]).all(axis=1)
        means = [features[whole, column].mean() for column in used]
        np.testing.assert_allclose(found.mean[terms], means, rtol=1e-12)
        line = found.constant[leaf] + (
            columns[rows][:, found.feature[terms]] @ found.coefficient[terms]
        )
        line[np.isnan(line)] = values[leaf]
        np.testing.assert_allclose(line, expected, rtol=1e-8, atol=1e-10)
        if score is not None:
            np.testing.assert_allclose(score[rows] - before[rows], line, atol=1e-12)
        bounding = line[whole & (w[rows] > 0)]
        bounding = bounding if len(bounding) else values[leaf : leaf + 1]
        low, high = bounding.min(), bounding.max()
        around = low - 0.5 * (high - low), high + 0.5 * (high - low)
        assert (found.lower[leaf], found.upper[leaf]) == pytest.approx(around)
    assert {0, 1, 2} <= set(n_columns)
    if score is not None:
        np.testing.assert_array_equal(score[number[n_used:]], before[number[n_used:]])


def lines(ensemble, features, leaves, scores):
    """The values of all rows in the trees of one score: the lines, without bounds."""
    linear = ensemble.linear
    for tree in range(scores, ensemble.n_trees, ensemble.n_scores):
        leaf = ensemble.leaf_start[tree] + leaves[:, tree]
        value = linear.constant[leaf].copy()
        for row, number in enumerate(leaf):
            terms = slice(*linear.start[number : number + 2])
            columns = features[row, linear.feature[terms]]
            value[row] += columns @ linear.coefficient[terms]
        yield leaf, value


def reference_scores(ensemble, features, leaves):
    """Raw scores: lines that are clipped, and leaf values of rows that miss a value."""
    scores = np.zeros((len(features), ensemble.n_scores))
    for k in range(ensemble.n_scores):
        for leaf, value in lines(ensemble, features, leaves, k):
            clipped = np.clip(
                value, ensemble.linear.lower[leaf], ensemble.linear.upper[leaf]
            )
            otherwise = ensemble.arrays["leaf_value"][leaf]
            scores[:, k] += np.where(np.isfinite(value), clipped, otherwise)
    return scores / (ensemble.n_rounds if ensemble.average else 1)


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("learning_rate", [0.1, 0.5])
def test_bounds_are_half_of_the_range_beyond_it(classes, learning_rate):
    weight = RNG.integers(0, 3, size=len(Y)).astype(float)
    kind = LGBMRegressor if classes == 1 else LGBMClassifier
    y = Y if classes == 1 else np.digitize(Y, [100, 200])
    model = kind(n_estimators=6, linear_tree=True, learning_rate=learning_rate)
    model.fit(HOLES, y, sample_weight=weight)
    ensemble, leaves = model._model.trees, model.predict(HOLES, pred_leaf=True)
    for k in range(classes):
        for leaf, value in lines(ensemble, HOLES, leaves, k):
            value[weight == 0] = np.nan
            for number in np.unique(leaf):
                of_leaf = value[leaf == number]
                low, high = np.nanmin(of_leaf), np.nanmax(of_leaf)
                expected = low - 0.5 * (high - low), high + 0.5 * (high - low)
                actual = ensemble.linear.lower[number], ensemble.linear.upper[number]
                np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


BOUNDED = {
    "plain": {},
    "bagging": {"subsample": 0.5, "subsample_freq": 1},
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "dart": {"boosting_type": "dart", "skip_drop": 0.0, "drop_rate": 0.5},
    "forest": {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    "folds": {"folds": 3},
    "preset": {"preset": "accurate", "folds": 2, "n_estimators": 8},
}


@pytest.mark.parametrize("options", BOUNDED.values(), ids=BOUNDED)
def test_far_rows_are_clipped(options):
    model = regressor(**options).fit(HOLES, Y)
    far = np.concatenate([HOLES, 100 * HOLES, 1e9 * X[:20]])
    leaves, ensemble = model.predict(far, pred_leaf=True), model._model.trees
    scores = model.predict(far)
    expected = reference_scores(ensemble, far, leaves)[:, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    assert (np.abs(scores - scores.mean()) < 5 * np.std(Y)).all()
    np.testing.assert_allclose([*model.staged_predict(far)][-1], scores, rtol=1e-12)
    np.testing.assert_array_equal(
        np.concatenate([*map(model.predict, far[:, None])]), scores
    )
    for again in (pickle.loads(pickle.dumps(model)), model.booster_):
        np.testing.assert_array_equal(again.predict(far), scores)
    read = skgoss.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(read.predict(far), scores)


def test_far_rows_of_models_that_go_on_are_refitted_or_rolled_back():
    model = regressor().fit(HOLES, Y)
    far = 100 * HOLES
    more = regressor(n_estimators=4).fit(HOLES, Y, init_model=model)
    refitted = model.booster_.refit(HOLES, 2 * Y, decay_rate=0.5)
    booster = skgoss.Booster({"linear_tree": True}, skgoss.Dataset(HOLES, Y))
    for _ in range(3):
        booster.update()
    before = booster.predict(far)
    booster.update()
    booster.rollback_one_iter()
    np.testing.assert_array_equal(booster.predict(far), before)
    for made in (more.booster_, refitted, booster):
        leaves = made.predict(far, pred_leaf=True)
        expected = reference_scores(made._model.trees, far, leaves)
        np.testing.assert_allclose(made.predict(far), expected[:, 0], rtol=1e-9)
        assert np.abs(made.predict(far)).max() < 3 * Y.max()
    new = model.booster_.refit(HOLES[:200], 2 * Y[:200], decay_rate=0.0)
    leaves = new.predict(HOLES[:200], pred_leaf=True)
    free = sum(value for _, value in lines(new._model.trees, HOLES[:200], leaves, 0))
    whole = np.isfinite(free)
    np.testing.assert_allclose(new.predict(HOLES[:200])[whole], free[whole], rtol=1e-9)


def test_lightgbm_knows_no_bounds_and_drops_them():
    far = 100 * X
    text = regressor().fit(X, Y).booster_.model_to_string()
    theirs = lightgbm.Booster(model_str=text)
    again = skgoss.Booster(model_str=theirs.model_to_string())
    np.testing.assert_allclose(again.predict(far), theirs.predict(far))
    assert np.ptp(again.predict(far)) > 10 * np.ptp(Y)
    both = regressor(n_estimators=2).fit(X, Y, init_model=again)
    read = skgoss.Booster(model_str=both.booster_.model_to_string())
    np.testing.assert_array_equal(read.predict(far), both.predict(far))
    leaves, ensemble = {}, both._model.trees

    def walk(node):
        leaves[node.get("leaf_index")] = node
        for side in ("left_child", "right_child"):
            if side in node:
                walk(node[side])

    walk(both.booster_.dump_model()["tree_info"][-1]["tree_structure"])
    last = ensemble.linear.leaves(*ensemble.leaf_start[-2:])
    for number in range(len(last.lower)):
        assert leaves[number]["leaf_lower"] == pytest.approx(last.lower[number])
        assert leaves[number]["leaf_upper"] == pytest.approx(last.upper[number])
    assert "leaf_lower" not in str(again.dump_model())


def test_the_first_tree_is_constant():
    model = regressor(n_estimators=1).fit(X, Y)
    plain = regressor(n_estimators=1, linear_tree=False).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"subsample": 0.5, "subsample_freq": 1},
        {"boosting_type": "dart", "skip_drop": 0.0, "drop_rate": 0.5},
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
        {"objective": "poisson"},
        {"early_stopping_round": 2},
    ],
)
def test_scores_are_followed_and_threads_change_nothing(options):
    models = [
        regressor(metric="rmse", n_jobs=k, **options).fit(
            HOLES, Y, eval_set=[(HOLES, Y), (HOLES[:200], Y[:200]), (9 * HOLES, Y)]
        )
        for k in (1, 3)
    ]
    first, second = (model.predict(HOLES) for model in models)
    np.testing.assert_array_equal(first, second)
    for name, rows in (("training", slice(None)), ("valid_1", slice(200))):
        error = np.sqrt(np.mean((first[rows] - Y[rows]) ** 2))
        assert models[0].best_score_[name]["rmse"] == pytest.approx(error, rel=1e-9)
    error = np.sqrt(np.mean((models[0].predict(9 * HOLES) - Y) ** 2))
    assert models[0].best_score_["valid_2"]["rmse"] == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsample": 0.5, "subsample_freq": 1},
        {"multi_strategy": "multi_output_tree"},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"folds": 2},
    ],
)
def test_scores_of_classes_are_followed_and_threads_change_nothing(options):
    """Trees of classes grow side by side."""
    random = np.random.default_rng(5)
    features = random.normal(size=(6000, 6))
    features[random.random(features.shape) < 0.01] = np.nan
    y = np.digitize(np.nan_to_num(features[:, 0] * features[:, 1]), [-0.2, 0.3])
    models = [
        LGBMClassifier(n_estimators=4, linear_tree=True, n_jobs=k, **options).fit(
            features, y, **({} if "folds" in options else {"eval_set": [(features, y)]})
        )
        for k in (1, 3)
    ]
    first, second = (model.booster_.model_to_string() for model in models)
    assert first.split("\nparameters")[0] == second.split("\nparameters")[0]
    if "folds" not in options:
        own = models[0].predict_proba(features)[np.arange(len(y)), y]
        loss = models[0].best_score_["training"]["multi_logloss"]
        assert loss == pytest.approx(-np.log(own).mean(), rel=1e-9)


def test_weights_mean_copies():
    copies = RNG.integers(0, 4, size=len(Y))
    options = {"linear_lambda": 0.1, "min_child_samples": 1, "min_data_in_bin": 1}
    options |= {"min_child_weight": 30, "max_bin": 1023}
    weighted = regressor(**options).fit(X, Y, sample_weight=copies)
    copied = regressor(**options).fit(np.repeat(X, copies, 0), np.repeat(Y, copies))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-9)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_classes(load):
    features, y = load(return_X_y=True)
    model = LGBMClassifier(n_estimators=8, linear_tree=True, linear_lambda=1.0)
    model.fit(features, y, eval_set=[(features, y)])
    loss = next(iter(model.best_score_["training"].values()))
    own = model.predict_proba(features)[np.arange(len(y)), y]
    assert loss == pytest.approx(-np.log(own).mean())
    assert model.score(features, y) > 0.96


def test_the_container_does_not_matter():
    features = np.where(np.abs(X) < 0.03, 0.0, X)
    dense = regressor().fit(features, Y)
    sparse = regressor().fit(csr_array(features), Y)
    np.testing.assert_array_equal(
        dense.predict(features), sparse.predict(csr_array(features))
    )
    for other in (np.asfortranarray(features), np.repeat(features, 2, 0)[::2]):
        again = regressor().fit(other, Y)
        np.testing.assert_array_equal(dense.predict(features), again.predict(other))
    frame = pandas.DataFrame(features).add_prefix("x")
    framed = regressor().fit(frame, Y)
    np.testing.assert_array_equal(dense.predict(features), framed.predict(frame))


def test_categories_are_not_regressors():
    frame = pandas.DataFrame({"x": X[:, 2], "c": np.where(X[:, 8] > 0, "a", "b")})
    model = regressor(min_data_per_group=5).fit(frame, Y)
    assert set(model._model.trees.linear.feature) == {0}
    assert np.isfinite(model.predict(frame)).all()


def test_prefixes_and_models_that_go_on():
    model = regressor().fit(X, Y)
    short = regressor(n_estimators=4).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X, num_iteration=4), short.predict(X))
    whole = regressor(n_estimators=2).fit(X, Y, init_model=short)
    np.testing.assert_allclose(whole.predict(X), model.predict(X), rtol=1e-9)
    tail = model.predict(X, start_iteration=4)
    np.testing.assert_allclose(tail + short.predict(X), model.predict(X), rtol=1e-9)
    plain = regressor(linear_tree=False).fit(X, Y)
    mixed = regressor(n_estimators=2).fit(X, Y, init_model=plain)
    np.testing.assert_array_equal(mixed.predict(X, num_iteration=6), plain.predict(X))


def test_columns_that_do_not_vary_in_a_leaf_and_far_targets_do_no_harm():
    features = np.column_stack([RNG.integers(0, 2, 600), RNG.normal(size=600)])
    features = np.column_stack([features, 3 * features[:, 1] + 1, features[:, 1] + 1e6])
    y = np.where(features[:, 0] > 0, 2.0, -1.0) * features[:, 1]
    near, far = (
        regressor(n_estimators=40, learning_rate=0.3).fit(features, y + shift)
        for shift in (0.0, 1e6)
    )
    assert np.std(near.predict(features) - y) < 0.1 * np.std(y)
    np.testing.assert_allclose(
        far.predict(features) - 1e6, near.predict(features), atol=1e-3
    )


def test_one_value_in_a_leaf_has_no_slope():
    values = RNG.choice([0.1, 0.2, 0.3, 1 / 3, 0.7], size=3000)
    features = np.column_stack([values, RNG.normal(size=3000)])
    y = np.sin(7 * values) + values * features[:, 1]
    model = regressor(n_estimators=30, num_leaves=31).fit(features, y)
    assert np.abs(model._model.trees.linear.coefficient).max() < 100


def rows_with_gaps(seed):
    """Few rows on very different scales, many of which miss values."""
    random = np.random.default_rng(seed)
    n, n_columns = int(random.integers(40, 200)), int(random.integers(2, 5))
    features = random.normal(size=(n, n_columns)) * 10.0 ** random.integers(
        0, 7, n_columns
    )
    features = np.round(features, int(random.integers(0, 3)))
    for column in features.T:
        if random.random() < 0.6:
            column[random.random(n) < random.choice([0.3, 0.6, 0.9])] = np.nan
    y = np.nansum(features / (np.nanstd(features, axis=0) + 1e-9), axis=1)
    return features, y + random.normal(size=n)


# On each, a line that rows got which it was not fitted on made the loss climb.
GAPS = [72, 114, 116, 146, 294]


@pytest.mark.parametrize("seed", [*GAPS, pytest.param(..., marks=pytest.mark.nightly)])
def test_lines_of_rows_with_gaps_do_not_raise_the_loss(seed):
    for number in range(300) if seed is ... else [seed]:
        features, y = rows_with_gaps(number)
        model = regressor(n_estimators=60, min_child_samples=14, learning_rate=0.5).fit(
            features, y
        )
        errors = [
            np.mean((scores - y) ** 2) for scores in model.staged_predict(features)
        ]
        assert np.diff(errors).max(initial=0) <= 1e-9 * errors[0]


def test_a_line_has_the_rows_that_it_was_fitted_on():
    """Most rows miss a column that is constant where the others have both."""
    n = 400
    split, slope = np.arange(n) // (n // 2) * 1.0, RNG.normal(size=n)
    rare = np.where(np.arange(n) % (n // 2) < 30, 1.0, np.nan)
    slope[np.isfinite(rare)] *= 1e-3  # a line on these rows alone would be steep
    y = 10 * split + slope + RNG.normal(size=n) * 0.1
    raw = linear.RawColumns(
        containers.learned(np.column_stack([slope, rare]), owner="it")[0]
    )
    leaves = np.array([0, n // 2, n]), np.arange(n)
    found = linear.fit(
        raw,
        (np.array([0, 2, 4]), np.array([0, 1, 0, 1], dtype=np.int32)),
        leaves,
        linear.Gradients(-y.astype(np.float32), None, None),
        np.array([y[split == 0].mean(), y[split == 1].mean()]),
        make_settings({"learning_rate": 1.0}, "LGBMRegressor"),
        1,
    )
    np.testing.assert_array_equal(found.feature, [0, 0])
    for leaf in range(2):
        rows = split == leaf
        expected = np.polyfit(slope[rows], y[rows], 1)
        np.testing.assert_allclose(found.coefficient[leaf], expected[0], rtol=1e-5)
        np.testing.assert_allclose(found.constant[leaf], expected[1], atol=1e-5)


@pytest.mark.parametrize("value", [1e160, 1e300, np.inf, -np.inf])
def test_values_too_large_to_be_squared_do_no_harm(value):
    features = X.copy()
    features[:5, 2] = value
    model = regressor().fit(features, Y)
    assert np.isfinite(model.predict(features)).all()
    assert model.score(features, Y) > 0.3
    whole = regressor().fit(1e100 * X, Y)
    np.testing.assert_allclose(
        whole.predict(1e100 * X), regressor(linear_tree=False).fit(X, Y).predict(X)
    )


def test_piecewise_lines_are_learned_sooner():
    features = RNG.normal(size=(3000, 5))
    y = features[:, 0] * np.where(features[:, 1] > 0, 2, -1) + np.abs(features[:, 2])
    error = {
        linear: np.mean(
            (
                regressor(n_estimators=40, num_leaves=15, linear_tree=linear)
                .fit(features[:2000], y[:2000])
                .predict(features[2000:])
                - y[2000:]
            )
            ** 2
        )
        for linear in (True, False)
    }
    assert error[True] < error[False] / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"objective": "l1"},
            "linear_tree must be False for .*replaces the leaf values",
        ),
        ({"zero_as_missing": True}, "linear_tree.* must be False"),
        ({"linear_lambda": -1.0}, "linear_lambda"),
        *(
            ({"monotone_constraints": given}, "monotone_constraints.*linear_tree=True")
            for given in ([1, 0, 0], {"x1": -1}, "0,1,0")
        ),
    ],
)
def test_what_linear_leaves_cannot_do(options, message):
    with pytest.raises(ValueError, match=message):
        regressor(**options).fit(X, Y)
    data = skgoss.Dataset(X, Y)
    params = {"linear_tree": True, "objective": "l2"} | options
    for run in (skgoss.train, skgoss.cv, skgoss.Booster):
        with pytest.raises(ValueError, match=message):
            run(params, data)


@pytest.mark.parametrize("given", [None, [0, 0, 0, 0], {"x": 0}])
def test_constraints_that_hold_nothing_are_none(given):
    X = pandas.DataFrame(np.zeros((50, 4)), columns=["x", "a", "b", "c"])
    regressor(monotone_constraints=given).fit(X, np.arange(50))


def test_a_file_of_lightgbm_with_both():
    params = {"monotone_constraints": [1] + [0] * 9, "linear_tree": True, "verbose": -1}
    theirs = lightgbm.train(params, lightgbm.Dataset(X, Y, params=params), 3)
    ours = skgoss.Booster(model_str=theirs.model_to_string())
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
