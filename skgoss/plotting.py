"""Plots, in a module with the name of LightGBM's."""

from skgoss.inspection.plotting import (
    create_tree_digraph,
    draw_tree,
    plot_importance,
    plot_metric,
    plot_split_value_histogram,
    plot_tree,
)

__all__ = [
    "create_tree_digraph",
    "draw_tree",
    "plot_importance",
    "plot_metric",
    "plot_split_value_histogram",
    "plot_tree",
]
