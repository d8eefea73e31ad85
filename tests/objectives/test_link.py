"""Links from raw scores to predictions."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss.objectives import objectives
from skgoss.objectives.link import transform
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
