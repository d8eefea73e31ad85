"""The exchange of a peer that runs in a task of a Dask worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from distributed import get_worker
from distributed.utils import sync
from numpy.typing import NDArray

from skgoss.dask.connections import PLUGIN, Connections
from skgoss.dask.sockets import Frame, PeerLost, Swaps, pack
from skgoss.data.collectives import Exchange


class DaskExchange(Exchange):
    """The exchange of a peer that runs in a task of a Dask worker.

    Attributes
    ----------
    n_exchanges : int
        How often the peers have swapped values.
    n_bytes : int
        How many bytes this peer has sent to others.
    tell : callable
        Sends an event to the client: numbers, strings, dicts and tuples. Lists come as
        tuples.
    """

    def __init__(
        self,
        connections: Connections,
        swaps: Swaps,
        tell: Callable[[Any], None],
    ) -> None:
        self.peer = connections.peer
        self.n_peers = len(connections.addresses)
        self.n_exchanges = 0
        self.n_bytes = 0
        self.tell = tell
        self._connections = connections
        self._swaps = swaps

    def swap(self, values: Sequence[Any]) -> list[Any]:
        # A value for several peers is packed once.
        packed: dict[int, list[Frame]] = {}
        frames = {}
        for other, value in enumerate(values):
            if other != self.peer:
                if id(value) not in packed:
                    packed[id(value)] = pack(value)
                frames[other] = packed[id(value)]
                self.n_bytes += sum(map(len, frames[other]))
        self.n_exchanges += 1
        try:
            got = self._swaps.swap(frames)
        except PeerLost:
            self._check()
            raise
        self._check()
        got[self.peer] = values[self.peer]
        return [got[other] for other in range(self.n_peers)]

    def _check(self) -> None:
        """Raise why the fit has ended for this peer, if it has."""
        if self._connections.error is not None:
            raise self._connections.error

    def sum(self, array: NDArray[Any]) -> NDArray[Any]:
        if self.n_peers == 1:
            self.swap([None])
        return super().sum(array)


@contextmanager
def exchange(
    fit: str, key: str, peer: int, addresses: Sequence[str], topic: str
) -> Iterator[DaskExchange]:
    """The exchange of the peer that the running task is.

    Parameters
    ----------
    fit : str
        What tells the fit from all others.
    key : str
        The key of the running task.
    peer : int
    addresses : sequence of str
        Those of the workers of all peers.
    topic : str
        Where events are told.
    """
    worker = get_worker()
    plugin = worker.plugins[PLUGIN]

    def tell(event: Any) -> None:
        worker.log_event(topic, {"fit": fit, "event": event})

    connections = sync(worker.loop, plugin.join, key, fit, peer, addresses)
    failed = True
    try:
        with closing(Swaps(connections.sockets)) as swaps:
            yield DaskExchange(connections, swaps, tell)
        failed = False
    finally:
        sync(worker.loop, plugin.leave, key, fit, failed)
