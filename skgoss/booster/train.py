"""The function `train`: one fit, and a Booster with its trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from skgoss.booster import lightgbm3
from skgoss.booster.booster import Booster, ShownBoosters
from skgoss.booster.booster import init_model as earlier_model
from skgoss.booster.cv import cv as cv
from skgoss.booster.cv_booster import CVBooster as CVBooster
from skgoss.booster.train_arguments import (
    DEFAULT_ROUNDS,
    TrainOptions,
    check_flags,
    check_label,
    check_rounds,
    check_training_set,
    functions_of,
)
from skgoss.dataset.dataset import Dataset
from skgoss.fit.arguments import TRAINING, FitArguments, names_of_sets
from skgoss.parameters import signatures
from skgoss.utils.messages import type_name
from skgoss.utils.public import set_module


@set_module("skgoss")
@signatures.hint_arguments("train", "params")
def train(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    num_boost_round: int = DEFAULT_ROUNDS,
    valid_sets: Dataset | Iterable[Dataset] | None = None,
    valid_names: str | Iterable[str] | None = None,
    feval: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    init_model: Any = None,
    keep_training_booster: bool = False,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    *,
    early_stopping_rounds: int | None = None,
    verbose_eval: bool | int | None = None,
    evals_result: dict[str, dict[str, list[float]]] | None = None,
    fobj: Callable[..., Any] | None = None,
    learning_rates: Sequence[float] | Callable[[int], float] | None = None,
    feature_name: str | Sequence[str] = "auto",
    categorical_feature: str | Iterable[str | int] | None = "auto",
) -> Booster:
    """Train a model on a data set.

    Parameters
    ----------
    params : dict
        Parameters by any of their names: see `LGBMModel`. The default ``objective`` is
        'regression'. For 'multiclass' and 'multiclassova', ``num_class`` is the number
        of classes, whose labels are 0, 1 and so on. ``objective`` and ``metric`` may be
        functions, like ``fobj`` and ``feval``. Numbers may be strings. LightGBM's
        parameters of devices, files and networks are accepted and have no effect. The
        dict is not changed.
    train_set : Dataset
        The training data. If they are not binned yet, ``params`` determines the bins.
    num_boost_round : int, default=100
        Number of boosting rounds. A number of rounds in ``params`` has priority.
    valid_sets : Dataset or list of Dataset, default=None
        Evaluation sets. Metrics are computed on them after each round. ``train_set``
        may be one of them; early stopping ignores its metrics.
    valid_names : str or list of str, default=None
        Names of the evaluation sets. None: 'training' for ``train_set``, and 'valid_i'
        for set number i.
    feval : callable or list of callable, default=None
        Metric functions ``f(predictions, dataset)``. They return ``(name, value,
        is_higher_better)`` or a list of such tuples. ``predictions`` are probabilities
        or means, or raw scores if the objective is a function. The shape is
        (n_samples,), or (n_samples, n_scores) for several classes or quantiles.
    init_model : Booster, str, path or estimator, default=None
        A model, or the path of a model file. Training continues from its trees.
    keep_training_booster : bool, default=False
        Whether the returned model can be trained further by its method ``update``.
    callbacks : list of callable, default=None
        Functions that are called before or after each round, such as `early_stopping`
        and `log_evaluation`.
    early_stopping_rounds : int, default=None
        The same as ``early_stopping_round`` in ``params``, which has priority.
    verbose_eval : bool or int, default=None
        The same as the callback ``log_evaluation(verbose_eval)``; True means every
        round. Messages of early stopping are printed as well.
    evals_result : dict, default=None
        The same as the callback ``record_evaluation(evals_result)``.
    fobj : callable, default=None
        A custom objective ``f(predictions, train_set)``. It returns the gradient and
        the hessian, with the shape of the raw scores ``predictions``, or
        one-dimensional, class by class. They are not multiplied by the weights of the
        rows, because the function can do so.
    learning_rates : list of float or callable, default=None
        The same as the callback ``reset_parameter(learning_rate=learning_rates)``.
    feature_name : 'auto' or list of str, default='auto'
        The same as ``train_set.set_feature_name(feature_name)`` before the call.
    categorical_feature : 'auto' or list of str and int, default='auto'
        The same as ``train_set.set_categorical_feature(categorical_feature)`` before.

    Returns
    -------
    Booster
        The model. After early stopping, it ends with the best round.

    Raises
    ------
    TypeError, ValueError
        If an argument or parameter has an invalid type or value. Training has not
        started then.

    Warns
    -----
    UnusedParameterWarning
        For names in ``params`` that are unknown, and for unknown metrics.

    See Also
    --------
    cv : Cross-validation with the same arguments.
    LGBMModel : All parameters, and an estimator of scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import Dataset, train
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = train({"num_leaves": 7}, Dataset(X, label=y), num_boost_round=20)
    >>> model.predict(X).shape
    (442,)
    """
    check_training_set(train_set, "train")
    check_rounds(num_boost_round)
    check_flags(keep_training_booster=keep_training_booster)
    options = TrainOptions.from_params(
        params,
        fobj=fobj,
        early_stopping_rounds=early_stopping_rounds,
        n_estimators=num_boost_round,
    )
    check_label(train_set, options, "train_set")
    sets = _sets(train_set, valid_sets, valid_names, options)
    arguments = FitArguments(
        eval_set=list(sets.values()),
        eval_names=list(sets),
        eval_metric=functions_of(feval),
        **lightgbm3.train_callbacks(
            callbacks, verbose_eval, evals_result, learning_rates
        ),
    )
    lightgbm3.describe_columns(train_set, feature_name, categorical_feature)
    no_folds = ""
    if keep_training_booster:
        no_folds = (
            "keep_training_booster=True cannot be used with folds: the model of several"
            " folds cannot be trained further."
        )
    fit = options.prepare(
        train_set, arguments, earlier_model(init_model), no_folds=no_folds
    )
    if arguments.eval_metric and not (sets or keep_training_booster):
        options_of_fit = fit.prepared.data.settings
        arguments.warn_if_nothing_is_evaluated(options_of_fit, "feval", "valid_sets")
    shown = ShownBoosters()
    model = fit.model(shown, keeps_rounds=keep_training_booster)
    if fit.has_folds or not shown:
        return Booster._from_model(model)
    (in_training,) = shown
    if not keep_training_booster:
        return in_training._end(model)
    in_training.best_iteration = model.best_iteration
    in_training.best_score = model.best_score
    return in_training


def _sets(
    train_set: Dataset, valid_sets: Any, valid_names: Any, options: TrainOptions
) -> dict[str, Dataset]:
    """The evaluation sets by their names, from the arguments of `train`.

    The same set may come twice under the same name; different sets may not.
    """
    if valid_sets is None:
        return {}
    sets = list(valid_sets) if isinstance(valid_sets, Iterable) else [valid_sets]
    for i, rows in enumerate(sets):
        if not isinstance(rows, Dataset):
            raise TypeError(
                f"valid_sets[{i}] must be a Dataset, got {type_name(rows)}: pass"
                " Dataset(X, label=y, reference=train_set)."
            )
        check_label(rows, options, f"valid_sets[{i}]")
        if rows.get_group() is None and train_set.get_group() is not None:
            raise ValueError(
                f"valid_sets[{i}] must have a group, as train_set has: pass"
                " Dataset(X, label=y, group=sizes)."
            )
    by_name: dict[str, Dataset] = {}
    for i, name in enumerate(names_of_sets(valid_names, len(sets), "valid_names")):
        is_training = sets[i] is train_set
        name = name or (TRAINING if is_training else f"valid_{i}")
        if by_name.setdefault(name, sets[i]) is not sets[i]:
            raise ValueError(f"valid_names must differ, got {name!r} twice.")
    return by_name
