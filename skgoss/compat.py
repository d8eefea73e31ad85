"""Which packages are installed, in a module with the name of LightGBM's."""

from importlib.util import find_spec

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
