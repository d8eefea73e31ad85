"""The number of threads, in this process and on this machine."""

from __future__ import annotations

import functools
import os

import joblib

from skgoss._engine import runtime


def _cores(*, only_physical: bool) -> int:
    """The cores that this process may use: by its affinity, cgroup and environment."""
    affinity = getattr(os, "sched_getaffinity", lambda process: ())(0)
    limit = os.environ.get("LOKY_MAX_CPU_COUNT")
    return _counted_cores(only_physical, frozenset(affinity), limit)


@functools.cache
def _counted_cores(
    only_physical: bool, affinity: frozenset[int], limit: str | None
) -> int:
    """The same for one affinity and environment.

    joblib reads the files of the cgroup each time, longer than a row is predicted.
    """
    return joblib.cpu_count(only_physical_cores=only_physical)


# So many threads may run on any machine, however few cores it has.
FEW_THREADS = 8


@functools.cache
def _most_threads() -> int:
    return max(os.cpu_count() or 1, FEW_THREADS)


def n_threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` stands for, here and now.

    None or 0: ``OMP_NUM_THREADS``, or else the physical cores that this process may
    use, but not more than threadpoolctl or joblib allow. Negative: as in joblib, -1 is
    all logical cores, -2 one less, within the same limits.

    The result is at least 1, and at most the logical cores of the machine, or 8 where
    it has fewer.
    """
    n_jobs = n_jobs or 0
    if n_jobs > 0:
        return min(n_jobs, _most_threads())
    wanted = runtime.max_threads()
    if n_jobs < 0:
        wanted = min(wanted, _cores(only_physical=False) + 1 + n_jobs)
    elif "OMP_NUM_THREADS" not in os.environ:
        wanted = min(wanted, _cores(only_physical=True))
    return min(max(1, wanted), _most_threads())
