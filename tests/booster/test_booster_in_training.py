"""A `Booster` in training: rounds one by one, forgotten rounds, evaluation sets."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from skgoss import (
    Booster,
    Dataset,
    LGBMRegressor,
    UnusedParameterWarning,
    early_stopping,
    train,
)

RNG = np.random.default_rng(3)
X = RNG.normal(size=(240, 5))
Y = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=240)
KINDS = np.digitize(Y, np.quantile(Y, [0.3, 0.6])).astype(float)
SIZES = np.full(24, 10)
BASE = {"num_leaves": 5, "min_child_samples": 5, "n_jobs": 1}
BAG = {"subsample": 0.6, "subsample_freq": 2}
ROUNDS = 6
DART = {"boosting": "dart"}
GOSS = {"data_sample_strategy": "goss", "learning_rate": 0.4, "colsample_bytree": 0.6}
THREE = {"objective": "multiclass", "num_class": 3}
MONOTONE = {"monotone_constraints": [1, 0, 0, 0, 0]}
MONOTONE |= {"monotone_constraints_method": "advanced"}
# Options and labels.
CASES: dict[str, tuple[dict[str, Any], np.ndarray]] = {
    "gbdt": ({}, Y),
    "dart": ({"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.2}, Y),
    "xgboost dart": (DART | {"drop_rate": 0.9, "xgboost_dart_mode": True}, Y),
    "rf": ({"boosting": "rf", **BAG}, Y),
    "goss": (GOSS, Y),
    "bagging": (BAG, Y),
    "linear": ({"linear_tree": True}, Y),
    "linear dart": ({"linear_tree": True, "boosting": "dart", "drop_rate": 0.5}, Y),
    "multiclass": (THREE | BAG, KINDS),
    "multiclass dart": (THREE | DART, KINDS),
    "absent class": ({"objective": "multiclass", "num_class": 4}, KINDS),
    "renewed leaves": ({"objective": "l1", **BAG}, Y),
    "monotone": (MONOTONE, Y),
    "binary": ({"objective": "binary", "is_unbalance": True}, KINDS > 0),
    "ranks": ({"objective": "rank_xendcg"}, KINDS),
    "no columns": ({"min_child_samples": 5000}, Y),
}


def options(case: str) -> dict[str, Any]:
    return BASE | CASES[case][0]


def dataset(case: str = "gbdt", rows: slice = slice(None)) -> Dataset:
    params, label = CASES[case]
    group = SIZES if params.get("objective") == "rank_xendcg" else None
    return Dataset(
        X[rows],
        np.asarray(label[rows], dtype=float),
        group=group,
        free_raw_data=not params.get("linear_tree", False),
    )


def started(case: str = "gbdt", **more: Any) -> Booster:
    return Booster(options(case) | more, dataset(case))


def updated(booster: Booster, n_rounds: int = ROUNDS) -> Booster:
    for _ in range(n_rounds):
        booster.update()
    return booster


def assert_same_trees(one: Booster, other: Booster) -> None:
    first, second = (b._model.trees.__getstate__() for b in (one, other))
    np.testing.assert_equal(first, second)


def assert_same_state(one: Booster, other: Booster) -> None:
    """The trees and all scores are identical."""
    assert_same_trees(one, other)
    first, second = one._fit.rounds, other._fit.rounds
    # A round that failed is undone before the next change.
    first._settle()
    second._settle()
    np.testing.assert_array_equal(first.scores, second.scores)
    for ours, theirs in zip(first.sets, second.sets, strict=True):
        np.testing.assert_array_equal(first.raw_scores(ours), second.raw_scores(theirs))


# --- Rounds ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_rounds_by_hand_are_those_of_train(case):
    by_hand = started(case)
    finished = [by_hand.update() for _ in range(ROUNDS)]
    whole = train(options(case), dataset(case), ROUNDS)
    assert_same_trees(by_hand, whole)
    assert finished == [case == "no columns"] * ROUNDS
    assert by_hand.current_iteration() == (1 if case == "no columns" else ROUNDS)


@pytest.mark.parametrize("case", CASES)
def test_a_round_that_is_rolled_back_leaves_no_trace(case):
    plain, rolled = started(case), started(case)
    for booster in (plain, rolled):
        updated(booster, 2).add_valid(dataset(case), "valid")
        booster.eval_train()
    updated(rolled, 3)
    for _ in range(3 if rolled.current_iteration() == 5 else 0):
        assert rolled.rollback_one_iter() is rolled
    assert_same_state(rolled, plain)
    assert_same_state(updated(rolled, 2), updated(plain, 2))


@pytest.mark.parametrize("case", CASES)
def test_all_rounds_may_be_rolled_back(case):
    plain, rolled = started(case), started(case)
    updated(rolled, 2)
    for _ in range(4):
        rolled.rollback_one_iter()
    assert rolled.current_iteration() == rolled.num_trees() == 0
    assert_same_state(rolled, plain)
    assert_same_state(updated(rolled, 3), updated(plain, 3))


def grow_larger(booster: Booster) -> None:
    booster.rollback_one_iter().rollback_one_iter()
    updated(booster.reset_parameter({"num_leaves": 31}), 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda booster: booster.set_leaf_output(0, 0, 1.0),
        Booster.rollback_one_iter,
        lambda booster: updated(booster.rollback_one_iter(), 1),
        grow_larger,
    ],
    ids=["leaf", "none", "another", "larger"],
)
@pytest.mark.parametrize("case", ["gbdt", "multiclass", "linear", "dart"])
def test_who_reads_rounds_that_are_taken_back_reads_them_whole(case, change):
    """Another thread takes them back before their trees are copied."""
    booster, plain = updated(started(case), 2), updated(started(case), 2)
    state = booster._fit.rounds
    finished = state.finished
    change(booster)
    found, expected = state.ensemble_of(finished), plain._fit.rounds.ensemble()
    np.testing.assert_equal(found.__getstate__(), expected.__getstate__())
    assert state.ensemble() is state.ensemble_of(state.finished)


@pytest.mark.parametrize("case", CASES)
def test_evaluation_sets_may_come_at_any_time(case):
    early, late = started(case), started(case)
    early.add_valid(dataset(case), "v")
    updated(early)
    updated(late).add_valid(dataset(case), "v")
    assert early.eval_valid() == late.eval_valid()
    assert_same_state(early, late)
    training, valid = late.eval_train(), late.eval_valid()
    np.testing.assert_allclose([r[2] for r in training], [r[2] for r in valid])


@pytest.mark.parametrize("case", ["dart", "multiclass", "rf"])
def test_a_failed_round_has_not_happened(case):
    def fail(predicted, data):
        raise ZeroDivisionError

    plain, failed = updated(started(case), 3), updated(started(case), 3)
    for booster in (plain, failed):
        booster.add_valid(dataset(case), "v")
    state = failed._fit.rounds
    before, state._grow = state._grow, stopped_after(state._grow)
    with pytest.raises(KeyboardInterrupt):
        failed.update()
    state._grow = before
    assert failed.current_iteration() == 3
    assert_same_state(failed, plain)
    assert_same_state(updated(failed, 2), updated(plain, 2))
    with pytest.raises(ZeroDivisionError):
        failed.update(fobj=fail)
    assert failed.current_iteration() == 5


def stopped_after(grow: Callable[..., bool]) -> Callable[..., bool]:
    def stop(*args: Any, **options: Any) -> bool:
        grow(*args, **options)
        raise KeyboardInterrupt

    return stop


def test_nothing_trains_a_booster_in_a_round():
    def objective(predicted, data):
        with pytest.raises(RuntimeError, match="is already training a round"):
            booster.update(fobj=objective)
        with pytest.raises(RuntimeError, match="is already training a round"):
            booster.rollback_one_iter()
        assert booster.predict(X[:1]).shape == (1,)
        return predicted - data.get_label(), np.ones(len(predicted))

    booster = started()
    assert not booster.update(fobj=objective)
    assert booster.current_iteration() == 1


# --- Other rows and objectives --------------------------------------------------------


@pytest.mark.parametrize("case", ["gbdt", "dart", "rf", "multiclass", "linear"])
def test_other_rows(case):
    booster, n_before = updated(started(case), 2), 2
    scores = booster.predict(X[:100], raw_score=True)
    other = dataset(case, slice(100))
    booster.add_valid(other, "other")
    booster.update(train_set=other)
    assert booster.train_set is other
    state = booster._fit.rounds
    if case != "dart":
        before = booster.predict(X[:100], num_iteration=n_before, raw_score=True)
        np.testing.assert_array_equal(before, scores)
    np.testing.assert_allclose(
        np.squeeze(state.raw_scores(state.training_sets()[0]).T),
        booster.predict(X[:100], raw_score=True),
    )
    (train_result,), (valid_result,) = booster.eval_train(), booster.eval_valid()
    np.testing.assert_allclose(train_result[2], valid_result[2])
    booster.rollback_one_iter().rollback_one_iter()
    assert booster.current_iteration() == 1
    assert booster.update() is False


def test_some_of_the_rows():
    data = dataset()
    booster = updated(Booster(BASE, data), 2)
    booster.update(train_set=data.subset(range(100)))
    other = updated(Booster(BASE, dataset()), 2)
    other.update(train_set=dataset(rows=slice(100)))
    assert_same_state(booster, other)
    part = updated(Booster(BASE, data.subset(range(0, 240, 2))), 2)
    assert part.eval(data, "all")[0][2] > part.eval_train()[0][2]


def test_the_same_rows_again_change_nothing():
    booster = updated(started("bagging"), 2)
    for _ in range(2):
        booster.update(train_set=booster.train_set)
    for _ in range(2):
        booster.update(train_set=dataset("bagging"))
    assert_same_trees(booster, updated(started("bagging")))


def squares(predicted, data):
    return predicted - data.get_label(), np.ones(len(predicted))


@pytest.mark.parametrize("word", [None, "none", "custom"])
def test_an_objective_that_each_round_is_given(word):
    by_hand = Booster(BASE | {"objective": word}, dataset())
    for _ in range(ROUNDS):
        by_hand.update(fobj=squares)
    with pytest.raises(ValueError, match="update needs the argument fobj"):
        by_hand.update()
    whole = train(BASE | {"objective": squares}, dataset(), ROUNDS)
    assert_same_trees(by_hand, whole)


def test_an_objective_of_the_user_continues_from_trees():
    seen = []

    def logistic(predicted, data):
        seen.append(predicted)
        p = 1 / (1 + np.exp(-predicted))
        return p - data.get_label(), p * (1 - p)

    booster = updated(started("binary"), 2)
    raw = booster.predict(X, raw_score=True)
    booster.update(fobj=logistic)
    np.testing.assert_allclose(seen[0], raw)
    # Predictions are raw scores from now on, as in LightGBM.
    np.testing.assert_array_equal(
        booster.predict(X), booster.predict(X, raw_score=True)
    )
    assert booster.rollback_one_iter().current_iteration() == 2
    booster.update(fobj=logistic)
    np.testing.assert_allclose(seen[1], raw)


# --- Metrics --------------------------------------------------------------------------


def n_rows(predicted, data):
    return "n_rows", len(predicted), True


def test_metrics():
    booster, data, other = started(), dataset(), dataset(rows=slice(50))
    booster.add_valid(other, "v")
    updated(booster)
    error = np.mean((booster.predict(X) - Y) ** 2)
    ((name, metric, value, maximize),) = booster.eval_train()
    assert (name, metric, maximize) == ("training", "l2", False)
    np.testing.assert_allclose(value, error)
    results = booster.eval(data, "new", feval=[n_rows])
    assert [tuple(r)[:2] for r in results] == [("new", "l2"), ("new", "n_rows")]
    np.testing.assert_allclose([r[2] for r in results], [error, len(X)])
    names = [r.dataset_name for r in booster.eval_valid(feval=n_rows)]
    assert names == ["v", "v", "new", "new"]
    assert booster.eval(other, "again")[0][2] == booster.eval_valid()[0][2]
    assert booster.eval(booster.train_set, "t")[0][2] == value
    # The scores of a set that was asked for once are kept up to date.
    booster.update()
    np.testing.assert_allclose(
        booster.eval(data, "new")[0][2], np.mean((booster.predict(X) - Y) ** 2)
    )
    assert booster.set_train_data_name("mine") is booster
    assert booster.eval_train(feval=n_rows)[1][:3] == ("mine", "n_rows", len(X))


@pytest.mark.parametrize("case", ["gbdt", "dart", "rf"])
def test_scores_without_rounds_are_those_of_the_start(case):
    booster = started(case)
    np.testing.assert_array_equal(booster.predict(X), np.zeros(len(X)))
    np.testing.assert_allclose(booster.eval_train()[0][2], np.mean(Y**2))


def test_results_of_the_training_set_come_first():
    found = []
    data, other = dataset(), dataset(rows=slice(50))
    train(
        BASE,
        data,
        1,
        valid_sets=[other, data],
        valid_names=["a", "b"],
        callbacks=[lambda env: found.extend(env.evaluation_result_list)],
    )
    assert [result.dataset_name for result in found] == ["b", "a"]
    model = LGBMRegressor(n_estimators=1)
    model.fit(X, Y, eval_set=[(X[:50], Y[:50]), (X, Y)])
    assert list(model.evals_result_) == ["training", "valid_0"]


# --- What is refused ------------------------------------------------------------------

NO_LABEL = r"label of the Dataset is None.*set_label"


def narrow() -> Dataset:
    return Dataset(X[:, :2], Y)


def freed() -> Dataset:
    train(BASE, data := dataset(), 1)
    return data


REFUSED: list[tuple[Callable[[Booster], Any], type[Exception], str]] = [
    (lambda b: b.add_valid(dataset(), "v"), ValueError, "name must be new, but there"),
    (lambda b: b.add_valid(X, "w"), TypeError, "data must be a Dataset, got ndarray"),
    (lambda b: b.add_valid(narrow(), "w"), ValueError, "features"),
    (lambda b: b.add_valid(Dataset(X), "w"), ValueError, NO_LABEL),
    (lambda b: b.eval(dataset(), 3), TypeError, "name must be a str"),
    (lambda b: b.eval_train(feval="l2"), TypeError, "feval must be a function"),
    (lambda b: b.update(narrow()), ValueError, "features"),
    (lambda b: b.update(Dataset(X)), ValueError, NO_LABEL),
    (lambda b: b.update(X), TypeError, "train_set must be a Dataset, got ndarray"),
    (lambda b: b.update(fobj="l2"), TypeError, "fobj must be callable"),
    (lambda b: Booster(), TypeError, "one of train_set, model_file and model"),
    (lambda b: Booster({}, X), TypeError, "train_set must be a Dataset, got numpy"),
    (lambda b: Booster([], dataset()), TypeError, "params must be a dict"),
    (lambda b: Booster({"num_leaves": 1}, dataset()), ValueError, "num_leaves"),
    (lambda b: Booster({}, Dataset(X)), ValueError, r"train_set is None.*set_label"),
    (lambda b: train(BASE, freed(), 1, init_model=b), ValueError, "data were freed"),
    (
        lambda b: Booster(BASE | {"linear_tree": True}, freed()),
        ValueError,
        "its data were freed",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_is_refused_changes_nothing(call, error, message):
    booster = updated(started(), 1).add_valid(dataset(), "v")
    with pytest.raises(error, match=message):
        call(booster)
    assert (len(booster.eval_valid()), booster.num_trees()) == (1, 1)
    booster.update()


# --- Options --------------------------------------------------------------------------


def test_options_of_later_rounds():
    booster = updated(started(), 2)
    assert booster.reset_parameter({"eta": 0.5}) is booster
    updated(booster, 2)
    rates = [0.1, 0.1, 0.5, 0.5]

    def change(env):
        env.model.reset_parameter({"learning_rate": rates[env.iteration]})

    change.before_iteration = True
    whole = train(options("gbdt"), dataset(), 4, callbacks=[change])
    assert_same_trees(booster, whole)
    names = ("eta", "learning_rate", "eta")
    for model, name in zip(
        (booster, whole, booster.free_dataset()), names, strict=True
    ):
        assert model.params[name] == 0.5
        assert "[learning_rate: 0.5]" in model.model_to_string()


@pytest.mark.parametrize("name", ["max_bin", "nonsense", "boosting", "num_class"])
def test_options_that_cannot_change(name):
    booster = updated(started(), 1)
    with pytest.raises(ValueError, match=f"cannot change '{name[:8]}"):
        booster.reset_parameter({name: 3})
    booster.update()


# --- Start and end --------------------------------------------------------------------


@pytest.mark.parametrize("option", ["early_stopping_round", "time_limit"])
def test_options_that_end_rounds_have_no_effect(option):
    with pytest.warns(UnusedParameterWarning, match=f"{option}.* Use train"):
        booster = started(**{option: 1})
    assert_same_trees(updated(booster), updated(started(early_stopping_round=-1)))


def test_the_end_of_training(tmp_path):
    booster = started()
    data = booster.train_set
    assert isinstance(data, Dataset)
    updated(booster)
    whole = train(options("gbdt"), dataset(), ROUNDS)
    assert booster.free_dataset() is booster
    assert booster.train_set is None
    booster.free_dataset()
    assert_same_trees(booster, whole)
    for call in (
        *(booster.update, booster.rollback_one_iter, booster.eval_train),
        *(booster.eval_valid, lambda: booster.eval(data, "v")),
        *(lambda: booster.add_valid(data, "v"), lambda: booster.reset_parameter({})),
        lambda: booster.set_train_data_name("t"),
    ):
        with pytest.raises(ValueError, match="The Booster is not in training"):
            call()
    with pytest.raises(ValueError, match="The Booster is not in training"):
        whole.update()
    booster.set_leaf_output(0, 0, 1.0)


def test_copies_are_not_in_training():
    booster = updated(started(), 3)
    copies = [copy.deepcopy(booster), pickle.loads(pickle.dumps(booster))]
    copies.append(copy.copy(booster))
    copies.append(Booster(model_str=booster.model_to_string()))
    updated(booster)
    for other in copies:
        assert other.num_trees() == 3
        with pytest.raises(ValueError, match="The Booster is not in training"):
            other.update()
        np.testing.assert_array_equal(
            other.predict(X), booster.predict(X, num_iteration=3)
        )


def test_train_may_return_a_booster_in_training():
    data = dataset()
    kept = train(options("dart"), data, 3, keep_training_booster=True)
    assert kept.train_set is data
    updated(kept, 3)
    assert_same_trees(kept, train(options("dart"), dataset(), 6))


def test_early_stopping_keeps_all_rounds_in_training():
    noise = Dataset(X[:50], RNG.normal(size=50))
    callbacks = [early_stopping(2, verbose=False)]
    kept = train(
        BASE, dataset(), 50, [noise], callbacks=callbacks, keep_training_booster=True
    )
    assert kept.best_iteration == kept.current_iteration() - 2
    assert kept.update() is False
    np.testing.assert_array_equal(
        kept.predict(X), kept.predict(X, num_iteration=kept.best_iteration)
    )


def test_rounds_of_another_model_stay():
    data = Dataset(X, Y, free_raw_data=False)
    first = train(BASE, data, 4)
    more = train(BASE, data, 2, init_model=first, keep_training_booster=True)
    assert more.current_iteration() == 6
    kept = [more.rollback_one_iter().current_iteration() for _ in range(4)]
    assert kept == [5, 4, 4, 4]
    assert_same_trees(more, first)
    assert_same_trees(updated(more, 2), train(BASE, data, 2, init_model=first))


def test_callbacks_may_add_and_roll_back():
    counts = []

    def step_back(env):
        if env.iteration in (2, 3):
            env.model.rollback_one_iter()
        counts.append(env.model.current_iteration())

    booster = train(BASE, dataset(), 6, callbacks=[step_back])
    assert counts == [1, 2, 2, 2, 3, 4]
    assert_same_trees(booster, train(BASE, dataset(), 4))


# --- LightGBM -------------------------------------------------------------------------


def test_lightgbm_counts_and_finishes_the_same_way(lightgbm):
    found = []
    for package in (lightgbm, None):
        data = Dataset(X, Y) if package is None else package.Dataset(X, Y)
        kind = Booster if package is None else package.Booster
        params = {"num_leaves": 5, "verbose": -1, "num_threads": 1}
        booster = kind(params, data)
        seen = [booster.current_iteration(), booster.eval_train()[0][2]]
        for _ in range(3):
            seen += [booster.update(), booster.current_iteration()]
            seen.append(booster.eval_train()[0][2])
        for _ in range(4):
            seen.append(booster.rollback_one_iter().current_iteration())
        seen += [booster.update(), booster.eval_train()[0][2]]
        found.append(seen)
        stump = kind({**params, "min_child_samples": 5000}, data)
        seen += [stump.update(), stump.current_iteration(), stump.update()]
        seen += [stump.current_iteration(), stump.eval_train()[0][2]]
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_freed_rows_are_freed():
    rows = X.copy().view(_Watched)
    booster = Booster(BASE, Dataset(rows, Y, free_raw_data=False))
    updated(booster, 2)
    held = weakref.ref(rows), weakref.ref(booster._fit.rounds)
    del rows
    expected = booster.predict(X)
    gc.disable()
    try:
        booster.free_dataset()
        assert [reference() for reference in held] == [None, None]
    finally:
        gc.enable()
    np.testing.assert_array_equal(booster.predict(X), expected)
    assert "num_leaves" in booster.model_to_string()


class _Watched(np.ndarray):
    """An array that weak references can refer to."""


@pytest.mark.parametrize("from_average", [True, False])
def test_a_round_of_stumps_that_is_rolled_back_leaves_no_trace(from_average):
    params = BASE | {"boost_from_average": from_average}
    plain = Booster(params, dataset())
    rolled = Booster(params | {"min_split_gain": 1e12}, dataset())
    rolled.update()
    rolled.rollback_one_iter()
    assert rolled.current_iteration() == 0
    rolled.reset_parameter({"min_split_gain": 0.0})
    assert_same_trees(updated(rolled, 3), updated(plain, 3))
    np.testing.assert_array_equal(rolled.predict(X), plain.predict(X))


def test_a_set_that_is_evaluated_stays():
    booster = updated(started(), 2)
    other = dataset(rows=slice(30))
    (result,) = booster.eval(other, "other")
    assert booster.eval_valid() == [result]
    # No two evaluation sets have one name.
    booster.eval(dataset(rows=slice(50)), "other")
    assert booster.eval_valid() == [result]
    updated(booster, 1)
    assert booster.eval(other, "again")[0][2] == booster.eval_valid()[0][2] != result[2]


def test_other_rows_do_not_change_the_fit_that_they_continue():
    booster = started()
    booster.add_valid(dataset(rows=slice(50)), "v")
    updated(booster, 2)
    before = booster._fit.rounds
    n_trees = before.ensemble().n_trees
    booster.eval(dataset(rows=slice(30)), "unlisted")
    n_sets = len(before.sets), len(before.on_demand_sets)
    updated(booster, 0)
    booster.update(train_set=dataset(rows=slice(100)))
    after = booster._fit.rounds
    assert before is not after
    assert before.ensemble().n_trees == n_trees == len(before._trees_by_round())
    assert (len(after.sets), len(after.on_demand_sets)) == n_sets


def test_leaves_of_dropped_trees_get_the_value_that_is_set():
    booster = updated(started("dart", drop_rate=0.4, skip_drop=0.0), 8)
    factors = booster._fit.rounds.finished.factors
    assert len(np.unique(factors)) > 2
    for tree in range(8):
        booster.set_leaf_output(tree, 1, 0.1 * tree)
        assert booster.get_leaf_output(tree, 1) == pytest.approx(0.1 * tree)


def test_training_starts_from_the_first_rows_after_all_rounds_are_taken_back():
    booster = started()
    start = booster.train_set.get_label().mean()
    updated(booster, 1).update(train_set=Dataset(X, Y + 10.0))
    for _ in range(2):
        booster.rollback_one_iter()
    booster.update()
    other = Dataset(X, Y + 10.0, init_score=np.full(len(Y), start))
    expected = train({**options("gbdt"), "boost_from_average": False}, other, 1)
    np.testing.assert_allclose(booster.predict(X), start + expected.predict(X))


def test_sets_of_the_training_rows_have_their_metrics_after_constant_trees():
    rare = np.where(np.arange(240) % 60 == 0, 2, X[:, 0] > 0)
    data = Dataset(X, rare)
    booster = Booster(BASE | THREE | {"min_child_weight": 4.0}, data)
    booster.add_valid(data.create_valid(X, rare), "same")
    for _ in range(2):
        booster.update()
        n_leaves = booster.trees_to_dataframe().groupby("tree_index").size()
        assert (n_leaves > 1).tolist()[-3:] == [True, True, False]
        ((*_, expected, _),) = booster.eval_train()
        ((*_, found, _),) = booster.eval_valid()
        assert found == expected


@pytest.mark.parametrize("case", [case for case in CASES if case != "no columns"])
def test_metrics_after_rounds_are_rolled_back_are_the_earlier_ones(case):
    booster = updated(started(case), 2)
    booster.add_valid(dataset(case), "v")
    other = dataset(case, slice(100) if case != "ranks" else slice(None))

    def metrics():
        results = [*booster.eval_train(), *booster.eval_valid()]
        # The name is that of the first set, so this one is not listed.
        return results + booster.eval(other, "v")

    before = metrics()
    updated(booster, 2)
    assert metrics() != before
    for _ in range(2):
        booster.rollback_one_iter()
    assert metrics() == before


def test_other_rows_of_weight_zero_are_not_learned():
    weight = np.arange(240) % 2 * 1.0
    kept = weight > 0
    boosters = [updated(started(), 2) for _ in range(2)]
    boosters[0].update(train_set=Dataset(X, Y, weight=weight))
    boosters[1].update(train_set=Dataset(X[kept], Y[kept], weight=weight[kept]))
    assert_same_trees(*boosters)
