"""Fits of several processes: what depends on all rows is that of the local fit."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.ranks import by_partition, deal, partition_of, rows_of, run
from helpers.reading import columns as read_columns
from skgoss import LGBMRegressor, parameters
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns.queries import Queries
from skgoss.distributed import order_statistics
from skgoss.distributed.collectives import ALONE
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.objectives.percentiles import LeafRows
from skgoss.objectives.training_objective import make_objective
from skgoss.training import sampling
from skgoss.training.boosting_types import BOOSTING_TYPES

N_RANKS = [1, 2, 3]


def of_rows(column, rows):
    return None if column is None else column[rows]


# --- Objectives -----------------------------------------------------------------------

N = 400
RNG = np.random.default_rng(5)
SIGNAL = RNG.normal(size=N)
TARGETS = {
    "poisson": RNG.poisson(np.exp(SIGNAL)) * 1.0,
    "gamma": np.exp(SIGNAL),
    "tweedie": RNG.poisson(np.exp(SIGNAL)) * RNG.gamma(2.0, size=N),
    "mape": np.round(4 * SIGNAL) / 2,
    "cross_entropy": 1 / (1 + np.exp(-SIGNAL)),
    "cross_entropy_lambda": 1 / (1 + np.exp(-SIGNAL)),
    "binary": (SIGNAL > 0.5) * 1.0,
    "multiclass": np.digitize(SIGNAL, [-0.8, 0.7]) * 1.0,
    "multiclassova": np.digitize(SIGNAL, [-0.8, 0.7]) * 1.0,
    "lambdarank": np.digitize(SIGNAL, [-0.8, 0.7]) * 1.0,
    "rank_xendcg": np.digitize(SIGNAL, [-0.8, 0.7]) * 1.0,
}
# Those of survival need all rows: see tests/objectives/test_survival.py.
LEARNED = [name for name, spec in OBJECTIVES.items() if spec.task != "survival"]
TARGETS |= dict.fromkeys(["lognormal", "gamma_distribution"], TARGETS["gamma"])
TARGETS |= {"negative_binomial": TARGETS["poisson"], "beta": TARGETS["cross_entropy"]}
WEIGHTS = {
    "none": None,
    "whole": RNG.integers(1, 4, N) * 1.0,
    # Not whole only in the first row.
    "one part": np.append(0.5, RNG.integers(1, 4, N - 1)),
    "parts": RNG.gamma(1.0, size=N),
    "copies of one": np.where(np.arange(N) == 3, 2.0**31, 1.0),
}
# Consecutive queries, which have the rows of one part each.
QUERY = np.sort(RNG.integers(0, 40, N))


def settings(objective, **options):
    return parameters.make_settings({"objective": objective, **options}, "LGBMModel")


def made(name, y, weight, query=None, partition=None, **options):
    """An objective on rows; ``query`` has a number for the query of each."""
    collectives = ALONE if partition is None else partition.collectives
    return make_objective(
        settings(name, **options),
        y,
        weight,
        3 if name in ("multiclass", "multiclassova") else 1,
        None
        if query is None
        else Queries.from_ids(query, np.arange(1000), collectives),
        partition,
    )


def parts_of_queries(n_ranks, seed):
    """Whole queries, dealt to processes."""
    dealt = deal(QUERY[-1] + 1, n_ranks, seed)
    return [
        {part: np.flatnonzero(np.isin(QUERY, queries)) for part, queries in own.items()}
        for own in dealt
    ]


def facts(objective, scores, rows):
    """What rounds use of an objective: for all rows, and by row."""
    shape = (objective.n_scores, len(rows))
    gradient, hessian = np.ones((2, *shape), dtype=np.float32)
    objective.gradients(
        np.ascontiguousarray(scores[: shape[0], rows]), gradient, hessian, 1, 3
    )
    weights = (objective.weight, objective.frequency, objective.label_weight)
    return (
        objective.average,
        objective.start,
        objective.trained,
        objective.size(),
        [weight is None for weight in weights],
    ), [gradient, hessian, *(weight for weight in weights if weight is not None)]


def assert_same(got, expected):
    for mine, theirs in zip(got, expected, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()


OF_OBJECTIVES = [
    *((name, {}) for name in LEARNED),
    ("regression_l1", {"reg_sqrt": True}),
    ("quantile", {"boost_from_average": False}),
    ("binary", {"is_unbalance": True}),
    ("multiclassova", {"is_unbalance": True}),
    ("multiclassova", {"scale_pos_weight": 2.0}),
]


@pytest.mark.parametrize("n_ranks", [2, 5])
@pytest.mark.parametrize("case", OF_OBJECTIVES)
def test_objectives_of_partitions(case, n_ranks, monkeypatch):
    name, options = case
    monkeypatch.setattr(order_statistics, "MAX_GATHERED_ROWS", 0)
    y = TARGETS.get(name, SIGNAL)
    scores = RNG.normal(size=(3, N))
    dealt = parts_of_queries(n_ranks, seed=n_ranks)
    assert min(len(rows_of(parts)) for parts in dealt) < N / 4

    for weight in WEIGHTS.values():
        everything = facts(
            made(name, y, weight, QUERY, **options), scores, np.arange(N)
        )

        def check(collectives, weight=weight, everything=everything):
            parts = dealt[collectives.rank]
            rows, partition = rows_of(parts), partition_of(collectives, parts)
            of = made(
                *(name, y[rows], of_rows(weight, rows), QUERY[rows], partition),
                **options,
            )
            of_all, per_row = facts(of, scores, rows)
            assert_same(of_all, everything[0])
            assert_same(per_row, (one[..., rows] for one in everything[1]))

        run(n_ranks, check)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("poisson", -1.0, "needs targets >= 0"),
        ("tweedie", -1.0, "needs targets >= 0"),
        ("gamma", 0.0, "needs targets > 0"),
        ("gamma", -2.0, "needs targets > 0"),
        ("cross_entropy", 1.5, r"needs targets in \[0, 1\]"),
        ("cross_entropy_lambda", -0.5, r"needs targets in \[0, 1\]"),
        ("binary", 2.0, "is for classification"),
        ("lambdarank", 0.5, "The target must hold grades"),
        ("lambdarank", 77.0, "The target has the grade 77"),
        ("rank_xendcg", -1.0, "The target must hold grades"),
    ],
)
def test_wrong_targets_of_one_rank_are_errors_of_all(name, wrong, message):
    y = np.append(TARGETS[name], wrong)
    query = np.append(QUERY, QUERY[-1])
    with pytest.raises(ValueError, match=message) as expected:
        made(name, y, None, query)

    def check(collectives):
        # One process has the last row alone, another has none.
        rows = [np.arange(N), np.array([N]), np.arange(0)][collectives.rank]
        partition = partition_of(collectives, {collectives.rank: rows})
        # The queries of the rows differ, but nobody looks at them.
        with pytest.raises(ValueError, match=message) as error:
            made(name, y[rows], None, query[rows] + collectives.rank, partition)
        return str(error.value)

    assert run(3, check) == [str(expected.value)] * 3


def test_targets_of_all_ranks_count():
    """No process alone would do."""
    y = np.array([-1.0, 1.0, 1.0, 0.0])
    for part, name in ((y[:3], "binary"), (y[2:], "binary"), (y[2:], "poisson")):
        n = len(part)

        def check(partition, rows, part=part, name=name):
            return made(name, part[rows], None, None, partition).average[0]

        expected = made(name, part, None).average[0]
        assert by_partition(n, 3, 1, check, n_parts=4) == [expected] * 3


# --- Renewed leaves -------------------------------------------------------------------


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("name", ["regression_l1", "quantile", "mape"])
@pytest.mark.parametrize("weight", WEIGHTS.values())
def test_renewed_leaves_of_partitions(name, weight, n_ranks, few_rows_gathered):
    y = TARGETS.get(name, SIGNAL)
    score = np.round(RNG.normal(size=N), 1)
    leaf = RNG.integers(0, 6, N)
    # Values of leaves, of joined ones, and of a leaf without rows.
    sets = [[0], [1], [2], [3], [4], [5], [4, 1], [2, 0, 5], [6]]

    def values(partition, rows):
        objective = made(name, y[rows], of_rows(weight, rows), None, partition)
        lists = [np.flatnonzero(leaf[rows] == number) for number in range(7)]
        leaves = LeafRows.joined([[lists[k] for k in chosen] for chosen in sets])
        return objective.renewed_leaves(score[rows], leaves, of_rows(weight, rows))

    expected = values(None, np.arange(N))
    assert len(np.unique(expected)) > 4
    for got in by_partition(N, n_ranks, n_ranks, values):
        assert got.tobytes() == expected.tobytes()


# --- Samples of rows ------------------------------------------------------------------


@pytest.mark.parametrize("n_ranks", N_RANKS)
@pytest.mark.parametrize(
    "options",
    [
        {"subsample": 0.4},
        {"subsample": 1e-9},
        {"pos_bagging_fraction": 0.3, "neg_bagging_fraction": 0.7},
        {"subsample": 0.4, "bagging_by_query": True},
        {"subsample": 1e-9, "bagging_by_query": True},
    ],
)
def test_bags_of_partitions(options, n_ranks):
    chosen = settings("binary", subsample_freq=2, **options)
    y = TARGETS["binary"]
    dealt = parts_of_queries(n_ranks, seed=7)

    def drawn(partition, rows, collectives=ALONE):
        queries = Queries.from_ids(QUERY[rows], np.arange(1000), collectives)
        sampler = sampling.make(chosen, None, y[rows], queries, partition)
        gradient = np.zeros((1, len(rows)), np.float32)
        return [rows[sampler.draw(i, gradient, None, 1).rows] for i in range(5)]

    def of_rank(collectives):
        parts = dealt[collectives.rank]
        return drawn(partition_of(collectives, parts), rows_of(parts), collectives)

    expected = drawn(None, np.arange(N))
    assert min(map(len, expected)) > 0
    assert expected[0].tolist() != expected[2].tolist() or "subsample" in options
    got = run(n_ranks, of_rank)
    for bag, of_ranks in zip(expected, zip(*got, strict=True), strict=True):
        assert np.array_equal(np.sort(np.concatenate(of_ranks)), bag)


@pytest.mark.parametrize("n_ranks", N_RANKS)
@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("n", [5, 1000])
def test_one_side_samples_of_partitions(n, n_scores, n_ranks, few_rows_gathered):
    random = np.random.default_rng(n)
    chosen = settings(
        "regression",
        data_sample_strategy="goss",
        learning_rate=1.5,
        top_rate=0.21,
        other_rate=0.2,
    )
    cases = [
        (gradient.astype(np.float32), weight)
        for gradient in (
            random.normal(size=(n_scores, n)),
            random.integers(-1, 2, (n_scores, n)),
            np.ones((n_scores, n)),
            np.exp(random.normal(size=(n_scores, n)) * 20),
        )
        for weight in (
            None,
            random.gamma(1.0, size=(1, n)),
            random.integers(1, 3, (n_scores, n)) * 1.0,
        )
    ]

    def drawn(partition, rows):
        found = []
        for gradient, weight in cases:
            gradient = np.ascontiguousarray(gradient[:, rows])
            weight = None if weight is None else np.ascontiguousarray(weight[:, rows])
            hessian = 0.5 + np.arange(n_scores * n, dtype=np.float32)
            hessian = np.ascontiguousarray(hessian.reshape(n_scores, n)[:, rows])
            sampler = sampling.make(
                chosen, weight, np.zeros(len(rows)), None, partition
            )
            for given in (hessian, None):
                sample = sampler.draw(2, gradient, given, 1)
                at = sample.rows
                found.append(
                    (rows[at], gradient[:, at].copy(), sample.hessian[:, at].copy())
                )
        return found

    expected = drawn(None, np.arange(n))
    assert len(expected[0][0]) == int(n * 0.21) + int(n * 0.2)
    for whole, *parts in zip(
        expected, *by_partition(n, n_ranks, n, drawn, n_parts=7), strict=True
    ):
        rows, gradient, hessian = (
            np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)
        )
        order = np.argsort(rows)
        assert_same((rows[order], gradient[:, order], hessian[:, order]), whole)


# --- Rounds ---------------------------------------------------------------------------

COLUMNS = np.column_stack(
    [
        RNG.integers(0, 6, 3 * N),
        RNG.normal(size=3 * N).round(1),
        RNG.normal(size=3 * N),
        RNG.choice([0.0, 1.0, np.nan], 3 * N),
    ]
)
ROUNDS = 5


class Case:
    """The rounds of all rows, and of some of them."""

    def __init__(self, name, weight="none", columns=COLUMNS, **options):
        n = len(columns)
        random = np.random.default_rng(0)
        signal = np.repeat(TARGETS.get(name, SIGNAL), 3)
        order = np.argsort(COLUMNS[:, 1] + random.normal(size=n) / 2)
        self.y = np.empty(n)
        self.y[order] = np.sort(signal)
        self.name = name
        self.weight = {
            "none": None,
            "whole": random.integers(1, 4, n) * 1.0,
            "parts": random.gamma(1.0, size=n),
        }[weight]
        self.query = np.sort(random.integers(0, 60, n))
        self.options = {
            "num_leaves": 7,
            "n_estimators": ROUNDS,
            "min_child_samples": 5,
            **options,
        }
        self.settings = settings(name, **self.options)
        known = LGBMRegressor(n_estimators=1, categorical_feature=[0])
        known.fit(columns, np.arange(n))
        self.dataset = BinnedDataset.build(
            read_columns(known, columns, reset=False), self.settings
        )

    def fit(self, rows=None, partition=None):
        """The arrays of the trees, and the scores of the rows."""
        dataset = self.dataset if rows is None else self.dataset.take(rows)
        rows = np.arange(len(self.y)) if rows is None else rows
        collectives = ALONE if partition is None else partition.collectives
        objective = make_objective(
            self.settings,
            self.y[rows],
            of_rows(self.weight, rows),
            3 if self.name in ("multiclass", "multiclassova") else 1,
            Queries.from_ids(self.query[rows], np.arange(1000), collectives),
            partition,
        )
        state = BOOSTING_TYPES[self.settings.boosting_type](
            dataset, objective, self.settings, 1
        )
        for _ in range(ROUNDS):
            state.boost()
        return state.ensemble().arrays, state.scores

    def deal(self, n_ranks):
        """Whole queries, dealt to processes that have rows each."""
        for seed in range(100):
            dealt = [
                {
                    part: np.flatnonzero(np.isin(self.query, queries))
                    for part, queries in own.items()
                }
                for own in deal(60, n_ranks, seed)
            ]
            if all(len(rows_of(parts)) for parts in dealt):
                return dealt
        raise AssertionError("A process has no rows.")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in LEARNED),
        ("regression", {"weight": "whole"}),
        ("regression", {"data_sample_strategy": "goss", "learning_rate": 1.5}),
        ("multiclass", {"data_sample_strategy": "goss", "learning_rate": 1.5}),
        ("multiclass", {"multi_strategy": "multi_output_tree", "weight": "parts"}),
        ("normal", {"multi_strategy": "multi_output_tree", "weight": "parts"}),
        ("mape", {"data_sample_strategy": "goss", "learning_rate": 1.5}),
        ("binary", {"subsample": 0.5, "subsample_freq": 2, "weight": "parts"}),
        ("quantile", {"subsample": 0.5, "subsample_freq": 1, "weight": "parts"}),
        (
            "lambdarank",
            {"subsample": 0.5, "subsample_freq": 1, "bagging_by_query": True},
        ),
        ("regression", {"boosting_type": "dart", "drop_rate": 0.5}),
        ("regression_l1", {"boosting_type": "dart", "drop_rate": 0.5}),
        ("binary", {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}),
        ("poisson", {"weight": "parts", "monotone_constraints": [0, 1, 0, 0]}),
        ("quantile", {"weight": "parts", "monotone_constraints": [0, 1, -1, 0]}),
        ("regression_l1", {"monotone_constraints": [0, 1, -1, 0]}),
        ("binary", {"is_unbalance": True, "extra_trees": True}),
        ("poisson", {"weight": "parts", "min_child_samples": 5000}),
        # No column can be split.
        ("poisson", {"weight": "parts", "columns": 0 * COLUMNS[:, :1]}),
        ("multiclass", {"is_unbalance": True, "columns": 0 * COLUMNS[:, :1]}),
    ],
)
def test_rounds_of_partitions(name, options, monkeypatch):
    monkeypatch.setattr(order_statistics, "MAX_GATHERED_ROWS", 50)
    case = Case(name, **options)
    model, scores = case.fit()
    dealt = case.deal(3)

    def check(collectives):
        parts = dealt[collectives.rank]
        rows = rows_of(parts)
        own, own_scores = case.fit(rows, partition_of(collectives, parts))
        for key, values in model.items():
            assert own[key].tobytes() == values.tobytes(), key
        assert own_scores.tobytes() == scores[:, rows].tobytes()

    run(3, check)
