from libc.stdint cimport int64_t


cdef struct Allocation:
    # The head of an allocation, in front of the memory.
    Allocation* previous
    int64_t padding           # keeps the alignment of `calloc`


cdef inline size_t whole_lines(size_t size) noexcept nogil:
    """A size, rounded up to whole cache lines."""
    return (size + 63) // 64 * 64


cdef class Arena:
    cdef Allocation* allocations  # the newest
    cdef object arrays        # kept alive, because structs contain their addresses

    cdef void* allocate(self, size_t size) except NULL
    cdef void* _kept(self, Allocation* allocation, size_t size) except NULL
    cdef char** allocate_by_thread(self, size_t size, int n_threads) except NULL
    cdef const void* address(self, array, dtype) except? NULL
    cdef void* buffer(self, size_t size, dtype) except? NULL
