"""Grids of cases, of which some run by day and all at night."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable
from typing import Any
from zlib import crc32

import pytest

# A grid of as many cases runs by day as a whole.
FEW_CASES = 4


def leave_to_the_night(items: Iterable[pytest.Item]) -> None:
    """Make most cases of grids nightly: by day, each value of each axis has a case.

    A grid is what several `parametrize` of one test, or fixtures, make together.
    """
    by_day = [i for i in items if not i.get_closest_marker("nightly")]
    for _, cases in itertools.groupby(by_day, lambda i: i.nodeid.partition("[")[0]):
        grid = {item: values(item) for item in cases if hasattr(item, "callspec")}
        if len(grid) > FEW_CASES:
            for item in grid.keys() - sample(grid):
                item.add_marker(pytest.mark.nightly)


def values(item: Any) -> set[Any]:
    """The value that an item has on each axis: the axis, and which object it is."""
    params = dict(item.callspec.params)
    found = set()
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        names = names.split(",") if isinstance(names, str) else names
        own = [(name.strip(), id(params.pop(name.strip()))) for name in names]
        found.add(tuple(own))
    return found | {(name, id(value)) for name, value in params.items()}


def sample(grid: dict[Any, set[Any]]) -> set[Any]:
    """Few cases that have all values; first come those that share none with others."""
    chosen, seen = set(), set()
    in_any_order = sorted(grid, key=lambda item: crc32(item.nodeid.encode()))
    for n_new in range(max(map(len, grid.values())), 0, -1):
        for item in in_any_order:
            if len(grid[item] - seen) >= n_new:
                chosen.add(item)
                seen |= grid[item]
    return chosen


def nightly_if(cases: Iterable[Any], nightly: Container[Any]) -> list[Any]:
    """Some cases, of which those are nightly that other tests have by day."""
    return [
        pytest.param(case, marks=pytest.mark.nightly if case in nightly else ())
        for case in cases
    ]
