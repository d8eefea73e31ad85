"""Trained trees, without scikit-learn's interface."""

from __future__ import annotations

import copy
import json
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import InputTags, Tags, TargetTags

from skgoss import parameters
from skgoss.booster.train_arguments import (
    TRAIN,
    TrainOptions,
    check_label,
)
from skgoss.columns import categories, containers
from skgoss.columns.columns import Columns
from skgoss.dataset.dataset import Dataset
from skgoss.fit.arguments import FitArguments
from skgoss.fit.fit import Fit, FunctionOfRound
from skgoss.model import dump, explanation, predictions
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel, whole
from skgoss.model_files import model_file as model_files
from skgoss.objectives.objectives import NOT_BUILT_IN
from skgoss.parameters import docstrings, other_libraries
from skgoss.sources import input_rows, text_files
from skgoss.sources.source import Source
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.utils import disk, optional, threads
from skgoss.utils.locks import assign, cached_property
from skgoss.utils.messages import (
    Elsewhere,
    ForeignConstructor,
    type_name,
    warn,
    warn_unused,
)
from skgoss.utils.public import set_module

if TYPE_CHECKING:
    import pandas
    import shap

Feval = Callable[..., Any] | Sequence[Callable[..., Any]] | None


@set_module("skgoss")
@docstrings.of_chain("The model.")
class Booster(Elsewhere):
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

    _elsewhere = other_libraries.OF_BOOSTER

    if not TYPE_CHECKING:
        from_file, load = ForeignConstructor(), ForeignConstructor()
        load_model = ForeignConstructor()

    best_iteration: int
    best_score: dict[str, dict[str, float]]

    # The model; in training, the fit whose trees these are.
    _held: FittedModel | Fit

    # Whether `model_from_string` has replaced the model.
    _is_replaced: bool = False

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
            self._become(_in_training(params, train_set))
            return
        if params:
            warn("params has no effect: the parameters of the model file are used.")
        if model_str is not None:
            self._become(_parsed(model_str))
        if model_file is not None:
            self._become(model_files.read(model_file))

    @classmethod
    def _from_model(cls, model: FittedModel | Fit) -> Self:
        """The Booster of a model, or of a fit whose rounds go on."""
        booster = cls.__new__(cls)
        booster._become(model)
        return booster

    def _become(self, model: FittedModel | Fit) -> None:
        """Hold another model, and nothing else, in one assignment."""
        self.__dict__ = _attributes(model)

    # --- Predictions ------------------------------------------------------------------

    @docstrings.of_booster
    def predict(
        self,
        data: ArrayLike,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        raw_score: bool = False,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        data_has_header: bool = False,
        validate_features: bool = False,
        *,
        pred_interactions: bool = False,
        to_parquet: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Predict the target.

        Parameters
        ----------
        ... : see https://skgoss.github.io/skgoss/api.html

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_scores) for more than one score
            According to the objective: the mean, the probability of the second class,
            or the probabilities of all classes. With ``pred_leaf``, the shape is
            (n_samples, n_trees).

        Raises
        ------
        OSError
            If ``data`` is the path of a file that cannot be read.
        ValueError
            If ``data`` does not have the columns of the training set, or not in its
            order; if ``validate_features=True`` and the column names differ; or if a
            file does not hold numbers in rows of equal length.
        """
        model = self._model
        output = predictions.kind(raw_score, pred_leaf, pred_contrib, pred_interactions)
        rounds = model.rounds(start_iteration, self._length(num_iteration))
        n_threads = self._n_threads(kwargs, Booster.predict)

        def compute(rows: Any) -> Any:
            columns = self._columns(model, rows, n_threads, validate_features)
            return predictions.compute(model, columns, output, rounds, n_threads)

        if data_has_header and not input_rows.is_file(data):
            warn_unused(
                "data_has_header has no effect: data are not the path of a file."
            )
        open_file = partial(self._open_file, model, header=data_has_header)
        return predictions.in_batches(
            data, model.schema, compute, open_file, to_parquet
        )

    @docstrings.of_booster
    def explain(
        self,
        data: ArrayLike,
        *,
        interactions: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        **kwargs: Any,
    ) -> shap.Explanation:
        """Compute SHAP values as an input of the plots of the package shap.

        Parameters
        ----------
        ... : see https://skgoss.github.io/skgoss/api.html

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
        model = self._model
        rounds = model.rounds(start_iteration, self._length(num_iteration))
        n_threads = self._n_threads(kwargs, Booster.explain)
        return explanation.explanation(
            model,
            self._loaded_columns(model, data, n_threads),
            data,
            rounds,
            n_threads,
            interactions=interactions,
        )

    def _n_threads(self, kwargs: Mapping[str, Any], method: Callable[..., Any]) -> int:
        """The number of threads of a call of a method with some other arguments."""
        owner = type(self).__name__
        return threads.n_threads(parameters.n_jobs(kwargs, None, owner, method))

    def _columns(
        self,
        model: FittedModel,
        rows: Any,
        n_threads: int,
        validate_features: bool = False,
    ) -> Columns:
        """The columns of rows in memory."""
        if validate_features:
            model.check_names(rows)
        by_name = model.checks_names_of(rows)
        owner = type(self).__name__
        return containers.columns(
            rows, model.schema, owner=owner, by_name=by_name, n_jobs=n_threads
        )

    def _loaded_columns(
        self,
        model: FittedModel,
        X: Any,
        n_threads: int,
        validate_features: bool = False,
    ) -> Columns:
        """The columns of rows for what is not computed in batches."""
        rows = predictions.in_memory(X, partial(self._open_file, model))
        return self._columns(model, rows, n_threads, validate_features)

    def _open_file(self, model: FittedModel, path: Any, header: bool = False) -> Source:
        """Open a text file, to read the columns of the model in batches."""
        words = ("label_column", "label")
        label = {word: self.params[word] for word in words if word in self.params}
        of_files, _ = parameters.file_options(label, "Booster")
        return text_files.read_features(
            path,
            model.feature_names,
            header=header,
            label_column=of_files.get("label_column", ()),
        )

    def _length(self, num_iteration: int | None) -> int | None:
        """The number of rounds; None stands for the best, if there is one."""
        if num_iteration is None and self.best_iteration > 0:
            return self.best_iteration
        return num_iteration

    # --- The model --------------------------------------------------------------------

    @property
    def _model(self) -> FittedModel:
        """The model; of a fit that goes on, that after the last finished round."""
        held = self._held
        return held.model_so_far() if isinstance(held, Fit) else held

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters of the fit.

        For a model of `train`, those that were passed to it and to the `Dataset`, by
        the names that were used. For a model of an estimator, all of its parameters,
        by their names. For a file of another library, those in the file. They may be
        changed: ``refit`` reads them.
        """
        return self._original_params()

    def _changed_params(self) -> dict[str, Any]:
        """What the user has changed in ``params``."""
        before = self._original_params()
        return {
            name: value
            for name, value in self.params.items()
            if name not in before or not parameters.same(value, before[name])
        }

    def _original_params(self) -> dict[str, Any]:
        held = self._held
        options = parameters.from_lightgbm(held.header.parameters)
        if held.record is None:
            return options
        params = parameters.with_constructor_names(options)
        if held.record.estimator == TRAIN:
            params = copy.deepcopy(held.record.parameters)
        if not self._objectives:
            params["objective"] = "none"  # it is a function
        return params

    @property
    def _objectives(self) -> list[str]:
        """The names of the objectives; empty if it is a function, or unknown."""
        objective = self._held.objective
        names = objective if isinstance(objective, list | tuple) else [objective]
        return [name for name in names if isinstance(name, str)]

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self.num_feature()

    def feature_name(self) -> list[str]:
        """Return the names of the columns.

        Returns
        -------
        list of str
            If the training set had no names, they are 'Column_0', 'Column_1' and so on.
        """
        return list(self._held.header.feature_names)

    def num_feature(self) -> int:
        """Number of columns.

        Returns
        -------
        int
            The columns of the training set, used or not.
        """
        return self._held.schema.n_features

    def num_trees(self) -> int:
        """Number of trees: trees per round times rounds.

        Returns
        -------
        int
            The number of trees.
        """
        return self.current_iteration() * self.num_model_per_iteration()

    def num_model_per_iteration(self) -> int:
        """Number of trees per round: the number of classes, or 1.

        Returns
        -------
        int
            The number of trees.
        """
        return self._held.n_scores

    def current_iteration(self) -> int:
        """Number of rounds.

        Returns
        -------
        int
            The rounds of ``init_model`` are counted.
        """
        return self._held.n_rounds

    @property
    def pandas_categorical(self) -> list[list[Any]] | None:
        """The categories of the categorical columns, as in LightGBM.

        A list for each column that held strings or categories, in the order of the
        columns. None if there is no such column.
        """
        model = self._model
        return dump.pandas_categorical(model.header, model.categories)

    def __sklearn_tags__(self) -> Tags:
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

    def __repr__(self) -> str:
        objective = ", ".join(dict.fromkeys(self._objectives)) or "of the user"
        chosen = self._model.preset_params.items()
        words = ", ".join(f"{name}={value!r}" for name, value in chosen)
        return (
            f"<{type(self).__name__}: {self.num_trees()} trees, {self.num_feature()}"
            f" columns, objective {objective}"
            f"{f', chosen by preset: {words}' if words else ''}>"
        )

    # --- Trees ------------------------------------------------------------------------

    def feature_importance(
        self, importance_type: str = "split", iteration: int | None = None
    ) -> NDArray[Any]:
        """Return the importance of each column.

        Parameters
        ----------
        importance_type : {'split', 'gain', 'cover'}, default='split'
            'split': number of splits of the column. 'gain': sum of their gains.
            'cover': sum of the numbers of training rows in the nodes that are split.
        iteration : int, default=None
            Number of rounds that are used. None: the rounds up to the best one if early
            stopping found one, else all. Values <= 0: all rounds.

        Returns
        -------
        ndarray of shape (n_features,)
            The dtype is int32 for 'split', and float64 otherwise.
        """
        kind = _importance_type(importance_type)
        model = self._model
        _, stop = model.rounds(0, self._length(iteration))
        importances = model.trees.truncated(stop).importances(kind)
        return importances.astype(np.int32 if kind == "split" else np.float64)

    def get_split_value_histogram(
        self,
        feature: int | str,
        bins: int | str | None = None,
        xgboost_style: bool = False,
    ) -> tuple[NDArray[Any], NDArray[Any]] | NDArray[Any] | pandas.DataFrame:
        """Compute a histogram of the thresholds of a column's splits.

        Parameters
        ----------
        feature : int or str
            The number or name of a numeric column.
        bins : int or str, default=None
            Number of bins, or a rule of ``numpy.histogram``. None: the number of
            distinct thresholds. With ``xgboost_style``, this is also the maximum.
        xgboost_style : bool, default=False
            Whether to return a table of the bins that are not empty.

        Returns
        -------
        counts : ndarray of shape (n_bins,)
            Number of thresholds in each bin.
        edges : ndarray of shape (n_bins + 1,)
            The edges of the bins. With ``xgboost_style``, a single object is returned
            instead: a pandas data frame with the columns ``SplitValue`` (the right edge
            of a bin) and ``Count``, or an array of these two columns if pandas is not
            installed.

        Raises
        ------
        ValueError
            If the column does not exist or is categorical.
        """
        model = self._model
        _, stop = model.rounds(0, self._length(None))
        values = model.trees.truncated(stop).split_values(_column(model, feature))
        n_distinct = max(len(np.unique(values)), 1)
        if bins is None:
            bins = n_distinct
        elif xgboost_style and isinstance(bins, numbers.Integral):
            bins = max(min(int(bins), n_distinct), 1)
        counts, edges = np.histogram(values, bins=bins)
        if not xgboost_style:
            return counts, edges
        table = np.column_stack([edges[1:], counts])[counts > 0]
        try:
            pandas = optional.optional("pandas", "get_split_value_histogram")
        except ImportError:
            return table
        return pandas.DataFrame(table, columns=["SplitValue", "Count"])

    @docstrings.of_booster
    def dump_model(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
        object_hook: Callable[[dict[str, Any]], Any] | None = None,
    ) -> dict[str, Any]:
        """Return the model as a dict.

        Parameters
        ----------
        ... : see https://skgoss.github.io/skgoss/api.html
        importance_type : {'split', 'gain', 'cover'}, default='split'
            What ``feature_importances`` measure: see `feature_importance`. They are
            whole numbers.
        object_hook : callable, default=None
            A function that is called with each dict, the inner ones first. Its result
            replaces the dict, as in ``json.loads``.

        Returns
        -------
        dict
            It has the same structure as in LightGBM: dicts, lists, numbers and strings,
            which can be written as JSON.
        """
        model = self._model
        start, stop = model.rounds(start_iteration, self._length(num_iteration))
        dumped = dump.dump(
            model.trees,
            model.header,
            model.categories,
            model.shrinkage(model.options()),
            start_round=start,
            stop_round=stop,
            importance=_importance_type(importance_type),
        )
        if object_hook is None:
            return dumped
        categories = dumped.pop("pandas_categorical")
        try:
            hooked = json.loads(json.dumps(dumped), object_hook=object_hook)
        except RecursionError as error:
            raise ValueError("the trees are too deep for object_hook.") from error
        hooked["pandas_categorical"] = categories
        return hooked

    def trees_to_dataframe(self) -> pandas.DataFrame:
        """Return the nodes and leaves of all trees as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per node and leaf: parents before their children, left children
            before right ones. The columns are:

            - ``tree_index``, ``node_depth`` (1 for the root), ``node_index``, a name
              such as '0-S1' (node 1 of tree 0) or '0-L3' (leaf 3);
            - ``left_child``, ``right_child``, ``parent_index``: names of other rows;
            - ``split_feature``, ``split_gain``, ``threshold``, ``decision_type``,
              ``missing_direction``, ``missing_type``: the split of a node;
            - ``value``, ``weight`` (the sum of hessians), ``count`` (the number of
              training rows).

        Raises
        ------
        ValueError
            If there are no trees.
        """
        pandas = optional.optional("pandas", "trees_to_dataframe")
        if self.num_trees() == 0:
            raise ValueError("trees_to_dataframe needs a model with trees.")
        return pandas.DataFrame(list(dump.rows(self.dump_model())))

    def trees_for_shap(self) -> dict[str, Any]:
        """Return the trees in the form that ``shap.TreeExplainer`` accepts.

        Use it for interventional SHAP values, which need background data, or to explain
        probabilities instead of raw scores. For path-dependent SHAP values, `predict`
        and `explain` are exact and much faster.

        Returns
        -------
        dict
            The argument ``model`` of ``shap.TreeExplainer``.

        Raises
        ------
        ValueError
            If the model has categorical splits, zeros as missing values, or linear
            leaves, which shap does not support.
        """
        return explanation.trees_for_shap(self._model)

    def get_leaf_output(self, tree_id: int, leaf_id: int) -> float:
        """Return the value of a leaf.

        Parameters
        ----------
        tree_id, leaf_id : int
            The index of the tree, and the index of the leaf in this tree.

        Returns
        -------
        float
            The value.
        """
        trees = self._model.trees
        return float(trees.arrays["leaf_value"][_leaf(trees, tree_id, leaf_id)])

    def set_leaf_output(self, tree_id: int, leaf_id: int, value: float) -> Self:
        """Change the value of a leaf.

        Predictions of this model and of its estimator change accordingly. In training,
        later rounds continue from the changed tree. In linear leaves, the value is only
        used for rows with a missing value in one of the leaf's columns.

        Parameters
        ----------
        tree_id, leaf_id : int
            The index of the tree, and the index of the leaf in this tree.
        value : float
            A finite number.
        """
        held, at = self._held, _leaf(self._model.trees, tree_id, leaf_id)
        if not isinstance(value, numbers.Real) or not math.isfinite(value):
            raise ValueError(f"value must be a finite number, got {value!r}.")
        if isinstance(held, Fit):
            held.rounds.set_leaf(int(tree_id), int(leaf_id), float(value))
            return self

        def with_value(trees: Ensemble) -> Ensemble:
            values = trees.arrays["leaf_value"].copy()
            values[at] = value
            return trees.with_leaves(values)

        return self._change_trees(with_value)

    def shuffle_models(self, start_iteration: int = 0, end_iteration: int = -1) -> Self:
        """Shuffle the rounds. The order is always the same.

        Predictions that use all rounds do not change, except for rounding.

        Parameters
        ----------
        start_iteration, end_iteration : int, default=0, -1
            The rounds from ``start_iteration`` to ``end_iteration - 1`` are shuffled.
            If ``end_iteration`` <= 0, the range ends with the last round.
        """
        start = max(whole("start_iteration", start_iteration), 0)
        stop = whole("end_iteration", end_iteration)
        n_rounds = self.current_iteration()
        stop = min(stop, n_rounds) if stop > 0 else n_rounds
        order = _shuffled(n_rounds, start, stop)
        return self._change_trees(lambda trees: trees.chosen(order))

    def _change_trees(self, change: Callable[[Ensemble], Ensemble]) -> Self:
        """Replace the trees of the model."""
        model = self._held
        if isinstance(model, Fit):
            raise ValueError(
                "The trees of a Booster in training cannot be changed. Call"
                " free_dataset() first, which ends the training."
            )
        self._held = model.with_trees(change(model.trees))
        return self

    def lower_bound(self) -> float:
        """Return the sum of the smallest leaf values of all trees.

        It is a lower bound of the raw scores, except for random forests and linear
        trees.

        Returns
        -------
        float
            The sum.
        """
        return self._model.trees.bound(np.minimum)

    def upper_bound(self) -> float:
        """Return the sum of the largest leaf values of all trees.

        It is an upper bound of the raw scores, except for random forests and linear
        trees.

        Returns
        -------
        float
            The sum.
        """
        return self._model.trees.bound(np.maximum)

    def refit(
        self,
        data: ArrayLike,
        label: ArrayLike,
        decay_rate: float = 0.9,
        reference: Any = None,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        feature_name: str | Sequence[str] = "auto",
        categorical_feature: str | Iterable[str | int] = "auto",
        dataset_params: dict[str, Any] | None = None,
        free_raw_data: bool = True,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Fit the leaf values to other data, without changing the splits.

        The value of a leaf becomes ``decay_rate * old + (1 - decay_rate) * new``.
        ``new`` is the learning rate times the value that is optimal for the rows of the
        leaf after the scores of the earlier trees. It is 0 for leaves without rows. In
        the first round, whose leaves include the initial score, the learning rate is 1.

        The parameters in ``params`` are used, such as ``lambda_l2``, except
        ``path_smooth`` and monotonic constraints. The counts and weights of leaves, the
        gains and the importances do not change, as in LightGBM.

        Parameters
        ----------
        data : array-like or data frame of shape (n_samples, n_features)
            Rows with the columns of the training set, in the same order.
        label : array-like of shape (n_samples,)
            The target: numbers; for classes, the numbers 0 to n_classes - 1.
        decay_rate : float, default=0.9
            The weight of the old leaf values, from 0 to 1.
        reference : object, default=None
            Has no effect.
        weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        group : array-like of shape (n_queries,), default=None
            Sizes of the queries, for ranking objectives. None: one query.
        init_score : array-like of shape (n_samples[, n_scores]), default=None
            Raw scores to start from.
        feature_name : 'auto' or list of str, default='auto'
            Has no effect: the names are those of the model.
        categorical_feature : 'auto' or list of str and int, default='auto'
            Must be the categorical columns of the model, if it is a list.
        dataset_params : dict, default=None
            Has no effect.
        free_raw_data : bool, default=True
            Has no effect.
        validate_features : bool, default=False
            Whether to check the names of a data frame's columns.
        **kwargs : dict
            As in `predict`.

        Returns
        -------
        Booster
            A new model.

        Raises
        ------
        ValueError
            If the model has no trees or its objective is not known, or if the arguments
            do not fit the model.
        """
        # Loaded with what fits leaves, which predictions do not need.
        from skgoss.fit import refit

        model = self._model
        refit.check(model, decay_rate)
        categories.check_same(
            categorical_feature,
            model.categories,
            model.feature_names,
            model.schema.n_features,
            "the model",
        )
        n_threads = self._n_threads(kwargs, Booster.refit)
        columns = self._loaded_columns(model, data, n_threads, validate_features)
        owner = type(self).__name__
        rows = refit.rows(model, columns, label, weight, group, init_score, owner)
        options = parameters.resolve(model.options(), owner)[0]
        options |= parameters.resolve(self._changed_params(), owner)[0]
        trees = refit.refitted(model, options, rows, float(decay_rate), n_threads)
        model = replace(model.with_trees(trees), best_iteration=0, best_score={})
        booster = self._from_model(model)
        booster.params = {**self.params, "refit_decay_rate": float(decay_rate)}
        return booster

    # --- Files ------------------------------------------------------------------------

    @docstrings.of_booster
    def save_model(
        self,
        filename: str | PathLike[str],
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> Self:
        """Write the model to a file in LightGBM's text format.

        LightGBM, treelite and others can read the file. One line, which they ignore,
        holds the names and categories that they do not accept, and the attributes of
        the estimator. ``LGBMClassifier.from_file`` and the other estimators read it.

        Parameters
        ----------
        ... : see https://skgoss.github.io/skgoss/api.html

        Raises
        ------
        TypeError
            If a category or class has a type that cannot be written as text.
        OSError
            If the file cannot be written.

        Warns
        -----
        UserWarning
            If parameters are left out, because they are functions or of other types
            that cannot be written as text.
        """
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        with disk.written(filename) as file:
            file.write(text.encode())
        return self

    @docstrings.of_booster
    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Write the model in LightGBM's text format, as `save_model` does.

        Parameters
        ----------
        ... : see https://skgoss.github.io/skgoss/api.html

        Returns
        -------
        str
            The content of a file.
        """
        model = self._saved_model()
        rounds = model.rounds(start_iteration, self._length(num_iteration))
        if rounds == (0, self.best_iteration):
            model = self._best_model()
        return model_files.render(model, *rounds, importance_type)

    def model_from_string(self, model_str: str) -> Self:
        """Replace this model by the model of a text that `model_to_string` returned.

        Parameters
        ----------
        model_str : str
            The content of a file.

        Raises
        ------
        ValueError
            If the text is not a valid model. The message names the line.
        """
        self._become(_parsed(model_str))
        self._is_replaced = True
        return self

    def _saved_model(self) -> FittedModel:
        """The model with what users may have changed."""
        return replace(
            self._whole_model(),
            best_iteration=self.best_iteration,
            best_score=self.best_score,
        )

    def _whole_model(self) -> FittedModel:
        """The model with its baseline hazard."""
        held = self._held
        return held.whole_model_so_far() if isinstance(held, Fit) else held

    def _best_model(self) -> FittedModel:
        """The model up to the best round, which estimators predict with."""
        model, held = self._saved_model(), self._held
        if not 0 < self.best_iteration < model.n_rounds:
            return model
        model = model.with_trees(model.trees.truncated(self.best_iteration))
        return held.with_baseline(model) if isinstance(held, Fit) else model

    def __getstate__(self) -> dict[str, Any]:
        return self._saved_model().state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._become(FittedModel.from_state(state))

    # --- Training ---------------------------------------------------------------------

    @property
    def _fit(self) -> Fit:
        """The fit of a model in training."""
        fit = self._held
        if not isinstance(fit, Fit):
            raise ValueError(
                "The Booster is not in training. Create it by Booster(params,"
                " train_set), or by train with keep_training_booster=True."
            )
        return fit

    @property
    def train_set(self) -> Dataset | None:
        """The `Dataset` of the training data. None if the model is not in training."""
        held = self._held
        data = held.training.X if isinstance(held, Fit) else None
        return data if isinstance(data, Dataset) else None

    @property
    def train_set_version(self) -> int:
        """The `Dataset.version` of the training data; 0 if there are none."""
        data = self.train_set
        return 0 if data is None else data.version

    @property
    def valid_sets(self) -> list[Dataset]:
        """The evaluation sets of a model in training, without the training set."""
        return [e.data for e in self._evaluation_sets]

    @property
    def name_valid_sets(self) -> list[str]:
        """The names of `valid_sets`."""
        return [e.name for e in self._evaluation_sets]

    @property
    def _evaluation_sets(self) -> list[EvaluationSet]:
        held = self._held
        sets = held.rounds.sets if isinstance(held, Fit) else []
        return [e for e in sets if not e.is_training]

    @property
    def _training_names(self) -> set[str]:
        """The names of the evaluation sets that are the training set."""
        return self._fit.rounds.training_names

    def update(
        self, train_set: Dataset | None = None, fobj: Callable[..., Any] | None = None
    ) -> bool:
        """Train one round.

        If this fails, the model is unchanged, and training can continue.

        Parameters
        ----------
        train_set : Dataset, default=None
            Other training data for this round and the later ones. Its rows use the bins
            of the first training set, and start from the scores of the trees so far.
            None: the same data as before.
        fobj : callable, default=None
            A custom objective ``f(predictions, dataset)`` that returns the gradient and
            the hessian of each row, as in `train`. From then on, predictions are raw
            scores, and each round needs ``fobj``. None: the objective of ``params``.

        Returns
        -------
        bool
            Whether training is finished because no tree could be split. Then no trees
            are added, except constant trees in the first round.

        Raises
        ------
        ValueError
            If the Booster is not in training, or the columns of ``train_set`` are not
            those of the training set.
        RuntimeError
            If another call trains this Booster at the same time.
        """
        before = fit = self._fit
        if train_set is not None and train_set is not fit.training.X:
            fit = fit.on_rows(train_set)
        if fobj is not None:
            fit = fit.with_objective(fobj)
        elif fit.needs_function:
            raise ValueError(
                "update needs the argument fobj, because the objective is 'none' or an"
                " earlier round used fobj."
            )
        is_finished = not fit.boost(fobj)
        if fit is not before:
            self._held = fit
        return is_finished

    def rollback_one_iter(self) -> Self:
        """Remove the last round.

        The next rounds are the same as if this round had never been trained. The scores
        of all rows are computed again from the other trees, which takes as long as a
        prediction. Rounds of an ``init_model`` are not removed.
        """
        self._fit.rounds.rollback()
        return self

    def reset_parameter(self, params: Mapping[str, Any]) -> Self:
        """Change parameters for later rounds.

        Parameters
        ----------
        params : dict
            Parameters by any of their names, such as ``learning_rate``. Parameters that
            cannot change are accepted if they keep their values.

        Raises
        ------
        TypeError
            If ``params`` is not a dict.
        ValueError
            If a parameter is unknown or cannot be changed during training, or a value
            is invalid.
        """
        changes = self._fit.changes(params)
        changed = parameters.updated(self.params, params)
        assign([*changes, (self, "params", changed)])
        return self

    def add_valid(self, data: Dataset, name: str) -> Self:
        """Add an evaluation set, for `eval_valid` and for callbacks.

        Parameters
        ----------
        data : Dataset
            The evaluation set. It uses the bins of the training set.
        name : str
            A name that no other evaluation set has.
        """
        fit = self._fit
        if name in {evaluated.name for evaluated in fit.rounds.sets}:
            raise ValueError(
                f"name must be new, but there is an evaluation set {name!r}."
            )
        fit.add_set(name, data, is_listed=True)
        return self

    def set_train_data_name(self, name: str) -> Self:
        """Set the name of the training set in results.

        Parameters
        ----------
        name : str
            The name; 'training' if none is set.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {name!r}.")
        sets = self._fit.rounds.training_sets()
        assign([(evaluated, "name", name) for evaluated in sets])
        return self

    def eval(self, data: Dataset, name: str, feval: Feval = None) -> list[EvalResult]:
        """Compute the metrics of a data set after the last round.

        Parameters
        ----------
        data : Dataset
            The training set, an evaluation set or another data set, which becomes an
            evaluation set.
        name : str
            The name of the data set in the results. If another evaluation set has it,
            `eval_valid` does not include this one.
        feval : callable or list of callable, default=None
            Additional metric functions: see `train`.

        Returns
        -------
        list of EvalResult
            One for each metric.
        """
        fit = self._fit
        evaluated = self._held_set(data)
        if evaluated is None:
            is_new = name not in {other.name for other in fit.rounds.sets}
            evaluated = fit.add_set(name, data, is_listed=is_new)
        results = fit.rounds.evaluate_sets([evaluated], fit.metrics_of(feval))
        return [result._replace(dataset_name=name) for result in results]

    def eval_train(self, feval: Feval = None) -> list[EvalResult]:
        """Compute the metrics of the training set after the last round.

        Parameters
        ----------
        feval : callable or list of callable, default=None
            Additional metric functions: see `train`.

        Returns
        -------
        list of EvalResult
            One for each metric.
        """
        fit = self._fit
        return fit.rounds.eval_train(fit.metrics_of(feval))

    def eval_valid(self, feval: Feval = None) -> list[EvalResult]:
        """Compute the metrics of the evaluation sets, without the training set.

        Parameters
        ----------
        feval : callable or list of callable, default=None
            Additional metric functions: see `train`.

        Returns
        -------
        list of EvalResult
            One for each set and metric.
        """
        fit = self._fit
        return fit.rounds.eval_valid(fit.metrics_of(feval))

    def _held_set(self, data: Any) -> EvaluationSet | None:
        """The training or evaluation set that holds some data, if there is one."""
        fit = self._fit
        if data is fit.training.X:
            return fit.rounds.training_sets()[0]
        sets = (*fit.rounds.sets, *fit.rounds.unlisted_sets)
        return next((e for e in sets if e.data is data and not e.is_training), None)

    def free_network(self) -> Self:
        """Do nothing: there is no network to free."""
        return self

    def free_dataset(self) -> Self:
        """End the training and free all rows. The model keeps its trees."""
        self._held = self._whole_model()
        return self

    def _attributes_of_callbacks(self) -> dict[str, Any]:
        """The attributes that callbacks have set."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in Booster.__annotations__ and not hasattr(type(self), name)
        }

    def _end(self, model: FittedModel) -> Self:
        """End the training with a model; attributes that callbacks set stay."""
        self.__dict__ = {**vars(self), **_attributes(model)}
        return self


class ShownBoosters(list[Booster]):
    """Makes the Boosters that the callbacks of one or several fits get, and holds them.

    Without folds, there is one at most: that of the model.
    """

    def __call__(self, fit: Fit) -> Booster:
        """The Booster of a fit."""
        self.append(Booster._from_model(fit))
        return self[-1]


def _attributes(model: FittedModel | Fit) -> dict[str, Any]:
    """The attributes of the Booster of a model, or of a fit whose rounds go on."""
    if isinstance(model, Fit):
        return {"_held": model, "best_iteration": 0, "best_score": {}}
    return {
        "_held": model,
        "best_iteration": model.best_iteration,
        "best_score": {k: dict(v) for k, v in model.best_score.items()},
    }


# Options that end rounds, which a Booster does not do by itself.
_OF_ROUNDS = ("early_stopping_round", "time_limit")


def _in_training(params: Mapping[str, Any] | None, train_set: Dataset) -> Fit:
    """A fit without a round."""
    if not isinstance(train_set, Dataset):
        raise TypeError(f"train_set must be a Dataset, got {type_name(train_set)}.")
    options = TrainOptions.from_params(params, n_estimators=1)
    check_label(train_set, options, "train_set")
    word = options.task.objective
    if isinstance(word, str) and word.lower() in NOT_BUILT_IN:
        options = options.with_objective(FunctionOfRound())
    # The rounds are the user's, so no rows are held out to end them.
    fit = options.prepare(
        train_set,
        FitArguments(early_stopping_round=0),
        records_rounds="n_estimators" in options.names,
        no_folds="{option} cannot be used with Booster(params, train_set), whose rounds"
        " are trained one by one. Use train.",
    )
    assert isinstance(fit, Fit)  # neither folds nor searches are possible
    ignored = [
        name for name in _OF_ROUNDS if (options.passed_options.get(name) or 0) > 0
    ]
    if ignored:
        warn_unused(
            f"Options without effect: {' and '.join(ignored)}. The rounds of a Booster"
            " are trained one by one. Use train."
        )
    return fit


def _parsed(model_str: Any) -> FittedModel:
    """The model of the content of a file."""
    if not isinstance(model_str, str):
        raise TypeError(f"model_str must be a str, got {type(model_str).__name__}.")
    if "\n" not in model_str and not model_str.startswith("{"):
        raise ValueError(
            "model_str must be the content of a model file, got a single line:"
            f" {model_str[:80]!r}. For a path, use model_file."
        )
    return model_files.parse(model_str)


def init_model(model: Any) -> FittedModel | None:
    """The model that the argument ``init_model`` stands for.

    TypeError if it is no model of skgoss, and no path.
    """
    if model is None or isinstance(model, FittedModel):
        return model
    if isinstance(model, str | PathLike):
        return model_files.read(model)
    booster = booster_of(model, "init_model", ", or the path of a model file")
    return booster._saved_model()


def booster_of(model: Any, name: str, or_else: str = "", advice: str = "") -> Booster:
    """The Booster of a fitted estimator, or a Booster itself.

    TypeError if it is neither. The message has the ``name`` of the argument, what it
    may be besides (``or_else``), and an ``advice``. NotFittedError if the estimator is
    not fitted.
    """
    if isinstance(model, Booster):
        return model
    # LightGBM's estimators have `booster_` as well, but not this attribute.
    if hasattr(type(model), "_model"):
        return model.booster_
    raise TypeError(
        f"{name} must be a fitted estimator or a Booster of skgoss{or_else}, got"
        f" {type_name(model)}.{advice}"
    )


def _leaf(trees: Ensemble, tree_id: int, leaf_id: int) -> int:
    """The index of a leaf among those of all trees."""
    tree = _number("tree_id", tree_id, trees.n_trees, "trees")
    first, stop = trees.leaf_start[tree : tree + 2].tolist()
    return first + _number("leaf_id", leaf_id, stop - first, "leaves of the tree")


def _column(model: FittedModel, feature: int | str) -> int:
    """The number of a column, from its number or name."""
    if not isinstance(feature, str):
        return _number("feature", feature, model.schema.n_features, "columns")
    names = model.feature_names
    if feature not in names:
        raise ValueError(f"feature={feature!r} is not the name of a column.")
    return names.index(feature)


def _number(name: str, value: Any, n: int, things: str) -> int:
    """One of the numbers from 0 to n - 1."""
    number = whole(name, value)
    if not 0 <= number < n:
        raise ValueError(f"{name} must be a number of the {n} {things}, got {number}.")
    return number


def _importance_type(value: Any) -> Any:
    return parameters.checked_value("importance_type", value, "Booster")


def _shuffled(n_rounds: int, start: int, stop: int) -> NDArray[np.int64]:
    """LightGBM's order of shuffled rounds: those from ``start`` to ``stop - 1`` move.

    The numbers come from a linear congruential generator; each round but the last
    changes places with a later one.
    """
    order, state = np.arange(n_rounds), 17
    for i in range(start, stop - 1):
        state = (214013 * state + 2531011) % 2**32
        other = i + 1 + (state >> 16) % 2**15 % (stop - i - 1)
        order[[i, other]] = order[[other, i]]
    return order
