"""Callbacks with LightGBM's names: what they see, what they do, what they say."""

from __future__ import annotations

import logging
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import skgoss
from skgoss import (
    LGBMRegressor,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.fit.callbacks import CallbackEnv, EarlyStopException, EvalResult

X, Y = load_diabetes(return_X_y=True)
SETS = {"eval_set": [(X, Y), (X[:100], Y[:100])]}
RNG = np.random.default_rng(4)


def fit(*callbacks, n_estimators=6, sets=SETS, **options):
    model = LGBMRegressor(n_estimators=n_estimators, **options)
    return model.fit(X, Y, **sets, callbacks=list(callbacks))


def test_what_a_callback_is_told():
    seen = []
    model = fit(seen.append)
    assert [env.iteration for env in seen] == list(range(6))
    last = seen[-1]
    assert (last.begin_iteration, last.end_iteration) == (0, 6)
    assert last.params["learning_rate"] == 0.1
    assert [r.dataset_name for r in last.evaluation_result_list] == [
        "training",
        "valid_1",
    ]
    name, metric, value, maximize = last.evaluation_result_list[0]
    assert (name, metric, maximize) == ("training", "l2", False)
    assert value == model.evals_result_["training"]["l2"][-1]
    assert last.model.current_iteration() == 6


def test_results_are_lightgbm_s():
    lightgbm = pytest.importorskip("lightgbm")
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


@pytest.mark.parametrize("boosting_type", ["gbdt", "dart", "rf"])
@pytest.mark.parametrize("sets", [SETS, {"eval_set": [(X[:100], Y[:100])]}])
def test_the_model_that_a_callback_is_told(boosting_type, sets):
    found = []

    def follow(env):
        model = env.model
        assert model.current_iteration() == model.num_trees() == env.iteration + 1
        assert model.num_model_per_iteration() == 1
        found.append([model.eval_train(), model.eval_valid()])

    options = {"subsample": 0.5, "subsample_freq": 1, "boosting_type": boosting_type}
    model = fit(follow, sets=sets, **options)
    whole = fit(n_estimators=6, **options).evals_result_
    for round_index, ((train,), (valid,)) in enumerate(found):
        assert train[:2] == ("training", "l2")
        np.testing.assert_allclose(train[2], whole["training"]["l2"][round_index])
        history = model.evals_result_[valid.dataset_name]["l2"]
        assert valid.metric_value == history[round_index]


def test_the_model_goes_on_from_another():
    seen = []
    fit(lambda env: seen.append(env.model.current_iteration()))
    LGBMRegressor(n_estimators=2).fit(
        X,
        Y,
        init_model=LGBMRegressor(n_estimators=6).fit(X, Y),
        callbacks=[lambda env: seen.append(env.model.current_iteration())],
    )
    assert seen == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_callback_may_change_options():
    def slow_down(env):
        assert env.model.reset_parameter({"eta": 0.5 / (env.iteration + 1)})

    slow_down.before_iteration = True
    rates = [0.5 / (i + 1) for i in range(6)]
    expected = fit(reset_parameter(learning_rate=rates)).predict(X)
    np.testing.assert_array_equal(fit(slow_down).predict(X), expected)


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


def raising(error, *, at=2, before=False):
    def callback(env):
        if env.iteration == at:
            raise error

    callback.before_iteration = before
    return callback


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
    assert not model.fitted_
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


def test_other_exceptions_with_a_round_are_errors():
    class Other(Exception):
        best_iteration, best_score = 1, []

    class EarlyStopException(Exception):  # of another library
        pass

    for error in (Other, EarlyStopException):
        with pytest.raises(error):
            fit(raising(error()))


# --- Callbacks of lightgbm ------------------------------------------------------------

APART = {"eval_set": [(X, Y), (X[:100], Y[:100] + RNG.normal(0, 90, 100))]}


@pytest.mark.parametrize("patience", [3, 500])
@pytest.mark.parametrize("options", [{}, {"first_metric_only": True}])
def test_early_stopping_of_lightgbm(patience, options):
    lightgbm = pytest.importorskip("lightgbm")
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


def test_messages_and_records_of_lightgbm(capsys):
    lightgbm = pytest.importorskip("lightgbm")
    record = {}
    model = fit(lightgbm.log_evaluation(2), lightgbm.record_evaluation(record))
    assert record == model.evals_result_
    assert [line[:3] for line in lines(capsys)] == ["[2]", "[4]", "[6]"]


def test_changed_options_by_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    schedule = {"learning_rate": [0.1, 0.2, 0.3, 0.1, 0.05, 0.2]}
    np.testing.assert_array_equal(
        fit(lightgbm.reset_parameter(**schedule)).predict(X),
        fit(reset_parameter(**schedule)).predict(X),
    )


def test_the_exception_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
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


def test_nothing_is_printed_without_being_asked(capfd):
    fit(verbosity=0)
    assert capfd.readouterr() == ("", "")


# --- Early stopping by itself ---------------------------------------------------------


def env(iteration, value, *, n=50, name="valid_0", maximize=False):
    results = [EvalResult(name, "m", value, maximize)]
    model = SimpleNamespace(_training_names=())
    return CallbackEnv(model, {}, iteration, 0, n, results)


def test_an_instance_serves_several_fits():
    callback = early_stopping(2, verbose=False)
    for _ in range(2):
        for i, value in enumerate([3.0, 2.0, 2.5]):
            callback(env(i, value))
        with pytest.raises(EarlyStopException) as stopped:
            callback(env(3, 2.0))
        assert stopped.value.best_iteration == 1


def test_higher_may_be_better():
    callback = early_stopping(2, verbose=False)
    for i, value in enumerate([0.3, 0.5, 0.4]):
        callback(env(i, value, maximize=True))
    with pytest.raises(EarlyStopException) as stopped:
        callback(env(3, 0.5, maximize=True))
    assert stopped.value.best_iteration == 1


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


def test_changed_options_are_those_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    schedule = {
        "learning_rate": [0.1, 0.2, 0.3, 0.1, 0.05, 0.2],
        "num_leaves": lambda i: 4 + 10 * i,
    }
    model = fit(reset_parameter(**schedule))
    theirs = lightgbm.LGBMRegressor(n_estimators=6, verbosity=-1).fit(
        X, Y, callbacks=[lightgbm.reset_parameter(**schedule)]
    )
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-6)


def test_a_value_that_stays_is_the_option():
    schedule = {"lambda_l2": lambda i: 5.0, "min_child_samples": [30] * 6}
    changed = fit(reset_parameter(**schedule))
    plain = fit(reg_lambda=5.0, min_child_samples=30)
    np.testing.assert_array_equal(changed.predict(X), plain.predict(X))


def test_changing_samples():
    sizes = []

    def watch(env):
        rows = env.model._fit.state.sampler.rows
        sizes.append(len(rows) / len(X))

    change = reset_parameter(subsample=lambda i: 0.2 + 0.1 * i)
    fit(change, watch, subsample=0.9, subsample_freq=1)
    np.testing.assert_allclose(sizes, 0.2 + 0.1 * np.arange(6), atol=0.08)


@pytest.mark.parametrize(
    "options",
    [
        {"subsample": 0.5, "subsample_freq": 4},
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    ],
)
def test_bags_and_forests_do_not_mind_a_changing_rate(options):
    rates = np.where(np.arange(6) % 2, 0.1, 0.1 + 1e-12)
    changed = fit(reset_parameter(eta=rates), **options)
    np.testing.assert_allclose(changed.predict(X), fit(**options).predict(X), rtol=1e-9)
    if options.get("boosting_type") == "rf":
        changed = fit(reset_parameter(learning_rate=lambda i: 0.01), **options)
        np.testing.assert_array_equal(changed.predict(X), fit(**options).predict(X))


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"learning_rate": [0.1]}, "'learning_rate' has 1 values for 6 rounds"),
        ({"learning_rate": 0.1}, "'learning_rate' must be a list of values or a func"),
        ({"learning_rate": [0.0] * 6}, "'learning_rate' parameter of reset_parameter"),
        ({"max_bin": [10] * 6}, "cannot change 'max_bin' during a fit"),
        ({"learning_rat": [10] * 6}, "cannot change 'learning_rat' during a fit"),
    ],
)
def test_bad_schedules(schedule, message):
    with pytest.raises(ValueError, match=message):
        fit(reset_parameter(**schedule))


def test_changed_options_do_not_contradict_each_other():
    with pytest.raises(ValueError, match=r"The sum of .* must be at most 1"):
        fit(reset_parameter(top_rate=[0.95] * 6), data_sample_strategy="goss")


def test_a_refit_follows_the_schedule():
    options = {"early_stopping_round": 50, "refit": True, "sets": {}}
    model = fit(reset_parameter(learning_rate=[0.01] * 6), **options)
    plain = fit(n_estimators=model.best_iteration_, learning_rate=0.01, sets={})
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


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
        twin = kind.__new__(kind)
        vars(twin).update(vars(self))
        return twin

    monkeypatch.setattr(kind, "__copy__", copied, raising=False)
    model = LGBMRegressor(n_estimators=2)
    model.fit(X, Y, eval_set=[(X[::2], Y[::2])], callbacks=[callback], verbose=verbose)
    assert len(n_copies) == 1
