"""Lifetimes: targets of survival analysis, as bounds of the time of an event."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import targets
from skgoss.columns.floats import as_floats

Floats = NDArray[np.float64]


def has_several_columns(y: Any) -> bool:
    """Whether a target is a structured array, or has two dimensions."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    return names is not None or len(getattr(y, "shape", ())) == 2


def bounds(y: Any, n_rows: int | None, name: str = "y") -> Floats:
    """The bounds between which the event of each row happened, and its stratum.

    ``y`` is a structured array, data frame or array of two or three columns. If the
    first column holds only 0 and 1, it tells whether the event was seen, and the second
    one has the time of the event or of the last look. Otherwise they are bounds of the
    time of the event, and also if 'lower' is in the name of the first column or an
    upper bound is infinite. The third column has the number of a stratum.

    Returns an array of shape (n_rows, 2) or (n_rows, 3). Both bounds are equal if the
    time is known; the upper bound is infinite if the event was not seen. ValueError if
    there are no such columns, or values are missing, strings, or no bounds.
    """
    fields = getattr(getattr(y, "dtype", None), "names", None)
    n_rows = len(y) if n_rows is None else n_rows
    if fields:
        names = [f"field {field!r} of {name}" for field in fields]
        columns = [y[field] for field in fields]
    else:
        several = targets.several_columns(y, n_rows, name)
        columns, names = ([], []) if several is None else several
    if len(columns) not in (2, 3) or len(columns[0]) != n_rows:
        raise ValueError(
            f"{name} must have two columns and {n_rows} rows: whether the event was"
            " seen, and when, numpy.column_stack([event, time]); or the lower and the"
            " upper bound of its time. A third column may hold numbers of strata."
        )
    numbers = [_numbers(*column) for column in zip(columns, names, strict=True)]
    lower, upper = numbers[:2]
    is_named = "lower" in names[0].removesuffix(name).lower()
    is_bound = is_named or (np.isinf(upper).any() and (upper >= lower).all())
    if np.isin(lower, (0.0, 1.0)).all() and not is_bound:
        seen, lower = lower == 1.0, upper
        _check(np.isfinite(lower) & (lower > 0), lower, names[1], "times above 0")
        upper = np.where(seen, lower, np.inf)
    else:
        _check(np.isfinite(lower) & (lower >= 0), lower, names[0], "times >= 0")
        advice = " of at least the lower bound. Events are 0 or 1, and come first"
        _check(upper >= lower, upper, names[1], f"times{advice}")
        _check(upper > 0, upper, names[1], "times above 0")
    return np.column_stack([lower, upper, *numbers[2:]])


def _numbers(values: NDArray[Any], name: str) -> Floats:
    try:
        numbers = as_floats(values, name)
    except ValueError as error:
        raise ValueError(
            f"{name} must hold numbers, or True where the event was seen, such as"
            f" status == {values[0]!r}: {error}"
        ) from error
    _check(~np.isnan(numbers), numbers, name, "no missing values: leave out such rows")
    return numbers


def _check(fits: NDArray[np.bool_], values: Floats, name: str, wanted: str) -> None:
    if not fits.all():
        row = int(np.argmin(fits))
        raise ValueError(f"{name} must hold {wanted}, but row {row} is {values[row]}.")


def check_events(bounds: Floats, weight: Floats | None, has: str = "") -> None:
    """Check that the event of a row whose weight is not 0 was seen; else ValueError."""
    counts = True if weight is None else weight > 0
    if not (np.isfinite(bounds[:, 1]) & counts).any():
        raise ValueError(f"{has}no event, so there is nothing to learn from it.")


def check(
    bounds: Floats, weight: Floats | None, objective: str, name: str, is_training: bool
) -> None:
    """Check that bounds fit an objective, which learns from those of a training set.

    Rows of weight 0 need not. Otherwise ValueError.
    """
    counts = np.arange(len(bounds)) if weight is None else np.flatnonzero(weight > 0)
    lower, upper, *strata = bounds[counts].T
    if objective.startswith("cox"):
        fits = (lower > 0) & ((upper == lower) | np.isinf(upper))
        if not fits.all():
            row = counts[np.argmin(fits)]
            raise ValueError(
                f"objective={objective!r} needs times that are known or right-censored,"
                f" but row {row} of {name} lies between {bounds[row, 0]:g} and"
                f" {bounds[row, 1]:g}. Use objective='aft_normal'."
            )
    elif strata:
        raise ValueError(f"Only 'cox' has strata: leave out the last column of {name}.")
    if not is_training:
        return
    check_events(bounds, weight, f"{name} has ")
    if not objective.startswith("cox"):
        return
    stratum = strata[0] if strata else np.zeros(len(lower))
    _, number, size = np.unique(stratum, return_inverse=True, return_counts=True)
    if strata and size.min() == 1:
        row = counts[np.argmin(size[number])]
        raise ValueError(
            f"The stratum {bounds[row, 2]:g} of {name} has row {row} only: join it with"
            " another."
        )
    # Who is censored at the time of an event has outlived it.
    after = np.where(np.isinf(upper), np.nextafter(lower, np.inf), lower)
    last = np.zeros(len(size))
    np.maximum.at(last, number, after)
    # Events of rows that nobody outlives tell nothing.
    if not (upper < last[number]).any():
        raise ValueError(
            f"{name} has nothing to learn from: all other rows are censored before the"
            " first event."
        )
