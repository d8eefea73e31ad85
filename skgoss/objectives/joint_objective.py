"""The objective of several outputs whose trees have the same splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives.link import IDENTITY
from skgoss.objectives.objectives import TrainingRows
from skgoss.objectives.percentiles import LeafRows
from skgoss.objectives.training_objective import Objective

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class OutputObjective(NamedTuple):
    """The objective of one output, of the rows that have its target."""

    objective: Objective
    scores: slice  # of all outputs
    rows: NDArray[np.int64] | None  # (m,): their numbers, ascending; None: all

    def of_rows(self, values: Floats) -> Floats:
        """The values of these rows, contiguous; the last axis has those of all rows."""
        if self.rows is None:
            return values
        return np.ascontiguousarray(values[..., self.rows])


class JointDerivatives:
    """The derivatives of the losses of several outputs.

    A row without the target of an output has the gradient and the hessian 0 there.
    """

    def __init__(self, parts: Sequence[OutputObjective]) -> None:
        self.parts = parts

    def __call__(
        self,
        scores: Floats,
        gradient_out: Singles,
        hessian_out: Singles | None,
        n_threads: int,
    ) -> None:
        for objective, span, rows in self.parts:
            hessian = None if hessian_out is None else hessian_out[span]
            if rows is None:
                objective.gradients(
                    scores[span], gradient_out[span], hessian, n_threads
                )
                if hessian is not None and objective.constant_hessian:
                    hessian[:] = 1.0
                continue
            assert hessian is not None
            taken = np.ascontiguousarray(scores[span][:, rows])
            slopes, curves = np.ones((2, *taken.shape), dtype=np.float32)
            objective.gradients(taken, slopes, curves, n_threads)
            for out, values in ((gradient_out[span], slopes), (hessian, curves)):
                out[:] = 0.0
                out[:, rows] = values


@dataclass(frozen=True, eq=False)
class JointObjective(Objective):
    """The losses of several outputs."""

    parts: Sequence[OutputObjective] = field(default=(), repr=False)
    has_units = True

    def renews(self, number: int) -> bool:
        return self._part(number).objective.renews_leaves

    def typical_derivatives(self, n_threads: int) -> Floats:
        each = [part.objective.typical_derivatives(n_threads) for part in self.parts]
        return np.concatenate(each, axis=1)

    def added_start(self, scores: Floats, n_threads: int) -> Floats:
        starts = [
            part.objective.added_start(part.of_rows(scores[part.scores]), n_threads)
            for part in self.parts
        ]
        return np.concatenate(starts)

    def renewed_leaves(
        self,
        score: Floats,
        leaves: LeafRows,
        weight: Floats | None,
        number: int = 0,
        n_threads: int = 1,
    ) -> Floats:
        part = self._part(number)
        if part.rows is not None:
            leaves = leaves.of_subset(part.rows, len(score))
            weight = None if weight is None else part.of_rows(weight)
        return part.objective.renewed_leaves(
            part.of_rows(score), leaves, weight, n_threads=n_threads
        )

    def _part(self, number: int) -> OutputObjective:
        """The output that a score belongs to."""
        return next(part for part in self.parts if number < part.scores.stop)


def joint(
    parts: Sequence[OutputObjective],
    y: Floats,
    weight: Floats | None,
    partition: RowPartition,
    *,
    has_own_weights: bool,
) -> JointObjective:
    """Join the objectives of several outputs.

    ``y``, (n,) or (n, n_targets), are the targets, and ``weight``, (n,), the weights of
    the rows. ``has_own_weights``: those of the outputs are not ``weight``.
    """
    objectives = [part.objective for part in parts]
    widths = [objective.n_scores for objective in objectives]
    names = [objective.name for objective in objectives]
    rows = TrainingRows(y, weight, partition)
    frequency = label_weight = None
    weighs_rows = any(objective.weighs_rows for objective in objectives)
    if weighs_rows:
        weight = None
    else:
        frequency = rows.frequency()
    if has_own_weights and not weighs_rows:
        each = np.zeros((sum(widths), len(y)))
        for objective, span, at in parts:
            chosen = slice(None) if at is None else at
            each[span, chosen] = 1.0 if objective.weight is None else objective.weight
        label_weight = None if weight is None else each / weight
        weight = each

    def by_score(name: str) -> NDArray[Any]:
        """An attribute of the objectives, for each score."""
        pairs = zip(objectives, widths, strict=True)
        return np.concatenate(
            [np.broadcast_to(getattr(one, name), width) for one, width in pairs]
        )

    levels = [objective.renewal_level for objective in objectives]
    has_all_rows = all(part.rows is None for part in parts)
    trained = by_score("trained")
    return JointObjective(
        name=names[0] if len(set(names)) == 1 else ", ".join(names),
        y=y,
        derivatives=JointDerivatives(parts),
        link=IDENTITY,
        average=by_score("average"),
        trained=trained,
        trains_all=bool(trained.all()),
        weight=weight,
        start=by_score("start"),
        partition=partition,
        frequency=frequency,
        label_weight=label_weight,
        constant_hessian=has_all_rows
        and all(objective.constant_hessian for objective in objectives),
        self_concordance=by_score("self_concordance"),
        reweighted=by_score("reweighted"),
        renewal_level=next((level for level in levels if level is not None), None),
        weighs_rows=weighs_rows,
        calls_functions=any(objective.calls_functions for objective in objectives),
        parts=parts,
    )
