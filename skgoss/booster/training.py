"""What a `Booster` in training can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from skgoss import parameters
from skgoss.booster.held_model import HeldModel
from skgoss.dataset.dataset import Dataset
from skgoss.fit.arguments import FitArguments
from skgoss.fit.fit import Fit, FunctionOfRound
from skgoss.fit.train_arguments import NAME_OF_ROUNDS, TrainOptions, check_label
from skgoss.objectives.objective_names import NOT_BUILT_IN
from skgoss.training.callback_api import EvalResult
from skgoss.training.evaluation import EvaluationSet
from skgoss.utils.messages import type_name

Feval = Callable[..., Any] | Sequence[Callable[..., Any]] | None


def start(params: Mapping[str, Any] | None, train_set: Dataset) -> Fit:
    """Start to train a model, without a round."""
    if not isinstance(train_set, Dataset):
        raise TypeError(f"train_set must be a Dataset, got {type_name(train_set)}.")
    options = TrainOptions.of(params, n_estimators=1)
    check_label(train_set, options, "train_set")
    word = options.task.objective
    if isinstance(word, str) and word.lower() in NOT_BUILT_IN:
        options = options.with_objective(FunctionOfRound())
    if options.options.get("folds") is not None:
        raise ValueError(
            "folds cannot be used with Booster(params, train_set), whose rounds are"
            " trained one by one. Use train."
        )
    # The rounds are the user's, so no rows are held out to end them.
    fit = options.start(train_set, FitArguments(early_stopping_round=0))
    if "n_estimators" not in options.names:
        del fit.record.parameters[NAME_OF_ROUNDS]
    return fit


class InTraining(HeldModel):
    """The methods of a `Booster` in training; others refuse them."""

    @property
    def _fit(self) -> Fit:
        """The fit of a model in training."""
        if self._live_fit is None:
            raise ValueError(
                "The Booster is not in training. Create it by Booster(params,"
                " train_set), or by train with keep_training_booster=True."
            )
        return self._live_fit

    @property
    def train_set(self) -> Dataset | None:
        """The `Dataset` of the training data. None if the model is not in training."""
        if self._live_fit is None:
            return None
        data = self._live_fit.training.X
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
        sets = [] if self._live_fit is None else self._live_fit.state.sets
        return [e for e in sets if not e.is_training]

    @property
    def _training_names(self) -> set[str]:
        """The names of the evaluation sets that are the training set."""
        return self._fit.state.training_names

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
            self._live_fit = fit
        return is_finished

    def rollback_one_iter(self) -> Self:
        """Remove the last round.

        The next rounds are the same as if this round had never been trained. The scores
        of all rows are computed again from the other trees, which takes as long as a
        prediction. Rounds of an ``init_model`` are not removed.

        Returns
        -------
        self
            The model.
        """
        self._fit.state.rollback()
        return self

    def add_valid(self, data: Dataset, name: str) -> Self:
        """Add an evaluation set, for `eval_valid` and for callbacks.

        Parameters
        ----------
        data : Dataset
            The evaluation set. It uses the bins of the training set.
        name : str
            A name that no other evaluation set has.

        Returns
        -------
        self
            The model.
        """
        fit = self._fit
        if name in {evaluated.name for evaluated in fit.state.sets}:
            raise ValueError(
                f"name must be new, but there is an evaluation set {name!r}."
            )
        fit.add_set(name, data, is_listed=True)
        return self

    def eval(self, data: Dataset, name: str, feval: Feval = None) -> list[EvalResult]:
        """Compute the metrics of a data set after the last round.

        Parameters
        ----------
        data : Dataset
            The training set, an evaluation set or another data set. The scores of
            another data set are kept for later calls. `eval_valid` does not include it.
        name : str
            The name of the data set in the results.
        feval : callable or list of callable, default=None
            Additional metric functions: see `train`.

        Returns
        -------
        list of EvalResult
            One for each metric.
        """
        fit = self._fit
        evaluated = self._known_set(data) or fit.add_set(name, data, is_listed=False)
        results = fit.state.evaluate_sets([evaluated], fit.metrics_of(feval))
        return [result._replace(dataset_name=name) for result in results]

    def _known_set(self, data: Any) -> EvaluationSet | None:
        """The training or evaluation set that holds some data, if there is one."""
        fit = self._fit
        if data is fit.training.X:
            return fit.state.training_sets()[0]
        sets = (*fit.state.sets, *fit.state.unlisted_sets)
        return next((e for e in sets if e.data is data and not e.is_training), None)

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
        return fit.state.eval_train(fit.metrics_of(feval))

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
        return fit.state.eval_valid(fit.metrics_of(feval))

    def set_train_data_name(self, name: str) -> Self:
        """Set the name of the training set in results.

        Parameters
        ----------
        name : str
            The name; 'training' if none is set.

        Returns
        -------
        self
            The model.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {name!r}.")
        for evaluated in self._fit.state.training_sets():
            evaluated.name = name
        return self

    def reset_parameter(self, params: Mapping[str, Any]) -> Self:
        """Change parameters for later rounds.

        Parameters
        ----------
        params : dict
            Parameters by any of their names, such as ``learning_rate``. Others may be
            among them if they keep their values.

        Returns
        -------
        self
            The model.

        Raises
        ------
        TypeError
            If ``params`` is not a dict.
        ValueError
            If a parameter is unknown or cannot be changed during training, or a value
            is invalid.
        """
        self._fit.reset_parameter(params)
        self.params = parameters.updated(self.params, params)
        return self

    def free_network(self) -> Self:
        """Do nothing: there is no network to free.

        Returns
        -------
        self
            The model.
        """
        return self

    def free_dataset(self) -> Self:
        """End the training and free all rows. The model keeps its trees.

        Returns
        -------
        self
            The model.
        """
        if self._live_fit is not None:
            self._fitted = self._model
            self._live_fit = None
        return self
