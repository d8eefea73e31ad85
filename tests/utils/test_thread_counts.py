"""The number of threads that `n_jobs` stands for, and what limits it."""

from __future__ import annotations

import importlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skgoss.utils import thread_counts


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 8), (0, 8), (1, 1), (3, 3), (-1, 16), (-3, 14)]
)
def test_n_threads(n_jobs, expected, machine):
    machine(16, n_cores=8)
    assert thread_counts.n_threads(n_jobs) == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux has it")
@pytest.mark.parametrize("n_jobs", [None, -1])
def test_n_threads_follows_the_affinity(monkeypatch, n_jobs):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    many = thread_counts.n_threads(n_jobs)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert thread_counts.n_threads(n_jobs) == 1
    finally:
        os.sched_setaffinity(0, before)
    assert thread_counts.n_threads(n_jobs) == many


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 2), (-1, 2), (-2, 1), (5, 5)])
def test_n_threads_follows_the_quota_of_a_container(
    monkeypatch, machine, n_jobs, expected
):
    machine(64)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    # The file of the quota, as joblib reads it.
    context = importlib.import_module("joblib.externals.loky.backend.context")
    monkeypatch.setattr(context, "_cpu_count_cgroup", lambda os_cpu_count: 2)
    monkeypatch.setattr(context, "_cpu_count_affinity", lambda os_cpu_count: 64)
    thread_counts._counted_cores.cache_clear()
    try:
        assert thread_counts.n_threads(n_jobs) == expected
    finally:
        thread_counts._counted_cores.cache_clear()


def test_threadpoolctl_limits_the_threads_of_the_engine(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    most = thread_counts.n_threads(None)
    (info,) = (lib for lib in threadpool_info() if lib["internal_api"] == "skgoss")
    assert (info["user_api"], info["num_threads"], most) == ("openmp", 3, 3)
    with threadpool_limits(2, user_api="openmp"):
        assert [thread_counts.n_threads(n) for n in (None, -1, 5)] == [2, 2, 5]
        with ThreadPoolExecutor(1) as pool:  # it limits a thread, as OpenMP does
            assert pool.submit(thread_counts.n_threads, None).result() == 3
    assert thread_counts.n_threads(None) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert thread_counts.n_threads(None) == 4


@pytest.mark.parametrize("text", ["", "0", "-1", "many"])
def test_a_variable_without_a_number_is_left_out(monkeypatch, machine, text):
    machine(16, n_cores=8)
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert thread_counts.n_threads(None) == 8


def test_n_threads_keep_to_limits(monkeypatch, machine):
    machine(16, n_cores=8)
    monkeypatch.setattr(thread_counts, "max_threads", lambda: 2)
    assert [thread_counts.n_threads(n) for n in (None, 0, -1, -99)] == [2, 2, 2, 1]
    monkeypatch.setattr(thread_counts, "max_threads", lambda: 12)
    monkeypatch.setenv("OMP_NUM_THREADS", "12")
    assert thread_counts.n_threads(None) == 12
