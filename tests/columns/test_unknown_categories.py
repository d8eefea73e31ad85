"""A continued fit warns of categories that its model does not know."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from skgoss import Dataset, LGBMRegressor, train

N = 120
SIZES = np.arange(N) / 7
Y = SIZES % 3
TOWNS = np.tile(["Oslo", "Rome", "Bonn"], N // 3)
OTHERS = np.where(SIZES > 15, "Kyiv", TOWNS)
FRAMES = {
    "pandas": pd.DataFrame,
    "categories": lambda data: pd.DataFrame(data).astype({"town": "category"}),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
SMALL = {"n_estimators": 2, "n_jobs": 1}
WARNED = "Categories that were not in the first fit of the model count as missing: "


def warnings_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught if "Categories" in str(w.message)]


@pytest.mark.parametrize("kind", FRAMES)
def test_every_way_to_continue_warns_once(kind):
    first = FRAMES[kind]({"town": TOWNS, "size": SIZES})
    later = FRAMES[kind]({"town": OTHERS, "size": SIZES})
    model = LGBMRegressor(**SMALL).fit(first, Y)
    params = {"objective": "l2", "num_threads": 1}
    warm = LGBMRegressor(**SMALL, warm_start=True).fit(first, Y)
    warm.set_params(n_estimators=4)
    ways = {
        "init_model": lambda X: LGBMRegressor(**SMALL).fit(X, Y, init_model=model),
        "train": lambda X: train(params, Dataset(X, Y), 2, init_model=model.booster_),
        "warm_start": lambda X: warm.fit(X, Y),
        "refit": lambda X: model.booster_.refit(X, Y),
    }
    for way in ways.values():
        (text,) = warnings_of(lambda way=way: way(later))
        assert text.startswith(f"{WARNED}'Kyiv' in column 'town'.")
        assert text.endswith("fit a new model to all rows.")
    for name in ("init_model", "train", "refit"):
        assert warnings_of(lambda name=name: ways[name](first)) == []
    # Predictions do not warn: a service counts unknown categories.
    assert warnings_of(lambda: model.predict(later)) == []


def test_only_values_that_became_missing_are_named():
    codes = np.tile([0, 1, 2, -1, np.nan], N // 5)
    X = np.column_stack([codes, SIZES, codes])
    options = {**SMALL, "categorical_feature": [0, 2]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # negative numbers
        model = LGBMRegressor(**options).fit(X, Y)
    later = X.copy()
    later[:9, 0] = [9, 8, 7, 6, 5, 4, -2, np.nan, 1]
    for rows in (later, sp.csr_array(np.nan_to_num(later, nan=0))):
        again = LGBMRegressor(**SMALL)
        (text,) = warnings_of(lambda X=rows: again.fit(X, Y, init_model=model))  # noqa: B023
        assert text.startswith(f"{WARNED}4, 5, 6, 7 and 2 more in column 0. ")
    assert warnings_of(lambda: LGBMRegressor(**SMALL).fit(X, Y, init_model=model)) == []


def test_many_columns_are_counted():
    first = pd.DataFrame({f"c{i}": TOWNS for i in range(5)})
    model = LGBMRegressor(**SMALL).fit(first, Y)
    later = first.replace("Rome", "a\nb")
    (text,) = warnings_of(
        lambda: LGBMRegressor(**SMALL).fit(later, Y, init_model=model)
    )
    assert "'a\\nb' in column 'c2'; and others in 2 more columns." in text
