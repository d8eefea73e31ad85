"""The data of a fit: from what the user passes to numbers, weights and queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows, checked_init_score
from skgoss.columns import (
    categories,
    column_advice,
    containers,
    dates,
    lifetimes,
    merged_schema,
    names,
    targets,
    unknown_categories,
)
from skgoss.columns.categories import Categories
from skgoss.columns.columns import RELEASED, Columns
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.columns.schema import ColumnSchema
from skgoss.columns.targets import TargetColumns
from skgoss.dataset.dataset import Dataset
from skgoss.dataset.preparation import Prepared, Request
from skgoss.distributed.row_partition import Parts, RowPartition
from skgoss.fit import foreign_model, several_outputs, soft_labels, splits
from skgoss.fit.arguments import NO_ROWS, FitArguments, InputSet, input_sets
from skgoss.fit.callbacks import read_progress
from skgoss.fit.several_outputs import Output
from skgoss.fit.splits import Splits
from skgoss.fit.task import Classification, Task
from skgoss.model.fitted import FittedModel
from skgoss.objectives.link import IDENTITY, Link
from skgoss.objectives.objectives import (
    OBJECTIVES,
    ObjectiveSpec,
    TrainingRows,
    canonical_name,
    check_queries,
    is_survival,
    spec_of,
)
from skgoss.parameters import presets
from skgoss.parameters.settings import Settings
from skgoss.sources import input_rows
from skgoss.training import constraints
from skgoss.training.evaluation import EvaluationSet
from skgoss.utils import thread_counts
from skgoss.utils.messages import warn, warn_unused

Floats = NDArray[np.float64]

# What is not known before it is read.
_NO_SCHEMA = ColumnSchema(0, None, Categories(set()))
_NO_ROWS = Rows(RELEASED)


def check_can_be_distributed(settings: Settings) -> None:
    """Check that options allow rows in several processes; ValueError otherwise."""
    refused = (
        ("linear_tree", settings.linear_tree, "set linear_tree=False"),
        (
            "max_conflict_rate",
            settings.max_conflict_rate > 0,
            "set it to 0.0",
        ),
        ("alpha", isinstance(settings.alpha, tuple), "set alpha to one level"),
        (
            "objective",
            is_survival(settings.objective),
            "fit the local estimator, LGBMRegressor, to rows in one process",
        ),
    )
    for option, is_wrong, advice in refused:
        if is_wrong:
            raise ValueError(
                f"{option}={getattr(settings, option)!r} cannot be used with rows that"
                f" are spread over several processes: {advice}."
            )


@dataclass(frozen=True, eq=False)
class FitData:
    """The data of a fit, and what is learned from them before the first round.

    `read` makes it. Each of its steps returns another one, which has more.
    """

    training: InputSet  # with the arguments of ``fit`` that belong to its rows
    arguments: FitArguments  # the others
    # With columns by number, the canonical name of the objective, and what a preset has
    # chosen.
    settings: Settings
    task: Task  # with the classes of the training set
    init_model: FittedModel | None  # with the categories of the training set

    # --- Read: the columns ------------------------------------------------------------

    # The names that the user passed for the columns, or else those of a `Dataset`.
    names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None  # these, or else the names in ``X``
    schema: ColumnSchema = _NO_SCHEMA  # the columns of the training set
    root: BinnedDataset | None = None  # the bins, if the training set is a `Dataset`

    # --- Encoded: the rows ------------------------------------------------------------

    # The rows of the training set, without those of weight 0 unless there are folds.
    rows: Rows = _NO_ROWS
    fitted: Rows = _NO_ROWS  # without the rows that are held out for early stopping
    groups: NDArray[Any] | None = None  # of the rows of all ranks, and so are the times
    time: NDArray[np.int64] | None = None
    # Whether the target has bounds of event times, not events; None: it may be both.
    are_bounds: bool | None = None
    n_scores: int = 1  # the number of trees of a round
    ranks: bool = False  # whether the rows have queries
    # The levels of several quantiles; empty if the fit does not learn several.
    levels: tuple[float, ...] = ()

    # --- Resolved: the objective, and what a preset chooses ---------------------------

    # By the name that the user passed: an alias may have another metric.
    objective: str | Callable[..., Any] = ""
    link: Link = IDENTITY
    outputs: Sequence[Output] = ()  # those of a fit that learns several
    # The options that a preset has chosen.
    preset_params: Mapping[str, Any] = field(default_factory=dict)
    search: presets.Search | None = None  # how it finds the number of rounds

    def replaced(self, **attributes: Any) -> Self:
        """The same data with other values of some attributes."""
        return replace(self, **attributes)

    # --- The steps of `read` ----------------------------------------------------------

    def _with_columns(self) -> tuple[Self, Rows]:
        """The data with what is known of the columns, and the rows without targets."""
        init_model, X, settings = self.init_model, self.training.X, self.settings
        feature_name, parts = self.arguments.feature_name, self.training.parts
        if init_model is not None and init_model.is_foreign:
            init_model = self._encoded_model(init_model)
        schema = None if init_model is None else init_model.schema
        passed: Sequence[str] | None = None
        root = None
        if not (isinstance(feature_name, str) and feature_name == "auto"):
            passed = names.checked(feature_name)
        has_bins = isinstance(X, Dataset) and not (
            schema is not None and schema.computed
        )
        if has_bins:
            rows, read, root = self._prepared(X, schema)
        if isinstance(X, Dataset) and passed is None:
            passed = X._names
        if not has_bins:
            reading = containers.Reading(
                passed,
                settings.categorical_feature,
                schema,
                settings.n_jobs,
                reads_dates=settings.date_features is not False and parts is None,
            )
            X = _without_bins(X) if isinstance(X, Dataset) else X
            columns, read = reading.read(X, self.task.owner)
            if parts is not None:
                columns, read = self._merged(columns, read, parts, schema is None)
            rows = Rows(columns)
        if schema is not None and schema.categories.vocabularies and parts is None:
            self._warn_of_unknown_categories(schema)
        schema = cast(ColumnSchema, schema or read)
        data = replace(self, init_model=init_model, schema=schema, root=root)
        return data._with_names(passed), rows

    def _with_names(self, passed: Sequence[str] | None) -> Self:
        """The data with names of the columns, by which options name these, too."""
        schema, init_model, settings = self.schema, self.init_model, self.settings
        if init_model is not None:
            passed = passed or init_model.feature_names
        column_names = cast(
            "Sequence[str] | None", schema.feature_names if passed is None else passed
        )
        if init_model is not None:
            categories.check_same(
                names.numbered(settings.categorical_feature, passed),
                schema.categories,
                column_names,
                schema.n_features,
                "init_model",
            )
        if not settings.active.isdisjoint(constraints.OPTIONS):
            settings = constraints.resolve_columns(
                settings,
                schema.n_features,
                schema.categories.vocabularies,
                column_names,
            )
        return replace(self, settings=settings, names=passed, column_names=column_names)

    def _warn_of_unknown_categories(self, schema: ColumnSchema) -> None:
        """Warn of categories in rows in memory that the earlier model does not know."""
        X = self.training.X
        X = X.get_data() if isinstance(X, Dataset) else X
        if input_rows.are_in_memory(X):
            unknown_categories.warn_of(X, schema)

    def _encoded_model(self, init_model: FittedModel) -> FittedModel:
        """A model of another library, with the categories of the training set."""
        X = self.training.X
        return foreign_model.encoded(
            init_model,
            X.get_data() if isinstance(X, Dataset) else X,
            self.task.owner,
            self.training.collectives,
        )

    def _merged(
        self, columns: Columns, schema: ColumnSchema, parts: Parts, learned: bool
    ) -> tuple[Columns, ColumnSchema]:
        """The columns with the categories of the rows of all processes."""
        if self.training.is_empty:
            columns = Columns.without_rows(columns.n_features)
        merged, schema = merged_schema.merged(columns, schema, parts, learned=learned)
        return cast(Columns, merged), schema

    def _prepared(
        self, X: Dataset, schema: ColumnSchema | None, root: BinnedDataset | None = None
    ) -> Prepared:
        """The rows of a `Dataset` in bins: new ones, or those of the training set."""
        needs = {
            "linear_tree": self.settings.linear_tree,
            "init_model": self.init_model is not None,
        }
        request = Request(
            self.settings,
            self.settings.explicit,
            thread_counts.n_threads(self.settings.n_jobs),
            schema,
            " and ".join(name for name in needs if needs[name]),
            root,
        )
        with read_progress(self.settings.verbosity):
            return X._prepare(request)

    def _with_rows(self, columns: Rows, arguments: FitArguments) -> Self:
        """The data with the rows of the training set, and what their targets tell."""
        data, rows = self._learned(columns, self.training)
        groups = time = None
        if not (arguments.groups is None and arguments.time is None):
            n_rows = len(rows) if rows.partition is None else rows.partition.n_rows
            groups = splits.checked_groups(arguments.groups, n_rows)
            if arguments.time is not None:
                time = splits.checked_times(arguments.time, n_rows)
        return replace(data, rows=rows, fitted=rows, groups=groups, time=time)

    def _learned(self, columns: Rows, training: InputSet) -> tuple[Self, Rows]:
        """The data with the task of a training set, and the rows of this set."""
        if training.parts is not None:
            training = training.agreed(training.parts)
        alpha, objective = self.settings.alpha, self.settings.objective
        spec = spec_of(objective) if isinstance(objective, str) else None
        y, name, task, are_bounds = self._target(training, columns, spec, learns=True)
        levels = alpha if isinstance(alpha, tuple) else ()
        n_scores = len(levels) or task.n_scores
        if spec is not None and spec.distribution is not None:
            n_scores = len(spec.distribution.parameters)
        data = replace(
            self, task=task, are_bounds=are_bounds, levels=levels, n_scores=n_scores
        )
        return data, data._encoded(columns, training, spec, y, name)

    def _rows(self, columns: Rows, input_set: InputSet) -> Rows:
        """The rows of an evaluation set with the target, weight and so on of each."""
        if input_set.parts is not None:
            input_set = input_set.agreed(input_set.parts)
        objective = self.settings.objective
        spec = spec_of(objective) if isinstance(objective, str) else None
        y, name, *_ = self._target(input_set, columns, spec)
        return self._encoded(columns, input_set, spec, y, name)

    def _encoded(
        self,
        rows: Rows,
        input_set: InputSet,
        spec: ObjectiveSpec | None,
        y: Any,
        name: str,
    ) -> Rows:
        """The rows with the target, weight, query and start scores of each."""
        parts, init_score = input_set.parts, input_set.init_score
        partition = None if parts is None else parts.partition()
        n_rows, task = (rows.binned or rows.columns).n_rows, self.task
        lives = spec is not None and spec.task == "survival"
        # Labels of the training set are those of the task, or of an earlier model.
        source = "init_model" if input_set.is_training else "y"
        target = y if lives else task.encode(y, name, source)
        weight = output_weight = position = None
        if not (input_set.sample_weight is None and input_set.class_weight is None):
            weight, output_weight = task.weights(input_set, target, partition)
        if isinstance(input_set.X, Dataset):
            # Its arrays may be written to while this fit goes on.
            target = target.copy()
            weight = None if weight is None else weight.copy()
            position = input_set.position if input_set.is_training else None
        if input_set.is_training and task.tasks:
            task.check_learnable(target, weight)
        queries = None
        if task.may_rank or not (input_set.group is None and input_set.qid is None):
            queries = task.queries(input_set, n_rows)
        if spec is None or (spec.distribution is None and not lives):
            targets.check_sum(target, weight, name, partition)
        else:
            self._check_support(target, weight, input_set, partition)
        if init_score is not None:
            init_score = self._checked_init_score(input_set, n_rows)
        return replace(
            rows,
            target=target,
            weight=weight,
            queries=queries,
            init_score=init_score,
            source=input_set.X if task.functions_take_dataset else None,
            partition=partition,
            position=position,
            output_weight=output_weight,
        )

    def _with_dates(self) -> Self:
        """The data with the parts of dates, of which those of init_model are kept.

        Options that have a value for each column get values for all computed columns.
        """
        data, settings = self, self.settings
        if self.init_model is None:
            rows = self.rows.without_zero_weights()
            parts = {
                column: dates.parts_of(rows.values(column), settings.date_features)
                for column in self.schema.dates
            }
            n_threads = thread_counts.n_threads(settings.n_jobs)
            data = self.also_computing(ComputedColumns.of_dates(parts), n_threads)
        if settings.active.isdisjoint(constraints.OPTIONS):
            return data
        schema = data.schema
        extended = constraints.extended(
            settings, schema.n_features, schema.computed.sources
        )
        return replace(data, settings=extended)

    def without_zero_weights(self) -> Self:
        """The data without rows of weight 0."""
        rows = self.rows
        marks: dict[str, Any] = {"groups": self.groups, "time": self.time}
        if rows.weight is None:
            return self
        if not (self.groups is None and self.time is None):
            partition = rows.partition or RowPartition(len(rows))
            kept = partition.all_gather(rows.weight > 0)
            marks = {k: None if v is None else v[kept] for k, v in marks.items()}
        rows = rows.without_zero_weights()
        return replace(self, rows=rows, fitted=rows, **marks)

    def _checked_init_score(self, input_set: InputSet, n_rows: int) -> Floats | None:
        """The start scores of a set; those of an earlier model stand for them."""
        name = f"{input_set.prefix}init_score"
        if self.init_model is None:
            return checked_init_score(input_set.init_score, n_rows, self.n_scores, name)
        warn_unused(
            f"{name} has no effect with init_model: boosting continues from the scores"
            " of that model. Leave one out."
        )
        return None

    def _check_support(
        self,
        target: Floats,
        weight: Floats | None,
        input_set: InputSet,
        partition: RowPartition | None,
    ) -> None:
        """Check that a distribution can have the targets; ValueError names a row."""
        name, objective = input_set.target_name, canonical_name(self.settings.objective)
        if OBJECTIVES[objective].task == "survival":
            lifetimes.check(target, weight, objective, name, input_set.is_training)
            return
        targets.check_sum(target, weight, name, partition)
        support = OBJECTIVES[objective].targets
        wrong = ~support.contains(target.ravel())
        if weight is not None:
            wrong &= weight > 0
        partition = partition or RowPartition(len(target))
        firsts = np.flatnonzero(wrong)[:1].tolist()
        of_rank = [(int(partition.numbers[row]), target[row]) for row in firsts]
        found = [*chain(*partition.collectives.all_gather(of_rank))]
        if found:
            row, value = min(found)
            raise ValueError(
                f"objective={objective!r} needs targets {support.description}, but row"
                f" {row} of {name} is {value:g}. Leave out such rows, or choose another"
                " objective."
            )

    def _target(
        self,
        input_set: InputSet,
        columns: Rows,
        spec: ObjectiveSpec | None,
        *,
        learns: bool = False,
    ) -> tuple[Any, str, Task, bool | None]:
        """The target of a set and its name, the task, and the `are_bounds` of these.

        The training set determines the task.
        """
        name, task = input_set.target_name, self.task
        n_rows = (columns.binned or columns.columns).n_rows
        if spec is not None and spec.task == "survival":
            task.check_objective(canonical_name(self.settings.objective))
            bounds, are_bounds = self._bounds(input_set, n_rows, learns=learns)
            return bounds, name, task, are_bounds
        learns = learns and not task.tasks
        may_be_several = task.takes_several if learns else task.tasks or task.is_soft
        if input_set.parts is None and may_be_several:
            several = targets.several_columns(input_set.y, n_rows, name)
            if several is not None:
                if learns:
                    task = self._of_columns(task, spec, several)
                return several, name, task, None
        y = targets.one_column(input_set.y, n_rows, task.owner, name)
        if learns:
            task = task.learned(y, input_set.parts)
        return y, name, task, None

    @staticmethod
    def _of_columns(task: Task, spec: ObjectiveSpec | None, y: TargetColumns) -> Task:
        """The task of a target of several columns: soft labels, or several targets."""
        if not isinstance(task, Classification):
            return several_outputs.learned(task, y)
        if soft_labels.are_probabilities(spec, y):
            return soft_labels.learned(task, y)
        return several_outputs.learned(task, y)

    def _bounds(
        self, input_set: InputSet, n_rows: int, *, learns: bool
    ) -> tuple[Floats, bool | None]:
        """The bounds of the lifetimes of a set, read as those of the training set."""
        name, held = input_set.target_name, input_set.are_bounds
        lives = lifetimes.read(input_set.y, n_rows, name, held)
        are_bounds = lives.are_bounds if learns else self.are_bounds
        if are_bounds and not lives.are_bounds:
            lives = replace(lives, are_bounds=None)
        objective = canonical_name(self.settings.objective)
        return lives.bounds(from_0=lifetimes.uses_order_only(objective)), are_bounds

    def _with_objective(self) -> Self:
        """The data with the objective, the link and the outputs."""
        task, levels, settings = self.task, self.levels, self.settings
        ranks = self.rows.queries is not None
        outputs: Sequence[Output] = ()
        if task.tasks or levels:
            outputs = several_outputs.outputs(task, settings, levels)
            passed = outputs[0].passed_objective
            links = [output.link for output in outputs]
            link = several_outputs.joint_link(links, task, levels)
            objective = several_outputs.joint_objective(outputs)
        else:
            passed, objective, link = task.resolved(settings)
            if isinstance(objective, str):
                check_queries(objective, ranks)
        if self.init_model is not None:
            self._check_levels(self.init_model)
            if self.init_model.trees.n_scores == self.n_scores:  # else an error follows
                _warn_of_other_scores(self.init_model, objective, link)
        changed: dict[str, Any] = {"objective": objective}
        if settings.multi_strategy == "multi_output_tree" and self.n_scores == 1:
            changed["multi_strategy"] = "one_output_per_tree"
        return replace(
            self,
            settings=settings.replaced(**changed),
            objective=passed,
            link=link,
            outputs=outputs,
            ranks=ranks,
        )

    def _warn_of_scale(self, spec: ObjectiveSpec) -> None:
        """Warn if a robust loss is linear for nearly all errors of the first round.

        Their gradients are then equal, and small. All processes call this.
        """
        name, rows, settings = self.settings.objective, self.rows, self.settings
        # The errors of an earlier model are not known yet.
        is_open = self.init_model is None and not settings.reg_sqrt
        if spec.option is None or not is_open:
            return
        outputs = range(len(self.outputs))
        of_outputs = [
            rows.select_output(k, k, k + 1).without_missing_targets() for k in outputs
        ]
        for output in of_outputs or [rows]:
            y = np.ascontiguousarray(output.target)
            partition = output.partition or RowPartition(len(y))
            learned = TrainingRows(y, output.weight, partition)
            if output.init_score is not None:
                learned = replace(learned, y=y - output.init_score[0])
            start = (
                spec.start(learned, settings) if settings.boost_from_average else 0.0
            )
            errors = replace(learned, y=np.abs(learned.y - start))
            scale = getattr(settings, spec.option)
            if errors.percentile(0.05) > spec.linear_above * scale:
                warn(
                    "Nearly all errors of the first round are far above"
                    f" {spec.option}={scale}, so {name!r} hardly learns. Set"
                    " a larger number: 90% of the errors are below"
                    f" {spec.option}={errors.percentile(0.9):.2g}."
                )

    def _check_levels(self, init_model: FittedModel) -> None:
        """Check that training continues with the same quantiles; else ValueError."""
        earlier = init_model.link.levels
        if earlier != self.levels and init_model.trees.n_scores > 1:
            raise ValueError(
                f"init_model has learned the quantiles {list(earlier)}, but alpha is"
                f" {self.settings.alpha}."
            )

    def _with_preset(self, searches: bool, is_evaluated: bool) -> Self:
        """The data with the options that the preset chooses, but for passed ones."""
        settings, owner = self.settings, self.task.owner
        passed = set(settings.explicit)
        if self.arguments.early_stopping_round is not None:
            passed.add("early_stopping_round")
        vocabularies = self.schema.categories.vocabularies.values()
        most = max((len(vocabulary.values) for vocabulary in vocabularies), default=0)
        params = presets.chosen(
            settings,
            passed,
            most,
            may_fold=searches and not is_evaluated,
            may_be_linear=self._may_be_linear,
            may_have_pairs=not self.no_pairs(),
        )
        chosen, search = settings.checked(params, owner), None
        # Start scores and spreads are those of one fit.
        may_be_mean = (
            not is_evaluated
            and self.init_model is None
            and self.rows.init_score is None
            and self.link.distribution is None
        )
        # Functions have no loss to compare candidates by, but sets have metrics.
        if searches and not (is_evaluated and callable(settings.objective)):
            n_rows = self.rows.collectives.total(len(self.rows))
            search = presets.search(
                settings, chosen, params, most, n_rows, may_be_mean=may_be_mean
            )
        if search is None and chosen.folds is None and not is_evaluated:
            # Rows would have to be held out.
            params.pop("early_stopping_round", None)
            chosen = settings.checked(params, owner)
        return self.replaced(settings=chosen, preset_params=params, search=search)

    def also_computing(self, computed: ComputedColumns, n_threads: int) -> Self:
        """The data of a model that computes further columns of these rows."""
        rows = fitted = self.rows.also_computing(computed, n_threads)
        if self.fitted is not self.rows:
            fitted = replace(self.fitted, columns=rows.columns, binned=None)
        schema = self.schema.also_computing(computed)
        return replace(self, schema=schema, rows=rows, fitted=fitted)

    def no_pairs(self) -> str:
        """Why the model cannot compute pairs of columns, and what to do; '' if it can.

        It completes the sentence "pair_features cannot be used ...".
        """
        settings, rows = self.settings, self.rows
        per_column = sorted(
            name for name in constraints.OPTIONS if getattr(settings, name)
        )
        if per_column:
            return (
                f"with {', '.join(per_column)}, because pairs of columns would have no"
                " value. Leave one of them out."
            )
        if rows.columns is RELEASED or rows.partition is not None:
            return (
                "if the numbers are not in memory: pass an array or a data frame, and"
                " not a Dataset, a file, batches or Dask collections."
            )
        if self.init_model is not None:
            return (
                "with init_model: pairs that it has are kept, and others cannot be"
                " added. Leave one of them out."
            )
        return ""

    @property
    def _may_be_linear(self) -> bool:
        """Whether leaves may be linear, which need the numbers of this process."""
        if self.rows.columns is RELEASED or self.rows.partition is not None:
            return False
        objective = self.settings.objective
        spec = spec_of(objective) if isinstance(objective, str) else None
        return spec is None or not (spec.renewal_level or spec.distribution)

    def evaluation_set(self, input_set: InputSet) -> EvaluationSet:
        """The rows of an evaluation set, which may be those of the training set."""
        X, rows = input_set.X, self.rows
        if not input_set.holds_same_rows(self.training):
            try:
                rows = self._evaluated_rows(input_set)
            except (TypeError, ValueError) as error:
                input_set.raise_named(error)
                raise
        data = X if rows.partition is None else None
        return EvaluationSet(input_set.name, rows, input_set.is_training, data)

    def _evaluated_rows(self, input_set: InputSet) -> Rows:
        """The rows of an evaluation set, without those of weight 0."""
        if input_set.is_empty:
            rows = Rows(Columns.without_rows(self.schema.n_all_features))
        else:
            rows = self._evaluated_columns(input_set.X, input_set.name)
        rows = self._rows(rows, input_set).without_zero_weights()
        if rows.init_score is None and self.rows.init_score is not None:
            is_dataset = isinstance(input_set.X, Dataset)
            where = "the init_score of its Dataset" if is_dataset else "eval_init_score"
            warn(
                "The training set has init_score, but the evaluation set"
                f" {input_set.name!r} has none: its metrics are those of predictions"
                " without start scores, and can end the fit at once. Pass"
                f" {where}."
            )
        if self.task.tasks:
            self.task.check_learnable(rows.target, rows.weight)
        return rows

    def _evaluated_columns(self, X: Any, name: str) -> Rows:
        """The columns of an evaluation set, and their bins if it has them."""
        if not isinstance(X, Dataset):
            has_names = not (isinstance(X, np.ndarray | list) or issparse(X))
            if not has_names and self.schema.feature_names is not None:
                warn(
                    f"The evaluation set {name!r} has no column names, but the training"
                    " set has: its columns must be in the same order."
                )
            owner = self.task.owner
            columns = containers.columns(
                X,
                self.schema,
                owner=owner,
                by_name=has_names,
                n_jobs=self.settings.n_jobs,
            )
            return Rows(columns)
        if not isinstance(self.training.X, Dataset):
            return self._evaluated_columns(X.get_data(), name)
        return self._in_same_bins(X)

    def _in_same_bins(self, X: Dataset) -> Rows:
        """The columns of a data set in the bins of the training set.

        If it does not fit, it keeps the reference that it had. With computed columns,
        it has no bins.
        """
        if self.schema.computed:
            return self._evaluated_columns(_without_bins(X), "")
        before = dict(vars(X))
        try:
            if X._root is not self.training.X._root:
                X.set_reference(self.training.X)
            return self._prepared(X, self.schema, self.root)[0]
        except BaseException:
            vars(X).update(before)
            raise

    def splits(self) -> Splits:
        """The rows of all processes, to be split into folds."""
        rows, partition, groups = self.rows, self.rows.partition, self.all_groups()
        if partition is not None:
            weight = rows.weight
            rows = Rows(
                RELEASED,
                partition.all_gather(rows.target),
                None if weight is None else partition.all_gather(weight),
                init_score=rows.init_score,
            )
        return Splits(
            rows,
            self.labels(rows),
            groups,
            self.time,
            "groups" if self.rows.queries is None else "queries",
            self.task,
            self.settings,
        )

    def labels(self, rows: Rows) -> NDArray[Any] | None:
        """The (most probable) class of each row, or whether it is censored.

        Rows that are held out have the same fraction of each. None if there is neither.
        """
        if is_survival(self.settings.objective):
            return np.isinf(rows.target[:, 1])
        if self.task.is_soft:
            return rows.target.argmax(axis=1)
        return None if self.task.n_classes is None else rows.target

    @property
    def largest_query(self) -> int:
        """The number of rows of the largest of several queries; 0 without them."""
        queries = self.rows.queries
        if queries is None or queries.n_global < 2:
            return 0
        return int(queries.sizes.max(initial=0))

    def all_groups(self) -> NDArray[Any] | None:
        """The group of each row of all processes: the user's, or else its query."""
        queries, partition = self.rows.queries, self.rows.partition
        if self.groups is not None or queries is None:
            return self.groups
        if partition is None:
            return queries.number
        return partition.all_gather(queries.global_number[queries.number])

    def with_dataset(self, X: Dataset) -> Self:
        """The data of a fit to other rows, in the bins of the training set."""
        if self.schema.computed:
            raise ValueError(
                "train_set cannot be replaced if the model computes columns itself:"
                " train with the other rows and init_model."
            )
        training, *_ = input_sets(X, None, self.arguments, self.settings)
        data, rows = self._learned(self._in_same_bins(X), training)
        rows = rows.without_zero_weights()
        return data.replaced(training=training, rows=rows, fitted=rows)

    def without_values(self) -> Self:
        """The data without the values of the rows: their bins are enough."""
        rows, fitted = self.rows, self.fitted.without_values()
        if self.fitted is rows:
            rows = fitted
        elif not self.settings.refit:
            rows = rows.without_values()
        return self.replaced(
            training=self.training.without_values(), rows=rows, fitted=fitted
        )


def _without_bins(X: Dataset) -> Any:
    """The data of a `Dataset`, which has no bins for computed columns.

    ValueError if they are read in batches.
    """
    data = X.get_data()
    if input_rows.is_streamed(data):
        raise ValueError(
            "init_model computes columns itself, which need data in memory: pass an"
            " array or a data frame instead of files or batches."
        )
    return data


def _warn_of_other_scores(init_model: FittedModel, objective: Any, link: Link) -> None:
    """Warn if predictions follow in another way from the scores of an earlier model."""
    earlier = init_model.objective
    are_named = not any(callable(name) or name is None for name in (earlier, objective))
    if are_named and replace(init_model.link, levels=()) != replace(link, levels=()):
        warn(
            f"init_model has objective={earlier!r}, whose raw scores are not those of"
            f" objective={objective!r}: boosting continues from them anyway. Fit"
            " without init_model, or with its objective."
        )


def _raise_about_columns(error: TypeError | ValueError) -> None:
    """Name init_model in an error about columns that X and it do not share.

    The error is not raised if it is about something else.
    """
    text = str(error).rstrip()
    if "feature names should match" not in text and " features, but " not in text:
        return
    found = text.partition("\n")[2].replace("as they were in fit", "")
    found = found.replace("seen at fit time", "of the earlier fit").replace(" .", ".")
    raise ValueError(
        f"X must have the columns of init_model, in the same order; else fit"
        f" without it. {found or text}"
    ) from error


def read_columns(
    training: InputSet, arguments: FitArguments, settings: Settings, task: Task
) -> tuple[FitData, Rows]:
    """Read the columns of a training set without targets."""
    return FitData(training, arguments, settings, task, None)._with_columns()


def read(
    training: InputSet,
    arguments: FitArguments,
    settings: Settings,
    task: Task,
    init_model: FittedModel | None,
    searches: bool = True,
    is_evaluated: bool = False,
) -> FitData:
    """Read the training set, encode its rows, and resolve the options that need them.

    Arguments of ``fit`` that belong to rows are not used: ``training`` has those of the
    training set. ``searches`` tells whether a preset may find the number of rounds by
    further fits. If the fit ``is_evaluated`` on sets of other rows, they decide in such
    a search, and early stopping ends the rounds.
    """
    if training.parts is not None and training.collectives.n_ranks > 1:
        check_can_be_distributed(settings)
    task = task if init_model is None else task.continuing_from(init_model)
    without_rows = replace(arguments, **NO_ROWS)
    data = FitData(training, without_rows, settings, task, init_model)
    try:
        data, columns = data._with_columns()
    except (TypeError, ValueError) as error:
        training.raise_named(error)
        if init_model is not None:
            _raise_about_columns(error)
        raise
    data = all_rows = data._with_rows(columns, arguments)
    if data.schema.dates:
        data = all_rows = data._with_dates()
    if data.rows.weight is not None:
        data = data.without_zero_weights()
    data = data._with_objective()
    spec = OBJECTIVES.get(str(data.settings.objective))
    if spec is not None and spec.linear_above:
        data._warn_of_scale(spec)
    vocabularies = data.schema.categories.vocabularies
    if init_model is None and vocabularies:
        column_advice.warn_of_text(
            vocabularies,
            data.column_names,
            data.schema.feature_names,
            data.rows.collectives.total(len(data.rows)),
            reads_dates=settings.date_features is not False
            and training.parts is None
            and not isinstance(training.X, Dataset),
        )
    if settings.preset is not None:
        data = data._with_preset(searches, is_evaluated)
    if data.settings.folds is not None or (data.search and data.search.is_mean):
        # The models of folds also predict rows of weight 0.
        data = replace(
            data,
            rows=all_rows.rows,
            fitted=all_rows.fitted,
            groups=all_rows.groups,
            time=all_rows.time,
        )
    return data
