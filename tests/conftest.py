"""Shared set-up."""

import logging
import os

import pytest

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


_random_states = {}


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order(request):
    """Each test draws what it would draw if it were the first of its module."""
    generator = getattr(request.module, "RNG", None)
    if generator is not None:
        bits = generator.bit_generator
        bits.state = _random_states.setdefault(request.module.__name__, bits.state)
