"""How the peers of a fit ask each other on the workers of a Dask cluster.

Each two peers share one connection of Dask's own, from worker to worker, for as long
as the fit runs. A peer writes to all others at once; what the others write is read as
it comes, while the peer computes. So an exchange takes one way and not a round trip,
and a connection that breaks tells at once that the peer at its other end is gone.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker
from distributed.comm import Comm, connect
from distributed.core import Status
from distributed.protocol import dask_deserialize, dask_serialize, to_serialize
from distributed.utils import sync
from numpy.typing import NDArray

from skgoss.data.shares import Exchange

# Values of at most so many bytes are parts of the message: less work than frames.
MOST_BYTES_INLINE = 1 << 17

PLUGIN = "skgoss-peers"
OPERATION = "skgoss-peer"


class PeerLost(RuntimeError):
    """The peer cannot go on, as another one is gone or the fit has ended."""


class Frames(list):
    """A pickled value: the pickle, and the buffers that it left out."""


@dask_serialize.register(Frames)
def _serialize_frames(frames: Frames) -> tuple[dict[str, Any], list[Any]]:
    return {}, list(frames)


@dask_deserialize.register(Frames)
def _deserialize_frames(header: dict[str, Any], frames: list[Any]) -> Frames:
    return Frames(frames)


def pack(value: Any) -> tuple[dict[str, Any], int]:
    """A value as a message, and how many bytes it has.

    Arrays are copied unless they are read-only: the message may be sent after the call
    that gives it has returned, when the value may change.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, 5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    frames = [head, *(view if view.readonly else bytes(view) for view in raw)]
    n_bytes = sum(len(frame) for frame in frames)
    if n_bytes <= MOST_BYTES_INLINE:
        return {"value": frames}, n_bytes
    return {"value": to_serialize(Frames(frames))}, n_bytes


def unpack(message: dict[str, Any]) -> Any:
    """The value of a message."""
    head, *buffers = message["value"]
    return pickle.loads(head, buffers=buffers)


class Connections:
    """The connections of a peer to all others. Used on the loop of its worker alone."""

    def __init__(self) -> None:
        self.comms: dict[int, Comm] = {}
        self.inboxes: dict[int, deque[dict[str, Any]]] = {}
        self.reading: list[asyncio.Task[None]] = []
        self.joined = False
        self.error: PeerLost | None = None
        self.lost: dict[int, PeerLost] = {}
        self.condition: Callable[[], bool] = lambda: True
        self.waiting: asyncio.Future[None] | None = None

    async def open(
        self, fit: str, peer: int, addresses: Sequence[str], options: dict[str, Any]
    ) -> None:
        """Connect to the peers before this one, and wait until all are connected."""
        self.joined = True
        hello = {"op": OPERATION, "fit": fit, "peer": peer, "reply": False}
        self.reading = [
            asyncio.create_task(self.call(other, addresses[other], hello, options))
            for other in range(peer)
        ]
        await self.until(lambda: len(self.comms) == len(addresses) - 1)
        # A peer without exchanges must not end before the others have begun.
        await self.swap({other: {} for other in self.comms})

    async def call(
        self, other: int, address: str, hello: dict[str, Any], options: dict[str, Any]
    ) -> None:
        """Connect to a peer, and read what it writes."""
        try:
            comm = await connect(address, **options)
            await comm.write(hello)
        except OSError as error:
            self.lose(other, error)
        else:
            await self.read(other, comm)

    async def read(self, other: int, comm: Comm) -> None:
        """Read what a peer writes until the connection ends."""
        comm.name = "peer of a fit"
        inbox = self.inboxes[other] = deque()
        self.comms[other] = comm
        self.notice()
        try:
            while True:
                inbox.append(await comm.read())
                self.notice()
        except OSError as error:
            self.lose(other, error)
        finally:
            comm.abort()

    def lose(self, other: int, error: Exception) -> None:
        """Note that a peer is gone. What it wrote before can still be used."""
        lost = PeerLost(f"Peer {other} of the fit is gone.")
        lost.__cause__ = error
        self.lost.setdefault(other, lost)
        self.notice()

    def find_error(self) -> PeerLost | None:
        """Why what is waited for cannot come."""
        if self.error is not None:
            return self.error
        for other, lost in self.lost.items():
            if not self.inboxes.get(other):
                return lost
        return None

    def notice(self) -> None:
        """Wake who waits, if it need not wait any longer."""
        waiting = self.waiting
        if waiting is None or waiting.done():
            return
        error = self.find_error()
        if error is not None:
            waiting.set_exception(error)
        elif self.condition():
            waiting.set_result(None)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition, or for an error."""
        self.condition = condition
        self.waiting = asyncio.get_running_loop().create_future()
        self.notice()
        await self.waiting

    async def swap(self, messages: dict[int, dict[str, Any]]) -> dict[int, Any]:
        """Give each other peer a message, and get one from each."""
        for other, message in messages.items():
            try:
                await self.comms[other].write(message)
            except OSError as error:
                self.lose(other, error)
        await self.until(lambda: all(self.inboxes.values()))
        return {other: inbox.popleft() for other, inbox in self.inboxes.items()}

    def stop(self, error: PeerLost) -> None:
        """End the fit for this peer, at once."""
        self.error = error
        for task in self.reading:
            task.cancel()
        for comm in self.comms.values():
            comm.abort()
        self.notice()

    async def close(self) -> None:
        """End the connections when all that was written has been sent."""
        await asyncio.gather(*(comm.close() for comm in self.comms.values()))
        await asyncio.gather(*self.reading, return_exceptions=True)


class PeersPlugin(WorkerPlugin):
    """What a worker knows of the fits that it takes part in."""

    def setup(self, worker: Worker) -> None:
        self.worker = worker
        self.fits: dict[str, Connections] = {}
        self.keys: dict[Hashable, Connections] = {}
        worker.handlers[OPERATION] = self.answer

    def teardown(self, worker: Worker) -> None:
        for connections in self.fits.values():
            connections.stop(PeerLost("The worker closes."))
        del worker.handlers[OPERATION]

    def transition(self, key: Hashable, start: str, finish: str, **kwargs: Any) -> None:
        if finish == "released" and key in self.keys:
            self.keys[key].stop(PeerLost("The fit was cancelled."))

    async def answer(self, comm: Comm, fit: str, peer: int) -> Status:
        """Read what a peer writes that has connected to this worker."""
        connections = self.fits.setdefault(fit, Connections())
        await connections.read(peer, comm)
        if not connections.joined and self.fits.get(fit) is connections:
            del self.fits[fit]
        return Status.dont_reply

    async def join(
        self, key: Hashable, fit: str, peer: int, addresses: Sequence[str]
    ) -> Connections:
        """Make the task of a key a peer of a fit."""
        connections = self.fits.setdefault(fit, Connections())
        self.keys[key] = connections
        # The task may have been cancelled before its thread came here.
        task = self.worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            connections.error = PeerLost("The fit was cancelled.")
        try:
            await connections.open(fit, peer, addresses, self.worker.connection_args)
        except BaseException:
            await self.leave(key, fit, failed=True)
            raise
        return connections

    async def leave(self, key: Hashable, fit: str, failed: bool) -> None:
        """End what `join` began."""
        del self.keys[key]
        connections = self.fits.pop(fit)
        if failed:
            connections.stop(PeerLost("The peer has failed."))
        await connections.close()


async def install(dask_worker: Worker) -> None:
    """Make a worker ready for peers, unless it is."""
    if PLUGIN not in dask_worker.plugins:
        await dask_worker.plugin_add(PeersPlugin(), name=PLUGIN, catch_errors=False)


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
        worker: Worker,
        connections: Connections,
        peer: int,
        n_peers: int,
        tell: Callable[[Any], None],
    ) -> None:
        self.peer = peer
        self.n_peers = n_peers
        self.n_exchanges = 0
        self.n_bytes = 0
        self.tell = tell
        self._loop = worker.loop.asyncio_loop
        self._connections = connections

    def swap(self, values: Sequence[Any]) -> list[Any]:
        packed: dict[int, tuple[dict[str, Any], int]] = {}
        messages = {}
        for other, value in enumerate(values):
            if other != self.peer:
                if id(value) not in packed:
                    packed[id(value)] = pack(value)
                messages[other], n_bytes = packed[id(value)]
                self.n_bytes += n_bytes
        self.n_exchanges += 1
        got = asyncio.run_coroutine_threadsafe(
            self._connections.swap(messages), self._loop
        ).result()
        return [
            value if other == self.peer else unpack(got[other])
            for other, value in enumerate(values)
        ]

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
        yield DaskExchange(worker, connections, peer, len(addresses), tell)
        failed = False
    finally:
        sync(worker.loop, plugin.leave, key, fit, failed)
