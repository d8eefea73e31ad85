"""Trees as nodes of an ONNX graph.

The trees are one ``TreeEnsembleRegressor``. It compares double inputs with double
thresholds, but it returns float32. So each leaf value is written as three digits, in
units that are powers of two:

    value = digit 0 * unit 0 + digit 1 * unit 1 + digit 2 * unit 2

The operator sums each digit over the trees. The sums of the first two are whole numbers
that float32 represents exactly, so the scores have the precision of double, on any
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import (
    CATEGORICAL,
    ZERO_BOUND,
    nan_goes_left,
    zero_is_missing,
    zero_tree,
)

# The versions of ONNX's operators that a graph needs, by domain.
MACHINE_LEARNING = "ai.onnx.ml"
OPERATORS = {"": 13, MACHINE_LEARNING: 3}

# The number of digits of a leaf value, and the bits of the sum of a digit: float32 has
# 24.
N_DIGITS = 3
DIGIT_BITS = 23

# The smallest exponent of the first unit, so that the last unit is not zero.
_MIN_EXPONENT = -900

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Graph:
    """The nodes and constants of a graph, in the order of evaluation.

    ``unique`` makes a name unique in the graph.
    """

    def __init__(self, unique: Callable[[str], str]) -> None:
        self.unique = unique
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(
        self,
        operator: str,
        *inputs: str,
        output: str | None = None,
        n_unused: int = 0,
        **attributes: Any,
    ) -> str:
        """Add a node, and return the name of its first output.

        ``n_unused`` is the number of further outputs. Attributes are those of the
        operator, and ``domain``.
        """
        from onnx import helper

        output = self.unique(operator) if output is None else output
        unused = [self.unique(operator) for _ in range(n_unused)]
        node = helper.make_node(operator, inputs, [output, *unused], **attributes)
        self.nodes.append(node)
        return output

    def constant(self, values: Any) -> str:
        """Add a constant, and return its name."""
        from onnx import numpy_helper

        name = self.unique("constant")
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def cast(self, value: str, dtype: Any, output: str | None = None) -> str:
        """Add a conversion to a dtype of NumPy."""
        from onnx import helper

        to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", value, to=to, output=output)


class _Tests(NamedTuple):
    """The nodes of trees as chains of tests: ONNX has no tests for sets.

    A row goes to ``true`` after the first test of a chain that holds, and to ``false``
    if none does. A numeric node is a chain of one test, "value <= threshold". A node of
    a set of categories has a test "value == category" for each member.
    """

    number: Ints  # (n_chains,): the number of the node that the chain stands for
    # (n_chains,): the tree of the chain, and the nodes or leaves where rows go.
    tree: Ints
    true: Ints
    false: Ints
    length: Ints  # (n_chains,): the number of tests, at least 1
    # (n_tests,): the column that a test reads; 1 if the test holds for NaN.
    column: Ints
    missing: Ints
    # (n_tests,): whether the test is "==" and not "<=".
    is_equality: NDArray[np.bool_]
    value: Floats  # (n_tests,)


class _Leaves(NamedTuple):
    """All leaves, with their values; of linear leaves, their indices in the tree."""

    number: Ints  # (n,): the number of the leaf
    tree: Ints  # (n,)
    value: Floats  # (n,)


class _Columns(NamedTuple):
    """Columns of the input that tests read in another form.

    The derived columns follow those of the input.
    """

    zero: Ints  # (n,): columns whose zeros are missing values, and become NaN
    # (n,): columns whose values are the numbers of categories, and are truncated.
    whole: Ints


def add_scores(
    graph: Graph, X: str, ensemble: Ensemble, category_values: Mapping[int, Floats]
) -> str:
    """Add the nodes that compute raw scores, and return the name of the scores.

    They have the shape (n, n_scores), double. ``X`` is the name of a double matrix of
    shape (n, n_features). ``category_values`` has the value of each category, by
    column. In other columns, the value of a category is its number, and input is
    truncated. The ensemble has at least one round. ValueError if sums of leaf values
    are not finite.
    """
    columns = _derived_columns(ensemble, category_values)
    tests = _node_tests(ensemble, columns, category_values)
    extended, leaves = _with_derived_columns(graph, X, columns), _leaves(ensemble)
    if ensemble.linear is not None:
        sums = _tree_sums(
            graph, extended, tests, leaves, leaves.tree[:, None], leaves.value[:, None]
        )
        return _linear_scores(graph, X, ensemble, ensemble.linear, sums)
    digits, unit = _digits(leaves, ensemble)
    target = leaves.tree[:, None] % ensemble.n_scores * N_DIGITS + np.arange(N_DIGITS)
    sums = _tree_sums(graph, extended, tests, leaves, target, digits)
    scaled = graph.add("Mul", sums, graph.constant(unit.ravel()))
    return _summed(graph, _reshaped(graph, scaled, (-1, *unit.shape)))


def rounds(ensemble: Ensemble, first: int, stop: int) -> Ensemble:
    """The rounds ``first`` to ``stop - 1``; if there are none, trees of value 0."""
    n_scores, n_features = ensemble.n_scores, ensemble.n_features
    if first == stop:
        return Ensemble.from_trees([zero_tree()] * n_scores, n_scores, n_features)
    trees = slice(first * n_scores, stop * n_scores)
    leaves = ensemble.leaf_start[[trees.start, trees.stop]]
    return Ensemble.from_trees(
        [ensemble.tree(index) for index in range(trees.start, trees.stop)],
        n_scores,
        n_features,
        sets=ensemble.sets,
        average=ensemble.average,
        linear=ensemble.linear and ensemble.linear.leaves(*leaves),
    )


# --- Columns --------------------------------------------------------------------------


def _derived_columns(
    ensemble: Ensemble, category_values: Mapping[int, Floats]
) -> _Columns:
    """The columns that tests read in another form.

    ``category_values`` has the value of each category, by column.
    """
    feature, decision = (
        ensemble.arrays["split_feature"],
        ensemble.arrays["decision_type"],
    )
    return _Columns(
        np.unique(feature[zero_is_missing(decision)]),
        np.setdiff1d(feature[decision & CATEGORICAL != 0], [*category_values]),
    )


def _with_derived_columns(graph: Graph, X: str, columns: _Columns) -> str:
    """Append the derived columns to the matrix ``X``; return the name of the result."""
    matrices = [X]
    if len(columns.zero):
        values = _taken(graph, X, columns.zero)
        is_zero = graph.add(
            "LessOrEqual", graph.add("Abs", values), graph.constant(ZERO_BOUND)
        )
        matrices.append(graph.add("Where", is_zero, graph.constant(np.nan), values))
    if len(columns.whole):
        values = _taken(graph, X, columns.whole)
        whole = graph.add("Floor", graph.add("Abs", values))
        matrices.append(graph.add("Mul", graph.add("Sign", values), whole))
    return graph.add("Concat", *matrices, axis=1) if len(matrices) > 1 else X


def _taken(graph: Graph, X: str, columns: Ints) -> str:
    """Some columns of a matrix."""
    return graph.add("Gather", X, graph.constant(columns.astype(np.int64)), axis=1)


def _reshaped(graph: Graph, value: str, shape: tuple[int, ...]) -> str:
    return graph.add("Reshape", value, graph.constant(np.array(shape)))


def _summed(graph: Graph, value: str, axis: int = 2) -> str:
    """The sums over one of three axes."""
    return graph.add("ReduceSum", value, graph.constant(np.array([axis])), keepdims=0)


# --- Linear leaves --------------------------------------------------------------------


def _linear_scores(
    graph: Graph, X: str, ensemble: Ensemble, linear: LinearLeaves, number: str
) -> str:
    """The scores of linear leaves.

    ``number`` is the name of a matrix, (n, n_trees): the index of each row's leaf in
    each tree. The models of these leaves are gathered from tables of columns,
    coefficients and bounds, (n_leaves, length of the longest model), which are padded
    with terms that are not added. Rows whose model is not finite get the leaf's value.
    """
    n_terms, n_trees = np.diff(linear.start), ensemble.n_trees
    is_term = np.arange(n_terms.max(initial=1)) < n_terms[:, None]
    feature, coefficient = np.zeros(is_term.shape, np.int64), np.zeros(is_term.shape)
    feature[is_term], coefficient[is_term] = linear.feature, linear.coefficient
    first = graph.constant(ensemble.leaf_start[:-1])
    leaf = graph.add("Add", graph.cast(number, np.int64), first)

    def per_leaf(table: NDArray[Any]) -> str:
        return graph.add("Gather", graph.constant(table), leaf)

    column = _reshaped(graph, per_leaf(feature), (-1, n_trees * is_term.shape[1]))
    values = graph.add("GatherElements", X, column, axis=1)
    values = _reshaped(graph, values, (-1, n_trees, is_term.shape[1]))
    terms = graph.add("Mul", values, per_leaf(coefficient))
    terms = graph.add("Where", per_leaf(is_term), terms, graph.constant(0.0))
    prediction = graph.add("Add", per_leaf(linear.constant), _summed(graph, terms))
    largest = graph.constant(np.finfo(np.float64).max)
    is_finite = graph.add("LessOrEqual", graph.add("Abs", prediction), largest)
    for operator, bounds, none in (
        ("Max", linear.lower, -np.inf),
        ("Min", linear.upper, np.inf),
    ):
        prediction = graph.add(
            operator, prediction, per_leaf(np.nan_to_num(bounds, nan=none))
        )
    value = per_leaf(ensemble.arrays["leaf_value"])
    value = graph.add("Where", is_finite, prediction, value)
    value = _reshaped(graph, value, (-1, ensemble.n_rounds, ensemble.n_scores))
    scores = _summed(graph, value, axis=1)
    if not ensemble.average:
        return scores
    return graph.add("Div", scores, graph.constant(float(ensemble.n_rounds)))


# --- Nodes and leaves -----------------------------------------------------------------


def _leaves(ensemble: Ensemble) -> _Leaves:
    """The leaves of all trees, which are numbered after all nodes.

    The value of a linear leaf is its index in the tree, by which its model is found.
    """
    start, value = ensemble.leaf_start, ensemble.arrays["leaf_value"]
    tree = np.repeat(np.arange(ensemble.n_trees), np.diff(start))
    number = np.arange(len(value))
    if ensemble.linear is not None:
        value = (number - start[tree]).astype(np.float64)
    return _Leaves(len(ensemble.arrays["split_feature"]) + number, tree, value)


def _node_tests(
    ensemble: Ensemble, columns: _Columns, category_values: Mapping[int, Floats]
) -> _Tests:
    """The tests of all nodes.

    All nodes are numbered first, and then all leaves. ``category_values`` has the value
    of each category, by column; in other columns, it is its number.
    """
    arrays, start = ensemble.arrays, ensemble.leaf_start
    decision, threshold = arrays["decision_type"], arrays["threshold"]
    feature = arrays["split_feature"].astype(np.int64)
    n_nodes, first_leaf = len(feature), start[:-1]
    tree = np.repeat(np.arange(ensemble.n_trees), np.diff(start) - 1)
    first_node = first_leaf - np.arange(ensemble.n_trees)

    def targets(child: NDArray[np.int32]) -> Ints:
        leaf = n_nodes + first_leaf[tree] + ~child
        return np.where(child < 0, leaf, first_node[tree] + child)

    is_set = decision & CATEGORICAL != 0
    members = [
        _members(ensemble.sets, int(number), category_values.get(column))
        for number, column in zip(
            threshold[is_set], feature[is_set].tolist(), strict=True
        )
    ]
    length = np.ones(n_nodes, dtype=np.int64)
    length[is_set] = [len(values) for values in members]
    is_equality = np.repeat(is_set, length)
    value = np.empty(len(is_equality))
    value[~is_equality] = threshold[~is_set]
    value[is_equality] = np.concatenate([np.empty(0), *members])
    is_zero = zero_is_missing(decision)
    is_whole = is_set & np.isin(feature, columns.whole)
    column, first = feature.copy(), ensemble.n_features
    for derived, chosen in ((columns.zero, is_zero), (columns.whole, is_whole)):
        column[chosen] = first + np.searchsorted(derived, feature[chosen])
        first += len(derived)
    return _Tests(
        np.arange(n_nodes),
        tree,
        targets(arrays["left_child"]),
        targets(arrays["right_child"]),
        length,
        np.repeat(column, length),
        np.repeat(nan_goes_left(decision, threshold).astype(np.int64), length),
        is_equality,
        value,
    )


def _members(sets: CategorySets, number: int, values: Floats | None) -> Floats:
    """The values of the categories in a set; if it is empty, NaN, which equals none."""
    codes = sets.categories(number)
    if values is None:
        members = codes.astype(np.float64)
    else:
        members = values[codes[codes < len(values)]]
    return members if len(members) else np.array([np.nan])


# --- Attributes of the operator -------------------------------------------------------


def _nodes(tests: _Tests, leaves: _Leaves) -> dict[str, Any]:
    """The attributes of the operator that describe the tests and leaves.

    The first test of a chain has the number of its node, and the others have new
    numbers. Several tests may lead to one target if they hold, but only one test if it
    fails: onnxruntime needs this.
    """
    from onnx import numpy_helper

    n_tests, stop = len(tests.value), np.cumsum(tests.length)
    is_first = np.zeros(n_tests, dtype=bool)
    is_first[stop - tests.length] = True
    number = np.empty(n_tests, dtype=np.int64)
    number[is_first] = tests.number
    number[~is_first] = (
        len(tests.number) + len(leaves.number) + np.arange((~is_first).sum())
    )
    false = np.append(number[1:], 0)
    false[stop - 1] = tests.false
    tree = np.repeat(tests.tree, tests.length)
    true = np.repeat(tests.true, tests.length)
    mode = np.where(tests.is_equality, "BRANCH_EQ", "BRANCH_LEQ")
    leaf = leaves.number
    columns = {
        "nodes_treeids": (tree, leaves.tree),
        "nodes_nodeids": (number, leaf),
        "nodes_modes": (mode, np.full(len(leaf), "LEAF")),
        "nodes_featureids": (tests.column, np.zeros_like(leaf)),
        "nodes_truenodeids": (true, np.zeros_like(leaf)),
        "nodes_falsenodeids": (false, np.zeros_like(leaf)),
        "nodes_missing_value_tracks_true": (tests.missing, np.zeros_like(leaf)),
        "nodes_values_as_tensor": (tests.value, np.zeros(len(leaf))),
    }
    joined = {name: np.concatenate(arrays) for name, arrays in columns.items()}
    # Trees one after the other; the root has the smallest number of its tree.
    order = np.lexsort((joined["nodes_nodeids"], joined["nodes_treeids"]))
    value = joined.pop("nodes_values_as_tensor")[order]
    return {
        "nodes_values_as_tensor": numpy_helper.from_array(value, "values"),
        **{name: values[order].tolist() for name, values in joined.items()},
    }


def _tree_sums(
    graph: Graph, X: str, tests: _Tests, leaves: _Leaves, target: Ints, weight: Floats
) -> str:
    """The sums over the trees of the weights of a row's leaves.

    Each leaf adds n numbers to n sums. ``weight``, (n_leaves, n), are these numbers,
    and ``target``, of the same shape, the index of the sum to which each is added. Each
    sum has a leaf in some tree. Results are exact if float32 represents them.
    """
    from onnx import numpy_helper

    n = target.shape[1]
    sums = graph.add(
        "TreeEnsembleRegressor",
        X,
        domain=MACHINE_LEARNING,
        n_targets=int(target.max()) + 1,
        target_treeids=np.repeat(leaves.tree, n).tolist(),
        target_nodeids=np.repeat(leaves.number, n).tolist(),
        target_ids=target.ravel().tolist(),
        target_weights_as_tensor=numpy_helper.from_array(weight.ravel(), "weights"),
        **_nodes(tests, leaves),
    )
    return graph.cast(sums, np.float64)


def _digits(leaves: _Leaves, ensemble: Ensemble) -> tuple[Floats, Floats]:
    """The digits of all leaves, (n, N_DIGITS), and their units, (n_scores, N_DIGITS).

    ONNX adds float32: values are written as sums of digits times units, whose sums over
    the trees are exact. A unit is chosen so that no sum of its digit exceeds
    2**DIGIT_BITS. The last digit is not rounded.
    """
    remainder, n_scores = leaves.value.copy(), ensemble.n_scores
    largest = np.maximum.reduceat(np.abs(remainder), ensemble.leaf_start[:-1])
    with np.errstate(over="ignore"):
        bound = largest.reshape(-1, n_scores).sum(axis=0)
    if not np.isfinite(bound).all():
        raise ValueError(
            "the values of the leaves are too large for ONNX: their sums must be finite"
        )
    score = leaves.tree % n_scores
    digits, units = np.empty((len(remainder), N_DIGITS)), []
    for j in range(N_DIGITS):
        exponent = np.maximum(np.frexp(bound)[1], _MIN_EXPONENT) - DIGIT_BITS
        unit = np.ldexp(1.0, exponent)
        digit = remainder / unit[score]
        digits[:, j] = digit if j == N_DIGITS - 1 else np.rint(digit)
        remainder -= digits[:, j] * unit[score]
        bound = ensemble.n_rounds * unit / 2
        units.append(unit)
    n_summed = ensemble.n_rounds if ensemble.average else 1
    return digits, np.stack(units, axis=-1) / n_summed
