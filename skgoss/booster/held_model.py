"""The model of a `Booster`: a fitted one, or that of a fit that goes on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

from skgoss import parameters
from skgoss.fit.fit import Fit
from skgoss.fit.train_arguments import TRAIN
from skgoss.model import tables
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.fitted import FittedModel
from skgoss.utils.locks import cached_property


class HeldModel:
    """The model that a `Booster` holds.

    Attributes
    ----------
    best_iteration : int
    best_score : dict
        See `Booster`.
    """

    # The fit whose trees these are, as long as it goes on; else there is a model.
    _live_fit: Fit | None = None
    _fitted: FittedModel
    best_iteration: int
    best_score: dict[str, dict[str, float]]

    @property
    def _model(self) -> FittedModel:
        """The model; of a fit that goes on, that after the last finished round."""
        fit = self._live_fit
        return self._fitted if fit is None else fit.model_so_far()

    @property
    def _header(self) -> Header:
        """The content of a model file besides the trees."""
        fit = self._live_fit
        return self._fitted.header if fit is None else fit.header()

    def _change_trees(self, change: Callable[[FittedModel], Ensemble]) -> Self:
        """Replace the trees of the model."""
        if self._live_fit is not None:
            raise ValueError(
                "The trees of a Booster in training cannot be changed. Call"
                " free_dataset() first, which ends the training."
            )
        self._fitted = self._fitted.with_trees(change(self._fitted))
        return self

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
        fit = self._live_fit
        record = self._fitted.record if fit is None else fit.record
        options = parameters.from_lightgbm(self._header.parameters)
        if record is None:
            return options
        given = parameters.with_constructor_names(options)
        if record.estimator == TRAIN:
            given = copy.deepcopy(record.parameters)
        if not self._objectives:
            given["objective"] = "none"  # it is a function
        return given

    @property
    def _objectives(self) -> list[str]:
        """The names of the objectives; empty if it is a function, or not known."""
        fit = self._live_fit
        objective = self._fitted.objective if fit is None else fit.settings.objective
        names = objective if isinstance(objective, list | tuple) else [objective]
        return [name for name in names if isinstance(name, str)]

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self.num_feature()

    def _length(self, num_iteration: int | None) -> int | None:
        """The number of rounds; None stands for the best, if there is one."""
        if num_iteration is None and self.best_iteration > 0:
            return self.best_iteration
        return num_iteration

    def feature_name(self) -> list[str]:
        """Return the names of the columns.

        Returns
        -------
        list of str
            If the training set had no names, they are 'Column_0', 'Column_1' and so on.
        """
        return list(self._header.feature_names)

    def num_feature(self) -> int:
        """Number of columns.

        Returns
        -------
        int
            The columns of the training set, used or not.
        """
        fit = self._live_fit
        return (self._fitted if fit is None else fit).schema.n_features

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
        fit = self._live_fit
        return self._fitted.trees.n_scores if fit is None else fit.n_scores

    def current_iteration(self) -> int:
        """Number of rounds.

        Returns
        -------
        int
            The rounds of ``init_model`` are counted.
        """
        fit = self._live_fit
        return self._fitted.trees.n_rounds if fit is None else fit.n_rounds

    @property
    def pandas_categorical(self) -> list[list[Any]] | None:
        """The categories of the categorical columns, as in LightGBM.

        A list for each column that held strings or categories, in the order of the
        columns. None if there is no such column.
        """
        model = self._model
        return tables.pandas_categorical(model.header, model.categories)
