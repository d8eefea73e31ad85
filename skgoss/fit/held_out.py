"""Rows that are held out of a fit, for early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.rows import Rows
from skgoss.distributed.row_partition import RowPartition
from skgoss.fit import splits
from skgoss.fit.fit_data import FitData
from skgoss.training.evaluation import EvaluationSet


def split(data: FitData) -> tuple[FitData, list[EvaluationSet]]:
    """Hold rows out for early stopping, unless something else evaluates the fit.

    Returns the data with the training rows, and the evaluation sets.
    """
    options, rows = data.settings, data.rows
    is_evaluated = options.folds is not None or data.search is not None
    if is_evaluated or options.boosting_type == "dart":
        return data, []
    fraction = options.validation_fraction
    if data.time is None:
        labels = data.labels(rows)
        seed = options.random_state
        is_held_out = draw(rows, fraction, seed, labels=labels, groups=data.groups)
        sides = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
    else:
        words, groups = f"validation_fraction={fraction}", data.all_groups()
        (pair,) = splits.by_time(1, data.time, groups, words, first=1 - fraction)
        sides = rows.local(pair[0]), rows.local(pair[1])
    fitted, validation = map(rows.take, sides)
    return data.replaced(fitted=fitted), [EvaluationSet("validation", validation)]


def draw(
    rows: Rows, fraction: float, seed: int, *, labels: Any = None, groups: Any = None
) -> NDArray[Any]:
    """Draw rows for validation: a bool for each row. The partition has no effect.

    The ``fraction`` of the rows of each label is drawn: ``labels``, (n_rows,), are
    numbers of classes; None: no classes. If there are queries, or ``groups`` of the
    rows of all processes, a fraction of these is drawn, and all of their rows.
    ValueError if nothing can be held out.
    """
    partition = rows.partition or RowPartition(len(rows))
    group = None
    if groups is not None:
        group = np.unique(groups, return_inverse=True)[1]
        stratum, reason = np.zeros(group.max() + 1), "there is only one group"
    elif rows.queries is not None:
        stratum, reason = np.zeros(rows.queries.n_global), "there is only one query"
    elif labels is not None:
        codes = labels.astype(np.int32)
        stratum, reason = partition.all_gather(codes), "no class has two rows"
    else:
        stratum, reason = np.zeros(partition.n_rows), "there is only one row"
    random = np.random.default_rng(seed)
    chosen = _stratified_draw(stratum.astype(np.int64), fraction, random)
    if not chosen.any():
        raise ValueError(
            "Early stopping needs an evaluation set, but no rows can be held out:"
            f" {reason} (n_samples={partition.n_rows}). Pass an evaluation set, or turn"
            " early stopping off."
        )
    if group is not None:
        chosen = chosen[group]
    elif rows.queries is not None:
        return chosen[rows.queries.global_number][rows.queries.number]
    return chosen if partition.is_alone else chosen[partition.numbers]


def _stratified_draw(
    stratum: NDArray[np.int64], fraction: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw a fraction of each stratum, and at least one element in total.

    At least one element of each stratum is left for training, so nothing is drawn if
    all strata have one element.
    """
    order = random.permutation(len(stratum))
    order = order[np.argsort(stratum[order], kind="stable")]
    size = np.bincount(stratum)
    rank = np.arange(len(stratum)) - np.repeat(np.cumsum(size) - size, size)
    n_drawn = np.minimum(np.rint(fraction * size), np.maximum(size - 1, 0))
    largest = size.argmax()
    if not n_drawn.any():
        n_drawn[largest] = min(1, size[largest] - 1)
    drawn = np.zeros(len(stratum), dtype=bool)
    drawn[order] = rank < np.repeat(n_drawn, size)
    return drawn
