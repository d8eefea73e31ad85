"""Options that were passed but have no effect beside the others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from skgoss import parameters
from skgoss.fit.arguments import FitArguments
from skgoss.objectives import objectives
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import UnusedParameterWarning, warn


class Need(NamedTuple):
    """What an option needs, in words, and whether a fit has it."""

    words: str
    is_met: Callable[[Settings, FitArguments], bool]


def _loss(*names: str) -> Need:
    """The option belongs to some losses, as objectives or as metrics."""

    def is_met(settings: Settings, arguments: FitArguments) -> bool:
        if settings.metric is not None or arguments.eval_metric is not None:
            return True  # it may be theirs
        objective = settings.objective
        if isinstance(settings.alpha, tuple):
            return True  # an error says where several levels belong
        if isinstance(objective, str):
            return objectives.canonical_name(objective) in names
        return objective is not None

    return Need(f"objective={' or '.join(map(repr, names))}", is_met)


_DART = Need("boosting_type='dart'", lambda s, _: s.boosting_type == "dart")
_GOSS = Need(
    "data_sample_strategy='goss'", lambda s, _: s.data_sample_strategy == "goss"
)
_MONOTONE = Need("monotone_constraints", lambda s, _: bool(s.monotone_constraints))
NEEDS = {
    "alpha": _loss("huber", "quantile", "expectile"),
    "fair_c": _loss("fair"),
    "tweedie_variance_power": _loss("tweedie"),
    "subsample": Need("subsample_freq=1", lambda s, _: s.subsample_freq > 0),
    "top_rate": _GOSS,
    "other_rate": _GOSS,
    "drop_rate": _DART,
    "max_drop": _DART,
    "skip_drop": _DART,
    "linear_lambda": Need("linear_tree=True", lambda s, _: s.linear_tree),
    "monotone_penalty": _MONOTONE,
    "monotone_constraints_method": _MONOTONE,
    "validation_fraction": Need(
        "early_stopping_round",
        lambda s, _: s.preset is not None or bool(s.early_stopping_round),
    ),
}


def warn_of(
    passed: Collection[str], settings: Settings, arguments: FitArguments
) -> None:
    """Warn once of all options that were passed, changed and have no effect."""
    unused = [
        f"{name} needs {need.words}"
        for name, need in NEEDS.items()
        if name in passed
        and getattr(settings, name) != parameters.DEFAULTS[name]
        and not need.is_met(settings, arguments)
    ]
    if unused:
        warn(f"Options without effect: {'; '.join(unused)}.", UnusedParameterWarning)
