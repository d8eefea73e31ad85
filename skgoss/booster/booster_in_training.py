"""Training of a Booster: round by round, or of leaf values on other data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike

from skgoss import parameters
from skgoss.booster.booster_model import BoosterModel, booster_attributes
from skgoss.booster.train_arguments import TrainOptions, check_label
from skgoss.columns import categories
from skgoss.dataset.dataset import Dataset
from skgoss.fit.arguments import FitArguments
from skgoss.fit.fit import Fit, FunctionOfRound
from skgoss.model.fitted import FittedModel
from skgoss.objectives.objectives import NOT_BUILT_IN
from skgoss.parameters import docstrings
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.utils.locks import assign
from skgoss.utils.messages import type_name, warn_unused

Feval = Callable[..., Any] | Sequence[Callable[..., Any]] | None


@docstrings.describe_chain("The model.")
class BoosterInTraining(BoosterModel):
    """The training of a `Booster`, which holds a fit until it ends."""

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
        """The evaluation sets without the training set; empty after the training."""
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
        fit.add_set(name, data, on_demand=False)
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
            evaluated = fit.add_set(name, data, on_demand=not is_new)
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
        """The training or evaluation set of a `Dataset`; None: it is neither.

        Data sets are compared by identity. On-demand sets, which only `eval` computes,
        count as well.
        """
        fit = self._fit
        if data is fit.training.X:
            return fit.rounds.training_sets()[0]
        sets = (*fit.rounds.sets, *fit.rounds.on_demand_sets)
        return next((e for e in sets if e.data is data and not e.is_training), None)

    def free_network(self) -> Self:
        """Do nothing: there is no network to free."""
        return self

    def free_dataset(self) -> Self:
        """End the training and free all rows. The model keeps its trees."""
        self._held = self._whole_model()
        return self

    def _attributes_of_callbacks(self) -> dict[str, Any]:
        """The attributes that callbacks have set on the Booster, by name.

        A pickled estimator keeps them: any attribute that is not one of the class.
        """
        own = BoosterModel.__annotations__
        return {
            name: value
            for name, value in vars(self).items()
            if name not in own and not hasattr(type(self), name)
        }

    def _end(self, model: FittedModel) -> Self:
        """End the training with a model; attributes that callbacks set stay."""
        self.__dict__ = {**vars(self), **booster_attributes(model)}
        return self

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
        reader = self._reader(model, kwargs, BoosterInTraining.refit, validate_features)
        columns, owner = reader.loaded(data), reader.owner
        refit.warn_of_unknown_categories(data, model)
        rows = refit.rows(model, columns, label, weight, group, init_score, owner)
        options = parameters.resolve(model.options(), owner)[0]
        options |= parameters.resolve(self._changed_params(), owner)[0]
        trees = refit.refitted(
            model, options, rows, float(decay_rate), reader.n_threads
        )
        model = replace(model.with_trees(trees), best_iteration=0, best_score={})
        booster = self._from_model(model)
        booster.params = {**self.params, "refit_decay_rate": float(decay_rate)}
        return booster


# Options that end rounds, which a Booster does not do by itself.
_OF_ROUNDS = ("early_stopping_round", "time_limit")


def in_training(params: Mapping[str, Any] | None, train_set: Dataset) -> Fit:
    """The fit of ``Booster(params, train_set)``: its data are read, it has no rounds.

    The user adds the rounds by `Booster.update`, so options that end rounds have no
    effect, which a warning says.
    """
    if not isinstance(train_set, Dataset):
        raise TypeError(
            f"train_set must be a Dataset, got {type_name(train_set)}: pass Dataset(X,"
            " label=y)."
        )
    options = TrainOptions.from_params(params, n_estimators=1)
    check_label(train_set, options, "train_set")
    objective = options.task.objective
    if isinstance(objective, str) and objective.lower() in NOT_BUILT_IN:
        # 'none' or 'custom': each call of `update` passes the function for its round.
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
