"""The bins of the training rows, column by column."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint8_t
from libc.stdlib cimport calloc, free

from typing import NamedTuple

import numpy as np

from skgoss._engine.binning.gather_rows import gather_columns, gather_sparse_columns
from skgoss._engine.binning.stored_columns cimport stored_bins


class StoreArrays(NamedTuple):
    """The arrays of a BinStore, in the order of its parameters."""

    n_bins: NDArray[np.int32]
    default_bin: NDArray[np.int32]
    column: NDArray[np.int32]
    first_code: NDArray[np.int32]
    bytes: NDArray[np.uint8]
    shorts: NDArray[np.uint16]
    sparse_start: NDArray[np.int64]
    sparse_rows: NDArray[np.uint32]
    bin_start: NDArray[np.int64]
    sparse_bins: NDArray[np.uint16]


cdef class BinStore:
    """The bins of the training rows, column by column.

    ``arrays`` are the `StoreArrays` that it was made of:

    - ``n_bins``, (n_features,).
    - ``default_bin``, (n_features,): the bin of rows without a code of the feature; -1: all rows
      have one.
    - ``column``, (n_features,): the feature's row of ``bytes``, or ``len(bytes)`` and its row of
      ``shorts``. -1: it has no codes, only stored rows.
    - ``first_code``, (n_features,): the code of the feature's stored bin 0.
    - ``bytes``, (n, n_rows), ``shorts``, (m, n_rows): codes of one and of two bytes. Features of a
      bundle share a column of codes.
    - ``sparse_start``, (n_features + 1,): where the feature's stored rows begin in
      ``sparse_rows``, which are ascending within a feature.
    - ``bin_start``, (n_features + 1,): where the bins of a feature's stored rows begin in
      ``sparse_bins``. Features of two bins have none: all are 0.
    """

    def __cinit__(
        self, const int32_t[::1] n_bins, const int32_t[::1] default_bin,
        const int32_t[::1] column, const int32_t[::1] first_code,
        const uint8_t[:, ::1] bytes, const uint16_t[:, ::1] shorts,
        const int64_t[::1] sparse_start, const uint32_t[::1] sparse_rows,
        const int64_t[::1] bin_start, const uint16_t[::1] sparse_bins,
    ):
        cdef Py_ssize_t j
        cdef const uint16_t[::1] zeros
        cdef BinColumn* out
        self.n_rows = bytes.shape[1]
        self.n_features = n_bins.shape[0]
        self._arrays = StoreArrays._make(map(np.asarray, (
            n_bins, default_bin, column, first_code, bytes, shorts, sparse_start, sparse_rows,
            bin_start, sparse_bins)))
        has_bins = np.diff(bin_start) > 0
        longest = np.diff(sparse_start).max(initial=0, where=~has_bins)
        self.zeros = np.zeros(longest + 1, dtype=np.uint16)
        zeros = self.zeros
        self.columns = <BinColumn*> calloc(self.n_features + 1, sizeof(BinColumn))
        if self.columns == NULL:
            raise MemoryError
        for j in range(self.n_features):
            out = &self.columns[j]
            out.n_bins = n_bins[j]
            out.default_bin = default_bin[j]
            out.first_code = first_code[j]
            out.length = sparse_start[j + 1] - sparse_start[j]
            if out.length > 0:
                out.rows = &sparse_rows[sparse_start[j]]
                out.stored = stored_bins(sparse_bins, bin_start, j)
                if out.stored == NULL:
                    out.stored = &zeros[0]
                self.has_sparse = True
            if column[j] < 0:
                continue
            if self.n_rows == 0:
                out.codes = &zeros[0]
            elif column[j] < bytes.shape[0]:
                out.width = 1
                out.codes = &bytes[column[j], 0]
            else:
                out.width = 2
                out.codes = &shorts[column[j] - bytes.shape[0], 0]

    def __dealloc__(self):
        free(self.columns)

    @property
    def arrays(self) -> StoreArrays:
        return self._arrays

    def take(self, const int64_t[::1] rows, int n_threads, empty) -> BinStore:
        """The store of some rows, ascending and distinct.

        ``empty(shape, dtype)`` makes its large arrays.
        """
        *features, bytes, shorts, sparse_start, sparse_rows, bin_start, sparse_bins = self._arrays
        position = np.empty(0, dtype=np.int32)
        if self.has_sparse:
            position = np.full(self.n_rows, -1, dtype=np.int32)
            position[rows] = np.arange(rows.shape[0], dtype=np.int32)
        dense = []
        for columns in (bytes, shorts):
            taken = empty((len(columns), len(rows)), columns.dtype)
            gather_columns(columns, rows, n_threads, taken)
            dense.append(taken)
        return BinStore(
            *features, *dense,
            *gather_sparse_columns(
                sparse_start, sparse_rows, bin_start, sparse_bins, position, n_threads))

    def bins(self, int feature) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """Every row's bin of a feature: ndarray of shape (n_rows,), uint16.

        ``feature``: its number, which is not checked.
        """
        cdef const BinColumn* column = &self.columns[feature]
        cdef int64_t i
        found = np.empty(self.n_rows, dtype=np.uint16)
        cdef uint16_t[::1] out = found
        if column.codes == NULL:
            found[:] = column.default_bin
            for i in range(column.length):
                out[column.rows[i]] = <uint16_t> bin_of_stored(column, column.stored[i])
            return found
        for i in range(self.n_rows):
            out[i] = <uint16_t> bin_of_code(
                column,
                (<const uint8_t*> column.codes)[i] if column.width == 1
                else (<const uint16_t*> column.codes)[i])
        return found
