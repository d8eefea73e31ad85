"""Fits and predictions in many threads at once, with and without the GIL."""

from __future__ import annotations

import json
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest

from helpers import golden
from skgoss import Booster, Dataset, LGBMClassifier

N_THREADS = 8


def at_once(function, arguments):
    """Call a function in many threads, which begin together."""
    barrier = Barrier(len(arguments))

    def wait_and_call(argument):
        barrier.wait()
        return function(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(wait_and_call, arguments))


def test_fits_in_many_threads_give_their_models():
    expected = json.loads(golden.FILE.read_text(encoding="utf-8"))
    table = golden.models()
    names = list(table)[:: len(table) // N_THREADS][:N_THREADS]
    found = at_once(lambda name: golden.fit(*table[name]), names)
    assert found == [expected[name] for name in names]


def test_threads_share_a_model():
    X, targets, _ = golden.rows()
    model = LGBMClassifier(**golden.SMALL).fit(X, targets["three"])

    def ask(number):
        rows = X[number:]
        return (
            model.predict_proba(rows),
            model.predict(rows, pred_contrib=True),
            model.booster_.model_to_string(),
        )

    for number, (p, shap, text) in enumerate(at_once(ask, range(N_THREADS))):
        assert np.array_equal(p, model.predict_proba(X[number:]))
        assert np.array_equal(shap, model.predict(X[number:], pred_contrib=True))
        assert text == model.booster_.model_to_string()


def test_threads_read_a_booster_while_another_changes_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4000, 3)), rng.integers(0, 40, 4000)])
    y = X[:, 0] + np.sin(X[:, 3])
    params = {"num_leaves": 63, "min_child_samples": 1, "n_jobs": 1}
    n_rounds, over, started = 40, Event(), Barrier(N_THREADS)

    def begun():
        booster = Booster(params, Dataset(X, y, categorical_feature=[3]))
        booster.update()
        return booster

    def change(booster):
        started.wait()
        while booster.num_trees() < n_rounds:
            booster.update()
            if booster.num_trees() % 5 == 4:
                booster.rollback_one_iter().rollback_one_iter()
                booster.update()
                booster.update()
                booster.update()
        over.set()

    def read(booster):
        started.wait()
        found = set()
        while not over.is_set():
            found.add(booster.predict(X[:20]).tobytes())
        return found

    alone, expected = begun(), set()
    for _ in range(n_rounds):
        expected.add(alone.predict(X[:20]).tobytes())
        alone.update()
    booster = begun()
    with ThreadPoolExecutor(N_THREADS) as pool:
        readers = [pool.submit(read, booster) for _ in range(N_THREADS - 1)]
        try:
            change(booster)
        finally:
            over.set()
        found = set().union(*(reader.result() for reader in readers))
    assert found
    assert found <= expected
    assert booster.num_trees() == n_rounds


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL"
)
def test_no_module_turns_the_gil_on():
    assert not sys._is_gil_enabled()
