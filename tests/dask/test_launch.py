"""Processes of a fit on the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

from helpers.dask_processes import fit_forever, hold_cluster, process  # noqa: E402
from skgoss.dask import connections, launch  # noqa: E402

N_WORKERS = 3


def new_cluster() -> Any:
    """Three processes of one thread each; a process that dies is started again."""
    return distributed.LocalCluster(
        n_workers=N_WORKERS,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs="CRITICAL",
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with new_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        client.wait_for_workers(N_WORKERS, timeout=30)
        yield client


def put(client: Any, n_parts: int) -> dict[int, Any]:
    """Parts that lie on the workers in turn: part k holds the number k."""
    workers = sorted(client.nthreads())
    return {
        part: client.submit(
            np.full, 2, part, workers=[workers[part % len(workers)]], pure=False
        )
        for part in range(n_parts)
    }


def left(client: Any) -> dict[str, Any]:
    """What fits have left behind on each worker."""

    def look(dask_worker: Any) -> Any:
        plugin = connections.plugins.get(dask_worker)
        if plugin is None:
            return None
        names = [thread.name for thread in threading.enumerate()]
        running = [key for key in dask_worker.state.tasks if "fit-" in str(key)]
        return [*plugin.connections, *running] + [
            name for name in names if "fit-" in name
        ]

    return {worker: what for worker, what in client.run(look).items() if what}


def assert_clean(client: Any) -> None:
    """Nothing is left on the workers, after a moment; and the next fit works."""
    end = time.monotonic() + 10
    while left(client) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left(client)
    assert total_of(client, put(client, 4)) == 2 * 6


def total_of(client: Any, parts: dict[int, Any]) -> int:
    return launch.run(
        client,
        parts,
        lambda collectives, held, n_threads: collectives.total(
            sum(int(part.sum()) for part in held.values())
        ),
        name="fit",
    )


def ask_forever(collectives: Any, held: Any, n_threads: int) -> None:
    """A fit without an end."""
    collectives.send_event(
        {
            "pid": os.getpid(),
            "worker": distributed.get_worker().address,
            "last": collectives.rank == collectives.n_ranks - 1,
        }
    )
    while True:
        collectives.total(1)
        time.sleep(0.001)


def endless(*args: Any) -> Any:
    """`ask_forever` as a function that workers can unpickle."""
    return lambda *args: ask_forever(*args)


@pytest.fixture(scope="module", autouse=True)
def _pickle_by_value() -> Iterator[None]:
    import cloudpickle

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


def call_all(collectives: Any, held: Any, n_threads: int) -> Any:
    """One of each collective, checked by the processes themselves."""
    n, own = collectives.n_ranks, collectives.rank
    given = collectives.all_to_all([(own, other, "text") for other in range(n)])
    assert given == [(other, own, "text") for other in range(n)]
    for size in (0, 1, 100, 5_000, 200_000):
        array = np.arange(size, dtype=np.int64).reshape(-1, 1) + own
        expected = n * np.arange(size).reshape(-1, 1) + sum(range(n))
        gathered = collectives.all_gather(array)
        for other in range(n):
            np.testing.assert_array_equal(gathered[other] - other, array - own)
        returned = collectives.all_reduce(array)
        assert returned is array
        np.testing.assert_array_equal(array, expected)
        # What was got must not change when the others write to their arrays.
        collectives.total(0)
        for other in set(range(n)) - {own}:
            np.testing.assert_array_equal(
                gathered[other] - other, np.arange(size)[:, None]
            )
    names, array = collectives.all_gather((["a"] * (own + 1), np.arange(40_000)[::2]))[
        n - 1
    ]
    assert len(names) == n
    np.testing.assert_array_equal(array, np.arange(0, 40_000, 2))
    return collectives.total(10**30), collectives.n_collectives, collectives.n_bytes


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_collectives(client: Any, n_parts: int) -> None:
    total, n_collectives, n_bytes = launch.run(
        client, put(client, n_parts), lambda *args: call_all(*args), name="fit"
    )
    n_ranks = min(n_parts, N_WORKERS)
    assert total == n_ranks * 10**30
    assert n_collectives >= 18
    assert (n_bytes > 1_000_000) == (n_ranks > 1)
    assert_clean(client)


def test_within_a_process() -> None:
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        total, *_ = launch.run(
            client, put(client, 3), lambda *args: call_all(*args), name="fit"
        )
        assert total == 3 * 10**30
        with pytest.raises(ZeroDivisionError):
            launch.run(
                client,
                put(client, 3),
                lambda collectives, *_: 1 // collectives.rank,
                name="fit",
            )
        assert_clean(client)


def test_over_tls() -> None:
    pytest.importorskip("cryptography")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            protocol="tls://",
            security=distributed.Security.temporary(),
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert cluster.scheduler_address.startswith("tls://")
        total, *_ = launch.run(
            client, put(client, 2), lambda *args: call_all(*args), name="fit"
        )
        assert total == 2 * 10**30
        assert_fails_soon(client, put(client, 2), kill_last, launch.WorkersLost)


def test_parts_stay_where_they_are(client: Any) -> None:
    parts = put(client, 7)
    distributed.wait(list(parts.values()))
    held_by = client.who_has(list(parts.values()))

    def look(collectives: Any, held: Any, n_threads: int) -> Any:
        worker = distributed.get_worker()
        same = all(worker.data[keys[part]] is value for part, value in held.items())
        return collectives.all_gather((worker.address, list(held), same, n_threads))

    keys = {part: future.key for part, future in parts.items()}
    seen = launch.run(client, parts, look, name="fit")
    assert min(seen[0][1]) == 0
    for address, held, same, n_threads in seen:
        assert held == sorted(held)
        assert all(held_by[keys[part]] == (address,) for part in held)
        assert same
        assert n_threads == 1


@pytest.fixture
def replicas(client: Any) -> Iterator[None]:
    """The scheduler keeps all copies of what several workers hold.

    Its memory manager removes all but one of them every two seconds.
    """
    client.amm.stop()
    yield
    client.amm.start()


@pytest.mark.usefixtures("replicas")
def test_parts_on_several_workers_are_balanced(client: Any) -> None:
    futures = client.scatter([np.zeros(100) for _ in range(6)], broadcast=True)
    parts = {("X", number): future for number, future in enumerate(futures)}
    seen = launch.run(
        client,
        parts,
        lambda collectives, held, _: collectives.all_gather(len(held)),
        name="fit",
    )
    assert seen == [2, 2, 2]
    worker = sorted(client.nthreads())[0]
    seen = launch.run(
        client,
        put(client, 3),
        lambda collectives, held, _: collectives.all_gather(sorted(held)),
        name="fit",
        workers=[worker],
    )
    assert seen == [[0, 1, 2]]
    with pytest.raises(ValueError, match="no partitions"):
        launch.run(client, {}, lambda *_: None, name="fit")


def test_fits_at_the_same_time(cluster: Any) -> None:
    """Each fit needs all workers, whose slots the tasks of the other one could hold."""

    def fit(number: int) -> int:
        with distributed.Client(cluster) as client:
            return launch.run(
                client,
                put(client, 3),
                lambda collectives, *_: sum(collectives.total(i) for i in range(100)),
                name=f"fit{number}",
            )

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fit, range(4))) == [3 * 4950] * 4


def test_events_come_in_order_in_the_thread_of_the_caller(client: Any) -> None:
    def work(collectives: Any, held: Any, n_threads: int) -> str:
        for number in range(20):
            if collectives.rank == 0:
                collectives.send_event({"round": number, "values": [1.5, "text"]})
            collectives.total(1)
        return "done"

    events, threads = [], set()

    def on_event(event: Any) -> None:
        events.append(event)
        threads.add(threading.get_ident())

    assert (
        launch.run(client, put(client, 3), work, name="f", on_event=on_event) == "done"
    )
    assert events == [{"round": i, "values": (1.5, "text")} for i in range(20)]
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("rank", [0, -1])
def test_an_error_of_one_rank_reaches_the_client(
    client: Any, rank: int, n_parts: int
) -> None:
    class OfMyOwn(ValueError):
        pass

    def work(collectives: Any, held: Any, n_threads: int) -> None:
        collectives.total(1)
        if collectives.rank == rank % collectives.n_ranks:
            raise OfMyOwn("what is wrong")
        collectives.total(1)

    with pytest.raises(ValueError, match="what is wrong"):
        launch.run(client, put(client, n_parts), work, name="fit")
    assert_clean(client)


def test_an_error_of_a_part_reaches_the_client(client: Any) -> None:
    parts = put(client, 2) | {2: client.submit(lambda: 1 // 0)}
    with pytest.raises(ZeroDivisionError):
        total_of(client, parts)
    assert_clean(client)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("n_parts", [1, 3])
def test_an_interrupt_stops_the_ranks(client: Any, error: type, n_parts: int) -> None:
    def interrupt(event: Any) -> None:
        raise error

    with pytest.raises(error):
        launch.run(
            client, put(client, n_parts), endless(), name="fit", on_event=interrupt
        )
    assert_clean(client)


def assert_fails_soon(
    client: Any,
    parts: dict[int, Any],
    strike: Callable[[Any], Any],
    error: type,
    match: str | None = None,
) -> None:
    """A fit ends with an error seconds after something has struck it."""
    struck = []

    def on_event(event: Any) -> None:
        strike(event)
        struck.append(time.monotonic())

    with pytest.raises(error, match=match):
        launch.run(client, parts, endless(), name="fit", on_event=on_event)
    assert time.monotonic() - struck[-1] < 5


def kill_last(event: dict[str, int]) -> None:
    if event["last"]:
        os.kill(event["pid"], signal.SIGKILL)


@pytest.mark.parametrize("n_parts", [1, 3])
def test_a_worker_that_is_killed(client: Any, n_parts: int) -> None:
    assert_fails_soon(
        client, put(client, n_parts), kill_last, launch.WorkersLost, "Call fit again"
    )
    assert_clean(client)


def test_a_client_that_goes_away(cluster: Any, client: Any) -> None:
    with process(fit_forever, cluster.scheduler_address) as (_, said):
        assert said == "runs"
        assert left(client)
    assert_clean(client)


def test_a_scheduler_that_is_lost() -> None:
    with (
        process(hold_cluster) as (holder, address),
        distributed.Client(address, timeout=2) as client,
    ):
        assert_fails_soon(
            client,
            put(client, 2),
            lambda event: holder.kill(),
            RuntimeError,
            "connection to the scheduler",
        )


def test_a_worker_that_leaves() -> None:
    def retire(event: dict[str, Any]) -> None:
        if event["last"]:
            client.retire_workers([event["worker"]])

    # It does not come back: a cluster that others use would have one worker less.
    with new_cluster() as cluster, distributed.Client(cluster) as client:
        parts = put(client, 3)
        assert_fails_soon(client, parts, retire, launch.WorkersLost)
        # Dask has moved the part of the worker to another one.
        assert total_of(client, parts) == 2 * 3
        assert_clean(client)
