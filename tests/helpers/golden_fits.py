"""Fits that compute more than trees: digests of all that their models keep.

Likelihoods, folds, presets, searches and metrics compute numbers outside of the trees,
which models keep or which choose their rounds. Some predictions are in the digests,
too, of those that call no other package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, train
from skgoss.model_selection import GridSearchCV

SMALL: dict[str, Any] = {
    "n_estimators": 8,
    "num_leaves": 8,
    "min_child_samples": 10,
    "n_jobs": 1,
    "random_state": 0,
}
N_ROWS = 240
# Whole numbers and sums of a few of them, which are the same on all machines.
DRAW = np.random.default_rng(56)
X = DRAW.integers(-64, 64, (N_ROWS, 4)) / 16.0
NOISE = DRAW.integers(-32, 33, N_ROWS) / 16.0
Y = X[:, 0] * X[:, 1] + 2 * X[:, 2] + NOISE
PLACE = np.argsort(np.argsort(Y, kind="stable"), kind="stable")
COUNT = 1.0 + PLACE // 16
SHARE = (1 + PLACE) / (N_ROWS + 1)
CLASS = PLACE * 3 // N_ROWS
STRATUM = np.arange(N_ROWS) % 2
LIFETIME = np.column_stack([NOISE > -1, 1.0 + PLACE // 4])
WEIGHT = DRAW.integers(1, 64, N_ROWS) / 16.0
BITS = DRAW.integers(0, 2, (N_ROWS, 60)) * 1.0


def parts(model: Any) -> dict[str, Any]:
    """What a model keeps in addition to its options."""
    state = model.state()
    names = "ensemble best_iteration best_score out_of_fold search baseline"
    chosen = model.preset_params, model.history
    return {name: state.get(name) for name in names.split()} | {"chosen": chosen}


def kept(estimator: Any) -> tuple[Any, ...]:
    """What a model keeps, and its predictions for some rows."""
    return parts(estimator._model), estimator.predict(X[:50])


def on_folds(objective: str, y: Any, **options: Any) -> Any:
    params = SMALL | {"folds": 3} | options
    return kept(LGBMRegressor(objective=objective, **params).fit(X, y))


def stopped(objective: str, y: Any, **fit_options: Any) -> Any:
    """A fit whose rounds the Brier score of other rows chooses."""
    params = SMALL | {"metric": "brier", "early_stopping_round": 2}
    model = LGBMRegressor(objective=objective, **params)
    return model.fit(X[60:], y[60:], eval_set=[(X[:60], y[:60])], **fit_options)


def cox(objective: str, weight: Any = None) -> Any:
    y = np.column_stack([LIFETIME, STRATUM])
    model, at = stopped(objective, y, sample_weight=weight), {"strata": STRATUM[:50]}
    survival = model.predict_survival_function(X[:50], [5.0, 30.0], **at)
    return *kept(model), survival, model.predict_quantile(X[:50], [0.1, 0.6], **at)


def preset(estimator: type, y: Any, **options: Any) -> Any:
    params = {"preset": "accurate", "n_jobs": 1, "random_state": 0} | options
    return kept(estimator(**params).fit(X, y))


def ranking(sizes: list[int], metric: str) -> Any:
    n_rows = sum(sizes)
    columns = np.resize(X, (n_rows, 4)) + np.arange(n_rows)[:, None] % 7
    grades, at = np.resize(CLASS, n_rows), {"eval_at": [5, n_rows]}
    sets = {"eval_set": [(columns, grades)], "eval_group": [sizes]}
    model = LGBMRanker(**SMALL, **at, metric=metric)
    return kept(model.fit(columns, grades, group=sizes, **sets))


def positions() -> Any:
    place = np.arange(N_ROWS) % 9
    rows = Dataset(X, CLASS, group=[40] * 6, position=place)
    params = {**SMALL, "objective": "lambdarank"}
    return parts(train(params, rows, num_boost_round=4)._model)


def refit() -> Any:
    booster = LGBMRegressor(objective="poisson", **SMALL).fit(X, COUNT).booster_
    again = booster.refit(X[:, ::-1].copy(), COUNT, decay_rate=0.3)
    return parts(again._model)


def penalty() -> Any:
    limits = {"monotone_constraints": [1, 0, 1, 0], "monotone_penalty": 1.7}
    return kept(LGBMRegressor(**SMALL, **limits).fit(X, Y))


def classes() -> Any:
    model = LGBMClassifier(metric=["auc_mu", "multi_error"], **SMALL)
    model.fit(X, CLASS, eval_set=[(X[:90], CLASS[:90])])
    return *kept(model), model.predict_proba(X)


def contributions() -> Any:
    """SHAP values of paths through many features."""
    params = SMALL | {"num_leaves": 100, "min_child_samples": 1}
    return LGBMRegressor(**params).fit(BITS, Y).predict(BITS[:9], pred_contrib=True)


def race() -> Any:
    grid = {"learning_rate": [0.3, 0.1], "num_leaves": [4, 12], "n_estimators": [40]}
    model = LGBMRegressor(n_jobs=1, objective="gamma")
    search = GridSearchCV(model, grid, cv=3, strategy="race").fit(X, COUNT)
    scores = {k: v for k, v in search.cv_results_.items() if "score" in k}
    del scores["mean_score_time"], scores["std_score_time"]
    return *kept(search.best_estimator_), scores


FITS: dict[str, Callable[[], Any]] = {
    "normal, folds": lambda: on_folds("normal", Y),
    "student, folds": lambda: on_folds("student", Y),
    "student, folds, refit": lambda: on_folds("student", Y, refit=True),
    "gamma_distribution, folds": lambda: on_folds("gamma_distribution", COUNT),
    "negative_binomial, folds": lambda: on_folds("negative_binomial", COUNT),
    "beta, folds": lambda: on_folds("beta", SHARE),
    "cox_efron, folds": lambda: on_folds("cox_efron", LIFETIME),
    "aft_normal, folds": lambda: on_folds("aft_normal", LIFETIME),
    "cox, brier": lambda: cox("cox"),
    "cox_efron, brier": lambda: cox("cox_efron"),
    "cox_efron, brier, weights": lambda: cox("cox_efron", WEIGHT[60:]),
    "aft_normal, brier": lambda: kept(stopped("aft_normal", LIFETIME)),
    "aft_logistic, brier": lambda: kept(stopped("aft_logistic", LIFETIME)),
    "aft_extreme, brier": lambda: kept(stopped("aft_extreme", LIFETIME)),
    "regression, preset": lambda: preset(LGBMRegressor, Y, n_estimators=20),
    "regression, preset, no folds": lambda: preset(LGBMRegressor, Y),
    "classes, preset, folds": lambda: preset(LGBMClassifier, CLASS, folds=3),
    "lambdarank, long query": lambda: ranking([1700, 40], "ndcg"),
    "lambdarank, positions": positions,
    "poisson, refit": refit,
    "regression, penalty": penalty,
    "classes, metrics": classes,
    "regression, SHAP values": contributions,
    "gamma, race": race,
}


def add(value: Any, found: Any) -> None:
    """Add a value to a hash: numbers bit by bit, and what has parts part by part."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        found.update(f"{value.dtype.str} {value.shape}".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        for key, part in value.items():
            add((key, part), found)
    elif isinstance(value, list | tuple | np.ndarray):
        found.update(str(len(value)).encode())
        for part in value:
            add(part, found)
    else:
        found.update(repr(value).encode())


def digest(name: str) -> str:
    """The first digits of the SHA-256 of what a fit has found."""
    found = hashlib.sha256()
    add(FITS[name](), found)
    return found.hexdigest()[:16]
