"""The losses of several outputs in one objective."""

import numpy as np
import pytest

from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives.joint_objective import OutputObjective, joint
from skgoss.objectives.percentiles import LeafRows
from skgoss.objectives.training_objective import make_objective
from skgoss.parameters import DEFAULTS
from skgoss.parameters.settings import Settings

N = 40
RNG = np.random.default_rng(0)
Y = np.abs(RNG.normal(size=(N, 2)))
SCORES = RNG.normal(size=(2, N))
WITH_TARGET = np.flatnonzero(np.arange(N) % 3 > 0)
WEIGHT = RNG.integers(1, 4, N).astype(float)


def made(name, y, weight=None, **options):
    settings = Settings(DEFAULTS | {"objective": name, "n_jobs": 1} | options)
    return make_objective(settings, y, weight)


def of_both(names, weight=None, has_own_weights=False):
    """The objective of two outputs; some rows have no second target."""
    own = None if weight is None else weight[WITH_TARGET]
    objectives = made(names[0], Y[:, 0], weight), made(names[1], Y[WITH_TARGET, 1], own)
    places = None, WITH_TARGET
    parts = [
        OutputObjective(objective, slice(k, k + 1), rows)
        for k, (objective, rows) in enumerate(zip(objectives, places, strict=True))
    ]
    return objectives, joint(
        parts, Y, weight, RowPartition(N), has_own_weights=has_own_weights
    )


@pytest.mark.parametrize("names", [("regression", "poisson"), ("fair", "regression")])
def test_derivatives_are_those_of_each_output(names):
    objectives, both = of_both(names)
    assert not both.constant_hessian
    gradient, hessian = np.full((2, 2, N), np.nan, dtype=np.float32)
    both.gradients(SCORES, gradient, hessian)
    for k, (objective, rows) in enumerate(
        zip(objectives, (np.arange(N), WITH_TARGET), strict=True)
    ):
        own = np.ones((2, 1, len(rows)), dtype=np.float32)
        scores = np.ascontiguousarray(SCORES[k : k + 1, rows])
        objective.gradients(
            scores, own[0], None if objective.constant_hessian else own[1]
        )
        np.testing.assert_array_equal(gradient[k, rows], own[0, 0])
        np.testing.assert_array_equal(hessian[k, rows], own[1, 0])
        others = np.setdiff1d(np.arange(N), rows)
        assert not gradient[k, others].any()
        assert not hessian[k, others].any()
    np.testing.assert_array_equal(
        both.start, np.concatenate([objective.start for objective in objectives])
    )


def test_typical_derivatives():
    _, both = of_both(("regression", "regression"), WEIGHT)
    expected = []
    for rows, y in ((np.arange(N), Y[:, 0]), (WITH_TARGET, Y[WITH_TARGET, 1])):
        weight = WEIGHT[rows]
        mean = np.average(y, weights=weight)
        expected.append(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
    found = both.typical_derivatives(1)
    np.testing.assert_allclose(found, [expected, [1.0, 1.0]], rtol=1e-6)


def test_an_output_without_gradients_has_no_unit():
    objective = made("regression", np.full(N, 2.0))
    np.testing.assert_array_equal(objective.typical_derivatives(1), [[np.inf], [1.0]])


def test_weights_of_the_outputs():
    _, both = of_both(("regression", "regression"), WEIGHT)
    np.testing.assert_array_equal(both.weight, WEIGHT)
    np.testing.assert_array_equal(both.frequency, WEIGHT)
    _, both = of_both(("regression", "regression"), WEIGHT, has_own_weights=True)
    has_target = np.isin(np.arange(N), WITH_TARGET)
    np.testing.assert_array_equal(both.weight, [WEIGHT, WEIGHT * has_target])
    np.testing.assert_array_equal(both.label_weight, [np.ones(N), has_target])


def test_leaves_are_renewed_by_the_rows_with_the_target():
    _, both = of_both(("regression", "regression_l1"))
    assert both.renews_leaves
    assert [both.renews(k) for k in range(2)] == [False, True]
    rows = np.arange(N)
    leaves = LeafRows.joined([[rows[:15]], [rows[15:]]])
    found = both.renewed_leaves(SCORES[1], leaves, None, 1)
    residuals = Y[:, 1] - SCORES[1]
    for value, of_leaf in zip(found, leaves.leaves(), strict=True):
        own = np.intersect1d(of_leaf, WITH_TARGET)
        expected = np.quantile(residuals[own], 0.5, method="averaged_inverted_cdf")
        assert value == expected
