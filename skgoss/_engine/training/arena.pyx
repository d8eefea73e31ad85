"""Memory that is freed together."""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np

from skgoss._engine.threads cimport parallel_for


cdef struct AllocationLoop:
    Allocation** allocations  # one for each thread
    size_t size


cdef void allocate_one(void* context, Py_ssize_t i, Py_ssize_t end, int thread) noexcept nogil:
    cdef AllocationLoop* loop = <AllocationLoop*>context
    loop.allocations[i] = <Allocation*>calloc(loop.size, 1)


cdef class Arena:
    """Memory that lives as long as this object does, and arrays that do."""

    def __cinit__(self):
        self.arrays = []

    def __dealloc__(self):
        cdef Allocation* allocation
        while self.allocations != NULL:
            allocation = self.allocations
            self.allocations = allocation.previous
            free(allocation)

    cdef void* allocate(self, size_t size) except NULL:
        """Memory of zeros."""
        return self._kept(<Allocation*>calloc(sizeof(Allocation) + size + 64, 1), size)

    cdef void* _kept(self, Allocation* allocation, size_t size) except NULL:
        if allocation == NULL:
            raise MemoryError(f"could not allocate {size} bytes for growing trees")
        allocation.previous = self.allocations
        self.allocations = allocation
        return allocation + 1

    cdef char** allocate_by_thread(self, size_t size, int n_threads) except NULL:
        """Memory of zeros for each thread; the threads ask for it, as zeros take time."""
        cdef char** out = <char**>self.allocate(n_threads * sizeof(char*))
        cdef AllocationLoop loop = AllocationLoop(
            <Allocation**>out, sizeof(Allocation) + size + 64)
        cdef bint is_complete = True
        cdef int i
        with nogil:
            parallel_for(allocate_one, &loop, n_threads, 1, n_threads)
        for i in range(n_threads):
            if loop.allocations[i] == NULL:
                is_complete = False
            else:
                out[i] = <char*>self._kept(loop.allocations[i], size)
        if not is_complete:
            self._kept(NULL, n_threads * size)
        return out

    cdef const void* address(self, array, dtype) except? NULL:
        """Where an array's values lie; a copy's if it has other types or gaps."""
        array = np.ascontiguousarray(array, dtype=dtype)
        self.arrays.append(array)
        return <const void*><uintptr_t>array.__array_interface__["data"][0]

    cdef void* room(self, size_t size, dtype) except? NULL:
        """Memory for a number of values, not zeroed."""
        return <void*>self.address(np.empty(size, dtype=dtype), dtype)
