"""Scopes of work: who is in which, and what ends with what."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from skgoss.utils.cancellation import CURRENT_SCOPE, Cancelled, CancelScope


def test_inner_scopes_end_with_outer_ones_only():
    outer = CancelScope()
    with outer.entered():
        inner = CancelScope()
        with inner.entered():
            innermost = CancelScope()
            assert CURRENT_SCOPE.get() is inner
        assert CURRENT_SCOPE.get() is outer
    assert CURRENT_SCOPE.get() is None
    scopes = outer, inner, innermost
    for scope in scopes:
        scope.check()
    inner.cancel()
    assert [scope.is_cancelled for scope in scopes] == [False, True, True]
    outer.check()
    with pytest.raises(Cancelled):
        innermost.check()
    outer.cancel()
    assert all(scope.is_cancelled for scope in scopes)


def test_a_scope_asks_whether_it_is_over():
    pressed = threading.Event()
    scope = CancelScope(pressed.is_set)
    with scope.entered():
        inner = CancelScope()
    inner.check()
    pressed.set()
    assert scope.is_cancelled
    with pytest.raises(KeyboardInterrupt):
        inner.check()
    pressed.clear()
    inner.check()


def test_an_error_leaves_a_scope():
    scope = CancelScope()
    with pytest.raises(ZeroDivisionError), scope.entered():
        raise ZeroDivisionError
    assert CURRENT_SCOPE.get() is None


def test_threads_are_in_the_scope_that_adopted_them():
    scope, go_on = CancelScope(), threading.Event()

    def work():
        go_on.wait(20)
        return CURRENT_SCOPE.get(), CancelScope().is_cancelled

    pool = ThreadPoolExecutor(2, initializer=scope.adopt_thread)
    pending = [pool.submit(work) for _ in range(2)]
    pool.shutdown(wait=False)
    assert not any(future.done() for future in pending)
    scope.cancel()
    go_on.set()
    scope.join()
    assert [future.result(0) for future in pending] == [(scope, True)] * 2
    assert CURRENT_SCOPE.get() is None
    with ThreadPoolExecutor(1) as other:
        assert other.submit(work).result() == (None, False)
