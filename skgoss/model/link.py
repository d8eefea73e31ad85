"""Links: the functions from raw scores to predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model import links
from skgoss.data.values import entries
from skgoss.parameters.domains import LEVELS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """The function from raw scores to predictions.

    Attributes
    ----------
    kind : str
        'identity', 'exp', 'logistic', 'log1p_exp' (log(1 + exp)), 'signed_square' or
        'softmax' (over the scores of each row).
    slope : float
        The factor of the scores in 'logistic'.
    levels : tuple of float
        If the scores are quantiles of one target, their levels, in ascending order.
        Predictions are sorted, so that they never cross. Empty for other models.

    References
    ----------
    V. Chernozhukov, I. Fernandez-Val and A. Galichon, "Quantile and Probability Curves
    Without Crossing", Econometrica 78, 2010: sorting never increases the pinball loss.
    """

    kind: str = "identity"
    slope: float = 1.0
    levels: tuple[float, ...] = ()

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States of earlier versions have no levels.
        kind, slope, levels = entries(
            {"levels": ()} | state if isinstance(state, dict) else state,
            {"kind": str, "slope": float, "levels": (tuple, list)},
            "the link",
        )
        if kind not in links.LINKS:
            raise ValueError(
                f"the link must be one of {list(links.LINKS)}, got {kind!r}"
            )
        if levels and LEVELS.convert(levels) is NotImplemented:
            raise ValueError(
                f"the levels of the link must be {LEVELS.description}, got {levels!r}"
            )
        self.__init__(kind, slope, tuple(levels))

    def __call__(self, raw: Floats, n_threads: int = 1) -> Floats:
        """The predictions for raw scores of shape (n, K) or (n,), in the same shape.

        'identity' may return ``raw`` itself.
        """
        if self.kind == "softmax" or self.levels:
            predictions = transform(self, np.ascontiguousarray(raw.T), n_threads)
            return np.ascontiguousarray(predictions.T)
        values = np.ascontiguousarray(raw).reshape(1, -1)
        return transform(self, values, n_threads).reshape(raw.shape)


def transform(
    link: Link, raw: Floats, n_threads: int = 1, out: Floats | None = None
) -> Floats:
    """Turn raw scores into predictions, in arrays with one row for each score.

    Parameters
    ----------
    link : Link
    raw : (K, n) float64, C-contiguous
    n_threads : int
        The results are the same bits for any number.
    out : (K, n) float64, C-contiguous, or None
        The array to write to; it may be ``raw``. None: a new array, or ``raw`` itself
        for 'identity'.

    Returns
    -------
    (K, n) float64
    """
    if out is None and link.kind == "identity":
        return np.sort(raw, axis=0) if link.levels else raw
    out = np.empty_like(raw) if out is None else out
    links.apply(links.LINKS[link.kind], raw, link.slope, n_threads, out)
    if link.levels:
        out.sort(axis=0)
    return out
