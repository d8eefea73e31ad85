"""The stable two-way partition of a node's rows."""

from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint16_t, uint64_t

from skgoss._engine.layout cimport Binned

cdef extern from "partition.h" nogil:
    Py_ssize_t decide_bytes(
        const uint64_t* words, Py_ssize_t n, uint64_t id_mask, const uint8_t* column,
        const uint8_t* goes_left, uint8_t* mask_out)
    Py_ssize_t decide_shorts(
        const uint64_t* words, Py_ssize_t n, uint64_t id_mask, const uint16_t* column,
        const uint8_t* goes_left, uint8_t* mask_out)
    void move_words(
        const uint64_t* words, Py_ssize_t n, Py_ssize_t n_left, const uint8_t* mask,
        uint64_t* left_out, uint64_t* right_out)

cdef enum:
    MAX_CHUNKS = 256


cdef Py_ssize_t decide(
    const Binned* data, const uint64_t* words, Py_ssize_t n, uint64_t id_mask,
    int feature, const uint8_t* goes_left, uint8_t* mask_out,
) noexcept nogil:
    if data.bin_bytes == 1:
        return decide_bytes(
            words, n, id_mask, data.columns + feature * data.n_rows, goes_left, mask_out)
    return decide_shorts(
        words, n, id_mask, <const uint16_t*>data.columns + feature * data.n_rows,
        goes_left, mask_out)


cdef void partition(
    const Binned* data, const uint64_t* words, Py_ssize_t n, uint64_t id_mask,
    int feature, const uint8_t* goes_left, Py_ssize_t n_left, int n_threads,
    uint8_t* mask, uint64_t* words_out,
) noexcept nogil:
    """Write the ``n_left`` words that go left, then the others, each side in its order.

    ``goes_left[b]`` is 1 for the bins of the left side. ``mask``: n / 8 bytes and one more
    for each thread.
    """
    cdef Py_ssize_t[MAX_CHUNKS] chunk_left
    cdef int n_chunks = min(n_threads, MAX_CHUNKS)
    cdef Py_ssize_t size = (n // n_chunks + 8) // 8 * 8
    cdef Py_ssize_t first, m, left_before
    cdef int chunk
    if n_chunks == 1:
        decide(data, words, n, id_mask, feature, goes_left, mask)
        move_words(words, n, n_left, mask, words_out, words_out + n_left)
        return
    for chunk in prange(n_chunks, num_threads=n_threads, schedule="static", chunksize=1):
        first = min(chunk * size, n)
        chunk_left[chunk] = decide(
            data, words + first, min(size, n - first), id_mask, feature, goes_left,
            mask + first // 8)
    left_before = 0
    for chunk in range(n_chunks):
        m = chunk_left[chunk]
        chunk_left[chunk] = left_before
        left_before = left_before + m
    for chunk in prange(n_chunks, num_threads=n_threads, schedule="static", chunksize=1):
        first = min(chunk * size, n)
        m = (chunk_left[chunk + 1] if chunk + 1 < n_chunks else n_left) - chunk_left[chunk]
        move_words(
            words + first, min(size, n - first), m, mask + first // 8,
            words_out + chunk_left[chunk],
            words_out + n_left + first - chunk_left[chunk])
