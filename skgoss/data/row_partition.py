"""Which of all rows a process holds, where several hold them together.

See `skgoss.data.collectives`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.data.collectives import ALONE, Collectives


@dataclass(frozen=True, eq=False)
class RowPartition:
    """Which of all rows a process holds.

    The rows of all processes have numbers, from 0, as if one process held them in this
    order. A process holds its rows in this order, too.

    Attributes
    ----------
    collectives : Collectives
    first : ndarray of shape (n_runs,), int64
        The number of the first row of each run of rows whose numbers are consecutive;
        ascending.
    length : ndarray of shape (n_runs,), int64
        The number of rows of each run.
    n_rows : int
        The number of rows of all processes.
    """

    collectives: Collectives
    first: NDArray[np.int64]
    length: NDArray[np.int64]
    n_rows: int

    @classmethod
    def alone(cls, n_rows: int) -> RowPartition:
        """The partition of a process that holds all rows."""
        return cls(ALONE, np.zeros(1, np.int64), np.array([n_rows]), n_rows)

    @classmethod
    def of_parts(
        cls, collectives: Collectives, lengths: dict[int, int]
    ) -> RowPartition:
        """The partition of a process that holds some parts of the data.

        Parameters
        ----------
        collectives : Collectives
        lengths : dict
            The number of rows of each part that the process holds, by the number of the
            part; the process holds the parts in the order of their numbers.
        """
        known = {}
        for given in collectives.all_gather(lengths):
            known |= given
        parts = sorted(known)
        ends = np.cumsum([0] + [known[part] for part in parts], dtype=np.int64)
        start = dict(zip(parts, ends.tolist(), strict=False))
        own = [part for part in sorted(lengths) if lengths[part] > 0]
        return cls(
            collectives,
            np.array([start[part] for part in own], dtype=np.int64),
            np.array([lengths[part] for part in own], dtype=np.int64),
            int(ends[-1]),
        )

    def take(self, at: NDArray[np.int64]) -> RowPartition:
        """The partition of some rows of each process, ascending, numbered anew."""
        ends = np.cumsum(self.length)
        kept = np.diff(np.searchsorted(at, ends), prepend=0)
        return RowPartition.of_parts(
            self.collectives,
            dict(zip(self.first.tolist(), kept.tolist(), strict=True)),
        )

    @property
    def is_alone(self) -> bool:
        """Whether the process holds all rows."""
        return self.collectives.n_ranks == 1

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the process's rows among those of all processes, ascending."""
        before = np.cumsum(self.length) - self.length
        return np.repeat(self.first - before, self.length) + np.arange(
            self.length.sum(), dtype=np.int64
        )

    @property
    def _numbers_on_first(self) -> list[NDArray[np.int64]]:
        # cached_property of Python 3.11 has one lock for all partitions, and ranks may
        # be threads.
        known = vars(self)
        if "_known_on_first" not in known:
            known["_known_on_first"] = self._gather_on_first(self.numbers)
        return known["_known_on_first"]

    def _gather_on_first(self, value: Any) -> list[Any]:
        n_others = self.collectives.n_ranks - 1
        return self.collectives.all_to_all([value, *[None] * n_others])

    def gather_on_first(self, values: NDArray[Any]) -> NDArray[Any]:
        """As `all_gather`, but on rank 0 alone; the others keep their values."""
        numbers = self._numbers_on_first
        parts = self._gather_on_first(np.ascontiguousarray(values))
        if self.collectives.rank != 0:
            return values
        return _joined(numbers, parts, self.n_rows)

    def all_gather(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the rows of all processes, along the last axis, in order.

        Parameters
        ----------
        values : ndarray of shape (..., n)
            Those of this process's rows.
        """
        if self.is_alone:
            return values
        gathered = self.collectives.all_gather(
            (self.numbers, np.ascontiguousarray(values))
        )
        return _joined(*zip(*gathered, strict=True), self.n_rows)


def _joined(
    numbers: Sequence[NDArray[np.int64]], parts: Sequence[NDArray[Any]], n_rows: int
) -> NDArray[Any]:
    """The values of all rows, from those of each process and its row numbers."""
    out = np.empty((*parts[0].shape[:-1], n_rows), dtype=parts[0].dtype)
    for at, part in zip(numbers, parts, strict=True):
        out[..., at] = part
    return out


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the data that a process holds.

    Attributes
    ----------
    collectives : Collectives
    lengths : dict
        The number of rows of each part, by the number of the part. The rows of the
        process are those of its parts, in the order of the numbers.
    """

    collectives: Collectives
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
        """Which of all rows the process holds; all processes ask at the same time."""
        return RowPartition.of_parts(self.collectives, self.lengths)

    def check_same(self, what: str, value: Any) -> Any:
        """Check that a value is the same on all processes that hold rows.

        Parameters
        ----------
        what : str
            Its name in messages.
        value : object

        Returns
        -------
        object
            The value of these processes.

        Raises
        ------
        ValueError
            If it differs. The message names the parts.
        """
        given = self.collectives.all_gather((self.numbers, self.n_rows, value))
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
        """Check that all processes have numbers, or all have strings, and so on."""
        kind = values.dtype.kind
        words = {"U": "strings", "O": "objects"} | dict.fromkeys("biuf", "numbers")
        self.check_same(f"What {name} holds", words.get(kind, values.dtype.name))


def _named(parts: list[int]) -> str:
    numbers = ", ".join(map(str, parts[:5])) + (", ..." if len(parts) > 5 else "")
    return f"part {numbers}" if len(parts) == 1 else f"parts {numbers}"
