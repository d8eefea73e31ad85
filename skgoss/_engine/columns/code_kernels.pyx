"""Kernels that read codes: integers that stand for categories, labels or columns of entries.

The codes are in memory of the user, which may change while it is read. A code that a table does
not have counts as missing.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from skgoss._engine.threads cimport run_shares

import numpy as np

cdef enum:
    BLOCK = 8192              # codes that a thread takes at a time
    CODES_PER_THREAD = 1 << 16  # for fewer, another thread does not pay off

ctypedef fused code_t:
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused number_t:
    float
    double


cdef struct CodeLoop:
    const void* codes
    Py_ssize_t stride         # bytes from a code to the next
    int width                 # bytes of a code
    int64_t low               # the code of the first entry of a table
    uint64_t n_codes          # entries of the table; one more follows, for other codes
    uint8_t* occurs           # of each thread: whether the code of an entry occurs
    const void* table         # the number of each code
    int number_width          # bytes of a number
    void* numbers
    int64_t* least            # of each thread: of all codes
    int64_t* greatest


cdef int team(Py_ssize_t n, int n_threads) noexcept nogil:
    """The number of threads that n codes are worth."""
    return max(1, min(n_threads, <int>min(n // CODES_PER_THREAD, <Py_ssize_t>1 << 30)))


cdef inline uint64_t entry_at(CodeLoop loop, const code_t* codes, Py_ssize_t i) noexcept nogil:
    """The index of the entry of code number i in the table; ``n_codes`` for codes that have none.

    Unsigned differences wrap, so codes below ``low`` are large numbers.
    """
    cdef code_t code = (<const code_t*>(<const char*>codes + i * loop.stride))[0]
    return min(<uint64_t>code - <uint64_t>loop.low, loop.n_codes)


cdef void mark(
    CodeLoop loop, const code_t* codes, Py_ssize_t first, Py_ssize_t end,
    uint8_t* occurs_out,
) noexcept nogil:
    """Mark the entries of the codes ``first`` to ``end``; ``occurs_out``, (n_codes + 1,)."""
    cdef Py_ssize_t i
    for i in range(first, end):
        occurs_out[entry_at(loop, codes, i)] = True


cdef void mark_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Mark the entries of a block of codes, by their size."""
    cdef const CodeLoop* loop = <const CodeLoop*>context
    cdef uint8_t* occurs = loop.occurs + thread * (loop.n_codes + 1)
    if loop.width == 1:
        mark(loop[0], <const int8_t*>loop.codes, first, end, occurs)
    elif loop.width == 2:
        mark(loop[0], <const int16_t*>loop.codes, first, end, occurs)
    elif loop.width == 4:
        mark(loop[0], <const int32_t*>loop.codes, first, end, occurs)
    else:
        mark(loop[0], <const int64_t*>loop.codes, first, end, occurs)


def occurring(
    const code_t[:] codes, int64_t low, Py_ssize_t n_codes, int n_threads=1,
) -> NDArray[np.bool_]:
    """Whether each of the ``n_codes`` codes from ``low`` on occurs, (n_codes + 1,).

    The last element is whether any other code occurs.
    """
    n_threads = team(codes.shape[0], n_threads)
    occurs = np.zeros((n_threads, n_codes + 1), dtype=np.bool_)
    cdef uint8_t[:, ::1] occurs_out = occurs.view(np.uint8)
    cdef CodeLoop loop
    if codes.shape[0] == 0:
        return occurs[0]
    loop.codes, loop.stride, loop.width = &codes[0], codes.strides[0], sizeof(code_t)
    loop.low, loop.n_codes, loop.occurs = low, n_codes, &occurs_out[0, 0]
    run_shares(mark_body, &loop, codes.shape[0], BLOCK, n_threads, codes.shape[0])
    return occurs.any(axis=0)


cdef void translate(
    CodeLoop loop, const code_t* codes, Py_ssize_t first, Py_ssize_t end,
    number_t* numbers_out,
) noexcept nogil:
    """Write the numbers of the codes ``first`` to ``end``."""
    cdef const number_t* table = <const number_t*>loop.table
    cdef Py_ssize_t i
    for i in range(first, end):
        numbers_out[i] = table[entry_at(loop, codes, i)]


cdef void translate_width(
    const CodeLoop* loop, Py_ssize_t first, Py_ssize_t end, number_t* numbers_out,
) noexcept nogil:
    """`translate`, by the size of codes."""
    if loop.width == 1:
        translate(loop[0], <const int8_t*>loop.codes, first, end, numbers_out)
    elif loop.width == 2:
        translate(loop[0], <const int16_t*>loop.codes, first, end, numbers_out)
    elif loop.width == 4:
        translate(loop[0], <const int32_t*>loop.codes, first, end, numbers_out)
    else:
        translate(loop[0], <const int64_t*>loop.codes, first, end, numbers_out)


cdef void translate_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Write the numbers of a block of codes, as float or double."""
    cdef const CodeLoop* loop = <const CodeLoop*>context
    if loop.number_width == sizeof(float):
        translate_width(loop, first, end, <float*>loop.numbers)
    else:
        translate_width(loop, first, end, <double*>loop.numbers)


def translated(
    const code_t[:] codes, int64_t low, const number_t[::1] table, int n_threads=1,
) -> NDArray[Any]:
    """The numbers that codes stand for, (n,).

    ``table``: the numbers of the codes from ``low`` on; the last one: that of all other codes.
    """
    numbers = np.empty(codes.shape[0], dtype=np.asarray(table).dtype)
    cdef number_t[::1] numbers_out = numbers
    cdef CodeLoop loop
    if codes.shape[0] == 0:
        return numbers
    n_threads = team(codes.shape[0], n_threads)
    loop.codes, loop.stride, loop.width = &codes[0], codes.strides[0], sizeof(code_t)
    loop.low, loop.n_codes = low, table.shape[0] - 1
    loop.table, loop.numbers, loop.number_width = &table[0], &numbers_out[0], sizeof(number_t)
    run_shares(translate_body, &loop, codes.shape[0], BLOCK, n_threads, codes.shape[0])
    return numbers


cdef void find_range(
    const CodeLoop* loop, const code_t* codes, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Extend the range of a thread by the codes ``first`` to ``end``, which are contiguous."""
    cdef code_t least = codes[first]
    cdef code_t greatest = codes[first]
    cdef Py_ssize_t i
    for i in range(first, end):
        least = min(least, codes[i])
        greatest = max(greatest, codes[i])
    loop.least[thread] = min(loop.least[thread], <int64_t>least)
    loop.greatest[thread] = max(loop.greatest[thread], <int64_t>greatest)


cdef void range_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Extend the range of a thread by a block of codes, by their size."""
    cdef const CodeLoop* loop = <const CodeLoop*>context
    if loop.width == 1:
        find_range(loop, <const int8_t*>loop.codes, first, end, thread)
    elif loop.width == 2:
        find_range(loop, <const int16_t*>loop.codes, first, end, thread)
    elif loop.width == 4:
        find_range(loop, <const int32_t*>loop.codes, first, end, thread)
    else:
        find_range(loop, <const int64_t*>loop.codes, first, end, thread)


def code_range(const code_t[::1] codes, int n_threads=1) -> tuple[int, int]:
    """The smallest and the largest of some codes; there must be at least one."""
    n_threads = team(codes.shape[0], n_threads)
    cdef int64_t[::1] least = np.full(n_threads, INT64_MAX, dtype=np.int64)
    cdef int64_t[::1] greatest = np.full(n_threads, INT64_MIN, dtype=np.int64)
    cdef CodeLoop loop
    loop.codes, loop.width = &codes[0], sizeof(code_t)
    loop.least, loop.greatest = &least[0], &greatest[0]
    run_shares(range_body, &loop, codes.shape[0], BLOCK, n_threads, codes.shape[0])
    return int(min(least)), int(max(greatest))
