"""The kinds of columns that kernels read in place, and where columns of arrays lie."""

from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer

#: Code of each dtype that needs no conversion, by the dtype's name.
KINDS: dict[str, int] = {
    "float64": FLOAT64,
    "float32": FLOAT32,
    "int8": INT8,
    "int16": INT16,
    "int32": INT32,
    "int64": INT64,
    "uint8": UINT8,
    "uint16": UINT16,
    "uint32": UINT32,
    "uint64": UINT64,
    "bool": UINT8,
}


cdef InputColumns read_columns(object columns):
    """The columns of a `skgoss.columns.columns.Columns`, which must outlive them."""
    cdef InputColumns inputs
    cdef const uint64_t[::1] address = columns.address
    cdef const int64_t[::1] stride = columns.stride
    cdef const uint8_t[::1] kind = columns.kind
    cdef const uint64_t[::1] index = columns.index
    cdef const int64_t[::1] length = columns.length
    inputs.address = &address[0]
    inputs.stride = &stride[0]
    inputs.kind = &kind[0]
    inputs.index = NULL if index is None else &index[0]
    inputs.length = NULL if length is None else &length[0]
    inputs.n_rows = columns.n_rows
    return inputs


def locate_all(
    matrix: NDArray[Any], int number, uint64_t[::1] address_out, int64_t[::1] stride_out,
    uint8_t[::1] kind_out,
) -> None:
    """Write the address, the stride and the kind of all columns of a matrix.

    ``number``: the code of its dtype, a value of ``KINDS``.
    """
    cdef Py_buffer buffer
    cdef Py_ssize_t j
    PyObject_GetBuffer(matrix, &buffer, PyBUF_STRIDES)
    for j in range(address_out.shape[0]):
        address_out[j] = <uint64_t> buffer.buf + j * buffer.strides[1]
        stride_out[j] = buffer.strides[0]
        kind_out[j] = number
    PyBuffer_Release(&buffer)


def locate_appended(
    columns, const double[:, ::1] values, uint64_t[::1] address_out, int64_t[::1] stride_out,
    uint8_t[::1] kind_out,
) -> None:
    """Write where columns lie, and after them those in the rows of a matrix.

    ``columns``, `Columns`; ``values``, (n_more, n_rows).
    """
    cdef const uint64_t[::1] address = columns.address
    cdef const int64_t[::1] stride = columns.stride
    cdef const uint8_t[::1] kind = columns.kind
    cdef Py_ssize_t n = address.shape[0]
    cdef Py_ssize_t j
    for j in range(n):
        address_out[j] = address[j]
        stride_out[j] = stride[j]
        kind_out[j] = kind[j]
    for j in range(values.shape[0]):
        address_out[n + j] = <uint64_t> &values[0, 0] + j * values.strides[0]
        stride_out[n + j] = sizeof(double)
        kind_out[n + j] = FLOAT64


def to_float64(columns, double[:, ::1] values_out, const int64_t[::1] numbers=None) -> None:
    """Write every column, as float64, into one row of ``values_out`` each.

    ``numbers``, ascending, are those of the rows to write; None: all rows.
    """
    cdef InputColumns inputs = read_columns(columns)
    cdef const int64_t* rows = NULL
    cdef Py_ssize_t j
    if numbers is not None and numbers.shape[0]:
        rows = &numbers[0]
    with nogil:
        for j in range(values_out.shape[0]):
            load_block(&inputs, j, rows, 0, values_out.shape[1], &values_out[j, 0])


def locate(
    list blocks, uint64_t[::1] address_out, int64_t[::1] stride_out, uint8_t[::1] kind_out
) -> None:
    """Write the address, the stride and the kind of the columns of matrices.

    - ``blocks``, list of tuples: of each matrix of shape (n_rows, n): the numbers of its n columns,
      as an array of int64; the matrix; and the code of its dtype.
    """
    cdef const int64_t[::1] numbers
    cdef Py_buffer matrix
    cdef Py_ssize_t i
    for numbers, values, kind in blocks:
        PyObject_GetBuffer(values, &matrix, PyBUF_STRIDES)
        for i in range(numbers.shape[0]):
            address_out[numbers[i]] = <uint64_t> matrix.buf + i * matrix.strides[1]
            stride_out[numbers[i]] = matrix.strides[0]
            kind_out[numbers[i]] = kind
        PyBuffer_Release(&matrix)
