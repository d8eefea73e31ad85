"""The linear models of the leaves of a round's trees, fitted while the rows of each leaf are known.

Threads divide the leaves of all trees of a wave among themselves.
"""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy, memset

import numpy as np

from skgoss._engine.model.leaves cimport append
from skgoss._engine.model.linear_kernels cimport (
    Derivatives, LeafModel, LeafModels, LeafRows, Rates, Values, fit_memory, fit_or_keep_constant,
    keep_slopes)
from skgoss._engine.signals cimport end_watch, is_stopped
from skgoss._engine.threads cimport parallel_for
from skgoss._engine.training.score cimport add_leaf_models
from skgoss._engine.training.workspace cimport MIN_ROWS_FOR_TEAM, Leaf, Round, Shared, Workspace


# A leaf whose model is to be fitted.
cdef struct LeafModelTask:
    const Workspace* ws
    Derivatives derivatives
    Rates rates
    double* score             # of all rows; NULL: values are not added
    int leaf
    int64_t number            # of the leaf among those of the round
    int64_t first             # the first of its coefficients among those of the round
    int64_t p                 # columns
    int64_t n                 # rows


cdef struct LeafModelLoop:
    const LeafModelTask* tasks
    const Values* values
    LeafModel models          # of the first leaf of the round; those of the others follow
    int32_t* feature
    double* memory            # of each thread, ``memory_size`` doubles
    Py_ssize_t memory_size
    Shared* shared


cdef int compare_work(const void* first, const void* second) noexcept nogil:
    """The order of tasks: those with the most work first."""
    cdef const LeafModelTask* a = <const LeafModelTask*>first
    cdef const LeafModelTask* b = <const LeafModelTask*>second
    return (a.p * a.n < b.p * b.n) - (a.p * a.n > b.p * b.n)


cdef void find_positions(
    const Workspace* ws, const uint64_t* records, int64_t n, uint32_t* rows_out,
) noexcept nogil:
    """Find where the gradients and scores of n records' rows are.

    Records are 64-bit integers that contain the row number in the store.
    """
    cdef uint64_t id_mask = ws.encoding.id_mask
    cdef int64_t i
    for i in range(n):
        rows_out[i] = <uint32_t>(records[i] & id_mask)
    if ws.data.position != NULL:
        for i in range(n):
            rows_out[i] = ws.data.position[rows_out[i]]


cdef void fit_body(void* context, Py_ssize_t i, Py_ssize_t end, int thread) noexcept nogil:
    """Fit the leaf of task i."""
    cdef LeafModelLoop* loop = <LeafModelLoop*>context
    cdef const LeafModelTask* task = &loop.tasks[i]
    cdef const Workspace* ws = task.ws
    cdef const Leaf* leaf = &ws.leaves[task.leaf]
    cdef const uint64_t* records = ws.records[leaf.buffer] + leaf.begin
    cdef const LeafModel* models = &loop.models
    cdef double* memory = loop.memory + thread * loop.memory_size
    cdef uint32_t* rows = <uint32_t*>(memory + fit_memory(task.p, task.n))
    cdef LeafRows leaf_rows = LeafRows(loop.feature + task.first, task.p, rows, task.n)
    cdef LeafModel model = LeafModel(
        models.constant + task.number, models.coefficient + task.first, models.mean + task.first,
        models.lower + task.number, models.upper + task.number, ws.leaf_value[task.leaf])
    if is_stopped(&loop.shared.watch):
        return
    find_positions(ws, records, task.n, rows)
    fit_or_keep_constant(
        loop.values, &leaf_rows, &task.derivatives, &task.rates, &model, memory, task.score)


cdef inline bint insert(int32_t value, int32_t* values_inout, int64_t n) noexcept nogil:
    """Insert a value among n ascending ones; False if it is there."""
    cdef int64_t i, position = n
    while position > 0 and values_inout[position - 1] >= value:
        position -= 1
    if position < n and values_inout[position] == value:
        return False
    for i in range(n, position, -1):
        values_inout[i] = values_inout[i - 1]
    values_inout[position] = value
    return True


cdef copied(const Pile* pile, dtype):
    """The items of a pile as an array."""
    cdef Py_buffer view
    array = np.empty(pile.n, dtype=dtype)
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
    memcpy(view.buf, pile.items, view.len)
    PyBuffer_Release(&view)
    return array


cdef class LeafModelFit:
    """The linear models of the leaves of a round's trees.

    - ``dataset``: the `BinnedDataset` that the trees are grown on.
    - ``settings``: resolved `Settings`.
    - ``raw``: `RawColumns` of the same rows.
    - ``weight``, (1 or n_scores, n_rows): multiplies gradients and hessians; None: ones.
    """

    def __cinit__(self, dataset, settings, raw, weight):
        self.raw, self.address, self.stride = raw, raw.address, raw.stride
        self.is_ready = raw.is_ready.view(np.uint8)
        self.values = Values(&self.address[0], &self.stride[0])
        self.column, self.categorical = dataset.feature, dataset.categorical.view(np.uint8)
        self.weight, self.penalty = weight, settings.linear_lambda
        self.min_rows = settings.min_child_samples
        self.n_rows, self.numbers = dataset.n_rows, dataset.numbers

    def __dealloc__(self):
        free(self.start.items)
        free(self.constant.items)
        free(self.lower.items)
        free(self.upper.items)
        free(self.feature.items)
        free(self.coefficient.items)
        free(self.mean.items)
        free(self.other_rows.items)
        free(self.other_store_rows.items)
        free(self.is_outside.items)
        free(self.tasks.items)
        free(self.memory.items)

    cdef begin(self, Forest forest, const uint32_t[::1] rows):
        """Begin a round whose trees are grown on ``rows``; None: all.

        They will be added to the forest.
        """
        self.leaves_before = forest.n_leaves
        self.start.n = self.constant.n = self.lower.n = self.upper.n = 0
        self.feature.n = self.coefficient.n = self.mean.n = 0
        (<int64_t*>append(&self.start, 1, sizeof(int64_t)))[0] = 0
        self.rows, self.n_other_rows = rows, 0

    cdef fit(
        self, Shared* shared, Workspace* workspaces, const Round* rounds, int n, int first,
        int n_threads, double[:, ::1] scores,
    ):
        """Fit the leaves of the n trees of the scores from ``first`` on.

        - ``workspaces``, ``rounds``, (n,): the grown trees, with the rows of their leaves.
        - ``first``: the score of the first tree.
        - ``scores``, (n_scores, n_rows): the values of the rows are added, unless None.
        """
        cdef int64_t first_leaf = self.constant.n
        cdef LeafModelLoop loop
        cdef int64_t n_leaves, n_kept, max_memory = 0, n_rows_fitted = 0, k
        cdef const LeafModelTask* task
        self.tasks.n = 0
        for k in range(n):
            self._plan_tree(
                &workspaces[k], &rounds[k], NULL if scores is None else &scores[first + k, 0],
                first + <int>k)
        self._prepare((<int64_t*>self.start.items)[first_leaf])
        n_leaves = self.tasks.n
        for k in range(n_leaves):
            task = &(<LeafModelTask*>self.tasks.items)[k]
            max_memory = max(max_memory, fit_memory(task.p, task.n) + (task.n + 1) // 2)
            n_rows_fitted += task.n
        if n_rows_fitted < MIN_ROWS_FOR_TEAM:
            n_threads = 1
        if n_threads > 1:
            qsort(self.tasks.items, n_leaves, sizeof(LeafModelTask), compare_work)
        self.memory.n = 0
        loop.memory = <double*>append(&self.memory, n_threads * max_memory, sizeof(double))
        loop.memory_size = max_memory
        loop.tasks = <LeafModelTask*>self.tasks.items
        loop.values = &self.values
        loop.models = LeafModel(
            <double*>self.constant.items, <double*>self.coefficient.items,
            <double*>self.mean.items, <double*>self.lower.items, <double*>self.upper.items, 0.0)
        loop.feature = <int32_t*>self.feature.items
        loop.shared = shared
        with nogil:
            parallel_for(fit_body, &loop, n_leaves, 1, n_threads)
        end_watch(&shared.watch)
        n_kept = keep_slopes(
            n_leaves, &loop.models, <int64_t*>self.start.items + first_leaf,
            <int32_t*>self.feature.items)
        self.feature.n = self.coefficient.n = self.mean.n = n_kept

    cdef _plan_tree(self, const Workspace* ws, const Round* round, double* score, int k):
        """Append a task and a model for each leaf of a tree, which is that of score k.

        ``score``: of all rows; NULL: values are not added.
        """
        cdef LeafModelTask* task = <LeafModelTask*>append(
            &self.tasks, ws.n_leaves, sizeof(LeafModelTask))
        cdef int64_t first_leaf = self.constant.n
        cdef const Leaf* leaf
        cdef int i
        append(&self.start, ws.n_leaves, sizeof(int64_t))
        append(&self.constant, ws.n_leaves, sizeof(double))
        append(&self.lower, ws.n_leaves, sizeof(double))
        append(&self.upper, ws.n_leaves, sizeof(double))
        for i in range(ws.n_leaves):
            leaf = &ws.leaves[i]
            task[i].ws = ws
            task[i].derivatives = Derivatives(
                round.gradients.gradient, round.gradients.hessian, NULL)
            if self.weight is not None:
                task[i].derivatives.weight = &self.weight[k if self.weight.shape[0] > 1 else 0, 0]
            task[i].rates = Rates(
                self.penalty, ws.learning_rate, ws.self_concordance, self.min_rows)
            task[i].score = score
            task[i].leaf = i
            task[i].number = first_leaf + i
            task[i].first = self.feature.n
            self._add_path(ws, leaf)
            task[i].p = self.feature.n - task[i].first
            # The value of a tree without a split is 0.
            task[i].n = leaf.end - leaf.begin if ws.n_leaves > 1 else 0
            (<int64_t*>self.start.items)[first_leaf + i + 1] = self.feature.n
        append(&self.coefficient, self.feature.n - self.coefficient.n, sizeof(double))
        append(&self.mean, self.feature.n - self.mean.n, sizeof(double))

    cdef _add_path(self, const Workspace* ws, const Leaf* leaf):
        """Append the numeric columns of the nodes above a leaf, ascending."""
        cdef int64_t first = self.feature.n
        cdef int32_t* columns
        cdef int node = leaf.node
        append(&self.feature, min(ws.n_leaves - 1, self.column.shape[0]), sizeof(int32_t))
        columns = <int32_t*>self.feature.items + first
        self.feature.n = first
        while node >= 0:
            if not self.categorical[ws.nodes[node].feature]:
                self.feature.n += insert(
                    self.column[ws.nodes[node].feature], columns, self.feature.n - first)
            node = ws.nodes[node].parent

    cdef _prepare(self, int64_t first):
        """Load the columns of the coefficients from number ``first`` on, if they are not yet."""
        cdef const int32_t* feature = <int32_t*>self.feature.items
        cdef int64_t j
        missing = {feature[j] for j in range(first, self.feature.n)
                   if not self.is_ready[feature[j]]}
        if missing:
            self.raw.prepare(np.array(sorted(missing), dtype=np.int32))

    cdef add_to_other_rows(
        self, Forest forest, BinStore store, const int32_t* missing_bin, int n_threads,
        double* score,
    ):
        """Add the values of the forest's last tree to the scores of the rows outside the sample.

        The tree was not grown on them: they find their leaves by their bins.

        - ``missing_bin``, (n_features,): the bin of NaN of each feature; -1: there is none.
        - ``score``, (n_rows,): the scores that the tree belongs to.
        """
        cdef int64_t first_leaf = forest.leaf_start[forest.n_trees - 1] - self.leaves_before
        cdef LeafModels models
        if self.rows is None or self.rows.shape[0] == self.n_rows:
            return
        if self.n_other_rows == 0:
            self._find_other_rows()
        models = LeafModels(
            <int64_t*>self.start.items + first_leaf, <int32_t*>self.feature.items,
            <double*>self.coefficient.items, <double*>self.constant.items + first_leaf,
            <double*>self.lower.items + first_leaf, <double*>self.upper.items + first_leaf)
        add_leaf_models(
            forest, forest.n_trees - 1, store, missing_bin, n_threads, &self.values, &models,
            <uint32_t*>self.other_store_rows.items, <uint32_t*>self.other_rows.items,
            self.n_other_rows, score)

    cdef _find_other_rows(self):
        """List the rows that the trees are not grown on, and which rows of the store they are.

        The memory of an earlier list is used again.
        """
        cdef uint8_t* is_outside
        cdef uint32_t* other_rows
        cdef uint32_t* store_rows
        cdef Py_ssize_t i, n = 0
        self.is_outside.n = self.other_rows.n = self.other_store_rows.n = 0
        is_outside = <uint8_t*>append(&self.is_outside, self.n_rows, 1)
        other_rows = <uint32_t*>append(&self.other_rows, self.n_rows, sizeof(uint32_t))
        store_rows = <uint32_t*>append(&self.other_store_rows, self.n_rows, sizeof(uint32_t))
        memset(is_outside, True, self.n_rows)
        for i in range(self.rows.shape[0]):
            is_outside[self.rows[i]] = False
        # Without a branch: a row of the sample is overwritten by the next row.
        for i in range(self.n_rows):
            other_rows[n] = <uint32_t>i
            n += is_outside[i]
        for i in range(n):
            store_rows[i] = other_rows[i] if self.numbers is None else self.numbers[other_rows[i]]
        self.n_other_rows = n

    cdef leaves(self):
        """The arrays of the round's `LinearLeaves`, in their order."""
        return (
            copied(&self.constant, np.float64), copied(&self.start, np.int64),
            copied(&self.feature, np.int32), copied(&self.coefficient, np.float64),
            copied(&self.lower, np.float64), copied(&self.upper, np.float64),
            copied(&self.mean, np.float64))
