"""The transformer `PairFeatures`: the columns that models with pairs compute."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from helpers.columns_of_pairs import appended
from skgoss import Dataset, LGBMClassifier, LGBMRegressor, PairFeatures

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 5))
X[:, 2] *= 8.0
Y = np.abs(X[:, 0] - X[:, 2] / 8)
NAMES = list("abcde")
FRAME = pd.DataFrame(X, columns=NAMES, index=np.arange(500)[::-1])
FRAME["word"] = np.where(X[:, 3] > 0, "x", "y")
FRAME["day"] = pd.Timestamp("2024-02-29")
MIXED = FRAME.drop(columns="day")


@pytest.fixture(scope="module")
def pairs():
    return PairFeatures("sums", n_columns=3).fit(X, Y)


@pytest.mark.parametrize(
    ("operations", "option"),
    [("sums", "sums"), ("products", "products"), ("all", True)],
)
@pytest.mark.parametrize("target", ["continuous", "binary", "multiclass"])
def test_the_columns_are_those_of_a_model(operations, option, target):
    y = {"continuous": Y, "binary": Y > 1, "multiclass": np.minimum(Y, 2).astype(int)}
    estimator = LGBMRegressor if target == "continuous" else LGBMClassifier
    model = estimator(n_estimators=2, pair_features=option).fit(X, y[target])
    for target_type in ("auto", target):
        made = PairFeatures(operations, target_type=target_type).fit(X, y[target])
        assert [[*pair] for pair in made.pairs_] == model._model.schema.computed.state()
        assert_array_equal(made.transform(X), appended(X, made.pairs_))


def test_whole_numbers_may_be_numbers():
    # Column 3 tells most of the classes, and little of the number.
    number = (
        100 * (X[:, 0] > 0) + 100 * (X[:, 1] > 0) + np.digitize(X[:, 3], [-1, 0, 1])
    )
    options = {"operations": "sums", "n_columns": 2}
    assert 3 in PairFeatures(**options).fit(X, number).columns_
    as_numbers = PairFeatures(**options, target_type="continuous").fit(X, number)
    assert as_numbers.columns_ == [0, 1]


@pytest.mark.parametrize(("n_values", "is_number"), [(20, False), (21, True)])
def test_many_whole_numbers_are_not_classes(n_values, is_number):
    y = (np.arange(len(X)) % n_values).astype(float)
    made = PairFeatures("sums", n_columns=2).fit(X, y)
    kind = "continuous" if is_number else "multiclass"
    same = PairFeatures("sums", n_columns=2, target_type=kind).fit(X, y)
    assert made.pairs_ == same.pairs_


def test_several_targets():
    made = PairFeatures("sums", n_columns=2).fit(X, np.column_stack([Y, -Y]))
    assert made.columns_ == [0, 2]


def test_the_number_of_columns(pairs):
    assert {*PairFeatures(n_columns=2).fit(X, Y).columns_} == {0, 2}
    assert len(pairs.columns_) == 3
    assert len(pairs.pairs_) == 6


def test_columns_of_the_user():
    listed = PairFeatures("sums", columns=[2, 0]).fit(X)
    chosen = PairFeatures("sums", n_columns=2).fit(X, Y)
    assert listed.columns_ == [0, 2]
    assert listed.pairs_ == chosen.pairs_
    named = PairFeatures("products", columns=["c", 3]).fit(FRAME)
    assert named.columns_ == ["c", "d"]
    assert named.pairs_ == [(2, "*", 1.0, 3), (2, "/", 1.0, 3)]


def test_weights_count_as_copies():
    weight = RNG.integers(0, 3, 500)
    copies = np.repeat(np.arange(500), weight)
    made = PairFeatures("sums", columns=[0, 1, 2])
    weighted = clone(made).fit(X, sample_weight=weight)
    assert weighted.pairs_ == clone(made).fit(X[copies]).pairs_
    assert weighted.pairs_ != clone(made).fit(X).pairs_


def test_many_rows_are_sampled():
    many = np.tile(X, (70, 1))
    many[:, 1] *= np.linspace(1, 2, len(many))
    made = PairFeatures("sums", columns=[0, 1], random_state=1)
    assert made.fit(many).pairs_ == clone(made).fit(many).pairs_
    assert many.std(axis=0)[0] / many.std(axis=0)[1] == pytest.approx(
        made.pairs_[0][2], rel=0.02
    )


def test_arrays_become_arrays(pairs):
    expected = appended(X, pairs.pairs_)
    for data in (X, np.asfortranarray(X), X.tolist(), FRAME[NAMES].to_numpy()):
        assert_array_equal(pairs.transform(data), expected)
    single = X.astype(np.float32)
    assert_array_equal(
        pairs.transform(single), appended(single.astype(float), pairs.pairs_)
    )
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert_array_equal(pairs.transform(FRAME[NAMES]), expected)


def test_missing_and_zero():
    made = PairFeatures(columns=[0, 1]).fit(X)
    new = X[:4].copy()
    new[0, 1] = 0.0
    new[1] = 0.0
    new[2, 0] = np.nan
    out = made.transform(new)
    names = made.get_feature_names_out().tolist()
    assert np.isnan(out[:, names.index("x0 / x1")]).tolist() == [
        True,
        True,
        True,
        False,
    ]
    assert np.isnan(out[:, names.index("x0 * x1")]).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("has_pairs", [True, False])
def test_sparse_matrices(container, has_pairs):
    few = np.where(np.abs(X) < 0.7, 0.0, X)
    data = container(few)
    made = PairFeatures(columns=[0, 2]).fit(data)
    if not has_pairs:
        made.pairs_ = []
    out = made.transform(data)
    assert type(out) is container
    assert_array_equal(out.toarray(), made.transform(few))
    assert out.nnz == np.count_nonzero(out.toarray())
    assert made.transform(sp.coo_array(few)).format == "csr"


FRAMES = {
    "pandas": MIXED,
    "polars": pl.from_pandas(MIXED),
    "pyarrow": pa.Table.from_pandas(MIXED, preserve_index=False),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_stay_frames(library):
    frame = FRAMES[library]
    made = PairFeatures("sums", n_columns=2).fit(frame, Y)
    out = made.transform(frame)
    assert type(out) is type(frame)
    names = ["a", "b", "c", "d", "e", "word", "a - 0.133 c", "a + 0.133 c"]
    assert made.get_feature_names_out().tolist() == names
    if library == "pandas":
        pd.testing.assert_frame_equal(out[MIXED.columns], MIXED)
        assert out.columns.tolist() == names
    else:
        assert out.select(MIXED.columns.tolist()).equals(frame)
        assert getattr(out, "column_names", None) or out.columns == names
    made_again = np.column_stack([np.asarray(out[name]) for name in names[-2:]])
    assert_array_equal(made_again, appended(X, made.pairs_)[:, 5:])


def test_other_columns_need_not_be_readable():
    made = PairFeatures("sums", columns=["a", "b"]).fit(FRAME)
    out = made.transform(FRAME)
    pd.testing.assert_frame_equal(out[FRAME.columns], FRAME)


def test_a_frame_without_pairs_is_another_frame():
    made = PairFeatures(columns=["a", "b"]).fit(FRAME)
    made.pairs_ = []
    out = made.transform(FRAME)
    assert out is not FRAME
    pd.testing.assert_frame_equal(out, FRAME)


def test_rows_of_a_frame_keep_their_index():
    made = PairFeatures("products", columns=["a", "b"]).fit(FRAME)
    part = FRAME.iloc[[7, 3, 7]]
    out = made.transform(part)
    assert out.index.tolist() == part.index.tolist()
    assert_array_equal(out["a * b"], part["a"] * part["b"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("data", ["pandas", "polars", "array"])
def test_set_output(library, data):
    frame = X if data == "array" else FRAMES[data]
    made = PairFeatures("sums", columns=[0, 1]).set_output(transform=library)
    out = made.fit_transform(frame)
    assert type(out) is type(FRAMES[library])
    assert list(out.columns) == made.get_feature_names_out().tolist()
    assert_array_equal(np.asarray(out)[:, :5], X)
    if data == library == "pandas":
        assert out.index.equals(MIXED.index)


def test_names():
    made = PairFeatures(columns=[0, 1]).fit(X)
    assert made.get_feature_names_out().tolist()[:5] == ["x0", "x1", "x2", "x3", "x4"]
    assert made.get_feature_names_out(NAMES).tolist()[-1] == "a / b"
    with pytest.raises(ValueError, match="length equal to number of features"):
        made.get_feature_names_out(["a"])
    twice = pd.DataFrame(X[:, :3], columns=["a", "b", "a * b"])
    made = PairFeatures("products", columns=["a", "b"]).fit(twice)
    assert made.transform(twice).columns[3] == "a * b (pair)"


def test_fitted_again_without_names():
    made = PairFeatures(columns=[0, 1]).fit(FRAME).fit(X)
    assert not hasattr(made, "feature_names_in_")
    assert made.columns_ == [0, 1]


def test_pickles_and_clones(pairs):
    again = pickle.loads(pickle.dumps(pairs))
    assert_array_equal(again.transform(X), pairs.transform(X))
    with pytest.raises(NotFittedError):
        clone(pairs).transform(X)
    with pytest.raises(NotFittedError):
        clone(pairs).get_feature_names_out()


def test_pipelines_and_searches():
    pipeline = make_pipeline(PairFeatures("sums"), LGBMRegressor(n_estimators=30))
    alone = LGBMRegressor(n_estimators=30, pair_features="sums").fit(X, Y)
    assert_array_equal(pipeline.fit(X, Y).predict(X), alone.predict(X))
    search = GridSearchCV(pipeline, {"pairfeatures__n_columns": [2, 3]}, cv=2)
    assert search.fit(FRAME[NAMES], Y).best_score_ > 0.9
    parts = ColumnTransformer(
        [("pairs", PairFeatures("products", columns=["a", "c"]), ["a", "c"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    out = parts.fit_transform(FRAME)
    assert out.columns.tolist()[:4] == ["a", "c", "a * c", "a / c"]


def test_metadata_routing():
    weight = np.arange(500) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        made = PairFeatures("sums").set_fit_request(sample_weight=True)
        line = LinearRegression().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(made, line).fit(X, Y, sample_weight=weight)
    alone = PairFeatures("sums").fit(X, Y, sample_weight=weight)
    assert pipeline[0].pairs_ == alone.pairs_
    assert alone.pairs_ != PairFeatures("sums").fit(X, Y).pairs_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operations": "differences"}, "'operations' parameter of PairFeatures must"),
        ({"n_columns": 1}, r"'n_columns' parameter .* an int in the range \[2, inf\)"),
        (
            {"columns": "a"},
            "'columns' parameter .* list of column names and column num",
        ),
        ({"columns": ["a"]}, "columns must list at least two different columns"),
        ({"columns": ["a", 0]}, "columns must list at least two different columns"),
        ({"columns": ["a", "z"]}, "columns names the column 'z', but the columns of X"),
        ({"columns": [0, 9]}, "columns names the column 9, but the 7 columns of X are"),
        (
            {"columns": ["a", "word"]},
            "columns lists 'word', which holds strings or cat",
        ),
        ({"columns": ["a", "day"]}, "Column 'day' holds dates. Convert them to numb"),
        ({"columns": [0, 1], "random_state": -1}, "'random_state' parameter of PairFe"),
        ({"target_type": "numbers"}, "'target_type' parameter of PairFeatures must"),
        ({}, "requires y to be passed, but .* list the columns: columns="),
    ],
)
def test_errors_of_fits(options, message):
    with pytest.raises(ValueError, match=message):
        PairFeatures(**options).fit(FRAME)


def test_errors_of_data(pairs):
    with pytest.raises(
        ValueError, match="PairFeatures cannot be used if the numbers ar"
    ):
        PairFeatures().fit(Dataset(X, Y), Y)
    with pytest.raises(ValueError, match=r"Column 5 of X .* kept only in a data frame"):
        PairFeatures(columns=[0, 1]).fit(MIXED.set_axis(range(6), axis=1))
    with pytest.raises(ValueError, match=r"Column 5 of X .* kept only in a data frame"):
        PairFeatures().fit(MIXED.set_axis(range(6), axis=1), Y)
    with pytest.raises(ValueError, match="only n_features = 1, and pairs need"):
        PairFeatures(columns=[0, 1]).fit(X[:, :1])
    with pytest.raises(
        ValueError, match="X has 4 features, but PairFeatures is expect"
    ):
        pairs.transform(X[:, :4])
    made = PairFeatures(columns=["a", "b"]).fit(FRAME)
    with pytest.raises(ValueError, match="feature names should match"):
        made.transform(FRAME[FRAME.columns[::-1]])
    with pytest.raises(ValueError, match="Column 'a' held numbers in fit, but now hol"):
        made.transform(FRAME.assign(a="x"))


def test_it_says_that_there_are_no_pairs():
    with pytest.warns(
        UserWarning, match="PairFeatures appends nothing, because fewer t"
    ):
        made = PairFeatures().fit(X[:8], Y[:8])
    assert_array_equal(made.transform(X), X)
    with pytest.warns(
        UserWarning, match="fewer than two of the columns have different"
    ):
        made = PairFeatures(columns=[0, 1]).fit(np.ones((5, 3)))
    assert made.columns_ == []


def test_partitions_of_dask_are_transformed_one_by_one():
    dd = pytest.importorskip("dask.dataframe")
    made = PairFeatures(columns=["a", "b"]).fit(MIXED)
    frame = dd.from_pandas(MIXED.sort_index(), npartitions=3)
    whole = frame.map_partitions(made.transform)
    assert whole.npartitions == 3
    assert [*whole.columns] == [*made.get_feature_names_out()]
    # Dask has another dtype for text.
    pd.testing.assert_frame_equal(
        whole.compute(), made.transform(MIXED.sort_index()), check_dtype=False
    )
