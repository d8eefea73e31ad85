"""All-to-all by sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")

from skgoss.dask.sockets import RankLost, SocketCollectives, pack


@pytest.fixture(params=[2, 4])
def ranks(request: pytest.FixtureRequest) -> Iterator[list[SocketCollectives]]:
    """Each two are connected."""
    sockets: list[dict[int, socket.socket]] = [{} for _ in range(request.param)]
    for one, other in combinations(range(request.param), 2):
        sockets[one][other], sockets[other][one] = socket.socketpair()
    for own in sockets:
        for to in own.values():
            to.setblocking(False)
    made = [SocketCollectives(own) for own in sockets]
    yield made
    for own, one in zip(sockets, made, strict=True):
        one.close()
        for to in own.values():
            to.close()


def all_to_all(ranks: list[SocketCollectives], given: Any) -> list[dict[int, Any]]:
    """What each process gets, where process i gives ``given(i, j)`` to process j."""
    n = len(ranks)

    def work(rank: int) -> dict[int, Any]:
        return ranks[rank].all_to_all(
            {other: pack(given(rank, other)) for other in range(n) if other != rank}
        )

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(work, range(n)))


def test_values_of_all_sizes(ranks: list[SocketCollectives]) -> None:
    """Four megabytes at once, in both directions, do not fit into any buffer."""
    for size in (0, 1, 1000, 3000, 500_000):
        for _ in range(2):
            got = all_to_all(ranks, lambda i, j, n=size: (i, j, np.arange(n) + i))
            for rank, values in enumerate(got):
                for other, (i, j, array) in values.items():
                    assert (i, j) == (other, rank)
                    np.testing.assert_array_equal(array, np.arange(size) + other)


def test_a_rank_that_is_late(ranks: list[SocketCollectives]) -> None:
    """What a process sends for the next all-to-all must wait."""
    late = threading.Event()
    n = len(ranks)

    def work(rank: int) -> list[Any]:
        if rank == n - 1:
            assert late.wait(10)
        results = []
        for turn in range(50):
            frames = pack((turn, np.full(4000, rank)))
            results.append(
                ranks[rank].all_to_all(dict.fromkeys(set(range(n)) - {rank}, frames))
            )
        return results

    with ThreadPoolExecutor(n) as pool:
        futures = [pool.submit(work, rank) for rank in range(n)]
        late.set()
        for future in futures:
            for turn, got in enumerate(future.result()):
                for other, (number, array) in got.items():
                    assert number == turn
                    assert (array == other).all()


def test_arrays_in_any_layout(ranks: list[SocketCollectives]) -> None:
    values = np.arange(60_000).reshape(200, 300)
    layouts = [values, values.T, values[::2, ::3], np.asfortranarray(values)]
    for value in layouts:
        for got in all_to_all(ranks, lambda i, j, v=value: v):
            for array in got.values():
                np.testing.assert_array_equal(array, value)


@pytest.mark.parametrize("size", [0, 500_000])
def test_a_connection_that_ends(ranks: list[SocketCollectives], size: int) -> None:
    """What was sent before the end is received; then the all-to-all fails."""
    last = len(ranks) - 1
    all_to_all(ranks, lambda i, j: i)

    def work(rank: int) -> Any:
        if rank == last:
            for to in ranks[last]._sockets.values():
                to.shutdown(socket.SHUT_RDWR)
            return None
        frames = dict.fromkeys(set(range(last + 1)) - {rank}, pack(np.zeros(size)))
        with pytest.raises(RankLost, match="is gone"):
            ranks[rank].all_to_all(frames)
        for to in ranks[rank]._sockets.values():
            to.close()
        return None

    with ThreadPoolExecutor(last + 1) as pool:
        for future in [pool.submit(work, rank) for rank in range(last + 1)]:
            future.result(10)
