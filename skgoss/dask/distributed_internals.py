"""Undocumented parts of the package distributed that fits use.

Tested with distributed 2025.1.0 and 2026.8.0. If a version lacks such a part, the
function falls back on the documented interface, as its docstring describes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from distributed import Worker, WorkerPlugin
from distributed.comm.addressing import get_address_host, parse_address
from distributed.comm.core import Comm
from distributed.core import Server
from tornado.iostream import IOStream


async def add_plugin(worker: Worker, plugin: WorkerPlugin) -> None:
    """Add a plugin to one worker, by `Worker.plugin_add`.

    Without it, `transition` of the plugin is not called, and cancelled fits continue.
    (`Client.register_plugin` would also add the plugin to workers that start later,
    which may not have skgoss.)
    """
    if hasattr(worker, "plugin_add"):
        await worker.plugin_add(plugin, catch_errors=False)
    else:
        plugin.setup(worker)


def is_cancelled(worker: Worker, key: str) -> bool:
    """Whether a task whose function runs has been cancelled, by `Worker.state`.

    Without it, the result is False.
    """
    try:
        tasks = worker.state.tasks
        return key not in tasks or tasks[key].state not in ("executing", "long-running")
    except AttributeError:
        return False


async def accept(worker: Worker, op: str, handler: Callable[..., Any]) -> Server:
    """Pass messages with the operation ``op`` to a handler, by `Worker.handlers`.

    Without these, another server receives them, which needs another port. Messages are
    sent to the address of the server that is returned: the worker or the other one.
    """
    try:
        worker.handlers[op] = handler
    except (AttributeError, TypeError):
        protocol, _ = parse_address(worker.address)
        host = "" if protocol == "inproc" else get_address_host(worker.address)
        server = await Server({op: handler})
        args = worker.security.get_listen_args("worker")
        await server.listen(f"{protocol}://{host}", **args)
        return server
    return worker


async def take_socket(comm: Comm, *, called: bool) -> socket.socket | None:
    """Take the socket of a plain TCP connection from Dask, by `TCP.stream`.

    For other connections, and without streams, the result is None. ``called`` is true
    on the end that has opened the connection.

    While Dask has a socket, it may read data that are meant for the fit. So neither end
    may send data before the other one has taken its socket. The end that was called
    sends a byte when it has, and waits for one from the other end.
    """
    stream = getattr(comm, "stream", None)
    # Streams of TLS are of a subclass.
    if type(stream) is not IOStream:
        return None
    if called:
        await stream.read_bytes(1)
    else:
        await stream.write(b"")  # sends what Dask has not sent yet
    taken = stream.socket.dup()
    comm.abort()
    try:
        taken.send(b"!")
        if not called and not await asyncio.get_running_loop().sock_recv(taken, 1):
            raise ConnectionResetError("The other end has closed the connection.")
    except BaseException:
        taken.close()
        raise
    return taken
