"""Accurate by one word
====================

How much does ``preset="accurate"`` gain, and what does it cost? Three data sets, two
random splits, and every library for gradient boosting that is installed, at its
defaults.
"""

import argparse
import importlib
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from skgoss import LGBMClassifier, LGBMRegressor

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tables", type=int, default=3)
parser.add_argument("--splits", type=int, default=2)
asked = parser.parse_args()

TABLES = (load_breast_cancer, load_wine, load_diabetes)

# Each model: the module, the names of its classifier and regressor, and its options.
OURS = ("skgoss", "LGBMClassifier", "LGBMRegressor")
MODELS = {
    "default": (*OURS, {}),
    'preset="accurate"': (*OURS, {"preset": "accurate"}),
    'preset="accurate", folds=8': (*OURS, {"preset": "accurate", "folds": 8}),
    "HistGradientBoosting": (
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        {},
    ),
    "LightGBM": ("lightgbm", "LGBMClassifier", "LGBMRegressor", {"verbosity": -1}),
    "XGBoost": ("xgboost", "XGBClassifier", "XGBRegressor", {}),
    "CatBoost": (
        "catboost",
        "CatBoostClassifier",
        "CatBoostRegressor",
        {"silent": True, "allow_writing_files": False},
    ),
}


def make(name, is_class):
    """A model, or None if its library is not installed."""
    module, classifier, regressor, options = MODELS[name]
    try:
        library = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(library, classifier if is_class else regressor)(**options)


def loss(model, X, y):
    """The log loss, or the root mean squared error."""
    if is_classifier(model):
        return log_loss(y, model.predict_proba(X))
    return root_mean_squared_error(y, model.predict(X))


def measure(name):
    """The loss and the seconds of a model's fits, on all tables and splits."""
    found = []
    for load in TABLES[: asked.tables]:
        X, y = load(return_X_y=True)
        for seed in range(asked.splits):
            rows = train_test_split(X, y, test_size=0.3, random_state=seed)
            X_train, X_test, y_train, y_test = rows
            model = make(name, load is not load_diabetes)
            if model is None:
                return None
            start = time.perf_counter()
            model.fit(X_train, y_train)
            found.append((loss(model, X_test, y_test), time.perf_counter() - start))
    return np.transpose(found)


results = {name: measure(name) for name in MODELS}
usual, _ = results["default"]
_, ax = plt.subplots(layout="constrained")
for name, result in results.items():
    if result is None:
        continue
    losses, seconds = result
    # The geometric mean over tables of the loss, where that of the default is 1.
    ratio = np.exp(np.log(losses / usual).mean())
    print(f"{name:27} loss {ratio:.3f}, {seconds.mean():.2f} seconds a fit")
    ax.scatter(seconds.mean(), ratio)
    ax.annotate(name, (seconds.mean(), ratio), (4, 4), textcoords="offset points")
ax.set(xscale="log", xlabel="seconds a fit", ylabel="loss / loss of skgoss's default")
ax.margins(x=0.3, y=0.1)  # room for the names

# What the preset has chosen can be read from a fitted model.
X, y = load_diabetes(return_X_y=True)
model = LGBMRegressor(preset="accurate").fit(X, y)
print(model.preset_params_)

# With folds, each row has a prediction by models that were not fitted on it.
X, y = load_breast_cancer(return_X_y=True)
model = LGBMClassifier(preset="accurate", folds=5).fit(X, y)
print(f"out of fold: {model.oof_score_} ± {model.oof_score_error_}")
assert log_loss(y, model.oof_prediction_) < 0.2
plt.show()
