"""Checks of single options: of Datasets, data files and predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from skgoss.parameters.name_resolution import (
    OPTION,
    canonical,
    check_available,
    group_by_option,
    preferred,
    warn_no_effect,
)
from skgoss.parameters.other_libraries import (
    COVERAGE_HINTS,
    PREDICTION_HINTS,
    REFIT_HINTS,
)
from skgoss.parameters.settings import derived_seeds, draw_seed
from skgoss.parameters.table import FILE_OPTIONS
from skgoss.utils.messages import by_name, hint


def checked_value(name: str, value: Any, owner: str) -> Any:
    """Return the value of an option as a plain Python object: see `Option.checked`."""
    return OPTION[name].checked(value, owner)


def checked_options(
    values: Mapping[str, Any], names: Iterable[str], owner: str
) -> dict[str, Any]:
    """Return the checked values of the options with these canonical names.

    Options that are absent have their defaults. Seeds that are None are derived from
    ``random_state``. ValueError if a value is outside its domain. ``owner`` is the
    class or function in messages.
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
    """Separate the options of data files from all other options.

    ``values`` are by name or alias, and ``owner`` is the class or function in messages.
    The options of files, which come first, are checked, and have their canonical names.
    ValueError if a value is outside its domain, or if ``parser_config_file`` is set.
    """
    check_available(values, owner)
    file_values, remaining = {}, {n: v for n, v in values.items() if v is not None}
    for option in FILE_OPTIONS:
        passed = {n: remaining.pop(n) for n in option.precedence if n in remaining}
        if passed:
            value = preferred(option, passed, owner)
            file_values[option.name] = option.checked(value, owner)
    return file_values, remaining


# All arguments of methods that predict, except the rows. Passing one to a method that
# does not have it is an error, with this advice.
ARGUMENTS = by_name(
    {
        "It belongs to predict.": (
            "raw_score pred_leaf pred_contrib pred_interactions to_parquet"
            " validate_features data_has_header"
        ),
        "Intervals and sets are calibrated for all rounds of the model.": (
            "start_iteration num_iteration"
        ),
        "Use predict_interval(X, coverage=0.9).": "coverage",
        "It belongs to predict_interval.": "method",
        "It belongs to predict_quantile.": "q",
        "It belongs to predict_survival_function.": "times",
        "It belongs to predict_quantile and predict_survival_function.": "strata",
        "It belongs to explain.": "interactions include_computed",
    }
)
_ROUNDS = OPTION["n_estimators"].names
# Advice by the name of an argument: of those that are an error in a method, and of
# those that have no effect.
_Advice = tuple[dict[str, str], dict[str, str]]
_PREDICTION_ADVICE: _Advice = (
    ARGUMENTS,
    PREDICTION_HINTS | dict.fromkeys(_ROUNDS, " Did you mean 'num_iteration'?"),
)
_COVERAGE_ADVICE: _Advice = (
    ARGUMENTS | COVERAGE_HINTS | dict.fromkeys(_ROUNDS, ARGUMENTS["num_iteration"]),
    PREDICTION_HINTS,
)
_REFIT_ADVICE: _Advice = (
    {},
    REFIT_HINTS | dict.fromkeys(_ROUNDS, " To add trees, use init_model of train."),
)
_ADVICE = {
    "predict_interval": _COVERAGE_ADVICE,
    "predict_set": _COVERAGE_ADVICE,
    "refit": _REFIT_ADVICE,
}


def n_jobs(
    kwargs: Mapping[str, Any],
    default: Any,
    owner: str,
    method: Callable[..., Any] | None = None,
) -> int | None:
    """Return the option ``n_jobs`` from the ``**kwargs`` of a method that predicts.

    It is ``default``, the object's own option, if ``kwargs`` do not have it or
    ``method`` is None: then they are not read. ``method`` is the function of the class,
    as attributes of instances may hide it, and ``owner`` the name of the class. Other
    options have no effect on a prediction or a refit. Arguments that only other methods
    have are an error, and unknown names give a warning.
    """
    option = OPTION["n_jobs"]
    if not kwargs or method is None:
        return option.checked(default, owner)
    name_of_method = f"{owner}.{method.__name__}"
    refused, instead = _ADVICE.get(method.__name__, _PREDICTION_ADVICE)
    for name in kwargs:
        if name in refused:
            raise TypeError(
                f"{name_of_method} has no argument {name!r}. {refused[name]}"
            )
    by_option, unknown = group_by_option(kwargs)
    _, *arguments = inspect.signature(method).parameters
    names = [*arguments, *option.precedence]
    for name in [*unknown, *by_option.get("n_estimators", ())]:
        warn_no_effect(
            f"{name_of_method} has no argument {name!r}",
            instead.get(name) or hint(name, names),
        )
    values = by_option.get("n_jobs", {"n_jobs": default})
    return option.checked(preferred(option, values, owner), owner)
