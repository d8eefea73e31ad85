"""Fits of several peers: what depends on all rows is that of the local fit."""

from __future__ import annotations

import numpy as np
import pytest
from peers import deal, rows_of, run, share_of

from skgoss.training import selection, shared_percentiles
from skgoss.training.percentiles import percentile
from skgoss.training.shared_percentiles import Groups

PEERS = [1, 2, 3]


def by_share(n_rows, n_peers, seed, function, n_parts=None):
    """What a function of (share, row numbers) returns for each peer."""
    dealt = deal(n_rows, n_peers, seed, n_parts)

    def work(exchange):
        parts = dealt[exchange.peer]
        return function(share_of(exchange, parts), rows_of(parts))

    return run(n_peers, work)


@pytest.fixture(params=[0, 7, 4096])
def few(request, monkeypatch):
    """How many rows are gathered."""
    for module in (selection, shared_percentiles):
        monkeypatch.setattr(module, "FEW", request.param)
    return request.param


# --- Percentiles ----------------------------------------------------------------------


def columns(n, seed):
    """Values with and without ties, and weights of all kinds."""
    random = np.random.default_rng(seed)
    values = [
        random.normal(size=n),
        random.integers(-2, 3, n) * 1.0,
        random.choice([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308], n),
        np.full(n, 3.25),
        np.exp(random.normal(size=n) * 200),
    ]
    weights = [
        None,
        random.integers(0, 4, n) * 1.0,
        random.gamma(1.0, size=n) * random.integers(0, 2, n),
        random.choice([1e-18, 1.0, 2.5], n),
        random.choice([1.0, 2.0**40], n),
        random.choice([1.0, 2.0**55], n),
        np.full(n, 1e-310),
    ]
    units = [None, random.gamma(1.0, size=n), random.choice([0.0, 0.5, 1.0], n)]
    return values, weights, units


def of_rows(column, rows):
    return None if column is None else column[rows]


@pytest.mark.parametrize("n_peers", PEERS)
@pytest.mark.parametrize("n", [1, 2, 60])
def test_percentiles_of_shares(n, n_peers, few):
    values, weights, units = columns(n, n)
    random = np.random.default_rng(1)
    cases = [(v, w, u) for v in values for w in weights for u in units]
    # Zero units of all rows have no percentile.
    cases = [(v, w, u) for v, w, u in cases if u is None or u.any()]
    group = np.sort(random.integers(0, 3, n) * 2)
    # Equal values are in this order.
    number = random.permutation(n)
    for level in (0.5, 0.9, 0.013, 1.0):

        def found(share, rows, level=level):
            return [
                Groups(
                    *(group[rows], number[rows]),
                    *(of_rows(column, rows) for column in case),
                    *(6, share.exchange),
                ).percentiles(level)
                for case in cases
            ]

        expected = np.zeros((len(cases), 6))
        for i, case in enumerate(cases):
            for g in range(6):
                of_group = np.flatnonzero(group == g)
                of_group = of_group[np.argsort(number[of_group])]
                columns_of_group = (of_rows(column, of_group) for column in case)
                v, w, u = columns_of_group
                expected[i, g] = percentile(v, level, w, u)
        for got in by_share(n, n_peers, n, found):
            assert np.array(got).tobytes() == expected.tobytes()
