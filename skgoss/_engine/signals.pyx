"""Signals, such as Ctrl-C, while a kernel runs without the GIL."""

import threading

cdef extern from "Python.h" nogil:
    # The exception of a handler remains set: `end_watch` raises it.
    int PyErr_CheckSignals() noexcept
    unsigned long PyThread_get_thread_ident()

cdef extern from "signals.h" nogil:
    int64_t milliseconds()
    int read_flag(const int* flag)
    void set_flag(int* flag)

cdef enum:
    # A kernel that ends before the first poll never takes the GIL.
    POLL_INTERVAL_MS = 50


cdef Watch start_watch() except *:
    """Start to watch for signals, in the main thread: only there does Python run handlers."""
    cdef Watch watch
    watch.handler_thread = PyThread_get_thread_ident()
    if threading.main_thread().ident != watch.handler_thread:
        watch.handler_thread = 0
    watch.next_poll = milliseconds() + POLL_INTERVAL_MS
    watch.stopped = False
    return watch


cdef bint has_raised() noexcept with gil:
    """Run the handlers of signals; returns whether one has raised an exception."""
    return PyErr_CheckSignals() != 0


cdef bint is_stopped(Watch* watch) noexcept nogil:
    """Whether a handler has raised an exception; for any thread of a team."""
    if read_flag(&watch.stopped):
        return True
    if PyThread_get_thread_ident() != watch.handler_thread or milliseconds() < watch.next_poll:
        return False
    if has_raised():
        set_flag(&watch.stopped)
        return True
    watch.next_poll = milliseconds() + POLL_INTERVAL_MS
    return False


cdef int end_watch(Watch* watch) except -1:
    """Raise the exception of a handler, if there is one."""
    return -1 if watch.stopped else 0
