"""The model of a Booster: its predictions, what it consists of, and its files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.utils import InputTags, Tags, TargetTags

from skgoss import parameters
from skgoss.booster.train_arguments import TRAIN
from skgoss.columns.columns import Columns
from skgoss.fit.fit import Fit
from skgoss.model import dump, explanation, predictions
from skgoss.model.fitted import FittedModel
from skgoss.model.predictions import RowReader
from skgoss.model_files import model_file as model_files
from skgoss.parameters import docstrings
from skgoss.preprocessing import DateFeatures, PairFeatures
from skgoss.utils import disk, thread_counts
from skgoss.utils.locks import cached_property
from skgoss.utils.messages import MissingNameHints

if TYPE_CHECKING:
    import shap


@docstrings.describe_chain("The model.")
class BoosterModel(MissingNameHints):
    """The model of a `Booster`, or in training that after the last finished round."""

    best_iteration: int
    best_score: dict[str, dict[str, float]]

    # The model; in training, the fit whose trees these are.
    _held: FittedModel | Fit

    # Whether `model_from_string` has replaced the model.
    _is_replaced: bool = False

    @classmethod
    def _from_model(cls, model: FittedModel | Fit) -> Self:
        """The Booster of a model, or of a fit in training."""
        booster = cls.__new__(cls)
        booster._become(model)
        return booster

    def _become(self, model: FittedModel | Fit) -> None:
        """Hold another model, and nothing else, in one assignment."""
        self.__dict__ = booster_attributes(model)

    # --- Predictions ------------------------------------------------------------------

    @docstrings.describe_booster
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
        ... : arguments, which ``help`` describes

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
        reader = self._reader(
            model, kwargs, BoosterModel.predict, validate_features, data_has_header
        )

        def compute(columns: Columns) -> Any:
            return predictions.compute(model, columns, output, rounds, reader.n_threads)

        return reader.in_batches(data, compute, to_parquet)

    @docstrings.describe_booster
    def explain(
        self,
        data: ArrayLike,
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
        reader = self._reader(model, kwargs, BoosterModel.explain)
        return explanation.explanation(
            reader,
            data,
            rounds,
            interactions=interactions,
            include_computed=include_computed,
        )

    def _reader(
        self,
        model: FittedModel,
        kwargs: Mapping[str, Any],
        method: Callable[..., Any],
        validate_features: bool = False,
        header: bool = False,
    ) -> RowReader:
        """What reads rows for a call of a method.

        ``kwargs`` are the call's other arguments, of which only the number of threads
        has an effect; warnings about the others name the ``method``.
        ``validate_features`` and ``header``, whether a text file has a line of names,
        are as in `predict`.
        """
        owner = type(self).__name__
        n_threads = thread_counts.n_threads(
            parameters.n_jobs(kwargs, None, owner, method)
        )
        return RowReader(
            model,
            owner,
            n_threads,
            by_name=model.checks_names_of,
            params=lambda: self.params,
            checks_names=validate_features,
            header=header,
        )

    def _length(self, num_iteration: int | None) -> int | None:
        """The number of rounds that an argument ``num_iteration`` stands for.

        None: those up to the best round if early stopping found one, else None, which
        means all. Other numbers stay as they are: LightGBM's <= 0 means all, too.
        """
        if num_iteration is None and self.best_iteration > 0:
            return self.best_iteration
        return num_iteration

    # --- The model --------------------------------------------------------------------

    @property
    def _model(self) -> FittedModel:
        """The model; in training, that after the last finished round."""
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
        """The values in ``params`` that the user has changed after the fit, by name."""
        before = self._original_params()
        return {
            name: value
            for name, value in self.params.items()
            if name not in before or not parameters.same(value, before[name])
        }

    def _original_params(self) -> dict[str, Any]:
        """The value of ``params`` before the user changes it.

        The record of the fit, by the names that the user wrote, if `train` made the
        model; else what the header of a model file has, by constructor names.
        """
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

    @property
    def date_features_(self) -> DateFeatures:
        """The transformer that makes numbers of dates, as the model does.

        Other programs that read the file of the model predict what it returns. There is
        an AttributeError if the model has no dates.
        """
        return DateFeatures._of_model(self._held.schema, type(self).__name__)

    @property
    def pair_features_(self) -> PairFeatures:
        """The transformer that appends the pairs of columns that the model computes.

        Other programs that read the file of the model predict what it returns. If the
        model has dates, it takes what `date_features_` returns. There is an
        AttributeError if the model has no pairs.
        """
        return PairFeatures._of_model(self._held.schema, type(self).__name__)

    def feature_name(self) -> list[str]:
        """Return the names of the columns.

        Returns
        -------
        list of str
            If the training set had no names, they are 'Column_0', 'Column_1' and so on.
        """
        held = self._held
        return held.header.feature_names[: held.schema.n_features]

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

    # --- Files ------------------------------------------------------------------------

    @docstrings.describe_booster
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
        ... : arguments, which ``help`` describes

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
        with disk.atomic_write(filename) as file:
            file.write(text.encode())
        return self

    @docstrings.describe_booster
    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Write the model in LightGBM's text format, as `save_model` does.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

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
        self._become(parsed(model_str))
        self._is_replaced = True
        return self

    def _saved_model(self) -> FittedModel:
        """The model for files and pickles, with the attributes that users may set.

        These are ``best_iteration`` and ``best_score``.
        """
        return replace(
            self._whole_model(),
            best_iteration=self.best_iteration,
            best_score=self.best_score,
        )

    def _whole_model(self) -> FittedModel:
        """The model with its baseline hazard.

        In training, the hazard, which survival models predict curves from, takes a pass
        over the rows, so predictions of scores do without: see `_model`.
        """
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


def booster_attributes(model: FittedModel | Fit) -> dict[str, Any]:
    """The attributes of the Booster of a model, or of a fit in training, by name.

    A fit has no best round before it ends: 0 and an empty dict stand for that.
    """
    if isinstance(model, Fit):
        return {"_held": model, "best_iteration": 0, "best_score": {}}
    return {
        "_held": model,
        "best_iteration": model.best_iteration,
        "best_score": {k: dict(v) for k, v in model.best_score.items()},
    }


def parsed(model_str: Any) -> FittedModel:
    """The model of the content of a model file; ValueError if it is not one."""
    if not isinstance(model_str, str):
        raise TypeError(f"model_str must be a str, got {type(model_str).__name__}.")
    if "\n" not in model_str and not model_str.startswith("{"):
        raise ValueError(
            "model_str must be the content of a model file, got a single line:"
            f" {model_str[:80]!r}. For a path, use model_file."
        )
    return model_files.parse(model_str)
