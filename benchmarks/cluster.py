"""How long does a fit on a Dask cluster take, and what do its workers send and keep?

Workers are processes of one thread on this machine. They hold the data before the clock
starts, in eight chunks of rows. The second fit is timed: the
first one loads libraries. The same rows are fitted by one process with as many threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from adapters import EQUAL, LIBRARIES, make
from data import Problem, dense_binary, onehot
from measure import (
    Failed,
    alternate,
    attempt,
    digits,
    failures,
    forget_peak,
    parser,
    peak,
    peak_extra,
    relative,
    report,
    seconds,
    table,
)
from scipy.sparse import issparse

ROUNDS = EQUAL["n_estimators"]
N_CHUNKS = 8
SHAPES: Mapping[str, Callable[[float], Problem]] = {
    "500k x 28": lambda scale: dense_binary(scale / 2),
    "one-hot": onehot,
}


@dataclass(frozen=True)
class Run:
    """What a fit on a cluster took.

    Attributes
    ----------
    seconds : float
    memory : float
        The largest peak of a worker above what it held before, MB.
    collectives, sent : float
        For each tree, how often the workers waited for each other, and the MB that a
        worker sent to each other one. NaN where the library does not count them.
    """

    seconds: float
    memory: float
    collectives: float = float("nan")
    sent: float = float("nan")


def rows(shape: str, scale: float) -> tuple[Any, np.ndarray, int]:
    """The training rows, the labels, and the number of rows of a chunk."""
    problem = SHAPES[shape](scale)
    X, y = problem.train
    X = X if issparse(X) else X.astype(np.float32)
    return X, y, -(-len(y) // N_CHUNKS)


def local(shape: str, scale: float, threads: int) -> Run:
    """Time a fit in this process."""
    X, y, _ = rows(shape, scale)
    model = make("skgoss", "binary", {**EQUAL, "n_jobs": threads})
    model.fit(X, y)
    return Run(*peak_extra(lambda: model.fit(X, y)))


def spread(library: str, shape: str, scale: float, n_workers: int) -> Run:
    """Time the second fit on a number of workers."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        X, y = scattered(client, shape, scale)
        model = make(library, "binary", EQUAL, on_cluster=True)
        model.fit(X, y)
        if library == "skgoss":
            client.run(count)
        before = client.run(forget_peak)
        taken = seconds(lambda: model.fit(X, y))
        after = client.run(peak)
        memory = max(after[worker] - before[worker] for worker in before)
        if library != "skgoss":
            return Run(taken, memory)
        counted = client.run(counts).values()
        collectives, sent = (
            max(numbers) / ROUNDS for numbers in zip(*counted, strict=True)
        )
        return Run(taken, memory, collectives, sent / 1e6)


def scattered(client: Any, shape: str, scale: float) -> tuple[Any, Any]:
    """The rows and labels as Dask arrays, whose chunks lie on the workers in turn."""
    import dask.array as da
    from distributed import wait

    X, y, n_rows = rows(shape, scale)
    workers = list(client.nthreads())
    blocks = []
    for i, start in enumerate(range(0, len(y), n_rows)):
        address = [workers[i % len(workers)]]
        chunk = slice(start, start + n_rows)
        blocks.append(
            [
                da.from_delayed(
                    client.scatter(part[chunk], workers=address, hash=False),
                    part[chunk].shape,
                    meta=part[:0],
                )
                for part in (X, y)
            ]
        )
    found = tuple(da.concatenate(parts) for parts in zip(*blocks, strict=True))
    found = client.persist(found)
    wait(found)
    return found


def count() -> None:
    """On a worker: count what processes of fits send from now on."""
    from skgoss.dask.fits import Work

    fit = Work.__call__

    def counting(self: Any, collectives: Any, *args: Any) -> Any:
        try:
            return fit(self, collectives, *args)
        finally:
            Work.counts = collectives.n_collectives, collectives.n_bytes

    Work.__call__ = counting


def counts() -> tuple[int, int]:
    """On a worker: the collectives of the last fit, and the bytes it sent."""
    from skgoss.dask.fits import Work

    return Work.counts


def times(
    libraries: list[str], shape: str, scale: float, repeats: int
) -> tuple[str, str]:
    """Tables of one shape: two workers, and the local fit; numbers of workers."""
    jobs: dict[Any, Callable[[], Any]] = {
        (library, 2): partial(attempt, spread, library, shape, scale, 2, threads=1)
        for library in libraries
    }
    jobs["local"] = partial(attempt, local, shape, scale, 2, threads=2)
    for n_workers in (1, 4):
        jobs["skgoss", n_workers] = partial(
            attempt, spread, "skgoss", shape, scale, n_workers, threads=1
        )
    results = alternate(jobs, repeats)
    for key, reason in failures(results).items():
        print(f"{key} on {shape}: {reason}")
    best = {
        key: min(
            (run for run in runs if not isinstance(run, Failed)),
            key=lambda run: run.seconds,
            default=Run(*[float("nan")] * 4),
        )
        for key, runs in results.items()
    }
    return _of_libraries(libraries, best), _of_workers(best)


def _of_libraries(libraries: list[str], best: Mapping[Any, Run]) -> str:
    whole = best["local"]
    taken = {library: [best[library, 2].seconds] for library in libraries}
    lines = [
        [
            library,
            digits(best[library, 2].seconds),
            relative(taken, library),
            digits(best[library, 2].seconds / whole.seconds),
            digits(best[library, 2].memory),
        ]
        for library in libraries
    ]
    lines.append(
        ["skgoss, one process", digits(whole.seconds), "", "", digits(whole.memory)]
    )
    header = ["library", "seconds", "lightgbm / it", "it / one process"]
    return table([*header, "MB a worker"], lines)


def _of_workers(best: Mapping[Any, Run]) -> str:
    header = [
        "workers",
        "seconds",
        "collectives a tree",
        "MB sent a tree",
        "MB a worker",
    ]
    return table(
        header,
        [
            [
                n_workers,
                *map(digits, (run.seconds, run.collectives, run.sent, run.memory)),
            ]
            for n_workers in (1, 2, 4)
            if (run := best.get(("skgoss", n_workers))) is not None
        ],
    )


def main() -> None:
    """Read the command line, measure, print."""
    able = [name for name, library in LIBRARIES.items() if library.on_cluster]
    line = parser(__doc__, able, able)
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    asked = line.parse_args()
    for shape in asked.shapes:
        libraries, workers = times(asked.libraries, shape, asked.scale, asked.repeats)
        report(
            f"Dask, {shape}",
            asked.libraries,
            "Two workers of one thread, and one process of two threads:",
            libraries,
            "skgoss; each worker has one thread, so four of them share the cores:",
            workers,
        )


if __name__ == "__main__":
    main()
