"""Metrics of several outputs: the mean over them, and those of several quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from skgoss.objectives import metrics
from skgoss.objectives.link import Link
from skgoss.objectives.metric_functions import EvalData
from skgoss.objectives.metrics import CustomMetric, Metric, Result
from skgoss.parameters.settings import Settings


@dataclass(frozen=True)
class EvaluatedOutput:
    """What the metrics of an output depend on.

    Attributes
    ----------
    settings : Settings
    n_scores : int
        The number of its scores.
    classifies : bool
    link : Link
        The function from its raw scores to predictions.
    """

    settings: Settings
    n_scores: int
    classifies: bool
    link: Link


class OutputMean:
    """The mean of a metric over several outputs.

    Parameters
    ----------
    by_output : sequence of Metric
    outputs : sequence of EvaluatedOutput
    link : Link
        The function from the raw scores of all outputs to predictions.
    """

    def __init__(
        self,
        by_output: Sequence[Metric],
        outputs: Sequence[EvaluatedOutput],
        link: Link,
    ) -> None:
        self.by_output = by_output
        self.stop = np.cumsum([output.n_scores for output in outputs]).tolist()
        self.spec = by_output[0].spec
        self.link = None if by_output[0].link is None else link

    def __call__(self, data: EvalData) -> list[Result]:
        """The mean of the values."""
        results = []
        for k, (metric, stop) in enumerate(zip(self.by_output, self.stop, strict=True)):
            start = self.stop[k - 1] if k else 0
            results += metric(data.of_output(k, start, stop))
        value = float(np.mean([result.value for result in results]))
        return [results[0]._replace(name=_common_name(results), value=value)]


def _common_name(results: Sequence[Result]) -> str:
    """'logloss' for 'binary_logloss' and 'multi_logloss', else the name of all."""
    names = {result.name for result in results}
    if len(names) > 1:
        names = {name.partition("_")[2] for name in names}
    return min(names)


# What an evaluation set computes after each round.
AnyMetric = Metric | CustomMetric | OutputMean


def make(
    names: Iterable[str],
    settings: Settings,
    outputs: Sequence[EvaluatedOutput],
    link: Link,
) -> list[Metric | OutputMean]:
    """Make the metrics of several outputs from their names.

    Parameters
    ----------
    names : iterable of str
        As in `metrics.make`.
    settings : Settings
    outputs : sequence of EvaluatedOutput
    link : Link
        The function from the raw scores of all outputs to predictions.

    Raises
    ------
    ValueError
        If the metric does not fit the task.

    Warns
    -----
    UnusedParameterWarning
        If a name is unknown; the metric is left out.
    """
    chosen: dict[tuple[str, ...], Metric | OutputMean] = {}
    for name in names:
        if link.levels and metrics.is_of_quantiles(name):
            metric = Metric(metrics.canonical(name), settings, link)
            chosen.setdefault((metric.name,), metric)
            continue
        made = (
            metrics.make(
                [name],
                output.settings,
                output.n_scores,
                classifies=output.classifies,
                link=output.link,
            )
            for output in outputs
        )
        # An unknown name is unknown for all outputs, and one warning is enough.
        if first := next(made):
            by_output = [metric for found in (first, *made) for metric in found]
            key = tuple(metric.name for metric in by_output)
            chosen.setdefault(key, OutputMean(by_output, outputs, link))
    return list(chosen.values())
