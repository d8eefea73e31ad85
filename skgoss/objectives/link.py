"""Links: the functions from raw scores to predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import link_kernels
from skgoss.objectives.distributions import DISTRIBUTIONS, Distribution
from skgoss.parameters.domains import LEVELS
from skgoss.utils.plain_values import entries

Floats = NDArray[np.float64]

# Links from a score to a mean of the target, other than 'identity'.
CURVED = ("exp", "logistic", "log1p_exp", "softmax")


@dataclass(frozen=True)
class Link:
    """The function from raw scores to predictions."""

    # 'identity', 'exp', 'logistic', 'log1p_exp' (log(1 + exp)), 'signed_square',
    # 'softmax' (over the scores of each row), 'joint' (several links) or the name of a
    # distribution, whose mean it predicts.
    kind: str = "identity"
    slope: float = 1.0  # the factor of the scores in 'logistic'
    # If the scores are quantiles of one target, their levels, in ascending order; empty
    # for other models. Predictions are sorted, so that they never cross, which never
    # increases the pinball loss (V. Chernozhukov, I. Fernandez-Val and A. Galichon,
    # "Quantile and Probability Curves Without Crossing", Econometrica 78, 2010).
    levels: tuple[float, ...] = ()
    # If 'joint', the link of each of several targets, and the number of its scores.
    links: tuple[tuple[Link, int], ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"kind": self.kind, "slope": self.slope}
        if self.levels:
            state["levels"] = list(self.levels)
        if self.links:
            state["parts"] = [[link.kind, link.slope, n] for link, n in self.links]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, slope, levels, links = entries(
            {"levels": [], "parts": []} | state if isinstance(state, dict) else state,
            {"kind": str, "slope": float, "levels": list, "parts": list},
            "the link",
        )
        kinds = [*link_kernels.LINKS, *DISTRIBUTIONS]
        if kind not in (*kinds, "joint") or (kind == "joint") != bool(links):
            raise ValueError(f"the link must be one of {kinds}, got {kind!r}")
        if levels and LEVELS.convert(levels) is NotImplemented:
            raise ValueError(
                f"the levels of the link must be {LEVELS.description}, got {levels!r}"
            )
        vars(self).update(
            kind=kind,
            slope=slope,
            levels=tuple(levels),
            links=tuple(map(_restored_link, links)),
        )

    @property
    def n_scores(self) -> int | None:
        """The number of scores that the link takes; None: any number."""
        if self.distribution is not None:
            return len(self.distribution.parameters)
        return len(self.levels) or sum(n for _, n in self.links) or None

    @property
    def distribution(self) -> Distribution | None:
        """The distribution whose parameters are the scores; None for other links."""
        return DISTRIBUTIONS.get(self.kind)

    def to_means(self, n_scores: int) -> Sequence[tuple[Link, int]]:
        """The links of groups of scores to means, and the number of scores of each.

        The first score of a distribution stands for its mean, unless its link is
        'identity'; the others are its spread.
        """
        if self.distribution is not None:
            first = next(iter(self.distribution.parameters.values()))
            return (Link(first), 1), (IDENTITY, n_scores - 1)
        return self.links or ((self, n_scores),)

    @property
    def is_curved(self) -> bool:
        """Whether the mean of raw scores has another prediction than the mean one."""
        if self.kind == "identity":
            return False
        return any(link.kind in CURVED for link, _ in self.to_means(1))

    @property
    def mixes_scores(self) -> bool:
        """Whether a prediction depends on several scores of a row."""
        return self.kind not in link_kernels.LINKS or (
            self.kind == "softmax" or len(self.levels) > 0
        )

    def __call__(self, raw: Floats, n_threads: int = 1) -> Floats:
        """The predictions for raw scores of shape (n, K) or (n,), in the same shape.

        Predictions of a distribution have the shape (n, 1). 'identity' may return
        ``raw`` itself.
        """
        if self.kind == "identity" and not self.levels:
            return raw
        n_scores = raw.shape[1] if raw.ndim == 2 else 1
        rows = np.ascontiguousarray(raw).reshape(-1, n_scores)
        by_rows = row_link(self, n_scores)
        if by_rows is not None:
            out = np.empty(rows.shape)
            by_rows.apply(rows, 1.0, n_threads, out)
            return out.reshape(raw.shape)
        predictions = transform(self, np.ascontiguousarray(raw.T), n_threads)
        return np.ascontiguousarray(predictions.T)


# Predictions that are raw scores.
IDENTITY = Link()


@lru_cache(maxsize=64)
def row_link(
    link: Link, n_scores: int, *, both: bool = False
) -> link_kernels.RowLink | None:
    """The link that kernels apply row by row; None if only `transform` supports it.

    ``n_scores`` is the number of scores of a row. With ``both``, the one prediction p
    of a row becomes two: 1 - p and p.
    """
    if link.levels or link.distribution is not None:
        return None
    links = link.links or ((link, n_scores),)
    if sum(n for _, n in links) != n_scores:
        return None
    parts = [(link_kernels.LINKS[part.kind], part.slope, n) for part, n in links]
    return link_kernels.RowLink(parts, both)


def transform(
    link: Link, raw: Floats, n_threads: int = 1, out: Floats | None = None
) -> Floats:
    """Predictions for raw scores, both C-contiguous and of shape (n_scores, n_rows).

    They are written to ``out``, which may be ``raw``. Without ``out``, they are a new
    array, or ``raw`` itself for 'identity'. Predictions of a distribution are always a
    new array, of shape (1, n_rows).
    """
    if link.distribution is not None:
        return link.distribution.mean(raw, n_threads)[None]
    if out is None and link.kind == "identity":
        return np.sort(raw, axis=0) if link.levels else raw
    out = np.empty_like(raw) if out is None else out
    if link.links:
        first = 0
        for part, n in link.links:
            span = slice(first, first + n)
            transform(part, raw[span], n_threads, out[span])
            first += n
        return out
    link_kernels.apply(link_kernels.LINKS[link.kind], raw, link.slope, n_threads, out)
    if link.levels:
        out.sort(axis=0)
    return out


def _restored_link(state: Any) -> tuple[Link, int]:
    """The link of one of several targets, and the number of its scores.

    ``state`` is an entry of ``parts``: kind, slope, number of scores. It is checked.
    """
    if not isinstance(state, list | tuple) or len(state) != 3:
        raise ValueError("the parts of the link must have three entries each")
    kind, slope, n = state
    link = Link.__new__(Link)
    link.__setstate__({"kind": kind, "slope": slope})
    if link.links or not isinstance(n, int) or n < 1:
        raise ValueError(f"a part of the link must have at least one score, got {n!r}")
    return link, n
