"""Constants that bring the model of folds to the mean prediction of the folds' models.

The prediction of the mean of raw scores is not the mean of predictions if a link is
curved. It is the geometric mean for 'exp', and nearly so for small probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.rows import Rows
from skgoss.fit import splits
from skgoss.objectives.link import CURVED, Link, transform
from skgoss.objectives.objectives import TrainingRows
from skgoss.utils.correct_rounding import expm1, log

Floats = NDArray[np.float64]


def compared_rows(n_rows: int) -> NDArray[np.int64]:
    """The rows on which predictions are compared, among those of all processes."""
    return np.linspace(0, n_rows - 1, min(n_rows, splits.MAX_COMPARED)).astype(np.int64)


def constants(
    members: Sequence[Floats], link: Link, rows: Rows, n_threads: int = 1
) -> Floats:
    """What the mean of raw scores lacks to predict as its members do on average.

    ``members`` are the raw scores of each model, (n_scores, n), for the `compared_rows`
    of ``rows``, the rows of all processes. The result, (n_scores,), is the score of the
    mean prediction of all members, minus that of the mean prediction by their mean
    scores. So predictions of counts are multiplied by the ratio of both, and
    probabilities change as if the rates of classes had changed by it (M. Saerens, P.
    Latinne and C. Decaestecker, "Adjusting the Outputs of a Classifier to New a Priori
    Probabilities", Neural Computation 14, 2002). Equal means would need large constants
    if most probabilities are close to 0 or 1, and these predict worse. It is 0 where
    predictions are not means of the target, or are the scores themselves.
    """
    n_scores, at = len(members[0]), compared_rows(len(rows))
    added, first = np.zeros(n_scores), 0
    for number, (part, n) in enumerate(link.to_means(n_scores)):
        span = slice(first, first + n)
        first += n
        if part.kind in CURVED:
            weight = rows.weight
            if rows.output_weight is not None:
                weight = rows.output_weight[:, number]
            weight = None if weight is None else np.ascontiguousarray(weight[at])
            each = [np.ascontiguousarray(member[span]) for member in members]
            means = [_means(scores, part, weight, n_threads) for scores in each]
            goal = _mean(means)
            found = _means(_mean(each), part, weight, n_threads)
            added[span] = _differences(goal, found, part)
    return added


def _mean(arrays: Sequence[Floats]) -> Floats:
    return cast("Floats", sum(arrays)) / len(arrays)


def _means(scores: Floats, link: Link, weight: Floats | None, n_threads: int) -> Floats:
    """The weighted mean of the predictions for each score, (n_scores,)."""
    predictions = transform(link, scores, n_threads, np.empty_like(scores))
    rows = (TrainingRows.from_one_process(values, weight) for values in predictions)
    return np.array([row.mean() for row in rows])


def _differences(goal: Floats, found: Floats, link: Link) -> Floats:
    """The scores of some means minus those of others; 0 if one has no score.

    Those of 'softmax' sum to 0.
    """
    wanted, given = ([_score(mean, link) for mean in means] for means in (goal, found))
    difference = np.subtract(wanted, given)
    difference[~np.isfinite(difference)] = 0.0
    if link.kind == "softmax":
        difference -= math.fsum(difference) / len(difference)
    return difference


def _score(mean: float, link: Link) -> float:
    """The raw score whose prediction is a mean; NaN if there is none."""
    if not 0.0 < mean < math.inf:
        return math.nan
    if link.kind == "logistic":
        return log(mean / (1.0 - mean)) / link.slope if mean < 1.0 else math.nan
    return log(expm1(mean) if link.kind == "log1p_exp" else mean)
