"""The connections between the processes of a fit on the workers of a Dask cluster.

Each two processes share one connection of Dask's own, from worker to worker, for as
long as the fit runs. The thread of a process's task talks to a socket itself: a message
through the event loops of both workers would take several times as long. Of a
connection by plain TCP it is the connection's own socket. What any other connection
carries, such as an encrypted one, a bridge on the event loop passes on to a pair of
sockets.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

from distributed import Worker, WorkerPlugin
from distributed.comm import Comm, connect
from distributed.comm.tcp import TCP
from distributed.core import Status

from skgoss.dask.sockets import RankLost

PLUGIN = "skgoss-fits"
CONNECT = "skgoss-connect"
ASK = "skgoss-has-joined"

# Seconds between questions whether a process has joined: at first, and at most.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
# What a bridge reads from its socket at once, in bytes.
BLOCK = 1 << 20


class Connections:
    """The connections of a process to all others.

    Used on the loop of its worker, but for the sockets, which the thread of the task
    uses.
    """

    def __init__(self, rank: int, addresses: Sequence[str]) -> None:
        self.rank = rank
        self.addresses = addresses
        self.sockets: dict[int, socket.socket] = {}
        self.calls: list[asyncio.Task[None]] = []
        self.error: RankLost | None = None
        self.complete = asyncio.Event()

    async def open(self, worker: Worker, fit: str) -> None:
        """Connect to the processes before this one, and wait for those after it."""
        self.calls = [
            asyncio.create_task(self.call(other, worker, fit))
            for other in range(self.rank)
        ]
        self.notice()
        await self.complete.wait()
        if self.error is not None:
            raise self.error

    async def call(self, other: int, worker: Worker, fit: str) -> None:
        """Connect to a process as soon as it has joined the fit."""
        address = self.addresses[other]
        has_joined = getattr(worker.rpc(address), ASK)
        pause = SHORTEST_PAUSE
        try:
            while not await has_joined(fit=fit):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            comm = await connect(address, **worker.connection_args)
            await comm.write(
                {"op": CONNECT, "fit": fit, "rank": self.rank, "reply": False}
            )
        except Exception as error:
            self.lose(other, error)
        else:
            await self.add(other, comm, called=True)

    async def add(self, other: int, comm: Comm, called: bool) -> None:
        """Make a connection to a process one of sockets.

        Parameters
        ----------
        other : int
            The number of the process.
        comm : Comm
        called : bool
            Whether this process has called the other one.
        """
        far = None
        if type(comm) is TCP:
            try:
                own = await _socket_of(comm, called)
            except OSError as error:
                self.lose(other, error)
                return
        else:
            own, far = _pair()
        if self.error is not None:
            own.close()
        else:
            self.sockets[other] = own
            self.notice()
        if far is not None:
            await _bridge(comm, far)

    def notice(self) -> None:
        """See whether all processes are connected."""
        if len(self.sockets) == len(self.addresses) - 1:
            self.complete.set()

    def lose(self, other: int, error: Exception) -> None:
        """Stop, as a process is gone."""
        lost = RankLost(f"Rank {other} of the fit is gone.")
        lost.__cause__ = error
        self.stop(lost)

    def stop(self, error: RankLost) -> None:
        """End the fit for this process, at once."""
        self.error = self.error or error
        for task in self.calls:
            task.cancel()
        for to in self.sockets.values():
            # The other end may have closed it.
            with suppress(OSError):
                to.shutdown(socket.SHUT_RDWR)
        self.complete.set()

    async def close(self) -> None:
        """End the connections when all that was written has been sent."""
        for to in self.sockets.values():
            to.close()
        await asyncio.gather(*self.calls, return_exceptions=True)


async def _socket_of(comm: Comm, called: bool) -> socket.socket:
    """The socket of a connection, which Dask does not read or write any more.

    Neither end may write before the other one has left Dask's hands, which would read
    what is not meant for it. So the one that was called says when it is ready, and
    hears when the other one is.
    """
    if called:
        await comm.stream.read_bytes(1)
    own = comm.stream.socket.dup()
    comm.abort()
    try:
        own.send(b"!")
        if not called and not await asyncio.get_running_loop().sock_recv(own, 1):
            raise ConnectionResetError("The other end has closed the connection.")
    except BaseException:
        own.close()
        raise
    return own


def _pair() -> tuple[socket.socket, socket.socket]:
    """Two sockets that are connected, and do not block."""
    near, far = socket.socketpair()
    near.setblocking(False)
    far.setblocking(False)
    return near, far


async def _bridge(comm: Comm, far: socket.socket) -> None:
    """Pass on what comes by a connection or a socket to the other, until one ends."""
    loop = asyncio.get_running_loop()

    async def out() -> None:
        while data := await loop.sock_recv(far, BLOCK):
            await comm.write(data)
        await comm.close()

    async def back() -> None:
        while True:
            await loop.sock_sendall(far, await comm.read())

    ways = [asyncio.create_task(out()), asyncio.create_task(back())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        for error in await asyncio.gather(*ways, return_exceptions=True):
            # The end of a connection is how a bridge ends.
            if isinstance(error, Exception) and not isinstance(error, OSError):
                raise error
        far.close()
        comm.abort()


class FitPlugin(WorkerPlugin):
    """What a worker knows of the fits that it takes part in."""

    def setup(self, worker: Worker) -> None:
        self.worker = worker
        self.fits: dict[str, Connections] = {}
        self.keys: dict[Hashable, Connections] = {}
        worker.handlers |= {CONNECT: self.answer, ASK: self.has_joined}

    def teardown(self, worker: Worker) -> None:
        for connections in self.fits.values():
            connections.stop(RankLost("The worker closes."))
        for handler in (CONNECT, ASK):
            del worker.handlers[handler]

    def transition(self, key: Hashable, start: str, finish: str, **kwargs: Any) -> None:
        if finish == "released" and key in self.keys:
            self.keys[key].stop(RankLost("The fit was cancelled."))

    def has_joined(self, fit: str) -> bool:
        """Whether a process of a fit runs on this worker, and can be called."""
        return fit in self.fits

    async def answer(self, comm: Comm, fit: str, rank: int) -> Status:
        """Take the call of a process."""
        if fit in self.fits:
            await self.fits[fit].add(rank, comm, called=False)
        else:
            comm.abort()
        return Status.dont_reply

    async def join(
        self, key: Hashable, fit: str, rank: int, addresses: Sequence[str]
    ) -> Connections:
        """Make the task of a key a process of a fit."""
        connections = Connections(rank, addresses)
        self.fits[fit] = self.keys[key] = connections
        # The task may have been cancelled before its thread came here.
        task = self.worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            connections.stop(RankLost("The fit was cancelled."))
        try:
            await connections.open(self.worker, fit)
        except BaseException:
            await self.leave(key, fit, failed=True)
            raise
        return connections

    async def leave(self, key: Hashable, fit: str, failed: bool) -> None:
        """End what `join` began."""
        del self.keys[key]
        connections = self.fits.pop(fit)
        if failed:
            connections.stop(RankLost("The process has failed."))
        await connections.close()


async def install(dask_worker: Worker) -> None:
    """Make a worker ready for processes, unless it is."""
    if PLUGIN not in dask_worker.plugins:
        await dask_worker.plugin_add(FitPlugin(), name=PLUGIN, catch_errors=False)
