"""The option ``folds``: a fit to the rows of each fold, and their models as one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows
from skgoss.fit import callbacks, class_rates
from skgoss.fit.fit import AfterRound, Fit, MakeModel, PreparedFit
from skgoss.fit.fit_data import FitData
from skgoss.fit.splits import Pair, Splits
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel
from skgoss.model.out_of_fold import OutOfFold
from skgoss.objectives.survival import COX, Baseline, PartialLikelihood
from skgoss.several_fits import blending, fold_means
from skgoss.several_fits.blending import FoldModel
from skgoss.training import loop
from skgoss.training.best_round import BestRound
from skgoss.training.callback_api import History
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.loop import Recorder, Trained
from skgoss.training.schedule import at_once, run_all


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of the rows of a fit, and what each learns from and is tested on.

    ``rows`` are those of this process in bins. A fold without rows to test on is tested
    on the ``external_set``.
    """

    rows: Rows
    pairs: Sequence[Pair]
    external_set: EvaluationSet | None = None

    def begin(self, prepared: PreparedFit, number: int, n_threads: int) -> Fit:
        """The fit to the training rows of fold ``number``, without rounds.

        Its evaluation set has the test rows. ``prepared`` has the options.
        """
        rows, tested = self.learned_and_tested(number)
        data = replace(prepared.data, rows=rows, fitted=rows)
        setup = replace(prepared.setup, n_threads=n_threads)
        return Fit.begin(replace(prepared, data=data, setup=setup), [tested])

    def compared(self, prepared: PreparedFit, dataset: BinnedDataset) -> EvaluationSet:
        """The rows on which the predictions of the models of folds are compared.

        They are those of this process, in the bins of ``dataset``. ``prepared`` has the
        options.
        """
        rows = self.rows
        n_rows = rows.collectives.total(len(rows))
        at = rows.local(fold_means.compared_rows(n_rows))
        named = EvaluationSet("compared", rows.take(at, is_view=True))
        return prepared.setup.evaluation_set(dataset, rows, named)

    def learned_and_tested(self, number: int) -> tuple[Rows, EvaluationSet]:
        """The rows that a fold learns from, and those that it is tested on."""
        rows, weight = self.rows, self.rows.weight
        train, test = map(rows.local, self.pairs[number])
        if weight is not None:
            train = train[weight[train] != 0]
        # What a tree does with all rows would take long for a few rows.
        learned = rows.take(train, is_view=2 * len(train) >= len(rows))
        learned = learned.without_zero_weights()
        if self.external_set is not None:
            return learned, self.external_set
        return learned, EvaluationSet(f"fold_{number}", rows.take(test))


def in_bins(prepared: PreparedFit, n_rows: int) -> PreparedFit:
    """The fit with the rows in the bins that all folds share.

    All processes have ``n_rows`` rows.
    """
    binned = _binned(prepared, n_rows)
    binned.storage.pack()
    data = prepared.data
    rows = replace(data.rows, binned=binned)
    data = replace(data, rows=rows, fitted=rows)
    # The trees of an earlier model need the values of each fold.
    if rows.partition is not None and data.init_model is None:
        data = data.without_values()
    return replace(prepared, data=data)


def _binned(prepared: PreparedFit, n_global: int) -> BinnedDataset:
    """The bins of all rows, on which rows of weight 0 have no influence.

    ``n_global`` is the number of rows of all processes.
    """
    rows, setup = prepared.data.rows, prepared.setup
    if rows.binned is not None:
        return rows.binned
    weighted = rows.without_zero_weights()
    binned = setup.binned(weighted)
    if rows.weight is None or rows.collectives.total(len(weighted)) == n_global:
        return binned
    return binned.with_rows(
        rows.columns,
        prepared.data.settings,
        rows=rows.numbers,
        n_threads=setup.n_threads,
        n_global=n_global,
        collectives=rows.collectives,
    )


def threads_of_folds(prepared: PreparedFit, n_folds: int) -> tuple[int, int]:
    """How many folds of a fit advance at once, and the threads of each."""
    data, setup = prepared.data, prepared.setup
    # Functions of users need not be ready to be called by several threads at once, and
    # processes communicate in the same order.
    has_functions = data.arguments.callbacks or setup.has_functions
    is_one_by_one = data.rows.partition is not None or has_functions
    n_threads = setup.n_threads
    return (1, n_threads) if is_one_by_one else at_once(n_folds, n_threads)


@dataclass(frozen=True, eq=False)
class FoldFits:
    """The fits to the rows of each fold, whose models become one.

    ``splits`` are the rows that are split into the ``pairs``: see `Folds`.
    """

    prepared: PreparedFit
    splits: Splits
    pairs: Sequence[Pair]

    has_folds: ClassVar[bool] = True  # whether models of folds become one

    def model(
        self,
        make_model: MakeModel,
        after_round: AfterRound | None = None,
        *,
        keeps_rounds: bool = False,
    ) -> FittedModel:
        """The mean of the models of the folds, or what ``refit`` makes of them.

        ``make_model`` is called for each fit: see `Fit.model`. The other arguments have
        no effect.
        """
        pairs, models = self._models(make_model)
        if self.prepared.data.settings.verbosity >= 1:
            say_results(models)
        return self.blended([models], [1.0], pairs, make_model)

    def _models(self, make_model: MakeModel) -> tuple[list[Pair], list[FoldModel]]:
        """The folds and their models, several of which are fitted at once.

        After Ctrl-C, they are those that have ended, or else those that have begun.
        """
        prepared, pairs = self.prepared, self.pairs
        limit, options = prepared.limit, prepared.data.settings
        n, folds = len(pairs), Folds(prepared.data.rows, pairs)
        n_at_once, n_threads = threads_of_folds(prepared, n)
        is_compared = prepared.data.link.is_curved and not options.refit
        # A share for what follows, which is another fit or little.
        whole = limit.of_share(0.6 if options.refit else 1.0)
        begun: dict[int, FoldModel] = {}
        ended: set[int] = set()

        def train(number: int) -> None:
            if number > 0 and whole.interrupted.is_set():
                return
            fit = folds.begin(prepared, number, n_threads)
            of_fold = whole.of_share(1 / -(-(n - number) // n_at_once))
            is_over = of_fold.after_round(fit.rounds.settings.n_estimators)
            compared = None
            if is_compared:
                compared = folds.compared(fit.prepared, fit.rounds.dataset)
            begun[number] = _trained(fit, pairs[number], is_over, make_model, compared)
            limit.is_reached |= of_fold.is_reached
            if not whole.interrupted.is_set():
                ended.add(number)

        run_all([partial(train, number) for number in range(n)], n_at_once)
        kept = sorted(ended or begun)
        limit.warn_interrupted(
            f"fits on folds: {len(kept)} of {n} models are kept",
            continues=options.refit,
        )
        return [pairs[i] for i in kept], [begun[i] for i in kept]

    def blended(
        self,
        configurations: Sequence[Sequence[FoldModel]],
        weights: Sequence[float],
        pairs: Sequence[Pair],
        make_model: MakeModel,
    ) -> FittedModel:
        """The models of all folds as one, or what ``refit`` makes of them.

        ``configurations`` has, for each set of options, the models of all folds, and
        ``weights`` its weight. ``pairs`` are the folds that have models: after Ctrl-C,
        not all have.
        """
        prepared, rows = self.prepared, self.splits.rows
        data, mapping = prepared.data, None
        n_threads = prepared.setup.n_threads
        if has_own_scores(data) and data.link.distribution is not None:
            kept = None if data.settings.refit else pairs
            mapping = blending.spread(
                configurations, weights, rows, kept, data.link.kind, n_threads
            )
            configurations = [
                [model.mapped(*mapping) for model in models]
                for models in configurations
            ]
        best = configurations[int(np.argmax(weights))]
        if data.settings.is_unbalance or data.settings.scale_pos_weight != 1:
            mean = blending.mean_rounds([model.n_rounds for model in best])
            class_rates.warn_if_weights_stopped(data, mean)
        if data.settings.refit:
            trees = self._refitted([model.n_rounds for model in best], make_model)
            if mapping is not None:
                trees = trees.mapped(*mapping)
            return self.tested(trees, configurations, weights)
        return self._finished(
            *blending.joined(configurations, weights, rows, data.link, n_threads)
        )

    def tested(
        self,
        trees: Ensemble,
        configurations: Sequence[Sequence[FoldModel]],
        weights: Sequence[float],
    ) -> FittedModel:
        """The model of trees that were fitted on all rows, and its tests by the folds.

        For the other arguments see `blended`.
        """
        rows = self.splits.rows
        return self._finished(
            *blending.of_all_rows(trees, configurations, weights, rows)
        )

    def _finished(self, result: Trained, out_of_fold: OutOfFold) -> FittedModel:
        """The fitted model of a result, with its reports and warnings."""
        prepared, data = self.prepared, self.prepared.data
        if data.arguments.callbacks is not None:
            _record(data.arguments.callbacks, result.history)
        result = replace(result, out_of_fold=out_of_fold)
        prepared.report_choice()
        dataset = data.rows.binned
        assert dataset is not None
        prepared.warn_of_trees(result.ensemble, dataset)
        if str(data.settings.objective) in class_rates.LOG_LOSS:
            class_rates.warn_if_worse(data, self._test(out_of_fold))
        baseline = None
        if prepared.has_baseline:
            baseline = _baseline(prepared, self.splits.rows, out_of_fold)
        return prepared.fitted_model(result, dataset, baseline)

    def _test(self, out_of_fold: OutOfFold) -> Iterator[class_rates.Test]:
        """The rows that folds have tested, and their metrics."""
        at = np.flatnonzero(np.isfinite(out_of_fold.scores[:, 0]))
        yield "the folds", self.splits.rows.take(at), out_of_fold.mean()

    def _refitted(self, n_rounds: Sequence[int], make_model: MakeModel) -> Ensemble:
        """The trees of a fit to all rows, with the mean of the folds' rounds.

        ``n_rounds`` has the number of rounds of each fold.
        """
        fit = Fit.begin_on_all_rows(self.prepared)
        return fit.grow(round(blending.mean_rounds(n_rounds)), make_model(fit))


def _trained(
    fit: Fit,
    pair: Pair,
    is_over: loop.AfterRound | None,
    make_model: MakeModel,
    compared: EvaluationSet | None,
) -> FoldModel:
    """The model of a fold, up to its best round.

    ``pair`` are the training and test rows of the fold. ``is_over`` is called after
    each round, and ends the fit if it returns True; None: there is no limit.
    ``make_model`` makes what callbacks get as the model of the fit. For ``compared``
    see `FoldModel.from_rounds`.
    """
    state, calls, options = fit.rounds, list(fit.callbacks), fit.prepared.data.settings
    model = make_model(fit) if calls else None
    # Without early stopping, no fold ends early, but each keeps its best rounds only.
    # Not with DART: its later rounds change the trees of earlier ones.
    if options.early_stopping_round is None and options.boosting_type != "dart":
        deltas = options.early_stopping_min_delta
        calls.append(BestRound(deltas, options.first_metric_only))
    result = loop.train(state, model, callbacks=calls, after_round=is_over)
    trees = result.ensemble
    n_rounds = trees.n_rounds - state.first_round
    return FoldModel.from_rounds(
        state, n_rounds, pair[1], result.history, trees=trees, compared=compared
    )


def say_results(models: Iterable[FoldModel]) -> None:
    """Print a line for each model: its rounds, and the metrics of the last one."""
    for model in models:
        last = model.n_rounds - 1
        for name, scores in model.history.items():
            words = "".join(f", {k} {v[last]:g}" for k, v in scores.items() if v)
            callbacks.say(f"{name}: {model.n_rounds} rounds{words}")


def _record(calls: Any, history: History) -> None:
    """Give the metrics of all folds to callbacks that record them."""
    for callback in callbacks.own_copies(calls):
        if isinstance(callback, Recorder):
            callback.eval_result.clear()
            callback.eval_result.update(copy.deepcopy(history))


def has_own_scores(data: FitData) -> bool:
    """Whether all scores come from the trees of this fit.

    Not if it starts from an earlier model or from the user's scores, which a
    calibration of its trees would not change.
    """
    return data.init_model is None and data.rows.init_score is None


def _baseline(prepared: PreparedFit, rows: Rows, out_of_fold: OutOfFold) -> Baseline:
    """The baseline hazard by the out-of-fold scores, for Cox's objectives."""
    tested, scores = blending.tested_rows(rows, out_of_fold.scores)
    efron = COX[prepared.data.settings.objective]
    likelihood = PartialLikelihood(tested.y, tested.weight, efron=efron)
    return likelihood.baseline(scores)
