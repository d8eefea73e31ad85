"""Predictions of rows that come in batches."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMRegressor

pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")
from helpers import streams  # noqa: E402
from helpers.streams import SOURCES, TABLE, VALUES, X, as_text  # noqa: E402

batch_values = streams.batch_values
folder = streams.folder
few_or_many_batches = streams.few_or_many_batches


@pytest.mark.parametrize("kind", SOURCES)
@few_or_many_batches
def test_predictions_in_batches(folder, tmp_path, kind):
    model = LGBMRegressor(n_estimators=3).fit(X, VALUES["y"])
    rows = SOURCES[kind](folder)
    for options in ({}, {"pred_contrib": True}, {"pred_leaf": True}):
        expected = model.predict(X, **options)
        np.testing.assert_array_equal(model.predict(rows, **options), expected)
        booster = model.booster_
        np.testing.assert_array_equal(booster.predict(rows, **options), expected)
    path = tmp_path / "predictions.parquet"
    assert model.predict(rows, to_parquet=path) is None
    found = parquet.read_table(path)["prediction"].to_numpy()
    np.testing.assert_array_equal(found, model.predict(X))


def test_classes_are_predicted_in_batches(folder, tmp_path):
    labels = np.array(["low", "high", "top"])[np.digitize(VALUES["y"], [0, 2])]
    model = LGBMClassifier(n_estimators=3).fit(X, labels)
    path = tmp_path / "classes.parquet"
    for method in ("predict", "predict_proba", "decision_function"):
        predict = getattr(model, method)
        np.testing.assert_array_equal(predict(folder), predict(X))
    model.predict(X, to_parquet=path)
    assert (
        parquet.read_table(path)["prediction"].to_pylist() == model.predict(X).tolist()
    )
    model.predict_proba(folder, to_parquet=path)
    names = [f"prediction_{j}" for j in range(3)]
    assert parquet.read_table(path).column_names == names


def test_text_in_batches(tmp_path):
    path = tmp_path / "rows.csv"
    polars.from_arrow(TABLE.select(["a", "c", "count", "y"])).write_csv(path)
    whole = polars.read_csv(path)
    expected = as_text(whole.drop("y"), label=whole["y"].to_numpy())
    assert as_text(polars.scan_csv(path), label="y") == expected
    assert as_text(dataset.dataset(path, format="csv"), label="y") == expected
