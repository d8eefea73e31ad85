"""The attributes of a fitted estimator, which are read from its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skgoss import parameters
from skgoss.booster.booster import Booster
from skgoss.model import predictions
from skgoss.model.fitted import FittedModel
from skgoss.model.out_of_fold import OutOfFold
from skgoss.utils import threads


class FittedAttributes:
    """The attributes of a fitted estimator: see `LGBMModel`."""

    # What fit sets.
    _booster: Booster

    # Parameters of the estimator.
    n_jobs: int | None
    importance_type: str

    @property
    def _owner(self) -> str:
        """The name in messages."""
        return type(self).__name__

    def _n_threads(self, kwargs: Mapping[str, Any] = MappingProxyType({})) -> int:
        """The number of threads of a prediction with some other arguments."""
        return threads.n_threads(parameters.n_jobs(kwargs, self.n_jobs, self._owner))

    def __sklearn_is_fitted__(self) -> bool:
        return "_booster" in vars(self)

    @property
    def _model(self) -> FittedModel:
        """The model that fit returned; NotFittedError if there is none."""
        return self.booster_._model

    @property
    def booster_(self) -> Booster:
        """The trained model, without the estimator."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return self._booster

    @property
    def n_features_(self) -> int:
        """Number of columns of ``X`` in ``fit``."""
        return self._model.schema.n_features

    @property
    def n_estimators_(self) -> int:
        """Number of rounds of the model."""
        return self._model.trees.n_rounds

    @property
    def n_iter_(self) -> int:
        """Number of rounds of the model."""
        return self.n_estimators_

    @property
    def best_iteration_(self) -> int:
        """Number of rounds that early stopping kept. 0 without early stopping."""
        return self.booster_.best_iteration

    @property
    def preset_params_(self) -> dict[str, Any]:
        """The options that ``preset`` has chosen, by name."""
        return dict(self._model.preset_params)

    @property
    def oof_prediction_(self) -> NDArray[np.float64]:
        """Predictions for the rows of ``fit``, by models that were not fitted on them.

        NaN in rows that no fold tests.
        """
        model = self._model
        scores = self._out_of_fold.scores
        return predictions.linked(scores, model.link, self._n_threads())

    @property
    def oof_score_(self) -> dict[str, float]:
        """The mean of each metric over the folds."""
        return self._out_of_fold.mean()

    @property
    def oof_score_error_(self) -> dict[str, float]:
        """The standard error of each mean in ``oof_score_``."""
        return self._out_of_fold.standard_error()

    @property
    def _out_of_fold(self) -> OutOfFold:
        found = self._model.out_of_fold
        if found is None:
            raise AttributeError(
                f"This {self._owner} has no out-of-fold predictions: it was fitted"
                " without the option folds."
            )
        return found

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """Metrics by evaluation set and name.

        They are those of the best round after early stopping, or else of the last
        round.
        """
        return self.booster_.best_score

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """Metrics of all rounds by evaluation set and name."""
        return self._model.history

    @property
    def fitted_(self) -> bool:
        """Whether the model is fitted."""
        return self.__sklearn_is_fitted__()

    @property
    def objective_(self) -> str | list[str] | Callable[..., Any] | None:
        """The objective: a name or a function. None if a file holds no objective.

        A list if the objectives of several targets differ.
        """
        return self._model.objective

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importances of the columns, as ``importance_type`` says; not normalised."""
        importance_type = parameters.checked_value(
            "importance_type", self.importance_type, self._owner
        )
        return self._model.trees.importances(importance_type)

    @property
    def feature_name_(self) -> list[str]:
        """Names of the columns; 'Column_0', 'Column_1', ... if ``X`` has no names."""
        return self._model.feature_names
