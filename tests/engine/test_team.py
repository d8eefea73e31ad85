"""The threads that run the loops of kernels."""

from __future__ import annotations

import os
import sys

import processes
import pytest

from skgoss._engine import runtime

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and runtime.compiler().startswith("GCC")),
    reason="the threads of OpenMP",
)

STARTED = """
import os
import numpy as np
from skgoss import LGBMRegressor

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


SCRIPTS = {
    "test_no_more_threads_than_cores_are_started": lambda n_cores: (
        processes.anew(
            "-W", "ignore", "-c", STARTED.replace("{n_cores}", str(n_cores))
        ),
    ),
}


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
def test_a_loop_has_as_many_parts_as_threads_were_asked_for(n_threads):
    assert runtime.team_size(n_threads) == n_threads
