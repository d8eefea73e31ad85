"""Run a function on all workers that hold parts of the data, as processes of a fit."""

from __future__ import annotations

import queue
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from typing import Any, TypeVar

from distributed import CancelledError, Client, Future, get_worker, secede, wait

from skgoss.dask.collectives import DaskCollectives, collectives
from skgoss.dask.connections import install
from skgoss.dask.sockets import RankLost

Result = TypeVar("Result")
Work = Callable[[DaskCollectives, dict[Any, Any], int], Result]

# Seconds between looks whether the workers are still there.
INTERVAL = 1.0
# Seconds in which the cause is awaited of which a process has only seen the effect.
PATIENCE = 5.0

# Where the events of each fit of this process go.
_inboxes: dict[str, queue.SimpleQueue[tuple[str, Any]]] = {}


class WorkersLost(RuntimeError):
    """Workers left the cluster during a fit, with rows that they held."""


def run(
    client: Client,
    parts: Mapping[Hashable, Future],
    work: Work[Result],
    *,
    name: str,
    workers: Collection[str] | None = None,
    on_event: Callable[[Any], None] | None = None,
) -> Result:
    """Call a function on each worker that holds parts of the data.

    The calls are the processes of a fit. They run at the same time, each in a task of
    its own worker, and communicate by the collectives that they are given. The tasks
    leave their slots to others as soon as they run, so that fits at the same time on
    workers of one thread do not wait for each other.

    Parameters
    ----------
    client : Client
    parts : dict
        Futures whose values are the parts of the data. The keys are the numbers of
        the parts, or any other values that tell them apart, such as
        ``("valid_0", 3)``. A part may be any value, such as a tuple of columns,
        target and weights. Parts stay where they are. Of the workers that hold a part,
        the one that has been given the fewest bytes is chosen.
    work : callable
        ``work(collectives, held, n_threads)``. ``held`` are the values of the process's
        parts, by their keys, in the order of ``parts``. ``n_threads`` is the number of
        threads of the worker. ``collectives.tell(event)`` sends a small event to the
        client. The function is pickled. If it raises, the other processes stop at their
        next collective operation.
    name : str
        What the tasks are called on the dashboard, such as ``"LGBMClassifier.fit"``.
    workers : collection of str, optional
        The addresses of the workers that may run the fit. Parts that none of them holds
        are moved to them. By default, all workers of the cluster.
    on_event : callable, optional
        Is called with each event that the processes tell, in the thread of the caller.
        If it raises, the fit ends with this exception.

    Returns
    -------
    object
        What the function returned on rank 0. What it returned for the other processes
        is dropped, on their workers.

    Raises
    ------
    WorkersLost
        A worker died or left the cluster.
    Exception
        What the function raised for a process.
    """
    held = _deal(client, parts, workers)
    run = _Run(client, list(held), on_event)
    try:
        run.start(
            work, name, [{key: parts[key] for key in keys} for keys in held.values()]
        )
        return run.follow()
    finally:
        run.end()


def _deal(
    client: Client,
    parts: Mapping[Hashable, Future],
    workers: Collection[str] | None,
) -> dict[str, list[Hashable]]:
    """Which worker takes which parts; those of the first part come first."""
    if not parts:
        raise ValueError("X has no partitions, so there are no rows to fit.")
    futures = list(parts.values())
    wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()
    holders = client.who_has(futures)
    n_bytes = client.nbytes([future.key for future in futures], summary=False)
    allowed = set(client.nthreads() if workers is None else workers)
    load: dict[str, int] = defaultdict(int)
    held = defaultdict(list)
    for key, future in parts.items():
        candidates = allowed.intersection(holders.get(future.key, ())) or allowed
        address = min(candidates, key=lambda worker: (load[worker], worker))
        load[address] += n_bytes.get(future.key, 0)
        held[address].append(key)
    return dict(held)


class _Run:
    """A fit on the workers, as its client sees it.

    What happens on the cluster comes to `inbox`, whose reader is the thread that
    waits for the fit: so callbacks run in that thread, and an interrupt gets through.
    """

    def __init__(
        self,
        client: Client,
        addresses: list[str],
        on_event: Callable[[Any], None] | None,
    ) -> None:
        self.client = client
        self.addresses = addresses
        self.on_event = on_event
        self.fit = uuid.uuid4().hex
        self.inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.futures: list[Future] = []
        self.unfinished = set(range(len(addresses)))
        self.effect: tuple[float, RankLost] | None = None

    def start(
        self, work: Work[Any], name: str, held: list[dict[Hashable, Future]]
    ) -> None:
        """Submit the tasks of the processes."""
        for error in self.client.run(
            install, workers=self.addresses, on_error="return"
        ).values():
            # A worker that is gone is seen by `check`, and named by it.
            if isinstance(error, Exception) and not isinstance(error, OSError):
                raise error
        topic = f"skgoss-{self.client.id}"
        if self.on_event is not None:
            _inboxes[self.fit] = self.inbox
            self.client.subscribe_topic(topic, _take_event)
        for rank, address in enumerate(self.addresses):
            key = f"{name}-{self.fit}-{rank}"
            future = self.client.submit(
                _task,
                work,
                held[rank],
                self.fit,
                key,
                rank,
                self.addresses,
                topic,
                key=key,
                workers=[address],
                pure=False,
            )
            future.add_done_callback(partial(self._put, "end", rank))
            self.futures.append(future)

    def _put(self, kind: str, what: Any, future: Future) -> None:
        self.inbox.put((kind, what))

    def follow(self) -> Any:
        """Wait for the processes, and get the result."""
        while self.unfinished:
            try:
                kind, what = self.inbox.get(timeout=INTERVAL)
            except queue.Empty:
                self.check()
                continue
            if kind == "event":
                self.on_event(what)
            else:
                self.look(what)
        self.unfinished = {0}
        timeout = INTERVAL
        while True:
            try:
                return self.futures[0].result(timeout)
            except TimeoutError:
                self.check()
                timeout *= 2

    def look(self, rank: int) -> None:
        """See how a process has ended."""
        future = self.futures[rank]
        if future.status == "finished":
            self.unfinished.remove(rank)
            return
        try:
            future.result()
        except RankLost as error:
            if self.effect is None:
                self.effect = time.monotonic() + PATIENCE, error
            self.check()
        except CancelledError as error:
            raise RuntimeError(f"The fit was cancelled: {error}") from error

    def check(self) -> None:
        """Raise an exception if workers are gone whose tasks have not finished."""
        # If the scheduler is lost, the client cancels its futures.
        if self.client.status != "running":
            return
        addresses = [self.addresses[rank] for rank in self.unfinished]
        try:
            there = self.client.sync(
                self.client.scheduler.ncores,
                workers=addresses,
                callback_timeout=PATIENCE,
            )
        except (OSError, TimeoutError):
            return
        gone = sorted(set(addresses).difference(there))
        if gone:
            raise WorkersLost(
                f"{', '.join(gone)} left the cluster during the fit, and the rows "
                "there are lost. Call fit again: it uses the remaining workers. If the "
                "data were scattered, scatter them again."
            )
        if self.effect is not None and time.monotonic() > self.effect[0]:
            raise self.effect[1]

    def end(self) -> None:
        """Stop the processes that still run, and drop what they returned."""
        _inboxes.pop(self.fit, None)
        if self.client.status == "running":
            self.client.cancel(self.futures)


def _take_event(event: tuple[float, dict[str, Any]]) -> None:
    """Pass an event on to the fit that it comes from, if it still runs."""
    _, message = event
    inbox = _inboxes.get(message["fit"])
    if inbox is not None:
        inbox.put(("event", message["event"]))


def _task(
    work: Work[Result],
    held: dict[Any, Any],
    fit: str,
    key: str,
    rank: int,
    addresses: list[str],
    topic: str,
) -> Result | None:
    """The task of a process."""
    secede()
    n_threads = get_worker().state.nthreads
    with collectives(fit, key, rank, addresses, topic) as among:
        result = work(among, held, n_threads)
    return result if rank == 0 else None
