"""Data frames of several libraries: the names and addresses of their columns."""

from __future__ import annotations

import sys
from collections.abc import Container
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from skgoss._engine.columns import arrow
from skgoss.columns.columns import ColumnsBuilder, as_kind
from skgoss.columns.dtypes import ArrayColumn
from skgoss.utils import optional
from skgoss.utils.locks import cached_property


class DataFrame:
    """A data frame that narwhals reads, column by column."""

    names: list[Any] | None = None  # None: only narwhals reads them
    index: Any = None  # the names, if it is a frame of pandas

    def __init__(self, native: Any) -> None:
        self.native = native

    def locate(
        self, builder: ColumnsBuilder, categorical: Container[int]
    ) -> dict[int, ArrayColumn]:
        """Add the columns of numbers that can be read in place.

        Returns the columns of categories that narwhals need not read, by number.
        Columns of numbers that are ``categorical`` are not converted.
        """
        return {}

    def series(self, column: int) -> nw.Series[Any]:
        """A column as narwhals reads it."""
        return nw.from_native(self.native, eager_only=True)[:, column]


class PandasDataFrame(DataFrame):
    """A pandas frame, which keeps its columns in blocks of one dtype each."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self.index = native.columns

    @cached_property
    def names(self) -> list[Any]:
        return self.index.tolist()

    def locate(
        self, builder: ColumnsBuilder, categorical: Container[int]
    ) -> dict[int, ArrayColumn]:
        """Add the columns of numbers, block by block: see `DataFrame.locate`."""
        numbers, categories = [], {}
        for columns, values in optional.pandas_blocks(self.native):
            if isinstance(values, np.ndarray):
                if values.dtype.kind in "biuf":
                    numbers.append((columns, as_kind(values.T, "X")))
            elif values.dtype.name == "category":
                column = int(columns[0])
                categories[column] = ArrayColumn(
                    self.names[column],
                    values,
                    nw.Categorical(),
                    nw.Implementation.PANDAS,
                )
        builder.add(numbers)
        return categories

    def series(self, column: int) -> nw.Series[Any]:
        return nw.from_native(self.native.iloc[:, column], series_only=True)


class ArrowDataFrame(DataFrame):
    """A frame of polars or pyarrow, which exports its columns in Arrow's format."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._exported = arrow.export(native)
        self.names = None if self._exported is None else self._exported.names

    def locate(
        self, builder: ColumnsBuilder, categorical: Container[int]
    ) -> dict[int, ArrayColumn]:
        """Add the columns of numbers of the arrays: see `DataFrame.locate`."""
        if self._exported is not None:
            self._exported.locate(
                categorical, builder.address, builder.stride, builder.kind
            )
            builder.owner.append(self._exported)
        return {}

    def series(self, column: int) -> nw.Series[Any]:
        if hasattr(self.native, "to_series"):
            return nw.from_native(self.native.to_series(column), series_only=True)
        series = nw.from_native(self.native.column(column), series_only=True)
        return series.alias(self.native.field(column).name)


# By the library and the class.
_CLASSES = {
    ("pandas", "DataFrame"): PandasDataFrame,
    ("polars", "DataFrame"): ArrowDataFrame,
    ("pyarrow", "Table"): ArrowDataFrame,
}


def as_dataframe(X: Any) -> DataFrame | None:
    """``X`` as a data frame in memory; None if narwhals does not read it.

    Lazy frames are collected, and streams of Arrow are read.
    """
    wrapper = _class_of(X)
    if wrapper is not None:
        return wrapper(X)
    if isinstance(X, np.ndarray):
        return None
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        native = frame.to_native()
        return (_class_of(native) or DataFrame)(native)
    if hasattr(X, "schema") and hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        return ArrowDataFrame(pyarrow.table(X))
    return None


def is_in_memory(X: Any) -> bool:
    """Whether ``X`` is a data frame in memory, judged by its class alone."""
    return _class_of(X) is not None


def _class_of(X: Any) -> type[DataFrame] | None:
    """The class above for a data frame of an imported library; None: there is none."""
    for (library, name), wrapper in _CLASSES.items():
        native = getattr(sys.modules.get(library), name, None)
        if native is not None and isinstance(X, native):
            return wrapper
    return None
