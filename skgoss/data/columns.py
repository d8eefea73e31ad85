"""The typed columns that all containers become."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data.columns import KINDS

_DTYPE_OF_KIND = {
    code: np.dtype(name) for name, code in KINDS.items() if name != "bool"
}


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of numbers, read in place.

    Attributes
    ----------
    n_rows, n_features : int
    address : ndarray of shape (n_features,), uint64
        Address of the first value of each column.
    stride : ndarray of shape (n_features,), int64
        Bytes between two values of a column; may be negative or zero.
    kind : ndarray of shape (n_features,), uint8
        The dtype of the values: a code of `skgoss._engine.data.columns.KINDS`.
    owner : object
        The object that keeps the memory alive.
    index : ndarray of shape (n_features,), uint64, or None
        For a sparse column, the address of the int32 numbers, ascending and distinct,
        of the rows with a stored value; the other rows are 0. For a dense column, 0.
        None: all columns are dense.
    length : ndarray of shape (n_features,), int64, or None
        For a sparse column, the number of stored values.
    n_categories : ndarray of shape (n_features,), int32, or None
        0: a column of numbers. Otherwise the column holds the numbers of categories, 0
        to ``n_categories - 1``, and NaN where the category is missing or unknown.
        None: all columns hold numbers.
    """

    n_rows: int
    n_features: int
    address: NDArray[np.uint64]
    stride: NDArray[np.int64]
    kind: NDArray[np.uint8]
    owner: Any
    index: NDArray[np.uint64] | None = None
    length: NDArray[np.int64] | None = None
    n_categories: NDArray[np.int32] | None = None

    def take(self, features: NDArray[Any]) -> Columns:
        """Some of the columns."""
        parts = {
            name: None if getattr(self, name) is None else getattr(self, name)[features]
            for name in ("address", "stride", "kind", "index", "length", "n_categories")
        }
        return replace(self, n_features=len(features), **parts)

    def stored(self, column: int) -> NDArray[Any]:
        """The values of a column in their own dtype; stored values if it is sparse."""
        sparse = self.index is not None and self.index[column] != 0
        length = self.length[column] if sparse else self.n_rows
        dtype = _DTYPE_OF_KIND[int(self.kind[column])]
        return _view(self.address[column], self.stride[column], int(length), dtype)

    def stored_rows(self, column: int) -> NDArray[np.int32]:
        """The rows of a sparse column that have a stored value."""
        return _view(self.index[column], 4, int(self.length[column]), np.dtype("int32"))


@dataclass(frozen=True)
class _Memory:
    """The array interface of memory at an address."""

    __array_interface__: dict[str, Any]


def _view(address: Any, stride: Any, length: int, dtype: np.dtype) -> NDArray[Any]:
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
