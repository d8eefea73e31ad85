"""Several targets in one fit: the bits of scikit-learn's MultiOutput estimators."""

import copy
import importlib
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import skgoss
from helpers import outputs, several_targets
from helpers.several_targets import (
    LABELS,
    SMALL,
    WEIGHT,
    X_VALID,
    Y_VALID,
    C,
    X,
    Y,
    quiet,
)
from skgoss import Booster, Dataset, LGBMClassifier, LGBMModel, LGBMRegressor
from skgoss.training.multi_output import MultiOutput

regressor, classifier = several_targets.regressor, several_targets.classifier

KINDS = {
    **outputs.KINDS,
    "linear": {"linear_tree": True},
    "extra": {"extra_trees": True},
    "ends early": {"min_split_gain": 9.0, "n_estimators": 60},
    "one thread": {"n_jobs": 1},
}


def assert_lists_equal(actual, expected):
    assert isinstance(actual, list)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


# --- The bits of separate fits --------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_regressors_are_those_of_each_target(kind):
    model = LGBMRegressor(**{**SMALL, **KINDS[kind]}).fit(X, Y, sample_weight=WEIGHT)
    alone = MultiOutputRegressor(clone(model)).fit(X, Y, sample_weight=WEIGHT)
    rounds = {estimator.n_iter_ for estimator in alone.estimators_}
    assert model.n_iter_ == max(rounds)
    if kind == "ends early":
        assert len(rounds) > 1
    for rows in (X_VALID, X_VALID[:3]):
        np.testing.assert_array_equal(model.predict(rows), alone.predict(rows))
    assert model.score(X_VALID, Y_VALID) == alone.score(X_VALID, Y_VALID)


@pytest.mark.parametrize(
    "objective",
    ["poisson", "regression_l1", "huber", "quantile", "gamma", "cross_entropy"],
)
def test_objectives(objective):
    targets = Y - Y.min() + 0.1
    targets = targets / targets.max() if objective == "cross_entropy" else targets
    model = LGBMRegressor(**SMALL, objective=objective).fit(X, targets)
    alone = MultiOutputRegressor(clone(model)).fit(X, targets)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    roots = clone(model).set_params(reg_sqrt=True).fit(X, targets)
    expected = MultiOutputRegressor(clone(roots)).fit(X, targets).predict(X)
    np.testing.assert_array_equal(roots.predict(X), expected)


def squares(y_true, y_pred):
    assert y_true.shape == y_pred.shape == (len(y_true),)
    return y_pred - y_true, np.ones_like(y_true)


def test_a_function_as_objective():
    model = LGBMRegressor(**SMALL, objective=squares).fit(X, Y)
    alone = MultiOutputRegressor(clone(model)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


@quiet
@pytest.mark.parametrize("labels", LABELS)
def test_classifiers_are_those_of_each_target(labels):
    targets = LABELS[labels]
    model = LGBMClassifier(**SMALL).fit(X, targets, sample_weight=WEIGHT)
    alone = MultiOutputClassifier(clone(model)).fit(X, targets, sample_weight=WEIGHT)
    predicted = model.predict(X_VALID)
    np.testing.assert_array_equal(predicted, alone.predict(X_VALID))
    assert predicted.dtype == targets.dtype
    assert_lists_equal(model.predict_proba(X_VALID), alone.predict_proba(X_VALID))
    assert_lists_equal(model.classes_, alone.classes_)
    assert model.n_classes_ == [len(known) for known in model.classes_]
    last = list(model.staged_predict_proba(X_VALID))[-1]
    assert_lists_equal(last, alone.predict_proba(X_VALID))
    raw = [e.predict_proba(X_VALID, raw_score=True) for e in alone.estimators_]
    np.testing.assert_array_equal(
        model.predict_proba(X_VALID, raw_score=True), np.column_stack(raw)
    )
    assert list(model.staged_predict(X_VALID))[-1].shape == predicted.shape
    if labels == "multilabel":
        assert model.score(X, targets) == alone.score(X, targets)


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_objectives_of_many_classes(objective):
    targets = LABELS["many classes"]
    model = LGBMClassifier(**SMALL, objective=objective).fit(X, targets)
    alone = MultiOutputClassifier(clone(model)).fit(X, targets)
    assert model.objective_ == objective
    assert_lists_equal(model.predict_proba(X), alone.predict_proba(X))


# --- Evaluation -----------------------------------------------------------------------


def test_callbacks_and_schedules():
    rates = [0.3 * 0.9**i for i in range(8)]
    schedule = skgoss.callback.reset_parameter(learning_rate=rates)
    seen = []
    model = LGBMRegressor(**SMALL).fit(
        X, Y, callbacks=[schedule, lambda env: seen.append(env.model.num_trees())]
    )
    assert seen == [3 * (i + 1) for i in range(8)]
    for k in range(3):
        schedule = skgoss.callback.reset_parameter(learning_rate=rates)
        alone = LGBMRegressor(**SMALL).fit(X, Y[:, k], callbacks=[schedule])
        np.testing.assert_array_equal(model.predict(X)[:, k], alone.predict(X))


# --- Rounds by hand -------------------------------------------------------------------

QUANTILES = {"objective": "quantile", "num_leaves": 7, "verbosity": -1}
LEVELS = [0.01, 0.1, 0.5]


def of_levels(alpha, label=Y[:, 0], **options):
    return Booster({**QUANTILES, "alpha": alpha, **options}, Dataset(X, label=label))


@pytest.mark.parametrize(("least", "n_rounds"), [(0.1, 4), (3.0, 7)])
def test_outputs_that_have_ended_go_on_after_a_roll_back(least, n_rounds):
    """One of them has ended, or all have, one after the other."""
    booster = of_levels(LEVELS, min_split_gain=least, eta=0.5)
    finished = [booster.update() for _ in range(n_rounds)]
    assert finished[-1] == (least == 3.0)
    grown = [output.finished.n for output in booster._fit.rounds.outputs]
    assert min(grown) < max(grown)
    expected, n_grown = booster.predict(X), booster.current_iteration()
    for n_back in range(1, n_grown + 1):
        for _ in range(n_back):
            booster.rollback_one_iter()
        assert not any(booster.update() for _ in range(n_back))
        assert booster.current_iteration() == n_grown
        np.testing.assert_array_equal(booster.predict(X), expected)


def test_outputs_that_have_ended_try_again_as_single_fits_do():
    levels, options = LEVELS[1:], {"min_split_gain": 3.0, "eta": 0.5}
    other = Dataset(X, label=-2 * Y[:, 0])
    joint = of_levels(levels, **options)
    alone = [of_levels(level, **options) for level in levels]
    for _ in range(40):
        ended = [booster.update() for booster in alone]
        assert joint.update() == all(ended)
    assert ended == [True, True]
    ended = [booster.update(train_set=other) for booster in alone]
    assert joint.update(train_set=other) == all(ended)
    assert ended != [True, True]
    raw = np.column_stack([booster.predict(X) for booster in alone])
    np.testing.assert_array_equal(joint.predict(X, raw_score=True), raw)


def test_a_round_that_fails_has_not_happened(monkeypatch):
    booster, plain = of_levels(LEVELS), of_levels(LEVELS)
    for each in (booster, plain):
        each.update()
    before = booster.predict(X)
    state = booster._fit.rounds
    assert isinstance(state, MultiOutput)

    def fail():
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(state.outputs[2], "boost", fail)
        with pytest.raises(MemoryError):
            booster.update()
    np.testing.assert_array_equal(booster.predict(X), before)
    assert booster.current_iteration() == 1
    for each in (booster, plain):
        each.update()
    np.testing.assert_array_equal(booster.predict(X), plain.predict(X))


# --- Models ---------------------------------------------------------------------------


def test_lightgbm_reads_the_files(regressor, classifier, tmp_path, lightgbm):
    path = tmp_path / "model.txt"
    regressor.to_file(path)
    theirs = lightgbm.Booster(model_file=path).predict(X)
    np.testing.assert_allclose(theirs, regressor.predict(X), rtol=1e-13)
    LGBMClassifier(**SMALL).fit(X, LABELS["multilabel"]).to_file(path)
    ours = Booster(model_file=path).predict(X)
    theirs = lightgbm.Booster(model_file=path).predict(X)
    np.testing.assert_allclose(theirs, ours, rtol=1e-12)
    # It cannot apply several links: it predicts raw scores.
    counts = LGBMRegressor(**SMALL, objective="poisson").fit(X, np.abs(Y))
    for model in (classifier, counts):
        model.to_file(path)
        theirs = lightgbm.Booster(model_file=path).predict(X)
        raw = model.booster_.predict(X, raw_score=True)
        np.testing.assert_allclose(theirs, raw, rtol=1e-12)


@pytest.mark.usefixtures("shap")
def test_names_of_explained_outputs(classifier):
    names = ["0", "1: 0", "1: 1", "1: 2", "1: 3", "2"]
    assert classifier.explain(X).output_names == names


@pytest.mark.filterwarnings("ignore:No tree")
@pytest.mark.parametrize("kind", ["several", "two", "one", "strings"])
def test_onnx_of_labels(kind):
    """Labels in one output, probabilities in one for each target."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    labels = {
        "several": C,
        "two": np.column_stack([Y[:, 0] > 0, Y[:, 1] > 1]).astype(int) * 7,
        "one": np.column_stack([np.full(len(X), 5), C[:, 0]]),
        "strings": np.array(["p", "q", "r", "s", "t"])[C],
    }[kind]
    model = LGBMClassifier(**SMALL).fit(X, labels)
    session = runtime.InferenceSession(skgoss.to_onnx(model, X).SerializeToString())
    found = session.run(None, {"X": X})
    n_targets = labels.shape[1]
    numbers = [f"probabilities_{number}" for number in range(n_targets)]
    assert [output.name for output in session.get_outputs()] == ["label", *numbers]
    np.testing.assert_array_equal(found[0], model.predict(X))
    for own, expected in zip(found[1:], model.predict_proba(X), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12)
    proto = skgoss.to_onnx(model.booster_, X)
    found = runtime.InferenceSession(proto.SerializeToString()).run(None, {"X": X})
    np.testing.assert_allclose(found[0], model.booster_.predict(X), rtol=1e-12)


def test_onnx_of_labels_that_it_cannot_hold(pandas):
    pytest.importorskip("onnx")
    mixed = pandas.DataFrame({"a": C[:, 0], "b": np.where(Y[:, 0] > 0, "p", "q")})
    model = LGBMClassifier(**SMALL).fit(X, mixed)
    with pytest.raises(ValueError, match=r"an output of ONNX has one type"):
        skgoss.to_onnx(model, X)
    skl2onnx = pytest.importorskip("skl2onnx")
    importlib.import_module("skgoss.onnx")
    pipe = make_pipeline(StandardScaler(), LGBMClassifier(**SMALL)).fit(X, C)
    with pytest.raises(ValueError, match=r"Convert it with skgoss\.to_onnx"):
        skl2onnx.to_onnx(pipe, X)


def test_leaves_of_an_output_with_several_scores_can_be_set():
    tree = 5 * 1 + 3  # of the second round: the third class of the second output

    def change(env):
        if env.iteration == 2:
            env.model.set_leaf_output(tree, 0, 5.0)

    two = C[:, :2]
    plain, changed = (
        LGBMClassifier(**SMALL).fit(X, two, callbacks=calls)._model.trees.trees
        for calls in ([], [change])
    )
    differ = [
        index
        for index in range(5 * 3)
        if not np.array_equal(plain[index].leaf_value, changed[index].leaf_value)
    ]
    assert differ == [tree]
    assert changed[tree].leaf_value[0] == 5.0


def test_training_goes_on(regressor, classifier):
    more = LGBMRegressor(**SMALL).fit(X, Y, init_model=regressor)
    for k in range(3):
        first = LGBMRegressor(**SMALL).fit(X, Y[:, k])
        alone = LGBMRegressor(**SMALL).fit(X, Y[:, k], init_model=first)
        np.testing.assert_array_equal(more.predict(X)[:, k], alone.predict(X))
    again = LGBMClassifier(**SMALL).fit(X, C, init_model=classifier)
    assert again.n_iter_ == 16
    first = LGBMClassifier(**SMALL).fit(X, C[:, 1])
    alone = LGBMClassifier(**SMALL).fit(X, C[:, 1], init_model=first)
    np.testing.assert_array_equal(again.predict_proba(X)[1], alone.predict_proba(X))
    with pytest.raises(ValueError, match="3 trees per round, but 2 are needed"):
        LGBMRegressor(**SMALL).fit(X, Y[:, :2], init_model=regressor)
    quantiles = LGBMRegressor(**SMALL, objective="quantile", alpha=[0.1, 0.5, 0.9])
    with pytest.raises(ValueError, match="init_model has learned the quantiles"):
        LGBMRegressor(**SMALL).fit(X, Y, init_model=quantiles.fit(X, Y[:, 0]))


def test_folds_and_searches():
    for model, targets in ((LGBMRegressor, Y), (LGBMClassifier, C)):
        fitted = model(**SMALL, folds=3).fit(X, targets)
        assert list(fitted.oof_score_) == ["l2" if targets is Y else "logloss"]
        out_of_fold = fitted.oof_prediction_
        if targets is Y:
            assert out_of_fold.shape == Y.shape
        else:
            assert [part.shape[1] for part in out_of_fold] == [2, 4, 2]
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        predict = fitted.predict_interval if targets is Y else fitted.predict_set
        with pytest.raises(ValueError, match="for several targets"):
            predict(X)
    scores = cross_val_score(LGBMRegressor(**SMALL), X, Y, cv=3)
    alone = cross_val_score(MultiOutputRegressor(LGBMRegressor(**SMALL)), X, Y, cv=3)
    np.testing.assert_array_equal(scores, alone)
    labels = LABELS["multilabel"]
    search = GridSearchCV(
        LGBMClassifier(**SMALL), {"num_leaves": [3, 7]}, cv=2, scoring="roc_auc_ovr"
    )
    assert np.isfinite(search.fit(X, labels).best_score_)


def test_tags():
    for model, is_multi in ((LGBMRegressor, 1), (LGBMClassifier, 1), (LGBMModel, 0)):
        assert get_tags(model()).target_tags.multi_output == is_multi
    assert get_tags(LGBMClassifier()).classifier_tags.multi_label


# --- Bad input ------------------------------------------------------------------------


def test_rows_in_batches(tmp_path):
    pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table(list(X.T), names=[f"x{j}" for j in range(5)])
    classifier = LGBMClassifier(**SMALL).fit(table.to_pandas(), C)
    for part in range(2):
        parquet.write_table(table.slice(150 * part, 150), tmp_path / f"{part}.parquet")
    rows = dataset.dataset(tmp_path)
    expected = classifier.predict_proba(table.to_pandas())
    assert_lists_equal(classifier.predict_proba(rows), expected)
    classifier.predict_proba(rows, to_parquet=tmp_path / "out")
    found = parquet.read_table(tmp_path / "out")
    written = np.column_stack([column.to_numpy() for column in found.columns])
    np.testing.assert_array_equal(written, np.hstack(expected))


STATES = {
    "objective": (
        [["binary"], "multiclass", "binary"],
        "the objective .* is not known",
    ),
    "link": ({"kind": "joint", "slope": 1.0}, "the link must be one of"),
    "parts": ([["logistic", 1.0, 2]], "the link is made for 2 scores"),
    "no scores": ([["logistic", 1.0, 0]], "must have at least one score"),
    "no part": (["logistic"], "must have three entries"),
    "parts of parts": ([["joint", 1.0, 6]], "the link must be one of"),
    "classes": ([np.arange(2), np.arange(4)], "n_scores must be 5, got 6"),
    "no labels": ([1, 2, 3], "one-dimensional array of labels"),
}


@pytest.mark.parametrize("case", STATES)
def test_states_that_were_changed(classifier, case):
    value, message = STATES[case]
    state = copy.deepcopy(classifier.__getstate__())
    model = state["_booster"]
    if case in ("objective", "link"):
        model[case] = value
    elif isinstance(value[0], list | str):
        model["link"]["parts"] = value
    else:
        model["origin"]["classes"] = value
    with pytest.raises(ValueError, match=message):
        LGBMClassifier().__setstate__(state)


def test_leaves_of_an_output_that_has_ended_cannot_be_set():
    called = []

    def change(env):
        if env.iteration == 3:
            # The second output has learned all in its first tree.
            for tree in (0, 1, 2, 4, 6):
                env.model.set_leaf_output(tree, 0, 5.0)
            for tree in (3, 5, 7):
                with pytest.raises(ValueError, match="no tree of this output can be"):
                    env.model.set_leaf_output(tree, 0, 5.0)
            called.append(env)

    step = (X[:, 0] > 0) * 1.0
    options = {"num_leaves": 2, "learning_rate": 1.0, "min_split_gain": 1e-6}
    LGBMRegressor(**options, n_estimators=4).fit(
        X, np.column_stack([Y[:, 0], step]), callbacks=[change]
    )
    assert called
