"""Loops on several threads.

The body of a loop is a function ``..._body``, which gets a pointer to a struct, its context. The
struct is named ``...Loop`` and holds all that the body reads and writes:

    cdef struct CopyLoop:
        const double* source
        double* target

    cdef void copy_body(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
        cdef CopyLoop* loop = <CopyLoop*>context
        for i in range(begin, end):
            loop.target[i] = loop.source[i]

    parallel_for(copy_body, &loop, n, block, n_threads)
"""

from libc.stdint cimport int64_t

cdef extern from "task_list.h" nogil:
    ctypedef struct TaskList:
        int (*run)(TaskList* list, Py_ssize_t number, bint is_deferred, int thread) noexcept nogil
        void* (*name)(const TaskList* list, Py_ssize_t number, bint is_deferred) noexcept nogil
        int64_t n_ready
        int64_t n_begun
        int64_t n_deferred
        int64_t n_deferred_begun
        int64_t n_open

cdef enum:
    # Up to this number of values, which take a few microseconds, one thread computes all.
    FEW_VALUES = 1000

# Runs the iterations from `begin` to `end`, a block. `thread` is below the number of threads of the
# loop, and no two blocks that run at the same time have the same: it is the index of a thread's
# memory.
ctypedef void (*LoopBody)(
    void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil


cdef void parallel_for(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
) noexcept nogil

cdef void parallel_shares(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
) noexcept nogil

cdef void run_task_list(TaskList* tasks, int n_threads) noexcept nogil

cdef void run_shares(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
    Py_ssize_t n_values,
) noexcept
