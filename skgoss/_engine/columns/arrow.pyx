"""Columns of data frames that Arrow's C stream interface exports.

The interface: https://arrow.apache.org/docs/format/CStreamInterface.html and
https://arrow.apache.org/docs/format/CDataInterface.html.
"""

from cpython.bytearray cimport PyByteArray_AsString, PyByteArray_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, strchr, strcmp

from skgoss._engine.columns.column_kernels cimport FLOAT64, UINT8, load_values

# ArrowSchema, ArrowArray and ArrowArrayStream of these interfaces: the type of a column, its
# values, and a sequence of arrays of one type. An object that is released, or at its end, has
# `release` NULL.
cdef struct Schema:
    const char* format
    const char* name
    const char* metadata
    int64_t flags
    int64_t n_children
    Schema** children
    Schema* dictionary
    void (*release)(Schema*) noexcept
    void* private_data

cdef struct Array:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void** buffers
    Array** children
    Array* dictionary
    void (*release)(Array*) noexcept
    void* private_data

cdef struct Stream:
    int (*get_schema)(Stream*, Schema*) noexcept
    int (*get_next)(Stream*, Array*) noexcept
    const char* (*get_last_error)(Stream*) noexcept
    void (*release)(Stream*) noexcept
    void* private_data

# The formats of numbers in the order of their kinds, and of booleans, which are bits.
cdef const char* FORMATS = "gfcsilCSILb"
cdef enum:
    BOOLEAN = 10
    OTHER = 255

# The bytes of a number of each kind; a boolean is copied to a byte.
cdef int64_t[11] SIZES
SIZES[:] = [8, 4, 1, 2, 4, 8, 1, 2, 4, 8, 1]


cdef bint _is_extension(const char* metadata) noexcept nogil:
    """Whether metadata name an extension type: the numbers encode values of another type.

    Metadata are the number of pairs, then keys and values, each after its length in 32 bits.
    """
    cdef const char* key = "ARROW:extension:name"
    cdef int32_t n_pairs, length, text
    if metadata == NULL:
        return False
    memcpy(&n_pairs, metadata, 4)
    metadata += 4
    # Keys and values alternate, each after its length.
    for text in range(2 * n_pairs):
        memcpy(&length, metadata, 4)
        metadata += 4
        if text % 2 == 0 and length == 20 and memcmp(metadata, key, 20) == 0:
            return True
        metadata += length
    return False


cdef uint8_t _kind(const Schema* column) noexcept nogil:
    """The kind of a column's numbers: see ``column_kernels.pxd``, or BOOLEAN.

    OTHER: kernels cannot read them.
    """
    cdef const char* format = column.format
    cdef const char* known = NULL
    if format[0] != 0 and format[1] == 0 and column.dictionary == NULL:
        known = strchr(FORMATS, format[0])
    if known == NULL or _is_extension(column.metadata):
        return OTHER
    return <uint8_t> (known - FORMATS)


cdef bint _is_set(const uint8_t* bits, int64_t i) noexcept nogil:
    """Whether bit i of a bitset is set: a boolean, or whether a value is not null."""
    return bits[i >> 3] >> (i & 7) & 1


cdef bint _has_nulls(const Array* array) noexcept nogil:
    """Whether values may be null: buffer 0 is the bitset of those that are not."""
    return array.null_count != 0 and array.buffers[0] != NULL


cdef void _copy(const Array* array, uint8_t kind, bint as_float, char* out) noexcept nogil:
    """Copy the values of an array of a kind, one after the other.

    ``as_float``: to float64, with NaN in place of nulls; otherwise they stay as they are, and
    booleans become bytes.
    """
    cdef int64_t i, n = array.length, at = array.offset
    cdef const uint8_t* valid = <const uint8_t*> array.buffers[0]
    cdef const uint8_t* values = <const uint8_t*> array.buffers[1]
    cdef double* floats = <double*> out
    if kind == BOOLEAN:
        for i in range(n):
            if as_float:
                floats[i] = _is_set(values, at + i)
            else:
                out[i] = _is_set(values, at + i)
    elif as_float:
        load_values(<uint64_t> values, SIZES[kind], kind, NULL, at, n, floats)
    else:
        memcpy(out, values + at * SIZES[kind], n * SIZES[kind])
    if as_float and _has_nulls(array):
        for i in range(n):
            if not _is_set(valid, at + i):
                floats[i] = NAN


cdef class Export:
    """The arrays that a data frame exports, and the names of its columns.

    It keeps the memory of the arrays alive.
    """

    cdef Schema _schema
    cdef Array* _arrays
    cdef Py_ssize_t _n_arrays
    cdef list _copies
    cdef readonly list names

    def __cinit__(self):
        self._schema.release = NULL
        self._arrays = NULL
        self._n_arrays = 0
        self._copies = []

    def __dealloc__(self):
        for i in range(self._n_arrays):
            self._arrays[i].release(&self._arrays[i])
        PyMem_Free(self._arrays)
        if self._schema.release != NULL:
            self._schema.release(&self._schema)

    cdef bint _read(self, Stream* stream) except -1:
        """Take all arrays of a stream; False if they are not those of a data frame."""
        cdef Array array
        if stream.get_schema(stream, &self._schema) != 0:
            self._schema.release = NULL
            return False
        if strcmp(self._schema.format, "+s") != 0:
            return False
        while True:
            if stream.get_next(stream, &array) != 0:
                return False
            if array.release == NULL:
                return True
            is_block = (
                array.offset == 0
                and array.n_children == self._schema.n_children
                and not _has_nulls(&array))
            self._append(array)
            if not is_block:
                return False

    cdef int _append(self, Array array) except -1:
        """Take an array over, unless it is empty."""
        cdef void* arrays
        if array.length == 0:
            array.release(&array)
            return 0
        arrays = PyMem_Realloc(self._arrays, (self._n_arrays + 1) * sizeof(Array))
        if arrays == NULL:
            array.release(&array)
            raise MemoryError
        self._arrays = <Array*> arrays
        self._arrays[self._n_arrays] = array
        self._n_arrays += 1
        return 0

    def locate(
        self, categorical, uint64_t[::1] address_out, int64_t[::1] stride_out,
        uint8_t[::1] kind_out,
    ) -> None:
        """Write the address, the stride and the kind of each column of numbers.

        Columns in several arrays, with nulls or of booleans are copied, unless they are in
        ``categorical``. Nothing is written for these and for columns of other values.
        """
        cdef uint8_t kind
        cdef Py_ssize_t j
        cdef const Array* array
        for j in range(kind_out.shape[0]):
            kind = _kind(self._schema.children[j])
            if kind == OTHER or not self._is_aligned(j, kind):
                continue
            array = self._arrays[0].children[j]
            if self._n_arrays > 1 or kind == BOOLEAN or _has_nulls(array):
                if not categorical or j not in categorical:
                    self._gather(j, kind, &address_out[j], &stride_out[j], &kind_out[j])
            else:
                kind_out[j] = kind
                stride_out[j] = SIZES[kind]
                address_out[j] = <uint64_t> array.buffers[1] + array.offset * stride_out[j]

    cdef bint _is_aligned(self, Py_ssize_t column, uint8_t kind) noexcept:
        """Whether the numbers of a column lie at multiples of their size."""
        for i in range(self._n_arrays):
            if <uint64_t> self._arrays[i].children[column].buffers[1] % SIZES[kind] != 0:
                return False
        return True

    cdef int _gather(
        self, Py_ssize_t column, uint8_t kind, uint64_t* address_out, int64_t* stride_out,
        uint8_t* kind_out,
    ) except -1:
        """Copy the values of a column into one piece of memory.

        ``kind``: of the values in the arrays, BOOLEAN or a kind of numbers. With nulls, which
        become NaN, the copies are float64; bits become bytes. ``kind_out``: of the copies.
        """
        cdef const Array* array
        cdef bint as_float = False
        cdef int64_t n_rows = 0
        cdef Py_ssize_t i
        for i in range(self._n_arrays):
            n_rows += self._arrays[i].length
            as_float = as_float or _has_nulls(self._arrays[i].children[column])
        kind_out[0] = FLOAT64 if as_float else UINT8 if kind == BOOLEAN else kind
        stride_out[0] = SIZES[kind_out[0]]
        copied = PyByteArray_FromStringAndSize(NULL, n_rows * stride_out[0])
        self._copies.append(copied)
        cdef char* values_out = PyByteArray_AsString(copied)
        address_out[0] = <uint64_t> values_out
        with nogil:
            for i in range(self._n_arrays):
                array = self._arrays[i].children[column]
                _copy(array, kind, as_float, values_out)
                values_out += array.length * stride_out[0]
        return 0


def export(frame) -> Export | None:
    """The arrays of a frame; None if it does not export a data frame with rows.

    ``frame``: an object with the method ``__arrow_c_stream__``, such as a data frame of polars.
    """
    cdef Export exported = Export()
    if not hasattr(frame, "__arrow_c_stream__"):  # old versions of polars and pyarrow
        return None
    capsule = frame.__arrow_c_stream__()
    cdef Stream* stream = <Stream*> PyCapsule_GetPointer(capsule, "arrow_array_stream")
    cdef bint is_frame = exported._read(stream)
    stream.release(stream)
    if not is_frame or exported._n_arrays == 0:
        return None
    exported.names = [
        exported._schema.children[j].name.decode() for j in range(exported._schema.n_children)]
    return exported
