"""Prediction of few rows: values are compared with the thresholds of nodes.

The tables are made in one pass over the nodes, in much less time than the tables of `predict`,
which finds the same leaves. A row goes down WALK_WIDTH trees at a time, so that the latencies of
their nodes overlap.
"""

from libc.math cimport INFINITY, NAN, fabs, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.model.predict cimport (
    MISSING_NONE, MISSING_ZERO, ZERO, Sink, TestNode, category_of, flatten_tree)
from skgoss._engine.objectives.link_kernels cimport Finish, RowLink, finish_rows, scores_of

cdef enum:
    WALK_WIDTH = 16
    # The bits of a node's decision, as in `skgoss.model.trees`.
    IS_CATEGORICAL = 1
    DEFAULT_LEFT = 2
    MISSING_SHIFT = 2
    # The kinds of readings of an input column: 0 for categories, 1 + 2 m for numbers whose missing
    # values go left, and 2 + 2 m for numbers whose missing values go right, where m is one of three
    # meanings of "missing" (see MISSING_NONE).
    AS_CATEGORIES = 0
    N_READINGS = 7


# A way in which nodes read an input column.
cdef struct Reading:
    int64_t feature
    int kind


# A set of categories, as bits: category c is bit c % 32 of word c // 32.
cdef struct Set:
    const uint32_t* words
    int64_t n_words


cdef struct Trees:
    const TestNode* nodes     # of all trees
    const int32_t* roots      # (n_trees,): numbers of nodes
    const int64_t* first_leaf  # (n_trees,): numbers of leaves
    const double* leaf_value  # of all leaves
    const Set* sets           # NULL: no node has a set of categories
    int n_scores


# ------------------------------------------------------------------ values


cdef void read_values(
    const Reading* reading, const double* values, Py_ssize_t n, double* out, Py_ssize_t step,
) noexcept nogil:
    """Write the n values of a column as nodes read them, ``step`` doubles apart.

    ``reading.kind``: see AS_CATEGORIES.

    Categories become whole numbers, and NaN becomes 0 if no value can be missing. Otherwise,
    missing values become -inf, which goes left at every threshold, or NaN, which goes right.
    """
    cdef int missing = (reading.kind - 1) // 2
    cdef double substitute = NAN if (reading.kind - 1) % 2 else -INFINITY
    cdef Py_ssize_t i
    if reading.kind == AS_CATEGORIES:
        for i in range(n):
            out[i * step] = category_of(values[i])
    elif missing == MISSING_NONE:
        for i in range(n):
            out[i * step] = 0.0 if isnan(values[i]) else values[i]
    else:
        for i in range(n):
            if isnan(values[i]) or (missing == MISSING_ZERO and fabs(values[i]) <= ZERO):
                out[i * step] = substitute
            else:
                out[i * step] = values[i]


cdef inline bint is_member(double category, const Set* one) noexcept nogil:
    """Whether a category is in a set."""
    cdef int64_t number = <int64_t> category
    return number < 32 * one.n_words and one.words[number // 32] >> (number % 32) & 1


# ------------------------------------------------------------------ rows


cdef inline int32_t next_node(
    const Trees* trees, int32_t at, const double* row, bint with_sets,
) noexcept nogil:
    """The child that a row goes to; a leaf is its own. Columns of categories are negative."""
    cdef const TestNode* node = trees.nodes + at
    if with_sets and node.column < 0:
        return node.child + (
            not is_member(row[-node.column], trees.sets + <int64_t> node.threshold))
    # Not `>`: NaN goes right.
    return node.child + (not row[node.column] <= node.threshold)


cdef inline void walk_down(
    const Trees* trees, const double* row, int32_t* at_inout, bint with_sets,
) noexcept nogil:
    """Go down WALK_WIDTH trees to the leaves; every other step checks for the end.

    - ``row``: the row's values in the columns that nodes test.
    - ``at_inout``, (WALK_WIDTH,): the roots; then the nodes of the leaves.
    """
    cdef int k
    cdef int32_t moved = 1
    while moved:
        moved = 0
        for k in range(WALK_WIDTH):
            at_inout[k] = next_node(trees, at_inout[k], row, with_sets)
        for k in range(WALK_WIDTH):
            moved |= trees.nodes[at_inout[k]].child ^ at_inout[k]
            at_inout[k] = next_node(trees, at_inout[k], row, with_sets)


cdef inline void write_leaf(
    const Trees* trees, const Sink* sink, int64_t tree, Py_ssize_t row, int32_t leaf,
) noexcept nogil:
    """Add the value of a row's leaf in a tree to a score, or write the leaf's number.

    ``leaf``: its number in the tree. Tree t belongs to score t % n_scores.
    """
    if sink.scores != NULL:
        sink.scores[row * trees.n_scores + tree % trees.n_scores] += trees.leaf_value[
            trees.first_leaf[tree] + leaf]
    else:
        sink.leaves[row * (sink.stop_tree - sink.first_tree) + tree - sink.first_tree] = leaf


cdef void run_row(
    const Trees* trees, const double* values, Py_ssize_t row, const Sink* sink,
) noexcept nogil:
    """Run one row through the trees of the sink, WALK_WIDTH trees at a time.

    ``values``: the row's values in the columns that nodes test. ``row``: its number in the output.
    """
    cdef int32_t at[WALK_WIDTH]
    cdef int64_t tree = sink.first_tree
    cdef int k
    while tree < sink.stop_tree:
        # Fewer trees than WALK_WIDTH are filled up with the last one, whose leaf is written once.
        for k in range(WALK_WIDTH):
            at[k] = trees.roots[min(tree + k, sink.stop_tree - 1)]
        # `with_sets` is a constant, so that walks without sets are compiled without their branch.
        if trees.sets == NULL:
            walk_down(trees, values, at, False)
        else:
            walk_down(trees, values, at, True)
        for k in range(<int> min(<int64_t> WALK_WIDTH, sink.stop_tree - tree)):
            # The threshold of a leaf's node is the number of the leaf in its tree.
            write_leaf(trees, sink, tree + k, row, <int32_t> trees.nodes[at[k]].threshold)
        tree += WALK_WIDTH


# ------------------------------------------------------------------ tables


cdef inline int reading_of(uint8_t decision) noexcept nogil:
    """How a node reads its column: a kind of `Reading`, from the bits of the node's decision.

    If no value can be missing, there is one kind for both sides.
    """
    cdef int missing = decision >> MISSING_SHIFT
    if decision & IS_CATEGORICAL:
        return AS_CATEGORIES
    return 1 + 2 * missing + (missing != MISSING_NONE and not decision & DEFAULT_LEFT)


cdef class FewRowsPredictor:
    """Predictions of few rows. Its tables do not change.

    The arrays must be a valid ensemble (`skgoss.model.trees.check_trees`); this is not checked.

    - ``feature``, ``decision``, (n_nodes,).
    - ``threshold``, (n_nodes,): for a categorical node, the number of the set that goes left.
    - ``left``, ``right``, ``leaf_start``, ``leaf_value``, ``set_start``, ``set_words``,
      ``n_scores``: as for `Predictor`.
    """

    cdef Trees trees
    cdef TestNode* nodes
    cdef int32_t* roots
    cdef Set* sets
    cdef Reading* readings
    cdef int64_t n_readings
    cdef const int64_t[::1] leaf_start
    cdef const double[::1] leaf_value
    cdef const uint32_t[::1] set_words

    def __cinit__(
        self, const int32_t[::1] left, const int32_t[::1] right, const int32_t[::1] feature,
        const double[::1] threshold, const uint8_t[::1] decision,
        const int64_t[::1] leaf_start, const double[::1] leaf_value,
        const int64_t[::1] set_start, const uint32_t[::1] set_words, int n_scores,
    ):
        cdef int64_t n_nodes = left.shape[0]
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t n_leaves = leaf_value.shape[0]
        cdef int32_t* column = <int32_t*> malloc((2 * n_nodes + 1) * sizeof(int32_t))
        self.leaf_start = leaf_start
        self.leaf_value = leaf_value
        self.set_words = set_words
        self.nodes = <TestNode*> malloc((2 * n_leaves - n_trees + 1) * sizeof(TestNode))
        self.roots = <int32_t*> malloc((n_trees + 1) * sizeof(int32_t))
        try:
            if column == NULL or self.nodes == NULL or self.roots == NULL:
                raise MemoryError
            self.number_columns(feature, decision, column)
            self.fill_sets(set_start)
            self.fill_nodes(left, right, threshold, column, column + n_nodes)
        finally:
            free(column)
        self.trees.nodes = self.nodes
        self.trees.roots = self.roots
        self.trees.sets = self.sets
        self.trees.first_leaf = &leaf_start[0]
        self.trees.leaf_value = &leaf_value[0] if n_leaves else NULL
        self.trees.n_scores = n_scores

    def __dealloc__(self):
        free(self.nodes)
        free(self.roots)
        free(self.sets)
        free(self.readings)

    cdef int number_columns(
        self, const int32_t[::1] feature, const uint8_t[::1] decision, int32_t* column_out,
    ) except -1:
        """List the readings that nodes need, and write the column of values of each node.

        Column 0 is for leaves; reading i has column i + 1, or -(i + 1) for categories. The readings
        of a feature follow each other, so that its values are loaded once.
        """
        cdef int64_t n_features = 1
        cdef int32_t* number
        cdef int64_t i, at
        for i in range(feature.shape[0]):
            n_features = max(n_features, <int64_t> feature[i] + 1)
        number = <int32_t*> calloc(N_READINGS * n_features, sizeof(int32_t))
        self.readings = <Reading*> malloc((feature.shape[0] + 1) * sizeof(Reading))
        if number == NULL or self.readings == NULL:
            free(number)
            raise MemoryError
        for i in range(feature.shape[0]):
            number[N_READINGS * <int64_t> feature[i] + reading_of(decision[i])] = 1
        for at in range(N_READINGS * n_features):
            if number[at]:
                self.readings[self.n_readings] = Reading(
                    at // N_READINGS, <int> (at % N_READINGS))
                self.n_readings += 1
                number[at] = <int32_t> self.n_readings
        for i in range(feature.shape[0]):
            at = N_READINGS * <int64_t> feature[i] + reading_of(decision[i])
            column_out[i] = -number[at] if decision[i] & IS_CATEGORICAL else number[at]
        free(number)
        return 0

    cdef int fill_sets(self, const int64_t[::1] start) except -1:
        """Set the words of each set of categories; ``start``: where those of each begin."""
        cdef int64_t n_sets = start.shape[0] - 1
        cdef int64_t i
        if n_sets == 0:
            return 0
        self.sets = <Set*> malloc(n_sets * sizeof(Set))
        if self.sets == NULL:
            raise MemoryError
        for i in range(n_sets):
            self.sets[i] = Set(NULL, start[i + 1] - start[i])
            if self.sets[i].n_words > 0:
                self.sets[i].words = &self.set_words[start[i]]
        return 0

    cdef void fill_nodes(
        self, const int32_t[::1] left, const int32_t[::1] right, const double[::1] threshold,
        const int32_t* column, int32_t* index,
    ) noexcept:
        """Lay out the nodes of all trees: see `flatten_tree` and `fill_trees` of predict.pyx.

        ``column``, (n_nodes,): from `number_columns`. ``index``: work space of n_nodes numbers.
        """
        cdef int64_t node
        cdef Py_ssize_t t
        for t in range(self.leaf_start.shape[0] - 1):
            node = self.leaf_start[t] - t
            self.roots[t] = <int32_t> (2 * self.leaf_start[t] - t)
            flatten_tree(
                &left[0] + node, &right[0] + node, &threshold[0] + node, column + node,
                <int32_t> (self.leaf_start[t + 1] - self.leaf_start[t]), self.roots[t], index,
                self.nodes)

    def predict(
        self, columns, int64_t first_tree, int64_t stop_tree, RowLink link, double divisor,
        double[:, ::1] out,
    ):
        """Write the predictions of trees ``first_tree`` to ``stop_tree``: see `Predictor`."""
        cdef Py_ssize_t n = out.shape[0]
        cdef Finish finish = link.finish
        cdef double* scores
        cdef double* work
        if n == 0:
            return
        scores = scores_of(&finish, n, &out[0, 0])
        memset(scores, 0, n * finish.n_scores * sizeof(double))
        self.run(columns, n, Sink(scores, NULL, first_tree, stop_tree))
        finish.divisor = divisor
        work = <double*> malloc((finish.n_work + 1) * sizeof(double))
        if work == NULL:
            raise MemoryError
        finish_rows(&finish, n, &out[0, 0], work)
        free(work)

    def leaves(
        self, columns, int64_t first_tree, int64_t stop_tree, int32_t[:, ::1] leaves_out,
    ):
        """Write the number of the leaf that each row reaches in each tree."""
        if leaves_out.size > 0:
            self.run(
                columns, leaves_out.shape[0],
                Sink(NULL, &leaves_out[0, 0], first_tree, stop_tree))

    cdef int run(self, columns, Py_ssize_t n, Sink sink) except -1:
        """Read the values of all n rows, and run the rows through the trees of the sink.

        ``rows``, (n, 1 + n_readings): column 0 is what leaves test, and no row goes right there.
        """
        cdef InputColumns inputs = read_columns(columns)
        cdef Py_ssize_t width = 1 + self.n_readings
        cdef double* column = <double*> malloc((1 + width) * n * sizeof(double))
        cdef double* rows = column + n
        cdef Py_ssize_t row, j
        cdef int64_t loaded = -1
        if column == NULL:
            raise MemoryError
        with nogil:
            for row in range(n):
                rows[row * width] = -INFINITY
            for j in range(self.n_readings):
                if self.readings[j].feature != loaded:
                    loaded = self.readings[j].feature
                    load_block(&inputs, loaded, NULL, 0, n, column)
                read_values(&self.readings[j], column, n, rows + 1 + j, width)
            for row in range(n):
                run_row(&self.trees, rows + row * width, row, &sink)
        free(column)
        return 0
