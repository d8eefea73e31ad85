"""Races of candidates: how far they go, and who leaves."""

from __future__ import annotations

import numpy as np
from scipy import stats

from skgoss.fit import race
from skgoss.fit.race import Racer, leave, screenings, survivors


def racer(*means, spread=0.0, most=10_000, stage=0):
    new = Racer({}, "n_estimators", most, 0.1, 31, stage=stage)
    for value in means:
        new.note(value + spread * np.array([-1.0, 0, 1, 0.5, -0.5]))
    return new


def test_who_is_behind():
    best = racer(1, 3, 4, spread=0.1)
    racers = [
        best,
        racer(1, 2, 2.9),  # another such gain is not enough
        racer(1, 2, 3.1),
        racer(1, 3.6, 3.7, spread=3),  # behind, but perhaps by luck
        racer(1, 3, 3.9, spread=0.1),
        racer(1, 2, np.nan),
    ]
    leave(racers)
    assert [r.left for r in racers] == [False, True, False, False, False, True]
    # What may be a member of a mean leaves if it is behind without a doubt.
    clear, perhaps = racer(1, 2, 2.1, spread=0.2), racer(1, 2, 2.8, spread=0.9)
    best = racer(1, 3, 4)
    leave([best, clear, perhaps], are_members=True)
    assert [clear.left, perhaps.left] == [True, False]
    leave([best, clear, perhaps])
    assert perhaps.left
    soon = [racer(1, 2), racer(0, 0)]
    leave(soon)
    assert not soon[1].left


def test_quantiles_of_the_test_are_not_where_machines_round_differently():
    levels, n = np.array([[0.6], [0.95]]), np.arange(1, 100)
    exact = 1e6 * stats.t.ppf(levels, n)
    # SciPy's last digits are 1e-9 of this.
    assert (np.abs(exact % 1.0 - 0.5) > 1e-4).all()
    found = [[race._quantile(level, k) for k in n] for level in levels[:, 0]]
    np.testing.assert_allclose(1e6 * np.array(found), exact, atol=0.5, rtol=0)


def test_nobody_leaves_after_the_first_stage_of_few():
    racers = [racer(score) for score in range(20)]
    leave(racers)
    assert not any(r.left for r in racers)


def test_of_many_a_fifth_survives_each_screening():
    stages = {
        20: [],
        21: [(0, 10)],
        50: [(0, 10)],
        51: [(-4, 23), (0, 10)],
        1000: [(-10, 215), (-4, 46), (0, 10)],
        10_000: [(-10, 1000), (-4, 100), (0, 10)],
    }
    assert {n: screenings(n) for n in stages} == stages
    racers = [racer(1 - i / 1000, stage=-4) for i in range(180)] + [racer(np.nan)]
    found = survivors(racers[::-1], 18)
    assert found == racers[:18]
    assert [r.left for r in racers] == [False] * 18 + [True] * 163
    assert all(r.stage == 0 and r.scores == r.rounds == [] for r in found)


def test_rounds_of_stages_have_equal_steps():
    def rounds(*args):
        racers = [Racer({}, "n_estimators", *args, stage=k) for k in range(3)]
        return [racer.next_rounds for racer in racers]

    assert rounds(100, 0.025, 31) == [32, 40, 50]
    assert rounds(100, 0.1, 31) == [8, 10, 12]
    assert rounds(100, 0.1, 4) == [15, 18, 23]
    assert rounds(9, 0.1, 31) == [8, 9, 9]
    assert Racer({}, "n_estimators", 100, 0.1, 31, stage=-3).next_rounds == 4


def test_without_progress_a_candidate_ends():
    stalled = racer(1, 2, 1, 1)
    assert not stalled.goes_on
    assert stalled.best == 1
    assert racer(1, 2, 1).goes_on
    assert not racer(1, 2, most=10).goes_on


def test_shorter_steps_are_judged_by_whole_stages():
    half = [Racer({}, "n_estimators", 1000, 0.1, 31, step=0.5) for _ in range(2)]
    for scores in ((1, 0), (2, 0.5), (3, 1), (4, 1.5), (5, 2), (6, 4.9)):
        for new, score in zip(half, scores, strict=True):
            new.note(np.full(3, float(score)))
        leave(half)
        # Twice its last gain brings it to 3, and then to 10.7.
        assert half[1].left is (scores == (5, 2))
        half[1].left = False
    assert half[0].rounds == [8, 9, 10, 11, 12, 14]
