"""The option ``time_limit``: fits end in time, with a model, and say so."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import skgoss
from helpers import processes
from helpers.interrupts import moments
from skgoss import Dataset, LGBMClassifier, LGBMRegressor
from skgoss.fit import time_limit
from skgoss.fit.time_limit import TimeLimit
from skgoss.several_fits.preset_search import PresetSearch
from skgoss.training.run import Run

X, y = load_diabetes(return_X_y=True)
X, y = X[:200], y[:200]


class Clock:
    """A clock of which each look takes a hundredth of a second."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 0.01
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time_limit, "time", clock)
    return clock


@pytest.mark.parametrize("continues", [False, True])
def test_what_ctrl_c_has_ended_is_told(continues):
    limit = TimeLimit(None, threading.Event())
    with warnings.catch_warnings(action="error"):
        limit.warn_interrupted("a test", continues=continues)
    limit.interrupted.set()
    with pytest.warns(UserWarning, match=r"Ctrl-C ended a test\."):
        limit.warn_interrupted("a test", continues=continues)
    assert limit.results() == {"is_limit_reached": True}
    assert limit.interrupted.is_set() is not continues


def test_a_limit_and_its_parts(clock):
    limit = TimeLimit(1.0)
    part = limit.of_share(0.5)
    assert part.seconds == pytest.approx(0.495)
    while not part.is_over():
        pass
    assert part.is_reached
    assert not limit.is_reached
    assert not limit.is_over()
    assert limit.results() == {"is_limit_reached": False}
    clock.now = 2.0
    assert not limit.after_round(4)(3, None)  # the last round ends by itself
    assert not limit.is_reached
    assert limit.after_round(5)(3, None)
    assert limit.results() == {"is_limit_reached": True}
    none = TimeLimit(None)
    assert none.left == none.of_share(0.1).left == np.inf
    assert none.after_round(5) is None
    assert not none.is_over()
    assert none.results() == {}
    assert (none.of_share(0.1).seconds, none.of_share(0.1).has_end) == (None, False)
    interrupted = threading.Event()
    limit = TimeLimit(None, interrupted)
    part = limit.of_share(0.5)
    assert not limit.is_over()
    assert not part.is_over()
    interrupted.set()
    assert part.has_end
    assert part.is_over()
    assert part.seconds is None


def test_a_fit_ends_in_time_and_says_so():
    begin = time.monotonic()
    with pytest.warns(UserWarning, match=r"time_limit=0.1 ended .* of 100000 rounds"):
        model = LGBMRegressor(n_estimators=100_000, time_limit=0.1).fit(X, y)
    assert time.monotonic() - begin < 5
    assert model.time_limit_reached_
    assert 1 <= model.n_iter_ < 100_000
    same = LGBMRegressor(n_estimators=model.n_iter_).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert not same.time_limit_reached_
    with pytest.warns(UserWarning, match="ended the fit after 1 of 100 rounds"):
        assert LGBMRegressor(time_limit=1e-9).fit(X, y).n_iter_ == 1


def test_a_limit_that_is_not_reached_changes_nothing():
    for options in ({}, {"folds": 3}, {"preset": "accurate"}):
        free = LGBMRegressor(n_estimators=20, **options).fit(X, y)
        model = LGBMRegressor(n_estimators=20, time_limit=600, **options).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), free.predict(X))
        assert not model.time_limit_reached_
        again = type(model).from_booster(model.booster_)
        assert again.search_results_.keys() == model.search_results_.keys()


def test_early_stopping_keeps_its_best_round(clock):
    options = {"early_stopping_round": 5, "n_estimators": 500, "learning_rate": 0.01}
    model = LGBMRegressor(**options, time_limit=0.3).fit(X, y)
    losses = model.evals_result_["validation"]["l2"]
    assert len(losses) < 40
    assert model.best_iteration_ == model.n_iter_ == np.argmin(losses) + 1
    assert model.time_limit_reached_


@pytest.mark.parametrize("refit", [False, True])
def test_folds_share_the_time(clock, refit):
    options = {"folds": 4, "n_estimators": 1000, "early_stopping_round": 0}
    options |= {"refit": refit, "n_jobs": 1}
    model = LGBMRegressor(**options, time_limit=2.0).fit(X, y)
    rounds = [len(scores["l2"]) for scores in model.evals_result_.values()]
    assert max(rounds) < 2 * min(rounds)
    assert model.time_limit_reached_
    assert 1.5 < clock.now < 2.5


def test_train_and_targets():
    params = {"time_limit": 1e-9, "verbosity": -1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert skgoss.train(params, Dataset(X, y), 50).num_trees() == 1
        losses, _ = skgoss.cv(params, Dataset(X, y), 50).values()
        several = LGBMRegressor(time_limit=1e-9).fit(X, np.c_[y, -y])
        quantiles = {"objective": "quantile", "alpha": [0.1, 0.9]}
        levels = LGBMRegressor(time_limit=1e-9, **quantiles).fit(X, y)
    assert several.n_iter_ == levels.n_iter_ == len(losses) == 1


@pytest.mark.parametrize("limit", [0, -1.0, "1 minute", np.nan, True])
def test_wrong_limits(limit):
    with pytest.raises((ValueError, TypeError), match="time_limit"):
        LGBMClassifier(time_limit=limit).fit(X, y > 100)


# --- Presets --------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["accurate", "best"])
@pytest.mark.parametrize("limit", [1e-9, 1.0, 3.0])
def test_a_preset_ends_in_time_with_a_model(clock, preset, limit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LGBMRegressor(preset=preset, time_limit=limit, n_jobs=1).fit(X, y)
    assert model.time_limit_reached_
    assert model.n_iter_ >= 1
    assert np.isfinite(model.predict(X)).all()
    results = model.search_results_
    assert results["weight"].sum() == pytest.approx(1)
    # Rounds look at the clock, and folds after a stage.
    assert clock.now < 1.1 * limit + 1
    has_begun = np.isfinite(results["mean_test_loss"])
    told = [str(w.message) for w in caught if "ended the search" in str(w.message)]
    assert bool(told) is not has_begun.all()


def test_a_search_that_was_cut_leaves_time_for_the_last_fit(clock):
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match="ended the search after 1 of the first 5"):
        model = LGBMRegressor(preset="accurate", time_limit=1.0, n_jobs=1).fit(X, y)
    assert model.n_iter_ > 1


@pytest.fixture
def stages(monkeypatch):
    """Of each member of a mean: its share, the time left, and that of its limit."""
    seen, begin = [], PresetSearch._begun_on_all_rows

    def spy(search, candidate, options, share):
        left = search.prepared.limit.left
        fit = begin(search, candidate, options, share)
        seen.append((share, left, fit.prepared.limit.seconds))
        return fit

    monkeypatch.setattr(PresetSearch, "_begun_on_all_rows", spy)
    return seen


def test_members_of_a_mean_share_the_time_that_is_left(clock, stages):
    options = {"preset": "accurate", "learning_rate": 0.3, "n_jobs": 1}
    model = LGBMRegressor(**options, time_limit=60).fit(X, y)
    free = LGBMRegressor(**options).fit(X, y)
    assert not model.time_limit_reached_
    np.testing.assert_array_equal(model.predict(X), free.predict(X))
    of_limit = [stage for stage in stages if stage[2] is not None]
    n = np.count_nonzero(model.search_results_["weight"])
    assert [share for share, *_ in of_limit] == [1 / k for k in range(n, 0, -1)]
    assert n > 2
    for share, left, seconds in of_limit:
        assert seconds == pytest.approx(share * left, abs=0.02)


def test_members_without_time_end_at_their_shares(clock, stages, monkeypatch):
    def last_fit(search, candidate, found, share):
        return search.search.without_folds | {"n_estimators": 10_000}

    monkeypatch.setattr(PresetSearch, "_last_fit", last_fit)
    options = {"preset": "accurate", "learning_rate": 0.3, "n_jobs": 1}
    # The message has the limit of the whole fit.
    with pytest.warns(UserWarning, match=r"time_limit=10 ended the fit after") as told:
        model = LGBMRegressor(**options, time_limit=10).fit(X, y)
    assert model.time_limit_reached_
    assert len(told) == len(stages) == np.count_nonzero(model.search_results_["weight"])
    assert len(stages) > 2
    seconds = [seconds for *_, seconds in stages]
    assert max(seconds) < 1.1 * min(seconds)
    assert 9.5 < clock.now < 10.5


# --- Ctrl-C ---------------------------------------------------------------------------


def pressed(*indices):
    """A callback that presses Ctrl-C when it is called for these times."""
    n_calls = iter(range(100_000))

    def callback(*_):
        if next(n_calls) in indices:
            signal.raise_signal(signal.SIGINT)

    return callback


@pytest.fixture(autouse=True)
def handler():
    """Python's handler of SIGINT, which is there again after each test."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not time_limit.INTERRUPTIONS
    signal.signal(signal.SIGINT, usual)


def test_ctrl_c_ends_a_fit_with_its_rounds():
    model, again = LGBMRegressor(), LGBMRegressor(n_estimators=8)
    with skgoss.keep_on_interrupt():
        with pytest.warns(UserWarning, match="Ctrl-C ended .* after 8 of 100 rounds"):
            model.fit(X, y, callbacks=[pressed(7)])
        with pytest.raises(KeyboardInterrupt):
            again.fit(X, y)
    assert model.n_iter_ == 8
    assert model.time_limit_reached_
    np.testing.assert_array_equal(model.predict(X), again.fit(X, y).predict(X))
    with skgoss.keep_on_interrupt():
        free = LGBMRegressor().fit(X, y)
        with pytest.warns(UserWarning, match="after 5 of 60 rounds"):
            booster = skgoss.train({}, Dataset(X, y), 60, callbacks=[pressed(4)])
    assert booster.num_trees() == 5
    assert not free.time_limit_reached_
    np.testing.assert_array_equal(free.predict(X), LGBMRegressor().fit(X, y).predict(X))


def test_ctrl_c_raises_if_nobody_asked_or_it_comes_twice():
    model = LGBMRegressor()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, callbacks=[pressed(3)])
    calls = [pressed(3), pressed(3)]
    with skgoss.keep_on_interrupt(), pytest.raises(KeyboardInterrupt):
        model.fit(X, y, callbacks=calls)
    assert not hasattr(model, "n_iter_")


def test_only_the_main_thread_keeps_what_ctrl_c_ends():
    def enter():
        with pytest.raises(RuntimeError, match="by the main thread"):
            skgoss.keep_on_interrupt().__enter__()
        assert time_limit.INTERRUPTIONS == []
        entered.append(True)

    entered = []
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered


def test_an_error_leaves_the_block_too():
    def fail():
        with skgoss.keep_on_interrupt():
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not time_limit.INTERRUPTIONS
    with pytest.raises(KeyboardInterrupt):
        LGBMRegressor().fit(X, y, callbacks=[pressed(3)])


def test_of_two_blocks_the_inner_one_keeps():
    model = LGBMRegressor()
    with skgoss.keep_on_interrupt():
        with skgoss.keep_on_interrupt(), pytest.warns(match="after 4 of 100 rounds"):
            model.fit(X, y, callbacks=[pressed(3)])
        with pytest.warns(match="after 6 of 100 rounds"):
            model.fit(X, y, callbacks=[pressed(5)])


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_blocks_may_end_in_any_order(order):
    blocks = [skgoss.keep_on_interrupt() for _ in order]
    for block in blocks:
        block.__enter__()
    left = [*range(3)]
    for number in order:
        signal.raise_signal(signal.SIGINT)
        is_set = [kept.event.is_set() for kept in time_limit.INTERRUPTIONS]
        assert is_set == [k == max(left) for k in left]  # the last one of all
        time_limit.INTERRUPTIONS[-1].event.clear()
        blocks[number].__exit__(None, None, None)
        left.remove(number)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_of_a_block_leaves_the_usual_handler():
    def use():
        with skgoss.keep_on_interrupt():
            pass

    n = moments(use)
    assert n > 5
    for number in range(1, n + 1):
        assert moments(use, number) == 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert not time_limit.INTERRUPTIONS


def test_ctrl_c_keeps_the_folds_that_have_ended():
    options = {"n_estimators": 20, "folds": 4, "n_jobs": 1}
    with skgoss.keep_on_interrupt(), pytest.warns(UserWarning, match="2 of 4 models"):
        model = LGBMRegressor(**options).fit(X, y, callbacks=[pressed(45)])
    whole = LGBMRegressor(**options).fit(X, y)
    tested = np.isfinite(model.oof_prediction_)
    assert tested.sum() == 100
    np.testing.assert_array_equal(
        model.oof_prediction_[tested], whole.oof_prediction_[tested]
    )
    with skgoss.keep_on_interrupt(), pytest.warns(UserWarning, match="1 of 4"):
        model = LGBMRegressor(**options).fit(X, y, callbacks=[pressed(5)])
    assert model.n_iter_ == 6


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_all_models_of_cv_with_the_same_round(n_jobs):
    params, data = {"n_jobs": n_jobs, "verbosity": -1}, Dataset(X, y)
    whole = skgoss.cv(params, data, 60)["valid l2-mean"]
    with skgoss.keep_on_interrupt(), pytest.warns(UserWarning, match="after 5 of 60"):
        found = skgoss.cv(
            params, data, 60, callbacks=[pressed(4)], return_cvbooster=True
        )
    assert found["valid l2-mean"] == whole[:5]
    assert [b.num_trees() for b in found["cvbooster"].boosters] == [5] * 5


@pytest.mark.parametrize("options", [{"folds": 4}, {"early_stopping_round": 5}])
def test_a_refit_goes_on_until_the_next_ctrl_c(options):
    options = options | {"refit": True, "n_jobs": 1, "learning_rate": 0.01}
    with skgoss.keep_on_interrupt(), pytest.warns(UserWarning, match="Ctrl-C ended"):
        model = LGBMRegressor(**options).fit(X, y, callbacks=[pressed(19)])
    assert model.n_iter_ == 20
    assert model.time_limit_reached_


@pytest.mark.parametrize("preset", ["accurate", "best"])
def test_ctrl_c_ends_a_search_with_the_best_so_far(preset, monkeypatch):
    press, advance = pressed(30), Run.advance

    def pressing(self, *arguments):
        press()
        advance(self, *arguments)

    monkeypatch.setattr(Run, "advance", pressing)
    with skgoss.keep_on_interrupt(), pytest.warns(UserWarning, match="ended a search"):
        model = LGBMRegressor(preset=preset, n_jobs=1).fit(X, y)
    assert model.time_limit_reached_
    assert model.n_iter_ > 8
    assert model.score(X, y) > 0.5
    assert model.search_results_["weight"].sum() == pytest.approx(1)


PRESSED = """
import os, signal, skgoss, threading
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.arange(4000.0).reshape(1000, 4)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
with skgoss.keep_on_interrupt():
    print(skgoss.LGBMRegressor(n_estimators=10**7, n_jobs=2).fit(X, X[:, 0]).n_iter_)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_from_outside_ends_a_fit(tmp_path):
    done = processes.run(PRESSED, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 1 <= int(done.stdout) < 10**7
    assert "Ctrl-C ended the fit" in done.stderr
