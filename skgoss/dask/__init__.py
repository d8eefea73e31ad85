"""Estimators whose rows lie on the workers of a Dask cluster."""

try:
    from skgoss.dask.estimators import (
        DaskLGBMClassifier,
        DaskLGBMRanker,
        DaskLGBMRegressor,
    )
except ModuleNotFoundError as error:
    raise ImportError(
        f"skgoss.dask needs dask and distributed: pip install 'skgoss[dask]' ({error})"
    ) from error

__all__ = ["DaskLGBMClassifier", "DaskLGBMRanker", "DaskLGBMRegressor"]
