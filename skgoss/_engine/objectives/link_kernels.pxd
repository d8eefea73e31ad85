from libc.stdint cimport int64_t

cdef enum:
    # Rows a block: scores, targets and results of one block fit the level 1 cache.
    BLOCK = 1024
    # Below this many rows (times classes) starting a thread team costs more than it saves.
    MIN_ROWS_FOR_TEAM = 20000


cdef int64_t softmax_block(int64_t n_classes) noexcept nogil

cdef dict numbers_of(const char* const* names)
