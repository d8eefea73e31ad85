"""Work that threads share out among themselves: leaves that are divided together.

What is to be done is listed first: tasks that depend on none of the same list. Then each thread
takes one after the other.
"""

from libc.stdlib cimport realloc

from skgoss._engine.threads cimport parallel_for
from skgoss._engine.training.workspace cimport NO_MEMORY, Shared


cdef void* grown(void* values, int n, int* room, size_t size) noexcept nogil:
    """Memory for one more than ``n`` values; NULL if there is none."""
    cdef void* larger
    if n < room[0]:
        return values
    larger = realloc(values, (2 * n + 64) * size)
    if larger != NULL:
        room[0] = 2 * n + 64
    return larger


cdef void add_task(
    Batch* batch, int index, int kind, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil:
    """Add a task to the list; without memory the batch has failed."""
    cdef void* tasks = grown(batch.tasks, batch.n_tasks, &batch.task_room, sizeof(Task))
    cdef Task* task
    if tasks == NULL:
        batch.status = NO_MEMORY
        return
    batch.tasks = <Task*>tasks
    task = &batch.tasks[batch.n_tasks]
    task.index = index
    task.kind = kind
    task.first = first
    task.end = end
    batch.n_tasks += 1


cdef int add_lane_range(Batch* batch, int first_lane, int n_lanes, int n_tasks) noexcept nogil:
    """Add lanes that several tasks sum; their number, or -1 without memory."""
    cdef void* ranges = grown(
        batch.lane_ranges, batch.n_lane_ranges, &batch.lane_range_room, sizeof(LaneRange))
    cdef LaneRange* lanes
    if ranges == NULL:
        batch.status = NO_MEMORY
        return -1
    batch.lane_ranges = <LaneRange*>ranges
    lanes = &batch.lane_ranges[batch.n_lane_ranges]
    lanes.first_lane = first_lane
    lanes.n_lanes = n_lanes
    lanes.n_tasks = n_tasks
    lanes.turn.lock = 0
    lanes.turn.is_begun = False
    batch.n_lane_ranges += 1
    return batch.n_lane_ranges - 1


cdef double task_work(const Batch* batch, double work, double least) noexcept nogil:
    """Of some work, what one task should have; one thread takes all at once."""
    if batch.n_threads == 1:
        return max(work, 1.0)
    return max(work / (batch.n_threads * TASKS_PER_THREAD), least)


cdef struct TaskLoop:
    TaskBody body
    Shared* shared
    Batch* batch


cdef void run_task(void* context, Py_ssize_t at, Py_ssize_t end, int thread) noexcept nogil:
    cdef TaskLoop* loop = <TaskLoop*>context
    cdef Batch* batch = loop.batch
    loop.body(loop.shared, batch, &batch.tasks[at], batch.first_thread + thread)


cdef void run_tasks(
    Shared* shared, Batch* batch, double work, TaskBody body,
) noexcept nogil:
    """Run all tasks of the list, and empty it; ``work``: the updates and visits of all."""
    cdef TaskLoop loop = TaskLoop(body, shared, batch)
    cdef int n_threads = <int>min(
        <double>batch.n_threads, max(work / MIN_WORK_PER_THREAD, 1.0))
    parallel_for(run_task, &loop, batch.n_tasks, 1, n_threads)
    batch.n_tasks = 0
