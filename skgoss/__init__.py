"""Gradient boosting that belongs in scikit-learn."""

from skgoss.estimators import LGBMClassifier, LGBMModel, LGBMRegressor

__all__ = ["LGBMClassifier", "LGBMModel", "LGBMRegressor"]
