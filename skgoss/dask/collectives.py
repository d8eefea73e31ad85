"""Collective operations of the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from distributed import get_worker
from distributed.utils import sync
from numpy.typing import NDArray

from skgoss.dask.connections import PLUGIN, Connections
from skgoss.dask.sockets import Frame, RankLost, SocketCollectives, pack
from skgoss.data.collectives import Collectives


class DaskCollectives(Collectives):
    """The collective operations of a process that is a task of a Dask worker.

    Attributes
    ----------
    n_collectives : int
        How many collective operations there have been.
    n_bytes : int
        How many bytes this process has sent to others.
    tell : callable
        Sends an event to the client: numbers, strings, dicts and tuples. Lists come as
        tuples.
    """

    def __init__(
        self,
        connections: Connections,
        sockets: SocketCollectives,
        tell: Callable[[Any], None],
    ) -> None:
        self.rank = connections.rank
        self.n_ranks = len(connections.addresses)
        self.n_collectives = 0
        self.n_bytes = 0
        self.tell = tell
        self._connections = connections
        self._sockets = sockets

    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        # A value for several processes is packed once.
        packed: dict[int, list[Frame]] = {}
        frames = {}
        for other, value in enumerate(values):
            if other != self.rank:
                if id(value) not in packed:
                    packed[id(value)] = pack(value)
                frames[other] = packed[id(value)]
                self.n_bytes += sum(map(len, frames[other]))
        self.n_collectives += 1
        try:
            got = self._sockets.all_to_all(frames)
        except RankLost:
            self._check()
            raise
        self._check()
        got[self.rank] = values[self.rank]
        return [got[other] for other in range(self.n_ranks)]

    def _check(self) -> None:
        """Raise why the fit has ended for this process, if it has."""
        if self._connections.error is not None:
            raise self._connections.error

    def all_reduce(self, array: NDArray[Any]) -> NDArray[Any]:
        if self.n_ranks == 1:
            self.all_to_all([None])
        return super().all_reduce(array)


@contextmanager
def collectives(
    fit: str, key: str, rank: int, addresses: Sequence[str], topic: str
) -> Iterator[DaskCollectives]:
    """The collective operations of the running task.

    Parameters
    ----------
    fit : str
        What tells the fit from all others.
    key : str
        The key of the running task.
    rank : int
    addresses : sequence of str
        Those of the workers of all processes.
    topic : str
        Where events are told.
    """
    worker = get_worker()
    plugin = worker.plugins[PLUGIN]

    def tell(event: Any) -> None:
        worker.log_event(topic, {"fit": fit, "event": event})

    connections = sync(worker.loop, plugin.join, key, fit, rank, addresses)
    failed = True
    try:
        with closing(SocketCollectives(connections.sockets)) as sockets:
            yield DaskCollectives(connections, sockets, tell)
        failed = False
    finally:
        sync(worker.loop, plugin.leave, key, fit, failed)
