"""Columns: the common form of all kinds of input data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.columns import column_kernels as kernels
from skgoss._engine.columns.column_kernels import KINDS
from skgoss.columns.floats import as_floats

KIND_OF_DTYPE = {np.dtype(name): code for name, code in KINDS.items()}
_DTYPE_OF_KIND = {
    code: np.dtype(name) for name, code in KINDS.items() if name != "bool"
}
_FLOATS = [code for name, code in KINDS.items() if name.startswith("float")]
# The kind of a column that has not been added to a `ColumnsBuilder`.
_MISSING = 255


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of numbers, read in place."""

    n_rows: int
    n_features: int
    # (n_features,): address of the first value of each column.
    address: NDArray[np.uint64]
    # (n_features,): bytes between two values of a column; may be negative or zero.
    stride: NDArray[np.int64]
    # (n_features,): the dtype of the values: a code of `column_kernels.KINDS`.
    kind: NDArray[np.uint8]
    owner: Any  # the object that keeps the memory alive
    # (n_features,): for a sparse column, the address of the int32 numbers, ascending
    # and distinct, of the rows with a stored value; the other rows are 0. For a dense
    # column, 0. None: all columns are dense.
    index: NDArray[np.uint64] | None = None
    # (n_features,): for a sparse column, the number of stored values.
    length: NDArray[np.int64] | None = None
    # (n_features,): 0: a column of numbers. Otherwise the column holds the numbers of
    # categories, 0 to ``n_categories - 1``, and NaN where the category is missing or
    # unknown. None: all columns hold numbers.
    n_categories: NDArray[np.int32] | None = None

    @classmethod
    def without_rows(cls, n_features: int) -> Columns:
        """Columns without rows."""
        builder = ColumnsBuilder(0, n_features)
        builder.add([(np.arange(n_features), np.empty((0, n_features)))])
        return builder.columns()

    @property
    def whole(self) -> Columns:
        """The columns themselves; `CompressedRows` makes all of its columns here."""
        return self

    @property
    def is_sparse(self) -> bool:
        """Whether any column is sparse."""
        return self.index is not None and bool(self.index.any())

    @property
    def category_counts(self) -> NDArray[np.int32]:
        """The number of categories of each column; 0: a column of numbers."""
        if self.n_categories is None:
            return np.zeros(self.n_features, dtype=np.int32)
        return self.n_categories

    def n_stored(self, n_threads: int) -> int:
        """The number of stored values of `CompressedRows`; 0 for other columns."""
        return 0

    @property
    def may_have_nan(self) -> bool:
        """Whether a column holds floats."""
        return bool(np.isin(self.kind, _FLOATS).any())

    def by_span(self, n_threads: int) -> Iterable[tuple[slice, Columns]]:
        """All columns, span by span: the span, and its columns."""
        return ((slice(0, self.n_features), self),)

    def only(self, features: NDArray[Any], n_threads: int) -> Columns:
        """As many columns, of which these, in ascending order, can be read."""
        return self

    def take(self, features: NDArray[Any]) -> Columns:
        """The columns of these numbers, in this order; their values are not copied."""
        taken: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[features]
            for name in ("address", "stride", "kind", "index", "length", "n_categories")
        }
        return replace(self, n_features=len(features), **taken)

    def with_values(self, values: Mapping[int, NDArray[Any]]) -> Columns:
        """Replace the values of some columns.

        The new values of a column are one for each row, which makes it dense, or one
        for each stored row of a sparse column.
        """
        if not values:
            return self
        address, stride, kind = (
            self.address.copy(),
            self.stride.copy(),
            self.kind.copy(),
        )
        index = None if self.index is None else self.index.copy()
        for column, array in values.items():
            address[column] = array.__array_interface__["data"][0]
            stride[column] = array.itemsize
            kind[column] = KIND_OF_DTYPE[array.dtype]
            if index is not None and len(array) == self.n_rows:
                index[column] = 0
        owner = self.owner, list(values.values())
        return replace(
            self, address=address, stride=stride, kind=kind, index=index, owner=owner
        )

    def followed_by(self, values: NDArray[np.float64]) -> Columns:
        """The columns, and then those in the rows of a matrix."""
        n = len(values)
        n_features = self.n_features + n
        address = np.empty(n_features, dtype=np.uint64)
        stride = np.empty(n_features, dtype=np.int64)
        kind = np.empty(n_features, dtype=np.uint8)
        kernels.locate_appended(self, values, address, stride, kind)
        columns = Columns(
            self.n_rows, n_features, address, stride, kind, (self.owner, values)
        )
        more: dict[str, Any] = {
            name: np.append(array, np.zeros(n, array.dtype))
            for name in ("index", "length", "n_categories")
            if (array := getattr(self, name)) is not None
        }
        return replace(columns, **more) if more else columns

    def stored(self, column: int) -> NDArray[Any]:
        """The values of a column; those that are stored if it is sparse."""
        length = self.n_rows
        if self.index is not None and self.length is not None and self.index[column]:
            length = int(self.length[column])
        dtype = _DTYPE_OF_KIND[int(self.kind[column])]
        return _view(self.address[column], self.stride[column], length, dtype)

    def stored_rows(self, column: int) -> NDArray[np.int32]:
        """The rows of a column that have a stored value: a copy that was checked."""
        if self.index is None or self.length is None or not self.index[column]:
            return np.arange(self.n_rows, dtype=np.int32)
        length = int(self.length[column])
        rows = _view(self.index[column], 4, length, np.dtype("int32")).copy()
        if length and not 0 <= rows.min() <= rows.max() < self.n_rows:
            raise changed()
        return rows


class _ReleasedColumns(Columns):
    """Columns whose values were released: they have no attributes."""

    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise AttributeError("the values were released; only their bins are left")


RELEASED = _ReleasedColumns()


class MadeInSpans:
    """Columns that are made in spans when they are read, by a subclass.

    They can also be used as `Columns`. Then all columns are made at once, and kept: a
    subclass has them as ``whole``.
    """

    address = property(attrgetter("whole.address"))
    stride = property(attrgetter("whole.stride"))
    kind = property(attrgetter("whole.kind"))
    owner = property(attrgetter("whole.owner"))
    length = property(attrgetter("whole.length"))
    stored = property(attrgetter("whole.stored"))
    stored_rows = property(attrgetter("whole.stored_rows"))


class ColumnsBuilder:
    """The attributes of `Columns`, while columns are added."""

    def __init__(self, n_rows: int, n_features: int) -> None:
        self.n_rows = n_rows
        self.address = np.empty(n_features, dtype=np.uint64)
        self.stride = np.empty(n_features, dtype=np.int64)
        self.kind = np.full(n_features, _MISSING, dtype=np.uint8)
        self.owner: list[Any] = []

    def add(self, matrices: Sequence[tuple[Any, NDArray[Any]]]) -> None:
        """Add columns: pairs of their numbers, and a matrix of a dtype of `KINDS`."""
        self.owner.append(matrices)
        kernels.locate(
            [(at, matrix, KIND_OF_DTYPE[matrix.dtype]) for at, matrix in matrices],
            self.address,
            self.stride,
            self.kind,
        )

    def missing(self) -> list[int]:
        """The columns that have not been added."""
        return np.flatnonzero(self.kind == _MISSING).tolist()

    def columns(self) -> Columns:
        """All columns."""
        return Columns(
            self.n_rows,
            len(self.kind),
            self.address,
            self.stride,
            self.kind,
            self.owner,
        )


def changed() -> ValueError:
    """The error for values that have changed since they were counted."""
    return ValueError(
        "X changed while it was read: another thread or process wrote to its memory."
        " Pass a copy, or wait until the fit has ended before X is changed."
    )


def as_kind(values: NDArray[Any], name: str) -> NDArray[Any]:
    """The values themselves if kernels can read them in place, else as float64."""
    if values.dtype in KIND_OF_DTYPE and values.flags.aligned:
        return values
    return as_floats(values, name)


@dataclass(frozen=True)
class _Memory:
    """The array interface of memory at an address."""

    __array_interface__: dict[str, Any]


def _view(address: Any, stride: Any, length: int, dtype: np.dtype) -> NDArray[Any]:
    """An array of ``length`` values in memory of another object, without a copy.

    ``address`` is that of the first value, and ``stride`` the bytes to the next one.
    """
    if not length:
        return np.empty(0, dtype=dtype)
    interface = {
        "data": (int(address), True),
        "strides": (int(stride),),
        "shape": (length,),
        "typestr": dtype.str,
        "version": 3,
    }
    return np.asarray(_Memory(interface))


def row_positions(
    columns: Columns, rows: NDArray[np.int64] | None
) -> NDArray[np.int32] | None:
    """The position of each row of the data in ``rows``, -1 if it is not there.

    Only sparse columns need it: None if there are none, or if all rows are read.
    """
    if rows is None or not columns.is_sparse:
        return None
    position = np.full(columns.n_rows, -1, dtype=np.int32)
    position[rows] = np.arange(len(rows))
    return position


def numbers(columns: Columns) -> NDArray[np.float64]:
    """All values in an array of shape (n_rows, n_features); categories are NaN."""
    out = np.zeros((columns.n_rows, columns.n_features))
    for j in range(columns.n_features):
        is_sparse = columns.index is not None and columns.index[j] != 0
        at = columns.stored_rows(j) if is_sparse else slice(None)
        out[at, j] = columns.stored(j)
    if columns.n_categories is not None:
        out[:, columns.n_categories > 0] = np.nan
    return out
