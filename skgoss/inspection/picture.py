"""A picture of a tree: shapes, and their SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from skgoss.inspection.labels import Box
from skgoss.inspection.layout import (
    INFO_SIZE,
    TITLE_SIZE,
    Edge,
    Frame,
    Orientation,
    Point,
    layout,
    text_width,
)

# Colours that can be seen on light and on dark backgrounds, and those inside of boxes.
_EDGE, _PATH, _LABEL = "#8a8a8a", "#2f7de1", "#7a7a7a"
_TEXT, _BORDER = "#1a1a1a", "#6b7f99"
_SPLIT, _LEAF = "#eef3fa", "#ffffff"

# By the sign of a monotone constraint.
SIGN_COLOURS = {1: "#ddffdd", -1: "#ffdddd"}
SIGN_NAMES = {1: "increasing", -1: "decreasing"}

_SWATCH = 12.0


@dataclass(frozen=True)
class Line:
    """Straight lines through points."""

    points: Sequence[Point]
    colour: str
    thickness: float


@dataclass(frozen=True)
class Rectangle:
    """A rectangle; ``x`` and ``y`` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    colour: str
    border: str
    thickness: float
    hint: str = ""


@dataclass(frozen=True)
class Text:
    """A line of text; ``y`` is its baseline, ``x`` its left end or its middle."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    bold: bool = False
    centred: bool = False


Shape = Line | Rectangle | Text


@dataclass(frozen=True)
class Picture:
    """Shapes in the order in which they are drawn; in pixels, y points down."""

    width: float
    height: float
    shapes: list[Shape]


def picture(boxes: Sequence[Box], orientation: Orientation, legend: bool) -> Picture:
    """Draw the boxes of a tree.

    Parameters
    ----------
    boxes : sequence of Box
    orientation : {"horizontal", "vertical"}
    legend : bool
        Whether to explain the colours of monotone constraints.
    """
    placed = layout(boxes, orientation)
    edges = sorted(placed.edges, key=lambda edge: edge.on_path)
    shapes = [shape for edge in edges for shape in _edge(edge)]
    shapes += [shape for frame in placed.frames for shape in _frame(frame)]
    if not legend:
        return Picture(placed.width, placed.height, shapes)
    explained, right = _legend(placed.height)
    bottom = placed.height + 2 * _SWATCH
    return Picture(max(placed.width, right), bottom, shapes + explained)


def _edge(edge: Edge) -> Iterator[Shape]:
    colour, thickness = (_PATH, 3.0) if edge.on_path else (_EDGE, 1.2)
    yield Line(edge.points, colour, thickness)
    yield Text(*edge.label_at, edge.label, INFO_SIZE, _LABEL)


def _frame(frame: Frame) -> Iterator[Shape]:
    box = frame.box
    border, thickness = (_PATH, 3.0) if box.on_path else (_BORDER, 1.0)
    yield Rectangle(
        frame.x,
        frame.y,
        frame.width,
        frame.height,
        12.0 if box.is_leaf else 3.0,
        SIGN_COLOURS.get(box.sign, _LEAF if box.is_leaf else _SPLIT),
        border,
        thickness,
        "\n".join([box.title, *box.details]),
    )
    for line, (x, y), bold in frame.lines():
        size = TITLE_SIZE if bold else INFO_SIZE
        yield Text(x, y, line, size, _TEXT, bold, centred=True)


def _legend(y: float) -> tuple[list[Shape], float]:
    """The colours of the constraints, and where their explanation ends."""
    shapes: list[Shape] = []
    x, baseline = 2 * _SWATCH, y + 0.85 * _SWATCH
    for sign, name in SIGN_NAMES.items():
        colour = SIGN_COLOURS[sign]
        shapes.append(Rectangle(x, y, _SWATCH, _SWATCH, 2.0, colour, _BORDER, 1.0))
        x += 1.5 * _SWATCH
        shapes.append(Text(x, baseline, name, INFO_SIZE, _LABEL))
        x += text_width(name, INFO_SIZE) + _SWATCH
    return shapes, x


def svg(picture: Picture, name: str) -> str:
    """Write a picture as SVG, without a background.

    Parameters
    ----------
    picture : Picture
    name : str
        What the picture shows, for those who cannot see it.

    Returns
    -------
    str
        An ``svg`` element.
    """
    width, height = f"{picture.width:.0f}", f"{picture.height:.0f}"
    name = escape(name)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}"'
            f' width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
            ' font-family="Verdana, DejaVu Sans, sans-serif">',
            f"<title>{name}</title>",
            *(_ELEMENTS[type(shape)](shape) for shape in picture.shapes),
            "</svg>",
        ]
    )


def _polyline(line: Line) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line.points)
    return (
        f'<polyline points="{points}" fill="none" stroke="{line.colour}"'
        f' stroke-width="{line.thickness}"/>'
    )


def _rect(rectangle: Rectangle) -> str:
    r = rectangle
    return (
        f'<rect x="{r.x:.1f}" y="{r.y:.1f}" width="{r.width:.1f}"'
        f' height="{r.height:.1f}" rx="{r.radius}" fill="{r.colour}"'
        f' stroke="{r.border}" stroke-width="{r.thickness}">'
        f"<title>{escape(r.hint)}</title></rect>"
    )


def _text(text: Text) -> str:
    # Without pointer-events, hints of a box are shown on its text as well.
    weight = ' font-weight="bold"' if text.bold else ""
    anchor = ' text-anchor="middle"' if text.centred else ""
    return (
        f'<text x="{text.x:.1f}" y="{text.y:.1f}" font-size="{text.size:.0f}"'
        f' fill="{text.colour}"{weight}{anchor} pointer-events="none">'
        f"{escape(text.text)}</text>"
    )


_ELEMENTS: dict[type, Callable[[Any], str]] = {
    Line: _polyline,
    Rectangle: _rect,
    Text: _text,
}
