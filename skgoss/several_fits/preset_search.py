"""The option ``preset``: a race of candidates, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.fit import callbacks
from skgoss.fit import splits as splits_of_rows
from skgoss.fit.fit import AfterRound, Fit, MakeModel, PreparedFit
from skgoss.fit.splits import Pair, Splits
from skgoss.fit.time_limit import TimeLimit
from skgoss.model.fitted import FittedModel
from skgoss.parameters import presets
from skgoss.several_fits import blending, race
from skgoss.several_fits.blending import FoldModel
from skgoss.several_fits.folds import (
    FoldFits,
    Folds,
    has_own_scores,
    threads_of_folds,
)
from skgoss.several_fits.race import Racer
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.run import Run
from skgoss.training.schedule import run_all
from skgoss.utils.messages import warn, warn_unused

# The share of the time of a round that is in proportion to its leaves, and the factor
# of this time for linear leaves.
_LEAF_COST_SHARE = 0.6
_LINEAR_COST_FACTOR = 1.4
# The unit of time is a fit of this many rounds with the user's options. A preset takes
# at most this many units, or per fold whose model it keeps.
_ROUNDS_PER_FIT = 100
_MAX_COST = 38.0
_MAX_COST_PER_FOLD = 12.0


@dataclass(frozen=True, eq=False)
class PresetSearch:
    """The search of a preset, and the fit or the fits that follow it.

    ``pairs`` are the folds of the option ``folds``, if a blend of their models is the
    result; else None. Of the evaluation ``sets``, the ``external_set`` is the first
    that has other rows than those to learn from.
    """

    prepared: PreparedFit
    search: presets.Search
    splits: Splits
    pairs: Sequence[Pair] | None
    sets: Sequence[EvaluationSet]
    external_set: EvaluationSet | None

    @property
    def has_folds(self) -> bool:
        """Whether models of folds become one."""
        return self.pairs is not None

    def model(
        self,
        make_model: MakeModel,
        after_round: AfterRound | None = None,
        *,
        keeps_rounds: bool = False,
    ) -> FittedModel:
        """The model of the best candidate on all rows, or a blend of several.

        For the arguments, see `Fit.model` and `FoldFits.model`.
        """
        if self.pairs is not None:
            return self._blend(self.pairs, make_model)
        fit = Fit.begin(self._with_best_options(), self.sets)
        return fit.model(make_model, after_round, keeps_rounds=keeps_rounds)

    def _blend(self, pairs: Sequence[Pair], make_model: MakeModel) -> FittedModel:
        """The weighted mean of the candidates' models of the folds."""
        self._warn_of_callbacks()
        found = self._searched(Folds(self.prepared.data.rows, pairs))
        members = [candidate for candidate in found if candidate.models]
        kinds = [member.models for member in members]
        winner = race.winner(members, self.search.level)
        weights = self._weights(kinds, members.index(winner))
        for member, weight in zip(members, weights, strict=True):
            member.weight = weight / sum(weights)
        best = members[int(np.argmax(weights))]
        chosen = self._with_chosen(best.params, found)
        folds = FoldFits(chosen, self.splits, pairs)
        return folds.blended(kinds, weights, pairs, make_model)

    def _with_chosen(
        self, options: Mapping[str, Any], found: Sequence[Candidate]
    ) -> PreparedFit:
        """The fit with what has been chosen, and what has been compared."""
        chosen = self.prepared.with_chosen(options)
        return replace(chosen, search_results=_results(found))

    def _with_best_options(self) -> PreparedFit:
        """The fit with the options of the best candidate, and a number of rounds."""
        search, prepared, rows = self.search, self.prepared, self.prepared.data.rows
        pairs = self._pairs()
        if not pairs:
            return prepared.with_chosen(search.without)
        found = self._searched(Folds(rows, pairs, self.external_set))
        best = race.winner(found, search.level)
        best.weight = 1.0
        if self.external_set is not None:
            return self._with_chosen(best.params, found)
        n_rows = len(self.splits.rows)
        ratio = n_rows / float(np.mean([len(train) for train, _ in pairs]))
        most = rows.collectives.broadcast(
            lambda: prepared.limit.left / (best.time_of_round * ratio)
        )
        spent, usual = time_so_far(search, [c for c in found if c.rounds], n_rows)
        spare = best.rounds_of_fits(_MAX_COST - spent, usual)
        last = search.last_fit(
            best.mean_rounds, best.n_leaves, n_rows, ratio, most, spare
        )
        return self._with_chosen(best.params | last, found)

    def _pairs(self) -> list[Pair]:
        """The folds that candidates are compared on; none if there are too few rows.

        An evaluation set decides instead of them. Of many rows, there is a sample.
        """
        splits = self.splits
        at = splits.weighted()
        n_rows = self.search.n_rows_of(len(at))
        if n_rows < len(at):
            seed = self.prepared.data.settings.random_state
            at = splits_of_rows.sample(at, splits.groups, n_rows, seed)
        if self.external_set is not None:
            return [(at, at[:0])]
        n_folds = min(self.search.n_folds, splits.most_folds(at))
        return [] if n_folds < 2 else splits.of_equal_size(n_folds, at)

    def _weights(
        self, kinds: Sequence[Sequence[FoldModel]], winner: int
    ) -> list[float]:
        """The weights of several configurations, as a preset chooses them."""
        data = self.prepared.data
        if data.settings.refit:
            return [float(i == winner) for i in range(len(kinds))]
        metrics = self._by_loss().setup.make_metrics()
        weights = blending.hill_climbing(kinds, metrics)
        if has_own_scores(data) and data.link.kind in ("logistic", "softmax"):
            weighted = self.splits.weighted()
            n_rows = sum(int(np.isin(m.test, weighted).sum()) for m in kinds[0])
            factor = blending.calibration(kinds, weights, metrics, n_rows)
            weights = [factor * weight for weight in weights]
        return weights

    def _searched(self, folds: Folds) -> list[Candidate]:
        """All candidates, batch by batch until no batch has a better one.

        For a blend, those that were not dropped have models.
        """
        search, prepared, by_loss = self.search, self.prepared, self._by_loss()
        settings = prepared.data.settings
        limit = prepared.limit.of_share(0.9 if self.has_folds else 0.5)
        found: list[Candidate] = []
        best, n_without, n_rounds = np.inf, 0, 0.0
        params: dict[str, Any] = {}
        for number in range(search.n_batches):
            kinds = search.batch(number, params, n_rounds, settings.random_state)
            batch = [
                Candidate(kind, by_loss.with_options(search.options | kind), folds)
                for kind in kinds
            ]
            if not batch:
                continue
            is_drawn = number > 1
            PresetRace(self, folds, limit, batch, found, is_drawn=is_drawn).run()
            for candidate in batch:
                if self.has_folds and not candidate.is_dropped:
                    candidate.keep(prepared.setup.make_metrics())
                candidate.end()
            found += batch
            leader = min(found, key=lambda candidate: candidate.loss)
            n_without = n_without + 1 if is_drawn and leader.loss >= best else 0
            best, n_rounds, params = leader.loss, leader.usual_rounds, leader.params
            if settings.verbosity >= 1:
                left = f", {limit.left:.0f} s left" if limit.seconds else ""
                callbacks.say(f"{len(found)} candidates, lowest loss {best:g}{left}")
            if n_without == search.patience or prepared.is_over(limit):
                break
        prepared.limit.is_reached |= limit.is_reached
        self._warn_of_end(limit, n_begun=sum(c.has_begun for c in found))
        return found

    def _warn_of_callbacks(self) -> None:
        """Warn of the user's callbacks, if no fit has rounds to call them after."""
        settings = self.prepared.data.settings
        unused = [
            call
            for call in callbacks.of_user(self.prepared.data.arguments.callbacks)
            if not (settings.refit and getattr(call, "before_iteration", False))
        ]
        if unused:
            warn_unused(
                f"callbacks are not called with preset={settings.preset!r} and folds,"
                " because the rounds of several configurations are compared in stages."
                " Only record_evaluation has an effect. For callbacks, leave the preset"
                " out, or pass its options: see preset_params_ and search_results_."
            )

    def _warn_of_end(self, limit: TimeLimit, n_begun: int) -> None:
        """Warn if Ctrl-C or the limit has ended the search."""
        whole, n_first = self.prepared.limit, len(self.search.candidates)
        if limit.interrupted.is_set():
            whole.warn_interrupted(
                f"a search after {n_begun} candidates had begun",
                goes_on=not self.has_folds or self.prepared.data.settings.refit,
            )
        elif n_begun < n_first:
            warn(
                f"time_limit={whole.seconds:g} ended the search after"
                f" {n_begun} of the first {n_first} candidates had"
                " begun. Set a larger limit, or leave the preset out."
            )

    def _by_loss(self) -> PreparedFit:
        """The fit with the loss of its objective as the metric, without messages."""
        data = self.prepared.data
        arguments = replace(data.arguments, callbacks=None, eval_metric=None)
        quiet = {"metric": None, "verbosity": -1, "folds": None}
        settings = data.settings.checked(quiet, data.task.owner)
        by_loss = self.prepared.with_data(
            data.replaced(arguments=arguments, settings=settings)
        )
        if not by_loss.setup.make_metrics():
            raise ValueError(
                f"preset={data.settings.preset!r} compares losses, but an objective"
                " that is a function has none. Set n_estimators."
            )
        return by_loss


class PresetRace(race.Race):
    """The race of a batch of candidates against those of earlier batches."""

    racers: Sequence[Candidate]
    references: Sequence[Candidate]

    def __init__(
        self,
        preset: PresetSearch,
        folds: Folds,
        limit: TimeLimit,
        batch: Sequence[Candidate],
        found: Sequence[Candidate],
        *,
        is_drawn: bool,
    ) -> None:
        super().__init__(batch, found, preset.search.level)
        self.preset, self.folds, self.limit = preset, folds, limit
        self.is_drawn = is_drawn

    def grow(self, running: Sequence[Candidate]) -> None:
        """Grow candidates to their next stage, on all folds."""
        prepared, n_folds = self.preset.prepared, len(self.folds.pairs)
        n_at_once, n_threads = threads_of_folds(running[0].prepared, n_folds)

        def advance(candidate: Candidate, number: int) -> None:
            # There is always a model.
            is_first = not self.references and candidate is running[0]
            must_begin = is_first and not candidate.rounds
            if not must_begin and prepared.is_over(self.limit):
                return
            if candidate.runs[number] is None:
                begun = self.folds.begin(candidate.prepared, number, n_threads)
                # All losses are the history of a model that is kept.
                run = Run(begun.rounds, evaluates_all=self.preset.has_folds)
                candidate.runs[number] = run
            run = candidate.runs[number]
            run.advance(candidate.next_rounds, partial(prepared.is_over, self.limit))

        jobs = product(running, range(n_folds))
        run_all([partial(advance, *job) for job in jobs], n_at_once)
        for candidate in running:
            if candidate.has_begun:
                losses = [min(run.losses.values()) for run in candidate.runs]
                candidate.note(-np.array(losses))

    def is_over(self, seconds: float) -> bool:
        """Whether the limit is reached; ends candidates that there is no time for."""
        self._end_late()
        return self.preset.prepared.is_over(self.limit)

    def _end_late(self) -> None:
        """End those of the batch that there is no time for, if each was chosen now.

        Time is counted in rounds and leaves, so that it is the same on all machines.
        """
        search, pairs = self.preset.search, self.preset.pairs
        n_rows = len(self.preset.splits.rows)
        running = [c for c in self.racers if c.rounds]
        begun = [*(c for c in self.references if c.rounds), *running]
        spent, usual = time_so_far(search, begun, n_rows)
        if self.is_drawn:
            spent = sum(c.n_fits(n_rows, usual) for c in running)
        for candidate in running:
            if pairs is None:
                last = candidate.n_fits_of_last(search, n_rows, usual)
                is_over = spent + last > _MAX_COST
            else:
                is_over = spent > _MAX_COST_PER_FOLD * len(pairs)
            if is_over:
                candidate.most_rounds = candidate.rounds[-1]


def time_so_far(
    search: presets.Search, begun: Sequence[Candidate], n_rows: int
) -> tuple[float, float | None]:
    """The time of candidates so far, in fits, and the leaves of a round of these.

    None: the user's options have not begun.
    """
    of_user = [c.n_leaves_of_round for c in begun if c.params == search.own]
    usual = of_user[0] if of_user else None
    return sum(c.n_fits(n_rows, usual) for c in begun), usual


class Candidate(Racer):
    """A set of options that a search compares, with its fits on the folds."""

    def __init__(
        self, params: dict[str, Any], prepared: PreparedFit, folds: Folds
    ) -> None:
        options = prepared.data.settings
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
        self.prepared, self.folds = prepared, folds
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
        """An estimate of the time so far, in fits of all rows.

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
        """The number of rounds of all rows that take the time of ``n_fits`` fits."""
        return n_fits / self._fits_of_round(usual)

    def _fits_of_round(self, usual: float | None) -> float:
        of_leaves = 1.0 if usual is None else self.n_leaves_of_round / usual
        cost = 1.0 + _LEAF_COST_SHARE * (of_leaves - 1.0)
        if self.prepared.data.settings.linear_tree:
            cost *= _LINEAR_COST_FACTOR
        return cost / _ROUNDS_PER_FIT

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


def _results(found: Sequence[Candidate]) -> dict[str, list[Any]]:
    """What was compared, in the manner of ``cv_results_``."""
    return {
        "params": [candidate.params for candidate in found],
        "mean_test_loss": [candidate.loss for candidate in found],
        "n_rounds": [candidate.mean_rounds for candidate in found],
        "fit_time": [candidate.seconds for candidate in found],
        "weight": [candidate.weight for candidate in found],
    }
