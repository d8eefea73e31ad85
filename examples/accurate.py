"""What preset="accurate" gains on three data sets
===============================================

How much does ``preset="accurate"`` gain, and what does it cost? Three data sets, two
random splits, and every library for gradient boosting that is installed, at its
defaults.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# The libraries
# -------------
#
# Each model: the module, the names of its classifier and regressor, and its options.
import importlib
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from skgoss import LGBMClassifier, LGBMRegressor

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

# %%
# Fit and measure
# ---------------
#
# The log loss, or the root mean squared error, of the rows that are held out, and the
# seconds of the fit.
TABLES = (load_breast_cancer, load_wine, load_diabetes)
N_SPLITS = 2


def make(name, is_class):
    """A model, or None if its library is not installed."""
    module, classifier, regressor, options = MODELS[name]
    try:
        library = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(library, classifier if is_class else regressor)(**options)


def loss(model, X, y):
    if is_classifier(model):
        return log_loss(y, model.predict_proba(X))
    return root_mean_squared_error(y, model.predict(X))


def measure(name):
    """The loss and the seconds of a model's fits, on all tables and splits."""
    found = []
    for load in TABLES:
        X, y = load(return_X_y=True)
        for seed in range(N_SPLITS):
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

# %%
# Compare
# -------
#
# The geometric mean of the losses, relative to the defaults:
usual, _ = results["default"]
_, ax = plt.subplots(layout="constrained")
for name, result in results.items():
    if result is None:
        continue
    losses, seconds = result
    ratio = np.exp(np.log(losses / usual).mean())
    print(f"{name:27} loss {ratio:.3f}, {seconds.mean():.2f} seconds a fit")
    ax.scatter(seconds.mean(), ratio)
    ax.annotate(name, (seconds.mean(), ratio), (4, 4), textcoords="offset points")
ax.set(xscale="log", xlabel="seconds a fit", ylabel="loss / loss of skgoss's default")
ax.margins(x=0.3, y=0.1)  # room for the names
plt.show()

# %%
# The chosen parameters
# ---------------------
#
# ``preset_params_`` has the parameters that the preset has chosen.
X, y = load_diabetes(return_X_y=True)
print(LGBMRegressor(preset="accurate").fit(X, y).preset_params_)

# %%
# With folds, there are out-of-fold predictions of all rows.
X, y = load_breast_cancer(return_X_y=True)
model = LGBMClassifier(preset="accurate", folds=5).fit(X, y)
print(f"log loss out of fold: {log_loss(y, model.oof_prediction_):.3f}")
