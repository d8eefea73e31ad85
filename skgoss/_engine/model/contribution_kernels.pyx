"""Exact SHAP values of trees, and their interactions.

They are the path-dependent values of Lundberg et al. ("Consistent Individualized Feature
Attribution for Tree Ensembles", 2018): where a feature is not known, both children are weighted by
their numbers of training rows. `contribution_kernels.h` has the formulas, `tree_steps.pyx` a
picture of a tree and of the steps by which rows pass through it.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from skgoss._engine.columns.column_kernels cimport read_columns
from skgoss._engine.model.contribution_tiles cimport Call, tile_blocks, explain_rows
from skgoss._engine.model.predict cimport Predictor
from skgoss._engine.model.quadrature cimport QuadratureRule, free_rule, make_rule
from skgoss._engine.model.tree_steps cimport SHAP_POINTS, SHAP_ROWS, TreeSteps
from skgoss._engine.signals cimport Watch, end_watch, start_watch

import numpy as np

# Below this number of nodes times rows, starting threads costs more than it saves.
cdef int64_t MIN_WORK_FOR_TEAM = 20_000


cdef class Explainer:
    """The steps of all trees, and the points of the quadrature. They do not change.

    A slot is a column in the trees of one score.

    - ``predictor``: the tables of the same trees.
    - ``leaf_start``, (n_trees + 1,): the first leaf of each tree, and n_leaves.
    - ``leaf_count``, (n_leaves,): the number of training rows of each leaf; negative numbers count
      as 0.
    - ``leaf_value``, (n_leaves,): for a linear leaf, its value at the means of its columns.
    - ``slot``, (n_nodes,): the slot of each inner node.
    - ``with_pairs``: whether interactions are computed.
    - ``leaf_models``: None, or a dict of the arrays of linear leaves. For each leaf: ``start``,
      (n_leaves + 1,), the first term; ``constant``, the value at the means, before it is clipped to
      the bounds ``lower`` and ``upper``; ``fallback``, the value of rows that miss a column. For
      each term: ``coefficient``, ``mean``, ``slot`` and ``column``, which is an index in
      ``feature``, the array of the columns of all terms.

    ``expected``, (n_trees,), is the mean of the leaf values of each tree, weighted by their counts.
    ``pairs``, (n_pairs, 2), are the pairs of slots that are on a common path, each pair once, if
    ``with_pairs``.
    """

    cdef Predictor predictor
    cdef TreeSteps steps
    cdef QuadratureRule* rules
    cdef int64_t n_rules
    cdef const int64_t[::1] tree_rule  # (n_trees,): the rule of each tree

    def __cinit__(
        self, Predictor predictor, const int64_t[::1] leaf_start,
        const int64_t[::1] leaf_count, const double[::1] leaf_value, const int32_t[::1] slot,
        int64_t n_slots, bint with_pairs, leaf_models: dict[str, NDArray[Any]] | None = None,
    ):
        self.predictor = predictor
        self.steps = TreeSteps(
            predictor, leaf_start, leaf_count, leaf_value, slot, n_slots, with_pairs,
            leaf_models)
        self._make_rules(self.steps.n_distinct)

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_rules):
            free_rule(&self.rules[i])
        free(self.rules)

    @property
    def expected(self) -> NDArray[np.float64]:
        return self.steps.expected

    @property
    def pairs(self) -> NDArray[np.int32]:
        return self.steps.pairs

    cdef int _make_rules(self, n_distinct) except -1:
        """Make the quadrature rule of each tree: n points are exact for paths of 2 n features.

        The integrand is a polynomial in s, of degree k - 1 on a path of k different features; n
        points are exact up to degree 2 n - 1. ``n_distinct``, (n_trees,): the largest k of each
        tree.
        """
        cdef int64_t i
        found, index = np.unique((n_distinct + 1) // 2, return_inverse=True)
        cdef const int64_t[::1] n_points = found
        self.tree_rule = index.astype(np.int64).ravel()
        self.rules = <QuadratureRule*> malloc((len(found) + 1) * sizeof(QuadratureRule))
        if self.rules == NULL:
            raise MemoryError
        for i in range(n_points.shape[0]):
            if not make_rule(n_points[i], SHAP_POINTS, &self.rules[i]):
                raise MemoryError
            self.n_rules += 1
        return 0

    def run(
        self, columns, int64_t first_tree, int64_t stop_tree, double divisor,
        const int64_t[::1] target, const int64_t[:, ::1] pair_target,
        const double[::1] constant, const int64_t[::1] constant_target, int n_threads,
        double[:, ::1] values_out,
    ):
        """Write the SHAP values of the sum of trees ``first_tree`` to ``stop_tree``.

        - ``columns``, Columns.
        - ``divisor``: by which all values are divided.
        - ``target``, (n_slots,): the position of each slot's value in a row of the output.
        - ``pair_target``, (n_pairs, 2): the two positions of each pair's interaction. The values of
          slots are then main effects: SHAP values without interactions.
        - ``constant``, ``constant_target``: the expected values, and their positions.
        - ``values_out``, (n_rows, width): 0 at other positions.
        """
        cdef Call call
        cdef const int32_t[:, ::1] pairs = self.steps.pairs
        cdef int64_t blocks, work
        cdef bint done
        if values_out.size == 0:
            return
        call.tables = &self.predictor.tables
        call.steps = &self.steps.tables
        call.rules = self.rules
        if self.tree_rule.shape[0] > 0:
            call.tree_rule = &self.tree_rule[0]
        call.inputs = read_columns(columns)
        call.first_tree = first_tree
        call.stop_tree = stop_tree
        call.n_rows = values_out.shape[0]
        call.divisor = divisor
        call.constant, call.constant_target = &constant[0], &constant_target[0]
        call.n_constants = constant.shape[0]
        if call.steps.n_slots > 0:
            call.target = &target[0]
        if call.steps.n_pairs > 0:
            call.pair_slots = &pairs[0, 0]
            call.pair_target = &pair_target[0, 0]
        call.width = values_out.shape[1]
        call.out = &values_out[0, 0]
        blocks = (call.n_rows + SHAP_ROWS - 1) // SHAP_ROWS
        work = blocks * SHAP_ROWS * (stop_tree - first_tree) * call.steps.max_nodes
        if work < MIN_WORK_FOR_TEAM:
            n_threads = 1
        call.n_blocks = tile_blocks(&call, n_threads)
        n_threads = <int> min(<int64_t> n_threads, (blocks + call.n_blocks - 1) // call.n_blocks)
        cdef Watch watch = start_watch()
        with nogil:
            done = explain_rows(&call, n_threads, &watch)
        end_watch(&watch)
        if not done:
            raise MemoryError
