"""Time, memory and tables, the same way for every question."""

from __future__ import annotations

import argparse
import ctypes
import gc
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from adapters import ALL, LIBRARIES


def fresh(function: Callable[..., Any], *args: Any, threads: int | None = None) -> Any:
    """Call a module's function in a new process, so that nothing is shared.

    Thread teams that still spin, warm caches and peaks of memory would otherwise be
    charged to the library that comes next.
    """
    if threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return pool.submit(function, *args).result()
    finally:
        os.environ.pop("OMP_NUM_THREADS", None)


@dataclass(frozen=True)
class Failed:
    """A measurement that failed, and why."""

    reason: str


def attempt(
    function: Callable[..., Any], *args: Any, threads: int | None = None
) -> Any:
    """Return what `fresh` returns, or Failed: of a library that cannot do it."""
    try:
        return fresh(function, *args, threads=threads)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return Failed(f"{type(error).__name__}: {lines[0][:200]}")


def failures(results: Mapping[Any, Sequence[Any]]) -> dict[Any, str]:
    """Return the reason of each job that failed at least once."""
    return {
        key: run.reason
        for key, runs in results.items()
        for run in runs
        if isinstance(run, Failed)
    }


def alternate(
    jobs: Mapping[Hashable, Callable[[], Any]], repeats: int
) -> dict[Hashable, list[Any]]:
    """Run each job `repeats` times, all of them once before any of them again.

    A machine that slows down for a while then slows down all jobs. Every other round
    is in reverse order, so that no job always comes first.
    """
    results: dict[Hashable, list[Any]] = {key: [] for key in jobs}
    for turn in range(repeats):
        for key in list(jobs)[:: -1 if turn % 2 else 1]:
            results[key].append(jobs[key]())
    return results


def seconds(call: Callable[[], Any]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best_of(call: Callable[[], Any], budget: float, least: int = 3) -> float:
    """Return the shortest time of one call in `budget` seconds of calls."""
    times = [seconds(call) for _ in range(least)]
    while sum(times) < budget:
        times.append(seconds(call))
    return min(times)


def peak_extra(call: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds and the peak of memory above what was resident before, in MB.

    The peak is NaN where the system does not report it (it is read from Linux's /proc).
    """
    before = forget_peak()
    return seconds(call), peak() - before


def forget_peak() -> float:
    """Start to watch the peak of memory; return what is resident now, in MB."""
    try:
        _give_back()
        Path("/proc/self/clear_refs").write_text("5")
        return _resident("VmRSS")
    except OSError:
        return float("nan")


def peak() -> float:
    """Return the peak of memory since it was forgotten, in MB."""
    try:
        return _resident("VmHWM")
    except OSError:
        return float("nan")


def _give_back() -> None:
    """Return freed memory to the system, or a fit that uses it would seem to need none.

    Only glibc knows how.
    """
    gc.collect()
    if platform.system() != "Linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _resident(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {field}")


def summary(times: Sequence[float], unit: float = 1.0) -> str:
    """Write best (median) in units of `unit` seconds."""
    return f"{digits(min(times) / unit)} ({digits(median(times) / unit)})"


def digits(value: float) -> str:
    """Write a number with three significant digits, never in exponents."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def relative(times: Mapping[str, Sequence[float]], library: str) -> str:
    """Write how many times the best time of LightGBM is that of a library."""
    if "lightgbm" not in times:
        return ""
    return digits(min(times["lightgbm"]) / min(times[library]))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def report(title: str, libraries: Iterable[str], *tables: str) -> None:
    """Print tables under the machine and the versions they were measured with."""
    print("\n\n".join([f"## {title}", machine(libraries), *tables]), flush=True)


def machine(libraries: Iterable[str]) -> str:
    """Name the processor, Python and the versions of what was measured."""
    packages = dict.fromkeys(
        [*(ALL[name].package for name in libraries), "scikit-learn", "numpy"]
    )
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    return (
        f"{_processor()}, {os.cpu_count()} cores; {platform.system()}, "
        f"Python {platform.python_version()}; {versions}."
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found = {line.split(":")[1].strip() for line in lines if "model name" in line}
        return ", ".join(sorted(found)) or platform.machine()
    except OSError:
        return platform.processor() or platform.machine()


def parser(
    question: str,
    libraries: Sequence[str] = tuple(LIBRARIES),
    choices: Sequence[str] = tuple(LIBRARIES),
) -> argparse.ArgumentParser:
    """Make the command line that the benchmarks have in common."""
    made = argparse.ArgumentParser(
        description=question, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    made.add_argument(
        "--libraries", nargs="+", choices=list(choices), default=list(libraries)
    )
    made.add_argument("--repeats", type=int, default=3)
    return made
