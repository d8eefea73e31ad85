"""Data in text files, compared with what LightGBM reads from the same files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.text_tables import NAMED, QUIET, ROWS, SVM, TINY, dense, read
from skgoss import Booster, Dataset, parameters, train
from skgoss.parameters.table import FILE_OPTIONS
from skgoss.sources import text_tables

GROUPS = "1,7,3,4\n0,7,2,5\n1,9,9,6\n0,7,1,1\n"


def test_rows_are_the_lines_that_are_not_empty():
    letters = np.random.default_rng(0).choice([*b"1 ,\n\n\r "], (3000, 12))
    n_seen = 0
    for text in map(bytes, letters.astype(np.uint8)):
        content = text.partition(b",")[0] + b"1" + text.partition(b",")[2]
        lines = re.split(rb"\r\n?|\n", content)
        n_rows = sum(bool(line.strip(b" ")) for line in lines)
        assert text_tables.TextChunk(content, 1).n_rows == n_rows
        n_seen += n_rows < len(lines)
    assert n_seen > 1000


def lightgbm_reads(path, **params):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.Dataset(str(path), params={**QUIET, **TINY, **params}).construct()


def assert_same_field(ours, theirs):
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert_array_equal(ours, theirs)


def assert_same_as_lightgbm(path, **params):
    ours, theirs = read(path, **params), lightgbm_reads(path, **params)
    assert_same_field(ours.label.astype(np.float32), theirs.get_label())
    assert_same_field(ours.weight, theirs.get_weight())
    assert_same_field(ours.group, theirs.get_group())
    assert_same_field(ours.init_score, theirs.get_init_score())
    assert_same_field(ours.position, theirs.get_position())
    assert ours.data.shape == (theirs.num_data(), theirs.num_feature())
    names = ours.names or [f"Column_{j}" for j in range(ours.data.shape[1])]
    assert names == theirs.feature_name
    return ours


FILES = {
    "csv": (ROWS, {}),
    "tsv": (ROWS.replace(",", "\t"), {}),
    "spaces": (ROWS.replace(",", " ,  "), {}),
    "crlf": (ROWS.replace("\n", "\r\n"), {}),
    "no end": (ROWS[:-1], {}),
    "empty lines": (f"{ROWS}\n{ROWS}\n\n", {}),
    "empty last column": (ROWS.replace("\n", ",\n"), {}),
    "one row": ("1,2,3\n", {}),
    "header": (NAMED, {"header": True}),
    "has_header": (NAMED, {"has_header": "true"}),
    "header, crlf": (NAMED.replace("\n", "\r\n"), {"header": True}),
    "header of numbers": (ROWS, {"header": True}),
    "long header": (
        ",".join(f"name_{j:06}" for j in range(3000)) + "\n" + "1," * 2999 + "2\n",
        {"header": True},
    ),
    "label 2": (ROWS, {"label_column": 2}),
    "label '2'": (ROWS, {"label_column": "2"}),
    "label of the header": (NAMED, {"header": True, "label_column": "name:b"}),
    "weight 0": (ROWS, {"weight_column": 0}),
    "weight 2": (ROWS, {"weight_column": 2}),
    "weight after label": (ROWS, {"weight_column": 2, "label_column": 2}),
    "weight before label": (ROWS, {"weight_column": 1, "label_column": 2}),
    "weight of the header": (
        NAMED,
        {"header": True, "weight_column": "name:b", "label_column": "name:a"},
    ),
    "group": (GROUPS, {"group_column": 0}),
    "group of the header": (
        f"y,q,b,c\n{GROUPS}",
        {"header": True, "group_column": "name:q"},
    ),
    "ignore": (ROWS, {"ignore_column": "0,1"}),
    "ignore list": (ROWS, {"ignore_column": [0, 1]}),
    "ignore names": (NAMED, {"header": True, "ignore_column": "name:a,c"}),
    "ignore weight": (ROWS, {"ignore_column": 0, "weight_column": 1}),
    "libsvm": (SVM, {}),
    "libsvm from 1": ("1 1:2.5 3:3\n0 2:1.5\n1 1:1\n", {}),
    "libsvm, tabs": (SVM.replace(" ", "\t"), {}),
    "libsvm, empty row": ("1 1:2.5 3:3\n0\n1 1:1 2:2 3:3\n", {}),
    "libsvm, header": (f"y a b c\n{SVM}", {"header": True}),
    "libsvm, label": (SVM, {"label_column": 0}),
    "libsvm, weight": (SVM, {"weight_column": 1}),
    "libsvm, ignore": (SVM, {"ignore_column": "1"}),
}


@pytest.mark.parametrize(("text", "params"), FILES.values(), ids=FILES)
def test_files_mean_the_same_as_to_lightgbm(text, params, write, reader):
    assert_same_as_lightgbm(write(text), **params)


@pytest.mark.parametrize(
    "beside",
    [
        {"weight": "1\n2\n3\n"},
        {"weight": "1\n\n2\n3"},
        {"query": "2\n1\n"},
        {"query": "2\n1\n", "position": "0\n1\n0\n"},
        {"query": "2\n1\n", "position": "top\nleft\ntop\n"},
        {"query": "2\n1\n", "position": "5\n3\n5\n"},
        {"init": "0.5\n0.25\n3\n"},
        {"init": "1\t0.5\n2\t0.25\n3\t3\n"},
        {"group": "2\n1\n"},
    ],
    ids=str,
)
@pytest.mark.parametrize("text", [ROWS, SVM], ids=["csv", "libsvm"])
def test_files_beside_the_file(text, beside, write):
    params = {"objective": "multiclass", "num_class": 2} if "init" in beside else {}
    path = write(text, **beside)
    ours, theirs = read(path), lightgbm_reads(path, **params)
    assert_same_field(ours.weight, theirs.get_weight())
    assert_same_field(ours.group, theirs.get_group())
    assert_same_field(ours.position, theirs.get_position())
    if beside.get("init", "").count("\t"):
        assert_array_equal(ours.init_score, theirs.get_init_score())
    elif "init" in beside:
        assert_array_equal(ours.init_score, [0.5, 0.25, 3])


def test_columns_have_priority_over_files(write):
    path = write(ROWS, weight="1\n2\n3\n", query="1\n2\n")
    both = assert_same_as_lightgbm(path, weight_column=0, group_column=2)
    assert both.weight.tolist() == [2.5, 1.5, 0.5]
    assert both.group.tolist() == [1, 1, 1]


def test_columns_of_the_weight_and_ignored_ones_have_no_values(write):
    params = {"weight_column": 0, "ignore_column": 2}
    assert_array_equal(read(write(ROWS), **params).data[:, [0, 2]], np.nan)
    data = read(write(SVM), **params).data
    assert_array_equal(data.toarray()[:, [0, 2]], 0)
    assert data.nnz == 2


# --- What LightGBM refuses, or reads otherwise ----------------------------------------


def test_more_files_than_lightgbm_reads(write, reader):
    plain = read(write(ROWS))
    for text in (
        b"\xef\xbb\xbf" + ROWS.encode(),
        "\n\n" + ROWS,
        ROWS.replace("\n", "\n  \n"),
    ):
        assert_array_equal(read(write(text)).data, plain.data)
    quoted = read(write('"y","a, 1",""," c"\n' + ROWS), header=True)
    assert quoted.names == ["a, 1", "", "c"]


def test_libsvm_with_queries_or_without_labels(write):
    ours = read(write("1 qid:4 1:2.5 # a\n0 qid:4 2:1.5\n1 qid:5 1:1\n"))
    assert ours.group.tolist() == [2, 1]
    assert ours.data.shape == (3, 3)
    ours = read(write("0:1 1:2.5\n0:1 2:1.5\n1:1\n"))
    assert ours.label is None
    assert ours.data.toarray().tolist() == [[1, 2.5, 0], [1, 0, 1.5], [0, 1, 0]]


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"weight": "1\n2\n"}, r"txt\.weight: this is for 2 rows, but the data have 3"),
        ({"weight": "w\n1\n2\n"}, r"txt\.weight: .*line 1, column 0: 'w'"),
        ({"weight": "1,2\n" * 3}, r"txt\.weight: one column is expected, got 2"),
        ({"query": "2\n2\n"}, r"txt\.query: this is for 4 rows, but the data have 3"),
        *(
            ({"query": f"2\n{size}\n1\n"}, r"txt\.query: the sizes of queries are who")
            for size in ("NA", "inf", "-1", "0.5")
        ),
        ({"init": "1:2\n" * 3}, r"txt\.init: columns between tabs or commas"),
        ({"init": "2\n2\n"}, r"txt\.init: this is for 2 rows"),
        ({"position": "2\n2\n"}, r"txt\.position: this is for 2 rows"),
        ({"init": ""}, r"txt\.init: the file has no rows"),
    ],
)
def test_faults_of_files_beside_the_file(beside, message, write):
    with pytest.raises(ValueError, match=message) as caught:
        read(write(ROWS, **beside))
    assert str(caught.value).count("rows.txt") == 1


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.csv")
    with pytest.raises(OSError):
        read(tmp_path)


# --- Options --------------------------------------------------------------------------


def test_names_of_options_are_lightgbm_s(lightgbm):
    theirs = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    for option in FILE_OPTIONS:
        assert {*option.names} == {option.name, *theirs[option.name]}


def test_the_page_has_all_names_of_options():
    page = Path(__file__).parents[2] / "docs" / "text-files.md"
    rows = [line for line in page.read_text("utf-8").split("\n") if line[:2] == "| "]
    for option in FILE_OPTIONS:
        [row] = [row for row in rows if row.startswith(f"| `{option.name}` |")]
        assert set(re.findall("`(.*?)`", row)) == {*option.names}


def test_options_are_picked_out():
    given = {"label": 2, "num_leaves": 7, "blacklist": "name:a,b", "query": "1"}
    options, rest = parameters.file_options(given, "Dataset")
    assert options == {
        "label_column": (2,),
        "ignore_column": ("a", "b"),
        "group_column": (1,),
    }
    assert rest == {"num_leaves": 7}
    assert parameters.file_options({}, "Dataset") == ({}, {})


def test_the_main_name_of_an_option_has_priority():
    with pytest.warns(UserWarning, match="label_column=2 is used"):
        options, _ = parameters.file_options({"label": 1, "label_column": 2}, "Dataset")
    assert options == {"label_column": (2,)}


@pytest.mark.parametrize("name", [option.name for option in FILE_OPTIONS])
@pytest.mark.parametrize("value", ["price", -1, "-1", 1.5, {"a": 1}, [True]])
def test_values_of_options_are_checked(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of Dataset must be"):
        parameters.file_options({name: value}, "Dataset")


@pytest.mark.parametrize("value", ["0,1", [0, 1]])
def test_one_column_is_chosen(value):
    with pytest.raises(ValueError, match="'weight_column' parameter of Dataset"):
        parameters.file_options({"weight": value}, "Dataset")


@pytest.mark.parametrize("header", [True, False])
def test_ignored_columns_may_hold_text(header, write, reader):
    X, y = problem()
    words = np.array(["a", "12:30", "x y", ""])[np.arange(len(y)) % 4]
    rows = zip(y, X[:, 0], words, X[:, 1], words, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    path = write("\n".join(["y,a,b,c,d"] * header + lines) + "\n")
    ignored = "name:b,d" if header else "1,3"
    params = {"header": header, "ignore_column": ignored, **TINY}
    data = Dataset(path, params=params)
    booster = train({"objective": "binary", "num_leaves": 4}, data, 3)
    dense = X[:, :2].copy()
    expected = train(
        {"objective": "binary", "num_leaves": 4}, Dataset(dense, y, params=TINY), 3
    )
    found = booster.predict(path, data_has_header=header)
    assert_array_equal(found, expected.predict(dense))


def test_columns_of_text_that_are_not_ignored_are_an_error(write):
    path = write("1,0.5,12:30,a\n0,0.7,12:45,b\n")
    with pytest.raises(ValueError, match=r"line 1, column 3: 'a' is not a number"):
        Dataset(path, params={"ignore_column": 1, **TINY}).construct()


# --- Predictions ----------------------------------------------------------------------


def problem():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(200, 3))).round(3) + 0.001
    return X, (X @ [1, -0.8, 0.6] > 0.5).astype(int)


def as_text(format, X, y=None, header=None):
    if format == "libsvm":
        rows = [[f"{j}:{v}" for j, v in enumerate(row) if v] for row in X.tolist()]
    else:
        rows = [list(map(str, row)) for row in X.tolist()]
    if y is not None:
        rows = [[str(label), *row] for label, row in zip(y, rows, strict=True)]
    separator = {"csv": ",", "tsv": "\t", "libsvm": " "}[format]
    lines = [separator.join(row) for row in rows]
    return "\n".join([header, *lines] if header else lines) + "\n"


@pytest.fixture(scope="module", params=[None, ["a", "b", "c"]], ids=["unnamed", "abc"])
def models(request):
    """A model of LightGBM, and the same in skgoss."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y = problem()
    data = lightgbm.Dataset(X, y, feature_name=request.param or "auto")
    theirs = lightgbm.train({**QUIET, "objective": "binary"}, data, 5)
    return theirs, Booster(model_str=theirs.model_to_string())


@pytest.mark.parametrize("format", ["csv", "tsv", "libsvm"])
@pytest.mark.parametrize("has_label", [True, False])
def test_predictions_of_files(format, has_label, models, write, reader):
    theirs, ours = models
    X, y = problem()
    path = write(as_text(format, X, y if has_label else None))
    for given in ({}, {"pred_leaf": True}, {"pred_contrib": True}):
        expected = theirs.predict(X, **given)
        assert_allclose(dense(ours.predict(path, **given)), expected, atol=1e-12)
        assert_allclose(theirs.predict(str(path), **given), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("header", "order"),
    [
        ("y,a,b,c", [3, 0, 1, 2]),
        ("c,y,b,a", [2, 3, 1, 0]),
        ("c,b,a", [2, 1, 0]),
        ("c,b,x,a,y", [2, 1, 3, 0, 3]),
    ],
)
def test_columns_are_found_by_name(header, order, write, lightgbm):
    X, y = problem()
    data = lightgbm.Dataset(X, y, feature_name=["a", "b", "c"])
    theirs = lightgbm.train({**QUIET, "objective": "binary"}, data, 5)
    ours = Booster(model_str=theirs.model_to_string())
    path = write(as_text("csv", np.column_stack([X, y])[:, order], header=header))
    expected = ours.predict(X)
    assert_array_equal(ours.predict(path, data_has_header=True), expected)
    assert_allclose(theirs.predict(str(path), data_has_header=True), expected)


def test_columns_of_a_model_without_names_are_in_order(write, lightgbm):
    X, y = problem()
    theirs = lightgbm.train({**QUIET, "objective": "binary"}, lightgbm.Dataset(X, y), 5)
    ours = Booster(model_str=theirs.model_to_string())
    expected = ours.predict(X)
    # LightGBM takes the label for the first column here.
    path = write(as_text("csv", X, y, header="y,a,b,c"))
    assert_array_equal(ours.predict(path, data_has_header=True), expected)
    header = "y,Column_2,Column_1,Column_0"
    path = write(as_text("csv", X[:, ::-1], y, header=header))
    assert_array_equal(ours.predict(path, data_has_header=True), expected)
    assert_allclose(theirs.predict(str(path), data_has_header=True), expected)


def test_the_label_is_where_it_was_in_training(write, lightgbm):
    X, y = problem()
    path = write(as_text("csv", np.column_stack([X[:, :2], y, X[:, 2]])))
    params = {**QUIET, "objective": "binary", "label_column": 2}
    theirs = lightgbm.train(params, lightgbm.Dataset(str(path)), 5)
    ours = Booster(model_str=theirs.model_to_string())
    expected = ours.predict(X)
    assert_array_equal(ours.predict(path), expected)
    assert_allclose(theirs.predict(str(path)), expected)
    ours.params = {"label": 0}
    with pytest.raises(AssertionError):
        assert_array_equal(ours.predict(path), expected)
    ours.params["label"] = "name:y"
    with pytest.raises(ValueError, match="label_column='name:y' needs a first line"):
        ours.predict(path)


def test_files_of_other_columns(models, write):
    _, ours = models
    X, y = problem()
    for columns in (X[:, :2], np.column_stack([y, y, X])):
        path = write(as_text("csv", columns))
        with pytest.raises(ValueError, match="columns, the model has 3"):
            ours.predict(path)
    with pytest.raises(ValueError, match="has 4 columns, the model has 3"):
        ours.predict(write("1 3:2\n"))
    with pytest.raises(ValueError, match="data_has_header=True"):
        ours.predict(write(NAMED))
    path = write(as_text("csv", X, header="Column_0,a,d"))
    with pytest.raises(ValueError, match=r"not have the column '(b|Column_1)'"):
        ours.predict(path, data_has_header=True)
    with pytest.raises(FileNotFoundError):
        ours.predict("no such file.csv")


def test_sparse_files_may_end_before_the_last_column(models, write):
    _, ours = models
    path = write("1 0:2\n0 1:0.5\n")
    rows = np.array([[2, 0, 0], [0, 0.5, 0]])
    assert_array_equal(ours.predict(path), ours.predict(rows))


def test_refit_and_explain_take_files(models, write):
    _, ours = models
    X, y = problem()
    path = write(as_text("csv", X, y))
    again = ours.refit(path, 1 - y)
    assert_array_equal(again.predict(X), ours.refit(X, 1 - y).predict(X))
    pytest.importorskip("shap")
    explained = ours.explain(path)
    assert_array_equal(explained.values, ours.explain(X).values)
    assert_array_equal(explained.data, X)
