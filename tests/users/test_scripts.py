"""Scripts that train by `lgb.train` and `lgb.cv`, with `lightgbm` and with `skgoss`.

They are of the kinds that people publish. `users/test_scripts_old.py` has old ones.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from scripts import (
    LEAVES,
    clients,
    curve,
    days,
    diabetes,
    fraud,
    sales,
    script,
    searches,
    tumours,
)
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    mean_poisson_deviance,
    mean_squared_error,
    ndcg_score,
    roc_auc_score,
)
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

from skgoss import UnusedParameterWarning


def rmse(y, prediction):
    return mean_squared_error(y, prediction) ** 0.5


# --- Tasks ----------------------------------------------------------------------------


@script(below={"mae": "mae of yesterday"})
def test_time_series_splits(lgb):
    """Each split trains on the past and stops early on the days that follow."""
    X, y = days()
    params = {"objective": "mae", "num_leaves": 7, "learning_rate": 0.2, "verbose": -1}
    X_train, X_test, y_train, y_test = X[:-150], X[-150:], y[:-150], y[-150:]
    forecasts, best = [], []
    for past, future in TimeSeriesSplit(n_splits=3).split(X_train):
        trn = lgb.Dataset(X_train.iloc[past], y_train.iloc[past])
        val = lgb.Dataset(X_train.iloc[future], y_train.iloc[future], reference=trn)
        model = lgb.train(
            params,
            trn,
            num_boost_round=300,
            valid_sets=[val],
            callbacks=[lgb.early_stopping(15, verbose=False), lgb.log_evaluation(0)],
        )
        best.append(model.best_iteration)
        forecasts.append(model.predict(X_test, num_iteration=model.best_iteration))
    return {
        "rounds": np.mean(best),
        "mae": mean_absolute_error(y_test, np.mean(forecasts, axis=0)),
        "mae of yesterday": mean_absolute_error(y_test, X_test["lag_1"]),
    }


@script(
    noise={"auc": 0.01, "kept": 2, "auc of the kept": 0.01},
    above={"auc": 0.85, "auc of the kept": 0.85, "recall": 0.7},
)
def test_null_importances(lgb):
    """Columns stay if they gain more than with shuffled labels, most of the time."""
    X, X_test, y, y_test = fraud()
    params = {
        "objective": "binary",
        "boosting_type": "rf",
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "feature_fraction": 0.7,
        "num_leaves": 31,
        "verbosity": -1,
        "n_jobs": 1,
    }

    def importances(labels, seed):
        data = lgb.Dataset(X, labels, free_raw_data=False)
        model = lgb.train(params | {"seed": seed}, data, num_boost_round=20)
        return model.feature_importance(importance_type="gain")

    rng = np.random.default_rng(0)
    actual = importances(y, 1)
    null = np.array([importances(rng.permutation(y), seed) for seed in range(8)])
    kept = np.flatnonzero(actual > np.percentile(null, 75, axis=0) * 1.2)

    def auc(columns):
        fit = {"objective": "binary", "num_leaves": 15, "verbosity": -1}
        model = lgb.train(fit, lgb.Dataset(X[:, columns], y), 40)
        return roc_auc_score(y_test, model.predict(X_test[:, columns]))

    return {
        "auc": auc(np.arange(X.shape[1])),
        "kept": len(kept),
        "recall": np.isin([0, 1, 2, 3], kept).mean(),
        "auc of the kept": auc(kept),
    }


@script(above={"ap": 0.3, "f1": 0.3})
def test_focal_loss(lgb):
    """A loss of one's own, with a metric of one's own for early stopping."""
    X, X_test, y, y_test = fraud()
    X_trn, X_val, y_trn, y_val = X[:1700], X[1700:], y[:1700], y[1700:]
    alpha, gamma = 0.75, 1.5

    def loss(score, t):
        p = np.clip(1 / (1 + np.exp(-score)), 1e-9, 1 - 1e-9)
        p_t = np.where(t == 1, p, 1 - p)
        return -np.where(t == 1, alpha, 1 - alpha) * (1 - p_t) ** gamma * np.log(p_t)

    def objective(preds, data):
        t, step = data.get_label(), 1e-3
        up, here, down = (loss(preds + d, t) for d in (step, 0, -step))
        return (up - down) / (2 * step), np.maximum((up + down - 2 * here), 0) / step**2

    def metric(preds, data):
        return "focal", loss(preds, data.get_label()).mean(), False

    trn = lgb.Dataset(X_trn, y_trn)
    val = lgb.Dataset(X_val, y_val, reference=trn)
    history = {}
    params = {"objective": objective, "num_leaves": 7, "verbose": -1}
    model = lgb.train(
        params | LEAVES,
        trn,
        num_boost_round=60,
        valid_sets=[trn, val],
        valid_names=["train", "valid"],
        feval=metric,
        callbacks=[
            lgb.early_stopping(10, verbose=False),
            lgb.record_evaluation(history),
        ],
    )
    prediction = 1 / (1 + np.exp(-model.predict(X_test)))
    return {
        "rounds": model.best_iteration,
        "focal": min(history["valid"]["focal"]),
        "ap": average_precision_score(y_test, prediction),
        "f1": f1_score(y_test, prediction > 0.4),
    }


@script(above={"ndcg": "ndcg of nothing"})
def test_ranking(lgb):
    """Documents in the order of their queries, LambdaMART and NDCG at 5."""
    X, X_test, y, y_test, group, group_test = searches()
    train = lgb.Dataset(X, label=y, group=group)
    valid = lgb.Dataset(X_test, label=y_test, group=group_test, reference=train)
    params = {"objective": "lambdarank", "metric": "ndcg", "ndcg_eval_at": [3, 5]}
    params |= {"num_leaves": 7, "verbosity": -1, **LEAVES}
    model = lgb.train(
        params, train, num_boost_round=40, valid_sets=[valid], valid_names=["test"]
    )

    def ndcg(scores):
        ends = np.cumsum(group_test)[:-1]
        pairs = zip(np.split(2**y_test - 1, ends), np.split(scores, ends), strict=True)
        return np.mean([ndcg_score([t], [s], k=5) for t, s in pairs if t.any()])

    return {
        "ndcg@3": model.best_score["test"]["ndcg@3"],
        "ndcg@5": model.best_score["test"]["ndcg@5"],
        "ndcg": ndcg(model.predict(X_test)),
        "ndcg of nothing": ndcg(np.zeros(len(X_test))),
    }


@script(below={"deviance": "deviance of the mean"})
def test_counts_with_exposure(lgb):
    """Counts over different numbers of days, whose logarithm is where to start.

    `predict` does not know of it, so the days are multiplied.
    """
    X, X_test, y, y_test, exposure, exposure_test, _, _ = sales()
    params = {"objective": "poisson", "num_leaves": 7, "verbosity": -1}
    train = lgb.Dataset(X, y, init_score=np.log(exposure))
    model = lgb.train(params, train, num_boost_round=50)
    expected = np.exp(model.predict(X_test, raw_score=True)) * exposure_test
    mean = y.sum() / exposure.sum() * exposure_test
    return {
        "total": expected.sum() / y_test.sum(),
        "deviance": mean_poisson_deviance(y_test, expected),
        "deviance of the mean": mean_poisson_deviance(y_test, mean),
    }


@script(above={"auc": 0.75, "auc of codes": 0.75})
def test_categories_of_pandas(lgb):
    """Columns of dtype category are found; the others may be named."""
    X, X_test, y, y_test = clients()
    params = {"objective": "binary", "metric": "auc", "num_leaves": 15, "verbosity": -1}
    params |= {"cat_smooth": 1, "min_data_per_group": 1, **LEAVES}
    train = lgb.Dataset(X, label=y, categorical_feature="auto")
    valid = lgb.Dataset(X_test, label=y_test, reference=train)
    model = lgb.train(params, train, num_boost_round=15, valid_sets=[valid])
    codes, codes_test = X.copy(), X_test.copy()
    for frame in codes, codes_test:
        frame["job"] = frame["job"].cat.codes
        frame["town"] = frame["town"].cat.codes
    named = lgb.Dataset(codes, y, categorical_feature=["job", "town"])
    by_codes = lgb.train(params, named, num_boost_round=15)
    return {
        "auc": roc_auc_score(y_test, model.predict(X_test)),
        "as told": model.best_score["valid_0"]["auc"],
        "auc of codes": roc_auc_score(y_test, by_codes.predict(codes_test)),
    }


@script(below={"rmse": "rmse of the mean", "cv": "rmse of the mean"})
def test_ensemble_of_subsets(lgb):
    """The rows are binned once; each fold is a subset. The data set keeps the rows."""
    pd = pytest.importorskip("pandas")
    X, X_test, y, y_test = diabetes()
    frame = pd.DataFrame(X).add_prefix("x")
    data = lgb.Dataset(data=frame, label=y, free_raw_data=False)
    data.construct()
    params = {"objective": "regression", "num_leaves": 7, "verbose": -1}
    params |= {"learning_rate": 0.1, "metric": "l2"}
    oof, total, best = np.zeros(len(y)), np.zeros(len(y_test)), []
    for trn_idx, val_idx in KFold(5, shuffle=True, random_state=1).split(frame):
        model = lgb.train(
            params=params,
            train_set=data.subset(trn_idx),
            valid_sets=data.subset(val_idx),
            num_boost_round=100,
            callbacks=[lgb.early_stopping(10, verbose=False)],
        )
        best.append(model.best_iteration)
        oof[val_idx] = model.predict(data.data.iloc[val_idx])
        total += model.predict(X_test, num_iteration=model.best_iteration) / 5
    return {
        "rounds": np.mean(best),
        "cv": rmse(y, oof),
        "rmse": rmse(y_test, total),
        "rmse of the mean": rmse(y_test, np.full(len(y_test), y.mean())),
    }


# --- Boosters -------------------------------------------------------------------------


@script(below={"l2": "l2 of the mean"})
def test_rounds_by_hand(lgb):
    """A loop over `update` that takes a round back when it was of no use."""
    X, X_test, y, y_test = diabetes()
    train = lgb.Dataset(X, y)
    valid = lgb.Dataset(X_test, y_test, reference=train)
    params = {"objective": "regression", "metric": "l2", "num_leaves": 15}
    booster = lgb.Booster({**params, "learning_rate": 0.3, "verbose": -1}, train)
    booster.add_valid(valid, "held out")
    best, taken_back = np.inf, 0
    for _ in range(30):
        booster.update()
        [(name, metric, value, higher)] = booster.eval_valid()
        assert (name, metric, higher) == ("held out", "l2", False)
        if value > best * 1.002:
            booster.rollback_one_iter()
            taken_back += 1
            booster.reset_parameter({"learning_rate": 0.3 * 0.8**taken_back})
        best = min(best, value)
        if taken_back == 5:
            break
    [(_, _, in_training, _)] = booster.eval_train()
    return {
        "rounds": booster.current_iteration(),
        "taken back": taken_back,
        "in training": in_training,
        "l2": mean_squared_error(y_test, booster.predict(X_test)),
        "l2 of the mean": np.mean((y_test - y.mean()) ** 2),
    }


@script(below={"rmse": "rmse before"})
def test_updates_with_gradients_of_ones_own(lgb):
    """`update` takes a function of the scores: here the loss is log(cosh(error))."""
    X, X_test, y, y_test = curve()

    def logcosh(preds, data):
        slope = np.tanh(preds - data.get_label())
        return slope, 1 - 0.9 * slope**2

    train = lgb.Dataset(X, y, init_score=np.full(len(y), np.median(y)))
    params = {"objective": "none", "num_leaves": 7, "verbosity": -1} | LEAVES
    booster = lgb.Booster(params=params, train_set=train)
    for _ in range(60):
        if booster.update(fobj=logcosh):
            break
    return {
        "rounds": booster.num_trees(),
        "rmse": rmse(y_test, np.median(y) + booster.predict(X_test)),
        "rmse before": rmse(y_test, np.full(len(y_test), np.median(y))),
    }


@script(near=1e-5, above={"share of five": 0.9})
def test_what_the_model_uses(lgb):
    """Importances as a table and a plot, the trees as a dict and as a data frame."""
    pd = pytest.importorskip("pandas")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, _, y, _ = curve()
    columns = [f"x{i}" for i in range(8)]
    params = {"objective": "regression", "num_leaves": 7, "verbosity": -1}
    train = lgb.Dataset(pd.DataFrame(X, columns=columns), y)
    model = lgb.train(params, train, num_boost_round=20)
    table = pd.DataFrame(
        {
            "feature": model.feature_name(),
            "gain": model.feature_importance(importance_type="gain"),
            "split": model.feature_importance(),
        }
    ).sort_values("gain", ascending=False)
    bars = lgb.plot_importance(model, max_num_features=5, importance_type="gain")
    labels = [tick.get_text() for tick in bars.get_yticklabels()]
    assert labels == list(table["feature"][:5])[::-1]
    pyplot.close("all")
    frame = model.trees_to_dataframe()
    splits = frame[frame["split_feature"].notna()]
    assert splits["split_feature"].value_counts().to_dict() == {
        name: n for name, n in zip(table["feature"], table["split"], strict=True) if n
    }
    dumped = json.loads(json.dumps(model.dump_model()))
    assert dumped["feature_names"] == columns
    root = dumped["tree_info"][0]["tree_structure"]
    return {
        "share of five": table["gain"][:5].sum() / table["gain"].sum(),
        "splits": len(splits),
        "gain of x3": table.set_index("feature")["gain"]["x3"],
        "first threshold": root["threshold"],
        "first column": root["split_feature"],
        "rows": root["internal_count"],
        "leaves": sum(tree["num_leaves"] for tree in dumped["tree_info"]),
    }


# --- Data sets ------------------------------------------------------------------------


# Weights are copies of rows, when bins are found, too.
@script(noise={"ndcg": 0.01}, above={"ndcg": 0.8}, below={"apart": 1e-12})
def test_containers_of_labels(lgb):
    """Labels, weights and groups in lists, arrays and Series make the same model."""
    pd = pytest.importorskip("pandas")
    X, X_test, y, y_test, group, group_test = searches()
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": 5, "verbose": -1}
    params |= {"num_leaves": 7, "label_gain": [0, 1, 3, 7, 15]} | LEAVES
    query = pd.Series(np.repeat(np.arange(len(group)), group))
    weight = 1 + query % 3
    rows = pd.DataFrame({"label": y}, index=np.arange(len(y)) * 2)
    predictions, told = [], []
    for label, sizes, weights in [
        (y, group, weight.to_numpy()),
        (list(y), list(group), list(weight)),
        (rows["label"], query.value_counts(sort=False), weight),
        (rows, group.astype(np.int32), weight.astype("float32")),
    ]:
        train = lgb.Dataset(X, label, weight=weights, group=sizes)
        valid = lgb.Dataset(X_test, y_test, train, group=group_test)
        model = lgb.train(params, train, 15, [valid])
        predictions.append(model.predict(X_test))
        told.append(model.best_score["valid_0"]["ndcg@5"])
    return {
        "ndcg": told[0],
        "apart": max(np.ptp(predictions, axis=0).max(), np.ptp(told)),
    }


@script(above={"auc": 0.65}, below={"l2": 0.24})
def test_groups_that_stay_together(lgb):
    """Folds by town, so that no town is in both parts."""
    X, _, y, _ = clients()
    X = X.reset_index(drop=True)
    towns = X["town"].cat.codes.to_numpy()
    params = {"objective": "binary", "metric": ["auc", "l2"], "verbosity": -1}
    params |= {"max_cat_to_onehot": 10, "num_leaves": 7, **LEAVES}
    history = lgb.cv(
        params,
        lgb.Dataset(X.drop(columns="town"), label=y.to_numpy()),
        num_boost_round=10,
        folds=GroupKFold(n_splits=5).split(X, y, groups=towns),
    )
    lists = {"valid auc-mean", "valid auc-stdv", "valid l2-mean", "valid l2-stdv"}
    assert set(history) == lists
    return {
        "auc": max(history["valid auc-mean"]),
        "stdv": history["valid auc-stdv"][-1],
        "l2": min(history["valid l2-mean"]),
    }


@script(above={"auc out of fold": 0.85, "auc": 0.85})
def test_boosters_of_cv(lgb):
    """The models of the folds predict what they have not seen, and the test set."""
    X, X_test, y, y_test = fraud()
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    params = {"objective": "binary", "metric": "auc", "num_leaves": 7, "verbose": -1}
    params |= LEAVES | {"min_sum_hessian_in_leaf": 10, "lambda_l2": 5}
    result = lgb.cv(
        params,
        lgb.Dataset(X, y),
        num_boost_round=100,
        folds=folds,
        eval_train_metric=True,
        return_cvbooster=True,
        callbacks=[lgb.early_stopping(10, verbose=False)],
    )
    models = result["cvbooster"]
    assert len(models.boosters) == 4
    assert len(result["train auc-mean"]) == models.best_iteration
    oof = np.zeros(len(y))
    for (_, rows), booster in zip(folds, models.boosters, strict=True):
        oof[rows] = booster.predict(X[rows], num_iteration=models.best_iteration)
    predictions = models.predict(X_test, num_iteration=models.best_iteration)
    importances = np.mean(models.feature_importance(importance_type="gain"), axis=0)
    return {
        "rounds": models.best_iteration,
        "auc out of fold": roc_auc_score(y, oof),
        "auc": roc_auc_score(y_test, np.mean(predictions, axis=0)),
        "in training": result["train auc-mean"][-1],
        "strongest": importances.argmax(),
    }


# --- Callbacks, metrics, parameters ---------------------------------------------------


class Pruned(Exception):
    """The trial is not worth more rounds."""


class Trial:
    """Keeps what is reported, and ends trials that are worse than the others."""

    def __init__(self, finished):
        self.finished, self.values = finished, {}

    def report(self, value, step):
        self.values[step] = value

    def should_prune(self):
        step = max(self.values)
        others = [values[step] for values in self.finished if step in values]
        return step >= 5 and len(others) > 1 and self.values[step] > np.median(others)


class PruningCallback:
    """Reports the metric of a validation set; raises where the trial shall end."""

    def __init__(self, trial, metric, valid_name="valid_0"):
        self.trial, self.metric, self.valid_name = trial, metric, valid_name

    def __call__(self, env):
        # What `cv` tells has five entries, and other names.
        is_cv = len(env.evaluation_result_list[0]) == 5 and bool(
            env.evaluation_result_list[0][4]
        )
        name = "valid" if is_cv else self.valid_name
        for result in env.evaluation_result_list:
            if result[0] == name and result[1] in (self.metric, f"valid {self.metric}"):
                self.trial.report(result[2], step=env.iteration)
                if self.trial.should_prune():
                    raise Pruned(f"Pruned in iteration {env.iteration}.")
                return
        raise ValueError(f"No {self.metric!r} in {env.evaluation_result_list}.")


@script(above={"pruned": 0}, below={"best": "l2 of the mean"})
def test_pruning(lgb):
    """A callback looks at each round's metric and raises when a trial is hopeless."""
    X, X_test, y, y_test = diabetes()
    finished, rounds, pruned = [], [], 0
    for trial_number, rate in enumerate([0.1, 0.2, 0.01, 0.3, 0.05, 0.15]):
        trial = Trial(finished)
        train = lgb.Dataset(X, y)
        params = {"objective": "regression", "metric": "l2", "learning_rate": rate}
        params |= {"num_leaves": 5, "verbosity": -1}
        callbacks = [PruningCallback(trial, "l2")]
        try:
            if trial_number % 2:
                lgb.cv(
                    params, train, 20, nfold=3, stratified=False, callbacks=callbacks
                )
            else:
                valid = lgb.Dataset(X_test, y_test, reference=train)
                lgb.train(params, train, 20, valid_sets=[valid], callbacks=callbacks)
        except Pruned:
            pruned += 1
        finished.append(trial.values)
        rounds.append(len(trial.values))
    return {
        "pruned": pruned,
        "rounds": sum(rounds),
        "best": min(min(values.values()) for values in finished),
        "l2 of the mean": np.mean((y_test - y.mean()) ** 2),
    }


@pytest.mark.parametrize("package", ["lightgbm", "skgoss"])
def test_pruning_by_optuna(package):
    """Optuna's own callback, where it is installed."""
    optuna = pytest.importorskip("optuna")
    integration = pytest.importorskip("optuna_integration.lightgbm")
    lgb = pytest.importorskip(package)
    X, X_test, y, y_test = diabetes()
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial):
        rate = trial.suggest_float("learning_rate", 0.01, 0.3, log=True)
        params = {"objective": "regression", "metric": "l2", "learning_rate": rate}
        train = lgb.Dataset(X, y)
        valid = lgb.Dataset(X_test, y_test, reference=train)
        pruning = integration.LightGBMPruningCallback(trial, "l2")
        params |= {"num_leaves": 5, "verbosity": -1}
        model = lgb.train(params, train, 20, valid_sets=[valid], callbacks=[pruning])
        return model.best_score["valid_0"]["l2"]

    study = optuna.create_study(
        sampler=optuna.samplers.RandomSampler(0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=2),
    )
    study.optimize(objective, n_trials=8)
    states = [trial.state.name for trial in study.trials]
    assert "PRUNED" in states
    assert study.best_value < np.mean((y_test - y.mean()) ** 2)


# The option ends nothing without early_stopping_round, but the callback does.
@script(below={"first": 0.5, "any": 0.5}, warns=(UnusedParameterWarning,))
def test_metrics_in_lists(lgb):
    """Several metrics: the first one stops, or any of them."""
    X, X_test, y, y_test = tumours()
    base = {"objective": "binary", "num_leaves": 7, "learning_rate": 0.15}
    base |= {"verbose": -1}
    base |= LEAVES
    train = lgb.Dataset(X, y, free_raw_data=False)
    valid = lgb.Dataset(X_test, y_test, reference=train, free_raw_data=False)
    fit = {"train_set": train, "num_boost_round": 200, "valid_sets": valid}
    first = lgb.train(
        base | {"metric": ["binary_logloss", "auc"], "first_metric_only": True},
        **fit,
        callbacks=[lgb.early_stopping(10, first_metric_only=True, verbose=False)],
    )
    anyone = lgb.train(
        base | {"metric": "auc,binary_logloss", "early_stopping_round": 10}, **fit
    )
    assert list(first.best_score["valid_0"]) == ["binary_logloss", "auc"]
    return {
        "first": first.best_score["valid_0"]["binary_logloss"],
        "rounds of the first": first.best_iteration,
        "any": anyone.best_score["valid_0"]["binary_logloss"],
        "rounds of any": anyone.best_iteration,
    }


@script(above={"auc": 0.97})
def test_many_aliases(lgb):
    """Words of other versions and libraries for the same parameters; devices, files."""
    X, X_test, y, y_test = tumours()
    params = {
        "application": "binary",
        "boost": "gbdt",
        "metric_types": "auc",
        "num_rounds": 30,
        "eta": 0.15,
        "max_leaf_nodes": 9,
        "min_samples_leaf": 1,
        "min_hessian": 5,
        "reg_alpha": 0.1,
        "l2_regularization": 0.5,
        "max_bins": 127,
        "random_seed": 3,
        "nthreads": 1,
        "verbose": -1,
        "task": "train",
        "device": "cpu",
        "is_training_metric": True,
        "tree_learner": "serial",
        "two_round": False,
    }
    given = dict(params)
    model = lgb.train(params, lgb.Dataset(X, y))
    assert params == given
    assert model.current_iteration() == 30
    plain = {
        "objective": "binary",
        "learning_rate": 0.15,
        "num_leaves": 9,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 5.0,
        "lambda_l1": 0.1,
        "lambda_l2": 0.5,
        "max_bin": 127,
        "verbosity": -1,
    }
    same = lgb.train(plain, lgb.Dataset(X, y), num_boost_round=30)
    p = model.predict(X_test)
    np.testing.assert_array_equal(p, same.predict(X_test))
    return {"auc": roc_auc_score(y_test, p), "log loss": log_loss(y_test, p)}
