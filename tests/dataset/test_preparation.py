"""When a Dataset is read and binned, and whose bins it shares."""

import threading

import numpy as np
import pytest

import skgoss
from helpers.data_sets import SMALL, N, made, text
from skgoss import Dataset, LGBMRegressor, train
from skgoss.binning.binned_dataset import BinnedDataset


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
