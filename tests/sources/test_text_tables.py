"""Values of text tables: what they mean, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.text_tables import NAMED, QUIET, ROWS, SVM, TINY, dense, read

WORDS = ["", "NA", "na", "NaN", "nan", "-nan", "null", "NULL", "nAn", "inf", "-1"]


@pytest.mark.parametrize("word", [*WORDS, "+1", "1e3", "1.", "+.5", " 5 ", "-inf"])
def test_values(word, write, lightgbm):
    text = "".join(f"{j % 2},{v},0\n" for j, v in enumerate([*range(9), word]))
    data = read(write(text)).data
    stripped = word.strip().lower()
    missing = stripped in ("", "na", "null") or "nan" in stripped
    assert_array_equal(data[:, 0], [*range(9), np.nan if missing else float(word)])
    params = {**QUIET, **TINY, "objective": "l2", "num_leaves": 10}
    y = np.arange(10) % 2
    data = np.minimum(data, 1e308)  # which is infinity for LightGBM's reader
    trees = [
        lightgbm.train(params, lightgbm.Dataset(*given), 3).predict(data)
        for given in ((data, y), (str(write(text)),))
    ]
    assert_allclose(*trees)


def test_rows_without_values(write, reader):
    for separator in ",\t":
        text = "1_2_3\n__\n4_5_6\n".replace("_", separator)
        data = read(write(text)).data
        assert_array_equal(data, [[2, 3], [np.nan] * 2, [5, 6]])


def test_numpy_reads_what_pandas_does_not(write):
    for separator in ",\t":
        text = "1_2_nAn\n _ _ \n4_NA _ 6\n".replace("_", separator)
        data = read(write(text)).data
        assert_array_equal(data, [[2, np.nan], [np.nan] * 2, [np.nan, 6]])


def test_floats_are_exact(write, reader):
    X = np.random.default_rng(0).normal(size=(200, 3))
    X *= 10.0 ** np.random.default_rng(1).integers(-300, 300, size=X.shape)
    text = "".join(",".join(map(repr, row)) + "\n" for row in X.tolist())
    result = read(write(text))
    assert_array_equal(np.column_stack([result.label, result.data]), X)


def test_lines_may_end_in_carriage_returns_alone(write):
    plain = read(write(ROWS)).data
    assert_array_equal(read(write(ROWS.replace("\n", "\r"))).data, plain)
    old = read(write(NAMED.replace("\n", "\r")), header=True)
    assert old.names == ["a", "b", "c"]
    assert_array_equal(old.data, plain)


def test_scores_between_commas(write):
    assert read(write(ROWS, init="1,2\n3,4\n5,6\n")).init_score.shape == (3, 2)


FAULTS = {
    "empty": ("", {}, "no rows"),
    "only a header": ("y,a\n", {"header": True}, "no rows"),
    "spaces": (" \n \n", {}, "no rows"),
    "names": (NAMED, {}, r"CSV: line 1, column 0: 'y' is not a number.*header=True"),
    "word": (NAMED + "1,2,many,3", {"header": True}, "line 5, column 2: 'many' is"),
    "other word": (
        ROWS + "1,N/A,2,3",
        {},
        r"line 4, column 1: 'N/A' is not a number\.$",
    ),
    "underscore": (ROWS + "1,1_0,2,3", {}, "'1_0' is not a number"),
    "quotes": (ROWS + '1,"1",2,3', {}, "'\"1\"' is not a number"),
    "in tsv": ("1\t2\n1\tx\n", {}, "TSV: line 2, column 1: 'x'"),
    "semicolons": (
        "1;2\n0;3\n",
        {},
        "'1;2' is not a number.*separated by commas or tabs",
    ),
    "short row": (ROWS * 40 + "1,2\n" + ROWS, {}, "line 121 has 2 columns, .* have 4"),
    "long row": (ROWS * 40 + "1,2,3,4,5\n", {}, "line 121 has 5 columns, .* have 4"),
    "both": (ROWS * 2 + "1,2,3\n1,2,3,4,5\n", {}, "line 7 has 3 columns"),
    "binary": (b"\x00\x01" * 50, {}, "a binary file"),
    "latin-1": ("\xe9,\xe8\n1,2\n".encode("latin-1"), {"header": True}, "utf-8"),
    "latin-1 row": ("1,\xe8\n1,2\n".encode("latin-1"), {}, "utf-8"),
    "one column": ("1\n0\n", {}, "no column but the label"),
    "short header": ("y,a\n" + ROWS, {"header": True}, "2 names, but rows have 4 col"),
    "no names": ("\n" + ROWS, {"header": True}, "0 names, but rows have 4 columns"),
    "same names": ("y,a,b,a\n" + ROWS, {"header": True}, "'a' more than once"),
    "label 4": (ROWS, {"label_column": 4}, "label_column.* no column 4; .* 0 to 3"),
    "weight 3": (ROWS, {"weight_column": 3}, "weight_column.* no column 3; .* 0 to 2"),
    "ignore 3": (ROWS, {"ignore_column": [0, 3]}, "ignore_column.* no column 3"),
    "no such name": (
        NAMED,
        {"header": True, "group_column": "name:q"},
        "group_column.* no column 'q'; columns are 'a', 'b', 'c'",
    ),
    "the label's name": (
        NAMED,
        {"header": True, "ignore_column": "name:a,y"},
        "ignore_column.* no column 'y'",
    ),
    "name, no header": (ROWS, {"label_column": "name:y"}, "needs a first line of name"),
    "libsvm label": (SVM, {"label_column": 1}, "in LibSVM, the label is first"),
    "libsvm name": (SVM, {"weight_column": "name:a"}, "needs a first line of names"),
    "times": ("1\t2\t12:30\n", {}, "read as LibSVM, as the first lines have colons"),
    "times, commas": ("1,2,12:30\n", {}, "line 1, column 2: '12:30' is not a number"),
    "libsvm order": ("1 2:1 1:3\n", {}, "sorted"),
    "missing weight": ("1,NA,3\n", {"weight_column": 0}, "weight_column has missing"),
    "missing query": ("1,NA,3\n", {"group_column": 0}, "group_column has missing"),
}


@pytest.mark.parametrize(("text", "params", "message"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("has_pandas", [True, False])
def test_faults(text, params, message, has_pandas, write, monkeypatch):
    if not has_pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    path = write(text)
    with pytest.raises(ValueError, match=message) as caught:
        read(path, **params)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # Found by tests/fuzz/readers.py.
        ("1 " + "7" * 30 + ":1\n", "LibSVM.*too large"),
        ("# 0:1\n", "the file has no rows"),
        ("1 0:1\n1 qid:3 0:2\n", "some rows have a qid, and some have none"),
        ("\r,,,\n,", "line [23] has 2 columns"),
    ],
)
def test_what_fuzzing_found_is_refused(write, text, message):
    with pytest.raises(ValueError, match=message):
        read(write(text))


def test_blank_lines_are_not_rows_without_labels(write):
    data = read(write("\n0:1 2:3\n# 1:5\n\n1:2\n"))
    assert_array_equal(dense(data.data), [[1, 0, 3], [0, 2, 0]])
