"""The lines of a text, and the numbers of items after their keys."""

from libc.stdint cimport int64_t
from libc.string cimport memchr, memcmp


cdef bint is_white(char c) noexcept nogil:
    """Whether a character is white space of ASCII."""
    return c == b" " or b"\t" <= c <= b"\r"


cdef const char* sought(const char* at, const char* end, char c) noexcept nogil:
    """The first position of a character from ``at`` on; ``end`` if there is none before it."""
    cdef const char* found = <const char*>memchr(at, c, end - at)
    return end if found == NULL else found


cdef int64_t items(const char* at, const char* end) noexcept nogil:
    """The number of items between spaces; the first and the last character are not white space."""
    cdef int64_t n = at < end
    cdef Py_ssize_t i
    for i in range(1, end - at):
        n += at[i - 1] == b" " and at[i] != b" "
    return n


def find(
    bytes text not None, list keys not None, int64_t[::1] start_out, int64_t[::1] stop_out,
    int64_t[::1] key_out, int64_t[::1] value_out, int64_t[::1] n_items_out,
) -> int:
    """Find the lines of a text, and the keys before the first '=' of lines.

    - ``keys``, list of bytes: the search is fastest if the lines are in this order.
    - ``start_out``, ``stop_out``, (n_lines,): where each line begins and ends, without the white
      space at its end. The number of lines is that of line breaks, plus 1.
    - ``key_out``, (n_lines,): the number of its key; -1: it has another one, or none.
    - ``value_out``, (n_lines,): where the value of the key begins, without white space.
    - ``n_items_out``, (n_lines,): the number of items in the value, with spaces between them.

    Returns the first line with a carriage return before its end; -1: there is none.
    """
    cdef const char* at = text
    cdef const char* last = at + len(text)
    cdef const char* end
    cdef const char* stop
    cdef const char* equals
    cdef Py_ssize_t line, n_keys = len(keys), first_return = -1
    cdef int64_t key = -1
    for line in range(start_out.shape[0]):
        end = stop = sought(at, last, b"\n")
        while stop > at and is_white((stop - 1)[0]):
            stop -= 1
        start_out[line], stop_out[line] = at - <const char*>text, stop - <const char*>text
        key_out[line], value_out[line], n_items_out[line] = -1, stop_out[line], 0
        if first_return < 0 and sought(at, stop, b"\r") < stop:
            first_return = line
        equals = sought(at, stop, b"=")
        for _ in range(n_keys if equals < stop else 0):
            key = (key + 1) % n_keys
            if is_equal(keys[key], at, equals):
                key_out[line] = key
                equals += 1
                while equals < stop and is_white(equals[0]):
                    equals += 1
                value_out[line] = equals - <const char*>text
                n_items_out[line] = items(equals, stop)
                break
        at = end + 1
    return first_return


cdef bint is_equal(bytes word, const char* at, const char* end) noexcept:
    """Whether the text from ``at`` to ``end`` is this word."""
    return end - at == len(word) and memcmp(<const char*>word, at, len(word)) == 0
