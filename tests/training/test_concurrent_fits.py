"""Fits that advance together: their threads, their errors, and Ctrl-C."""

import signal
import threading

import pytest

from skgoss.columns.row_partition import RowPartition
from skgoss.training import concurrent_fits


def test_threads_are_shared_without_too_many():
    for n_fits in range(1, 12):
        for n_threads in range(1, 40):
            n_at_once, each = concurrent_fits.at_once(n_fits, n_threads)
            assert 1 <= n_at_once <= n_fits
            assert n_at_once * each <= n_threads
    assert concurrent_fits.at_once(5, 2) == (2, 1)
    assert concurrent_fits.at_once(5, 8) == (4, 2)
    assert concurrent_fits.at_once(5, 1) == (1, 1)


class Bad:
    """A state of a fit that fails in one of its rounds."""

    first_round = 0
    partition = RowPartition.alone(1)

    def __init__(self, fails_in, error=ValueError):
        self.settings = type("Settings", (), {"n_estimators": 100})
        self.fails_in, self.error = fails_in, error
        self.n_rounds = 0

    def boost(self):
        if self.n_rounds == self.fails_in:
            raise self.error(f"round {self.n_rounds}")
        self.n_rounds += 1
        return True

    def evaluate(self):
        return []


def boost(together, n_rounds):
    with together:
        for _ in range(n_rounds):
            together.boost()


@pytest.mark.parametrize("n_at_once", [1, 2])
def test_an_error_in_a_fold_ends_all(n_at_once):
    states = [Bad(None), Bad(7), Bad(3)]
    before = threading.active_count()
    together = concurrent_fits.ConcurrentFits(states, n_at_once, ahead=5)
    with pytest.raises(ValueError, match="round 3"):
        boost(together, 10)
    assert together.index == 3
    assert threading.active_count() == before
    assert states[0].n_rounds <= 9


def test_ctrl_c_ends_folds():
    release = threading.Event()

    class Slow(Bad):
        def boost(self):
            self.n_rounds += 1
            if self.n_rounds == 2:
                signal.raise_signal(signal.SIGINT)
                release.wait(20)
            return True

    def handler(*_):
        release.set()
        raise KeyboardInterrupt

    together = concurrent_fits.ConcurrentFits([Slow(None), Bad(None)], 2)
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            boost(together, 3)
    finally:
        signal.signal(signal.SIGINT, before)
    assert together.index == 1
    assert not any(t.name == "skgoss-fold" for t in threading.enumerate())
