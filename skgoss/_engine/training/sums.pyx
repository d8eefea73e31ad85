"""The sums of a leaf's rows: at once, by several threads, of a tile, or row by row."""

from libc.stdint cimport uint8_t, uint64_t

from skgoss._engine.training.histogram cimport accumulate, accumulate_in_turn, add_few_rows
from skgoss._engine.training.layout cimport Binned, Encoding, Histogram
from skgoss._engine.training.tasks cimport (
    Batch, Siblings, SumPart, Task, add_part, add_task, run_tasks, task_work)
from skgoss._engine.training.tiles cimport lanes_of, sum_tile
from skgoss._engine.training.workspace cimport FewRows, Leaf, Shared, Workspace, encoding_of

cdef enum:
    # The tiles of so many rows are near while one thread sums them, and those of more rows if
    # there are too many lanes to sum all of them at once.
    MAX_TILED_ROWS = 8192
    MIN_TILED_LANES = 512
    MIN_TILES = 4
    # The least updates of a task.
    MIN_WORK = 12000
    # A task has so many times more updates than places to move its sums to.
    UPDATES_PER_PLACE = 20
    LANES_AT_ONCE = 8         # by which rows are read


cdef void sum_rows(Shared* shared, Siblings* siblings) noexcept nogil:
    """Sum the rows of the smaller sibling in its slot, unless tiles are better."""
    cdef Workspace* ws = siblings.ws
    cdef const Leaf* leaf = siblings.smaller
    cdef Py_ssize_t n = leaf.end - leaf.begin
    siblings.is_summed = ws.n_tiles < MIN_TILES or (
        n > MAX_TILED_ROWS and ws.data.n_lanes < MIN_TILED_LANES)
    if siblings.is_summed:
        accumulate(
            &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin, n, ws.pairs,
            shared.accumulators[ws.thread], &ws.slots[leaf.slot])


# ------------------------------------------------------------------ several threads

cdef Binned part_of(const Binned* data, const SumPart* part) noexcept nogil:
    """The rows as if they had nothing else."""
    cdef Binned out
    if part.n_lanes > 0:
        out = lanes_of(data, part.first_lane, part.n_lanes)
        out.n_place_pieces = 0
    else:
        out = data[0]
        out.n_lanes = 0
    return out


cdef void sum_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Sum some lanes of some rows of a leaf.

    Threads that have the same lanes add their sums to the histogram one after the other.
    """
    cdef const Siblings* siblings = &batch.siblings[task.unit]
    cdef SumPart* part = &batch.parts[task.part]
    cdef Workspace* ws = siblings.ws
    cdef const Leaf* leaf = siblings.smaller
    cdef const Encoding* encoding = encoding_of(ws, leaf)
    cdef Binned data = part_of(&ws.data, part)
    cdef const uint64_t* records = ws.records[leaf.buffer] + leaf.begin + task.first
    cdef Py_ssize_t n = task.end - task.first
    if part.n_tasks == 1:
        accumulate(
            &data, encoding, records, n, ws.pairs, shared.accumulators[thread],
            &ws.slots[leaf.slot])
    else:
        accumulate_in_turn(
            &data, encoding, records, n, ws.pairs, shared.accumulators[thread],
            &shared.partial[thread], &part.turn, &ws.slots[leaf.slot])


cdef void list_part(
    Batch* batch, int unit, int first_lane, int n_lanes, Py_ssize_t n_rows, int n_tasks,
) noexcept nogil:
    """List the tasks that sum some lanes of a leaf's rows."""
    cdef int part = add_part(batch, first_lane, n_lanes, n_tasks)
    cdef int i
    for i in range(n_tasks if part >= 0 else 0):
        add_task(batch, unit, part, i * n_rows // n_tasks, (i + 1) * n_rows // n_tasks)


cdef inline int rounded_up(int n, int unit) noexcept nogil:
    """The multiple of a unit that is not below n."""
    return (n + unit - 1) // unit * unit


cdef void list_sums(Batch* batch, int unit, double size) noexcept nogil:
    """List the tasks that sum a leaf's rows, of about ``size`` updates each.

    The fewer rows a task has, the fewer lanes, so that moving its sums costs little.
    """
    cdef const Siblings* siblings = &batch.siblings[unit]
    cdef const Binned* data = &siblings.ws.data
    cdef Py_ssize_t n_rows = siblings.smaller.end - siblings.smaller.begin
    cdef double n_tasks = max(n_rows * data.row_updates / size, 1.0)
    cdef double task_updates = max(n_rows * data.row_updates / n_tasks, 1.0)
    cdef int n_parts = <int>max(
        1.0, min(n_tasks, UPDATES_PER_PLACE * data.n_places / task_updates))
    cdef int n_lanes = rounded_up(rounded_up(data.n_lanes, n_parts) // n_parts, LANES_AT_ONCE)
    cdef int n_chunks
    cdef int lane = 0
    n_parts = rounded_up(data.n_lanes, max(n_lanes, 1)) // max(n_lanes, 1)
    n_parts = max(n_parts + (data.n_place_pieces > 0), 1)
    n_chunks = <int>max(1.0, min(n_tasks / n_parts + 0.5, <double>n_rows))
    if data.n_place_pieces > 0:
        list_part(batch, unit, 0, 0, n_rows, n_chunks)
    while lane < data.n_lanes:
        list_part(batch, unit, lane, min(n_lanes, data.n_lanes - lane), n_rows, n_chunks)
        lane += n_lanes


cdef bint is_to_sum(const Siblings* siblings) noexcept nogil:
    """Whether the smaller sibling has a slot that its rows are not summed in."""
    return siblings.smaller.slot >= 0 and not siblings.is_summed


cdef double updates_of(const Siblings* siblings) noexcept nogil:
    """What summing the smaller sibling takes."""
    return (siblings.smaller.end - siblings.smaller.begin) * siblings.ws.data.row_updates


cdef int sum_together(Shared* shared, Batch* batch) noexcept nogil:
    """Sum the smaller siblings of the batch that have a slot; 0 or NO_MEMORY.

    Tiles of few updates are summed as they are searched. Processes add up whole histograms.
    """
    cdef bint alone = shared.collectives == NULL
    cdef double updates = 0
    cdef double size
    cdef int i
    batch.n_parts = 0
    for i in range(batch.n_siblings):
        if is_to_sum(&batch.siblings[i]):
            updates += updates_of(&batch.siblings[i])
    size = task_work(batch, updates, MIN_WORK)
    for i in range(batch.n_siblings):
        if not is_to_sum(&batch.siblings[i]):
            continue
        updates = updates_of(&batch.siblings[i])
        if alone and batch.n_threads == 1:
            sum_rows(shared, &batch.siblings[i])
        elif not alone or updates >= size * batch.siblings[i].ws.n_tiles:
            batch.siblings[i].is_summed = True
            list_sums(batch, i, size)
    if batch.status == 0:
        run_tasks(shared, batch, size * batch.n_tasks, sum_task)
    return batch.status


# ------------------------------------------------------------------ few rows

cdef void fill_rows_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf, uint8_t* seen,
) noexcept nogil:
    """Put a leaf's few rows into the thread's histogram for them, which is empty."""
    cdef FewRows* few = &shared.few[ws.thread]
    few.n_touched = 0
    add_few_rows(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, 1, &few.histogram, seen, few.touched, &few.n_touched)


cdef void clear_rows_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf,
) noexcept nogil:
    """Take them out again: sooner than to clear all places."""
    add_few_rows(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, -1, &shared.few[ws.thread].histogram, NULL, NULL, NULL)


cdef Histogram sums_with(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """A histogram that has at least the sums of one feature.

    Without tiles, the rows of a leaf without a slot must be in the histogram for few rows.
    """
    if leaf.slot >= 0:
        return ws.slots[leaf.slot]
    if ws.n_tiles > 0:
        return sum_tile(
            shared, ws, &ws.tiles[ws.tile_of[feature]], leaf, ws.thread)
    return shared.few[ws.thread].histogram
