"""Processes that use a Dask cluster and are killed: see `tests/dask/conftest.py`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

from skgoss.dask import launch


@contextmanager
def process(work: Callable[..., None], *args: str) -> Iterator[Any]:
    """A process that does something, and the first word that it says."""
    context = get_mp_context()
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(*args, sender))
    child.start()
    try:
        yield child, receiver.recv()
    finally:
        child.kill()
        child.join()


def hold_cluster(sender: Any) -> None:
    """Say the address of a cluster of one worker."""
    # Its worker is forked from this process, which has imported what it needs.
    how = "fork" if sys.platform == "linux" else "spawn"
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": how}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
    ):
        sender.send(cluster.scheduler_address)
        time.sleep(60)


def fit_forever(address: str, sender: Any) -> None:
    """Say that a fit without an end runs."""

    def forever(collectives: Any, held: Any, n_threads: int) -> None:
        collectives.send_event("runs")
        while True:
            collectives.total(1)

    client = Client(address)
    parts = dict(enumerate(client.map(lambda x: x, range(6))))
    launch.run(client, parts, forever, name="fit", on_event=sender.send)
