"""Whether the columns of an evaluation set have other ranges than in the training set.

They do if only one of the sets was scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import BinMapper
from skgoss.binning.rows import Rows
from skgoss.columns.columns import RELEASED, Columns
from skgoss.training.evaluation import EvaluationSet

# At most this many rows and columns of a set are read, and at least this many rows.
_MAX_ROWS = 200
_MAX_COLUMNS = 100
_MIN_ROWS = 20
# Columns with fewer bins are codes or counts, whose ranges scaling hardly changes.
_MIN_BINS = 10
# A value is far away if its distance from the middle of the range is above this number
# of ranges. Drift alone seldom leads there.
_FAR = 1.5
# The difference is certain if more columns than this proportion, and at least this
# number, are far away in most rows.
_MIN_FRACTION = 0.2
_MIN_COLUMNS = 3


class OtherRanges(NamedTuple):
    """What to tell the user, and whether drift cannot be the reason."""

    sentences: str
    is_certain: bool


@np.errstate(over="ignore", invalid="ignore")
def find(
    training: Rows,
    dataset: BinnedDataset,
    tested: EvaluationSet,
    names: Sequence[str] | None,
) -> OtherRanges | None:
    """Compare the columns of an evaluation set with the ranges of the training set.

    ``dataset`` has the bins of the ``training`` rows, and ``names`` are those of the
    columns. None: the ranges are not different, or cannot be compared.
    """
    columns = tested.rows.columns
    if columns is RELEASED or tested.is_training:
        return None
    is_plain = type(columns) is Columns and not columns.is_sparse
    if not is_plain or training.partition or len(tested.rows) < _MIN_ROWS:
        return None
    mappers = dataset.mappers
    read = [j for j, mapper in enumerate(mappers) if _has_range(mapper)]
    read = read[:: max(1, -(-len(read) // _MAX_COLUMNS))]
    distances = {j: _distance(tested.rows, j, mappers[j]) for j in read}
    far = [j for j in read if _in_most_rows(distances[j] > _FAR)]
    outside = [j for j in read if _in_most_rows(distances[j] > 0.5)]
    n_least = max(min(_MIN_COLUMNS, len(read)), int(_MIN_FRACTION * len(read)) + 1)
    is_certain = len(read) > 1 and len(far) >= n_least
    if not is_certain and len(outside) < max(2, len(read) / 2):
        return None
    column = max(outside, key=lambda j: float(np.nanmedian(distances[j])))
    name = column if names is None else names[column]
    median = np.nanmedian(_sample(tested.rows, column))
    return OtherRanges(
        f"Most of its values lie outside the training range in {len(outside)} of"
        f" {len(read)} columns of numbers: column {name!r} has the median"
        f" {median:.4g}, but {mappers[column].minimum:.4g} to"
        f" {mappers[column].maximum:.4g} in the training set. If you scale columns,"
        " scale both sets, as in (scaler.transform(X_valid), y_valid); trees need no"
        " scaling.",
        is_certain,
    )


def _has_range(mapper: BinMapper) -> bool:
    """Whether a column has enough distinct numbers in the training set."""
    return (
        mapper.categories is None
        and not mapper.is_trivial
        and mapper.n_bins >= _MIN_BINS
        and bool(np.isfinite(mapper.maximum - mapper.minimum))
    )


def _sample(rows: Rows, column: int) -> NDArray[np.float64]:
    """Some values of a column, evenly spaced over the rows."""
    step = -(-len(rows) // _MAX_ROWS)
    at = slice(None, None, step) if rows.numbers is None else rows.numbers[::step]
    return rows.columns.stored(column)[at].astype(np.float64)


def _distance(rows: Rows, column: int, mapper: BinMapper) -> NDArray[np.float64]:
    """The distance of values from the middle of the range, in ranges.

    It is 0.5 at most within the range, and NaN if a value is missing.
    """
    middle = mapper.minimum / 2 + mapper.maximum / 2
    distance: NDArray[np.float64] = np.abs(_sample(rows, column) - middle)
    return distance / (mapper.maximum - mapper.minimum)


def _in_most_rows(holds: NDArray[np.bool_]) -> bool:
    return bool(np.mean(holds) > 0.5)
