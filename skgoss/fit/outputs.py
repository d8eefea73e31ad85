"""The outputs of a fit that learns several: quantiles of one target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from skgoss.fit.task import Task
from skgoss.model.link import Link
from skgoss.parameters.settings import Settings
from skgoss.training import output_metrics


@dataclass(frozen=True)
class Output:
    """One of several outputs of a fit.

    Attributes
    ----------
    task : Task
    options : dict
        The options that differ from those of the fit.
    objective : str or callable
        The objective by the name that the user passed.
    link : Link
        The function from its raw scores to predictions.
    """

    task: Task
    options: Mapping[str, Any]
    objective: str | Callable[..., Any]
    link: Link

    def settings(self, settings: Settings) -> Settings:
        """The options of the output, given those of the fit."""
        return replace(settings, **self.options)

    def of_metrics(self, settings: Settings) -> output_metrics.Output:
        """What the metrics of the output depend on, given the options of the fit."""
        task = self.task
        return output_metrics.Output(
            self.settings(settings),
            task.n_scores,
            task.n_classes is not None,
            self.link,
        )


def of_quantiles(
    task: Task, levels: tuple[float, ...], objective: Any, link: Link
) -> list[Output]:
    """The outputs of a fit of several quantiles."""
    return [Output(task, {"alpha": level}, objective, link) for level in levels]
