"""The lines of a model file, compared with those that Python finds."""

from __future__ import annotations

import numpy as np

from skgoss._engine.model_files import lines

KEYS = [b"Tree", b"leaf_value", b"", b"leaf"]


def find(text):
    """What each line is, as a tuple, and the first with a carriage return inside."""
    start, stop, key, value, n_items = np.empty(
        (5, text.count(b"\n") + 1), dtype=np.int64
    )
    first = lines.find(text, KEYS, start, stop, key, value, n_items)
    spans = zip(start.tolist(), stop.tolist(), value.tolist(), strict=True)
    texts = [(text[i:j], text[k:j]) for i, j, k in spans]
    return list(zip(texts, key.tolist(), n_items.tolist(), strict=True)), first


def expected(text):
    found, first = [], -1
    for number, line in enumerate(text.split(b"\n")):
        line = line.rstrip()
        key, equals, value = line.partition(b"=")
        place = KEYS.index(key) if equals and key in KEYS else -1
        value = value.strip() if place >= 0 else b""
        found.append(((line, value), place, len([v for v in value.split(b" ") if v])))
        if first < 0 and b"\r" in line:
            first = number
    return found, first


def test_lines_and_keys():
    text = b"Tree=0\n\nleaf_value=1 2  3 \t\r\nleaf\nleaf=\n=7\nTree=1=2\n x=1\nleaf= 5"
    assert find(text) == expected(text)
    assert find(text)[1] == -1


def test_random_texts():
    rng = np.random.default_rng(0)
    pieces = [*(b"\n", b"\n", b" ", b"=", b"\t", b"\r", b"1", b"\x00", b"\xff"), *KEYS]
    for _ in range(2_000):
        text = b"".join(pieces[i] for i in rng.integers(0, len(pieces), 30))
        assert find(text) == expected(text)
