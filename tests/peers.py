"""Peers of a fit as threads of one process: exchanges without a network."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from skgoss.data.collectives import Exchange
from skgoss.data.row_partition import Share


class Meeting:
    """What the threads of a fit put down for each other."""

    def __init__(self, n_peers: int) -> None:
        self.n_peers = n_peers
        self.barrier = threading.Barrier(n_peers, timeout=120)
        self.values: list[Any] = [None] * n_peers
        self.n_exchanges = 0


class ThreadExchange(Exchange):
    """The exchange of one thread."""

    def __init__(self, meeting: Meeting, peer: int) -> None:
        self.meeting = meeting
        self.n_peers = meeting.n_peers
        self.peer = peer

    def swap(self, values: Sequence[Any]) -> list[Any]:
        self.meeting.values[self.peer] = values
        self.meeting.barrier.wait()
        got = [given[self.peer] for given in self.meeting.values]
        # Arrays are copied, as peers may write to theirs after the call.
        got = [v.copy() if isinstance(v, np.ndarray) else v for v in got]
        self.meeting.n_exchanges += self.peer == 0
        self.meeting.barrier.wait()
        return got


def run(n_peers: int, function: Callable[[Exchange], Any]) -> list[Any]:
    """What a function returns for each peer; the first exception if any fails."""
    meeting = Meeting(n_peers)

    def work(peer: int) -> Any:
        try:
            return function(ThreadExchange(meeting, peer))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(n_peers) as pool:
        futures = [pool.submit(work, peer) for peer in range(n_peers)]
    errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None and not isinstance(error, threading.BrokenBarrierError):
            raise error
    return [future.result() for future in futures]


def deal(
    n_rows: int, n_peers: int, seed: int, n_parts: int | None = None
) -> list[dict[int, np.ndarray]]:
    """Cut rows into parts of random lengths, some empty, and deal them to peers.

    Returns, for each peer, the row numbers of each of its parts by number of the part.
    """
    random = np.random.default_rng(seed)
    n_parts = n_parts or 3 * n_peers
    cuts = np.sort(random.integers(0, n_rows + 1, n_parts - 1))
    cuts[len(cuts) // 2 :][:2] = cuts[len(cuts) // 2]
    parts = np.split(np.arange(n_rows), cuts)
    owner = random.integers(0, n_peers, n_parts)
    return [
        {part: parts[part] for part in np.flatnonzero(owner == peer).tolist()}
        for peer in range(n_peers)
    ]


def share_of(exchange: Exchange, parts: dict[int, np.ndarray]) -> Share:
    """The share of a peer that was dealt these parts."""
    return Share.of_parts(exchange, {part: len(rows) for part, rows in parts.items()})


def rows_of(parts: dict[int, np.ndarray]) -> np.ndarray:
    """All rows of some parts, in order."""
    chosen = [parts[part] for part in sorted(parts)]
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)
