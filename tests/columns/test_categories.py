"""Categories are known by value, whatever holds them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

from helpers.binned import settings
from helpers.category_columns import NAN, containers, fit, read
from helpers.reading import columns
from skgoss import LGBMRegressor
from skgoss._engine.columns import column_kernels as kernels
from skgoss.binning.bin_values import bin_categories
from skgoss.binning.find_bins import BinMapper, find_bin_mappers
from skgoss.columns.columns import Columns

COLORS = ["red", None, "blue", "green", "blue", "red"]
CODES = [2, NAN, 0, 1, 0, 2]
NAMES = list(containers(COLORS))


@pytest.mark.parametrize("length", [6, 600])
@pytest.mark.parametrize("name", NAMES)
def test_the_container_does_not_matter(name, length):
    repeats = length // 6
    X = containers(COLORS * repeats)[name]
    estimator, data = fit(X)
    np.testing.assert_array_equal(read(data)[:, 0], CODES * repeats)
    assert data.n_categories.tolist() == [3]
    for other in containers(COLORS * repeats).values():
        again = columns(estimator, other, reset=False)
        np.testing.assert_array_equal(read(again), read(data))
        assert again.n_categories.tolist() == [3]


@pytest.mark.parametrize("repeats", [1, 100])
@pytest.mark.parametrize("name", NAMES)
def test_missing_unknown_and_reordered_categories(name, repeats):
    estimator, _ = fit(containers(COLORS)["pandas category"])
    new = ["violet", "green", None, "green", "", "red"] * repeats
    data = columns(estimator, containers(new)[name], reset=False)
    np.testing.assert_array_equal(read(data)[:, 0], [NAN, 1, NAN, 1, NAN, 2] * repeats)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_words_stand_beside_numbers(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    X = make({"a": [1.5, 2.5], "b": ["x", "w"], "c": [3, 4], "d": ["y", "y"]})
    estimator, data = fit(X)
    np.testing.assert_array_equal(read(data), [[1.5, 1, 3, 0], [2.5, 0, 4, 0]])
    assert data.n_categories.tolist() == [0, 2, 0, 1]
    array = np.array([[1.5, "w", 3, "y"], [0, "v", None, None]], dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        data = columns(estimator, array, reset=False)
    np.testing.assert_array_equal(read(data), [[1.5, 0, 3, 0], [0, NAN, NAN, NAN]])


def number_containers(values) -> dict:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    array = np.array(values, dtype=float)[:, None]
    return {
        "array": array,
        "float32": array.astype(np.float32),
        "strided": np.repeat(array, 3, axis=1)[::-1][::-1, ::3],
        "objects": array.astype(object),
        "list": array.tolist(),
        "pandas": pandas.DataFrame(array),
        "pandas integers": pandas.DataFrame({"a": pandas.array(values, "Int64")}),
        "pandas objects": pandas.DataFrame({"a": pandas.Series(values, dtype=object)}),
        "polars": polars.DataFrame({"a": values}),
        "arrow": pyarrow.table({"a": values}),
    }


@pytest.mark.parametrize("repeats", [1, 50])
@pytest.mark.parametrize("name", number_containers([1]))
def test_numbers_are_categories_when_declared(name, repeats):
    values = [7, 3, None, 0, 100_000, 3] * repeats
    X = number_containers(values)[name]
    estimator, data = fit(X, [0])
    np.testing.assert_array_equal(read(data)[:, 0], [2, 1, NAN, 0, 3, 1] * repeats)
    assert data.n_categories.tolist() == [4]
    number_of = {0: 0, 3: 1, 7: 2, 100_000: 3}
    for new in ([3, 4, None, -3, 0] * repeats, [7, 1]):
        again = columns(estimator, number_containers(new)[name], reset=False)
        expected = [number_of.get(value, NAN) for value in new]
        np.testing.assert_array_equal(read(again)[:, 0], expected)


def test_categories_of_numbers_and_numbers_are_the_same(pandas):
    numbers = pandas.DataFrame({"a": [10, 9, 10, 300]})
    category = numbers.astype("category")
    for X in (category, numbers):
        estimator, data = fit(X, ["a"])
        for new in (category, numbers, numbers.astype("Float32")):
            again = columns(estimator, new, reset=False)
            np.testing.assert_array_equal(read(again)[:, 0], [1, 0, 1, 2])
    np.testing.assert_array_equal(read(fit(category)[1]), read(data))


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_an_order_makes_numbers(library, pandas, pyarrow):
    sizes = ["S", "M", "L", "XL"]

    def make(values, categories):
        category = pandas.Categorical(values, categories, ordered=True)
        frame = pandas.DataFrame({"size": category})
        if library == "pandas":
            return frame
        return pyarrow.Table.from_pandas(frame)

    X = make(["L", "S", None, "M"], sizes)
    estimator, data = fit(X)
    np.testing.assert_array_equal(read(data)[:, 0], [2, 0, NAN, 1])
    assert data.n_categories is None
    for new in (
        make(["XL", "M", "huge"], ["huge", "M", "XL"]),
        pandas.DataFrame({"size": ["XL", "M", "huge"]}),
    ):
        data = columns(estimator, new, reset=False)
        np.testing.assert_array_equal(read(data)[:, 0], [3, 1, NAN])
    assert fit(X, None)[1].n_categories is None
    data = fit(X, ["size"])[1]
    np.testing.assert_array_equal(read(data)[:, 0], [0, 2, NAN, 1])
    assert data.n_categories.tolist() == [3]


@pytest.mark.parametrize("repeats", [1, 30])
def test_declared_columns_of_an_array_of_objects(repeats):
    X = [["x", 1.5, 3], ["y", 2, 4], [None, NAN, 4]] * repeats
    codes = [[0, 1.5, 0], [1, 2, 1], [NAN, NAN, 1]] * repeats
    for array in (X, np.array(X, dtype=object)):
        estimator, data = fit(array, [0, 2])
        np.testing.assert_array_equal(read(data), codes)
        assert data.n_categories.tolist() == [2, 0, 2]
        data = columns(estimator, [["y", 0.0, "4"]], reset=False)
        np.testing.assert_array_equal(read(data), [[1, 0, NAN]])
    strings = np.array([["x", "1.5"], ["w", "2"]])
    np.testing.assert_array_equal(read(fit(strings, [0])[1]), [[1, 1.5], [0, 2]])
    with pytest.raises(
        ValueError, match="Column 1 must hold numbers: could not convert"
    ):
        fit([["x", "y"]], [0])


def test_a_list_adds_to_the_words_and_none_allows_no_words(pandas):
    X = pandas.DataFrame({"a": [5, 4], "b": ["x", "y"], "c": [True, False]})
    assert fit(X)[1].n_categories.tolist() == [0, 2, 0]
    data = fit(X, ["a", 2])[1]
    assert data.n_categories.tolist() == [2, 2, 2]
    np.testing.assert_array_equal(read(data), [[1, 0, 1], [0, 1, 0]])
    for none in (None, []):
        with pytest.raises(ValueError, match=r"Column 'b' holds .*'auto'"):
            fit(X, none)
        assert fit(X[["a", "c"]], none)[1].n_categories is None


def test_columns_without_values(pandas):
    X = pandas.DataFrame(
        {"a": [None, None], "b": pandas.Categorical([None, None], ["x"]), "c": [NAN, 2]}
    )
    for categorical_feature in ("auto", None, []):
        estimator, data = fit(X, categorical_feature)
        np.testing.assert_array_equal(read(data), [[NAN, NAN, NAN], [NAN, NAN, 2]])
        assert data.n_categories is None
    new = pandas.DataFrame({"a": ["x"], "b": ["x"], "c": [None]})
    data = columns(estimator, new, reset=False)
    np.testing.assert_array_equal(read(data), [[NAN, NAN, NAN]])


def test_negative_numbers_are_missing():
    X = np.array([[3.0, -1.0], [-2.0, 5.0], [4.0, NAN]])
    with pytest.warns(UserWarning, match="Column 0 holds categories: its negative"):
        estimator, data = fit(X, [0])
    np.testing.assert_array_equal(read(data), [[0, -1], [NAN, 5], [1, NAN]])
    np.testing.assert_array_equal(read(columns(estimator, X, reset=False)), read(data))


@pytest.mark.parametrize("value", [0.5, np.inf, -np.inf])
def test_numbers_that_are_not_whole_are_refused(value, pandas):
    X = pandas.DataFrame({"a": [1.0, value]})
    words = (
        "Column 'a' is in categorical_feature, but holds .*, which is not a"
        " whole number"
    )
    with pytest.raises(ValueError, match=words):
        fit(X, ["a"])
    estimator, _ = fit(pandas.DataFrame({"a": [1.0, 2.0]}), ["a"])
    np.testing.assert_array_equal(
        read(columns(estimator, X, reset=False))[:, 0], [0, NAN]
    )


@pytest.mark.parametrize(
    ("categorical_feature", "words"),
    [
        (["color"], "'color', but the columns of X are 'a', 'b'"),
        ([2], "2, but the 2 columns of X are numbered 0 to 1"),
        (np.array([7]), r"7\)?, but the 2 columns"),
        (["a", 0], "column 0 twice"),
        (["b", "b"], "column 'b' twice"),
    ],
)
def test_columns_that_are_none_are_refused(categorical_feature, words, pandas):
    X = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
    with pytest.raises(ValueError, match=words):
        fit(X, categorical_feature)
    with pytest.raises(ValueError, match="have no names, so use their numbers"):
        fit(X.to_numpy(), ["a"])


def test_fit_chooses_the_constructors_columns_unless_it_is_given_others(pandas):
    X = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    words = r"Column 'b' holds strings"
    with pytest.raises(ValueError, match=words):
        LGBMRegressor(categorical_feature=None).fit(X, [0, 1])
    with pytest.raises(ValueError, match=words):
        LGBMRegressor().fit(X, [0, 1], categorical_feature=[])
    with pytest.raises(ValueError, match="column 'c', but"):
        LGBMRegressor(cat_feature=["a"]).fit(X, [0, 1], categorical_feature=["c"])
    model = LGBMRegressor(cat_feature=["d"])
    with pytest.raises(ValueError, match="column 'd', but"):
        model.fit(X, [0, 1])
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="The 'categorical_feature' parameter of LGBM"):
        LGBMRegressor().fit(X, [0, 1], categorical_feature="b")


@pytest.mark.parametrize("n_rows", [2, 100])
def test_numbers_that_became_words_are_refused(n_rows, pandas):
    repeats = n_rows // 2
    estimator, _ = fit(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    for column in (["1", "x"], ["1", "2"], pandas.Categorical(["1", "2"])):
        X = pandas.concat([pandas.DataFrame({"a": column, "b": "x"})] * repeats)
        with pytest.raises(ValueError, match="Column 'a' held numbers in fit"):
            columns(estimator, X, reset=False)
    for column in ([3, 4.5], pandas.Categorical([3, 4.5]), [None, None]):
        X = pandas.concat([pandas.DataFrame({"a": column, "b": "x"})] * repeats)
        data = columns(estimator, X, reset=False)
        expected = [NAN if v is None else v for v in column] * repeats
        np.testing.assert_array_equal(read(data)[:, 0], expected)
        assert data.n_categories.tolist() == [0, 2]


@pytest.mark.parametrize("repeats", [1, 50])
def test_dates_are_refused_at_predict(repeats, pandas):
    estimator, _ = fit(pandas.DataFrame({"a": ["x"], "b": [1.5]}))
    day = pandas.Timestamp("2020-01-01")
    for row in ({"a": day, "b": 1.0}, {"a": "x", "b": day}):
        with pytest.raises(ValueError, match=r"Column .* holds dates"):
            columns(estimator, pandas.DataFrame([row] * repeats), reset=False)


def sparse_columns(matrix) -> Columns:
    """What a CSC matrix becomes."""
    kinds = np.full(matrix.shape[1], kernels.KINDS[matrix.data.dtype.name], np.uint8)
    starts = matrix.indptr[:-1].astype(np.uint64)
    return Columns(
        *matrix.shape,
        address=matrix.data.ctypes.data + starts * np.uint64(matrix.data.itemsize),
        stride=np.full(matrix.shape[1], matrix.data.itemsize),
        kind=kinds,
        owner=matrix,
        index=matrix.indices.ctypes.data + starts * np.uint64(4),
        length=np.diff(matrix.indptr).astype(np.int64),
    )


@pytest.mark.parametrize("n_rows", [10, 2000])
def test_sparse_columns_stay_sparse_where_zero_is_the_first_category(n_rows):
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 9, (n_rows, 4)) * (rng.random((n_rows, 4)) < 0.3) * 1.5
    dense[:, 1] *= 2 / 1.5
    dense[:, 2] = np.where(dense[:, 2] > 0, NAN, 0)
    dense[:, 3] = 6
    estimator, expected = fit(dense, [1, 2, 3])
    memory = estimator._categories
    matrix = sparse.csc_matrix(dense)
    data = sparse_columns(matrix)
    data = memory.encode_numbers(data, range(4), set(), learn=True)
    np.testing.assert_array_equal(read(data), read(expected))
    np.testing.assert_array_equal(data.n_categories, expected.n_categories)
    assert (data.index != 0).tolist() == [True, True, True, False]
    assert data.length[1] == np.count_nonzero(dense[:, 1])
    dense[0, 3] = 0
    data = sparse_columns(sparse.csc_matrix(dense))
    data = memory.encode_numbers(data, range(4), set(), learn=False)
    np.testing.assert_array_equal(read(data)[:, 3], [NAN] + [0] * (n_rows - 1))


def test_what_is_remembered_can_be_pickled():
    X = containers(COLORS)["pandas category"]
    estimator, data = fit(X)
    estimator = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(read(columns(estimator, X, reset=False)), read(data))


def test_nothing_is_warned_about_and_nothing_is_changed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, X in containers(COLORS).items():
            fit(X)
            assert X.equals(containers(COLORS)[name])


def coded(*codes) -> Columns:
    """Columns of numbers of categories, all of them known."""
    owner = np.array(codes, dtype=np.float32)
    n_features, n_rows = owner.shape
    starts = np.arange(n_features, dtype=np.uint64) * np.uint64(owner.strides[0])
    return Columns(
        n_rows=n_rows,
        n_features=n_features,
        address=starts + np.uint64(owner.ctypes.data),
        stride=np.full(n_features, owner.itemsize),
        kind=np.full(n_features, kernels.KINDS["float32"], dtype=np.uint8),
        owner=owner,
        n_categories=np.nanmax(owner, axis=1, initial=0).astype(np.int32) + 1,
    )


def reference_kept(codes, weight=None, *, max_bin=255, min_data_in_bin=3) -> list[int]:
    """The categories with bins of their own, one after the other."""
    weight = np.ones(len(codes)) if weight is None else weight
    is_there = ~np.isnan(codes)
    present = np.unique(codes[is_there]).astype(int).tolist()
    mass = {c: weight[codes == c].sum() for c in present}
    unit = weight.min()
    enough = np.floor(
        np.float32(weight[is_there].sum() / unit) * np.float32(0.99) + 0.5
    )
    few = min(len(present) + (not is_there.all()), max_bin)
    kept: list[int] = []
    covered = 0.0
    for c in sorted(present, key=lambda c: (-mass[c], c)):
        if covered / unit >= enough and len(kept) + 1 >= few:
            break
        if np.count_nonzero(codes == c) < min_data_in_bin and len(kept) > 1:
            break
        kept.append(c)
        covered += mass[c]
    return kept


def reference_bins(codes, kept) -> np.ndarray:
    bins = np.zeros(len(codes), dtype=int)
    for b, c in enumerate(kept, start=1):
        bins[codes == c] = b
    return bins


def code_distributions() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 4000
    zipf = np.minimum(rng.zipf(1.6, n) - 1, 5000).astype(float)
    with_nan = np.where(rng.random(n) < 0.2, NAN, zipf)
    return {
        "few": rng.integers(0, 5, n).astype(float),
        "two": (rng.random(n) < 0.3).astype(float),
        "rare last": np.r_[rng.integers(0, 3, n - 5), np.full(5, 3)].astype(float),
        "rare last, NaN": np.r_[rng.integers(0, 3, n - 9), [3] * 5, [NAN] * 4],
        "zipf": zipf,
        "zipf, NaN": with_nan,
        "uniform 300": rng.integers(0, 300, n).astype(float),
        "uniform 1000": rng.integers(0, 1000, n).astype(float),
        "uniform 3000": rng.integers(0, 3000, n).astype(float),
        "all distinct": rng.permutation(n).astype(float),
        "one": np.zeros(n),
        "one and NaN": np.where(rng.random(n) < 0.5, 0, NAN),
        "one and a rare one": np.r_[np.zeros(n - 2), 1, 1],
        "only NaN": np.full(n, NAN),
    }


CHANGES = [
    {},
    {"max_bin": 16},
    {"max_bin": 2},
    {"min_data_in_bin": 1},
    {"min_data_in_bin": 20, "max_bin": 1000},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("name", code_distributions())
def test_bins_agree_with_the_reference(name, changes):
    codes = code_distributions()[name]
    rng = np.random.default_rng(1)
    for weight in (None, rng.integers(1, 4, len(codes)) / 8):
        data = coded(codes)
        (mapper,) = find_bin_mappers(data, settings(**changes), weight=weight)
        kept = reference_kept(codes, weight, **changes)
        assert mapper.categories.tolist() == [-1, *kept]
        assert (mapper.n_bins, mapper.nan_bin) == (len(kept) + 1, 0)
        assert (mapper.missing_bin, len(mapper.upper_bounds)) == (-1, 0)
        bins = bin_categories(data, [mapper])
        expected = reference_bins(codes, kept)
        assert bins.dtype == (np.uint8 if len(kept) < 256 else np.uint16)
        np.testing.assert_array_equal(bins[0], expected)
        assert mapper.is_trivial == (len(set(expected.tolist())) < 2)
        all_kept = len(kept) == len(np.unique(codes)) and not np.isnan(codes).any()
        assert mapper.missing_type == (0 if all_kept else 2)
        if not np.isnan(codes).all():
            assert mapper.minimum == np.nanmin(codes)
            assert mapper.maximum == np.nanmax(codes)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("name", code_distributions())
def test_kept_categories_are_lightgbms(name, changes, lightgbm):
    codes = code_distributions()[name]
    (mapper,) = find_bin_mappers(coded(codes), settings(**changes))
    options = vars(settings(**changes))
    options["bin_construct_sample_cnt"] = options.pop("subsample_for_bin")
    options |= {"verbose": -1, "num_threads": 1, "feature_pre_filter": False}
    # LightGBM refuses to train on no column, so there is another one.
    X = np.column_stack([codes, np.arange(len(codes))])
    data = lightgbm.Dataset(
        X, X[:, 1] % 7, params=options, categorical_feature=[0]
    ).construct()
    model = lightgbm.train(options, data, num_boost_round=1).model_to_string()
    line = next(x for x in model.splitlines() if x.startswith("feature_infos="))
    infos = line.removeprefix("feature_infos=").split()[0]
    if infos == "none":
        assert mapper.n_bins <= 2
    else:
        assert ":".join(map(str, mapper.categories.tolist())) == infos


def mappers_equal(first: BinMapper, second: BinMapper) -> bool:
    fields = BinMapper._fields
    return all(np.array_equal(getattr(first, f), getattr(second, f)) for f in fields)


def test_rows_and_threads():
    codes = [c for c in code_distributions().values() if not np.isnan(c).all()]
    long = [np.tile(c, 20) for c in codes]
    data = coded(*long)
    rows = np.flatnonzero(np.random.default_rng(3).random(data.n_rows) < 0.7)
    some = coded(*[c[rows] for c in long])
    weight = np.random.default_rng(4).random(data.n_rows)
    for n_threads in (1, 3):
        for w in (None, weight):
            mappers = find_bin_mappers(
                data, settings(), weight=w, rows=rows, n_threads=n_threads
            )
            expected = find_bin_mappers(
                some, settings(), weight=None if w is None else w[rows]
            )
            assert all(map(mappers_equal, mappers, expected))
        np.testing.assert_array_equal(
            bin_categories(data, mappers, rows=rows, n_threads=n_threads),
            bin_categories(some, mappers),
        )


def test_only_some_rows_are_read_where_there_are_many():
    codes = np.arange(10_000.0) % 50
    limits = {"subsample_for_bin": 500, "min_data_in_bin": 1}
    (mapper,) = find_bin_mappers(coded(codes), settings(**limits))
    assert 48 <= len(mapper.categories) - 1 <= 50
    (again,) = find_bin_mappers(coded(codes), settings(**limits, data_random_seed=2))
    assert again.categories.tolist() != mapper.categories.tolist()


def test_more_categories_than_bins():
    codes = np.repeat(np.arange(70_000.0), 2)[1:]
    (mapper,) = find_bin_mappers(coded(codes), settings(min_data_in_bin=1))
    assert mapper.n_bins == 65535
    # The only category with a single row is the last to get a bin.
    assert mapper.categories.tolist() == [-1, *range(1, 65535)]
    bins = bin_categories(coded(codes), [mapper])[0]
    assert (bins[0], bins[1], bins[131_068], bins[131_069]) == (0, 1, 65534, 0)


def test_unknown_categories_are_in_the_first_bin():
    (mapper,) = find_bin_mappers(coded([0, 1, 1, 2] * 9), settings())
    new = coded([2, 1, 7, 3, NAN, 0])
    expected = [
        mapper.categories.tolist().index(c) if c in (0, 1, 2) else 0
        for c in (2, 1, 7, 3, NAN, 0)
    ]
    assert bin_categories(new, [mapper]).tolist() == [expected]


def test_numbers_and_categories_side_by_side(pandas):
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {"a": rng.normal(size=90), "b": list("xyz") * 30, "c": rng.normal(size=90)}
    )
    data = fit(X)[1]
    mappers = find_bin_mappers(data, settings())
    alone = find_bin_mappers(fit(X[["a", "c"]])[1], settings())
    assert mappers_equal(mappers[0], alone[0])
    assert mappers_equal(mappers[2], alone[1])
    assert mappers[0].categories is None
    assert mappers[1].categories.tolist() == [-1, 0, 1, 2]


def test_bins_of_sparse_columns():
    dense = np.array([[0, 3.0, 0, 5, 5, 3, 0, 3, 3, NAN]] * 40).reshape(-1, 1)
    estimator, expected = fit(dense, [0])
    data = estimator._categories.encode_numbers(
        sparse_columns(sparse.csc_matrix(dense)), range(1), set(), learn=False
    )
    (mapper,) = find_bin_mappers(data, settings())
    assert mapper.categories.tolist() == [-1, 1, 0, 2]
    assert mappers_equal(mapper, *find_bin_mappers(expected, settings()))
    np.testing.assert_array_equal(
        bin_categories(data, [mapper]), bin_categories(expected, [mapper])
    )
