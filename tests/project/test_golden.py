"""Models change only on purpose, and are the same on every machine: their digests."""

from __future__ import annotations

import json

import pytest

from helpers import golden, golden_fits

EXPECTED = json.loads(golden.FILE.read_text(encoding="utf-8"))
MODELS = golden.models()


def test_the_file_lists_the_models():
    assert list(EXPECTED) == [*MODELS, *golden_fits.FITS]
    # Two options that change nothing would not test anything.
    assert len(set(EXPECTED.values())) == len(EXPECTED)


# The signs of some cases are wrong.
@pytest.mark.filterwarnings("ignore:monotone_constraints. the prediction never")
@pytest.mark.parametrize("name", MODELS)
def test_models_keep_their_bits(name):
    # On purpose: a line in CHANGELOG.md, then `python -m helpers.golden`.
    assert golden.fit(*MODELS[name]) == EXPECTED[name]


@pytest.mark.parametrize("name", golden_fits.FITS)
def test_other_results_of_fits_keep_their_bits(name):
    assert golden_fits.digest(name) == EXPECTED[name]
