"""Training by functions: `train`, and the estimator behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss import fitting
from skgoss._messages import type_name
from skgoss.booster import Booster
from skgoss.dataset import Dataset
from skgoss.estimators import LGBMModel
from skgoss.fit_arguments import FitArguments, GivenSet
from skgoss.training import metrics
from skgoss.training.objectives import OBJECTIVES, Link, canonical_name
from skgoss.training.user_functions import OfDataset

# Names of the number of classes.
_NUM_CLASS = ("num_class", "num_classes")


class Training(LGBMModel):
    """The estimator behind `train`: it learns numbers, codes of classes among them.

    Parameters
    ----------
    num_class : int, default=1
        The number of classes, for objectives of more than two classes and functions.
    **kwargs : dict
        The parameters of `LGBMModel`.
    """

    def __init__(self, *, num_class: int = 1, **kwargs: Any) -> None:
        self.num_class = num_class
        super().__init__(**kwargs)

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Training:
        """Make an estimator of the parameters that a user gives `train`."""
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict, got {type_name(params)}.")
        options = dict(params)
        classes = [options.pop(word) for word in _NUM_CLASS if word in options]
        if classes:
            options["num_class"] = classes[0]
        return cls(**options)

    @property
    def _n_classes(self) -> int | None:
        return self.num_class if self.num_class > 1 else None

    def _encoded(self, y: NDArray[Any], given: GivenSet) -> NDArray[np.float64]:
        target = super()._encoded(y, given)
        n_classes = self._n_classes
        if n_classes is not None and not callable(self.objective):
            known = np.isin(target, np.arange(n_classes))
            if not known.all():
                raise ValueError(
                    f"The label must hold the numbers 0 to {n_classes - 1} for"
                    f" num_class={n_classes}, got {target[~known][0]:g}."
                )
        return target

    def _default_objective(self) -> str | None:
        return None if callable(self.objective) else "regression"

    def _check_objective(self, name: str) -> None:
        is_many = OBJECTIVES[canonical_name(name)].start is None and name != "binary"
        if is_many and self._n_classes is None:
            raise ValueError(
                f"objective={name!r} needs num_class, the number of classes."
            )
        if self._n_classes is not None and not is_many:
            raise ValueError(f"objective={name!r} needs num_class=1.")

    def _source(self, X: Any) -> Any:
        return X

    def _bound_objective(
        self, function: Callable[..., Any], source: Any
    ) -> Callable[..., Any]:
        return OfDataset(function, source)

    def _custom_metric(
        self, function: Callable[..., Any], link: Link | None
    ) -> metrics.Custom:
        return metrics.CustomOfDataset(function, link)


def train(
    params: Mapping[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    valid_sets: Dataset | Sequence[Dataset] | None = None,
    valid_names: str | Sequence[str] | None = None,
    feval: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    init_model: Booster | str | PathLike[str] | None = None,
    keep_training_booster: bool = False,
    callbacks: Sequence[Callable[..., Any]] | None = None,
) -> Booster:
    """Train a model.

    Parameters
    ----------
    params : dict
        Options by any of their names: see the parameters of `LGBMModel`.
    train_set : Dataset
    num_boost_round : int, default=100
        Number of rounds.
    valid_sets : Dataset or list of Dataset, default=None
        Evaluation sets.
    valid_names : str or list of str, default=None
        Their names.
    feval : callable or list of callable, default=None
        Metrics ``f(predictions, dataset)``, which return ``(name, value,
        is_higher_better)`` or a list of such tuples.
    init_model : Booster, str or path, default=None
        A model, or its file, to which trees are added.
    keep_training_booster : bool, default=False
        Whether the model can be trained further by its ``update``.
    callbacks : list of callable, default=None

    Returns
    -------
    Booster
    """
    learner = Training.of({"n_estimators": num_boost_round} | dict(params))
    given = FitArguments(
        eval_set=[valid_sets] if isinstance(valid_sets, Dataset) else valid_sets,
        eval_names=valid_names,
        eval_metric=feval,
        init_model=init_model,
        callbacks=callbacks,
    )
    fit = fitting.fit(learner, train_set, None, given)
    booster = learner._booster
    if not keep_training_booster:
        return booster
    fit.booster.best_iteration = booster.best_iteration
    fit.booster.best_score = booster.best_score
    return fit.booster
