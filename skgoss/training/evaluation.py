"""Evaluation sets: rows whose metrics are computed after each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.rows import Rows
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.link import IDENTITY, transform
from skgoss.objectives.metrics import CustomMetric, Result
from skgoss.objectives.output_metrics import AnyMetric
from skgoss.training.binned import BinnedRows
from skgoss.utils.messages import warn
from skgoss.utils.public import set_module

Floats = NDArray[np.float64]

_NO_SCORES = np.empty((0, 0))


@set_module("skgoss")
class EvalResult(tuple[Any, ...]):
    """One metric of one evaluation set in one round.

    It is a tuple of four items, as in LightGBM: ``name, metric, value, maximize =
    result``. In cross-validation, ``metric_std_dev`` is the fifth item. ``result[4]``
    is ``metric_std_dev`` in any case.

    Parameters
    ----------
    dataset_name, metric_name : str
        The names of the set and of the metric.
    metric_value : float
        The value.
    maximize : bool
        Whether higher is better.
    metric_std_dev : float, default=None
        The standard deviation over folds; None outside cross-validation.

    See Also
    --------
    callback.CallbackEnv : What callbacks see, with the results of a round.
    Booster.eval : The results of a data set.

    Examples
    --------
    >>> from skgoss import EvalResult
    >>> result = EvalResult("valid_0", "l2", 0.25, False)
    >>> result.metric_value
    0.25
    >>> name, metric, value, maximize = result
    """

    __slots__ = ()
    _fields = (
        "dataset_name",
        "metric_name",
        "metric_value",
        "maximize",
        "metric_std_dev",
    )
    __match_args__ = _fields

    def __new__(
        cls,
        dataset_name: str,
        metric_name: str,
        metric_value: float,
        maximize: bool,
        metric_std_dev: float | None = None,
    ) -> Self:
        """Make a tuple of four items, or of five with ``metric_std_dev``."""
        items = (dataset_name, metric_name, metric_value, maximize, metric_std_dev)
        return super().__new__(cls, items[: 4 if metric_std_dev is None else 5])

    def __getitem__(self, index: Any) -> Any:
        if index == 4 and not self.is_cv_result():
            return None
        return super().__getitem__(index)

    @property
    def dataset_name(self) -> str:
        """The name of the evaluation set."""
        return self[0]

    @property
    def metric_name(self) -> str:
        """The name of the metric."""
        return self[1]

    @property
    def metric_value(self) -> float:
        """The value of the metric."""
        return self[2]

    @property
    def maximize(self) -> bool:
        """Whether higher is better."""
        return self[3]

    @property
    def metric_std_dev(self) -> float | None:
        """The standard deviation over folds; None outside cross-validation."""
        return self[4]

    def is_cv_result(self) -> bool:
        """Whether the result comes from cross-validation.

        Returns
        -------
        bool
            Whether ``metric_std_dev`` is there.
        """
        return len(self) > 4

    def _asdict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    def _replace(self, **changes: Any) -> Self:
        return type(self)(**{**self._asdict(), **changes})

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        items = ", ".join(f"{name}={item!r}" for name, item in self._asdict().items())
        return f"{type(self).__name__}({items})"


@dataclass(eq=False)
class EvaluationSet:
    """Rows whose metrics are computed after each round.

    Before a fit begins, they have neither metrics nor bins.
    """

    name: str
    rows: Rows
    # Whether these are the training rows, which early stopping ignores.
    is_training: bool = False
    data: Any = None  # what the user passed
    metrics: Sequence[AnyMetric] = ()
    # The rows in bins; None: the set is the training set, whose scores are used.
    binned: BinnedRows | None = None

    _warned: bool = field(default=False, init=False)
    _warned_of_nan: bool = field(default=False, init=False)
    # The argument of metrics, without scores.
    _data: EvalData | None = field(default=None, init=False)

    def _measured(self) -> EvalData:
        """The argument of metrics without scores; by query if there are queries."""
        rows = self.rows
        queries, partition, query_partition = rows.queries, rows.partition, None
        if partition is not None and queries is not None:
            query_partition = queries.partition(partition.collectives)
            first = queries.first_rows(partition.collectives)
            partition = replace(partition, runs=(first, queries.sizes))
        return EvalData(
            self._by_query(rows.target),
            _NO_SCORES,
            None if rows.weight is None else self._by_query(rows.weight),
            None if queries is None else queries.boundaries,
            1,
            rows.source,
            {},  # a cache for values that depend only on targets and weights
            partition,
            query_partition,
            rows.output_weight,
        )

    def _by_query(self, values: Floats) -> Floats:
        """The values of the rows, sorted by query if there are queries."""
        queries = self.rows.queries
        return np.ascontiguousarray(
            values if queries is None else queries.gathered(values)
        )

    def measure(
        self,
        scores: Floats,
        n_threads: int,
        custom_metrics: Sequence[CustomMetric] = (),
    ) -> list[EvalResult]:
        """Compute all metrics and custom ones from raw scores, (n_scores, n_rows).

        No two of the results have the same name.
        """
        raw = self._by_query(scores)
        data = self._data = self._data or self._measured()
        # Predictions are computed once for all metrics with the same link.
        by_link: dict[int, EvalData] = {}
        results: list[Result] = []
        for metric in (*self.metrics, *custom_metrics):
            link = metric.link
            if id(link) not in by_link:
                predictions = raw
                if not (link is None or link == IDENTITY):
                    predictions = transform(link, raw, n_threads)
                by_link[id(link)] = data._replace(
                    scores=predictions, n_threads=n_threads
                )
            results += metric(by_link[id(link)])
        if len(results) > 1:
            results = self._distinct(results)
        undefined = [result.name for result in results if isnan(result.value)]
        if undefined and not self._warned_of_nan:
            self._warned_of_nan = True
            self._warn_of_nan(undefined)
        return [EvalResult(self.name, *result) for result in results]

    def _warn_of_nan(self, undefined: list[str]) -> None:
        """Warn that the metrics with these names are NaN, so no round is best."""
        reason = (
            " All its labels are equal." if len(set(self.rows.target.flat)) == 1 else ""
        )
        warn(
            f"The metric {', '.join(map(repr, undefined))} of {self.name!r} is NaN."
            f"{reason} Early stopping ignores it."
        )

    def _distinct(self, results: list[Result]) -> list[Result]:
        """The results; those whose name an earlier one has are renamed: 'l2 (2)'.

        Early stopping and histories find results by name. The first time, it warns.
        """
        distinct: dict[str, Result] = {}
        renamed = []
        for result in results:
            name, number = result.name, 1
            while name in distinct:
                number += 1
                name = f"{result.name} ({number})"
            distinct[name] = result
            if number > 1:
                distinct[name] = result._replace(name=name)
                renamed.append(repr(name))
        if renamed and not self._warned:
            self._warned = True
            warn(
                "Several metrics have the same name; the later ones are recorded as"
                f" {', '.join(renamed)}. Return another name from each metric function."
            )
        return list(distinct.values())


def loss_of(result: EvalResult) -> float:
    """The metric, with the sign of a loss: lower is better."""
    return -result.metric_value if result.maximize else result.metric_value
