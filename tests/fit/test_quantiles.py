"""Several quantiles in one fit: the trees of separate fits, sorted predictions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import cross_val_score

import skgoss
from helpers import outputs
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    parameters,
)
from skgoss.fit.fit_data import check_can_be_distributed

LEVELS = [0.05, 0.3, 0.5, 0.95]
SMALL = {
    "objective": "quantile",
    "n_estimators": 12,
    "num_leaves": 7,
    "min_child_samples": 5,
    "random_state": 3,
}
PARAMS = {"objective": "quantile", "alpha": LEVELS, "num_leaves": 7, "verbosity": -1}
KINDS = {
    **outputs.KINDS,
    "roots": {"reg_sqrt": True},
    "zero": {"boost_from_average": False},
    "ends early": {"min_split_gain": 4.0, "n_estimators": 40},
}


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(2)
    X[::7, 1] = np.nan
    X[:, 4] = rng.integers(0, 6, n)
    y = X[:, 0] + (0.2 + np.abs(X[:, 2])) * rng.normal(size=n)
    return X, y + 3 * (X[:, 4] == 2), rng.integers(0, 4, n)


X, Y, WEIGHT = make_data()
X_VALID, Y_VALID, WEIGHT_VALID = make_data(150, 1)
FIT = {"sample_weight": WEIGHT, "categorical_feature": [4]}


def fitted(**options):
    return LGBMRegressor(**{**SMALL, "alpha": LEVELS, **options}).fit(X, Y, **FIT)


@pytest.fixture(scope="module")
def model():
    """A model whose raw scores cross, with an evaluation set."""
    return LGBMRegressor(**SMALL, alpha=LEVELS, learning_rate=0.6).fit(
        X,
        Y,
        **FIT,
        eval_set=[(X_VALID, Y_VALID), (X, Y)],
        eval_sample_weight=[WEIGHT_VALID, WEIGHT],
        eval_metric=["quantile", "interval_coverage", "interval_width", "l1"],
    )


@pytest.mark.filterwarnings("ignore:No tree of")
@pytest.mark.parametrize("kind", KINDS)
def test_raw_scores_are_those_of_separate_fits(kind):
    model = fitted(**KINDS[kind])
    alone = [clone(model).set_params(alpha=a).fit(X, Y, **FIT) for a in LEVELS]
    expected = np.column_stack([m.predict(X_VALID, raw_score=True) for m in alone])
    raw = model.predict(X_VALID, raw_score=True)
    if kind == "ends early":
        assert len({m.n_iter_ for m in alone}) > 1
    assert model.n_iter_ == max(m.n_iter_ for m in alone)
    np.testing.assert_array_equal(raw, expected)
    by_level = np.column_stack([m.predict(X_VALID) for m in alone])
    np.testing.assert_array_equal(model.predict(X_VALID), np.sort(by_level, axis=1))


def test_predictions_never_cross(model):
    raw = model.predict(X_VALID, raw_score=True)
    assert (np.diff(raw) < 0).any()
    expected = np.sort(raw, axis=1)
    for same in (model, model.booster_):
        np.testing.assert_array_equal(same.predict(X_VALID), expected)
        np.testing.assert_array_equal(same.predict(X_VALID[:1]), expected[:1])
    stages = list(model.staged_predict(X_VALID))
    assert len(stages) == model.n_iter_
    np.testing.assert_array_equal(stages[-1], expected)
    assert all((np.diff(stage) >= 0).all() for stage in stages)
    for number, stage in enumerate(stages[:2], 1):
        part = model.predict(X_VALID, num_iteration=number)
        np.testing.assert_array_equal(part, stage)


@pytest.mark.usefixtures("shap")
def test_levels_are_explained_by_name(model):
    values = model.predict(X_VALID, pred_contrib=True)
    by_level = values.reshape(len(X_VALID), len(LEVELS), X.shape[1] + 1)
    found = model.explain(X_VALID)
    assert found.output_names == ["0.05", "0.3", "0.5", "0.95"]
    np.testing.assert_array_equal(found.values, np.moveaxis(by_level[:, :, :-1], 1, 2))


def test_metrics_by_numpy(model):
    predicted = model.predict(X_VALID)
    losses = [
        mean_pinball_loss(Y_VALID, column, alpha=a, sample_weight=WEIGHT_VALID)
        for a, column in zip(LEVELS, predicted.T, strict=True)
    ]
    errors = np.abs(Y_VALID[:, None] - predicted)
    wide = predicted[:, 3] - predicted[:, 0]
    inside = (predicted[:, 0] <= Y_VALID) & (predicted[:, 3] >= Y_VALID)
    inner = (predicted[:, 1] <= Y_VALID) & (predicted[:, 2] >= Y_VALID)
    narrow = predicted[:, 2] - predicted[:, 1]
    average = lambda values: np.average(values, weights=WEIGHT_VALID)  # noqa: E731
    expected = {
        "quantile": np.mean(losses),
        "interval_coverage@0.9": average(inside),
        "interval_coverage@0.2": average(inner),
        "interval_width@0.9": average(wide),
        "interval_width@0.2": average(narrow),
        "l1": np.mean([average(column) for column in errors.T]),
    }
    last = {k: v[-1] for k, v in model.evals_result_["valid_0"].items()}
    assert last == pytest.approx(expected, rel=1e-12)
    on_training = model.evals_result_["training"]["quantile"][-1]
    pinball = [
        mean_pinball_loss(Y, column, alpha=a, sample_weight=WEIGHT)
        for a, column in zip(LEVELS, model.predict(X).T, strict=True)
    ]
    assert on_training == pytest.approx(np.mean(pinball), rel=1e-12)


def test_sorting_does_not_increase_the_loss(model):
    raw, last = model.predict(X_VALID, raw_score=True), model.predict(X_VALID)
    loss = [
        sum(
            mean_pinball_loss(Y_VALID, column, alpha=a)
            for a, column in zip(LEVELS, values.T, strict=True)
        )
        for values in (raw, last)
    ]
    assert loss[1] < loss[0]


def test_early_stopping_by_the_mean():
    options = {**SMALL, "n_estimators": 200, "learning_rate": 0.3}
    sets = {"eval_set": [(X_VALID, Y_VALID)]}
    full = LGBMRegressor(**options, alpha=LEVELS).fit(X, Y, **sets)
    losses = full.evals_result_["valid_0"]["quantile"]
    model = LGBMRegressor(**options, alpha=LEVELS, early_stopping_round=20)
    model.fit(X, Y, **sets)
    assert model.best_iteration_ == model.n_iter_ == np.argmin(losses) + 1 < 180
    assert model.best_score_["valid_0"]["quantile"] == min(losses)
    np.testing.assert_array_equal(
        model.predict(X), full.predict(X, num_iteration=model.n_iter_)
    )
    held_out = LGBMRegressor(**options, alpha=LEVELS, early_stopping_round=5)
    held_out.fit(X, Y)
    assert list(held_out.best_score_) == ["validation"]


def test_train_and_cv():
    data = Dataset(X, label=Y, weight=WEIGHT)
    model = skgoss.train(PARAMS, data, 8)
    alone = [skgoss.train({**PARAMS, "alpha": a}, data, 8).predict(X) for a in LEVELS]
    expected = np.sort(np.column_stack(alone), axis=1)
    np.testing.assert_array_equal(model.predict(X), expected)
    as_text = {**PARAMS, "alpha": "0.05,0.3,0.5,0.95"}
    np.testing.assert_array_equal(skgoss.train(as_text, data, 8).predict(X), expected)
    found = skgoss.cv(PARAMS, data, 4, nfold=3, return_cvbooster=True)
    assert found.keys() - {"cvbooster"} == {
        "valid quantile-mean",
        "valid quantile-stdv",
    }
    assert found["cvbooster"].predict(X)[0].shape == (300, 4)


def test_folds():
    model = LGBMRegressor(**SMALL, alpha=LEVELS, folds=3).fit(X, Y)
    out_of_fold = model.oof_prediction_
    assert out_of_fold.shape == (300, 4)
    assert (np.diff(out_of_fold) >= 0).all()
    with pytest.raises(AttributeError, match="no out-of-fold"):
        fitted().oof_prediction_  # noqa: B018
    refitted = LGBMRegressor(**SMALL, alpha=LEVELS, folds=3, refit=True).fit(X, Y)
    rounds = clone(refitted).set_params(folds=None, refit=False)
    rounds.set_params(n_estimators=refitted.n_iter_).fit(X, Y)
    np.testing.assert_array_equal(refitted.predict(X), rounds.predict(X))


def test_refit_is_refused(model):
    with pytest.raises(ValueError, match="several quantiles or targets"):
        model.booster_.refit(X, Y)


def test_booster_in_training():
    data = Dataset(X, label=Y)
    valid = data.create_valid(X_VALID, label=Y_VALID)
    whole = skgoss.train(PARAMS, data, 6).predict(X)
    booster = Booster(PARAMS, data).add_valid(valid, "valid")
    for _ in range(7):
        assert not booster.update()
    seventh = booster.predict(X)
    assert booster.num_model_per_iteration() == 4
    assert [r.metric_name for r in booster.eval_train()] == ["quantile"]
    (result,) = booster.eval_valid()
    losses = [
        mean_pinball_loss(Y_VALID, column, alpha=a)
        for a, column in zip(LEVELS, booster.predict(X_VALID).T, strict=True)
    ]
    assert result.metric_value == pytest.approx(np.mean(losses), rel=1e-12)
    booster.rollback_one_iter()
    assert booster.current_iteration() == 6
    np.testing.assert_array_equal(booster.predict(X), whole)
    booster.update()
    np.testing.assert_array_equal(booster.predict(X), seventh)
    booster.set_leaf_output(5, 0, 1.5)
    assert booster.get_leaf_output(5, 0) == 1.5
    other = Dataset(X[:200], label=Y[:200] + 1.0, reference=data)
    booster.update(train_set=other)
    booster.reset_parameter({"learning_rate": 0.01}).update()
    assert booster.current_iteration() == 9
    assert (np.diff(booster.predict(X)) >= 0).all()


def test_one_level_in_a_list():
    model = fitted(alpha=[0.3])
    expected = fitted(alpha=0.3).predict(X)
    assert model.predict(X).shape == (300, 1)
    np.testing.assert_array_equal(model.predict(X)[:, 0], expected)


def test_levels_in_an_array():
    model = fitted(alpha=np.array(LEVELS))
    np.testing.assert_array_equal(model.predict(X), fitted().predict(X))
    again = Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_processes_that_share_the_rows_are_refused():
    settings = parameters.make_settings({"alpha": LEVELS}, "LGBMRegressor")
    with pytest.raises(ValueError, match="over several processes: set alpha to one"):
        check_can_be_distributed(settings)


@pytest.mark.parametrize(
    "alpha", [[0.5, 0.1], [0.1, 0.1], [0.0, 0.5], [0.5, 1.0], ["a"], "0.2,0.1", [True]]
)
def test_levels_that_are_refused(alpha):
    with pytest.raises(ValueError, match="'alpha' parameter of LGBMRegressor must be"):
        fitted(alpha=alpha)


@pytest.mark.parametrize("objective", ["huber", "fair", "regression", None])
def test_lists_are_for_quantiles(objective):
    with pytest.raises(ValueError, match="'alpha' parameter of LGBMRegressor must be"):
        fitted(objective=objective)


def test_lists_are_for_regression():
    options = {"objective": "quantile", "alpha": LEVELS}
    with pytest.raises(ValueError, match="'alpha' parameter of LGBMClassifier must"):
        LGBMClassifier(**options).fit(X, Y > 0)
    with pytest.raises(ValueError, match="is not for ranking"):
        LGBMRanker(**options).fit(X, Y > 0, group=[300])
    with pytest.raises(ValueError, match="'interval_width' cannot be computed"):
        LGBMRegressor(metric="interval_width").fit(X, Y, eval_set=[(X, Y)])


def test_repeated_and_unknown_metrics():
    model = LGBMRegressor(**SMALL, alpha=LEVELS)
    sets = {"eval_set": [(X_VALID, Y_VALID)]}
    with pytest.warns(skgoss.UnusedParameterWarning, match="'pinbal'") as caught:
        model.fit(X, Y, **sets, eval_metric=["pinbal", "mae", "l1", "quantile"])
    assert len(caught) == 1
    assert list(model.evals_result_["valid_0"]) == ["l1", "quantile"]


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_score_is_the_negative_mean_pinball_loss(model, weight):
    losses = [
        mean_pinball_loss(Y, predicted, alpha=level, sample_weight=weight)
        for level, predicted in zip(model.alpha, model.predict(X).T, strict=True)
    ]
    found = model.score(X, Y, sample_weight=weight)
    assert found < 0
    assert found == pytest.approx(-np.mean(losses))
    assert np.isfinite(cross_val_score(model, X, Y, cv=3)).all()
