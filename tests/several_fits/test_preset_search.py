"""Searches of presets: the candidates, and the mean or the blend of several."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_regression

from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    UnusedParameterWarning,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
    train,
)
from skgoss.fit.splits import of_equal_size
from skgoss.parameters import presets
from skgoss.several_fits import preset_search

X, Y = make_regression(90, 5, noise=10.0, random_state=0)
AT = np.arange(90)


@pytest.mark.parametrize("refit", [False, True])
def test_a_blend_has_the_options_of_its_best_configuration(refit):
    """It is not the first one of those that are compared."""
    rng = np.random.default_rng(2 if refit else 0)
    features = rng.normal(size=(80, 3))
    y = features[:, 0] * 2 + np.abs(features[:, 1]) + rng.normal(size=80) * 0.3
    options = {"max_bin": 15, "refit": refit, "n_estimators": 40 if refit else 20}
    model = LGBMRegressor(preset="best", **options).fit(features, y)
    results = model.search_results_
    best = int(np.argmax(results["weight"]))
    assert best > 0
    chosen = model.preset_params_
    assert chosen | results["params"][best] == chosen
    # The metrics of the rounds are those of its models, too.
    losses = [min(history["l2"]) for history in model.evals_result_.values()]
    assert np.mean(losses) == pytest.approx(results["mean_test_loss"][best])
    if refit:
        n_rounds = round(results["n_rounds"][best])
        of_fit = {k: v for k, v in chosen.items() if k in model.get_params()}
        of_fit |= {"n_estimators": n_rounds, "max_bin": 15}
        of_fit |= {"folds": None, "early_stopping_round": None}
        same = LGBMRegressor(**of_fit).fit(features, y)
        np.testing.assert_array_equal(model.predict(features), same.predict(features))
    else:
        assert np.count_nonzero(results["weight"]) > 1


@pytest.mark.parametrize("options", [{}, {"n_estimators": 5}])
def test_the_training_set_among_evaluation_sets_decides_nothing(options):
    """Without a number of rounds, the other sets decide between configurations."""
    rows, others = (X[::2], Y[::2]), (X[1::2], Y[1::2])
    model = LGBMRegressor(preset="best", num_leaves=7, max_bin=15, **options)
    fits = [
        clone(model).fit(*rows, eval_set=sets)
        for sets in ([others], [rows, others], [others, rows])
    ]
    alone, *with_training = fits
    for fit in with_training:
        assert fit.preset_params_ == alone.preset_params_
        np.testing.assert_array_equal(fit.predict(X), alone.predict(X))
        for name in ("mean_test_loss", "n_rounds"):
            found, expected = (m.search_results_.get(name, []) for m in (fit, alone))
            np.testing.assert_array_equal(found, expected)
        assert "training" in fit.evals_result_
    assert ("params" in alone.search_results_) == (not options)


@pytest.mark.parametrize("refit", [False, True])
def test_callbacks_that_a_preset_does_not_call_are_told(refit):
    options = {"preset": "accurate", "folds": 2, "n_estimators": 2, "refit": refit}
    model = LGBMRegressor(**options)
    seen, history = [], {}
    message = "callbacks are not called with preset="
    for call in (seen.append, early_stopping(3), log_evaluation()):
        with pytest.warns(UnusedParameterWarning, match=message):
            model.fit(X, Y, callbacks=[call])
    assert seen == []
    model.fit(X, Y, callbacks=[record_evaluation(history)], eval_metric="l1")
    assert history == model.evals_result_
    assert history.keys() >= {"fold_0", "fold_1"}
    assert list(model.oof_score_) == ["l1", "l2"]
    rates = reset_parameter(learning_rate=lambda index: 0.5)
    if model.refit:  # on all rows, where it is called
        slow = model.predict(X)
        assert (model.fit(X, Y, callbacks=[rates]).predict(X) != slow).any()
    else:
        with pytest.warns(UnusedParameterWarning, match=message):
            model.fit(X, Y, callbacks=[rates])


def test_presets_of_one_fit_call_callbacks():
    seen = []
    LGBMRegressor(preset="accurate", n_estimators=4).fit(X, Y, callbacks=[seen.append])
    assert [env.iteration for env in seen] == [0, 1, 2, 3]


def test_folds_that_end_by_themselves_keep_the_rounds_that_they_have():
    # The first fold learns that all targets are equal, in one round.
    pairs = [(AT[:30], AT[30:35]), (AT[30:60], AT[60:]), (AT[60:], AT[35:60])]
    y = np.where(AT < 30, 1.0, X[:, 0] + 0.1 * X[:, 1])
    options = {"folds": pairs, "min_child_samples": 2, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LGBMRegressor(preset="accurate", **options).fit(X, y)
    assert max(model.search_results_["n_rounds"]) > 2
    found = [np.mean((model.oof_prediction_ - y)[test] ** 2) for _, test in pairs]
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(np.mean((y - 1.0)[30:35] ** 2))


def test_start_scores_of_a_blend_are_those_of_its_members():
    model = LGBMRegressor(preset="accurate", folds=3, n_jobs=1).fit(X, Y)
    weights = model.search_results_["weight"]
    n_starts = 3 * np.count_nonzero(weights)
    assert n_starts < 3 * len(weights)
    model.predict(X, num_iteration=n_starts)
    with pytest.raises(ValueError, match=f"the mean of {n_starts} models, whose"):
        model.predict(X, num_iteration=n_starts - 1)


# --- The mean of several fits ---------------------------------------------------------


DRAW = np.random.default_rng(1)
ROWS = DRAW.normal(size=(160, 4))
SIGNAL = ROWS[:, 0] * ROWS[:, 1] + 2 * np.abs(ROWS[:, 2] - ROWS[:, 3])
NUMBER = SIGNAL + 0.3 * DRAW.normal(size=160)
CLASS = np.digitize(NUMBER, np.quantile(NUMBER, [0.3, 0.6]))
FIFTHS = of_equal_size(5, NUMBER, None, stratify=False, seed=0)
FEW = {"preset": "accurate", "learning_rate": 0.3}


@pytest.fixture
def short(monkeypatch):
    """Races of 38 fits, though these are less than ten seconds."""
    monkeypatch.setattr(preset_search, "_MAX_SECONDS", 0.0)


@pytest.fixture
def members(monkeypatch):
    """The members of the next means."""
    found = []
    fitted = preset_search.PresetSearch._fitted_members

    def spy(search, candidates):
        found[:] = fitted(search, candidates)
        return found

    monkeypatch.setattr(preset_search.PresetSearch, "_fitted_members", spy)
    return found


MEANS = {
    "numbers": (LGBMRegressor(**FEW), NUMBER, {}),
    "own rate": (LGBMRegressor(preset="accurate"), NUMBER, {}),
    "one fold": (LGBMRegressor(preset="fast"), ROWS[:, 0] + 2 * (ROWS[:, 1] > 0), {}),
    "weights": (LGBMRegressor(**FEW), NUMBER, {"sample_weight": np.arange(160) % 3}),
    "medians": (LGBMRegressor(**FEW, objective="l1"), NUMBER, {}),
    "counts": (LGBMRegressor(**FEW, objective="poisson"), np.floor(SIGNAL**2), {}),
    "quantiles": (
        LGBMRegressor(**FEW, objective="quantile", alpha=[0.2, 0.7]),
        NUMBER,
        {},
    ),
    "targets": (LGBMRegressor(**FEW), np.column_stack([NUMBER, -(NUMBER**2)]), {}),
    "two classes": (LGBMClassifier(**FEW), CLASS > 0, {}),
    "classes": (LGBMClassifier(**FEW), CLASS, {}),
    "shared trees": (
        LGBMClassifier(**FEW, multi_strategy="multi_output_tree"),
        CLASS,
        {},
    ),
    "ranks": (LGBMRanker(**FEW), CLASS, {"group": [16] * 10}),
}


@pytest.mark.parametrize("case", MEANS)
def test_a_mean_is_the_weighted_sum_of_fits_of_all_rows(case, members, short):
    estimator, y, arguments = MEANS[case]
    model = clone(estimator).fit(ROWS, y, **arguments)
    assert len(members) > (case != "ranks")
    results = model.search_results_
    expected = out_of_fold = 0.0
    for candidate, weight, options, trees in members:
        at = results["params"].index(candidate.params)
        assert results["weight"][at] == pytest.approx(candidate.weight)
        of_preset = presets._PRESETS[model.preset].single
        whole = model.get_params() | of_preset | model._passed_parameters()
        whole |= options | {"preset": None}
        alone = type(model)(**whole).fit(ROWS, y, **arguments)
        assert alone.n_iter_ == trees.n_rounds
        expected += weight * alone.predict(ROWS, raw_score=True)
        # Their scores of the folds, after the common number of rounds.
        folds = {"folds": 3, "early_stopping_round": 0}
        if case == "one fold":
            folds["folds"] = FIFTHS[:1]
        folds["n_estimators"] = round(results["n_rounds"][at])
        folds["learning_rate"] = 0.15 if case in ("own rate", "one fold") else 0.3
        alone = type(model)(**whole | folds).fit(ROWS, y, **arguments)
        out_of_fold += weight * alone._model.out_of_fold.scores
    found = model.predict(ROWS, raw_score=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    found = model._model.out_of_fold.scores
    np.testing.assert_allclose(found, out_of_fold, rtol=1e-9, atol=1e-12)
    # The factor of probabilities is in the weights of the members.
    assert sum(results["weight"]) == pytest.approx(1)
    assert model.n_iter_ == sum(trees.n_rounds for *_, trees in members)


def test_what_a_mean_tells_of_itself(members, short):
    model = LGBMRegressor(preset="accurate", metric="l1").fit(ROWS, NUMBER)
    largest = max(members, key=lambda member: member.weight)
    chosen = largest.options | {"n_estimators": model.n_iter_}
    assert model.preset_params_ == presets._ACCURATE | chosen
    assert model.evals_result_.keys() == {"fold_0", "fold_1", "fold_2"}
    errors = np.abs(model.oof_prediction_ - NUMBER)
    pairs = of_equal_size(3, NUMBER, None, stratify=False, seed=0)
    found = [errors[test].mean() for _, test in pairs]
    assert model.oof_score_ == pytest.approx({"l1": np.mean(found)})
    # Intervals use the rows of the folds, as those of one model do.
    low, high = model.predict_interval(ROWS, coverage=0.8).T
    half = (high - low) / 2
    np.testing.assert_allclose(half, half[0])
    assert np.mean(errors <= half[0]) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    "options", [{"folds": 3}, {"n_estimators": 5}, {"early_stopping_round": 5}]
)
def test_only_a_search_without_folds_is_a_mean_of_fits(options, members, short):
    LGBMRegressor(**FEW | options).fit(ROWS, NUMBER)
    assert not members


@pytest.mark.parametrize(
    "case", ["evaluation set", "init_model", "init_score", "distribution"]
)
def test_what_stands_against_a_mean(case, members, short):
    options, arguments = {
        "evaluation set": ({}, {"eval_set": [(ROWS[:40], NUMBER[:40])]}),
        "init_model": ({}, {"init_model": LGBMRegressor().fit(ROWS, NUMBER)}),
        "init_score": ({}, {"init_score": np.ones(160)}),
        "distribution": ({"objective": "normal"}, {}),
    }[case]
    model = LGBMRegressor(**FEW, **options).fit(ROWS, NUMBER, **arguments)
    assert not members
    assert np.count_nonzero(model.search_results_["weight"]) == 1


def test_a_booster_that_can_be_trained_further_is_one_fit(members, short):
    params = {**FEW, "verbosity": -1}
    booster = train(params, Dataset(ROWS, NUMBER), keep_training_booster=True)
    n_rounds = booster.current_iteration()
    booster.update()
    assert booster.current_iteration() == n_rounds + 1
    assert not members
    train(params, Dataset(ROWS, NUMBER))
    assert members


def test_refit_needs_folds(members, short):
    plain = LGBMRegressor(**FEW).fit(ROWS, NUMBER)
    with pytest.warns(UnusedParameterWarning, match="refit needs folds"):
        model = LGBMRegressor(**FEW, refit=True).fit(ROWS, NUMBER)
    np.testing.assert_array_equal(model.predict(ROWS), plain.predict(ROWS))


def test_rows_of_the_training_set_are_not_evaluated_by_a_mean(members, short):
    model = LGBMRegressor(**FEW)
    with pytest.warns(UnusedParameterWarning, match="accurate': 'training'"):
        model.fit(ROWS, NUMBER, eval_set=[(ROWS, NUMBER)])
    assert members
    assert "training" not in model.evals_result_


def test_many_rows_are_tested_by_a_sample(monkeypatch, members, short):
    monkeypatch.setattr(presets, "_LARGE_DATA_ROWS", 150)
    monkeypatch.setattr(presets, "_SAMPLE_ROWS", 90)
    model = LGBMRegressor(**FEW).fit(ROWS, NUMBER)
    assert len(members) > 1
    is_tested = np.isfinite(model.oof_prediction_)
    assert is_tested.sum() == 90
    errors = np.abs(model.oof_prediction_ - NUMBER)[is_tested]
    low, high = model.predict_interval(ROWS, coverage=0.8).T
    assert np.mean(errors <= (high - low)[0] / 2) == pytest.approx(0.8, abs=0.02)


# --- Members that fail ----------------------------------------------------------------


def exploding(kinds):
    """The begin of fits of which some kinds have steps that are too long."""
    begin = preset_search.PresetSearch._begun_on_all_rows

    def begun(search, candidate, options, share):
        if candidate.params.get("pair_features") in kinds:
            options = {**options, "learning_rate": 40.0}
        return begin(search, candidate, options, share)

    return begun


def test_a_member_that_explodes_is_dropped(monkeypatch, members, short):
    whole = LGBMRegressor(**FEW).fit(ROWS, NUMBER)
    of_sums = [m.candidate.params.get("pair_features") == "sums" for m in members]
    assert any(of_sums)
    assert not all(of_sums)
    weights = whole.search_results_["weight"]
    monkeypatch.setattr(
        preset_search.PresetSearch, "_begun_on_all_rows", exploding(["sums"])
    )
    with pytest.warns(UserWarning, match="preset='accurate' has the loss .* not used"):
        model = LGBMRegressor(**FEW).fit(ROWS, NUMBER)
    results = model.search_results_
    kinds = [kind.get("pair_features") for kind in results["params"]]
    assert results["weight"][kinds.index("sums")] == 0.0
    assert weights[kinds.index("sums")] > 0.0
    assert sum(results["weight"]) == pytest.approx(1)
    assert "sums" not in [m.candidate.params.get("pair_features") for m in members]
    assert np.abs(model.predict(ROWS)).max() < 2 * np.abs(NUMBER).max()


def test_the_last_member_is_kept(monkeypatch, members, short):
    kinds = None, False, "sums", "products"
    monkeypatch.setattr(
        preset_search.PresetSearch, "_begun_on_all_rows", exploding(kinds)
    )
    with pytest.warns(UserWarning, match="Please report this") as caught:
        model = LGBMRegressor(**FEW).fit(ROWS, NUMBER)
    assert len(caught) == 4
    assert len(members) == 1
    assert sorted(model.search_results_["weight"]) == [0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("argument", ["time", "groups"])
def test_rows_of_other_noise_have_not_failed(argument, short):
    """Folds do not test the earliest rows, and count a large group as a small one."""
    is_noisy = np.arange(160) < (80 if argument == "time" else 110)
    y = np.where(is_noisy, 30.0, 1.0) * DRAW.normal(size=160) + ROWS[:, 0]
    values = np.arange(160)
    if argument == "groups":
        values = np.where(is_noisy, 0, 1 + values % 2)
    model = LGBMRegressor(**FEW).fit(ROWS, y, **{argument: values})
    loss = np.mean((model.predict(ROWS) - y) ** 2)
    assert loss > 1.1 * min(model.search_results_["mean_test_loss"])


def test_a_fit_that_has_no_time_for_its_rounds_has_not_failed(monkeypatch, short):
    last_fit = preset_search.PresetSearch._last_fit

    def shorter(*arguments):
        return last_fit(*arguments) | {"n_estimators": 1}

    monkeypatch.setattr(preset_search.PresetSearch, "_last_fit", shorter)
    model = LGBMRegressor(preset="accurate").fit(ROWS, NUMBER)
    assert model.n_iter_ == np.count_nonzero(model.search_results_["weight"])
    loss = np.mean((model.predict(ROWS) - NUMBER) ** 2)
    assert loss > 1.1 * max(model.search_results_["mean_test_loss"])


# --- What changes no model ------------------------------------------------------------


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preset_search, "_MAX_SECONDS", 0.0)
        return LGBMRegressor(**FEW, n_jobs=1).fit(ROWS, NUMBER)


def test_threads_change_no_model(reference, short):
    model = LGBMRegressor(**FEW, n_jobs=3).fit(ROWS, NUMBER)
    np.testing.assert_array_equal(model.predict(ROWS), reference.predict(ROWS))
    np.testing.assert_array_equal(model.oof_prediction_, reference.oof_prediction_)
    np.testing.assert_array_equal(
        model.search_results_["weight"], reference.search_results_["weight"]
    )


def test_units_change_no_model(reference, short):
    units = np.exp2([3.0, -2.0, 5.0, 0.0])
    model = LGBMRegressor(**FEW).fit(ROWS * units, NUMBER)
    np.testing.assert_array_equal(model.predict(ROWS * units), reference.predict(ROWS))
    model = LGBMRegressor(**FEW).fit(ROWS, NUMBER * 16.0)
    np.testing.assert_array_equal(model.predict(ROWS), 16.0 * reference.predict(ROWS))
    np.testing.assert_array_equal(
        model.search_results_["weight"], reference.search_results_["weight"]
    )


def test_rows_of_weight_zero_change_no_model(short):
    weight = np.arange(160) % 3
    at = weight > 0
    found, expected = (
        LGBMRegressor(**FEW).fit(ROWS[rows], NUMBER[rows], sample_weight=weight[rows])
        for rows in (slice(None), at)
    )
    np.testing.assert_array_equal(found.predict(ROWS), expected.predict(ROWS))
    np.testing.assert_array_equal(found.oof_prediction_[at], expected.oof_prediction_)
    assert found.oof_score_ == expected.oof_score_
    # They are predicted by models that have not learned from them, too.
    assert np.isfinite(found.oof_prediction_).all()
    few = LGBMRegressor(**FEW).fit(ROWS[:2], NUMBER[:2], sample_weight=[1, 0])
    assert few.preset_params_["n_estimators"] == 200


def test_the_order_of_classes_changes_no_model(short):
    """Folds do not depend on it if each class has a multiple of three rows."""
    rows, y = ROWS[:159], np.argsort(np.argsort(NUMBER[:159])) >= 75
    found, expected = (
        LGBMClassifier(**FEW).fit(rows, labels).predict_proba(rows)
        for labels in (~y, y)
    )
    np.testing.assert_allclose(found[:, ::-1], expected, rtol=1e-9)


# --- Pairs of columns -----------------------------------------------------------------


def compared(model):
    """The values of ``pair_features`` that a preset has compared."""
    params = model.search_results_["params"]
    assert all(options not in params[:k] for k, options in enumerate(params))
    return [options.get("pair_features", False) for options in params]


def with_words(n_numeric):
    """Some numeric columns, one of which is constant, and words."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS[:, :n_numeric]).add_prefix("number ")
    words = pd.Categorical(CLASS.astype(str))
    return frame.assign(constant=1.0, words=words)


@pytest.mark.parametrize("n_numeric", [0, 1, 2])
def test_pairs_need_two_numeric_columns(n_numeric, short):
    model = LGBMRegressor(**FEW).fit(with_words(n_numeric), NUMBER)
    without, with_pairs = [False] * 3, [False, False, "sums", "products", False]
    assert compared(model) == (with_pairs if n_numeric == 2 else without)


@pytest.mark.parametrize(
    ("options", "make"),
    [
        ({"pair_features": False}, lambda: (ROWS, NUMBER)),
        ({"monotone_constraints": [1, 0, 0, 0]}, lambda: (ROWS, NUMBER)),
        ({"linear_tree": False}, lambda: (ROWS, NUMBER)),
        ({}, lambda: (Dataset(ROWS, NUMBER), None)),
    ],
)
@pytest.mark.parametrize("folds", [None, 2])
def test_where_pairs_are_not_compared(options, make, folds, short):
    model = LGBMRegressor(**FEW, **options, folds=folds, max_bin=63)
    model.fit(*(part for part in make() if part is not None))
    assert len(compared(model)) == 3
    assert not any(compared(model))
    assert len(model._model.schema.computed) == 0


def test_pairs_of_the_user_are_those_of_all_candidates(short):
    model = LGBMRegressor(**FEW, pair_features="products").fit(ROWS, NUMBER)
    assert len(compared(model)) == 3
    assert "pair_features" not in model.preset_params_
    assert len(model._model.schema.computed) == 12


def test_an_evaluation_set_has_the_pairs_of_the_best(short):
    model = LGBMRegressor(preset="accurate")
    fitted, valid = (ROWS[:100], NUMBER[:100]), (ROWS[100:], NUMBER[100:])
    model.fit(*fitted, eval_set=[fitted, valid])
    assert model.preset_params_["pair_features"] == "sums"
    losses = model.evals_result_["valid_1"]["l2"]
    error = np.mean((model.predict(valid[0]) - valid[1]) ** 2)
    assert losses[model.best_iteration_ - 1] == pytest.approx(error)
    error = np.mean((model.predict(fitted[0]) - fitted[1]) ** 2)
    found = model.evals_result_["training"]["l2"]
    assert found[model.best_iteration_ - 1] == pytest.approx(error)
