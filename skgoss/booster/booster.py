"""The class `Booster`: trained trees, without scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from skgoss.booster.booster_in_training import BoosterInTraining, in_training
from skgoss.booster.booster_model import parsed
from skgoss.booster.inspection import TreeInspection
from skgoss.dataset.dataset import Dataset
from skgoss.fit.fit import Fit
from skgoss.model.fitted import FittedModel
from skgoss.model_files import model_file as model_files
from skgoss.parameters import docstrings, other_libraries
from skgoss.utils.messages import ForeignConstructor, type_name, warn
from skgoss.utils.public import set_module


@set_module("skgoss")
@docstrings.describe_chain("The model.")
class Booster(BoosterInTraining, TreeInspection):
    """A trained model, or a model in training, without an estimator.

    A fitted estimator has a Booster as ``booster_``, and `train` returns one. The
    constructor makes a Booster that `update` trains round by round, or reads a model in
    LightGBM's text format, as skgoss and LightGBM 2, 3 and 4 write it.

    Parameters
    ----------
    params : dict, default=None
        The training parameters, by any of their names: see `LGBMModel`. Parameters of
        early stopping and ``time_limit`` have no effect. If a model is read, its own
        parameters are used, and ``params`` has no effect.
    train_set : Dataset, default=None
        The training data. The model has no trees until `update` is called.
    model_file : str or path, default=None
        The model file to read.
    model_str : str, default=None
        The content of a model file, instead of the file.

    Attributes
    ----------
    best_iteration : int
        Number of rounds that early stopping kept. 0 without early stopping.
    best_score : dict
        The metrics after the best round, or after the last round without early
        stopping: a dict of dicts, by the names of evaluation set and metric.

    Raises
    ------
    TypeError
        If not exactly one of ``train_set``, ``model_file`` and ``model_str`` is passed.

    See Also
    --------
    train : Training of all rounds.
    LGBMModel.from_booster : An estimator of a model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import Booster, LGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> booster = LGBMRegressor(n_estimators=10).fit(X, y).booster_
    >>> booster.num_trees()
    10
    >>> again = Booster(model_str=booster.model_to_string())
    >>> bool((again.predict(X) == booster.predict(X)).all())
    True
    """

    _alternatives = other_libraries.BOOSTER_HINTS

    if not TYPE_CHECKING:
        from_file, load = ForeignConstructor(), ForeignConstructor()
        load_model = ForeignConstructor()

    def __init__(
        self,
        params: dict[str, Any] | None = None,
        train_set: Dataset | None = None,
        model_file: str | PathLike[str] | None = None,
        model_str: str | None = None,
    ) -> None:
        if params is not None and not isinstance(params, Mapping):
            raise TypeError(
                f"params must be a dict, got {type_name(params)}. For the model of a"
                " file, use Booster(model_file=path); for that of an estimator, its"
                " attribute booster_."
            )
        n_passed = sum(v is not None for v in (train_set, model_file, model_str))
        if n_passed != 1:
            raise TypeError(
                "Booster needs one of train_set, model_file and model_str, got"
                f" {n_passed}."
            )
        if train_set is not None:
            self._become(in_training(params, train_set))
            return
        if params:
            warn("params has no effect: the parameters of the model file are used.")
        if model_str is not None:
            self._become(parsed(model_str))
        if model_file is not None:
            self._become(model_files.read(model_file))


def init_model(model: Any) -> FittedModel | None:
    """The model that the argument ``init_model`` stands for; None if it is None.

    It may be an estimator, a Booster, a `FittedModel` or the path of a model file; a
    Booster in training counts with the rounds that it has. TypeError for anything else.
    """
    if model is None or isinstance(model, FittedModel):
        return model
    if isinstance(model, str | PathLike):
        return model_files.read(model)
    booster = booster_of(model, "init_model", ", or the path of a model file")
    return booster._saved_model()


def booster_of(model: Any, name: str, or_else: str = "", advice: str = "") -> Booster:
    """The Booster of a fitted estimator, or a Booster itself.

    TypeError if it is neither. The message has the ``name`` of the argument, what else
    it may be (``or_else``, such as ", or a path"), and an ``advice``, a sentence that
    begins with a space. NotFittedError if the estimator is not fitted.
    """
    if isinstance(model, Booster):
        return model
    # LightGBM's estimators have `booster_` as well, but not this attribute.
    if hasattr(type(model), "_model"):
        return model.booster_
    raise TypeError(
        f"{name} must be a fitted estimator or a Booster of skgoss{or_else}, got"
        f" {type_name(model)}.{advice or part_of(model)}"
    )


def part_of(model: Any) -> str:
    """A sentence: the estimator of skgoss that a search or a pipeline holds, or ""."""
    code, found = "", model
    while not hasattr(type(found), "_model"):
        if hasattr(found, "best_estimator_"):
            code = f"{code or 'search'}.best_estimator_"
            found = found.best_estimator_
        elif isinstance(steps := getattr(found, "steps", None), list) and steps:
            code, found = f"{code or 'pipeline'}[-1]", steps[-1][-1]
        elif hasattr(found, "regressor_"):
            code, found = f"{code or 'model'}.regressor_", found.regressor_
        else:
            return ""
    return f" Pass {code}."


class ShownBoosters(list[Booster]):
    """Makes the Boosters that the callbacks of one or several fits get, and holds them.

    A fit calls it to make ``env.model``, only if it has callbacks or the rounds stay
    trainable. Without folds, there is one Booster at most: that of the model.
    """

    def __call__(self, fit: Fit) -> Booster:
        """The Booster of a fit."""
        self.append(Booster._from_model(fit))
        return self[-1]
