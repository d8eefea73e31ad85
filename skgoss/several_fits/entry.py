"""Where every fit begins: its data are read, and one fit, folds or a search chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skgoss.fit import fit_data, held_out, memory, pair_features, unused_options
from skgoss.fit.arguments import FitArguments, InputSet
from skgoss.fit.fit import BuildBins, Fit, PreparedFit
from skgoss.fit.fit_data import FitData
from skgoss.fit.splits import Pair, Splits
from skgoss.fit.task import Task
from skgoss.fit.time_limit import INTERRUPTIONS, NO_LIMIT, TimeLimit
from skgoss.model.fitted import EstimatorRecord, FittedModel
from skgoss.parameters.settings import DIVERGES, Settings
from skgoss.several_fits.folds import FoldFits, in_bins
from skgoss.several_fits.preset_search import PresetSearch
from skgoss.training.evaluation import EvaluationSet
from skgoss.utils.messages import warn, warn_unused

# What makes a model: each has a method `model`.
AnyFit = Fit | FoldFits | PresetSearch


def prepare(
    sets: Sequence[InputSet],
    arguments: FitArguments,
    settings: Settings,
    task: Task,
    *,
    init_model: FittedModel | None = None,
    record: EstimatorRecord | None = None,
    n_threads: int | None = None,
    build_bins: BuildBins | None = None,
    searches: bool = True,
    no_folds: str = "",
) -> AnyFit:
    """Read the data of a fit, and bin its rows.

    The first set is the training set, the others are evaluation sets. If their rows are
    spread over processes, all ranks call this at the same time, each with its rows, and
    all get the same model. A rank without rows passes any row as ``X``, which tells the
    columns. For ``searches``, see `fit_data.read`.

    ``init_model`` is an earlier model, whose trees come first. ``record`` is what the
    model keeps of its estimator. ``n_threads`` is by default the option ``n_jobs``, and
    ``build_bins`` a function in place of `BinnedDataset.build`, for fits that share
    bins. ``no_folds`` is the error of a fit with folds, before it bins rows; '{option}'
    in it stands for the option that asks for them. "": folds are allowed.
    """
    has_end = settings.time_limit is not None or INTERRUPTIONS
    limit = TimeLimit.from_now(settings.time_limit) if has_end else NO_LIMIT
    if settings.learning_rate > DIVERGES and settings.boosting_type != "rf":
        warn(
            f"learning_rate={settings.learning_rate:g} is above 2, so each round"
            " increases the training loss. Use a smaller number, such as 0.1."
        )
    training, *others = sets
    is_evaluated = bool(others) and not all(
        other.holds_same_rows(training) for other in others
    )
    data = fit_data.read(
        training, arguments, settings, task, init_model, searches, is_evaluated
    )
    if data.settings.memory_limit is not None:
        memory.check(data, others, n_threads)
    if data.settings.pair_features and not arguments.continues:
        prepared = PreparedFit.from_data(data, record, n_threads, limit=limit)
        data, build_bins = pair_features.added(prepared).data, None
    named = [data.evaluation_set(input_set) for input_set in others] if others else []
    if not named and (data.settings.early_stopping_round or 0) > 0:
        data, named = held_out.split(data)
    prepared = PreparedFit.from_data(data, record, n_threads, build_bins, limit)
    if not unused_options.NAMES.isdisjoint(settings.set_by_call):
        unused_options.warn_of(settings, data, prepared.setup.make_metrics())
    if data.settings.folds is not None or settings.preset is not None:
        return _chosen_fit(prepared, named, no_folds)
    if arguments.groups is not None or arguments.time is not None:
        _refuse_unused_groups(data, arguments)
    return Fit.begin(prepared, named)


def _refuse_unused_groups(data: FitData, arguments: FitArguments) -> None:
    """Refuse ``groups``, or warn of ``time``, if nothing is chosen on some rows."""
    if data.fitted is not data.rows:
        return
    needs = (
        "needs the option folds or preset, or early stopping without an evaluation"
        " set: nothing else uses held-out rows."
    )
    if arguments.groups is not None:
        raise ValueError(f"groups {needs}")
    warn_unused(f"time {needs}")


def _chosen_fit(
    prepared: PreparedFit, sets: Sequence[EvaluationSet], no_folds: str
) -> AnyFit:
    """One fit, those of folds or a search: what ``folds`` and ``preset`` ask for.

    ``sets`` are the evaluation sets; for ``no_folds`` see `prepare`. A preset that
    would make a mean of fits, or folds of too few rows, becomes one fit instead.
    """
    splits, search = prepared.data.splits(), prepared.data.search
    pairs = _pairs(prepared.data, splits)
    if pairs == []:
        prepared, pairs = prepared.with_chosen({"folds": None}), None
        prepared, sets, splits = _of_one_fit(prepared, sets)
    elif search is not None and search.is_mean:
        # A model that can be trained further is that of one fit.
        has_folds = splits.most_folds(splits.weighted()) > 1
        if no_folds or not has_folds:
            search = search._replace(is_mean=False)
            prepared, sets, splits = _of_one_fit(prepared, sets)
    data = prepared.data
    if pairs is None and search is None:
        return Fit.begin(prepared, sets)
    if pairs is not None and (sets or no_folds):
        _refuse_folds(data, no_folds)
    external = next((named for named in sets if named.rows is not data.rows), None)
    prepared = in_bins(prepared, len(splits.rows.target))
    if search is None:
        assert pairs is not None
        return FoldFits(prepared, splits, pairs)
    return PresetSearch(prepared, search, splits, pairs, sets, external)


def _pairs(data: FitData, splits: Splits) -> list[Pair] | None:
    """The folds of the option ``folds``, as training and test rows; None without it.

    Empty if a preset asks for folds, and there are too few rows.
    """
    splitter = data.settings.folds
    if "folds" in data.preset_params:
        splitter = min(splitter, splits.most_folds(splits.weighted()))
        if splitter < 2:
            return []
    if splitter is None:
        return None
    return splits.of_option(splitter, data.rows.collectives.broadcast)


def _of_one_fit(
    prepared: PreparedFit, sets: Sequence[EvaluationSet]
) -> tuple[PreparedFit, list[EvaluationSet], Splits]:
    """The data of one fit: without the rows of weight 0.

    With folds, these rows are kept, because models of folds predict them. Sets of the
    training rows change with them.
    """
    before, data = prepared.data.rows, prepared.data.without_zero_weights()
    kept = [replace(s, rows=data.rows) if s.rows is before else s for s in sets]
    return replace(prepared, data=data), kept, data.splits()


def _refuse_folds(data: FitData, no_folds: str) -> None:
    """Raise the error of a fit that cannot have folds.

    ``no_folds`` is the reason; "": it has evaluation sets.
    """
    is_chosen = "folds" in data.preset_params
    name = "preset" if is_chosen else "folds"
    if not no_folds:
        argument = "valid_sets" if data.task.owner == "train" else "eval_set"
        advice = "add other rows to it" if is_chosen else "set folds=None"
        no_folds = (
            f"{argument} cannot be used with {{option}}: each model is evaluated on the"
            f" test rows of its fold. Leave {argument} out, or {advice}."
        )
    value = getattr(data.settings, name)
    raise ValueError(no_folds.format(option=f"{name}={value!r}"))
