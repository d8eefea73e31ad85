"""How much of the noise of targets trees explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.objectives.objectives import TrainingRows

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

# The number of trees of each score that measure the noise.
NOISE_TREES = 4

# Sums of integers over equal rows have at most so many bits.
_BITS_OF_SUM = 62


class Noise(NamedTuple):
    """What trees explain of noise, as `Errors` tell."""

    explained: float  # by trees of the first score, of a learning rate of 1
    shares: Sequence[float]  # by trees of each score


class Errors(NamedTuple):
    """Derivatives of a loss by one score, as errors: Newton's steps to the targets."""

    rows: TrainingRows
    slope: Floats
    curve: Floats
    seen: Floats  # (n,): the slopes as far as trees can tell rows apart

    @classmethod
    def of(cls, rows: TrainingRows, slope: Floats, curve: Floats) -> Errors:
        """The errors with these derivatives."""
        return cls(rows, slope, curve, slope)

    def explained(self, change: Floats) -> float:
        """About the logarithm of the ratio of errors before and after a change.

        Those that have little weight in the mean have as little here.
        """
        total_of = self.rows.sum_of
        size = before = total_of(self.slope * self.slope)
        if self.seen is not self.slope:
            before = total_of(self.seen * self.seen)
        after = self.seen + self.curve * change
        after *= after
        less = before - total_of(after)
        return less / (2.0 * size - less) if size > 0 else 0.0

    def share(self, change: Floats) -> float:
        """The share of squared errors that the best multiple of a change explains."""
        squares = np.zeros(len(self.slope))
        known = self.curve > 0
        np.divide(self.slope * self.slope, self.curve, out=squares, where=known)
        total = self.rows.sum_of(squares)
        size = self.rows.sum_of(self.curve * change * change)
        if not total * size > 0:
            return 0.0
        along = self.rows.sum_of(self.seen * change)
        return along / total * (along / size)

    def as_noise(self, signs: Floats, equal: EqualRows) -> list[Errors]:
        """Errors of the same sizes, with random signs, once for each row of ``signs``.

        Equal rows are in the same leaf of every tree, which sees only their sum. That
        of m errors with signs of their own is about as large as the root of the sum of
        their squares, so equal rows get one sign and such a sum.
        """
        size = equal.noise(self.slope)
        return [self._replace(seen=sign * size) for sign in signs]


class EqualRows:
    """The rows of all processes, by what distinguishes them.

    Rows of equal ``keys`` are equal. ``copies`` is the number of copies that each row
    stands for. None: weights, if there are any, are not whole.
    """

    def __init__(
        self, keys: Keys, rows: TrainingRows, copies: NDArray[np.uint32] | None
    ) -> None:
        self.rows = rows
        self.copies = None if copies is None else copies.astype(np.int64)
        self.keys, self.group = np.unique(keys, return_inverse=True)
        is_alone = rows.collectives.n_ranks == 1
        self.are_distinct = is_alone and len(self.keys) == len(keys)
        n_rows = len(keys) if copies is None else int(self.copies.sum())
        n_rows = rows.collectives.total(n_rows)
        self.n_bits = _BITS_OF_SUM - n_rows.bit_length()
        # Those of copies are 1.
        weight = rows.weight if copies is None else None
        self.weight = np.ones(len(keys)) if weight is None else weight
        self.total_weight = self.totals(self.weight)

    def noise(self, slope: Floats) -> Floats:
        """What each row adds to the sum of independent errors of equal rows."""
        size, total = (
            np.sqrt(self.totals((self.weight * slope) ** 2)),
            self.total_weight,
        )
        return np.divide(size, total, out=np.zeros_like(size), where=total > 0)

    def totals(self, values: Floats) -> Floats:
        """The sum of values >= 0 over the rows that are equal to each row.

        Values are rounded to multiples of a power of two, so their sums are exact: they
        depend neither on the order of the rows nor on which process holds them.
        """
        collectives = self.rows.collectives
        largest = max(collectives.all_gather(float(values.max(initial=0.0))))
        exponent = int(np.frexp(largest)[1]) - self.n_bits
        whole = np.rint(np.ldexp(values, -exponent)).astype(np.int64)
        whole = whole if self.copies is None else whole * self.copies
        if self.are_distinct:
            return np.ldexp(whole.astype(np.float64), exponent)
        sums = np.zeros(len(self.keys), dtype=np.int64)
        np.add.at(sums, self.group, whole)
        if collectives.n_ranks > 1:
            sums = self._of_all_processes(sums)
        return np.ldexp(sums[self.group].astype(np.float64), exponent)

    def _of_all_processes(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums over the rows of all processes, each computed by one of them."""
        collectives = self.rows.collectives
        owner = (self.keys % np.uint64(collectives.n_ranks)).astype(np.intp)
        to_owner = np.argsort(owner, kind="stable")
        cuts = np.cumsum(np.bincount(owner, minlength=collectives.n_ranks))[:-1]

        def by_owner(values: NDArray[Any]) -> list[NDArray[Any]]:
            return np.split(values[to_owner], cuts)

        asked = collectives.all_to_all(
            list(zip(by_owner(self.keys), by_owner(sums), strict=True))
        )
        keys, group = np.unique(
            np.concatenate([keys for keys, _ in asked]), return_inverse=True
        )
        total = np.zeros(len(keys), dtype=np.int64)
        np.add.at(total, group, np.concatenate([part for _, part in asked]))
        ends = np.cumsum([len(keys) for keys, _ in asked])[:-1]
        answers = collectives.all_to_all(np.split(total[group], ends))
        found = np.empty_like(sums)
        found[to_owner] = np.concatenate(answers)
        return found


def row_keys(dataset: BinnedDataset) -> Keys:
    """A number for each row that depends only on its bins.

    So rows that no tree can tell apart have the same one, in any order of the rows.
    """
    keys = np.zeros(dataset.n_rows, dtype=np.uint64)
    for column in range(len(dataset.feature)):
        keys ^= dataset.bins(column)
        keys *= np.uint64(0xBF58476D1CE4E5B9)
        keys ^= keys >> np.uint64(31)
    return keys
