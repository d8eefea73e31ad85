"""Which of all rows a process holds, where several hold them together.

The processes are the peers of `skgoss.data.collectives`. Each holds some of the rows,
its *share*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.data.collectives import ALONE, Exchange


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
