"""Weighted means and percentiles: start scores, and values of renewed leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training import losses

Floats = NDArray[np.float64]


def weighted_mean(values: Floats, weight: Floats | None) -> float:
    """Mean of ``values``, (n,), with ``weight``, (n,) or None for equal weights."""
    total = float(len(values)) if weight is None else losses.weighted_sum(weight)
    return losses.weighted_sum(values, weight) / total


def percentile(
    values: Floats,
    level: float,
    weight: Floats | None = None,
    unit: Floats | None = None,
) -> float:
    """LightGBM's percentile.

    Parameters
    ----------
    values : (n,) float64
    level : float in [0, 1]
    weight : (n,) float64 or None
        None interpolates linearly between order statistics (NumPy's default). Whole
        numbers are numbers of copies: the result is the same as for the copies. For
        others the value where the cumulated weight first exceeds ``level`` of its total
        is sought; the result lies between its predecessor and it, interpolated if it
        weighs at least 1, and is the predecessor if it weighs less (LightGBM's rule).
        Rows of weight 0 are absent.
    unit : (n,) float64 or None
        What a copy of a row weighs, by which ``weight`` is multiplied: LightGBM's rule
        is used, with copies that weigh as much. None means 1.

    Returns
    -------
    float
        0.0 if there is no row.
    """
    if weight is not None:
        present = weight > 0
        values, weight = values[present], weight[present]
        unit = None if unit is None else unit[present]
    if len(values) == 0:
        return 0.0
    if unit is not None:
        return _percentile_of_units(values, level, unit, weight)
    if weight is not None:
        return _weighted_percentile(values, level, weight)
    n = len(values)
    rank, part = _rank_from_top(n, level)
    if rank + 1 >= n:
        return float(values.min())
    below, above = np.partition(values, (n - 2 - rank, n - 1 - rank))[
        n - 2 - rank : n - rank
    ]
    return float(above - (above - below) * part)


def _rank_from_top(n: int, level: float) -> tuple[int, float]:
    """The order statistic above a percentile, 0 for the largest, and how far below."""
    # Counted from the top, which fixes the rounding of the interpolation.
    position = (n - 1) * (1.0 - level)
    rank = int(position)
    return rank, position - rank


def are_copies(weight: Floats) -> bool:
    return not (weight % 1.0).any()


def _weighted_percentile(values: Floats, level: float, weight: Floats) -> float:
    if not are_copies(weight):
        return _percentile_of_units(values, level, weight)
    order = np.argsort(values, kind="stable")
    return _percentile_of_copies(values[order], np.cumsum(weight[order]), level)


def _percentile_of_units(
    values: Floats, level: float, unit: Floats, weight: Floats | None = None
) -> float:
    """LightGBM's rule for rows that weigh ``unit``, or ``unit`` times ``weight``."""
    if weight is None or not are_copies(weight):
        unit = unit if weight is None else unit * weight
        weight = np.ones(len(unit))
    # Multiples of so small a part of the total have exact sums, whatever the order and
    # however many copies are one row.
    grain = np.ldexp(1.0, np.frexp(losses.weighted_sum(unit, weight))[1] - 50)
    unit = np.rint(unit / grain) * grain
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum((unit * weight)[order])
    threshold = cumulated[-1] * level
    i = min(int(np.searchsorted(cumulated, threshold, side="right")), len(values) - 1)
    row = order[i]
    here = float(values[row])
    if i == 0:
        return here
    # How far the threshold lies into the row's copies.
    inside = threshold - cumulated[i - 1]
    is_last_copy = i == len(values) - 1 and weight[row] <= 1.0
    if is_last_copy or inside >= unit[row]:
        return here
    before = float(values[order[i - 1]])
    if unit[row] < 1.0:
        return before
    return before + float(inside / unit[row]) * (here - before)


def _percentile_of_copies(ordered: Floats, n_up_to: Floats, level: float) -> float:
    """Percentile of sorted values; ``n_up_to``: numbers of copies, cumulated."""
    n = int(n_up_to[-1])
    rank, part = _rank_from_top(n, level)
    places = np.array([max(n - 2 - rank, 0), n - 1 - rank], dtype=np.float64)
    at = np.searchsorted(n_up_to, places, side="right")
    below, above = ordered[np.minimum(at, len(ordered) - 1)]
    return float(above - (above - below) * part)
