"""What `Booster.refit` does, step by step: rows, options, new leaf values."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgoss import parameters
from skgoss.binning.rows import Rows, check_init_score
from skgoss.columns import queries, targets
from skgoss.columns.columns import Columns
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.objectives.training_objective import OPTIONS as OBJECTIVE_OPTIONS
from skgoss.objectives.training_objective import make_objective
from skgoss.training import refit_leaves


def check(model: FittedModel, decay_rate: Any) -> None:
    """Check that a model can be fitted again, and the share of its old values.

    Raises
    ------
    ValueError
        If it cannot, or the share does not lie in [0, 1].
    """
    if not model.objective or model.trees.n_trees == 0:
        raise ValueError("refit needs a model with trees and a known objective.")
    if not isinstance(decay_rate, numbers.Real) or not 0 <= decay_rate <= 1:
        raise ValueError(f"decay_rate must lie in [0, 1], got {decay_rate!r}.")


def rows(
    model: FittedModel,
    columns: Columns,
    label: ArrayLike,
    weight: ArrayLike | None,
    group: ArrayLike | None,
    init_score: ArrayLike | None,
    owner: str,
) -> Rows:
    """The rows of positive weight, with what belongs to each.

    Parameters
    ----------
    model : FittedModel
    columns : Columns
    label, weight, group, init_score
        As in `Booster.refit`.
    owner : str
        The name of the model's class, for messages.

    Raises
    ------
    ValueError
        If an argument does not fit the model or the number of rows.
    """
    n_rows, n_scores = columns.n_rows, model.trees.n_scores
    objective = model.objective
    if model.has_several_targets or model.link.levels:
        raise ValueError(
            "refit cannot be used for models of several quantiles or targets. Fit a new"
            " model, or pass this one as init_model."
        )
    target = targets.numbers(
        targets.one_column(label, n_rows, owner, "label"), owner, "label"
    )
    weights = targets.weights(weight, None, target, None)
    targets.check_sum(target, weights, "label")
    is_ranked = objective in OBJECTIVES and OBJECTIVES[objective].task == "ranking"
    if init_score is not None:
        init_score = check_init_score(init_score, n_rows, n_scores, "init_score")
    existing = Rows(
        columns,
        target,
        weights,
        queries.make(n_rows, group=group) if is_ranked or group is not None else None,
        init_score,
    ).without_zero_weights()
    if n_scores > 1 and not np.isin(existing.target, np.arange(n_scores)).all():
        raise ValueError(
            f"label must hold the numbers 0 to {n_scores - 1} of the classes."
        )
    return existing


def run(
    model: FittedModel,
    params: Mapping[str, Any],
    rows: Rows,
    decay_rate: float,
    n_threads: int,
) -> Ensemble:
    """Fit the leaves of a model to rows, with the options in ``params``."""
    options, n_scores = _options(model, params), model.trees.n_scores
    objective = make_objective(
        options, rows.target, rows.weight, n_scores, rows.queries
    )
    return refit_leaves.Refit(
        model.trees,
        rows,
        objective,
        options,
        model.shrinkage(params),
        decay_rate,
        n_threads,
    ).run()


def _options(model: FittedModel, params: Mapping[str, Any]) -> SimpleNamespace:
    """The options in ``params``, and what the link tells."""
    names, link = (*OBJECTIVE_OPTIONS, *refit_leaves.OPTIONS), model.link
    options = parameters.checked_options(params, names, "refit")
    options["objective"] = model.objective
    options["reg_sqrt"] = link.kind == "signed_square"
    if link.kind == "logistic":
        options["sigmoid"] = link.slope
    return SimpleNamespace(**options)
