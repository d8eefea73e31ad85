"""Trained trees, without scikit-learn's interface."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from dataclasses import asdict
from numbers import Integral
from os import PathLike
from types import NoneType
from typing import Any, Literal, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import InputTags, Tags, TargetTags

from skgoss import _compat, parameters
from skgoss._messages import warn
from skgoss.data import frames
from skgoss.data.categories import Categories
from skgoss.data.columns import Columns
from skgoss.data.state import entries
from skgoss.model import header as headers
from skgoss.model.ensemble import Ensemble
from skgoss.model.header import Header
from skgoss.origin import Origin
from skgoss.training.objectives import OBJECTIVES, Link

Output = Literal["prediction", "raw_score", "leaf"]


class Booster:
    """Trained trees: predictions, files, importances.

    Estimators have theirs as ``booster_``. Others are read from files of LightGBM's
    text format, written by skgoss or LightGBM 2, 3 or 4.

    Parameters
    ----------
    params : dict, default=None
        Has no effect: the parameters are those of the file.
    model_file : str or path, default=None
        The file to read.
    model_str : str, default=None
        The content of a file, in place of the file.

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
    _objective: str | Callable[..., Any] | None
    _origin: Origin | None
    best_iteration: int
    best_score: dict[str, dict[str, float]]

    def __init__(
        self,
        params: dict[str, Any] | None = None,
        *,
        model_file: str | PathLike[str] | None = None,
        model_str: str | None = None,
    ) -> None:
        if (model_file is None) == (model_str is None):
            raise TypeError("Booster needs model_file or model_str, one of them.")
        if params:
            warn("Booster ignores params: the parameters are those of the file.")
        if model_str is not None:
            self.model_from_string(model_str)
            return
        from skgoss import files

        with files.named(model_file):
            self._restore(*files.parse(files.content(model_file)))

    @classmethod
    def _of(
        cls,
        ensemble: Ensemble,
        header: Header,
        categories: Categories,
        objective: str | Callable[..., Any] | None,
        link: Link,
        best_iteration: int = 0,
        best_score: dict[str, dict[str, float]] | None = None,
        origin: Origin | None = None,
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
        booster.best_score = {k: dict(v) for k, v in (best_score or {}).items()}
        booster._origin = origin
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
        if self._origin is not None:
            self._origin.check(n_features, self._ensemble.n_scores)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "ensemble": self._ensemble.__getstate__(),
            "header": asdict(self._header),
            **self._knowledge(),
        }

    def _knowledge(self) -> dict[str, Any]:
        """The state, without trees and header."""
        return {
            "categories": self._categories.__getstate__(),
            "objective": self._objective,
            "link": self._link.__getstate__(),
            "best_iteration": self.best_iteration,
            "best_score": self.best_score,
            "origin": self._origin and self._origin.__getstate__(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        types = {"ensemble": object, "header": object}
        ensemble, header = entries(state, types, "the Booster")
        self._restore(_restored(Ensemble, ensemble), _restored(Header, header), state)

    def _restore(
        self, ensemble: Ensemble, header: Header, state: dict[str, Any]
    ) -> None:
        """Become the model of some trees, a header and what `_knowledge` returned."""
        types = {
            "categories": object,
            "objective": (str, Callable, NoneType),
            "link": object,
            "best_iteration": Integral,
            "best_score": dict,
            "origin": (dict, NoneType),
        }
        values = dict(zip(types, entries(state, types, "the Booster"), strict=True))
        if not all(
            isinstance(scores, dict) for scores in values["best_score"].values()
        ):
            raise ValueError("best_score must hold dicts")
        values["categories"] = _restored(Categories, values["categories"])
        values["link"] = _restored(Link, values["link"])
        if values["origin"] is not None:
            values["origin"] = _restored(Origin, values["origin"])
        vars(self).update(vars(type(self)._of(ensemble, header, **values)))

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

    def save_model(
        self,
        filename: str | PathLike[str],
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> Self:
        """Write the model to a file in LightGBM's text format.

        LightGBM, treelite and others read the file. Names and categories that they do
        not accept, and what an estimator needs, are in a line that they skip:
        ``LGBMClassifier.from_file`` makes the same estimator of the file.

        Parameters
        ----------
        filename : str or path
            If writing fails, an earlier file of this name is unchanged.
        num_iteration : int, default=None
            Number of rounds to write. None: up to the best round if early stopping
            found one, else all; <= 0: all.
        start_iteration : int, default=0
            First round to write.
        importance_type : {'split', 'gain'}, default='split'
            The kind of importances in the file.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If a category or class has a type that text cannot hold.
        OSError
            If the file cannot be written.

        Warns
        -----
        UserWarning
            If the file leaves parameters out, because they are functions or of other
            types that text cannot hold.
        """
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        from skgoss import files

        files.save(filename, text)
        return self

    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Write the model in LightGBM's text format.

        Parameters
        ----------
        num_iteration, start_iteration, importance_type
            As in `save_model`, as are errors and warnings.

        Returns
        -------
        str
        """
        from skgoss import files

        span = self._span(start_iteration, self._length(num_iteration))
        return files.render(self, *span, importance_type)

    def model_from_string(self, model_str: str) -> Self:
        """Become the model of a text, as ``model_to_string`` returned it.

        Parameters
        ----------
        model_str : str

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the text is not a model, or contradicts itself. The message tells the
            line.
        """
        from skgoss import files

        if not isinstance(model_str, str):
            raise TypeError(f"model_str must be a str, got {type(model_str).__name__}.")
        self._restore(*files.parse(model_str))
        return self

    def _with_origin(self, origin: Origin) -> Self:
        """The same model of another estimator."""
        booster = copy.copy(self)
        booster._origin = origin
        return booster

    @property
    def _is_foreign(self) -> bool:
        """Whether the trees are of another library."""
        return self._origin is None or self._origin.is_foreign

    def _numbered(self, X: Any) -> Self:
        """A foreign model with the numbers of categories that training uses.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The training set.
        """
        from skgoss import files

        booster = copy.copy(self)
        booster._ensemble, booster._categories = files.numbered(
            self._ensemble,
            self._header,
            self._categories,
            frames.word_columns(X),
            frames.columns(self, X, reset=False, by_name=False),
        )
        return booster

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
        return self._predict(
            frames.columns(self, data, reset=False, by_name=False),
            kind_of_output(raw_score, pred_leaf),
            start_iteration,
            self._length(num_iteration),
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

    def _length(self, num_iteration: int | None) -> int | None:
        """The number of rounds; None stands for the best, if there is one."""
        if num_iteration is None and self.best_iteration > 0:
            return self.best_iteration
        return num_iteration

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


def _restored(kind: type, state: Any) -> Any:
    """A part of a model, from its state."""
    part = kind.__new__(kind)
    part.__setstate__(state)
    return part


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    return int(value)
