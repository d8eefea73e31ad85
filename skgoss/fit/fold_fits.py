"""Models of several folds, fitted side by side and kept as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import reduce
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.model.ensemble import Ensemble
from skgoss.model.out_of_fold import OutOfFold
from skgoss.training import loop
from skgoss.training.boosting import Boosting
from skgoss.training.callback_api import Callback, History
from skgoss.training.evaluation import EvaluationSet, by_name
from skgoss.training.loop import Trained

Floats = NDArray[np.float64]

# Seconds between two checks for signals, which only the main thread gets.
_SIGNAL_INTERVAL = 0.1


@dataclass(frozen=True, eq=False)
class FoldModel:
    """The model of one fold.

    Attributes
    ----------
    trees : Ensemble
        The rounds up to the best one.
    first_round : int
        The number of rounds of ``init_model`` among them.
    test : ndarray of shape (n_test,), int64
        The numbers of the rows that the model is tested on.
    evaluation_set : EvaluationSet
        These rows, without bins.
    scores : ndarray of shape (n_scores, n_test)
        The raw scores of these rows.
    history : dict
        Metrics of all rounds.
    """

    trees: Ensemble
    first_round: int
    test: NDArray[np.int64]
    evaluation_set: EvaluationSet
    scores: Floats
    history: History

    @property
    def n_rounds(self) -> int:
        """The number of rounds of this fit."""
        return self.trees.n_rounds - self.first_round

    def own_trees(self) -> Ensemble:
        """The trees of this fit."""
        if self.first_round == 0:
            return self.trees
        return self.trees.chosen(np.arange(self.first_round, self.trees.n_rounds))


def fold_model(
    boosting: Boosting,
    test: NDArray[np.int64],
    model: Any,
    callbacks: Sequence[Callback],
    is_cancelled: Callable[[], bool],
) -> FoldModel:
    """Boost on the training rows of a fold, up to the best round on its test rows.

    Parameters
    ----------
    boosting : Boosting
        Its only evaluation set holds the test rows.
    test : ndarray of shape (n_test,), int64
        The numbers of the test rows.
    model : object
        What callbacks get as the model.
    callbacks : sequence of callable
    is_cancelled : callable
        Whether boosting is to end after a round, because another fold has failed.
    """
    trained = loop.train(
        boosting,
        model,
        callbacks=callbacks,
        after_round=lambda _index, _trees: is_cancelled(),
    )
    first = boosting.first_round
    boosting.end(trained.ensemble.n_rounds - first)
    (tested,) = boosting.sets
    return FoldModel(
        trained.ensemble,
        first,
        test,
        replace(tested, binned=None),
        boosting.raw_scores(tested),
        trained.history,
    )


def side_by_side(
    fits: Sequence[Callable[[Callable[[], bool]], FoldModel]], n_at_once: int
) -> list[FoldModel]:
    """Call functions that fit the models of folds, several at once.

    Parameters
    ----------
    fits : sequence of callable
        Each takes a function that tells whether its fit is to end.
    n_at_once : int
        1: one after the other, in this thread.

    Raises
    ------
    BaseException
        The first error of a fit, in the order of the folds. The others end.
    """
    cancelled = Event()
    if n_at_once == 1:
        return [fit(cancelled.is_set) for fit in fits]
    with ThreadPoolExecutor(n_at_once, thread_name_prefix="skgoss-fold") as pool:
        pending = [pool.submit(fit, cancelled.is_set) for fit in fits]
        try:
            while not all(future.done() for future in pending):
                wait(pending, _SIGNAL_INTERVAL, "FIRST_EXCEPTION")
                failed = [f for f in pending if f.done() and f.exception()]
                if failed:
                    failed[0].result()
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in pending]


def joined(models: Sequence[FoldModel], n_rows: int) -> Trained:
    """The mean of the models as one model.

    Its rounds are those of all models, the first rounds first. Their leaf values are
    divided by the number of models, so that the raw scores are the mean.

    Parameters
    ----------
    models : sequence of FoldModel
    n_rows : int
        The number of rows that were split into folds.
    """
    first, n_rounds = models[0].trees, [model.n_rounds for model in models]
    total = sum(n_rounds)
    # A forest divides by the number of all rounds.
    share = [total / n for n in n_rounds] if first.average else np.ones(len(models))
    trees = reduce(
        Ensemble.joined,
        (
            model.own_trees().scaled(part / len(models))
            for model, part in zip(models, share, strict=True)
        ),
    )
    index = np.concatenate([np.arange(n) for n in n_rounds])
    trees = trees.chosen(np.argsort(index, kind="stable"))
    if models[0].first_round:
        trees = first.truncated(models[0].first_round).joined(trees)
    history: History = {}
    for model in models:
        history |= model.history
    results = [
        result
        for model in models
        for result in model.evaluation_set.measure(model.scores, 1)
    ]
    metrics: dict[str, list[float]] = {}
    for result in results:
        metrics.setdefault(result.metric_name, []).append(result.metric_value)
    return Trained(
        trees,
        best_score=by_name(results),
        history=history,
        out_of_fold=OutOfFold(_out_of_fold(models, n_rows), metrics),
    )


def _out_of_fold(models: Sequence[FoldModel], n_rows: int) -> Floats:
    """The mean of the scores of each row that is tested, (n_rows, n_scores)."""
    total = np.zeros((n_rows, models[0].trees.n_scores))
    count = np.zeros((n_rows, 1))
    for model in models:
        total[model.test] += model.scores.T
        count[model.test] += 1
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def mean_rounds(models: Sequence[FoldModel]) -> int:
    """The mean of the numbers of rounds, at least 1."""
    return max(1, round(np.mean([model.n_rounds for model in models])))


def best(models: Sequence[FoldModel], n_folds: int) -> tuple[int, float]:
    """The candidate with the best mean score over folds, and its number of rounds.

    Parameters
    ----------
    models : sequence of FoldModel
        Those of all folds of the first candidate, then those of the next one.
    n_folds : int

    Returns
    -------
    index : int
        The number of the candidate.
    n_rounds : float
        The geometric mean of the best numbers of rounds.
    """
    scores, rounds = [], []
    for model in models:
        result = model.evaluation_set.measure(model.scores, 1)[0]
        scores.append(result.metric_value * (-1 if result.maximize else 1))
        rounds.append(model.n_rounds)
    index = int(np.reshape(scores, (-1, n_folds)).mean(axis=1).argmin())
    chosen = rounds[index * n_folds : (index + 1) * n_folds]
    return index, float(np.exp(np.log(chosen).mean()))
