"""Plots of models, and what is seen in them."""

from types import SimpleNamespace

import numpy as np
import pytest

from skgoss import Booster
from skgoss.columns.categories import Categories

lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")


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
    ours._held = SimpleNamespace(categories=Categories(None), out_of_fold=None)
    return ours


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
