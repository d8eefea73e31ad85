"""The stable two-way partition of a node's rows."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from skgoss._engine.data.store cimport BinColumn, bin_of_stored

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


cdef inline int64_t gallop_list(
    const uint32_t* rows, int64_t first, int64_t n, uint64_t row,
) noexcept nogil:
    """The first row of a list, from ``first`` on, that is not below ``row``."""
    cdef int64_t step = 1
    cdef int64_t low = first
    cdef int64_t high, middle
    while low + step < n and rows[low + step] < row:
        low = low + step
        step = 2 * step
    high = min(low + step, n)
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


cdef Py_ssize_t decide_list(
    const BinColumn* column, const uint64_t* words, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, uint8_t* mask_out,
) noexcept nogil:
    """All rows go where the implied bin goes, but for listed ones whose bin does not.

    Rows and list are both ascending: whichever is behind jumps ahead.
    """
    cdef bint others_left = goes_left[column.implied]
    cdef Py_ssize_t n_left = n if others_left else 0
    cdef Py_ssize_t i = 0
    cdef int64_t at = 0
    memset(mask_out, 255 if others_left else 0, (n + 7) // 8)
    while i < n and at < column.length:
        at = gallop_list(column.rows, at, column.length, words[i] & id_mask)
        if at == column.length:
            break
        i = gallop_words(words, i, n, id_mask, column.rows[at])
        if i < n and (words[i] & id_mask) == column.rows[at]:
            if goes_left[bin_of_stored(column, column.stored[at])] != others_left:
                mask_out[i // 8] ^= <uint8_t>(1 << (i % 8))
                n_left += -1 if others_left else 1
            i += 1
            at += 1
    return n_left


cdef Py_ssize_t decide(
    const BinColumn* column, const uint64_t* words, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, uint8_t* mask_out,
) noexcept nogil:
    if column.width == 1:
        return decide_bytes(
            words, n, id_mask, <const uint8_t*>column.codes, goes_left, mask_out)
    if column.width == 2:
        return decide_shorts(
            words, n, id_mask, <const uint16_t*>column.codes, goes_left, mask_out)
    return decide_list(column, words, n, id_mask, goes_left, mask_out)


cdef Py_ssize_t partition(
    const BinColumn* column, const uint64_t* words, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, int n_threads, uint8_t* mask, uint64_t* words_out,
) noexcept nogil:
    """Write the words that go left, then the others, each side in its order.

    Returns how many go left. ``goes_left`` is 1 for the codes of the left side, or for the
    bins where the column is a list. ``mask``: n / 8 bytes and one more for each thread.
    """
    cdef Py_ssize_t[MAX_CHUNKS] chunk_left
    cdef int n_chunks = min(n_threads, MAX_CHUNKS)
    cdef Py_ssize_t size = (n // n_chunks + 8) // 8 * 8
    cdef Py_ssize_t first, m, n_left
    cdef int chunk
    if n_chunks == 1:
        n_left = decide(column, words, n, id_mask, goes_left, mask)
        move_words(words, n, n_left, mask, words_out, words_out + n_left)
        return n_left
    for chunk in prange(n_chunks, num_threads=n_threads, schedule="static", chunksize=1):
        first = min(chunk * size, n)
        chunk_left[chunk] = decide(
            column, words + first, min(size, n - first), id_mask, goes_left,
            mask + first // 8)
    n_left = 0
    for chunk in range(n_chunks):
        m = chunk_left[chunk]
        chunk_left[chunk] = n_left
        n_left = n_left + m
    for chunk in prange(n_chunks, num_threads=n_threads, schedule="static", chunksize=1):
        first = min(chunk * size, n)
        m = (chunk_left[chunk + 1] if chunk + 1 < n_chunks else n_left) - chunk_left[chunk]
        move_words(
            words + first, min(size, n - first), m, mask + first // 8,
            words_out + chunk_left[chunk],
            words_out + n_left + first - chunk_left[chunk])
    return n_left
