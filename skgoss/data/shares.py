"""Rows that several processes hold together, and how these processes ask each other.

A fit may run in several processes, the *peers*. Each holds some of the rows, its
*share*. All peers run the same code on their shares. Where a number depends on all
rows, they exchange what their own rows give. Whole numbers are added, so that the
result does not depend on how the rows are shared out. A process that holds all rows
is `ALONE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Arrays of more bytes than these are added piece by piece: each peer adds one piece.
MOST_BYTES_TO_ADD_ALONE = 1 << 16


# Arrays of fewer integers are sent as they are. Of others, only those that are not zero
# are sent, with their places, if they are at most this share.
FEW_INTEGERS = 512
SPARSE_SHARE = 0.25


class Sparse(NamedTuple):
    """The integers of an array that are not zero, and their places."""

    at: NDArray[np.uint32]
    values: NDArray[Any]


def lightened(values: NDArray[Any]) -> NDArray[Any] | Sparse:
    """Integers in one dimension, in as few bytes as is quickly done.

    Returns
    -------
    ndarray of a smaller dtype, or Sparse
        A copy, unless the integers are few.
    """
    if len(values) < FEW_INTEGERS:
        return values.copy()
    if np.count_nonzero(values) <= SPARSE_SHARE * len(values):
        at = np.flatnonzero(values)
        return Sparse(at.astype(np.uint32), _narrowed(values[at]))
    return _narrowed(values)


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    most = max(values.max(initial=0), -1 - values.min(initial=0))
    for dtype in (np.int8, np.int16, np.int32):
        if most <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.copy()


def add_to(values: NDArray[Any], other: NDArray[Any] | Sparse) -> None:
    """Add what `lightened` gave for another array to an array."""
    if isinstance(other, Sparse):
        values[other.at] += other.values
    else:
        values += other


class Exchange(ABC):
    """What the peers of a fit ask each other by.

    Every peer calls the same methods in the same order. A call returns when all peers
    have made it. If a peer fails, the calls of the others raise an exception.

    Attributes
    ----------
    n_peers : int
    peer : int
        The number of this peer, from 0.
    """

    n_peers: int
    peer: int

    @abstractmethod
    def swap(self, values: Sequence[Any]) -> list[Any]:
        """Give each peer a value, and get one from each.

        Parameters
        ----------
        values : sequence of length n_peers
            What each peer gets: arrays, bytes, or small objects that can be pickled.
            They must not change until the next call of this peer has returned.

        Returns
        -------
        list of length n_peers
            What each peer has given this one. Arrays may be read-only.
        """

    def gather(self, value: Any) -> list[Any]:
        """The values of all peers, by their numbers."""
        return self.swap([value] * self.n_peers)

    def sum(self, array: NDArray[Any]) -> NDArray[Any]:
        """The sums of the peers' arrays of integers, which have one shape.

        Returns
        -------
        ndarray
            ``array`` itself, which is written to; it must be contiguous.
        """
        if self.n_peers == 1:
            return array
        flat = array.reshape(-1)
        if self.n_peers == 2 or array.nbytes <= MOST_BYTES_TO_ADD_ALONE:
            for peer, other in enumerate(self.gather(lightened(flat))):
                if peer != self.peer:
                    add_to(flat, other)
            return array
        pieces = np.array_split(flat, self.n_peers)
        own = pieces[self.peer]
        for peer, other in enumerate(self.swap([lightened(piece) for piece in pieces])):
            if peer != self.peer:
                add_to(own, other)
        sums = self.gather(lightened(own))
        for peer, piece in enumerate(pieces):
            if peer != self.peer:
                piece[:] = 0
                add_to(piece, sums[peer])
        return array

    def total(self, value: int) -> int:
        """The sum of the peers' integers, of any size."""
        return sum(self.gather(value))


class Alone(Exchange):
    """The exchange of a process that holds all rows."""

    n_peers = 1
    peer = 0

    def swap(self, values: Sequence[Any]) -> list[Any]:
        """The value itself."""
        return list(values)


ALONE = Alone()


@dataclass(frozen=True, eq=False)
class Share:
    """Which of all rows a peer holds.

    The rows of all peers have numbers, from 0, as if one process held them in this
    order. A peer holds its rows in this order, too.

    Attributes
    ----------
    exchange : Exchange
    first : ndarray of shape (n_runs,), int64
        The number of the first row of each run of rows whose numbers are consecutive;
        ascending.
    length : ndarray of shape (n_runs,), int64
        The number of rows of each run.
    n_rows : int
        The number of rows of all peers.
    """

    exchange: Exchange
    first: NDArray[np.int64]
    length: NDArray[np.int64]
    n_rows: int

    @classmethod
    def alone(cls, n_rows: int) -> Share:
        """The share of a process that holds all rows."""
        return cls(ALONE, np.zeros(1, np.int64), np.array([n_rows]), n_rows)

    @classmethod
    def of_parts(cls, exchange: Exchange, lengths: dict[int, int]) -> Share:
        """The share of a peer that holds some parts of the data.

        Parameters
        ----------
        exchange : Exchange
        lengths : dict
            The number of rows of each part that the peer holds, by the number of the
            part; the peer holds the parts in the order of their numbers.
        """
        known = {}
        for given in exchange.gather(lengths):
            known |= given
        parts = sorted(known)
        ends = np.cumsum([0] + [known[part] for part in parts], dtype=np.int64)
        start = dict(zip(parts, ends.tolist(), strict=False))
        own = [part for part in sorted(lengths) if lengths[part] > 0]
        return cls(
            exchange,
            np.array([start[part] for part in own], dtype=np.int64),
            np.array([lengths[part] for part in own], dtype=np.int64),
            int(ends[-1]),
        )

    def take(self, at: NDArray[np.int64]) -> Share:
        """The share of some of the rows of each peer, ascending, numbered anew."""
        ends = np.cumsum(self.length)
        kept = np.diff(np.searchsorted(at, ends), prepend=0)
        return Share.of_parts(
            self.exchange,
            dict(zip(self.first.tolist(), kept.tolist(), strict=True)),
        )

    @property
    def is_alone(self) -> bool:
        """Whether the peer holds all rows."""
        return self.exchange.n_peers == 1

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the peer's rows among those of all peers, ascending."""
        before = np.cumsum(self.length) - self.length
        return np.repeat(self.first - before, self.length) + np.arange(
            self.length.sum(), dtype=np.int64
        )

    def all_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the rows of all peers, along the last axis, in order.

        Parameters
        ----------
        values : ndarray of shape (..., n)
            Those of this peer's rows.
        """
        if self.is_alone:
            return values
        gathered = self.exchange.gather((self.numbers, np.ascontiguousarray(values)))
        out = np.empty((*values.shape[:-1], self.n_rows), dtype=values.dtype)
        for numbers, part in gathered:
            out[..., numbers] = part
        return out
