"""When breast cancer comes back
=============================

Predict the time of an event from right-censored data.

To run it: ``pip install skgoss scikit-survival matplotlib``.
"""

# %%
# A study of breast cancer
# ------------------------
#
# 686 women were followed for up to seven years. For 299 of them, the field 'cens' is
# True: the cancer came back. The others are right-censored: it had not come back when
# they were last seen.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sksurv.datasets import load_gbsg2
from sksurv.nonparametric import kaplan_meier_estimator

from skgoss import LGBMRegressor

X, y = load_gbsg2()
print(f"{len(y)} rows, {y['cens'].sum()} events")
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

# %%
# Risks
# -----
#
# 'cox' learns the order of the events, and 'aft' the distribution of their times. The
# score is Harrell's C: the proportion of pairs of rows in the right order. ``folds``
# finds the number of rounds, and the baseline hazard from out-of-fold risks.
models = {
    objective: LGBMRegressor(objective=objective, folds=5, random_state=0).fit(X, y)
    for objective in ("cox", "aft")
}
for objective, model in models.items():
    print(f"{objective}: concordance {model.score(X_test, y_test):.2f}")

# %%
# Survival functions and quantiles
# --------------------------------
#
# The probability that the cancer has not come back after one, two and four years, and
# the 25% quantile of the time.
years = np.array([1, 2, 4]) * 365
for objective, model in models.items():
    shares = model.predict_survival_function(X_test[:2], years)
    days = model.predict_quantile(X_test[:2], 0.25)
    for row in range(2):
        rounded = ", ".join(f"{share:.0%}" for share in shares[row])
        print(f"{objective}, row {row}: {rounded}; a quarter within {days[row]:.0f} d")

# %%
# Mean survival functions of three groups of the test rows by their risk, and Kaplan-
# Meier estimates (dotted):
model = models["cox"]
times = np.linspace(0, 2000, 200)
groups = np.array_split(np.argsort(model.predict(X_test)), 3)
fig, ax = plt.subplots()
for rows, name in zip(groups, ("low risk", "middle", "high risk"), strict=True):
    mean = model.predict_survival_function(X_test.iloc[rows], times).mean(axis=0)
    (line,) = ax.plot(times, mean, label=name)
    moments, share = kaplan_meier_estimator(y_test["cens"][rows], y_test["time"][rows])
    ax.step(moments, share, ":", where="post", color=line.get_color())
ax.set(xlabel="days", ylabel="share without an event", xlim=(0, 2000), ylim=(0, 1))
ax.legend()
plt.show()
