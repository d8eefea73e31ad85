"""Values that a process sends to all others and gets from them, each by a socket."""

from __future__ import annotations

import pickle
import selectors
import socket
import struct
from collections.abc import Generator, Mapping
from typing import Any

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

# Frames of at most so many bytes together are sent at once.
MOST_BYTES_JOINED = 1 << 14

Frame = bytes | memoryview
Step = Generator[None, None, Any]


class RankLost(RuntimeError):
    """The process cannot go on, as another one is gone or the fit has ended."""


def pack(value: Any) -> list[Frame]:
    """A value as what is sent: sizes and pickle, then the buffers that it left out."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, 5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    sizes = [len(head), *map(len, raw)]
    head = struct.pack(f"<Q{len(sizes)}Q", len(sizes), *sizes) + head
    return [head, *raw] if sum(sizes) > MOST_BYTES_JOINED else [b"".join([head, *raw])]


def _send(to: socket.socket, frames: list[Frame]) -> Step:
    """Send what `pack` gave; stop wherever the socket must be waited for."""
    for frame in frames:
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[to.send(rest) :]
            except BlockingIOError:
                yield


def _receive(from_: socket.socket) -> Step:
    """Get a value; stop wherever the socket must be waited for."""
    (n_frames,) = struct.unpack("<Q", (yield from _read(from_, 8)))
    sizes = struct.unpack(f"<{n_frames}Q", (yield from _read(from_, 8 * n_frames)))
    frames = []
    for size in sizes:
        frames.append((yield from _read(from_, size)))
    return pickle.loads(frames[0], buffers=frames[1:])


def _read(from_: socket.socket, n_bytes: int) -> Step:
    got = bytearray(n_bytes)
    rest = memoryview(got)
    while rest:
        try:
            n_read = from_.recv_into(rest)
        except BlockingIOError:
            yield
            continue
        if n_read == 0:
            raise ConnectionResetError("The other end has closed the connection.")
        rest = rest[n_read:]
    return got


class SocketCollectives:
    """All-to-all between processes, by one socket for each pair.

    Parameters
    ----------
    sockets : dict
        Sockets that do not block, by the numbers of the other processes.
    """

    def __init__(self, sockets: Mapping[int, socket.socket]) -> None:
        self._sockets = sockets
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, int] = {}

    def all_to_all(self, frames: Mapping[int, list[Frame]]) -> dict[int, Any]:
        """Give each other process a value, as `pack` gave it, and get one from each.

        Raises
        ------
        RankLost
            If a connection has ended.
        """
        got: dict[int, Any] = {}
        steps = {
            other: {WRITE: _send(to, frames[other]), READ: _receive(to)}
            for other, to in self._sockets.items()
        }
        ready = [(other, READ | WRITE) for other in steps]
        while ready:
            for other, events in ready:
                for event in [event for event in steps[other] if event & events]:
                    try:
                        next(steps[other][event])
                    except StopIteration as end:
                        del steps[other][event]
                        if event == READ:
                            got[other] = end.value
                    except OSError as error:
                        raise RankLost(f"Rank {other} of the fit is gone.") from error
                self._watch(other, sum(steps[other]))
            ready = self._wait()
        return got

    def _watch(self, other: int, events: int) -> None:
        """Wait for these events of a socket from now on."""
        if events == self._watched.get(other, 0):
            return
        if self._watched.pop(other, 0):
            self._selector.unregister(self._sockets[other])
        if events:
            self._selector.register(self._sockets[other], events, other)
            self._watched[other] = events

    def _wait(self) -> list[tuple[int, int]]:
        """The processes whose sockets are ready, and for which events."""
        if not self._watched:
            return []
        return [(key.data, events) for key, events in self._selector.select()]

    def close(self) -> None:
        """Forget the sockets, which stay open."""
        self._selector.close()
