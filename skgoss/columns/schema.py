"""What a model knows of the columns that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.categories import Categories
from skgoss.utils import sklearn_private


@dataclass(frozen=True, eq=False)
class ColumnSchema:
    """The columns of a training set: their number, names and categories."""

    n_features: int
    # (n_features,): the names of a data frame's columns: ``feature_names_in_`` of an
    # estimator. None if ``X`` had no names, or not all of them were strings.
    feature_names: NDArray[Any] | None
    # The categories by column, with their dtypes: strings or numbers, ordered or not.
    categories: Categories
    # The index of the columns of the training set. An index never changes, so a frame
    # with the same index has the same names. Not saved with a model.
    pandas_index: Any = field(default=None, repr=False)

    def check(self, X: Any, owner: str, *, by_name: bool = True) -> None:
        """Check the number and names of columns by scikit-learn's rules.

        Names are only checked ``by_name``. ValueError with scikit-learn's messages.
        UserWarning if only one of ``X`` and the training set had names.
        """
        if by_name:
            sklearn_private.check_feature_names(X, self.feature_names, owner)
        sklearn_private.check_n_features(X, self.n_features, owner)

    def has_names(self, names: list[Any] | None) -> bool:
        """Whether the columns of the training set had these names, all of them str."""
        fitted = self.feature_names
        if fitted is None or names is None or names != fitted.tolist():
            return False
        return set(map(type, names)) == {str}

    def has_index(self, index: Any) -> bool:
        """Whether a pandas index is that of the columns of the training set."""
        fitted = self.pandas_index
        return fitted is not None and fitted.is_(index)


def check_names(names: Any, n_features: int) -> None:
    """Check ``feature_names_in_``; ValueError if they are not one for each column."""
    is_array = isinstance(names, np.ndarray) and names.shape == (n_features,)
    if not is_array or not all(isinstance(name, str) for name in names.tolist()):
        raise ValueError(f"feature_names_in_ must be an array of {n_features} names")
