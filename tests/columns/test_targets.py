"""Targets of parts are those of all rows."""

import numpy as np
import pytest

from helpers.parts_of_rows import assert_same_parts, read
from helpers.ranks import deal, run
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.columns import targets
from skgoss.distributed.row_partition import Parts
from skgoss.fit.arguments import FitArguments


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -1, 3, 5]),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([True, False, True]),
        np.array([True, True]),
        np.array([7, 2**40, 7, 9]),  # looked up in no table
        np.array([2**62, 2**62 + 3, 2**62]),
        np.array([2**63, 2**63 + 5], dtype=np.uint64),
    ],
)
def test_labels_and_codes_of_integers(y):
    labels, codes = np.unique(y, return_inverse=True)
    found = targets.classes(y)
    assert found.dtype == labels.dtype
    assert found.tolist() == labels.tolist()
    assert targets.encode_labels(y, labels, "y", "y").tolist() == codes.tolist()
    shuffled = labels[::-1].copy()
    expected = (len(labels) - 1 - codes).tolist()
    assert targets.encode_labels(y, shuffled, "y", "y").tolist() == expected


@pytest.mark.parametrize("strange", [-9, 2, 9])
def test_an_integer_that_is_not_a_label(strange):
    y = np.array([1, 3, strange, 4])
    with pytest.raises(ValueError, match=rf"does not hold: \[{strange}\]"):
        targets.encode_labels(y, np.array([1, 3, 4]), "y", "classes_")


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
@pytest.mark.parametrize(
    "labels", [[0, 1], [3, 1, 7], ["no", "yes", "why not"], [True]]
)
@pytest.mark.parametrize("class_weight", [None, "balanced", "dict"])
def test_classes_of_parts_are_those_of_all_rows(n_ranks, labels, class_weight):
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 2))
    y = np.array(labels)[random.integers(0, len(labels), 400)]
    # The last label is in few parts.
    y[:300][y[:300] == labels[-1]] = labels[0]
    if class_weight == "dict":
        class_weight = dict.fromkeys(labels, 3.0) | {labels[0]: 0.5}
    for weight in (None, random.random(400) * (random.random(400) < 0.7)):
        assert_same_parts(
            lambda: LGBMClassifier(class_weight=class_weight),
            *(X, y, deal(400, n_ranks, seed=3)),
            sample_weight=weight,
        )


def test_targets_that_differ():
    def learn(first, second, estimator=LGBMClassifier):
        def work(collectives):
            y = (first, second)[collectives.rank]
            X = np.arange(float(len(y)))[:, None]
            parts = Parts(collectives, {collectives.rank: len(y)})
            read(estimator(), X, np.array(y), FitArguments(), parts)

        run(2, work)

    with pytest.raises(
        ValueError, match=r"What y holds .* 'numbers' in part 0 and 'str"
    ):
        learn([0, 1], ["a", "b"])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        learn([0.0, 1.0], [0.5, 1.0])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        learn([0.0, 1.0], [0.0, np.nan])
    with pytest.raises(ValueError, match="values of y are too large: their sum"):
        learn([1e308], [1e308], LGBMRegressor)


def test_the_number_of_labels_is_that_of_all_rows():
    # A fit of one process's rows would warn that most rows have labels of their own.
    def work(collectives):
        y = np.arange(40) + 0.0
        parts = Parts(collectives, {collectives.rank: 40})
        return targets.classes(y, parts)

    with pytest.warns(UserWarning, match="40 different labels in 40 rows"):
        targets.classes(np.arange(40) + 0.0)
    assert all(np.array_equal(got, np.arange(40)) for got in run(3, work))
