"""Queries: which rows are documents of the same query."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss._messages import warn
from skgoss.data.categories import is_missing
from skgoss.data.floats import check_unmasked

# A single query with more documents than this gives a warning.
MANY_DOCUMENTS = 1000


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries that rows belong to.

    Attributes
    ----------
    number : ndarray of shape (n_rows,), int64
        The query of each row: 0 to n_queries - 1.
    boundaries : ndarray of shape (n_queries + 1,), int64
        The first row of each query, when rows are in ``order``, and the number of rows.
    order : ndarray of shape (n_rows,), int64, or None
        The rows in stable order by query; None: they are sorted already.
    """

    number: NDArray[np.int64]
    boundaries: NDArray[np.int64]
    order: NDArray[np.int64] | None

    @classmethod
    def of(cls, number: NDArray[np.int64]) -> Queries:
        """Make queries from the number of each row's query, which may have gaps."""
        number = np.unique(number, return_inverse=True)[1].astype(np.int64)
        boundaries = np.concatenate([[0], np.cumsum(np.bincount(number))])
        together = bool((np.diff(number) >= 0).all())
        order = None if together else np.argsort(number, kind="stable")
        return cls(number, boundaries.astype(np.int64), order)

    @property
    def n_queries(self) -> int:
        return len(self.boundaries) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of documents of each query."""
        return np.diff(self.boundaries)

    def take(self, rows: NDArray[np.int64] | None) -> Queries:
        """The queries of some rows; None: of all."""
        return self if rows is None else Queries.of(self.number[rows])

    def gathered(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sort values of rows, along the last axis, by query."""
        return values if self.order is None else values[..., self.order]


def make(
    n_rows: int,
    *,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    prefix: str = "",
) -> Queries:
    """Make queries from the arguments of a user.

    Parameters
    ----------
    n_rows : int
    group : array-like of shape (n_queries,), default=None
        The sizes of the queries; the rows of each query are consecutive.
    qid : array-like of shape (n_rows,), default=None
        The query of each row: values of any type that can be sorted. If neither is
        given, all rows belong to one query.
    prefix : str, default=""
        A prefix of the names of the arguments in messages.

    Returns
    -------
    Queries

    Raises
    ------
    ValueError
        If both are given; if sizes are negative, not whole, or do not sum to the number
        of rows; or if ``qid`` does not have one value for each row.
    """
    if group is not None and qid is not None:
        raise ValueError(
            f"Pass either {prefix}qid or {prefix}group, not both: each defines queries."
        )
    if qid is not None:
        return Queries.of(_numbers(qid, n_rows, f"{prefix}qid"))
    if group is not None:
        advice = f" To give the query of each row, pass {prefix}qid."
        known = sizes(group, n_rows, f"{prefix}group", advice)
        return Queries.of(np.repeat(np.arange(len(known)), known))
    if n_rows > MANY_DOCUMENTS:
        warn(
            f"Neither {prefix}qid nor {prefix}group is given: all {n_rows} rows are"
            f" treated as one query. Pass {prefix}qid, the query of each row."
        )
    return Queries.of(np.zeros(n_rows, dtype=np.int64))


def _numbers(qid: ArrayLike, n_rows: int, name: str) -> NDArray[np.int64]:
    check_unmasked(qid, name)
    ids = np.asarray(qid)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one value for each of the {n_rows} rows, got an array of"
            f" shape {ids.shape}. Sizes of queries are passed as"
            f" {name.replace('qid', 'group')}."
        )
    if _any_missing(ids):
        raise ValueError(f"{name} contains missing values; every row needs a query.")
    try:
        return np.unique(ids, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        message = f"{name} must hold values that can be sorted: {error}."
        raise ValueError(message) from error


def _any_missing(ids: NDArray[Any]) -> bool:
    if ids.dtype.kind == "O":
        return any(map(is_missing, ids))
    return bool((ids != ids).any())


def sizes(
    group: ArrayLike, n_rows: int | None, name: str, advice: str = ""
) -> NDArray[np.int64]:
    """Check sizes of queries.

    Parameters
    ----------
    group : array-like of shape (n_queries,)
    n_rows : int or None
        The sum that they must have; None: any.
    name : str
        The name of ``group`` in messages.
    advice : str, default=""
        What the message of a wrong sum ends with.

    Raises
    ------
    ValueError
        If sizes are negative, not whole, or have another sum.
    """
    if isinstance(group, numbers.Number):
        raise ValueError(f"{name} must be a list of sizes of queries, got {group!r}.")
    check_unmasked(group, name)
    given = np.asarray(group)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise ValueError(
            f"{name} must be a list of sizes of queries, got an array of shape"
            f" {given.shape} and dtype {given.dtype}."
        )
    if not np.isfinite(given).all() or (given < 0).any() or (given % 1 != 0).any():
        raise ValueError(f"{name} must hold whole numbers >= 0: sizes of queries.")
    # Each size is compared first, because sums of huge sizes overflow.
    is_wrong = n_rows is not None and (
        (given > n_rows).any() or given.astype(np.int64).sum() != n_rows
    )
    if is_wrong:
        raise ValueError(
            f"The sizes in {name} sum to {sum(map(int, given.tolist()))}, but there are"
            f" {n_rows} rows.{advice}"
        )
    return given.astype(np.int64)
