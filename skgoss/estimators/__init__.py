"""The estimators: scikit-learn's interface."""

# Files of earlier versions have these names.
from skgoss.estimators.base import LGBMModel as LGBMModel
from skgoss.estimators.classifier import LGBMClassifier as LGBMClassifier
from skgoss.estimators.ranker import LGBMRanker as LGBMRanker
from skgoss.estimators.regressor import LGBMRegressor as LGBMRegressor
