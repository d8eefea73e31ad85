"""Arrays and data frames in, typed columns out."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from skgoss._engine.data.columns import KINDS
from skgoss.data import categories, sparse
from skgoss.data.columns import Columns

# A data frame of one dtype with no more values than this is read as one matrix: copying
# it, should its columns lie apart, costs less than looking at each of them.
SMALL_FRAME = 1 << 14

# Rows of a pandas frame, if they are no more, are sooner read than its columns.
FEW_ROWS = 8

_KIND_OF_DTYPE = {np.dtype(name): code for name, code in KINDS.items()}
_READABLE = frozenset(
    {
        nw.Boolean,
        *(nw.Int8, nw.Int16, nw.Int32, nw.Int64),
        *(nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64),
        *(nw.Float16, nw.Float32, nw.Float64),
    }
)


def columns(
    estimator: Any, X: Any, *, reset: bool, categorical_feature: Any = "auto"
) -> Columns:
    """Validate ``X`` by scikit-learn's rules and find its columns.

    Sets (``reset=True``) or checks `n_features_in_` and `feature_names_in_`, and sets
    or uses `_categories`, the values of the columns of categories. Nothing that is a
    number already is copied; NaN and infinities are kept, nulls become NaN.

    Parameters
    ----------
    estimator : estimator instance
    X : array-like or data frame of shape (n_rows, n_features)
        ndarray, list, sparse matrix or array, pandas or polars DataFrame, or pyarrow
        Table.
    reset : bool
        True in fit, False in predict.
    categorical_feature : 'auto', None or list of str and int
        In fit, which columns hold categories: see the option of this name.

    Returns
    -------
    Columns

    Raises
    ------
    ValueError
        In scikit-learn's words for bad shapes, counts and names; for columns that hold
        no numbers, with their names; for a `categorical_feature` that is no column; for
        sparse matrices whose arrays do not fit each other.
    TypeError
        In scikit-learn's words for objects that are no numbers.
    """
    if issparse(X):
        return _sparse_columns(estimator, X, reset, categorical_feature)
    if not isinstance(X, np.ndarray) and nw.dependencies.is_into_dataframe(X):
        return _frame_columns(estimator, X, reset, categorical_feature)
    dtype = object if _is_mixed(estimator, X, reset, categorical_feature) else "numeric"
    array = validate_data(
        estimator, X, reset=reset, dtype=dtype, ensure_all_finite=False
    )
    _declare(estimator, array, reset, categorical_feature)
    if dtype is object:
        return _object_columns(estimator, array, reset)
    data = _matrix_columns(_as_kind(array, "X"))
    return _with_categories(estimator, data, set(), reset)


def _declare(estimator: Any, X: Any, reset: bool, categorical_feature: Any) -> None:
    if reset:
        names = getattr(estimator, "feature_names_in_", None)
        estimator._categories = categories.declare(
            categorical_feature, names, X.shape[1]
        )


def _with_categories(
    estimator: Any, data: Columns, words: set[int], reset: bool
) -> Columns:
    """The columns with all categories as numbers; those of words are so already."""
    names = getattr(estimator, "feature_names_in_", range(data.n_features))
    return estimator._categories.encode_numbers(data, names, words, learn=reset)


def _as_kind(values: NDArray[Any], name: str) -> NDArray[Any]:
    """The values themselves if a kernel can read them, else as float64."""
    if values.dtype in _KIND_OF_DTYPE and values.flags.aligned:
        return values
    if values.dtype.kind not in "biuf":
        raise _not_numbers(name, values.dtype)
    return values.astype(np.float64)


def _matrix_columns(matrix: NDArray[Any]) -> Columns:
    n_rows, n_features = matrix.shape
    row_stride, column_stride = matrix.strides
    address = np.arange(n_features, dtype=np.int64)
    address *= column_stride
    address += matrix.__array_interface__["data"][0]
    stride = np.empty(n_features, dtype=np.int64)
    stride.fill(row_stride)
    kind = np.empty(n_features, dtype=np.uint8)
    kind.fill(_KIND_OF_DTYPE[matrix.dtype])
    return Columns(n_rows, n_features, address.view(np.uint64), stride, kind, matrix)


def _sparse_columns(
    estimator: Any, X: Any, reset: bool, categorical_feature: Any
) -> Columns:
    sparse.check(X)
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=True,
        dtype="numeric",
        ensure_all_finite=False,
    )
    _declare(estimator, X, reset, categorical_feature)
    values, rows, start = sparse.by_columns(X)
    values = _as_kind(values, "X")
    n_rows, n_features = X.shape
    first_value = values.__array_interface__["data"][0]
    first_row = rows.__array_interface__["data"][0]
    data = Columns(
        n_rows=n_rows,
        n_features=n_features,
        address=(first_value + values.itemsize * start[:-1]).astype(np.uint64),
        stride=np.full(n_features, values.itemsize, dtype=np.int64),
        kind=np.full(n_features, _KIND_OF_DTYPE[values.dtype], dtype=np.uint8),
        owner=(values, rows),
        index=(first_row + rows.itemsize * start[:-1]).astype(np.uint64),
        length=np.diff(start),
    )
    return _with_categories(estimator, data, set(), reset)


def _frame_columns(
    estimator: Any, X: Any, reset: bool, categorical_feature: Any
) -> Columns:
    # An array of the same shape makes scikit-learn say what is wrong with it.
    if 0 in X.shape:
        check_array(np.empty(X.shape), estimator=estimator, input_name="X")
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    _declare(estimator, X, reset, categorical_feature)
    if X.shape[0] * X.shape[1] <= SMALL_FRAME and _is_uniform_pandas(X):
        data = _matrix_columns(_as_kind(X.to_numpy(), "X"))
        return _with_categories(estimator, data, set(), reset)
    if not reset and X.shape[0] <= FEW_ROWS:
        values = _few_values(estimator._categories, X)
        if values is not None:
            data = _matrix_columns(values)
            return estimator._categories.with_counts(data)
    encode = estimator._categories.encode_words
    owner, words = [], set()
    for j, series in enumerate(nw.from_native(X, eager_only=True).iter_columns()):
        if categories.holds_words(series):
            words.add(j)
            owner.append(encode(j, series, learn=reset))
        else:
            owner.append(_numbers(series))
    return _with_categories(estimator, _separate_columns(owner), words, reset)


def _few_values(memory: categories.Categories, X: Any) -> NDArray[np.float64] | None:
    """The values and categories of a few rows of a pandas frame, by way of objects.

    None where this would not do.
    """
    if not nw.dependencies.is_pandas_dataframe(X):
        return None
    rows = [X.iloc[i].tolist() for i in range(X.shape[0])]
    values = np.empty(X.shape, order="F")
    for j, column in enumerate(map(list, zip(*rows, strict=True))):
        if j in memory.vocabularies:
            column = memory.look_up_words(j, column)
        numbers = np.array(column)
        if numbers.dtype.kind not in "biuf":
            return None
        values[:, j] = numbers
    return values


def _is_mixed(estimator: Any, X: Any, reset: bool, categorical_feature: Any) -> bool:
    """Whether columns of categories lie in an array of Python objects or strings."""
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
    owner, words = [], set()
    for j in range(array.shape[1]):
        series = categories.ObjectColumn(j, array[:, j])
        if memory.uses(j, learn=reset) and categories.holds_words(series):
            words.add(j)
            owner.append(memory.encode_words(j, series, learn=reset))
        else:
            owner.append(_parsed(series.values, j))
    return _with_categories(estimator, _separate_columns(owner), words, reset)


def _separate_columns(owner: list[NDArray[Any]]) -> Columns:
    return Columns(
        n_rows=len(owner[0]),
        n_features=len(owner),
        address=np.array(
            [values.__array_interface__["data"][0] for values in owner], dtype=np.uint64
        ),
        stride=np.array([values.strides[0] for values in owner], dtype=np.int64),
        kind=np.array([_KIND_OF_DTYPE[v.dtype] for v in owner], dtype=np.uint8),
        owner=owner,
    )


def _is_uniform_pandas(X: Any) -> bool:
    """Whether X is a pandas frame whose columns share one of NumPy's number dtypes."""
    if not nw.dependencies.is_pandas_dataframe(X):
        return False
    dtypes = X.dtypes.to_numpy()
    first = dtypes[0]
    return (
        isinstance(first, np.dtype)
        and first.kind in "biuf"
        and bool((dtypes == first).all())
    )


def _numbers(series: nw.Series[Any]) -> NDArray[Any]:
    """The values of a column, in place where possible; nulls become NaN."""
    dtype = series.dtype
    if dtype in _READABLE:
        if not dtype.is_float() and series.null_count():
            series = series.cast(nw.Float64)
        return _as_kind(series.to_numpy(), series.name)
    if dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy()
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if dtype == nw.Unknown or categories.are_objects(series):
        return _object_numbers(series)
    raise _not_numbers(series.name, dtype)


def _object_numbers(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Numbers kept as Python objects or in a way only their library knows."""
    values = series.to_numpy()
    if values.dtype == object:
        values = np.where(series.is_null().to_numpy(), np.nan, values)
    return _parsed(values, series.name)


def _parsed(values: NDArray[Any], name: Any) -> NDArray[np.float64]:
    try:
        return check_array(
            values, dtype=np.float64, ensure_2d=False, ensure_all_finite=False
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {name!r}: {error}") from error


def _not_numbers(name: Any, dtype: Any) -> ValueError:
    return ValueError(
        f"Column {name!r} holds {dtype} values, and only numbers, booleans and"
        " categories (strings and categorical dtypes) can be used. Encode the column"
        " first, or leave it out."
    )
