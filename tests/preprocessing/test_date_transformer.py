"""The transformer `DateFeatures`: the numbers that models make of dates."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from helpers import columns_of_dates as naive
from skgoss import Dataset, DateFeatures, LGBMRegressor, PairFeatures, train

N = 300
SOLD = pd.date_range("2023-01-01 08:00", periods=N, freq="53h")
FRAME = pd.DataFrame(
    {
        "price": np.arange(N) / 7,
        "sold": SOLD,
        "word": ["a", "b", "c"] * (N // 3),
        "anything": [[1, 2]] * N,
        "day": SOLD.normalize(),
    },
    index=np.arange(N)[::-1],
)
FRAME.iloc[4, 1] = pd.NaT
AUTO = ["month", "day", "day_of_week", "day_of_year", "hour"]
NAMES = [
    *FRAME.columns,
    *(f"sold[{part}]" for part in AUTO),
    *(f"day[{part}]" for part in AUTO[:-1]),
]


def expected(column, parts):
    moments = [None if pd.isna(t) else t.to_pydatetime() for t in FRAME[column]]
    return naive.days(moments), naive.parts(moments, parts)


def test_dates_become_days_and_parts():
    dates = DateFeatures().fit(FRAME)
    made = dates.transform(FRAME)
    assert made.columns.tolist() == dates.get_feature_names_out().tolist() == NAMES
    assert made.index.equals(FRAME.index)
    for column, parts in (("sold", AUTO), ("day", AUTO[:-1])):
        days, values = expected(column, parts)
        np.testing.assert_allclose(made[column], days, rtol=1e-15)
        assert_array_equal(made[[f"{column}[{part}]" for part in parts]].T, values)
    others = ["price", "word", "anything"]
    pd.testing.assert_frame_equal(made[others], FRAME[others])
    assert FRAME["sold"].dtype.kind == "M"
    assert dates.dates_ == {1: None, 4: None}
    assert dates.parts_[:2] == [(1, "month"), (1, "day")]


def test_the_columns_are_those_of_a_model():
    data, y = FRAME[["price", "sold", "day"]], np.arange(N) % 24
    model = LGBMRegressor(n_estimators=3).fit(data, y)
    dates, of_model = DateFeatures().fit(data), model.date_features_
    pd.testing.assert_frame_equal(dates.transform(data), of_model.transform(data))
    assert (dates.dates_, dates.parts_) == (of_model.dates_, of_model.parts_)
    after = make_pipeline(clone(dates), LGBMRegressor(n_estimators=3)).fit(data, y)
    assert_array_equal(after.predict(data), model.predict(data))
    booster = train({"verbosity": -1}, Dataset(dates.transform(data), y), 3)
    assert_array_equal(booster.predict(dates.transform(data)), model.predict(data))


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_stay_frames(library):
    data = FRAME.drop(columns="anything").reset_index(drop=True)
    dates = DateFeatures(["hour"]).fit(data)
    frame = library(data)
    made = dates.transform(frame)
    assert type(made) is type(frame)
    found = made.to_pandas()
    wanted = dates.transform(data)
    assert found.columns.tolist() == [*data.columns, "sold[hour]", "day[hour]"]
    assert_array_equal(found["sold[hour]"], wanted["sold[hour]"])
    assert_array_equal(found["sold"], wanted["sold"])
    assert DateFeatures(["hour"]).fit(frame).parts_ == dates.parts_


def test_set_output():
    made = (
        DateFeatures()
        .set_output(transform="polars")
        .fit_transform(FRAME.drop(columns="anything"))
    )
    assert isinstance(made, pl.DataFrame)
    assert made["sold[hour]"][0] == 8.0


def test_other_time_zones_are_converted():
    zoned = FRAME[["sold"]].assign(sold=SOLD.tz_localize("Asia/Tokyo"))
    dates = DateFeatures().fit(zoned)
    assert dates.dates_ == {0: "Asia/Tokyo"}
    later = zoned.assign(sold=zoned["sold"].dt.tz_convert("UTC"))
    pd.testing.assert_frame_equal(dates.transform(later), dates.transform(zoned))
    with pytest.raises(ValueError, match="time zone 'Asia/Tokyo' in fit"):
        dates.transform(FRAME[["sold"]])


def test_arrays():
    array = FRAME[["sold", "day"]].to_numpy()
    dates = DateFeatures("month").fit(array)
    made = dates.transform(array)
    days, months = expected("sold", ["month"])
    np.testing.assert_allclose(made[:, 0], days, rtol=1e-15)
    assert_array_equal(made[:, 2], months[0])
    assert dates.get_feature_names_out().tolist() == [
        "x0",
        "x1",
        "x0[month]",
        "x1[month]",
    ]


@pytest.mark.filterwarnings("ignore:DateFeatures found no columns of dates")
def test_numbers_stay_as_they_are():
    numbers = np.arange(12.0).reshape(4, 3)
    assert_array_equal(DateFeatures().fit_transform(numbers), numbers)
    matrix = sp.csr_array(numbers)
    made = DateFeatures().fit_transform(matrix)
    assert made is not matrix
    assert_array_equal(made.toarray(), numbers)
    frame = pd.DataFrame(numbers, columns=list("abc"))
    made = DateFeatures().fit_transform(frame)
    pd.testing.assert_frame_equal(made, frame)
    assert made is not frame


def test_names_that_are_taken():
    data = FRAME[["sold"]].assign(**{"sold[hour]": 1.0})
    made = DateFeatures(["hour"]).fit_transform(data)
    assert made.columns.tolist() == ["sold", "sold[hour]", "sold[hour] (date)"]


def test_pairs_follow_dates():
    data = FRAME[["sold", "day", "price"]]
    pipe = make_pipeline(
        DateFeatures([]), PairFeatures("sums", columns=["sold", "day"])
    )
    assert pipe.fit_transform(data).columns.tolist()[:3] == ["sold", "day", "price"]
    with pytest.raises(ValueError, match=r"holds dates.*DateFeatures"):
        PairFeatures().fit(data, np.arange(N) / 3)


def test_pipelines_and_column_transformers():
    y = np.arange(N) / 3
    columns = make_column_transformer((DateFeatures(), ["sold", "day"]))
    linear = make_pipeline(columns, LinearRegression()).fit(FRAME.iloc[10:], y[10:])
    assert linear.score(FRAME.iloc[10:], y[10:]) > 0.99


def test_pickles_and_clones():
    dates = DateFeatures(["hour", "month"]).fit(FRAME)
    again = pickle.loads(pickle.dumps(dates))
    pd.testing.assert_frame_equal(again.transform(FRAME), dates.transform(FRAME))
    assert clone(dates).get_params() == {"parts": ["hour", "month"]}
    with pytest.raises(NotFittedError):
        clone(dates).transform(FRAME)
    dates.fit(FRAME[["sold"]].to_numpy())
    assert not hasattr(dates, "feature_names_in_")


def test_errors():
    for parts in ("week", False, 3, ["month", "month"]):
        with pytest.raises(
            ValueError, match="'parts' parameter of DateFeatures must be"
        ):
            DateFeatures(parts).fit(FRAME)
    dates = DateFeatures().fit(FRAME)
    with pytest.raises(ValueError, match="feature names should match"):
        dates.transform(FRAME.rename(columns={"sold": "bought"}))
    with pytest.raises(ValueError, match="held dates in fit, but now holds"):
        dates.transform(FRAME.assign(sold="2024-01-01"))
    with pytest.raises(ValueError, match="rename the columns"):
        DateFeatures().fit(FRAME[["sold", "word"]].set_axis([0, 1], axis=1))
