"""Fits with the options ``folds`` or ``preset``, which learn from parts of the rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.rows import Rows
from skgoss.fit import callbacks, fold_fits, folds
from skgoss.fit.arguments import FitArguments, InputSet
from skgoss.fit.fit import AfterRound, Fit, MakeModel
from skgoss.fit.task import Task
from skgoss.model.fitted import FittedModel
from skgoss.parameters import presets
from skgoss.parameters.settings import Settings
from skgoss.training.concurrent_fits import at_once
from skgoss.training.evaluation import NamedRows
from skgoss.training.loop import Trained


def start(
    sets: Sequence[InputSet],
    arguments: FitArguments,
    settings: Settings,
    task: Task,
    **options: Any,
) -> Fit:
    """Start a fit, on folds if options ask for it: see `Fit` for the parameters."""
    asks = settings.folds is not None or settings.preset is not None
    return (FitOnFolds if asks else Fit)(sets, arguments, settings, task, **options)


class FitOnFolds(Fit):
    """A fit with the option ``folds`` or ``preset``.

    Attributes
    ----------
    all_rows : Rows
        Targets and weights of the rows of all processes. All numbers of rows are those
        of these rows.
    groups : ndarray of shape (n_all_rows,), or None
        The groups of rows that are in the same fold: the user's, or the queries.
    folds : list of (ndarray, ndarray), or None
        The rows to learn from and to test on; None without the option ``folds``.
    sets : list of NamedRows
        The evaluation sets.
    """

    # Whether the fit is one of those that are compared by the loss.
    is_judged = False

    def _start(self, sets: list[NamedRows], arguments: FitArguments) -> None:
        self.all_rows = self._all_rows()
        self.groups = self._groups(arguments.groups)
        self.folds, self.sets = self._folds(), sets
        if self.folds is None and self.search is None:
            return self._begin(sets)
        if self.folds is not None and sets:
            argument = "valid_sets" if self.task.owner == "train" else "eval_set"
            raise ValueError(
                f"{argument} cannot be used with folds={self.settings.folds!r}: each"
                f" model is evaluated on the test rows of its fold. Leave {argument}"
                " out, or set folds=None."
            )
        binned = self._binned()
        binned.storage.pack()
        self.fitted = self.rows = replace(self.rows, binned=binned)
        # The trees of an earlier model need the values of each fold.
        if self.rows.partition is not None and self.init_model is None:
            self._forget_values()

    def _binned(self) -> BinnedDataset:
        """The bins that all folds share; rows of weight 0 have no influence on them."""
        weighted = self.rows.without_zero_weights()
        found, total = self.plan.binned(weighted), self.rows.collectives.total
        if total(len(weighted)) == len(self.all_rows) or self.rows.binned is not None:
            return self.rows.binned or found
        return found.of_same_bins(
            self.rows.columns,
            self.settings,
            rows=self.rows.numbers,
            n_threads=self.plan.n_threads,
            n_global=len(self.all_rows),
        )

    def run(
        self, make_model: MakeModel, after_round: AfterRound | None = None
    ) -> FittedModel:
        """Boost round by round: see `Fit.run`.

        The models of folds do not call ``after_round``.
        """
        if self.search is not None:
            self._search(self.search, make_model)
        if self.folds is not None:
            trained = self._trained_on_folds(self.folds, make_model)
            self.warn_if_nothing_learned(trained.ensemble)
            return self.model(trained)
        return super().run(make_model, after_round)

    def _callbacks(self) -> list[callbacks.Callback]:
        if self.is_judged and self.search is not None:
            least = self.settings.early_stopping_round
            return [callbacks.growing_patience(least, self.search.patience_share)]
        return super()._callbacks()

    def _patience(self) -> int:
        options = self.settings
        if options.folds is None or options.early_stopping_round is not None:
            return super()._patience()
        # The best round of each fold is kept, if there is one, but none ends early.
        has_best = options.boosting_type != "dart" and self.plan.metrics
        return options.n_estimators if has_best else 0

    # --- Rows -------------------------------------------------------------------------

    def _all_rows(self) -> Rows:
        rows, partition = self.rows, self.rows.partition
        if partition is None:
            return rows
        weight = rows.weight
        return Rows(
            None,
            partition.all_gather(rows.target),
            None if weight is None else partition.all_gather(weight),
            init_score=rows.init_score,
        )

    def _own(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which rows of this process are among some of all rows."""
        partition = self.rows.partition
        if partition is None:
            return at
        is_meant = np.zeros(partition.n_rows, dtype=bool)
        is_meant[at] = True
        return np.flatnonzero(is_meant[partition.numbers])

    def _groups(self, groups: Any) -> NDArray[Any] | None:
        if groups is not None:
            return folds.check_groups(groups, len(self.all_rows))
        queries, partition = self.rows.queries, self.rows.partition
        if queries is None or partition is None:
            return None if queries is None else queries.number
        return partition.all_gather(queries.global_number[queries.number])

    def _folds(self) -> list[folds.Pair] | None:
        splitter = self.settings.folds
        if not isinstance(splitter, int):
            target, groups = self.all_rows.target, self.groups
            # Two calls of a splitter may give different folds.
            return splitter and self.rows.collectives.broadcast(
                lambda: folds.pairs(splitter, target, groups, "folds")
            )
        folds.check_number(
            splitter,
            self.all_rows.target,
            self.groups,
            stratify=self._stratifies,
            argument="folds",
            owner="X",
            things="groups" if self.rows.queries is None else "queries",
        )
        return self._folds_of_equal_size(splitter, np.arange(len(self.all_rows)))

    @property
    def _stratifies(self) -> bool:
        """Whether each fold has the same fraction of each class."""
        return self.task.n_classes is not None

    def _folds_of_equal_size(
        self, n_folds: int, at: NDArray[np.int64]
    ) -> list[folds.Pair]:
        """Folds of some of the rows."""
        pairs = folds.of_equal_size(
            n_folds,
            self.all_rows.target[at],
            None if self.groups is None else self.groups[at],
            stratify=self._stratifies,
            seed=self.settings.random_state,
        )
        return [(at[train], at[test]) for train, test in pairs]

    # --- Models of folds --------------------------------------------------------------

    def _trained_on_folds(
        self, pairs: Sequence[folds.Pair], make_model: MakeModel
    ) -> Trained:
        """The mean of the models of the folds, or what ``refit`` makes of them."""
        kinds = presets.kinds(self.settings, self.preset_params)
        fits = [self._with_options(options) for options in kinds]
        models = self._fold_models(fits, pairs, make_model)
        weights = self._weights(models)
        trained = fold_fits.joined(models, weights, self.all_rows)
        self.history |= trained.history
        if self.settings.refit:
            best = int(np.argmax(weights))
            fit = copy.copy(fits[best])
            fit.folds = None
            n_rounds = round(fold_fits.mean_rounds(models[best]))
            ensemble = fit._refitted(n_rounds, make_model(fit))
            trained = replace(
                trained,
                ensemble=ensemble,
                out_of_fold=trained.out_of_fold.of_one_model(ensemble.n_rounds),
            )
            self.settings = fit.settings
        self.preset_params |= presets.shares(self.settings, kinds, weights)
        return trained

    def _weights(self, kinds: Sequence[Sequence[fold_fits.FoldModel]]) -> list[float]:
        """The weights of several sets of options, as a preset chooses them."""
        if len(kinds) == 1:
            return [1.0]
        metrics = self._loss().plan.metrics
        if self.settings.refit:
            losses = [fold_fits.loss(models, metrics) for models in kinds]
            return [float(i == np.argmin(losses)) for i in range(len(kinds))]
        weights = fold_fits.best_weights(kinds, metrics)
        is_plain = self.init_model is None and self.rows.init_score is None
        if is_plain and self.link.kind in ("logistic", "softmax"):
            factor = fold_fits.calibration(kinds, weights, metrics)
            weights = [factor * weight for weight in weights]
        return weights

    def _fold_models(
        self,
        fits: Sequence[Self],
        pairs: Sequence[folds.Pair],
        make_model: MakeModel,
    ) -> list[list[fold_fits.FoldModel]]:
        """The models of each fit on the rows of each fold, several at once."""
        n_at_once, n_threads = 1, self.plan.n_threads
        # Functions of users need not be ready to be called by several threads at once,
        # and processes communicate in the same order.
        is_one_by_one = self.rows.partition is not None or any(
            fit.arguments.callbacks or fit.plan.has_functions for fit in fits
        )
        if not is_one_by_one:
            n_at_once, n_threads = at_once(len(fits) * len(pairs), n_threads)
        models = fold_fits.side_by_side(
            [
                partial(fit._fold_model, number, pair, n_threads, make_model)
                for fit in fits
                for number, pair in enumerate(pairs)
            ],
            n_at_once,
        )
        n = len(pairs)
        return [models[i * n : (i + 1) * n] for i in range(len(fits))]

    def _with_options(self, options: Mapping[str, Any]) -> Self:
        """This fit with other options of single trees."""
        if not options:
            return self
        fit = copy.copy(self)
        fit.settings = self.settings.replaced(**options)
        fit.plan = fit._plan(self.rows)
        return fit

    def _fold_model(
        self,
        number: int,
        pair: folds.Pair,
        n_threads: int,
        make_model: MakeModel,
        is_cancelled: Callable[[], bool],
    ) -> fold_fits.FoldModel:
        """Fit the model of one fold."""
        train, test = pair
        self._check_weights(number, train=train, test=test)
        fit = copy.copy(self)
        fit.folds, fit.history = None, {}
        fit.fitted = fit.rows = self._learned(train)
        fit.plan = replace(self.plan, n_threads=n_threads)
        tested = NamedRows(f"fold_{number}", self.rows.take(self._own(test)))
        fit.state = fit.plan.begin(fit.fitted, [tested])
        return fold_fits.fold_model(
            fit.state, test, make_model(fit), fit._callbacks(), is_cancelled
        )

    def _learned(self, train: NDArray[np.int64]) -> Rows:
        """The rows that a fold learns from, as a part of the bins if they are most."""
        rows, weight, at = self.rows, self.rows.weight, self._own(train)
        at = at if weight is None else at[weight[at] != 0]
        # What a tree does with all rows would take long for a small part.
        learned = rows.part(at) if 2 * len(at) >= len(rows) else rows.take(at)
        return learned.without_zero_weights()

    def _check_weights(self, number: int, **rows: NDArray[np.int64]) -> None:
        """Check that there are weights in both parts of a fold."""
        weight = self.all_rows.weight
        for part, at in rows.items():
            if weight is not None and not weight[at].any():
                raise ValueError(
                    f"All {part} rows of fold {number} have the weight 0. Set folds to"
                    " other rows or to a smaller number, or pass other weights."
                )

    # --- Presets ----------------------------------------------------------------------

    def _search(self, search: presets.Search, make_model: MakeModel) -> None:
        """Choose options and the number of rounds by fits on folds."""
        chosen = self._best_options(search, make_model)
        self.preset_params = self.preset_params | chosen
        self.settings = self.settings.replaced(**chosen)
        self.calls = self._callbacks()
        self.plan = self._plan(self.rows)
        self._begin(self.sets)

    def _best_options(
        self, search: presets.Search, make_model: MakeModel
    ) -> dict[str, Any]:
        """The options of the best candidate, with the number of rounds."""
        chosen = {"n_estimators": search.n_rounds_without, "early_stopping_round": None}
        rows, weight = self.all_rows, self.all_rows.weight
        at = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
        groups = None if self.groups is None else self.groups[at]
        most, _ = folds.most(rows.target[at], groups, stratify=self._stratifies)
        n_folds = min(search.n_folds, most)
        if n_folds < 2:
            return chosen
        judged = self._loss()
        kinds = self._fold_models(
            [judged._with_options(search.options | more) for more in search.candidates],
            self._folds_of_equal_size(n_folds, at),
            make_model,
        )
        losses = [fold_fits.loss(models, judged.plan.metrics) for models in kinds]
        best = int(np.argmin(losses))
        n_rounds = search.n_rounds_factor * fold_fits.mean_rounds(kinds[best])
        return (
            chosen | search.candidates[best] | {"n_estimators": max(1, round(n_rounds))}
        )

    def _loss(self) -> Self:
        """This fit, judged by the loss of its objective, without messages."""
        fit = copy.copy(self)
        fit.is_judged = True
        fit.arguments = replace(self.arguments, callbacks=None, eval_metric=None)
        quiet = {"metric": None, "verbosity": -1, "folds": None}
        fit = fit._with_options(quiet)
        if not fit.plan.metrics:
            raise ValueError(
                f"preset={self.settings.preset!r} compares losses, but an objective"
                " that is a function has none. Set n_estimators."
            )
        return fit
