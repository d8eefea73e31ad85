"""A counter and a lock for threads that share out work among themselves."""

from libc.stdint cimport int64_t

cdef extern from "atomics.h" nogil:
    int64_t fetch_increment(int64_t* next)
    void spin_lock(int64_t* lock)
    void spin_unlock(int64_t* lock)
