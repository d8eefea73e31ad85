"""How kernels read one column of the input, in whatever container.

A column is (address, stride, kind): the address of its first value, the number of bytes from one
value to the next, and the type of the values. A sparse column also has (index, length): the
address of the ascending numbers of its rows with a stored value, and how many there are. Its other
rows hold zero.
"""

from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

from skgoss._engine.binning.stored_columns cimport first_from

cdef enum:
    FLOAT64 = 0
    FLOAT32 = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    UINT8 = 6
    UINT16 = 7
    UINT32 = 8
    UINT64 = 9

ctypedef fused number:
    double
    float
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline void _load(
    const number* first, int64_t stride, const int64_t* rows, int64_t start, int64_t n,
    double* values_out,
) noexcept nogil:
    """`load_values` of one type; ``first``: the address of value 0, ``stride``: in bytes."""
    cdef int64_t i
    if rows != NULL:
        for i in range(n):
            values_out[i] = (<const number*> (<const char*> first + rows[start + i] * stride))[0]
    elif stride == <int64_t> sizeof(number):
        for i in range(n):
            values_out[i] = first[start + i]
    else:
        for i in range(n):
            values_out[i] = (<const number*> (<const char*> first + (start + i) * stride))[0]


cdef inline void load_values(
    uint64_t address, int64_t stride, uint8_t kind, const int64_t* rows, int64_t start,
    int64_t n, double* values_out,
) noexcept nogil:
    """Read values start, ..., start + n - 1 of an array as float64.

    With ``rows`` the i-th value is the one numbered ``rows[i]``; NULL means all. ``address``,
    ``stride``, ``kind``: see the top of this file.
    """
    if kind == FLOAT64:
        _load(<const double*> address, stride, rows, start, n, values_out)
    elif kind == FLOAT32:
        _load(<const float*> address, stride, rows, start, n, values_out)
    elif kind == INT8:
        _load(<const int8_t*> address, stride, rows, start, n, values_out)
    elif kind == INT16:
        _load(<const int16_t*> address, stride, rows, start, n, values_out)
    elif kind == INT32:
        _load(<const int32_t*> address, stride, rows, start, n, values_out)
    elif kind == INT64:
        _load(<const int64_t*> address, stride, rows, start, n, values_out)
    elif kind == UINT8:
        _load(<const uint8_t*> address, stride, rows, start, n, values_out)
    elif kind == UINT16:
        _load(<const uint16_t*> address, stride, rows, start, n, values_out)
    elif kind == UINT32:
        _load(<const uint32_t*> address, stride, rows, start, n, values_out)
    elif kind == UINT64:
        _load(<const uint64_t*> address, stride, rows, start, n, values_out)


# The columns of a `skgoss.columns.columns.Columns`.
cdef struct InputColumns:
    const uint64_t* address
    const int64_t* stride
    const uint8_t* kind
    const uint64_t* index       # NULL: no column is sparse; 0: this column is dense
    const int64_t* length
    int64_t n_rows


cdef InputColumns read_columns(object columns)


cdef inline bint is_sparse(const InputColumns* inputs, Py_ssize_t column) noexcept nogil:
    """Whether only some rows of a column have a stored value; the others hold zero."""
    return inputs.index != NULL and inputs.index[column] != 0


cdef inline void load_rows(
    const InputColumns* inputs, Py_ssize_t column, int64_t start, int64_t n, int32_t* rows_out,
) noexcept nogil:
    """Read the numbers of a sparse column's stored rows, limited to the rows that exist.

    They were checked, but they are in memory of the user, which may change, and index arrays.
    """
    cdef const uint32_t* index = <const uint32_t*> inputs.index[column] + start
    cdef uint32_t last = <uint32_t> (inputs.n_rows - 1)
    cdef int64_t i
    for i in range(n):
        rows_out[i] = <int32_t> (index[i] if index[i] < last else last)


cdef inline void load_sparse(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows, int64_t start,
    int64_t n, double* values_out,
) noexcept nogil:
    """`load_block` of a sparse column.

    Its stored rows and the rows to read both ascend, and are merged.
    """
    cdef const int32_t* index = <const int32_t*> inputs.index[column]
    cdef int64_t length = inputs.length[column]
    cdef int64_t at = first_from(index, length, rows[start] if rows != NULL else start)
    cdef int64_t i, row
    for i in range(n):
        row = rows[start + i] if rows != NULL else start + i
        while at < length and index[at] < row:
            at += 1
        values_out[i] = 0.0
        if at < length and index[at] == row:
            load_values(
                inputs.address[column], inputs.stride[column], inputs.kind[column], NULL, at, 1,
                values_out + i)


cdef inline void load_block(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows, int64_t start,
    int64_t n, double* values_out,
) noexcept nogil:
    """Read values start, ..., start + n - 1 of a column as float64.

    With ``rows``, ascending, the i-th value is that of row ``rows[i]``; NULL means all rows.
    """
    if is_sparse(inputs, column):
        load_sparse(inputs, column, rows, start, n, values_out)
    else:
        load_values(
            inputs.address[column], inputs.stride[column], inputs.kind[column], rows, start, n,
            values_out)
