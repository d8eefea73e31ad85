"""A radix sort of numbers and their weights."""

from libc.stdint cimport UINT64_MAX, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from skgoss._engine.bits cimport bit_length

cdef enum:
    SMALL_RADIX_BITS = 8
    RADIX_BITS = 11
    # One histogram of digits a pass: 8 x 256 or 6 x 2048.
    RADIX_COUNTERS = 6 * 2048
    # For fewer values, smaller histograms of digits save more than fewer passes.
    SMALL_SORT = 4096
    # The number of highest digits by which keys are sorted first: few keys are equal in these.
    FIRST_DIGITS = 2


cdef struct Fold:
    # Keys are folded to fewer bits: the keys of negative values begin at 0, and the others
    # follow them without a gap. `negative` and `positive` are subtracted from the keys of each
    # sign, and `n_bits` is the bit length of the largest result.
    uint64_t negative
    uint64_t positive
    int n_bits


cdef inline uint64_t folded(uint64_t key, Fold fold) noexcept nogil:
    """A key of fewer bits in the same order, by the fold of all keys: see `Fold`.

    The highest bit of a key is set if its value is not negative.
    """
    return key - (fold.positive if key >> 63 else fold.negative)


cdef bint find_fold(const uint64_t* key, int64_t n, Fold* fold_out) noexcept nogil:
    """Find the fold of n keys; False if they are sorted.

    The minimum and the maximum of the keys of each sign are found in one pass without branches. If
    no key is negative, ``max_negative`` stays 0, as no negative number has the key 0.
    """
    cdef uint64_t min_negative = UINT64_MAX, min_positive = UINT64_MAX
    cdef uint64_t max_negative = 0, greatest = 0
    cdef uint64_t previous = 0
    cdef uint64_t sign
    cdef bint disorder = False
    cdef int64_t i
    for i in range(n):
        disorder |= key[i] < previous
        previous = key[i]
        # All bits are set for a value that is not negative, none for a negative one.
        sign = 0 - (previous >> 63)
        min_negative = min(min_negative, previous | sign)
        min_positive = min(min_positive, previous | ~sign)
        max_negative = max(max_negative, previous & ~sign)
        greatest = max(greatest, previous)
    fold_out.negative = min_negative if max_negative > 0 else 0
    fold_out.positive = min_positive
    if max_negative > 0:
        fold_out.positive -= max_negative - min_negative + 1
    fold_out.n_bits = bit_length(folded(greatest, fold_out[0]))
    return disorder


cdef void count_digits(
    const uint64_t* key, int64_t n, Fold fold, int bits, int shift, int n_digits,
    uint32_t* counters_out,
) noexcept nogil:
    """Count how often each value of a digit occurs, for ``n_digits`` digits of the folded keys.

    A digit has ``bits`` bits; the lowest one begins at bit ``shift``. ``counters_out``, (n_digits,
    2**bits): zeroed first.
    """
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef uint64_t digits
    cdef int64_t i
    cdef int digit
    memset(counters_out, 0, (n_digits << bits) * sizeof(uint32_t))
    for i in range(n):
        digits = folded(key[i], fold) >> shift
        for digit in range(n_digits):
            counters_out[(digit << bits) + ((digits >> (digit * bits)) & mask)] += 1


cdef bint is_shared(const uint32_t* counter, int64_t n, int bits) noexcept nogil:
    """Whether all n keys share the digit, so that no sort by it is needed.

    ``counter``, (2**bits,): how often each value of the digit occurs.
    """
    cdef int64_t digit
    for digit in range(<int64_t> 1 << bits):
        if counter[digit] > 0:
            return counter[digit] == n
    return True


cdef void sort_by_digit(
    SortScratch* scratch, int64_t n, bint weighted, Fold fold, int bits, int shift,
    uint32_t* counter_inout,
) noexcept nogil:
    """Stable sort of the keys by one of their digits: a counting sort.

    - ``bits``, ``shift``: the digit's bits, and the first of them in the folded key.
    - ``counter_inout``, (2**bits,): how often each value of the digit occurs; overwritten by the
      places of the next keys.

    The sorted keys and masses are written to the swap arrays, which are then exchanged.
    """
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef uint32_t start = 0
    cdef uint32_t count, value
    cdef int64_t i
    for i in range(<int64_t> 1 << bits):
        count = counter_inout[i]
        counter_inout[i] = start
        start += count
    for i in range(n):
        value = (folded(scratch.key[i], fold) >> shift) & mask
        scratch.key_swap[counter_inout[value]] = scratch.key[i]
        if weighted:
            scratch.mass_swap[counter_inout[value]] = scratch.mass[i]
        counter_inout[value] += 1
    scratch.key, scratch.key_swap = scratch.key_swap, scratch.key
    scratch.mass, scratch.mass_swap = scratch.mass_swap, scratch.mass


cdef bint insert_keys(SortScratch* scratch, int64_t n, bint weighted) noexcept nogil:
    """Stable insertion sort; false if it gives up, after more moves than there are keys."""
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
    """Stable sort of the keys, and of their masses if ``weighted``.

    A radix sort by the highest digits leaves few keys out of order, which an insertion sort puts in
    order. If it gives up, one more digit is used, and then all digits.
    """
    cdef uint32_t[RADIX_COUNTERS] counters
    cdef int bits = SMALL_RADIX_BITS if n < SMALL_SORT else RADIX_BITS
    cdef Fold fold
    cdef int n_digits = FIRST_DIGITS
    cdef int n_all, shift, digit
    if not find_fold(scratch.key, n, &fold):
        return
    n_all = (fold.n_bits + bits - 1) // bits
    while True:
        n_digits = min(n_digits, n_all)
        shift = max(0, fold.n_bits - n_digits * bits)
        count_digits(scratch.key, n, fold, bits, shift, n_digits, counters)
        for digit in range(n_digits):
            if not is_shared(&counters[digit << bits], n, bits):
                sort_by_digit(
                    scratch, n, weighted, fold, bits, shift + digit * bits,
                    &counters[digit << bits])
        if shift == 0 or insert_keys(scratch, n, weighted):
            return
        n_digits = n_all if n_digits > FIRST_DIGITS else FIRST_DIGITS + 1
