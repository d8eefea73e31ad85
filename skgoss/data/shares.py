"""Rows that several processes hold together, and how these processes ask each other.

A fit may run in several processes, the *peers*. Each holds some of the rows, its
*share*. All peers run the same code on their shares. Where a number depends on all
rows, they exchange what their own rows give. Whole numbers are added, so that the
result does not depend on how the rows are shared out. A process that holds all rows
is `ALONE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data.packing import add_few, add_narrow, extent, take_few

# Arrays of more bytes than these are added piece by piece: each peer adds one piece.
MOST_BYTES_TO_ADD_ALONE = 1 << 16


# Of so many integers or more, only those that are not zero are sent, with their places,
# if they are at most this share.
FEW_INTEGERS = 512
SPARSE_SHARE = 0.25

# The integers of so many bits.
INTEGERS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


class Sparse(NamedTuple):
    """The integers of an array that are not zero, and their places."""

    at: NDArray[np.uint32]
    values: NDArray[Any]


def lightened(values: NDArray[np.int64]) -> NDArray[Any] | Sparse:
    """Integers in one dimension, in as few bytes as is quickly done.

    Returns
    -------
    ndarray of a smaller dtype, or Sparse
        A copy, which is read-only: it is sent as it is.
    """
    n_bits, n_others = extent(values)
    dtype = next(dtype for bits, dtype in INTEGERS.items() if n_bits < bits)
    if len(values) >= FEW_INTEGERS and n_others <= SPARSE_SHARE * len(values):
        few = Sparse(np.empty(n_others, np.uint32), np.empty(n_others, dtype))
        take_few(values, *few)
        return Sparse(*map(_frozen, few))
    return _frozen(values.astype(dtype))


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    values.flags.writeable = False
    return values


def add_to(values: NDArray[np.int64], other: NDArray[Any] | Sparse) -> None:
    """Add what `lightened` gave for another array to an array."""
    if isinstance(other, Sparse):
        add_few(other.at, other.values, values)
    elif other.dtype == np.int32:
        add_narrow(other, values)
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
        """The sums of the peers' arrays of int64, which have one shape.

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
        sums = self.gather(lightened(self.sum_pieces(pieces)))
        for peer, piece in enumerate(pieces):
            if peer != self.peer:
                piece[:] = 0
                add_to(piece, sums[peer])
        return array

    def sum_pieces(self, pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The sums of the peers' arrays, of which each peer adds up one piece.

        Parameters
        ----------
        pieces : sequence of length n_peers
            An array of int64 in one dimension for each peer.

        Returns
        -------
        ndarray
            ``pieces[peer]`` itself, which is written to. The others are not changed.
        """
        own = pieces[self.peer]
        given = [
            None if peer == self.peer else lightened(piece)
            for peer, piece in enumerate(pieces)
        ]
        for other in self.swap(given):
            if other is not None:
                add_to(own, other)
        return own

    def total(self, value: int) -> int:
        """The sum of the peers' integers, of any size."""
        return sum(self.gather(value))

    def of_first(self, make: Callable[[], Any]) -> Any:
        """What a function returns on the first peer; the others do not call it."""
        return self.gather(make() if self.peer == 0 else None)[0]

    @contextmanager
    def refused(self, why: str) -> Iterator[None]:
        """Let exchanges raise RuntimeError meanwhile, where other peers make none."""

        def refuse(values: Sequence[Any]) -> list[Any]:
            raise RuntimeError(why)

        vars(self)["swap"] = refuse
        try:
            yield
        finally:
            del vars(self)["swap"]


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

    @property
    def _numbers_on_first(self) -> list[NDArray[np.int64]]:
        # cached_property of Python 3.11 has one lock for all shares, and peers may be
        # threads.
        known = vars(self)
        if "_known_on_first" not in known:
            known["_known_on_first"] = self._swap_to_first(self.numbers)
        return known["_known_on_first"]

    def _swap_to_first(self, value: Any) -> list[Any]:
        n_others = self.exchange.n_peers - 1
        return self.exchange.swap([value, *[None] * n_others])

    def on_first(self, values: NDArray[Any]) -> NDArray[Any]:
        """As `all_of`, but on the first peer alone; the others keep their values."""
        numbers = self._numbers_on_first
        parts = self._swap_to_first(np.ascontiguousarray(values))
        if self.exchange.peer != 0:
            return values
        return _joined(numbers, parts, self.n_rows)

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
        return _joined(*zip(*gathered, strict=True), self.n_rows)


def _joined(
    numbers: Sequence[NDArray[np.int64]], parts: Sequence[NDArray[Any]], n_rows: int
) -> NDArray[Any]:
    """The values of all rows, from those of each peer and the numbers of its rows."""
    out = np.empty((*parts[0].shape[:-1], n_rows), dtype=parts[0].dtype)
    for at, part in zip(numbers, parts, strict=True):
        out[..., at] = part
    return out


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the data that a peer holds.

    Attributes
    ----------
    exchange : Exchange
    lengths : dict
        The number of rows of each part, by the number of the part. The rows of the peer
        are those of its parts, in the order of the numbers.
    """

    exchange: Exchange
    lengths: dict[int, int]

    @property
    def n_rows(self) -> int:
        """The number of rows of the peer."""
        return sum(self.lengths.values())

    @property
    def numbers(self) -> list[int]:
        """The numbers of the parts, ascending."""
        return sorted(self.lengths)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each part ends among the rows of the peer."""
        lengths = [self.lengths[part] for part in self.numbers]
        return np.cumsum(lengths, dtype=np.int64)

    def share(self) -> Share:
        """Which of all rows the peer holds; all peers ask at the same time."""
        return Share.of_parts(self.exchange, self.lengths)

    def check_same(self, what: str, value: Any) -> Any:
        """Check that a value is the same on all peers that hold rows.

        Parameters
        ----------
        what : str
            Its name in messages.
        value : object

        Returns
        -------
        object
            The value of these peers.

        Raises
        ------
        ValueError
            If it differs. The message names the parts.
        """
        given = self.exchange.gather((self.numbers, self.n_rows, value))
        given = [(parts, value) for parts, n_rows, value in given if n_rows]
        given.sort(key=itemgetter(0))
        if not given:
            return value
        for parts, other in given[1:]:
            if other != given[0][1]:
                raise ValueError(
                    f"{what} must be the same in all parts of the data, but is"
                    f" {given[0][1]!r} in {_named(given[0][0])} and {other!r} in"
                    f" {_named(parts)}."
                )
        return given[0][1]

    def check_kind(self, name: str, values: NDArray[Any]) -> None:
        """Check that all peers have numbers, or strings, or values of another dtype."""
        kind = values.dtype.kind
        words = {"U": "strings", "O": "objects"} | dict.fromkeys("biuf", "numbers")
        self.check_same(f"What {name} holds", words.get(kind, values.dtype.name))


def _named(parts: list[int]) -> str:
    numbers = ", ".join(map(str, parts[:5])) + (", ..." if len(parts) > 5 else "")
    return f"part {numbers}" if len(parts) == 1 else f"parts {numbers}"
