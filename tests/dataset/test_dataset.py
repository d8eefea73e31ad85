"""The user's Dataset: what it holds, when it is binned, whose bins it shares."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import skgoss
from helpers.data_sets import SMALL, N, made, text
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, train

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


# --- Other columns --------------------------------------------------------------------


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
