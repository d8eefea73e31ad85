"""From arrays, data frames and sparse matrices to typed columns.

All containers are read by `_ColumnReader.read`. Data frames of any library that
narwhals supports are read; a class in `dataframes` reads the columns of one in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Number
from os import PathLike
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from skgoss._engine.columns.column_kernels import locate_all
from skgoss.columns import (
    categories,
    column_advice,
    dataframes,
    dates,
    dtypes,
    merged_schema,
    sparse,
)
from skgoss.columns.categories import Categories
from skgoss.columns.columns import KIND_OF_DTYPE, Columns, ColumnsBuilder, as_kind
from skgoss.columns.computed_columns import NOTHING_COMPUTED
from skgoss.columns.floats import as_floats, check_real
from skgoss.columns.names import check as check_count
from skgoss.columns.names import numbered as numbered_columns
from skgoss.columns.schema import ColumnSchema
from skgoss.columns.stacked import Stack, StackedColumns
from skgoss.utils import sklearn_private, thread_counts
from skgoss.utils.messages import one_line, type_name

_READABLE = frozenset(
    {
        nw.Boolean,
        *(nw.Int8, nw.Int16, nw.Int32, nw.Int64),
        *(nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64),
        *(nw.Float16, nw.Float32, nw.Float64),
    }
)


_FLOATS = frozenset(map(np.dtype, (np.float64, np.float32)))


def learned(
    X: Any,
    *,
    owner: str,
    categorical_feature: Any = "auto",
    reads_dates: bool = False,
    n_jobs: int | None = 1,
) -> tuple[Columns, ColumnSchema]:
    """Read the columns of a training set by scikit-learn's rules.

    ``X`` is an ndarray, list, sparse matrix or array, any data frame that narwhals
    reads (pandas, polars, pyarrow Table; lazy ones are collected), or anything else
    that exports an Arrow schema, such as a pyarrow RecordBatch. Or it is a `Stack` of
    those, whose columns are then `StackedColumns`. Numbers are not copied; NaN and
    infinities are kept, nulls and masked values become NaN. If ``reads_dates``, dates
    become days since 1970; in a `Stack`, they are an error.

    ValueError, with scikit-learn's messages, if the shape is wrong, or if a column does
    not hold numbers, if `categorical_feature` lists an unknown column, or if the arrays
    of a sparse matrix are inconsistent. TypeError, with scikit-learn's messages, for
    arrays of objects that are not numbers, and for names of which only some are
    strings.
    """
    if isinstance(X, Stack):
        read = partial(
            learned,
            owner=owner,
            categorical_feature=categorical_feature,
            n_jobs=n_jobs,
        )
        stacked, schema = merged_schema.from_pieces(X.read(read), X.locations)
        return cast(Columns, stacked), schema
    reader = _ColumnReader(
        owner, None, categorical_feature, reads_dates=reads_dates, n_jobs=n_jobs
    )
    columns = reader.read(X)
    return columns, reader.schema


def columns(
    X: Any,
    schema: ColumnSchema,
    *,
    owner: str,
    by_name: bool = True,
    n_jobs: int | None = 1,
) -> Columns:
    """Read columns that must be those of a training set, and compute others from them.

    Its categories are looked up. TypeError and ValueError as in `learned`, and if the
    number of columns or their names differ. The names of a data frame are only checked
    if ``by_name``.
    """
    if isinstance(X, Stack):
        read = partial(
            columns, schema=schema, owner=owner, by_name=by_name, n_jobs=n_jobs
        )
        return cast(Columns, StackedColumns(tuple(X.read(read))))
    reader = _ColumnReader(owner, schema, by_name=by_name, n_jobs=n_jobs)
    found = reader.read(X)
    if schema.computed is NOTHING_COMPUTED:
        return found
    return schema.with_computed(found, thread_counts.n_threads(n_jobs))


@dataclass(frozen=True)
class Reading:
    """How the columns of a training set are read."""

    # The names that the user gave the columns; None: those in the data.
    names: Sequence[str] | None
    categorical: Any  # `categorical_feature`: 'auto', None, or names and numbers
    # The columns that there must be, such as those of a model; None: they are learned.
    schema: ColumnSchema | None
    n_jobs: int | None = 1
    reads_dates: bool = False  # whether dates are learned, and not an error

    @property
    def numbered(self) -> Any:
        """The option `categorical_feature` with the numbers of named columns."""
        if self.names is None:
            return self.categorical
        return numbered_columns(self.categorical, self.names)

    def read(
        self, X: Any, owner: str, *, by_name: bool = True
    ) -> tuple[Columns, ColumnSchema]:
        """Read the columns.

        ``by_name`` says whether their names must be those of the schema. ValueError if
        the data are not valid, or columns are not those of the schema.
        """
        schema = self.schema
        if schema is None:
            categorical = self.categorical if self.names is None else self.numbered
            values, schema = learned(
                X,
                owner=owner,
                categorical_feature=categorical,
                reads_dates=self.reads_dates,
                n_jobs=self.n_jobs,
            )
        else:
            values = columns(
                X, schema, owner=owner, by_name=by_name, n_jobs=self.n_jobs
            )
        if self.names is not None:
            check_count(self.names, schema.n_features)
        return values, schema


# Types that users pass as data sets, but that are none.
_NOT_ROWS = (str, PathLike, Mapping, Iterator, set, frozenset, type(None))


# What holds the rows of data sets of other libraries, by the library.
_FOREIGN_ROWS = {
    "catboost": "X.get_features()",
    "lightgbm": "X.data",
    "xgboost": "X.get_data()",
}


def _check_not_foreign(X: Any) -> None:
    """Raise TypeError for a data set of another library."""
    library = type(X).__module__.partition(".")[0]
    if library in _FOREIGN_ROWS:
        raise TypeError(
            "X must be an array, a data frame or a sparse matrix, got a"
            f" {type_name(X)}. Pass what it was made from, or"
            f" {_FOREIGN_ROWS[library]}."
        )


def _wrong_value_hint(X: Any) -> str:
    """The end of an error: the first value that is neither a number nor a string."""
    for (row, column), value in np.ndenumerate(
        np.atleast_2d(np.array(X, dtype=object))
    ):
        if not isinstance(value, Number | str | bytes | None):
            return (
                f" Row {row} of column {column} is a {type_name(value)}. Pass a data"
                " frame, in which estimators read dates, convert dates to numbers, such"
                " as days since a date, or drop the column."
            )
    return ""


class _ColumnReader:
    """Reads one data set. Without a schema it is a training set, and gets a schema."""

    schema: ColumnSchema  # that of a training set is set while it is read

    def __init__(
        self,
        owner: str,
        schema: ColumnSchema | None,
        categorical_feature: Any = "auto",
        by_name: bool = True,
        reads_dates: bool = False,
        n_jobs: int | None = 1,
    ) -> None:
        self.owner = owner
        if schema is not None:
            self.schema = schema
        self.learns = schema is None
        self.categorical_feature = categorical_feature
        self.by_name = by_name
        self.reads_dates = reads_dates
        self.n_jobs = n_jobs

    @property
    def categories(self) -> Categories:
        return self.schema.categories

    def read(self, X: Any) -> Columns:
        """The columns of any container."""
        if self._is_plain(X):
            if self.learns:
                self._set_or_check(X, None)
            return self._with_categories(_matrix_columns(X), set())
        if issparse(X):
            sparse.check(X, thread_counts.n_threads(self.n_jobs))
            X = self._validated(X, accept_sparse=True, dtype="numeric")
            return self._with_categories(sparse.columns(X), set())
        frame = dataframes.as_dataframe(X)
        if frame is not None:
            return self._frame_columns(frame)
        _check_not_foreign(X)
        is_list = isinstance(X, list) and X
        if isinstance(X[0], Mapping) if is_list else isinstance(X, _NOT_ROWS):
            raise TypeError(
                "X must be an array, a data frame or a sparse matrix, got"
                f" {'a list of dicts' if is_list else f'a {type_name(X)}'}. Read a file"
                " with pandas.read_csv, convert a generator with"
                " numpy.array(list(rows)), and dicts with pandas.DataFrame."
            )
        if np.ma.is_masked(X):
            X = _filled(X)
        check_real(X, "X")
        try:
            dtype = object if self._is_mixed(X) else "numeric"
            array = self._validated(X, dtype=dtype)
        except ValueError as error:
            n_features = None if self.learns else self.schema.n_features
            advice = (
                _ragged_error(X)
                or _not_2d_error(X, n_features)
                or _string_error(X, learns=self.learns)
            )
            if not advice:
                raise
            raise ValueError(advice) from error
        return self._array_columns(array)

    def _array_columns(self, array: NDArray[Any]) -> Columns:
        """The columns of a validated array."""
        if array.dtype == object:
            return self._object_columns(array)
        if array.dtype.kind == "M":
            return self._date_columns(array)
        columns = _matrix_columns(as_kind(array, "X"))
        return self._with_categories(columns, encoded=set())

    def _validated(self, X: Any, **options: Any) -> Any:
        """``X``, validated by scikit-learn. NaN and infinities are allowed."""
        names = self._checked_names(X)
        try:
            array = check_array(
                X,
                ensure_all_finite=False,
                estimator=self.owner,
                input_name="X",
                **options,
            )
        except OverflowError as error:
            raise ValueError(f"X must hold numbers: {error}.") from error
        except TypeError as error:
            raise TypeError(
                f"X must hold numbers: {error}.{_wrong_value_hint(X)}"
            ) from error
        reads_dates = self.reads_dates if self.learns else bool(self.schema.dates)
        if array.dtype.kind in ("m" if reads_dates else "mM"):
            raise ValueError(column_advice.unusable_array(array.dtype))
        self._set_or_check(array, names)
        return array

    def _checked_names(self, X: Any) -> NDArray[Any] | None:
        """The names of the columns, which must be those of the training set."""
        if self.learns:
            return sklearn_private.feature_names(X)
        if self.by_name:
            sklearn_private.check_feature_names(
                X, self.schema.feature_names, self.owner
            )
        return None

    def _set_or_check(
        self, X: Any, names: NDArray[Any] | None, index: Any = None
    ) -> None:
        """Set the schema of a training set, or check the number of columns."""
        if not self.learns:
            sklearn_private.check_n_features(X, self.schema.n_features, self.owner)
            return
        n_features = X.shape[1]
        declared = Categories(set())
        if not isinstance(self.categorical_feature, str):
            declared = categories.declare(self.categorical_feature, names, n_features)
        self.schema = ColumnSchema(n_features, names, declared, index)

    def _is_plain(self, X: Any) -> bool:
        """Whether scikit-learn would return ``X`` as it is, without a warning.

        Its validation takes longer than the prediction of a row.
        """
        return (
            type(X) is np.ndarray
            and X.dtype in _FLOATS
            and X.ndim == 2
            and X.flags.aligned
            and 0 not in X.shape
            and (
                self.learns
                or (
                    X.shape[1] == self.schema.n_features
                    and not self.schema.dates
                    and not (self.by_name and self.schema.feature_names is not None)
                )
            )
        )

    def _is_mixed(self, X: Any) -> bool:
        """Whether an array of objects or strings has columns of other values."""
        if self.learns:
            has_others = categories.are_declared(self.categorical_feature)
        else:
            has_others = bool(self.categories.vocabularies or self.schema.dates)
        if not has_others:
            return False
        dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
        return getattr(dtype, "kind", "f") in "OUST"

    def _with_categories(self, data: Columns, encoded: set[int]) -> Columns:
        """Encode the categories of all columns except those that are encoded.

        ValueError if a column of dates is not among these, unless all are missing.
        """
        for j in self.schema.dates:
            if j not in encoded and not np.isnan(data.stored(j)).all():
                raise dates.not_dates(self._name(j), "numbers")
        fitted = self.schema.categories
        if not (fitted.vocabularies or fitted.declared):
            return data
        names: Any = self.schema.feature_names
        if names is None:
            names = range(data.n_features)
        return self.categories.encode_numbers(data, names, encoded, learn=self.learns)

    def _frame_columns(self, frame: dataframes.DataFrame) -> Columns:
        """The columns of a data frame: in place where kernels can read them."""
        X = frame.native
        # scikit-learn raises its own error for an array of the same shape.
        if 0 in X.shape:
            check_array(np.empty(X.shape), estimator=self.owner, input_name="X")
        self._check_frame(frame)
        known = self.categories
        if known.unplaced is not None:
            known = known.assign_unplaced(_columns_to_encode(frame))
        layout = ColumnsBuilder(*X.shape)
        located = frame.locate(layout, known.columns(learn=self.learns))
        converted, encoded = [], set()
        found: dict[int, str | None] = {}
        for j in layout.missing():
            series: Any = located[j] if j in located else frame.series(j)
            if j in self.schema.dates:
                encoded.add(j)
                values = dates.days(series, self.schema.dates[j])
            elif j in located or _is_encoded(known, j, series, self.learns):
                encoded.add(j)
                values = known.encode(
                    j, series, thread_counts.n_threads(self.n_jobs), learn=self.learns
                )
            elif self._is_new_date(j, series):
                encoded.add(j)
                found[j] = dates.zone(series)
                values = dates.days(series, found[j])
            else:
                values = self._as_numbers(j, series)
            converted.append((np.array([j], dtype=np.int64), values[:, None]))
        layout.add(converted)
        if found:
            self.schema = replace(self.schema, dates=found)
        return self._with_categories(layout.columns(), encoded)

    def _as_numbers(self, j: int, series: nw.Series[Any]) -> NDArray[Any]:
        """The numbers of a column; the error for dates says what it held in fit."""
        try:
            return _numbers(series)
        except ValueError as error:
            if self.learns or not dates.are_dates(series):
                raise
            held = "categories" if j in self.categories.vocabularies else "numbers"
            raise ValueError(
                f"Column {self._name(j)!r} held {held} in fit, but now holds dates."
                " Convert it as for fit, or fit again with dates."
            ) from error

    def _is_new_date(self, j: int, series: nw.Series[Any]) -> bool:
        """Whether a column of a training set holds dates, which are read."""
        is_declared = j in self.categories.columns(learn=True)
        return self.reads_dates and not is_declared and dates.are_dates(series)

    def _name(self, j: int) -> Any:
        """The name of a column in messages."""
        names = self.schema.feature_names
        return j if names is None else names[j]

    def _date_columns(self, array: NDArray[Any]) -> Columns:
        """The columns of an array of dates."""
        everything = set(range(array.shape[1]))
        if self.learns:
            self.schema = replace(self.schema, dates=dict.fromkeys(everything))
        return self._with_categories(
            _matrix_columns(dates.days_of_array(array)), everything
        )

    def _check_frame(self, frame: dataframes.DataFrame) -> None:
        """Learn or check the number and the names of the columns."""
        with _naming_repeated_columns():
            if self.learns:
                names = sklearn_private.feature_names(frame.native)
                self._set_or_check(frame.native, names, frame.index)
            elif not self.by_name or not (
                self.schema.has_index(frame.index) or self.schema.has_names(frame.names)
            ):
                self.schema.check(frame.native, self.owner, by_name=self.by_name)

    def _object_columns(self, array: NDArray[Any]) -> Columns:
        """The columns of an array of objects, of which some are categorical."""
        layout, encoded = ColumnsBuilder(*array.shape), set()
        for j in range(array.shape[1]):
            series = dtypes.ArrayColumn(j, array[:, j])
            if j in self.schema.dates:
                encoded.add(j)
                values = dates.days(series, self.schema.dates[j])
            elif j in self.categories.columns(learn=self.learns):
                encoded.add(j)
                values = self.categories.encode(j, series, learn=self.learns)
            else:
                values = _object_numbers(series)
            layout.add([(np.array([j], dtype=np.int64), values[:, None])])
        return self._with_categories(layout.columns(), encoded)


def _ragged_error(X: Any) -> str:
    """The error for a list of rows of different lengths; '' otherwise."""
    if not isinstance(X, list | tuple):
        return ""
    lengths = [len(row) if isinstance(row, Sized) else 0 for row in X]
    row = next((i for i, n in enumerate(lengths) if n != lengths[0]), None)
    if row is None:
        return ""
    return (
        "The rows of X must have the same number of values, but row 0 has"
        f" {lengths[0]} and row {row} has {lengths[row]}. Use numpy.nan where a value"
        " is missing."
    )


def _not_2d_error(X: Any, n_features: int | None) -> str:
    """The error for a single row or column, as scikit-learn words it; '' otherwise.

    ``n_features`` is the number of columns of a model.
    """
    if getattr(getattr(X, "dtype", None), "names", None):
        return "X is an array with named fields: pass pandas.DataFrame(X)."
    if np.ndim(X) > 2:
        return (
            f"Found array with dim {np.ndim(X)}, while dim <= 2 is required: X has the"
            f" shape {np.shape(X)}. Pass numpy.reshape(X, ({len(X)}, -1)), whose"
            " columns are all values of a row."
        )
    if np.ndim(X) != 1:
        return ""
    if isinstance(X, list) and not X:
        return "X has no rows: it is an empty list."
    row, column = "[X]", "[[value] for value in X]"
    if isinstance(X, np.ndarray):
        row, column = "X.reshape(1, -1)", "X.reshape(-1, 1)"
    elif hasattr(X, "to_frame"):
        row, column = "X.to_frame().transpose()", "X.to_frame()"
    advice = f"pass {row} for a single row"
    if len(X) != n_features:
        advice += f", or {column} for a single column"
    return (
        f"Expected 2D array, got 1D array instead: X has the shape ({len(X)},). Reshape"
        f" your data: {advice}."
    )


def _string_error(X: Any, *, learns: bool) -> str:
    """The error for a string that is not a number, in an array; '' without one."""
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OUST":
        return ""
    values = np.asarray(X, dtype=object)
    if values.ndim != 2:
        return ""
    strings = ((at, v) for at, v in np.ndenumerate(values) if isinstance(v, str))
    found = next(((at, v) for at, v in strings if not _is_number(v)), None)
    if found is None:
        is_text = any(isinstance(value, str) for value in values.flat)
        return "X holds numbers as strings: pass X.astype(float)." if is_text else ""
    (row, column), value = found
    what = (
        f"could not convert string to float: {one_line(value, 60)!r} in row {row} of"
        f" column {column}"
    )
    if not learns:
        return f"{what}, where the model expects a number."
    return (
        f"{what}. Strings can be categories: list their columns, as in"
        f" categorical_feature=[{column}], or pass a data frame."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def columns_to_encode(X: Any) -> list[int]:
    """The columns of a data frame that hold strings or categories; else none."""
    frame = None if issparse(X) else dataframes.as_dataframe(X)
    return [] if frame is None else _columns_to_encode(frame)


def _columns_to_encode(frame: dataframes.DataFrame) -> list[int]:
    n_columns = frame.native.shape[1]
    return [j for j in range(n_columns) if dtypes.needs_encoding(frame.series(j))]


def names(X: Any) -> list[str] | None:
    """The names of a data frame's columns; None if ``X`` is not a data frame."""
    found = given_names(X)
    return None if found is None else list(map(str, found))


def given_names(X: Any) -> list[Any] | None:
    """The names of a data frame's columns, which may be numbers."""
    frame = None if issparse(X) else dataframes.as_dataframe(X)
    if frame is None:
        return None
    with _naming_repeated_columns():
        return list(nw.from_native(frame.native, eager_only=True).columns)


@contextmanager
def _naming_repeated_columns() -> Iterator[None]:
    """Raise ValueError where narwhals finds several columns of one name."""
    try:
        yield
    except nw.exceptions.DuplicateError as error:
        names = str(error).replace("\n-", "")
        raise ValueError(
            f"X has several columns with the same name. Rename them. {names}."
        ) from error


def _filled(X: np.ma.MaskedArray) -> NDArray[Any]:
    """The values of a masked array, with NaN for masked values."""
    # Integers become objects, because integers beyond 2**53 may be categories.
    values = X.data.astype(object if X.dtype.kind in "biuU" else X.dtype)
    if values.dtype.kind in "fO":
        values[X.mask] = np.nan
    return values


def _matrix_columns(matrix: NDArray[Any]) -> Columns:
    """The columns of a matrix of a dtype that kernels read, in place."""
    n_rows, n_features = matrix.shape
    address = np.empty(n_features, dtype=np.uint64)
    stride = np.empty(n_features, dtype=np.int64)
    kind = np.empty(n_features, dtype=np.uint8)
    locate_all(matrix, KIND_OF_DTYPE[matrix.dtype], address, stride, kind)
    return Columns(n_rows, n_features, address, stride, kind, matrix)


def _is_encoded(
    known: categories.Categories, j: int, series: nw.Series[Any], learn: bool
) -> bool:
    """Whether the values of a column are encoded before they become float64.

    True for strings and categories, and for categorical columns of numbers that float64
    may not represent exactly.
    """
    if dtypes.needs_encoding(series):
        return True
    if j not in known.columns(learn=learn) or series.null_count() == len(series):
        return False
    dtype = series.dtype
    if dtype in _READABLE:
        return dtype.is_integer() and series.null_count() > 0
    return dtype.is_numeric() or dtype == nw.Unknown or dtypes.are_objects(series)


def _numbers(series: nw.Series[Any]) -> NDArray[Any]:
    """The values of a column, in place where possible; nulls become NaN."""
    dtype = series.dtype
    if dtype in _READABLE:
        if dtype.is_float() or not series.null_count():
            return as_kind(series.to_numpy(), _named(series))
        # Arrow raises an error for integers that float64 does not hold exactly.
        values = np.full(len(series), np.nan)
        values[~series.is_null().to_numpy()] = series.drop_nulls().to_numpy()
        return values
    # Arrow's casts of decimals do not round to the nearest number, as `float` does.
    if dtype.is_decimal():
        return _object_numbers(series)
    if dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy()
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if dtype == nw.Unknown or dtypes.are_objects(series):
        return _object_numbers(series)
    raise _unusable(series, type(dtype).__name__)


def _unusable(series: nw.Series[Any] | dtypes.ArrayColumn, type_: str) -> ValueError:
    """The error for a column of values of a type that are not numbers."""
    library = dtypes.library(series)
    return ValueError(column_advice.unusable(series.name, type_, library))


def _object_numbers(series: nw.Series[Any] | dtypes.ArrayColumn) -> NDArray[Any]:
    """Numbers that are Python objects, or of a dtype that narwhals does not know."""
    values = [np.nan if dtypes.is_missing(v) else v for v in series.to_list()]
    try:
        return as_floats(np.fromiter(values, object, len(values)), _named(series))
    except ValueError as error:
        type_ = column_advice.known_type(values)
        if type_ is None:
            raise
        raise _unusable(series, type_) from error


def _named(series: nw.Series[Any] | dtypes.ArrayColumn) -> str:
    return f"Column {series.name!r}"
