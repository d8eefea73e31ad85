"""Grid search
===========

Choose parameters with GridSearchCV of scikit-learn.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Search
# ------
#
# Six points by 5-fold cross-validation. The search runs two fits at a time
# (``n_jobs=2`` of GridSearchCV), and each fit uses one thread. For many small fits,
# this is faster than many threads in each fit.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split

from skgoss import LGBMClassifier

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
grid = {"num_leaves": [7, 15, 31], "learning_rate": [0.05, 0.1]}
model = LGBMClassifier(n_estimators=100, n_jobs=1)
search = GridSearchCV(model, grid, scoring="neg_log_loss", n_jobs=2)
search.fit(X, y)
print("best parameters:", search.best_params_)

# %%
# The score of the best point is a little too good, because it was chosen by it. Rows
# that no choice has seen tell:
print(f"log loss, 5-fold mean: {-search.best_score_:.4f}")
print(f"log loss, held-out rows: {-search.score(X_test, y_test):.4f}")

# %%
# All points
# ----------
#
# The differences are small compared with the spread of the folds.
found = search.cv_results_
_, ax = plt.subplots(layout="constrained")
for rate in grid["learning_rate"]:
    at = found["param_learning_rate"] == rate
    leaves, score = found["param_num_leaves"][at], -found["mean_test_score"][at]
    error = found["std_test_score"][at]
    ax.errorbar(
        leaves.astype(int), score, error, capsize=4, label=f"learning_rate={rate}"
    )
ax.set(xlabel="num_leaves", ylabel="log loss, mean and spread of 5 folds")
ax.legend()
plt.show()
