"""The threads that run the loops of kernels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skgoss._engine import runtime

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and runtime.compiler().startswith("GCC")),
    reason="the threads of OpenMP",
)
SOURCE = Path(__file__).parents[2] / "skgoss" / "_engine" / "team.c"

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
from skgoss._engine import runtime


def blocked(task):
    lines = open(f"/proc/self/task/{task}/status").read().splitlines()
    (bits,) = [int(line.split()[1], 16) for line in lines if line[:6] == "SigBlk"]
    return int(bits >> signal.SIGINT - 1 & 1)


before = {*os.listdir("/proc/self/task")}
runtime.team_size(4)
workers = {*os.listdir("/proc/self/task")} - before
print(*map(blocked, [threading.get_native_id(), *workers]))
"""


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


def test_a_thread_alone_runs_all_parts(done):
    """On one core, it soon leaves out the team."""
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]


SCRIPTS = {
    "test_no_more_threads_than_cores_are_started": lambda n_cores: (
        STARTED.replace("{n_cores}", str(n_cores)),
    ),
    "test_signals_are_for_the_threads_of_python": lambda: (SIGNALS,),
    "test_a_thread_alone_runs_all_parts": lambda: (ALONE,),
}


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
def test_a_loop_has_as_many_parts_as_threads_were_asked_for(n_threads):
    assert runtime.team_size(n_threads) == n_threads


# How many threads the user asks for is a variable of OpenMP.
ALLOWED = {"omp_get_max_threads"}


def test_no_module_starts_threads_of_another_library():
    engine = Path(runtime.__file__).parent
    modules = [str(path) for path in engine.rglob("*.so")]
    listed = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", *modules],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    wanted = {line.split()[-1].split("@")[0] for line in listed.splitlines() if line}
    assert "__wrap_GOMP_parallel" in wanted
    others = re.compile("GOMP_|omp_|__kmpc_|tbb|cilk")
    assert set(filter(others.match, wanted)) <= ALLOWED


# Two threads begin a loop whose iterations are handed out. Both have seen that nobody
# has begun it when the first one gets the lock; the other gets it after the last one.
MEETING = """
#include <stdlib.h>
static atomic_uint n_waiting, n_done, taken[100];
static Region region;
static long n, chunk;

int meet(pthread_mutex_t *lock)
{
    unsigned number = atomic_fetch_add(&n_waiting, 1);
    while (number == 0 ? atomic_load(&n_waiting) < 2 : atomic_load(&n_done) < 1)
        sched_yield();
    return 0;
}

int leave(pthread_mutex_t *lock) { return 0; }

static void *take(void *nothing)
{
    long i, end;
    current = &region;
    bool more = __wrap_GOMP_loop_nonmonotonic_dynamic_start(0, n, 1, chunk, &i, &end);
    while (more) {
        while (i < end)
            atomic_fetch_add(&taken[i++], 1);
        more = __wrap_GOMP_loop_nonmonotonic_dynamic_next(&i, &end);
    }
    atomic_fetch_add(&n_done, 1);
    return nothing;
}

int main(int n_arguments, char **arguments)
{
    pthread_t threads[2];
    n = atol(arguments[1]);
    chunk = atol(arguments[2]);
    for (int k = 0; k < 2; k++)
        pthread_create(&threads[k], NULL, take, NULL);
    for (int k = 0; k < 2; k++)
        pthread_join(threads[k], NULL);
    for (int i = 0; i < 100; i++)
        if (atomic_load(&taken[i]) != (i < n))
            return 1;
    return 0;
}
"""


@pytest.fixture(scope="module")
def meeting(tmp_path_factory):
    program = tmp_path_factory.mktemp("meeting") / "program"
    renamed = ["-Dpthread_mutex_lock=meet", "-Dpthread_mutex_unlock=leave"]
    options = ["-x", "c", "-pthread", "-w", *renamed, "-include", SOURCE, "-", "-o"]
    subprocess.run(["gcc", *options, program], input=MEETING, text=True, check=True)
    return program


@pytest.mark.skipif(shutil.which("gcc") is None, reason="a compiler")
@pytest.mark.parametrize(("n", "chunk"), [(0, 1), (1, 1), (10, 1), (80, 7), (5, 16)])
def test_each_iteration_is_handed_out_once(meeting, n, chunk):
    command = [meeting, str(n), str(chunk)]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0
