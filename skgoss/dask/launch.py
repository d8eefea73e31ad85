"""Run a function on all workers that hold parts of the data, as the ranks of a fit."""

from __future__ import annotations

import queue
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from typing import Any, TypeVar

from distributed import CancelledError, Client, Future, secede, wait

from skgoss.dask.connections import DaskCollectives, collectives, install, key_of
from skgoss.dask.sockets import FitAborted

Result = TypeVar("Result")
Work = Callable[[DaskCollectives, dict[Any, Any], int], Result]

# Seconds between checks whether the workers are still there.
INTERVAL = 1.0
# If a rank has aborted, seconds to wait for the error of the rank that was the cause.
PATIENCE = 5.0

# The function that is called with the events of each fit of this process.
_listeners: dict[str, Callable[[Any], None]] = {}


class WorkersLost(RuntimeError):
    """Workers left the cluster during a fit, with rows that they held."""


def run(
    client: Client,
    parts: Mapping[Hashable, Future[Any]],
    work: Work[Result],
    *,
    name: str,
    workers: Collection[str] | None = None,
    on_event: Callable[[Any], None] | None = None,
) -> Result:
    """Call a function on each worker that holds parts of the data.

    Each of these workers is a rank of the fit. The calls run at the same time, each in
    a task, and communicate by collective operations. The tasks secede from the thread
    pool as soon as they run, so that several fits on workers with one thread do not
    wait for each other.

    ``parts`` are futures by any keys. Parts stay where they are. Of the workers that
    hold a part, the one with the fewest bytes of earlier parts is chosen. With
    ``workers``, the addresses of those that may run the fit, parts that none of them
    holds are moved to them.

    ``work(collectives, held, n_threads)`` is pickled. ``held`` are the values of the
    parts of the rank, by their keys, in the order of ``parts``. ``n_threads`` is the
    number of threads of the worker. ``collectives.send_event(event)`` sends a small
    event to the client, where ``on_event`` is called with it in the thread of the
    caller. If it raises, the fit ends with this exception. ``name`` is the name of the
    tasks on the dashboard, such as ``"LGBMClassifier.fit"``.

    Returns the result of the function on rank 0. The results of the other ranks are
    dropped, on their workers. An exception on a rank is raised here, and the other
    ranks stop at their next collective operation. WorkersLost if a worker died or left
    the cluster.
    """
    _wait_for(parts)
    n_threads = client.nthreads()
    held = _deal(client, parts, set(n_threads if workers is None else workers))
    run = _Run(client, list(held), name, on_event)
    try:
        run.start(work, parts, held, n_threads)
        return run.result()
    finally:
        run.end()


def _wait_for(parts: Mapping[Hashable, Future[Any]]) -> None:
    """Wait until the workers have the parts; raise the error of a part that failed."""
    if not parts:
        raise ValueError("X has no partitions, so there are no rows to fit.")
    futures = list(parts.values())
    wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()


def _deal(
    client: Client, parts: Mapping[Hashable, Future[Any]], allowed: set[str]
) -> dict[str, list[Hashable]]:
    """The keys of the parts that each worker uses, by its address.

    A part goes to the worker that holds it and has the fewest bytes so far; if none of
    the ``allowed`` ones holds it, to any of them. The worker of the first part comes
    first, so it is rank 0.
    """
    futures = list(parts.values())
    holders = client.who_has(futures)
    n_bytes = client.nbytes([future.key for future in futures], summary=False)
    load: dict[str, int] = defaultdict(int)
    held = defaultdict(list)
    for key, future in parts.items():
        candidates = allowed.intersection(holders.get(future.key, ())) or allowed
        address = min(candidates, key=lambda worker: (load[worker], worker))
        load[address] += n_bytes.get(future.key, 0)
        held[address].append(key)
    return dict(held)


class _Run:
    """The state of a fit in the client.

    Each event on the cluster puts a function into the inbox, which the thread that
    waits for the fit calls. So callbacks run in that thread, and it can be interrupted.
    ``workers`` are the addresses of the workers, by rank.
    """

    def __init__(
        self,
        client: Client,
        workers: list[str],
        name: str,
        on_event: Callable[[Any], None] | None,
    ) -> None:
        self.client = client
        self.workers = workers
        self.on_event = on_event
        self.fit = f"{name}-{uuid.uuid4().hex}"
        self.inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.futures: list[Future[Any]] = []
        self.unfinished = set(range(len(workers)))
        # An error whose cause is on another rank, and the time at which to raise it if
        # that rank has not reported the cause.
        self.aborted: tuple[FitAborted, float] | None = None

    def start(
        self,
        work: Work[Any],
        parts: Mapping[Hashable, Future[Any]],
        held: Mapping[str, list[Hashable]],
        n_threads: Mapping[str, int],
    ) -> None:
        """Submit the tasks of the ranks.

        ``parts`` are futures by key, ``held`` the keys of the parts of each worker, and
        ``n_threads`` the number of threads of each, by address.
        """
        installed = self.client.run(install, workers=self.workers, on_error="return")
        for error in installed.values():
            # If a worker is gone, `check` names it.
            if isinstance(error, Exception) and not isinstance(error, OSError):
                raise error
        addresses = [installed[worker] for worker in self.workers]
        topic = f"skgoss-{self.client.id}"
        if (on_event := self.on_event) is not None:
            _listeners[self.fit] = lambda event: self.inbox.put(
                partial(on_event, event)
            )
            self.client.subscribe_topic(topic, _dispatch_event)
        for rank, worker in enumerate(self.workers):
            future = self.client.submit(
                _task,
                work,
                {key: parts[key] for key in held[worker]},
                n_threads.get(worker, 1),
                self.fit,
                rank,
                addresses,
                topic,
                key=key_of(self.fit, rank),
                workers=[worker],
                pure=False,
            )
            react = partial(self.task_ended, rank)
            future.add_done_callback(lambda _, react=react: self.inbox.put(react))
            self.futures.append(future)

    def result(self) -> Any:
        """Wait for the ranks, and return the result of rank 0."""
        while self.unfinished:
            try:
                react = self.inbox.get(timeout=INTERVAL)
            except queue.Empty:
                react = self.check
            react()
        self.unfinished = {0}
        timeout = INTERVAL
        while True:
            try:
                return self.futures[0].result(timeout)
            except TimeoutError:
                self.check()
                timeout *= 2

    def task_ended(self, rank: int) -> None:
        """Note that the task of a rank has ended; raise its error if it failed.

        An error whose cause is on another rank waits for that rank's own error.
        """
        future = self.futures[rank]
        if future.status == "finished":
            self.unfinished.remove(rank)
            return
        try:
            future.result()
        except FitAborted as error:
            if self.aborted is None:
                self.aborted = error, time.monotonic() + PATIENCE
            self.check()
        except CancelledError as error:
            raise RuntimeError(f"The fit was cancelled: {error}") from error

    def check(self) -> None:
        """Raise WorkersLost if a worker whose task has not finished is gone.

        Or raise the error of a rank that aborted because of another rank, if it has
        waited PATIENCE seconds for that rank's own error.
        """
        # If the scheduler is lost, the client cancels its futures.
        if self.client.status != "running":
            return
        workers = [self.workers[rank] for rank in self.unfinished]
        try:
            present = self.client.nthreads(workers, callback_timeout=PATIENCE)
        except (OSError, TimeoutError):
            return
        gone = sorted(set(workers).difference(present))
        if gone:
            raise WorkersLost(
                f"{', '.join(gone)} left the cluster during the fit, and the rows "
                "there are lost. Call fit again: it uses the remaining workers. If the "
                "data were scattered, scatter them again."
            )
        if self.aborted is not None and time.monotonic() > self.aborted[1]:
            raise self.aborted[0]

    def end(self) -> None:
        """Cancel the tasks that still run, and drop the results of all."""
        _listeners.pop(self.fit, None)
        if self.client.status == "running":
            self.client.cancel(self.futures)


def _dispatch_event(event: tuple[float, dict[str, Any]]) -> None:
    """Pass an event to the listener of its fit, if the fit still runs."""
    _, message = event
    listener = _listeners.get(message["fit"])
    if listener is not None:
        listener(message["event"])


def _task(
    work: Work[Result],
    held: dict[Any, Any],
    n_threads: int,
    fit: str,
    rank: int,
    addresses: list[str],
    topic: str,
) -> Result | None:
    """The task of a rank: connect it to the others, and do the work.

    Only rank 0 returns the result. For the arguments see `run` and `collectives`.
    """
    secede()
    with collectives(fit, rank, addresses, topic) as ranks:
        result = work(ranks, held, n_threads)
    return result if rank == 0 else None
