"""Single options, checked: of Datasets, data files and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from skgoss.parameters.aliases import (
    OPTION,
    canonical,
    check_available,
    group_by_option,
    preferred,
    warn_no_effect,
)
from skgoss.parameters.descriptions import PREDICTION
from skgoss.parameters.other_libraries import OF_PREDICTIONS, OF_REFIT
from skgoss.parameters.settings import derived_seeds, draw_seed
from skgoss.parameters.table import FILE_OPTIONS
from skgoss.utils.messages import hint


def checked_value(name: str, value: Any, owner: str) -> Any:
    """Return the value of an option as a plain Python object: see `Option.checked`."""
    return OPTION[name].checked(value, owner)


def checked_options(
    values: Mapping[str, Any], names: Iterable[str], owner: str
) -> dict[str, Any]:
    """Return the checked values of the options with these canonical names.

    Options that are absent have their defaults. Seeds that are None are derived from
    ``random_state``. ValueError if a value is outside its domain.
    """
    options = canonical(values, owner)

    def checked(name: str) -> Any:
        option = OPTION[name]
        return option.checked(options.get(name, option.default), owner)

    seeds = derived_seeds(draw_seed(checked("random_state")))
    values = {name: checked(name) for name in names}
    return {name: seeds.get(name) if v is None else v for name, v in values.items()}


def file_options(
    values: Mapping[str, Any], owner: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate the options of data files, checked and by canonical names, from others.

    ValueError if a value is outside its domain, or a parser is asked for.
    """
    check_available(values, owner)
    of_files, others = {}, {n: v for n, v in values.items() if v is not None}
    for option in FILE_OPTIONS:
        passed = {n: others.pop(n) for n in option.precedence if n in others}
        if passed:
            value = preferred(option, passed, owner)
            of_files[option.name] = option.checked(value, owner)
    return of_files, others


# How messages begin that are about other arguments of a method, by its name; what to do
# instead; and the arguments that may be meant.
_ROUNDS = OPTION["n_estimators"].names
_METHODS = {
    "predict": (
        "Predictions of {} have",
        OF_PREDICTIONS | dict.fromkeys(_ROUNDS, " Did you mean 'num_iteration'?"),
        PREDICTION,
    ),
    "refit": (
        "{}.refit has",
        OF_REFIT | dict.fromkeys(_ROUNDS, " To add trees, use init_model of train."),
        ("decay_rate", "group", "init_score", "weight"),
    ),
}


def n_jobs(
    kwargs: Mapping[str, Any], default: Any, owner: str, method: str = "predict"
) -> int | None:
    """Return the option ``n_jobs`` from the ``**kwargs`` of a prediction or a refit.

    Other options have no effect on them. Unknown names give a warning.
    """
    option, (subject, instead, arguments) = OPTION["n_jobs"], _METHODS[method]
    if not kwargs:
        return option.checked(default, owner)
    by_option, unknown = group_by_option(kwargs)
    for name in [*unknown, *by_option.get("n_estimators", ())]:
        warn_no_effect(
            f"{subject.format(owner)} no argument {name!r}",
            instead.get(name) or hint(name, [*arguments, *option.precedence]),
        )
    values = by_option.get("n_jobs", {"n_jobs": default})
    return option.checked(preferred(option, values, owner), owner)
