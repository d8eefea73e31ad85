"""The option ``preset``: a race of candidates, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skgoss.fit import callbacks, pair_features
from skgoss.fit import splits as splits_of_rows
from skgoss.fit.fit import AfterRound, Fit, MakeModel, PreparedFit
from skgoss.fit.splits import Pair, Splits
from skgoss.fit.time_limit import TimeLimit
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel
from skgoss.parameters import presets
from skgoss.several_fits import blending, race
from skgoss.several_fits.blending import FoldModel
from skgoss.several_fits.candidate_columns import CandidateColumns, JointColumns
from skgoss.several_fits.folds import (
    FoldFits,
    Folds,
    has_own_scores,
)
from skgoss.several_fits.preset_race import (
    ROUNDS_PER_FIT,
    Candidate,
    PresetRace,
    Terms,
)
from skgoss.training.evaluation import EvaluationSet
from skgoss.utils.locks import cached_property
from skgoss.utils.messages import warn, warn_unused

# A preset takes at most the time of this many fits with the user's options, or about as
# many seconds of one core if that is more.
_MAX_COST = 38.0
_MAX_SECONDS = 10.0
# Or the time of this many fits for each fold whose model it keeps.
_MAX_COST_PER_FOLD = 12.0
# The seconds that a leaf of a fit takes, and a value of a row in a round.
_SECONDS_OF_LEAF = 3e-6
_SECONDS_OF_VALUE = 1.5e-9
# Of rows that a fit has learned from, the loss is larger than that of folds that have
# not, by this fraction of it, only if the fit has failed.
_LOSS_MARGIN = 0.1


class Member(NamedTuple):
    """A candidate of a mean, fitted on all rows with some ``options``."""

    candidate: Candidate
    weight: float
    options: dict[str, Any]
    trees: Ensemble


@dataclass(frozen=True, eq=False)
class PresetSearch:
    """The search of a preset, and the fit or the fits that follow it.

    ``fold_pairs`` are the folds of the option ``folds``, if a blend of their models is
    the result; else None. Of the evaluation ``sets``, the ``external_set`` is the first
    that has other rows than those to learn from.
    """

    prepared: PreparedFit
    search: presets.Search
    splits: Splits
    fold_pairs: Sequence[Pair] | None
    sets: Sequence[EvaluationSet]
    external_set: EvaluationSet | None

    @property
    def has_folds(self) -> bool:
        """Whether models of folds become one."""
        return self.fold_pairs is not None

    @property
    def is_refitted(self) -> bool:
        """Whether a fit of all rows replaces the models of folds."""
        return self.has_folds and self.prepared.data.settings.refit

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
        if self.fold_pairs is not None:
            return self._blend(self.fold_pairs, make_model)
        pairs = self._pairs()
        if pairs and self.search.is_mean:
            return self._mean(pairs)
        fit = self._best_fit(pairs)
        return fit.model(make_model, after_round, keeps_rounds=keeps_rounds)

    # --- The model of one candidate, or of several ------------------------------------

    def _best_fit(self, pairs: Sequence[Pair]) -> Fit:
        """The fit of all rows with the options of the best candidate.

        ``pairs`` are the folds to compare candidates on; if there are none, because
        there are too few rows, the preset's default options are used.
        """
        if not pairs:
            options = self.search.without_folds
            return Fit.begin(self.prepared.with_chosen(options), self.sets)
        compared = self._searched(pairs)
        best = race.winner(compared)
        best.weight = 1.0
        last = {} if self.external_set is not None else self._last_fit(best, compared)
        chosen = _chosen(best.columns.prepared, best.params | last, compared)
        return Fit.begin(chosen, best.columns.sets)

    def _mean(self, pairs: Sequence[Pair]) -> FittedModel:
        """The weighted mean of the candidates, each of which is fitted on all rows."""
        self._warn_of_callbacks()
        self._warn_of_sets()
        compared = self._searched(pairs)
        members = self._fitted_members(compared)
        columns = [member.candidate.columns for member in members]
        joint = JointColumns.of(self.columns, columns)
        placed = map(joint.placed, [member.trees for member in members], columns)
        weights = [member.weight for member in members]
        total, _ = blending.weighted_sum(list(zip(placed, weights, strict=True)))
        best = members[int(np.argmax(weights))]
        options = best.options | {"n_estimators": total.n_rounds}
        chosen = _chosen(joint.columns.prepared, options, compared)
        models = [member.candidate.models for member in members]
        return FoldFits(chosen, self.splits, pairs).tested(total, models, weights)

    def _fitted_members(self, compared: Sequence[Candidate]) -> list[Member]:
        """The members of a mean, fitted on all rows.

        ``compared`` are all candidates. A candidate is dropped if its fit of all rows
        has failed, unless it is the last; then weights are found again without it.
        """
        rest = [candidate for candidate in compared if candidate.models]
        while True:
            candidates, weights = self._members(rest)
            members: list[Member] = []
            for number, candidate in enumerate(candidates):
                share = 1.0 / (len(candidates) - number)
                options = candidate.params | self._last_fit(candidate, compared, share)
                fit = self._begun_on_all_rows(candidate, options, share)
                trees = fit.grow(options["n_estimators"], None)
                self.prepared.limit.is_reached |= fit.prepared.limit.is_reached
                if len(rest) > 1 and self._has_failed(fit, candidate):
                    rest.remove(candidate)
                    candidate.weight = 0.0
                    break
                members.append(Member(candidate, weights[number], options, trees))
            else:
                return members

    def _begun_on_all_rows(
        self, candidate: Candidate, options: Mapping[str, Any], share: float
    ) -> Fit:
        """A fit that may take a share of the time that is left.

        No callback of the user is called in it, and its only metric is the loss.
        """
        by_loss = self._by_loss(candidate.columns.prepared).with_options(options)
        limit = self.prepared.limit.of_share(share)
        return Fit.begin_on_all_rows(replace(by_loss, limit=limit))

    def _has_failed(self, fit: Fit, candidate: Candidate) -> bool:
        """Whether a fit of all rows has a larger loss than its folds; then warn.

        Both are those of the rows that the folds were tested on: others may have larger
        losses, such as those of earlier times. A fit that has fewer rounds, because
        there is no time, has not failed.
        """
        prepared, settings = self.prepared, fit.settings
        # Other processes than the first one do not look at the clock.
        is_over = prepared.data.rows.collectives.broadcast(
            lambda: prepared.limit.is_reached
        )
        steps = settings.n_estimators * settings.learning_rate
        if is_over or steps < candidate.mean_rounds * candidate.rate:
            return False
        metrics = candidate.prepared.setup.make_metrics()
        fitted = self._fitted_models(fit, candidate.models)
        loss = blending.loss(fitted, metrics)
        of_folds = blending.loss(candidate.models, metrics)
        if loss <= of_folds + _LOSS_MARGIN * abs(of_folds):
            return False
        warn(
            f"A configuration of preset={prepared.data.settings.preset!r} has the"
            f" loss {loss:.3g} on rows that it was fitted to, although its models of"
            f" folds have {of_folds:.3g} on these rows, which were held out. It is not"
            " used. Please report this."
        )
        return True

    def _fitted_models(self, fit: Fit, models: Sequence[FoldModel]) -> list[FoldModel]:
        """The models of folds, with the scores of a fit of all rows on their test rows.

        Then their loss is that of the fit on the same rows.
        """
        rows = self.prepared.data.rows
        (training,) = fit.rounds.training_sets()
        learned = fit.rounds.raw_scores(training)
        # Rows of weight 0 are not among them, and count nowhere.
        has_weight = slice(None) if rows.weight is None else rows.weight > 0
        scores = np.zeros((len(learned), len(rows)))
        scores[:, has_weight] = learned
        return [replace(m, scores=scores[:, rows.local(m.test)]) for m in models]

    def _blend(self, pairs: Sequence[Pair], make_model: MakeModel) -> FittedModel:
        """The weighted mean of the candidates' models of the folds, as one model.

        ``pairs`` are the folds, on which candidates are compared, too.
        """
        self._warn_of_callbacks()
        compared = self._searched(pairs)
        members, weights = self._members(compared)
        best = members[int(np.argmax(weights))]
        joint = JointColumns.of(self.columns, [member.columns for member in members])
        configurations = [
            joint.models(member.models, member.columns) for member in members
        ]
        chosen = _chosen(joint.columns.prepared, best.params, compared)
        folds = FoldFits(chosen, self.splits, pairs)
        return folds.blended(configurations, weights, pairs, make_model)

    def _members(
        self, compared: Sequence[Candidate]
    ) -> tuple[list[Candidate], list[float]]:
        """The candidates that have a weight in the model, and these weights.

        ``compared`` are all candidates; only those that kept the models of their folds
        count. The attribute ``weight`` of all is set; there, weights sum to 1.
        """
        members = [candidate for candidate in compared if candidate.models]
        for candidate in compared:
            candidate.weight = 0.0
        winner = members.index(race.winner(members))
        weights = self._weights([member.models for member in members], winner)
        for member, weight in zip(members, weights, strict=True):
            member.weight = weight / sum(weights)
        used = [member for member in members if member.weight]
        return used, [weight for weight in weights if weight]

    def _last_fit(
        self, chosen: Candidate, compared: Sequence[Candidate], share: float = 1.0
    ) -> dict[str, Any]:
        """The rounds and the learning rate of a candidate's fit of all rows.

        More rows need more rounds, and spare time is used for a smaller rate. It may
        take a ``share`` of the time that is left. ``compared`` are all candidates,
        whose time counts.
        """
        search, prepared, n_rows = self.search, self.prepared, self.n_rows
        ratio = n_rows / chosen.n_learned
        max_rounds = prepared.data.rows.collectives.broadcast(
            lambda: share * prepared.limit.left / (chosen.time_of_round * ratio)
        )
        spent = sum(c.n_fits(search, n_rows) for c in compared if c.rounds)
        spare = chosen.rounds_of_fits(search, share * (_MAX_COST - spent))
        return search.last_fit(
            chosen.mean_rounds, chosen.n_leaves, n_rows, ratio, max_rounds, spare
        )

    @property
    def max_fits(self) -> float:
        """The largest time of the search and the last fit, in fits.

        A fit is `ROUNDS_PER_FIT` rounds with the user's options. The number is the same
        on all machines.
        """
        if self.fold_pairs is not None:
            return _MAX_COST_PER_FOLD * len(self.fold_pairs)
        data, n_leaves = self.prepared.data, self.search.num_leaves
        n_values = self.n_rows * data.schema.n_features
        of_round = n_leaves * _SECONDS_OF_LEAF + n_values * _SECONDS_OF_VALUE
        return max(
            _MAX_COST, _MAX_SECONDS / (ROUNDS_PER_FIT * data.n_scores * of_round)
        )

    @cached_property
    def n_rows(self) -> int:
        """The number of rows of all processes whose weight is not 0."""
        return len(self.splits.weighted())

    @cached_property
    def columns(self) -> CandidateColumns:
        """The columns of candidates without pairs."""
        n_rows = len(self.splits.rows)
        return CandidateColumns(self.prepared, self.sets, self.external_set, n_rows)

    @cached_property
    def _paired(self) -> dict[Any, CandidateColumns]:
        """The columns of candidates by their option ``pair_features``."""
        return {False: self.columns}

    @cached_property
    def _best_columns(self) -> dict[int, float]:
        return pair_features.best_columns(self.prepared)

    def _columns_of(self, value: Any) -> CandidateColumns:
        """The columns of candidates with a value of ``pair_features``."""
        if value not in self._paired:
            pairs = pair_features.pairs_of(self._best_columns, value)
            self._paired[value] = self.columns.with_pairs(pairs)
        return self._paired[value]

    def _pairs(self) -> list[Pair]:
        """The folds that candidates are compared on; none if there are too few rows.

        If there is an evaluation set with other rows, it decides instead: there is one
        fold without test rows. Of many rows, the folds have a sample.
        """
        splits = self.splits
        rows = splits.weighted()
        n_rows = self.search.n_rows_of(len(rows))
        if n_rows < len(rows):
            seed = self.prepared.data.settings.random_state
            rows = splits_of_rows.sample(rows, splits.groups, n_rows, seed)
        if self.external_set is not None:
            return [(rows, rows[:0])]
        search = self.search
        n_folds = min(search.n_folds, splits.most_folds(rows))
        if n_folds < 2:
            return []
        pairs = splits.of_equal_size(n_folds, rows)
        if n_rows == self.n_rows:  # not a sample
            pairs = splits.with_zero_weights(pairs)
        return pairs[: search.n_tested]

    def _weights(
        self, configurations: Sequence[Sequence[FoldModel]], winner: int
    ) -> list[float]:
        """The weights of several configurations, as a preset chooses them.

        ``configurations`` has the models of all folds for each, and ``winner`` is the
        number of the best. Weights sum to 1, or to the factor that calibrates
        probabilities. If a fit of all rows replaces the models, the winner gets all.
        """
        data = self.prepared.data
        if self.is_refitted:
            return [float(i == winner) for i in range(len(configurations))]
        metrics = self._by_loss(self.prepared).setup.make_metrics()
        weights = blending.hill_climbing(configurations, metrics)
        if has_own_scores(data) and data.link.kind in ("logistic", "softmax"):
            weighted = self.splits.weighted()
            n_rows = sum(
                int(np.isin(m.test, weighted).sum()) for m in configurations[0]
            )
            factor = blending.calibration(configurations, weights, metrics, n_rows)
            weights = [factor * weight for weight in weights]
        return weights

    @property
    def keeps_models(self) -> bool:
        """Whether the models of folds that were not dropped are kept."""
        return self.has_folds or self.search.is_mean

    def _searched(self, pairs: Sequence[Pair]) -> list[Candidate]:
        """All candidates, raced batch by batch until no batch has a better one.

        The first batch is the preset's; later ones are drawn at random. ``pairs`` are
        the folds that candidates are compared on.
        """
        search, prepared = self.search, self.prepared
        settings = prepared.data.settings
        limit = prepared.limit.of_share(0.9 if self.has_folds else 0.5)
        terms = Terms(
            prepared,
            search,
            self.n_rows,
            len(pairs),
            self.keeps_models,
            self.max_fits,
            has_last_fit=not self.has_folds,
            limit=limit,
        )
        compared: list[Candidate] = []
        is_blended = self.has_folds and not self.is_refitted
        is_compared = is_blended and prepared.data.link.is_curved
        best, n_without = np.inf, 0
        for number in range(search.n_batches):
            batch = self._batch(number, pairs)
            is_drawn = number > 0
            PresetRace(terms, batch, compared, is_drawn=is_drawn).run()
            for candidate in batch:
                if self.keeps_models and not candidate.is_dropped:
                    metrics = prepared.setup.make_metrics()
                    candidate.keep(metrics, is_compared=is_compared)
                candidate.end()
            compared += batch
            lowest = min(candidate.loss for candidate in compared)
            n_without = n_without + 1 if is_drawn and lowest >= best else 0
            best = lowest
            if settings.verbosity >= 1:
                left = f", {limit.left:.0f} s left" if limit.seconds else ""
                callbacks.say(f"{len(compared)} candidates, lowest loss {best:g}{left}")
            if n_without == search.patience or prepared.is_over(limit):
                break
        prepared.limit.is_reached |= limit.is_reached
        self._warn_of_end(limit, compared)
        return compared

    def _batch(self, number: int, pairs: Sequence[Pair]) -> list[Candidate]:
        """The candidates of the batch with this number, from 0.

        If the data have fewer than two columns for pairs, candidates have none; those
        that then are equal come once.
        """
        search = self.search
        batch: list[Candidate] = []
        for kind in search.batch(number, self.prepared.data.settings.random_state):
            value = kind.get("pair_features", False)
            if value and len(self._best_columns) < 2:
                value, kind = False, kind | {"pair_features": False}
            if kind in [candidate.params for candidate in batch]:
                continue
            columns = self._columns_of(value)
            by_loss = self._by_loss(columns.prepared)
            options = by_loss.with_options(search.options | kind)
            folds = Folds(columns.prepared.data.rows, pairs, columns.external_set)
            batch.append(Candidate(kind, options, folds, columns))
        return batch

    def _warn_of_callbacks(self) -> None:
        """Warn of the user's callbacks, if no fit has rounds to call them after."""
        settings = self.prepared.data.settings
        unused = [
            call
            for call in callbacks.without_recorders(
                self.prepared.data.arguments.callbacks
            )
            if not (self.is_refitted and getattr(call, "before_iteration", False))
        ]
        if unused:
            warn_unused(
                f"callbacks are not called with preset={settings.preset!r}, because the"
                " rounds of several configurations are compared in stages."
                " Only record_evaluation has an effect. For callbacks, leave the preset"
                " out, or pass its options: see preset_params_ and search_results_."
            )

    def _warn_of_sets(self) -> None:
        """Warn of evaluation sets that a mean does not use: those of training rows."""
        if not self.sets:
            return
        names = ", ".join(repr(named.name) for named in self.sets)
        preset = self.prepared.data.settings.preset
        warn_unused(
            "Evaluation sets with the rows of the training set are not evaluated with"
            f" preset={preset!r}: {names}. The model is the mean of several fits, whose"
            " losses on folds are recorded. Leave them out, or pass other rows."
        )

    def _warn_of_end(self, limit: TimeLimit, compared: Sequence[Candidate]) -> None:
        """Warn if Ctrl-C or the limit has ended the search."""
        whole, n_begun = self.prepared.limit, sum(c.has_begun for c in compared)
        n_first = min(len(compared), len(self.search.candidates))
        if limit.interrupted.is_set():
            whole.warn_interrupted(
                f"a search after {n_begun} candidates had begun",
                continues=not self.has_folds or self.is_refitted,
            )
        elif n_begun < n_first:
            warn(
                f"time_limit={whole.seconds:g} ended the search after"
                f" {n_begun} of the first {n_first} candidates had"
                " begun. Set a larger limit, or leave the preset out."
            )

    def _by_loss(self, prepared: PreparedFit) -> PreparedFit:
        """A fit with the loss of its objective as the metric, without messages."""
        data = prepared.data
        arguments = replace(data.arguments, callbacks=None, eval_metric=None)
        quiet = {"metric": None, "verbosity": -1, "folds": None}
        settings = data.settings.checked(quiet, data.task.owner)
        by_loss = prepared.with_data(
            data.replaced(arguments=arguments, settings=settings)
        )
        if not by_loss.setup.make_metrics():
            raise ValueError(
                f"preset={data.settings.preset!r} compares losses, but an objective"
                " that is a function has none. Set n_estimators."
            )
        return by_loss


def _chosen(
    prepared: PreparedFit, options: Mapping[str, Any], compared: Sequence[Candidate]
) -> PreparedFit:
    """The fit with the chosen options, and with the results of the search."""
    chosen = prepared.with_chosen(options)
    return replace(chosen, search_results=_results(compared))


def _results(compared: Sequence[Candidate]) -> dict[str, list[Any]]:
    """What was compared, in the manner of ``cv_results_``: lists over the candidates.

    ``search_results_`` of estimators.
    """
    return {
        "params": [candidate.params for candidate in compared],
        "mean_test_loss": [candidate.loss for candidate in compared],
        "n_rounds": [candidate.mean_rounds for candidate in compared],
        "fit_time": [candidate.seconds for candidate in compared],
        "weight": [candidate.weight for candidate in compared],
    }
