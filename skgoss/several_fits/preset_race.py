"""The race of the candidates of a preset, which grow on folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.fit.fit import PreparedFit
from skgoss.fit.time_limit import TimeLimit
from skgoss.parameters import presets
from skgoss.several_fits import blending, race
from skgoss.several_fits.blending import FoldModel
from skgoss.several_fits.candidate_columns import CandidateColumns
from skgoss.several_fits.folds import Folds, threads_of_folds
from skgoss.several_fits.race import Racer
from skgoss.training.run import Run
from skgoss.training.schedule import run_all
from skgoss.utils.correct_rounding import power

# The share of the time of a round that is in proportion to its leaves, and the factor
# of this time for linear leaves.
_LEAF_COST_SHARE = 0.6
_LINEAR_COST_FACTOR = 1.4
# The time of a round grows with the number of columns to this power.
_POWER_OF_COLUMNS = 0.7
# The unit of time is a fit of this many rounds with the user's options.
ROUNDS_PER_FIT = 100


@dataclass(frozen=True, eq=False)
class Terms:
    """What all races of a search have in common."""

    prepared: PreparedFit
    search: presets.Search
    n_rows: int  # of all processes
    n_folds: int
    # Whether candidates keep the models of folds, and the losses of all their rounds.
    keeps_models: bool
    # The largest time of the search, in fits with the user's options, and whether this
    # includes that of a fit of all rows. A fit is `ROUNDS_PER_FIT` rounds.
    max_fits: float
    has_last_fit: bool
    limit: TimeLimit


class PresetRace(race.Race):
    """The race of a batch of candidates against those of earlier batches."""

    racers: Sequence[Candidate]
    references: Sequence[Candidate]

    def __init__(
        self,
        terms: Terms,
        batch: Sequence[Candidate],
        compared: Sequence[Candidate],
        *,
        is_drawn: bool,
    ) -> None:
        super().__init__(batch, compared, terms.search.level)
        self.terms, self.is_drawn = terms, is_drawn

    def grow(self, running: Sequence[Candidate]) -> None:
        """Grow candidates to their next stage, on all folds."""
        terms, n_folds = self.terms, self.terms.n_folds
        is_over = partial(terms.prepared.is_over, terms.limit)
        n_at_once, n_threads = threads_of_folds(running[0].prepared, n_folds)

        def advance(candidate: Candidate, number: int) -> None:
            # There is always a model.
            is_first = not self.references and candidate is running[0]
            must_begin = is_first and not candidate.rounds
            if not must_begin and is_over():
                return
            if candidate.runs[number] is None:
                folds = candidate.folds
                begun = folds.begin(candidate.prepared, number, n_threads)
                # All losses are the history of a model that is kept.
                run = Run(begun.rounds, evaluates_all=terms.keeps_models)
                candidate.runs[number] = run
            run = candidate.runs[number]
            run.advance(candidate.next_rounds, is_over)

        jobs = product(running, range(n_folds))
        run_all([partial(advance, *job) for job in jobs], n_at_once)
        for candidate in running:
            if candidate.has_begun:
                losses = [min(run.losses.values()) for run in candidate.runs]
                candidate.note(-np.array(losses))

    def is_over(self, seconds: float) -> bool:
        """Whether the limit is reached; ends candidates that there is no time for."""
        self._end_late()
        return self.terms.prepared.is_over(self.terms.limit)

    def _end_late(self) -> None:
        """End those of the batch that there is no time for, if each was chosen now.

        Time is counted in rounds and leaves, so that it is the same on all machines.
        """
        search, n_rows = self.terms.search, self.terms.n_rows
        running = [c for c in self.racers if c.rounds]
        begun = running if self.is_drawn else [*self.references, *running]
        spent = sum(c.n_fits(search, n_rows) for c in begun if c.rounds)
        for candidate in running:
            last = 0.0
            if self.terms.has_last_fit:
                last = candidate.n_fits_of_last(search, n_rows)
            if spent + last > self.terms.max_fits:
                candidate.max_rounds = candidate.rounds[-1]


class Candidate(Racer):
    """A set of options that a search compares, with its fits on the folds."""

    def __init__(
        self,
        params: dict[str, Any],
        prepared: PreparedFit,
        folds: Folds,
        columns: CandidateColumns,
    ) -> None:
        options = prepared.data.settings
        super().__init__(
            params,
            "n_estimators",
            options.n_estimators,
            options.learning_rate,
            options.num_leaves,
            race.STEP_OF_PRESETS,
        )
        self.prepared, self.folds, self.columns = prepared, folds, columns
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

    def n_fits(self, search: presets.Search, n_rows: int) -> float:
        """An estimate of the time so far, in fits of all rows: see `ROUNDS_PER_FIT`.

        ``n_rows`` is the number of all rows. Rounds of a small learning rate count for
        less, because such a candidate needs more of them.
        """
        n_rounds = self.n_grown * min(1.0, self.rate / race.USUAL_RATE)
        return self._fits_of_round(search) * n_rounds * self.n_learned / n_rows

    def n_fits_of_last(self, search: presets.Search, n_rows: int) -> float:
        """An estimate of the time of its fit of all rows, if it was chosen now.

        In the unit of `n_fits`.
        """
        ratio = n_rows / self.n_learned
        options = search.last_fit(
            self.mean_rounds, self.n_leaves, n_rows, ratio, np.inf
        )
        n_rounds: int = options["n_estimators"]
        small = min(1.0, search.rate / presets.LAST_FIT_RATE)
        return self._fits_of_round(search) * n_rounds * small

    def rounds_of_fits(self, search: presets.Search, n_fits: float) -> float:
        """The number of rounds of all rows that take the time of ``n_fits`` fits."""
        return n_fits / self._fits_of_round(search)

    def _fits_of_round(self, search: presets.Search) -> float:
        """The time of a round of all rows, as a fraction of a fit.

        It depends on the leaves of its trees, on linear leaves and on pairs of columns;
        the constants are measured.
        """
        usual = search.num_leaves * self.prepared.data.n_scores
        cost = 1.0 + _LEAF_COST_SHARE * (self.n_leaves_of_round / usual - 1.0)
        if self.prepared.data.settings.linear_tree:
            cost *= _LINEAR_COST_FACTOR
        schema = self.prepared.data.schema
        cost *= power(schema.n_all_features / schema.n_features, _POWER_OF_COLUMNS)
        return cost / ROUNDS_PER_FIT

    @property
    def loss(self) -> float:
        """The last mean loss over the folds; infinite if there is none.

        A time limit may come before the first stage has ended.
        """
        return -self.means[-1] if self.means else np.inf

    @property
    def mean_rounds(self) -> float:
        """The mean number of rounds up to the best ones."""
        return blending.mean_rounds([r.best_round if r else 1 for r in self.runs])

    @property
    def seconds(self) -> float:
        """The time of all folds."""
        return sum(run.seconds for run in self.runs if run)

    @property
    def time_of_round(self) -> float:
        """The seconds of a round of a fold."""
        return self.seconds / sum(max(run.results) for run in self.runs if run)

    def keep(self, metrics: Sequence[Any], *, is_compared: bool) -> None:
        """Keep the models of the folds, which are tested by ``metrics``.

        ``is_compared``: `fold_means.constants` will compare their predictions.

        All have the mean number of rounds: with its own best round, the score of each
        fold would be too optimistic.
        """
        if self.has_begun:
            n_rounds = max(1, round(self.mean_rounds))
            compared = None
            if is_compared:
                dataset = self.runs[0].rounds.dataset
                compared = self.folds.compared(self.prepared, dataset)
            self.models = [
                FoldModel.from_rounds(
                    run.rounds,
                    min(n_rounds, run.n_rounds),
                    test,
                    run.history,
                    metrics=metrics,
                    compared=compared,
                )
                for run, (_, test) in zip(self.runs, self.folds.pairs, strict=True)
            ]

    def end(self) -> None:
        """Forget all but the losses and the models: no rounds follow."""
        for run in filter(None, self.runs):
            run.end()
