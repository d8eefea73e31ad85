"""Loops on several threads: the pool that all kernels share.

A loop over n iterations is a call of `parallel_for` or `parallel_shares`, with a function for its
body and a pointer to the struct that the body reads and writes: see ``threads.pxd``. The body is
called once for each block of iterations. Blocks do not depend on the number of threads; the last
one may be shorter. A loop within a loop's body is run by the thread of the body.
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
    """Run a loop of n iterations: a free thread runs the next block.

    ``body``, ``context``: see ``threads.pxd``. ``block``: iterations of a block. ``n_threads``: at
    most.
    """
    cdef Loop loop = Loop(body, context, n, block, n_threads, False)
    run_loop(&loop)


cdef void parallel_shares(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
) noexcept nogil:
    """Run a loop of short blocks: each thread gets consecutive blocks, the same in the next loop.

    So values that a thread has written are in its cache when it reads them.
    """
    cdef Loop loop = Loop(body, context, n, block, n_threads, True)
    run_loop(&loop)


cdef void run_task_list(TaskList* tasks, int n_threads) noexcept nogil:
    """Run tasks, and those that they add: a free thread runs the next one.

    If none is ready, a thread waits for those that the running tasks will add.
    """
    run_list(tasks, n_threads)


cdef void run_shares(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
    Py_ssize_t n_values,
) noexcept:
    """`parallel_shares` of a loop that computes ``n_values`` values, for a caller with the GIL.

    The GIL is released unless these are few: acquiring it again may take longer.
    """
    if n_values <= FEW_VALUES:
        parallel_shares(body, context, n, block, 1)
        return
    with nogil:
        parallel_shares(body, context, n, block, n_threads)


def limit() -> int:
    """The maximum number of threads that `set_limit` allows for this thread; 0: no limit."""
    return pool_limit()


def set_limit(int n) -> None:
    """Limit the number of threads of the loops that this thread runs; 0: no limit."""
    limit_pool(n)


def set_runner(uintptr_t loop_address, uintptr_t task_address) -> None:
    """Run all loops by the functions at these addresses: see ``benchmarks/many_cores.c``."""
    global runner, task_runner
    runner = <Runner>loop_address
    task_runner = <TaskRunner>task_address


# ------------------------------------------------------------------ loops for tests

# Only a compiled module can run a loop, so these functions are here and not with the tests.
cdef struct TraceLoop:
    int32_t* visits           # of each iteration: how often it was run
    int32_t* thread           # of each iteration: the last thread that ran it


cdef void trace_body(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    """Count the iterations of a block as run."""
    cdef TraceLoop* loop = <TraceLoop*>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        loop.visits[i] += 1
        loop.thread[i] = thread


cdef struct NestLoop:
    int32_t* visits
    Py_ssize_t n
    int n_threads


cdef void nest_body(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    """Run an empty loop of n iterations within iteration ``begin`` of another loop."""
    cdef NestLoop* loop = <NestLoop*>context
    cdef int32_t* visits = loop.visits + 2 * begin * loop.n
    cdef TraceLoop trace = TraceLoop(visits, visits + loop.n)
    parallel_for(trace_body, &trace, loop.n, 1, loop.n_threads)


def traced(Py_ssize_t n, Py_ssize_t block, int n_threads, bint in_shares) -> NDArray[np.int32]:
    """Run an empty loop.

    Returns (2, n): how often each iteration was run, and the last thread that ran it.
    """
    trace = np.zeros((2, n + 1), dtype=np.int32)
    cdef int32_t[:, ::1] out = trace
    cdef TraceLoop loop = TraceLoop(&out[0, 0], &out[1, 0])
    with nogil:
        if in_shares:
            parallel_shares(trace_body, &loop, n, block, n_threads)
        else:
            parallel_for(trace_body, &loop, n, block, n_threads)
    return trace[:, :n]


def traced_inside(Py_ssize_t n, int n_threads) -> NDArray[np.int32]:
    """Run an empty loop in each iteration of a loop; returns the result of `traced` for each."""
    trace = np.zeros((n, 2, n), dtype=np.int32)
    cdef int32_t[:, :, ::1] out = trace
    cdef NestLoop loop = NestLoop(&out[0, 0, 0], n, n_threads)
    with nogil:
        parallel_for(nest_body, &loop, n, 1, n_threads)
    return trace


cdef struct TaskTrace:
    TaskList tasks
    int64_t lock
    TraceLoop trace
    Py_ssize_t n


cdef int trace_task(
    TaskList* tasks, Py_ssize_t number, bint is_deferred, int thread,
) noexcept nogil:
    """Trace a task, and add up to two other tasks."""
    cdef TaskTrace* traced = <TaskTrace*>tasks
    cdef Py_ssize_t i = number + (traced.n if is_deferred else 0)
    cdef int64_t n_added
    trace_body(&traced.trace, i, i + 1, thread)
    if not is_deferred:
        spin_lock(&traced.lock)
        n_added = min(<int64_t>2, traced.n - tasks.n_ready)
        fetch_add(&tasks.n_open, n_added)
        fetch_add(&tasks.n_ready, n_added)
        spin_unlock(&traced.lock)
    return -1


def traced_tasks(Py_ssize_t n, Py_ssize_t n_deferred, int n_threads) -> NDArray[np.int32]:
    """Run n empty tasks, which add one another, and ``n_deferred`` deferred ones.

    Returns the result of `traced`, with the deferred ones last.
    """
    trace = np.zeros((2, n + n_deferred + 1), dtype=np.int32)
    cdef int32_t[:, ::1] out = trace
    cdef TaskTrace context
    memset(&context, 0, sizeof(TaskTrace))
    context.trace, context.n = TraceLoop(&out[0, 0], &out[1, 0]), n
    context.tasks.run = trace_task
    context.tasks.n_ready, context.tasks.n_deferred = min(n, 1), n_deferred
    context.tasks.n_open = context.tasks.n_ready + n_deferred
    with nogil:
        run_task_list(&context.tasks, n_threads)
    return trace[:, :n + n_deferred]
