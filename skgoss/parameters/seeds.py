"""The seeds of a fit, from ``random_state``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skgoss.parameters.table import DEFAULT_SEEDS
from skgoss.utils.limits import INT32_MAX


def draw_seed(random_state: Any) -> int | None:
    """Return the seed; a RandomState or Generator draws it."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(INT32_MAX))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(INT32_MAX))
    return random_state


def resolved_seeds(options: Mapping[str, Any]) -> dict[str, int]:
    """Return ``random_state`` and all other seeds as ints.

    Parameters
    ----------
    options : mapping
        All options. Seeds that are None are derived from ``random_state``, which may
        draw a number.
    """
    seed = draw_seed(options["random_state"])
    passed = {n: options[n] for n in DEFAULT_SEEDS if options[n] is not None}
    return {"random_state": seed or 0, **derived_seeds(seed), **passed}


def derived_seeds(seed: int | None) -> Mapping[str, int]:
    """Return the seeds that are derived from one; LightGBM's if it is None."""
    if seed is None:
        return DEFAULT_SEEDS
    state = np.random.SeedSequence(seed).generate_state(len(DEFAULT_SEEDS)) >> 1
    return dict(zip(DEFAULT_SEEDS, state.tolist(), strict=True))
