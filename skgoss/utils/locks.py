"""Locks of objects that are copied, pickled and used after a fork."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

# The locks of this process, which a forked child makes anew.
_LOCKS: WeakSet[Lock] = WeakSet()


class Lock:
    """A lock that the same thread may take again.

    A copy is another lock. After a fork the child finds it free, because the thread
    that held it is not there.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


def _renew() -> None:
    """Free all locks, in a child that has no other thread yet."""
    for lock in list(_LOCKS):
        lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
