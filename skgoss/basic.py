"""Re-exports under LightGBM's module name: Dataset, Booster and errors."""

from skgoss.booster.booster import Booster as Booster
from skgoss.dataset.dataset import Dataset as Dataset
from skgoss.parameters.aliases import all_names
from skgoss.sources.sequences import Sequence as Sequence

# The errors that LightGBM raises as its own are ValueErrors here.
LightGBMError = ValueError


class _ConfigAliases:
    """The names of parameters. LightGBM's class is private, but public tools use it."""

    @staticmethod
    def get(*args: str) -> set[str]:
        """Return all names of some parameters; an unknown name stands for itself."""
        return {name for arg in args for name in all_names(arg)}

    @staticmethod
    def get_sorted(name: str) -> list[str]:
        """Return all names of a parameter: this one, then the others by length."""
        return [name, *sorted(set(all_names(name)) - {name}, key=len)]


class LGBMDeprecationWarning(FutureWarning):
    """Stands where public code filters LightGBM's warnings; nothing raises it."""
