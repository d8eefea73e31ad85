"""scikit-learn's face: the estimators; no algorithm."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, assert_all_finite, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skgoss import _compat, boosting, frames, objectives, parameters
from skgoss.dataset import Dataset

# The objectives for classes that a classifier can have: by its number of classes.
_TWO_CLASSES = ("binary", "cross_entropy")
_MANY_CLASSES = ("multiclass", "multiclassova")


@contextmanager
def _unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Put all attributes back when the block fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@parameters.documented
class LGBMModel(_compat.CallbackSupportMixin, BaseEstimator):
    """Gradient boosted trees, grown leaf by leaf on binned columns.

    The base of :class:`LGBMClassifier` and :class:`LGBMRegressor`, which are what one
    usually wants. By itself it learns a numeric target, with any objective that is not
    for classes; ``objective`` must be given.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of ``X`` in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names; only if all names are strings.
    n_iter_ : int
        The number of rounds.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By ``importance_type``.

    References
    ----------
    G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree",
    NeurIPS 2017.
    """

    @parameters.accepts_all_names
    def __init__(
        self,
        *,
        boosting_type: str = "gbdt",
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample_for_bin: int = 200000,
        objective: str | Callable[..., Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        min_split_gain: float = 0.0,
        min_child_weight: float = 0.001,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
        data_sample_strategy: str = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        max_bin: int = 255,
        min_data_in_bin: int = 3,
        use_missing: bool = True,
        zero_as_missing: bool = False,
        feature_pre_filter: bool = True,
        enable_bundle: bool = True,
        max_conflict_rate: float = 0.0,
        is_enable_sparse: bool = True,
        categorical_feature: str | Iterable[str | int] | None = "auto",
        max_cat_to_onehot: int = 4,
        max_cat_threshold: int = 32,
        cat_smooth: float = 10.0,
        cat_l2: float = 10.0,
        min_data_per_group: int = 100,
        max_delta_step: float = 0.0,
        path_smooth: float = 0.0,
        extra_trees: bool = False,
        feature_fraction_bynode: float = 1.0,
        boost_from_average: bool = True,
        is_unbalance: bool = False,
        scale_pos_weight: float = 1.0,
        sigmoid: float = 1.0,
        alpha: float = 0.9,
        poisson_max_delta_step: float = 0.7,
        tweedie_variance_power: float = 1.5,
        data_random_seed: int | None = None,
        bagging_seed: int | None = None,
        feature_fraction_seed: int | None = None,
        extra_seed: int | None = None,
        verbosity: int = -1,
        deterministic: bool = False,
        force_col_wise: bool = False,
        force_row_wise: bool = False,
    ) -> None:
        self.boosting_type = boosting_type
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample_for_bin = subsample_for_bin
        self.objective = objective
        self.class_weight = class_weight
        self.min_split_gain = min_split_gain
        self.min_child_weight = min_child_weight
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.importance_type = importance_type
        self.data_sample_strategy = data_sample_strategy
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.max_bin = max_bin
        self.min_data_in_bin = min_data_in_bin
        self.use_missing = use_missing
        self.zero_as_missing = zero_as_missing
        self.feature_pre_filter = feature_pre_filter
        self.enable_bundle = enable_bundle
        self.max_conflict_rate = max_conflict_rate
        self.is_enable_sparse = is_enable_sparse
        self.categorical_feature = categorical_feature
        self.max_cat_to_onehot = max_cat_to_onehot
        self.max_cat_threshold = max_cat_threshold
        self.cat_smooth = cat_smooth
        self.cat_l2 = cat_l2
        self.min_data_per_group = min_data_per_group
        self.max_delta_step = max_delta_step
        self.path_smooth = path_smooth
        self.extra_trees = extra_trees
        self.feature_fraction_bynode = feature_fraction_bynode
        self.boost_from_average = boost_from_average
        self.is_unbalance = is_unbalance
        self.scale_pos_weight = scale_pos_weight
        self.sigmoid = sigmoid
        self.alpha = alpha
        self.poisson_max_delta_step = poisson_max_delta_step
        self.tweedie_variance_power = tweedie_variance_power
        self.data_random_seed = data_random_seed
        self.bagging_seed = bagging_seed
        self.feature_fraction_seed = feature_fraction_seed
        self.extra_seed = extra_seed
        self.verbosity = verbosity
        self.deterministic = deterministic
        self.force_col_wise = force_col_wise
        self.force_row_wise = force_row_wise

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        parameters.show_inherited(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, by any of their names.

        Parameters
        ----------
        **params : dict
            Parameters of the estimator.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a name is unknown, or two names of one parameter get different values.
        """
        return super().set_params(**parameters.canonical(params, type(self).__name__))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_ensemble" in vars(self)

    @_compat.with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        categorical_feature: str | Iterable[str | int] | None = "auto",
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers and, in data frames, categories; NaN means missing.
        y : array-like of shape (n_samples,)
            The target: numbers, or labels of any kind for a classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts. A row of weight 0 is an absent row.
        categorical_feature : 'auto', None or list of str and int, default='auto'
            The columns that hold categories, instead of the constructor's; 'auto'
            leaves the choice to the constructor's.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is outside its domain, or the data cannot be learned from.
            The estimator stays as it was.
        """
        settings = parameters.settings(self, categorical_feature=categorical_feature)
        n_threads = _compat.n_threads(settings.n_jobs)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        hooks = _compat.round_hooks(
            self, settings.n_estimators, X=X, y=y, metadata=metadata
        )
        with _unchanged_on_failure(self):
            columns = frames.columns(
                self,
                X,
                reset=True,
                categorical_feature=settings.categorical_feature,
            )
            target = self._encode_target(_one_column(self, y, columns.n_rows))
            weight = self._weights(sample_weight, target)
            rows, target, row_weight = _existing_rows(target, weight)
            settings = self._with_objective(settings)
            objective = objectives.make(settings, target, row_weight, self._n_classes)
            dataset = Dataset.build(
                columns, settings, weight=weight, rows=rows, n_threads=n_threads
            )
            hooks.begin()
            self._ensemble = boosting.train(
                dataset, objective, settings, n_threads, after_round=hooks.after_round
            )
            hooks.end()
        return self

    @property
    def _n_classes(self) -> int | None:
        return None

    def _encode_target(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """The target as numbers."""
        try:
            return y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"y must be numbers for {type(self).__name__}; labels are learned by"
                f" LGBMClassifier. {error}."
            ) from error

    def _weights(
        self, sample_weight: ArrayLike | None, target: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """The weight of every row; None where all are 1."""
        if self.class_weight is not None:
            raise ValueError(
                f"The 'class_weight' parameter of {type(self).__name__} must be None:"
                " there are no classes. Use the argument sample_weight of fit."
            )
        if sample_weight is None:
            return None
        return _compat.sample_weights(sample_weight, target)

    def _with_objective(self, settings: Any) -> Any:
        """The settings with the objective's own name, remembered for predictions."""
        objective = settings.objective or self._default_objective()
        if not callable(objective):
            objective = objectives.canonical_name(objective)
            self._check_objective(objective)
        self._objective, self._sigmoid = objective, settings.sigmoid
        return dataclasses.replace(settings, objective=objective)

    def _default_objective(self) -> str:
        raise ValueError(
            f"The 'objective' parameter of {type(self).__name__} must be given."
            " LGBMClassifier and LGBMRegressor choose one."
        )

    def _check_objective(self, name: str) -> None:
        if name in _MANY_CLASSES or name == "binary":
            raise ValueError(
                f"objective={name!r} is for classes: {type(self).__name__} learns"
                " numbers. Use LGBMClassifier."
            )

    def predict(
        self,
        X: ArrayLike,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[Any]:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            With the columns of ``fit``, in the same order.
        raw_score : bool, default=False
            Whether to return the sums of the trees' values as they are.
        start_iteration : int, default=0
            The first round to use.
        num_iteration : int, default=None
            The number of rounds to use; None or <= 0: all that follow.
        pred_leaf : bool, default=False
            Whether to return the number of the leaf that each tree sorts a row into.
        validate_features : bool, default=False
            Accepted for scripts that carry it; names are always checked.
        **kwargs
            ``n_jobs``, or another name of it: the number of threads, instead of the
            estimator's own.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_trees) for leaves
        """
        return self._output(
            X, raw_score, start_iteration, num_iteration, pred_leaf, kwargs
        )

    def _output(
        self,
        X: ArrayLike,
        raw_score: bool,
        start_iteration: int,
        num_iteration: int | None,
        pred_leaf: bool,
        kwargs: Mapping[str, Any],
    ) -> NDArray[Any]:
        """Leaves, raw scores or the objective's predictions; one score: one axis."""
        ensemble = self._fitted("_ensemble")
        n_threads = _compat.n_threads(
            parameters.n_jobs(kwargs, self.n_jobs, type(self).__name__)
        )
        columns = frames.columns(self, X, reset=False)
        span = self._span(start_iteration, num_iteration)
        if pred_leaf:
            return ensemble.leaves(columns, *span, n_threads)
        scores = ensemble.raw_scores(columns, *span, n_threads)
        if not raw_score:
            scores = objectives.make_link(self._objective, self._sigmoid)(scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _span(self, start: int, length: int | None) -> tuple[int, int]:
        """The rounds that LightGBM's two arguments stand for."""
        n_rounds = self._ensemble.n_rounds
        start = min(max(start, 0), n_rounds)
        if length is None or length <= 0:
            return start, n_rounds
        return start, min(start + length, n_rounds)

    def _fitted(self, name: str) -> Any:
        """An attribute that fit sets; NotFittedError before."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return getattr(self, name)

    @property
    def n_features_(self) -> int:
        """The number of columns of ``X`` in ``fit``."""
        return self._fitted("n_features_in_")

    @property
    def n_estimators_(self) -> int:
        """The number of rounds."""
        return self._fitted("_ensemble").n_rounds

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        return self.n_estimators_

    @property
    def best_iteration_(self) -> int:
        """The number of rounds that early stopping kept; 0 without it."""
        self._fitted("_ensemble")
        return 0

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """The last metrics by evaluation set; empty without any."""
        self._fitted("_ensemble")
        return {}

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """The metrics of all rounds by evaluation set; empty without any."""
        self._fitted("_ensemble")
        return {}

    @property
    def fitted_(self) -> bool:
        """Whether ``fit`` has succeeded."""
        return self.__sklearn_is_fitted__()

    @property
    def objective_(self) -> str | Callable[..., Any]:
        """The objective's one name, or the function."""
        return self._fitted("_objective")

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """The importance of each column, by ``importance_type``; not normalised."""
        ensemble = self._fitted("_ensemble")
        return ensemble.importances(parameters.value(self, "importance_type"))

    @property
    def feature_name_(self) -> list[str]:
        """The names of the columns; 'Column_0' and so on if ``X`` had none."""
        n_features = self._fitted("n_features_in_")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"Column_{i}" for i in range(n_features)]
        return names.tolist()


def _one_column(estimator: LGBMModel, y: Any, n_rows: int) -> NDArray[Any]:
    """The target as a finite array of shape (n_rows,), of any dtype."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but"
            " the target y is None."
        )
    y = column_or_1d(y, warn=True)
    try:
        assert_all_finite(y, input_name="y")
    except TypeError as error:  # what a missing value of pandas answers
        raise ValueError(f"Input y contains missing values: {error}.") from error
    if len(y) != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples:"
            f" {[n_rows, len(y)]}"
        )
    return y


def _existing_rows(
    target: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64], NDArray[np.float64] | None]:
    """The numbers of the rows with a weight, None for all; and what belongs to them."""
    if weight is None:
        return None, target, None
    rows = None
    if not weight.all():
        rows = np.flatnonzero(weight)
        target, weight = target[rows], weight[rows]
    return rows, target, None if (weight == 1).all() else weight


@parameters.documented
class LGBMRegressor(RegressorMixin, LGBMModel):
    """Gradient boosted trees for a numeric target.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of ``X`` in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names; only if all names are strings.
    n_iter_ : int
        The number of rounds.
    objective_ : str or callable
        The objective's one name, or the function.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By ``importance_type``; not normalised.

    References
    ----------
    G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree",
    NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LGBMRegressor(n_estimators=30).fit(X, y).predict(X).shape
    (442,)
    """

    def _default_objective(self) -> str:
        return "regression"


@parameters.documented
class LGBMClassifier(ClassifierMixin, LGBMModel):
    """Gradient boosted trees for classes.

    Labels may be of any kind. Two classes are learned by one tree a round, more by one
    tree a class and round; a single class is learned, too.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; those of rows without weight included.
    n_classes_ : int
        Their number.
    n_features_in_ : int
        The number of columns of ``X`` in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names; only if all names are strings.
    n_iter_ : int
        The number of rounds.
    objective_ : str or callable
        The objective's one name, or the function.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By ``importance_type``; not normalised.

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

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self._fitted("_classes")

    @property
    def n_classes_(self) -> int:
        """The number of labels."""
        return len(self.classes_)

    @property
    def _n_classes(self) -> int:
        return len(self._classes)

    def _encode_target(self, y: NDArray[Any]) -> NDArray[np.float64]:
        try:
            check_classification_targets(y)
            self._classes, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            message = f"y must be labels that can be sorted: {error}."
            raise ValueError(message) from error
        return codes.astype(np.float64)

    def _weights(
        self, sample_weight: ArrayLike | None, target: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return super()._weights(sample_weight, target)
        weight = _compat.sample_weights(
            1.0 if sample_weight is None else sample_weight, target
        )
        return weight * self._class_weights(target, weight)[target.astype(np.intp)]

    def _class_weights(
        self, target: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The weight of each class. 'balanced' counts rows by their weights."""
        codes = target.astype(np.intp)
        if isinstance(self.class_weight, str):
            mass = np.bincount(codes, weight, minlength=self._n_classes)
            present = mass > 0
            share = mass.sum() / present.sum()
            return np.divide(share, mass, out=np.zeros_like(mass), where=present)
        by_class = compute_class_weight(
            self.class_weight, classes=self._classes, y=self._classes[codes]
        )
        if not (np.isfinite(by_class) & (by_class >= 0)).all() or not by_class.any():
            raise ValueError(
                "The 'class_weight' parameter of LGBMClassifier must hold finite"
                f" weights >= 0, not all zero. Got {self.class_weight!r} instead."
            )
        return by_class

    def _default_objective(self) -> str:
        return "binary" if self._n_classes <= 2 else "multiclass"

    def _check_objective(self, name: str) -> None:
        allowed = _TWO_CLASSES if self._n_classes <= 2 else _MANY_CLASSES
        if name not in allowed:
            raise ValueError(
                f"objective={name!r} cannot learn the {self._n_classes} classes of y."
                f" Use one of {', '.join(map(repr, allowed))}, or None to let the"
                " number of classes decide."
            )

    def predict(
        self,
        X: ArrayLike,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            With the columns of ``fit``, in the same order.
        raw_score : bool, default=False
            Whether to return the sums of the trees' values as they are.
        start_iteration : int, default=0
            The first round to use.
        num_iteration : int, default=None
            The number of rounds to use; None or <= 0: all that follow.
        pred_leaf : bool, default=False
            Whether to return the number of the leaf that each tree sorts a row into.
        validate_features : bool, default=False
            Accepted for scripts that carry it; names are always checked.
        **kwargs
            ``n_jobs``, or another name of it: the number of threads, instead of the
            estimator's own.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; for ``raw_score``, ``pred_leaf`` and an objective of the user's own
            what ``predict_proba`` returns.
        """
        output = self.predict_proba(
            X,
            raw_score,
            start_iteration,
            num_iteration,
            pred_leaf,
            validate_features,
            **kwargs,
        )
        if raw_score or pred_leaf or callable(self._objective):
            return output
        return self._classes[output.argmax(axis=1)]

    def predict_proba(
        self,
        X: ArrayLike,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[Any]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            With the columns of ``fit``, in the same order.
        raw_score : bool, default=False
            Whether to return the sums of the trees' values as they are.
        start_iteration : int, default=0
            The first round to use.
        num_iteration : int, default=None
            The number of rounds to use; None or <= 0: all that follow.
        pred_leaf : bool, default=False
            Whether to return the number of the leaf that each tree sorts a row into.
        validate_features : bool, default=False
            Accepted for scripts that carry it; names are always checked.
        **kwargs
            ``n_jobs``, or another name of it: the number of threads, instead of the
            estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The columns in the order of ``classes_``. 'multiclassova' gives each class
            a probability of its own: they do not sum to 1. Raw scores have shape
            (n_samples,) for one or two classes; so has what an objective of the user's
            own predicts, which is raw scores, with a warning. Leaves have shape
            (n_samples, n_trees).
        """
        output = self._output(
            X, raw_score, start_iteration, num_iteration, pred_leaf, kwargs
        )
        if raw_score or pred_leaf:
            return output
        if callable(self._objective):
            warnings.warn(
                "Cannot compute class probabilities or labels due to the usage of"
                " customized objective function.\nReturning raw scores instead.",
                stacklevel=2,
            )
            return output
        return output if output.ndim == 2 else self._both_classes(output)

    def _both_classes(self, positive: NDArray[np.float64]) -> NDArray[np.float64]:
        """One column a class; a single class is the one that is not the positive."""
        proba = np.empty((len(positive), 2))
        proba[:, 1] = positive
        np.subtract(1.0, positive, out=proba[:, 0])
        return proba[:, : self._n_classes]

    def decision_function(
        self,
        X: ArrayLike,
        *,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """The raw scores of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            With the columns of ``fit``, in the same order.
        start_iteration : int, default=0
            The first round to use.
        num_iteration : int, default=None
            The number of rounds to use; None or <= 0: all that follow.
        validate_features : bool, default=False
            Accepted for scripts that carry it; names are always checked.
        **kwargs
            ``n_jobs``, or another name of it: the number of threads, instead of the
            estimator's own.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two
        """
        return self._output(X, True, start_iteration, num_iteration, False, kwargs)
