"""Data frames that transformers take and return."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import scipy.sparse as sp

from skgoss.columns import dataframes
from skgoss.columns.schema import ColumnSchema
from skgoss.parameters.domains import Domain
from skgoss.utils import sklearn_private


def named_frame(X: Any) -> dataframes.DataFrame | None:
    """``X`` if it is a data frame whose columns have names; else None."""
    frame = None if sp.issparse(X) else dataframes.as_dataframe(X)
    if frame is None or sklearn_private.feature_names(frame.native) is None:
        return None
    return frame


def in_container(transformer: Any, frame: nw.DataFrame[Any]) -> Any:
    """A data frame in the container that the user has set for the output."""
    container = sklearn_private.output_container(transformer)
    if container in ("default", frame.implementation.value):
        return frame.to_native()
    return frame.to_pandas() if container == "pandas" else frame.to_polars()


def check_readable(schema: ColumnSchema) -> None:
    """Check that the columns can be returned in an array; else ValueError."""
    words = schema.categories.vocabularies
    if words and schema.feature_names is None:
        raise ValueError(
            f"Column {min(words)} of X holds strings or categories, which are kept only"
            " in a data frame whose columns have names: rename the columns, for example"
            " X.columns = X.columns.astype(str)."
        )


def checked(name: str, value: Any, domain: Domain, owner: str) -> Any:
    """The value of a parameter; ValueError if it is outside its domain."""
    converted = domain.convert(value)
    if converted is NotImplemented:
        raise ValueError(
            f"The {name!r} parameter of {owner} must be {domain.description}. Got"
            f" {value!r} instead."
        )
    return converted
