"""The estimator for classification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from skgoss.booster.booster import Booster
from skgoss.data import targets
from skgoss.data.row_partition import Parts, RowPartition
from skgoss.estimators import state as persistence
from skgoss.estimators.base import MANY_CLASSES, EarlierModel, LGBMModel, Metrics
from skgoss.fit.arguments import FitArguments, GivenSet
from skgoss.model import predictions
from skgoss.parameters import docstrings
from skgoss.parameters import settings as parameters
from skgoss.utils import compat
from skgoss.utils.messages import warn

# The objectives of classifiers, for two and for more classes.
_TWO_CLASSES = ("binary", "cross_entropy")


@parameters.documented
class LGBMClassifier(ClassifierMixin, LGBMModel):
    """Gradient boosted trees for classification, by the LightGBM algorithm.

    The trees are histogram-based and grown leaf-wise. Labels may be numbers or strings.
    A round grows one tree for two classes, and one tree per class for more classes.
    ``y`` may also hold a single class.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The sorted class labels, including those of rows with weight 0.
    n_classes_ : int
        The number of classes.
    {attributes}

    See Also
    --------
    LGBMRegressor : Regression.
    LGBMRanker : Ranking.
    train : Training by a function, with LightGBM's arguments.

    References
    ----------
    G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree",
    NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgoss import LGBMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LGBMClassifier(n_estimators=10).fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    @compat.with_callbacks
    @docstrings.of_fit
    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        eval_set: Sequence[Any] | None = None,
        eval_names: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_class_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_metric: Metrics | None = None,
        feature_name: str | Sequence[str] = "auto",
        categorical_feature: str | Iterable[str | int] | None = "auto",
        callbacks: Sequence[Callable[..., Any]] | None = None,
        init_model: EarlierModel | None = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
        early_stopping_rounds: int | None = None,
        verbose: bool | int = False,
    ) -> Self:
        return self._fit(X, y, FitArguments.of(locals()))

    _tasks = ("classification",)

    @property
    def classes_(self) -> NDArray[Any]:
        """The sorted labels."""
        return self._fitted("_classes")

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    @property
    def _n_classes(self) -> int:
        return len(self._classes)

    @property
    def _n_scores(self) -> int:
        return self._n_classes if self._n_classes > 2 else 1

    def _names_of_outputs(self) -> list[str]:
        return [str(label) for label in self._classes]

    def _earlier_model(self, model: Any) -> Booster | None:
        booster = super()._earlier_model(model)
        if booster is None:
            return None
        tasks, source = persistence.tasks_of(booster)
        if not set(tasks) & set(self._tasks):
            raise TypeError(
                f"init_model must be a classification model for {self._owner}, got"
                f" {source}."
            )
        return booster

    def _learn_target(self, y: NDArray[Any], parts: Parts | None = None) -> None:
        self._classes = targets.classes(y, parts)

    def _encoded(self, y: NDArray[Any], given: GivenSet) -> NDArray[np.float64]:
        source = "init_model" if given.is_training else "y"
        return targets.codes(y, self._classes, given.target_name, source)

    def _weights(
        self,
        sample_weight: ArrayLike | None,
        target: NDArray[np.float64],
        class_weight: Any = None,
        prefix: str = "",
        partition: RowPartition | None = None,
    ) -> NDArray[np.float64] | None:
        return targets.weights(
            sample_weight, class_weight, target, self._classes, prefix, partition
        )

    def _default_objective(self) -> str:
        return "binary" if self._n_classes <= 2 else "multiclass"

    def _check_objective(self, name: str) -> None:
        two = self._n_classes <= 2
        if (name in MANY_CLASSES) == two:
            allowed = _TWO_CLASSES if two else MANY_CLASSES
            raise ValueError(
                f"objective={name!r} cannot be used for {self._n_classes} classes. Use"
                f" one of {', '.join(map(repr, allowed))}, or None, which chooses one"
                " by the number of classes."
            )
        if two and name not in _TWO_CLASSES:
            warn(
                f"objective={name!r} treats the classes as the numbers 0 and 1, so"
                " predict_proba does not return probabilities. Use one of"
                f" {', '.join(map(repr, _TWO_CLASSES))}."
            )

    @docstrings.of_prediction
    def predict(
        self,
        X: ArrayLike,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        *,
        pred_interactions: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Predict classes.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels. With ``raw_score``, ``pred_leaf``, ``pred_contrib`` or
            ``pred_interactions``, or if the objective is a function, the result is that
            of ``predict_proba``.
        """
        output = self.predict_proba(
            X,
            raw_score,
            start_iteration,
            num_iteration,
            pred_leaf,
            pred_contrib,
            validate_features,
            pred_interactions=pred_interactions,
            **kwargs,
        )
        kind = predictions.kind(raw_score, pred_leaf, pred_contrib, pred_interactions)
        if kind != "prediction" or not isinstance(self._booster._objective, str):
            return output
        return self._classes[output.argmax(axis=1)]

    @docstrings.of_prediction
    def predict_proba(
        self,
        X: ArrayLike,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        *,
        pred_interactions: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Predict probabilities of the classes.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, with the classes in the order of ``classes_``. Those of
            'multiclassova' do not sum to 1. With ``raw_score``, the shape is
            (n_samples,) for one or two classes. With ``pred_leaf``, it is (n_samples,
            n_trees). If the objective is a function, raw scores are returned, with a
            warning.
        """
        kind = predictions.kind(raw_score, pred_leaf, pred_contrib, pred_interactions)
        output = self._output(
            X, kind, start_iteration, num_iteration, validate_features, kwargs
        )
        return self._probabilities(output) if kind == "prediction" else output

    def _probabilities(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities of all classes; scores as they are if they have no link."""
        if not isinstance(self._booster._objective, str):
            warn(
                "Cannot compute class probabilities or labels due to the usage of"
                " customized objective function.\nReturning raw scores instead."
            )
            return output
        return output if output.ndim == 2 else self._both_classes(output)

    @docstrings.of_stages("classes", "(n_samples,)")
    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        has_labels = isinstance(self._fitted("_booster")._objective, str)
        return (
            self._classes[output.argmax(axis=1)] if has_labels else output
            for output in self.staged_predict_proba(X)
        )

    @docstrings.of_stages("probabilities of the classes", "(n_samples, n_classes)")
    def staged_predict_proba(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        return map(self._probabilities, self._staged(X))

    def _both_classes(self, positive: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities of all classes, from those of the second class."""
        proba = np.empty((len(positive), 2))
        proba[:, 1] = positive
        np.subtract(1.0, positive, out=proba[:, 0])
        return proba[:, : self._n_classes]

    @docstrings.of_prediction
    def decision_function(
        self,
        X: ArrayLike,
        *,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Compute raw scores.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two
            What ``predict_proba`` returns with ``raw_score``.
        """
        return self._output(
            X, "raw_score", start_iteration, num_iteration, validate_features, kwargs
        )
