from libc.stdint cimport uint8_t, uint64_t

from skgoss._engine.store cimport BinColumn


cdef void partition(
    const BinColumn* column, const uint64_t* words, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, Py_ssize_t n_left, int n_threads, uint8_t* mask,
    uint64_t* words_out,
) noexcept nogil
