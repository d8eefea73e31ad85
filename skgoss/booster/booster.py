"""Trained trees, without scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.utils import InputTags, Tags, TargetTags

from skgoss import parameters
from skgoss.booster import training
from skgoss.booster.training import InTraining
from skgoss.booster.tree_methods import TreeMethods
from skgoss.columns import categories, containers
from skgoss.columns.columns import Columns
from skgoss.dataset.dataset import Dataset
from skgoss.fit.fit import Fit, MakeModel
from skgoss.model import explanation, predictions
from skgoss.model.batch_predictions import predicted
from skgoss.model.fitted import FittedModel
from skgoss.model_files import model_file as model_files
from skgoss.parameters import docstrings
from skgoss.sources import input_rows, text_files
from skgoss.utils import disk, threads
from skgoss.utils.elsewhere import Elsewhere
from skgoss.utils.messages import type_name, warn

if TYPE_CHECKING:
    import shap


# Methods and attributes of estimators, and of other libraries' boosters.
_ELSEWHERE = {
    "best_iteration_": "best_iteration",
    "best_score_": "best_score",
    "booster_": "the Booster itself",
    "classes_": "LGBMClassifier.from_booster(booster), which has labels",
    "feature_importances_": "feature_importance()",
    "feature_name_": "feature_name()",
    "feature_names": "feature_name()",
    "fit": "skgoss.train, or update for one round",
    "get_dump": "dump_model()",
    "get_score": "feature_importance()",
    "load_model": "Booster(model_file=path)",
    "n_features_": "num_feature()",
    "predict_interval": "LGBMRegressor.from_booster(booster).predict_interval(X)",
    "predict_proba": "predict(X), whose results are probabilities",
    "predict_set": "LGBMClassifier.from_booster(booster).predict_set(X)",
    "save": "save_model(path)",
    "shap_values": "explain(X), or predict(X, pred_contrib=True)",
    "to_file": "save_model(path)",
}


class Booster(InTraining, TreeMethods, Elsewhere):
    """A trained model, or a model in training, without an estimator.

    A fitted estimator has a Booster as ``booster_``, and `train` returns one. The
    constructor makes a Booster that `update` trains round by round, or reads a model in
    LightGBM's text format, as skgoss and LightGBM 2, 3 and 4 write it.

    Parameters
    ----------
    params : dict, default=None
        The training parameters, by any of their names: see `LGBMModel`. Parameters of
        early stopping have no effect. If a model is read, its own parameters are used,
        and ``params`` has no effect.
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

    _elsewhere = _ELSEWHERE

    # Whether another model took the place of the one that the Booster was made of.
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
        given = [v for v in (train_set, model_file, model_str) if v is not None]
        if len(given) != 1:
            raise TypeError(
                "Booster needs one of train_set, model_file and model_str, got"
                f" {len(given)}."
            )
        if train_set is not None:
            self._train(training.start(params, train_set))
            return
        if params:
            warn("params has no effect: the parameters of the model file are used.")
        if model_str is not None:
            self._become(_parsed(model_str))
        if model_file is not None:
            self._become(model_files.read(model_file))

    @classmethod
    def _of(cls, model: FittedModel) -> Self:
        """The Booster of a model."""
        booster = cls.__new__(cls)
        booster._become(model)
        return booster

    @classmethod
    def _in_training(cls, fit: Fit) -> Self:
        """The model of a fit that goes on: its trees are those of the rounds so far."""
        booster = cls.__new__(cls)
        booster._train(fit)
        return booster

    def _become(self, model: FittedModel) -> None:
        """Take the place of what the Booster was, in one assignment."""
        self.__dict__ = {
            "_fitted": model,
            "best_iteration": model.best_iteration,
            "best_score": {k: dict(v) for k, v in model.best_score.items()},
        }

    def _end(self, model: FittedModel) -> Self:
        """End the training with a model; attributes that callbacks set stay."""
        self.__dict__ = {
            **vars(self),
            **vars(self._of(model)),
            **{"_live_fit": None, "params": self.params},
        }
        return self

    def _shown_to_callbacks(self) -> MakeModel:
        """Gives this Booster to callbacks of its fit, and others to those of folds."""
        fit = self._live_fit
        return lambda other: self if other is fit else self._in_training(other)

    def _attributes_of_callbacks(self) -> dict[str, Any]:
        """The attributes that callbacks have set."""
        own = ("best_iteration", "best_score")
        return {
            name: value
            for name, value in vars(self).items()
            if name not in own and not hasattr(type(self), name)
        }

    def _train(self, fit: Fit) -> None:
        self.__dict__ = {"_live_fit": fit, "best_iteration": 0, "best_score": {}}

    def _saved_model(self) -> FittedModel:
        """The model with what users may have changed."""
        return replace(
            self._model, best_iteration=self.best_iteration, best_score=self.best_score
        )

    def __getstate__(self) -> dict[str, Any]:
        return self._saved_model().state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._become(FittedModel.from_state(state))

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

    @docstrings.of_booster()
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
        {parameters}

        Returns
        -------
        self
            The model.

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

    @docstrings.of_booster()
    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Write the model in LightGBM's text format, as `save_model` does.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        str
            The content of a file.
        """
        model = self._saved_model()
        rounds = model.rounds(start_iteration, self._length(num_iteration))
        return model_files.render(model, *rounds, importance_type)

    def model_from_string(self, model_str: str) -> Self:
        """Replace this model by the model of a text that `model_to_string` returned.

        Parameters
        ----------
        model_str : str
            The content of a file.

        Returns
        -------
        self
            The model.

        Raises
        ------
        ValueError
            If the text is not a valid model. The message names the line.
        """
        self._become(_parsed(model_str))
        self._is_replaced = True
        return self

    @docstrings.of_booster()
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
        {parameters}

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
            If ``data`` does not have the columns of the training set; if
            ``validate_features=True`` and the column names differ; or if a file does
            not hold numbers in rows of equal length.
        """
        model = self._model
        output = predictions.kind(raw_score, pred_leaf, pred_contrib, pred_interactions)
        rounds = model.rounds(start_iteration, self._length(num_iteration))
        n_threads = self._n_threads(kwargs)

        def compute(rows: Any) -> Any:
            columns = self._columns(model, rows, validate_features)
            return predictions.compute(model, columns, output, rounds, n_threads)

        data = self._opened(model, data, data_has_header)
        return predicted(data, model.schema, compute, to_parquet)

    def _n_threads(self, kwargs: Mapping[str, Any]) -> int:
        """The number of threads of a call with some other arguments."""
        return threads.n_threads(parameters.n_jobs(kwargs, None, type(self).__name__))

    def _columns(
        self, model: FittedModel, data: Any, validate_features: bool = False
    ) -> Columns:
        """The columns of some data, by place."""
        data = input_rows.unstreamed(self._opened(model, data))
        if validate_features:
            model.check_names(data)
        owner = type(self).__name__
        return containers.columns(data, model.schema, owner=owner, by_name=False)

    def _opened(self, model: FittedModel, data: Any, header: bool = False) -> Any:
        """Data, of which text files are opened for reading in batches."""
        if not input_rows.is_file(data):
            return data
        words = ("label_column", "label")
        label = {word: self.params[word] for word in words if word in self.params}
        of_files, _ = parameters.file_options(label, "Booster")
        return text_files.read_features(
            data,
            model.feature_names,
            header=header,
            label_column=of_files.get("label_column", ()),
        )

    @docstrings.of_booster()
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
        model = self._model
        rounds = model.rounds(start_iteration, self._length(num_iteration))
        n_threads = self._n_threads(kwargs)
        return explanation.explanation(
            model,
            self._columns(model, data),
            data,
            rounds,
            n_threads,
            interactions=interactions,
        )

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
        ``new`` is the learning rate times the optimal value for the rows of the leaf,
        given the scores of the earlier trees. It is 0 for leaves without rows. In the
        first round, whose leaves include the initial score, the learning rate is 1.

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
        n_threads = self._n_threads(kwargs)
        columns = self._columns(model, data, validate_features)
        owner = type(self).__name__
        rows = refit.rows(model, columns, label, weight, group, init_score, owner)
        options = parameters.resolve(model.options(), owner)[0]
        options |= parameters.resolve(self._changed_params(), owner)[0]
        trees = refit.run(model, options, rows, float(decay_rate), n_threads)
        model = replace(model.with_trees(trees), best_iteration=0, best_score={})
        booster = self._of(model)
        booster.params = {**self.params, "refit_decay_rate": float(decay_rate)}
        return booster


def _parsed(model_str: Any) -> FittedModel:
    """The model of the content of a file."""
    if not isinstance(model_str, str):
        raise TypeError(f"model_str must be a str, got {type(model_str).__name__}.")
    if "\n" not in model_str:
        raise ValueError(
            "model_str must be the content of a model file, got a single line:"
            f" {model_str[:80]!r}. For a path, use model_file."
        )
    return model_files.parse(model_str)


def init_model(model: Any) -> FittedModel | None:
    """The model that the argument ``init_model`` stands for.

    Raises
    ------
    TypeError
        If it is no model of skgoss, and no path.
    """
    if model is None or isinstance(model, FittedModel):
        return model
    if isinstance(model, str | PathLike):
        return model_files.read(model)
    booster = booster_of(model, "init_model", ", or the path of a model file")
    return booster._saved_model()


def booster_of(model: Any, name: str, or_else: str = "", advice: str = "") -> Booster:
    """The Booster of a fitted estimator, or a Booster itself.

    Parameters
    ----------
    model : object
    name : str
        The argument that holds it, for the message, like the others.
    or_else : str, default=""
        What it may be besides.
    advice : str, default=""
        What to do if it is none.

    Raises
    ------
    TypeError
        If it is neither an estimator nor a Booster of skgoss.
    NotFittedError
        If it is an estimator that is not fitted.
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
