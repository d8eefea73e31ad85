"""The connections between the ranks of a fit on the workers of a Dask cluster.

Each pair of ranks has a connection of Dask, from worker to worker, while the fit runs.
The thread that fits reads and writes sockets: messages through the event loops of both
workers would take several times as long. If the connection is plain TCP, the thread
uses its socket:

    thread of rank 0 <== socket of the connection ==> thread of rank 1

Otherwise, for example if it is encrypted, each thread uses one socket of a connected
pair, and the event loop copies data between the other one and the connection. This is a
*bridge*:

    thread <=> near, far <=> bridge <=> connection <=> bridge <=> far, near <=> thread
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar

from distributed import Worker, WorkerPlugin, get_worker
from distributed.comm.core import Comm, connect

from skgoss.dask import distributed_internals as internals
from skgoss.dask.sockets import FitAborted, SocketCollectives

T = TypeVar("T")

CONNECT = "skgoss-connect"

# Seconds between checks whether the task of a rank runs: the first pause, and the
# limit.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
# The most bytes that a bridge reads from its socket at once.
CHUNK = 1 << 20


def key_of(fit: str, rank: int) -> str:
    """The key of the task of a rank."""
    return f"{fit}-{rank}"


class Connections:
    """The connections of a rank to all other ranks.

    The methods run on the event loop of the worker of this rank. The sockets are used
    by the thread that fits. ``fit`` is a unique name.
    """

    def __init__(self, worker: Worker, fit: str, rank: int) -> None:
        self.worker = worker
        self.fit = fit
        self.rank = rank
        self.key = key_of(fit, rank)
        # A non-blocking socket to each other rank.
        self.sockets: dict[int, socket.socket] = {}
        # Why the fit has ended for this rank.
        self.error: FitAborted | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._changed = asyncio.Event()

    async def open(self, addresses: Sequence[str]) -> None:
        """Connect to the ranks before this one; later ranks connect to it.

        ``addresses`` are the results of `install` on the worker of each rank.
        """
        self._tasks += [
            asyncio.create_task(self._call(other, addresses[other]))
            for other in range(self.rank)
        ]
        while len(self.sockets) < len(addresses) - 1 and self.error is None:
            self._changed.clear()
            await self._changed.wait()
        if self.error is not None:
            raise self.error

    async def _call(self, other: int, address: str) -> None:
        """Connect to the rank ``other`` as soon as its task runs.

        ``address`` is that of its worker.
        """
        key = key_of(self.fit, other)
        try:
            args = self.worker.security.get_connection_args("worker")
            comm = await connect(address, **args)
            await _wait_for_task(comm, {"op": CONNECT, "key": key, "rank": self.rank})
        except Exception as error:
            self._lose(other, error)
        else:
            await self.add(other, comm, called=True)

    async def add(self, other: int, comm: Comm, *, called: bool) -> None:
        """Add the socket of a connection to the rank ``other``.

        It is that of the connection itself, or one end of a bridge (see above).
        ``called`` is true if this rank has opened the connection.
        """
        bridge = None
        try:
            near = await internals.take_socket(comm, called=called)
        except Exception as error:
            self._lose(other, error)
            return
        if near is None:
            near, far = socket.socketpair()
            near.setblocking(False)
            bridge = asyncio.create_task(_bridge(comm, far))
        if self.error is None:
            self.sockets[other] = near
            self._changed.set()
        else:
            near.close()
        if bridge is not None:
            self._tasks.append(bridge)
            await asyncio.wait([bridge])

    def _lose(self, other: int, error: Exception) -> None:
        """End the fit for this rank because the connection to ``other`` failed."""
        lost = FitAborted(f"Rank {other} of the fit is gone.")
        lost.__cause__ = error
        self.stop(lost)

    def stop(self, error: FitAborted) -> None:
        """End the fit for this rank at once.

        The first ``error`` is kept; the thread that fits raises it, as its sockets end.
        """
        self.error = self.error or error
        for task in self._tasks:
            task.cancel()
        for to in self.sockets.values():
            # The other end may have closed its socket.
            with suppress(OSError):
                to.shutdown(socket.SHUT_RDWR)
        self._changed.set()

    async def close(self) -> None:
        """Close the connections when all that was written has been sent."""
        for to in self.sockets.values():
            to.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _wait_for_task(comm: Comm, question: dict[str, Any]) -> None:
    """Ask another worker whether the task of its rank runs, until it does.

    ``question`` is the message: the operation, the key of the task, and our rank.
    """
    pause = SHORTEST_PAUSE
    try:
        await comm.write({**question, "reply": False})
        while not await comm.read():
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            await comm.write({**question, "reply": False})
    except BaseException:
        comm.abort()
        raise


async def _bridge(comm: Comm, far: socket.socket) -> None:
    """Copy data between a connection and a socket, until one of them ends."""
    loop = asyncio.get_running_loop()
    far.setblocking(False)

    async def out() -> None:
        while data := await loop.sock_recv(far, CHUNK):
            await comm.write(data)
        await comm.close()
        raise ConnectionResetError

    async def back() -> None:
        while True:
            await loop.sock_sendall(far, await comm.read())

    try:
        async with asyncio.TaskGroup() as ways:
            ways.create_task(out())
            ways.create_task(back())
    except* OSError:
        pass  # One of them has ended.
    finally:
        far.close()
        comm.abort()


class FitPlugin(WorkerPlugin):
    """The fits that run on a worker."""

    name = "skgoss-fits"

    def setup(self, worker: Worker) -> None:
        """Start to accept connections; Dask calls this in the worker's event loop."""
        self.worker = worker
        self.loop = asyncio.get_running_loop()
        # The connections of each fit, by the key of its task on this worker.
        self.connections: dict[Hashable, Connections] = {}
        # Returns the server that accepts connections.
        self.server = asyncio.create_task(
            internals.accept(worker, CONNECT, self._answer)
        )
        plugins[worker] = self

    def teardown(self, worker: Worker) -> None:
        for connections in self.connections.values():
            connections.stop(FitAborted("The worker closes."))
        del plugins[worker]

    def transition(self, key: Hashable, start: str, finish: str, **kwargs: Any) -> None:
        if finish == "released" and key in self.connections:
            self.connections[key].stop(FitAborted("The fit was cancelled."))

    async def _answer(self, comm: Comm, key: str, rank: int) -> None:
        """Answer another rank whether a task runs here; if so, connect to it."""
        connections = self.connections.get(key)
        await comm.write(connections is not None)
        if connections is not None:
            await connections.add(rank, comm, called=False)

    async def join(self, connections: Connections, addresses: Sequence[str]) -> None:
        """Connect the running task to the other ranks of its fit."""
        self.connections[connections.key] = connections
        # The task may have been cancelled before its thread came here.
        if internals.is_cancelled(self.worker, connections.key):
            connections.stop(FitAborted("The fit was cancelled."))
        await connections.open(addresses)

    async def leave(self, connections: Connections, *, failed: bool) -> None:
        """Close the connections of a task that has ended."""
        del self.connections[connections.key]
        if failed:
            connections.stop(FitAborted("The fit has failed."))
        await connections.close()


# The plugins that `install` has added to the workers of this process.
plugins: dict[Worker, FitPlugin] = {}


async def install(dask_worker: Worker) -> str:
    """Prepare a worker for fits. Returns the address for connections to it."""
    if dask_worker not in plugins:
        await internals.add_plugin(dask_worker, FitPlugin())
    server = await plugins[dask_worker].server
    return server.address


class DaskCollectives(SocketCollectives):
    """The collective operations of a rank, which runs in a task of a Dask worker.

    ``send_event`` sends an event to the client: numbers, strings, dicts and tuples.
    Lists arrive as tuples.
    """

    def __init__(
        self, connections: Connections, send_event: Callable[[Any], None]
    ) -> None:
        super().__init__(connections.rank, connections.sockets)
        self.send_event = send_event
        self._connections = connections

    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        """Send value i to rank i, and return those from all ranks.

        If a connection was refused, its error says more than that the rank is gone.
        """
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

    The workers of all ranks accept connections at ``addresses``. Events have the
    ``topic``. ``fit`` is a unique name.
    """
    worker = get_worker()
    plugin = plugins[worker]

    def send_event(event: Any) -> None:
        worker.log_event(topic, {"fit": fit, "event": event})

    connections = Connections(worker, fit, rank)
    failed = True
    try:
        _on_loop(plugin, plugin.join(connections, addresses))
        with closing(DaskCollectives(connections, send_event)) as operations:
            yield operations
        failed = False
    finally:
        _on_loop(plugin, plugin.leave(connections, failed=failed))


def _on_loop(plugin: FitPlugin, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the event loop of the worker, and return its result."""
    return asyncio.run_coroutine_threadsafe(coroutine, plugin.loop).result()
