"""Ctrl-C, and limits of threads: a process of its own for each."""

import json
import os
import sys

import pytest

from helpers import processes

# The traceback says what was interrupted: a kernel that asks for signals is part of it.
INTERRUPTED = """
import json, os, signal, threading, time, traceback
import numpy as np
from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
sent = []


def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


{setup}
# How long the work takes to reach the kernel depends on the machine. A signal that
# missed the kernel comes a bit later the next time, one after the work much earlier.
delay = {delay}
for attempt in range(30):
    before = dict(vars(model))
    timer = threading.Timer(delay, send)
    try:
        timer.start()
        {work}
        timer.cancel()
        timer.join()
        delay /= 4
    except KeyboardInterrupt as error:
        waited = time.monotonic() - sent[-1]
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        same = vars(model).keys() == before.keys() and all(
            vars(model)[name] is value for name, value in before.items())
        if any(name.endswith("{kernel}") for name in frames):
            print(json.dumps([waited, same]))
            break
        delay *= 1.2
"""

BOUNDS = """
X = rng.standard_normal((200_000, 150), dtype=np.float32)
y = X[:, 0]
model = LGBMRegressor(n_jobs={n_jobs}, n_estimators=1)
"""

TREE = """
X = rng.standard_normal((200_000, 30), dtype=np.float32)
y = rng.standard_normal(200_000)
model = LGBMRegressor(
    n_jobs={n_jobs}, n_estimators=1, num_leaves=131_072, min_child_samples=1,
    min_child_weight=0, subsample_for_bin=1000)
"""

CLASSES = """
X = rng.standard_normal((100_000, 30), dtype=np.float32)
y = rng.integers(0, 4, 100_000)
model = LGBMClassifier(
    n_jobs={n_jobs}, n_estimators=1, num_leaves=100_000, min_child_samples=1,
    min_child_weight=0, subsample_for_bin=1000)
"""

PAIRS = """
X = rng.standard_normal((300_000, 1), dtype=np.float32)
y = rng.integers(0, 4, 300_000)
model = LGBMRanker(
    n_jobs={n_jobs}, n_estimators=1, lambdarank_truncation_level=10_000)
"""

ROWS = """
X = rng.standard_normal((20_000, 5), dtype=np.float32)
y = rng.standard_normal(20_000)
model = LGBMRegressor(n_jobs={n_jobs}, n_estimators=25, num_leaves=255).fit(X, y)
X = np.tile(X, (75, 1))
"""

EXPLAIN = (
    ROWS
    + """
from skgoss.columns import containers
from skgoss.model.contributions import contributions
columns = containers.columns(X, model._model.schema, owner='model')
"""
)


SILENT = "import warnings; warnings.simplefilter('ignore')"


def output(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def interrupted(kernel, setup, delay, work, n_jobs):
    """The script that interrupts a kernel."""
    script = INTERRUPTED.replace("{setup}", setup).replace("{kernel}", kernel)
    for mark, value in (("delay", delay), ("work", work), ("n_jobs", n_jobs)):
        script = script.replace(f"{{{mark}}}", str(value))
    return (SILENT + script,)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "setup", "delay", "work"),
    [
        ("bin_bounds.find_bounds", BOUNDS, 0.3, "model.fit(X, y)"),
        ("grower.TreeGrower.grow_rounds", TREE, 0.5, "model.fit(X, y)"),
        ("grower.TreeGrower.grow_rounds", CLASSES, 0.25, "model.fit(X, y)"),
        (
            "ranking_kernels.lambdarank",
            PAIRS,
            0.25,
            "model.fit(X, y, group=[10_000] * 30)",
        ),
        ("predict.Predictor.run", ROWS, 0.1, "model.predict(X)"),
        (
            "contribution_kernels.Explainer.run",
            EXPLAIN,
            0.5,
            "contributions(model._model.trees, columns, n_threads={n_jobs})",
        ),
    ],
    ids=["binning", "tree", "trees", "pairs", "predict", "explain"],
)
def test_an_interrupt_ends_a_kernel(kernel, setup, delay, work, n_jobs, done):
    waited, same = json.loads(output(done))
    assert waited < 2
    assert same


IN_A_THREAD = """
import os, signal, threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from skgoss import LGBMRegressor
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.standard_normal((50_000, 20))
y = rng.standard_normal(50_000)
options = {"n_estimators": 2, "num_leaves": 5000, "min_child_samples": 1, "n_jobs": 2}
expected = LGBMRegressor(**options).fit(X, y).predict(X)
model = LGBMRegressor(**options)
timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
with ThreadPoolExecutor(1) as pool:
    fit = pool.submit(model.fit, X, y)
    timer.start()
    try:
        fit.result()
    except KeyboardInterrupt:
        print((fit.result().predict(X) == expected).all())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_leaves_fits_of_other_threads_alone(done):
    assert output(done) == "True\n"


MANY = """
import numpy as np
from skgoss import LGBMRegressor
from skgoss.utils.thread_counts import n_threads
X = np.random.default_rng(0).standard_normal((30_000, 10))
few = LGBMRegressor(n_jobs=1, n_estimators=1).fit(X, X[:, 0])
for n_jobs in {n_jobs}:
    many = LGBMRegressor(n_jobs=n_jobs, n_estimators=1).fit(X, X[:, 0])
    print(n_threads(n_jobs), (many.predict(X) == few.predict(X)).all())
"""


ALL_THREADS = MANY.format(n_jobs=[None, 100_000, -1])


def test_no_more_threads_than_the_machine_has(done):
    lines = output(done).splitlines()
    assert len(lines) == 3
    for line in lines:
        used, same = line.split()
        assert 1 <= int(used) <= max(os.cpu_count(), 8)
        assert same == "True"


# Root has no limit of threads, so that no other user's limit is needed to see one.
LIMITED = """
import os, resource
import skgoss.utils.thread_counts
skgoss.LGBMRegressor(n_jobs=1, n_estimators=1).fit([[0.0], [1.0]], [0, 1])
if os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (4, 4))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of Linux")
def test_fits_where_threads_cannot_start(done):
    assert output(done) == "8 True\n"


SCRIPTS = {
    "test_an_interrupt_ends_a_kernel": interrupted,
    "test_an_interrupt_leaves_fits_of_other_threads_alone": lambda: (
        SILENT + IN_A_THREAD,
    ),
    "test_no_more_threads_than_the_machine_has": lambda: (
        processes.new_python(
            "-W", "ignore", "-c", ALL_THREADS, OMP_NUM_THREADS="100000"
        ),
    ),
    "test_fits_where_threads_cannot_start": lambda: (
        SILENT + LIMITED + MANY.format(n_jobs=[8]),
    ),
}
