"""Plots of trees, importances and metrics, with LightGBM's signatures.

matplotlib and graphviz are optional: the functions that need them import them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from skgoss.booster.booster import Booster
from skgoss.estimators.base import LGBMModel
from skgoss.inspection.drawing import TreeDrawing
from skgoss.inspection.labels import INFO, Box, Labels
from skgoss.inspection.layout import Orientation
from skgoss.inspection.picture import (
    SIGN_COLOURS,
    SIGN_NAMES,
    Line,
    Picture,
    Rectangle,
    Text,
)
from skgoss.parameters import docstrings, domains
from skgoss.parameters import settings as parameters
from skgoss.utils import compat, messages

if TYPE_CHECKING:
    from graphviz import Digraph
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

__all__ = [
    "create_tree_digraph",
    "draw_tree",
    "plot_importance",
    "plot_metric",
    "plot_split_value_histogram",
    "plot_tree",
]

Pair = tuple[float, float]


def _is_pair(value: Any) -> bool:
    return np.shape(value) == (2,) and np.asarray(value).dtype.kind in "iuf"


_PAIR = domains.optional(domains.instance("tuple", "a pair of numbers", _is_pair))
# The directions of graphviz, by orientation.
_RANKDIR = {"horizontal": "LR", "vertical": "TB"}
_DOMAINS = {
    "figsize": _PAIR,
    "xlim": _PAIR,
    "ylim": _PAIR,
    "precision": domains.optional(domains.integer(0)),
    "max_num_features": domains.optional(domains.ANY_INT),
    "max_category_values": domains.integer(1),
    "tree_index": domains.ANY_INT,
    "orientation": domains.instance(
        "str", "'horizontal' or 'vertical'", lambda value: value in tuple(_RANKDIR)
    ),
}


def _check(**arguments: Any) -> None:
    """Check the arguments of a plot, and fail before it is made."""
    for name, value in arguments.items():
        domain = _DOMAINS[name]
        if domain.convert(value) is NotImplemented:
            raise ValueError(f"{name} must be {domain.words}, got {value!r}.")


# --- Bars and lines -------------------------------------------------------------------


@docstrings.of_plot(
    height=(
        "float, default=0.2",
        "Height of the bars. The distance between bars is 1.",
    ),
    xlabel=(
        "str or None, default='Feature importance'",
        "The label of the x-axis. ``@importance_type@`` is replaced by the type of the"
        " importances.",
    ),
    importance_type=(
        "{'auto', 'split', 'gain', 'cover'}, default='auto'",
        "The type of the importances: see ``Booster.feature_importance``. 'auto' means"
        " ``importance_type`` of the estimator, or 'split' for a Booster.",
    ),
    max_num_features=(
        "int, default=None",
        "Number of columns to plot, starting with the most important one. None or"
        " values <= 0: all columns.",
    ),
    ignore_zero=(
        "bool, default=True",
        "Whether to leave out columns with an importance of zero.",
    ),
    kwargs=(
        "dict",
        "Arguments of ``Axes.barh``.",
    ),
)
def plot_importance(
    booster: Booster | LGBMModel,
    ax: Axes | None = None,
    height: float = 0.2,
    xlim: Pair | None = None,
    ylim: Pair | None = None,
    title: str | None = "Feature importance",
    xlabel: str | None = "Feature importance",
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
    {parameters}

    Returns
    -------
    matplotlib.axes.Axes
        Where the plot is.

    Raises
    ------
    TypeError
        If ``booster`` is neither a Booster nor a fitted estimator.
    ValueError
        If an argument has an invalid value, or if there is no importance to plot.

    See Also
    --------
    Booster.feature_importance : The numbers.
    plot_split_value_histogram : Where the splits of a column lie.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, plot_importance
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LGBMRegressor(n_estimators=10).fit(X, y)
    >>> ax = plot_importance(model, importance_type="gain")
    """
    _check(
        xlim=xlim,
        ylim=ylim,
        figsize=figsize,
        precision=precision,
        max_num_features=max_num_features,
    )
    model = _booster(booster)
    if importance_type == "auto":
        importance_type = _importance_type(booster)
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
    widths, places = importance[order], np.arange(len(order))
    is_new, ax = ax is None, _axes(ax, figsize, dpi)
    ax.barh(places, widths, align="center", height=height, **kwargs)
    behind = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
    for place, width in zip(places.tolist(), widths.tolist(), strict=True):
        ax.annotate(
            _importance_label(width, precision),
            (width, place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            bbox=behind,  # lines of the grid do not cross the numbers
        )
    ax.set_yticks(places)
    ax.set_yticklabels(names[order], parse_math=False)
    largest = float(widths.max())
    ax.set_xlim(xlim or (0, 1.1 * largest if largest > 0 else 1.0))
    ax.set_ylim(ylim or (-1, len(order)))
    return _finished(
        ax, title, xlabel, ylabel, grid, {"@importance_type@": importance_type}, is_new
    )


def _importance_label(value: float, precision: int | None) -> str:
    if isinstance(value, int) or precision is None:
        return str(value)
    return f"{value:.{precision}f}"


def _importance_type(booster: Booster | LGBMModel) -> str:
    if isinstance(booster, LGBMModel):
        kind = booster.importance_type
        return parameters.checked_value("importance_type", kind, booster._owner)
    return "split"


@docstrings.of_plot(
    feature=(
        "int or str",
        "The number or name of a numeric column.",
    ),
    bins=(
        "int or str, default=None",
        "Number of bins, or a rule of ``numpy.histogram``. None: the number of"
        " distinct split values.",
    ),
    width_coef=(
        "float, default=0.8",
        "Width of the bars, as a fraction of the width of the bins.",
    ),
    title=(
        "str or None",
        "The title. ``@feature@`` is replaced by ``feature``, and ``@index/name@`` by"
        " the word 'index' or 'name'.",
    ),
    kwargs=(
        "dict",
        "Arguments of ``Axes.bar``.",
    ),
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
    {parameters}

    Returns
    -------
    matplotlib.axes.Axes
        Where the plot is.

    Raises
    ------
    TypeError
        If ``booster`` is neither a Booster nor a fitted estimator.
    ValueError
        If an argument has an invalid value, or if no split uses the column.

    See Also
    --------
    Booster.get_split_value_histogram : The numbers.
    plot_importance : How much each column is used.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, plot_split_value_histogram
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LGBMRegressor(n_estimators=10).fit(X, y)
    >>> ax = plot_split_value_histogram(model, "bmi")
    """
    _check(xlim=xlim, ylim=ylim, figsize=figsize)
    counts, edges = _booster(booster).get_split_value_histogram(
        feature, bins=bins, xgboost_style=False
    )
    if not np.any(counts):
        raise ValueError(
            f"Cannot plot split values of the column {feature!r}: no split uses it."
        )
    ticker = _optional("matplotlib.ticker")
    is_new, ax = ax is None, _axes(ax, figsize, dpi)
    middles, widths = (edges[:-1] + edges[1:]) / 2, width_coef * np.diff(edges)
    ax.bar(middles, counts, align="center", width=widths, **kwargs)
    margin = 0.2 * (edges[-1] - edges[0])
    ax.set_xlim(xlim or (edges[0] - margin, edges[-1] + margin))
    ax.set_ylim(ylim or (0, 1.1 * float(counts.max())))
    ax.yaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    kind = "name" if isinstance(feature, str) else "index"
    marks = {"@feature@": str(feature), "@index/name@": kind}
    return _finished(ax, title, xlabel, ylabel, grid, marks, is_new)


@docstrings.of_plot(
    booster=(
        "dict or fitted estimator",
        "A fitted estimator, or a dict of recorded metrics: ``evals_result_`` of an"
        " estimator, or the dict that ``record_evaluation`` has filled.",
    ),
    metric=(
        "str, default=None",
        "The metric to plot. None: the only metric, or the last one with a warning.",
    ),
    dataset_names=(
        "list of str, default=None",
        "The evaluation sets to plot. None: all sets that have the metric.",
    ),
    ylabel=(
        "str or None, default='@metric@'",
        "The label of the y-axis. ``@metric@`` is replaced by the name of the metric.",
    ),
)
def plot_metric(
    booster: Mapping[str, Mapping[str, Sequence[float]]] | LGBMModel,
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

    Parameters
    ----------
    {parameters}

    Returns
    -------
    matplotlib.axes.Axes
        Where the plot is.

    Raises
    ------
    TypeError
        If ``booster`` is neither a dict nor an estimator.
    ValueError
        If an argument has an invalid value, or if a set or metric does not exist.

    See Also
    --------
    record_evaluation : The metrics of a fit in a dictionary.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, plot_metric
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LGBMRegressor(n_estimators=10).fit(X, y, eval_set=[(X, y)])
    >>> ax = plot_metric(model)
    """
    _check(xlim=xlim, ylim=ylim, figsize=figsize)
    history = _history(booster)
    metric, curves = _curves(history, metric, dataset_names)
    is_new, ax = ax is None, _axes(ax, figsize, dpi)
    for name, values in curves.items():
        ax.plot(range(len(values)), values, label=name)
    ax.legend(loc="best")
    ax.set_xlim(xlim or (0, max(map(len, curves.values()))))
    ylim = ylim or _heights(curves.values())
    if ylim is not None:
        ax.set_ylim(ylim)
    return _finished(ax, title, xlabel, ylabel, grid, {"@metric@": metric}, is_new)


def _heights(curves: Iterable[Sequence[float]]) -> Pair | None:
    """The limits of curves and a margin; None if they are a single height."""
    values = np.concatenate([np.asarray(curve, dtype=np.float64) for curve in curves])
    values = values[np.isfinite(values)]
    margin = 0.2 * np.ptp(values) if len(values) else 0.0
    return (values.min() - margin, values.max() + margin) if margin > 0 else None


def _history(booster: Any) -> Mapping[str, Mapping[str, Sequence[float]]]:
    history: Mapping[str, Mapping[str, Sequence[float]]]
    if isinstance(booster, LGBMModel):
        history = booster.evals_result_
    elif isinstance(booster, Mapping):
        history = booster
    else:
        raise TypeError(
            "booster must be a fitted estimator, or a dict that record_evaluation has"
            f" filled, got {type(booster).__name__}."
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
    history: Mapping[str, Mapping[str, Sequence[float]]],
    metric: str | None,
    names: Sequence[str] | None,
) -> tuple[str, dict[str, Sequence[float]]]:
    """The metric to plot, and its values by evaluation set."""
    if names is not None and (isinstance(names, str) or not len(names)):
        raise ValueError(f"dataset_names must be a list of names, got {names!r}.")
    for name in names or ():
        _require(name, history, "dataset_names", "names of evaluation sets")
    chosen = list(history if names is None else names)
    known = list(history[chosen[0]])
    if metric is None:
        metric = known[-1]
        if len(known) > 1:
            messages.warn(
                f"There are several metrics ({', '.join(known)}): {metric} is plotted."
                " Choose one by the argument metric."
            )
    having = [name for name in chosen if metric in history[name]]
    if names is not None or not having:
        for name in chosen:
            _require(metric, history[name], "metric", f"a metric of {name!r}")
    return metric, {name: history[name][metric] for name in having}


def _require(name: Any, known: Mapping[str, Any], argument: str, kind: str) -> None:
    if name not in known:
        raise ValueError(
            f"{argument} must be {kind} ({', '.join(map(repr, known))}), got"
            f" {name!r}.{messages.hint(str(name), known)}"
        )


# --- Trees ----------------------------------------------------------------------------


@docstrings.of_plot()
def draw_tree(
    booster: Booster | LGBMModel,
    tree_index: int = 0,
    *,
    show_info: Sequence[str] | None = None,
    precision: int | None = 3,
    orientation: Orientation = "horizontal",
    example_case: ArrayLike | None = None,
    max_category_values: int = 10,
) -> TreeDrawing:
    """Draw a tree as text and as SVG, without other packages.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    TreeDrawing
        An object that ``print`` shows as text and a notebook as a picture. The methods
        ``to_text()`` and ``to_svg()`` return them.

    Raises
    ------
    IndexError
        If there is no tree with this index.
    TypeError
        If ``booster`` is neither a Booster nor a fitted estimator.
    ValueError
        If an argument has an invalid value.

    See Also
    --------
    plot_tree : A tree in a figure of matplotlib.
    create_tree_digraph : A tree as a graph of graphviz.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgoss import LGBMRegressor, draw_tree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LGBMRegressor(n_estimators=1, num_leaves=3).fit(X, y)
    >>> print(draw_tree(model))
    Tree 0: 3 leaves
    petal length (cm) <= 3.150
    |-- yes: leaf 0: 0.902
    `-- no: petal width (cm) <= 1.650
        |-- yes: leaf 1: 1.008
        `-- no: leaf 2: 1.096
    """
    _check(
        tree_index=tree_index,
        precision=precision,
        orientation=orientation,
        max_category_values=max_category_values,
    )
    info = _checked_info(show_info)
    model = _booster(booster)
    n_trees, n_scores = model.num_trees(), model.num_model_per_iteration()
    if not -n_trees <= tree_index < n_trees:
        raise IndexError(
            f"tree_index must be less than {n_trees}, the number of trees, got"
            f" {tree_index}."
        )
    tree_index %= n_trees
    at, place = divmod(tree_index, n_scores)
    leaf = None
    if example_case is not None:
        leaf = _leaf_of(model, example_case, at, place)
    dump = model.dump_model(num_iteration=1, start_iteration=at)
    signs = dump["monotone_constraints"]
    tree = dump["tree_info"][place]
    labels = Labels(
        dump["feature_names"],
        model._categories.values(words=True),
        signs,
        info,
        precision,
        max_category_values,
    )
    boxes = labels.boxes(tree["tree_structure"], leaf)
    n_leaves = tree["num_leaves"]
    name = f"Tree {tree_index}: {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}"
    return TreeDrawing(name, boxes, orientation, any(signs))


def _checked_info(show_info: Any) -> list[str]:
    info = [show_info] if isinstance(show_info, str) else list(show_info or ())
    for name in info:
        _require(name, INFO, "show_info", "facts of nodes")
    return info


def _leaf_of(model: Booster, example: Any, at: int, place: int) -> int:
    """The leaf that the example reaches in a tree of round ``at``."""
    leaves = model.predict(example, pred_leaf=True, start_iteration=at, num_iteration=1)
    if len(leaves) != 1:
        raise ValueError(f"example_case must have a single row, got {len(leaves)}.")
    return int(leaves[0, place])


@docstrings.of_plot(
    kwargs=(
        "dict",
        "Arguments of ``graphviz.Digraph``.",
    ),
)
def create_tree_digraph(
    booster: Booster | LGBMModel,
    tree_index: int = 0,
    show_info: Sequence[str] | None = None,
    precision: int | None = 3,
    orientation: Orientation = "horizontal",
    example_case: ArrayLike | None = None,
    max_category_values: int = 10,
    **kwargs: Any,
) -> Digraph:
    """Create a graphviz graph of a tree.

    Rendering the graph needs the program ``dot`` of graphviz. Its attribute ``source``
    and the functions ``draw_tree`` and ``plot_tree`` do not need it.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    graphviz.Digraph
        The graph, which notebooks show.

    Raises
    ------
    IndexError, TypeError, ValueError
        As in `draw_tree`.

    See Also
    --------
    draw_tree : A tree as text and SVG.
    plot_tree : A tree in a figure of matplotlib.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, create_tree_digraph
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LGBMRegressor(n_estimators=10).fit(X, y)
    >>> graph = create_tree_digraph(model, tree_index=3)
    """
    drawing = draw_tree(
        booster,
        tree_index,
        show_info=show_info,
        precision=precision,
        orientation=orientation,
        example_case=example_case,
        max_category_values=max_category_values,
    )
    graphviz = _optional("graphviz")
    style = {
        "nodesep": "0.05",
        "ranksep": "0.3",
        "rankdir": _RANKDIR[orientation],
    }
    kwargs["graph_attr"] = style | dict(kwargs.get("graph_attr") or {})
    graph = graphviz.Digraph(**kwargs)
    for box in drawing.boxes:
        graph.node(box.key, **_node_style(box, drawing.legend, graphviz))
        if box.parent >= 0:
            parent = drawing.boxes[box.parent].key
            graph.edge(parent, box.key, label=box.edge, **_pen(box))
    if drawing.legend:
        graph.node("legend", _graph_legend(), shape="rectangle", color="white")
    return graph


def _pen(box: Box) -> dict[str, str]:
    if box.on_path:
        return {"color": "blue", "penwidth": "3"}
    return {"color": "black", "penwidth": "1"}


def _node_style(box: Box, has_signs: bool, graphviz: ModuleType) -> dict[str, str]:
    lines = [f"<B>{escape(line)}</B>" for line in box.heading]
    lines += [escape(line) for line in box.info]
    return {
        "label": f"<{'<BR/>'.join(lines)}>",
        "shape": "ellipse" if box.is_leaf else "rectangle",
        "style": "filled" if has_signs and not box.is_leaf else "",
        "fillcolor": SIGN_COLOURS.get(box.sign, "white"),
        "tooltip": graphviz.escape(box.title),
        **_pen(box),
    }


def _graph_legend() -> str:
    rows = [
        f'<TR><TD>{SIGN_NAMES[sign]}</TD><TD BGCOLOR="{colour}"></TD></TR>'
        for sign, colour in SIGN_COLOURS.items()
    ]
    table = '<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4">'
    head = '<TR><TD COLSPAN="2"><B>Monotone constraints</B></TD></TR>'
    return f"<{table}{head}{''.join(rows)}</TABLE>>"


@docstrings.of_plot(
    figsize=(
        "pair of float, default=None",
        "Width and height of a new figure, in inches. None: as the tree requires.",
    ),
    kwargs=(
        "dict",
        "``max_category_values``, as in ``draw_tree``. Arguments of"
        " ``graphviz.Digraph`` have no effect, with an ``UnusedParameterWarning``.",
    ),
)
def plot_tree(
    booster: Booster | LGBMModel,
    ax: Axes | None = None,
    tree_index: int = 0,
    figsize: Pair | None = None,
    dpi: float | None = None,
    show_info: Sequence[str] | None = None,
    precision: int | None = 3,
    orientation: Orientation = "horizontal",
    example_case: ArrayLike | None = None,
    **kwargs: Any,
) -> Axes:
    """Plot a tree.

    It does not need graphviz. The text is drawn as outlines, which scale with the axes.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    matplotlib.axes.Axes
        Where the plot is.

    Raises
    ------
    IndexError, TypeError, ValueError
        As in `draw_tree`.

    See Also
    --------
    draw_tree : A tree as text and SVG.
    create_tree_digraph : A tree as a graph of graphviz.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, plot_tree
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LGBMRegressor(n_estimators=10).fit(X, y)
    >>> ax = plot_tree(model, tree_index=3)
    """
    _check(figsize=figsize)
    drawing = draw_tree(
        booster,
        tree_index,
        show_info=show_info,
        precision=precision,
        orientation=orientation,
        example_case=example_case,
        **_drawing_options(kwargs),
    )
    picture = drawing.picture
    ax = _axes(ax, figsize or _natural_size(picture), dpi, margins=False)
    _add_shapes(ax, picture)
    ax.set_xlim(0, picture.width)
    ax.set_ylim(-picture.height, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


# Arguments of graphviz.Digraph, which LightGBM's plot_tree passes on.
_OF_DIGRAPH = (
    *("name", "comment", "filename", "directory", "format", "engine", "encoding"),
    *("graph_attr", "node_attr", "edge_attr", "body", "strict", "renderer"),
    "formatter",
)


def _drawing_options(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `draw_tree` among those that `plot_tree` passes on."""
    options = dict(kwargs)
    unused = [name for name in _OF_DIGRAPH if options.pop(name, None) is not None]
    if unused:
        messages.warn(
            f"plot_tree draws without graphviz: {', '.join(unused)} has no effect. Use"
            " create_tree_digraph.",
            messages.UnusedParameterWarning,
        )
    unknown = options.keys() - {"max_category_values"}
    if unknown:
        name = min(unknown)
        known = inspect.signature(plot_tree).parameters
        raise TypeError(
            f"plot_tree has no argument {name!r}.{messages.hint(name, known)}"
        )
    return options


# --- What plots share -----------------------------------------------------------------


def _booster(booster: Any) -> Booster:
    if isinstance(booster, LGBMModel):
        return booster.booster_
    if isinstance(booster, Booster):
        return booster
    raise TypeError(
        "booster must be a Booster or a fitted estimator of skgoss, got"
        f" {messages.type_name(booster)}."
    )


def _optional(module: str) -> ModuleType:
    return compat.optional(module, "This plot")


def _axes(
    ax: Axes | None, figsize: Pair | None, dpi: float | None, *, margins: bool = True
) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is None:
        figure, ax = _optional("matplotlib.pyplot").subplots(figsize=figsize, dpi=dpi)
        if not margins:
            figure.subplots_adjust(0, 0, 1, 1)
    elif not isinstance(ax, _optional("matplotlib.axes").Axes):
        raise TypeError(f"ax must be Axes of matplotlib, got {type(ax).__name__}.")
    return ax


def _finished(
    ax: Axes,
    title: str | None,
    xlabel: str | None,
    ylabel: str | None,
    grid: bool,
    marks: Mapping[str, str],
    is_new: bool,
) -> Axes:
    """Write the texts around a plot, with marks replaced."""
    for write, text in (
        (ax.set_title, title),
        (ax.set_xlabel, xlabel),
        (ax.set_ylabel, ylabel),
    ):
        for mark, value in marks.items():
            text = text and text.replace(mark, value)
        if text is not None:
            write(text)
    ax.grid(grid)
    ax.set_axisbelow(True)
    if is_new:
        for _ in range(2):  # labels on the right move when names on the left get room
            ax.get_figure().tight_layout()
    return ax


# Pixels of a picture per inch, and the largest side of a new figure in inches.
_PER_INCH, _LARGEST = 80.0, 100.0


def _natural_size(picture: Picture) -> Pair:
    """A size of a figure at which the texts are as large as those of other plots."""
    longest = max(picture.width, picture.height)
    per_inch = max(_PER_INCH, longest / _LARGEST)
    return picture.width / per_inch, picture.height / per_inch


def _add_shapes(ax: Axes, picture: Picture) -> None:
    """Draw shapes in the coordinates of the axes, so that they scale with them."""
    size = ax.get_position().size * ax.get_figure().get_size_inches()
    points = 72 * min(size / (picture.width, picture.height))
    for shape in picture.shapes:
        ax.add_artist(_ARTISTS[type(shape)](shape, points))


def _line(line: Line, points: float) -> Artist:
    x, y = np.transpose(line.points)
    return _optional("matplotlib.lines").Line2D(
        x, -y, color=line.colour, linewidth=line.thickness * points
    )


def _rectangle(rectangle: Rectangle, points: float) -> Artist:
    r = rectangle
    return _optional("matplotlib.patches").FancyBboxPatch(
        (r.x, -r.y - r.height),
        r.width,
        r.height,
        boxstyle=f"round,pad=0,rounding_size={r.radius}",
        facecolor=r.colour,
        edgecolor=r.border,
        linewidth=r.thickness * points,
    )


def _outline(text: Text, points: float) -> Artist:
    """A text as a patch, with dollar signs as they are."""
    path = _optional("matplotlib.textpath").TextPath(
        (0, 0),
        text.text.replace("$", r"\$"),
        size=text.size,
        prop={"weight": "bold" if text.bold else "normal"},
    )
    left = text.x - np.ptp(path.vertices[:, 0]) / 2 if text.centred else text.x
    place = _optional("matplotlib.transforms").Affine2D().translate(left, -text.y)
    return _optional("matplotlib.patches").PathPatch(
        path.transformed(place), facecolor=text.colour, linewidth=0, label=text.text
    )


_ARTISTS: dict[type, Callable[[Any, float], Artist]] = {
    Line: _line,
    Rectangle: _rectangle,
    Text: _outline,
}
