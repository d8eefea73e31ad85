"""Runs that several threads advance side by side, and that end together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from skgoss.utils.cancellation import CancelScope
from skgoss.utils.locks import CertainEnd

Result = TypeVar("Result")

# An estimate: n threads make one fit faster by n to this power.
_EFFICIENCY = 0.8

# Seconds between two checks for signals, which only the main thread handles. On
# Windows, it does not handle any while it waits.
_SIGNAL_INTERVAL = 0.1


def at_once(n_runs: int, n_threads: int) -> tuple[int, int]:
    """The number of runs that advance at once, and the number of threads of each.

    ``n_threads`` threads are dealt out so that ``n_runs`` runs take the least time: a
    run with n threads is faster by n to the power of `_EFFICIENCY`.
    """
    best = max(
        range(1, min(n_runs, n_threads) + 1),
        key=lambda n: (n * (n_threads // n) ** _EFFICIENCY, n),
    )
    return best, n_threads // best


def run_all(functions: Sequence[Callable[[], Result]], n_at_once: int) -> list[Result]:
    """Call functions, several at once, and return their results: see `Schedule`."""
    if n_at_once == 1:
        return [function() for function in functions]
    results: dict[int, Result] = {}

    def step(number: int) -> bool:
        results[number] = functions[number]()
        return False

    steps = [partial(step, number) for number in range(len(functions))]
    with Schedule(steps, n_at_once) as schedule:
        schedule.reach(1)
    return [results[number] for number in range(len(functions))]


class Schedule(CertainEnd):
    """Runs whose steps are done by several threads.

    A free thread advances the run with the fewest steps, the first of these. The
    ``steps`` do the next step of a run and return whether the run continues. If
    ``n_at_once`` or the number of runs is 1, the calling thread does them.

    It is a context manager: its threads end with the `with` body. If a step or the body
    raises an error, all other steps are cancelled: they end within a round.
    """

    def __init__(self, steps: Sequence[Callable[[], bool]], n_at_once: int) -> None:
        n_runs = len(steps)
        self._steps = steps
        self._n_done = [0] * n_runs
        self._is_busy = [False] * n_runs
        self._has_ended = [False] * n_runs
        self._errors: dict[int, BaseException] = {}
        self._n_required = 0  # the steps that `reach` waits for
        self._max_steps = 0  # of a run
        self._is_closed = False
        self._scope = CancelScope()
        # The exit of a condition is a function in Python, which an interrupt may skip.
        # So the main thread, the only one that is interrupted, neither enters nor
        # awaits a condition.
        self._lock = threading.Lock()
        self._may_proceed = threading.Condition(self._lock)
        self._is_reached: SimpleQueue[None] = SimpleQueue()
        n_threads = min(n_at_once, n_runs)
        self._threads = [
            threading.Thread(target=self._work, name="skgoss-run", daemon=True)
            for _ in range(n_threads if n_threads > 1 else 0)
        ]

    def _begin(self) -> None:
        """Start the threads; if one cannot be started, end those that were."""
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:
            self._threads = [t for t in self._threads if t.ident is not None]
            self._close()
            raise

    def _end(self, *error: Any) -> None:
        """End the threads; ``error`` are the arguments of ``__exit__``."""
        if error[0] is not None:
            self._scope.cancel()
        self._close()

    def _close(self) -> None:
        """Tell all threads to end after their present step, and wait for them."""
        with self._lock:
            self._is_closed = True
            self._may_proceed.notify_all()
        for thread in self._threads:
            thread.join()

    def reach(self, n_steps: int, n_prefetched: int = 0) -> None:
        """Wait until each run has done ``n_steps`` steps or has ended.

        Free threads do up to ``n_prefetched`` more steps, even after that. The first
        error of the ``n_steps`` steps is raised, in the order of the runs.
        """
        with self._lock:
            self._n_required = n_steps
            self._max_steps = n_steps + (n_prefetched if self._threads else 0)
            self._may_proceed.notify_all()
        while self._threads and not self._has_reached():
            with suppress(Empty):
                self._is_reached.get(timeout=_SIGNAL_INTERVAL)
        if not self._threads:
            while not self._errors and (number := self._next_run()) is not None:
                self._do_step(number)
        for number, error in sorted(self._errors.items()):
            if self._n_done[number] < n_steps:
                raise error

    def _has_reached(self) -> bool:
        """Whether `reach` need not wait: all runs have come that far, or one failed."""
        is_behind = [n < self._n_required for n in self._n_done]
        has_failed = any(is_behind[number] for number in self._errors)
        pairs = zip(is_behind, self._has_ended, strict=True)
        return has_failed or all(ended or not behind for behind, ended in pairs)

    def _next_run(self) -> int | None:
        """The run with the fewest steps that may continue; None: there is none."""
        available = [
            number
            for number, n in enumerate(self._n_done)
            if n < self._max_steps
            and not (self._is_busy[number] or self._has_ended[number])
        ]
        return min(available, key=self._n_done.__getitem__, default=None)

    def _do_step(self, number: int) -> None:
        """Do the next step of a run; its error is kept, and ends the run."""
        continues, n_new = False, 0
        try:
            continues, n_new = self._steps[number](), 1
        except BaseException as error:
            self._errors[number] = error
        self._n_done[number] += n_new
        self._has_ended[number] = not continues

    def _work(self) -> None:
        """Do steps until the body of the schedule ends."""
        self._scope.adopt_thread()
        while (number := self._take_run()) is not None:
            self._do_step(number)
            # No other thread need be notified: this one can continue the run.
            with self._lock:
                self._is_busy[number] = False
                is_reached = self._n_done[number] == self._n_required
                if (is_reached or self._has_ended[number]) and self._has_reached():
                    self._is_reached.put(None)

    def _take_run(self) -> int | None:
        """Take a run for this thread; None at the end of the body."""
        with self._lock:
            while not self._is_closed:
                number = self._next_run()
                if number is not None:
                    self._is_busy[number] = True
                    return number
                self._may_proceed.wait()
        return None
