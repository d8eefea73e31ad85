"""Quickstart
==========

Fit a regressor, score it on held-out rows, and plot feature importances.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Fit
# ---
#
# How far does diabetes progress in a year? The data have 442 rows and 10 columns. A
# quarter of the rows is held out.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from skgoss import LGBMRegressor, plot_importance

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

usual = LGBMRegressor().fit(X_train, y_train)
model = LGBMRegressor(preset="accurate", folds=5).fit(X_train, y_train)

# %%
# Score
# -----
#
# The preset searches for a better model than the defaults, which are LightGBM's.
for name, fitted in (("LightGBM's defaults", usual), ("preset='accurate'", model)):
    print(f"{name}: R2 {fitted.score(X_test, y_test):.2f} on held-out rows")

# %%
# Intervals
# ---------
#
# The models of five folds were tested on rows that they had not seen, so their errors
# tell how wide intervals must be.
low, high = model.predict_interval(X_test, coverage=0.9).T
inside = ((low <= y_test) & (y_test <= high)).mean()
print(f"prediction intervals of 90% contain {inside:.0%} of the targets")

# %%
# Feature importances
# -------------------
#
# The number of splits on each column:
plot_importance(usual, max_num_features=10)
plt.tight_layout()
plt.show()
