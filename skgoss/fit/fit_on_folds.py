"""Fits with the options ``folds`` or ``preset``, which learn from parts of the rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows
from skgoss.columns.columns import RELEASED
from skgoss.fit import callbacks, fold_fits, folds, race, unused_options
from skgoss.fit.arguments import FitArguments, InputSet
from skgoss.fit.fit import AfterRound, BuildBins, Fit, MakeModel
from skgoss.fit.fit_data import FitData
from skgoss.fit.race import Racer
from skgoss.fit.task import Task
from skgoss.fit.time_limit import BLOCKS, NO_LIMIT, TimeLimit
from skgoss.model.fitted import EstimatorRecord, FittedModel
from skgoss.objectives.survival import COX, Baseline, PartialLikelihood
from skgoss.parameters import presets
from skgoss.parameters.settings import Settings
from skgoss.training import loop
from skgoss.training.callback_api import Recorder
from skgoss.training.concurrent_fits import at_once, call_side_by_side
from skgoss.training.evaluation import NamedRows
from skgoss.training.loop import Trained
from skgoss.utils.messages import UnusedParameterWarning, warn

# The rows of the data of a fit: all, and those that it learns from.
_ROWS = ("rows", "fitted")


def start(
    sets: Sequence[InputSet],
    arguments: FitArguments,
    settings: Settings,
    task: Task,
    *,
    init_model: FittedModel | None = None,
    record: EstimatorRecord | None = None,
    n_threads: int | None = None,
    build_bins: BuildBins | None = None,
    searches: bool = True,
) -> Fit | FitOnFolds:
    """Read the data of a fit and bin its rows: see `FitData` and `Fit`.

    The first set is the training set, the others are evaluation sets. If their rows are
    spread over processes, all ranks start their fits at the same time, each with its
    rows, and all get the same model. A rank without rows passes any row as ``X``, which
    tells the columns.
    """
    has_end = settings.time_limit is not None or BLOCKS
    limit = TimeLimit.begun(settings.time_limit) if has_end else NO_LIMIT
    training, *others = sets
    is_evaluated = not all(other.holds_same_rows(training) for other in others)
    data = FitData(
        training, arguments, settings, task, init_model, searches, is_evaluated
    )
    named = [data.evaluation_set(input_set) for input_set in others] if others else []
    data, named = data.with_held_out(named)
    fit = Fit(data, record, n_threads, build_bins, limit)
    if not unused_options.NAMES.isdisjoint(settings.written):
        unused_options.warn_of(settings, data, fit.plan.metrics)
    if data.settings.folds is not None or settings.preset is not None:
        return FitOnFolds(fit, named)
    if data.fitted is data.rows:
        needs = (
            "needs the option folds or preset, or early stopping without an evaluation"
            " set: nothing else is chosen on some of the rows."
        )
        if arguments.groups is not None:
            raise ValueError(f"groups {needs}")
        if arguments.time is not None:
            warn(f"time {needs}", UnusedParameterWarning)
    fit.begin(named)
    return fit


class FitOnFolds:
    """A fit with the option ``folds`` or ``preset``, which makes the fits of folds.

    It gets the fit to all rows, which has not begun, and the evaluation sets.
    """

    def __init__(self, fit: Fit, sets: list[NamedRows]) -> None:
        self.main, self.sets = fit, sets
        # Evaluation sets of other rows than those of the training set.
        self._others = [named for named in sets if named.rows is not fit.data.rows]
        # Those of all processes; all numbers of rows are of these.
        self.all_rows = self._all_rows()
        # Rows of a group are in the same fold: the user's groups, or the queries.
        self.groups, self.time = fit.data.all_groups(), fit.data.time
        labels = fit.data.labels(self.all_rows)
        self._stratifies = labels is not None
        self._labels: Any = self.all_rows.target if labels is None else labels
        self._things = "groups" if self._rows.queries is None else "queries"
        # The rows to learn from and to test on; None without the option ``folds``.
        self.folds = self._folds()
        if self.folds is None and fit.data.search is None:
            fit.begin(sets)
            return
        if self.folds is not None and sets:
            argument = "valid_sets" if fit.data.task.owner == "train" else "eval_set"
            is_chosen = "folds" in fit.data.preset_params
            option = "preset" if is_chosen else "folds"
            advice = "add other rows to it" if is_chosen else "set folds=None"
            raise ValueError(
                f"{argument} cannot be used with {option}="
                f"{getattr(fit.settings, option)!r}: each model is evaluated on the"
                f" test rows of its fold. Leave {argument} out, or {advice}."
            )
        binned = self._binned()
        binned.storage.pack()
        rows = replace(self._rows, binned=binned)
        fit.data = fit.data.replaced(rows=rows, fitted=rows)
        # The trees of an earlier model need the values of each fold.
        if rows.partition is not None and fit.data.init_model is None:
            fit.data = fit.data.without_values()

    def _binned(self) -> BinnedDataset:
        """The bins that all folds share; rows of weight 0 have no influence on them."""
        rows, plan = self._rows, self.main.plan
        weighted = rows.without_zero_weights()
        binned, total = plan.binned(weighted), rows.collectives.total
        if total(len(weighted)) == len(self.all_rows) or rows.binned is not None:
            return rows.binned or binned
        return binned.with_rows(
            rows.columns,
            self.main.settings,
            rows=rows.numbers,
            n_threads=plan.n_threads,
            n_global=len(self.all_rows),
        )

    def run(
        self,
        make_model: MakeModel,
        after_round: AfterRound | None = None,
        **options: Any,
    ) -> FittedModel:
        """Boost round by round: see `Fit.run`.

        The models of folds do not call ``after_round``.
        """
        fit = self.main
        if fit.data.search is not None and self.folds is None:
            fit.choose(self._best_options(fit.data.search))
            fit.begin(self.sets)
        trained = None
        if self.folds is not None:
            trained = self._trained_on_folds(self.folds, make_model)
        if fit.settings.verbosity >= 1 and fit.data.preset_params:
            chosen = ", ".join(f"{k}={v}" for k, v in fit.data.preset_params.items())
            callbacks.say(f"Chosen by preset: {chosen}")
        if trained is None:
            return fit.run(make_model, after_round, **options)
        fit.warn_if_nothing_learned(trained.ensemble)
        return replace(fit.model(trained), baseline=self._baseline(trained))

    def _baseline(self, trained: Trained) -> Baseline | None:
        """The baseline hazard by the out-of-fold scores, for Cox's objectives."""
        name, tested = self.main.objective, trained.out_of_fold
        if name not in COX or tested is None or self._rows.init_score is not None:
            return None
        rows, scores = fold_fits.tested_rows(self.all_rows, tested.scores)
        likelihood = PartialLikelihood(rows.y, rows.weight, efron=name == "cox_efron")
        return likelihood.baseline(scores)

    # --- Rows -------------------------------------------------------------------------

    @property
    def _rows(self) -> Rows:
        """The rows of this process."""
        return self.main.data.rows

    def _all_rows(self) -> Rows:
        rows, partition = self._rows, self._rows.partition
        if partition is None:
            return rows
        weight = rows.weight
        return Rows(
            RELEASED,
            partition.all_gather(rows.target),
            None if weight is None else partition.all_gather(weight),
            init_score=rows.init_score,
        )

    def _folds(self) -> list[folds.Pair] | None:
        splitter = self.main.settings.folds
        at = self._weighted()
        if "folds" in self.main.data.preset_params:
            splitter = min(splitter, self._most_folds(at))
            if splitter < 2:
                self.main.choose({"folds": None})
                return None
        if not isinstance(splitter, int):
            target, groups = self.all_rows.target, self.groups
            # Two calls of a splitter may give different folds.
            if splitter is None:
                return None
            pairs = self._rows.collectives.broadcast(
                lambda: folds.pairs(splitter, target, groups, "folds")
            )
            for number, pair in enumerate(pairs):
                self._check_pair(number, *pair)
            return pairs
        if self.time is None:
            folds.check_number(
                splitter,
                self._labels[at],
                None if self.groups is None else self.groups[at],
                stratify=self._stratifies,
                argument="folds",
                owner="X",
                things=self._things,
            )
        pairs = self._folds_of_equal_size(splitter, at)
        ignored = np.delete(np.arange(len(self.all_rows)), at)
        return folds.also_tested(ignored, pairs, self.groups, self.time)

    def _weighted(self) -> NDArray[np.int64]:
        """The rows whose weight is not 0."""
        weight = self.all_rows.weight
        is_weighted = np.ones(len(self.all_rows)) if weight is None else weight
        return np.flatnonzero(is_weighted)

    def _check_pair(
        self, number: int, train: NDArray[np.int64], test: NDArray[np.int64]
    ) -> None:
        """Check that a fold is tested on other rows, other groups and later times."""
        self._check_parts(number, train, test)
        n_seen = len(np.intersect1d(train, test, assume_unique=True))
        if n_seen:
            warn(
                f"Fold {number} is tested on {n_seen} rows that it learns from:"
                " out-of-fold predictions, scores and intervals are too good."
            )
            return
        groups, time = self.groups, self.time
        if groups is not None and np.isin(groups[train], groups[test]).any():
            raise ValueError(
                f"folds split {self._things}: both parts of fold {number} have rows of"
                " the same one. Pass a number, or GroupKFold(...)."
            )
        if time is not None and time[train].max() >= time[test].min():
            raise ValueError(
                f"folds contradict time: fold {number} learns from rows that are not"
                " earlier than all that it tests. Pass a number. TimeSeriesSplit needs"
                " rows that are sorted by time."
            )

    def _check_parts(self, number: int, *pair: NDArray[np.int64]) -> None:
        """Check that both parts of a fold have weights, events and all targets."""
        rows, settings = self.all_rows, self.main.settings
        advice = "Set folds to other rows or to a smaller number"
        if settings.preset is not None and "folds" not in settings.passed:
            advice = "Leave the preset out"
        for part, at in zip(("train", "test"), pair, strict=True):
            weight = None if rows.weight is None else rows.weight[at]
            if weight is not None and not weight.any():
                raise ValueError(
                    f"All {part} rows of fold {number} have the weight 0. {advice}, or"
                    " pass other weights."
                )
            try:
                self.main.data.check_learnable(rows.target[at], weight)
            except ValueError as error:
                raise ValueError(
                    f"The {part} rows of fold {number}: {error} {advice}."
                ) from error

    def _most_folds(self, at: NDArray[np.int64]) -> int:
        """The largest number of folds of some of the rows."""
        if self.time is not None:
            return len(np.unique(self.time[at])) - 1
        groups = None if self.groups is None else self.groups[at]
        labels = self._labels[at]
        n = folds.most(labels, groups, stratify=self._stratifies)[0]
        # Of lifetimes, each fold needs an event.
        return min(n, int((~labels).sum())) if labels.dtype == bool else n

    def _folds_of_equal_size(
        self, n_folds: int, at: NDArray[np.int64]
    ) -> list[folds.Pair]:
        """Folds of some of the rows."""
        groups = None if self.groups is None else self.groups[at]
        if self.time is not None:
            pairs = folds.by_time(n_folds, self.time[at], groups, f"folds={n_folds}")
        else:
            pairs = folds.of_equal_size(
                n_folds,
                self._labels[at],
                groups,
                stratify=self._stratifies,
                seed=self.main.settings.random_state,
            )
        pairs = [(at[train], at[test]) for train, test in pairs]
        for number, pair in enumerate(pairs):
            self._check_parts(number, *pair)
        return pairs

    # --- Models of folds --------------------------------------------------------------

    def _trained_on_folds(
        self, pairs: Sequence[folds.Pair], make_model: MakeModel
    ) -> Trained:
        """The mean of the models of the folds, or what ``refit`` makes of them."""
        fit = self.main
        if fit.data.search is not None:
            found = self._searched(fit.data.search, pairs)
            members = [candidate for candidate in found if candidate.models]
            models = [member.models for member in members]
            weights = self._weights(models)
            for member, weight in zip(members, weights, strict=True):
                member.weight = weight / sum(weights)
            fit.search_results = _results(found)
            fit.choose(members[int(np.argmax(weights))].options)
        else:
            pairs, of_folds = self._fold_models(pairs, make_model)
            models, weights = [of_folds], [1.0]
            if fit.settings.verbosity >= 1:
                fold_fits.tell(models[0])
        mapping = None
        if self._is_plain and fit.data.link.distribution is not None:
            name, n_threads = fit.data.link.kind, fit.plan.n_threads
            rows, kept = self.all_rows, None if fit.settings.refit else pairs
            mapping = fold_fits.spread(models, weights, rows, kept, name, n_threads)
            models = [[model.mapped(*mapping) for model in kind] for kind in models]
        trained, out_of_fold = fold_fits.joined(models, weights, self.all_rows)
        fit.history |= trained.history
        for callback in callbacks.for_one_fit(fit.data.arguments.callbacks):
            if isinstance(callback, Recorder):
                callback.eval_result.clear()
                callback.eval_result.update(copy.deepcopy(fit.history))
        if fit.settings.refit:
            again = fit.variant(fit.data, fit.plan)
            best = models[int(np.argmax(weights))]
            n_rounds = round(fold_fits.mean_rounds([m.n_rounds for m in best]))
            ensemble = again.refitted(n_rounds, make_model(again))
            if mapping is not None:
                ensemble = ensemble.mapped(*mapping)
            trained = replace(trained, ensemble=ensemble)
            out_of_fold = out_of_fold.for_one_model(ensemble.n_rounds)
        return replace(trained, out_of_fold=out_of_fold)

    def _weights(self, kinds: Sequence[Sequence[fold_fits.FoldModel]]) -> list[float]:
        """The weights of several sets of options, as a preset chooses them."""
        metrics = self._loss().plan.metrics
        if self.main.settings.refit:
            losses = [fold_fits.loss(models, metrics) for models in kinds]
            return [float(i == np.argmin(losses)) for i in range(len(kinds))]
        weights = fold_fits.hill_climbing(kinds, metrics)
        if self._is_plain and self.main.data.link.kind in ("logistic", "softmax"):
            weighted = self._weighted()
            n_rows = sum(int(np.isin(m.test, weighted).sum()) for m in kinds[0])
            factor = fold_fits.calibration(kinds, weights, metrics, n_rows)
            weights = [factor * weight for weight in weights]
        return weights

    @property
    def _is_plain(self) -> bool:
        """Whether all scores come from the trees of this fit."""
        return self.main.data.init_model is None and self._rows.init_score is None

    def _fold_models(
        self, pairs: Sequence[folds.Pair], make_model: MakeModel
    ) -> tuple[list[folds.Pair], list[fold_fits.FoldModel]]:
        """The folds and the models of the fit on their rows, several at once.

        After Ctrl-C, they are those that have ended, or else those that have begun.
        """
        n = len(pairs)
        n_at_once, n_threads = self._at_once(self.main, n)
        # A share for what follows, which is another fit or little.
        whole = self.main.limit.part(0.6 if self.main.settings.refit else 1.0)
        begun: dict[int, fold_fits.FoldModel] = {}
        ended: set[int] = set()

        def fold_model(number: int) -> None:
            if number > 0 and whole.interrupted.is_set():
                return
            of_fold = self._begun(self.main, number, pairs[number], n_threads)
            state, test = of_fold.state, pairs[number][1]
            model, calls = make_model(of_fold), of_fold.new_callbacks()
            limit = whole.part(1 / -(-(n - number) // n_at_once))
            is_over = limit.after_round(state.settings.n_estimators)
            trained = loop.train(state, model, callbacks=calls, after_round=is_over)
            trees, history = trained.ensemble, trained.history
            begun[number] = fold_fits.FoldModel.from_rounds(
                state, trees.n_rounds - state.first_round, test, history, trees=trees
            )
            self.main.limit.is_reached |= limit.is_reached
            if not whole.interrupted.is_set():
                ended.add(number)

        calls = [partial(fold_model, number) for number in range(n)]
        call_side_by_side(calls, n_at_once)
        kept = sorted(ended or begun)
        self._tell_of_interrupt(f"fits on folds: {len(kept)} of {n} models are kept")
        return [pairs[i] for i in kept], [begun[i] for i in kept]

    def _at_once(self, fit: Fit, n: int) -> tuple[int, int]:
        """How many of ``n`` fits of folds run at once, and the threads of each."""
        # Functions of users need not be ready to be called by several threads at once,
        # and processes communicate in the same order.
        has_functions = fit.data.arguments.callbacks or fit.plan.has_functions
        is_one_by_one = self._rows.partition is not None or has_functions
        n_threads = self.main.plan.n_threads
        return (1, n_threads) if is_one_by_one else at_once(n, n_threads)

    def _begun(self, fit: Fit, number: int, pair: folds.Pair, n_threads: int) -> Fit:
        """The fit to the rows of a fold."""
        rows, tested = self._parts(number, *pair)
        learned = fit.data.replaced(**dict.fromkeys(_ROWS, rows))
        of_fold = fit.variant(learned, replace(fit.plan, n_threads=n_threads))
        of_fold.begin([tested])
        return of_fold

    def _parts(
        self, number: int, train: NDArray[np.int64], test: NDArray[np.int64]
    ) -> tuple[Rows, NamedRows]:
        """The rows that a fold learns from, and those that it is tested on.

        Without rows to test on, they are those of the evaluation set.
        """
        if not len(test):
            return self._learned(train), self._others[0]
        tested = NamedRows(f"fold_{number}", self._rows.take(self._rows.places(test)))
        return self._learned(train), tested

    def _learned(self, train: NDArray[np.int64]) -> Rows:
        """The rows that a fold learns from, as a part of the bins if they are most."""
        rows, weight = self._rows, self._rows.weight
        at = rows.places(train)
        at = at if weight is None else at[weight[at] != 0]
        # What a tree does with all rows would take long for a small part.
        learned = rows.part(at) if 2 * len(at) >= len(rows) else rows.take(at)
        return learned.without_zero_weights()

    # --- Presets ----------------------------------------------------------------------

    def _best_options(self, search: presets.Search) -> dict[str, Any]:
        """The options of the best candidate, with the number of rounds."""
        pairs = self._pairs_of_search(search)
        if not pairs:
            return search.without
        found = self._searched(search, pairs)
        best = min(found, key=lambda candidate: candidate.loss)
        best.weight = 1.0
        self.main.search_results = _results(found)
        if self._others:
            return best.options
        learned = np.mean([len(train) for train, _ in pairs])
        ratio = len(self.all_rows) / float(learned)
        most = self._rows.collectives.broadcast(
            lambda: self.main.limit.left / (best.time_of_round * ratio)
        )
        return best.options | search.last_fit(
            best.n_rounds, best.racer.n_leaves, len(self.all_rows), ratio, most
        )

    def _pairs_of_search(self, search: presets.Search) -> list[folds.Pair]:
        """The folds that candidates are compared on; none if there are too few rows.

        An evaluation set decides instead of them. Of many rows, there is a sample.
        """
        at = self._weighted()
        groups, n_rows = self.groups, search.n_rows_of(len(at))
        if n_rows < len(at):
            at = folds.sample(at, groups, n_rows, self.main.settings.random_state)
        if self._others:
            return [(at, at[:0])]
        n_folds = min(search.n_folds, self._most_folds(at))
        return [] if n_folds < 2 else self._folds_of_equal_size(n_folds, at)

    def _searched(
        self, search: presets.Search, pairs: Sequence[folds.Pair]
    ) -> list[_Candidate]:
        """All candidates, batch by batch until no batch has a better one.

        Of an ensemble, those that did not fall behind have models.
        """
        loss, is_mean = self._loss(), self.folds is not None
        limit = self.main.limit.part(0.9 if is_mean else 0.5)
        found: list[_Candidate] = []
        best, n_without = np.inf, 0
        for number in range(search.n_batches):
            batch = [
                _Candidate(options, loss.with_options(search.options | options), pairs)
                for options in search.batch(number, self.main.settings.random_state)
            ]
            self._race(batch, found, limit)
            for candidate in batch:
                if is_mean and not candidate.racer.left:
                    candidate.keep(self.main.plan.metrics)
                candidate.end()
            found += batch
            least = min(candidate.loss for candidate in found)
            n_without = 0 if least < best else n_without + 1
            best = least
            if self.main.settings.verbosity >= 1:
                left = f", {limit.left:.0f} s left" if limit.seconds else ""
                callbacks.say(f"{len(found)} candidates, least loss {best:g}{left}")
            if n_without == search.patience or self._is_over(limit):
                break
        self.main.limit.is_reached |= limit.is_reached
        n_begun = sum(all(candidate.grown) for candidate in found)
        if limit.interrupted.is_set():
            self._tell_of_interrupt(f"a search after {n_begun} candidates had begun")
        elif n_begun < len(search.candidates):
            warn(
                f"time_limit={self.main.limit.seconds:g} ended the search after"
                f" {n_begun} of the first {len(search.candidates)} candidates had"
                " begun. Set a larger limit, or leave the preset out."
            )
        return found

    def _race(
        self,
        batch: Sequence[_Candidate],
        rivals: Sequence[_Candidate],
        limit: TimeLimit,
    ) -> None:
        """Let candidates grow until all have ended or left: see `race.leave`."""
        n_folds = len(batch[0].pairs)
        n_at_once, n_threads = self._at_once(batch[0].fit, n_folds)

        def grow(candidate: _Candidate, number: int) -> None:
            # There is always a model.
            is_first = candidate is batch[0] and not (rivals or candidate.racer.rounds)
            if not is_first and self._is_over(limit):
                return
            if candidate.grown[number] is None:
                pair = candidate.pairs[number]
                fit = self._begun(candidate.fit, number, pair, n_threads)
                fold = fold_fits.GrowingFold(fit.state, is_kept=self.folds is not None)
                candidate.grown[number] = fold
            next_rounds = candidate.racer.next_rounds
            candidate.grown[number].grow(next_rounds, partial(self._is_over, limit))

        running = list(batch)
        while running:
            jobs = [(c, number) for c in running for number in range(n_folds)]
            call_side_by_side([partial(grow, *job) for job in jobs], n_at_once)
            running = [c for c in running if all(c.grown)]
            for candidate in running:
                losses = [min(fold.losses.values()) for fold in candidate.grown]
                candidate.racer.note(-np.array(losses))
            raced = [c.racer for c in (*rivals, *batch) if c.racer.rounds]
            race.leave(raced, are_members=self.folds is not None and not rivals)
            running = [c for c in running if c.racer.goes_on]
            if self._is_over(limit):
                return

    def _tell_of_interrupt(self, what: str) -> None:
        """Warn if Ctrl-C has ended something; the last fit goes on until the next."""
        if not self.main.limit.interrupted.is_set():
            return
        self.main.limit.is_reached = True
        warn(f"Ctrl-C ended {what}.")
        if self.folds is None or self.main.settings.refit:
            self.main.limit.interrupted.clear()

    def _is_over(self, limit: TimeLimit) -> bool:
        """Whether a limit is reached, as the first process sees it."""
        return limit.has_end and self._rows.collectives.broadcast(limit.is_over)

    def _loss(self) -> Fit:
        """The fit with the loss of its objective as the metric, without messages."""
        data = self.main.data
        arguments = replace(data.arguments, callbacks=None, eval_metric=None)
        quiet = {"metric": None, "verbosity": -1, "folds": None}
        fit = self.main.variant(data.replaced(arguments=arguments)).with_options(quiet)
        if not fit.plan.metrics:
            raise ValueError(
                f"preset={data.settings.preset!r} compares losses, but an objective"
                " that is a function has none. Set n_estimators."
            )
        return fit


class _Candidate:
    """A set of options that a search compares, with its fits on the folds."""

    def __init__(
        self, options: dict[str, Any], fit: Fit, pairs: Sequence[folds.Pair]
    ) -> None:
        self.options, self.fit, self.pairs = options, fit, pairs
        self.racer = Racer.of(fit.settings)
        self.grown: list[Any] = [None] * len(pairs)  # a `GrowingFold` each
        # What is kept of them for a mean; empty if nothing is.
        self.models: list[fold_fits.FoldModel] = []
        self.weight = 0.0  # in the model

    @property
    def loss(self) -> float:
        """The mean over the folds; infinite if the limit came before the first ones."""
        return -self.racer.means[-1] if self.racer.means else np.inf

    @property
    def n_rounds(self) -> float:
        """The mean number of rounds up to the best ones."""
        return fold_fits.mean_rounds([f.best_round if f else 1 for f in self.grown])

    @property
    def seconds(self) -> float:
        """The time of all folds."""
        return sum(fold.seconds for fold in self.grown if fold)

    @property
    def time_of_round(self) -> float:
        """The seconds of a round of a fold."""
        return self.seconds / sum(fold.n_rounds for fold in self.grown if fold)

    def keep(self, metrics: Sequence[Any]) -> None:
        """Keep the models, all of as many rounds, which are tested by ``metrics``.

        With its own best round, the score of each fold would be too good.
        """
        if all(self.grown):
            n_rounds = max(1, round(self.n_rounds))
            self.models = [
                fold.model(n_rounds, test, metrics)
                for fold, (_, test) in zip(self.grown, self.pairs, strict=True)
            ]

    def end(self) -> None:
        """Forget all but the losses and the models: no rounds follow."""
        for fold in filter(None, self.grown):
            fold.end()


def _results(found: Sequence[_Candidate]) -> dict[str, list[Any]]:
    """What was compared, in the manner of ``cv_results_``."""
    return {
        "params": [candidate.options for candidate in found],
        "mean_test_loss": [candidate.loss for candidate in found],
        "n_rounds": [candidate.n_rounds for candidate in found],
        "fit_time": [candidate.seconds for candidate in found],
        "weight": [candidate.weight for candidate in found],
    }
