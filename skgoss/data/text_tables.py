"""Tables of numbers in text: CSV, TSV and LibSVM, by LightGBM's rules.

NumPy decides what a table says. pandas does the same faster, if it is installed;
scikit-learn reads LibSVM.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgoss.utils import compat

Values = NDArray[np.float64] | sparse.csr_matrix

# Missing values, in any case.
_MISSING = frozenset({"", "na", "nan", "null"})
_SPELLINGS = [
    change_case(text)
    for text in sorted(_MISSING)
    for change_case in (str.lower, str.upper, str.title)
]
_NO_ROWS = "the file has no rows."
# The format is guessed from so many lines.
_N_LINES = 32


class TextData(NamedTuple):
    """What a file, and the files beside it, hold.

    Attributes
    ----------
    data : ndarray or CSR matrix of shape (n_rows, n_columns), float64
        All columns but the label. Those of the weight, of the group and ignored ones
        keep their place: all values are missing, or not stored.
    names : list of str, or None
        The names of the columns of ``data``, if there is a header.
    label : ndarray of shape (n_rows,), float64, or None
        None: a LibSVM file without labels.
    weight : ndarray of shape (n_rows,), float64, or None
    group : ndarray of shape (n_queries,), int64, or None
        The sizes of the queries.
    init_score : ndarray of shape (n_rows,) or (n_rows, n_scores), float64, or None
    position : ndarray of shape (n_rows,), int64, or None
        Numbers of the positions, in the order in which they are first met.
    """

    data: Values
    names: list[str] | None
    label: NDArray[np.float64] | None
    weight: NDArray[np.float64] | None = None
    group: NDArray[np.int64] | None = None
    init_score: NDArray[np.float64] | None = None
    position: NDArray[np.int64] | None = None


def read_bytes(path: str) -> bytes:
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        content = file.read().removeprefix(codecs.BOM_UTF8)
    if b"\0" in content:
        raise ValueError("this is no text in UTF-8, but a binary file.")
    return content


def read_table(path: str, header: bool) -> TextData:
    """A file with all its columns, the label's included. Only LibSVM has labels yet."""
    head, body = "", read_bytes(path)
    if header:
        line, *rest = re.split(rb"\r\n?|\n", body, maxsplit=1)
        head, body = line.decode(), b"".join(rest)
    if not body or body.isspace():
        raise ValueError(_NO_ROWS)
    start = b"".join(islice(io.BytesIO(body), _N_LINES))
    if b":" in start:
        return _parse_libsvm(body)
    separator = "\t" if b"\t" in start else ","
    table = _parse_by_pandas(body, separator)
    if table is None:  # pandas is not installed, or found an error
        table = _parse_by_numpy(body, separator, 2 if header else 1)
    return TextData(table, _names(head, separator, table) if header else None, None)


def _names(head: str, separator: str, table: NDArray[np.float64]) -> list[str]:
    """The names of a header, which may be quoted."""
    names = [name.strip() for name in next(csv.reader([head], delimiter=separator), [])]
    if len(names) != table.shape[1]:
        raise ValueError(
            f"the header has {len(names)} names, but rows have {table.shape[1]}"
            " columns."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the header has the name {twice!r} more than once.")
    return names


def _parse_libsvm(body: bytes) -> TextData:
    from sklearn.datasets import load_svmlight_file

    is_labelled = b":" not in body.split(maxsplit=1)[0]
    if not is_labelled:
        lines = (line for line in io.BytesIO(body) if line.partition(b"#")[0].strip())
        body = b"".join(b"0 " + line for line in lines)
    try:
        data, label, queries = load_svmlight_file(
            io.BytesIO(body), zero_based=True, query_id=True
        )
    except (ValueError, OverflowError) as error:  # of huge column numbers
        raise ValueError(
            f"read as LibSVM, as the first lines have colons: {error}"
        ) from error
    if not data.shape[0]:  # all lines are comments
        raise ValueError(_NO_ROWS)
    if len(queries) not in (0, data.shape[0]):
        raise ValueError("read as LibSVM: some rows have a qid, and some have none.")
    group = query_sizes(queries) if len(queries) else None
    return TextData(data, None, label if is_labelled else None, group=group)


def _parse_by_pandas(body: bytes, separator: str) -> NDArray[np.float64] | None:
    """The numbers of a table; None: pandas cannot tell."""
    if body.count(b"\r") != body.count(b"\r\n"):
        return None  # pandas loses empty columns after lines that end in \r
    try:
        import pandas
    except ImportError:
        return None
    try:
        frame = pandas.read_csv(
            io.BytesIO(body),
            sep=separator,
            header=None,
            dtype=np.float64,
            quoting=csv.QUOTE_NONE,
            keep_default_na=False,
            na_values=[*_SPELLINGS, "NaN"],
            **compat.pandas_exact_floats(pandas),
        )
    except ValueError:
        return None
    # pandas fills short rows.
    n_separators = len(frame) * (frame.shape[1] - 1)
    is_full = body.count(separator.encode()) == n_separators
    return frame.to_numpy() if is_full else None


def _parse_by_numpy(
    body: bytes, separator: str, first_line: int
) -> NDArray[np.float64]:
    """The numbers of a table."""
    try:
        return np.loadtxt(
            (line for line in _lines(body) if line),
            delimiter=separator,
            comments=None,
            converters=_number,
            ndmin=2,
            encoding="utf-8",
        )
    except ValueError as error:
        found = _describe_error(body, separator, first_line) or str(error)
        kind = "TSV" if separator == "\t" else "CSV"
        raise ValueError(f"read as {kind}: {found}") from error


def _lines(body: bytes) -> Iterator[str]:
    """Lines without their ends. Tabs are columns, too."""
    text = io.TextIOWrapper(io.BytesIO(body), encoding="utf-8")
    return (line.strip(" \r\n") for line in text)


def _number(text: str) -> float:
    text = text.strip()
    if text.lower() in _MISSING:
        return np.nan
    if "_" in text:
        raise ValueError(f"{text!r} is no number")  # though it is one for Python
    return float(text)


def _describe_error(body: bytes, separator: str, first_line: int) -> str | None:
    """What is wrong with a table, and where."""
    width = None
    for n, line in enumerate(_lines(body), start=first_line):
        items = line.split(separator) if line else []
        width = width or len(items)
        if items and len(items) != width:
            return f"line {n} has {len(items)} columns, but lines above have {width}."
        for j, item in enumerate(items):
            if not _is_number(item):
                return (
                    f"line {n}, column {j}: {item[:40]!r} is no number."
                    f"{_HEADER_HINT if n == 1 else ''}"
                )
    return None


_HEADER_HINT = (
    " If the first line of the data holds names, pass header=True in the params of a"
    " Dataset, or data_has_header=True to predict. Columns are separated by commas or"
    " tabs; missing values are empty, NA, NaN or null."
)


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True


def query_sizes(queries: NDArray[np.float64]) -> NDArray[np.int64]:
    """The sizes of the queries, from the query of each row."""
    first = np.flatnonzero(np.diff(queries)) + 1
    return np.diff(np.concatenate([[0], first, [len(queries)]])).astype(np.int64)
