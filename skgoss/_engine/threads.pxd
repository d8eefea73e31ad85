"""Loops on several threads."""

# The iterations of one block, from `begin` to `end`. `thread` is below the number of threads of the
# loop, and no two blocks that run at the same time have it: memory of a thread is found by it.
ctypedef void (*LoopBody)(
    void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil


cdef void parallel_for(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
) noexcept nogil

cdef void parallel_shares(
    LoopBody body, void* context, Py_ssize_t n, Py_ssize_t block, int n_threads,
) noexcept nogil
