"""Estimators for data on the workers of a Dask cluster."""

from skgoss.utils import optional

try:
    from skgoss.dask.estimators import (
        DaskLGBMClassifier,
        DaskLGBMRanker,
        DaskLGBMRegressor,
    )
except ModuleNotFoundError as error:
    raise optional.missing("skgoss.dask", "dask", "distributed") from error

__all__ = ["DaskLGBMClassifier", "DaskLGBMRanker", "DaskLGBMRegressor"]


def __dir__() -> list[str]:
    return __all__
