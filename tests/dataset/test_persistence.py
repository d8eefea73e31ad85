"""A Dataset in files and pickles."""

import copy
import pickle

import numpy as np
import pytest

import skgoss
from helpers.data_sets import SMALL, N, made, text
from skgoss import Dataset, train


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


def test_files_of_other_libraries(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(b"______LightGBM_Binary_File_Token______\n" + bytes(100))
    with pytest.raises(ValueError, match="only LightGBM reads"):
        Dataset(path).construct()


def test_states_have_all_entries():
    state = Dataset(*made(50)).__getstate__()
    for name in state.keys() - {"_keeps_values", "_version", "memory_map"}:
        found = Dataset.__new__(Dataset)
        with pytest.raises(ValueError, match=f"the state of Dataset has no '{name}'"):
            found.__setstate__({n: value for n, value in state.items() if n != name})
    for name in ("reference", "feature_name", "categorical_feature", "_lock"):
        with pytest.raises(ValueError, match=f"'{name}' of the state of Dataset"):
            Dataset.__new__(Dataset).__setstate__({**state, name: 7})
