"""Why a fit has learned nothing: no tree of it has a split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows
from skgoss.fit.fit_data import FitData
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import warn

# Of options: which scores have a split in a first tree that is grown with them.
SplitsWith = Callable[[Mapping[str, Any]], NDArray[np.bool_]]

# Options that limit splits, and the values with which they do not.
_NO_LIMITS = {
    "min_child_samples": 1,
    "min_child_weight": 0.0,
    "min_split_gain": 0.0,
    "reg_alpha": 0.0,
    "reg_lambda": 0.0,
    "interaction_constraints": None,
    "feature_contri": None,
    "monotone_constraints": None,
}


def warn_of(
    data: FitData,
    dataset: BinnedDataset,
    has_split: NDArray[np.bool_],
    splits_with: SplitsWith,
) -> None:
    """Warn of a fit, or of each of its outputs, if none of its scores has a split.

    All processes call this. ``dataset`` has the bins of the training set.
    ``has_split``, (n_scores,), says whether any tree of a score has a split.
    ``splits_with`` tries other options: see `SplitsWith`.
    """
    rows = data.fitted
    if not has_split.any():
        _warn_of_output(data, dataset, splits_with, rows, "the fit")
        return
    first = 0
    for k, output in enumerate(data.outputs):
        stop = first + output.task.n_scores
        if not has_split[first:stop].any():
            learned = rows.select_output(k, first, stop).without_missing_targets()
            _warn_of_output(
                data, dataset, splits_with, learned, output.name, first, stop
            )
        first = stop


def _warn_of_output(
    data: FitData,
    dataset: BinnedDataset,
    splits_with: SplitsWith,
    rows: Rows,
    what: str,
    first: int = 0,
    stop: int | None = None,
) -> None:
    """Warn that no tree of ``what`` has a split, and why; all processes call this.

    ``first`` and ``stop`` are the bounds of its scores.
    """
    n_rows, target = len(rows), rows.target
    ends = target.min(initial=np.inf), target.max(initial=-np.inf)
    of_ranks = rows.collectives.all_gather((n_rows, *ends))
    if rows.collectives.rank > 0:
        return
    sizes, lowest, highest = zip(*of_ranks, strict=True)
    n_rows, is_constant = sum(sizes), min(lowest) == max(highest)
    reason = _reason(n_rows, is_constant, dataset, data.settings)
    reason = reason or _limits(data, splits_with, n_rows, slice(first, stop))
    warn(f"No tree of {what} has a split, so it has learned nothing: {reason}")


def _reason(
    n_rows: int, is_constant: bool, dataset: BinnedDataset, settings: Settings
) -> str:
    """Why there is nothing to learn from the rows; "" if there is no such reason.

    ``n_rows`` counts the rows of all processes; ``is_constant``: their targets are
    equal.
    """
    least = settings.min_child_samples
    if n_rows < 2 * least:
        return (
            f"both sides of a split need min_child_samples={least} rows, and there are"
            f" {n_rows} rows. Set min_child_samples to a lower number."
        )
    if is_constant:
        return "all targets are equal."
    if len(dataset.feature) == 0:
        return (
            "every column is constant, or fewer than"
            f" min_child_samples={least} of its values are not 0."
        )
    return ""


def _limits(data: FitData, splits_with: SplitsWith, n_rows: int, scores: slice) -> str:
    """Which options keep the root from being split.

    ``splits_with`` tries the root again without each option, and ``scores`` are the
    scores of the output in question.
    """
    limits = {
        name: f"{name}={getattr(data.settings, name)!r}"
        for name, loose in _NO_LIMITS.items()
        if getattr(data.settings, name) != loose
    }
    is_tried = data.rows.partition is None and data.init_model is None
    binding = [
        limits[name]
        for name in limits
        if is_tried and splits_with({name: _NO_LIMITS[name]})[scores].any()
    ]
    if binding:
        return f"the root is not split because of {' and '.join(binding)}."
    return (
        f"no split of the {n_rows} rows reduces the loss."
        f" Options that limit splits: {', '.join(limits.values())}."
    )
