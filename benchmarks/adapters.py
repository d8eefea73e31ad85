"""One adapter per library: equal parameters in each library's own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

EQUAL: Mapping[str, Any] = {
    "n_estimators": 100,
    "num_leaves": 31,
    "learning_rate": 0.1,
    "max_bin": 255,
    "min_child_samples": 20,
    "min_child_weight": 1e-3,
    "reg_lambda": 0.0,
}


@dataclass(frozen=True)
class Library:
    """How a library says what LightGBM's scikit-learn interface says.

    Parameters
    ----------
    package : str
        Name of the distribution, for its version.
    module, classifier, regressor : str
        Where the estimators are; imported when asked for and not before.
    words : mapping of str to (str or None)
        LightGBM's names that differ here; None: the library has no such option.
    always : mapping
        Options of every model.
    shape : mapping
        Options that make the trees comparable when parameters are equal.
    """

    package: str
    module: str
    classifier: str
    regressor: str
    words: Mapping[str, str | None] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    shape: Mapping[str, Any] = field(default_factory=dict)


LIBRARIES: Mapping[str, Library] = {
    "skgoss": Library("skgoss", "skgoss", "LGBMClassifier", "LGBMRegressor"),
    "lightgbm": Library(
        "lightgbm",
        "lightgbm",
        "LGBMClassifier",
        "LGBMRegressor",
        always={"verbosity": -1},
    ),
    "xgboost": Library(
        "xgboost",
        "xgboost",
        "XGBClassifier",
        "XGBRegressor",
        words={"num_leaves": "max_leaves", "min_child_samples": None},
        always={"verbosity": 0},
        shape={"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0},
    ),
    "hgb": Library(
        "scikit-learn",
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        # Its number of threads is OMP_NUM_THREADS, which measure.fresh sets.
        words={
            "n_estimators": "max_iter",
            "num_leaves": "max_leaf_nodes",
            "max_bin": "max_bins",
            "min_child_samples": "min_samples_leaf",
            "min_child_weight": None,
            "reg_lambda": "l2_regularization",
            "n_jobs": None,
        },
        shape={"early_stopping": False},
    ),
}


def make(library: str, task: str, parameters: Mapping[str, Any] = EQUAL) -> Any:
    """Make an unfitted estimator.

    Parameters
    ----------
    library : str
        A key of `LIBRARIES`.
    task : {"binary", "multiclass", "regression"}
        What is learned.
    parameters : mapping, default=EQUAL
        Options by LightGBM's names; empty: the library's own defaults.

    Returns
    -------
    estimator : object
        A scikit-learn estimator.
    """
    its = LIBRARIES[library]
    name = its.regressor if task == "regression" else its.classifier
    said = {its.words.get(key, key): value for key, value in parameters.items()}
    said.pop(None, None)
    shape = its.shape if "num_leaves" in parameters else {}
    return getattr(import_module(its.module), name)(**its.always, **shape, **said)
