"""What growing a tree works on: options, the tree so far, its leaves and histograms."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.signals cimport Watch
from skgoss._engine.training.feature_subset cimport SubsetBuffers, SubsetSource
from skgoss._engine.training.layout cimport Binned, Encoding, Gradients, Histogram, Sums
from skgoss._engine.training.split cimport (
    MonotoneBounds, NodeStats, PartialBound, Split, SplitRules)

cdef enum:
    # The statuses of growing; 0 is success.
    NO_MEMORY = -1
    NOT_FINITE = -2
    INTERRUPTED = -3          # the watch has the exception
    COLLECTIVE_FAILED = -4    # `KernelCollectives.error` has the exception
    # The buffer with the records of the root, which stay in place where splits by sparse columns
    # move few rows out of a leaf.
    ROOT_BUFFER = 2
    # The priority of a leaf whose split is not a forced one.
    NO_PRIORITY = 0x7FFFFFFF
    # Fewer rows are not divided among threads.
    MIN_ROWS_FOR_TEAM = 4000

cdef enum Bounding:
    # Where the bounds of outputs come from, under monotone constraints.
    UNBOUNDED
    BASIC                     # the mean of the children's outputs at a monotone node
    INTERMEDIATE              # the outputs of the leaves next to a leaf
    ADVANCED                  # of those next to either side of a cut

cdef struct SharedSplit:
    # What the process that searched a column sends to the others with its best split; the set of
    # bins is in `Workspace.left_sets`.
    Sums left                 # of the rows that go left
    double l2                 # the ridge penalty of the children

cdef struct Leaf:
    Py_ssize_t begin          # its rows: records[buffer][begin:end]
    Py_ssize_t end
    int buffer
    Py_ssize_t n_removed      # of the rows of records[buffer], those moved to other leaves
    int slot                  # of its histogram; -1: none, or it is small (`SmallLeafBuffers`)
    int mask                  # of the features that it is searched for: ws.splittable[mask]
    bint is_divided           # by a speculative split: its children are in `Workspace.children`
    int depth
    int node                  # the inner node above it; -1: it is the root
    int is_left
    uint64_t identity         # its number in a full binary tree, for random numbers
    double l2                 # the ridge penalty of its output
    NodeStats stats
    Split best
    SharedSplit shared_split  # if columns are searched by several processes
    int32_t forced            # the forced split of this leaf; -1: none
    int32_t priority          # forced splits come first, by their numbers

cdef struct LeafVisit:
    # The progress of a thread that visits the rows of a leaf.
    Py_ssize_t next           # the record to visit next
    Sums sums                 # of the rows visited

cdef struct Node:
    int32_t parent            # -1: it is the root
    int32_t is_left
    int32_t feature
    int32_t bin
    int32_t missing_left
    int32_t left
    int32_t right
    Py_ssize_t first_word     # of its set of bins; that of a numeric node is empty
    Py_ssize_t last_word
    double gain
    NodeStats stats

cdef struct Tile:
    int first_lane
    int n_lanes
    int32_t* features         # in these lanes, of those that the tree sums
    int n_features
    bint consecutive          # whether their numbers are
    int64_t first_hist_bin    # in histograms, the bins of these lanes are in this range
    int64_t end_hist_bin

cdef struct TileSums:
    int64_t* values           # of gradients, hessians and counts
    int64_t capacity          # in histogram bins

cdef struct Pool:
    # What the threads that divide leaves of a tree share: histograms, masks and sets.
    int64_t lock              # of all that follows
    int n_slots               # of histograms
    int n_free
    int64_t n_masks
    uint32_t* set_words       # of the tree's sets of bins
    Py_ssize_t n_set_words
    Py_ssize_t set_capacity   # in words

cdef struct SmallLeafBuffers:
    # A thread's histogram for small leaves, which have no slot. It is zero between two leaves.
    Histogram histogram
    uint8_t* is_touched       # by feature: whether rows of the leaf have a stored bin of it
    int32_t* touched
    int n_touched

# The memory that dividing a leaf and searching its children needs: leaves of a batch have one
# each.
cdef struct Scratch:
    uint8_t* mask             # a bit for each row of the leaf: whether it goes left
    uint8_t* goes_left        # by bin
    uint8_t* code_goes_left
    int32_t* sample           # features sampled for the leaf
    int32_t* allowed          # features that interaction constraints allow in the leaf
    uint8_t* is_allowed       # the same, by feature
    int32_t* hits             # by set: how many features of the path it has; 0 between two leaves
    uint8_t* searched[2]      # features searched in the two children
    int32_t* cut[2]           # and their only cuts, in extremely random trees
    double* factor[2]         # of their gains, by feature

cdef struct Workspace:
    int thread                # the first one: its accumulators and scratch arrays are used
    int n_threads
    Scratch scratch
    Pool* pool
    uint64_t* records[3]      # of the leaves' rows; the last one is ROOT_BUFFER
    # By row, where there are sparse columns: whether it is in the one leaf that still has the
    # root's records, and, if rows are sampled, the number of its record in the root.
    uint8_t* in_root_leaf
    uint32_t* root_position
    Py_ssize_t n_rows         # of the root
    int64_t* pairs            # of each row: gradient and hessian, unless records are packed
    double* gathered          # gradients of sampled rows, one after the other
    Binned data               # the rows as the tree reads them
    SubsetBuffers subset      # their memory if trees sample features
    int32_t* features         # sampled for the tree
    int n_features
    int32_t* summed           # these features, and those of forced splits
    int n_summed
    uint8_t* is_summed        # by feature
    Tile* tiles               # of the lanes, if rows have neither shorts nor entries
    int n_tiles
    int32_t* tile_features
    int32_t* tile_of          # by feature
    uint8_t** splittable      # masks of features: 0 if no cut had a gain in a node above
    MonotoneBounds monotone[2]  # what bounds the children of a leaf and of its sibling
    PartialBound* partial_bounds[2]  # of all their features
    # By pair of leaves (row i, column j): 1: the output of j, a neighbor, bounds that of i from
    # above; -1: from below; 0: they are not neighbors.
    int8_t* neighbor_order
    int32_t* bounds_index     # of `MonotoneBounds`, by feature; NULL unless bounds are ADVANCED
    int n_split_features      # those with a `FeatureBounds`
    int32_t* split_features
    Histogram* slots
    int* free_slots
    Leaf* leaves
    # A speculative split is kept apart until its leaf is the best one: the node of leaf i at
    # nodes[max_leaves + i], its children at children[2 * i] and children[2 * i + 1].
    bint is_speculative       # whether the tree is grown with such splits
    Leaf* children            # NULL: it never is
    int* popped               # leaves that are taken out of the heap while a batch is chosen
    Py_ssize_t mask_used      # bytes of the scratch memory's mask, by leaves of the batch
    int64_t* leaf_sums        # of gradients and hessians, two for each leaf
    LeafVisit* leaf_visits    # of each thread, one for each leaf
    int64_t* message          # to the processes, and from them
    Py_ssize_t message_capacity  # in integers
    # If there are many columns, each process adds up and searches some of `summed`:
    # rank r those from column_cuts[r] to column_cuts[r + 1].
    bint shares_columns
    int* column_cuts
    int first_searched        # of `summed`; those that are searched here
    int n_searched
    uint32_t* left_sets       # by mask: the bins that go left, of leaves whose split is known
    Py_ssize_t set_size       # of each, in words
    Node* nodes
    double* leaf_value
    double* leaf_weight
    int* heap
    int n_heap
    int n_leaves
    Encoding encoding
    Encoding compact_encoding  # of leaves with no more rows than the capacity
    SplitRules rules
    double gradient_scale     # of the leaves' own sums, finer than the histograms'
    double hessian_scale
    uint64_t tree_index
    double learning_rate
    double self_concordance   # of the loss, which limits leaf_step
    bint reweighted           # hessians are weights of least squares: see hessian_of_rows
    double extra_l2           # is added to that of the options

cdef struct Settings:
    int max_leaves
    int max_depth
    double tree_fraction
    double node_fraction
    uint64_t feature_seed
    uint64_t extra_seed
    int extra_trees
    double learning_rate
    bint missing_left_if_none  # LightGBM's rule for nodes that have no missing values

cdef struct ForcedSplit:
    int32_t feature
    int32_t bin
    int32_t left              # the forced split of the left child; -1: none
    int32_t right

cdef struct Constraints:
    Bounding bounding
    const int8_t* sign        # by feature: 1: outputs rise with it, -1: they fall, 0: free
    double penalty            # on splits of monotone features near the root
    const double* factor      # of gains, by feature; NULL: ones
    int n_sets                # of features that may interact; 0: all may
    const int64_t* set_start
    const int32_t* set_features
    const int64_t* feature_sets_start  # by feature: where its sets begin in feature_sets
    const int32_t* feature_sets
    const ForcedSplit* forced
    int n_forced

cdef struct Shared:
    Binned data
    SubsetSource subset_source
    const BinColumn* columns
    bint has_sparse
    Settings settings
    SplitRules rules
    Constraints constraints
    # Of each thread:
    int64_t** accumulators
    Histogram* partial
    SmallLeafBuffers* small_leaf
    TileSums* tile_sums
    double** scratch

    int32_t* all_features
    int max_bins
    Watch watch
    void* collectives         # a `KernelCollectives`; NULL: all rows are here
    int n_ranks
    int rank
    int64_t min_shared_hist_bins  # of histograms whose columns the processes share

cdef struct Round:
    Gradients gradients
    double* score             # NULL: do not add the tree
    int32_t* leaf_number      # of each row; NULL: it is not needed
    int status                # 0 or what growing may end with


cdef enum:
    HIST_BIN_BYTES = 20       # of a gradient, a hessian and a count

cdef Histogram histogram_in(void* memory, int64_t n_hist_bins) noexcept nogil

cdef int take_slot(const Binned* data, Workspace* ws) noexcept nogil

cdef void free_slot(Workspace* ws, Leaf* leaf) noexcept nogil

cdef void free_slots(Pool* pool, int* free_slots_out) noexcept nogil

cdef inline int next_buffer(const Leaf* leaf) noexcept nogil:
    """The buffer that the rows of a leaf are moved to."""
    return 1 if leaf.buffer == 0 else 0


cdef inline Py_ssize_t position_of(const Workspace* ws, uint64_t record) noexcept nogil:
    """Where the gradient and the score of a record's row are."""
    cdef Py_ssize_t row = record & ws.encoding.id_mask
    return row if ws.data.position == NULL else ws.data.position[row]


ctypedef fused record_t:
    uint32_t
    uint64_t


cdef inline int64_t gallop(
    const record_t* records, int64_t first, int64_t n, record_t id_mask, uint64_t row,
) noexcept nogil:
    """The first of ascending rows, from ``first`` on, that is not below ``row``.

    Steps double until they are too large, so a near row is found soon.
    """
    cdef int64_t step = 1
    cdef int64_t low = first
    cdef int64_t high, middle
    while low + step < n and (records[low + step] & id_mask) < row:
        low = low + step
        step = 2 * step
    high = min(low + step, n)
    while low < high:
        middle = (low + high) // 2
        if (records[middle] & id_mask) < row:
            low = middle + 1
        else:
            high = middle
    return low

cdef const Encoding* encoding_of(const Workspace* ws, const Leaf* leaf) noexcept nogil

cdef bint is_better(const Split* a, const Split* b) noexcept nogil

cdef void heap_push(Workspace* ws, int leaf) noexcept nogil

cdef int heap_pop(Workspace* ws) noexcept nogil

cdef void heap_remove(Workspace* ws, int leaf) noexcept nogil
