"""The SHAP values of rows, in tiles.

A tile of rows passes through one tree after the other, each in blocks of SHAP_ROWS rows, so that
the constants of a tree are computed once for a tile. No sum is over rows, so the values of a row do
not depend on the tiles.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.columns.column_kernels cimport load_block
from skgoss._engine.model.predict cimport fill_values
from skgoss._engine.model.quadrature cimport QuadratureRule
from skgoss._engine.model.tree_steps cimport (
    SHAP_POINTS, SHAP_ROWS, LeafModel, Pair, Step, StepNode, StepTables, Term, TreeRange)
from skgoss._engine.signals cimport Watch, is_stopped
from skgoss._engine.threads cimport parallel_for

cdef extern from "contribution_kernels.h" nogil:
    enum:
        SHAP_CONSTANTS
    ctypedef struct Run "shap_run":
        const Step* steps
        int64_t n_steps
        const Pair* pairs
        const LeafModel* leaf_models
        const Term* terms
        const double* table
        const double* known
        const double* unknown
        const double* weight
        const double* minus_inverse
        const double* values
        int64_t stride
        int n
        double* P
        double* G
        int64_t* goes_near
        int64_t* followed
        double* sum
        double* pair_sum
    void shap_fill(
        const StepNode*, int64_t, const double* known, const double* unknown, int with_pairs,
        double* table_out) noexcept
    void shap_block(const Run*, int with_pairs) noexcept


cdef enum:
    # The limits of the number of blocks of a tile, and the memory of a tile that fits the cache.
    MIN_BLOCKS = 4
    MAX_BLOCKS = 32
    TILE_BYTES = 1 << 19
    CACHE_LINE = 64


# The arrays of a thread, which are parts of one allocation.
cdef struct RowScratch:
    double* slot_values     # (rows,): work space of `fill_values`
    double* values          # (columns, rows) of the tile
    double* table           # the constants of a tree's nodes: `shap_fill`
    double* P               # of a block: fields of `shap_run`
    double* G
    int64_t* goes_near
    int64_t* followed
    double* sum             # (blocks, slots + pairs, rows)


cdef size_t lay_out(const Call* call, char* memory, RowScratch* scratch_out) noexcept nogil:
    """Divide a thread's memory into its arrays, each of whole cache lines; returns its bytes.

    ``memory`` may be NULL, to find the number of bytes.
    """
    cdef const StepTables* steps = call.steps
    cdef size_t rows = call.n_blocks * SHAP_ROWS
    cdef size_t weights = 2 * (steps.max_depth + 2) * SHAP_POINTS * SHAP_ROWS
    cdef size_t used = 0
    scratch_out.table = <double*> memory
    used += steps.max_nodes * SHAP_CONSTANTS
    scratch_out.P = <double*> memory + used
    used += weights
    scratch_out.G = <double*> memory + used
    used += weights
    scratch_out.goes_near = <int64_t*> memory + used
    used += (steps.max_depth + 1) * SHAP_ROWS
    scratch_out.followed = <int64_t*> memory + used
    used += (steps.max_depth + 1) * SHAP_ROWS
    scratch_out.slot_values = <double*> memory + used
    used += rows
    scratch_out.values = <double*> memory + used
    used += rows * (call.tables.n_columns + steps.n_raw)
    scratch_out.sum = <double*> memory + used
    used += rows * (steps.n_slots + steps.n_pairs)
    return used * sizeof(double)


cdef int64_t tile_blocks(const Call* call, int n_threads) noexcept nogil:
    """The number of blocks of a tile that fit the cache; fewer if a thread has few rows."""
    cdef const StepTables* steps = call.steps
    cdef int64_t blocks = (call.n_rows + SHAP_ROWS - 1) // SHAP_ROWS
    cdef int64_t size = call.tables.n_columns + steps.n_raw + steps.n_slots + steps.n_pairs
    size *= SHAP_ROWS * sizeof(double)
    cdef int64_t cached_blocks = min(max(TILE_BYTES // size, MIN_BLOCKS), MAX_BLOCKS)
    # With at least 8 tiles for each thread, threads end at about the same time.
    cdef int64_t thread_blocks = blocks // (8 * n_threads) if n_threads > 1 else blocks
    return max(1, min(cached_blocks, thread_blocks))


cdef void explain_tree(
    const Call* call, int64_t tree, int64_t n_blocks, const RowScratch* scratch, Watch* watch
) noexcept nogil:
    """Add the contributions of a tree to the sums of a tile's n_blocks blocks of rows.

    The points of the quadrature are taken in passes of up to SHAP_POINTS; each pass goes through
    the whole tree.
    """
    cdef const StepTables* steps = call.steps
    cdef const TreeRange* span = &steps.trees[tree]
    cdef const QuadratureRule* rule = &call.rules[call.tree_rule[tree]]
    cdef int64_t size = (steps.n_slots + steps.n_pairs) * SHAP_ROWS
    cdef int64_t pass_, block, at
    cdef Run run
    run.steps = steps.steps + span.first_step
    run.n_steps = span.n_steps
    run.pairs = steps.pairs
    run.leaf_models = NULL
    if steps.leaf_models != NULL:
        run.leaf_models = steps.leaf_models + steps.leaf_start[tree]
    run.terms = steps.terms
    run.table = scratch.table
    run.stride = call.n_blocks * SHAP_ROWS
    run.n = rule.n
    run.P = scratch.P
    run.G = scratch.G
    run.goes_near = scratch.goes_near
    run.followed = scratch.followed
    for pass_ in range(rule.n_passes if span.n_steps else 0):
        if is_stopped(watch):
            return
        at = pass_ * SHAP_POINTS
        shap_fill(
            steps.nodes + span.first_node, span.n_nodes, rule.known + at, rule.unknown + at,
            steps.with_pairs, scratch.table)
        run.known = rule.known + at
        run.unknown = rule.unknown + at
        run.weight = rule.weight + at
        run.minus_inverse = rule.minus_inverse + at
        for block in range(n_blocks):
            run.values = scratch.values + block * SHAP_ROWS
            run.sum = scratch.sum + block * size
            run.pair_sum = run.sum + steps.n_slots * SHAP_ROWS
            shap_block(&run, steps.with_pairs)


cdef void subtract_pairs(const Call* call, double* sum) noexcept nogil:
    """Halve the sums of the pairs of a block, and subtract the halves from both features.

    An interaction is divided equally between two entries of a row's matrix, and the rest of a
    feature's SHAP value is its main effect, so that each row of the matrix sums to the SHAP value.
    ``sum``: (slots + pairs, SHAP_ROWS).
    """
    cdef double* pair = sum + call.steps.n_slots * SHAP_ROWS
    cdef double* first
    cdef double* second
    cdef int64_t p
    cdef int r
    for p in range(call.steps.n_pairs):
        first = sum + <int64_t> call.pair_slots[2 * p] * SHAP_ROWS
        second = sum + <int64_t> call.pair_slots[2 * p + 1] * SHAP_ROWS
        for r in range(SHAP_ROWS):
            pair[r] *= 0.5
            first[r] -= pair[r]
            second[r] -= pair[r]
        pair += SHAP_ROWS


cdef void write_values(
    const Call* call, const double* sum, int64_t start, int64_t n
) noexcept nogil:
    """Write the values of a block's rows into the output, divided by ``call.divisor``.

    ``start``, ``n``: the block's first row, and its number of rows. ``sum``: see `subtract_pairs`.
    """
    cdef const double* pair = sum + call.steps.n_slots * SHAP_ROWS
    cdef double* out
    cdef double value
    cdef int64_t r, i
    for r in range(n):
        out = call.out + (start + r) * call.width
        memset(out, 0, call.width * sizeof(double))
        for i in range(call.n_constants):
            out[call.constant_target[i]] = call.constant[i]
        for i in range(call.steps.n_slots):
            out[call.target[i]] = sum[i * SHAP_ROWS + r] / call.divisor
        for i in range(call.steps.n_pairs):
            value = pair[i * SHAP_ROWS + r] / call.divisor
            out[call.pair_target[2 * i]] = out[call.pair_target[2 * i + 1]] = value


cdef void explain_tile(const Call* call, int64_t start, char* memory, Watch* watch) noexcept nogil:
    """Explain the rows of a tile that begins at row ``start``, by all trees.

    ``memory``: `lay_out` bytes.
    """
    cdef RowScratch scratch
    cdef size_t size = (call.steps.n_slots + call.steps.n_pairs) * SHAP_ROWS
    cdef int64_t n_rows = min(call.n_rows - start, call.n_blocks * SHAP_ROWS)
    cdef int64_t n_blocks = (n_rows + SHAP_ROWS - 1) // SHAP_ROWS
    cdef int64_t tree, block, i
    cdef double* sum
    cdef size_t thread_bytes = lay_out(call, memory, &scratch)
    # Missing rows of the last block are computed, too.
    if n_rows % SHAP_ROWS != 0:
        memset(memory, 0, thread_bytes)
    memset(scratch.sum, 0, n_blocks * size * sizeof(double))
    fill_values(
        call.tables, &call.inputs, start, n_rows, 1, call.n_blocks * SHAP_ROWS,
        scratch.slot_values, scratch.values)
    for i in range(call.steps.n_raw):
        load_block(
            &call.inputs, call.steps.raw_feature[i], NULL, start, n_rows,
            scratch.values + (call.tables.n_columns + i) * call.n_blocks * SHAP_ROWS)
    for tree in range(call.first_tree, call.stop_tree):
        explain_tree(call, tree, n_blocks, &scratch, watch)
    # `is_stopped` is checked for each block, as first writes to new memory are slow.
    for block in range(n_blocks):
        if is_stopped(watch):
            break
        sum = scratch.sum + block * size
        subtract_pairs(call, sum)
        write_values(
            call, sum, start + block * SHAP_ROWS,
            min(<int64_t> SHAP_ROWS, n_rows - block * SHAP_ROWS))


cdef struct TileLoop:
    const Call* call
    char* memory              # for each thread, `thread_bytes` bytes
    size_t thread_bytes
    Watch* watch


cdef void explain_body(void* context, Py_ssize_t start, Py_ssize_t end, int thread) noexcept nogil:
    """Explain one tile, the rows ``start`` to ``end``."""
    cdef TileLoop* loop = <TileLoop*>context
    if not is_stopped(loop.watch):
        explain_tile(loop.call, start, loop.memory + loop.thread_bytes * thread, loop.watch)


cdef bint explain_rows(const Call* call, int n_threads, Watch* watch) noexcept nogil:
    """Explain all rows, tile by tile; false if there is not enough memory."""
    cdef RowScratch scratch
    cdef size_t thread_bytes = lay_out(call, NULL, &scratch)
    cdef char* memory = <char*> malloc(thread_bytes * n_threads + CACHE_LINE)
    cdef char* aligned = memory + CACHE_LINE - <size_t> memory % CACHE_LINE
    if memory == NULL:
        return False
    cdef TileLoop loop = TileLoop(call, aligned, thread_bytes, watch)
    parallel_for(explain_body, &loop, call.n_rows, call.n_blocks * SHAP_ROWS, n_threads)
    free(memory)
    return True
