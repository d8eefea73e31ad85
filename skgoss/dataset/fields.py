"""What belongs to the rows of a `Dataset`, checked when it is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss.columns import queries, targets
from skgoss.columns.floats import as_floats, check_unmasked
from skgoss.sources.source import Source
from skgoss.utils.messages import hint

# Checks a value against the number of rows, which may not be known yet (None).
Check = Callable[[Any, int | None], NDArray[Any]]

# Other names that `get_field` and `set_field` know.
_OTHER_NAMES = {"target": "label", "weights": "weight", "query": "group"}


class Field:
    """An attribute that holds what belongs to the rows.

    It is None, or an array of its own. Fits copy it, so it may be written to.

    Parameters
    ----------
    check : callable
        Checks a value that is not None.
    """

    def __init__(self, check: Check) -> None:
        self.check = check

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, dataset: Fields | None, owner: type | None = None) -> Any:
        return self if dataset is None else vars(dataset)[self.name]

    def __set__(self, dataset: Fields, value: Any) -> None:
        if names_columns(value) and dataset._has_columns_by_name():
            named = {**dataset._by_name, self.name: value}
            vars(dataset).update({"_by_name": named, self.name: None})
            return
        if isinstance(value, str):
            raise ValueError(
                f"{self.name} must be an array, got the str {value!r}. For a column of"
                " a data frame, pass its values."
            )
        if value is not None:
            value = np.array(self.check(value, dataset._shape[0]))
            vars(dataset)["_version"] = dataset.version + 1
        vars(dataset)[self.name] = value


def names_columns(value: Any) -> bool:
    """Whether the value of a field is the name of a column, or a list of names."""
    if isinstance(value, list):
        return len(value) > 0 and all(isinstance(name, str) for name in value)
    return isinstance(value, str)


class NamedFields(NamedTuple):
    """Fields that are columns of the data.

    Attributes
    ----------
    fields : dict
        By their names.
    columns : dict
        The values of the columns, by the names of the columns.
    """

    fields: dict[str, NDArray[Any]]
    columns: dict[str, NDArray[Any]]


def of_columns(source: Source, by_name: Mapping[str, str | list[str]]) -> NamedFields:
    """Read fields that are columns of the data.

    Parameters
    ----------
    source : Source
    by_name : mapping
        The column, or several ones of start scores, by the name of the field.

    Raises
    ------
    ValueError
        If a column does not exist, or holds no such values.
    """
    listed = {f: [c] if isinstance(c, str) else c for f, c in by_name.items()}
    columns = source.values(list(dict.fromkeys(chain.from_iterable(listed.values()))))
    fields = {}
    for field, chosen in listed.items():
        if len(chosen) > 1 and field != "init_score":
            raise ValueError(f"{field} must be one column, got {chosen}.")
        values = columns[chosen[0]]
        if len(chosen) > 1:
            values = np.column_stack([columns[name] for name in chosen])
        fields[field] = _runs(values, chosen[0]) if field == "group" else values
    return NamedFields(
        {name: np.array(CHECKS[name](v, None)) for name, v in fields.items()}, columns
    )


def _runs(query: NDArray[Any], column: str) -> NDArray[np.int64]:
    """The sizes of queries, from the query of each row."""
    first = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    if len(np.unique(query)) < len(first):
        raise ValueError(
            f"The rows of a query must be consecutive, but those of column {column!r}"
            " are not: sort the rows by it."
        )
    return np.diff(np.append(first, len(query)))


def canonical(name: str) -> str:
    """The name of a field.

    Raises
    ------
    ValueError
        If the field does not exist.
    """
    known = _OTHER_NAMES.get(name, name)
    if known not in CHECKS:
        raise ValueError(
            f"field_name must be one of {', '.join(map(repr, CHECKS))}, got"
            f" {name!r}.{hint(name, CHECKS) if isinstance(name, str) else ''}"
        )
    return known


def _column(values: Any, name: str) -> Any:
    """Values of one dimension; a column of an array or data frame counts as such."""
    check_unmasked(values, name)
    if len(getattr(values, "shape", ())) != 2:
        return values
    array = np.asarray(values)
    return array[:, 0] if array.shape[1] == 1 else array


def _check_shape(values: NDArray[Any], name: str, n_rows: int | None) -> None:
    expected = (values.size if n_rows is None else n_rows,)
    if values.shape != expected:
        there = "each row" if n_rows is None else f"each of the {n_rows} rows"
        raise ValueError(
            f"{name} must have one value for {there}, got an array of shape"
            f" {values.shape}."
        )


def label(values: Any, n_rows: int | None) -> NDArray[Any]:
    """Check a target: numbers, or labels of classes."""
    values = _column(values, "label")
    _check_shape(np.asarray(values), "label", n_rows)
    return targets.one_column(values, len(values), "Dataset", "label")


def weight(values: Any, n_rows: int | None) -> NDArray[np.float64]:
    """Check weights of rows."""
    given = as_floats(_column(values, "weight"), "weight")
    _check_shape(given, "weight", n_rows)
    if not (np.isfinite(given) & (given >= 0)).all():
        wrong = given[~(np.isfinite(given) & (given >= 0))][0]
        raise ValueError(f"weight must hold finite numbers >= 0, got {wrong:g}.")
    if not given.any():
        raise ValueError("weight must hold a number > 0: all weights are zero.")
    return given


def group(values: Any, n_rows: int | None) -> NDArray[np.int64]:
    """Check sizes of queries."""
    return queries.sizes(_column(values, "group"), n_rows, "group")


def init_score(values: Any, n_rows: int | None) -> NDArray[np.float64]:
    """Check raw scores, one or several for each row."""
    given = as_floats(_column(values, "init_score"), "init_score")
    length = len(given) if given.ndim else 0
    n_rows = length if n_rows is None else n_rows
    is_flat = given.ndim == 1 and n_rows > 0 and length % n_rows == 0
    if length == 0 or not (is_flat or (given.ndim == 2 and length == n_rows)):
        raise ValueError(
            "init_score must have one number, or one for each class, for each of the"
            f" {n_rows} rows, got an array of shape {given.shape}."
        )
    if not np.isfinite(given).all():
        raise ValueError("init_score must be finite; it contains NaN or infinity.")
    return given


def position(values: Any, n_rows: int | None) -> NDArray[Any]:
    """Check the positions at which documents were shown."""
    given = np.asarray(_column(values, "position"))
    _check_shape(given, "position", n_rows)
    if queries.any_missing(given):
        raise ValueError("position contains missing values; every row needs one.")
    try:
        np.unique(given)
    except TypeError as error:
        message = f"position must hold values that can be sorted: {error}."
        raise ValueError(message) from error
    return given


CHECKS: dict[str, Check] = {
    "label": label,
    "weight": weight,
    "group": group,
    "init_score": init_score,
    "position": position,
}


def check(fields: dict[str, Any], n_rows: int | None) -> None:
    """Check values that were set before the number of rows was known."""
    for name in CHECKS:
        if fields[name] is not None:
            CHECKS[name](fields[name], n_rows)


def row_numbers(used_indices: Any, n_rows: int) -> NDArray[np.int64]:
    """The numbers of some rows, ascending.

    Parameters
    ----------
    used_indices : array-like of int, or of bool of shape (n_rows,)
        The numbers, or which rows to take.
    n_rows : int

    Raises
    ------
    ValueError
        If there is no row, or one does not exist or comes twice.
    """
    given = np.asarray(used_indices)
    if given.dtype == bool:
        if given.shape != (n_rows,):
            raise ValueError(
                f"used_indices of bool must have the shape ({n_rows},), got"
                f" {given.shape}."
            )
        given = np.flatnonzero(given)
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        raise ValueError(
            "used_indices must be a list of numbers of rows, got an array of shape"
            f" {given.shape} and dtype {given.dtype}."
        )
    rows = np.sort(given).astype(np.int64)
    if rows[0] < 0 or rows[-1] >= n_rows:
        wrong = rows[0] if rows[0] < 0 else rows[-1]
        raise ValueError(
            f"used_indices must be numbers from 0 to {n_rows - 1}, got {wrong}."
        )
    is_again = rows[1:] == rows[:-1]
    if is_again.any():
        raise ValueError(
            f"used_indices must differ, but {rows[1:][is_again][0]} comes twice. For"
            " copies of rows, set weights instead: numpy.bincount(used_indices,"
            " minlength=n_samples)."
        )
    return rows


def taken(
    fields: dict[str, Any], rows: NDArray[np.int64], n_rows: int
) -> dict[str, NDArray[Any] | None]:
    """What belongs to some of the rows.

    Parameters
    ----------
    fields : dict
        The values of all `CHECKS`, which may be None.
    rows : ndarray of int64
        Ascending.
    n_rows : int
        How many rows there are.
    """
    values = dict(fields)
    for name in ("label", "weight", "position"):
        if values[name] is not None:
            values[name] = values[name][rows]
    if values["group"] is not None:
        values["group"] = queries.make(n_rows, group=values["group"]).take(rows).sizes
    scores = values["init_score"]
    if scores is not None:
        by_row = scores.reshape(n_rows, -1, order="F")[rows]
        values["init_score"] = by_row[:, 0] if by_row.shape[1] == 1 else by_row
    return {name: v if v is None else np.array(v) for name, v in values.items()}


class Fields:
    """What belongs to the rows: an attribute, a setter and a getter for each."""

    label = Field(CHECKS["label"])
    weight = Field(CHECKS["weight"])
    group = Field(CHECKS["group"])
    init_score = Field(CHECKS["init_score"])
    position = Field(CHECKS["position"])

    _by_name: Mapping[str, str | list[str]] = MappingProxyType({})

    if TYPE_CHECKING:  # of the classes that have the rows

        def _has_columns_by_name(self) -> bool: ...

        @property
        def _shape(self) -> tuple[int | None, int | None]: ...
        def _load(self) -> Self: ...

    @property
    def version(self) -> int:
        """How often a field has been set."""
        return vars(self).get("_version", 0)

    def set_label(self, label: ArrayLike | None) -> Self:
        """Set the target. None removes it.

        Parameters
        ----------
        label : array-like of shape (n_samples,) or None
            Numbers, or labels of classes.

        Returns
        -------
        self
            The data set.
        """
        return self.set_field("label", label)

    def set_weight(self, weight: ArrayLike | None) -> Self:
        """Set the weights of the rows. None: all weights are 1.

        Parameters
        ----------
        weight : array-like of shape (n_samples,) or None
            Numbers, which are at least 0.

        Returns
        -------
        self
            The data set.
        """
        return self.set_field("weight", weight)

    def set_group(self, group: ArrayLike | None) -> Self:
        """Set the sizes of the queries. None: there are no queries.

        Parameters
        ----------
        group : array-like of shape (n_queries,) or None
            The number of rows of each query.

        Returns
        -------
        self
            The data set.
        """
        return self.set_field("group", group)

    def set_init_score(self, init_score: ArrayLike | None) -> Self:
        """Set the raw scores from which boosting starts. None: the best constant.

        Parameters
        ----------
        init_score : array-like of shape (n_samples,) or (n_samples, n_classes), or None
            Finite numbers.

        Returns
        -------
        self
            The data set.
        """
        return self.set_field("init_score", init_score)

    def set_position(self, position: ArrayLike | None) -> Self:
        """Set the positions at which documents were shown. None: they are not known.

        Parameters
        ----------
        position : array-like of shape (n_samples,) or None
            Values that can be sorted, such as numbers.

        Returns
        -------
        self
            The data set.
        """
        return self.set_field("position", position)

    def set_field(self, field_name: str, data: ArrayLike | None) -> Self:
        """Set a field, such as the labels or the weights.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}
            What to set, as the attributes are named.
        data : array-like or None
            The values, as in the constructor. None removes the field.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        ValueError
            If the field does not exist, or the values are invalid.
        """
        setattr(self, canonical(field_name), data)
        return self

    def get_label(self) -> NDArray[Any] | None:
        """Return the target: a float64 array if it holds numbers; or None.

        Returns
        -------
        ndarray of shape (n_samples,) or None
            A copy.
        """
        label = self._copy("label")
        if label is None or label.dtype.kind not in "biuf":
            return label
        return label.astype(np.float64)

    def get_weight(self) -> NDArray[np.float64] | None:
        """Return the weights of the rows, or None if all are 1.

        Returns
        -------
        ndarray of shape (n_samples,) or None
            A copy.
        """
        return self._copy("weight")

    def get_group(self) -> NDArray[np.int64] | None:
        """Return the sizes of the queries, or None if there are none.

        Returns
        -------
        ndarray of shape (n_queries,) or None
            A copy.
        """
        return self._copy("group")

    def get_init_score(self) -> NDArray[np.float64] | None:
        """Return the initial raw scores as they were passed, or None.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes), or None
            A copy.
        """
        return self._copy("init_score")

    def get_position(self) -> NDArray[Any] | None:
        """Return the positions of documents, or None.

        Returns
        -------
        ndarray of shape (n_samples,) or None
            A copy.
        """
        return self._copy("position")

    def get_field(self, field_name: str) -> NDArray[Any] | None:
        """Return a field, such as the labels or the weights.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}
            What to return, as the attributes are named.

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
        name = canonical(field_name)
        held = getattr(self, f"get_{name}")()
        if name == "group" and held is not None:
            return np.concatenate([[0], np.cumsum(held)])
        return held

    def _copy(self, name: str) -> NDArray[Any] | None:
        held = getattr(self._load(), name)
        return None if held is None else held.copy()

    @property
    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in CHECKS}
