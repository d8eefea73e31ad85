"""The attributes that estimators have once they are fitted."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skgoss.booster.booster import Booster
from skgoss.model import predictions
from skgoss.model.fitted import FittedModel
from skgoss.model.out_of_fold import OutOfFold
from skgoss.preprocessing import DateFeatures, PairFeatures


class FittedAttributes:
    """What a fitted estimator shows of its model.

    Arrays, lists and dicts are copies: writing to them changes no model.
    """

    @property
    @abstractmethod
    def _owner(self) -> str:
        """The name in messages."""

    @property
    @abstractmethod
    def _model(self) -> FittedModel:
        """The model; NotFittedError if there is none."""

    @property
    @abstractmethod
    def booster_(self) -> Booster:
        """The trained model, without the estimator."""

    @abstractmethod
    def _n_threads(self) -> int:
        """The number of threads that predict."""

    @abstractmethod
    def _importance_type(self) -> str:
        """The option of this name, checked."""

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
    def search_results_(self) -> dict[str, Any]:
        """What ``preset`` has compared, in the manner of ``cv_results_``."""
        found = {k: v for k, v in self._model.search.items() if isinstance(v, list)}
        return {k: v if k == "params" else np.array(v) for k, v in found.items()}

    @property
    def time_limit_reached_(self) -> bool:
        """Whether ``time_limit`` has ended the fit, or a part of it."""
        return bool(self._model.search.get("is_limit_reached"))

    @property
    def oof_prediction_(self) -> NDArray[np.float64]:
        """Predictions for the rows of ``fit``, by models that were not fitted on them.

        NaN in rows that no fold tests.
        """
        model = self._model
        scores = self._out_of_fold.scores.copy()
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
        out_of_fold = self._model.out_of_fold
        if out_of_fold is None:
            raise AttributeError(
                f"This {self._owner} has no out-of-fold predictions: it was fitted"
                " without the option folds."
            )
        return out_of_fold

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """Metrics of the best, or else the last round by evaluation set and name."""
        return copy.deepcopy(self.booster_.best_score)

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """Metrics of all rounds by evaluation set and name."""
        return copy.deepcopy(self._model.history)

    @property
    def fitted_(self) -> bool:
        """True; as other fitted attributes, it does not exist before ``fit``."""
        check_is_fitted(self)
        return True

    @property
    def objective_(self) -> str | list[str] | Callable[..., Any] | None:
        """The objective: a name or a function. None if a file holds no objective.

        A list if the objectives of several targets differ.
        """
        return self._model.objective

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importances of the columns, as ``importance_type`` says; not normalized."""
        return self._model.importances(self._importance_type())

    @property
    def feature_name_(self) -> list[str]:
        """Names of the columns; 'Column_0', 'Column_1', ... if ``X`` has no names."""
        return self._model.feature_names

    @property
    def categories_(self) -> dict[str, list[Any]]:
        """Categories of each categorical column, by its name; others are unknown."""
        model = self._model
        if model.categories.unplaced:
            raise AttributeError(
                f"This {self._owner} was read from a file of another library, which"
                " does not say which columns hold its categories. They are in"
                " booster_.pandas_categorical, in the order of the columns."
            )
        known, names = model.categories.vocabularies, model.feature_names
        return {names[j]: list(known[j].values) for j in sorted(known)}

    @property
    def date_features_(self) -> DateFeatures:
        """The transformer that makes numbers of dates, as the model does."""
        return DateFeatures._of_model(self._model.schema, self._owner)

    @property
    def pair_features_(self) -> PairFeatures:
        """The transformer that appends the pairs of columns that the model computes."""
        return PairFeatures._of_model(self._model.schema, self._owner)
