"""Memory that is freed together."""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np

from skgoss._engine.threads cimport parallel_for


cdef struct AllocateLoop:
    Allocation** allocations  # one for each thread
    size_t size


cdef void allocate_body(void* context, Py_ssize_t i, Py_ssize_t end, int thread) noexcept nogil:
    """Allocate zeroed memory for thread i; NULL if there is none."""
    cdef AllocateLoop* loop = <AllocateLoop*>context
    loop.allocations[i] = <Allocation*>calloc(loop.size, 1)


cdef class Arena:
    """Owns memory and arrays, and frees them all when it ends."""

    def __cinit__(self):
        self.arrays = []

    def __dealloc__(self):
        cdef Allocation* allocation
        while self.allocations != NULL:
            allocation = self.allocations
            self.allocations = allocation.previous
            free(allocation)

    cdef void* allocate(self, size_t size) except NULL:
        """``size`` bytes of zeroed memory, which the arena frees; MemoryError if there is none."""
        return self._kept(<Allocation*>calloc(sizeof(Allocation) + size + 64, 1), size)

    cdef void* _kept(self, Allocation* allocation, size_t size) except NULL:
        """The memory of an allocation, which is kept; MemoryError if it is NULL."""
        if allocation == NULL:
            raise MemoryError(f"could not allocate {size} bytes for growing trees")
        allocation.previous = self.allocations
        self.allocations = allocation
        return allocation + 1

    cdef char** allocate_by_thread(self, size_t size, int n_threads) except NULL:
        """Zeroed memory for each thread, allocated by all threads because zeroing takes time."""
        cdef char** out = <char**>self.allocate(n_threads * sizeof(char*))
        cdef AllocateLoop loop = AllocateLoop(
            <Allocation**>out, sizeof(Allocation) + size + 64)
        cdef bint is_complete = True
        cdef int i
        with nogil:
            parallel_for(allocate_body, &loop, n_threads, 1, n_threads)
        for i in range(n_threads):
            if loop.allocations[i] == NULL:
                is_complete = False
            else:
                out[i] = <char*>self._kept(loop.allocations[i], size)
        if not is_complete:
            self._kept(NULL, n_threads * size)
        return out

    cdef const void* address(self, array, dtype) except? NULL:
        """The address of an array's values, copied if they have another type or gaps."""
        array = np.ascontiguousarray(array, dtype=dtype)
        self.arrays.append(array)
        return <const void*><uintptr_t>array.__array_interface__["data"][0]

    cdef void* buffer(self, size_t size, dtype) except? NULL:
        """Memory for ``size`` values of a dtype, not zeroed."""
        return <void*>self.address(np.empty(size, dtype=dtype), dtype)
