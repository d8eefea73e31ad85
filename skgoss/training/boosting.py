"""The round loop: gradients, samples of rows, trees, scores, metrics, callbacks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.grower import TreeGrower
from skgoss.data.dataset import BinnedDataset
from skgoss.data.rows import Rows
from skgoss.model import linear
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves, RawColumns
from skgoss.training import assembly, constraints, objectives, sampling
from skgoss.training.binned import BinnedRows, BinnedTrees
from skgoss.training.evaluation import EvaluationSet, NamedRows, by_name
from skgoss.training.metrics import Custom, Metric
from skgoss.training.objectives import Objective
from skgoss.training.rounds import (
    Callback,
    CallbackEnv,
    Calls,
    EarlyStopException,
    EvalResult,
    History,
    Recorder,
    as_stop,
)

if TYPE_CHECKING:
    from skgoss.parameters import Settings
    from skgoss.training.folds import Folds


class Followed(NamedTuple):
    """Rows and their scores, (n_scores, n_rows), to which trees are added."""

    rows: BinnedRows
    scores: NDArray[np.float64]


AfterRound = Callable[[int, Callable[[], Ensemble]], bool]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trained:
    """The result of a fit.

    Attributes
    ----------
    ensemble : Ensemble
        The trees, up to the best round if a callback ended the fit.
    feature_infos : list of str
        The range or categories of each column: see `skgoss.model.header.Header`.
    best_iteration : int
        The number of rounds that early stopping kept; 0 without it.
    best_score : dict
        Metrics by evaluation set and name: those of the best round after early
        stopping, else of the last round.
    history : dict
        Metrics of all rounds: a list for each evaluation set and name.
    """

    ensemble: Ensemble
    feature_infos: list[str]
    best_iteration: int = 0
    best_score: dict[str, dict[str, float]] = field(default_factory=dict)
    history: History = field(default_factory=dict)


def train(
    state: Boosting,
    model: Any = None,
    *,
    history: History | None = None,
    given: Sequence[Callback] = (),
    after_round: AfterRound | None = None,
    n_rounds: int | None = None,
) -> Trained:
    """Boost round by round.

    Parameters
    ----------
    state : Boosting
    model : object, default=None
        What callbacks get as the model.
    history : dict, default=None
        It gets the metrics of all rounds.
    given : sequence of callable, default=()
        The user's callbacks: see `skgoss.callbacks`.
    after_round : callable, default=None
        Called after each round as ``after_round(round_index, ensemble)``, where
        ``ensemble()`` returns the trees so far. Boosting stops if it returns True.
    n_rounds : int, default=None
        The maximum number of rounds; None: ``settings.n_estimators``.

    Returns
    -------
    Trained

    Raises
    ------
    ValueError
        If a gradient or hessian is NaN or infinite, or a callback ends the fit before
        the first round.
    """
    history = {} if history is None else history
    stop = run(
        state,
        model,
        history=history,
        given=given,
        after_round=after_round,
        n_rounds=n_rounds,
    )
    return result(state, stop, history)


def run(
    state: Boosting | Folds,
    model: Any,
    *,
    history: History,
    given: Sequence[Callback] = (),
    after_round: AfterRound | None = None,
    n_rounds: int | None = None,
) -> EarlyStopException | None:
    """Run the rounds: see `train`.

    Returns what a callback ended them with; None if none did.
    """
    recorder = Recorder(history)
    calls = Calls([*given, recorder])
    first, planned = state.first_round, state.settings.n_estimators
    params = dict(vars(state.settings)) if given else {}
    env = CallbackEnv(model, params, first, first, first + planned, [])
    try:
        for index in range(n_rounds or planned):
            env = env._replace(iteration=first + index, evaluation_result_list=[])
            calls.before_round(env)
            grew = state.boost()
            if not grew and index > 0:
                break
            env = env._replace(evaluation_result_list=state.evaluate())
            calls.after_round(env)
            if not grew or (after_round and after_round(index, state.ensemble)):
                break
        calls.at_end()
    except Exception as error:
        stop = as_stop(error)
        if stop is None:
            raise
        recorder.complete(env)
        return stop
    finally:
        calls.close()
    return None


def result(
    state: Boosting, stop: EarlyStopException | None, history: History
) -> Trained:
    """The model after the rounds that `run` has run."""
    if stop is not None:
        return _stopped(state, stop, history)
    last = {
        name: {metric: values[-1] for metric, values in by_metric.items()}
        for name, by_metric in history.items()
    }
    return replace(state.trained(state.ensemble()), best_score=last, history=history)


def _stopped(state: Boosting, stop: EarlyStopException, history: History) -> Trained:
    """The model up to the best round, as the exception tells it."""
    ensemble = state.ensemble()
    if ensemble.n_rounds == 0:
        raise ValueError(
            "EarlyStopException was raised before the first round: there is no model."
            " Raise it after a round."
        ) from stop
    kept = min(stop.best_iteration + 1, ensemble.n_rounds)
    best_score = by_name(stop.best_score or [])
    return replace(
        state.trained(ensemble.truncated(kept)),
        best_iteration=kept,
        best_score=best_score or _recorded(history, kept - 1 - state.first_round),
        history=history,
    )


def _recorded(history: History, index: int) -> dict[str, dict[str, float]]:
    """The metrics that were recorded after the round of this index."""
    return {
        name: {
            metric: values[index]
            for metric, values in by_metric.items()
            if 0 <= index < len(values)
        }
        for name, by_metric in history.items()
    }


class Boosting:
    """The state of a fit: the scores of the training rows and the trees so far.

    Parameters
    ----------
    dataset : BinnedDataset
    objective : Objective
        The objective on the rows of ``dataset``.
    settings : Settings
        The options, with numbers in place of names of columns.
    n_threads : int
        The maximum number of threads; the trees do not depend on it.
    init_score : ndarray of shape (n_scores, n_rows), float64, default=None
        The scores to start from, instead of the best constant. The trees do not include
        them.
    sets : sequence of EvaluationSet, default=()
        The evaluation sets.
    first : Ensemble, default=None
        The trees of an earlier model, to which new trees are added. ``init_score``
        includes their scores.
    raw : RawColumns, default=None
        Values of the rows of ``dataset``; required for linear leaves.
    training : callable, default=None
        Returns an evaluation set of the rows of ``dataset``, for `eval_train`.
    """

    # Whether the grower may add the values of new trees to the training scores.
    adds_early = True
    # Whether predictions are means of trees and not sums.
    averages = False
    # Whether the steps of trees are limited: see `Objective.concordance`.
    bounds_steps = True

    def __init__(
        self,
        dataset: BinnedDataset,
        objective: Objective,
        settings: Settings,
        n_threads: int,
        *,
        init_score: Floats | None = None,
        sets: Sequence[EvaluationSet] = (),
        first: Ensemble | None = None,
        raw: RawColumns | None = None,
        training: Callable[[], EvaluationSet] | None = None,
    ) -> None:
        shape = (objective.n_scores, dataset.n_rows)
        self.dataset = dataset
        self.objective = objective
        self.settings = self._own(settings)
        self.n_threads = n_threads
        self.sets = list(sets)
        # Sets that are measured when asked for, but not after each round.
        self.others: list[EvaluationSet] = []
        self.training = training
        self.first = first
        self.init_score = init_score
        self.starts_itself = init_score is None
        self.first_start = (
            objective.start_scores() if init_score is None else np.zeros(shape[0])
        )
        self.start = self.first_start
        self._begin()
        self.gradient = np.empty(shape, dtype=np.float32)
        self.hessian = (
            None if objective.constant_hessian else np.empty(shape, dtype=np.float32)
        )
        self.weight = _by_score(objective.weight)
        self.copies = objective.copies
        self.copy_weight = _by_score(objective.copy_weight)
        self.sampler = self._sampler()
        self.rows = BinnedRows(
            dataset.storage.store, dataset.missing_bin, raw, dataset.n_rows
        )
        self.linear: list[list[LinearLeaves]] = []
        # The number of constant rounds, where no column can be split.
        self.n_constant = 0
        self._assembled: Ensemble | None = None
        # The number of rounds before a round that failed, until it is undone.
        self._failed: int | None = None
        self._lock = threading.Lock()
        self.constraints = constraints.of_trees(self.settings, dataset)
        self.grower = self._grower() if len(dataset.feature) else None

    def _grower(self, forest: Any = None) -> TreeGrower:
        return TreeGrower(
            self.dataset,
            self.settings,
            self.objective.n_scores,
            self.n_threads,
            forest,
            self.constraints,
            self.copies,
            self.objective.concordance if self.bounds_steps else 0.0,
        )

    def _sampler(self) -> sampling.Sampler:
        objective = self.objective
        return sampling.make(self.settings, self.weight, objective.y, objective.queries)

    @property
    def training_names(self) -> set[str]:
        """The names of the evaluation sets that are the training set."""
        return {evaluated.name for evaluated in self.sets if evaluated.is_training}

    @property
    def first_round(self) -> int:
        """The number of the first new round."""
        return 0 if self.first is None else self.first.n_rounds

    def current_iteration(self) -> int:
        """The number of rounds so far, including those of ``first``."""
        self._settle()
        return self.first_round + self._n_grown

    def training_sets(self) -> list[EvaluationSet]:
        """The evaluation sets that are the training set, at least one."""
        known = [e for e in (*self.sets, *self.others) if e.is_training]
        if not known:
            self.others.append(self.training())
        return known or self.others[-1:]

    def eval_train(self, more: Sequence[Custom] = ()) -> list[EvalResult]:
        """The metrics of the training set after the last round.

        The training set need not be among the evaluation sets.
        """
        return self.measured(self.training_sets(), more)

    def eval_valid(self, more: Sequence[Custom] = ()) -> list[EvalResult]:
        """The metrics of the evaluation sets that are not the training set."""
        return self.measured([e for e in self.sets if not e.is_training], more)

    def ensemble(self) -> Ensemble:
        """The trees so far, in terms of columns and thresholds."""
        self._settle()
        if self._assembled is None:
            self._assembled = self._assemble()
        return self._assembled

    def _assemble(self) -> Ensemble:
        grown = (
            self._constant().truncated(self.n_constant)
            if self.grower is None
            else assembly.ensemble(
                self.grower.forest,
                self.dataset,
                self._starts(),
                self._factors(),
                self.linear,
                average=self.averages,
            )
        )
        return grown if self.first is None else self.first.joined(grown)

    def trained(self, ensemble: Ensemble) -> Trained:
        """The result of the fit, if it ends with this ensemble."""
        return Trained(ensemble, self.dataset.feature_infos())

    def _constant(self) -> Ensemble:
        values = self.objective.average if self.starts_itself else self.start
        return assembly.constant(values, self.dataset, self.objective.weight)

    def _starts(self) -> Floats:
        """The constants added to the leaves of each round, (n_rounds, n_scores)."""
        starts = np.zeros((self._n_grown, self.objective.n_scores))
        starts[:1] = self.start
        return starts

    def _factors(self) -> Floats | None:
        """The factors of each round's trees, (n_rounds,); None: 1."""
        return None

    @property
    def _n_grown(self) -> int:
        """The number of rounds whose trees were grown in this fit."""
        if self.grower is None:
            return self.n_constant
        return self.grower.forest.n_trees // self.objective.n_scores

    def _own(self, settings: Settings) -> Settings:
        """The settings, changed where this type of boosting requires it."""
        return settings

    def reset_parameter(self, params: Mapping[str, Any]) -> Self:
        """Change options of single trees, by any of their names."""
        settings = self._own(self.settings.changed(params))
        if settings != self.settings:
            self.settings = settings
            self.sampler = self._sampler()
            if self.grower is not None:
                self.grower = self._grower(self.grower.forest)
        return self

    def boost(self) -> bool:
        """Grow the trees of one round.

        If this fails, the round has not happened.

        Returns
        -------
        bool
            Whether a tree could be split. If none could, no trees are added, except
            constant trees in the first round.

        Raises
        ------
        RuntimeError
            If a round is going on.
        """
        with self._alone():
            before = self._n_grown
            try:
                return self._round(self.first_round + before)
            except BaseException:
                self._failed = before
                raise
            finally:
                self._assembled = None

    def rollback(self) -> None:
        """Forget the last round, as if it had not happened.

        Trees of ``first`` stay.
        """
        with self._alone():
            self._rewind(max(self._n_grown - 1, 0))

    def add(self, evaluated: EvaluationSet, *, is_listed: bool = True) -> None:
        """Add an evaluation set, with the scores of the trees so far.

        It is measured after each round only if ``is_listed``.
        """
        with self._alone():
            self._catch_up(evaluated)
            (self.sets if is_listed else self.others).append(evaluated)

    def go_on_from(self, other: Boosting, plan: Plan) -> None:
        """Take over trees and evaluation sets of rounds on other rows in these bins."""
        with self._alone(), other._alone():
            self.sets = [plan.again(self, e) for e in other.sets]
            self.others = [plan.again(self, e) for e in other.others]
            self._take_trees(other)
            self._begin()
            self._add_again(self._followed())

    def _take_trees(self, other: Boosting) -> None:
        if other._n_grown == 0:
            return
        self.first_start, self.start = other.first_start, other.start
        self.linear, self.n_constant = other.linear, other.n_constant
        if self.grower is not None:
            self.grower = self._grower(other.grower.forest)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse to change the rounds while they are changed already."""
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "A round of this Booster is going on: objectives, metrics and other"
                " threads must not train it meanwhile."
            )
        try:
            self._settle()
            yield
        finally:
            self._lock.release()

    def _settle(self) -> None:
        """Undo a round that failed.

        This takes time, so a fit that failed and is not used again does not do it.
        """
        if self._failed is not None:
            self._rewind(self._failed)

    def _rewind(self, n_rounds: int) -> None:
        """Forget later rounds, and add the trees of the others to the scores again.

        Added in the same order, they give the same scores to the last bit; subtracting
        trees would not.
        """
        self._failed, self._assembled = n_rounds, None
        self._forget(n_rounds)
        self._begin()
        self._add_again(self._followed())
        self._failed = None

    def _forget(self, n_rounds: int) -> None:
        """Forget the trees of later rounds."""
        if self.grower is None:
            self.n_constant = n_rounds
        else:
            self.grower.forest.drop(n_rounds * self.objective.n_scores)
        del self.linear[n_rounds:]
        if n_rounds == 0:
            self.start = self.first_start

    def _begin(self) -> None:
        """Set all scores to those before the first round."""
        self.scores = _started(self.start, self.init_score, self.dataset.n_rows)
        for evaluated in self._binned_sets():
            evaluated.scores = self._at_start(evaluated.rows)

    def _at_start(self, rows: Rows) -> Floats:
        return _started(self.start, rows.init_score, len(rows))

    def _catch_up(self, evaluated: EvaluationSet) -> None:
        """Set the scores of a new evaluation set."""
        if evaluated.binned is not None:
            evaluated.scores = self._at_start(evaluated.rows)
            self._add_again([Followed(evaluated.binned, evaluated.scores)])

    def _binned_sets(self) -> list[EvaluationSet]:
        """The evaluation sets that have scores of their own."""
        return [e for e in (*self.sets, *self.others) if e.binned is not None]

    def _round(self, round_index: int) -> bool:
        """Grow the trees of one round: see `boost`."""
        before = self._n_grown
        if self.grower is None:
            self._stay_constant(np.ones(self.objective.n_scores, dtype=bool))
            self.n_constant = 1
            return False
        self.objective.begin_round(before)
        self.objective.gradients(
            self.scores, self.gradient, self.hessian, self.n_threads
        )
        sample = self.sampler.draw(
            round_index, self.gradient, self.hessian, self.n_threads
        )
        renews, is_linear = self.objective.renews_leaves, self.settings.linear_tree
        added = self.adds_early and sample.rows is None and not renews and not is_linear
        grew = self._grow(sample, self.scores if added else None, round_index)
        if before == 0:
            self._stay_constant(np.diff(self.grower.forest.arrays()[2]) == 1)
        if grew and renews:
            self._renew(sample.hessian)
        if self._n_grown > before:
            if is_linear:
                self.linear.append(self._linear_leaves(sample))
            self._add_round(added)
        return grew

    def _grow(
        self, sample: sampling.Sample, scores: Floats | None, round_index: int
    ) -> bool:
        try:
            return self.grower.grow(
                self.gradient,
                sample.hessian,
                self.copy_weight,
                sample.rows,
                scores,
                round_index,
            )
        except FloatingPointError as error:
            raise ValueError(
                f"objective {self.objective.name!r} gave NaN or infinite gradients in "
                f"round {round_index}; look for huge targets or weights."
            ) from error

    def _stay_constant(self, is_stump: NDArray[np.bool_]) -> None:
        """Let classes whose first tree has no split predict their average.

        LightGBM does the same.
        """
        if not self.starts_itself or not is_stump.any():
            return
        self.start = self.start + np.where(
            is_stump, self.objective.average - self.start, 0.0
        )
        self.scores[is_stump] = self.start[is_stump, None]
        for evaluated in self._binned_sets():
            evaluated.scores[is_stump] = self._at_start(evaluated.rows)[is_stump]

    def _renew(self, counts: NDArray[np.float32] | None) -> None:
        """Replace the values of the leaves, before they are added to the scores.

        Objectives with renewed leaves have constant hessians, so the hessians of a
        sample, ``counts``, are the numbers of rows that each sampled row stands for.
        """
        forest = self.grower.forest
        nodes, leaves, _ = forest.arrays(forest.n_trees - 1)
        weight = None if self.weight is None else self.weight[0]
        if counts is not None:
            weight = counts[0].astype(np.float64) * (1.0 if weight is None else weight)

        def value(chosen: list[int]) -> float:
            rows = np.concatenate([self.grower.leaf_rows(leaf) for leaf in chosen])
            return self.objective.renewed_leaf(self.scores[0], rows, weight)

        values = np.array([value([leaf]) for leaf in range(len(leaves))])
        if self.constraints is not None and self.constraints.sign is not None:
            values = constraints.in_order(values, nodes, self.constraints.sign, value)
        forest.set_leaf_values(self.settings.learning_rate * values)

    def _linear_leaves(self, sample: sampling.Sample) -> list[LinearLeaves]:
        """The linear models of the new trees' leaves; the first trees have none."""
        trees = self._last_trees()
        n_scores = self.objective.n_scores
        if self._n_grown == 1 and self.first is None:
            return [
                LinearLeaves.constants(trees.tree(k)[1].copy()) for k in range(n_scores)
            ]
        drawn = sample.rows
        rows = np.arange(self.dataset.n_rows) if drawn is None else drawn
        leaves = []
        for k in range(n_scores):
            nodes, values = trees.tree(k)
            is_numeric = ~self.dataset.categorical
            leaves.append(
                linear.fit(
                    self.rows.raw,
                    linear.paths(nodes, self.dataset.feature, is_numeric),
                    trees.leaf_of(self.rows, k, self.n_threads),
                    rows.astype(np.int64),
                    self._weighted(self.gradient, k),
                    self._weighted(sample.hessian, k),
                    values.copy(),
                    self.settings,
                    self.n_threads,
                )
            )
        return leaves

    def _weighted(self, derivatives: NDArray[np.float32] | None, k: int) -> Floats:
        """Gradients or hessians of score ``k``, in double precision and weighted."""
        n_rows = self.dataset.n_rows
        values = (
            np.ones(n_rows)
            if derivatives is None
            else derivatives[k].astype(np.float64)
        )
        if self.weight is None:
            return values
        return values * self.weight[k % len(self.weight)]

    def _add_round(self, added: bool) -> None:
        """Add the new trees to all scores.

        If ``added``, the grower has added them to the training scores.
        """
        followed = self._followed()
        # All rows find their leaves by their bins, also those outside the sample.
        self._add(followed[1:] if added else followed)

    def _add_again(self, followed: Sequence[Followed]) -> None:
        """Add the trees of all rounds to scores, in the order of the rounds."""
        for trees in self._all_trees() if followed else ():
            self._add(followed, trees)

    def _all_trees(self) -> list[BinnedTrees]:
        """The trees of each round."""
        if self.grower is None:
            return []
        forest = self.grower.forest
        trees = BinnedTrees(*forest.arrays(), forest.words())
        return trees.by_round(self.objective.n_scores, self.linear)

    def _followed(self) -> list[Followed]:
        """The rows and scores that trees are added to, the training rows first."""
        others = [Followed(e.binned, e.scores) for e in self._binned_sets()]
        return [Followed(self.rows, self.scores), *others]

    def _add(
        self,
        followed: Sequence[Followed],
        trees: BinnedTrees | None = None,
        factor: float = 1.0,
    ) -> None:
        """Add a multiple of trees, by default of those of the last round, to scores."""
        if not followed:
            return
        trees = trees or self._last_trees()
        for rows, scores in followed:
            trees.add(rows, factor, self.n_threads, scores)

    def _last_trees(self) -> BinnedTrees:
        forest = self.grower.forest
        first = forest.n_trees - self.objective.n_scores
        own = self.linear[-1] if len(self.linear) == self._n_grown else None
        return BinnedTrees(*forest.arrays(first), forest.words(first), own)

    def evaluate(self) -> list[EvalResult]:
        """The metrics of the evaluation sets after the last round."""
        return self.measured(self.sets)

    def measured(
        self, sets: Sequence[EvaluationSet], more: Sequence[Custom] = ()
    ) -> list[EvalResult]:
        """The metrics of some evaluation sets, and ``more`` of them."""
        self._settle()
        return [
            result
            for evaluated in sets
            for result in evaluated.measure(
                self._evaluated(evaluated), self.n_threads, more
            )
        ]

    def _evaluated(self, evaluated: EvaluationSet) -> Floats:
        """The raw scores of an evaluation set: the sum of the trees so far."""
        is_training = evaluated.binned is None
        if self._n_grown == 0:
            init_score = self.init_score if is_training else evaluated.rows.init_score
            return _started(np.zeros_like(self.start), init_score, len(evaluated.rows))
        return self.scores if is_training else evaluated.scores


def _by_score(weight: Floats | None) -> Floats | None:
    """Weights as an array of shape (1, n_rows) or (n_scores, n_rows)."""
    return None if weight is None else np.atleast_2d(weight)


def _started(start: Floats, init_score: Floats | None, n_rows: int) -> Floats:
    scores = np.repeat(start[:, None], n_rows, axis=1)
    return scores if init_score is None else scores + init_score


class Drop(NamedTuple):
    """What is dropped while the trees of a round are grown.

    Attributes
    ----------
    rounds : ndarray of intp
    share : float
        The weight of the new trees; that of each dropped round is 1.
    """

    rounds: NDArray[np.intp]
    share: float

    @property
    def factor(self) -> float:
        """The factor of the new trees."""
        n = len(self.rounds)
        return 1.0 / (self.share + n) if n else 1.0

    def changed(self, factor: Floats) -> Floats:
        """The factors of all rounds, given those of the rounds before."""
        n, new = len(self.rounds), np.append(factor, self.factor)
        new[self.rounds] *= n / (n + self.share)
        return new


class Dart(Boosting):
    """Boosting in which trees are dropped at random while new trees are grown.

    References
    ----------
    K. V. Rashmi and R. Gilad-Bachrach, "DART: Dropouts meet Multiple Additive
    Regression Trees", AISTATS 2015.
    """

    adds_early = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.trees: list[BinnedTrees] = []
        self.drops: list[Drop] = []
        self.factor = np.empty(0)

    def _factors(self) -> Floats:
        return self.factor

    def _round(self, round_index: int) -> bool:
        """Grow the trees of one round on scores without the dropped trees."""
        before = len(self.trees)
        self.drop = self._draw(round_index)
        self._leave_out(self._followed(), self.drop, self.factor)
        grew = super()._round(round_index)
        if len(self.trees) == before and len(self.drop.rounds):
            self._rewind(before)
        return grew

    def _draw(self, round_index: int) -> Drop:
        """The rounds to drop, with probabilities proportional to their weights."""
        settings, n = self.settings, len(self.factor)
        share = settings.learning_rate if settings.xgboost_dart_mode else 1.0
        random = np.random.default_rng([settings.drop_seed, round_index])
        if n == 0 or random.random() < settings.skip_drop:
            return Drop(np.empty(0, dtype=np.intp), share)
        limit = settings.max_drop if settings.max_drop > 0 else n
        weight = (
            np.ones(n) if settings.uniform_drop else self.factor / self.factor.mean()
        )
        chance = min(settings.drop_rate, limit / n) * weight
        return Drop(np.flatnonzero(random.random(n) < chance)[:limit], share)

    def _add_round(self, added: bool) -> None:
        self.trees.append(self._last_trees())
        self.drops.append(self.drop)
        self.factor = self._put_in(self._followed(), len(self.trees) - 1, self.factor)

    def _add_again(self, followed: Sequence[Followed]) -> None:
        factor = np.empty(0)
        for index, drop in enumerate(self.drops):
            self._leave_out(followed, drop, factor)
            factor = self._put_in(followed, index, factor)

    def _leave_out(
        self, followed: Sequence[Followed], drop: Drop, factor: Floats
    ) -> None:
        """Subtract dropped trees from scores."""
        for i in drop.rounds:
            self._add(followed, self.trees[i], -factor[i])

    def _put_in(
        self, followed: Sequence[Followed], index: int, factor: Floats
    ) -> Floats:
        """Add the trees of a round, and those that it dropped, to scores.

        Takes the factors of the rounds before and returns those of all rounds.
        """
        drop = self.drops[index]
        factor = drop.changed(factor)
        self._add(followed, self.trees[index], drop.factor)
        for i in drop.rounds:
            self._add(followed, self.trees[i], factor[i])
        return factor

    def _forget(self, n_rounds: int) -> None:
        super()._forget(n_rounds)
        del self.trees[n_rounds:], self.drops[n_rounds:]
        self.factor = np.empty(0)
        for drop in self.drops:
            self.factor = drop.changed(self.factor)

    def _take_trees(self, other: Dart) -> None:
        super()._take_trees(other)
        self.trees, self.drops, self.factor = other.trees, other.drops, other.factor


class Forest(Boosting):
    """A random forest: all trees are grown on the start scores and averaged."""

    adds_early = False
    averages = True
    bounds_steps = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The sums of the trees, besides the start scores, of sets that were measured.
        self.sums: dict[EvaluationSet, Floats] = {}
        super().__init__(*args, **kwargs)

    def _own(self, settings: Settings) -> Settings:
        return replace(settings, learning_rate=1.0)

    def _starts(self) -> Floats:
        return np.tile(self.start, (self._n_grown, 1))

    def _begin(self) -> None:
        super()._begin()
        self.sums = {e: np.zeros_like(total) for e, total in self.sums.items()}

    def _catch_up(self, evaluated: EvaluationSet) -> None:
        if evaluated.binned is not None:
            evaluated.scores = self._at_start(evaluated.rows)

    def _followed(self) -> list[Followed]:
        return [
            Followed(e.binned or self.rows, total) for e, total in self.sums.items()
        ]

    def _evaluated(self, evaluated: EvaluationSet) -> Floats:
        start = super()._evaluated(evaluated)
        if evaluated not in self.sums:
            total = np.zeros_like(start)
            self._add_again([Followed(evaluated.binned or self.rows, total)])
            self.sums[evaluated] = total
        return start + self.sums[evaluated] / max(1, self._n_grown)


KINDS: dict[str, type[Boosting]] = {"gbdt": Boosting, "dart": Dart, "rf": Forest}


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
            settings, rows.target, rows.weight, self.n_scores, rows.queries
        )
        metrics = self.metrics
        self._check_earlier(objective)
        if settings.linear_tree and objective.renews_leaves:
            raise ValueError(
                f"objective={objective.name!r} replaces the values of leaves:"
                " linear_tree must be False."
            )
        dataset = rows.binned or BinnedDataset.build(
            rows.columns,
            settings,
            weight=rows.spread_weight(),
            rows=rows.numbers,
            n_threads=n_threads,
        )
        evaluated = [self.evaluated(dataset, rows, named) for named in sets]
        return KINDS[settings.boosting_type](
            dataset,
            objective,
            settings,
            n_threads,
            init_score=self._start(rows),
            sets=evaluated,
            first=self.earlier,
            raw=self._raw(rows),
            training=lambda: EvaluationSet(
                "training", rows, metrics, None, is_training=True
            ),
        )

    def go_on(self, state: Boosting, rows: Rows) -> Boosting:
        """Go on from the trees of a state, on other rows in the same bins."""
        changed = replace(state.settings, objective=self.settings.objective)
        new = replace(self, settings=changed).start(rows, [])
        new.go_on_from(state, self)
        return new

    def evaluated(
        self, dataset: BinnedDataset, training: Rows, named: NamedRows
    ) -> EvaluationSet:
        """The rows of an evaluation set in the bins of the rows to learn from."""
        name, rows, is_training, data = named
        binned = None if rows is training else self._binned(dataset, rows)
        rows = replace(rows, init_score=self._start(rows))
        return EvaluationSet(name, rows, self.metrics, binned, is_training, data)

    def again(self, state: Boosting, evaluated: EvaluationSet) -> EvaluationSet:
        """An evaluation set of other rounds, for those of this plan."""
        if evaluated.binned is None:
            return replace(state.training(), name=evaluated.name)
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
            raise ValueError("init_model cannot be joined with a random forest.")
        if self.earlier.n_scores != objective.n_scores:
            raise ValueError(
                f"init_model has {self.earlier.n_scores} trees a round, but"
                f" {objective.n_scores} must be grown. Pass a model with the same"
                " number of classes."
            )


def _raw_scores(ensemble: Ensemble, rows: Rows, n_threads: int) -> Floats:
    """The raw scores of rows, (n_scores, n_rows)."""
    scores = ensemble.raw_scores(rows.columns, n_threads=n_threads)
    if rows.numbers is not None:
        scores = scores[rows.numbers]
    return np.ascontiguousarray(scores.T)
