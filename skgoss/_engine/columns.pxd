# cython: language_level=3
"""How a kernel reads one column of the input, whatever holds it.

A column is (address, stride, kind): where its first value lies, how many bytes lie
between two values, and what the values are.
"""

from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

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
    const number* first,
    int64_t stride,
    const int64_t* rows,
    int64_t start,
    int64_t n,
    double* values_out,
) noexcept nogil:
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


cdef inline void load_block(
    uint64_t address,
    int64_t stride,
    uint8_t kind,
    const int64_t* rows,
    int64_t start,
    int64_t n,
    double* values_out,
) noexcept nogil:
    """Read values start, ..., start + n - 1 of a column as float64.

    With ``rows`` the i-th value is that of row ``rows[i]``; NULL means all rows.
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
