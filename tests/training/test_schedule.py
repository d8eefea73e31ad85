"""Runs side by side: their threads, their errors, and Ctrl-C."""

import threading
import time
from functools import partial

import numpy as np
import pytest

from helpers.fake_states import OneByOne
from skgoss.distributed.row_partition import RowPartition
from skgoss.training import schedule
from skgoss.training.evaluation import EvalResult
from skgoss.training.lockstep import Lockstep
from skgoss.utils.cancellation import CURRENT_SCOPE


def test_threads_are_shared_without_too_many():
    for n_fits in range(1, 12):
        for n_threads in range(1, 40):
            n_at_once, each = schedule.at_once(n_fits, n_threads)
            assert 1 <= n_at_once <= n_fits
            assert n_at_once * each <= n_threads
    assert schedule.at_once(5, 2) == (2, 1)
    assert schedule.at_once(5, 8) == (4, 2)
    assert schedule.at_once(5, 1) == (1, 1)


class State(OneByOne):
    first_round = 0
    partition = RowPartition(1)

    def current_iteration(self):
        return self.n_rounds


class Bad(State):
    """A state of a fit that fails in one of its rounds."""

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


def lockstep(states, n_at_once, ahead=0):
    return Lockstep(list(states), n_at_once, ahead)


def boost(together, n_rounds):
    with together:
        for _ in range(n_rounds):
            together.boost()


@pytest.mark.parametrize("n_at_once", [1, 2])
def test_an_error_in_a_fold_ends_all(n_at_once):
    states = [Bad(None), Bad(7), Bad(3)]
    before = threading.active_count()
    together = lockstep(states, n_at_once, 5)
    with pytest.raises(ValueError, match="round 3"):
        boost(together, 10)
    assert together.index == 3
    assert threading.active_count() == before
    assert states[0].n_rounds <= 9


class Scripted(State):
    """A state of a fit that grows as many rounds as it has losses after the first."""

    def __init__(self, losses, n_estimators=100):
        self.settings = type("Settings", (), {"n_estimators": n_estimators})
        self.losses, self.n_rounds = losses, 0
        self.sets = [self]

    def boost(self):
        has_grown = self.n_rounds < len(self.losses) - 1
        self.n_rounds += has_grown
        return has_grown

    def evaluate(self):
        loss = self.losses[self.n_rounds]
        return [
            EvalResult("valid", "loss", loss, False),
            EvalResult("valid", "gain", -2 * loss, True),
        ]


@pytest.mark.parametrize(("n_at_once", "ahead"), [(1, 0), (2, 0), (2, 3), (3, 100)])
def test_results_are_those_of_one_fit_after_the_other(n_at_once, ahead):
    """A fit that cannot grow keeps its last loss."""
    losses = [[9.0, 4.0, 2.0], [8.0, 7.0, 6.0, 5.0, 3.0], [5.0]]
    together = lockstep(map(Scripted, losses), n_at_once, ahead)
    assert together.sets[0].losses == losses[0]
    expected = [{"loss": [], "gain": []} for _ in losses]
    with together:
        for index in range(6):
            assert together.boost() == (index < 4)
            assert together.index == index
            now = [values[min(index + 1, len(values) - 1)] for values in losses]
            for history, loss in zip(expected, now, strict=True):
                history["loss"].append(loss)
                history["gain"].append(-2 * loss)
            assert together.histories() == [{"valid": h} for h in expected]
            loss, gain = together.evaluate()
            assert loss[:4] == ("valid", "loss", pytest.approx(np.mean(now)), False)
            assert gain[:4] == ("valid", "gain", pytest.approx(-2 * np.mean(now)), True)
            assert loss.metric_std_dev == pytest.approx(np.std(now))


@pytest.mark.parametrize(
    ("ahead", "n_estimators", "most"), [(0, 9, 1), (3, 9, 4), (8, 5, 5)]
)
def test_fits_are_no_more_rounds_ahead_than_they_may(ahead, n_estimators, most):
    states = [Scripted(range(50), n_estimators) for _ in range(3)]
    together = lockstep(states, 2, ahead)
    with together:
        together.boost()
        for _ in range(500):
            if all(state.n_rounds == most for state in states):
                break
            time.sleep(0.01)
        time.sleep(0.01)
    assert [state.n_rounds for state in states] == [most] * 3


def test_calls_side_by_side_return_in_their_order():
    turn = [threading.Event() for _ in range(3)]
    turn[2].set()

    def number(k):
        turn[k].wait()
        turn[k - 1].set()
        return k

    calls = [partial(number, k) for k in range(3)]
    assert schedule.run_all(calls, 3) == [0, 1, 2]
    threads = [threading.get_ident] * 2
    assert schedule.run_all(threads, 1) == [threading.get_ident()] * 2
    assert schedule.run_all(threads[:1], 4) == [threading.get_ident()]
    assert threading.get_ident() not in schedule.run_all(threads, 2)


def endless(started, ended):
    started.set()
    try:
        while True:
            CURRENT_SCOPE.get().check()
    finally:
        ended.append(1)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_of_a_call_ends_the_others(error):
    started, ended, before = threading.Event(), [], set(threading.enumerate())

    def wrong():
        started.wait()
        raise error("this call")

    others = [partial(endless, started, ended)] * 2
    with pytest.raises(error, match="this call"):
        schedule.run_all([others[0], wrong, *others], 2)
    # Others may begin before the error is known, and then they end as well.
    assert 1 <= len(ended) <= 3
    assert set(threading.enumerate()) <= before
    with pytest.raises(error, match="this call"):
        schedule.run_all([wrong, *others], 1)


def test_what_is_nested_in_a_call_ends_with_it():
    started, ended = threading.Event(), []
    call = partial(endless, started, ended)

    class Endless(Bad):
        boost = staticmethod(call)

    def wrong():
        started.wait()
        raise ValueError("this call")

    def nested():
        schedule.run_all([call, call], 2)

    def folds():
        boost(lockstep([Endless(None)] * 2, 2), 1)

    for inner in (nested, folds):
        started.clear()
        ended.clear()
        with pytest.raises(ValueError, match="this call"):
            schedule.run_all([inner, wrong], 2)
        assert 1 <= len(ended) <= 2
