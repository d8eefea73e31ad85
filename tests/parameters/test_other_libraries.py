"""Names of other libraries lead to ours."""

from __future__ import annotations

from sklearn.model_selection import GroupKFold, KFold  # noqa: F401

from skgoss.parameters import other_libraries
from skgoss.parameters.aliases import CANONICAL_NAME


def test_names_of_other_libraries_lead_to_ours():
    both = {*other_libraries.OF_FIT, *other_libraries.OF_PREDICTIONS}
    assert len(both) > 60
    assert not set(other_libraries.OF_FIT) & set(CANONICAL_NAME)
    instead = {text[5:-1] for text in other_libraries.OF_FIT.values() if "Use" in text}
    names = {name for name in instead if name.isidentifier()}
    assert len(names) > 15
    assert names <= set(CANONICAL_NAME)
