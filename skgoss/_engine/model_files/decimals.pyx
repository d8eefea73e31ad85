"""Numbers as text and back, many at a time."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    double PyOS_string_to_double(const char*, char**, PyObject*) except? -1.0

cdef extern from "decimals.h" nogil:
    enum:
        DECIMAL_FLOAT
        DECIMAL_THRESHOLD
        DECIMAL_INT
        DECIMAL_ROOM
    ctypedef struct Decimal:
        const char* end
        int is_known
        int negative
        uint64_t whole
        double value
    Decimal decimal_read(const char* text, int kind) noexcept
    int decimal_write(double value, char* text_out) noexcept
    int decimal_write_int(int64_t value, char* text_out) noexcept

# Kinds of numbers. Only "float" allows NaN; "int" are whole numbers of at most 18 digits.
KINDS: dict[str, int] = {
    "float": DECIMAL_FLOAT, "threshold": DECIMAL_THRESHOLD, "int": DECIMAL_INT}


cdef inline const char* after(const char* end, const char* stop) noexcept nogil:
    """The next number of a line, or its end, ``stop``, if a number ends at ``end``.

    NULL: none does: none was read (``end`` is NULL), or another character follows it.
    """
    if end == NULL or (end < stop and end[0] != b" "):
        return NULL
    while end < stop and end[0] == b" ":
        end += 1
    return end


def read_floats(
    bytes text not None, const int64_t[::1] start, const int64_t[::1] stop, int kind,
    double[::1] values_out,
) -> int:
    """Read the numbers of lines, with spaces between them.

    - ``start``, ``stop``, (n_lines,): where each line begins and ends. It begins with a number, and
      white space or the end of the text follows it.
    - ``kind``: a value of ``KINDS``.
    - ``values_out``, (n,): the results of Python's float().

    Returns the number of values before the first one that is wrong or missing; n if all are right.
    """
    cdef const char* at
    cdef const char* last
    cdef const char* next_at
    cdef Py_ssize_t line, i = 0, n = values_out.shape[0]
    cdef char* end
    cdef Decimal found
    for line in range(start.shape[0]):
        at, last = <const char*>text + start[line], <const char*>text + stop[line]
        while at < last and i < n:
            found = decimal_read(at, kind)
            next_at = after(found.end, last)
            if next_at == NULL:
                return i
            values_out[i] = found.value
            if not found.is_known:
                values_out[i] = PyOS_string_to_double(at, &end, NULL)
            at = next_at
            i += 1
    return i


def read_ints(
    bytes text not None, const int64_t[::1] start, const int64_t[::1] stop,
    int64_t[::1] values_out,
) -> int:
    """Read whole numbers of at most 18 digits.

    The arguments and the result are those of `read_floats`.
    """
    cdef const char* at
    cdef const char* last
    cdef Py_ssize_t line, i = 0, n = values_out.shape[0]
    cdef Decimal found
    for line in range(start.shape[0]):
        at, last = <const char*>text + start[line], <const char*>text + stop[line]
        while at < last and i < n:
            found = decimal_read(at, DECIMAL_INT)
            at = after(found.end, last)
            if at == NULL:
                return i
            values_out[i] = -<int64_t>found.whole if found.negative else <int64_t>found.whole
            i += 1
    return i


ctypedef fused number_t:
    double
    int64_t


cdef int put(number_t value, char* text_out) except -1:
    """Write a number as Python's repr does; returns the length, at most DECIMAL_ROOM."""
    cdef int n
    cdef bytes text
    if number_t is double:
        n = decimal_write(value, text_out)
        if n == 0:
            text = repr(value).encode()
            n = <int>len(text)
            memcpy(text_out, <const char*>text, n)
        return n
    else:
        return decimal_write_int(value, text_out)


def joined(const number_t[::1] values, const int64_t[::1] start) -> list[str]:
    """Write numbers as Python's repr does, with a space between them.

    - ``values``, (n,).
    - ``start``, (n_texts + 1,): where the numbers of each text begin, and the end of the last.

    Returns list of str.
    """
    cdef Py_ssize_t text, i, longest = 0
    for text in range(start.shape[0] - 1):
        longest = max(longest, start[text + 1] - start[text])
    cdef char* room = <char*>PyMem_Malloc(longest * DECIMAL_ROOM + 1)
    cdef char* at
    if room == NULL:
        raise MemoryError
    found = []
    try:
        for text in range(start.shape[0] - 1):
            at = room
            for i in range(start[text], start[text + 1]):
                at += put(values[i], at)
                at[0] = b" "
                at += 1
            at -= at > room
            found.append(PyUnicode_DecodeASCII(room, at - room, NULL))
    finally:
        PyMem_Free(room)
    return found
