"""Re-exports under LightGBM's module name: `train` and `cv`."""

from skgoss.booster.booster import Booster
from skgoss.booster.cv import cv
from skgoss.booster.cv_booster import CVBooster
from skgoss.booster.train import train
from skgoss.dataset.dataset import Dataset

__all__ = ["Booster", "CVBooster", "Dataset", "cv", "train"]


def __dir__() -> list[str]:
    return __all__
