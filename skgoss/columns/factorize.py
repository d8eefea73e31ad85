"""The distinct values of columns of strings and other values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skgoss.columns.dtypes import ENCODED, ArrayColumn, is_missing

_NEVER_MISSING = {str, int, bool}

# The distinct values of a column, and for each row the index of its value among them,
# or -1 if the value is missing. Some distinct values may not occur.
Factorized = tuple[list[Any], NDArray[np.integer[Any]]]


def factorize(series: nw.Series[Any] | ArrayColumn) -> Factorized:
    """The distinct values of a column, and the codes of its rows: see `Factorized`."""
    factorize_native = _FACTORIZE.get(series.implementation)
    if factorize_native is None or not isinstance(series.dtype, ENCODED):
        return factorize_values(series.to_list())
    values, index = factorize_native(series.to_native())
    # Only dictionaries of Arrow may contain a value twice, or missing values.
    if set(map(type, values)) <= _NEVER_MISSING and len(set(values)) == len(values):
        return values, index
    distinct, codes = factorize_values(values)
    return distinct, np.append(codes, -1)[index]


def factorize_values(values: Iterable[Any]) -> Factorized:
    """The distinct values and the codes of hashable values."""
    code_of: dict[Any, int] = {}
    codes = [code_of.setdefault(value, len(code_of)) for value in values]
    table = np.arange(len(code_of))
    for value, at in code_of.items():
        if is_missing(value):
            table[at] = -1
    return list(code_of), table[np.array(codes, dtype=np.intp)]


def small_categorical(native: Any) -> Any:
    """The Categorical of a pandas column; None if it has far more categories than rows.

    To look up all its categories is then slower than to factorize its rows.
    """
    values = getattr(native, "array", native)
    categories = getattr(values, "categories", None)
    is_small = categories is not None and len(categories) <= max(len(values), 1000)
    return values if is_small else None


def _factorize_pandas(series: Any) -> Factorized:
    """The categories and codes of a categorical, or else the values that occur.

    A categorical with far more categories than rows is factorized like other columns.
    """
    categorical = small_categorical(series)
    if categorical is not None:
        return categorical.categories.tolist(), categorical.codes
    codes, distinct = nw.dependencies.get_pandas().factorize(series)
    return distinct.tolist(), codes


def _factorize_polars(series: Any) -> Factorized:
    polars = nw.dependencies.get_polars()
    distinct = series.drop_nulls().unique().cast(polars.String)
    codes = series.cast(polars.Enum(distinct)).to_physical().cast(polars.Int32)
    return distinct.to_list(), codes.fill_null(-1).to_numpy()


def _factorize_arrow(chunks: Any) -> Factorized:
    """`factorize` for a ChunkedArray of pyarrow, which encodes each chunk.

    Chunks may have dictionaries of their own, so ``first`` is where that of the chunk
    begins in the distinct values. A value may be in several of them.
    """
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow.types.is_string_view(chunks.type):
        chunks = chunks.cast(pyarrow.large_string())
    distinct: list[Any] = []
    chunk_codes = [np.empty(0, dtype=np.int64)]
    first, dictionary = 0, None
    for chunk in chunks.dictionary_encode().chunks:
        if dictionary is None or not dictionary.equals(chunk.dictionary):
            first, dictionary = len(distinct), chunk.dictionary
            distinct += dictionary.to_pylist()
        codes = chunk.indices.cast(pyarrow.int64()).fill_null(-1)
        codes = codes.to_numpy(zero_copy_only=False)
        chunk_codes.append(np.where(codes < 0, -1, codes + first))
    return distinct, np.concatenate(chunk_codes)


_FACTORIZE: dict[nw.Implementation | None, Callable[[Any], Factorized]] = {
    nw.Implementation.PANDAS: _factorize_pandas,
    nw.Implementation.POLARS: _factorize_polars,
    nw.Implementation.PYARROW: _factorize_arrow,
}
