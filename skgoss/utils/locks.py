"""Locks of objects that are copied, pickled and used after a fork."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

from skgoss._engine.locks import CertainEnd, OnlyUser, ReentrantLock, assign

__all__ = ["CertainEnd", "Lock", "OnlyUser", "assign", "cached_property"]

T = TypeVar("T")

# The locks of this process, which a forked child frees.
_LOCKS: WeakSet[Lock] = WeakSet()


class Lock(ReentrantLock):
    """A lock that the same thread may take again.

    A copy is another lock. After a fork the child finds it free, because the thread
    that held it is not there.
    """

    def __init__(self) -> None:
        super().__init__()
        _LOCKS.add(self)

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


def _renew() -> None:
    """Free all locks, in a child that has no other thread yet."""
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class cached_property(Generic[T]):
    """A property that is computed once for each instance, and without a lock.

    In Python 3.11, `functools.cached_property` has one lock for all instances: fits in
    several threads wait for each other, and a child that is forked meanwhile inherits
    the lock as taken. Threads that ask at the same time may each compute the value.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = self._compute(instance)
        return vars(instance).setdefault(self._name, value)
