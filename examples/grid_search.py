"""Choose parameters from a grid and in a race
===========================================

Choose parameters with GridSearchCV, and in a race.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Search
# ------
#
# All candidates of a grid, by 5-fold cross-validation. The scores are those of
# scikit-learn's GridSearchCV, but fits share work: candidates that differ only in the
# number of rounds are one fit, and each fold is binned once.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from skgoss import LGBMClassifier
from skgoss.model_selection import GridSearchCV

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
grid = {
    "n_estimators": [50, 100, 200],
    "num_leaves": [3, 7, 15],
    "learning_rate": [0.05, 0.1],
}
search = GridSearchCV(LGBMClassifier(), grid, scoring="neg_log_loss", n_jobs=2)
search.fit(X, y)
print("best parameters:", search.best_params_)

# %%
# The score of the best candidate is slightly optimistic, because it was chosen by this
# score. The score on held-out rows:
print(f"log loss, 5-fold mean: {-search.best_score_:.4f}")
print(f"log loss, held-out rows: {-search.score(X_test, y_test):.4f}")

# %%
# A race
# ------
#
# Candidates train in stages, and those that fall behind are dropped. The race also
# finds the best number of rounds.
race = GridSearchCV(
    LGBMClassifier(), grid, scoring="neg_log_loss", strategy="race", n_jobs=2
)
race.fit(X, y)
print("best parameters:", race.best_params_)
print(f"log loss, held-out rows: {-race.score(X_test, y_test):.4f}")

# %%
# When candidates were dropped
# ----------------------------
found = race.cv_results_
_, ax = plt.subplots(layout="constrained")
print("rounds  leaves  rate  log loss")
for params, n_rounds, scores in zip(
    found["params"], found["n_rounds"], found["scores_by_rounds"], strict=True
):
    leaves, rate = params["num_leaves"], params["learning_rate"]
    print(f"{n_rounds:6} {leaves:7} {rate:5} {-max(scores.values()):9.4f}")
    losses = [-score for score in scores.values()]
    ax.plot(list(scores), losses, ".-", label=f"{leaves} leaves, rate {rate}")
ax.set(xlabel="rounds until the point leaves", ylabel="log loss, mean of 5 folds")
ax.legend()
plt.show()
