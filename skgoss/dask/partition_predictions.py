"""Predictions for Dask collections, which are computed partition by partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.delayed import delayed
from dask.highlevelgraph import HighLevelGraph
from scipy import sparse

from skgoss.dask import parts
from skgoss.estimators.base import LGBMModel


def predict_lazily(
    method: Callable[..., Any],
    estimator: LGBMModel,
    X: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Predict for a Dask collection: a Dask array with the partitions of ``X``.

    ``method(estimator, X, *args, **kwargs)`` predicts for rows in memory. If it returns
    a list, the result is a list of Dask arrays. The estimator is a fitted local one. It
    is sent once to each worker that predicts.
    """
    partitions = parts.partitions(X)
    n_rows = parts.lengths(X) or [np.nan] * len(partitions)
    predict = partial(_predicted, method, args=args, kwargs=kwargs)
    example = predict(estimator, _one_row(X, estimator))
    is_list = isinstance(example, list)
    nothing = [item[:0] for item in example] if is_list else example[:0]
    task = delayed(partial(predict, nothing=nothing), pure=False)
    token = uuid4().hex
    model = delayed(estimator, name=f"model-{token}", traverse=False)
    predicted = [
        task(model, piece, dask_key_name=f"{method.__name__}-{token}-{i}")
        for i, piece in enumerate(partitions)
    ]
    if not is_list:
        return _array(f"predicted-{token}", predicted, n_rows, nothing)
    return [
        _array(f"predicted-{token}-{k}", [out[k] for out in predicted], n_rows, item)
        for k, item in enumerate(nothing)
    ]


def _predicted(
    method: Callable[..., Any],
    estimator: LGBMModel,
    rows: Any,
    *,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    nothing: Any = None,
) -> Any:
    """The output for the rows of a partition.

    ``nothing``, an output of no rows, if the partition is empty: methods refuse that.
    """
    if parts.n_rows_of(rows) == 0:
        return nothing
    return method(estimator, rows, *args, **kwargs)


def _one_row(X: Any, estimator: LGBMModel) -> Any:
    """A row like those of a collection, whose output has the shape and dtype of all.

    It has the names of the columns, so that wrong names raise an error at once.
    """
    if hasattr(X, "_meta_nonempty"):
        return X._meta_nonempty.iloc[:1]
    columns = X.shape[1:] if isinstance(X, da.Array) else ()
    if columns in ((), (np.nan,)):
        columns = (estimator.n_features_in_,)
    shape = (1, *columns)
    kind: Any = getattr(X, "_meta", None)
    is_sparse = sparse.issparse(kind)
    if is_sparse:
        return type(kind)(shape, dtype=kind.dtype)
    row = np.zeros(shape, dtype=getattr(kind, "dtype", np.float64))
    if row.dtype.kind == "f":
        row[:] = np.nan  # a missing category fits every column
    names = getattr(estimator, "feature_names_in_", None)
    if isinstance(X, da.Array) or names is None:
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=names)


def _array(
    name: str, predicted: Sequence[Any], n_rows: Sequence[float], nothing: Any
) -> da.Array:
    """The outputs of all partitions as one lazy array.

    ``predicted`` are the delayed outputs, ``n_rows`` the lengths of the partitions, NaN
    if unknown, and ``nothing`` an output of no rows, which shows shape and dtype.
    """
    columns = nothing.shape[1:]
    blocks: dict[Any, Any] = {
        (name, i, *(0 for _ in columns)): output.key
        for i, output in enumerate(predicted)
    }
    graph = HighLevelGraph.from_collections(name, blocks, dependencies=predicted)
    chunks = (tuple(n_rows), *((n,) for n in columns))
    return da.Array(graph, name, chunks, meta=nothing)
