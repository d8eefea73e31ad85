"""Re-exports under LightGBM's module name: the estimators."""

from typing import Any

from skgoss.basic import LightGBMError as LightGBMError
from skgoss.booster.train import train as train
from skgoss.estimators.base import LGBMModel
from skgoss.estimators.classifier import LGBMClassifier
from skgoss.estimators.ranker import LGBMRanker
from skgoss.estimators.regressor import LGBMRegressor

__all__ = ["LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"]


def new_estimator(name: str) -> Any:
    """The estimator of a pickle that `skgoss.as_lightgbm` has written, still empty."""
    kind = globals()[name]
    return kind.__new__(kind)


def __dir__() -> list[str]:
    return __all__
