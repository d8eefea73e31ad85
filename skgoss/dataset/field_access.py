"""The fields of a `Dataset`, such as labels and weights, as attributes and methods."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.fields import Fields
from skgoss.dataset.preparation import BinnedOnDemand
from skgoss.parameters import docstrings


class _FieldAttribute:
    """An attribute of a `Dataset` that is one of its fields."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, dataset: FieldAccess | None, owner: type | None = None) -> Any:
        return self if dataset is None else getattr(dataset._fields, self.name)

    def __set__(self, dataset: FieldAccess, value: Any) -> None:
        with dataset._lock:
            dataset._fields = dataset._with_field(self.name, value)


@docstrings.describe_chain("The data set.")
class FieldAccess(BinnedOnDemand):
    """Labels, weights, queries, start scores and positions of a `Dataset`."""

    label = _FieldAttribute()
    weight = _FieldAttribute()
    group = _FieldAttribute()
    init_score = _FieldAttribute()
    position = _FieldAttribute()

    @property
    def version(self) -> int:
        """The number of times that a field has been set."""
        return self._fields.version

    def _with_field(self, name: str, value: Any) -> Fields:
        """The fields with another value of one.

        A name, or a list of names, means columns of the data if these have names and
        are not read yet; else it is checked as an array.
        """
        is_named = dataset_fields.names_columns(value)
        if is_named and self._binned is None and self._raw.has_named_columns:
            return self._fields.with_column(name, value)
        return self._fields.with_array(name, value, self._shape[0])

    @docstrings.describe_setter(
        "array-like of shape (n_samples,) or None", "Numbers, or labels of classes."
    )
    def set_label(self, label: ArrayLike | None) -> Self:
        """Set the target. None removes it."""
        return self.set_field("label", label)

    @docstrings.describe_setter(
        "array-like of shape (n_samples,) or None", "Numbers >= 0."
    )
    def set_weight(self, weight: ArrayLike | None) -> Self:
        """Set the weights of the rows. None: all weights are 1."""
        return self.set_field("weight", weight)

    @docstrings.describe_setter(
        "array-like of shape (n_queries,) or None", "The number of rows of each query."
    )
    def set_group(self, group: ArrayLike | None) -> Self:
        """Set the sizes of the queries. None: there are no queries."""
        return self.set_field("group", group)

    @docstrings.describe_setter(
        "array-like of shape (n_samples,) or (n_samples, n_classes), or None",
        "Finite numbers.",
    )
    def set_init_score(self, init_score: ArrayLike | None) -> Self:
        """Set the raw scores from which boosting starts. None: the best constant."""
        return self.set_field("init_score", init_score)

    @docstrings.describe_setter(
        "array-like of shape (n_samples,) or None",
        "Values that can be sorted, such as numbers.",
    )
    def set_position(self, position: ArrayLike | None) -> Self:
        """Set the positions at which documents were shown. None: unknown."""
        return self.set_field("position", position)

    def set_field(self, field_name: str, data: ArrayLike | None) -> Self:
        """Set a field, such as the labels or the weights.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}
            The name of the field.
        data : array-like or None
            The values, as in the constructor. None removes the field.

        Raises
        ------
        ValueError
            If the field does not exist, or the values are invalid.
        """
        setattr(self, dataset_fields.canonical(field_name), data)
        return self

    @docstrings.describe_getter("(n_samples,)")
    def get_label(self) -> NDArray[Any] | None:
        """Return the target: a float64 array if it holds numbers; or None."""
        label = self._copy("label")
        if label is None or label.dtype.kind not in "biuf":
            return label
        return label.astype(np.float64)

    @docstrings.describe_getter("(n_samples,)")
    def get_weight(self) -> NDArray[np.float64] | None:
        """Return the weights of the rows, or None if all are 1."""
        return self._copy("weight")

    @docstrings.describe_getter("(n_queries,)")
    def get_group(self) -> NDArray[np.int64] | None:
        """Return the sizes of the queries, or None if there are none."""
        return self._copy("group")

    @docstrings.describe_getter("(n_samples,) or (n_samples, n_classes),")
    def get_init_score(self) -> NDArray[np.float64] | None:
        """Return the initial raw scores as they were passed, or None."""
        return self._copy("init_score")

    @docstrings.describe_getter("(n_samples,)")
    def get_position(self) -> NDArray[Any] | None:
        """Return the positions of documents, or None."""
        return self._copy("position")

    def get_field(self, field_name: str) -> NDArray[Any] | None:
        """Return a field, such as the labels or the weights.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}
            The name of the field.

        Returns
        -------
        ndarray or None
            For 'group': the index of the first row of each query, followed by the
            number of rows.

        Raises
        ------
        ValueError
            If the field does not exist.
        """
        name = dataset_fields.canonical(field_name)
        held = getattr(self, f"get_{name}")()
        if name == "group" and held is not None:
            return np.concatenate([[0], np.cumsum(held)])
        return held

    def _copy(self, name: str) -> NDArray[Any] | None:
        """A copy of a field, for which the data are opened first; None: not set."""
        array = getattr(self._load(), name)
        return None if array is None else array.copy()
