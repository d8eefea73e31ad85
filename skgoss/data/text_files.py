"""Data in text files: columns of labels and weights, and the files beside a file.

`skgoss.data.text_tables` reads the tables themselves.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgoss.data import disk
from skgoss.data.names import default as default_names
from skgoss.data.text_tables import (
    TextData,
    Values,
    query_sizes,
    read_bytes,
    read_table,
)
from skgoss.utils.messages import hint

# Columns of a file, by name or number.
Chosen = tuple[str | int, ...]


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
        text = _split_label(read_table(file, options.header), options.label_column)
        from_columns = _fields_in_columns(text, options)
        from_files = _fields_in_files(file, text.data.shape[0])
    return text._replace(**(from_files | from_columns))


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
        text = read_table(file, header)
        n_columns = text.data.shape[1]
        if text.names and _is_by_name(names, text.names):
            return text.data[:, [text.names.index(name) for name in names]]
        if sparse.issparse(text.data) and n_columns <= len(names):
            text.data.resize(text.data.shape[0], len(names))
        elif n_columns == len(names) + 1 and not sparse.issparse(text.data):
            return _split_label(text, label_column).data
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


def _numbers(text: TextData, option: str, chosen: Chosen) -> list[int]:
    """The numbers of the columns that an option names."""
    numbers = []
    for column in chosen:
        if isinstance(column, str) and text.names is None:
            raise ValueError(
                f"{option}='name:{column}' needs a first line of names and header=True."
            )
        known = range(text.data.shape[1]) if isinstance(column, int) else text.names
        if column not in known:
            raise ValueError(
                f"{option}: there is no column {column!r}; columns are"
                f" {_shown(known)} (all options but label_column do not count the"
                " label)."
            )
        numbers.append(known.index(column))
    return numbers


def _shown(known: range | list[str]) -> str:
    if isinstance(known, range):
        return f"0 to {len(known) - 1}"
    return ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")


def _split_label(text: TextData, label_column: Chosen) -> TextData:
    """Separate the label from the other columns."""
    if sparse.issparse(text.data):
        if label_column not in ((), (0,)):
            raise ValueError("label_column must be 0: in LibSVM, the label is first.")
        return text
    [number] = _numbers(text, "label_column", label_column or (0,))
    if text.data.shape[1] == 1:
        raise ValueError("the file has no column but the label.")
    names = text.names and [*text.names[:number], *text.names[number + 1 :]]
    label = text.data[:, number].copy()
    return text._replace(
        data=np.delete(text.data, number, axis=1), names=names, label=label
    )


def _fields_in_columns(text: TextData, options: FileOptions) -> dict[str, NDArray]:
    """Weights and groups that are columns of the file; these columns are cleared."""
    found = {} if text.group is None else {"group": text.group}
    ignored = _numbers(text, "ignore_column", options.ignore_column)
    for name in ("weight", "group"):
        option = f"{name}_column"
        numbers = _numbers(text, option, getattr(options, option))
        if not numbers:
            continue
        column = text.data[:, numbers]
        values = (column.toarray() if sparse.issparse(column) else column)[:, 0]
        if np.isnan(values).any():
            raise ValueError(f"{option} has missing values.")
        found[name] = values if name == "weight" else query_sizes(values)
        ignored += numbers
    _clear(text.data, ignored)
    return found


def _clear(data: Values, columns: list[int]) -> None:
    """Remove the values of columns, so that no split uses them."""
    if not sparse.issparse(data):
        data[:, columns] = np.nan
    elif columns:
        data.data[np.isin(data.indices, columns)] = 0
        data.eliminate_zeros()


# --- Files beside the file ------------------------------------------------------------


def _fields_in_files(path: str, n_rows: int) -> dict[str, NDArray]:
    """Weights, groups and other fields in files beside a file."""
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
    scores = read_table(file, header=False).data
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
    positions = read_bytes(file).split()
    return np.array([number.setdefault(p, len(number)) for p in positions], np.int64)
