"""Learning to rank: the gradients of ranking losses, and NDCG."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum, ranking_kernels
from skgoss.columns.queries import Queries
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.parameters.settings import Settings

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# The number of grades that have a gain by default, as in LightGBM.
N_GRADES = 31


def gains(
    grades: Floats,
    label_gain: Sequence[float] | None = None,
    *,
    name: str = "The target",
    collectives: Collectives = ALONE,
) -> Floats:
    """The gain of each document.

    ``label_gain`` are the gains of the grades 0, 1, 2 ...; None: 2**grade - 1 for the
    grades 0 to 30. The grades of all processes are checked: ValueError if one is not a
    whole number >= 0 or has no gain, or if the sum of the gains overflows. ``name`` is
    their name in the message.
    """
    default = np.ldexp(1.0, np.arange(N_GRADES)) - 1
    table = np.asarray(default if label_gain is None else label_gain, float)
    is_whole = bool(((grades >= 0) & (grades % 1 == 0)).all())
    local = is_whole, grades.min(initial=np.inf), grades.max(initial=-np.inf)
    whole, lows, highs = zip(*collectives.all_gather(local), strict=True)
    low, high = min(lows), max(highs)
    if not all(whole):
        raise ValueError(
            f"{name} must hold grades of documents, whole numbers >= 0. Its"
            f" values range from {low:g} to {high:g}."
        )
    if high >= len(table):
        raise ValueError(
            f"{name} has the grade {high:g}, but label_gain has gains for the"
            f" grades 0 to {len(table) - 1} only. Pass a longer label_gain."
        )
    gain = table[grades.astype(np.intp)]
    with np.errstate(over="ignore"):
        total = np.sum(collectives.all_gather(gain.sum()))
    if not np.isfinite(total):
        raise ValueError(
            f"The values of label_gain are too large: the sum of the gains of {name}"
            " overflows. Divide label_gain by a constant."
        )
    return gain


class QueryGradients(ABC):
    """Gradients that are computed query by query, on rows sorted by query."""

    round = 0
    bias: PositionBias | None = None  # None: the positions of documents have no effect

    def __init__(self, queries: Queries) -> None:
        self.queries = queries

    def __call__(
        self, scores: Floats, gradient_out: Singles, hessian_out: Any, n_threads: int
    ) -> None:
        order, bias, score = self.queries.order, self.bias, scores[0]
        if bias is not None:
            score = score + bias.before(self.round)[bias.position]
        if order is None:
            self._derivatives(score, n_threads, gradient_out[0], hessian_out[0])
        else:
            gradient, hessian = np.empty((2, len(order)), dtype=np.float32)
            self._derivatives(score[order], n_threads, gradient, hessian)
            gradient_out[0][order] = gradient
            hessian_out[0][order] = hessian
        if bias is not None:
            bias.learn(self.round, gradient_out[0], hessian_out[0])

    @abstractmethod
    def _derivatives(
        self, scores: Floats, n_threads: int, gradient_out: Singles, hessian_out: Any
    ) -> None:
        """Write the derivatives of rows sorted by query: all arrays are (n,)."""


class PositionBias:
    """The bias of each position at which documents were shown.

    In training, the bias of its position is added to the score of a document, so that
    trees need not model that documents at the top are clicked more often. In each
    round, after the gradients are computed, a Newton step of the loss changes the
    biases:

        bias += learning_rate * (-sum(g) - r bias) / (|sum(h) + r| + 0.001)

    The sums are those of the weighted gradients and hessians of the documents at the
    position; r is their total weight times ``lambdarank_position_bias_regularization``.
    The formula is LightGBM's, which counts the documents instead of summing weights.
    Positions are numbers from 0 (Z. Hu et al., "Unbiased LambdaMART: An Unbiased
    Pairwise Learning-to-Rank Algorithm", WWW 2019).
    """

    def __init__(
        self, settings: Settings, position: NDArray[np.int64], weight: Floats | None
    ) -> None:
        self.position = position
        self.learning_rate = settings.learning_rate
        sizes = np.bincount(position)
        order = np.argsort(position, kind="stable")
        # By position: the rows of its documents, and their weights.
        self._rows = np.split(order, np.cumsum(sizes)[:-1])
        self._weight = None if weight is None else [weight[own] for own in self._rows]
        self._penalty = (
            sizes if weight is None else self._sums(np.ones(len(position)))
        ) * settings.lambdarank_position_bias_regularization
        # The biases before each round, so that a round can be rolled back.
        self._by_round: dict[int, Singles] = {}

    def before(self, index: int) -> Singles:
        """The biases before the round with the number ``index``, by position.

        They are 0 before the first round.
        """
        return self._by_round.get(index, np.zeros(len(self._rows), dtype=np.float32))

    def learn(self, index: int, gradient: Singles, hessian: Singles) -> None:
        """Compute the biases before the next round from the derivatives of a round.

        ``index`` is the number of the round, and the derivatives are (n,), unweighted.
        """
        bias = self.before(index)
        slope = -self._sums(gradient) - bias * self._penalty
        curvature = self._sums(hessian) + self._penalty
        step = self.learning_rate * slope / (np.abs(curvature) + 0.001)
        self._by_round[index + 1] = (bias + step).astype(np.float32)

    def _sums(self, values: NDArray[Any]) -> Floats:
        """The weighted sum of ``values``, (n,), over the documents at each position.

        It is rounded once: a weight of 2 equals two rows.
        """
        weights: Sequence[Floats | None] = self._weight or [None] * len(self._rows)
        return np.array(
            [
                exact_sum.weighted_sum(values[rows].astype(np.float64), weight)
                for rows, weight in zip(self._rows, weights, strict=True)
            ]
        )


class LambdaRank(QueryGradients):
    """The gradients of ``lambdarank``: see `lambdarank` in the engine.

    C. J. C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research, MSR-TR-2010-82, 2010.
    """

    def __init__(
        self, settings: Settings, y: Floats, queries: Queries, collectives: Collectives
    ) -> None:
        super().__init__(queries)
        self.settings = settings
        gain = gains(y, settings.label_gain, collectives=collectives)
        self.gain = queries.gathered(gain)
        # Made in the first round, when the number of threads is known.
        self.graded: GradedQueries | None = None

    def _derivatives(
        self, scores: Floats, n_threads: int, gradient_out: Singles, hessian_out: Any
    ) -> None:
        """Write the derivatives, with the discounts and the best DCG of each query.

        For the arguments see `QueryGradients._derivatives`.
        """
        settings, boundaries = self.settings, self.queries.boundaries
        # Made once, for the only level k of DCG@k: see `GradedQueries`.
        if self.graded is None:
            levels = [settings.lambdarank_truncation_level]
            self.graded = GradedQueries(self.gain, boundaries, levels, n_threads)
        ranking_kernels.lambdarank(
            scores,
            self.gain,
            boundaries,
            self.graded.ideal[0],
            self.graded.discount,
            settings.sigmoid,
            settings.lambdarank_truncation_level,
            settings.lambdarank_norm,
            n_threads,
            gradient_out,
            hessian_out,
        )


class RankXENDCG(QueryGradients):
    """The gradients of ``rank_xendcg``: see `rank_xendcg` in the engine.

    Random numbers depend on the number of the round (S. Bruch, "An Alternative Cross
    Entropy Loss for Learning-to-Rank", WWW 2021).
    """

    def __init__(
        self, settings: Settings, y: Floats, queries: Queries, collectives: Collectives
    ) -> None:
        super().__init__(queries)
        self.seed = settings.objective_seed
        self.gain = queries.gathered(gains(y, collectives=collectives))
        self.first = queries.first_rows(collectives)

    def _derivatives(
        self, scores: Floats, n_threads: int, gradient_out: Singles, hessian_out: Any
    ) -> None:
        """Write the derivatives, which depend on random numbers of the round.

        For the arguments see `QueryGradients._derivatives`.
        """
        ranking_kernels.rank_xendcg(
            scores,
            self.gain,
            self.queries.boundaries,
            self.first,
            self.seed,
            self.round,
            n_threads,
            gradient_out,
            hessian_out,
        )


class GradedQueries:
    """Documents with gains, and the parts of NDCG that do not depend on scores.

    The gains are sorted by query; ``boundaries``, (n_queries + 1,), are the first
    document of each query, and the number of documents. ``at`` are the levels k of
    DCG@k. ``discount`` are the discounts of the ranks, and ``ideal``, (len(at),
    n_queries), is the largest possible DCG of each query.
    """

    def __init__(
        self,
        gain: Floats,
        boundaries: NDArray[np.int64],
        at: Sequence[int],
        n_threads: int = 1,
    ) -> None:
        self.gain = gain  # 2**grade - 1, or the user's, of each document
        self.boundaries = boundaries
        self.at = np.asarray(at, dtype=np.int64)
        self.discount = ranking_kernels.discounts(boundaries)
        # The order of documents with the same gain does not change the ideal DCG.
        self.ideal = self.dcg(gain, averages_ties=False, n_threads=n_threads)

    def dcg(self, scores: Floats, *, averages_ties: bool, n_threads: int = 1) -> Floats:
        """The discounted cumulative gains, (n_levels, n_queries).

        ``scores`` are those of the documents, sorted by query. For ``averages_ties``
        see `ndcg`.
        """
        values = np.empty((len(self.at), len(self.boundaries) - 1))
        ranking_kernels.dcg(
            scores,
            self.gain,
            self.boundaries,
            self.discount,
            self.at,
            averages_ties,
            n_threads,
            values,
        )
        return values

    def ndcg(
        self, scores: Floats, *, averages_ties: bool = True, n_threads: int = 1
    ) -> Floats:
        """`dcg` divided by ``ideal``; NaN for queries without gains.

        If ``averages_ties``, documents with the same score count as the mean over all
        their orders (F. McSherry and M. Najork, "Computing Information Retrieval
        Performance Measures Efficiently in the Presence of Tied Scores", ECIR 2008),
        else in the order of their rows.
        """
        return np.divide(
            self.dcg(scores, averages_ties=averages_ties, n_threads=n_threads),
            self.ideal,
            out=np.full_like(self.ideal, np.nan),
            where=self.ideal > 0,
        )


def means_over_queries(values: Floats, weight: Floats | None) -> Floats:
    """The means of a metric over the queries, which are the last axis of ``values``.

    NaN stands for a query without relevant documents, which counts as 1. The mean is
    NaN if all queries are NaN. ``weight`` is that of the queries; None: ones.
    """
    are_empty = np.isnan(values)
    means = np.average(np.where(are_empty, 1.0, values), axis=-1, weights=weight)
    return np.where(are_empty.all(axis=-1), np.nan, means)


def query_weights(
    weight: Floats | None, boundaries: NDArray[np.int64]
) -> Floats | None:
    """The weight of each query: the mean weight of its rows; None: all are 1.

    ``boundaries``, (n_queries + 1,), are the first row of each query, and the end.
    """
    if weight is None:
        return None
    return np.add.reduceat(weight, boundaries[:-1]) / np.diff(boundaries)


def mean_ndcg(
    y: Floats,
    scores: Floats,
    queries: Queries,
    *,
    k: int | None = None,
    label_gain: Sequence[float] | None = None,
    weight: Floats | None = None,
) -> float:
    """The mean over queries of NDCG@k, where a query without gains counts as 1.

    Documents with the grades ``y`` are ranked by descending score. ``k`` is the number
    of top documents that count; None: all. The weight of a query is the mean weight of
    its rows.

    ``y``, ``scores`` and ``weight`` are (n,), in the order of the rows. ``label_gain``
    has the gain of each grade; None: 2**grade - 1.
    """
    gain = queries.gathered(gains(y, label_gain))
    levels = [k or int(queries.sizes.max())]
    graded = GradedQueries(gain, queries.boundaries, levels)
    values = np.nan_to_num(graded.ndcg(queries.gathered(scores))[0], nan=1.0)
    if weight is not None:
        weight = query_weights(queries.gathered(weight), queries.boundaries)
    return float(np.average(values, weights=weight))
