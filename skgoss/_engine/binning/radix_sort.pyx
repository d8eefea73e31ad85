# cython: language_level=3
"""A radix sort of numbers, which takes their weights along."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

cdef enum:
    SMALL_RADIX_BITS = 8
    RADIX_BITS = 11
    # One histogram of digits a pass: 8 x 256 or 6 x 2048.
    RADIX_COUNTERS = 6 * 2048
    # Below this many values the short histograms are cheaper than the fewer passes.
    SMALL_SORT = 4096
    # Keys are sorted by about so many of their highest bits first: few share them and differ.
    SORTED_BITS = 32


cdef bint count_digits(
    const uint64_t* key, int64_t n, int bits, int n_passes, uint32_t* counters_out
) noexcept nogil:
    """Count every digit of every pass in one sweep; false if the keys are sorted."""
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef uint64_t previous = 0
    cdef uint64_t disorder = 0
    cdef int64_t i
    cdef int digit
    memset(counters_out, 0, (n_passes << bits) * sizeof(uint32_t))
    for i in range(n):
        disorder |= key[i] < previous
        previous = key[i]
        for digit in range(n_passes):
            counters_out[(digit << bits) + ((previous >> (digit * bits)) & mask)] += 1
    return disorder != 0


cdef int first_digit(const uint32_t* counters, int64_t n, int bits, int n_passes) noexcept nogil:
    """The lowest of those digits that sort keys of ``SORTED_BITS`` bits."""
    cdef int digit = n_passes
    cdef int n_left = (SORTED_BITS + bits - 1) // bits
    while digit > 0 and n_left > 0:
        digit -= 1
        n_left -= not is_shared(counters + (digit << bits), n, bits)
    return digit


cdef bint is_shared(const uint32_t* counter, int64_t n, int bits) noexcept nogil:
    """Whether all keys share the digit."""
    cdef int64_t digit
    for digit in range(<int64_t> 1 << bits):
        if counter[digit] > 0:
            return counter[digit] == n
    return True


cdef void sort_by_digit(
    SortScratch* scratch, int64_t n, bint weighted, int bits, int digit, uint32_t* counter,
) noexcept nogil:
    """Stable sort of the keys by one of their digits, given how many have each."""
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef uint32_t start = 0
    cdef uint32_t count, value
    cdef int64_t i
    for i in range(<int64_t> 1 << bits):
        count = counter[i]
        counter[i] = start
        start += count
    for i in range(n):
        value = (scratch.key[i] >> (digit * bits)) & mask
        scratch.key_swap[counter[value]] = scratch.key[i]
        if weighted:
            scratch.mass_swap[counter[value]] = scratch.mass[i]
        counter[value] += 1
    scratch.key, scratch.key_swap = scratch.key_swap, scratch.key
    scratch.mass, scratch.mass_swap = scratch.mass_swap, scratch.mass


cdef bint insert_keys(SortScratch* scratch, int64_t n, bint weighted) noexcept nogil:
    """Stable insertion sort; false if it gave up, after as many moves as there are keys."""
    cdef int64_t n_moves = 0
    cdef int64_t i, at
    cdef uint64_t key
    cdef double mass = 0.0
    for i in range(1, n):
        if scratch.key[i - 1] <= scratch.key[i]:
            continue
        key = scratch.key[i]
        if weighted:
            mass = scratch.mass[i]
        at = i
        while at > 0 and scratch.key[at - 1] > key:
            scratch.key[at] = scratch.key[at - 1]
            if weighted:
                scratch.mass[at] = scratch.mass[at - 1]
            at -= 1
        scratch.key[at] = key
        if weighted:
            scratch.mass[at] = mass
        n_moves += i - at
        if n_moves > n:
            return False
    return True


cdef void sort_keys(SortScratch* scratch, int64_t n, bint weighted) noexcept nogil:
    """Stable sort of the keys, which takes their masses along.

    A radix sort by the highest digits leaves few keys out of order, for an insertion sort. If
    they are many, it sorts by all digits.
    """
    cdef uint32_t[RADIX_COUNTERS] counters
    cdef int bits = SMALL_RADIX_BITS if n < SMALL_SORT else RADIX_BITS
    cdef int n_passes = (64 + bits - 1) // bits
    cdef int first = -1
    cdef int digit
    while first != 0 and count_digits(scratch.key, n, bits, n_passes, counters):
        first = 0 if first > 0 else first_digit(counters, n, bits, n_passes)
        for digit in range(first, n_passes):
            if not is_shared(&counters[digit << bits], n, bits):
                sort_by_digit(scratch, n, weighted, bits, digit, &counters[digit << bits])
        if first > 0 and insert_keys(scratch, n, weighted):
            return
