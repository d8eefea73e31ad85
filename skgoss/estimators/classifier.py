"""The estimator for classification."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from skgoss.columns.floats import check_unmasked
from skgoss.estimators.base import MYPY, EarlierModel, LGBMModel, Metrics
from skgoss.fit.arguments import FitArguments, scored_column
from skgoss.fit.task import Classification
from skgoss.model import predictions
from skgoss.model.fitted import FittedModel, scores_of_targets
from skgoss.parameters import docstrings, signatures
from skgoss.utils import sklearn_private
from skgoss.utils.messages import warn
from skgoss.utils.public import set_module


def _has_one_target(classifier: LGBMClassifier) -> bool:
    """Whether there is a `decision_function`; else AttributeError."""
    fitted = classifier.__sklearn_is_fitted__()
    if fitted and isinstance(classifier.classes_, list):
        raise AttributeError(
            "There is no decision_function for several targets. Use"
            " predict_proba(X, raw_score=True)."
        )
    return True


@set_module("skgoss")
@docstrings.describe_estimator
class LGBMClassifier(ClassifierMixin, LGBMModel):
    """Gradient boosted trees for classification, by the LightGBM algorithm.

    The trees are histogram-based and grown leaf-wise. Labels may be numbers or strings.
    A round grows one tree for two classes, and one tree per class for more classes.
    ``y`` may also hold a single class, or several columns: then each column is a
    target, such as one of several labels, and is learned by trees of its own. With
    ``objective="cross_entropy"``, columns of floats are soft labels: the probabilities
    of the classes.

    Parameters
    ----------
    ... : options, which ``help`` and docs/parameters.md describe

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of them
        The sorted class labels, including those of rows with weight 0. A list with an
        array for each column of ``y`` if there are several.
    n_classes_ : int or list of int
        The number of classes.
    ... : attributes of the fitted model, which ``help`` describes

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

    _task = Classification
    _prediction = "probabilities"

    # jedi would find that of object first, which the mixin inherits.
    if TYPE_CHECKING and not MYPY:
        __init__ = LGBMModel.__init__

    @sklearn_private.with_callbacks
    @docstrings.describe_fit
    @signatures.hint_fit_arguments
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
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The training rows. Numbers are not copied.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The labels: numbers or strings.
        ... : arguments, which ``help`` describes: weights of rows, evaluation sets
            (``eval_X`` and ``eval_y``, or ``eval_set``) and early stopping on them,
            names and categories of columns, callbacks, an ``init_model`` to continue
            from, and ``groups`` or ``time`` of rows for choices inside the fit.

        Returns
        -------
        self
            The fitted estimator.
        """
        arguments = FitArguments(
            sample_weight=sample_weight,
            init_score=init_score,
            eval_set=eval_set,
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            eval_class_weight=eval_class_weight,
            eval_init_score=eval_init_score,
            eval_metric=eval_metric,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            callbacks=callbacks,
            init_model=init_model,
            eval_X=eval_X,
            eval_y=eval_y,
            early_stopping_round=early_stopping_rounds,
            verbose=verbose,
            groups=groups,
            time=time,
        )
        return self._fit(X, y, arguments)

    @property
    def classes_(self) -> Any:
        """The sorted labels; a list of arrays if there are several targets."""
        return copy.deepcopy(self._model.classes)

    @property
    def n_classes_(self) -> Any:
        """The number of classes; a list if there are several targets."""
        classes = self.classes_
        return list(map(len, classes)) if isinstance(classes, list) else len(classes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _finish(
        self, model: FittedModel, values: NDArray[np.float64], n_threads: int
    ) -> Any:
        """The labels of the most probable classes; raw scores if there is no link.

        If there are several targets, each has a column.
        """
        probabilities = _probabilities(model, values, n_threads)
        if not isinstance(model.objective, str | list):
            return probabilities
        if not isinstance(model.classes, list):
            return model.classes[predictions.largest(probabilities, n_threads)]
        kinds = {labels.dtype.kind for labels in model.classes}
        columns = [
            # Numbers stay numbers next to strings.
            labels.astype(object if len(kinds) > 1 else labels.dtype)[
                predictions.largest(p, n_threads)
            ]
            for labels, p in zip(model.classes, probabilities, strict=True)
        ]
        return np.column_stack(columns)

    @overload
    def predict_proba(
        self,
        X: ArrayLike,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: Literal[False] = False,
        pred_contrib: Literal[False] = False,
        validate_features: bool = False,
        *,
        pred_interactions: Literal[False] = False,
        to_parquet: None = None,
        **kwargs: Any,
    ) -> NDArray[np.float64]: ...

    @overload
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
        to_parquet: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Any: ...

    @docstrings.describe_prediction
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
        to_parquet: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Predict probabilities of the classes.

        Parameters
        ----------
        ... : arguments, which ``help`` describes: the rows ``X``, what to predict
            (``raw_score``, leaves, SHAP values), which rounds (``start_iteration``,
            ``num_iteration``), and a file for rows in batches (``to_parquet``)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, with the classes in the order of ``classes_``. Those of
            'multiclassova' do not sum to 1. With ``raw_score``, the shape is
            (n_samples,) for one or two classes. With ``pred_leaf``, it is (n_samples,
            n_trees). If the objective is a function, raw scores are returned, with a
            warning. For several targets, a list with the probabilities of each; raw
            scores are in one array, those of the first target first.
        """
        n_threads = self._n_threads(kwargs, LGBMClassifier.predict_proba)
        output = predictions.kind(raw_score, pred_leaf, pred_contrib, pred_interactions)
        span = start_iteration, num_iteration
        return self._output(
            X, output, span, validate_features, n_threads, _probabilities, to_parquet
        )

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy: the proportion of correct predictions.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their classes. Or soft labels, of shape (n_samples, n_classes): the
            probabilities of the classes. If ``X`` is a file or read in batches, it may
            be the name of a column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            From 0 to 1. For several targets, all classes of a row must be right. For
            soft labels, the mean probability of the predicted class.

        Raises
        ------
        ValueError
            If the objective is a function: then predictions are raw scores.
        """
        self._warn_of_start_scores()
        y = scored_column(X, y)
        check_unmasked(y, "y")
        if not isinstance(self._model.objective, str | list):
            of_two, of_more = "(scores > 0).astype(int)", "scores.argmax(axis=1)"
            labels = of_more if self._model.trees.n_scores > 1 else of_two
            raise ValueError(
                f"{self._owner} cannot compute the accuracy: its objective is a"
                " function, so predict returns raw scores and not labels. Compute"
                " labels from them, for example scores = model.predict(X), then"
                f" sklearn.metrics.accuracy_score(y, model.classes_[{labels}])."
            )
        if not isinstance(self.classes_, list):
            if np.ndim(y) < 2 or np.shape(y)[1] == 1:
                return float(super().score(X, y, sample_weight))
            is_predicted = np.asarray(self.predict(X))[:, None] == self.classes_
            of_predicted = np.asarray(y, dtype=np.float64)[is_predicted]
            weight = None if sample_weight is None else np.asarray(sample_weight)
            return float(np.average(of_predicted, weights=weight))
        is_correct = (np.asarray(y) == self.predict(X)).all(axis=1)
        return float(
            accuracy_score(
                np.ones(len(is_correct)), is_correct, sample_weight=sample_weight
            )
        )

    @docstrings.describe_prediction
    def staged_predict_proba(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """Predict probabilities of the classes after each round.

        Each step only adds the trees of one round. This is faster than calling
        ``predict_proba`` for each number of rounds.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        iterator of ndarray of shape (n_samples, n_classes)
            What ``predict_proba(X, num_iteration=i + 1)`` returns, for i = 0, 1, ... A
            mean of the models of n folds has no prediction before the first round of
            each: i begins with n - 1.
        """
        return self._staged(X, _probabilities)

    # scikit-learn's other classifiers of several targets, too, have either this method
    # or lists of probabilities.
    @available_if(_has_one_target)  # type: ignore[untyped-decorator]
    @docstrings.describe_prediction
    def decision_function(
        self,
        X: ArrayLike,
        *,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Compute raw scores; not for several targets.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two
            What ``predict_proba`` returns with ``raw_score``.
        """
        span = start_iteration, num_iteration
        n_threads = self._n_threads(kwargs, LGBMClassifier.decision_function)
        return self._output(
            X, "raw_score", span, validate_features, n_threads, _probabilities
        )

    @docstrings.describe_prediction
    def predict_set(
        self, X: ArrayLike, coverage: float | Sequence[float] = 0.9, **kwargs: Any
    ) -> NDArray[np.bool_]:
        """Predict prediction sets that contain the label with a chosen probability.

        The estimator must have been fitted with ``folds``, or with a ``preset`` and
        without an evaluation set. A set consists of the most probable classes (adaptive
        prediction sets): one where the models are confident, more elsewhere. Their
        number is calibrated on the test rows of the folds. At least the proportion
        ``coverage`` of new rows of the same distribution, weighted if the fit was, have
        their label in the set.
        This need not hold for each class, nor if the distribution changes.
        Pipelines and references: https://skgoss.github.io/skgoss/intervals.html.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples, n_classes, n_coverages)
            Whether each class is in the set, in the order of ``classes_``. The last
            axis is there if ``coverage`` is a list. No set is empty, so more rows may
            be covered than asked for.

        Raises
        ------
        ValueError
            If the model has no sets, because it was fitted without ``folds``, with
            ``init_score``, or with an objective that has no probabilities; or if there
            are too few rows for the coverage.

        See Also
        --------
        LGBMRegressor.predict_interval : Intervals.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skgoss import LGBMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LGBMClassifier(n_estimators=20, folds=5, random_state=0).fit(X, y)
        >>> sets = model.predict_set(X[[0, 70, 98]], coverage=0.95)
        >>> [model.classes_[row].tolist() for row in sets]
        [[0], [1, 2], [0, 1]]
        """
        model = self._model
        n_threads = self._n_threads(kwargs, LGBMClassifier.predict_set)
        compute = model.for_sets(self._owner).sets
        return self._covering(model, X, coverage, n_threads, compute)

    @property
    def oof_prediction_(self) -> NDArray[np.float64]:
        """Probabilities of the classes for the rows of ``fit``: see `LGBMModel`."""
        return _probabilities(self._model, super().oof_prediction_)


def _probabilities(
    model: FittedModel, output: NDArray[np.float64], n_threads: int = 1
) -> Any:
    """The probabilities of all classes, in a list if there are several targets.

    Raw scores as they are if there is no link.
    """
    if not isinstance(model.objective, str | list):
        warn(
            "Cannot compute class probabilities or labels due to the usage of"
            " customized objective function.\nReturning raw scores instead. Apply the"
            " link of your objective to them, such as scipy.special.expit."
        )
        return output
    if not isinstance(model.classes, list):
        return _of_all_classes(output, model.classes, n_threads)
    return [
        _of_all_classes(output[:, first:stop], labels, n_threads)
        for (first, stop), labels in zip(
            scores_of_targets(model.classes), model.classes, strict=True
        )
    ]


def _of_all_classes(
    output: NDArray[np.float64], classes: NDArray[Any], n_threads: int
) -> NDArray[np.float64]:
    """The probabilities of all classes of a target, from those of its scores."""
    if output.ndim == 2 and output.shape[1] > 1:
        is_whole = output.flags.c_contiguous and output.shape[1] == len(classes)
        return output if is_whole else np.ascontiguousarray(output[:, : len(classes)])
    positive = output.reshape(len(output))
    return predictions.both_classes(positive, n_threads)[:, : len(classes)]
