"""How much of the noise of targets is explained by trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum
from skgoss._engine.training import error_sums
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.objectives.objectives import TrainingRows

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

# The number of trees of each score that measure the noise.
NOISE_TREES = 4

# The maximum number of bits of sums of integers over equal rows.
_SUM_BITS = 62


class Noise(NamedTuple):
    """How much of noise trees explain: see `ErrorSums`."""

    explained: float  # by trees of the first score, of a learning rate of 1
    fractions: Sequence[float]  # by trees of each score


class ErrorSums(NamedTuple):
    """Weighted sums of the `Errors` of rows, before and after a change of the score."""

    square: float  # of slope**2
    visible_square: float  # of visible**2
    remaining_square: float  # of (visible + curve change)**2
    scaled_square: float  # of slope**2 / curve
    change_square: float  # of curve change**2
    projection: float  # of visible change

    @property
    def explained(self) -> float:
        """About the logarithm of the ratio of errors before and after the change.

        Each error, ``slope / curve``, is weighted by ``curve``, as in a leaf value.
        With B and A the sums of squares before and after, it is (B - A) / (B + A),
        about log(B / A) / 2. Trees change only the ``visible`` part of errors, so B - A
        is that of this part.
        """
        decrease = self.visible_square - self.remaining_square
        size = self.square
        return decrease / (2.0 * size - decrease) if size > 0 else 0.0

    @property
    def explained_fraction(self) -> float:
        """The fraction of squared errors explained by the best multiple of the change.

        It is the R squared of a regression of the errors on it, weighted by ``curve``.
        """
        total, size = self.scaled_square, self.change_square
        if not total * size > 0:
            return 0.0
        return self.projection / total * (self.projection / size)


class Errors(NamedTuple):
    """Derivatives of a loss by one score, as errors: Newton's steps to the targets.

    ``slope`` and ``curve``, (n,), are the first and second derivative of each row.
    """

    rows: TrainingRows
    slope: Floats
    curve: Floats
    # (n,): the slopes that trees see, because they see only sums over equal rows
    visible: Floats

    @classmethod
    def from_derivatives(
        cls, rows: TrainingRows, slope: Floats, curve: Floats
    ) -> Errors:
        """The errors with these derivatives."""
        return cls(rows, slope, curve, slope)

    def sums(self, change: Floats) -> ErrorSums:
        """The sums over all rows with a change, (n,): what trees add to the score."""
        sums = error_sums.error_sums(*self[1:], change, self.rows.weight)
        total = self.rows.collectives.all_reduce(sums)
        return ErrorSums(*map(exact_sum.rounded, total))

    def with_random_signs(self, signs: Floats, equal: EqualRows) -> list[Errors]:
        """Errors of the same sizes, with random signs, once for each row of ``signs``.

        Equal rows are in the same leaf of every tree, whose value depends only on their
        sum. The sum of m errors with independent signs is about as large as the root of
        the sum of their squares. So equal rows get one sign and such a sum.
        """
        size = equal.noise(self.slope)
        return [self._replace(visible=sign * size) for sign in signs]


class EqualRows:
    """The rows of all processes, grouped by equality.

    Rows with the same key are equal. ``frequency`` is the frequency weight of each row;
    None if weights are not whole.
    """

    def __init__(
        self, keys: Keys, rows: TrainingRows, frequency: NDArray[np.uint32] | None
    ) -> None:
        self.rows = rows
        self.frequency = None if frequency is None else frequency.astype(np.int64)
        self.keys, self.group = np.unique(keys, return_inverse=True)
        is_alone = rows.collectives.n_ranks == 1
        self.are_distinct = is_alone and len(self.keys) == len(keys)
        n_rows = len(keys) if self.frequency is None else int(self.frequency.sum())
        n_rows = rows.collectives.total(n_rows)
        self.n_bits = _SUM_BITS - n_rows.bit_length()
        weight = rows.weight if frequency is None else None
        self.weight = np.ones(len(keys)) if weight is None else weight
        self.total_weight = self.totals(self.weight)

    def noise(self, slope: Floats) -> Floats:
        """The part of each row in the sum of independent errors of equal rows.

        ``slope``, (n,), are the errors. Of equal rows, each gets the root of the sum of
        squares over their total weight.
        """
        size = np.sqrt(self.totals((self.weight * slope) ** 2))
        total = self.total_weight
        return np.divide(size, total, out=np.zeros_like(size), where=total > 0)

    def totals(self, values: Floats) -> Floats:
        """The sum of values >= 0 over the rows that are equal to each row.

        Values are rounded to multiples of a power of two, so their sums are exact: they
        depend neither on the order of the rows nor on which process holds them.
        """
        collectives = self.rows.collectives
        largest = max(collectives.all_gather(float(values.max(initial=0.0))))
        exponent = int(np.frexp(largest)[1]) - self.n_bits
        integers = np.rint(np.ldexp(values, -exponent)).astype(np.int64)
        integers = integers if self.frequency is None else integers * self.frequency
        if self.are_distinct:
            return np.ldexp(integers.astype(np.float64), exponent)
        sums = np.zeros(len(self.keys), dtype=np.int64)
        np.add.at(sums, self.group, integers)
        if collectives.n_ranks > 1:
            sums = self._totals_of_all_processes(sums)
        return np.ldexp(sums[self.group].astype(np.float64), exponent)

    def _totals_of_all_processes(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums of all processes for the keys of this one, (n_keys,).

        ``sums``, (n_keys,), are those of this process. Each key is owned by one
        process, which receives its sums, adds them up, and sends the total back.
        """
        collectives = self.rows.collectives
        owner = (self.keys % np.uint64(collectives.n_ranks)).astype(np.intp)
        order = np.argsort(owner, kind="stable")
        cuts = np.cumsum(np.bincount(owner, minlength=collectives.n_ranks))[:-1]

        def by_owner(values: NDArray[Any]) -> list[NDArray[Any]]:
            return np.split(values[order], cuts)

        received = collectives.all_to_all(
            list(zip(by_owner(self.keys), by_owner(sums), strict=True))
        )
        keys, group = np.unique(
            np.concatenate([keys for keys, _ in received]), return_inverse=True
        )
        total = np.zeros(len(keys), dtype=np.int64)
        np.add.at(total, group, np.concatenate([part for _, part in received]))
        ends = np.cumsum([len(keys) for keys, _ in received])[:-1]
        answers = collectives.all_to_all(np.split(total[group], ends))
        totals = np.empty_like(sums)
        totals[order] = np.concatenate(answers)
        return totals


def row_keys(dataset: BinnedDataset) -> Keys:
    """A number for each row that depends only on its bins.

    So rows that no tree can distinguish have the same key, in any order of the rows.
    """
    keys = np.zeros(dataset.n_rows, dtype=np.uint64)
    for column in range(len(dataset.feature)):
        keys ^= dataset.bins(column)
        keys *= np.uint64(0xBF58476D1CE4E5B9)
        keys ^= keys >> np.uint64(31)
    return keys
