"""Arguments that all plots have, and what they refuse."""

import inspect
import re
import sys
from pathlib import Path

import pytest

import skgoss
from skgoss import LGBMRegressor, plotting

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")
from helpers.plots import table  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs"
PLOTS = [
    "create_tree_digraph",
    "plot_importance",
    "plot_metric",
    "plot_split_value_histogram",
    "plot_tree",
]


# LightGBM's label does not say by what columns are important.
LABELS = {("plot_importance", "xlabel"): "Feature importance by @importance_type@"}


@pytest.mark.parametrize("name", PLOTS)
def test_signatures(name):
    parameters = inspect.signature(getattr(skgoss, name)).parameters
    expected = inspect.signature(getattr(lightgbm, name)).parameters
    assert [(p.name, p.kind, p.default) for p in parameters.values()] == [
        (p.name, p.kind, LABELS.get((name, p.name), p.default))
        for p in expected.values()
    ]


# --- Errors ---------------------------------------------------------------------------


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
