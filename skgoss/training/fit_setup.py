"""The setup of a fit: objective, options and constraints, and the start of boosting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import BinningOptions
from skgoss.binning.rows import Rows
from skgoss.distributed.row_partition import RowPartition
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import RawColumns
from skgoss.objectives.joint_objective import OutputObjective, joint
from skgoss.objectives.metrics import CustomMetric
from skgoss.objectives.output_metrics import AnyMetric
from skgoss.objectives.training_objective import Objective, make_objective
from skgoss.objectives.user_functions import DatasetObjective
from skgoss.parameters.settings import Settings
from skgoss.training.binned import BinnedRows
from skgoss.training.boosting import Boosting, Floats
from skgoss.training.boosting_types import BOOSTING_TYPES
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.multi_output import MultiOutput
from skgoss.training.rounds import Rounds
from skgoss.training.schedule import at_once
from skgoss.utils.messages import about

# With fewer values, a tree takes less time than the synchronization of threads.
_MIN_VALUES_FOR_THREADS = 10_000


@dataclass(frozen=True, eq=False)
class FitSetup:
    """Everything that a fit needs in addition to its rows.

    A round has ``n_scores`` trees. ``make_metrics`` returns the metrics of evaluation
    sets, always the same ones, and ``init_ensemble`` has the trees of ``init_model``,
    whose fit ``continues`` or not. ``build_bins`` replaces `BinnedDataset.build`.
    ``join`` makes the objective of several outputs that share trees: see
    `join_objectives`.
    """

    settings: Settings
    n_scores: int
    make_metrics: Callable[[], list[AnyMetric]]
    n_threads: int
    init_ensemble: Ensemble | None = None
    build_bins: Callable[..., BinnedDataset] = BinnedDataset.build
    continues: bool = False
    join: Callable[[Settings, Rows], Objective] | None = None

    @property
    def has_functions(self) -> bool:
        """Whether the user's functions are called, which need not be thread-safe."""
        custom = any(isinstance(metric, CustomMetric) for metric in self.make_metrics())
        return custom or callable(self.settings.objective)

    def begin(self, rows: Rows, sets: Sequence[EvaluationSet]) -> Rounds:
        """Bin the training rows, and those of the evaluation sets."""
        settings, n_threads = self.settings, self.n_threads
        if rows.source is not None and callable(settings.objective):
            # An objective f(predictions, dataset) gets these rows.
            function = DatasetObjective(settings.objective, rows.source)
            settings = settings.replaced(objective=function)
        if self.join is not None:
            objective = self.join(settings, rows)
        else:
            objective = make_objective(
                settings,
                rows.target,
                rows.weight,
                self.n_scores,
                rows.queries,
                rows.partition,
                rows.position,
            )
        make_metrics = self.make_metrics
        self._check(objective)
        init_score, raw = self._init_score(rows), self._raw_columns(rows)
        dataset = self.binned(rows)
        if objective.frequency is not None:
            # The records of weighted rows have too few bits for other row numbers.
            dataset = dataset.alone(n_threads)
        evaluation_sets = [self.evaluation_set(dataset, rows, named) for named in sets]
        if rows.partition is not None:
            rows = rows.without_values()
        return BOOSTING_TYPES[settings.boosting_type](
            dataset,
            objective,
            settings,
            n_threads,
            init_score=init_score,
            sets=evaluation_sets,
            init_ensemble=self.init_ensemble,
            continues=self.continues,
            raw=raw,
            make_training_set=lambda: EvaluationSet(
                "training", rows, is_training=True, metrics=make_metrics()
            ),
        )

    def _check(self, objective: Objective) -> None:
        """Check that options and the earlier model suit the objective."""
        settings = self.settings
        if self.init_ensemble is not None:
            self._check_earlier(self.init_ensemble)
        if settings.linear_tree and objective.renews_leaves:
            raise ValueError(
                f"linear_tree must be False for objective={objective.name!r}, which"
                " replaces the leaf values."
            )
        if settings.boosting_type == "rf" and objective.link.distribution is not None:
            raise ValueError(
                f"objective={objective.name!r} cannot be learned by a random forest"
                " (boosting_type='rf'): each of its trees would begin with the spread"
                " of all targets. Use boosting_type='gbdt'."
            )

    def binned(self, rows: Rows) -> BinnedDataset:
        """The bins of the training rows."""
        if rows.binned is not None:
            return rows.binned
        return self.build_bins(
            rows.columns,
            BinningOptions.from_settings(self.settings),
            weight=None if rows.weight is None else rows.scattered_weight(),
            rows=rows.numbers,
            n_threads=self.n_threads,
            partition=rows.partition,
        )

    def resume(self, boosting: Rounds, rows: Rows) -> Rounds:
        """Continue from the trees of another fit, on other rows in the same bins."""
        settings = boosting.settings.replaced(objective=self.settings.objective)
        resumed = replace(self, settings=settings).begin(rows, [])
        resumed.resume(boosting, partial(self._with_metrics, resumed))
        return resumed

    def evaluation_set(
        self, dataset: BinnedDataset, training: Rows, named: EvaluationSet
    ) -> EvaluationSet:
        """An evaluation set with metrics, in the bins of the training rows.

        ``dataset`` has these bins, ``training`` are the training rows. If the set has
        the same rows, it needs no bins: it uses the scores of the training rows.
        """
        rows, metrics = named.rows, self.make_metrics()
        init_score = self._init_score(rows)
        binned = None if rows is training else self._binned(dataset, rows)
        rows = replace(rows.without_values(), init_score=init_score)
        return replace(named, rows=rows, metrics=metrics, binned=binned)

    def _with_metrics(
        self, resumed: Rounds, evaluation_set: EvaluationSet
    ) -> EvaluationSet:
        """An evaluation set of another fit, with the metrics of this one."""
        if evaluation_set.binned is None:
            assert resumed.make_training_set is not None
            return replace(resumed.make_training_set(), name=evaluation_set.name)
        return replace(evaluation_set, metrics=self.make_metrics())

    def _raw_columns(self, rows: Rows) -> RawColumns | None:
        """The values of the rows, which only linear leaves need; else None."""
        if not self.settings.linear_tree:
            return None
        return RawColumns(rows.columns, rows.numbers)

    def _binned(self, dataset: BinnedDataset, rows: Rows) -> BinnedRows:
        """Rows of an evaluation set in the bins of the training set, ``dataset``."""
        raw, binned, numbers = self._raw_columns(rows), rows.binned, None
        if binned is not None and binned.has_bins_of(dataset):
            store, missing_bin = binned.storage.store, binned.missing_bin
            numbers = binned.numbers
        else:
            store, missing_bin = dataset.store(
                rows.columns, self.settings, rows=rows.numbers, n_threads=self.n_threads
            )
        return BinnedRows(store, missing_bin, raw, len(rows), numbers)

    def _init_score(self, rows: Rows) -> Floats | None:
        """The raw scores of ``init_model``, or else the user's ``init_score``."""
        if self.init_ensemble is None:
            return rows.init_score
        raw = self.init_ensemble.raw_scores(rows.columns, n_threads=self.n_threads)
        if rows.numbers is not None:
            raw = raw[rows.numbers]
        return np.ascontiguousarray(raw.T)

    def _check_earlier(self, trees: Ensemble) -> None:
        """Check that boosting can continue from the trees of ``init_model``."""
        if self.settings.boosting_type == "rf" or trees.average:
            raise ValueError(
                "init_model cannot be used with random forests (boosting_type='rf')."
            )
        if trees.n_scores != self.n_scores:
            raise ValueError(
                f"init_model has {trees.n_scores} trees per round, but"
                f" {self.n_scores} are needed. Pass a model with the same number"
                " of classes, quantiles or targets."
            )


@dataclass(frozen=True, eq=False)
class MultiOutputSetup(FitSetup):
    """Everything that a fit of several outputs needs in addition to its rows.

    ``outputs`` are the setups of the outputs, without an ``init_ensemble``, and
    ``names`` their names in messages.
    """

    outputs: Sequence[FitSetup] = ()
    names: Sequence[str] = ()

    def resume(self, boosting: Rounds, rows: Rows) -> Rounds:
        """Continue from the trees of another fit, on other rows in the same bins."""
        assert isinstance(boosting, MultiOutput)
        settings = [output.settings for output in boosting.outputs]
        outputs = [
            replace(output, settings=changed)
            for output, changed in zip(self.outputs, settings, strict=True)
        ]
        return FitSetup.resume(replace(self, outputs=outputs), boosting, rows)

    def begin(self, rows: Rows, sets: Sequence[EvaluationSet]) -> MultiOutput:
        """Bin the rows once, and begin the fit of each output on them.

        An output learns from the rows that have its target and a positive weight. The
        ``sets`` are evaluated on all outputs, not in the fits of single ones.
        """
        if self.init_ensemble is not None:
            self._check_earlier(self.init_ensemble)
        dataset = self.binned(rows)
        # The outputs whose trees grow at the same time, and the threads of each output.
        n_at_once, n_threads = 1, self.n_threads
        n_values = dataset.n_rows * len(dataset.feature)
        is_small = n_values < _MIN_VALUES_FOR_THREADS
        # Functions of users need not be thread-safe.
        if not (self.has_functions or is_small):
            n_at_once, n_threads = at_once(len(self.outputs), n_threads)
        begun: list[Boosting] = []
        first = 0
        for k, output in enumerate(self.outputs):
            stop = first + output.n_scores
            setup = replace(
                output,
                n_threads=n_threads,
                init_ensemble=self.init_ensemble
                and self.init_ensemble.of_scores(first, stop),
            )
            learned = replace(rows, binned=dataset).select_output(k, first, stop)
            with about(self.names[k]):
                learned = learned.without_missing_targets().without_zero_weights()
                begun.append(cast(Boosting, setup.begin(learned, [])))
            first = stop
        is_complete = all(output.dataset.n_rows == dataset.n_rows for output in begun)

        def evaluation_set(named: EvaluationSet) -> EvaluationSet:
            if named.rows is rows and not is_complete:
                # Outputs keep the scores of the rows that they learn from, not of all.
                # A copy of ``rows`` counts as other rows, so all of them are predicted.
                named = replace(named, rows=replace(rows, binned=dataset))
            return self.evaluation_set(dataset, rows, named)

        joint = MultiOutput(
            dataset,
            begun,
            self.settings,
            self.n_threads,
            n_at_once,
            lambda: evaluation_set(EvaluationSet("training", rows, True)),
        )
        for named in sets:
            joint.add(evaluation_set(named))
        return joint


def join_objectives(
    outputs: Sequence[FitSetup], names: Sequence[str], settings: Settings, rows: Rows
) -> Objective:
    """The losses of several outputs that share trees, each of the rows with its target.

    ``outputs`` are the setups of the outputs, whose objectives and levels they have
    in place of those of ``settings``, and ``names`` their names in messages.
    """
    fractions = settings.pos_bagging_fraction, settings.neg_bagging_fraction
    is_binary = any(output.settings.objective == "binary" for output in outputs)
    if is_binary and settings.subsample_freq > 0 and min(fractions) < 1:
        raise ValueError(
            "pos_bagging_fraction and neg_bagging_fraction must be 1 for several"
            " targets with multi_strategy='multi_output_tree': a row may be"
            " positive for one target and negative for another. Use subsample, or"
            " multi_strategy='one_output_per_tree'."
        )
    parts: list[OutputObjective] = []
    first, numbers = 0, np.arange(len(rows))
    for k, (output, name) in enumerate(zip(outputs, names, strict=True)):
        stop, options = first + output.n_scores, output.settings
        own = replace(rows, numbers=numbers).select_output(k, first, stop)
        with about(name):
            own = own.without_missing_targets().without_zero_weights()
            own_settings = settings.replaced(
                objective=options.objective, alpha=options.alpha
            )
            made = make_objective(own_settings, own.target, own.weight, output.n_scores)
        at = None if len(own) == len(rows) else own.numbers
        parts.append(OutputObjective(made, slice(first, stop), at))
        first = stop
    has_own_weights = rows.output_weight is not None or any(
        part.objective.label_weight is not None for part in parts
    )
    return joint(
        parts,
        rows.target,
        rows.weight,
        rows.partition or RowPartition(len(rows)),
        has_own_weights=has_own_weights,
    )
