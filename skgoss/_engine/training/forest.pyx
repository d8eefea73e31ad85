"""The trees of a fit, one after the other, until they are asked for."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from skgoss._engine.training.split cimport leaf_step
from skgoss._engine.training.workspace cimport NO_MEMORY, Node, Workspace

NODE = np.dtype([
    ("feature", np.int32), ("bin", np.int32), ("left", np.int32), ("right", np.int32),
    ("gain", np.float64), ("value", np.float64), ("weight", np.float64),
    ("count", np.int64), ("missing_left", np.int64), ("first_word", np.int64),
    ("last_word", np.int64)])
LEAF = np.dtype([("value", np.float64), ("weight", np.float64), ("count", np.int64)])


cdef int reserve(void** memory, int64_t n, int64_t* capacity, size_t size) noexcept nogil:
    """Make room for ``n`` items, at least doubling what there is."""
    cdef void* larger
    cdef int64_t room = max(n, 2 * capacity[0])
    if n <= capacity[0]:
        return 0
    larger = realloc(memory[0], room * size)
    if larger == NULL:
        return NO_MEMORY
    memory[0] = larger
    capacity[0] = room
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


cdef class Forest:
    """Grown trees in terms of used features and bins."""

    def __cinit__(self):
        if reserve(<void**>&self.leaf_start, 1, &self.tree_room, sizeof(int64_t)) < 0:
            raise MemoryError("could not allocate memory for growing trees")
        self.leaf_start[0] = 0

    def __dealloc__(self):
        free(self.nodes)
        free(self.leaves)
        free(self.leaf_start)
        free(self.set_words)

    cdef int add(self, const Workspace* ws):
        """Append the tree of a workspace; 0 or NO_MEMORY."""
        cdef const Node* node
        cdef StoredNode* node_out
        cdef StoredLeaf* leaf_out
        cdef int64_t n_words
        cdef int i
        if (
            reserve(<void**>&self.nodes, self.n_nodes + ws.n_leaves, &self.node_room,
                    sizeof(StoredNode)) < 0
            or reserve(<void**>&self.leaves, self.n_leaves + ws.n_leaves,
                       &self.leaf_room, sizeof(StoredLeaf)) < 0
            or reserve(<void**>&self.leaf_start, self.n_trees + 2, &self.tree_room,
                       sizeof(int64_t)) < 0
            or reserve(<void**>&self.set_words, self.n_words + ws.pool.n_set_words,
                       &self.word_room, sizeof(uint32_t)) < 0
        ):
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
                node.stats.output, ws.learning_rate, ws.concordance)
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

    def copy(self):
        """Another forest of the same trees."""
        cdef Forest other = Forest()
        if (
            reserve(<void**>&other.nodes, self.n_nodes, &other.node_room,
                    sizeof(StoredNode)) < 0
            or reserve(<void**>&other.leaves, self.n_leaves, &other.leaf_room,
                       sizeof(StoredLeaf)) < 0
            or reserve(<void**>&other.leaf_start, self.n_trees + 1, &other.tree_room,
                       sizeof(int64_t)) < 0
            or reserve(<void**>&other.set_words, self.n_words, &other.word_room,
                       sizeof(uint32_t)) < 0
        ):
            raise MemoryError("could not allocate memory for growing trees")
        memcpy(other.leaf_start, self.leaf_start, (self.n_trees + 1) * sizeof(int64_t))
        if self.n_nodes > 0:
            memcpy(other.nodes, self.nodes, self.n_nodes * sizeof(StoredNode))
        if self.n_leaves > 0:
            memcpy(other.leaves, self.leaves, self.n_leaves * sizeof(StoredLeaf))
        if self.n_words > 0:
            memcpy(other.set_words, self.set_words, self.n_words * sizeof(uint32_t))
        other.n_words = self.n_words
        other.n_nodes = self.n_nodes
        other.n_leaves = self.n_leaves
        other.n_trees = self.n_trees
        return other

    cpdef drop(self, int64_t n_trees):
        """Keep the first trees only."""
        self.n_drops += 1
        self.n_trees = n_trees
        self.n_leaves = self.leaf_start[n_trees]
        self.n_nodes = self.n_leaves - n_trees
        self.n_words = self.nodes[self.n_nodes - 1].last_word if self.n_nodes > 0 else 0

    def arrays(self, int64_t first_tree=0, stop_tree=None):
        """Copies of the arrays of trees, by default of all from one tree on.

        It never lets go of the GIL, which trees are added under. So the finished trees
        can be read while others grow.

        Returns
        -------
        nodes : structured ndarray
            ``feature`` (index among the used ones), ``bin``, ``missing_left``, ``left``,
            ``right``, ``gain``, ``value``, ``weight``, ``count``, and ``first_word`` and
            ``last_word``: where among `words` of the same trees the set of bins of a
            categorical node lies.
        leaves : structured ndarray
            ``value``, ``weight``, ``count``.
        leaf_start : ndarray of int64
            Where the leaves of each tree begin, and the end of the last.
        """
        cdef int64_t stop = self.n_trees if stop_tree is None else stop_tree
        cdef int64_t first_leaf = self.leaf_start[first_tree]
        cdef int64_t first_node = first_leaf - first_tree
        cdef int64_t stop_leaf = self.leaf_start[stop]
        nodes = np.empty(stop_leaf - stop - first_node, dtype=NODE)
        leaves = np.empty(stop_leaf - first_leaf, dtype=LEAF)
        leaf_start = np.empty(stop - first_tree + 1, dtype=np.int64)
        cdef char[::1] node_bytes = nodes.view(np.byte)
        cdef char[::1] leaf_bytes = leaves.view(np.byte)
        cdef int64_t[::1] starts = leaf_start
        cdef Py_ssize_t i
        if len(nodes):
            memcpy(&node_bytes[0], self.nodes + first_node, node_bytes.shape[0])
        if len(leaves):
            memcpy(&leaf_bytes[0], self.leaves + first_leaf, leaf_bytes.shape[0])
        for i in range(starts.shape[0]):
            starts[i] = self.leaf_start[first_tree + i] - first_leaf
        nodes["first_word"] -= self._first_word(first_tree)
        nodes["last_word"] -= self._first_word(first_tree)
        return nodes, leaves, leaf_start

    cdef int64_t _first_word(self, int64_t tree):
        cdef int64_t node = self.leaf_start[tree] - tree
        return self.nodes[node].first_word if node < self.n_nodes else self.n_words

    def words(self, int64_t first_tree=0, stop_tree=None):
        """A copy of the words of categorical nodes' sets: see `arrays`.

        A bin b goes left where bit b % 32 of a set's word b // 32 is set.
        """
        cdef int64_t first = self._first_word(first_tree)
        cdef int64_t stop = (
            self.n_words if stop_tree is None else self._first_word(stop_tree))
        words = np.empty(stop - first, dtype=np.uint32)
        cdef char[::1] out = words.view(np.byte)
        if stop > first:
            memcpy(&out[0], self.set_words + first, out.shape[0])
        return words

    def set_leaf_value(self, int64_t tree, int64_t leaf, double value):
        """Replace the value of a leaf; who reads the trees meanwhile reads them again."""
        if not 0 <= tree < self.n_trees:
            raise ValueError(f"there is no tree {tree}")
        if not 0 <= leaf < self.leaf_start[tree + 1] - self.leaf_start[tree]:
            raise ValueError(f"tree {tree} has no leaf {leaf}")
        self.n_drops += 1
        self.leaves[self.leaf_start[tree] + leaf].value = value

    def set_leaf_values(self, const double[::1] value):
        """Replace the leaf values of the last tree."""
        cdef int64_t first = self.leaf_start[self.n_trees - 1]
        cdef Py_ssize_t i
        for i in range(value.shape[0]):
            self.leaves[first + i].value = value[i]
