"""The memory of fits: estimates, measured peaks, and the option ``memory_limit``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import random_array
from sklearn.model_selection import KFold

from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, cv, train

# Prints the peak of a fit's memory above that before it, and the estimate.
SCRIPT = """
import gc, json, sys
import numpy as np
import skgoss

def resident(field):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))

name, n_rows, n_columns, n_classes, options = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 3:10].sum(axis=1) / 2
y += rng.standard_normal(n_rows)
if n_classes:
    y = np.argsort(np.argsort(y)) * n_classes // n_rows
make = getattr(skgoss, name)
make(**options | {"n_estimators": 2}).fit(X[:500], y[:500])
gc.collect()
open("/proc/self/clear_refs", "w").write("5")
before = resident("VmRSS")
model = make(**options).fit(X, y)
peak = resident("VmHWM") - before
print(json.dumps([peak * 1024, model.estimate_memory(X, y)]))
"""

CASES = {
    "two classes": ("LGBMClassifier", 300_000, 28, 2, {}),
    "a number": ("LGBMRegressor", 300_000, 28, 0, {}),
    "classes and threads": ("LGBMClassifier", 150_000, 20, 5, {"n_jobs": 2}),
    "many bins": ("LGBMClassifier", 150_000, 28, 2, {"max_bin": 1023}),
    "many leaves": ("LGBMClassifier", 150_000, 28, 2, {"num_leaves": 255}),
    "linear leaves": ("LGBMRegressor", 200_000, 10, 0, {"linear_tree": True}),
    "held-out rows": ("LGBMClassifier", 200_000, 28, 2, {"early_stopping_round": 5}),
    "folds": ("LGBMClassifier", 200_000, 28, 2, {"folds": 5}),
    "a distribution": ("LGBMRegressor", 150_000, 20, 0, {"objective": "normal"}),
    "shared trees": (
        "LGBMRegressor",
        *(150_000, 20, 0),
        {
            "objective": "quantile",
            "alpha": [0.1, 0.3, 0.5, 0.7, 0.9],
            "multi_strategy": "multi_output_tree",
        },
    ),
}


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(),
    reason="only Linux tells the peak of a part of a process",
)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_estimate_is_near_the_peak(case):
    name, n_rows, n_columns, n_classes, options = case
    options = {"n_estimators": 10, "n_jobs": 1, **options}
    said = json.dumps([name, n_rows, n_columns, n_classes, options])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, said], capture_output=True, text=True, check=True
    )
    peak, estimate = json.loads(done.stdout)
    assert estimate == pytest.approx(peak, rel=0.2)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 5))
    return X, (X[:, 0] > 0).astype(int)


def test_a_shape_stands_for_the_data(rows):
    X, y = rows
    model = LGBMClassifier(n_jobs=1)
    assert model.estimate_memory(X.shape) == model.estimate_memory(X, y)
    more = model.estimate_memory(X.shape, n_classes=7)
    assert (
        more
        == model.estimate_memory(X, np.arange(len(X)) % 7)
        > model.estimate_memory(X)
    )


def test_what_a_fit_needs_more_for(rows):
    X, y = rows
    least = LGBMRegressor(n_jobs=1).estimate_memory(X, y)
    for options in (
        {"n_estimators": 200},
        {"num_leaves": 63},
        {"folds": 3},
        {"folds": KFold(3)},
        {"folds": list(KFold(3).split(X))},
        {"early_stopping_round": 3},
        {"alpha": [0.1, 0.9], "objective": "quantile"},
        {"objective": "normal"},
        {"max_bin": 511},
    ):
        model = LGBMRegressor(n_jobs=1, **options)
        assert model.estimate_memory(X, y) > least, options
    model = LGBMRegressor(n_jobs=1)
    assert model.estimate_memory(X, y, np.ones(len(X))) > least
    assert model.estimate_memory(X, np.column_stack([y, y])) > least
    assert model.estimate_memory(X, y, eval_X=(1000, 5)) > least
    assert model.estimate_memory(X, y, eval_X=X[:1000]) > least


def test_one_hot_columns_need_less_than_others():
    X = random_array((20_000, 300), density=0.01, rng=np.random.default_rng(0)).tocsr()
    model = LGBMRegressor(n_jobs=1)
    assert model.estimate_memory(X) < model.estimate_memory(X.shape) / 2


def test_a_dataset_is_counted_by_its_bins(rows):
    X, y = rows
    model = LGBMClassifier(n_jobs=1)
    assert model.estimate_memory(Dataset(X, y)) == model.estimate_memory(X, y)


def test_categories_are_counted(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    names = list("abcde")
    words = pd.DataFrame(X, columns=names).assign(
        word=pd.Categorical(np.where(y, "a", "b"))
    )
    numbers = pd.DataFrame(X, columns=names).assign(word=y + 1.0)
    model = LGBMClassifier(n_jobs=1)
    assert model.estimate_memory(words) == model.estimate_memory(numbers) + 4 * len(X)


def test_dates_are_counted(rows):
    pd = pytest.importorskip("pandas")
    dates = pd.DataFrame({"day": pd.date_range("2020", periods=6000, freq="h")})
    model = LGBMClassifier(n_jobs=1, memory_limit=1000)
    assert model.estimate_memory(dates, rows[1]) > 100_000
    with pytest.raises(MemoryError, match="in addition to X"):
        model.fit(dates, rows[1])


def test_estimators_are_not_fitted(rows):
    model = LGBMRanker()
    model.estimate_memory(rows[0])
    assert not model.__sklearn_is_fitted__()


def test_a_fit_that_needs_too_much_ends_before_it_begins(rows):
    X, y = rows
    model = LGBMClassifier(memory_limit=100_000, n_jobs=1)
    needed = model.estimate_memory(X, y)
    words = (
        rf"needs about {needed / 1e6:.3g} MB of memory in addition to X, but"
        r" memory_limit is 0.1 MB. The largest parts are trees .* MB, .* MB, .* MB. To"
        r" need less, pass a smaller n_estimators or num_leaves, or set"
        r" memory_limit=None."
    )
    with pytest.raises(MemoryError, match=words):
        model.fit(X, y)
    assert not model.__sklearn_is_fitted__()
    wide = np.tile(X, 20)
    small = LGBMClassifier(memory_limit=1000, n_estimators=1, num_leaves=2, n_jobs=1)
    with pytest.raises(MemoryError, match=r"histograms 1.67 MB, bins 1.22 MB, scores"):
        small.fit(wide, y)
    same = LGBMClassifier(memory_limit=needed, n_jobs=1).fit(X, y)
    assert (same.predict(X) == LGBMClassifier().fit(X, y).predict(X)).all()


def test_evaluation_sets_count(rows):
    X, y = rows
    needed = LGBMClassifier(n_jobs=1, n_estimators=1).estimate_memory(X, y)
    model = LGBMClassifier(n_jobs=1, n_estimators=1, memory_limit=needed)
    model.fit(X, y, eval_X=X, eval_y=y)  # the training set itself
    with pytest.raises(MemoryError, match="in addition to X"):
        model.fit(X, y, eval_X=X.copy(), eval_y=y)


def test_the_limit_holds_for_train_and_cv(rows):
    X, y = rows
    params = {"objective": "binary", "memory_limit": 1000}
    with pytest.raises(MemoryError, match=r"memory_limit is 0\.001 MB"):
        train(params, Dataset(X, y))
    with pytest.raises(MemoryError, match=r"memory_limit is 0\.001 MB"):
        cv(params, Dataset(X, y))
    binned = Dataset(X, y).construct()
    with pytest.raises(MemoryError, match=r"memory_limit is 0\.001 MB"):
        train(params, binned)
    with pytest.raises(MemoryError, match=r"memory_limit is 0\.001 MB"):
        train(params, Dataset([X[:3000], X[3000:]], y))


def test_presets_are_refused(rows):
    with pytest.raises(ValueError, match="unknown before the fit"):
        LGBMClassifier(preset="fast").estimate_memory(rows[0])
    with pytest.raises(ValueError, match="cannot be used with preset='fast'"):
        LGBMClassifier(preset="fast", memory_limit=1e9).fit(*rows)


@pytest.mark.parametrize("limit", [0, -1, "much"])
def test_limits_must_be_positive(rows, limit):
    with pytest.raises(ValueError, match="memory_limit"):
        LGBMClassifier(memory_limit=limit).fit(*rows)


def test_a_file_is_estimated_with_the_name_of_its_target(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 3))
    path = tmp_path / "rows.csv"
    np.savetxt(path, X, delimiter=",", header="a,b,y", comments="")
    model = LGBMRegressor(n_jobs=1)
    of_file = model.estimate_memory(path, "y")
    assert of_file == model.estimate_memory(Dataset(path, label="y"))
    assert of_file < model.estimate_memory(X)
