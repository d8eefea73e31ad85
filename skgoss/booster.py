"""Trained trees, without scikit-learn's interface."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import asdict
from numbers import Integral
from typing import Any, Literal, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import InputTags, Tags, TargetTags

from skgoss import _compat, parameters
from skgoss.data import frames
from skgoss.data.categories import Categories
from skgoss.data.columns import Columns
from skgoss.data.state import entries
from skgoss.model import header as headers
from skgoss.model.ensemble import Ensemble
from skgoss.model.header import Header
from skgoss.training.objectives import OBJECTIVES, Link

Output = Literal["prediction", "raw_score", "leaf"]


class Booster:
    """Trained trees: predictions, files, importances.

    Estimators have theirs as ``booster_``.

    Attributes
    ----------
    best_iteration : int
        Number of rounds that early stopping has kept; 0 without early stopping.
    best_score : dict
        Metrics by evaluation set and name, after the best round; without early
        stopping, after the last round.
    """

    _ensemble: Ensemble
    _header: Header
    _categories: Categories
    _link: Link
    _objective: str | Callable[..., Any]
    best_iteration: int
    best_score: dict[str, dict[str, float]]

    @classmethod
    def _of(
        cls,
        ensemble: Ensemble,
        header: Header,
        categories: Categories,
        objective: str | Callable[..., Any],
        link: Link,
        best_iteration: int = 0,
        best_score: dict[str, dict[str, float]] | None = None,
    ) -> Self:
        """Make a model of its parts.

        Raises
        ------
        ValueError
            If the parts contradict each other.
        """
        booster = cls.__new__(cls)
        booster._ensemble = ensemble
        booster._header = header
        booster._categories = categories
        booster._objective = objective
        booster._link = link
        booster.best_iteration = best_iteration
        booster.best_score = {} if best_score is None else best_score
        booster._check()
        return booster

    def _check(self) -> None:
        n_features = self._ensemble.n_features
        headers.check(self._header, n_features)
        if isinstance(self._objective, str) and self._objective not in OBJECTIVES:
            raise ValueError(f"the objective {self._objective!r} is not known")
        if self.best_iteration < 0:
            raise ValueError("best_iteration must be at least 0")
        last = max(self._categories.vocabularies, default=0)
        if last >= n_features:
            raise ValueError(
                f"column {last} has categories, but there are only {n_features} columns"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {
            "ensemble": self._ensemble.__getstate__(),
            "header": asdict(self._header),
            "categories": self._categories.__getstate__(),
            "objective": self._objective,
            "link": self._link.__getstate__(),
            "best_iteration": self.best_iteration,
            "best_score": self.best_score,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        types = {
            "ensemble": object,
            "header": object,
            "categories": object,
            "objective": (str, Callable),
            "link": object,
            "best_iteration": Integral,
            "best_score": dict,
        }
        values = dict(zip(types, entries(state, types, "the Booster"), strict=True))
        for name, kind in (
            ("ensemble", Ensemble),
            ("header", Header),
            ("categories", Categories),
            ("link", Link),
        ):
            part = kind.__new__(kind)
            part.__setstate__(values[name])
            values[name] = part
        vars(self).update(vars(type(self)._of(**values)))

    def __sklearn_tags__(self) -> Tags:
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self._ensemble.n_features

    def predict(
        self,
        data: ArrayLike,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        raw_score: bool = False,
        pred_leaf: bool = False,
        **kwargs: Any,
    ) -> NDArray[Any]:
        """Predict.

        Parameters
        ----------
        data : array-like or data frame of shape (n_samples, n_features)
            Rows with the columns of the training set, in the same order.
        start_iteration : int, default=0
            First round to use.
        num_iteration : int, default=None
            Number of rounds to use. None: up to the best round if early stopping found
            one, else all; <= 0: all.
        raw_score : bool, default=False
            Whether to return raw scores: the sum of the trees' values, or their mean
            for a random forest.
        pred_leaf : bool, default=False
            Whether to return the index of the leaf of each row in each tree.
        **kwargs : dict
            ``n_jobs``, or another name of it, is the number of threads. Other
            parameters of LightGBM have no effect; unknown names give an
            ``UnusedParameterWarning``.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_scores) for more than one score
            The mean, the probability of the second class, or the probabilities of all
            classes, by the objective. For ``pred_leaf``, (n_samples, n_trees).
        """
        if num_iteration is None and self.best_iteration > 0:
            num_iteration = self.best_iteration
        return self._predict(
            frames.columns(self, data, reset=False),
            kind_of_output(raw_score, pred_leaf),
            start_iteration,
            num_iteration,
            parameters.n_jobs(kwargs, None, type(self).__name__),
        )

    def _predict(
        self,
        columns: Columns,
        output: Output,
        start_iteration: int,
        num_iteration: int | None,
        n_jobs: int | None,
    ) -> NDArray[Any]:
        """Leaves, raw scores or predictions.

        Scores and predictions have one dimension if there is one score for each row.
        """
        ensemble, n_threads = self._ensemble, _compat.n_threads(n_jobs)
        span = self._span(start_iteration, num_iteration)
        if output == "leaf":
            return ensemble.leaves(columns, *span, n_threads)
        scores = ensemble.raw_scores(columns, *span, n_threads)
        if output == "prediction":
            scores = self._link(scores, n_threads)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _span(self, start: int, length: int | None) -> tuple[int, int]:
        """The first round to use, and the last plus 1."""
        n_rounds = self._ensemble.n_rounds
        start = _whole("start_iteration", start)
        length = None if length is None else _whole("num_iteration", length)
        start = min(max(start, 0), n_rounds)
        if length is None or length <= 0:
            return start, n_rounds
        return start, min(start + length, n_rounds)

    def feature_name(self) -> list[str]:
        """Names of the columns.

        Returns
        -------
        list of str
            'Column_0', 'Column_1' and so on if the training set had no names.
        """
        return list(self._header.feature_names)

    def num_feature(self) -> int:
        """Number of columns."""
        return self._ensemble.n_features

    def num_trees(self) -> int:
        """Number of trees: those of a round times the rounds."""
        return self._ensemble.n_trees

    def num_model_per_iteration(self) -> int:
        """Number of trees of a round: the number of classes, or 1."""
        return self._ensemble.n_scores

    def current_iteration(self) -> int:
        """Number of rounds."""
        return self._ensemble.n_rounds


def kind_of_output(raw_score: bool, pred_leaf: bool) -> Output:
    """The output that the arguments of a prediction ask for."""
    if pred_leaf:
        return "leaf"
    return "raw_score" if raw_score else "prediction"


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    return int(value)
