"""Rows with event times, some of them censored, for the tests of survival."""

from __future__ import annotations

import numpy as np

_RNG = np.random.default_rng(11)
N = 240
X = _RNG.normal(size=(N, 4))
_EVENT_TIME = _RNG.exponential(np.exp(-X[:, 0] - 0.5 * X[:, 1]))
_CENSORING_TIME = _RNG.exponential(1.5, N)
# Many times are equal.
TIME = np.ceil(np.minimum(_EVENT_TIME, _CENSORING_TIME) * 40) / 40
EVENT = _EVENT_TIME <= _CENSORING_TIME
Y = np.column_stack([EVENT, TIME])
STRUCTURED = np.array(
    list(zip(EVENT, TIME, strict=True)), dtype=[("event", bool), ("time", float)]
)
STRATA = _RNG.integers(1, 4, N)
STRATIFIED = np.column_stack([Y, STRATA])
WEIGHT = _RNG.integers(1, 4, N) * 1.0
