"""Work that threads share out among themselves: leaves that are divided together.

Some tasks are listed at first. Each thread takes one after the other, and the last one of a group,
such as those that decide where the rows of a leaf go, lists what follows.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.atomics cimport fetch_add, spin_lock, spin_unlock
from skgoss._engine.bits cimport bit_length
from skgoss._engine.threads cimport TaskList, run_task_list
from skgoss._engine.training.workspace cimport NO_MEMORY, Shared

# ------------------------------------------------------------------ stacks

cdef inline int piece_of(int index) noexcept nogil:
    return bit_length(index // FIRST_PIECE + 1) - 1


cdef void* item_at(const Stack* stack, int index) noexcept nogil:
    """The address of a value."""
    cdef int piece = piece_of(index)
    cdef size_t before = FIRST_PIECE * ((<size_t>1 << piece) - 1)
    return <char*>stack.pieces[piece] + (index - before) * stack.size


cdef void* grown(Stack* stack) noexcept nogil:
    """Room for one more value; NULL without memory."""
    cdef int piece = piece_of(stack.n)
    if stack.pieces[piece] == NULL:
        stack.pieces[piece] = malloc((<size_t>FIRST_PIECE << piece) * stack.size)
        if stack.pieces[piece] == NULL:
            return NULL
    stack.n += 1
    return item_at(stack, stack.n - 1)


cdef void free_tasks(Batch* batch) noexcept:
    """Free the lists of a batch."""
    cdef int i
    for i in range(PIECES):
        free(batch.tasks.pieces[i])
        free(batch.late.pieces[i])
        free(batch.lane_ranges.pieces[i])


# ------------------------------------------------------------------ lists of tasks

cdef void start_list(Shared* shared, Batch* batch) noexcept nogil:
    """Begin an empty list."""
    batch.shared = shared
    batch.list.run = run_listed
    batch.list.name = name_of_listed
    batch.list.n_ready = batch.list.n_begun = 0
    batch.list.n_late = batch.list.n_late_begun = 0
    batch.list.n_open = 0
    batch.tasks.size = batch.late.size = sizeof(Task)
    batch.lane_ranges.size = sizeof(LaneRange)
    batch.tasks.n = batch.late.n = batch.lane_ranges.n = 0


cdef void begin_adding(Batch* batch) noexcept nogil:
    """Let no other thread add tasks for the moment."""
    spin_lock(&batch.lock)


cdef void end_adding(Batch* batch) noexcept nogil:
    """Let threads take the tasks that were added."""
    cdef TaskList* listed = &batch.list
    fetch_add(&listed.n_open, batch.tasks.n - listed.n_ready + batch.late.n - listed.n_late)
    fetch_add(&listed.n_late, batch.late.n - listed.n_late)
    fetch_add(&listed.n_ready, batch.tasks.n - listed.n_ready)
    spin_unlock(&batch.lock)


cdef Task* filled(
    Batch* batch, void* room, TaskBody body, int index, int kind, Py_ssize_t first,
    Py_ssize_t end,
) noexcept nogil:
    cdef Task* task = <Task*>room
    if task == NULL:
        batch.status = NO_MEMORY
        return NULL
    task.body, task.follow, task.n_open = body, NULL, NULL
    task.index, task.kind = index, kind
    task.first, task.end = first, end
    return task


cdef Task* add_task(
    Batch* batch, TaskBody body, int index, int kind, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil:
    """Add a task to the list; without memory the batch has failed."""
    return filled(batch, grown(&batch.tasks), body, index, kind, first, end)


cdef Task* add_late(Batch* batch, TaskBody body, int index) noexcept nogil:
    """Add a task that begins only where no other is ready."""
    return filled(batch, grown(&batch.late), body, index, 0, 0, 0)


cdef void let_follow(Batch* batch, int first, int64_t* n_open, TaskBody follow) noexcept nogil:
    """Let something follow when all tasks have ended that were added from ``first`` on."""
    cdef Task* task
    cdef int i
    n_open[0] = batch.tasks.n - first
    for i in range(first, batch.tasks.n):
        task = <Task*>item_at(&batch.tasks, i)
        task.follow, task.n_open = follow, n_open


cdef int add_lane_range(Batch* batch, int first_lane, int n_lanes, int n_tasks) noexcept nogil:
    """Add lanes that several tasks sum; their number, or -1 without memory."""
    cdef LaneRange* lanes = <LaneRange*>grown(&batch.lane_ranges)
    if lanes == NULL:
        batch.status = NO_MEMORY
        return -1
    lanes.first_lane = first_lane
    lanes.n_lanes = n_lanes
    lanes.n_tasks = n_tasks
    memset(lanes.turns, 0, sizeof(lanes.turns))
    return batch.lane_ranges.n - 1


cdef double task_work(const Batch* batch, double work, double least) noexcept nogil:
    """Of some work, what one task should have; one thread takes all at once."""
    if batch.n_threads == 1:
        return max(work, 1.0)
    return max(work / (batch.n_threads * TASKS_PER_THREAD), least)


# ------------------------------------------------------------------ running them

cdef int run_listed(
    TaskList* listed, Py_ssize_t number, bint is_late, int thread,
) noexcept nogil:
    """Run a task, and list those that follow; returns which division or siblings it is of."""
    cdef Batch* batch = <Batch*>listed
    cdef Task* task = <Task*>item_at(&batch.late if is_late else &batch.tasks, <int>number)
    cdef int group = task.index
    thread += batch.first_thread
    task.body(batch.shared, batch, task, thread)
    if task.follow == NULL:
        return -1
    if task.n_open != &batch.divisions[task.index].n_open:
        group += batch.max_divisions
    if fetch_add(task.n_open, -1) == 1:
        task.follow(batch.shared, batch, task, thread)
    return group


cdef void* name_of_listed(
    const TaskList* listed, Py_ssize_t number, bint is_late,
) noexcept nogil:
    cdef const Batch* batch = <const Batch*>listed
    cdef const Task* task = <Task*>item_at(&batch.late if is_late else &batch.tasks, <int>number)
    return <void*>task.body


cdef void run_tasks(Batch* batch, double work) noexcept nogil:
    """Run all tasks of the list, and those that follow; ``work``: about the updates and visits."""
    cdef int n_threads = <int>min(
        <double>batch.n_threads, max(work / MIN_WORK_PER_THREAD, 1.0))
    run_task_list(&batch.list, n_threads)
    start_list(batch.shared, batch)
