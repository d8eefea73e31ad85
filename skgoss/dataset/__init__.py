"""Data sets that are binned once for any number of fits."""

# Files of earlier versions have this name.
from skgoss.dataset.dataset import Dataset as Dataset
