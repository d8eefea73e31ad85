"""Models in text files of both packages."""

from __future__ import annotations

import numpy as np
import pytest

import skgoss
from helpers.lightgbm_models import CATEGORY, data, target
from helpers.trees import stump
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header


def assert_equal(first, second):
    """Two pairs of ensemble and header hold the same; sets may end in empty words."""
    (one, head), (two, other) = first, second
    assert vars(head) == vars(other)
    for name, values in one.arrays.items():
        assert values.tobytes() == two.arrays[name].tobytes(), name
    assert one.leaf_start.tolist() == two.leaf_start.tolist()
    assert (one.n_scores, one.n_features) == (two.n_scores, two.n_features)
    assert one.average == two.average
    assert members(one.sets) == members(two.sets)
    assert (one.linear is None) == (two.linear is None)
    if one.linear is not None:
        for mine, theirs in zip(one.linear, two.linear, strict=True):
            assert mine.tobytes() == theirs.tobytes()


def members(sets):
    bits = np.unpackbits(sets.words.view(np.uint8), bitorder="little")
    spans = zip(32 * sets.start[:-1], 32 * sets.start[1:], strict=True)
    return [np.flatnonzero(bits[start:stop]).tolist() for start, stop in spans]


OURS = {
    "gbdt": {},
    "dart": {"boosting_type": "dart", "skip_drop": 0.0},
    "rf": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "no missing": {"use_missing": False},
    "zero missing": {"zero_as_missing": True},
    "linear": {"linear_tree": True},
    "large": {"num_leaves": 200, "min_child_samples": 1},
    "one leaf": {"min_child_samples": 300},
}


def one_split(numbers, n_features=1):
    """A tree that sends the categories of some numbers to the left."""
    words = np.zeros(max(numbers, default=0) // 32 + 1, dtype=np.uint32)
    for number in numbers:
        words[number // 32] |= np.uint32(1) << np.uint32(number % 32)
    tree = stump(0, 0.0, 1, 2)
    tree.decision_type[:] = 1
    sets = CategorySets(np.array([0, len(words)]), words)
    return Ensemble.from_trees([tree], 1, n_features, sets=sets)


def header_of(ensemble, **options):
    names = [f"x{j}" for j in range(ensemble.n_features)]
    return Header(**({"feature_names": names, "feature_infos": ["none"]} | options))


@pytest.fixture(scope="module")
def fitted():
    """Models of all kinds, and the values that they were fitted on."""
    X, y = data()
    X[:, CATEGORY] = 7 * X[:, CATEGORY] + 3
    small = {"num_leaves": 7, "min_child_samples": 5, "min_data_per_group": 5}
    small |= {"n_estimators": 4, "cat_smooth": 1.0, "categorical_feature": [CATEGORY]}
    regressor, classifier = skgoss.LGBMRegressor, skgoss.LGBMClassifier
    models = {k: regressor(**(small | o)).fit(X, y) for k, o in OURS.items()}
    labels = target(y, "multiclass")
    models["multiclass"] = classifier(**small).fit(X, labels)
    models["binary"] = classifier(**small).fit(X, labels > 0)
    models["binary rf"] = classifier(**(small | OURS["rf"])).fit(X, labels > 0)
    ranker = skgoss.LGBMRanker(**small)
    models["ranking"] = ranker.fit(X, labels, qid=np.repeat(np.arange(10), 40))
    return models
