"""Locks of objects that are copied, pickled and used after a fork."""

from __future__ import annotations

import os
import threading


class Lock:
    """A lock that the same thread may take again.

    A copy is another lock. After a fork the child finds it free, because the thread
    that held it is not there.
    """

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._process, self._lock = os.getpid(), threading.RLock()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self._renew()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
