"""scikit-learn's scorers as metrics of evaluation sets."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import (
    f1_score,
    get_scorer,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_pinball_loss,
)

from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, train
from skgoss.objectives.metrics import METRICS

N_ROWS, N_TEST = 400, 150
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N_ROWS, 4))
Y = X[:, 0] + 0.5 * RANDOM.normal(size=N_ROWS)
WEIGHT = RANDOM.integers(1, 5, N_ROWS)
LABELS = {
    2: np.array(["no", "yes"])[(Y > 0).astype(int)],
    3: np.array(["a", "b", "c"])[np.digitize(Y, [-0.6, 0.6])],
}
TRAIN, TEST = slice(N_TEST, None), slice(N_TEST)


def fitted(kind, y, metric, weight=None, **options):
    model = kind(n_estimators=8, num_leaves=7, **options)
    return model.fit(
        X[TRAIN],
        y[TRAIN],
        eval_set=[(X[TEST], y[TEST])],
        eval_sample_weight=None if weight is None else [weight[TEST]],
        eval_metric=metric,
    )


def last(model):
    return {name: v[-1] for name, v in model.evals_result_["valid_0"].items()}


OF_CLASSES = {
    2: ["accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro", "jaccard_macro"],
    3: ["accuracy", "neg_log_loss", "f1_macro", "roc_auc_ovr"],
}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_names_of_scorers_of_classes(k, weight):
    model = fitted(LGBMClassifier, LABELS[k], OF_CLASSES[k], weight)
    found = last(model)
    for name in OF_CLASSES[k]:
        expected = get_scorer(name)(
            model,
            X[TEST],
            LABELS[k][TEST],
            sample_weight=None if weight is None else weight[TEST],
        )
        assert found[name] == pytest.approx(expected, rel=1e-12), name
    # Those of each round are those of the model of this round.
    first = last(
        model.set_params(n_estimators=3).fit(
            X[TRAIN],
            LABELS[k][TRAIN],
            eval_set=[(X[TEST], LABELS[k][TEST])],
            eval_metric="accuracy",
        )
    )
    assert 0.3 < first["accuracy"] == model.score(X[TEST], LABELS[k][TEST])


def test_objects_have_the_direction_of_their_function():
    loss = make_scorer(
        log_loss, greater_is_better=False, response_method="predict_proba"
    )
    f1 = make_scorer(f1_score, pos_label="yes")
    model = fitted(LGBMClassifier, LABELS[2], [f1, loss])
    found = last(model)
    assert found["log_loss"] == pytest.approx(found["binary_logloss"])
    assert found["f1_score"] == f1(model, X[TEST], LABELS[2][TEST])
    pinball = make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.2)
    found = last(fitted(LGBMRegressor, Y, pinball, objective="quantile", alpha=0.2))
    assert found["mean_pinball_loss"] == pytest.approx(found["quantile"])


def test_they_stop_fits():
    options = {"early_stopping_round": 4, "first_metric_only": True}
    options |= {"n_estimators": 300, "learning_rate": 0.3, "random_state": 0}
    by_name = LGBMRegressor(metric="neg_mean_absolute_error", **options).fit(X, Y)
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    by_object = LGBMRegressor(metric=scorer, **options).fit(X, Y)
    built_in = LGBMRegressor(metric="l1", **options).fit(X, Y)
    assert 0 < by_name.n_iter_ == by_object.n_iter_ == built_in.n_iter_ < 300
    (loss,) = built_in.best_score_["validation"].values()
    score = by_name.best_score_["validation"]["neg_mean_absolute_error"]
    assert score == pytest.approx(-loss)
    accuracy = LGBMClassifier(metric="accuracy", **options).fit(X, LABELS[3])
    error = LGBMClassifier(metric="multi_error", **options).fit(X, LABELS[3])
    assert accuracy.n_iter_ == error.n_iter_


def test_folds_have_them():
    model = LGBMClassifier(n_estimators=5, folds=3, metric="balanced_accuracy")
    model.fit(X, LABELS[3])
    assert 0.4 < model.oof_score_["balanced_accuracy"] < 1


def test_names_that_both_have_are_ours():
    for name in ("r2", "average_precision"):
        assert name in METRICS
    found = last(fitted(LGBMClassifier, LABELS[2], ["roc_auc", "average_precision"]))
    assert set(found) == {"auc", "average_precision", "binary_logloss"}


def test_weights_by_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        asks = get_scorer("accuracy").set_score_request(sample_weight=True)
        found = last(
            fitted(LGBMClassifier, LABELS[2], ["accuracy", "error", asks], WEIGHT)
        )
        plain = last(fitted(LGBMClassifier, LABELS[2], "accuracy"))
    assert found["accuracy_score"] == pytest.approx(1 - found["binary_error"])
    assert found["accuracy"] == plain["accuracy"] != found["accuracy_score"]


def test_an_objective_that_is_a_function_has_its_usual_probabilities():
    def objective(y, scores):
        p = 1 / (1 + np.exp(-scores))
        return p - y, p * (1 - p)

    found = last(
        fitted(
            LGBMClassifier,
            LABELS[2],
            ["neg_log_loss", "accuracy", "error"],
            objective=objective,
        )
    )
    assert found["neg_log_loss"] == pytest.approx(-found["binary_logloss"])
    assert found["accuracy"] == pytest.approx(1 - found["binary_error"])


def test_rankers_score_numbers():
    model = LGBMRanker(n_estimators=3)
    grades, qid = np.digitize(Y, [-0.6, 0.6]), np.arange(N_ROWS) // 20
    model.fit(
        X,
        grades,
        qid=qid,
        eval_set=[(X, grades)],
        eval_qid=[qid],
        eval_metric="neg_mean_squared_error",
    )
    score = get_scorer("neg_mean_squared_error")(model, X, grades)
    found = model.evals_result_["training"]["neg_mean_squared_error"][-1]
    assert found == pytest.approx(score)


def test_estimators_with_scorers_are_cloned_and_pickled():
    scorer = make_scorer(f1_score, pos_label="yes")
    model = LGBMClassifier(n_estimators=3, metric=scorer).fit(X, LABELS[2])
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        copy.fit(X, LABELS[2], eval_set=[(X, LABELS[2])])
        assert "f1_score" in copy.evals_result_["training"]


SCORER = make_scorer(mean_absolute_error)
SEVERAL = np.column_stack([Y, Y**2])


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: fitted(LGBMRegressor, SEVERAL, SCORER), "only estimators of one"),
        (
            lambda: fitted(
                LGBMRegressor, Y, SCORER, objective="quantile", alpha=[0.2, 0.8]
            ),
            "only estimators of one target, and one prediction",
        ),
        (lambda: fitted(LGBMRegressor, Y, SCORER, objective="normal"), "only estim"),
        (
            lambda: train({}, Dataset(X, label=Y), 2, feval=SCORER),
            "Pass a function of targets and predictions",
        ),
        (
            lambda: fitted(
                LGBMClassifier,
                np.eye(3)[np.digitize(Y, [-0.6, 0.6])],
                "accuracy",
                objective="cross_entropy",
            ),
            "The scorer 'accuracy' needs labels or numbers",
        ),
        (
            lambda: fitted(LGBMClassifier, LABELS[2], "f1"),
            "The scorer 'f1' failed: pos_label=1",
        ),
    ],
)
def test_what_has_no_scorers_is_refused(fit, message):
    with pytest.raises(ValueError, match=message):
        fit()


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="metric 'accurate' is not known"):
        LGBMClassifier(metric="accurate", early_stopping_round=3).fit(X, LABELS[2])


def test_a_scorer_that_cannot_be_computed_is_named_as_one():
    y = (Y[:, None] > np.quantile(Y, [0.3, 0.6])).astype(int)
    model = LGBMClassifier(n_estimators=2)
    with pytest.warns(UserWarning, match=r"scorer 'f1' needs .* one target"):
        model.fit(X, y, eval_set=[(X, y)], eval_metric="f1")
