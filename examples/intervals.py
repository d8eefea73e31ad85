"""Intervals from residuals and from quantiles
===========================================

Predict intervals that contain 90% of the targets, or 50%.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Two models
# ----------
#
# The noise of the data grows with x. One model predicts the mean, with intervals from
# residuals; the other one predicts quantiles. Both are calibrated on out-of-fold
# predictions.
import matplotlib.pyplot as plt
import numpy as np

from skgoss import LGBMRegressor

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 4000)
y = x * np.sin(x) + (0.5 + 0.4 * x) * rng.standard_normal(len(x))
X, X_test, y, y_test = x[:3000, None], x[3000:, None], y[:3000], y[3000:]

options = {"num_leaves": 8, "min_child_samples": 50, "folds": 5, "random_state": 0}
models = {
    "residuals": LGBMRegressor(**options),
    "quantiles": LGBMRegressor(
        objective="quantile", alpha=[0.05, 0.25, 0.75, 0.95], **options
    ),
}
for model in models.values():
    model.fit(X, y)

# %%
# Coverage
# --------
#
# Both cover the chosen proportion of new rows. Intervals of residuals have nearly the
# same width everywhere: they cover too much where there is little noise, and too little
# where there is much. Intervals of quantiles follow the noise.
COVERAGES = [0.9, 0.5]
insides = {}
for name, model in models.items():
    lower, upper = np.moveaxis(model.predict_interval(X_test, COVERAGES), 1, 0)
    inside = (lower <= y_test[:, None]) & (y_test[:, None] <= upper)
    insides[name] = inside
    noisy = X_test[:, 0] > 5
    print(f"{name}: held-out targets in their intervals")
    for j, coverage in enumerate(COVERAGES):
        shares = [inside[rows, j].mean() for rows in (slice(None), ~noisy, noisy)]
        print(
            f"  for {coverage:.0%}: {shares[0]:.0%};"
            f" {shares[1]:.0%} where x < 5, {shares[2]:.0%} where x > 5"
        )

# %%
# Intervals for 90% and 50% of the targets:
line = np.linspace(0, 10, 400)[:, None]
figure, axes = plt.subplots(
    1, 2, figsize=(9, 4.5), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ax.plot(X_test, y_test, ".", color="0.5", markersize=2)
    bands = model.predict_interval(line, COVERAGES)
    for j, coverage in enumerate(COVERAGES):
        covered = f"{coverage:.0%}: {insides[name][:, j].mean():.0%} of new rows"
        ax.fill_between(line[:, 0], *bands[:, :, j].T, color="C0", alpha=0.3)
        ax.fill_between([], [], color="C0", alpha=0.3 * (j + 1), label=covered)
    ax.set(xlabel="x", title=name)
    ax.legend(loc="upper left")
axes[0].set_ylabel("y")
plt.show()
