"""The memory of a grower: of its threads, and of the trees that grow side by side."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

import numpy as np

from skgoss._engine.binning.packing import PIECE
from skgoss._engine.training.arena cimport Arena, in_lines
from skgoss._engine.training.feature_subset cimport ENTRY_BLOCK, SubsetBuffers, SubsetSource
from skgoss._engine.training.layout cimport LANE_CODES, WIDE_WIDTH, Binned, Histogram, Piece
from skgoss._engine.training.split cimport (
    SCRATCH_BOUNDED, SCRATCH_ROOM, SCRATCH_SHARES, FeatureBounds, PartialBound)
from skgoss._engine.training.tasks cimport Batch, Division, Siblings, free_tasks
from skgoss._engine.training.workspace cimport (
    ADVANCED, INTERMEDIATE, HIST_BIN_BYTES, Constraints, FewRows, Leaf, LeafVisit, Node, Pool,
    Scratch, Shared, Tile, TileSums, Workspace, histogram_in)

cdef enum:
    # Leaves that are divided together, at least, if threads share them.
    MIN_DIVISIONS = 16


cdef size_t few_size(const Binned* data) noexcept:
    """The bytes of `FewRows`."""
    cdef size_t n_features = data.n_features
    cdef size_t n_hist_bins = data.room if data.n_hist_bin_pieces > 0 else 0
    return (
        in_lines(HIST_BIN_BYTES * n_hist_bins) + in_lines(n_features)
        + in_lines(n_features * sizeof(int32_t))
        + in_lines((data.n_hist_bins // 64 + 1) * sizeof(uint64_t)))


cdef void divide_few(const Shared* shared, char* memory, FewRows* out) noexcept:
    """Lay out the buffers of leaves of few rows in zeroed memory."""
    cdef const Binned* data = &shared.data
    cdef size_t n_features = data.n_features
    if data.n_hist_bin_pieces > 0:
        out.histogram = histogram_in(memory, data.room)
        memory += in_lines(HIST_BIN_BYTES * data.room)
    out.seen = <uint8_t*>memory
    memory += in_lines(n_features)
    out.touched = <int32_t*>memory
    memory += in_lines(n_features * sizeof(int32_t))
    if shared.max_bins > LANE_CODES:
        out.histogram.held = <uint64_t*>memory


cdef Py_ssize_t set_size(const Binned* data) noexcept:
    """The words, of 32 bits, of the largest set of categories."""
    cdef int32_t n_bins = 0
    cdef int i
    for i in range(data.n_features):
        if data.categorical[i]:
            n_bins = max(n_bins, data.n_bins[i])
    return (n_bins + 31) // 32


cdef void free_workspace(Workspace* ws, int max_leaves) noexcept:
    """Free what is allocated while trees grow."""
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
    """The memory of a grower, with what its kernels allocate while trees grow."""

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_workspaces if self.workspaces != NULL else 0):
            free_workspace(&self.workspaces[i], self.max_leaves)
        for i in range(self.n_threads if self.tile_sums != NULL else 0):
            free(self.tile_sums[i].values)
        for i in range(1 + self.n_workspaces if self.batches != NULL else 0):
            free_tasks(&self.batches[i])

    cdef int allocate_threads(self, Shared* shared, int n_threads) except -1:
        """What each thread needs."""
        cdef int n_shares = SCRATCH_BOUNDED if shared.rules.bounded else SCRATCH_SHARES
        cdef size_t scratch_size = n_shares * (shared.max_bins + SCRATCH_ROOM)
        cdef size_t sums_size = in_lines(
            WIDE_WIDTH * (shared.data.sums_size + 1) * sizeof(int64_t))
        cdef char** memory = self.allocate_by_thread(
            sums_size + few_size(&shared.data), n_threads)
        cdef int i
        shared.accumulators = <int64_t**>self.allocate(n_threads * sizeof(int64_t*))
        shared.scratch = <double**>self.allocate(n_threads * sizeof(double*))
        shared.partial = <Histogram*>self.allocate(n_threads * sizeof(Histogram))
        shared.tile_sums = <TileSums*>self.allocate(n_threads * sizeof(TileSums))
        shared.few = <FewRows*>self.allocate(n_threads * sizeof(FewRows))
        shared.all_features = <int32_t*>self.allocate(shared.data.n_features * sizeof(int32_t))
        for i in range(shared.data.n_features):
            shared.all_features[i] = i
        for i in range(n_threads):
            shared.accumulators[i] = <int64_t*>memory[i]
            shared.scratch[i] = <double*>self.room(scratch_size, np.float64)
            if n_threads > 1:
                shared.partial[i] = histogram_in(
                    self.room(HIST_BIN_BYTES * shared.data.room, np.uint8), shared.data.room)
            divide_few(shared, memory[i] + sums_size, &shared.few[i])
        self.tile_sums = shared.tile_sums
        self.n_threads = n_threads
        return 0

    cdef int allocate_trees(self, const Shared* shared, int n) except -1:
        """What trees need that grow side by side; first their threads are allocated."""
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
        """Room to divide a number of leaves together."""
        out.first_thread = first_thread
        out.n_threads = 1
        out.max_divisions = max_divisions
        out.divisions = <Division*>self.allocate(max_divisions * sizeof(Division))
        out.siblings = <Siblings*>self.allocate(2 * max_divisions * sizeof(Siblings))
        return 0

    cdef int _workspace(self, const Shared* shared, Workspace* ws) except -1:
        """What the tree of a score needs."""
        cdef Py_ssize_t n_rows = shared.data.n_rows
        cdef size_t max_leaves = shared.settings.max_leaves
        cdef size_t n_features = shared.data.n_features
        ws.records[0] = <uint64_t*>self.room(n_rows, np.uint64)
        ws.records[1] = <uint64_t*>self.room(n_rows, np.uint64)
        if shared.has_sparse:
            ws.records[2] = <uint64_t*>self.allocate(n_rows * sizeof(uint64_t))
            ws.stays = <uint8_t*>self.allocate(n_rows)
            ws.root_position = <uint32_t*>self.allocate(n_rows * sizeof(uint32_t))
        ws.pool = <Pool*>self.allocate(sizeof(Pool))
        self._scratch(shared, &ws.scratch)
        # A bit for each row, and some more for each leaf that is divided together with others.
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
        """What is needed while a leaf is divided, but for the mask of its rows."""
        cdef const Constraints* limits = &shared.constraints
        cdef size_t n_features = shared.data.n_features
        cdef int side
        out.goes_left = <uint8_t*>self.allocate(shared.max_bins)
        out.code_goes_left = <uint8_t*>self.allocate(LANE_CODES)
        out.sample = <int32_t*>self.allocate(n_features * sizeof(int32_t))
        if limits.n_sets > 0:
            out.allowed = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            out.may_use = <uint8_t*>self.allocate(n_features)
            out.hits = <int32_t*>self.allocate(limits.n_sets * sizeof(int32_t))
        for side in range(2):
            out.searched[side] = <uint8_t*>self.allocate(n_features)
            out.cut[side] = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            if limits.factor != NULL or limits.penalty > 0:
                out.factor[side] = <double*>self.allocate(n_features * sizeof(double))
        return 0

    cdef int _speculation(self, const Shared* shared) except -1:
        """What speculative splits need, with processes or on several threads."""
        cdef size_t max_leaves = shared.settings.max_leaves
        cdef Batch* batch = &self.batches[0]
        cdef int i, n
        if shared.collectives == NULL and self.n_threads == 1:
            return 0
        for i in range(self.n_workspaces):
            self._children(shared, &self.workspaces[i])
        n = max_leaves
        if shared.collectives == NULL:
            n = min(n, max(MIN_DIVISIONS, self.n_threads))
        self._batch(batch, 0, n + self.n_workspaces)
        batch.helpers = <Workspace*>self.allocate(batch.max_divisions * sizeof(Workspace))
        for i in range(batch.max_divisions):
            self._scratch(shared, &batch.helpers[i].scratch)
        return 0

    cdef int _children(self, const Shared* shared, Workspace* ws) except -1:
        """What the tree of a score needs for speculative splits."""
        cdef size_t max_leaves = shared.settings.max_leaves
        ws.children = <Leaf*>self.allocate(2 * max_leaves * sizeof(Leaf))
        ws.waiting = <int*>self.allocate(max_leaves * sizeof(int))
        if shared.collectives != NULL:
            ws.column_cuts = <int*>self.allocate((shared.n_ranks + 1) * sizeof(int))
            ws.set_size = set_size(&shared.data)
            ws.left_sets = <uint32_t*>self.allocate(
                2 * max_leaves * ws.set_size * sizeof(uint32_t))
        return 0

    cdef int _subset(self, const Shared* shared, SubsetBuffers* out) except -1:
        """The rows of a sample of features."""
        cdef const Binned* data = &shared.data
        cdef const SubsetSource* source = &shared.subset_source
        cdef size_t n_rows = data.n_rows
        cdef size_t n_features = data.n_features
        cdef size_t n_groups = min(source.max_features, data.n_groups)
        out.chosen = <uint8_t*>self.address(np.zeros(n_features, np.uint8), np.uint8)
        out.offset = <int64_t*>self.room(n_features + 1, np.int64)
        out.feature_at = <int32_t*>self.room(data.room, np.int32)
        out.rows = <uint8_t*>self.room(n_rows * ((n_groups + 7) // 8 * 8), np.uint8)
        out.lane_start = <int32_t*>self.room(n_groups + 1, np.int32)
        out.lane_groups = <int32_t*>self.room(n_groups, np.int32)
        out.radix = <int32_t*>self.room(n_groups, np.int32)
        out.n_codes = <int32_t*>self.room(n_groups, np.int32)
        out.n_source_codes = <int32_t*>self.room(n_groups, np.int32)
        out.codes = <const uint8_t**>self.room(n_groups, np.uintp)
        out.digit = <uint8_t*>self.room(n_groups * LANE_CODES, np.uint8)
        out.hist_bin_of_code = <int32_t*>self.room(n_groups * LANE_CODES, np.int32)
        out.piece_start = <int64_t*>self.room(n_groups + 1, np.int64)
        out.pieces = <Piece*>self.room(source.max_features, PIECE)
        if data.n_hist_bin_pieces == 0:
            return 0
        n_shorts = min(source.max_features, data.n_shorts)
        out.hist_bin = <int32_t*>self.room(data.n_hist_bins, np.int32)
        out.hist_bin_pieces = <Piece*>self.room(source.max_features, PIECE)
        out.shorts = <uint16_t*>self.room(n_rows * n_shorts, np.uint16)
        out.short_hist_bin = <int64_t*>self.room(n_shorts + 1, np.int64)
        out.short_number = <int32_t*>self.room(n_shorts, np.int32)
        if data.entries == NULL:
            return 0
        out.entry_start = <int64_t*>self.room(n_rows + 1, np.int64)
        out.entries = <uint32_t*>self.room(source.most_entries, np.uint32)
        out.block_entries = <int64_t*>self.room(n_rows // ENTRY_BLOCK + 1, np.int64)
        return 0

    cdef int _constraints(self, const Shared* shared, Workspace* ws) except -1:
        """The bounds of monotonic constraints."""
        cdef const Constraints* limits = &shared.constraints
        cdef size_t n_features = shared.data.n_features
        cdef size_t max_leaves = shared.settings.max_leaves
        cdef int side, i
        if limits.bounding >= INTERMEDIATE:
            ws.above = <int8_t*>self.allocate(max_leaves * max_leaves)
        if limits.bounding == ADVANCED:
            ws.row_of = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            ws.split_features = <int32_t*>self.allocate(n_features * sizeof(int32_t))
            for i in range(shared.data.n_features):
                ws.row_of[i] = -1
        for side in range(2):
            if limits.bounding == ADVANCED:
                ws.monotone[side].rows = <FeatureBounds*>self.allocate(
                    min(max_leaves, n_features) * sizeof(FeatureBounds))
                ws.partial_bounds[side] = <PartialBound*>self.allocate(
                    min(max_leaves, n_features) * max_leaves * sizeof(PartialBound))
            ws.monotone[side].sign = limits.sign
            ws.monotone[side].row_of = ws.row_of
        return 0
