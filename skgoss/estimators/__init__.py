"""The estimators: scikit-learn's interface."""
