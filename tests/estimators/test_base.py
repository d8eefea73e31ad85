"""What all estimators have: their state, spans of rounds, callbacks."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from skgoss import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


@pytest.mark.filterwarnings("ignore:start_iteration leaves out all")
def test_spans_of_rounds(diabetes):
    X, y = diabetes
    model = small(LGBMRegressor, objective="regression").fit(X, y)
    first = model.predict(X, num_iteration=2)
    rest = model.predict(X, start_iteration=2)
    whole = model.predict(X)
    np.testing.assert_allclose(first + rest, whole, rtol=1e-12)
    for same in ({"num_iteration": -1}, {"num_iteration": 99}, {"start_iteration": -3}):
        np.testing.assert_array_equal(model.predict(X, **same), whole)
    assert model.predict(X, pred_leaf=True, start_iteration=3).shape == (442, 2)
    assert not model.predict(X, start_iteration=7).any()
    assert model.predict(X, False, 0, 2).tolist() == first.tolist()


@pytest.mark.parametrize("name", ["start_iteration", "num_iteration"])
@pytest.mark.parametrize("value", [1.9, 2.0, "2", [1], np.nan])
def test_spans_are_whole_numbers(name, value, diabetes, iris):
    regressor = small(LGBMRegressor).fit(*diabetes)
    classifier = small(LGBMClassifier).fit(*iris)
    for model, X, methods in (
        (regressor, diabetes[0], ["predict"]),
        (classifier, iris[0], ["predict", "predict_proba", "decision_function"]),
    ):
        for method in methods:
            with pytest.raises(TypeError, match=f"{name} must be an int, got"):
                getattr(model, method)(X, **{name: value})
    whole = regressor.predict(diabetes[0])
    spans = ({name: np.int64(0)}, {"start_iteration": -(2**70)}, {name: -1})
    for span in (*spans, {"num_iteration": 2**70}):
        np.testing.assert_array_equal(regressor.predict(diabetes[0], **span), whole)


def test_threads_of_a_prediction(diabetes):
    X, y = diabetes
    model = small(LGBMRegressor).fit(X, y)
    whole = model.predict(X)
    for words in ({"n_jobs": 2}, {"num_threads": 1}, {"nthread": None}):
        np.testing.assert_array_equal(model.predict(X, **words), whole)
    np.testing.assert_array_equal(model.predict(X, validate_features=True), whole)


def test_base_class_learns_numbers_with_a_given_objective(diabetes):
    X, y = diabetes
    model = small(LGBMModel, objective="l2").fit(X, y)
    np.testing.assert_array_equal(
        model.predict(X), small(LGBMRegressor).fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="'objective' parameter of LGBMModel"):
        small(LGBMModel).fit(X, y)


def test_names_of_columns_come_and_go(iris):
    pd = pytest.importorskip("pandas")
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b b", "ç", '{"d": 1}'])
    model = small(LGBMClassifier).fit(frame, y)
    assert model.feature_name_ == list(frame.columns)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b b", "a", "ç", '{"d": 1}']])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.feature_name_[0] == "Column_0"


def test_kinds():
    assert is_classifier(LGBMClassifier())
    assert is_regressor(LGBMRegressor())


@pytest.mark.parametrize("cls", [LGBMModel, LGBMClassifier, LGBMRegressor])
def test_tags(cls):
    tags = get_tags(cls())
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert tags.target_tags.required


def test_pickle_holds_no_data():
    sizes = []
    for n in (1000, 20000):
        X = np.tile(np.arange(50.0), n // 50)[:, None]
        model = LGBMRegressor(n_estimators=1, num_leaves=2).fit(X, X[:, 0])
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < sizes[0] + 200


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("cls", [LGBMClassifier, LGBMRegressor])
def test_failed_fit_leaves_the_estimator_as_it_was(cls, fitted, iris):
    pd = pytest.importorskip("pandas")
    X, y = iris
    model = small(cls)
    if fitted:
        model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    model.set_params(objective=None)
    before = dict(vars(model))

    rounds = itertools.count()

    def failing(y_true, y_pred):
        if next(rounds) == 2:
            raise RuntimeError("stop")
        return 0.1 * y_pred, np.ones_like(y_pred)

    fits = [
        ({}, X[:, :2], np.full(150, np.nan), None, ValueError),
        ({}, X[:, :2], y[1:], None, ValueError),
        ({}, X[:, :2], y, -np.ones(150), ValueError),
        ({"objective": failing}, X[:, :2], y, None, RuntimeError),
        ({"objective": "nonsense"}, X[:, :2], y, None, ValueError),
    ]
    for options, X_bad, y_bad, weight, error in fits:
        model.set_params(**options)
        with pytest.raises(error):
            model.fit(X_bad, y_bad, sample_weight=weight)
        model.set_params(objective=None)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)


def test_warnings_point_at_the_line_of_the_user(iris):
    X, y = iris
    categorical = LGBMRegressor(n_estimators=1, categorical_feature=[0])
    rank = LGBMRanker(n_estimators=1)
    alone = {"eval_set": [(X, y)], "early_stopping_rounds": 2}
    numeric = small(LGBMClassifier, objective="l2")
    custom = small(LGBMClassifier, objective=logistic).fit(X[y > 0], y[y > 0])
    search = GridSearchCV(numeric, {"num_leaves": [3]}, cv=2)
    piped = make_pipeline(StandardScaler(), numeric)
    for call in (
        lambda: categorical.fit(np.round(X) - 5, y),
        lambda: rank.fit(np.zeros((2000, 1)), np.zeros(2000)),
        lambda: small(LGBMRegressor).fit(X, y, **alone),
        lambda: small(LGBMRegressor, boosting_type="dart").fit(X, y, **alone),
        lambda: numeric.fit(X, y > 0),
        lambda: custom.predict(X),
        lambda: custom.predict_proba(X),
        lambda: search.fit(X, y > 0),
        lambda: piped.fit(X, y > 0),
        lambda: small(LGBMRegressor).fit(X, y, eval_init_score=3),
    ):
        with pytest.warns(UserWarning, match=".") as caught:
            call()
        line = call.__code__.co_firstlineno
        assert {(w.filename, w.lineno) for w in caught} == {(__file__, line)}


def logistic(y_true, y_pred):
    p = 1 / (1 + np.exp(-y_pred))
    return p - y_true, p * (1 - p)


class Recorder:
    """A callback that notes what it is told and stops after some rounds."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.rounds = []
        self.seen = []
        self.setups = self.teardowns = 0

    def setup(self, estimator, context):
        self.setups += 1

    def on_fit_task_begin(self, estimator, context, *, X):
        self.seen.append(X)

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.seen.append(X)
        if context.task_name == "round":
            self.rounds.append(fitted_estimator.predict(X))
        return self.stop_after is not None and len(self.rounds) >= self.stop_after

    def teardown(self, estimator, context):
        self.teardowns += 1


@pytest.fixture
def callbacks():
    return pytest.importorskip("sklearn.callback")


def test_callback_sees_every_round(callbacks, diabetes):
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame(diabetes[0]).add_prefix("x"), diabetes[1]
    recorder = Recorder()
    model = small(LGBMRegressor).set_callbacks(recorder).fit(X, y)
    assert all(X_seen is X for X_seen in recorder.seen)
    assert (recorder.setups, recorder.teardowns) == (1, 1)
    for index, prediction in enumerate(recorder.rounds):
        expected = model.predict(X, num_iteration=index + 1)
        np.testing.assert_array_equal(prediction, expected)
    plain = small(LGBMRegressor).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), recorder.rounds[-1])


def test_callback_can_stop(callbacks, iris):
    model = small(LGBMClassifier).set_callbacks(Recorder(stop_after=3)).fit(*iris)
    assert model.n_iter_ == 3


@pytest.mark.parametrize(
    "options",
    [
        {"early_stopping_round": 2, "n_estimators": 200},
        {"min_split_gain": 2000.0, "n_estimators": 200},
        {"min_split_gain": 1e9},
        {},
    ],
)
def test_every_round_that_begins_ends(callbacks, diabetes, options):
    recorder = Recorder()
    model = LGBMRegressor(**{"n_estimators": 5} | options).set_callbacks(recorder)
    model.fit(*diabetes)
    assert len(recorder.seen) == 2 * len(recorder.rounds) + 2
    np.testing.assert_array_equal(recorder.rounds[-1], model.predict(diabetes[0]))


def test_callback_is_torn_down_after_a_failure(callbacks, iris):
    recorder = Recorder()
    model = small(LGBMClassifier).set_callbacks(recorder)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(iris[0], np.full(150, np.nan))
    assert (recorder.setups, recorder.teardowns) == (1, 1)
    assert vars(model) == before


@pytest.mark.parametrize("piped", [False, True])
def test_scoring_monitor(callbacks, iris, piped):
    X, y = iris
    model = small(LGBMClassifier)
    monitor = callbacks.ScoringMonitor(scoring="neg_log_loss")
    model.set_callbacks(monitor)
    fitted = (make_pipeline(StandardScaler(), model) if piped else model).fit(X, y)
    assert fitted.score(X, y) > 0.9
    assert len(monitor.get_logs().data) >= 5


@pytest.mark.parametrize("piped", [False, True])
def test_progress_bar(callbacks, iris, piped, capsys):
    pytest.importorskip("rich")
    model = small(LGBMClassifier)
    outer = make_pipeline(StandardScaler(), model) if piped else model
    outer.set_callbacks(callbacks.ProgressBar()).fit(*iris)
    assert "LGBMClassifier" in capsys.readouterr().out
    assert outer.score(*iris) > 0.9
