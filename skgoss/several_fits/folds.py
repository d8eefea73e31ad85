"""The option ``folds``: a fit to the rows of each fold, and their models as one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skgoss.binning.rows import Rows
from skgoss.fit import callbacks
from skgoss.fit.fit import Fit, MakeModel
from skgoss.fit.splits import Pair
from skgoss.objectives.survival import COX, Baseline, PartialLikelihood
from skgoss.several_fits import blending
from skgoss.several_fits.blending import FoldModel
from skgoss.training import loop
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.loop import BestRound, Recorder, Trained
from skgoss.training.schedule import at_once, run_all


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of the rows of a fit, and what each learns from and is tested on.

    ``rows`` are those of this process in bins. A fold without rows to test on is tested
    on ``others``, the evaluation set.
    """

    rows: Rows
    pairs: Sequence[Pair]
    others: EvaluationSet | None = None

    def begun(self, fit: Fit, number: int, n_threads: int) -> Fit:
        """The fit to the rows of a fold, whose evaluation set are those it tests."""
        rows, tested = self.learned_and_tested(number)
        learned = fit.data.replaced(rows=rows, fitted=rows)
        of_fold = fit.variant(learned, replace(fit.plan, n_threads=n_threads))
        of_fold.begin([tested])
        return of_fold

    def learned_and_tested(self, number: int) -> tuple[Rows, EvaluationSet]:
        """The rows that a fold learns from, and those that it is tested on."""
        rows, weight = self.rows, self.rows.weight
        train, test = map(rows.local, self.pairs[number])
        if weight is not None:
            train = train[weight[train] != 0]
        # What a tree does with all rows would take long for a few rows.
        learned = rows.take(train, is_view=2 * len(train) >= len(rows))
        learned = learned.without_zero_weights()
        if self.others is not None:
            return learned, self.others
        return learned, EvaluationSet(f"fold_{number}", rows.take(test))


def threads_of_folds(fit: Fit, n_folds: int) -> tuple[int, int]:
    """How many folds of a fit advance at once, and the threads of each."""
    # Functions of users need not be ready to be called by several threads at once, and
    # processes communicate in the same order.
    has_functions = fit.data.arguments.callbacks or fit.plan.has_functions
    is_one_by_one = fit.data.rows.partition is not None or has_functions
    n_threads = fit.n_threads
    return (1, n_threads) if is_one_by_one else at_once(n_folds, n_threads)


def trained(fit: Fit, make_model: MakeModel) -> Trained:
    """The mean of the models of the folds, or what ``refit`` makes of them."""
    assert fit.pairs is not None
    pairs, models = _models(fit, fit.pairs, make_model)
    if fit.data.settings.verbosity >= 1:
        tell(models)
    return joined(fit, [models], [1.0], pairs, make_model)


def _models(
    fit: Fit, pairs: Sequence[Pair], make_model: MakeModel
) -> tuple[list[Pair], list[FoldModel]]:
    """The folds and their models, several of which are fitted at once.

    After Ctrl-C, they are those that have ended, or else those that have begun.
    """
    n, folds, options = len(pairs), Folds(fit.data.rows, pairs), fit.data.settings
    n_at_once, n_threads = threads_of_folds(fit, n)
    # A share for what follows, which is another fit or little.
    whole = fit.limit.of_share(0.6 if options.refit else 1.0)
    # Without early stopping, no fold ends early. Rounds of dropout change earlier ones.
    keeps_best = (
        options.early_stopping_round is None and options.boosting_type != "dart"
    )
    begun: dict[int, FoldModel] = {}
    ended: set[int] = set()

    def train(number: int) -> None:
        if number > 0 and whole.interrupted.is_set():
            return
        of_fold = folds.begun(fit, number, n_threads)
        state, test = of_fold.state, pairs[number][1]
        calls = of_fold.new_callbacks()
        model = make_model(of_fold) if calls else None
        limit = whole.of_share(1 / -(-(n - number) // n_at_once))
        is_over = limit.after_round(state.settings.n_estimators)
        if keeps_best:
            deltas = options.early_stopping_min_delta
            calls.append(BestRound(deltas, options.first_metric_only))
        result = loop.train(state, model, callbacks=calls, after_round=is_over)
        trees = result.ensemble
        begun[number] = FoldModel.from_rounds(
            state,
            trees.n_rounds - state.first_round,
            test,
            result.history,
            trees=trees,
        )
        fit.limit.is_reached |= limit.is_reached
        if not whole.interrupted.is_set():
            ended.add(number)

    run_all([partial(train, number) for number in range(n)], n_at_once)
    kept = sorted(ended or begun)
    fit.tell_of_interrupt(f"fits on folds: {len(kept)} of {n} models are kept")
    return [pairs[i] for i in kept], [begun[i] for i in kept]


def tell(models: Iterable[FoldModel]) -> None:
    """Print a line for each model: its rounds, and the metrics of the last one."""
    for model in models:
        last = model.n_rounds - 1
        for name, scores in model.history.items():
            words = "".join(f", {k} {v[last]:g}" for k, v in scores.items() if v)
            callbacks.say(f"{name}: {model.n_rounds} rounds{words}")


def joined(
    fit: Fit,
    kinds: Sequence[Sequence[FoldModel]],
    weights: Sequence[float],
    pairs: Sequence[Pair],
    make_model: MakeModel,
) -> Trained:
    """The models of all folds as one, or what ``refit`` makes of them.

    ``kinds`` are the models of all folds for each set of options, with their
    ``weights``.
    """
    rows, kind = fit.splits.rows, fit.data.link.kind
    mapping = None
    if has_own_scores(fit) and fit.data.link.distribution is not None:
        kept = None if fit.data.settings.refit else pairs
        mapping = blending.spread(kinds, weights, rows, kept, kind, fit.n_threads)
        kinds = [[model.mapped(*mapping) for model in models] for models in kinds]
    result, out_of_fold = blending.joined(kinds, weights, rows)
    fit.history |= result.history
    for callback in callbacks.for_one_fit(fit.data.arguments.callbacks):
        if isinstance(callback, Recorder):
            callback.eval_result.clear()
            callback.eval_result.update(copy.deepcopy(fit.history))
    if fit.data.settings.refit:
        again = fit.variant(fit.data, fit.plan)
        best = kinds[int(np.argmax(weights))]
        n_rounds = round(blending.mean_rounds([model.n_rounds for model in best]))
        trees = again.refitted(n_rounds, make_model(again))
        if mapping is not None:
            trees = trees.mapped(*mapping)
        result = replace(result, ensemble=trees)
        out_of_fold = out_of_fold.for_one_model(trees.n_rounds)
    return replace(result, out_of_fold=out_of_fold)


def has_own_scores(fit: Fit) -> bool:
    """Whether all scores come from the trees of this fit."""
    return fit.data.init_model is None and fit.data.rows.init_score is None


def baseline(fit: Fit, result: Trained) -> Baseline | None:
    """The baseline hazard by the out-of-fold scores, for Cox's objectives."""
    tested = result.out_of_fold
    if not fit.has_baseline or tested is None:
        return None
    rows, scores = blending.tested_rows(fit.splits.rows, tested.scores)
    likelihood = PartialLikelihood(rows.y, rows.weight, efron=COX[fit.objective])
    return likelihood.baseline(scores)
