"""The option ``preset``: a race of candidates, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.fit import callbacks
from skgoss.fit import splits as splits_of_rows
from skgoss.fit.fit import Fit, MakeModel
from skgoss.fit.splits import Pair
from skgoss.fit.time_limit import TimeLimit
from skgoss.parameters import presets
from skgoss.several_fits import blending, race
from skgoss.several_fits import folds as folds_of_fits
from skgoss.several_fits.blending import FoldModel
from skgoss.several_fits.folds import Folds
from skgoss.several_fits.race import Racer
from skgoss.training.loop import Trained
from skgoss.training.run import Run
from skgoss.training.schedule import run_all
from skgoss.utils.messages import warn

# So much of the time of a round is in proportion to its leaves, and rounds with linear
# leaves take so many times as long.
_OF_LEAVES = 0.6
_OF_LINES = 1.4
# The user's options take so many rounds as a unit of time, of which a preset has at
# most so many, or so many for each fold whose model it keeps.
_ROUNDS_OF_FIT = 100
_MOST_FITS = 38.0
_MOST_FITS_OF_FOLD = 12.0


def choose(fit: Fit, search: presets.Search) -> None:
    """Let a fit use the options of the best candidate, with the number of rounds."""
    fit.choose(_best_options(fit, search))


def trained(fit: Fit, search: presets.Search, make_model: MakeModel) -> Trained:
    """The weighted mean of the candidates' models of the folds."""
    pairs = fit.pairs
    assert pairs is not None
    found = _searched(fit, search, pairs)
    members = [candidate for candidate in found if candidate.models]
    kinds = [member.models for member in members]
    weights = _weights(fit, kinds, members.index(race.winner(members, search.level)))
    for member, weight in zip(members, weights, strict=True):
        member.weight = weight / sum(weights)
    fit.search_results = _results(found)
    fit.choose(members[int(np.argmax(weights))].params)
    return folds_of_fits.joined(fit, kinds, weights, pairs, make_model)


def _best_options(fit: Fit, search: presets.Search) -> dict[str, Any]:
    pairs = _pairs(fit, search)
    if not pairs:
        return search.without
    found = _searched(fit, search, pairs)
    best = race.winner(found, search.level)
    best.weight = 1.0
    fit.search_results = _results(found)
    if fit.others is not None:
        return best.params
    n_rows, rows = len(fit.splits.rows), fit.data.rows
    ratio = n_rows / float(np.mean([len(train) for train, _ in pairs]))
    most = rows.collectives.broadcast(
        lambda: fit.limit.left / (best.time_of_round * ratio)
    )
    spent, usual = _time(search, [c for c in found if c.rounds], n_rows)
    spare = best.rounds_of_fits(_MOST_FITS - spent, usual)
    return best.params | search.last_fit(
        best.mean_rounds, best.n_leaves, n_rows, ratio, most, spare
    )


def _pairs(fit: Fit, search: presets.Search) -> list[Pair]:
    """The folds that candidates are compared on; none if there are too few rows.

    An evaluation set decides instead of them. Of many rows, there is a sample.
    """
    splits = fit.splits
    at = splits.weighted()
    n_rows, seed = search.n_rows_of(len(at)), fit.settings.random_state
    if n_rows < len(at):
        at = splits_of_rows.sample(at, splits.groups, n_rows, seed)
    if fit.others is not None:
        return [(at, at[:0])]
    n_folds = min(search.n_folds, splits.most_folds(at))
    return [] if n_folds < 2 else splits.of_equal_size(n_folds, at)


def _weights(
    fit: Fit, kinds: Sequence[Sequence[FoldModel]], winner: int
) -> list[float]:
    """The weights of several configurations, as a preset chooses them."""
    if fit.settings.refit:
        return [float(i == winner) for i in range(len(kinds))]
    metrics = _by_loss(fit).plan.make_metrics()
    weights = blending.hill_climbing(kinds, metrics)
    has_own_scores = folds_of_fits.has_own_scores(fit)
    if has_own_scores and fit.data.link.kind in ("logistic", "softmax"):
        weighted = fit.splits.weighted()
        n_rows = sum(int(np.isin(m.test, weighted).sum()) for m in kinds[0])
        factor = blending.calibration(kinds, weights, metrics, n_rows)
        weights = [factor * weight for weight in weights]
    return weights


def _searched(
    fit: Fit, search: presets.Search, pairs: Sequence[Pair]
) -> list[_Candidate]:
    """All candidates, batch by batch until no batch has a better one.

    Of an ensemble, those that did not fall behind have models.
    """
    by_loss, is_mean = _by_loss(fit), fit.pairs is not None
    folds = Folds(fit.data.rows, pairs, fit.others)
    limit = fit.limit.of_share(0.9 if is_mean else 0.5)
    found: list[_Candidate] = []
    best, n_without, n_rounds = np.inf, 0, 0.0
    params: dict[str, Any] = {}
    seed = fit.settings.random_state
    for number in range(search.n_batches):
        batch = [
            _Candidate(options, by_loss.with_options(search.options | options), folds)
            for options in search.batch(number, params, n_rounds, seed)
        ]
        if not batch:
            continue
        race.run(
            batch,
            _growth(fit, folds, limit, has_rivals=bool(found)),
            lambda _: fit.is_over(limit),
            rivals=found,
            level=search.level,
            after_stage=partial(
                _end_late, fit, search, batch, found, is_drawn=number > 1
            ),
        )
        for candidate in batch:
            if is_mean and not candidate.left:
                candidate.keep(fit.plan.make_metrics())
            candidate.end()
        found += batch
        leader = min(found, key=lambda candidate: candidate.loss)
        is_drawn = number > 1
        n_without = n_without + 1 if is_drawn and leader.loss >= best else 0
        best, n_rounds, params = leader.loss, leader.usual_rounds, leader.params
        if fit.settings.verbosity >= 1:
            left = f", {limit.left:.0f} s left" if limit.seconds else ""
            callbacks.say(f"{len(found)} candidates, lowest loss {best:g}{left}")
        if n_without == search.patience or fit.is_over(limit):
            break
    fit.limit.is_reached |= limit.is_reached
    _warn_of_end(fit, search, limit, n_begun=sum(c.has_begun for c in found))
    return found


def _warn_of_end(
    fit: Fit, search: presets.Search, limit: TimeLimit, n_begun: int
) -> None:
    """Warn if Ctrl-C or the limit has ended the search."""
    if limit.interrupted.is_set():
        fit.tell_of_interrupt(f"a search after {n_begun} candidates had begun")
    elif n_begun < len(search.candidates):
        warn(
            f"time_limit={fit.limit.seconds:g} ended the search after"
            f" {n_begun} of the first {len(search.candidates)} candidates had"
            " begun. Set a larger limit, or leave the preset out."
        )


def _growth(
    fit: Fit, folds: Folds, limit: TimeLimit, *, has_rivals: bool
) -> Callable[[Sequence[Any]], None]:
    """What lets candidates of a race grow to their next stage, on all folds."""
    n_folds = len(folds.pairs)

    def grow(running: Sequence[_Candidate]) -> None:
        n_at_once, n_threads = folds_of_fits.threads_of_folds(running[0].fit, n_folds)

        def advance(candidate: _Candidate, number: int) -> None:
            # There is always a model.
            is_first = not has_rivals and candidate is running[0]
            if not (is_first and not candidate.rounds) and fit.is_over(limit):
                return
            if candidate.runs[number] is None:
                begun = folds.begun(candidate.fit, number, n_threads)
                # All losses are the history of a model that is kept.
                run = Run(begun.state, evaluates_all=fit.pairs is not None)
                candidate.runs[number] = run
            run = candidate.runs[number]
            run.advance(candidate.next_rounds, partial(fit.is_over, limit))

        jobs = product(running, range(n_folds))
        run_all([partial(advance, *job) for job in jobs], n_at_once)
        for candidate in running:
            if candidate.has_begun:
                losses = [min(run.losses.values()) for run in candidate.runs]
                candidate.note(-np.array(losses))

    return grow


def _end_late(
    fit: Fit,
    search: presets.Search,
    batch: Sequence[_Candidate],
    found: Sequence[_Candidate],
    *,
    is_drawn: bool,
) -> None:
    """Let those of a batch end that there is no time for, if each was chosen now.

    Time is counted in rounds and leaves, so that it is the same on all machines.
    """
    n_rows, running = len(fit.splits.rows), [c for c in batch if c.rounds]
    begun = [*(c for c in found if c.rounds), *running]
    spent, usual = _time(search, begun, n_rows)
    if is_drawn:
        spent = sum(c.n_fits(n_rows, usual) for c in running)
    for candidate in running:
        if fit.pairs is None:
            last = candidate.n_fits_of_last(search, n_rows, usual)
            is_over = spent + last > _MOST_FITS
        else:
            is_over = spent > _MOST_FITS_OF_FOLD * len(fit.pairs)
        if is_over:
            candidate.most_rounds = candidate.rounds[-1]


def _time(
    search: presets.Search, begun: Sequence[_Candidate], n_rows: int
) -> tuple[float, float | None]:
    """The time of candidates so far, in fits, and the leaves of a round of these.

    None: the user's options have not begun.
    """
    of_user = [c.n_leaves_of_round for c in begun if c.params == search.own]
    usual = of_user[0] if of_user else None
    return sum(c.n_fits(n_rows, usual) for c in begun), usual


def _by_loss(fit: Fit) -> Fit:
    """The fit with the loss of its objective as the metric, without messages."""
    data = fit.data
    arguments = replace(data.arguments, callbacks=None, eval_metric=None)
    quiet = {"metric": None, "verbosity": -1, "folds": None}
    by_loss = fit.variant(data.replaced(arguments=arguments)).with_options(quiet)
    if not by_loss.plan.make_metrics():
        raise ValueError(
            f"preset={data.settings.preset!r} compares losses, but an objective"
            " that is a function has none. Set n_estimators."
        )
    return by_loss


class _Candidate(Racer):
    """A set of options that a search compares, with its fits on the folds."""

    def __init__(self, params: dict[str, Any], fit: Fit, folds: Folds) -> None:
        options = fit.settings
        super().__init__(
            params,
            "n_estimators",
            options.n_estimators,
            options.learning_rate,
            options.num_leaves,
            race.STEP_OF_PRESETS,
            # Random thresholds are wrong least often on few rows.
            is_robust=options.extra_trees and not options.linear_tree,
        )
        self.fit, self.folds = fit, folds
        self.n_grown = self.n_leaves_grown = 0  # rounds, and their leaves, of all folds
        self.n_learned = float(np.mean([len(train) for train, _ in folds.pairs]))
        self.runs: list[Any] = [None] * len(folds.pairs)  # a `Run` each
        # What is kept of them for a mean; empty if nothing is.
        self.models: list[FoldModel] = []
        self.weight = 0.0  # in the model

    @property
    def has_begun(self) -> bool:
        """Whether it has grown on all folds."""
        return all(self.runs)

    def note(self, scores: NDArray[np.float64]) -> None:
        super().note(scores)
        self.n_grown = sum(run.n_rounds for run in self.runs)
        self.n_leaves_grown = sum(run.rounds.n_leaves for run in self.runs)

    @property
    def n_leaves_of_round(self) -> float:
        """The mean number of leaves of a round."""
        return self.n_leaves_grown / self.n_grown

    def n_fits(self, n_rows: int, usual: float | None) -> float:
        """An estimate of the time so far: so many fits of all rows would take it.

        Rounds of these have ``usual`` leaves; None: as many as here. Small steps may
        take as many more.
        """
        n_rounds = self.n_grown * min(1.0, self.rate / race.USUAL_RATE)
        return self._fits_of_round(usual) * n_rounds * self.n_learned / n_rows

    def n_fits_of_last(
        self, search: presets.Search, n_rows: int, usual: float | None
    ) -> float:
        """The same of a fit of all rows, if it was chosen now."""
        ratio = n_rows / self.n_learned
        found = search.last_fit(self.mean_rounds, self.n_leaves, n_rows, ratio, np.inf)
        n_rounds: int = found["n_estimators"]
        small = min(1.0, search.rate / presets.RATE_OF_LAST_FIT)
        return self._fits_of_round(usual) * n_rounds * small

    def rounds_of_fits(self, n_fits: float, usual: float | None) -> float:
        """So many rounds of all rows take the time of some fits."""
        return n_fits / self._fits_of_round(usual)

    def _fits_of_round(self, usual: float | None) -> float:
        of_leaves = 1.0 if usual is None else self.n_leaves_of_round / usual
        cost = 1.0 + _OF_LEAVES * (of_leaves - 1.0)
        if self.fit.settings.linear_tree:
            cost *= _OF_LINES
        return cost / _ROUNDS_OF_FIT

    @property
    def loss(self) -> float:
        """The mean over the folds; infinite if the limit came before the first ones."""
        return -self.means[-1] if self.means else np.inf

    @property
    def mean_rounds(self) -> float:
        """The mean number of rounds up to the best ones."""
        return blending.mean_rounds([r.best_round if r else 1 for r in self.runs])

    @property
    def usual_rounds(self) -> float:
        """The same, as rounds of the usual learning rate."""
        return self.mean_rounds * self.rate / race.USUAL_RATE

    @property
    def seconds(self) -> float:
        """The time of all folds."""
        return sum(run.seconds for run in self.runs if run)

    @property
    def time_of_round(self) -> float:
        """The seconds of a round of a fold."""
        return self.seconds / sum(max(run.results) for run in self.runs if run)

    def keep(self, metrics: Sequence[Any]) -> None:
        """Keep the models, all of as many rounds, which are tested by ``metrics``.

        With its own best round, the score of each fold would be too optimistic.
        """
        if self.has_begun:
            n_rounds = max(1, round(self.mean_rounds))
            self.models = [
                FoldModel.from_rounds(
                    run.rounds,
                    min(n_rounds, run.n_rounds),
                    test,
                    run.history,
                    metrics=metrics,
                )
                for run, (_, test) in zip(self.runs, self.folds.pairs, strict=True)
            ]

    def end(self) -> None:
        """Forget all but the losses and the models: no rounds follow."""
        for run in filter(None, self.runs):
            run.end()


def _results(found: Sequence[_Candidate]) -> dict[str, list[Any]]:
    """What was compared, in the manner of ``cv_results_``."""
    return {
        "params": [candidate.params for candidate in found],
        "mean_test_loss": [candidate.loss for candidate in found],
        "n_rounds": [candidate.mean_rounds for candidate in found],
        "fit_time": [candidate.seconds for candidate in found],
        "weight": [candidate.weight for candidate in found],
    }
