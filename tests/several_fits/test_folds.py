"""Folds as one model: the mean of the folds' models, its files, what it refuses."""

import pickle

import numpy as np
import pytest
from scipy.stats import gmean
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skgoss
from helpers.folds import (
    DATA,
    FOLDS,
    SMALL,
    classes,
    fit,
    joined_scores,
    models_of_folds,
    numbers,
)
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.columns import lifetimes
from skgoss.fit.time_limit import TimeLimit
from skgoss.objectives.survival import PartialLikelihood
from skgoss.training.fit_setup import FitSetup
from skgoss.training.schedule import at_once

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


# --- The model ------------------------------------------------------------------------


@warns_of_dart
@pytest.mark.parametrize(
    ("task", "kind"),
    [(t, k) for t in DATA for k in KINDS if t == "regression" or k in FOR_CLASSES],
)
def test_model_is_the_mean_of_the_models_of_the_folds(task, kind):
    model, (X, _) = fit(task, **KINDS[kind]), DATA[task][1]()
    models = list(models_of_folds(task, **KINDS[kind]))
    scores = [other.predict(X, raw_score=True) for other, _ in models]
    expected = joined_scores(scores, model._model.link.kind)
    found = model.predict(X, raw_score=True).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    assert model.n_iter_ == sum(other.current_iteration() for other, _ in models)
    for other, test in models:
        out = other.predict(X[test])
        found = model.oof_prediction_[test]
        found = found[:, 1] if task == "binary" else found
        # Forests and dropout sum the trees in another order while they are fitted.
        rtol = 1e-12 if kind in ("forest", "dart") else 0.0
        np.testing.assert_allclose(found, out, rtol=rtol)


def test_refit_boosts_the_mean_number_of_rounds_on_all_rows():
    X, y = numbers()
    model = fit(refit=True)
    n = round(gmean([other.current_iteration() for other, _ in models_of_folds()]))
    plain = LGBMRegressor(**{**SMALL, "n_estimators": n}).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.oof_prediction_, fit().oof_prediction_)


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


@pytest.mark.parametrize(
    ("n_jobs", "refit", "shares"),
    [(1, False, [1, 1 / 4, 1 / 3, 1 / 2, 1]), (2, True, [0.6, 1 / 2, 1 / 2, 1, 1])],
)
def test_folds_share_the_time_that_is_left(monkeypatch, n_jobs, refit, shares):
    asked, of_share = [], TimeLimit.of_share
    monkeypatch.setattr(
        TimeLimit, "of_share", lambda *args: asked.append(args[1]) or of_share(*args)
    )
    fit(folds=4, n_jobs=n_jobs, refit=refit, time_limit=99.0)
    assert sorted(asked) == pytest.approx(sorted(shares))
    assert asked[0] == shares[0]


@pytest.mark.parametrize("options", [{}, {"preset": "accurate", "reg_lambda": 0.0}])
def test_inner_values_are_means_of_their_leaves(options):
    """With trees of one kind, and of two that a preset has weighted."""
    model = fit(folds=3, n_estimators=3, early_stopping_round=0, **options)
    for tree in model._model.trees.trees:
        mean = np.average(tree.leaf_value, weights=tree.leaf_count)
        assert tree.internal_value[0] == pytest.approx(mean, rel=1e-6, abs=1e-6)


def test_models_of_a_mean_have_their_mean_best_rounds():
    X, y = numbers()
    model = LGBMRegressor(preset="accurate", folds=3, n_estimators=40)
    results = model.fit(X, y[::-1] + X[:, 0]).search_results_
    rounds = [round(n) for n in results["n_rounds"][results["weight"] > 0]]
    assert model.n_iter_ == 3 * sum(rounds)
    assert max(rounds) < 40


@pytest.mark.parametrize(
    "options",
    [{}, {"first_metric_only": True}, {"early_stopping_min_delta": [0.0, 1e9]}],
)
def test_folds_keep_their_best_rounds_without_patience(options):
    """As with a patience that no fold uses up."""
    options |= {"learning_rate": 0.5, "metric": ["l1", "l2"]}
    model, patient = fit(**options), fit(**options, early_stopping_round=30)
    rounds = np.argmin([v["l1"] for v in model.evals_result_.values()], axis=1) + 1
    assert model.n_iter_ == rounds.sum() < 30 * FOLDS
    assert model.evals_result_ == patient.evals_result_
    np.testing.assert_array_equal(model.oof_prediction_, patient.oof_prediction_)


def test_continuing_a_model_keeps_its_rounds():
    X, y = numbers()
    first = LGBMRegressor(**SMALL).fit(X, y)
    model = LGBMRegressor(**SMALL, folds=KFold(FOLDS), early_stopping_round=0)
    model.fit(X, y, init_model=first)
    assert model.n_iter_ == 30 + FOLDS * 30
    np.testing.assert_array_equal(model.predict(X, num_iteration=30), first.predict(X))
    rows = Dataset(X, y, free_raw_data=False)
    params = {**SMALL, "verbosity": -1}
    others = [
        skgoss.train(params, rows.subset(train), init_model=first)
        for train, _ in KFold(FOLDS).split(X)
    ]
    mean = np.mean([other.predict(X) for other in others], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12)


@pytest.mark.parametrize("objective", ["cox", "cox_efron"])
def test_baselines_are_those_of_the_out_of_fold_scores(objective):
    """Of weighted rows that a fold tests, with events at the same times."""
    X, y = numbers()
    time = np.digitize(y, np.quantile(y, np.linspace(0.1, 0.9, 9))) + 1.0
    lived = np.column_stack([np.arange(len(y)) % 3 > 0, time])
    weight = np.arange(len(y)) % 4.0
    splitter = ShuffleSplit(2, test_size=0.3, random_state=0)
    model = LGBMRegressor(**SMALL, folds=splitter, objective=objective)
    model.fit(X, lived, sample_weight=weight)
    at = np.flatnonzero(np.isfinite(model.oof_prediction_))
    assert len(at) < len(y)
    bounds, is_efron = lifetimes.bounds(lived, len(y)), objective == "cox_efron"
    likelihood = PartialLikelihood(bounds[at], weight[at], efron=is_efron)
    expected = likelihood.baseline(model.oof_prediction_[None, at])
    found = model._model.baseline
    np.testing.assert_array_equal(found.time, expected.time)
    np.testing.assert_allclose(found.hazard, expected.hazard, rtol=1e-12)


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


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("objective", ["l2", "normal", "poisson"])
def test_rows_of_weight_zero_are_ignored(refit, objective):
    X, y = numbers()
    y = abs(y)
    at = np.arange(len(y)) % 3 > 0
    rows = np.flatnonzero(at)
    options = {**SMALL, "refit": refit, "max_bin": 15, "objective": objective}

    def folds(of_rows):
        fold = np.arange(len(of_rows)) % 3
        return [(of_rows[fold != k], of_rows[fold == k]) for k in range(3)]

    # Two folds test the rows of weight 0, and one learns from them.
    zeros = np.flatnonzero(~at)
    (a, b), (c, d), (e, f) = folds(rows)
    pairs = [
        (a, np.append(b, zeros)),
        (c, np.append(d, zeros)),
        (np.append(e, zeros), f),
    ]
    found = LGBMRegressor(**options, folds=pairs).fit(X, y, sample_weight=at * 1.0)
    pairs = folds(np.arange(len(rows)))
    expected = LGBMRegressor(**options, folds=pairs).fit(X[at], y[at])
    np.testing.assert_array_equal(
        found.predict_interval(X), expected.predict_interval(X)
    )
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_array_equal(found.oof_prediction_[at], expected.oof_prediction_)


@pytest.mark.parametrize(
    ("argument", "estimator"), [("groups", LGBMClassifier), ("time", LGBMRegressor)]
)
def test_folds_of_a_preset_predict_rows_of_weight_zero_too(argument, estimator):
    """They count nowhere, not even in the calibration of probabilities."""
    X, y = numbers(60)
    y = y > np.median(y) if estimator is LGBMClassifier else y
    weight = np.arange(60) % 3
    at, options = weight > 0, {"preset": "best", "n_estimators": 1, "max_bin": 15}
    groups = {argument: np.arange(60) // 6}
    found = estimator(**options).fit(X, y, sample_weight=weight, **groups)
    groups, weight = {name: values[at] for name, values in groups.items()}, weight[at]
    some = estimator(**options).fit(X[at], y[at], sample_weight=weight, **groups)
    assert found.preset_params_ == some.preset_params_
    np.testing.assert_array_equal(
        found.predict(X, raw_score=True), some.predict(X, raw_score=True)
    )
    out_of_fold = found.oof_prediction_.reshape(60, -1)[:, 0]
    of_some = some.oof_prediction_.reshape(40, -1)[:, 0]
    np.testing.assert_array_equal(out_of_fold[at], of_some)
    # Each row is tested, but for those of the first times.
    is_tested = np.isfinite(out_of_fold)
    assert is_tested[~at].sum() == is_tested[at].sum() / 2 > 0


def test_a_preset_without_folds_ignores_rows_of_weight_zero():
    X, y = numbers(60)
    weight, groups = (np.arange(60) < 30) * 1.0, np.arange(60) // 30
    options = {"preset": "best", "n_estimators": 2, "min_child_samples": 5}
    found = LGBMRegressor(**options).fit(
        X, y, sample_weight=weight, groups=groups, eval_set=[(X, y)]
    )
    few = LGBMRegressor(**options).fit(X[:30], y[:30], groups=groups[:30])
    assert found.preset_params_["folds"] is few.preset_params_["folds"] is None
    np.testing.assert_array_equal(found.predict(X), few.predict(X))
    assert len(found.evals_result_["training"]["l2"]) == 2


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


def test_times_are_routed():
    X, y = numbers()
    time = np.random.default_rng(0).permutation(len(y)) // 2
    model = LGBMRegressor(**SMALL, folds=3)
    expected = clone(model).fit(X, y, time=time)
    in_pipeline = make_pipeline(FunctionTransformer(), model)
    in_pipeline.fit(X, y, lgbmregressor__time=time)
    with config_context(enable_metadata_routing=True):
        requested = clone(model).set_fit_request(time=True)
        pipe = make_pipeline(FunctionTransformer(), requested).fit(X, y, time=time)
        found = cross_validate(
            requested,
            *(X, y),
            cv=KFold(3),
            params={"time": time},
            error_score="raise",
            return_estimator=True,
        )
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            cross_validate(model, X, y, params={"time": time})
    for fitted in (pipe[-1], in_pipeline[-1]):
        np.testing.assert_array_equal(fitted.oof_prediction_, expected.oof_prediction_)
    for fitted, (train, _) in zip(found["estimator"], KFold(3).split(X), strict=True):
        same = clone(model).fit(X[train], y[train], time=time[train])
        np.testing.assert_array_equal(fitted.oof_prediction_, same.oof_prediction_)


@pytest.mark.parametrize("options", [{"folds": 3}, {"early_stopping_round": 3}])
def test_fits_by_time_in_pickles(options):
    X, y = numbers()
    time = np.arange(len(y))[::-1] // 2
    model = LGBMRegressor(**SMALL, **options).fit(X, y, time=time)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    if "folds" in options:
        expected = model.predict_interval(X)
        np.testing.assert_array_equal(other.predict_interval(X), expected)


# --- After the fit --------------------------------------------------------------------


# --- What is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (1, "'folds' parameter .* an int >= 2"),
        ("kfold", "'folds' parameter .* splitter"),
        (241, "folds=241 needs at least 241 rows, but X has 240"),
        ([([0, 1], [999])], r"folds must hold pairs .* fold 0: .* from 0 to 239"),
        ([[1, 2, 3]], r"folds must hold pairs"),
    ],
)
def test_wrong_folds(folds, message):
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(folds=folds).fit(*numbers())


@pytest.mark.parametrize(("first", "part"), [(1.0, "test"), (0.0, "train")])
def test_each_fold_needs_weights(first, part):
    weight = np.where(np.arange(240) < 120, first, 1 - first)
    with pytest.raises(ValueError, match=f"All {part} rows of fold 0 have the weight"):
        LGBMRegressor(folds=[(np.arange(120), np.arange(120, 240))]).fit(
            *numbers(), sample_weight=weight
        )


@pytest.mark.parametrize(
    ("estimator", "given", "message"),
    [
        (LGBMClassifier(folds=200), {}, "folds=200 needs .* 200 rows of a class"),
        (
            LGBMClassifier(folds=2),
            {"groups": np.zeros(240)},
            "2 groups, but X has only one.* or leave groups out",
        ),
        (
            LGBMRanker(folds=2),
            {"group": [240]},
            "2 queries, but X has only one.* or leave folds out",
        ),
    ],
)
def test_folds_larger_than_classes_or_groups(estimator, given, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*classes(), **given)


ROWS = Dataset(*numbers())
BY_FOUR = LGBMRegressor(folds=4)
CONTRADICTIONS = {
    "eval_set cannot be used with folds=4": lambda X, y: BY_FOUR.fit(
        X, y, eval_set=[(X, y)]
    ),
    "groups needs the option folds": lambda X, y: LGBMRegressor().fit(X, y, groups=y),
    "groups must have one value for each .* 240": lambda X, y: BY_FOUR.fit(
        X, y, groups=y[:-1]
    ),
    "valid_sets cannot be used with folds=3": lambda X, y: skgoss.train(
        {"folds": 3}, ROWS, valid_sets=[ROWS]
    ),
    "keep_training_booster=True .* folds": lambda X, y: skgoss.train(
        {"folds": 3}, ROWS, keep_training_booster=True
    ),
    "folds=3 cannot be used with B": lambda X, y: skgoss.Booster({"folds": 3}, ROWS),
    "preset='best' cannot be used with Booster": lambda X, y: skgoss.Booster(
        {"preset": "best"}, ROWS
    ),
    "folds cannot be an option of cv": lambda X, y: skgoss.cv({"folds": 3}, ROWS),
}


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_contradictions_name_both(message):
    with pytest.raises(ValueError, match=message):
        CONTRADICTIONS[message](*numbers())


def test_records_hold_all_folds():
    X, y = numbers()
    found = {"left": "over"}
    calls = [skgoss.record_evaluation(found)]
    model = LGBMRegressor(**SMALL, folds=3).fit(X, y, callbacks=calls)
    assert found == model.evals_result_
    assert list(found) == ["fold_0", "fold_1", "fold_2"]
    assert found["fold_0"] is not model.evals_result_["fold_0"]
    found["fold_0"]["l2"].clear()
    assert len(model.evals_result_["fold_0"]["l2"]) == model.n_iter_ / 3


def test_test_rows_that_a_fold_learns_from():
    X, y = numbers()
    rows = np.arange(len(y))
    folds = [(rows, rows[:40]), (rows[40:], rows[:40])]
    with pytest.warns(UserWarning, match="Fold 0 is tested on 40 of its training"):
        LGBMRegressor(**SMALL, folds=folds).fit(X, y)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_folds_that_split_queries():
    X, y = numbers()
    grades = np.digitize(y, np.quantile(y, [0.5, 0.8]))
    qid = np.arange(len(y)) // 24
    with pytest.raises(ValueError, match="folds split queries: both parts of fold 0"):
        LGBMRanker(**SMALL, folds=KFold(3, shuffle=True)).fit(X, grades, qid=qid)
    whole = LGBMRanker(**SMALL, folds=GroupKFold(3)).fit(X, grades, qid=qid)
    assert np.isfinite(whole.oof_prediction_).all()


@pytest.mark.parametrize(("first", "is_later"), [(10, False), (11, False), (12, True)])
def test_folds_test_times_after_all_that_they_learn_from(first, is_later):
    """Even where rows of one time are on both sides."""
    X, y = numbers()
    time = np.append(np.arange(120) % 12, first + np.arange(120) % 5)
    order = np.random.default_rng(0).permutation(240)
    place = np.argsort(order)
    pairs = [(np.sort(place[:120]), np.sort(place[120:]))]
    model = LGBMRegressor(**SMALL, folds=pairs)
    if is_later:
        model.fit(X, y, time=time[order])
        return
    with pytest.raises(ValueError, match="folds contradict time: fold 0 trains"):
        model.fit(X, y, time=time[order])


def test_each_fold_is_told_in_a_line(capsys):
    rng = np.random.default_rng(50)
    X = rng.standard_normal((200, 3))
    model = LGBMRegressor(
        n_estimators=9, folds=3, early_stopping_round=2, verbosity=1, n_jobs=2
    ).fit(X, X[:, 0] + rng.standard_normal(200))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for i, line in enumerate(lines):
        (losses,) = model.evals_result_[f"fold_{i}"].values()
        best = int(np.argmin(losses))
        assert line == f"fold_{i}: {best + 1} rounds, l2 {losses[best]:g}"


def test_what_a_preset_chose_is_told_in_a_line(capsys):
    X = np.random.default_rng(51).standard_normal((100, 3))
    options = {"preset": "accurate", "n_estimators": 3, "verbosity": 1}
    model = LGBMRegressor(**options).fit(X, X[:, 0])
    (line,) = capsys.readouterr().out.splitlines()
    chosen = ", ".join(f"{k}={v}" for k, v in model.preset_params_.items())
    assert line == f"Chosen by preset: {chosen}"


@pytest.mark.parametrize("options", [{"early_stopping_round": 5}, {}])
def test_scores_of_folds_are_those_of_their_predictions(options):
    X, y = numbers()
    pairs = list(KFold(3).split(X))
    options = {"learning_rate": 0.5, "n_estimators": 60, **options}
    model = LGBMRegressor(folds=pairs, **options).fit(X, y)
    histories = model.evals_result_.values()
    assert max(len(history["l2"]) for history in histories) > model.n_iter_ / 3
    square = (model.oof_prediction_ - y) ** 2
    expected = [square[test].mean() for _, test in pairs]
    assert model.oof_score_["l2"] == pytest.approx(np.mean(expected))
    found = [score["l2"] for score in model.best_score_.values()]
    np.testing.assert_allclose(found, expected)
