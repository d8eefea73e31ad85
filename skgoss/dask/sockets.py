"""Collective operations over sockets, one for each pair of ranks."""

from __future__ import annotations

import pickle
import selectors
import socket
import struct
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from skgoss.distributed.collectives import Collectives

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

# Frames of at most this total size, in bytes, are joined and sent at once.
MAX_JOINED_BYTES = 1 << 14

Frame = bytes | memoryview
Transfer = Generator[None, None, Any]


class FitAborted(RuntimeError):
    """A rank cannot continue: another one is gone, or the fit was cancelled."""


def pack(value: Any) -> list[Frame]:
    """A value as frames to send.

    The first has the number of frames, their sizes, and the pickle. The others are
    the buffers that the pickle leaves out.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, 5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    sizes = [len(head), *map(len, raw)]
    head = struct.pack(f"<Q{len(sizes)}Q", len(sizes), *sizes) + head
    return [head, *raw] if sum(sizes) > MAX_JOINED_BYTES else [b"".join([head, *raw])]


def _send(to: socket.socket, frames: list[Frame]) -> Transfer:
    """Send the frames of `pack`; yield whenever the socket would block."""
    for frame in frames:
        remaining = memoryview(frame)
        while remaining:
            try:
                remaining = remaining[to.send(remaining) :]
            except BlockingIOError:
                yield


def _receive(from_: socket.socket) -> Transfer:
    """Receive a value; yield whenever the socket would block."""
    (n_frames,) = struct.unpack("<Q", (yield from _read(from_, 8)))
    sizes = struct.unpack(f"<{n_frames}Q", (yield from _read(from_, 8 * n_frames)))
    frames = []
    for size in sizes:
        frames.append((yield from _read(from_, size)))
    return pickle.loads(frames[0], buffers=frames[1:])


def _read(from_: socket.socket, n_bytes: int) -> Transfer:
    """Receive some bytes; yield whenever the socket would block."""
    received = bytearray(n_bytes)
    remaining = memoryview(received)
    while remaining:
        try:
            n_read = from_.recv_into(remaining)
        except BlockingIOError:
            yield
            continue
        if n_read == 0:
            raise ConnectionResetError("The other end has closed the connection.")
        remaining = remaining[n_read:]
    return received


class SocketCollectives(Collectives):
    """Collective operations over a non-blocking socket to each other rank.

    ``n_collectives`` counts the operations, and ``n_bytes`` what this rank has sent.
    """

    def __init__(self, rank: int, sockets: Mapping[int, socket.socket]) -> None:
        self.rank = rank
        self.n_ranks = len(sockets) + 1
        self.n_collectives = 0
        self.n_bytes = 0
        self._sockets = sockets
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, int] = {}

    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        """Send value i to rank i, and return those from all ranks, by rank."""
        # A value for several ranks is packed once.
        to_pack = {id(values[other]): values[other] for other in self._sockets}
        packed = {key: pack(value) for key, value in to_pack.items()}
        frames = {other: packed[id(values[other])] for other in self._sockets}
        self.n_bytes += sum(sum(map(len, sent)) for sent in frames.values())
        self.n_collectives += 1
        received = self._transfer(frames)
        received[self.rank] = values[self.rank]
        return [received[rank] for rank in range(self.n_ranks)]

    def _transfer(self, frames: Mapping[int, list[Frame]]) -> dict[int, Any]:
        """Send frames to each other rank, and receive a value from each, by rank.

        All transfers go on at the same time: each is a generator that sends or receives
        what it can, and yields when its socket would block. FitAborted if a connection
        has ended.
        """
        received: dict[int, Any] = {}
        transfers = {
            other: {WRITE: _send(to, frames[other]), READ: _receive(to)}
            for other, to in self._sockets.items()
        }
        ready = [(other, READ | WRITE) for other in transfers]
        while ready:
            for other, events in ready:
                for event in [event for event in transfers[other] if event & events]:
                    try:
                        next(transfers[other][event])
                    except StopIteration as end:
                        del transfers[other][event]
                        if event == READ:
                            received[other] = end.value
                    except OSError as error:
                        raise FitAborted(f"Rank {other} of the fit is gone.") from error
                # The keys are flags, so their sum is what the rank has still to do.
                self._watch(other, sum(transfers[other]))
            ready = self._wait()
        return received

    def _watch(self, other: int, events: int) -> None:
        """Set the events, READ or WRITE or both, that `_wait` waits for on a socket.

        0: the transfers with the rank ``other`` are done.
        """
        if events == self._watched.get(other, 0):
            return
        if self._watched.pop(other, 0):
            self._selector.unregister(self._sockets[other])
        if events:
            self._selector.register(self._sockets[other], events, other)
            self._watched[other] = events

    def _wait(self) -> list[tuple[int, int]]:
        """The ranks whose sockets are ready, and for which events."""
        if not self._watched:
            return []
        return [(key.data, events) for key, events in self._selector.select()]

    def close(self) -> None:
        """Free the selector. The sockets stay open."""
        self._selector.close()
