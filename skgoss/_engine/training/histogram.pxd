from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Sums

cdef extern from "histogram.h" nogil:
    void prefetch(const void* address)


cdef enum:
    FOLD_ROOM = 256         # digits of a shared lane, at the end of the accumulators


cdef struct Turn:
    # Threads add their sums to a histogram one after the other.
    int64_t lock
    bint is_begun           # the histogram has sums


cdef void accumulate(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* out,
) noexcept nogil

cdef void accumulate_in_turn(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* own, Turn* turn, Histogram* out,
) noexcept nogil

cdef void add_places(
    const Encoding* encoding, int64_t first, int64_t last, int sign, const Histogram* part,
    Histogram* out,
) noexcept nogil

cdef void subtract_places(
    const Encoding* part_code, const Encoding* before, const Encoding* after, int64_t first,
    int64_t last, const Histogram* part, Histogram* out,
) noexcept nogil

cdef void add_few_rows(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int sign, Histogram* out, uint8_t* seen, int32_t* touched,
    int* n_touched,
) noexcept nogil

cdef Sums sum_records(
    const Encoding* encoding, const uint64_t* records, Py_ssize_t n, const int64_t* pairs,
) noexcept nogil
