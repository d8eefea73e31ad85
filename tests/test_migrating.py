"""docs/migrating.md, line by line: each line of its tables is a test of its name."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, GroupKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import skgoss
from skgoss import (
    EarlyStopException,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    early_stopping,
    log_evaluation,
    ndcg_scorer,
    parameters,
    record_evaluation,
    reset_parameter,
)
from skgoss._engine.training.sampling import one_side_sample

PAGE = Path(__file__).parents[1] / "docs" / "migrating.md"
X, Y = load_breast_cancer(return_X_y=True)
X_TRAIN, X_VAL, Y_TRAIN, Y_VAL = train_test_split(X, Y, random_state=0)
RX, RY = load_diabetes(return_X_y=True)
IX, IY = load_iris(return_X_y=True)
RNG = np.random.default_rng(12)
QID = np.repeat(np.arange(30), 10)
QX = RNG.normal(size=(300, 3))
GRADES = np.clip(np.rint(QX[:, 0] + 0.5 * RNG.normal(size=300) + 1), 0, 3)


def classifier(**options):
    return LGBMClassifier(**{"n_estimators": 5, "num_leaves": 7} | options)


def regressor(**options):
    return LGBMRegressor(**{"n_estimators": 5, "num_leaves": 7} | options)


def ranker(**options):
    return LGBMRanker(**{"n_estimators": 5, "min_child_samples": 5} | options)


def lines() -> list[str]:
    """The first cells of the tables' rows, as names of tests."""
    rows = re.findall(r"^\| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    words = (re.sub(r"[^0-9a-z_]+", "_", row.lower()) for row in rows if row != "what")
    return [f"test_{word.strip('_')}" for word in words]


def test_the_page_and_the_tests_name_the_same_lines():
    own = "test_the_page_and_the_tests_name_the_same_lines"
    tests = [name for name in globals() if name.startswith("test_") and name != own]
    assert lines() == tests


# --- Same -----------------------------------------------------------------------------


# A script for LightGBM before 4.0; only its import is changed.
SCRIPT = """
lgbm = LGBMClassifier(n_estimators=200)
params = {'max_depth': [10, 15, 20], 'min_child_samples': [20, 40, 60],
          'subsample': [0.8, 1]}
grid = GridSearchCV(lgbm, param_grid=params)
grid.fit(X_train, Y_train, early_stopping_rounds=100, eval_metric='auc',
         eval_set=[(X_train, Y_train), (X_val, Y_val)])
lgbm = LGBMClassifier(n_estimators=1000, num_leaves=50, subsample=0.8,
                      min_child_samples=60, max_depth=20)
lgbm.fit(X_train, Y_train, early_stopping_rounds=100, eval_metric='auc',
         eval_set=[(X_test, Y_test)], verbose=True)
"""


def test_modules():
    names = {}
    exec("from skgoss.sklearn import LGBMClassifier", names)
    exec("import skgoss.callback; stop = skgoss.callback.early_stopping(3)", names)
    model = names["LGBMClassifier"](n_estimators=200, num_leaves=7)
    model.fit(X_TRAIN, Y_TRAIN, eval_set=[(X_VAL, Y_VAL)], callbacks=[names["stop"]])
    assert 0 < model.best_iteration_ < 200

    exec("from skgoss.basic import Booster, Dataset, LightGBMError", names)
    assert skgoss.sklearn.LightGBMError is names["LightGBMError"]
    assert skgoss.basic.Sequence is skgoss.Sequence
    assert skgoss.engine.CVBooster is skgoss.CVBooster
    for name in ("train", "cv", "Booster", "Dataset"):
        assert getattr(skgoss.engine, name) is getattr(skgoss, name)
    exec("from skgoss.engine import train, cv, CVBooster", names)
    data = names["Dataset"](X_TRAIN, Y_TRAIN)
    assert isinstance(names["train"]({}, data, 2), names["Booster"])
    crossed = names["cv"]({}, data, 2, return_cvbooster=True)
    assert isinstance(crossed["cvbooster"], names["CVBooster"])
    with pytest.raises(names["LightGBMError"], match="num_leaves"):
        names["train"]({"num_leaves": 1}, data, 2)


PARAMS = {"objective": "binary", "metric": "auc", "verbose": -1}


def test_dataset_and_train():
    lightgbm = pytest.importorskip("lightgbm")
    seen = {}

    def error(predictions, dataset):
        wrong = (predictions > 0.5) != dataset.get_label()
        return "error", wrong.mean(), False

    for lgb in (lightgbm, skgoss):
        train = lgb.Dataset(X_TRAIN, label=Y_TRAIN)
        valid = lgb.Dataset(X_VAL, label=Y_VAL, reference=train)
        booster = lgb.train(PARAMS, train, 10, [valid], ["v"], feval=error)
        seen[lgb.__name__] = booster.best_score["v"]
    assert list(seen["skgoss"]) == list(seen["lightgbm"]) == ["auc", "error"]
    assert seen["skgoss"]["auc"] == pytest.approx(seen["lightgbm"]["auc"], abs=0.02)


def test_train_before_version_4(capsys):
    train, history = skgoss.Dataset(X_TRAIN, Y_TRAIN), {}
    booster = skgoss.train(
        PARAMS,
        train,
        300,
        valid_sets=[train, skgoss.Dataset(X_VAL, Y_VAL, reference=train)],
        early_stopping_rounds=5,
        verbose_eval=False,
        evals_result=history,
        learning_rates=lambda index: 0.3 / (index + 1),
    )
    assert len(history["valid_1"]["auc"]) == booster.best_iteration + 5
    assert capsys.readouterr().out == ""


def test_cv():
    lightgbm = pytest.importorskip("lightgbm")
    params = PARAMS | {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 5}
    theirs, ours = (
        lgb.cv(params, lgb.Dataset(X_TRAIN, Y_TRAIN), 5, nfold=3, seed=7)
        for lgb in (lightgbm, skgoss)
    )
    assert list(ours) == list(theirs) == ["valid auc-mean", "valid auc-stdv"]
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, atol=0.01)
    assert ours["auc-mean"] == ours["valid auc-mean"]


def test_a_booster_in_training():
    booster = skgoss.Booster(PARAMS, skgoss.Dataset(X_TRAIN, Y_TRAIN))
    booster.add_valid(booster.train_set.create_valid(X_VAL, Y_VAL), "v")
    assert booster.update() is False
    (first,) = booster.eval_valid()
    booster.reset_parameter({"learning_rate": 0.5})
    booster.update()
    assert booster.eval_valid() != [first]
    booster.rollback_one_iter()
    assert booster.eval_valid() == [first]
    assert booster.eval_train()[0][:2] == ("training", "auc")
    booster.free_dataset()
    assert booster.num_trees() == 1


def test_register_logger_and_print_evaluation(logger_as_it_was, capsys):
    said = []
    skgoss.register_logger(SimpleNamespace(info=said.append, warning=said.append))
    call = skgoss.print_evaluation(period=1)
    classifier().fit(X, Y, eval_set=[(X, Y)], callbacks=[call])
    assert said[0].startswith("[1]\ttraining's binary_logloss: ")
    assert capsys.readouterr().out == ""


def test_scripts_with_early_stopping_in_a_search():
    names = {"LGBMClassifier": LGBMClassifier, "GridSearchCV": GridSearchCV}
    names |= {"X_train": X_TRAIN[:200], "Y_train": Y_TRAIN[:200]}
    names |= {"X_val": X_VAL, "Y_val": Y_VAL, "X_test": X_VAL, "Y_test": Y_VAL}
    exec(SCRIPT, names)
    assert names["grid"].best_score_ > 0.9
    assert names["grid"].best_estimator_.best_iteration_ < 200
    assert names["lgbm"].best_iteration_ < 1000
    assert names["lgbm"].score(X_VAL, Y_VAL) > 0.9


def test_early_stopping_rounds_and_verbose_in_fit(capsys):
    model = classifier(n_estimators=40)
    model.fit(
        X_TRAIN,
        Y_TRAIN,
        eval_set=[(X_VAL, Y_VAL)],
        early_stopping_rounds=30,
        verbose=20,
    )
    said = capsys.readouterr().out
    assert "[20]\tvalid_0's binary_logloss: " in said
    assert "[19]" not in said
    assert model.best_iteration_ > 0


def test_lists_of_callbacks(capsys):
    found = {}
    model = classifier(n_estimators=200).fit(
        X_TRAIN,
        Y_TRAIN,
        eval_set=[(X_VAL, Y_VAL)],
        callbacks=[
            early_stopping(stopping_rounds=3, verbose=False),
            log_evaluation(period=0),
            record_evaluation(found),
            reset_parameter(learning_rate=lambda i: 0.3 * 0.99**i),
        ],
    )
    assert found == model.evals_result_
    assert model.best_iteration_ == len(found["valid_0"]["binary_logloss"]) - 3
    assert capsys.readouterr().out == ""


def test_callbacks_of_your_own():
    seen = []

    def before(env):
        seen.append((env.iteration, "before"))

    def after(env):
        ((name, metric, value, maximize, *_),) = env.evaluation_result_list
        seen.append((env.iteration, name, metric, maximize))
        assert value > 0
        if env.iteration == 1:
            raise EarlyStopException(1, env.evaluation_result_list)

    before.before_iteration = True
    model = classifier().fit(
        X_TRAIN, Y_TRAIN, eval_set=[(X_VAL, Y_VAL)], callbacks=[after, before]
    )
    metric = ("valid_0", "binary_logloss", False)
    assert seen == [(0, "before"), (0, *metric), (1, "before"), (1, *metric)]
    assert model.best_iteration_ == 2


def test_callbacks_of_lightgbm(capsys):
    lightgbm = pytest.importorskip("lightgbm")

    def fit(module, found):
        return classifier(n_estimators=200).fit(
            X_TRAIN,
            Y_TRAIN,
            eval_set=[(X_VAL, Y_VAL)],
            callbacks=[
                module.early_stopping(3, verbose=False),
                module.log_evaluation(period=10),
                module.record_evaluation(found),
                module.reset_parameter(learning_rate=lambda i: 0.3 * 0.99**i),
            ],
        )

    found, same = {}, {}
    theirs = fit(lightgbm, found)
    assert "[10]\tvalid_0's binary_logloss: " in capsys.readouterr().out
    ours = fit(skgoss, same)
    assert found == same == theirs.evals_result_
    assert 0 < theirs.best_iteration_ == ours.best_iteration_ < 200
    np.testing.assert_array_equal(theirs.predict_proba(X), ours.predict_proba(X))


def test_earlystopexception():
    def stop(env):
        if env.iteration == 2:
            raise EarlyStopException(1, [("valid_0", "own", 0.5, True)])

    model = classifier().fit(X, Y, eval_set=[(X_VAL, Y_VAL)], callbacks=[stop])
    assert model.best_iteration_ == model.n_iter_ == 2
    assert model.best_score_ == {"valid_0": {"own": 0.5}}


def test_results_in_callbacks():
    scores = []

    def prune(env):
        for result in env.evaluation_result_list:
            name, metric, value, maximize = result
            assert len(result) == 4
            scores.append((env.iteration, name, metric, value, maximize))

    model = classifier().fit(X, Y, eval_set=[(X, Y)], callbacks=[prune])
    history = model.evals_result_["training"]["binary_logloss"]
    named = ("training", "binary_logloss")
    assert scores == [(i, *named, value, False) for i, value in enumerate(history)]


def test_the_model_in_callbacks():
    seen = []

    def look(env):
        seen.append((env.model.current_iteration(), env.model.num_trees()))
        (train,), (valid,) = env.model.eval_train(), env.model.eval_valid()
        assert env.evaluation_result_list == [train, valid]
        env.model.reset_parameter({"learning_rate": 0.05})
        assert env.model.feature_importance().sum() > 0
        assert env.model.predict(X).shape == Y.shape

    classifier().fit(X, Y, eval_set=[(X, Y), (X_VAL, Y_VAL)], callbacks=[look])
    assert seen == [(i, i) for i in range(1, 6)]


def test_names_and_defaults():
    lightgbm = pytest.importorskip("lightgbm")
    for name in ("LGBMClassifier", "LGBMRegressor", "LGBMRanker"):
        theirs = inspect.signature(getattr(lightgbm, name)).parameters
        ours = inspect.signature(getattr(skgoss, name)).parameters
        for word, parameter in theirs.items():
            if word != "kwargs":
                assert ours[word].default == parameter.default
                assert ours[word].kind == parameter.kind


def test_arguments_of_fit_by_position():
    lightgbm = pytest.importorskip("lightgbm")
    for name in ("LGBMClassifier", "LGBMRegressor", "LGBMRanker", "LGBMModel"):
        theirs = inspect.signature(getattr(lightgbm, name).fit).parameters
        ours = inspect.signature(getattr(skgoss, name).fit).parameters
        ordered = [
            [word for word, p in its.items() if p.kind == p.POSITIONAL_OR_KEYWORD]
            for its in (theirs, ours)
        ]
        assert ordered[0] == ordered[1]


def test_aliases():
    lightgbm = pytest.importorskip("lightgbm")
    aliases = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    ours = {word for o in parameters.OPTIONS for word in o.names}
    for name, others in aliases.items():
        if name in ours:
            assert set(others) <= ours
    model = classifier(eta=0.3).set_params(max_leaf_nodes=5)
    assert (model.learning_rate, model.num_leaves) == (0.3, 5)
    search = GridSearchCV(classifier(), {"min_data_in_leaf": [10, 40]}, cv=2)
    assert search.fit(X, Y).best_estimator_.min_child_samples in (10, 40)


def test_two_names_of_one_option():
    assert LGBMClassifier(learning_rate=0.2, eta=0.2).learning_rate == 0.2
    with pytest.warns(skgoss.UnusedParameterWarning, match=r"sub_row=0\.6 is used"):
        assert LGBMClassifier(subsample=0.5, sub_row=0.6).subsample == 0.6
    with pytest.warns(skgoss.UnusedParameterWarning, match="n_jobs=1 is used"):
        assert LGBMClassifier(n_jobs=1, nthread=64_000).n_jobs == 1


def test_upper_case():
    plain = regressor(objective="rmse", metric="l1").fit(RX, RY, eval_set=[(RX, RY)])
    capitals = regressor(objective="RMSE", metric="L1", boosting_type="GBDT")
    capitals.fit(RX, RY, eval_set=[(RX, RY)])
    assert capitals.evals_result_ == plain.evals_result_
    assert capitals.objective_ == "regression"


def test_models():
    lightgbm = pytest.importorskip("lightgbm")
    ours = LGBMRegressor().fit(RX, RY).predict(RX)
    theirs = lightgbm.LGBMRegressor(verbose=-1).fit(RX, RY).predict(RX)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_shapes_of_predictions():
    numbers, two, many = (
        model.fit(*data)
        for model, data in (
            (regressor(), (RX, RY)),
            (classifier(), (X, Y)),
            (classifier(), (IX, IY)),
        )
    )
    assert numbers.predict(RX).shape == numbers.predict(RX, raw_score=True).shape
    assert numbers.predict(RX, pred_leaf=True).shape == (442, 5)
    assert two.predict_proba(X).shape == (569, 2)
    assert two.predict(X, raw_score=True).shape == two.decision_function(X).shape
    assert two.decision_function(X).shape == (569,)
    assert many.predict(IX, raw_score=True).shape == many.predict_proba(IX).shape
    assert many.predict_proba(IX, pred_leaf=True).shape == (150, 15)
    assert many.predict(IX).dtype == IY.dtype


def test_spans_of_rounds():
    model = regressor(boost_from_average=False).fit(RX, RY)
    parts = [model.predict(RX, start_iteration=s, num_iteration=2) for s in (0, 2, 4)]
    np.testing.assert_allclose(sum(parts), model.predict(RX))
    np.testing.assert_array_equal(
        model.predict(RX, num_iteration=-1), model.predict(RX)
    )


def test_history():
    model = classifier(metric="average_precision").fit(
        X_TRAIN,
        Y_TRAIN,
        eval_set=[(X_TRAIN, Y_TRAIN), (X_VAL, Y_VAL)],
        eval_metric=["auc", "logloss"],
    )
    assert (
        list(model.evals_result_)
        == list(model.best_score_)
        == [
            "training",
            "valid_1",
        ]
    )
    for metrics in model.evals_result_.values():
        assert list(metrics) == ["auc", "binary_logloss", "average_precision"]
        assert {len(values) for values in metrics.values()} == {5}
    auc = model.best_score_["valid_1"]["auc"]
    assert auc == model.evals_result_["valid_1"]["auc"][-1]


def test_the_best_round():
    options = {"n_estimators": 300, "learning_rate": 0.3}
    model = classifier(early_stopping_round=4, **options)
    model.fit(X_TRAIN, Y_TRAIN, eval_set=[(X_VAL, Y_VAL)])
    history = model.evals_result_["valid_0"]["binary_logloss"]
    best = int(np.argmin(history)) + 1
    assert model.best_iteration_ == model.n_estimators_ == model.n_iter_ == best
    assert model.best_score_["valid_0"]["binary_logloss"] == min(history)
    np.testing.assert_array_equal(
        model.predict_proba(X), model.predict_proba(X, num_iteration=best)
    )
    assert classifier().fit(X, Y).best_iteration_ == 0


def squares(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_true)


def weighted_squares(y_true, y_pred, weight):
    weight = np.ones_like(y_true) if weight is None else weight
    return (y_pred - y_true) * weight, weight


def squares_of_queries(y_true, y_pred, weight, group):
    assert sum(group) == len(y_true)
    return squares(y_true, y_pred)


def test_objectives_of_your_own():
    plain = regressor(boost_from_average=False).fit(RX, RY).predict(RX)
    for objective in (squares, weighted_squares):
        found = regressor(objective=objective).fit(RX, RY).predict(RX)
        np.testing.assert_allclose(found, plain)
    ranker(objective=squares_of_queries).fit(QX, GRADES, qid=QID)
    raw = classifier(objective=squares).fit(X, Y)
    with pytest.warns(UserWarning, match="Returning raw scores instead"):
        assert raw.predict_proba(X).shape == (569,)


def test_metrics_of_your_own():
    def two(y_true, y_pred):
        error = np.abs(y_true - y_pred)
        return [("largest", error.max(), False), ("median", np.median(error), False)]

    def weighed(y_true, y_pred, weight):
        return "weighed", np.average(y_true, weights=weight), True

    def by_query(y_true, y_pred, weight, group):
        return "queries", len(group), True

    model = regressor().fit(RX, RY, eval_set=[(RX, RY)], eval_metric=[two, weighed])
    assert list(model.best_score_["training"]) == ["l2", "largest", "median", "weighed"]
    model = ranker().fit(
        QX,
        GRADES,
        qid=QID,
        eval_set=[(QX, GRADES)],
        eval_qid=[QID],
        eval_metric=by_query,
    )
    assert model.best_score_["training"]["queries"] == 30


def test_init_score():
    first = regressor().fit(RX, RY)
    second = regressor().fit(RX, RY, init_score=first.predict(RX))
    whole = regressor(n_estimators=10).fit(RX, RY)
    np.testing.assert_allclose(
        first.predict(RX) + second.predict(RX), whole.predict(RX)
    )


def test_init_model(tmp_path):
    first = regressor().fit(RX, RY)
    both = regressor().fit(RX, RY, init_model=first)
    assert both.n_estimators_ == 10
    whole = regressor(n_estimators=10).fit(RX, RY)
    np.testing.assert_allclose(both.predict(RX), whole.predict(RX))
    first.booster_.save_model(tmp_path / "model.txt")
    for earlier in (first.booster_, tmp_path / "model.txt", f"{tmp_path}/model.txt"):
        again = regressor().fit(RX, RY, init_model=earlier)
        np.testing.assert_array_equal(again.predict(RX), both.predict(RX))


def test_files_of_models(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    booster, path = classifier().fit(X, Y).booster_, str(tmp_path / "model.txt")
    assert booster.save_model(path) is booster
    ours = skgoss.Booster(model_file=path)
    theirs = lightgbm.Booster(model_file=path)
    np.testing.assert_array_equal(ours.predict(X), booster.predict(X))
    np.testing.assert_allclose(theirs.predict(X), booster.predict(X), rtol=1e-14)
    text = lightgbm.train(
        {"verbosity": -1}, lightgbm.Dataset(X, Y), 5
    ).model_to_string()
    peer = lightgbm.Booster(model_str=text)
    for read in (skgoss.Booster(model_str=text), ours.model_from_string(text)):
        np.testing.assert_array_equal(read.predict(X), peer.predict(X))


def test_kinds_of_boosting():
    forest = {"subsample": 0.5, "subsample_freq": 1}
    for kind, options in (("gbdt", {}), ("dart", {}), ("rf", forest), ("goss", {})):
        model = regressor(boosting_type=kind, n_estimators=30, **options)
        assert model.fit(RX, RY).score(RX, RY) > 0.4


def test_linear_leaves():
    line = RNG.uniform(-1, 1, size=(300, 1))
    model = regressor(linear_tree=True, linear_lambda=1e-6, n_estimators=30)
    steps = regressor(n_estimators=30).fit(line, line[:, 0])
    assert model.fit(line, line[:, 0]).score(line, line[:, 0]) > steps.score(
        line, line[:, 0]
    )


def test_constraints():
    options = {"interaction_constraints": [[0, 1], [2]], "feature_contri": [1, 1, 0.5]}
    options["forcedsplits_filename"] = {"feature": 2, "threshold": 0.0}
    steps = np.linspace(-2, 2, 50)
    for method in ("basic", "intermediate", "advanced"):
        model = regressor(
            monotone_constraints=[1, -1, 0], monotone_constraints_method=method
        ).set_params(**options)
        model.fit(QX, QX @ [1.0, 1.0, 1.0])
        for column, sign in ((0, 1), (1, -1)):
            grid = np.zeros((50, 3))
            grid[:, column] = steps
            assert (sign * np.diff(model.predict(grid)) >= 0).all()
        assert all(tree.split_feature[0] == 2 for tree in model._model.trees.trees)


def test_feature_importances():
    model = classifier().fit(X, Y)
    counts = model.feature_importances_
    assert counts.sum() == sum(len(tree.threshold) for tree in model._model.trees.trees)
    gains = model.set_params(importance_type="gain").feature_importances_
    assert gains.dtype == np.float64
    np.testing.assert_array_equal(gains > 0, counts > 0)


def test_booster_and_booster():
    model = classifier().fit(X, Y)
    booster = model.booster_
    assert isinstance(booster, skgoss.Booster)
    np.testing.assert_array_equal(booster.predict(X), model.predict_proba(X)[:, 1])
    assert len(booster.dump_model()["tree_info"]) == booster.num_trees() == 5
    np.testing.assert_array_equal(
        booster.feature_importance(), model.feature_importances_
    )
    booster.set_leaf_output(0, 1, 3.0)
    assert booster.get_leaf_output(0, 1) == 3.0
    new = booster.refit(X[::2], Y[::2], decay_rate=0.5)
    np.testing.assert_array_equal(
        new.predict(X, pred_leaf=True), booster.predict(X, pred_leaf=True)
    )
    assert (new.predict(X) != booster.predict(X)).any()
    pytest.importorskip("pandas")
    n_leaves = np.diff(model._model.trees.leaf_start)
    assert len(booster.trees_to_dataframe()) == (2 * n_leaves - 1).sum()


def test_categorical_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    words = RNG.choice(["a", "b", "c"], size=300)
    frame = pandas.DataFrame({"w": pandas.Categorical(words)})
    model = regressor(n_estimators=100).fit(frame, (words == "b") * 1.0)
    np.testing.assert_allclose(model.predict(frame), words == "b", atol=1e-3)


def test_infinite_values():
    infinite = np.where(RX > 0.1, np.inf, RX)
    assert regressor().fit(infinite, RY).score(infinite, RY) > 0.2


def test_random_state_none():
    options = {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5}
    one, two = (regressor(**options).fit(RX, RY).predict(RX) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_flags_as_words():
    words = regressor(boost_from_average="false").fit(RX, RY).predict(RX)
    flag = regressor(boost_from_average=False).fit(RX, RY).predict(RX)
    np.testing.assert_array_equal(words, flag)


def test_options_without_effect():
    given = {"device": "gpu", "gpu_device_id": 0, "tree_learner": "serial"}
    given |= {"two_round": True, "num_class": 2, "silent": True}
    given |= {"task": "train", "is_training_metric": True, "metric_freq": 1}
    given |= {
        "force_row_wise": True,
        "deterministic": True,
        "feature_pre_filter": 0 > 1,
    }
    model = classifier(**given).fit(X, Y)
    np.testing.assert_array_equal(
        model.predict_proba(X), classifier().fit(X, Y).predict_proba(X)
    )


def test_options_of_predictions():
    model = classifier().fit(X, Y)
    expected = model.predict_proba(X)
    names = ["num_threads", "pred_early_stop", "predict_disable_shape_check"]
    for name in (*names, "num_iterations", "learning_rate"):
        np.testing.assert_array_equal(model.predict_proba(X, **{name: 1}), expected)


class Subclass(LGBMClassifier):
    def __init__(self, *, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.offset = offset


def test_pred_contrib():
    model = classifier().fit(X, Y)
    values = model.predict(X, pred_contrib=True)
    assert values.shape == (len(X), X.shape[1] + 1)
    np.testing.assert_allclose(values.sum(axis=1), model.predict(X, raw_score=True))
    many = classifier().fit(X, np.arange(len(X)) % 3)
    assert many.predict(X, pred_contrib=True).shape == (len(X), 3 * (X.shape[1] + 1))
    rows = csr_array(X)
    assert issparse(model.predict(rows, pred_contrib=True))
    assert len(many.predict(rows, pred_contrib=True)) == 3


def test_plots():
    lightgbm = pytest.importorskip("lightgbm")
    for name in ("plot_importance", "plot_metric", "plot_split_value_histogram"):
        ours, theirs = (inspect.signature(getattr(m, name)) for m in (skgoss, lightgbm))
        assert list(ours.parameters) == list(theirs.parameters)
    matplotlib = pytest.importorskip("matplotlib")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = classifier().fit(X, Y)
    with matplotlib.rc_context({"backend": "Agg"}):
        ax = skgoss.plot_importance(model)
    used = model.feature_importances_
    assert [bar.get_width() for bar in ax.patches] == sorted(used[used > 0])
    pyplot.close("all")


def test_pickle_and_clone():
    model = Subclass(offset=1.0, num_leaves=5).fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


class WithDefaults(LGBMRegressor):
    def __init__(self, *, learning_rate=0.5, alpha="of mine", **kwargs):
        self.alpha = alpha
        super().__init__(learning_rate=learning_rate, **kwargs)


def test_subclasses():
    assert WithDefaults().get_params()["learning_rate"] == 0.5
    for model in (WithDefaults(eta=0.3), clone(WithDefaults(eta=0.3))):
        assert (model.learning_rate, model.alpha) == (0.3, "of mine")


# --- Better ---------------------------------------------------------------------------


def test_threads():
    options = {"data_sample_strategy": "goss", "learning_rate": 0.9}
    one, two = (classifier(n_jobs=k, **options).fit(X, Y) for k in (1, 2))
    assert pickle.dumps(one._model.trees) == pickle.dumps(two._model.trees)


def test_min_child_samples():
    rare = RY > 250
    model = LGBMClassifier(min_child_weight=0.0, min_child_samples=17).fit(RX, rare)
    counts = [np.bincount(leaves) for leaves in model.predict(RX, pred_leaf=True).T]
    assert min(map(np.min, counts)) >= 17


def test_weights():
    copies = RNG.integers(0, 3, size=len(RY))
    options = {"min_child_samples": 1, "min_data_in_bin": 1}
    weighted = regressor(**options).fit(RX, RY, sample_weight=copies)
    repeated = regressor(**options).fit(np.repeat(RX, copies, 0), np.repeat(RY, copies))
    np.testing.assert_allclose(weighted.predict(RX), repeated.predict(RX))
    kept = regressor().fit(RX[copies > 0], RY[copies > 0])
    absent = regressor().fit(RX, RY, sample_weight=np.minimum(copies, 1))
    np.testing.assert_array_equal(absent.predict(RX), kept.predict(RX))


def test_silence(capfd):
    model = classifier(min_child_samples=400, subsample=0.5, boost_from_average=False)
    model.fit(X, Y, eval_set=[(X_VAL, Y_VAL)]).predict(X)
    assert capfd.readouterr() == ("", "")


def test_early_stopping_without_an_evaluation_set():
    model = classifier(
        n_estimators=500, early_stopping_round=5, validation_fraction=0.2
    )
    model.fit(X, Y)
    assert list(model.evals_result_) == ["validation"]
    assert 0 < model.best_iteration_ < 500


def test_early_stopping_in_pipelines():
    model = classifier(n_estimators=500, learning_rate=0.3, early_stopping_round=5)
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, Y)
    assert 0 < pipeline[-1].best_iteration_ < 500
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(model).set_fit_request(eval_X=True, eval_y=True)
        steps = [("scale", MinMaxScaler()), ("model", asking)]
        pipeline = Pipeline(steps, transform_input=["eval_X"])
        pipeline.fit(X_TRAIN, Y_TRAIN, eval_X=X_VAL, eval_y=Y_VAL)
    scale = MinMaxScaler().fit(X_TRAIN).transform
    alone = model.fit(scale(X_TRAIN), Y_TRAIN, eval_X=scale(X_VAL), eval_y=Y_VAL)
    assert pipeline[-1].evals_result_ == alone.evals_result_


def test_queries_of_single_rows():
    by_sizes = ranker().fit(QX, GRADES, group=[10] * 30)
    order = np.arange(300).reshape(30, 10).T.ravel()
    by_marks = ranker().fit(QX[order], GRADES[order], qid=QID[order])
    np.testing.assert_allclose(by_marks.predict(QX), by_sizes.predict(QX))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ranker().set_fit_request(qid=True),
            {"num_leaves": [3, 7]},
            cv=GroupKFold(3),
            scoring=ndcg_scorer(5),
        )
        search.fit(QX[order], GRADES[order], qid=QID[order], groups=QID[order])
    assert search.best_score_ > 0.8


def test_long_queries():
    n = 12_000
    features = RNG.normal(size=(n, 2))
    y = (features[:, 0] > 1).astype(int)
    model = ranker(n_estimators=3).fit(features, y, qid=np.zeros(n))
    assert model.score(features, y, qid=np.zeros(n)) > 0.9


def test_score_of_a_ranker():
    model = ranker().fit(QX, GRADES, qid=QID)
    assert 0.8 < model.score(QX, GRADES, qid=QID) < 1
    assert model.score(QX, GRADES, qid=QID) == ndcg_scorer(None)(
        model, QX, GRADES, qid=QID
    )


def test_misspelt_options():
    match = "'num_leafs': it has no effect. Did you mean 'num_leaf'"
    with pytest.warns(skgoss.UnusedParameterWarning, match=match):
        model = LGBMClassifier(num_leafs=7)
    assert clone(model).fit(X, Y).get_params()["num_leafs"] == 7
    with pytest.raises(ValueError, match="Invalid parameter 'num_leafs'"):
        LGBMClassifier().set_params(num_leafs=7)
    with pytest.raises(ValueError, match="Invalid parameter 'num_leafs'"):
        GridSearchCV(classifier(), {"num_leafs": [7]}, cv=2).fit(X, Y)


def test_unknown_metrics():
    with pytest.warns(skgoss.UnusedParameterWarning, match="Did you mean 'rmse'"):
        model = regressor(metric=["rsme", "l1"]).fit(RX, RY, eval_set=[(RX, RY)])
    assert list(model.evals_result_["training"]) == ["l1"]
    model = classifier(metric=["roc_auc", "log_loss"]).fit(X, Y, eval_set=[(X, Y)])
    assert list(model.evals_result_["training"]) == ["auc", "binary_logloss"]


def test_values_out_of_bounds():
    with pytest.raises(ValueError, match=r"'reg_alpha' .* range \[0, inf\). Got -1"):
        classifier(reg_alpha=-1).fit(X, Y)


def word_frames():
    pandas = pytest.importorskip("pandas")
    words = RNG.choice(["a", "b", "c"], size=300)
    return words, pandas.DataFrame({"w": words.astype(object), "x": np.arange(300)})


def test_columns_of_words():
    words, frame = word_frames()
    model = regressor(n_estimators=100, colsample_bytree=1.0).fit(frame, words == "b")
    reordered = frame.assign(w=frame["w"].astype("category"))
    np.testing.assert_array_equal(model.predict(frame), model.predict(reordered))
    np.testing.assert_allclose(model.predict(frame), words == "b", atol=1e-2)


def test_interactions():
    model = classifier().fit(X, Y)
    pairs = model.predict(X[:5], pred_interactions=True)
    values = model.predict(X[:5], pred_contrib=True)
    np.testing.assert_allclose(pairs.sum(axis=2), values, atol=1e-10)


def test_plots_of_shap():
    shap = pytest.importorskip("shap")
    assert isinstance(classifier().fit(X, Y).explain(X[:5]), shap.Explanation)


def test_onnx():
    pytest.importorskip("onnx")
    assert skgoss.to_onnx(classifier().fit(X, Y)).graph.node


def test_plots_of_trees():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"species": np.array(["Iris setosa", "rest"])[1 * (IY > 0)]}
    )
    model = regressor().fit(frame, IX[:, 2])
    assert "species = rest" in str(skgoss.draw_tree(model))


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    names = ['a "quoted": [name]', "a name {with spaces},", "naïve", "d"]
    frame = pandas.DataFrame(IX, columns=names)
    assert classifier().fit(frame, IY).feature_name_ == names


def test_order_of_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IX, columns=list("abcd"))
    model = classifier().fit(frame, IY)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[list("dcba")])


def test_large_integers():
    large = 2**40 + np.arange(100)[:, None]
    y = np.arange(100) % 2
    options = {"min_child_samples": 1, "min_data_in_bin": 1, "n_estimators": 50}
    model = classifier(num_leaves=100, **options).fit(large, y)
    np.testing.assert_array_equal(model.predict(large), y)


def test_sparse_matrices_of_integers():
    counts = RNG.poisson(0.5, size=(300, 4))
    model = regressor().fit(csr_array(counts), counts[:, 0])
    dense = regressor().fit(counts, counts[:, 0])
    np.testing.assert_array_equal(model.predict(counts), dense.predict(counts))


def test_failed_fits():
    model = classifier().fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(IX, np.where(IY > 1, np.nan, IY))
    assert vars(model) == before
    assert model.predict(X).shape == Y.shape


def test_estimators_in_files(tmp_path):
    words = np.array(["benign", "malign"])[Y]
    model = classifier().fit(X, words, eval_set=[(X, words)])
    model.to_file(tmp_path / "model.txt")
    again = LGBMClassifier.from_file(tmp_path / "model.txt")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert again.evals_result_ == model.evals_result_


def test_files_that_are_half_written(tmp_path, monkeypatch):
    path, model = tmp_path / "model.txt", classifier().fit(X, Y)
    model.to_file(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        classifier(n_estimators=9).fit(X, Y).to_file(path)
    assert path.read_bytes() == before


def test_saved_models():
    skops = pytest.importorskip("skops.io")
    model = classifier().fit(X, Y)
    model._model.trees.arrays["left_child"][0] = 1000
    trusted = ["skgoss.estimators.classifier.LGBMClassifier"]
    for load, saved in (
        (pickle.loads, pickle.dumps(model)),
        (lambda file: skops.loads(file, trusted=trusted), skops.dumps(model)),
    ):
        with pytest.raises(ValueError, match="node 0 of tree 0 has the children 1000"):
            load(saved)
    text = classifier().fit(X, Y).booster_.model_to_string()
    text = re.sub("(?m)^left_child=1 ", "left_child=0 ", text, count=1)
    with pytest.raises(ValueError, match=r"line \d+: .*child must be a later node"):
        skgoss.Booster(model_str=text)


def test_dask():
    theirs = pytest.importorskip("lightgbm").dask
    ours = pytest.importorskip("skgoss.dask", exc_type=ImportError)
    for name in ours.__all__:
        for method in ("__init__", "fit", "predict"):
            wanted, given = (
                set(
                    inspect.signature(getattr(getattr(module, name), method)).parameters
                )
                for module in (theirs, ours)
            )
            assert wanted - {"kwargs"} <= given


# --- Eleven bugs ----------------------------------------------------------------------


def test_labels_in_eval_y():
    expected = classifier().fit(X_TRAIN, Y_TRAIN, eval_X=X_VAL, eval_y=Y_VAL)
    for labels in (np.array(["benign", "malign"]), np.array([1, 2])):
        y = labels[Y_TRAIN]
        model = classifier().fit(X_TRAIN, y, eval_X=X_VAL, eval_y=labels[Y_VAL])
        assert model.evals_result_ == expected.evals_result_
        model = classifier().fit(X_TRAIN, y, eval_X=X_TRAIN, eval_y=y)
        assert list(model.evals_result_) == ["training"]


def test_r2_as_a_metric():
    model = regressor(n_estimators=50, metric="r2", early_stopping_round=3)
    model.fit(RX[:300], RY[:300], eval_X=RX[300:], eval_y=RY[300:])
    history = model.evals_result_["valid_0"]["r2"]
    assert model.best_iteration_ == np.argmax(history) + 1 > 5


def test_raw_scores_of_a_forest():
    options = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    model = regressor(**options).fit(RX, RY)
    raw = model.predict(RX, raw_score=True)
    np.testing.assert_array_equal(raw, model.predict(RX))
    model = classifier(**options).fit(X, Y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(expit(model.decision_function(X)), p)
    np.testing.assert_allclose(expit(model.predict(X, raw_score=True)), p)


def test_words_in_polars_and_arrow():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    words, frame = word_frames()
    columns = {"w": words.tolist(), "x": np.arange(300)}
    strings = polars.DataFrame(columns)
    dictionary = pyarrow.array(columns["w"]).dictionary_encode()
    expected = regressor().fit(frame, words == "b").predict(frame)
    for held in (
        strings,
        strings.with_columns(polars.col("w").cast(polars.Categorical)),
        strings.with_columns(polars.col("w").cast(polars.Enum(["c", "b", "a"]))),
        pyarrow.table({"w": dictionary, "x": columns["x"]}),
        pyarrow.table(columns),
    ):
        model = regressor().fit(held, words == "b")
        np.testing.assert_array_equal(model.predict(held), expected)


def test_missing_targets_beside_a_data_frame():
    pandas = pytest.importorskip("pandas")
    missing = np.where(RY > 300, np.nan, RY)
    for model in (regressor(), classifier()):
        with pytest.raises(ValueError, match="Input y contains NaN"):
            model.fit(pandas.DataFrame(RX), missing)


IGNORED = {
    "learning_rate": ("eta", "shrinkage_rate"),
    "num_leaves": ("max_leaves", "max_leaf", "num_leaf", "max_leaf_nodes"),
    "reg_alpha": ("l1_regularization",),
    "reg_lambda": ("l2_regularization",),
    "min_child_samples": ("min_data_per_leaf",),
    "min_child_weight": ("min_sum_hessian_per_leaf",),
    "n_jobs": ("nthread", "nthreads", "num_thread"),
}


def test_ignored_aliases():
    for name, aliases in IGNORED.items():
        for alias in aliases:
            model = LGBMClassifier(**{alias: 3})
            assert getattr(model, name) == 3
            assert model.get_params() == LGBMClassifier(**{name: 3}).get_params()


def test_the_list_in_eval_metric():
    metrics = ["logloss", "error"]
    model = classifier().fit(X, Y, eval_set=[(X, Y)], eval_metric=metrics)
    assert metrics == ["logloss", "error"]
    assert list(model.best_score_["training"]) == ["binary_logloss", "binary_error"]


def test_history_of_a_model_that_ends_early():
    model = regressor(n_estimators=50, min_split_gain=1e6)
    model.fit(RX, RY, eval_set=[(RX, RY)])
    assert len(model.evals_result_["training"]["l2"]) == model.n_estimators_ < 50


def test_the_training_set_alone_with_two_metrics():
    model = classifier(early_stopping_round=2, metric=["auc", "binary_logloss"])
    with pytest.warns(UserWarning, match="early stopping is off"):
        model.fit(X, Y, eval_set=[(X, Y)])
    assert (model.best_iteration_, model.n_estimators_) == (0, 5)


def test_weights_of_queries_without_relevant_documents():
    features, grades = QX[:20], np.r_[np.zeros(10), GRADES[10:20]]
    weight = np.repeat([3.0, 1.0], 10)
    model = ranker(eval_at=3).fit(
        QX,
        GRADES,
        qid=QID,
        eval_set=[(features, grades), (features[10:], grades[10:])],
        eval_group=[[10, 10], [10]],
        eval_sample_weight=[weight, None],
    )
    both, alone = (model.best_score_[f"valid_{i}"]["ndcg@3"] for i in (0, 1))
    assert both == pytest.approx((3 + alone) / 4)


def test_max_drop_0():
    options = {"boosting_type": "dart", "drop_rate": 1.0, "uniform_drop": True}
    options |= {"skip_drop": 0.0, "n_estimators": 8}
    none, many, one = (
        regressor(max_drop=k, **options).fit(RX, RY).predict(RX) for k in (0, 1000, 1)
    )
    np.testing.assert_array_equal(none, many)
    assert (none != one).any()


# --- Different ------------------------------------------------------------------------


def test_verbosity(capsys):
    assert LGBMClassifier().verbosity == -1
    model = classifier(verbose=1, early_stopping_round=2)
    model.fit(X_TRAIN, Y_TRAIN, eval_set=[(X_VAL, Y_VAL)])
    said = capsys.readouterr().out
    assert said.startswith(
        "Training until validation scores don't improve for 2 rounds"
    )
    assert "Best iteration is:\n[5]\tvalid_0's binary_logloss: " in said


def test_eval_set():
    one = classifier().fit(X_TRAIN, Y_TRAIN, eval_set=[(X_VAL, Y_VAL)])
    two = classifier().fit(X_TRAIN, Y_TRAIN, eval_X=X_VAL, eval_y=Y_VAL)
    assert one.evals_result_ == two.evals_result_


def test_a_ranker_without_queries():
    whole = ranker().fit(QX, GRADES).predict(QX)
    np.testing.assert_array_equal(
        whole, ranker().fit(QX, GRADES, group=[300]).predict(QX)
    )


def test_one_class():
    model = classifier().fit(X, np.repeat("only", len(X)))
    np.testing.assert_allclose(model.predict_proba(X), np.ones((len(X), 1)))
    assert set(model.predict(X)) == {"only"}


def test_weights_and_objectives_of_two_arguments():
    weight = RNG.integers(1, 4, size=len(RY))
    # Limits of leaves know hessians, of which weights are a part or not.
    free = {"min_child_samples": 1}
    two = regressor(objective=squares, **free).fit(RX, RY, sample_weight=weight)
    three = regressor(objective=weighted_squares, **free)
    three.fit(RX, RY, sample_weight=weight)
    np.testing.assert_allclose(two.predict(RX), three.predict(RX), rtol=1e-6)
    plain = regressor(objective=squares, **free).fit(RX, RY)
    assert np.abs(two.predict(RX) - plain.predict(RX)).max() > 1


def test_class_weight_balanced():
    weight = np.where(Y == 0, 4.0, 1.0)
    balanced = classifier(class_weight="balanced").fit(X, Y, sample_weight=weight)
    mass = np.bincount(Y, weight)
    by_hand = classifier().fit(
        X, Y, sample_weight=(weight.sum() / 2 / mass)[Y] * weight
    )
    np.testing.assert_allclose(balanced.predict_proba(X), by_hand.predict_proba(X))


def test_class_weight_of_a_regressor():
    with pytest.raises(ValueError, match="there are no classes"):
        regressor(class_weight="balanced").fit(RX, RY)


def test_negative_weights():
    with pytest.raises(ValueError, match="Negative values in data passed to"):
        regressor().fit(RX, RY, sample_weight=-np.ones(len(RY)))


def test_multiclass_of_two_classes():
    with pytest.raises(ValueError, match="cannot be used for 2 classes"):
        classifier(objective="multiclass", num_class=2).fit(X, Y)


def test_samples_of_rows_and_columns():
    options = {"subsample": 0.5, "subsample_freq": 1, "n_estimators": 1}
    model = regressor(**options).fit(RX, RY)
    counts = next(iter(model._model.trees.trees)).leaf_count
    assert abs(counts.sum() - len(RX) / 2) < 60
    other = regressor(bagging_seed=1, **options).fit(RX, RY)
    assert (model.predict(RX) != other.predict(RX)).any()


def test_sampling_by_goss():
    g = np.array([[0.9, 0.8, 0.5, 0.4, 0.1, 0.2]], dtype=np.float32)
    rows = one_side_sample(g, g * (1 - g), None, 2, 1, 0, 0, 1)
    assert {0, 1} <= set(rows.tolist())  # by g h they would be 2 and 3


def log_loss_of_scores(y_true, y_pred):
    probability = expit(y_pred)
    return probability - y_true, probability * (1 - probability)


def test_metrics_of_custom_objectives():
    sets = {"eval_set": [(X, Y)], "eval_metric": ["logloss", "error", "auc"]}
    model = classifier(objective=log_loss_of_scores).fit(X, Y, **sets)
    with pytest.warns(UserWarning, match="raw scores"):
        p = expit(model.predict(X))
    found = model.best_score_["training"]
    loss = -np.log(np.where(Y == 1, p, 1 - p)).mean()
    assert found["binary_logloss"] == pytest.approx(loss)
    assert found["binary_error"] == pytest.approx(np.mean((p > 0.5) != Y))
    usual = classifier(boost_from_average=False).fit(X, Y, **sets)
    for name, value in usual.best_score_["training"].items():
        assert found[name] == pytest.approx(value)


def test_the_same_metric_name_twice():
    def own(y_true, y_pred):
        return "l2", -np.mean((y_true - y_pred) ** 2), True

    model = regressor(metric="l2")
    with pytest.warns(UserWarning, match=r"'l2 \(2\)'"):
        model.fit(RX, RY, eval_set=[(RX, RY)], eval_metric=own)
    history = model.evals_result_["training"]
    assert list(history) == ["l2", "l2 (2)"]
    assert history["l2 (2)"] == pytest.approx([-value for value in history["l2"]])


def least_leaf(model):
    """The smallest sum of hessians and the smallest count of a leaf."""
    trees = list(model._model.trees.trees)
    return [
        min(getattr(tree, name).min() for tree in trees)
        for name in ("leaf_weight", "leaf_count")
    ]


def test_limits_of_leaves():
    options = {"n_estimators": 60, "num_leaves": 31, "min_child_weight": 0.0}
    limited = classifier(min_child_samples=20, **options).fit(X, Y)
    for tree in limited._model.trees.trees:
        average = tree.internal_weight[0] / tree.internal_count[0]
        for child in (tree.left_child[0], tree.right_child[0]):
            weight = tree.internal_weight if child >= 0 else tree.leaf_weight
            assert weight[max(child, ~child)] >= 19.5 * average * (1 - 1e-3)
    free = classifier(min_child_samples=1, **options).fit(X, Y)
    assert least_leaf(limited)[1] >= 20
    assert least_leaf(free)[1] == 1
    assert least_leaf(free)[0] < 0.1 * least_leaf(limited)[0]


def test_long_steps():
    def largest(start, **options):
        options = {"learning_rate": 1.0, "n_estimators": 1, **options}
        model = classifier(objective="binary", min_child_samples=1, **options)
        model.fit(X, Y, init_score=np.full(len(X), start))
        return np.abs(next(iter(model._model.trees.trees)).leaf_value).max()

    # Gradients near 1 beside hessians near exp(-9); a Newton step is 8,000 long.
    options = {"min_child_weight": 0.0}
    assert 5 < largest(-9.0, **options) < 10
    forest = {"boosting_type": "rf", "colsample_bytree": 0.5}
    assert largest(-9.0, **forest, **options) > 1000


def test_explainers_of_shap():
    shap = pytest.importorskip("shap")
    model = classifier().fit(X, Y)
    with pytest.raises(Exception, match="not yet supported by TreeExplainer"):
        shap.TreeExplainer(model)
    explainer = shap.TreeExplainer(model.booster_.trees_for_shap())
    values = model.predict(X[:5], pred_contrib=True)
    np.testing.assert_allclose(explainer.shap_values(X[:5]), values[:, :-1], atol=1e-10)
    np.testing.assert_allclose(explainer.expected_value, values[0, -1])
    np.testing.assert_array_equal(model.explain(X[:5]).values, values[:, :-1])


def test_feature_name_of_fit():
    model = classifier().fit(IX, IY, feature_name=list("abcd"))
    assert model.feature_name_ == list("abcd")
    assert not hasattr(model, "feature_names_in_")
