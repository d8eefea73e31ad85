"""LightGBM's module of flags that say which packages are installed.

The names of pandas are private in LightGBM. They are here because public code imports
them.
"""

from importlib.util import find_spec
from typing import Any

from sklearn.exceptions import NotFittedError as LGBMNotFittedError

__all__ = [
    "DASK_INSTALLED",
    "GRAPHVIZ_INSTALLED",
    "MATPLOTLIB_INSTALLED",
    "PANDAS_INSTALLED",
    "PYARROW_INSTALLED",
    "SKLEARN_INSTALLED",
    "LGBMNotFittedError",
]

DASK_INSTALLED = find_spec("distributed") is not None
GRAPHVIZ_INSTALLED = find_spec("graphviz") is not None
MATPLOTLIB_INSTALLED = find_spec("matplotlib") is not None
PANDAS_INSTALLED = find_spec("pandas") is not None
PYARROW_INSTALLED = find_spec("pyarrow") is not None
SKLEARN_INSTALLED = True


def __getattr__(name: str) -> Any:
    """Import pandas for its names only."""
    if name not in ("pd_CategoricalDtype", "pd_DataFrame", "pd_Series"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not PANDAS_INSTALLED:
        return type(name, (), {})
    import pandas

    return getattr(pandas, name.removeprefix("pd_"))


def __dir__() -> list[str]:
    return __all__
