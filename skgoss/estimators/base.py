"""The estimators: scikit-learn's interface, without the algorithm."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, Union, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skgoss import parameters
from skgoss.booster.booster import Booster, ShownBoosters, init_model
from skgoss.columns.columns import Columns
from skgoss.estimators import state as states
from skgoss.estimators.fitted_attributes import FittedAttributes
from skgoss.fit import memory, warm_start
from skgoss.fit.arguments import FitArguments, InputSet, input_sets
from skgoss.fit.fit import AfterRound, BuildBins
from skgoss.fit.task import Task
from skgoss.model import explanation, intervals, predictions
from skgoss.model.fitted import EstimatorRecord, FittedModel, constructor_defaults
from skgoss.model.predictions import RowReader
from skgoss.objectives.literal_types import MetricName, ObjectiveName
from skgoss.parameters import docstrings, other_libraries, presets, signatures
from skgoss.parameters.settings import Settings
from skgoss.several_fits import entry
from skgoss.several_fits.entry import AnyFit
from skgoss.utils import sklearn_private, thread_counts
from skgoss.utils.locks import OnlyUser
from skgoss.utils.messages import ForeignConstructor, MissingNameHints, warn
from skgoss.utils.public import set_module

if TYPE_CHECKING:
    import shap

MYPY = False  # for mypy, it is True

Metric = MetricName | str | Callable[..., Any]
Metrics = Metric | Iterable[Metric]

# From the predictions of a model to what a method returns.
Finish = Callable[[FittedModel, NDArray[np.float64], int], Any]

# A model, and the attributes that callbacks have set.
Result = tuple[FittedModel, dict[str, Any]]

# What ``init_model`` may be.
EarlierModel = Union["LGBMModel", Booster, str, PathLike[str]]


@set_module("skgoss")
@signatures.keywords_only
@docstrings.describe_chain("The estimator.")
@docstrings.describe_estimator
class LGBMModel(
    FittedAttributes,
    sklearn_private.CallbackSupportMixin,
    sklearn_private.SummaryMixin,
    MissingNameHints,
    BaseEstimator,
):
    """Gradient boosted trees: base class of the estimators.

    Use `LGBMClassifier`, `LGBMRegressor` or `LGBMRanker` instead, unless you need an
    estimator for any numeric target. This class has no default ``objective``, and does
    not accept objectives for more than two classes.

    Parameters
    ----------
    ... : all options, which ``help`` and docs/parameters.md describe

    Attributes
    ----------
    ... : attributes of the fitted model, which ``help`` describes

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

    # Groups are for the splitter of a search or a cross-validation, unless a fit asks
    # for them: ``set_fit_request(groups=True)``.
    __metadata_request__fit = {"groups": False}  # noqa: RUF012

    _alternatives = other_libraries.ESTIMATOR_HINTS

    # What the estimator learns.
    _task: type[Task] = Task

    # What its predictions are made of.
    _prediction: predictions.PredictionKind = "prediction"

    # The unknown names that were passed to the constructor, which `get_params` returns.
    _unused_params: Mapping[str, Any] = MappingProxyType({})

    # The options that were passed to the constructor or to `set_params`.
    _passed: tuple[str, ...] = ()

    # The `SharedFits` of the search that fits this estimator, or None.
    _shared: Any = None

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    # The model that fit returned, and its Booster, which is made on demand.
    _fitted: FittedModel
    _booster: Booster

    def __init__(  # noqa: PLR0915
        self,
        *,
        objective: ObjectiveName | str | Callable[..., Any] | None = None,
        preset: Literal["fast", "accurate", "best"] | None = None,
        n_estimators: int = 100,
        early_stopping_round: int | None = None,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        colsample_bytree: float = 1.0,
        subsample: float = 1.0,
        reg_lambda: float = 0.0,
        categorical_feature: Literal["auto"]
        | str
        | Iterable[str | int]
        | None = "auto",
        n_jobs: int | None = None,
        boosting_type: Literal[
            "gbdt", "gbrt", "dart", "rf", "random_forest", "goss"
        ] = "gbdt",
        max_depth: int = -1,
        min_split_gain: float = 0.0,
        min_child_weight: float = 0.001,
        max_delta_step: float = 0.0,
        path_smooth: float = 0.0,
        extra_trees: bool = False,
        multi_strategy: Literal[
            "one_output_per_tree", "multi_output_tree"
        ] = "one_output_per_tree",
        linear_tree: bool = False,
        pair_features: bool | Literal["sums", "products"] = False,
        date_features: Literal["auto", False] | Sequence[str] = "auto",
        linear_lambda: float = 0.0,
        reg_alpha: float = 0.0,
        boost_from_average: bool = True,
        forcedsplits_filename: Mapping[str, Any] | str | PathLike[str] | None = None,
        importance_type: Literal["split", "gain", "cover"] = "split",
        subsample_freq: int = 0,
        pos_bagging_fraction: float = 1.0,
        neg_bagging_fraction: float = 1.0,
        bagging_by_query: bool = False,
        data_sample_strategy: Literal["bagging", "goss"] = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        feature_fraction_bynode: float = 1.0,
        feature_contri: Iterable[float] | Mapping[Any, float] | str | None = None,
        drop_rate: float = 0.1,
        max_drop: int = 50,
        skip_drop: float = 0.5,
        uniform_drop: bool = False,
        xgboost_dart_mode: bool = False,
        subsample_for_bin: int = 200000,
        max_bin: int = 255,
        max_bin_by_feature: Iterable[int] | Mapping[Any, int] | str | None = None,
        forcedbins_filename: Iterable[Mapping[str, Any]]
        | Mapping[Any, Iterable[float]]
        | str
        | PathLike[str]
        | None = None,
        min_data_in_bin: int = 3,
        use_missing: bool = True,
        zero_as_missing: bool = False,
        feature_pre_filter: bool = True,
        enable_bundle: bool = True,
        max_conflict_rate: float = 0.0,
        is_enable_sparse: bool = True,
        max_cat_to_onehot: int = 4,
        max_cat_threshold: int = 32,
        cat_smooth: float = 10.0,
        cat_l2: float = 10.0,
        min_data_per_group: int = 100,
        monotone_constraints: Iterable[int] | Mapping[Any, int] | str | None = None,
        monotone_constraints_method: Literal[
            "basic", "intermediate", "advanced"
        ] = "basic",
        monotone_penalty: float = 0.0,
        interaction_constraints: Literal["pairwise", "no_interactions"]
        | str
        | Iterable[Iterable[str | int]]
        | None = None,
        class_weight: Literal["balanced"]
        | Mapping[Any, float]
        | Sequence[Any]
        | None = None,
        is_unbalance: bool = False,
        scale_pos_weight: float = 1.0,
        reg_sqrt: bool = False,
        sigmoid: float = 1.0,
        alpha: float | Iterable[float] = 0.9,
        fair_c: float = 1.0,
        poisson_max_delta_step: float = 0.7,
        tweedie_variance_power: float = 1.5,
        lambdarank_truncation_level: int = 30,
        lambdarank_norm: bool = True,
        lambdarank_position_bias_regularization: float = 0.0,
        label_gain: Iterable[float] | None = None,
        metric: Metrics | None = None,
        multi_error_top_k: int = 1,
        auc_mu_weights: Iterable[float] | None = None,
        eval_at: int | Iterable[int] = (1, 2, 3, 4, 5),
        first_metric_only: bool = False,
        early_stopping_min_delta: float | Iterable[float] = 0.0,
        validation_fraction: float = 0.1,
        refit: bool = False,
        folds: Any = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        data_random_seed: int | None = None,
        bagging_seed: int | None = None,
        feature_fraction_seed: int | None = None,
        extra_seed: int | None = None,
        objective_seed: int | None = None,
        drop_seed: int | None = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        memory_limit: float | None = None,
        verbosity: int = -1,
        deterministic: bool = False,
        force_col_wise: bool = False,
        force_row_wise: bool = False,
        **kwargs: Any,
    ) -> None:
        earlier = dict(vars(self))  # what a subclass has set
        self.objective = objective
        self.preset = preset
        self.n_estimators = n_estimators
        self.early_stopping_round = early_stopping_round
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.colsample_bytree = colsample_bytree
        self.subsample = subsample
        self.reg_lambda = reg_lambda
        self.categorical_feature = categorical_feature
        self.n_jobs = n_jobs
        self.boosting_type = boosting_type
        self.max_depth = max_depth
        self.min_split_gain = min_split_gain
        self.min_child_weight = min_child_weight
        self.max_delta_step = max_delta_step
        self.path_smooth = path_smooth
        self.extra_trees = extra_trees
        self.multi_strategy = multi_strategy
        self.linear_tree = linear_tree
        self.pair_features = pair_features
        self.date_features = date_features
        self.linear_lambda = linear_lambda
        self.reg_alpha = reg_alpha
        self.boost_from_average = boost_from_average
        self.forcedsplits_filename = forcedsplits_filename
        self.importance_type = importance_type
        self.subsample_freq = subsample_freq
        self.pos_bagging_fraction = pos_bagging_fraction
        self.neg_bagging_fraction = neg_bagging_fraction
        self.bagging_by_query = bagging_by_query
        self.data_sample_strategy = data_sample_strategy
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.feature_fraction_bynode = feature_fraction_bynode
        self.feature_contri = feature_contri
        self.drop_rate = drop_rate
        self.max_drop = max_drop
        self.skip_drop = skip_drop
        self.uniform_drop = uniform_drop
        self.xgboost_dart_mode = xgboost_dart_mode
        self.subsample_for_bin = subsample_for_bin
        self.max_bin = max_bin
        self.max_bin_by_feature = max_bin_by_feature
        self.forcedbins_filename = forcedbins_filename
        self.min_data_in_bin = min_data_in_bin
        self.use_missing = use_missing
        self.zero_as_missing = zero_as_missing
        self.feature_pre_filter = feature_pre_filter
        self.enable_bundle = enable_bundle
        self.max_conflict_rate = max_conflict_rate
        self.is_enable_sparse = is_enable_sparse
        self.max_cat_to_onehot = max_cat_to_onehot
        self.max_cat_threshold = max_cat_threshold
        self.cat_smooth = cat_smooth
        self.cat_l2 = cat_l2
        self.min_data_per_group = min_data_per_group
        self.monotone_constraints = monotone_constraints
        self.monotone_constraints_method = monotone_constraints_method
        self.monotone_penalty = monotone_penalty
        self.interaction_constraints = interaction_constraints
        self.class_weight = class_weight
        self.is_unbalance = is_unbalance
        self.scale_pos_weight = scale_pos_weight
        self.reg_sqrt = reg_sqrt
        self.sigmoid = sigmoid
        self.alpha = alpha
        self.fair_c = fair_c
        self.poisson_max_delta_step = poisson_max_delta_step
        self.tweedie_variance_power = tweedie_variance_power
        self.lambdarank_truncation_level = lambdarank_truncation_level
        self.lambdarank_norm = lambdarank_norm
        self.lambdarank_position_bias_regularization = (
            lambdarank_position_bias_regularization
        )
        self.label_gain = label_gain
        self.metric = metric
        self.multi_error_top_k = multi_error_top_k
        self.auc_mu_weights = auc_mu_weights
        self.eval_at = eval_at
        self.first_metric_only = first_metric_only
        self.early_stopping_min_delta = early_stopping_min_delta
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.folds = folds
        self.random_state = random_state
        self.data_random_seed = data_random_seed
        self.bagging_seed = bagging_seed
        self.feature_fraction_seed = feature_fraction_seed
        self.extra_seed = extra_seed
        self.objective_seed = objective_seed
        self.drop_seed = drop_seed
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.verbosity = verbosity
        self.deterministic = deterministic
        self.force_col_wise = force_col_wise
        self.force_row_wise = force_row_wise
        parameters.set_keyword_arguments(self, earlier, kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        parameters.show_inherited(cls)

    if not TYPE_CHECKING:  # else every name would be an attribute of the class
        load, load_model = ForeignConstructor(), ForeignConstructor()

        def __getattr__(self, name: str) -> Any:
            """The value of a parameter by one of its other names."""
            # Neither options nor names of other estimators are private.
            if name.startswith("_"):
                return object.__getattribute__(self, name)
            option = parameters.CANONICAL_NAME.get(name, name)
            if option == name or option not in vars(self):
                return super().__getattr__(name)
            return vars(self)[option]

    @classmethod
    @lru_cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

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

        Raises
        ------
        ValueError
            If a name is unknown.

        Warns
        -----
        UnusedParameterWarning
            If two names of the same parameter have different values.
        """
        parameters.check_available(params, self._owner)
        names = self.get_params(deep=False)
        # Aliases of the names in ALIASES_FIRST win over these names, if both are there.
        options = parameters.canonical(
            params, self._owner, names, parameters.ALIASES_FIRST
        )
        unknown = [name for name in options if name not in names and "__" not in name]
        if unknown:
            raise ValueError(
                f"Invalid parameter {unknown[0]!r} for estimator"
                f" {self._owner}.{parameters.suggestion(unknown[0])} Valid parameters"
                f" are: {sorted(names)}."
            )
        # Unknown names that the constructor got are not attributes: see `get_params`.
        unused = {
            name: options.pop(name) for name in self._unused_params if name in options
        }
        super().set_params(**options)
        parameters.remember_passed(self, options)
        if unused:
            self._unused_params = {**self._unused_params, **unused}
        return self

    @property
    def _owner(self) -> str:
        """The name in messages."""
        return type(self).__name__

    def __sklearn_clone__(self) -> Self:
        # The constructor warned of the unknown names; cloning must not warn again.
        plain = copy.copy(self)
        plain.__dict__.pop("_unused_params", None)
        # Copying the defaults, too, would take longer than a small prediction.
        changed = self._passed_parameters()
        plain.__dict__["get_params"] = lambda deep=False: changed
        cloned = super(LGBMModel, plain).__sklearn_clone__()
        cloned._passed = self._passed
        if self._shared is not None and self._shared.is_open:
            cloned._shared = self._shared
        if self._unused_params:
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

    # --- Fit --------------------------------------------------------------------------

    @sklearn_private.with_callbacks
    @docstrings.describe_fit
    @signatures.hint_fit_arguments
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
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The training rows. Numbers are not copied.
        y : array-like of shape (n_samples,)
            The targets: numbers.
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
            group=group,
            eval_set=eval_set,
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            eval_class_weight=eval_class_weight,
            eval_init_score=eval_init_score,
            eval_group=eval_group,
            eval_metric=eval_metric,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            callbacks=callbacks,
            init_model=init_model,
            eval_X=eval_X,
            eval_y=eval_y,
            early_stopping_round=early_stopping_rounds,
            verbose=verbose,
            qid=qid,
            eval_qid=eval_qid,
            groups=groups,
            time=time,
        )
        return self._fit(X, y, arguments)

    def _fit(self, X: Any, y: Any, arguments: FitArguments) -> Self:
        with reentry_guard(self):
            if arguments.verbose is not False:
                arguments = arguments.with_messages()
            settings = self._settings(X, arguments)
            if self._shared is not None and not getattr(self, "_skl_callbacks", ()):
                self._keep(*self._shared.model(self, X, y, arguments, settings))
                return self
            sets = input_sets(X, y, arguments, settings)
            if arguments.eval_metric is not None and len(sets) == 1:
                arguments.warn_if_nothing_is_evaluated(settings)
            if settings.warm_start:
                continued = self._continued(arguments, settings, sets)
                if continued is None:
                    return self
                arguments = continued
            has_callbacks = vars(self).keys() & sklearn_private.CALLBACK_ATTRIBUTES
            hooks = has_callbacks and self._round_hooks(X, y, arguments, settings)
            fit = self._prepare(sets, arguments, settings)
            # Values that only this fit holds are freed: the bins are enough.
            del X, y, arguments, sets
            if hooks:
                hooks.begin()
                self._keep(*model_of(fit, _round_reporter(hooks)))
                hooks.end()
            else:
                self._keep(*model_of(fit))
        return self

    @signatures.hint_arguments("estimate_memory")
    def estimate_memory(
        self,
        X: ArrayLike | tuple[int, int],
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        n_classes: int | None = None,
        eval_X: ArrayLike | tuple[int, int] | None = None,
    ) -> int:
        """Estimate the memory that ``fit`` needs in addition to ``X``, without a fit.

        Usually, it is within 20% of the peak. Some rows are binned to compute it.

        Parameters
        ----------
        X, y, sample_weight, eval_X : as in `fit`
            ``X`` and ``eval_X`` may be shapes: (n_samples, n_features) stands for
            columns of float64 without ties. If ``X`` is the path of a file, ``y`` is
            the name of the column that is the target.
        n_classes : int, default=None
            The number of classes if ``y`` is None. None: two.

        Returns
        -------
        int
            The number of bytes, with all ``n_estimators`` rounds. There is a ValueError
            with a ``preset``, which chooses its options while it runs.

        Examples
        --------
        >>> from skgoss import LGBMClassifier
        >>> round(LGBMClassifier(n_jobs=1).estimate_memory((1_000_000, 50)) / 1e6)  # MB
        155
        """
        settings = self._settings(X, FitArguments())
        if settings.preset is not None:
            raise ValueError(
                f"The memory of a fit with preset={settings.preset!r} is unknown before"
                " the fit: the preset chooses its options while it runs. Leave preset"
                " out and pass options, or set time_limit."
            )
        n_threads = thread_counts.n_threads(settings.n_jobs)
        task = self._task(type(self).__name__)
        target, y = (y, None) if isinstance(y, str) else (None, y)
        n_scores, n_outputs = memory.trees_of_round(settings, task, y, n_classes)
        layout, n_rows, settings = memory.layout_of(
            X, target, settings, task, n_threads
        )
        size = memory.FitSize(
            layout,
            settings.replaced(objective=settings.objective or task.default_objective),
            n_rows,
            n_threads,
            n_scores,
            n_outputs,
            0 if eval_X is None else memory.n_rows_of(eval_X),
            sample_weight is not None,
        )
        return memory.estimate(size)

    def _round_hooks(
        self, X: Any, y: Any, arguments: FitArguments, settings: Settings
    ) -> sklearn_private.RoundHooks:
        """What tells scikit-learn's callbacks, if there are any, of the rounds."""
        data = {"X": X, "y": y, "metadata": arguments.metadata}
        planned = warm_start.of_new_rounds(settings, arguments)
        n_rounds = presets.planned_rounds(planned)
        return sklearn_private.RoundHooks(self, n_rounds, data)

    def _settings(self, X: Any, arguments: FitArguments) -> Settings:
        """The checked options of a fit."""
        owner, explicit = type(self).__name__, self._passed_parameters()
        # Attributes that are assigned, as by scikit-learn's checks, need no warning.
        names = self._passed
        return arguments.checked_settings(vars(self), owner, X, explicit, names)

    def _continued(
        self, arguments: FitArguments, settings: Settings, sets: Sequence[InputSet]
    ) -> FitArguments | None:
        """The arguments of a fit with ``warm_start``; None if it has nothing to add."""
        warm_start.check(settings, arguments, sets)
        if not self.__sklearn_is_fitted__():
            return arguments
        self._check_unchanged()
        return warm_start.continued(self._model, arguments, settings)

    def _prepare(
        self,
        sets: Sequence[InputSet],
        arguments: FitArguments,
        settings: Settings,
        n_threads: int | None = None,
        build_bins: BuildBins | None = None,
    ) -> AnyFit:
        """A fit that has read its data: see `entry.prepare`."""
        earlier, record = arguments.init_model, self._record(settings.explicit)
        if arguments.continues:
            settings = warm_start.with_seeds(settings, earlier)
        prepare = partial(
            entry.prepare,
            sets,
            arguments,
            settings,
            self._task(type(self).__name__),
            init_model=earlier if earlier is None else init_model(earlier),
            record=record,
            n_threads=n_threads,
            build_bins=build_bins,
        )
        if not arguments.continues:
            return prepare()
        with warm_start.errors_of_continued_fit():
            return prepare()

    def _keep(
        self, model: FittedModel, of_callbacks: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Become the estimator of a model, in one assignment.

        Threads that predict meanwhile see the former model or this one. The Booster has
        the attributes that callbacks have set.
        """
        attributes = _fit_attributes(model)
        if of_callbacks:
            attributes["_booster"] = Booster._from_model(model)
            vars(attributes["_booster"]).update(of_callbacks)
        kept = dict(vars(self))
        for name in states.LEARNED:
            kept.pop(name, None)
        self.__dict__ = kept | attributes

    def _record(self, passed: Mapping[str, Any] | None = None) -> EstimatorRecord:
        """What models and their files keep of this estimator."""
        return EstimatorRecord(
            type(self).__name__,
            self._task.name,
            dict(self._passed_parameters() if passed is None else passed),
            dict(self._unused_params),
        )

    def _passed_parameters(self) -> dict[str, Any]:
        """The parameters that were passed, or differ from the defaults of the class."""
        estimator_class: type = type(self)
        values, changed = vars(self), {}
        for name, default in constructor_defaults(estimator_class).items():
            value = values.get(name, default)
            is_default = value is default or (
                type(value) is type(default) and np.array_equal(value, default)
            )
            if not is_default:
                changed[name] = value
        for name in self._passed:
            changed[name] = getattr(self, name)
        return changed

    # --- Predictions ------------------------------------------------------------------

    @overload
    def predict(
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
    ) -> NDArray[Any]: ...

    @overload
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
        to_parquet: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Any: ...

    @docstrings.describe_prediction
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
        to_parquet: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Predict the target.

        Parameters
        ----------
        ... : arguments, which ``help`` describes: the rows ``X``, what to predict
            (``raw_score``, leaves, SHAP values), which rounds (``start_iteration``,
            ``num_iteration``), and a file for rows in batches (``to_parquet``)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_trees) for ``pred_leaf``
            The predictions: numbers, or the labels of a classifier; of shape
            (n_samples, n_outputs) for several targets or quantiles. With ``raw_score``,
            ``pred_leaf``, ``pred_contrib`` or ``pred_interactions``: raw scores,
            indices of leaves or SHAP values. If the objective of a classifier is a
            function, the result is that of ``predict_proba``.
        """
        n_threads = self._n_threads(kwargs, LGBMModel.predict)
        output = predictions.kind(raw_score, pred_leaf, pred_contrib, pred_interactions)
        span = start_iteration, num_iteration
        return self._output(
            X, output, span, validate_features, n_threads, self._finish, to_parquet
        )

    def _finish(
        self, model: FittedModel, values: NDArray[np.float64], n_threads: int
    ) -> Any:
        """What ``predict`` returns for the model's predictions."""
        return values

    def _output(
        self,
        X: ArrayLike,
        output: predictions.PredictionKind,
        span: tuple[int, int | None],
        validate_features: bool,
        n_threads: int,
        finish: Finish,
        to_parquet: str | PathLike[str] | None = None,
    ) -> Any:
        """The output of the model for rows; ``finish`` gets predictions.

        ``span`` is the first round and the number of rounds.
        """
        model = self._model
        rounds = model.rounds(*span)

        def compute(columns: Columns) -> Any:
            asked = self._prediction if output == "prediction" else output
            values = predictions.compute(model, columns, asked, rounds, n_threads)
            if output != "prediction":
                return values
            return finish(model, values, n_threads)

        reader = self._reader(model, n_threads, validate_features)
        return reader.in_batches(X, compute, to_parquet)

    def _covering(
        self,
        model: FittedModel,
        X: ArrayLike,
        coverage: Any,
        n_threads: int,
        compute: Callable[[Columns, NDArray[np.float64], int], NDArray[Any]],
    ) -> NDArray[Any]:
        """Intervals or prediction sets; the last axis is that of several coverages."""
        coverages, is_one = intervals.checked_coverage(coverage)
        covering = self._reader(model, n_threads).in_batches(
            X, lambda columns: compute(columns, coverages, n_threads)
        )
        return covering[..., 0] if is_one else covering

    @docstrings.describe_prediction
    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Predict the target after each round.

        Each step only adds the trees of one round. This is faster than calling
        ``predict`` for each number of rounds.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        iterator of ndarray of shape (n_samples,)
            What ``predict(X, num_iteration=i + 1)`` returns, for i = 0, 1, ... A mean
            of the models of n folds has no prediction before the first round of each: i
            begins with n - 1.
        """
        return self._staged(X, self._finish)

    def _staged(self, X: ArrayLike, finish: Finish) -> Iterator[Any]:
        """The output after each round; errors come at once, and not with the first."""
        model = self._model
        n_threads = self._n_threads()
        columns = self._reader(model, n_threads).loaded(X)
        outputs = predictions.staged(model, columns, self._prediction, n_threads)
        return (finish(model, values, n_threads) for values in outputs)

    @docstrings.describe_prediction
    def explain(
        self,
        X: ArrayLike,
        *,
        interactions: bool = False,
        include_computed: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        **kwargs: Any,
    ) -> shap.Explanation:
        """Compute SHAP values as an input of the plots of the package shap.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        shap.Explanation
            ``values`` has the shape (n_samples, n_features), or (n_samples, n_features,
            n_features) for interactions. For more than two classes, or several
            quantiles, these are an additional last axis. The values of a row sum to its
            raw score minus ``base_values``.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        model = self._model
        n_threads = self._n_threads(kwargs, LGBMModel.explain)
        rounds = model.rounds(start_iteration, num_iteration)
        return explanation.explanation(
            self._reader(model, n_threads),
            X,
            rounds,
            interactions=interactions,
            include_computed=include_computed,
            output_names=model.score_names,
        )

    def _reader(
        self, model: FittedModel, n_threads: int, validate_features: bool = False
    ) -> RowReader:
        """What reads rows for the model."""
        if "_booster" in vars(self):
            self._check_unchanged()
        return RowReader(
            model,
            type(self).__name__,
            n_threads,
            by_name=model.takes_by_name,
            params=lambda: self.booster_.params,
            checks_names=validate_features and model.is_foreign,
        )

    def _n_threads(
        self,
        kwargs: Mapping[str, Any] = MappingProxyType({}),
        method: Callable[..., Any] | None = None,
    ) -> int:
        """The number of threads of a prediction by a method with some other arguments.

        TypeError if one of these belongs to another method.
        """
        if self._shared is not None and not kwargs:
            return self._shared.n_threads
        n_jobs = self.n_jobs
        if kwargs or not (n_jobs is None or type(n_jobs) is int):
            n_jobs = parameters.n_jobs(kwargs, n_jobs, type(self).__name__, method)
        return thread_counts.n_threads(n_jobs)

    # --- The fitted model -------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    @property
    def _model(self) -> FittedModel:
        """The model that fit returned; NotFittedError if there is none."""
        attributes = self.__dict__
        if "_booster" in attributes:  # its users may have changed the trees
            return attributes["_booster"]._model
        if "_fitted" not in attributes:
            check_is_fitted(self)
        return attributes["_fitted"]

    @property
    def booster_(self) -> Booster:
        """The trained model, without the estimator."""
        attributes = self.__dict__
        if "_fitted" not in attributes:
            check_is_fitted(self)
        if "_booster" not in attributes:
            # Threads that ask at the same time get the same one.
            booster = Booster._from_model(attributes["_fitted"])
            attributes.setdefault("_booster", booster)
        return attributes["_booster"]

    def _warn_of_start_scores(self) -> None:
        """Warn that the predictions that are scored do not include ``init_score``."""
        if getattr(self._model, "has_start_scores", False):
            warn(
                f"{self._owner} was fitted with init_score, which predictions do not"
                " include, so the score is that of the trees alone. Add the init_score"
                " of these rows to model.predict(X, raw_score=True), and compute a"
                " metric of the sum."
            )

    def _check_unchanged(self) -> None:
        """Check that ``booster_`` still has the model of the fit; else ValueError."""
        booster = vars(self).get("_booster")
        if booster is not None and booster._is_replaced:
            raise ValueError(
                "booster_ was replaced by another model. Create an estimator from it"
                " with from_booster."
            )

    # --- Files, notebooks and other packages ------------------------------------------

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
        estimator_class: type = cls
        defaults = constructor_defaults(estimator_class)
        task = cls._task(cls.__name__)
        options, unused, model = states.of_booster(booster, classes, task, defaults)
        estimator = cls(**options)
        if unused:
            estimator._unused_params = unused
        estimator._keep(model.with_record(estimator._record()))
        return estimator

    def to_file(self, path: str | PathLike[str]) -> Self:
        """Write the fitted estimator to a file in LightGBM's text format.

        ``from_file`` reads the file. LightGBM reads it, too.

        Parameters
        ----------
        path : str or path
            The file; an earlier one is replaced.

        See Also
        --------
        Booster.save_model : Errors and warnings; files with some of the rounds.
        """
        model = self._model.with_record(self._record())
        Booster._from_model(model).save_model(path, num_iteration=-1)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if not self.__sklearn_is_fitted__():
            return state
        self._check_unchanged()
        return states.plain(state, self._model)

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters, model = states.restored(state, self._task(self._owner))
        super().__setstate__(parameters)
        if model is not None:
            self._keep(model.with_record(self._record()))

    def _importance_type(self) -> str:
        kind = self.importance_type
        return parameters.checked_value("importance_type", kind, self._owner)

    def _html_summary(self) -> str:
        if not self.__sklearn_is_fitted__():
            return ""
        # Only notebooks ask for it.
        from skgoss.estimators import html_summary

        return html_summary.summary(self._model, self._importance_type())

    def onnx_shape_calculator(self) -> Callable[[Any], None]:
        """Tell skl2onnx the types of the outputs.

        skl2onnx calls this method when it converts a pipeline.

        Returns
        -------
        callable
            A function of an operator of skl2onnx. It raises RuntimeError if the class
            is not registered, neither by `skgoss.onnx` nor by a converter of the user.
        """
        return self._set_onnx_shapes

    def _set_onnx_shapes(self, operator: Any) -> None:
        # The registry of skl2onnx has set the type of the operator.
        if operator.type is not None:
            operator.infer_types()
            return
        register = f"skgoss.onnx.register({self._owner})"
        first = register if "skgoss.onnx" in sys.modules else "import skgoss.onnx"
        raise RuntimeError(
            f"{self._owner} is not registered with skl2onnx: write `{first}` first. For"
            " a model alone, use skgoss.to_onnx."
        )


# The estimators that are being fitted, by their ids.
_FITS: dict[int, OnlyUser] = {}


def reentry_guard(estimator: LGBMModel) -> OnlyUser:
    """A guard against fits of an estimator that is being fitted; RuntimeError."""
    return OnlyUser(
        _FITS,
        id(estimator),
        f"This {type(estimator).__name__} is already being fitted: objectives,"
        " metrics, callbacks and other threads must not fit it at the same time."
        " Fit a clone of it instead.",
    )


def model_of(fit: AnyFit, after_round: AfterRound | None = None) -> Result:
    """The model of a fit, and the attributes that callbacks have set."""
    shown = ShownBoosters()
    model = fit.model(shown, after_round)
    if fit.has_folds or not shown:
        return model, {}
    (booster,) = shown
    return model, booster._attributes_of_callbacks()


def _fit_attributes(model: FittedModel) -> dict[str, Any]:
    """The attributes of an estimator that has fitted a model."""
    attributes = {"_fitted": model, "n_features_in_": model.schema.n_features}
    if model.schema.feature_names is not None:
        attributes["feature_names_in_"] = model.schema.feature_names
    return attributes


def _round_reporter(hooks: sklearn_private.RoundHooks) -> AfterRound:
    """What tells scikit-learn's callbacks of each round."""
    return lambda index, model: hooks.after_round(
        index, lambda: _fit_attributes(model())
    )
