"""Lifetimes: targets of survival analysis, as bounds of the time of an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import targets
from skgoss.columns.floats import as_floats
from skgoss.utils.messages import one_line

Floats = NDArray[np.float64]

_EVENTS = (0.0, 1.0)
# Codes of events: R's survival also uses 1 and 2, and competing events are coded by 2.
_CODES = (*_EVENTS, 2.0)


@dataclass(frozen=True, eq=False)
class Lifetimes:
    """The two or three columns of a target with lifetimes."""

    # Either whether the event was observed, and the time of the event or of censoring;
    # or the lower and the upper bound of the event time. Then the number of a stratum.
    columns: list[Floats]
    names: list[str]  # what messages call the columns
    are_bounds: bool | None  # None: a column may hold bounds or codes of events

    def bounds(self, *, from_0: bool) -> Floats:
        """The bounds of each row's event time, and its stratum.

        Returns an array of shape (n_rows, 2) or (n_rows, 3). Both bounds are equal if
        the time is known; the upper bound is infinite if the row is right-censored.
        ValueError if values are neither events and times nor bounds. Times must be
        above 0, or at least 0 if ``from_0``.
        """
        (first, second, *strata), names = self.columns, self.names
        what = "times >= 0" if from_0 else "times above 0"
        has_codes = self.are_bounds is not False and np.isin(second, _CODES).all()
        if has_codes and not (second >= first).all():
            raise _swapped(*names[:2])
        if self.are_bounds is None:
            raise _unclear(first, second, names)
        if self.are_bounds:
            advice = " of at least the lower bound. Events are 0 or 1, and come first"
            _check(np.isfinite(first) & (first >= 0), first, names[0], "times >= 0")
            _check(second >= first, second, names[1], f"times{advice}")
            _check(from_0 | (second > 0), second, names[1], what)
            return np.column_stack([first, second, *strata])
        _check(np.isin(first, _EVENTS), first, names[0], "events, 0 or 1")
        is_time = (second > 0) | (from_0 & (second == 0))
        _check(np.isfinite(second) & is_time, second, names[1], what)
        upper = np.where(first == 1.0, second, np.inf)
        return np.column_stack([second, upper, *strata])


def read(
    y: Any, n_rows: int, name: str = "y", are_bounds: bool | None = None
) -> Lifetimes:
    """The lifetimes in a structured array, data frame, array or list.

    If ``are_bounds`` is None, the first of the two or three columns decides:

    - it has lower bounds if 'lower' is in its name, or if an upper bound is infinite;
    - otherwise, it has events if it holds only 0 and 1;
    - otherwise, it has lower bounds. But if the first or the second column holds only
      the numbers 0 to 2, these may be codes of events, and the question stays open.

    ValueError if there are not two or three columns, or values are missing or strings.
    """
    several = targets.several_columns(y, None, name)
    columns, names = ([], []) if several is None else several[:2]
    if len(columns) not in (2, 3) or len(columns[0]) != n_rows:
        raise ValueError(
            f"{name} must have two columns and {n_rows} rows: whether the event was"
            " seen, and when, numpy.column_stack([event, time]); or the lower and the"
            " upper bound of its time. A third column may hold numbers of strata."
        )
    first = _events(columns[0], names[0])
    numbers = [first, *map(_numbers, columns[1:], names[1:])]
    if are_bounds is None:
        is_named = "lower" in names[0].removesuffix(name).lower()
        are_bounds = is_named or _are_bounds(*numbers[:2])
    return Lifetimes(numbers, names, are_bounds)


def _are_bounds(first: Floats, second: Floats) -> bool | None:
    """Whether two columns are bounds, by their values; None: it is not clear.

    ``first`` and ``second`` are the columns in their order: see `read`.
    """
    if np.isinf(second).any() and (second >= first).all():
        return True
    if np.isin(first, _EVENTS).all():
        return False
    may_be_codes = np.isin(first, _CODES).all() or np.isin(second, _CODES).all()
    return None if may_be_codes else True


def bounds(y: Any, n_rows: int, name: str = "y", *, from_0: bool = True) -> Floats:
    """The bounds of the event times in a target of any form."""
    return read(y, n_rows, name).bounds(from_0=from_0)


def uses_order_only(objective: str) -> bool:
    """Whether only the order of events counts for an objective, as for Cox's."""
    return objective.startswith("cox")


def _unclear(first: Floats, second: Floats, names: list[str]) -> ValueError:
    """The error for columns that may hold bounds or codes of events.

    ``names`` are those of the two columns in messages.
    """
    name, values, bounds = names[1], second, "upper bounds"
    advice = "Events come first, before times"
    if np.isin(first, _CODES).all():
        name, values, bounds = names[0], first, "lower bounds"
        advice = "Compare codes with the one that means the event"
    found = ", ".join(f"{value:g}" for value in np.unique(values))
    return ValueError(
        f"{name} holds only {found}, which may be codes of events or {bounds} of times."
        f" {advice}: numpy.column_stack([status == code, time]). For bounds, write"
        " 'lower' into the name of the first column, as in pandas.DataFrame({'lower':"
        " lower, 'upper': upper}), or numpy.inf as the upper bound where the event was"
        " not seen."
    )


def _swapped(first: str, second: str) -> ValueError:
    """The error for events after times; ``first`` and ``second`` are their names."""
    return ValueError(
        f"{second} holds only codes of events, which come first, before the times of"
        f" {first}. Pass y[['event', 'time']] of a data frame with columns of these"
        " names, or numpy.column_stack([event, time])."
    )


def _events(values: NDArray[Any], name: str) -> Floats:
    """Events, or lower bounds of event times; ValueError if they are text."""
    try:
        return _numbers(values, name)
    except ValueError as error:
        texts = dict.fromkeys(v for v in values.tolist() if isinstance(v, str))
        if not texts:
            raise
        found = one_line(", ".join(map(repr, texts)), 60)
        raise ValueError(
            f"{name} must say by True or 1 that the event was seen, and by False or 0"
            f" that it was not, but holds {found}. Compare it with the value that means"
            " the event: numpy.column_stack([status == value, time])."
        ) from error


def _numbers(values: NDArray[Any], name: str) -> Floats:
    """Values as floats; ValueError if one is missing or text."""
    numbers = as_floats(values, name)
    _check(~np.isnan(numbers), numbers, name, "no missing values: leave out such rows")
    return numbers


def _check(fits: NDArray[np.bool_], values: Floats, name: str, wanted: str) -> None:
    """Raise ValueError with the first row that does not fit."""
    if not fits.all():
        row = int(np.argmin(fits))
        raise ValueError(f"{name} must hold {wanted}, but row {row} is {values[row]}.")


def check_events(bounds: Floats, weight: Floats | None, has: str = "") -> None:
    """Raise ValueError if no row of positive weight has an observed event."""
    counts = True if weight is None else weight > 0
    if not (np.isfinite(bounds[:, 1]) & counts).any():
        raise ValueError(f"{has}no event, so there is nothing to learn from it.")


def check(
    bounds: Floats, weight: Floats | None, objective: str, name: str, is_training: bool
) -> None:
    """Raise ValueError unless the bounds of rows suit an objective.

    Rows of weight 0 are ignored. Those of a training set must have something to learn.
    """
    counts = np.arange(len(bounds)) if weight is None else np.flatnonzero(weight > 0)
    lower, upper, *strata = bounds[counts].T
    if uses_order_only(objective):
        fits = (upper == lower) | np.isinf(upper)
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
    if not uses_order_only(objective):
        return
    stratum = strata[0] if strata else np.zeros(len(lower))
    _, number, size = np.unique(stratum, return_inverse=True, return_counts=True)
    if strata and size.min() == 1:
        row = counts[np.argmin(size[number])]
        raise ValueError(
            f"The stratum {bounds[row, 2]:g} of {name} has row {row} only: join it with"
            " another."
        )
    # A row that is censored at the time of an event has outlived it.
    after = np.where(np.isinf(upper), np.nextafter(lower, np.inf), lower)
    last = np.zeros(len(size))
    np.maximum.at(last, number, after)
    # An event carries information only if another row outlives it.
    if not (upper < last[number]).any():
        row = counts[np.argmin(upper)]
        raise ValueError(
            f"{name} has nothing to learn from: no row is known to outlive one with an"
            f" event, such as row {row} at {bounds[row, 0]:g}"
            f"{', in any stratum' if strata else ''}."
        )
