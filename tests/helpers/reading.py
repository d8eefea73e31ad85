"""Columns as estimators read them, for tests that need no fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skgoss._engine.columns import column_kernels
from skgoss.columns import containers
from skgoss.columns.columns import Columns
from skgoss.columns.schema import ColumnSchema


class Estimator(BaseEstimator):
    """Knows the columns that it has read."""

    schema: ColumnSchema

    @property
    def n_features_in_(self) -> int:
        return self.schema.n_features

    @property
    def feature_names_in_(self) -> Any:
        if self.schema.feature_names is None:
            raise AttributeError("the columns have no names")
        return self.schema.feature_names

    @property
    def _categories(self) -> Any:
        return self.schema.categories


def columns(
    estimator: Any, X: Any, *, reset: bool, categorical_feature: Any = "auto"
) -> Columns:
    """Read columns: those of a training set, or else columns that must be the same."""
    owner = type(estimator).__name__
    if reset:
        data, estimator.schema = containers.learned(
            X, owner=owner, categorical_feature=categorical_feature
        )
        return data
    schema = vars(estimator).get("schema")
    if schema is None:
        schema = estimator._model.schema
    return containers.columns(X, schema, owner=owner)


def read(data: Columns) -> np.ndarray:
    values = np.empty((data.n_features, data.n_rows))
    column_kernels.to_float64(data, values)
    return values.T


def shares(data: Columns, column: int, array: np.ndarray) -> bool:
    return int(data.address[column]) == array.__array_interface__["data"][0]


def n_calls(function: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called; time would need quiet."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(previous)
    return calls
