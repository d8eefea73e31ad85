"""Gradient boosting that belongs in scikit-learn."""
