"""The loop of rounds: its order, and how callbacks end it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from helpers.rounds import X, Y, fit, raising
from skgoss import LGBMRegressor, record_evaluation
from skgoss.fit.callbacks import EarlyStopException


def test_order_and_before_rounds():
    calls = []

    def note(word, **attributes):
        def callback(env):
            calls.append((word, len(env.evaluation_result_list)))

        vars(callback).update(attributes)
        return callback

    fit(
        note("late", order=50),
        note("plain"),
        note("early", before_iteration=True),
        n_estimators=1,
    )
    assert calls == [("early", 0), ("plain", 2), ("late", 2)]


def test_ending_a_fit():
    def stop(env):
        if env.iteration == 3:
            raise EarlyStopException(1, env.evaluation_result_list)

    model = fit(stop)
    assert model.best_iteration_ == model.n_iter_ == 2
    assert model.best_score_["valid_1"]["l2"] < model.evals_result_["valid_1"]["l2"][2]
    assert len(model.evals_result_["valid_1"]["l2"]) == 4


@pytest.mark.parametrize("best", [2, 50, 2**70, np.int64(50)])
def test_no_more_rounds_are_kept_than_there_are(best):
    model = fit(raising(EarlyStopException(best, [])))
    assert model.best_iteration_ == model.n_iter_ == 3
    assert {k: v["l2"][-1] for k, v in model.evals_result_.items()} == {
        k: v["l2"] for k, v in model.best_score_.items()
    }


@pytest.mark.parametrize("best_score", [None, [], ()])
def test_the_best_score_is_the_recorded_one_if_none_is_given(best_score):
    model = fit(raising(EarlyStopException(1, best_score)))
    for name, history in model.evals_result_.items():
        assert len(history["l2"]) == 3
        assert model.best_score_[name] == {"l2": history["l2"][1]}


@pytest.mark.parametrize("kind", [list, tuple])
def test_the_best_score_may_be_plain_tuples(kind):
    results = kind([("valid_1", "l2", 0.5, False), ("valid_1", "own", 2.0, True, 0.1)])
    model = fit(raising(EarlyStopException(1, results)))
    assert model.best_score_ == {"valid_1": {"l2": 0.5, "own": 2.0}}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((1.5, []), TypeError, "best_iteration must be an int, got 1.5"),
        ((float("inf"), []), TypeError, "best_iteration must be an int, got inf"),
        (("1", []), TypeError, "best_iteration must be an int, got '1'"),
        ((-1, []), ValueError, "best_iteration must be at least 0"),
        ((1, 0.5), TypeError, "best_score must be a list of results"),
        ((1, "l2"), TypeError, "best_score must be a list of results"),
        ((1, [0.5]), TypeError, "best_score must be a list of results"),
        ((1, [("l2", 0.5)]), TypeError, "best_score must be a list of results"),
    ],
)
def test_bad_ends(given, error, message):
    with pytest.raises(error, match=message):
        EarlyStopException(*given)


def test_a_fit_does_not_end_before_its_first_round():
    model = LGBMRegressor(n_estimators=6)
    stop = raising(EarlyStopException(0, []), at=0, before=True)
    with pytest.raises(ValueError, match="raised before the first round"):
        model.fit(X, Y, callbacks=[stop])
    assert not hasattr(model, "fitted_")
    later = fit(raising(EarlyStopException(5, []), at=2, before=True))
    assert later.n_iter_ == later.best_iteration_ == 2
    assert len(later.evals_result_["valid_1"]["l2"]) == 2
    first = fit(n_estimators=2)
    stop = raising(EarlyStopException(9, []), at=2, before=True)
    both = LGBMRegressor().fit(X, Y, init_model=first, callbacks=[stop])
    assert both.n_iter_ == both.best_iteration_ == 2


def test_the_history_is_as_long_as_the_model_that_any_callback_ends():
    model = fit(raising(EarlyStopException(2, [])))
    assert len(model.evals_result_["valid_1"]["l2"]) == model.n_iter_ == 3


@pytest.mark.parametrize("patience", [0, 5])
@pytest.mark.parametrize("gain", [1.0, 1e9])
def test_callbacks_hear_of_rounds_in_which_no_tree_can_grow(gain, patience):
    told, early, recorded = [], [], {}

    def tell(env):
        told.append((env.iteration, env.evaluation_result_list))

    def before(env):
        early.append(env.iteration)

    before.before_iteration = True
    calls = [tell, before, record_evaluation(recorded)]
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 0) * 1.0
    model = LGBMRegressor(
        n_estimators=40, min_split_gain=gain, early_stopping_round=patience, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that nothing is learned
        model.fit(X, y, eval_X=X[::2], eval_y=y[::2], callbacks=calls)
    n_kept = model.n_estimators_
    assert n_kept == 1 if gain > 1 else 1 < n_kept < 30
    n_told = n_kept + patience if patience else 40
    assert [iteration for iteration, _ in told] == early == list(range(n_told))
    assert all(results == told[n_kept - 1][1] for _, results in told[n_kept:])
    # Histories are those of the model.
    history = model.evals_result_
    assert recorded == history
    assert len(history["valid_0"]["l2"]) == n_kept
    assert model.best_iteration_ == (n_kept if patience else 0)
    assert model.best_score_["valid_0"]["l2"] == history["valid_0"]["l2"][-1]


FEW = np.arange(8.0)[:, None]
EXACT = {"learning_rate": 1.0, "min_child_samples": 1, "n_jobs": 1}


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"n_estimators": 500}, {}),
        ({"n_iter": 500}, {}),
        ({"n_estimators": 500}, {"eval_set": [(FEW, FEW[:, 0])]}),
        ({"n_estimators": 500}, {"callbacks": [record_evaluation({})]}),
    ],
)
def test_a_fit_says_that_it_ended_before_the_rounds_asked_for(options, arguments):
    model = LGBMRegressor(**options, **EXACT)
    with pytest.warns(UserWarning, match="The fit ended after") as caught:
        model.fit(FEW, FEW[:, 0] % 3, **arguments)
    message = str(caught.pop().message)
    assert not caught.list
    assert f" after {model.n_estimators_} of 500 rounds: no leaf" in message
    assert "min_child_samples=1 " in message


@pytest.mark.parametrize(
    "options",
    [
        {},  # 100 rounds, which nobody has asked for
        {"n_estimators": 499},  # few
        {"n_estimators": 500, "folds": 2},  # which choose the rounds
        {"n_estimators": 500, "early_stopping_round": 2, "validation_fraction": 0.2},
    ],
)
def test_a_fit_of_as_many_rounds_as_expected_says_nothing(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LGBMRegressor(**options, **EXACT).fit(FEW, FEW[:, 0] % 3)


def test_other_exceptions_with_a_round_are_errors():
    class Other(Exception):
        best_iteration, best_score = 1, []

    class EarlyStopException(Exception):  # of another library
        pass

    for error in (Other, EarlyStopException):
        with pytest.raises(error):
            fit(raising(error()))


# --- Rounds that add no trees ---------------------------------------------------------

NO_SPLIT = {"min_split_gain": 1e9, "verbosity": -1}


@pytest.mark.filterwarnings("ignore")
def test_our_own_rules_do_not_wait_for_rounds_that_add_no_trees():
    """They would be asked two billion times."""
    n = 2**31 - 1
    model = LGBMRegressor(n_estimators=n, early_stopping_round=n, **NO_SPLIT)
    model.fit(X, Y, eval_set=[(X[:50], Y[:50])])
    assert (model.n_iter_, model.best_iteration_) == (1, 1)
    assert len(model.evals_result_["valid_0"]["l2"]) == 1
