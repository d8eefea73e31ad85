"""The best round of a fit: which metrics are better, and the callback that keeps it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Self

from skgoss.training.callback_api import CallbackEnv, EarlyStopException
from skgoss.training.evaluation import EvalResult
from skgoss.training.loop import Listener


def is_better(loss: float, best: float, min_delta: float = 0.0) -> bool:
    """Whether a loss is better than the best one so far.

    It must be smaller by more than ``min_delta``. NaN is never better.
    """
    return best - loss > min_delta or (isnan(best) and not isnan(loss))


def best_of(losses: Sequence[float]) -> int:
    """The index of the lowest of some losses, the first of equal ones; NaN is worst."""
    best = 0
    for number, loss in enumerate(losses):
        if is_better(loss, losses[best]):
            best = number
    return best


class Watch:
    """The best value so far of one metric of one set.

    ``results`` are those of all metrics in the round in which the value was best, and
    ``iteration`` is its index; before there is a value that is not NaN, they are
    empty and -1. ``min_deltas`` has the smallest improvement that counts, by metric.
    """

    def __init__(self, result: EvalResult, min_deltas: Mapping[str, float]) -> None:
        self.dataset, self.metric, _, maximize, *_ = result
        self.sign = 1.0 if maximize else -1.0
        self.min_delta = min_deltas[self.metric]
        self.iteration = -1
        self.value = nan
        self.results: list[EvalResult] = []

    def update(self, iteration: int, value: float, results: list[EvalResult]) -> None:
        """Compare the value of a round with the best one, and keep the better one.

        ``results`` are those of all metrics of the round.
        """
        if is_better(-self.sign * value, -self.sign * self.value, self.min_delta):
            self.iteration, self.value, self.results = iteration, value, results


class BestRound(Listener):
    """The callback that keeps the rounds up to the best one.

    That is the best round of the first metric that is not always NaN. A metric must
    change by more than ``min_delta`` to be better: one number for all metrics, or a
    list with one for each.
    """

    order = 30
    may_end = False
    may_skip = True

    def __init__(
        self, min_delta: float | list[float], first_metric_only: bool = False
    ) -> None:
        self.min_delta = min_delta if isinstance(min_delta, list) else [min_delta]
        self.first_metric_only = first_metric_only
        self.watches: dict[tuple[str, str], Watch] = {}

    def on_other_ranks(self) -> Self:
        """The callback of other ranks, which decides the same and prints nothing."""
        return copy.copy(self)

    def __call__(self, env: CallbackEnv) -> None:
        results = env.evaluation_result_list
        rounds = [(env.iteration, results)]
        if env.iteration == env.begin_iteration:
            self._begin(results, self._watched(env))
            if self.earlier:
                rounds = [*self._earlier_rounds(results, env.iteration), *rounds]
        for iteration, measured in rounds:
            for dataset, metric, value, *_ in measured:
                watch = self.watches.get((dataset, metric))
                if watch is not None:
                    watch.update(iteration, value, measured)

    def _earlier_rounds(
        self, results: list[EvalResult], n_rounds: int
    ) -> list[tuple[int, list[EvalResult]]]:
        """The metrics of the rounds before the first one, in the order of its own."""
        history = self.earlier or {}

        def measured(iteration: int) -> list[EvalResult]:
            return [
                EvalResult(name, metric, history[name][metric][iteration], maximize)
                for name, metric, _, maximize, *_ in results
            ]

        return [(iteration, measured(iteration)) for iteration in range(n_rounds)]

    def at_end(self) -> EarlyStopException | None:
        """Keep the rounds up to the best one."""
        for watch in self.watches.values():
            if watch.results:
                return self._stop(watch)
        return None

    def _watched(self, env: CallbackEnv) -> list[EvalResult]:
        """The metrics of the first round that are watched."""
        return env.evaluation_result_list

    def _begin(self, results: list[EvalResult], watched: list[EvalResult]) -> None:
        """Watch some of the metrics of the first round.

        ``results`` are those of all metrics, whose order `min_delta` follows;
        ``watched`` are those to watch.
        """
        names = list(dict.fromkeys(metric for _, metric, *_ in results))
        deltas = self.min_delta or [0.0]
        if len(deltas) == 1:
            deltas = deltas * len(names)
        elif results and len(deltas) != len(names):
            raise ValueError(
                f"early_stopping: min_delta has {len(deltas)} values for the"
                f" {len(names)} metrics {', '.join(names)}; pass one for each."
            )
        delta = dict(zip(names, deltas, strict=False))
        watches = [Watch(result, delta) for result in watched]
        if self.first_metric_only:
            watches = [watch for watch in watches if watch.metric == names[0]]
        self.watches = {(watch.dataset, watch.metric): watch for watch in watches}

    def _stop(self, watch: Watch) -> EarlyStopException:
        """The exception that ends the fit with its best round."""
        return EarlyStopException(watch.iteration, watch.results)
