"""Rows that are read in batches give the bits of the same rows in memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, train
from skgoss.sources import source

pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")
from helpers import streams  # noqa: E402
from helpers.sequences import Rows  # noqa: E402
from helpers.streams import (  # noqa: E402
    FEATURES,
    PARAMS,
    SOURCES,
    TABLE,
    VALUES,
    N,
    X,
    as_text,
    make_table,
)

batch_values = streams.batch_values
folder = streams.folder
few_or_many_batches = streams.few_or_many_batches


@pytest.mark.parametrize("kind", SOURCES)
def test_sources_have_the_bits_of_memory(folder, kind):
    fields = {"label": "y", "weight": "w", "init_score": "start"}
    streamed = Dataset(SOURCES[kind](folder), **fields)
    names = [*FEATURES, "q"]
    in_memory = Dataset(
        TABLE.select(names), **{field: VALUES[name] for field, name in fields.items()}
    )
    assert as_text(streamed) == as_text(in_memory)
    assert streamed.num_data() == N
    assert streamed.get_feature_name() == names
    np.testing.assert_array_equal(streamed.get_label(), VALUES["y"])


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_jobs": 2},
        {"enable_bundle": False},
        {"is_enable_sparse": False},
        {"max_conflict_rate": 0.1},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"data_sample_strategy": "goss"},
        {"subsample_for_bin": N},
        {"max_bin": 1000, "min_data_in_bin": 1},
        {"min_data_in_leaf": 1, "max_bin_by_feature": [20] * len(FEATURES)},
        {"categorical_feature": ["count", "nulls", "word"]},
    ],
)
@few_or_many_batches
def test_options_have_the_bits_of_memory(params):
    options = PARAMS | params
    source = dataset.dataset(X.to_batches(max_chunksize=450))
    streamed = Dataset(source, label=VALUES["y"], weight=VALUES["w"])
    in_memory = Dataset(X, label=VALUES["y"], weight=VALUES["w"])
    assert as_text(streamed, options) == as_text(in_memory, options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_arrays_and_memory_maps(tmp_path, dtype):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(N, 6)) * (rng.random((N, 6)) < [1, 1, 1, 0.1, 0.1, 0.1])
    rows = (rows * (100 if dtype is np.int64 else 1)).astype(dtype)
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    y = rows.sum(axis=1) + rng.normal(size=N)
    expected = as_text(rows, label=y)
    for data in (
        np.load(path, mmap_mode="r"),
        Rows(rows),
        [Rows(rows[:100]), rows[100:1000], Rows(rows[1000:])],
        [rows[:3], rows[3:]],
    ):
        assert as_text(data, label=y) == expected


def test_queries_by_name(folder):
    params = PARAMS | {"objective": "lambdarank"}
    labels = np.clip(np.rint(VALUES["y"]), 0, 4)
    table = X.append_column("q", TABLE["q"]).append_column("y", pyarrow.array(labels))
    streamed = Dataset(dataset.dataset(table), label="y", group="q")
    in_memory = Dataset(X, label=labels, group=np.full(N // 20, 20))
    assert as_text(streamed, params) == as_text(in_memory, params)
    np.testing.assert_array_equal(streamed.get_group(), np.full(N // 20, 20))


def test_evaluation_sets(folder):
    valid = make_table(900, seed=1)
    streamed = Dataset(folder, label="y", weight="w")
    results = []
    for train_set, valid_set in (
        (streamed, Dataset(dataset.dataset(valid), label="y", weight="w")),
        (
            Dataset(TABLE.drop(["y", "w"]), label=VALUES["y"], weight=VALUES["w"]),
            Dataset(
                valid.drop(["y", "w"]),
                label=valid["y"].to_numpy(),
                weight=valid["w"].to_numpy(),
            ),
        ),
    ):
        evals = {}
        from skgoss import record_evaluation

        train(
            PARAMS,
            train_set,
            5,
            valid_sets=[valid_set],
            callbacks=[record_evaluation(evals)],
        )
        results.append(evals)
    assert results[0] == results[1]


def test_a_column_may_be_a_feature_and_the_weight_of_an_evaluation_set(folder):
    valid = make_table(900, seed=1)
    rows, y = X.append_column("w", TABLE["w"]), VALUES["y"] + 9 * VALUES["w"]
    given = {"sample_weight": valid["w"].to_numpy(), "y": valid["y"].to_numpy()}
    streamed = LGBMRegressor(n_estimators=3).fit(
        dataset.dataset(rows),
        y,
        eval_set=[(dataset.dataset(valid.select([*rows.schema.names, "y"])), "y")],
        eval_sample_weight=["w"],
    )
    in_memory = LGBMRegressor(n_estimators=3).fit(
        rows,
        y,
        eval_set=[(valid.select(rows.schema.names), given["y"])],
        eval_sample_weight=[given["sample_weight"]],
    )
    assert streamed.evals_result_ == in_memory.evals_result_
    assert streamed.feature_importances_[-1] > 0  # it is a feature
    with_label = LGBMRegressor(n_estimators=2).fit(
        dataset.dataset(rows), y, eval_set=[(dataset.dataset(rows), "w")]
    )
    squares = (with_label.predict(rows) - TABLE["w"].to_numpy()) ** 2
    assert with_label.evals_result_["valid_0"]["l2"][-1] == pytest.approx(
        squares.mean()
    )


def test_labels_of_words(folder):
    words = np.array(["no", "yes"])[(VALUES["y"] > 1).astype(int)]
    table = X.append_column("y", pyarrow.array(words))
    model = LGBMClassifier(n_estimators=3).fit(dataset.dataset(table), "y")
    expected = LGBMClassifier(n_estimators=3).fit(X, words)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("missing", [slice(0, 90), slice(50, 150), slice(0, 200)])
def test_a_column_may_be_missing_in_some_batches(tmp_path, monkeypatch, missing):
    """Its categories are those of the other batches, if there are any."""
    monkeypatch.setattr(source, "BATCH_VALUES", 2 * 30)
    word = np.array(["a", "b", "c"], dtype=object)[np.arange(200) * 7 % 3]
    y = np.arange(200) % 11 + 5.0 * (word == "b")
    word[missing] = None
    data = {"x": np.arange(200.0) % 11, "word": pyarrow.array(word, pyarrow.string())}
    table = pyarrow.table(data)
    for first in (0, 100):
        part = table.slice(first, 100)
        parquet.write_table(part, tmp_path / f"{first:03}.parquet", row_group_size=25)
    streamed = Dataset(tmp_path, label=y)
    assert as_text(streamed) == as_text(table, label=y)


def test_ordered_categories_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BATCH_VALUES", 30)
    codes = pyarrow.array(np.arange(200) * 7 % 3, pyarrow.int32())
    size = pyarrow.DictionaryArray.from_arrays(codes, ["S", "M", "L"], ordered=True)
    table = pyarrow.table({"size": size})
    parquet.write_table(table, tmp_path / "0.parquet", row_group_size=50)
    y = np.arange(200) * 7 % 3 + np.arange(200) % 5
    one, other = (Dataset(rows, label=y) for rows in (tmp_path, table))
    assert as_text(one) == as_text(other)


def test_estimators_take_columns_by_name(folder):
    valid = dataset.dataset(make_table(900, seed=1))
    model = LGBMRegressor(n_estimators=3)
    model.fit(folder, "y", sample_weight="w", eval_set=[(valid, "y")])
    expected = LGBMRegressor(n_estimators=3)
    rows = Dataset(TABLE.drop(["y", "w"]), label=VALUES["y"], weight=VALUES["w"])
    expected.fit(rows)
    assert model.n_features_in_ == len(FEATURES) + 2
    np.testing.assert_array_equal(model.predict(valid), expected.predict(valid))
    assert "l2" in model.evals_result_["valid_0"]
    ranker = LGBMRanker(n_estimators=2, label_gain=list(range(99)))
    labels = pyarrow.array(np.clip(np.rint(VALUES["y"]), 0, 4).astype(int))
    table = X.append_column("q", TABLE["q"]).append_column("y", labels)
    ranker.fit(dataset.dataset(table), "y", qid="q")
    again = LGBMRanker(n_estimators=2, label_gain=list(range(99)))
    again.fit(X, labels.to_numpy(), qid=VALUES["q"])
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


# --- What goes wrong ------------------------------------------------------------------


def test_values_in_memory_are_not_there(folder):
    with pytest.raises(ValueError, match=r"linear_tree needs the values of all rows"):
        train({"linear_tree": True, "verbose": -1}, Dataset(folder, label="y"), 2)
    with pytest.raises(ValueError, match=r"data are read in batches"):
        train({"linear_tree": True}, Dataset(folder, label=VALUES["y"]), 2)
    model = train(PARAMS, Dataset(folder, label="y"), 2)
    with pytest.raises(ValueError, match="init_model needs the values"):
        train(PARAMS, Dataset(folder, label="y"), 2, init_model=model)
    estimator = LGBMRegressor(n_estimators=2).fit(folder, "y")
    for method in (
        *(estimator.staged_predict, estimator.explain, model.explain),
        lambda path: model.refit(path, VALUES["y"]),
    ):
        with pytest.raises(ValueError, match="data are read in batches"):
            method(folder)
    with pytest.raises(ValueError, match="data must have a row"):
        Dataset(dataset.dataset(TABLE.slice(0, 0)), label="y").construct()
    with pytest.raises(FileNotFoundError, match=r"no-file\.parquet"):
        Dataset("no-file.parquet").construct()


def test_columns_of_data_in_batches(folder):
    chosen = ["b", "word", "a"]
    whole = Dataset(TABLE.select(chosen), label=VALUES["y"], weight=VALUES["w"])
    fields = {"label": "y", "weight": "w"}
    assert as_text(Dataset(folder, columns=chosen, **fields)) == as_text(whole)
    copied = pickle.loads(pickle.dumps(Dataset(folder, columns=chosen, **fields)))
    assert as_text(copied) == as_text(whole)
    given = Dataset(folder, label=VALUES["y"], weight=VALUES["w"], columns=chosen)
    assert as_text(given) == as_text(whole)
    data = Dataset(folder, columns=chosen, **fields)
    valid = Dataset(folder, label="y", reference=data)
    model = train(PARAMS, data, 5, valid_sets=[valid])
    assert data.get_feature_name() == chosen
    expected = train(PARAMS, whole, 5).predict(TABLE.select(chosen))
    np.testing.assert_array_equal(model.predict(folder), expected)


def test_columns_may_leave_out_what_cannot_be_read(tmp_path):
    lists = pyarrow.array([[1.0]] * N)
    parquet.write_table(TABLE.append_column("lists", lists), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="Column 'lists' holds lists"):
        Dataset(tmp_path, label="y").construct()
    data = Dataset(tmp_path, label="y", columns=["a", "b"])
    model = LGBMRegressor(n_estimators=5).fit(data)
    assert model.feature_name_ == ["a", "b"]


def test_columns_are_checked(folder, tmp_path):
    with pytest.raises(ValueError, match="data has no column 'aa'"):
        Dataset(folder, label="y", columns=["aa"]).construct()
    with pytest.raises(ValueError, match="data has no column 'y'"):
        Dataset(folder, label="y", columns=["y", "a"]).construct()
    for wrong in ("a", [], ["a", "a"], [0]):
        with pytest.raises(ValueError, match="columns must be a list of different"):
            Dataset(folder, label="y", columns=wrong)
    with pytest.raises(ValueError, match="in memory: select the columns first"):
        Dataset(TABLE.to_pandas(), label=VALUES["y"], columns=["a"]).construct()
    (tmp_path / "rows.csv").write_text("y,a\n1,2\n")
    Dataset(np.ones((9, 2)), label=np.ones(9)).save_binary(tmp_path / "rows.bin")
    for name in ("rows.csv", "rows.bin"):
        with pytest.raises(ValueError, match=r"in batches.* params=\{'ignore_column'"):
            Dataset(tmp_path / name, columns=["a"]).construct()
    with pytest.raises(TypeError, match=r"Dataset\(path, label=..., columns="):
        LGBMRegressor().fit(folder, "y", columns=["a"])
