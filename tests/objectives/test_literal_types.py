"""The names that editors suggest are those of the tables."""

from __future__ import annotations

from typing import get_args

import pytest

from skgoss.objectives.literal_types import MetricName, ObjectiveName
from skgoss.objectives.metrics import METRICS
from skgoss.objectives.objectives import OBJECTIVES


@pytest.mark.parametrize(
    ("names", "table"), [(ObjectiveName, OBJECTIVES), (MetricName, METRICS)]
)
def test_names_are_those_of_the_table(names, table):
    assert list(get_args(names)) == list(table)
