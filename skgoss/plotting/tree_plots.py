"""Plots of trees by matplotlib and graphviz, with LightGBM's signatures.

matplotlib, igraph and graphviz are optional: the functions that need them import them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss.booster.booster import Booster
from skgoss.estimators.base import LGBMModel
from skgoss.parameters import docstrings
from skgoss.plotting.plot_arguments import Orientation, Pair, axes, check, optional
from skgoss.plotting.tree_labels import NodeLabel, TreeLabels, tree_labels
from skgoss.utils import messages
from skgoss.utils.public import set_module

if TYPE_CHECKING:
    from graphviz import Digraph
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

Floats = NDArray[np.float64]
Style = dict[str, Any]

# By the sign of a monotone constraint.
_CONSTRAINT_COLORS = {1: "#ddffdd", -1: "#ffdddd"}
_CONSTRAINT_NAMES = {1: "increasing", -1: "decreasing"}

# --- graphviz -------------------------------------------------------------------------

_RANKDIR = {"horizontal": "LR", "vertical": "TB"}


@set_module("skgoss")
@docstrings.describe_plot(
    "graph = create_tree_digraph(model, tree_index=3)",
    "draw_tree : A tree as text.",
    "plot_tree : A tree in a matplotlib figure.",
    returns="graphviz.Digraph\n    The graph, which notebooks show.",
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
    ... : arguments, which ``help`` describes: the model, Matplotlib's ``ax`` or a new
        figure (``figsize``, ``dpi``), limits, labels and number formats
    **kwargs : dict
        Arguments of ``graphviz.Digraph``.
    """
    check(orientation=orientation)
    tree = tree_labels(
        booster, tree_index, show_info, precision, example_case, max_category_values
    )
    graphviz = optional("graphviz")
    style = {"nodesep": "0.05", "ranksep": "0.3", "rankdir": _RANKDIR[orientation]}
    kwargs["graph_attr"] = style | dict(kwargs.get("graph_attr") or {})
    graph = graphviz.Digraph(**kwargs)
    for node in tree.nodes:
        graph.node(node.key, **_node_style(node, tree.has_constraints, graphviz))
        if node.parent >= 0:
            parent = tree.nodes[node.parent].key
            graph.edge(parent, node.key, label=node.edge, **_pen(node))
    if tree.has_constraints:
        graph.node("legend", _graph_legend(), shape="rectangle", color="white")
    return graph


def _pen(node: NodeLabel) -> dict[str, str]:
    if node.on_path:
        return {"color": "blue", "penwidth": "3"}
    return {"color": "black", "penwidth": "1"}


def _node_style(
    node: NodeLabel, has_constraints: bool, graphviz: ModuleType
) -> dict[str, str]:
    """The attributes of a node in Graphviz's language.

    If the model ``has_constraints``, the color of a split shows that of its column.
    """
    lines = [f"<B>{escape(line)}</B>" for line in node.heading]
    lines += [escape(line) for line in node.info]
    return {
        "label": f"<{'<BR/>'.join(lines)}>",
        "shape": "ellipse" if node.is_leaf else "rectangle",
        "style": "filled" if has_constraints and not node.is_leaf else "",
        "fillcolor": _CONSTRAINT_COLORS.get(node.constraint, "white"),
        "tooltip": graphviz.escape(node.title),
        **_pen(node),
    }


def _graph_legend() -> str:
    """The colors of monotone constraints, as a label of Graphviz: a table in HTML."""
    rows = [
        f'<TR><TD>{_CONSTRAINT_NAMES[sign]}</TD><TD BGCOLOR="{color}"></TD></TR>'
        for sign, color in _CONSTRAINT_COLORS.items()
    ]
    table = '<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4">'
    head = '<TR><TD COLSPAN="2"><B>Monotone constraints</B></TD></TR>'
    return f"<{table}{head}{''.join(rows)}</TABLE>>"


# --- matplotlib -----------------------------------------------------------------------

# Sizes in points, before the tree is scaled to the axes.
_FONT_SIZE, _EDGE_FONT_SIZE = 10.0, 9.0
_PADDING = 5.0  # between the text of a node and its border
_MARGIN = 4.0  # around the label of an edge
_GAP = 9.0  # between neighboring nodes, and around the tree
_BRANCH = 14.0  # from a parent to the point where its edges part
_LEGEND = (180.0, 24.0)  # width and height

# The largest side of a new figure, in inches.
_LARGEST = 100.0

_SPLIT, _LEAF, _BORDER, _PATH = "#eef3fa", "#ffffff", "#6b7f99", "#2f7de1"
_EDGE: Style = {"color": "#8a8a8a", "zorder": 1}

# Names of columns are not formulas, even if they contain dollar signs.
_PLAIN: Style = {"parse_math": False, "usetex": False}
_TEXT = dict(_PLAIN, size=_FONT_SIZE, ha="center", va="center", ma="center")
_EDGE_TEXT = dict(_PLAIN, size=_EDGE_FONT_SIZE, va="bottom", color="#707070")


@set_module("skgoss")
@docstrings.describe_plot(
    "ax = plot_tree(model, tree_index=3)",
    "draw_tree : A tree as text.",
    "create_tree_digraph : A tree as a graphviz graph.",
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

    It needs matplotlib and igraph, but not graphviz. The size of the text is chosen so
    that the tree fits into the axes.

    Parameters
    ----------
    ... : arguments, which ``help`` describes: the model, Matplotlib's ``ax`` or a new
        figure (``figsize``, ``dpi``), limits, labels and number formats
    figsize : pair of float, default=None
        Width and height of a new figure, in inches. None: as the tree requires.
    **kwargs : dict
        ``max_category_values``, as in ``draw_tree``. Arguments of ``graphviz.Digraph``
        have no effect, with an ``UnusedParameterWarning``.
    """
    check(figsize=figsize, orientation=orientation)
    options = _label_options(kwargs)
    tree = tree_labels(
        booster, tree_index, show_info, precision, example_case, **options
    )
    optional("igraph")
    ax, figure = axes(ax, figsize, dpi)
    if figure is not None:
        figure.subplots_adjust(0, 0, 1, 1)
    resized = figure if figsize is None else None
    _draw(ax, tree, orientation == "horizontal", resized)
    return ax


def _draw(ax: Axes, tree: TreeLabels, horizontal: bool, resized: Figure | None) -> None:
    """Draw a tree on axes.

    ``horizontal``: it grows to the right, else downwards. The figure ``resized`` is
    first resized to the tree; None: its size stays.
    """
    alignment = {"ha": "left"} if horizontal else {"va": "top"}
    texts = [
        ax.text(0, 0, "\n".join([*node.heading, *node.info]), **_TEXT | alignment)
        for node in tree.nodes
    ]
    edges = [ax.text(0, 0, node.edge, **_EDGE_TEXT) for node in tree.nodes]
    # [::step] converts coordinates (along, across) the direction of growth to (x, y),
    # and back.
    step = 1 if horizontal else -1
    layout = _layout(
        tree.nodes,
        _sizes(texts)[:, ::step] + 2 * _PADDING,
        _sizes(edges)[:, ::step] + 2 * _MARGIN,
    )
    width, height = layout.size[::step]
    if tree.has_constraints:
        width, height = max(width, _LEGEND[0]), height + _LEGEND[1]
    scale = _fit(ax, width, height, resized)
    positions = zip(layout.start, layout.bend, layout.middle, strict=True)
    for node, text, edge, position in zip(
        tree.nodes, texts, edges, positions, strict=True
    ):
        start, bend, middle = position
        pen: Style = {"linewidth": scale * (3.0 if node.on_path else 1.0)}
        text.set_position((start + _PADDING, middle)[::step])
        text.set_bbox(_box(node) | pen)
        if node.parent >= 0:
            parent = layout.start[node.parent], layout.middle[node.parent]
            corners = parent, (bend, parent[1]), (bend, middle), (start, middle)
            line: Style = {"color": _PATH, "zorder": 1.1} if node.on_path else _EDGE
            ax.plot(*np.transpose(corners)[::step], **line | pen)
            above = bend + _MARGIN, middle - 2
            alongside = middle + _MARGIN, start - _MARGIN
            edge.set_position(above if horizontal else alongside)
    for text in (*texts, *edges):
        text.set_fontsize(scale * float(text.get_fontsize()))
    if tree.has_constraints:
        _add_legend(ax, scale)


def _sizes(texts: Sequence[Text]) -> Floats:
    """The widths and heights of texts in points, (n_texts, 2)."""
    bounds = [text.get_window_extent() for text in texts]
    points = 72 / texts[0].figure.dpi
    return points * np.array([(box.width, box.height) for box in bounds])


def _fit(ax: Axes, width: float, height: float, resized: Figure | None) -> float:
    """Set the limits of the axes so that a drawing fits.

    ``width`` and ``height`` are those of the drawing in points; the result is the
    factor by which it is scaled. The figure ``resized``, if any, gets the size of the
    drawing first.
    """
    if resized is not None:
        inches = width / 72, height / 72
        scale = min(1, _LARGEST / max(inches))
        resized.set_size_inches((scale * inches[0], scale * inches[1]))
    ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    ax.set_axis_off()
    bounds = ax.get_window_extent()
    return 72 / ax.figure.dpi * min(bounds.width / width, bounds.height / height)


def _box(node: NodeLabel) -> dict[str, Any]:
    """The border of a node."""
    shape = "round" if node.is_leaf else "square"
    return {
        "boxstyle": f"{shape},pad={_PADDING / _FONT_SIZE}",
        "facecolor": _CONSTRAINT_COLORS.get(
            node.constraint, _LEAF if node.is_leaf else _SPLIT
        ),
        "edgecolor": _PATH if node.on_path else _BORDER,
    }


def _add_legend(ax: Axes, scale: float) -> None:
    """Add the colors of monotone constraints; ``scale`` is that of the drawing."""
    patch = optional("matplotlib.patches").Patch
    handles = [
        patch(
            facecolor=color,
            edgecolor=_BORDER,
            linewidth=scale,
            label=_CONSTRAINT_NAMES[sign],
        )
        for sign, color in _CONSTRAINT_COLORS.items()
    ]
    ax.legend(
        handles=handles,
        loc="lower left",
        ncols=len(handles),
        frameon=False,
        fontsize=scale * _EDGE_FONT_SIZE,
    )


class _TreeLayout(NamedTuple):
    """The positions of the nodes of a tree, in points."""

    start: Floats  # (n_nodes,): where each node begins, in the direction of growth
    bend: Floats  # (n_nodes,): where the edge to each node and that to its sibling part
    # (n_nodes,): the middle of each node, across the direction of growth.
    middle: Floats
    size: Pair  # the size of the tree, along and across


def _layout(nodes: Sequence[NodeLabel], boxes: Floats, edges: Floats) -> _TreeLayout:
    """Lay a tree out so that nothing overlaps.

    ``boxes`` and ``edges``, (n_nodes, 2), are the sizes of the nodes and of the labels
    of the edges to them in points: along and across the direction of growth. The order
    of siblings and their distances are those of Reingold and Tilford's algorithm.
    """
    pairs = [(node.parent, number) for number, node in enumerate(nodes) if number]
    graph = optional("igraph").Graph(n=len(nodes), edges=pairs)
    breadth, level = np.transpose(graph.layout_reingold_tilford(root=[0]).coords)
    level = level.astype(np.intp)
    longest, arrow = np.zeros((2, level.max() + 1))
    np.maximum.at(longest, level, boxes[:, 0])
    np.maximum.at(arrow, level, edges[:, 0])
    steps = longest[:-1] + _BRANCH + arrow[1:]
    start = _GAP + np.cumsum([0.0, *steps])
    middle = breadth * _smallest_unit(breadth, level, boxes[:, 1], edges[:, 1])
    reach = np.maximum(boxes[:, 1] / 2, edges[:, 1])
    middle += _GAP - (middle - reach).min()
    size = start[-1] + longest[-1] + _GAP, (middle + reach).max() + _GAP
    return _TreeLayout(start[level], (start - arrow)[level], middle, size)


def _smallest_unit(
    breadth: Floats, level: NDArray[np.intp], box: Floats, edge: Floats
) -> float:
    """The smallest factor of breadths for which no nodes of a level overlap.

    For each node: its ``breadth``, a position across the direction of growth in any
    unit, its ``level``, and the sizes of its ``box`` and of the label of its ``edge``,
    in points.
    """
    order = np.lexsort((breadth, level))
    same_level = np.diff(level[order]) == 0
    left, right = order[:-1][same_level], order[1:][same_level]
    boxes = (box[left] + box[right]) / 2
    needed = np.maximum(boxes, np.maximum(edge[left], edge[right])) + _GAP
    return (needed / (breadth[right] - breadth[left])).max(initial=0.0)


# Arguments of graphviz.Digraph, which LightGBM's plot_tree passes on.
_DIGRAPH_ARGUMENTS = """
    name comment filename directory format engine encoding graph_attr node_attr
    edge_attr body strict renderer formatter
"""


def _label_options(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `tree_labels` among those that `plot_tree` passes on."""
    options = dict(kwargs)
    names = _DIGRAPH_ARGUMENTS.split()
    unused = [name for name in names if options.pop(name, None) is not None]
    if unused:
        messages.warn_unused(
            f"plot_tree draws without graphviz: {', '.join(unused)} has no effect. Use"
            " create_tree_digraph."
        )
    unknown = options.keys() - {"max_category_values"}
    if unknown:
        name = min(unknown)
        close = messages.hint(name, inspect.signature(plot_tree).parameters)
        advice = " Use tree_index." if name == "num_trees" else close
        raise TypeError(f"plot_tree has no argument {name!r}.{advice}")
    return options
