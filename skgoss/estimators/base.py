"""The estimators: scikit-learn's interface, without the algorithm."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skgoss.booster.booster import Booster
from skgoss.data import frames, queries, targets
from skgoss.data.columns import Columns
from skgoss.data.row_partition import Parts, RowPartition
from skgoss.estimators import html_summary
from skgoss.estimators import state as persistence
from skgoss.fit import fit as fitting
from skgoss.fit.arguments import FitArguments, GivenSet
from skgoss.model import predictions
from skgoss.model.ensemble import Ensemble
from skgoss.model.estimator_record import Origin, changed
from skgoss.parameters import docstrings
from skgoss.parameters import settings as parameters
from skgoss.utils import compat
from skgoss.utils.messages import type_name

if TYPE_CHECKING:
    import shap

Metrics = str | Callable[..., Any] | Iterable[str | Callable[..., Any]]

# What ``init_model`` may be.
EarlierModel = Union["LGBMModel", Booster, str, PathLike[str]]

MANY_CLASSES = ("multiclass", "multiclassova")


@parameters.documented
class LGBMModel(compat.CallbackSupportMixin, compat.SummaryMixin, BaseEstimator):
    """Gradient boosted trees: base class of the estimators.

    Use `LGBMClassifier`, `LGBMRegressor` or `LGBMRanker` instead, unless you need an
    estimator for any numeric target. This class has no default ``objective``, and does
    not accept objectives for more than two classes.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    LGBMClassifier : Classification.
    LGBMRegressor : Regression.
    LGBMRanker : Ranking.

    References
    ----------
    G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree",
    NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMModel
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LGBMModel(objective="poisson", n_estimators=30).fit(X, y).predict(X).shape
    (442,)
    """

    # What fit sets.
    _booster: Booster
    _history: dict[str, dict[str, list[float]]]

    # What the class is for, and the tasks of the models that it reads.
    _tasks: tuple[str, ...] = ("any", "regression", "ranking")

    # Whether the trees are of another library: see `Origin`.
    _is_foreign: bool = False

    # Whether functions of the user are f(predictions, dataset), as those of `train`. No
    # other estimator could call these, so models do not remember them.
    _functions_take_dataset: bool = False

    # The unknown parameters that the constructor was given: see `get_params`.
    _unused_params: Mapping[str, Any] = MappingProxyType({})

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
        pos_bagging_fraction: float = 1.0,
        neg_bagging_fraction: float = 1.0,
        bagging_by_query: bool = False,
        data_sample_strategy: str = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        drop_rate: float = 0.1,
        max_drop: int = 50,
        skip_drop: float = 0.5,
        uniform_drop: bool = False,
        xgboost_dart_mode: bool = False,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
        max_bin: int = 255,
        max_bin_by_feature: Iterable[int] | Mapping[Any, int] | str | None = None,
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
        linear_tree: bool = False,
        linear_lambda: float = 0.0,
        path_smooth: float = 0.0,
        extra_trees: bool = False,
        feature_fraction_bynode: float = 1.0,
        feature_contri: Iterable[float] | Mapping[Any, float] | str | None = None,
        monotone_constraints: Iterable[int] | Mapping[Any, int] | str | None = None,
        monotone_constraints_method: str = "basic",
        monotone_penalty: float = 0.0,
        interaction_constraints: Iterable[Iterable[str | int]] | str | None = None,
        forcedsplits_filename: Mapping[str, Any] | str | PathLike[str] | None = None,
        boost_from_average: bool = True,
        reg_sqrt: bool = False,
        is_unbalance: bool = False,
        scale_pos_weight: float = 1.0,
        sigmoid: float = 1.0,
        alpha: float = 0.9,
        fair_c: float = 1.0,
        poisson_max_delta_step: float = 0.7,
        tweedie_variance_power: float = 1.5,
        lambdarank_truncation_level: int = 30,
        lambdarank_norm: bool = True,
        label_gain: Iterable[float] | None = None,
        metric: str
        | Callable[..., Any]
        | Iterable[str | Callable[..., Any]]
        | None = None,
        multi_error_top_k: int = 1,
        auc_mu_weights: Iterable[float] | None = None,
        eval_at: int | Iterable[int] = (1, 2, 3, 4, 5),
        early_stopping_round: int | None = None,
        first_metric_only: bool = False,
        early_stopping_min_delta: float | Iterable[float] = 0.0,
        validation_fraction: float = 0.1,
        refit: bool = False,
        data_random_seed: int | None = None,
        bagging_seed: int | None = None,
        feature_fraction_seed: int | None = None,
        extra_seed: int | None = None,
        objective_seed: int | None = None,
        drop_seed: int | None = None,
        verbosity: int = -1,
        deterministic: bool = False,
        force_col_wise: bool = False,
        force_row_wise: bool = False,
        **kwargs: Any,
    ) -> None:
        before = dict(vars(self))
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
        self.pos_bagging_fraction = pos_bagging_fraction
        self.neg_bagging_fraction = neg_bagging_fraction
        self.bagging_by_query = bagging_by_query
        self.data_sample_strategy = data_sample_strategy
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.drop_rate = drop_rate
        self.max_drop = max_drop
        self.skip_drop = skip_drop
        self.uniform_drop = uniform_drop
        self.xgboost_dart_mode = xgboost_dart_mode
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.importance_type = importance_type
        self.max_bin = max_bin
        self.max_bin_by_feature = max_bin_by_feature
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
        self.linear_tree = linear_tree
        self.linear_lambda = linear_lambda
        self.path_smooth = path_smooth
        self.extra_trees = extra_trees
        self.feature_fraction_bynode = feature_fraction_bynode
        self.feature_contri = feature_contri
        self.monotone_constraints = monotone_constraints
        self.monotone_constraints_method = monotone_constraints_method
        self.monotone_penalty = monotone_penalty
        self.interaction_constraints = interaction_constraints
        self.forcedsplits_filename = forcedsplits_filename
        self.boost_from_average = boost_from_average
        self.reg_sqrt = reg_sqrt
        self.is_unbalance = is_unbalance
        self.scale_pos_weight = scale_pos_weight
        self.sigmoid = sigmoid
        self.alpha = alpha
        self.fair_c = fair_c
        self.poisson_max_delta_step = poisson_max_delta_step
        self.tweedie_variance_power = tweedie_variance_power
        self.lambdarank_truncation_level = lambdarank_truncation_level
        self.lambdarank_norm = lambdarank_norm
        self.label_gain = label_gain
        self.metric = metric
        self.multi_error_top_k = multi_error_top_k
        self.auc_mu_weights = auc_mu_weights
        self.eval_at = eval_at
        self.early_stopping_round = early_stopping_round
        self.first_metric_only = first_metric_only
        self.early_stopping_min_delta = early_stopping_min_delta
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.data_random_seed = data_random_seed
        self.bagging_seed = bagging_seed
        self.feature_fraction_seed = feature_fraction_seed
        self.extra_seed = extra_seed
        self.objective_seed = objective_seed
        self.drop_seed = drop_seed
        self.verbosity = verbosity
        self.deterministic = deterministic
        self.force_col_wise = force_col_wise
        self.force_row_wise = force_row_wise
        unused = parameters.complete(self, before, kwargs)
        if unused or self._unused_params:
            self._unused_params = unused

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        parameters.show_inherited(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Has no effect: no parameter is an estimator.

        Returns
        -------
        dict
            The parameter values by name. Unknown names that were passed to the
            constructor are included, although they have no effect.
        """
        return {**super().get_params(deep), **self._unused_params}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, by their names or aliases.

        Parameters
        ----------
        **params : dict
            Parameters of the estimator, as ``get_params`` lists them.

        Returns
        -------
        self
            The estimator.

        Raises
        ------
        ValueError
            If a name is unknown, or if two names of the same parameter have different
            values.
        """
        own = self.get_params(deep=False)
        options = parameters.canonical(params, self._owner, own)
        unused = {
            name: options.pop(name) for name in self._unused_params if name in options
        }
        super().set_params(**options)
        if unused:
            self._unused_params = {**self._unused_params, **unused}
        return self

    def __sklearn_clone__(self) -> Self:
        if not self._unused_params:
            return super().__sklearn_clone__()
        # The constructor warned of the unknown names; cloning must not warn again.
        plain = copy.copy(self)
        del plain._unused_params
        cloned = super(LGBMModel, plain).__sklearn_clone__()
        cloned._unused_params = {
            name: clone(value, safe=False)
            for name, value in self._unused_params.items()
        }
        return cloned

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_booster" in vars(self)

    def _html_summary(self) -> str:
        fitted = self.__sklearn_is_fitted__()
        return html_summary.summary(self._booster) if fitted else ""

    def __getstate__(self) -> dict[str, Any]:
        return persistence.plain(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        owner = type(self).__name__
        super().__setstate__(persistence.restored(state, owner, self._tasks[0]))
        if self.__sklearn_is_fitted__():
            self._booster = self._booster._with_origin(Origin.of(self, self._history))

    @classmethod
    def from_file(
        cls, path: str | PathLike[str], *, classes: ArrayLike | None = None
    ) -> Self:
        """Read a fitted estimator from a file in LightGBM's text format.

        Files that ``to_file`` or ``Booster.save_model`` of skgoss wrote hold the whole
        estimator: parameters, classes, column names, categories and the metrics of all
        rounds. Files of LightGBM hold the trees, the objective and the column names.

        Parameters
        ----------
        path : str or path
            The file.
        classes : array-like of shape (n_classes,), default=None
            For a classifier and a file of LightGBM: the labels, in the order of
            LightGBM's class numbers. None: the labels are 0, 1 and so on.

        Returns
        -------
        estimator
            A fitted estimator of this class.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the file is not a valid model, if its model is for another task, or if
            ``classes`` has the wrong length.
        """
        return cls.from_booster(Booster(model_file=path), classes=classes)

    @classmethod
    def from_booster(
        cls, booster: Booster, *, classes: ArrayLike | None = None
    ) -> Self:
        """Make a fitted estimator from a Booster.

        Parameters
        ----------
        booster : Booster
            The model.
        classes : array-like of shape (n_classes,), default=None
            The labels, as in ``from_file``.

        Returns
        -------
        estimator
            A fitted estimator of this class.
        """
        return persistence.estimator(cls, booster, classes)

    def to_file(self, path: str | PathLike[str]) -> Self:
        """Write the fitted estimator to a file in LightGBM's text format.

        ``from_file`` reads the file. LightGBM reads it, too.

        Parameters
        ----------
        path : str or path
            The file; an earlier one is replaced.

        Returns
        -------
        self
            The estimator.

        See Also
        --------
        Booster.save_model : Errors and warnings; files with some of the rounds.
        """
        self.booster_._with_origin(Origin.of(self, self._history)).save_model(
            path, num_iteration=-1
        )
        return self

    @compat.with_callbacks
    @docstrings.of_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        group: ArrayLike | None = None,
        eval_set: Sequence[Any] | None = None,
        eval_names: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_class_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
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
        qid: ArrayLike | None = None,
        eval_qid: Any = None,
    ) -> Self:
        return self._fit(X, y, FitArguments.of(locals()))

    def _fit(self, X: Any, y: Any, given: FitArguments) -> Self:
        fitting.fit(self, X, y, given)
        return self

    @property
    def _owner(self) -> str:
        """The name in messages."""
        return type(self).__name__

    def _as_remembered(self) -> LGBMModel:
        """The estimator whose attributes models and their files keep."""
        return self

    def _given_parameters(self) -> dict[str, Any]:
        """The parameters that the user has given."""
        return changed(self)

    def _queries(
        self, n_rows: int, group: Any, qid: Any, prefix: str, parts: Parts | None = None
    ) -> queries.Queries | None:
        if group is None and qid is None:
            return None
        return queries.make(n_rows, group=group, qid=qid, prefix=prefix, parts=parts)

    def _earlier_model(self, model: Any) -> Booster | None:
        """The model that ``init_model`` stands for."""
        if isinstance(model, str | PathLike):
            return Booster(model_file=model)
        if isinstance(model, LGBMModel):
            return model._fitted("_booster")
        if model is None or isinstance(model, Booster):
            return model
        raise TypeError(
            "init_model must be a fitted estimator or a Booster of skgoss, or the path"
            f" of a model file, got {type_name(model)}."
        )

    @property
    def _n_classes(self) -> int | None:
        """The number of classes; None if the target holds numbers."""
        return None

    @property
    def _n_scores(self) -> int:
        """The number of trees of a round."""
        return 1

    def _learn_target(self, y: NDArray[Any], parts: Parts | None = None) -> None:
        """Set the classes from the target."""

    def _encoded(self, y: NDArray[Any], given: GivenSet) -> NDArray[np.float64]:
        """The target as numbers."""
        return targets.numbers(y, self._owner, given.target_name)

    def _weights(
        self,
        sample_weight: ArrayLike | None,
        target: NDArray[np.float64],
        class_weight: Any = None,
        prefix: str = "",
        partition: RowPartition | None = None,
    ) -> NDArray[np.float64] | None:
        """The weight of each row; None if all are 1."""
        if class_weight is not None:
            raise ValueError(
                f"The '{prefix}class_weight' parameter of {self._owner} must be"
                " None: there are no classes. Use the argument"
                f" {prefix}sample_weight of fit."
            )
        return targets.weights(sample_weight, None, target, None, prefix, partition)

    def _default_objective(self) -> str | None:
        """The objective if the user gives none; None if the user must give one."""
        return None

    def _check_objective(self, name: str) -> None:
        if name in MANY_CLASSES:
            raise ValueError(
                f"objective={name!r} is for classification, but {self._owner} predicts"
                " numbers. Use LGBMClassifier."
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
        """Predict the target.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_trees) for ``pred_leaf``
            The predictions. With ``raw_score``, ``pred_leaf``, ``pred_contrib`` or
            ``pred_interactions``: raw scores, indices of leaves or SHAP values.
        """
        output = predictions.kind(raw_score, pred_leaf, pred_contrib, pred_interactions)
        return self._output(
            X, output, start_iteration, num_iteration, validate_features, kwargs
        )

    def _output(
        self,
        X: ArrayLike,
        output: predictions.Output,
        start_iteration: int,
        num_iteration: int | None,
        validate_features: bool,
        kwargs: Mapping[str, Any],
    ) -> Any:
        """The output for rows: see `Booster.predict`."""
        booster = self._fitted("_booster")
        if validate_features and self._is_foreign:
            booster._check_names(X)
        n_jobs = parameters.n_jobs(kwargs, self.n_jobs, self._owner)
        columns = self._columns(X)
        return booster._predict(columns, output, start_iteration, num_iteration, n_jobs)

    @docstrings.of_stages("the target", "(n_samples,)")
    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        return self._staged(X)

    def _staged(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """The output after each round; errors come at once, and not with the first."""
        booster = self._fitted("_booster")
        n_jobs = parameters.n_jobs({}, self.n_jobs, self._owner)
        return booster._staged(self._columns(X), n_jobs)

    @docstrings.of_prediction
    def explain(
        self,
        X: ArrayLike,
        *,
        interactions: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        **kwargs: Any,
    ) -> shap.Explanation:
        """Compute SHAP values as an input of the plots of the package shap.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        shap.Explanation
            ``values`` has the shape (n_samples, n_features), or (n_samples, n_features,
            n_features) for interactions. For more than two classes, the classes are an
            additional last axis. The values of a row sum to its raw score minus
            ``base_values``.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        booster = self._fitted("_booster")
        n_jobs = parameters.n_jobs(kwargs, self.n_jobs, self._owner)
        span = booster._span(start_iteration, num_iteration)
        return booster._explain(
            self._columns(X), X, interactions, span, n_jobs, self._names_of_outputs()
        )

    def _columns(self, X: ArrayLike) -> Columns:
        """The columns of rows to predict."""
        persistence.check_unchanged(vars(self))
        return frames.columns(self, X, reset=False, by_name=not self._is_foreign)

    def _names_of_outputs(self) -> list[str] | None:
        """The names of the scores, if there are several."""
        return None

    def _fitted(self, name: str) -> Any:
        """An attribute that fit sets; NotFittedError if the model is not fitted."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return getattr(self, name)

    @property
    def booster_(self) -> Booster:
        """The trained model, without the estimator."""
        return self._fitted("_booster")

    @property
    def _ensemble(self) -> Ensemble:
        return self._booster._ensemble

    @property
    def n_features_(self) -> int:
        """Number of columns of ``X`` in ``fit``."""
        return self._fitted("n_features_in_")

    @property
    def n_estimators_(self) -> int:
        """Number of rounds of the model."""
        return self._fitted("_booster").current_iteration()

    @property
    def n_iter_(self) -> int:
        """Number of rounds of the model."""
        return self.n_estimators_

    @property
    def best_iteration_(self) -> int:
        """Number of rounds that early stopping kept. 0 without early stopping."""
        return self._fitted("_booster").best_iteration

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """Metrics by evaluation set and name.

        They are those of the best round after early stopping, or else of the last
        round.
        """
        return self._fitted("_booster").best_score

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """Metrics of all rounds by evaluation set and name."""
        return self._fitted("_history")

    @property
    def fitted_(self) -> bool:
        """Whether the model is fitted."""
        return self.__sklearn_is_fitted__()

    @property
    def objective_(self) -> str | Callable[..., Any] | None:
        """The objective: a name or a function. None if a file holds no objective."""
        return self._fitted("_booster")._objective

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importances of the columns, as ``importance_type`` says; not normalised."""
        ensemble = self._fitted("_booster")._ensemble
        kind = parameters.checked_value(
            "importance_type", self.importance_type, self._owner
        )
        return ensemble.importances(kind)

    @property
    def feature_name_(self) -> list[str]:
        """Names of the columns; 'Column_0', 'Column_1', ... if ``X`` has no names."""
        return self._fitted("_booster").feature_name()
