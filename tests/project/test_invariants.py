"""What must hold of any fit: a fixed sample of random cases by day, others at night.

`SKGOSS_NIGHT`, a number, chooses the cases of the night. In `tests`,
`python -m helpers.invariants FIRST STOP` tries the cases of other numbers.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers import invariants, random_fits
from helpers.invariants import EXCEPTIONS, INVARIANTS, broken, reason_against
from helpers.random_fits import WITHOUT, Case, Trial
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.parameters.table import OPTIONS
from skgoss.training.boosting_types import BOOSTING_TYPES

BY_DAY = 2  # cases of each objective
AT_NIGHT = 2240
CHUNK = 140
FIRST = AT_NIGHT * int(os.environ.get("SKGOSS_NIGHT", "0"))


def complaints(case: Case) -> list[str]:
    """What does not hold of a case."""
    trial, found = Trial(case), []
    for name in INVARIANTS:
        if reason_against(name, case) is None:
            what = broken(name, trial)
            found += [] if what is None else [f"{name} of {case}: {what}"]
    return found


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_invariants_hold(objective):
    cases = [random_fits.drawn(objective, seed) for seed in range(BY_DAY)]
    assert [what for case in cases for what in complaints(case)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(FIRST, FIRST + AT_NIGHT, CHUNK))
def test_invariants_hold_at_night(first):
    cases = map(random_fits.draw, range(first, first + CHUNK))
    assert [what for case in cases for what in complaints(case)] == []


# --- All that there is has a place ----------------------------------------------------


@pytest.fixture(scope="module")
def cases():
    return [random_fits.draw(number) for number in range(40 * len(OBJECTIVES))]


def test_each_option_is_in_cases_or_has_a_reason(cases):
    found = {name for case in cases for name in case.options}
    for option in OPTIONS:
        assert (option.name in found) != (option.name in WITHOUT), option.name


def test_options_have_other_values_than_their_defaults(cases):
    for option in OPTIONS:
        values = {repr(case.options.get(option.name)) for case in cases}
        is_left_out = option.name in WITHOUT
        assert is_left_out or values - {repr(option.default), "None"}, option.name
    types = {case.options.get("boosting_type") for case in cases}
    assert types >= BOOSTING_TYPES.keys()


def test_each_value_of_the_data_is_in_cases(cases):
    for axis, values in random_fits.DATA.items():
        assert {case.data[axis] for case in cases} == set(values)


def test_each_objective_has_a_loss_or_a_reason():
    has_loss = {*invariants.LOSSES, *invariants.LOSSES_OF_ALL, "multiclassova"}
    for name in OBJECTIVES:
        assert (name in has_loss) != (name in invariants.MAY_RISE), name


def test_each_objective_has_a_unit_or_a_reason():
    for name in OBJECTIVES:
        assert (name in invariants.UNITS) != (name in invariants.WITHOUT_UNIT), name


def test_each_reason_is_needed(cases):
    assert EXCEPTIONS.keys() == INVARIANTS.keys()
    for name, reasons in EXCEPTIONS.items():
        for reason, applies in reasons.items():
            assert any(map(applies, cases)), (name, reason)
        assert sum(reason_against(name, case) is None for case in cases) > 30, name


# --- Mistakes are seen ----------------------------------------------------------------


def first_target(rows: Any, settings: Any) -> float:
    return float(rows.y[0])


def unweighted(rows: Any, settings: Any) -> float:
    return float(np.mean(rows.y))


def first_weight(rows: Any, settings: Any) -> float:
    return 0.0 if rows.weight is None else float(rows.weight[0])


def far_mean(rows: Any, settings: Any) -> float:
    return rows.mean() + 1.0


# What is changed in the row of 'regression', and what sees it.
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "the first row": ({"start": first_target}, "order_of_rows"),
    "no weights": ({"start": unweighted}, "copies"),
    "a unit of weights": ({"start": first_weight}, "units_of_weights"),
    "a unit": ({"start": far_mean}, "units_of_y"),
    "an origin": ({"start": lambda rows, settings: 0.0}, "offsets_of_y"),
    "a sign": ({"start": far_mean}, "signs_of_y"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake, monkeypatch):
    changes, name = MISTAKES[mistake]
    spec = replace(OBJECTIVES["regression"], **changes)
    monkeypatch.setitem(OBJECTIVES, "regression", spec)
    plain = random_fits.drawn("regression", 0)
    case = replace(plain, options={}, data=random_fits.PLAIN)
    assert broken(name, Trial(case)) is not None


def test_steps_that_are_too_long_are_seen(monkeypatch):
    unlimited = replace(OBJECTIVES["poisson"], self_concordance=lambda settings: 0.0)
    monkeypatch.setitem(OBJECTIVES, "poisson", unlimited)
    options = {"learning_rate": 1.0, "poisson_max_delta_step": 1e-3}
    found = []
    for seed in range(10):
        data = {**random_fits.PLAIN, "start": "scores"}
        case = replace(random_fits.drawn("poisson", seed), options=options, data=data)
        found.append(broken("never_rises", Trial(case)))
    assert any(found)
