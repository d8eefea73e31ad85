"""Races of candidates: how far they go, and which are dropped."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skgoss.several_fits import race
from skgoss.several_fits.race import (
    STEP_OF_PRESETS,
    Racer,
    drop,
    screenings,
    survivors,
)


def racer(*means, spread=0.0, most=10_000, stage=0):
    new = Racer({}, "n_estimators", most, 0.1, 31, stage=stage)
    for value in means:
        new.note(value + spread * np.array([-1.0, 0, 1, 0.5, -0.5]))
    return new


def learning(loss, n_rounds, noise=(0.0, 0.0, 0.0), **options):
    """A candidate whose loss is known after each number of rounds, up to some."""
    options = {"rate": 0.1, "n_leaves": 31, "step": 0.6, **options}
    new = Racer({}, "n_estimators", options.pop("most", 512), **options)
    while new.goes_on and new.next_rounds <= n_rounds:
        new.note(-loss(new.next_rounds) - np.array(noise))
    return new


def power_law(end, start, power):
    return lambda n: end + start * n**-power


SETTLED = 1, 2, 3, 3.1, 3.2, 3.24, 3.28, 3.3


def test_who_is_behind():
    # After 8, 10, 12, 16, 20, 24, 31 and 38 rounds.
    best = racer(1, 3, 4, 5, 6, 6.5, 7, 7.2, spread=0.1)
    racers = [
        best,
        racer(*SETTLED),
        racer(1, 3, 4, 5, 5.9, 6.4, 6.9, 7.1, spread=0.1),
        racer(*SETTLED, spread=30),  # behind, but perhaps by luck
        racer(*SETTLED[:-1], np.nan),
        racer(1, 1.1, 1.11),  # too few rounds
    ]
    drop(racers)
    assert [r.is_dropped for r in racers] == [False, True, False, False, True, False]


def test_what_may_be_a_member_leaves_if_it_is_behind_without_a_doubt():
    best = racer(1, 2, 3, 4, 5, 6, 7, 8)
    clear, perhaps = (racer(*SETTLED, spread=s) for s in (0.2, 8.0))
    drop([best, clear, perhaps], 0.05)
    assert [clear.is_dropped, perhaps.is_dropped] == [True, False]
    drop([best, clear, perhaps])
    assert perhaps.is_dropped


SLOW, FAST = power_law(0.1, 3.0, 0.6), power_law(0.25, 3.0, 1.0)


def test_who_learns_slowly_and_ends_lower_stays():
    for n in range(16, 512, 10):
        slow, fast = learning(SLOW, n, n_leaves=15), learning(FAST, n)
        drop([slow, fast])
        assert not slow.is_dropped
    assert fast.is_dropped
    assert slow.means[0] < fast.means[0] - 0.2


@pytest.mark.parametrize("end", [0.35, 0.6])
@pytest.mark.parametrize("noise", [(0.0, 0.0, 0.0), (0.1, -0.3, 0.2)])
def test_who_never_comes_up_leaves_soon(end, noise):
    """Folds of unequal noise that is that of all candidates change nothing."""
    best = learning(FAST, 60, noise)
    hopeless = learning(power_law(end, 3.0, 1.0), 60, noise)
    drop([hopeless, best])
    assert [hopeless.is_dropped, best.is_dropped] == [True, False]


@pytest.mark.parametrize("power", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("most", [64, 512])
def test_the_gain_to_come_is_that_of_a_power_law(power, most):
    loss = power_law(0.3, 2.0, power)
    new = Racer({}, "n_estimators", most, 0.1, 31)
    new.rounds, new.means = [8, 16, 32], [-loss(n) for n in (8, 16, 32)]
    assert race._gain_to_come(new) == pytest.approx(loss(32) - loss(most))


def test_gains_that_have_not_shrunk_do():
    """One that learns nothing has nothing to come, and gains shrink."""
    new = Racer({}, "n_estimators", 64, 0.1, 31)
    new.rounds, new.means = [8, 16, 32], [-5.0, -4.0, -2.0]
    assert race._gain_to_come(new) == pytest.approx(2 * 0.9)
    new.means = [-5.0, -5.0, -5.0]
    assert race._gain_to_come(new) == 0
    new.means = [-3.0, -5.0, -4.0]  # the best so far counts
    assert race._gain_to_come(new) == 0
    new.rounds, new.means = [8, 15], [-3.0, -3.0]
    assert race._gain_to_come(new) == np.inf


def test_scores_between_stages():
    found = racer(1, 2, 1, 4)
    assert found.rounds == [8, 10, 12, 16]
    expected = {1: 1, 8: 1, 9: 1.5, 10: 2, 11: 2, 12: 2, 15: 3.5, 16: 4, 99: 4}
    assert {n: found.best_until(n) for n in expected} == expected


def test_one_candidate_never_leaves():
    alone = learning(FAST, 512)
    drop([alone])
    assert not alone.is_dropped


def test_the_winner_has_the_best_mean_of_all_stages():
    ahead, behind = racer(1, 3, 2, spread=9.0), racer(1, 2, 2.9)
    assert race.winner([behind, ahead, racer()]) is ahead
    tied = racer(3)
    assert race.winner([tied, ahead]) is tied


def test_without_scores_the_winner_is_the_first():
    first, other = racer(), racer()
    assert race.winner([first, other]) is first
    other.note(np.array([1.0]))
    assert race.winner([first, other]) is other


def test_quantiles_of_the_test_are_not_where_machines_round_differently():
    levels, n = np.array([[0.6], [0.95]]), np.arange(1, 100)
    exact = 1e6 * stats.t.ppf(levels, n)
    # SciPy's last digits are 1e-9 of this.
    assert (np.abs(exact % 1.0 - 0.5) > 1e-4).all()
    found = [[race._quantile(level, k) for k in n] for level in levels[:, 0]]
    np.testing.assert_allclose(1e6 * np.array(found), exact, atol=0.5, rtol=0)


@pytest.mark.parametrize("level", [0.4, 0.05])
def test_who_is_behind_is_a_test_on_the_folds(level):
    rng, found, p_values = np.random.default_rng(0), [], []
    for n_folds in (2, 3, 5):
        for _ in range(150):
            best, other = (Racer({}, "n_estimators", 10_000, 0.1, 31) for _ in range(2))
            for _ in range(5):
                best.note(rng.normal(3, 1, n_folds))
                other.note(rng.normal(0, 1, n_folds))
            if not other.goes_on or max(other.means) > max(best.means):
                continue
            drop([other, best], level)
            found.append(other.is_dropped)
            gap = best.scores[best.best] - other.scores[other.best]
            gap -= race._gain_to_come(other)
            correction = 1 + n_folds / (n_folds - 1)  # of Nadeau and Bengio
            t = gap.mean() / np.sqrt(gap.var(ddof=1) / n_folds * correction)
            p_values.append(stats.t.sf(t, n_folds - 1))
    assert np.min(np.abs(np.array(p_values) - level)) > 1e-6
    assert found == [p < level for p in p_values]
    assert 10 < sum(found) < len(found) - 10


def test_one_fold_says_too_little():
    ahead, behind = (Racer({}, "n_estimators", 10_000, 0.1, 31) for _ in range(2))
    for score in (1.0, 2.0, 3.0, 4.0, 5.0):
        ahead.note(np.array([10 * score]))
        behind.note(np.array([score / 100]))
    drop([ahead, behind])
    assert not behind.is_dropped


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
    drop(racers)
    assert not any(r.is_dropped for r in racers)


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
    assert [r.is_dropped for r in racers] == [False] * 18 + [True] * 163
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


class Numbers(race.Race):
    """Candidates whose scores are known; some fail, or there is no time left."""

    def __init__(self, racers, scores, *, n_stages=99, **options):
        super().__init__(racers, **options)
        self.scores, self.n_stages, self.stages = scores, n_stages, []

    def grow(self, running):
        self.stages.append([self.racers.index(racer) for racer in running])
        for racer in running:
            score = self.scores[self.racers.index(racer)]
            if score is not None:
                racer.note(np.full(3, score(racer.next_rounds)))

    def is_over(self, seconds):
        assert seconds >= 0
        return len(self.stages) == self.n_stages


def test_a_race_goes_on_until_all_have_ended():
    first, second, failed = (Racer({}, "n_estimators", 12, 0.1, 31) for _ in range(3))
    scores = [lambda n: -1 / n, lambda n: -2 / n, None]
    grown = Numbers([first, second, failed], scores)
    grown.run()
    assert grown.stages == [[0, 1, 2], [0, 1], [0, 1]]
    assert first.rounds == second.rounds == [8, 10, 12]
    assert failed.rounds == []


def test_a_race_ends_if_there_is_no_time():
    alone = Racer({}, "n_estimators", 100, 0.1, 31)
    grown = Numbers([alone], [lambda n: -1 / n], n_stages=2)
    grown.run()
    assert alone.rounds == [8, 10]


def test_references_are_compared_with_and_do_not_grow():
    reference = Racer({}, None, 1, 0.1, 31)
    reference.note(np.array([3.0, 3.0, 3.0]))
    behind = Racer({}, "n_estimators", 100, 0.1, 31)
    grown = Numbers([behind], [lambda n: 1 - 1 / n], references=[reference])
    grown.run()
    assert reference.rounds == [1]
    assert behind.is_dropped


def test_an_infinite_loss_on_one_fold_is_failure():
    failed, best = racer(1, 2, 3), racer(1, 2, 4, spread=0.1)
    failed.note(np.array([9.0, 9.0, 9.0, 9.0, -np.inf]))
    drop([best, failed])
    assert (failed.is_dropped, best.is_dropped) == (True, False)
