"""Exact SHAP values of trees, and their interactions.

They are the path-dependent values of Lundberg et al. ("Consistent Individualized Feature
Attribution for Tree Ensembles", 2018): where a feature is not known, the rows of both children
count by their numbers. `contribution_kernels.h` has the formulas, `tree_steps.pyx` a picture of a
tree and of the steps in which rows pass it.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from skgoss._engine.columns.column_kernels cimport read_columns
from skgoss._engine.model.contribution_tiles cimport Call, blocks_of_tile, explain_rows
from skgoss._engine.model.predict cimport Predictor
from skgoss._engine.model.quadrature cimport QuadratureRule, free_rule, make_rule
from skgoss._engine.model.tree_steps cimport SHAP_POINTS, SHAP_ROWS, TreeSteps
from skgoss._engine.signals cimport Watch, end_watch, start_watch

import numpy as np

# Nodes times rows below which a second thread costs more than it brings.
cdef int64_t MIN_WORK_FOR_TEAM = 20_000


cdef class Explainer:
    """The steps of all trees, and the points of the quadrature. They do not change.

    A slot is a column in the trees of one score.

    - ``predictor``: the tables of the same trees.
    - ``leaf_start``, (n_trees + 1,).
    - ``leaf_count``, (n_leaves,): rows that the leaves hold; below zero counts as zero.
    - ``leaf_value``, (n_leaves,): of a linear leaf, its value at the means of its columns.
    - ``slot``, (n_nodes,): the slot of each inner node.
    - ``with_pairs``: whether it is for interactions.
    - ``leaf_models``: None, or a dict of arrays of linear leaves. By leaf ``start``,
      (n_leaves + 1,), where its terms begin; ``constant``, the value at the means, without
      bounds; ``lower``, ``upper``; ``otherwise``, of rows that miss a column. By term
      ``coefficient``; ``mean``; ``slot``; ``column``, an index in ``feature``, the columns that
      terms have.

    ``expected``, (n_trees,), is the mean of each tree, its leaves weighted with their counts.
    ``pairs``, (n_pairs, 2), are the slots that share a path, each pair once; with
    ``with_pairs`` only.
    """

    cdef Predictor predictor
    cdef TreeSteps steps
    cdef QuadratureRule* rules
    cdef int64_t n_rules
    cdef const int64_t[::1] rule_of  # by tree

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
        """Choose the points of each tree: n are exact for 2 n features on a path."""
        cdef int64_t i
        found, index = np.unique((n_distinct + 1) // 2, return_inverse=True)
        cdef const int64_t[::1] n_points = found
        self.rule_of = index.astype(np.int64).ravel()
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
        """Explain the sum over trees ``first_tree`` to ``stop_tree``.

        - ``columns``, Columns.
        - ``divisor``: of all values.
        - ``target``, (n_slots,): where in a row of the output the value of each slot goes.
        - ``pair_target``, (n_pairs, 2): the two slots of each pair; the slots then have what
          remains of their values.
        - ``constant``, ``constant_target``: the expected values, and where in a row they go.
        - ``values_out``, (n_rows, width): zeros are written where nothing goes.
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
        if self.rule_of.shape[0] > 0:
            call.rule_of = &self.rule_of[0]
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
        call.n_blocks = blocks_of_tile(&call, n_threads)
        n_threads = <int> min(<int64_t> n_threads, (blocks + call.n_blocks - 1) // call.n_blocks)
        cdef Watch watch = start_watch()
        with nogil:
            done = explain_rows(&call, n_threads, &watch)
        end_watch(&watch)
        if not done:
            raise MemoryError
