"""Models without scikit-learn's interface, and the functions that train them."""

# Files of earlier versions have this name.
from skgoss.booster.booster import Booster as Booster
