"""Re-exports under LightGBM's module name: `train` and `cv`."""

from skgoss.booster.booster import Booster as Booster
from skgoss.booster.cv import cv as cv
from skgoss.booster.cv_booster import CVBooster as CVBooster
from skgoss.booster.train import train as train
from skgoss.dataset.dataset import Dataset as Dataset
