"""Which rows each process of a distributed fit holds.

`skgoss.distributed.collectives` explains ranks and how they communicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.utils.locks import cached_property


@dataclass(frozen=True, eq=False)
class RowPartition:
    """Which rows a process holds: those of its ``runs``, or all if they are None.

    The rows of all processes have numbers, from 0, as if one process held them in this
    order. A process holds its rows in this order, too.
    """

    n_rows: int  # the number of rows of all processes
    collectives: Collectives = ALONE
    # (n_runs,): the first number and the number of rows of each run of consecutive
    # rows, ascending.
    runs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @classmethod
    def from_parts(
        cls, collectives: Collectives, lengths: dict[int, int]
    ) -> RowPartition:
        """The partition of a process that holds some parts of the data.

        ``lengths`` has the number of rows of each part that this process holds, by the
        number of the part. The rows of all processes are numbered part by part. All
        processes call this at the same time.
        """
        n_rows = 0
        start: dict[int, int] = {}
        rank_lengths = collectives.all_gather(lengths)
        for part, n in sorted(chain(*map(dict.items, rank_lengths))):
            start[part] = n_rows
            n_rows += n
        held = [part for part in sorted(lengths) if lengths[part] > 0]
        first = np.array([start[part] for part in held], dtype=np.int64)
        length = np.array([lengths[part] for part in held], dtype=np.int64)
        return cls(n_rows, collectives, (first, length))

    def take(self, at: NDArray[np.int64]) -> RowPartition:
        """The partition of some of the rows, which get new numbers from 0.

        ``at`` has the positions of the chosen rows among those of this process,
        ascending. All processes call this at the same time.
        """
        if self.runs is None:
            return RowPartition(len(at))
        first, length = self.runs
        kept = np.diff(np.searchsorted(at, np.cumsum(length)), prepend=0)
        return RowPartition.from_parts(
            self.collectives, dict(zip(first.tolist(), kept.tolist(), strict=True))
        )

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The ``runs``: the first number and the number of rows of each."""
        if self.runs is None:
            return [(0, self.n_rows)]
        first, length = self.runs
        return list(zip(first.tolist(), length.tolist(), strict=True))

    @property
    def is_alone(self) -> bool:
        """Whether the process holds all rows."""
        return self.collectives.n_ranks == 1

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the process's rows among those of all processes, ascending."""
        if self.runs is None:
            return np.arange(self.n_rows, dtype=np.int64)
        first, length = self.runs
        before = np.cumsum(length) - length
        own = np.arange(length.sum(), dtype=np.int64)
        return np.repeat(first - before, length) + own

    def gather_on_first(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of all rows on rank 0; on other ranks, those of their rows."""
        numbers = self._numbers_on_first
        rank_values = self._send_to_first(np.ascontiguousarray(values))
        is_first = self.collectives.rank == 0
        return joined(numbers, rank_values, self.n_rows) if is_first else values

    @cached_property
    def _numbers_on_first(self) -> list[Any]:
        """The row numbers of all ranks, on rank 0."""
        return self._send_to_first(self.numbers)

    def _send_to_first(self, value: Any) -> list[Any]:
        """The values of all ranks on rank 0; on other ranks, Nones."""
        n_peers = self.collectives.n_ranks - 1
        return self.collectives.all_to_all([value, *[None] * n_peers])

    def all_gather(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the rows of all processes, along the last axis, in order."""
        if self.is_alone:
            return values
        numbered = self.numbers, np.ascontiguousarray(values)
        numbers, rank_values = zip(*self.collectives.all_gather(numbered), strict=True)
        return joined(numbers, rank_values, self.n_rows)


def joined(
    numbers: Sequence[NDArray[np.int64]],
    rank_values: Sequence[NDArray[Any]],
    n_rows: int,
) -> NDArray[Any]:
    """The values of all ``n_rows`` rows, along the last axis.

    ``numbers`` has the row numbers of each rank, and ``rank_values`` their values.
    """
    out = np.empty((*rank_values[0].shape[:-1], n_rows), dtype=rank_values[0].dtype)
    for rank_numbers, values in zip(numbers, rank_values, strict=True):
        out[..., rank_numbers] = values
    return out


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the data that a process holds."""

    collectives: Collectives
    # The number of rows of each part, by the number of the part. The rows of the
    # process are those of its parts, in the order of the numbers.
    lengths: dict[int, int]

    @property
    def n_rows(self) -> int:
        """The number of rows of the process."""
        return sum(self.lengths.values())

    @property
    def numbers(self) -> list[int]:
        """The numbers of the parts, ascending."""
        return sorted(self.lengths)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each part ends among the rows of the process."""
        lengths = [self.lengths[part] for part in self.numbers]
        return np.cumsum(lengths, dtype=np.int64)

    def partition(self) -> RowPartition:
        """Which of all rows the process holds; all processes call this together."""
        return RowPartition.from_parts(self.collectives, self.lengths)

    def gather_from_ranks_with_rows(self, value: Any) -> list[tuple[list[int], Any]]:
        """The parts and the value of each process that has rows.

        If no process has rows, those of this process.
        """
        gathered = self.collectives.all_gather((self.numbers, self.n_rows, value))
        values = [(parts, value) for parts, n_rows, value in gathered if n_rows]
        return sorted(values, key=itemgetter(0)) or [(self.numbers, value)]

    def common_value(self, what: str, value: Any) -> Any:
        """The value that all processes with rows have; ValueError if they differ."""
        parts, values = zip(*self.gather_from_ranks_with_rows(value), strict=True)
        check_equal(what, values, list(map(names_of_parts, parts)))
        return values[0]

    def check_kind(self, name: str, values: NDArray[Any]) -> None:
        """Check that the values of all processes are of one kind, such as numbers."""
        kinds = {"U": "strings", "O": "objects"} | dict.fromkeys("biuf", "numbers")
        kind = kinds.get(values.dtype.kind, values.dtype.name)
        self.common_value(f"What {name} holds", kind)


def check_equal(what: str, values: Sequence[Any], locations: Sequence[str]) -> None:
    """Check that a value is the same in all locations; else ValueError.

    ``what`` names the value, and ``locations`` where each of ``values`` is.
    """
    for value, location in zip(values, locations, strict=True):
        if value != values[0]:
            raise ValueError(
                f"{what} must be the same in all parts of the data, but is"
                f" {values[0]!r} in {locations[0]} and {value!r} in {location}."
            )


def names_of_parts(parts: list[int]) -> str:
    """The text "part 2" or "parts 2, 5", with at most five numbers."""
    numbers = ", ".join(map(str, parts[:5])) + (", ..." if len(parts) > 5 else "")
    return f"part {numbers}" if len(parts) == 1 else f"parts {numbers}"
