"""Presets: what they choose, and that options of the user win."""

import copy
import pickle

import numpy as np
import pytest
import sklearn.datasets
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import (
    load_diabetes,
    make_classification,
    make_friedman1,
    make_regression,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold

import skgoss
from helpers.grids import nightly_if
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.fit.splits import of_equal_size
from skgoss.parameters import make_settings, presets
from skgoss.several_fits import preset_search
from skgoss.several_fits.race import STEP_OF_PRESETS, Racer, drop, winner

ACCURATE = {"preset": "accurate"}
# Large steps find their rounds soon.
SOON = {**ACCURATE, "learning_rate": 0.8}


def numbers(n=150):
    return make_regression(n, 6, noise=20.0, random_state=0)


def classes(n=150):
    return make_classification(n, 6, flip_y=0.2, random_state=1)


# What stands against a mean of several candidates.
OF_ONE_FIT = {
    "init_score": ({}, {"init_score": np.linspace(-9, 9, 150)}),
    "distribution": ({"objective": "normal"}, {}),
    "init_model": ({}, {"init_model": LGBMRegressor(n_estimators=3).fit(*numbers())}),
    "evaluation set": ({}, {"eval_set": [numbers(50)]}),
}


@pytest.mark.parametrize("case", OF_ONE_FIT)
def test_chosen_options_are_those_of_one_fit(case):
    options, arguments = OF_ONE_FIT[case]
    X, y = numbers()
    model = LGBMRegressor(**ACCURATE, **options).fit(X, y, **arguments)
    chosen = model.preset_params_
    assert sorted(model.search_results_["weight"]) == [0] * (
        len(model.search_results_["weight"]) - 1
    ) + [1]
    if case != "evaluation set":
        assert chosen["learning_rate"] < 0.1
        n_earlier = 3 if case == "init_model" else 0
        assert chosen["n_estimators"] == model.n_iter_ - n_earlier
    assert model.get_params()["learning_rate"] == 0.1
    plain = LGBMRegressor(**chosen, **options).fit(X, y, **arguments)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    text = model.booster_.model_to_string()
    assert f"[learning_rate: {chosen['learning_rate']}]" in text
    assert "chosen by preset: extra_trees=" in repr(model.booster_)


@pytest.mark.parametrize(("n_categories", "smooth"), [(255, None), (256, 100.0)])
def test_columns_of_many_categories_are_smoothed(n_categories, smooth):
    pd = pytest.importorskip("pandas")
    words = pd.Categorical(np.arange(600) % n_categories)
    X = pd.DataFrame({"word": words, "number": np.arange(600.0)})
    model = LGBMRegressor(**ACCURATE, n_estimators=2).fit(X, np.arange(600.0))
    assert model.preset_params_.get("cat_smooth") == smooth
    model = LGBMRegressor(**ACCURATE, n_estimators=2, cat_smooth=5.0)
    assert "cat_smooth" not in model.fit(X, np.arange(600.0)).preset_params_


def test_options_of_the_user_win():
    X, y = numbers()
    options = {"learning_rate": 0.3, "num_leaves": 4, "n_estimators": 5}
    model = LGBMRegressor(**ACCURATE, **options).fit(X, y)
    assert not options.keys() & model.preset_params_.keys()
    assert model.n_iter_ <= 5
    stopped = LGBMRegressor(**ACCURATE).fit(X, y, early_stopping_rounds=2)
    assert "early_stopping_round" not in stopped.preset_params_
    booster = skgoss.train({**ACCURATE, "eta": 0.3, "verbosity": -1}, Dataset(X, y), 7)
    assert booster.current_iteration() <= 7
    assert LGBMRegressor().fit(X, y).preset_params_ == {}


def passed_by_constructor(**options):
    return LGBMRegressor(**ACCURATE, **options)


def passed_by_set_params(**options):
    return LGBMRegressor(**ACCURATE).set_params(**options)


class Noted(LGBMRegressor):
    def __init__(self, *, note="", **kwargs):
        super().__init__(**kwargs)
        self.note = note


def changed():
    return LGBMRegressor(max_bin=63).set_params(n_estimators=3000, reg_lambda=7)


def constructed_again(model, **options):
    model.__init__(**options)
    return model


def passed_by_subclass(**options):
    return Noted(note="a", **ACCURATE, **options)


COPIES = {
    "itself": lambda model: model,
    "clone": clone,
    "clone of a clone": lambda model: clone(clone(model)),
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "Booster": lambda m: type(m).from_booster(m.fit(*numbers(40)).booster_),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize(
    "passed", [passed_by_constructor, passed_by_set_params, passed_by_subclass]
)
def test_a_default_that_was_passed_stays(passed, copied):
    model = copied(passed(num_leaves=31, eta=0.1, n_estimators=20))
    X, y = numbers()
    chosen = model.fit(X, y).preset_params_
    assert not {"num_leaves", "learning_rate", "n_estimators"} & chosen.keys()
    assert "reg_lambda" in chosen
    assert model.booster_.num_trees() == 20


def test_a_search_fits_candidates_that_are_defaults():
    X, y = numbers()
    rates = {"learning_rate": [0.05, 0.1]}
    model = LGBMRegressor(**ACCURATE, n_estimators=20)
    scores = GridSearchCV(model, rates, cv=2).fit(X, y).cv_results_["mean_test_score"]
    alone = [
        GridSearchCV(clone(model), {"learning_rate": [rate]}, cv=2).fit(X, y)
        for rate in rates["learning_rate"]
    ]
    assert scores.tolist() == [search.best_score_ for search in alone]
    assert scores[0] != scores[1]


def test_rounds_of_train_and_cv_stay():
    X, y = numbers()
    params = {**ACCURATE, "verbosity": -1}
    booster = skgoss.train(params, Dataset(X, y), 100)
    assert booster.num_trees() == 100 != skgoss.train(params, Dataset(X, y)).num_trees()
    results = skgoss.cv(params, Dataset(X, y), num_boost_round=100, nfold=2)
    assert len(results["valid l2-mean"]) == 100


def test_a_preset_chooses_what_forests_need():
    X, y = numbers()
    model = LGBMRegressor(**ACCURATE, boosting_type="rf", n_estimators=5).fit(X, y)
    assert model.preset_params_["subsample"] < 1
    trees = model.booster_.dump_model()["tree_info"]
    assert len({str(tree["tree_structure"]) for tree in trees}) == 5
    options = {"subsample": 1.0, "colsample_bytree": 1.0, "boosting_type": "rf"}
    with pytest.raises(ValueError, match="needs trees that differ"):
        LGBMRegressor(**ACCURATE, **options).fit(X, y)


@pytest.mark.parametrize(
    "copied",
    [
        lambda model: LGBMRegressor(**model.get_params()),
        lambda model: changed().set_params(**model.get_params()),
        lambda model: constructed_again(changed(), **model.get_params()),
        lambda model: constructed_again(changed(), **SOON, num_leaves=9),
    ],
    ids=["constructor", "set_params", "constructor, again", "some, again"],
)
def test_all_parameters_at_once_tell_only_what_differs(copied):
    X, y = numbers(60)
    model = LGBMRegressor(**SOON, num_leaves=9)
    again = copied(model).fit(X, y)
    assert again.preset_params_ == model.fit(X, y).preset_params_
    assert "n_estimators" in again.preset_params_
    assert "num_leaves" not in again.preset_params_
    assert "max_bin" not in again._passed_parameters()


def test_rounds_of_the_user_need_no_rows_of_their_own():
    X, y = numbers()
    model = LGBMRegressor(**ACCURATE, n_estimators=5, subsample=1.0).fit(X, y)
    assert "early_stopping_round" not in model.preset_params_
    roots = model.booster_.dump_model()["tree_info"]
    assert {tree["tree_structure"]["internal_count"] for tree in roots} == {150}
    live = skgoss.Booster({**ACCURATE, "subsample": 1, "verbosity": -1}, Dataset(X, y))
    live.update()
    root = live.dump_model()["tree_info"][0]["tree_structure"]
    assert root["internal_count"] == 150


def test_evaluation_sets_of_the_user_decide():
    X, y = classes(300)
    fitted, valid = (X[:200], y[:200]), (X[200:], y[200:])
    # A Dataset has no numbers for linear leaves.
    passed = {**ACCURATE, "subsample": 1.0, "linear_tree": False}
    model = LGBMClassifier(**passed).fit(*fitted, eval_set=[valid])
    losses = model.evals_result_["valid_0"]["binary_logloss"]
    assert model.best_iteration_ == np.argmin(losses) + 1 < len(losses)
    root = model.booster_.dump_model()["tree_info"][0]["tree_structure"]
    assert root["internal_count"] == 200
    booster = skgoss.train(
        {**passed, "objective": "binary", "verbosity": -1},
        Dataset(*fitted),
        valid_sets=[Dataset(*valid)],
    )
    np.testing.assert_array_equal(booster.predict(X), model.predict_proba(X)[:, 1])
    # The training set decides nothing.
    with pytest.warns(UserWarning, match="not evaluated with preset=.*: 'training'"):
        shown = LGBMClassifier(**ACCURATE).fit(*fitted, eval_set=[fitted])
    searched = LGBMClassifier(**ACCURATE).fit(*fitted)
    assert shown.preset_params_ == searched.preset_params_


@pytest.mark.parametrize("folds", [None, 3])
def test_train_chooses_what_an_estimator_does(folds):
    X, y = numbers(100)
    options = {**SOON, "folds": folds}
    booster = skgoss.train({**options, "verbosity": -1}, Dataset(X, y))
    model = LGBMRegressor(**options).fit(Dataset(X, y))
    np.testing.assert_array_equal(booster.predict(X), model.predict(X))


def test_cv_stops_and_a_booster_goes_on():
    X, y = numbers()
    params = {**ACCURATE, "verbosity": -1}
    results = skgoss.cv({**params, "eta": 0.3}, Dataset(X, y), nfold=3)
    assert 10 < len(results["valid l2-mean"]) < 1000
    live = skgoss.Booster(params, Dataset(X, y))
    live.update()
    assert live.current_iteration() == 1


def test_pickles_files_clones_and_searches(tmp_path):
    X, y = classes()
    model = LGBMClassifier(**ACCURATE).fit(X, y)
    model.to_file(tmp_path / "model.txt")
    again = LGBMClassifier.from_file(tmp_path / "model.txt")
    assert again.preset_params_ == model.preset_params_
    assert clone(again).preset == "accurate"
    search = GridSearchCV(LGBMClassifier(), {"preset": [None, "accurate"]}, cv=2)
    assert search.fit(X, y).best_params_["preset"] in (None, "accurate")


def test_what_is_refused():
    X, y = numbers()
    with pytest.raises(ValueError, match=r"among {'fast', 'accurate', 'best'} or None"):
        LGBMRegressor(preset="quick").fit(X, y)
    params = {**ACCURATE, "objective": lambda predictions, data: (predictions, X[:, 0])}
    with pytest.raises(ValueError, match=r"preset='accurate' .* Set n_estimators"):
        skgoss.train(params, Dataset(X, y))


def test_rounds_are_found_on_folds_that_keep_groups():
    X, y = numbers(100)
    copies, groups = np.tile(X, (3, 1)), np.tile(np.arange(len(y)), 3)
    target, options = np.tile(y, 3), ACCURATE | {"learning_rate": 0.3}
    known = LGBMRegressor(**options).fit(copies, target)
    model = LGBMRegressor(**options).fit(copies, target, groups=groups)
    assert model.n_iter_ < known.n_iter_ / 2


ROUGH = {"learning_rate": 0.15, "n_estimators": 500, "early_stopping_round": 0}


def losses_by_round(X, y, options, **arguments):
    """The loss after each round, on each of the folds of the search."""
    params = {**presets._ACCURATE, "folds": 3, **options, **ROUGH}
    history = LGBMRegressor(**params).fit(X, y, **arguments).evals_result_
    return [np.array(scores["l2"]) for scores in history.values()]


def seen(losses, stages):
    """The losses that a race looks at: after 1, 2, 4, ... rounds and each stage."""
    n = np.arange(1, stages[-1] + 1)
    return np.where((n & (n - 1) == 0) | np.isin(n, stages), losses[: n[-1]], np.inf)


def won(candidates, level=0.0):
    """The candidate that wins a race, and its best rounds on the folds.

    Of each, the losses by fold and round.
    """
    leaves = [options.get("num_leaves", 15) for options in KINDS]
    racers = [Racer({}, "", 500, 0.15, n, STEP_OF_PRESETS) for n in leaves]
    for _ in range(100):
        for racer, losses in zip(racers, candidates, strict=True):
            if racer.goes_on:
                stages = [*racer.rounds, racer.next_rounds]
                least = [seen(of_fold, stages).min() for of_fold in losses]
                racer.note(-np.array(least))
        drop(racers, level)
    best = racers.index(winner(racers))
    stages = racers[best].rounds
    return best, [seen(losses, stages).argmin() + 1 for losses in candidates[best]]


USUAL = {name: getattr(LGBMRegressor(), name) for name in presets._ACCURATE}
LINEAR = USUAL | presets._LINEAR_LEAVES
KINDS = (
    *({}, LINEAR, LINEAR | presets._SUMS, LINEAR | presets._PRODUCTS),
    presets._RANDOM_THRESHOLDS,
)


def products(n=300):
    """A product of two columns, which no other kind of trees learns so soon."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n)


# The kinds that win by folds, and by an evaluation set.
CONTESTS = {
    "steps": (lambda: steps(300), 3, 0),
    "products": (products, 3, 3),
    "noise": (lambda: numbers(300), 2, 2),
}


@pytest.mark.parametrize("data", nightly_if(CONTESTS, {"products"}))
def test_a_candidate_wins_by_its_loss(data, monkeypatch):
    monkeypatch.setattr(preset_search, "_MAX_COST", np.inf)  # no race ends by its time
    make, expected, _ = CONTESTS[data]
    X, y = make()
    start = {"init_score": np.full(len(y), 0.5)}
    best, rounds = won([losses_by_round(X, y, kind, **start) for kind in KINDS])
    assert best == expected
    model = LGBMRegressor(**ACCURATE).fit(X, y, **start)
    chosen = KINDS[best] | {"learning_rate": 0.03, "early_stopping_round": None}
    chosen["n_estimators"] = round(1.5**0.35 * 5 * np.exp(np.log(rounds).mean()))
    assert model.preset_params_ == presets._ACCURATE | chosen


def shorten(monkeypatch, **changed):
    """Let a search have fewer batches, of fewer candidates."""
    for name, value in {"_BATCH": 2, "_MAX_BATCHES": 3, **changed}.items():
        monkeypatch.setattr(presets, name, value)


@pytest.fixture
def short_search(monkeypatch):
    shorten(monkeypatch)


def of_members(model, X, y, **arguments):
    """The weights of the members of a mean, and models of each alone."""
    results, members, at = model.search_results_, [], []
    for i in np.flatnonzero(results["weight"]):
        options = presets._ACCURATE_ON_FOLDS | results["params"][i]
        # All folds have as many rounds.
        n_rounds = round(results["n_rounds"][i])
        options |= {"n_estimators": n_rounds, "early_stopping_round": 0}
        alone = type(model)(**{"folds": model.folds or 8, **options})
        members.append(alone.fit(X, y, **arguments))
        at.append(i)
    return at, results["weight"][at], members


def test_rows_of_weight_zero_calibrate_no_probabilities(short_search):
    X, y = classes(120)
    weight = np.arange(120) % 3 / 2
    at, options = weight > 0, {"preset": "accurate", "folds": 3, "n_estimators": 20}
    found, expected = (
        LGBMClassifier(**options).fit(X[rows], y[rows], sample_weight=weight[rows])
        for rows in (slice(None), at)
    )
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert found.oof_score_ == expected.oof_score_


@pytest.mark.parametrize("preset", ["accurate", "best"])
def test_the_model_of_folds_is_a_weighted_mean(preset, short_search):
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    model = LGBMRegressor(preset=preset, n_estimators=30, folds=4).fit(X, y)
    results = model.search_results_
    n_compared = {"accurate": 5, "best": 12}[preset]
    assert len(results["params"]) == len(results["weight"]) == n_compared
    assert results["weight"].sum() == pytest.approx(1)
    at, weights, members = of_members(model, X, y)
    assert 2 <= len(members) <= 6
    assert {m.pair_features for m in members} & {"sums", "products"}
    oof, prediction = np.zeros(len(y)), np.zeros(len(y))
    for i, weight, alone in zip(at, weights, members, strict=True):
        longer = clone(alone).set_params(n_estimators=30).fit(X, y)
        losses = [s["l2"] for s in longer.evals_result_.values()]
        rounds = [np.argmin(of_fold) + 1 for of_fold in losses]
        assert results["n_rounds"][i] == pytest.approx(np.exp(np.log(rounds).mean()))
        loss = np.mean([min(of_fold) for of_fold in losses])
        assert results["mean_test_loss"][i] == pytest.approx(loss)
        oof += weight * alone.oof_prediction_
        prediction += weight * alone.predict(X)
    np.testing.assert_allclose(model.oof_prediction_, oof)
    np.testing.assert_allclose(model.predict(X), prediction)
    best = results["params"][int(np.argmax(results["weight"]))]
    assert best.items() <= model.preset_params_.items()
    assert "folds" not in model.preset_params_


def test_weights_have_the_lowest_loss_that_hill_climbing_finds():
    X, y = numbers(400)
    options = {"folds": 3, "n_estimators": 30, "linear_tree": False}
    model = LGBMRegressor(**ACCURATE, **options).fit(X, y)
    _, weights, members = of_members(model, X, y)
    oof = np.array([alone.oof_prediction_ for alone in members])
    assert len(members) == 3
    parts = np.linspace(0, 1, 26)
    shares = [(a, b, 1 - a - b) for a in parts for b in parts if a + b <= 1 + 1e-9]
    losses = [np.mean((y - share @ oof) ** 2) for share in np.array(shares)]
    assert weights == pytest.approx(shares[int(np.argmin(losses))], abs=0.05)


def test_probabilities_of_folds_are_calibrated():
    X, y = classes(500)
    model = LGBMClassifier(**ACCURATE, folds=3, n_estimators=20).fit(X, y)
    _, weights, members = of_members(model, X, y)
    pairs = of_equal_size(3, y.astype(float), None, stratify=True, seed=0)

    def loss(raw):
        of_rows = np.logaddexp(0, np.where(y == 1, -raw, raw))
        return np.mean([of_rows[t].mean() for _, t in pairs])

    raw = weights @ [m._model.out_of_fold.scores[:, 0] for m in members]
    grid = np.linspace(0.5, 2, 151)
    factor = grid[int(np.argmin([loss(factor * raw) for factor in grid]))]
    factor = 1 + (factor - 1) * 500 / 1500
    np.testing.assert_allclose(model.oof_prediction_[:, 1], expit(factor * raw), 2e-2)
    raw = factor * weights @ [m.predict(X, raw_score=True) for m in members]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(raw), rtol=2e-2)


def test_few_groups_are_few_folds():
    X, y = numbers(60)
    rounds = [
        LGBMRegressor(**ACCURATE).fit(X, y, groups=np.arange(60) % n).n_iter_
        for n in (1, 2)
    ]
    assert rounds[0] == 200
    assert rounds[1] != 200


def test_functions_are_fitted_on_folds_with_one_kind_of_trees():
    """Two kinds would be compared by their losses, which functions do not have."""
    X, y = numbers(60)

    def squared(predictions, rows):
        return predictions - rows.get_label(), np.ones(len(predictions))

    params = {"objective": squared, "folds": 2, "early_stopping_round": 0}
    params |= {"verbosity": -1, "metric": "l2"}
    found = skgoss.train({**ACCURATE, **params}, Dataset(X, y), 3)
    chosen = found._model.preset_params
    assert chosen["extra_trees"] is False
    expected = skgoss.train({**params, **chosen}, Dataset(X, y), 3)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_the_larger_score_wins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5))
    grades = np.clip(np.rint(X[:, 0] + rng.normal(size=240) + 1), 0, 3)
    scores, found = [], {}
    for refit in (False, True):
        model = LGBMRanker(**ACCURATE, folds=3, refit=refit, n_estimators=15)
        found[refit] = model.fit(X, grades, group=[12] * 20).search_results_
    for kind in found[True]["params"]:
        options = presets._ACCURATE_ON_FOLDS | kind
        options |= {"n_estimators": 15, "early_stopping_round": None, "folds": 3}
        model = LGBMRanker(**options).fit(X, grades, group=[12] * 20)
        scores.append(model.oof_score_["ndcg@1"])
    best = int(np.argmax(scores))
    assert found[True]["weight"].tolist() == np.eye(5)[best].tolist()
    assert found[False]["weight"][best] > 0
    assert len(set(scores)) == 5


def test_the_history_is_that_of_the_kind_with_the_most_weight():
    X, y = numbers()
    winners = set()
    for target in (y, np.random.default_rng(1).normal(size=len(y))):
        model = LGBMRegressor(**ACCURATE, folds=3, n_estimators=12).fit(X, target)
        _, weights, members = of_members(model, X, target)
        longer = clone(members[int(np.argmax(weights))]).set_params(n_estimators=12)
        history = longer.fit(X, target).evals_result_
        for name, scores in model.evals_result_.items():
            assert scores["l2"] == history[name]["l2"][: len(scores["l2"])]
        chosen = model.preset_params_
        winners.add((chosen["extra_trees"], chosen["linear_tree"]))
    assert len(winners) == 2


@pytest.mark.parametrize("start", ["init_model", "init_score"])
def test_what_continues_from_other_scores_is_not_calibrated(start):
    """A factor would change new trees, but not the scores that they continue from."""
    X, y = classes(120)
    first = LGBMClassifier(n_estimators=2).fit(X, y)
    fit = {"init_model": first}
    if start == "init_score":
        fit = {"init_score": first.predict(X, raw_score=True)}
    model = LGBMClassifier(**ACCURATE, folds=3, n_estimators=6).fit(X, y, **fit)
    _, weights, members = of_members(model, X, y, **fit)
    raw = weights @ [m.predict(X, raw_score=True) for m in members]
    np.testing.assert_allclose(model.predict(X, raw_score=True), raw, rtol=1e-9)


SAMPLED = {"subsample", "subsample_freq"}
OF_ROUNDS = {"learning_rate", "n_estimators", "early_stopping_round"}
NOT_CHOSEN = {
    "gbdt": ({}, set()),
    "goss": ({"data_sample_strategy": "goss"}, SAMPLED),
    "dart": ({"boosting_type": "dart"}, OF_ROUNDS),
    "rf": ({"boosting_type": "rf", "subsample_freq": 2}, OF_ROUNDS),
}


@pytest.mark.parametrize("folds", [None, 2])
@pytest.mark.parametrize("kind", NOT_CHOSEN)
@pytest.mark.filterwarnings("ignore:Early stopping is not available")
def test_passed_options_stay_for_each_kind_of_boosting(kind, folds):
    X, y = numbers(60)
    options, left = NOT_CHOSEN[kind]
    passed = {"num_leaves": 3, "colsample_bytree": 0.5, "n_estimators": 2, **options}
    model = LGBMRegressor(**ACCURATE, **passed, folds=folds).fit(X, y)
    chosen = presets._ACCURATE.keys() - left - passed.keys()
    if folds is None:
        # Nothing is held out if the number of rounds is known.
        chosen -= {"early_stopping_round"}
    assert model.preset_params_.keys() == chosen
    assert max(tree["num_leaves"] for tree in trees(model)) == 3


def trees(model):
    return model.booster_.dump_model()["tree_info"]


def test_few_rows():
    X, y = numbers()
    assert (
        LGBMRegressor(**ACCURATE).fit(X[:1], y[:1]).preset_params_["n_estimators"] > 50
    )
    X, y = classes(6)
    LGBMClassifier(**ACCURATE).fit(X, y)


@pytest.mark.parametrize("folds", [None, 3])
def test_linear_leaves_have_the_rows_of_the_default(folds):
    X, y = load_diabetes(return_X_y=True)
    options = ACCURATE | {"folds": folds, "n_estimators": 100}
    plain, linear = (
        LGBMRegressor(**options, linear_tree=is_linear).fit(X[:221], y[:221])
        for is_linear in (False, True)
    )
    score = plain.score(X[221:], y[221:])
    assert linear.score(X[221:], y[221:]) == pytest.approx(score, abs=0.05)
    assert "min_child_samples" not in linear.preset_params_
    assert "min_child_samples" in plain.preset_params_


# --- What never loses -----------------------------------------------------------------


def steps(n=600):
    """Steps at one value of six columns: samples, restraint and lines only harm."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(n, 12)).astype(float)
    is_high = X > 3
    y = (is_high[:, :4] @ [1, 2, 4, 8]) * 7 % 16 * 10.0
    return X, y + is_high[:, 4] * (2 * is_high[:, 5] - 1)


@pytest.mark.parametrize("passed", [{"linear_tree": False}, {"extra_trees": False}])
def test_the_options_of_the_user_are_a_candidate(passed):
    """Where linear leaves with random thresholds are not possible."""
    X, y = steps()
    start = {"init_score": np.zeros(len(y))}
    model = LGBMRegressor(**ACCURATE, **passed).fit(X, y, **start)
    chosen = model.preset_params_
    assert (chosen["num_leaves"], chosen["subsample"]) == (31, 1.0)
    of_rounds = {name: chosen[name] for name in ("learning_rate", "n_estimators")}
    usual = LGBMRegressor(**of_rounds).fit(X, y, **start)
    np.testing.assert_array_equal(model.predict(X), usual.predict(X))


@pytest.mark.parametrize("n_categories", [20, 21, 200])
def test_options_of_many_categories_are_a_candidate(n_categories):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    word = rng.integers(0, n_categories, 1200)
    X = pd.DataFrame({"word": pd.Categorical(word), "number": rng.normal(size=1200)})
    y = X["number"].to_numpy() + rng.normal(size=1200)
    passed = {"extra_trees": False, "linear_tree": False}
    start = {"init_score": np.zeros(1200)}
    model = LGBMRegressor(**ACCURATE, **passed).fit(X, y, **start)
    chosen = model.preset_params_
    of_categories = {"cat_l2": 10.0, "min_data_per_group": 100, "cat_smooth": 10.0}
    compared = model.search_results_["params"]
    assert ({k: v for k, v in of_categories.items() if k in chosen} in compared) == (
        n_categories > 20
    )
    if n_categories < 200:
        return
    assert (chosen["cat_l2"], chosen["min_data_per_group"]) == (10.0, 100)
    plain = LGBMRegressor(**chosen, **passed).fit(X, y, **start)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("data", nightly_if(CONTESTS, {"products"}))
def test_an_evaluation_set_chooses_the_candidate(data):
    make, _, expected = CONTESTS[data]
    X, y = make()
    fitted, valid = (X[:-100], y[:-100]), (X[-100:], y[-100:])
    sets = {"eval_set": [fitted, valid], "eval_names": ["a", "b"]}
    model = LGBMRegressor(**ACCURATE).fit(*fitted, **sets, eval_metric="l1")
    losses = []
    for options in KINDS:
        alone = LGBMRegressor(**{**presets._ACCURATE, **options, **ROUGH})
        alone.fit(*fitted, eval_set=valid)
        losses.append([np.array(alone.evals_result_["valid_0"]["l2"])])
    best, _ = won(losses)
    assert best == expected
    options = presets._ACCURATE | KINDS[best] | {"learning_rate": 0.05}
    options |= {"n_estimators": 1500, "early_stopping_round": 100}
    alone = LGBMRegressor(**options).fit(*fitted, **sets, eval_metric="l1")
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert model.evals_result_ == alone.evals_result_


PROMISED = {
    "weights": (LGBMRegressor, {}, {"sample_weight": np.arange(100) % 3}),
    "groups": (LGBMRegressor, {}, {"groups": np.arange(100) // 5}),
    "poisson": (LGBMRegressor, {"objective": "poisson"}, {}),
    "metric": (LGBMRegressor, {"metric": ["l1", "mape"]}, {"eval_metric": "rmse"}),
    "quantiles": (LGBMRegressor, {"objective": "quantile", "alpha": (0.1, 0.9)}, {}),
    "classes": (LGBMClassifier, {"class_weight": "balanced"}, {}),
    "ranks": (LGBMRanker, {}, {"group": np.full(10, 10)}),
}


@pytest.mark.parametrize("of_set", [False, True])
@pytest.mark.parametrize("case", PROMISED)
def test_candidates_of_any_fit(case, of_set):
    estimator, options, arguments = PROMISED[case]
    X, y = numbers()
    if case != "quantiles":
        y = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)
    arguments = dict(arguments)
    if of_set:
        arguments["eval_set"] = [(X[100:], y[100:])]
        if case == "ranks":
            arguments["eval_group"] = [np.full(5, 10)]
        if case == "groups":
            arguments["eval_sample_weight"] = [np.ones(50)]
    model = estimator(**SOON, **options).fit(X[:100], y[:100], **arguments)
    assert 0 < model.n_iter_ <= 1725
    assert np.isfinite(model.predict(X)).all()
    assert "num_leaves" in model.preset_params_


@pytest.mark.parametrize(
    "table",
    nightly_if(["diabetes", "breast_cancer", "steps"], {"breast_cancer", "steps"}),
)
def test_the_preset_never_loses(table):
    """The losses of folds are not above those of the defaults beyond noise."""
    estimator, loss = LGBMRegressor, lambda m, X, y: np.mean((m.predict(X) - y) ** 2)
    if table == "steps":
        X, y = steps(300)
    else:
        X, y = getattr(sklearn.datasets, f"load_{table}")(return_X_y=True)
    if table == "breast_cancer":
        estimator, loss = (
            LGBMClassifier,
            lambda m, X, y: log_loss(y, m.predict_proba(X)),
        )
    losses = np.array(
        [
            [
                loss(estimator(preset=preset).fit(X[train], y[train]), X[test], y[test])
                for train, test in KFold(3, shuffle=True, random_state=0).split(X)
            ]
            for preset in ("accurate", None)
        ]
    )
    gap = np.log(losses[0]) - np.log(losses[1])
    assert gap.mean() < 0.01 + 2 * gap.std(ddof=1) / np.sqrt(len(gap))


# --- The best mean --------------------------------------------------------------------

BEST = {"preset": "best", "n_estimators": 30}


def test_what_works_for_the_best_model(short_search, tmp_path):
    X, y = classes(120)
    options = BEST | {"metric": "auc", "folds": 3}
    model = LGBMClassifier(**options).fit(X, y)
    p = model.predict_proba(X)
    assert 0.5 < model.oof_score_["auc"] <= 1
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), p)
    model.to_file(tmp_path / "model.txt")
    loaded = LGBMClassifier.from_file(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    assert loaded.search_results_["params"] == model.search_results_["params"]
    shap = model.predict(X, pred_contrib=True)
    np.testing.assert_allclose(shap.sum(1), model.predict(X, raw_score=True))
    assert len(model.predict_set(X[:5], coverage=0.8)) == 5
    other = LGBMClassifier(**options, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X), p)


def test_what_the_best_leaves_to_the_user(short_search):
    X, y = numbers(120)
    passed = {"num_leaves": 4, "folds": 3, "subsample": 1.0, "reg_alpha": 0.0}
    model = LGBMRegressor(**BEST, **passed).fit(X, y)
    for params in model.search_results_["params"]:
        assert not passed.keys() & params.keys()
    assert not passed.keys() & model.preset_params_.keys()
    refitted = LGBMRegressor(**BEST, folds=3, refit=True).fit(X, y)
    assert np.count_nonzero(refitted.search_results_["weight"]) == 1
    # Few rows, groups and functions have no folds, or one set of options.
    assert LGBMRegressor(**BEST).fit(X[:1], y[:1]).preset_params_["folds"] is None
    few = LGBMRegressor(**BEST).fit(X, y, groups=np.arange(120) % 2)
    assert set(few.evals_result_) == {"fold_0", "fold_1"}


def test_an_evaluation_set_chooses_the_best(short_search, monkeypatch):
    X, y = numbers(150)
    options = {"preset": "best", "learning_rate": 0.3}
    model = LGBMRegressor(**options).fit(X[:100], y[:100], eval_set=(X[100:], y[100:]))
    results = model.search_results_
    assert len(results["params"]) == 12
    assert (
        results["weight"].tolist()
        == np.eye(12)[np.argmin(results["mean_test_loss"])].tolist()
    )
    assert results["params"][int(np.argmax(results["weight"]))].items() <= (
        model.preset_params_.items()
    )
    assert "folds" not in model.preset_params_


def test_a_search_ends_without_progress(monkeypatch, capsys):
    space = (("reg_lambda", 1e9, 2e9, True),)
    most = presets._MAX_BATCHES
    shorten(monkeypatch, _BATCH=1, _MAX_BATCHES=most, _SPACE=space)
    X, y = numbers(60)
    model = LGBMRegressor(**BEST, folds=2, verbosity=1).fit(X, y)
    n = len(model.search_results_["params"])
    assert n == 8 + presets._PATIENCE
    lines = [s for s in capsys.readouterr().out.splitlines() if " candidates, " in s]
    assert len(lines) == 1 + presets._PATIENCE
    assert lines[-1].startswith(f"[skgoss] {n} candidates") or str(n) in lines[-1]


def test_forests_and_dropout_have_no_search():
    X, y = numbers(60)
    for boosting in ("rf", "dart"):
        options = {"boosting_type": boosting, "n_estimators": 3, "folds": 2}
        model = LGBMRegressor(preset="best", early_stopping_round=0, **options)
        assert model.fit(X, y).search_results_ == {}


def found_by(n_rows, most_categories=0, *, possible=(True, True), **options):
    """How a preset finds the rounds of a fit with these options of a user.

    Linear leaves and pairs of columns may be ``possible``.
    """
    options = {"preset": "accurate", **options}
    own = make_settings(options, "LGBMRegressor", options)
    chosen = presets.chosen(
        own,
        own.explicit,
        most_categories,
        may_fold=True,
        may_be_linear=possible[0],
        may_have_pairs=possible[1],
    )
    settings = own.replaced(**chosen)
    return presets.search(own, settings, chosen, most_categories, n_rows)


@pytest.mark.parametrize(
    ("n_rows", "options", "rate", "n_rounds"),
    [
        (1_999, {}, 0.15, 500),
        (2_000, {}, 0.15, 500),
        (1_999, {"learning_rate": 0.3}, 0.3, 1500),
        (2_000, {"learning_rate": 0.12}, 0.15, 1200),
        (500, {"learning_rate": 0.01}, 0.15, 100),
        (500, {"folds": 3}, 0.1, 600),
        (500, {"folds": 3, "n_estimators": 40}, 0.1, 40),
    ],
)
def test_candidates_learn_with_larger_steps(n_rows, options, rate, n_rounds):
    """In as many rounds as take steps of the same sum, but not on folds."""
    found = found_by(n_rows, **options)
    assert found.options == {
        "learning_rate": rate,
        "n_estimators": n_rounds,
        "early_stopping_round": None,
    }
    assert found.is_rate_open == ("learning_rate" not in options)
    is_chosen = found.without_folds.get("n_estimators") == 200
    assert is_chosen == ("n_estimators" not in options)


@pytest.mark.parametrize(
    "options",
    [
        {"n_estimators": 100},
        {"early_stopping_round": 5},
        {"early_stopping_round": 5, "folds": 3},
        {"boosting_type": "dart"},
    ],
)
def test_rounds_that_the_user_says_are_not_searched(options):
    assert found_by(500, **options) is None


@pytest.mark.parametrize(
    ("objective", "preset", "n_candidates"),
    [
        *(
            ("regression", "accurate", 5),
            ("cox", "accurate", 1),
            ("aft", "accurate", 1),
        ),
        *(("regression", "best", 8), ("cox", "best", 6)),
        *(("regression", "fast", 2), ("cox", "fast", 1)),
    ],
)
def test_candidates_differ(objective, preset, n_candidates):
    candidates = found_by(500, objective=objective, preset=preset).candidates
    assert len(candidates) == n_candidates
    assert candidates[0] == {}
    assert not any(options in candidates[:k] for k, options in enumerate(candidates))
    own = make_settings({}, "LGBMRegressor")
    if objective == "regression":
        assert candidates[1]["num_leaves"] == own.num_leaves == 31


ALL_PAIRS = False, "sums", "products"


@pytest.mark.parametrize(
    ("options", "pairs"),
    [
        ({"boosting_type": "gbdt"}, ALL_PAIRS),
        ({"possible": (False, True)}, ()),
        ({"possible": (True, False)}, (None,)),
        ({"linear_tree": False}, ()),
        ({"linear_tree": True}, ()),
        ({"extra_trees": False}, ()),
        ({"extra_trees": True}, ()),
        ({"zero_as_missing": True}, ()),
        ({"monotone_constraints": [1]}, ()),
        ({"pair_features": False}, (None,)),
        ({"pair_features": "sums"}, (None,)),
        ({"num_leaves": 5}, ALL_PAIRS),
    ],
)
def test_linear_leaves_and_pairs_are_compared_where_they_may_be(options, pairs):
    """Of kinds that are not possible, the user's own options are what is left.

    ``pairs`` are those of the candidates with linear leaves.
    """
    candidates = found_by(500, **options).candidates
    linear = [kind for kind in candidates if kind.get("linear_tree")]
    assert tuple(kind.get("pair_features") for kind in linear) == pairs
    others = [kind for kind in candidates if kind not in linear]
    assert not any(kind.get("pair_features") for kind in others)
    is_usual = {"num_leaves", "subsample"} if options != {"num_leaves": 5} else {"x"}
    assert any(is_usual <= kind.keys() for kind in others) == (not linear)
    for kind in linear:
        assert (kind["extra_trees"], kind["reg_lambda"]) == (True, 1.0)
        assert kind.get("subsample") == 1.0
        assert kind.get("num_leaves", 31) == 31


@pytest.mark.parametrize(
    ("options", "n_candidates"), [({}, 2), ({"possible": (False, False)}, 1)]
)
def test_a_fast_preset_holds_one_fold_out(options, n_candidates):
    found = found_by(5_000, preset="fast", **options)
    assert (found.n_folds, found.n_tested) == (5, 1)
    assert len(found.candidates) == n_candidates
    assert (found.rate, found.is_rate_open) == (0.15, False)
    of_accurate = found_by(5_000)
    assert (of_accurate.n_folds, of_accurate.n_tested) == (3, 3)


@pytest.mark.parametrize("most_categories", [0, 20, 21])
def test_options_of_many_categories_are_those_of_the_user(most_categories):
    second = found_by(500, most_categories).candidates[1]
    of_categories = {"cat_l2": 10.0, "min_data_per_group": 100}
    assert (second == of_categories) == (most_categories == 21)


@pytest.mark.parametrize(
    ("n_rows", "level"), [(999, 0.0), (1_000, 0.2), (1_999, 0.2), (2_000, 0.4)]
)
def test_few_rows_drop_nothing(n_rows, level):
    assert found_by(n_rows).level == level
    best, far = (Racer({}, "", 500, 0.15, 15) for _ in range(2))
    for racer, score in ((best, 1.0), (far, -9.0)):
        for k in range(6):
            racer.note(score - 0.1 * 2.0**-k + 0.01 * np.arange(3))
    drop([best, far], level)
    assert far.is_dropped == (level > 0)


@pytest.mark.parametrize(
    ("options", "is_linear"),
    [
        ({}, True),
        ({"objective": "poisson"}, True),
        ({"objective": "regression_l1"}, False),
        ({"objective": "normal"}, False),
        ({"objective": lambda y, p: (p - y, np.ones(len(y)))}, None),
    ],
)
def test_numbers_and_losses_that_linear_leaves_need(options, is_linear):
    X, y = numbers(60)
    y = y - y.min() + 1
    model = LGBMRegressor(**ACCURATE, folds=2, n_estimators=3, **options)
    if is_linear is None:
        assert "linear_tree" in model.set_params(folds=None).fit(X, y).preset_params_
        return
    for rows, may_be in (((X, y), is_linear), ((Dataset(X, y),), False)):
        compared = model.fit(*rows).search_results_["params"]
        assert any(kind.get("linear_tree") for kind in compared) == may_be


@pytest.mark.parametrize("most_categories", [0, 5])
def test_draws_lie_in_their_space(most_categories):
    found = found_by(500, most_categories, preset="best", reg_alpha=0.0)
    bounds = {name: (low, high) for name, low, high, _ in found.space}
    of_categories = {"cat_l2", "cat_smooth", "max_cat_to_onehot", "min_data_per_group"}
    assert "reg_alpha" not in bounds
    assert (of_categories <= bounds.keys()) == (most_categories > 0)
    drawn = [d for k in range(1, 60) for d in found.batch(k, seed=3)]
    for name, (low, high) in bounds.items():
        values = np.array([options[name] for options in drawn])
        if name == "extra_trees":
            assert {*values.tolist()} == {False, True}
            continue
        assert low * 0.99 <= values.min() < values.max() <= high * 1.01
        whole = isinstance(getattr(LGBMRegressor(), name), int)
        assert (values.dtype.kind == "i") == whole
        middle = np.median(values)
        if high > 10 * low:
            assert middle == pytest.approx(np.sqrt(low * high), rel=0.5)
        else:
            assert middle == pytest.approx((low + high) / 2, rel=0.05)
    assert found.batch(0, seed=3) == found.candidates
    assert found.batch(4, seed=3) == found.batch(4, seed=3)
    assert found.batch(4, seed=3) not in (
        found.batch(5, seed=3),
        found.batch(4, seed=2),
    )


@pytest.mark.parametrize(
    ("options", "is_drawn"),
    [
        ({}, True),
        ({"data_sample_strategy": "goss"}, False),
        ({"subsample": 0.9}, False),
        ({"folds": 3}, True),
    ],
)
def test_shares_of_rows_are_drawn_where_rows_are_sampled(options, is_drawn):
    names = {option[0] for option in found_by(500, preset="best", **options).space}
    assert ("subsample" in names) == is_drawn
    assert {"num_leaves", "reg_lambda"} <= names


def test_large_tables_have_larger_steps_and_a_sample():
    found = presets.Search(
        3,
        3,
        {"learning_rate": 0.1},
        ({},),
        0.05,
        True,
        {"early_stopping_round": None},
        0.3,
        31,
    )
    inf = float("inf")
    small = found.last_fit(100, 31, 1_000, 1.5, inf)
    assert small == {"early_stopping_round": None, "n_estimators": 230}
    large = found.last_fit(400, 31, 200_000, 10.0, inf)
    assert large["learning_rate"] > 0.05
    assert large["n_estimators"] * 31 == pytest.approx(4 * 100 * 31, rel=0.01)
    steps = large["learning_rate"] * large["n_estimators"]
    assert steps == pytest.approx(40 * 10**0.35, rel=0.01)
    hurried = found.last_fit(100, 31, 1_000, 1.5, 50)
    assert (hurried["learning_rate"], hurried["n_estimators"]) == (
        pytest.approx(0.23, abs=0.01),
        50,
    )
    fixed = found._replace(is_rate_open=False)
    assert fixed.last_fit(100, 31, 1_000, 1.5, 50, 999) == small
    # Steps are smaller where there is time, unless a limit of seconds says otherwise.
    for spare, most, expected in (
        *((229, inf, (0.05, 230)), (288, inf, (0.04, 288)), (999, inf, (0.03, 384))),
        (999, 115, (0.1, 115)),
    ):
        found_by_time = found.last_fit(100, 31, 1_000, 1.5, most, spare)
        rate = found_by_time.get("learning_rate", 0.05)
        n_rounds = found_by_time["n_estimators"]
        assert (rate, n_rounds) == pytest.approx(expected, rel=0.01)
    assert found.n_rows_of(99_999) == 99_999
    assert found.n_rows_of(100_000) == 30_000
