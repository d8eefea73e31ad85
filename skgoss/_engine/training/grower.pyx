"""Growing the trees of a fit, for Python.

The trees of a round, one for each class, are grown side by side by one thread each if there are
enough of them. Otherwise the threads divide the work within the trees. The trees are the same.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np

from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.objectives.loss_kernels cimport Loss
from skgoss._engine.signals cimport end_watch, start_watch
from skgoss._engine.threads cimport parallel_for
from skgoss._engine.training.forest cimport Forest
from skgoss._engine.training.grower_inputs cimport (
    read_constraints, read_dataset, read_settings, read_subset_source)
from skgoss._engine.training.grower_memory cimport GrowerMemory
from skgoss._engine.training.kernel_collectives cimport MIN_SHARED_HIST_BINS, KernelCollectives
from skgoss._engine.training.layout cimport Binned, Gradients
from skgoss._engine.training.leaf_values cimport number_rows
from skgoss._engine.training.linear_leaves cimport LeafModelFit
from skgoss._engine.training.score import add_trees
from skgoss._engine.training.shared_trees cimport (
    add_shared_trees, directed_sums, random_direction, random_halves)
from skgoss._engine.training.tasks cimport Batch
from skgoss._engine.training.tree cimport fill_score, grow_trees
from skgoss._engine.training.workspace cimport (
    COLLECTIVE_FAILED, NOT_FINITE, NO_MEMORY, Leaf, Round, Shared, Workspace, position_of)


cdef enum:
    # The minimum number of updates and visits of bins in the roots of a round for each thread.
    MIN_ROOT_WORK_PER_THREAD = 64000
    # A tree is grown by one thread only if its root has more updates.
    MIN_UPDATES_PER_WAVE = 20000

# Row numbers and counts of rows have 31 bits.
MAX_ROWS: int = 2**31 - 1

# A round without a split is grown again with other random columns and thresholds, this many times
# in all.
MAX_DRAWS: int = 30


cdef raise_status(int status):
    """Raise the error of a status, unless its exception exists already."""
    if status == NO_MEMORY:
        raise MemoryError("could not allocate memory for growing trees")
    if status == NOT_FINITE:
        raise FloatingPointError("gradients or hessians are NaN or infinite")


cdef struct WaveLoop:
    # Trees that are grown side by side, by one thread each.
    Shared* shared
    Batch* batches
    Workspace* workspaces
    Round* rounds


cdef void grow_body(void* context, Py_ssize_t i, Py_ssize_t end, int thread) noexcept nogil:
    """Grow tree i of a wave by this thread; its error is in ``rounds[i].status``."""
    cdef WaveLoop* loop = <WaveLoop*>context
    loop.rounds[i].status = grow_trees(
        loop.shared, &loop.batches[1 + i], &loop.workspaces[i], &loop.rounds[i], 1)


cdef class TreeGrower:
    """Grows the trees of a fit on one binned data set.

    - ``dataset``: a `BinnedDataset` of at least one feature.
    - ``settings``: resolved `Settings`.
    - ``n_scores``: the number of trees of a round.
    - ``forest``: the trees to continue from, to which new ones are added; None: an empty one.
    - ``constraints``: `TreeConstraints`.
    - ``frequency``, (n_rows,), uint32: frequency weights, how often each row counts; None: once.
    - ``self_concordance``, float or (n_scores,): of the loss, see `Objective`.
    - ``reweighted``, bool or (n_scores,): likewise.
    - ``partition``: the `RowPartition` of the data set; None: it has all rows.
    - ``score_unit``, (2, n_scores): the typical gradient and hessian of each score, for trees that
      several outputs share; None: the scores are those of classes.
    - ``raw``: the `RawColumns` of the rows, for linear leaves; None: there are none.
    - ``row_weight``, (1 or n_scores, n_rows): the weights of rows, for linear leaves.
    - ``missing_left_if_none``: whether missing values go left at nodes that have none, as in
      LightGBM; they go with the larger child otherwise.
    - ``min_shared_hist_bins``: the number of histogram bins from which on processes share the
      columns of a tree: each adds up and searches some of them.
    """

    cdef Shared shared
    cdef Gradients gradients  # of a round, without what the arguments of `grow` determine
    cdef public Forest forest  # the next trees are added to it
    cdef GrowerMemory memory
    cdef Workspace* workspaces  # those of the memory
    cdef Batch* batches       # likewise
    cdef int n_workspaces
    cdef int n_threads
    cdef object dataset
    cdef BinStore store
    cdef object numbers       # of the rows in the store; None: all of them
    cdef KernelCollectives collectives  # None: all rows are here
    cdef LeafModelFit model_fit  # None: all leaves are constant
    cdef double[::1] self_concordance  # of each score
    cdef uint8_t[::1] reweighted  # likewise
    cdef double[::1] extra_l2  # of each score
    cdef double[::1] zero_l2
    cdef public const double[:, ::1] score_unit  # see the argument
    cdef int32_t[::1] leaf_number  # of each row in a tree; None: not needed yet
    cdef int64_t n_rows       # of all processes
    cdef bint shares_trees    # one tree a round for all scores
    cdef int n_draws          # the maximum number of times that a round is grown: see MAX_DRAWS

    def __cinit__(
        self, dataset, settings, int n_scores, int n_threads, Forest forest=None, constraints=None,
        frequency: NDArray[np.uint32] | None = None,
        self_concordance: float | NDArray[np.float64] = 0.0, partition=None,
        int64_t min_shared_hist_bins=MIN_SHARED_HIST_BINS,
        reweighted: bool | NDArray[np.bool_] = False, raw=None,
        row_weight: NDArray[np.float64] | None = None, bint missing_left_if_none=False,
        score_unit: NDArray[np.float64] | None = None,
    ):
        self.dataset = dataset
        self.store = dataset.storage.store
        self.numbers = dataset.numbers
        self.memory = GrowerMemory()
        if raw is not None:
            self.model_fit = LeafModelFit(dataset, settings, raw, row_weight)
        self.self_concordance = np.full(n_scores, self_concordance, dtype=np.float64)
        self.reweighted = np.full(n_scores, reweighted, dtype=np.uint8)
        self.zero_l2 = np.zeros(n_scores)
        self.score_unit, self.leaf_number = score_unit, None
        self._read_partition(partition, min_shared_hist_bins)
        self.forest = Forest() if forest is None else forest
        if self.n_rows > MAX_ROWS:
            raise ValueError(f"X has {self.n_rows} rows; at most {MAX_ROWS} can be used")
        read_dataset(&self.shared, self.memory, dataset)
        self.n_threads = self._count_threads(n_threads, n_scores, self.shared.data.n_rows)
        self.shares_trees = n_scores > 1 and settings.multi_strategy == "multi_output_tree"
        samples = min(settings.colsample_bytree, settings.feature_fraction_bynode) < 1
        self.n_draws = MAX_DRAWS if settings.extra_trees or samples else 1
        # Processes grow one tree after the other, so that all of them reduce the same sums.
        self.n_workspaces = min(self.n_threads, n_scores)
        if self.collectives is not None or self.shares_trees:
            self.n_workspaces = 1
        self._read_frequency(frequency)
        read_settings(&self.shared, settings, self.n_rows)
        self.shared.settings.missing_left_if_none = missing_left_if_none
        if constraints is not None:
            read_constraints(&self.shared, self.memory, constraints)
        read_subset_source(&self.shared, self.memory, dataset.storage, settings)
        self.memory.allocate_threads(&self.shared, self.n_threads)
        self.memory.allocate_trees(&self.shared, self.n_workspaces)
        self.workspaces, self.batches = self.memory.workspaces, self.memory.batches

    cdef int _count_threads(self, int n_threads, int n_scores, int64_t n_rows):
        """The number of threads for a round: those that its roots keep busy, or two if allowed.

        More would make speculative splits that are not needed.
        """
        cdef const Binned* data = &self.shared.data
        cdef double work = n_scores * (n_rows * data.row_updates + data.n_visits)
        cdef double n_busy = work / MIN_ROOT_WORK_PER_THREAD
        return max(1, min(n_threads, <int>min(max(n_busy, 2.0), 1e6)))

    cdef _read_partition(self, partition, int64_t min_shared_hist_bins):
        """Set the number of all rows, and how processes communicate."""
        self.n_rows = self.dataset.n_rows
        if partition is None or partition.is_alone:
            return
        self.n_rows = partition.n_rows
        self.collectives = KernelCollectives(partition.collectives)
        self.shared.collectives = <void*>self.collectives
        self.shared.n_ranks = partition.collectives.n_ranks
        self.shared.rank = partition.collectives.rank
        self.shared.min_shared_hist_bins = min_shared_hist_bins

    cdef _read_frequency(self, frequency):
        """Set the numbers of rows and the frequency weights."""
        cdef Gradients* gradients = &self.gradients
        gradients.n_rows = self.dataset.n_rows
        gradients.n_global_rows = gradients.total_frequency = self.n_rows
        gradients.max_frequency = 1
        if frequency is not None:
            gradients.frequency = <const uint32_t*>self.memory.address(frequency, np.uint32)
            gradients.total_frequency, gradients.max_frequency = self._reduce_frequency(frequency)

    cdef _reduce_frequency(self, frequency):
        """The sum and the maximum of the frequency weights of all processes' rows."""
        local = int(frequency.sum(dtype=np.int64)), int(frequency.max(initial=1))
        if self.collectives is None:
            return local
        total, maximum = zip(*self.collectives.wrapped.all_gather(local))
        return sum(total), max(maximum)

    def grow(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian or None,
        const double[:, ::1] weight or None, const uint32_t[::1] rows or None,
        double[:, ::1] scores or None, uint64_t round_index,
        extra_l2: NDArray[np.float64] | None = None, list leaf_models=None,
    ) -> bool:
        """Grow one tree for each score and add them to the forest.

        With ``multi_strategy="multi_output_tree"`` they have the same splits. Returns whether
        any of the trees has a split. If none has, the round is grown again with other random
        columns and thresholds; if none has then, and the forest has trees already, none is added.

        - ``gradient``, ``hessian``, (n_scores, n_rows): hessians may be None for ones.
        - ``weight``, (1 or n_scores, n_rows): multiplies both, in addition to the frequency
          weights; None: 1.
        - ``rows``: the sampled rows; None: all.
        - ``scores``, (n_scores, n_rows): the values of the trees are added to the scores of all
          rows, unless None.
        - ``round_index``: part of the keys of the random numbers.
        - ``extra_l2``, (n_scores,): is added to ``reg_lambda`` in leaf values, and unless trees are
          shared in gains; None: 0.
        - ``leaf_models``: gets the arrays of the round's `LinearLeaves`; None: leaves are constant.
        """
        self.shared.watch = start_watch()
        return self._grow_round(
            gradient, hessian, weight, rows, scores, round_index, extra_l2, leaf_models)

    def grow_rounds(
        self, derive: Callable[..., None], sample: Callable[..., Any] | None,
        gradient: NDArray[np.float32], hessian: NDArray[np.float32] | None,
        const double[:, ::1] weight or None, scores: NDArray[np.float64],
        uint64_t round_index, int n_rounds, evaluation_rows: Sequence[Any] = (),
        evaluation_scores: Sequence[Sequence[NDArray[np.float64]]] = (),
        check: Callable[[], None] | None = None, list leaf_models=None,
    ) -> tuple[int, bool]:
        """Grow the trees of several rounds, each on the derivatives at the scores before it.

        Returns the number of rounds that have a split, and whether the next one has failed. A round
        without a split is the last, and so is a round that fails. The error of the first round is
        raised; later rounds may not be needed, so their errors are not. The scores are then those
        of no round. See `grow` for the other arguments.

        - ``derive``: a `Loss`, or a function with its arguments and the index of the round.
        - ``sample(round_index, gradient, hessian, n_threads)`` returns the rows and the hessians
          of a sample; None: all rows.
        - ``evaluation_rows``: the `BinnedRows` of evaluation sets; None for one whose scores are
          those of the training rows.
        - ``evaluation_scores``: the scores of each set, and for each round arrays for those after
          it.
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
                rows, used_hessian = None, hessian
                if sample is not None:
                    rows, used_hessian = sample(round_index + i, gradient, hessian, self.n_threads)
                has_split = self._grow_round(
                    gradient_out, used_hessian, weight, rows, scores_inout, round_index + i, None,
                    leaf_models)
            except Exception:
                if i == 0:
                    raise
                self.forest.drop(n_trees)
                return i, True
            if self.forest.n_trees == n_trees:
                return i, False
            for k, binned in enumerate(evaluation_rows):
                new_scores = evaluation_scores[i + 1][k]
                if binned is None:
                    new_scores[...] = scores
                else:
                    models = None
                    if leaf_models is not None:
                        models = binned.leaf_model_table(leaf_models[len(leaf_models) - 1])
                    self._add_trees(
                        binned.store, binned.missing_bin, new_scores, binned.numbers, models,
                        evaluation_scores[i][k])
            if not has_split:
                return i, False
        return n_rounds, False

    cdef _add_trees(self, store, missing_bin, scores, numbers, models=None, base_scores=None):
        """Add the trees of the last round to scores, or to ``base_scores`` if these are given."""
        add_trees(
            self.forest, self.forest.n_trees - scores.shape[0], store, missing_bin,
            self.n_threads, scores, numbers, models, base_scores, self.shares_trees)

    cdef bint _grow_round(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index, extra_l2, list leaf_models,
    ) except -1:
        """Grow a round, perhaps several times: see `grow`."""
        cdef Forest forest = self.forest
        cdef LeafModelFit model_fit = None if leaf_models is None else self.model_fit
        cdef int64_t n_trees = forest.n_trees
        # With a sample, all rows find their leaves by their bins after the round. Linear leaves add
        # the values of the sampled rows while they are fitted, and those of the others then.
        cdef bint adds_sampled = rows is None or model_fit is not None
        cdef bint has_split = False
        cdef uint64_t i
        self.extra_l2 = self.zero_l2 if extra_l2 is None else extra_l2
        for i in range(self.n_draws):
            if i > 0:
                forest.drop(n_trees)
            has_split = self._grow_trees(
                gradient, hessian, weight, rows, scores if adds_sampled else None,
                round_index + (i << 32), model_fit)
            if has_split:
                break
        if forest.n_trees > n_trees:
            if model_fit is not None:
                leaf_models.append(model_fit.leaves())
            if scores is not None and not adds_sampled:
                self._add_trees(
                    self.store, self.dataset.missing_bin, np.asarray(scores), self.numbers)
        return has_split

    cdef bint _grow_trees(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index, LeafModelFit model_fit,
    ) except -1:
        """Grow the trees of a round once, and add their values to the scores of sampled rows."""
        cdef int n_scores = gradient.shape[0]
        cdef int first = 0
        cdef Forest forest = self.forest
        cdef int64_t n_nodes = forest.n_nodes
        cdef int64_t n_trees = forest.n_trees
        cdef double n_updates = self.shared.data.n_rows * self.shared.data.row_updates
        cdef bint tree_per_thread
        cdef int n, i
        cdef const uint32_t[::1] ids = self._store_numbers(rows)
        if model_fit is not None:
            model_fit.begin(forest, rows)
        if self.shares_trees:
            self._grow_shared(
                gradient, hessian, weight, rows, ids, scores, round_index, model_fit)
            first = n_scores
        while first < n_scores:
            n = min(self.n_workspaces, n_scores - first)
            tree_per_thread = 1 < n == self.n_threads and n_updates > MIN_UPDATES_PER_WAVE
            if self.batches[0].helpers == NULL and not tree_per_thread:
                n = 1
            self._grow_wave(
                gradient, hessian, weight, rows, ids, scores, round_index, first, n,
                tree_per_thread, model_fit)
            for i in range(n):
                self._add_tree(&self.workspaces[i], model_fit, scores, first + i)
            first += n
        if forest.n_nodes == n_nodes and n_trees > 0:
            forest.drop(n_trees)
        return forest.n_nodes > n_nodes

    cdef _add_tree(
        self, const Workspace* ws, LeafModelFit model_fit, double[:, ::1] scores, int k,
    ):
        """Add the tree of score ``k`` to the forest.

        If leaves are linear, also add their values to the scores of rows outside the sample.
        """
        raise_status(self.forest.add(ws))
        if model_fit is not None and scores is not None:
            model_fit.add_to_other_rows(
                self.forest, self.store, self.shared.data.missing_bin, self.n_threads,
                &scores[k, 0])

    cdef _raise(self, int status):
        """Raise the error or the interrupt that has ended a tree early, if there is one."""
        end_watch(&self.shared.watch)
        if status == COLLECTIVE_FAILED:
            raise self.collectives.error
        raise_status(status)

    cdef _grow_shared(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, const uint32_t[::1] ids,
        double[:, ::1] scores, uint64_t round_index, LeafModelFit model_fit,
    ):
        """Grow one tree for all scores, and store it once for each score with its own leaf values.

        Its splits are those for a random direction, another one in each round: the sum of the
        gradients times a factor of each score. The factors of classes are 1 for half of them and -1
        for the others.
        """
        cdef int n_scores = gradient.shape[0]
        cdef Workspace* ws = &self.workspaces[0]
        cdef Round round
        cdef uint64_t seed = self.shared.settings.extra_seed
        cdef const double[:, ::1] own_weight = None  # of each score
        cdef const double[:, ::1] row_weight = None
        cdef double extra_l2
        cdef int status, k
        if self.score_unit is None:
            factors = random_halves(seed, round_index, n_scores)
        else:
            factors = random_direction(seed, round_index, self.score_unit)
        if weight is not None and weight.shape[0] > 1:
            own_weight = weight
        else:
            row_weight = weight
        gradients = directed_sums(gradient, factors[0], own_weight, self.n_threads)
        hessians = None
        if hessian is not None or own_weight is not None:
            hessians = directed_sums(
                np.ones_like(gradient) if hessian is None else hessian, factors[1], own_weight,
                self.n_threads)
        round = self._round(gradients, hessians, row_weight, rows, ids, None, 0)
        self.batches[0].n_threads = ws.n_threads = self.n_threads
        ws.tree_index = round_index * n_scores
        ws.extra_l2 = 0.0
        with nogil:
            status = grow_trees(&self.shared, self.batches, ws, &round, 1)
        self._raise(status)
        for k in range(n_scores):
            round = self._round(gradient, hessian, weight, rows, ids, None, k)
            ws.self_concordance = self.self_concordance[k]
            extra_l2 = self.extra_l2[k]
            with nogil:
                status = fill_score(&self.shared, ws, &round, extra_l2)
            self._raise(status)
            if model_fit is not None:
                model_fit.fit(&self.shared, ws, &round, 1, k, self.n_threads, scores)
            self._add_tree(ws, model_fit, scores, k)
        if scores is not None and model_fit is None:
            self.add_by_leaf(np.asarray(scores))

    def add_by_leaf(self, double[:, ::1] scores_inout):
        """Add the trees of the last round to the scores of its rows: all rows, not a sample.

        They must be the trees of one score, or shared trees.
        """
        cdef Workspace* ws = &self.workspaces[0]
        cdef Round round
        if ws.n_leaves == 1:
            return
        if self.leaf_number is None:
            self.leaf_number = np.zeros(scores_inout.shape[1], dtype=np.int32)
        round.gradients.n = scores_inout.shape[1]
        round.leaf_number = &self.leaf_number[0]
        with nogil:
            number_rows(&self.shared, ws, &round)
            add_shared_trees(
                self.forest, self.forest.n_trees - scores_inout.shape[0], round.leaf_number,
                scores_inout.shape[1], self.n_threads, &scores_inout[0, 0], scores_inout.shape[0])

    cdef _store_numbers(self, rows):
        """The numbers of the sampled rows in the store; None: all of its rows."""
        if self.numbers is None:
            return rows
        return self.numbers if rows is None else self.numbers[np.asarray(rows)]

    cdef _grow_wave(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, const uint32_t[::1] ids,
        double[:, ::1] scores, uint64_t round_index, int first, int n, bint tree_per_thread,
        LeafModelFit model_fit,
    ):
        """Grow the trees of the n scores from ``first`` on.

        One thread grows each tree (``tree_per_thread``), or all threads grow all trees together.
        """
        cdef Round* rounds = <Round*>calloc(n, sizeof(Round))
        cdef Workspace* workspaces = self.workspaces
        cdef Batch* batches = self.batches
        cdef WaveLoop loop = WaveLoop(&self.shared, batches, workspaces, rounds)
        cdef double[:, ::1] constant_scores = scores if model_fit is None else None
        cdef int n_scores = gradient.shape[0]
        cdef int status = 0
        cdef int n_threads, i, k
        if rounds == NULL:
            raise_status(NO_MEMORY)
        n_threads = self._count_threads(
            self.n_threads, n_scores, self.gradients.n_rows if ids is None else ids.shape[0])
        batches[0].n_threads = n_threads
        for i in range(n):
            k = first + i
            workspaces[i].thread = i if tree_per_thread else 0
            workspaces[i].n_threads = 1 if tree_per_thread else n_threads
            workspaces[i].tree_index = round_index * n_scores + k
            workspaces[i].self_concordance = self.self_concordance[k]
            workspaces[i].reweighted = self.reweighted[k]
            workspaces[i].extra_l2 = self.extra_l2[k]
            rounds[i] = self._round(gradient, hessian, weight, rows, ids, constant_scores, k)
        try:
            with nogil:
                if tree_per_thread:
                    parallel_for(grow_body, &loop, n, 1, n)
                else:
                    rounds[0].status = grow_trees(loop.shared, batches, workspaces, rounds, n)
            for i in range(n):
                status = min(status, rounds[i].status)
            self._raise(status)
            if model_fit is not None:
                model_fit.fit(
                    &self.shared, workspaces, rounds, n, first, self.n_threads, scores)
        finally:
            free(rounds)

    cdef Round _round(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, const uint32_t[::1] ids,
        double[:, ::1] scores, int k,
    ) noexcept:
        """The inputs of the tree of score ``k``."""
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
        gradients.n_global = gradients.n
        round.score = &scores[k, 0] if scores is not None else NULL
        round.leaf_number = NULL
        round.status = 0
        return round

    def rows_by_leaf(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of the leaves of the last tree, if there is one score; int64.

        Returns where the rows of each leaf begin, (n_leaves + 1,), and the row numbers, ascending
        in each leaf.
        """
        cdef const Workspace* ws = &self.workspaces[0]
        cdef const Leaf* grown
        cdef const uint64_t* records
        cdef int64_t i
        cdef int leaf
        start = np.zeros(ws.n_leaves + 1, dtype=np.int64)
        cdef int64_t[::1] start_out = start
        for leaf in range(ws.n_leaves):
            grown = &ws.leaves[leaf]
            start_out[leaf + 1] = start_out[leaf] + grown.end - grown.begin
        rows = np.empty(start_out[ws.n_leaves], dtype=np.int64)
        cdef int64_t[::1] rows_out = rows
        for leaf in range(ws.n_leaves):
            grown = &ws.leaves[leaf]
            records = ws.records[grown.buffer] + grown.begin
            for i in range(grown.end - grown.begin):
                rows_out[start_out[leaf] + i] = position_of(ws, records[i])
        return start, rows
