"""What docs/design.md promises, by the numbers of that page.

The promises that are missing here have files of their own, which the page names.
"""

from __future__ import annotations

import gc
import os
import pickle
import weakref
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from helpers.trees import arrays, assert_identical
from skgoss import (
    Booster,
    Dataset,
    EarlyStopException,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    cv,
    train,
)
from skgoss._engine import threads as pool
from skgoss.model.ensemble import Tree
from skgoss.objectives.objectives import OBJECTIVES as SPECS

Model = LGBMClassifier | LGBMRanker | LGBMRegressor


def target(X: np.ndarray, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Z = np.nan_to_num(X)
    noise = 0.3 * rng.standard_normal(len(X))
    return Z[:, 0] - Z[:, 1] ** 2 + np.sin(3 * Z[:, 2]) + noise


def classes(y: np.ndarray, n: int) -> np.ndarray:
    return np.digitize(y, np.quantile(y, np.arange(1, n) / n))


# --- 1. The same model on any number of threads ---------------------------------------


def test_there_are_two_threads():
    """Else the next tests would compare one thread with itself."""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one thread is all there is here")
    assert any(pool.traced(2, 1, 2, True)[1].tolist() == [0, 1] for _ in range(1000))


@cache
def rows(kind: str) -> tuple[Any, np.ndarray]:
    """Columns and a target."""
    rng = np.random.default_rng(30)
    if kind == "lists":  # long enough for threads to share them
        n, n_variables, n_levels = 120_000, 5, 10
        level = rng.integers(0, n_levels, (n, n_variables))
        column = (level + n_levels * np.arange(n_variables)).ravel()
        start = n_variables * np.arange(n + 1)
        values = np.ones(len(column), dtype=np.float32)
        X = csr_array((values, column, start), (n, n_variables * n_levels))
        y = rng.standard_normal((n_variables, n_levels))[np.arange(n_variables), level]
        return X, y.sum(axis=1) + rng.standard_normal(n)
    if kind == "wide":  # leaves of few rows have no histogram
        X = rng.standard_normal((300, 8000)).astype(np.float32)
        return X, X[:, 0] + X[:, 1]
    n = {"few": 1000, "many": 60_000, "mostly zero": 20_000}[kind]
    X = rng.standard_normal((n, 20))
    X[:, 3] = rng.integers(0, 12, n)
    X[rng.random(X.shape) < 0.03] = np.nan
    if kind == "mostly zero":
        one_hot = np.eye(60)[rng.integers(0, 60, n)]
        X[rng.random(X.shape) < 0.8] = 0.0
        return csr_array(np.column_stack([X, one_hot])), target(X)
    return X, target(X)


WEIGHTS: dict[str, Any] = {
    "twelve orders": lambda rng, n: 10.0 ** rng.uniform(-6, 6, n),
    "anchor": lambda rng, n: np.where(np.arange(n) == 77, 1e9, 1.0),
    "absent": lambda rng, n: rng.integers(0, 3, n).astype(float),
}


def of_kind(
    kind: int | str, X: Any, y: np.ndarray
) -> tuple[np.ndarray, dict[str, Any]]:
    """Targets of some classes, or of another kind, and what else `fit` gets."""
    rng, n = np.random.default_rng(31), len(y)
    if isinstance(kind, int):
        return classes(y, kind), {}
    name, _, n_classes = kind.partition(", ")
    if name in WEIGHTS:
        labels = classes(y, int(n_classes)) if n_classes else y
        return labels, {"sample_weight": WEIGHTS[name](rng, n)}
    return {
        "numbers": (y, {}),
        "counts": (np.exp(0.3 * y), {}),
        "several": (np.column_stack([y, -(y**2), classes(y, 3)]), {}),
        "grades": (classes(y, 4), {"qid": np.arange(n) // 20}),
        "lives": (np.column_stack([rng.random(n) < 0.7, np.exp(0.3 * y)]), {}),
        "watched": (y, {"eval_set": [(X[:300], y[:300])]}),
        "times": (y, {"time": np.arange(n)[::-1] // 2}),
    }[name]


def regressor(**options: Any) -> LGBMRegressor:
    return LGBMRegressor(**{"n_estimators": 3} | options)


def classifier(**options: Any) -> LGBMClassifier:
    return LGBMClassifier(**{"n_estimators": 3} | options)


def ranker(**options: Any) -> LGBMRanker:
    return LGBMRanker(n_estimators=15, min_child_samples=5, **options)


# With this rate the second of three rounds is sampled already.
ONE_SIDE: dict[str, Any] = {"data_sample_strategy": "goss", "learning_rate": 0.9}
# Threads split such leaves in parallel and speculatively.
SMALL_LEAVES: dict[str, Any] = {"num_leaves": 400, "min_child_samples": 3}
BAGS: dict[str, Any] = {"subsample": 0.6, "subsample_freq": 1}
SIGNS: dict[str, Any] = {"monotone_constraints": [1, -1] + [0] * 18}
APART = [[0, 1, 2, 3], [2, 3, 4, 5, 6]]
CONTRIBUTIONS = [1, 2, 1, 1, 0.5, *[1] * 15]
ROOT = {"feature": 5, "threshold": 0.5, "left": {"feature": 6, "threshold": 0.0}}

# Models by what they are fitted to.
THREADS: dict[tuple[str, int | str], dict[str, Model]] = {
    ("many", "numbers"): {
        "plain": regressor(),
        "bagging": regressor(subsample=0.7, subsample_freq=1),
        "columns of a tree": regressor(colsample_bytree=0.6),
        "columns of a node": regressor(feature_fraction_bynode=0.6),
        "random cuts": regressor(extra_trees=True),
        "many bins": regressor(max_bin=1000),
        "absolute loss": regressor(objective="l1"),
        "one side": regressor(**ONE_SIDE),
        "one side, absolute loss": regressor(objective="l1", **ONE_SIDE),
        "one side, quantile": regressor(objective="quantile", **ONE_SIDE),
        "categories": regressor(categorical_feature=[3], **ONE_SIDE),
        "lines": regressor(linear_tree=True),
        "small leaves": regressor(**SMALL_LEAVES),
        "small leaves, categories": regressor(
            categorical_feature=[3], max_bin=300, **SMALL_LEAVES
        ),
        "small leaves, constraints": regressor(
            **SIGNS | SMALL_LEAVES,
            monotone_penalty=1.5,
            interaction_constraints=APART,
            max_depth=14,
        ),
        **{
            f"constraints, {method}": regressor(
                **SIGNS,
                monotone_constraints_method=method,
                feature_contri=CONTRIBUTIONS,
            )
            for method in ("basic", "intermediate", "advanced")
        },
    },
    ("many", "counts"): {
        "plain": regressor(objective="poisson", path_smooth=3.0),
        "one side": regressor(objective="poisson", **ONE_SIDE),
    },
    ("many", 2): {
        "few bins": classifier(max_bin=15),
        "zero is missing": classifier(zero_as_missing=True),
        "large trees": classifier(num_leaves=127),
        "one side": classifier(**ONE_SIDE),
        "forced splits": classifier(
            forcedsplits_filename=ROOT, extra_trees=True, **SMALL_LEAVES
        ),
    },
    ("many", 3): {
        "bagging": classifier(subsample=0.5, subsample_freq=2),
        "one versus all": classifier(objective="multiclassova"),
        "one side": classifier(**ONE_SIDE),
        "one side, one versus all": classifier(objective="multiclassova", **ONE_SIDE),
        "lines": classifier(linear_tree=True),
    },
    ("many", 7): {
        "columns of a node": classifier(feature_fraction_bynode=0.5),
        "constraints": classifier(**SIGNS, monotone_constraints_method="advanced"),
    },
    **{("many", kind): {"weights": regressor()} for kind in WEIGHTS},
    **{("many", f"{kind}, 2"): {"weights": classifier()} for kind in WEIGHTS},
    ("lists", "numbers"): {
        "plain": regressor(),
        "one side": regressor(**ONE_SIDE),
        "small leaves": regressor(**SMALL_LEAVES),
    },
    ("lists", "absent"): {"large trees": regressor(num_leaves=300)},
    ("mostly zero", "numbers"): {
        "plain": regressor(),
        "bagging": regressor(**BAGS),
        "no bundles": regressor(enable_bundle=False),
    },
    ("mostly zero", 2): {
        "one side": classifier(**ONE_SIDE),
        "conflicts": classifier(max_conflict_rate=0.02),
    },
    ("mostly zero", 3): {
        "plain": classifier(),
        "bagging": classifier(**BAGS),
        "no bundles": classifier(enable_bundle=False),
    },
    ("wide", "numbers"): {
        "random cuts": regressor(min_child_samples=5, extra_trees=True),
        "columns of a node": regressor(
            min_child_samples=5, feature_fraction_bynode=0.3
        ),
    },
    # Trees of several classes or outputs grow side by side, as do folds.
    ("few", "numbers"): {
        "quantiles": regressor(objective="quantile", alpha=[0.1, 0.5, 0.9], **BAGS),
        "folds": regressor(folds=4),
    },
    ("few", "watched"): {
        "plain": regressor(),
        "dart": regressor(boosting_type="dart", skip_drop=0.0),
    },
    ("few", 2): {"folds": classifier(folds=4)},
    ("few", 3): {
        "plain": classifier(n_estimators=10),
        "folds": classifier(folds=4),
        "constraints": classifier(
            **SIGNS, n_estimators=10, monotone_constraints_method="intermediate"
        ),
    },
    ("few", 7): {"plain": classifier(n_estimators=10)},
    ("few", "several"): {"plain": regressor(**BAGS)},
    ("few", "lives"): {
        "cox": regressor(objective="cox"),
        "efron": regressor(objective="cox_efron"),
    },
    ("few", "times"): {
        "folds": regressor(folds=3),
        "held out": regressor(early_stopping_round=3),
    },
    ("few", "grades"): {
        f"{objective}, {name}": ranker(objective=objective, **options)
        for objective in ("lambdarank", "rank_xendcg")
        for name, options in {
            "plain": {},
            "one side": {"data_sample_strategy": "goss"},
            "bagging": {**BAGS, "bagging_by_query": True},
        }.items()
    },
}
CASES = [(key, name) for key, models in THREADS.items() for name in models]


def everything(model: Model, X: Any) -> list[Any]:
    """What a fit has learned and told, and what it predicts."""
    text = model.booster_.model_to_string().partition("parameters:")[0]
    found = [text, model.evals_result_, model.predict(X[:20_000], raw_score=True)]
    if model.folds is not None:
        found.append(model.oof_prediction_)
    return found


@pytest.mark.parametrize("n_jobs", [2, 17])
@pytest.mark.parametrize(("key", "name"), CASES, ids=str)
def test_identical_models_on_any_number_of_threads(key, name, n_jobs):
    X, y = rows(key[0])
    y, given = of_kind(key[1], X, y)
    one, other = (
        clone(THREADS[key][name]).set_params(n_jobs=n).fit(X, y, **given)
        for n in (1, n_jobs)
    )
    np.testing.assert_equal(everything(other, X), everything(one, X))
    if isinstance(one, LGBMClassifier):
        expected = one.predict_proba(X[:20_000], n_jobs=1)
        found = one.predict_proba(X[:20_000], n_jobs=2)
        np.testing.assert_array_equal(found, expected)


# --- 3. The container does not matter -------------------------------------------------


def containers(X: np.ndarray) -> dict[str, Any]:
    """The same numbers, exact in every type, in everything that holds them."""
    found = {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "backwards": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "every second": np.repeat(X, 2, axis=0)[::2],
        "float32": X.astype(np.float32),
        "float32 F": np.asfortranarray(X, dtype=np.float32),
        "list": X.tolist(),
    }
    if not np.isnan(X).any():
        found |= {f"{kind}": X.astype(kind) for kind in ("int64", "int32", "int8")}
    return found


def frames(X: np.ndarray) -> dict[str, Any]:
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    mixed = {
        name: x.astype(np.float32) if j % 2 or np.isnan(x).any() else x.astype(np.int16)
        for j, (name, x) in enumerate(columns.items())
    }
    return {
        "pandas": pd.DataFrame(columns),
        "pandas mixed": pd.DataFrame(mixed),
        "polars": pl.DataFrame(columns),
        "polars mixed": pl.DataFrame(mixed),
        "arrow": pa.table(columns),
        "arrow chunks": pa.concat_tables(
            [pa.table(mixed).slice(0, 100), pa.table(mixed).slice(100)]
        ),
    }


@pytest.mark.parametrize("missing", [False, True])
def test_identical_models_in_any_container(missing):
    rng = np.random.default_rng(33)
    X = np.rint(20 * rng.standard_normal((700, 4)).clip(-5, 5))
    y = target(X / 20)
    if missing:
        X[rng.random(700) < 0.1, 1] = np.nan
    expected = LGBMRegressor(n_estimators=5, n_jobs=1).fit(X, y)
    for name, held in (containers(X) | frames(X)).items():
        model = LGBMRegressor(n_estimators=5, n_jobs=1).fit(held, y)
        assert_identical(model, expected)
        np.testing.assert_array_equal(
            model.predict(held), expected.predict(X), err_msg=name
        )


@pytest.mark.parametrize("kind", ["list", "int", "pandas", "polars", "arrow"])
def test_identical_models_of_any_container_of_targets(kind):
    rng = np.random.default_rng(34)
    X = rng.standard_normal((300, 3))
    y = np.rint(5 * target(X))
    weight = rng.integers(1, 4, 300).astype(float)
    wrap = {
        "list": list,
        "int": lambda v: v.astype(int),
        "pandas": lambda v: pytest.importorskip("pandas").Series(v),
        "polars": lambda v: pytest.importorskip("polars").Series(v),
        "arrow": lambda v: pytest.importorskip("pyarrow").array(v),
    }[kind]
    expected = LGBMRegressor(n_estimators=5).fit(X, y, sample_weight=weight)
    model = LGBMRegressor(n_estimators=5).fit(X, wrap(y), sample_weight=wrap(weight))
    assert_identical(model, expected)


# --- 5. min_child_samples is kept exactly ---------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("least", [1, 7, 20, 150])
@pytest.mark.parametrize(
    "options",
    [{}, {"extra_trees": True}, {"subsample": 0.5, "subsample_freq": 1}],
    ids=str,
)
def test_no_leaf_has_fewer_rows(options, least, weighted):
    """Even where hessians are unrelated to counts: rare positives, wild weights."""
    rng = np.random.default_rng(35)
    X = rng.standard_normal((3000, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = target(X) > np.quantile(target(X), 0.97)
    weight = 10.0 ** rng.uniform(-3, 3, len(X)) if weighted else None
    options = {"min_child_samples": least, "min_child_weight": 0.0, **options}
    model = LGBMClassifier(n_estimators=20, n_jobs=1, **options)
    model.fit(X, y, sample_weight=weight)
    assert arrays(model)["leaf_count"].min() >= least
    if "subsample" not in options:
        for tree, leaf_of in zip(
            model._model.trees.trees, model.predict(X, pred_leaf=True).T, strict=True
        ):
            np.testing.assert_array_equal(np.bincount(leaf_of), tree.leaf_count)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("least", [1, 2, 20, 150])
@pytest.mark.parametrize("options", [{}, {"extra_trees": True}, ONE_SIDE], ids=str)
def test_no_leaf_has_less_curvature(options, least, weighted):
    """Than that of ``least`` - 1/2 average rows of its parent."""
    rng = np.random.default_rng(52)
    X = rng.standard_normal((3000, 5))
    y = target(X) > np.quantile(target(X), 0.9)
    weight = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    options = {"min_child_samples": least, "min_child_weight": 0.0, **options}
    options = {"n_estimators": 40, "learning_rate": 0.3, "n_jobs": 1, **options}
    model = LGBMClassifier(**options)
    model.fit(X, y, sample_weight=weight)
    # In the first round all hessians are equal, apart from weights: there is no limit.
    shares = np.concatenate([rows_of_children(t) for t in model._model.trees.trees[1:]])
    assert len(shares) > 30
    if least == 1:
        assert shares.min() < 0.5
    else:
        # The model rounds the sums that the engine compares.
        assert least - 0.5 - 1e-3 * least <= shares.min() < least + 5


def test_outliers_that_a_column_tells_apart_have_leaves_of_their_own():
    """The hessians of the location of 'student' are small where errors are large."""
    X, noise = np.random.default_rng(53).random((2, 1000, 3))
    is_far = X[:, 1] > 0.9
    y = X[:, 0] + noise.sum(axis=1) + 100.0 * is_far
    model = LGBMRegressor(objective="student", learning_rate=0.3, n_jobs=1).fit(X, y)
    trees = model._model.trees.trees[::3]
    assert min(rows_of_children(tree).min() for tree in trees) < 5
    assert min(tree.leaf_count.min() for tree in trees) >= 20
    assert np.abs(model.predict(X) - y)[is_far].mean() < 3.0


def rows_of_children(tree: Tree) -> np.ndarray:
    """The hessians of all nodes but the root, in average rows of their parents."""
    average = tree.internal_weight / tree.internal_count
    children = np.concatenate([tree.left_child, tree.right_child])
    weight = np.where(
        children >= 0,
        tree.internal_weight[np.maximum(children, 0)],
        tree.leaf_weight[np.maximum(~children, 0)],
    )
    return weight / np.concatenate([average, average])


# --- 6. Weights mean copies -----------------------------------------------------------

# Whose weights are copies, with the options that they need here.
OPTIONS = {"huber": {"alpha": 0.5}}
OPTIONS |= {name: {"alpha": 0.7} for name, spec in SPECS.items() if spec.has_level}
OBJECTIVES = {
    name: (
        LGBMClassifier if spec.task == "classification" else LGBMRegressor,
        OPTIONS.get(name, {}),
    )
    for name, spec in SPECS.items()
    if spec.task != "ranking" and not spec.weighs_rows
}


def few_values(
    name: str, n: int = 400
) -> tuple[type[Model], dict[str, Any], np.ndarray, np.ndarray]:
    """Columns with few values, an objective, and no limits on counts of rows."""
    rng = np.random.default_rng(36)
    X = rng.integers(0, 8, (n, 4)).astype(float)
    X[rng.random(n) < 0.1, 2] = np.nan
    signal = target(X / 4)
    cls, options = OBJECTIVES[name]
    if cls is LGBMClassifier:
        y = classes(signal, 2 if name == "binary" else 3)
    elif SPECS[name].task == "survival":
        y = np.column_stack([rng.random(n) < 0.7, np.ceil(4 * np.exp(signal / 2)) / 4])
    elif SPECS[name].link == "exp" or name in ("lognormal", "gamma_distribution"):
        y = np.exp(signal / 2)
    elif name == "negative_binomial":
        y = np.floor(2 * np.exp(signal / 2))
    else:
        shares = name in ("cross_entropy", "beta")
        y = 1 / (1 + np.exp(-signal)) if shares else signal
    options = {"objective": name, "n_estimators": 8, "num_leaves": 8}
    options |= {"min_child_samples": 1, "min_data_in_bin": 1, "n_jobs": 1, **options}
    return cls, options, X, y


def many_values(
    name: str, n: int
) -> tuple[type[Model], dict[str, Any], np.ndarray, np.ndarray]:
    """The same with many other columns, many of them mostly zero."""
    cls, options, X, y = few_values(name, n)
    rng = np.random.default_rng(43)
    numbers = rng.standard_normal((n, 3))
    zeros = np.where(rng.random((n, 20)) < 0.02, rng.standard_normal((n, 20)), 0.0)
    one_hot = rng.integers(0, 12, n)[:, None] == np.arange(12)
    return cls, options, np.column_stack([X, numbers, zeros, one_hot]), y


def assert_same_but_counts(one: Model, other: Model) -> None:
    """Every number is the same but those that count rows."""
    assert one._model.trees.n_trees == other._model.trees.n_trees
    others = arrays(other)
    assert len(others["split_gain"]) > 0
    for name, a in arrays(one).items():
        if name not in ("internal_count", "leaf_count"):
            assert a.tobytes() == others[name].tobytes(), name


def assert_copies(
    cls: type[Model],
    options: dict[str, Any],
    X: Any,
    y: np.ndarray,
    copies: np.ndarray,
    **fit_options: Any,
) -> None:
    """Weights give the bits of copies, in every number but the counts of rows."""
    weighted = cls(**options).fit(X, y, sample_weight=copies, **fit_options)
    which = np.repeat(np.arange(len(y)), copies)
    # Copies need not stand together.
    which = np.random.default_rng(44).permutation(which)
    options = options | {"n_jobs": 2}
    assert_same_but_counts(
        weighted, cls(**options).fit(X[which], y[which], **fit_options)
    )


@pytest.mark.parametrize("n", [6000, 400, 60])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_whole_weights_are_copies(name, n):
    cls, options, X, y = many_values(name, n)
    copies = np.random.default_rng(37).integers(0, 4, len(X))
    assert_copies(cls, options, X, y, copies)
    assert_copies(cls, options, csr_array(np.nan_to_num(X)), y, copies)


COPY_OPTIONS = {
    "penalties": {"reg_alpha": 0.1, "reg_lambda": 1.0, "min_child_weight": 5.0},
    "limits": {"max_delta_step": 0.1, "min_split_gain": 0.1, "max_depth": 3},
    "few bins": {"max_bin": 15},
    "forced bins": {"forcedbins_filename": {0: [2.5], 4: [-0.3, 0.1]}, "max_bin": 9},
    "features": {"colsample_bytree": 0.5, "feature_fraction_bynode": 0.5},
    "random cuts": {"extra_trees": True},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "monotone": {"monotone_constraints": [1, -1] + [0] * 37},
    "bounds": {
        "monotone_constraints": [1, -1] + [0] * 37,
        "monotone_constraints_method": "advanced",
    },
    "from zero": {"boost_from_average": False},
    "no bundles": {"enable_bundle": False},
    "not sparse": {"is_enable_sparse": False},
}


@pytest.mark.parametrize("options", COPY_OPTIONS)
@pytest.mark.parametrize("name", ["regression", "quantile", "binary"])
def test_whole_weights_are_copies_with_any_option(name, options):
    cls, usual, X, y = many_values(name, 700)
    copies = np.random.default_rng(45).integers(0, 6, len(X))
    assert_copies(cls, usual | COPY_OPTIONS[options], X, y, copies)


@pytest.mark.parametrize("n", [300, 9000])
@pytest.mark.parametrize("most", [1, 3, 40, 3000])
@pytest.mark.parametrize("name", ["regression", "poisson", "binary", "multiclassova"])
def test_whole_weights_of_any_size_are_copies(name, most, n):
    """Some need wide rounds, or blocks of few rows, that their copies do not need."""
    cls, options, X, y = many_values(name, n)
    copies = np.ones(n, dtype=int)
    copies[::100] = most
    options |= {"n_estimators": 3, "subsample_for_bin": 10**6}
    assert_copies(cls, options, X, y, copies)
    assert_copies(cls, options, csr_array(X), y, copies)


@pytest.mark.parametrize("name", ["regression", "binary"])
@pytest.mark.parametrize("most", [3, 40])
def test_whole_weights_are_copies_in_entries(name, most):
    """Blocks of few rows, and places that more rows name themselves."""
    rng = np.random.default_rng(52)
    X = (rng.random((14000, 60)) < 0.03) * 1.0
    y = 1.0 * (X @ rng.standard_normal(60) + rng.standard_normal(len(X)) > 0)
    copies = np.ones(len(X), dtype=int)
    copies[::100] = most
    cls, _ = OBJECTIVES[name]
    options = {"n_estimators": 3, "enable_bundle": False, "min_child_samples": 1}
    assert_copies(cls, options, csr_array(X), y, copies)


@pytest.mark.parametrize("name", ["regression", "regression_l1", "binary"])
@pytest.mark.parametrize("k", [0, 2])
def test_whole_weights_are_copies_of_categories(name, k):
    """Even where only the commonest categories have bins."""
    cls, options, X, y = few_values(name, 600)
    rng = np.random.default_rng(46)
    rare = np.minimum(rng.geometric(0.05, len(X)), 90).astype(float)
    X = np.column_stack([X, rare])
    options |= {"cat_smooth": 1.0, "min_data_per_group": 1, "max_bin": 10}
    copies = rng.integers(0, 4, len(X)) if k == 0 else np.full(len(X), k)
    assert_copies(cls, options, X, y, copies, categorical_feature=[3, 4])


def squares(y, predicted):
    return predicted - y, 2 + np.sin(y)


BESIDE = {
    "unbalanced": ("binary", {"is_unbalance": True}),
    "unbalanced, each class": ("multiclassova", {"is_unbalance": True}),
    "scaled": ("binary", {"scale_pos_weight": 0.3}),
    "scaled, each class": ("multiclassova", {"scale_pos_weight": 0.3}),
    "steep": ("binary", {"sigmoid": 2.0}),
    "steep, each class": ("multiclassova", {"sigmoid": 2.0}),
    "classes": ("multiclass", {"class_weight": {0: 1, 1: 3, 2: 2}}),
    "a function": ("regression", {"objective": squares}),
    # Magnitudes that need wide rounds, of weights as of copies.
    "outliers": ("regression", {}),
    "positive outliers": ("gamma", {}),
}


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("case", BESIDE)
def test_whole_weights_are_copies_beside_others(case, equal):
    name, more = BESIDE[case]
    cls, options, X, y = many_values(name, 500)
    if "outliers" in case:
        y = np.exp(6 * (y - y.mean()) / y.std())
    drawn = np.random.default_rng(47).integers(0, 4, len(X))
    copies = np.full(len(X), 3) if equal else drawn
    assert_copies(cls, options | more, X, y, copies)


def test_whole_weights_of_queries_are_copies_of_them():
    rng = np.random.default_rng(51)
    X = rng.standard_normal((600, 5))
    y = rng.integers(0, 5, 600)
    qid = rng.integers(0, 60, 600)
    copies = rng.integers(0, 4, 60)
    ranker = LGBMRanker(n_estimators=10, min_child_samples=1, min_data_in_bin=1)
    weighted = clone(ranker).fit(X, y, qid=qid, sample_weight=copies[qid])
    # Copies of a query are queries of their own.
    which = [
        (row, 10 * query + copy)
        for query in range(60)
        for copy in range(copies[query])
        for row in np.flatnonzero(qid == query)
    ]
    rows, numbers = np.transpose(which)
    copied = clone(ranker).fit(X[rows], y[rows], qid=numbers)
    assert_same_but_counts(weighted, copied)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_rows_of_weight_zero_are_absent(name):
    """Models are identical, whatever the rows hold, even if limits on counts bind."""
    cls, options, X, y = few_values(name)
    options |= {"min_child_samples": 20, "min_data_in_bin": 3}
    rng = np.random.default_rng(38)
    weight = rng.choice([0.0, 0.3, 1.0, 2.5], len(X))
    kept = weight > 0
    Z = np.where(kept[:, None], X, 1e3 * rng.standard_normal(X.shape))
    with_zeros = cls(**options).fit(Z, y, sample_weight=weight)
    without = cls(**options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert_identical(with_zeros, without)


@pytest.mark.parametrize("name", ["regression", "binary", "poisson"])
@pytest.mark.parametrize("factor", [2.0**-20, 2.0**30])
def test_scale_of_weights_does_not_matter(name, factor):
    """Without a limit on the sum of hessians, and without penalties.

    But for the 1e-15 that is added to every sum of hessians.
    """
    cls, options, X, y = few_values(name)
    options["min_child_weight"] = 0.0
    weight = np.random.default_rng(39).gamma(1.0, size=len(X)) + 0.1
    one = cls(**options).fit(X, y, sample_weight=weight)
    other = cls(**options).fit(X, y, sample_weight=weight * factor)
    np.testing.assert_allclose(
        one.predict(X, raw_score=True), other.predict(X, raw_score=True), rtol=1e-7
    )


@pytest.mark.parametrize("n", [600, 3000])
def test_one_heavy_row_leaves_the_others_their_say(n):
    """It is worth a million copies, and still the others' leaves differ."""
    rng = np.random.default_rng(40)
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(n)
    weight = np.ones(n)
    weight[0] = 1e6
    predicted = LGBMRegressor(n_estimators=50).fit(X, y, weight).predict(X)
    assert np.ptp(predicted) > 1
    assert np.corrcoef(predicted[1:], y[1:])[0, 1] > 0.9


# --- 8. fit, fork, fit in the child ---------------------------------------------------

FORK = """
import os
import numpy as np
from skgoss import LGBMClassifier, LGBMRegressor
rng = np.random.default_rng(0)
X = rng.standard_normal((9000, 10))
y = X[:, 0] + rng.standard_normal(9000)


def fit(seed=0):
    model = LGBMRegressor(n_estimators=3, n_jobs=2).fit(X, y)
    labels = LGBMClassifier(n_estimators=2, n_jobs=2).fit(X, np.digitize(y, [-1, 1]))
    return model.predict(X).tobytes() + labels.predict_proba(X).tobytes()


if __name__ == "__main__":
    expected = fit()
    {body}
"""

BY_HAND = """
    import warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # of fork, by Python 3.12
    child = os.fork()
    if child == 0:
        os._exit(7 if fit() == expected else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    raise SystemExit(0 if status == 7 and fit() == expected else 2)
"""

POOL = """
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(2) as pool:
        models = pool.map(fit, range(4))
    raise SystemExit(0 if all(model == expected for model in models) else 2)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("body", [BY_HAND, POOL], ids=["fork", "pool"])
def test_fit_in_children_of_a_process_that_has_fitted(body, done):
    assert done.returncode == 0, done.stderr


WHILE_OTHERS_FIT = """
import os, signal, threading, time, warnings
import numpy as np
from skgoss import LGBMRegressor
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(300, 30))
ended = threading.Event()


def fit():
    LGBMRegressor(n_estimators=2, folds=3, n_jobs=1).fit(X, X[:, 0])


def fit_again_and_again():
    while not ended.is_set():
        fit()


def ends(child, seconds=20):
    stop = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > stop:
            os.kill(child, signal.SIGKILL)
            return False
        time.sleep(0.001)
    return True


fit()
threads = [threading.Thread(target=fit_again_and_again) for _ in range(2)]
for thread in threads:
    thread.start()
n_ended = 0
for _ in range({n}):
    child = os.fork()
    if child == 0:
        fit()
        os._exit(0)
    if not ends(child):
        break
    n_ended += 1
ended.set()
for thread in threads:
    thread.join()
print(n_ended)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("n", [12, pytest.param(400, marks=pytest.mark.nightly)])
def test_children_that_are_forked_while_threads_fit_do_not_hang(n, done):
    assert done.stdout.strip() == str(n), done.stderr


SCRIPTS = {
    "test_fit_in_children_of_a_process_that_has_fitted": lambda body: (
        FORK.replace("{body}", body.strip()),
    ),
    "test_children_that_are_forked_while_threads_fit_do_not_hang": lambda n: (
        WHILE_OTHERS_FIT.replace("{n}", str(n)),
    ),
}


# --- 9. Silent, and nothing of the caller's is changed --------------------------------


@pytest.mark.parametrize("verbosity", [-1, 0, 1, 2])
def test_nothing_is_printed(verbosity, capfd):
    rng = np.random.default_rng(41)
    X = rng.standard_normal((200, 3))
    for cls, y in ((LGBMRegressor, target(X)), (LGBMClassifier, X[:, 0] > 0)):
        model = cls(n_estimators=5, verbosity=verbosity)
        model.fit(X, y).predict(X)
        cls(min_child_samples=500).fit(X, y)  # LightGBM complains of no splits
        model.fit(np.ones((50, 2)), y[:50])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_arguments_stay_as_they_are(name, dtype):
    cls, options, X, y = few_values(name)
    X = X.astype(dtype)
    weight = np.random.default_rng(42).integers(0, 3, len(X)).astype(float)
    before = [a.tobytes() for a in (X, y, weight)]
    for a in (X, y, weight):
        a.flags.writeable = False
    model = cls(**options)
    params = dict(model.get_params())
    model.fit(X, y, sample_weight=weight).predict(X)
    assert [a.tobytes() for a in (X, y, weight)] == before
    assert model.get_params() == params


def test_functions_get_arrays_of_their_own():
    rng = np.random.default_rng(43)
    X = rng.standard_normal((200, 3))
    y = target(X)
    weight = np.ones(200) * 2.0
    before = [a.tobytes() for a in (X, y, weight)]

    def vandal(y_true, y_pred, w):
        gradient = y_pred - y_true
        for a in (y_true, y_pred, w):
            a[:] = 0.0
        return gradient, np.ones_like(gradient)

    LGBMRegressor(objective=vandal, n_estimators=2).fit(X, y, weight)
    assert [a.tobytes() for a in (X, y, weight)] == before


def spoil(value: Any) -> None:
    """Write over all that a value holds."""
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value[...] = value.flat[-1]
        return
    for item in list(value.values() if isinstance(value, dict) else value):
        if isinstance(item, np.ndarray | dict | list | tuple):
            spoil(item)
    if isinstance(value, dict | list):
        value.clear()


SPOILED_FITS = {
    "evaluation sets": (LGBMRegressor, {}),
    "folds": (LGBMRegressor, {"folds": 3}),
    "classes of folds": (LGBMClassifier, {"folds": 3}),
    "several targets": (LGBMRegressor, {"folds": 3}),
    "several labels": (LGBMClassifier, {}),
    "quantiles": (LGBMRegressor, {"objective": "quantile", "alpha": [0.4, 0.6]}),
    "preset": (LGBMRegressor, {"preset": "accurate", "n_estimators": 3}),
}


@pytest.mark.parametrize("name", SPOILED_FITS)
def test_what_attributes_hand_out_is_the_readers_own(name):
    cls, options = SPOILED_FITS[name]
    X = np.random.default_rng(44).standard_normal((90, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(float)
    if name.startswith("several"):
        y = np.column_stack([y, y[::-1]])
    sets = {} if "folds" in options else {"eval_set": [(X, y)]}
    model = cls(**{"n_estimators": 3, **options}).fit(X, y, **sets)
    model.booster_  # noqa: B018
    before = pickle.dumps(model)
    is_property = {n: isinstance(getattr(cls, n, None), property) for n in dir(model)}
    for attribute in [n for n, is_one in is_property.items() if is_one and n[0] != "_"]:
        try:
            value = getattr(model, attribute)
        except AttributeError:
            continue
        if isinstance(value, np.ndarray | dict | list | tuple):
            spoil(value)
            assert pickle.dumps(model) == before, attribute


# --- Rows are freed with the last reference to them -----------------------------------


class Watched(np.ndarray):
    """An array that weak references can watch."""


def fail(env):
    raise ZeroDivisionError


def stop(env):
    raise EarlyStopException(env.iteration)


def in_training(data):
    booster = Booster({"num_leaves": 4}, data)
    booster.update()
    booster.rollback_one_iter()
    booster.update(fobj=lambda predicted, data: (predicted, np.ones(len(predicted))))


FITS = {
    "estimator": lambda data: LGBMRegressor(n_estimators=2).fit(data),
    "rows held out": lambda data: LGBMRegressor(early_stopping_round=1).fit(data),
    "train": lambda data: train({}, data, 2, valid_sets=[data]),
    "train further": lambda data: train({}, data, 2, keep_training_booster=True),
    "linear": lambda data: train({"linear_tree": True}, data, 2),
    "stop": lambda data: train({}, data, 2, callbacks=[stop]),
    "failure": lambda data: train({}, data, 2, callbacks=[fail]),
    "update": in_training,
    "cv": lambda data: cv({}, data, 2, nfold=2),
    "cv with models": lambda data: cv({}, data, 2, nfold=2, return_cvbooster=True),
    "cv that stops": lambda data: cv({}, data, 2, nfold=2, callbacks=[stop]),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_rows_are_freed_without_the_garbage_collector(fit):
    """Where cycles hold rows, fits in a loop fill the memory before they are found."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).view(Watched)
    data = Dataset(X, label=X[:, 0] ** 2, free_raw_data=False)
    rows, held = weakref.ref(X), weakref.ref(data)
    del X
    gc.disable()
    try:
        with suppress(ZeroDivisionError):
            fit(data)
        del data
        assert held() is None
        assert rows() is None
    finally:
        gc.enable()
