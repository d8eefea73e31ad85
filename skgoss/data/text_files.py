"""Data in text files: CSV, TSV and LibSVM, by LightGBM's rules.

NumPy decides what a file of columns says. pandas does the same faster, where it is
installed; scikit-learn reads LibSVM.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgoss.data import disk
from skgoss.data.names import default as default_names
from skgoss.utils import compat
from skgoss.utils.messages import hint

# Columns of a file, by name or number.
Chosen = tuple[str | int, ...]
Values = NDArray[np.float64] | sparse.csr_matrix

# Words of missing values, in any case.
_MISSING = frozenset({"", "na", "nan", "null"})
_SPELLINGS = [f(w) for w in sorted(_MISSING) for f in (str.lower, str.upper, str.title)]
# So many lines tell the format.
_N_LINES = 32


class FileOptions(NamedTuple):
    """What the user tells about a file.

    Attributes
    ----------
    header : bool
        Whether the first line holds the names of the columns.
    label_column : tuple
        One column; empty: the first.
    weight_column, group_column : tuple
        One column, or none. Numbers do not count the column of the label.
    ignore_column : tuple
        Any columns. Numbers do not count the column of the label.
    """

    header: bool = False
    label_column: Chosen = ()
    weight_column: Chosen = ()
    group_column: Chosen = ()
    ignore_column: Chosen = ()


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


def read(path: str | PathLike[str], options: FileOptions | None = None) -> TextData:
    """Read training data.

    The files ``path`` + ``.weight``, ``.query``, ``.init`` and ``.position`` are read,
    too, if they are there. A column of the weight or of the group has priority.

    Parameters
    ----------
    path : str or path
        A file whose name ends in ``.gz`` is decompressed.
    options : FileOptions, default=None

    Returns
    -------
    TextData

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If a file does not hold numbers in rows of the same length, if it does not have
        a column of the options, or if the files do not fit each other. The message
        begins with the path.
    """
    options = options or FileOptions()
    file = os.fspath(path)
    with disk.named(file):
        text = _split(_content(file, options.header), options.label_column)
        inside = _inside(text, options)
        beside = _beside(file, text.data.shape[0])
    return text._replace(**{**beside, **inside})


def read_features(
    path: str | PathLike[str],
    names: Sequence[str],
    *,
    header: bool = False,
    label_column: Chosen = (),
) -> Values:
    """Read rows to predict, with or without their labels.

    Columns are found by their names if there is a header that has them. Otherwise they
    stand in the order of the model; if there is one column more, it is the label.

    Parameters
    ----------
    path : str or path
    names : sequence of str
        The columns of the model.
    header : bool, default=False
        Whether the first line holds names.
    label_column : tuple, default=()
        As in `FileOptions`.

    Returns
    -------
    ndarray or CSR matrix of shape (n_rows, n_columns), float64

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        As for `read`; or if the file does not have the columns of the model.
    """
    file = os.fspath(path)
    with disk.named(file):
        text = _content(file, header)
        n_columns = text.data.shape[1]
        if text.names and _is_by_name(names, text.names):
            return text.data[:, [text.names.index(name) for name in names]]
        if sparse.issparse(text.data) and n_columns <= len(names):
            text.data.resize(text.data.shape[0], len(names))
        elif n_columns == len(names) + 1 and not sparse.issparse(text.data):
            return _split(text, label_column).data
        elif n_columns != len(names):
            raise ValueError(
                f"the file has {n_columns} columns, the model has {len(names)} (and the"
                " file may have one more, the label)."
            )
        return text.data


def _is_by_name(names: Sequence[str], header: list[str]) -> bool:
    """Whether the columns of a model are found by name; else, by place."""
    missing = [name for name in names if name not in header]
    are_given = list(names) != default_names(len(names))
    if missing and (are_given or len(missing) < len(names)):
        raise ValueError(
            f"the header does not have the column {missing[0]!r} of the model."
            f"{hint(missing[0], header)}"
        )
    return not missing


# --- Columns --------------------------------------------------------------------------


def _places(text: TextData, option: str, chosen: Chosen) -> list[int]:
    """Numbers of the columns that an option names."""
    places = []
    for word in chosen:
        if isinstance(word, str) and text.names is None:
            raise ValueError(
                f"{option}='name:{word}' needs a first line of names and header=True."
            )
        known = range(text.data.shape[1]) if isinstance(word, int) else text.names
        if word not in known:
            raise ValueError(
                f"{option}: there is no column {word!r}; columns are"
                f" {_shown(known)} (all options but label_column do not count the"
                " label)."
            )
        places.append(known.index(word))
    return places


def _shown(known: range | list[str]) -> str:
    if isinstance(known, range):
        return f"0 to {len(known) - 1}"
    return ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")


def _split(text: TextData, label_column: Chosen) -> TextData:
    """Take the label out of the columns."""
    if sparse.issparse(text.data):
        if label_column not in ((), (0,)):
            raise ValueError("label_column must be 0: in LibSVM, the label is first.")
        return text
    [place] = _places(text, "label_column", label_column or (0,))
    if text.data.shape[1] == 1:
        raise ValueError("the file has no column but the label.")
    names = text.names and [*text.names[:place], *text.names[place + 1 :]]
    label = text.data[:, place].copy()
    return text._replace(
        data=np.delete(text.data, place, axis=1), names=names, label=label
    )


def _inside(text: TextData, options: FileOptions) -> dict[str, NDArray]:
    """What belongs to rows and is in the columns, which are left without values."""
    found = {} if text.group is None else {"group": text.group}
    ignored = _places(text, "ignore_column", options.ignore_column)
    for name in ("weight", "group"):
        option = f"{name}_column"
        places = _places(text, option, getattr(options, option))
        if not places:
            continue
        column = text.data[:, places]
        values = (column.toarray() if sparse.issparse(column) else column)[:, 0]
        if np.isnan(values).any():
            raise ValueError(f"{option} has missing values.")
        found[name] = values if name == "weight" else _sizes(values)
        ignored += places
    _clear(text.data, ignored)
    return found


def _clear(data: Values, places: list[int]) -> None:
    """Leave columns without values: no split uses them."""
    if not sparse.issparse(data):
        data[:, places] = np.nan
    elif places:
        data.data[np.isin(data.indices, places)] = 0
        data.eliminate_zeros()


def _sizes(queries: NDArray[np.float64]) -> NDArray[np.int64]:
    """The sizes of the queries, from the query of each row."""
    first = np.flatnonzero(np.diff(queries)) + 1
    return np.diff(np.concatenate([[0], first, [len(queries)]])).astype(np.int64)


# --- Files beside the file ------------------------------------------------------------


def _beside(path: str, n_rows: int) -> dict[str, NDArray]:
    """What the files beside a file hold."""
    readers = {
        "weight": (".weight", _column),
        "group": (".query", _group),
        "init_score": (".init", _scores),
        "position": (".position", _positions),
    }
    found = {}
    for name, (suffix, reader) in readers.items():
        file = path + suffix
        if not os.path.exists(file):
            continue
        with disk.named(file):
            found[name] = values = reader(file)
            n = int(values.sum()) if name == "group" else len(values)
            if n != n_rows:
                raise ValueError(f"this is for {n} rows, but the data have {n_rows}.")
    return found


def _scores(file: str) -> NDArray[np.float64]:
    scores = _content(file, header=False).data
    if sparse.issparse(scores):
        raise ValueError("columns between tabs or commas are expected, not LibSVM.")
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _column(file: str) -> NDArray[np.float64]:
    column = _scores(file)
    if column.ndim != 1:
        raise ValueError(f"one column is expected, got {column.shape[1]}.")
    return column


def _group(file: str) -> NDArray[np.int64]:
    sizes = _column(file)
    if not (np.isfinite(sizes) & (sizes >= 0) & (sizes == np.floor(sizes))).all():
        raise ValueError("the sizes of queries are whole numbers >= 0.")
    return sizes.astype(np.int64)


def _positions(file: str) -> NDArray[np.int64]:
    number: dict[bytes, int] = {}
    words = _bytes(file).split()
    return np.array([number.setdefault(word, len(number)) for word in words], np.int64)


# --- From bytes to numbers ------------------------------------------------------------


def _bytes(path: str) -> bytes:
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        content = file.read().removeprefix(codecs.BOM_UTF8)
    if b"\0" in content:
        raise ValueError("this is no text in UTF-8, but a binary file.")
    return content


def _content(path: str, header: bool) -> TextData:
    """A file with all its columns, the label's included. Only LibSVM has labels yet."""
    head, body = "", _bytes(path)
    if header:
        line, *rest = re.split(rb"\r\n?|\n", body, maxsplit=1)
        head, body = line.decode(), b"".join(rest)
    if not body or body.isspace():
        raise ValueError("the file has no rows.")
    start = b"".join(islice(io.BytesIO(body), _N_LINES))
    if b":" in start:
        return _libsvm(body)
    separator = "\t" if b"\t" in start else ","
    table = _by_pandas(body, separator)
    if table is None:  # pandas is not there, or has a fault to report: NumPy decides
        table = _by_numpy(body, separator, 2 if header else 1)
    return TextData(table, _names(head, separator, table) if header else None, None)


def _names(head: str, separator: str, table: NDArray[np.float64]) -> list[str]:
    """The names of a header, which may be quoted."""
    names = [word.strip() for word in next(csv.reader([head], delimiter=separator), [])]
    if len(names) != table.shape[1]:
        raise ValueError(
            f"the header has {len(names)} names, but rows have {table.shape[1]}"
            " columns."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the header has the name {twice!r} more than once.")
    return names


def _libsvm(body: bytes) -> TextData:
    from sklearn.datasets import load_svmlight_file

    is_labelled = b":" not in body.split(maxsplit=1)[0]
    if not is_labelled:
        body = b"".join(b"0 " + line for line in io.BytesIO(body))
    try:
        data, label, queries = load_svmlight_file(
            io.BytesIO(body), zero_based=True, query_id=True
        )
    except ValueError as error:
        raise ValueError(
            f"read as LibSVM, as the first lines have colons: {error}"
        ) from error
    group = _sizes(queries) if len(queries) else None
    return TextData(data, None, label if is_labelled else None, group=group)


def _by_pandas(body: bytes, separator: str) -> NDArray[np.float64] | None:
    """The numbers of a table; None: pandas cannot tell."""
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


def _by_numpy(body: bytes, separator: str, first_line: int) -> NDArray[np.float64]:
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
        fault = _fault(body, separator, first_line) or str(error)
        kind = "TSV" if separator == "\t" else "CSV"
        raise ValueError(f"read as {kind}: {fault}") from error


def _lines(body: bytes) -> Iterator[str]:
    """Lines without their ends. Tabs are columns, too."""
    text = io.TextIOWrapper(io.BytesIO(body), encoding="utf-8")
    return (line.strip(" \r\n") for line in text)


def _number(word: str) -> float:
    word = word.strip()
    if word.lower() in _MISSING:
        return np.nan
    if "_" in word:
        raise ValueError(f"{word!r} is no number")  # though it is one for Python
    return float(word)


def _fault(body: bytes, separator: str, first_line: int) -> str | None:
    """What is wrong with a table, and where."""
    width = None
    for n, line in enumerate(_lines(body), start=first_line):
        words = line.split(separator) if line else []
        width = width or len(words)
        if words and len(words) != width:
            return f"line {n} has {len(words)} columns, but lines above have {width}."
        for j, word in enumerate(words):
            if not _is_number(word):
                return (
                    f"line {n}, column {j}: {word[:40]!r} is no number."
                    f"{_HEADER_HINT if n == 1 else ''}"
                )
    return None


_HEADER_HINT = (
    " If the first line of the data holds names, pass header=True in the params of a"
    " Dataset, or data_has_header=True to predict. Columns are separated by commas or"
    " tabs; missing values are empty, NA, NaN or null."
)


def _is_number(word: str) -> bool:
    try:
        _number(word)
    except ValueError:
        return False
    return True
