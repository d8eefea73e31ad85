from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


cdef struct SortScratch:
    # Keys to sort and their weights, and as much work space. A sort may exchange the pointers.
    uint64_t* key             # from `ordered_key`
    uint64_t* key_swap
    double* mass              # not used if there are no weights
    double* mass_swap


cdef inline uint64_t ordered_key(double value) noexcept nogil:
    """An integer with the order of the value; those of neighboring floats differ by one."""
    cdef uint64_t bits
    memcpy(&bits, &value, sizeof(bits))
    # All bits of a negative value change, and only the sign of others.
    return bits ^ ((0 - (bits >> 63)) | (<uint64_t> 1 << 63))


cdef inline double value_of_key(uint64_t key) noexcept nogil:
    """The number whose `ordered_key` this is."""
    cdef uint64_t bits = key & ~(<uint64_t> 1 << 63) if key >> 63 else ~key
    cdef double value
    memcpy(&value, &bits, sizeof(value))
    return value


cdef void sort_keys(SortScratch* scratch, int64_t n, bint weighted) noexcept nogil
