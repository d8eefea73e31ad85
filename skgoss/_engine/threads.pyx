"""Loops on several threads: the pool that all kernels share.

A loop over n iterations is a call of `parallel_for` or `parallel_shares`, with a function for its
body and a pointer to what that reads and writes. The body is called for blocks of iterations, each
once, the last one maybe shorter: they do not depend on the number of threads. Nothing of a loop
within a loop runs on further threads.
"""

from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.string cimport memset

from skgoss._engine.atomics cimport fetch_add, spin_lock, spin_unlock

import numpy as np

cdef extern from "pool.h" nogil:
    ctypedef struct Loop:
        LoopBody body
        void* context
        Py_ssize_t n
        Py_ssize_t block
        int n_threads
        bint in_shares
    ctypedef void (*Runner)(const Loop*) noexcept nogil
    ctypedef void (*TaskRunner)(TaskList*, int) noexcept nogil
    Runner runner
    TaskRunner task_runner
    void init_pool()
    void run_loop(const Loop* loop)
    void run_list "run_task_list"(TaskList* tasks, int n_threads)
    int pool_limit "skgoss_pool_limit"() noexcept
    void limit_pool "skgoss_limit_pool"(int n) noexcept

init_pool()


cdef void parallel_for(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
) noexcept nogil:
    """Run a loop of n iterations: a thread that is free takes the next block."""
    cdef Loop loop = Loop(body, context, n, block, n_threads, False)
    run_loop(&loop)


cdef void parallel_shares(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
) noexcept nogil:
    """Run a loop of short blocks: each thread gets a run of them, the same ones the next time.

    So what it wrote is in its cache when it reads it.
    """
    cdef Loop loop = Loop(body, context, n, block, n_threads, True)
    run_loop(&loop)


cdef void run_task_list(TaskList* tasks, int n_threads) noexcept nogil:
    """Run tasks, and those that they add: a thread that is free takes the next one.

    A thread that finds none ready waits for what those that are being run will add.
    """
    run_list(tasks, n_threads)


cdef void run_shares(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
    Py_ssize_t n_values,
) noexcept:
    """`parallel_shares` of a loop that computes ``n_values`` values, for a caller with the GIL.

    It is released unless these are few: to get it back may take longer than they do.
    """
    if n_values <= FEW_VALUES:
        parallel_shares(body, context, n, block, 1)
        return
    with nogil:
        parallel_shares(body, context, n, block, n_threads)


def limit() -> int:
    """How many threads `set_limit` allows this thread; 0: any number."""
    return pool_limit()


def set_limit(int n) -> None:
    """Limit the threads of what this thread runs by itself; 0: no limit."""
    limit_pool(n)


def set_runner(uintptr_t of_loops, uintptr_t of_tasks) -> None:
    """Let functions at these addresses run all loops: see ``benchmarks/many_cores.c``."""
    global runner, task_runner
    runner = <Runner>of_loops
    task_runner = <TaskRunner>of_tasks


# ------------------------------------------------------------------ loops that tests watch

# Only a module that is compiled can run a loop, so these stand here and not with the tests.
cdef struct Trace:
    int32_t* visits
    int32_t* thread


cdef void trace_block(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    cdef Trace* trace = <Trace*>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        trace.visits[i] += 1
        trace.thread[i] = thread


cdef struct Nest:
    int32_t* visits
    Py_ssize_t n
    int n_threads


cdef void trace_inside(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    cdef Nest* nest = <Nest*>context
    cdef int32_t* visits = nest.visits + 2 * begin * nest.n
    cdef Trace trace = Trace(visits, visits + nest.n)
    parallel_for(trace_block, &trace, nest.n, 1, nest.n_threads)


def traced(Py_ssize_t n, Py_ssize_t block, int n_threads, bint in_shares) -> NDArray[np.int32]:
    """Run an empty loop.

    Returns (2, n): how often each iteration was run, and the last thread that did.
    """
    trace = np.zeros((2, n + 1), dtype=np.int32)
    cdef int32_t[:, ::1] out = trace
    cdef Trace context = Trace(&out[0, 0], &out[1, 0])
    with nogil:
        if in_shares:
            parallel_shares(trace_block, &context, n, block, n_threads)
        else:
            parallel_for(trace_block, &context, n, block, n_threads)
    return trace[:, :n]


def traced_inside(Py_ssize_t n, int n_threads) -> NDArray[np.int32]:
    """Run an empty loop in each iteration of a loop; returns what `traced` does of each."""
    trace = np.zeros((n, 2, n), dtype=np.int32)
    cdef int32_t[:, :, ::1] out = trace
    cdef Nest context = Nest(&out[0, 0, 0], n, n_threads)
    with nogil:
        parallel_for(trace_inside, &context, n, 1, n_threads)
    return trace


cdef struct TaskTrace:
    TaskList tasks
    int64_t lock
    Trace trace
    Py_ssize_t n


cdef int trace_task(
    TaskList* tasks, Py_ssize_t number, bint is_late, int thread,
) noexcept nogil:
    """Add up to two other tasks."""
    cdef TaskTrace* all = <TaskTrace*>tasks
    cdef int64_t n_added
    trace_block(&all.trace, number + is_late * all.n, number + is_late * all.n + 1, thread)
    if not is_late:
        spin_lock(&all.lock)
        n_added = min(<int64_t>2, all.n - tasks.n_ready)
        fetch_add(&tasks.n_open, n_added)
        fetch_add(&tasks.n_ready, n_added)
        spin_unlock(&all.lock)
    return -1


def traced_tasks(Py_ssize_t n, Py_ssize_t n_late, int n_threads) -> NDArray[np.int32]:
    """Run n empty tasks, the first of which adds the others, and late ones.

    Returns what `traced` does, the late ones last.
    """
    trace = np.zeros((2, n + n_late + 1), dtype=np.int32)
    cdef int32_t[:, ::1] out = trace
    cdef TaskTrace context
    memset(&context, 0, sizeof(TaskTrace))
    context.trace, context.n = Trace(&out[0, 0], &out[1, 0]), n
    context.tasks.run = trace_task
    context.tasks.n_ready, context.tasks.n_late = min(n, 1), n_late
    context.tasks.n_open = context.tasks.n_ready + n_late
    with nogil:
        run_task_list(&context.tasks, n_threads)
    return trace[:, :n + n_late]
