"""All that a fit needs besides the rows, and how its state is made of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from skgoss.data.dataset import BinnedDataset
from skgoss.data.rows import Rows
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import RawColumns
from skgoss.training import objectives
from skgoss.training.binned import BinnedRows
from skgoss.training.boosting import Boosting, Floats
from skgoss.training.boosting_types import KINDS
from skgoss.training.evaluation import EvaluationSet, NamedRows
from skgoss.training.metrics import Custom, Metric
from skgoss.training.objectives import Objective

if TYPE_CHECKING:
    from skgoss.parameters.settings import Settings


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a fit needs besides the rows.

    Attributes
    ----------
    settings : Settings
    n_scores : int
        The number of trees of a round.
    make_metrics : callable
        Returns the metrics of the evaluation sets.
    n_threads : int
    earlier : Ensemble or None
        The trees of ``init_model``.
    """

    settings: Settings
    n_scores: int
    make_metrics: Callable[[], list[Metric | Custom]]
    n_threads: int
    earlier: Ensemble | None

    @cached_property
    def metrics(self) -> list[Metric | Custom]:
        """The metrics of the evaluation sets."""
        return self.make_metrics()

    def start(self, rows: Rows, sets: Sequence[NamedRows]) -> Boosting:
        """Bin the rows to learn from, and those of the evaluation sets."""
        settings, n_threads = self.settings, self.n_threads
        objective = objectives.make(
            *(settings, rows.target, rows.weight),
            *(self.n_scores, rows.queries, rows.partition),
        )
        metrics = self.metrics
        self._check_earlier(objective)
        if settings.linear_tree and objective.renews_leaves:
            raise ValueError(
                f"linear_tree must be False for objective={objective.name!r}, which"
                " replaces the leaf values."
            )
        dataset = rows.binned or BinnedDataset.build(
            rows.columns,
            settings,
            weight=rows.spread_weight(),
            rows=rows.numbers,
            n_threads=n_threads,
            partition=rows.partition,
        )
        evaluated = [self.evaluated(dataset, rows, named) for named in sets]
        start, raw, rows = self._start(rows), self._raw(rows), rows.without_values()
        return KINDS[settings.boosting_type](
            dataset,
            objective,
            settings,
            n_threads,
            init_score=start,
            sets=evaluated,
            first=self.earlier,
            raw=raw,
            make_training_set=lambda: EvaluationSet(
                "training", rows, metrics, None, is_training=True
            ),
        )

    def go_on(self, state: Boosting, rows: Rows) -> Boosting:
        """Go on from the trees of a state, on other rows in the same bins."""
        changed = replace(state.settings, objective=self.settings.objective)
        new = replace(self, settings=changed).start(rows, [])
        new.go_on_from(state, partial(self._again, new))
        return new

    def evaluated(
        self, dataset: BinnedDataset, training: Rows, named: NamedRows
    ) -> EvaluationSet:
        """The rows of an evaluation set in the bins of the rows to learn from."""
        name, rows, is_training, data = named
        binned = None if rows is training else self._binned(dataset, rows)
        rows = replace(rows.without_values(), init_score=self._start(rows))
        return EvaluationSet(name, rows, self.metrics, binned, is_training, data)

    def _again(self, state: Boosting, evaluated: EvaluationSet) -> EvaluationSet:
        """An evaluation set of other rounds, for those of this plan."""
        if evaluated.binned is None:
            return replace(state.make_training_set(), name=evaluated.name)
        return replace(evaluated, metrics=self.metrics)

    def _raw(self, rows: Rows) -> RawColumns | None:
        is_linear = self.settings.linear_tree
        return RawColumns(rows.columns, rows.numbers) if is_linear else None

    def _binned(self, dataset: BinnedDataset, rows: Rows) -> BinnedRows:
        if rows.binned is not None and rows.binned.has_bins_of(dataset):
            store = rows.binned.storage.store
        else:
            store = dataset.store(rows, self.settings, self.n_threads)
        return BinnedRows(store, dataset.missing_bin, self._raw(rows), len(rows))

    def _start(self, rows: Rows) -> Floats | None:
        """The raw scores of ``init_model`` plus the user's start scores."""
        if self.earlier is None:
            return rows.init_score
        start = _raw_scores(self.earlier, rows, self.n_threads)
        return start if rows.init_score is None else start + rows.init_score

    def _check_earlier(self, objective: Objective) -> None:
        if self.earlier is None:
            return
        if self.settings.boosting_type == "rf" or self.earlier.average:
            raise ValueError(
                "init_model cannot be used with random forests (boosting_type='rf')."
            )
        if self.earlier.n_scores != objective.n_scores:
            raise ValueError(
                f"init_model has {self.earlier.n_scores} trees per round, but"
                f" {objective.n_scores} are needed. Pass a model with the same number"
                " of classes."
            )


def _raw_scores(ensemble: Ensemble, rows: Rows, n_threads: int) -> Floats:
    """The raw scores of rows, (n_scores, n_rows)."""
    scores = ensemble.raw_scores(rows.columns, n_threads=n_threads)
    if rows.numbers is not None:
        scores = scores[rows.numbers]
    return np.ascontiguousarray(scores.T)
