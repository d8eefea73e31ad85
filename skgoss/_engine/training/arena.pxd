from libc.stdint cimport int64_t


cdef struct Allocation:
    # The memory that was asked for follows.
    Allocation* previous
    int64_t padding           # what follows is aligned as `calloc` does


cdef inline size_t in_lines(size_t size) noexcept nogil:
    """A size, rounded up to whole lines of the cache."""
    return (size + 63) // 64 * 64


cdef class Arena:
    cdef Allocation* allocations  # the newest
    cdef object arrays        # of which something has an address

    cdef void* allocate(self, size_t size) except NULL
    cdef void* _kept(self, Allocation* allocation, size_t size) except NULL
    cdef char** allocate_by_thread(self, size_t size, int n_threads) except NULL
    cdef const void* address(self, array, dtype) except? NULL
    cdef void* room(self, size_t size, dtype) except? NULL
