"""Metrics, hold-out and callbacks of rows that several processes hold: those of one."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.fake_states import of_all, one, settings
from helpers.ranks import deal, partition_of, rows_of, run
from skgoss._engine.objectives import metric_kernels as kernels
from skgoss.binning.rows import Rows
from skgoss.columns.columns import RELEASED
from skgoss.columns.queries import Queries
from skgoss.fit import callbacks, held_out
from skgoss.objectives import metrics
from skgoss.objectives.eval_data import EvalData
from skgoss.training.evaluation import EvaluationSet

N = 700
RNG = np.random.default_rng(0)
WEIGHTS = {
    "none": None,
    "whole": RNG.integers(1, 5, N).astype(float),
    "fractional": RNG.random(N) + 0.1,
    "zero": RNG.integers(0, 2, N) * RNG.random(N),
}


# --- Metrics --------------------------------------------------------------------------
Y = {
    "one": RNG.standard_normal(N),
    "positive": np.exp(RNG.standard_normal(N)),
    "binary": (RNG.random(N) > 0.4) * 1.0,
    "shares": RNG.random(N),
    "many": RNG.integers(0, 3, N) * 1.0,
    "grades": RNG.integers(0, 5, N) * 1.0,
}
TARGET_OF = {
    "gamma": "positive",
    "gamma_deviance": "positive",
    "poisson": "positive",
    "tweedie": "positive",
    "binary_logloss": "binary",
    "binary_error": "binary",
    "auc": "binary",
    "average_precision": "binary",
    "cross_entropy": "shares",
    "cross_entropy_lambda": "shares",
    "kullback_leibler": "shares",
    "multi_logloss": "many",
    "multi_error": "many",
    "auc_mu": "many",
    "ndcg": "grades",
    "map": "grades",
    "ndcg_lightgbm": "grades",
    "map_lightgbm": "grades",
}
SHARES = RNG.dirichlet(np.ones(3), N).T.copy()
SCORES = np.round(RNG.random((1, N)) * 0.9 + 0.05, 2)
SIZES = np.array([30, 1, 169, 100, 100, 200, 60, 40])
QUERY = np.repeat(np.arange(8), SIZES)
# The same queries, which are not in the order of their numbers.
MIXED = np.array([3, 1, 7, 0, 2, 6, 5, 4])[QUERY]


def last_weight(y, predicted, weight):
    """A metric that depends on the order of the rows."""
    return "last", float(predicted[-1] + y[0] + (0 if weight is None else weight[3])), 0


def sizes(y, predicted, weight, group):
    return "sizes", float(group @ np.arange(len(group)) + predicted[7]), True


def evaluated(
    chosen, y, scores, weight, metric, collectives=None, parts=None, query=None
):
    """The values of a metric of some rows, in two rounds."""
    at = rows_of(parts) if parts is not None else chosen
    queries = partition = None
    if collectives is not None:
        partition = partition_of(collectives, parts)
    if query is not None:
        keys = np.arange(8)
        queries = Queries.from_ids(
            query[at], keys, *([collectives] if collectives else [])
        )
    rows = Rows(
        RELEASED,
        y[at],
        None if weight is None else weight[at],
        queries,
        partition=partition,
    )
    found = EvaluationSet("valid", rows.without_zero_weights(), metrics=[metric])
    kept = slice(None) if weight is None else weight[at] > 0
    own = np.ascontiguousarray(scores[:, at][:, kept])
    return [found.measure(scores, 1) for scores in (own, own**2)]


def of_ranks(n_ranks, seed, *args, query=None):
    dealt = deal(N, n_ranks, seed) if query is None else queries_of(n_ranks, seed)
    work = lambda e: evaluated(None, *args, e, dealt[e.rank], query)  # noqa: E731
    return run(n_ranks, work)


def queries_of(n_ranks, seed):
    """Whole queries for processes; the last has none, if there are three."""
    random = np.random.default_rng(seed)
    owner = random.integers(0, min(n_ranks, 2), 8)
    rows = np.split(np.arange(N), np.cumsum(SIZES)[:-1])
    return [
        {q: rows[q] for q in np.flatnonzero(owner == rank).tolist()}
        for rank in range(n_ranks)
    ]


@pytest.mark.parametrize("weights", WEIGHTS)
# Those of survival need all rows.
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, spec in metrics.METRICS.items()
        if spec.task not in ("survival", "cox")
    ],
)
def test_metrics_of_ranks_are_those_of_one(name, weights):
    task = metrics.METRICS[name].task
    query = QUERY if task == "ranking" else None
    quantiles = np.vstack([SCORES - 0.5, SCORES + 0.5])
    scores = {"multiclass": SHARES, "quantiles": quantiles}.get(task, SCORES)
    options = {"alpha": (0.1, 0.9)} if task == "quantiles" else {}
    if name in ("nll", "crps"):
        scores, options = quantiles, {"objective": "normal"}
    metric = metrics.Metric(name, settings(eval_at=[2, 7], **options))
    given = Y[TARGET_OF.get(name, "one")], scores, WEIGHTS[weights], metric
    expected = evaluated(np.arange(N), *given, query=query)
    assert np.isfinite([result[2] for round_ in expected for result in round_]).all()
    for n_ranks in (1, 2, 3):
        for found in of_ranks(n_ranks, n_ranks, *given, query=query):
            assert found == expected


SCORE_KINDS = {
    "normal": lambda r, n: r.standard_normal(n),
    "few": lambda r, n: r.integers(0, 4, n) * 0.5,
    "one": lambda r, n: np.full(n, -0.25),
    "zeros": lambda r, n: r.choice([0.0, -0.0, 1e-300, -1e-300], n),
    "skewed": lambda r, n: np.where(r.random(n) < 0.9, 0.1, r.random(n)),
    "wide": lambda r, n: r.choice([-np.inf, np.inf, 1e308, -1e308, 5e-324], n),
    "sorted": lambda r, n: np.sort(r.standard_normal(n)),
}


@pytest.mark.parametrize("kind", SCORE_KINDS)
@pytest.mark.parametrize("n", [1, 2, 5, 3000])
def test_areas_of_ranks_are_those_of_one(n, kind):
    random = np.random.default_rng(n)
    metric = metrics.Metric("auc", settings())
    score = SCORE_KINDS[kind](random, n)
    for y in ((random.random(n) > 0.3) * 1.0, np.zeros(n), np.ones(n)):
        expected = kernels.auc(y, score, None, 1)
        for n_ranks in (2, 3):
            dealt = deal(n, n_ranks, seed=n)

            def work(collectives, y=y, dealt=dealt):
                parts = dealt[collectives.rank]
                at, partition = rows_of(parts), partition_of(collectives, parts)
                before = collectives.meeting.n_collectives
                sample = EvalData(
                    *(y[at], score[None, at], None, None, 1), partition=partition
                )
                found = metric(sample)[0].value
                return found, collectives.meeting.n_collectives - before

            # Four for the area, and one that checks the labels of a new set.
            np.testing.assert_array_equal(run(n_ranks, work), [(expected, 5)] * n_ranks)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("query", [None, QUERY, MIXED], ids=["no", "in", "out"])
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_functions_of_users_get_all_rows_in_order(n_ranks, weights, query):
    function = last_weight if query is None else sizes
    given = Y["one"], SCORES, WEIGHTS[weights], metrics.CustomMetric(function)
    expected = evaluated(np.arange(N), *given, query=query)
    for found in of_ranks(n_ranks, 5, *given, query=query):
        assert found == expected


@pytest.mark.parametrize("value", [1e160, 1e-170, np.inf])
def test_extreme_losses_of_ranks(value):
    y = Y["one"].copy()
    y[::7] *= value
    given = y, SCORES, None, metrics.Metric("l2", settings())
    with np.errstate(invalid="ignore"):
        expected = evaluated(np.arange(N), *given)
    assert str(of_ranks(3, 1, *given)) == str([expected] * 3)


def test_targets_outside_the_domain_fail_on_all_ranks():
    y = Y["positive"].copy()
    y[N // 2] = -3.0
    metric = metrics.Metric("gamma", settings())
    dealt = deal(N, 3, 1)

    def measure(collectives):
        with pytest.raises(ValueError, match="ranges from -3 to") as error:
            evaluated(
                None, y, SCORES, None, metric, collectives, dealt[collectives.rank]
            )
        return str(error.value)

    assert len(set(run(3, measure))) == 1


def test_weights_of_ranks_that_are_all_zero():
    metric = metrics.Metric("l2", settings())
    with pytest.raises(ValueError, match="no row of positive weight"):
        of_ranks(2, 1, Y["one"], SCORES, np.zeros(N), metric)


# --- Rows that are held out -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["rows", "classes", "queries"])
@pytest.mark.parametrize("n", [N, 4])
def test_held_out_rows_are_those_of_one(kind, n):
    y, query = Y["many"][:n], QUERY[-n:]
    own = {"fraction": 0.2, "seed": 3}
    if kind == "queries" and n == 4:
        query = np.array([1, 1, 2, 5])

    def chosen(at, partition, queries):
        rows = Rows(RELEASED, y[at], queries=queries, partition=partition)
        labels = rows.target if kind == "classes" else None
        return held_out.draw(rows, **own, labels=labels)

    at = np.arange(n)
    expected = chosen(at, None, Queries.from_ids(query) if kind == "queries" else None)
    assert expected.any()
    for n_ranks in (1, 2, 3):
        dealt = deal(n, n_ranks, seed=n_ranks)
        if kind == "queries":
            owner = np.random.default_rng(n_ranks).integers(0, n_ranks, 8)
            dealt = [
                {q: at[query == q] for q in np.flatnonzero(owner == rank).tolist()}
                for rank in range(n_ranks)
            ]

        def work(collectives, dealt=dealt):
            parts = dealt[collectives.rank]
            rows, queries = rows_of(parts), None
            if kind == "queries":
                queries = Queries.from_ids(query[rows], np.arange(8), collectives)
            return rows, chosen(rows, partition_of(collectives, parts), queries)

        for rows, found in run(n_ranks, work):
            assert np.array_equal(found, expected[rows])


# --- Callbacks ------------------------------------------------------------------------


@pytest.fixture(params=[1, 2, 3])
def n_ranks(request):
    return request.param


def test_early_stopping_of_ranks_needs_no_collective(n_ranks, capsys):
    history = {}

    def make(rank):
        return [
            callbacks.early_stopping(2),
            callbacks.log_evaluation(),
            callbacks.record_evaluation(history if rank == 0 else {}),
        ]

    expected = one(make)
    printed = capsys.readouterr().out
    recorded = dict(history)
    found, n_collectives = of_all(n_ranks, make)
    assert found == [expected] * n_ranks
    assert found[0][:2] == (4, 4)
    # Ranks tell each other which callbacks there are.
    assert n_collectives == (n_ranks > 1)
    assert capsys.readouterr().out == printed
    assert history == recorded
