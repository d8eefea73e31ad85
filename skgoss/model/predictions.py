"""What predictions return: predictions, raw scores, leaves or SHAP values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.columns import Columns
from skgoss.columns.sparse import CompressedRows
from skgoss.model import contributions
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel
from skgoss.objectives.link import Link

Floats = NDArray[np.float64]

PredictionKind = Literal[
    "prediction", "raw_score", "leaf", "contributions", "interactions"
]


def kind(
    raw_score: bool, pred_leaf: bool, pred_contrib: bool, pred_interactions: bool
) -> PredictionKind:
    """The output that the arguments of a prediction ask for."""
    if pred_interactions:
        return "interactions"
    if pred_contrib:
        return "contributions"
    if pred_leaf:
        return "leaf"
    return "raw_score" if raw_score else "prediction"


def compute(
    model: FittedModel,
    columns: Columns,
    output: PredictionKind,
    rounds: tuple[int, int],
    n_threads: int,
) -> Any:
    """Compute an output for rows.

    Parameters
    ----------
    model : FittedModel
    columns : Columns
        The rows.
    output : PredictionKind
    rounds : (int, int)
        The first round, and the last plus 1.
    n_threads : int

    Returns
    -------
    ndarray, csr_matrix or list of csr_matrix
        In LightGBM's shapes: see `Booster.predict`.
    """
    trees = model.trees
    if output == "leaf":
        return trees.leaves(columns, *rounds, n_threads)
    if output == "contributions":
        return _contributions(trees, columns, rounds, n_threads)
    if output == "interactions":
        values = contributions.interactions(trees, columns, *rounds, n_threads)
        return values[:, 0] if trees.n_scores == 1 else values
    scores = trees.raw_scores(columns, *rounds, n_threads)
    return linked(scores, model.link if output == "prediction" else None, n_threads)


def staged(model: FittedModel, columns: Columns, n_threads: int) -> Iterator[Floats]:
    """Compute the predictions after each round."""
    for scores in model.trees.staged_scores(columns, n_threads):
        yield linked(scores, model.link, n_threads)


def linked(scores: Floats, link: Link | None, n_threads: int) -> Floats:
    """The scores after a link, one-dimensional if there is one a row.

    Quantiles are two-dimensional also if there is a single one.
    """
    if link is not None:
        scores = link(scores, n_threads)
    is_list = link is not None and link.levels
    return scores[:, 0] if scores.shape[1] == 1 and not is_list else scores


def _contributions(
    ensemble: Ensemble, columns: Columns, span: tuple[int, int], n_threads: int
) -> Any:
    """SHAP values: a sparse matrix for each score if the rows are sparse, else one.

    Rows in CSC format have values in this format, other sparse rows in CSR format.
    """
    if columns.index is not None:
        parts = contributions.sparse_contributions(ensemble, columns, *span, n_threads)
        if not isinstance(columns, CompressedRows):
            parts = [part.tocsc() for part in parts]
        return parts[0] if len(parts) == 1 else parts
    values = contributions.contributions(ensemble, columns, *span, n_threads)
    return values.reshape(len(values), -1)
