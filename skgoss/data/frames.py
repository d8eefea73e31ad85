"""From arrays, data frames and sparse matrices to typed columns."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from skgoss.data import categories, dataframes, sparse
from skgoss.data.columns import KIND_OF_DTYPE, Columns, ColumnsBuilder, as_kind
from skgoss.data.floats import as_floats
from skgoss.utils import compat

_READABLE = frozenset(
    {
        nw.Boolean,
        *(nw.Int8, nw.Int16, nw.Int32, nw.Int64),
        *(nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64),
        *(nw.Float16, nw.Float32, nw.Float64),
    }
)

# The pandas index of the columns in fit, and the names in it: an index never changes.
_INDEX_OF_FIT: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def columns(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    categorical_feature: Any = "auto",
    by_name: bool = True,
) -> Columns:
    """Validate ``X`` by scikit-learn's rules and find its columns.

    Sets (``reset=True``) or checks `n_features_in_` and `feature_names_in_`, and sets
    or uses `_categories`, the values of the categorical columns. Numbers are not
    copied; NaN and infinities are kept, nulls and masked values become NaN.

    Parameters
    ----------
    estimator : estimator instance
    X : array-like or data frame of shape (n_rows, n_features)
        ndarray, list, sparse matrix or array, any data frame that narwhals reads
        (pandas, polars, pyarrow Table; lazy ones are collected), or anything else
        that exports an Arrow schema, such as a pyarrow RecordBatch.
    reset : bool
        True in fit, False in predict.
    categorical_feature : 'auto', None or list of str and int
        In fit, which columns hold categories: see the option of this name.
    by_name : bool, default=True
        False: a data frame's names are neither set nor checked.

    Returns
    -------
    Columns

    Raises
    ------
    ValueError
        With scikit-learn's messages, if the shape, the number of columns or their names
        are wrong. Also if a column does not hold numbers, if `categorical_feature`
        lists an unknown column, or if the arrays of a sparse matrix are inconsistent.
    TypeError
        With scikit-learn's messages, for arrays of objects that are not numbers.
    """
    if issparse(X):
        return _sparse_columns(estimator, X, reset, categorical_feature)
    frame = dataframes.frame(X)
    if frame is not None:
        return _frame_columns(estimator, frame, reset, categorical_feature, by_name)
    if np.ma.is_masked(X):
        X = _filled(X)
    if not reset and _is_plain(estimator, X):
        return _number_columns(estimator, X, reset)
    dtype = object if _is_mixed(estimator, X, reset, categorical_feature) else "numeric"
    try:
        array = _validated(estimator, X, reset=reset, dtype=dtype)
    except ValueError as error:
        if not (reset and _holds_strings(X)):
            raise
        raise ValueError(
            f"{str(error).rstrip('.')}. Strings can be categories: list their columns"
            " in categorical_feature, or pass a data frame."
        ) from error
    _declare(estimator, array, reset, categorical_feature)
    if dtype is object:
        return _object_columns(estimator, array, reset)
    return _number_columns(estimator, array, reset)


def _number_columns(estimator: Any, array: NDArray[Any], reset: bool) -> Columns:
    data = _matrix_columns(as_kind(array, "X"))
    return _with_categories(estimator, data, set(), reset)


def _is_plain(estimator: Any, X: Any) -> bool:
    """Whether scikit-learn would return ``X`` as it is, without a warning.

    Its validation takes longer than the prediction of a row.
    """
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def _holds_strings(X: Any) -> bool:
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OUST":
        return False
    values = np.asarray(X, dtype=object)
    return values.ndim == 2 and any(isinstance(value, str) for value in values.flat)


def word_columns(X: Any) -> list[int]:
    """The columns of a data frame that hold strings or categories; else none."""
    frame = None if issparse(X) else dataframes.frame(X)
    return [] if frame is None else _word_columns(frame)


def _word_columns(frame: dataframes.Frame) -> list[int]:
    n_columns = frame.native.shape[1]
    return [j for j in range(n_columns) if categories.holds_words(frame.series(j))]


def names(X: Any) -> list[str] | None:
    """The names of a data frame's columns; None if ``X`` is no data frame."""
    frame = None if issparse(X) else dataframes.frame(X)
    if frame is None:
        return None
    return list(map(str, nw.from_native(frame.native, eager_only=True).columns))


def _filled(X: np.ma.MaskedArray) -> NDArray[Any]:
    """The values of a masked array, with NaN for masked values."""
    # Integers become objects, because integers beyond 2**53 may be categories.
    values = X.data.astype(object if X.dtype.kind in "biuU" else X.dtype)
    if values.dtype.kind in "fO":
        values[X.mask] = np.nan
    return values


def _validated(estimator: Any, X: Any, **options: Any) -> Any:
    """``X``, validated by scikit-learn; NaN and infinities are allowed."""
    try:
        return validate_data(estimator, X, ensure_all_finite=False, **options)
    except OverflowError as error:
        raise ValueError(f"X must hold numbers: {error}.") from error


def _declare(estimator: Any, X: Any, reset: bool, categorical_feature: Any) -> None:
    if reset:
        names = getattr(estimator, "feature_names_in_", None)
        estimator._categories = categories.declare(
            categorical_feature, names, X.shape[1]
        )


def _with_categories(
    estimator: Any, data: Columns, words: set[int], reset: bool
) -> Columns:
    """Encode the categories of all columns except ``words``, which are encoded."""
    names = getattr(estimator, "feature_names_in_", range(data.n_features))
    return estimator._categories.encode_numbers(data, names, words, learn=reset)


def _matrix_columns(matrix: NDArray[Any]) -> Columns:
    n_rows, n_features = matrix.shape
    row_stride, column_stride = matrix.strides
    address = np.arange(n_features, dtype=np.int64)
    address *= column_stride
    address += matrix.__array_interface__["data"][0]
    stride = np.empty(n_features, dtype=np.int64)
    stride.fill(row_stride)
    kind = np.empty(n_features, dtype=np.uint8)
    kind.fill(KIND_OF_DTYPE[matrix.dtype])
    return Columns(n_rows, n_features, address.view(np.uint64), stride, kind, matrix)


def _sparse_columns(
    estimator: Any, X: Any, reset: bool, categorical_feature: Any
) -> Columns:
    sparse.check(X)
    X = _validated(estimator, X, reset=reset, accept_sparse=True, dtype="numeric")
    _declare(estimator, X, reset, categorical_feature)
    return _with_categories(estimator, sparse.columns(X), set(), reset)


def _frame_columns(
    estimator: Any,
    frame: dataframes.Frame,
    reset: bool,
    categorical_feature: Any,
    by_name: bool,
) -> Columns:
    X = frame.native
    # scikit-learn raises its own error for an array of the same shape.
    if 0 in X.shape:
        check_array(np.empty(X.shape), estimator=estimator, input_name="X")
    if by_name:
        _check_columns(estimator, frame, reset)
    else:
        compat.check_n_features(estimator, X, reset=reset)
    _declare(estimator, X, reset, categorical_feature)
    memory = estimator._categories
    if memory.unplaced is not None:
        memory = memory.placed(_word_columns(frame))
    layout = ColumnsBuilder(*X.shape)
    known = frame.locate(layout, memory.columns(learn=reset))
    rest, words = [], set()
    for j in layout.missing():
        series = known[j] if j in known else frame.series(j)
        if j in known or _is_encoded(memory, j, series, reset):
            words.add(j)
            values = memory.encode(j, series, learn=reset)
        else:
            values = _numbers(series)
        rest.append((np.array([j], dtype=np.int64), values[:, None]))
    layout.add(rest)
    return _with_categories(estimator, layout.columns(), words, reset)


def _check_columns(estimator: Any, frame: dataframes.Frame, reset: bool) -> None:
    """Set or check the number and the names of the columns by scikit-learn's rules."""
    if not reset and (
        _is_index_of_fit(estimator, frame.index)
        or compat.names_are_known(estimator, frame.names)
    ):
        return
    validate_data(estimator, frame.native, reset=reset, skip_check_array=True)
    if reset:
        names = getattr(estimator, "feature_names_in_", None)
        _INDEX_OF_FIT[estimator] = frame.index, names


def _is_index_of_fit(estimator: Any, index: Any) -> bool:
    fitted, names = _INDEX_OF_FIT.get(estimator, (None, None))
    return (
        fitted is not None
        and fitted.is_(index)
        and names is not None
        and names is getattr(estimator, "feature_names_in_", None)
    )


def _is_encoded(
    memory: categories.Categories, j: int, series: nw.Series[Any], learn: bool
) -> bool:
    """Whether the values of a column are encoded before they become float64.

    True for strings and categories, and for categorical columns of numbers that float64
    may not represent exactly.
    """
    if categories.holds_words(series):
        return True
    if j not in memory.columns(learn=learn) or series.null_count() == len(series):
        return False
    dtype = series.dtype
    if dtype in _READABLE:
        return dtype.is_integer() and series.null_count() > 0
    return dtype.is_numeric() or dtype == nw.Unknown or categories.are_objects(series)


def _is_mixed(estimator: Any, X: Any, reset: bool, categorical_feature: Any) -> bool:
    """Whether ``X`` is an array of objects or strings with categorical columns."""
    if reset:
        has_categories = categories.are_declared(categorical_feature)
    else:
        has_categories = bool(estimator._categories.vocabularies)
    if not has_categories:
        return False
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return getattr(dtype, "kind", "f") in "OUST"


def _object_columns(estimator: Any, array: NDArray[Any], reset: bool) -> Columns:
    memory = estimator._categories
    layout, words = ColumnsBuilder(*array.shape), set()
    for j in range(array.shape[1]):
        series = categories.ArrayColumn(j, array[:, j])
        if j in memory.columns(learn=reset):
            words.add(j)
            values = memory.encode(j, series, learn=reset)
        else:
            values = _object_numbers(series)
        layout.add([(np.array([j], dtype=np.int64), values[:, None])])
    return _with_categories(estimator, layout.columns(), words, reset)


def _numbers(series: nw.Series[Any]) -> NDArray[Any]:
    """The values of a column, in place where possible; nulls become NaN."""
    dtype = series.dtype
    if dtype in _READABLE:
        if dtype.is_float() or not series.null_count():
            return as_kind(series.to_numpy(), _named(series))
        # Arrow refuses to cast integers that float64 does not hold exactly.
        values = np.full(len(series), np.nan)
        values[~series.is_null().to_numpy()] = series.drop_nulls().to_numpy()
        return values
    if dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy()
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if dtype == nw.Unknown or categories.are_objects(series):
        return _object_numbers(series)
    raise ValueError(
        f"{_named(series)} holds {dtype} values, and only numbers, booleans and"
        " categories (strings and categorical dtypes) can be used. Convert the"
        " column to one of these, or leave it out."
    )


def _object_numbers(series: nw.Series[Any] | categories.ArrayColumn) -> NDArray[Any]:
    """Numbers that are Python objects, or of a dtype that narwhals does not know."""
    values = (np.nan if categories.is_missing(v) else v for v in series.to_list())
    return as_floats(np.fromiter(values, object, len(series)), _named(series))


def _named(series: nw.Series[Any] | categories.ArrayColumn) -> str:
    return f"Column {series.name!r}"
