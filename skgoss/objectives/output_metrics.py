"""Metrics of several outputs: means over the outputs, and metrics of quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from skgoss.objectives import metric_names
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.link import Link
from skgoss.objectives.metrics import CustomMetric, Metric, Result
from skgoss.parameters.settings import Settings


class OutputMean:
    """The mean of a metric over several outputs: targets, or quantiles of one target.

    ``metrics`` are those of the outputs, ``n_scores`` their numbers of scores, and
    ``link`` is the function from the raw scores of all outputs to predictions.
    """

    def __init__(
        self, metrics: Sequence[Metric], n_scores: Sequence[int], link: Link
    ) -> None:
        self.metrics = metrics
        self.stop = np.cumsum(n_scores).tolist()
        self.spec = metrics[0].spec
        self.link = None if metrics[0].link is None else link

    def __call__(self, data: EvalData) -> list[Result]:
        """The mean of the metric's values of all outputs, as a list of one result."""
        results = []
        for k, (metric, stop) in enumerate(zip(self.metrics, self.stop, strict=True)):
            start = self.stop[k - 1] if k else 0
            results += metric(data.select_output(k, start, stop))
        value = float(np.mean([result.value for result in results]))
        names = {result.name for result in results}
        if len(names) > 1:
            # 'logloss' for 'binary_logloss' and 'multi_logloss'
            names = {name.partition("_")[2] for name in names}
        return [results[0]._replace(name=min(names), value=value)]


# The metrics that are computed on an evaluation set after each round.
AnyMetric = Metric | CustomMetric | OutputMean


def names_of(metric: AnyMetric) -> list[str]:
    """The names of a metric in the table: one for each output of an `OutputMean`."""
    metrics = metric.metrics if isinstance(metric, OutputMean) else [metric]
    return [one.name for one in metrics]


def make(
    names: Iterable[str],
    settings: Settings,
    makers: Sequence[Callable[[str], list[Metric]]],
    n_scores: Sequence[int],
    link: Link,
) -> list[Metric | OutputMean]:
    """Make the metrics of several outputs from their names: see `metric_names.make`.

    Outputs are targets, or quantiles of one target.
    Each of ``makers`` makes the metrics of one output from a name, and ``n_scores`` are
    the numbers of scores of the outputs. ``link`` is that of the raw scores of all
    outputs.
    """
    chosen: dict[tuple[str, ...], Metric | OutputMean] = {}
    for name in names:
        if link.levels and metric_names.is_quantile_metric(name):
            metric = Metric(metric_names.canonical(name), settings, link)
            chosen.setdefault((metric.name,), metric)
            continue
        made = (make_metrics(name) for make_metrics in makers)
        # An unknown name is unknown for all outputs, and one warning is enough.
        if first := next(made):
            metrics = [metric for output in (first, *made) for metric in output]
            key = tuple(metric.name for metric in metrics)
            chosen.setdefault(key, OutputMean(metrics, n_scores, link))
    return list(chosen.values())
