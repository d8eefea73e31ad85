"""Loops on several threads."""

from libc.stdint cimport int64_t

cdef extern from "task_list.h" nogil:
    ctypedef struct TaskList:
        int (*run)(TaskList* list, Py_ssize_t number, bint is_late, int thread) noexcept nogil
        void* (*name)(const TaskList* list, Py_ssize_t number, bint is_late) noexcept nogil
        int64_t n_ready
        int64_t n_begun
        int64_t n_late
        int64_t n_late_begun
        int64_t n_open

cdef enum:
    # Numbers that are computed in a few microseconds.
    FEW_VALUES = 1000

# The iterations of one block, from `begin` to `end`. `thread` is below the number of threads of the
# loop, and no two blocks that run at the same time have it: memory of a thread is found by it.
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
