"""Evaluation sets, early stopping, start scores and models to continue from."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss, roc_auc_score

from skgoss import (
    Booster,
    EarlyStopException,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
    UnusedParameterWarning,
    early_stopping,
)
from skgoss.objectives import training_objective
from skgoss.utils import messages

X, Y = load_breast_cancer(return_X_y=True)
TRAIN, VALID = (X[:400], Y[:400]), (X[400:], Y[400:])
RX, RY = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(8)


def classifier(**options):
    return LGBMClassifier(**{"n_estimators": 12, "num_leaves": 7} | options)


def regressor(**options):
    return LGBMRegressor(**{"n_estimators": 12, "num_leaves": 7} | options)


# --- What is recorded -----------------------------------------------------------------


def test_history_is_that_of_predictions_after_each_round():
    model = classifier().fit(
        *TRAIN, eval_set=[TRAIN, VALID], eval_names=["a", "b"], eval_metric="auc"
    )
    assert list(model.evals_result_) == ["a", "b"]
    for name, (features, y) in (("a", TRAIN), ("b", VALID)):
        history = model.evals_result_[name]
        assert list(history) == ["auc", "binary_logloss"]
        for n in (1, 5, 12):
            p = model.predict_proba(features, num_iteration=n)[:, 1]
            assert history["auc"][n - 1] == pytest.approx(roc_auc_score(y, p))
            assert history["binary_logloss"][n - 1] == pytest.approx(log_loss(y, p))
        assert model.best_score_[name] == {k: v[-1] for k, v in history.items()}
    assert model.best_iteration_ == 0
    assert model.n_iter_ == model.n_estimators_ == 12


@pytest.mark.parametrize(
    "options",
    [
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"subsample": 0.5, "subsample_freq": 2},
        {"boosting_type": "dart", "skip_drop": 0.0, "drop_rate": 0.4},
        {"boosting_type": "dart", "xgboost_dart_mode": True, "skip_drop": 0.0},
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
        {"boosting_type": "rf", "colsample_bytree": 0.5, "objective": "l1"},
        {"objective": "quantile"},
        {"min_child_samples": 500},
        {"max_conflict_rate": 0.3},
    ],
)
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_scores_are_followed_in_every_kind_of_boosting(options, container):
    features = np.where(np.abs(RX) < 0.03, 0.0, RX)
    train, valid = container(features[:300]), container(features[300:])
    y, y_valid = RY[:300], RY[300:]
    model = regressor(metric="rmse", **options)
    model.fit(train, y, eval_X=(train, valid), eval_y=(y, y_valid))
    for name, part, target in (("training", train, y), ("valid_1", valid, y_valid)):
        error = np.sqrt(np.mean((model.predict(part) - target) ** 2))
        assert model.best_score_[name]["rmse"] == pytest.approx(error, rel=1e-9)
    assert len(model.evals_result_["training"]["rmse"]) == model.n_iter_


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_many_classes_with_labels_of_any_kind(objective):
    features, codes = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"], dtype=object)[codes]
    model = classifier(objective=objective, metric=["multi_error", "multi_logloss"])
    model.fit(features[::2], y[::2], eval_X=features[1::2], eval_y=y[1::2])
    p = model.predict_proba(features[1::2])
    error = np.mean(model.predict(features[1::2]) != y[1::2])
    found = model.best_score_["valid_0"]
    assert found["multi_error"] == pytest.approx(error)
    own = p[np.arange(75), codes[1::2]]
    assert found["multi_logloss"] == pytest.approx(-np.log(own).mean())


def test_labels_that_are_not_codes_stop_at_the_right_round():
    y = np.where(TRAIN[1] > 0, 2, 1)
    y_valid = np.where(VALID[1] > 0, 2, 1)
    options = {"n_estimators": 300, "early_stopping_round": 3, "learning_rate": 0.3}
    model = classifier(**options).fit(X[:400], y, eval_X=X[400:], eval_y=y_valid)
    plain = classifier(**options).fit(*TRAIN, eval_set=[VALID])
    assert model.best_iteration_ == plain.best_iteration_ < 300
    assert model.best_score_ == plain.best_score_


def test_the_same_objects_are_the_training_set():
    features, y = TRAIN
    model = classifier().fit(features, y, eval_X=features, eval_y=y)
    assert list(model.evals_result_) == ["training"]
    other = classifier().fit(features, y, eval_set=[(features.copy(), y)])
    assert list(other.evals_result_) == ["valid_0"]
    np.testing.assert_allclose(
        model.evals_result_["training"]["binary_logloss"],
        other.evals_result_["valid_0"]["binary_logloss"],
        rtol=1e-12,
    )


def test_a_model_does_not_depend_on_its_evaluation():
    plain = classifier().fit(*TRAIN)
    watched = classifier().fit(*TRAIN, eval_set=[TRAIN, VALID])
    np.testing.assert_array_equal(plain.predict_proba(X), watched.predict_proba(X))
    assert plain.evals_result_ == plain.best_score_ == {}


def test_weights_of_sets():
    weight = RNG.integers(0, 3, size=len(VALID[1]))
    copies = tuple(np.repeat(part, weight, axis=0) for part in VALID)
    given = {"eval_set": [VALID, copies]}
    model = classifier().fit(*TRAIN, **given, eval_sample_weight=[weight, None])
    found = [next(iter(model.evals_result_[f"valid_{i}"].values())) for i in (0, 1)]
    np.testing.assert_allclose(*found, rtol=1e-12)
    by_number = classifier().fit(*TRAIN, **given, eval_sample_weight={0: weight})
    assert by_number.evals_result_ == model.evals_result_
    alone = classifier().fit(*TRAIN, eval_set=VALID, eval_sample_weight=weight)
    assert alone.evals_result_["valid_0"] == model.evals_result_["valid_0"]


def test_class_weights_of_sets():
    by_class = {0: 3.0, 1: 1.0}
    weight = np.where(VALID[1] == 0, 3.0, 1.0)
    one = classifier().fit(*TRAIN, eval_set=[VALID], eval_class_weight=[by_class])
    two = classifier().fit(*TRAIN, eval_set=[VALID], eval_sample_weight=[weight])
    assert one.evals_result_ == two.evals_result_


def test_class_weights_of_words_for_numbers():
    words, by_word = Y.astype(str), {"1": 10}
    options = {"eval_set": [(VALID[0], words[400:])]}
    found = [
        classifier(class_weight=by_word).fit(X, words, **options, eval_class_weight=w)
        for w in (by_word, [by_word], {0: by_word})
    ]
    number = classifier(class_weight={1: 10}).fit(
        X, Y, eval_set=[VALID], eval_class_weight=[{1: 10}]
    )
    assert all(m.evals_result_ == number.evals_result_ for m in found)
    np.testing.assert_array_equal(number.predict_proba(X), found[0].predict_proba(X))


def test_the_training_set_with_weights_of_its_own():
    weight = RNG.uniform(0.5, 2.0, size=len(TRAIN[1]))
    model = classifier(n_estimators=3)
    for given in ([weight], weight, {0: weight}):
        model.fit(*TRAIN, eval_set=[TRAIN], eval_sample_weight=given)
        p = model.predict_proba(TRAIN[0])
        expected = log_loss(TRAIN[1], p, sample_weight=weight)
        found = model.best_score_["training"]["binary_logloss"]
        assert found == pytest.approx(expected)
    # Without any it is measured by the weights of training.
    one = model.fit(*TRAIN, sample_weight=weight, eval_set=[TRAIN]).evals_result_
    two = model.fit(
        *TRAIN, sample_weight=weight, eval_set=[TRAIN], eval_sample_weight=[weight]
    ).evals_result_
    assert one == two
    other = model.fit(
        *TRAIN, sample_weight=weight, eval_set=[TRAIN], eval_sample_weight=[weight + 0]
    ).evals_result_
    np.testing.assert_allclose(
        one["training"]["binary_logloss"], other["training"]["binary_logloss"]
    )


def test_the_training_set_with_queries_or_scores_of_its_own():
    features = RNG.normal(size=(60, 3))
    y = RNG.integers(0, 3, size=60)
    ranker = LGBMRanker(n_estimators=1, num_leaves=3, eval_at=3)
    data = {"X": features, "y": y, "qid": np.repeat([0, 1, 2], 20)}
    given = {"eval_set": [(features, y)], "eval_group": [[10] * 6]}
    own = ranker.fit(**data, **given).evals_result_["training"]
    copied = ranker.fit(**data, **{**given, "eval_set": [(features.copy(), y)]})
    assert own == copied.evals_result_["valid_0"]
    plain = ranker.fit(**data, eval_set=[(features, y)]).evals_result_["training"]
    assert own != plain
    start = np.full(len(RY), 1e3)
    model = regressor().fit(RX, RY, eval_set=[(RX, RY)], eval_init_score=[start])
    assert model.best_score_["training"]["l2"] > 5e5


def test_queries_of_sets():
    features, sizes = RNG.normal(size=(300, 3)), [100, 120, 80]
    qid = np.repeat([5, 3, 9], sizes)
    y = np.clip(np.rint(features[:, 0] + 1), 0, 3)
    order = RNG.permutation(300)
    models = [
        LGBMRanker(n_estimators=4).fit(
            features, y, qid=qid, eval_set=[(features[rows], y[rows])], **given
        )
        for rows, given in (
            (np.arange(300), {"eval_group": [sizes]}),
            (np.arange(300), {"eval_qid": qid}),
            (np.argsort(qid, kind="stable"), {"eval_qid": [np.sort(qid)]}),
        )
    ]
    assert models[0].evals_result_ == models[1].evals_result_
    for key, values in models[0].evals_result_["valid_0"].items():
        np.testing.assert_allclose(values, models[2].evals_result_["valid_0"][key])
    with pytest.raises(ValueError, match="sizes in eval_group sum to 3"):
        LGBMRanker().fit(
            features, y, qid=qid, eval_X=features, eval_y=y[order], eval_group=[[1, 2]]
        )


def test_functions_see_predictions_and_are_recorded_last():
    seen = []

    def worst(y_true, y_pred):
        seen.append(y_pred)
        return "worst", np.abs(y_true - y_pred).max(), False

    model = classifier(n_estimators=2, metric="average_precision")
    model.fit(*TRAIN, eval_set=[VALID], eval_metric=[worst, "auc", "logloss"])
    names = ["auc", "binary_logloss", "average_precision", "worst"]
    assert list(model.evals_result_["valid_0"]) == names
    np.testing.assert_allclose(seen[-1], model.predict_proba(VALID[0])[:, 1])


def test_functions_of_two_three_and_four_arguments():
    def two(y_true, y_pred):
        error = np.abs(y_true - y_pred)
        return [("largest", error.max(), False), ("median", np.median(error), False)]

    def three(y_true, y_pred, weight):
        return "weighed", np.average(y_true, weights=weight), True

    def four(y_true, y_pred, weight, group):
        return "queries", len(group), True

    model = regressor().fit(RX, RY, eval_set=[(RX, RY)], eval_metric=[two, three])
    assert list(model.best_score_["training"]) == ["l2", "largest", "median", "weighed"]
    grades, sizes = np.arange(len(RY)) % 3, [200, 242]
    ranker = LGBMRanker(n_estimators=1)
    ranker.fit(RX, grades, group=sizes, eval_set=[(RX, grades)], eval_metric=four)
    assert ranker.best_score_["training"]["queries"] == 2


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a"], ["a", "valid_1"]), ([], ["valid_0", "valid_1"]), ("a", ["a", "valid_1"])],
)
def test_names_that_are_left_out(names, expected):
    model = classifier(n_estimators=1)
    model.fit(*TRAIN, eval_set=[VALID, VALID], eval_names=names)
    assert list(model.evals_result_) == expected


def test_more_names_than_sets():
    with pytest.warns(UserWarning, match="3 names for 1 .*: the last 2 are not used"):
        model = classifier(n_estimators=1).fit(
            *TRAIN, eval_set=[VALID], eval_names=["a", "b", "c"]
        )
    assert list(model.evals_result_) == ["a"]


def test_values_that_are_left_out():
    weight = RNG.uniform(0.5, 2.0, size=len(VALID[1]))
    given = {"eval_set": [VALID, (VALID[0].copy(), VALID[1])]}
    short = classifier().fit(*TRAIN, **given, eval_sample_weight=[weight])
    whole = classifier().fit(*TRAIN, **given, eval_sample_weight=[weight, None])
    assert short.evals_result_ == whole.evals_result_


@pytest.mark.parametrize("eval_set", [None, []])
def test_arguments_without_a_set(eval_set):
    model = classifier(n_estimators=1)
    model.fit(*TRAIN, eval_set=eval_set, eval_sample_weight=[None], eval_names=["a"])
    assert model.evals_result_ == {}
    for unused in ([np.ones(3)], {0: 1}, 3):
        with pytest.warns(UserWarning, match="eval_init_score is not used: there is"):
            model.fit(*TRAIN, eval_set=eval_set, eval_init_score=unused)


@pytest.mark.parametrize("word", ["None", "na", ["null"]])
def test_none_among_the_metrics_of_fit_leaves_the_usual_one_out(word):
    def history(**options):
        model = regressor(**options)
        model.fit(RX, RY, eval_X=RX[:50], eval_y=RY[:50], eval_metric=word)
        return list(model.evals_result_.get("valid_0", ()))

    assert history() == []
    assert history(metric="l1") == ["l1"]


@pytest.mark.parametrize("empty", [[], (), "", [None], [""]])
def test_no_name_at_all_leaves_the_usual_metric(empty):
    def history(**given):
        model = regressor(n_estimators=1, metric=empty)
        model.fit(RX, RY, eval_X=RX[:50], eval_y=RY[:50], **given)
        return list(model.evals_result_["valid_0"])

    assert history() == ["l2"]
    assert history(eval_metric=empty) == ["l2"]
    assert history(eval_metric=lambda y, p: ("own", 0.0, False)) == ["l2", "own"]


def negative_l2(y_true, y_pred):
    return "l2", -np.mean((y_true - y_pred) ** 2), True


def test_a_function_with_the_name_of_a_metric(lightgbm):
    options = {"n_estimators": 200, "early_stopping_round": 5, "verbosity": -1}
    given = {"eval_X": RX[300:], "eval_y": RY[300:], "eval_metric": negative_l2}
    with pytest.warns(UserWarning, match=r"same name; .* recorded as 'l2 \(2\)'"):
        model = LGBMRegressor(**options).fit(RX[:300], RY[:300], **given)
    theirs = lightgbm.LGBMRegressor(**options).fit(RX[:300], RY[:300], **given)
    assert 1 < model.best_iteration_ == theirs.best_iteration_ < 200
    history = model.evals_result_["valid_0"]
    assert list(history) == ["l2", "l2 (2)"]
    assert len(history["l2"]) == len(history["l2 (2)"]) == model.best_iteration_ + 5
    np.testing.assert_allclose(history["l2"], np.negative(history["l2 (2)"]))


def test_metrics_share_what_they_keep_and_change_no_other_metric():
    weight = np.random.default_rng(3).random(200) + 0.5
    shares = 0.1 + 0.8 * Y
    names = ["cross_entropy", "cross_entropy_lambda", "kullback_leibler", "r2", "l2"]

    def history(words):
        model = LGBMRegressor(objective="cross_entropy", n_estimators=3, metric=words)
        rows = {"eval_set": [(X[:200], shares[:200])], "eval_sample_weight": [weight]}
        return model.fit(X, shares, **rows).evals_result_["valid_0"]

    together = history(names)
    assert list(together) == names
    for name in names:
        assert history([name]) == {name: together[name]}


def test_names_that_several_functions_return():
    def twice(y_true, y_pred):
        return [("m", 1.0, True), ("m (2)", 2.0, True), ("m", 3.0, True)]

    with pytest.warns(UserWarning, match="have the same name") as caught:
        model = regressor(metric="None").fit(
            RX, RY, eval_set=[(RX, RY)], eval_metric=[twice, twice]
        )
    assert len(caught) == 1
    assert {k: v[0] for k, v in model.evals_result_["training"].items()} == {
        "m": 1.0,
        "m (2)": 2.0,
        "m (3)": 3.0,
        "m (4)": 1.0,
        "m (2) (2)": 2.0,
        "m (5)": 3.0,
    }


def squares(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_pred)


def logistic(y_true, y_pred):
    p = 1 / (1 + np.exp(-y_pred))
    return p - y_true, p * (1 - p)


def test_default_metrics_of_custom_objectives_are_lightgbm_s(lightgbm):
    grades = np.clip(np.rint(10 * RX[:, 2] + 1), 0, 3)
    queries = {"group": [42] * 8, "eval_group": [[53, 53]]}
    for name, y, metric, given in (
        ("LGBMRegressor", RY, "l2", {}),
        ("LGBMRanker", grades, "ndcg_lightgbm", queries),
    ):
        options = {"n_estimators": 3, "objective": squares, "verbosity": -1}
        data = {"X": RX[:336], "y": y[:336], "eval_X": RX[336:], "eval_y": y[336:]}
        ours = {"LGBMRegressor": LGBMRegressor, "LGBMRanker": LGBMRanker}[name]
        model = ours(**options).fit(**data, **given)
        theirs = getattr(lightgbm, name)(**options).fit(**data, **given)
        expected = theirs.evals_result_["valid_0"]
        assert list(model.evals_result_["valid_0"]) == list(expected)
        same = ours(**options, metric=metric).fit(**data, **given)
        found = same.evals_result_["valid_0"]
        for values, of_lightgbm in zip(found.values(), expected.values(), strict=True):
            np.testing.assert_allclose(values, of_lightgbm, rtol=1e-6)


def test_custom_objectives_of_classes_are_measured_as_log_odds():
    model = classifier(objective=logistic, n_estimators=40, early_stopping_round=3)
    model.fit(*TRAIN, eval_set=[VALID], eval_metric=["error", "auc"])
    history = model.evals_result_["valid_0"]
    assert list(history) == ["binary_error", "auc", "binary_logloss"]
    raw = model.predict(VALID[0], raw_score=True)
    best = {name: values[model.n_iter_ - 1] for name, values in history.items()}
    assert best["binary_error"] == pytest.approx(np.mean((raw > 0) != VALID[1]))
    expected = log_loss(VALID[1], 1 / (1 + np.exp(-raw)))
    assert best["binary_logloss"] == pytest.approx(expected)

    def softmax(y_true, y_pred):
        p = np.exp(y_pred) / np.exp(y_pred).sum(axis=1, keepdims=True)
        return p - np.eye(3)[y_true.astype(int)], 2 * p * (1 - p)

    features, y = load_iris(return_X_y=True)
    model = classifier(objective=softmax, n_estimators=3)
    model.fit(features, y, eval_set=[(features, y)])
    raw = np.exp(model.predict(features, raw_score=True))
    expected = log_loss(y, raw / raw.sum(axis=1, keepdims=True))
    assert list(model.best_score_["training"]) == ["multi_logloss"]
    assert model.best_score_["training"]["multi_logloss"] == pytest.approx(expected)


def test_the_base_class_has_no_default_metric_for_custom_objectives():
    model = LGBMModel(objective=squares, n_estimators=2)
    assert model.fit(RX, RY, eval_set=[(RX, RY)]).evals_result_ == {}


def test_metrics_of_custom_objectives_see_raw_scores():
    seen = []

    def watch(y_true, y_pred):
        seen.append(y_pred)
        return "watch", 0.0, False

    model = classifier(objective=logistic, n_estimators=3)
    model.fit(*TRAIN, eval_set=[VALID], eval_metric=watch)
    assert list(model.evals_result_["valid_0"]) == ["binary_logloss", "watch"]
    np.testing.assert_allclose(seen[-1], model.predict(VALID[0], raw_score=True))


# --- Early stopping -------------------------------------------------------------------


def test_stops_at_the_best_round_and_keeps_it():
    model = classifier(n_estimators=400, learning_rate=0.3, early_stopping_round=5)
    model.fit(*TRAIN, eval_set=[VALID])
    history = model.evals_result_["valid_0"]["binary_logloss"]
    assert model.best_iteration_ == np.argmin(history) + 1 == len(history) - 5
    assert model.n_iter_ == model.best_iteration_
    assert model.best_score_["valid_0"]["binary_logloss"] == min(history)
    alone = classifier(n_estimators=model.best_iteration_, learning_rate=0.3).fit(
        *TRAIN
    )
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("name", ["early_stopping_rounds", "n_iter_no_change"])
def test_every_way_to_ask_for_it_is_the_same(name):
    options = {"n_estimators": 200, "learning_rate": 0.3}
    by_name = classifier(**options, **{name: 4}).fit(*TRAIN, eval_set=[VALID])
    at_fit = classifier(**options).fit(
        *TRAIN, eval_set=[VALID], early_stopping_rounds=4
    )
    assert by_name.best_iteration_ == at_fit.best_iteration_ > 0


def test_rows_are_held_out_where_no_set_is_given():
    model = classifier(n_estimators=300, learning_rate=0.3, early_stopping_round=5)
    model.fit(X, Y)
    assert list(model.evals_result_) == ["validation"]
    assert 0 < model.best_iteration_ < 300
    again = classifier(**{k: v for k, v in model.get_params().items() if v is not None})
    np.testing.assert_array_equal(
        again.fit(X, Y).predict_proba(X), model.predict_proba(X)
    )
    other = model.set_params(random_state=3).fit(X, Y)
    assert other.evals_result_ != again.evals_result_


@pytest.mark.parametrize("maximize", [False, True])
def test_a_number_is_better_than_nan(maximize):
    sign = 1 if maximize else -1

    def improving(y_true, y_pred):
        improving.calls += 1
        value = np.nan if improving.calls < 3 else sign * improving.calls
        return "m", value, maximize

    improving.calls = 0
    model = regressor(early_stopping_round=3, metric="None")
    with pytest.warns(UserWarning, match="'m' of 'valid_0' is NaN") as caught:
        model.fit(RX, RY, eval_X=RX[:50], eval_y=RY[:50], eval_metric=improving)
    assert len(caught) == 1
    assert model.best_iteration_ == 12


def undefined(y_true, y_pred):
    return "undefined", np.nan, True


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"boosting_type": "rf", "colsample_bytree": 0.5},
        {"folds": 3},
        {"refit": True},
    ],
)
def test_nan_is_never_the_best_value(options):
    model = regressor(early_stopping_round=2, metric="None", **options)
    sets = {} if "folds" in options else {"eval_set": [(RX[:50], RY[:50])]}
    with pytest.warns(UserWarning, match="'undefined' of '.*' is NaN.* ignores it"):
        model.fit(RX, RY, **sets, eval_metric=undefined)
    n_models = options.get("folds", 1)
    assert model.n_iter_ == 12 * n_models
    assert model.best_iteration_ == 0


def test_metrics_that_are_numbers_stop_beside_nan():
    model = regressor(early_stopping_round=2, n_estimators=200, learning_rate=0.5)
    sets = {"eval_set": [(RX[300:], RY[300:])]}
    alone = clone(model).fit(RX[:300], RY[:300], **sets)
    with pytest.warns(UserWarning, match="NaN") as caught:
        model.fit(RX[:300], RY[:300], **sets, eval_metric=undefined)
    assert len(caught) == 1
    assert 0 < model.best_iteration_ == alone.best_iteration_ < 200
    whole = clone(model).set_params(early_stopping_round=500)
    with pytest.warns(UserWarning, match="NaN"):
        whole.fit(RX[:300], RY[:300], **sets, eval_metric=undefined)
    assert whole.best_iteration_ == np.argmin(whole.evals_result_["valid_0"]["l2"]) + 1


@pytest.mark.parametrize("metric", ["auc", "average_precision"])
def test_a_set_of_one_class_stops_nothing(metric):
    kept = VALID[1] == 1
    one = VALID[0][kept], VALID[1][kept]
    model = classifier(early_stopping_round=2, metric=metric)
    with pytest.warns(UserWarning, match="All its labels are equal") as caught:
        model.fit(*TRAIN, eval_set=[one])
    assert len(caught) == 1
    assert np.isnan(model.evals_result_["valid_0"][metric]).all()
    assert model.n_iter_ == 12


@pytest.mark.parametrize("label_gain", [None, [0, 0, 1, 2, 3]])
def test_a_set_without_relevant_documents_stops_nothing(label_gain):
    grades = np.digitize(RY, np.quantile(RY, [0.25, 0.5, 0.75, 0.9]))
    none = np.zeros(100) if label_gain is None else np.arange(100) % 2
    some = np.append(none[:99], 4)
    model = LGBMRanker(
        n_estimators=12, label_gain=label_gain, early_stopping_round=2, n_jobs=1
    )
    fitted = {"group": [40] * 11 + [2], "eval_group": [[20] * 5]}
    metrics = ["ndcg"] if label_gain else ["ndcg", "map"]
    with pytest.warns(UserWarning, match="'valid_0' is NaN") as caught:
        model.fit(
            RX, grades, eval_set=[(RX[:100], none)], eval_metric=metrics, **fitted
        )
    assert len(caught) == 1
    assert "All its labels are equal" in str(caught[0].message) or label_gain
    for values in model.evals_result_["valid_0"].values():
        assert np.isnan(values).all()
    assert (model.n_iter_, model.best_iteration_) == (12, 0)  # no round is the best
    # One query with a relevant document is enough: the others count as 1.
    model.fit(RX, grades, eval_set=[(RX[:100], some)], eval_metric=metrics, **fitted)
    for values in model.evals_result_["valid_0"].values():
        assert 0.8 <= min(values) <= max(values) <= 1


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({"early_stopping_round": 2}, {"eval_set": [VALID]}),
        ({"early_stopping_round": 2}, {}),
        ({}, {"eval_set": [VALID], "callbacks": [early_stopping(2, verbose=False)]}),
    ],
)
def test_dart_keeps_all_rounds(options, given):
    model = classifier(boosting_type="dart", n_estimators=30, **options)
    with pytest.warns(UserWarning, match="not available in dart mode"):
        model.fit(*TRAIN, **given)
    assert model.n_iter_ == 30


def test_the_training_set_by_any_name_stops_nothing():
    model = classifier(n_estimators=200, early_stopping_round=150).fit(
        *TRAIN, eval_set=[TRAIN, VALID], eval_names=["learned", "training"]
    )
    history = model.evals_result_["training"]["binary_logloss"]
    assert model.best_iteration_ == np.argmin(history) + 1 < 200


@pytest.mark.parametrize("given", [{}, {"eval_sample_weight": [np.ones(400)]}])
@pytest.mark.parametrize(
    "options",
    [
        {"metric": "auc"},
        {"metric": ["auc", "binary_logloss"]},
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    ],
)
def test_the_training_set_alone_stops_nothing(options, given):
    model = classifier(early_stopping_round=1, **options)
    with pytest.warns(UserWarning, match="Only the training set is evaluated"):
        model.fit(*TRAIN, eval_set=[TRAIN], **given)
    assert (model.n_iter_, model.best_iteration_) == (12, 0)


def test_history_is_as_long_as_the_model():
    model = regressor(n_estimators=50, min_split_gain=1e5).fit(
        RX, RY, eval_set=[(RX, RY)]
    )
    assert 1 <= model.n_iter_ < 50
    assert len(model.evals_result_["training"]["l2"]) == model.n_iter_


# --- Start scores and earlier models --------------------------------------------------


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_start_scores_continue_from_another_model(shape):
    first = regressor(n_estimators=5).fit(RX, RY)
    scores = first.predict(RX)
    second = regressor(n_estimators=7, boost_from_average=False).fit(
        RX,
        RY,
        init_score=scores.reshape(shape),
        eval_set=[(RX, RY)],
        eval_init_score=[scores],
    )
    whole = regressor().fit(RX, RY)
    np.testing.assert_allclose(
        scores + second.predict(RX), whole.predict(RX), rtol=1e-10
    )
    error = np.mean((whole.predict(RX) - RY) ** 2)
    assert second.best_score_["training"]["l2"] == pytest.approx(error)


@pytest.mark.parametrize("options", [{}, {"folds": 3}])
def test_an_earlier_model_replaces_start_scores(options):
    first = regressor(n_estimators=5).fit(RX, RY)
    sets = {} if options else {"eval_X": RX[:90], "eval_y": RY[:90]}
    alone = regressor(**options).fit(RX, RY, init_model=first, **sets)
    if sets:
        sets["eval_init_score"] = [np.full(90, 1e6)]
    both = regressor(**options)
    with pytest.warns(UnusedParameterWarning, match="init_score has no effect with"):
        both.fit(RX, RY, init_model=first, init_score=RY * 7, **sets)
    np.testing.assert_array_equal(both.predict(RX), alone.predict(RX))
    assert both.evals_result_ == alone.evals_result_


N = 300
SIGNAL = RNG.normal(size=N)
START = 0.7 * SIGNAL - 2.0
RATES = 1 / (1 + np.exp(-SIGNAL))
AMOUNTS = np.exp(SIGNAL) + 0.1
# The targets of an objective, and the loss of raw scores.
LOSSES = {
    "regression": (SIGNAL, lambda y, s: (y - s) ** 2),
    "regression_l1": (SIGNAL, lambda y, s: abs(y - s)),
    "quantile": (SIGNAL, lambda y, s: np.maximum(0.9 * (y - s), 0.1 * (s - y))),
    "expectile": (SIGNAL, lambda y, s: np.where(y > s, 0.9, 0.1) * (y - s) ** 2),
    "mape": (3 * SIGNAL, lambda y, s: abs(y - s) / np.maximum(1, abs(y))),
    "poisson": (RNG.poisson(AMOUNTS), lambda y, s: np.exp(s) - y * s),
    "gamma": (AMOUNTS, lambda y, s: y * np.exp(-s) + s),
    "tweedie": (
        AMOUNTS * (SIGNAL > 0),
        lambda y, s: np.exp(0.5 * s) / 0.5 + y * np.exp(-0.5 * s) / 0.5,
    ),
    "cross_entropy": (RATES, lambda y, s: np.logaddexp(0, s) - y * s),
    "cross_entropy_lambda": (
        RATES,
        lambda y, s: (
            (1 - y) * np.logaddexp(0, s) - y * np.log(-np.expm1(-np.logaddexp(0, s)))
        ),
    ),
    "binary": (SIGNAL > 0, lambda y, s: np.logaddexp(0, s) - y * s),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_boosting_starts_from_the_best_constant_beside_start_scores(name, is_weighted):
    y, loss = LOSSES[name]
    weight = np.arange(N) % 4.0 if is_weighted else None
    if is_weighted and name == "cross_entropy_lambda":
        pytest.skip("its weights are in the loss")
    # A tree without a split: its value is the constant.
    options = {"objective": name, "n_estimators": 1, "min_child_samples": N}
    kind = classifier if name == "binary" else regressor
    model = kind(**options, alpha=0.9, tweedie_variance_power=1.5)
    with pytest.warns(UserWarning, match="has learned nothing"):
        model.fit(RNG.normal(size=(N, 1)), y, sample_weight=weight, init_score=START)
    (constant,) = model.predict([[0.0]], raw_score=True)

    def mean_loss(added):
        return np.average(loss(1.0 * y, START + added), weights=weight)

    best = minimize_scalar(mean_loss, bounds=(-9, 9), options={"xatol": 1e-9}).fun
    # LightGBM's weighted percentiles are interpolated.
    within = 1e-4 if name == "mape" else 1e-12
    assert mean_loss(constant) <= best + within * abs(best)
    assert mean_loss(0.0) > best * 1.01


@pytest.mark.parametrize("name", ["huber", "fair", *list(LOSSES)[:4]])
def test_start_scores_of_a_location_are_subtracted_targets(name):
    options = {"objective": name, "n_estimators": 5, "fair_c": 20.0}
    options["alpha"] = 90.0 if name == "huber" else 0.9
    of_scores = regressor(**options).fit(RX, RY, init_score=3 * RX[:, 0] + 100)
    of_targets = regressor(**options).fit(RX, RY - (3 * RX[:, 0] + 100))
    np.testing.assert_allclose(of_scores.predict(RX), of_targets.predict(RX), rtol=1e-9)


@pytest.mark.parametrize("name", ["poisson", "binary", "multiclass", "normal"])
@pytest.mark.parametrize("boosting", ["gbdt", "dart", "rf"])
def test_constant_start_scores_change_no_prediction(name, boosting):
    y = {
        "multiclass": np.digitize(RY, [90, 190]),
        "binary": RY > 140,
    }.get(name, RY)
    if (name, boosting) == ("normal", "rf"):
        pytest.skip("a distribution cannot be learned by a forest")
    kind = classifier if name in ("binary", "multiclass") else regressor
    options = {"objective": name, "boosting_type": boosting, "n_estimators": 5}
    options |= {"subsample": 0.7, "subsample_freq": 1}
    plain = kind(**options).fit(RX, y)
    raw = plain.predict(RX, raw_score=True)
    offset = np.broadcast_to(np.arange(raw[:1].size) * 0.0 + 0.3, raw.shape)
    model = kind(**options).fit(RX, y, init_score=offset)
    expected = raw - offset
    if name == "multiclass":  # which constants do not matter
        found = model.predict(RX, raw_score=True)
        np.testing.assert_allclose(
            found - found.mean(axis=1, keepdims=True),
            expected - expected.mean(axis=1, keepdims=True),
            atol=1e-4,
        )
    else:
        found = model.predict(RX, raw_score=True)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_counts_with_exposures_and_early_stopping_have_the_right_total():
    rng = np.random.default_rng(0)
    X, exposure = rng.normal(size=(2000, 4)), rng.uniform(0.1, 3, 2000)
    y = rng.poisson(exposure * np.exp(0.4 * X[:, 0] - 2))
    model = LGBMRegressor(objective="poisson", n_estimators=500, num_leaves=7)
    scores, rows = np.log(exposure), np.arange(2000) < 1500
    model.fit(
        X[rows],
        y[rows],
        init_score=scores[rows],
        eval_set=[(X[~rows], y[~rows])],
        eval_init_score=[scores[~rows]],
        callbacks=[early_stopping(10, verbose=False)],
    )
    expected = np.exp(model.predict(X[rows], raw_score=True) + scores[rows])
    assert expected.sum() == pytest.approx(y[rows].sum(), rel=0.01)
    assert model.best_iteration_ > 0


@pytest.mark.parametrize("way", ["boost_from_average", "as_lightgbm"])
def test_start_scores_alone_are_lightgbm_s_rule(way, monkeypatch, lightgbm):
    options = {"n_estimators": 5, "num_leaves": 7}
    scores, y = RNG.normal(size=len(RY)), RY / 100
    kept = {"min_child_samples": 1, "min_child_weight": 0}
    theirs = lightgbm.LGBMRegressor(**options, **kept, verbosity=-1)
    theirs.fit(RX, y, init_score=scores)
    if way == "as_lightgbm":
        monkeypatch.setattr(messages, "STANDS_FOR_LIGHTGBM", threading.Event())
        monkeypatch.setattr(
            training_objective, "STANDS_FOR_LIGHTGBM", messages.STANDS_FOR_LIGHTGBM
        )
        messages.STANDS_FOR_LIGHTGBM.set()
    else:
        options["boost_from_average"] = False
    ours = LGBMRegressor(**options, **kept).fit(RX, y, init_score=scores)
    np.testing.assert_allclose(ours.predict(RX), theirs.predict(RX), rtol=1e-6)
    read = Booster(model_str=ours.booster_.model_to_string())
    np.testing.assert_array_equal(read.predict(RX), ours.predict(RX))


def test_models_of_start_scores_are_the_same_in_files_and_with_copies_and_threads():
    y, scores, weight = RY > 140, RNG.normal(size=len(RY)), np.arange(len(RY)) % 3
    options = {"min_child_samples": 1, "min_data_in_bin": 1}
    model = classifier(n_jobs=1, **options)
    model.fit(RX, y, sample_weight=weight, init_score=scores)
    at = np.repeat(np.arange(len(RY)), weight)
    copied = classifier(n_jobs=2, **options)
    copied.fit(RX[at], y[at], init_score=scores[at])
    raw = model.predict(RX, raw_score=True)
    np.testing.assert_array_equal(raw, copied.predict(RX, raw_score=True))
    read = Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(read.predict(RX, raw_score=True), raw)


def test_start_scores_of_many_classes():
    features, y = load_iris(return_X_y=True)
    start = RNG.normal(size=(150, 3))
    one = classifier().fit(features, y, init_score=start)
    flat = classifier().fit(features, y, init_score=start.ravel(order="F"))
    np.testing.assert_array_equal(
        one.predict_proba(features), flat.predict_proba(features)
    )
    assert (
        one.predict(features) != classifier().fit(features, y).predict(features)
    ).any()


@pytest.mark.parametrize(
    "options",
    [{}, {"subsample": 0.5, "subsample_freq": 3, "colsample_bytree": 0.7}],
)
def test_a_model_continues_from_another(options):
    first = regressor(n_estimators=5, **options).fit(RX, RY)
    both = regressor(n_estimators=7, **options).fit(
        RX, RY, init_model=first, eval_set=[(RX, RY)]
    )
    whole = regressor(**options).fit(RX, RY)
    assert (first.n_iter_, both.n_iter_) == (5, 12)
    np.testing.assert_allclose(both.predict(RX), whole.predict(RX), rtol=1e-9)
    assert len(both.evals_result_["training"]["l2"]) == 7
    np.testing.assert_array_equal(both.predict(RX, num_iteration=5), first.predict(RX))


@pytest.mark.parametrize("calls", [None, [lambda env: None]], ids=["ahead", "one"])
@pytest.mark.parametrize("options", [{}, {"boosting_type": "dart"}])
def test_draws_of_a_continued_fit_are_those_of_its_own_rounds(calls, options):
    """As if boosting started from the scores of the earlier model."""
    rng = np.random.default_rng(0)
    features, qid = rng.normal(size=(240, 3)), np.repeat(np.arange(24), 10)
    grades = np.digitize(features[:, 0] + rng.normal(size=240), [-1, 0, 1])
    ranker = LGBMRanker(objective="rank_xendcg", n_estimators=6, num_leaves=4)
    first = clone(ranker).fit(features, grades, qid=qid)
    scores = first.predict(features)
    ranker.set_params(**options, drop_rate=0.0)

    def later(**more):
        model = clone(ranker).set_params(**more.pop("params", {}))
        model.fit(features, grades, qid=qid, callbacks=calls, **more)
        return model.predict(features)

    of_scores = later(init_score=scores)
    of_model = later(init_model=first) - scores
    np.testing.assert_allclose(of_model, of_scores, rtol=1e-6, atol=1e-9)
    other = later(init_score=scores, params={"objective_seed": 77})
    assert abs(other - of_scores).max() > 1e-3


def test_later_rows_need_not_hold_every_class():
    words = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    first = classifier().fit(X, words)
    some = words != "b"
    both = classifier().fit(X[some], words[some], init_model=first)
    assert both.classes_.tolist() == ["a", "b", "c"]
    assert both.n_iter_ == 24
    np.testing.assert_array_equal(
        both.predict_proba(X, num_iteration=12), first.predict_proba(X)
    )


def test_categories_keep_their_meaning_in_a_model_that_goes_on(pandas):
    words = RNG.choice(["a", "b", "c", "d", "e", "f"], size=600)
    y = np.isin(words, ["a", "d", "e"]) * 3.0 + RNG.normal(size=600)
    frame = pandas.DataFrame({"w": words, "x": RNG.normal(size=600)})
    options = {"min_data_per_group": 5, "max_cat_to_onehot": 1}
    first = regressor(**options).fit(frame, y)
    later = frame["w"].isin(["d", "e", "f"])
    both = regressor(**options).fit(frame[later], y[later] + 5, init_model=first)
    np.testing.assert_array_equal(
        both.predict(frame, num_iteration=12), first.predict(frame)
    )
    error = np.abs(both.predict(frame[later]) - y[later] - 5).mean()
    assert error < np.abs(first.predict(frame[later]) - y[later] - 5).mean() / 2


def test_the_training_set_more_than_once_with_other_weights():
    weight, other = (np.random.default_rng(n).uniform(size=len(Y)) for n in (0, 1))
    model = regressor(n_estimators=3).fit(
        X,
        Y,
        eval_set=[(X, Y), VALID, (X, Y), (X, Y)],
        eval_sample_weight=[None, None, weight, other],
    )
    history = model.evals_result_
    assert sorted(history) == ["training", "valid_1", "valid_2", "valid_3"]
    error = (model.predict(X) - Y) ** 2
    weights = {"training": np.ones(len(Y)), "valid_2": weight, "valid_3": other}
    for name, given in weights.items():
        expected = np.average(error, weights=given)
        assert history[name]["l2"][-1] == pytest.approx(expected)


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"eval_X": X}, ValueError, "must specify eval_X and eval_y"),
        ({"eval_X": X, "eval_y": Y, "eval_set": [VALID]}, ValueError, "not both"),
        ({"eval_set": [X]}, TypeError, "eval_set must be a list of pairs"),
        (
            {"eval_set": [VALID] * 2, "eval_sample_weight": [None] * 3},
            ValueError,
            r"Length of eval_sample_weight \(3\) not equal to length of eval_set \(2\)",
        ),
        ({"eval_set": [(X, Y)], "eval_sample_weight": ["a"]}, ValueError, "could not"),
        ({"eval_set": [(X, Y)], "eval_init_score": ["a"]}, ValueError, "eval_init_sco"),
        ({"eval_set": [(X, Y)], "eval_class_weight": ["a"]}, ValueError, "class_weig"),
        ({"eval_X": X[:, :3], "eval_y": Y}, ValueError, "X has 3 features"),
        ({"eval_X": X, "eval_y": Y[1:]}, ValueError, "inconsistent numbers of samples"),
        ({"eval_X": X, "eval_y": Y + 1}, ValueError, r"labels that y does not hold.*2"),
        ({"init_score": Y[1:]}, ValueError, "init_score must have the shape"),
        ({"init_score": Y * np.nan}, ValueError, "init_score must be finite"),
        ({"init_model": 3}, TypeError, "init_model must be a fitted estimator"),
        ({"eval_set": [VALID], "eval_metric": "ndcg"}, ValueError, "'ndcg' cannot be"),
        ({"eval_set": [VALID], "verbose": "yes"}, TypeError, "verbose must be a bool"),
        ({"callbacks": [3]}, TypeError, "callbacks must hold callables"),
        ({"feature_name": ["a"]}, ValueError, "feature_name must have a name"),
        ({"feature_name": "names"}, TypeError, "feature_name must be 'auto' or a list"),
        ({"feature_name": range(30)}, TypeError, "feature_name must be 'auto' or a li"),
        ({"eval_set": [VALID], "eval_names": [1]}, TypeError, "eval_names must be a l"),
        ({"eval_metric": "ndcg"}, ValueError, "'ndcg' cannot be computed"),
        ({"eval_X": X, "eval_y": Y * np.nan}, ValueError, "Input eval_y contains NaN"),
        (
            {"eval_X": X, "eval_y": Y * 0, "eval_class_weight": [{0: 0, 1: 1}]},
            ValueError,
            "weights by eval_sample_weight and eval_class_weight are all zero",
        ),
        ({"init_score": ["a"] * len(Y)}, ValueError, "init_score must hold numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:eval_metric has no effect")
def test_bad_arguments_leave_the_estimator_as_it_was(given, error, message):
    model = classifier()
    with pytest.raises(error, match=message):
        model.fit(X, Y, **given)
    assert vars(model) == vars(classifier())


def test_bad_earlier_models():
    forest = classifier(boosting_type="rf", colsample_bytree=0.5)
    plain = classifier().fit(X, Y)
    with pytest.raises(ValueError, match="cannot be used with random forests"):
        forest.fit(X, Y, init_model=plain)
    features, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="X has 4 features"):
        classifier().fit(features, y, init_model=plain)
    many = classifier().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="init_model has 3 trees per round, but 1"):
        regressor().fit(X, Y, init_model=many)
    with pytest.raises(TypeError, match="LGBMClassifier, got an LGBMRegressor"):
        classifier().fit(X, Y, init_model=regressor().fit(X, Y))
    with pytest.raises(ValueError, match="y holds labels that init_model does not"):
        classifier().fit(X, Y + 1, init_model=plain)
    with pytest.raises(ValueError, match="needs trees that differ"):
        classifier(boosting_type="rf").fit(X, Y)


def test_names_of_an_earlier_model():
    names = [f"m{i}" for i in range(X.shape[1])]
    model = classifier().fit(X, Y, feature_name=names)
    other = classifier().fit(X, Y, init_model=model)
    assert other.feature_name_ == model.feature_name_ == names
    model.fit(X, Y, init_model=model)
    assert (model.feature_name_, model.n_iter_) == (names, 24)
    new = [f"n{i}" for i in range(X.shape[1])]
    assert model.fit(X, Y, init_model=other, feature_name=new).feature_name_ == new
    with pytest.raises(ValueError, match="feature_name must have a name"):
        model.fit(X, Y, init_model=other, feature_name=["a"])


def test_names_of_the_same_object_are_forgotten_for_an_earlier_model(pandas):
    frame = pandas.DataFrame(X, columns=[f"m{i}" for i in range(X.shape[1])])
    bare = classifier().fit(X, Y)
    model = classifier().fit(frame, Y)
    model.fit(X, Y, init_model=bare)
    assert not hasattr(model, "feature_names_in_")
    assert model.feature_name_ == bare.feature_name_
    renamed = frame.rename(columns=lambda name: name + "x")
    later = classifier().fit(renamed, Y)
    assert model.fit(renamed, Y, init_model=later).feature_name_ == later.feature_name_


def test_categories_beside_an_earlier_model():
    features = np.column_stack([RX, np.arange(len(RX)) % 3])
    first = regressor(categorical_feature=[10]).fit(features, RY)
    for same in ([10], (10,), "auto"):
        again = regressor(categorical_feature=same).fit(features, RY, init_model=first)
        assert again.n_iter_ == 24
    named = first.fit(features, RY, feature_name=[*map(str, range(10)), "kind"])
    regressor().fit(features, RY, init_model=named, categorical_feature=["kind"])
    for other in ([9], [9, 10], None):
        with pytest.raises(ValueError, match=r"not the columns .* which are \[10\]"):
            regressor(categorical_feature=other).fit(features, RY, init_model=first)
    with pytest.raises(ValueError, match="99"):
        regressor().fit(features, RY, init_model=first, categorical_feature=[99])
    plain = regressor().fit(features, RY)
    regressor(categorical_feature=None).fit(features, RY, init_model=plain)


def fits_itself(model, role):
    """Arguments of fit and options by which a fit of a model fits it again."""

    def inner(*args):
        model.fit(RX[:, :3], RY)

    def objective(y_true, y_pred):
        inner()

    def callback(env):
        inner()

    return {
        "objective": ({"objective": objective}, {}),
        "metric": ({}, {"eval_set": [(RX, RY)], "eval_metric": lambda y, p: inner()}),
        "callback": ({}, {"callbacks": [callback]}),
    }[role]


@pytest.mark.parametrize("role", ["objective", "metric", "callback"])
def test_a_fit_inside_a_fit_of_the_same_estimator(role):
    model = regressor()
    options, given = fits_itself(model, role)
    with pytest.raises(RuntimeError, match="LGBMRegressor is already being fitted"):
        model.set_params(**options).fit(RX, RY, **given)
    assert not hasattr(model, "fitted_")
    model.set_params(objective=None).fit(RX, RY)
    assert model.n_features_in_ == RX.shape[1]


def test_a_fit_of_a_clone_inside_a_fit():
    model = regressor(n_estimators=1)
    model.fit(RX, RY, callbacks=[lambda env: clone(model).fit(RX[:, :3], RY)])
    assert model.n_features_in_ == RX.shape[1]


def test_names_of_columns():
    names = [f"measure {i}" for i in range(X.shape[1])]
    model = classifier().fit(X, Y, feature_name=names)
    assert model.feature_name_ == names
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("n_earlier", [0, 4])
def test_refit_boosts_the_rounds_after_those_of_init_model(n_earlier):
    options = {"n_estimators": 300, "learning_rate": 0.3, "early_stopping_round": 5}
    given = {}
    if n_earlier:
        given["init_model"] = classifier(n_estimators=n_earlier).fit(X, Y)
    part = classifier(**options).fit(X, Y, **given)
    whole = classifier(refit=True, **options).fit(X, Y, **given)
    n_rounds = part.booster_.current_iteration()
    assert n_earlier < whole.booster_.current_iteration() == n_rounds
    n_new = n_rounds - n_earlier
    plain = classifier(n_estimators=n_new, learning_rate=0.3).fit(X, Y, **given)
    np.testing.assert_array_equal(whole.predict_proba(X), plain.predict_proba(X))


MAXIMIZED = ["auc", "average_precision"]


@pytest.mark.parametrize("metric", [*MAXIMIZED, "binary_error", "binary_logloss"])
def test_the_round_with_the_best_value_is_kept(metric):
    model = classifier(n_estimators=60, learning_rate=0.5, early_stopping_round=60)
    model.fit(*TRAIN, eval_set=[VALID], eval_metric=metric)
    history = model.evals_result_["valid_0"][metric]
    best = np.argmax(history) if metric in MAXIMIZED else np.argmin(history)
    assert history[model.best_iteration_ - 1] == history[best]


def test_functions_may_write_to_their_arguments():
    weight = np.random.default_rng(0).random(len(TRAIN[0])) + 0.5

    def spoiling(y_true, y_pred, weight):
        total = np.average(np.abs(y_true - y_pred), weights=weight)
        for given in (y_true, y_pred, weight):
            given[:] = 7.0
        return "own", total, False

    def run(metrics):
        model = classifier(n_estimators=4).fit(
            *TRAIN,
            sample_weight=weight,
            eval_set=[VALID],
            eval_sample_weight=[np.arange(1.0, len(VALID[0]) + 1)],
            eval_metric=metrics,
        )
        return model, model.evals_result_["valid_0"]

    model, spoilt = run([spoiling, "binary_logloss", "auc"])
    plain, expected = run(["binary_logloss", "auc"])
    assert {name: spoilt[name] for name in expected} == expected
    assert len(set(spoilt["own"])) == 4
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_scores_of_the_best_round_after_init_model():
    earlier = classifier(n_estimators=7).fit(*TRAIN)
    model = classifier(n_estimators=60, learning_rate=0.5, early_stopping_round=5)
    model.fit(*TRAIN, eval_set=[VALID], eval_metric="auc", init_model=earlier)
    best = model.best_iteration_ - 7
    for metric, history in model.evals_result_["valid_0"].items():
        assert model.best_score_["valid_0"][metric] == history[best - 1]
    assert len(history) > best


def test_scores_of_the_best_round_that_an_exception_does_not_tell():
    def stop(env):
        if env.iteration == 9:
            raise EarlyStopException(8, [])

    earlier = classifier(n_estimators=7).fit(*TRAIN)
    model = classifier(n_estimators=60)
    model.fit(*TRAIN, eval_set=[VALID], callbacks=[stop], init_model=earlier)
    assert model.best_iteration_ == 9
    history = model.evals_result_["valid_0"]["binary_logloss"]
    assert model.best_score_["valid_0"]["binary_logloss"] == history[1] != history[2]


def test_init_scores_of_rows_of_weight_zero_are_left_out():
    start = np.linspace(-100.0, 100.0, len(RX))
    weight = (np.arange(len(RX)) % 3 > 0) * 1.0
    kept = weight > 0
    fits = [
        regressor(n_estimators=3).fit(RX, RY, sample_weight=weight, init_score=start),
        regressor(n_estimators=3).fit(RX[kept], RY[kept], init_score=start[kept]),
    ]
    np.testing.assert_array_equal(*(model.predict(RX) for model in fits))
