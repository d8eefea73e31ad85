"""The estimators, in a module of the name that LightGBM's has."""

from skgoss.basic import LightGBMError as LightGBMError
from skgoss.estimators.base import LGBMModel
from skgoss.estimators.classifier import LGBMClassifier
from skgoss.estimators.ranker import LGBMRanker
from skgoss.estimators.regressor import LGBMRegressor

__all__ = ["LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"]
