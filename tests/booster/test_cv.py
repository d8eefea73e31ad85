"""Cross-validation: folds, results, callbacks, threads."""

import threading

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, StratifiedKFold

import skgoss
from helpers.cv_results import BINARY, ROUNDS, cv, rows, same
from skgoss import CVBooster, Dataset


def trees(booster):
    return booster.model_to_string().partition("\nparameters")[0]


# --- Against LightGBM -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "data"),
    [
        ({**BINARY, "metric": ["binary_logloss", "auc"]}, rows()),
        ({"objective": "multiclass", "num_class": 3}, load_iris(return_X_y=True)),
        ({"objective": "regression_l1"}, (rows()[0], rows()[0][:, 2] + 1)),
        ({"objective": "poisson"}, (rows()[0], np.arange(300) % 7)),
    ],
)
@pytest.mark.parametrize("shuffle", [True, False])
def test_results_are_lightgbms(params, data, shuffle, lightgbm):
    params = {"num_leaves": 7, "verbosity": -1, "n_jobs": 1, **params}
    has_classes = params["objective"] in ("binary", "multiclass", "poisson")
    arguments = {"shuffle": shuffle, "eval_train_metric": True, "seed": 3}
    ours = cv(params, data, **arguments)
    # LightGBM cannot stratify numbers, nor rows in their order.
    arguments["stratified"] = has_classes
    if has_classes and not shuffle:
        arguments["folds"] = list(StratifiedKFold(5).split(*data))
    theirs = lightgbm.cv(params, lightgbm.Dataset(*data), ROUNDS, **arguments)
    assert list(ours) == list(theirs)
    for name in theirs:
        rtol, atol = (0.02, 0.005) if name.endswith("-mean") else (0.2, 0.02)
        np.testing.assert_allclose(ours[name], theirs[name], rtol, atol)


def test_messages_are_lightgbms(capsys, lightgbm):
    written = []
    for module in (skgoss, lightgbm):
        results = [
            module.callback.EvalResult("valid", "auc", 0.7512345, True, 0.0312345),
            module.callback.EvalResult("valid", "l2", 1.25, False, 0.5),
        ]
        for shows in (True, False):
            env = module.callback.CallbackEnv(None, {}, 4, 0, 10, results)
            module.log_evaluation(5, shows)(env)
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]


# --- Against `train` ------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {
            "metric": ["auc", "binary_logloss"],
            "bagging_fraction": 0.5,
            "bagging_freq": 1,
        },
        {"boosting": "dart", "drop_rate": 0.5, "drop_seed": 1},
        {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
        {"early_stopping_round": 2, "learning_rate": 1.0, "metric": "auc"},
        {"min_gain_to_split": 3.0},
    ],
)
def test_folds_are_fits_of_train(params):
    X, y = rows()
    params = {**BINARY, **params}
    # Each fold alone, as early stopping asks for the mean of others, too.
    for pair in list(KFold(3).split(X))[:2]:
        data = Dataset(X, y)
        part, rest = map(data.subset, pair)
        history = {}
        booster = skgoss.train(
            params,
            part,
            12,
            valid_sets=[part, rest],
            valid_names=["train", "valid"],
            callbacks=[skgoss.record_evaluation(history)],
        )
        results = cv(
            params,
            folds=[pair],
            rounds=12,
            eval_train_metric=True,
            return_cvbooster=True,
        )
        (own,) = results.pop("cvbooster").boosters
        assert trees(own) == trees(booster)
        assert own.best_iteration == booster.best_iteration
        assert own.best_score == booster.best_score
        n_kept = booster.best_iteration or None
        for name, by_metric in history.items():
            for metric, values in by_metric.items():
                assert results[f"{name} {metric}-mean"] == values[:n_kept]


def test_means_and_deviations_are_those_of_the_folds():
    X, _ = rows()
    alone = [cv(folds=[pair]) for pair in KFold(4).split(X)]
    values = [fold["valid binary_logloss-mean"] for fold in alone]
    together = cv(folds=KFold(4))
    for word, of in (("mean", np.mean), ("stdv", np.std)):
        np.testing.assert_allclose(
            together[f"valid binary_logloss-{word}"], of(values, axis=0), rtol=1e-15
        )


def test_init_model_is_continued_in_each_fold():
    X, y = rows()
    first = skgoss.train(BINARY, Dataset(X, y), 3)
    results = cv(init_model=first, rounds=4, return_cvbooster=True)
    models = results["cvbooster"]
    assert models.current_iteration() == [7] * 5
    assert len(results["valid binary_logloss-mean"]) == 4
    earlier = first.predict(X, raw_score=True)
    for raw in models.predict(X, num_iteration=3, raw_score=True):
        np.testing.assert_array_equal(raw, earlier)


def test_early_stopping_counts_the_rounds_of_init_model():
    X, y = rows()
    first = skgoss.train(BINARY, Dataset(X, y), 3)
    results = cv(
        {**BINARY, "learning_rate": 2.0},
        init_model=first,
        rounds=30,
        early_stopping_rounds=2,
        return_cvbooster=True,
    )
    n_kept = len(results["valid binary_logloss-mean"])
    assert n_kept < 20
    assert results["cvbooster"].best_iteration == 3 + n_kept
    assert results["cvbooster"].current_iteration() == [3 + n_kept] * 5


def test_rows_are_binned_once():
    X, y = rows()
    data = Dataset(X, y)
    results = skgoss.cv(BINARY, data, 3)
    assert data.data is None
    bins = data._binned
    same(skgoss.cv(BINARY, data, 3), results)
    assert data._binned is bins


def test_linear_leaves_need_values():
    X, y = rows()
    data = Dataset(X, y)
    params = {**BINARY, "linear_tree": True, "linear_lambda": 1.0}
    results = skgoss.cv(params, data, 3)
    assert data.data is X
    assert results["valid binary_logloss-mean"] != cv(rounds=3)["binary_logloss-mean"]
    data = Dataset(X, y).construct()
    with pytest.raises(ValueError, match="data were freed"):
        skgoss.cv(params, data, 3)


def test_folds_of_a_subset_are_folds_of_its_rows():
    X, y = rows()
    some = np.arange(len(y)) % 3 > 0
    whole = Dataset(X, y, free_raw_data=False)
    again = Dataset(X[some], y[some], reference=whole, free_raw_data=False)
    params = {**BINARY, "linear_tree": True, "linear_lambda": 1.0}
    same(skgoss.cv(params, whole.subset(some), 3), skgoss.cv(params, again, 3))


# --- Folds ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"nfold": 1}, ValueError, "nfold must be an int of at least 2, got 1"),
        ({"nfold": 2.5}, ValueError, "nfold must be an int"),
        ({"nfold": 301}, ValueError, "needs at least 301 rows, but train_set has 300"),
        ({"folds": 5}, TypeError, "folds must be a splitter .* The number of folds is"),
        ({"folds": "kfold"}, TypeError, "folds must be a splitter"),
        ({"folds": []}, ValueError, "at least one pair"),
        ({"folds": [[1, 2, 3]]}, ValueError, r"pairs of row numbers .* fold 0"),
        ({"folds": [([1, 2], [])]}, ValueError, r"fold 0: .* shape \(0,\)"),
        ({"folds": [([0.5], [1])]}, ValueError, "dtype float64"),
        ({"folds": [([0, 300], [1])]}, ValueError, "from 0 to 299, got 300"),
        ({"folds": [([0, 1], [-1])]}, ValueError, "from 0 to 299, got -1"),
        ({"folds": [([0, 1, 1], [2])]}, ValueError, "comes twice. For copies of rows"),
        ({"metrics": "ndcg"}, ValueError, "metric 'ndcg' cannot be computed"),
        ({"rounds": 0}, ValueError, "num_boost_round must be an int >= 1, got 0"),
        ({"params": [1]}, TypeError, "params must be a dict, got list"),
        ({"callbacks": print}, TypeError, "callbacks must be a list"),
        ({"verbose_eval": "yes"}, TypeError, "verbose_eval must be a bool or an int"),
        ({"shuffle": "yes"}, TypeError, "shuffle must be True or False, got 'yes'"),
        ({"stratified": "false"}, TypeError, "stratified must be True or False"),
        ({"eval_train_metric": "no"}, TypeError, "eval_train_metric must be True or"),
        ({"return_cvbooster": "no"}, TypeError, "return_cvbooster must be True or"),
    ],
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        cv(**arguments)


def test_errors_of_data_sets():
    X, y = rows()
    with pytest.raises(TypeError, match=r"train_set of cv must be a Dataset"):
        skgoss.cv(BINARY, X)
    with pytest.raises(ValueError, match="label of train_set is None"):
        skgoss.cv(BINARY, Dataset(X))
    with pytest.raises(ValueError, match=r"needs numbers as targets"):
        skgoss.cv(BINARY, Dataset(X, np.where(y > 0, "yes", "no")))
    with pytest.raises(ValueError, match=r"nfold=5 needs .* 5 queries, but .* 2"):
        skgoss.cv(BINARY, Dataset(X, y, group=[100, 200]))
    for n in (299, 301):
        with pytest.raises(ValueError, match=f"label must .* 300 rows, .*{n}"):
            skgoss.cv(BINARY, Dataset(X, np.resize(y, n)))


# --- Results and callbacks ------------------------------------------------------------


def test_early_stopping_keeps_the_best_mean():
    params = {**BINARY, "learning_rate": 1.0}
    whole = cv(params, rounds=30)["valid binary_logloss-mean"]
    history = {}
    stop = skgoss.early_stopping(3, verbose=False)
    results = cv(
        params,
        rounds=30,
        callbacks=[stop, skgoss.record_evaluation(history)],
        return_cvbooster=True,
    )
    best = int(np.argmin(whole[:10])) + 1
    assert results["valid binary_logloss-mean"] == whole[:best]
    assert len(results["valid binary_logloss-stdv"]) == best
    assert history["valid"]["binary_logloss-mean"] == whole[: best + 3]
    models = results["cvbooster"]
    assert models.best_iteration == best
    assert models.current_iteration() == [best] * 5
    by_params = cv({**params, "early_stopping_round": 3, "n_iter": 30}, rounds=5)
    same(by_params, {k: v for k, v in results.items() if k != "cvbooster"})


def test_callbacks_see_the_models_of_their_round():
    seen = []

    def look(env):
        assert isinstance(env.model, CVBooster)
        seen.append((env.iteration, *env.model.current_iteration()))
        (result,) = env.evaluation_result_list
        assert result.is_cv_result()
        assert result.metric_std_dev > 0

    cv({**BINARY, "n_jobs": 2}, rounds=3, callbacks=[look])
    assert seen == [(i, *[i + 1] * 5) for i in range(3)]


def test_callbacks_may_train_the_models_or_take_rounds_back():
    """As in `train`, a step is a round, and whatever its callbacks do."""
    name = "valid binary_logloss-mean"
    plain = cv(rounds=8)[name]
    seen = []

    def grow(env):
        seen.append(env.model.current_iteration()[0])
        env.model.update()

    assert cv(rounds=4, callbacks=[grow])[name] == plain[::2]
    assert seen == [1, 3, 5, 7]
    results = cv(rounds=4, callbacks=[grow], return_cvbooster=True)
    assert results["cvbooster"].current_iteration() == [8] * 5
    back = cv(rounds=3, callbacks=[lambda env: env.model.rollback_one_iter()])
    assert back[name] == plain[:1] * 3


def test_reset_parameter_reaches_all_folds():
    rates = [0.3, 0.1, 0.02]
    reset = cv(rounds=3, callbacks=[skgoss.reset_parameter(learning_rate=rates)])
    first = cv({**BINARY, "learning_rate": 0.3}, rounds=3)
    name = "valid binary_logloss-mean"
    assert reset[name][0] == first[name][0]
    assert reset[name][1] != first[name][1]


def test_names_of_earlier_versions():
    results = cv(metrics="auc")
    assert list(results) == ["valid auc-mean", "valid auc-stdv"]
    assert results["auc-mean"] is results["valid auc-mean"]
    assert results.get("auc-stdv") is results["valid auc-stdv"]
    assert "auc-mean" in results
    assert "l2-mean" not in results
    assert results.get("l2-mean", 3) == 3
    with pytest.raises(KeyError, match="'l2-mean'"):
        results["l2-mean"]


def test_arguments_of_earlier_versions(capsys):
    X, y = rows()

    def logistic(predictions, dataset):
        p = 1 / (1 + np.exp(-predictions))
        return p - dataset.get_label(), p * (1 - p)

    results = skgoss.cv(
        {"metric": "auc", "application": "l2"},
        Dataset(X, y),
        4,
        fobj=logistic,
        feature_name=["a", "b", "c", "d"],
        categorical_feature=[],
        early_stopping_rounds=4,
        verbose_eval=2,
        show_stdv=False,
        return_cvbooster=True,
    )
    assert results["cvbooster"].feature_name() == [["a", "b", "c", "d"]] * 5
    printed = [line for line in capsys.readouterr().out.splitlines() if "'s" in line]
    assert [line[:3] for line in printed[:2]] == ["[2]", "[4]"]
    assert " + " not in printed[0]


def test_metrics_replace_those_of_params():
    params = {**BINARY, "metrics": "auc", "eval_at": [3]}
    assert list(cv(params, metrics=["l2", "binary_error"])) == [
        *("valid l2-mean", "valid l2-stdv"),
        *("valid binary_error-mean", "valid binary_error-stdv"),
    ]
    assert cv(params, metrics="None") == {}


def test_functions_of_the_user_are_called_by_one_thread():
    threads = set()

    def objective(predictions, dataset):
        threads.add(threading.get_ident())
        return predictions - dataset.get_label(), np.ones(len(predictions))

    def feval(predictions, dataset):
        threads.add(threading.get_ident())
        return "error", np.mean((predictions - dataset.get_label()) ** 2), False

    own = cv({"objective": objective, "n_jobs": 2}, feval=feval)
    usual = cv({"objective": "l2", "boost_from_average": False, "metric": "l2"})
    assert threads == {threading.get_ident()}
    np.testing.assert_allclose(
        own["valid error-mean"][0], usual["valid l2-mean"][0], 0.2
    )


def test_fpreproc_changes_data_and_parameters():
    calls = []

    def preprocess(train, test, params):
        calls.append((len(train.get_label()), len(test.get_label())))
        params["learning_rate"] = 0.01
        return train, test, params

    params = {**BINARY}
    results = cv(params, fpreproc=preprocess)
    same(results, cv({**BINARY, "learning_rate": 0.01}))
    assert calls == [(240, 60)] * 5
    assert params == BINARY


def test_fpreproc_needs_no_parameters():
    given = []

    def preprocess(train, test, params):
        given.append(params)
        return train, test, params

    results = skgoss.cv(None, Dataset(*rows()), 2, fpreproc=preprocess)
    same(results, skgoss.cv(None, Dataset(*rows()), 2))
    assert given == [{}] * 5


def test_fpreproc_may_return_other_data():
    X, _ = rows()

    def preprocess(train, test, params):
        at = [dataset.used_indices for dataset in (train, test)]
        first, second = (X[rows, :2] for rows in at)
        train = Dataset(first, train.get_label())
        return train, train.create_valid(second, test.get_label()), params

    models = cv(fpreproc=preprocess, return_cvbooster=True)["cvbooster"]
    assert models.num_feature() == [2] * 5


# --- Threads --------------------------------------------------------------------------


@pytest.mark.parametrize("stops", [False, True])
def test_the_number_of_threads_changes_nothing(stops):
    def run(n_jobs, callbacks=()):
        params = {**BINARY, "n_jobs": n_jobs, "learning_rate": 0.5, "num_leaves": 31}
        results = cv(
            params,
            rows(2000),
            rounds=20,
            early_stopping_rounds=2 if stops else None,
            callbacks=[*callbacks],
            return_cvbooster=True,
        )
        texts = [trees(booster) for booster in results.pop("cvbooster").boosters]
        return results, texts

    first, texts = run(1)
    for n_jobs, callbacks in ((2, []), (2, [lambda env: None]), (7, [])):
        others, other_texts = run(n_jobs, callbacks)
        same(first, others)
        assert texts == other_texts


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fold_that_stops_by_itself_does_not_stop_the_others(n_jobs):
    X, y = rows()
    # Nothing can be learned from the training rows of the first fold.
    zeros, others = np.flatnonzero(y == 0), np.arange(len(y))
    folds = [(zeros[:100], others), (others[:200], others[200:])]
    params = {"num_leaves": 4, "n_jobs": n_jobs, "objective": "l2"}
    found = skgoss.cv(params, Dataset(X, y), ROUNDS, folds=folds, return_cvbooster=True)
    assert len(found["valid l2-mean"]) == ROUNDS
    assert found["cvbooster"].boosters[1].current_iteration() == ROUNDS
    assert len(set(found["valid l2-mean"])) == ROUNDS


def test_init_scores_of_folds_are_those_of_their_rows():
    X, y = rows()
    X = np.round(X)  # so that bins of all rows are those of each fold
    start = np.linspace(-2.0, 2.0, len(y))
    params = BINARY | {"n_jobs": 1}
    order = np.arange(len(y))
    folds = [(order[100:], order[:100]), (order[:200], order[200:])]
    found = skgoss.cv(
        params, Dataset(X, y, init_score=start), 3, folds=folds, return_cvbooster=True
    )
    for (learn, test), booster in zip(folds, found["cvbooster"].boosters, strict=True):
        data = Dataset(X[learn], y[learn], init_score=start[learn])
        alone = skgoss.train(params, data, 3)
        np.testing.assert_allclose(
            booster.predict(X[test], raw_score=True),
            alone.predict(X[test], raw_score=True),
            rtol=1e-9,
        )


def test_a_fold_of_one_class_stops_nothing():
    y = rows()[1]
    order = np.argsort(y)
    folds = [(order[30:], order[:30]), (order[:-30], order[-30:])]
    callbacks = [skgoss.early_stopping(2, verbose=False)]
    with pytest.warns(UserWarning, match="'auc' of 'valid' is NaN"):
        results = cv({**BINARY, "metric": "auc"}, folds=folds, callbacks=callbacks)
    assert np.isnan(results["valid auc-mean"]).tolist() == [True] * ROUNDS
