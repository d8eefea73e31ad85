"""Plots: the same numbers as LightGBM's plots of the same trees."""

import inspect
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from tree_nodes import BAD, grown, labels

import skgoss
from skgoss import Booster, LGBMClassifier, LGBMRegressor, plotting
from skgoss.columns.categories import Categories
from skgoss.plotting.tree_labels import TreeLabels
from skgoss.plotting.tree_plots import _draw
from skgoss.utils.messages import one_line

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")

DOCS = Path(__file__).parents[2] / "docs"
PLOTS = [
    "create_tree_digraph",
    "plot_importance",
    "plot_metric",
    "plot_split_value_histogram",
    "plot_tree",
]
ALL_INFO = [
    "split_gain",
    "internal_value",
    "internal_count",
    "internal_weight",
    "leaf_count",
    "leaf_weight",
    "data_percentage",
]
HISTORY = {
    "train": {"l1": [3.0, 2.0, 1.0], "l2": [9.0, 4.0, 1.0]},
    "valid": {"l1": [3.5, 3.0, 2.5], "l2": [10.0, 9.0, 8.5]},
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 15, n).round(1),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "zeros": np.where(rng.random(n) < 0.4, 0.0, rng.normal(size=n)),
            "city": rng.choice(["Oslo", "Rome", "a<b", "Bern", "Wien", "Prag"], n),
            "none": 0.0,
        }
    )
    y = (
        X["age"] / 10
        + X["gaps"].fillna(2)
        + np.where(X["zeros"] == 0, 1.5, X["zeros"])
        + 2 * X["city"].isin(["Oslo", "a<b"])
    )
    return X, y + rng.normal(0, 0.1, n)


def theirs(**params):
    """A Booster of LightGBM; its categories are numbers."""
    X, y = table()
    X["city"] = X["city"].astype("category").cat.codes
    if "num_class" in params:
        y = pd.qcut(y, params["num_class"], labels=False)
    data = lightgbm.Dataset(X, y, categorical_feature=["city"])
    given = {"num_leaves": 15, "verbose": -1, "num_threads": 1, "cat_smooth": 1}
    return lightgbm.train({**given, **params}, data, 4), X


def as_ours(booster):
    """A Booster of skgoss that answers as LightGBM's does."""
    methods = [
        "dump_model",
        "feature_importance",
        "feature_name",
        "get_split_value_histogram",
        "num_model_per_iteration",
        "num_trees",
        "predict",
    ]
    answers = {name: staticmethod(getattr(booster, name)) for name in methods}
    ours = object.__new__(type("Answers", (Booster,), answers))
    ours._held = SimpleNamespace(categories=Categories(None))
    return ours


@pytest.mark.parametrize("name", PLOTS)
def test_signatures(name):
    parameters = inspect.signature(getattr(skgoss, name)).parameters
    expected = inspect.signature(getattr(lightgbm, name)).parameters
    assert [(p.name, p.kind, p.default) for p in parameters.values()] == [
        (p.name, p.kind, p.default) for p in expected.values()
    ]


def seen(ax):
    """What a plot shows, apart from the places of texts."""
    return {
        "title": ax.get_title(),
        "xlabel": ax.get_xlabel(),
        "ylabel": ax.get_ylabel(),
        "xlim": ax.get_xlim(),
        "ylim": ax.get_ylim(),
        "texts": [text.get_text() for text in ax.texts],
        "ticks": [(t.get_text(), t.get_position()) for t in ax.get_yticklabels()],
        "bars": [bar.get_bbox().bounds for bar in ax.patches],
        "colors": [bar.get_facecolor() for bar in ax.patches],
        "lines": [(x.get_label(), x.get_xydata().tolist()) for x in ax.lines],
        "grid": ax.xaxis.get_gridlines()[0].get_visible(),
        "legend": [t.get_text() for t in getattr(ax.get_legend(), "texts", ())],
        "size": ax.get_figure().get_size_inches().tolist(),
        "dpi": ax.get_figure().dpi,
    }


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"importance_type": "gain"},
        {"importance_type": "gain", "precision": None},
        {"importance_type": "gain", "precision": 0, "max_num_features": 2},
        {"ignore_zero": False, "grid": False, "height": 0.5, "color": "red"},
        {"title": None, "xlabel": "@importance_type@", "ylabel": None},
        {"xlim": (0, 500), "ylim": (-2, 9), "figsize": (5, 7), "dpi": 60},
        {"max_num_features": 0},
    ],
)
def test_importance(options):
    booster, _ = theirs()
    made = seen(skgoss.plot_importance(as_ours(booster), **options))
    assert made == seen(lightgbm.plot_importance(booster, **options))


def test_importance_of_an_estimator_is_of_its_kind():
    X, y = table()
    model = LGBMRegressor(n_estimators=3, importance_type="gain").fit(X, y)
    gains = model.feature_importances_
    ax = skgoss.plot_importance(model)
    assert [bar.get_width() for bar in ax.patches] == sorted(gains[gains > 0])
    ax = skgoss.plot_importance(model.booster_)
    assert sum(bar.get_width() for bar in ax.patches) == 3 * 30


def test_names_are_no_formulas():
    X, y = table()
    X = X.rename(columns={"age": r"$\oops$"})
    model = LGBMRegressor(n_estimators=1).fit(X, y)
    ax = skgoss.plot_importance(model)
    ax.get_figure().canvas.draw()
    assert r"$\oops$" in [tick.get_text() for tick in ax.get_yticklabels()]
    skgoss.plot_tree(model).get_figure().canvas.draw()


@pytest.mark.parametrize(
    ("feature", "options"),
    [
        ("age", {}),
        (0, {"bins": 5, "width_coef": 0.5, "color": "red"}),
        ("zeros", {"bins": "auto", "title": "@feature@, @index/name@", "grid": False}),
        (2, {"xlim": (-1, 1), "ylim": (0, 50), "figsize": (3, 3), "dpi": 50}),
    ],
)
def test_split_value_histogram(feature, options):
    booster, _ = theirs()
    made = skgoss.plot_split_value_histogram(as_ours(booster), feature, **options)
    expected = lightgbm.plot_split_value_histogram(booster, feature, **options)
    made, expected = seen(made), seen(expected)
    assert made.pop("bars") == pytest.approx(np.array(expected.pop("bars")))
    assert made == expected


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "l1"},
        {"metric": "l2", "dataset_names": ["valid"], "title": None},
        {"metric": "l2", "xlim": (0, 9), "ylim": (0, 5), "ylabel": "y", "grid": False},
    ],
)
def test_metric(options):
    made = seen(skgoss.plot_metric(HISTORY, **options))
    assert made == seen(lightgbm.plot_metric(HISTORY, **options))


def test_metric_of_several_is_chosen_with_a_warning():
    with pytest.warns(UserWarning, match="several metrics"):
        ax = skgoss.plot_metric(HISTORY)
    with pytest.warns(UserWarning, match="More than one metric"):
        assert seen(ax) == seen(lightgbm.plot_metric(HISTORY))


def test_metric_of_an_estimator_and_of_sets_that_differ():
    X, y = table()
    model = LGBMRegressor(n_estimators=5).fit(X, y, eval_set=[(X, y)])
    ax = skgoss.plot_metric(model)
    ((name, values),) = seen(ax)["lines"]
    assert name == "training"
    assert [v for _, v in values] == model.evals_result_["training"]["l2"]
    ax = skgoss.plot_metric({"a": {"l2": [1.0, 1.0]}, "b": {"l1": [1.0]}})
    assert seen(ax)["legend"] == ["a"]
    ax = skgoss.plot_metric({"a": {"l2": [1.0, np.nan, np.inf, 3.0]}})
    assert ax.get_ylim() == pytest.approx((0.6, 3.4))


def test_plots_go_where_they_are_told():
    booster, _ = theirs()
    ours = as_ours(booster)
    _, axes = plt.subplots(1, 4)
    assert skgoss.plot_importance(ours, ax=axes[0]) is axes[0]
    assert skgoss.plot_split_value_histogram(ours, 0, ax=axes[1]) is axes[1]
    assert skgoss.plot_metric(HISTORY, "l1", ax=axes[2]) is axes[2]
    assert skgoss.plot_tree(ours, ax=axes[3]) is axes[3]
    assert len(plt.get_fignums()) == 1


# --- Trees ----------------------------------------------------------------------------

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


# --- Trees of matplotlib --------------------------------------------------------------


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
    options = {
        "tree_index": -1,
        "show_info": ALL_INFO,
        "example_case": X.iloc[[3]],
        "max_category_values": 1,
    }
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


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
def test_parents_stand_between_their_children(model, orientation):
    nodes = skgoss.draw_tree(model).nodes
    boxes, _ = bounds_of(skgoss.plot_tree(model, orientation=orientation))
    middles = [
        -(box.y0 + box.y1) if orientation == "horizontal" else box.x0 + box.x1
        for box in boxes
    ]
    children = {}
    for number, node in enumerate(nodes[1:], 1):
        children.setdefault(node.parent, []).append(number)
    for parent, (left, right) in children.items():
        assert middles[left] < middles[parent] < middles[right]
        mean = (middles[left] + middles[right]) / 2
        assert middles[parent] == pytest.approx(mean, abs=2)


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


# --- Errors ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    X, y = table()
    return LGBMRegressor(n_estimators=2).fit(X, y)


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("plot_importance", {"figsize": 3}, ValueError, "figsize must be a pair"),
        ("plot_importance", {"xlim": (1, 2, 3)}, ValueError, "xlim must be a pair"),
        ("plot_importance", {"ylim": ("a", "b")}, ValueError, "ylim must be a pair"),
        ("plot_importance", {"precision": -1}, ValueError, "precision must be an int"),
        ("plot_importance", {"ax": 3}, TypeError, "ax must be Axes"),
        ("plot_importance", {"max_num_features": 1.5}, ValueError, "max_num_features"),
        (
            "draw_tree",
            {"tree_index": 2},
            IndexError,
            "less than 2, the number of trees",
        ),
        ("draw_tree", {"tree_index": -3}, IndexError, "tree_index"),
        ("draw_tree", {"tree_index": 0.5}, ValueError, "tree_index must be an int"),
        (
            "draw_tree",
            {"show_info": ["gain"]},
            ValueError,
            "facts of nodes .*got 'gain'",
        ),
        ("draw_tree", {"show_info": "leaf_cuont"}, ValueError, "mean 'leaf_count'"),
        ("draw_tree", {"orientation": "up"}, ValueError, "'horizontal' or 'vertical'"),
        ("draw_tree", {"orientation": []}, ValueError, "'horizontal' or 'vertical'"),
        ("draw_tree", {"max_category_values": 0}, ValueError, "max_category_values"),
        ("plot_tree", {"precison": 2}, TypeError, "mean 'precision'"),
    ],
)
def test_wrong_arguments(model, name, options, error, message):
    with pytest.raises(error, match=message):
        getattr(skgoss, name)(model, **options)
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("history", "options", "error", "message"),
    [
        ({}, {}, ValueError, "fit with an eval_set"),
        ({"valid l2-mean": [1.0]}, {}, ValueError, "dict of dicts"),
        ([1.0], {}, TypeError, "a fitted estimator, or a dict"),
        (HISTORY, {"metric": "l3"}, ValueError, "must be a metric of 'train'"),
        (HISTORY, {"metric": "l1", "dataset_names": ["valdi"]}, ValueError, "'valid'?"),
        (HISTORY, {"dataset_names": []}, ValueError, "list of names"),
        (HISTORY, {"dataset_names": "valid"}, ValueError, "list of names"),
    ],
)
def test_wrong_metrics(history, options, error, message):
    with pytest.raises(error, match=message):
        skgoss.plot_metric(history, **options)


def test_examples_are_single_rows(model):
    X, _ = table()
    with pytest.raises(ValueError, match="example_case must have a single row, got 3"):
        skgoss.draw_tree(model, example_case=X[:3])
    with pytest.raises(ValueError, match="2D array"):
        skgoss.draw_tree(model, example_case=[1.0, 2.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize("name", [*PLOTS, "draw_tree"])
def test_models_of_others_and_models_that_are_not_fitted(name, model):
    extra = ["age"] if name == "plot_split_value_histogram" else []
    plot = getattr(skgoss, name)
    with pytest.raises(TypeError, match="booster must be"):
        plot(lightgbm.LGBMRegressor(), *extra)
    with pytest.raises(ValueError, match="not fitted yet"):
        plot(LGBMRegressor(), *extra)
    if name == "plot_metric":
        with pytest.raises(TypeError, match="record_evaluation"):
            plot(model.booster_)
        with pytest.raises(ValueError, match="eval_set"):
            plot(model)


def test_arguments_of_graphviz_have_no_effect_on_plots(model):
    with pytest.warns(skgoss.UnusedParameterWarning, match="format has no effect"):
        skgoss.plot_tree(model, format="png")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("plot_importance", "matplotlib"),
        ("plot_tree", "matplotlib"),
        ("plot_tree", "igraph"),
        ("create_tree_digraph", "graphviz"),
    ],
)
def test_missing_packages_are_named(name, package, model, monkeypatch):
    for module in [package, *sys.modules]:
        if module.partition(".")[0] == package:
            monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(skgoss, name)(model)
    assert not plt.get_fignums()
    str(skgoss.draw_tree(model))


def test_the_page_shows_what_its_code_makes(capsys):
    text = (DOCS / "plots.md").read_text(encoding="utf-8")
    made = {}
    exec("\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)), made)
    (printed,) = re.findall(r"^```text\n(.*?)^```$", text, re.M | re.S)
    assert capsys.readouterr().out == printed


def test_all_plots_are_public():
    assert set(plotting.__all__) == {*PLOTS, "draw_tree"}
    assert set(plotting.__all__) <= set(skgoss.__all__)
