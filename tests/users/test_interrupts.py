"""Ctrl-C at any moment: a model is the one before a call, or the one after it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import skgoss
from helpers.interrupts import moments
from skgoss import Booster, Dataset, LGBMRegressor
from skgoss.model_selection import GridSearchCV

RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 3))
X[::7, 1] = np.nan
Y = X[:, 0] + np.nan_to_num(X[:, 1]) ** 2 + 0.3 * RNG.normal(size=90)
CLASSES = np.digitize(Y, np.quantile(Y, [0.3, 0.6])).astype(float)
LIVES = np.column_stack([np.arange(90) % 3 > 0, np.abs(Y) + 0.1])
TWO = np.column_stack([Y, -Y])
SIZES = np.full(9, 10)
BASE = {"num_leaves": 4, "min_child_samples": 5, "n_jobs": 1, "verbosity": -1}
BAG = {"subsample": 0.6, "subsample_freq": 2}
DART = {"boosting": "dart", "drop_rate": 0.7, "skip_drop": 0.1}
THREE = {"objective": "multiclass", "num_class": 3}
# Options and labels.
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "gbdt": ({}, Y),
    "goss": ({"data_sample_strategy": "goss", "learning_rate": 0.6}, Y),
    "dart": (DART, Y),
    "rf": ({"boosting": "rf", **BAG}, Y),
    "linear": ({"linear_tree": True}, Y),
    "linear dart": ({"linear_tree": True, **DART}, Y),
    "renewed leaves": ({"objective": "l1", **BAG}, Y),
    "three": (THREE | BAG, CLASSES),
    "shared trees": (THREE | {"multi_strategy": "multi_output_tree"}, CLASSES),
    "quantiles": ({"objective": "quantile", "alpha": [0.2, 0.7]}, Y),
    "quantiles by dart": ({"objective": "quantile", "alpha": [0.2, 0.7], **DART}, Y),
    "quantiles on threads": ({"objective": "quantile", "alpha": [0.2, 0.7]}, Y),
    "normal": ({"objective": "normal"}, Y),
    "ranks": ({"objective": "lambdarank", **BAG}, CLASSES),
    "survival": ({"objective": "cox"}, LIVES),
    # Rounds without a split, for which columns are drawn again.
    "drawn again": ({"extra_trees": True, "min_split_gain": 2.0}, Y),
    "no split": ({"min_split_gain": 1e9, "colsample_bytree": 0.5}, Y),
    "no columns": ({"min_child_samples": 5000}, Y),
}


# Their rounds are grown by threads, as those of larger data are.
ON_THREADS = {"quantiles on threads"}


def options(kind: str) -> dict[str, Any]:
    return BASE | KINDS[kind][0]


def dataset(kind: str, rows: slice = slice(None)) -> Dataset:
    params, label = KINDS[kind]
    n_queries = len(X[rows]) // 10
    group = SIZES[:n_queries] if params.get("objective") == "lambdarank" else None
    return Dataset(X[rows], label[rows], group=group, free_raw_data=False)


def started(kind: str) -> Booster:
    """A Booster of three rounds, as far as they have splits, and an evaluation set."""
    booster = Booster(options(kind), dataset(kind))
    booster.update()
    booster.add_valid(dataset(kind, slice(40)), "v")
    booster.update()
    booster.eval_train()
    booster.update()
    return booster


def seen(booster: Booster) -> list[Any]:
    """All that users see of a Booster."""
    found: list[Any] = [
        booster.current_iteration(),
        booster.num_trees(),
        booster.predict(X).tobytes(),
        booster.model_to_string(),
        booster.params,
        booster.name_valid_sets,
    ]
    try:
        found += [booster.eval_train(), booster.eval_valid()]
    except ValueError as error:  # not in training
        found.append(str(error))
    return found


def states(booster: Booster) -> list[Any]:
    """What is seen now, and after each of some changes."""
    found = [seen(booster)]
    for change in (
        Booster.update,
        Booster.rollback_one_iter,
        lambda booster: booster.reset_parameter({"num_leaves": 3}).update(),
        Booster.rollback_one_iter,
        Booster.update,
    ):
        try:
            change(booster)
        except ValueError as error:  # not in training, or without a function
            found.append(str(error))
        found.append(seen(booster))
    return found


def squares(predicted: Any, data: Any) -> Any:
    predicted = predicted.reshape(len(predicted), -1)
    label = data.get_label()[:, None]
    return np.squeeze(predicted - label), np.squeeze(np.ones_like(predicted))


OPERATIONS: dict[str, Callable[[Booster, str], Any]] = {
    "update": lambda booster, kind: booster.update(),
    "other rows": lambda booster, kind: booster.update(dataset(kind, slice(60))),
    "function": lambda booster, kind: booster.update(fobj=squares),
    "rollback": lambda booster, kind: booster.rollback_one_iter(),
    "leaf": lambda booster, kind: booster.set_leaf_output(0, 0, 7.0),
    "add_valid": lambda booster, kind: booster.add_valid(dataset(kind), "w"),
    "eval": lambda booster, kind: booster.eval(dataset(kind), "w"),
    "name": lambda booster, kind: booster.set_train_data_name("t"),
    "reset": lambda booster, kind: booster.reset_parameter({"learning_rate": 0.5}),
    "refit": lambda booster, kind: booster.refit(X, KINDS[kind][1]),
    "free": lambda booster, kind: booster.free_dataset(),
    "read": lambda booster, kind: seen(booster),
}


@cache
def expected(operation: str, kind: str, changes: bool) -> list[Any]:
    booster = started(kind)
    if changes:
        interruptible(operation, kind, booster)()
    return states(booster)


def interruptible(operation: str, kind: str, booster: Booster) -> Callable[[], Any]:
    def call() -> None:
        with suppress(ValueError):  # this kind has no such operation
            OPERATIONS[operation](booster, kind)

    return call


def numbers(n: int, most: int | None, case: str) -> range:
    """Some of the numbers from 1 to n, others for each case; None: all."""
    step = 1 if most is None else max(1, n // most)
    return range(1 + sum(map(ord, case)) % step, n + 1, step)


def neither(operation: str, kind: str, most: int | None) -> tuple[int, list[int]]:
    """How many interrupts there are, and which leave neither state."""
    alike = [expected(operation, kind, changes) for changes in (False, True)]
    n = moments(interruptible(operation, kind, started(kind)))
    chosen, wrong = numbers(n, most, operation + kind), []
    for number in chosen:
        booster = started(kind)
        assert moments(interruptible(operation, kind, booster), number) == 0
        if states(booster) not in alike:
            wrong.append(number)
    return len(chosen), wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "most", [5, pytest.param(300, marks=pytest.mark.nightly)], ids=["some", "more"]
)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ON_THREADS])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_booster_is_the_one_before_or_after(operation, kind, most):
    n, wrong = neither(operation, kind, most)
    assert n > 1
    assert wrong == []


# --- Fits, searches and rounds grown ahead --------------------------------------------


def lagging(held: list[Booster]) -> Callable[[Any], None]:
    """A callback that keeps the model, and lets rounds grow ahead of it."""

    def callback(env: Any) -> None:
        held[:] = [env.model]

    callback.may_lag = True  # type: ignore[attr-defined]
    return callback


def trained(kind: str, held: list[Booster]) -> Booster:
    data, calls = dataset(kind), [lagging(held)]
    sets = [dataset(kind, slice(40)), data]
    return skgoss.train(
        options(kind), data, 9, sets, callbacks=calls, keep_training_booster=True
    )


def learned(booster: Booster) -> list[Any]:
    """What has been learned, and after a round is taken back and two more are grown."""
    found = []
    for n_rounds in (0, 2):
        if n_rounds:
            booster.rollback_one_iter()
        for _ in range(n_rounds):
            booster.update()
        trees = booster.model_to_string().split("\nparameters")[0]
        values = booster.eval_train(), booster.eval_valid()
        found += [trees, booster.predict(X).tobytes(), values]
    return found


@cache
def rounds_by_hand(kind: str) -> list[Any]:
    """What is seen after each round of `trained`."""
    found = []
    for n_rounds in range(1, 10):
        data = dataset(kind)
        booster = Booster(options(kind), data)
        booster.add_valid(dataset(kind, slice(40)), "valid_0")
        for _ in range(n_rounds):
            booster.update()
        found.append(learned(booster))
    return found


AHEAD = ["gbdt", "goss", "linear", "three", "shared trees", "ranks", "dart"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "most", [15, pytest.param(None, marks=pytest.mark.nightly)], ids=["some", "all"]
)
@pytest.mark.parametrize("kind", AHEAD)
def test_the_model_of_a_fit_is_that_of_its_rounds(kind, most):
    n, n_seen = moments(lambda: trained(kind, [])), 0
    for number in numbers(n, most, kind):
        held: list[Booster] = []
        moments(lambda held=held: trained(kind, held), number)
        for booster in held:
            booster.set_train_data_name("training")
            n_seen += 1
            assert learned(booster) in rounds_by_hand(kind), number
    assert n_seen > 1


def searched(**options: Any) -> GridSearchCV:
    model, grid = LGBMRegressor(n_estimators=3, **BASE), {"num_leaves": [3, 4]}
    return GridSearchCV(model, grid, cv=2, **options)


# Estimators, and the attributes of their fits other than predictions.
ESTIMATORS = {
    "fit": (LGBMRegressor(n_estimators=3, **BASE), Y),
    "dart": (LGBMRegressor(n_estimators=3, **BASE | DART), Y),
    "outputs": (LGBMRegressor(n_estimators=3, **BASE), TWO),
    "folds": (LGBMRegressor(n_estimators=3, folds=2, **BASE), Y),
    "folds on threads": (
        LGBMRegressor(n_estimators=3, folds=2, **BASE | {"n_jobs": 2}),
        Y,
    ),
    "search": (searched(), Y),
    "race": (searched(strategy="race"), Y),
}


def fitted(found: Any) -> list[Any]:
    """All that users see of a fit."""
    attributes = vars(found)
    if isinstance(found, LGBMRegressor):
        attributes = {n: getattr(found, n) for n in dir(found) if n[-1:] == "_"}
        attributes = {n: v for n, v in attributes.items() if n[:1] != "_"}
    fits = {n: v for n, v in attributes.items() if n[-1] == "_"}
    timed = {n for n in fits if "time" in n or "score" in n}
    plain = {n: str(v) for n, v in fits.items() if n not in timed | OBJECTS}
    return [plain, found.predict(X).tobytes()]


OBJECTS = {"booster_", "best_estimator_", "scorer_", "cv_results_", "fitted_"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "most", [3, pytest.param(200, marks=pytest.mark.nightly)], ids=["some", "more"]
)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_is_the_one_before_or_after(kind, most):
    estimator, target = ESTIMATORS[kind]

    def again() -> Any:
        return clone(estimator).fit(X[:60], target[:60])

    found = again()
    n = moments(lambda: found.fit(X, target))
    before, after = fitted(again()), fitted(again().fit(X, target))
    assert before != after
    threads = set(threading.enumerate())
    for number in numbers(n, most, kind):
        found = again()
        moments(lambda found=found: found.fit(X, target), number)
        assert fitted(found) in (before, after), number
        assert set(threading.enumerate()) <= threads, number
        assert fitted(found.fit(X, target)) == after


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "most", [5, pytest.param(200, marks=pytest.mark.nightly)], ids=["some", "more"]
)
def test_a_data_set_and_its_folds_are_usable_after_an_interrupt(n_jobs, most):
    params = {**BASE, "n_jobs": n_jobs, "early_stopping_round": 3}

    def call(data: Dataset) -> Any:
        return skgoss.cv(params, data, 6, nfold=3, stratified=False)

    n, expected = moments(lambda: call(dataset("gbdt"))), call(dataset("gbdt"))
    threads = set(threading.enumerate())
    for number in numbers(n, most, "cv"):
        data = dataset("gbdt")
        moments(lambda data=data: call(data), number)
        assert set(threading.enumerate()) <= threads, number
        assert call(data) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "most", [5, pytest.param(None, marks=pytest.mark.nightly)], ids=["some", "all"]
)
@pytest.mark.parametrize("operation", ["update", "rollback", "leaf"])
def test_outputs_on_several_threads(monkeypatch, operation, most):
    monkeypatch.setattr("skgoss.training.fit_setup._MIN_VALUES_FOR_THREADS", 0)
    monkeypatch.setitem(BASE, "n_jobs", 2)
    threads = set(threading.enumerate())
    n, wrong = neither(operation, "quantiles on threads", most)
    assert n > 1
    assert wrong == []
    assert set(threading.enumerate()) <= threads
