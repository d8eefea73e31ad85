"""Scripts that train by `lgb.train` and `lgb.cv`, with `lightgbm` and with `skgoss`.

They are of the kinds that people publish. Here are those that fit models to a task;
`test_scripts_handling.py` has those that handle data sets, boosters and callbacks.
"""

from __future__ import annotations

import numpy as np
import pytest
from scripts import (
    LEAVES,
    clients,
    curve,
    days,
    diabetes,
    digits,
    fraud,
    sales,
    script,
    searches,
    tumours,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
    ndcg_score,
    roc_auc_score,
)
from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit
from sklearn.preprocessing import OneHotEncoder


def rmse(y, prediction):
    return mean_squared_error(y, prediction) ** 0.5


# --- Validation -----------------------------------------------------------------------


@script(
    noise={"share of gain": 1e-5}, above={"auc": 0.8}, below={"auc without it": 0.65}
)
def test_adversarial_validation(lgb):
    """Can a model tell the rows of the test set? Leave out the column that tells it."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdef"))
    test = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    test["c"] += 1.5
    both = pd.concat([train, test], ignore_index=True)
    is_test = np.r_[np.zeros(len(train)), np.ones(len(test))]
    params = {"objective": "binary", "metric": "auc", "num_leaves": 7, "verbose": -1}
    params |= LEAVES

    def separability(frame):
        data = lgb.Dataset(frame, label=is_test)
        history = lgb.cv(params, data, num_boost_round=15, nfold=5, seed=1)
        return history["valid auc-mean"][-1], history["valid auc-stdv"][-1]

    auc, spread = separability(both)
    model = lgb.train(params, lgb.Dataset(both, is_test), num_boost_round=15)
    importance = pd.Series(model.feature_importance("gain"), index=both.columns)
    guilty = importance.idxmax()
    assert guilty == "c"
    return {
        "auc": auc,
        "spread": spread,
        "share of gain": importance[guilty] / importance.sum(),
        "auc without it": separability(both.drop(columns=guilty))[0],
    }


@script(
    above={"auc out of fold": 0.97},
    below={"log loss": 0.2, "log loss of the stack": 0.2},
)
def test_stacking_out_of_fold(lgb):
    """Two models predict the rows of each fold; a logistic regression weighs them."""
    X, X_test, y, y_test = tumours()
    base = {"objective": "binary", "verbosity": -1, "seed": 42} | LEAVES
    recipes = [
        base | {"num_leaves": 4, "learning_rate": 0.2},
        base | {"num_leaves": 15, "learning_rate": 0.1, "lambda_l2": 5.0},
    ]
    folds = StratifiedKFold(n_splits=4, shuffle=True, random_state=7)
    oof = np.zeros((len(y), len(recipes)))
    test = np.zeros((len(y_test), len(recipes)))
    for column, params in enumerate(recipes):
        for trn_idx, val_idx in folds.split(X, y):
            trn = lgb.Dataset(X[trn_idx], label=y[trn_idx])
            model = lgb.train(params, trn, 30)
            oof[val_idx, column] = model.predict(X[val_idx], raw_score=True)
            test[:, column] += model.predict(X_test, raw_score=True) / folds.n_splits
    stack = LogisticRegression(C=0.05).fit(oof, y)
    return {
        "auc out of fold": roc_auc_score(y, oof.mean(axis=1)),
        "log loss": log_loss(y_test, 1 / (1 + np.exp(-test.mean(axis=1)))),
        "log loss of the stack": log_loss(y_test, stack.predict_proba(test)),
    }


@script(below={"rmse": "rmse of the mean"})
def test_rounds_found_by_cv(lgb):
    """Cross-validation tells the number of rounds; all rows get a few more."""
    X, X_test, y, y_test = curve()
    params = {"objective": "regression", "metric": "rmse", "learning_rate": 0.3}
    params |= {"num_leaves": 15, "verbose": -1}
    data = lgb.Dataset(X, label=y)
    history = lgb.cv(
        params,
        data,
        num_boost_round=200,
        nfold=5,
        stratified=False,
        shuffle=True,
        seed=2018,
        callbacks=[lgb.early_stopping(10, verbose=False)],
    )
    rounds = len(history["valid rmse-mean"])
    assert rounds < 200
    assert rounds == np.argmin(history["valid rmse-mean"]) + 1
    model = lgb.train(params, lgb.Dataset(X, y), num_boost_round=int(rounds * 1.1))
    return {
        "rounds": rounds,
        "cv": min(history["valid rmse-mean"]),
        "stdv": history["valid rmse-stdv"][-1],
        "rmse": rmse(y_test, model.predict(X_test)),
        "rmse of the mean": rmse(y_test, np.full(len(y_test), y.mean())),
    }


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


@script(above={"auc": 0.97, "auc with pseudo labels": 0.97})
def test_pseudo_labels(lgb):
    """Rows of the test set of which the model is sure are added to the training set."""
    X, X_test, y, y_test = tumours()
    X_few, y_few = X[:120], y[:120]
    params = {"objective": "binary", "num_leaves": 7, "verbosity": -1}
    params |= {"min_data": 1, "min_hessian": 1.0, "learning_rate": 0.2}
    first = lgb.train(params, lgb.Dataset(X_few, y_few), num_boost_round=40)
    guess = first.predict(X[120:])
    sure = (guess > 0.95) | (guess < 0.05)
    X_more = np.vstack([X_few, X[120:][sure]])
    y_more = np.concatenate([y_few, (guess[sure] > 0.5).astype(int)])
    second = lgb.train(params, lgb.Dataset(X_more, y_more), num_boost_round=40)
    return {
        "sure": sure.mean(),
        "right": accuracy_score(y[120:][sure], guess[sure] > 0.5),
        "auc": roc_auc_score(y_test, first.predict(X_test)),
        "auc with pseudo labels": roc_auc_score(y_test, second.predict(X_test)),
    }


# --- Targets --------------------------------------------------------------------------


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


# Steps of leaves in which most sales are zero are shortened.
@script(
    noise={"deviance": 0.05, "rmse in training": 0.05},
    below={"deviance": "deviance of the mean"},
)
def test_tweedie_sales(lgb):
    """Turnover that is often zero."""
    X, X_test, _, _, _, _, y, y_test = sales()
    params = {"objective": "tweedie", "tweedie_variance_power": 1.3, "metric": "rmse"}
    params |= {"learning_rate": 0.1, "num_leaves": 7, "lambda_l2": 0.1, "verbosity": -1}
    train = lgb.Dataset(X, label=y, categorical_feature=[0])
    model = lgb.train(params, train, num_boost_round=40, valid_sets=[train])
    mean = np.full(len(y_test), y.mean())
    assert model.best_iteration <= 0  # nothing has stopped: all rounds are used
    prediction = model.predict(X_test, num_iteration=model.best_iteration)
    return {
        "rmse in training": model.best_score["training"]["rmse"],
        "deviance": mean_tweedie_deviance(y_test, prediction, power=1.3),
        "deviance of the mean": mean_tweedie_deviance(y_test, mean, power=1.3),
    }


@script(above={"covered": 0.65}, below={"covered": 0.95, "loss": "naive"})
def test_pair_of_quantiles(lgb):
    """Two models, one for each end of an interval."""
    X, X_test, y, y_test = curve()
    ends, loss, naive = {}, [], []
    for alpha in 0.1, 0.9:
        params = {"objective": "quantile", "alpha": alpha, "verbosity": -1}
        params.update(num_leaves=7, metric="quantile")
        ends[alpha] = lgb.train(params, lgb.Dataset(X, y), 60).predict(X_test)
        loss.append(mean_pinball_loss(y_test, ends[alpha], alpha=alpha))
        quantile = np.full(len(y_test), np.quantile(y, alpha))
        naive.append(mean_pinball_loss(y_test, quantile, alpha=alpha))
    return {
        "covered": np.mean((ends[0.1] <= y_test) & (y_test <= ends[0.9])),
        "loss": np.mean(loss),
        "naive": np.mean(naive),
    }


@script(below={"log loss": 0.7, "error": 0.1})
def test_ten_classes(lgb):
    """A softmax of ten classes; predictions have a column for each."""
    X, X_test, y, y_test = digits()
    params = {
        "objective": "multiclass",
        "num_class": 10,
        "metric": ["multi_logloss", "multi_error"],
        "num_leaves": 6,
        "learning_rate": 0.1,
        "verbose": -1,
        "nthread": 1,
        **LEAVES,
    }
    train = lgb.Dataset(X, y)
    valid = lgb.Dataset(X_test, y_test, reference=train)
    model = lgb.train(params, train, num_boost_round=10, valid_sets=[valid])
    p = model.predict(X_test)
    assert p.shape == (len(y_test), 10)
    assert model.num_model_per_iteration() == 10
    return {
        "log loss": log_loss(y_test, p),
        "as told": model.best_score["valid_0"]["multi_logloss"],
        "error": model.best_score["valid_0"]["multi_error"],
        "error by hand": np.mean(p.argmax(axis=1) != y_test),
    }


@script(above={"scaled": 0.3, "balanced": 0.3, "recall": "plain recall"})
def test_few_positives(lgb):
    """Positive rows weigh more: by a number, and by their share."""
    X, X_test, y, y_test = fraud()
    base = {"objective": "binary", "metric": "average_precision", "num_leaves": 7}
    base |= {"verbosity": -1, **LEAVES}
    train = lgb.Dataset(X, y)

    def predict(**more):
        return lgb.train(base | more, train, num_boost_round=15).predict(X_test)

    plain = predict()
    scaled = predict(scale_pos_weight=(y == 0).sum() / y.sum())
    balanced = predict(is_unbalance=True)
    return {
        "scaled": average_precision_score(y_test, scaled),
        "balanced": average_precision_score(y_test, balanced),
        "recall": np.mean(scaled[y_test == 1] > 0.5),
        "plain recall": np.mean(plain[y_test == 1] > 0.5),
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


# Weights are copies of rows, when bins are found, too.
@script(
    noise={"weighted": 0.05},
    below={"rmse": "rmse of the line", "weighted": "rmse of the line"},
)
def test_start_from_a_linear_model(lgb):
    """Trees learn what a linear model leaves over; late rows weigh more."""
    X, X_test, y, y_test = curve()
    line = Ridge().fit(X, y)
    weight = np.linspace(0.5, 2, len(y))
    params = {"objective": "l2", "num_leaves": 7, "verbose": -1}
    train = lgb.Dataset(X, y, init_score=line.predict(X))
    model = lgb.train(params, train, num_boost_round=40)
    weighted = lgb.Dataset(X, y, weight=weight, init_score=line.predict(X))
    heavier = lgb.train(params, weighted, num_boost_round=40)
    start = line.predict(X_test)
    return {
        "rmse": rmse(y_test, start + model.predict(X_test)),
        "weighted": rmse(y_test, start + heavier.predict(X_test)),
        "rmse of the line": rmse(y_test, start),
    }


# --- Kinds of boosting ----------------------------------------------------------------


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


@script(
    noise={"auc": 0.02, "log loss": 0.02, "in training": 0.02},
    above={"auc": 0.85},
    below={"log loss": "log loss of the share"},
)
def test_dart(lgb):
    """Trees are dropped at random; there is no early stopping."""
    X, X_test, y, y_test = fraud()
    params = {
        "objective": "binary",
        "boosting": "dart",
        "drop_rate": 0.1,
        "learning_rate": 0.2,
        "num_leaves": 15,
        "metric": "binary_logloss",
        "seed": 7,
        "verbosity": -1,
    }
    train = lgb.Dataset(X, y)
    model = lgb.train(params, train, num_boost_round=40, valid_sets=[train])
    p = model.predict(X_test)
    return {
        "in training": model.best_score["training"]["binary_logloss"],
        "auc": roc_auc_score(y_test, p),
        "log loss": log_loss(y_test, p),
        "log loss of the share": log_loss(y_test, np.full(len(y_test), y.mean())),
    }


@script(
    noise={"rmse": 0.1, "old words": 0.1},
    below={"rmse": "rmse of the mean", "old words": "rmse of the mean"},
)
def test_goss(lgb):
    """One-side sampling, asked for in the words of version 4 and in the older ones."""
    X, X_test, y, y_test = curve()
    base = {"objective": "regression", "num_leaves": 15, "verbosity": -1}
    base |= {"top_rate": 0.3, "other_rate": 0.2, "learning_rate": 0.1}

    def score(**words):
        model = lgb.train(base | words, lgb.Dataset(X, y), num_boost_round=60)
        return rmse(y_test, model.predict(X_test))

    return {
        "rmse": score(data_sample_strategy="goss"),
        "old words": score(boosting_type="goss"),
        "rmse of the mean": rmse(y_test, np.full(len(y_test), y.mean())),
    }


@script(noise={"rmse": 0.1}, below={"rmse": "rmse of the mean"})
def test_random_forest(lgb):
    """A forest: bags of rows and columns, no learning rate."""
    X, X_test, y, y_test = curve()
    params = {
        "objective": "regression",
        "boosting": "random_forest",
        "bagging_fraction": 0.632,
        "bagging_freq": 1,
        "feature_fraction": 0.8,
        "num_leaves": 64,
        "min_data_in_leaf": 3,
        "verbosity": -1,
    }
    model = lgb.train(params, lgb.Dataset(X, y), num_boost_round=50)
    return {
        "rmse": rmse(y_test, model.predict(X_test)),
        "rmse of the mean": rmse(y_test, np.full(len(y_test), y.mean())),
    }


@script(below={"rmse": "rmse of the mean", "falls": 1e-12})
def test_monotone_constraints(lgb):
    """Predictions rise with two columns, whatever the others are."""
    X, X_test, y, y_test = curve()
    params = {"objective": "regression", "num_leaves": 7}
    params |= {"monotone_constraints": [0, 0, 0, 1, 1, 0, 0, 0], "verbosity": -1}
    model = lgb.train(params, lgb.Dataset(X, y), num_boost_round=50)
    steps = np.repeat(X_test[:50], 20, axis=0)
    steps[:, 3] = np.tile(np.linspace(0, 1, 20), 50)
    path = model.predict(steps).reshape(50, 20)
    return {
        "rmse": rmse(y_test, model.predict(X_test)),
        "rmse of the mean": rmse(y_test, np.full(len(y_test), y.mean())),
        "falls": -min(np.diff(path, axis=1).min(), 0),
    }


@script(above={"auc": 0.95})
def test_leaves_as_columns(lgb):
    """The leaves of each row, one-hot, are the columns of a logistic regression."""
    X, X_test, y, y_test = tumours()
    params = {"objective": "binary", "num_leaves": 6, "verbosity": -1} | LEAVES
    model = lgb.train(params, lgb.Dataset(X, y), num_boost_round=20)
    leaves, leaves_test = (model.predict(Z, pred_leaf=True) for Z in (X, X_test))
    assert leaves.shape == (len(y), 20)
    encoder = OneHotEncoder(handle_unknown="ignore").fit(leaves)
    linear = LogisticRegression(C=0.5, max_iter=200).fit(encoder.transform(leaves), y)
    p = linear.predict_proba(encoder.transform(leaves_test))[:, 1]
    return {"auc": roc_auc_score(y_test, p), "log loss": log_loss(y_test, p)}


# --- Ensembles and searches -----------------------------------------------------------


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


@script(above={"auc": 0.85, "gain of the search": 0.0})
def test_random_search_with_one_data_set(lgb):
    """Ten draws of parameters; the data set is binned once for all of them."""
    X, X_test, y, y_test = fraud()
    rng = np.random.default_rng(3)
    train = lgb.Dataset(X[:1700], y[:1700], params={"feature_pre_filter": False})
    valid = train.create_valid(X[1700:], y[1700:])
    tried = []
    for _ in range(10):
        params = {
            "objective": "binary",
            "metric": "auc",
            "num_leaves": int(rng.integers(3, 32)),
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": float(rng.uniform(5, 20)),
            "learning_rate": float(10 ** rng.uniform(-2, -1)),
            "lambda_l2": float(10 ** rng.uniform(-3, 1)),
            "feature_pre_filter": False,
            "verbosity": -1,
        }
        model = lgb.train(params, train, num_boost_round=25, valid_sets=[valid])
        tried.append((model.best_score["valid_0"]["auc"], params, model))
    aucs = [auc for auc, _, _ in tried]
    best = tried[int(np.argmax(aucs))][2]
    return {
        "best": max(aucs),
        "worst": min(aucs),
        "gain of the search": max(aucs) - np.median(aucs),
        "auc": roc_auc_score(y_test, best.predict(X_test)),
    }
