"""Queries: which rows are documents of the same query."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss.columns import per_row
from skgoss.columns.floats import check_no_name, check_unmasked
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.distributed.row_partition import Parts, RowPartition, names_of_parts
from skgoss.utils.messages import warn

# A single query with more documents than this gives a warning; scikit-learn's checks
# have 150.
MAX_SINGLE_QUERY = 200


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries that rows belong to."""

    number: NDArray[np.int64]  # (n_rows,): the query of each row: 0 to n_queries - 1
    # (n_queries + 1,): the first row of each query, when rows are in ``order``, and the
    # number of rows.
    boundaries: NDArray[np.int64]
    # (n_rows,): the rows in stable order by query; None: they are sorted already.
    order: NDArray[np.int64] | None
    # (n_queries,): the number of each query among those of all processes, ascending: 0
    # to n_queries - 1 if one process holds all rows. It is the key of the query's
    # random numbers. That of a row's query is ``global_number[number]``.
    global_number: NDArray[np.int64]
    # The number of queries of all processes. Each query is on one of them.
    n_global: int

    @classmethod
    def from_ids(
        cls,
        number: NDArray[np.int64],
        keys: NDArray[np.int64] | None = None,
        collectives: Collectives = ALONE,
    ) -> Queries:
        """Make queries from the number of each row's query; some may have no rows.

        ``keys`` are the numbers that sort the queries of all processes, ascending.
        None: the numbers themselves.
        """
        steps, order = np.diff(number, prepend=-1), None
        if (steps >= 0).all():
            is_first = steps > 0
            present, number = number[is_first], np.cumsum(is_first) - 1
            boundaries = np.append(np.flatnonzero(is_first), len(number))
        else:
            present, number = np.unique(number, return_inverse=True)
            number = number.astype(np.int64)
            boundaries = np.concatenate([[0], np.cumsum(np.bincount(number))])
            order = np.argsort(number, kind="stable")
        key = present if keys is None else keys[present]
        all_keys = np.sort(np.concatenate(collectives.all_gather(key)))
        global_number = np.searchsorted(all_keys, key)
        return cls(
            number, boundaries.astype(np.int64), order, global_number, len(all_keys)
        )

    @property
    def n_queries(self) -> int:
        return len(self.boundaries) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of documents of each query."""
        return np.diff(self.boundaries)

    def take(
        self, rows: NDArray[np.int64] | None, collectives: Collectives = ALONE
    ) -> Queries:
        """The queries of some rows of each process, with new numbers; None: of all."""
        if rows is None:
            return self
        return Queries.from_ids(self.number[rows], self.global_number, collectives)

    def partition(self, collectives: Collectives) -> RowPartition:
        """The partition of the queries of all processes, of which these are a part."""
        numbers = self.global_number
        ends = np.flatnonzero(np.diff(numbers, append=-1) != 1) + 1
        length = np.diff(ends, prepend=0)
        return RowPartition(
            self.n_global, collectives, (numbers[ends - length], length)
        )

    def first_rows(self, collectives: Collectives) -> NDArray[np.int64]:
        """Where each query begins if the rows of all processes are sorted by query."""
        sizes = self.partition(collectives).all_gather(self.sizes)
        return (np.cumsum(sizes) - sizes)[self.global_number]

    def gathered(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sort values of rows, along the last axis, by query."""
        return values if self.order is None else values[..., self.order]


def make(
    n_rows: int,
    *,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    prefix: str = "",
    parts: Parts | None = None,
) -> Queries:
    """Make queries from the arguments of a user.

    ``group`` has the sizes of queries whose rows are consecutive, ``qid`` the query of
    each row: values of any type that can be sorted. Without both, all rows belong to
    one query. ``prefix`` is that of the names of the arguments in messages.

    ValueError if both are passed; if sizes are negative, not whole, or do not sum to
    the number of rows; if ``qid`` does not have one value for each row; or if rows of a
    query are in several parts.
    """
    if group is not None and qid is not None:
        raise ValueError(
            f"Pass either {prefix}qid or {prefix}group, not both: each defines queries."
        )
    if qid is not None:
        ids = _ids(qid, n_rows, f"{prefix}qid")
        number, keys = _ranks(ids, f"{prefix}qid", parts)
    elif group is not None:
        advice = f" To give the query of each row, pass {prefix}qid."
        n_documents = sizes(group, n_rows, f"{prefix}group", advice)
        number = np.repeat(np.arange(len(n_documents)), n_documents)
        keys = None if parts is None else _in_order(number, parts)
    else:
        if parts is not None:
            _check_only_part(parts)
        number, keys = np.zeros(n_rows, dtype=np.int64), None
        if n_rows > MAX_SINGLE_QUERY:
            warn(
                f"Neither {prefix}qid nor {prefix}group is given: all {n_rows} rows are"
                f" treated as one query. Pass {prefix}qid, the query of each row."
            )
    return Queries.from_ids(number, keys, ALONE if parts is None else parts.collectives)


def _ids(qid: ArrayLike, n_rows: int, name: str) -> NDArray[Any]:
    """The identifier of each row's query, of any type."""
    advice = f" Sizes of queries are passed as {name.replace('qid', 'group')}."
    return per_row.values(qid, n_rows, name, advice)


def _ranks(
    ids: NDArray[Any], name: str, parts: Parts | None
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """The number of each row's query, and the numbers of queries among all parts."""
    distinct, number = per_row.distinct(ids, name)
    keys = None if parts is None else _global_ranks(ids, distinct, name, parts)
    return number.astype(np.int64), keys


def _global_ranks(
    ids: NDArray[Any], distinct: NDArray[Any], name: str, parts: Parts
) -> NDArray[np.int64]:
    """The numbers of distinct queries among those of all parts."""
    parts.check_kind(name, ids)
    by_part = map(np.unique, np.split(ids, parts.ends)[:-1])
    here = [pair for pair in zip(parts.numbers, by_part, strict=True) if len(pair[1])]
    in_parts = list(chain.from_iterable(parts.collectives.all_gather(here)))
    if len(ids) == 0:
        return np.empty(0, dtype=np.int64)
    all_ids = np.concatenate([ids for _, ids in in_parts])
    queries, n_parts = np.unique(all_ids, return_counts=True)
    if (n_parts > 1).any():
        twice = queries[n_parts.argmax()]
        where = [number for number, ids in in_parts if twice in ids]
        raise _spread(f"Query {twice} of {name}", where)
    return np.searchsorted(queries, distinct)


def _in_order(number: NDArray[np.int64], parts: Parts) -> NDArray[np.int64]:
    """The numbers of consecutive queries among those of all parts."""
    is_first = np.diff(number, prepend=-1) > 0
    inner = np.flatnonzero(parts.ends < len(number))
    cut = inner[~is_first[parts.ends[inner]] & (parts.ends[inner] > 0)]
    if len(cut):
        raise _spread("A query of group", parts.numbers[cut[0] : cut[0] + 2])
    n_until = np.append(0, np.cumsum(is_first))[parts.ends]
    n_queries = np.diff(n_until, prepend=0).tolist()
    partition = RowPartition.from_parts(
        parts.collectives, dict(zip(parts.numbers, n_queries, strict=True))
    )
    keys = np.empty(number.max(initial=-1) + 1, dtype=np.int64)
    keys[number[is_first]] = partition.numbers
    return keys


def _check_only_part(parts: Parts) -> None:
    """Raise ValueError if several parts have rows: one query must be in one part."""
    here = [part for part in parts.numbers if parts.lengths[part]]
    where = sorted(chain.from_iterable(parts.collectives.all_gather(here)))
    if len(where) > 1:
        raise _spread("Neither qid nor group is given: the only query", where)


def _spread(query: str, parts: list[int]) -> ValueError:
    """The error for a query whose rows are in several parts."""
    return ValueError(
        f"{query} has rows in the {names_of_parts(parts)} of the data, but the rows of"
        " a query must be in one part. Partition the data accordingly."
    )


def run_lengths(query: NDArray[Any]) -> NDArray[np.int64]:
    """The sizes of queries whose rows are consecutive, from the query of each row."""
    first = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    return np.diff(np.append(first, len(query)))


def sizes(
    group: ArrayLike, n_rows: int | None, name: str, advice: str = ""
) -> NDArray[np.int64]:
    """Check sizes of queries, whose sum must be ``n_rows`` unless this is None.

    ``advice`` ends messages, as users often pass the query of each row instead.
    """
    if isinstance(group, numbers.Number):
        raise ValueError(f"{name} must be a list of sizes of queries, got {group!r}.")
    check_no_name(group, name)
    check_unmasked(group, name)
    values = np.asarray(group)
    if values.ndim != 1 or values.dtype.kind not in "iufb":
        raise ValueError(
            f"{name} must be a list of sizes of queries, got an array of shape"
            f" {values.shape} and dtype {values.dtype}.{advice}"
        )
    if not np.isfinite(values).all() or (values < 0).any() or (values % 1 != 0).any():
        raise ValueError(
            f"{name} must hold whole numbers >= 0: sizes of queries.{advice}"
        )
    # Each size is compared first, because sums of huge sizes overflow.
    is_wrong = n_rows is not None and (
        (values > n_rows).any() or values.astype(np.int64).sum() != n_rows
    )
    if is_wrong:
        raise ValueError(
            f"The sizes in {name} sum to {sum(map(int, values.tolist()))}, but there"
            f" are {n_rows} rows.{advice}"
        )
    return values.astype(np.int64)
