"""The memory of a grower: that of its threads, and that of the trees of a wave."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

import numpy as np

from skgoss._engine.binning.packing import PIECE
from skgoss._engine.training.arena cimport Arena, whole_lines
from skgoss._engine.training.feature_subset cimport ENTRY_BLOCK, SubsetBuffers, SubsetSource
from skgoss._engine.training.layout cimport LANE_CODES, WIDE_WIDTH, Binned, Histogram, Piece
from skgoss._engine.training.split cimport (
    SCRATCH_ARRAYS, SCRATCH_BOUNDED, SCRATCH_PADDING, FeatureBounds, PartialBound)
from skgoss._engine.training.tasks cimport Batch, Division, Siblings, free_tasks
from skgoss._engine.training.workspace cimport (
    ADVANCED, HIST_BIN_BYTES, INTERMEDIATE, Constraints, Leaf, LeafVisit, Node, Pool, Scratch,
    Shared, SmallLeafBuffers, Tile, TileSums, Workspace, histogram_in)

cdef enum:
    # The minimum size of a batch of leaves that several threads divide.
    MIN_BATCH_DIVISIONS = 16


cdef size_t small_leaf_size(const Binned* data) noexcept:
    """The bytes of a thread's `SmallLeafBuffers`: see `lay_out_small_leaf`."""
    cdef size_t n_features = data.n_features
    cdef size_t n_hist_bins = data.hist_bin_capacity if data.n_hist_bin_pieces > 0 else 0
    return (
        whole_lines(HIST_BIN_BYTES * n_hist_bins) + whole_lines(n_features)
        + whole_lines(n_features * sizeof(int32_t))
        + whole_lines((data.n_hist_bins // 64 + 1) * sizeof(uint64_t)))


cdef void lay_out_small_leaf(const Shared* shared, char* memory, SmallLeafBuffers* out) noexcept:
    """Lay out the buffers of small leaves in zeroed memory."""
    cdef const Binned* data = &shared.data
    cdef size_t n_features = data.n_features
    if data.n_hist_bin_pieces > 0:
        out.histogram = histogram_in(memory, data.hist_bin_capacity)
        memory += whole_lines(HIST_BIN_BYTES * data.hist_bin_capacity)
    out.is_touched = <uint8_t*>memory
    memory += whole_lines(n_features)
    out.touched = <int32_t*>memory
    memory += whole_lines(n_features * sizeof(int32_t))
    if shared.max_bins > LANE_CODES:
        out.histogram.occupied = <uint64_t*>memory


cdef Py_ssize_t set_size(const Binned* data) noexcept:
    """The number of 32-bit words of the largest set of categories."""
    cdef int32_t n_bins = 0
    cdef int i
    for i in range(data.n_features):
        if data.categorical[i]:
            n_bins = max(n_bins, data.n_bins[i])
    return (n_bins + 31) // 32


cdef void free_workspace(Workspace* ws, int max_leaves) noexcept:
    """Free the memory that is allocated while trees grow."""
    cdef int i
    if ws.splittable != NULL:
        for i in range(2 * max_leaves):
            free(ws.splittable[i])
    if ws.pool != NULL:
        for i in range(ws.pool.n_slots):
            free(ws.slots[i].gradient)
        free(ws.pool.set_words)
    free(ws.pairs)
    free(ws.gathered)
    free(ws.message)


cdef class GrowerMemory(Arena):
    """The memory of a grower, and that which its kernels allocate while trees grow."""

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_workspaces if self.workspaces != NULL else 0):
            free_workspace(&self.workspaces[i], self.max_leaves)
        for i in range(self.n_threads if self.tile_sums != NULL else 0):
            free(self.tile_sums[i].values)
        for i in range(1 + self.n_workspaces if self.batches != NULL else 0):
            free_tasks(&self.batches[i])

    cdef int allocate_threads(self, Shared* shared, int n_threads) except -1:
        """Allocate the memory of each thread: accumulators, scratch space and histograms of its
        own.

        Memory that must be zero is allocated by the threads together.
        """
        cdef int n_arrays = SCRATCH_BOUNDED if shared.rules.bounded else SCRATCH_ARRAYS
        cdef size_t scratch_size = n_arrays * (shared.max_bins + SCRATCH_PADDING)
        cdef size_t sums_size = whole_lines(
            WIDE_WIDTH * (shared.data.sums_size + 1) * sizeof(int64_t))
        cdef char** memory = self.allocate_by_thread(
            sums_size + small_leaf_size(&shared.data), n_threads)
        cdef int64_t n_hist_bins = shared.data.hist_bin_capacity
        cdef int i
        shared.accumulators = <int64_t**>self.allocate(n_threads * sizeof(int64_t*))
        shared.scratch = <double**>self.allocate(n_threads * sizeof(double*))
        shared.partial = <Histogram*>self.allocate(n_threads * sizeof(Histogram))
        shared.tile_sums = <TileSums*>self.allocate(n_threads * sizeof(TileSums))
        shared.small_leaf = <SmallLeafBuffers*>self.allocate(n_threads * sizeof(SmallLeafBuffers))
        shared.all_features = <int32_t*>self.allocate(shared.data.n_features * sizeof(int32_t))
        for i in range(shared.data.n_features):
            shared.all_features[i] = i
        for i in range(n_threads):
            shared.accumulators[i] = <int64_t*>memory[i]
            shared.scratch[i] = <double*>self.buffer(scratch_size, np.float64)
            if n_threads > 1:
                shared.partial[i] = histogram_in(
                    self.buffer(HIST_BIN_BYTES * n_hist_bins, np.uint8), n_hist_bins)
            lay_out_small_leaf(shared, memory[i] + sums_size, &shared.small_leaf[i])
        self.tile_sums = shared.tile_sums
        self.n_threads = n_threads
        return 0

    cdef int allocate_trees(self, const Shared* shared, int n) except -1:
        """Allocate the memory of the n trees of a wave, after that of the threads."""
        cdef int i
        self.n_workspaces = n
        self.max_leaves = shared.settings.max_leaves
        self.workspaces = <Workspace*>self.allocate(n * sizeof(Workspace))
        for i in range(n):
            self._workspace(shared, &self.workspaces[i])
        self.batches = <Batch*>self.allocate((1 + n) * sizeof(Batch))
        for i in range(1 + n):
            self._batch(&self.batches[i], max(i - 1, 0), 1)
        if shared.constraints.bounding < INTERMEDIATE:
            self._speculation(shared)
        return 0

    cdef int _batch(self, Batch* out, int first_thread, int max_divisions) except -1:
        """Allocate a batch of at most ``max_divisions`` leaves.

        ``first_thread``: the number of the first thread that divides them.
        """
        out.first_thread = first_thread
        out.n_threads = 1
        out.max_divisions = max_divisions
        out.divisions = <Division*>self.allocate(max_divisions * sizeof(Division))
        out.siblings = <Siblings*>self.allocate(2 * max_divisions * sizeof(Siblings))
        return 0

    cdef int _workspace(self, const Shared* shared, Workspace* ws) except -1:
        """Allocate the memory of a tree."""
        cdef Py_ssize_t n_rows = shared.data.n_rows
        cdef size_t max_leaves = shared.settings.max_leaves
        cdef size_t n_features = shared.data.n_features
        ws.records[0] = <uint64_t*>self.buffer(n_rows, np.uint64)
        ws.records[1] = <uint64_t*>self.buffer(n_rows, np.uint64)
        if shared.has_sparse:
            ws.records[2] = <uint64_t*>self.allocate(n_rows * sizeof(uint64_t))
            ws.in_root_leaf = <uint8_t*>self.allocate(n_rows)
            ws.root_position = <uint32_t*>self.allocate(n_rows * sizeof(uint32_t))
        ws.pool = <Pool*>self.allocate(sizeof(Pool))
        self._scratch(shared, &ws.scratch)
        # A bit for each row; the bits of each leaf of a batch begin with a byte.
        ws.scratch.mask = <uint8_t*>self.allocate(n_rows // 8 + 8 * (max_leaves + 1))
        ws.features = <int32_t*>self.allocate(n_features * sizeof(int32_t))
        ws.summed = <int32_t*>self.allocate(n_features * sizeof(int32_t))
        ws.is_summed = <uint8_t*>self.allocate(n_features)
        ws.tiles = <Tile*>self.allocate((shared.data.n_lanes // 8 + 1) * sizeof(Tile))
        ws.tile_features = <int32_t*>self.allocate(n_features * sizeof(int32_t))
        ws.tile_of = <int32_t*>self.allocate(n_features * sizeof(int32_t))
        # Twice as much for speculative splits.
        ws.slots = <Histogram*>self.allocate((2 * max_leaves + 1) * sizeof(Histogram))
        ws.free_slots = <int*>self.allocate((2 * max_leaves + 1) * sizeof(int))
        ws.splittable = <uint8_t**>self.allocate(2 * max_leaves * sizeof(uint8_t*))
        ws.nodes = <Node*>self.allocate(2 * max_leaves * sizeof(Node))
        ws.leaves = <Leaf*>self.allocate(max_leaves * sizeof(Leaf))
        ws.heap = <int*>self.allocate(max_leaves * sizeof(int))
        ws.leaf_sums = <int64_t*>self.allocate(2 * max_leaves * sizeof(int64_t))
        ws.leaf_visits = <LeafVisit*>self.allocate(
            self.n_threads * max_leaves * sizeof(LeafVisit))
        ws.leaf_value = <double*>self.allocate(max_leaves * sizeof(double))
        ws.leaf_weight = <double*>self.allocate(max_leaves * sizeof(double))
        ws.learning_rate = shared.settings.learning_rate
        if shared.subset_source.max_features > 0:
            self._subset(shared, &ws.subset)
        self._constraints(shared, ws)
        return 0

    cdef int _scratch(self, const Shared* shared, Scratch* out) except -1:
        """Allocate the scratch memory of a division, except for the mask of its rows."""
        cdef const Constraints* limits = &shared.constraints
        cdef size_t n_features = shared.data.n_features
        cdef int side
        out.goes_left = <uint8_t*>self.allocate(shared.max_bins)
        out.code_goes_left = <uint8_t*>self.allocate(LANE_CODES)
        out.sample = <int32_t*>self.allocate(n_features * sizeof(int32_t))
        if limits.n_sets > 0:
            out.allowed = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            out.is_allowed = <uint8_t*>self.allocate(n_features)
            out.hits = <int32_t*>self.allocate(limits.n_sets * sizeof(int32_t))
        for side in range(2):
            out.searched[side] = <uint8_t*>self.allocate(n_features)
            out.cut[side] = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            if limits.factor != NULL or limits.penalty > 0:
                out.factor[side] = <double*>self.allocate(n_features * sizeof(double))
        return 0

    cdef int _speculation(self, const Shared* shared) except -1:
        """Allocate the memory of speculative splits, if there are several threads or processes."""
        cdef size_t max_leaves = shared.settings.max_leaves
        cdef Batch* batch = &self.batches[0]
        cdef int i, n
        if shared.collectives == NULL and self.n_threads == 1:
            return 0
        for i in range(self.n_workspaces):
            self._children(shared, &self.workspaces[i])
        n = max_leaves
        if shared.collectives == NULL:
            n = min(n, max(MIN_BATCH_DIVISIONS, self.n_threads))
        self._batch(batch, 0, n + self.n_workspaces)
        batch.helpers = <Workspace*>self.allocate(batch.max_divisions * sizeof(Workspace))
        for i in range(batch.max_divisions):
            self._scratch(shared, &batch.helpers[i].scratch)
        return 0

    cdef int _children(self, const Shared* shared, Workspace* ws) except -1:
        """Allocate the memory of a tree's speculative splits."""
        cdef size_t max_leaves = shared.settings.max_leaves
        ws.children = <Leaf*>self.allocate(2 * max_leaves * sizeof(Leaf))
        ws.popped = <int*>self.allocate(max_leaves * sizeof(int))
        if shared.collectives != NULL:
            ws.column_cuts = <int*>self.allocate((shared.n_ranks + 1) * sizeof(int))
            ws.set_size = set_size(&shared.data)
            ws.left_sets = <uint32_t*>self.allocate(
                2 * max_leaves * ws.set_size * sizeof(uint32_t))
        return 0

    cdef int _subset(self, const Shared* shared, SubsetBuffers* out) except -1:
        """Allocate the memory for the rows of a sample of features."""
        cdef const Binned* data = &shared.data
        cdef const SubsetSource* source = &shared.subset_source
        cdef size_t n_rows = data.n_rows
        cdef size_t n_features = data.n_features
        cdef size_t n_groups = min(source.max_features, data.n_groups)
        out.chosen = <uint8_t*>self.address(np.zeros(n_features, np.uint8), np.uint8)
        out.offset = <int64_t*>self.buffer(n_features + 1, np.int64)
        out.feature_of_hist_bin = <int32_t*>self.buffer(data.hist_bin_capacity, np.int32)
        out.rows = <uint8_t*>self.buffer(n_rows * ((n_groups + 7) // 8 * 8), np.uint8)
        out.lane_start = <int32_t*>self.buffer(n_groups + 1, np.int32)
        out.lane_groups = <int32_t*>self.buffer(n_groups, np.int32)
        out.radix = <int32_t*>self.buffer(n_groups, np.int32)
        out.n_codes = <int32_t*>self.buffer(n_groups, np.int32)
        out.n_source_codes = <int32_t*>self.buffer(n_groups, np.int32)
        out.codes = <const uint8_t**>self.buffer(n_groups, np.uintp)
        out.digit = <uint8_t*>self.buffer(n_groups * LANE_CODES, np.uint8)
        out.hist_bin_of_code = <int32_t*>self.buffer(n_groups * LANE_CODES, np.int32)
        out.piece_start = <int64_t*>self.buffer(n_groups + 1, np.int64)
        out.pieces = <Piece*>self.buffer(source.max_features, PIECE)
        if data.n_hist_bin_pieces == 0:
            return 0
        n_shorts = min(source.max_features, data.n_shorts)
        out.hist_bin = <int32_t*>self.buffer(data.n_hist_bins, np.int32)
        out.hist_bin_pieces = <Piece*>self.buffer(source.max_features, PIECE)
        out.shorts = <uint16_t*>self.buffer(n_rows * n_shorts, np.uint16)
        out.short_hist_bin = <int64_t*>self.buffer(n_shorts + 1, np.int64)
        out.short_number = <int32_t*>self.buffer(n_shorts, np.int32)
        if data.entries == NULL:
            return 0
        out.entry_start = <int64_t*>self.buffer(n_rows + 1, np.int64)
        out.entries = <uint32_t*>self.buffer(source.max_entries, np.uint32)
        out.block_entries = <int64_t*>self.buffer(n_rows // ENTRY_BLOCK + 1, np.int64)
        return 0

    cdef int _constraints(self, const Shared* shared, Workspace* ws) except -1:
        """Allocate the bounds of monotone constraints."""
        cdef const Constraints* limits = &shared.constraints
        cdef size_t n_features = shared.data.n_features
        cdef size_t max_leaves = shared.settings.max_leaves
        cdef int side, i
        if limits.bounding >= INTERMEDIATE:
            ws.neighbor_order = <int8_t*>self.allocate(max_leaves * max_leaves)
        if limits.bounding == ADVANCED:
            ws.bounds_index = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            ws.split_features = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            for i in range(shared.data.n_features):
                ws.bounds_index[i] = -1
        for side in range(2):
            if limits.bounding == ADVANCED:
                ws.monotone[side].bounds = <FeatureBounds*>self.allocate(
                    min(max_leaves, n_features) * sizeof(FeatureBounds))
                ws.partial_bounds[side] = <PartialBound*>self.allocate(
                    min(max_leaves, n_features) * max_leaves * sizeof(PartialBound))
            ws.monotone[side].sign = limits.sign
            ws.monotone[side].bounds_index = ws.bounds_index
        return 0
