"""Races of candidates: how far they go, and who leaves."""

from __future__ import annotations

import numpy as np

from skgoss.fit.race import Racer, leave


def racer(*means, spread=0.0, most=10_000):
    new = Racer({}, "n_estimators", most, 0.1, 31)
    for value in means:
        new.note(value + spread * np.array([-1.0, 0, 1, 0.5, -0.5]), [])
    return new


def test_who_leaves():
    best = racer(1, 2, 3, 4, spread=0.1)
    racers = [
        best,
        racer(0.1, 0.2, 0.3, 0.4),  # behind
        racer(0.5, 1, 2, 2.99, spread=0.2),  # behind by a stage, but perhaps by luck
        racer(0, 1, 2, 3.5),  # less than a stage behind
        racer(1, 2, 3, np.nan),
    ]
    leave(racers, 4)
    assert [r.left for r in racers] == [False] * 4 + [True]
    leave(racers, 5)
    assert [r.left for r in racers] == [False, True, False, False, True]


def test_of_many_the_worse_half_leaves():
    racers = [racer(*np.linspace(1, 4 - i / 1000, 4)) for i in range(61)]
    leave(racers, 5)
    assert [r.left for r in racers] == [False] * 31 + [True] * 30


def test_rounds_of_stages_have_equal_steps():
    slow = Racer({}, "n_estimators", 100, 0.025, 31)
    usual = Racer({}, "n_estimators", 100, 0.1, 31)
    assert [slow.rounds_of_stage(k) for k in range(3)] == [32, 40, 50]
    assert [usual.rounds_of_stage(k) for k in range(3)] == [8, 10, 12]
    assert slow.rounds_of_stage(9) == 100
    small = Racer({}, "n_estimators", 100, 0.1, 4)
    assert [small.rounds_of_stage(k) for k in range(3)] == [15, 18, 23]


def test_without_progress_a_candidate_ends():
    stalled = racer(1, 2, 1, 1)
    assert not stalled.goes_on
    assert stalled.best == 1
    assert racer(1, 2, 1).goes_on
    assert not racer(1, 2, most=10).goes_on
