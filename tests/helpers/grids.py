"""Grids of cases, of which some run by day and all at night."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Sequence
from typing import Any

import pytest


def pairs_unless_nightly(*axes: Sequence[Any]) -> list[Any]:
    """All combinations of the values of some axes, most of which are nightly.

    One of as many as the last axis has values runs by day, as in a Latin square: of
    three axes, each two values of the first two still meet.
    """
    return [
        pytest.param(
            *(axis[i] for axis, i in zip(axes, at, strict=True)),
            marks=pytest.mark.nightly if sum(at) % len(axes[-1]) else (),
        )
        for at in itertools.product(*(range(len(axis)) for axis in axes))
    ]


def nightly_if(cases: Iterable[Any], nightly: Container[Any]) -> list[Any]:
    """Some cases, of which those are nightly that other tests have by day."""
    return [
        pytest.param(case, marks=pytest.mark.nightly if case in nightly else ())
        for case in cases
    ]
