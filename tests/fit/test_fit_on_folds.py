"""Folds as one model: the mean of the folds' models, its files, what it refuses."""

import pickle
import threading

import numpy as np
import pytest
from scipy.stats import gmean
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgoss
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.fit import fold_fits
from skgoss.training.concurrent_fits import at_once
from skgoss.training.fit_setup import FitSetup

SMALL = {"n_estimators": 30, "num_leaves": 7, "min_child_samples": 5}
FOLDS = 4


def numbers(n=240):
    X, y = make_regression(n, 8, noise=20.0, random_state=0)
    X[::7, 1] = np.nan
    return X, y


def classes(n_classes=2, n=240):
    return make_classification(
        n, 8, n_informative=5, n_classes=n_classes, flip_y=0.2, random_state=1
    )


DATA = {
    "regression": (LGBMRegressor, numbers),
    "binary": (LGBMClassifier, classes),
    "multiclass": (LGBMClassifier, lambda: classes(3)),
}
KINDS = {
    "plain": {},
    "bagging": {"subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.6},
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "linear": {"linear_tree": True},
    "forest": {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1},
    "dart": {"boosting_type": "dart"},
    "quantile": {"objective": "quantile"},
    "early": {"early_stopping_round": 3},
    "all rounds": {"early_stopping_round": 0},
}
FOR_CLASSES = ("plain", "bagging", "linear", "forest", "early")
warns_of_dart = pytest.mark.filterwarnings("ignore:Early stopping is not available")


def fit(task="regression", **options):
    estimator, data = DATA[task]
    return estimator(**{**SMALL, "folds": KFold(FOLDS), **options}).fit(*data())


def twins(task="regression", **options):
    """The models of the folds, each by `train` on the same bins, and its rows."""
    X, y = DATA[task][1]()
    rows = Dataset(X, y, free_raw_data=False)
    params = {**SMALL, "objective": fit(task).objective_, "verbosity": -1, **options}
    if task == "multiclass":
        params["num_class"] = 3
    patience = params.pop("early_stopping_round", SMALL["n_estimators"])
    if params.get("boosting_type") == "dart":
        patience = 0
    for train, test in KFold(FOLDS).split(X):
        calls = [skgoss.early_stopping(patience, verbose=False)] * (patience > 0)
        sets = [rows.subset(test)]
        yield (
            skgoss.train(params, rows.subset(train), valid_sets=sets, callbacks=calls),
            test,
        )


# --- The model ------------------------------------------------------------------------


@warns_of_dart
@pytest.mark.parametrize(
    ("task", "kind"),
    [(t, k) for t in DATA for k in KINDS if t == "regression" or k in FOR_CLASSES],
)
def test_model_is_the_mean_of_the_models_of_the_folds(task, kind):
    model, (X, _) = fit(task, **KINDS[kind]), DATA[task][1]()
    models = list(twins(task, **KINDS[kind]))
    mean = np.mean([twin.predict(X, raw_score=True) for twin, _ in models], axis=0)
    np.testing.assert_allclose(model.predict(X, raw_score=True), mean, rtol=1e-12)
    assert model.n_iter_ == sum(twin.current_iteration() for twin, _ in models)
    for twin, test in models:
        out = twin.predict(X[test])
        found = model.oof_prediction_[test]
        found = found[:, 1] if task == "binary" else found
        # Forests and dropout sum the trees in another order while they are fitted.
        rtol = 1e-12 if kind in ("forest", "dart") else 0.0
        np.testing.assert_allclose(found, out, rtol=rtol)


@pytest.mark.parametrize("task", DATA)
def test_first_rounds_are_those_of_all_folds(task):
    model, (X, _) = fit(task), DATA[task][1]()
    first = [
        twin.predict(X, raw_score=True, num_iteration=1) for twin, _ in twins(task)
    ]
    np.testing.assert_allclose(
        model.predict(X, raw_score=True, num_iteration=FOLDS), np.mean(first, axis=0)
    )


def test_scores_are_means_over_folds_with_their_error():
    model = fit("binary", metric=["binary_logloss", "auc"])
    _, y = classes()
    pairs = list(KFold(FOLDS).split(y))
    for name, score in {"binary_logloss": log_loss, "auc": roc_auc_score}.items():
        values = [score(y[t], model.oof_prediction_[t, 1]) for _, t in pairs]
        assert model.oof_score_[name] == pytest.approx(np.mean(values))
        error = np.std(values, ddof=1) / np.sqrt(FOLDS)
        assert model.oof_score_error_[name] == pytest.approx(error)
    assert [*model.evals_result_] == [f"fold_{i}" for i in range(FOLDS)]
    for name, scores in model.best_score_.items():
        assert scores["auc"] in model.evals_result_[name]["auc"]


def test_refit_boosts_the_mean_number_of_rounds_on_all_rows():
    X, y = numbers()
    model = fit(refit=True)
    n = round(gmean([twin.current_iteration() for twin, _ in twins()]))
    plain = LGBMRegressor(**{**SMALL, "n_estimators": n}).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.oof_prediction_, fit().oof_prediction_)


@pytest.mark.parametrize("task", DATA)
def test_threads_do_not_change_a_bit(task):
    X = DATA[task][1]()[0]
    one, two, three = (fit(task, folds=FOLDS, n_jobs=n) for n in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(one.oof_prediction_, other.oof_prediction_)
        np.testing.assert_array_equal(
            one.predict(X, raw_score=True), other.predict(X, raw_score=True)
        )


def test_folds_share_the_threads(monkeypatch):
    seen = []
    begin = FitSetup.begin

    def spy(plan, *arguments):
        seen.append(plan.n_threads)
        return begin(plan, *arguments)

    monkeypatch.setattr(FitSetup, "begin", spy)
    for n_jobs, n_folds in ((2, 2), (6, 3), (5, 2)):
        seen.clear()
        fit(folds=n_folds, n_estimators=1, n_jobs=n_jobs)
        n_at_once, n_each = at_once(n_folds, n_jobs)
        assert seen == [n_each] * n_folds
        assert n_at_once * n_each <= n_jobs


def test_inner_values_are_means_of_their_leaves():
    """With trees of one kind, and of two that a preset has weighted."""
    for options in ({}, {"preset": "accurate", "reg_lambda": 0.0}):
        model = fit(folds=3, n_estimators=3, early_stopping_round=0, **options)
        for tree in model._model.trees.trees:
            mean = np.average(tree.leaf_value, weights=tree.leaf_count)
            assert tree.internal_value[0] == pytest.approx(mean, rel=1e-6, abs=1e-6)


def test_continuing_a_model_keeps_its_rounds():
    X, y = numbers()
    first = LGBMRegressor(**SMALL).fit(X, y)
    model = LGBMRegressor(**SMALL, folds=KFold(FOLDS), early_stopping_round=0)
    model.fit(X, y, init_model=first)
    assert model.n_iter_ == 30 + FOLDS * 30
    np.testing.assert_array_equal(model.predict(X, num_iteration=30), first.predict(X))
    rows = Dataset(X, y, free_raw_data=False)
    params = {**SMALL, "verbosity": -1}
    twins = [
        skgoss.train(params, rows.subset(train), init_model=first)
        for train, _ in KFold(FOLDS).split(X)
    ]
    mean = np.mean([twin.predict(X) for twin in twins], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12)


def test_rows_of_weight_zero_are_predicted_and_not_learned():
    X, y = numbers()
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    other = np.where(weight == 0, 1e6, y)
    model, same = (
        LGBMRegressor(**SMALL, folds=KFold(FOLDS)).fit(X, v, sample_weight=weight)
        for v in (y, other)
    )
    np.testing.assert_array_equal(model.oof_prediction_, same.oof_prediction_)
    assert np.isfinite(model.oof_prediction_).all()


def test_rows_that_are_tested_never_or_twice():
    X, y = numbers()
    splitter = ShuffleSplit(3, test_size=0.3, random_state=0)
    model = LGBMRegressor(**SMALL, folds=splitter).fit(X, y)
    pairs = list(splitter.split(X))
    counts = np.bincount(np.concatenate([t for _, t in pairs]), minlength=len(y))
    assert (np.isnan(model.oof_prediction_) == (counts == 0)).all()
    alone = [LGBMRegressor(**SMALL, folds=[pair]).fit(X, y) for pair in pairs]
    total = np.nansum([one.oof_prediction_ for one in alone], axis=0)
    tested = counts > 0
    np.testing.assert_allclose(
        model.oof_prediction_[tested], total[tested] / counts[tested], rtol=1e-12
    )
    assert np.isnan(alone[0].oof_score_error_["l2"])


# --- Ways in --------------------------------------------------------------------------


def test_numbers_of_folds_are_stratified_and_seeded():
    X, y = classes(3)
    y = np.array(["a", "b", "c"])[y]
    seen = []

    class Spy(LGBMClassifier):
        pass

    for seed in (0, 0, 1):
        model = Spy(**SMALL, n_folds=5, random_state=seed).fit(X, y)
        seen.append(model.oof_prediction_)
    assert model.get_params()["folds"] == 5
    np.testing.assert_array_equal(seen[0], seen[1])
    assert (seen[0] != seen[2]).any()
    assert clone(model).folds == 5


def test_train_and_dataset():
    X, y = numbers()
    options = {**SMALL, "folds": KFold(FOLDS)}
    booster = skgoss.train({**options, "verbosity": -1}, Dataset(X, y))
    np.testing.assert_array_equal(booster.predict(X), fit().predict(X))
    subset = Dataset(X, y).subset(np.arange(40, 240))
    of_subset = LGBMRegressor(**options).fit(subset)
    assert of_subset.oof_prediction_.shape == (200,)


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 3},
        {"folds": 3, "refit": True},
        {"early_stopping_round": 3},
        {"early_stopping_round": 3, "refit": True},
    ],
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_objectives_of_train_get_the_rows_that_are_learned(options, is_weighted):
    X, y = numbers()
    weight = np.ones(len(y))
    weight[::5] = 0

    def squared(predictions, rows):
        assert len(predictions) == len(rows.get_label()) == rows.num_data()
        assert rows.get_weight() is None or rows.get_weight().all()
        return predictions - rows.get_label(), np.ones(len(predictions))

    models = []
    for objective in ("regression", squared):
        params = {"objective": objective, "metric": "l2", "boost_from_average": False}
        rows = Dataset(X, y, weight=weight if is_weighted else None)
        models.append(skgoss.train({**params, **options, "verbosity": -1}, rows, 8))
    expected, found = (model.predict(X) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("refit", [False, True])
def test_rows_of_weight_zero_are_ignored(refit):
    X, y = numbers()
    at = np.arange(len(y)) % 3 > 0
    rows = np.flatnonzero(at)
    options = {**SMALL, "refit": refit, "max_bin": 15}
    pairs = [(rows[i::2], rows[1 - i :: 2]) for i in (0, 1)]
    found = LGBMRegressor(**options, folds=pairs).fit(X, y, sample_weight=at * 1.0)
    few = np.arange(len(rows))
    pairs = [(few[i::2], few[1 - i :: 2]) for i in (0, 1)]
    expected = LGBMRegressor(**options, folds=pairs).fit(X[at], y[at])
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_array_equal(found.oof_prediction_[at], expected.oof_prediction_)


@pytest.mark.parametrize("estimator", [LGBMRegressor, LGBMClassifier])
def test_no_metric_means_all_rounds(estimator):
    X, y = classes()
    model = estimator(**SMALL, folds=2, metric="None").fit(X, y)
    assert (model.n_iter_, model.oof_score_) == (60, {})
    with pytest.raises(ValueError, match="Pass a metric"):
        model.set_params(early_stopping_round=3).fit(X, y)


def test_a_preset_finds_rounds_although_many_weights_are_zero():
    X, y = numbers(60)
    weight = np.zeros(60)
    weight[:8] = 1
    model = LGBMRegressor(preset="accurate", folds=KFold(2, shuffle=True)).fit(
        X, y, sample_weight=weight
    )
    assert model.preset_params_["n_estimators"] >= 1


def test_queries_stay_whole():
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(300, 5)), np.full(30, 10)
    y = np.clip(np.rint(X[:, 0] + 1), 0, 3)
    model = LGBMRanker(**SMALL, folds=3).fit(X, y, group=sizes)
    pairs = GroupKFold(3).split(X, y, np.repeat(np.arange(30), 10))
    same = LGBMRanker(**SMALL, folds=list(pairs)).fit(X, y, group=sizes)
    np.testing.assert_array_equal(model.oof_prediction_, same.oof_prediction_)
    assert set(model.oof_score_) == {f"ndcg@{k}" for k in range(1, 6)}


def test_groups_are_routed():
    X, y = numbers()
    groups = np.arange(len(y)) // 12
    expected = LGBMRegressor(**SMALL, folds=list(GroupKFold(4).split(X, y, groups)))
    expected.fit(X, y)
    for folds in (4, GroupKFold(4)):
        model = LGBMRegressor(**SMALL, folds=folds).fit(X, y, groups=groups)
        np.testing.assert_array_equal(model.oof_prediction_, expected.oof_prediction_)
    with config_context(enable_metadata_routing=True):
        model = LGBMRegressor(**SMALL, folds=3).set_fit_request(groups=True)
        pipe = make_pipeline(StandardScaler(), model)
        pipe.fit(X, y, groups=groups)
        assert pipe[-1].oof_prediction_.shape == y.shape
        found = cross_validate(
            pipe, X, y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise"
        )
    assert len(found["test_score"]) == 3


# --- After the fit --------------------------------------------------------------------


@pytest.mark.parametrize("task", DATA)
def test_files_and_pickles(task, tmp_path):
    model, (X, _) = fit(task, folds=FOLDS), DATA[task][1]()
    model.to_file(tmp_path / "model.txt")
    again = type(model).from_file(tmp_path / "model.txt")
    for other in (again, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.oof_prediction_, model.oof_prediction_)
        assert other.oof_score_ == model.oof_score_


@pytest.mark.parametrize("task", DATA)
def test_lightgbm_reads_the_model(task):
    lightgbm = pytest.importorskip("lightgbm")
    model, (X, _) = fit(task, folds=FOLDS), DATA[task][1]()
    theirs = lightgbm.Booster(model_str=model.booster_.model_to_string())
    ours = model.predict(X, raw_score=True)
    np.testing.assert_allclose(theirs.predict(X, raw_score=True), ours, rtol=1e-12)


def test_shap_values_and_stages_sum_to_the_prediction():
    model, (X, _) = fit(), numbers()
    values = model.predict(X, pred_contrib=True)
    np.testing.assert_allclose(values.sum(axis=1), model.predict(X))
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


def test_attributes_need_folds():
    model = LGBMRegressor(**SMALL).fit(*numbers())
    for name in ("oof_prediction_", "oof_score_", "oof_score_error_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=r"without the option folds"):
            getattr(model, name)


# --- What is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (1, "'folds' parameter .* an int >= 2"),
        ("kfold", "'folds' parameter .* a splitter"),
        (241, "folds=241 needs at least 241 rows, but X has 240"),
        ([([0, 1], [999])], r"folds must hold pairs .* fold 0: .* from 0 to 239"),
        ([[1, 2, 3]], r"folds must hold pairs"),
    ],
)
def test_wrong_folds(folds, message):
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(folds=folds).fit(*numbers())


class Broken:
    """A splitter that does nothing."""

    def __repr__(self):
        return "Broken()"

    def split(self, X, y=None, groups=None):
        return None


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (KFold, r"a splitter of scikit-learn such as KFold\(5\).* Got <class"),
        (KFold(2).split(np.zeros(240)), r"list of pairs .* Got <generator object"),
        (GroupKFold(2), r"folds=GroupKFold\(.* Pass the argument groups"),
        (StratifiedKFold(2), r"folds=StratifiedKFold\(.* cannot split the 240 rows"),
        (Broken(), r"folds=Broken\(\) cannot split .*'NoneType'"),
        ([(np.arange(9), [])], r"fold 0: test must be a list of numbers of rows"),
        ([(np.zeros(9, int), [9])], r"fold 0: train must differ, but 0 comes twice"),
        ([([0], [1]), 3], r"fold 1: cannot unpack"),
    ],
)
def test_what_no_splitter_is_names_the_argument(folds, message):
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(folds=folds).fit(*numbers())


@pytest.mark.parametrize("missing", [None, np.nan])
def test_groups_must_not_be_missing(missing):
    groups = np.array([3, missing, 4] * 80)
    with pytest.raises(ValueError, match=r"groups must not be missing, .* in row 1"):
        LGBMRegressor(folds=2).fit(*numbers(), groups=groups)


@pytest.mark.parametrize(("first", "part"), [(1.0, "test"), (0.0, "train")])
def test_each_fold_needs_weights(first, part):
    weight = np.where(np.arange(240) < 120, first, 1 - first)
    with pytest.raises(ValueError, match=f"All {part} rows of fold 0 have the weight"):
        LGBMRegressor(folds=[(np.arange(120), np.arange(120, 240))]).fit(
            *numbers(), sample_weight=weight
        )


def test_folds_larger_than_classes_or_groups():
    X, y = classes()
    with pytest.raises(ValueError, match=r"folds=200 needs .* 200 rows of a class"):
        LGBMClassifier(folds=200).fit(X, y)
    with pytest.raises(
        ValueError, match=r"folds=5 needs at least 5 groups, but X has 3"
    ):
        LGBMClassifier(folds=5).fit(X, y, groups=np.arange(240) % 3)
    with pytest.raises(ValueError, match=r"folds=5 needs at least 5 queries"):
        LGBMRanker(folds=5).fit(X, y, group=[100, 140])


def test_contradictions_name_both():
    X, y = numbers()
    with pytest.raises(ValueError, match=r"eval_set cannot be used with folds=4"):
        LGBMRegressor(folds=4).fit(X, y, eval_set=[(X, y)])
    with pytest.raises(ValueError, match=r"groups needs the option folds"):
        LGBMRegressor().fit(X, y, groups=y)
    with pytest.raises(ValueError, match=r"groups must have one value for each .* 240"):
        LGBMRegressor(folds=4).fit(X, y, groups=y[:-1])
    rows = Dataset(X, y)
    with pytest.raises(ValueError, match=r"valid_sets cannot be used with folds=3"):
        skgoss.train({"folds": 3}, rows, valid_sets=[rows])
    with pytest.raises(ValueError, match=r"keep_training_booster=True .* folds"):
        skgoss.train({"folds": 3}, rows, keep_training_booster=True)
    with pytest.raises(ValueError, match=r"folds cannot be used with Booster"):
        skgoss.Booster({"folds": 3}, rows)
    with pytest.raises(ValueError, match=r"folds cannot be an option of cv"):
        skgoss.cv({"folds": 3}, rows)


def test_functions_of_users_are_never_called_by_two_threads():
    inside, seen = threading.Lock(), set()

    def squared(y, predictions):
        assert inside.acquire(blocking=False)
        seen.add(threading.get_ident())
        inside.release()
        return predictions - y, np.ones_like(y)

    fit(objective=squared, metric="l2", n_jobs=4)
    assert seen == {threading.get_ident()}


def test_an_error_in_one_fold_ends_the_others():
    ended, started = [], threading.Event()

    def wrong(is_cancelled):
        started.wait()
        raise ValueError("this fold")

    def endless(is_cancelled):
        started.set()
        while not is_cancelled():
            pass
        ended.append(1)

    with pytest.raises(ValueError, match=r"this fold"):
        fold_fits.side_by_side([endless, wrong, endless], 2)
    # The last one may begin before the error is known, and then it ends as well.
    assert ended in ([1], [1, 1])
