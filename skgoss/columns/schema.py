"""The columns that a model reads, and those that it makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.categories import Categories
from skgoss.columns.columns import Columns
from skgoss.columns.computed_columns import NOTHING_COMPUTED, ComputedColumns, joined
from skgoss.utils import sklearn_private


@dataclass(frozen=True, eq=False)
class ColumnSchema:
    """The columns of a training set."""

    n_features: int
    # (n_features,): the names of a data frame's columns: ``feature_names_in_`` of an
    # estimator. None if ``X`` had no names, or not all of them were strings.
    feature_names: NDArray[Any] | None
    # The categories by column, with their dtypes: strings or numbers, ordered or not.
    categories: Categories
    # The index of the columns of the training set. An index never changes, so a frame
    # with the same index has the same names. Not saved with a model.
    pandas_index: Any = field(default=None, repr=False)
    # The dates, by number of their column: their time zone, None without one.
    dates: Mapping[int, str | None] = field(default_factory=dict)
    # The columns that the model computes itself; to trees, they follow the others.
    computed: ComputedColumns = NOTHING_COMPUTED

    @property
    def n_all_features(self) -> int:
        """The number of columns that trees may split on."""
        return self.n_features + len(self.computed)

    def all_names(self, names: list[str]) -> list[str]:
        """The names of the columns of ``X``, followed by those of computed ones."""
        return names + self.computed.names(names)

    def with_computed(self, columns: Columns, n_threads: int = 1) -> Columns:
        """The columns of ``X``, followed by those that the model computes itself."""
        return self.computed.appended_to(columns, n_threads)

    def also_computing(self, computed: ComputedColumns) -> Self:
        """The schema of a model that computes further columns."""
        return replace(self, computed=joined([self.computed, computed]))

    def with_parts_as_columns(self) -> Self:
        """The schema of what `DateFeatures` returns: parts of dates are columns."""
        parts, names = self.computed.parts, self.feature_names
        if names is not None:
            known = names.tolist()
            names = np.array([*known, *parts.names(known)], dtype=object)
        return replace(
            self,
            n_features=self.n_features + len(parts),
            feature_names=names,
            dates={},
            computed=self.computed.pairs,
        )

    def shared_out(
        self, values: NDArray[Any], axis: int = -1, fraction: float = 0.5
    ) -> NDArray[Any]:
        """Numbers of all columns as numbers of the columns of ``X``.

        See `ComputedColumns.shared_out`.
        """
        return self.computed.shared_out(values, self.n_features, axis, fraction)

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
