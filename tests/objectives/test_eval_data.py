"""What metrics are computed from: weights, several outputs and what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss.objectives.eval_data import EvalData


def test_no_weight_at_all():
    data = EvalData(np.array([1.0, 2.0]), np.ones((1, 2)), np.zeros(2), None, 1)
    with pytest.raises(ValueError, match="no row of positive weight"):
        _ = data.total_weight


def test_an_output_leaves_out_rows_without_its_target():
    y = np.array([[0.0, 5.0], [1.0, np.nan], [2.0, 7.0]])
    scores, weight = np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, 4.0])
    data = EvalData(y, scores, weight, None, 1, cache={})
    first, second = data.select_output(0, 0, 1), data.select_output(1, 1, 3)
    np.testing.assert_array_equal(first.y, y[:, 0])
    np.testing.assert_array_equal(first.scores, scores[:1])
    np.testing.assert_array_equal(second.y, [5.0, 7.0])
    np.testing.assert_array_equal(second.scores, scores[1:, [0, 2]])
    assert (first.total_weight, second.total_weight) == (7.0, 5.0)


def test_what_targets_and_weights_give_is_computed_once():
    calls = []
    data = EvalData(np.ones(2), np.ones((1, 2)), None, None, 1, cache={})
    for _ in range(2):
        assert data.cached("key", lambda: calls.append(1) or 3) == 3
    assert calls == [1]
    for _ in range(2):
        data._replace(cache=None).cached("key", lambda: calls.append(1))
    assert calls == [1, 1, 1]
