"""The number of threads, in this process and on this machine."""

from __future__ import annotations

import functools
import os
import threading

import joblib

from skgoss._engine import runtime
from skgoss.utils import messages


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


# OpenMP has a team for each thread of Python: the largest size that could start.
_tried = threading.local()


def _startable(n_threads: int) -> int:
    """How many of these threads the system lets start.

    OpenMP ends the process if one cannot be. Then half of those that can are used:
    others need threads, too.
    """
    n_started = _start_threads(n_threads - 1)
    if n_started < n_threads - 1:
        fewer = 1 + n_started // 2
        messages.warn(
            f"{n_threads} threads cannot be started, so {fewer} are used. Increase the "
            "limit of processes (ulimit -u), or set a smaller n_jobs.",
            RuntimeWarning,
        )
        n_threads = fewer
    _tried.size = n_threads
    return n_threads


def _start_threads(n: int) -> int:
    """How many threads, of n, can be there at once. They end before it returns."""
    end = threading.Event()
    threads = []
    try:
        for _ in range(n):
            thread = threading.Thread(target=end.wait)
            thread.start()
            threads.append(thread)
    except RuntimeError:  # of Python, where the system starts no more
        pass
    finally:
        end.set()
        for thread in threads:
            thread.join()
    return len(threads)


class _Team:
    """Whether threads have been used, and whether they can still be."""

    used = False
    lost = False

    @classmethod
    def after_fork(cls) -> None:
        # GNU OpenMP waits for ever for threads that did not survive the fork.
        cls.lost = cls.lost or cls.used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Team.after_fork)


def n_threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` stands for, here and now.

    None or 0: ``OMP_NUM_THREADS``, or else the physical cores that this process may
    use, but not more than threadpoolctl or joblib allow. Negative: as in joblib, -1 is
    all logical cores, -2 one less, within the same limits.

    The result is at least 1, and at most the logical cores of the machine, or 8 where
    it has fewer. It is 1 in a child of ``os.fork`` whose parent has used threads, and
    smaller, with a warning, where the system does not let so many start.
    """
    if _Team.lost:
        return 1
    threads = allowed_threads(n_jobs)
    if threads > getattr(_tried, "size", 1):
        threads = _startable(threads)
    _Team.used = _Team.used or threads > 1
    return threads


def allowed_threads(n_jobs: int | None) -> int:
    """The same number without a look at forks and at what can be started."""
    n_jobs = n_jobs or 0
    if n_jobs > 0:
        return min(n_jobs, _most_threads())
    wanted = runtime.max_threads()
    if n_jobs < 0:
        wanted = min(wanted, _cores(only_physical=False) + 1 + n_jobs)
    elif "OMP_NUM_THREADS" not in os.environ:
        wanted = min(wanted, _cores(only_physical=True))
    return min(max(1, wanted), _most_threads())
