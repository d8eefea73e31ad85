# cython: language_level=3
"""The kinds of columns the kernels read in place."""

#: Code of each dtype that needs no conversion, by the dtype's name.
KINDS = {
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


def to_float64(
    const uint64_t[::1] address,
    const int64_t[::1] stride,
    const uint8_t[::1] kind,
    double[:, ::1] values_out,
) -> None:
    """Write every column, as float64, into one row of ``values_out`` each."""
    cdef Py_ssize_t j
    with nogil:
        for j in range(values_out.shape[0]):
            load_block(
                address[j], stride[j], kind[j], NULL, 0, values_out.shape[1], &values_out[j, 0]
            )
