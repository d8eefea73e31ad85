"""What a classifier's log loss tells: bad probabilities, and weights that end a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.rows import Rows
from skgoss.fit.fit_data import FitData
from skgoss.fit.other_ranges import OtherRanges
from skgoss.utils.messages import warn

_ADVICE = (
    "Use preset='accurate', or choose the rounds by the log loss (early_stopping_round"
    " or folds) with a smaller learning_rate."
)
_FOR_PRESETS = "The columns hardly distinguish the classes, or there are too few rows."
# The log loss of objectives whose probabilities can be tested.
LOG_LOSS = {"binary": "binary_logloss", "multiclass": "multi_logloss"}
# Weights of classes have ended a fit too early if it keeps at most this many rounds.
FEW_ROUNDS = 3
# Rows that a model has not learned from: their name, the rows, and their metrics.
Test = tuple[str, Rows, Mapping[str, float]]


def warn_if_worse(
    data: FitData,
    tests: Iterable[Test],
    other_ranges: Mapping[str, OtherRanges] = MappingProxyType({}),
) -> None:
    """Warn if the log loss on other rows is above that of the rates of the classes.

    The objective is one of `LOG_LOSS`. All processes call this. Weights of classes
    change probabilities on purpose, and start scores are not part of the model: such
    fits are not tested. If a set has ``other_ranges``, by its name among the tests,
    they are named as the reason, unless a warning has done so.
    """
    settings = data.settings
    metric = LOG_LOSS[str(settings.objective)]
    changes = settings.class_weight, settings.is_unbalance, data.rows.init_score
    are_changed = settings.scale_pos_weight != 1 or any(
        value is not None and value is not False for value in changes
    )
    if data.outputs or are_changed:
        return
    n_classes = max(2, data.n_scores)
    rates = _weights(data.rows, n_classes)
    for name, rows, metrics in tests:
        if metric not in metrics:
            continue
        constant = _entropy(_weights(rows, n_classes), rates / rates.sum())
        if metrics[metric] > constant and data.rows.collectives.rank == 0:
            advice = _ADVICE if settings.preset is None else _FOR_PRESETS
            found = other_ranges.get(name)
            if found is not None:
                if found.is_certain:
                    continue
                advice = found.sentences
            warn(
                f"The probabilities are worse than a constant: on {name}, {metric} is"
                f" {metrics[metric]:.4g}, and {constant:.4g} for the rates of the"
                f" classes. {advice}"
            )


def warn_if_weights_stopped(data: FitData, n_rounds: float) -> None:
    """Warn if early stopping kept few rounds, because classes have other weights.

    Boosting begins at the rates of the classes. Each round changes them on purpose,
    which the log loss counts as errors. ``n_rounds`` is the mean of the folds, if any.
    Fits to which this cannot happen, or that were to have so few rounds, are ignored.
    """
    settings, rank = data.settings, data.rows.collectives.rank
    options = {
        "is_unbalance": settings.is_unbalance,
        "scale_pos_weight": settings.scale_pos_weight != 1,
    }
    changed = [name for name, is_set in options.items() if is_set]
    metrics = settings.metric or (LOG_LOSS["binary"],)
    is_stopped_by_loss = (
        settings.objective == "binary"
        and LOG_LOSS["binary"] in metrics
        and n_rounds <= min(FEW_ROUNDS, settings.n_estimators - 1)
    )
    if changed and is_stopped_by_loss and rank == 0:
        (name,) = changed
        warn(
            f"Early stopping ended at round {n_rounds:.3g}, because {name} makes the"
            " probabilities of the second class too high on purpose, which the log loss"
            f" counts as errors. Stop on metric='auc', or leave out {name} and choose a"
            " threshold for predict_proba."
        )


def _weights(rows: Rows, n_classes: int) -> NDArray[np.float64]:
    """The sum of the weights of each class, of the rows of all processes.

    A row with soft labels counts for each class with its probability.
    """
    of_rank: NDArray[Any]
    if rows.target.ndim == 2:
        weight = 1.0 if rows.weight is None else rows.weight[:, None]
        of_rank = (weight * rows.target).sum(axis=0)
    else:
        # `train` also accepts the labels -1 and 1.
        classes = np.maximum(rows.target, 0).astype(int)
        of_rank = np.bincount(classes, rows.weight, n_classes)
    return np.sum(rows.collectives.all_gather(of_rank), axis=0)


def _entropy(weights: NDArray[np.float64], rates: NDArray[np.float64]) -> float:
    """The log loss of constant ``rates`` on classes with ``weights``."""
    occurs = weights > 0
    with np.errstate(divide="ignore"):
        return float(-np.average(np.log(rates[occurs]), weights=weights[occurs]))
