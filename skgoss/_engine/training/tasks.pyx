"""Tasks that the threads of a team divide among themselves, to divide leaves in batches.

A list begins with the first tasks of each leaf. Each thread takes one task after the other, and the
last one of a group, such as those that decide where the rows of a leaf go, adds the tasks that
depend on the group.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.atomics cimport fetch_add, spin_lock, spin_unlock
from skgoss._engine.bits cimport bit_length
from skgoss._engine.threads cimport TaskList, run_task_list
from skgoss._engine.training.workspace cimport NO_MEMORY, Shared

# ------------------------------------------------------------------ stacks

cdef inline int segment_of(int index) noexcept nogil:
    """The segment that holds value number ``index`` of a stack.

    Segment s has FIRST_SEGMENT * 2**s values.
    """
    return bit_length(index // FIRST_SEGMENT + 1) - 1


cdef void* item_at(const Stack* stack, int index) noexcept nogil:
    """The address of value number ``index``, which never moves."""
    cdef int segment = segment_of(index)
    cdef size_t n_previous = FIRST_SEGMENT * ((<size_t>1 << segment) - 1)
    return <char*>stack.segments[segment] + (index - n_previous) * stack.size


cdef void* push(Stack* stack) noexcept nogil:
    """The address of a new value at the end; NULL without memory."""
    cdef int segment = segment_of(stack.n)
    if stack.segments[segment] == NULL:
        stack.segments[segment] = malloc((<size_t>FIRST_SEGMENT << segment) * stack.size)
        if stack.segments[segment] == NULL:
            return NULL
    stack.n += 1
    return item_at(stack, stack.n - 1)


cdef void free_tasks(Batch* batch) noexcept:
    """Free the lists of a batch."""
    cdef int i
    for i in range(N_SEGMENTS):
        free(batch.tasks.segments[i])
        free(batch.deferred.segments[i])
        free(batch.lane_ranges.segments[i])


# ------------------------------------------------------------------ lists of tasks

cdef void start_list(Shared* shared, Batch* batch) noexcept nogil:
    """Begin an empty list.

    The tasks of earlier lists are dropped; the memory is used again.
    """
    batch.shared = shared
    batch.list.run = run_task
    batch.list.name = task_name
    batch.list.n_ready = batch.list.n_begun = 0
    batch.list.n_deferred = batch.list.n_deferred_begun = 0
    batch.list.n_open = 0
    batch.tasks.size = batch.deferred.size = sizeof(Task)
    batch.lane_ranges.size = sizeof(LaneRange)
    batch.tasks.n = batch.deferred.n = batch.lane_ranges.n = 0


cdef void lock_tasks(Batch* batch) noexcept nogil:
    """Lock the lists of tasks, to add some."""
    spin_lock(&batch.lock)


cdef void publish_tasks(Batch* batch) noexcept nogil:
    """Make the tasks that were added available to all threads, and unlock the lists.

    ``n_open`` rises before tasks are visible, so that no thread takes the list for finished.
    """
    cdef TaskList* listed = &batch.list
    fetch_add(&listed.n_open, batch.tasks.n - listed.n_ready + batch.deferred.n - listed.n_deferred)
    fetch_add(&listed.n_deferred, batch.deferred.n - listed.n_deferred)
    fetch_add(&listed.n_ready, batch.tasks.n - listed.n_ready)
    spin_unlock(&batch.lock)


cdef Task* fill_task(
    Batch* batch, void* slot, TaskBody body, int index, int kind, Py_ssize_t first,
    Py_ssize_t end,
) noexcept nogil:
    """Fill in a task at an address; NULL: the batch has failed for lack of memory.

    The other arguments are fields of `Task`; it has no continuation yet.
    """
    cdef Task* task = <Task*>slot
    if task == NULL:
        batch.status = NO_MEMORY
        return NULL
    task.body, task.continuation, task.n_open = body, NULL, NULL
    task.index, task.kind = index, kind
    task.first, task.end = first, end
    return task


cdef Task* add_task(
    Batch* batch, TaskBody body, int index, int kind, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil:
    """Add a task for the rows or features ``first:end``; NULL without memory: see `fill_task`."""
    return fill_task(batch, push(&batch.tasks), body, index, kind, first, end)


cdef Task* add_deferred(Batch* batch, TaskBody body, int index) noexcept nogil:
    """Add a task that begins only if no other is ready."""
    return fill_task(batch, push(&batch.deferred), body, index, 0, 0, 0)


cdef void set_continuation(
    Batch* batch, int first, int64_t* n_open, TaskBody continuation,
) noexcept nogil:
    """Make a group of all tasks from number ``first`` on: the last to end calls ``continuation``.

    ``n_open`` counts the tasks of the group that have not ended.
    """
    cdef Task* task
    cdef int i
    n_open[0] = batch.tasks.n - first
    for i in range(first, batch.tasks.n):
        task = <Task*>item_at(&batch.tasks, i)
        task.continuation, task.n_open = continuation, n_open


cdef int add_lane_range(Batch* batch, int first_lane, int n_lanes, int n_tasks) noexcept nogil:
    """Add a lane range that several tasks sum; returns its number, or -1 without memory.

    The arguments are fields of `LaneRange`.
    """
    cdef LaneRange* lanes = <LaneRange*>push(&batch.lane_ranges)
    if lanes == NULL:
        batch.status = NO_MEMORY
        return -1
    lanes.first_lane = first_lane
    lanes.n_lanes = n_lanes
    lanes.n_tasks = n_tasks
    memset(lanes.turns, 0, sizeof(lanes.turns))
    return batch.lane_ranges.n - 1


cdef double task_work(const Batch* batch, double work, double min_work) noexcept nogil:
    """The work of one task if tasks divide some work evenly; a single thread gets one task.

    ``work``, ``min_work``: of all tasks, and the least of one, in the same unit: updates or visits
    of bins.
    """
    if batch.n_threads == 1:
        return max(work, 1.0)
    return max(work / (batch.n_threads * TASKS_PER_THREAD), min_work)


# ------------------------------------------------------------------ running tasks

cdef int run_task(
    TaskList* listed, Py_ssize_t index, bint is_deferred, int thread,
) noexcept nogil:
    """Run a task, and perhaps the continuation of its group.

    ``index``: of the task in its stack, the deferred ones or the others. ``thread``: in the team.
    Returns a number of the group, those of divisions first and then those of siblings; -1: none.
    """
    cdef Batch* batch = <Batch*>listed
    cdef Task* task = <Task*>item_at(&batch.deferred if is_deferred else &batch.tasks, <int>index)
    cdef int group = task.index
    thread += batch.first_thread
    task.body(batch.shared, batch, task, thread)
    if task.continuation == NULL:
        return -1
    if task.n_open != &batch.divisions[task.index].n_open:
        group += batch.max_divisions
    if fetch_add(task.n_open, -1) == 1:
        task.continuation(batch.shared, batch, task, thread)
    return group


cdef void* task_name(
    const TaskList* listed, Py_ssize_t index, bint is_deferred,
) noexcept nogil:
    """The address of the function that a task runs: measurements tell kinds of tasks by it.

    The list must be that of a `Batch`, of which it is the first field.
    """
    cdef const Batch* batch = <const Batch*>listed
    cdef const Stack* tasks = &batch.deferred if is_deferred else &batch.tasks
    cdef const Task* task = <Task*>item_at(tasks, <int>index)
    return <void*>task.body


cdef void run_tasks(Batch* batch, double work) noexcept nogil:
    """Run all tasks of the list, and those that they add.

    ``work``: about how many updates and visits of bins all of them have.
    """
    cdef int n_threads = <int>min(
        <double>batch.n_threads, max(work / MIN_WORK_PER_THREAD, 1.0))
    run_task_list(&batch.list, n_threads)
    start_list(batch.shared, batch)
