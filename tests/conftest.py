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
