"""The warning of a fit whose trees have no splits, with the reason."""

from __future__ import annotations

import numpy as np

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import warn

# Options besides `min_child_samples` that limit splits, and their defaults.
_LIMITS = {
    "min_split_gain": 0.0,
    "min_child_weight": 1e-3,
    "reg_alpha": 0.0,
    "reg_lambda": 0.0,
    "interaction_constraints": None,
    "feature_contri": None,
}


def warn_of(
    rows: Rows, dataset: BinnedDataset, settings: Settings, what: str = "the fit"
) -> None:
    """Warn that no tree of a fit has a split.

    Parameters
    ----------
    rows : Rows
        The rows that the fit has learned from; all processes call this.
    dataset : BinnedDataset
        Their bins.
    settings : Settings
    what : str, default="the fit"
        What the trees belong to.
    """
    n_rows, target = len(rows), rows.target
    ends = target.min(initial=np.inf), target.max(initial=-np.inf)
    of_ranks = rows.collectives.all_gather((n_rows, *ends))
    if rows.collectives.rank > 0:
        return
    sizes, lowest, highest = zip(*of_ranks, strict=True)
    reason = _reason(sum(sizes), min(lowest) == max(highest), dataset, settings)
    warn(f"No tree of {what} has a split, so it has learned nothing: {reason}")


def _reason(
    n_rows: int, is_constant: bool, dataset: BinnedDataset, settings: Settings
) -> str:
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
    others = [
        f"{name}={getattr(settings, name)!r}"
        for name, default in _LIMITS.items()
        if getattr(settings, name) != default
    ]
    limits = ", ".join([f"min_child_samples={least}", *others])
    return (
        f"no split of the {n_rows} rows reduces the loss. Options that limit splits:"
        f" {limits}."
    )
