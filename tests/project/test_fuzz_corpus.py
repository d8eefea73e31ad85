"""The readers of files and states read the corpus of fuzz/readers.py, or refuse it."""

from __future__ import annotations

import warnings

import pytest

from fuzz import readers

FOLDERS = {path.name: path for path in readers.CORPUS.iterdir()}


@pytest.fixture(scope="module", autouse=True)
def folder():
    """The readers write to a folder of their own."""
    yield
    readers.FOLDER.cleanup()


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_the_corpus_is_read_or_refused(name):
    pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        is_read = {
            path.name: readers.try_one(readers.READERS[name], path.read_bytes())
            for path in FOLDERS[name].iterdir()
        }
    # What fuzzing begins with is good. The rest was found by it.
    seeds = {file for file in is_read if file.startswith("seed-")}
    assert seeds <= {file for file, is_good in is_read.items() if is_good}
    assert seeds


def test_every_reader_has_a_corpus():
    assert set(readers.READERS) == set(FOLDERS)
