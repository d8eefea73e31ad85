"""Names of columns: kept, compared and checked."""

from __future__ import annotations

import narwhals
import narwhals.stable.v1
import numpy as np
import pytest

from helpers.reading import Estimator, columns, read
from skgoss import LGBMRegressor


def test_counts_and_names_are_set_and_checked(pandas):
    estimator = Estimator()
    X = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    columns(estimator, X, reset=True)
    assert estimator.n_features_in_ == 2
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    columns(estimator, X, reset=False)
    with pytest.raises(ValueError, match="must be in the same order"):
        columns(estimator, X[["b", "a"]], reset=False)
    with pytest.raises(ValueError, match="yet now missing"):
        columns(estimator, X[["a"]], reset=False)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        columns(estimator, X.to_numpy(), reset=False)
    columns(estimator, X.to_numpy(), reset=True)
    assert not hasattr(estimator, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 1 features, but Estimator is expec"):
        columns(estimator, np.ones((2, 1)), reset=False)


def other_frames():
    """Frames of the columns a and b that are not of pandas, polars or Arrow."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    table = {"a": [1.5, None], "b": ["x", "y"]}
    return {
        "narwhals": narwhals.from_native(pandas.DataFrame(table)),
        "stable narwhals": narwhals.stable.v1.from_native(polars.DataFrame(table)),
        "lazy polars": polars.LazyFrame(table),
        "lazy narwhals": narwhals.from_native(polars.LazyFrame(table)),
        "record batch": pyarrow.RecordBatch.from_pydict(table),
        "record batches": pyarrow.table(table).to_reader(),
    }


@pytest.mark.parametrize("name", other_frames())
def test_frames_of_any_kind_keep_their_names(name):
    estimator = Estimator()
    data = columns(estimator, other_frames()[name], reset=True)
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(read(data), [[1.5, 0], [np.nan, 1]])
    data = columns(estimator, other_frames()[name], reset=False)
    np.testing.assert_array_equal(read(data), [[1.5, 0], [np.nan, 1]])


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_doubled_names(library):
    module = pytest.importorskip(library)
    values = np.random.default_rng(0).random((50, 3))
    if library == "pandas":
        X = module.DataFrame(values, columns=["a", "b", "a"])
    else:
        X = module.table([*values.T], names=["a", "b", "a"])
    y = np.arange(50)
    message = "X has several columns with the same name.*'a' 2 times"
    with pytest.raises(ValueError, match=message):
        LGBMRegressor().fit(X, y)
    model = LGBMRegressor(n_estimators=1).fit(values, y)
    with pytest.raises(ValueError, match=message):
        model.predict(X)
