"""A scorer of rankings, for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from skgoss.columns import queries, row_weights, targets
from skgoss.objectives.ranking import mean_ndcg
from skgoss.utils.public import set_module


class NDCGScorer:
    """A scorer of rankings, for ``scoring=``: see `ndcg_scorer`."""

    def __init__(self, k: int | None) -> None:
        self.k = k
        self.requests: dict[str, bool | str | None] = {
            "qid": True,
            "group": None,
            "sample_weight": None,
        }

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The mean NDCG of an estimator's predictions."""
        return ndcg(estimator, X, y, qid, group, sample_weight, k=self.k)

    def __repr__(self) -> str:
        return f"ndcg_scorer(k={self.k})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles name what users import.
        return ndcg_scorer, (self.k,), vars(self)

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that the scorer asks scikit-learn for."""
        request = MetadataRequest(owner=self)
        for name, alias in self.requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def set_score_request(self, **requests: bool | str | None) -> NDCGScorer:
        """Change which metadata the scorer asks for.

        Parameters
        ----------
        **requests : dict
            For ``qid``, ``group`` and ``sample_weight``: True to ask for it, False or
            None not to, or the name under which it is passed.

        Returns
        -------
        self
        """
        unknown = requests.keys() - self.requests.keys()
        if unknown:
            raise TypeError(
                f"Unexpected argument {min(unknown)!r}: ndcg_scorer takes"
                f" {', '.join(self.requests)}."
            )
        self.requests |= requests
        return self


def ndcg(
    estimator: Any,
    X: Any,
    y: Any,
    qid: Any,
    group: Any,
    sample_weight: Any,
    *,
    k: int | None = None,
    label_gain: Any = None,
) -> float:
    """The mean NDCG of an estimator's predictions: see `LGBMRanker.score`."""
    owner = type(estimator).__name__
    scores = np.ascontiguousarray(estimator.predict(X), dtype=np.float64)
    if qid is None and group is None:
        _check_one_query(estimator, len(scores))
    grades = targets.one_column(y, len(scores), owner)
    grades = targets.numbers(grades, owner)
    return mean_ndcg(
        grades,
        scores,
        queries.make(len(scores), group=group, qid=qid),
        k=k,
        label_gain=label_gain,
        weight=row_weights.checked(sample_weight, None, grades, None),
    )


def _check_one_query(estimator: Any, n_rows: int) -> None:
    """Check that rows may be one query of those that a model learns; else ValueError.

    scikit-learn passes what ``fit`` gets to scorers only by metadata routing.
    ``n_rows`` is the number of the scored rows, and ``estimator`` may be a pipeline
    that ends with the ranker.
    """
    model = getattr(getattr(estimator, "_final_estimator", estimator), "_model", None)
    largest = getattr(model, "largest_query", 0)
    if 0 < largest < n_rows:
        raise ValueError(
            f"Neither qid nor group is passed with {n_rows} rows, but the largest query"
            f" in fit has {largest}. Pass qid, or group=[{n_rows}] if the rows are one"
            " query. In searches and cross-validation of scikit-learn, call"
            " sklearn.set_config(enable_metadata_routing=True), and set_fit_request and"
            " set_score_request of the ranker with qid=True."
        )


@set_module("skgoss")
def ndcg_scorer(k: int | None = 10) -> NDCGScorer:
    """Create an NDCG scorer for rankers, for ``scoring`` of searches.

    The scorer requests ``qid``: with metadata routing, the ``qid`` that is passed to
    the search reaches the scorer.

    Parameters
    ----------
    k : int, default=10
        The number of top documents of a query. None: all documents.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, *, qid=None, group=None, sample_weight=None)`` returns
        the mean NDCG@k of the queries, with the gains 2**grade - 1. Higher is better.
        If documents have equal scores, it is the mean over their orders.

    See Also
    --------
    LGBMRanker.score : The mean NDCG of all documents.

    References
    ----------
    K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques",
    ACM Transactions on Information Systems 20 (2002).

    Examples
    --------
    >>> from skgoss import ndcg_scorer
    >>> ndcg_scorer(k=5)
    ndcg_scorer(k=5)
    """
    if k is not None and (not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k must be an int >= 1 or None, got {k!r}.")
    return NDCGScorer(None if k is None else int(k))
