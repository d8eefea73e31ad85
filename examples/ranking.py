"""Grid search with LGBMRanker
===========================

Rank the documents of queries, and select the model by cross-validated NDCG.

``qid`` is the query of each row. It is passed once, as ``groups``. Metadata routing
passes it to the splitter, which keeps the documents of a query together, to the ranker
and to the scorer.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# Queries and grades
# ------------------
#
# 300 queries of 20 documents each, with grades from 0 to 3.
import matplotlib.pyplot as plt
import numpy as np
from sklearn import set_config
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgoss import LGBMRanker, ndcg_scorer

set_config(enable_metadata_routing=True)

random = np.random.default_rng(0)
qid = random.permutation(np.repeat(np.arange(300), 20))
X = random.normal(size=(len(qid), 10))
taste = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(qid))
grades = np.digitize(taste, [0.5, 1.5, 2.5])

# %%
# Search
# ------
#
# Each fit of the search holds out some of its queries for early stopping.
ranker = LGBMRanker(n_estimators=300, early_stopping_round=20, eval_at=10)
ranker.set_fit_request(qid="groups")
search = GridSearchCV(
    make_pipeline(StandardScaler(), ranker),
    {"lgbmranker__num_leaves": [7, 15, 31]},
    cv=GroupKFold(4),
    scoring=ndcg_scorer(k=10).set_score_request(qid="groups"),
)
search.fit(X, grades, groups=qid)

best = search.best_estimator_[-1]
print(f"num_leaves: {best.num_leaves}, rounds: {best.best_iteration_}")
print(f"NDCG@10 on held-out queries: {search.best_score_:.3f}")

# %%
# Relevance by rank
# -----------------
#
# The model has not seen these queries.
is_new = qid >= 200
model = search.best_estimator_
model.fit(X[~is_new], grades[~is_new], groups=qid[~is_new])
scores = model.predict(X[is_new])
order = np.lexsort([-scores, qid[is_new]])
by_place = grades[is_new][order].reshape(-1, 20)

_, ax = plt.subplots(layout="constrained")
ax.bar(np.arange(20) + 1, by_place.mean(axis=0))
ax.axhline(grades.mean(), color="gray", linestyle="--", label="in random order")
ax.set(xlabel="place in the ranking", ylabel="mean grade", xticks=[1, 5, 10, 15, 20])
ax.legend()
plt.show()
