"""Drawings of trees: labels, places, text and SVG."""

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from skgoss.inspection.drawing import TreeDrawing
from skgoss.inspection.labels import INFO, Labels, one_line
from skgoss.inspection.layout import INFO_SIZE, TITLE_SIZE, layout, text_width
from skgoss.inspection.picture import Text

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["age", "a name of thirty characters or more", "city", "x", "$ per m²"]


def node(left, right, **changes):
    values = {
        "split_index": 0,
        "split_feature": 0,
        "split_gain": 12.25,
        "threshold": 0.5,
        "decision_type": "<=",
        "default_left": False,
        "missing_type": "None",
        "internal_value": 0.25,
        "internal_weight": 3,
        "internal_count": 100,
        "left_child": left,
        "right_child": right,
    }
    return values | changes


def leaf(index, value=0.125, **more):
    known = {"leaf_value": value, "leaf_weight": 2.5, "leaf_count": 40}
    return {"leaf_index": index, **known, **more}


def grown(n_leaves, seed=0):
    """A tree of random shape."""
    rng = np.random.default_rng(seed)
    parts = [leaf(number, rng.normal()) for number in range(n_leaves)]
    for number in reversed(range(n_leaves - 1)):
        left = parts.pop(int(rng.integers(len(parts))))
        right = parts.pop(int(rng.integers(len(parts))))
        changes = {
            "split_index": number,
            "split_feature": int(rng.integers(len(NAMES))),
            "threshold": rng.normal() * 10.0 ** rng.integers(-6, 12),
            "missing_type": str(rng.choice(["None", "NaN", "Zero"])),
            "default_left": bool(rng.integers(2)),
        }
        parts.append(node(left, right, **changes))
    return parts[0]


def labels(**changes):
    values = {
        "names": NAMES,
        "categories": {},
        "signs": [],
        "show_info": [],
        "precision": 3,
        "max_category_values": 10,
    }
    return Labels(**values | changes)


def question(**changes):
    options = {
        name: changes.pop(name)
        for name in ("categories", "precision", "max_category_values")
        if name in changes
    }
    return labels(**options).boxes(node(leaf(0), leaf(1), **changes))[0].title


# --- What is told ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "age <= 0.500"),
        ({"threshold": 3}, "age <= 3.000"),
        ({"precision": 0, "threshold": 2.0}, "age <= 2"),
        ({"precision": None, "threshold": 0.1234567}, "age <= 0.1234567"),
        ({"threshold": 1e-35}, "age <= 0.000"),
        ({"threshold": -0.00012}, "age <= -0.00012"),
        ({"threshold": 1.5e12}, "age <= 1.5e+12"),
        ({"threshold": 1e300, "missing_type": "NaN"}, "age is not missing"),
        ({"threshold": 1e300, "missing_type": "Zero"}, "age is not missing or 0"),
        ({"categories": {0: ["S", "M", "L"]}, "threshold": 1.5}, "age <= M"),
        ({"categories": {0: ["S", "M", "L"]}, "threshold": 9.5}, "age <= 9.500"),
        ({"categories": {1: ["S", "M", "L"]}, "threshold": 1.5}, "age <= 1.500"),
    ],
)
def test_questions_of_numbers(changes, title):
    assert question(**changes) == title


@pytest.mark.parametrize(
    ("threshold", "most", "title"),
    [
        ("1", 10, "city = Rome"),
        ("0||2", 10, "city in Oslo, <b>"),
        ("0||1||2", 2, "city in Oslo, Rome, ..."),
        ("7", 10, "city = 7"),
    ],
)
def test_questions_of_categories(threshold, most, title):
    changes = {"split_feature": 2, "threshold": threshold, "decision_type": "=="}
    known = {2: ["Oslo", "Rome", "<b>"]}
    assert title == question(
        **changes, categories=known, max_category_values=most, missing_type="NaN"
    )


@pytest.mark.parametrize(
    ("changes", "edges"),
    [
        ({}, ["yes", "no"]),
        ({"default_left": True}, ["yes", "no"]),
        ({"missing_type": "NaN"}, ["yes", "no, missing"]),
        ({"missing_type": "NaN", "default_left": True}, ["yes, missing", "no"]),
        ({"missing_type": "Zero"}, ["yes", "no, missing or 0"]),
        ({"missing_type": "NaN", "threshold": 1e300}, ["yes", "no"]),
        (
            {"missing_type": "NaN", "threshold": "0", "decision_type": "=="},
            ["yes", "no"],
        ),
    ],
)
def test_edges_tell_where_missing_values_go(changes, edges):
    boxes = labels().boxes(node(leaf(0), leaf(1), **changes))
    assert [box.edge for box in boxes] == ["", *edges]


def test_info_has_one_order_and_shares_of_the_root():
    tree = node(leaf(0), leaf(1))
    root, left, _ = labels(show_info=list(INFO)[::-1]).boxes(tree)
    assert root.info == [
        "gain 12.250",
        "value 0.250",
        "weight 3.000",
        "count 100",
        "100.00% of data",
    ]
    assert left.info == ["weight 2.500", "count 40", "40.00% of data"]
    root, left, _ = labels(show_info=["leaf_count"]).boxes(tree)
    assert (root.info, left.info) == ([], ["count 40"])
    assert root.details[0] == "gain 12.250"


def test_linear_leaves_show_their_formula():
    model = {"leaf_const": 1, "leaf_features": [0, 3], "leaf_coeff": [-0.5, 2]}
    tree = node(
        leaf(0, **model), leaf(1, leaf_const=2, leaf_features=[], leaf_coeff=[])
    )
    _, left, right = labels().boxes(tree)
    assert left.info == ["= 1.000 - 0.500 age + 2.000 x"]
    assert right.info == []


def test_names_are_one_line():
    assert one_line("a\nb\x00\u202e\ud800 é\xa0") == "a\\nb\\x00\\u202e\\ud800 é "
    assert one_line("abcdefghij", 5) == "ab…ij"


def test_long_names_are_shortened_in_pictures_only():
    tree = node(leaf(0), leaf(1), split_feature=1)
    box = labels().boxes(tree)[0]
    assert box.title == f"{NAMES[1]} <= 0.500"
    assert all(len(line) <= 40 for line in box.heading)
    heading = " ".join(box.heading)
    assert "…" in heading
    assert heading.endswith(" ≤ 0.500")


def test_the_path_leads_to_the_leaf():
    tree = grown(31)
    for number in range(31):
        boxes = labels().boxes(tree, number)
        path = {place for place, box in enumerate(boxes) if box.on_path}
        (end,) = [place for place in path if boxes[place].is_leaf]
        assert boxes[end].key == f"leaf{number}"
        assert path == {end, *ancestors(boxes, end)}


def ancestors(boxes, place):
    while boxes[place].parent >= 0:
        place = boxes[place].parent
        yield place


# --- Places ---------------------------------------------------------------------------


def rectangles(picture):
    """Boxes and labels of edges: left, top, right, bottom."""
    for frame in picture.frames:
        yield frame.x, frame.y, frame.x + frame.width, frame.y + frame.height
    for edge in picture.edges:
        x, y = edge.label_at
        yield x, y - 0.7 * INFO_SIZE, x + text_width(edge.label, INFO_SIZE), y


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 15, 31, 63])
def test_nothing_overlaps(n_leaves, orientation):
    for seed in range(3):
        tree = grown(n_leaves, seed)
        boxes = labels(show_info=["leaf_count", "split_gain"]).boxes(tree)
        picture = layout(boxes, orientation)
        solid = list(rectangles(picture))
        assert not any(overlap(a, b) for a, b in combinations(solid, 2))
        lines = [
            (min(x, u), min(y, v), max(x, u), max(y, v))
            for edge in picture.edges
            for (x, y), (u, v) in zip(edge.points[:-1], edge.points[1:], strict=True)
        ]
        assert not any(overlap(line, one) for line in lines for one in solid)
        for left, top, right, bottom in solid:
            assert min(left, top) > 0
            assert right < picture.width
            assert bottom < picture.height


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
def test_parents_stand_between_their_children(orientation):
    boxes = labels().boxes(grown(31))
    frames = layout(boxes, orientation).frames
    children = {}
    for number, box in enumerate(boxes[1:], 1):
        children.setdefault(box.parent, []).append(number)
    for parent, (left, right) in children.items():
        places = [
            f.y + f.height / 2 if orientation == "horizontal" else f.x + f.width / 2
            for f in (frames[left], frames[parent], frames[right])
        ]
        assert places[0] < places[1] < places[2]
        assert places[1] == pytest.approx((places[0] + places[2]) / 2)


def test_deep_trees_are_drawn():
    tree = leaf(0)
    for number in range(2000):
        tree = node(tree, leaf(number + 1), split_index=number)
    drawing = TreeDrawing("deep", labels().boxes(tree), "horizontal", False)
    assert drawing.to_text().count("\n") == 4001
    assert drawing.to_svg().count("<rect") == 4001


@pytest.mark.parametrize("bold", [False, True])
def test_texts_fit_into_their_boxes(bold):
    textpath = pytest.importorskip("matplotlib.textpath")
    font = {"family": "DejaVu Sans", "weight": "bold" if bold else "normal"}
    words = [
        "age ≤ 0.500",
        "leaf 12: -1234.567",
        "petal length (cm) ≤ 2.450",
        "WINDOW_MMM in WW, MM, ...",
        "illicit filling ≤ 1.111",
        "gain 1487.330",
    ]
    for word in words:
        path = textpath.TextPath((0, 0), word, size=TITLE_SIZE, prop=font)
        ratio = path.get_extents().width / text_width(word, TITLE_SIZE, bold)
        assert 0.7 < ratio < 1.1


# --- Text and SVG ---------------------------------------------------------------------


def drawing(tree=None, leaf=None, orientation="horizontal", legend=False, **options):
    tree = grown(15) if tree is None else tree
    return TreeDrawing(
        "Tree 0: <15> leaves", labels(**options).boxes(tree, leaf), orientation, legend
    )


def test_text():
    tree = node(
        node(leaf(0), leaf(2), split_index=1, split_feature=3, missing_type="NaN"),
        leaf(1, -2),
    )
    made = drawing(tree, show_info=["leaf_count"])
    assert str(made) == repr(made)
    assert str(made).splitlines() == [
        "Tree 0: <15> leaves",
        "age <= 0.500",
        "|-- yes: x <= 0.500",
        "|   |-- yes: leaf 0: 0.125  (count 40)",
        "|   `-- no, missing: leaf 2: 0.125  (count 40)",
        "`-- no: leaf 1: -2.000  (count 40)",
    ]
    assert str(drawing(tree, leaf=2)).splitlines()[1:] == [
        "* age <= 0.500",
        "* |-- yes: x <= 0.500",
        "  |   |-- yes: leaf 0: 0.125",
        "* |   `-- no, missing: leaf 2: 0.125",
        "  `-- no: leaf 1: -2.000",
    ]


def test_a_tree_of_one_leaf():
    made = drawing({"leaf_value": 2.5}, leaf=0)
    assert str(made).splitlines()[1:] == ["* leaf 0: 2.500"]
    assert len(texts(made.to_svg())) == 1


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
def test_svg_holds_the_texts_of_the_picture(orientation):
    made = drawing(orientation=orientation)
    root = ElementTree.fromstring(made.to_svg())
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.find(f"{SVG}title").text == made.name
    shown = [shape.text for shape in made.picture.shapes if isinstance(shape, Text)]
    assert texts(made.to_svg()) == shown
    for box in made.boxes:
        assert set(box.heading) <= set(shown)
    hints = [rect.find(f"{SVG}title").text for rect in root.iter(f"{SVG}rect")]
    assert [hint.split("\n")[0] for hint in hints] == [box.title for box in made.boxes]
    assert made._repr_svg_() == made.to_svg()
    assert made.to_svg() in made._repr_html_()


BAD = ["<script>alert(1)</script>", '"onload="x', "a&b;\x00\x1b\ud83d", "]]>", "</svg>"]


@pytest.mark.parametrize("name", BAD)
def test_names_and_categories_are_escaped(name):
    changes = {"split_feature": 2, "threshold": "0", "decision_type": "=="}
    tree = node(leaf(0), leaf(1), **changes)
    names = [*NAMES[:2], name, *NAMES[3:]]
    made = drawing(tree, names=names, categories={2: [name]})
    root = ElementTree.fromstring(made.to_svg().encode())
    tags = {"svg", "title", "polyline", "rect", "text"}
    assert {element.tag for element in root.iter()} == {SVG + tag for tag in tags}
    assert one_line(name) in " ".join(texts(made.to_svg()))
    known = {"x", "y", "width", "height", "rx", "fill", "stroke", "stroke-width"}
    assert all(set(rect.attrib) == known for rect in root.iter(f"{SVG}rect"))


def test_highlights_and_constraints_have_colours():
    made = drawing(leaf=3, legend=True, signs=[1, -1, 0, 0, 1])
    root = ElementTree.fromstring(made.to_svg())
    rects = list(root.iter(f"{SVG}rect"))
    boxes, legend = rects[: len(made.boxes)], rects[len(made.boxes) :]
    fills = {0: {"#eef3fa", "#ffffff"}, 1: {"#ddffdd"}, -1: {"#ffdddd"}}
    for rect, box in zip(boxes, made.boxes, strict=True):
        assert (rect.get("stroke-width") == "3.0") == box.on_path
        assert rect.get("fill") in fills[box.sign]
    assert [rect.get("fill") for rect in legend] == ["#ddffdd", "#ffdddd"]
    assert {"increasing", "decreasing"} <= set(texts(made.to_svg()))
    thick = [
        line
        for line in root.iter(f"{SVG}polyline")
        if line.get("stroke-width") == "3.0"
    ]
    assert len(thick) == sum(box.on_path for box in made.boxes) - 1
