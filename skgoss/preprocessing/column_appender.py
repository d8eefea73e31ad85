"""What transformers that append computed columns have in common."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skgoss.columns.schema import ColumnSchema
from skgoss.utils import sklearn_private


class ColumnAppender(
    sklearn_private.DocumentedMixin,
    TransformerMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """A transformer that returns the columns of ``X``, and then computed ones."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @property
    @abstractmethod
    def _schema(self) -> ColumnSchema:
        """The columns of ``X``, and what is computed from them."""

    @abstractmethod
    def _learned(self, schema: ColumnSchema) -> dict[str, Any]:
        """The fitted attributes, by name, that say what a schema computes."""

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """The names of the columns of ``X`` and of the computed ones.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns if ``X`` had none in ``fit``. None: 'x0', 'x1' and so
            on.

        Returns
        -------
        ndarray of str
            Computed columns are named as in 'a - 0.5 b', 'a * b' and 'sold[month]'.
        """
        check_is_fitted(self)
        names = sklearn_private.names_in(self, input_features)
        return np.array(self._schema.all_names(names), dtype=object)

    def _become(self, schema: ColumnSchema) -> Self:
        """Become the transformer of a schema's columns, in one assignment."""
        learned = {"n_features_in_": schema.n_features} | self._learned(schema)
        if schema.feature_names is not None:
            learned["feature_names_in_"] = schema.feature_names
        kept = {k: v for k, v in vars(self).items() if k != "feature_names_in_"}
        self.__dict__ = kept | learned
        return self

    @property
    def _owner(self) -> str:
        """The name in messages."""
        return type(self).__name__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
