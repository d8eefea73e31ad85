"""Links from raw scores to predictions."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss._engine.objectives import link_kernels
from skgoss.objectives import objectives
from skgoss.objectives.link import IDENTITY, Link, row_link, transform
from skgoss.objectives.objectives import OBJECTIVES


# Of distributions, see test_distributions.py.
@pytest.mark.parametrize(
    "name", [n for n, o in OBJECTIVES.items() if o.metric != "nll"]
)
def test_links_are_silent_and_finite_at_any_score(name):
    link = objectives.make_link(name)
    raw = np.array([[-1e4, 0.0, 1e4], [5.0, -800.0, 800.0]])
    assert np.isfinite(link(raw)).all()
    if name != "multiclass":
        np.testing.assert_array_equal(link(raw[0]), link(raw)[0])
    class_major = np.ascontiguousarray(raw.T)
    np.testing.assert_array_equal(transform(link, class_major).T, link(raw))
    assert transform(link, class_major, out=class_major) is class_major
    np.testing.assert_array_equal(class_major.T, link(raw))
    assert link(raw).flags.c_contiguous


JOINT = Link("joint", links=((Link("exp"), 2), (Link("softmax"), 3), (IDENTITY, 1)))
ALIKE = Link("joint", links=((Link("logistic", 2.0), 2), (Link("logistic", 2.0), 4)))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 255, 257, 5000])
@pytest.mark.parametrize(
    "link",
    [*(Link(kind, 0.7) for kind in link_kernels.LINKS), JOINT, ALIKE],
    ids=[*link_kernels.LINKS, "joint", "alike"],
)
def test_links_of_rows_have_the_bits_of_those_of_scores(link, n_rows, n_threads):
    scores = np.random.default_rng(n_rows).normal(scale=3.0, size=(n_rows, 6))
    given = scores.copy()
    expected = transform(link, np.ascontiguousarray(scores.T / 3)).T
    of_rows = row_link(link, 6)
    out = np.full((n_rows, of_rows.width), np.nan)
    of_rows.apply(scores, 3.0, n_threads, out)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(scores, given)
    of_rows.apply(scores, 3.0, n_threads, scores)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 255, 256, 257, 1025, 30_000])
def test_both_classes_of_rows(n_rows, n_threads):
    scores = np.random.default_rng(0).normal(size=(n_rows, 1))
    of_rows = row_link(Link("logistic"), 1, both=True)
    out = np.full((n_rows, 2), np.nan)
    of_rows.apply(scores, 1.0, n_threads, out)
    positive = Link("logistic")(scores)
    np.testing.assert_array_equal(out, np.hstack([1.0 - positive, positive]))


def test_a_link_of_many_classes_needs_more_than_a_block():
    scores = np.random.default_rng(0).normal(size=(50, 9000))
    expected = transform(Link("softmax"), np.ascontiguousarray(scores.T)).T
    np.testing.assert_array_equal(Link("softmax")(scores, 2), expected)


def test_links_that_only_arrays_have():
    assert row_link(Link(levels=(0.1, 0.9)), 2) is None
    assert row_link(Link("normal"), 2) is None
    assert row_link(JOINT, 5) is None


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_the_largest_of_a_row_is_the_first(n_classes):
    values = np.random.default_rng(1).integers(0, 3, size=(20_000, n_classes)) * 1.0
    values[::7] = np.nan
    values[::5, -1] = np.nan
    number = np.empty(len(values), dtype=np.int64)
    link_kernels.largest(values, 3, number)
    np.testing.assert_array_equal(number, values.argmax(axis=1))
