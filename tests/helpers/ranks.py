"""Ranks of a fit as threads of one process: collectives without a network."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from skgoss.distributed.collectives import Collectives
from skgoss.distributed.row_partition import RowPartition


class Meeting:
    """What the threads of a fit put down for each other."""

    def __init__(self, n_ranks: int) -> None:
        self.n_ranks = n_ranks
        self.barrier = threading.Barrier(n_ranks, timeout=120)
        self.values: list[Any] = [None] * n_ranks
        self.n_collectives = 0


class ThreadCollectives(Collectives):
    """The collectives of one thread."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting = meeting
        self.n_ranks = meeting.n_ranks
        self.rank = rank

    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        self.meeting.values[self.rank] = values
        self.meeting.barrier.wait()
        got = [given[self.rank] for given in self.meeting.values]
        # Arrays are copied, as processes may write to theirs after the call.
        got = [v.copy() if isinstance(v, np.ndarray) else v for v in got]
        self.meeting.n_collectives += self.rank == 0
        self.meeting.barrier.wait()
        return got


def run(n_ranks: int, function: Callable[[Collectives], Any]) -> list[Any]:
    """What a function returns for each process; the first exception if any fails."""
    meeting = Meeting(n_ranks)

    def work(rank: int) -> Any:
        try:
            return function(ThreadCollectives(meeting, rank))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(n_ranks) as pool:
        futures = [pool.submit(work, rank) for rank in range(n_ranks)]
    errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None and not isinstance(error, threading.BrokenBarrierError):
            raise error
    return [future.result() for future in futures]


def deal(
    n_rows: int, n_ranks: int, seed: int, n_parts: int | None = None
) -> list[dict[int, np.ndarray]]:
    """Cut rows into parts of random lengths, some empty, and deal them to processes.

    Returns, for each process, the row numbers of each of its parts by number of the
    part.
    """
    random = np.random.default_rng(seed)
    n_parts = n_parts or 3 * n_ranks
    cuts = np.sort(random.integers(0, n_rows + 1, n_parts - 1))
    cuts[len(cuts) // 2 :][:2] = cuts[len(cuts) // 2]
    parts = np.split(np.arange(n_rows), cuts)
    owner = random.integers(0, n_ranks, n_parts)
    return [
        {part: parts[part] for part in np.flatnonzero(owner == rank).tolist()}
        for rank in range(n_ranks)
    ]


def partition_of(
    collectives: Collectives, parts: dict[int, np.ndarray]
) -> RowPartition:
    """The partition of a rank that was dealt these parts."""
    return RowPartition.from_parts(
        collectives, {part: len(rows) for part, rows in parts.items()}
    )


def rows_of(parts: dict[int, np.ndarray]) -> np.ndarray:
    """All rows of some parts, in order."""
    chosen = [parts[part] for part in sorted(parts)]
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)


def by_partition(n_rows, n_ranks, seed, function, n_parts=None):
    """What a function of (partition, row numbers) returns for each process."""
    dealt = deal(n_rows, n_ranks, seed, n_parts)

    def work(collectives):
        parts = dealt[collectives.rank]
        return function(partition_of(collectives, parts), rows_of(parts))

    return run(n_ranks, work)
