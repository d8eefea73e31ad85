"""Plots of importances, split values and metrics, with LightGBM's signatures.

matplotlib is optional: the functions that need it import it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from skgoss.booster.booster import Booster, booster_of, part_of
from skgoss.estimators.base import LGBMModel
from skgoss.parameters import docstrings
from skgoss.plotting.plot_arguments import Pair, axes, check, check_name, optional
from skgoss.utils import messages
from skgoss.utils.messages import hint
from skgoss.utils.public import set_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The metrics of all rounds by the names of evaluation set and metric.
History = Mapping[str, Mapping[str, Sequence[float]]]


@set_module("skgoss")
@docstrings.describe_plot(
    'ax = plot_importance(model, importance_type="gain")',
    "Booster.feature_importance : The numbers.",
    "plot_split_value_histogram : The thresholds of a column's splits.",
)
def plot_importance(
    booster: Booster | LGBMModel,
    ax: Axes | None = None,
    height: float = 0.2,
    xlim: Pair | None = None,
    ylim: Pair | None = None,
    title: str | None = "Feature importance",
    xlabel: str | None = "Feature importance by @importance_type@",
    ylabel: str | None = "Features",
    importance_type: str = "auto",
    max_num_features: int | None = None,
    ignore_zero: bool = True,
    figsize: Pair | None = None,
    dpi: float | None = None,
    grid: bool = True,
    precision: int | None = 3,
    **kwargs: Any,
) -> Axes:
    """Plot the importances of the columns.

    Parameters
    ----------
    ... : arguments, which ``help`` describes: the model, Matplotlib's ``ax`` or a new
        figure (``figsize``, ``dpi``), limits, labels and number formats
    height : float, default=0.2
        Height of the bars. The distance between bars is 1.
    xlabel : str or None, default='Feature importance by @importance_type@'
        The label of the x-axis. ``@importance_type@`` is replaced by the type of the
        importances.
    importance_type : {'auto', 'split', 'gain', 'cover'}, default='auto'
        The type of the importances: see ``Booster.feature_importance``. 'auto' means
        ``importance_type`` of the estimator, or 'split' for a Booster.
    max_num_features : int, default=None
        Number of columns to plot, starting with the most important one. None or values
        <= 0: all columns.
    ignore_zero : bool, default=True
        Whether to leave out columns with an importance of zero.
    **kwargs : dict
        Arguments of ``Axes.barh``.
    """
    check(
        xlim=xlim,
        ylim=ylim,
        figsize=figsize,
        precision=precision,
        max_num_features=max_num_features,
    )
    model = booster_of(booster, "booster")
    if importance_type == "auto":
        importance_type = "split"
        if isinstance(booster, LGBMModel):
            importance_type = booster._importance_type()
    names = np.array(model.feature_name(), dtype=object)
    importance = model.feature_importance(importance_type=importance_type)
    # Ties are in the order of the columns, from the bottom up, as in LightGBM.
    order = np.argsort(importance, kind="stable")
    if ignore_zero:
        order = order[importance[order] > 0]
    if max_num_features is not None and max_num_features > 0:
        order = order[-max_num_features:]
    if not len(order):
        raise ValueError(
            "There is no importance to plot: no column is used by a split. Use"
            " ignore_zero=False to plot columns that are not used."
        )
    widths, positions = importance[order], np.arange(len(order))
    ax, figure = axes(ax, figsize, dpi)
    try:
        ax.barh(positions, widths, align="center", height=height, **kwargs)
    except AttributeError as error:  # matplotlib has no such argument
        name = next(name for name in kwargs if repr(name) in str(error))
        advice = hint(name, inspect.signature(plot_importance).parameters)
        raise TypeError(f"plot_importance has no argument {name!r}.{advice}") from error
    behind = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
    for position, width in zip(positions.tolist(), widths.tolist(), strict=True):
        ax.annotate(
            _importance_label(width, precision),
            (width, position),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            bbox=behind,  # so that grid lines do not cross the numbers
        )
    ax.set_yticks(positions)
    ax.set_yticklabels(names[order], parse_math=False)
    largest = float(widths.max())
    ax.set_xlim(xlim or (0, 1.1 * largest if largest > 0 else 1.0))
    ax.set_ylim(ylim or (-1, len(order)))
    return _finish(
        ax, title, xlabel, ylabel, grid, {"@importance_type@": importance_type}, figure
    )


def _importance_label(value: float, precision: int | None) -> str:
    """The text beside a bar: whole numbers, or ``precision`` digits (None: all)."""
    if isinstance(value, int) or precision is None:
        return str(value)
    return f"{value:.{precision}f}"


@set_module("skgoss")
@docstrings.describe_plot(
    'ax = plot_split_value_histogram(model, "bmi")',
    "Booster.get_split_value_histogram : The numbers.",
    "plot_importance : How much each column is used.",
)
def plot_split_value_histogram(
    booster: Booster | LGBMModel,
    feature: int | str,
    bins: int | str | None = None,
    ax: Axes | None = None,
    width_coef: float = 0.8,
    xlim: Pair | None = None,
    ylim: Pair | None = None,
    title: str | None = "Split value histogram for feature with @index/name@ @feature@",
    xlabel: str | None = "Feature split value",
    ylabel: str | None = "Count",
    figsize: Pair | None = None,
    dpi: float | None = None,
    grid: bool = True,
    **kwargs: Any,
) -> Axes:
    """Plot a histogram of the split values of a column.

    Parameters
    ----------
    ... : arguments, which ``help`` describes: the model, Matplotlib's ``ax`` or a new
        figure (``figsize``, ``dpi``), limits, labels and number formats
    feature : int or str
        The number or name of a numeric column.
    bins : int or str, default=None
        Number of bins, or a rule of ``numpy.histogram``. None: the number of distinct
        split values.
    width_coef : float, default=0.8
        Width of the bars, as a fraction of the width of the bins.
    title : str or None
        The title. ``@feature@`` is replaced by ``feature``, and ``@index/name@`` by the
        word 'index' or 'name'.
    **kwargs : dict
        Arguments of ``Axes.bar``.
    """
    check(xlim=xlim, ylim=ylim, figsize=figsize)
    model = booster_of(booster, "booster")
    counts, edges = cast(
        "tuple[NDArray[np.int64], NDArray[np.float64]]",
        model.get_split_value_histogram(feature, bins=bins),
    )
    if not np.any(counts):
        raise ValueError(
            f"Cannot plot split values of the column {feature!r}: no split uses it."
        )
    ticker = optional("matplotlib.ticker")
    ax, figure = axes(ax, figsize, dpi)
    middles, widths = (edges[:-1] + edges[1:]) / 2, width_coef * np.diff(edges)
    ax.bar(middles, counts, align="center", width=widths, **kwargs)
    margin = 0.2 * (edges[-1] - edges[0])
    ax.set_xlim(xlim or (edges[0] - margin, edges[-1] + margin))
    ax.set_ylim(ylim or (0, 1.1 * float(counts.max())))
    ax.yaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    kind = "name" if isinstance(feature, str) else "index"
    marks = {"@feature@": str(feature), "@index/name@": kind}
    return _finish(ax, title, xlabel, ylabel, grid, marks, figure)


@set_module("skgoss")
@docstrings.describe_plot(
    "ax = plot_metric(model)",
    "record_evaluation : The metrics of a fit in a dictionary.",
    fit=", eval_set=[(X, y)]",
)
def plot_metric(
    booster: History | LGBMModel,
    metric: str | None = None,
    dataset_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    xlim: Pair | None = None,
    ylim: Pair | None = None,
    title: str | None = "Metric during training",
    xlabel: str | None = "Iterations",
    ylabel: str | None = "@metric@",
    figsize: Pair | None = None,
    dpi: float | None = None,
    grid: bool = True,
) -> Axes:
    """Plot a metric of the evaluation sets over the rounds.

    A dotted line marks the best round of an estimator that has stopped early. The
    first round is at 0, as in LightGBM.

    Parameters
    ----------
    ... : arguments, which ``help`` describes: the model, Matplotlib's ``ax`` or a new
        figure (``figsize``, ``dpi``), limits, labels and number formats
    booster : dict or fitted estimator
        A fitted estimator, or a dict of recorded metrics: ``evals_result_`` of an
        estimator, or the dict that ``record_evaluation`` has filled.
    metric : str, default=None
        The metric to plot. None: the only metric, or the last one with a warning.
    dataset_names : list of str, default=None
        The evaluation sets to plot. None: all sets that have the metric.
    ylabel : str or None, default='@metric@'
        The label of the y-axis. ``@metric@`` is replaced by the name of the metric.
    """
    check(xlim=xlim, ylim=ylim, figsize=figsize)
    history = _history(booster)
    metric, curves = _curves(history, metric, dataset_names)
    ax, figure = axes(ax, figsize, dpi)
    for name, values in curves.items():
        ax.plot(range(len(values)), values, label=name)
    best = booster.best_iteration_ if isinstance(booster, LGBMModel) else 0
    if best:
        ax.axvline(best - 1, color="0.5", ls=":", label=f"best round: {best}")
    ax.legend(loc="best")
    ax.set_xlim(xlim or (0, max(map(len, curves.values()))))
    ax.set_ylim(ylim or _ylim(curves.values()))
    return _finish(ax, title, xlabel, ylabel, grid, {"@metric@": metric}, figure)


def _ylim(curves: Iterable[Sequence[float]]) -> Pair | None:
    """The limits of curves, with a margin; None if all values are equal."""
    values = np.concatenate([np.asarray(curve, dtype=np.float64) for curve in curves])
    values = values[np.isfinite(values)]
    margin = 0.2 * np.ptp(values) if len(values) else 0.0
    return (values.min() - margin, values.max() + margin) if margin > 0 else None


def _history(booster: Any) -> History:
    """The metrics of a fit; TypeError or ValueError if there are none."""
    history: History
    if isinstance(booster, LGBMModel):
        history = booster.evals_result_
    elif isinstance(booster, Mapping):
        history = booster
    else:
        raise TypeError(
            "booster must be a fitted estimator, or a dict that record_evaluation has"
            f" filled, got {type(booster).__name__}.{part_of(booster)}"
        )
    if not history or not all(history.values()):
        raise ValueError("There is no metric to plot: fit with an eval_set.")
    if not all(isinstance(results, Mapping) for results in history.values()):
        raise ValueError(
            "booster must be a dict of dicts: the metrics of all rounds by evaluation"
            " set and name, as record_evaluation fills it."
        )
    return history


def _curves(
    history: History, metric: str | None, names: Sequence[str] | None
) -> tuple[str, dict[str, Sequence[float]]]:
    """The metric to plot, and its values of all rounds by evaluation set.

    ``metric`` and ``names``, of evaluation sets, are arguments of `plot_metric`; None
    means a choice for the user. ValueError if there is no such set or metric.
    """
    if names is not None and (isinstance(names, str) or not len(names)):
        raise ValueError(f"dataset_names must be a list of names, got {names!r}.")
    for name in names or ():
        check_name(name, history, "dataset_names", "names of evaluation sets")
    chosen = list(history if names is None else names)
    if metric is None:
        metrics = list(history[chosen[0]])
        metric = metrics[-1]
        if len(metrics) > 1:
            messages.warn(
                f"There are several metrics ({', '.join(metrics)}): {metric} is"
                " plotted. Choose one by the argument metric."
            )
    with_metric = [name for name in chosen if metric in history[name]]
    if names is not None or not with_metric:
        for name in chosen:
            check_name(metric, history[name], "metric", f"a metric of {name!r}")
    return metric, {name: history[name][metric] for name in with_metric}


def _finish(
    ax: Axes,
    title: str | None,
    xlabel: str | None,
    ylabel: str | None,
    grid: bool,
    marks: Mapping[str, str],
    figure: Figure | None,
) -> Axes:
    """Write the title and the labels, and draw the grid.

    ``marks`` are texts such as '@metric@', with what replaces them in the labels. A new
    ``figure`` is laid out to have room for the labels; None: the axes are the user's.
    """
    for name, text in (("title", title), ("xlabel", xlabel), ("ylabel", ylabel)):
        if text is not None:
            for mark, value in marks.items():
                text = text.replace(mark, value)
            ax.set(**{name: text})
    ax.grid(grid)
    ax.set_axisbelow(True)
    if figure is not None:
        for _ in range(2):  # labels on the right move when those on the left get room
            figure.tight_layout()
    return ax
