"""Presets: options that are chosen where the user leaves their defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from skgoss.parameters.settings import Settings

# What a preset does not choose for a boosting type: the rounds of forests do not
# correct each other, and early stopping is not possible with dropout.
_OF_ROUNDS = frozenset({"learning_rate", "n_estimators", "early_stopping_round"})
_NOT_CHOSEN = {"gbdt": frozenset(), "dart": _OF_ROUNDS, "rf": _OF_ROUNDS}

# Options besides those of the preset.
Kinds = tuple[dict[str, Any], ...]

_SAMPLING = frozenset({"subsample", "subsample_freq"})

# The learning rate of the fits that a search compares. They end after this number of
# rounds without improvement, or this share of the best number of rounds if it is more.
_SEARCH_RATE = 0.25
_SEARCH_PATIENCE = 10
_SEARCH_PATIENCE_SHARE = 0.5

# What the rounds of a search are multiplied with, because the last fit has more rows.
_MORE_ROUNDS = 1.15


class Search(NamedTuple):
    """How the number of rounds, and one of several sets of options, is found.

    Each candidate is fitted on some folds with a large learning rate. The one with the
    best mean score is fitted on all rows, with a smaller learning rate and more rounds.

    Attributes
    ----------
    n_folds : int
    options : dict
        The options of the fits on folds.
    patience_share : float
        Early stopping waits for at least this share of the best number of rounds.
    n_rounds_factor : float
        The rounds of the last fit, for each round of the fits on folds.
    n_rounds_without : int
        The rounds of the last fit if there are too few rows for folds.
    candidates : tuple of dict
        Options besides those of the preset.
    """

    n_folds: int
    options: dict[str, Any]
    patience_share: float
    n_rounds_factor: float
    n_rounds_without: int
    candidates: Kinds


# The measurements behind these numbers are in docs/measured-accuracy.md.
_ACCURATE = {
    "extra_trees": False,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_child_samples": 5,
    "colsample_bytree": 0.8,
    "feature_fraction_bynode": 0.6,
    "subsample": 0.8,
    "subsample_freq": 1,
    "reg_lambda": 1.0,
    "cat_l2": 1.0,
    "min_data_per_group": 10,
    "n_estimators": 1000,
    "early_stopping_round": 100,
}
# The mean of several models is as good with larger steps.
_ACCURATE_ON_FOLDS = _ACCURATE | {
    "learning_rate": 0.1,
    "n_estimators": 600,
    "early_stopping_round": 20,
}
# Another kind of trees. Random thresholds regularize, so little else has to.
_RANDOM_THRESHOLDS = {"extra_trees": True, "min_child_samples": 1, "reg_lambda": 0.1}


# Sets of many categories fit noise unless small groups count for less.
_OF_MANY_CATEGORIES = {"cat_smooth": 100.0}
_MANY = 255


class Preset(NamedTuple):
    """What a preset chooses for one model, and for the models of folds."""

    alone: dict[str, Any]
    on_folds: dict[str, Any]


_PRESETS = {"accurate": Preset(_ACCURATE, _ACCURATE_ON_FOLDS)}


def chosen(
    settings: Settings, passed: Collection[str], most_categories: int
) -> dict[str, Any]:
    """The options that the preset chooses, by name; empty without a preset.

    Those that the user has ``passed`` stay. ``most_categories`` is the largest number
    of categories of a column.
    """
    if settings.preset is None:
        return {}
    left = _NOT_CHOSEN[settings.boosting_type].union(passed)
    if settings.data_sample_strategy == "goss":
        left |= _SAMPLING
    if settings.linear_tree:
        # Lines through few rows leave their range steeply.
        left |= {"min_child_samples"}
    preset = _PRESETS[settings.preset]
    values = preset.alone if settings.folds is None else preset.on_folds
    if most_categories > _MANY:
        values = values | _OF_MANY_CATEGORIES
    return {name: value for name, value in values.items() if name not in left}


def kinds(settings: Settings, chosen: Mapping[str, Any]) -> Kinds:
    """The sets of options of which the models of folds are a weighted mean.

    ``chosen`` is what the preset has chosen; empty without a preset.
    """
    # Functions have no loss to compare them by.
    if "extra_trees" not in chosen or callable(settings.objective):
        return ({},)
    other = {name: v for name, v in _RANDOM_THRESHOLDS.items() if name in chosen}
    return {}, other


def shares(
    settings: Settings, kinds: Kinds, weights: Sequence[float]
) -> dict[str, Any]:
    """The share of each value of the options in which several sets differ."""
    names = dict.fromkeys(name for options in kinds for name in options)
    shares: dict[str, Any] = {name: {} for name in names}
    for options, weight in zip(kinds, weights, strict=True):
        for name, by_value in shares.items():
            value = str(options.get(name, getattr(settings, name)))
            by_value[value] = by_value.get(value, 0.0) + weight / sum(weights)
    return shares


def search(settings: Settings, chosen: Mapping[str, Any]) -> Search | None:
    """How the number of rounds is found.

    Parameters
    ----------
    settings : Settings
        With the chosen options.
    chosen : mapping
        What the preset has chosen.

    Returns
    -------
    Search or None
        None if the user has said it, or folds find it.
    """
    is_open = {"n_estimators", "early_stopping_round"} <= chosen.keys()
    if settings.folds is not None or not is_open:
        return None
    rate = max(_SEARCH_RATE, settings.learning_rate)
    factor = rate / settings.learning_rate
    options = {
        "learning_rate": rate,
        "n_estimators": max(1, round(settings.n_estimators / factor)),
        "early_stopping_round": _SEARCH_PATIENCE,
    }
    return Search(
        3,
        options,
        _SEARCH_PATIENCE_SHARE,
        _MORE_ROUNDS * factor,
        200,
        kinds(settings, chosen),
    )


def planned_rounds(settings: Settings) -> int | None:
    """The most rounds of a fit; None if they depend on the data."""
    is_open = settings.preset is not None or settings.folds is not None
    return None if is_open else settings.n_estimators
