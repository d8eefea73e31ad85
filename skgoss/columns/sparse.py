"""Sparse matrices: checks of their structure, and their stored values by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgoss._engine.columns import code_kernels
from skgoss._engine.columns.transposition import count_columns, move_columns
from skgoss.columns.columns import (
    KIND_OF_DTYPE,
    Columns,
    MadeInSpans,
    as_kind,
    changed,
)
from skgoss.utils.locks import cached_property
from skgoss.utils.plain_values import INT32_MAX

# The size in bytes of the spans of columns that are made together, unless there would
# be more spans than the second number.
SPAN_BYTES = 24 << 20
MAX_SPANS = 16

# The smallest number of entries of a thread.
ENTRIES_PER_THREAD = 1 << 16


def check(X: Any, n_threads: int = 1) -> None:
    """Check the structure of a sparse matrix of any format.

    SciPy has no check for all formats, and ``check_format`` writes to the matrix.
    ValueError if the arrays of the matrix are inconsistent, refer to rows or columns
    that do not exist, or do not hold numbers.
    """
    if X.ndim != 2:
        raise ValueError(
            f"X is a sparse array of shape {X.shape}; reshape it to two dimensions, a"
            " row for each sample."
        )
    if max(X.shape) > INT32_MAX:
        raise ValueError(f"X has shape {X.shape}; at most {INT32_MAX} can be used.")
    check_format = _CHECKS.get(X.format)
    if X.format in ("csr", "csc"):
        major, minor = X.shape if X.format == "csr" else X.shape[::-1]
        _check_compressed(X, major, minor, n_threads=n_threads)
    elif check_format is not None:
        check_format(X)
    # Complex numbers and objects are left to scikit-learn.
    if X.dtype.kind not in "biufcO":
        raise ValueError(
            f"X holds {X.dtype} values, and only numbers and booleans can be used in"
            " sparse matrices. Encode them first."
        )


def _check_bsr(X: Any) -> None:
    """Check a matrix of blocks: its arrays refer to blocks instead of numbers."""
    _check_array("data", X.data, 3)
    if 0 in X.blocksize or any(np.mod(X.shape, X.blocksize)):
        raise _broken(f"data has blocks of {X.blocksize}, which do not fit {X.shape}")
    n_major, n_minor = np.floor_divide(X.shape, X.blocksize)
    _check_compressed(X, n_major, n_minor, n_dimensions=3)


def _check_compressed(
    X: Any, major: int, minor: int, n_dimensions: int = 1, n_threads: int = 1
) -> None:
    """Check CSR, CSC or BSR of ``major`` rows, columns or rows of blocks.

    ``minor`` is the number of columns, rows or columns of blocks, and ``n_dimensions``
    that of the array ``data``.
    """
    indptr, indices = X.indptr, X.indices
    _check_array("data", X.data, n_dimensions)
    _check_integers("indices", indices, 0, minor, n_threads)
    _check_length("indices", indices, len(X.data), "data")
    _check_integers("indptr", indptr, 0, len(indices) + 1)
    if len(indptr) != major + 1:
        raise _broken(f"indptr has {len(indptr)} entries instead of {major + 1}")
    if indptr[0] != 0:
        raise _broken(f"indptr begins with {indptr[0]} instead of 0")
    if (indptr[1:] < indptr[:-1]).any():
        raise _broken("indptr decreases")


def _check_coo(X: Any) -> None:
    _check_array("data", X.data, 1)
    for name, size in zip(("row", "col"), X.shape, strict=True):
        _check_integers(name, getattr(X, name), 0, size)
        _check_length(name, getattr(X, name), len(X.data), "data")


def _check_dia(X: Any) -> None:
    """Check a matrix of diagonals, each of which must be stored once."""
    _check_array("data", X.data, 2)
    _check_integers("offsets", X.offsets, -INT32_MAX, INT32_MAX)
    _check_length("offsets", X.offsets, len(X.data), "data")
    if len(np.unique(X.offsets)) < len(X.offsets):
        raise _broken("offsets name a diagonal twice")


def _check_lil(X: Any) -> None:
    """Check a matrix of lists: the columns and the values of each row."""
    for name in ("rows", "data"):
        _check_array(name, getattr(X, name), 1)
        _check_length(name, getattr(X, name), X.shape[0], "X")
        if not all(isinstance(values, list) for values in getattr(X, name)):
            raise _broken(f"{name} holds more than lists")
    if [*map(len, X.rows)] != [*map(len, X.data)]:
        raise _broken("rows and data have lists of different lengths")
    columns = [*chain.from_iterable(X.rows)]
    if columns:
        _check_integers("rows", np.array(columns), 0, X.shape[1])


def _check_dok(X: Any) -> None:
    """Check a dictionary of keys, which are pairs of a row and a column."""
    keys = list(X.keys())
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise _broken("keys are not all pairs of a row and a column")
    indices = zip(*keys, strict=True)
    for name, values, size in zip(("rows", "columns"), indices, X.shape, strict=False):
        _check_integers(name, np.array(values), 0, size)


_CHECKS: dict[str, Callable[[Any], None]] = {
    "bsr": _check_bsr,
    "coo": _check_coo,
    "dia": _check_dia,
    "lil": _check_lil,
    "dok": _check_dok,
}


def _check_array(name: str, values: Any, n_dimensions: int) -> None:
    if not isinstance(values, np.ndarray) or values.ndim != n_dimensions:
        raise _broken(f"{name} is not an array of {n_dimensions} dimension(s)")


def _check_integers(
    name: str, values: Any, least: int, stop: int, n_threads: int = 1
) -> None:
    """Check that an array holds integers from ``least`` to ``stop - 1``.

    ``name`` is that of the array in the matrix. ValueError if it holds others.
    """
    _check_array(name, values, 1)
    if values.dtype.kind not in "iu":
        raise _broken(f"{name} holds {values.dtype} values instead of integers")
    if len(values) == 0:
        return
    low, high = _range(values, n_threads)
    if not least <= low <= high < stop:
        raise _broken(f"{name} holds values outside {least}..{stop - 1}")


def _range(values: NDArray[Any], n_threads: int) -> tuple[int, int]:
    """The smallest and the largest of some integers."""
    flags, dtype = values.flags, values.dtype
    if dtype.kind == "i" and dtype.isnative and flags.aligned and flags.c_contiguous:
        return code_kernels.code_range(values, n_threads)
    return values.min(), values.max()


def _check_length(name: str, values: Any, length: int, other: str) -> None:
    if len(values) != length:
        raise _broken(f"{name} has {len(values)} entries, but {other} has {length}")


def _broken(what: str) -> ValueError:
    return ValueError(
        f"X is a broken sparse matrix: its {what}. Build it again from valid rows and"
        " columns, for example with scipy.sparse.coo_array((values, (rows, columns)))."
    )


def columns(X: Any) -> Columns:
    """The columns of a checked matrix, made in spans where that is possible.

    Duplicates are summed; the matrix itself is not changed.
    """
    if X.format != "csr" or not _can_be_read(X):
        return whole_columns(X)
    return cast(Columns, CompressedRows(_Matrix(X), np.arange(X.shape[1])))


def _can_be_read(X: Any) -> bool:
    """Whether kernels read the arrays of a CSR matrix as they are."""
    flags = [array.flags for array in (X.data, X.indices, X.indptr)]
    return (
        X.data.dtype in KIND_OF_DTYPE
        and X.indices.dtype == X.indptr.dtype
        and X.indices.dtype in (np.int32, np.int64)
        and all(flag.c_contiguous and flag.aligned for flag in flags)
    )


def whole_columns(X: Any) -> Columns:
    """The columns of a checked matrix, all at once."""
    # The flags of X may be wrong about its order, so they are computed again.
    if X.format == "csc":
        csc = sp.csc_array((X.data, X.indices, _copied_starts(X)), shape=X.shape)
    elif X.format == "csr":
        # SciPy counts indices, and then fills the result without checking the counts:
        # another thread must not change the indices in between.
        indices = X.indices.copy()
        _check_integers("indices", indices, 0, X.shape[1])
        csr = sp.csr_array((X.data, indices, _copied_starts(X)), shape=X.shape)
        csc = csr.tocsc()
    else:
        copy = _copied(X)
        try:
            csc = copy.tocsc()
        # The formats DOK and LIL may hold any objects.
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"X must hold numbers: {error}.") from error
    if not csc.has_canonical_format:
        csc = csc.copy()
        csc.sum_duplicates()
    n_values = csc.indptr[-1]
    values = np.ascontiguousarray(csc.data[:n_values])
    rows = np.ascontiguousarray(csc.indices[:n_values], dtype=np.int32)
    return stored_columns(
        as_kind(values, "X"), rows, csc.indptr.astype(np.int64), X.shape[0]
    )


def _copied(X: Any) -> Any:
    """A checked copy of a matrix of another format, which no other thread changes.

    SciPy counts entries, and then fills the result without checking the counts.
    """
    try:
        copy = _COPIES[X.format](X)
        check(copy)
    except (RuntimeError, ValueError) as error:
        raise changed() from error
    return copy


def _copied_lil(X: Any) -> Any:
    copy = sp.lil_array(X.shape, dtype=X.dtype)
    for i in range(X.shape[0]):
        copy.rows[i], copy.data[i] = list(X.rows[i]), list(X.data[i])
    return copy


_COPIES: dict[str, Callable[[Any], Any]] = {
    "bsr": lambda X: sp.bsr_array(
        (X.data, X.indices.copy(), X.indptr.copy()), shape=X.shape
    ),
    "coo": lambda X: sp.coo_array((X.data, (X.row.copy(), X.col.copy())), X.shape),
    "dia": lambda X: sp.dia_array((X.data, X.offsets.copy()), shape=X.shape),
    "lil": _copied_lil,
    "dok": lambda X: X.copy(),
}


def _copied_starts(X: Any) -> NDArray[Any]:
    """A copy of ``indptr``; ValueError if it has changed since it was checked."""
    indptr = X.indptr.copy()
    is_valid = indptr[0] == 0 and indptr[-1] <= min(len(X.indices), len(X.data))
    if not is_valid or (indptr[1:] < indptr[:-1]).any():
        raise changed()
    return indptr


def stored_columns(
    values: NDArray[Any], rows: NDArray[np.int32], start: NDArray[np.int64], n_rows: int
) -> Columns:
    """Columns of stored values, column by column; the rows of a column ascend.

    The entries of column j begin at ``start[j]``. If ``values`` has one entry, it is
    that of all stored rows. ``n_rows`` counts all rows, stored or not.
    """
    stride = 0 if len(values) < start[-1] else values.itemsize
    n_features = len(start) - 1
    first_value = values.__array_interface__["data"][0]
    first_row = rows.__array_interface__["data"][0]
    return Columns(
        n_rows=n_rows,
        n_features=n_features,
        address=(first_value + stride * start[:-1]).astype(np.uint64),
        stride=np.full(n_features, stride, dtype=np.int64),
        kind=np.full(n_features, KIND_OF_DTYPE[values.dtype], dtype=np.uint8),
        owner=(values, rows),
        index=(first_row + rows.itemsize * start[:-1]).astype(np.uint64),
        length=np.diff(start),
    )


class _Matrix:
    """A checked CSR matrix of values that kernels can read."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.start = _copied_starts(X)
        self._counted: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None
        self._is_constant: bool | None = None

    @cached_property
    def columns(self) -> Columns:
        """All columns."""
        return whole_columns(self.X)

    def is_constant(self, n_threads: int) -> bool:
        """Whether all stored values are the same, as in one-hot columns."""
        if self._is_constant is None:
            values = self.X.data
            self._is_constant = len(values) > 0 and bool(values[0] == values[-1])
            if self._is_constant:
                bits = values.view(f"i{values.itemsize}")
                low, high = code_kernels.code_range(bits, n_threads)
                self._is_constant = low == high
        return self._is_constant

    def count(self, n_threads: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The first row of each chunk, and the number of its entries in each column.

        The first, (n_chunks + 1,), ends with the number of rows; the second is
        (n_chunks, n_columns). If the columns of a row do not ascend, there are no
        chunks. Both are kept for the next call.
        """
        X, start = self.X, self.start
        most = max(ENTRIES_PER_THREAD, X.shape[1])
        n_chunks = max(1, min(n_threads, int(start[-1]) // most))
        if self._counted is None or len(self._counted[1]) not in (0, n_chunks):
            at = np.linspace(0, start[-1], n_chunks + 1)[1:-1]
            first = np.searchsorted(start, at)
            chunks = np.concatenate([[0], first, [X.shape[0]]])
            counts = np.zeros((n_chunks, X.shape[1]), dtype=np.int32)
            ascends = count_columns(start, X.indices, chunks, counts)
            self._counted = chunks, counts if ascends else counts[:0]
        return self._counted


@dataclass(frozen=True, eq=False)
class CompressedRows(MadeInSpans):
    """Columns of a CSR matrix, which are made in spans of columns."""

    matrix: _Matrix
    features: NDArray[np.int64]  # the columns of the matrix that these are, ascending

    n_categories = None
    is_sparse = True
    index = property(attrgetter("whole.index"))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.matrix.X.shape[0]

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.features)

    @property
    def may_have_nan(self) -> bool:
        """Whether a value of the matrix is NaN."""
        return bool(np.isnan(self.matrix.X.data.max(initial=0)))

    def n_stored(self, n_threads: int) -> int:
        """The number of stored values; 0 if the columns of a row do not ascend."""
        _, counts = self.matrix.count(n_threads)
        return int(counts[:, self.features].sum(dtype=np.int64))

    @cached_property
    def whole(self) -> Columns:
        """All columns at once."""
        columns = self.matrix.columns
        is_all = self.n_features == columns.n_features
        return columns if is_all else columns.take(self.features)

    def take(self, features: NDArray[Any]) -> Columns | CompressedRows:
        """Some of the columns, made in spans if they ascend."""
        if (features[1:] <= features[:-1]).any():
            return self.whole.take(features)
        return replace(self, features=self.features[features])

    def only(self, features: NDArray[Any], n_threads: int) -> Columns:
        """All columns, of which only ``features`` (ascending) can be read."""
        _, counts = self.matrix.count(n_threads)
        if len(counts) == 0 or len(features) == 0:
            return self.whole
        chosen = replace(self, features=self.features[features])
        total = counts.sum(axis=0, dtype=np.int64)[chosen.features]
        spans = [slice(0, len(features))]
        ((_, made),) = chosen._make_spans(spans, total, n_threads, is_constant=False)
        arrays: dict[str, Any] = {
            name: np.zeros(self.n_features, dtype=getattr(made, name).dtype)
            for name in ("address", "stride", "kind", "index", "length")
        }
        for name, array in arrays.items():
            array[features] = getattr(made, name)
        return replace(made, n_features=self.n_features, **arrays)

    def by_span(self, n_threads: int) -> Iterator[tuple[slice, Columns]]:
        """All columns, span by span; each is valid until the next one is made."""
        X = self.matrix.X
        _, counts = self.matrix.count(n_threads)
        if len(counts) == 0:
            yield slice(0, self.n_features), self.whole
            return
        is_constant = self.matrix.is_constant(n_threads)
        total = counts.sum(axis=0, dtype=np.int64)[self.features]
        # An entry is the number of a row, and a value unless all values are the same.
        max_entries = SPAN_BYTES // (4 + (0 if is_constant else X.data.itemsize))
        spans = _spans(total, max(max_entries, X.shape[0]), int(self.matrix.start[-1]))
        yield from self._make_spans(spans, total, n_threads, is_constant=is_constant)

    def _make_spans(
        self,
        spans: list[slice],
        total: NDArray[np.int64],
        n_threads: int,
        *,
        is_constant: bool,
    ) -> Iterator[tuple[slice, Columns]]:
        """Make the spans, one after the other, in the same memory.

        ``total`` has the number of entries of each column.
        """
        X = self.matrix.X
        chunks, counts = self.matrix.count(n_threads)
        values = X.data[: 0 if is_constant else None].view(f"u{X.data.itemsize}")
        n_read = np.zeros(X.shape[0], dtype=np.int32)
        room = max(total[span].sum() for span in spans) + 1
        rows = np.empty(room, dtype=np.int32)
        moved = np.empty(0 if is_constant else room, dtype=values.dtype)
        stored = X.data[:1] if is_constant else moved.view(X.data.dtype)
        first = 0
        for span in spans:
            start = np.concatenate([[0], np.cumsum(total[span])])
            features = self.features[span]
            next_counts = counts[:, first : features[-1] + 1]
            target, stop = _targets(next_counts, features - first, start)
            move_columns(
                self.matrix.start,
                X.indices,
                values,
                chunks,
                first,
                n_read,
                target,
                stop,
                rows,
                moved,
            )
            if not np.array_equal(target, stop):
                raise changed()
            yield span, stored_columns(stored, rows, start, self.n_rows)
            first = int(features[-1]) + 1


def _spans(total: NDArray[np.int64], max_entries: int, n_entries: int) -> list[slice]:
    """Divide columns into spans of about ``max_entries`` entries.

    Making a span reads all rows, so it should have at least as many entries as rows.
    ``total`` has the number of entries of each column, and ``n_entries`` is that of the
    whole matrix.
    """
    size = max(max_entries, n_entries // MAX_SPANS)
    span = np.maximum(np.cumsum(total) - 1, 0) // size
    edges = np.flatnonzero(np.diff(span, prepend=-1)).tolist()
    return list(map(slice, edges, [*edges[1:], len(total)]))


def _targets(
    counts: NDArray[np.int32], chosen: NDArray[np.int64], start: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the entries of each chunk of rows begin and end, by column.

    Both are (n_chunks, n_columns), as are ``counts``, the numbers of entries. ``start``
    has, for each ``chosen`` column, where its entries begin. Columns that are not
    ``chosen`` have none.
    """
    target, stop = np.zeros((2, *counts.shape), dtype=np.int64)
    stop[:, chosen] = start[:-1] + np.cumsum(counts[:, chosen], axis=0, dtype=np.int64)
    target[:, chosen] = stop[:, chosen] - counts[:, chosen]
    return target, stop
