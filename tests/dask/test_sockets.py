"""Collective operations by sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")

from skgoss.dask.sockets import FitAborted, SocketCollectives


@pytest.fixture(params=[2, 4])
def ranks(request: pytest.FixtureRequest) -> Iterator[list[SocketCollectives]]:
    """Each two are connected."""
    sockets: list[dict[int, socket.socket]] = [{} for _ in range(request.param)]
    for one, other in combinations(range(request.param), 2):
        sockets[one][other], sockets[other][one] = socket.socketpair()
    for own in sockets:
        for to in own.values():
            to.setblocking(False)
    ranks = [SocketCollectives(rank, own) for rank, own in enumerate(sockets)]
    yield ranks
    for own, collectives in zip(sockets, ranks, strict=True):
        collectives.close()
        for to in own.values():
            to.close()


def run(ranks: list[SocketCollectives], work: Callable[[Any], Any]) -> list[Any]:
    """What a function returns for each rank."""
    with ThreadPoolExecutor(len(ranks)) as pool:
        return [future.result(10) for future in [pool.submit(work, r) for r in ranks]]


def all_to_all(ranks: list[SocketCollectives], given: Any) -> list[list[Any]]:
    """What each rank receives, where rank i sends ``given(i, j)`` to rank j."""
    everyone = range(len(ranks))
    return run(ranks, lambda r: r.all_to_all([given(r.rank, j) for j in everyone]))


@pytest.mark.parametrize("size", [0, 1, 1000, 3000, 500_000])
def test_values_of_all_sizes(size, ranks: list[SocketCollectives]) -> None:
    """Four megabytes at once, in both directions, do not fit into any buffer."""
    for _ in range(2):
        received = all_to_all(ranks, lambda i, j, n=size: (i, j, np.arange(n) + i))
        for rank, values in enumerate(received):
            for other, (i, j, array) in enumerate(values):
                assert (i, j) == (other, rank)
                np.testing.assert_array_equal(array, np.arange(size) + other)


def test_a_rank_that_is_late(ranks: list[SocketCollectives]) -> None:
    """What a rank sends for the next collective operation must wait."""
    late = threading.Event()

    def work(own: SocketCollectives) -> list[Any]:
        if own.rank == len(ranks) - 1:
            assert late.wait(10)
        late.set()
        return [own.all_gather((turn, np.full(4000, own.rank))) for turn in range(50)]

    for results in run(ranks, work):
        for turn, values in enumerate(results):
            for other, (number, array) in enumerate(values):
                assert number == turn
                assert (array == other).all()


def test_arrays_in_any_layout(ranks: list[SocketCollectives]) -> None:
    values = np.arange(60_000).reshape(200, 300)
    layouts = [values, values.T, values[::2, ::3], np.asfortranarray(values)]
    for value in layouts:
        for received in all_to_all(ranks, lambda i, j, v=value: v):
            for array in received:
                np.testing.assert_array_equal(array, value)


@pytest.mark.parametrize("size", [0, 500_000])
def test_a_connection_that_ends(ranks: list[SocketCollectives], size: int) -> None:
    """What was sent before the end is received; then the next operation fails."""
    last = len(ranks) - 1
    all_to_all(ranks, lambda i, j: i)

    def work(own: SocketCollectives) -> None:
        if own.rank == last:
            for to in own._sockets.values():
                to.shutdown(socket.SHUT_RDWR)
            return
        with pytest.raises(FitAborted, match="is gone"):
            own.all_gather(np.zeros(size))
        for to in own._sockets.values():
            to.close()

    run(ranks, work)
