"""The fields of a `Dataset`, such as labels and weights, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import lifetimes, per_row, queries, targets
from skgoss.columns.floats import as_floats, check_no_name, check_unmasked
from skgoss.sources.source import Source
from skgoss.utils.messages import hint

# Checks a value against the number of rows; None: it is not known yet.
Check = Callable[[Any, int | None], NDArray[Any]]

# Other names that `get_field` and `set_field` accept.
_OTHER_NAMES = {"target": "label", "weights": "weight", "query": "group"}


@dataclass(frozen=True, eq=False)
class Fields:
    """The fields of a `Dataset`."""

    # The arrays belong to the data set. Fits copy them, so users may write to them.
    label: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    group: NDArray[np.int64] | None = None
    init_score: NDArray[np.float64] | None = None
    position: NDArray[Any] | None = None
    # Whether a label of two or three columns has bounds of event times and not events,
    # if it is one of survival. It is decided for all rows: a subset might differ.
    are_bounds: bool | None = None
    # Fields that will be read from columns of the data: by the name of the field, the
    # name of its column, or a list of names for labels and start scores.
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    version: int = 0  # the number of times that a field has been set

    def arrays(self) -> dict[str, NDArray[Any] | None]:
        """The fields by name."""
        return {name: getattr(self, name) for name in CHECKS}

    def with_array(self, name: str, values: Any, n_rows: int | None) -> Fields:
        """The fields with new values of one, which are checked; None removes it.

        ``n_rows`` is the number of rows of the data; None: it is not known yet.
        """
        check_no_name(values, name)
        none: Any = {name: None}
        if values is None:
            return replace(self, **none)
        return replace(self, version=self.version + 1, **_checked(name, values, n_rows))

    def with_column(self, name: str, column: str | list[str]) -> Fields:
        """The fields, with one that will be read from columns of the data."""
        none: Any = {name: None}
        return replace(self, columns={**self.columns, name: column}, **none)

    def completed(self, values: Mapping[str, Any], n_rows: int | None) -> Fields:
        """The fields, with values from the data for those that the user has not set.

        ``values`` are what the data hold, by the names of fields, and 'are_bounds';
        None, or no entry: they do not have it. ValueError if fields are invalid, or
        have another number of rows; ``n_rows`` None: it is not known yet.
        """
        self.check(n_rows)
        missing: Any = {}
        for name, array in self.arrays().items():
            if array is None and values.get(name) is not None:
                missing |= _checked(name, values[name], n_rows)
        if "label" in missing and values.get("are_bounds") is not None:
            missing["are_bounds"] = bool(values["are_bounds"])
        return replace(self, **missing)

    def added_to(self, fields: Fields) -> dict[str, NDArray[Any]]:
        """The arrays of the fields that are set here, but not in ``fields``, by name.

        They are those that were read from the data: see `RawData.found`.
        """
        arrays = self.arrays().items()
        return {n: a for n, a in arrays if a is not None and getattr(fields, n) is None}

    def without(self, arrays: Mapping[str, Any]) -> Fields:
        """The fields without those that still are ``arrays``, which are by name.

        Arrays that the user has set since are kept: they are other objects.
        """
        held = self.arrays().items()
        none: Any = {n: None for n, a in held if a is not None and a is arrays.get(n)}
        return replace(self, **none)

    def check(self, n_rows: int | None) -> None:
        """Check fields that were set before the number of rows was known."""
        for name, array in self.arrays().items():
            if array is not None:
                CHECKS[name](array, n_rows)

    def take(self, rows: NDArray[np.int64], n_rows: int) -> Fields:
        """The fields of some rows.

        ``rows`` are their numbers, ascending, and ``n_rows`` is the number of all rows.
        Queries keep only these rows. A flat start score of several classes, class by
        class, becomes one of shape (n_rows, n_scores).
        """
        taken: dict[str, Any] = {
            name: array[rows]
            for name in ("label", "weight", "position")
            if (array := getattr(self, name)) is not None
        }
        if self.group is not None:
            taken["group"] = queries.make(n_rows, group=self.group).take(rows).sizes
        if self.init_score is not None:
            scores = self.init_score.reshape(n_rows, -1, order="F")[rows]
            taken["init_score"] = scores[:, 0] if scores.shape[1] == 1 else scores
        copies: Any = {name: np.array(array) for name, array in taken.items()}
        return Fields(**copies, are_bounds=self.are_bounds)


def _checked(name: str, values: Any, n_rows: int | None) -> dict[str, Any]:
    """The values of a field as an array, checked, by the name of the field.

    For a label, also `Fields.are_bounds`: whether its columns are bounds of event
    times. ``n_rows`` None: the number of rows is not known yet.
    """
    array = np.array(CHECKS[name](values, n_rows))
    if name != "label":
        return {name: array}
    are_bounds = None
    if array.ndim == 2:
        # Other labels of several columns are several targets.
        with suppress(ValueError):
            are_bounds = lifetimes.read(values, len(array), "label").are_bounds
    return {name: array, "are_bounds": are_bounds}


def names_columns(value: Any) -> bool:
    """Whether the value of a field is the name of a column, or a list of names."""
    if isinstance(value, list):
        return len(value) > 0 and all(isinstance(name, str) for name in value)
    return isinstance(value, str)


def read_columns(
    source: Source, columns: Mapping[str, str | list[str]]
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Read fields that are columns of the data: see `Fields.columns`.

    Returns the values of the fields by their names, and those of the columns by the
    names of the columns. They are not checked. ValueError if a column does not exist.
    """
    listed = {f: [c] if isinstance(c, str) else c for f, c in columns.items()}
    values = source.values(list(dict.fromkeys(chain.from_iterable(listed.values()))))
    fields = {}
    for name, chosen in listed.items():
        if len(chosen) > 1 and name not in ("label", "init_score"):
            raise ValueError(f"{name} must be one column, got {chosen}.")
        arrays = [values[column] for column in chosen]
        fields[name] = np.column_stack(arrays) if len(arrays) > 1 else arrays[0]
        if name == "group":
            fields[name] = _query_sizes(arrays[0], chosen[0])
    return fields, values


def _query_sizes(query: NDArray[Any], column: str) -> NDArray[np.int64]:
    """The sizes of queries, from the query of each row; these must be consecutive."""
    sizes = queries.run_lengths(query)
    if len(np.unique(query)) < len(sizes):
        raise ValueError(
            f"The rows of a query must be consecutive, but those of column {column!r}"
            " are not: sort the rows by it."
        )
    return sizes


def canonical(name: str) -> str:
    """The name of a field; ValueError if it does not exist."""
    field_name = _OTHER_NAMES.get(name, name)
    if field_name not in CHECKS:
        raise ValueError(
            f"field_name must be one of {', '.join(map(repr, CHECKS))}, got"
            f" {name!r}.{hint(name, CHECKS) if isinstance(name, str) else ''}"
        )
    return field_name


def _column(values: Any, name: str) -> Any:
    """The values, in one dimension if their shape is (n, 1); others are unchanged.

    ``name`` is what errors call them.
    """
    check_unmasked(values, name)
    array = np.asarray(values) if isinstance(values, list) else values
    if np.shape(array)[1:] != (1,):
        return values
    return np.asarray(array)[:, 0]


def _check_shape(values: NDArray[Any], name: str, n_rows: int | None) -> None:
    """Check that there is one value for each row; None: any number of rows."""
    expected = (values.size if n_rows is None else n_rows,)
    if values.shape != expected:
        there = "each row" if n_rows is None else f"each of the {n_rows} rows"
        raise ValueError(
            f"{name} must have one value for {there}, got an array of shape"
            f" {values.shape}."
        )


def checked_label(values: Any, n_rows: int | None) -> NDArray[Any]:
    """A target, checked: numbers or labels of classes, in one column or several."""
    several = targets.several_columns(values, n_rows, "label")
    if several is not None:
        return several.joined()
    column = _column(values, "label")
    _check_shape(np.asarray(column), "label", n_rows)
    return targets.one_column(column, len(column), "Dataset", "label")


def checked_weight(values: Any, n_rows: int | None) -> NDArray[np.float64]:
    """The weights of rows, checked."""
    weights = per_row.weights(values, n_rows, "weight")
    if not weights.any():
        raise ValueError("weight must hold a number > 0: all weights are zero.")
    return weights


def checked_group(values: Any, n_rows: int | None) -> NDArray[np.int64]:
    """The sizes of queries, checked."""
    advice = (
        " For the query of each row, if rows are sorted by it, pass"
        " numpy.unique(qid, return_counts=True)[1]."
    )
    return queries.sizes(_column(values, "group"), n_rows, "group", advice)


def checked_init_score(values: Any, n_rows: int | None) -> NDArray[np.float64]:
    """Raw scores, checked: (n_rows,), (n_rows, n_scores), or flat, class by class.

    The number of scores is not known yet: a flat array must have a multiple of
    ``n_rows`` values.
    """
    scores = as_floats(_column(values, "init_score"), "init_score")
    length = len(scores) if scores.ndim else 0
    n_rows = length if n_rows is None else n_rows
    is_flat = scores.ndim == 1 and n_rows > 0 and length % n_rows == 0
    if length == 0 or not (is_flat or (scores.ndim == 2 and length == n_rows)):
        raise ValueError(
            "init_score must have one number, or one for each class, for each of the"
            f" {n_rows} rows, got an array of shape {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError("init_score must be finite; it contains NaN or infinity.")
    return scores


def checked_position(values: Any, n_rows: int | None) -> NDArray[Any]:
    """The positions at which documents were shown, checked."""
    return per_row.sortable(values, n_rows, "position")


CHECKS: dict[str, Check] = {
    "label": checked_label,
    "weight": checked_weight,
    "group": checked_group,
    "init_score": checked_init_score,
    "position": checked_position,
}


def row_numbers(used_indices: Any, n_rows: int) -> NDArray[np.int64]:
    """The ascending numbers of some rows, from numbers or from a mask of all rows.

    ValueError if there is no row, or one does not exist or is repeated.
    """
    check_unmasked(used_indices, "used_indices")
    numbers = np.asarray(used_indices)
    if numbers.dtype == bool:
        if numbers.shape != (n_rows,):
            raise ValueError(
                f"used_indices of bool must have the shape ({n_rows},), got"
                f" {numbers.shape}."
            )
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or len(numbers) == 0 or numbers.dtype.kind not in "iu":
        raise ValueError(
            "used_indices must be a list of numbers of rows, got an array of shape"
            f" {numbers.shape} and dtype {numbers.dtype}."
        )
    rows = np.sort(numbers).astype(np.int64)
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
