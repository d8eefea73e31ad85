"""The function `cv`: how its folds are drawn, their fits, and means of metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from skgoss import parameters
from skgoss.booster import lightgbm3
from skgoss.booster.booster import Booster
from skgoss.booster.booster import init_model as earlier_model
from skgoss.booster.cv_booster import CVBooster
from skgoss.booster.train_arguments import (
    DEFAULT_ROUNDS,
    TrainOptions,
    check_flags,
    check_label,
    check_rounds,
    check_training_set,
    functions_of,
)
from skgoss.columns import queries
from skgoss.dataset.dataset import Dataset
from skgoss.fit import splits
from skgoss.fit.arguments import FitArguments
from skgoss.fit.fit import Fit
from skgoss.objectives.metric_names import names_and_functions
from skgoss.objectives.objectives import OBJECTIVES, canonical_name
from skgoss.parameters import signatures
from skgoss.training import loop
from skgoss.training.callback_api import EarlyStopException, History
from skgoss.training.lockstep import Lockstep
from skgoss.training.rounds import MAX_PREFETCHED, MAX_PREFETCHED_IF_NONE_ENDS
from skgoss.training.schedule import at_once
from skgoss.utils import thread_counts
from skgoss.utils.messages import check_takes, each_warning_once, type_name
from skgoss.utils.public import set_module

# The training rows, and those to test on.
TrainTest = tuple[Dataset, Dataset]
Preprocess = Callable[
    [Dataset, Dataset, dict[str, Any]], tuple[Dataset, Dataset, dict[str, Any]]
]

_NAMES = ("train", "valid")


@set_module("skgoss")
@signatures.hint_arguments("cv", "params")
def cv(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    num_boost_round: int = DEFAULT_ROUNDS,
    folds: Any = None,
    nfold: int = 5,
    stratified: bool = True,
    shuffle: bool = True,
    metrics: str | Sequence[str] | None = None,
    feval: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    init_model: Any = None,
    fpreproc: Preprocess | None = None,
    seed: int = 0,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    eval_train_metric: bool = False,
    return_cvbooster: bool = False,
    *,
    fobj: Callable[..., Any] | None = None,
    feature_name: str | Sequence[str] = "auto",
    categorical_feature: str | Iterable[str | int] | None = "auto",
    early_stopping_rounds: int | None = None,
    verbose_eval: bool | int | None = None,
    show_stdv: bool = True,
) -> dict[str, Any]:
    """Evaluate parameters by cross-validation.

    One model is trained per fold, and the metrics are averaged over the folds. The rows
    are binned once. The folds are trained in parallel on ``n_jobs`` threads. The
    results do not depend on the number of threads.

    Parameters
    ----------
    params : dict
        Parameters by any of their names, as in `train`.
    train_set : Dataset
        The data with labels.
    num_boost_round : int, default=100
        Number of boosting rounds. A number of rounds in ``params`` has priority.
    folds : splitter or iterable of pairs, default=None
        A splitter of scikit-learn, which gets the queries as ``groups``; or pairs
        (train, test) of arrays of row numbers. None: ``nfold`` folds.
    nfold : int, default=5
        Number of folds. If ``train_set`` has queries, each fold holds whole queries.
    stratified : bool, default=True
        Whether each fold has the same fraction of each class. It has no effect if the
        labels are not classes, or if there are queries. The labels are classes for the
        objectives 'binary', 'multiclass' and 'multiclassova', and for other objectives
        if each value occurs at least ``nfold`` times.
    shuffle : bool, default=True
        Whether to assign rows to folds at random. If False, a fold is a range of rows.
    metrics : str or list of str, default=None
        The metrics to compute. They replace those in ``params``.
    feval : callable or list of callable, default=None
        Metric functions ``f(predictions, dataset)``, as in `train`. With custom metrics
        or objectives, the folds are trained one after the other.
    init_model : Booster, str, path or estimator, default=None
        A model, or the path of a model file. In each fold, training continues from its
        trees.
    fpreproc : callable, default=None
        A function that is called for each fold as ``fpreproc(dtrain, dtest, params)``.
        It returns the data sets and the parameters that the fold uses.
    seed : int, default=0
        The random seed of ``shuffle``. The folds are the same as in LightGBM.
    callbacks : list of callable, default=None
        Functions that are called before or after each round with the means over the
        folds. ``env.model`` is a `CVBooster`. The results have five items; the last one
        is the standard deviation.
    eval_train_metric : bool, default=False
        Whether to compute the metrics on the training rows, too, as the set 'train'.
    return_cvbooster : bool, default=False
        Whether to return the models of the folds, too.
    fobj : callable, default=None
        A custom objective, as in `train`. This argument and the following ones are
        those of LightGBM before version 4.
    feature_name : 'auto' or list of str, default='auto'
        Names of the columns.
    categorical_feature : 'auto' or list of str and int, default='auto'
        The columns that hold categories.
    early_stopping_rounds : int, default=None
        The same as the callback `early_stopping`.
    verbose_eval : bool or int, default=None
        The same as the callback `log_evaluation`; True means every round.
    show_stdv : bool, default=True
        Whether ``verbose_eval`` prints standard deviations.

    Returns
    -------
    dict
        Two lists for each metric, such as 'valid auc-mean' and 'valid auc-stdv', with
        the mean and the standard deviation over the folds after each round. After early
        stopping, they end with the best round. With ``return_cvbooster``, 'cvbooster'
        is the `CVBooster`.

    Raises
    ------
    TypeError, ValueError
        If the data have no labels, the folds do not fit the data, or parameters are
        invalid.

    Warns
    -----
    UnusedParameterWarning
        For names in ``params`` that are unknown, and for unknown metrics.

    See Also
    --------
    train : Training of one model.
    CVBooster : The models of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import Dataset, cv
    >>> X, y = load_diabetes(return_X_y=True)
    >>> results = cv({"num_leaves": 7}, Dataset(X, label=y), num_boost_round=20)
    >>> list(results), len(results["valid l2-mean"])
    (['valid l2-mean', 'valid l2-stdv'], 20)
    """
    check_training_set(train_set, "cv")
    check_rounds(num_boost_round)
    check_flags(stratified=stratified, shuffle=shuffle)
    check_flags(eval_train_metric=eval_train_metric, return_cvbooster=return_cvbooster)

    def make_options(params: Any) -> TrainOptions:
        options = TrainOptions.from_params(
            params,
            owner="cv",
            fobj=fobj,
            early_stopping_rounds=early_stopping_rounds,
            n_estimators=num_boost_round,
        )
        if options.options.get("folds") is not None:
            raise ValueError(
                "folds cannot be an option of cv: pass the arguments nfold or folds."
            )
        return options

    params = _with_metrics(params, metrics)
    options = make_options(params)
    check_label(train_set, options, "train_set")
    arguments = FitArguments(
        eval_names=_NAMES if eval_train_metric else _NAMES[1:],
        eval_metric=functions_of(feval),
        callbacks=lightgbm3.cv_callbacks(callbacks, verbose_eval, show_stdv),
    )
    earlier = earlier_model(init_model)
    lightgbm3.describe_columns(train_set, feature_name, categorical_feature)
    if folds is None:
        objective, random = options.task.objective, seed if shuffle else None
        folds = _splitter(train_set, objective, nfold, stratified, random)
    pairs = _data_of_folds(train_set, folds)
    n_at_once, n_threads = _threads(options, train_set, arguments, len(pairs))
    fits = []
    if fpreproc is not None:
        check_takes(fpreproc, "fpreproc", ["dtrain", "dtest", "params"])
    with each_warning_once():
        for train, test in pairs:
            if fpreproc is not None:
                train, test, changed = fpreproc(train, test, dict(params or {}))
                options = make_options(changed)
            sets = [train, test] if eval_train_metric else [test]
            with_sets = replace(arguments, eval_set=sets)
            fit = options.prepare(
                train, with_sets, earlier, n_threads=n_threads, searches=False
            )
            assert isinstance(fit, Fit)  # `folds` is refused
            fits.append(fit)
    return _boost(fits, n_at_once, return_cvbooster)


# --- Arguments ------------------------------------------------------------------------


def _with_metrics(params: Any, metrics: Any) -> Any:
    """The parameters, in which ``metrics`` replace those under any name of the option.

    None: the parameters stay as they are. So do those of a wrong type, which are
    refused later.
    """
    if metrics is None or not isinstance(params, Mapping):
        return params
    kept = {
        name: value
        for name, value in params.items()
        if "metric" not in parameters.canonical({name: value}, "cv")
    }
    return kept | {"metric": metrics}


def _threads(
    options: TrainOptions, train_set: Dataset, arguments: FitArguments, n_folds: int
) -> tuple[int, int]:
    """The number of folds that run at once, and the number of threads of each.

    Functions of the user, as metric or objective, are called by one thread at a time.
    """
    settings = options.settings(train_set, arguments)
    n_threads = thread_counts.n_threads(settings.n_jobs)
    _, functions = names_and_functions([arguments.eval_metric, settings.metric])
    if functions or callable(settings.objective):
        return 1, n_threads
    return at_once(n_folds, n_threads)


# --- Folds ----------------------------------------------------------------------------


def _data_of_folds(train_set: Dataset, folds: Any) -> list[TrainTest]:
    """The rows of each fold: see the argument ``folds`` of `cv`."""
    if isinstance(folds, str) or not (
        hasattr(folds, "split") or isinstance(folds, Iterable)
    ):
        raise TypeError(
            "folds must be a splitter of scikit-learn or pairs of row numbers (train,"
            f" test), got {type_name(folds)}. The number of folds is nfold."
        )
    pairs = splits.pairs(folds, _label(train_set), _query(train_set), "folds")
    return [(train_set.subset(train), train_set.subset(test)) for train, test in pairs]


def _splitter(
    train_set: Dataset, objective: Any, nfold: int, stratified: bool, seed: int | None
) -> Any:
    """The splitter into ``nfold`` folds of equal size, which are those of LightGBM.

    Queries are kept whole; else classes have the same fraction in all folds if
    ``stratified``. If ``seed`` is None, rows are not shuffled.
    """
    from sklearn import model_selection

    label, query = _label(train_set), _query(train_set)
    splits.check_number(
        nfold,
        label,
        query,
        stratify=False,
        argument="nfold",
        owner="train_set",
        things="queries",
    )
    random = {"shuffle": seed is not None, "random_state": seed}
    if query is not None:
        return model_selection.GroupKFold(nfold)
    if stratified and _are_classes(label, objective, nfold):
        return model_selection.StratifiedKFold(nfold, **random)
    return model_selection.KFold(nfold, **random)


def _label(train_set: Dataset) -> NDArray[Any]:
    """The labels of a data set, which `check_label` has checked."""
    label: Any = train_set.get_label()
    return label


def _query(train_set: Dataset) -> NDArray[np.int64] | None:
    """The query of each row; None without queries."""
    group = train_set.get_group()
    if group is None:
        return None
    return queries.make(len(_label(train_set)), group=group).number


def _are_classes(label: NDArray[Any], objective: Any, nfold: int) -> bool:
    """Whether to stratify: labels are classes, and each fold can have all of them.

    For an objective of classes, they are in any case: the splitter reports rare ones.
    """
    if label.ndim > 1 or type_of_target(label) not in ("binary", "multiclass"):
        return False
    if isinstance(objective, str):
        name = canonical_name(objective)
        if OBJECTIVES[name].task == "classification":
            return True
    return bool(np.unique(label, return_counts=True)[1].min() >= nfold)


# --- Fits -----------------------------------------------------------------------------


def _boost(fits: list[Fit], n_at_once: int, return_cvbooster: bool) -> dict[str, Any]:
    """Run the rounds of all folds together, and collect the results of `cv`.

    In each round, all folds grow their trees, ``n_at_once`` at a time, and callbacks
    get the mean metrics. Where callbacks only observe, folds may be some rounds ahead
    of them.
    """
    model = CVBooster()
    history: History = {}
    model.boosters = [Booster._from_model(fit) for fit in fits]
    callbacks, limit = fits[0].callbacks, fits[0].prepared.limit
    n_prefetched = 0
    if loop.may_lag(callbacks) and not limit.has_end:
        n_prefetched = (
            MAX_PREFETCHED if loop.may_end(callbacks) else MAX_PREFETCHED_IF_NONE_ENDS
        )
    with Lockstep([fit.rounds for fit in fits], n_at_once, n_prefetched) as together:
        is_over = limit.after_round(together.settings.n_estimators)
        stop = loop.run(
            together, model, history=history, callbacks=callbacks, after_round=is_over
        )
    fits[0].warn_of_limit(together.settings.n_estimators, has_best=stop is not None)
    fits[0].warn_of_trees(fits[0].rounds.ensemble())
    n_rounds = None if stop is None else stop.best_iteration + 1 - together.first_round
    results = lightgbm3.CVResults(
        {
            f"{name} {metric}": values[:n_rounds]
            for name, by_metric in history.items()
            for metric, values in by_metric.items()
        }
    )
    if return_cvbooster:
        _finish(model, fits, together.histories(), stop)
        results["cvbooster"] = model
    return results


def _finish(
    model: CVBooster,
    fits: list[Fit],
    histories: list[History],
    stop: EarlyStopException | None,
) -> None:
    """End the training of each fold's Booster, which then holds a fitted model.

    ``histories`` are the metrics of each fold. ``stop`` has the best round of the mean
    metrics if early stopping ended the rounds; None: all rounds are kept.
    """
    # The metrics of a model are those of its fold, not the means.
    without_score = stop and EarlyStopException(stop.best_iteration)
    for booster, fit, history in zip(model.boosters, fits, histories, strict=True):
        trained = loop.result(fit.rounds, without_score, history)
        booster._end(fit.fitted_model(trained))
    if stop is not None:
        model.best_iteration = max(b.best_iteration for b in model.boosters)
