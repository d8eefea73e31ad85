"""Expectile regression by an objective of your own
================================================

Pass a function as the objective.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# The loss
# --------
#
# A custom objective is a function of the targets and the current raw scores. It returns
# the first and second derivatives of the loss for each row. This is the loss of the
# tau-expectile: the squared error, weighted by tau if the target is above the
# prediction and by 1 - tau if it is below (Newey and Powell, 1987). tau = 1/2 gives the
# mean, and larger values give higher predictions. A callable object holds tau.
import matplotlib.pyplot as plt
import numpy as np

from skgoss import LGBMRegressor


class Expectile:
    def __init__(self, tau):
        self.tau = tau

    def __call__(self, y, score):
        weight = np.where(y > score, self.tau, 1 - self.tau)
        return weight * (score - y), weight


# %%
# Three fits
# ----------
#
# The noise of the data grows with x. Boosting starts from 0 with a custom objective, so
# the mean is subtracted.
rng = np.random.default_rng(0)
x = rng.uniform(0, 4, 5000)
y = np.sin(2 * x) + x * rng.standard_normal(x.size)
center = y.mean()
models = {}
for tau in (0.1, 0.5, 0.9):
    model = LGBMRegressor(objective=Expectile(tau), n_estimators=60, num_leaves=8)
    models[tau] = model.fit(x[:, np.newaxis], y - center)
    narrow, wide = center + model.predict([[0.5], [3.5]])
    print(f"{tau}-expectile: {narrow:+.2f} where x = 0.5, {wide:+.2f} where x = 3.5")

# %%
# The expectiles spread as the noise does:
line = np.linspace(0, 4, 300)[:, np.newaxis]
_, ax = plt.subplots(layout="constrained")
ax.plot(x, y, ".", color="0.8", markersize=2)
for tau, model in models.items():
    ax.plot(line, center + model.predict(line), label=f"{tau}-expectile")
ax.set(xlabel="x", ylabel="y")
ax.legend(loc="upper left")
plt.show()
