"""A race: candidates get rounds step by step, and those that fall behind leave."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from skgoss import parameters
from skgoss.estimators.base import LGBMModel
from skgoss.model_selection.shared_fits import are_rounds_alike

# The rounds of the first stage at a learning rate of 0.1 and with 31 leaves. Others are
# compared after as many rounds as take steps of the same sum, and small trees, which
# learn less in a round but take less time, after more. docs/tuning.md has measurements.
_FIRST_ROUNDS = 8
_USUAL_RATE = 0.1
_USUAL_LEAVES = 31
_POWER_OF_LEAVES = 0.3

# Each stage has so many times the rounds of the one before.
GROWTH = 1.25

# From this stage on, a candidate leaves if a one-sided test on the folds says that it
# is worse than the best one was a stage before. One with smaller steps or fewer columns
# is behind for long, but not by a stage.
_FIRST_TEST = 5
_LEVEL = 0.2

# Of more candidates, the worse half leaves, too.
_MANY = 20

# Without a better score for so many stages, a candidate has found its rounds.
_PATIENCE = 2


def racers(
    candidates: Iterable[Mapping[str, Any]], models: Iterable[Any], path: str
) -> list[Racer]:
    """The candidates without numbers of rounds, the most of which is the limit.

    ``models`` are their estimators, and ``path`` the name of the number of rounds.
    Those whose rounds depend on how many follow are evaluated once.
    """
    found: dict[Hashable, Racer] = {}
    for number, (candidate, model) in enumerate(zip(candidates, models, strict=True)):
        names: list[Any] = [n for n in candidate if is_rounds(n)] or [path]
        params = {k: v for k, v in candidate.items() if k not in names}
        key: Hashable = comparable(params)
        can_go_on = isinstance(model, LGBMModel) and _can_go_on(model)
        if not can_go_on:
            names, params, key = [None], dict(candidate), number
        new = Racer(params, names[0], 1, _USUAL_RATE, 1)
        racer = found.setdefault(key, new)
        if can_go_on:
            racer.most_rounds = max(racer.most_rounds, model.n_estimators)
            racer.rate, racer.n_leaves = model.learning_rate, model.num_leaves
    return list(found.values())


def is_rounds(name: str) -> bool:
    """Whether a parameter is the number of rounds of an estimator."""
    last = name.rpartition("__")[2]
    return parameters.CANONICAL_NAME.get(last, last) == "n_estimators"


def comparable(params: Mapping[str, Any]) -> Hashable:
    """What is equal for equal parameters of candidates."""
    return frozenset(
        (name, value if isinstance(value, Hashable) else id(value))
        for name, value in params.items()
    )


def _can_go_on(model: LGBMModel) -> bool:
    numbers = (model.n_estimators, model.num_leaves, model.learning_rate)
    are_numbers = all(isinstance(n, int | float) and n > 0 for n in numbers)
    return are_numbers and are_rounds_alike(model)


@dataclass(eq=False)
class Racer:
    """A candidate of a race.

    Attributes
    ----------
    params : dict
        The parameters besides the number of rounds.
    path : str or None
        The name of the parameter that is the number of rounds; None: the candidate is
        evaluated once, as it is.
    most_rounds : int
    rate : float
        The learning rate.
    n_leaves : int
        The most leaves of a tree.
    rounds : list of int
        The numbers of rounds so far, one for each stage.
    scores : list of ndarray of shape (n_folds,)
        The scores after them.
    results : list
        All else that was evaluated then.
    left : bool
        Whether it fell behind.
    """

    params: dict[str, Any]
    path: str | None
    most_rounds: int
    rate: float
    n_leaves: int
    rounds: list[int] = field(default_factory=list)
    scores: list[NDArray[np.float64]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    left: bool = False

    def rounds_of_stage(self, stage: int) -> int:
        """The number of rounds after a stage."""
        usual = _FIRST_ROUNDS * GROWTH**stage
        usual *= (_USUAL_LEAVES / self.n_leaves) ** _POWER_OF_LEAVES
        wanted = max(1, round(usual * _USUAL_RATE / self.rate))
        return self.most_rounds if self.path is None else min(wanted, self.most_rounds)

    def candidate(self, n_rounds: int) -> dict[str, Any]:
        """The parameters with a number of rounds."""
        return (
            self.params if self.path is None else {**self.params, self.path: n_rounds}
        )

    def cost(self, stage: int) -> float:
        """An estimate of the time of a fit up to a stage."""
        return self.rounds_of_stage(stage) * self.n_leaves

    def note(self, scores: NDArray[np.float64], results: Any) -> None:
        """Keep what was evaluated after a stage."""
        self.rounds.append(self.rounds_of_stage(len(self.rounds)))
        self.scores.append(scores)
        self.results.append(results)

    @property
    def best(self) -> int:
        """The stage with the best mean score; the first of equal ones."""
        return int(np.argmax([mean(scores) for scores in self.scores]))

    @property
    def goes_on(self) -> bool:
        """Whether it takes part in the next stage."""
        if not self.rounds:
            return True
        is_over = self.rounds[-1] == self.most_rounds
        has_stalled = len(self.rounds) - 1 - self.best >= _PATIENCE
        return not (self.left or is_over or has_stalled)


def mean(scores: NDArray[np.float64]) -> float:
    """The mean of the scores of the folds; NaN is worst."""
    return float(np.nan_to_num(scores.mean(), nan=-np.inf))


def leave(racers: Sequence[Racer], stage: int) -> None:
    """Let those leave that have fallen behind after a stage.

    References
    ----------
    M. Birattari et al., "A Racing Algorithm for Configuring Metaheuristics", GECCO
    2002: candidates leave by tests on blocks, which are folds here. C. Nadeau and Y.
    Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003: the
    variance of the differences. K. Jamieson and A. Talwalkar, "Non-stochastic Best Arm
    Identification and Hyperparameter Optimization", AISTATS 2016: halving.
    """
    best = max(racers, key=lambda racer: mean(racer.scores[racer.best]))
    running = [racer for racer in racers if racer.goes_on and racer is not best]
    for racer in running:
        failed = not np.isfinite(racer.scores[-1]).all()
        racer.left = failed or (stage >= _FIRST_TEST and _is_behind(racer, best))
    running = [racer for racer in running if not racer.left]
    if stage >= _FIRST_TEST and len(running) > _MANY:
        running.sort(key=lambda racer: -mean(racer.scores[-1]))
        for racer in running[max(_MANY, len(running) // 2) :]:
            racer.left = True


def _is_behind(racer: Racer, best: Racer) -> bool:
    """Whether a candidate is worse than the best one was a stage before."""
    stage = len(racer.scores) - 1
    ahead = best.scores[stage - 1 if stage < len(best.scores) else best.best]
    gap = ahead - racer.scores[-1]
    n_folds = len(gap)
    if n_folds < 2 or not gap.mean() > 0:
        return False
    # The rows that folds learn from overlap.
    error = gap.std(ddof=1) * np.sqrt(1 / n_folds + 1 / (n_folds - 1))
    return bool(gap.mean() > student.ppf(1 - _LEVEL, n_folds - 1) * error)


class SameFolds:
    """A splitter that splits once, and has the same folds from then on."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._folds: list[Any] | None = None

    def split(self, *args: Any, **kwargs: Any) -> Iterable[Any]:
        """The folds."""
        if self._folds is None:
            self._folds = list(self._cv.split(*args, **kwargs))
        return self._folds
