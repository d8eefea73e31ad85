"""Growing the trees of a fit: memory, threads and the way in from Python.

Trees of one round (the classes) are grown side by side when there are enough of them, else
the threads share the work inside a tree; the trees are the same either way.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np

from skgoss._engine.forest cimport Forest
from skgoss._engine.histogram cimport FOLD_ROOM
from skgoss._engine.layout cimport Binned, Histogram
from skgoss._engine.split cimport SCRATCH_ROOM, Split, SplitRules
from skgoss._engine.tree cimport grow_tree
from skgoss._engine.workspace cimport (
    NO_MEMORY, NOT_FINITE, Leaf, Node, Round, Settings, Shared, Workspace,
    allocate_histogram)


# Row numbers and counts of rows have 31 bits.
MAX_ROWS = 2**31 - 1


cdef raise_status(int status):
    if status == NO_MEMORY:
        raise MemoryError("could not allocate memory for growing trees")
    if status == NOT_FINITE:
        raise FloatingPointError("gradients or hessians are NaN or infinite")


cdef void* allocate(size_t size) except NULL:
    cdef void* memory = calloc(size + 64, 1)
    if memory == NULL:
        raise MemoryError(f"could not allocate {size} bytes for growing trees")
    return memory


cdef class TreeGrower:
    """Grows the trees of a fit on one binned data set.

    Parameters
    ----------
    dataset : skgoss.dataset.Dataset
        Rows, columns and bins; at least one feature.
    settings : object
        Resolved options (`skgoss.parameters.Settings`).
    n_scores : int
        Trees a round.
    n_threads : int
        Size of the thread team.

    Attributes
    ----------
    forest : Forest
        The trees grown so far.
    """

    cdef Shared shared
    cdef readonly Forest forest
    cdef Workspace* workspaces
    cdef int n_workspaces
    cdef int n_threads
    cdef object dataset
    cdef object arrays        # keeps what `shared.data` points to

    def __cinit__(self, dataset, settings, int n_scores, int n_threads):
        cdef int i
        self.dataset = dataset
        self.forest = Forest()
        self.n_threads = max(n_threads, 1)
        self.n_workspaces = min(self.n_threads, n_scores)
        self._read_dataset(dataset)
        self._read_settings(settings)
        self._allocate_threads()
        self.workspaces = <Workspace*>allocate(self.n_workspaces * sizeof(Workspace))
        for i in range(self.n_workspaces):
            self._allocate_workspace(&self.workspaces[i], i)

    cdef _read_dataset(self, dataset):
        cdef Binned* data = &self.shared.data
        rows = dataset.rows
        if rows.shape[0] > MAX_ROWS:
            raise ValueError(f"X has {rows.shape[0]} rows; at most {MAX_ROWS} can be used")
        n_bins = np.ascontiguousarray(dataset.n_bins, dtype=np.int32)
        missing_bin = np.ascontiguousarray(dataset.missing_bin, dtype=np.int32)
        offset = np.zeros(len(n_bins) + 1, dtype=np.int64)
        np.cumsum(n_bins, out=offset[1:])
        bin_bytes = rows.dtype.itemsize
        lane_features = np.argsort(dataset.lane, kind="stable").astype(np.int32)
        lane_start = np.zeros(dataset.lane.max() + 2, dtype=np.int32)
        np.cumsum(np.bincount(dataset.lane), out=lane_start[1:])
        radix = np.ascontiguousarray(dataset.radix, dtype=np.int32)
        # The numbers of values that a lane takes.
        size = np.multiply.reduceat(n_bins[lane_features], lane_start[: len(lane_start) - 1])
        # Strides that are no power of two keep the lanes apart in the cache.
        data.lane_stride = next(
            stride for stride in (24, 72, 264, 65536) if size.max() <= stride)
        lane_offset = (
            np.arange(len(size), dtype=np.int64) * data.lane_stride if bin_bytes == 1
            else offset)
        row_bytes = rows.view(np.uint8).reshape(rows.shape[0], -1)
        columns = dataset.columns.view(np.uint8).reshape(len(n_bins), -1)
        self.arrays = (
            row_bytes, columns, n_bins, missing_bin, offset, lane_offset, lane_features,
            lane_start, radix)
        cdef const uint8_t[:, ::1] rows_view = row_bytes
        cdef const uint8_t[:, ::1] columns_view = columns
        cdef const int32_t[::1] n_bins_view = n_bins
        cdef const int32_t[::1] missing_view = missing_bin
        cdef const int64_t[::1] offset_view = offset
        cdef const int64_t[::1] lane_view = lane_offset
        cdef const int32_t[::1] lane_features_view = lane_features
        cdef const int32_t[::1] lane_start_view = lane_start
        cdef const int32_t[::1] radix_view = radix
        data.rows = &rows_view[0, 0]
        data.columns = &columns_view[0, 0]
        data.row_bytes = rows_view.shape[1]
        data.n_rows = rows_view.shape[0]
        data.n_features = len(n_bins)
        data.bin_bytes = bin_bytes
        data.n_lanes = len(size)
        data.sums_size = FOLD_ROOM + (
            (data.n_lanes + 7) // 8 * 8 * data.lane_stride if bin_bytes == 1
            else offset_view[data.n_features])
        data.lane_features = &lane_features_view[0]
        data.lane_start = &lane_start_view[0]
        data.radix = &radix_view[0]
        data.n_bins = &n_bins_view[0]
        data.missing_bin = &missing_view[0]
        data.offset = &offset_view[0]
        data.lane_offset = &lane_view[0]
        self.shared.max_bins = n_bins.max()

    cdef _read_settings(self, settings):
        cdef Settings* out = &self.shared.settings
        cdef SplitRules* rules = &self.shared.rules
        rules.min_count = max(settings.min_child_samples, 1)
        # A leaf holds min_count rows at least, which bounds the leaves there can be.
        out.max_leaves = max(
            1, min(settings.num_leaves, self.shared.data.n_rows // rules.min_count))
        out.max_depth = settings.max_depth
        out.tree_fraction = settings.colsample_bytree
        out.node_fraction = settings.feature_fraction_bynode
        out.feature_seed = settings.feature_fraction_seed
        out.extra_seed = settings.extra_seed
        out.extra_trees = settings.extra_trees
        out.learning_rate = settings.learning_rate
        rules.l1 = settings.reg_alpha
        rules.l2 = settings.reg_lambda
        rules.max_delta_step = settings.max_delta_step or INFINITY
        rules.path_smooth = settings.path_smooth
        rules.min_hessian = settings.min_child_weight
        rules.min_gain = settings.min_split_gain

    cdef _allocate_threads(self):
        cdef Shared* shared = &self.shared
        cdef int n = self.n_threads
        cdef int i
        shared.lanes = <int64_t**>allocate(n * sizeof(int64_t*))
        shared.scratch = <double**>allocate(n * sizeof(double*))
        shared.partial = <Histogram*>allocate(n * sizeof(Histogram))
        shared.best = <Split*>allocate(2 * n * sizeof(Split))
        shared.all_features = <int32_t*>allocate(shared.data.n_features * sizeof(int32_t))
        for i in range(shared.data.n_features):
            shared.all_features[i] = i
        for i in range(n):
            shared.lanes[i] = <int64_t*>allocate(3 * shared.data.sums_size * sizeof(int64_t))
            shared.scratch[i] = <double*>allocate(
                4 * (shared.max_bins + SCRATCH_ROOM) * sizeof(double))
            if i > 0 and allocate_histogram(&shared.data, &shared.partial[i]) < 0:
                raise MemoryError("could not allocate histograms")

    cdef _allocate_workspace(self, Workspace* ws, int index):
        cdef Py_ssize_t n_rows = self.shared.data.n_rows
        cdef size_t max_leaves = self.shared.settings.max_leaves
        cdef size_t n_features = self.shared.data.n_features
        ws.first_thread = index
        ws.n_threads = 1
        ws.words[0] = <uint64_t*>allocate(n_rows * sizeof(uint64_t))
        ws.words[1] = <uint64_t*>allocate(n_rows * sizeof(uint64_t))
        ws.mask = <uint8_t*>allocate(n_rows // 8 + 8 * self.n_threads)
        ws.goes_left = <uint8_t*>allocate(self.shared.max_bins)
        ws.features = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.sample = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.searched[0] = <uint8_t*>allocate(n_features)
        ws.searched[1] = <uint8_t*>allocate(n_features)
        ws.cut[0] = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.cut[1] = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.slots = <Histogram*>allocate((max_leaves + 1) * sizeof(Histogram))
        ws.free_slots = <int*>allocate((max_leaves + 1) * sizeof(int))
        ws.leaves = <Leaf*>allocate(max_leaves * sizeof(Leaf))
        ws.nodes = <Node*>allocate(max_leaves * sizeof(Node))
        ws.heap = <int*>allocate(max_leaves * sizeof(int))
        ws.leaf_value = <double*>allocate(max_leaves * sizeof(double))
        ws.leaf_weight = <double*>allocate(max_leaves * sizeof(double))
        ws.learning_rate = self.shared.settings.learning_rate

    def __dealloc__(self):
        cdef Shared* shared = &self.shared
        cdef int i
        if self.workspaces != NULL:
            for i in range(self.n_workspaces):
                free_workspace(&self.workspaces[i])
            free(self.workspaces)
        for i in range(self.n_threads):
            if shared.lanes != NULL:
                free(shared.lanes[i])
            if shared.scratch != NULL:
                free(shared.scratch[i])
            if shared.partial != NULL:
                free(shared.partial[i].gradient)
        free(shared.lanes)
        free(shared.scratch)
        free(shared.partial)
        free(shared.best)
        free(shared.all_features)

    def grow(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index,
    ):
        """Grow one tree for each score and add them to the forest.

        Parameters
        ----------
        gradient : ndarray of float32, shape (n_scores, n_rows)
        hessian : ndarray of float32, shape (n_scores, n_rows), or None for ones
        weight : ndarray of float64, shape (1 or n_scores, n_rows), or None for ones
            Multiplies gradients and hessians.
        rows : ndarray of uint32 or None
            The sampled rows; None for all.
        scores : ndarray of float64, shape (n_scores, n_rows), or None
            The trees' values are added for the sampled rows, unless None.
        round_index : int
            Part of the keys of the random numbers.

        Returns
        -------
        bool
            Whether any of the trees has a split. If none has, and the forest has
            trees already, none is added.
        """
        cdef int n_scores = gradient.shape[0]
        cdef int first = 0
        cdef Forest forest = self.forest
        cdef int64_t n_nodes = forest.n_nodes
        cdef int64_t n_trees = forest.n_trees
        cdef int wave, i
        while first < n_scores:
            wave = self.n_workspaces if n_scores - first >= self.n_threads else 1
            raise_status(self._grow_wave(
                gradient, hessian, weight, rows, scores, round_index, first, wave))
            for i in range(wave):
                raise_status(forest.add(&self.workspaces[i]))
            first += wave
        if forest.n_nodes == n_nodes and n_trees > 0:
            forest.drop(n_trees)
        return forest.n_nodes > n_nodes

    cdef int _grow_wave(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index, int first, int wave,
    ) noexcept:
        """Trees ``first`` to ``first + wave``: one a thread, or one with all threads."""
        cdef Round* rounds = <Round*>calloc(wave, sizeof(Round))
        cdef Shared* shared = &self.shared
        cdef Workspace* workspaces = self.workspaces
        cdef int n_scores = gradient.shape[0]
        cdef int status = 0
        cdef int i, k
        if rounds == NULL:
            return -1
        for i in range(wave):
            k = first + i
            workspaces[i].n_threads = self.n_threads if wave == 1 else 1
            workspaces[i].tree_index = round_index * n_scores + k
            rounds[i].gradient = &gradient[k, 0]
            rounds[i].hessian = &hessian[k, 0] if hessian is not None else NULL
            if weight is not None:
                rounds[i].weight = &weight[k if weight.shape[0] > 1 else 0, 0]
            rounds[i].ids = &rows[0] if rows is not None else NULL
            rounds[i].n = rows.shape[0] if rows is not None else shared.data.n_rows
            rounds[i].score = &scores[k, 0] if scores is not None else NULL
        with nogil:
            if wave == 1:
                rounds[0].status = grow_tree(shared, &workspaces[0], &rounds[0])
            else:
                for i in prange(wave, num_threads=wave, schedule="static", chunksize=1):
                    rounds[i].status = grow_tree(shared, &workspaces[i], &rounds[i])
        for i in range(wave):
            status = min(status, rounds[i].status)
        free(rounds)
        return status

    def leaf_rows(self, int leaf):
        """Row numbers, ascending, of a leaf of the last tree (one score only)."""
        cdef const Workspace* ws = &self.workspaces[0]
        cdef const Leaf* at = &ws.leaves[leaf]
        cdef Py_ssize_t n = at.end - at.begin
        cdef Py_ssize_t i
        rows = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] rows_out = rows
        for i in range(n):
            rows_out[i] = ws.words[at.buffer][at.begin + i] & ws.code.id_mask
        return rows


cdef void free_workspace(Workspace* ws) noexcept:
    cdef int i
    for i in range(ws.n_slots):
        free(ws.slots[i].gradient)
    free(ws.words[0])
    free(ws.words[1])
    free(ws.mask)
    free(ws.goes_left)
    free(ws.pairs)
    free(ws.features)
    free(ws.sample)
    free(ws.searched[0])
    free(ws.searched[1])
    free(ws.cut[0])
    free(ws.cut[1])
    free(ws.slots)
    free(ws.free_slots)
    free(ws.leaves)
    free(ws.nodes)
    free(ws.heap)
    free(ws.leaf_value)
    free(ws.leaf_weight)
