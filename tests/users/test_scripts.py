"""Scripts that train by `lgb.train` and `lgb.cv`, with `lightgbm` and with `skgoss`.

They are of the kinds that people publish.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    mean_poisson_deviance,
    mean_squared_error,
    ndcg_score,
    roc_auc_score,
)
from sklearn.model_selection import StratifiedKFold

from helpers.scripts import (
    LEAVES,
    clients,
    curve,
    diabetes,
    fraud,
    sales,
    script,
    searches,
)


def rmse(y, prediction):
    return mean_squared_error(y, prediction) ** 0.5


# --- Tasks ----------------------------------------------------------------------------


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
    # LightGBM adds no constant to these scores.
    params |= {"boost_from_average": False}
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


# --- LightGBM before version 4 --------------------------------------------------------


class Before4:
    """LightGBM 4 with `train` as it was before: arguments are callbacks now."""

    def __init__(self, lgb):
        self.lgb = lgb

    def Dataset(self, *args, silent=False, **options):
        return self.lgb.Dataset(*args, **options)

    def train(self, *args, verbose_eval, early_stopping_rounds, **options):
        stop = self.lgb.early_stopping(early_stopping_rounds, verbose=False)
        return self.lgb.train(*args, callbacks=[stop], **options)


@script(adapter=Before4, noise={"cv": 0.05, "auc": 0.02}, above={"cv": 0.8, "auc": 0.8})
def test_the_loop_of_every_competition(lgb):
    """Folds, predictions out of fold, importances, means over folds."""
    pd = pytest.importorskip("pandas")
    X, X_test, y, y_test = fraud()
    train_df = pd.DataFrame(X, columns=[f"var_{i}" for i in range(X.shape[1])])
    test_df = pd.DataFrame(X_test, columns=train_df.columns)
    target, features = pd.Series(y), list(train_df.columns)
    param = {
        "bagging_freq": 5,
        "bagging_fraction": 0.8,
        "boost_from_average": "false",
        "boost": "gbdt",
        "feature_fraction": 0.6,
        "learning_rate": 0.1,
        "max_depth": -1,
        "metric": "auc",
        "min_data_in_leaf": 20,
        "min_sum_hessian_in_leaf": 1.0,
        "num_leaves": 13,
        "num_threads": 1,
        "tree_learner": "serial",
        "objective": "binary",
        "verbosity": -1,
    }
    folds = StratifiedKFold(n_splits=4, shuffle=True, random_state=44000)
    oof, predictions = np.zeros(len(train_df)), np.zeros(len(test_df))
    importances = []
    for fold_, (trn_idx, val_idx) in enumerate(folds.split(train_df, target)):
        trn_data = lgb.Dataset(
            train_df.iloc[trn_idx][features], label=target.iloc[trn_idx], silent=True
        )
        val_data = lgb.Dataset(
            train_df.iloc[val_idx][features], label=target.iloc[val_idx], silent=True
        )
        clf = lgb.train(
            param,
            trn_data,
            1000,
            valid_sets=[trn_data, val_data],
            verbose_eval=False,
            early_stopping_rounds=20,
        )
        oof[val_idx] = clf.predict(
            train_df.iloc[val_idx][features], num_iteration=clf.best_iteration
        )
        gains = {"feature": features, "importance": clf.feature_importance()}
        importances.append(pd.DataFrame({**gains, "fold": fold_ + 1}))
        predictions += (
            clf.predict(test_df[features], num_iteration=clf.best_iteration)
            / folds.n_splits
        )
    table = pd.concat(importances).groupby("feature")["importance"].mean()
    assert table["var_0"] > table["var_9"]
    return {"cv": roc_auc_score(target, oof), "auc": roc_auc_score(y_test, predictions)}
