"""Continue training from a file
=============================

Save an estimator as text in LightGBM's format, load it, and continue training.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Save
# ----
#
# A classifier for three kinds of wine.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skgoss import Booster, LGBMClassifier

X, y = load_wine(return_X_y=True)
y = np.array(["Barolo", "Grignolino", "Barbera"])[y]
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "wine.txt"
model = LGBMClassifier(n_estimators=20, num_leaves=5).fit(X, y)
model.to_file(path)

# %%
# Load
# ----
#
# The whole estimator is restored, with identical predictions.
again = LGBMClassifier.from_file(path)
same = bool((again.predict_proba(X_test) == model.predict_proba(X_test)).all())
print(f"the same predictions: {same}")
print("classes:", ", ".join(again.classes_))

# %%
# A Booster is the model without the estimator. LightGBM reads the same file.
booster = Booster(model_file=path)
print(f"{booster.num_trees()} trees, {booster.num_feature()} columns")

# %%
# Continue
# --------
#
# ``init_model`` may be a file:
longer = LGBMClassifier(n_estimators=30, num_leaves=5).fit(X, y, init_model=path)
print(f"rounds: {again.n_estimators_}, then {longer.n_estimators_}")
print(f"accuracy on held-out rows: {longer.score(X_test, y_test):.2f}")
folder.cleanup()

# %%
# The loss of each round: the first 20 are those of the file.
losses = [log_loss(y_test, p) for p in longer.staged_predict_proba(X_test)]
_, ax = plt.subplots(layout="constrained")
ax.plot(range(1, 21), losses[:20], label="read from the file")
ax.plot(range(20, 51), losses[19:], label="trained further")
ax.set(xlabel="round", ylabel="log loss on held-out rows")
ax.legend()
plt.show()
