"""Categories in new rows that an earlier model does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from skgoss.columns import dataframes
from skgoss.columns.categories import Vocabulary, in_order, is_number
from skgoss.columns.dtypes import ArrayColumn, is_missing
from skgoss.columns.factorize import factorize
from skgoss.columns.schema import ColumnSchema
from skgoss.utils.messages import one_line, warn

# The numbers of columns, and of categories of each, that the warning shows.
_MAX_COLUMNS = 3
_MAX_CATEGORIES = 4


def warn_of(X: Any, schema: ColumnSchema) -> None:
    """Warn of categories in rows in memory that count as missing in a model.

    ``schema`` has the columns of the model, which are those of ``X``.
    """
    found = {name: values for name, values in _unknown(X, schema) if values}
    if not found:
        return
    shown = [
        f"{_listed(values)} in column {name!r}"
        for name, values in [*found.items()][:_MAX_COLUMNS]
    ]
    if len(found) > _MAX_COLUMNS:
        shown.append(f"and others in {len(found) - _MAX_COLUMNS} more columns")
    warn(
        "Categories that were not in the first fit of the model count as missing:"
        f" {'; '.join(shown)}. To learn them, fit a new model to all rows."
    )


def _listed(values: list[Any]) -> str:
    shown = ", ".join(one_line(repr(value), 40) for value in values[:_MAX_CATEGORIES])
    n_more = len(values) - _MAX_CATEGORIES
    return f"{shown} and {n_more} more" if n_more > 0 else shown


def _unknown(X: Any, schema: ColumnSchema) -> Iterator[tuple[Any, list[Any]]]:
    """The name of each column of categories, and its values that are not known."""
    vocabularies = schema.categories.vocabularies
    frame = None if issparse(X) else dataframes.as_dataframe(X)
    names = schema.feature_names
    for j, vocabulary in sorted(vocabularies.items()):
        series = _array_column(X, j) if frame is None else frame.series(j)
        distinct, codes = factorize(series)
        occurs = np.bincount(codes[codes >= 0], minlength=len(distinct)) > 0
        values = [
            int(value) if isinstance(value, float) and value.is_integer() else value
            for value, is_there in zip(distinct, occurs.tolist(), strict=True)
            if is_there and not _is_known(value, vocabulary)
        ]
        yield (j if names is None else names[j]), in_order(values)


def _array_column(X: Any, j: int) -> ArrayColumn:
    """A column of an array or a sparse matrix, of which only stored values count."""
    if issparse(X):
        return ArrayColumn(j, X.tocsc()[:, [j]].data)
    return ArrayColumn(j, np.asarray(X)[:, j])


def _is_known(value: Any, vocabulary: Vocabulary) -> bool:
    """Whether a value is a category, or counted as missing in the first fit, too."""
    if is_missing(value) or value in vocabulary.number_of:
        return True
    return not vocabulary.needs_encoding and is_number(value) and value < 0
