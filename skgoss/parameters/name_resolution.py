"""Options by any of their names: aliases, and advice for unknown names.

The canonical name of an option is the one in the signature of estimators. Its other
names are aliases, which the rows of `table` list.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from skgoss.parameters import other_libraries
from skgoss.parameters.domains import NUMBERS, Option
from skgoss.parameters.other_libraries import NOT_AVAILABLE, REFUSED, WITHOUT_EFFECT
from skgoss.parameters.table import OPTIONS
from skgoss.utils import messages, thread_counts
from skgoss.utils.messages import warn_unused

OPTION = {option.name: option for option in OPTIONS}
CANONICAL_NAME = {name: option.name for option in OPTIONS for name in option.names}
_WITHOUT_EFFECT = {name for names in WITHOUT_EFFECT.values() for name in names}
_WHY_NOT = {name: why for why, names in NOT_AVAILABLE.items() for name in names}


def all_names(name: str) -> tuple[str, ...]:
    """All names of the option with this name; the name itself if it is unknown."""
    canonical = CANONICAL_NAME.get(name)
    return (name,) if canonical is None else OPTION[canonical].names


def suggestion(name: str) -> str:
    """The sentence " Did you mean ...?" for a misspelled name; "" if none is close.

    The canonical name of an option is preferred to its aliases if it is close, too. For
    an option of LightGBM, the reason why it does not exist here. For one of another
    library, what to use.
    """
    if name in _WHY_NOT:
        return f" {_WHY_NOT[name]}"
    if name in other_libraries.FIT_HINTS:
        return other_libraries.FIT_HINTS[name]
    # Below this likeness, any name of another library is like one of the options.
    near = messages.closest(name, CANONICAL_NAME, n=5, likeness=0.7)
    canonical = [CANONICAL_NAME[other] for other in near[:1]]
    return messages.did_you_mean([n for n in canonical if n in near] or near)


def same(first: Any, second: Any) -> bool:
    """Whether two values are the same object, or equal."""
    return first is second or bool(np.array_equal(first, second))


def canonical(
    values: Mapping[str, Any],
    owner: str,
    keep: Collection[str] = (),
    last: Collection[str] = (),
) -> dict[str, Any]:
    """The ``values`` of options with canonical names in place of aliases.

    ``owner`` is the estimator or function that messages name. Unknown names are
    kept, also those in ``keep`` that are aliases: a subclass has parameters of these
    names. LightGBM's options that do nothing here are left out: see `_is_off`.
    Warns if several names of an option have different values, and chooses one: see
    `preferred`. For options in ``last``, any alias is chosen over the canonical name.
    """
    by_name: dict[str, dict[str, Any]] = {}
    for passed_name, value in values.items():
        if passed_name in keep or not _is_off(passed_name, value):
            name = passed_name
            if passed_name not in keep:
                name = CANONICAL_NAME.get(passed_name, passed_name)
            by_name.setdefault(name, {})[passed_name] = value
    return {
        name: next(iter(passed.values()))
        if len(passed) == 1
        else preferred(OPTION[name], passed, owner, name if name in last else None)
        for name, passed in by_name.items()
    }


def resolve(
    values: Mapping[str, Any], owner: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate the options, by canonical names, from unknown names.

    Numbers may be strings; None means that the option is not passed. TypeError if a
    name is not a str. Warns if several names of an option have different values: see
    `preferred`.
    """
    invalid = [name for name in values if not isinstance(name, str)]
    if invalid:
        raise TypeError(f"The parameters of {owner} have names, got {invalid[0]!r}.")
    passed = {name: value for name, value in values.items() if value is not None}
    by_option, unknown = group_by_option(passed)
    options = {}
    for name, by_alias in by_option.items():
        option = OPTION[name]
        parsed = {alias: option.domain.parse(v) for alias, v in by_alias.items()}
        options[name] = preferred(option, parsed, owner)
    return options, unknown


def resolve_or_warn(values: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return the options by canonical names: see `resolve`. Warn of unknown names."""
    options, unknown = resolve(values, owner)
    for name in unknown:
        warn_no_effect(f"{owner} has no parameter {name!r}", suggestion(name))
    return options


def names_used(values: Mapping[str, Any]) -> dict[str, str]:
    """The name by which each option was passed, by its canonical name.

    Of several names, it is the first in the order of precedence.
    """
    by_option, _ = group_by_option(values)
    return {
        name: min(by_alias, key=OPTION[name].precedence.index)
        for name, by_alias in by_option.items()
    }


def updated(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` with ``changes``; an option may have different names in both.

    An option in ``changes`` replaces all names of this option in ``values``. If it is
    None, it is not passed, and changes nothing.
    """
    passed = {name: value for name, value in changes.items() if value is not None}
    changed = {CANONICAL_NAME.get(name, name) for name in passed}
    kept = {n: v for n, v in values.items() if CANONICAL_NAME.get(n, n) not in changed}
    return kept | passed


def group_by_option(
    values: Mapping[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Group values by options, and separate those of unknown names.

    The first result has, by canonical names, a dict of values by the names that were
    passed: ``{"reg_lambda": {"lambda_l2": 1.0}}``. The second has unknown names, except
    those of LightGBM's options that do nothing here: see `_is_off`.
    """
    by_option: dict[str, dict[str, Any]] = {}
    unknown: dict[str, Any] = {}
    for name, value in values.items():
        if name in CANONICAL_NAME:
            by_option.setdefault(CANONICAL_NAME[name], {})[name] = value
        elif not _is_off(name, value):
            unknown[name] = value
    return by_option, unknown


def _is_off(name: str, value: Any) -> bool:
    """Whether an option of LightGBM that does not exist here may be left out.

    So it is if it never changes trees. Options with costs of columns are left out if
    all costs are 0 or none is passed.
    """
    if name == "cegb_tradeoff" or name in _WITHOUT_EFFECT:
        return True
    if name not in _WHY_NOT or NUMBERS.is_absent(value):
        return name in _WHY_NOT
    costs = NUMBERS.convert(value)
    return costs is not NotImplemented and not any(costs)


def preferred(
    option: Option, values: Mapping[str, Any], owner: str, last: str | None = None
) -> Any:
    """Return the value to use if several names of an option are passed.

    ``values`` are those of ``option`` by the passed names. It is the first in
    LightGBM's order of precedence, where the name ``last`` comes after all others; for
    ``n_jobs``, the smallest number of threads. Warns in the name of ``owner`` if the
    values differ.
    """
    names = sorted(values, key=lambda n: (n == last, option.precedence.index(n)))
    valid = all(option.domain.convert(values[n]) is not NotImplemented for n in names)
    if option.name == "n_jobs" and valid:
        names.sort(key=lambda name: thread_counts.n_threads(values[name]))
    used = values[names[0]]
    if not all(same(used, values[name]) for name in names):
        listed = ", ".join(f"{name}={values[name]!r}" for name in names)
        warn_unused(
            f"{owner} got different values for one parameter: {listed}."
            f" {names[0]}={used!r} is used."
        )
    return used


def check_available(values: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if an option is passed that must not be ignored.

    A GPU as the device is ignored with a warning. ``values`` are all that the user has
    passed, by name, and ``owner`` is the class or function in messages.
    """
    for name in REFUSED:
        if values.get(name):
            raise ValueError(
                f"The {name!r} parameter of {owner} is not available. {_WHY_NOT[name]}"
            )
    for name in ("device", "device_type", "task_type"):
        if str(values.get(name)).lower() in ("gpu", "cuda"):
            warn_no_effect(f"{name}={values[name]!r} of {owner}", " Fits run on CPUs.")


def warn_no_effect(problem: str, advice: str) -> None:
    """Warn that a name that is not an option has no effect."""
    warn_unused(f"{problem}: it has no effect.{advice}")
