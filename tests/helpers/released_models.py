"""The models and data sets that released versions have written, with what they predict.

``python -m helpers.released_models`` in `tests` writes a folder of `tests/files` for
the installed version. It is run once, when the version is released; later versions must
read it (`tests/model_files/test_released_models.py`). ``--again`` replaces a folder
before the release.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import skgoss
from skgoss import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor

FILES = Path(__file__).parents[1] / "files"
ESTIMATORS = {
    kind.__name__: kind
    for kind in (LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor)
}
# The models that are also written by skops.
SKOPS = ("numbers", "words", "linear")

SMALL = {"n_estimators": 3, "num_leaves": 7, "min_child_samples": 5, "n_jobs": 1}
CATEGORY = {"categorical_feature": [3], "min_data_per_group": 5, "cat_smooth": 1.0}
SAMPLED = {"subsample": 0.5, "subsample_freq": 1}


class Rows(NamedTuple):
    """Training rows, which are also predicted, and their targets.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, 5), float64
        With missing values; column 3 holds whole numbers.
    words : ndarray of shape (n_rows, 5), object
        The same, with strings in column 3.
    y : ndarray of shape (n_rows,), float64
    """

    numbers: np.ndarray
    words: np.ndarray
    y: np.ndarray


def rows() -> Rows:
    """The rows of all models."""
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(120, 5)), 2)
    X[:, 3] = rng.integers(0, 12, len(X))
    y = X[:, 0] * X[:, 1] + (X[:, 3] % 3)
    X[rng.random(X.shape) < 0.05] = np.nan
    words = X.astype(object)
    words[:, 3] = [None if np.isnan(n) else f"town {n:.0f}" for n in X[:, 3]]
    return Rows(X, words, y)


def models() -> Iterator[tuple[str, LGBMModel]]:
    """Models of every kind, with names. Those that begin with 'words' learn words."""
    X, words, y = rows()
    many, positive = np.digitize(y, [0, 1, 2]), np.abs(y) + 0.1
    labels = np.where(y > 1, "yes", "no")
    share = 1 / (1 + np.exp(-y))
    queries = np.repeat(np.arange(12), 10)

    def regressor(**options: Any) -> LGBMRegressor:
        return LGBMRegressor(**SMALL | options)

    def classifier(**options: Any) -> LGBMClassifier:
        return LGBMClassifier(**SMALL | options)

    names = ["a b", "", "ä", "d", "e"]
    yield "numbers", regressor().fit(X, y, feature_name=names)
    yield "one-leaf", regressor(num_leaves=2, min_child_samples=100).fit(X, y)
    yield "categories", regressor(**CATEGORY).fit(X, y, eval_set=[(X, y)])
    yield "linear", regressor(linear_tree=True, **CATEGORY).fit(X, y)
    yield "forest", regressor(boosting_type="rf", **SAMPLED).fit(X, y)
    yield "dart", regressor(boosting_type="dart", drop_rate=0.5).fit(X, y)
    yield "goss", regressor(data_sample_strategy="goss").fit(X, y)
    yield "sqrt", regressor(reg_sqrt=True).fit(X, y)
    yield "zero-as-missing", regressor(zero_as_missing=True).fit(X, y)
    yield "no-missing", regressor(use_missing=False).fit(X, y)
    yield "monotone", regressor(monotone_constraints=[1, -1, 0, 0, 0]).fit(X, y)
    yield "folds", regressor(folds=3).fit(X, y)
    yield "targets", regressor().fit(X, np.column_stack([y, -y]))
    quantiles = {"objective": "quantile", "alpha": [0.1, 0.5, 0.9]}
    yield "quantiles", regressor(folds=3, **quantiles).fit(X, y)
    yield "sets", classifier(folds=3).fit(X, many)
    yield "poisson", regressor(objective="poisson").fit(X, positive)
    yield "gamma", regressor(objective="gamma").fit(X, positive)
    yield "quantile", regressor(objective="quantile", alpha=0.8).fit(X, y)
    yield "cross-entropy", regressor(objective="cross_entropy").fit(X, share)
    yield "binary", classifier(sigmoid=0.7, early_stopping_round=2).fit(X, labels)
    yield "words", classifier(**CATEGORY).fit(words, many)
    yield "words-binary", classifier(**CATEGORY).fit(words, labels == "yes")
    yield "one-vs-all", classifier(objective="multiclassova").fit(X, many)
    yield "ranking", LGBMRanker(**SMALL).fit(X, many, qid=queries)
    yield "plain", LGBMModel(objective="huber", **SMALL).fit(X, y)


def predictions(model: LGBMModel, name: str, given: Rows) -> dict[str, np.ndarray]:
    """What a model predicts, by the way of asking."""
    X = given.words if name.startswith("words") else given.numbers
    found = {
        "predict": model.predict(X),
        "raw": model.predict(X, raw_score=True),
        "leaves": model.predict(X, pred_leaf=True),
    }
    if isinstance(model, LGBMClassifier):
        found["proba"] = model.predict_proba(X)
    if name in ("folds", "quantiles"):
        found["interval"] = model.predict_interval(X)
    if name == "sets":
        found["set"] = model.predict_set(X)
    return {f"{name}/{way}": values for way, values in found.items()}


def dataset() -> skgoss.Dataset:
    """A data set with every field."""
    X, _, y = rows()
    return skgoss.Dataset(
        *(X, y),
        weight=np.arange(len(y)) % 3 + 0.5,
        group=[50, 70],
        init_score=y / 2,
        position=np.arange(len(y)) % 4,
        feature_name=list("abcde"),
        categorical_feature=[3],
        params={"max_bin": 15, "min_data_in_bin": 1},
    )


def fields(data: skgoss.Dataset) -> dict[str, np.ndarray]:
    """What a data set holds in addition to the bins."""
    names = ("label", "weight", "group", "init_score", "position")
    return {f"dataset/{name}": np.asarray(data.get_field(name)) for name in names}


def write(folder: Path) -> None:
    """Write the models and data sets, and what they predict and hold."""
    from skops.io import dump

    folder.mkdir()
    given = rows()
    expected = {}
    for name, model in models():
        kind = type(model).__name__
        model.to_file(folder / f"{name}.{kind}.txt")
        if name in SKOPS:
            path = folder / f"{name}.{kind}.skops"
            dump(model, path, compression=zipfile.ZIP_DEFLATED, compresslevel=9)
        expected |= predictions(model, name, given)
    data = dataset()
    data.save_binary(folder / "dataset.bin")
    towns = given.words[:, 3].astype(str)
    np.savez_compressed(
        folder / "expected.npz",
        **{"rows/numbers": given.numbers, "rows/towns": towns, "rows/y": given.y},
        **expected,
        **fields(data),
    )


def main() -> None:
    """Write the corpus of the installed version, unless there is one."""
    folder = FILES / f"skgoss-{skgoss.__version__}"
    if folder.is_dir() and sys.argv[1:] == ["--again"]:
        shutil.rmtree(folder)
    write(folder)
    print(sum(1 for _ in folder.iterdir()), "files in", folder)


if __name__ == "__main__":
    main()
