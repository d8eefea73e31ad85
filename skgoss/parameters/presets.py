"""Presets: options that are chosen by the data where the user leaves their defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from skgoss.parameters.settings import Settings


class Facts(NamedTuple):
    """What a preset knows of the data.

    Attributes
    ----------
    n_rows, n_features : int
    n_scores : int
        The number of trees of a round.
    task : str
        'regression', 'classification' or 'ranking'.
    """

    n_rows: int
    n_features: int
    n_scores: int
    task: str


def _accurate(facts: Facts) -> dict[str, Any]:
    """Small steps, trees that differ, and rounds that end by early stopping."""
    return {
        "n_estimators": 1000,
        "learning_rate": 0.05,
        "num_leaves": 15,
        "min_child_samples": 5,
        "feature_fraction_bynode": 0.6,
        "subsample": 0.8,
        "subsample_freq": 1,
        "reg_lambda": 1.0,
        "cat_l2": 1.0,
        "cat_smooth": 10.0,
        "min_data_per_group": 10,
        "max_cat_to_onehot": 8,
        "early_stopping_round": 50,
        "validation_fraction": 0.2,
        "refit": True,
    }


_PRESETS = {"accurate": _accurate}


def chosen(settings: Settings, passed: Collection[str], facts: Facts) -> dict[str, Any]:
    """The options that the preset chooses.

    Parameters
    ----------
    settings : Settings
    passed : collection of str
        The options that the user has passed: they stay.
    facts : Facts

    Returns
    -------
    dict
        Options by name; empty without a preset.

    Raises
    ------
    ValueError
        If the number of rounds is to be chosen, but other options forbid to stop early.
    """
    if settings.preset is None:
        return {}
    values = _PRESETS[settings.preset](facts)
    absent = {"refit"} if settings.folds is not None else set()
    if settings.boosting_type == "dart":
        absent |= {"early_stopping_round", "refit"}
    if settings.data_sample_strategy == "goss":
        absent |= {"subsample", "subsample_freq"}
    absent |= set(passed)
    values = {name: value for name, value in values.items() if name not in absent}
    if "n_estimators" in values:
        _check_stops_early({**vars(settings), **values})
    return values


def _check_stops_early(options: Mapping[str, Any]) -> None:
    preset, rounds = options["preset"], options["early_stopping_round"]
    if options["boosting_type"] == "dart":
        never = "boosting_type='dart'"
    elif (rounds or 0) <= 0:
        never = f"early_stopping_round={rounds!r}"
    else:
        return
    raise ValueError(
        f"preset={preset!r} ends the rounds by early stopping, which {never} turns off."
        " Set n_estimators, or leave the other option at its default."
    )


def planned_rounds(settings: Settings) -> int | None:
    """The most rounds of a fit; None if they depend on the data."""
    is_open = settings.preset is not None or settings.folds is not None
    return None if is_open else settings.n_estimators
