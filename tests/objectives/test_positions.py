"""Positions of documents: the biases that lambdarank learns, against a reference."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import skgoss
from skgoss import Dataset, LGBMRanker, cv, train
from skgoss.objectives.ranking import PositionBias

N_QUERIES, SIZE = 120, 12
QUERY = {"objective": "lambdarank", "num_leaves": 7, "verbosity": -1}


def clicks(seed=0):
    """Documents, clicks that are rarer further down, positions, true grades."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_QUERIES * SIZE, 4))
    grade = np.clip(np.rint(X[:, 0] + 0.5 * rng.normal(size=len(X)) + 1), 0, 3)
    # An earlier ranker, which knew the second column only, showed them in this order.
    shown = np.argsort(-X[:, 1].reshape(-1, SIZE), axis=1, kind="stable")
    position = np.empty_like(shown)
    np.put_along_axis(position, shown, np.arange(SIZE)[None], axis=1)
    position = position.ravel()
    clicked = rng.random(len(X)) < (0.1 + 0.3 * grade) * 0.75**position
    return X, clicked * 1.0, position, grade


X, CLICKED, POSITION, GRADE = clicks()
GROUP = [SIZE] * N_QUERIES


def dataset(**options):
    return Dataset(X, CLICKED, **{"group": GROUP, "position": POSITION} | options)


def booster(n_rounds=10, data=None, **options):
    return train({**QUERY, **options}, dataset() if data is None else data, n_rounds)


def naive_step(bias, position, weight, gradient, hessian, rate, regularization):
    """The biases after a round, row by row."""
    new = bias.copy()
    for p in range(len(bias)):
        slope, curvature = 0.0, 0.0
        for i in np.flatnonzero(position == p):
            slope -= weight[i] * (gradient[i] + regularization * bias[p])
            curvature += weight[i] * (hessian[i] + regularization)
        new[p] += rate * slope / (abs(curvature) + 0.001)
    return new


@pytest.mark.parametrize("weighted", [False, True])
def test_steps_agree_with_the_reference(weighted):
    rng = np.random.default_rng(1)
    position = rng.integers(0, 5, 200)
    weight = rng.random(200) if weighted else np.ones(200)
    options = SimpleNamespace(
        learning_rate=0.3, lambdarank_position_bias_regularization=0.7
    )
    bias = PositionBias(options, position, weight if weighted else None)
    expected = np.zeros(5)
    for index in range(3):
        derivatives = rng.normal(size=(2, 200)).astype(np.float32)
        bias.learn(index, *derivatives)
        expected = naive_step(expected, position, weight, *derivatives, 0.3, 0.7)
        np.testing.assert_allclose(bias.before(index + 1), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lambdarank_position_bias_regularization": 2.0},
        {"learning_rate": 0.3, "lambdarank_position_bias_regularization": 0.5},
    ],
)
def test_models_and_metrics_are_those_of_lightgbm(options, lightgbm):
    # LightGBM estimates the rows of leaves, and looks sigmoids up in a table.
    params = {**QUERY, **options, "min_data_in_leaf": 1, "num_threads": 1}
    params["eval_at"] = [3]
    found = []
    # Ours of this name has their rule for documents with equal scores.
    for module, metric in ((lightgbm, "ndcg"), (skgoss, "ndcg_lightgbm")):
        data = module.Dataset(X, CLICKED, group=GROUP, position=POSITION)
        test = module.Dataset(*clicks(1)[:2], group=GROUP, reference=data)
        scores = {}
        model = module.train(
            params | {"metric": metric},
            data,
            10,
            valid_sets=[test],
            callbacks=[module.record_evaluation(scores)],
        )
        found.append((model.predict(X), scores["valid_0"][f"{metric}@3"]))
    (theirs, their_scores), (ours, our_scores) = found
    np.testing.assert_allclose(our_scores, their_scores, rtol=1e-9)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    without = booster(data=dataset(position=None), **options).predict(X)
    assert np.abs(without - ours).max() > 0.01


def test_the_true_order_is_found():
    """The clicks alone say that the second column matters."""
    known, unknown = (
        LGBMRanker(num_leaves=7, n_estimators=30).fit(dataset(position=position))
        for position in (POSITION, None)
    )
    test, _, _, grade = clicks(2)
    qid = np.repeat(np.arange(N_QUERIES), SIZE)
    assert known.score(test, grade, qid=qid) > unknown.score(test, grade, qid=qid)
    used, blind = (model.feature_importances_[1] for model in (known, unknown))
    assert used < blind


def test_any_number_of_threads_and_names_of_positions():
    one = booster(n_jobs=1).predict(X)
    np.testing.assert_array_equal(booster(n_jobs=3).predict(X), one)
    words = dataset(position=np.array([f"p{p:02}" for p in POSITION]))
    np.testing.assert_array_equal(booster(data=words).predict(X), one)


def test_a_round_that_is_taken_back_leaves_no_trace():
    options = {**QUERY, "learning_rate": 0.3}
    first = train(options, dataset(), 4, keep_training_booster=True)
    again = train(options, dataset(), 4, keep_training_booster=True)
    again.rollback_one_iter()
    again.rollback_one_iter()
    again.update()
    again.update()
    np.testing.assert_array_equal(first.predict(X), again.predict(X))


def test_a_query_of_weight_two_is_two_queries():
    weight = np.random.default_rng(4).integers(0, 3, N_QUERIES)
    row_weight = np.repeat(weight, SIZE)
    copies = np.concatenate([np.flatnonzero(row_weight >= k) for k in (1, 2)])
    options = {
        **{"min_child_samples": 1, "min_data_in_bin": 1, "min_child_weight": 0.5},
        "lambdarank_position_bias_regularization": 0.5,
    }
    weighted = booster(data=dataset(weight=row_weight), **options)
    copied = Dataset(
        X[copies],
        CLICKED[copies],
        group=[SIZE] * (len(copies) // SIZE),
        position=POSITION[copies],
    )
    np.testing.assert_array_equal(
        weighted.predict(X), booster(data=copied, **options).predict(X)
    )


def test_positions_go_with_their_rows(tmp_path):
    expected = booster().predict(X)
    dataset().save_binary(tmp_path / "rows.bin")
    for data in (
        pickle.loads(pickle.dumps(dataset())),
        Dataset(tmp_path / "rows.bin"),
        dataset().subset(np.arange(len(X))),
    ):
        np.testing.assert_array_equal(booster(data=data).predict(X), expected)
    scores = cv({**QUERY, "eval_at": [3]}, dataset(), 5, nfold=3)
    others = cv({**QUERY, "eval_at": [3]}, dataset(position=None), 5, nfold=3)
    assert scores["valid ndcg@3-mean"] != others["valid ndcg@3-mean"]


def test_positions_beside_a_text_file(tmp_path):
    path = tmp_path / "rank.train"
    np.savetxt(path, np.column_stack([CLICKED, X]), delimiter=",", fmt="%.17g")
    (tmp_path / "rank.train.query").write_text("\n".join(map(str, GROUP)))
    (tmp_path / "rank.train.position").write_text("\n".join(map(str, POSITION)))
    found = booster(data=Dataset(str(path))).predict(X)
    np.testing.assert_array_equal(found, booster().predict(X))


@pytest.mark.parametrize("objective", ["rank_xendcg", "regression"])
def test_other_objectives_use_no_positions(objective):
    with pytest.warns(UserWarning, match="position has no effect: only"):
        found = booster(objective=objective)
    without = booster(objective=objective, data=dataset(position=None))
    np.testing.assert_array_equal(found.predict(X), without.predict(X))


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (
            np.where(POSITION == 3, np.nan, POSITION),
            "position must not be missing, got nan in row",
        ),
        (np.array([1, "a"] * (len(X) // 2), object), "position must hold values that"),
    ],
)
def test_bad_positions(position, message):
    with pytest.raises(ValueError, match=message):
        dataset(position=position)
