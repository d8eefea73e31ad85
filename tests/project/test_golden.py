"""Models change only on purpose: their digests, one for each objective and option."""

from __future__ import annotations

import json

import golden
import pytest

EXPECTED = json.loads(golden.FILE.read_text(encoding="utf-8"))
MODELS = golden.models()


def test_the_file_lists_the_models():
    assert list(EXPECTED) == list(MODELS)
    # Two options that change nothing would not test anything.
    assert len(set(EXPECTED.values())) == len(EXPECTED)


@pytest.mark.parametrize("name", MODELS)
def test_models_keep_their_bits(name):
    # On purpose: a line in CHANGELOG.md, then `python tests/helpers/golden.py`.
    assert golden.fit(*MODELS[name]) == EXPECTED[name]
