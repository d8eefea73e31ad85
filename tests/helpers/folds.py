"""Fits on folds, and the models of their folds by `train`."""

import numpy as np
from scipy.special import expit, logit, softmax
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import KFold

import skgoss
from skgoss import Dataset, LGBMClassifier, LGBMRegressor

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


def fit(task="regression", *, weight=None, **options):
    estimator, data = DATA[task]
    model = estimator(**{**SMALL, "folds": KFold(FOLDS), **options})
    return model.fit(*data(), sample_weight=weight)


def models_of_folds(task="regression", *, weight=None, folds=None, **options):
    """The models of the folds, each by `train` on the same bins, and its rows."""
    X, y = DATA[task][1]()
    rows = Dataset(X, y, weight=weight, free_raw_data=False)
    params = {**SMALL, "objective": fit(task).objective_, "verbosity": -1, **options}
    if task == "multiclass":
        params["num_class"] = 3
    patience = params.pop("early_stopping_round", SMALL["n_estimators"])
    if params.get("boosting_type") == "dart":
        patience = 0
    pairs = folds if isinstance(folds, list) else (folds or KFold(FOLDS)).split(X)
    for train, test in pairs:
        calls = [skgoss.early_stopping(patience, verbose=False)] * (patience > 0)
        sets = [rows.subset(test)]
        yield (
            skgoss.train(params, rows.subset(train), valid_sets=sets, callbacks=calls),
            test,
        )


# The links whose predictions are means of the target, for scores of (..., n, n_scores).
LINKS = {
    "exp": np.exp,
    "logistic": expit,
    "log1p_exp": lambda scores: np.log1p(np.exp(scores)),
    "softmax": lambda scores: softmax(scores, axis=-1),
}


SCORES = {
    "exp": np.log,
    "logistic": logit,
    "log1p_exp": lambda means: np.log(np.exp(means) - 1.0),
    "softmax": lambda means: np.log(means) - np.log(means).mean(axis=-1),
}


def constants(members, link, weight=None):
    """The score of the mean of members' predictions, minus that of the mean scores'.

    ``members`` are the scores of each model for the training rows, (n_models, n,
    n_scores).
    """
    goal, found = (
        np.average(predictions, axis=0, weights=weight)
        for predictions in (
            LINKS[link](members).mean(axis=0),
            LINKS[link](members.mean(axis=0)),
        )
    )
    return SCORES[link](goal) - SCORES[link](found)


def joined_scores(members, link, weight=None):
    """The raw scores of the model of folds for the training rows, (n, n_scores).

    ``members`` are those of each fold's model, (n, n_scores) or (n,).
    """
    stacked = np.array([scores.reshape(len(scores), -1) for scores in members])
    added = constants(stacked, link, weight) if link in LINKS else 0.0
    return stacked.mean(axis=0) + added
