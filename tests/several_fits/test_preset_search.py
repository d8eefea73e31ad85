"""Searches of presets: who ends because the preset would take too long."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression

from skgoss import (
    LGBMClassifier,
    LGBMRegressor,
    UnusedParameterWarning,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.several_fits import preset_search

X, Y = make_regression(90, 5, noise=10.0, random_state=0)
AT = np.arange(90)


class Stage(NamedTuple):
    """What is known of a candidate after a stage."""

    candidate: Any
    rounds: float  # the mean of its best ones
    leaves: list[int] | None  # of each round of all folds, if there are trees
    usual: float  # the mean leaves of the user's options
    so_far: float
    last: float
    # The time of all candidates so far, and whether there is none left.
    spent: float
    is_over: bool


def leaves_of_rounds(candidate):
    """The leaves of each round of each fold, counted in the trees."""
    counts = []
    for run in candidate.runs:
        trees = run.rounds.ensemble()
        n_leaves = np.diff(trees.leaf_start).reshape(-1, trees.n_scores)
        counts.extend(n_leaves.sum(axis=1).tolist())
    return counts


@pytest.fixture
def stages(monkeypatch):
    seen = []
    end_late = preset_search.PresetRace._end_late

    def spy(race):
        end_late(race)
        search, n_rows = race.preset.search, len(race.preset.splits.rows)
        own, batch, found = search.own, race.racers, race.references
        (usual,) = [c.n_leaves_of_round for c in (*found, *batch) if c.params == own]
        spent = sum(c.n_fits(n_rows, usual) for c in (*found, *batch))
        for candidate in batch:
            rounds = [run.best_round for run in candidate.runs]
            is_open = hasattr(candidate.runs[0], "rounds")
            seen.append(
                Stage(
                    candidate,
                    np.exp(np.log(rounds).mean()),
                    leaves_of_rounds(candidate) if is_open else None,
                    usual,
                    candidate.n_fits(n_rows, usual),
                    candidate.n_fits_of_last(search, n_rows, usual),
                    spent,
                    candidate.most_rounds == candidate.rounds[-1],
                )
            )

    monkeypatch.setattr(preset_search.PresetRace, "_end_late", spy)
    return seen


@pytest.mark.parametrize(
    ("n_classes", "options"),
    [(0, {}), (3, {}), (0, {"learning_rate": 0.01}), (0, {"learning_rate": 0.3})],
)
def test_time_is_counted_in_rounds_and_leaves(stages, n_classes, options):
    model, data = LGBMRegressor, (X, Y)
    if n_classes:
        model = LGBMClassifier
        data = make_classification(90, 6, n_informative=4, n_classes=3, random_state=0)
    model(preset="accurate", **options).fit(*data)
    assert len({stage.candidate for stage in stages}) >= 4
    rate = options.get("learning_rate", 0.05)
    for candidate, rounds, leaves, usual, so_far, last, *_ in stages:
        if leaves is None:
            continue
        cost = 0.4 + 0.6 * np.mean(leaves) / usual
        if candidate.prepared.data.settings.linear_tree:
            cost *= 1.4
        # A fit of the user has 100 rounds of 90 rows, and folds learn from 60.
        assert so_far == pytest.approx(cost * len(leaves) / 100 * 60 / 90)
        n_last = round(rounds * max(rate, 0.15) / rate * 1.5**0.35)
        # Those of small steps may take as many times longer as these are smaller.
        assert last == pytest.approx(cost * n_last * min(1, rate / 0.05) / 100)


@pytest.mark.parametrize(
    ("name", "options"), [("_MAX_COST", {}), ("_MAX_COST_PER_FOLD", {"folds": 2})]
)
def test_candidates_end_where_there_is_no_time_left(monkeypatch, stages, name, options):
    monkeypatch.setattr(preset_search, name, 2.0)
    LGBMRegressor(preset="accurate", **options).fit(X, Y)
    limit, ended = 2.0 * options.get("folds", 1), set()
    for stage in stages:
        if stage.spent + (0.0 if options else stage.last) > limit:
            ended.add(stage.candidate)
        assert stage.is_over == (stage.candidate in ended)
    assert ended


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
    with pytest.raises(ValueError, match=f"the mean of {n_starts} models of folds"):
        model.predict(X, num_iteration=n_starts - 1)
