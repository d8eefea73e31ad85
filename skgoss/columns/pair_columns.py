"""Columns that a model computes itself, from pairs of the columns of ``X``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.columns.pair_kernels import OPERATIONS, pair_values
from skgoss.columns.columns import KIND_OF_DTYPE, Columns
from skgoss.utils.locks import cached_property

Floats = NDArray[np.float64]

_SYMBOLS = list(OPERATIONS)
# The operations whose second column has a factor.
_SCALED = "-+"


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Differences, sums, products and ratios of two columns each.

    They follow the columns of ``X``. A ratio is missing where the divisor is zero.
    """

    left: NDArray[np.int32]  # (n_pairs,): the number of the first column of each pair
    operation: NDArray[np.uint8]  # (n_pairs,): a code of `OPERATIONS`
    # (n_pairs,): by which the second column of a sum or a difference is multiplied.
    factor: Floats
    right: NDArray[np.int32]  # (n_pairs,): the number of the second column

    @classmethod
    def of(cls, scales: Mapping[int, float], operations: str) -> Self:
        """All pairs of some columns, for each operation, such as '-' and '+' in '-+'.

        ``scales`` are the columns with their standard deviations. A sum or a difference
        is that of columns with equal ones, so that it does not depend on their units.
        """
        return cls.from_state(
            [
                [left, symbol, _ratio(scales[left], scales[right], symbol), right]
                for left, right in combinations(scales, 2)
                for symbol in operations
            ]
        )

    def __len__(self) -> int:
        return len(self.left)

    def state(self) -> list[list[Any]]:
        """Of each pair: a column, the operation, the factor, and the other column."""
        symbols = [_SYMBOLS[code] for code in self.operation.tolist()]
        factors = self.factor.tolist()
        columns = self.left.tolist(), symbols, factors, self.right.tolist()
        return [list(pair) for pair in zip(*columns, strict=True)]

    @classmethod
    def from_state(cls, state: Sequence[Sequence[Any]]) -> Self:
        """The pairs of what `state` returned."""
        left, symbol, factor, right = zip(*state, strict=True) if state else [()] * 4
        return cls(
            np.array(left, dtype=np.int32),
            np.array([OPERATIONS[s] for s in symbol], dtype=np.uint8),
            np.array(factor, dtype=np.float64),
            np.array(right, dtype=np.int32),
        )

    def names(self, names: Sequence[str]) -> list[str]:
        """The names of the pairs, such as 'a - b', by those of the columns of ``X``."""
        taken, found = set(names), []
        for left, symbol, factor, right in self.state():
            scaled = "" if factor == 1.0 else f"{factor:.3g} "
            name = f"{names[left]} {symbol} {scaled}{names[right]}"
            while name in taken:
                name += " (pair)"
            taken.add(name)
            found.append(name)
        return found

    @property
    def columns(self) -> NDArray[np.int32]:
        """The numbers of the columns that occur in pairs, ascending."""
        return self._positions[0]

    def renumbered(self, numbers: Mapping[int, int]) -> Self:
        """The pairs of columns with other numbers, by their numbers so far."""
        pairs = self.state()
        return self.from_state([[numbers[i], *how, numbers[j]] for i, *how, j in pairs])

    def values(self, columns: Columns, n_threads: int = 1) -> Floats:
        """The values of the pairs, (n_pairs, n_rows)."""
        values = np.empty((len(self), columns.n_rows))
        how = self.operation, self.factor, n_threads
        pair_values(columns, *self._positions, *how, values)
        return values

    def appended_to(self, columns: Columns, n_threads: int = 1) -> Columns:
        """The columns, and then the pairs."""
        if not len(self):
            return columns
        columns = columns.whole
        values = self.values(columns, n_threads)
        first, step = values.__array_interface__["data"][0], values.strides[0]
        address = np.uint64(first) + self._numbers * np.uint64(step)
        return columns.followed_by({"address": address, **self._attributes}, values)

    @cached_property
    def _positions(self) -> tuple[NDArray[np.int32], ...]:
        """The columns that occur, and where among them those of each pair are."""
        used, at = np.unique([self.left, self.right], return_inverse=True)
        return used, *at.reshape(2, -1).astype(np.int32)

    @cached_property
    def _numbers(self) -> NDArray[np.uint64]:
        return np.arange(len(self), dtype=np.uint64)

    @cached_property
    def _attributes(self) -> dict[str, NDArray[Any]]:
        """The attributes of `Columns` that do not depend on the rows: dense numbers."""
        kind = KIND_OF_DTYPE[np.dtype(np.float64)]
        return {
            "stride": np.full(len(self), 8, dtype=np.int64),
            "kind": np.full(len(self), kind, dtype=np.uint8),
            "index": np.zeros(len(self), dtype=np.uint64),
            "length": np.zeros(len(self), dtype=np.int64),
            "n_categories": np.zeros(len(self), dtype=np.int32),
        }

    def shared_out(
        self, values: NDArray[Any], n_features: int, axis: int, fraction: float
    ) -> NDArray[Any]:
        """Numbers of all columns as those of the columns of ``X`` alone.

        A pair gives a ``fraction`` of its number to each of its columns. Along the
        ``axis`` are the ``n_features`` columns of ``X``, then the pairs, then anything
        else.
        """
        if not len(self):
            return values
        n, values = n_features, np.moveaxis(values, axis, 0)
        shared = np.concatenate([values[:n], values[n + len(self) :]])
        pairs = zip(self.left.tolist(), self.right.tolist(), strict=True)
        for columns, of_pair in zip(pairs, values[n : n + len(self)], strict=True):
            for column in columns:
                shared[column] += fraction * of_pair
        return np.moveaxis(shared, 0, axis)


def joined(parts: Sequence[PairColumns]) -> PairColumns:
    """The pairs of several, one after the other."""
    return PairColumns.from_state([pair for part in parts for pair in part.state()])


NO_PAIRS = PairColumns.from_state([])


def is_state(state: Any, n_features: int) -> bool:
    """Whether a value is a state of pairs of ``n_features`` columns."""
    return isinstance(state, list) and all(
        isinstance(pair, list)
        and len(pair) == 4
        and all(type(j) is int and 0 <= j < n_features for j in pair[::3])
        and pair[1] in _SYMBOLS
        and isinstance(pair[2], int | float)
        and isfinite(pair[2])
        for pair in state
    )


def _ratio(first: float, second: float, symbol: str) -> float:
    """A ratio, rounded to eight binary digits; 1 for operations that need none.

    Its last digits depend on the order of the rows.
    """
    if symbol not in _SCALED:
        return 1.0
    mantissa, exponent = np.frexp(first / second)
    return float(np.ldexp(np.round(mantissa * 256) / 256, exponent))
