"""Fixtures of all tests, and the order of the tests."""

import gc
import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from sklearn.datasets import load_diabetes, load_iris

from helpers import grids, processes
from skgoss.objectives import percentiles
from skgoss.utils import thread_counts

# scikit-learn's array API checks run only if SciPy was imported with this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="session")
def two_classes(iris):
    X, y = iris
    return X[y > 0], y[y > 0]


@pytest.fixture(scope="session")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture
def logger_as_it_was():
    logger = logging.getLogger("skgoss")
    before = (logger.level, logger.propagate, logger.handlers[:])
    yield logger
    logger.level, logger.propagate = before[:2]
    logger.handlers[:] = before[2]
    logger.manager._clear_cache()


_MORE_BITS = pytest.param((7, 17), marks=pytest.mark.nightly)


@pytest.fixture(params=[(0, 1), (7, 5), _MORE_BITS, (8192, 17)])
def few_rows_gathered(request, monkeypatch):
    """How many rows are gathered, and by how many bits the others are counted."""
    few, n_bits = request.param
    monkeypatch.setattr("skgoss.distributed.order_statistics.MAX_GATHERED_ROWS", few)
    monkeypatch.setattr("skgoss.distributed.order_statistics.DIGIT_BITS", n_bits)
    monkeypatch.setattr("skgoss.distributed.order_statistics.MIN_KEY_BITS", 1)
    return request.param


@pytest.fixture
def machine(monkeypatch):
    """Makes a machine of ``n_threads`` threads and ``n_cores`` cores."""

    def machine(n_threads, n_cores=None):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(thread_counts, "_machine_limit", lambda: n_threads)
        monkeypatch.setattr(thread_counts, "max_threads", lambda: n_threads)
        if n_cores is not None:
            cores = {False: n_threads, True: n_cores}
            monkeypatch.setattr(
                thread_counts, "_counted_cores", lambda *key: cores[key[0]]
            )

    return machine


@pytest.fixture
def interpolates(monkeypatch):
    """Percentiles are LightGBM's, as with `skgoss.as_lightgbm`."""
    stands = Event()
    stands.set()
    monkeypatch.setattr(percentiles, "STANDS_FOR_LIGHTGBM", stands)


@pytest.fixture
def interruptible():
    """A process that was started in the background of a shell ignores Ctrl-C."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


# --- Packages that tests need ---------------------------------------------------------


def _package(name):
    @pytest.fixture(scope="session", name=name)
    def package():
        """Skip a test where it is not installed."""
        return pytest.importorskip(name)

    return package


lightgbm = _package("lightgbm")
matplotlib = _package("matplotlib")
pandas = _package("pandas")
polars = _package("polars")
pyarrow = _package("pyarrow")
shap = _package("shap")
xgboost = _package("xgboost")


# --- Tests of scripts -----------------------------------------------------------------


def script_of(item):
    """The script that a test is about, and its arguments; None if there is none.

    The dict SCRIPTS of a module has a function of the parameters for such a test.
    """
    made_by = getattr(item.module, "SCRIPTS", {}).get(item.originalname)
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return made_by(**parameters) if made_by else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests of scripts come last: their processes run in parallel with all others."""
    grids.leave_to_the_night(items)
    items.sort(key=lambda item: script_of(item) is not None)


def pytest_collection_finish():
    """What was imported and collected stays: no collection of garbage walks it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _scripts(request, tmp_path_factory):
    """The scripts, one after the other, by test; none if xdist runs the tests."""
    chosen = {item.nodeid: script_of(item) for item in request.session.items}
    if hasattr(request.config, "workerinput"):
        chosen = {}
    with ThreadPoolExecutor(1) as pool:
        yield {
            test: pool.submit(
                processes.run, *script, folder=tmp_path_factory.mktemp("script")
            )
            for test, script in chosen.items()
            if script is not None
        }
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def done(request, _scripts, tmp_path):
    """What the script of a test has left."""
    begun = _scripts.get(request.node.nodeid)
    if begun is None:
        return processes.run(*script_of(request.node), folder=tmp_path)
    return begun.result()


_random_states = {}


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order(request):
    """Each test draws what it would draw if it were the first of its module."""
    generator = getattr(request.module, "RNG", None)
    if generator is not None:
        bits = generator.bit_generator
        bits.state = _random_states.setdefault(request.module.__name__, bits.state)
