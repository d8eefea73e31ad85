"""Collective operations of the processes that hold the rows of a fit together.

A fit may run in several processes. All run the same code, each on other rows. Where a
number depends on all rows, they combine their results by collective operations, as in
MPI: all-to-all, all-gather, all-reduce, reduce-scatter and broadcast. They add integers
only, so that sums do not depend on which process holds which rows. The *rank* of a
process is its number, from 0. A process that holds all rows has the collectives
`ALONE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Arrays of at most this size in bytes are gathered and added by every rank. Of larger
# ones, each rank adds up one piece.
MOST_BYTES_GATHERED = 1 << 16

# From this number of integers on, only those that are not zero are sent, with their
# indices, if they are at most this fraction.
FEW_INTEGERS = 512
SPARSE_FRACTION = 0.25

# The dtypes of integers, by their bits.
DTYPES = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


class SparseIntegers(NamedTuple):
    """The integers of an array that are not zero, and their indices."""

    at: NDArray[np.uint32]
    values: NDArray[Any]


def compressed(values: NDArray[np.int64]) -> NDArray[Any] | SparseIntegers:
    """A read-only copy of integers in one dimension, in fewer bytes, to be sent."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    n_bits = max(high, ~low).bit_length()
    dtype = next(dtype for bits, dtype in DTYPES.items() if n_bits < bits)
    n_few = SPARSE_FRACTION * len(values) if len(values) >= FEW_INTEGERS else -1
    if np.count_nonzero(values) <= n_few:
        at = np.flatnonzero(values)
        few = values[at].astype(dtype)
        return SparseIntegers(_frozen(at.astype(np.uint32)), _frozen(few))
    return _frozen(values.astype(dtype))


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    values.flags.writeable = False
    return values


def add_to(values: NDArray[np.int64], other: NDArray[Any] | SparseIntegers) -> None:
    """Add another array, which is `compressed`, to an array."""
    if isinstance(other, SparseIntegers):
        values[other.at] += other.values
    else:
        values += other


class Collectives(ABC):
    """The collective operations of the processes of a fit.

    Every process calls the same methods in the same order. A call returns when all
    processes have made it. If a process fails, the calls of the others raise an
    exception.
    """

    n_ranks: int  # the number of processes
    rank: int  # the number of this process, from 0

    @abstractmethod
    def all_to_all(self, values: Sequence[Any]) -> list[Any]:
        """Send a value to each rank, and receive one from each.

        Values are arrays, bytes, or small objects that can be pickled. They must not
        change until the next call of this process has returned. Arrays that come may be
        read-only.
        """

    def all_gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        return self.all_to_all([value] * self.n_ranks)

    def all_reduce(self, array: NDArray[Any]) -> NDArray[Any]:
        """The sum of the arrays of all processes: int64, of one shape.

        It is ``array`` itself, which is written to and must be contiguous.
        """
        flat = array.reshape(-1)
        if self.n_ranks <= 2 or array.nbytes <= MOST_BYTES_GATHERED:
            for rank, other in enumerate(self.all_gather(compressed(flat))):
                if rank != self.rank:
                    add_to(flat, other)
            return array
        pieces = np.array_split(flat, self.n_ranks)
        sums = self.all_gather(compressed(self.reduce_scatter(pieces)))
        for rank, piece in enumerate(pieces):
            if rank != self.rank:
                piece[:] = 0
                add_to(piece, sums[rank])
        return array

    def reduce_scatter(self, pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The sum of one piece of the arrays of all processes, another for each rank.

        ``pieces`` are an array of int64 in one dimension for each rank. The sum is
        ``pieces[rank]`` itself, which is written to. The others are not changed.
        """
        piece_sum = pieces[self.rank]
        to_send = [
            None if rank == self.rank else compressed(piece)
            for rank, piece in enumerate(pieces)
        ]
        for other in self.all_to_all(to_send):
            if other is not None:
                add_to(piece_sum, other)
        return piece_sum

    def total(self, value: int) -> int:
        """The sum of an int of each process, of any size."""
        return sum(self.all_gather(value))

    def broadcast(self, compute: Callable[[], Any]) -> Any:
        """What a function returns on rank 0; the other ranks do not call it."""
        return self.all_gather(compute() if self.rank == 0 else None)[0]

    @contextmanager
    def forbidden(self, reason: str) -> Iterator[None]:
        """Let collective operations raise RuntimeError while a single process runs."""

        def refuse(values: Sequence[Any]) -> list[Any]:
            raise RuntimeError(reason)

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
        return list(values)

    def all_reduce(self, array: NDArray[Any]) -> NDArray[Any]:
        return array


ALONE = Alone()
