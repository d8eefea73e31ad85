"""Columns that a model computes itself: parts of dates, and pairs of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import isfinite
from operator import attrgetter
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgoss._engine.columns.computed_kernels import (
    DATE_PARTS,
    PAIR_OPERATIONS,
    computed_values,
)
from skgoss.columns.columns import Columns, ColumnsBuilder, MadeInSpans
from skgoss.columns.sparse import SPAN_BYTES
from skgoss.utils.locks import cached_property

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# The code of each operation.
_OPERATIONS = PAIR_OPERATIONS | DATE_PARTS
_NAMES = list(_OPERATIONS)
# The operations whose second column has a factor.
_SCALED = "-+"


@dataclass(frozen=True, eq=False)
class ComputedColumns:
    """Parts of dates, and differences, sums, products and ratios of two columns each.

    They follow the columns of ``X``. A ratio is missing where the divisor is zero.
    """

    # (n,): the number of the first column of each pair, or that of a date.
    left: Ints
    operation: NDArray[np.uint8]  # (n,): a code of `_OPERATIONS`
    # (n,): by which the second column of a sum or a difference is multiplied.
    factor: Floats
    right: Ints  # (n,): the number of the second column; of a part, ``left`` again
    # The last arguments of `among`, and what it has returned.
    _last_among: tuple[Any, int, Any] = field(default=(None, 0, None), init=False)

    @classmethod
    def of_dates(cls, parts: Mapping[int, Sequence[str]]) -> Self:
        """Parts of dates: names in `DATE_PARTS`, by column."""
        return cls.from_state(
            [[date, part, 1.0, date] for date in parts for part in parts[date]]
        )

    @classmethod
    def of_pairs(cls, scales: Mapping[int, float], operations: str) -> Self:
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
        """Of each: a column, the operation, the factor, and the other column."""
        names = [_NAMES[code] for code in self.operation.tolist()]
        factors = self.factor.tolist()
        columns = self.left.tolist(), names, factors, self.right.tolist()
        return [list(computed) for computed in zip(*columns, strict=True)]

    @classmethod
    def from_state(cls, state: Sequence[Sequence[Any]]) -> Self:
        """The columns of what `state` returned."""
        left, name, factor, right = zip(*state, strict=True) if state else [()] * 4
        return cls(
            np.array(left, dtype=np.int32),
            np.array([_OPERATIONS[n] for n in name], dtype=np.uint8),
            np.array(factor, dtype=np.float64),
            np.array(right, dtype=np.int32),
        )

    def names(self, names: Sequence[str]) -> list[str]:
        """Their names, such as 'a - b' and 'a[month]', by those of ``X``."""
        taken, found = set(names), []
        for left, operation, factor, right in self.state():
            scaled = "" if factor == 1.0 else f"{factor:.3g} "
            name, kind = f"{names[left]} {operation} {scaled}{names[right]}", "pair"
            if operation in DATE_PARTS:
                name, kind = f"{names[left]}[{operation}]", "date"
            while name in taken:
                name += f" ({kind})"
            taken.add(name)
            found.append(name)
        return found

    @cached_property
    def sources(self) -> list[list[int]]:
        """The columns that each is made of: one or two."""
        both = zip(self.left.tolist(), self.right.tolist(), strict=True)
        return [sorted({left, right}) for left, right in both]

    @property
    def parts(self) -> ComputedColumns:
        """Those that are parts of dates."""
        return self.take(np.isin(self.operation, list(DATE_PARTS.values())))

    @property
    def pairs(self) -> ComputedColumns:
        """Those that are made of two columns."""
        return self.take(np.isin(self.operation, list(PAIR_OPERATIONS.values())))

    @property
    def columns(self) -> Ints:
        """The numbers of the columns that they are made of, ascending."""
        return self._positions[0]

    def renumbered(self, numbers: Mapping[int, int]) -> Self:
        """The same of columns with other numbers, by their numbers so far."""
        state = self.state()
        return self.from_state([[numbers[i], *how, numbers[j]] for i, *how, j in state])

    def take(self, numbers: NDArray[Any] | slice) -> ComputedColumns:
        """Some of the columns."""
        return ComputedColumns(
            self.left[numbers],
            self.operation[numbers],
            self.factor[numbers],
            self.right[numbers],
        )

    def values(
        self,
        columns: Columns,
        n_threads: int = 1,
        chosen: Ints | None = None,
        values_out: Floats | None = None,
    ) -> Floats:
        """The values, (n, n_rows).

        If some are ``chosen`` by their numbers, those of others have no meaning.
        """
        if values_out is None:
            values_out = np.empty((len(self), columns.n_rows))
        computed_values(
            columns,
            *self._positions,
            self.operation,
            self.factor,
            self._numbers if chosen is None else chosen,
            n_threads,
            values_out,
        )
        return values_out

    def appended_to(self, columns: Columns, n_threads: int = 1) -> Columns:
        """The columns, and then these, which are made when they are read."""
        if not len(self):
            return columns
        return cast(Columns, ExtendedColumns(columns, self, columns, n_threads))

    @cached_property
    def _positions(self) -> tuple[Ints, Ints, Ints]:
        """The columns that occur, and where among them the sources of each are."""
        used, at = np.unique([self.left, self.right], return_inverse=True)
        left, right = at.reshape(2, -1).astype(np.int32)
        return used, left, right

    @cached_property
    def _numbers(self) -> Ints:
        return np.arange(len(self), dtype=np.int32)

    def among(
        self, features: NDArray[Any], n_columns: int
    ) -> tuple[NDArray[Any], Ints]:
        """Which of some columns, ascending, are columns of ``X``, and which of these.

        These follow ``n_columns`` of ``X``, and are counted from 0.
        """
        last, n_last, parts = self._last_among
        if last is not features or n_last != n_columns:
            n = int(np.searchsorted(features, n_columns))
            parts = features[:n], (features[n:] - n_columns).astype(np.int32)
            # Predictions ask again and again for the columns of the same trees.
            object.__setattr__(self, "_last_among", (features, n_columns, parts))
        return parts

    def shared_out(
        self, values: NDArray[Any], n_features: int, axis: int, fraction: float
    ) -> NDArray[Any]:
        """Numbers of all columns as those of the columns of ``X`` alone.

        A part of a date gives its number to the date, and a pair gives a ``fraction``
        of its number to each of its columns. Along the ``axis`` are the ``n_features``
        columns of ``X``, then the computed ones, then anything else.
        """
        if not len(self):
            return values
        n, values = n_features, np.moveaxis(values, axis, 0)
        shared = np.concatenate([values[:n], values[n + len(self) :]])
        own = values[n : n + len(self)]
        for sources, number in zip(self.sources, own, strict=True):
            for column in sources:
                shared[column] += number if len(sources) == 1 else fraction * number
        return np.moveaxis(shared, 0, axis)

    def shared_out_sparse(self, values: Any, n_features: int) -> Any:
        """The same of a CSR matrix, whose last column is anything else.

        A column gives half of its number to each of its sources, which may be equal.
        """
        if not len(self):
            return values
        n, last = n_features, n_features + len(self)
        entries = values.tocoo()
        is_own = (n <= entries.col) & (entries.col < last)
        own, kept = entries.col[is_own] - n, ~is_own
        row, half = entries.row[is_own], 0.5 * entries.data[is_own]
        column = np.where(entries.col == last, n, entries.col)[kept]
        return sp.csr_matrix(
            (
                np.concatenate([entries.data[kept], half, half]),
                (
                    np.concatenate([entries.row[kept], row, row]),
                    np.concatenate([column, self.left[own], self.right[own]]),
                ),
            ),
            shape=(values.shape[0], n + 1),
        )


class ExtendedColumns(MadeInSpans):
    """Columns, and then computed ones, which are made in spans."""

    is_sparse = property(attrgetter("base.is_sparse"))

    may_have_nan = True

    def __init__(
        self, base: Columns, computed: ComputedColumns, source: Columns, n_threads: int
    ) -> None:
        self.base = base  # columns of ``X``
        self.computed = computed
        self.source = source  # all columns of ``X``, which others are computed from
        self.n_threads = n_threads  # that make all columns at once
        self.n_rows = base.n_rows
        self.n_features = base.n_features + len(computed)

    @property
    def index(self) -> NDArray[np.uint64] | None:
        """The addresses of the rows of sparse columns; None: all columns are dense."""
        return self._with_zeros(self.base.index)

    @property
    def n_categories(self) -> Ints | None:
        """The number of categories of each column; None: all hold numbers."""
        return self._with_zeros(self.base.n_categories)

    def _with_zeros(self, values: NDArray[Any] | None) -> Any:
        """An attribute of the columns of ``X``, with zeros for the computed ones."""
        if values is None:
            return None
        return np.append(values, np.zeros(len(self.computed), dtype=values.dtype))

    def n_stored(self, n_threads: int) -> int:
        """The number of stored values of the columns of ``X``: see `MadeInSpans`.

        Values of computed columns are not counted: they are not known before they are
        computed.
        """
        return self.base.n_stored(n_threads)

    @cached_property
    def whole(self) -> Columns:
        """All columns at once."""
        values = self.computed.values(self._source(self.n_threads), self.n_threads)
        return self.base.whole.followed_by(values)

    def _source(self, n_threads: int) -> Columns:
        """The columns to compute from, if those of CSR are not all made."""
        return self.source.only(self.computed.columns, n_threads)

    def only(self, features: NDArray[Any], n_threads: int) -> Columns:
        """As many columns, of which these, in ascending order, can be read."""
        of_base, chosen = self.computed.among(features, self.base.n_features)
        values = self.computed.values(self._source(n_threads), n_threads, chosen)
        return self.base.only(of_base, n_threads).followed_by(values)

    def take(self, features: NDArray[Any]) -> Columns | ExtendedColumns:
        """Some of the columns, made in spans if they ascend."""
        if (features[1:] <= features[:-1]).any():
            return self.whole.take(features)
        of_base, chosen = self.computed.among(features, self.base.n_features)
        base = self.base.take(of_base)
        if not len(chosen):
            return base
        computed = self.computed.take(chosen)
        return ExtendedColumns(base, computed, self.source, self.n_threads)

    def by_span(self, n_threads: int) -> Iterator[tuple[slice, Columns]]:
        """All columns, span by span; each is valid until the next one is made."""
        first = self.base.n_features
        if first:
            yield from self.base.by_span(n_threads)
        of_span = max(1, SPAN_BYTES // (8 * max(self.n_rows, 1)))
        memory = np.empty((min(of_span, len(self.computed)), self.n_rows))
        source = self._source(n_threads)
        for start in range(0, len(self.computed), of_span):
            made = self.computed.take(slice(start, start + of_span))
            values = made.values(source, n_threads, values_out=memory[: len(made)])
            builder = ColumnsBuilder(self.n_rows, len(made))
            builder.add([(np.arange(len(made)), values.T)])
            yield slice(first + start, first + start + len(made)), builder.columns()


def joined(parts: Sequence[ComputedColumns]) -> ComputedColumns:
    """The columns of several, one after the other."""
    states = [part.state() for part in parts]
    return ComputedColumns.from_state(list(chain.from_iterable(states)))


NOTHING_COMPUTED = ComputedColumns.from_state([])


def is_state(state: Any, n_features: int) -> bool:
    """Whether a value is a state of columns that are made of ``n_features``."""
    return isinstance(state, list) and all(
        isinstance(computed, list)
        and len(computed) == 4
        and all(type(j) is int and 0 <= j < n_features for j in computed[::3])
        and computed[1] in _NAMES
        and isinstance(computed[2], int | float)
        and isfinite(computed[2])
        for computed in state
    )


def _ratio(first: float, second: float, symbol: str) -> float:
    """A ratio, rounded to eight binary digits; 1 for operations that need none.

    Its last digits depend on the order of the rows.
    """
    if symbol not in _SCALED:
        return 1.0
    mantissa, exponent = np.frexp(first / second)
    return float(np.ldexp(np.round(mantissa * 256) / 256, exponent))
