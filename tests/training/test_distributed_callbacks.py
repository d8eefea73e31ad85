"""Callbacks of the first rank end the fit of all."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from helpers.fake_states import FakeState, of_all, one, trained
from helpers.ranks import Meeting, ThreadCollectives, run
from skgoss.fit import callbacks
from skgoss.training import loop
from skgoss.training.callback_api import EarlyStopException


@pytest.fixture(params=[1, 2, 3])
def n_ranks(request):
    return request.param


def test_callbacks_of_other_ranks_may_be_missing(n_ranks):
    expected = one(lambda rank: [callbacks.early_stopping(2)])
    found, _ = of_all(n_ranks, lambda rank: [callbacks.early_stopping(2)][rank:])
    assert found == [expected] * n_ranks


@pytest.mark.parametrize("before", [True, False])
def test_a_stop_by_the_first_rank_stops_all(n_ranks, before):
    called = []

    def make(rank):
        def stop(env):
            called.append(rank)
            if env.iteration == 5:
                raise EarlyStopException(2, None if before else [("a", "b", 1.0, 0)])

        stop.before_iteration = before
        return [stop]

    expected = one(make)
    assert expected[:2] == (3, 3)
    called.clear()
    found, n_collectives = of_all(n_ranks, make)
    assert found == [expected] * n_ranks
    assert set(called) == {0}
    assert n_collectives <= 8


def test_a_stop_after_the_last_round_stops_all(n_ranks):
    def make(rank):
        def watch(env):
            pass

        return [watch, callbacks.early_stopping(50)]

    expected = one(make)
    assert expected[:2] == (4, 4)
    assert of_all(n_ranks, make)[0] == [expected] * n_ranks


def test_reset_parameter_reaches_all_ranks(n_ranks):
    draws = iter(range(1000))

    def rate(index):
        return 0.1 + 0.01 * next(draws)

    def make(rank):
        return [
            callbacks.reset_parameter(learning_rate=rate),
            callbacks.reset_parameter(num_leaves=list(range(10, 18))),
            callbacks.early_stopping(3),
        ]

    found, n_collectives = of_all(n_ranks, make)
    assert len(set(found[0][3])) == len(found[0][3]) == 7
    assert found == [found[0]] * n_ranks
    assert n_collectives <= 1 + 8


def test_hooks_of_the_first_rank_stop_all(n_ranks):
    def work(collectives):
        hook = (lambda index, _: index == 4) if collectives.rank == 0 else None
        return trained(collectives, [], hook)

    found = run(n_ranks, work)
    assert found == [found[0]] * n_ranks
    assert found[0][0] == 5


def test_hooks_that_never_stop(n_ranks):
    found = run(n_ranks, lambda e: trained(e, [], lambda *_: False))
    assert [made[0] for made in found] == [8] * n_ranks


def test_errors_of_callbacks_fail_on_all_ranks():
    ended = []

    def fail(env):
        raise KeyError("mine")

    def work(collectives):
        try:
            trained(collectives, [fail])
        finally:
            ended.append(collectives.rank)

    with pytest.raises(KeyError, match="mine"):
        run(3, work)
    assert sorted(ended) == [0, 1, 2]


def test_callbacks_cannot_ask_other_ranks():
    def measure(env):
        env.model.measure()

    with pytest.raises(RuntimeError, match="Callbacks run in one of the processes"):
        run(2, lambda e: trained(e, [measure]))
    assert trained(ThreadCollectives(Meeting(1), 0), [measure])[0] == 8


def test_only_callbacks_end_the_fit_of_ranks():
    def boost():
        raise EarlyStopException(0)

    def work(collectives):
        state = FakeState(collectives)
        state.boost = boost
        loop.train(state, SimpleNamespace(), callbacks=[lambda env: None])

    with pytest.raises(EarlyStopException):
        run(2, work)
