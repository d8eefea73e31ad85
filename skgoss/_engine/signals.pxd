"""Signals, such as Ctrl-C, while a kernel runs without the GIL.

A kernel that may run for long starts a watch, asks ``is_stopped`` between pieces of its work and
leaves out what remains then; ``end_watch`` raises what a handler of Python has raised.
"""

from libc.stdint cimport int64_t

cdef struct Watch:
    unsigned long handler     # the thread that runs Python's handlers; 0: it is not in the kernel
    int64_t next_look         # in milliseconds
    int stopped


cdef Watch start_watch() except *

cdef bint is_stopped(Watch* watch) noexcept nogil

cdef int end_watch(Watch* watch) except -1
