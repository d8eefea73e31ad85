from libc.stdint cimport int64_t

ctypedef void (*link_rows)(double*, double, int64_t) noexcept nogil

cdef enum:
    # Rows a block: scores, targets and results of one block fit the level 1 cache.
    BLOCK = 1024
    # Below this many rows (times classes) starting a thread team costs more than it saves.
    MIN_ROWS_FOR_TEAM = 20000


cdef int64_t softmax_block(int64_t n_classes) noexcept nogil

cdef dict numbers_of(const char* const* names)


# The link of some consecutive scores of a row.
cdef struct LinkPart:
    link_rows rows            # NULL: softmax
    double slope
    int64_t n_scores


# What becomes of the scores of rows.
cdef struct Finish:
    const LinkPart* parts
    int64_t n_parts           # 0: predictions are the scores
    int64_t n_scores          # of a row
    int64_t width             # numbers of its prediction: as many, or two for both classes
    double divisor            # of the scores
    int64_t n_work            # numbers for which `finish_rows` needs memory


cdef inline double* scores_of(const Finish* finish, int64_t n, double* out) noexcept nogil:
    """Where the scores of n rows stand before `finish_rows`: at the end of its output."""
    return out + n * (finish.width - finish.n_scores)


# Turn the scores of n rows into predictions, in place.
cdef void finish_rows(
    const Finish* finish, int64_t n, double* out, double* work
) noexcept nogil


cdef class RowLink:
    cdef LinkPart* parts
    cdef Finish finish
    cdef readonly int64_t width
