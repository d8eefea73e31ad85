"""Values that peers swap by sockets."""

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

from skgoss.dask.sockets import PeerLost, Swaps, pack


@pytest.fixture(params=[2, 4])
def peers(request: pytest.FixtureRequest) -> Iterator[list[Swaps]]:
    """Each two are connected."""
    sockets: list[dict[int, socket.socket]] = [{} for _ in range(request.param)]
    for one, other in combinations(range(request.param), 2):
        sockets[one][other], sockets[other][one] = socket.socketpair()
    for own in sockets:
        for to in own.values():
            to.setblocking(False)
    swaps = [Swaps(own) for own in sockets]
    yield swaps
    for own, swap in zip(sockets, swaps, strict=True):
        swap.close()
        for to in own.values():
            to.close()


def swap_all(peers: list[Swaps], given: Any) -> list[dict[int, Any]]:
    """What each peer gets, where peer i gives ``given(i, j)`` to peer j."""
    n = len(peers)

    def work(peer: int) -> dict[int, Any]:
        return peers[peer].swap(
            {other: pack(given(peer, other)) for other in range(n) if other != peer}
        )

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(work, range(n)))


def test_values_of_all_sizes(peers: list[Swaps]) -> None:
    """Four megabytes at once, in both directions, do not fit into any buffer."""
    for size in (0, 1, 1000, 3000, 500_000):
        for _ in range(2):
            got = swap_all(peers, lambda i, j, n=size: (i, j, np.arange(n) + i))
            for peer, values in enumerate(got):
                for other, (i, j, array) in values.items():
                    assert (i, j) == (other, peer)
                    np.testing.assert_array_equal(array, np.arange(size) + other)


def test_a_peer_that_is_late(peers: list[Swaps]) -> None:
    """What a peer sends for the next swap must wait."""
    late = threading.Event()
    n = len(peers)

    def work(peer: int) -> list[Any]:
        if peer == n - 1:
            assert late.wait(10)
        results = []
        for turn in range(50):
            frames = pack((turn, np.full(4000, peer)))
            results.append(
                peers[peer].swap(dict.fromkeys(set(range(n)) - {peer}, frames))
            )
        return results

    with ThreadPoolExecutor(n) as pool:
        futures = [pool.submit(work, peer) for peer in range(n)]
        late.set()
        for future in futures:
            for turn, got in enumerate(future.result()):
                for other, (number, array) in got.items():
                    assert number == turn
                    assert (array == other).all()


def test_arrays_in_any_layout(peers: list[Swaps]) -> None:
    values = np.arange(60_000).reshape(200, 300)
    layouts = [values, values.T, values[::2, ::3], np.asfortranarray(values)]
    for value in layouts:
        for got in swap_all(peers, lambda i, j, v=value: v):
            for array in got.values():
                np.testing.assert_array_equal(array, value)


@pytest.mark.parametrize("size", [0, 500_000])
def test_a_connection_that_ends(peers: list[Swaps], size: int) -> None:
    """What was sent before the end is received; then the swap fails."""
    last = len(peers) - 1
    swap_all(peers, lambda i, j: i)

    def work(peer: int) -> Any:
        if peer == last:
            for to in peers[last]._sockets.values():
                to.shutdown(socket.SHUT_RDWR)
            return None
        frames = dict.fromkeys(set(range(last + 1)) - {peer}, pack(np.zeros(size)))
        with pytest.raises(PeerLost, match="is gone"):
            peers[peer].swap(frames)
        for to in peers[peer]._sockets.values():
            to.close()
        return None

    with ThreadPoolExecutor(last + 1) as pool:
        for future in [pool.submit(work, peer) for peer in range(last + 1)]:
            future.result(10)
