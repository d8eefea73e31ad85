"""The typed columns that all containers become."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of numbers, read where they lie.

    Attributes
    ----------
    n_rows, n_features : int
    address : ndarray of shape (n_features,), uint64
        Address of the first value of each column.
    stride : ndarray of shape (n_features,), int64
        Bytes between two values of a column; may be negative or zero.
    kind : ndarray of shape (n_features,), uint8
        What the values are: a code of `skgoss._engine.data.columns.KINDS`.
    owner : object
        Keeps the memory alive.
    index : ndarray of shape (n_features,), uint64, or None
        Of a sparse column: address of the int32 numbers, ascending and distinct, of
        the rows with a stored value; the others hold zero. 0: the column is dense;
        None: all are.
    length : ndarray of shape (n_features,), int64, or None
        Of a sparse column: how many values are stored.
    n_categories : ndarray of shape (n_features,), int32, or None
        0: a column of numbers. Else it holds the numbers of categories, 0 to
        ``n_categories - 1``, and NaN where the category is missing or unknown. None:
        all columns hold numbers.
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
