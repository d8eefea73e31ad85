"""Counts and locks that threads share."""

from libc.stdint cimport int64_t

cdef extern from "atomics.h" nogil:
    int64_t fetch_add(int64_t* count, int64_t n)
    void spin_lock(int64_t* lock)
    void spin_unlock(int64_t* lock)
