"""LGBMRanker: queries in any form and order, the losses, the score."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from helpers.grids import nightly_if
from skgoss import LGBMModel, LGBMRanker, LGBMRegressor, ndcg_scorer

RNG = np.random.default_rng(3)
SIZES = RNG.integers(1, 40, size=60)
QID = np.repeat(np.arange(len(SIZES)), SIZES)
N = len(QID)
X = RNG.normal(size=(N, 4))
Y = np.clip(np.rint(X[:, 0] + 0.5 * X[:, 1] + 0.5 * RNG.normal(size=N) + 1), 0, 4)


def ranker(**options):
    return LGBMRanker(**{"n_estimators": 15, "min_child_samples": 5} | options)


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_sizes_and_marks_give_the_same_model(objective):
    by_size = ranker(objective=objective).fit(X, Y, group=SIZES)
    by_mark = ranker(objective=objective).fit(X, Y, qid=[f"q{q:03}" for q in QID])
    np.testing.assert_array_equal(by_size.predict(X), by_mark.predict(X))
    assert by_size.score(X, Y, group=SIZES) == by_size.score(X, Y, qid=QID) > 0.85


def test_queries_may_lie_in_any_order():
    # Queries change places and mingle, but the documents of each keep their order.
    order = np.argsort(RNG.random(len(SIZES))[QID] + 0.3 * RNG.random(N), kind="stable")
    rank = np.empty(N, dtype=int)
    for q in range(len(SIZES)):
        rank[np.sort(np.flatnonzero(q == QID[order]))] = np.flatnonzero(q == QID)
    there = ranker().fit(X[rank], Y[rank], qid=QID[rank])
    here = ranker().fit(X, Y, qid=QID)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    assert there.score(X[rank], Y[rank], qid=QID[rank]) == pytest.approx(
        here.score(X, Y, qid=QID), rel=1e-12
    )


def test_bagging_by_query_draws_whole_queries():
    drawn = []

    def watch(env):
        drawn.append(env.model._fit.rounds.sampler.rows)

    options = {"subsample": 0.5, "subsample_freq": 2, "bagging_by_query": True}
    ranker(n_estimators=4, **options).fit(X, Y, qid=QID, callbacks=[watch])
    for rows in drawn:
        assert 0 < len(rows) < N
        chosen = np.unique(QID[rows])
        np.testing.assert_array_equal(rows, np.flatnonzero(np.isin(QID, chosen)))
    assert drawn[0] is drawn[1] is not drawn[2]


class Tied:
    """Predicts one of three numbers."""

    def predict(self, X):
        return np.rint(np.clip(X[:, 0], -1, 1))


@pytest.mark.parametrize("k", [3, None])
def test_equal_scores_count_as_scikit_learn_s(k):
    long = np.isin(QID, np.flatnonzero(np.bincount(QID, Y > 0) > 0))
    features, grades, qid = X[long], Y[long], QID[long]
    expected = [
        ndcg_score(
            [2 ** grades[qid == q] - 1], [Tied().predict(features[qid == q])], k=k
        )
        if (qid == q).sum() > 1
        else 1.0
        for q in np.unique(qid)
    ]
    order = np.lexsort((-grades, qid))
    for rows in (slice(None), order, order[::-1], RNG.permutation(len(qid))):
        found = ndcg_scorer(k)(Tied(), features[rows], grades[rows], qid=qid[rows])
        assert found == pytest.approx(np.mean(expected), rel=1e-12)


def test_one_query_without_marks():
    model = ranker().fit(X[:200], Y[:200])
    alone = ranker().fit(X[:200], Y[:200], group=[200])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    features, grades = np.resize(X, (201, 4)), np.resize(Y, 201)
    with pytest.warns(UserWarning, match="Neither qid nor group"):
        ranker(n_estimators=1).fit(features, grades)


def test_a_query_of_twenty_thousand_documents():
    n = 20_000
    features = RNG.normal(size=(n, 2))
    grades = np.clip(np.rint(features[:, 0] + 1), 0, 3)
    model = ranker(n_estimators=5).fit(features, grades, group=[n])
    assert model.score(features, grades, group=[n]) > 0.9


def test_weights_of_queries_without_relevant_documents():
    grades = np.r_[np.zeros(10), Y[10:20]]
    weight = np.repeat([3.0, 1.0], 10)
    model = ranker(eval_at=3).fit(
        X,
        Y,
        qid=QID,
        eval_set=[(X[:20], grades), (X[10:20], grades[10:])],
        eval_group=[[10, 10], [10]],
        eval_sample_weight=[weight, None],
    )
    both, alone = (model.best_score_[f"valid_{i}"]["ndcg@3"] for i in (0, 1))
    assert both == pytest.approx((3 + alone) / 4)


def test_label_gain_says_what_grades_are_worth():
    plain = ranker().fit(X, Y, qid=QID)
    same = ranker(label_gain=[0, 1, 3, 7, 15]).fit(X, Y, qid=QID)
    other = ranker(label_gain=[0, 1, 2, 3, 4]).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(plain.predict(X), same.predict(X))
    assert (plain.predict(X) != other.predict(X)).any()


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 1, -1], {}, "The target must hold grades of documents, whole numbers"),
        ([0, 1, 0.5], {}, "The target must hold grades"),
        ([0, 1, 31], {}, "has the grade 31, but label_gain has gains for .* 0 to 30"),
        ([0, 1, 2], {"label_gain": [0, 1]}, "has the grade 2, .* longer label_gain"),
        ([0, 1, np.nan], {}, "Input y contains NaN"),
        ([0, 1, 2], {"objective": "l2"}, "is not for ranking"),
        ([0, 1, 2], {"lambdarank_truncation_level": 0}, "lambdarank_truncation_level"),
    ],
)
def test_bad_grades_and_options(y, options, message):
    with pytest.raises(ValueError, match=message):
        ranker(**options).fit(np.eye(3), y, group=[3])


def test_bad_grades_of_evaluation_sets():
    with pytest.raises(ValueError, match="an evaluation set has the grade 35"):
        ranker().fit(X, Y, group=SIZES, eval_set=[(X, Y + 31)], eval_group=[SIZES])


@pytest.mark.parametrize("given", [{"group": SIZES}, {"qid": QID}])
def test_evaluation_sets_need_queries(given):
    message = "eval_group cannot be None .* queries of the evaluation set 'valid_1'"
    for sets in (
        {"eval_set": [(X, Y), (X[:], Y)]},
        {"eval_X": (X, X[:]), "eval_y": (Y, Y)},
        {"eval_set": [(X, Y), (X[:], Y)], "eval_group": {0: SIZES}},
        {"eval_set": [(X, Y), (X[:], Y)], "eval_qid": [None, None]},
    ):
        with pytest.raises(ValueError, match=message):
            ranker().fit(X, Y, **given, **sets)
    model = ranker(n_estimators=2).fit(X, Y, **given, eval_set=[(X, Y)])
    assert list(model.evals_result_) == ["training"]


def test_evaluation_sets_have_no_queries_if_the_training_set_has_none():
    with pytest.raises(ValueError, match="'valid_0' has queries, but the training set"):
        ranker().fit(X, Y, eval_set=[(X[:], Y)], eval_group=[SIZES])
    sets = {"eval_set": [(X[:90], Y[:90])]}
    model = ranker(n_estimators=2).fit(X[:200], Y[:200], **sets)
    assert list(model.evals_result_) == ["valid_0"]


@pytest.mark.parametrize("given", [[SIZES], [SIZES] * 3])
def test_queries_for_each_evaluation_set(given):
    sets = [(X, Y), (X[:], Y)]
    with pytest.raises(ValueError, match=r"Length of eval_group .* of eval_set"):
        ranker().fit(X, Y, group=SIZES, eval_set=sets, eval_group=given)


@pytest.mark.parametrize("level", [0, 2**31, 10**30])
def test_bad_levels(level):
    with pytest.raises(ValueError, match="levels of 'ndcg' and 'map' must be from 1"):
        ranker().fit(
            *(X, Y, None, None, SIZES, [(X[:], Y)]),
            eval_group=[SIZES],
            eval_metric=f"ndcg@{level}",
        )


def test_levels_come_once():
    model = ranker(eval_at=[5, 1, 5]).fit(
        *(X, Y, None, None, SIZES, [(X[:], Y)]),
        eval_group=[SIZES],
        eval_metric=["ndcg@1", "ndcg@3,1", "map@2"],
    )
    history = model.evals_result_["valid_0"]
    assert list(history) == ["ndcg@1", "ndcg@3", "map@2", "ndcg@5"]
    assert {len(values) for values in history.values()} == {model.n_iter_}


def test_other_estimators_and_queries():
    with pytest.raises(ValueError, match="is for ranking and needs queries"):
        LGBMRegressor(objective="lambdarank").fit(X, Y)
    with pytest.raises(ValueError, match="eval_group cannot be None"):
        LGBMModel(objective="lambdarank").fit(X, Y, group=SIZES, eval_set=[(X[:], Y)])
    model = LGBMModel(objective="lambdarank", n_estimators=5, min_child_samples=5)
    alike = ranker(n_estimators=5).fit(X, Y, group=SIZES)
    np.testing.assert_array_equal(
        model.fit(X, Y, group=SIZES).predict(X), alike.predict(X)
    )


def test_custom_objective_gets_the_sizes():
    seen = []

    def squares(y_true, y_pred, weight, group):
        seen.append((weight, group))
        return y_pred - y_true, np.ones_like(y_pred)

    ranker(objective=squares, n_estimators=1).fit(X, Y, group=SIZES)
    assert seen[0][0] is None
    np.testing.assert_array_equal(seen[0][1], SIZES)


def test_custom_objective_gets_queries_that_stand_together():
    def centered(y_true, y_pred, weight, group):
        starts = np.cumsum(group) - group
        worth = y_true * weight
        mean = np.repeat(np.add.reduceat(worth, starts) / group, group)
        return y_pred - (worth - mean), np.ones_like(y_pred)

    weight = RNG.uniform(0.5, 2.0, size=N)
    order = RNG.permutation(N)
    sort = order[np.argsort(QID[order], kind="stable")]
    options = {"objective": centered, "min_child_samples": 20}
    mingled, sorted_ = (
        ranker(**options).fit(
            X[rows], Y[rows], qid=QID[rows], sample_weight=weight[rows]
        )
        for rows in (order, sort)
    )
    np.testing.assert_allclose(mingled.predict(X), sorted_.predict(X), rtol=1e-6)


def documents(n_queries: int, seed: int):
    """Sparse counts of words, the query of each document, and its grade."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 40, n_queries)
    n = sizes.sum()
    words = rng.poisson(0.3 * rng.gamma(0.5, size=(1, 60)), (n, 60)) * 1.0
    matches = rng.standard_normal((n, 3))
    taste = matches[:, 0] + 0.7 * matches[:, 1] * (words[:, 0] > 0)
    taste += words[:, :10] @ np.random.default_rng(9).standard_normal(10)
    # Some queries have more good documents than others.
    taste += np.repeat(rng.standard_normal(n_queries), sizes)
    grades = np.digitize(taste + rng.standard_normal(n), [0, 1.5, 2.5, 3.5])
    return np.column_stack([words, matches]), grades, sizes


@pytest.mark.parametrize(
    "objective", nightly_if(["lambdarank", "rank_xendcg"], {"rank_xendcg"})
)
def test_documents_are_ranked_as_well_as_by_lightgbm(objective, lightgbm):
    """The mean difference is at most two standard errors below zero."""
    options = {"objective": objective, "n_estimators": 50, "n_jobs": 1}
    options |= {"verbosity": -1}
    differences = []
    for seed in range(4):
        train, grades, sizes = documents(150, seed)
        test, test_grades, test_sizes = documents(150, 100 + seed)
        ours, theirs = (
            ndcg_scorer(10)(
                kind(random_state=seed, **options).fit(train, grades, group=sizes),
                test,
                test_grades,
                group=test_sizes,
            )
            for kind in (LGBMRanker, lightgbm.LGBMRanker)
        )
        assert ours > 0.7
        differences.append(ours - theirs)
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    assert np.mean(differences) > -2 * error
