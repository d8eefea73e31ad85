"""Estimators whose rows lie on the workers of a Dask cluster."""

from skgoss.utils import compat

try:
    from skgoss.dask.estimators import (
        DaskLGBMClassifier,
        DaskLGBMRanker,
        DaskLGBMRegressor,
    )
except ModuleNotFoundError as error:
    raise compat.missing("skgoss.dask", "dask", "distributed") from error

__all__ = ["DaskLGBMClassifier", "DaskLGBMRanker", "DaskLGBMRegressor"]
