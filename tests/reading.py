"""Columns as estimators read them, for tests that need no fit."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

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
