"""Weighted means and percentiles: start scores, and values of renewed leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum
from skgoss.columns.collectives import ALONE, Collectives

Floats = NDArray[np.float64]


def weighted_mean(
    values: Floats, weight: Floats | None, collectives: Collectives = ALONE
) -> float:
    """Mean of ``values``, (n,), with ``weight``, (n,) or None for equal weights.

    It is the mean over the rows of all processes.
    """
    if weight is None:
        total = float(collectives.total(len(values)))
    else:
        total = exact_sum.weighted_sum(weight, collectives=collectives)
    return exact_sum.weighted_sum(values, weight, collectives) / total


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
        None: linear interpolation between order statistics (NumPy's default). Whole
        numbers are numbers of copies: the result is that of the copies. Other weights
        follow LightGBM's rule: in the sorted values, take the first whose cumulated
        weight exceeds ``level`` of the total, and the value before it. If the first of
        these weighs at least 1, interpolate between the two; else the result is the
        value before. Rows of weight 0 are left out.
    unit : (n,) float64 or None
        The weight of one copy of each row, multiplied by ``weight``. LightGBM's rule is
        then applied to the copies. None means 1.

    Returns
    -------
    float
        0.0 if there are no rows.
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
    rank, part = rank_from_top(n, level)
    if rank + 1 >= n:
        return float(values.min()) + 0.0
    below, above = np.partition(values, (n - 2 - rank, n - 1 - rank))[
        n - 2 - rank : n - rank
    ]
    return between(below, above, part)


def between(below: float, above: float, part: float) -> float:
    """The number at a distance from ``above``, given as a share of the gap."""
    # The sign of a zero would depend on the order of equal values.
    return float(above - (above - below) * part) + 0.0


def rank_from_top(n: int, level: float) -> tuple[int, float]:
    """The rank of the order statistic above a percentile, and the distance below it.

    The largest value has rank 0. The distance is a share of the gap to the next value.
    """
    # Counting from the top gives the rounding of LightGBM's interpolation.
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
    grain = grain_of(exact_sum.weighted_sum(unit, weight))
    unit = np.rint(unit / grain) * grain
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum((unit * weight)[order])
    threshold = cumulated[-1] * level
    i = min(int(np.searchsorted(cumulated, threshold, side="right")), len(values) - 1)
    row = order[i]
    return at_threshold(
        here=float(values[row]),
        previous=None if i == 0 else float(values[order[i - 1]]),
        inside=threshold - (cumulated[i - 1] if i else 0.0),
        unit=unit[row],
        is_last_copy=i == len(values) - 1 and weight[row] <= 1.0,
    )


def grain_of(total: float) -> float:
    """A small part of the weight of all rows.

    Its multiples have exact sums, in any order and for any number of copies in a row.
    """
    return float(np.ldexp(1.0, max(np.frexp(total)[1] - 50, -1074)))


def at_threshold(
    *,
    here: float,
    previous: float | None,
    inside: float,
    unit: float,
    is_last_copy: bool,
) -> float:
    """The percentile at the row that the threshold lies in.

    Parameters
    ----------
    here : float
        The value of the row.
    previous : float or None
        That of the row before it; None if there is none.
    inside : float
        The distance of the threshold from the first of the row's copies.
    unit : float
        The weight of a copy.
    is_last_copy : bool
        Whether the row is the last, and one copy.
    """
    if previous is None or is_last_copy or inside >= unit:
        return here + 0.0
    if unit < 1.0:
        return previous + 0.0
    return previous + float(inside / unit) * (here - previous) + 0.0


def _percentile_of_copies(ordered: Floats, n_up_to: Floats, level: float) -> float:
    """Percentile of sorted values; ``n_up_to``: numbers of copies, cumulated."""
    n = int(n_up_to[-1])
    rank, part = rank_from_top(n, level)
    places = np.array([max(n - 2 - rank, 0), n - 1 - rank], dtype=np.float64)
    at = np.searchsorted(n_up_to, places, side="right")
    below, above = ordered[np.minimum(at, len(ordered) - 1)]
    return between(below, above, part)
