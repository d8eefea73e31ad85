"""Trees as nodes of an ONNX graph: thresholds, categories, sums and links."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.trees import frame, make, random_data, random_tree
from skgoss import LGBMRegressor
from skgoss._engine.binning.bin_bounds import ZERO_BOUND
from skgoss._engine.objectives import link_kernels
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import OBJECTIVES

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from helpers.onnx_sessions import assert_same, run, session  # noqa: E402
from skgoss.export import onnx_trees, to_onnx  # noqa: E402


def at_the_thresholds(model, X):
    """Rows of X, each with a value at a threshold, next to it, or a special one."""
    arrays = model._model.trees.arrays
    feature, threshold = arrays["split_feature"], arrays["threshold"]
    tiny = [ZERO_BOUND, np.nextafter(ZERO_BOUND, 1), 1e-36, 1e-35, -0.0, 0.0]
    special = np.array([*tiny, np.inf, np.nan])
    float32 = threshold.astype(np.float32)
    values = [
        *(np.nextafter(threshold, side) for side in (-np.inf, np.inf)),
        *(np.nextafter(float32, np.float32(side)) for side in (-np.inf, np.inf)),
        *(threshold, float32),
        *(np.full(len(threshold), value) for value in [*special, *-special]),
    ]
    rows = np.tile(X[: len(feature)], (len(values), 1))
    place = np.arange(len(rows)), np.tile(feature, len(values))
    rows[place] = np.concatenate(values)
    return rows


KINDS = {
    "NaN is missing": {},
    "zeros are missing": {"zero_as_missing": True},
    "nothing is missing": {"use_missing": False},
    "linear leaves": {"linear_tree": True},
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_values_at_thresholds(data, options, dtype):
    X, y = data
    model = LGBMRegressor(n_estimators=8, num_leaves=7, n_jobs=1, **options).fit(X, y)
    rows = at_the_thresholds(model, X)
    with np.errstate(over="ignore", under="ignore"):
        rows = rows.astype(dtype)
    (scores,) = run(model, rows)
    assert scores.dtype == dtype
    assert_same(scores, model.predict(rows))


def leaves_of(ensemble, X):
    """Raw scores by ONNX of an ensemble that no estimator has."""
    graph = onnx_trees.Graph(to_onnx._UniqueNames())
    scores = onnx_trees.add_scores(graph, "X", ensemble, {})
    value = to_onnx.Value("X", np.dtype(float), X.shape[1])
    output = to_onnx.Value(scores, np.dtype(float), ensemble.n_scores)
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "scores",
            [to_onnx._value_info(value)],
            [to_onnx._value_info(output)],
            graph.constants,
        ),
        ir_version=to_onnx._FORMAT,
        opset_imports=[
            onnx.helper.make_opsetid(*p) for p in onnx_trees.OPERATORS.items()
        ],
    )
    return session(proto).run(None, {"X": X})[0]


@pytest.mark.parametrize("n_scores", [1, 3])
def test_all_kinds_of_missing_in_one_column(n_scores):
    _, ensemble = make(0, [2, 1, 7, 31, 1, 64, 3, 2, 100], n_scores=n_scores)
    X = random_data(np.random.default_rng(1), 300, 5)
    assert_same(leaves_of(ensemble, X), ensemble.raw_scores(frame(X)))


def test_sets_of_categories():
    """Even empty ones, with numeric nodes of the same column."""
    rng = np.random.default_rng(2)
    members = [[], [0], [31], [1, 2, 3], [0, 30, 32], range(0, 90, 2), [64], range(40)]
    words = np.zeros((len(members), 3), dtype=np.uint32)
    for number, numbers in enumerate(members):
        for c in numbers:
            words[number, c // 32] |= np.uint32(1 << c % 32)
    sets = CategorySets(3 * np.arange(len(members) + 1), words.ravel())
    trees = []
    for n_leaves in (2, 10, 40):
        tree = random_tree(rng, n_leaves, 2, [-0.5, 3.5, 31.0])
        is_set = rng.random(n_leaves - 1) < 0.7
        tree.decision_type[is_set] = 1
        tree.threshold[is_set] = rng.integers(len(members), size=is_set.sum())
        trees.append(tree)
    ensemble = Ensemble.from_trees(trees, 1, 2, sets=sets)
    values = [
        *range(-1, 98),
        0.5,
        -0.5,
        2.5,
        31.5,
        1e10,
        -1e300,
        np.inf,
        -np.inf,
        np.nan,
    ]
    X = rng.choice(values, size=(600, 2))
    assert_same(leaves_of(ensemble, X), ensemble.raw_scores(frame(X)))


def test_sums_are_exact():
    """The digits of leaves are summed without rounding, on any number of threads."""
    trees, ensemble = make(3, [20] * 300)
    for tree in trees:
        tree.leaf_value[:] *= 10.0 ** np.random.default_rng(4).integers(-9, 9, size=20)
    ensemble = Ensemble.from_trees(trees, 1, 5)
    X = random_data(np.random.default_rng(5), 200, 5)
    leaf = ensemble.leaves(frame(X))
    exact = [
        math.fsum(tree.leaf_value[at] for tree, at in zip(trees, row, strict=True))
        for row in leaf
    ]
    largest = sum(np.abs(tree.leaf_value).max() for tree in trees)
    error = np.abs(leaves_of(ensemble, X)[:, 0] - exact).max()
    assert error < 2**-50 * largest


@pytest.mark.parametrize("scale", [1e-250, 1e-30, 1e30, 1e300])
def test_values_that_float32_cannot_hold(data, scale):
    trees, _ = make(6, [9] * 5)
    for tree in trees:
        tree.leaf_value[:] *= scale
    ensemble = Ensemble.from_trees(trees, 1, 5)
    X = random_data(np.random.default_rng(7), 50, 5)
    assert_same(leaves_of(ensemble, X), ensemble.raw_scores(frame(X)))


def test_values_too_small_for_digits():
    trees, _ = make(6, [9] * 5)
    for tree in trees:
        tree.leaf_value[:] = 1e-310
    (score,) = leaves_of(Ensemble.from_trees(trees, 1, 5), np.zeros((1, 5)))
    assert 0 <= score < 1e-300


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e308])
def test_values_whose_sums_are_infinite(value):
    trees, _ = make(8, [9] * 5)
    for tree in trees:
        tree.leaf_value[0] = value
    with pytest.raises(ValueError, match="sums must be finite"):
        leaves_of(Ensemble.from_trees(trees, 1, 5), np.zeros((1, 5)))


def test_every_link_is_there():
    assert set(to_onnx._LINKS) == {*link_kernels.LINKS, "softmax"}
    assert set(to_onnx._LINKS) >= {
        kind.link for kind in OBJECTIVES.values() if kind.distribution is None
    }


@pytest.mark.parametrize(("kind", "function"), to_onnx._LINKS.items())
def test_links_in_both_tails(kind, function):
    """Scores far from 0 keep their relative precision."""
    scores = np.concatenate([np.linspace(-700, 700, 999), [0.0, -1e-9, 1e-17]])
    link = Link(kind, 0.9)
    graph = onnx_trees.Graph(to_onnx._UniqueNames())
    inputs = to_onnx.Value("f", np.dtype(float), 2)
    name = function(graph, graph.add("Identity", "f"), link)
    output = inputs._replace(name=name)
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            kind,
            [to_onnx._value_info(inputs)],
            [to_onnx._value_info(output)],
            graph.constants,
        ),
        ir_version=to_onnx._FORMAT,
        opset_imports=[onnx.helper.make_opsetid("", 13)],
    )
    f = np.stack([scores, np.zeros(len(scores))], axis=1)
    actual = session(proto).run(None, {"f": f})[0]
    np.testing.assert_allclose(actual, link(f), rtol=1e-12, err_msg=kind)
