"""Explanations in the types of the shap package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skgoss._engine.columns.column_kernels import to_float64
from skgoss.columns.computed_columns import NOTHING_COMPUTED
from skgoss.model import contributions
from skgoss.model.fitted import FittedModel
from skgoss.model.predictions import RowReader
from skgoss.model.trees import CATEGORICAL, Tree, nan_goes_left, zero_is_missing
from skgoss.utils import optional
from skgoss.utils.messages import warn_unused

if TYPE_CHECKING:
    import shap

# shap's words for the unit of the raw scores, by the kind of the link.
_UNITS = {"logistic": "log_odds", "softmax": "log_odds", "exp": "log"}


def explanation(
    reader: RowReader,
    X: Any,
    rounds: tuple[int, int],
    *,
    interactions: bool,
    include_computed: bool,
    output_names: Sequence[str] | None = None,
) -> shap.Explanation:
    """SHAP values as shap's plots take them; ImportError if shap is not installed.

    ``X`` are the rows as the user passed them: a data frame is displayed as it is.
    The ``reader`` reads them for its model. ``rounds`` are the first round, and the
    last plus 1. With ``include_computed``, columns that the model computes itself have
    values of their own. ``output_names`` are those of the scores, if there are several.
    """
    shap = optional.optional(
        "shap",
        "explain",
        ". Without shap, predict(X, pred_contrib=True) returns the SHAP values.",
    )
    model, columns = reader.model, reader.loaded(X)
    names, schema = model.feature_names, model.schema
    if include_computed:
        if not schema.computed:
            warn_unused(
                "include_computed has no effect: the model computes no columns."
            )
        names, schema = (
            model.all_feature_names,
            replace(schema, computed=NOTHING_COMPUTED),
        )
    arguments = model.trees, columns, *rounds, reader.n_threads
    if interactions:
        values = contributions.interactions(*arguments)
        values = schema.shared_out(schema.shared_out(values, -2))
        base, inner = values[..., -1, -1], values[..., :-1, :-1]
    else:
        values = schema.shared_out(contributions.contributions(*arguments))
        base, inner = values[..., -1], values[..., :-1]
    numbers = np.empty((len(names), columns.n_rows))
    to_float64(columns.take(np.arange(len(names))), numbers)
    is_frame = hasattr(X, "columns") and hasattr(X, "to_numpy")
    displayed = X.to_numpy() if is_frame else None
    if displayed is not None and len(names) > displayed.shape[1]:
        displayed = np.hstack([displayed, numbers[displayed.shape[1] :].T])
    single = values.shape[1] == 1
    return shap.Explanation(
        inner[:, 0] if single else np.moveaxis(inner, 1, -1),
        base_values=base[:, 0] if single else base,
        data=numbers.T,
        display_data=displayed,
        feature_names=list(names),
        output_names=None if single else output_names,
    )


def trees_for_shap(model: FittedModel) -> dict[str, Any]:
    """The dict of trees that ``shap.TreeExplainer`` accepts as a model.

    ValueError if the trees have splits that the dict cannot say: on categories, or with
    zeros as missing values; or linear leaves.
    """
    ensemble, link = model.trees, model.link.kind
    decision = ensemble.arrays["decision_type"]
    for is_there, what in (
        ((decision & CATEGORICAL != 0).any(), "splits on categories"),
        (zero_is_missing(decision).any(), "zeros as missing"),
        (ensemble.linear is not None, "linear leaves"),
    ):
        if is_there:
            raise ValueError(
                f"The trees have {what}, which shap.TreeExplainer does not support. Use"
                " explain(X), or predict with pred_contrib=True."
            )
    # shap adds up trees. Those of a random forest are averaged over its rounds.
    scale = 1 / max(1, ensemble.n_rounds) if ensemble.average else 1.0
    return {
        # The trees of a round follow one another, one for each score.
        "trees": [
            _nodes(tree, index % ensemble.n_scores, ensemble.n_scores, scale)
            for index, tree in enumerate(ensemble.trees)
        ],
        "base_offset": 0.0,
        "tree_output": _UNITS.get(link, "raw_value"),
        "objective": "binary_crossentropy" if link == "logistic" else "squared_error",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }


def _nodes(tree: Tree, score: int, n_scores: int, scale: float) -> dict[str, Any]:
    """A tree in shap's arrays, in which leaves are nodes, numbered after the others.

    Its values are those of the score with the number ``score``, times ``scale``.
    """
    n_inner, n_leaves = tree.n_leaves - 1, tree.n_leaves
    left, right = (
        np.where(child < 0, n_inner + ~child, child)
        for child in (tree.left_child, tree.right_child)
    )
    goes_left = nan_goes_left(tree.decision_type, tree.threshold)
    none = np.full(n_leaves, -1)
    values = np.zeros((n_inner + n_leaves, n_scores))
    values[:, score] = scale * np.concatenate([tree.internal_value, tree.leaf_value])
    return {
        "children_left": np.concatenate([left, none]),
        "children_right": np.concatenate([right, none]),
        "children_default": np.concatenate([np.where(goes_left, left, right), none]),
        "features": np.concatenate([tree.split_feature, none]),
        "thresholds": np.concatenate([tree.threshold, none.astype(float)]),
        "values": values,
        "node_sample_weight": np.concatenate(
            [tree.internal_count, tree.leaf_count]
        ).astype(float),
    }
