"""Exact SHAP values of trees, and their interactions.

They are the path-dependent values of Lundberg et al. ("Consistent Individualized Feature
Attribution for Tree Ensembles", 2018): where a feature is not known, the rows of both children
count by their numbers. `contribution_kernels.h` has the formulas.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.columns.column_kernels cimport read_columns
from skgoss._engine.model.contribution_tiles cimport Call, explain_rows
from skgoss._engine.model.predict cimport Predictor
from skgoss._engine.model.quadrature cimport QuadratureRule, make_rule
from skgoss._engine.model.tree_steps cimport (
    SHAP_ROWS, Line, Origin, Pair, PathNode, Step, Term, TreeSteps, Writer, expected_value,
    write_tree)
from skgoss._engine.signals cimport Watch, end_watch, start_watch

import numpy as np

cdef enum:
    # Blocks of a tile, and the memory of a tile that a thread should need at most.
    LEAST_BLOCKS = 4
    MOST_BLOCKS = 32
    TILE_BYTES = 1 << 19

# Nodes times rows below which a second thread costs more than it brings.
cdef int64_t MIN_WORK_FOR_TEAM = 20_000


cdef class Explainer:
    """The steps of all trees. They do not change.

    A slot is a column in the trees of one score.

    - ``predictor``: the tables of the same trees.
    - ``leaf_start``, (n_trees + 1,).
    - ``leaf_count``, (n_leaves,): rows that the leaves hold; below zero counts as zero.
    - ``leaf_value``, (n_leaves,): of a linear leaf, its value at the means of its columns.
    - ``slot``, (n_nodes,): the slot of each inner node.
    - ``with_pairs``: whether it is for interactions.
    - ``lines``: None, or a dict of arrays that tell of linear leaves. By leaf ``start``,
      (n_leaves + 1,), where its terms begin; ``constant``, the value at the means, without
      bounds; ``lower``, ``upper``; ``otherwise``, of rows that miss a column. By term
      ``coefficient``; ``mean``; ``slot``; ``column``, an index in ``feature``, the columns that
      terms have.

    ``expected``, (n_trees,), is the mean of each tree, its leaves weighted with their counts.
    ``pairs``, (n_pairs, 2), are the slots that share a path, each pair once; with
    ``with_pairs`` only.
    """

    cdef Predictor predictor
    cdef Step* steps
    cdef Origin* origins
    cdef Pair* pair_list
    cdef Line* lines
    cdef Term* terms
    cdef const int64_t[::1] leaf_start
    cdef const int64_t[::1] raw_feature
    cdef TreeSteps* trees
    cdef QuadratureRule* rules
    cdef int64_t n_rules
    cdef int64_t n_pair_list
    cdef Call call
    cdef readonly object expected
    cdef readonly object pairs

    def __cinit__(
        self, Predictor predictor, const int64_t[::1] leaf_start,
        const int64_t[::1] leaf_count, const double[::1] leaf_value, const int32_t[::1] slot,
        int64_t n_slots, bint with_pairs, lines=None,
    ):
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t n_nodes = slot.shape[0]
        cdef int64_t n_steps = 2 * n_nodes
        self.predictor = predictor
        self.leaf_start = leaf_start
        if lines is not None:
            n_steps += leaf_value.shape[0]
            self.read_lines(leaf_value, **lines)
        self.steps = <Step*> malloc((n_steps + 1) * sizeof(Step))
        self.origins = <Origin*> malloc((n_nodes + 1) * sizeof(Origin))
        self.trees = <TreeSteps*> malloc((n_trees + 1) * sizeof(TreeSteps))
        if self.steps == NULL or self.origins == NULL or self.trees == NULL:
            raise MemoryError
        self.call.tables = &predictor.tables
        self.call.n_slots = n_slots
        self.call.with_pairs = with_pairs
        n_distinct = self.write(leaf_start, leaf_count, leaf_value, slot)
        self.number_pairs()
        self.make_rules(n_distinct)
        self.call.steps = self.steps
        self.call.origins = self.origins
        self.call.pairs = self.pair_list
        self.call.lines = self.lines
        self.call.leaf_start = &leaf_start[0]
        self.call.terms = self.terms
        self.call.trees = self.trees
        self.call.rules = self.rules

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_rules):
            free(self.rules[i].known)
        free(self.rules)
        free(self.steps)
        free(self.origins)
        free(self.pair_list)
        free(self.lines)
        free(self.terms)
        free(self.trees)

    def read_lines(
        self, const double[::1] leaf_value, const int64_t[::1] start,
        const double[::1] constant, const double[::1] lower, const double[::1] upper,
        const double[::1] otherwise, const double[::1] coefficient, const double[::1] mean,
        const int32_t[::1] slot, const int32_t[::1] column, const int64_t[::1] feature,
    ):
        """Keep the lines of linear leaves."""
        cdef int64_t n_leaves = leaf_value.shape[0], n_terms = mean.shape[0]
        cdef int32_t first = <int32_t> self.predictor.tables.n_columns
        cdef int64_t i
        self.lines = <Line*> malloc((n_leaves + 1) * sizeof(Line))
        self.terms = <Term*> malloc((n_terms + 1) * sizeof(Term))
        if self.lines == NULL or self.terms == NULL:
            raise MemoryError
        for i in range(n_leaves):
            self.lines[i] = Line(
                start[i], start[i + 1], constant[i], leaf_value[i], lower[i], upper[i],
                otherwise[i])
        for i in range(n_terms):
            self.terms[i] = Term(
                coefficient[i], mean[i], 1.0, first + column[i], slot[i], 0, 0, 0)
        self.raw_feature = feature
        self.call.raw_feature = &feature[0]
        self.call.n_raw = feature.shape[0]

    cdef object write(
        self, const int64_t[::1] leaf_start, const int64_t[::1] leaf_count,
        const double[::1] leaf_value, const int32_t[::1] slot,
    ):
        """Write the steps; return the most features on a path of each tree."""
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t most_nodes = max(0, np.diff(leaf_start).max(initial=1) - 1)
        cdef double[::1] cover = np.empty(most_nodes + 1)
        cdef double[::1] node_expected = np.empty(most_nodes + 1)
        cdef int32_t[::1] last = np.full(self.call.n_slots + 1, -1, dtype=np.int32)
        cdef int64_t[::1] n_distinct = np.zeros(n_trees, dtype=np.int64)
        cdef double[::1] expected = np.empty(n_trees)
        cdef int64_t t, first_node, first_step
        cdef bint done = True
        cdef Writer w
        memset(&w, 0, sizeof(Writer))
        w.path = <PathNode*> malloc((most_nodes + 1) * sizeof(PathNode))
        if w.path == NULL:
            raise MemoryError
        w.nodes = self.predictor.nodes
        w.n_slots = self.call.n_slots
        w.with_pairs = self.call.with_pairs
        w.cover = &cover[0]
        w.last = &last[0]
        w.terms = self.terms
        with nogil:
            for t in range(n_trees):
                first_node = leaf_start[t] - t
                first_step = 2 * first_node
                w.leaf_value = &leaf_value[0] + leaf_start[t]
                if self.lines != NULL:
                    first_step += leaf_start[t]
                    w.lines = self.lines + leaf_start[t]
                w.leaf_count = &leaf_count[0] + leaf_start[t]
                w.slot = &slot[0] + first_node
                w.root = self.predictor.trees[t].root
                w.steps = self.steps + first_step
                w.origins = self.origins + first_node
                w.n_steps = w.n_nodes = 0
                w.most_distinct = 0
                self.trees[t].n_nodes = leaf_start[t + 1] - leaf_start[t] - 1
                expected[t] = expected_value(&w, self.trees[t].n_nodes, &node_expected[0])
                if self.trees[t].n_nodes > 0:
                    done = done and write_tree(&w)
                elif w.lines != NULL and w.lines[0].first_term < w.lines[0].stop_term:
                    w.is_astray = True
                n_distinct[t] = w.most_distinct
                self.trees[t].first_step = first_step
                self.trees[t].first_node = first_node
                self.trees[t].n_steps = w.n_steps
        free(w.path)
        self.pair_list = w.pairs
        self.n_pair_list = w.n_pairs
        self.call.max_nodes = most_nodes
        self.call.max_depth = w.max_depth
        self.expected = np.asarray(expected)
        if not done:
            raise MemoryError
        if w.is_astray:
            raise ValueError(
                "a linear leaf has a column that no node on its path tests, so it has no SHAP"
                " values")
        return np.asarray(n_distinct)

    cdef int number_pairs(self) except -1:
        """Number the pairs from 0."""
        cdef int64_t[::1] key = np.empty(self.n_pair_list, dtype=np.int64)
        cdef int64_t i
        for i in range(self.n_pair_list):
            key[i] = self.pair_list[i].pair
        found, index = np.unique(key, return_inverse=True)
        cdef const int64_t[::1] at = index.astype(np.int64).ravel()
        for i in range(self.n_pair_list):
            self.pair_list[i].pair = at[i]
        slots = max(1, self.call.n_slots)
        self.pairs = np.stack([found // slots, found % slots], axis=1).astype(np.int32)
        self.call.n_pairs = len(found)
        return 0

    cdef int make_rules(self, n_distinct) except -1:
        """Choose the points of each tree: n are exact for 2 n features on a path."""
        cdef int64_t i
        found, index = np.unique((n_distinct + 1) // 2, return_inverse=True)
        cdef const int64_t[::1] n_points = found
        cdef const int64_t[::1] rule = index.astype(np.int64).ravel()
        self.rules = <QuadratureRule*> malloc((len(found) + 1) * sizeof(QuadratureRule))
        if self.rules == NULL:
            raise MemoryError
        for i in range(n_points.shape[0]):
            if not make_rule(n_points[i], &self.rules[i]):
                raise MemoryError
            self.n_rules += 1
        for i in range(rule.shape[0]):
            self.trees[i].rule = rule[i]
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
        cdef Call call = self.call
        cdef const int32_t[:, ::1] pairs = self.pairs
        cdef int64_t size, blocks, blocks_of_thread
        cdef bint done
        if values_out.size == 0:
            return
        call.inputs = read_columns(columns)
        call.first_tree = first_tree
        call.stop_tree = stop_tree
        call.n_rows = values_out.shape[0]
        call.divisor = divisor
        call.constant, call.constant_target = &constant[0], &constant_target[0]
        call.n_constants = constant.shape[0]
        if call.n_slots > 0:
            call.target = &target[0]
        if call.n_pairs > 0:
            call.pair_slots = &pairs[0, 0]
            call.pair_target = &pair_target[0, 0]
        call.width = values_out.shape[1]
        call.out = &values_out[0, 0]
        blocks = (call.n_rows + SHAP_ROWS - 1) // SHAP_ROWS
        if blocks * SHAP_ROWS * (stop_tree - first_tree) * call.max_nodes < MIN_WORK_FOR_TEAM:
            n_threads = 1
        size = call.tables.n_columns + call.n_raw + call.n_slots + call.n_pairs
        size *= SHAP_ROWS * sizeof(double)
        call.n_blocks = min(max(TILE_BYTES // size, LEAST_BLOCKS), MOST_BLOCKS)
        # A tile that is an eighth of a thread's rows delays no other thread for long.
        blocks_of_thread = blocks // (8 * n_threads) if n_threads > 1 else blocks
        call.n_blocks = max(1, min(call.n_blocks, blocks_of_thread))
        n_threads = <int> min(<int64_t> n_threads, (blocks + call.n_blocks - 1) // call.n_blocks)
        cdef Watch watch = start_watch()
        with nogil:
            done = explain_rows(&call, n_threads, &watch)
        end_watch(&watch)
        if not done:
            raise MemoryError
