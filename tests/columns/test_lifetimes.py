"""Targets of survival: which columns mean what, and errors that name column and row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skgoss import LGBMRegressor
from skgoss.columns import lifetimes

EVENT, TIME = [True, False, True], [2.0, 3.0, 0.5]
BOUNDS = np.array([[2.0, 2.0], [3.0, np.inf], [0.5, 0.5]])
STRUCTURED = np.array(
    list(zip(EVENT, TIME, strict=True)), dtype=[("dead", bool), ("days", float)]
)


@pytest.mark.parametrize(
    "y",
    [
        STRUCTURED,
        STRUCTURED.view(np.recarray),
        np.column_stack([EVENT, TIME]),
        np.column_stack([EVENT, TIME]).tolist(),
        pd.DataFrame({"dead": EVENT, "days": TIME}),
        pl.DataFrame({"dead": EVENT, "days": TIME}),
        BOUNDS,
        BOUNDS.astype(np.float32),
        pd.DataFrame(BOUNDS, columns=["lower", "upper"]),
    ],
)
def test_the_first_column_tells_which_is_which(y):
    np.testing.assert_array_equal(lifetimes.bounds(y, 3), BOUNDS)


@pytest.mark.parametrize("name", ["lower", "label_lower_bound", "Lower"])
def test_bounds_of_0_and_1_are_known_by_their_name_or_by_what_is_infinite(name):
    bounds = np.array([[0.0, 2.0], [1.0, 4.0], [0.0, 0.5]])
    frame = pd.DataFrame(bounds, columns=[name, "upper"])
    structured = frame.to_records(index=False)
    for y in (frame, pl.DataFrame(frame), structured):
        np.testing.assert_array_equal(lifetimes.bounds(y, 3), bounds)
    events = np.array([[2.0, np.inf], [4.0, 4.0], [0.5, np.inf]])
    np.testing.assert_array_equal(lifetimes.bounds(bounds, 3, "lower"), events)
    bounds[1, 1] = np.inf
    np.testing.assert_array_equal(lifetimes.bounds(bounds, 3), bounds)


def test_intervals_and_strata():
    y = np.array([[0.0, 2.0, 1.0], [1.5, 4.0, 2.0]])
    np.testing.assert_array_equal(lifetimes.bounds(y, 2), y)
    y = np.column_stack([EVENT, TIME, [7, 8, 7]])
    np.testing.assert_array_equal(lifetimes.bounds(y, 3)[:, 2], [7, 8, 7])


def test_times_of_0_come_first():
    y = [[0, 2.0], [1, 0.0], [0, 0.0]]
    expected = [[2.0, np.inf], [0.0, 0.0], [0.0, np.inf]]
    np.testing.assert_array_equal(lifetimes.bounds(y, 3), expected)
    np.testing.assert_array_equal(lifetimes.bounds(expected, 3), expected)


def changed(column, value, row=1, y=None):
    y = np.column_stack([EVENT, TIME]) if y is None else y.copy()
    y[row, column] = value
    return y


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.ones(3), r"y must have two columns and 3 rows.*column_stack\(\[event"),
        (None, "y must have two columns"),
        (np.ones((3, 4)), "y must have two columns"),
        (STRUCTURED[:2], "and 3 rows"),
        (changed(1, 0.0), "column 1 of y must hold times above 0, but row 1 is 0.0"),
        (changed(1, -2.0), "column 1 of y must hold times above 0, but row 1 is -2.0"),
        (changed(1, np.inf), "column 1 of y must hold times above 0, but row 1 is inf"),
        (
            np.ma.array(BOUNDS, mask=[[0, 0], [1, 0], [0, 0]]),
            "column 0 .* row 1 is nan",
        ),
        (changed(1, np.nan), "column 1 of y must hold no missing values.*row 1 is nan"),
        (changed(0, np.nan), "column 0 of y must hold no missing values.*row 1 is nan"),
        (changed(0, 5.0), "column 1 of y must hold times of at least the lower bound"),
        (changed(0, -1.0, y=BOUNDS), "column 0 of y must hold times >= 0, but row 1"),
        (changed(0, np.inf, y=BOUNDS), "column 0 of y must hold times >= 0"),
        (changed(1, 2.5, y=BOUNDS), "lower bound. Events are 0 or 1, and come first"),
        (changed(slice(0, 2), 0.0, y=BOUNDS), "column 1 of y must hold times above 0"),
        (
            pd.DataFrame({"status": ["dead", "alive", "dead"], "days": TIME}),
            r"column 'status' of y must say by True or 1 that the event was seen.*holds"
            r" 'dead', 'alive'\. Compare it with the value that means the event",
        ),
        (
            np.array([("yes", 1.0)] * 3, dtype=[("dead", "U3"), ("days", float)]),
            "field 'dead' of y must say by True or 1 .* holds 'yes'",
        ),
    ],
)
def test_errors_name_the_column_and_the_row(y, words):
    with pytest.raises(ValueError, match=words):
        lifetimes.bounds(y, 3, from_0=False)


@pytest.mark.parametrize("codes", [[1, 2, 1], [0, 1, 2], [2, 2, 2]])
@pytest.mark.parametrize("strata", [[], [[7, 8, 7]]])
def test_codes_of_events_are_not_taken_for_bounds(codes, strata):
    """1 and 2 in R's survival; 2 is often a competing event."""
    y = np.column_stack([codes, [3.0, 4.0, 5.0], *strata])
    with pytest.raises(
        ValueError, match=r"column 0 of y holds only .*status == code, tim"
    ):
        lifetimes.bounds(y, 3)
    # Each way that the message names.
    lives = lifetimes.bounds(np.column_stack([y[:, 0] == 2, y[:, 1:]]), 3)
    np.testing.assert_array_equal(lives[:, 0], y[:, 1])
    frame = pd.DataFrame(y).rename(columns={0: "lower"}).rename(columns=str)
    np.testing.assert_array_equal(lifetimes.bounds(frame, 3), y)
    y[2, 1] = np.inf
    np.testing.assert_array_equal(lifetimes.bounds(y, 3), y)


@pytest.mark.parametrize("code", [1, 2])
@pytest.mark.parametrize("form", [list, pd.DataFrame, pl.DataFrame])
def test_times_before_events_are_not_taken_for_bounds(code, form):
    """Each row has its event, and no time is above its code."""
    time, event = [0.2, 0.7, 1.0], [code] * 3
    y = form({"time": time, "event": event})
    if form is list:
        y = np.column_stack([time, event]).tolist()
    message = rf"y holds only {code}, which may be .* Events come first.*status == code"
    with pytest.raises(ValueError, match=message):
        lifetimes.bounds(y, 3)
    y = np.column_stack([time, event])
    lives = lifetimes.bounds(np.column_stack([y[:, 1] == code, y[:, 0]]), 3)
    np.testing.assert_array_equal(lives, np.column_stack([time, time]))
    frame = pd.DataFrame({"lower": time, "upper": event})
    np.testing.assert_array_equal(lifetimes.bounds(frame, 3), y)


@pytest.mark.parametrize(
    ("y", "objective", "words"),
    [
        ([[0, 1.0], [0, 2.0], [0, 3.0]], "cox", "y has no event"),
        ([[0, 1.0], [0, 2.0], [1, 3.0]], "cox", "known to outlive .* row 2 at 3"),
        ([[0, 2.0], [1, 3.0], [1, 3.0]], "cox", "known to outlive .* row 1 at 3"),
        ([[1, 3.0], [1, 3.0], [1, 3.0]], "cox", "known to outlive .* row 0 at 3"),
        ([[1, 3, 1], [0, 2, 1], [1, 3, 2], [0, 1, 2]], "cox", r"at 3, in any stratum"),
        ([[1, 1, 5], [1, 2, 5], [1, 3, 6]], "cox", "stratum 6 of y has row 2 only"),
        ([[2, 2], [3, 4], [1, 1]], "cox_efron", "row 1 of y lies between 3 and 4"),
        ([[3, 3], [0, 4], [1, 1]], "cox", "row 1 of y lies between 0 and 4.*'aft_n"),
        ([[2, 2, 1], [3, 4, 1], [5, 5, 1]], "aft_normal", "Only 'cox' has strata"),
    ],
)
def test_what_objectives_cannot_learn_from(y, objective, words):
    bounds = lifetimes.bounds(np.array(y, dtype=float), len(y))
    with pytest.raises(ValueError, match=words):
        lifetimes.check(bounds, None, objective, "y", is_training=True)


def test_rows_that_are_censored_with_the_last_event_tell_something():
    y = np.array([[1, 3.0], [0, 3.0], [0, 1.0]])
    bounds = lifetimes.bounds(y, 3)
    lifetimes.check(bounds, None, "cox", "y", is_training=True)
    # The event of the row whose x is 1 has two rows at risk, so its risk is the larger.
    rows = np.tile(y, (40, 1))
    X = np.tile([[1.0], [0.0], [0.0]], (40, 1))
    model = LGBMRegressor(objective="cox", n_estimators=3).fit(X, rows)
    assert model.predict([[1.0]]) > model.predict([[0.0]])


def test_rows_of_weight_0_and_evaluation_sets_need_not_be_learned():
    y = lifetimes.bounds(np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 0.5]]), 3)
    lifetimes.check(y, None, "cox", "y", is_training=True)
    with pytest.raises(ValueError, match="y has no event"):
        lifetimes.check(y, np.array([0.0, 1.0, 0.0]), "cox", "y", is_training=True)
    lifetimes.check(y[1:2], None, "cox", "y", is_training=False)
    y[0] = 1.0, 7.0
    lifetimes.check(y, np.array([0.0, 1.0, 1.0]), "cox", "y", is_training=True)
