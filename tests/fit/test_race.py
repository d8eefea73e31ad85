"""Races of candidates: how far they go, and who leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skgoss.fit import race
from skgoss.fit.race import STEP_OF_PRESETS, Racer, leave, screenings, survivors


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


def test_candidates_are_compared_after_the_same_stage():
    old, young = racer(1, 3, 3.2, 8, 9), racer(1, 3, 3.1)
    leave([young, old])
    assert not young.left
    behind, longer = racer(1, 3, 3.05), racer(1, 2, 3, 3.5)
    leave([behind, longer, old])
    assert [behind.left, longer.left] == [True, True]
    # The best one may have been best before, or have ended before.
    for best in (racer(1, 5, 2), racer(1, 5), racer(2, 5, 2, 2)):
        behind, ahead = racer(1, 3, 3.5), racer(1, 3, 4.1)
        leave([behind, best, ahead])
        assert [behind.left, best.left, ahead.left] == [True, False, False]


@pytest.mark.parametrize(("are_members", "level"), [(False, 0.4), (True, 0.05)])
def test_who_is_behind_is_a_test_on_the_folds(are_members, level):
    rng, found, p_values = np.random.default_rng(0), [], []
    for n_folds in (2, 3, 5):
        for _ in range(150):
            best, other = (Racer({}, "n_estimators", 10_000, 0.1, 31) for _ in range(2))
            for stage in range(3):
                best.note(rng.normal(21 + stage / 2, 1, n_folds))
                other.note(rng.normal(20 + stage / 2, 1, n_folds))
            if not other.goes_on or max(other.means) > max(best.means):
                continue
            leave([other, best], are_members=are_members)
            found.append(other.left)
            # Another gain as the last one would bring it so far, but none is lost.
            last, gain = other.scores[-1], other.means[-1] - other.means[-2]
            gap = best.scores[best.best] - last - max(gain, 0)
            correction = 1 + n_folds / (n_folds - 1)  # of Nadeau and Bengio
            t = gap.mean() / np.sqrt(gap.var(ddof=1) / n_folds * correction)
            p_values.append(stats.t.sf(t, n_folds - 1))
    assert np.min(np.abs(np.array(p_values) - level)) > 1e-6
    assert found == [p < level for p in p_values]
    assert 10 < sum(found) < len(found) - 10


def test_one_fold_says_too_little():
    ahead, behind = (Racer({}, "n_estimators", 10_000, 0.1, 31) for _ in range(2))
    for score in (1.0, 2.0, 3.0):
        ahead.note(np.array([10 * score]))
        behind.note(np.array([0.0]))
    leave([ahead, behind])
    assert not behind.left


def test_candidates_of_presets():
    found = Racer({}, "n_estimators", 12, 0.2, 31, step=STEP_OF_PRESETS)
    assert found.candidate(5) == {"n_estimators": 5}
    assert found.cost == 4 * 31
    for score in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        found.note(np.array([score]))
    assert found.rounds == [4, 5, 5, 6, 7, 8]
    assert found.goes_on
    while found.rounds[-1] < 12:
        found.note(np.array([7.0 + found.stage]))
    assert not found.goes_on
    # One without a path is evaluated as it is.
    whole = Racer({"a": 1}, None, 1, 0.1, 31)
    assert whole.candidate(whole.next_rounds) == {"a": 1}
    assert whole.next_rounds == whole.best_rounds == 1
    whole.note(np.array([np.nan, 1.0]))
    assert whole.means == [-np.inf]
    assert whole.scores_by_rounds == {1: -np.inf}
    assert not whole.goes_on


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
    assert rounds(100, 2.0, 31) == [1, 1, 1]
    assert Racer({}, "n_estimators", 100, 0.1, 31, stage=-3).next_rounds == 4


def test_without_progress_a_candidate_ends():
    stalled = racer(1, 2, 1, 1)
    assert not stalled.goes_on
    assert stalled.best == 1
    assert (stalled.rounds, stalled.best_rounds) == ([8, 10, 12, 16], 10)
    assert stalled.scores_by_rounds == {8: 1, 10: 2, 12: 1, 16: 1}
    assert racer(1, 2, 2, 2).best_rounds == 10  # the first of equal ones
    assert racer().best_rounds == 8
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
