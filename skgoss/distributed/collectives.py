"""Collective operations of the processes of a distributed fit.

A fit may run in several processes. All run the same code, each on its own rows. Where a
number depends on all rows, they combine their results by collective operations, as in
MPI: all-to-all, all-gather, all-reduce, reduce-scatter and broadcast. Sums are sums of
integers, so they do not depend on which process holds which rows. The *rank* of a
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

# `all_reduce` gathers arrays of at most this size in bytes, and each rank adds them. Of
# larger arrays, each rank adds up one piece.
MAX_GATHERED_BYTES = 1 << 16

# Arrays of at least this length are sent as `SparseIntegers` if at most this fraction
# of their integers is not zero.
MIN_SPARSE_LENGTH = 512
SPARSE_FRACTION = 0.25

# The dtypes of integers, by their bits.
DTYPES = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


class SparseIntegers(NamedTuple):
    """The integers of an array that are not zero, and their indices."""

    at: NDArray[np.uint32]
    values: NDArray[Any]


def compressed(values: NDArray[np.int64]) -> NDArray[Any] | SparseIntegers:
    """A read-only copy of a vector to be sent in few bytes.

    Its dtype is the narrowest that holds all numbers. A long vector with many zeros
    becomes its other numbers and their indices.
    """
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    n_bits = max(high, ~low).bit_length()
    dtype = next(dtype for bits, dtype in DTYPES.items() if n_bits < bits)
    # -1: short vectors are never sparse.
    max_nonzero = (
        SPARSE_FRACTION * len(values) if len(values) >= MIN_SPARSE_LENGTH else -1
    )
    if np.count_nonzero(values) <= max_nonzero:
        index = np.flatnonzero(values)
        nonzero = values[index].astype(dtype)
        return SparseIntegers(_frozen(index.astype(np.uint32)), _frozen(nonzero))
    return _frozen(values.astype(dtype))


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    values.flags.writeable = False
    return values


def add_to(values: NDArray[np.int64], other: NDArray[Any] | SparseIntegers) -> None:
    """Add an array that was `compressed` to an array, in place."""
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
        change until the next call of this process has returned. The arrays that are
        received may be read-only.
        """

    def all_gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        return self.all_to_all([value] * self.n_ranks)

    def all_reduce(self, array: NDArray[Any]) -> NDArray[Any]:
        """The sum of the arrays of all processes: int64, of the same shape.

        It is ``array`` itself, which is written to and must be contiguous. Small
        arrays are sent to all ranks. Of large ones, each rank adds up one piece, and
        sends the sum: less data than if all were sent to all.
        """
        flat = array.reshape(-1)
        if self.n_ranks <= 2 or array.nbytes <= MAX_GATHERED_BYTES:
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
        """The sum over all processes of the piece with the number of this rank.

        ``pieces`` are vectors of int64, one for each rank. The sum is ``pieces[rank]``
        itself, which is written to. The other pieces are not changed.
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
        """The sum of a Python int of each process, which cannot overflow."""
        return sum(self.all_gather(value))

    def broadcast(self, compute: Callable[[], Any]) -> Any:
        """The result of a function on rank 0; the other ranks do not call it."""
        return self.all_gather(compute() if self.rank == 0 else None)[0]

    @contextmanager
    def forbidden(self, reason: str) -> Iterator[None]:
        """Make collective operations raise RuntimeError in the `with` body.

        It guards code that only some processes run: the others would not respond.
        """

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
