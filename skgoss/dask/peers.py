"""Run a function on all workers that hold parts of the data, as peers of a fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any, TypeVar

from distributed import Client, Future

from skgoss.dask.exchange import DaskExchange

Result = TypeVar("Result")


class WorkersLost(RuntimeError):
    """Workers left the cluster during a fit, with rows that they held."""


def run(
    client: Client,
    parts: Mapping[Hashable, Future],
    work: Callable[[DaskExchange, dict[Any, Any], int], Result],
    *,
    name: str,
    workers: Collection[str] | None = None,
    on_event: Callable[[Any], None] | None = None,
) -> Result:
    """Call a function on each worker that holds parts of the data.

    The calls are the peers of a fit. They run at the same time, each in a task of
    its own worker, and ask each other by the exchange that they are given. The tasks
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
        ``work(exchange, held, n_threads)``. ``held`` are the values of the peer's parts,
        by their keys, in the order of ``parts``. ``n_threads`` is the number of threads
        of the worker. ``exchange.tell(event)`` sends a small event to the client. The
        function is pickled. If it raises, the other peers stop at their next exchange.
    name : str
        What the tasks are called on the dashboard, such as ``"LGBMClassifier.fit"``.
    workers : collection of str, optional
        The addresses of the workers that may run the fit. Parts that none of them holds
        are moved to them. By default, all workers of the cluster.
    on_event : callable, optional
        Is called with each event that the peers tell, in the thread of the caller. If
        it raises, the fit ends with this exception.

    Returns
    -------
    object
        What the function returned for peer 0. What it returned for the other peers is
        dropped, on their workers.

    Raises
    ------
    WorkersLost
        A worker died or left the cluster.
    Exception
        What the function raised for a peer.
    """
    raise NotImplementedError
