"""Data in text files: features, fields in columns, and fields in side files.

Fields are labels, weights and so on. A side file of "rows.csv" is "rows.csv.weight".
`skgoss.sources.text_tables` reads the tables themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgoss.columns import queries
from skgoss.columns.names import default as default_names
from skgoss.sources.source import READ_PROGRESS, Batch, Source
from skgoss.sources.text_tables import (
    NO_ROWS,
    TextChunk,
    TextTable,
    Values,
    read_table,
    read_words,
)
from skgoss.utils import disk
from skgoss.utils.messages import hint

# Columns of a file, by name or number.
Chosen = tuple[str | int, ...]


class FileOptions(NamedTuple):
    """The options that say how a file is read.

    Numbers of columns do not count that of the label.
    """

    header: bool = False  # whether the first line holds the names of the columns
    label_column: Chosen = ()  # one column; empty: the first
    # One column, or none.
    weight_column: Chosen = ()
    group_column: Chosen = ()
    ignore_column: Chosen = ()
    init_score_column: Chosen = ()  # no column, one, or one for each class


class TextData(NamedTuple):
    """The data in text files and in their side files."""

    # All columns but the label. Those of the weight and the group, and those that are
    # ignored, keep their place: all values are missing, or not stored.
    data: TextSource
    # The names of the columns of ``data``, if there is a header.
    names: list[str] | None
    # (n_rows,): None: LibSVM files without labels.
    label: NDArray[np.float64] | None = None
    weight: NDArray[np.float64] | None = None
    group: NDArray[np.int64] | None = None  # (n_queries,): the sizes of the queries
    init_score: NDArray[np.float64] | None = None  # (n_rows,) or (n_rows, n_scores)
    # (n_rows,): numbers of the positions, in the order in which they first occur.
    position: NDArray[np.int64] | None = None


class TextSource(Source):
    """The rows of text files.

    The columns have no names here: they are found by their positions, as in LightGBM.
    The rows of a LibSVM file may have fewer than ``n_columns``. ``kept`` are the
    columns of CSV and TSV files to read, in this order. The values of those that are
    ``cleared`` are missing, so that no split uses them.
    """

    def __init__(
        self,
        tables: list[TextTable],
        n_columns: int,
        n_rows: int | None = None,
        kept: list[int] | None = None,
        cleared: Sequence[int] = (),
    ) -> None:
        self.tables = tables
        self.n_columns = n_columns
        if n_rows is None:
            n_rows = sum(table.n_rows(chunk) for table in tables for chunk in table)
        self.n_rows = n_rows
        self.kept = kept
        self.cleared = list(cleared)
        # A file of one batch is read once.
        self._only_batch: Batch | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    @property
    def is_sparse(self) -> bool:
        """Whether the files are LibSVM."""
        return self.tables[0].is_libsvm

    def select(self, names: list[str]) -> TextSource:
        self.check_names(names)
        return self

    def check_unchanged(self) -> None:
        for table in self.tables:
            table.check_unchanged()

    def batches(self) -> Iterator[Batch]:
        if self._only_batch is not None:
            yield self._only_batch
            return
        batch, n_batches = None, 0
        for table in self.tables:
            with disk.errors_name_file(table.path):
                for chunk in table:
                    location = f"{table.path}, from line {chunk.line} on"
                    batch = Batch(self._features(table, chunk), location)
                    n_batches += 1
                    yield batch
        self._only_batch = batch if n_batches == 1 else None

    def _features(self, table: TextTable, chunk: TextChunk) -> Values:
        """The rows of a chunk, with ``n_columns`` columns: an array, or CSR for LibSVM.

        The values of ``cleared`` columns are NaN, or not stored.
        """
        if table.is_libsvm:
            stored = table.parse(chunk).data
            if stored.shape[1] > self.n_columns:
                raise _other_width(stored.shape[1], self.n_columns)
            stored.resize(stored.shape[0], self.n_columns)
            if self.cleared:
                stored.data[np.isin(stored.indices, self.cleared)] = 0
                stored.eliminate_zeros()
            return stored
        kept = self.kept
        ignored = {j if kept is None else kept[j] for j in self.cleared}
        data = table.columns(chunk, kept, ignored=ignored)
        if self.cleared:
            data[:, self.cleared] = np.nan
        return data

    def loaded(self) -> Values:
        batches = [batch.rows for batch in self.batches()]
        if self.is_sparse:
            return sparse.vstack(batches, format="csr")
        return np.concatenate(batches)


def read(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    options: FileOptions | None = None,
) -> TextData:
    """Open the text files of a training set, and read all columns but the features.

    The files ``path`` + ``.weight``, ``.query``, ``.init`` and ``.position`` are read,
    too, if they exist. Columns of the file have priority. Files whose names end in
    ``.gz`` are decompressed.

    OSError if a file cannot be read. ValueError if a file does not hold numbers in rows
    of the same length, if it does not have a column of the options, or if the files do
    not fit each other. The message begins with the path.
    """
    options = options or FileOptions()
    files = [paths] if isinstance(paths, str | PathLike) else list(paths)
    tables = _opened([os.fspath(file) for file in files], options.header)
    with disk.errors_name_file(tables[0].path):
        layout = _layout(tables[0], options, _UNKNOWN_WIDTH)
    of_files = _fields_in_columns(tables, layout)
    rows = _joined(of_files)
    in_files = _fields_in_files(tables, [own.n_rows for own in of_files])
    with disk.errors_name_file(tables[0].path):
        if rows.n_rows == 0:  # all lines of LibSVM are comments
            raise ValueError(NO_ROWS)
        if rows.n_columns == 0:
            raise ValueError("the file has no column but the label.")
        if tables[0].is_libsvm:
            layout = _layout(tables[0], options, rows.n_columns)
        in_columns = rows.fields(layout)
    source = TextSource(
        tables, rows.n_columns, rows.n_rows, layout.features, layout.cleared
    )
    return TextData(source, layout.names, **(in_files | in_columns))


def read_features(
    path: str | PathLike[str],
    names: Sequence[str],
    *,
    header: bool = False,
    label_column: Chosen = (),
    unused: Sequence[int] = (),
) -> TextSource:
    """The rows of a file to predict, with the columns of a model, which are ``names``.

    ``unused`` are the numbers of columns that the model does not use, such as those
    that were ignored when its data were read. They are not read. Columns are found by
    their names if there is a header that has them. Otherwise their order must be that
    of the model; if there is one column more, it is the label. Errors are those of
    `read`, and ValueError if the file does not have the columns.
    """
    file = os.fspath(path)
    with disk.errors_name_file(file):
        table, kept = TextTable(file, header), None
        if table.names and _is_by_name(names, table.names):
            number = {name: j for j, name in enumerate(table.names)}
            kept = [number[name] for name in names]
        elif table.width == len(names) + 1:
            kept = _other_columns(table, _label(table, label_column))
        elif not table.is_libsvm and table.width != len(names):
            raise _other_width(table.width, len(names))
        return TextSource([table], len(names), kept=kept, cleared=unused)


def _other_width(n_columns: int, expected: int) -> ValueError:
    """The error for a file with another number of columns than the model."""
    return ValueError(
        f"the file has {n_columns} columns, the model has {expected} (and the file may"
        " have one more, the label)."
    )


def _is_by_name(names: Sequence[str], header: list[str]) -> bool:
    """Whether a header has all names of a model; else columns go by their order.

    ValueError if it has only some of them, or none although the model's are not the
    default names 'Column_0' and so on.
    """
    in_header = set(header)
    missing = [name for name in names if name not in in_header]
    has_names = list(names) != default_names(len(names))
    if missing and (has_names or len(missing) < len(names)):
        raise ValueError(
            f"the header does not have the column {missing[0]!r} of the model."
            f"{hint(missing[0], header)}"
        )
    return not missing


def _opened(files: list[str], header: bool) -> list[TextTable]:
    """The tables in files; ValueError unless they have the same columns."""
    tables: list[TextTable] = []
    for file in files:
        with disk.errors_name_file(file):
            table = TextTable(file, header)
            first = tables[0] if tables else table
            if table.is_libsvm != first.is_libsvm:
                raise ValueError("some files are LibSVM, and others are not.")
            if table.width != first.width:
                raise ValueError(
                    f"the file has {table.width} columns, but {first.path} has"
                    f" {first.width}."
                )
            if table.names != first.names:
                raise ValueError(f"the header differs from that of {first.path}.")
        tables.append(table)
    return tables


# --- Columns --------------------------------------------------------------------------


def _numbers(names: list[str] | None) -> dict[str, int] | None:
    """The numbers of columns by their names."""
    return None if names is None else {name: j for j, name in enumerate(names)}


def _number(
    numbers: dict[str, int] | None, n_columns: int, option: str, column: str | int
) -> int:
    """The number of a column that an option names, from 0.

    ``numbers`` are those of the columns by name; None: there is no header. ``column``
    is a name or a number below ``n_columns``, else ValueError.
    """
    if isinstance(column, str):
        if numbers is None:
            raise ValueError(
                f"{option}='name:{column}' needs a first line of names and header=True."
            )
        number = numbers.get(column, -1)
        columns = ", ".join(map(repr, islice(numbers, 10)))
        columns += ", ..." * (len(numbers) > 10)
    else:
        number, columns = column, f"0 to {n_columns - 1}"
    if not 0 <= number < n_columns:
        raise ValueError(
            f"{option}: there is no column {column!r}; columns are {columns} (all"
            " options but label_column do not count the label)."
        )
    return number


def _label(table: TextTable, label_column: Chosen) -> int:
    """The number of the column of the label."""
    [column] = label_column or (0,)
    return _number(_numbers(table.names), table.width, "label_column", column)


def _other_columns(table: TextTable, label: int) -> list[int]:
    return [number for number in range(table.width) if number != label]


class _FileLayout(NamedTuple):
    """The meaning of the columns of a table."""

    features: list[int] | None  # the columns of the features; None: LibSVM, all
    names: list[str] | None  # the names of the features
    # The columns of the label, weight and group, if there are any.
    fields: dict[str, int]
    scores: list[int]  # the columns of the start scores
    # The features whose values count as missing, among them the weight and the group.
    cleared: list[int]
    ignored: list[int]  # the columns that are not read

    @property
    def field_columns(self) -> list[int]:
        """The columns of all fields, which are read before the features."""
        return [*self.fields.values(), *self.scores]


# Stands for the number of columns of a LibSVM file that has not been read: all numbers
# of columns are below.
_UNKNOWN_WIDTH = 1 << 31


def _layout(table: TextTable, options: FileOptions, n_columns: int) -> _FileLayout:
    """Find the columns of a table that options name.

    ``n_columns`` is the number of columns of LibSVM files; others know their own.
    Options but `label_column` count columns without the label, so their numbers are
    translated to those of the table.
    """
    features, names, fields = None, None, {}
    if not table.is_libsvm:
        fields["label"] = _label(table, options.label_column)
        features = _other_columns(table, fields["label"])
        names = table.names and [table.names[number] for number in features]
        n_columns = len(features)
    elif options.label_column not in ((), (0,)):
        raise ValueError("label_column must be 0: in LibSVM, the label is first.")
    numbers = _numbers(names)
    chosen = {
        option: [_number(numbers, n_columns, option, column) for column in columns]
        for option, columns in options._asdict().items()
        if option not in ("header", "label_column")
    }
    in_table = {
        option: [j if features is None else features[j] for j in numbers]
        for option, numbers in chosen.items()
    }
    for name in ("weight", "group"):
        for number in in_table[f"{name}_column"]:
            fields[name] = number
    cleared = list(chain.from_iterable(chosen.values()))
    scores = in_table["init_score_column"]
    ignored = in_table["ignore_column"]
    return _FileLayout(features, names, fields, scores, cleared, ignored)


class _Rows(NamedTuple):
    """The fields of rows: all values that are not features."""

    n_rows: int
    n_columns: int
    # (n_rows, n_fields): the columns `_FileLayout.field_columns`.
    columns: NDArray[np.float64]
    # (n_rows,): the labels and queries of LibSVM files, which are not columns.
    label: NDArray[np.float64] | None
    queries: NDArray[np.int64] | None

    def fields(self, layout: _FileLayout) -> dict[str, NDArray[Any]]:
        """The fields of the rows, by their names."""
        fields: dict[str, NDArray[Any]] = {}
        if self.label is not None:
            fields["label"] = self.label
        if self.queries is not None:
            fields["group"] = queries.run_lengths(self.queries)
        for name, values in zip(layout.fields, self.columns.T, strict=False):
            if name != "label" and np.isnan(values).any():
                raise ValueError(f"{name}_column has missing values.")
            is_group = name == "group"
            fields[name] = queries.run_lengths(values) if is_group else values.copy()
        if layout.scores:
            fields["init_score"] = _flat_if_single(
                self.columns[:, len(layout.fields) :]
            )
        return fields


def _fields_in_columns(tables: list[TextTable], layout: _FileLayout) -> list[_Rows]:
    """The fields of each file, which is read once from beginning to end.

    A field is a label, a weight, a query or a start score. Progress is reported.
    """
    files = []
    n_bytes, n_read, report = (
        sum(table.n_bytes for table in tables),
        0,
        READ_PROGRESS.get(),
    )
    for table in tables:
        chunks = []
        with disk.errors_name_file(table.path):
            for chunk in table:
                chunks.append(_rows(table, chunk, layout))
                n_read += len(chunk.body)
                if report is not None:  # gzip files hold more bytes than their size
                    n_total = max(n_read, n_bytes)
                    report(n_read, n_total, "bytes searched for labels")
            files.append(_joined(chunks))
    return files


def _rows(table: TextTable, chunk: TextChunk, layout: _FileLayout) -> _Rows:
    """The fields of the rows of a chunk."""
    numbers = layout.field_columns
    if not table.is_libsvm:
        columns = table.columns(chunk, numbers, quick=True, ignored=layout.ignored)
        return _Rows(len(columns), table.width - 1, columns, None, None)
    data, label, query = table.parse(chunk)
    n_rows, n_columns = data.shape
    data.resize(n_rows, max([n_columns, *(number + 1 for number in numbers)]))
    return _Rows(n_rows, n_columns, data[:, numbers].toarray(), label, query)


def _joined(several: list[_Rows]) -> _Rows:
    """The fields of rows that follow one another, in chunks or files."""
    return _Rows(
        sum(own.n_rows for own in several),
        max(own.n_columns for own in several),
        np.concatenate([own.columns for own in several]),
        _all_or_none("a label", [own.label for own in several]),
        _all_or_none("a qid", [own.queries for own in several]),
    )


def _all_or_none(what: str, of_files: list[Any]) -> Any:
    """The values of all files, one after the other; None if no file has any.

    ValueError if only some have them; ``what`` is "a label" or "a qid".
    """
    if all(own is None for own in of_files):
        return None
    if any(own is None for own in of_files):
        raise ValueError(f"some rows have {what}, and others have none.")
    return np.concatenate(of_files)


# --- Side files -----------------------------------------------------------------------


def _fields_in_files(
    tables: list[TextTable], n_rows: list[int]
) -> dict[str, NDArray[Any]]:
    """The fields in the side files that exist, such as "rows.csv.weight".

    ``n_rows`` has the number of rows of each of ``tables``, with which their side files
    must agree. If one table has a side file, all must have it.
    """
    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "weight": (".weight", _column),
        "group": (".query", _group),
        "init_score": (".init", lambda file: _flat_if_single(read_table(file))),
        "position": (".position", lambda file: np.array(read_words(file), bytes)),
    }
    fields = {}
    for name, (suffix, reader) in readers.items():
        files = [table.path + suffix for table in tables]
        if not any(map(os.path.exists, files)):
            continue
        of_files = []
        for file, expected in zip(files, n_rows, strict=True):
            with disk.errors_name_file(file):
                values = reader(file)
                n = int(values.sum()) if name == "group" else len(values)
                if n != expected:
                    raise ValueError(
                        f"this is for {n} rows, but the data have {expected}."
                    )
            of_files.append(values)
        fields[name] = np.concatenate(of_files)
    if "position" in fields:
        number: dict[bytes, int] = {}
        words = fields["position"].tolist()
        numbers = [number.setdefault(word, len(number)) for word in words]
        fields["position"] = np.array(numbers, np.int64)
    return fields


def _flat_if_single(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A table as a vector, if it has one column."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _column(file: str) -> NDArray[np.float64]:
    """The only column of a file."""
    column = _flat_if_single(read_table(file))
    if column.ndim != 1:
        raise ValueError(f"one column is expected, got {column.shape[1]}.")
    return column


def _group(file: str) -> NDArray[np.int64]:
    """The sizes of queries in a file."""
    sizes = _column(file)
    if not (np.isfinite(sizes) & (sizes >= 0) & (sizes == np.floor(sizes))).all():
        raise ValueError("the sizes of queries are whole numbers >= 0.")
    return sizes.astype(np.int64)
