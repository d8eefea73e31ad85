from libc.stdint cimport int64_t

ctypedef void (*link_rows)(double*, double, int64_t) noexcept nogil

cdef enum:
    # Rows of a block, whose scores, targets and results fit into the level 1 cache.
    BLOCK = 1024
    # Below this number of rows times classes, starting threads costs more than it saves.
    MIN_ROWS_FOR_TEAM = 20000


cdef int64_t softmax_block(int64_t n_classes) noexcept nogil

cdef dict numbers_of(const char* const* names)


# The link of consecutive scores of a row.
cdef struct LinkPart:
    link_rows link_of_rows    # NULL: softmax
    double slope
    int64_t n_scores


# How the scores of rows become predictions.
cdef struct Finish:
    const LinkPart* parts
    int64_t n_parts           # 0: predictions are the scores
    int64_t n_scores          # of a row
    int64_t width             # predictions of a row: `n_scores`, or 2 for both classes
    double divisor            # by which scores are divided first
    int64_t n_work            # the doubles of work space that `finish_rows` needs


cdef inline double* scores_of(const Finish* finish, int64_t n, double* out) noexcept nogil:
    """Where `finish_rows` expects the scores of n rows: at the end of its output."""
    return out + n * (finish.width - finish.n_scores)


# Turn the scores of n rows into predictions, in place.
cdef void finish_rows(
    const Finish* finish, int64_t n, double* out, double* work
) noexcept nogil


cdef class RowLink:
    cdef LinkPart* parts
    cdef Finish finish
    cdef readonly int64_t width
