"""Metrics, hold-out and callbacks of rows that several peers hold: those of one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from peers import Meeting, ThreadExchange, deal, rows_of, run, share_of

from skgoss import parameters
from skgoss._engine.training import metrics as kernels
from skgoss.data.queries import Queries
from skgoss.data.row_partition import Share
from skgoss.data.rows import Rows, held_out
from skgoss.fit import callbacks
from skgoss.training import loop, metrics
from skgoss.training.callback_api import EarlyStopException, EvalResult
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
}
SHARES = RNG.dirichlet(np.ones(3), N).T.copy()
SCORES = np.round(RNG.random((1, N)) * 0.9 + 0.05, 2)
SIZES = np.array([30, 1, 169, 100, 100, 200, 60, 40])
QUERY = np.repeat(np.arange(8), SIZES)
# The same queries, which are not in the order of their numbers.
MIXED = np.array([3, 1, 7, 0, 2, 6, 5, 4])[QUERY]


def settings(**options):
    return parameters.make_settings(options, "LGBMRegressor")


def last_weight(y, predicted, weight):
    """A metric that depends on the order of the rows."""
    return "last", float(predicted[-1] + y[0] + (0 if weight is None else weight[3])), 0


def sizes(y, predicted, weight, group):
    return "sizes", float(group @ np.arange(len(group)) + predicted[7]), True


def evaluated(chosen, y, scores, weight, metric, exchange=None, parts=None, query=None):
    """The values of a metric of some rows, in two rounds."""
    at = rows_of(parts) if parts is not None else chosen
    queries = share = None
    if exchange is not None:
        share = share_of(exchange, parts)
    if query is not None:
        keys = np.arange(8)
        queries = Queries.of(query[at], keys, *([exchange] if exchange else []))
    rows = Rows(
        None,
        y[at],
        None if weight is None else weight[at],
        queries,
        share=share,
    )
    found = EvaluationSet("valid", rows.existing(), [metric], None)
    kept = slice(None) if weight is None else weight[at] > 0
    own = np.ascontiguousarray(scores[:, at][:, kept])
    return [found.measure(scores, 1) for scores in (own, own**2)]


def of_peers(n_peers, seed, *args, query=None):
    dealt = deal(N, n_peers, seed) if query is None else queries_of(n_peers, seed)
    work = lambda e: evaluated(None, *args, e, dealt[e.peer], query)  # noqa: E731
    return run(n_peers, work)


def queries_of(n_peers, seed):
    """Whole queries for peers; the last has none, if there are three."""
    random = np.random.default_rng(seed)
    owner = random.integers(0, min(n_peers, 2), 8)
    rows = np.split(np.arange(N), np.cumsum(SIZES)[:-1])
    return [
        {q: rows[q] for q in np.flatnonzero(owner == peer).tolist()}
        for peer in range(n_peers)
    ]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", metrics.METRICS)
def test_metrics_of_peers_are_those_of_one(name, weights):
    of_ranks = metrics.METRICS[name].task == "rank"
    query = QUERY if of_ranks else None
    scores = SHARES if metrics.METRICS[name].task == "many" else SCORES
    metric = metrics.Metric(name, settings(eval_at=[2, 7]))
    given = Y[TARGET_OF.get(name, "one")], scores, WEIGHTS[weights], metric
    expected = evaluated(np.arange(N), *given, query=query)
    assert np.isfinite([result[2] for round_ in expected for result in round_]).all()
    for n_peers in (1, 2, 3):
        for found in of_peers(n_peers, n_peers, *given, query=query):
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
@pytest.mark.parametrize("tried", [1, 1024])
def test_areas_of_peers_that_get_ranges_of_scores(n, kind, tried, monkeypatch):
    monkeypatch.setattr(metrics, "FEW_PAIRED", 0)
    monkeypatch.setattr(metrics, "TRIED_SCORES", tried)
    random = np.random.default_rng(n)
    metric = metrics.Metric("auc", settings())
    score = SCORE_KINDS[kind](random, n)
    for y in ((random.random(n) > 0.3) * 1.0, np.zeros(n), np.ones(n)):
        expected = kernels.auc(y, score, None, 1)
        for n_peers in (2, 3):
            dealt = deal(n, n_peers, seed=n)

            def work(exchange, y=y, dealt=dealt):
                parts = dealt[exchange.peer]
                at, share = rows_of(parts), share_of(exchange, parts)
                before = exchange.meeting.n_exchanges
                sample = metrics.Sample(
                    *(y[at], score[None, at], None, None, 1), share=share
                )
                found = metric(sample)[0].value
                return found, exchange.meeting.n_exchanges - before

            assert run(n_peers, work) == [(expected, 3)] * n_peers


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("query", [None, QUERY, MIXED], ids=["no", "in", "out"])
def test_functions_of_users_get_all_rows_in_order(weights, query):
    function = last_weight if query is None else sizes
    given = Y["one"], SCORES, WEIGHTS[weights], metrics.Custom(function)
    expected = evaluated(np.arange(N), *given, query=query)
    for n_peers in (1, 2, 3):
        for found in of_peers(n_peers, 5, *given, query=query):
            assert found == expected


@pytest.mark.parametrize("value", [1e160, 1e-170, np.inf])
def test_extreme_losses_of_peers(value):
    y = Y["one"].copy()
    y[::7] *= value
    given = y, SCORES, None, metrics.Metric("l2", settings())
    with np.errstate(invalid="ignore"):
        expected = evaluated(np.arange(N), *given)
    assert str(of_peers(3, 1, *given)) == str([expected] * 3)


def test_targets_outside_the_domain_fail_on_all_peers():
    y = Y["positive"].copy()
    y[N // 2] = -3.0
    metric = metrics.Metric("gamma", settings())
    dealt = deal(N, 3, 1)

    def measure(exchange):
        with pytest.raises(ValueError, match="ranges from -3 to") as error:
            evaluated(None, y, SCORES, None, metric, exchange, dealt[exchange.peer])
        return str(error.value)

    assert len(set(run(3, measure))) == 1


def test_weights_of_peers_that_are_all_zero():
    metric = metrics.Metric("l2", settings())
    with pytest.raises(ValueError, match="no row of positive weight"):
        of_peers(2, 1, Y["one"], SCORES, np.zeros(N), metric)


# --- Rows that are held out -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["rows", "classes", "queries"])
@pytest.mark.parametrize("n", [N, 4])
def test_held_out_rows_are_those_of_one(kind, n):
    y, query = Y["many"][:n], QUERY[-n:]
    own = {"fraction": 0.2, "seed": 3, "stratify": kind == "classes"}
    if kind == "queries" and n == 4:
        query = np.array([1, 1, 2, 5])

    def chosen(at, share, queries):
        return held_out(Rows(None, y[at], queries=queries, share=share), **own)

    at = np.arange(n)
    expected = chosen(at, None, Queries.of(query) if kind == "queries" else None)
    assert expected.any()
    for n_peers in (1, 2, 3):
        dealt = deal(n, n_peers, seed=n_peers)
        if kind == "queries":
            owner = np.random.default_rng(n_peers).integers(0, n_peers, 8)
            dealt = [
                {q: at[query == q] for q in np.flatnonzero(owner == peer).tolist()}
                for peer in range(n_peers)
            ]

        def work(exchange, dealt=dealt):
            parts = dealt[exchange.peer]
            rows, queries = rows_of(parts), None
            if kind == "queries":
                queries = Queries.of(query[rows], np.arange(8), exchange)
            return rows, chosen(rows, share_of(exchange, parts), queries)

        for rows, found in run(n_peers, work):
            assert np.array_equal(found, expected[rows])


# --- Callbacks ------------------------------------------------------------------------


class FakeEnsemble:
    def __init__(self, n_rounds):
        self.n_rounds = n_rounds

    def truncated(self, n_rounds):
        return FakeEnsemble(min(self.n_rounds, n_rounds))


class FakeState:
    """A fit whose metric falls, then rises; a round notes its learning rate."""

    first_round = 0

    def __init__(self, exchange, n_rounds=8, best=3):
        self.settings = settings(n_estimators=n_rounds)
        self.share = Share(exchange, np.zeros(1, int), np.ones(1, int), 1)
        self.rates = []
        self.best = best
        self._training_names = set()

    def reset_parameter(self, params):
        self.settings = self.settings.changed(params)

    def boost(self):
        self.rates.append(self.settings.learning_rate)
        return True

    def evaluate(self):
        value = abs(len(self.rates) - 1 - self.best) + 0.5
        return [EvalResult("valid", "l2", value, False)]

    def measure(self):
        return self.share.exchange.total(1)

    def ensemble(self):
        return FakeEnsemble(len(self.rates))


def trained(exchange, given, after_round=None, **options):
    state = FakeState(exchange, **options)
    made = loop.train(state, state, given=given, after_round=after_round)
    return made.ensemble.n_rounds, made.best_iteration, made.best_score, state.rates


def of_all(n_peers, make, **options):
    """What each peer has trained, and the number of exchanges."""
    counts = []

    def work(exchange):
        found = trained(exchange, make(exchange.peer), **options)
        counts.append(exchange.meeting.n_exchanges)
        return found

    return run(n_peers, work), max(counts)


@pytest.fixture(params=[1, 2, 3])
def n_peers(request):
    return request.param


def one(make, **options):
    return trained(ThreadExchange(Meeting(1), 0), make(0), **options)


def test_early_stopping_of_peers_needs_no_exchange(n_peers, capsys):
    history = {}

    def make(peer):
        return [
            callbacks.early_stopping(2),
            callbacks.log_evaluation(),
            callbacks.record_evaluation(history if peer == 0 else {}),
        ]

    expected = one(make)
    printed = capsys.readouterr().out
    recorded = dict(history)
    found, n_exchanges = of_all(n_peers, make)
    assert found == [expected] * n_peers
    assert found[0][:2] == (4, 4)
    assert n_exchanges == 1  # which callbacks there are
    assert capsys.readouterr().out == printed
    assert history == recorded


def test_callbacks_of_other_peers_may_be_missing(n_peers):
    expected = one(lambda peer: [callbacks.early_stopping(2)])
    found, _ = of_all(n_peers, lambda peer: [callbacks.early_stopping(2)][peer:])
    assert found == [expected] * n_peers


@pytest.mark.parametrize("before", [True, False])
def test_a_stop_by_the_first_peer_stops_all(n_peers, before):
    called = []

    def make(peer):
        def stop(env):
            called.append(peer)
            if env.iteration == 5:
                raise EarlyStopException(2, None if before else [("a", "b", 1.0, 0)])

        stop.before_iteration = before
        return [stop]

    expected = one(make)
    assert expected[:2] == (3, 3)
    called.clear()
    found, n_exchanges = of_all(n_peers, make)
    assert found == [expected] * n_peers
    assert set(called) == {0}
    assert n_exchanges <= 8


def test_a_stop_after_the_last_round_stops_all(n_peers):
    def make(peer):
        def watch(env):
            pass

        return [watch, callbacks.early_stopping(50)]

    expected = one(make)
    assert expected[:2] == (4, 4)
    assert of_all(n_peers, make)[0] == [expected] * n_peers


def test_reset_parameter_reaches_all_peers(n_peers):
    draws = iter(range(1000))

    def rate(index):
        return 0.1 + 0.01 * next(draws)

    def make(peer):
        return [
            callbacks.reset_parameter(learning_rate=rate),
            callbacks.reset_parameter(num_leaves=list(range(10, 18))),
            callbacks.early_stopping(3),
        ]

    found, n_exchanges = of_all(n_peers, make)
    assert len(set(found[0][3])) == len(found[0][3]) == 7
    assert found == [found[0]] * n_peers
    assert n_exchanges <= 1 + 8


def test_hooks_of_the_first_peer_stop_all(n_peers):
    def work(exchange):
        hook = (lambda index, _: index == 4) if exchange.peer == 0 else None
        return trained(exchange, [], hook)

    found = run(n_peers, work)
    assert found == [found[0]] * n_peers
    assert found[0][0] == 5


def test_hooks_that_never_stop(n_peers):
    found = run(n_peers, lambda e: trained(e, [], lambda *_: False))
    assert [made[0] for made in found] == [8] * n_peers


def test_errors_of_callbacks_fail_on_all_peers():
    ended = []

    def fail(env):
        raise KeyError("mine")

    def work(exchange):
        try:
            trained(exchange, [fail])
        finally:
            ended.append(exchange.peer)

    with pytest.raises(KeyError, match="mine"):
        run(3, work)
    assert sorted(ended) == [0, 1, 2]


def test_callbacks_cannot_ask_other_peers():
    def measure(env):
        env.model.measure()

    with pytest.raises(RuntimeError, match="Callbacks run in one of the processes"):
        run(2, lambda e: trained(e, [measure]))
    assert trained(ThreadExchange(Meeting(1), 0), [measure])[0] == 8


def test_only_callbacks_end_the_fit_of_peers():
    def boost():
        raise EarlyStopException(0)

    def work(exchange):
        state = FakeState(exchange)
        state.boost = boost
        loop.train(state, SimpleNamespace(), given=[lambda env: None])

    with pytest.raises(EarlyStopException):
        run(2, work)
