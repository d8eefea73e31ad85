"""Trees as nodes of an ONNX graph.

The trees are one ``TreeEnsembleRegressor``. It compares double inputs with double
thresholds, but it returns float32. So each leaf value is written as three numbers, the
digits of the value in units that are powers of two. Sums of the first two digits are
whole numbers that float32 holds exactly, so the sum of the three has the precision of
double, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.bin_kernels import ZERO_BOUND
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import (
    CATEGORICAL,
    nan_goes_left,
    zero_is_missing,
    zero_tree,
)

# The versions of ONNX's operators that a graph needs, by domain.
MACHINE_LEARNING = "ai.onnx.ml"
OPERATORS = {"": 13, MACHINE_LEARNING: 3}

# Digits of a leaf value, and the bits of a sum of them: float32 holds 24.
N_DIGITS = 3
DIGIT_BITS = 23

# The smallest exponent of a unit for which all digits have units above zero.
_MIN_EXPONENT = -900

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Graph:
    """The nodes and constants of a graph, in the order of evaluation.

    Parameters
    ----------
    unique : callable (str) -> str
        Makes a name that no other value of the graph has.

    Attributes
    ----------
    nodes : list of onnx.NodeProto
    constants : list of onnx.TensorProto
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

        ``n_unused`` is the number of its other outputs. Attributes are those of the
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
    """Chains of tests. A row goes to ``true`` after the first test that holds.

    A numeric node is a chain of one test, a set of categories a test for each member.

    Attributes
    ----------
    place : (n_chains,) int64
        The number of the node or leaf that the chain stands for.
    tree, true, false : (n_chains,) int64
        The tree of the chain; the places where rows go, ``false`` after all tests.
    length : (n_chains,) int64
        The number of tests, at least 1.
    column, missing : (n_tests,) int64
        The column that a test reads; 1 if the test holds for NaN.
    is_equality : (n_tests,) bool
        Whether values must be equal to ``value``, else they must not be above it.
    value : (n_tests,) float64
    """

    place: Ints
    tree: Ints
    true: Ints
    false: Ints
    length: Ints
    column: Ints
    missing: Ints
    is_equality: NDArray[np.bool_]
    value: Floats


class _Leaves(NamedTuple):
    """The numbers that rows in leaves add to their sums.

    Attributes
    ----------
    place : (n,) int64
        The number of the leaf.
    tree : (n,) int64
    term : (n,) int64
        0 for a value, 1 + j for a coefficient of the column ``_Columns.linear[j]``.
    value : (n,) float64
    """

    place: Ints
    tree: Ints
    term: Ints
    value: Floats


class _Columns(NamedTuple):
    """Columns of the input that tests read in another form, after those of the input.

    Attributes
    ----------
    zero : (n,) int64
        Columns in which zeros are missing: NaN stands for them.
    whole : (n,) int64
        Columns whose numbers are categories themselves: their fractions are cut off.
    linear : (n,) int64
        Columns of linear leaves: minus their absolute values.
    """

    zero: Ints
    whole: Ints
    linear: Ints


def add_scores(
    graph: Graph,
    X: str,
    ensemble: Ensemble,
    category_values: Mapping[int, Floats],
) -> str:
    """Add the nodes that compute raw scores, and return the name of the scores.

    They have the shape (n, n_scores), double. ``X`` is the name of a double matrix of
    shape (n, n_features). ``category_values`` has the value that stands for each
    category, by column; in other columns, the number of the category stands for itself,
    and fractions are cut off. The ensemble has at least one round. ValueError if sums
    of leaf values are not finite.
    """
    columns = _derived_columns(ensemble, category_values)
    tests, leaves = _places(ensemble, columns, category_values)
    n_terms = 1 + len(columns.linear)
    digits, unit = _digits(leaves, ensemble, n_terms)
    sums = graph.add(
        "TreeEnsembleRegressor",
        _wide(graph, X, columns),
        domain=MACHINE_LEARNING,
        n_targets=unit.size,
        **_nodes(tests, leaves),
        **_targets(leaves, digits, ensemble.n_scores, n_terms),
    )
    sums = graph.cast(sums, np.float64)
    scaled = graph.add("Mul", sums, graph.constant(unit.ravel()))
    terms = _sums_of(graph, scaled, (-1, ensemble.n_scores * n_terms, N_DIGITS))
    if n_terms == 1:
        return terms
    factors = _linear_factors(graph, X, columns.linear)
    terms = _reshaped(graph, terms, (-1, ensemble.n_scores, n_terms))
    return _sums_of(graph, graph.add("Mul", terms, factors))


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
    feature, decision = (
        ensemble.arrays["split_feature"],
        ensemble.arrays["decision_type"],
    )
    linear = ensemble.linear
    return _Columns(
        np.unique(feature[zero_is_missing(decision)]),
        np.setdiff1d(feature[decision & CATEGORICAL != 0], [*category_values]),
        np.unique(linear.feature) if linear else np.empty(0, dtype=np.int64),
    )


def _wide(graph: Graph, X: str, columns: _Columns) -> str:
    """The matrix with the derived columns."""
    parts = [X]
    if len(columns.zero):
        values = _taken(graph, X, columns.zero)
        is_zero = graph.add(
            "LessOrEqual", graph.add("Abs", values), graph.constant(ZERO_BOUND)
        )
        parts.append(graph.add("Where", is_zero, graph.constant(np.nan), values))
    if len(columns.whole):
        values = _taken(graph, X, columns.whole)
        whole = graph.add("Floor", graph.add("Abs", values))
        parts.append(graph.add("Mul", graph.add("Sign", values), whole))
    if len(columns.linear):
        values = _taken(graph, X, columns.linear)
        parts.append(graph.add("Neg", graph.add("Abs", values)))
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else X


def _taken(graph: Graph, X: str, columns: Ints) -> str:
    return graph.add("Gather", X, graph.constant(columns.astype(np.int64)), axis=1)


def _linear_factors(graph: Graph, X: str, linear: Ints) -> str:
    """The factor of each term, of shape (n, 1, n_terms): 1, and the columns.

    Where a value is not finite, the sum of its coefficients is 0. The factor is 0 as
    well, because the product of 0 and NaN is NaN.
    """
    values = _taken(graph, X, linear)
    is_finite = graph.add(
        "LessOrEqual",
        graph.add("Abs", values),
        graph.constant(np.finfo(np.float64).max),
    )
    values = graph.add("Where", is_finite, values, graph.constant(0.0))
    pads = graph.constant(np.array([0, 1, 0, 0]))
    factors = graph.add("Pad", values, pads, graph.constant(1.0))
    return _reshaped(graph, factors, (-1, 1, 1 + len(linear)))


def _reshaped(graph: Graph, value: str, shape: tuple[int, ...]) -> str:
    return graph.add("Reshape", value, graph.constant(np.array(shape)))


def _sums_of(graph: Graph, value: str, shape: tuple[int, ...] | None = None) -> str:
    """The sums over the last of three axes."""
    if shape is not None:
        value = _reshaped(graph, value, shape)
    return graph.add("ReduceSum", value, graph.constant(np.array([2])), keepdims=0)


# --- Nodes and leaves -----------------------------------------------------------------


def _places(
    ensemble: Ensemble, columns: _Columns, category_values: Mapping[int, Floats]
) -> tuple[_Tests, _Leaves]:
    """The tests and leaves of all trees.

    Nodes are numbered from 0 through all trees, and leaves follow them. Where a leaf is
    linear, its place has tests of its columns. Rows go from there to one of two new
    leaves, the first for rows that miss a value.
    """
    n_trees, start = ensemble.n_trees, ensemble.leaf_start
    tree_of_leaf = np.repeat(np.arange(n_trees), np.diff(start))
    n_nodes = len(ensemble.arrays["split_feature"])
    place = n_nodes + np.arange(len(tree_of_leaf))
    tests = _node_tests(ensemble, columns, category_values)
    if ensemble.linear is None:
        value = ensemble.arrays["leaf_value"]
        return tests, _Leaves(place, tree_of_leaf, np.zeros_like(place), value)
    is_linear = np.diff(ensemble.linear.start) > 0
    n_linear, free = int(is_linear.sum()), n_nodes + len(place)
    otherwise = free + np.arange(n_linear)
    linear = place.copy()
    linear[is_linear] = otherwise + n_linear
    of_leaves = _linear_tests(
        ensemble, columns, place[is_linear], tree_of_leaf[is_linear], otherwise
    )
    tests = _Tests._make(map(np.concatenate, zip(tests, of_leaves, strict=True)))
    constants = _Leaves(
        otherwise,
        tree_of_leaf[is_linear],
        np.zeros_like(otherwise),
        ensemble.arrays["leaf_value"][is_linear],
    )
    terms = _linear_terms(ensemble.linear, columns, linear, tree_of_leaf)
    return tests, _Leaves._make(map(np.concatenate, zip(constants, terms, strict=True)))


def _node_tests(
    ensemble: Ensemble, columns: _Columns, category_values: Mapping[int, Floats]
) -> _Tests:
    arrays, start = ensemble.arrays, ensemble.leaf_start
    decision, threshold = arrays["decision_type"], arrays["threshold"]
    feature = arrays["split_feature"].astype(np.int64)
    n_nodes, first_leaf = len(feature), start[:-1]
    tree = np.repeat(np.arange(ensemble.n_trees), np.diff(start) - 1)
    first_node = first_leaf - np.arange(ensemble.n_trees)

    def places(child: NDArray[np.int32]) -> Ints:
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
        places(arrays["left_child"]),
        places(arrays["right_child"]),
        length,
        np.repeat(column, length),
        np.repeat(nan_goes_left(decision, threshold).astype(np.int64), length),
        is_equality,
        value,
    )


def _members(sets: CategorySets, number: int, values: Floats | None) -> Floats:
    """The values of the categories in a set; of an empty set NaN, which none equals."""
    codes = sets.categories(number)
    if values is None:
        members = codes.astype(np.float64)
    else:
        members = values[codes[codes < len(values)]]
    return members if len(members) else np.array([np.nan])


def _linear_tests(
    ensemble: Ensemble, columns: _Columns, place: Ints, tree: Ints, otherwise: Ints
) -> _Tests:
    """Whether a column of a linear leaf is NaN or infinite."""
    linear = ensemble.linear
    assert linear is not None
    length = np.diff(linear.start)
    n_tests = len(linear.feature)
    first = ensemble.n_features + len(columns.zero) + len(columns.whole)
    return _Tests(
        place,
        tree,
        otherwise,
        otherwise + len(otherwise),
        length[length > 0],
        first + np.searchsorted(columns.linear, linear.feature),
        np.ones(n_tests, dtype=np.int64),
        np.zeros(n_tests, dtype=bool),
        np.full(n_tests, -np.inf),
    )


def _linear_terms(
    linear: LinearLeaves, columns: _Columns, place: Ints, tree: Ints
) -> _Leaves:
    """The constants and coefficients of linear leaves."""
    length = np.diff(linear.start)
    return _Leaves(
        np.concatenate([place, np.repeat(place, length)]),
        np.concatenate([tree, np.repeat(tree, length)]),
        np.concatenate(
            [
                np.zeros_like(place),
                1 + np.searchsorted(columns.linear, linear.feature),
            ]
        ),
        np.concatenate([linear.constant, linear.coefficient]),
    )


# --- Attributes of the operator -------------------------------------------------------


def _nodes(tests: _Tests, leaves: _Leaves) -> dict[str, Any]:
    """The attributes that describe the tests and leaves.

    The first test of a chain has the number of its place, the others have new numbers.
    Several tests may lead to one place if they hold, but only one test if it does not:
    onnxruntime needs this.
    """
    from onnx import numpy_helper

    n_tests, stop = len(tests.value), np.cumsum(tests.length)
    is_first = np.zeros(n_tests, dtype=bool)
    is_first[stop - tests.length] = True
    leaf, entry = np.unique(leaves.place, return_index=True)
    number = np.empty(n_tests, dtype=np.int64)
    number[is_first] = tests.place
    number[~is_first] = len(tests.place) + len(leaf) + np.arange((~is_first).sum())
    false = np.append(number[1:], 0)
    false[stop - 1] = tests.false
    tree = np.repeat(tests.tree, tests.length)
    true = np.repeat(tests.true, tests.length)
    mode = np.where(tests.is_equality, "BRANCH_EQ", "BRANCH_LEQ")
    columns = {
        "nodes_treeids": (tree, leaves.tree[entry]),
        "nodes_nodeids": (number, leaf),
        "nodes_modes": (mode, np.full(len(leaf), "LEAF")),
        "nodes_featureids": (tests.column, np.zeros_like(leaf)),
        "nodes_truenodeids": (true, np.zeros_like(leaf)),
        "nodes_falsenodeids": (false, np.zeros_like(leaf)),
        "nodes_missing_value_tracks_true": (tests.missing, np.zeros_like(leaf)),
        "nodes_values_as_tensor": (tests.value, np.zeros(len(leaf))),
    }
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    # Trees one after the other; the root has the smallest number of its tree.
    order = np.lexsort((joined["nodes_nodeids"], joined["nodes_treeids"]))
    value = joined.pop("nodes_values_as_tensor")[order]
    return {
        "nodes_values_as_tensor": numpy_helper.from_array(value, "values"),
        **{name: values[order].tolist() for name, values in joined.items()},
    }


def _targets(
    leaves: _Leaves, digits: Floats, n_scores: int, n_terms: int
) -> dict[str, Any]:
    """The attributes that tell what a leaf adds to which sums."""
    from onnx import numpy_helper

    first = ((leaves.tree % n_scores) * n_terms + leaves.term) * N_DIGITS
    return {
        "target_treeids": np.repeat(leaves.tree, N_DIGITS).tolist(),
        "target_nodeids": np.repeat(leaves.place, N_DIGITS).tolist(),
        "target_ids": (first[:, None] + np.arange(N_DIGITS)).ravel().tolist(),
        "target_weights_as_tensor": numpy_helper.from_array(digits.ravel(), "digits"),
    }


def _digits(leaves: _Leaves, ensemble: Ensemble, n_terms: int) -> tuple[Floats, Floats]:
    """The digits of all leaves, (n, N_DIGITS), and their units, (n_sums, N_DIGITS).

    By the units of a digit, no sum of it exceeds 2**DIGIT_BITS. The last digit is not
    rounded.
    """
    rest, n_scores = leaves.value.copy(), ensemble.n_scores
    largest = np.zeros((ensemble.n_trees, n_terms))
    np.maximum.at(largest, (leaves.tree, leaves.term), np.abs(rest))
    with np.errstate(over="ignore"):
        bound = largest.reshape(-1, n_scores, n_terms).sum(axis=0)
    if not np.isfinite(bound).all():
        raise ValueError(
            "the values of the leaves are too large for ONNX: their sums must be finite"
        )
    at = leaves.tree % n_scores, leaves.term
    digits, units = np.empty((len(rest), N_DIGITS)), []
    for j in range(N_DIGITS):
        exponent = np.maximum(np.frexp(bound)[1], _MIN_EXPONENT) - DIGIT_BITS
        unit = np.ldexp(1.0, exponent)
        digit = rest / unit[at]
        digits[:, j] = digit if j == N_DIGITS - 1 else np.rint(digit)
        rest -= digits[:, j] * unit[at]
        bound = ensemble.n_rounds * unit / 2
        units.append(unit)
    n_summed = ensemble.n_rounds if ensemble.average else 1
    return digits, np.stack(units, axis=-1).reshape(-1, N_DIGITS) / n_summed
