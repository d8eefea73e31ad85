"""The user's Dataset: what it holds, when it is binned, whose bins it shares."""

import copy
import itertools
import pickle
import threading

import numpy as np
import pytest
from data_sets import SMALL, N, made, text
from scipy import sparse

import skgoss
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, train
from skgoss.binning.binned_dataset import BinnedDataset

# --- Fields ---------------------------------------------------------------------------


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


# --- Laziness -------------------------------------------------------------------------


def test_failed_construction_changes_nothing(builds):
    X, y = made()
    wrong = X.astype(object)
    wrong[5, 1] = "x"
    data = Dataset(wrong, y, params={"max_bin": 31}, feature_name=list("abcd"))
    before = dict(vars(data))
    for _ in range(2):
        with pytest.raises(ValueError, match="could not convert"):
            train({"max_bin": 15}, data, 2)
    assert vars(data) == before
    data = Dataset(X, y, free_raw_data=False).construct()
    before = dict(vars(data))
    with pytest.raises(ValueError, match="categorical_feature names the column"):
        LGBMRegressor(categorical_feature=[9]).fit(data)
    with pytest.raises(ValueError, match="max_bin_by_feature"):
        LGBMRegressor(max_bin_by_feature=[3]).fit(data)
    assert vars(data) == before


def test_two_threads_construct_once(builds):
    X, y = made()
    data = Dataset(X, y)
    texts, barrier = [], threading.Barrier(4)

    def run():
        barrier.wait()
        texts.append(text(train(SMALL, data)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts)) == 1
    assert len(texts) == 4
    assert len(builds) == 1


# --- Options --------------------------------------------------------------------------


def test_unknown_params():
    with pytest.warns(skgoss.UnusedParameterWarning, match=r"'max_bim'.*'max_bin'"):
        Dataset(np.zeros((3, 1)), params={"max_bim": 3})
    with pytest.raises(TypeError, match="params must be a dict, got list"):
        Dataset(np.zeros((3, 1)), params=["max_bin"])
    with pytest.warns(skgoss.UnusedParameterWarning, match="different values"):
        data = Dataset(np.zeros((3, 1)), params={"max_bin": 7, "max_bins": 8})
    assert data.get_params() == {"max_bin": 7}
    data = Dataset(np.zeros((3, 1)), params={"num_class": 3, "device": "cpu", "eta": 1})
    assert data.get_params() == {}
    with pytest.raises(ValueError, match="The 'max_bin' parameter of Dataset must be"):
        Dataset(np.zeros((3, 1)), params={"max_bin": -1}).construct()
    data = Dataset(np.zeros((3, 1)), params={"max_bin_by_feature": np.array(3)})
    with pytest.raises(ValueError, match="'max_bin_by_feature' parameter of Dataset"):
        data.construct()


# --- Columns --------------------------------------------------------------------------


def test_names_and_numbers_of_bins(pandas):
    X, y = made()
    X[:, 2] = 1
    data = Dataset(X, y, params={"max_bin": 15})
    assert data.get_feature_name() == [f"Column_{j}" for j in range(4)]
    assert data.set_feature_name(list("abcd")).get_feature_name() == list("abcd")
    assert data.feature_num_bin("a") == data.feature_num_bin(0) == 15
    assert data.feature_num_bin(2) == 0
    for wrong in ("e", 4, -1):
        with pytest.raises(ValueError, match="feature must be a number from 0 to 3"):
            data.feature_num_bin(wrong)
    with pytest.raises(ValueError, match="a name for each of the 4 columns"):
        data.set_feature_name(["a"])
    data = Dataset(pandas.DataFrame(X, columns=list("wxyz")), y)
    assert data.get_feature_name() == list("wxyz")
    assert train(SMALL, data).feature_name() == list("wxyz")


# --- Rows of other sets ---------------------------------------------------------------


def test_evaluation_sets_share_bins(builds):
    X, y = made()
    X_valid, y_valid = made(50, seed=1)
    data = Dataset(X, y)
    valid = data.create_valid(X_valid, y_valid)
    other = Dataset(X_valid, y_valid)
    chained = Dataset(X_valid, y_valid, reference=valid)
    history = {}
    sets = [valid, other, chained]
    train(SMALL, data, valid_sets=sets, callbacks=[skgoss.record_evaluation(history)])
    assert len(builds) == 1
    model = LGBMRegressor(**SMALL).fit(X, y, eval_set=[(X_valid, y_valid)])
    for name in ("valid_0", "valid_1", "valid_2"):
        assert history[name] == model.evals_result_["valid_0"]
    for given in sets:
        assert given._binned.has_bins_of(data._binned)
        assert data in given.get_ref_chain()
    assert chained.get_ref_chain() == {chained, valid, data}
    assert chained.get_ref_chain(2) == {chained, valid}


def test_categories_of_the_reference(pandas):
    X, y = made()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["d"] = np.array(["x", "y", "z"])[np.arange(N) % 3]
    y = y + 3 * (frame["d"] == "y")
    rows = frame.iloc[100:130].assign(d="y")
    data = Dataset(frame, y)
    history = {}
    train(
        SMALL,
        data,
        valid_sets=[data.create_valid(rows, y[100:130])],
        callbacks=[skgoss.record_evaluation(history)],
    )
    model = LGBMRegressor(**SMALL).fit(frame, y, eval_set=[(rows, y[100:130])])
    assert history == model.evals_result_


def test_other_columns_than_the_reference(pandas):
    X, y = made()
    data = Dataset(X, y, free_raw_data=False)
    with pytest.raises(
        ValueError, match=r"The evaluation set 'v': .* not fit its reference: X has 3"
    ):
        train(SMALL, data, valid_sets=[Dataset(X[:, :3], y)], valid_names=["v"])
    frame = pandas.DataFrame(X, columns=list("abcd"))
    data = Dataset(frame, y)
    with pytest.raises(ValueError, match="not fit its reference: The feature names"):
        Dataset(frame[list("abdc")], y, reference=data).construct()
    data, valid = (
        Dataset(X, y, feature_name=list(names)) for names in ("abcd", "abce")
    )
    with pytest.raises(ValueError, match="not fit its reference: feature_name is"):
        train(SMALL, data, valid_sets=valid)


def test_set_reference():
    X, y = made()
    first, second = Dataset(X, y), Dataset(2 * X, y)
    valid = Dataset(X, y, first, free_raw_data=False)
    train(SMALL, first, valid_sets=valid)
    train(SMALL, second, valid_sets=valid)
    assert valid.reference is second
    assert valid.set_reference(second) is valid
    freed = Dataset(X, y, first).construct()
    with pytest.raises(ValueError, match=r"cannot change its reference: .* freed"):
        freed.set_reference(second)
    with pytest.raises(ValueError, match=r"'valid_0': .* cannot change its reference"):
        train(SMALL, second, valid_sets=freed)
    with pytest.raises(ValueError, match="must not share the bins"):
        first.set_reference(freed)
    with pytest.raises(TypeError, match=r"a Dataset, got numpy\.ndarray"):
        Dataset(X, reference=X)


def test_reference_binned_again():
    X, y = made()
    data = Dataset(X, y, free_raw_data=False)
    kept = Dataset(X, y, data, free_raw_data=False)
    freed = Dataset(X, y, data)
    train(SMALL, data, valid_sets=[kept, freed])
    train(SMALL | {"max_bin": 7}, data, valid_sets=kept)
    assert kept.feature_num_bin(0) == 7
    with pytest.raises(ValueError, match="get the new bins of its reference"):
        train(SMALL | {"max_bin": 7}, data, valid_sets=freed)


# --- Some of the rows -----------------------------------------------------------------


def test_subset_has_the_bins_of_all_rows(builds):
    X, y = made()
    X[:, 3] = np.arange(N) % 5
    weight = np.arange(N) % 3 + 0.0
    rows = np.random.default_rng(1).permutation(N)[:120]
    data = Dataset(X, y, weight=weight, categorical_feature=[3])
    part = data.subset(rows)
    rows.sort()
    np.testing.assert_array_equal(part.get_label(), y[rows])
    np.testing.assert_array_equal(part.get_weight(), weight[rows])
    found = text(train(SMALL, part))
    assert len(builds) == 1
    alone = Dataset(X[rows], y[rows], data, weight[rows], categorical_feature=[3])
    assert found == text(train(SMALL, alone))
    binned, expected = part._binned, alone._binned
    assert binned.mappers is expected.mappers is data._binned.mappers
    for j in range(len(binned.feature)):
        np.testing.assert_array_equal(binned.bins(j), expected.bins(j))


def test_rows_of_a_subset():
    X, y = made(10)
    data = Dataset(X, y, init_score=np.arange(20.0), free_raw_data=False)
    part = data.subset([7, 2, 5])
    assert part.used_indices.tolist() == [2, 5, 7]
    assert part.get_init_score().tolist() == [[2, 12], [5, 15], [7, 17]]
    assert (part.num_data(), part.num_feature()) == (3, 4)
    np.testing.assert_array_equal(part.get_data(), X[[2, 5, 7]])
    inner = part.subset([True, False, True])
    assert inner.get_init_score().tolist() == [[2, 12], [7, 17]]
    np.testing.assert_array_equal(inner.get_data(), X[[2, 7]])
    np.testing.assert_array_equal(inner.get_label(), y[[2, 7]])
    inner.label = [5, 6]
    assert inner.get_label().tolist() == [5, 6]
    assert data.get_label().tolist() == y.tolist()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "must be a list of numbers of rows"),
        ([[1]], r"must be a list of numbers of rows, got an array of shape \(1, 1\)"),
        ([0.5], "must be a list of numbers of rows"),
        ([-1, 2], "numbers from 0 to 9, got -1"),
        ([1, 10], "numbers from 0 to 9, got 10"),
        ([3, 1, 3], "must differ, but 3 comes twice. For copies of rows, set weights"),
        ([True], r"must have the shape \(10,\)"),
        (np.zeros(10, bool), "must be a list of numbers of rows"),
    ],
)
def test_wrong_rows_of_a_subset(rows, message):
    with pytest.raises(ValueError, match=f"used_indices.*{message}"):
        Dataset(*made(10)).subset(rows)


def test_queries_of_a_subset():
    X, y = made(10)
    data = Dataset(X, y, group=[3, 4, 3])
    assert data.subset([0, 1, 2, 7, 8, 9]).get_group().tolist() == [3, 3]
    assert data.subset([1, 3, 4, 6]).get_group().tolist() == [1, 3]


def test_subset_of_another_set_in_evaluation():
    X, y = made()
    history = [{}, {}]
    for record, free in zip(history, (True, False), strict=True):
        other = Dataset(X, y, free_raw_data=False).subset(np.arange(50))
        if free:
            other = Dataset(X[:50], y[:50])
        calls = [skgoss.record_evaluation(record)]
        train(SMALL, Dataset(X, y), valid_sets=other, callbacks=calls)
    assert history[0] == history[1]


# --- Containers -----------------------------------------------------------------------


@pytest.mark.parametrize("field", ["label", "weight", "group", "init_score"])
def test_fields_of_lazy_data_are_checked(field, polars):
    frame = polars.LazyFrame({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=field):
        Dataset(frame, **{field: [1.0, 1.0]}).construct()


# --- The same model as the estimators' ------------------------------------------------


def wide(X):
    X = np.where(np.abs(X) > 1, X, 0.0)
    return sparse.csr_matrix(X)


def with_gaps(X):
    return np.where(X > 1, np.nan, X)


@pytest.mark.parametrize("change", [None, wide, with_gaps])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.7},
        {"boosting": "dart", "drop_rate": 0.5},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"linear_tree": True},
        {"max_bin": 15, "min_data_in_bin": 5, "extra_trees": True},
        {"max_conflict_rate": 0.2},
        {"monotone_constraints": {"a": 1}, "max_bin_by_feature": {"b": 7}},
    ],
    ids=str,
)
def test_train_is_fit(change, options):
    X, y = made()
    X = X if change is None else change(X)
    if "linear_tree" in options and change is wide:
        X = X.toarray()
    weight = np.arange(N) % 3 * 1.5
    names = list("abcd")
    fitted = LGBMRegressor(**SMALL | options).fit(
        X, y, sample_weight=weight, init_score=y / 2, feature_name=names
    )
    for n_threads in (1, 2):
        data = Dataset(X, y, weight=weight, init_score=y / 2, feature_name=names)
        for _ in range(2):
            found = train(SMALL | options | {"num_threads": n_threads}, data)
            assert text(found) == text(fitted)


def test_classes_and_queries_of_a_data_set():
    X, y = made()
    label = np.digitize(y, [-0.5, 0.5])
    scores = np.stack([y, -y, y * y], axis=1)
    options = SMALL | {"objective": "multiclass"}
    fitted = LGBMClassifier(**options).fit(X, label, init_score=scores)
    data = Dataset(X, label, init_score=scores)
    assert text(train(options | {"num_class": 3}, data)) == text(fitted)
    assert text(LGBMClassifier(**options).fit(data)) == text(fitted)
    group = [10] * (N // 10)
    data = Dataset(X, label, group=group)
    ranked = LGBMRanker(**SMALL).fit(X, label, group=group)
    assert text(train(SMALL | {"objective": "lambdarank"}, data)) == text(ranked)
    assert text(LGBMRanker(**SMALL).fit(data)) == text(ranked)


# --- Files, pickles, other columns ----------------------------------------------------


def full(X, y, **options):
    """A data set with all fields."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["d"] = np.array(["x", "y", "z"])[np.arange(len(X)) % 3]
    y = y + 3 * (frame["d"] == "y")
    n = len(y)
    return Dataset(
        frame,
        y,
        weight=np.arange(n) % 3 + 1.0,
        group=[10] * (n // 10),
        init_score=np.stack([y / 2, -y], axis=1),
        params={"max_bin": 31, "max_bin_by_feature": {"b": 5}},
        **options,
    )


def written(data, way, tmp_path):
    """The data set as it is read back."""
    if way == "file":
        assert data.save_binary(tmp_path / "data.bin") is data
        return Dataset(tmp_path / "data.bin")
    return pickle.loads(pickle.dumps(data)) if way == "pickle" else copy.deepcopy(data)


@pytest.mark.parametrize("way", ["file", "pickle", "copy"])
def test_data_sets_are_kept(way, tmp_path, builds):
    X, y = made()
    data = full(X, y).construct()
    found = written(data, way, tmp_path)
    for name in ("label", "weight", "group", "init_score", "position"):
        np.testing.assert_array_equal(
            getattr(found, f"get_{name}")(), getattr(data, f"get_{name}")()
        )
    assert found.get_feature_name() == list("abcd")
    assert (found.num_data(), found.num_feature()) == (N, 4)
    assert found.get_params() == data.get_params()
    for one in (data, found):
        one.set_init_score(None).set_group(None)
    X_valid, y_valid = made(30, seed=1)
    scores = []
    for one in (data, found):
        valid = full(X_valid, y_valid).set_init_score(None).set_group(None)
        record = {}
        call = skgoss.record_evaluation(record)
        model = train(SMALL, one, valid_sets=[valid], callbacks=[call])
        scores.append((text(model), record))
    assert scores[0] == scores[1]
    assert len(builds) == 1
    with pytest.raises(ValueError, match="change max_bin from 31 to 63"):
        train(SMALL | {"max_bin": 63}, found)
    found.label[:] = 0
    assert not found.get_label().any()


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_evaluation_sets_are_kept(way, tmp_path):
    X, y = made()
    data = Dataset(X, y)
    valid = data.create_valid(*made(50, seed=1)).construct()
    history = [{}, {}, {}]
    calls = [[skgoss.record_evaluation(record)] for record in history]
    train(SMALL, data, valid_sets=[valid], callbacks=calls[0])
    if way == "file":
        data.save_binary(tmp_path / "train.bin")
        valid.save_binary(tmp_path / "valid.bin")
        data = Dataset(tmp_path / "train.bin")
        for i, reference in enumerate((data, None)):
            other = Dataset(tmp_path / "valid.bin", reference=reference)
            train(SMALL, data, valid_sets=[other], callbacks=calls[1 + i])
    else:
        data, other = pickle.loads(pickle.dumps((data, valid)))
        train(SMALL, data, valid_sets=[other], callbacks=calls[1])
        other = pickle.loads(pickle.dumps(valid))
        train(SMALL, data, valid_sets=[other], callbacks=calls[2])
    assert history[0] == history[1] == history[2]


def test_other_bins_in_a_file(tmp_path):
    X, y = made()
    path = tmp_path / "valid.bin"
    Dataset(2 * X, y).save_binary(path)
    with pytest.raises(ValueError, match=r"'valid_0': .* cannot change its reference"):
        train(SMALL, Dataset(X, y), valid_sets=[Dataset(path)])
    with pytest.raises(
        ValueError, match=r"cannot change max_bin from 255 to 7, because the file"
    ):
        Dataset(path, params={"max_bin": 7}).construct()
    assert Dataset(path, label=-y).get_label().tolist() == (-y).tolist()
    with pytest.raises(ValueError, match=r"label must have one value for each"):
        Dataset(path, label=[1.0]).construct()


@pytest.mark.parametrize("kind", ["subset", "reference"])
def test_parts_are_pickled(kind):
    X, y = made()
    data = Dataset(X, y, free_raw_data=False)
    part = data.subset(np.arange(100)) if kind == "subset" else data.create_valid(X, y)
    expected = text(train(SMALL, part))
    found = pickle.loads(pickle.dumps(part))
    assert text(train(SMALL, found)) == expected
    np.testing.assert_array_equal(found.get_data(), part.get_data())
    linear = SMALL | {"linear_tree": True}
    assert text(train(linear, found)) == text(train(linear, part))


def test_changed_states(tmp_path):
    X, y = made(50)
    state = Dataset(X, y).construct().__getstate__()
    changes = [
        {"label": y[1:]},
        {"weight": -np.ones(50)},
        {"_inputs": {**state["_inputs"], "names": ["a"]}},
        {"_inputs": {**state["_inputs"], "names": [1, 2, 3, 4]}},
        {"_inputs": {**state["_inputs"], "options": {"max_bin": "many"}}},
        {"_inputs": {**state["_inputs"], "categories": {}}},
        {"_inputs": {**state["_inputs"], "feature_names_in_": ["a"]}},
        {"_binned": {}},
        {"params": None},
        {"used_indices": np.array([1, 2])},
        {"feature_name": [1, 2, 3, 4]},
    ]
    raw = {"_binned": None, "_inputs": None, "data": X}
    for change in [*changes, {**raw, "label": y[1:]}]:
        changed = Dataset.__new__(Dataset)
        with pytest.raises(ValueError, match=r"\w"):
            changed.__setstate__({**state, **change})
        assert not vars(changed)
    part = Dataset(X, y).subset([1, 2])
    with pytest.raises(ValueError, match="used_indices must be numbers from 0 to 49"):
        Dataset.__new__(Dataset).__setstate__(
            {**part.__getstate__(), "used_indices": np.array([1, 99])}
        )


def test_text_files(tmp_path):
    X, y = made()
    weight = np.arange(N) % 3 + 1.0
    table = np.column_stack([X[:, 0], y, X[:, 1:], weight])
    path = tmp_path / "train.csv"
    np.savetxt(path, table, delimiter=",", header="a,y,b,c,d,w", comments="")
    params = {"header": True, "label": "name:y", "weight_column": "name:w"}
    data = Dataset(path, params=params)
    assert data.get_label().tolist() == y.tolist()
    assert data.get_weight().tolist() == weight.tolist()
    assert data.num_feature() == 5
    expected = LGBMRegressor(**SMALL).fit(
        np.column_stack([X, np.full(N, np.nan)]),
        y,
        sample_weight=weight,
        feature_name=list("abcdw"),
    )
    assert text(train(SMALL, Dataset(str(path), params=params))) == text(expected)
    other = Dataset(path, label=-y, params=params)
    assert other.get_label().tolist() == (-y).tolist()
    fitted = LGBMRegressor(**SMALL).fit(Dataset(path, params=params))
    assert text(fitted) == text(expected)
    with pytest.raises(FileNotFoundError):
        Dataset(tmp_path / "none.csv").construct()
    with pytest.raises(ValueError, match="weight must have one value for each"):
        Dataset(path, weight=[1.0], params=params).construct()


def test_svmlight_files(tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = made()
    X[np.abs(X) < 0.7] = 0
    X[:, 3] = np.abs(X[:, 3])
    X, y = X.round(3), y.round(3)
    valid = X[:20] * [1, 1, 1, 0]
    for name, rows in (("train", X), ("valid", valid)):
        datasets.dump_svmlight_file(rows, y[: len(rows)], str(tmp_path / name))
    data = Dataset(tmp_path / "train")
    record = {}
    model = train(
        SMALL,
        data,
        valid_sets=[data.create_valid(tmp_path / "valid")],
        callbacks=[skgoss.record_evaluation(record)],
    )
    expected = LGBMRegressor(**SMALL).fit(X, y, eval_set=[(valid, y[:20])])
    assert text(model) == text(expected)
    assert record == expected.evals_result_


def test_files_of_other_libraries(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(b"______LightGBM_Binary_File_Token______\n" + bytes(100))
    with pytest.raises(ValueError, match="only LightGBM reads"):
        Dataset(path).construct()


@pytest.mark.parametrize("named", [False, True])
def test_columns_of_another_data_set(named, pandas):
    X, y = made()
    first, second = X[:, :2], X[:, 2:].copy()
    second[:, 1] = np.arange(N) % 4
    both = np.column_stack([first, second])
    names = "auto"
    if named:
        names = ["a", "b", "D2_a", "c"]
        first = pandas.DataFrame(first, columns=["a", "b"])
        second = pandas.DataFrame(second, columns=["a", "c"])
    params = {"max_bin": 15}
    data = Dataset(first, y, params=params)
    other = Dataset(second, categorical_feature=[1], params=params)
    assert data.add_features_from(other) is data
    expected = Dataset(
        both, y, feature_name=names, categorical_feature=[3], params=params
    )
    assert data.num_feature() == 4
    assert data.get_feature_name() == expected.get_feature_name()
    found = train(SMALL, data)
    assert text(found) == text(train(SMALL, expected))
    rows = pandas.DataFrame(both, columns=names) if named else both
    np.testing.assert_array_equal(
        found.predict(rows), train(SMALL, expected).predict(rows)
    )
    assert other.num_feature() == 2
    with pytest.raises(ValueError, match="must have the same rows"):
        data.add_features_from(Dataset(X[:10]))
    with pytest.raises(ValueError, match="with a reference"):
        data.add_features_from(other.create_valid(second))
    with pytest.raises(TypeError, match="other must be a Dataset"):
        data.add_features_from(both)


def test_names_of_columns_that_are_strings_and_numbers(pandas):
    X, y = made()
    frame = pandas.DataFrame(X, columns=["a", 0, "b", 1])
    data = Dataset(frame, y, free_raw_data=False)
    model = train(SMALL, data, valid_sets=[Dataset(frame[:50], y[:50])])
    assert model.feature_name() == ["a", "0", "b", "1"]
    assert list(data.get_data().columns) == ["a", 0, "b", 1]
    expected = train(SMALL, Dataset(X, y)).predict(X)
    np.testing.assert_array_equal(model.predict(frame), expected)


def test_messages_of_scikit_learn_name_the_dataset():
    X, y = made()
    with pytest.raises(ValueError, match="required by Dataset"):
        Dataset(X[:0], label=[]).construct()
    data = Dataset(X, label=y)
    with pytest.raises(ValueError, match="but Dataset is expecting 4 features"):
        data.create_valid(X[:, :3], label=y).construct()


def test_an_unknown_objective_is_an_error_before_rows_are_binned(monkeypatch):
    X, y = made()
    monkeypatch.setattr(BinnedDataset, "build", None)
    with pytest.raises(ValueError, match="'binari'"):
        train({"objective": "binari"}, Dataset(X, label=y))


def test_states_have_all_entries():
    state = Dataset(*made(50)).__getstate__()
    for name in state.keys() - {"_keeps_values", "_version", "memory_map"}:
        found = Dataset.__new__(Dataset)
        with pytest.raises(ValueError, match=f"the state of Dataset has no '{name}'"):
            found.__setstate__({n: value for n, value in state.items() if n != name})
    for name in ("reference", "feature_name", "categorical_feature", "_lock"):
        with pytest.raises(ValueError, match=f"'{name}' of the state of Dataset"):
            Dataset.__new__(Dataset).__setstate__({**state, name: 7})


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("n", [101, 150, 2000])
def test_chains_of_references_are_short(n, closed):
    message = "for 100 data sets or more, or in a circle"
    sets = [Dataset(*made(50)) for _ in range(n)]
    for data, reference in itertools.pairwise(sets):
        data.set_reference(reference)
    if closed:
        with pytest.raises(ValueError, match=message):
            sets[-1].set_reference(sets[0])
    for use in (Dataset.construct, Dataset.get_feature_name, Dataset._construct):
        with pytest.raises(ValueError, match=message):
            use(sets[0])
    with pytest.raises(ValueError, match=message):
        train(SMALL, sets[0])
    with pytest.raises(ValueError, match=message):
        train(SMALL, sets[-1], valid_sets=[sets[0]])
    sets[-99].construct()


def test_subsets_of_subsets_end():
    part = Dataset(*made(50))
    for _ in range(99):
        part = part.subset(range(50))
    with pytest.raises(ValueError, match="for 100 data sets or more"):
        part.subset(range(50))


def test_sets_of_equal_bins_and_other_categories(pandas):
    codes = np.arange(300) % 3
    y = np.array([0.0, 5.0, 20.0])[codes]
    one, other = (
        pandas.DataFrame({"w": pandas.Categorical.from_codes(codes, list(words))})
        for words in ("abc", "bcd")
    )
    ours, theirs = (Dataset(X, y, free_raw_data=False) for X in (one, other))
    ours.construct()
    theirs.construct()
    assert theirs._binned.has_bins_of(ours._binned)
    theirs.set_reference(ours)
    booster = skgoss.Booster(SMALL | {"min_data_per_group": 5}, ours)
    booster.add_valid(theirs, "other")
    for _ in range(3):
        booster.update()
    ((_, _, value, _),) = booster.eval_valid()
    np.testing.assert_allclose(value, np.mean((booster.predict(other) - y) ** 2))
    assert value > 2 * np.mean((booster.predict(one) - y) ** 2)
