"""Races of candidates: how far they go, and who leaves."""

from __future__ import annotations

import numpy as np

from skgoss.fit.race import (
    Racer,
    is_a_stage_behind,
    leave,
    screenings,
    survivors,
    will_be_behind,
)


def racer(*means, spread=0.0, most=10_000, stage=0):
    new = Racer({}, "n_estimators", most, 0.1, 31, stage)
    for value in means:
        new.note(value + spread * np.array([-1.0, 0, 1, 0.5, -0.5]), [])
    return new


def test_who_is_a_stage_behind():
    best = racer(1, 2, 3, 4, 5, 6, spread=0.1)
    racers = [
        best,
        racer(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        racer(0, 0, 0, 0, 0, 4.99, spread=0.2),  # perhaps by luck
        racer(0, 1, 2, 3, 4, 5.5),  # less than a stage
        racer(0, 1, 2, 3, 4, np.nan),
    ]
    leave(racers, is_a_stage_behind)
    assert [r.left for r in racers] == [False, True, False, False, True]
    soon = [racer(1, 2, 3, 4, 5), racer(0, 0, 0, 0, 0)]
    leave(soon, is_a_stage_behind)
    assert not soon[1].left


def test_who_will_be_behind():
    best = racer(1, 3, 4, spread=0.1)
    racers = [
        best,
        racer(1, 2, 2.9),  # another such gain is not enough
        racer(1, 2, 3.1),
        racer(1, 3.6, 3.7, spread=3),  # behind, but perhaps by luck
        racer(1, 3, 3.9, spread=0.1),
        racer(1, 2, np.nan),
    ]
    leave(racers, will_be_behind)
    assert [r.left for r in racers] == [False, True, False, False, False, True]
    soon = [racer(1, 2), racer(0, 0)]
    leave(soon, will_be_behind)
    assert not soon[1].left


def test_nobody_leaves_after_the_first_stage_of_few():
    racers = [racer(score) for score in range(20)]
    leave(racers, will_be_behind)
    assert not any(r.left for r in racers)


def test_of_many_a_tenth_survives_each_screening():
    stages = {1: [], 20: [], 21: [0], 100: [0], 101: [-4, 0], 1001: [-8, -4, 0]}
    assert {n: screenings(n) for n in stages} == stages
    racers = [racer(1 - i / 1000, stage=-4) for i in range(180)] + [racer(np.nan)]
    found = survivors(racers[::-1])
    assert found == racers[:18]
    assert [r.left for r in racers] == [False] * 18 + [True] * 163
    assert all(r.stage == 0 and r.scores == r.rounds == [] for r in found)
    assert len(survivors(racers[20:85])) == 10


def test_rounds_of_stages_have_equal_steps():
    def rounds(*args):
        return [Racer({}, "n_estimators", *args, k).next_rounds for k in range(3)]

    assert rounds(100, 0.025, 31) == [32, 40, 50]
    assert rounds(100, 0.1, 31) == [8, 10, 12]
    assert rounds(100, 0.1, 4) == [15, 18, 23]
    assert rounds(9, 0.1, 31) == [8, 9, 9]
    assert Racer({}, "n_estimators", 100, 0.1, 31, -3).next_rounds == 4


def test_without_progress_a_candidate_ends():
    stalled = racer(1, 2, 1, 1)
    assert not stalled.goes_on
    assert stalled.best == 1
    assert racer(1, 2, 1).goes_on
    assert not racer(1, 2, most=10).goes_on
