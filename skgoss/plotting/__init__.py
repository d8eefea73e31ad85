"""Plots, in a module with the name of LightGBM's."""

from skgoss.plotting.charts import (
    plot_importance,
    plot_metric,
    plot_split_value_histogram,
)
from skgoss.plotting.tree_plots import create_tree_digraph, plot_tree
from skgoss.plotting.tree_text import draw_tree

__all__ = [
    "create_tree_digraph",
    "draw_tree",
    "plot_importance",
    "plot_metric",
    "plot_split_value_histogram",
    "plot_tree",
]


def __dir__() -> list[str]:
    return __all__
