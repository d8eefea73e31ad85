"""Rounds that continue whenever more of them are asked for."""

from math import inf, nan

import pytest

from helpers.fake_states import OneByOne
from skgoss.training.evaluation import EvalResult
from skgoss.training.run import Run


class Counted(OneByOne):
    """Rounds whose loss is the distance to the 9th one; the 12th has no split."""

    first_round, n_rounds = 3, 0

    def boost(self):
        before, self.n_rounds = self.n_rounds, min(self.n_rounds + 1, 11)
        return self.n_rounds > before

    def current_iteration(self):
        return self.first_round + self.n_rounds

    def evaluate(self):
        return [EvalResult("fold", "l1", abs(9 - self.n_rounds), False)]


def test_all_losses_are_computed_or_few():
    few = Run(Counted(), evaluates_all=False)
    all_of_them = Run(Counted())
    for run in (few, all_of_them):
        for stage in (5, 5, 7, 10, 20, 30):
            run.advance(stage)
        assert run.has_ended
        assert run.n_rounds == 11
        assert list(run.losses.values()) == run.history["fold"]["l1"]
    assert list(few.losses) == [1, 2, 4, 5, 7, 8, 10, 11]
    assert list(all_of_them.losses) == list(range(1, 12))
    assert (few.best_round, all_of_them.best_round) == (8, 9)


def test_a_run_that_is_ended_has_the_loss_of_its_last_round():
    run = Run(Counted(), evaluates_all=False)
    run.advance(10, lambda: run.n_rounds == 7)
    assert run.has_ended
    assert list(run.losses) == [1, 2, 4, 7]


class Undefined(Counted):
    """Rounds whose first metric is NaN at first, and always for an ``end`` of 99."""

    def __init__(self, end, maximize):
        super().__init__()
        self.end, self.maximize = end, maximize

    def evaluate(self):
        sign = -1 if self.maximize else 1
        value = nan if self.n_rounds < self.end else sign * abs(9 - self.n_rounds)
        return [EvalResult("fold", "auc", value, self.maximize)]


@pytest.mark.parametrize("maximize", [False, True])
def test_rounds_without_a_number_are_the_worst(maximize):
    run = Run(Undefined(4, maximize))
    run.advance(11)
    assert [run.losses[n] for n in (1, 3, 4, 9)] == [inf, inf, 5, 0]
    assert run.best_round == 9
    never = Run(Undefined(99, maximize))
    never.advance(11)
    assert set(never.losses.values()) == {inf}
    assert never.best_round == 1
