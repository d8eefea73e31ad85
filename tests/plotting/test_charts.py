"""Charts of importances, split values and metrics."""

import numpy as np
import pytest

import skgoss
from skgoss import LGBMRegressor

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")
from helpers.plots import as_ours, seen, table, theirs  # noqa: E402

HISTORY = {
    "train": {"l1": [3.0, 2.0, 1.0], "l2": [9.0, 4.0, 1.0]},
    "valid": {"l1": [3.5, 3.0, 2.5], "l2": [10.0, 9.0, 8.5]},
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
    expected = seen(lightgbm.plot_importance(booster, **options))
    if "xlabel" not in options:
        expected["xlabel"] += f" by {options.get('importance_type', 'split')}"
    assert made == expected


def test_importance_of_an_estimator_is_of_its_kind():
    X, y = table()
    model = LGBMRegressor(n_estimators=3, importance_type="gain").fit(X, y)
    gains = model.feature_importances_
    ax = skgoss.plot_importance(model)
    assert [bar.get_width() for bar in ax.patches] == sorted(gains[gains > 0])
    assert ax.get_xlabel() == "Feature importance by gain"
    ax = skgoss.plot_importance(model.booster_)
    assert sum(bar.get_width() for bar in ax.patches) == 3 * 30


def test_names_are_not_formulas():
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


def test_the_best_round_is_marked():
    X, y = table()
    options = {"n_estimators": 200, "learning_rate": 0.3, "early_stopping_round": 3}
    noise = np.random.default_rng(0).normal(0, 2, 300)
    sets = [(X[:300], y[:300] + noise)]
    model = LGBMRegressor(**options).fit(X[300:], y[300:], eval_set=sets)
    ((_, curve), (name, line)) = seen(skgoss.plot_metric(model))["lines"]
    values = [value for _, value in curve]
    assert {x for x, _ in line} == {values.index(min(values))}
    assert name == f"best round: {model.best_iteration_}"


def test_plots_go_where_they_are_told():
    booster, _ = theirs()
    ours = as_ours(booster)
    _, axes = plt.subplots(1, 4)
    assert skgoss.plot_importance(ours, ax=axes[0]) is axes[0]
    assert skgoss.plot_split_value_histogram(ours, 0, ax=axes[1]) is axes[1]
    assert skgoss.plot_metric(HISTORY, "l1", ax=axes[2]) is axes[2]
    assert skgoss.plot_tree(ours, ax=axes[3]) is axes[3]
    assert len(plt.get_fignums()) == 1


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
