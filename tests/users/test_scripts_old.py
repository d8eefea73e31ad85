"""Scripts for LightGBM before version 4, in the words of their time.

skgoss runs them as they are. LightGBM 4 has callbacks for most of these arguments:
`Before4` passes them on.
"""

from __future__ import annotations

import numpy as np
import pytest
from scripts import LEAVES, digits, fraud, script, tumours
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold


class Before4:
    """LightGBM 4 with `train` and `cv` as they were before."""

    def __init__(self, lgb):
        self.lgb = lgb
        self.print_evaluation = lgb.log_evaluation

    def __getattr__(self, name):
        return getattr(self.lgb, name)

    def Dataset(self, *args, silent=False, **options):
        return self.lgb.Dataset(*args, **options)

    def train(self, params, train_set, num_boost_round=100, *args, **old):
        return self.lgb.train(*self.now(params, train_set, old), num_boost_round, **old)

    def cv(self, params, train_set, num_boost_round=100, *args, **old):
        old.pop("show_stdv", None)
        found = self.lgb.cv(*self.now(params, train_set, old), num_boost_round, **old)
        return {name.removeprefix("valid "): found[name] for name in found}

    def now(self, params, train_set, old):
        """Turn old arguments into callbacks, parameters and fields."""
        callbacks = list(old.pop("callbacks", None) or [])
        old.pop("verbose_eval", None)
        if rounds := old.pop("early_stopping_rounds", None):
            callbacks.append(self.lgb.early_stopping(rounds, verbose=False))
        old["callbacks"] = callbacks
        return params, train_set


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


# After a hundred rounds hessians are so small that the limits of leaves matter.
@script(adapter=Before4, noise={"auc": 0.005}, above={"auc": 0.85, "cv": 0.85})
def test_cv_of_old(lgb):
    """The keys of `cv` had no prefix; its arguments were those of `train`."""
    X, X_test, y, y_test = fraud()
    params = {"objective": "binary", "num_leaves": 7, "max_depth": 3, "verbosity": -1}
    params |= LEAVES | {"min_sum_hessian_in_leaf": 10, "lambda_l2": 5}
    data_train = lgb.Dataset(X, y, silent=True)
    cv_results = lgb.cv(
        params,
        data_train,
        num_boost_round=1000,
        nfold=4,
        stratified=False,
        shuffle=True,
        metrics="auc",
        early_stopping_rounds=10,
        verbose_eval=False,
        show_stdv=True,
        seed=0,
    )
    params["n_estimators"] = len(cv_results["auc-mean"])
    model = lgb.train(params, lgb.Dataset(X, y))
    return {
        "rounds": params["n_estimators"],
        "cv": cv_results["auc-mean"][-1],
        "stdv": cv_results["auc-stdv"][-1],
        "auc": roc_auc_score(y_test, model.predict(X_test)),
    }


@script(adapter=Before4, below={"loss": 1.0, "cv": 1.0})
def test_weighted_log_loss_of_classes(lgb):
    """A metric for classes that gets the scores of all rows, class after class."""
    X, X_test, y, y_test = digits()
    weights = np.linspace(1, 2, 10)

    def weighted(labels, p):
        p = np.clip(p, 1e-15, 1 - 1e-15)
        share = np.bincount(labels, minlength=10)
        picked = np.log(p[np.arange(len(labels)), labels])
        losses = np.bincount(labels, weights=picked, minlength=10) / share
        return -(losses * weights).sum() / weights.sum()

    def wloss(preds, train_data):
        labels = train_data.get_label().astype(int)
        return "wloss", weighted(labels, np.reshape(preds, (-1, 10), order="F")), False

    params = {"objective": "multiclass", "num_class": 10, "metric": "multi_logloss"}
    params |= {"num_leaves": 5, "learning_rate": 0.1, "verbose": -1} | LEAVES
    ret = lgb.cv(
        params,
        lgb.Dataset(X, y),
        10,
        folds=KFold(3, shuffle=True, random_state=0),
        feval=wloss,
        early_stopping_rounds=100,
        verbose_eval=None,
    )
    clf = lgb.train(
        params,
        lgb.Dataset(X, y),
        num_boost_round=len(ret["wloss-mean"]),
        valid_sets=[lgb.Dataset(X_test, y_test)],
        feval=wloss,
        verbose_eval=100,
    )
    return {
        "cv": ret["wloss-mean"][-1],
        "log loss of cv": ret["multi_logloss-mean"][-1],
        "loss": weighted(y_test, clf.predict(X_test)),
        "as told": clf.best_score["valid_0"]["wloss"],
    }


@script(adapter=Before4, above={"auc": 0.95})
def test_callbacks_of_old(lgb):
    """`print_evaluation` was the name of `log_evaluation`; both lists are in use."""
    X, X_test, y, y_test = tumours()
    params = {"objective": "binary", "metric": "auc", "num_leaves": 7, "verbose": -1}
    params |= LEAVES
    d_train = lgb.Dataset(X, label=y)
    d_valid = lgb.Dataset(X_test, label=y_test)
    bst = lgb.train(
        params,
        d_train,
        200,
        valid_sets=[d_train, d_valid],
        early_stopping_rounds=10,
        callbacks=[lgb.print_evaluation(period=0, show_stdv=True)],
    )
    return {
        "rounds": bst.best_iteration,
        "as told": bst.best_score["valid_1"]["auc"],
        "auc": roc_auc_score(y_test, bst.predict(X_test)),
    }
