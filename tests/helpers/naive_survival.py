"""Cox's partial likelihood by loops over the moments."""

from __future__ import annotations

import numpy as np


def n_ties(weight, dies):
    """Efron's events: copies if all weights are whole, else rows of equal weight."""
    of_events = weight[dies]
    is_whole = (weight % 1 == 0).all()
    return int(of_events.sum()) if is_whole else int((of_events > 0).sum())


def naive_sums(y, scores, weight, efron):
    """Derivatives of one copy of each row, and the hazard at each moment, by loops.

    A row of less weight than 1 is that part of a copy.
    """
    (event, time, stratum), risk = y.T, np.exp(scores)
    gradient, hessian = -event, np.zeros(len(y))
    hazards = []
    for s, t in sorted(set(zip(stratum, time, strict=True))):
        lives = (time >= t) & (stratum == s)
        dies = lives & (time == t) & (event == 1)
        n, hazard = weight[dies].sum(), 0.0
        n_steps = n_ties(weight, dies) if efron else int(n > 0)
        # Of Efron's events, one dies after the other; else all are like the first.
        for k in range(n_steps):
            share, times = np.where(dies, 1 - k / n_steps, 1.0), n / n_steps
            total = (weight * share * risk)[lives].sum()
            part = np.where(lives, share * risk / total, 0.0)
            gradient = gradient + times * part
            hessian = hessian + times * part * (1 - np.minimum(weight, 1.0) * part)
            hazard += times / total
        if n:
            before = sum(h for label, _, h in hazards[-1:] if label == s)
            hazards.append((s, t, before + hazard))
    return gradient, hessian, np.array(hazards).T
