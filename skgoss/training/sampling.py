"""Samples of rows: which rows the trees of a round are grown on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.sampling_kernels import (
    bagging_mask,
    kept_rows,
    one_side_draws,
    one_side_keys,
    one_side_sample,
)
from skgoss.columns.queries import Queries
from skgoss.distributed.order_statistics import largest_of_smallest
from skgoss.distributed.row_partition import RowPartition
from skgoss.parameters.settings import Settings

Singles = NDArray[np.float32]
Keys32 = NDArray[np.uint32]

_EMPTY = np.empty(0, dtype=np.bool_)


class Sample(NamedTuple):
    """The rows of a round, and their hessians."""

    rows: NDArray[np.uint32] | None  # (m,): row numbers, ascending; None: all rows
    # (n_scores, n_rows): hessians, adjusted to the sample in its rows; None: ones.
    hessian: Singles | None


# Without other values of these, all rows are used.
OPTIONS = ("data_sample_strategy", "subsample_freq")


class Sampler(ABC):
    """Draws the rows of each round, the same on any number of threads."""

    @abstractmethod
    def draw(
        self,
        round_index: int,
        gradient: Singles,
        hessian: Singles | None,
        n_threads: int,
    ) -> Sample:
        """The rows of a round.

        Gradients and hessians have the shape (n_scores, n_rows), and no weights.
        One-side sampling scales them in the rows that are drawn to stand for others.
        """


def make(
    settings: Settings,
    weight: NDArray[np.float64] | None,
    y: NDArray[np.float64],
    queries: Queries | None = None,
    partition: RowPartition | None = None,
) -> Sampler | None:
    """The sampler for some options; None: all rows are used.

    Rows with a target y > 0 are positive. The shape of ``weight`` is
    (1 or n_scores, n_rows).
    """
    partition = partition or RowPartition(len(y))
    if settings.data_sample_strategy == "goss":
        return OneSideSampling(settings, weight, partition)
    fractions = 1.0, 1.0
    if settings.objective == "binary":
        fractions = settings.neg_bagging_fraction, settings.pos_bagging_fraction
    if settings.subsample_freq <= 0 or min(settings.subsample, *fractions) == 1.0:
        return None
    if settings.bagging_by_query and queries is not None:
        return Bagging(
            settings, queries.partition(partition.collectives), unit=queries.number
        )
    if min(fractions) < 1.0:
        return Bagging(settings, partition, positive=y > 0, fractions=fractions)
    return Bagging(settings, partition)


class Bagging(Sampler):
    """A new random sample of rows every ``subsample_freq`` rounds.

    ``units`` are drawn: rows, or queries with all of their rows. ``unit`` is the one
    that each row belongs to; None: each row is a unit. Units are drawn with the
    probability ``subsample``, or if some are ``positive``, these with the second of
    ``fractions`` and the others with the first.
    """

    def __init__(
        self,
        settings: Settings,
        units: RowPartition,
        *,
        unit: NDArray[np.int64] | None = None,
        positive: NDArray[np.bool_] | None = None,
        fractions: Sequence[float] = (),
    ) -> None:
        self.settings = settings
        self.units = units
        self.unit = unit
        self.positive = positive
        self.fractions = (settings.subsample,) if positive is None else fractions
        self.begin: int | None = None
        self.rows: NDArray[np.uint32] | None = None

    def draw(
        self,
        round_index: int,
        gradient: Singles,
        hessian: Singles | None,
        n_threads: int,
    ) -> Sample:
        """The bag, which is never empty."""
        # The random numbers depend on the round in which the bag begins, not on the
        # round that draws it first.
        begin = round_index - round_index % self.settings.subsample_freq
        if begin != self.begin:
            # The rows are assigned first, because an interrupt may come in between.
            self.rows = self._bag(begin, n_threads)
            self.begin = begin
        return Sample(self.rows, hessian)

    def _bag(self, begin: int, n_threads: int) -> NDArray[np.uint32]:
        """The rows of the bag that begins in the round ``begin``, ascending.

        If it is empty in all processes, it has the rows of the first unit.
        """
        kept, units = self._kept(begin, n_threads), self.units
        rows = self._kept_rows(kept, n_threads)
        if not any(units.collectives.all_gather(len(rows) > 0)):
            kept[units.numbers == 0] = True
            rows = self._kept_rows(kept, n_threads)
        return rows

    def _kept_rows(self, kept: NDArray[np.bool_], n_threads: int) -> NDArray[np.uint32]:
        """The rows of the units that are kept: ``kept``, (n_units,)."""
        return kept_rows(kept if self.unit is None else kept[self.unit], n_threads)

    def _kept(self, round_index: int, n_threads: int) -> NDArray[np.bool_]:
        """A mask of the units in the bag of a round, (n_units,).

        Positive units are drawn with another probability than the others, from numbers
        of the same seed.
        """
        masks = [
            self._mask(fraction, round_index, n_threads) for fraction in self.fractions
        ]
        if self.positive is None:
            return masks[0]
        return (masks[0] & ~self.positive) | (masks[1] & self.positive)

    def _mask(
        self, fraction: float, round_index: int, n_threads: int
    ) -> NDArray[np.bool_]:
        """A mask of the units that are drawn with the probability ``fraction``.

        The random numbers are hashes of the numbers of the units among those of all
        processes, so each process draws its own units without any messages.
        """
        units, seed = self.units, self.settings.bagging_seed
        masks = [
            bagging_mask(n, fraction, seed, round_index, n_threads, first)
            for first, n in units.spans
        ]
        return masks[0] if len(masks) == 1 else np.concatenate([*masks, _EMPTY])


class OneSideSampling(Sampler):
    """Gradient-based one-side sampling (G. Ke et al., NeurIPS 2017, Algorithm 2).

    The fraction ``top_rate`` of the rows, those with the largest gradients, is kept.
    From the other rows, the fraction ``other_rate`` of all rows is drawn at random,
    with gradients and hessians multiplied by (1 - top_rate) / other_rate. The first 1 /
    learning_rate rounds use all rows, as in LightGBM.
    """

    def __init__(
        self,
        settings: Settings,
        weight: NDArray[np.float64] | None,
        partition: RowPartition,
    ) -> None:
        n_rows = partition.n_rows
        self.partition = partition
        self.seed = settings.bagging_seed
        self.warm_up = 1.0 / settings.learning_rate
        self.weight = weight
        self.n_top = max(1, int(n_rows * settings.top_rate))
        self.n_other = int(n_rows * settings.other_rate)
        # Rates that sum to 1, up to rounding, leave out no row.
        if settings.top_rate + settings.other_rate > 1.0 - 1e-9:
            self.n_other = n_rows - self.n_top
        self.leaves_out = 0 < self.n_other < n_rows - self.n_top
        self.counts: Singles | None = None
        self.scratch: Keys32 | None = None
        # The numbers of the rows, if there are several processes.
        self.numbers: Keys32 | None = None

    def draw(
        self,
        round_index: int,
        gradient: Singles,
        hessian: Singles | None,
        n_threads: int,
    ) -> Sample:
        """The rows with large gradients and some of the others."""
        if not self.leaves_out or round_index + 1 <= self.warm_up:
            return Sample(None, hessian)
        is_constant = hessian is None
        if hessian is None:
            if self.counts is None:
                self.counts = np.ones_like(gradient)
            hessian = self.counts
        if not self.partition.is_alone:
            rows = self._sample_of_all_ranks(
                gradient, hessian, round_index, n_threads, is_constant
            )
            return Sample(rows, hessian)
        if self.scratch is None:
            self.scratch = np.empty((3, gradient.shape[1]), dtype=np.uint32)
        rows = one_side_sample(
            gradient,
            hessian,
            self.weight,
            self.n_top,
            self.n_other,
            self.seed,
            round_index,
            n_threads,
            is_constant,
            self.scratch,
        )
        return Sample(rows, hessian)

    def _sample_of_all_ranks(
        self,
        gradient: Singles,
        hessian: Singles,
        round_index: int,
        n_threads: int,
        is_constant: bool,
    ) -> NDArray[np.uint32]:
        """The rows of this process in the sample of all rows, ascending.

        The sample is that of `one_side_sample`, which reads the rows of one process.
        The derivatives of drawn rows are scaled in place. ``is_constant``: the hessian
        is an array of ones that was scaled in earlier rounds.
        """
        partition, n_top, n_other = self.partition, self.n_top, self.n_other
        if self.numbers is None:
            self.numbers = partition.numbers.astype(np.uint32)
        is_top = _smallest(one_side_keys(gradient, self.weight), n_top, partition)
        draws = one_side_draws(self.numbers, is_top, self.seed, round_index)
        is_kept = _smallest(draws, n_top + n_other, partition)
        rows = kept_rows(is_kept, n_threads)
        drawn_rows = rows[~is_top[rows]]
        if is_constant:
            hessian[:, rows] = 1.0
        factor = np.float32((partition.n_rows - n_top) / n_other)
        for derivative in (*gradient, *hessian):
            derivative[drawn_rows] *= factor
        return rows


def _smallest(keys: Keys32, n: int, partition: RowPartition) -> NDArray[np.bool_]:
    """Which rows have the ``n`` smallest keys of all ranks; ties go to the first."""
    unique = keys.astype(np.uint64)
    unique <<= np.uint64(32)
    unique |= partition.numbers.view(np.uint64)
    return unique <= largest_of_smallest(unique, n, partition.collectives)
