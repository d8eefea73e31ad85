"""Digests of small models over objectives and options, and of other fits.

A model that changes by one bit changes its line in golden.json. Such a change needs a
line in CHANGELOG.md; then write the new digests, in `tests`:

    python -m helpers.golden
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import skgoss
from helpers import golden_fits
from skgoss.model.ensemble import Ensemble, Tree
from skgoss.objectives.objectives import (
    ANY,
    COUNTS,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITIES,
    PROPORTIONS,
)
from skgoss.objectives.objectives import OBJECTIVES as SPECS

FILE = Path(__file__).with_name("golden.json")
N_ROWS = 900
N_QUERIES = 30
SMALL = {"n_estimators": 6, "num_leaves": 8, "min_child_samples": 10, "n_jobs": 1}

# Objectives, and the targets that they learn.
KINDS = {ANY: "number", NOT_NEGATIVE: "positive", POSITIVE: "positive"}
KINDS |= {PROBABILITIES: "share", COUNTS: "positive", PROPORTIONS: "inner share"}
TASKS = {"classification": "three", "ranking": "grade", "survival": "lifetime"}
OBJECTIVES = {
    name: TASKS.get(spec.task, KINDS[spec.targets]) for name, spec in SPECS.items()
} | {"mape": "positive", "binary": "two"}

# Options, tried with each of two objectives.
OPTIONS: dict[str, dict[str, Any]] = {
    "bagging": {"subsample": 0.7, "subsample_freq": 2},
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "dart": {"boosting_type": "dart", "drop_rate": 0.4},
    "rf": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "columns of trees": {"colsample_bytree": 0.5},
    "columns of nodes": {"feature_fraction_bynode": 0.5},
    "extra trees": {"extra_trees": True},
    "penalties": {"reg_alpha": 0.5, "reg_lambda": 2.0, "min_split_gain": 0.1},
    "few bins": {"max_bin": 15, "min_data_in_bin": 7},
    "depth": {"max_depth": 3, "num_leaves": 31},
    "missing zeros": {"zero_as_missing": True},
    "no missing": {"use_missing": False},
    "linear": {"linear_tree": True, "linear_lambda": 0.1},
    "smooth": {"path_smooth": 3.0},
    "steps": {"max_delta_step": 0.2},
    "monotone": {"monotone_constraints": [1, -1, 0, 0, 0, 0]},
    "monotone, advanced": {
        "monotone_constraints": [1, -1, 0, 0, 0, 0],
        "monotone_constraints_method": "advanced",
        "monotone_penalty": 1.0,
    },
    **{
        f"several constraints, {method}": {
            "monotone_constraints": [1, -1, 1, -1, 0, 0],
            "monotone_constraints_method": method,
            "num_leaves": 31,
        }
        for method in ("basic", "intermediate", "advanced")
    },
    "interactions": {"interaction_constraints": [[0, 1, 5], [2, 3, 4]]},
    "categories": {"categorical_feature": [4, 5], "min_data_per_group": 10},
    "contributions": {"feature_contri": [1.0, 0.5, 1.0, 2.0, 1.0, 1.0]},
    "seed": {"random_state": 7, "subsample": 0.5, "subsample_freq": 1},
}


def rows() -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Columns, targets and weights, of whole numbers and sums of a few of them alone.

    No function of a mathematics library is called, so all machines have these rows.
    """
    draw = np.random.default_rng(16)
    X = draw.integers(-512, 512, (N_ROWS, 6)) / 64.0
    X[:, 2] = draw.integers(0, 3, N_ROWS)
    X[:, 3] = np.where(draw.integers(0, 8, N_ROWS) > 0, 0.0, X[:, 3])
    X[:, 4] = draw.integers(0, 12, N_ROWS)
    X[:, 5] = draw.integers(0, 3, N_ROWS)
    signal = X[:, 0] - X[:, 1] * X[:, 2] / 2 + 4 * (5 * X[:, 4] % 12 % 5) + 3 * X[:, 3]
    signal += X[:, 5] * X[:, 0]
    signal += draw.integers(-64, 64, N_ROWS) / 32.0
    X[draw.integers(0, 10, N_ROWS) == 0, 0] = np.nan
    order = np.argsort(signal, kind="stable")
    place = np.empty(N_ROWS, np.int64)
    place[order] = np.arange(N_ROWS)
    targets = {
        "number": signal,
        "positive": 1.0 + place // 64,
        "share": place / N_ROWS,
        "inner share": (1 + place) / (N_ROWS + 1),
        "two": (place > N_ROWS // 3).astype(np.int64),
        "three": place * 3 // N_ROWS,
        "grade": place * 5 // N_ROWS,
        "lifetime": np.column_stack([place % 3 > 0, 1.0 + place // 4]),
    }
    return X, targets, draw.integers(1, 64, N_ROWS) / 16.0


def digest(ensemble: Ensemble) -> str:
    """The first digits of the SHA-256 of every number of every tree and line."""
    names = [field.name for field in dataclasses.fields(Tree)]
    items = [(name, getattr(tree, name)) for tree in ensemble.trees for name in names]
    if ensemble.linear is not None:
        items += ensemble.linear._asdict().items()
    found = hashlib.sha256()
    for name, array in items:
        values = np.ascontiguousarray(array)
        found.update(f"{name} {values.dtype} {values.shape}".encode())
        found.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()[:16]


def fit(objective: str, options: dict[str, Any], weighted: bool) -> str:
    """The digest of a model."""
    X, targets, weight = rows()
    params = {**SMALL, **options, "objective": objective, "num_class": 1}
    y = targets[OBJECTIVES[objective]]
    if OBJECTIVES[objective] == "three":
        params["num_class"] = 3
    group = None
    if OBJECTIVES[objective] == "grade":
        group = np.full(N_QUERIES, N_ROWS // N_QUERIES)
    n_rounds = params.pop("n_estimators")
    data = skgoss.Dataset(
        X,
        y,
        weight=weight if weighted else None,
        group=group,
        categorical_feature=params.pop("categorical_feature", "auto"),
        params=params,
    )
    booster = skgoss.train(params, data, num_boost_round=n_rounds)
    return digest(booster._model.trees)


def models() -> dict[str, tuple[str, dict[str, Any], bool]]:
    """The table: the name of each model and what it is fitted with."""
    table: dict[str, tuple[str, dict[str, Any], bool]] = {}
    for objective in OBJECTIVES:
        table[objective] = (objective, {}, False)
        table[f"{objective}, weights"] = (objective, {}, True)
    for objective in ("regression", "binary"):
        for name, options in OPTIONS.items():
            table[f"{objective}, {name}"] = (objective, options, False)
    shared = {"multi_strategy": "multi_output_tree"}
    table["multiclass, shared trees"] = ("multiclass", shared, False)
    table["multiclassova, shared trees, weights"] = ("multiclassova", shared, True)
    linear = OPTIONS["bagging"] | OPTIONS["linear"]
    table["multiclass, linear, weights"] = ("multiclass", linear, True)
    return table


def write() -> None:
    """Write the digests of all models."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {name: fit(*arguments) for name, arguments in models().items()}
        found |= {name: golden_fits.digest(name) for name in golden_fits.FITS}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
