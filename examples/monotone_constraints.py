"""Predictions that never decrease with a column
=============================================

Let predictions never decrease with a column.

To run it: ``pip install skgoss matplotlib pandas``.
"""

# %%
# Two models
# ----------
#
# The diabetes data has 442 patients and is noisy. Suppose that a larger body mass index
# or a higher blood pressure cannot slow down the disease. The held-out error is about
# the same with these constraints as without.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from skgoss import LGBMRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
options = {"n_estimators": 60, "num_leaves": 8, "learning_rate": 0.05}
rising = [1 if name in ("bmi", "bp") else 0 for name in X.columns]
models = {
    "no constraints": LGBMRegressor(**options),
    "bmi and bp never lower it": LGBMRegressor(monotone_constraints=rising, **options),
}

for name, model in models.items():
    error = -cross_val_score(model, X, y, scoring="neg_root_mean_squared_error").mean()
    print(f"{name}: root mean squared error {error:.2f}")

# %%
# Predictions by body mass index
# ------------------------------
#
# For one patient without constraints, the prediction goes up and down as the body mass
# index increases. With ``monotone_constraints``, it never decreases, for any patient.
patient = X.iloc[[0] * 200].assign(bmi=np.linspace(X["bmi"].min(), X["bmi"].max(), 200))
figure, ax = plt.subplots(layout="constrained")
for name, model in models.items():
    ax.step(patient["bmi"], model.fit(X, y).predict(patient), label=name)
ax.set(xlabel="body mass index", ylabel="progression of the disease")
ax.legend()
plt.show()

# %%
# The smallest step is not negative:
steps = np.diff(models["bmi and bp never lower it"].predict(patient))
print(f"smallest step: {steps.min():.1f}")
