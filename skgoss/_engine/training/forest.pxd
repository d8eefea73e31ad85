from libc.stdint cimport int32_t, int64_t, uint32_t

from skgoss._engine.training.workspace cimport Workspace

cdef struct StoredNode:       # as the dtype NODE
    int32_t feature
    int32_t bin
    int32_t left
    int32_t right
    double gain
    double value
    double weight
    int64_t count
    int64_t missing_left
    int64_t first_word        # of its set of bins; a numeric node's set is empty
    int64_t last_word

cdef struct StoredLeaf:       # as the dtype LEAF
    double value
    double weight
    int64_t count

cdef const StoredNode* nodes_of(array) except NULL


cdef class Forest:
    cdef StoredNode* nodes
    cdef StoredLeaf* leaves
    cdef int64_t* leaf_start
    cdef uint32_t* set_words
    cdef int64_t n_words
    cdef int64_t word_capacity
    cdef int64_t n_nodes
    cdef readonly int64_t n_leaves
    cdef readonly int64_t n_trees
    cdef int64_t node_capacity
    cdef int64_t leaf_capacity
    cdef int64_t tree_capacity

    cdef int _reserve(self, int64_t n_trees, int64_t n_leaves, int64_t n_words)
    cdef int add(self, const Workspace* ws)
    cdef int _copy(self, Forest source, int64_t first_tree, int64_t n_trees)
    cpdef drop(self, int64_t n_trees)
    cdef int64_t _first_word(self, int64_t tree)
