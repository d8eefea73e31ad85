"""Where the boxes of a tree stand in a picture."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from skgoss.inspection.labels import Box

Orientation = Literal["horizontal", "vertical"]
Point = tuple[float, float]

# Sizes in pixels.
TITLE_SIZE, INFO_SIZE = 12.0, 11.0
_LINE_HEIGHT = 16.0
_PADDING_X, _PADDING_Y = 10.0, 5.0
_MARGIN = 10.0
_BETWEEN = 10.0  # between boxes side by side
_BEFORE = 18.0  # from a parent to the place where its edges part
_ARROW = 22.0  # of an edge from there to the child, at least

# Widths of characters of DejaVu Sans and Verdana, as parts of the size.
_WIDTHS = {
    0.45: "fijlrtIJ.,:;|!'`()[]{}/\\ \"-*",
    0.80: "wABCDEGHKNOPQRSTUVXYZ<>=+~#&_≤",
    1.00: "mMW%@…",
}
_WIDTH = {c: width for width, letters in _WIDTHS.items() for c in letters}
_BOLD = 1.1


@dataclass(frozen=True)
class Frame:
    """A box in its place; ``x`` and ``y`` are the upper left corner."""

    box: Box
    x: float
    y: float
    width: float
    height: float

    def lines(self) -> list[tuple[str, Point, bool]]:
        """Each line of text, the middle of its baseline, and whether it is bold."""
        x = self.x + self.width / 2
        top = self.y + _PADDING_Y + 0.75 * _LINE_HEIGHT
        text = [(line, True) for line in self.box.heading]
        text += [(line, False) for line in self.box.info]
        return [
            (line, (x, top + number * _LINE_HEIGHT), bold)
            for number, (line, bold) in enumerate(text)
        ]


@dataclass(frozen=True)
class Edge:
    """A line from a parent to a child, and its label."""

    points: list[Point]
    label: str
    label_at: Point  # the left end of the baseline
    on_path: bool


@dataclass(frozen=True)
class Layout:
    """A picture of a tree, in pixels; y points down."""

    width: float
    height: float
    frames: list[Frame]
    edges: list[Edge]


def text_width(text: str, size: float, bold: bool = False) -> float:
    """About how wide a line of text is, in the units of ``size``."""
    return size * sum(map(_width, text)) * (_BOLD if bold else 1.0)


def _width(character: str) -> float:
    if character in _WIDTH or character.isascii():
        return _WIDTH.get(character, 0.64)
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.0 if unicodedata.combining(character) else 0.8


def layout(boxes: Sequence[Box], orientation: Orientation) -> Layout:
    """Place the boxes of a tree so that nothing overlaps.

    The boxes of a depth begin in one line, and a parent stands in the middle between
    its children. Subtrees are as close as their boxes allow (E. Reingold and J.
    Tilford, "Tidier Drawings of Trees", IEEE Transactions on Software Engineering 7,
    1981).

    Parameters
    ----------
    boxes : sequence of Box
        Parents before children.
    orientation : {"horizontal", "vertical"}
        Whether the root is on the left or at the top.
    """
    down = orientation == "vertical"
    sizes = [_size(box) for box in boxes]
    labels = [text_width(box.edge, INFO_SIZE) for box in boxes]
    along, across = zip(*(size[::-1] if down else size for size in sizes), strict=True)
    # A label stands above the end of an edge, or on the right of it.
    room = [2 * (label + 8) if down else 0.0 for label in labels]
    arrow = [_ARROW if down else max(label + 12, _ARROW) for label in labels]
    depth = _depths(boxes)
    middle = _middles(boxes, list(map(max, across, room)))
    begin, part = _starts(depth, along, arrow)
    frames = [
        Frame(box, *_point(down, begin[level], at - size / 2), *sizes[number])
        for number, (box, level, at, size) in enumerate(
            zip(boxes, depth, middle, across, strict=True)
        )
    ]
    edges = []
    for box, level, at in zip(boxes[1:], depth[1:], middle[1:], strict=True):
        end = begin[level - 1] + along[box.parent]
        corners = [(end, middle[box.parent]), (part[level], middle[box.parent])]
        corners += [(part[level], at), (begin[level], at)]
        label = (begin[level] - 6, at + 4) if down else (part[level] + 6, at - 5)
        points = [_point(down, *corner) for corner in corners]
        edges.append(Edge(points, box.edge, _point(down, *label), box.on_path))
    ends = [frame.x + frame.width for frame in frames]
    ends += [edge.label_at[0] + text_width(edge.label, INFO_SIZE) for edge in edges]
    bottom = max(frame.y + frame.height for frame in frames)
    return Layout(max(ends) + _MARGIN, bottom + _MARGIN, frames, edges)


def _point(down: bool, along: float, across: float) -> Point:
    return (across, along) if down else (along, across)


def _size(box: Box) -> tuple[float, float]:
    widths = [text_width(line, TITLE_SIZE, bold=True) for line in box.heading]
    widths += [text_width(line, INFO_SIZE) for line in box.info]
    height = len(widths) * _LINE_HEIGHT + 2 * _PADDING_Y
    return max(widths) + 2 * _PADDING_X, height


def _depths(boxes: Sequence[Box]) -> list[int]:
    depth: list[int] = []
    for box in boxes:
        depth.append(depth[box.parent] + 1 if box.parent >= 0 else 0)
    return depth


def _starts(
    depth: Sequence[int], along: Sequence[float], arrow: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Where the boxes of each depth begin, and where the edges to them part."""
    n_levels = max(depth) + 1
    longest, arrows = [0.0] * n_levels, [0.0] * n_levels
    for level, size, needed in zip(depth, along, arrow, strict=True):
        longest[level] = max(longest[level], size)
        arrows[level] = max(arrows[level], needed)
    begin, part = [_MARGIN], [0.0]
    for size, needed in zip(longest[:-1], arrows[1:], strict=True):
        part.append(begin[-1] + size + _BEFORE)
        begin.append(part[-1] + needed)
    return begin, part


def _middles(boxes: Sequence[Box], across: Sequence[float]) -> list[float]:
    """The middle of each box, across the levels."""
    n_boxes = len(boxes)
    children: list[list[int]] = [[] for _ in boxes]
    for number, box in enumerate(boxes[1:], 1):
        children[box.parent].append(number)
    from_parent = [0.0] * n_boxes
    # How far a subtree reaches to both sides of its root, level by level.
    reach: dict[int, list[tuple[float, float]]] = {}
    for number in reversed(range(n_boxes)):
        half = across[number] / 2
        below: list[tuple[float, float]] = []
        if children[number]:
            first, second = (reach.pop(child) for child in children[number])
            apart = _BETWEEN + max(
                right - left
                for (_, right), (left, _) in zip(first, second, strict=False)
            )
            below = _side_by_side(first, second, apart / 2)
            left_child, right_child = children[number]
            from_parent[left_child], from_parent[right_child] = -apart / 2, apart / 2
        reach[number] = [(-half, half), *below]
    middle = [_MARGIN - min(left for left, _ in reach[0])]
    for number, box in enumerate(boxes[1:], 1):
        middle.append(middle[box.parent] + from_parent[number])
    return middle


def _side_by_side(
    first: list[tuple[float, float]], second: list[tuple[float, float]], half: float
) -> list[tuple[float, float]]:
    """How far two subtrees reach, seen from the middle between their roots."""
    first = [(left - half, right - half) for left, right in first]
    second = [(left + half, right + half) for left, right in second]
    common = min(len(first), len(second))
    both = [
        (left, right)
        for (left, _), (_, right) in zip(first[:common], second[:common], strict=True)
    ]
    return both + first[common:] + second[common:]
