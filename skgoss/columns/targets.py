"""Targets: numbers, and encoded labels."""

from __future__ import annotations

import numbers as numbers_
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from skgoss._engine.columns import code_kernels
from skgoss.columns.column_advice import how_to_convert
from skgoss.columns.dtypes import is_missing
from skgoss.columns.floats import as_floats, check_real, check_unmasked
from skgoss.distributed.row_partition import Parts, RowPartition
from skgoss.utils.messages import type_name, warn

Floats = NDArray[np.float64]

# Up to this range, integers are counted and looked up, which is faster than to sort
# them.
_MAX_COUNTED_RANGE = 65535

# The types of labels in arrays of objects, and what to convert these to.
_TYPES_OF_OBJECTS: list[tuple[Any, str]] = [
    (bool | np.bool_, "bool"),
    (numbers_.Integral, "int"),
    (numbers_.Real, "float"),
]

# A sum of absolute values can only overflow if this bound of it is exceeded.
_LARGEST_SUM = 1e300


class TargetColumns(NamedTuple):
    """Several targets, and their names in messages."""

    columns: list[NDArray[Any]]
    names: list[str]
    keys: Sequence[Any] = ()  # the names or numbers of the columns themselves

    def joined(self) -> NDArray[Any]:
        """An array of shape (n_rows, n_targets), of objects if types differ."""
        dtypes = {column.dtype for column in self.columns}
        if len(dtypes) == 1 or all(dtype.kind in "biuf" for dtype in dtypes):
            return np.column_stack(self.columns)
        return np.column_stack([column.astype(object) for column in self.columns])


def several_columns(
    y: Any, n_rows: int | None, name: str = "y"
) -> TargetColumns | None:
    """The columns of a target that has several; None if it has one.

    Columns of a data frame, and fields of a structured array, may have different types.
    Masked values are None. ValueError if there are not ``n_rows`` rows, unless this is
    None, or the target is a sparse matrix.
    """
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if y is None or (type(y) is np.ndarray and y.ndim == 1 and not fields):
        return None
    if sp.issparse(y):
        raise ValueError(f"{name} must not be a sparse matrix: pass {name}.toarray().")
    is_array = isinstance(y, np.ndarray)
    try:
        frame = y if is_array else nw.from_native(y, eager_only=True, pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"The columns of {name} must have different names.") from error
    keys: list[Any]
    if fields:
        keys, names = list(fields), [f"field {field!r} of {name}" for field in fields]
        columns = [_unmasked(y[field]) for field in fields]
    elif isinstance(frame, nw.DataFrame):
        keys = list(frame.columns)
        names = [f"column {column!r} of {name}" for column in keys]
        columns = [frame[:, j].to_numpy() for j in range(len(names))]
    else:
        array = y if np.ma.isMaskedArray(y) else _as_array(y, name)
        if array.ndim != 2:
            return None
        if array.shape == (1, n_rows) and n_rows != 1:
            raise ValueError(
                f"{name} must have one value for each of the {n_rows} rows, got an"
                f" array of shape {array.shape}: pass {name}.ravel()."
            )
        keys = list(range(array.shape[1]))
        names = [f"column {j} of {name}" for j in keys]
        columns = [_unmasked(column) for column in array.T]
    if len(columns) < 2:
        return None
    _check_length(columns[0], n_rows, name)
    return TargetColumns(columns, names, keys)


def _as_array(y: Any, name: str) -> NDArray[Any]:
    """A target as an array; ValueError if it has rows of different lengths."""
    try:
        return np.asarray(y)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"The rows of {name} must have the same number of values. If they are the"
            " labels of each row, pass"
            f" sklearn.preprocessing.MultiLabelBinarizer().fit_transform({name})."
        ) from error


def _unmasked(values: Any) -> NDArray[Any]:
    """The values as an array, with None for those that are masked."""
    array = np.asarray(values)
    if np.ma.is_masked(values):
        array = array.astype(object)
        array[np.ma.getmaskarray(values)] = None
    return array


def one_column(y: Any, n_rows: int, owner: str, name: str = "y") -> NDArray[Any]:
    """A target in one dimension, of any dtype, from an array of shape (n_rows[, 1]).

    ValueError if the shape is wrong, or values are missing or infinite.
    """
    if y is None:
        raise ValueError(
            f"This {owner} estimator requires {name} to be passed, but the target"
            f" {name} is None."
        )
    if not _is_plain(y):
        check_unmasked(y, name)
        check_real(y, name)
        y = y if hasattr(y, "shape") else _as_array(y, name)
        try:
            y = column_or_1d(y, warn=True)
        except ValueError as error:
            message = str(error).replace("y should be", f"{name} should be")
            advice = (
                " Several columns need an LGBMRegressor, for several targets,"
                " or an LGBMClassifier, for targets or soft labels, with rows in memory"
                " or a Dataset."
            )
            if np.ndim(y) == 0:
                got, n = type_name(y.item()), n_rows
                advice = f" Pass one value for each of the {n} rows, not one {got}."
            raise ValueError(f"{message}{advice}") from error
        check_complete(y, name)
    _check_length(y, n_rows, name)
    return y


def scored(y: Any, n_rows: int, owner: str) -> Floats:
    """A target that predictions are compared with, of one or several columns.

    If it has several columns, missing values are NaN. ValueError as in training.
    """
    several = several_columns(y, n_rows)
    if several is None:
        return numbers(one_column(y, n_rows, owner), owner)
    return np.column_stack(
        [
            numbers(column, owner, name, may_be_missing=True)
            for column, name in zip(several.columns, several.names, strict=True)
        ]
    )


def _is_plain(y: Any) -> bool:
    """Whether scikit-learn would accept ``y`` as it is.

    Its validation takes longer than a round on a few hundred rows.
    """
    if type(y) is not np.ndarray or y.ndim != 1:
        return False
    return y.dtype.kind in "biu" or (y.dtype.kind == "f" and bool(np.isfinite(y).all()))


def check_complete(y: NDArray[Any], name: str) -> None:
    """Raise ValueError if a value is missing or infinite."""
    try:
        _check_finite(y, name)
        if y.dtype == object and any(value is None for value in y):
            raise ValueError("None")
    except (TypeError, ValueError) as error:  # NA of pandas has no truth value
        if y.dtype != object:
            raise
        row = next(i for i, value in enumerate(y) if is_missing(value))
        raise ValueError(
            f"Input {name} contains missing values (NaN, NaT or NA): row {row} is"
            f" {y[row]!r}. Leave out rows without a target."
        ) from error
    if y.dtype.kind in "mM" and np.isnat(y).any():
        raise ValueError(f"Input {name} contains missing values: NaT.")


def _check_length(y: NDArray[Any], n_rows: int | None, name: str) -> None:
    if n_rows is not None and len(y) != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples:"
            f" {[n_rows, len(y)]} ({name} is the last)"
        )


def numbers(
    y: NDArray[Any], owner: str, name: str = "y", *, may_be_missing: bool = False
) -> Floats:
    """A numeric target as float64: a copy, because kernels use labels as indices.

    ValueError if a value is not a number, or too large for float64; or if one is NaN or
    None, unless they ``may_be_missing``.
    """
    if _is_plain(y) and np.can_cast(y.dtype, np.float64):
        return y.astype(np.float64)
    try:
        target = np.array(as_floats(y, name))
    except ValueError as error:
        advice = _advice_for_target(y, name)
        each = " Labels and numbers need a model each." if may_be_missing else ""
        raise ValueError(
            f"{error} {owner} needs numbers as targets.{advice}{each}"
        ) from error
    present = np.where(np.isnan(target), 0.0, target) if may_be_missing else target
    _check_finite(present, name)
    return target


def _advice_for_target(y: NDArray[Any], name: str) -> str:
    """What to do with a target that is not numbers."""
    if y.dtype.kind == "M":
        return f" Days are ({name} - {name}.min()) / numpy.timedelta64(1, 'D')."
    if y.dtype.kind == "m":
        return f" Days are {name} / numpy.timedelta64(1, 'D')."
    words = [value for value in y.ravel().tolist() if isinstance(value, str)]
    how = how_to_convert(y, _code_of(name), words) if words else ""
    if how:
        return f" Convert the text{how}."
    return " For labels, use LGBMClassifier."


def _code_of(name: str) -> str:
    """The code of a target by its name in messages, as `several_columns` makes it."""
    if (found := re.fullmatch(r"(column|field) (.*) of (\w+)", name)) is None:
        return name
    _, key, owner = found.groups()
    return f"{owner}[:, {key}]" if key.isdecimal() else f"{owner}[{key}]"


def _check_finite(values: NDArray[Any], name: str) -> None:
    """Raise scikit-learn's error for values that are not finite, and name the row."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            assert_all_finite(values, input_name=name)
    except ValueError as error:
        if values.dtype.kind != "f":
            raise
        row = int(np.argmin(np.isfinite(values)))
        is_nan = np.isnan(values[row])
        advice = "Leave out rows without a target" if is_nan else "Replace it"
        raise ValueError(
            f"{str(error).rstrip('.')}: row {row} is {values[row]}. {advice}."
        ) from error


def check_sum(
    target: Floats,
    weight: Floats | None,
    name: str,
    partition: RowPartition | None = None,
) -> None:
    """Check that the weighted sum of a target is finite, so that it has a mean."""
    if weight is None and partition is None and len(target):
        # No sum exceeds the number of values times the largest one, unless one is NaN.
        largest = max(-float(target.min()), float(target.max()))
        if largest * target.size <= _LARGEST_SUM:
            return
    with np.errstate(over="ignore"):
        sizes = np.abs(target if weight is None else target.T * weight)
        total = np.nansum(sizes)
        if partition is not None:
            total = np.sum(partition.collectives.all_gather(total))
    if not np.isfinite(total):
        raise ValueError(
            f"The values of {name} are too large: their sum, by weight, overflows."
            f" Divide {name} by a constant."
        )


def classes(y: NDArray[Any], parts: Parts | None = None) -> NDArray[Any]:
    """The sorted labels of a target; with ``parts``, those of all processes.

    Values that cannot be labels raise ValueError.
    """
    if y.dtype.kind == "S" or (len(y) and isinstance(y[0], bytes)):
        raise ValueError(
            "y holds bytes, which cannot be labels. Decode them to strings, for example"
            " with numpy.char.decode(numpy.array(y, dtype=bytes))."
        )
    try:
        labels, n_rows = _distinct(y), len(y)
        if parts is not None:
            parts.check_kind("y", y)
            n_rows = parts.collectives.total(n_rows)
            # The empty array of a process without rows may have another type.
            rank_labels = [
                labels for _, labels in parts.gather_from_ranks_with_rows(labels)
            ]
            labels = np.unique(np.concatenate(rank_labels))
        if labels.dtype.kind not in "biu":
            # Repeated, so that scikit-learn does not warn of too many labels.
            n_more = len(labels) + 1
            _check_labels(np.append(labels, labels[:1].repeat(n_more)))
    except TypeError as error:
        is_complete = not any(map(is_missing, y.flat))
        advice = (
            " Convert them to one type, for example [str(label) for label in y]."
            if is_complete
            else " Leave out rows without a target."
        )
        message = f"y must be labels that can be sorted: {error}.{advice}"
        raise ValueError(message) from error
    if 5 * len(labels) > n_rows:
        _warn_of_many(labels, n_rows)
    if labels.dtype.kind in ("O", "T", "U"):
        _warn_of_alike(labels)
    return labels


def _warn_of_many(labels: NDArray[Any], n_rows: int) -> None:
    """Warn of labels with few rows each, which may be numbers instead of classes.

    The limits are scikit-learn's. Numbers with gaps, or floats that begin elsewhere
    than codes of classes do, must not be as many.
    """
    n, few, words = len(labels), 2, "two"
    kind = labels.dtype.kind
    if n > 20 and kind in "iuf" and 2 * n <= n_rows:
        first, last = float(labels[0]), float(labels[-1])
        # Encoders number labels from 0, some as floats.
        if last - first > 4 / 3 * n or (kind == "f" and first not in (0.0, 1.0)):
            few, words = 5, "five"
    if n_rows > 20 and few * n > n_rows:
        warn(
            f"y has {n} different labels in {n_rows} rows: classes have fewer than"
            f" {words} rows on average. For numbers, use LGBMRegressor."
        )


def _warn_of_alike(labels: NDArray[Any]) -> None:
    """Warn of labels that differ only in surrounding spaces, or in case.

    The case of single letters may have a meaning.
    """
    found: dict[str, list[str]] = {}
    for label in labels.tolist():
        if isinstance(label, str):
            word = label.strip()
            key = word if len(word) == 1 else word.casefold()
            found.setdefault(key, []).append(label)
    alike = next((names for names in found.values() if len(names) > 1), None)
    if alike is not None:
        is_case = len({label.strip() for label in alike}) > 1
        what, join = "surrounding spaces", "strip()"
        if is_case:
            what, join = "case or surrounding spaces", "strip().casefold()"
        warn(
            f"y has labels that differ only in {what}, which are different classes:"
            f" {', '.join(map(repr, alike))}. To join them, pass [label.{join} for"
            " label in y]. To keep them, give them names that differ more."
        )


def as_labels(keys: Sequence[Any]) -> NDArray[Any]:
    """The names or numbers of columns as labels; objects if their types differ."""
    is_alike = len({type(key) for key in keys}) == 1
    return np.array(keys) if is_alike else np.array(keys, dtype=object)


def _distinct(y: NDArray[Any]) -> NDArray[Any]:
    """The values of an array, sorted."""
    if len(y) == 0 or y.dtype.kind not in "bi":
        return np.unique(y)
    low = int(y.min())
    n_codes = int(y.max()) - low + 1
    if n_codes > _MAX_COUNTED_RANGE:
        return np.unique(y)
    codes = _as_integers(y)
    occurs = code_kernels.occurring(codes, low, n_codes)
    return (np.flatnonzero(occurs[:-1]) + low).astype(y.dtype)


def _as_integers(values: NDArray[Any]) -> NDArray[np.signedinteger[Any]]:
    """Integers or booleans as kernels read them."""
    if values.dtype.kind == "b":
        return values.view(np.int8)
    is_plain = values.dtype.isnative and values.flags.aligned
    return values if is_plain else values.astype(np.int64)


def _check_labels(labels: NDArray[Any]) -> None:
    """Raise scikit-learn's error for values that are not labels, with advice."""
    try:
        check_classification_targets(labels)
    except ValueError as error:
        advice = "For numbers, use LGBMRegressor."
        if labels.dtype.kind == "f" and 0 <= labels[0] <= labels[-1] <= 1:
            advice += (
                " For probabilities of classes (soft labels), set"
                " objective='cross_entropy' and pass a column for each class."
            )
        text = f"{error} {advice}"
        for kinds, type_ in _TYPES_OF_OBJECTS:
            if labels.dtype == object and all(
                isinstance(label, kinds) for label in labels
            ):
                text = (
                    f"Unknown label type: y is an array of objects that holds {type_}"
                    f" values: pass numpy.array(y, dtype={type_})."
                )
                break
        raise ValueError(text) from error


def encode_labels(
    y: NDArray[Any], labels: NDArray[Any], name: str, source: str
) -> Floats:
    """Encode labels as numbers from 0 to n_classes - 1, as a LabelEncoder does.

    ValueError if ``y`` holds labels that are not among ``labels``. The message has the
    ``name`` of ``y``, and the ``source`` of ``labels``.
    """
    if len(y) == 0:
        return np.empty(0)
    target = _looked_up(y, labels)
    if target is None:
        target = _searched(y, labels)
    is_strange = np.isnan(target)
    if is_strange.any():
        raise ValueError(
            f"{name} holds labels that {source} does not hold:"
            f" {np.unique(y[is_strange]).tolist()}."
        )
    return target


def _looked_up(y: NDArray[Any], labels: NDArray[Any]) -> Floats | None:
    """The numbers of labels by a table; values that are not labels become NaN.

    None if the labels are not integers of a small range.
    """
    if y.dtype.kind not in "bi" or labels.dtype.kind not in "bi":
        return None
    codes = labels.astype(np.int64)
    low = int(codes.min())
    n_codes = int(codes.max()) - low + 1
    if n_codes > _MAX_COUNTED_RANGE:
        return None
    table = np.full(n_codes + 1, np.nan)
    table[codes - low] = np.arange(len(labels))
    return code_kernels.translated(_as_integers(y), low, table)


def _searched(y: NDArray[Any], labels: NDArray[Any]) -> Floats:
    """The numbers of labels by binary search; values that are not labels become NaN."""
    are_numbers = y.dtype.kind in "biuf" and labels.dtype.kind in "biuf"
    is_label = None if are_numbers else np.isin(y, labels)
    if is_label is not None and not is_label.all():
        # Values of other types have no order among the labels.
        return np.where(is_label, 0.0, np.nan)
    if are_numbers and len(labels) == 2 and labels[0] < labels[1]:
        codes = (y == labels[1]).astype(np.intp)
    else:
        order = np.argsort(labels)
        at = np.searchsorted(labels, y, sorter=order)
        codes = order.take(at, mode="clip")
    target = codes.astype(np.float64)
    if are_numbers:
        target[labels[codes] != y] = np.nan
    return target
