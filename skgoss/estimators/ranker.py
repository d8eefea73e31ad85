"""The estimator of rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils import Tags

from skgoss import parameters
from skgoss.estimators.base import EarlierModel, LGBMModel, Metrics
from skgoss.estimators.ndcg_scorer import ndcg
from skgoss.fit.arguments import FitArguments, scored_column
from skgoss.fit.task import Ranking
from skgoss.parameters import docstrings, signatures
from skgoss.utils import sklearn_private
from skgoss.utils.public import set_module


@set_module("skgoss")
@docstrings.describe_estimator
class LGBMRanker(LGBMModel):
    """Gradient boosted trees for ranking, by the LightGBM algorithm.

    Each row is a document, and ``y`` holds the relevance grades: 0, 1, 2 and so on,
    where 0 is irrelevant. The default gain of a document is 2**grade - 1. Pass the
    queries to ``fit`` as ``qid``, the query id of each row, or as ``group``, the sizes
    of queries whose rows are consecutive. Without them, all rows belong to one query.

    Parameters
    ----------
    ... : options, which ``help`` and docs/parameters.md describe

    Attributes
    ----------
    ... : attributes of the fitted model, which ``help`` describes

    See Also
    --------
    LGBMRegressor : Regression.
    ndcg_scorer : A scorer for searches of parameters.

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview",
    MSR-TR-2010-82.

    Examples
    --------
    >>> import numpy as np
    >>> from skgoss import LGBMRanker
    >>> random = np.random.default_rng(0)
    >>> X, qid = random.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    >>> y = np.clip(np.rint(X[:, 0] + 1), 0, 3)
    >>> ranker = LGBMRanker(n_estimators=20).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid=qid) > 0.9)
    True
    """

    _task = Ranking

    @sklearn_private.with_callbacks
    @docstrings.describe_fit
    @signatures.hint_fit_arguments
    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        group: ArrayLike | None = None,
        eval_set: Sequence[Any] | None = None,
        eval_names: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_metric: Metrics | None = None,
        eval_at: int | Iterable[int] | None = None,
        feature_name: str | Sequence[str] = "auto",
        categorical_feature: str | Iterable[str | int] | None = "auto",
        callbacks: Sequence[Callable[..., Any]] | None = None,
        init_model: EarlierModel | None = None,
        *,
        qid: ArrayLike | None = None,
        eval_qid: Any = None,
        eval_X: Any = None,
        eval_y: Any = None,
        early_stopping_rounds: int | None = None,
        verbose: bool | int = False,
        time: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The training rows. Numbers are not copied.
        y : array-like of shape (n_samples,)
            The grades of the documents, 0 for irrelevant ones.
        ... : arguments, which ``help`` describes: weights of rows, evaluation sets
            (``eval_X`` and ``eval_y``, or ``eval_set``) and early stopping on them,
            names and categories of columns, callbacks, an ``init_model`` to continue
            from, and the queries: ``group`` or ``qid``.

        Returns
        -------
        self
            The fitted estimator.
        """
        arguments = FitArguments(
            sample_weight=sample_weight,
            init_score=init_score,
            group=group,
            eval_set=eval_set,
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            eval_init_score=eval_init_score,
            eval_group=eval_group,
            eval_metric=eval_metric,
            eval_at=eval_at,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            callbacks=callbacks,
            init_model=init_model,
            qid=qid,
            eval_qid=eval_qid,
            eval_X=eval_X,
            eval_y=eval_y,
            early_stopping_round=early_stopping_rounds,
            verbose=verbose,
            time=time,
        )
        return self._fit(X, y, arguments)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        return tags

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean NDCG of the predicted rankings.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows to predict. The columns must be those of ``fit``, in the same
            order.
        y : array-like of shape (n_samples,)
            The relevance grades of the documents. If ``X`` is a file or read in
            batches, ``y`` and ``qid`` may be names of columns.
        qid : array-like of shape (n_samples,), default=None
            Query id of each row. Without ``qid`` and ``group``, all rows belong to one
            query. This is an error if ``fit`` got several queries, and all of them have
            fewer rows.
        group : array-like of shape (n_queries,), default=None
            Number of rows of each query. The rows of a query must be consecutive.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The weight of a query is the mean weight of its rows.

        Returns
        -------
        float
            The mean NDCG of the queries over all their documents: the discounted
            cumulative gain, divided by that of the ideal order. It is between 0 and 1.
            A query whose documents all have the gain 0 has the value 1. Where documents
            have equal scores, it is the mean over their orders, as in scikit-learn's
            ``ndcg_score``.
        """
        y, qid = scored_column(X, y), scored_column(X, qid, "qid")
        gain = parameters.checked_value("label_gain", self.label_gain, self._owner)
        return ndcg(self, X, y, qid, group, sample_weight, label_gain=gain)
