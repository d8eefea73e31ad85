"""Locks that an interrupt cannot leave taken, and assignments that it cannot leave half done.

Python handles signals between two instructions of a function in Python, its first one included. A
`with` body begins and ends with calls of these methods, which are not in Python: no signal is
handled between taking a lock and the body, or between the body and the release.
"""

from _thread import RLock, allocate_lock


cdef class ReentrantLock:
    """A lock that the same thread may take again."""

    cdef object _lock

    def __init__(self):
        self.renew()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *error):
        self._lock.release()

    def renew(self):
        """Free the lock; only in a process where no thread holds it."""
        self._lock = RLock()


cdef class NonBlockingLock:
    """A lock that raises RuntimeError with a message instead of waiting."""

    cdef object _lock, _message

    def __init__(self, str message):
        self._lock, self._message = allocate_lock(), message

    def __enter__(self):
        if not self._lock.acquire(False):
            raise RuntimeError(self._message)

    def __exit__(self, *error):
        self._lock.release()


cdef class OnlyUser:
    """Registers the only user of a key while a `with` body runs.

    RuntimeError with a message if the key has a user already.
    """

    cdef dict _users
    cdef object _key, _message

    def __init__(self, dict users, key: int, str message):
        self._users, self._key, self._message = users, key, message

    def __enter__(self):
        # One atomic step: several threads may enter at the same time.
        if self._users.setdefault(self._key, self) is not self:
            raise RuntimeError(self._message)

    def __exit__(self, *error):
        del self._users[self._key]


cdef class CertainEnd:
    """A context manager whose end an interrupt cannot skip.

    Subclasses define ``_begin``, which undoes its changes if it fails, and ``_end``, which is
    called with the exception of the `with` body, and called again if it is interrupted itself.
    """

    def __enter__(self):
        self._begin()
        return self

    def __exit__(self, *error):
        interrupt = None
        while True:
            try:
                self._end(*error)
                break
            except KeyboardInterrupt as repeated:
                interrupt = repeated
        if interrupt is not None:
            raise interrupt


def assign(changes):
    """Set attributes; an interrupt comes before all or after all.

    ``changes``: tuples of an object, the name of an attribute, and its value.
    """
    for owner, name, value in changes:
        setattr(owner, name, value)
