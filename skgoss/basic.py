"""Re-exports under LightGBM's module name: Dataset, Booster and errors."""

from typing import Any

from skgoss.booster.booster import Booster
from skgoss.dataset.dataset import Dataset
from skgoss.sources.sequences import Sequence

__all__ = ["Booster", "Dataset", "LGBMDeprecationWarning", "LightGBMError", "Sequence"]

# The errors that LightGBM raises as its own are ValueErrors here.
LightGBMError = ValueError


class LGBMDeprecationWarning(FutureWarning):
    """For code that filters LightGBM's warnings. skgoss never gives this warning."""


def restored_booster(state: dict[str, Any]) -> Booster:
    """The Booster of a pickle that `skgoss.as_lightgbm` has written."""
    booster = Booster.__new__(Booster)
    booster.__setstate__(state)
    return booster


def __dir__() -> list[str]:
    return __all__
