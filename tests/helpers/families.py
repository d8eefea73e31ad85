"""Small data that each objective can learn from, of rows that options can work on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor
from skgoss.objectives.objectives import OBJECTIVES

N_ROWS = 96
_RANDOM = np.random.default_rng(0)
# Numbers, some of them missing, some of them 0; and numbers of categories.
X = _RANDOM.standard_normal((N_ROWS, 6))
X[_RANDOM.random(N_ROWS) < 0.4, 1] = np.nan
X[:, 2:4] *= _RANDOM.random((N_ROWS, 2)) < 0.4
X[:, 4] = _RANDOM.integers(0, 7, N_ROWS)
CATEGORIES = 4  # the number of their column

_SIGNAL = X[:, 0] + 2 * np.sin(5 * X[:, 4]) + np.nan_to_num(X[:, 1]) + X[:, 2] - X[:, 3]
_SIGNAL += 2.0 * np.isnan(X[:, 1]) - 1.0 * (X[:, 2] == 0)
_SIGNAL += 0.3 * _RANDOM.standard_normal(N_ROWS)
_RANKS = _SIGNAL.argsort().argsort()
_TARGETS = {
    "regression": _SIGNAL * 4,
    "> 0": np.exp(_SIGNAL),
    ">= 0": np.rint(np.exp(_SIGNAL)),
    "0, 1, 2 and so on": np.rint(np.exp(_SIGNAL)),
    "in [0, 1]": 1 / (1 + np.exp(-_SIGNAL)),
    "above 0 and below 1": 1 / (1 + np.exp(-_SIGNAL)),
    "2": _RANKS // (2 * N_ROWS // 3),
    "3": _RANKS // (N_ROWS // 3),
    "ranking": _RANKS // (N_ROWS // 4),
    "survival": np.column_stack([_RANKS % 4 > 0, np.exp(_SIGNAL)]),
}


class Family(NamedTuple):
    """An estimator and the rest of what a fit by an objective gets."""

    estimator: type[LGBMModel]
    y: Any
    options: dict[str, Any]
    fit: dict[str, Any]


def squares(y, predicted):
    return predicted - y, np.ones_like(y)


def _of_objective(name: str) -> Family:
    spec, options, fit = OBJECTIVES[name], {"objective": name}, {}
    estimator, target = LGBMRegressor, spec.targets.description
    if spec.task == "ranking":
        estimator, target = LGBMRanker, "ranking"
        fit["qid"] = np.arange(N_ROWS) // 12
    elif spec.task == "classification":
        estimator, target = LGBMClassifier, "2" if name == "binary" else "3"
    elif spec.task == "survival":
        target = "survival"
    return Family(estimator, _TARGETS.get(target, _TARGETS["regression"]), options, fit)


FAMILIES = {
    **{name: _of_objective(name) for name in OBJECTIVES},
    "a function": Family(
        LGBMRegressor, _TARGETS["regression"], {"objective": squares}, {}
    ),
    "a function of classes": Family(
        LGBMClassifier, _TARGETS["2"], {"objective": squares}, {}
    ),
    "several quantiles": Family(
        LGBMRegressor,
        _TARGETS["regression"],
        {"objective": "quantile", "alpha": [0.05, 0.5, 0.95]},
        {},
    ),
    "several targets": Family(
        LGBMRegressor, np.column_stack([_SIGNAL, X[:, 5] + X[:, 0]]), {}, {}
    ),
    "several targets of classes": Family(
        LGBMClassifier, np.column_stack([_TARGETS["2"], _TARGETS["3"]]), {}, {}
    ),
}


def by_kind() -> list[Any]:
    """The names of all families, of which one of each kind is tested every day."""
    kinds, names = set(), []
    for name in FAMILIES:
        spec = OBJECTIVES.get(name)
        kind = name if spec is None else (spec.task, bool(spec.distribution), spec.link)
        if spec is not None and spec.distribution is not None:
            kind = spec.task
        names.append(pytest.param(name, marks=[pytest.mark.nightly] * (kind in kinds)))
        kinds.add(kind)
    return names


def fitted(family: Family, **options: Any) -> Any:
    """The estimator of a family after its fit."""
    model = family.estimator(**{"n_jobs": 1, **family.options, **options})
    return model.fit(X, family.y, **family.fit)
