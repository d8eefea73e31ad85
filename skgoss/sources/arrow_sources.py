"""Rows of Arrow, read in batches: Parquet and other files, and frames of polars."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NoReturn

from skgoss.sources.source import Batch, Source, batch_rows
from skgoss.utils.locks import cached_property
from skgoss.utils.messages import errors_at

# Pages of a column are read through a buffer of this size in bytes, not all at once.
_BUFFER = 1 << 18

# The first bytes of files, and their suffixes, by format.
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "ipc"}
_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
}


def format_of(path: Any) -> str | None:
    """The format of the files of a path: 'parquet' or 'ipc'; None: another one.

    A folder counts as one of Parquet files. The suffix decides, else the first bytes.
    """
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        return None
    if os.path.isdir(name):
        return "parquet"
    suffix = _SUFFIXES.get(os.path.splitext(name)[1].lower())
    if suffix is not None or not os.path.isfile(name):
        return suffix
    with open(name, "rb") as file:
        start = file.read(6)
    kinds = (kind for magic, kind in _MAGIC.items() if start.startswith(magic))
    return next(kinds, None)


def from_paths(paths: Sequence[Any]) -> FilesSource:
    """The rows of files and folders.

    ImportError if pyarrow is not installed. OSError if there are no such files.
    ValueError if files have different columns.
    """
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError(
            "Parquet files are read with pyarrow, which is not installed: run pip"
            " install pyarrow."
        ) from error

    def opened(names: Any, kind: str | None) -> Any:
        dataset = ds.dataset(names, format=kind, partitioning="hive")
        if not dataset.files:
            raise FileNotFoundError(f"There are no Parquet files in {names}.")
        return dataset

    names = [name for path in paths for name in _matching(os.fspath(path))]
    if len(names) == 1:
        dataset = opened(names[0], format_of(names[0]))
    elif any(map(os.path.isdir, names)):
        dataset = ds.dataset([opened(name, format_of(name)) for name in names])
    else:
        dataset = opened(names, format_of(names[0]))
    return FilesSource(dataset, strict=True)


def _matching(name: str) -> list[str]:
    """The files of a pattern, or the path itself."""
    if os.path.exists(name) or not glob.has_magic(name):
        return [name]
    names = sorted(glob.glob(name))
    if not names:
        raise FileNotFoundError(f"No file matches {name}.")
    return names


class FilesSource(Source):
    """A data set of pyarrow: files in any of its formats, partitions, or tables.

    ``columns`` are some of the columns. If the source is ``strict``, all files must
    have the same columns of the same types. Otherwise pyarrow converts them to the
    schema of the data set.
    """

    names: list[str]

    def __init__(
        self, dataset: Any, columns: list[str] | None = None, strict: bool = False
    ) -> None:
        self.dataset = dataset
        self.strict = strict
        self.names = list(dataset.schema.names) if columns is None else columns
        _check_names(dataset.schema)

    @cached_property
    def _schema(self) -> Any:
        import pyarrow

        fields = dict(zip(self.dataset.schema.names, self.dataset.schema, strict=True))
        return pyarrow.schema([fields[name] for name in self.names])

    @cached_property
    def _fragments(self) -> list[Any] | None:
        """The files; None: they cannot be listed, because rows are filtered."""
        try:
            return list(self.dataset.get_fragments())
        except ValueError:
            return None

    @cached_property
    def _stamps(self) -> list[Any]:
        """The state of each file when it was first opened: see `_stamp`."""
        return [_stamp(fragment) for fragment in self._fragments or ()]

    @cached_property
    def _n_rows(self) -> int:
        """The number of rows of all files; if ``strict``, checks their columns, too."""
        self._stamps  # noqa: B018 - before anything is read
        if self._fragments is None:
            return self.dataset.count_rows()
        n_rows = 0
        for fragment in self._fragments:
            with errors_at(_name(fragment)):
                if self.strict:
                    _check_schema(fragment, self.dataset.schema)
                n_rows += fragment.count_rows()
        return n_rows

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_rows, len(self.names)

    def check_unchanged(self) -> None:
        """Raise ValueError if a file has changed since it was first read."""
        for fragment, stamp in zip(self._fragments or (), self._stamps, strict=False):
            if _stamp(fragment) != stamp:
                raise ValueError(
                    f"{_name(fragment)}: the file has changed since it was first read."
                )

    def release_memory(self) -> None:
        _release_memory()

    def select(self, names: list[str]) -> FilesSource:
        self.check_names(names)
        chosen = FilesSource(self.dataset, names, self.strict)
        computed = ("_fragments", "_stamps", "_n_rows")
        vars(chosen).update({name: getattr(self, name) for name in computed})
        return chosen

    def batches(self) -> Iterator[Batch]:
        size = batch_rows(len(self.names))
        if self._fragments is None:
            scanner = self.dataset.scanner(columns=self.names, batch_size=size)
            for batch in scanner.to_batches():
                yield Batch(_table(batch), "the pyarrow Dataset")
            return
        from pyarrow import dataset as ds

        for fragment in self._fragments:
            if isinstance(fragment, ds.ParquetFileFragment):
                yield from self._parquet_batches(fragment, size)
            else:
                batches = fragment.to_batches(
                    schema=self.dataset.schema, columns=self.names, batch_size=size
                )
                yield from _located(batches, _name(fragment), _table)

    def _parquet_batches(self, fragment: Any, size: int) -> Iterator[Batch]:
        """Read row groups page by page. A data set of pyarrow decodes them whole."""
        from pyarrow import dataset as ds
        from pyarrow import parquet

        keys = ds.get_partition_keys(fragment.partition_expression)
        path, filesystem = _name(fragment), fragment.filesystem
        with errors_at(path), filesystem.open_input_file(fragment.path) as file:
            opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)
            in_file = set(opened.schema_arrow.names) - keys.keys()
            stored = [name for name in self.names if name in in_file]
            for group in fragment.row_groups:
                yield from _located(
                    _row_group_batches(opened, group.id, stored, size),
                    f"{path}, row group {group.id}",
                    lambda batch: _conformed(batch, self._schema, keys),
                )


def _located(
    batches: Iterator[Any], location: str, read: Callable[[Any], Any]
) -> Iterator[Batch]:
    """Read batches, and convert each by ``read``; errors of both name the location."""
    while True:
        with errors_at(location):
            batch = next(batches, None)
            if batch is None:
                return
            rows = read(batch)
        yield Batch(rows, location)


def _row_group_batches(opened: Any, group: int, columns: list[str], size: int) -> Any:
    """Batches of at most ``size`` rows of a row group of a Parquet file.

    ``group`` is its number, and ``columns`` are those to read. If there are none,
    because all are in the names of folders, one batch has the right number of rows.
    """
    import pyarrow

    if columns:
        # Each thread of pyarrow would keep memory for later.
        return opened.iter_batches(
            size, row_groups=[group], columns=columns, use_threads=False
        )
    n_rows = opened.metadata.row_group(group).num_rows
    empty = pyarrow.table({"": pyarrow.nulls(n_rows)})
    return iter(empty.to_batches())


def _conformed(batch: Any, schema: Any, keys: dict[str, Any]) -> Any:
    """A batch with the columns of a schema, in its order and types.

    ``keys`` are the columns in the names of folders, such as "year=2024": their value
    holds for all rows. Columns that the file does not have are null.
    """
    import pyarrow

    stored = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name in keys:
            value = pyarrow.scalar(keys[name], kind)
            columns.append(pyarrow.repeat(value, batch.num_rows))
        elif name in stored:
            column = stored[name]
            columns.append(column if column.type == kind else column.cast(kind))
        else:
            columns.append(pyarrow.nulls(batch.num_rows, kind))
    return pyarrow.table(columns, names=schema.names)


def _check_schema(fragment: Any, schema: Any) -> None:
    """Check that a file has the columns of the first one, in any order."""
    from pyarrow import dataset as ds

    keys = ds.get_partition_keys(fragment.partition_expression)
    here = {field.name: field.type for field in fragment.physical_schema}
    first = {field.name: field.type for field in schema}
    for name in dict.fromkeys([*first, *here]):
        if name not in keys and here.get(name) != first.get(name):
            raise ValueError(
                f"the column {name!r} is {_of_type(here.get(name))} in this file, but"
                f" {_of_type(first.get(name))} in the first one. To convert columns,"
                " pass pyarrow.dataset.dataset(path, schema=...)."
            )


def _check_names(schema: Any) -> None:
    names = schema.names
    if len(set(names)) < len(names):
        raise ValueError(f"Columns must have different names: {names}.")


def _of_type(kind: Any) -> str:
    """What an error says of a column's type; None: there is no such column."""
    return "missing" if kind is None else f"of type {kind}"


def _name(fragment: Any) -> str:
    """The path of a fragment, or what errors call it if it is not a file."""
    return getattr(fragment, "path", None) or "a table of the pyarrow Dataset"


def _stamp(fragment: Any) -> Any:
    """The type, size and time of a file, which show whether it has changed.

    None if the fragment is not a file.
    """
    filesystem = getattr(fragment, "filesystem", None)
    if filesystem is None or not getattr(fragment, "path", None):
        return None
    info = filesystem.get_file_info(fragment.path)
    return info.type, info.size, info.mtime_ns


def _table(batch: Any) -> Any:
    import pyarrow

    return pyarrow.table(batch)


def _release_memory() -> None:
    """Release memory that is kept for later: about 100 MB after a pass."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()
    pyarrow.system_memory_pool().release_unused()  # also what NumPy has freed


def is_read_once(X: Any) -> bool:
    """Whether data can be read only once: an Arrow record batch reader."""
    return hasattr(X, "__arrow_c_stream__") and hasattr(X, "read_next_batch")


def refuse_read_once(X: Any) -> NoReturn:
    """Raise the error for data that can be read only once."""
    raise ValueError(
        f"data are a {type(X).__name__}, which can be read only once, but rows are read"
        " several times. Pass a function without arguments that returns a new reader"
        " each time; or, if the rows fit into memory, reader.read_all()."
    )


class ReaderSource(Source):
    """A function without arguments that returns a new Arrow record batch reader."""

    names: list[str]

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self._schema: Any = None
        self._schema = self._open().schema
        _check_names(self._schema)
        self.names = list(self._schema.names)

    def _open(self) -> Any:
        """A new reader, whose columns are those of the first one."""
        import pyarrow

        stream = self.make()
        if not hasattr(stream, "__arrow_c_stream__"):
            raise TypeError(
                "A function that is passed as data must return an Arrow record batch"
                f" reader, got {type(stream).__name__}."
            )
        reader = stream
        if not isinstance(stream, pyarrow.RecordBatchReader):
            # This way turns exceptions of Python, such as KeyboardInterrupt, into
            # texts.
            reader = pyarrow.RecordBatchReader.from_stream(stream)
        if self._schema is not None and not reader.schema.equals(self._schema):
            raise ValueError(
                "A function that is passed as data must return readers of the same"
                f" columns, but after one of\n{self._schema}\nit returns one of"
                f"\n{reader.schema}"
            )
        return reader

    @cached_property
    def _n_rows(self) -> int:
        return sum(batch.num_rows for batch in self._open())

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_rows, len(self.names)

    def release_memory(self) -> None:
        _release_memory()

    def select(self, names: list[str]) -> ReaderSource:
        self.check_names(names)
        self._n_rows  # noqa: B018 - counted once
        chosen = copy(self)
        chosen.names = names
        return chosen

    def batches(self) -> Iterator[Batch]:
        size = batch_rows(len(self.names))
        reader, number = iter(self._open()), 0
        while True:
            location = f"record batch {number}"
            with errors_at(location):
                batch = next(reader, None)
                if batch is None:
                    return
                chosen = batch.select(self.names)
            for start in range(0, chosen.num_rows, size):
                yield Batch(_table(chosen.slice(start, size)), location)
            number += 1


def is_lazy(X: Any) -> bool:
    """Whether data are a lazy frame of polars that can be collected in batches."""
    lazy = getattr(sys.modules.get("polars"), "LazyFrame", None)
    return lazy is not None and isinstance(X, lazy) and hasattr(X, "collect_batches")


class LazySource(Source):
    """A lazy frame of polars."""

    names: list[str]

    def __init__(self, lazy: Any) -> None:
        self.lazy = lazy
        self.names = list(lazy.collect_schema().names())

    @cached_property
    def _n_rows(self) -> int:
        import polars

        return self.lazy.select(polars.len()).collect(engine="streaming").item()

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_rows, len(self.names)

    def select(self, names: list[str]) -> LazySource:
        self.check_names(names)
        chosen = LazySource(self.lazy.select(names))
        vars(chosen)["_n_rows"] = self._n_rows
        return chosen

    def batches(self) -> Iterator[Batch]:
        batches = self.lazy.collect_batches(
            chunk_size=batch_rows(len(self.names)), maintain_order=True
        )
        n_read = 0
        while True:
            location = f"the LazyFrame, from row {n_read} on"
            with errors_at(location):
                rows = next(batches, None)
            if rows is None:
                return
            n_read += len(rows)
            yield Batch(rows, location)

    def loaded(self) -> Any:
        return self.lazy.collect()
