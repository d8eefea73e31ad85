"""The numbers that models make of dates, as a transformer of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from skgoss.columns import containers, dataframes, dates
from skgoss.columns.categories import Categories
from skgoss.columns.columns import numbers
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.columns.schema import ColumnSchema
from skgoss.parameters.domains import DATE_PARTS_OR_AUTO
from skgoss.preprocessing.column_appender import ColumnAppender
from skgoss.preprocessing.frames import (
    check_readable,
    checked,
    in_container,
    named_frame,
)
from skgoss.utils import sklearn_private
from skgoss.utils.messages import warn
from skgoss.utils.public import set_module


@set_module("skgoss")
class DateFeatures(ColumnAppender):
    """Convert dates to days, and append their month, day of the week, hour and so on.

    The columns are those that a model with the option ``date_features`` makes of dates
    itself. Use this transformer before estimators that have no such option, or for data
    that are not in memory.

    A date becomes the days since 1970-01-01, with fractions, on the clock of its time
    zone. Dates of another time zone in ``transform`` are converted to that of ``fit``.

    Parameters
    ----------
    parts : 'auto' or list of str, default='auto'
        The parts to append: 'month', 'day' (of the month), 'day_of_week' (Monday is 0),
        'day_of_year', 'hour', 'minute' and 'second'. 'auto': for each column those that
        vary in its rows, except 'minute' and 'second'.

    Attributes
    ----------
    dates_ : dict
        The time zone of each column of dates, by number; None without one.
    parts_ : list of tuple
        The number of the column and the name of each part.
    n_features_in_ : int
        Number of columns of ``X`` in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of ``X``. Defined only if all names are strings.

    See Also
    --------
    LGBMModel : Its option ``date_features`` makes the columns part of a model, and its
        attribute ``date_features_`` is the transformer of such a model.

    Examples
    --------
    >>> import pandas as pd
    >>> from skgoss import DateFeatures
    >>> X = pd.DataFrame({"sold": pd.date_range("2024-01-01", periods=60)})
    >>> DateFeatures(["day", "day_of_week"]).fit_transform(X).tail(2)
           sold  sold[day]  sold[day_of_week]
    58  19781.0       28.0                2.0
    59  19782.0       29.0                3.0
    """

    dates_: dict[int, str | None]
    parts_: list[tuple[int, str]]

    def __init__(self, parts: Literal["auto"] | Sequence[str] = "auto") -> None:
        self.parts = parts

    @classmethod
    def _of_model(cls, schema: ColumnSchema, owner: str) -> Self:
        """The transformer of a model with these columns.

        AttributeError if it has no dates; messages call the model ``owner``.
        """
        if not schema.dates:
            raise AttributeError(
                f"This {owner} has no dates. Fit an estimator to a data frame with a"
                " column of dates."
            )
        return cls()._become(schema)

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the columns of dates, and the parts that vary.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The training data. Only data frames, and arrays of dtype datetime64, hold
            dates; other columns may hold anything.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted transformer.

        Raises
        ------
        ValueError
            If ``parts`` has an invalid value, or the data cannot be used.
        """
        asked = checked("parts", self.parts, DATE_PARTS_OR_AUTO, self._owner)
        frame = named_frame(X)
        if frame is not None:
            schema = _found(frame)
            days = _days(frame, schema)
        else:
            columns, schema = containers.learned(X, owner=self._owner, reads_dates=True)
            check_readable(schema)
            held = numbers(columns.take(np.array([*schema.dates], dtype=np.int64)))
            days = dict(zip(schema.dates, held.T, strict=True))
        if not days:
            warn(
                f"{self._owner} found no columns of dates, so it appends nothing. Text"
                " becomes dates, in pandas, with pandas.to_datetime(X['name'])."
            )
        parts = {j: dates.parts_of(values, asked) for j, values in days.items()}
        return self._become(schema.also_computing(ComputedColumns.of_dates(parts)))

    def transform(self, X: Any) -> Any:
        """Convert dates to days, and append their parts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows. The columns must be those of ``fit``, in the same order.

        Returns
        -------
        ndarray, sparse matrix or data frame of shape (n_samples, n_features_out)
            The columns of ``X``, and then the parts. A data frame whose columns have
            names stays one, and its other columns are not changed. Sparse matrices
            are copied. All else becomes an array of float64.
        """
        check_is_fitted(self)
        frame, schema = named_frame(X), self._schema
        if frame is not None and schema.feature_names is not None:
            schema.check(frame.native, self._owner)
            return in_container(self, _converted(frame, schema))
        columns = containers.columns(X, schema, owner=self._owner)
        return X.copy() if sp.issparse(X) else numbers(columns)

    @property
    def _schema(self) -> ColumnSchema:
        """The columns of ``X``, and the parts of the dates among them."""
        return ColumnSchema(
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            Categories(set()),
            dates=self.dates_,
            computed=ComputedColumns.from_state(
                [(j, part, 1.0, j) for j, part in self.parts_]
            ),
        )

    def _learned(self, schema: ColumnSchema) -> dict[str, Any]:
        parts = [(j, part) for j, part, *_ in schema.computed.parts.state()]
        return {"dates_": dict(schema.dates), "parts_": parts}


def _found(frame: dataframes.DataFrame) -> ColumnSchema:
    """The columns of a data frame, with those that hold dates."""
    n_features = frame.native.shape[1]
    series = {j: frame.series(j) for j in range(n_features)}
    zones = {j: dates.zone(s) for j, s in series.items() if dates.are_dates(s)}
    names = sklearn_private.feature_names(frame.native)
    return ColumnSchema(n_features, names, Categories(set()), dates=zones)


def _days(
    frame: dataframes.DataFrame, schema: ColumnSchema
) -> dict[int, NDArray[np.float64]]:
    """The days of each column of dates."""
    return {j: dates.days(frame.series(j), zone) for j, zone in schema.dates.items()}


def _converted(frame: dataframes.DataFrame, schema: ColumnSchema) -> nw.DataFrame[Any]:
    """The data frame with days in place of dates, and then their parts."""
    table = nw.from_native(frame.native, eager_only=True).select(nw.all())
    names = schema.all_names(list(table.columns))
    days = _days(frame, schema)
    values = {names[j]: values for j, values in days.items()}
    appended = zip(schema.computed.state(), names[schema.n_features :], strict=True)
    for (j, part, *_), name in appended:
        (values[name],) = dates.part_values(days[j], [part])
    return table.with_columns(
        nw.new_series(name, numbers, backend=table.implementation)
        for name, numbers in values.items()
    )
