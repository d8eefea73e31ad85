from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t

cdef enum:
    # The number of values that are searched together, which hides the latency of each search.
    SEARCH_WIDTH = 8


ctypedef fused bin_t:
    uint8_t
    uint16_t


cdef struct Grid:
    # Buckets of equal width: that of x is (x - origin) * scale, at least 0 and at most `last`.
    # Within a bucket, a binary search finds the bin.
    double origin
    double scale
    double last
    # Steps of the search within a bucket.
    int32_t n_steps


cdef struct Plan:
    # The bounds and grids of all columns: see `BinSearch`.
    const double* bounds
    const int64_t* bounds_start
    Grid* grid
    const int64_t* first_start
    uint16_t* first           # of each bucket: the number of bounds in lower buckets
    const int32_t* nan_bin
    const int32_t* zero_bin


cdef class BinSearch:
    cdef Plan plan
    cdef object arrays


cdef inline int64_t bucket_of(double value, const Grid* grid) noexcept nogil:
    """The bucket of a value, monotone in the value; NaN also gets one."""
    cdef double at = (value - grid.origin) * grid.scale
    at = at if at < grid.last else grid.last
    return <int64_t> (at if at > 0.0 else 0.0)


cdef inline void search_block(
    const double* value, int64_t n, const Plan* plan, Py_ssize_t column, bin_t* bins_out,
) noexcept nogil:
    """The bins of ``n`` values of a column: of each, the number of bounds below it.

    Values are read, and bins written, up to the next multiple of SEARCH_WIDTH. ``at`` begins with
    the number of bounds in lower buckets, and each step of the binary search adds ``half`` to it if
    that many further bounds are below the value. All values take ``n_steps`` steps, which may
    compare bounds of later buckets, or the infinities behind the last bound: these are not below
    the value.
    """
    cdef const double* bound = plan.bounds + plan.bounds_start[column]
    cdef const uint16_t* first = plan.first + plan.first_start[column]
    cdef int32_t nan_bin = plan.nan_bin[column]
    cdef Grid local = plan.grid[column]
    cdef int64_t _group
    cdef int i
    cdef uint64_t half
    cdef uint64_t[SEARCH_WIDTH] at
    for _group in range((n + SEARCH_WIDTH - 1) // SEARCH_WIDTH):
        for i in range(SEARCH_WIDTH):
            at[i] = first[bucket_of(value[i], &local)]
        half = (<uint64_t> 1 << local.n_steps) >> 1
        while half > 0:
            for i in range(SEARCH_WIDTH):
                at[i] += half * (bound[at[i] + half - 1] < value[i])
            half >>= 1
        for i in range(SEARCH_WIDTH):
            bins_out[i] = <bin_t> (nan_bin if isnan(value[i]) else at[i])
        value += SEARCH_WIDTH
        bins_out += SEARCH_WIDTH
