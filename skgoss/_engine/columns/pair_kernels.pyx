"""Columns that are computed from pairs of other columns."""

from libc.math cimport NAN
from libc.stdint cimport int32_t, uint8_t

from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.threads cimport run_shares

import numpy as np

cdef enum:
    BLOCK = 1024              # rows whose values are read at a time

cdef enum:
    DIFFERENCE
    SUM
    PRODUCT
    RATIO

#: The code of each operation.
OPERATIONS: dict[str, int] = {"-": DIFFERENCE, "+": SUM, "*": PRODUCT, "/": RATIO}


cdef struct PairLoop:
    InputColumns columns
    const int32_t* used       # the columns that occur in pairs
    Py_ssize_t n_used
    const int32_t* left       # of each pair: its columns, as positions in `used`
    const int32_t* right
    const uint8_t* operation
    const double* factor      # of the second column
    const int32_t* chosen     # the numbers of the pairs to compute
    Py_ssize_t n_chosen
    double* blocks            # of each thread: the values of each used column in some rows
    Py_ssize_t length         # of these rows
    double* values            # (n_pairs, n_rows)


cdef void combine(
    uint8_t operation, const double* left, const double* right, double factor, Py_ssize_t n,
    double* values_out,
) noexcept nogil:
    """Combine n values of two columns by an operation; NaN where a division is by zero.

    ``factor``: of the right column, in differences and sums.
    """
    cdef Py_ssize_t i
    if operation == DIFFERENCE:
        for i in range(n):
            values_out[i] = left[i] - factor * right[i]
    elif operation == SUM:
        for i in range(n):
            values_out[i] = left[i] + factor * right[i]
    elif operation == PRODUCT:
        for i in range(n):
            values_out[i] = left[i] * right[i]
    else:
        for i in range(n):
            values_out[i] = NAN if right[i] == 0.0 else left[i] / right[i]


cdef void combine_body(
    void* context, Py_ssize_t begin, Py_ssize_t end, int thread
) noexcept nogil:
    """Compute the chosen pairs in the rows ``begin`` to ``end``, some rows at a time."""
    cdef PairLoop* loop = <PairLoop*>context
    cdef Py_ssize_t length = loop.length
    cdef double* block = loop.blocks + thread * loop.n_used * length
    cdef Py_ssize_t n_rows = loop.columns.n_rows
    cdef Py_ssize_t i, j, first = begin
    cdef Py_ssize_t n
    while first < end:
        n = min(length, end - first)
        for j in range(loop.n_used):
            load_block(&loop.columns, loop.used[j], NULL, first, n, block + j * length)
        for i in range(loop.n_chosen):
            j = loop.chosen[i]
            combine(
                loop.operation[j], block + loop.left[j] * length, block + loop.right[j] * length,
                loop.factor[j], n, loop.values + j * n_rows + first)
        first += n


def pair_values(
    columns, const int32_t[::1] used, const int32_t[::1] left, const int32_t[::1] right,
    const uint8_t[::1] operation, const double[::1] factor, const int32_t[::1] chosen,
    int n_threads, double[:, ::1] values_out,
) -> None:
    """Write the values of pairs of columns, which are missing where a division is by zero.

    - ``columns``: the `Columns` that pairs are made of; none has categories.
    - ``used``: the numbers of those that occur in pairs.
    - ``left``, ``right``: (n_pairs,), the columns of each pair, as positions in ``used``.
    - ``operation``: (n_pairs,), a code of `OPERATIONS`.
    - ``factor``: (n_pairs,), by which the second column of a difference or sum is multiplied.
    - ``chosen``: the numbers of the pairs that are computed.
    - ``values_out``: (n_pairs, n_rows); rows of other pairs are not written.
    """
    cdef PairLoop loop
    cdef Py_ssize_t n_rows = values_out.shape[1]
    if n_rows == 0 or chosen.shape[0] == 0:
        return
    loop.length = min(<Py_ssize_t>BLOCK, n_rows)
    cdef double[::1] blocks = np.empty(n_threads * used.shape[0] * loop.length)
    loop.columns = read_columns(columns)
    loop.used, loop.n_used = &used[0], used.shape[0]
    loop.left, loop.right, loop.operation = &left[0], &right[0], &operation[0]
    loop.factor = &factor[0]
    loop.chosen, loop.n_chosen = &chosen[0], chosen.shape[0]
    loop.blocks, loop.values = &blocks[0], &values_out[0, 0]
    run_shares(combine_body, &loop, n_rows, BLOCK, n_threads, n_rows * loop.n_chosen)
