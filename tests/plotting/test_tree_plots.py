"""Trees as Graphviz and igraph draw them."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import skgoss
from helpers.tree_nodes import BAD, grown, labels
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.plotting.tree_labels import TreeLabels
from skgoss.plotting.tree_plots import _draw
from skgoss.utils.messages import one_line

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")
from helpers.plots import as_ours, seen, table, theirs  # noqa: E402

ALL_INFO = [
    "split_gain",
    "internal_value",
    "internal_count",
    "internal_weight",
    "leaf_count",
    "leaf_weight",
    "data_percentage",
]


NODE = re.compile(r"^\t(\w+) \[label=<(.*)> color=(\w+) fillcolor=(\S+) penwidth=(\d)")
EDGE = re.compile(r"^\t(\w+) -> (\w+) \[label=\"?(yes|no).* color=(\w+) penwidth=(\d)")


def graph_of(source):
    """The colors of nodes, the numbers in their labels, and the edges."""
    styles, labels, edges = {}, {}, set()
    for line in source.splitlines():
        if found := NODE.match(line):
            key, label, *style = found.groups()
            if key != "legend":
                label = re.sub(r"<.*?>|&#\d+;", " ", label)
                styles[key] = style
                labels[key] = list(
                    map(float, re.findall(r"-?\d+(?:\.\d+)?(?:e-\d+)?", label))
                )
        elif found := EDGE.match(line):
            edges.add(found.groups())
    return styles, labels, edges


TREES = {
    "plain": {},
    "zeros": {"zero_as_missing": True},
    "signs": {"monotone_constraints": [1, 0, -1, 0, 0]},
    "classes": {"objective": "multiclass", "num_class": 3},
}


@pytest.mark.parametrize("params", TREES.values(), ids=TREES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"show_info": ALL_INFO, "orientation": "vertical"},
        {"show_info": ["leaf_count", "split_gain"], "precision": 1},
    ],
)
def test_digraph_is_lightgbms(params, options):
    pytest.importorskip("graphviz")
    booster, X = theirs(**params)
    ours = as_ours(booster)
    for tree_index in (0, booster.num_trees() - 1):
        for row in (None, 0, 1, 2, 3):
            case = None if row is None else X.iloc[[row]]
            given = {"tree_index": tree_index, "example_case": case, **options}
            made = skgoss.create_tree_digraph(ours, **given)
            expected = lightgbm.create_tree_digraph(booster, **given)
            styles, labels, edges = graph_of(made.source)
            their_styles, their_labels, their_edges = graph_of(expected.source)
            assert (styles, edges) == (their_styles, their_edges)
            assert labels.keys() == their_labels.keys()
            # Theirs are rounded to zero where ours are not.
            unit = 10.0 ** -options.get("precision", 3)
            for key, numbers in labels.items():
                assert numbers == pytest.approx(their_labels[key], abs=unit / 2)
            line = made.source.splitlines()[1]
            assert line == expected.source.splitlines()[1]
            assert "rankdir" in line


def goes_left(node, value):
    """LightGBM's rule, for columns whose categories are words."""
    if node["decision_type"] == "==":
        return value in [
            CITIES[int(number)] for number in node["threshold"].split("||")
        ]
    missing = {"NaN": value != value, "Zero": value != value or value == 0}
    if missing.get(node["missing_type"], False):
        return node["default_left"]
    return np.nan_to_num(value) <= node["threshold"]


CITIES = sorted(["Oslo", "Rome", "a<b", "Bern", "Wien", "Prag"])


def walked(node, row):
    while "split_index" in node:
        yield f"split{node['split_index']}"
        side = goes_left(node, row.iloc[node["split_feature"]])
        node = node["left_child" if side else "right_child"]
    yield f"leaf{node['leaf_index']}"


@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_the_path_of_an_example(zero_as_missing):
    X, y = table()
    X.loc[::10, "city"] = None
    model = LGBMRegressor(
        n_estimators=3, num_leaves=20, zero_as_missing=zero_as_missing, cat_smooth=1
    ).fit(X, y)
    kinds = set()
    for tree in (0, 2):
        root = model.booster_.dump_model()["tree_info"][tree]["tree_structure"]
        for row in range(40):
            text = skgoss.draw_tree(model, tree, example_case=X.iloc[[row]])
            path = [node.key for node in text.nodes if node.on_path]
            assert path == list(walked(root, X.iloc[row]))
        kinds |= set(re.findall(r"missing_type': '(\w+)", str(root)))
        assert "==" in str(root)
    assert ("Zero" if zero_as_missing else "NaN") in kinds


def test_categories_have_names():
    X, y = table()
    X["size"] = pd.Categorical(
        np.where(X["age"] > 50, "large", np.where(X["age"] > 30, "mid", "small")),
        categories=["small", "mid", "large"],
        ordered=True,
    )
    X["rank"] = np.random.default_rng(1).choice([3, 17, 99], len(X))
    y = y + 3 * (X["rank"] == 17)
    model = LGBMRegressor(n_estimators=1, num_leaves=40, cat_smooth=1).fit(
        X.drop(columns="age"), y, categorical_feature=["city", "rank"]
    )
    titles = [node.title for node in skgoss.draw_tree(model).nodes if not node.is_leaf]
    assert "size <= mid" in titles
    assert "rank = 17" in titles
    cities = [title for title in titles if title.startswith("city")]
    assert cities
    for title in cities:
        assert set(re.split(" = | in |, ", title)[1:]) <= set(CITIES)
    listed = skgoss.draw_tree(model, max_category_values=1)
    assert any(
        node.title.startswith("city in") and node.title.endswith(", ...")
        for node in listed.nodes
    )
    pytest.importorskip("graphviz")
    source = skgoss.create_tree_digraph(model).source
    assert "a<b" not in re.sub('tooltip="[^"]*"', "", source)
    assert "a&lt;b" in source
    labels = re.findall(r"\[label=<(.*?)> color=", source)
    assert len(labels) == len(listed.nodes)
    for label in labels:
        ElementTree.fromstring(f"<label>{label}</label>")


def test_digraph_takes_the_arguments_of_graphviz():
    pytest.importorskip("graphviz")
    X, y = table()
    model = LGBMRegressor(n_estimators=1).fit(X, y)
    graph = skgoss.create_tree_digraph(
        model, name="first", comment="no comment", graph_attr={"nodesep": "1"}
    )
    assert (graph.name, graph.comment) == ("first", "no comment")
    assert graph.graph_attr == {"nodesep": "1", "ranksep": "0.3", "rankdir": "LR"}


@pytest.mark.parametrize("name", BAD)
def test_names_and_categories_are_escaped(name):
    pytest.importorskip("graphviz")
    X = pd.DataFrame({"x": [name, "b"] * 100}, dtype=object)
    X.columns = pd.Index([name], dtype=object)
    model = LGBMRegressor(n_estimators=1).fit(X, np.arange(200) % 2)
    source = skgoss.create_tree_digraph(model).source
    labels = re.findall(r"\[label=<(.*?)> color=", source)
    shown = ["".join(ElementTree.fromstring(f"<b>{x}</b>").itertext()) for x in labels]
    assert len(shown) == 3
    assert shown[0].startswith(one_line(name))
    skgoss.plot_tree(model).get_figure().canvas.draw()


def nodes_of(ax):
    """The texts of nodes, in the order of the labels."""
    return [text for text in ax.texts if text.get_bbox_patch() is not None]


def edges_of(ax):
    """The texts of edges, in the order of the labels."""
    return [text for text in ax.texts if text.get_bbox_patch() is None]


def bounds_of(ax):
    """The pixels of nodes, and of the labels of edges."""
    ax.get_figure().draw_without_rendering()
    nodes = [text.get_bbox_patch().get_window_extent() for text in nodes_of(ax)]
    return nodes, [text.get_window_extent() for text in edges_of(ax)[1:]]


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
def test_plot_shows_the_labels(orientation):
    X, y = table()
    model = LGBMRegressor(n_estimators=2, monotone_constraints={"age": 1}).fit(X, y)
    options = {"tree_index": -1, "show_info": ALL_INFO, "example_case": X.iloc[[3]]}
    options |= {"max_category_values": 1}
    nodes = skgoss.draw_tree(model, **options).nodes
    ax = skgoss.plot_tree(model, orientation=orientation, **options)
    texts = [text.get_text().split("\n") for text in nodes_of(ax)]
    assert texts == [[*node.heading, *node.info] for node in nodes]
    assert [text.get_text() for text in edges_of(ax)] == [node.edge for node in nodes]
    widths = {True: 3, False: 1}
    colors = {0: {"#eef3fa", "#ffffff"}, 1: {"#ddffdd"}}
    for text, node in zip(nodes_of(ax), nodes, strict=True):
        patch = text.get_bbox_patch()
        assert patch.get_linewidth() == pytest.approx(widths[node.on_path], rel=0.02)
        color = matplotlib.colors.to_hex(patch.get_facecolor())
        assert color in colors[node.constraint]
    thick = [line for line in ax.lines if line.get_linewidth() > 2]
    assert len(thick) == sum(node.on_path for node in nodes) - 1
    assert len(ax.lines) == len(nodes) - 1
    assert seen(ax)["legend"] == ["increasing", "decreasing"]


def test_the_text_of_a_plot_is_scaled_to_its_axes(model):
    ax = skgoss.plot_tree(model)
    assert nodes_of(ax)[0].get_fontsize() == pytest.approx(10, rel=0.02)
    small = skgoss.plot_tree(model, figsize=(4, 3), dpi=50)
    assert small.get_figure().get_size_inches().tolist() == [4, 3]
    size = ax.get_figure().get_size_inches()
    assert nodes_of(small)[0].get_fontsize() == pytest.approx(
        10 * min(4 / size[0], 3 / size[1]), rel=0.05
    )


def overlap(box, others):
    """Whether a box lies over one of others, which are rows of (x0, y0, x1, y1)."""
    x0, y0, x1, y1 = np.reshape(others, (-1, 4)).T
    along_x = (box.x0 < x1) & (x0 < box.x1)
    return (along_x & (box.y0 < y1) & (y0 < box.y1)).any()


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 15, 31, 63])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))]
)
def test_nothing_overlaps(n_leaves, orientation, seed):
    is_horizontal = orientation == "horizontal"
    nodes = labels(show_info=["leaf_count", "split_gain"]).nodes(grown(n_leaves, seed))
    figure, ax = plt.subplots()
    _draw(ax, TreeLabels("", nodes, False), is_horizontal, figure)
    boxes, texts = bounds_of(ax)
    solids = np.array([solid.extents for solid in [*boxes, *texts]])
    for i, solid in enumerate([*boxes, *texts]):
        assert not overlap(solid, solids[i + 1 :])
    for line, node in zip(ax.lines, nodes[1:], strict=True):
        x, y = np.transpose(ax.transData.transform(line.get_xydata()))
        assert len(x) == 4
        # The first point is inside of the parent, the last one at the node.
        assert boxes[node.parent].contains(x[0] + 1, y[0] - 1)
        for part in (slice(1, 3), slice(2, 4)):
            ends = np.sort([x[part], y[part]]).T
            bounds = matplotlib.transforms.Bbox(ends).padded(-1)
            assert not overlap(bounds, solids)
    outer = ax.get_window_extent()
    for solid in [*boxes, *texts]:
        assert outer.contains(solid.x0, solid.y0)
        assert outer.contains(solid.x1, solid.y1)
    plt.close("all")


def test_trees_need_no_program(monkeypatch):
    X, y = table()
    model = LGBMRegressor(n_estimators=1).fit(X, y)
    monkeypatch.setenv("PATH", "")
    skgoss.plot_tree(model)
    assert "digraph" in skgoss.create_tree_digraph(model).source


def test_trees_of_classes_are_counted_over_all_rounds():
    X, y = table()
    model = LGBMClassifier(n_estimators=3).fit(X, pd.qcut(y, 3, labels=False))
    dumped = model.booster_.dump_model()["tree_info"]
    for index in (0, 4, 8, -1):
        text = skgoss.draw_tree(model, index)
        assert text.name.startswith(f"Tree {index % 9}:")
        leaves = [node for node in text.nodes if node.is_leaf]
        assert len(leaves) == dumped[index]["num_leaves"]
        value = dumped[index]["tree_structure"]["threshold"]
        assert f"{value:.3f}" in text.nodes[0].title


def test_a_tree_without_splits_is_a_leaf():
    X, y = table()
    model = LGBMRegressor(n_estimators=1, min_child_samples=2000).fit(X, y)
    assert str(skgoss.draw_tree(model)) == f"Tree 0: 1 leaf\nleaf 0: {y.mean():.3f}"
    assert len(nodes_of(skgoss.plot_tree(model))) == 1
    with pytest.raises(ValueError, match="no column is used"):
        skgoss.plot_importance(model)
    with pytest.raises(ValueError, match="no split uses it"):
        skgoss.plot_split_value_histogram(model, "age")
    assert len(skgoss.plot_importance(model, ignore_zero=False).patches) == 5


def test_splits_between_missing_values_and_numbers_have_no_value():
    X, y = table()
    missing = 9 * X["gaps"].isna()
    model = LGBMRegressor(n_estimators=2, num_leaves=8).fit(X, y + missing)
    assert skgoss.draw_tree(model).nodes[0].title == "gaps is not missing"
    counts, edges = model.booster_.get_split_value_histogram("gaps")
    assert 0 < counts.sum() < model.booster_.feature_importance()[1]
    ax = skgoss.plot_split_value_histogram(model, "gaps")
    assert np.abs(ax.get_xlim()).max() < 10
    assert np.isfinite(edges).all()


@pytest.fixture(scope="module")
def model():
    X, y = table()
    return LGBMRegressor(n_estimators=2).fit(X, y)


def test_arguments_of_graphviz_have_no_effect_on_plots(model):
    with pytest.warns(skgoss.UnusedParameterWarning, match="format has no effect"):
        skgoss.plot_tree(model, format="png")
