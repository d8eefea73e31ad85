"""Options that were passed but have no effect with the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from skgoss import parameters
from skgoss.fit.fit_data import FitData
from skgoss.objectives.metrics import METRICS
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.objectives.output_metrics import AnyMetric, names_of
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import warn_unused
from skgoss.utils.public import SITE

Readers = dict[str, list[str]]

# What users of other libraries may mean by the name of an option.
_OFTEN_MEANT = {"alpha": " (the L1 penalty, alpha in XGBoost, is reg_alpha)"}


def _readers(options_of: Iterable[tuple[str, Iterable[str]]]) -> Readers:
    """The names of what reads an option, by option.

    ``options_of`` has the options of each objective, or each metric, by its name.
    """
    found: Readers = {}
    for name, options in options_of:
        for option in options:
            found.setdefault(option, []).append(name)
    return found


# The objectives and metrics that read an option. Others have all options in common.
_OBJECTIVES = _readers((name, spec.options) for name, spec in OBJECTIVES.items())
_METRICS = _readers((name, spec.options) for name, spec in METRICS.items())

# The options that do not always have an effect.
_NEEDS = {option.name: option.needs for option in parameters.OPTIONS if option.needs}
NAMES = frozenset({*_NEEDS, *_OBJECTIVES, *_METRICS})


def needs(option: str) -> Iterator[str]:
    """All that an option needs to have an effect, in words."""
    return _missing(option, None, set(), set())


def known(data: FitData) -> Mapping[str, Any]:
    """The options of a fit, and what else gives options an effect, by name."""
    vocabularies = data.schema.categories.vocabularies.values()
    return vars(data.settings) | {
        "categories": max((len(words.values) for words in vocabularies), default=0),
        "holds rows out": data.fitted is not data.rows,
        "positions": data.rows.position is not None,
        "queries": data.rows.queries is not None,
    }


def _objectives(data: FitData) -> list[str]:
    """The names of the objectives of all outputs, but for functions."""
    objective = data.settings.objective
    each = objective if isinstance(objective, list | tuple) else [objective]
    return [name for name in each if isinstance(name, str)]


def _or(words: str, names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    listed = f"{', '.join(first)} or {last}" if first else last
    return f"{words}={listed}"


def _missing(
    option: str,
    of_fit: Mapping[str, Any] | None,
    objectives: set[str],
    metrics: set[str],
) -> Iterator[str]:
    """What an option needs and the fit does not have, in words; None: no fit."""
    for need in _NEEDS.get(option, ()):
        if of_fit is None or not need.is_met(of_fit):
            yield need.text
    readers = _OBJECTIVES.get(option, []), _METRICS.get(option, [])
    is_read = objectives.intersection(readers[0]) or metrics.intersection(readers[1])
    if not is_read and any(readers):
        yield _or("objective", readers[0]) if readers[0] else _or("metric", readers[1])


def warn_of(asked: Settings, data: FitData, metrics: Sequence[AnyMetric]) -> None:
    """Warn once of all options that a call has changed and that have no effect.

    ``asked`` are the options before a preset has chosen others.
    """
    of_fit, names = known(data), {*_objectives(data)}
    computed = {name for metric in metrics for name in names_of(metric)}
    unused = []
    for name, default in parameters.DEFAULTS.items():
        if (
            name in NAMES
            and name in asked.set_by_call
            and getattr(asked, name) != default
        ):
            missing = list(_missing(name, of_fit, names, computed))
            if missing:
                meant = _OFTEN_MEANT.get(name, "")
                unused.append(f"{name} needs {' and '.join(missing)}{meant}")
    if unused:
        anchor = unused[0].partition(" ")[0].replace("_", "-")
        warn_unused(
            f"Options without effect: {'; '.join(unused)}. See"
            f" {SITE}parameters.html#{anchor}"
        )
