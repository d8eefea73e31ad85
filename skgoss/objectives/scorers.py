"""scikit-learn's scorers as metrics: they get the predictions of each round."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metadata_routing import get_routing_for_object

from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.link import Link
from skgoss.objectives.metrics import CustomMetric
from skgoss.objectives.user_functions import predictions
from skgoss.utils.messages import warn
from skgoss.utils.sklearn_private import instead_of

Floats = NDArray[np.float64]

# How the names of functions of scikit-learn end of which lower is better.
_LOSSES = ("_deviance", "_error", "_loss")


class _Predicted(BaseEstimator):
    """Stands for the fitted estimator: its predictions for any rows are those passed.

    ``predicted`` has the shape (n_rows,) or (n_rows, n_classes).
    """

    def __init__(self, predicted: Floats) -> None:
        self.predicted = predicted

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Regressor(RegressorMixin, _Predicted):
    def predict(self, X: Any) -> Floats:
        return self.predicted


class _Classifier(ClassifierMixin, _Predicted):
    def __init__(self, predicted: Floats, classes: NDArray[Any]) -> None:
        super().__init__(predicted)
        self.classes_ = classes

    def predict_proba(self, X: Any) -> Floats:
        p = self.predicted
        return p if p.ndim == 2 else np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class ScorerMetric(CustomMetric):
    """A metric by an object of ``make_scorer``, or by the name of one.

    ``classes`` are the labels; None if the target holds numbers. A name is the score,
    of which higher is better. Otherwise, the value is that of the scorer's function.
    The scorer gets the weights of the rows if it asks for them.
    """

    def __init__(self, scorer: Any, link: Link, classes: NDArray[Any] | None) -> None:
        is_name = isinstance(scorer, str)
        if not is_name:
            warn_of_maximized_loss(scorer)
        self.function = get_scorer(scorer) if is_name else scorer
        self.maximize = is_name or scorer._sign > 0
        self.name = scorer if is_name else scorer._score_func.__name__
        self.link, self.classes = link, classes
        self.takes_weight = _takes_weight(self.function)

    def _returned(self, data: EvalData) -> tuple[str, float, bool]:
        if data.y.ndim == 2:
            raise ValueError(
                f"The scorer {self.name!r} needs labels or numbers, but y of an"
                " evaluation set has several columns. Pass a function of targets and"
                " predictions instead."
            )
        predicted, y, estimator = predictions(data.scores), data.y.copy(), None
        if self.classes is None:
            estimator = _Regressor(predicted)
        else:
            estimator = _Classifier(predicted, self.classes)
            y = self.classes[y.astype(np.intp)]
        weights = {}
        if self.takes_weight and data.weight is not None:
            weights["sample_weight"] = data.weight.copy()
        try:
            # The rows are not needed: their predictions are known.
            score = self.function(estimator, np.empty((len(y), 0)), y, **weights)
        except ValueError as error:
            advice = ""
            if "pos_label" in str(error):
                assert self.classes is not None
                advice = instead_of(self.function, self.name, self.classes)
            raise ValueError(
                f"The scorer {self.name!r} failed: {error}{advice}"
            ) from error
        return self.name, score if self.maximize else -score, self.maximize


def refuse_function(function: Any, *, takes_scorers: bool) -> None:
    """TypeError for a function of scikit-learn's metrics, which no fit can call.

    It returns a number, and may need labels. ``takes_scorers``: whether the fit can
    have a scorer instead.
    """
    if not str(getattr(function, "__module__", "")).startswith("sklearn.metrics."):
        return
    word, name = function.__name__, _name_of_scorer(function)
    if takes_scorers:
        named = f"{name!r}, or its scorer with other options, " if name else ""
        advice = f"Pass {named}make_scorer({word}, ...)."
    else:
        advice = (
            "Pass a function that calls it and returns (name, value, is_higher_better)."
        )
    raise TypeError(f"{word} is a function of scikit-learn, not a metric. {advice}")


def _name_of_scorer(function: Any) -> str | None:
    """The name of the first scorer of a function; None if there is none."""
    names = get_scorer_names()
    return next((n for n in names if get_scorer(n)._score_func is function), None)


def warn_of_maximized_loss(scorer: Any) -> None:
    """Warn of a scorer whose function is a loss of scikit-learn that it maximizes.

    ``make_scorer`` maximizes by default.
    """
    function = getattr(scorer, "_score_func", None)
    word = getattr(function, "__name__", "")
    if (
        getattr(scorer, "_sign", -1) < 0
        or not word.endswith(_LOSSES)
        or not str(getattr(function, "__module__", "")).startswith("sklearn.metrics.")
    ):
        return
    name = _name_of_scorer(function)
    named = f"{name!r}, or " if name else ""
    warn(
        f"make_scorer({word}) counts a higher value as better, so the model with the"
        f" largest {word} is chosen. Pass {named}make_scorer({word},"
        " greater_is_better=False)."
    )


def is_scorer(metric: Any) -> bool:
    """Whether a metric is an object that ``make_scorer`` returns."""
    return hasattr(metric, "_score_func")


def named(name: str, link: Link, classes: NDArray[Any] | None) -> ScorerMetric | None:
    """The metric by scikit-learn's scorer of this name.

    None if there is none, or if it scores labels but the target holds numbers.
    """
    if name not in get_scorer_names():
        return None
    metric = ScorerMetric(name, link, classes)
    numbers = np.linspace(0.5, 2.5, 5)
    try:
        if classes is None:
            metric(EvalData(numbers, numbers[None], None, None, 1))
    except ValueError:
        return None
    return metric


def _takes_weight(scorer: Any) -> bool:
    """Whether a scorer asks for weights, by scikit-learn's rules."""
    if get_config()["enable_metadata_routing"]:
        routing = get_routing_for_object(scorer)
        return "sample_weight" in routing.consumes("score", ["sample_weight"])
    return bool(scorer._accept_sample_weight())
