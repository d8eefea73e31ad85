"""Readers never wait and never see half of a change; what fails changes nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from helpers.interrupts import moments
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMRegressor,
    early_stopping,
    train,
)
from skgoss._engine.locks import NonBlockingLock
from skgoss.estimators.base import reentry_guard
from skgoss.utils.locks import Lock, cached_property

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] + np.sin(3 * X[:, 1])
CLASSES = (X[:, 0] > 0).astype(int)
PARAMS = {"num_leaves": 7, "n_jobs": 1}


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def read_while(read: Callable[[], object], change: Callable[[], None]) -> list[object]:
    """What two threads have read while this one changed something."""
    found: list[object] = []
    errors: list[BaseException] = []
    over = threading.Event()

    def reader() -> None:
        try:
            while not over.is_set():
                found.append(read())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        change()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert errors == []
    return found


# --- Boosters -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"boosting": "dart", "drop_rate": 0.5},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        {"linear_tree": True},
        {"objective": "quantile", "alpha": [0.2, 0.7]},
    ],
)
def test_readers_of_a_booster_see_finished_rounds(params):
    n_rounds = 12
    alone = Booster({**PARAMS, **params}, Dataset(X, Y))
    expected = []
    for _ in range(n_rounds):
        alone.update()
        expected.append(alone.predict(X[:5]).tolist())

    booster = Booster({**PARAMS, **params}, Dataset(X, Y))
    booster.update()

    def change() -> None:
        for _ in range(n_rounds - 1):
            booster.update()
            time.sleep(0.005)

    found = read_while(lambda: booster.predict(X[:5]).tolist(), change)
    seen = [expected.index(predictions) for predictions in found]
    assert booster.predict(X[:5]).tolist() == expected[-1]
    assert booster.current_iteration() == n_rounds
    assert max(seen) > min(seen)


def test_readers_of_a_booster_see_no_rounds_that_are_taken_back():
    booster = Booster(PARAMS, Dataset(X, Y))
    states = []
    for _ in range(4):
        booster.update()
        states.append(booster.predict(X[:5]).tolist())

    def change() -> None:
        for learning_rate in (0.5, 0.1) * 10:
            booster.rollback_one_iter()
            booster.reset_parameter({"learning_rate": learning_rate})
            time.sleep(0.005)
            booster.update()

    found = read_while(lambda: booster.predict(X[:5]).tolist(), change)
    assert states[2] in found or states[3] in found
    # Without the last round, or with one of two.
    assert len({str(predictions) for predictions in found}) <= 3
    assert booster.predict(X[:5]).tolist() == states[3]


def test_a_round_that_fails_changes_nothing():
    def fail(predictions, dataset):
        raise ZeroDivisionError

    train_set = Dataset(X, CLASSES)
    booster = Booster({**PARAMS, "objective": "binary"}, train_set)
    booster.update()
    before = booster.predict(X)
    with pytest.raises(ZeroDivisionError):
        booster.update(fobj=fail)
    assert (booster.predict(X) == before).all()
    assert booster.num_trees() == 1
    other = Dataset(X[:50], CLASSES[:50])
    with pytest.raises(ZeroDivisionError):
        booster.update(train_set=other, fobj=fail)
    assert booster.train_set is train_set
    assert not booster.update()  # continues with the objective and rows that it had
    plain = Booster({**PARAMS, "objective": "binary"}, Dataset(X, CLASSES))
    plain.update()
    plain.update()
    assert (booster.predict(X) == plain.predict(X)).all()


def test_metrics_are_not_computed_while_a_round_grows():
    booster = Booster({**PARAMS, "metric": "l2"}, Dataset(X, Y))
    messages = []

    def objective(predictions, dataset):
        with pytest.raises(RuntimeError, match="already training") as caught:
            booster.eval_train()
        messages.append(str(caught.value))
        return predictions - dataset.get_label(), np.ones(len(predictions))

    booster.update(fobj=objective)
    assert len(messages) == 1


def test_a_round_that_is_refused_does_not_change_the_one_that_grows():
    booster = Booster({**PARAMS, "objective": "none"}, Dataset(X, Y))
    called = []

    def other(predictions, dataset):
        called.append("other")
        return predictions - dataset.get_label(), np.ones(len(predictions))

    def objective(predictions, dataset):
        called.append("first")
        with pytest.raises(RuntimeError, match="already training"):
            booster.update(fobj=other)
        return other(predictions, dataset)

    fit = booster._fit
    booster.update(fobj=objective)
    assert called == ["first", "other"]
    assert fit.settings.objective.function is objective


# --- Estimators -----------------------------------------------------------------------


def test_threads_get_the_same_booster():
    for _ in range(50):
        model = LGBMRegressor(n_estimators=1, n_jobs=1).fit(X, Y)
        boosters = read_while(lambda model=model: model.booster_, lambda: None)
        assert set(map(id, boosters)) <= {id(model.booster_)}
    model.booster_.set_leaf_output(0, 0, 7.0)
    assert (model.predict(X) == 7.0).any()


def test_readers_of_an_estimator_see_the_former_model_or_the_new_one():
    model = LGBMClassifier(n_estimators=20, num_leaves=7, n_jobs=1)
    frames = [(X, CLASSES), (X[:, :3], np.where(CLASSES, "yes", "no"))]
    expected = []
    for features, labels in frames:
        fitted = LGBMClassifier(n_estimators=20, num_leaves=7, n_jobs=1)
        fitted.fit(features, labels)
        expected.append((fitted.n_features_, fitted.predict(features[:5]).tolist()))
    model.fit(*frames[0])

    def read() -> object:
        for width in (4, 3):
            with contextlib.suppress(ValueError):  # the number of features
                return width, model.predict(X[:5, :width]).tolist()
        return None

    def change() -> None:
        for i in range(1, 7):
            model.fit(*frames[i % 2])
            time.sleep(0.01)  # readers have their turn

    found = [what for what in read_while(read, change) if what is not None]
    assert all(what in expected for what in found)
    assert {what[0] for what in found} == {3, 4}


def test_an_estimator_predicts_while_it_is_fitted_again():
    model = LGBMRegressor(n_estimators=3, n_jobs=1).fit(X, Y)
    before, seen = model.predict(X), []

    def look(env):
        seen.append((model.predict(X) == before).all())

    model.fit(X, -Y, callbacks=[look])
    assert seen == [True] * 3
    assert (model.predict(X) != before).any()


# --- Data sets ------------------------------------------------------------------------


def test_an_evaluation_set_has_the_bins_of_its_fit():
    """Another fit bins the training set again before the evaluation set is binned."""
    train_set = Dataset(X, Y, free_raw_data=False)
    valid = Dataset(X[:99], Y[:99], reference=train_set, free_raw_data=False)
    expected: dict[str, dict[str, list[float]]] = {}
    train({**PARAMS, "metric": "l2"}, train_set, 5, valid, evals_result=expected)

    train_set = Dataset(X, Y, free_raw_data=False)
    valid = Dataset(X[:99], Y[:99], reference=train_set, free_raw_data=False)
    prepare, found = valid._prepare, {}

    def after_another_fit(*args, **kwargs):
        train({**PARAMS, "max_bin": 7}, train_set, 1)
        return prepare(*args, **kwargs)

    valid._prepare = after_another_fit
    train({**PARAMS, "metric": "l2"}, train_set, 5, valid, evals_result=found)
    assert found == expected


def test_fits_of_other_bins_may_share_a_dataset():
    train_set = Dataset(X, Y, free_raw_data=False)
    valid = Dataset(X[:99], Y[:99], reference=train_set, free_raw_data=False)
    errors = []

    def fit(params, sets):
        try:
            for _ in range(5):
                train({**PARAMS, **params}, train_set, 2, sets)
        except Exception as error:
            errors.append(error)

    threads = [
        threading.Thread(target=fit, args=args)
        for args in (({}, [valid]), ({"max_bin": 7}, None), ({"max_bin": 15}, [valid]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_readers_of_a_dataset_do_not_wait():
    data = Dataset(X, Y).construct()
    held, release = threading.Event(), threading.Event()

    def bin_for_long():
        with data._lock:
            held.set()
            release.wait(60)

    thread = threading.Thread(target=bin_for_long)
    thread.start()
    held.wait(60)
    begin = time.monotonic()
    assert (data.get_label() == Y).all()
    assert (data.num_data(), data.num_feature()) == X.shape
    assert data.feature_num_bin(0) > 1
    assert data.get_feature_name()[0] == "Column_0"
    waited = time.monotonic() - begin
    release.set()
    thread.join()
    assert waited < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_finds_locks_free():
    lock = Lock()
    held, release = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        # Threads of the child exclude each other.
        counts = [0]

        def count():
            for _ in range(100):
                with lock:
                    value = counts[0]
                    time.sleep(0)
                    counts[0] = value + 1

        threads = [threading.Thread(target=count) for _ in range(4)]
        for other in threads:
            other.start()
        for other in threads:
            other.join(30)
        os._exit(0 if counts == [400] else 1)
    status = os.waitpid(child, 0)[1]
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


# --- Callbacks ------------------------------------------------------------------------


def test_what_a_callback_remembers_belongs_to_one_fit():
    stop = early_stopping(3, verbose=False)
    train_x, valid = X[:150], (X[150:], Y[150:])
    options = {"n_estimators": 60, "learning_rate": 0.5, "n_jobs": 1}
    alone = LGBMRegressor(**options).fit(
        train_x, Y[:150], eval_set=[valid], callbacks=[early_stopping(3, verbose=False)]
    )
    inner = []

    def fit_another(env):
        if env.iteration == 1:
            other = LGBMRegressor(**options)
            other.fit(train_x, -Y[:150], eval_set=[valid], callbacks=[stop])
            inner.append(other.best_iteration_)

    model = LGBMRegressor(**options)
    model.fit(train_x, Y[:150], eval_set=[valid], callbacks=[stop, fit_another])
    assert model.best_iteration_ == alone.best_iteration_
    assert inner[0] == 1


# --- Interrupts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "lock",
    [Lock(), NonBlockingLock("taken"), reentry_guard(LGBMRegressor())],
    ids=["Lock", "NonBlockingLock", "reentry_guard"],
)
def test_an_interrupt_leaves_no_lock_taken(lock):
    def use() -> None:
        with lock:
            body()

    def body() -> None:
        pass

    n = moments(use, within="")
    assert n > 2  # where `use` and `body` begin, and after the call
    for number in range(1, n + 1):
        assert moments(use, number, within="") == 0
    other = threading.Thread(target=use, daemon=True)
    other.start()
    other.join(10.0)
    assert not other.is_alive()
    use()


# --- Values that are computed once ----------------------------------------------------


def test_all_threads_have_the_same_cached_value():
    """Both compute it at the same time: the first to end decides for both."""
    both, first_has_ended = threading.Barrier(2, timeout=30), threading.Event()

    class Slow:
        n_computed = 0

        @cached_property
        def value(self) -> object:
            """A new object."""
            both.wait()
            if threading.current_thread() is last:
                assert first_has_ended.wait(30)
            self.n_computed += 1
            return object()

    instance, found = Slow(), {}

    def ask(name: str) -> None:
        found[name] = instance.value
        first_has_ended.set()

    last = threading.Thread(target=ask, args=("last",))
    first = threading.Thread(target=ask, args=("first",))
    for thread in (last, first):
        thread.start()
    for thread in (last, first):
        thread.join()
    assert instance.n_computed == 2
    assert found["first"] is found["last"] is instance.value
    assert instance.n_computed == 2
