"""Prediction intervals by quantile regression
===========================================

Predict an interval that holds nine of ten targets.

Three models predict the 5 % quantile, the median and the 95 % quantile. The noise of
the data grows with x, and so does the distance between the quantiles. An interval of
constant width would be too wide on the left and too narrow on the right.
"""

import matplotlib.pyplot as plt
import numpy as np

from skgoss import LGBMRegressor

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 4000)
y = x * np.sin(x) + (0.5 + 0.4 * x) * rng.standard_normal(len(x))
X, X_test, y, y_test = x[:3000, None], x[3000:, None], y[:3000], y[3000:]

options = {"objective": "quantile", "n_estimators": 80, "num_leaves": 8}
low, middle, high = (
    LGBMRegressor(alpha=alpha, min_child_samples=50, **options).fit(X, y)
    for alpha in (0.05, 0.5, 0.95)
)

inside = (low.predict(X_test) <= y_test) & (y_test <= high.predict(X_test))
print(f"held-out targets in the interval: {inside.mean():.0%}")

line = np.linspace(0, 10, 400)[:, None]
figure, ax = plt.subplots(layout="constrained")
ax.plot(X_test, y_test, ".", color="0.6", markersize=3, label="held-out rows")
ax.fill_between(
    line[:, 0], low.predict(line), high.predict(line), alpha=0.3, label="90 % interval"
)
ax.plot(line, middle.predict(line), label="median")
ax.set(xlabel="x", ylabel="y")
ax.legend(loc="upper left")
plt.show()
