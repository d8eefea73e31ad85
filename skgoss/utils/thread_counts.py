"""The number of threads that ``n_jobs`` stands for, here and now.

The threads themselves are those of `_engine/threads.pyx`.
"""

from __future__ import annotations

import functools
import os
import re

import joblib
import threadpoolctl

from skgoss._engine import threads as pool


def _cores(*, only_physical: bool) -> int:
    """The cores that this process may use: by its affinity, cgroup and environment."""
    affinity = getattr(os, "sched_getaffinity", lambda process: ())(0)
    limit = os.environ.get("LOKY_MAX_CPU_COUNT")
    return _counted_cores(only_physical, frozenset(affinity), limit)


@functools.cache
def _counted_cores(
    only_physical: bool, affinity: frozenset[int], limit: str | None
) -> int:
    """`_cores` for one affinity and environment, remembered.

    The result depends on ``affinity``, the numbers of the cores that the process may
    run on, and ``limit``, an environment variable, through joblib.
    joblib reads the files of the cgroup in each call, which takes longer than to
    predict a row.
    """
    return joblib.cpu_count(only_physical_cores=only_physical)


# The number of threads that may run on any machine, however few cores it has.
MIN_THREAD_LIMIT = 8


@functools.cache
def _machine_limit() -> int:
    """The largest number of threads on this machine, even if ``n_jobs`` is larger."""
    return max(os.cpu_count() or 1, MIN_THREAD_LIMIT)


def _wanted() -> int | None:
    """The first number of ``OMP_NUM_THREADS``; None: it is not set."""
    found = re.match(r"\s*([1-9]\d*)\s*(,|$)", os.environ.get("OMP_NUM_THREADS", ""))
    return int(found[1]) if found else None


def _unlimited_threads() -> int:
    return _wanted() or _cores(only_physical=False)


def max_threads() -> int:
    """The most threads here and now where ``n_jobs`` does not name a number.

    ``OMP_NUM_THREADS``, or else all logical cores, but not more than threadpoolctl
    allows.
    """
    return min(_unlimited_threads(), pool.limit() or _machine_limit())


class EnginePool(threadpoolctl.LibController):
    """The threads of the engine, which threadpoolctl limits with those of OpenMP."""

    user_api = "openmp"
    internal_api = "skgoss"
    filename_prefixes = ("threads.",)
    check_symbols = ("skgoss_limit_pool",)

    def get_num_threads(self) -> int:
        return max_threads()

    def set_num_threads(self, num_threads: int) -> None:
        """Limit this thread; its number without a limit removes the limit."""
        pool.set_limit(num_threads if num_threads < _unlimited_threads() else 0)

    def get_version(self) -> None:
        return None


threadpoolctl.register(EnginePool)


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
        return min(n_jobs, _machine_limit())
    wanted = max_threads()
    if n_jobs < 0:
        wanted = min(wanted, _cores(only_physical=False) + 1 + n_jobs)
    elif _wanted() is None:
        wanted = min(wanted, _cores(only_physical=True))
    return min(max(1, wanted), _machine_limit())
