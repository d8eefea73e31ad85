"""Metrics of several outputs: the mean over them, and those of several quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from skgoss.objectives import metric_names
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.link import Link
from skgoss.objectives.metrics import CustomMetric, Metric, Result
from skgoss.parameters.settings import Settings


class OutputMean:
    """The mean of a metric over several outputs, which have ``n_scores`` scores each.

    ``link`` is the function from the raw scores of all outputs to predictions.
    """

    def __init__(
        self, by_output: Sequence[Metric], n_scores: Sequence[int], link: Link
    ) -> None:
        self.by_output = by_output
        self.stop = np.cumsum(n_scores).tolist()
        self.spec = by_output[0].spec
        self.link = None if by_output[0].link is None else link

    def __call__(self, data: EvalData) -> list[Result]:
        """The mean of the values."""
        results = []
        for k, (metric, stop) in enumerate(zip(self.by_output, self.stop, strict=True)):
            start = self.stop[k - 1] if k else 0
            results += metric(data.select_output(k, start, stop))
        value = float(np.mean([result.value for result in results]))
        names = {result.name for result in results}
        if len(names) > 1:
            # 'logloss' for 'binary_logloss' and 'multi_logloss'
            names = {name.partition("_")[2] for name in names}
        return [results[0]._replace(name=min(names), value=value)]


# What an evaluation set computes after each round.
AnyMetric = Metric | CustomMetric | OutputMean


def names_of(metric: AnyMetric) -> list[str]:
    """The names of a metric in the table, which differ where those of outputs do."""
    of_outputs = metric.by_output if isinstance(metric, OutputMean) else [metric]
    return [one.name for one in of_outputs]


def make(
    names: Iterable[str],
    settings: Settings,
    make_by_output: Sequence[Callable[[str], list[Metric]]],
    n_scores: Sequence[int],
    link: Link,
) -> list[Metric | OutputMean]:
    """Make the metrics of several outputs from their names: see `metrics.make`.

    ``make_by_output`` make the metrics of single outputs, whose numbers of scores are
    ``n_scores``. The link is that of the raw scores of all outputs.
    """
    chosen: dict[tuple[str, ...], Metric | OutputMean] = {}
    for name in names:
        if link.levels and metric_names.is_of_quantiles(name):
            metric = Metric(metric_names.canonical(name), settings, link)
            chosen.setdefault((metric.name,), metric)
            continue
        made = (make_metrics(name) for make_metrics in make_by_output)
        # An unknown name is unknown for all outputs, and one warning is enough.
        if first := next(made):
            by_output = [metric for of_output in (first, *made) for metric in of_output]
            key = tuple(metric.name for metric in by_output)
            chosen.setdefault(key, OutputMean(by_output, n_scores, link))
    return list(chosen.values())
