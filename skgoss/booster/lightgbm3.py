"""What exists for scripts of LightGBM 2 and 3 only.

LightGBM 4 does not have some arguments of `train` and `cv`. The functions of this
module translate them into options and callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from skgoss.dataset.dataset import Dataset
from skgoss.fit.callbacks import (
    checked,
    checked_period,
    log_evaluation,
    record_evaluation,
    reset_parameter,
    with_shown_metrics,
)
from skgoss.training.callback_api import Callback
from skgoss.utils.messages import MissingNameHints, by_name


def train_callbacks(
    callbacks: Any,
    verbose_eval: bool | int | None,
    evals_result: dict[str, Any] | None,
    learning_rates: Sequence[float] | Callable[[int], float] | None,
) -> dict[str, Any]:
    """The arguments of `FitArguments` that these arguments of `train` stand for.

    They are the callbacks, and whether messages of early stopping are printed. The
    arguments are those of `train`, where None stands for "not passed".
    """
    calls = checked(callbacks)
    if evals_result is not None:
        calls.append(record_evaluation(evals_result))
    if learning_rates is not None:
        calls.append(reset_parameter(learning_rate=learning_rates))
    return with_shown_metrics("verbose_eval", verbose_eval, calls)


def cv_callbacks(
    callbacks: Any, verbose_eval: bool | int | None, show_stdv: bool
) -> list[Callback]:
    """The callbacks of `cv`, with one that prints metrics.

    It does so every ``verbose_eval`` rounds: True is 1, and None is never. `cv` prints
    no messages of early stopping.
    """
    period = checked_period("verbose_eval", verbose_eval)
    return [*checked(callbacks), log_evaluation(period, show_stdv)]


def describe_columns(
    train_set: Dataset, feature_name: str | Sequence[str], categorical_feature: Any
) -> None:
    """Set the names and the categorical columns of the training set, if any are passed.

    'auto' stands for those that it has.
    """
    if not _is_auto(feature_name):
        train_set.set_feature_name(feature_name)
    if not _is_auto(categorical_feature):
        train_set.set_categorical_feature(categorical_feature)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


class CVResults(MissingNameHints, dict[str, Any]):
    """The metrics of all rounds, by set and metric: 'valid auc-mean'.

    The names of LightGBM 2 and 3, such as 'auc-mean', also work.
    """

    _alternatives = by_name(
        {
            "train for a model of all rows, or cv(..., return_cvbooster=True)"
            "['cvbooster'] for those of the folds": "feature_importance predict",
        }
    )

    def __missing__(self, key: Any) -> Any:
        name = f"valid {key}"
        if not super().__contains__(name):
            raise KeyError(f"{key!r} is not among the results: {', '.join(self)}")
        return super().__getitem__(name)

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(key) or super().__contains__(f"valid {key}")

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the values of a key, with or without 'valid ', or else ``default``."""
        return super().get(key, super().get(f"valid {key}", default))
