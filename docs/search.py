"""Search the website that was built: `python docs/search.py [QUERY ...]`.

Each query of `SEARCHED` must find its page first. Sphinx's script searches, in node.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BUILT = Path(__file__).parent / "_build"

# What users search for, and the page, or its heading, that comes first: `pages.py` adds
# it to the index of the site.
SEARCHED = {
    "NaN": "missing-values",
    "learning rate": "parameters#`learning_rate`",
    "GPU cuda": "install#Threads and GPUs",
    "predict one row fast": "serving#Latency of single predictions",
    "time budget": "accuracy#Longer searches, time limits and Ctrl-C",
    "warm start": "models#Continue training",
    "group kfold": "evaluation#Folds",
    "categorical with many levels": "categories#Columns with thousands of categories",
    "memory": "questions#A fit needs too much memory",
    "memory limit": "questions#A fit needs too much memory",
    "AutoGluon": "tools#Memory estimates for AutoML",
    "maintainer": "project#Become a maintainer",
    "roadmap": "project#What version 1.0 needs",
    "stable": "project#What stays stable",
    "learning_rate": "parameters#`learning_rate`",
    "monotone_constraints": "parameters#`monotone_constraints`",
    "n_estimators": "parameters#`n_estimators`",
    "num_leaves": "parameters#`num_leaves`",
    "churn": "survival",
    "survival analysis": "survival",
    "datetime": "dates",
    "dates": "dates",
    "threshold": "production#Choose a threshold",
    "reproducible": "scikit-learn#Random seed and reproducible results",
    "random seed": "scikit-learn#Random seed and reproducible results",
    "progress bar": "evaluation#Callbacks and the progress bar",
    "unseen category": "categories#Missing, unseen (unknown) and rare categories",
    "unknown category": "categories#Missing, unseen (unknown) and rare categories",
    "feature engineering": "pair-features",
    "pair features": "pair-features",
    "ColumnTransformer": "scikit-learn#Input data",
    "pipeline": "scikit-learn",
    "GridSearchCV": "tuning",
    "hyperparameter tuning": "tuning",
    "early stopping": "evaluation#Early stopping",
    "missing values": "missing-values",
    "warm_start": "parameters#`warm_start`",
    "imbalanced": "questions#Imbalanced classes: probabilities and the threshold",
    "calibration": "scikit-learn#Rare classes and calibrated probabilities",
    "exposure": "objectives#Counts, exposure and offsets",
    "offset": "objectives#Counts, exposure and offsets",
    "retrain": "models#Retrain every night",
    "monotonic constraints": "constraints",
    "feature selection": "explain#Feature selection",
    "stacking": "stacking",
    "kaggle": "stacking",
    "focal loss": "objectives#Focal loss and your own metric",
    "skrub": "tools#Text and dates with skrub",
    "first model": "first-model",
    "quickstart": "first-model",
    "tutorial": "first-model",
    "install": "install",
    "missing data": "missing-values",
    "impute": "missing-values",
    "probabilities": "scikit-learn#Rare classes and calibrated probabilities",
    "class weight": "questions#Imbalanced classes: probabilities and the threshold",
    "forecast": "time-series",
    "backtest": (
        "time-series#Several days ahead: direct and recursive forecasts, backtest"
    ),
    "out-of-fold predictions": "stacking",
    "blending": "stacking",
    "interaction constraints": "constraints#Interaction constraints",
    "one-hot encoding": "categories#Categorical or one-hot columns?",
    "pickle": "models",
    "ONNX": "onnx",
    "incremental learning": "models#Continue training",
    "partial_fit": "models#Continue training",
    "drift": "models#Retrain every night",
    "latency": "serving#Latency of single predictions",
    "confidence intervals": "intervals",
    "conformal prediction": "intervals",
    "text data": "tools#Text and dates with skrub",
    "speed": "performance",
    "benchmark": "performance",
    "random forest": "evaluation#DART and random forests",
    "sparse matrix": "sparse",
    "polars": "scikit-learn#Input data",
    "pandas": "scikit-learn#Input data",
    "differences from LightGBM": "differences",
    "learning curve": "evaluation#The learning curve",
    "plot tree": "plots",
    "cross-validation": "cv",
    "overfitting": "questions#My model overfits",
    "feature importance": "explain#Feature importances",
    "SHAP": "explain#SHAP values",
    "prediction intervals": "intervals",
    "quantile regression": "objectives#Several quantiles",
    "save model": "models",
    "load model": "models",
    "GPU": "install#Threads and GPUs",
    "threads": "scikit-learn#Threads and parallel searches",
    "Optuna": "tuning",
    "production": "production",
    "deploy": "serving",
    "Docker": "serving#Threads",
    "LightGBM": "migrating",
    "XGBoost": "other-libraries",
    "CatBoost": "other-libraries",
    "time series": "time-series",
    "learning to rank": "ranking",
    "soft labels": "distilling",
    "distillation": "distilling",
    "multilabel": "scikit-learn#Several targets",
    "out of memory": "larger-than-memory",
    "Parquet": "larger-than-memory",
    "custom objective": "objectives#Custom objectives",
    "custom metric": "evaluation#Metrics",
}

# Pages for maintainers, which guide.md lists: no search finds them, nor do they have a
# place in the sidebar.
UNSEARCHED = (
    "algorithm",
    "benchmarks",
    "design",
    "glossary",
    "measured-accuracy",
    "measured-goss",
    "measured-intervals",
    "measured-performance",
    "modules",
    "style",
)

# The results, the best first: page and title; what the script needs of a browser.
SCRIPT = """
const fs = require("fs"), vm = require("vm"), folder = process.argv[1];
const scope = vm.createContext({
  _ready() {}, _: (text) => text, SPHINX_HIGHLIGHT_ENABLED: false,
  document: { getElementById() {} },
});
scope.window = scope;
const files = ["_static/searchtools.js", "_static/language_data.js", "searchindex.js"];
const text = files.map((file) => fs.readFileSync(`${folder}/${file}`, "utf8"));
vm.runInContext(text.join("\\n;\\n") + "\\n;this.find = (query) => Search" +
  "._performSearch(...Search._parseQuery(query)).reverse()" +
  ".map(([page, title]) => [page, title]);", scope);
const queries = JSON.parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify(queries.map((query) => scope.find(query))));
"""


def found(queries: list[str], built: Path = BUILT) -> list[list[list[str]]]:
    """What each query finds, the best first: names of pages and titles."""
    done = subprocess.run(
        ["node", "-e", SCRIPT, built],
        input=json.dumps(queries),
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def is_first(results: list[list[str]], place: str) -> bool:
    """Whether the first result is a page, or one of its headings."""
    page, _, heading = place.partition("#")
    title = heading.replace("`", "")
    return bool(results) and results[0][0] == page and results[0][1].endswith(title)


def main() -> int:
    """Print what queries find; 1 if one of `SEARCHED` finds another place first."""
    queries = sys.argv[1:] or [*SEARCHED]
    n_wrong = 0
    for query, results in zip(queries, found(queries), strict=True):
        is_right = is_first(results, SEARCHED.get(query, ""))
        n_wrong += query in SEARCHED and not is_right
        titles = "; ".join(f"{title} ({page})" for page, title in results[:3])
        print(f"{'  ' if is_right else '! '}{query}: {titles}")
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
