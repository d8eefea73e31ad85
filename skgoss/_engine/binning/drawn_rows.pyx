"""Rows drawn at random, each at most once.

The result is that of NumPy's `Generator.choice` without replacement, from the same random bits, in
a fifth to a half of its time. A change of the rows would change the bins of large data sets.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

cdef extern from "simd.h" nogil:
    void prefetch(const void* address, bint far)

cdef enum:
    # Of more than MAX_UNSHUFFLED rows, `choice` draws by a shuffle if it draws more than one in
    # SHUFFLED.
    MAX_UNSHUFFLED = 10000
    SHUFFLED = 20
    AHEAD = 64                # random numbers that are drawn, and their rows prefetched, at a time

cdef struct BitGenerator:
    # The first members of NumPy's `bitgen_t`.
    void* state
    uint64_t (*next_uint64)(void*) noexcept nogil
    uint32_t (*next_uint32)(void*) noexcept nogil


cdef inline uint32_t up_to(const BitGenerator* bits, uint32_t most) noexcept nogil:
    """An integer from 0 to ``most`` (Lemire, 2019, "Fast random integer generation in an
    interval", algorithm 5).
    """
    cdef uint32_t n = most + 1
    cdef uint32_t threshold
    cdef uint64_t product = <uint64_t>bits.next_uint32(bits.state) * n
    if <uint32_t>product < n:
        threshold = (<uint32_t>0 - n) % n
        while <uint32_t>product < threshold:
            product = <uint64_t>bits.next_uint32(bits.state) * n
    return product >> 32


cdef void shuffle_last(
    const BitGenerator* bits, uint32_t n, uint32_t size, uint32_t* rows, uint8_t* is_drawn_out,
) noexcept nogil:
    """Mark the last ``size`` of n rows after a shuffle (Durstenfeld, 1964, algorithm 235).

    The shuffle swaps the last row with one of all rows, then the last but one with one of those
    before, and so on. Only rows that are drawn are needed, so it ends after ``size`` swaps, and the
    row that moves to the end is not written.

    - ``rows``, (n,): work space.
    - ``is_drawn_out``, (n,): zeros; set to 1 for the rows that are drawn.
    """
    cdef uint32_t[AHEAD] drawn
    cdef uint32_t left = size
    cdef uint32_t last = n - 1
    cdef uint32_t i, k, n_drawn
    for i in range(n):
        rows[i] = i
    while left > 0:
        n_drawn = min(left, <uint32_t>AHEAD)
        for k in range(n_drawn):
            drawn[k] = up_to(bits, last - k)
            prefetch(&rows[drawn[k]], False)
        for k in range(n_drawn):
            is_drawn_out[rows[drawn[k]]] = True
            rows[drawn[k]] = rows[last - k]
        last -= n_drawn
        left -= n_drawn


def drawn_rows(
    bit_generator: np.random.BitGenerator, uint32_t n, uint32_t size,
) -> NDArray[np.int64]:
    """The ascending numbers of ``size`` < n rows, drawn from n rows: (size,), int64.

    ``bit_generator``: one of NumPy, which no other thread may use meanwhile.
    """
    cdef const BitGenerator* bits = <const BitGenerator*>PyCapsule_GetPointer(
        bit_generator.capsule, "BitGenerator")
    cdef uint32_t* rows
    cdef uint8_t[::1] is_drawn_out
    if n <= MAX_UNSHUFFLED or size <= n // SHUFFLED:
        drawn = np.random.Generator(bit_generator).choice(n, size, replace=False, shuffle=False)
        return np.sort(drawn)
    is_drawn = np.zeros(n, dtype=np.bool_)
    is_drawn_out = is_drawn.view(np.uint8)
    rows = <uint32_t*>malloc(n * sizeof(uint32_t))
    if rows == NULL:
        raise MemoryError("could not allocate memory for drawing rows")
    with nogil:
        shuffle_last(bits, n, size, rows, &is_drawn_out[0])
    free(rows)
    return np.flatnonzero(is_drawn)
