"""Fields of a Dataset: arrays of their own, which can be set at any time."""

import numpy as np
import pytest

from helpers.data_sets import SMALL, N, made, text
from skgoss import Dataset, LGBMClassifier, LGBMRegressor, train


def columns_of_libraries(values):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    values = np.asarray(values)
    yield values[:, None]
    yield values.tolist()
    yield pandas.Series(values, index=range(5, 5 + len(values)))
    yield pandas.Series(values, dtype="Int64")
    yield pandas.DataFrame({"a": values})
    yield polars.Series(values)
    yield pyarrow.array(values)
    yield pyarrow.chunked_array([values[:2], values[2:]])
    yield np.ma.array(values, mask=False)


@pytest.mark.parametrize("name", ["label", "weight", "init_score", "group"])
def test_fields_are_arrays_of_numbers(name):
    X, values = np.zeros((10, 1)), [1, 2, 3, 4]
    if name != "group":
        X = X[:4]
    for given in columns_of_libraries(values):
        data = Dataset(X, **{name: given})
        found = getattr(data, f"get_{name}")()
        assert type(found) is np.ndarray
        assert found.dtype == (np.int64 if name == "group" else np.float64)
        np.testing.assert_array_equal(found, values)
        assert getattr(data, f"set_{name}")(None) is data
        assert getattr(data, f"get_{name}")() is None


@pytest.mark.parametrize("name", ["label", "weight", "init_score", "group"])
def test_fields_belong_to_the_data_set(name):
    given = np.array([2, 2])
    data = Dataset(np.zeros((4 if name == "group" else 2, 1)), **{name: given})
    given[:] = 7
    getattr(data, f"get_{name}")()[:] = 7
    assert getattr(data, f"get_{name}")().tolist() == [2, 2]
    getattr(data, name)[0] = 1
    assert getattr(data, f"get_{name}")().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("label", [1.0, np.nan, 2.0], "Input label contains NaN"),
        ("label", [1.0, 2.0], r"label must have one value for each of the 3 rows"),
        ("label", np.zeros((4, 2)), r"numbers of samples: \[3, 4\] \(label"),
        ("label", np.ma.array([1, 2, 3], mask=[0, 1, 0]), "label has masked values"),
        ("weight", [1.0, np.nan, 2.0], "weight must hold finite numbers >= 0, got nan"),
        ("weight", [1.0, -1.0, 2.0], "weight must hold finite numbers >= 0, got -1"),
        ("weight", [0, 0, 0], "weight must hold a number > 0"),
        ("weight", ["a", "b", "c"], "weight must hold numbers"),
        ("weight", [1.0], r"weight must have one value for each of the 3 rows"),
        ("weight", 2.0, r"weight must have one value for each of the 3 rows"),
        ("weight", np.ma.array([1, 2, 3], mask=[0, 1, 0]), "weight has masked values"),
        ("group", [1, 1], "sizes in group sum to 2, but there are 3 rows"),
        ("group", [4, -1], "group must hold whole numbers >= 0"),
        ("group", [1.5, 1.5], "group must hold whole numbers"),
        ("group", 3, "group must be a list of sizes"),
        ("init_score", [1.0, 2.0], "init_score must have one number, or one for each"),
        ("init_score", [1.0, np.inf, 2.0], "init_score must be finite"),
        ("init_score", np.zeros((2, 3)), "init_score must have one number, or one for"),
        ("init_score", ["a", "b", "c"], "init_score must hold numbers"),
        ("position", [1, 2], "position must have one value for each of the 3 rows"),
    ],
)
def test_wrong_fields(field, value, message):
    with pytest.raises(ValueError, match=message):
        Dataset(np.zeros((3, 2)), **{field: value})
    data = Dataset(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=message):
        getattr(data, f"set_{field}")(value)
    with pytest.raises(ValueError, match=message):
        setattr(data, field, value)
    assert getattr(data, field) is None


def test_get_field_and_set_field():
    X, y = made(10)
    data = Dataset(X)
    data.set_field("target", y).set_field("group", [4, 6]).set_field("weights", y * y)
    np.testing.assert_array_equal(data.get_field("label"), y)
    np.testing.assert_array_equal(data.get_field("weight"), y * y)
    assert data.get_field("group").tolist() == [0, 4, 10]
    assert data.get_field("init_score") is None
    with pytest.raises(ValueError, match=r"'weigth'\. Did you mean 'weight'"):
        data.get_field("weigth")


def test_positions_are_kept():
    data = Dataset(np.zeros((3, 1)), position=[0, 1, 0])
    assert data.get_position().tolist() == [0, 1, 0]


def test_labels_of_classes_keep_their_type():
    X, y = made()
    for label in (np.where(y > 0, "yes", "no"), (y > 0).astype(int), y > 0):
        fitted = LGBMClassifier(**SMALL).fit(Dataset(X, label))
        expected = LGBMClassifier(**SMALL).fit(X, label)
        assert fitted.classes_.tolist() == expected.classes_.tolist()
        assert fitted.classes_.dtype == expected.classes_.dtype
        assert text(fitted) == text(expected)
    with pytest.raises(ValueError, match="label must hold numbers"):
        train({}, Dataset(X, np.where(y > 0, "yes", "no")), 2)


def test_fields_of_a_fit_are_the_last_ones(builds):
    X, y = made()
    weight = np.arange(N) % 3 + 1.0
    data = Dataset(X, y)
    first = train(SMALL, data)
    data.label = -y
    data.set_init_score(y)
    second = train(SMALL, data)
    expected = LGBMRegressor(**SMALL).fit(X, -y, init_score=y)
    assert text(second) == text(expected) != text(first)
    assert len(builds) == 2
    data.set_init_score(None).set_label(y).set_weight(weight)
    third = train(SMALL, data)
    data.set_weight(None)
    assert text(train(SMALL, data)) == text(first) != text(third)
    assert len(builds) == 2


@pytest.mark.parametrize("field", ["label", "weight", "group", "init_score"])
def test_fields_of_lazy_data_are_checked(field, polars):
    frame = polars.LazyFrame({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=field):
        Dataset(frame, **{field: [1.0, 1.0]}).construct()
