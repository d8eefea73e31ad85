"""The trees of a fit while it grows them; readers get copies.

One thread adds trees and drops them, while others may copy those that are finished, which are never
dropped or changed: see `GrownRounds`. In Python without the GIL, critical sections exclude each
other. A critical section may end where Python is called, so nothing in one calls Python.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from skgoss._engine.bits cimport lowest_bit
from skgoss._engine.threads cimport parallel_for
from skgoss._engine.training.split cimport leaf_step
from skgoss._engine.training.workspace cimport NO_MEMORY, Node, Workspace

NODE: np.dtype[np.void] = np.dtype([
    ("feature", np.int32), ("bin", np.int32), ("left", np.int32), ("right", np.int32),
    ("gain", np.float64), ("value", np.float64), ("weight", np.float64),
    ("count", np.int64), ("missing_left", np.int64), ("first_word", np.int64),
    ("last_word", np.int64)])
LEAF: np.dtype[np.void] = np.dtype(
    [("value", np.float64), ("weight", np.float64), ("count", np.int64)])


cdef int reserve(void** memory, int64_t n, int64_t* capacity, size_t size) noexcept nogil:
    """Reserve memory for n items, at least doubling the capacity; 0 or NO_MEMORY."""
    cdef void* larger
    cdef int64_t new_capacity = max(n, 2 * capacity[0])
    if n <= capacity[0]:
        return 0
    larger = realloc(memory[0], new_capacity * size)
    if larger == NULL:
        return NO_MEMORY
    memory[0] = larger
    capacity[0] = new_capacity
    return 0


cdef const StoredNode* nodes_of(array) except NULL:
    """The nodes in a contiguous array of the dtype NODE, which must stay alive."""
    cdef Py_buffer view
    cdef const StoredNode* nodes
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    nodes = <const StoredNode*>view.buf
    PyBuffer_Release(&view)
    if view.itemsize != sizeof(StoredNode):
        raise ValueError(f"nodes must have the dtype {NODE}")
    return nodes


cdef copy_values(array, const void* values):
    """Fill a contiguous array with values from memory, which must have its size."""
    cdef char[::1] out = array.view(np.byte)
    if out.shape[0]:
        memcpy(&out[0], values, out.shape[0])


cdef enum:
    SETS_PER_TASK = 8
    # Up to this number of words, which take some microseconds, one thread maps all.
    MAX_SERIAL_WORDS = 256


cdef struct MapLoop:
    const uint32_t* words
    const int64_t* first_word  # of each set, and the end
    const int64_t* last_word
    const int32_t* categories  # of the bins of all columns
    const int64_t* first_bin   # of the column of each set
    const int64_t* n_bins
    const int64_t* start       # of each set of categories
    uint32_t* words_out


cdef void map_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Turn the sets of bins number ``first`` to ``end`` into sets of categories."""
    cdef const MapLoop* loop = <const MapLoop*>context
    cdef const int32_t* categories
    cdef uint32_t* out
    cdef uint64_t word
    cdef int64_t k, bin
    cdef Py_ssize_t i
    for i in range(first, end):
        categories, out = loop.categories + loop.first_bin[i], loop.words_out + loop.start[i]
        for k in range(loop.first_word[i], loop.last_word[i]):
            word = loop.words[k]
            while word:
                bin = 32 * (k - loop.first_word[i]) + lowest_bit(word)
                word &= word - 1
                # The last bin may hold no category.
                if bin < loop.n_bins[i]:
                    out[categories[bin] // 32] |= <uint32_t>1 << (categories[bin] % 32)


def categories_of_bins(
    const uint32_t[::1] words, const int64_t[::1] first_word, const int64_t[::1] last_word,
    const int32_t[::1] categories, const int64_t[::1] first_bin, const int64_t[::1] n_bins,
    const int64_t[::1] start, int n_threads, uint32_t[::1] words_out,
):
    """Turn sets of bins into sets of categories.

    - ``words``, ``first_word``, ``last_word``: the sets of bins, as from `Forest.arrays`.
    - ``categories``: the categories of the bins of all columns.
    - ``first_bin``, ``n_bins``, (n_sets,): the first bin of the column of each set in
      ``categories``, and the number of its bins.
    - ``start``, (n_sets + 1,): where the words of each set of categories begin.
    - ``words_out``, (start[-1],): zeros.
    """
    cdef MapLoop loop
    if words_out.shape[0] == 0:
        return
    loop = MapLoop(
        &words[0], &first_word[0], &last_word[0], &categories[0], &first_bin[0], &n_bins[0],
        &start[0], &words_out[0])
    with nogil:
        parallel_for(
            map_body, &loop, first_word.shape[0], SETS_PER_TASK,
            n_threads if words.shape[0] > MAX_SERIAL_WORDS else 1)


cdef class Forest:
    """Grown trees, in terms of used features and bins."""

    def __cinit__(self):
        if self._reserve(0, 0, 0) < 0:
            raise MemoryError("could not allocate memory for growing trees")
        self.leaf_start[0] = 0

    def __dealloc__(self):
        free(self.nodes)
        free(self.leaves)
        free(self.leaf_start)
        free(self.set_words)

    cdef int _reserve(self, int64_t n_trees, int64_t n_leaves, int64_t n_words):
        """Reserve memory for more trees; 0 or NO_MEMORY.

        ``n_trees``, ``n_leaves``, ``n_words``: how many trees, leaves, and words of sets come.
        """
        if (
            reserve(<void**>&self.nodes, self.n_nodes + n_leaves, &self.node_capacity,
                    sizeof(StoredNode)) < 0
            or reserve(<void**>&self.leaves, self.n_leaves + n_leaves, &self.leaf_capacity,
                       sizeof(StoredLeaf)) < 0
            or reserve(<void**>&self.leaf_start, self.n_trees + n_trees + 1, &self.tree_capacity,
                       sizeof(int64_t)) < 0
            or reserve(<void**>&self.set_words, self.n_words + n_words, &self.word_capacity,
                       sizeof(uint32_t)) < 0
        ):
            return NO_MEMORY
        return 0

    @cython.critical_section
    cdef int add(self, const Workspace* ws):
        """Append the tree of a workspace; 0 or NO_MEMORY."""
        cdef const Node* node
        cdef StoredNode* node_out
        cdef StoredLeaf* leaf_out
        cdef int64_t n_words
        cdef int i
        if self._reserve(1, ws.n_leaves, ws.pool.n_set_words) < 0:
            return NO_MEMORY
        node_out = self.nodes + self.n_nodes
        leaf_out = self.leaves + self.n_leaves
        for i in range(ws.n_leaves - 1):
            node = &ws.nodes[i]
            node_out[i].feature = node.feature
            node_out[i].bin = node.bin
            node_out[i].missing_left = node.missing_left
            node_out[i].left = node.left
            node_out[i].right = node.right
            node_out[i].gain = node.gain
            node_out[i].value = leaf_step(
                node.stats.output, ws.learning_rate, ws.self_concordance)
            node_out[i].weight = node.stats.sums.hessian * ws.rules.hessian_unit
            node_out[i].count = node.stats.sums.count
            n_words = node.last_word - node.first_word
            node_out[i].first_word = self.n_words
            if n_words > 0:
                memcpy(self.set_words + self.n_words, ws.pool.set_words + node.first_word,
                       n_words * sizeof(uint32_t))
            self.n_words += n_words
            node_out[i].last_word = self.n_words
        for i in range(ws.n_leaves):
            leaf_out[i].value = ws.leaf_value[i]
            leaf_out[i].weight = ws.leaf_weight[i]
            leaf_out[i].count = ws.leaves[i].stats.sums.count
        self.n_nodes += ws.n_leaves - 1
        self.n_leaves += ws.n_leaves
        self.n_trees += 1
        self.leaf_start[self.n_trees] = self.n_leaves
        return 0

    def copy(self, int64_t first_tree=0, stop_tree: int | None = None) -> Forest:
        """A copy of some trees, by default of all; later trees may grow at the same time."""
        cdef Forest copied = Forest()
        cdef int64_t stop = self.n_trees if stop_tree is None else stop_tree
        cdef int status
        with cython.critical_section(self):
            stop = min(stop, self.n_trees)
            first_tree = min(first_tree, stop)
            status = copied._copy(self, first_tree, stop - first_tree)
        if status < 0:
            raise MemoryError("could not allocate memory for growing trees")
        return copied

    cdef int _copy(self, Forest source, int64_t first_tree, int64_t n_trees):
        """Copy trees of another forest into this one, which is empty; 0 or NO_MEMORY."""
        cdef const int64_t* start = source.leaf_start + first_tree
        cdef int64_t n_leaves = start[n_trees] - start[0]
        cdef int64_t n_nodes = n_leaves - n_trees
        cdef int64_t first_word = source._first_word(first_tree)
        cdef int64_t n_words = source._first_word(first_tree + n_trees) - first_word
        cdef int64_t i
        if self._reserve(n_trees, n_leaves, n_words) < 0:
            return NO_MEMORY
        self.n_trees = n_trees
        self.n_nodes, self.n_leaves, self.n_words = n_nodes, n_leaves, n_words
        if n_nodes > 0:
            memcpy(self.nodes, source.nodes + start[0] - first_tree,
                   n_nodes * sizeof(StoredNode))
        if n_leaves > 0:
            memcpy(self.leaves, source.leaves + start[0], n_leaves * sizeof(StoredLeaf))
        if n_words > 0:
            memcpy(self.set_words, source.set_words + first_word, n_words * sizeof(uint32_t))
        for i in range(n_trees + 1):
            self.leaf_start[i] = start[i] - start[0]
        for i in range(n_nodes):
            self.nodes[i].first_word -= first_word
            self.nodes[i].last_word -= first_word
        return 0

    cdef int64_t _first_word(self, int64_t tree):
        """Where the sets of bins of a tree begin."""
        cdef int64_t node = self.leaf_start[tree] - tree
        return self.nodes[node].first_word if node < self.n_nodes else self.n_words

    @cython.critical_section
    cpdef drop(self, int64_t n_trees):
        """Keep the first trees only."""
        self.n_trees = n_trees
        self.n_leaves = self.leaf_start[n_trees]
        self.n_nodes = self.n_leaves - n_trees
        self.n_words = self.nodes[self.n_nodes - 1].last_word if self.n_nodes > 0 else 0

    def arrays(
        self,
    ) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.int64], NDArray[np.uint32]]:
        """Copies of the arrays of all trees: ``nodes``, ``leaves``, ``leaf_start``, ``words``.

        The feature of a node is its index among the used ones, and ``first_word`` and
        ``last_word`` say where in ``words`` the set of bins of a categorical node lies: a bin b
        goes left where bit b % 32 of the word b // 32 of the set is set. ``leaf_start`` says
        where the leaves of each tree begin, and the end of the last.
        """
        nodes = np.empty(self.n_nodes, dtype=NODE)
        leaves = np.empty(self.n_leaves, dtype=LEAF)
        leaf_start = np.empty(self.n_trees + 1, dtype=np.int64)
        words = np.empty(self.n_words, dtype=np.uint32)
        copy_values(nodes, self.nodes)
        copy_values(leaves, self.leaves)
        copy_values(leaf_start, self.leaf_start)
        copy_values(words, self.set_words)
        return nodes, leaves, leaf_start, words

    def set_leaf_value(self, int64_t tree, int64_t leaf, double value):
        """Replace the value of a leaf."""
        if not 0 <= tree < self.n_trees:
            raise ValueError(f"there is no tree {tree}")
        if not 0 <= leaf < self.leaf_start[tree + 1] - self.leaf_start[tree]:
            raise ValueError(f"tree {tree} has no leaf {leaf}")
        self.leaves[self.leaf_start[tree] + leaf].value = value

    def set_leaf_values(self, int64_t tree, const double[::1] value):
        """Replace the leaf values of a tree."""
        cdef int64_t first = self.leaf_start[tree]
        cdef Py_ssize_t i
        for i in range(value.shape[0]):
            self.leaves[first + i].value = value[i]
