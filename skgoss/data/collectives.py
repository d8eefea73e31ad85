"""Collective operations of the processes that hold the rows of a fit together.

A fit may run in several processes. All run the same code, each on its own rows. Where a
number depends on all rows, they combine what they have found by collective operations,
as in MPI. They add whole numbers, so that the result does not depend on which process
holds which rows. The *rank* of a process is its number. A process that holds all rows
has the collectives `ALONE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data.packing import add_few, add_narrow, extent, take_few

# Arrays of more bytes than these are added piece by piece: each process adds one piece.
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


class Collectives(ABC):
    """The collective operations of the processes of a fit.

    Every process calls the same methods in the same order. A call returns when all
    processes have made it. If a process fails, the calls of the others raise an
    exception.

    Attributes
    ----------
    n_ranks : int
    rank : int
        The number of this process, from 0.
    """

    n_ranks: int
    rank: int

    @abstractmethod
    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        """Give each process a value, and get one from each.

        Parameters
        ----------
        values : sequence of length n_ranks
            What each process gets: arrays, bytes, or small objects that can be pickled.
            They must not change until the next call of this process has returned.

        Returns
        -------
        list of length n_ranks
            What each process has given this one. Arrays may be read-only.
        """

    def all_gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        return self.all_to_all([value] * self.n_ranks)

    def all_reduce(self, array: NDArray[Any]) -> NDArray[Any]:
        """The sums of the processes' arrays of int64, which have one shape.

        Returns
        -------
        ndarray
            ``array`` itself, which is written to; it must be contiguous.
        """
        if self.n_ranks == 1:
            return array
        flat = array.reshape(-1)
        if self.n_ranks == 2 or array.nbytes <= MOST_BYTES_TO_ADD_ALONE:
            for rank, other in enumerate(self.all_gather(lightened(flat))):
                if rank != self.rank:
                    add_to(flat, other)
            return array
        pieces = np.array_split(flat, self.n_ranks)
        sums = self.all_gather(lightened(self.reduce_scatter(pieces)))
        for rank, piece in enumerate(pieces):
            if rank != self.rank:
                piece[:] = 0
                add_to(piece, sums[rank])
        return array

    def reduce_scatter(self, pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The sums of the processes' arrays, of which each process adds up one piece.

        Parameters
        ----------
        pieces : sequence of length n_ranks
            An array of int64 in one dimension for each process.

        Returns
        -------
        ndarray
            ``pieces[rank]`` itself, which is written to. The others are not changed.
        """
        own = pieces[self.rank]
        given = [
            None if rank == self.rank else lightened(piece)
            for rank, piece in enumerate(pieces)
        ]
        for other in self.all_to_all(given):
            if other is not None:
                add_to(own, other)
        return own

    def total(self, value: int) -> int:
        """The sum of the processes' integers, of any size."""
        return sum(self.all_gather(value))

    def broadcast(self, make: Callable[[], Any]) -> Any:
        """What a function returns on the first process; the others do not call it."""
        return self.all_gather(make() if self.rank == 0 else None)[0]

    @contextmanager
    def forbidden(self, why: str) -> Iterator[None]:
        """Let collective operations raise RuntimeError: other processes call none."""

        def refuse(values: Sequence[Any]) -> list[Any]:
            raise RuntimeError(why)

        vars(self)["all_to_all"] = refuse
        try:
            yield
        finally:
            del vars(self)["all_to_all"]


class Alone(Collectives):
    """The collective operations of a process that holds all rows."""

    n_ranks = 1
    rank = 0

    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        """The value itself."""
        return list(values)


ALONE = Alone()
