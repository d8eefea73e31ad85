"""The threads that run the loops of kernels."""

from __future__ import annotations

import importlib.machinery
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skgoss._engine import threads

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")

STARTED = """
import os, warnings
import numpy as np
from skgoss import LGBMRegressor

warnings.simplefilter("ignore")
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{n_cores}])
X = np.random.default_rng(0).standard_normal((30_000, 10))


def count():
    before = len(os.listdir("/proc/self/task"))
    LGBMRegressor(n_estimators=2, n_jobs=8).fit(X, X[:, 0])
    return len(os.listdir("/proc/self/task")) - before


print(count(), count())
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, str(count()).encode())
    os._exit(0)
os.wait()
print(os.read(read, 10).decode())
"""


@linux
@pytest.mark.parametrize("n_cores", [1, 2])
def test_no_more_threads_than_cores_are_started(n_cores, done):
    if len(os.sched_getaffinity(0)) < n_cores:
        pytest.skip("fewer cores are all there is here")
    assert done.returncode == 0, done.stderr
    once, again, in_child = done.stdout.split()
    assert (int(once), int(again)) == (n_cores - 1, 0)
    assert int(in_child) == n_cores - 1


SIGNALS = """
import os, signal, threading
from skgoss._engine import threads


def blocked(task):
    lines = open(f"/proc/self/task/{task}/status").read().splitlines()
    (bits,) = [int(line.split()[1], 16) for line in lines if line[:6] == "SigBlk"]
    return int(bits >> signal.SIGINT - 1 & 1)


before = {*os.listdir("/proc/self/task")}
threads.traced(4, 1, 4, False)
workers = {*os.listdir("/proc/self/task")} - before
print(*map(blocked, [threading.get_native_id(), *workers]))
"""


@linux
def test_signals_are_for_the_threads_of_python(done):
    """Workers take none, and whoever has started them takes those it took before."""
    assert done.returncode == 0, done.stderr
    n_workers = min(4, len(os.sched_getaffinity(0))) - 1
    assert done.stdout.split() == ["0"] + ["1"] * n_workers


ALONE = """
import os
import numpy as np
from skgoss import LGBMRegressor

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
X = np.random.default_rng(0).standard_normal((30_000, 10))
models = [LGBMRegressor(n_estimators=9, n_jobs=n).fit(X, X[:, 0]) for n in (1, 2, 8)]
print(len({model.predict(X, n_jobs=model.n_jobs).tobytes() for model in models}))
"""


@linux
def test_a_thread_alone_runs_all_parts(done):
    """On one core, it soon leaves out the team."""
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]


LATER = """
import os, resource, threading, time
from skgoss._engine import threads


def count():
    before = len(os.listdir("/proc/self/task"))
    threads.traced(4, 1, 2, False)
    return len(os.listdir("/proc/self/task")) - before


cores = os.sched_getaffinity(0)
if {is_pinned}:
    os.sched_setaffinity(0, sorted(cores)[:1])
else:  # no room for the stack of a thread, and none that is left from others
    for _ in range(20):
        threading.Thread(target=time.sleep, args=(10,), daemon=True).start()
    (size,) = [l for l in open("/proc/self/status") if l.startswith("VmSize")]
    room = int(size.split()[1]) * 1024 + (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
first = count()
os.sched_setaffinity(0, cores)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
time.sleep(0.1)
print(first, count())
"""


@linux
@pytest.mark.parametrize("is_pinned", [True, False])
def test_a_worker_that_cannot_start_may_start_later(is_pinned, done):
    """The first loop is run on one core, or where the system gives no thread."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "1"]


SCRIPTS = {
    "test_a_worker_that_cannot_start_may_start_later": lambda is_pinned: (
        LATER.replace("{is_pinned}", str(is_pinned)),
    ),
    "test_no_more_threads_than_cores_are_started": lambda n_cores: (
        STARTED.replace("{n_cores}", str(n_cores)),
    ),
    "test_signals_are_for_the_threads_of_python": lambda: (SIGNALS,),
    "test_a_thread_alone_runs_all_parts": lambda: (ALONE,),
}


LOOPS = [(0, 1), (1, 1), (10, 1), (80, 7), (5, 16), (1000, 1)]


@pytest.mark.parametrize("in_shares", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
@pytest.mark.parametrize(("n", "block"), LOOPS)
def test_each_iteration_runs_once(n, block, n_threads, in_shares):
    for _ in range(20):
        visits, thread = threads.traced(n, block, n_threads, in_shares)
        assert (visits == 1).all()
        assert ((thread >= 0) & (thread < n_threads)).all()
        # The iterations of a block belong together.
        assert (thread == np.repeat(thread[::block], block)[:n]).all()


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_shares_are_alike_and_in_order(n_threads):
    sizes = set()
    for _ in range(50):
        thread = threads.traced(100, 1, n_threads, True)[1]
        if thread.any():  # else a thread has run them all, as it was worth it
            assert (np.diff(thread) >= 0).all()
            sizes |= {*np.bincount(thread).tolist()}
    assert not sizes or max(sizes) - min(sizes) <= 1


def test_a_loop_within_a_loop_stays_on_its_thread():
    for _ in range(20):
        visits, thread = threads.traced_inside(30, 4).transpose(1, 0, 2)
        assert (visits == 1).all()
        assert (thread == 0).all()


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
@pytest.mark.parametrize(
    ("n", "n_deferred"), [(0, 0), (0, 3), (1, 0), (2, 1), (300, 20)]
)
def test_each_task_runs_once(n, n_deferred, n_threads):
    for _ in range(50):
        visits, thread = threads.traced_tasks(n, n_deferred, n_threads)
        assert (visits == 1).all()
        assert ((thread >= 0) & (thread < n_threads)).all()


@pytest.mark.parametrize(
    "traced",
    [
        lambda: threads.traced(200, 3, 4, False),
        lambda: threads.traced_tasks(200, 10, 4),
    ],
    ids=["loop", "tasks"],
)
def test_loops_of_many_threads_at_once(traced):
    from concurrent.futures import ThreadPoolExecutor

    def runs(_):
        return all((traced()[0] == 1).all() for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(runs, range(8)))


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm lists symbols")
def test_no_module_starts_threads_of_another_library():
    engine = Path(threads.__file__).parent
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0].rsplit(".")[-1]
    modules = sorted(engine.rglob(f"*.{suffix}"))
    assert len(modules) > 20
    listed = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", *modules],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    wanted = {line.split()[-1].split("@")[0] for line in listed.splitlines() if line}
    others = re.compile("GOMP_|omp_|__kmpc_|tbb|cilk|dispatch_|pthread_create")
    assert {*filter(others.match, wanted)} <= {"pthread_create"}
