"""Stand-ins of the states of fits, and fits on several ranks."""

from __future__ import annotations

from contextlib import nullcontext

from helpers.ranks import Meeting, ThreadCollectives, run
from skgoss import parameters
from skgoss.distributed.row_partition import RowPartition
from skgoss.training import loop
from skgoss.training.evaluation import EvalResult


def settings(**options):
    return parameters.make_settings(options, "LGBMRegressor")


class FakeEnsemble:
    def __init__(self, n_rounds):
        self.n_rounds = n_rounds

    def truncated(self, n_rounds):
        return FakeEnsemble(min(self.n_rounds, n_rounds))


class OneByOne:
    """A state of a fit that grows no rounds before they are asked for."""

    def expecting(self, n_rounds, *, is_evaluated, may_end):
        return nullcontext()

    def expect(self, n_rounds, is_evaluated, may_end):
        """No round grows before it is asked for."""


class FakeState(OneByOne):
    """A fit whose metric falls, then rises; a round notes its learning rate."""

    first_round = 0
    sets = ("valid",)

    def __init__(self, collectives, n_rounds=8, best=3):
        self.settings = settings(n_estimators=n_rounds)
        self.partition = RowPartition(1, collectives)
        self.rates = []
        self.best = best
        self._training_names = set()

    def reset_parameter(self, params):
        self.settings = self.settings.changed(params)

    def boost(self):
        self.rates.append(self.settings.learning_rate)
        return True

    def evaluate(self):
        value = abs(len(self.rates) - 1 - self.best) + 0.5
        return [EvalResult("valid", "l2", value, False)]

    def measure(self):
        return self.partition.collectives.total(1)

    def ensemble(self):
        return FakeEnsemble(len(self.rates))


def trained(collectives, given, after_round=None, **options):
    state = FakeState(collectives, **options)
    made = loop.train(state, state, callbacks=given, after_round=after_round)
    return made.ensemble.n_rounds, made.best_iteration, made.best_score, state.rates


def of_all(n_ranks, make, **options):
    """What each process has trained, and the number of collectives."""
    counts = []

    def work(collectives):
        found = trained(collectives, make(collectives.rank), **options)
        counts.append(collectives.meeting.n_collectives)
        return found

    return run(n_ranks, work), max(counts)


def one(make, **options):
    return trained(ThreadCollectives(Meeting(1), 0), make(0), **options)
