"""A tree as text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from skgoss.inspection.labels import Box
from skgoss.inspection.layout import Orientation
from skgoss.inspection.picture import Picture, picture, svg


@dataclass(frozen=True, eq=False, repr=False)
class TreeDrawing:
    """A tree as text and as a picture.

    ``print`` shows text, and a notebook the picture. Neither needs another library.

    Attributes
    ----------
    name : str
        The number of the tree and its size.
    boxes : sequence of Box
        What the drawing tells about the nodes and leaves; parents before children.
    orientation : {"horizontal", "vertical"}
        Whether the root of the picture is on the left or at the top.
    legend : bool
        Whether the picture explains the colours of monotone constraints.
    """

    name: str
    boxes: Sequence[Box]
    orientation: Orientation
    legend: bool

    @cached_property
    def picture(self) -> Picture:
        """The shapes of the picture."""
        return picture(self.boxes, self.orientation, self.legend)

    def to_text(self) -> str:
        """Write the tree as text.

        Returns
        -------
        str
            A line for each node and leaf. Lines on the path of the example begin with
            ``*``.
        """
        marks = {True: "* ", False: "  "} if self.boxes[0].on_path else {False: ""}
        last_child = {box.parent: number for number, box in enumerate(self.boxes)}
        lines, indents = [self.name], []
        for number, box in enumerate(self.boxes):
            before, after = "", ""
            if box.parent >= 0:
                is_last = last_child[box.parent] == number
                before = indents[box.parent] + ("`-- " if is_last else "|-- ")
                after = indents[box.parent] + ("    " if is_last else "|   ")
                before += f"{box.edge}: "
            indents.append(after)
            info = f"  ({', '.join(box.info)})" if box.info else ""
            lines.append(f"{marks[box.on_path]}{before}{box.title}{info}")
        return "\n".join(lines)

    def to_svg(self) -> str:
        """Draw the tree.

        Returns
        -------
        str
            An ``svg`` element with a transparent background, for files and pages.
        """
        return svg(self.picture, self.name)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto">{self.to_svg()}</div>'
