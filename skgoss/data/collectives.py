"""How the processes that hold rows together ask each other.

A fit may run in several processes, the *peers*. All run the same code on their own
rows. Where a number depends on all rows, they exchange what their own rows give. Whole
numbers are added, so that the result does not depend on how the rows are shared out.
A process that holds all rows is `ALONE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
