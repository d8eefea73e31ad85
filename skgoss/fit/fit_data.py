"""The data of a fit: from what the user passes to numbers, weights and queries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows, check_init_score, held_out
from skgoss.columns import (
    by_row,
    categories,
    column_advice,
    containers,
    lifetimes,
    merged_schema,
    names,
    targets,
)
from skgoss.columns.columns import RELEASED, Columns
from skgoss.columns.schema import ColumnSchema
from skgoss.dataset.dataset import Dataset
from skgoss.dataset.preparation import Prepared, Request
from skgoss.distributed.row_partition import Parts, RowPartition
from skgoss.fit import several_outputs, splits
from skgoss.fit.arguments import NO_ROWS, FitArguments, InputSet, input_sets
from skgoss.fit.callbacks import shown_reads
from skgoss.fit.several_outputs import Output
from skgoss.fit.splits import Splits
from skgoss.fit.task import Task
from skgoss.model.fitted import FittedModel
from skgoss.model_files import lightgbm_file
from skgoss.objectives.link import Link
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
from skgoss.training import constraints
from skgoss.training.evaluation import EvaluationSet
from skgoss.utils import threads
from skgoss.utils.messages import warn, warn_unused

Floats = NDArray[np.float64]


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


class FitData:
    """The data of a fit, and what is learned from them before the first round.

    It does not change: `replaced` returns another. Arguments of ``fit`` that belong to
    rows are not used: ``training`` has those of the training set. ``searches`` tells
    whether a preset may find the number of rounds by further fits. If the fit
    ``is_evaluated`` on sets of other rows, they decide in such a search, and early
    stopping ends the rounds.

    """

    # With columns by number, the canonical name of the objective, and what a preset has
    # chosen.
    settings: Settings
    task: Task  # with the classes of the training set
    init_model: FittedModel | None  # with the categories of the training set
    # The names that the user passed for the columns, or else those of a `Dataset`.
    names: Sequence[str] | None
    column_names: Sequence[str] | None  # these, or else the names in ``X``
    schema: ColumnSchema  # the columns of the training set
    root: BinnedDataset | None  # the bins of the training set, if it is a `Dataset`
    rows: Rows  # the rows of the training set whose weight is not 0
    # Whether the target has bounds of times, and not events; None: it may be both.
    are_bounds: bool | None
    fitted: Rows  # without the rows that are held out for early stopping
    ranks: bool  # whether the rows have queries
    n_scores: int  # the number of trees of a round
    # The levels of several quantiles; empty if the fit does not learn several.
    levels: tuple[float, ...]
    # By the name that the user passed: an alias may have another metric.
    objective: str | Callable[..., Any]
    outputs: list[Output]  # those of a fit that learns several; else empty
    preset_params: dict[str, Any]  # the options that a preset has chosen
    search: presets.Search | None  # how it finds the number of rounds

    def __init__(
        self,
        training: InputSet,
        arguments: FitArguments,
        settings: Settings,
        task: Task,
        init_model: FittedModel | None,
        searches: bool = True,
        is_evaluated: bool = False,
    ) -> None:
        if training.parts is not None and training.collectives.n_ranks > 1:
            check_can_be_distributed(settings)
        self.task = task if init_model is None else task.going_on(init_model)
        self.arguments = replace(arguments, **NO_ROWS)
        self.settings = settings
        self.init_model = init_model
        self.training = training
        try:
            columns = self._training_columns()
        except (TypeError, ValueError) as error:
            training.raise_named(error)
            raise
        if not settings.given.isdisjoint(constraints.OPTIONS):
            self.settings = constraints.resolve_columns(
                settings,
                self.schema.n_features,
                self.schema.categories.vocabularies,
                self.column_names,
            )
        alpha = settings.alpha
        self.levels = alpha if isinstance(alpha, tuple) else ()
        rows = self._rows(columns, training)
        self.groups = self.time = None
        if not (arguments.groups is None and arguments.time is None):
            self._set_groups_and_times(arguments, rows)
        self.rows = self.fitted = rows
        of_all_rows = rows, rows, self.groups, self.time
        if rows.weight is not None:
            self._drop_zero_weights()
        rows = self.rows
        self.ranks = rows.queries is not None
        self._set_objective()
        spec = OBJECTIVES.get(str(self.settings.objective))
        if spec is not None and spec.linear_above:
            self._warn_of_scale(spec)
        if init_model is None and self.schema.categories.vocabularies:
            column_advice.warn_of_text(
                self.schema.categories.vocabularies,
                self.column_names,
                self.schema.feature_names,
                rows.collectives.total(len(rows)),
            )
        self.preset_params, self.search = {}, None
        if settings.preset is not None:
            self._apply_preset(searches, is_evaluated)
        if self.settings.folds is not None:
            # The models of folds also predict rows of weight 0.
            self.rows, self.fitted, self.groups, self.time = of_all_rows

    def replaced(self, **attributes: Any) -> Self:
        """The same data with other values of some attributes."""
        other = copy.copy(self)
        vars(other).update(attributes)
        return other

    def _training_columns(self) -> Rows:
        """Read the training columns, their names and categories."""
        X, parts = self.training.X, self.training.parts
        schema = None if self.init_model is None else self._init_schema(self.init_model)
        feature_name = self.arguments.feature_name
        self.names = self.root = None
        if not (isinstance(feature_name, str) and feature_name == "auto"):
            self.names = names.checked(feature_name)
        if isinstance(X, Dataset):
            rows, read, self.root = self._prepared(X, schema)
            if self.names is None:
                self.names = X._names
        else:
            reading = containers.Reading(
                self.names,
                self.settings.categorical_feature,
                schema,
                self.settings.n_jobs,
            )
            columns, read = reading.read(X, self.task.owner)
            if parts is not None:
                columns, read = self._merged(columns, read, parts, schema is None)
            rows = Rows(columns)
        self.schema = cast(ColumnSchema, schema or read)
        if self.init_model is not None:
            self.names = self.names or self.init_model.feature_names
        self.column_names = cast(
            "Sequence[str] | None",
            self.schema.feature_names if self.names is None else self.names,
        )
        if self.init_model is not None:
            categories.check_same(
                names.numbered(self.settings.categorical_feature, self.names),
                self.schema.categories,
                self.column_names,
                self.schema.n_features,
                "init_model",
            )
        return rows

    def _init_schema(self, init_model: FittedModel) -> ColumnSchema:
        """The columns of the model that training continues from."""
        if init_model.is_foreign:
            X = self.training.X
            self.init_model = init_model = lightgbm_file.encoded(
                init_model,
                X.get_data() if isinstance(X, Dataset) else X,
                self.task.owner,
                self.training.collectives,
            )
        return init_model.schema

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
            self.settings.passed,
            threads.n_threads(self.settings.n_jobs),
            schema,
            " and ".join(name for name in needs if needs[name]),
            root,
        )
        with shown_reads(self.settings.verbosity):
            return X._prepare(request)

    def _rows(self, rows: Rows, input_set: InputSet) -> Rows:
        """The rows with the target, weight, query and start scores of each."""
        parts = input_set.parts
        partition = None
        if parts is not None:
            input_set = input_set.agreed(parts)
            partition = parts.partition()
        n_rows = (rows.binned or rows.columns).n_rows
        objective, init_score = self.settings.objective, input_set.init_score
        spec = spec_of(objective) if isinstance(objective, str) else None
        lives = spec is not None and spec.task == "survival"
        y, name = self._target(input_set, n_rows, lives)
        task = self.task
        if input_set.is_training:
            self.n_scores = len(self.levels) or task.n_scores
            if spec is not None and spec.distribution is not None:
                self.n_scores = len(spec.distribution.parameters)
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

    def _set_groups_and_times(self, arguments: FitArguments, rows: Rows) -> None:
        """Check ``groups`` and ``time``, which are those of the rows of all ranks."""
        n_rows = len(rows) if rows.partition is None else rows.partition.n_rows
        if arguments.groups is not None:
            self.groups = by_row.sortable(arguments.groups, n_rows, "groups")
        if arguments.time is not None:
            self.time = splits.check_times(arguments.time, n_rows)

    def without_zero_weights(self) -> Self:
        """The data without rows of weight 0."""
        other = self.replaced()
        if self.rows.weight is not None:
            other._drop_zero_weights()
        return other

    def _drop_zero_weights(self) -> None:
        rows = self.rows
        if not (self.groups is None and self.time is None):
            partition = rows.partition or RowPartition(len(rows))
            assert rows.weight is not None
            kept = partition.all_gather(rows.weight > 0)
            self.groups = None if self.groups is None else self.groups[kept]
            self.time = None if self.time is None else self.time[kept]
        self.rows = self.fitted = rows.without_zero_weights()

    def _checked_init_score(self, input_set: InputSet, n_rows: int) -> Floats | None:
        """The start scores of a set; those of an earlier model stand for them."""
        name = f"{input_set.prefix}init_score"
        if self.init_model is None:
            return check_init_score(input_set.init_score, n_rows, self.n_scores, name)
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

    def _target(self, input_set: InputSet, n_rows: int, lives: bool) -> tuple[Any, str]:
        """The target of a set, and its name; the training set determines the task."""
        name, task = input_set.target_name, self.task
        if lives:
            task.check_objective(canonical_name(self.settings.objective))
            return self._bounds(input_set, n_rows), name
        learns = input_set.is_training and not task.tasks
        if input_set.parts is None and (task.takes_several if learns else task.tasks):
            several = targets.several_columns(input_set.y, n_rows, name)
            if several is not None:
                if learns:
                    self.task = several_outputs.learned(task, several)
                return several, name
        y = targets.one_column(input_set.y, n_rows, task.owner, name)
        if learns:
            self.task = task.learned(y, input_set.parts)
        return y, name

    def _bounds(self, input_set: InputSet, n_rows: int) -> Floats:
        """The bounds of the lifetimes of a set, read as those of the training set."""
        name, held = input_set.target_name, input_set.are_bounds
        lives = lifetimes.read(input_set.y, n_rows, name, held)
        if input_set.is_training:
            self.are_bounds = lives.are_bounds
        elif self.are_bounds and not lives.are_bounds:
            lives = replace(lives, are_bounds=None)
        objective = canonical_name(self.settings.objective)
        return lives.bounds(from_0=lifetimes.is_of_order(objective))

    def _set_objective(self) -> None:
        """Set the objective, the link and the outputs."""
        task, levels, settings = self.task, self.levels, self.settings
        self.outputs = []
        if task.tasks or levels:
            self.outputs = several_outputs.outputs(task, settings, levels)
            self.objective = self.outputs[0].passed_objective
            self.link = several_outputs.joint_link(
                [output.link for output in self.outputs], task, levels
            )
            objective = several_outputs.joint_objective(self.outputs)
        else:
            self.objective, objective, self.link = task.resolved(settings)
            if isinstance(objective, str):
                check_queries(objective, self.ranks)
        if self.init_model is not None:
            self._check_levels(self.init_model)
            if self.init_model.trees.n_scores == self.n_scores:  # else an error follows
                _warn_of_other_scores(self.init_model, objective, self.link)
        if settings.multi_strategy == "multi_output_tree":
            widths = [output.task.n_scores for output in self.outputs] or [
                self.n_scores
            ]
            if max(widths) == 1 or self.link.distribution is not None:
                settings = settings.replaced(multi_strategy="one_output_per_tree")
        self.settings = settings.replaced(objective=objective)

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
            rows.of_output(k, k, k + 1).without_missing_targets() for k in outputs
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

    def _apply_preset(self, searches: bool, is_evaluated: bool) -> None:
        """Replace the options that the user has not passed as the preset asks."""
        passed = set(self.settings.passed)
        if self.arguments.early_stopping_round is not None:
            passed.add("early_stopping_round")
        vocabularies = self.schema.categories.vocabularies.values()
        most = max((len(vocabulary.values) for vocabulary in vocabularies), default=0)
        may_fold = searches and not is_evaluated
        self.preset_params = presets.chosen(
            self.settings,
            passed,
            most,
            may_fold=may_fold,
            may_be_linear=self._may_be_linear,
        )
        chosen = self.settings.checked(self.preset_params, self.task.owner)
        # Functions have no loss to compare candidates by, but sets have metrics.
        if searches and not (is_evaluated and callable(self.settings.objective)):
            n_rows = self.rows.collectives.total(len(self.rows))
            self.search = presets.search(
                self.settings, chosen, self.preset_params, most, n_rows
            )
        if self.search is None and chosen.folds is None and not is_evaluated:
            # Rows would have to be held out.
            self.preset_params.pop("early_stopping_round", None)
            chosen = self.settings.checked(self.preset_params, self.task.owner)
        self.settings = chosen

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
            rows = Rows(Columns.without_rows(self.schema.n_features))
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

        If it does not fit, it keeps the reference that it had.
        """
        before = dict(vars(X))
        try:
            if X._root is not self.training.X._root:
                X.set_reference(self.training.X)
            return self._prepared(X, self.schema, self.root)[0]
        except BaseException:
            vars(X).update(before)
            raise

    def with_held_out(self) -> tuple[Self, list[EvaluationSet]]:
        """Hold rows out for early stopping, unless something else evaluates the fit.

        Returns the data with the training rows, and the evaluation sets.
        """
        options, rows = self.settings, self.rows
        is_evaluated = options.folds is not None or self.search is not None
        if is_evaluated or options.boosting_type == "dart":
            return self, []
        share = options.validation_fraction
        if self.time is None:
            is_held_out = held_out(
                rows,
                share,
                options.random_state,
                labels=self.labels(rows),
                groups=self.groups,
            )
            sides = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        else:
            words, groups = f"validation_fraction={share}", self.all_groups()
            (pair,) = splits.by_time(1, self.time, groups, words, first=1 - share)
            sides = rows.local(pair[0]), rows.local(pair[1])
        fitted, validation = map(rows.take, sides)
        return self.replaced(fitted=fitted), [EvaluationSet("validation", validation)]

    def splits(self) -> Splits:
        """The rows of all processes, to be split into folds."""
        rows, partition = self.rows, self.rows.partition
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
            self.all_groups(),
            self.time,
            "groups" if self.rows.queries is None else "queries",
            self.task,
            self.settings,
        )

    def labels(self, rows: Rows) -> NDArray[Any] | None:
        """The class of each row, or whether it is censored.

        Rows that are held out have the same fraction of each. None if there is neither.
        """
        if is_survival(self.settings.objective):
            return np.isinf(rows.target[:, 1])
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
        training, *_ = input_sets(X, None, self.arguments, self.settings)
        rows = self._rows(self._in_same_bins(X), training).without_zero_weights()
        return self.replaced(training=training, rows=rows, fitted=rows)

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
