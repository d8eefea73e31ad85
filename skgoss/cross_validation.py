"""Cross-validation: `cv`, and the models of its folds."""

from __future__ import annotations

import copy
import json
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from skgoss import _compat, fitting, parameters
from skgoss import callbacks as callbacks_
from skgoss._messages import type_name
from skgoss.booster import Booster
from skgoss.data import queries
from skgoss.dataset import Dataset
from skgoss.engine import Training
from skgoss.fit_arguments import FitArguments
from skgoss.fitting import Fit
from skgoss.training import boosting
from skgoss.training import folds as folds_
from skgoss.training import metrics as metrics_
from skgoss.training.folds import Folds
from skgoss.training.objectives import canonical_name
from skgoss.training.rounds import Calls, EarlyStopException, History

Rows = NDArray[np.int64]
Preprocess = Callable[
    [Dataset, Dataset, dict[str, Any]], tuple[Dataset, Dataset, dict[str, Any]]
]

_NAMES = ("train", "valid")

# Objectives whose labels are classes.
_OF_CLASSES = ("binary", "multiclass", "multiclassova")


class CVBooster:
    """The models of the folds of a cross-validation.

    Methods of `Booster` are called for each model: ``predict``,
    ``feature_importance`` and all others return a list with one item for each fold.

    Parameters
    ----------
    model_file : str or path, default=None
        A file of `save_model`, of skgoss or LightGBM.

    Attributes
    ----------
    boosters : list of Booster
        The models.
    best_iteration : int
        Number of rounds that early stopping has kept; -1 without early stopping.
    """

    def __init__(self, model_file: str | PathLike[str] | None = None) -> None:
        self.boosters: list[Booster] = []
        self.best_iteration = -1
        if model_file is not None:
            from skgoss import files

            with files.named(model_file):
                self.model_from_string(files.content(model_file).decode())

    def __getattr__(self, name: str) -> Any:
        known = hasattr(Booster, name) or name in Booster.__annotations__
        if name.startswith("_") or not known:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        if not callable(getattr(Booster, name, None)):
            return [getattr(booster, name) for booster in self.boosters]

        def of_each(*args: Any, **kwargs: Any) -> list[Any]:
            return [
                getattr(booster, name)(*args, **kwargs) for booster in self.boosters
            ]

        return of_each

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.boosters)} boosters>"

    @property
    def _training_names(self) -> set[str]:
        """The names of the evaluation sets that models learn from."""
        return set().union(*(booster._training_names for booster in self.boosters))

    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Write the models as JSON: a dict of texts, as LightGBM does.

        The parameters are those of ``Booster.model_to_string``.
        """
        texts = [
            booster.model_to_string(num_iteration, start_iteration, importance_type)
            for booster in self.boosters
        ]
        return json.dumps({"boosters": texts, "best_iteration": self.best_iteration})

    def model_from_string(self, model_str: str) -> Self:
        """Become the models of a text, as `model_to_string` returned it.

        Parameters
        ----------
        model_str : str

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the text does not hold models.
        """
        try:
            held = json.loads(model_str)
            texts, best_iteration = held["boosters"], held["best_iteration"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(
                "This is no CVBooster: it must be JSON with 'boosters', a list of"
                " models, and 'best_iteration'."
            ) from error
        if not isinstance(texts, list) or type(best_iteration) is not int:
            raise ValueError(
                "This is no CVBooster: 'boosters' must be a list and 'best_iteration'"
                " an int."
            )
        self.boosters = [Booster(model_str=text) for text in texts]
        self.best_iteration = best_iteration
        return self

    def save_model(
        self,
        filename: str | PathLike[str],
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> Self:
        """Write the models to a file, as `model_to_string` writes them.

        Parameters
        ----------
        filename : str or path
            If writing fails, an earlier file of this name is unchanged.
        num_iteration, start_iteration, importance_type
            Those of ``Booster.save_model``.

        Returns
        -------
        self
        """
        from skgoss import files

        files.save(
            filename,
            self.model_to_string(num_iteration, start_iteration, importance_type),
        )
        return self


class Results(dict[str, Any]):
    """The metrics of all rounds, by set and metric: 'valid auc-mean'.

    The names of LightGBM before version 4, such as 'auc-mean', are understood, too.
    """

    def __missing__(self, key: Any) -> Any:
        name = f"valid {key}"
        if name not in self:
            raise KeyError(key)
        return self[name]


def cv(
    params: Mapping[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    folds: Any = None,
    nfold: int = 5,
    stratified: bool = True,
    shuffle: bool = True,
    metrics: str | Sequence[str] | None = None,
    feval: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    init_model: Booster | str | PathLike[str] | None = None,
    fpreproc: Preprocess | None = None,
    seed: int = 0,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    eval_train_metric: bool = False,
    return_cvbooster: bool = False,
    *,
    fobj: Callable[..., Any] | None = None,
    feature_name: str | Sequence[str] = "auto",
    categorical_feature: str | Iterable[str | int] = "auto",
    early_stopping_rounds: int | None = None,
    verbose_eval: bool | int | None = None,
    show_stdv: bool = True,
) -> dict[str, Any]:
    """Evaluate by cross-validation.

    The rows are binned once. Folds are trained side by side on the threads of
    ``n_jobs``, a round at a time; the results do not depend on their number.

    Parameters
    ----------
    params : dict
        Options by any of their names: see the parameters of `LGBMModel`.
    train_set : Dataset
        The rows, with labels.
    num_boost_round : int, default=100
        Number of rounds. A number in ``params`` replaces it.
    folds : splitter or iterable of pairs, default=None
        A splitter of scikit-learn, which gets the queries as ``groups``, or pairs of
        row numbers (train, test). None: ``nfold`` folds.
    nfold : int, default=5
        Number of folds. Each holds whole queries if ``train_set`` has queries.
    stratified : bool, default=True
        Whether each fold has the same share of each class. Without effect if the labels
        are not classes, or if there are queries. The labels of 'binary', 'multiclass'
        and 'multiclassova' are classes. Those of other objectives are if each value
        occurs at least ``nfold`` times.
    shuffle : bool, default=True
        Whether rows are drawn at random; otherwise, folds are runs of rows.
    metrics : str or list of str, default=None
        Metrics, in place of those in ``params``.
    feval : callable or list of callable, default=None
        Metrics ``f(predictions, dataset)``, which return ``(name, value,
        is_higher_better)`` or a list of such tuples.
    init_model : Booster, str or path, default=None
        A model, or its file, to which trees are added in each fold.
    fpreproc : callable, default=None
        Called for each fold as ``fpreproc(dtrain, dtest, params)``. It returns the two
        data sets and the parameters to use.
    seed : int, default=0
        The seed of ``shuffle``. The folds are those of LightGBM.
    callbacks : list of callable, default=None
        They see the means over folds: ``env.model`` is a `CVBooster`, and results have
        five items, the last of which is the standard deviation. Folds wait for
        callbacks of the user after each round.
    eval_train_metric : bool, default=False
        Whether the rows to learn from are evaluated, too, as the set 'train'.
    return_cvbooster : bool, default=False
        Whether to return the models.
    fobj : callable, default=None
        The objective, as in ``params``. This argument and the next ones are those of
        LightGBM before version 4.
    feature_name : 'auto' or list of str, default='auto'
        Names of the columns.
    categorical_feature : 'auto' or list of str and int, default='auto'
        The columns that hold categories.
    early_stopping_rounds : int, default=None
        As the callback `early_stopping`.
    verbose_eval : bool or int, default=None
        As the callback `log_evaluation`: True for each round.
    show_stdv : bool, default=True
        Whether ``verbose_eval`` prints standard deviations.

    Returns
    -------
    dict
        For each set and metric two lists with one value for each round: 'valid
        auc-mean' and 'valid auc-stdv', the standard deviation over folds. Early
        stopping cuts them after the best round. 'cvbooster' is the `CVBooster`, if it
        is asked for.

    Raises
    ------
    TypeError, ValueError
        If the rows have no labels, the folds do not fit the rows, or options are not
        valid.
    """
    if not isinstance(train_set, Dataset):
        raise TypeError(f"train_set must be a Dataset, got {type_name(train_set)}.")
    _name_columns(train_set, feature_name, categorical_feature)
    params = _with_arguments(params, num_boost_round, metrics, fobj)
    learner = Training.of(params)
    pairs = _given_pairs(train_set, folds) or _equal_pairs(
        train_set, learner.objective, nfold, stratified, seed if shuffle else None
    )
    calls = [] if callbacks is None else callbacks_.checked(callbacks)
    if verbose_eval:
        calls.append(callbacks_.log_evaluation(int(verbose_eval), show_stdv))
    given = FitArguments(
        eval_names=_NAMES if eval_train_metric else _NAMES[1:],
        eval_metric=feval,
        init_model=learner._earlier_model(init_model),
        callbacks=calls,
        early_stopping_rounds=early_stopping_rounds,
    )
    n_at_once, n_threads = _threads(learner, train_set, given, len(pairs))
    with _keeping_data(train_set):
        fits = [
            _start(train_set, pair, learner, params, fpreproc, given, n_threads)
            for pair in pairs
        ]
    return _boost(fits, n_at_once, return_cvbooster)


# --- Arguments ------------------------------------------------------------------------


def _name_columns(train_set: Dataset, feature_name: Any, categorical: Any) -> None:
    """Tell a data set what LightGBM 3 took as arguments of ``cv``."""
    if not (isinstance(feature_name, str) and feature_name == "auto"):
        train_set.set_feature_name(feature_name)
    if not (isinstance(categorical, str) and categorical == "auto"):
        train_set.set_categorical_feature(categorical)


def _with_arguments(
    params: Any, num_boost_round: int, metrics: Any, fobj: Any
) -> dict[str, Any]:
    """The parameters, with those that are arguments of ``cv``."""
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict, got {type_name(params)}.")
    replaced = {
        name: value
        for name, value in {"metric": metrics, "objective": fobj}.items()
        if value is not None
    }
    own = {
        word: value
        for word, value in params.items()
        if not parameters.canonical({word: value}, "cv").keys() & replaced.keys()
    } | replaced
    if "n_estimators" in parameters.canonical(own, "cv"):
        return own
    return own | {"n_estimators": num_boost_round}


def _threads(
    learner: Training, train_set: Dataset, given: FitArguments, n_folds: int
) -> tuple[int, int]:
    """How many folds run at once, and how many threads each of them has."""
    settings = fitting.settings(learner, train_set, given)
    n_threads = _compat.n_threads(settings.n_jobs)
    _, functions = metrics_.sorted_words([given.eval_metric, settings.metric])
    # Functions of users need not be ready to be called by several threads at once.
    if functions or callable(settings.objective):
        return 1, n_threads
    return folds_.at_once(n_folds, n_threads)


@contextmanager
def _keeping_data(train_set: Dataset) -> Iterator[None]:
    """Keep the values in the block: each fold may need them."""
    frees, train_set.free_raw_data = train_set.free_raw_data, False
    try:
        yield
    finally:
        train_set.free_raw_data = frees
        if frees and train_set._prepared is not None:
            train_set._free()


# --- Folds ----------------------------------------------------------------------------


def _given_pairs(train_set: Dataset, folds: Any) -> list[tuple[Rows, Rows]]:
    """The rows (train, test) of the folds that the user gives; none: an empty list."""
    n_rows = len(_label(train_set))
    if folds is None:
        return []
    if isinstance(folds, str) or not (
        hasattr(folds, "split") or isinstance(folds, Iterable)
    ):
        raise TypeError(
            "folds must be a splitter of scikit-learn or pairs of row numbers (train,"
            f" test), got {type_name(folds)}. The number of folds is nfold."
        )
    if hasattr(folds, "split"):
        folds = _split(folds, train_set)
    pairs = [_checked(pair, n_rows) for pair in folds]
    if not pairs:
        raise ValueError("folds must hold at least one pair of row numbers.")
    return pairs


def _checked(pair: Any, n_rows: int) -> tuple[Rows, Rows]:
    """A pair of row numbers, each ascending."""
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(
            "Each fold must be a pair of arrays of row numbers (train, test)."
        )
    train, test = (_numbers(rows, n_rows) for rows in pair)
    return train, test


def _numbers(rows: Any, n_rows: int) -> Rows:
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise ValueError(
            "Each fold must be a pair of arrays of row numbers (train, test), got an"
            f" array of shape {given.shape} and dtype {given.dtype}."
        )
    found = np.unique(given)
    if found[0] < 0 or found[-1] >= n_rows:
        raise ValueError(
            f"folds must hold row numbers from 0 to {n_rows - 1}, got"
            f" {found[0] if found[0] < 0 else found[-1]}."
        )
    if len(found) < len(given):
        raise ValueError(
            "A fold holds a row more than once. Give the Dataset weights: a row of"
            " weight 2 means two rows."
        )
    return found.astype(np.int64)


def _equal_pairs(
    train_set: Dataset,
    objective: Any,
    nfold: int,
    stratified: bool,
    seed: int | None,
) -> list[tuple[Rows, Rows]]:
    """The rows (train, test) of folds of equal size, which are those of LightGBM.

    If ``seed`` is None, rows are not shuffled.
    """
    from sklearn import model_selection

    if not isinstance(nfold, numbers.Integral) or nfold < 2:
        raise ValueError(f"nfold must be an int of at least 2, got {nfold!r}.")
    label, group = _label(train_set), train_set.get_group()
    things, n = ("rows", len(label)) if group is None else ("queries", len(group))
    if n < nfold:
        raise ValueError(
            f"nfold={nfold} needs at least {nfold} {things}, but train_set has {n}."
        )
    random = {"shuffle": seed is not None, "random_state": seed}
    if group is not None:
        splitter = model_selection.GroupKFold(nfold)
    elif stratified and _are_classes(label, objective, nfold):
        splitter = model_selection.StratifiedKFold(nfold, **random)
    else:
        splitter = model_selection.KFold(nfold, **random)
    return list(_split(splitter, train_set))


def _split(splitter: Any, train_set: Dataset) -> Iterable[tuple[Rows, Rows]]:
    """Split the rows; the groups are the queries."""
    label, group = _label(train_set), train_set.get_group()
    known = {}
    if group is not None:
        known["groups"] = queries.make(len(label), group=group).number
    return splitter.split(X=np.zeros((len(label), 1)), y=label, **known)


def _are_classes(label: NDArray[Any], objective: Any, nfold: int) -> bool:
    """Whether labels are classes, the same share of which each fold can have."""
    if type_of_target(label) not in ("binary", "multiclass"):
        return False
    if isinstance(objective, str) and canonical_name(objective) in _OF_CLASSES:
        return True
    return np.unique(label, return_counts=True)[1].min() >= nfold


def _label(train_set: Dataset) -> NDArray[Any]:
    label = train_set.get_label()
    if label is None:
        raise ValueError("train_set has no label: pass label to the Dataset.")
    return label


# --- Fits -----------------------------------------------------------------------------


def _start(
    train_set: Dataset,
    pair: tuple[Rows, Rows],
    learner: Training,
    params: dict[str, Any],
    fpreproc: Preprocess | None,
    given: FitArguments,
    n_threads: int,
) -> Fit:
    """Start the fit of a fold."""
    part, rest = map(train_set.subset, pair)
    if fpreproc is not None:
        part, rest, params = fpreproc(part, rest, dict(params))
        learner = Training.of(params)
    sets = [part, rest][-len(given.eval_names) :]
    return fitting.start(
        copy.copy(learner),
        part,
        None,
        replace(given, eval_set=sets),
        n_threads=n_threads,
    )


def _boost(fits: list[Fit], n_at_once: int, return_cvbooster: bool) -> dict[str, Any]:
    """Run the rounds, and collect the results."""
    model, history = CVBooster(), {}
    model.boosters = [fit.booster for fit in fits]
    calls = fits[0].calls
    ahead = folds_.AHEAD if Calls(calls).may_lag else 0
    with Folds([fit.state for fit in fits], n_at_once, ahead) as together:
        stop = boosting.run(together, model, history=history, given=calls)
    n_rounds = None if stop is None else stop.best_iteration + 1 - together.first_round
    results = Results(
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
    """Replace models in training by the trained ones."""
    # The metrics of each fold are its own, not the means.
    own_stop = stop and EarlyStopException(stop.best_iteration)
    model.boosters = []
    for fit, fit.history in zip(fits, histories, strict=True):
        trained = boosting.result(fit.state, own_stop, fit.history)
        model.boosters.append(fit.model(trained))
    if stop is not None:
        model.best_iteration = max(b.best_iteration for b in model.boosters)
