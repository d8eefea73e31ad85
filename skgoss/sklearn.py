"""The estimators, in a module of the name that LightGBM's has."""

from skgoss.basic import LightGBMError as LightGBMError
from skgoss.estimators import LGBMClassifier, LGBMModel, LGBMRegressor
from skgoss.ranker import LGBMRanker

__all__ = ["LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"]
