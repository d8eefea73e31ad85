"""Numbers as text and back, compared with Python's."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from skgoss._engine.model_files import decimals

FLOAT, THRESHOLD = decimals.KINDS["float"], decimals.KINDS["threshold"]


def numbers():
    """Doubles of all sizes, and those that are hard to round."""
    rng = np.random.default_rng(0)
    usual = rng.normal(size=20_000) * 10.0 ** rng.integers(-8, 18, 20_000)
    short = np.round(rng.normal(size=5_000) * 1000, 3)
    bits = rng.integers(0, 2**63, 5_000, dtype=np.int64).view(np.float64)
    powers = [2.0**k for k in range(-1074, 1024, 7)] + [10.0**k for k in range(-30, 30)]
    near = [np.nextafter(value, side) for value in powers for side in (0, np.inf)]
    special = [0.0, -0.0, 1e-35, 1.0000000180025095e-35, 5e-324, 1.7976931348623157e308]
    halves = [0.1, 0.09999999999999999, 0.3, 1 / 3, 9007199254740993.0, 0.5, 2.5]
    found = [usual, -usual, short, bits[~np.isnan(bits)], powers, near, special, halves]
    return np.concatenate(found)


def span(text):
    """A text as one line: with its beginning and end."""
    return text, np.array([0]), np.array([len(text)])


def read(text, kind=FLOAT):
    """The numbers of a text, or the place of the first that is wrong."""
    values = np.empty(text.count(b" ") + 1)
    n_read = decimals.read_floats(*span(text), kind, values)
    return values if n_read == len(values) else n_read


def texts(values):
    """The text of each number."""
    return decimals.joined(values, np.arange(len(values) + 1))


def test_texts_are_those_of_repr():
    values = numbers()
    assert texts(values) == list(map(repr, values.tolist()))


def test_whole_numbers_are_written_as_by_repr():
    bounds = np.iinfo(np.int64)
    values = np.array([0, 7, -7, 10, 1_000_000, -123_456_789, bounds.min, bounds.max])
    assert texts(values) == list(map(repr, values.tolist()))


def test_texts_are_joined_by_spaces():
    values, start = np.array([0.5, 1e300, -2.0, 3.0]), np.array([0, 0, 3, 4, 4])
    assert decimals.joined(values, start) == ["", "0.5 1e+300 -2.0", "3.0", ""]


def test_numbers_are_those_of_float():
    values = numbers().tolist()
    forms = (repr, "{:.17g}".format, "{:.25g}".format, "{:.6f}".format, "{:.3e}".format)
    for form in forms:
        words = [form(value) for value in values]
        found = read(" ".join(words).encode())
        expected = np.array([float(word) for word in words])
        assert found.tobytes() == expected.tobytes()


def test_halves_are_rounded_to_even():
    # 2^53 + 1 lies in the middle, and the others just beside it.
    words = [b"9007199254740993", b"9007199254740992.999", b"9007199254740993.001"]
    words += [
        b"90071992547409930e-1",
        b"1e23",
        b"1" + b"0" * 30,
        b"0." + b"0" * 30 + b"7",
    ]
    assert read(b" ".join(words)).tolist() == [float(word) for word in words]


def test_words():
    found = read(b"inf -inf nan -nan(ind) 1. 0 -0 1E5 1e+5 007")
    expected = [np.inf, -np.inf, np.nan, np.nan, 1.0, 0.0, -0.0, 1e5, 1e5, 7.0]
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found[6])


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b" ", b"-", b".5", b"1e", b"1e+", b"e5", b"+1", b"1 ", b"0x10"),
        *(b"nan(x)", b"infinity", b"1_0", b"1\x00", b"1,5", b"1\t2", b"\xff"),
    ],
)
def test_what_is_not_a_number(text):
    n_right = int(text == b"1 ")
    assert read(text) == n_right
    assert read(b"1 " + text) == 1 + n_right


def test_thresholds_are_numbers():
    assert read(b"1 nan", THRESHOLD) == 1
    assert read(b"1 -inf", THRESHOLD).tolist() == [1.0, -np.inf]


def test_whole_numbers():
    words = ["0", "-0", "-1", "000012", "9" * 18, "-" + "9" * 18]
    values = np.empty(len(words), dtype=np.int64)
    text = " ".join(words).encode()
    assert decimals.read_ints(*span(text), values) == len(words)
    assert values.tolist() == list(map(int, words))
    for wrong in (b"1.0", b"9" * 19, b"", b"-", b"1e5", b"inf", b"1\t"):
        assert decimals.read_ints(*span(b"7 " + wrong), values) == 1


def test_too_few_or_too_many_numbers():
    assert decimals.read_floats(*span(b"1 2"), FLOAT, np.empty(3)) == 2
    assert decimals.read_floats(*span(b"1 2"), FLOAT, np.empty(1)) == 1


def test_spaces_stand_between_numbers():
    assert read(b" 1") == 0
    assert read(b"1  2") == 2


def test_numbers_of_lines():
    text, values = b"x=1   2\ny=7\nz=-3 4 ", np.zeros(4)
    start, stop = np.array([2, 14]), np.array([7, 18])
    assert decimals.read_floats(text, start, stop, FLOAT, values) == 4
    assert values.tolist() == [1.0, 2.0, -3.0, 4.0]


def test_bits_of_random_doubles():
    rng = np.random.default_rng(1)
    for _ in range(3_000):
        value = struct.unpack("d", rng.bytes(8))[0]
        if np.isfinite(value):
            assert texts(np.array([value])) == [repr(value)]
