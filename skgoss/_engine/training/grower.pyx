"""Growing the trees of a fit: memory, threads and the way in from Python.

Trees of one round (the classes) are grown side by side when there are enough of them, else
the threads share the work inside the trees; the trees are the same either way.
"""

from libc.stdint cimport (
    int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t)
from libc.stdlib cimport calloc, free

import numpy as np

from skgoss._engine.binning.packing import PIECE
from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.objectives.loss_kernels cimport Loss
from skgoss._engine.random cimport DIRECTION, below, draw, key
from skgoss._engine.signals cimport end_watch, start_watch
from skgoss._engine.threads cimport parallel_for, parallel_shares
from skgoss._engine.training.kernel_collectives cimport MIN_SHARED_HIST_BINS, KernelCollectives
from skgoss._engine.training.feature_subset cimport (
    ENTRY_BLOCK, SubsetBuffers, SubsetSource, count_visits)
from skgoss._engine.training.forest cimport Forest
from skgoss._engine.training.histogram cimport FOLD_ROOM
from skgoss._engine.training.linear_leaves cimport LineFit
from skgoss._engine.training.layout cimport (
    LANE_CODES, WIDE_WIDTH, Binned, Gradients, Histogram, Piece)
from skgoss._engine.training.score import add_trees
from skgoss._engine.training.split cimport (
    SCRATCH_BOUNDED, SCRATCH_ROOM, SCRATCH_SHARES, FeatureBounds, PartialBound, SplitRules,
    split_rules)
from skgoss._engine.training.tasks cimport Batch, Division, Siblings, free_tasks
from skgoss._engine.training.tree cimport fill_score, grow_trees
from skgoss._engine.training.workspace cimport (
    ADVANCED, COLLECTIVE_FAILED, INTERMEDIATE, NO_MEMORY, NOT_FINITE, HIST_BIN_BYTES, UNBOUNDED,
    Bounding, Constraints, FewRows, ForcedSplit, Leaf, LeafVisit, Node, Pool, Round, Scratch,
    Settings, Shared, Tile, TileSums, Workspace, histogram_in, position_of)


# Trees that sample features read rows of these alone if this takes at most this share of the
# time of reading all features: see `Storage.subset_work`.
MAX_RELATIVE_WORK: float = 0.9

cdef enum:
    # The least updates and visits of bins in the roots of a round for each thread.
    MIN_ROOT_WORK_PER_THREAD = 64000
    # Trees of fewer updates do not pay for threads that grow one each.
    MIN_UPDATES_PER_WAVE = 20000
    # Leaves that are divided together, at least, if threads share them.
    MIN_DIVISIONS = 16
    SIGNED_BLOCK = 8192       # rows whose sums stay in the cache while scores are added

# Row numbers and counts of rows have 31 bits.
MAX_ROWS: int = 2**31 - 1

# How often columns and thresholds are drawn, where these are random, for a round without a split.
MAX_DRAWS: int = 30


cdef raise_status(int status):
    if status == NO_MEMORY:
        raise MemoryError("could not allocate memory for growing trees")
    if status == NOT_FINITE:
        raise FloatingPointError("gradients or hessians are NaN or infinite")


cdef double sampled_share(settings):
    """The share of the rows that trees are grown on."""
    if settings.data_sample_strategy == "goss":
        return settings.top_rate + settings.other_rate
    return settings.subsample if settings.subsample_freq > 0 else 1.0


cdef direction(uint64_t seed, uint64_t round_index, int n_scores):
    """Give half of the scores, at random, the sign 1 and the others -1."""
    signs = np.full(n_scores, -1.0, dtype=np.float32)
    cdef float[::1] signs_out = signs
    cdef uint64_t random = key(seed, DIRECTION, round_index)
    cdef int n_left = n_scores // 2
    cdef int k
    for k in range(n_scores):
        if below(draw(random, k), n_scores - k) < n_left:
            signs_out[k] = 1.0
            n_left -= 1
    return signs


cdef struct SignedSums:
    const float* values
    const float* signs
    Py_ssize_t n_scores
    Py_ssize_t n
    float* sums


cdef void add_signed(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Of some rows, the sum of the scores' values, with signs."""
    cdef SignedSums* all = <SignedSums*>context
    cdef const float* values
    cdef Py_ssize_t i, k
    for k in range(all.n_scores):
        values = all.values + k * all.n
        for i in range(first, end):
            all.sums[i] += all.signs[k] * values[i]


cdef signed_sums(const float[:, ::1] values, const float[::1] signs, int n_threads):
    """Of each row, the sum of the scores' values, with signs."""
    cdef Py_ssize_t n = values.shape[1]
    sums = np.zeros((1, n), dtype=np.float32)
    cdef float[:, ::1] sums_out = sums
    cdef SignedSums context = SignedSums(
        &values[0, 0], &signs[0], values.shape[0], n, &sums_out[0, 0])
    with nogil:
        parallel_shares(add_signed, &context, n, SIGNED_BLOCK, n_threads)
    return sums


cdef struct Wave:
    # Trees that grow side by side.
    Shared* shared
    Batch* batches
    Workspace* workspaces
    Round* rounds


cdef void grow_one(void* context, Py_ssize_t i, Py_ssize_t end, int thread) noexcept nogil:
    cdef Wave* wave = <Wave*>context
    wave.rounds[i].status = grow_trees(
        wave.shared, &wave.batches[1 + i], &wave.workspaces[i], &wave.rounds[i], 1)


cdef sum_of_largest(values, int n):
    return int(np.sort(values)[len(values) - n:].sum())


cdef struct Allocation:
    # Memory for as long as a grower lives follows.
    Allocation* previous
    int64_t padding           # what follows is aligned as `calloc` does


cdef struct AllocationLoop:
    Allocation** allocations  # one for each thread
    size_t size


cdef void allocate_one(void* context, Py_ssize_t i, Py_ssize_t end, int thread) noexcept nogil:
    cdef AllocationLoop* loop = <AllocationLoop*>context
    loop.allocations[i] = <Allocation*>calloc(loop.size, 1)


cdef inline size_t in_lines(size_t size) noexcept nogil:
    """A size, rounded up to whole lines of the cache."""
    return (size + 63) // 64 * 64


cdef class TreeGrower:
    """Grows the trees of a fit on one binned data set.

    - ``dataset``: a `BinnedDataset` of at least one feature.
    - ``settings``: resolved `Settings`.
    - ``n_scores``: the trees of a round.
    - ``forest``: the trees to go on from, and those grown so far.
    - ``constraints``: `TreeConstraints`.
    - ``copies``, (n_rows,), uint32: how many copies each row stands for; None: one.
    - ``self_concordance``, float or (n_scores,): of the loss, see `Objective`.
    - ``reweighted``, bool or (n_scores,): likewise.
    - ``partition``: the `RowPartition` of the data set; None: it has all rows.
    - ``raw``: the `RawColumns` of the rows, for linear leaves; None: there are none.
    - ``row_weight``, (1 or n_scores, n_rows): the weights of rows, for linear leaves.
    - ``missing_left_if_none``: whether missing values go left at nodes that have none, as in
      LightGBM; they go with the larger child otherwise.
    - ``min_shared_hist_bins``: processes share the columns of a tree if its histograms have so
      many bins: each adds up and searches some of them.
    """

    cdef Shared shared
    cdef Gradients gradients  # of a round, but for the arguments of `grow`
    cdef public Forest forest   # the next trees are added to it
    cdef Allocation* allocations  # the newest of those allocated
    cdef Workspace* workspaces
    cdef Batch* batches       # of all threads, then of each tree that one thread grows
    cdef int n_workspaces
    cdef int n_threads
    cdef object dataset
    cdef BinStore store
    cdef object numbers       # of the rows in the store; None: all of them
    cdef object arrays        # keeps what `shared.data` points to
    cdef KernelCollectives collectives  # None: all rows are here
    cdef LineFit line_fit     # None: all leaves are constant
    cdef double[::1] self_concordance  # of each score
    cdef uint8_t[::1] reweighted  # likewise
    cdef double[::1] more_l2  # of each score
    cdef double[::1] no_more_l2
    cdef int64_t n_rows       # of all processes
    cdef bint shares_trees    # one tree a round for all scores
    cdef int n_draws          # of columns and thresholds, for a round without a split

    def __cinit__(
        self, dataset, settings, int n_scores, int n_threads, Forest forest=None, constraints=None,
        copies: NDArray[np.uint32] | None = None,
        self_concordance: float | NDArray[np.float64] = 0.0, partition=None,
        int64_t min_shared_hist_bins=MIN_SHARED_HIST_BINS,
        reweighted: bool | NDArray[np.bool_] = False, raw=None,
        row_weight: NDArray[np.float64] | None = None, bint missing_left_if_none=False,
    ):
        cdef int i
        self.dataset = dataset
        if raw is not None:
            self.line_fit = LineFit(dataset, settings, raw, row_weight)
        self.self_concordance = np.full(n_scores, self_concordance, dtype=np.float64)
        self.reweighted = np.full(n_scores, reweighted, dtype=np.uint8)
        self.no_more_l2 = np.zeros(n_scores)
        self._read_partition(partition, min_shared_hist_bins)
        self.forest = Forest() if forest is None else forest
        self._read_dataset(dataset)
        self.n_threads = self._team(n_threads, n_scores, self.shared.data.n_rows)
        self.shares_trees = n_scores > 1 and settings.multi_strategy == "multi_output_tree"
        samples = min(settings.colsample_bytree, settings.feature_fraction_bynode) < 1
        self.n_draws = MAX_DRAWS if settings.extra_trees or samples else 1
        # Processes grow one tree after the other, so that all ask for the same sums.
        self.n_workspaces = min(self.n_threads, n_scores)
        if self.collectives is not None or self.shares_trees:
            self.n_workspaces = 1
        self._read_copies(copies)
        self._read_settings(settings)
        self.shared.settings.missing_left_if_none = missing_left_if_none
        if constraints is not None:
            self._read_constraints(constraints)
        self._read_subset_source(settings)
        self._allocate_threads()
        self.workspaces = <Workspace*>self._allocate(self.n_workspaces * sizeof(Workspace))
        for i in range(self.n_workspaces):
            self._allocate_workspace(&self.workspaces[i])
        self.batches = <Batch*>self._allocate((1 + self.n_workspaces) * sizeof(Batch))
        for i in range(1 + self.n_workspaces):
            self._allocate_batch(&self.batches[i], max(i - 1, 0), 1)
        if self.shared.constraints.bounding < INTERMEDIATE:
            self._allocate_ahead()

    cdef int _team(self, int n_threads, int n_scores, int64_t n_rows):
        """As many threads as the roots of a round have work for, or two, but not more than wanted.

        More would divide leaves ahead of their turn in vain.
        """
        cdef const Binned* data = &self.shared.data
        cdef double work = n_scores * (n_rows * data.row_updates + data.n_visits)
        cdef double n_busy = work / MIN_ROOT_WORK_PER_THREAD
        return max(1, min(n_threads, <int>min(max(n_busy, 2.0), 1e6)))

    cdef void* _allocate(self, size_t size) except NULL:
        """Memory of zeros for as long as the grower lives."""
        return self._kept(<Allocation*>calloc(sizeof(Allocation) + size + 64, 1), size)

    cdef void* _kept(self, Allocation* allocation, size_t size) except NULL:
        if allocation == NULL:
            raise MemoryError(f"could not allocate {size} bytes for growing trees")
        allocation.previous = self.allocations
        self.allocations = allocation
        return allocation + 1

    cdef char** _allocate_by_thread(self, size_t size) except NULL:
        """Memory of zeros for each thread; the threads ask for it, as zeros take time."""
        cdef char** out = <char**>self._allocate(self.n_threads * sizeof(char*))
        cdef AllocationLoop loop = AllocationLoop(
            <Allocation**>out, sizeof(Allocation) + size + 64)
        cdef bint is_complete = True
        cdef int i
        with nogil:
            parallel_for(allocate_one, &loop, self.n_threads, 1, self.n_threads)
        for i in range(self.n_threads):
            if loop.allocations[i] == NULL:
                is_complete = False
            else:
                out[i] = <char*>self._kept(loop.allocations[i], size)
        if not is_complete:
            self._kept(NULL, self.n_threads * size)
        return out

    cdef _read_partition(self, partition, int64_t min_shared_hist_bins):
        self.n_rows = self.dataset.n_rows
        if partition is None or partition.is_alone:
            return
        self.n_rows = partition.n_rows
        self.collectives = KernelCollectives(partition.collectives)
        self.shared.collectives = <void*>self.collectives
        self.shared.n_ranks = partition.collectives.n_ranks
        self.shared.rank = partition.collectives.rank
        self.shared.min_shared_hist_bins = min_shared_hist_bins

    cdef _read_dataset(self, dataset):
        """Point `shared.data` to the arrays of a data set."""
        cdef Binned* data = &self.shared.data
        storage = dataset.storage
        if self.n_rows > MAX_ROWS:
            raise ValueError(f"X has {self.n_rows} rows; at most {MAX_ROWS} can be used")
        self.store = storage.store
        self.numbers = dataset.numbers
        self.shared.columns = self.store.columns
        self.shared.has_sparse = self.store.has_sparse
        self.arrays = []
        data.n_rows = self.store.n_rows
        if self.numbers is not None:
            position = np.empty(self.store.n_rows, dtype=np.uint32)
            position[self.numbers] = np.arange(len(self.numbers), dtype=np.uint32)
            data.position = <const uint32_t*>self._address(position, np.uint32)
        data.n_features = len(dataset.feature)
        data.n_bins = <const int32_t*>self._address(dataset.n_bins, np.int32)
        data.missing_bin = <const int32_t*>self._address(dataset.missing_bin, np.int32)
        data.categorical = <const uint8_t*>self._address(dataset.categorical, np.bool_)
        data.default_bin = <const int32_t*>self._address(storage.default_bin, np.int32)
        data.singles = <const int32_t*>self._address(storage.singles, np.int32)
        data.offset = <const int64_t*>self._address(storage.offset, np.int64)
        data.feature_at = <const int32_t*>self._address(storage.feature_at, np.int32)
        data.n_hist_bins = data.room = data.offset[data.n_features]
        data.n_visits = count_visits(data)
        data.row_updates = storage.row_updates
        self.shared.max_bins = dataset.n_bins.max()
        self._read_lanes(storage)
        self._read_shorts_and_entries(storage)

    cdef _read_copies(self, copies):
        cdef Gradients* gradients = &self.gradients
        gradients.n_rows = self.dataset.n_rows
        gradients.n_rows_everywhere = gradients.n_copies = self.n_rows
        gradients.most_copies = 1
        if copies is not None:
            gradients.copies = <const uint32_t*>self._address(copies, np.uint32)
            gradients.n_copies, gradients.most_copies = self._counted(copies)

    cdef _counted(self, copies):
        """The sum of the copies of all rows, and the most of one."""
        own = int(copies.sum(dtype=np.int64)), int(copies.max(initial=1))
        if self.collectives is None:
            return own
        sums, most = zip(*self.collectives.wrapped.all_gather(own))
        return sum(sums), max(most)

    cdef _read_lanes(self, storage):
        cdef Binned* data = &self.shared.data
        lane = storage.lane
        lane_groups = np.argsort(lane, kind="stable")
        lane_start = np.zeros(lane.max(initial=-1) + 2, dtype=np.int32)
        np.cumsum(np.bincount(lane), out=lane_start[1:])
        data.n_groups = len(lane)
        data.n_lanes = len(lane_start) - 1
        data.rows = <const uint8_t*>self._address(storage.rows, np.uint8)
        data.row_bytes = storage.rows.shape[1]
        data.lane_start = <const int32_t*>self._address(lane_start, np.int32)
        data.lane_groups = <const int32_t*>self._address(lane_groups, np.int32)
        data.radix = <const int32_t*>self._address(storage.radix, np.int32)
        data.n_codes = <const int32_t*>self._address(storage.n_codes, np.int32)
        data.piece_start = <const int64_t*>self._address(storage.piece_start, np.int64)
        data.pieces = <const Piece*>self._address(storage.pieces, PIECE)
        data.hist_bin_of_code = <const int32_t*>self._address(storage.hist_bin_of_code, np.int32)
        # The numbers of values that a lane takes. Strides that are no power of two keep
        # the lanes apart in the cache.
        size = np.multiply.reduceat(
            storage.n_codes[lane_groups], lane_start[: len(lane_start) - 1]) if len(lane) else lane
        data.lane_stride = next(
            stride for stride in (24, 72, 264) if size.max(initial=0) <= stride)

    cdef _read_shorts_and_entries(self, storage):
        cdef Binned* data = &self.shared.data
        data.hist_bin_sums = data.n_lanes * data.lane_stride
        data.sums_size = data.hist_bin_sums + FOLD_ROOM
        if len(storage.hist_bin_pieces) == 0:
            return
        data.hist_bin_pieces = <const Piece*>self._address(storage.hist_bin_pieces, PIECE)
        data.n_hist_bin_pieces = len(storage.hist_bin_pieces)
        in_shorts = storage.in_shorts
        data.n_shorts = len(in_shorts)
        if data.n_shorts > 0:
            data.shorts = <const uint16_t*>self._address(storage.shorts, np.uint16)
            short_hist_bin = np.append(storage.offset[in_shorts], data.n_hist_bins)
            data.short_hist_bin = <const int64_t*>self._address(short_hist_bin, np.int64)
        if storage.entry_start is not None:
            data.entry_start = <const int64_t*>self._address(storage.entry_start, np.int64)
            data.entries = <const uint32_t*>self._address(storage.entries, np.uint32)
        data.sums_size += data.room + 1  # one of no feature: see add_row_entries

    cdef const void* _address(self, array, dtype):
        """Where an array's values lie, for as long as the grower lives."""
        array = np.ascontiguousarray(array, dtype=dtype)
        self.arrays.append(array)
        return <const void*><uintptr_t>array.__array_interface__["data"][0]

    cdef _read_settings(self, settings):
        cdef Settings* out = &self.shared.settings
        cdef SplitRules* rules = &self.shared.rules
        rules[0] = split_rules(settings)
        # A leaf holds min_count rows at least, which bounds the leaves there can be.
        out.max_leaves = max(
            1, min(settings.num_leaves, self.n_rows // rules.min_count))
        out.max_depth = settings.max_depth
        out.tree_fraction = settings.colsample_bytree
        out.node_fraction = settings.feature_fraction_bynode
        out.feature_seed = settings.feature_fraction_seed
        out.extra_seed = settings.extra_seed
        out.extra_trees = settings.extra_trees
        out.learning_rate = settings.learning_rate

    cdef _read_subset_source(self, settings):
        """What trees of sampled features are grown on, where reading their bins alone pays."""
        cdef SubsetSource* out = &self.shared.subset_source
        cdef Binned* data = &self.shared.data
        cdef int i
        storage = self.dataset.storage
        n_most = min(
            data.n_features,
            <int>max(1.0, settings.colsample_bytree * data.n_features + 0.5)
            + len({self.shared.constraints.forced[i].feature
                   for i in range(self.shared.constraints.n_forced)}))
        share = n_most / data.n_features
        if share == 1 or storage.subset_work(share, sampled_share(settings)) > MAX_RELATIVE_WORK:
            return
        out.max_features = n_most
        out.most_entries = sum_of_largest(storage.entry_lengths, n_most)
        if data.n_lanes < data.n_groups:
            out.lane_codes = min(data.lane_stride, LANE_CODES)
        out.columns = self.shared.columns
        out.group = <const int32_t*>self._address(storage.group, np.int32)
        in_lanes = storage.in_lanes
        out.in_lanes = <const int32_t*>self._address(in_lanes, np.int32)
        out.n_in_lanes = len(in_lanes)
        by_hist_bin = np.setdiff1d(np.arange(data.n_features), in_lanes)
        out.by_hist_bin = <const int32_t*>self._address(by_hist_bin, np.int32)
        out.n_by_hist_bin = len(by_hist_bin)
        out.in_shorts = <const int32_t*>self._address(storage.in_shorts, np.int32)
        data.room = sum_of_largest(np.diff(storage.offset), n_most)
        data.hist_bin_sums = min(n_most, data.n_groups) * data.lane_stride
        data.sums_size = data.hist_bin_sums + FOLD_ROOM
        if data.n_hist_bin_pieces > 0:
            data.sums_size += data.room + 1

    cdef _read_constraints(self, constraints):
        cdef Constraints* out = &self.shared.constraints
        out.bounding = <Bounding><int>constraints.bounding
        out.penalty = constraints.penalty
        if constraints.sign is not None:
            out.sign = <const int8_t*>self._address(constraints.sign, np.int8)
            self.shared.rules.bounded = out.bounding != UNBOUNDED
        if constraints.factor is not None:
            out.factor = <const double*>self._address(constraints.factor, np.float64)
        if constraints.sets is not None:
            out.n_sets = len(constraints.sets.start) - 1
            out.set_start = <const int64_t*>self._address(constraints.sets.start, np.int64)
            out.set_features = <const int32_t*>self._address(
                constraints.sets.features, np.int32)
            out.sets_start = <const int64_t*>self._address(
                constraints.sets.by_feature_start, np.int64)
            out.sets_of = <const int32_t*>self._address(
                constraints.sets.by_feature, np.int32)
        out.n_forced = len(constraints.forced)
        out.forced = <const ForcedSplit*>self._address(constraints.forced, np.int32)

    cdef _allocate_threads(self):
        cdef Shared* shared = &self.shared
        cdef int n_shares = SCRATCH_BOUNDED if shared.rules.bounded else SCRATCH_SHARES
        cdef size_t scratch_size = n_shares * (shared.max_bins + SCRATCH_ROOM)
        cdef size_t sums_size = in_lines(
            WIDE_WIDTH * (shared.data.sums_size + 1) * sizeof(int64_t))
        cdef char** memory = self._allocate_by_thread(sums_size + self._few_size())
        cdef int n = self.n_threads
        cdef int i
        shared.accumulators = <int64_t**>self._allocate(n * sizeof(int64_t*))
        shared.scratch = <double**>self._allocate(n * sizeof(double*))
        shared.partial = <Histogram*>self._allocate(n * sizeof(Histogram))
        shared.tile_sums = <TileSums*>self._allocate(n * sizeof(TileSums))
        shared.few = <FewRows*>self._allocate(n * sizeof(FewRows))
        shared.all_features = <int32_t*>self._allocate(shared.data.n_features * sizeof(int32_t))
        for i in range(shared.data.n_features):
            shared.all_features[i] = i
        for i in range(n):
            shared.accumulators[i] = <int64_t*>memory[i]
            shared.scratch[i] = <double*>self._room(scratch_size, np.float64)
            if n > 1:
                shared.partial[i] = histogram_in(
                    self._room(HIST_BIN_BYTES * shared.data.room, np.uint8), shared.data.room)
            self._divide_few(memory[i] + sums_size, &shared.few[i])

    cdef size_t _few_size(self):
        """The bytes of `FewRows`."""
        cdef const Binned* data = &self.shared.data
        cdef size_t n_features = data.n_features
        cdef size_t n_hist_bins = data.room if data.n_hist_bin_pieces > 0 else 0
        return (
            in_lines(HIST_BIN_BYTES * n_hist_bins) + in_lines(n_features)
            + in_lines(n_features * sizeof(int32_t))
            + in_lines((data.n_hist_bins // 64 + 1) * sizeof(uint64_t)))

    cdef void _divide_few(self, char* memory, FewRows* out) noexcept:
        """Divide so many zeros among what leaves of few rows need."""
        cdef const Binned* data = &self.shared.data
        cdef size_t n_features = data.n_features
        if data.n_hist_bin_pieces > 0:
            out.histogram = histogram_in(memory, data.room)
            memory += in_lines(HIST_BIN_BYTES * data.room)
        out.seen = <uint8_t*>memory
        memory += in_lines(n_features)
        out.touched = <int32_t*>memory
        memory += in_lines(n_features * sizeof(int32_t))
        if self.shared.max_bins > LANE_CODES:
            out.histogram.held = <uint64_t*>memory

    cdef _allocate_batch(self, Batch* out, int first_thread, int max_divisions):
        """Room to divide so many leaves together."""
        out.first_thread = first_thread
        out.n_threads = 1
        out.max_divisions = max_divisions
        out.divisions = <Division*>self._allocate(max_divisions * sizeof(Division))
        out.siblings = <Siblings*>self._allocate(2 * max_divisions * sizeof(Siblings))

    cdef _allocate_workspace(self, Workspace* ws):
        cdef Py_ssize_t n_rows = self.shared.data.n_rows
        cdef size_t max_leaves = self.shared.settings.max_leaves
        cdef size_t n_features = self.shared.data.n_features
        ws.records[0] = <uint64_t*>self._room(n_rows, np.uint64)
        ws.records[1] = <uint64_t*>self._room(n_rows, np.uint64)
        if self.shared.has_sparse:
            ws.records[2] = <uint64_t*>self._allocate(n_rows * sizeof(uint64_t))
            ws.stays = <uint8_t*>self._allocate(n_rows)
            ws.root_position = <uint32_t*>self._allocate(n_rows * sizeof(uint32_t))
        ws.pool = <Pool*>self._allocate(sizeof(Pool))
        self._allocate_scratch(&ws.scratch)
        # A bit for each row, and some more for each leaf that is divided together with others.
        ws.scratch.mask = <uint8_t*>self._allocate(n_rows // 8 + 8 * (max_leaves + 1))
        ws.features = <int32_t*>self._allocate(n_features * sizeof(int32_t))
        ws.summed = <int32_t*>self._allocate(n_features * sizeof(int32_t))
        ws.is_summed = <uint8_t*>self._allocate(n_features)
        ws.tiles = <Tile*>self._allocate((self.shared.data.n_lanes // 8 + 1) * sizeof(Tile))
        ws.tile_features = <int32_t*>self._allocate(n_features * sizeof(int32_t))
        ws.tile_of = <int32_t*>self._allocate(n_features * sizeof(int32_t))
        # Twice as much where leaves are divided ahead of their turn.
        ws.slots = <Histogram*>self._allocate((2 * max_leaves + 1) * sizeof(Histogram))
        ws.free_slots = <int*>self._allocate((2 * max_leaves + 1) * sizeof(int))
        ws.splittable = <uint8_t**>self._allocate(2 * max_leaves * sizeof(uint8_t*))
        ws.nodes = <Node*>self._allocate(2 * max_leaves * sizeof(Node))
        ws.leaves = <Leaf*>self._allocate(max_leaves * sizeof(Leaf))
        ws.heap = <int*>self._allocate(max_leaves * sizeof(int))
        ws.leaf_sums = <int64_t*>self._allocate(2 * max_leaves * sizeof(int64_t))
        ws.leaf_visits = <LeafVisit*>self._allocate(
            self.n_threads * max_leaves * sizeof(LeafVisit))
        ws.leaf_value = <double*>self._allocate(max_leaves * sizeof(double))
        ws.leaf_weight = <double*>self._allocate(max_leaves * sizeof(double))
        ws.learning_rate = self.shared.settings.learning_rate
        if self.shared.subset_source.max_features > 0:
            self._allocate_subset(&ws.subset)
        self._allocate_constraints(ws)

    cdef _allocate_scratch(self, Scratch* out):
        """What is needed while a leaf is divided, but for the mask of its rows."""
        cdef const Constraints* limits = &self.shared.constraints
        cdef size_t n_features = self.shared.data.n_features
        cdef int side
        out.goes_left = <uint8_t*>self._allocate(self.shared.max_bins)
        out.code_goes_left = <uint8_t*>self._allocate(LANE_CODES)
        out.sample = <int32_t*>self._allocate(n_features * sizeof(int32_t))
        if limits.n_sets > 0:
            out.allowed = <int32_t*>self._allocate(n_features * sizeof(int32_t))
            out.may_use = <uint8_t*>self._allocate(n_features)
            out.hits = <int32_t*>self._allocate(limits.n_sets * sizeof(int32_t))
        for side in range(2):
            out.searched[side] = <uint8_t*>self._allocate(n_features)
            out.cut[side] = <int32_t*>self._allocate(n_features * sizeof(int32_t))
            if limits.factor != NULL or limits.penalty > 0:
                out.factor[side] = <double*>self._allocate(n_features * sizeof(double))

    cdef _allocate_ahead(self):
        """What divides leaves ahead of their turn: with processes, or on several threads."""
        cdef size_t max_leaves = self.shared.settings.max_leaves
        cdef Batch* batch = &self.batches[0]
        cdef int i, n
        if self.collectives is None and self.n_threads == 1:
            return
        for i in range(self.n_workspaces):
            self._allocate_children(&self.workspaces[i])
        n = max_leaves
        if self.collectives is None:
            n = min(n, max(MIN_DIVISIONS, self.n_threads))
        self._allocate_batch(batch, 0, n + self.n_workspaces)
        batch.helpers = <Workspace*>self._allocate(batch.max_divisions * sizeof(Workspace))
        for i in range(batch.max_divisions):
            self._allocate_scratch(&batch.helpers[i].scratch)

    cdef _allocate_children(self, Workspace* ws):
        """What a tree needs whose leaves are divided ahead of their turn."""
        cdef size_t max_leaves = self.shared.settings.max_leaves
        ws.children = <Leaf*>self._allocate(2 * max_leaves * sizeof(Leaf))
        ws.waiting = <int*>self._allocate(max_leaves * sizeof(int))
        if self.collectives is not None:
            ws.column_cuts = <int*>self._allocate((self.shared.n_ranks + 1) * sizeof(int))
            ws.set_size = self._set_size()
            ws.left_sets = <uint32_t*>self._allocate(
                2 * max_leaves * ws.set_size * sizeof(uint32_t))

    cdef Py_ssize_t _set_size(self):
        """The words, of 32 bits, of the largest set of categories."""
        n_bins = self.dataset.n_bins[self.dataset.categorical]
        return (int(n_bins.max(initial=0)) + 31) // 32

    cdef void* _room(self, size_t size, dtype):
        """Memory for so many values, for as long as the grower lives."""
        return <void*>self._address(np.empty(size, dtype=dtype), dtype)

    cdef _allocate_subset(self, SubsetBuffers* out):
        cdef const Binned* data = &self.shared.data
        cdef const SubsetSource* source = &self.shared.subset_source
        cdef size_t n_rows = data.n_rows
        cdef size_t n_features = data.n_features
        cdef size_t n_groups = min(source.max_features, data.n_groups)
        out.chosen = <uint8_t*>self._address(np.zeros(n_features, np.uint8), np.uint8)
        out.offset = <int64_t*>self._room(n_features + 1, np.int64)
        out.feature_at = <int32_t*>self._room(data.room, np.int32)
        out.rows = <uint8_t*>self._room(n_rows * ((n_groups + 7) // 8 * 8), np.uint8)
        out.lane_start = <int32_t*>self._room(n_groups + 1, np.int32)
        out.lane_groups = <int32_t*>self._room(n_groups, np.int32)
        out.radix = <int32_t*>self._room(n_groups, np.int32)
        out.n_codes = <int32_t*>self._room(n_groups, np.int32)
        out.n_source_codes = <int32_t*>self._room(n_groups, np.int32)
        out.codes = <const uint8_t**>self._room(n_groups, np.uintp)
        out.digit = <uint8_t*>self._room(n_groups * LANE_CODES, np.uint8)
        out.hist_bin_of_code = <int32_t*>self._room(n_groups * LANE_CODES, np.int32)
        out.piece_start = <int64_t*>self._room(n_groups + 1, np.int64)
        out.pieces = <Piece*>self._room(source.max_features, PIECE)
        if data.n_hist_bin_pieces == 0:
            return
        n_shorts = min(source.max_features, data.n_shorts)
        out.hist_bin = <int32_t*>self._room(data.n_hist_bins, np.int32)
        out.hist_bin_pieces = <Piece*>self._room(source.max_features, PIECE)
        out.shorts = <uint16_t*>self._room(n_rows * n_shorts, np.uint16)
        out.short_hist_bin = <int64_t*>self._room(n_shorts + 1, np.int64)
        out.short_number = <int32_t*>self._room(n_shorts, np.int32)
        if data.entries == NULL:
            return
        out.entry_start = <int64_t*>self._room(n_rows + 1, np.int64)
        out.entries = <uint32_t*>self._room(source.most_entries, np.uint32)
        out.block_entries = <int64_t*>self._room(n_rows // ENTRY_BLOCK + 1, np.int64)

    cdef _allocate_constraints(self, Workspace* ws):
        cdef const Constraints* limits = &self.shared.constraints
        cdef size_t n_features = self.shared.data.n_features
        cdef size_t max_leaves = self.shared.settings.max_leaves
        cdef int side, i
        if limits.bounding >= INTERMEDIATE:
            ws.above = <int8_t*>self._allocate(max_leaves * max_leaves)
        if limits.bounding == ADVANCED:
            ws.row_of = <int32_t*>self._allocate(n_features * sizeof(int32_t))
            ws.split_features = <int32_t*>self._allocate(n_features * sizeof(int32_t))
            for i in range(self.shared.data.n_features):
                ws.row_of[i] = -1
        for side in range(2):
            if limits.bounding == ADVANCED:
                ws.monotone[side].rows = <FeatureBounds*>self._allocate(
                    min(max_leaves, n_features) * sizeof(FeatureBounds))
                ws.partial_bounds[side] = <PartialBound*>self._allocate(
                    min(max_leaves, n_features) * max_leaves * sizeof(PartialBound))
            ws.monotone[side].sign = limits.sign
            ws.monotone[side].row_of = ws.row_of

    def __dealloc__(self):
        cdef Allocation* allocation
        cdef int i
        for i in range(self.n_workspaces if self.workspaces != NULL else 0):
            free_workspace(&self.workspaces[i], self.shared.settings.max_leaves)
        for i in range(self.n_threads if self.shared.tile_sums != NULL else 0):
            free(self.shared.tile_sums[i].values)
        for i in range(1 + self.n_workspaces if self.batches != NULL else 0):
            free_tasks(&self.batches[i])
        while self.allocations != NULL:
            allocation = self.allocations
            self.allocations = allocation.previous
            free(allocation)

    def grow(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index, more_l2=None, list lines=None,
    ):
        """Grow one tree for each score and add them to the forest.

        With ``multi_strategy="multi_output_tree"`` they have the same splits. Returns whether
        any of the trees has a split. If none has, other columns and thresholds are drawn, where
        these are random; if none has then, and the forest has trees already, none is added.

        - ``gradient``, ``hessian``, (n_scores, n_rows): hessians may be None for ones.
        - ``weight``, (1 or n_scores, n_rows): multiplies both, besides the copies; None: 1.
        - ``rows``: the sampled ones; None: all.
        - ``scores``, (n_scores, n_rows): the trees' values are added for all rows; None: they
          are not.
        - ``round_index``: part of the keys of the random numbers.
        - ``more_l2``, (n_scores,): is added to ``reg_lambda``, but not of shared trees; None: 0.
        - ``lines``: gets the arrays of the round's `LinearLeaves`; None: leaves are constant.
        """
        self.shared.watch = start_watch()
        return self._grow_round(
            gradient, hessian, weight, rows, scores, round_index, more_l2, lines)

    def grow_rounds(
        self, derive, sample, gradient, hessian, const double[:, ::1] weight, scores,
        uint64_t round_index, int n_rounds, others=(), scores_of_others=(), check=None,
        list lines=None,
    ):
        """Grow the trees of several rounds, each by the derivatives of the scores before it.

        Returns the number of rounds that have a split, and whether the next one has failed. A round
        without a split is the last, and so is one that fails: it raises its error only if it is
        the first, as the caller may not need later ones. Then the scores are those of no round. See
        `grow` for the other arguments.

        - ``derive``: a `Loss`, or what is called like one, and with the index of the round.
        - ``sample``: of the round, both derivatives and the number of threads, the rows and the
          hessians of a sample; None: all rows.
        - ``others``: more `BinnedRows` that have scores; None: the scores of the training rows are
          copied.
        - ``scores_of_others``: their scores, and for each round arrays for those after it.
        - ``check()`` is called before each round.
        """
        cdef float[:, ::1] gradient_out = gradient
        cdef float[:, ::1] hessian_out = hessian
        cdef double[:, ::1] scores_inout = scores
        cdef int n_scores = gradient_out.shape[0]
        cdef Loss loss = derive if isinstance(derive, Loss) else None
        cdef int64_t n_trees
        cdef bint has_split
        cdef int i
        self.shared.watch = start_watch()
        for i in range(n_rounds):
            if check is not None:
                check()
            n_trees = self.forest.n_trees
            try:
                if loss is not None:
                    loss.derive(scores_inout, gradient_out, hessian_out, self.n_threads)
                else:
                    derive(scores, gradient, hessian, self.n_threads, n_trees // n_scores)
                rows, used = None, hessian
                if sample is not None:
                    rows, used = sample(round_index + i, gradient, hessian, self.n_threads)
                has_split = self._grow_round(
                    gradient_out, used, weight, rows, scores_inout, round_index + i, None, lines)
            except Exception:
                if i == 0:
                    raise
                self.forest.drop(n_trees)
                return i, True
            if self.forest.n_trees == n_trees:
                return i, False
            for k, binned in enumerate(others):
                after = scores_of_others[i + 1][k]
                if binned is None:
                    after[...] = scores
                else:
                    table = None if lines is None else binned.line_table(lines[len(lines) - 1])
                    self._add_trees(
                        binned.store, binned.missing_bin, after, binned.numbers, table,
                        scores_of_others[i][k])
            if not has_split:
                return i, False
        return n_rounds, False

    cdef _add_trees(self, store, missing_bin, scores, numbers, table=None, before=None):
        """Add the trees of the last round to scores, which are those ``before`` if given."""
        add_trees(
            self.forest, self.forest.n_trees - scores.shape[0], store, missing_bin,
            self.n_threads, scores, numbers, table, before)

    cdef bint _grow_round(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index, more_l2, list lines,
    ) except -1:
        cdef Forest forest = self.forest
        cdef LineFit line_fit = None if lines is None else self.line_fit
        cdef int64_t n_trees = forest.n_trees
        # All rows find their leaves by their bins, also those outside the sample; linear leaves
        # add the values of both.
        cdef bint adds_sampled = rows is None or line_fit is not None
        cdef bint has_split = False
        cdef uint64_t i
        self.more_l2 = self.no_more_l2 if more_l2 is None else more_l2
        for i in range(self.n_draws):
            if i > 0:
                forest.drop(n_trees)
            has_split = self._grow_trees(
                gradient, hessian, weight, rows, scores if adds_sampled else None,
                round_index + (i << 32), line_fit)
            if has_split:
                break
        if forest.n_trees > n_trees:
            if line_fit is not None:
                lines.append(line_fit.leaves())
            if scores is not None and not adds_sampled:
                self._add_trees(
                    self.store, self.dataset.missing_bin, np.asarray(scores), self.numbers)
        return has_split

    cdef bint _grow_trees(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index, LineFit line_fit,
    ) except -1:
        """Grow the trees of a round once; their values are added for the sampled rows."""
        cdef int n_scores = gradient.shape[0]
        cdef int first = 0
        cdef Forest forest = self.forest
        cdef int64_t n_nodes = forest.n_nodes
        cdef int64_t n_trees = forest.n_trees
        cdef double n_updates = self.shared.data.n_rows * self.shared.data.row_updates
        cdef bint one_a_thread
        cdef int n, i
        cdef const uint32_t[::1] ids = self._numbers(rows)
        if line_fit is not None:
            line_fit.begin(forest, rows)
        if self.shares_trees:
            self._grow_shared(
                gradient, hessian, weight, rows, ids, scores, round_index, line_fit)
            first = n_scores
        while first < n_scores:
            n = min(self.n_workspaces, n_scores - first)
            one_a_thread = 1 < n == self.n_threads and n_updates > MIN_UPDATES_PER_WAVE
            if self.batches[0].helpers == NULL and not one_a_thread:
                n = 1
            self._grow_some(
                gradient, hessian, weight, rows, ids, scores, round_index, first, n,
                one_a_thread, line_fit)
            for i in range(n):
                self._add_tree(&self.workspaces[i], line_fit, scores, first + i)
            first += n
        if forest.n_nodes == n_nodes and n_trees > 0:
            forest.drop(n_trees)
        return forest.n_nodes > n_nodes

    cdef _add_tree(
        self, const Workspace* ws, LineFit line_fit, double[:, ::1] scores, int k,
    ):
        """Add the tree of score ``k`` to the forest, and its lines to rows it has not seen."""
        raise_status(self.forest.add(ws))
        if line_fit is not None and scores is not None:
            line_fit.add_to_others(
                self.forest, self.store, self.shared.data.missing_bin, self.n_threads,
                &scores[k, 0])

    cdef _raise(self, int status):
        """Raise what has ended a tree early."""
        end_watch(&self.shared.watch)
        if status == COLLECTIVE_FAILED:
            raise self.collectives.error
        raise_status(status)

    cdef _grow_shared(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, const uint32_t[::1] ids,
        double[:, ::1] scores, uint64_t round_index, LineFit line_fit,
    ):
        """One tree for all scores, stored once for each with the values of its own.

        Its splits are those of a random direction: half of the scores shall rise and the
        others fall. Directions change from round to round.
        """
        cdef int n_scores = gradient.shape[0]
        cdef Workspace* ws = &self.workspaces[0]
        cdef Round round
        cdef int status, k
        signs = direction(self.shared.settings.extra_seed, round_index, n_scores)
        gradients = signed_sums(gradient, signs, self.n_threads)
        hessians = None if hessian is None else signed_sums(
            hessian, np.ones_like(signs), self.n_threads)
        round = self._round(gradients, hessians, weight, rows, ids, None, 0)
        self.batches[0].n_threads = ws.n_threads = self.n_threads
        ws.tree_index = round_index * n_scores
        with nogil:
            status = grow_trees(&self.shared, self.batches, ws, &round, 1)
        self._raise(status)
        for k in range(n_scores):
            round = self._round(
                gradient, hessian, weight, rows, ids, scores if line_fit is None else None, k)
            ws.self_concordance = self.self_concordance[k]
            with nogil:
                status = fill_score(&self.shared, ws, &round)
            self._raise(status)
            if line_fit is not None:
                line_fit.fit(&self.shared, ws, &round, 1, k, self.n_threads, scores)
            self._add_tree(ws, line_fit, scores, k)

    cdef _numbers(self, rows):
        """The numbers in the store of the sampled rows; None: all of the store's."""
        if self.numbers is None:
            return rows
        return self.numbers if rows is None else self.numbers[np.asarray(rows)]

    cdef _grow_some(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, const uint32_t[::1] ids,
        double[:, ::1] scores, uint64_t round_index, int first, int n, bint one_a_thread,
        LineFit line_fit,
    ):
        """Trees ``first`` to ``first + n``: one a thread, or all of them with all threads."""
        cdef Round* rounds = <Round*>calloc(n, sizeof(Round))
        cdef Workspace* workspaces = self.workspaces
        cdef Batch* batches = self.batches
        cdef Wave wave = Wave(&self.shared, batches, workspaces, rounds)
        cdef double[:, ::1] of_constants = scores if line_fit is None else None
        cdef int n_scores = gradient.shape[0]
        cdef int status = 0
        cdef int n_threads, i, k
        if rounds == NULL:
            raise_status(NO_MEMORY)
        n_threads = self._team(
            self.n_threads, n_scores, self.gradients.n_rows if ids is None else ids.shape[0])
        batches[0].n_threads = n_threads
        for i in range(n):
            k = first + i
            workspaces[i].thread = i if one_a_thread else 0
            workspaces[i].n_threads = 1 if one_a_thread else n_threads
            workspaces[i].tree_index = round_index * n_scores + k
            workspaces[i].self_concordance = self.self_concordance[k]
            workspaces[i].reweighted = self.reweighted[k]
            workspaces[i].more_l2 = self.more_l2[k]
            rounds[i] = self._round(gradient, hessian, weight, rows, ids, of_constants, k)
        try:
            with nogil:
                if one_a_thread:
                    parallel_for(grow_one, &wave, n, 1, n)
                else:
                    rounds[0].status = grow_trees(wave.shared, batches, workspaces, rounds, n)
            for i in range(n):
                status = min(status, rounds[i].status)
            self._raise(status)
            if line_fit is not None:
                line_fit.fit(
                    &self.shared, workspaces, rounds, n, first, self.n_threads, scores)
        finally:
            free(rounds)

    cdef Round _round(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, const uint32_t[::1] ids,
        double[:, ::1] scores, int k,
    ) noexcept:
        """What score ``k`` of a round is grown on."""
        cdef Round round
        cdef Gradients* gradients = &round.gradients
        gradients[0] = self.gradients
        gradients.gradient = &gradient[k, 0]
        gradients.hessian = &hessian[k, 0] if hessian is not None else NULL
        if weight is not None:
            gradients.weight = &weight[k if weight.shape[0] > 1 else 0, 0]
        gradients.sampled = &rows[0] if rows is not None else NULL
        gradients.ids = &ids[0] if ids is not None else NULL
        gradients.n = ids.shape[0] if ids is not None else gradients.n_rows
        gradients.n_everywhere = gradients.n
        round.score = &scores[k, 0] if scores is not None else NULL
        round.status = 0
        return round

    def rows_by_leaf(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of the last tree's leaves (one score only), int64.

        Returns where those of each leaf begin, (n_leaves + 1,), and the row numbers, ascending
        in each leaf.
        """
        cdef const Workspace* ws = &self.workspaces[0]
        cdef const Leaf* at
        cdef const uint64_t* records
        cdef int64_t i
        cdef int leaf
        start = np.zeros(ws.n_leaves + 1, dtype=np.int64)
        cdef int64_t[::1] start_out = start
        for leaf in range(ws.n_leaves):
            at = &ws.leaves[leaf]
            start_out[leaf + 1] = start_out[leaf] + at.end - at.begin
        rows = np.empty(start_out[ws.n_leaves], dtype=np.int64)
        cdef int64_t[::1] rows_out = rows
        for leaf in range(ws.n_leaves):
            at = &ws.leaves[leaf]
            records = ws.records[at.buffer] + at.begin
            for i in range(at.end - at.begin):
                rows_out[start_out[leaf] + i] = position_of(ws, records[i])
        return start, rows


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
