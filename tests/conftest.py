"""Shared set-up."""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

# scikit-learn's array API checks run only if SciPy was imported with this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture
def logger_as_it_was():
    logger = logging.getLogger("skgoss")
    before = (logger.level, logger.propagate, logger.handlers[:])
    yield logger
    logger.level, logger.propagate = before[:2]
    logger.handlers[:] = before[2]
    logger.manager._clear_cache()


@pytest.fixture(scope="session", autouse=True)
def examples(request, tmp_path_factory):
    """The chosen examples by name: processes that run beside the other tests."""
    chosen = {}
    for item in request.session.items:
        if getattr(item, "originalname", "") == "test_example_runs":
            name = item.callspec.params["name"]
            chosen[name] = item.module.EXAMPLES[name][0]
    with ThreadPoolExecutor(1) as pool:
        yield {
            name: pool.submit(
                processes.run,
                EXAMPLES / name,
                *arguments,
                folder=tmp_path_factory.mktemp("example"),
            )
            for name, arguments in chosen.items()
        }
        pool.shutdown(cancel_futures=True)


_random_states = {}


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order(request):
    """Each test draws what it would draw if it were the first of its module."""
    generator = getattr(request.module, "RNG", None)
    if generator is not None:
        bits = generator.bit_generator
        bits.state = _random_states.setdefault(request.module.__name__, bits.state)
