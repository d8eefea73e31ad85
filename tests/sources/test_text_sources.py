"""Text files are read in batches, with the bits of a file that is read at once."""

from __future__ import annotations

import gzip
import os
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from skgoss import Dataset, LGBMRegressor, train
from skgoss.sources import source

N = 900
PARAMS = {
    **{"num_leaves": 7, "subsample_for_bin": 300, "max_bin": 63},
    **{"min_data_in_leaf": 5, "verbose": -1},
}


def made():
    """Numbers, some of them missing or zero, a label, weights and queries."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)).round(4)
    X[rng.random(N) < 0.2, 1] = np.nan
    X[:, 2:] *= rng.random((N, 3)) < [0.5, 0.05, 0.05]
    y = (np.nan_to_num(X[:, 0]) + X[:, 2] + rng.normal(size=N)).round(2)
    return X, y, rng.integers(0, 3, N), np.repeat(np.arange(N // 30), 30)


X, Y, W, Q = made()


@pytest.fixture(autouse=True, params=[250, 1 << 21], ids=["small", "large"])
def batch_values(request, monkeypatch):
    monkeypatch.setattr(source, "BATCH_VALUES", request.param)
    return request.param


def rows_of(*columns, separator=",", end="\n", header=""):
    """A table in text; missing values are empty."""
    lines = [
        separator.join("" if v != v else f"{v:g}" for v in row)
        for row in np.column_stack(columns).tolist()
    ]
    return end.join([header, *lines] if header else lines) + end


def libsvm(columns, label, queries=None):
    lines = []
    for i, row in enumerate(columns):
        query = "" if queries is None else f" qid:{queries[i]}"
        items = "".join(f" {j}:{v:g}" for j, v in enumerate(row) if v == v and v != 0)
        lines.append(f"{label[i]:g}{query}{items}\n")
    return "".join(lines)


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_text(rows, params=PARAMS, n_rounds=4):
    return train(params, rows, n_rounds).model_to_string()


CLEARED = np.full(N, np.nan)
NAMES = ["a", "b", "c", "d", "e"]
HEADER = {"header": True}
# The content of a file, params of the Dataset, and the same rows in memory.
FILES = {
    "csv": (rows_of(Y, X), {}, {}),
    "tsv": (rows_of(Y, X, separator="\t"), {}, {}),
    "crlf": (rows_of(Y, X, end="\r\n"), {}, {}),
    "cr": (rows_of(Y, X, end="\r"), {}, {}),
    "empty lines": (rows_of(Y, X, end="\n\n \n"), {}, {}),
    "no end": (rows_of(Y, X)[:-1], {}, {}),
    "header": (
        rows_of(X[:, :2], Y, X[:, 2:], header="a,b,y,c,d,e"),
        {**HEADER, "label_column": "name:y"},
        {"feature_name": NAMES},
    ),
    "weight": (
        rows_of(Y, W, X),
        {"weight_column": 0},
        {"data": np.column_stack([CLEARED, X]), "weight": W},
    ),
    "two columns and ignored ones": (
        rows_of(W, X, Q, Y),
        {"weight_column": 0, "label_column": 7, "group": 6, "ignore_column": [2]},
        {
            "data": np.column_stack([CLEARED, X[:, 0], CLEARED, X[:, 2:], CLEARED]),
            "weight": W,
            "group": np.full(N // 30, 30),
        },
    ),
}


@pytest.mark.parametrize("by", ["pandas", "numpy"])
@pytest.mark.parametrize("name", FILES)
def test_tables_have_the_bits_of_memory(name, by, tmp_path, read_by):
    content, params, fields = FILES[name]
    if by == "numpy" or content.count("\r") == content.count("\r\n"):
        read_by(by)  # others are never pandas'
    in_memory = Dataset(**{"data": X, "label": Y, **fields})
    for file_name, body in (
        ("rows.csv", content),
        ("rows.csv.gz", gzip.compress(content.encode())),
    ):
        file = Dataset(written(tmp_path / file_name, body), params=params)
        assert as_text(file) == as_text(in_memory)
        assert_array_equal(file.get_label(), Y)
        assert (file.num_data(), file.num_feature()) == in_memory._shape


@pytest.mark.parametrize("queries", [None, Q])
def test_libsvm_has_the_bits_of_memory(queries, tmp_path):
    # The last column comes up late, and zeros are not stored.
    values = np.nan_to_num(X)
    values[:, 4] = np.arange(N) == N - 1
    path = written(tmp_path / "rows.svm", libsvm(values, Y, queries))
    file = Dataset(path)
    in_memory = Dataset(sparse.csr_matrix(values), label=Y)
    assert as_text(file) == as_text(in_memory)
    assert file.num_feature() == 5
    if queries is not None:
        assert_array_equal(file.get_group(), np.full(N // 30, 30))
    weighted = np.abs(values)
    path = written(tmp_path / "weighted.svm", libsvm(weighted, Y))
    cleared = weighted.copy()
    cleared[:, 2] = 0
    in_memory = Dataset(sparse.csr_matrix(cleared), label=Y, weight=weighted[:, 2])
    assert as_text(Dataset(path, params={"weight_column": 2})) == as_text(in_memory)


def test_files_beside_the_file(tmp_path):
    path = written(tmp_path / "rows.csv", rows_of(Y, X))
    for suffix, values in (("weight", W), ("init", Y * 0.5), ("position", Q % 3)):
        np.savetxt(f"{path}.{suffix}", values, fmt="%g")
    np.savetxt(f"{path}.query", np.full(N // 30, 30), fmt="%g")
    file = Dataset(path)
    assert_array_equal(file.get_position(), Q % 3)
    file.set_position(None)
    in_memory = Dataset(
        X, Y, weight=W, init_score=(Y * 0.5).round(5), group=np.full(N // 30, 30)
    )
    assert as_text(file) == as_text(in_memory)


def test_several_files_are_one_table(tmp_path):
    cuts = [(0, 100), (100, 110), (110, N)]
    header = "y,q," + ",".join(NAMES)
    paths = []
    for number, (start, stop) in enumerate(cuts):
        part = slice(start, stop)
        text = rows_of(Y[part], Q[part], X[part], header=header)
        paths.append(written(tmp_path / f"{number}.csv", text))
        np.savetxt(f"{paths[-1]}.weight", W[part], fmt="%g")
    file = Dataset(paths, params={**HEADER, "group_column": "name:q"})
    rows = np.column_stack([CLEARED, X])
    in_memory = Dataset(rows, Y, weight=W, group=np.full(N // 30, 30))
    in_memory.set_feature_name(["q", *NAMES])
    assert as_text(file) == as_text(in_memory)
    os.remove(f"{paths[1]}.weight")
    with pytest.raises(FileNotFoundError, match=r"1\.csv\.weight"):
        Dataset(paths, params=HEADER).construct()
    for other, match in (
        ("y,q,a,b,c,d,z\n1,2,3,4,5,6,7\n", "1.csv: the header differs"),
        ("y,q\n1,2\n", r"1\.csv: the file has 2 columns, but .*0\.csv has 7"),
        ("y\n1 0:2\n", r"1\.csv: some files are LibSVM"),
    ):
        written(paths[1], other)
        with pytest.raises(ValueError, match=match):
            Dataset(paths, params=HEADER).construct()


def test_columns_by_name(tmp_path):
    text = rows_of(Y, W, Q, X, header="y,w,q," + ",".join(NAMES))
    path = written(tmp_path / "rows.csv", text)
    file = Dataset(path, label="y", weight="w", group="q")
    rows = np.column_stack([CLEARED, CLEARED, X])
    in_memory = Dataset(rows, Y, weight=W, group=np.full(N // 30, 30))
    in_memory.set_feature_name(["w", "q", *NAMES])
    assert as_text(file) == as_text(in_memory)
    with pytest.raises(ValueError, match=r"rows\.csv: label_column: there is no co"):
        Dataset(path, label="units").construct()
    with pytest.raises(ValueError, match="may be the name of a column, and init_score"):
        Dataset(path, label="y", weight=["w", "q"]).construct()


def test_the_search_for_labels_is_shown_if_asked(tmp_path, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("skgoss.fit.callbacks.SHORT_FIT", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    header = ",".join(["y", *NAMES])
    path = written(tmp_path / "rows.csv", rows_of(Y, X, header=header))
    for fit in (
        lambda verbosity: train({"verbose": verbosity}, Dataset(path, label="y"), 1),
        lambda verbosity: LGBMRegressor(verbosity=verbosity).fit(path, "y"),
    ):
        fit(1)
        assert "bytes searched for labels" in capsys.readouterr().out
        fit(-1)
        assert capsys.readouterr().out == ""


@pytest.mark.parametrize("n_scores", [1, 3])
def test_start_scores_by_name(n_scores, tmp_path):
    scores = np.round(np.sin(np.arange(N * n_scores)), 3).reshape(N, n_scores)
    of_scores = [f"s{k}" for k in range(n_scores)]
    header = ",".join(["y", *NAMES, *of_scores])
    path = written(tmp_path / "rows.csv", rows_of(Y, X, scores, header=header))
    written(tmp_path / "rows.csv.init", "7\n" * N)  # the columns have priority
    given = of_scores if n_scores > 1 else of_scores[0]
    file = Dataset(path, label="y", init_score=given)
    assert_array_equal(file.get_init_score(), scores.squeeze())
    in_memory = Dataset(np.column_stack([X, np.full_like(scores, np.nan)]), Y)
    in_memory.set_init_score(scores.squeeze()).set_feature_name([*NAMES, *of_scores])
    if n_scores == 1:
        assert as_text(file) == as_text(in_memory)
    missing = np.where(np.arange(N) == 7, np.nan, 0.5)
    header = ",".join(["y", *NAMES, "s"])
    other = written(tmp_path / "other.csv", rows_of(Y, X, missing, header=header))
    with pytest.raises(ValueError, match="init_score must be finite"):
        Dataset(other, label="y", init_score="s").construct()


def test_estimators_take_files_with_names(tmp_path):
    header = "units,w," + ",".join(NAMES)
    path = written(tmp_path / "rows.csv", rows_of(Y, W, X, header=header))
    options = {"n_estimators": 3, "subsample_for_bin": 300}
    model = LGBMRegressor(**options)
    model.fit(path, "units", sample_weight="w", eval_set=[(path, "units")])
    rows = Dataset(np.column_stack([CLEARED, X]), Y, weight=W)
    expected = LGBMRegressor(**options).fit(rows, feature_name=["w", *NAMES])
    of_model = model.predict(path)
    assert_array_equal(of_model, expected.predict(np.column_stack([CLEARED, X])))
    others = written(tmp_path / "others.tsv", rows_of(X, W, separator="\t"))
    with pytest.raises(ValueError, match=r"others\.tsv: the header"):
        model.predict(others)
    header = "\t".join([*NAMES, "w"])
    written(others, rows_of(X, W, separator="\t", header=header))
    assert_array_equal(model.predict(others), of_model)
    assert "l2" in model.evals_result_["valid_0"]
    with pytest.raises(
        TypeError, match=r"must be the name of a column, got numpy\.ndarray"
    ):
        model.fit(path, Y)
    with pytest.raises(FileNotFoundError):
        model.fit("none.csv", "y")


def test_evaluation_sets_and_other_options(tmp_path):
    path = written(tmp_path / "rows.csv", rows_of(Y, X))
    valid = written(tmp_path / "valid.csv", rows_of(Y[::3], X[::3]))
    file = Dataset(path, free_raw_data=False)
    in_memory = Dataset(X, Y, free_raw_data=False)
    results = []
    for rows, valid_set in (
        (file, file.create_valid(valid)),
        (in_memory, in_memory.create_valid(X[::3], Y[::3])),
    ):
        booster = train(PARAMS, rows, 3, valid_sets=[valid_set])
        results.append(booster.best_score)
    assert results[0] == results[1]
    other = {**PARAMS, "max_bin": 15, "two_round": True}
    assert as_text(file, other) == as_text(in_memory, {**PARAMS, "max_bin": 15})
    again = pickle.loads(pickle.dumps(file))
    assert_array_equal(again.get_data(), X)
    assert as_text(again) == as_text(in_memory)
    part = np.arange(0, N, 2)
    assert as_text(file.subset(part)) == as_text(in_memory.subset(part))
    assert_array_equal(file.subset(part).get_data(), X[part])


def test_values_are_loaded_where_they_are_needed(tmp_path):
    path = written(tmp_path / "rows.csv", rows_of(Y, X))
    linear = {**PARAMS, "linear_tree": True}
    assert as_text(Dataset(path), linear) == as_text(Dataset(X, Y), linear)
    first = train(PARAMS, Dataset(path), 2)
    models = [
        train(PARAMS, rows, 2, init_model=first).model_to_string()
        for rows in (Dataset(path), Dataset(X, Y))
    ]
    assert models[0] == models[1]


def test_bins_may_lie_on_disk(tmp_path):
    path = written(tmp_path / "rows.csv", rows_of(Y, np.nan_to_num(X) + 1))
    on_disk = Dataset(path, memory_map=tmp_path)
    assert as_text(on_disk) == as_text(Dataset(path))
    assert isinstance(on_disk._binned.storage.rows, np.memmap)
    assert list(tmp_path.iterdir()) == [path]


# --- What goes wrong ------------------------------------------------------------------


def test_damaged_gzip(tmp_path):
    content = gzip.compress(rows_of(Y, X).encode())
    for damaged in (content[: len(content) // 2], content[:200] + b"x" * 400):
        path = written(tmp_path / "rows.gz", damaged)
        with pytest.raises(OSError, match=r"rows\.gz: this gzip file is damaged"):
            Dataset(path).construct()


def test_a_file_that_changes_is_an_error(tmp_path):
    path = written(tmp_path / "rows.csv", rows_of(Y, X))
    rows = Dataset(path)
    rows.num_data()
    written(path, rows_of(Y, X) + "1,2,3,4,5,6\n")
    with pytest.raises(ValueError, match=r"rows\.csv: the file has changed since"):
        rows.construct()
    assert rows.construct().num_data() == N + 1
    assert len(rows.get_label()) == N + 1
