"""Variants of a model, measured on the same splits of several tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from measure import Failed, attempt

# By variant: the numbers of each split, or why there are none.
Found = dict[str, "np.ndarray | str"]
# By table and variant.
Runs = dict[str, dict[str, np.ndarray]]


def splits(
    measured: Callable[..., tuple[float, ...]],
    name: str,
    variants: Sequence[str],
    repeats: int,
    *args: Any,
) -> Found:
    """What ``measured(name, variant, seed, *args)`` returns for each split."""
    found: Found = {}
    for variant in variants:
        try:
            # The first one is not counted: it imports and compiles.
            seeds = (0, *range(repeats))
            rows = [measured(name, variant, seed, *args) for seed in seeds]
        except Exception as error:
            found[variant] = f"{type(error).__name__}: {error}"
        else:
            found[variant] = np.array(rows[1:])
    return found


def on_tables(
    measured: Callable[..., tuple[float, ...]],
    names: Sequence[str],
    variants: Sequence[str],
    *args: Any,
) -> Runs:
    """What `splits` finds, in a new process for each table.

    Why there is nothing is printed.
    """
    runs: Runs = {name: {} for name in names}
    for name in names:
        found = attempt(splits, measured, name, variants, *args, threads=1)
        if isinstance(found, Failed):
            found = dict.fromkeys(variants, found.reason)
        for variant, values in found.items():
            if isinstance(values, str):
                print(f"{name}, {variant}: {values}", flush=True)
            else:
                runs[name][variant] = values
    return runs


def by_variant(
    runs: Mapping[str, Mapping[str, np.ndarray]], variants: Sequence[str]
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Each variant that some table has numbers of, with those."""
    for variant in variants:
        own = {name: found[variant] for name, found in runs.items() if variant in found}
        if own:
            yield variant, own
