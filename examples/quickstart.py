"""Quickstart
==========

Fit a classifier, score it on held-out rows, and plot feature importances.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Fit
# ---
#
# Which tumors are malignant? The data have 569 rows and 30 columns. The last two rows
# are new to the model.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from skgoss import LGBMClassifier, plot_importance

X, y = load_breast_cancer(return_X_y=True)
X_known, y_known, X_new = X[:-2], y[:-2], X[-2:]

model = LGBMClassifier().fit(X_known, y_known)
print("probabilities of two new rows:", model.predict_proba(X_new).round(3).tolist())

# %%
# Score
# -----
#
# Five models are fitted, each without a fifth of the rows, and scored on these.
accuracy = cross_val_score(LGBMClassifier(), X, y, cv=5).mean()
print(f"accuracy on rows that were held out: {accuracy:.3f}")

# %%
# Feature importances
# -------------------
#
# The number of splits on each column:
plot_importance(model, max_num_features=10)
plt.tight_layout()
plt.show()
