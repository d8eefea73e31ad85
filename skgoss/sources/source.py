"""Rows that are read in batches, several times, and never held as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from copy import copy
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skgoss.columns.schema import ColumnSchema
from skgoss.utils.messages import hint

# The number of values of a batch, and the smallest number of its rows: enough work for
# several threads, and little memory.
BATCH_VALUES = 1 << 21
MIN_ROWS = 256

# The hash of a number is the top byte of its product with an odd number near 2^64
# divided by the golden ratio (Knuth, vol. 3, section 6.4). This number of values is
# hashed at a time.
_HASH_BLOCK = 1 << 18
_MIXER = np.uint64(0x9E3779B97F4A7C15)

# Reports the progress of reading: f(3, 10, "rows read").
READ_PROGRESS: ContextVar[Callable[[int, int, str], None] | None] = ContextVar(
    "READ_PROGRESS", default=None
)


class Batch(NamedTuple):
    """Consecutive rows in a container, and where they come from, for messages."""

    rows: Any
    location: str


class Source(ABC):
    """Rows that can be read in batches, any number of times."""

    names: list[str] | None = None  # the names of the columns; None: they have none
    sources: Sequence[Source] = ()  # the sources that the rows come from

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All rows, in the same order each time."""

    @abstractmethod
    def select(self, names: list[str]) -> Self:
        """The same rows with some of the columns."""

    def check_unchanged(self) -> None:
        """Raise ValueError if files have changed since they were first read."""
        for source in self.sources:
            source.check_unchanged()

    def release_memory(self) -> None:
        """Release memory that readers keep for later."""
        for source in self.sources:
            source.release_memory()

    def loaded(self) -> Any:
        """All rows in memory; ValueError if they may be too many."""
        raise ValueError(
            "data are read in batches, so there are no values in memory. If they fit,"
            " read them first, for example with pyarrow.dataset.dataset(path)"
            ".to_table() or polars.read_parquet(path), and pass the result."
        )

    def without(self, taken: dict[str, NDArray[Any]]) -> Source:
        """The same rows without some columns, whose values have been read."""
        return RemainingColumns(self, taken) if taken else self

    def check_names(self, names: list[str]) -> None:
        """Check that there are columns of these names."""
        existing = dict.fromkeys(self.names or ())
        for name in names:
            if name not in existing:
                shown = ", ".join(map(repr, list(existing)[:20]))
                there = f"the columns are {shown}" if shown else "columns have no names"
                raise ValueError(
                    f"data has no column {name!r}: {there}.{hint(name, existing)}"
                )

    def values(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """The values of some columns, by their names."""
        if not names:
            return {}
        self.check_names(names)
        values: dict[str, NDArray[Any]] = {}
        start = 0
        for batch in read(self.select(names)):
            frame = nw.from_native(batch.rows, eager_only=True)
            for name in names:
                column = frame[name].to_numpy()
                if name not in values:
                    values[name] = np.empty(self.shape[0], column.dtype)
                # The integers of a batch with nulls are floats.
                dtype = np.result_type(values[name].dtype, column.dtype)
                values[name] = values[name].astype(dtype, copy=False)
                values[name][start : start + len(column)] = column
            start += len(frame)
        return values


class RemainingColumns(Source):
    """The columns of a source without those of labels, weights and so on.

    The latter, ``taken`` by their names, are read again and compared with the first
    pass, because a file may have changed, and a query may return its rows in another
    order. To save memory, hashes of one byte are compared.
    """

    names: list[str]

    def __init__(self, source: Source, taken: dict[str, NDArray[Any]]) -> None:
        source.check_names(list(taken))
        self.source = source
        self.sources = [source]
        self.taken = {name: _hashes(values) for name, values in taken.items()}
        self.dtypes = {name: values.dtype for name, values in taken.items()}
        self.names = [name for name in source.names or () if name not in taken]
        if not self.names:
            raise ValueError(
                "data has no columns other than those of labels and weights."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape[0], len(self.names)

    def select(self, names: list[str]) -> RemainingColumns:
        """The source of the columns ``names``; taken columns are compared as before."""
        chosen = copy(self)
        # A column may be both, such as a weight of an evaluation set whose values the
        # training set learns from.
        chosen.source = self.source.select(list(dict.fromkeys([*names, *self.taken])))
        chosen.sources = [chosen.source]
        chosen.names = names
        return chosen

    def loaded(self) -> Any:
        raise ValueError(
            f"columns are read in batches, and {', '.join(self.taken)} by name. Read"
            " the data first, and pass arrays or a data frame."
        )

    def batches(self) -> Iterator[Batch]:
        start = 0
        for rows, location in self.source.batches():
            frame = nw.from_native(rows, eager_only=True)
            for name, values in self.taken.items():
                again = _hashes(frame[name].to_numpy().astype(self.dtypes[name]))
                before = values[start : start + len(again)]
                if len(before) < len(again):
                    continue  # `read` finds that there are more rows
                are_missing = (before != before) & (again != again)
                if not ((before == again) | are_missing).all():
                    raise ValueError(
                        f"{location}: column {name!r} has other values than before."
                        " Data must not change while they are read, and a query must"
                        " return its rows in the same order each time."
                    )
            start += len(frame)
            yield Batch(frame.select(self.names).to_native(), location)


def _hashes(values: NDArray[Any]) -> NDArray[Any]:
    """A hash of one byte for each number; values of other types as they are.

    A second pass is compared with the first by these, which takes little memory and
    overlooks one of 256 changes. It is the top byte of the bits times `_MIXER`.
    """
    if values.dtype.kind not in "iufmM" or values.dtype.itemsize > 8:
        return values
    hashes = np.empty(len(values), dtype=np.uint8)
    for start in range(0, len(values), _HASH_BLOCK):
        some = np.ascontiguousarray(values[start : start + _HASH_BLOCK])
        bits = some.view(f"u{some.dtype.itemsize}").astype(np.uint64)
        hashes[start : start + len(bits)] = (bits * _MIXER) >> np.uint64(56)
    return hashes


class JoinedSource(Source):
    """The rows of several sources, one below the other."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.names = sources[0].names
        for number, source in enumerate(sources):
            if source.names != self.names or source.shape[1] != sources[0].shape[1]:
                raise ValueError(
                    f"All data of the list must have the same columns, but the first"
                    f" has {_described(sources[0])}, number {number}"
                    f" {_described(source)}."
                )

    @property
    def shape(self) -> tuple[int, int]:
        return sum(source.shape[0] for source in self.sources), self.sources[0].shape[1]

    def batches(self) -> Iterator[Batch]:
        for source in self.sources:
            yield from source.batches()

    def select(self, names: list[str]) -> JoinedSource:
        return JoinedSource([source.select(names) for source in self.sources])


def _described(source: Source) -> str:
    if source.names is None:
        return f"{source.shape[1]} columns without names"
    return f"the columns {source.names}"


def batch_rows(n_features: int) -> int:
    """The number of rows of a batch of ``n_features`` columns."""
    return max(MIN_ROWS, BATCH_VALUES // max(1, n_features))


def chunk_bytes() -> int:
    """The size of a chunk of text: about a batch, with 4 characters for a value."""
    return 4 * BATCH_VALUES


def read(source: Source) -> Iterator[Batch]:
    """The rows of a source; a thread reads the next batch.

    ValueError if there are more or fewer rows than in `Source.shape`. Other errors are
    those of its `batches`.
    """
    n_rows, n_read = source.shape[0], 0
    source.check_unchanged()
    source.release_memory()  # of the previous pass
    location = "data"
    for batch in _prefetched(source.batches()):
        location = batch.location
        n_read += batch.rows.shape[0]
        if n_read > n_rows:
            break
        report = READ_PROGRESS.get()
        if report is not None:
            report(n_read, n_rows, "rows read")
        if batch.rows.shape[0] > 0:
            yield batch
    source.check_unchanged()
    source.release_memory()
    if n_read != n_rows:
        raise ValueError(
            f"{location}: the data have {'more' if n_read > n_rows else 'fewer'} rows"
            f" than before: {n_rows} were counted, {n_read} read. Data must not change"
            " while they are read."
        )


def _prefetched(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches; a thread reads the next one while the current one is used."""
    reader = _BatchReader(batches)
    reader.start()
    try:
        future = reader.request()
        while (batch := future.result()) is not None:
            future = reader.request()
            yield batch
        reader.end()
        reader.join()
    finally:
        reader.end()


class _BatchReader(Thread):
    """Reads one batch for each call of `request`.

    It is a daemon thread: after Ctrl-C, nothing waits for a batch that is not needed
    any more, not even Python's exit.
    """

    def __init__(self, batches: Iterator[Batch]) -> None:
        super().__init__(name="skgoss-reader", daemon=True)
        self.batches = batches
        self.requests: SimpleQueue[Future[Batch | None] | None] = SimpleQueue()
        self.is_needed = True

    def request(self) -> Future[Batch | None]:
        """The future of the next batch, or of None after the last one."""
        future: Future[Batch | None] = Future()
        self.requests.put(future)
        return future

    def end(self) -> None:
        """End the thread after the batch that it is reading."""
        self.is_needed = False
        self.requests.put(None)

    def run(self) -> None:
        """Set each requested future to the next batch, or to None after the last."""
        while (future := self.requests.get()) is not None:
            try:
                future.set_result(next(self.batches, None))
            except BaseException as error:
                future.set_exception(error)
                del error
            del future  # which would keep the batch in memory


def check_needed() -> None:
    """Raise RuntimeError if the batch that this thread reads is not needed any more.

    Sources whose batches consist of pieces call it before each piece.
    """
    if not getattr(current_thread(), "is_needed", True):
        raise RuntimeError("this batch is not needed any more")


def select_columns(source: Source, schema: ColumnSchema) -> Source:
    """The columns of a training set, by their names; others are not read."""
    names = schema.feature_names
    if names is None or source.names is None or names.tolist() == source.names:
        return source
    return source.select(names.tolist())
