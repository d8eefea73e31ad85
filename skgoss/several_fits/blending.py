"""The models of several folds as one: weights, calibration, spread, tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from skgoss.binning.rows import Rows
from skgoss.fit.splits import Pair
from skgoss.model.ensemble import Ensemble
from skgoss.model.out_of_fold import CalibrationRows, OutOfFold
from skgoss.objectives.likelihoods import calibrated, newton_step
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import TrainingRows
from skgoss.objectives.output_metrics import AnyMetric
from skgoss.several_fits import fold_means
from skgoss.training.callback_api import History
from skgoss.training.evaluation import EvalResult, EvaluationSet, loss_of
from skgoss.training.loop import Trained, by_name
from skgoss.training.rounds import Rounds
from skgoss.utils.correct_rounding import geometric_mean

Floats = NDArray[np.float64]

# The number of models that hill climbing adds; few keep predictions fast.
_ADDITIONS = 25
_MAX_MEMBERS = 6

# The squared errors of a mean of models are no smaller, by those of one.
_MIN_SHARE = 0.25

# The range of the factors of raw scores that are tried. With this number of rows, half
# of the best factor's difference to 1 is used: docs/measured-accuracy.md.
_FACTORS = (0.5, 2.0)
_ROWS_FOR_HALF = 1000


@dataclass(frozen=True, eq=False)
class FoldModel:
    """The model of one fold."""

    trees: Ensemble  # the rounds up to the best one
    first_round: int  # the number of rounds of ``init_model`` among them
    # (n_test,): the numbers, among the rows of all processes, of those that it is
    # tested on.
    test: NDArray[np.int64]
    evaluation_set: EvaluationSet  # the rows of this process among them, without bins
    # (n_scores, n_local_test): the raw scores of the rows of this process.
    scores: Floats
    # (n_scores, n_learned): those of all rows that a distribution was learned from.
    learned: Floats | None
    history: History  # metrics of all rounds
    n_rounds: int = 0  # the number of rounds of this fit
    # The metrics of ``scores`` by name, if they are known.
    measured: dict[str, float] | None = None
    # (n_scores, n_compared): those of the `fold_means.compared_rows`; None: predictions
    # of the mean of scores need no constants.
    compared: Floats | None = None

    @classmethod
    def from_rounds(
        cls,
        boosting: Rounds,
        n_rounds: int,
        test: NDArray[np.int64],
        history: History,
        *,
        trees: Ensemble | None = None,
        metrics: Sequence[AnyMetric] | None = None,
        compared: EvaluationSet | None = None,
    ) -> Self:
        """The model of the first ``n_rounds`` new rounds; later ones are dropped.

        ``boosting`` is the fit to the training rows of the fold, whose only evaluation
        set has the ``test`` rows. ``trees`` are its trees if they are known already.
        ``metrics`` replace those of the set, and are computed later; None: the
        ``history`` has those of each round. ``compared`` are the rows of this process
        among `fold_means.compared_rows`.
        """
        measured = None if metrics else _last_metrics(history, n_rounds)
        boosting.end(n_rounds)
        learned_scores = boosting.learned_scores()
        (tested,) = boosting.sets
        compared_scores = None
        if compared is not None:
            boosting.add(compared, on_demand=True)
            compared_scores = boosting.raw_scores(compared)
            if compared.rows.partition is not None:
                gather = compared.rows.partition.all_gather
                compared_scores = gather(compared_scores)
        return cls(
            trees or boosting.ensemble(),
            boosting.first_round,
            test,
            replace(tested, binned=None, metrics=list(metrics or tested.metrics)),
            boosting.raw_scores(tested),
            learned_scores,
            history,
            n_rounds,
            measured,
            compared_scores,
        )

    def measure(self, metrics: Sequence[AnyMetric] | None = None) -> list[EvalResult]:
        """The metrics of the scores; None: those of the evaluation set."""
        tested = self.evaluation_set
        if metrics is not None:
            tested = replace(tested, metrics=list(metrics))
        return tested.measure(self.scores, 1)

    def tests(self) -> dict[str, float]:
        """The metrics of the evaluation set by name."""
        if self.measured is not None:
            return dict(self.measured)
        return by_name(self.measure()).get(self.evaluation_set.name, {})

    def scores_of_all(self) -> Floats:
        """The raw scores of all test rows, (n_scores, n_test)."""
        partition = self.evaluation_set.rows.partition
        return self.scores if partition is None else partition.all_gather(self.scores)

    def mapped(self, factors: Floats, added: Floats) -> FoldModel:
        """The model with factors of its scores, and constants that are added."""

        def mapped(scores: Floats) -> Floats:
            return factors[:, None] * scores + added[:, None]

        return replace(
            self,
            trees=self.trees.mapped(factors, added),
            scores=mapped(self.scores),
            measured=None,
            compared=None if self.compared is None else mapped(self.compared),
        )

    def new_trees(self) -> Ensemble:
        """The trees of this fit."""
        if self.first_round == 0:
            return self.trees
        return self.trees.chosen(np.arange(self.first_round, self.trees.n_rounds))


def joined(
    configurations: Sequence[Sequence[FoldModel]],
    weights: Sequence[float],
    rows: Rows,
    link: Link,
    n_threads: int = 1,
) -> tuple[Trained, OutOfFold]:
    """The weighted sum of the models of folds as one model, and its tests.

    A configuration is a set of options. ``configurations`` has, for each, the models of
    all folds, and ``weights`` its weight: see `hill_climbing`. ``rows`` are those of
    all processes that were split into folds.

    The rounds of the result are those of all models, the first rounds first. The leaf
    values of a model are multiplied with the weight of its configuration and divided by
    the number of folds, so that the raw scores are the mean over the folds. If
    predictions are means, `fold_means.constants` are added to the first trees of all
    folds; the out-of-fold predictions are those without them. ``link`` is that of the
    raw scores.
    """
    added = None
    if configurations[0][0].compared is not None:
        folds = _by_fold(configurations, weights)
        scores = [fold.compared for fold in folds if fold.compared is not None]
        added = fold_means.constants(scores, link, rows, n_threads)
    trees, fold_of_round = _joined_trees(configurations, weights, added)
    trained, out_of_fold = _tested(trees, fold_of_round, configurations, weights, rows)
    return trained, out_of_fold if added is None else out_of_fold.with_added(added)


def of_all_rows(
    trees: Ensemble,
    configurations: Sequence[Sequence[FoldModel]],
    weights: Sequence[float],
    rows: Rows,
) -> tuple[Trained, OutOfFold]:
    """A model that was fitted on all rows, tested by the models of the folds.

    ``trees`` are those of one fit per configuration whose weight is not 0. For the
    other arguments see `joined`.
    """
    no_fold = np.full(trees.n_rounds, -1, dtype=np.int32)
    trained, out_of_fold = _tested(trees, no_fold, configurations, weights, rows)
    n_starts = sum(weight != 0 for weight in weights)
    return trained, out_of_fold.for_all_rows(trees.n_rounds, n_starts)


def _tested(
    trees: Ensemble,
    fold_of_round: NDArray[np.int32],
    configurations: Sequence[Sequence[FoldModel]],
    weights: Sequence[float],
    rows: Rows,
) -> tuple[Trained, OutOfFold]:
    """The model of some trees, tested by the models of the folds.

    ``fold_of_round`` is as in `CalibrationRows`; for the rest see `joined`. Metrics are
    those of the weighted sums of the configurations' models of a fold.
    """
    folds = _by_fold(configurations, weights)
    history: History = {}
    for model in configurations[int(np.argmax(weights))]:
        history |= model.history
    best_score: dict[str, dict[str, float]] = {}
    metrics: dict[str, list[float]] = {}
    for fold in folds:
        for name, value in fold.tests().items():
            best_score.setdefault(fold.evaluation_set.name, {})[name] = value
            metrics.setdefault(name, []).append(value)
    trained = Trained(trees, best_score=best_score, history=history)
    scores = _out_of_fold(folds, len(rows.target))
    # Otherwise the start scores are in the rounds of ``init_model``.
    is_first = configurations[0][0].first_round == 0
    n_starts = int(np.count_nonzero(weights)) * len(folds) if is_first else 1
    calibration = None
    # Predictions for new rows have no initial scores; intervals are of one target.
    if rows.init_score is None and rows.target.ndim == 1:
        calibration = CalibrationRows.from_folds(
            rows.target, rows.weight, [fold.test for fold in folds], fold_of_round
        )
    return trained, OutOfFold(scores, metrics, calibration, n_starts)


def _last_metrics(history: History, n_rounds: int) -> dict[str, float]:
    """The metrics of one evaluation set after ``n_rounds`` rounds."""
    by_metric = next(iter(history.values()), {})
    return {name: values[n_rounds - 1] for name, values in by_metric.items()}


def _by_fold(
    configurations: Sequence[Sequence[FoldModel]], weights: Sequence[float]
) -> list[FoldModel]:
    """The weighted sum of the models of each fold: see `_weighted`."""
    return [_weighted(models, weights) for models in zip(*configurations, strict=True)]


def _weighted(models: Sequence[FoldModel], weights: Sequence[float]) -> FoldModel:
    """The model of a fold, with the weighted sum of the scores of several models.

    ``models`` are those of one fold, one for each configuration. Only scores and
    metrics are those of the sum; the trees are those of the first model.
    """
    if len(models) == 1 and weights[0] == 1.0:
        return models[0]

    def total(scores: Sequence[Floats]) -> Floats:
        zero = np.zeros_like(scores[0])
        return sum((w * s for w, s in zip(weights, scores, strict=True)), zero)

    compared = [m.compared for m in models if m.compared is not None]
    return replace(
        models[0],
        scores=total([model.scores for model in models]),
        measured=None,
        compared=total(compared) if compared else None,
    )


def spread(
    configurations: Sequence[Sequence[FoldModel]],
    weights: Sequence[float],
    rows: Rows,
    pairs: Sequence[Pair] | None,
    name: str,
    n_threads: int,
) -> tuple[Floats, Floats]:
    """The factors and constants by which scores of a distribution are `calibrated`.

    Both are (n_scores,). ``name`` is that of the distribution. The models of ``pairs``,
    the training and test rows of the folds, become one mean, whose errors are smaller
    than those of a single model: the out-of-fold scores are moved to the targets by the
    share of errors that differs between the models. None: one model of all rows
    replaces them. For the rest see `joined`.
    """
    folds = list(zip(*configurations, strict=True))
    means = [_weighted(models, weights) for models in folds]
    tested, scores = tested_rows(rows, _out_of_fold(means, len(rows)))
    if pairs is not None:
        learned = [
            (train, sum(w * m.learned for w, m in zip(weights, models, strict=True)))
            for (train, _), models in zip(pairs, folds, strict=True)
        ]
        n_tests = np.bincount(np.concatenate([test for _, test in pairs]))
        if rows.weight is not None:
            n_tests = n_tests * (rows.weight[: len(n_tests)] > 0)
        n_models = n_tests[n_tests > 0].mean()
        share = (1.0 / n_models - 1.0 / len(folds)) * _noise(
            learned, rows, name, n_threads
        )
        step, _ = newton_step(tested.y, scores, name, n_threads)
        scores[0] += (1.0 - np.sqrt(max(1.0 - share, _MIN_SHARE))) * step
    return calibrated(tested, scores, name, n_threads)


def tested_rows(rows: Rows, scores: Floats) -> tuple[TrainingRows, Floats]:
    """The rows that have out-of-fold scores, and these, (n_scores, n_tested).

    Rows of weight 0 are not among them.
    """
    is_tested = np.isfinite(scores[:, 0])
    if rows.weight is not None:
        is_tested &= rows.weight > 0
    tested = np.flatnonzero(is_tested)
    weight = None if rows.weight is None else rows.weight[tested]
    training_rows = TrainingRows.from_one_process(rows.target[tested], weight)
    return training_rows, np.ascontiguousarray(scores[tested].T)


def _noise(
    learned: Sequence[tuple[Any, Any]], rows: Rows, name: str, n_threads: int
) -> float:
    """The share of the squared errors of models by which they differ from each other.

    The mean of models lacks most of it. ``learned`` are the rows that each model has
    learned from, by their numbers, and their scores, (n_scores, n_learned). These rows
    pull models to their targets, so that differences and errors of the first score are
    too small alike. ``name`` is that of the distribution.
    """
    count, mean = np.zeros((2, len(rows)))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    learned = [(train[weight[train] > 0], scores) for train, scores in learned]
    for train, scores in learned:
        count[train] += 1.0
        mean[train] += scores[0]
    mean, weight = mean / np.maximum(count, 1.0), weight * (count > 1)
    unbiased = weight * count / np.maximum(count - 1.0, 1.0)
    noise = error = 0.0
    for train, scores in learned:
        target = rows.target[train]
        step, information = newton_step(target, scores, name, n_threads)
        difference = scores[0] - mean[train]
        noise += float((unbiased[train] * information * difference**2).sum())
        error += float((weight[train] * information * step**2).sum())
    return noise / error if error > 0 else 0.0


def _joined_trees(
    configurations: Sequence[Sequence[FoldModel]],
    weights: Sequence[float],
    added: Floats | None,
) -> tuple[Ensemble, NDArray[np.int32]]:
    """The trees of the weighted sum, and the fold of each of its rounds.

    -1 for rounds of ``init_model``, which all folds share. ``added`` are constants,
    (n_scores,), that the sum gets; None: none. For the other arguments see `joined`.
    """
    models = [
        (model, weight / len(models), fold)
        for models, weight in zip(configurations, weights, strict=True)
        for fold, model in enumerate(models)
        if weight
    ]
    first = models[0][0]
    members = [(model.new_trees(), weight) for model, weight, _ in models]
    if added is not None:
        mapping = np.ones(len(added)), added / sum(weights)
        members = [(trees.mapped(*mapping), weight) for trees, weight in members]
    trees, order = weighted_sum(members)
    folds = np.repeat(
        [fold for *_, fold in models], [model.n_rounds for model, *_ in models]
    )[order]
    if first.first_round:
        trees = first.trees.truncated(first.first_round).joined(trees)
    shared = np.full(first.first_round, -1)
    return trees, np.concatenate([shared, folds]).astype(np.int32)


def weighted_sum(
    members: Sequence[tuple[Ensemble, float]],
) -> tuple[Ensemble, NDArray[np.int64]]:
    """Ensembles times their weights as one, and the order of its rounds.

    ``members`` are ensembles with their weights. The first rounds of all members come
    first, then the second ones, and so on. The order has, for each round of the result,
    its number if the members were simply concatenated.
    """
    n_rounds = [trees.n_rounds for trees, _ in members]
    # A forest divides by the number of all rounds.
    is_mean = members[0][0].average
    factors = [sum(n_rounds) / n if is_mean else 1.0 for n in n_rounds]
    order = np.argsort(np.concatenate([*map(np.arange, n_rounds)]), kind="stable")
    scaled = [
        trees.scaled(weight * factor)
        for (trees, weight), factor in zip(members, factors, strict=True)
    ]
    return scaled[0].joined(*scaled[1:]).chosen(order), order


def _out_of_fold(models: Sequence[FoldModel], n_rows: int) -> Floats:
    """The mean of the scores of each row that is tested, (n_rows, n_scores)."""
    total = np.zeros((n_rows, models[0].trees.n_scores))
    count = np.zeros((n_rows, 1))
    for model in models:
        total[model.test] += model.scores_of_all().T
        count[model.test] += 1
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def mean_rounds(n_rounds: Sequence[int]) -> float:
    """The geometric mean of numbers of rounds: a single large one counts little."""
    return geometric_mean([max(1, n) for n in n_rounds])


def loss(models: Sequence[FoldModel], metrics: Sequence[AnyMetric]) -> float:
    """The mean over folds of the first metric, so that less is better; NaN is worst.

    ``models`` are those of all folds.
    """
    losses = [loss_of(model.measure(metrics)[0]) for model in models]
    return float(np.nan_to_num(np.mean(losses), nan=np.inf))


def hill_climbing(
    configurations: Sequence[Sequence[FoldModel]], metrics: Sequence[AnyMetric]
) -> list[float]:
    """The weights of configurations, of which few are not 0.

    ``configurations`` has the models of all folds for each. The one that reduces the
    out-of-fold loss most is added again and again, so that weights are whole numbers of
    additions, divided by their sum (R. Caruana et al., "Ensemble selection from
    libraries of models", ICML 2004). The first metric is the loss.
    """
    counts, total = (
        np.zeros(len(configurations)),
        [m.scores * 0.0 for m in configurations[0]],
    )
    best, weights = np.inf, np.zeros(len(configurations))
    for n in range(1, _ADDITIONS + 1):
        is_full = np.count_nonzero(counts) == _MAX_MEMBERS
        losses = [
            loss(
                [
                    replace(model, scores=(scores + model.scores) / n)
                    for model, scores in zip(models, total, strict=True)
                ],
                metrics,
            )
            if counts[i] or not is_full
            else np.inf
            for i, models in enumerate(configurations)
        ]
        i = int(np.argmin(losses))
        counts[i] += 1
        total = [
            t + model.scores for t, model in zip(total, configurations[i], strict=True)
        ]
        if losses[i] < best:
            best, weights = losses[i], counts / n
    return weights.tolist() if weights.any() else (counts / counts.sum()).tolist()


def calibration(
    configurations: Sequence[Sequence[FoldModel]],
    weights: Sequence[float],
    metrics: Sequence[AnyMetric],
    n_rows: int,
) -> float:
    """The factor of raw scores whose out-of-fold probabilities have the lowest loss.

    The fewer ``n_rows``, which is the number of tested rows, the closer to 1 it is. The
    first metric is the log loss. For the rest see `joined` (C. Guo et al., "On
    Calibration of Modern Neural Networks", ICML 2017, section 4.2).
    """

    def loss_of(factor: float) -> float:
        scaled = [factor * weight for weight in weights]
        folds = [
            _weighted(models, scaled) for models in zip(*configurations, strict=True)
        ]
        return loss(folds, metrics)

    factor = float(minimize_scalar(loss_of, bounds=_FACTORS, method="bounded").x)
    return 1.0 + (factor - 1.0) * n_rows / (n_rows + _ROWS_FOR_HALF)
