"""Signals, such as Ctrl-C, while a kernel runs without the GIL.

A kernel that may run for a long time starts a watch and calls ``is_stopped`` between pieces of its
work. If that is true, it skips the remaining ones; ``end_watch`` raises the exception of the
handler.
"""

from libc.stdint cimport int64_t

cdef struct Watch:
    unsigned long handler_thread  # that runs Python's handlers; 0: it is not in the kernel
    int64_t next_poll         # in milliseconds
    int stopped


cdef Watch start_watch() except *

cdef bint is_stopped(Watch* watch) noexcept nogil

cdef int end_watch(Watch* watch) except -1
