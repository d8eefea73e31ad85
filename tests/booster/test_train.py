"""train: what it does with its arguments, and that LightGBM does the same."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import skgoss
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
    UnusedParameterWarning,
    cv,
    train,
)

RNG = np.random.default_rng(0)
N = 400
# Few values, each of which has a bin.
X = np.round(RNG.normal(size=(N, 5)), 1)
SIGNAL = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=N)
BINARY = (SIGNAL > 0) * 1.0
THREE = np.digitize(SIGNAL, [-0.5, 0.5]) * 1.0
WEIGHT = RNG.integers(1, 4, N) * 1.0
SIZES = np.full(N // 20, 20)
GRADES = np.clip(np.rint(SIGNAL + 1), 0, 4)
TRAIN, VALID = slice(0, 300), slice(300, N)
SMALL = {"num_leaves": 7, "verbosity": -1}
# LightGBM estimates the number of rows in a leaf, and rounds gains: few splits are
# found alike.
COMPARABLE = SMALL | {"num_leaves": 3, "min_data_in_leaf": 1, "min_data_in_bin": 1}


def dataset(y=SIGNAL, rows=TRAIN, module=skgoss, **fields):
    return module.Dataset(X[rows], label=y[rows], **fields)


def fitted(params=None, y=SIGNAL, rounds=5, **arguments):
    return train(SMALL | (params or {}), dataset(y), rounds, **arguments)


def both(params, y, rounds=5, fields=None, names=("valid_0",), **arguments):
    """Train with lightgbm and with skgoss, on one evaluation set.

    Returns the two histories and the two models.
    """
    lightgbm = pytest.importorskip("lightgbm")
    results = []
    for module in (lightgbm, skgoss):
        given = {k: v[TRAIN] for k, v in (fields or {}).items()}
        rows = dataset(y, module=module, **given)
        given = {k: v[VALID] for k, v in (fields or {}).items()}
        valid = dataset(y, VALID, module, reference=rows, **given)
        history = {}
        model = module.train(
            COMPARABLE | params,
            rows,
            rounds,
            valid_sets=[valid],
            valid_names=list(names),
            callbacks=[module.record_evaluation(history)],
            **arguments,
        )
        results.append((history, model))
    (theirs, their_model), (ours, our_model) = results
    return theirs, ours, their_model, our_model


def assert_same_history(theirs, ours, rtol=1e-4):
    assert list(theirs) == list(ours)
    for name, metrics in theirs.items():
        assert list(metrics) == list(ours[name])
        for metric, values in metrics.items():
            np.testing.assert_allclose(ours[name][metric], values, rtol=rtol)


# --- Options --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "y", "estimator"),
    [
        ({}, SIGNAL, LGBMRegressor()),
        ({"objective": "binary"}, BINARY, LGBMClassifier()),
        ({"objective": "multiclass", "num_class": 3}, THREE, LGBMClassifier()),
        ({"app": "mae", "bagging_freq": 1, "sub_row": 0.5}, SIGNAL, LGBMRegressor()),
    ],
)
def test_the_models_of_the_estimators(params, y, estimator):
    names = {"app": "objective", "bagging_freq": "subsample_freq"}
    names |= {"sub_row": "subsample"}
    options = {names.get(k, k): v for k, v in params.items() if k != "num_class"}
    estimator.set_params(num_leaves=7, n_estimators=5, **options)
    estimator.fit(X[TRAIN], y[TRAIN])
    np.testing.assert_array_equal(
        fitted(params, y).predict(X, raw_score=True),
        estimator.booster_.predict(X, raw_score=True),
    )


@pytest.mark.parametrize(
    "word",
    ["num_iterations", "n_estimators", "num_trees", "nrounds", "num_boost_round"],
)
def test_rounds_in_params_win(word):
    params = {word: 3}
    assert fitted(params).current_iteration() == 3
    assert params == {word: 3}


def test_names_of_one_option_with_different_values():
    params = {"n_estimators": 4, "num_iterations": 3, "num_trees": 2}
    with pytest.warns(UnusedParameterWarning, match="train got different values"):
        assert fitted(params).current_iteration() == 3
    # As in LightGBM, the main name decides, and not that of the estimators.
    params = {"objective": "l1", "application": "l2"}
    with pytest.warns(UnusedParameterWarning, match="objective='l1' is used"):
        assert fitted(params)._model.objective == "regression_l1"


def test_words_for_numbers_and_flags():
    params = {"learning_rate": "0.3", "seed": "5", "boost_from_average": "false"}
    numbers = {"learning_rate": 0.3, "seed": 5, "boost_from_average": False}
    np.testing.assert_array_equal(fitted(params).predict(X), fitted(numbers).predict(X))
    multi = {"objective": "softmax", "num_classes": "3"}
    assert fitted(multi, THREE).num_model_per_iteration() == 3


def test_options_without_effect():
    params = {
        **{"device": "cpu", "num_machines": 2, "save_binary": True, "task": "train"},
        **{"is_provide_training_metric": True, "is_training_metric": True},
        **{"silent": 1, "importance_type": "gain", "tree_learner": "data"},
    }
    np.testing.assert_array_equal(fitted(params).predict(X), fitted().predict(X))
    with pytest.warns(UnusedParameterWarning, match=r"device='gpu' .* run on CPUs"):
        fitted({"device": "gpu"})


@pytest.mark.parametrize(
    "word", ["learnnig_rate", "verbose_eval", "booster", "use_best_model"]
)
def test_unknown_names(word):
    with pytest.warns(UnusedParameterWarning, match=f"train has no parameter .{word}"):
        fitted({word: 1})


def test_class_weights_have_no_effect():
    with pytest.warns(UnusedParameterWarning, match="'class_weight'.*weights"):
        fitted({"class_weight": "balanced"})
    fitted({"class_weight": None})


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"num_leaves": 31.5}, ValueError, "'num_leaves' parameter of train"),
        ({"num_leaves": "many"}, ValueError, "'num_leaves' parameter of train"),
        ({"n_iter": 0}, ValueError, "'n_estimators' parameter of train"),
        ({"num_class": 0}, ValueError, "'num_class' parameter of train"),
        ({"num_class": "x"}, ValueError, "'num_class' parameter of train"),
        ({"objective": "multiclass"}, ValueError, "needs num_class, the number"),
        ({"objective": "binary", "num_class": 2}, ValueError, "needs num_class=1"),
        ({"objective": "lossy"}, ValueError, "'lossy' is not known"),
        ({"objective": "lambdarank"}, ValueError, "pass their sizes to the Dataset"),
        ({"objective": "none"}, ValueError, "pass a function that returns the grad"),
        ({"boosting": "rf"}, ValueError, "'rf' of train needs"),
        ([("num_leaves", 7)], TypeError, "params must be a dict, got list"),
        ({3: 4}, TypeError, "parameters of train have names, got 3"),
    ],
)
def test_bad_options(params, error, match):
    with pytest.raises(error, match=match):
        train(params, dataset(), 5)


def test_no_options_at_all():
    expected = train({}, dataset(), 5).predict(X)
    np.testing.assert_array_equal(train(None, dataset(), 5).predict(X), expected)


def test_labels_of_classes():
    params = {"objective": "multiclass", "num_class": 3}
    with pytest.raises(ValueError, match=r"numbers 0 to 2 for num_class=3, got 3"):
        fitted(params, THREE + 1)
    with pytest.raises(ValueError, match=r"label must .* 0 and 1 .*got 2\..*unique"):
        fitted({"objective": "binary"}, THREE)
    with pytest.raises(ValueError, match=r"label must hold the numbers -1 and 1 .*0\."):
        fitted({"objective": "binary"}, THREE - 1)


# --- Sets -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"train_set": X}, "train_set of train must be a Dataset, got numpy"),
        ({"valid_sets": [(X, SIGNAL)]}, r"valid_sets\[0\] must be a Dataset"),
        ({"valid_sets": dataset(), "valid_names": [3]}, "valid_names must be a list"),
        ({"valid_sets": 5}, r"valid_sets\[0\] must be a Dataset, got int"),
        ({"verbose_eval": "warn"}, "verbose_eval must be a bool or an int, got str"),
        ({"feval": "auc"}, "feval must be a function or a list .* got 'auc'"),
        ({"feval": [max, 3]}, "feval must be a function or a list of functions"),
        ({"fobj": "binary"}, "fobj must be a function, got 'binary'"),
    ],
)
def test_types_of_arguments(given, match):
    with pytest.raises(TypeError, match=match):
        train(**{"params": {}, "train_set": dataset()} | given)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"train_set": Dataset(X)}, "label of train_set is None"),
        ({"valid_sets": [dataset(), Dataset(X)]}, r"label of valid_sets\[1\] is None"),
        (
            {
                "train_set": Dataset(X, GRADES, group=SIZES),
                "valid_sets": Dataset(X, GRADES),
            },
            r"valid_sets\[0\] must have a group",
        ),
        ({"num_boost_round": 0}, "num_boost_round must be an int >= 1, got 0"),
        ({"num_boost_round": 2.5}, "num_boost_round must be an int >= 1, got 2.5"),
        (
            {"valid_sets": [dataset(), dataset()], "valid_names": ["a", "a"]},
            "valid_names must differ, got 'a' twice",
        ),
    ],
)
def test_bad_sets(given, match):
    with pytest.raises(ValueError, match=match):
        train(**{"params": {}, "train_set": dataset()} | given)


def test_names_of_sets():
    rows, valid, other = dataset(), dataset(rows=VALID), dataset(rows=slice(0, 50))
    for given, names, expected in (
        (valid, None, {"valid_0"}),
        (valid, "eval", {"eval"}),
        ((rows, valid), ("fit", "val"), {"fit", "val"}),
        ([rows, valid], None, {"training", "valid_1"}),
        ([valid, rows, other], ["val"], {"val", "training", "valid_2"}),
        ([rows, rows, valid], None, {"training", "valid_2"}),
    ):
        model = train(SMALL, rows, 2, given, names)
        assert set(model.best_score) == expected
    with pytest.warns(UserWarning, match="valid_names has 2 names for 1"):
        train(SMALL, rows, 2, valid, ["a", "b"])


@pytest.mark.parametrize("first", ["training", "valid"])
def test_the_training_set_among_the_sets(first, lightgbm):
    histories = []
    for module in (lightgbm, skgoss):
        rows = dataset(BINARY, module=module)
        sets = [rows, dataset(BINARY, VALID, module, reference=rows)]
        history = {}
        module.train(
            COMPARABLE | {"objective": "binary", "metric": ["auc", "binary_logloss"]},
            rows,
            6,
            valid_sets=sets if first == "training" else sets[::-1],
            callbacks=[module.record_evaluation(history)],
        )
        histories.append(history)
    assert_same_history(*histories)


# --- Functions ------------------------------------------------------------------------


def log_loss(predictions, rows):
    p = 1 / (1 + np.exp(-predictions))
    return p - rows.get_label(), p * (1 - p)


def softmax(predictions, rows):
    e = np.exp(predictions - predictions.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    own = rows.get_label()[:, None] == np.arange(p.shape[1])
    return p - own, 2 * p * (1 - p)


def least(predictions, rows):
    return "least", float(predictions.min()), False


def several(predictions, rows):
    total = float((predictions * rows.get_label()).sum())
    return [("a b", total, True), ("c", float(rows.num_data()), False)]


def weighted(predictions, rows):
    assert predictions.flags.writeable
    return "weighted", float((predictions * rows.get_weight()).sum()), True


@pytest.mark.parametrize(
    "metric", [None, "None", "", ["auc", "l2"], {"auc"}, "auc,binary_logloss"]
)
def test_functions_as_metrics(metric):
    given = {} if metric is None else {"metric": metric}
    params = {"objective": "binary"} | given
    theirs, ours, *_ = both(
        params, BINARY, feval=[least, several, weighted], fields={"weight": WEIGHT}
    )
    assert_same_history(theirs, ours)


class Metric:
    def __call__(self, *given):
        return least(*given)


@pytest.mark.parametrize(
    "feval", [Metric(), lambda p, d, factor=1.0: least(p, d), least]
)
def test_any_callable_is_a_metric(feval):
    model = fitted(feval=feval, valid_sets=dataset(rows=VALID))
    assert set(model.best_score["valid_0"]) == {"l2", "least"}


@pytest.mark.parametrize(
    ("params", "y"),
    [
        ({"objective": log_loss, "metric": ["auc", "binary_logloss", "l2"]}, BINARY),
        ({"objective": log_loss}, BINARY),
    ],
)
def test_objectives_of_ones_own(params, y):
    """Gradients are not weighted; metrics are computed on raw scores."""
    theirs, ours, their_model, our_model = both(
        params, y, feval=least, fields={"weight": WEIGHT}
    )
    assert_same_history(theirs, ours)
    np.testing.assert_allclose(our_model.predict(X), their_model.predict(X), rtol=1e-3)


@pytest.mark.parametrize("metric", ["None", "multi_error"])
def test_objectives_of_ones_own_for_classes(metric):
    def flat(predictions, rows):
        return [part.ravel(order="F") for part in softmax(predictions, rows)]

    def shape(predictions, rows):
        assert predictions.shape == (rows.num_data(), 3)
        hits = predictions.argmax(axis=1) == rows.get_label()
        return "hits", float(hits.mean()), True

    params = {"objective": softmax, "num_class": 3, "metric": metric}
    theirs, ours, *_ = both(params, THREE, feval=shape)
    assert_same_history(theirs, ours)
    columns = fitted(params | {"objective": flat}, THREE).predict(X)
    np.testing.assert_array_equal(columns, fitted(params, THREE).predict(X))


def test_rows_of_weight_zero_are_not_seen_by_functions():
    weight = WEIGHT * (RNG.random(N) < 0.7)
    there = weight[VALID] > 0
    seen = []

    def count(predictions, rows):
        seen.append((len(predictions), rows.num_data(), rows.get_label().sum()))
        return "n", float(len(predictions)), True

    def objective(predictions, rows):
        assert (rows.get_weight() > 0).all()
        return log_loss(predictions, rows)

    valid = dataset(BINARY, VALID, weight=weight[VALID])
    rows = dataset(BINARY, weight=weight[TRAIN])
    model = train(SMALL | {"objective": objective}, rows, 4, valid, feval=count)
    n = there.sum()
    assert seen == [(n, n, BINARY[VALID][there].sum())] * 4
    at = np.flatnonzero(weight[TRAIN])
    part = Dataset(X[at], BINARY[at], weight=weight[at])
    other = train(SMALL | {"objective": objective}, part, 4)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_two_classes_with_a_tree_for_each(objective):
    params = {"objective": objective, "num_class": 2}
    theirs, ours, their_model, our_model = both(params, BINARY)
    assert_same_history(theirs, ours)
    assert our_model.num_model_per_iteration() == 2
    np.testing.assert_allclose(our_model.predict(X), their_model.predict(X), rtol=1e-3)


@pytest.mark.parametrize(
    ("params", "y"),
    [
        ({"metric": {"l2", "l1"}}, SIGNAL),
        ({"metrics": "mean_squared_error"}, SIGNAL),
        ({"objective": "RMSE", "metric": "RMSE"}, SIGNAL),
        ({"metric": "auc"}, BINARY),
        ({"objective": "tweedie"}, np.exp(SIGNAL)),
    ],
)
def test_spellings_of_metrics(params, y, lightgbm):
    histories = []
    for module in (lightgbm, skgoss):
        rows = dataset(y, module=module)
        valid = dataset(y, VALID, module, reference=rows)
        model = module.train(COMPARABLE | params, rows, 5, [valid])
        histories.append(model.best_score)
    theirs, ours = (history["valid_0"] for history in histories)
    assert dict(theirs) == pytest.approx(ours, rel=1e-4)


def test_metrics_that_are_none():
    valid = dataset(rows=VALID)
    with pytest.warns(UnusedParameterWarning, match="'accuracy' is not known"):
        model = fitted({"metric": "accuracy"}, valid_sets=valid)
    assert model.best_score == {}


# --- Arguments of LightGBM before version 4 -------------------------------------------


def compared(old, modern):
    """Train with old arguments here, with their modern form here and in LightGBM."""
    models = []
    lightgbm = pytest.importorskip("lightgbm")
    for module, given in ((skgoss, old), (skgoss, modern(skgoss)), (lightgbm, modern)):
        given = given(module) if callable(given) else given
        rows = dataset(BINARY, module=module)
        valid = dataset(BINARY, VALID, module, reference=rows)
        params = COMPARABLE | {"objective": "binary"} | given.pop("params", {})
        models.append(module.train(params, rows, 12, [valid], **given))
    old_model, new_model, theirs = models
    np.testing.assert_array_equal(old_model.predict(X), new_model.predict(X))
    np.testing.assert_allclose(theirs.predict(X), new_model.predict(X), rtol=1e-3)
    return models


def test_early_stopping_rounds():
    def modern(module):
        return {"callbacks": [module.early_stopping(2, verbose=False)]}

    models = compared({"early_stopping_rounds": 2}, modern)
    assert len({model.best_iteration for model in models}) == 1
    both_given = fitted(
        {"early_stopping_round": 2, "eta": 0.9, "n_iter": 99},
        valid_sets=dataset(rows=VALID),
        early_stopping_rounds=50,
    )
    assert 0 < both_given.best_iteration < 50


@pytest.mark.parametrize("rates", [[0.3] * 4 + [0.05] * 8, lambda i: 0.3 * 0.9**i])
def test_learning_rates(rates):
    compared(
        {"learning_rates": rates},
        lambda m: {"callbacks": [m.reset_parameter(learning_rate=rates)]},
    )


def test_fobj():
    compared({"fobj": log_loss}, lambda module: {"params": {"objective": log_loss}})


def test_evals_result(capsys):
    history, expected = {"old": {}}, {}
    call = skgoss.record_evaluation(expected)
    fitted(valid_sets=dataset(rows=VALID), evals_result=history, callbacks=[call])
    assert history == expected
    assert len(history["valid_0"]["l2"]) == 5
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("given", "n_lines"), [(True, 5), (2, 2), (False, 0), (None, 0), (0, 0), (-1, 0)]
)
def test_verbose_eval(given, n_lines, capsys):
    fitted(valid_sets=dataset(rows=VALID), verbose_eval=given)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == n_lines
    assert all("valid_0's l2: " in line for line in lines)


def test_verbose_eval_with_early_stopping(capsys):
    fitted(valid_sets=dataset(rows=VALID), verbose_eval=4, early_stopping_rounds=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Training until validation scores don't improve for 3 rounds"
    assert lines[1].startswith("[4]\tvalid_0's l2: ")


def test_names_and_categories_of_columns():
    numbers = np.column_stack([X[:, 0], RNG.integers(0, 9, N)])
    y = SIGNAL + np.sin(5.0 * numbers[:, 1])
    names = {"feature_name": ["x", "kind"], "categorical_feature": ["kind"]}
    old = train(SMALL, Dataset(numbers, y), 5, **names)
    new = train(SMALL, Dataset(numbers, y, **names), 5)
    assert old.feature_name() == ["x", "kind"]
    assert new.params["categorical_feature"] == ["kind"]
    for of_none in ("auto", None):
        dataset = Dataset(numbers, y, categorical_feature=of_none)
        assert "categorical_feature" not in train(SMALL, dataset, 1).params
    assert "==" in set(old.trees_to_dataframe()["decision_type"])
    np.testing.assert_array_equal(old.predict(numbers), new.predict(numbers))
    for word in ("categorical_feature", "cat_feature"):
        by_params = train(SMALL | {word: [1]}, Dataset(numbers, y), 5)
        np.testing.assert_array_equal(by_params.predict(numbers), new.predict(numbers))


# --- Models that are continued --------------------------------------------------------

KINDS = [
    ({}, SIGNAL),
    ({"objective": "multiclass", "num_class": 3}, THREE),
    ({"bagging_freq": 2, "bagging_fraction": 0.6, "feature_fraction": 0.7}, SIGNAL),
    ({"objective": log_loss}, BINARY),
]


@pytest.mark.parametrize(("params", "y"), KINDS)
def test_two_halves_are_the_whole(params, y, tmp_path):
    whole = fitted(params, y, 8)
    first = fitted(params, y, 5)
    path = tmp_path / "model.txt"
    first.save_model(path)
    for earlier in (first, path, str(path)):
        both_halves = fitted(params, y, 3, init_model=earlier)
        assert both_halves.current_iteration() == 8
        np.testing.assert_array_equal(both_halves.predict(X), whole.predict(X))


def test_what_an_earlier_model_may_be(lightgbm):
    estimator = LGBMClassifier(n_estimators=3).fit(X, BINARY.astype(str))
    more = fitted({"objective": "binary"}, BINARY, 4, init_model=estimator)
    assert more.current_iteration() == 7
    theirs = lightgbm.train(SMALL, dataset(module=lightgbm), 3)
    with pytest.raises(TypeError, match=r"init_model must be .*got lightgbm.basic"):
        fitted(init_model=theirs)
    ours = Booster(model_str=theirs.model_to_string())
    assert fitted(init_model=ours).current_iteration() == 8


def test_earlier_models_of_other_data():
    narrow = train({}, Dataset(X[:, :3], SIGNAL), 2)
    with pytest.raises(ValueError, match=r"5 features, but .* is expecting 3"):
        fitted(init_model=narrow)
    with pytest.raises(ValueError, match="init_model has 1 trees per round, but 3"):
        fitted({"objective": "multiclass", "num_class": 3}, THREE, init_model=fitted())
    rows = dataset()
    model = train(SMALL, rows, 3)
    with pytest.raises(ValueError, match="with init_model: its data were freed"):
        train(SMALL, rows, 3, init_model=model)
    rows = dataset(free_raw_data=False)
    model = train(SMALL, rows, 3)
    np.testing.assert_array_equal(
        train(SMALL, rows, 3, init_model=model).predict(X), fitted(rounds=6).predict(X)
    )


# --- Estimators of models -------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "y", "labels"),
    [
        ({"objective": "binary"}, BINARY, ["no", "yes"]),
        ({"objective": "multiclass", "num_class": 3}, THREE, ["a", "b", "c"]),
        ({"objective": "multiclassova", "num_class": 2}, BINARY, ["no", "yes"]),
    ],
)
def test_classifiers_of_models(params, y, labels):
    model = fitted(params, y)
    classifier = LGBMClassifier.from_booster(model, classes=labels)
    assert classifier.num_leaves == 7
    assert classifier.classes_.tolist() == labels
    p = model.predict(X)
    proba = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    np.testing.assert_array_equal(classifier.predict_proba(X), proba)
    expected = np.array(labels)[proba.argmax(axis=1)]
    np.testing.assert_array_equal(classifier.predict(X), expected)
    unnamed = LGBMClassifier.from_booster(model)
    assert unnamed.classes_.tolist() == list(range(len(labels)))


def test_other_estimators_of_models():
    rows = Dataset(X, label=GRADES, group=SIZES)
    model = train(SMALL | {"objective": "lambdarank"}, rows, 5)
    ranker = LGBMRanker.from_booster(model)
    np.testing.assert_array_equal(ranker.predict(X), model.predict(X))
    direct = LGBMRanker(num_leaves=7, n_estimators=5).fit(X, GRADES, group=SIZES)
    np.testing.assert_array_equal(ranker.predict(X), direct.predict(X))
    model = fitted({"objective": "poisson"}, np.exp(SIGNAL))
    regressor = LGBMRegressor.from_booster(model)
    assert regressor.get_params()["objective"] == "poisson"
    np.testing.assert_array_equal(regressor.predict(X), model.predict(X))
    several = fitted({"objective": "multiclass", "num_class": 3}, THREE)
    assert LGBMModel.from_booster(several).predict(X).shape == (N, 3)


def test_models_forget_functions():
    model = fitted(
        {"objective": lambda *given: log_loss(*given), "metric": ["auc", least]},
        BINARY,
        valid_sets=dataset(BINARY, VALID),
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="known objective"):
        model.refit(X, BINARY)
    classifier = LGBMClassifier.from_booster(model)
    with pytest.warns(UserWarning, match="raw scores"):
        np.testing.assert_array_equal(classifier.predict(X), model.predict(X))


# --- Estimators on a Dataset ----------------------------------------------------------

LABELS = np.array(["a", "b", "c"])[THREE.astype(int)]


def classifier(**options):
    return LGBMClassifier(**{"n_estimators": 6, "num_leaves": 7} | options)


def assert_same(one, other):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_fits_on_one_data_set():
    rows = Dataset(X, label=LABELS, weight=WEIGHT)
    expected = classifier().fit(X, LABELS, sample_weight=WEIGHT)
    assert_same(classifier().fit(rows), expected)
    for options in ({"class_weight": "balanced"}, {"objective": "multiclassova"}):
        there = classifier(**options).fit(X, LABELS, sample_weight=WEIGHT)
        assert_same(classifier(**options).fit(rows), there)
    regressor = LGBMRegressor(n_estimators=6)
    ours = regressor.fit(rows, SIGNAL).predict(X)
    there = regressor.fit(X, SIGNAL, sample_weight=WEIGHT).predict(X)
    np.testing.assert_array_equal(ours, there)


def test_arguments_of_fit_win():
    other = np.ones(N)
    rows = Dataset(X, label=LABELS[::-1], weight=WEIGHT)
    ours = classifier().fit(rows, LABELS, sample_weight=other)
    assert_same(ours, classifier().fit(X, LABELS))
    with pytest.raises(ValueError, match="The label of the Dataset is None"):
        classifier().fit(Dataset(X))
    with pytest.raises(ValueError, match="requires y to be passed"):
        classifier().fit(X)


def test_evaluation_sets_of_any_kind():
    def history(X, y=None, **sets):
        model = classifier(metric="multi_error").fit(X, y, **sets)
        return model.evals_result_

    valid = X[VALID], LABELS[VALID]
    expected = history(X[TRAIN], LABELS[TRAIN], eval_set=[valid])
    rows = Dataset(X[TRAIN], LABELS[TRAIN])
    binned = Dataset(*valid)
    for given in ([binned], binned, [(binned, None)], [valid], [(binned, valid[1])]):
        assert history(rows, eval_set=given) == expected
    assert history(rows, eval_X=binned, eval_y=valid[1]) == expected
    assert history(X[TRAIN], LABELS[TRAIN], eval_set=[Dataset(*valid)]) == expected
    for given in ([binned, rows], (binned, rows)):
        twice = history(rows, eval_set=given)
        assert set(twice) == {"valid_0", "training"}
        assert twice["valid_0"] == expected["valid_0"]


@pytest.mark.parametrize("more", [{}, {"refit": True}])
def test_held_out_rows_of_a_data_set(more):
    options = {"early_stopping_round": 3, "n_estimators": 60, "learning_rate": 0.4}
    # All values are in all parts, so that these have the same bins.
    few = np.clip(np.round(X), -1, 1)
    expected = classifier(**options | more).fit(few, LABELS)
    model = classifier(**options | more).fit(Dataset(few, LABELS))
    assert_same(model, expected)
    assert model.best_iteration_ == expected.best_iteration_ > 0
    assert list(model.evals_result_) == ["validation"]


def test_rankers_on_a_data_set():
    expected = LGBMRanker(n_estimators=5).fit(X, GRADES, group=SIZES).predict(X)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    for rows, given in (
        (Dataset(X, GRADES, group=SIZES), {}),
        (Dataset(X, GRADES), {"group": SIZES}),
        (Dataset(X, GRADES, group=[N]), {"qid": qid}),
    ):
        model = LGBMRanker(n_estimators=5).fit(rows, **given)
        np.testing.assert_array_equal(model.predict(X), expected)


def test_bins_of_a_data_set():
    assert_same(
        classifier().fit(Dataset(X, LABELS, params={"max_bin": 15})),
        classifier(max_bin=15).fit(X, LABELS),
    )
    kept = Dataset(X, LABELS, free_raw_data=False).construct()
    assert_same(classifier(max_bin=15).fit(kept), classifier(max_bin=15).fit(X, LABELS))
    with pytest.raises(ValueError, match=r"cannot change max_bin.*free_raw_data=False"):
        classifier(max_bin=15).fit(Dataset(X, LABELS).construct())
    # A value that is given counts, even if it is the default.
    coarse = Dataset(X, SIGNAL, params={"max_bin": 15})
    np.testing.assert_array_equal(
        train(SMALL | {"max_bin": 255}, coarse, 3).predict(X),
        train(SMALL, Dataset(X, SIGNAL), 3).predict(X),
    )


def test_the_default_number_of_rounds_is_an_ordinary_number(tmp_path):
    booster = train({"num_leaves": 3}, dataset())
    assert type(booster.params["num_iterations"]) is int
    # A warning would be an error.
    booster.save_model(tmp_path / "model.txt")
    assert Booster(model_file=tmp_path / "model.txt").params["num_iterations"] == 100


def test_early_stopping_without_other_rows():
    rows = dataset(BINARY)
    params = SMALL | {"objective": "binary", "early_stopping_round": 2}
    with pytest.warns(UserWarning, match="Only the training set is evaluated"):
        assert train(params, rows, 6, rows).best_iteration == 0
    model = train(params | {"eta": 0.9}, rows, 60)
    assert list(model.best_score) == ["validation"]
    assert 0 < model.best_iteration < 60


# --- Files ----------------------------------------------------------------------------


def test_params_tell_how_to_read_files(tmp_path):
    path, words = tmp_path / "rows.csv", {"header": True, "label": "name:target"}
    rows = np.column_stack([X, BINARY])
    names = [*"abcdefghij"[: X.shape[1]], "target"]
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="")
    train_set, params = Dataset(path), {"objective": "binary"} | words
    model = train(params, train_set, 3, valid_sets=Dataset(path))
    assert model.feature_name() == names[:-1]
    expected = train({"objective": "binary"}, Dataset(X, BINARY), 3).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert len(cv(params, Dataset(path), 3)["valid binary_logloss-mean"]) == 3
    assert Booster(params, Dataset(path)).num_feature() == X.shape[1]
    with pytest.raises(ValueError, match="there is no column 'x'"):
        train(params | {"label": "name:x"}, Dataset(path), 3)


@pytest.mark.parametrize("package", ["skgoss", "lightgbm"])
def test_init_model_replaces_init_score(package):
    package = pytest.importorskip(package)
    X = np.random.default_rng(0).normal(size=(300, 3))
    y, start = X[:, 0] * 3, np.linspace(-1.0, 1.0, 300)
    params = {"objective": "regression", "verbosity": -1, "n_jobs": 1}
    earlier = package.train(params, package.Dataset(X, y), 2)

    def later(**scores):
        data = package.Dataset(
            X[:200], y[:200], **{k: v[:200] for k, v in scores.items()}
        )
        valid = data.create_valid(
            X[200:], y[200:], **{k: v[200:] for k, v in scores.items()}
        )
        options = {"init_model": earlier, "valid_sets": [valid]}
        model = package.train(params, data, 2, **options)
        means = package.cv(
            params,
            package.Dataset(X, y, **scores),
            2,
            init_model=earlier,
            folds=[(np.arange(200), np.arange(200, 300))],
        )
        return model.predict(X), model.best_score, means

    alone = later()
    if package is skgoss:
        with pytest.warns(
            UnusedParameterWarning, match="init_score has no effect with"
        ):
            both = later(init_score=start)
    else:
        both = later(init_score=start)
    np.testing.assert_array_equal(both[0], alone[0])
    assert both[1:] == alone[1:]
