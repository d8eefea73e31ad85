"""Quickstart
==========

Fit a classifier, score it on held-out rows, and show its feature importances.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from skgoss import LGBMClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

model = LGBMClassifier(n_estimators=50, num_leaves=15).fit(X_train, y_train)

print(f"accuracy on held-out rows: {model.score(X_test, y_test):.3f}")
print("probabilities of two rows:", model.predict_proba(X_test[:2]).round(3))
best = sorted(zip(model.feature_importances_, X.columns, strict=True), reverse=True)
print("most used features:", ", ".join(name for _, name in best[:3]))
