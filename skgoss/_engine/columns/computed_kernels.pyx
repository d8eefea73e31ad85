"""Columns that are computed from other columns: pairs of them, and parts of dates."""

from libc.math cimport NAN, fabs
from libc.stdint cimport int32_t, uint8_t, uint32_t

from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.threads cimport run_shares

import numpy as np

cdef enum:
    BLOCK = 1024              # rows whose values are read at a time

cdef enum:
    DIFFERENCE
    SUM
    PRODUCT
    RATIO
    MONTH
    DAY
    DAY_OF_WEEK
    DAY_OF_YEAR
    HOUR
    MINUTE
    SECOND

#: The code of each operation of two columns.
PAIR_OPERATIONS: dict[str, int] = {"-": DIFFERENCE, "+": SUM, "*": PRODUCT, "/": RATIO}
#: The code of each part of a date.
DATE_PARTS: dict[str, int] = {
    "month": MONTH, "day": DAY, "day_of_week": DAY_OF_WEEK, "day_of_year": DAY_OF_YEAR,
    "hour": HOUR, "minute": MINUTE, "second": SECOND,
}

cdef enum:
    MS_PER_DAY = 86_400_000
    DAYS_OF_ERA = 146_097     # the Gregorian calendar repeats after 400 years, and 20,871 weeks
    DAYS_BEFORE = 719_468     # from March 1 of the year 0 to January 1, 1970
    SHIFT = 25                # eras: with them, the numbers of days are positive
# Farther from 1970, about 9800 years, a date has no parts.
cdef double MOST_DAYS = 3.6e6


cdef struct Moments:
    # Dates as whole days and milliseconds. Whole numbers of 32 bits and no branches: the loops
    # become vector instructions.
    uint32_t day[BLOCK]       # from January 1, 1970, plus `SHIFT` eras
    uint32_t ms[BLOCK]


cdef void read_moments(const double* days, Py_ssize_t n, Moments* out) noexcept nogil:
    """Round n dates, in days since 1970, to milliseconds; those without parts get any others."""
    cdef double shift = <double> SHIFT * DAYS_OF_ERA + 0.5 / MS_PER_DAY
    cdef double moment
    cdef Py_ssize_t i
    for i in range(n):
        moment = (days[i] if fabs(days[i]) < MOST_DAYS else 0.0) + shift
        out.day[i] = <uint32_t> <int32_t> moment
        out.ms[i] = <uint32_t> <int32_t> ((moment - <int32_t> moment) * MS_PER_DAY)


cdef void write_calendar(
    uint8_t part, const uint32_t* days, Py_ssize_t n, double* values_out
) noexcept nogil:
    """Month, day of the month or day of the year of n ``days``, which are those of `Moments`.

    The formulas: H. Hinnant, chrono-Compatible Low-Level Date Algorithms, civil_from_days. A year
    begins on March 1 there, so the leap day is its last.
    """
    cdef uint32_t in_era, month
    cdef uint32_t[BLOCK] year, in_year
    cdef uint32_t is_late, is_leap
    cdef Py_ssize_t i
    for i in range(n):
        in_era = (days[i] + DAYS_BEFORE) % DAYS_OF_ERA
        year[i] = (in_era - in_era // 1460 + in_era // 36_524 - in_era // 146_096) // 365
        in_year[i] = in_era - (365 * year[i] + year[i] // 4 - year[i] // 100)
    if part == MONTH:
        for i in range(n):
            month = (5 * in_year[i] + 2) // 153
            values_out[i] = <int32_t> (month + 3 - 12 * (month // 10))
    elif part == DAY:
        for i in range(n):
            month = (5 * in_year[i] + 2) // 153
            values_out[i] = <int32_t> (in_year[i] - (153 * month + 2) // 5 + 1)
    else:
        for i in range(n):
            is_late = in_year[i] // 306  # January and February
            is_leap = (year[i] % 4 == 0) & ((year[i] % 100 != 0) | (year[i] == 0))
            values_out[i] = <int32_t> (in_year[i] + 60 + is_leap - is_late * (365 + is_leap))


cdef void write_part(
    uint8_t part, const Moments* moments, const double* days, Py_ssize_t n, double* values_out
) noexcept nogil:
    """A part of n dates, which are ``moments`` of ``days``; Monday is day 0 of a week."""
    cdef Py_ssize_t i
    if part == DAY_OF_WEEK:
        for i in range(n):
            values_out[i] = <int32_t> ((moments.day[i] + 3) % 7)
    elif part == HOUR:
        for i in range(n):
            values_out[i] = <int32_t> (moments.ms[i] // 3_600_000)
    elif part == MINUTE:
        for i in range(n):
            values_out[i] = <int32_t> (moments.ms[i] // 60_000 % 60)
    elif part == SECOND:
        for i in range(n):
            values_out[i] = <int32_t> (moments.ms[i] // 1000 % 60)
    else:
        write_calendar(part, moments.day, n, values_out)
    for i in range(n):
        values_out[i] = values_out[i] if fabs(days[i]) < MOST_DAYS else NAN


cdef struct ComputedLoop:
    InputColumns columns
    const int32_t* used       # the columns that are read
    Py_ssize_t n_used
    const int32_t* left       # of each computed column: those it is made of, as positions in `used`
    const int32_t* right
    const uint8_t* operation
    const double* factor      # of the second column
    const int32_t* chosen     # the numbers of those to compute
    Py_ssize_t n_chosen
    double* blocks            # of each thread: the values of each used column in some rows
    Py_ssize_t length         # of these rows
    double* values            # (n_computed, n_rows)


cdef void compute(
    uint8_t operation, const double* left, const double* right, double factor, Py_ssize_t n,
    double* values_out,
) noexcept nogil:
    """Compute n values from those of two columns; NaN where a division is by zero.

    ``left`` are the dates of a part, in days. ``factor``: of the right column, in differences and
    sums. At most `BLOCK` values.
    """
    cdef Py_ssize_t i
    cdef Moments moments
    if operation == DIFFERENCE:
        for i in range(n):
            values_out[i] = left[i] - factor * right[i]
    elif operation == SUM:
        for i in range(n):
            values_out[i] = left[i] + factor * right[i]
    elif operation == PRODUCT:
        for i in range(n):
            values_out[i] = left[i] * right[i]
    elif operation == RATIO:
        for i in range(n):
            values_out[i] = NAN if right[i] == 0.0 else left[i] / right[i]
    else:
        read_moments(left, n, &moments)
        write_part(operation, &moments, left, n, values_out)


cdef void compute_body(
    void* context, Py_ssize_t begin, Py_ssize_t end, int thread
) noexcept nogil:
    """Compute the chosen columns in the rows ``begin`` to ``end``, some rows at a time."""
    cdef ComputedLoop* loop = <ComputedLoop*>context
    cdef Py_ssize_t length = loop.length
    cdef double* block = loop.blocks + thread * loop.n_used * length
    cdef Py_ssize_t n_rows = loop.columns.n_rows
    cdef Py_ssize_t i, j, first = begin
    cdef Py_ssize_t n
    while first < end:
        n = min(length, end - first)
        for j in range(loop.n_used):
            load_block(&loop.columns, loop.used[j], NULL, first, n, block + j * length)
        for i in range(loop.n_chosen):
            j = loop.chosen[i]
            compute(
                loop.operation[j], block + loop.left[j] * length, block + loop.right[j] * length,
                loop.factor[j], n, loop.values + j * n_rows + first)
        first += n


def computed_values(
    columns, const int32_t[::1] used, const int32_t[::1] left, const int32_t[::1] right,
    const uint8_t[::1] operation, const double[::1] factor, const int32_t[::1] chosen,
    int n_threads, double[:, ::1] values_out,
) -> None:
    """Write the values of computed columns; they are missing where a division is by zero.

    - ``columns``: the `Columns` that they are made of; none has categories.
    - ``used``: the numbers of those that are read.
    - ``left``, ``right``: (n_computed,), what each is made of, as positions in ``used``; twice
      the same for a part of a date, in days since 1970.
    - ``operation``: (n_computed,), a code of `PAIR_OPERATIONS` or `DATE_PARTS`.
    - ``factor``: (n_computed,), by which the second column of a difference or sum is multiplied.
    - ``chosen``: the numbers of the columns that are computed.
    - ``values_out``: (n_computed, n_rows); rows of other columns are not written.
    """
    cdef ComputedLoop loop
    cdef Py_ssize_t n_rows = values_out.shape[1]
    if n_rows == 0 or chosen.shape[0] == 0:
        return
    loop.length = min(<Py_ssize_t>BLOCK, n_rows)
    cdef double[::1] blocks = np.empty(n_threads * used.shape[0] * loop.length)
    loop.columns = read_columns(columns)
    loop.used, loop.n_used = &used[0], used.shape[0]
    loop.left, loop.right, loop.operation = &left[0], &right[0], &operation[0]
    loop.factor = &factor[0]
    loop.chosen, loop.n_chosen = &chosen[0], chosen.shape[0]
    loop.blocks, loop.values = &blocks[0], &values_out[0, 0]
    run_shares(compute_body, &loop, n_rows, BLOCK, n_threads, n_rows * loop.n_chosen)
