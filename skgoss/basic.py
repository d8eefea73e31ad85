"""Data sets, models and errors, in a module with the name of LightGBM's."""

from skgoss.booster.booster import Booster as Booster
from skgoss.data.sequences import Sequence as Sequence
from skgoss.dataset.dataset import Dataset as Dataset

# The errors that LightGBM raises as its own are ValueErrors here.
LightGBMError = ValueError
