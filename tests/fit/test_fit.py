"""One fit: warnings, the options that it uses, and the file of its model."""

import warnings
from functools import partial
from threading import Event

import numpy as np
import pytest

import skgoss
from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    cv,
    early_stopping,
    train,
)
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.fit.time_limit import TimeLimit
from skgoss.utils import messages

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0]
MESSAGE = "No tree of the fit has a split, so it has learned nothing: "
FEW = "both sides of a split need min_child_samples=20 rows, and there are"


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    assert all(warning.filename == __file__ for warning in found)
    return [str(warning.message) for warning in found]


NO_GAIN = {"min_split_gain": 1e9}
ROOT = "the root is not split because of"
NO_SPLIT = (
    "no split of the 200 rows reduces the loss. Options that limit splits:"
    " min_child_samples=20, min_child_weight=0.001, min_split_gain=1000000000.0,"
    " reg_alpha=1000000000.0."
)


@pytest.mark.parametrize(
    ("options", "features", "y", "reason"),
    [
        ({}, X[:39], Y[:39], f"{FEW} 39 rows. Set min_child_samples to a lower number"),
        ({}, 0.0 * X, Y, "every column is constant, or fewer than min_child_samples=2"),
        ({}, X, 0.0 * Y, "all targets are equal."),
        (NO_GAIN | {"min_child_samples": 5}, X, Y, f"{ROOT} min_split_gain=1000000000"),
        (NO_GAIN | {"reg_alpha": 1e9}, X, Y, NO_SPLIT),
        (
            {"interaction_constraints": [[1]]},
            X * [1, 0],
            Y,
            f"{ROOT} interaction_const",
        ),
    ],
)
def test_the_reason(options, features, y, reason):
    [message] = told(lambda: LGBMRegressor(n_estimators=3, **options).fit(features, y))
    assert message.startswith(MESSAGE + reason)


@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("folds", [None, 3])
def test_the_limit_that_binds_is_named(objective, folds):
    model = LGBMRegressor(objective=objective, n_estimators=3, folds=folds)
    small = np.exp(Y) * 1e-12
    messages = told(lambda: model.fit(X, small))
    if objective == "gamma":  # its hessians do not depend on the scale
        assert messages == []
        return
    [message] = messages
    assert message.endswith("the root is not split because of min_child_weight=0.001.")
    assert told(lambda: model.set_params(min_child_weight=0.0).fit(X, small)) == []


def test_the_limit_of_an_output_is_not_that_of_a_later_one():
    targets = np.column_stack([np.exp(Y) * 1e-9, np.exp(Y)])
    model = LGBMRegressor(objective="poisson", n_estimators=3)
    [message] = told(lambda: model.fit(X, targets))
    assert "column 0 of y" in message
    assert "the root is not split because of min_child_weight=0.001" in message


def test_the_limit_of_an_output_is_named():
    targets = np.column_stack([np.exp(Y), np.exp(Y) * 1e-9])
    model = LGBMRegressor(objective="poisson", n_estimators=3)
    [message] = told(lambda: model.fit(X, targets))
    assert "column 1 of y" in message
    assert "the root is not split because of min_child_weight=0.001" in message


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: LGBMClassifier(n_estimators=3).fit(X, np.arange(len(y)) % 3),
        lambda X, y: LGBMRanker(n_estimators=3).fit(X, np.arange(len(y)) % 3),
        lambda X, y: LGBMRegressor(n_estimators=3, boosting_type="dart").fit(X, y),
        lambda X, y: LGBMRegressor(early_stopping_round=1, refit=True).fit(X, y),
        lambda X, y: LGBMRegressor(n_estimators=3, folds=3).fit(X, y),
        lambda X, y: skgoss.train({}, skgoss.Dataset(X, y), 3),
        lambda X, y: skgoss.cv({}, skgoss.Dataset(X, y), 3, stratified=False),
    ],
)
def test_one_warning_for_each_fit(fit):
    [message] = told(lambda: fit(X[:15], Y[:15]))
    assert message.startswith(MESSAGE + FEW)
    assert told(lambda: fit(X, Y)) == []


def test_twice_min_child_samples_are_enough_rows():
    rows = np.repeat([0.0, 1.0], 20)
    assert told(lambda: LGBMRegressor(n_estimators=1).fit(rows[:, None], rows)) == []


@pytest.mark.parametrize(
    ("objective", "option"), [("huber", "alpha"), ("fair", "fair_c")]
)
@pytest.mark.parametrize("options", [{}, {"folds": 3}, {"boost_from_average": False}])
def test_losses_that_are_linear_for_nearly_all_errors(objective, option, options):
    target = 1e6 * Y
    model = LGBMRegressor(objective=objective, n_estimators=20, **options)
    message, *more = told(lambda: model.fit(X, target))
    assert all("min_child_weight" in other for other in more)
    assert f"{option}=" in message
    advice = float(message.rpartition("=")[2].rstrip("."))
    start = 0 if "boost_from_average" in options else target.mean()
    assert advice == pytest.approx(np.quantile(abs(target - start), 0.9), rel=0.1)
    model.set_params(**{option: advice})
    assert told(lambda: model.fit(X, target)) == []
    assert model.score(X, target) > 0.8
    model.set_params(**{option: 1.0})
    assert told(lambda: model.fit(X, Y)) == []


def test_scales_of_several_targets_and_of_start_scores():
    model = LGBMRegressor(objective="huber", n_estimators=2)
    [message] = told(lambda: model.fit(X, np.column_stack([Y, 1e6 * Y])))
    assert "alpha=0.9" in message
    assert told(lambda: model.fit(X, 1e6 * Y, init_score=1e6 * Y + 0.1 * Y)) == []


def test_later_rounds():
    model = LGBMRegressor(n_estimators=3).fit(X, Y)
    later = LGBMRegressor(n_estimators=2)
    [message] = told(lambda: later.fit(X[:15], Y[:15], init_model=model))
    assert message.startswith(MESSAGE)
    stump = LGBMRegressor(n_estimators=2).fit(X[:15], Y[:15])
    assert told(lambda: later.fit(X, Y, init_model=stump)) == []


def test_rounds_that_end_when_all_is_learned():
    features = np.repeat([[0.0], [1.0]], 50, axis=0)
    model = LGBMRegressor(n_estimators=3, learning_rate=1.0)
    assert told(lambda: model.fit(features, features[:, 0])) == []
    assert model.n_estimators_ < 3


# --- Options --------------------------------------------------------------------------


def test_early_stopping_asks_for_the_least_improvement():
    options = {"n_estimators": 30, "early_stopping_round": 2}
    given = {"eval_set": [(X, Y), (X[:50], Y[:50])]}
    model = LGBMRegressor(early_stopping_min_delta=1e9, **options).fit(X, Y, **given)
    assert (model.best_iteration_, len(model.evals_result_["valid_1"]["l2"])) == (1, 3)
    assert LGBMRegressor(**options).fit(X, Y, **given).best_iteration_ > 3


def worse_from_round_to_round(name="own"):
    """A metric whose best round is the first one."""
    values = iter(range(1000))
    return lambda y, predicted: (name, float(next(values)), False)


BY_FIRST = [
    {"callbacks": [early_stopping(5, first_metric_only=True, verbose=False)]},
    {"first_metric_only": True, "early_stopping_round": 5},
]


@pytest.mark.parametrize("way", BY_FIRST)
@pytest.mark.parametrize(
    ("passed", "metric", "name"),
    [
        ([worse_from_round_to_round], None, "own"),
        ([worse_from_round_to_round, "l1"], None, "own"),
        # A built-in metric may be called like the function.
        ([partial(worse_from_round_to_round, "l2")], None, "l2"),
        (["l1", worse_from_round_to_round], None, None),
        ([worse_from_round_to_round], "l1", None),
        ([worse_from_round_to_round, "l1"], "rmse", None),
    ],
)
def test_the_first_metric_is_the_first_that_was_passed(way, passed, metric, name):
    options, given = dict(way), {}
    if "callbacks" in options:
        given["callbacks"] = options.pop("callbacks")
    functions = [item() if callable(item) else item for item in passed]
    rows = X[:50], X[:50, 0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Several metrics have the same name")
        model = LGBMRegressor(n_estimators=30, metric=metric, **options).fit(
            X, Y, eval_set=[rows], eval_metric=functions, **given
        )
    history = model.evals_result_["valid_0"]
    if name is None:
        assert model.best_iteration_ > 1
    else:
        assert model.best_iteration_ == 1
        assert len(history[name]) == 6


def test_functions_of_train_and_cv_are_first_if_no_metric_is_named():
    calls = [early_stopping(5, first_metric_only=True, verbose=False)]
    data = Dataset(X, Y)
    n_kept = []
    for params in ({}, {"metric": "l2"}):
        values = iter(range(1000))
        function = partial(lambda of, p, d: ("own", float(next(of)), False), values)
        booster = train(
            {"objective": "l2", **params},
            data,
            30,
            valid_sets=[data.create_valid(X[:50], Y[:50])],
            feval=function,
            callbacks=calls,
        )
        of_folds = iter(range(1000))
        function = partial(lambda of, p, d: ("own", float(next(of)), False), of_folds)
        results = cv(params, data, 30, nfold=2, feval=function, callbacks=calls)
        n_kept.append((booster.best_iteration, len(results["valid own-mean"])))
    assert n_kept[0] == (1, 1)
    assert min(n_kept[1]) > 1


def test_early_stopping_by_unknown_metrics_is_refused():
    rows = {"eval_set": [(X[:50], Y[:50])]}
    stopped = {"callbacks": [early_stopping(5)]}
    message = "metric 'f1' is not known, so early stopping would use other metrics"
    for options, given in (
        ({"early_stopping_round": 5}, {"eval_metric": "f1"}),
        ({"early_stopping_round": 5}, {"eval_metric": ["l1", "f1"]}),
        ({"early_stopping_round": 5, "metric": "f1"}, {}),
        ({}, {"eval_metric": "f1"} | stopped),
        ({"objective": "quantile", "alpha": [0.2, 0.5], "metric": "f1"}, stopped),
    ):
        with pytest.raises(ValueError, match=message):
            LGBMRegressor(n_estimators=3, **options).fit(X, Y, **rows, **given)
    for given in ({}, {"callbacks": [early_stopping(0)]}):
        with pytest.warns(skgoss.UnusedParameterWarning, match="has no effect"):
            LGBMRegressor(n_estimators=3).fit(X, Y, **rows, eval_metric="f1", **given)


def test_unknown_metrics_are_tolerated_where_skgoss_stands_for_lightgbm(monkeypatch):
    stands = Event()
    stands.set()
    monkeypatch.setattr(messages, "STANDS_FOR_LIGHTGBM", stands)
    model = LGBMRegressor(n_estimators=3, early_stopping_round=5)
    given = {"eval_set": [(X[:50], Y[:50])], "eval_metric": "f1"}
    [message] = told(lambda: model.fit(X, Y, **given))
    assert message.endswith("It has no effect.")
    assert list(model.evals_result_["valid_0"]) == ["l2"]


def test_evaluation_sets_without_the_start_scores_that_the_training_set_has():
    scores, options = np.full(len(Y), 9.0), {"n_estimators": 3}
    model = LGBMRegressor(**options)
    [message] = told(
        lambda: model.fit(X, Y, init_score=scores, eval_set=[(X, Y), (X[:50], Y[:50])])
    )
    assert "evaluation set 'valid_1' has none" in message
    assert message.endswith("Pass eval_init_score.")
    data = Dataset(X, Y, init_score=scores)
    sets = [data.create_valid(X[:50], Y[:50])]
    [message] = told(lambda: train({}, data, 3, valid_sets=sets))
    assert message.endswith("Pass the init_score of its Dataset.")
    given = {"eval_set": [(X[:50], Y[:50])], "eval_init_score": [scores[:50]]}
    assert told(lambda: model.fit(X, Y, init_score=scores, **given)) == []
    assert told(lambda: model.fit(X, Y, eval_set=given["eval_set"])) == []


def test_a_refit_of_one_round_has_one_tree():
    options = {"early_stopping_round": 2, "early_stopping_min_delta": 1e9}
    model = LGBMRegressor(**options, refit=True).fit(X, Y)
    assert model.booster_.num_trees() == 1
    again = LGBMRegressor(n_estimators=1).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize(("n_rounds", "is_reached"), [(1, False), (2, True)])
def test_the_last_round_ends_without_a_limit(n_rounds, is_reached):
    model = LGBMRegressor(n_estimators=n_rounds, time_limit=1e-9)
    messages = told(lambda: model.fit(X, Y))
    assert (len(messages), model.time_limit_reached_) == (is_reached, is_reached)
    assert model.n_iter_ == 1


def test_models_in_training_are_made_once_for_each_state():
    booster = skgoss.Booster({"num_leaves": 4}, skgoss.Dataset(X, Y))
    fit = booster._fit
    models = []
    for change in (booster.update, lambda: booster.reset_parameter({"num_leaves": 3})):
        change()
        models += [fit.model_so_far(), fit.model_so_far()]
    assert models[0] is models[1] is not models[2] is models[3]
    assert models[0].trees is models[2].trees


def test_a_fit_uses_what_a_preset_has_chosen():
    model, given = LGBMRegressor(), FitArguments()
    settings = model._settings(X, given)
    fit = model._start(input_sets(X, Y, given, settings), given, settings)
    fit.choose({"num_leaves": 5, "early_stopping_round": 3})
    assert fit.settings.num_leaves == 5
    assert fit.data.preset_params == {"num_leaves": 5, "early_stopping_round": 3}
    assert [call.stopping_rounds for call in fit.calls] == [3]


def test_a_fit_that_ctrl_c_has_ended_has_reached_its_limit():
    model, given = LGBMRegressor(), FitArguments()
    settings = model._settings(X, given)
    fit = model._start(input_sets(X, Y, given, settings), given, settings)
    fit.limit = TimeLimit(None, Event())
    assert told(lambda: fit.tell_of_interrupt("a test")) == []
    fit.limit.interrupted.set()
    with pytest.warns(UserWarning, match="Ctrl-C ended a test"):
        fit.tell_of_interrupt("a test")
    assert fit.limit.results() == {"is_limit_reached": True}
    assert not fit.limit.interrupted.is_set()


def test_options_change_between_rounds():
    booster = skgoss.Booster({"num_leaves": 4}, skgoss.Dataset(X, Y))
    booster.update()
    booster.reset_parameter({"num_leaves": 3, "learning_rate": 0.5})
    booster.update()
    booster.reset_parameter({"num_leaves": 2})
    booster.update()
    trees = booster.trees_to_dataframe()
    is_leaf = trees["split_feature"].isna()
    assert is_leaf.groupby(trees["tree_index"]).sum().tolist() == [4, 3, 2]
    assert booster.params["num_leaves"] == 2


# --- Files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "targets", "words"),
    [
        ("l2", np.column_stack([Y, -Y]), "regression"),
        ("poisson", np.column_stack([np.exp(Y), np.exp(-Y)]), None),
        ("binary", np.column_stack([Y > 0, X[:, 1] > 0]), "multiclassova num_class:2 "),
    ],
)
def test_files_name_an_objective_whose_links_lightgbm_has(objective, targets, words):
    kind = LGBMClassifier if objective == "binary" else LGBMRegressor
    model = kind(objective=objective, n_estimators=2).fit(X, targets)
    lines = model.booster_.model_to_string().splitlines()
    found = [line for line in lines if line.startswith("objective=")]
    expected = [] if words is None else [f"objective={words}"]
    assert len(found) == len(expected)
    assert all(line.startswith(w) for line, w in zip(found, expected, strict=True))
