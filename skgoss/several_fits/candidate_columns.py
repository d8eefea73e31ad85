"""The columns of candidates: those of the data, alone or with pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from skgoss.columns import computed_columns
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.fit import pair_features
from skgoss.fit.fit import PreparedFit
from skgoss.model.ensemble import Ensemble
from skgoss.several_fits.blending import FoldModel
from skgoss.several_fits.folds import in_bins
from skgoss.training.evaluation import EvaluationSet


@dataclass(frozen=True, eq=False)
class CandidateColumns:
    """A fit whose rows are in bins, with the columns of some candidates.

    Of the evaluation ``sets``, the ``external_set`` is the first that has other rows
    than those to learn from. All processes have ``n_rows`` rows.
    """

    prepared: PreparedFit
    sets: Sequence[EvaluationSet]
    external_set: EvaluationSet | None
    n_rows: int

    @property
    def pairs(self) -> ComputedColumns:
        """The pairs of columns."""
        return self.prepared.data.schema.computed.pairs

    @property
    def n_features(self) -> int:
        """The number of columns, with those of pairs."""
        return self.prepared.data.schema.n_all_features

    def with_pairs(self, pairs: ComputedColumns) -> Self:
        """The same with pairs: columns that the model computes from two others.

        The rows are put into bins with them.
        """
        after = in_bins(pair_features.with_pairs(self.prepared, pairs), self.n_rows)
        sets = [
            pair_features.set_with_pairs(named, self.prepared, after)
            for named in self.sets
        ]
        external = None
        if self.external_set is not None:
            external = sets[list(self.sets).index(self.external_set)]
        return replace(self, prepared=after, sets=sets, external_set=external)


@dataclass(frozen=True, eq=False)
class JointColumns:
    """The columns of several candidates: those of the data, and the pairs of all."""

    columns: CandidateColumns
    # The number of the first pair of each candidate's columns.
    first: dict[CandidateColumns, int]

    @classmethod
    def of(cls, without: CandidateColumns, parts: Sequence[CandidateColumns]) -> Self:
        """The columns of all ``parts`` together.

        ``without`` are the columns without pairs, and ``parts`` those of each
        candidate, which may come several times. A pair that several have comes several
        times, too.
        """
        distinct = [part for part in dict.fromkeys(parts) if part.pairs]
        n_pairs = [len(part.pairs) for part in distinct]
        starts = np.cumsum([without.n_features, *n_pairs])[:-1].tolist()
        columns = without if not distinct else distinct[0]
        if len(distinct) > 1:
            pairs = computed_columns.joined([part.pairs for part in distinct])
            columns = without.with_pairs(pairs)
        return cls(columns, dict(zip(distinct, starts, strict=True)))

    def placed(self, trees: Ensemble, part: CandidateColumns) -> Ensemble:
        """The trees of a candidate, which read its columns, as trees of all columns.

        ``part`` are the columns of the candidate. The numbers of its pairs change.
        """
        if part.n_features == self.columns.n_features:
            return trees
        numbers = np.arange(part.n_features, dtype=np.int32)
        if part in self.first:
            n_pairs = len(part.pairs)
            numbers[-n_pairs:] = self.first[part] + np.arange(n_pairs)
        return trees.on_columns(numbers, self.columns.n_features)

    def models(
        self, models: Sequence[FoldModel], part: CandidateColumns
    ) -> list[FoldModel]:
        """The models of all folds of a candidate, with their trees `placed`."""
        return [replace(m, trees=self.placed(m.trees, part)) for m in models]
