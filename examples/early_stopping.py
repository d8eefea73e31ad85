"""Early stopping in pipelines and grid search
===========================================

Each fit of a search holds out rows for early stopping, or a pipeline transforms an
evaluation set that you pass.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Rows that the fit holds out
# ---------------------------
#
# Each fit of the search holds out some of its own rows for early stopping. With
# ``refit=True``, it then fits the model again on all rows, for the best number of
# rounds.
import matplotlib.pyplot as plt
from sklearn import set_config
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skgoss import LGBMClassifier, plot_metric

X, y = load_breast_cancer(return_X_y=True)
X, X_valid, y, y_valid = train_test_split(X, y, random_state=0)

model = LGBMClassifier(
    n_estimators=1000,
    early_stopping_round=10,
    validation_fraction=0.2,
    refit=True,
    random_state=0,
)
search = GridSearchCV(
    Pipeline([("scale", StandardScaler()), ("model", model)]),
    {"model__num_leaves": [3, 7, 15]},
).fit(X, y)
best = search.best_estimator_["model"]
print(f"rounds of 1000: {best.best_iteration_}")
print(f"accuracy: {search.score(X_valid, y_valid):.3f}")

# %%
# Rows that you pass
# ------------------
#
# With metadata routing, the earlier steps of the pipeline transform the evaluation set.
set_config(enable_metadata_routing=True)
model = LGBMClassifier(n_estimators=1000, early_stopping_round=10)
model.set_fit_request(eval_X=True, eval_y=True)
pipeline = Pipeline(
    [("scale", StandardScaler()), ("model", model)], transform_input=["eval_X"]
)
pipeline.fit(X, y, eval_X=X_valid, eval_y=y_valid)
print(f"rounds of 1000: {pipeline['model'].best_iteration_}")

# %%
# The loss of each round, and the best one:
ax = plot_metric(pipeline["model"])
ax.axvline(pipeline["model"].best_iteration_, linestyle="--", color="0.5")
plt.show()
