"""``warm_start``: fits that continue from the last one of the estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
    early_stopping,
    record_evaluation,
    train,
)
from skgoss.utils.messages import UnusedParameterWarning

N_ROWS, N_FIRST, N_ALL = 400, 5, 12
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N_ROWS, 5))
X[RANDOM.random(X.shape) < 0.05] = np.nan
X[:, 4] = RANDOM.integers(0, 9, N_ROWS)
_NUMBERS = np.nan_to_num(X)
Y = np.sin(2 * _NUMBERS[:, 0]) + _NUMBERS[:, 1] + 0.3 * RANDOM.normal(size=N_ROWS)
CLASSES = np.array(["a", "b", "c"])[np.digitize(Y, [-0.7, 0.7])]
SEVERAL = np.column_stack([Y, np.where(np.arange(N_ROWS) % 7, Y**2, np.nan)])
LIVES = np.column_stack([RANDOM.random(N_ROWS) < 0.7, np.exp(Y)])
WEIGHT = RANDOM.integers(0, 4, N_ROWS)
QID = np.repeat(np.arange(N_ROWS // 10), 10)
GRADES = np.digitize(Y, [-0.7, 0.7])
RANKING = LGBMRanker, GRADES, {"qid": QID}

# An estimator, a target, arguments of fit, and options.
FITS = {
    "l2": (LGBMRegressor, Y, {}, {}),
    "any numbers": (LGBMModel, Y**2, {}, {"objective": "poisson"}),
    "l1": (LGBMRegressor, Y, {}, {"objective": "l1"}),
    "two classes": (LGBMClassifier, Y > 0, {"sample_weight": WEIGHT}, {}),
    "three classes": (LGBMClassifier, CLASSES, {}, {}),
    "shared trees": (
        *(LGBMClassifier, CLASSES, {}),
        {"multi_strategy": "multi_output_tree"},
    ),
    "bags": (
        *(LGBMRegressor, Y, {"sample_weight": WEIGHT / 3}),
        {"subsample": 0.6, "subsample_freq": 3, "colsample_bytree": 0.6},
    ),
    "goss": (LGBMRegressor, Y, {}, {"data_sample_strategy": "goss"}),
    "extra trees": (LGBMRegressor, Y, {}, {"extra_trees": True}),
    "linear leaves": (LGBMRegressor, Y, {}, {"linear_tree": True}),
    "pairs of columns": (LGBMRegressor, Y, {}, {"pair_features": True}),
    "categories": (LGBMRegressor, Y, {}, {"categorical_feature": [4]}),
    "constraints": (
        *(LGBMRegressor, Y, {}),
        {
            "monotone_constraints": [0, 1, 0, 0, 0],
            "monotone_constraints_method": "advanced",
        },
    ),
    "quantiles": (LGBMRegressor, Y, {}, {"objective": "quantile", "alpha": [0.2, 0.7]}),
    "a distribution": (LGBMRegressor, Y, {}, {"objective": "normal"}),
    "several targets": (LGBMRegressor, SEVERAL, {}, {}),
    "cox": (LGBMRegressor, LIVES, {}, {"objective": "cox"}),
    "a function": (
        *(LGBMRegressor, Y, {}),
        {"objective": lambda y, scores: (scores - y, np.ones_like(y))},
    ),
    "lambdarank": (*RANKING, {}),
    "rank_xendcg": (*RANKING, {"objective": "rank_xendcg"}),
    "a generator": (
        *(LGBMRegressor, Y, {}),
        {"random_state": np.random.RandomState, "subsample": 0.5, "subsample_freq": 1},
    ),
}
# The same, with an evaluation of each round.
STOPPING = {"early_stopping_round": 3, "learning_rate": 0.5, "n_estimators": 40}
FITS |= {
    f"{name}, early stopping": (*rest, options | STOPPING)
    for name, (*rest, options) in FITS.items()
    if name
    in {"l2", "three classes", "linear leaves", "several targets", "cox", "bags"}
}


def estimator(kind, options, n_estimators=None):
    """An estimator with options, in which a generator begins again."""
    options = dict(options)
    if callable(options.get("random_state")):
        options["random_state"] = options["random_state"](3)
    if n_estimators is not None:
        options["n_estimators"] = n_estimators
    return kind(min_child_samples=5, num_leaves=7, warm_start=True, **options)


def continued(kind, y, arguments, options, n_first=N_FIRST, n_all=N_ALL):
    """The estimator of two fits."""
    model = estimator(kind, options, n_first).fit(X, y, **arguments)
    return model.set_params(n_estimators=n_all).fit(X, y, **arguments)


@pytest.mark.parametrize("name", FITS)
def test_two_fits_are_one(name):
    kind, y, arguments, options = FITS[name]
    n_all = options.get("n_estimators", N_ALL)
    once = estimator(kind, options, n_all).fit(X, y, **arguments)
    twice = continued(kind, y, arguments, options, n_all=n_all)
    assert once.n_iter_ > N_FIRST or "stopping" in name
    assert twice.booster_.dump_model() == once.booster_.dump_model()
    assert vars(twice._model.header) == vars(once._model.header)
    assert twice.evals_result_ == once.evals_result_
    assert twice.best_iteration_ == once.best_iteration_
    assert twice.best_score_ == once.best_score_
    raw = [model.predict(X, raw_score=True) for model in (once, twice)]
    np.testing.assert_array_equal(*raw)


def test_a_fit_that_has_stopped_stops_again():
    once = estimator(LGBMRegressor, STOPPING).fit(X, Y)
    again = clone(once).fit(X, Y).set_params(n_estimators=80).fit(X, Y)
    assert once.n_iter_ == again.n_iter_ < 37
    assert again.evals_result_ == once.evals_result_
    # The patience counts rounds of the last fit: more of it would not stop here.
    assert len(again.evals_result_["validation"]["l2"]) == once.n_iter_ + 3


def test_callbacks_see_the_new_rounds_and_records_all():
    sets = {"eval_set": [(X[:100], Y[:100])], "eval_names": ["first"]}
    records, rounds = {}, []
    model = estimator(LGBMRegressor, {}, N_FIRST).fit(X, Y, **sets)
    earlier = model.evals_result_
    model.set_params(n_estimators=N_ALL).fit(
        X,
        Y,
        **sets,
        callbacks=[record_evaluation(records), lambda env: rounds.append(env[2:5])],
    )
    assert rounds == [(i, N_FIRST, N_ALL) for i in range(N_FIRST, N_ALL)]
    assert records == model.evals_result_
    assert records["first"]["l2"][:N_FIRST] == earlier["first"]["l2"]
    assert len(records["first"]["l2"]) == N_ALL


def test_metrics_of_other_sets_begin_again():
    model = estimator(LGBMRegressor, {}, N_FIRST)
    model.fit(X, Y, eval_set=[(X[:100], Y[:100])])
    model.set_params(n_estimators=N_ALL)
    model.fit(X, Y, eval_set=[(X[100:], Y[100:])])
    assert len(model.evals_result_["valid_0"]["l2"]) == N_ALL - N_FIRST
    stopping = early_stopping(2, verbose=False)
    model.set_params(n_estimators=60, learning_rate=0.1)
    model.fit(X, Y, eval_set=[(X[:50], Y[:50][::-1])], callbacks=[stopping])
    assert model.n_iter_ > N_ALL


def test_the_best_round_may_be_one_of_the_last_fit():
    y = LIVES
    sets = {"eval_set": [(X[:100], y[:100][::-1])]}
    model = estimator(LGBMRegressor, {"objective": "cox"}, 30).fit(X, y, **sets)
    best = int(np.argmin(model.evals_result_["valid_0"]["cox_nll"])) + 1
    assert best < 28
    model.set_params(n_estimators=40)
    model.fit(X, y, **sets, callbacks=[early_stopping(3, verbose=False)])
    assert model.n_iter_ == model.best_iteration_ == best
    with pytest.raises(ValueError, match="the model has no baseline"):
        model.predict_survival_function(X, [1.0])


def test_time_limit_leaves_rounds_for_the_next_fit():
    options = {"time_limit": 1e-9}
    with pytest.warns(UserWarning, match="time_limit"):
        model = estimator(LGBMRegressor, options, N_ALL).fit(X, Y)
    assert model.n_iter_ == 1
    free = {"time_limit": None, "n_jobs": 1, "verbosity": -2, "memory_limit": 1e9}
    model.set_params(**free).fit(X, Y)
    once = estimator(LGBMRegressor, {}, N_ALL).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), once.predict(X))


@pytest.mark.parametrize("copy", [lambda m: pickle.loads(pickle.dumps(m)), "a file"])
def test_saved_models_continue(copy, tmp_path):
    once = estimator(LGBMClassifier, {}, N_ALL).fit(X, CLASSES)
    model = estimator(LGBMClassifier, {}, N_FIRST).fit(X, CLASSES)
    if callable(copy):
        model = copy(model)
    else:
        model.to_file(tmp_path / "model.txt")
        model = LGBMClassifier.from_file(tmp_path / "model.txt")
    model.set_params(n_estimators=N_ALL).fit(X, CLASSES)
    np.testing.assert_array_equal(model.predict_proba(X), once.predict_proba(X))


def test_equal_rounds_add_nothing():
    model = estimator(LGBMRegressor, {}, N_FIRST).fit(X, Y)
    before = model.booster_
    with pytest.warns(UserWarning, match=f"already has n_estimators={N_FIRST} rounds"):
        assert model.fit(X, Y) is model
    assert model.booster_ is before
    # scikit-learn's, too, keeps the model.
    theirs = HistGradientBoostingRegressor(max_iter=3, warm_start=True).fit(X, Y)
    assert theirs.fit(X, Y).n_iter_ == 3


def test_clones_and_unfitted_estimators_begin_at_the_first_round():
    model = estimator(LGBMRegressor, {}, N_FIRST).fit(X, Y)
    cloned = clone(model).set_params(learning_rate=0.3).fit(X, Y)
    assert cloned.n_iter_ == N_FIRST
    # Without the option, a fit forgets the last one.
    model.set_params(warm_start=False, n_estimators=3, num_leaves=3).fit(X, Y)
    assert model.n_iter_ == 3


def test_a_fit_without_the_option_can_be_continued():
    model = LGBMRegressor(n_estimators=N_FIRST).fit(X, Y)
    model.set_params(n_estimators=N_ALL, warm_start=True).fit(X, Y)
    once = LGBMRegressor(n_estimators=N_ALL).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), once.predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"n_estimators": 3},
            "n_estimators=3 must be at least 5, the number of rounds",
        ),
        ({"learning_rate": 0.2}, "learning_rate must still be 0.1, got 0.2"),
        ({"objective": "poisson"}, "objective must still be None, got 'poisson'"),
        ({"monotone_constraints": [1] * 5}, "monotone_constraints must still be None"),
        ({"X": X[:, :3]}, "X has 3 features, but .* expecting 5 .* continues from"),
        ({"y": SEVERAL}, "The last fit has 1 trees per round, but 2 are needed"),
        ({"categorical_feature": [4]}, "categorical_feature must still be 'auto'"),
    ],
)
def test_changes_are_refused(change, message):
    model = estimator(LGBMRegressor, {}, N_FIRST).fit(X, Y)
    before = model.booster_
    data = {"X": change.pop("X", X), "y": change.pop("y", Y)}
    model.set_params(**({"n_estimators": N_ALL} | change))
    with pytest.raises(ValueError, match=message):
        model.fit(**data)
    assert model.booster_ is before


def test_other_classes_are_refused():
    model = estimator(LGBMClassifier, {}, N_FIRST).fit(X, CLASSES)
    model.set_params(n_estimators=N_ALL)
    others = np.where(CLASSES == "a", "z", CLASSES)
    match = r"y holds labels that the last fit does not hold: \['z'\]"
    with pytest.raises(ValueError, match=match):
        model.fit(X, others)
    with pytest.raises(ValueError, match="the last fit has learned 1 targets"):
        model.fit(X, np.column_stack([CLASSES, CLASSES]))


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"preset": "fast"}, {}, "preset='fast', which chooses the number"),
        ({"folds": 3}, {}, "folds=3, whose model is a mean"),
        ({"refit": True}, {}, "refit=True, which learns from"),
        ({"boosting_type": "dart"}, {}, "boosting_type='dart', because later rounds"),
        (
            {"boosting_type": "rf", "colsample_bytree": 0.5},
            {},
            "boosting_type='rf', because the trees",
        ),
        ({}, {"init_score": Y}, "init_score, because the model does not keep"),
        ({}, {"init_model": "model.txt"}, "init_model, because the fit continues"),
    ],
)
def test_fits_that_cannot_be_continued_are_refused_at_once(options, arguments, message):
    with pytest.raises(
        ValueError, match=f"warm_start=True cannot be used with {message}"
    ):
        estimator(LGBMRegressor, options).fit(X, Y, **arguments)


def test_datasets_have_neither_start_scores_nor_positions():
    for fields in ({"init_score": Y}, {"position": GRADES, "group": [10] * 40}):
        rows = Dataset(X, label=GRADES, **fields)
        kind = LGBMRanker if "group" in fields else LGBMRegressor
        with pytest.raises(ValueError, match="warm_start=True cannot be used with"):
            estimator(kind, {}).fit(rows)


def test_a_changed_booster_is_continued_and_a_replaced_one_refused():
    model = estimator(LGBMRegressor, {}, N_FIRST).fit(X, Y)
    model.booster_.set_leaf_output(0, 0, 3.0)
    model.set_params(n_estimators=N_ALL).fit(X, Y)
    assert model.booster_.get_leaf_output(0, 0) == 3.0


def test_train_has_no_such_option():
    with pytest.warns(UnusedParameterWarning, match="Pass the model as init_model"):
        train({"warm_start": True}, Dataset(X, label=Y), 2)
