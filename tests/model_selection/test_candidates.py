"""The candidates of a race, which have the largest of their limits of rounds."""

from __future__ import annotations

from itertools import permutations

import pytest

from skgoss import LGBMRegressor
from skgoss.model_selection.candidates import is_rounds, racers

# Parameters of candidates, and what their racers are: most rounds, rate, leaves, path.
RATED = [
    ({"n_estimators": 30, "num_leaves": 5}, (60, 0.1, 5, "n_estimators")),
    ({"n_estimators": 60, "num_leaves": 5}, (60, 0.1, 5, "n_estimators")),
    ({"n_estimators": 40, "num_leaves": 5}, (60, 0.1, 5, "n_estimators")),
    ({"num_iterations": 7}, (7, 0.1, 31, "num_iterations")),
    ({"learning_rate": 0.3}, (100, 0.3, 31, "n_estimators")),
    # Small steps are taken up to where they have learned most: after a sum of 10.
    ({"learning_rate": 0.01, "n_estimators": 50}, (50, 0.1, 31, "n_estimators")),
    ({"learning_rate": 0.02, "n_estimators": 200}, (200, 0.05, 31, "n_estimators")),
    ({"learning_rate": 0.03, "n_estimators": 1000}, (1000, 0.03, 31, "n_estimators")),
    ({"boosting_type": "dart"}, (1, 0.1, 1, None)),
    ({"boosting_type": "dart", "num_leaves": 5}, (1, 0.1, 1, None)),
    ({"early_stopping_round": 3}, (1, 0.1, 1, None)),
    ({"time_limit": 3.0}, (1, 0.1, 1, None)),
    ({"n_estimators": -1}, (1, 0.1, 1, None)),
    ({"learning_rate": -0.1}, (1, 0.1, 1, None)),
]


def test_candidates_that_differ_in_their_rounds_are_one():
    candidates = [params for params, _ in RATED]
    models = [LGBMRegressor(**params) for params in candidates]
    found = racers(candidates, models, "n_estimators")
    expected = [RATED[0][1], *(values for _, values in RATED[3:])]
    assert [(r.max_rounds, r.rate, r.n_leaves, r.path) for r in found] == expected
    assert found[0].params == {"num_leaves": 5}
    assert found[0].candidate(9) == {"num_leaves": 5, "n_estimators": 9}
    assert found[1].candidate(9) == {"num_iterations": 9}
    assert found[-1].candidate(9) == {"learning_rate": -0.1}
    assert [r.estimator for r in found] == [models[0], *models[3:]]
    # What has no hash is the same only if it is one object.
    one, other = [1, 2], [1, 2]
    lists = [{"eval_at": one}, {"eval_at": other}, {"eval_at": one, "n_estimators": 5}]
    assert len(racers(lists, models[:3], "n_estimators")) == 2


def test_names_of_rounds():
    names = "n_estimators", "num_iterations", "a__b__n_estimators", "a__num_trees"
    assert all(map(is_rounds, names))
    others = "n_estimators__a", "estimators", "num_leaves", "n_estimators_"
    assert not any(map(is_rounds, others))


def of_candidates(candidates, **options):
    models = [LGBMRegressor(**options, **candidate) for candidate in candidates]
    return racers(candidates, models, "n_estimators")


@pytest.mark.parametrize("limits", [*permutations([20, 60, 35])])
def test_candidates_that_differ_in_rounds_only_are_one_up_to_the_largest(limits):
    found = of_candidates(
        [{"num_leaves": k, "n_iter": n} for n in limits for k in (3, 5)]
    )
    assert [(r.params, r.path) for r in found] == [
        ({"num_leaves": k}, "n_iter") for k in (3, 5)
    ]
    assert [(r.max_rounds, r.n_leaves) for r in found] == [(60, 3), (60, 5)]


@pytest.mark.parametrize(
    ("rate", "limits", "expected"),
    [
        (0.3, [60], 0.3),
        (0.01, [60], 0.1),  # it cannot learn more in more rounds
        (0.01, [500, 60], 0.02),
        (0.01, [60, 2000], 0.01),
    ],
)
def test_small_steps_are_compared_after_more_rounds(rate, limits, expected):
    (found,) = of_candidates([{"n_estimators": n} for n in limits], learning_rate=rate)
    assert found.rate == expected
