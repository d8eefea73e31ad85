"""Fits that run side by side on virtual cores: what `many_cores.py` predicts for them.

`Recorder` lets the steps of all fits be done one after the other by the thread that is
measured. `together` assigns them to threads again. A stretch is what a thread does
with the interpreter's lock and then without: seconds with it, seconds without it, and
of the parallel regions in it the sum of their parts, and of the log2 of these.
"""

from __future__ import annotations

import ctypes
import heapq
from functools import partial

TASKS = "folds", "cv", "search"
N_FOLDS = 8


def job(args, data, estimator):
    """Of the cores and options, a function that makes several fits."""
    X, y, kind, more = data

    def folds(cores, options):
        model = estimator(
            args.library, kind, args.rounds, cores, {"folds": N_FOLDS} | options
        )
        return lambda: model.fit(X, y, **more)

    def cv(cores, options):
        module = __import__(args.library)
        objective = {"classifier": "binary", "regressor": "regression"}[kind]
        params = {"num_threads": cores, "verbose": -1, "objective": objective}
        return lambda: module.cv(
            params | options, module.Dataset(X, y), args.rounds, nfold=N_FOLDS
        )

    def search(cores, options):
        from skgoss.model_selection import GridSearchCV

        model = estimator(args.library, kind, args.rounds, None, options)
        grid = {"num_leaves": [7, 15, 31, 63], "learning_rate": [0.05, 0.1]}
        searches = GridSearchCV(model, grid, cv=4, n_jobs=cores, refit=False)
        return lambda: searches.fit(X, y)

    return {"folds": folds, "cv": cv, "search": search}[args.task]


def predicted(run, overhead, wake):
    """Seconds of a run in which several fits advance side by side."""
    seconds = sum(map(sum, with_overhead(run["stretches"], overhead)))
    for schedule in run["schedules"]:
        by_run = {}
        for number, stretches in schedule["steps"]:
            steps = by_run.setdefault(number, [])
            steps.append(with_overhead(stretches, overhead))
        seconds += together(list(by_run.values()), schedule["n_at_once"], wake)
    return seconds


def with_overhead(stretches, overhead):
    """Seconds of stretches with the lock, and without it, in which regions lie."""
    return [
        (held, free + overhead(levels, n_parts))
        for held, free, n_parts, levels in stretches
    ]


def together(runs, n_threads, wake):
    """Seconds until the threads have done the steps of all runs.

    A free thread takes the run that is furthest behind. The first thread gets
    the interpreter's lock first.
    """
    n_done, is_busy = [0] * len(runs), [False] * len(runs)
    lock_is_free = end = 0.0
    waiting = [(0.0, thread, iter(()), -1) for thread in range(n_threads)]
    while waiting:
        now, thread, left, run = heapq.heappop(waiting)
        if (stretch := next(left, None)) is None:
            if run >= 0:
                n_done[run], is_busy[run] = n_done[run] + 1, False
            end = max(end, now)
            free = [
                i
                for i in range(len(runs))
                if not is_busy[i] and n_done[i] < len(runs[i])
            ]
            if not free:
                continue
            run = min(free, key=n_done.__getitem__)
            is_busy[run], left = True, iter(runs[run][n_done[run]])
            stretch = next(left)
        held, free_time = stretch
        start = now if now >= lock_is_free else lock_is_free + wake
        lock_is_free = start + held
        heapq.heappush(waiting, (lock_is_free + free_time, thread, left, run))
    return end


class Recorder:
    """Which stretches of the measured thread belong to which step of which schedule."""

    def __init__(self, span):
        self.span, self.is_in_step = span, False
        span.span_stretches.argtypes = [
            ctypes.c_int,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_double),
        ]
        self.begin()

    def begin(self):
        self.schedules, self.outside, self.last = [], [], 0

    def stretches(self):
        """Those since the last call, in seconds."""
        first, end = self.last, self.span.span_mark()
        numbers = (ctypes.c_double * (4 * (end - first)))()
        self.span.span_stretches(first, end - first, numbers)
        self.last = end
        return [
            (held * 1e-9, free * 1e-9, n_parts, levels)
            for held, free, n_parts, levels in zip(*[iter(numbers)] * 4, strict=True)
        ]

    def step(self, schedule, number, function, *arguments):
        """Call what does a step, which counts if no other step is being done."""
        if self.is_in_step:
            return function(*arguments)
        self.outside += self.stretches()
        self.is_in_step = True
        try:
            return function(*arguments)
        finally:
            self.is_in_step = False
            schedule["steps"].append((number, self.stretches()))

    def attach(self):
        """Let schedules of skgoss, and searches, do all steps on one thread."""
        from sklearn.model_selection import _search

        from skgoss.training.schedule import Schedule

        start, do_step = Schedule.__init__, Schedule._do_step
        fit_and_score, parallel = _search._fit_and_score, _search.Parallel

        def make(schedule, steps, n_at_once):
            start(schedule, steps, 1)
            schedule.recorded = {"n_at_once": min(n_at_once, len(steps)), "steps": []}
            self.schedules.append(schedule.recorded)

        def step(schedule, number):
            self.step(schedule.recorded, number, do_step, schedule, number)

        def of_search(*arguments, **more):
            if not self.schedules:
                self.schedules.append({"n_at_once": self.n_jobs, "steps": []})
            of_candidates = self.schedules[0]
            number = len(of_candidates["steps"])
            call = partial(fit_and_score, *arguments, **more)
            return self.step(of_candidates, number, call)

        Schedule.__init__, Schedule._do_step = make, step
        _search._fit_and_score = of_search
        _search.Parallel = lambda n_jobs, **more: parallel(n_jobs=1, **more)


def locked(run):
    """What side-by-side runs wait for each other, and for which one thread waits."""
    steps = [
        step for s in run["schedules"] for _, of_step in s["steps"] for step in of_step
    ]
    held, free = (sum(stretch[i] for stretch in steps) for i in (0, 1))
    outside = sum(held + free for held, free, *_ in run["stretches"])
    most = max(s["n_at_once"] for s in run["schedules"])
    return (
        f"{most} at once: {held:.4f} s with the interpreter's lock, {free:.4f} s"
        f" without; {outside:.4f} s of one thread before and after"
    )
