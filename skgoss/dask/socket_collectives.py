"""Collective operations of the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from distributed import get_worker

from skgoss.dask.connections import Connections, FitPlugin, plugins
from skgoss.dask.sockets import SocketCollectives

T = TypeVar("T")


class DaskCollectives(SocketCollectives):
    """The collective operations of a rank, which runs in a task of a Dask worker.

    Attributes
    ----------
    tell : callable
        Sends an event to the client: numbers, strings, dicts and tuples. Lists come as
        tuples.
    """

    def __init__(self, connections: Connections, tell: Callable[[Any], None]) -> None:
        super().__init__(connections.rank, connections.sockets)
        self.tell = tell
        self._connections = connections

    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        try:
            return super().all_to_all(values)
        finally:
            if self._connections.error is not None:
                raise self._connections.error


@contextmanager
def collectives(
    fit: str, rank: int, addresses: Sequence[str], topic: str
) -> Iterator[DaskCollectives]:
    """The collective operations of the running task.

    Parameters
    ----------
    fit : str
        A name that no other fit has.
    rank : int
    addresses : sequence of str
        Where the workers of all ranks accept connections.
    topic : str
        The topic of the events.
    """
    worker = get_worker()
    plugin = plugins[worker]

    def tell(event: Any) -> None:
        worker.log_event(topic, {"fit": fit, "event": event})

    connections = Connections(worker, fit, rank)
    failed = True
    try:
        _on_loop(plugin, plugin.join(connections, addresses))
        with closing(DaskCollectives(connections, tell)) as found:
            yield found
        failed = False
    finally:
        _on_loop(plugin, plugin.leave(connections, failed=failed))


def _on_loop(plugin: FitPlugin, coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that runs on the event loop of the worker."""
    return asyncio.run_coroutine_threadsafe(coroutine, plugin.loop).result()
