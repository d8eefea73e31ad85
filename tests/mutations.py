"""States of fitted models, changed at random: refused, or good to predict with.

Run as a script it tries mutations until one ends the process or fails, and names each
before it is tried: ``python mutations.py FIRST STOP``.
"""

from __future__ import annotations

import copy
import faulthandler
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import skgoss

# A mutation that needs more time fails.
SECONDS = 30

LEARNED = ("_booster", "_classes", "n_features_in_", "feature_names_in_", "_history")
NUMBERS = (0, 1, -1, 2, 3, 7, 31, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63))
FLOATS = (0.0, -1.0, 0.5, 1e9, -1e300, np.inf, -np.inf, np.nan, 5e-324)
ODD = (
    *(None, True, -1, 2**31, 10**30, 1.5, np.nan, "x", b"x", (), [], {}, set()),
    *([None], [[]], {"a": 1}, {0: None}, object, np.float64(3), np.int64(2)),
    *(np.zeros(3), np.zeros(0), np.zeros((2, 2)), np.array("x"), np.array([None])),
    *(np.ma.masked_array([1, 2], [0, 1]), np.arange(4), np.zeros(2, "i4,f8")),
)
DTYPES = ("f4", "f8", "i1", "u1", "i4", "u4", "i8", "u8", ">i4", ">f8", "U3", "O")


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
def models() -> list[tuple[Any, np.ndarray]]:
    """A fitted model of each kind, and rows for it."""
    X, y = data()
    many, words = np.digitize(y, [0, 1, 2]), np.where(y > 1, "yes", "no")
    towns = X.astype(object)
    towns[:, 3] = np.where(np.isnan(X[:, 3]), "none", X[:, 3].astype(str))
    small = {"n_estimators": 3, "num_leaves": 9, "min_child_samples": 5}
    large = small | {"num_leaves": 200, "min_child_samples": 1}
    category = small | {"categorical_feature": [3], "min_data_per_group": 5}
    forest = small | {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    queries = np.repeat(np.arange(30), 10)
    return [
        (skgoss.LGBMRegressor(**small).fit(X, y, feature_name=list("abcde")), X),
        (skgoss.LGBMRegressor(**large).fit(X, y), X),
        (skgoss.LGBMRegressor(**category).fit(X, y, eval_set=[(X, y)]), X),
        (skgoss.LGBMRegressor(linear_tree=True, **category).fit(X, y), X),
        (skgoss.LGBMRegressor(**forest).fit(X, y), X),
        (skgoss.LGBMClassifier(**category).fit(towns, many), towns),
        (skgoss.LGBMClassifier(early_stopping_round=2, **small).fit(X, words), X),
        (skgoss.LGBMRanker(**small).fit(X, many, qid=queries), X),
    ]


def put(*path: Any) -> Callable[[Any, Any], None]:
    """A function that puts a value at a place of a state."""

    def change(state: Any, value: Any) -> None:
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Any, Any], None]:
    """A function that deletes what is at a place of a state."""

    def change(state: Any, value: Any) -> None:
        for key in path[:-1]:
            state = state[key]
        del state[path[-1]]

    return change


def places(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of keys to all that a state holds."""
    if path:
        yield path
    if isinstance(state, dict | list):
        for key in state if isinstance(state, dict) else range(len(state)):
            yield from places(state[key], (*path, key))


def other_values(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Odd numbers in one or three places."""
    numbers = NUMBERS + FLOATS if values.dtype.kind == "f" else NUMBERS
    size = rng.choice([1, 3])
    given = np.array([numbers[i] for i in rng.integers(len(numbers), size=size)])
    values = values.copy()
    if values.size and values.dtype.kind in "iuf":
        # Numbers that are too large for the dtype become others.
        with np.errstate(invalid="ignore", over="ignore"):
            values[rng.integers(values.size, size=size)] = given.astype(values.dtype)
    return values


def other_length(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values that are left out, or come again."""
    length = rng.choice([0, 1, max(0, len(values) - 1), len(values) + 1, 500])
    return np.resize(values, length)


def other_dtype(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The values, or as many zeros, of another dtype."""
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    with np.errstate(all="ignore"):
        is_number = values.dtype.kind in "iuf"
        return values.astype(dtype) if is_number else np.zeros(len(values), dtype)


def other_view(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The values, as an array of another kind."""
    return [
        lambda: values[None],
        lambda: values[::2],
        lambda: values[::-1],
        lambda: np.ma.masked_array(values, np.arange(len(values)) < 3),
    ][rng.integers(4)]()


def shuffled(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The values in another order."""
    return rng.permutation(values)


OF_ARRAYS = (*[other_values] * 4, other_length, other_dtype, other_view, shuffled)


def changed(value: Any, rng: np.random.Generator) -> Any:
    """Something else in place of a value."""
    if isinstance(value, np.ndarray) and rng.random() < 0.9:
        change = OF_ARRAYS[rng.integers(len(OF_ARRAYS))]
        return change(np.ravel(value), rng)
    if isinstance(value, int) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    return copy.deepcopy(ODD[rng.integers(len(ODD))])


def mutate(state: dict[str, Any], rng: np.random.Generator) -> Iterator[str]:
    """Change what was learned in one or two places; tell which."""
    for _ in range(1 + int(rng.random() < 0.2)):
        names = [name for name in LEARNED if name in state]
        model = state.get("_booster")
        if rng.random() < 0.6 and isinstance(model, dict) and "ensemble" in model:
            every = list(places(model["ensemble"], ("_booster", "ensemble")))
        elif rng.random() < 0.6 and isinstance(model, dict):
            every = [
                path for path in places(model, ("_booster",)) if "ensemble" not in path
            ]
        else:
            name = str(rng.choice(names))
            every = list(places({name: state[name]}))
        path = every[rng.integers(len(every))]
        siblings = [other for other in every if other[:-1] == path[:-1]]
        owner: Any = state
        for key in path[:-1]:
            owner = owner[key]
        last, other = path[-1], siblings[rng.integers(len(siblings))][-1]
        kind = rng.choice(["absent", "swapped", "changed"], p=[0.1, 0.1, 0.8])
        if kind == "absent":
            del owner[last]
        elif kind == "swapped":
            owner[last], owner[other] = owner[other], owner[last]
        else:
            owner[last] = changed(owner[last], rng)
        yield f"{kind} {'/'.join(map(str, path))}"


def use(model: Any, X: np.ndarray) -> None:
    """Ask a model for all that reads its state."""
    for rows in (X[:3], X):
        leaves = model.predict(rows, pred_leaf=True)
        assert leaves.shape == (len(rows), model._model.trees.n_trees)
        assert len(model.predict(rows, raw_score=True)) == len(rows)
        assert len(model.predict(rows, start_iteration=1)) == len(rows)
    assert model.feature_importances_.shape == (X.shape[1],)
    assert len(model.feature_name_) == X.shape[1]
    assert model.best_iteration_ >= 0
    assert all(tree.n_leaves for tree in model._model.trees.trees)
    copy.deepcopy(model)
    repr((model.best_score_, model._repr_html_(), model.booster_.dump_model()))
    if model._model.trees.linear is None:
        model.predict(X[:3], pred_contrib=True)
        model.predict(X[:3], pred_interactions=True)


def is_refused(number: int) -> bool:
    """Whether a mutation cannot be loaded; one that can must serve."""
    rng = np.random.default_rng(number)
    model, X = models()[number % len(models())]
    state = copy.deepcopy(model.__getstate__())
    print(number, *mutate(state, rng), flush=True)
    loaded = type(model).__new__(type(model))
    try:
        loaded.__setstate__(state)
    except ValueError:
        return True
    # Two changes may make a model of more columns, which serves for other rows.
    serves = loaded.fitted_ and loaded.n_features_ == X.shape[1]
    if serves:
        use(loaded, X)
    return not serves


def n_refused(script: str, first: int, stop: int) -> int:
    """How many mutations a script refuses, in a process of its own."""
    run = subprocess.run(
        [sys.executable, script, str(first), str(stop)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    last = "".join(run.stdout.splitlines(keepends=True)[-1:])
    assert run.returncode == 0, f"mutation {last}{run.stderr[-3000:]}"
    return int(last.split()[1])


def main(is_refused: Callable[[int], bool]) -> None:
    """Try the mutations whose numbers are on the command line."""
    first, stop = map(int, sys.argv[1:])
    faulthandler.enable()
    warnings.simplefilter("ignore")
    refused = 0
    for number in range(first, stop):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        refused += is_refused(number)
    faulthandler.cancel_dump_traceback_later()
    print(f"refused {refused} of {stop - first}")


if __name__ == "__main__":
    main(is_refused)
