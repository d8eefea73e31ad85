"""The estimator for regression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from skgoss.estimators.base import EarlierModel, LGBMModel, Metrics
from skgoss.fit.arguments import FitArguments
from skgoss.fit.task import Regression
from skgoss.parameters import docstrings, signatures
from skgoss.utils import compat


@docstrings.of_estimator
class LGBMRegressor(RegressorMixin, LGBMModel):
    """Gradient boosted trees for regression, by the LightGBM algorithm.

    ``y`` may have several columns. Each is a target, which is learned by trees of its
    own. NaN in one of several columns is a missing target: the row is left out for this
    column alone.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    LGBMClassifier : Classification.
    LGBMRanker : Ranking.
    train : Training by a function, with LightGBM's arguments.

    References
    ----------
    G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree",
    NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LGBMRegressor(n_estimators=30).fit(X, y).predict(X).shape
    (442,)
    """

    _task = Regression

    @compat.with_callbacks
    @docstrings.of_fit
    @signatures.of_fit
    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        eval_set: Sequence[Any] | None = None,
        eval_names: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
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
        groups: ArrayLike | None = None,
    ) -> Self:
        return self._fit(X, y, FitArguments.of(locals()))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
