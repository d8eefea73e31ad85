"""The tools of scikit-learn around the three estimators."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import StackingClassifier, VotingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor, ndcg_scorer

X, Y = load_breast_cancer(return_X_y=True)
RX, RY = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(5)
WEIGHT = RNG.integers(1, 4, size=len(Y)).astype(float)
QID = np.repeat(np.arange(40), 10)
QX = RNG.normal(size=(400, 3))
GRADES = np.clip(np.rint(QX[:, 0] + 0.5 * RNG.normal(size=400) + 1), 0, 3).astype(int)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def classifier(**options):
    return LGBMClassifier(**{"n_estimators": 8, "num_leaves": 7, "n_jobs": 1} | options)


def regressor(**options):
    return LGBMRegressor(**{"n_estimators": 8, "num_leaves": 7, "n_jobs": 1} | options)


def ranker(**options):
    return LGBMRanker(
        **{"n_estimators": 8, "min_child_samples": 5, "n_jobs": 1} | options
    )


# --- Metadata routing -----------------------------------------------------------------


def test_weights_through_a_pipeline_in_a_search(routing):
    pipeline = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        classifier()
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=True),
    )
    grid = {"lgbmclassifier__num_leaves": [3, 7]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y, sample_weight=WEIGHT)
    scaled = StandardScaler().fit_transform(X)
    alone = classifier(
        **{"num_leaves": search.best_params_["lgbmclassifier__num_leaves"]}
    )
    alone.fit(scaled, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(scaled))
    unweighted = clone(alone).fit(scaled, Y)
    assert (unweighted.predict_proba(scaled) != alone.predict_proba(scaled)).any()


def test_start_scores_in_cross_validation(routing):
    start = RNG.normal(size=len(Y))
    seen = []

    class Watching(LGBMClassifier):
        def fit(self, X, y, sample_weight=None, init_score=None):
            seen.append((len(X), init_score))
            return super().fit(X, y, sample_weight, init_score)

    model = Watching(n_estimators=2).set_fit_request(
        init_score=True, sample_weight=True
    )
    model.set_score_request(sample_weight=True)
    given = {"init_score": start, "sample_weight": WEIGHT}
    with pytest.warns(UserWarning, match="score is that of the trees alone"):
        cross_validate(model, X, Y, params=given, cv=3)
    assert len(seen) == 3
    for n, scores in seen:
        assert len(scores) == n < len(Y)


def test_an_evaluation_set_that_the_pipeline_transforms(routing):
    train, valid, y, y_valid = train_test_split(X, Y, random_state=0)
    model = classifier(n_estimators=300, learning_rate=0.3, early_stopping_round=5)
    model.set_fit_request(eval_X=True, eval_y=True)
    pipeline = Pipeline(
        [("scale", MinMaxScaler()), ("model", model)], transform_input=["eval_X"]
    )
    pipeline.fit(train, y, eval_X=valid, eval_y=y_valid)
    scaler = MinMaxScaler().fit(train)
    alone = clone(model).fit(
        scaler.transform(train), y, eval_X=scaler.transform(valid), eval_y=y_valid
    )
    assert pipeline["model"].best_iteration_ == alone.best_iteration_ < 300
    assert pipeline["model"].evals_result_ == alone.evals_result_
    search = GridSearchCV(pipeline, {"model__num_leaves": [3, 7]}, cv=3)
    search.fit(train, y, eval_X=valid, eval_y=y_valid)
    assert 0 < search.best_estimator_["model"].best_iteration_ < 300


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: CalibratedClassifierCV(model, cv=3),
        lambda model: StackingClassifier(
            [("model", model)],
            LogisticRegression(max_iter=1000).set_fit_request(sample_weight=True),
            cv=3,
        ),
        lambda model: OneVsRestClassifier(model),
    ],
)
def test_weights_through_other_estimators(wrap, routing):
    weighted = wrap(classifier().set_fit_request(sample_weight=True))
    plain = wrap(classifier().set_fit_request(sample_weight=True))
    p = weighted.fit(X, Y, sample_weight=WEIGHT).predict_proba(X)
    q = plain.fit(X, Y).predict_proba(X)
    assert (p != q).any()
    assert np.mean(p.argmax(axis=1) == Y) > 0.9


def test_several_targets_and_transformed_ones(routing):
    both = np.column_stack([RY, RY**2])
    model = MultiOutputRegressor(regressor().set_fit_request(sample_weight=True))
    weight = RNG.integers(1, 3, size=len(RY))
    found = model.fit(RX, both, sample_weight=weight).predict(RX)
    alone = regressor().fit(RX, RY**2, sample_weight=weight).predict(RX)
    np.testing.assert_array_equal(found[:, 1], alone)
    logged = TransformedTargetRegressor(
        regressor().set_fit_request(sample_weight=True),
        func=np.log,
        inverse_func=np.exp,
    )
    found = logged.fit(RX, RY, sample_weight=weight).predict(RX)
    alone = regressor().fit(RX, np.log(RY), sample_weight=weight).predict(RX)
    np.testing.assert_allclose(found, np.exp(alone))
    chain = ClassifierChain(classifier().set_fit_request(sample_weight=True))
    chain.fit(X, np.column_stack([Y, 1 - Y]), sample_weight=WEIGHT)
    assert chain.score(X, np.column_stack([Y, 1 - Y])) > 0.9


# --- Rankers --------------------------------------------------------------------------


def search_results(search, **given):
    search.fit(QX, GRADES, **given)
    assert (search.cv_results_["mean_test_score"] > 0.7).all()
    return search


def test_ranker_in_a_search_with_marks_and_groups(routing):
    model = ranker().set_fit_request(qid=True)
    search = GridSearchCV(
        model, {"num_leaves": [3, 7]}, cv=GroupKFold(4), scoring=ndcg_scorer(5)
    )
    found = search_results(search, qid=QID, groups=QID)
    part = QID % 4
    assert found.best_estimator_.score(QX, GRADES, qid=QID) > 0.8
    assert len(set(part)) == 4


def test_ranker_whose_marks_are_the_groups(routing):
    model = ranker().set_fit_request(qid="groups")
    scorer = ndcg_scorer(5).set_score_request(qid="groups")
    found = cross_validate(
        model, QX, GRADES, cv=GroupKFold(4), scoring=scorer, params={"groups": QID}
    )
    folds = GroupKFold(4).split(QX, GRADES, QID)
    for (train, test), score in zip(folds, found["test_score"], strict=True):
        alone = ranker().fit(QX[train], GRADES[train], qid=QID[train])
        expected = ndcg_scorer(5)(alone, QX[test], GRADES[test], qid=QID[test])
        assert score == pytest.approx(expected, rel=1e-12)


def test_several_scorers_of_a_ranker(routing):
    found = cross_validate(
        ranker().set_fit_request(qid=True),
        QX,
        GRADES,
        cv=GroupKFold(4),
        scoring={"ndcg@3": ndcg_scorer(3), "ndcg": ndcg_scorer(None)},
        params={"groups": QID, "qid": QID},
    )
    assert (found["test_ndcg@3"] < found["test_ndcg"]).all()


def test_held_out_queries_in_a_search(routing):
    model = ranker(n_estimators=100, early_stopping_round=3).set_fit_request(qid=True)
    grid = {"num_leaves": [3, 7]}
    search = GridSearchCV(model, grid, cv=GroupKFold(4), scoring=ndcg_scorer(5))
    found = search_results(search, qid=QID, groups=QID).best_estimator_
    assert list(found.evals_result_) == ["validation"]
    assert found.best_iteration_ < 100


# --- Searches -------------------------------------------------------------------------


def test_early_stopping_in_a_search_in_a_pipeline():
    model = classifier(n_estimators=200, learning_rate=0.3, early_stopping_round=4)
    pipeline = make_pipeline(StandardScaler(), model)
    search = RandomizedSearchCV(
        pipeline, {"lgbmclassifier__num_leaves": [3, 5, 7]}, n_iter=3, cv=3
    ).fit(X, Y)
    assert 0 < search.best_estimator_[-1].best_iteration_ < 200
    assert search.best_score_ > 0.92


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_searches_in_parallel_find_the_same(backend):
    import joblib

    grid = {"num_leaves": [3, 7], "learning_rate": [0.1, 0.3]}
    alone = GridSearchCV(classifier(), grid, cv=3).fit(X, Y)
    with joblib.parallel_backend(backend):
        search = GridSearchCV(classifier(), grid, cv=3, n_jobs=2).fit(X, Y)
    for key in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(search.cv_results_[key], alone.cv_results_[key])


def test_threads_within_processes_are_limited():
    import joblib

    from skgoss.utils import thread_counts

    tasks = [joblib.delayed(thread_counts.n_threads)(None) for _ in range(2)]
    found = joblib.Parallel(n_jobs=2, backend="loky")(tasks)
    assert all(n <= max(1, joblib.cpu_count() // 2) for n in found)


def test_halving():
    grid = {"num_leaves": [3, 5, 7], "min_child_samples": [5, 20]}
    search = HalvingGridSearchCV(
        classifier(), grid, resource="n_estimators", max_resources=12, cv=3
    ).fit(X, Y)
    assert search.best_estimator_.n_estimators >= 4


@pytest.mark.filterwarnings("ignore:.*subsample needs subsample_freq")
def test_old_script_of_a_search_with_early_stopping():
    train, valid, y, y_valid = train_test_split(X, Y, random_state=0)
    params = {"max_depth": [3, 5], "min_child_samples": [20, 40], "subsample": [0.8, 1]}
    search = GridSearchCV(LGBMClassifier(n_estimators=20, n_jobs=1), params, cv=2)
    search.fit(
        train,
        y,
        early_stopping_rounds=10,
        eval_metric="auc",
        eval_set=[(train, y), (valid, y_valid)],
    )
    model = LGBMClassifier(n_estimators=100, num_leaves=50, subsample=0.8)
    model.fit(
        train,
        y,
        early_stopping_rounds=10,
        eval_metric="auc",
        eval_set=[(valid, y_valid)],
    )
    assert search.best_score_ > 0.9
    assert 0 < model.best_iteration_ <= 100


# --- Inspection and selection ---------------------------------------------------------


GROUPS = np.arange(len(Y)) // 10
EVALUATIONS = {
    "cross_validate": lambda model, **passed: cross_validate(
        model, X, Y, error_score="raise", **passed
    )["test_score"],
    "cross_val_score": lambda model, **passed: cross_val_score(model, X, Y, **passed),
    "cross_val_predict": lambda model, **passed: cross_val_predict(
        model, X, Y, **passed
    ),
    "learning_curve": lambda model, **passed: learning_curve(
        model, X, Y, train_sizes=[1.0], error_score="raise", **passed
    )[2],
}


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("wrap", ["alone", "pipeline", "search"])
def test_groups_are_for_the_splitter_unless_a_fit_requests_them(wrap, evaluation):
    model = LGBMClassifier(n_estimators=2)
    splitter, evaluate = GroupKFold(3), EVALUATIONS[evaluation]
    expected = evaluate(model, groups=GROUPS, cv=splitter)
    if wrap == "pipeline":
        model = make_pipeline(FunctionTransformer(), model)
    elif wrap == "search":
        model = GridSearchCV(model, {"num_leaves": [31]}, cv=GroupKFold(2))
    with sklearn.config_context(enable_metadata_routing=True):
        scores = evaluate(model, params={"groups": GROUPS}, cv=splitter)
    np.testing.assert_array_equal(scores, expected)


def test_inspection():
    model = regressor().fit(RX, RY)
    curve = partial_dependence(model, RX, [2], grid_resolution=10)
    assert curve["average"].shape == (1, 10)
    assert curve["average"][0, -1] > curve["average"][0, 0]
    found = permutation_importance(model, RX, RY, n_repeats=2, random_state=0)
    assert found["importances_mean"].argmax() in (2, 8)
    for response in ("predict_proba", "decision_function"):
        curve = partial_dependence(
            classifier().fit(X, Y), X, [0], response_method=response, grid_resolution=5
        )
        assert np.isfinite(curve["average"]).all()


def test_displays(matplotlib):
    matplotlib.use("agg")
    from sklearn.inspection import DecisionBoundaryDisplay, PartialDependenceDisplay

    model = classifier().fit(X[:, :2], Y)
    DecisionBoundaryDisplay.from_estimator(model, X[:, :2], grid_resolution=5)
    PartialDependenceDisplay.from_estimator(model, X[:, :2], [0], grid_resolution=5)
    matplotlib.pyplot.close("all")


def test_selection():
    chosen = RFE(classifier(), n_features_to_select=5).fit(X, Y)
    assert chosen.support_.sum() == 5
    assert RFECV(classifier(), step=10, cv=3).fit(X, Y).n_features_ >= 1
    chosen = SelectFromModel(classifier(importance_type="gain")).fit(X, Y)
    assert 0 < chosen.get_support().sum() < X.shape[1]


def test_curves():
    _, train, test = learning_curve(classifier(), X, Y, cv=3, train_sizes=[0.5, 1])
    assert train.shape == test.shape == (2, 3)
    found = validation_curve(
        classifier(), X, Y, param_name="num_leaves", param_range=[2, 7], cv=3
    )
    assert found[0].mean(axis=1)[0] < found[0].mean(axis=1)[1]
    p = cross_val_predict(classifier(), X, Y, cv=3, method="predict_proba")
    assert p.shape == (len(Y), 2)
    assert cross_val_score(classifier(), X, Y, scoring="roc_auc").min() > 0.95
    voting = VotingRegressor([("a", regressor()), ("b", regressor(num_leaves=3))])
    assert voting.fit(RX, RY).score(RX, RY) > 0.3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_hands_frames_on(library):
    pytest.importorskip(library)
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), [0, 1]), (MinMaxScaler(), [2, 3])),
        FunctionTransformer(),
        classifier(),
    ).set_output(transform=library)
    pipeline.fit(X, Y)
    assert pipeline[-1].feature_name_[0] == "standardscaler__x0"
    assert pipeline.score(X, Y) > 0.9


def test_html_is_cheap_and_shows_fitted_attributes():
    model = classifier().fit(X, Y, eval_set=[(X, Y)])
    shown = model._repr_html_()
    assert "LGBMClassifier" in shown
    assert "num_leaves" in shown
    assert LGBMClassifier()._repr_html_()


def test_three_classes_in_a_search_with_labels():
    features, codes = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[codes]
    search = GridSearchCV(
        classifier(), {"num_leaves": [3, 7]}, scoring="neg_log_loss", cv=3
    ).fit(features, y)
    assert set(search.predict(features)) == {"a", "b", "c"}


# --- Callbacks of scikit-learn --------------------------------------------------------


def test_progress_and_scores_of_a_ranker(routing):
    callback = pytest.importorskip("sklearn.callback")
    monitor = callback.ScoringMonitor(scoring={"ndcg": ndcg_scorer(5)})
    model = ranker().set_fit_request(qid=True).set_callbacks(monitor)
    model.fit(QX, GRADES, qid=QID)
    scores = [row["ndcg"] for row in monitor.get_logs().data]
    expected = ndcg_scorer(5)(model, QX, GRADES, qid=QID)
    assert scores[-1] == pytest.approx(expected, rel=1e-12)


def test_progress_in_a_search(capsys):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    pipeline = make_pipeline(StandardScaler(), classifier())
    search = GridSearchCV(pipeline, {"lgbmclassifier__num_leaves": [3, 7]}, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert search.best_estimator_[-1].n_iter_ == 8
    assert "GridSearchCV" in capsys.readouterr().out
