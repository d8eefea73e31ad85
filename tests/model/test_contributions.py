"""SHAP values and interactions against their definitions, LightGBM and XGBoost."""

from __future__ import annotations

import gc
import hashlib
import pickle
import weakref
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import factorial, prod

import numpy as np
import pytest
import scipy.sparse

from helpers.reading import columns as read_columns
from helpers.trees import frame, make, parse_lightgbm, random_data, random_tree
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.model.category_sets import CategorySets
from skgoss.model.contributions import contributions, interactions, sparse_contributions
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves

EXACT = {"rtol": 0, "atol": 1e-12}


# ------------------------------------------------------------------------ definitions


def directions(ensemble, X):
    """Where each row goes at each node, by the definition of the decisions."""
    arrays = ensemble.arrays
    kind, threshold = arrays["decision_type"], arrays["threshold"]
    value = X[:, arrays["split_feature"]].astype(np.float64)
    missing = np.isnan(value) & (kind >> 2 > 0)
    missing |= (kind >> 2 == 1) & (np.abs(value) <= np.float32(1e-35))
    value = np.nan_to_num(value, nan=0.0, posinf=np.inf, neginf=-np.inf)
    left = np.where(missing, kind & 2 != 0, value <= threshold)
    for node in np.flatnonzero(kind & 1):
        words = slice(*ensemble.sets.start[int(threshold[node]) + np.arange(2)])
        bits = np.unpackbits(
            ensemble.sets.words[words].view(np.uint8), bitorder="little"
        )
        column = X[:, arrays["split_feature"][node]]
        left[:, node] = np.isin(np.trunc(column), np.flatnonzero(bits))
    return left


def paths(tree):
    """The (node, goes left) on the way to each leaf."""
    found = {}
    open_nodes = [(0 if tree.n_leaves > 1 else -1, ())]
    while open_nodes:
        node, path = open_nodes.pop()
        if node < 0:
            found[~node] = path
        else:
            open_nodes.append((tree.left_child[node], (*path, (node, True))))
            open_nodes.append((tree.right_child[node], (*path, (node, False))))
    return found


def covers(tree):
    """Rows below the left and the right child of each node."""
    rows = np.zeros((tree.n_leaves - 1, 2))
    for leaf, path in paths(tree).items():
        for node, left in path:
            rows[node, 0 if left else 1] += max(tree.leaf_count[leaf], 0)
    return rows


def factors(tree, left):
    """For each leaf its number and, by feature of its path, (o, z) of one row."""
    rows = covers(tree)
    total = rows.sum(axis=1, keepdims=True)
    share = np.divide(rows, total, where=total > 0, out=np.full_like(rows, 0.5))
    for leaf, path in paths(tree).items():
        of = {}
        for node, goes in path:
            o, z = of.get(tree.split_feature[node], (1.0, 1.0))
            o *= left[node] == goes
            of[tree.split_feature[node]] = o, z * share[node, 0 if goes else 1]
        yield leaf, of


def line_value(tree, linear, leaf, of, x, known):
    """What a linear leaf expects of a row ``x`` if some of the features are known."""
    terms = range(linear.start[leaf], linear.start[leaf + 1])
    lower, upper = linear.lower[leaf], linear.upper[leaf]

    def bounded(value):
        return lower if value < lower else upper if value > upper else value

    middle = linear.constant[leaf]
    middle += sum(linear.coefficient[t] * linear.mean[t] for t in terms)
    base = bounded(middle)
    added = {
        linear.feature[t]: linear.coefficient[t]
        * (x[linear.feature[t]] - linear.mean[t])
        for t in terms
        if of[linear.feature[t]][0] == 1
    }
    missing = {j for j, value in added.items() if not np.isfinite(value)}
    if missing:
        rest = tree.leaf_value[leaf] - base
        return base + rest * len(missing & known) / len(missing)
    whole = sum(added.values())
    part = (bounded(middle + whole) - base) / whole if whole else 0.0
    return base + part * sum(value for j, value in added.items() if j in known)


def by_subsets(tree, left, n_features, linear=None, x=None):
    """SHAP values and interactions of one row and tree, over all sets of features."""
    leaves = list(factors(tree, left))

    @cache
    def value(known):
        return sum(
            (
                tree.leaf_value[leaf]
                if linear is None
                else line_value(tree, linear, leaf, of, x, known)
            )
            * prod([o if j in known else z for j, (o, z) in of.items()])
            for leaf, of in leaves
        )

    values = np.zeros((n_features + 1, n_features + 1))
    for i, j in combinations(range(n_features), 2):
        others = set(range(n_features)) - {i, j}
        for size in range(n_features - 1):
            weight = factorial(size) * factorial(n_features - size - 2)
            weight /= 2 * factorial(n_features - 1)
            for known in map(frozenset, combinations(others, size)):
                both = value(known | {i, j}) - value(known | {i})
                values[i, j] += weight * (both - value(known | {j}) + value(known))
        values[j, i] = values[i, j]
    for i in range(n_features):
        others = set(range(n_features)) - {i}
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - size - 1)
            weight /= factorial(n_features)
            for known in map(frozenset, combinations(others, size)):
                values[i, i] += weight * (value(known | {i}) - value(known))
        values[i, i] -= values[i, :i].sum() + values[i, i + 1 :].sum()
    values[-1, -1] = value(frozenset())
    return values


def by_integrals(tree, left, n_features, n_points):
    """SHAP values of one row and tree from the sum over leaves."""
    x, weight = np.polynomial.legendre.leggauss(n_points)
    known, weight = (1 + x) / 2, weight / 2
    values = np.zeros(n_features + 1)
    for number, of in factors(tree, left):
        leaf = tree.leaf_value[number]
        feature = np.array(list(of), dtype=int)
        o, z = np.array(list(of.values())).reshape(-1, 2).T[:, :, None]
        part = known * o + (1 - known) * z
        part_of = leaf * weight * part.prod(axis=0) / part
        values[feature] += ((o - z) * part_of).sum(axis=1)
        values[-1] += leaf * z.prod()
    return values


def expected_interactions(ensemble, X):
    left = directions(ensemble, X)
    width = ensemble.n_features + 1
    values = np.zeros((len(X), ensemble.n_scores, width, width))
    for t, tree in enumerate(ensemble.trees):
        start = ensemble.leaf_start[t] - t
        linear = ensemble.linear and ensemble.linear.leaves(
            *ensemble.leaf_start[t:][:2]
        )
        for row in range(len(X)):
            values[row, t % ensemble.n_scores] += by_subsets(
                tree,
                left[row, start : start + tree.n_leaves - 1],
                width - 1,
                linear,
                X[row].astype(np.float64),
            )
    return values / (ensemble.n_rounds if ensemble.average else 1)


def check(ensemble, X, columns=None):
    """Compare both kinds of values with the definition."""
    columns = frame(X) if columns is None else columns
    values, pairs = contributions(ensemble, columns), interactions(ensemble, columns)
    expected = expected_interactions(ensemble, X)
    np.testing.assert_allclose(pairs, expected, **EXACT)
    np.testing.assert_allclose(values, expected.sum(axis=-1), **EXACT)
    np.testing.assert_array_equal(pairs, np.swapaxes(pairs, 2, 3))
    np.testing.assert_allclose(
        values.sum(axis=-1), ensemble.raw_scores(columns), **EXACT
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"n_scores": 3}])
def test_all_subsets(dtype, options):
    """Missing values of three kinds, trees of many shapes, features that come again."""
    _, ensemble = make(0, [2, 1, 3, 8, 12, 6], n_features=4, **options)
    X = random_data(np.random.default_rng(1), 8, 4, dtype)
    check(ensemble, X)
    check(replace(ensemble, average=True), X)


def test_categories_by_all_subsets():
    trees, _ = make(2, [4, 9, 12], n_features=4)
    sets = CategorySets(
        np.array([0, 1, 3, 3]), np.array([0b1011, 0, 0b100], dtype=np.uint32)
    )
    rng = np.random.default_rng(3)
    for tree in trees:
        categorical = tree.split_feature < 2
        tree.decision_type[categorical] = 1
        tree.threshold[categorical] = rng.integers(3, size=categorical.sum())
    X = random_data(rng, 20, 4)
    X[:, :2] = rng.choice([-1.0, 0, 1, 2, 3, 34, 1e9, np.nan, 0.5], size=(20, 2))
    check(Ensemble.from_trees(trees, 1, 4, sets=sets), X)


def with_lines(ensemble, seed):
    """The same trees with random lines of columns on the paths of their leaves."""
    rng = np.random.default_rng(seed)
    features = []
    for tree in ensemble.trees:
        for _leaf, path in sorted(paths(tree).items()):
            on_path = sorted({int(tree.split_feature[node]) for node, _ in path})
            features.append([j for j in on_path if rng.random() < 0.8])
    start = np.cumsum([0, *map(len, features)])
    feature = np.concatenate([np.empty(0), *features]).astype(np.int32)
    constant, lower = rng.normal(size=(2, len(features)))
    upper = lower + 3 * rng.random(len(features))
    lower[::3] = upper[::3] = np.nan
    coefficient, mean = rng.normal(size=(2, len(feature)))
    linear = LinearLeaves(constant, start, feature, coefficient, lower, upper, mean)
    return replace(ensemble, linear=linear)


@pytest.mark.parametrize("options", [{}, {"n_scores": 3}])
@pytest.mark.parametrize("empty", [False, True])
def test_linear_leaves_by_all_subsets(options, empty):
    """Bounds, or none; base values outside of them; missing and infinite values."""
    trees, ensemble = make(12, [2, 1, 3, 8, 12, 6], n_features=4, **options)
    if empty:
        for tree in trees:
            tree.leaf_count[::2] = 0
        ensemble = Ensemble.from_trees(trees, ensemble.n_scores, 4)
    X = np.clip(random_data(np.random.default_rng(13), 8, 4), -9, 9)
    X[::4, 1] = np.inf
    check(with_lines(ensemble, 14), X)
    check(with_lines(replace(ensemble, average=True), 15), X)


@pytest.mark.parametrize("estimator", [LGBMRegressor, LGBMClassifier])
@pytest.mark.parametrize("boosting", ["gbdt", "dart", "rf", "linear"])
def test_fitted_models_by_all_subsets(estimator, boosting):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 2])
    if estimator is LGBMClassifier:
        y = np.digitize(y, [-0.3, 0.3])
    sampling = {
        "gbdt": {},
        "dart": {"drop_rate": 0.5},
        "rf": {"subsample": 0.5, "subsample_freq": 1},
        "linear": {"linear_tree": True, "boosting_type": "gbdt"},
    }[boosting]
    options = {"boosting_type": boosting} | sampling
    model = estimator(n_estimators=3, num_leaves=8, **options).fit(X, y)
    rows = np.concatenate([X[:5], 9 * X[5:8]])
    check(model._model.trees, rows, read_columns(model, rows, reset=False))


# ------------------------------------------------------------------------ deep and odd


def chain(n_leaves, n_features=None):
    """A tree whose left children are leaves; by default its features are distinct."""
    rng = np.random.default_rng(n_leaves)
    tree = random_tree(rng, n_leaves, 1, [0.0], chain=True)
    feature = np.arange(n_leaves - 1, dtype=np.int32)
    if n_features is not None:
        feature %= n_features
    tree = replace(tree, split_feature=feature)
    return Ensemble.from_trees([tree], 1, max(1, n_features or n_leaves - 1))


@pytest.mark.parametrize(
    ("n_leaves", "n_features"),
    [(n, None) for n in (2, 3, 15, 16, 17, 18, 33, 34, 50, 200)] + [(200, 7), (90, 40)],
)
def test_paths_of_any_length(n_leaves, n_features):
    ensemble = chain(n_leaves, n_features)
    X = np.random.default_rng(5).normal(size=(4, ensemble.n_features)) + 0.7
    left = directions(ensemble, X)
    expected = [
        by_integrals(ensemble.tree(0), row, ensemble.n_features, n_leaves // 2 + 1)
        for row in left
    ]
    values = contributions(ensemble, frame(X))
    np.testing.assert_allclose(values[:, 0], expected, **EXACT)
    sums = interactions(ensemble, frame(X)).sum(axis=-1)
    np.testing.assert_allclose(sums, values, **EXACT)


def test_no_trees_and_single_leaves():
    X = np.zeros((3, 5))
    for sizes, total in (([], 0.0), ([1, 1], None)):
        trees, ensemble = make(7, sizes)
        total = sum(tree.leaf_value[0] for tree in trees)
        values = contributions(ensemble, frame(X))
        np.testing.assert_array_equal(values[:, 0, :-1], 0)
        np.testing.assert_allclose(values[:, 0, -1], total, **EXACT)
        assert interactions(ensemble, frame(X)).shape == (3, 1, 6, 6)
        (sparse,) = sparse_contributions(ensemble, frame(X))
        np.testing.assert_array_equal(sparse.toarray(), values[:, 0])
    _, ensemble = make(7, [4])
    assert contributions(ensemble, frame(X[:0])).shape == (0, 1, 6)
    assert sparse_contributions(ensemble, frame(X[:0]))[0].shape == (0, 6)


@pytest.mark.parametrize("kind", ["some", "all", "negative", "huge"])
def test_leaves_without_rows(kind):
    trees, _ = make(8, [5, 8, 3], n_features=4)
    drawn = np.random.default_rng(9).random(16) < 0.4
    for tree, empty in zip(trees, np.split(drawn, [5, 13]), strict=True):
        if kind == "huge":
            tree.leaf_count[:] = 10**18 - 1
        else:
            tree.leaf_count[empty | (kind == "all")] = -7 if kind == "negative" else 0
    ensemble = Ensemble.from_trees(trees, 1, 4)
    check(ensemble, random_data(np.random.default_rng(10), 8, 4))


@pytest.mark.parametrize(
    "function", [contributions, sparse_contributions, interactions]
)
def test_linear_leaves_without_values(function):
    _, ensemble = make(11, [3])
    rows = frame(np.zeros((1, 5)))
    lines = with_lines(ensemble, 12).linear
    mean = np.full(len(lines.mean), np.nan)
    with pytest.raises(ValueError, match="does not hold the means"):
        function(replace(ensemble, linear=lines._replace(mean=mean)), rows)
    unused = set(range(5)) - set(ensemble.arrays["split_feature"])
    feature = np.full(len(lines.mean), min(unused), dtype=np.int32)
    with pytest.raises(ValueError, match="that no node on its path tests"):
        function(replace(ensemble, linear=lines._replace(feature=feature)), rows)


def test_linear_leaves_without_lines_are_constant():
    _, ensemble = make(11, [3, 7])
    X = random_data(np.random.default_rng(12), 20, 5)
    leaves = LinearLeaves.constants(ensemble.arrays["leaf_value"])
    for function in (contributions, interactions):
        np.testing.assert_allclose(
            function(replace(ensemble, linear=leaves), frame(X)),
            function(ensemble, frame(X)),
            **EXACT,
        )


@pytest.mark.parametrize(
    "function", [contributions, sparse_contributions, interactions]
)
def test_a_wrong_number_of_columns(function):
    _, ensemble = make(11, [3])
    with pytest.raises(ValueError, match="has 4 features"):
        function(ensemble, frame(np.zeros((1, 4))))


# ---------------------------------------------------------------------- rows and bits


@pytest.fixture(scope="module")
def deep():
    """Trees of many sizes and shapes, two scores, and rows of several tiles."""
    sizes = [31, 127, 1, 64, 2, 300, 31, 9]
    _, ensemble = make(12, sizes, n_features=23, n_scores=2)
    return ensemble, random_data(np.random.default_rng(13), 1500, 23)


@pytest.mark.parametrize("function", [contributions, interactions])
def test_rows_do_not_depend_on_batch_or_threads(deep, function):
    ensemble, X = deep
    if function is interactions:
        X = X[:300]
    values = function(ensemble, frame(X))
    for n_threads in (2, 3):
        again = function(ensemble, frame(X), n_threads=n_threads)
        np.testing.assert_array_equal(again, values)
    for part in (slice(0, 1), slice(3, 20), slice(40, 299)):
        np.testing.assert_array_equal(function(ensemble, frame(X[part])), values[part])


def digest():
    sizes = [31, 127, 1, 64, 300]
    _, ensemble = make(14, sizes, n_features=11)
    X = random_data(np.random.default_rng(15), 100, 11)
    values = [
        function(each, frame(X))
        for each in (ensemble, with_lines(ensemble, 16))
        for function in (contributions, interactions)
    ]
    return hashlib.sha256(b"".join(array.tobytes() for array in values)).hexdigest()


def test_rounds(deep):
    ensemble, X = deep
    X = X[:30]
    parts = [contributions(ensemble, frame(X), r, r + 1) for r in range(4)]
    whole = contributions(ensemble, frame(X))
    np.testing.assert_allclose(sum(parts), whole, **EXACT)
    late = contributions(ensemble, frame(X), 1, 3)
    np.testing.assert_allclose(parts[1] + parts[2], late, **EXACT)
    mean = contributions(replace(ensemble, average=True), frame(X), 1, 3)
    np.testing.assert_array_equal(mean, late / 2)
    pairs = interactions(ensemble, frame(X), 1, 3)
    np.testing.assert_allclose(pairs.sum(axis=-1), late, **EXACT)
    assert not contributions(ensemble, frame(X), 2, 1).any()
    with pytest.raises(ValueError, match="start_round"):
        contributions(ensemble, frame(X), -1)


def test_sparse_rows_and_values():
    rng = np.random.default_rng(16)
    X = scipy.sparse.random(400, 300, 0.1, "csr", random_state=rng)
    y = np.digitize(np.asarray(X[:, :20].sum(axis=1)).ravel(), [0.5, 1.2])
    model = LGBMClassifier(n_estimators=5, num_leaves=7).fit(X, y)
    sparse = read_columns(model, X, reset=False)
    dense = read_columns(model, X.toarray(), reset=False)
    values = contributions(model._model.trees, dense)
    np.testing.assert_array_equal(contributions(model._model.trees, sparse), values)
    found = sparse_contributions(model._model.trees, sparse, n_threads=2)
    assert len(found) == 3
    for score, matrix in enumerate(found):
        assert matrix.format == "csr"
        assert matrix.has_canonical_format
        assert matrix.nnz < 400 * 60
        np.testing.assert_array_equal(matrix.toarray(), values[:, score])
    late = sparse_contributions(model._model.trees, sparse, 2, 4)[1].toarray()
    np.testing.assert_array_equal(
        late, contributions(model._model.trees, dense, 2, 4)[:, 1]
    )


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "unaligned", "strided"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_values_are_csc_if_the_rows_are_else_csr(form, n_classes):
    rng = np.random.default_rng(18)
    csr = scipy.sparse.random(100, 8, 0.3, "csr", random_state=rng)
    y = np.digitize(np.asarray(csr.sum(axis=1)).ravel(), [0.8, 1.6][: n_classes - 1])
    model = LGBMClassifier(n_estimators=3, num_leaves=4).fit(csr, y)
    if form == "strided":
        values = np.repeat(csr.data, 2)[::2]
    elif form == "unaligned":
        values = np.frombuffer(b"0" + csr.data.tobytes(), np.float64, offset=1)
    if form in ("strided", "unaligned"):
        X = csr.copy()
        X.data = values
    else:
        X = csr.asformat(form)
    expected = model.predict(csr, pred_contrib=True)
    found = model.predict(X, pred_contrib=True)
    pairs = [(found, expected)] if n_classes == 2 else zip(found, expected, strict=True)
    for values, of_csr in pairs:
        assert values.format == ("csc" if form == "csc" else "csr")
        np.testing.assert_array_equal(values.toarray(), of_csr.toarray())


def test_memory_is_proportional_to_the_used_columns():
    """A dense result would need 160 gigabytes."""
    n_features = 20_000_000
    rng = np.random.default_rng(17)
    tree = random_tree(rng, 6, 1, [0.5])
    feature = np.array([3, 7, 7, 19_999_999, 12], dtype=np.int32)
    tree = replace(tree, split_feature=feature)
    ensemble = Ensemble.from_trees([tree], 1, n_features)
    used = rng.normal(size=(1000, 4))
    at = {3: 0, 7: 1, 12: 2, 19_999_999: 3}
    columns = frame(used).take(np.zeros(n_features, dtype=np.int64))
    for feature, place in at.items():
        columns.address[feature] = frame(used).address[place]
    (matrix,) = sparse_contributions(ensemble, columns)
    assert matrix.nnz == 5000
    narrow = replace(tree, split_feature=np.array([0, 1, 1, 3, 2], dtype=np.int32))
    expected = contributions(Ensemble.from_trees([narrow], 1, 4), frame(used))
    np.testing.assert_array_equal(matrix.data.reshape(1000, 5), expected[:, 0])


def test_tables_are_kept_as_long_as_the_ensemble(deep):
    _, ensemble = make(18, [5])
    before = pickle.dumps(ensemble)
    contributions(ensemble, frame(np.zeros((2, 5))))
    assert pickle.dumps(ensemble) == before
    seen = weakref.ref(ensemble)
    del ensemble
    gc.collect()
    assert seen() is None


# --------------------------------------------------------------------- other libraries


def of_lightgbm(booster, **options):
    """The ensemble of a LightGBM model; sets of categories are numbered through."""
    text = booster.model_to_string()
    trees, start, words = parse_lightgbm(text), [0], []
    for tree, block in zip(trees, text.split("\nTree=")[1:], strict=True):
        lines = block.split("\n\n")[0].splitlines()[1:]
        given = dict(line.split("=", 1) for line in lines)
        tree.threshold[tree.decision_type & 1 != 0] += len(start) - 1
        if "cat_threshold" in given:
            bounds = np.array(given["cat_boundaries"].split(), dtype=int)
            start += (bounds[1:] + len(words)).tolist()
            words += [int(word) for word in given["cat_threshold"].split()]
    sets = CategorySets(np.array(start), np.array(words, dtype=np.uint32))
    n_scores = booster.num_model_per_iteration()
    return Ensemble.from_trees(
        trees, n_scores, booster.num_feature(), sets=sets, **options
    )


def lightgbm_data():
    rng = np.random.default_rng(19)
    X = rng.normal(size=(1500, 8))
    X[:, 4] = rng.integers(0, 40, size=1500)
    y = X[:, 0] * X[:, 1] + np.where(X[:, 4] % 3 > 1, X[:, 2], X[:, 5])
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = 0
    return X, y


@pytest.mark.parametrize(
    "params",
    [
        {"num_leaves": 63},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"categorical_feature": [4]},
        {"num_leaves": 400, "min_data_in_leaf": 1},
        {"boosting": "dart"},
        {"objective": "multiclass", "num_class": 3},
        {"objective": "binary", "bagging_fraction": 0.5, "bagging_freq": 1},
    ],
    ids=lambda params: " ".join(params),
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lightgbm_has_the_same_values(params, dtype, lightgbm):
    X, y = lightgbm_data()
    if "objective" in params:
        y = np.digitize(y, [-0.5, 0.5] if params["objective"] == "multiclass" else [0])
    params = {"objective": "regression"} | params
    params |= {"verbosity": -1, "num_threads": 1, "min_data_per_group": 5}
    categorical = params.pop("categorical_feature", "auto")
    data = lightgbm.Dataset(X, y, categorical_feature=categorical)
    booster = lightgbm.train(params, data, num_boost_round=10)
    ensemble, X = of_lightgbm(booster), X[:200].astype(dtype)
    for first, stop in ((0, 10), (3, 7)):
        expected = booster.predict(
            X, pred_contrib=True, start_iteration=first, num_iteration=stop - first
        ).reshape(len(X), ensemble.n_scores, -1)
        values = contributions(ensemble, frame(X), first, stop)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10 * scale)
