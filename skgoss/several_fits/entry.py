"""Where every fit starts: its data are read, its rows binned, its rounds run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.fit import callbacks, unused_options
from skgoss.fit.arguments import FitArguments, InputSet
from skgoss.fit.fit import AfterRound, BuildBins, Fit, MakeModel
from skgoss.fit.fit_data import FitData
from skgoss.fit.splits import Pair
from skgoss.fit.task import Task
from skgoss.fit.time_limit import INTERRUPTIONS, NO_LIMIT, TimeLimit
from skgoss.model.fitted import EstimatorRecord, FittedModel
from skgoss.parameters.settings import Settings
from skgoss.several_fits import folds, preset_search
from skgoss.training.evaluation import EvaluationSet
from skgoss.utils.messages import warn_unused


def start(
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
) -> Fit:
    """Read the data of a fit and bin its rows: see `FitData` and `Fit`.

    The first set is the training set, the others are evaluation sets. If their rows are
    spread over processes, all ranks start their fits at the same time, each with its
    rows, and all get the same model. A rank without rows passes any row as ``X``, which
    tells the columns. ``no_folds`` is the error of a fit with folds, before it bins
    rows: '{option}' in it stands for the option that asks for them.
    """
    has_end = settings.time_limit is not None or INTERRUPTIONS
    limit = TimeLimit.begun(settings.time_limit) if has_end else NO_LIMIT
    training, *others = sets
    is_evaluated = bool(others) and not all(
        other.holds_same_rows(training) for other in others
    )
    data = FitData(
        training, arguments, settings, task, init_model, searches, is_evaluated
    )
    named = [data.evaluation_set(input_set) for input_set in others] if others else []
    if not named and (data.settings.early_stopping_round or 0) > 0:
        data, named = data.with_held_out()
    fit = Fit(data, record, n_threads, build_bins, limit)
    if not unused_options.NAMES.isdisjoint(settings.written):
        unused_options.warn_of(settings, data, fit.plan.make_metrics())
    if data.settings.folds is not None or settings.preset is not None:
        _split(fit, named, no_folds)
    elif arguments.groups is not None or arguments.time is not None:
        _refuse_unused_groups(fit, arguments)
    if fit.pairs is None and data.search is None:
        fit.begin(named)
    return fit


def run(
    fit: Fit,
    make_model: MakeModel,
    after_round: AfterRound | None = None,
    *,
    keeps_rounds: bool = False,
) -> FittedModel:
    """The model of a fit that has started: see `Fit.train`.

    The models of folds do not call ``after_round``.
    """
    search = fit.data.search
    if fit.pairs is None:
        if search is not None:
            preset_search.choose(fit, search)
            fit.begin(fit.sets)
        if fit.data.preset_params:
            _tell_of_choice(fit)
        return fit.train(make_model, after_round, keeps_rounds=keeps_rounds)
    if search is not None:
        trained = preset_search.trained(fit, search, make_model)
    else:
        trained = folds.trained(fit, make_model)
    if fit.data.preset_params:
        _tell_of_choice(fit)
    fit.warn_if_nothing_learned(trained.ensemble)
    return replace(fit.model(trained), baseline=folds.baseline(fit, trained))


def _refuse_unused_groups(fit: Fit, arguments: FitArguments) -> None:
    """Refuse ``groups``, or warn of ``time``, if nothing is chosen on some rows."""
    if fit.data.fitted is not fit.data.rows:
        return
    needs = (
        "needs the option folds or preset, or early stopping without an evaluation"
        " set: nothing else uses held-out rows."
    )
    if arguments.groups is not None:
        raise ValueError(f"groups {needs}")
    warn_unused(f"time {needs}")


def _split(fit: Fit, sets: Sequence[EvaluationSet], no_folds: str) -> None:
    """Bin the rows of a fit with the option ``folds`` or ``preset``, and split them.

    Without folds or a search to be run, the rows stay as they are.
    """
    fit.splits, fit.sets = fit.data.splits(), sets
    fit.pairs = _pairs(fit)
    fit.others = next((s for s in fit.sets if s.rows is not fit.data.rows), None)
    if fit.pairs is None and fit.data.search is None:
        return
    if fit.pairs is not None and (sets or no_folds):
        _refuse_folds(fit, no_folds)
    binned = _binned(fit)
    binned.storage.pack()
    rows = replace(fit.data.rows, binned=binned)
    fit.data = fit.data.replaced(rows=rows, fitted=rows)
    # The trees of an earlier model need the values of each fold.
    if rows.partition is not None and fit.data.init_model is None:
        fit.data = fit.data.without_values()


def _pairs(fit: Fit) -> list[Pair] | None:
    """The folds of the option ``folds``; None without it."""
    splitter, splits = fit.data.settings.folds, fit.splits
    if "folds" in fit.data.preset_params:
        splitter = min(splitter, splits.most_folds(splits.weighted()))
        if splitter < 2:
            _leave_folds_out(fit)
            return None
    if splitter is None:
        return None
    return splits.of_option(splitter, fit.data.rows.collectives.broadcast)


def _leave_folds_out(fit: Fit) -> None:
    """Fit one model where a preset asks for folds, but there are too few rows."""
    before = fit.data.rows
    fit.choose({"folds": None})
    fit.data = fit.data.without_zero_weights()
    fit.splits, rows = fit.data.splits(), fit.data.rows
    fit.sets = [replace(s, rows=rows) if s.rows is before else s for s in fit.sets]


def _refuse_folds(fit: Fit, no_folds: str) -> None:
    """Say why the fit cannot have folds; without a reason, its evaluation sets are."""
    is_chosen = "folds" in fit.data.preset_params
    name = "preset" if is_chosen else "folds"
    if not no_folds:
        argument = "valid_sets" if fit.data.task.owner == "train" else "eval_set"
        advice = "add other rows to it" if is_chosen else "set folds=None"
        no_folds = (
            f"{argument} cannot be used with {{option}}: each model is evaluated on the"
            f" test rows of its fold. Leave {argument} out, or {advice}."
        )
    raise ValueError(no_folds.format(option=f"{name}={getattr(fit.settings, name)!r}"))


def _binned(fit: Fit) -> BinnedDataset:
    """The bins that all folds share; rows of weight 0 have no influence on them."""
    rows, n_global = fit.data.rows, len(fit.splits.rows)
    weighted = rows.without_zero_weights()
    binned, total = fit.plan.binned(weighted), rows.collectives.total
    if total(len(weighted)) == n_global or rows.binned is not None:
        return rows.binned or binned
    return binned.with_rows(
        rows.columns,
        fit.data.settings,
        rows=rows.numbers,
        n_threads=fit.plan.n_threads,
        n_global=n_global,
        collectives=rows.collectives,
    )


def _tell_of_choice(fit: Fit) -> None:
    if fit.data.settings.verbosity >= 1:
        chosen = ", ".join(f"{k}={v}" for k, v in fit.data.preset_params.items())
        callbacks.say(f"Chosen by preset: {chosen}")
