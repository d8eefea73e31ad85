"""Re-exports under LightGBM's module name: the estimators."""

from skgoss.basic import LightGBMError as LightGBMError
from skgoss.booster.train import train as train
from skgoss.estimators.base import LGBMModel
from skgoss.estimators.classifier import LGBMClassifier
from skgoss.estimators.ranker import LGBMRanker
from skgoss.estimators.regressor import LGBMRegressor

__all__ = ["LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"]
