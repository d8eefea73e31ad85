"""Train and cross-validate with lgb.train and lgb.cv
==================================================

Use LightGBM's training API: one binned data set for cross-validation, a search and the
final model.

To run it: ``pip install skgoss matplotlib pandas``.
"""

# %%
# Rows
# ----
#
# The rows are binned once, for the cross-validation, the search and the final model.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import skgoss as lgb

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
X, X_valid, y, y_valid = train_test_split(X, y, stratify=y, random_state=0)

params = {"objective": "binary", "metric": "auc", "learning_rate": 0.05}
train_set = lgb.Dataset(X, label=y)
valid_set = lgb.Dataset(X_valid, label=y_valid, reference=train_set)

# %%
# Cross-validation
# ----------------
#
# Cross-validation finds the number of rounds.
scores = lgb.cv(
    params,
    train_set,
    500,
    nfold=5,
    seed=0,
    callbacks=[lgb.early_stopping(30, verbose=False)],
)
print(f"rounds by cross-validation: {len(scores['valid auc-mean'])}")
print(f"AUC over the folds: {scores['valid auc-mean'][-1]:.3f}")

mean, deviation = (np.array(scores[f"valid auc-{kind}"]) for kind in ("mean", "stdv"))
rounds = np.arange(1, len(mean) + 1)
figure, ax = plt.subplots(layout="constrained")
ax.plot(rounds, mean, label="mean of the folds")
ax.fill_between(
    rounds, mean - deviation, mean + deviation, alpha=0.2, label="standard deviation"
)
ax.set(xlabel="round", ylabel="AUC")
ax.legend(loc="lower right")
plt.show()

# %%
# A search
# --------
#
# Ten random candidates; early stopping finds the rounds of each.
rng = np.random.default_rng(0)
best = None
for _ in range(10):
    tried = params | {
        "num_leaves": int(rng.integers(3, 32)),
        "min_child_samples": int(rng.integers(5, 40)),
        "feature_fraction": float(rng.uniform(0.3, 1.0)),
        "lambda_l2": float(10 ** rng.uniform(-3, 1)),
    }
    model = lgb.train(
        tried,
        train_set,
        500,
        valid_sets=[valid_set],
        callbacks=[lgb.early_stopping(30, verbose=False)],
    )
    if (
        best is None
        or model.best_score["valid_0"]["auc"] > best.best_score["valid_0"]["auc"]
    ):
        best = model

print(
    f"the best of 10: {best.params['num_leaves']} leaves, {best.best_iteration} rounds"
)

# %%
# The final score is that of held-out rows:
print(f"AUC on held-out rows: {roc_auc_score(y_test, best.predict(X_test)):.3f}")
gains = best.feature_importance(importance_type="gain")
used = sorted(zip(gains, best.feature_name(), strict=True), reverse=True)
print("most used columns:", ", ".join(name for _, name in used[:3]))
