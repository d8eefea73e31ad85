"""What belongs to the rounds of a model, whoever changes or reads them."""

from __future__ import annotations

import pickle
from inspect import signature

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, PredefinedSplit

import skgoss.model_selection
from skgoss import (
    Booster,
    Dataset,
    EarlyStopException,
    LGBMClassifier,
    LGBMRegressor,
    cv,
    train,
)

RNG = np.random.default_rng(3)
N = 120
X = RNG.normal(size=(N, 3))
LATENT = RNG.exponential(np.exp(-X[:, 0]))
CENSORED = RNG.exponential(1.5, N)
Y = np.column_stack([LATENT <= CENSORED, np.minimum(LATENT, CENSORED)])
TIMES = [0.2, 0.5, 1.0]
OPTIONS = {"objective": "cox", "num_leaves": 4, "n_jobs": 1}
FEW, MANY = 4, 9


def survival(model):
    return model.predict_survival_function(X, TIMES)


# By objective: the target and other options.
OBJECTIVES = {
    "cox": (Y, {}),
    "cox_efron": (Y, {}),
    "aft_normal": (Y, {}),
    "normal": (Y[:, 1], {}),
    "regression": (Y[:, 1], {}),
    "regression_l1": (Y[:, 1], {}),
    "quantile": (Y[:, 1], {"alpha": [0.1, 0.9]}),
    "binary": (Y[:, 0], {}),
    "multiclass": (np.arange(N) % 3, {"num_class": 3}),
}


def estimator(objective):
    is_of_classes = objective in ("binary", "multiclass")
    return LGBMClassifier if is_of_classes else LGBMRegressor


def of_booster(booster, objective="cox"):
    return estimator(objective).from_booster(booster)


def fitted(n_rounds, objective="cox", **options):
    y, more = OBJECTIVES[objective]
    options = OPTIONS | {"objective": objective} | more | options
    options.pop("num_class", None)
    return estimator(objective)(**options, n_estimators=n_rounds).fit(X, y)


def arguments(objective):
    y, more = OBJECTIVES[objective]
    params = {**OPTIONS, "objective": objective, **more, "verbosity": -1}
    return params, Dataset(X, y)


def in_training(n_rounds, objective="cox", **params):
    options, data = arguments(objective)
    booster = Booster({**options, **params}, data)
    for _ in range(n_rounds):
        booster.update()
    return booster


def stopped(objective, **options):
    """A Booster whose best round is not the last one."""

    def stop(env):
        if env.iteration == MANY - 1:
            raise EarlyStopException(FEW - 1, env.evaluation_result_list)

    return train(*arguments(objective), 100, callbacks=[stop], **options)


def rolled_back(objective):
    booster = in_training(MANY, objective)
    for _ in range(MANY - FEW):
        booster.rollback_one_iter()
    return booster


def read(booster):
    return Booster(model_str=booster.model_to_string())


# Each makes a Booster of `FEW` rounds.
WAYS = {
    "stopped early": stopped,
    "goes on": lambda name: stopped(name, keep_training_booster=True),
    "goes on, saved": lambda name: read(stopped(name, keep_training_booster=True)),
    "rolled back": rolled_back,
    "freed": lambda name: in_training(FEW, name).free_dataset(),
    "pickled in training": lambda name: pickle.loads(
        pickle.dumps(in_training(FEW, name))
    ),
    "saved in training": lambda name: read(in_training(FEW, name)),
}
# What methods of predictions need in addition to rows.
NEEDED = {"times": TIMES}


def predictions(model):
    """What each method of predictions returns, or that it refuses."""
    found = {}
    for name in dir(type(model)):
        if name.startswith("predict"):
            method = getattr(model, name)
            needed = {
                k: NEEDED[k] for k in signature(method).parameters.keys() & NEEDED
            }
            try:
                values = method(X, **needed)
            except ValueError:
                found[name] = "refused"
            else:
                found[name] = values.ppf(0.3) if hasattr(values, "ppf") else values
    return found


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("way", WAYS)
def test_predictions_are_those_of_a_fit_of_as_many_rounds(way, objective):
    model = of_booster(WAYS[way](objective), objective)
    assert model.n_estimators_ == FEW
    found, expected = predictions(model), predictions(fitted(FEW, objective))
    assert found.keys() == expected.keys()
    for name, values in found.items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)
    assert not isinstance(found["predict"], str)


# --- The baseline hazard --------------------------------------------------------------


def test_the_baseline_hazard_after_init_model():
    model = LGBMRegressor(**OPTIONS, n_estimators=1)
    model.fit(X, Y, init_model=fitted(FEW - 1))
    np.testing.assert_array_equal(survival(model), survival(fitted(FEW)))


@pytest.mark.parametrize(
    "params",
    [
        {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
        {"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
        {"linear_tree": True},
        {"objective": "cox_efron"},
    ],
)
def test_the_baseline_hazard_of_other_trees(params):
    """In training, as after the fit: the sum of risks is that of the predictions."""
    model = of_booster(in_training(FEW, **params))
    np.testing.assert_array_equal(survival(model), survival(fitted(FEW, **params)))
    check_first_event(model, np.arange(N))


def check_first_event(model, learned):
    """At the first event of the training rows, all of them are at risk."""
    (event, time), risk = Y[learned].T, np.exp(model.predict(X[learned]))
    first = time[event == 1].min()
    hazard = 1.0 / risk[time >= first].sum()
    found = model.predict_survival_function(X[learned], [first])[:, 0]
    np.testing.assert_allclose(found, np.exp(-hazard * risk), rtol=1e-12)


def test_boosters_of_cv_know_their_baseline():
    split = PredefinedSplit(np.arange(N) % 3)
    results = cv(
        OPTIONS | {"verbosity": -1},
        Dataset(X, Y),
        FEW,
        folds=split,
        return_cvbooster=True,
    )
    pairs = zip(results["cvbooster"].boosters, split.split(), strict=True)
    for booster, (learned, _) in pairs:
        check_first_event(of_booster(booster), learned)


@pytest.mark.parametrize("strategy", ["all", "race"])
def test_searches_score_the_survival_functions_of_each_number_of_rounds(strategy):
    def score(model, X, y):
        survival = model.predict_survival_function(X, [0.5])[:, 0]
        return -np.mean((survival - (y[:, 1] > 0.5)) ** 2)

    grid = {"n_estimators": [2, FEW, MANY], "num_leaves": [3, 4]}
    model, options = LGBMRegressor(**OPTIONS), {"scoring": score, "cv": 3}
    ours = skgoss.model_selection.GridSearchCV(
        model, grid, strategy=strategy, n_jobs=2, **options
    ).fit(X, Y)
    found = ours.cv_results_["mean_test_score"]
    assert np.isfinite(found).all()
    alone = [{k: [v] for k, v in p.items()} for p in ours.cv_results_["params"]]
    theirs = GridSearchCV(model, alone, **options).fit(X, Y)
    np.testing.assert_array_equal(found, theirs.cv_results_["mean_test_score"])
    best = LGBMRegressor(**OPTIONS | ours.best_params_).fit(X, Y)
    np.testing.assert_array_equal(survival(ours.best_estimator_), survival(best))


def test_parts_of_the_rounds_have_no_baseline_hazard():
    model = fitted(MANY)
    predictions = model.predict_survival_function, model.predict_quantile
    for predict, argument in zip(predictions, (TIMES, 0.5), strict=True):
        np.testing.assert_array_equal(
            predict(X, argument, num_iteration=MANY), predict(X, argument)
        )
        for part in ({"num_iteration": FEW}, {"start_iteration": 1}):
            with pytest.raises(ValueError, match="belongs to all 9 rounds"):
                predict(X, argument, **part)
    text = model.booster_.model_to_string(num_iteration=FEW)
    shuffled = of_booster(model.booster_).booster_.shuffle_models()
    for changed in (Booster(model_str=text), shuffled):
        with pytest.raises(ValueError, match="trees were changed or left out"):
            survival(of_booster(changed))


def test_with_start_scores_there_is_no_baseline_hazard():
    start = X[:, 1]
    for folds in (None, 3):
        model = LGBMRegressor(**OPTIONS, folds=folds, n_estimators=FEW)
        model.fit(X, Y, init_score=start)
        with pytest.raises(ValueError, match="it was fitted with init_score"):
            survival(model)


def test_rows_of_weight_0_do_not_move_survival_functions_of_folds():
    weight, more = np.ones(N), np.arange(N, N + 40) % N
    pairs = [
        (np.flatnonzero(np.arange(N) % 3 != k), np.flatnonzero(np.arange(N) % 3 == k))
        for k in range(3)
    ]
    of_more = [(train, np.append(test, N + np.arange(40))) for train, test in pairs]
    options = OPTIONS | {"n_estimators": FEW}
    alone = LGBMRegressor(**options, folds=pairs).fit(X, Y, sample_weight=weight)
    beside = LGBMRegressor(**options, folds=of_more).fit(
        np.vstack([X, X[more] + 1.0]),
        np.vstack([Y, Y[more]]),
        sample_weight=np.append(weight, np.zeros(40)),
    )
    np.testing.assert_array_equal(survival(beside), survival(alone))


# --- Means of the models of folds -----------------------------------------------------


def test_predictions_of_folds_need_the_first_round_of_each():
    model = LGBMRegressor(folds=3, n_estimators=5, n_jobs=1).fit(X, Y[:, 1])
    booster = model.booster_
    read = Booster(model_str=booster.model_to_string())
    for predict in (model.predict, booster.predict, read.predict, model.explain):
        with pytest.raises(ValueError, match=r"num_iteration=2 .* a multiple of 3"):
            predict(X, num_iteration=2)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_ - 2
    for n, stage in enumerate(stages, start=3):
        np.testing.assert_array_equal(stage, model.predict(X, num_iteration=n))
    np.testing.assert_allclose(stages[0].mean(), Y[:, 1].mean(), rtol=0.1)


def test_one_model_of_all_rows_has_one_first_round():
    options = {"folds": 3, "n_estimators": 5, "n_jobs": 1}
    model = LGBMRegressor(**options, refit=True).fit(X, Y[:, 1])
    assert len(list(model.staged_predict(X))) == model.n_estimators_
    earlier = LGBMRegressor(n_estimators=4).fit(X, Y[:, 1])
    later = LGBMRegressor(**options).fit(X, Y[:, 1], init_model=earlier)
    np.testing.assert_array_equal(
        later.predict(X, num_iteration=1), earlier.predict(X, num_iteration=1)
    )


def test_a_part_of_the_rounds_has_no_out_of_fold_scores():
    model = LGBMRegressor(folds=3, n_estimators=5, n_jobs=1).fit(X, Y[:, 1])
    text = model.booster_.model_to_string(num_iteration=6)
    part = of_booster(Booster(model_str=text))
    for name in ("oof_prediction_", "oof_score_"):
        with pytest.raises(AttributeError, match="out-of-fold"):
            getattr(part, name)
    whole = of_booster(Booster(model_str=model.booster_.model_to_string()))
    assert whole.oof_score_ == model.oof_score_
