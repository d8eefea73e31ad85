"""Callbacks with LightGBM's names: what they see, what they do, what they say."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pytest

import skgoss
from helpers.rounds import SETS, X, Y, env, fit, raising
from skgoss import (
    LGBMRegressor,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.fit.callbacks import EarlyStopException, EvalResult

RNG = np.random.default_rng(4)


def test_results_are_lightgbm_s(lightgbm):
    given = ("valid_0", "l2", 0.5, False)
    for items, is_cv in ((given, False), ((*given, 0.1), True)):
        ours, theirs = EvalResult(*items), lightgbm.EvalResult(*items)
        assert len(ours) == len(theirs) == len(items)
        assert list(ours) == list(theirs)
        assert ours == items
        assert ours == EvalResult(*items)
        assert hash(ours) == hash(items)
        assert repr(ours) == repr(theirs)
        assert ours.is_cv_result() is theirs.is_cv_result() is is_cv
        for name in theirs._fields:
            assert getattr(ours, name) == getattr(theirs, name)
        copy = pickle.loads(pickle.dumps(ours))
        assert (type(copy), copy) == (EvalResult, ours)
    assert EvalResult(*given)._replace(metric_value=0.7).metric_value == 0.7
    assert EvalResult(*given)._asdict()["metric_std_dev"] is None
    assert EvalResult(*given) < EvalResult("valid_0", "l2", 0.6, False)
    with pytest.raises(AttributeError):
        EvalResult(*given).metric_value = 3


# --- Callbacks of lightgbm ------------------------------------------------------------

APART = {"eval_set": [(X, Y), (X[:100], Y[:100] + RNG.normal(0, 90, 100))]}


@pytest.mark.parametrize("patience", [3, 500])
@pytest.mark.parametrize("options", [{}, {"first_metric_only": True}])
def test_early_stopping_of_lightgbm(patience, options, lightgbm):
    theirs = lightgbm.early_stopping(patience, verbose=False, **options)
    ours = early_stopping(patience, verbose=False, **options)
    fits = {"sets": APART, "n_estimators": 150, "learning_rate": 0.3}
    model, same = fit(theirs, **fits), fit(ours, **fits)
    assert 0 < model.best_iteration_ == same.best_iteration_ < 150
    assert model.best_score_ == same.best_score_
    whole = lightgbm.LGBMRegressor(n_estimators=150, learning_rate=0.3, verbosity=-1)
    with pytest.warns(lightgbm.basic.LGBMDeprecationWarning):
        whole.fit(X, Y, **APART, callbacks=[theirs])
    assert whole.best_iteration_ == model.best_iteration_


def test_messages_and_records_of_lightgbm(capsys, lightgbm):
    record = {}
    model = fit(lightgbm.log_evaluation(2), lightgbm.record_evaluation(record))
    assert record == model.evals_result_
    assert [line[:3] for line in lines(capsys)] == ["[2]", "[4]", "[6]"]


def test_changed_options_by_lightgbm(lightgbm):
    schedule = {"learning_rate": [0.1, 0.2, 0.3, 0.1, 0.05, 0.2]}
    np.testing.assert_array_equal(
        fit(lightgbm.reset_parameter(**schedule)).predict(X),
        fit(reset_parameter(**schedule)).predict(X),
    )


def test_the_exception_of_lightgbm(lightgbm):
    error = lightgbm.callback.EarlyStopException(1, [("a", "b", 0.5, True)])
    model = fit(raising(error))
    assert model.n_iter_ == model.best_iteration_ == 2
    assert model.best_score_ == {"a": {"b": 0.5}}


def test_record_evaluation():
    record = {"old": 1}
    model = fit(record_evaluation(record))
    assert record == model.evals_result_
    with pytest.raises(TypeError, match="eval_result must be a dict, got list"):
        record_evaluation([])


# --- Messages -------------------------------------------------------------------------


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_messages_are_printed(capsys):
    model = fit(log_evaluation(3))
    values = [model.evals_result_[s]["l2"][2] for s in ("training", "valid_1")]
    first, second = lines(capsys)
    assert first == f"[3]\ttraining's l2: {values[0]:g}\tvalid_1's l2: {values[1]:g}"
    assert second.startswith("[6]\t")
    fit(log_evaluation(0))
    assert lines(capsys) == []


def test_messages_go_to_the_logger_where_it_is_set_up(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="skgoss"):
        fit(log_evaluation(3))
    assert [message[:3] for message in caplog.messages] == ["[3]", "[6]"]
    assert lines(capsys) == []


def test_early_stopping_tells_about_itself(capsys):
    options = {"n_estimators": 200, "learning_rate": 0.5}
    sets = {"eval_X": X[300:], "eval_y": Y[300:]}
    model = LGBMRegressor(**options)
    model.fit(X[:300], Y[:300], **sets, callbacks=[early_stopping(3)])
    first, second, third = lines(capsys)
    assert first == "Training until validation scores don't improve for 3 rounds"
    assert second == "Early stopping, best iteration is:"
    best = model.best_score_["valid_0"]["l2"]
    assert third == f"[{model.best_iteration_}]\tvalid_0's l2: {best:g}"
    quiet = LGBMRegressor(**options)
    quiet.fit(X[:300], Y[:300], **sets, callbacks=[early_stopping(3, verbose=False)])
    assert quiet.best_iteration_ == model.best_iteration_
    LGBMRegressor(early_stopping_round=3, **options).fit(X[:300], Y[:300], **sets)
    assert lines(capsys) == []
    told = LGBMRegressor(early_stopping_round=500, verbosity=1, **options)
    told.fit(X[:300], Y[:300], **sets)
    assert lines(capsys)[1] == "Did not meet early stopping. Best iteration is:"


@pytest.mark.parametrize(
    ("verbose", "expected"), [(True, 6), (4, 1), (False, 0), (-1, 0), (10**400, 0)]
)
def test_verbose_of_fit(verbose, expected, capsys):
    LGBMRegressor(n_estimators=6).fit(X, Y, **SETS, verbose=verbose)
    assert len(lines(capsys)) == expected


@pytest.mark.parametrize(("verbose", "talks"), [(1, True), (0, False), (-1, False)])
def test_verbose_of_early_stopping(verbose, talks, capsys):
    model = LGBMRegressor(n_estimators=6)
    model.fit(X, Y, **SETS, verbose=verbose, early_stopping_rounds=2)
    assert any("Did not meet" in line for line in lines(capsys)) is talks


def test_long_fits_show_a_bar_if_asked(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(skgoss.fit.callbacks, "SHORT_FIT", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    fit(verbosity=1, n_estimators=3)
    assert "valid_1's l2" in capsys.readouterr().out
    fit(verbosity=0, n_estimators=3)
    assert capsys.readouterr().out == ""

    def fail(env):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fit(fail, verbosity=1)


def test_the_bar_counts_the_rounds_of_this_fit(monkeypatch):
    shown = []
    bar = skgoss.fit.callbacks.ProgressBar()
    monkeypatch.setattr(
        skgoss.fit.callbacks._Bar, "show", lambda self, *given: shown.append(given)
    )
    for iteration in (4, 5):
        bar(env(iteration, 1.5, n=6)._replace(begin_iteration=4))
    assert [given[:2] for given in shown] == [(1, 2), (2, 2)]


def test_nothing_is_printed_without_being_asked(capfd):
    fit(verbosity=0)
    assert capfd.readouterr() == ("", "")


# --- Early stopping by itself ---------------------------------------------------------


def test_an_instance_serves_several_fits():
    callback = early_stopping(2, verbose=False)
    for _ in range(2):
        for i, value in enumerate([3.0, 2.0, 2.5]):
            callback(env(i, value))
        with pytest.raises(EarlyStopException) as stopped:
            callback(env(3, 2.0))
        assert stopped.value.best_iteration == 1


@pytest.mark.parametrize("none", [[], 0.0, [0.0]])
def test_without_min_delta_any_improvement_counts(none):
    callback = early_stopping(2, min_delta=none, verbose=False)
    for i, value in enumerate([3.0, 2.9, 2.8, 2.7]):
        callback(env(i, value))


def test_r2_is_better_when_higher():
    model = fit(early_stopping(2, verbose=False), metric="r2", n_estimators=20)
    assert model.best_iteration_ == 20


def test_bad_arguments():
    with pytest.raises(TypeError, match="stopping_rounds must be an int, got float"):
        early_stopping(2.5)
    assert fit(early_stopping(np.int64(2), verbose=False)).best_iteration_ == 6
    for bad in (-1.0, [0.1, -1.0], float("nan")):
        with pytest.raises(ValueError, match="min_delta must not be negative"):
            early_stopping(2, min_delta=bad)
    for bad in ("0.1", [None], None):
        with pytest.raises(TypeError, match="min_delta must be a number or a list"):
            early_stopping(2, min_delta=bad)
    for bad in (1.5, "2", True):
        with pytest.raises(TypeError, match="log_evaluation: period must be an int"):
            log_evaluation(bad)
    with pytest.raises(ValueError, match="2 values for the 1 metrics"):
        fit(early_stopping(2, min_delta=[0.1, 0.2]))
    with pytest.raises(ValueError, match="at least one dataset and eval metric"):
        fit(early_stopping(2), sets={})
    with pytest.raises(ValueError, match="at least one dataset and eval metric"):
        fit(early_stopping(2), metric="None")
    assert fit(early_stopping(0), sets={}).n_iter_ == 6


def test_callbacks_come_in_a_list():
    with pytest.raises(TypeError, match="callbacks must be a list of callables"):
        LGBMRegressor().fit(X, Y, callbacks=early_stopping(2))
    with pytest.raises(TypeError, match=r"must hold callables.*got int"):
        fit(3)


# --- Options that change --------------------------------------------------------------


def test_public_names():
    for name in skgoss.__all__:
        assert getattr(skgoss, name).__doc__


# --- Loggers --------------------------------------------------------------------------


class Kept:
    """A logger as scripts write it: with two methods."""

    def __init__(self):
        self.said = []

    def info(self, message):
        self.said.append(("info", message))

    def warning(self, message):
        self.said.append(("warning", message))

    def tell(self, message):
        self.said.append(("tell", message))


@pytest.mark.usefixtures("logger_as_it_was")
def test_messages_go_to_a_registered_logger(capsys):
    first, second = Kept(), Kept()
    skgoss.register_logger(first)
    skgoss.register_logger(second, info_method_name="tell")
    options = {"eval_set": [(X[:100], Y[:100])], "eval_names": ["v"]}
    LGBMRegressor(n_estimators=2).fit(X, Y, callbacks=[log_evaluation()], **options)
    logging.getLogger("skgoss").warning("careful")
    assert first.said == []
    assert [kind for kind, _ in second.said] == ["tell", "tell", "warning"]
    assert second.said[0][1].startswith("[1]\tv's l2: ")
    assert capsys.readouterr() == ("", "")


def test_a_logger_needs_its_methods(logger_as_it_was):
    with pytest.raises(TypeError, match="the methods 'info' and 'warn', which take"):
        skgoss.register_logger(Kept(), warning_method_name="warn")
    assert logger_as_it_was.handlers == []


def test_print_evaluation_is_log_evaluation(capsys):
    given = {"eval_set": [(X[:100], Y[:100])], "eval_names": ["v"]}
    callback = skgoss.print_evaluation(period=2, show_stdv=False)
    LGBMRegressor(n_estimators=4).fit(X, Y, callbacks=[callback], **given)
    assert [line[:3] for line in capsys.readouterr().out.splitlines()] == ["[2]", "[4]"]


@pytest.mark.parametrize("verbose", [False, 100])
def test_a_fit_copies_a_callback_once(verbose, monkeypatch, capsys):
    callback = early_stopping(3, verbose=False)
    kind, n_copies = type(callback), []

    def copied(self):
        n_copies.append(1)
        made = kind.__new__(kind)
        vars(made).update(vars(self))
        return made

    monkeypatch.setattr(kind, "__copy__", copied, raising=False)
    model = LGBMRegressor(n_estimators=2)
    model.fit(X, Y, eval_set=[(X[::2], Y[::2])], callbacks=[callback], verbose=verbose)
    assert len(n_copies) == 1


@pytest.mark.parametrize("names", ["valid_1", ["valid_1"], ["valid_0", "valid_1"]])
def test_sets_that_are_named_can_stop_the_fit(names):
    rng = np.random.default_rng(60)
    noise, signal = rng.standard_normal((2, 80))
    rows = X.std() * rng.standard_normal((80, X.shape[1]))
    sets = [(rows, noise), (X[300:], Y[300:]), (rows, signal)]
    stop = early_stopping(3, verbose=False, eval_names=names)
    model = LGBMRegressor(n_estimators=40).fit(
        X[:300], Y[:300], eval_set=sets, callbacks=[stop]
    )
    named = [names] if isinstance(names, str) else names
    best = {name: np.argmin(model.evals_result_[name]["l2"]) + 1 for name in named}
    assert model.best_iteration_ in best.values()
    everything = LGBMRegressor(n_estimators=40).fit(
        X[:300], Y[:300], eval_set=sets, callbacks=[early_stopping(3, verbose=False)]
    )
    assert (model.best_iteration_ > everything.best_iteration_) == (len(named) == 1)


def test_sets_to_stop_by_must_be_there():
    stop = early_stopping(3, eval_names=["valid_1", "valid"])
    sets = [(X, Y), (X[:50], Y[:50])]
    with pytest.raises(ValueError, match=r"has 'valid', but .* are training, valid_1"):
        LGBMRegressor(n_estimators=3).fit(X, Y, eval_set=sets, callbacks=[stop])


@pytest.mark.parametrize("show_stdv", [False, True])
def test_deviations_are_shown_if_asked_for(show_stdv, capsys):
    watch = skgoss.log_evaluation(1, show_stdv=show_stdv)
    options = {"objective": "regression", "num_iterations": 1}
    skgoss.cv(
        options, skgoss.Dataset(X, Y), nfold=2, stratified=False, callbacks=[watch]
    )
    said = capsys.readouterr()
    assert (" + " in said.out + said.err) == show_stdv
