"""How fast and how good are libraries in the cases of GBM-perf, by Szilard Pafka?

Flights of 2005 and 2006, from 100,000, a million and ten million rows: which are more
than 15 minutes late? 100 trees of 512 leaves, learning rate 0.1, eight columns, six of
them categories. The test file has 100,000 flights of 2007. The files are downloaded
once, unless they are in the folder. Rules and results of others:
https://github.com/szilard/GBM-perf.
"""

from __future__ import annotations

import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from adapters import make
from measure import alternate, digits, fresh, parser, report, summary, table

SITE = "https://s3.amazonaws.com/benchm-ml--main/"
SIZES = {"100k": "train-0.1m.csv", "1m": "train-1m.csv", "10m": "train-10m.csv"}
TEST, TARGET = "test.csv", "dep_delayed_15min"
OPTIONS = {"n_estimators": 100, "num_leaves": 512, "learning_rate": 0.1}


def file_of(name: str, folder: Path) -> Path:
    """Return the path of a file, which is downloaded if it is not there."""
    path = folder / name
    if not path.exists():
        print(f"downloading {SITE}{name}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        partly = path.with_suffix(".part")
        urllib.request.urlretrieve(SITE + name, partly)
        partly.rename(path)
    return path


def read(train: Path, test: Path) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Read both files; columns of text have the categories of both."""
    import pandas as pd

    X, X_test = pd.read_csv(train), pd.read_csv(test)
    y, y_test = ((rows.pop(TARGET) == "Y").to_numpy(np.int64) for rows in (X, X_test))
    for name in X.select_dtypes(exclude="number"):
        kind = pd.CategoricalDtype(sorted({*X[name].unique(), *X_test[name].unique()}))
        X[name], X_test[name] = X[name].astype(kind), X_test[name].astype(kind)
    return X, y, X_test, y_test


def once(library: str, train: Path, test: Path, threads: int) -> tuple[float, float]:
    """Return the seconds of a fit, without reading the file, and the AUC."""
    from sklearn.metrics import roc_auc_score

    X, y, X_test, y_test = read(train, test)
    # The first fit of a process pays for imports and for starting threads.
    make(library, "binary", {"n_estimators": 2, "n_jobs": threads}).fit(
        X[:999], y[:999]
    )
    model = make(library, "binary", {**OPTIONS, "n_jobs": threads})
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return seconds, float(roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))


def main() -> None:
    """Read the command line, measure, print."""
    names = ("skgoss", "lightgbm", "xgboost")
    line = parser(__doc__.splitlines()[0], names[:2], names)
    line.add_argument("--sizes", nargs="+", choices=[*SIZES], default=["100k", "1m"])
    line.add_argument("--threads", nargs="+", type=int, default=[2])
    line.add_argument("--folder", type=Path, default=Path("gbm-perf"))
    asked = line.parse_args()
    test, rows = file_of(TEST, asked.folder), []
    for size in asked.sizes:
        train = file_of(SIZES[size], asked.folder)
        for threads in asked.threads:
            jobs = {
                name: partial(fresh, once, name, train, test, threads, threads=threads)
                for name in asked.libraries
            }
            for name, runs in alternate(jobs, asked.repeats).items():
                seconds = summary([run[0] for run in runs])
                rows.append([size, threads, name, seconds, digits(runs[0][1])])
    header = ["rows", "threads", "library", "seconds: best (median)", "AUC"]
    report("GBM-perf", asked.libraries, table(header, rows))


if __name__ == "__main__":
    main()
