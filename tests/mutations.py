"""States of fitted models, changed at random: refused, or good to predict with.

Run as a script it tries mutations until one ends the process or fails, and names each
before it is tried: ``python mutations.py FIRST STOP``.
"""

from __future__ import annotations

import copy
import faulthandler
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import skgoss

LEARNED = (
    *("_ensemble", "_categories", "_link", "_objective", "_classes", "n_features_in_"),
    *("feature_names_in_", "_feature_name", "_best_iteration", "_best_score"),
    "_history",
)
NUMBERS = (0, 1, -1, 2, 3, 7, 31, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63))
FLOATS = (0.0, -1.0, 0.5, 1e9, -1e300, np.inf, -np.inf, np.nan, 5e-324)
ODD = (
    *(None, True, -1, 2**31, 10**30, 1.5, np.nan, "x", b"x", (), [], {}, set()),
    *([None], [[]], {"a": 1}, {0: None}, object, np.float64(3), np.int64(2)),
    *(np.zeros(3), np.zeros(0), np.zeros((2, 2)), np.array("x"), np.array([None])),
    *(np.ma.masked_array([1, 2], [0, 1]), np.arange(4), np.zeros(2, "i4,f8")),
)
DTYPES = (
    "f4",
    "f8",
    "i1",
    "u1",
    "i4",
    "u4",
    "i8",
    "u8",
    "O",
    "U3",
    "c16",
    ">i4",
    ">f8",
)


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Rows and a target that need splits, NaN among the values."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 5)), 2)
    X[:, 3] = rng.integers(0, 40, 300)
    y = X[:, 0] * X[:, 1] + (X[:, 3] % 3)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@cache
def models() -> list[Any]:
    """A fitted model of each kind."""
    X, y = data()
    many, words = np.digitize(y, [0, 1, 2]), np.where(y > 1, "yes", "no")
    small = {"n_estimators": 3, "num_leaves": 9, "min_child_samples": 5}
    category = small | {"categorical_feature": [3], "min_data_per_group": 5}
    drawn = small | {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    query = {"qid": np.repeat(np.arange(30), 10)}
    return [
        skgoss.LGBMRegressor(**small).fit(X, y, feature_name=list("abcde")),
        skgoss.LGBMRegressor(**small | {"num_leaves": 200, "min_child_samples": 1}).fit(
            X, y
        ),
        skgoss.LGBMRegressor(**category).fit(X, y, eval_set=[(X, y)]),
        skgoss.LGBMRegressor(linear_tree=True, **category).fit(X, y),
        skgoss.LGBMRegressor(**drawn).fit(X, y),
        skgoss.LGBMClassifier(**category).fit(X, many),
        skgoss.LGBMClassifier(early_stopping_round=2, **small).fit(X, words),
        skgoss.LGBMRanker(**small).fit(X, many, **query),
    ]


def places(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of keys to all that a state holds."""
    if path:
        yield path
    if isinstance(state, dict | list):
        for key in state if isinstance(state, dict) else range(len(state)):
            yield from places(state[key], (*path, key))


def changed_array(values: np.ndarray, rng: np.random.Generator) -> Any:
    """An array with other values, or of another length, order, dtype or shape."""
    kind = rng.integers(8)
    values = np.atleast_1d(values).copy()
    if kind < 4 and values.size and values.dtype.kind in "iuf":
        numbers = FLOATS + NUMBERS if values.dtype.kind == "f" else NUMBERS
        chosen = [numbers[i] for i in rng.integers(len(numbers), size=3)]
        # Values wrap around where the dtype is too small for them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = np.array(chosen, object).astype(float).astype(values.dtype)
        where = rng.integers(values.size, size=1 + 2 * (kind == 0))
        values[where] = given[: len(where)]
        return values
    if kind == 4:
        return rng.permutation(values)
    if kind == 5:
        length = int(rng.choice([0, 1, len(values) + 1, max(0, len(values) - 1), 500]))
        return (
            np.resize(values, length) if values.size else np.zeros(length, values.dtype)
        )
    if kind == 6:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dtype = DTYPES[rng.integers(len(DTYPES))]
            return (
                values.astype(str).astype(object)
                if dtype == "O"
                else _as(values, dtype)
            )
    views = [
        values[None],
        values[::2],
        np.ma.masked_array(values, values == values[:1]),
    ]
    return views[rng.integers(len(views))]


def _as(values: np.ndarray, dtype: str) -> np.ndarray:
    return values.astype(dtype) if values.dtype.kind in "iufb" else values[:0]


def changed(value: Any, rng: np.random.Generator) -> Any:
    """Something else in place of a value."""
    if isinstance(value, np.ndarray) and rng.random() < 0.9:
        return changed_array(value, rng)
    if isinstance(value, int) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    return copy.deepcopy(ODD[rng.integers(len(ODD))])


def mutate(state: dict[str, Any], rng: np.random.Generator) -> str:
    """Change what was learned in one or two places; tell where."""
    log = []
    for _ in range(1 + int(rng.random() < 0.2)):
        learned = {name: state[name] for name in LEARNED if name in state}
        every = list(places(learned))
        path = every[rng.integers(len(every))]
        owner: Any = state
        for key in path[:-1]:
            owner = owner[key]
        kind = rng.random()
        arrays = [p for p in every if p[:-1] == path[:-1] and p != path]
        if kind < 0.1:
            del owner[path[-1]]
        elif kind < 0.2 and arrays:
            other = arrays[rng.integers(len(arrays))][-1]
            owner[path[-1]], owner[other] = owner[other], owner[path[-1]]
        else:
            owner[path[-1]] = changed(owner[path[-1]], rng)
        log.append(f"{path} kind {kind:.2f}")
    return "; ".join(log)


def use(model: Any) -> None:
    """Ask a model for all that reads its state."""
    X, _ = data()
    for rows in (X[:3], X):
        leaves = model.predict(rows, pred_leaf=True)
        assert leaves.shape == (len(rows), model._ensemble.n_trees)
        assert model.predict(rows, raw_score=True).shape[0] == len(rows)
        assert model.predict(rows, start_iteration=1).shape == (len(rows),)
    assert model.feature_importances_.shape == (X.shape[1],)
    assert len(model.feature_name_) == X.shape[1]
    assert model.n_iter_ == model.n_estimators_
    assert model.best_iteration_ >= 0
    assert all(tree.n_leaves for tree in model._ensemble.trees)
    copy.deepcopy(model)


def attempt(number: int) -> bool:
    """Load one mutation; whether it was refused."""
    rng = np.random.default_rng(number)
    model = models()[number % len(models())]
    state = copy.deepcopy(model.__getstate__())
    print(number, end=" ", flush=True)
    print(mutate(state, rng), flush=True)
    loaded = type(model).__new__(type(model))
    try:
        loaded.__setstate__(state)
    except ValueError as error:
        assert str(error)
        return True
    if loaded.fitted_:
        use(loaded)
    return not loaded.fitted_


def main(first: int, stop: int) -> None:
    """Try mutations by number."""
    faulthandler.enable()
    warnings.simplefilter("error")
    refused = sum(attempt(number) for number in range(first, stop))
    print(f"refused {refused} of {stop - first}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
