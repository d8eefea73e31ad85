"""A tree as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from skgoss.booster.booster import Booster
from skgoss.estimators.base import LGBMModel
from skgoss.parameters import docstrings
from skgoss.plotting.plot_arguments import Orientation, check
from skgoss.plotting.tree_labels import NodeLabel, tree_labels
from skgoss.utils.public import set_module


@dataclass(frozen=True, eq=False, repr=False)
class TreeText:
    """A tree as text, which ``print`` and notebooks show."""

    name: str  # the index of the tree and its number of leaves
    nodes: Sequence[NodeLabel]  # parents come before children

    def to_text(self) -> str:
        """Write the tree as text.

        Returns
        -------
        str
            A line for each node and leaf. Lines on the path of the example begin with
            ``*``.
        """
        marks = {True: "* ", False: "  "} if self.nodes[0].on_path else {False: ""}
        last_child = {node.parent: number for number, node in enumerate(self.nodes)}
        lines = [self.name]
        indents: list[str] = []
        for number, node in enumerate(self.nodes):
            before, after = "", ""
            if node.parent >= 0:
                is_last = last_child[node.parent] == number
                before = indents[node.parent] + ("`-- " if is_last else "|-- ")
                after = indents[node.parent] + ("    " if is_last else "|   ")
                before += f"{node.edge}: "
            indents.append(after)
            info = f"  ({', '.join(node.info)})" if node.info else ""
            lines.append(f"{marks[node.on_path]}{before}{node.title}{info}")
        return "\n".join(lines)

    __str__ = __repr__ = to_text


@set_module("skgoss")
@docstrings.describe_tree
def draw_tree(
    booster: Booster | LGBMModel,
    tree_index: int = 0,
    *,
    show_info: Sequence[str] | None = None,
    precision: int | None = 3,
    orientation: Orientation = "horizontal",
    example_case: ArrayLike | None = None,
    max_category_values: int = 10,
) -> TreeText:
    """Draw a tree as text, without other packages.

    Parameters
    ----------
    ... : arguments, which ``help`` describes: the model, Matplotlib's ``ax`` or a new
        figure (``figsize``, ``dpi``), limits, labels and number formats
    orientation : {'horizontal', 'vertical'}, default='horizontal'
        Has no effect on the text. It is accepted because `plot_tree` has it.

    Returns
    -------
    TreeText
        An object that ``print`` and notebooks show as text. The method ``to_text()``
        returns the text.

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
    plot_tree : A tree in a matplotlib figure.
    create_tree_digraph : A tree as a graphviz graph.

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
    `-- no, missing: petal width (cm) <= 1.650
        |-- yes, missing: leaf 1: 1.008
        `-- no: leaf 2: 1.096
    """
    check(orientation=orientation)
    tree = tree_labels(
        booster, tree_index, show_info, precision, example_case, max_category_values
    )
    return TreeText(tree.name, tree.nodes)
