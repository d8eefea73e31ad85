"""How long does a call take while other processes use the cores, and who waits?"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median

from adapters import LIBRARIES
from measure import Failed, alternate, attempt, digits, failures, parser, report, table
from scaling import WORKLOADS

# A control group of processor time, and how it is told its quota for 100 ms: of version
# 1 of the interface, or 2.
FIRST = Path("/sys/fs/cgroup/cpu")
GROUP, QUOTA, WORDS = (
    (FIRST / "skgoss-contention", "cpu.cfs_quota_us", "{}")
    if FIRST.is_dir()
    else (Path("/sys/fs/cgroup/skgoss-contention"), "cpu.max", "{} 100000")
)


@contextmanager
def _busy(n: int) -> Iterator[None]:
    """Run n processes that do nothing but use a core."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(n)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def _one_core() -> Iterator[None]:
    """Let this process and its children use one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _quota(percent: int) -> Iterator[None]:
    """Limit the processes to a fraction of a core (Linux, as root)."""
    GROUP.mkdir(exist_ok=True)
    (GROUP / QUOTA).write_text(WORDS.format(1000 * percent))
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (GROUP.parent / "cgroup.procs").write_text(str(os.getpid()))
        GROUP.rmdir()


LOADS = {
    "alone": partial(_busy, 0),
    "1 busy process": partial(_busy, 1),
    "2 busy processes": partial(_busy, 2),
    "one core": _one_core,
    "quota 150 %": partial(_quota, 150),
    "quota 50 %": partial(_quota, 50),
}


def measured(
    workload: str, library: str, scale: float, threads: int, calls: int
) -> list[tuple[float, float]]:
    """Wall time and processor time of calls, in seconds."""
    call = WORKLOADS[workload](library, scale, threads)
    call()
    times = []
    for _ in range(calls):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    return times


def _under_load(load: str, *job: object, threads: int) -> object:
    with LOADS[load]():
        return attempt(measured, *job, threads=threads)


def _cell(times: Mapping[int, list[tuple[float, float]]], threads: int) -> list[str]:
    """Median and worst time, and what they and processor time are to one thread's."""
    walls, processors = zip(*times[threads], strict=True)
    one, one_processor = zip(*times[1], strict=True)
    return [
        digits(median(walls)),
        digits(max(walls)),
        digits(median(walls) / median(one)),
        digits(max(walls) / median(one)),
        digits(median(processors) / median(one_processor)),
    ]


def main() -> None:
    """Read the command line, measure, print."""
    libraries = ("skgoss", "lightgbm", "xgboost")
    line = parser(__doc__, libraries, libraries)
    line.add_argument("--scale", type=float, default=0.2, help="part of the rows")
    line.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    line.add_argument("--calls", type=int, default=3, help="in each process")
    line.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS)[:4])
    line.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=["dense"])
    asked = line.parse_args()
    threads = sorted({1, *asked.threads})
    rows = []
    for workload in asked.workloads:
        for load in asked.loads:
            jobs = {
                (library, n): partial(
                    _under_load,
                    load,
                    workload,
                    library,
                    asked.scale,
                    n,
                    asked.calls,
                    threads=n,
                )
                for library in asked.libraries
                for n in threads
            }
            results = alternate(jobs, asked.repeats)
            for (library, n), reason in failures(results).items():
                print(f"{workload}, {load}, {library}, {n}: {reason}", flush=True)
            for library in asked.libraries:
                runs = {n: results[library, n] for n in threads}
                if any(isinstance(run, Failed) for n in threads for run in runs[n]):
                    continue
                times = {n: list(chain(*runs[n])) for n in threads}
                rows += [
                    [workload, load, library, str(n), *_cell(times, n)] for n in threads
                ]
    header = ["workload", "load", "library", "threads", "median, s", "worst, s"]
    header += ["to 1 thread", "worst", "processor time"]
    report(
        "Beside other processes",
        [name for name in asked.libraries if name in LIBRARIES],
        table(header, rows),
    )


if __name__ == "__main__":
    main()
